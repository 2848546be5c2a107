//! Pieces that the figures of several commands share.

use remanent_plot::{Color, Curve, Dash, Panel};
use remanent_theory::curve::Branch;
use remanent_theory::solution::Solution;

/// Solid where a branch can be stable, dashed where it cannot.
pub(super) fn dash(branch: Branch) -> Dash {
    if branch == Branch::Middle { Dash::Dashed } else { Dash::Solid }
}

/// Adds one line per run of rows on the same branch at the same β (or, if β is the axis, at any); the label
/// goes to the first. Nothing is added if no row has a value.
pub(super) fn by_branch<T: AsRef<Solution>>(
    panel: &mut Panel,
    rows: &[&T],
    x: impl Fn(&T) -> f64,
    y: impl Fn(&T) -> f64,
    label: Option<&str>,
    color: usize,
) {
    if rows.iter().all(|row| y(row).is_nan()) {
        return;
    }
    let mut label = label;
    let of = |row: &T| row.as_ref().branch;
    let same = |a: &T, b: &T| {
        let over_beta = x(a) == a.as_ref().beta && x(b) == b.as_ref().beta;
        of(a) == of(b) && (over_beta || a.as_ref().beta == b.as_ref().beta)
    };
    for run in rows.chunk_by(|a, b| same(a, b)) {
        let (xs, ys): (Vec<f64>, Vec<f64>) = run.iter().map(|row| (x(row), y(row))).unzip();
        let branch = of(run[0]);
        let mut curve = Curve::new(xs, ys).color(Color::Palette(color)).dash(dash(branch));
        // The dashed part is explained by the caption, not by the legend.
        if branch != Branch::Middle
            && let Some(text) = label.take()
        {
            curve = curve.label(text);
        }
        if run.len() == 1 {
            curve = curve.markers();
        }
        panel.push(curve);
    }
}

/// Groups rows that belong to one branch, in the order poor, middle, good.
pub(super) fn branch_order(rows: &[Solution]) -> Vec<&Solution> {
    let mut sorted: Vec<&Solution> = rows.iter().collect();
    sorted.sort_by_key(|s| s.branch);
    sorted
}
