//! Sixteen numbers to and from an AVX-512 register, without pointers.
//!
//! The compiler reduces each of the loads and stores to a single move. All functions are safe to
//! call from a function that has the same target features; elsewhere a call needs `unsafe`.

#![expect(clippy::missing_safety_doc, reason = "the compiler checks the features of callers")]

use std::arch::x86_64::*;

const LANES: usize = 16;

/// Loads sixteen numbers.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn load(v: &[f32; LANES]) -> __m512 {
    _mm512_setr_ps(
        v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13],
        v[14], v[15],
    )
}

/// Loads sixteen words.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn load_words(v: &[u32; LANES]) -> __m512i {
    let v = v.map(u32::cast_signed);
    _mm512_setr_epi32(
        v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13],
        v[14], v[15],
    )
}

/// The numbers in a register.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn numbers(v: __m512) -> [f32; LANES] {
    let mut numbers = [0.0; LANES];
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number = _mm512_cvtss_f32(_mm512_permutexvar_ps(_mm512_set1_epi32(lane as i32), v));
    }
    numbers
}

/// The words in a register.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn words(v: __m512i) -> [u32; LANES] {
    numbers(_mm512_castsi512_ps(v)).map(f32::to_bits)
}

/// The sixteen sums (±a ± b) + (±c ± d). In the index of a sum, bit 3 is set for −a, bit 2 for −b,
/// bit 1 for −c and bit 0 for −d.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn sums_of_four([a, b, c, d]: [f32; 4]) -> __m512 {
    let index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let sign = _mm512_set1_ps(-0.0);
    let a_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<28>(index)), sign);
    let b_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<29>(index)), sign);
    let c_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<30>(index)), sign);
    let d_sign = _mm512_and_ps(_mm512_castsi512_ps(_mm512_slli_epi32::<31>(index)), sign);
    let ab = _mm512_add_ps(
        _mm512_xor_ps(_mm512_set1_ps(a), a_sign),
        _mm512_xor_ps(_mm512_set1_ps(b), b_sign),
    );
    let cd = _mm512_add_ps(
        _mm512_xor_ps(_mm512_set1_ps(c), c_sign),
        _mm512_xor_ps(_mm512_set1_ps(d), d_sign),
    );
    _mm512_add_ps(ab, cd)
}
