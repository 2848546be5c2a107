//! Means over the trials of a case, row by row and at the end of each task.

use remanent_math::statistics::Summary;
use remanent_perceptron::boltzmann::TaskSamples;
use remanent_perceptron::gradient::Row;
use remanent_perceptron::observables::generalisation_error;
use serde::Serialize;

use crate::simulation::cell::TrialRecord;

/// One recorded moment, summarised over trials.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryRow {
    /// The epoch (sweep), from the start of the first task.
    pub epoch: usize,
    /// The task that is being learned, from 1.
    pub task: usize,
    /// ε of every task.
    pub eps: Vec<f64>,
    /// Its standard errors; none for a single trial.
    pub eps_se: Vec<Option<f64>>,
    /// The smallest ε of any trial.
    pub eps_min: Vec<f64>,
    /// The largest ε of any trial.
    pub eps_max: Vec<f64>,
    /// ε of every task on fresh patterns, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eps_fresh: Vec<f64>,
    /// Its standard errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eps_fresh_se: Vec<Option<f64>>,
    /// q_⋆ = Σ m²/N.
    pub q_star: f64,
    /// Its standard error.
    pub q_star_se: Option<f64>,
    /// Overlap of m with the teacher of the task that is being learned.
    pub r: f64,
    /// Its standard error.
    pub r_se: Option<f64>,
    /// Overlap of sign(m) with the teacher of the task that is being learned.
    pub p: f64,
    /// Its standard error.
    pub p_se: Option<f64>,
    /// Overlap of m with the part that all teachers share; null if they share nothing.
    pub q_com: Option<f64>,
    /// Its standard error.
    pub q_com_se: Option<f64>,
    /// L of the task that is being learned, summed over its patterns.
    pub loss: f64,
    /// Its standard error.
    pub loss_se: Option<f64>,
    /// KL to the anchor, summed over the weights.
    pub kl: f64,
    /// Its standard error.
    pub kl_se: Option<f64>,
    /// r with every teacher.
    pub r_by_task: Vec<f64>,
    /// p with every teacher.
    pub p_by_task: Vec<f64>,
}

/// The end of one task, summarised over trials.
#[derive(Clone, Debug, Serialize)]
pub struct TaskEnd {
    /// The task, from 1.
    pub task: usize,
    /// The epoch (sweep) at which it ended.
    pub epoch: usize,
    /// ε of every task.
    pub eps: Vec<Summary>,
    /// ε of every task on fresh patterns, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eps_fresh: Vec<Summary>,
    /// q_⋆ = Σ m²/N.
    pub q_star: Summary,
    /// r with the task's own teacher.
    pub r: Summary,
    /// p with the task's own teacher.
    pub p: Summary,
    /// r with every teacher.
    pub r_by_task: Vec<Summary>,
    /// p with every teacher.
    pub p_by_task: Vec<Summary>,
    /// Overlap with the part that all teachers share.
    pub q_com: Option<Summary>,
    /// L of the task.
    pub loss: Summary,
    /// KL to the anchor.
    pub kl: Summary,
    /// What only a sampler knows.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledTask>,
}

/// What only a sampler knows of a task.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SampledTask {
    /// q_d (the same as `q_star`, under the theory's name).
    pub q_d: Summary,
    /// Overlap of different chains on the same data.
    pub q_0: Summary,
    /// The worst R̂ of any quantity and trial.
    pub r_hat: f64,
    /// The longest autocorrelation time of any quantity and trial, in sweeps.
    pub autocorrelation_time: f64,
    /// The fewest independent samples of any quantity and trial.
    pub effective_samples: f64,
    /// Mean over trials of the fewest independent samples of any quantity.
    pub mean_effective_samples: f64,
    /// Mean acceptance of the trajectories.
    pub acceptance: f64,
    /// Mean step of the leapfrog.
    pub step: f64,
    /// Trials whose chains have not mixed.
    pub unmixed: usize,
}

