//! A training, read from its options and checked: the defaults of each learner.

use remanent_data::stream::{StreamError, StreamSpec};
use remanent_network::architecture::Normalisation;
use remanent_network::fading::Fading;
use remanent_network::learner::{Anchor, Fisher, Form, Learner, Optimizer, Parameters};
use remanent_network::network::Weights;
use remanent_network::parameters::ParameterError;
use remanent_network::predictor::Predictor;
use remanent_network::product::Precision;
use remanent_network::rivals::Rival;
use serde_json::{Value, json};
use thiserror::Error;
use toml::Table;

use crate::config;
use crate::options::{self, Options, Words};
use crate::training::evaluation::Evaluate;
use crate::training::options::TrainingOptions;
use crate::training::presets::Preset;
use crate::values::ValueError;

/// Raised whenever the same parameters give other numbers than before, so that records of
/// an earlier program are not taken for those of this one.
const REVISION: u32 = 4;
/// That of trainings with products in bfloat16, whose moments stay packed between steps.
const PACKED_REVISION: u32 = 3;
/// That of trainings whose weights have no variance: they leave out inputs that are zero.
const FIXED_REVISION: u32 = 5;
/// That of those among them whose divergence from the previous step is computed with packed variances. In single precision
/// it has the bits of the stored array, and the revision stays.
const RECALLED_REVISION: u32 = 4;

/// Why a configuration is no training.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainingError {
    /// A value of the wrong kind.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A number out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A stream that is not understood, or whose data is not there.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A key that changes nothing.
    #[error("{key} is not used by {of}; {cure}")]
    Meaningless {
        /// The key.
        key: String,
        /// The learner, anchor or optimiser.
        of: String,
        /// What to do.
        cure: &'static str,
    },
    /// Something else is invalid.
    #[error("{0}")]
    Other(String),
}

/// One case: the stream, the learner, and what is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// The tasks, e.g. `permuted:mnist:5`. If a file states them, these are its lines: what is written
    /// there later is another training.
    pub stream: String,
    /// How many of the first training images are used; all if none.
    pub train_images: Option<usize>,
    /// How many of the last training images are held back and tested on, instead of the test set.
    pub validation: Option<usize>,
    /// How many of the first test images are used; all if none.
    pub test_images: Option<usize>,
    /// Epochs of each task, or of all.
    pub epochs: Vec<usize>,
    /// Network and learner.
    pub parameters: Parameters,
    /// Predictors that are asked after every epoch; after every task all four are, unless only some tasks
    /// are measured.
    pub predictors: Vec<Predictor>,
    /// Passes or sampled networks of the predictors that average.
    pub draws: usize,
    /// When accuracies are measured, and of which tasks.
    pub evaluate: Evaluate,
    /// Images that no task has, to be told from those of the tasks: a dataset.
    pub ood: Option<String>,
}

impl Training {
    /// Reads and checks a case. The table overrides its preset.
    ///
    /// What the table sets and the learner does not use is refused. What a preset sets and the learner
    /// does not use has no effect: a preset may be taken with another learner than its own, and that of
    /// a comparison has values for several.
    pub fn from_table(table: &Table) -> Result<Self, TrainingError> {
        let options = TrainingOptions::read(&with_preset(table)?)?;
        let parameters = read_parameters(table)?;
        let stream = options.stream.as_deref().ok_or_else(|| {
            TrainingError::Other(
                "stream is missing; state the tasks, e.g. --stream permuted:mnist:5, or \
                 --stream permuted:digits:3, which needs no data"
                    .into(),
            )
        })?;
        if options.evaluate.is_sparse() && parameters.learner == Learner::Joint {
            return Err(TrainingError::Other(format!(
                "evaluate = {} selects tasks by when they were learned, and joint learns all at once; \
                 choose task or epoch",
                options.evaluate
            )));
        }
        Ok(Self {
            stream: written_out(stream)?,
            train_images: options.train_images,
            validation: options.validation,
            test_images: options.test_images,
            epochs: options.epochs,
            parameters,
            predictors: options.predictor,
            draws: options.draws,
            evaluate: options.evaluate,
            // A word, so that one layer of the configuration can take back what another says.
            ood: options.ood.filter(|name| name != "none"),
        })
    }

