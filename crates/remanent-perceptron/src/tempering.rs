//! Parallel tempering of the theory's ensemble P(m) ∝ e^{−βL(m)}, one task.
//!
//! Where replica symmetry is broken, the chains of [`crate::boltzmann`] stay in the cluster they fall
//! into. Here every *replica* is a ladder of chains on the same data, from a hot end β_low at which a
//! chain mixes in a few sweeps to the wanted β. A sweep is one trajectory of every chain
//! (Hamiltonian Monte Carlo, as in [`crate::boltzmann`]), followed by eight rounds of proposals to
//! exchange the configurations of neighbouring temperatures, the even pairs and the odd pairs in turn.
//! The exchange of L_k at β_k with L_{k+1} at β_{k+1} is accepted with probability
//!
//! ```text
//! min(1, e^{(β_{k+1} − β_k)(L_{k+1} − L_k)})
//! ```
//!
//! which keeps the product of the measures. (A volume element dm does not depend on β, so nothing but
//! L enters.)
//!
//! - Half of the replicas start at random fields, half at m = 0.9 W with W the teacher, at all
//!   temperatures: in equilibrium nothing remembers its start.
//! - The temperatures are placed by the rule of `ladder` after 1/8, 1/4 and 1/2 of the warm-up, for
//!   all replicas together, and stay from then on; the steps of the trajectories are adapted until
//!   the end of the warm-up.
//! - The overlaps between replicas at the wanted β are samples of P(q).

mod ladder;
mod record;
mod walkers;

use remanent_math::statistics::Mixing;
use serde::{Deserialize, Serialize};

pub use self::ladder::{MOST_TEMPERATURES, WANTED_EXCHANGE};
pub use self::record::{Averages, BINS, Rung, Shortcoming, TemperingDiagnostics, TemperingRecord};
use self::walkers::Walkers;
use crate::ensemble::Ensemble;
use crate::observables::Overlaps;
use crate::parameters::{ParameterError, within};
use crate::randomness::{Purpose, Trial};
use crate::ranges;
use crate::sampler::{Chain, Trajectory};
use crate::world::World;

/// Magnetisation towards the teacher of the replicas that start there.
pub const PLANTED: f64 = 0.9;
/// Leapfrog step at the start of the warm-up.
const FIRST_STEP: f64 = 0.1;
/// The most measurements of the wanted β that are kept of a replica.
const MOST_MEASUREMENTS: usize = 4096;
/// Rounds of exchanges after the trajectories of a sweep: a round costs next to nothing.
const ROUNDS: usize = 8;
/// The warm-up is divided into this many parts; the ladder is placed after parts 1, 2 and 4.
const PARTS: usize = 8;

/// Parameters of parallel tempering.
#[derive(Clone, Debug, PartialEq)]
pub struct TemperingLearner {
    /// The wanted inverse temperature β.
    pub beta: f64,
    /// β at the hot end.
    pub beta_low: f64,
    /// Number of temperatures; none: as many as the target acceptance of exchanges needs.
    pub temperatures: Option<usize>,
    /// Replicas on the same data, an even number.
    pub replicas: usize,
    /// Sweeps before measuring.
    pub warmup: usize,
    /// Sweeps that are measured.
    pub sweeps: usize,
}

impl TemperingLearner {
    /// Checks every parameter against its range.
    pub fn check(&self) -> Result<(), ParameterError> {
        let (beta, low) = (ranges::BETA.check("beta", self.beta)?, self.beta_low);
        within("beta_low", low, low > 0.0 && low < beta, "above 0, below beta")?;
        if let Some(count) = self.temperatures {
            ranges::TEMPERATURES.check("temperatures", count as f64)?;
        }
        let replicas = ranges::REPLICAS.check("replicas", self.replicas as f64)?;
        let even = format_args!("an even number {}", ranges::REPLICAS);
        within("replicas", replicas, self.replicas.is_multiple_of(2), even)?;
        ranges::TEMPERING_WARMUP.check("warmup", self.warmup as f64)?;
        ranges::SWEEPS.check("sweeps", self.sweeps as f64)?;
        Ok(())
    }