/// A case, summarised over its trials.
#[derive(Clone, Debug, Serialize)]
pub struct CaseSummary {
    /// The moments recorded.
    pub rows: Vec<SummaryRow>,
    /// The ends of all tasks; the last is the final state.
    pub ends: Vec<TaskEnd>,
}

/// The earliest epoch in which a trial diverged, and how many did.
pub fn divergence(trials: &[TrialRecord]) -> Option<(usize, usize)> {
    let epochs: Vec<usize> = trials.iter().filter_map(|trial| trial.diverged).collect();
    Some((*epochs.iter().min()?, epochs.len()))
}

impl CaseSummary {
    /// Trials whose chains have not mixed, in the worst task.
    pub fn unmixed(&self) -> usize {
        self.ends.iter().filter_map(|end| end.sampled).map(|s| s.unmixed).max().unwrap_or(0)
    }
}

/// Summarises the trials of a case that did not diverge; none if there is no such trial.
pub fn summarise(trials: &[TrialRecord]) -> Option<CaseSummary> {
    let trials: Vec<&TrialRecord> = trials.iter().filter(|t| t.diverged.is_none()).collect();
    let first = trials.first()?;
    let rows: Vec<Moment> = (0..first.rows.len()).map(|i| Moment::at(&trials, i)).collect();
    let rows_out = rows.iter().map(Moment::row).collect::<Option<Vec<_>>>()?;
    let tasks = first.rows.last()?.task;
    let ends = (1..=tasks)
        .map(|task| {
            let index = first.rows.iter().rposition(|row| row.task == task)?;
            let samples: Vec<&TaskSamples> =
                trials.iter().filter_map(|t| t.samples.get(task - 1)).collect();
            if samples.is_empty() { rows[index].end() } else { sampled_end(&rows[index], &samples) }
        })
        .collect::<Option<Vec<_>>>()?;
    Some(CaseSummary { rows: rows_out, ends })
}

/// The rows of all trials at one moment.
struct Moment<'a>(Vec<&'a Row>);

