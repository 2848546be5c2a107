//! The path of the tile registers (AMX) of recent Intel processors.
//!
//! The kernel is written over [`Unit`], the four operations on tile registers. [`Hardware`] is the
//! processor; tests use an emulation, so that all but four instructions are tested on every processor.

use super::{Panels, Sink, Sums, Tile};

/// Eight tile registers and their operations. Numbers of registers are constants of the instructions.
pub trait Unit {
    /// T ← 0.
    fn zero<const T: usize>(&mut self);
    /// T ← a tile of memory.
    fn load<const T: usize>(&mut self, tile: &Tile);
    /// C ← C + A B.
    fn multiply<const C: usize, const A: usize, const B: usize>(&mut self);
    /// Sums of T to memory.
    fn store<const T: usize>(&mut self, sums: &mut Sums);
}

/// The product by 2 × 2 tiles of sums at a time (registers 0 to 3; left tiles are in 4 and 5, right tiles
/// in 6 and 7): each loaded tile is used twice.
pub fn multiply_with<U: Unit>(unit: &mut U, a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
    for j in (0..b.count).step_by(2) {
        for i in (0..a.count).step_by(2) {
            match (i + 1 < a.count, j + 1 < b.count) {
                (true, true) => group::<U, true, true>(unit, (a, i), (b, j), sink),
                (true, false) => group::<U, true, false>(unit, (a, i), (b, j), sink),
                (false, true) => group::<U, false, true>(unit, (a, i), (b, j), sink),
                (false, false) => group::<U, false, false>(unit, (a, i), (b, j), sink),
            }
        }
    }
}

#[inline(always)]
fn group<U: Unit, const ROWS: bool, const COLUMNS: bool>(
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
        unit.multiply::<0, 4, 6>();
        if COLUMNS {
            unit.load::<7>(b.tile(j + 1, k));
            unit.multiply::<1, 4, 7>();
        }
        if ROWS {
            unit.load::<5>(a.tile(i + 1, k));
            unit.multiply::<2, 5, 6>();
        }
        if ROWS && COLUMNS {
            unit.multiply::<3, 5, 7>();
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
    use super::{Panels, Sink};

    /// Never: only Linux on Intel processors.
    pub fn is_available() -> bool {
        false
    }

    /// See [`super::super::multiply`].
    pub fn multiply(a: Panels<'_>, b: Panels<'_>, sink: &mut impl Sink) {
        super::super::plain::multiply(a, b, sink);
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod hardware;

pub use hardware::{is_available, multiply};

#[cfg(test)]
pub mod emulation;
