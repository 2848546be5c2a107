//! `remanent predict`: what a trained network says about images.

use std::path::PathBuf;
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use remanent_data::dataset::View;
use remanent_data::images::Images;
use remanent_data::sources::Cache;
use remanent_data::stream::{StreamSpec, Task};
use remanent_lab::training::{self, TrainingError};
use remanent_network::binary::{BinaryNetwork, Workspace};
use remanent_network::metrics::{self, Scores, most_probable};
use remanent_network::predictor::{Predictor, Probabilities, predict, test_stream};
use remanent_network::ranges::DRAWS;
use remanent_plot::{Cell, Table};
use serde_json::{Value, json};

use crate::data;
use crate::flags;
use crate::model::{self, Choice, Model};
use crate::output::{self, Format, Outcome, UsageError};

/// Rows of the table.
const SHOWN: usize = 20;
/// Images that one thread takes at once.
const BATCH: usize = 64;

const EXAMPLES: &str = "\
Examples:
  remanent predict perm.rbin mnist --task 2 --stream permuted:mnist:5
  remanent predict runs/perm mnist --task 2 --trial 1 --predictor mean_field
  remanent predict model.safetensors my.npz --format csv > answers.csv";

/// Predict labels of images with a trained network: classes, probabilities, accuracy
///
/// The default is the hard binary network, evaluated directly from its bits. For a network that
/// learned permuted pixels, give the task of the images with --task.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// A model (.safetensors or .rbin), or a run directory
    model: PathBuf,
    /// Images: the name or directory of a dataset (its test part), an idx file of images, or an .npz
    /// file with x and optionally y
    data: String,
    /// Use only the first N images [default: all]
    #[arg(long, value_name = "N", value_parser = flags::size, allow_hyphen_values = true)]
    limit: Option<usize>,
    /// Whether to use the labels in the data
    #[arg(long, value_enum, default_value_t)]
    labels: Labels,
    /// Predictor [default: hard]
    #[arg(long, value_parser = predictor_parser())]
    predictor: Option<Predictor>,
    /// Number of passes (mean_field) or networks (sampled)
    #[arg(long, default_value_t = 8, value_parser = flags::size, allow_hyphen_values = true)]
    draws: usize,
    /// What is printed on standard output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Task of the images, from 1: determines the order of pixels and the classes
    #[arg(long, value_name = "T", help_heading = "Task", value_parser = flags::size, allow_hyphen_values = true)]
    task: Option<usize>,
    /// Stream of the training, e.g. permuted:mnist:5 [default: stored in the model]
    #[arg(long, requires = "task", help_heading = "Task")]
    stream: Option<String>,
    /// Seed of the training [default: stored in the model, else 1]
    #[arg(long, value_name = "S", help_heading = "Task", value_parser = flags::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// The trial of the model, from 0; chooses the model of a run directory [default: the model's
    /// own, else 0]
    #[arg(long, value_name = "N", help_heading = "Task", value_parser = flags::count, allow_hyphen_values = true)]
    trial: Option<u32>,
    /// Case of the run directory, from 1
    #[arg(long, value_name = "K", help_heading = "Task", value_parser = flags::size, allow_hyphen_values = true)]
    case: Option<usize>,
    /// Directory of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// What is done with labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Labels {
    /// Use them if present
    #[default]
    Auto,
    /// Ignore them
    None,
}

fn predictor_parser() -> impl TypedValueParser<Value = Predictor> {
    let names = Predictor::ALL.map(Predictor::name);
    PossibleValuesParser::new(names).map(|name| {
        let found = Predictor::ALL.into_iter().find(|predictor| predictor.name() == name);
        found.unwrap_or(Predictor::Hard)
    })
}

/// What the network is asked about.
struct Question<'a> {
    view: View<'a>,
    is_labelled: bool,
    /// The classes of the task, if it has only some.
    classes: Option<Vec<u8>>,
}

/// What it says.
struct Answer<'a> {
    question: &'a Question<'a>,
    probabilities: Probabilities,
    scores: Option<Scores>,
}