    /// Sweeps of the whole run.
    pub fn all_sweeps(&self) -> usize {
        self.warmup + self.sweeps
    }

    /// Sweeps between two measurements.
    fn every(&self) -> usize {
        self.sweeps.div_ceil(MOST_MEASUREMENTS)
    }

    /// Whether the ladder is placed anew after this many sweeps.
    fn places_ladder_after(&self, sweeps: usize) -> bool {
        [1, 2, 4].iter().any(|part| sweeps == self.warmup * part / PARTS)
    }
}

/// Measurements of one replica at the wanted β, and of L at the hot end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Trace {
    q_d: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    energy: Vec<f64>,
    hot: Vec<f64>,
}

/// Sums over the sweeps since the ladder was placed, or since the warm-up ended; of all replicas.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RungSums {
    count: f64,
    /// Where the energies are measured from, so that the sums of powers are accurate.
    origin: Option<f64>,
    energy: [f64; 3],
    acceptance: f64,
    exchange: f64,
    exchanges: f64,
}

/// The state of one replica that is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ReplicaProgress {
    positions: Vec<Vec<f64>>,
    steps: Vec<f64>,
    walkers: Walkers,
    trace: Trace,
}

/// The state of a run: one resumed from it continues bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TemperingProgress {
    sweep: usize,
    /// The sweep after which the ladder was placed.
    placed: usize,
    betas: Vec<f64>,
    sums: Vec<RungSums>,
    replicas: Vec<ReplicaProgress>,
    /// Overlaps of pairs of replicas, measurement by measurement: (1, 0), (2, 0), (2, 1), …
    overlaps: Vec<Vec<f64>>,
}

/// One replica: a chain for each temperature, from hot to cold.
struct Replica {
    chains: Vec<Chain>,
    walkers: Walkers,
    trace: Trace,
}

/// Parallel tempering on one draw of the data.
pub struct Tempering<'a> {
    learner: &'a TemperingLearner,
    world: &'a World,
    trial: Trial,
    sweep: usize,
    placed: usize,
    ensembles: Vec<Ensemble<'a>>,
    sums: Vec<RungSums>,
    replicas: Vec<Replica>,
    overlaps: Vec<Vec<f64>>,
    room: Trajectory,
}

impl<'a> Tempering<'a> {
    /// Starts a run.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or there is more than one task.
    pub fn new(
        learner: &'a TemperingLearner,
        world: &'a World,
        trial: Trial,
    ) -> Result<Self, ParameterError> {
        learner.check()?;
        let n = world.sites();
        let betas = ladder::first(learner.beta_low, learner.beta, n, learner.temperatures);
        let replica = |index: usize| ReplicaProgress {
            positions: (0..betas.len())
                .map(|rung| start(learner, world, trial, index, rung))
                .collect(),
            steps: vec![FIRST_STEP; betas.len()],
            walkers: Walkers::new(betas.len()),
            trace: Trace::default(),
        };
        let progress = TemperingProgress {
            sweep: 0,
            placed: 0,
            sums: vec![RungSums::default(); betas.len()],
            replicas: (0..learner.replicas).map(replica).collect(),
            overlaps: vec![Vec::new(); learner.replicas * (learner.replicas - 1) / 2],
            betas,
        };
        Self::resume(learner, world, trial, progress)
    }

