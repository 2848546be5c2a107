//! The learner `boltzmann`: samples the ensemble of the theory, one task after another.
//!
//! Several chains sample the measure of a task on the same data. At a switch of tasks the state of
//! the first chain, an equilibrium sample m̃, becomes the anchor of the KL term of all chains, as in
//! the Franz–Parisi potential. q_0 is the overlap of different chains, which share only data and
//! anchor.

use remanent_math::statistics::Mixing;
use serde::{Deserialize, Serialize};

use crate::ensemble::{Ensemble, KlTerm};
use crate::fading::Fading;
use crate::gradient::Row;
use crate::observables::{Overlaps, error_on};
use crate::parameters::{ParameterError, list_of, nth};
use crate::randomness::{Purpose, Trial};
use crate::ranges;
use crate::sampler::{Chain, Trajectory};
use crate::world::World;

/// Initial state of the chains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Start {
    /// The first task at fields ~ N(0, 1), later tasks at the last state of the previous one.
    #[default]
    Random,
    /// Every task at m = this factor times its teacher.
    Teacher(f64),
}

/// Parameters of the sampler. Lists hold one value, or one for each task.
#[derive(Clone, Debug, PartialEq)]
pub struct BoltzmannLearner {
    /// Inverse temperature β.
    pub beta: Vec<f64>,
    /// Factor γ of the KL term to the previous task: one value, or one for each switch of tasks.
    pub gamma: Vec<f64>,
    /// How a state fades before it becomes the anchor of the next task (the paper: not at all).
    pub fading: Fading,
    /// Whether the first task has the uniform prior (the paper: no).
    pub uniform_prior: bool,
    /// Markov chains on the same data.
    pub chains: usize,
    /// Sweeps of each task before measuring.
    pub warmup: usize,
    /// Sweeps of each task that are measured.
    pub sweeps: usize,
    /// Initial state of the chains.
    pub start: Start,
    /// Record a row every this many sweeps.
    pub record_every: usize,
}

impl BoltzmannLearner {
    /// Checks every parameter against its range.
    pub fn check(&self, tasks: usize) -> Result<(), ParameterError> {
        list_of("beta", self.beta.len(), tasks, tasks)?;
        ranges::BETA.check_all("beta", self.beta.iter().copied())?;
        list_of("gamma", self.gamma.len(), tasks.saturating_sub(1), tasks)?;
        ranges::GAMMA.check_all("gamma", self.gamma.iter().copied())?;
        self.fading.check(tasks)?;
        ranges::CHAINS.check("chains", self.chains as f64)?;
        ranges::SWEEPS.check("sweeps", self.sweeps as f64)?;
        ranges::WARMUP.check("warmup", self.warmup as f64)?;
        if let Start::Teacher(m) = self.start {
            ranges::START.check("start", m)?;
        }
        ranges::RECORD_EVERY.check("record_every", self.record_every as f64)?;
        Ok(())
    }

    /// Sweeps of one task.
    pub fn sweeps_per_task(&self) -> usize {
        self.warmup + self.sweeps
    }
}

/// How well one task was sampled, quantity by quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Of q_d.
    pub q_d: Mixing,
    /// Of r with the task's own teacher.
    pub r: Mixing,
    /// Of p with the task's own teacher.
    pub p: Mixing,
    /// Of L.
    pub loss: Mixing,
    /// Mean acceptance of the trajectories.
    pub acceptance: f64,
    /// Step of the leapfrog, mean over chains.
    pub step: f64,
}

impl Diagnostics {
    /// The largest R̂.
    pub fn r_hat(&self) -> f64 {
        self.all().into_iter().map(|m| m.r_hat).fold(0.0, f64::max)
    }

    /// The smallest effective sample size.
    pub fn effective_samples(&self) -> f64 {
        self.all().into_iter().map(|m| m.effective_samples).fold(f64::INFINITY, f64::min)
    }

    /// The longest autocorrelation time, in sweeps.
    pub fn autocorrelation_time(&self) -> f64 {
        self.all().into_iter().map(|m| m.autocorrelation_time).fold(0.0, f64::max)
    }