impl Predict {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        DRAWS.check("draws", self.draws as f64)?;
        let choice = Choice { trial: self.trial, case: self.case };
        let path = model::locate(&self.model, choice, quiet)?;
        let model = Model::read(&path)?;
        let predictor = self.predictor.unwrap_or(Predictor::Hard);
        output::usage(
            predictor == Predictor::Hard || matches!(model, Model::Trained { .. }),
            || {
                format!(
                    "{} is packed: it has signs only and no distribution to sample from; use \
                     --predictor hard, or give the .safetensors model for {}",
                    path.display(),
                    predictor.name()
                )
            },
        )?;
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        let images = Images::open(&self.data, &cache)?;
        let wanted = model.architecture().inputs();
        output::usage(images.inputs() == wanted, || {
            format!(
                "images of {} have {} pixels, and the model takes {wanted}; give images of \
                 {wanted} pixels, or a model that was trained on such images",
                images.name(),
                images.inputs()
            )
        })?;
        let task = self.task(&model, &cache, quiet)?;
        let question = self.question(&images, task.as_ref(), quiet)?;
        check_labels(&question, model.architecture().outputs())?;

        // To pack the bits is no part of asking.
        let model =
            if predictor == Predictor::Hard { Model::Packed(model.packed()?) } else { model };
        let start = Instant::now();
        let probabilities = self.ask(&model, predictor, &question.view);
        let seconds = start.elapsed().as_secs_f64();
        let rate = question.view.len() as f64 / seconds;
        let count = question.view.len();
        output::remark(quiet, &format!("{count} images, {rate:.0} images per second"));
        let scores = question.is_labelled.then(|| metrics::scores(&probabilities, &question.view));
        let answer = Answer { question: &question, probabilities, scores };
        self.emit(&answer, &path.display().to_string(), predictor, quiet)?;
        Ok(Outcome::Done)
    }

    /// Seed and trial: as asked for, or of the model's provenance.
    fn origin(&self, provenance: Option<&Value>) -> (u64, u32) {
        let number = |key: &str| provenance.and_then(|provenance| provenance[key].as_u64());
        let trial = number("trial").and_then(|trial| u32::try_from(trial).ok());
        (self.seed.or(number("seed")).unwrap_or(1), self.trial.or(trial).unwrap_or(0))
    }

    /// The task that is asked for, with the number of tasks there are.
    fn task(
        &self,
        model: &Model,
        cache: &Cache,
        quiet: bool,
    ) -> anyhow::Result<Option<(Task, StreamSpec)>> {
        let provenance = model.provenance();
        let Some(number) = self.task else {
            match provenance {
                Some(provenance) => {
                    assumption(provenance).iter().for_each(|text| output::say(text))
                }
                None => output::remark(quiet, PACKED_ASSUMPTION),
            }
            return Ok(None);
        };
        let spec = self.learned(provenance)?;
        let text = spec.to_string().replace('\n', " then ");
        let stream = spec.load(cache).map_err(TrainingError::from)?;
        let wanted = model.architecture().inputs();
        output::usage(stream.inputs() == wanted, || {
            let found = stream.inputs();
            format!("images of the stream {text} have {found} pixels, and the model takes {wanted}")
        })?;
        let (seed, trial) = self.origin(provenance);
        for (flag, given, own) in [
            ("--seed", seed, provenance.and_then(|provenance| provenance["seed"].as_u64())),
            (
                "--trial",
                trial.into(),
                provenance.and_then(|provenance| provenance["trial"].as_u64()),
            ),
        ] {
            output::usage(own.is_none_or(|own| own == given), || {
                let own = own.unwrap_or_default();
                format!("{flag} {given} has other tasks than the model, which is of {own}")
            })?;
        }
        output::usage((1..=stream.len()).contains(&number), || {
            let count = stream.len();
            format!(
                "--task {number} is out of range: {text} has tasks 1 to {count}, and the model \
                     was trained on these"
            )
        })?;
        for (path, digest) in training::digests(stream.datasets()) {
            let learned = provenance.map_or(&Value::Null, |provenance| &provenance["data"][&path]);
            if !learned.is_null() && *learned != digest {
                output::say(&format!("note: {path} has changed since the model was trained"));
            }
        }
        Ok(Some((stream.task(number - 1, seed, trial), spec)))
    }

    /// The stream that was learned: the model's own if it has one. Another one is refused, and so is a
    /// file of tasks, which may have changed since the model was trained.
    fn learned(&self, provenance: Option<&Value>) -> anyhow::Result<StreamSpec> {
        let read = |text: &str| StreamSpec::read(text).map_err(TrainingError::from);
        let told = provenance.and_then(|provenance| provenance["training"]["stream"].as_str());
        let given = self.stream.as_deref();
        match (told, given) {
            (Some(told), None) if StreamSpec::is_written_out(told) => Ok(read(told)?),
            (Some(told), Some(given)) if StreamSpec::is_written_out(told) => {
                let (own, given_spec) = (read(told)?, read(given)?);
                output::usage(own == given_spec, || {
                    format!(
                        "--stream {given} differs from the stream of the model, {}; omit --stream",
                        told.trim().replace('\n', " then ")
                    )
                })?;
                Ok(own)
            }
            (_, Some(given)) => Ok(read(given)?),
            (Some(file), None) => Err(UsageError::new(format!(
                "the model names its tasks by the file {file}, which may have changed since; state the \
                 tasks by --stream"
            ))
            .into()),
            (None, None) => Err(UsageError::new(
                "--task needs --stream, e.g. --stream permuted:mnist:5: a packed model does not \
                 contain its stream"
                    .into(),
            )
            .into()),
        }
    }

    /// The images as the network knows them.
    fn question<'a>(
        &self,
        images: &'a Images,
        task: Option<&'a (Task, StreamSpec)>,
        quiet: bool,
    ) -> Result<Question<'a>, UsageError> {
        let mut question =
            Question { view: images.view(), is_labelled: images.is_labelled(), classes: None };
        if let Some((task, spec)) = task {
            if task.classes().len() < task.dataset().classes() {
                question.classes = Some(task.classes());
                if spec.datasets().contains(&self.data.as_str()) {
                    question.view = task.test();
                } else if question.is_labelled {
                    question.is_labelled = false;
                    let text =
                        "note: labels are not used, because the task has only some of the classes";
                    output::remark(quiet, text);
                }
            } else {
                question.view = question.view.arranged(task.arrangement());
            }
        }
        if let Some(limit) = self.limit {
            question.view = question.view.first(limit).map_err(|_| {
                let count = question.view.len();
                UsageError::new(format!(
                    "--limit {limit} is out of range: {} has images 1 to {count}",
                    images.name()
                ))
            })?;
        }
        question.is_labelled &= self.labels == Labels::Auto;
        Ok(question)
    }

    fn ask(&self, model: &Model, predictor: Predictor, view: &View<'_>) -> Probabilities {
        match model {
            Model::Trained { network, provenance } => {
                let (seed, trial) = self.origin(Some(provenance));
                let stream = test_stream(seed, trial, 0);
                predict(network, &[*view], predictor, self.draws, stream).remove(0)
            }
            Model::Packed(network) => from_bits(network, view),
        }
    }

    fn emit(
        &self,
        answer: &Answer<'_>,
        model: &str,
        predictor: Predictor,
        quiet: bool,
    ) -> anyhow::Result<()> {
        let count = answer.question.view.len();
        let text = match self.format {
            Format::Json => {
                let data = answer.json(model, predictor);
                format!("{}\n", serde_json::to_string_pretty(&data)?)
            }
            Format::Csv => {
                if let Some(Scores { accuracy, nll, ece }) = answer.scores {
                    let text = format!("accuracy {accuracy:.6}, nll {nll:.6}, ece {ece:.6}");
                    output::remark(quiet, &text);
                }
                answer.table(count, true).to_csv()
            }
            Format::Table => {
                if count > SHOWN {
                    let text = format!("{SHOWN} of {count} images are shown; --format csv has all");
                    output::remark(quiet, &text);
                }
                let mut text = answer.table(count.min(SHOWN), false).to_text(4);
                if let Some(Scores { accuracy, nll, ece }) = answer.scores {
                    let mut table = Table::new(["images", "accuracy", "nll", "ece"]);
                    let count = Cell::Integer(count as i64);
                    table.push(vec![count, accuracy.into(), nll.into(), ece.into()]);
                    text += &format!("\n{}", table.to_text(6));
                }
                text
            }
        };
        output::print(&text)
    }
}

