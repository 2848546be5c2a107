//! `remanent inspect`: what is in a model, a checkpoint or a run directory.

mod checkpoint;
mod network;
mod run;
mod simulation;

use std::path::{Path, PathBuf};

use clap::Args;
use remanent_network::tensors::TensorError;
use remanent_plot::{Figure, Table};
use serde_json::Value;

use crate::model::{self, Model};
use crate::output::{self, Format, Outcome, Output};

const EXAMPLES: &str = "\
Examples:
  remanent inspect runs/perm
  remanent inspect runs/perm --plot training.png
  remanent inspect perm.rbin
  remanent inspect runs/perm/models/NAME.safetensors --plot fields.svg";

/// Show the content of a model, a checkpoint or a run directory
///
/// For a model: architecture, size, settings, and the uncertainty of the weights in every layer;
/// --plot draws the histogram of the fields. For a checkpoint: the position in the training. For a
/// run directory: settings, trials and results, also of trials that are under way; --plot draws the figure of
/// remanent train or simulate. The exit code is 1 if a file is damaged.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Inspect {
    /// A model (.safetensors or .rbin), a checkpoint (.safetensors), or a run directory
    path: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// What was found.
struct Findings {
    data: Value,
    tables: Vec<Table>,
    /// Which of the tables is the one of CSV.
    main: usize,
    /// What can be drawn, or why nothing can.
    figure: Result<Figure, String>,
    is_sound: bool,
}

impl Inspect {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let path = &self.path;
        let findings = if path.is_dir() { run::look(path, quiet)? } else { look(path)? };
        let Findings { data, tables, main, figure, is_sound } = findings;
        if let (Some(_), Err(reason)) = (&self.output.plot, &figure) {
            output::usage(false, || format!("--plot has nothing to draw: {reason}"))?;
        }
        let chosen = |format| match format {
            Format::Csv => vec![tables[main].clone()],
            Format::Table | Format::Json => tables.clone(),
        };
        self.output.show(&data, chosen, || figure.unwrap_or_default())?;
        Ok(Outcome::done_if(is_sound))
    }
}

/// A file.
fn look(path: &Path) -> anyhow::Result<Findings> {
    let bytes = model::read_bytes(path)?;
    if !model::is_packed(path, &bytes) {
        match checkpoint::look(path, &bytes) {
            // It is a model, or something else, about which that of a model has more to say.
            Err(TensorError::Kind { .. }) => {}
            found => return found.map_err(|error| model::unusable(path, &error)),
        }
    }
    Ok(network::look(path, &Model::decode(path, &bytes)?, bytes.len()))
}

/// Names and values, one a line.
#[derive(Default)]
struct Facts(Vec<(String, String)>);

impl Facts {
    fn put(&mut self, name: impl Into<String>, value: impl ToString) {
        self.0.push((name.into(), value.to_string()));
    }

    /// All that an object holds, in its order.
    fn put_object(&mut self, object: &Value) {
        for (name, value) in object.as_object().into_iter().flatten() {
            if !value.is_null() {
                self.put(name, text(value));
            }
        }
    }

    fn table(self, title: &str) -> Table {
        let mut table = Table::new([title, "value"]);
        for (name, value) in self.0 {
            table.push(vec![name.into(), value.into()]);
        }
        table
    }
}

/// A value as text, a string without its quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Settings that are worth knowing first.
fn put_origin(facts: &mut Facts, key: &Value) {
    let training = &key["training"];
    for (name, value) in [
        ("learner", &training["learner"]),
        ("stream", &training["stream"]),
        ("seed", &key["seed"]),
        ("trial", &key["trial"]),
    ] {
        if !value.is_null() {
            facts.put(name, text(value));
        }
    }
}

/// The settings of a training as a table, unless there are none.
fn settings(training: &Value) -> Option<Table> {
    let mut facts = Facts::default();
    facts.put_object(training);
    (!facts.0.is_empty()).then(|| facts.table("setting"))
}
