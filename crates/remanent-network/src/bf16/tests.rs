use remanent_math::philox::Stream;

use super::*;
use crate::tiles::amx::emulation::Emulation;
use crate::tiles::amx::multiply_with;
use crate::tiles::{Rowwise, Transposed};

/// Sizes with ragged edges of tiles, and of the pairs.
const SIZES: [usize; 8] = [1, 2, 15, 16, 17, 31, 33, 70];

fn normals(index: u32, count: usize) -> Vec<f32> {
    let mut x = vec![0.0; count];
    Stream::new(8, 9, 0, index).fill_normals(0, &mut x);
    x
}

fn rows(values: &[f32], count: usize, width: usize) -> Rows<'_> {
    Rows { values, stride: width, count, width }
}

/// The rounding by its definition: the nearest number with 8 bits of mantissa, of two the even one.
fn nearest(x: f32) -> f32 {
    if x == 0.0 || x.is_subnormal() {
        return 0.0_f32.copysign(x);
    }
    let below = f32::from_bits(x.to_bits() & 0xffff_0000);
    let above = f32::from_bits(below.to_bits() + 0x1_0000);
    let (down, up) = ((x - below).abs(), (above - x).abs());
    let even = below.to_bits() & 0x1_0000 == 0;
    if down < up || (down == up && even) { below } else { above }
}

#[test]
fn rounds_to_nearest_even() {
    let cases = [
        0.0,
        -0.0,
        1.0,
        1.0 + 1.0 / 256.0,
        1.0 + 3.0 / 256.0,
        -1.003_906_3,
        3e-39,
        -1e-45,
        2e38,
        0.1,
    ];
    for x in cases.into_iter().chain(normals(1, 4000)) {
        let rounded = f32::from_bits(plain::round(x));
        assert_eq!(rounded.to_bits(), nearest(x).to_bits(), "{x}");
    }
    assert_eq!(plain::round(f32::MAX), f32::INFINITY.to_bits());
    assert_eq!(plain::round(f32::NEG_INFINITY), f32::NEG_INFINITY.to_bits());
    for bits in [0x7f80_0001, 0x7fff_ffff, 0xff80_0001] {
        assert!(f32::from_bits(plain::round(f32::from_bits(bits))).is_nan());
    }
}

/// Both ways to pack give the tiles of the definition, on every path that this processor has.
#[test]
fn all_paths_pack_the_same_bits() {
    for n in SIZES {
        for k in SIZES {
            let mut x = normals(2, n * k);
            x[0] = 1e-40;
            let word = |row: usize, k_: usize| {
                let number =
                    |k_: usize| if row < n && k_ < k { nearest(x[row * k + k_]) } else { 0.0 };
                number(2 * k_).to_bits() >> 16 | number(2 * k_ + 1).to_bits()
            };
            let flipped: Vec<f32> = (0..n * k).map(|i| x[i % n * k + i / n]).collect();
            for path in Path::ALL {
                let (mut along, mut across) = (Operand::default(), Operand::default());
                along.pack_along(path, rows(&x, n, k));
                across.pack_across(path, rows(&flipped, k, n));
                across.transpose();
                assert_eq!(along.tiles, across.tiles, "{path:?} {n} × {k}");
                let blocks = along.blocks;
                for (at, tile) in along.tiles.iter().enumerate() {
                    let (panel, block) = (at / blocks, at % blocks);
                    for (r, row) in tile.0.iter().enumerate() {
                        for (p, &found) in row.iter().enumerate() {
                            let expected = word(panel * SIDE + r, block * SIDE + p);
                            assert_eq!(found, expected, "{path:?} {n} × {k}");
                        }
                    }
                }
            }
        }
    }
}

/// Every path, and the emulated tiles, against sums of the rounded numbers in double precision. A sum of
/// K terms in single precision is wrong by at most K ε Σ |terms|.
#[test]
fn products_are_those_of_the_rounded_numbers() {
    for m in SIZES {
        for n in SIZES {
            for k in [1, 2, 31, 32, 33, 100] {
                check(m, n, k);
            }
        }
    }
}

fn check(m: usize, n: usize, k: usize) {
    let (a, b) = (normals(3, m * k), normals(4, k * n));
    let (mut left, mut right) = (Operand::default(), Operand::default());
    left.pack_along(Path::Plain, rows(&a, m, k));
    right.pack_across(Path::Plain, rows(&b, k, n));
    let mut found: Vec<(&str, Vec<f32>)> = Vec::new();
    for path in Path::ALL.into_iter().filter(|path| path.is_available()) {
        let mut out = vec![f32::NAN; m * n];
        multiply(path, left.all(), right.all(), &mut Rowwise::new(0.5, n, &mut out));
        found.push((path.name(), out));
        let (mut turned, mut out) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
        multiply(path, left.all(), right.all(), &mut Transposed::new(0.5, m, &mut turned));
        for (at, sum) in turned.into_iter().enumerate() {
            out[at % m * n + at / m] = sum;
        }
        found.push((path.name(), out));
    }
    let mut out = vec![f32::NAN; m * n];
    let sink = &mut Rowwise::new(0.5, n, &mut out);
    multiply_with::<_, true>(&mut Emulation::start(), left.all(), right.all(), sink);
    found.push(("emulated", out));
    for (path, out) in found {
        for i in 0..m {
            for j in 0..n {
                let term = |l: usize| {
                    0.5 * f64::from(nearest(a[i * k + l])) * f64::from(nearest(b[l * n + j]))
                };
                let exact: f64 = (0..k).map(term).sum();
                let size: f64 = (0..k).map(|l| term(l).abs()).sum();
                let difference = (f64::from(out[i * n + j]) - exact).abs();
                let bound = (k + 1) as f64 * f64::from(f32::EPSILON) * size;
                assert!(difference <= bound, "{path} {m} {n} {k}: {difference} {bound}");
            }
        }
    }
}

#[test]
fn a_part_of_the_panels_gives_a_part_of_the_product() {
    let (a, b) = (normals(5, 50 * 40), normals(6, 40 * 20));
    let (mut left, mut right) = (Operand::default(), Operand::default());
    left.pack_along(Path::Plain, rows(&a, 50, 40));
    right.pack_across(Path::Plain, rows(&b, 40, 20));
    let (mut all, mut part) = (vec![0.0; 50 * 20], vec![0.0; 18 * 20]);
    let path = Path::best();
    multiply(path, left.all(), right.all(), &mut Rowwise::new(1.0, 20, &mut all));
    multiply(path, left.panels(32..50), right.all(), &mut Rowwise::new(1.0, 20, &mut part));
    assert_eq!(part, all[32 * 20..]);
}
