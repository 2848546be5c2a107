//! Sixteen numbers to and from a register. The compiler makes one move of each of
//! these; the functions that take pointers would not be safe.

use std::arch::x86_64::*;

const LANES: usize = 16;

/// Numbers into a register.
///
/// # Safety
///
/// The processor must have AVX-512; a function with that target feature may call it freely.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn load(v: &[f32; LANES]) -> __m512 {
    _mm512_setr_ps(
        v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13],
        v[14], v[15],
    )
}

/// Words into a register.
///
/// # Safety
///
/// The processor must have AVX-512; a function with that target feature may call it freely.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn load_words(v: &[u32; LANES]) -> __m512i {
    let v = v.map(u32::cast_signed);
    _mm512_setr_epi32(
        v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13],
        v[14], v[15],
    )
}

/// The numbers of a register.
///
/// # Safety
///
/// The processor must have AVX-512; a function with that target feature may call it freely.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn numbers(v: __m512) -> [f32; LANES] {
    let mut numbers = [0.0; LANES];
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number = _mm512_cvtss_f32(_mm512_permutexvar_ps(_mm512_set1_epi32(lane as i32), v));
    }
    numbers
}
