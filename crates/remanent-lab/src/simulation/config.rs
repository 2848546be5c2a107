//! A simulation, read from its options and checked: the defaults of each learner.

use remanent_perceptron::boltzmann::{BoltzmannLearner, Start};
use remanent_perceptron::fading::Fading;
use remanent_perceptron::gradient::{Batch, GradientLearner, Rise};
use remanent_perceptron::optimizer::Rule;
use remanent_perceptron::parameters::{ParameterError, Setting};
use remanent_perceptron::student::Space;
use remanent_theory::parameters::Prior;
use serde_json::{Value, json};
use thiserror::Error;
use toml::Table;

use crate::options::{Options, Words};
use crate::simulation::options::{GradientOptions, Method, SimulationOptions};
use crate::values::ValueError;

/// Options that only gradient learners have, besides [`GradientOptions`].
const NORM_KEYS: [&str; 2] = ["q_star", "theory_beta"];
/// Options that only the sampler has.
const SAMPLER_KEYS: [&str; 5] = ["beta", "chains", "warmup", "sweeps", "start"];

/// Raised whenever the same parameters give other numbers than before, so that records of
/// an earlier program are not taken for those of this one.
const REVISION: u32 = 1;

/// Why a configuration is no simulation.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// A value of the wrong kind.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A number out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A key that the learner does not have.
    #[error("{key} is not used by the learner {learner}; {cure}")]
    Meaningless {
        /// The key.
        key: String,
        /// The learner.
        learner: String,
        /// What to do.
        cure: &'static str,
    },
    /// A key that is needed.
    #[error("{0} is missing; {1}")]
    Missing(&'static str, &'static str),
}

/// The learner of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Learner {
    /// By gradients.
    Gradient(GradientLearner),
    /// By sampling the theory's ensemble.
    Boltzmann(BoltzmannLearner),
}

/// One case: the problem and the learner.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The learning algorithm.
    pub method: Method,
    /// The problem.
    pub setting: Setting,
    /// The learner.
    pub learner: Learner,
    /// β of the theory with which a gradient learner is compared.
    pub theory_beta: f64,
}

impl Simulation {
    /// How a state fades before it becomes the anchor of the next task.
    pub fn fading(&self) -> &Fading {
        match &self.learner {
            Learner::Gradient(learner) => &learner.fading,
            Learner::Boltzmann(learner) => &learner.fading,
        }
    }

    /// Reads and checks a case.
    pub fn from_table(table: &Table) -> Result<Self, SettingError> {
        let options = SimulationOptions::read(table)?;
        let method = options.learner;
        refuse_meaningless(table, method)?;
        let mut setting = Setting {
            n: options.n,
            alpha: options.alpha.clone().ok_or(SettingError::Missing(
                "alpha",
                "state the patterns per weight of each task, e.g. --alpha 2,2",
            ))?,
            r_0: options.r0.clone(),
            fresh_patterns: options.fresh_patterns,
        };
        setting.patterns()?;
        let tasks = setting.alpha.len();
        if tasks == 1 {
            // One task has no neighbour, so r_0 has no effect.
            setting.r_0 = vec![0.0];
        }
        let learner = if method == Method::Boltzmann {
            let learner = boltzmann(&options);
            learner.check(tasks)?;
            Learner::Boltzmann(learner)
        } else {
            let learner = gradient(table, &options, tasks)?;
            learner.check(tasks)?;
            Learner::Gradient(learner)
        };
        Ok(Self { method, setting, learner, theory_beta: options.theory_beta })
    }

    /// The learner of a study of one task by gradients.
    pub fn gradient_learner_of_one_task(&self) -> Result<GradientLearner, SettingError> {
        match (&self.learner, self.setting.alpha.len()) {
            (Learner::Gradient(learner), 1) => Ok(learner.clone()),
            (Learner::Gradient(_), tasks) => Err(ParameterError::WrongLength {
                name: "alpha",
                given: tasks,
                tasks: 1,
                expected: "one".into(),
            }
            .into()),
            (Learner::Boltzmann(_), _) => Err(SettingError::Meaningless {
                key: "this study".into(),
                learner: self.method.word().into(),
                cure: "take sgd, gd or slow-sgd",
            }),
        }
    }

