//! The tile registers in plain Rust, for tests.

use super::super::{SIDE, Tile, unpack};
use super::{Sums, Unit};

/// Eight registers of 16 × 16 words.
pub struct Emulation([[[u32; SIDE]; SIDE]; 8]);

impl Emulation {
    /// Registers with a content that a kernel must not use.
    pub fn start() -> Self {
        Self([[[f32::NAN.to_bits(); SIDE]; SIDE]; 8])
    }
}

impl Unit for Emulation {
    fn zero<const T: usize>(&mut self) {
        self.0[T] = [[0; SIDE]; SIDE];
    }

    fn load<const T: usize>(&mut self, tile: &Tile) {
        self.0[T] = tile.0;
    }

    /// As the manual defines TDPBF16PS: numbers of even and of odd k are summed apart, and then added.
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self) {
        let (a, b) = (self.0[A], self.0[B]);
        for (sums, a) in self.0[C].iter_mut().zip(&a) {
            let mut parts = [[0.0_f32; 2]; SIDE];
            for (&a, b) in a.iter().zip(&b) {
                let a = unpack(a);
                for (parts, &b) in parts.iter_mut().zip(b) {
                    let b = unpack(b);
                    parts[0] += a[0] * b[0];
                    parts[1] += a[1] * b[1];
                }
            }
            for (sum, [even, odd]) in sums.iter_mut().zip(parts) {
                *sum = (f32::from_bits(*sum) + (even + odd)).to_bits();
            }
        }
    }

    /// As the manual defines TDPBUSD.
    fn multiply_bytes<const C: usize, const A: usize, const B: usize>(&mut self) {
        let (a, b) = (self.0[A], self.0[B]);
        for (sums, a) in self.0[C].iter_mut().zip(&a) {
            for (a, b) in a.iter().zip(&b) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    for (a, b) in a.to_le_bytes().into_iter().zip(b.to_le_bytes()) {
                        let product = i32::from(a) * i32::from(b.cast_signed());
                        *sum = sum.wrapping_add(product.cast_unsigned());
                    }
                }
            }
        }
    }

    fn store<const T: usize>(&mut self, sums: &mut Sums) {
        for (out, row) in sums.0.iter_mut().zip(&self.0[T]) {
            *out = row.map(f32::from_bits);
        }
    }
}