    /// Continues a run.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or `progress` is that of another problem.
    pub fn resume(
        learner: &'a TemperingLearner,
        world: &'a World,
        trial: Trial,
        progress: TemperingProgress,
    ) -> Result<Self, ParameterError> {
        learner.check()?;
        if world.len() != 1 {
            return Err(ParameterError::invalid("parallel tempering takes one task"));
        }
        let TemperingProgress { sweep, placed, betas, sums, replicas, overlaps } = progress;
        let rungs = betas.len();
        let fits = |replica: &ReplicaProgress| {
            replica.positions.len() == rungs
                && replica.steps.len() == rungs
                && replica.walkers.len() == rungs
                && replica.positions.iter().all(|position| position.len() == world.sites())
        };
        let pairs = learner.replicas * (learner.replicas - 1) / 2;
        let fits = replicas.len() == learner.replicas
            && (2..=MOST_TEMPERATURES).contains(&rungs)
            && sums.len() == rungs
            && overlaps.len() == pairs
            && sweep <= learner.all_sweeps()
            && replicas.iter().all(fits);
        if !fits {
            return Err(ParameterError::invalid("the saved progress is that of another problem"));
        }
        let ensembles = ensembles(world, &betas);
        let replicas = replicas.into_iter().map(|replica| {
            let states = replica.positions.into_iter().zip(replica.steps).zip(&ensembles);
            let chain = |((position, step), ensemble)| Chain::new(ensemble, position, step);
            let chains = states.map(chain).collect();
            Replica { chains, walkers: replica.walkers, trace: replica.trace }
        });
        let replicas = replicas.collect();
        let room = Trajectory::default();
        Ok(Self { learner, world, trial, sweep, placed, ensembles, sums, replicas, overlaps, room })
    }

    /// The state to save.
    pub fn progress(&self) -> TemperingProgress {
        let replica = |replica: &Replica| ReplicaProgress {
            positions: replica.chains.iter().map(|chain| chain.position.clone()).collect(),
            steps: replica.chains.iter().map(|chain| chain.step).collect(),
            walkers: replica.walkers.clone(),
            trace: replica.trace.clone(),
        };
        TemperingProgress {
            sweep: self.sweep,
            placed: self.placed,
            betas: self.ensembles.iter().map(Ensemble::beta).collect(),
            sums: self.sums.clone(),
            replicas: self.replicas.iter().map(replica).collect(),
            overlaps: self.overlaps.clone(),
        }
    }

    /// Sweeps done.
    pub fn sweeps_done(&self) -> usize {
        self.sweep
    }

    /// Whether all sweeps are done.
    pub fn is_finished(&self) -> bool {
        self.sweep == self.learner.all_sweeps()
    }

    /// One sweep of every replica: a trajectory of every chain, and exchanges. Does nothing once all
    /// sweeps are done.
    pub fn sweep(&mut self) {
        if self.is_finished() {
            return;
        }
        self.move_chains();
        for index in 0..self.replicas.len() {
            for round in 0..ROUNDS {
                self.exchange(index, round);
            }
        }
        self.sweep += 1;
        if self.learner.places_ladder_after(self.sweep) {
            self.place_ladder();
        }
        if self.sweep == self.learner.warmup {
            self.sums = vec![RungSums::default(); self.ensembles.len()];
            for replica in &mut self.replicas {
                replica.walkers = Walkers::new(self.ensembles.len());
            }
        }
        let measured = self.sweep.saturating_sub(self.learner.warmup);
        if measured > 0 && measured.is_multiple_of(self.learner.every()) {
            self.measure();
        }
    }

    fn move_chains(&mut self) {
        let warming = self.sweep < self.learner.warmup;
        for (index, replica) in self.replicas.iter_mut().enumerate() {
            let rungs = replica.chains.iter_mut().zip(&self.ensembles).zip(&mut self.sums);
            for (rung, ((chain, ensemble), sums)) in rungs.enumerate() {
                let [momenta, decisions] = [Purpose::Momenta, Purpose::Decisions]
                    .map(|purpose| self.trial.stream(purpose, place(index, rung), self.sweep));
                let acceptance = chain.quick_sweep(ensemble, momenta, decisions, &mut self.room);
                if warming {
                    chain.adapt(acceptance, self.sweep - self.placed);
                }
                sums.acceptance += acceptance;
                sums.add_energy(chain.parts.loss);
            }
        }
    }

