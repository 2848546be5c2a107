//! Rows and columns of a tile exchanged.

use super::SIDE;

/// 32 bits.
pub trait Word: Copy {
    /// The bits.
    fn bits(self) -> u32;
    /// From bits.
    fn of(bits: u32) -> Self;
}

impl Word for u32 {
    fn bits(self) -> u32 {
        self
    }

    fn of(bits: u32) -> Self {
        bits
    }
}

impl Word for f32 {
    fn bits(self) -> u32 {
        self.to_bits()
    }

    fn of(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

/// Exchanges rows and columns.
pub fn transpose<T: Word>(matrix: &mut [[T; SIDE]; SIDE]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        #[expect(
            unsafe_code,
            reason = "a call that needs the instructions, after they were detected"
        )]
        // SAFETY: the processor has the instructions.
        unsafe {
            avx512::exchange(matrix);
        }
        return;
    }
    let old = *matrix;
    for (r, row) in matrix.iter_mut().enumerate() {
        for (c, word) in row.iter_mut().enumerate() {
            *word = old[c][r];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use remanent_math::avx512::{load_words, words};

    use super::{SIDE, Word};

    /// A 16 × 16 matrix with rows and columns exchanged: first words, then pairs of them within quarters of a register,
    /// then the quarters.
    #[target_feature(enable = "avx512f")]
    pub fn exchange<T: Word>(matrix: &mut [[T; SIDE]; SIDE]) {
        let mut a = [_mm512_setzero_si512(); SIDE];
        for (a, row) in a.iter_mut().zip(&*matrix) {
            *a = load_words(&row.map(T::bits));
        }
        let mut b = a;
        for i in (0..SIDE).step_by(2) {
            b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
            b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
        }
        for i in (0..SIDE).step_by(4) {
            a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
            a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
            a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
            a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
        }
        // a[4 r + c] has, in quarter q, the words of column 4 q + c of the rows 4 r to 4 r + 3.
        let mut put = |row: usize, v: __m512i| matrix[row] = words(v).map(T::of);
        for c in 0..4 {
            let low = _mm512_shuffle_i32x4::<0x88>(a[c], a[4 + c]);
            let high = _mm512_shuffle_i32x4::<0xdd>(a[c], a[4 + c]);
            let (low2, high2) = (
                _mm512_shuffle_i32x4::<0x88>(a[8 + c], a[12 + c]),
                _mm512_shuffle_i32x4::<0xdd>(a[8 + c], a[12 + c]),
            );
            put(c, _mm512_shuffle_i32x4::<0x88>(low, low2));
            put(8 + c, _mm512_shuffle_i32x4::<0xdd>(low, low2));
            put(4 + c, _mm512_shuffle_i32x4::<0x88>(high, high2));
            put(12 + c, _mm512_shuffle_i32x4::<0xdd>(high, high2));
        }
    }
}