/// What is assumed if no task is named and the model does not tell what it has learned.
const PACKED_ASSUMPTION: &str = "note: images are taken as they are; if the model has learned permuted \
                                 pixels or some of the classes, name the task by --task and --stream";

/// What is assumed of images if no task is named, in words; none if it makes no difference.
fn assumption(provenance: &Value) -> Option<&'static str> {
    let text = provenance["training"]["stream"].as_str().unwrap_or_default();
    let has = |kind: &str| text.lines().any(|line| line.trim_start().starts_with(kind));
    if has("permuted") {
        Some(
            "note: the model has learned permuted pixels, and no --task is named: the pixels of the \
             images are taken in their own order, which no permuted task had",
        )
    } else if has("split") {
        Some(
            "note: the model has learned some of the classes at a time, and no --task is named: the \
             classes are counted from 0, as those of the first task",
        )
    } else {
        None
    }
}

/// Labels must be among the classes of the network.
fn check_labels(question: &Question<'_>, classes: usize) -> Result<(), UsageError> {
    let view = &question.view;
    if !question.is_labelled {
        return Ok(());
    }
    let bad = (0..view.len()).find(|&i| usize::from(view.label_in_task(i)) >= classes);
    bad.map_or(Ok(()), |index| {
        Err(UsageError::new(format!(
            "label {} of image {index} is out of range: the model has the classes 0 to {}; \
             --labels none passes labels over",
            view.label_in_task(index),
            classes - 1
        )))
    })
}