    /// Proposes to exchange configurations of the even or the odd pairs of temperatures.
    fn exchange(&mut self, index: usize, round: usize) {
        let stream = self.trial.stream(Purpose::Exchanges, index, self.sweep);
        let replica = &mut self.replicas[index];
        for rung in (round % 2..self.ensembles.len() - 1).step_by(2) {
            let [a, b] = [rung, rung + 1];
            let losses = [a, b].map(|k| replica.chains[k].parts.loss);
            let betas = [a, b].map(|k| self.ensembles[k].beta());
            let acceptance = exchange_acceptance(betas, losses);
            self.sums[rung].exchange += acceptance;
            self.sums[rung].exchanges += 1.0;
            if stream.uniform((round << 10 | rung) as u32) < acceptance {
                let (hot, cold) = replica.chains.split_at_mut(b);
                let (hot, cold) = (&mut hot[a], &mut cold[0]);
                std::mem::swap(&mut hot.position, &mut cold.position);
                let parts = (hot.parts, cold.parts);
                hot.parts = self.ensembles[a].compose(parts.1);
                cold.parts = self.ensembles[b].compose(parts.0);
                replica.walkers.exchange(rung);
            }
        }
        replica.walkers.note_ends();
    }

    /// Places the ladder anew; a new temperature starts from the configuration of the nearest old
    /// one.
    fn place_ladder(&mut self) {
        let old: Vec<f64> = self.ensembles.iter().map(Ensemble::beta).collect();
        let acceptance: Vec<f64> = self.sums[..old.len() - 1]
            .iter()
            .map(|sums| sums.exchange / sums.exchanges.max(1.0))
            .collect();
        let betas = ladder::placed(&old, &acceptance, self.learner.temperatures);
        self.ensembles = ensembles(self.world, &betas);
        for replica in &mut self.replicas {
            let chain = |(ensemble, &beta): (&Ensemble, &f64)| {
                let mut chain = replica.chains[ladder::nearest(&old, beta)].clone();
                chain.parts = ensemble.compose(chain.parts);
                chain
            };
            replica.chains = self.ensembles.iter().zip(&betas).map(chain).collect();
            replica.walkers = Walkers::new(betas.len());
        }
        self.sums = vec![RungSums::default(); betas.len()];
        self.placed = self.sweep;
    }

