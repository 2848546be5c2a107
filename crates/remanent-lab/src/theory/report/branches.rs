//! What is shown of `theory branches`.

use remanent_plot::{Axis, Cell, Figure, HorizontalLine, Panel, Table, VerticalLine};
use remanent_theory::branches::Branches;
use remanent_theory::solution::Solution;

use super::figures::by_branch;
use super::{Conclusion, tables as rows};
use crate::experiment::Detail;

pub(super) fn conclusion(found: &Branches, low: f64, high: f64) -> Conclusion {
    let mut conclusion = Conclusion {
        notes: Vec::new(),
        is_incomplete: !found.rows.iter().all(Solution::is_converged),
    };
    if found.crossing.as_ref().is_some_and(|crossing| !crossing.replica_symmetry_holds) {
        let text = "at the crossing one replicon is negative; that the branches exchange stability \
                    there is a replica-symmetric statement";
        conclusion.note(text.into());
    }
    if found.rows.is_empty() {
        conclusion.missing(format!("no solution was found with alpha from {low} to {high}"));
    }
    conclusion
}

pub(super) fn tables(found: &Branches, detail: Detail) -> Vec<Table> {
    let table = rows::solutions(&found.rows, detail);
    if detail == Detail::Full { vec![table] } else { vec![table, landmarks(found)] }
}

fn landmarks(result: &Branches) -> Table {
    let mut table = Table::new(["landmark", "alpha", "branch", "eps", "minus_beta_f", "replicon"]);
    let mut add = |name: &str, branch: String, alpha: f64, s: Option<&Solution>| {
        let number = |f: fn(&Solution) -> f64| s.map_or(Cell::Missing, |s| Cell::Number(f(s)));
        table.push(vec![
            Cell::Text(name.into()),
            Cell::Number(alpha),
            Cell::Text(branch),
            number(|s| s.eps),
            number(|s| s.minus_beta_f),
            number(|s| s.replicon),
        ]);
    };
    for fold in &result.folds {
        add("fold", fold.ends.to_string(), fold.alpha, Some(&fold.solution));
    }
    if let Some(c) = &result.crossing {
        add("crossing", "poor".into(), c.alpha, Some(&c.poor));
        add("crossing", "good".into(), c.alpha, Some(&c.good));
    }
    for zero in &result.replicon_zeros {
        add("replicon zero", zero.branch.to_string(), zero.alpha, Some(&zero.solution));
    }
    if let Some(corner) = &result.corner {
        add("corner (q_d = 1)", "poor".into(), corner.alpha, None);
    }
    table
}

/// Error, order parameters, free energy and replicon over α, branch by branch.
pub(super) fn figure(result: &Branches, beta: f64) -> Figure {
    let rows: Vec<&Solution> = result.rows.iter().collect();
    let alpha = |s: &Solution| s.alpha;
    let axis = || Axis::linear("α");
    let mut error = Panel::new("generalisation error", axis(), Axis::log("ε").lower(1e-8));
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    let mut energy = Panel::new("free energy", axis(), Axis::linear("−βf"));
    let mut stability = Panel::new("stability", axis(), Axis::linear("replicon"));
    by_branch(&mut error, &rows, alpha, |s| s.eps, None, 0);
    by_branch(&mut order, &rows, alpha, |s| s.q_d, Some("q_d"), 0);
    by_branch(&mut order, &rows, alpha, |s| s.q_0, Some("q_0"), 1);
    by_branch(&mut order, &rows, alpha, |s| s.r, Some("r"), 2);
    by_branch(&mut energy, &rows, alpha, |s| s.minus_beta_f, None, 0);
    by_branch(&mut stability, &rows, alpha, |s| s.replicon, None, 0);
    stability.push(HorizontalLine::new(0.0));
    for fold in &result.folds {
        error.push(VerticalLine::new(fold.alpha).label(format!("{:.3}", fold.alpha)));
        energy.push(VerticalLine::new(fold.alpha));
    }
    if let Some(c) = &result.crossing {
        energy.push(VerticalLine::new(c.alpha).label(format!("crossing {:.4}", c.alpha)));
    }
    for zero in &result.replicon_zeros {
        stability.push(VerticalLine::new(zero.alpha).label(format!("{:.3}", zero.alpha)));
    }
    Figure {
        panels: vec![error, order, energy, stability],
        columns: 2,
        title: Some(format!("solutions at β = {beta}; dashed: unstable middle branch")),
    }
}
