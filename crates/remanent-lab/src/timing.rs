//! How long cells are expected to take, from cells that are done and from short trials of others.

use remanent_store::{Cell, Survey, rate};

use crate::experiment::{Experiment, Prepared};

/// The most cases that are run for a moment to see how fast they are.
const PROBES: usize = 6;

impl<E: Experiment> Prepared<E> {
    /// The seconds that each cell is expected to take on one thread. Cells of one case are equally fast;
    /// of many cases some are timed, and the others are taken to be as fast as the nearest one.
    pub fn expected_seconds(&self, cells: &[E::Cell<'_>], survey: &Survey) -> Vec<f64> {
        let trials = self.plan.seeds.max(1);
        let cases = cells.len().div_ceil(trials);
        let of_case = |case: usize| case * trials..((case + 1) * trials).min(cells.len());
        // Seconds a unit of work, where cells are done.
        let measured = |case: usize| {
            let done = of_case(case).filter_map(|i| Some((survey.seconds[i]?, cells[i].work())));
            let (seconds, work) = done
                .fold((0.0, 0.0), |sum, (seconds, work)| (sum.0 + seconds, sum.1 + work as f64));
            (work > 0.0 && seconds > 0.0).then(|| seconds / work)
        };
        let mut known: Vec<Option<f64>> = (0..cases).map(measured).collect();
        let unknown: Vec<usize> = (0..cases).filter(|&case| known[case].is_none()).collect();
        let probes = unknown.len().min(PROBES);
        for probe in 0..probes {
            // From the first to the last.
            let at = probe * (unknown.len() - 1) / (probes - 1).max(1);
            let case = unknown[at];
            known[case] = rate(&cells[case * trials]).map(f64::recip);
        }
        let nearest = |case: usize| {
            let timed = (0..cases).filter(|&other| known[other].is_some());
            timed.min_by_key(|&other| other.abs_diff(case)).and_then(|other| known[other])
        };
        let speeds: Vec<Option<f64>> = (0..cases).map(nearest).collect();
        let seconds = |(i, cell): (usize, &E::Cell<'_>)| {
            let expected = speeds[i / trials].map(|speed| speed * cell.work() as f64);
            survey.seconds[i].or(expected).unwrap_or(1.0)
        };
        cells.iter().enumerate().map(seconds).collect()
    }
}
