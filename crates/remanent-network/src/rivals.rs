//! The learners of other authors, for comparison.
//!
//! | learner | source | weights |
//! |---|---|---|
//! | [`bayesbinn`] | Meng, Bachmann and Khan, ICML 2020 | binary, sampled by relaxation |
//! | [`bimu`] | Cottart et al., arXiv:2605.30198 | binary, sampled by relaxation |
//! | [`si`] | Zenke, Poole and Ganguli, ICML 2017 | real |
//! | [`mesu`] | Bonnet et al., arXiv:2504.13569 | Gaussian, sampled |
//! | `sgd` | – | real, no protection |
//!
//! Each module states one update rule. The passes are those of [`crate::pass`]; learners that
//! sample weights average the gradient over several networks of sampled weights.

pub mod bayesbinn;
pub mod bimu;
pub mod mesu;
pub mod si;

use serde::{Deserialize, Serialize};

use crate::architecture::{Activation, Normalisation};
use crate::learner::{Learner, Optimizer, Parameters};
use crate::parameters::ParameterError;
use crate::ranges;
use crate::schedule::BetaSchedule;

/// Parameters of these learners. Each learner has some of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rival {
    /// Networks of sampled weights in a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// τ of relaxed weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Factor of the gradient of `bimu` and `bayesbinn`. Without it, 1 and M/B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<f64>,
    /// Factor of the divergence of `bimu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
    /// Largest learning rate of a weight of `bimu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<f64>,
    /// Factor of the pull of `bayesbinn` to its prior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_strength: Option<f64>,
    /// ξ of `si`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// Deviation of the weights of `mesu` before learning, times √N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Learning rate of the deviations of `mesu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr_sigma: Option<f64>,
    /// Deviation of the prior of `mesu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_sigma: Option<f64>,
    /// Bound of the gradient of `mesu`, in units of 1/σ; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
}

impl Rival {
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        let of_rivals = [
            ("samples", ranges::SAMPLES, self.samples.map(|samples| samples as f64)),
            ("temperature", ranges::TEMPERATURE, self.temperature),
            ("likelihood", ranges::LIKELIHOOD, self.likelihood),
            ("kl", ranges::KL, self.kl),
            ("max_rate", ranges::MAX_RATE, self.max_rate),
            ("prior_strength", ranges::PRIOR_STRENGTH, self.prior_strength),
            ("damping", ranges::DAMPING, self.damping),
            ("sigma", ranges::SIGMA, self.sigma),
            ("lr_sigma", ranges::LR_SIGMA, self.lr_sigma),
            ("prior_sigma", ranges::PRIOR_SIGMA, self.prior_sigma),
            ("clip", ranges::CLIP, self.clip),
        ];
        for (name, range, value) in of_rivals {
            range.check_all(name, value)?;
        }
        Ok(())
    }

    pub(crate) fn samples(&self) -> usize {
        self.samples.unwrap_or(1)
    }

    pub(crate) fn temperature(&self) -> f32 {
        self.temperature.unwrap_or(1.0) as f32
    }

    pub(crate) fn damping(&self) -> f32 {
        self.damping.unwrap_or(1.0) as f32
    }
}

/// The authors' settings for long streams of permuted MNIST, as far as a learner has them.
pub(crate) fn defaults(learner: Learner, base: Parameters) -> Parameters {
    let base = Parameters {
        beta: BetaSchedule::Tasks(vec![1.0]),
        optimizer: Optimizer::Sgd,
        adam: [0.9, 0.999, 1e-8],
        ..base
    };
    let none = Rival::default();
    match learner {
        Learner::BayesBinn => Parameters {
            normalisation: Normalisation::BatchPlain,
            batch: 100,
            lr: 1e-3,
            spread: 10.0,
            rival: Rival {
                samples: Some(1),
                temperature: Some(0.01),
                prior_strength: Some(1.0),
                ..none
            },
            ..base
        },
        Learner::Bimu => Parameters {
            activation: Activation::Gate,
            normalisation: Normalisation::LayerAll,
            batch: 1,
            lr: 4.9,
            spread: 0.02,
            window: Some(700),
            rival: Rival {
                samples: Some(5),
                temperature: Some(1.0),
                likelihood: Some(161.3),
                kl: Some(3.76),
                max_rate: Some(0.0023),
                ..none
            },
            ..base
        },
        Learner::Si => Parameters {
            optimizer: Optimizer::Adam,
            batch: 256,
            lr: 1e-3,
            gamma_task: 0.1,
            rival: Rival { damping: Some(0.1), ..none },
            ..base
        },
        Learner::Mesu => Parameters {
            batch: 1,
            lr: 1.6,
            spread: 2.31,
            window: Some(600_000),
            rival: Rival {
                samples: Some(10),
                sigma: Some(1.0),
                lr_sigma: Some(2.1),
                prior_sigma: Some(0.3),
                clip: Some(0.36),
                ..none
            },
            ..base
        },
        // A rate for the mean loss of a batch of 64; ours.
        _ => Parameters { lr: 0.1, ..base },
    }
}
