//! The cells of a map: where each of its columns or rows begins and ends.

use crate::scale::Kind;

/// One column or row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// Its place in the list of grid values.
    pub(crate) index: usize,
    /// The values at its ends, `from < to`.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// The cells around grid values, ascending. They meet half-way between
/// neighbours in the coordinate in which the axis is uniform; the outermost
/// reach as far outwards as inwards. Values without a place on the axis have
/// no cell.
pub(crate) fn cells(grid: &[f64], kind: Kind) -> Vec<Cell> {
    let mut centres: Vec<(usize, f64)> = grid
        .iter()
        .map(|&value| kind.forward(value))
        .enumerate()
        .filter(|(_, centre)| centre.is_finite())
        .collect();
    centres.sort_by(|a, b| a.1.total_cmp(&b.1));
    let last = centres.len().saturating_sub(1);
    let half = |k: usize| 0.5 * (centres[k + 1].1 - centres[k].1);
    centres
        .iter()
        .enumerate()
        .map(|(k, &(index, centre))| {
            let (before, after) = match k {
                _ if last == 0 => (0.5, 0.5),
                0 => (half(0), half(0)),
                k if k == last => (half(k - 1), half(k - 1)),
                k => (half(k - 1), half(k)),
            };
            Cell { index, from: kind.back(centre - before), to: kind.back(centre + after) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(grid: &[f64], kind: Kind) -> Vec<(usize, f64, f64)> {
        cells(grid, kind).iter().map(|cell| (cell.index, cell.from, cell.to)).collect()
    }

    #[test]
    fn edges_are_half_way() {
        assert_eq!(
            edges(&[0.0, 1.0, 3.0], Kind::Linear),
            [(0, -0.5, 0.5), (1, 0.5, 2.0), (2, 2.0, 4.0)]
        );
        assert_eq!(edges(&[2.0], Kind::Linear), [(0, 1.5, 2.5)]);
        assert!(edges(&[], Kind::Linear).is_empty());
    }

    #[test]
    fn edges_on_a_log_axis_are_geometric() {
        let found = edges(&[0.0, 1.0, 100.0], Kind::Log);
        assert_eq!(found.len(), 2);
        let wanted = [(1, 0.1, 10.0), (2, 10.0, 1000.0)];
        for (found, wanted) in found.iter().zip(wanted) {
            assert_eq!(found.0, wanted.0);
            assert!(
                (found.1 / wanted.1 - 1.0).abs() < 1e-12
                    && (found.2 / wanted.2 - 1.0).abs() < 1e-12
            );
        }
    }

    #[test]
    fn descending_grids_keep_their_indices() {
        assert_eq!(edges(&[1.0, 0.0], Kind::Linear), [(1, -0.5, 0.5), (0, 0.5, 1.5)]);
    }
}