    /// About how many bytes a trial needs: the patterns of all tasks, a bit for each of their signs,
    /// some numbers a weight and a pattern, and what is recorded.
    pub fn memory(&self) -> u64 {
        let Setting { n, alpha, fresh_patterns, .. } = &self.setting;
        let (n, tasks) = (*n as u64, alpha.len() as u64);
        let patterns: u64 =
            self.setting.patterns().unwrap_or_default().iter().map(|&count| count as u64).sum();
        let fresh = *fresh_patterns as u64 * tasks;
        // An overlap, an error and a magnetisation of each task, and a few numbers more.
        let row = 160 + 40 * tasks;
        let (chains, rows) = match &self.learner {
            Learner::Gradient(l) => {
                let epochs: u64 = (0..alpha.len()).map(|task| l.epochs_of(task) as u64).sum();
                (1, epochs / l.record_every.max(1) as u64)
            }
            Learner::Boltzmann(l) => {
                let rows = tasks * l.sweeps_per_task() as u64 / l.record_every.max(1) as u64;
                (l.chains as u64, rows + (l.chains * l.sweeps) as u64)
            }
        };
        let signs = n.div_ceil(512) * 64 * (patterns + fresh);
        let numbers = chains * 128 * (n + patterns) + 4 * n * tasks;
        signs.saturating_add(numbers).saturating_add((rows + tasks).saturating_mul(row))
    }

    /// Everything the results depend on, defaults included.
    pub fn key(&self) -> Value {
        let mut value = json!({
            "revision": REVISION,
            "n": self.setting.n,
            "alpha": self.setting.alpha,
            "r0": self.setting.r_0,
            "fresh_patterns": self.setting.fresh_patterns,
            "learner": self.method.word(),
        });
        let learner = match &self.learner {
            Learner::Gradient(l) => json!({
                "space": l.space,
                "field_scale": l.field_scale,
                "optimizer": l.rule,
                "lr": l.learning_rate,
                "momentum": l.momentum,
                "weight_decay": l.weight_decay,
                "batch": batch_text(l.batch),
                "gamma": l.gamma,
                "prior": prior_text(l.uniform_prior),
                "q_star": l.rise.map(|rise| [rise.from, rise.to]),
                "epochs": l.epochs,
                "record_every": l.record_every,
            }),
            Learner::Boltzmann(l) => json!({
                "beta": l.beta,
                "gamma": l.gamma,
                "prior": prior_text(l.uniform_prior),
                "chains": l.chains,
                "warmup": l.warmup,
                "sweeps": l.sweeps,
                "start": match l.start {
                    Start::Random => json!("random"),
                    Start::Teacher(m) => json!(m),
                },
                "record_every": l.record_every,
            }),
        };
        if let (Value::Object(all), Value::Object(learner)) = (&mut value, learner) {
            all.extend(learner);
        }
        // Records of runs without fading keep their names.
        let fading = self.fading();
        if !fading.is_none() {
            value["lambda"] = json!(fading.lambda);
            value["rho"] = json!(fading.rho);
        }
        value
    }
}

fn refuse_meaningless(table: &Table, method: Method) -> Result<(), SettingError> {
    let (others, cure) = if method == Method::Boltzmann {
        let gradient = GradientOptions::list().into_iter().map(|info| info.key);
        (
            gradient.chain(NORM_KEYS).collect(),
            "it samples with beta, chains, warmup, sweeps and start",
        )
    } else {
        (
            SAMPLER_KEYS.to_vec(),
            "use field_scale for the scale of the fields, theory_beta for the theory it is \
             compared with, or the learner boltzmann",
        )
    };
    match others.iter().find(|key| table.contains_key(**key)) {
        Some(key) => {
            let learner = method.word().into();
            Err(SettingError::Meaningless { key: (*key).into(), learner, cure })
        }
        None => Ok(()),
    }
}

/// About 200 rows of the whole run, unless the user says otherwise.
fn default_interval(total: usize) -> usize {
    total.div_ceil(200).max(1)
}

