//! `remanent train`: networks that learn a stream of tasks.

mod files;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use remanent_lab::lists::Values;
use remanent_lab::plan::Plan;
use remanent_lab::training::{self, Material, Training, TrainingSummary, Trial, TrialRecord};
use remanent_network::predictor::Predictor;
use remanent_plot::Table;
use serde_json::{Value, json};

use crate::data;
use crate::experiment::{ExperimentArguments, Finished};
use crate::flags::{self, put, put_count, put_list, put_name, put_text};
use crate::output::{self, Format, Outcome, Output};

const EXAMPLES: &str = "\
Examples:
  remanent train --preset digits
  remanent train --stream permuted:mnist:5 --learner vcl --hidden 512,512 --epochs 40 --seeds 5 --out runs/perm
  remanent train --preset paper-permuted --seeds 5 --out runs/published
  remanent train --preset remanent --stream permuted:mnist:5 --train-images 32000 --epochs 5
  remanent train --stream permuted:digits:3 --learner ewc --scan gamma=0.01,0.1,1 --plot gamma.svg

The same command continues what was interrupted. Models are in DIR/models: see remanent inspect, export and
predict.";

/// Trains a network of binary weights on task after task.
///
/// What is printed is the mean over trials, with its standard error, for four ways of asking the
/// network: one stochastic pass (the paper's test), several of them averaged (mean_field), binary
/// networks sampled from the measure, and the hard binary network. Only the last two are binary.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Train {
    /// The tasks: permuted:DATASET:T, sequence:A,B, split:DATASET:CLASSES, or a file with a list
    #[arg(long)]
    stream: Option<String>,
    /// A named configuration, under all other flags: paper-permuted, paper-fashion-mnist,
    /// paper-mnist-fashion, metaplasticity-2021, kirkpatrick, remanent, digits
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// vcl, ewc, metaplasticity, ste (no protection) or joint (all tasks at once) [default: vcl]
    #[arg(long)]
    learner: Option<String>,
    /// Widths of the hidden layers [default: 512,512]
    #[arg(long, allow_hyphen_values = true)]
    hidden: Option<Values>,
    /// Epochs of each task: one number, or one for each [default: 5]
    #[arg(long, allow_hyphen_values = true)]
    epochs: Option<Values>,
    /// Images a step [default: 64]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    batch: Option<u32>,
    /// Learning rate [default: 0.01; 3 for metaplasticity as printed]
    #[arg(long, value_parser = flags::number, allow_hyphen_values = true)]
    lr: Option<f64>,
    /// Only the first so many training images of each task [default: all]
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    train_images: Option<u32>,
    /// Holds back the last so many training images and tests on them, not on the test set: what
    /// settings are to be chosen by
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    validation: Option<u32>,
    /// Only the first so many test images of each task [default: all]
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    test_images: Option<u32>,
    /// relu or sign [default: relu]
    #[arg(long, help_heading = "Network")]
    activation: Option<String>,
    /// Of preactivations: none, layer or batch [default: none]
    #[arg(long, help_heading = "Network")]
    normalisation: Option<String>,
    /// Factor of the logits [default: 1]
    #[arg(long, help_heading = "Network", value_parser = flags::number, allow_hyphen_values = true)]
    output_scale: Option<f64>,
    /// The factor of the logits is learned
    #[arg(long, help_heading = "Network")]
    learned_scale: bool,
    /// Standard deviation of the fields before learning [default: 1]
    #[arg(long, help_heading = "Network", value_parser = flags::number, allow_hyphen_values = true)]
    spread: Option<f64>,
    /// beta of vcl, ewc and joint: 2 or 1,12.5 (one a task), tanh:A,DELTA,B, or epochs:1,2,...
    /// [default: tanh:10,0.1,2]
    #[arg(long, allow_hyphen_values = true, help_heading = "Learner")]
    beta_schedule: Option<String>,
    /// What vcl and ewc are pulled towards: none, step, task or both [default: step for vcl, task
    /// for ewc]
    #[arg(long, help_heading = "Learner")]
    anchor: Option<String>,
    /// Factor of that pull [default: 1]
    #[arg(long, help_heading = "Learner", value_parser = flags::number, allow_hyphen_values = true)]
    gamma: Option<f64>,
    /// Information of ewc: variance (the paper's appendix) or empirical (Kirkpatrick et al.)
    /// [default: variance]
    #[arg(long, help_heading = "Learner")]
    fisher: Option<String>,
    /// metaplasticity as printed in the paper, or the original of 2021 [default: printed]
    #[arg(long, help_heading = "Learner")]
    form: Option<String>,
    /// m of metaplasticity: one, or one for each task [default: 0.43]
    #[arg(long, allow_hyphen_values = true, help_heading = "Learner")]
    meta: Option<Values>,
    /// adam or sgd [default: adam; sgd for metaplasticity as printed]
    #[arg(long, help_heading = "Learner")]
    optimizer: Option<String>,
    /// Asked after every epoch: stochastic, mean_field, sampled, hard; after every task all four are
    /// [default: stochastic,hard]
    #[arg(long, value_name = "LIST", help_heading = "Measurements")]
    predictor: Option<String>,
    /// Passes of mean_field, and networks of sampled [default: 8]
    #[arg(long, help_heading = "Measurements", value_parser = flags::count, allow_hyphen_values = true)]
    draws: Option<u32>,
    /// When accuracies are measured: after every epoch or every task [default: epoch]
    #[arg(long, help_heading = "Measurements")]
    evaluate: Option<String>,
    /// A dataset that no task has, to be told from the tasks by confidence; none for no such test
    #[arg(long, value_name = "DATASET", help_heading = "Measurements")]
    ood: Option<String>,
    /// Also writes event files for TensorBoard into DIR/tensorboard
    #[arg(long, help_heading = "Output")]
    tensorboard: bool,
    /// Folder of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR", help_heading = "Experiment")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    output: Output,
}