    /// Whether R̂, effective sample size and acceptance are all good enough.
    pub fn is_mixed(&self) -> bool {
        self.r_hat() < 1.1 && self.effective_samples() > 50.0 && self.acceptance > 0.3
    }

    fn all(&self) -> [Mixing; 4] {
        [self.q_d, self.r, self.p, self.loss]
    }
}

/// Averages over the samples of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSamples {
    /// q_d = ⟨Σ m²⟩/N.
    pub q_d: f64,
    /// q_0 = Σ ⟨m⟩_a ⟨m⟩_b/N, mean over pairs of chains.
    pub q_0: f64,
    /// Overlaps with all teachers.
    #[serde(flatten)]
    pub overlaps: Overlaps,
    /// ⟨L⟩.
    pub loss: f64,
    /// ⟨KL⟩ to the anchor; 0 if there is none.
    pub kl: f64,
    /// How well it was sampled.
    pub diagnostics: Diagnostics,
}

/// One chain's part of [`Progress`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ChainProgress {
    position: Vec<f64>,
    step: f64,
    acceptance: f64,
    /// Sum of m over the measured sweeps.
    magnetisations: Vec<f64>,
    /// Measurements, one for each sweep.
    trace: Vec<Measurement>,
}

/// Measurement of one chain after one sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measurement {
    q_d: f64,
    loss: f64,
    kl: f64,
    #[serde(flatten)]
    overlaps: Overlaps,
}

/// The state of a sampling: a sampling resumed from it continues bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progress {
    task: usize,
    sweep: usize,
    total: usize,
    /// artanh m̃ and its coupling.
    anchor: Option<(Vec<f64>, f64)>,
    chains: Vec<ChainProgress>,
    /// Measurements of all chains since the last row.
    window: Vec<Measurement>,
    rows: Vec<Row>,
    results: Vec<TaskSamples>,
}

/// Samples one task after another with all chains of a trial.
pub struct Sampling<'a> {
    learner: &'a BoltzmannLearner,
    world: &'a World,
    trial: Trial,
    progress: Progress,
    ensemble: Ensemble<'a>,
    chains: Vec<Chain>,
    room: Trajectory,
}

/// Leapfrog step at the start of the warm-up.
const FIRST_STEP: f64 = 0.1;