    /// Fails unless it fits a stream of this number of tasks.
    pub fn check(&self, tasks: usize) -> Result<(), TrainingError> {
        let given = self.epochs.len();
        let joint = self.parameters.learner == Learner::Joint;
        let phases = if joint { 1 } else { tasks };
        if given != 1 && given != phases {
            let what = if joint {
                "all tasks at once need one".into()
            } else if tasks == 1 {
                "one task needs one".into()
            } else {
                format!("{tasks} tasks need one or {tasks}")
            };
            return Err(TrainingError::Other(format!("epochs has {given} values, but {what}")));
        }
        let total = (0..phases).map(|t| self.epochs[t.min(given - 1)]).sum();
        Ok(self.parameters.check(phases, total)?)
    }

    /// The stream, as it is written.
    pub fn spec(&self) -> Result<StreamSpec, TrainingError> {
        Ok(StreamSpec::read(&self.stream)?)
    }

    /// Predictors that are asked after every task.
    pub(crate) fn predictors_after_task(&self) -> &[Predictor] {
        if self.evaluate.is_sparse() { &self.predictors } else { &Predictor::ALL }
    }

    fn revision(&self) -> u32 {
        let spread =
            self.parameters.weights() == Weights::Field && !self.parameters.samples_weights();
        match self.parameters.precision {
            Precision::F32 if spread => REVISION,
            Precision::F32 => FIXED_REVISION,
            Precision::Bf16 if self.parameters.recalls_steps() => RECALLED_REVISION,
            Precision::Bf16 => PACKED_REVISION,
        }
    }

    /// Everything the results depend on, defaults included.
    pub fn key(&self) -> Value {
        let mut value = json!({
            "revision": self.revision(),
            "stream": self.stream,
            "train_images": self.train_images,
            "validation": self.validation,
            "test_images": self.test_images,
            "epochs": self.epochs,
            "predictor": self.predictors,
            "draws": self.draws,
            "evaluate": self.evaluate.to_string(),
            "ood": self.ood,
        });
        if let (Value::Object(all), Value::Object(own)) = (&mut value, json!(self.parameters)) {
            all.extend(own);
        }
        value
    }
}

/// The tasks themselves: a text as it is, or the lines of the file that it names.
fn written_out(stream: &str) -> Result<String, TrainingError> {
    if StreamSpec::is_written_out(stream) {
        return Ok(stream.to_owned());
    }
    let spec = StreamSpec::read(stream)?;
    let text = spec.to_string();
    // A path with a comma in it reads back as two.
    match StreamSpec::read(&text) {
        Ok(again) if again == spec => Ok(text),
        _ => Err(TrainingError::Other(format!(
            "the tasks of {stream} name data by paths with commas, colons or '#' in them; rename the \
             folder or the files"
        ))),
    }
}

fn with_preset(table: &Table) -> Result<Table, TrainingError> {
    let preset: Option<&Preset> = options::read_or(table, "preset", None, None)?;
    let mut merged = preset.map(Preset::table).unwrap_or_default();
    config::merge(&mut merged, table.clone());
    Ok(merged)
}

/// Network and learner of a case, which need not say what is learned.
pub fn read_parameters(table: &Table) -> Result<Parameters, TrainingError> {
    let options = TrainingOptions::read(&with_preset(table)?)?;
    let parameters = parameters(&options)?;
    refuse_meaningless(table, &parameters)?;
    Ok(parameters)
}