/// One case as it is reported.
struct Report {
    label: String,
    config: Value,
    summary: TrainingSummary,
    records: Vec<TrialRecord>,
    /// A step of one trial on one thread.
    seconds_per_step: Option<f64>,
    models: Vec<PathBuf>,
}

impl Train {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let plan = self.experiment.plan(self.flags(), "train", &training::KEYS)?;
        let trainings: Vec<Training> = plan
            .cases
            .iter()
            .map(|case| Training::from_table(&case.table))
            .collect::<Result<_, _>>()?;
        plan.refuse_equal(&trainings)?;
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        let materials = Material::load_all(&trainings.iter().collect::<Vec<_>>(), &cache)?;
        let trials: Vec<Trial> = trainings
            .iter()
            .zip(&materials)
            .flat_map(|(training, material)| {
                plan.trials().map(move |trial| Trial {
                    training,
                    material,
                    seed: trial.seed,
                    trial: trial.trial,
                })
            })
            .collect();
        let config = config(&plan, &trainings, &materials);
        remarks(&plan, &trainings, &materials);
        let Some(finished) = self.experiment.run("train", &config, &trials, quiet)? else {
            return Ok(Outcome::Done);
        };
        let (directory, is_read_only) = (finished.directory.clone(), finished.is_read_only);
        let reports = reports(&plan, &trainings, &materials, finished)?;
        let data = json(&reports);
        let named: Vec<(&str, &TrainingSummary)> =
            reports.iter().map(|report| (report.label.as_str(), &report.summary)).collect();
        let figure = || training::figure(&named, plan.title.as_deref());
        let records: Vec<&[TrialRecord]> =
            reports.iter().map(|report| report.records.as_slice()).collect();
        if !is_read_only {
            files::write(&directory, &data, &named, &records, &figure())?;
        }
        if self.tensorboard {
            files::write_events(&directory, &records)?;
            let folder = directory.join("tensorboard");
            output::remark(quiet, &format!("tensorboard --logdir {}", folder.display()));
        }
        self.output.emit(&data, |format| tables(&named, format), figure)?;
        Ok(Outcome::Done)
    }

    fn flags(&self) -> toml::Table {
        let mut flags = toml::Table::new();
        put_name(&mut flags, "stream", &self.stream);
        put_name(&mut flags, "preset", &self.preset);
        put_name(&mut flags, "learner", &self.learner);
        put_list(&mut flags, "hidden", &self.hidden);
        put_list(&mut flags, "epochs", &self.epochs);
        put_count(&mut flags, "batch", self.batch);
        put(&mut flags, "lr", self.lr);
        put_count(&mut flags, "train_images", self.train_images);
        put_count(&mut flags, "validation", self.validation);
        put_count(&mut flags, "test_images", self.test_images);
        put_name(&mut flags, "activation", &self.activation);
        put_name(&mut flags, "normalisation", &self.normalisation);
        put(&mut flags, "output_scale", self.output_scale);
        if self.learned_scale {
            flags.insert("learned_scale".into(), true.into());
        }
        put(&mut flags, "spread", self.spread);
        put_text(&mut flags, "beta_schedule", &self.beta_schedule);
        put_name(&mut flags, "anchor", &self.anchor);
        put(&mut flags, "gamma", self.gamma);
        put_name(&mut flags, "fisher", &self.fisher);
        put_name(&mut flags, "form", &self.form);
        put_list(&mut flags, "meta", &self.meta);
        put_name(&mut flags, "optimizer", &self.optimizer);
        put_name(&mut flags, "predictor", &self.predictor);
        put_count(&mut flags, "draws", self.draws);
        put_name(&mut flags, "evaluate", &self.evaluate);
        put_name(&mut flags, "ood", &self.ood);
        flags
    }
}

