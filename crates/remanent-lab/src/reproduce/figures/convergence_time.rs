//! Figure 3c: how long gradient descent takes.

use super::words::decides;
use crate::convergence;
use crate::reproduce::results::{Results, Shown};

/// Where the paper sees the peak.
const PEAK: f64 = 1.7;
/// How far from there a peak may be.
const NEAR: f64 = 0.1;
/// Below this error a task is learned.
const LOW: f64 = 0.01;
/// Neighbours on either side over which times are averaged before their peak is looked for.
const NEIGHBOURS: usize = 1;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let rows = &results.convergence;
    let times: Vec<(f64, f64)> =
        rows.iter().filter_map(|row| Some((row.alpha, row.time?.mean))).collect();
    let smooth = |i: usize| {
        let around = &times[i.saturating_sub(NEIGHBOURS)..(i + NEIGHBOURS + 1).min(times.len())];
        around.iter().map(|(_, time)| time).sum::<f64>() / around.len() as f64
    };
    let peak = (0..times.len()).max_by(|&i, &j| smooth(i).total_cmp(&smooth(j)))?;
    let (alpha, time) = (times[peak].0, smooth(peak));
    let (first, last) = (times.first()?.1, times.last()?.1);
    let trials: usize = rows.iter().map(|row| row.trials).sum();
    let unconverged: usize = rows.iter().map(|row| row.not_converged).sum();
    let poor = rows.iter().rposition(|row| row.eps.mean >= LOW);
    let perfect = rows.get(poor.map_or(0, |last| last + 1)).map(|row| row.alpha);
    let checks = vec![
        decides(
            format!("the peak, at α = {alpha:.2}, is within {NEAR} of {PEAK}"),
            (alpha - PEAK).abs() <= NEAR,
        ),
        decides(
            format!(
                "it is a peak: {time:.0} steps there, {first:.0} and {last:.0} at the ends of the range"
            ),
            time > 1.2 * first && time > 1.2 * last,
        ),
    ];
    let reach = match perfect {
        Some(alpha) => format!("the error at T_c is below {LOW} from α = {alpha:.2} on"),
        None => format!("the error at T_c is not below {LOW} at the largest α"),
    };
    Some(Shown {
        figure: convergence::figure(rows, None),
        table: convergence::table(rows),
        found: format!(
            "The convergence time peaks at α = {alpha:.2}, with {time:.0} steps; {reach}."
        ),
        checks,
        notes: vec![
            format!("The peak is that of the mean over {} neighbouring α.", 2 * NEIGHBOURS + 1),
            format!(
                "{unconverged} of {trials} trials do not converge within the limit of steps and are in no mean of T_c."
            ),
        ],
    })
}
