//! Figure B4: samples of the theory's own ensemble.

use super::words::{also, decides, root_mean_square};
use crate::reproduce::results::{Results, Shown};
use crate::simulation::{self, Comparison, Drawn, comparison_table};

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let comparisons: Vec<Vec<Comparison>> =
        results.simulated.iter().map(|case| case.compared()).collect::<Option<_>>()?;
    let drawn: Vec<Drawn> = results
        .simulated
        .iter()
        .zip(&comparisons)
        .map(|(case, comparison)| Drawn {
            case: &case.case,
            simulation: &case.simulation,
            summary: &case.summary,
            comparison,
        })
        .collect();
    let labels: Vec<String> = results.simulated.iter().map(|case| case.case.label()).collect();
    let named: Vec<(&str, &[Comparison])> =
        labels.iter().map(String::as_str).zip(comparisons.iter().map(Vec::as_slice)).collect();
    // ε is a function of p, which is compared already.
    let scores: Vec<f64> = comparisons
        .iter()
        .flatten()
        .filter(|c| !c.quantity.starts_with("eps"))
        .filter_map(|c| c.z)
        .collect();
    let spread = root_mean_square(scores.iter().copied());
    let worst = scores.iter().fold(0.0, |worst: f64, z| worst.max(z.abs()));
    let unmixed: usize = results.simulated.iter().map(|case| case.summary.unmixed()).sum();
    Some(Shown {
        figure: simulation::figure(&drawn, false, None),
        table: comparison_table(&named),
        found: format!(
            "Of {} order parameters at {} points the root mean square z-score is {spread:.2} (1 is expected of chance), and \
             the largest {worst:.1}.",
            scores.len(),
            labels.len()
        ),
        checks: vec![
            decides(
                format!("the root mean square z-score {spread:.2} is below 1.5"),
                spread <= 1.5,
            ),
            also(format!("no z-score is above 3.5 (largest {worst:.1})"), worst <= 3.5),
            also(format!("all chains have mixed ({unmixed} trials have not)"), unmixed == 0),
        ],
        notes: vec![
            "Cases, from left to right: ".to_owned() + &labels.join("; ") + ".",
            "Corrections of order 1/N are part of the difference.".into(),
        ],
    })
}
