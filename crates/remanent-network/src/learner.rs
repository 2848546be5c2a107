//! The learners, their parameters and defaults.

use remanent_math::philox::Stream;
use serde::{Deserialize, Serialize};

use crate::architecture::{Activation, Architecture, Normalisation};
use crate::fading::{self, Fading};
use crate::network::{Network, Weights};
use crate::parameters::{ParameterError, list_of};
use crate::pass::{OwnedNoise, normal_noise, uniform_noise};
use crate::product::Precision;
use crate::ranges::{self, Range};
use crate::rivals::{self, Rival};
use crate::schedule::{BetaSchedule, RateRule, RateSchedule};

/// The learning algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Learner {
    /// Variational continual learning, the algorithm of the paper.
    Vcl,
    /// Elastic weight consolidation, on the same network.
    Ewc,
    /// Metaplasticity: the larger a hidden weight, the more it resists a change of sign.
    Metaplasticity,
    /// The binary network with straight-through gradients, without protection against forgetting.
    Ste,
    /// All tasks at once, with the network of `vcl` and no anchor.
    Joint,
    /// Binary weights with a natural-gradient step on relaxed samples: Meng et al. 2020.
    BayesBinn,
    /// Binary metaplasticity from uncertainty, a bounded memory window: Cottart et al. 2026.
    Bimu,
    /// Synaptic intelligence, in a network of real weights: Zenke et al. 2017.
    Si,
    /// Metaplasticity from synaptic uncertainty, in a network of Gaussian weights: Bonnet et al.
    /// 2025.
    Mesu,
    /// A network of real weights without protection against forgetting.
    Sgd,
}

/// The reference points of the regulariser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Anchor {
    /// Nothing.
    None,
    /// The previous step, the published form.
    Step,
    /// The posterior at the end of the last task, the form of the toy model.
    Task,
    /// Both.
    Both,
}

impl Anchor {
    /// Whether the previous step is an anchor.
    pub fn steps(self) -> bool {
        matches!(self, Self::Step | Self::Both)
    }

    /// Whether the end of the last task is an anchor.
    pub fn tasks(self) -> bool {
        matches!(self, Self::Task | Self::Both)
    }
}

/// The prior of `vcl` in the first task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstPrior {
    /// None: the first task is learned without a divergence.
    #[default]
    None,
    /// Both signs of every weight are equally probable.
    Uniform,
}

impl FirstPrior {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What the factor γ of the divergence of `vcl` from the last task counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GammaRule {
    /// γ is the factor itself.
    #[default]
    Constant,
    /// The factor is γ M/W, for M training images of the task and W weights of the network.
    Weights,
}

impl GammaRule {
    fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}

/// The Fisher information of `ewc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fisher {
    /// β²σ², that of the weight's own distribution: Appendix B of the paper.
    Variance,
    /// Squared gradients of the data's likelihood, summed over the examples of each task at its
    /// end: Kirkpatrick et al. 2017.
    Empirical,
    /// The same with one centre, the end of the last task, and old information that fades by ρ at each
    /// switch: online EWC, Schwarz et al. 2018.
    Online,
}

/// The form of `metaplasticity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Algorithm 1 of the paper: the gradient is modulated.
    Printed,
    /// Laborieux et al. 2021: the step of Adam is modulated.
    Original,
}

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Kingma and Ba.
    Adam,
    /// Learning rate times gradient.
    Sgd,
}

