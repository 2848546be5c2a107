//! The bound study: expected log-likelihood against its upper bound, along training.

use remanent_math::statistics::Summary;
use remanent_perceptron::bound::{BoundRow, along_training};
use remanent_perceptron::gradient::{GradientLearner, Trainer};
use remanent_perceptron::randomness;
use remanent_perceptron::world::World;
use remanent_plot::{Axis, Band, Cell as TableCell, Color, Curve, Figure, Panel, Table};
use remanent_store::{Cell, Context, Stopped};
use serde::Serialize;
use serde_json::{Value, json};
use toml::Table as Config;

use crate::experiment::{Computed, Detail, Error, Experiment, NoView, Note, Report, Resources};
use crate::options::Options;
use crate::simulation::{BoundOptions, SettingError, Simulation};

/// A bound study.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundStudy {
    simulation: Simulation,
    learner: GradientLearner,
    kappa: f64,
}

impl BoundStudy {
    /// Reads and checks a study; the defaults are those of the paper's figure, and ours
    /// where it does not say (full-batch GD with lr = 0.1, 400 steps).
    pub fn from_table(table: &Config) -> Result<Self, SettingError> {
        let mut table = table.clone();
        let BoundOptions { n, alpha, kappa, .. } = BoundOptions::read(&table)?;
        table.remove("kappa");
        for (key, value) in [
            ("n", (n as i64).into()),
            ("alpha", alpha.into()),
            ("learner", "gd".into()),
            ("lr", 0.1.into()),
            ("epochs", 400.into()),
        ] {
            table.entry(key).or_insert(value);
        }
        let simulation = Simulation::from_table(&table)?;
        let learner = simulation.gradient_learner_of_one_task()?;
        Ok(Self { simulation, learner, kappa })
    }

    fn key(&self) -> Value {
        json!({"simulation": self.simulation.key(), "kappa": self.kappa})
    }
}

/// One trial.
pub struct BoundTrial<'a> {
    /// The study.
    pub study: &'a BoundStudy,
    /// Seed and number.
    pub trial: randomness::Trial,
}

impl Cell for BoundTrial<'_> {
    type Record = Vec<BoundRow>;

    fn key(&self) -> Value {
        json!({"study": self.study.key(), "seed": self.trial.seed, "trial": self.trial.trial})
    }

    fn work(&self) -> u64 {
        1
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Vec<BoundRow>, Stopped> {
        let learner = &self.study.learner;
        let world =
            World::draw(&self.study.simulation.setting, self.trial).map_err(Stopped::failed)?;
        let trainer = Trainer::new(learner, &world, self.trial).map_err(Stopped::failed)?;
        let every = learner.record_every;
        let rows = along_training(trainer, self.study.kappa, every).map_err(Stopped::failed)?;
        context.advance(1);
        Ok(rows)
    }
}

impl Experiment for BoundStudy {
    const NAME: &'static str = "bound";
    const UNIT: &'static str = "trials";
    const TAKES_ONE_CASE: bool = true;

    type Options = BoundOptions;
    type View = NoView;
    type Material = ();
    type Record = Vec<BoundRow>;
    type Cell<'a> = BoundTrial<'a>;
    type Report = BoundReport;

    fn read(table: &Config) -> Result<Self, Error> {
        Ok(Self::from_table(table)?)
    }

    fn prepare(cases: &[Self], _resources: &Resources) -> Result<Vec<()>, Error> {
        Ok(vec![(); cases.len()])
    }

    fn cell<'a>(&'a self, _material: &'a (), trial: randomness::Trial) -> BoundTrial<'a> {
        BoundTrial { study: self, trial }
    }

    fn to_json(&self) -> Value {
        self.key()
    }

    fn config(seed: u64, cases: &[Self], _materials: &[()]) -> Value {
        json!({"seed": seed, "study": cases[0].key()})
    }

    fn report(run: Computed<'_, Self>, _view: &NoView) -> Result<BoundReport, Error> {
        let plan = &run.prepared.plan;
        Ok(BoundReport {
            config: run.prepared.cases[0].key(),
            seed: plan.seed,
            seeds: plan.seeds,
            title: plan.title.clone(),
            rows: summarise(&run.cells.records).unwrap_or_default(),
            seconds: run.cells.seconds.iter().copied().sum(),
        })
    }
}

/// What is shown of a bound study.
pub struct BoundReport {
    config: Value,
    seed: u64,
    seeds: usize,
    title: Option<String>,
    rows: Vec<BoundSummary>,
    seconds: Option<f64>,
}

