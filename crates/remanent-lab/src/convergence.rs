//! Convergence times over α.

use remanent_math::statistics::Summary;
use remanent_perceptron::convergence::{Convergence, Criterion, Watch, WatchProgress};
use remanent_perceptron::gradient::{GradientLearner, Trainer};
use remanent_perceptron::randomness;
use remanent_perceptron::world::World;
use remanent_plot::{Axis, Cell as TableCell, Color, Figure, Panel, Points, Table};
use remanent_store::{Cell, Context, Stopped};
use serde::Serialize;
use serde_json::{Value, json};
use toml::Table as Config;

use crate::experiment::{Computed, Detail, Error, Experiment, NoView, Note, Report, Resources};
use crate::options::Options;
use crate::simulation::{ConvergenceOptions, SettingError, Simulation};

/// One α of a convergence study.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvergenceStudy {
    simulation: Simulation,
    learner: GradientLearner,
    criterion: Criterion,
}

impl ConvergenceStudy {
    /// Reads and checks a study; the defaults are the paper's (N = 3000, full-batch GD with
    /// lr = 0.01, at most 10,000 steps).
    pub fn from_table(table: &Config) -> Result<Self, SettingError> {
        let mut table = table.clone();
        let ConvergenceOptions { n, window, drop, .. } = ConvergenceOptions::read(&table)?;
        let criterion = Criterion { window, drop };
        for key in ["window", "drop"] {
            table.remove(key);
        }
        for (key, value) in
            [("n", (n as i64).into()), ("learner", "gd".into()), ("epochs", 10_000.into())]
        {
            table.entry(key).or_insert(value);
        }
        // Nothing is recorded along the way but ε.
        table.insert("record_every".into(), toml::Value::Integer(i64::MAX));
        let simulation = Simulation::from_table(&table)?;
        let learner = simulation.gradient_learner_of_one_task()?;
        Ok(Self { simulation, learner, criterion })
    }

    fn key(&self) -> Value {
        json!({"simulation": self.simulation.key(), "criterion": self.criterion})
    }

    /// The latest T_c that a trial can show: a window must fit behind it.
    pub fn latest(&self) -> usize {
        self.learner.epochs_of(0).saturating_sub(self.criterion.window)
    }

    /// α.
    pub fn alpha(&self) -> f64 {
        self.simulation.setting.alpha[0]
    }
}

/// One trial at one α.
pub struct ConvergenceTrial<'a> {
    /// The study.
    pub study: &'a ConvergenceStudy,
    /// Seed and number.
    pub trial: randomness::Trial,
}

impl Cell for ConvergenceTrial<'_> {
    type Record = Convergence;

    fn key(&self) -> Value {
        json!({"study": self.study.key(), "seed": self.trial.seed, "trial": self.trial.trial})
    }

    fn work(&self) -> u64 {
        // Steps, weighted by the patterns that each goes through.
        self.steps().saturating_mul(self.weight())
    }

    fn memory(&self) -> u64 {
        self.study.simulation.memory() + 8 * self.steps()
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Convergence, Stopped> {
        let learner = &self.study.learner;
        let world =
            World::draw(&self.study.simulation.setting, self.trial).map_err(Stopped::failed)?;
        let (trainer, eps) = match context.load::<WatchProgress>() {
            Some(WatchProgress { training, eps }) => (
                Trainer::resume(learner, &world, self.trial, training).map_err(Stopped::failed)?,
                eps,
            ),
            None => {
                (Trainer::new(learner, &world, self.trial).map_err(Stopped::failed)?, Vec::new())
            }
        };
        let done = trainer.epochs_done() as u64;
        context.advance(done * self.weight());
        let mut watch = Watch::new(trainer, self.study.criterion, eps);
        let found = loop {
            if let Some(found) = watch.epoch() {
                break found;
            }
            context.advance(self.weight());
            if watch.trainer().student().diverged().is_some() {
                return Err(Stopped::Failed("learning diverged; take a smaller lr".into()));
            }
            if context.due() {
                context.save(&watch.progress())?;
            }
        };
        // Steps that were not needed count as done.
        context.advance((self.steps() - found.steps as u64 + 1) * self.weight());
        Ok(found)
    }
}

impl ConvergenceTrial<'_> {
    fn steps(&self) -> u64 {
        self.study.learner.epochs_of(0) as u64
    }

    fn weight(&self) -> u64 {
        let setting = &self.study.simulation.setting;
        (setting.alpha[0] * setting.n as f64).ceil() as u64
    }
}

impl Experiment for ConvergenceStudy {
    const NAME: &'static str = "convergence-time";
    const UNIT: &'static str = "pattern visits";
    const SPREAD: Option<&'static str> = Some("alpha");

    type Options = ConvergenceOptions;
    type View = NoView;
    type Material = ();
    type Record = Convergence;
    type Cell<'a> = ConvergenceTrial<'a>;
    type Report = ConvergenceReport;

    fn read(table: &Config) -> Result<Self, Error> {
        Ok(Self::from_table(table)?)
    }

    fn prepare(cases: &[Self], _resources: &Resources) -> Result<Vec<()>, Error> {
        Ok(vec![(); cases.len()])
    }

    fn cell<'a>(&'a self, _material: &'a (), trial: randomness::Trial) -> ConvergenceTrial<'a> {
        ConvergenceTrial { study: self, trial }
    }

    fn to_json(&self) -> Value {
        self.key()
    }

