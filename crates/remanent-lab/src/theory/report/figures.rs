//! Pieces that the figures of several commands share.

use remanent_plot::{Color, Curve, Dash, Panel};
use remanent_theory::curve::Branch;
use remanent_theory::solution::Solution;

/// Solid where a branch can be stable, dashed where it cannot.
pub(super) fn dash(branch: Branch) -> Dash {
    if branch == Branch::Middle { Dash::Dashed } else { Dash::Solid }
}

/// Adds one line per run of rows on the same branch; the label goes to the first.
pub(super) fn by_branch(
    panel: &mut Panel,
    rows: &[&Solution],
    x: impl Fn(&Solution) -> f64,
    y: impl Fn(&Solution) -> f64,
    label: Option<&str>,
    color: usize,
) {
    let mut label = label;
    for run in rows.chunk_by(|a, b| a.branch == b.branch) {
        let xs: Vec<f64> = run.iter().map(|s| x(s)).collect();
        let ys: Vec<f64> = run.iter().map(|s| y(s)).collect();
        let mut curve = Curve::new(xs, ys).color(Color::Palette(color)).dash(dash(run[0].branch));
        // The dashed part is explained by the caption, not by the legend.
        if run[0].branch != Branch::Middle
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