impl<'a> Moment<'a> {
    fn at(trials: &[&'a TrialRecord], index: usize) -> Self {
        Self(trials.iter().filter_map(|trial| trial.rows.get(index)).collect())
    }

    fn of(&self, quantity: impl Fn(&Row) -> f64) -> Option<Summary> {
        Summary::of(self.0.iter().map(|row| quantity(row)))
    }

    fn by_task(&self, quantity: impl Fn(&Row, usize) -> f64) -> Option<Vec<Summary>> {
        let tasks = self.0[0].overlaps.p.len();
        (0..tasks).map(|task| self.of(|row| quantity(row, task))).collect()
    }

    fn eps(&self) -> Option<Vec<Summary>> {
        self.by_task(|row, task| generalisation_error(row.overlaps.p[task]))
    }

    fn eps_fresh(&self) -> Vec<Summary> {
        let tasks = self.0[0].eps_fresh.len();
        (0..tasks).filter_map(|task| self.of(|row| row.eps_fresh[task])).collect()
    }

    /// Trials whose teachers share nothing have no q_com.
    fn q_com(&self) -> Option<Summary> {
        Summary::of(self.0.iter().filter_map(|row| row.overlaps.q_com))
    }

    fn row(&self) -> Option<SummaryRow> {
        let task = self.0[0].task;
        let eps = self.eps()?;
        let eps_fresh = self.eps_fresh();
        let [q_star, loss, kl] = [self.of(|r| r.q_star)?, self.of(|r| r.loss)?, self.of(|r| r.kl)?];
        let [r, p] = [self.of(|r| r.overlaps.r[task - 1])?, self.of(|r| r.overlaps.p[task - 1])?];
        let q_com = self.q_com();
        let means = |list: Vec<Summary>| list.iter().map(|s| s.mean).collect();
        Some(SummaryRow {
            epoch: self.0[0].time,
            task,
            eps: eps.iter().map(|s| s.mean).collect(),
            eps_se: eps.iter().map(|s| s.standard_error).collect(),
            eps_min: eps.iter().map(|s| s.min).collect(),
            eps_max: eps.iter().map(|s| s.max).collect(),
            eps_fresh: eps_fresh.iter().map(|s| s.mean).collect(),
            eps_fresh_se: eps_fresh.iter().map(|s| s.standard_error).collect(),
            q_star: q_star.mean,
            q_star_se: q_star.standard_error,
            r: r.mean,
            r_se: r.standard_error,
            p: p.mean,
            p_se: p.standard_error,
            q_com: q_com.map(|q| q.mean),
            q_com_se: q_com.and_then(|q| q.standard_error),
            loss: loss.mean,
            loss_se: loss.standard_error,
            kl: kl.mean,
            kl_se: kl.standard_error,
            r_by_task: means(self.by_task(|row, task| row.overlaps.r[task])?),
            p_by_task: means(self.by_task(|row, task| row.overlaps.p[task])?),
        })
    }

    fn end(&self) -> Option<TaskEnd> {
        let task = self.0[0].task;
        Some(TaskEnd {
            task,
            epoch: self.0[0].time,
            eps: self.eps()?,
            eps_fresh: self.eps_fresh(),
            q_star: self.of(|r| r.q_star)?,
            r: self.of(|r| r.overlaps.r[task - 1])?,
            p: self.of(|r| r.overlaps.p[task - 1])?,
            r_by_task: self.by_task(|row, task| row.overlaps.r[task])?,
            p_by_task: self.by_task(|row, task| row.overlaps.p[task])?,
            q_com: self.q_com(),
            loss: self.of(|r| r.loss)?,
            kl: self.of(|r| r.kl)?,
            sampled: None,
        })
    }
}

/// The end of a sampled task: averages over all its samples, not over the last row.
fn sampled_end(last: &Moment, samples: &[&TaskSamples]) -> Option<TaskEnd> {
    let of = |quantity: &dyn Fn(&TaskSamples) -> f64| {
        Summary::of(samples.iter().map(|sample| quantity(sample)))
    };
    let by_task = |quantity: &dyn Fn(&TaskSamples, usize) -> f64| {
        let tasks = samples[0].overlaps.p.len();
        (0..tasks).map(|task| of(&|s| quantity(s, task))).collect::<Option<Vec<_>>>()
    };
    let end = last.end()?;
    let own = end.task - 1;
    let diagnostics = || samples.iter().map(|s| &s.diagnostics);
    let q_d = of(&|s| s.q_d)?;
    Some(TaskEnd {
        eps: by_task(&|s, task| generalisation_error(s.overlaps.p[task]))?,
        q_star: q_d,
        r: of(&|s| s.overlaps.r[own])?,
        p: of(&|s| s.overlaps.p[own])?,
        r_by_task: by_task(&|s, task| s.overlaps.r[task])?,
        p_by_task: by_task(&|s, task| s.overlaps.p[task])?,
        q_com: Summary::of(samples.iter().filter_map(|s| s.overlaps.q_com)),
        loss: of(&|s| s.loss)?,
        kl: of(&|s| s.kl)?,
        sampled: Some(SampledTask {
            q_d,
            q_0: of(&|s| s.q_0)?,
            r_hat: diagnostics().map(|d| d.r_hat()).fold(0.0, f64::max),
            autocorrelation_time: diagnostics()
                .map(|d| d.autocorrelation_time())
                .fold(0.0, f64::max),
            effective_samples: diagnostics()
                .map(|d| d.effective_samples())
                .fold(f64::INFINITY, f64::min),
            mean_effective_samples: of(&|s| s.diagnostics.effective_samples())?.mean,
            acceptance: of(&|s| s.diagnostics.acceptance)?.mean,
            step: of(&|s| s.diagnostics.step)?.mean,
            unmixed: diagnostics().filter(|d| !d.is_mixed()).count(),
        }),
        ..end
    })
}