fn parameters(options: &TrainingOptions) -> Result<Parameters, TrainingError> {
    let given = options.clone();
    let learner = options.learner;
    let default = Parameters::of(learner);
    let adam = match given.adam {
        None => default.adam,
        Some(list) => list.try_into().map_err(|list: Vec<f64>| {
            let expected = "b1, b2 and epsilon, e.g. [0.9, 0.99, 1e-8]";
            ValueError::new("adam", &list.into(), expected)
        })?,
    };
    let standardise = match given.standardise {
        None => default.standardise,
        Some(list) => Some(list.try_into().map_err(|list: Vec<f64>| {
            let expected = "mean and standard deviation of the pixels, e.g. [0.1307, 0.3081]";
            ValueError::new("standardise", &list.into(), expected)
        })?),
    };
    // A preset may be taken with another learner, which does not have its parameters.
    let own = default.rival;
    let uses = |key: &str| users(key).contains(&learner);
    let form = given.form.unwrap_or(default.form);
    // The original modulates steps of Adam.
    let adam_by_form = learner == Learner::Metaplasticity && form == Form::Original;
    let optimizer = if adam_by_form { Optimizer::Adam } else { default.optimizer };
    let lr = if adam_by_form { Parameters::of(Learner::Ste).lr } else { default.lr };
    let learned_scale = given.learned_scale.unwrap_or(default.learned_scale);
    let window = given.window.or(default.window);
    // One gamma is that of whatever anchor there is.
    let gamma = |own: Option<f64>, default: f64| own.or(given.gamma).unwrap_or(default);
    Ok(Parameters {
        learner,
        hidden: given.hidden.unwrap_or(default.hidden),
        activation: given.activation.unwrap_or(default.activation),
        normalisation: given.normalisation.unwrap_or(default.normalisation),
        output_scale: given.output_scale.unwrap_or(default.output_scale),
        learned_scale,
        least_scale: if learned_scale { given.least_scale } else { 0.0 },
        spread: given.spread.unwrap_or(default.spread),
        batch: given.batch.unwrap_or(default.batch),
        lr: given.lr.unwrap_or(lr),
        lr_rule: given.lr_rule,
        lr_schedule: given.lr_schedule,
        optimizer: given.optimizer.unwrap_or(optimizer),
        adam,
        metaplastic: given.metaplastic && has_beta(learner),
        beta: given.beta_schedule.unwrap_or(default.beta),
        anchor: given.anchor.unwrap_or(default.anchor),
        gamma_step: gamma(given.gamma_step, default.gamma_step),
        gamma_task: gamma(given.gamma_task, default.gamma_task),
        gamma_rule: given.gamma_rule,
        first_prior: given.first_prior,
        fading: Fading {
            lambda: given.lambda,
            rho: given.rho,
            reserve: given.reserve,
            horizon: given.horizon,
        },
        reset_fields: given.reset_fields,
        reset_moments: given.reset_moments && learner != Learner::Joint && window.is_none(),
        window,
        fisher: given.fisher.unwrap_or(default.fisher),
        form,
        meta: given.meta.unwrap_or(default.meta),
        standardise,
        precision: given.precision,
        rival: Rival {
            samples: given.samples.filter(|_| uses("samples")).or(own.samples),
            temperature: given.temperature.filter(|_| uses("temperature")).or(own.temperature),
            likelihood: given.likelihood.filter(|_| uses("likelihood")).or(own.likelihood),
            kl: given.kl.filter(|_| uses("kl")).or(own.kl),
            max_rate: given.max_rate.filter(|_| uses("max_rate")).or(own.max_rate),
            prior_strength: given
                .prior_strength
                .filter(|_| uses("prior_strength"))
                .or(own.prior_strength),
            damping: given.damping.filter(|_| uses("damping")).or(own.damping),
            sigma: given.sigma.filter(|_| uses("sigma")).or(own.sigma),
            lr_sigma: given.lr_sigma.filter(|_| uses("lr_sigma")).or(own.lr_sigma),
            prior_sigma: given.prior_sigma.filter(|_| uses("prior_sigma")).or(own.prior_sigma),
            clip: given.clip.filter(|_| uses("clip")).or(own.clip),
        },
    })
}