/// The answers of a binary network, on all threads.
fn from_bits(network: &BinaryNetwork, view: &View<'_>) -> Probabilities {
    let classes = network.architecture().outputs();
    let mut values = vec![0.0; view.len() * classes];
    values.par_chunks_mut(BATCH * classes).enumerate().for_each_init(
        || (Workspace::new(), Vec::new()),
        |(workspace, images), (batch, values)| {
            let first = (batch * BATCH) as u32;
            let chosen: Vec<u32> = (first..first + (values.len() / classes) as u32).collect();
            images.resize(chosen.len() * view.inputs(), 0.0);
            view.batch(&chosen, images);
            network.probabilities(images, values, workspace);
        },
    );
    Probabilities { classes, values }
}

impl Answer<'_> {
    /// The name of a class: its own, if the task has only some of them.
    fn class(&self, class: usize) -> usize {
        let classes = self.question.classes.as_ref();
        classes.and_then(|classes| classes.get(class)).map_or(class, |&class| usize::from(class))
    }

    fn label(&self, index: usize) -> Option<u8> {
        self.question.is_labelled.then(|| self.question.view.label(index))
    }

    /// The first images, this number of them.
    fn table(&self, count: usize, all_classes: bool) -> Table {
        let mut headers: Vec<String> =
            ["index", "class", "probability"].map(str::to_owned).to_vec();
        if self.question.is_labelled {
            headers.push("label".into());
        }
        if all_classes {
            let classes = 0..self.probabilities.classes;
            headers.extend(classes.map(|class| format!("p_{}", self.class(class))));
        }
        let mut table = Table::new(headers);
        for (index, p) in self.probabilities.rows().enumerate().take(count) {
            let best = most_probable(p).0;
            let mut row = vec![
                Cell::Integer(index as i64),
                Cell::Integer(self.class(best) as i64),
                short(p[best]).into(),
            ];
            row.extend(self.label(index).map(|label| Cell::Integer(label.into())));
            if all_classes {
                row.extend(p.iter().map(|&p| Cell::from(short(p))));
            }
            table.push(row);
        }
        table
    }

    fn json(&self, model: &str, predictor: Predictor) -> Value {
        let row = |(index, p): (usize, &[f32])| {
            let best = most_probable(p).0;
            let mut row = json!({
                "index": index,
                "class": self.class(best),
                "probability": short(p[best]),
                "probabilities": p.iter().map(|&p| short(p)).collect::<Vec<_>>(),
            });
            if let Some(label) = self.label(index) {
                row["label"] = label.into();
            }
            row
        };
        let classes = (0..self.probabilities.classes).map(|class| self.class(class));
        let mut data = json!({
            "model": model,
            "predictor": predictor,
            "images": self.question.view.len(),
            "classes": classes.collect::<Vec<_>>(),
            "predictions": self.probabilities.rows().enumerate().map(row).collect::<Vec<_>>(),
        });
        if let Some(Scores { accuracy, nll, ece }) = self.scores {
            data["accuracy"] = accuracy.into();
            data["nll"] = nll.into();
            data["ece"] = ece.into();
        }
        data
    }
}

/// The same number with as few digits as single precision needs.
fn short(p: f32) -> f64 {
    p.to_string().parse().unwrap_or(f64::from(p))
}