/// What all trials of the run have in common. Own images are told apart by their content: a run on
/// others is another run.
fn config(plan: &Plan, trainings: &[Training], materials: &[Material]) -> Value {
    let mut config = json!({
        "seed": plan.seed,
        "cases": trainings.iter().map(Training::to_json).collect::<Vec<_>>(),
    });
    if materials.iter().any(|material| !material.own().is_empty()) {
        config["data"] = materials.iter().map(|material| json!(material.own())).collect();
    }
    config
}

/// What the user may not have meant, each said once.
fn remarks(plan: &Plan, trainings: &[Training], materials: &[Material]) {
    let mut said: Vec<String> = Vec::new();
    let mut say = |text: String| {
        if !said.contains(&text) {
            output::say(&text);
            said.push(text);
        }
    };
    for ((case, training), material) in plan.cases.iter().zip(trainings).zip(materials) {
        if let Some(unused) = training::unused_of_preset(&case.table) {
            say(format!("note: {unused}"));
        }
        if let (Some(ood), Some(known)) = (&training.ood, material.stream_has_ood()) {
            say(format!(
                "warning: --ood {ood} is in the stream, as {known}: ood_auc does not tell how unknown \
                 images are recognised"
            ));
        }
    }
}

fn reports(
    plan: &Plan,
    trainings: &[Training],
    materials: &[Material],
    finished: Finished<Trial>,
) -> anyhow::Result<Vec<Report>> {
    let mut records = finished.records.into_iter();
    let mut steps = finished.step_seconds.chunks(plan.seeds);
    let mut models = finished.models.chunks(plan.seeds);
    let mut reports = Vec::new();
    for ((case, training), material) in plan.cases.iter().zip(trainings).zip(materials) {
        let records: Vec<TrialRecord> = records.by_ref().take(plan.seeds).collect();
        let summary = training::summarise(&records).context("a training without trials")?;
        let seconds: Option<f64> = steps.next().unwrap_or_default().iter().copied().sum();
        let made: u64 = records.iter().map(|record| record.steps).sum();
        let mut config = training.to_json();
        config["seed"] = plan.seed.into();
        config["seeds"] = plan.seeds.into();
        if !material.own().is_empty() {
            config["data"] = json!(material.own());
        }
        reports.push(Report {
            label: case.label(),
            config,
            summary,
            seconds_per_step: seconds.map(|seconds| seconds / made as f64),
            records,
            models: models.next().unwrap_or_default().to_vec(),
        });
    }
    Ok(reports)
}

fn json(reports: &[Report]) -> Value {
    let case = |report: &Report| {
        let mut value = json!(report.summary);
        value["config"] = report.config.clone();
        value["seconds_per_step"] = json!(report.seconds_per_step);
        value["threads"] = json!(rayon::current_num_threads());
        value["instructions"] = json!(report.records[0].instructions);
        let names = report.models.iter().map(|path| path.display().to_string());
        value["models"] = names.collect();
        if !report.label.is_empty() {
            value["label"] = json!(report.label);
        }
        value
    };
    match reports {
        [one] => case(one),
        many => json!({ "cases": many.iter().map(case).collect::<Vec<_>>() }),
    }
}

/// CSV is one table, so that any program can read it.
fn tables(named: &[(&str, &TrainingSummary)], format: Format) -> Vec<Table> {
    if format == Format::Csv {
        return vec![training::accuracy_table(named)];
    }
    let mut tables = vec![training::matrix_table(named, Predictor::Stochastic)];
    tables.push(training::matrix_table(named, Predictor::Hard));
    tables.push(training::summary_table(named));
    tables
}