/// The learners of other authors that use a key of theirs.
fn users(key: &str) -> &'static [Learner] {
    match key {
        "samples" => &[Learner::BayesBinn, Learner::Bimu, Learner::Mesu],
        "temperature" | "likelihood" => &[Learner::BayesBinn, Learner::Bimu],
        "kl" | "max_rate" => &[Learner::Bimu],
        "prior_strength" => &[Learner::BayesBinn],
        "damping" => &[Learner::Si],
        "sigma" | "lr_sigma" | "prior_sigma" | "clip" => &[Learner::Mesu],
        _ => &[],
    }
}

/// Whether the fields of the weights are learned by gradients.
fn has_beta(learner: Learner) -> bool {
    matches!(learner, Learner::Vcl | Learner::Ewc | Learner::Joint)
}

/// Why a key changes nothing, if that is so: what has no use for it, and what to do.
fn meaningless(key: &str, parameters: &Parameters) -> Option<(String, &'static str)> {
    let Parameters { learner, anchor, .. } = parameters;
    let of_learner = |cure| Some((format!("the learner {}", learner.word()), cure));
    let of_anchor = |cure| Some((format!("the anchor {}", anchor.word()), cure));
    let is_pulled = matches!(learner, Learner::Vcl | Learner::Ewc);
    // The factor of the logits and batch normalisation learn by Adam, whatever the weights do.
    let uses_adam = parameters.optimizer == Optimizer::Adam
        || parameters.learned_scale
        || parameters.normalisation == Normalisation::Batch;
    match key {
        "samples" | "temperature" | "likelihood" | "kl" | "max_rate" | "prior_strength"
        | "damping" | "sigma" | "lr_sigma" | "prior_sigma" | "clip"
            if !users(key).contains(learner) =>
        {
            of_learner(match key {
                "samples" => "bayesbinn, bimu and mesu sample weights",
                "temperature" | "likelihood" => "bayesbinn and bimu have it",
                "kl" | "max_rate" => "only bimu has it",
                "prior_strength" => "only bayesbinn has it",
                "damping" => "only si has it",
                _ => "only mesu has it",
            })
        }
        "optimizer" if parameters.samples_weights() => of_learner("it has a step of its own"),
        "gamma" if *learner == Learner::Si => None,
        "window" if matches!(learner, Learner::Bimu | Learner::Mesu) => None,
        "beta_schedule" if !has_beta(*learner) => of_learner("vcl, ewc and joint have a beta"),
        "metaplastic" if !has_beta(*learner) => of_learner("vcl, ewc and joint have it"),
        "anchor" | "gamma" | "gamma_step" | "gamma_task" if !is_pulled => {
            of_learner(if key == "gamma" {
                "vcl, ewc and si are pulled to the last task"
            } else {
                "vcl and ewc have anchors"
            })
        }
        "gamma" if *anchor == Anchor::None => of_anchor("choose the anchor step, task or both"),
        "gamma_step" if !anchor.steps() => of_anchor("choose the anchor step or both"),
        "gamma_task" if !anchor.tasks() => of_anchor("choose the anchor task or both"),
        "gamma_rule" if *learner != Learner::Vcl => of_learner("only vcl has it"),
        "gamma_rule" if !anchor.tasks() => of_anchor("choose the anchor task or both"),
        "first_prior" | "lambda" | "rho" | "reserve" | "horizon" | "reset_fields" | "window" => {
            fading(key, parameters)
        }
        "fisher" if *learner != Learner::Ewc => of_learner("only ewc has it"),
        "form" | "meta" if *learner != Learner::Metaplasticity => {
            of_learner("only metaplasticity has it")
        }
        "adam" if !uses_adam && parameters.samples_weights() => {
            of_learner("it has a step of its own")
        }
        "reset_moments" if !uses_adam => {
            Some(("the optimizer sgd".into(), "choose the optimizer adam"))
        }
        "reset_moments" if *learner == Learner::Joint => of_learner("it has one task"),
        "reset_moments" if parameters.window.is_some() => {
            Some(("a learner with a window".into(), "it does not know of switches"))
        }
        "least_scale" if !parameters.learned_scale => {
            Some(("a constant factor of the logits".into(), "set learned_scale"))
        }
        "precision" if parameters.batch == 1 => {
            Some(("a batch of 1".into(), "its steps have no matrix products and are f32"))
        }
        "adam" if !uses_adam => Some(("the optimizer sgd".into(), "choose the optimizer adam")),
        _ => None,
    }
}