/// Rows that a terminal shows.
const SHOWN_ROWS: usize = 20;

impl Report for BoundReport {
    fn json(&self) -> Value {
        json!({
            "config": self.config,
            "seed": self.seed,
            "seeds": self.seeds,
            "rows": self.rows,
            "final": self.rows.last(),
            "seconds": self.seconds,
        })
    }

    fn tables(&self, detail: Detail) -> Vec<Table> {
        vec![table(&self.rows, (detail == Detail::Short).then_some(SHOWN_ROWS))]
    }

    fn figure(&self) -> Figure {
        figure(&self.rows, self.title.as_deref())
    }

    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// One epoch, summarised over trials.
#[derive(Clone, Debug, Serialize)]
pub struct BoundSummary {
    /// The epoch.
    pub epoch: usize,
    /// E_q ln P(D|ξ).
    pub expected_log_likelihood: Summary,
    /// ln E_q P(D|ξ).
    pub upper_bound: Summary,
    /// −L.
    pub large_network: Summary,
    /// Upper bound minus expected log-likelihood: never negative.
    pub gap: Summary,
    /// ε.
    pub eps: Summary,
}

/// Summarises trials.
pub fn summarise(trials: &[Vec<BoundRow>]) -> Option<Vec<BoundSummary>> {
    let rows = trials.first()?.len();
    (0..rows)
        .map(|i| {
            let of = |f: &dyn Fn(&BoundRow) -> f64| Summary::of(trials.iter().map(|t| f(&t[i])));
            Some(BoundSummary {
                epoch: trials[0][i].epoch,
                expected_log_likelihood: of(&|r| r.likelihoods.expected_log_likelihood)?,
                upper_bound: of(&|r| r.likelihoods.upper_bound)?,
                large_network: of(&|r| r.likelihoods.large_network)?,
                gap: of(&|r| r.likelihoods.upper_bound - r.likelihoods.expected_log_likelihood)?,
                eps: of(&|r| r.eps)?,
            })
        })
        .collect()
}

/// The table, or at most `most` rows of it.
pub fn table(rows: &[BoundSummary], most: Option<usize>) -> Table {
    let names = ["expected_log_likelihood", "upper_bound", "gap", "large_network", "eps"];
    let columns = names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}_se")]);
    let mut table = Table::new(std::iter::once("epoch".to_owned()).chain(columns));
    let stride = most.map_or(1, |most| rows.len().div_ceil(most).max(1));
    for row in rows.iter().rev().step_by(stride).rev() {
        let mut cells = vec![TableCell::Integer(row.epoch as i64)];
        for s in [row.expected_log_likelihood, row.upper_bound, row.gap, row.large_network, row.eps]
        {
            cells.extend([s.mean.into(), s.standard_error.into()]);
        }
        table.push(cells);
    }
    table
}

/// The figure.
pub fn figure(rows: &[BoundSummary], title: Option<&str>) -> Figure {
    let x: Vec<f64> = rows.iter().map(|row| row.epoch as f64).collect();
    let panel = |title: &str| {
        Panel::new(title, Axis::linear("epoch"), Axis::linear("log-likelihood").upper(0.0))
    };
    let mut both = panel("expected log-likelihood and bound");
    let mut bound = panel("the bound, enlarged");
    type Quantity = (&'static str, fn(&BoundSummary) -> Summary);
    let ell: Quantity = ("expected log-likelihood", |r| r.expected_log_likelihood);
    let upper: Quantity = ("upper bound", |r| r.upper_bound);
    let large: Quantity = ("−L (large network)", |r| r.large_network);
    let draw = |panel: &mut Panel, color: usize, (name, of): Quantity| {
        let error = |s: Summary| s.standard_error.unwrap_or(0.0);
        let low = rows.iter().map(|r| of(r).mean - error(of(r))).collect();
        let high = rows.iter().map(|r| of(r).mean + error(of(r))).collect();
        panel.push(Band::new(x.clone(), low, high).color(Color::Palette(color)));
        let mean = rows.iter().map(|r| of(r).mean).collect();
        panel.push(Curve::new(x.clone(), mean).label(name).color(Color::Palette(color)));
    };
    draw(&mut both, 0, ell);
    draw(&mut both, 1, upper);
    draw(&mut bound, 1, upper);
    draw(&mut bound, 2, large);
    Figure::grid(vec![both, bound], 2).titled(title)
}
