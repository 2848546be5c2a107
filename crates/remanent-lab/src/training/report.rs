//! What is shown of a training, and what it leaves in its run directory besides records and models.

use std::fs;
use std::path::{Path, PathBuf};

use remanent_network::predictor::Predictor;
use remanent_perceptron::randomness;
use remanent_plot::{Figure, Table};
use remanent_store::atomic;
use remanent_store::files::FileError;
use serde_json::{Value, json};
use toml::Table as Config;

use crate::experiment::{Computed, Detail, Error, Experiment, Note, Report, Resources};
use crate::tensorboard;
use crate::training::{
    self, Material, Training, TrainingOptions, TrainingSummary, TrainingView, Trial, TrialRecord,
    unused_of_preset,
};

impl Experiment for Training {
    const NAME: &'static str = "train";
    const UNIT: &'static str = "steps";

    type Options = TrainingOptions;
    type View = TrainingView;
    type Material = Material;
    type Record = TrialRecord;
    type Cell<'a> = Trial<'a>;
    type Report = TrainingReport;

    fn read(table: &Config) -> Result<Self, Error> {
        Ok(Self::from_table(table)?)
    }

    fn prepare(cases: &[Self], resources: &Resources) -> Result<Vec<Material>, Error> {
        let missing = || Error::Other("there is no folder for the cache of datasets".into());
        let cache = resources.cache.as_ref().ok_or_else(missing)?;
        Ok(Material::load_all(&cases.iter().collect::<Vec<_>>(), cache)?)
    }

    fn cell<'a>(&'a self, material: &'a Material, trial: randomness::Trial) -> Trial<'a> {
        let randomness::Trial { seed, trial } = trial;
        Trial { training: self, material, seed, trial }
    }

    fn to_json(&self) -> Value {
        self.key()
    }

    /// The user's own images are known by their content: a run on others is another run.
    fn config(seed: u64, cases: &[Self], materials: &[Material]) -> Value {
        let cases: Vec<Value> = cases.iter().map(Self::to_json).collect();
        let mut config = json!({"seed": seed, "cases": cases});
        if materials.iter().any(|material| !material.own().is_empty()) {
            config["data"] = materials.iter().map(|material| json!(material.own())).collect();
        }
        config
    }

    fn warnings(&self, given: &Config, material: &Material) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(unused_of_preset(given).map(|unused| format!("note: {unused}")));
        if let (Some(ood), Some(known)) = (&self.ood, material.stream_has_ood()) {
            warnings.push(format!(
                "warning: --ood {ood} is in the stream, as {known}: ood_auc does not \
                 measure the detection of unknown images"
            ));
        }
        if !self.parameters.precision.has_instructions() {
            warnings.push(
                "note: this processor has no instructions for bf16: training takes more time than in \
                 single precision (--precision f32)"
                    .into(),
            );
        }
        warnings
    }

    fn report(run: Computed<'_, Self>, view: &TrainingView) -> Result<TrainingReport, Error> {
        TrainingReport::new(run, view)
    }
}

/// What is shown of a training.
pub struct TrainingReport {
    cases: Vec<CaseReport>,
    title: Option<String>,
    tensorboard: Option<PathBuf>,
}

struct CaseReport {
    label: String,
    config: Value,
    summary: TrainingSummary,
    records: Vec<TrialRecord>,
    /// A step of one trial on one thread.
    seconds_per_step: Option<f64>,
    models: Vec<PathBuf>,
}

impl TrainingReport {
    fn new(run: Computed<'_, Training>, view: &TrainingView) -> Result<Self, Error> {
        let prepared = run.prepared;
        let plan = &prepared.plan;
        let mut records = run.cells.records.into_iter();
        let mut steps = run.cells.step_seconds.chunks(plan.seeds);
        let mut models = run.cells.models.chunks(plan.seeds);
        let mut cases = Vec::new();
        let each = plan.cases.iter().zip(&prepared.cases).zip(&prepared.materials);
        for ((case, training), material) in each {
            let records: Vec<TrialRecord> = records.by_ref().take(plan.seeds).collect();
            let summary = training::summarise(&records)
                .ok_or_else(|| Error::Other("a training without trials".into()))?;
            let seconds: Option<f64> = steps.next().unwrap_or_default().iter().copied().sum();
            let made: u64 = records.iter().map(|record| record.steps).sum();
            let mut config = training.key();
            config["seed"] = plan.seed.into();
            config["seeds"] = plan.seeds.into();
            if !material.own().is_empty() {
                config["data"] = json!(material.own());
            }
            cases.push(CaseReport {
                label: case.label(),
                config,
                summary,
                seconds_per_step: seconds.map(|seconds| seconds / made as f64),
                records,
                models: models.next().unwrap_or_default().to_vec(),
            });
        }
        let tensorboard = view.tensorboard.then(|| run.cells.directory.join("tensorboard"));
        Ok(Self { cases, title: plan.title.clone(), tensorboard })
    }

