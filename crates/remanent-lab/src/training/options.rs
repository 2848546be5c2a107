//! The options of a training.

use remanent_network::architecture::{Activation, Normalisation};
use remanent_network::learner::{Anchor, FirstPrior, Fisher, Form, GammaRule, Learner, Optimizer};
use remanent_network::predictor::Predictor;
use remanent_network::product::Precision;
use remanent_network::ranges::{self, Range};
use remanent_network::schedule::{BetaSchedule, RateRule, RateSchedule};
use toml::Value;

use crate::options::{Kind, OptionValue, Word};
use crate::training::evaluation::Evaluate;
use crate::training::presets::{PRESETS, Preset};
use crate::{options, values, words};

words! {
    Learner {
        "vcl" => Vcl, "variational continual learning";
        "ewc" => Ewc, "elastic weight consolidation";
        "metaplasticity" => Metaplasticity, "updates that shrink with the size of the hidden weight";
        "ste" => Ste, "straight-through estimator: no protection of earlier tasks";
        "joint" => Joint, "all tasks at once: an upper reference";
        "bayesbinn" => BayesBinn, "BayesBiNN, Meng et al. 2020";
        "bimu" => Bimu, "binary metaplasticity from uncertainty, Cottart et al. 2026";
        "si" => Si, "synaptic intelligence, Zenke et al. 2017; real weights";
        "mesu" => Mesu, "metaplasticity from synaptic uncertainty, Bonnet et al. 2025; Gaussian weights";
        "sgd" => Sgd, "real weights, no protection of earlier tasks";
    }
}
words! {
    Predictor {
        "stochastic" => Stochastic, "one stochastic pass, the paper's test";
        "mean_field" => MeanField, "the mean of several stochastic passes";
        "sampled" => Sampled, "binary networks sampled from the measure";
        "hard" => Hard, "the most probable binary network";
    }
}
words! {
    Precision {
        "f32" => F32, "single precision";
        "bf16" => Bf16, "bfloat16: faster on processors with AVX-512-BF16 or AMX";
    }
}
words! {
    Activation {
        "relu" => Relu, "rectified linear";
        "sign" => Sign, "binary activations";
        "gate" => Gate, "1 where the preactivation is above 1 or below -1, else 0";
    }
}
words! {
    Normalisation {
        "none" => None, "none";
        "layer" => Layer, "over the neurons of a layer";
        "batch" => Batch, "over the images of a batch";
        "layer-all" => LayerAll, "over the neurons of a layer, in the last layer too";
        "batch-plain" => BatchPlain, "over the images of a batch, without gain and shift";
    }
}
words! {
    Anchor {
        "none" => None, "no pull";
        "step" => Step, "towards the fields before the last step";
        "task" => Task, "towards the fields at the end of the last task";
        "both" => Both, "towards both";
    }
}
words! {
    GammaRule {
        "constant" => Constant, "gamma is the factor itself";
        "weights" => Weights, "the factor is gamma M/W: images of the task, weights of the network";
    }
}
words! {
    FirstPrior {
        "none" => None, "no prior";
        "uniform" => Uniform, "both signs of every weight are equally probable";
    }
}
words! {
    RateRule {
        "constant" => Constant, "lr is the rate itself";
        "batch" => Batch, "lr is the rate of batches of 64 images; it grows with the square root of the batch";
        "steps" => Steps, "lr is the rate of tasks of at most 625 steps; it falls with the square root of the steps of a task";
    }
}
words! {
    RateSchedule {
        "constant" => Constant, "the same in every step";
        "cosine" => Cosine, "half a cosine from lr to 0 in every task";
        "linear" => Linear, "a straight line from lr to 0 in every task";
    }
}
words! {
    Fisher {
        "variance" => Variance, "the variance of the weights, as in the paper's appendix";
        "empirical" => Empirical, "from gradients, as in Kirkpatrick et al.";
        "online" => Online, "from gradients, one centre, old tasks fade by rho";
    }
}
words! {
    Form {
        "printed" => Printed, "as printed in the paper";
        "original" => Original, "as in the original paper of 2021";
    }
}
words! {
    Optimizer {
        "adam" => Adam, "Adam";
        "sgd" => Sgd, "stochastic gradient descent";
    }
}

/// The words of `--preset`.
static PRESET_WORDS: [Word; PRESETS.len()] = {
    let mut words = [Word { name: "", about: "" }; PRESETS.len()];
    let mut i = 0;
    while i < PRESETS.len() {
        words[i] = Word { name: PRESETS[i].name, about: PRESETS[i].about };
        i += 1;
    }
    words
};

impl OptionValue for &'static Preset {
    const KIND: Kind = Kind::Word(&PRESET_WORDS);

    fn read(value: &Value) -> Result<Self, String> {
        let name = Self::KIND.parse(value.as_str().unwrap_or_default())?;
        let found = name.as_str().and_then(Preset::find);
        found.ok_or_else(|| "the name of a preset".into())
    }

    fn shown(&self) -> Option<String> {
        Some(self.name.to_owned())
    }
}