impl<'a> Sampling<'a> {
    /// Starts a sampling.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(
        learner: &'a BoltzmannLearner,
        world: &'a World,
        trial: Trial,
    ) -> Result<Self, ParameterError> {
        learner.check(world.len())?;
        let n = world.sites();
        let place = |chain: usize| {
            let stream = trial.stream(Purpose::InitialField, chain, 0);
            (0..n).map(|i| stream.normal(i as u32)).collect()
        };
        let chains = (0..learner.chains)
            .map(|chain| ChainProgress {
                position: start(learner, world, 0).unwrap_or_else(|| place(chain)),
                step: FIRST_STEP,
                ..ChainProgress::default()
            })
            .collect();
        let progress = Progress {
            task: 0,
            sweep: 0,
            total: 0,
            anchor: learner.uniform_prior.then(|| (vec![0.0; n], nth(&learner.beta, 0))),
            chains,
            window: Vec::new(),
            rows: Vec::new(),
            results: Vec::new(),
        };
        Self::resume(learner, world, trial, progress)
    }

    /// Continues a sampling.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or `progress` is that of another problem.
    pub fn resume(
        learner: &'a BoltzmannLearner,
        world: &'a World,
        trial: Trial,
        progress: Progress,
    ) -> Result<Self, ParameterError> {
        learner.check(world.len())?;
        let n = world.sites();
        let fits = progress.chains.len() == learner.chains
            && progress.chains.iter().all(|chain| chain.position.len() == n)
            && progress.anchor.as_ref().is_none_or(|(fields, _)| fields.len() == n)
            && progress.task <= world.len();
        if !fits {
            return Err(ParameterError::invalid("the saved progress is that of another problem"));
        }
        let ensemble = ensemble(learner, world, &progress);
        let chain = |c: &ChainProgress| Chain::new(&ensemble, c.position.clone(), c.step);
        let chains = progress.chains.iter().map(chain).collect();
        let room = Trajectory::default();
        Ok(Self { learner, world, trial, progress, ensemble, chains, room })
    }

    /// The state to save.
    pub fn progress(&self) -> Progress {
        let mut progress = self.progress.clone();
        for (kept, chain) in progress.chains.iter_mut().zip(&self.chains) {
            kept.position.clone_from(&chain.position);
            kept.step = chain.step;
        }
        progress
    }

    /// Number of patterns visited by the sweeps of all chains so far.
    pub fn patterns_seen(&self) -> usize {
        let task = self.progress.task;
        let before = |t| self.learner.sweeps_per_task() * self.world.patterns(t).len();
        let now = if self.is_finished() { 0 } else { self.world.patterns(task).len() };
        let each = (0..task).map(before).sum::<usize>() + self.progress.sweep * now;
        each * self.learner.chains
    }

    /// Whether all tasks are sampled.
    pub fn is_finished(&self) -> bool {
        self.progress.task == self.world.len()
    }

    /// The rows recorded, and the averages of every task.
    pub fn into_results(self) -> (Vec<Row>, Vec<TaskSamples>) {
        (self.progress.rows, self.progress.results)
    }

    /// One sweep of every chain. Does nothing once all tasks are sampled.
    pub fn sweep(&mut self) {
        if self.is_finished() {
            return;
        }
        let warming = self.progress.sweep < self.learner.warmup;
        for (index, chain) in self.chains.iter_mut().enumerate() {
            let place = self.progress.task << 8 | index;
            let streams = [Purpose::Momenta, Purpose::Decisions]
                .map(|purpose| self.trial.stream(purpose, place, self.progress.sweep));
            let acceptance = chain.sweep(&self.ensemble, streams[0], streams[1], &mut self.room);
            if warming {
                chain.adapt(acceptance, self.progress.sweep);
            }
            let m: Vec<f64> = chain.position.iter().map(|a| a.tanh()).collect();
            let measurement = Measurement {
                q_d: m.iter().map(|m| m * m).sum::<f64>() / m.len() as f64,
                loss: chain.parts.loss,
                kl: chain.parts.divergence,
                overlaps: Overlaps::measure(self.world, |i| m[i]),
            };
            self.progress.window.push(measurement.clone());
            if !warming {
                let kept = &mut self.progress.chains[index];
                kept.magnetisations.resize(m.len(), 0.0);
                kept.magnetisations.iter_mut().zip(&m).for_each(|(sum, m)| *sum += m);
                kept.acceptance += acceptance;
                kept.trace.push(measurement);
            }
        }
        self.progress.sweep += 1;
        self.progress.total += 1;
        let last = self.progress.sweep == self.learner.sweeps_per_task();
        if last || self.progress.total.is_multiple_of(self.learner.record_every) {
            self.record();
        }
        if last {
            self.switch();
        }
    }

    /// Records a row: means over the chains and over the sweeps since the last row.
    fn record(&mut self) {
        let window = std::mem::take(&mut self.progress.window);
        let mean = |f: &dyn Fn(&Measurement) -> f64| {
            window.iter().map(f).sum::<f64>() / window.len() as f64
        };
        let m: Vec<f32> = self.chains[0].position.iter().map(|a| a.tanh() as f32).collect();
        let eps_fresh = (0..self.world.len())
            .filter_map(|task| Some(error_on(self.world.fresh_patterns(task)?, &m)))
            .collect();
        self.progress.rows.push(Row {
            time: self.progress.total,
            task: self.progress.task + 1,
            overlaps: mean_overlaps(&window),
            q_star: mean(&|m| m.q_d),
            loss: mean(&|m| m.loss),
            kl: mean(&|m| m.kl),
            eps_fresh,
        });
    }

    fn switch(&mut self) {
        let samples = self.summarise();
        self.progress.results.push(samples);
        let task = self.progress.task + 1;
        self.progress.task = task;
        self.progress.sweep = 0;
        if self.is_finished() {
            return;
        }
        let coupling = nth(&self.learner.gamma, task - 1) * nth(&self.learner.beta, task);
        let fading = &self.learner.fading;
        let position = self.chains[0].position.iter();
        let anchor = position.map(|field| fading.anchor(task - 1, *field)).collect();
        self.progress.anchor = Some((anchor, coupling));
        self.ensemble = ensemble(self.learner, self.world, &self.progress);
        for (chain, kept) in self.chains.iter_mut().zip(&mut self.progress.chains) {
            let position =
                start(self.learner, self.world, task).unwrap_or_else(|| chain.position.clone());
            *chain = Chain::new(&self.ensemble, position, FIRST_STEP);
            *kept = ChainProgress::default();
        }
    }

    fn summarise(&self) -> TaskSamples {
        let chains = &self.progress.chains;
        let sweeps = self.learner.sweeps as f64;
        let all: Vec<&Measurement> = chains.iter().flat_map(|c| &c.trace).collect();
        let mean = |f: &dyn Fn(&Measurement) -> f64| {
            all.iter().map(|m| f(m)).sum::<f64>() / all.len() as f64
        };
        let mixing = |f: &dyn Fn(&Measurement) -> f64| {
            let traces: Vec<Vec<f64>> =
                chains.iter().map(|c| c.trace.iter().map(f).collect()).collect();
            Mixing::of(&traces.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let mut pairs = Vec::new();
        for (index, a) in chains.iter().enumerate() {
            for b in &chains[..index] {
                let products = a.magnetisations.iter().zip(&b.magnetisations).map(|(a, b)| a * b);
                pairs.push(products.sum::<f64>() / (sweeps * sweeps * self.world.sites() as f64));
            }
        }
        let task = self.progress.task;
        let count = chains.len() as f64;
        TaskSamples {
            q_d: mean(&|m| m.q_d),
            q_0: pairs.iter().sum::<f64>() / pairs.len() as f64,
            overlaps: mean_overlaps(all.iter().copied()),
            loss: mean(&|m| m.loss),
            kl: mean(&|m| m.kl),
            diagnostics: Diagnostics {
                q_d: mixing(&|m| m.q_d),
                r: mixing(&|m| m.overlaps.r[task]),
                p: mixing(&|m| m.overlaps.p[task]),
                loss: mixing(&|m| m.loss),
                acceptance: chains.iter().map(|c| c.acceptance).sum::<f64>() / sweeps / count,
                step: self.chains.iter().map(|c| c.step).sum::<f64>() / count,
            },
        }
    }
}

/// Initial fields of a task, if the learner prescribes them.
fn start(learner: &BoltzmannLearner, world: &World, task: usize) -> Option<Vec<f64>> {
    match learner.start {
        Start::Random => None,
        Start::Teacher(m) => {
            Some(world.teacher(task).iter().map(|&w| (m * f64::from(w)).atanh()).collect())
        }
    }
}

/// The measure of the current task.
fn ensemble<'a>(learner: &BoltzmannLearner, world: &'a World, progress: &Progress) -> Ensemble<'a> {
    // After the last task, its measure stays.
    let task = progress.task.min(world.len() - 1);
    let kl = progress.anchor.clone().map(|(fields, coupling)| KlTerm { fields, coupling });
    Ensemble::new(world.patterns(task), nth(&learner.beta, task), kl)
}

fn mean_overlaps<'m>(measurements: impl IntoIterator<Item = &'m Measurement>) -> Overlaps {
    let mut sum = Overlaps::default();
    let mut count = 0.0;
    for Measurement { overlaps, .. } in measurements {
        sum.r.resize(overlaps.r.len(), 0.0);
        sum.p.resize(overlaps.p.len(), 0.0);
        sum.r.iter_mut().zip(&overlaps.r).for_each(|(sum, r)| *sum += r);
        sum.p.iter_mut().zip(&overlaps.p).for_each(|(sum, p)| *sum += p);
        sum.q_com = overlaps.q_com.map(|q| q + sum.q_com.unwrap_or(0.0));
        count += 1.0;
    }
    sum.r.iter_mut().chain(&mut sum.p).for_each(|value| *value /= count);
    sum.q_com = sum.q_com.map(|q| q / count);
    sum
}