/// The same for the options of an anchor that fades.
fn fading(key: &str, parameters: &Parameters) -> Option<(String, &'static str)> {
    let Parameters { learner, anchor, fisher, window, .. } = parameters;
    match learner {
        Learner::Vcl if !anchor.tasks() => {
            Some((format!("the anchor {}", anchor.word()), "choose the anchor task or both"))
        }
        Learner::Vcl
            if window.is_some()
                && matches!(key, "first_prior" | "reserve" | "horizon" | "reset_fields") =>
        {
            let cure = "with a window there are no switches, and the first prior is uniform";
            Some(("an anchor with a window".into(), cure))
        }
        Learner::Vcl => None,
        Learner::Ewc if key == "rho" && *fisher == Fisher::Online => None,
        Learner::Ewc if key == "rho" => {
            Some((format!("the Fisher information {}", fisher.word()), "choose the fisher online"))
        }
        _ => {
            let window = "vcl, bimu and mesu have a window";
            let cure = if key == "window" { window } else { "only anchors of vcl fade" };
            Some((format!("the learner {}", learner.word()), cure))
        }
    }
}

/// A key that changes nothing is a mistake, and a scan over it prints the same case again and again.
fn refuse_meaningless(table: &Table, parameters: &Parameters) -> Result<(), TrainingError> {
    for key in table.keys() {
        if let Some((of, cure)) = meaningless(key, parameters) {
            let key = key.clone();
            return Err(TrainingError::Meaningless { key, of, cure });
        }
    }
    // Where every factor of the anchor has its own value, none is left for gamma.
    let anchor = parameters.anchor;
    let factors = [("gamma_step", anchor.steps()), ("gamma_task", anchor.tasks())];
    if table.contains_key("gamma")
        && parameters.learner != Learner::Si
        && factors.iter().all(|(key, is_used)| !is_used || table.contains_key(*key))
    {
        let (key, cure) = ("gamma".to_owned(), "leave it out, or the factor that replaces it");
        let of = format!("the anchor {} with a factor of its own", anchor.word());
        return Err(TrainingError::Meaningless { key, of, cure });
    }
    Ok(())
}