impl OptionValue for BetaSchedule {
    const KIND: Kind = Kind::NumberOrText;

    fn read(value: &Value) -> Result<Self, String> {
        let schedule = match value {
            Value::String(text) => text.parse::<Self>().ok(),
            value => values::each(value, values::as_number).map(Self::Tasks),
        };
        schedule.ok_or_else(|| {
            "'2' or '1,12.5' (one value for each task), 'tanh:10,0.1,2' \
             (10 tanh(0.1 + 2 epoch/epochs)), or 'epochs:1,1.5,2' (one value for each epoch)"
                .into()
        })
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Tasks(values) | Self::Epochs(values) => values.clone(),
            // Its values depend on the number of epochs.
            Self::Tanh { .. } => Vec::new(),
        }
    }
}

options! {
    /// Options of `train`.
    pub struct TrainingOptions {
        "Tasks" {
            /// A named configuration; all other options override it
            preset: Option<&'static Preset> = None,
            /// The tasks: permuted:DATASET:T, sequence:A,B, split:DATASET:CLASSES, rotated:DATASET:T,
            /// drift:DATASET:PERMUTATIONS:STAGES, or a file that lists them
            stream: Option<String> = None,
            /// Use only the first N training images of each task
            train_images: Option<usize> = None, in Range::ANY,
            /// Hold out the last N training images for validation and test on them instead of the test set
            validation: Option<usize> = None, in Range::ANY,
            /// Use only the first N test images of each task
            test_images: Option<usize> = None, in Range::ANY,
        }
        "Training" {
            /// Learning algorithm
            learner: Learner = Learner::Vcl,
            /// Epochs of each task: one number, or one for each task
            epochs: Vec<usize> = vec![5], in ranges::EPOCHS,
            /// Images per step [default: 64; 100 for bayesbinn, 256 for si, 1 for bimu and mesu]
            batch: Option<usize> = None, in ranges::BATCH,
            /// Learning rate [default: 0.01; 3 for metaplasticity as printed, 0.001 for bayesbinn and si,
            /// 4.9 for bimu, 1.6 for mesu, 0.1 for sgd]
            lr: Option<f64> = None, in ranges::LR,
            /// How lr sets the learning rate
            lr_rule: RateRule = RateRule::Constant,
            /// Learning rate within each task
            lr_schedule: RateSchedule = RateSchedule::Constant,
            /// Optimiser [default: adam; sgd for metaplasticity as printed and for sgd]
            optimizer: Option<Optimizer> = None,
            /// b1 and b2 (from 0 to below 1) and epsilon (above 0) of Adam [default: 0.9,0.99,1e-8]
            adam: Option<Vec<f64>> = None, in Range::ANY,
            /// Begin the moments of Adam anew at a switch: those of the last task belong to smaller gradients, and the first
            /// steps of the next would be several times the learning rate
            reset_moments: bool = false,
            /// Multiply each step of vcl, ewc and joint by the variance of the weight: certain weights move less
            metaplastic: bool = false,
            /// Inputs of the matrix products of training; sums, weights and optimiser are f32 always
            precision: Precision = Precision::F32,
        }
        "Network" {
            /// Widths of the hidden layers [default: 512,512]
            hidden: Option<Vec<usize>> = None, in ranges::WIDTH,
            /// Activation function [default: relu]
            activation: Option<Activation> = None,
            /// Normalisation of preactivations [default: none]
            normalisation: Option<Normalisation> = None,
            /// Factor of the logits [default: 1]
            output_scale: Option<f64> = None, in ranges::OUTPUT_SCALE,
            /// Learn the factor of the logits
            learned_scale: Option<bool> = None,
            /// Smallest value of the factor of the logits while it is learned
            least_scale: f64 = 0.0, in ranges::LEAST_SCALE,
            /// Standard deviation of the fields before learning; of real weights times the square root of the
            /// number of inputs [default: 1; 10 for bayesbinn, 0.02 for bimu, 2.31 for mesu]
            spread: Option<f64> = None, in ranges::SPREAD,
            /// Mean and standard deviation of the pixels: subtract the one, divide by the other; 0.1307,0.3081
            /// for MNIST
            standardise: Option<Vec<f64>> = None, in Range::ANY,
        }
        "Learner" {
            /// beta of vcl, ewc and joint: 2 or 1,12.5 (one per task), tanh:A,DELTA,B, or epochs:1,2,...
            /// [default: tanh:10,0.1,2]
            beta_schedule: Option<BetaSchedule> = None, in ranges::BETA,
            /// What vcl and ewc are pulled towards [default: step for vcl, task for ewc]
            anchor: Option<Anchor> = None,
            /// Factor of the pull towards the anchor [default: 1; 0.1 for si]
            gamma: Option<f64> = None, in ranges::GAMMA,
            /// Factor of the pull towards the last step, if it differs from gamma
            gamma_step: Option<f64> = None, in ranges::GAMMA,
            /// Factor of the pull towards the last task, if it differs from gamma
            gamma_task: Option<f64> = None, in ranges::GAMMA,
            /// How gamma sets the pull of vcl towards the last task
            gamma_rule: GammaRule = GammaRule::Constant,
            /// Prior of vcl in the first task, for an anchor at the last task
            first_prior: FirstPrior = FirstPrior::None,
            /// Fading of the anchor of vcl at a switch: factor of the magnetisations
            lambda: f64 = 1.0, in ranges::LAMBDA,
            /// Fading at a switch: factor of the fields of the anchor of vcl, or of the information of online
            /// ewc
            rho: f64 = 1.0, in ranges::RHO,
            /// Fading at a switch: multiply the fields of the anchor of vcl by the largest factor of at most 1
            /// that leaves this mean variance of the weights; 0 for none
            reserve: f64 = 0.0, in ranges::RESERVE,
            /// Fading at a switch: after N tasks the anchor of vcl fades so that the mean variance of the weights
            /// stays what it was then, and older tasks are forgotten; 8 keeps about five tasks well
            horizon: Option<usize> = None, in ranges::HORIZON,
            /// Also move the fields of vcl to the anchor at a switch
            reset_fields: bool = false,
            /// Let the anchor of vcl follow the posterior with a window of N examples; switches are then
            /// unknown to the learner. Memory of bimu and mesu, in examples [default: 700 for bimu, 600000 for
            /// mesu]
            window: Option<usize> = None, in ranges::WINDOW,
            /// Information matrix of ewc [default: variance]
            fisher: Option<Fisher> = None,
            /// Form of metaplasticity [default: printed]
            form: Option<Form> = None,
            /// m of metaplasticity: one number, or one for each task [default: 0.43]
            meta: Option<Vec<f64>> = None, in ranges::META,
        }
        "Learners of other authors" {
            /// Networks of sampled weights per step of bayesbinn, bimu and mesu [default: 1, 5 and 10]
            samples: Option<usize> = None, in ranges::SAMPLES,
            /// Temperature of the relaxed weights of bayesbinn and bimu [default: 0.01 and 1]
            temperature: Option<f64> = None, in ranges::TEMPERATURE,
            /// Factor of the gradient of bayesbinn and bimu [default: images of the task / batch, and 161.3]
            likelihood: Option<f64> = None, in ranges::LIKELIHOOD,
            /// Factor of the divergence of bimu [default: 3.76]
            kl: Option<f64> = None, in ranges::KL,
            /// Largest learning rate of a weight of bimu [default: 0.0023]
            max_rate: Option<f64> = None, in ranges::MAX_RATE,
            /// Factor of the pull of bayesbinn to its prior [default: 1]
            prior_strength: Option<f64> = None, in ranges::PRIOR_STRENGTH,
            /// Damping xi of the importance of si [default: 0.1]
            damping: Option<f64> = None, in ranges::DAMPING,
            /// Standard deviation of the weights of mesu before learning, times the square root of the number of
            /// inputs [default: 1]
            sigma: Option<f64> = None, in ranges::SIGMA,
            /// Learning rate of the standard deviations of mesu [default: 2.1]
            lr_sigma: Option<f64> = None, in ranges::LR_SIGMA,
            /// Standard deviation of the prior of mesu [default: 0.3]
            prior_sigma: Option<f64> = None, in ranges::PRIOR_SIGMA,
            /// Bound of the gradients of mesu times the standard deviation; 0 for none [default: 0.36]
            clip: Option<f64> = None, in ranges::CLIP,
        }
        "Measurements" {
            /// Predictors that are measured after every epoch; all four are measured after every task, unless
            /// --evaluate selects tasks
            predictor: Vec<Predictor> = vec![Predictor::Stochastic, Predictor::Hard],
            /// Number of passes (mean_field) or networks (sampled)
            draws: usize = 8, in ranges::DRAWS,
            /// When to measure accuracies: epoch, task, or for long streams, at a cost that does not grow,
            /// last:K (the last K tasks after every task) or curve:L (tasks 0, 1, 2, 3, 4, 5, 10, 20, 50, ...
            /// up to L steps back); every:N (all tasks so far after every N-th task)
            evaluate: Evaluate = Evaluate::Epoch,
            /// Dataset for the out-of-distribution test: separate its images from those of the tasks by
            /// confidence; 'none' disables the test
            ood: Option<String> = None,
        }
    }
}

options! {
    /// What a training writes besides its results.
    pub struct TrainingView {
        "Output" {
            /// Also write event files for TensorBoard into DIR/tensorboard
            tensorboard: bool = false,
        }
    }
}
