//! What is shown of `theory single`.

use remanent_plot::{Axis, Figure, HorizontalLine, Panel};
use remanent_theory::solution::Solution;

use super::figures::{branch_order, by_branch};
use super::{Conclusion, tables};

pub(super) fn conclusion(rows: &[Solution]) -> Conclusion {
    let mut conclusion = tables::conclusion(rows, rows.len());
    let unstable = rows.iter().filter(|row| row.replicon < 0.0).count();
    if unstable > 0 {
        conclusion.note(format!(
            "replica symmetry is broken in {unstable} of {} rows (replicon < 0); \
             --rsb auto takes the steps of breaking that they need",
            rows.len()
        ));
    }
    conclusion
}

/// Order parameters, error, free energy and replicon over α, or over β if α has one value.
pub(super) fn figure(rows: &[Solution], alpha: &[f64], beta: &[f64]) -> Figure {
    let over_beta = alpha.len() == 1 && beta.len() > 1;
    let x = |s: &Solution| if over_beta { s.beta } else { s.alpha };
    let axis = || Axis::linear(if over_beta { "β" } else { "α" });
    let mut order = Panel::new("order parameters", axis(), Axis::linear("overlap"));
    let mut error = Panel::new("generalisation error", axis(), Axis::log("ε"));
    let mut energy = Panel::new("free energy", axis(), Axis::linear("−βf"));
    let mut replicon = Panel::new("stability", axis(), Axis::linear("replicon"));
    let groups: Vec<(String, Vec<Solution>)> = if over_beta {
        vec![(format!("α = {}", alpha[0]), rows.to_vec())]
    } else {
        let of = |beta: f64| rows.iter().filter(|s| s.beta == beta).copied().collect();
        beta.iter().map(|beta| (format!("β = {beta}"), of(*beta))).collect()
    };
    for (number, (label, rows)) in groups.iter().enumerate() {
        let sorted = branch_order(rows);
        if groups.len() == 1 {
            type Quantity = (&'static str, fn(&Solution) -> f64);
            let quantities: [Quantity; 4] =
                [("q_d", |s| s.q_d), ("q_0", |s| s.q_0), ("r", |s| s.r), ("p", |s| s.p)];
            for (color, (name, y)) in quantities.into_iter().enumerate() {
                by_branch(&mut order, &sorted, x, y, Some(name), color);
            }
        } else {
            by_branch(&mut order, &sorted, x, |s| s.q_d, Some(&format!("q_d, {label}")), number);
        }
        by_branch(&mut error, &sorted, x, |s| s.eps, Some(label), number);
        by_branch(&mut energy, &sorted, x, |s| s.minus_beta_f, Some(label), number);
        by_branch(&mut replicon, &sorted, x, |s| s.replicon, Some(label), number);
    }
    replicon.push(HorizontalLine::new(0.0));
    Figure { panels: vec![order, error, energy, replicon], columns: 2, title: None }
}