    fn report(run: Computed<'_, Self>, _view: &NoView) -> Result<ConvergenceReport, Error> {
        let plan = &run.prepared.plan;
        let trials = run.prepared.cases.iter().zip(run.cells.records.chunks(plan.seeds));
        Ok(ConvergenceReport {
            config: run.prepared.config(),
            seeds: plan.seeds,
            title: plan.title.clone(),
            rows: trials.filter_map(|(study, records)| summarise(study, records)).collect(),
            trials: run.cells.records.len(),
            seconds: run.cells.seconds.iter().copied().sum(),
        })
    }
}

/// What is shown of convergence times.
pub struct ConvergenceReport {
    config: Value,
    seeds: usize,
    title: Option<String>,
    rows: Vec<ConvergenceSummary>,
    trials: usize,
    seconds: Option<f64>,
}

impl ConvergenceReport {
    fn not_converged(&self) -> usize {
        self.rows.iter().map(|row| row.not_converged).sum()
    }
}

impl Report for ConvergenceReport {
    fn json(&self) -> Value {
        let Self { config, seeds, rows, seconds, .. } = self;
        json!({"config": config, "seeds": seeds, "rows": rows, "seconds": seconds})
    }

    fn tables(&self, _detail: Detail) -> Vec<Table> {
        vec![table(&self.rows)]
    }

    fn figure(&self) -> Figure {
        figure(&self.rows, self.title.as_deref())
    }

    fn notes(&self) -> Vec<Note> {
        let (missing, all) = (self.not_converged(), self.trials);
        let text = format!("{missing} of {all} trials reached the limit of --epochs first");
        if missing > 0 { vec![Note { text, always: false }] } else { Vec::new() }
    }

    fn is_complete(&self) -> bool {
        self.not_converged() == 0
    }
}

/// One α, summarised over trials.
#[derive(Clone, Debug, Serialize)]
pub struct ConvergenceSummary {
    /// α.
    pub alpha: f64,
    /// T_c over the trials that converged; none if none did.
    pub time: Option<Summary>,
    /// The restricted mean: T_c over all trials, where one that did not converge counts with the limit.
    pub restricted_time: Summary,
    /// ε at T_c, over all trials.
    pub eps: Summary,
    /// Trials that reached the limit of steps.
    pub not_converged: usize,
    /// All trials.
    pub trials: usize,
}

/// T_c of every trial, or the latest that could have been seen: a trial that did not converge has a later
/// one.
pub fn restricted_times(trials: &[Convergence], latest: usize) -> Vec<f64> {
    trials.iter().map(|trial| trial.time.unwrap_or(latest).min(latest) as f64).collect()
}

/// Summarises the trials of one α.
pub fn summarise(study: &ConvergenceStudy, trials: &[Convergence]) -> Option<ConvergenceSummary> {
    Some(ConvergenceSummary {
        alpha: study.alpha(),
        time: Summary::of(trials.iter().filter_map(|t| t.time).map(|t| t as f64)),
        restricted_time: Summary::of(restricted_times(trials, study.latest()))?,
        eps: Summary::of(trials.iter().map(|t| t.eps))?,
        not_converged: trials.iter().filter(|t| t.time.is_none()).count(),
        trials: trials.len(),
    })
}

/// The table.
pub fn table(rows: &[ConvergenceSummary]) -> Table {
    let mut table = Table::new([
        "alpha",
        "time",
        "time_se",
        "time_min",
        "time_max",
        "restricted_time",
        "restricted_time_se",
        "eps",
        "eps_se",
        "not_converged",
        "trials",
    ]);
    for row in rows {
        table.push(vec![
            row.alpha.into(),
            row.time.map(|t| t.mean).into(),
            row.time.and_then(|t| t.standard_error).into(),
            row.time.map(|t| t.min).into(),
            row.time.map(|t| t.max).into(),
            row.restricted_time.mean.into(),
            row.restricted_time.standard_error.into(),
            row.eps.mean.into(),
            row.eps.standard_error.into(),
            TableCell::Integer(row.not_converged as i64),
            TableCell::Integer(row.trials as i64),
        ]);
    }
    table
}

/// The figure. It shows the restricted mean of T_c.
pub fn figure(rows: &[ConvergenceSummary], title: Option<&str>) -> Figure {
    let points = |of: fn(&ConvergenceSummary) -> Summary| {
        let values = |value: fn(Summary) -> f64| rows.iter().map(|row| value(of(row))).collect();
        Points::new(rows.iter().map(|row| row.alpha).collect(), values(|s| s.mean))
            .error(values(|s| s.standard_error.unwrap_or(0.0)))
    };
    let mut times =
        Panel::new("convergence time", Axis::linear("α"), Axis::linear("T_c").lower(0.0));
    times.push(points(|row| row.restricted_time).color(Color::Palette(0)));
    let mut errors =
        Panel::new("test error at T_c", Axis::linear("α"), Axis::linear("ε").lower(0.0));
    errors.push(points(|row| row.eps).color(Color::Palette(1)));
    Figure::grid(vec![times, errors], 2).titled(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_do_not_converge_count_with_the_limit() {
        let text = "alpha = 1.5\nn = 100\nepochs = 5000\nwindow = 1000";
        let study = ConvergenceStudy::from_table(&text.parse().unwrap()).unwrap();
        let trial = |time| Convergence { time, eps: 0.1, steps: 5000 };
        let found =
            summarise(&study, &[trial(Some(1000)), trial(None), trial(Some(1000))]).unwrap();
        assert_eq!((found.not_converged, found.time.unwrap().mean), (1, 1000.0));
        assert_eq!((found.restricted_time.mean, found.restricted_time.count), (2000.0, 3));
        let none = summarise(&study, &[trial(None)]).unwrap();
        assert_eq!((none.time, none.restricted_time.mean), (None, 4000.0));
    }
}