    fn measure(&mut self) {
        let n = self.world.sites() as f64;
        let cold = self.ensembles.len() - 1;
        let states: Vec<Vec<f64>> = self
            .replicas
            .iter()
            .map(|replica| replica.chains[cold].position.iter().map(|a| a.tanh()).collect())
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n;
        for (replica, m) in self.replicas.iter_mut().zip(&states) {
            let overlaps = Overlaps::measure(self.world, |i| m[i]);
            let trace = &mut replica.trace;
            trace.q_d.push(dot(m, m));
            trace.r.push(overlaps.r[0]);
            trace.p.push(overlaps.p[0]);
            trace.energy.push(replica.chains[cold].parts.loss);
            trace.hot.push(replica.chains[0].parts.loss);
        }
        let pairs = (0..states.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        for ((a, b), overlaps) in pairs.zip(&mut self.overlaps) {
            overlaps.push(dot(&states[a], &states[b]));
        }
    }

    /// The result.
    pub fn into_record(self) -> TemperingRecord {
        let last = self.ensembles.len() - 1;
        let steps =
            |rung: usize| self.replicas.iter().map(move |replica| replica.chains[rung].step);
        let count = self.replicas.len();
        let rung = |(index, (sums, ensemble)): (usize, (&RungSums, &Ensemble))| {
            let [energy, variance, skew] = sums.cumulants();
            Rung {
                beta: ensemble.beta(),
                energy,
                variance,
                skew,
                acceptance: sums.acceptance / sums.count,
                step: steps(index).sum::<f64>() / count as f64,
                exchange: (index < last).then(|| sums.exchange / sums.exchanges.max(1.0)),
            }
        };
        let rungs = self.sums.iter().zip(&self.ensembles).enumerate().map(rung).collect();
        let traces: Vec<&Trace> = self.replicas.iter().map(|replica| &replica.trace).collect();
        let (random, planted) = (0..count / 2, count / 2..count);
        let all: Vec<f64> = self.overlaps.iter().flatten().copied().collect();
        let mut histogram = vec![0; BINS];
        for q in &all {
            histogram[(((q + 1.0) * 0.5 * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        TemperingRecord {
            rungs,
            all: averages(&traces, &self.overlaps, 0..count),
            random: averages(&traces, &self.overlaps, random.clone()),
            planted: averages(&traces, &self.overlaps, planted.clone()),
            q_squared: mean(all.iter().map(|q| q * q)),
            q_product: product_of_disjoint(&self.overlaps, count),
            histogram,
            round_trips: self.replicas.iter().map(|r| r.walkers.round_trips()).collect(),
            diagnostics: diagnostics(&traces, &self.overlaps, self.learner.every()),
        }
    }
}

/// The probability with which configurations at two inverse temperatures are exchanged.
fn exchange_acceptance(betas: [f64; 2], losses: [f64; 2]) -> f64 {
    ((betas[1] - betas[0]) * (losses[1] - losses[0])).exp().min(1.0)
}

/// The address of the random numbers of a chain.
fn place(replica: usize, rung: usize) -> usize {
    replica << 10 | rung
}

fn ensembles<'a>(world: &'a World, betas: &[f64]) -> Vec<Ensemble<'a>> {
    betas.iter().map(|&beta| Ensemble::new(world.patterns(0), beta, None)).collect()
}

/// Initial fields of a chain.
fn start(
    learner: &TemperingLearner,
    world: &World,
    trial: Trial,
    replica: usize,
    rung: usize,
) -> Vec<f64> {
    if replica < learner.replicas / 2 {
        let stream = trial.stream(Purpose::InitialField, place(replica, rung), 0);
        (0..world.sites()).map(|i| stream.normal(i as u32)).collect()
    } else {
        world.teacher(0).iter().map(|&w| (PLANTED * f64::from(w)).atanh()).collect()
    }
}

impl RungSums {
    fn add_energy(&mut self, energy: f64) {
        let x = energy - *self.origin.get_or_insert(energy);
        self.count += 1.0;
        self.energy[0] += x;
        self.energy[1] += x * x;
        self.energy[2] += x * x * x;
    }

    /// Mean, variance and third cumulant of the energy.
    fn cumulants(&self) -> [f64; 3] {
        let [a, b, c] = self.energy.map(|sum| sum / self.count);
        let skew = c - 3.0 * a * b + 2.0 * a * a * a;
        [self.origin.unwrap_or(0.0) + a, b - a * a, skew]
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The place of a pair of replicas, `b < a`, in the list of overlaps.
fn pair(a: usize, b: usize) -> usize {
    a * (a - 1) / 2 + b
}

fn averages(traces: &[&Trace], overlaps: &[Vec<f64>], of: std::ops::Range<usize>) -> Averages {
    let over = |list: fn(&Trace) -> &Vec<f64>| {
        mean(traces[of.clone()].iter().flat_map(|trace| list(trace)).copied())
    };
    let pairs = of.clone().flat_map(|a| (of.start..a).map(move |b| pair(a, b)));
    let q: Vec<f64> = pairs.flat_map(|index| overlaps[index].iter().copied()).collect();
    Averages {
        q_d: over(|t| &t.q_d),
        q: (!q.is_empty()).then(|| mean(q.into_iter())),
        r: over(|t| &t.r),
        p: over(|t| &t.p),
        energy: over(|t| &t.energy),
    }
}

/// ⟨q⟩² without the bias of a square: the mean of q_ab q_cd over pairs without a common replica.
fn product_of_disjoint(overlaps: &[Vec<f64>], count: usize) -> Option<f64> {
    let all: Vec<(usize, usize)> = (0..count).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    let mut products = Vec::new();
    for (i, &(a, b)) in all.iter().enumerate() {
        for (j, &(c, d)) in all[..i].iter().enumerate() {
            if a != c && a != d && b != c && b != d {
                let both = overlaps[i].iter().zip(&overlaps[j]);
                products.push(mean(both.map(|(x, y)| x * y)));
            }
        }
    }
    (!products.is_empty()).then(|| mean(products.into_iter()))
}

fn diagnostics(traces: &[&Trace], overlaps: &[Vec<f64>], every: usize) -> TemperingDiagnostics {
    let mixing = |lists: Vec<&[f64]>| {
        let found = Mixing::of(&lists);
        Mixing { autocorrelation_time: found.autocorrelation_time * every as f64, ..found }
    };
    type List = fn(&Trace) -> &Vec<f64>;
    let lists = |traces: &[&'_ Trace], list: List| -> Vec<Vec<f64>> {
        traces.iter().map(|trace| list(trace).clone()).collect()
    };
    let of = |lists: &[Vec<f64>]| mixing(lists.iter().map(Vec::as_slice).collect());
    let (random, planted) = traces.split_at(traces.len() / 2);
    // Mean, and the square of its standard error.
    let moments = |lists: &[Vec<f64>]| {
        let average = mean(lists.iter().flatten().copied());
        let variance = mean(lists.iter().flatten().map(|value| (value - average).powi(2)));
        (average, variance / of(lists).effective_samples.max(1.0))
    };
    let difference = |list: List| {
        let (a, b) = (moments(&lists(random, list)), moments(&lists(planted, list)));
        let error = (a.1 + b.1).sqrt();
        if error > 0.0 { (a.0 - b.0) / error } else { 0.0 }
    };
    let disjoint = (0..traces.len() / 2).map(|i| overlaps[pair(2 * i + 1, 2 * i)].as_slice());
    TemperingDiagnostics {
        q_d: of(&lists(traces, |t| &t.q_d)),
        q: mixing(disjoint.collect()),
        r: of(&lists(traces, |t| &t.r)),
        p: of(&lists(traces, |t| &t.p)),
        energy: of(&lists(traces, |t| &t.energy)),
        hot: of(&lists(traces, |t| &t.hot)),
        start_z: [difference(|t| &t.q_d), difference(|t| &t.r), difference(|t| &t.energy)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate of exchange from (a, b) to (b, a) times the weight of (a, b) is symmetric.
    #[test]
    fn exchanges_are_in_detailed_balance() {
        for (betas, losses) in [([5.0, 6.0], [1.3, 0.2]), ([8.0, 20.0], [0.4, 0.7])] {
            let weight = |losses: [f64; 2]| {
                (-betas[0] * losses[0] - betas[1] * losses[1]).exp()
                    * exchange_acceptance(betas, losses)
            };
            let (forth, back) = (weight(losses), weight([losses[1], losses[0]]));
            assert!((forth / back - 1.0).abs() < 1e-12, "{forth} {back}");
        }
        assert_eq!(exchange_acceptance([5.0, 6.0], [1.0, 2.0]), 1.0);
    }

    #[test]
    fn cumulants_do_not_depend_on_the_origin() {
        let values = [3.0, 4.5, 1.0, 7.25, 2.0];
        let cumulants = |shift: f64| {
            let mut sums = RungSums::default();
            values.iter().for_each(|value| sums.add_energy(value + shift));
            sums.cumulants()
        };
        let mean = values.iter().sum::<f64>() / 5.0;
        let moment = |k: i32| values.iter().map(|v| (v - mean).powi(k)).sum::<f64>() / 5.0;
        for shift in [0.0, 1e6] {
            let [energy, variance, skew] = cumulants(shift);
            assert!((energy - mean - shift).abs() < 1e-9);
            assert!((variance - moment(2)).abs() < 1e-9 && (skew - moment(3)).abs() < 1e-8);
        }
    }

    #[test]
    fn pairs_are_listed_in_the_order_of_their_places() {
        let all: Vec<usize> = (0..5).flat_map(|a| (0..a).map(move |b| pair(a, b))).collect();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        // q_ab = x_a x_b: every product of disjoint pairs of four replicas is the same.
        let x = [1.0, 2.0, 3.0, 5.0];
        let overlaps: Vec<Vec<f64>> =
            (0..4).flat_map(|a| (0..a).map(move |b| vec![x[a] * x[b]; 2])).collect();
        assert_eq!(product_of_disjoint(&overlaps, 4), Some(30.0));
        assert_eq!(product_of_disjoint(&overlaps[..1], 2), None);
    }
}
