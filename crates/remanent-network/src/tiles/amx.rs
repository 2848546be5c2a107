//! The tile registers of recent Intel processors.
//!
//! The kernel is written over [`Unit`], the operations on tile registers. [`Hardware`] is the
//! processor; tests use an emulation, so that all but the instructions are tested on every processor.

use super::{Panels, Sink, Sums, Tile};

/// What the words of the operands hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Two bfloat16; sums are in single precision.
    Bf16,
    /// Four bytes, without a sign on the left and with one on the right; sums are integers.
    Bytes,
}

/// Eight tile registers and their operations. Numbers of registers are constants of the instructions.
pub trait Unit {
    /// T ← 0.
    fn zero<const T: usize>(&mut self);
    /// T ← a tile of memory.
    fn load<const T: usize>(&mut self, tile: &Tile);
    /// C ← C + A B of bfloat16.
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self);
    /// C ← C + A B of bytes, those of A without and those of B with a sign.
    fn multiply_bytes<const C: usize, const A: usize, const B: usize>(&mut self);
    /// Sums of T to memory.
    fn store<const T: usize>(&mut self, sums: &mut Sums);
}

/// The product by 2 × 2 tiles of sums at a time (registers 0 to 3; left tiles are in 4 and 5, right tiles
/// in 6 and 7): each loaded tile is used twice.
pub fn multiply_with<U: Unit, const BF16: bool>(
    unit: &mut U,
    a: Panels<'_>,
    b: Panels<'_>,
    sink: &mut impl Sink,
) {
    for j in (0..b.count).step_by(2) {
        for i in (0..a.count).step_by(2) {
            match (i + 1 < a.count, j + 1 < b.count) {
                (true, true) => group::<U, BF16, true, true>(unit, (a, i), (b, j), sink),
                (true, false) => group::<U, BF16, true, false>(unit, (a, i), (b, j), sink),
                (false, true) => group::<U, BF16, false, true>(unit, (a, i), (b, j), sink),
                (false, false) => group::<U, BF16, false, false>(unit, (a, i), (b, j), sink),
            }
        }
    }
}

#[inline(always)]
fn add<U: Unit, const BF16: bool, const C: usize, const A: usize, const B: usize>(unit: &mut U) {
    if BF16 {
        unit.multiply::<C, A, B>();
    } else {
        unit.multiply_bytes::<C, A, B>();
    }
}

#[inline(always)]
fn group<U: Unit, const BF16: bool, const ROWS: bool, const COLUMNS: bool>(
    unit: &mut U,
    (a, i): (Panels<'_>, usize),
    (b, j): (Panels<'_>, usize),
    sink: &mut impl Sink,
) {
    unit.zero::<0>();
    unit.zero::<1>();
    unit.zero::<2>();
    unit.zero::<3>();
    for k in 0..a.blocks {
        unit.load::<4>(a.tile(i, k));
        unit.load::<6>(b.tile(j, k));
        add::<U, BF16, 0, 4, 6>(unit);
        if COLUMNS {
            unit.load::<7>(b.tile(j + 1, k));
            add::<U, BF16, 1, 4, 7>(unit);
        }
        if ROWS {
            unit.load::<5>(a.tile(i + 1, k));
            add::<U, BF16, 2, 5, 6>(unit);
        }
        if ROWS && COLUMNS {
            add::<U, BF16, 3, 5, 7>(unit);
        }
    }
    unit.store::<0>(sink.place(i, j));
    sink.done(i, j);
    if COLUMNS {
        unit.store::<1>(sink.place(i, j + 1));
        sink.done(i, j + 1);
    }
    if ROWS {
        unit.store::<2>(sink.place(i + 1, j));
        sink.done(i + 1, j);
    }
    if ROWS && COLUMNS {
        unit.store::<3>(sink.place(i + 1, j + 1));
        sink.done(i + 1, j + 1);
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod hardware {
    use super::{Numbers, Panels, Sink};

    /// Never: only Linux on Intel processors.
    pub fn is_available(_: Numbers) -> bool {
        false
    }

    /// Never called.
    pub fn multiply(_: Numbers, _: Panels<'_>, _: Panels<'_>, _: &mut impl Sink) {
        unreachable!("only where it is available");
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod hardware;

pub use hardware::{is_available, multiply};

#[cfg(test)]
pub mod emulation;
