//! Figure 1: expected log-likelihood and its upper bound.

use super::words::{also, decides};
use crate::bound;
use crate::reproduce::results::{Results, Shown};

/// How much of the expected log-likelihood at the start the gap may be at the end, to be called tight.
const TIGHT: f64 = 0.1;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let rows = &results.bound;
    let (first, last) = (rows.first()?, rows.last()?);
    let least = rows.iter().map(|row| row.gap.min).fold(f64::INFINITY, f64::min);
    let start = first.expected_log_likelihood.mean.abs();
    let [ell, upper] =
        [&last.expected_log_likelihood, &last.upper_bound].map(|summary| summary.mean);
    let gap = last.gap.mean;
    let checks = vec![
        decides(
            format!(
                "in no trial and epoch is the bound below the expected log-likelihood (smallest gap {least:.2})"
            ),
            least >= -1e-9,
        ),
        decides(
            format!(
                "both rise from the first to the last epoch ({:.2} to {ell:.2}, {:.2} to {upper:.2})",
                first.expected_log_likelihood.mean, first.upper_bound.mean
            ),
            ell > first.expected_log_likelihood.mean && upper > first.upper_bound.mean,
        ),
        also(
            format!(
                "the gap at the end, {gap:.2}, is below {TIGHT} of the expected log-likelihood at the start, {start:.2}"
            ),
            gap <= TIGHT * start,
        ),
    ];
    Some(Shown {
        figure: bound::figure(rows, None),
        table: bound::table(rows, None),
        found: format!(
            "Training raises the expected log-likelihood from {:.2} to {ell:.2} and the bound from {:.2} to \
             {upper:.2}: the gap closes from {:.2} to {gap:.2}.",
            first.expected_log_likelihood.mean, first.upper_bound.mean, first.gap.mean
        ),
        checks,
        notes: vec!["Ours: the optimiser (full-batch gradient descent) and its rate, which no source states.".into()],
    })
}