/// Parameters of a network and its learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The algorithm.
    pub learner: Learner,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Of hidden neurons.
    pub activation: Activation,
    /// Of preactivations.
    pub normalisation: Normalisation,
    /// Factor of the logits; the starting value if it is learned.
    pub output_scale: f64,
    /// Whether the factor of the logits is learned.
    pub learned_scale: bool,
    /// The smallest value that it may take while it is learned; 0, none, is not part of the key.
    #[serde(default, skip_serializing_if = "fading::is_zero")]
    pub least_scale: f64,
    /// Standard deviation of θ before learning.
    pub spread: f64,
    /// Images in a step.
    pub batch: usize,
    /// Learning rate.
    pub lr: f64,
    /// What it counts. A constant is not part of the key.
    #[serde(default, skip_serializing_if = "RateRule::is_constant")]
    pub lr_rule: RateRule,
    /// Of the learning rate within a task. A constant one is not part of the key.
    #[serde(default, skip_serializing_if = "RateSchedule::is_constant")]
    pub lr_schedule: RateSchedule,
    /// How a gradient becomes a step.
    pub optimizer: Optimizer,
    /// b_1, b_2 and ε of Adam.
    pub adam: [f64; 3],
    /// Whether a step of `vcl`, `ewc` and `joint` is multiplied by the variance of the weight. False is not part of the key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub metaplastic: bool,
    /// β of field networks.
    pub beta: BetaSchedule,
    /// Reference points of the regulariser of `vcl` and `ewc`.
    pub anchor: Anchor,
    /// Factor of the divergence from the previous step.
    pub gamma_step: f64,
    /// Factor of the divergence from the last task; each epoch counts it once.
    pub gamma_task: f64,
    /// What it counts, in `vcl`. A constant is not part of the key.
    #[serde(default, skip_serializing_if = "GammaRule::is_constant")]
    pub gamma_rule: GammaRule,
    /// Of `vcl` in the first task. No prior is not part of the key.
    #[serde(default, skip_serializing_if = "FirstPrior::is_none")]
    pub first_prior: FirstPrior,
    /// How the anchor of `vcl` at the last task, and the information of online `ewc`, fade.
    #[serde(flatten)]
    pub fading: Fading,
    /// Whether a switch also moves the fields of `vcl` to the anchor. False is not part of the key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset_fields: bool,
    /// Whether the moments of Adam begin anew at a switch. False is not part of the key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset_moments: bool,
    /// The anchor of `vcl` follows the posterior with this window, in examples, and needs no switches.
    /// The memory of `bimu` and `mesu`, in examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<usize>,
    /// Of `ewc`.
    pub fisher: Fisher,
    /// Of `metaplasticity`.
    pub form: Form,
    /// m of `metaplasticity`: one value for each task, or one for all.
    pub meta: Vec<f64>,
    /// Mean and deviation by which pixels are standardised. None is not part of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standardise: Option<[f64; 2]>,
    /// Of the inputs of matrix products in training. Single precision is not part of the key.
    #[serde(default, skip_serializing_if = "Precision::is_single")]
    pub precision: Precision,
    /// Of the learners of other authors. What a learner does not use is not part of the key.
    #[serde(flatten)]
    pub rival: Rival,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Parameters {
    /// The defaults of a learner: the published values where there are any.
    pub fn of(learner: Learner) -> Self {
        let published = Self {
            learner,
            hidden: vec![512, 512],
            activation: Activation::Relu,
            normalisation: Normalisation::None,
            output_scale: 1.0,
            learned_scale: false,
            least_scale: 0.0,
            spread: 1.0,
            batch: 64,
            lr: 0.01,
            lr_rule: RateRule::Constant,
            lr_schedule: RateSchedule::Constant,
            optimizer: Optimizer::Adam,
            adam: [0.9, 0.99, 1e-8],
            metaplastic: false,
            beta: BetaSchedule::Tanh { a: 10.0, delta: 0.1, b: 2.0 },
            anchor: Anchor::None,
            gamma_step: 1.0,
            gamma_task: 1.0,
            gamma_rule: GammaRule::Constant,
            first_prior: FirstPrior::None,
            fading: Fading::default(),
            reset_fields: false,
            reset_moments: false,
            window: None,
            fisher: Fisher::Variance,
            form: Form::Printed,
            meta: vec![0.43],
            standardise: None,
            precision: Precision::F32,
            rival: Rival::default(),
        };
        match learner {
            Learner::Vcl => Self { anchor: Anchor::Step, ..published },
            Learner::Ewc => Self { anchor: Anchor::Task, ..published },
            // The best of seven rates from 0.01 to 30 on validation images of permuted MNIST.
            Learner::Metaplasticity => Self { optimizer: Optimizer::Sgd, lr: 3.0, ..published },
            Learner::Ste | Learner::Joint => published,
            Learner::BayesBinn | Learner::Bimu | Learner::Si | Learner::Mesu | Learner::Sgd => {
                rivals::defaults(learner, published)
            }
        }
    }

    /// The architecture for this number of pixels and classes.
    pub fn architecture(&self, inputs: usize, classes: usize) -> Architecture {
        let mut widths = vec![inputs];
        widths.extend(&self.hidden);
        widths.push(classes);
        let (activation, normalisation) = (self.activation, self.normalisation);
        Architecture { widths, activation, normalisation }
    }

    /// The meaning of θ.
    pub fn weights(&self) -> Weights {
        match self.learner {
            Learner::Vcl | Learner::Ewc | Learner::Joint => Weights::Field,
            Learner::BayesBinn | Learner::Bimu => Weights::Field,
            Learner::Metaplasticity | Learner::Ste => Weights::Sign,
            Learner::Si | Learner::Sgd => Weights::Float,
            Learner::Mesu => Weights::Gaussian,
        }
    }

    /// Whether a step samples weights, instead of preactivations.
    pub fn samples_weights(&self) -> bool {
        matches!(self.learner, Learner::BayesBinn | Learner::Bimu | Learner::Mesu)
    }

    /// The random numbers of training steps: of weights, or of preactivations.
    pub(crate) fn noise(&self, stream: Stream) -> OwnedNoise {
        match self.learner {
            Learner::BayesBinn | Learner::Bimu => Box::new(uniform_noise(stream)),
            _ => Box::new(normal_noise(stream)),
        }
    }

    /// The network before learning.
    pub(crate) fn initial_network(
        &self,
        inputs: usize,
        classes: usize,
        seed: u64,
        trial: u32,
    ) -> Result<Network, ParameterError> {
        let architecture = self.architecture(inputs, classes);
        let spread = self.spread as f32;
        let mut network = Network::random(&architecture, self.weights(), spread, seed, trial)
            .map_err(|error| ParameterError::invalid(error.to_string()))?;
        if self.learner == Learner::BayesBinn {
            // Two values of equal size: its authors begin with certain weights.
            network.update_theta(|_, theta| {
                theta.iter_mut().for_each(|t| *t = spread.copysign(*t));
            });
        }
        if let Some(sigma) = self.rival.sigma {
            let square = (sigma * sigma) as f32;
            for layer in &mut network.layers {
                layer.variance.iter_mut().for_each(|v| *v *= square);
            }
        }
        Ok(network)
    }

    /// Whether the learner acts at the end of a task.
    pub fn sees_switches(&self) -> bool {
        self.keeps_tasks() || self.reset_moments
    }

    /// Whether the end of a task changes what the learner is pulled to.
    pub(crate) fn keeps_tasks(&self) -> bool {
        match self.learner {
            Learner::Vcl => self.anchor.tasks() && self.window.is_none(),
            Learner::Ewc => self.anchor.tasks(),
            Learner::BayesBinn | Learner::Si => true,
            Learner::Metaplasticity | Learner::Ste | Learner::Joint => false,
            Learner::Bimu | Learner::Mesu | Learner::Sgd => false,
        }
    }

    /// Steps of an epoch of `examples` images. The last batch may be smaller; a last batch of a
    /// single image is dropped with batch normalisation, which needs at least two.
    pub fn batches(&self, examples: usize) -> usize {
        match self.normalisation {
            normalisation if normalisation.is_batch() && examples % self.batch == 1 => {
                (examples / self.batch).max(1)
            }
            _ => examples.div_ceil(self.batch),
        }
    }

    /// The learning rate before its schedule and the rule of steps.
    pub fn rate(&self) -> f64 {
        self.lr_rule.rate(self.lr, self.batch)
    }

    /// m of a task, counted from 0.
    pub fn meta_of(&self, task: usize) -> f64 {
        self.meta.get(task).or(self.meta.last()).copied().unwrap_or(0.0)
    }

    /// Checks every parameter for a stream of this many tasks and epochs.
    pub fn check(&self, tasks: usize, epochs: usize) -> Result<(), ParameterError> {
        self.check_step()?;
        if self.weights() == Weights::Field && !self.samples_weights() {
            self.beta.check(tasks, epochs)?;
        }
        if self.learner == Learner::Metaplasticity {
            list_of("meta", self.meta.len(), tasks, tasks)?;
        }
        self.check_combinations()
    }

    /// Checks the parameters that do not depend on the stream.
    pub(crate) fn check_step(&self) -> Result<(), ParameterError> {
        // The stream determines pixels and classes.
        self.architecture(1, 1).check()?;
        ranges::LR.check("lr", self.lr)?;
        ranges::SPREAD.check("spread", self.spread)?;
        ranges::OUTPUT_SCALE.check("output_scale", self.output_scale)?;
        ranges::GAMMA.check("gamma_step", self.gamma_step)?;
        ranges::GAMMA.check("gamma_task", self.gamma_task)?;
        self.fading.check()?;
        self.rival.check()?;
        if let Some([mean, deviation]) = self.standardise {
            Range::ANY.check("mean of standardise", mean)?;
            ranges::PIXEL_DEVIATION.check("deviation of standardise", deviation)?;
        }
        if let Some(window) = self.window {
            ranges::WINDOW.check("window", window as f64)?;
        }
        ranges::BATCH.check("batch", self.batch as f64)?;
        let [b1, b2, epsilon] = self.adam;
        ranges::ADAM_DECAY.check("b1 of adam", b1)?;
        ranges::ADAM_DECAY.check("b2 of adam", b2)?;
        ranges::ADAM_EPSILON.check("epsilon of adam", epsilon)?;
        if self.learner == Learner::Metaplasticity {
            ranges::META.check_all("meta", self.meta.iter().copied())?;
        }
        Ok(())
    }

    fn check_combinations(&self) -> Result<(), ParameterError> {
        if self.normalisation.is_batch() && self.batch == 1 {
            let text = "batch normalisation needs a batch of at least 2; choose layer or none";
            return Err(ParameterError::invalid(text));
        }
        if self.learner == Learner::Vcl && self.window.is_some() && !self.anchor.tasks() {
            let text = "a window needs an anchor that follows the posterior; choose the anchor task or both";
            return Err(ParameterError::invalid(text));
        }
        if self.learner == Learner::Ewc && self.fisher != Fisher::Variance {
            if self.anchor != Anchor::Task {
                let text =
                    "the empirical Fisher information is that of a task; choose the anchor task";
                return Err(ParameterError::invalid(text));
            }
            if self.normalisation.is_batch() {
                let text = "with batch normalisation there is no gradient of a single example, of \
                            which the empirical Fisher information is made; choose layer or none";
                return Err(ParameterError::invalid(text));
            }
        }
        Ok(())
    }
}
