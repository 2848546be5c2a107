//! The path of the tile registers (AMX) of recent Intel processors.
//!
//! The kernel is written over [`Unit`], the four operations on tile registers. [`Hardware`] is the
//! processor; tests use an emulation, so that all but four instructions are tested on every processor.

use super::{Output, Panels, SIDE, Tile};

/// A tile of sums.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Sums(pub [[f32; SIDE]; SIDE]);

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
pub fn multiply_with<U: Unit>(
    unit: &mut U,
    scale: f32,
    a: Panels<'_>,
    b: Panels<'_>,
    out: &mut Output<'_>,
) {
    for (j, right) in b.tiles.chunks(2 * b.blocks).enumerate() {
        for (i, left) in a.tiles.chunks(2 * a.blocks).enumerate() {
            let at = [2 * i * SIDE, 2 * j * SIDE];
            let (two_rows, two_columns) = (left.len() > a.blocks, right.len() > b.blocks);
            match (two_rows, two_columns) {
                (true, true) => group::<U, true, true>(unit, scale, a.blocks, left, right, at, out),
                (true, false) => {
                    group::<U, true, false>(unit, scale, a.blocks, left, right, at, out);
                }
                (false, true) => {
                    group::<U, false, true>(unit, scale, a.blocks, left, right, at, out);
                }
                (false, false) => {
                    group::<U, false, false>(unit, scale, a.blocks, left, right, at, out);
                }
            }
        }
    }
}

#[inline(always)]
fn group<U: Unit, const ROWS: bool, const COLUMNS: bool>(
    unit: &mut U,
    scale: f32,
    blocks: usize,
    left: &[Tile],
    right: &[Tile],
    [row, column]: [usize; 2],
    out: &mut Output<'_>,
) {
    unit.zero::<0>();
    unit.zero::<1>();
    unit.zero::<2>();
    unit.zero::<3>();
    for k in 0..blocks {
        unit.load::<4>(&left[k]);
        unit.load::<6>(&right[k]);
        unit.multiply::<0, 4, 6>();
        if COLUMNS {
            unit.load::<7>(&right[blocks + k]);
            unit.multiply::<1, 4, 7>();
        }
        if ROWS {
            unit.load::<5>(&left[blocks + k]);
            unit.multiply::<2, 5, 6>();
        }
        if ROWS && COLUMNS {
            unit.multiply::<3, 5, 7>();
        }
    }
    let mut sums = Sums([[0.0; SIDE]; SIDE]);
    let mut write = |sums: &Sums, row: usize, column: usize| {
        let rows = row..out.rows.min(row + SIDE);
        rows.zip(&sums.0).for_each(|(row, sums)| out.write(row, column, scale, sums));
    };
    unit.store::<0>(&mut sums);
    write(&sums, row, column);
    if COLUMNS {
        unit.store::<1>(&mut sums);
        write(&sums, row, column + SIDE);
    }
    if ROWS {
        unit.store::<2>(&mut sums);
        write(&sums, row + SIDE, column);
    }
    if ROWS && COLUMNS {
        unit.store::<3>(&mut sums);
        write(&sums, row + SIDE, column + SIDE);
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod hardware {
    use super::{Output, Panels};

    /// Never: only Linux on Intel processors.
    pub fn is_available() -> bool {
        false
    }

    /// See [`super::super::multiply`].
    pub fn multiply(scale: f32, a: Panels<'_>, b: Panels<'_>, out: &mut Output<'_>) {
        super::super::plain::multiply(scale, a, b, out);
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod hardware;

pub use hardware::{is_available, multiply};

#[cfg(test)]
pub mod emulation;
