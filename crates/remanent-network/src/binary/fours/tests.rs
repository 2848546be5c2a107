use remanent_math::philox::Stream;

use super::*;

type Kernel = fn(&Signs, &[Rounded; TILE], &mut Tables, &mut [Sums]);

fn plain(s: &Signs, i: &[Rounded; TILE], t: &mut Tables, sums: &mut [Sums]) {
    plain_sums(s, i, t, sums);
}

/// Uses AVX2 even if AVX-512 is available.
#[multiversion(targets("x86_64+avx2"))]
fn narrow(s: &Signs, i: &[Rounded; TILE], t: &mut Tables, sums: &mut [Sums]) {
    plain_sums(s, i, t, sums);
}

const KERNELS: [(Kernel, &str); 3] =
    [(fill_sums, "dispatched"), (narrow, "narrow"), (plain, "plain")];

fn signs_of(inputs: usize, outputs: usize) -> Vec<u8> {
    let stream = Stream::new(3, 0, 0, 0);
    (0..(inputs * outputs) as u32).map(|i| u8::from(stream.uniform(i) < 0.5)).collect()
}

/// Normal numbers without the negative ones, of which some are very small or very large.
fn activations(inputs: usize, image: usize) -> Vec<f32> {
    let stream = Stream::new(4, image as u32, 0, 0);
    let scale = [1.0, 1e-4, 1e6, 0.0][image];
    (0..inputs as u32).map(|i| scale * stream.normal(i).max(0.0) as f32).collect()
}

/// Sums image by image, and the images.
fn found(
    kernel: Kernel,
    outputs: usize,
    positive: &[u8],
    h: &[Vec<f32>],
) -> Vec<(Rounded, Vec<i64>)> {
    let signs = Signs::new(h[0].len(), outputs, positive);
    let images: [Rounded; TILE] = std::array::from_fn(|i| {
        let mut image = Rounded::default();
        // Of another layer.
        image.set(&mut vec![1.0; 300]);
        image.set(&mut h[i].clone());
        image
    });
    let mut sums = vec![[[[7; 16]; 4]; TILE]; signs.blocks()];
    kernel(&signs, &images, &mut Tables::default(), &mut sums);
    let of = |(i, image): (usize, Rounded)| {
        let all = sums.iter().flat_map(|block| block[i].as_flattened());
        (image, all.take(outputs).map(|&sum| i64::from(sum)).collect())
    };
    images.into_iter().enumerate().map(of).collect()
}

#[test]
fn every_kernel_gives_the_sums_of_the_definition() {
    let shapes =
        [(1, 1), (4, 16), (7, 17), (8, 33), (9, 64), (37, 65), (64, 100), (257, 130), (512, 512)];
    for (inputs, outputs) in shapes {
        let positive = signs_of(inputs, outputs);
        let h: Vec<Vec<f32>> = (0..TILE).map(|image| activations(inputs, image)).collect();
        for (kernel, name) in KERNELS {
            for ((image, sums), h) in found(kernel, outputs, &positive, &h).iter().zip(&h) {
                // Words are in the order of the inputs.
                let numbers: Vec<i64> = image.words.iter().map(|w| i64::from(w >> 16)).collect();
                assert_eq!(i64::from(image.total), numbers.iter().sum::<i64>());
                for (&number, &h) in numbers.iter().zip(h) {
                    let off = (number as f32 * image.unit - h).abs();
                    assert!(off <= 0.501 * image.unit, "{off} of {}", image.unit);
                }
                for (j, &sum) in sums.iter().enumerate() {
                    let plus = (0..inputs).filter(|i| positive[i * outputs + j] == 1);
                    let exact: i64 = plus.map(|i| numbers[i]).sum();
                    assert_eq!(sum, exact, "{name} {inputs} {outputs} {j}");
                }
            }
        }
    }
}

#[test]
fn equal_activations_use_the_whole_range() {
    for inputs in [4, 100, 4096] {
        let h = vec![vec![0.3; inputs]; TILE];
        for (kernel, _) in KERNELS {
            for (image, sums) in found(kernel, 20, &vec![1; inputs * 20], &h) {
                let largest = (0..groups(inputs))
                    .map(|g| image.group(g).iter().map(|w| w >> 16).sum::<u32>())
                    .max();
                assert!((65_500..=65_535).contains(&largest.unwrap()), "{largest:?}");
                assert_eq!(sums, vec![i64::from(image.total); 20]);
            }
        }
    }
}

#[test]
fn what_is_not_finite_has_no_unit() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut image = Rounded::default();
        image.set(&mut vec![1.0, bad, 0.0]);
        assert!(image.unit.is_nan());
        image.set(&mut vec![1.0, 0.0, 0.0]);
        assert!(image.unit > 0.0);
    }
}