fn gradient(
    table: &Table,
    options: &SimulationOptions,
    tasks: usize,
) -> Result<GradientLearner, SettingError> {
    let given = options.gradient.clone();
    let is_slow = options.learner == Method::SlowSgd;
    let space = match given.space {
        Some(Space::Field) if is_slow => {
            return Err(SettingError::Meaningless {
                key: "space = field".into(),
                learner: options.learner.word().into(),
                cure: "slow SGD rescales magnetisations",
            });
        }
        Some(space) => space,
        None if is_slow => Space::Magnetisation,
        None => Space::Field,
    };
    let (rule, rate, batch) = match options.learner {
        Method::Gd => (Rule::Plain, 0.01, Batch::Full),
        Method::SlowSgd => (Rule::Plain, 0.03, Batch::Size(32)),
        _ => (Rule::Momentum, 0.001, Batch::Size(32)),
    };
    let rule = match given.optimizer {
        Some(rule) => rule,
        // Naming a momentum asks for it.
        None if table.contains_key("momentum") => Rule::Momentum,
        None => rule,
    };
    let rise = match options.q_star.as_deref() {
        Some(&[from, to]) if is_slow => Some(Rise { from, to }),
        Some(&[value]) if is_slow => Some(Rise { from: value, to: value }),
        Some(_) => {
            let value = &table["q_star"];
            let expected = "[from, to], and only for the learner slow-sgd";
            return Err(ValueError::new("q_star", value, expected).into());
        }
        None => is_slow.then_some(Rise { from: 0.1, to: 0.98 }),
    };
    // The traditional algorithms in magnetisation space have no KL term.
    let gamma = if space == Space::Field { 1.0 } else { 0.0 };
    let epochs = given.epochs.unwrap_or(vec![1000]);
    // An empty list is refused by the check of the learner.
    let of_task = |t: usize| epochs.get(t).or(epochs.first()).copied().unwrap_or(0);
    let total: usize = (0..tasks).map(of_task).sum();
    Ok(GradientLearner {
        space,
        field_scale: given.field_scale,
        rule,
        learning_rate: given.lr.unwrap_or(vec![rate]),
        momentum: given.momentum,
        weight_decay: given.weight_decay,
        batch: given.batch.unwrap_or(batch),
        gamma: options.gamma.clone().unwrap_or(vec![gamma]),
        fading: fading(options),
        uniform_prior: options.prior == Prior::Uniform,
        rise,
        epochs,
        record_every: options.record_every.unwrap_or(default_interval(total)),
    })
}

fn boltzmann(options: &SimulationOptions) -> BoltzmannLearner {
    let SimulationOptions { warmup, sweeps, .. } = *options;
    BoltzmannLearner {
        beta: options.beta.clone(),
        gamma: options.gamma.clone().unwrap_or(vec![1.0]),
        fading: fading(options),
        uniform_prior: options.prior == Prior::Uniform,
        chains: options.chains,
        warmup,
        sweeps,
        start: options.start,
        record_every: options.record_every.unwrap_or(default_interval(warmup + sweeps)),
    }
}

fn fading(options: &SimulationOptions) -> Fading {
    Fading { lambda: options.lambda.clone(), rho: options.rho.clone() }
}

fn prior_text(uniform: bool) -> &'static str {
    if uniform { "uniform" } else { "none" }
}

fn batch_text(batch: Batch) -> Value {
    match batch {
        Batch::Full => json!("full"),
        Batch::Size(size) => json!(size),
        Batch::Part(parts) => json!(format!("M/{parts}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Simulation, String> {
        Simulation::from_table(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn every_learner_has_defaults() {
        for learner in Method::WORDS.iter().map(|word| word.name) {
            let found = read(&format!("alpha = [2, 1]\nlearner = '{learner}'")).unwrap();
            assert_eq!(found.method.word(), learner);
            assert_eq!(found.key()["learner"], learner);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (text, told) in [
            ("n = 10", "alpha is missing"),
            ("alpha = 2\nn = 1", "n = 1"),
            ("alpha = 0.0001\nn = 100", "no pattern"),
            ("alpha = 2\nlr = -0.1", "lr = -0.1"),
            ("alpha = 2\nlearner = 'bolzmann'", "did you mean 'boltzmann'?"),
            ("alpha = 2\nepochs = [1, 2]", "epochs has 2 values"),
            ("alpha = [2, 2, 2]\nr0 = [0.1, 0.2, 0.3]", "r0 has 3 values"),
            ("alpha = 2\nbeta = 3", "theory_beta"),
            ("alpha = 2\nlearner = 'boltzmann'\nlr = 3", "beta, chains"),
            ("alpha = 2\nbatch = 'all'", "'full'"),
            ("alpha = 2\nbatch = 0", "batch = 0"),
            ("alpha = 2\nepochs = 0", "epochs = 0"),
            ("alpha = 2\nlearner = 'slow-sgd'\nq_star = 1.5", "q_star = 1.5"),
            ("alpha = 2\nq_star = 0.5", "slow-sgd"),
            ("alpha = 2\nrecord_every = 0", "record_every = 0"),
            ("alpha = 2\nmomentum = 1", "momentum = 1"),
            ("alpha = 2\nr0 = 1.5", "r0 = 1.5"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }
}