/// What a preset sets and the learner that was chosen instead of its own does not use, in words.
pub fn unused_of_preset(table: &Table) -> Option<String> {
    let preset = Preset::find(table.get("preset")?.as_str()?)?;
    let chosen = table.get("learner")?.as_str()?;
    let own = preset.table();
    if own.get("learner").and_then(toml::Value::as_str) == Some(chosen) {
        return None;
    }
    let parameters = Training::from_table(table).ok()?.parameters;
    let unused = own.keys().filter(|key| !table.contains_key(*key));
    let unused: Vec<&str> =
        unused.filter(|key| meaningless(key, &parameters).is_some()).map(String::as_str).collect();
    (!unused.is_empty()).then(|| {
        let (name, list) = (preset.name, unused.join(", "));
        format!("{list} of the preset {name} has no effect: the learner is {chosen}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::presets::PRESETS;

    fn read(text: &str) -> Result<Training, String> {
        Training::from_table(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn presets_are_read_and_lie_under_the_table() {
        for preset in PRESETS {
            let text = format!("stream = 'permuted:digits:2'\npreset = '{}'", preset.name);
            let training = read(&text).unwrap();
            assert_eq!(training.stream, "permuted:digits:2");
            assert!(!preset.table().is_empty(), "{}", preset.name);
        }
        let training = read("preset = 'paper-permuted'\nepochs = 7").unwrap();
        assert_eq!((training.epochs, training.train_images), (vec![7], Some(32_000)));
    }

    /// The values of a preset lie under everything, also where another learner has no use for them.
    #[test]
    fn a_preset_may_be_taken_with_any_learner() {
        let stream = "stream = 'permuted:digits:2'";
        for preset in PRESETS {
            for learner in Learner::WORDS.iter().map(|word| word.name) {
                let text = format!("{stream}\npreset = '{}'\nlearner = '{learner}'", preset.name);
                let training = read(&text).unwrap();
                assert_eq!(training.parameters.learner.word(), learner);
            }
        }
        let unused = |text: &str| unused_of_preset(&format!("{stream}\n{text}").parse().unwrap());
        let told = unused("preset = 'remanent'\nlearner = 'ste'").unwrap();
        assert!(told.contains("anchor, beta_schedule, gamma of the preset remanent"), "{told}");
        assert!(told.contains("ste"), "{told}");
        for text in [
            "preset = 'remanent'",
            "preset = 'remanent'\nlearner = 'vcl'",
            "preset = 'paper-fashion-mnist'",
            "preset = 'digits'\nlearner = 'ste'",
            "learner = 'ste'",
        ] {
            assert_eq!(unused(text), None, "{text}");
        }
        // What a preset says of metaplasticity is no number of the tasks of another learner.
        let training = read(
            "preset = 'paper-fashion-mnist'\nstream = 'permuted:digits:3'\nbeta_schedule = '1'",
        );
        training.unwrap().check(3).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let stream = "stream = 'permuted:digits:2'\n";
        for (text, told) in [
            ("learner = 'vlc'", "did you mean 'vcl'?"),
            ("preset = 'remanant'", "did you mean 'remanent'?"),
            ("beta_schedule = 'tanh:1'", "tanh:10,0.1,2"),
            ("predictor = 'hart'", "did you mean 'hard'?"),
            ("adam = [0.9]", "adam"),
            ("epochs = 0", "epochs = 0"),
            ("draws = 0", "draws = 0"),
            ("hidden = [0]", "hidden = 0 is out of range"),
            ("anchor = 'task'\nlambda = 1.1", "lambda = 1.1 is out of range"),
            ("beta_schedule = '1,0'", "beta_schedule = 0 is out of range"),
            ("anchor = 'tsak'", "did you mean 'task'?"),
            ("learner = 'ste'\nanchor = 'task'", "vcl and ewc"),
            ("learner = 'ste'\nanchor = 'none'", "anchor is not used by the learner ste"),
            ("learner = 'ste'\ngamma = 1", "gamma is not used by the learner ste"),
            ("learner = 'bimu'\ngamma = 1", "gamma is not used by the learner bimu"),
            ("learner = 'bimu'\noptimizer = 'adam'", "a step of its own"),
            ("learner = 'bimu'\nbeta_schedule = '2'", "vcl, ewc and joint"),
            ("learner = 'bimu'\nprior_strength = 1", "only bayesbinn"),
            ("learner = 'bayesbinn'\nwindow = 9", "window is not used by the learner bayesbinn"),
            ("learner = 'bayesbinn'\nkl = 1", "only bimu"),
            ("learner = 'si'\nsamples = 2", "bayesbinn, bimu and mesu"),
            ("learner = 'si'\nanchor = 'task'", "vcl and ewc"),
            ("learner = 'mesu'\ntemperature = 1", "bayesbinn and bimu"),
            ("learner = 'sgd'\ndamping = 1", "only si"),
            ("learner = 'vcl'\nclip = 1", "only mesu"),
            ("standardise = [0.1]", "mean and standard deviation"),
            ("learner = 'ste'\nbeta_schedule = '2'", "vcl, ewc and joint"),
            ("learner = 'ste'\nmeta = 0.5", "only metaplasticity"),
            ("learner = 'metaplasticity'\nbeta_schedule = '2'", "vcl, ewc and joint"),
            ("learner = 'metaplasticity'\nadam = [0.9, 0.99, 1e-8]", "the optimizer sgd"),
            ("learner = 'joint'\nanchor = 'task'", "anchor is not used by the learner joint"),
            ("learner = 'joint'\ngamma_task = 1", "gamma_task is not used by"),
            ("learner = 'vcl'\nmeta = 0.5", "only metaplasticity"),
            ("learner = 'vcl'\nform = 'original'", "only metaplasticity"),
            ("fisher = 'empirical'", "only ewc"),
            ("anchor = 'none'\ngamma = 1", "gamma is not used by the anchor none"),
            ("gamma_task = 1", "gamma_task is not used by the anchor step"),
            ("anchor = 'task'\ngamma_step = 1", "choose the anchor step or both"),
            ("preset = 'remanent'\nlearner = 'ste'\ngamma = 1", "gamma is not used by"),
            ("gamma = 1\ngamma_step = 2", "the factor that replaces it"),
            ("lambda = 0.9", "lambda is not used by the anchor step"),
            ("learner = 'ste'\nwindow = 100", "vcl, bimu and mesu have a window"),
            ("learner = 'ste'\nlambda = 0.5", "only anchors of vcl fade"),
            ("anchor = 'task'\nwindow = 9\nfirst_prior = 'uniform'", "an anchor with a window"),
            ("gamma_rule = 'weights'", "gamma_rule is not used by the anchor step"),
            ("learner = 'ewc'\ngamma_rule = 'weights'", "only vcl"),
            ("learner = 'ste'\nmetaplastic = true", "vcl, ewc and joint have it"),
            ("horizon = 3", "horizon is not used by the anchor step"),
            ("learner = 'joint'\nreset_moments = true", "it has one task"),
            ("optimizer = 'sgd'\nreset_moments = true", "choose the optimizer adam"),
            ("anchor = 'task'\nwindow = 9\nreset_moments = true", "does not know of switches"),
            ("least_scale = 0.1", "least_scale is not used by a constant factor of the logits"),
            ("learner = 'ewc'\nrho = 0.5", "choose the fisher online"),
            ("batch = 1\nprecision = 'bf16'", "precision is not used by a batch of 1"),
            ("precision = 'bf61'", "did you mean 'bf16'?"),
            ("lr_schedule = 'cosin'", "did you mean 'cosine'?"),
        ] {
            let message = read(&format!("{stream}{text}")).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
        assert!(read("learner = 'vcl'").unwrap_err().contains("stream is missing"));
        let training = read(&format!("{stream}epochs = [1, 2, 3]")).unwrap();
        assert!(training.check(2).is_err());
        for (wrong, name) in
            [("[1, 0.99, 1e-8]", "b1"), ("[0.9, -1, 1e-8]", "b2"), ("[0.9, 0.99, 0]", "epsilon")]
        {
            let training = read(&format!("{stream}adam = {wrong}")).unwrap();
            assert!(training.check(2).unwrap_err().to_string().contains(name), "{wrong}");
        }
    }

    /// Records of programs without these options are found again.
    #[test]
    fn values_that_change_nothing_are_not_part_of_the_key() {
        let text = "stream = 'permuted:digits:2'\nanchor = 'task'\n";
        let plain = read(text).unwrap().key();
        let neutral = "lr_schedule = 'constant'\nlr_rule = 'constant'\nfirst_prior = 'none'\nlambda = 1.0\nrho = 1.0\nreserve = 0.0\n\
                       reset_fields = false\nprecision = 'f32'\ngamma_rule = 'constant'\n\
                       metaplastic = false\nreset_moments = false";
        assert_eq!(read(&format!("{text}{neutral}")).unwrap().key(), plain);
        for other in [
            "lambda = 0.9",
            "gamma_rule = 'weights'",
            "metaplastic = true",
            "reset_moments = true",
            "lr_rule = 'batch'",
            "lr_rule = 'steps'",
            "rho = 0.9",
            "reserve = 0.5",
            "horizon = 3",
            "lr_schedule = 'cosine'",
            "window = 7",
            "precision = 'bf16'",
        ] {
            assert_ne!(read(&format!("{text}{other}")).unwrap().key(), plain, "{other}");
        }
    }
}
