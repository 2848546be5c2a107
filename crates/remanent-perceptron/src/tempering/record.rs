//! What parallel tempering of one draw of the data leaves.

use remanent_math::statistics::Mixing;
use serde::{Deserialize, Serialize};

/// Bins of the overlap between −1 and 1.
pub const BINS: usize = 200;

/// One temperature of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    /// β.
    pub beta: f64,
    /// ⟨L⟩.
    pub energy: f64,
    /// ⟨(L − ⟨L⟩)²⟩.
    pub variance: f64,
    /// ⟨(L − ⟨L⟩)³⟩.
    pub skew: f64,
    /// Mean acceptance of the trajectories.
    pub acceptance: f64,
    /// Step of the leapfrog.
    pub step: f64,
    /// Mean acceptance of exchanges with the next, colder, temperature; none at the cold end.
    pub exchange: Option<f64>,
}

/// Averages at the wanted β.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Averages {
    /// Self-overlap ⟨Σ m²⟩/N.
    pub q_d: f64,
    /// Overlap ⟨Σ m_a m_b⟩/N of two replicas a ≠ b; none of a single replica.
    pub q: Option<f64>,
    /// Overlap with the teacher ⟨Σ m W⟩/N.
    pub r: f64,
    /// Overlap of the signs with the teacher.
    pub p: f64,
    /// ⟨L⟩.
    pub energy: f64,
}

/// How well the wanted β was sampled, quantity by quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemperingDiagnostics {
    /// Of q_d.
    pub q_d: Mixing,
    /// Of the overlap of pairs of replicas that start in the same way.
    pub q: Mixing,
    /// Of r.
    pub r: Mixing,
    /// Of p.
    pub p: Mixing,
    /// Of L.
    pub energy: Mixing,
    /// Of L at the hot end.
    pub hot: Mixing,
    /// Difference of the two starts in standard errors: q_d, r, L.
    pub start_z: [f64; 3],
}

/// The result of one draw of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemperingRecord {
    /// The ladder, from hot to cold.
    pub rungs: Vec<Rung>,
    /// Averages over all replicas.
    pub all: Averages,
    /// Over the replicas that started at random.
    pub random: Averages,
    /// Over the replicas that started at the teacher.
    pub planted: Averages,
    /// ⟨q²⟩ of two replicas.
    pub q_squared: f64,
    /// ⟨q⟩² without bias: ⟨q_ab q_cd⟩ of pairs without a common replica; none below four replicas.
    pub q_product: Option<f64>,
    /// Counts of the overlap between replicas in [`BINS`] bins from −1 to 1.
    pub histogram: Vec<u64>,
    /// Round trips of all walkers of each replica.
    pub round_trips: Vec<usize>,
    /// How well it was sampled.
    pub diagnostics: TemperingDiagnostics,
}

/// Why a draw does not count as equilibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortcoming {
    /// R̂ of q_d, q, r, p or L is 1.1 or more.
    RHat,
    /// Fewer than 50 effective samples of q_d, q, r, p or L.
    EffectiveSamples,
    /// A replica with fewer than 10 round trips.
    RoundTrips,
    /// q_d, r or L of the two starts differ by 4 standard errors or more.
    Starts,
    /// Exchanges of a pair of temperatures accepted with less than 0.1.
    Exchange,
    /// Trajectories at a temperature accepted with less than 0.3.
    Acceptance,
    /// The autocorrelation time at the hot end is above 20 sweeps.
    HotEnd,
}

impl Shortcoming {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::RHat => "R-hat of 1.1 or more",
            Self::EffectiveSamples => "fewer than 50 effective samples",
            Self::RoundTrips => "fewer than 10 round trips of a replica",
            Self::Starts => "starts that differ by 4 standard errors",
            Self::Exchange => "exchanges accepted with less than 0.1",
            Self::Acceptance => "trajectories accepted with less than 0.3",
            Self::HotEnd => "more than 20 sweeps of autocorrelation at the hot end",
        }
    }
}

impl TemperingDiagnostics {
    fn cold(&self) -> [Mixing; 5] {
        [self.q_d, self.q, self.r, self.p, self.energy]
    }

    /// The largest R̂ at the wanted β.
    pub fn r_hat(&self) -> f64 {
        self.cold().into_iter().map(|m| m.r_hat).fold(0.0, f64::max)
    }

    /// The smallest effective sample size at the wanted β, of all replicas together.
    pub fn effective_samples(&self) -> f64 {
        self.cold().into_iter().map(|m| m.effective_samples).fold(f64::INFINITY, f64::min)
    }

    /// The longest autocorrelation time at the wanted β, in sweeps.
    pub fn autocorrelation_time(&self) -> f64 {
        self.cold().into_iter().map(|m| m.autocorrelation_time).fold(0.0, f64::max)
    }
}

impl TemperingRecord {
    /// Why the draw does not count as equilibrated; empty if it does.
    pub fn shortcomings(&self) -> Vec<Shortcoming> {
        let d = &self.diagnostics;
        let exchanges = self.rungs.iter().filter_map(|rung| rung.exchange);
        let acceptances = self.rungs.iter().map(|rung| rung.acceptance);
        let tests = [
            (Shortcoming::RHat, d.r_hat() < 1.1),
            (Shortcoming::EffectiveSamples, d.effective_samples() >= 50.0),
            (Shortcoming::RoundTrips, self.round_trips.iter().all(|&trips| trips >= 10)),
            (Shortcoming::Starts, d.start_z.iter().all(|z| z.abs() < 4.0)),
            (Shortcoming::Exchange, exchanges.fold(1.0, f64::min) >= 0.1),
            (Shortcoming::Acceptance, acceptances.fold(1.0, f64::min) >= 0.3),
            (Shortcoming::HotEnd, d.hot.autocorrelation_time <= 20.0),
        ];
        tests.into_iter().filter(|(_, passed)| !passed).map(|(why, _)| why).collect()
    }

    /// ⟨L⟩ at the hot end minus ⟨L⟩ at the cold end.
    pub fn energy_difference(&self) -> f64 {
        self.rungs[0].energy - self.rungs[self.rungs.len() - 1].energy
    }

    /// The same difference from fluctuations: ∫ Var L dβ, since d⟨L⟩/dβ = −Var L. The trapezoid rule
    /// with its first correction, d Var L/dβ = −⟨(L − ⟨L⟩)³⟩, has an error of fourth order.
    pub fn energy_difference_from_fluctuations(&self) -> f64 {
        self.integrate(|rung| rung.variance, |rung| -rung.skew)
    }

    /// ln Z at the cold end minus ln Z at the hot end: −∫ ⟨L⟩ dβ.
    pub fn log_partition_difference(&self) -> f64 {
        -self.integrate(|rung| rung.energy, |rung| -rung.variance)
    }

    /// ∫ f dβ along the ladder by the corrected trapezoid rule.
    fn integrate(&self, value: impl Fn(&Rung) -> f64, slope: impl Fn(&Rung) -> f64) -> f64 {
        let pair = |pair: &[Rung]| {
            let width = pair[1].beta - pair[0].beta;
            0.5 * width * (value(&pair[0]) + value(&pair[1]))
                - width * width / 12.0 * (slope(&pair[1]) - slope(&pair[0]))
        };
        self.rungs.windows(2).map(pair).sum()
    }
}
