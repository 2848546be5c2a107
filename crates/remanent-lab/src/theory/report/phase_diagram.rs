//! What is shown of `theory phase-diagram`.

use remanent_plot::{Axis, Cell, Color, Curve, Dash, Figure, Panel, Points, Table};
use remanent_theory::curve::Branch;
use remanent_theory::phase::{PhaseDiagram, PhaseRow};
use remanent_theory::solution::Termination;

use super::Conclusion;
use crate::experiment::Detail;

pub(super) fn conclusion(diagram: &PhaseDiagram) -> Conclusion {
    let mut conclusion = Conclusion::default();
    if diagram.critical_point.is_none() {
        let folds = diagram.rows.iter().any(|row| row.good_from.is_some());
        let side = if folds { "smaller" } else { "larger" };
        conclusion.note(format!(
            "no critical point between the given values of beta, it lies at a {side} beta; give a \
             range around it, e.g. --beta 6:45:1"
        ));
    }
    let unsure = diagram.rows.iter().filter(|r| r.termination != Termination::Converged).count();
    if unsure > 0 {
        let text = "are not known to 1e-8: quadrature_error says how far they can be trusted";
        conclusion.missing(format!("{unsure} of {} rows {text}", diagram.rows.len()));
    }
    conclusion
}

/// α of the replicon's zeros on one side: the first on the way up, or the last.
fn replicon_line(row: &PhaseRow, first: bool) -> f64 {
    let zeros = row.replicon_zeros.iter().map(|z| z.alpha);
    let found = if first { zeros.reduce(f64::min) } else { zeros.reduce(f64::max) };
    found.unwrap_or(f64::NAN)
}

pub(super) fn tables(diagram: &PhaseDiagram, detail: Detail) -> Vec<Table> {
    let names = [
        "beta",
        "good_from",
        "crossing",
        "poor_until",
        "corner",
        "replicon_zero_low",
        "replicon_zero_high",
        "quadrature_error",
        "termination",
    ];
    // On a terminal the last two are shown where they say something.
    let unsure = diagram.rows.iter().any(|r| r.termination != Termination::Converged);
    let shown = if detail == Detail::Full || unsure { names.len() } else { names.len() - 2 };
    let mut table = Table::new(names.into_iter().take(shown));
    let cell = |v: Option<f64>| v.map_or(Cell::Missing, Cell::Number);
    for row in &diagram.rows {
        let mut cells = vec![
            Cell::Number(row.beta),
            cell(row.good_from),
            cell(row.crossing),
            cell(row.poor_until),
            cell(row.corner),
            Cell::Number(replicon_line(row, true)),
            Cell::Number(replicon_line(row, false)),
            Cell::Number(row.quadrature_error),
            Cell::Text(row.termination.to_string()),
        ];
        cells.truncate(shown);
        table.push(cells);
    }
    if detail == Detail::Full {
        return vec![table];
    }
    let Some(c) = diagram.critical_point else { return vec![table] };
    let mut critical = Table::new(["critical_alpha", "critical_beta"]);
    critical.push(vec![Cell::Number(c.alpha), Cell::Number(c.beta)]);
    vec![table, critical]
}

/// The lines in the plane of α and β.
pub(super) fn figure(diagram: &PhaseDiagram) -> Figure {
    let mut panel = Panel::new("", Axis::linear("α"), Axis::linear("β"));
    let critical = diagram.critical_point;
    // Three of the lines begin in the critical point.
    let mut line = |label: &str, color, dash, from_critical, alpha: &dyn Fn(&PhaseRow) -> f64| {
        let mut at: Vec<(f64, f64)> = diagram.rows.iter().map(|r| (alpha(r), r.beta)).collect();
        if at.iter().all(|p| p.0.is_nan()) {
            return;
        }
        if from_critical && let Some(c) = critical {
            at.retain(|p| p.0.is_finite());
            at.insert(0, (c.alpha, c.beta));
        }
        let (xs, ys) = at.into_iter().unzip();
        let curve = Curve::new(xs, ys).label(label);
        panel.push(curve.color(Color::Palette(color)).dash(dash));
    };
    let or_nan = |v: Option<f64>| v.unwrap_or(f64::NAN);
    line("good from", 2, Dash::Solid, true, &|r| or_nan(r.good_from));
    line("−βf crosses", 6, Dash::Dashed, true, &|r| or_nan(r.crossing));
    line("poor until", 1, Dash::Solid, true, &|r| or_nan(r.poor_until));
    line("poor reaches q_d = 1", 4, Dash::Solid, false, &|r| or_nan(r.corner));
    line("replicon zero", 0, Dash::Dotted, false, &|r| replicon_line(r, true));
    line("", 0, Dash::Dotted, false, &|r| {
        let upper = replicon_line(r, false);
        let on_curve = r.replicon_zeros.iter().any(|z| z.branch != Branch::Poor);
        if on_curve && upper > replicon_line(r, true) { upper } else { f64::NAN }
    });
    if let Some(c) = critical {
        panel.push(
            Points::new(vec![c.alpha], vec![c.beta])
                .color(Color::Palette(6))
                .label(format!("critical point ({:.3}, {:.2})", c.alpha, c.beta)),
        );
    }
    Figure::single(panel)
}