    fn named(&self) -> Vec<(&str, &TrainingSummary)> {
        self.cases.iter().map(|case| (case.label.as_str(), &case.summary)).collect()
    }
}

impl CaseReport {
    fn json(&self) -> Value {
        let mut value = json!(self.summary);
        value["config"] = self.config.clone();
        value["seconds_per_step"] = json!(self.seconds_per_step);
        value["threads"] = json!(rayon::current_num_threads());
        value["instructions"] = json!(self.records[0].instructions);
        let names = self.models.iter().map(|path| path.display().to_string());
        value["models"] = names.collect();
        if !self.label.is_empty() {
            value["label"] = json!(self.label);
        }
        value
    }
}

impl Report for TrainingReport {
    fn json(&self) -> Value {
        match &self.cases[..] {
            [one] => one.json(),
            many => json!({ "cases": many.iter().map(CaseReport::json).collect::<Vec<_>>() }),
        }
    }

    fn tables(&self, detail: Detail) -> Vec<Table> {
        let named = self.named();
        if detail == Detail::Full {
            return vec![training::accuracy_table(&named)];
        }
        let tables = vec![
            training::matrix_table(&named, Predictor::Stochastic),
            training::matrix_table(&named, Predictor::Hard),
            training::memory_table(&named),
            training::summary_table(&named),
        ];
        // Matrices, or memory curves.
        tables.into_iter().filter(|table| !table.rows().is_empty()).collect()
    }

    fn figure(&self) -> Figure {
        training::figure(&self.named(), self.title.as_deref())
    }

    fn notes(&self) -> Vec<Note> {
        let events = self.tensorboard.iter();
        let text = events.map(|folder| format!("tensorboard --logdir {}", folder.display()));
        text.map(|text| Note { text, always: false }).collect()
    }

    /// `summary.json`, `summary.csv`, `accuracy.csv`, `epochs.csv`, `results.npz` and `training.svg`.
    fn write_files(&self, directory: &Path) -> Result<(), FileError> {
        let named = self.named();
        let trials: Vec<&[TrialRecord]> =
            self.cases.iter().map(|case| case.records.as_slice()).collect();
        let put = |name: &str, bytes: &[u8]| atomic::write(&directory.join(name), &[bytes]);
        put("summary.json", format!("{:#}\n", self.json()).as_bytes())?;
        put("summary.csv", training::summary_table(&named).to_csv().as_bytes())?;
        put("accuracy.csv", training::accuracy_table(&named).to_csv().as_bytes())?;
        put("epochs.csv", training::epoch_table(&named).to_csv().as_bytes())?;
        let npz = directory.join("results.npz");
        let packed = training::results_npz(&trials).map_err(FileError::new("write", &npz))?;
        put("results.npz", &packed)?;
        put("training.svg", self.figure().to_svg().as_bytes())?;
        match &self.tensorboard {
            Some(folder) => write_events(folder, &trials),
            None => Ok(()),
        }
    }
}

/// `trial-0/events…` for every trial; with several cases a folder `case-1` and so on for each.
fn write_events(folder: &Path, cases: &[&[TrialRecord]]) -> Result<(), FileError> {
    for (case, trials) in cases.iter().enumerate() {
        let mut folder = folder.to_owned();
        if cases.len() > 1 {
            folder.push(format!("case-{}", case + 1));
        }
        for (number, trial) in trials.iter().enumerate() {
            let folder = folder.join(format!("trial-{number}"));
            fs::create_dir_all(&folder).map_err(FileError::new("create", &folder))?;
            atomic::sweep_own(&folder)?;
            atomic::write(&folder.join(tensorboard::FILE_NAME), &[&training::events(trial)])?;
        }
    }
    Ok(())
}
