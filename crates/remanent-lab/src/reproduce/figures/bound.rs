//! Figure 1: expected log-likelihood and its upper bound.

use super::words::{also, decides};
use crate::bound;
use crate::reproduce::results::{Results, Shown};

/// What part of the expected log-likelihood at the start the gap may be at the end, to be called tight.
const TIGHT: f64 = 0.1;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let rows = &results.bound;
    let (first, last) = (rows.first()?, rows.last()?);
    let least = rows.iter().map(|row| row.gap.min).fold(f64::INFINITY, f64::min);
    let [from, to] = [first, last].map(|row| row.expected_log_likelihood.mean);
    let [upper_from, upper_to] = [first, last].map(|row| row.upper_bound.mean);
    let [gap_from, gap_to] = [first, last].map(|row| row.gap.mean);
    let checks = vec![
        decides(
            format!(
                "the gap at the end, {gap_to:.2}, is below {TIGHT} of the expected log-likelihood at the start, {from:.2}"
            ),
            gap_to <= TIGHT * from.abs(),
        ),
        decides(
            format!(
                "both rise from the first to the last epoch ({from:.2} to {to:.2}, {upper_from:.2} to {upper_to:.2})"
            ),
            to > from && upper_to > upper_from,
        ),
        also(
            format!(
                "in no trial and epoch is the bound below what it bounds (smallest gap {least:.2})"
            ),
            least >= -1e-9,
        ),
    ];
    Some(Shown {
        figure: bound::figure(rows, None),
        table: bound::table(rows, None),
        found: format!(
            "During training the expected log-likelihood goes from {from:.2} to {to:.2} and the bound from \
             {upper_from:.2} to {upper_to:.2}: the gap goes from {gap_from:.2} to {gap_to:.2}."
        ),
        checks,
        notes: vec![
            "Ours: the optimiser (full-batch gradient descent) and its rate, which no source states, and what is called \
             tight."
                .into(),
        ],
    })
}
