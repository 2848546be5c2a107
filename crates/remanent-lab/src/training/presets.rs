//! Configurations with a name.
//!
//! A learner's defaults are part of the learner. The presets of other authors' learners state only what differs from
//! them.

use toml::Table;

/// A configuration with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What `--preset` takes.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    text: &'static str,
}

/// All of them.
pub const PRESETS: [Preset; 12] = [
    Preset {
        name: "paper-permuted",
        about: "the paper's permuted MNIST, as its published script runs it",
        text: r#"
            stream = "permuted:mnist:5"
            learner = "vcl"
            hidden = [512, 512]
            beta_schedule = "tanh:10,0.1,2"
            epochs = 5
            train_images = 32000
        "#,
    },
    Preset {
        name: "paper-fashion-mnist",
        about: "the paper's Fashion-MNIST, then MNIST",
        text: r#"
            stream = "sequence:fashion-mnist,mnist"
            learner = "vcl"
            hidden = [400, 200]
            beta_schedule = "1,12.5"
            meta = [0.5, 0.9]
            epochs = 40
        "#,
    },
    Preset {
        name: "paper-mnist-fashion",
        about: "the paper's MNIST, then Fashion-MNIST",
        text: r#"
            stream = "sequence:mnist,fashion-mnist"
            learner = "vcl"
            hidden = [400, 200]
            beta_schedule = "1,17.5"
            meta = [0.5, 0.7]
            epochs = 40
        "#,
    },
    Preset {
        name: "metaplasticity-2021",
        about: "metaplasticity as published in 2021: modulated Adam steps, sign activations, batch norm",
        text: r#"
            learner = "metaplasticity"
            form = "original"
            optimizer = "adam"
            adam = [0.9, 0.999, 1e-8]
            activation = "sign"
            normalisation = "batch"
            lr = 0.005
            spread = 0.03
            batch = 100
            meta = 1.35
        "#,
    },
    Preset {
        name: "kirkpatrick",
        about: "elastic weight consolidation with the empirical Fisher information",
        text: r#"
            learner = "ewc"
            fisher = "empirical"
            beta_schedule = "2"
        "#,
    },
    Preset {
        name: "bayesbinn",
        about: "BayesBiNN on permuted MNIST, 100 epochs per task, as published in 2020",
        text: r#"
            learner = "bayesbinn"
            hidden = [100, 100]
            epochs = 100
            lr_schedule = "cosine"
            standardise = [0.1307, 0.3081]
            predictor = ["sampled", "hard"]
            draws = 100
        "#,
    },
    Preset {
        name: "bimu",
        about: "BiMU on 1000 tasks of permuted MNIST, online, as published in 2026",
        text: r#"
            learner = "bimu"
            hidden = [100]
            epochs = 1
            standardise = [0.1307, 0.3081]
            predictor = ["sampled", "hard"]
            draws = 5
        "#,
    },
    Preset {
        name: "si",
        about: "synaptic intelligence on permuted MNIST, 20 epochs per task, as published in 2017",
        text: r#"
            learner = "si"
            hidden = [2000, 2000]
            epochs = 20
            gamma = 0.1
            predictor = "hard"
        "#,
    },
    Preset {
        name: "mesu",
        about: "MESU on 200 tasks of permuted MNIST, online, as published in 2025",
        text: r#"
            learner = "mesu"
            hidden = [50]
            epochs = 1
            lr = 1.0
            lr_sigma = 1.0
            sigma = 2.0
            prior_sigma = 1.0
            clip = 0.0
            window = 300000
            predictor = ["sampled", "hard"]
            draws = 10
        "#,
    },
    Preset {
        name: "remanent",
        about: "the best settings found here: anchor at the last task, constant beta, learned scale",
        text: r#"
            learner = "vcl"
            anchor = "task"
            gamma = 0.1
            beta_schedule = "1"
            spread = 0.5
            lr = 0.04
            adam = [0.9, 0.999, 1e-8]
            output_scale = 20.0
            learned_scale = true
        "#,
    },
    // Chosen on validation images; figures/streams has the criterion and all runs.
    Preset {
        name: "stream",
        about: "long streams: steps by uncertainty, rate by the steps of a task, gamma by images and weights, a reserve of uncertain weights, uniform first prior, cosine rate",
        text: r#"
            learner = "vcl"
            anchor = "task"
            gamma = 2.5
            gamma_rule = "weights"
            first_prior = "uniform"
            reserve = 0.25
            beta_schedule = "1"
            spread = 0.5
            lr = 0.32
            lr_rule = "steps"
            lr_schedule = "cosine"
            adam = [0.9, 0.999, 1e-8]
            reset_moments = true
            metaplastic = true
            output_scale = 1.0
            learned_scale = true
            least_scale = 1.0
        "#,
    },
    Preset {
        name: "digits",
        about: "a short run without downloads: the built-in digits, permuted",
        text: r#"
            stream = "permuted:digits:3"
            learner = "vcl"
            hidden = [128, 128]
            epochs = 20
        "#,
    },
];

impl Preset {
    /// The preset of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// What it sets.
    pub fn table(&self) -> Table {
        // The texts are constants, and read in a test.
        self.text.parse().unwrap_or_default()
    }
}
