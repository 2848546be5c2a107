//! `remanent reproduce`: the paper, figure by figure, into a report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use remanent_data::memory;
use remanent_lab::report::{Exhibit, Machine, Report};
use remanent_lab::reproduce::{self, Batch, Batches, Experiment, Records, Work};
use remanent_lab::training::{Material, Training};
use remanent_lab::{CHECKPOINT_EVERY, Cell, Store, atomic};
use remanent_plot::Table;
use serde_json::{Value, json};

use crate::data;
use crate::experiment::{self, Place};
use crate::flags;
use crate::output::{self, Format, Outcome};

/// About how many seconds a unit of work of a question to the theory takes.
const THEORY_POINT: f64 = 0.05;

const EXAMPLES: &str = "\
Examples:
  remanent reproduce --quick              every figure at reduced size, without any data, in a few minutes
  remanent data get mnist fashion-mnist
  remanent reproduce --dry-run            what the paper's size takes
  remanent reproduce                      all of it; the same command continues what was interrupted
  remanent reproduce 3b 7a --seeds 2      two panels, with two trials of each case

Open report/index.html in a browser: it is one file, and loads nothing.";

/// Makes the paper's figures and those beyond it, and judges what it claims.
///
/// The verdict on each figure is decided by a rule from the numbers. Cells that are done are never
/// computed again: a run goes on after an interruption, on another day, or on another machine with a
/// copy of the run directory.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Reproduce {
    /// 1, 2a, ... 8, B1, ... B7; 3 stands for 3a to 3d, and B for all that is beyond the paper
    /// [default: all]
    #[arg(value_name = "FIGURE")]
    figures: Vec<String>,
    /// Reduced sizes, and digits that are inside the program instead of MNIST
    #[arg(long)]
    quick: bool,
    /// At most so many trials of each case
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    seeds: Option<u32>,
    /// Run directory; the same one continues what is there
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,
    /// Folder of the report, index.html
    #[arg(long, value_name = "DIR", default_value = "report")]
    report: PathBuf,
    /// Also keeps picture, data and verdict of each figure in DIR/figures, and sums them up in
    /// DIR/REPRODUCIBILITY.md
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Discards what an earlier run has left in the run directory
    #[arg(long)]
    fresh: bool,
    /// Seconds between checkpoints of a cell under way [default: 10]
    #[arg(long, value_name = "SECONDS", default_value_t = CHECKPOINT_EVERY.as_secs_f64(), hide_default_value = true, value_parser = flags::number, allow_hyphen_values = true)]
    checkpoint_every: f64,
    /// Only lists cells, time and memory
    #[arg(long)]
    dry_run: bool,
    /// Folder of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// What is printed on standard output
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Reproduce {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        let start = Instant::now();
        output::usage(self.seeds != Some(0), || {
            "--seeds 0 is out of range: it must be at least 1".into()
        })?;
        let entries = reproduce::select(&self.figures)?;
        let works: Vec<Work> = entries
            .into_iter()
            .map(|entry| Work::read(entry, self.quick, self.seeds))
            .collect::<Result<_, _>>()?;
        let materials = self.materials(&works)?;
        let batches = Batches::new(&works, &materials);
        if self.dry_run {
            return self.preview(&works, &batches);
        }
        let page = self.report.join("index.html");
        self.check_places(&page)?;
        let records = self.compute(&works, &batches, quiet)?;
        let exhibits: Vec<Exhibit> = works
            .iter()
            .zip(records)
            .map(|(work, records)| reproduce::exhibit(work, records))
            .collect();
        let machine = Machine::detect(rayon::current_num_threads());
        let report = Report {
            title: "Statistical mechanics of continual learning, reproduced".into(),
            quick: self.quick,
            version: env!("CARGO_PKG_VERSION").into(),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            command: self.command(),
            wall_seconds: start.elapsed().as_secs_f64(),
            machine,
            exhibits,
        };
        atomic::sweep_own(&self.report)?;
        atomic::write(&page, &[report.html()?.as_bytes()])?;
        if let Some(root) = &self.keep {
            reproduce::keep(root, &report)?;
        }
        self.print(&report)?;
        output::remark(quiet, &format!("the report is {}", page.display()));
        Ok(Outcome::Done)
    }

    /// Refuses places that cannot be written to before anything is computed.
    fn check_places(&self, page: &Path) -> anyhow::Result<()> {
        output::usage(!self.out.is_file(), || {
            format!("{} is not a directory; choose another --out", self.out.display())
        })?;
        let folders =
            self.keep.iter().map(|root| root.join("figures")).chain([self.report.clone()]);
        for folder in folders {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(remanent_plot::check_writable(page)?)
    }

    /// The command line that makes this report.
    fn command(&self) -> String {
        let mut words = vec!["remanent reproduce".to_owned()];
        words.extend(self.figures.iter().cloned());
        if self.quick {
            words.push("--quick".into());
        }
        if let Some(seeds) = self.seeds {
            words.push(format!("--seeds {seeds}"));
        }
        words.join(" ")
    }

    /// The images of all trainings, figure by figure.
    fn materials(&self, works: &[Work]) -> anyhow::Result<Vec<Vec<Material>>> {
        let by_work: Vec<&[Training]> = works
            .iter()
            .map(|work| match &work.experiment {
                Experiment::Train(trainings) => trainings.as_slice(),
                _ => &[],
            })
            .collect();
        let all: Vec<&Training> = by_work.iter().copied().flatten().collect();
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        let mut loaded = Material::load_all(&all, &cache)?.into_iter();
        Ok(by_work.iter().map(|own| loaded.by_ref().take(own.len()).collect()).collect())
    }

    fn compute(
        &self,
        works: &[Work],
        batches: &Batches,
        quiet: bool,
    ) -> anyhow::Result<Vec<Records>> {
        let mut records: Vec<Records> = works.iter().map(|_| Records::default()).collect();
        let stage = Stage { arguments: self, quiet };
        stage
            .run("theory", &batches.theory, &mut records, |own, record| own.theory.push(record))?;
        stage.run("bound", &batches.bound, &mut records, |own, record| own.bound.push(record))?;
        stage.run("simulate", &batches.simulate, &mut records, |own, record| {
            own.simulate.push(record);
        })?;
        stage.run("convergence-time", &batches.convergence, &mut records, |own, record| {
            own.convergence.push(record);
        })?;
        stage.run("train", &batches.train, &mut records, |own, record| own.train.push(record))?;
        Ok(records)
    }

    fn preview(&self, works: &[Work], batches: &Batches) -> anyhow::Result<Outcome> {
        let mut costs: Vec<Cost> = works.iter().map(|_| Cost::default()).collect();
        // A question to the theory cannot be broken off to be timed.
        self.survey("theory", &batches.theory, &mut costs, Some(THEORY_POINT))?;
        self.survey("bound", &batches.bound, &mut costs, None)?;
        self.survey("simulate", &batches.simulate, &mut costs, None)?;
        self.survey("convergence-time", &batches.convergence, &mut costs, None)?;
        self.survey("train", &batches.train, &mut costs, None)?;
        let threads = rayon::current_num_threads();
        let mut table = Table::new(["figure", "cells", "to_compute", "time", "memory", "size"]);
        let mut total = Cost::default();
        for (work, cost) in works.iter().zip(&costs) {
            table.push(cost.row(work.entry.id, threads, &work.size.text));
            total.add(cost);
        }
        table.push(total.row("all", threads, ""));
        let text = match self.format {
            Format::Table => table.to_text(4),
            Format::Csv => table.to_csv(),
            Format::Json => {
                let rows =
                    works.iter().zip(&costs).map(|(work, cost)| cost.json(work.entry.id, threads));
                format!("{}\n", serde_json::to_string_pretty(&rows.collect::<Vec<_>>())?)
            }
        };
        output::print(&text)?;
        Ok(Outcome::Done)
    }

    /// Adds what the cells of one kind would cost. A cell that several figures share is counted for
    /// the first.
    fn survey<C: Cell>(
        &self,
        kind: &str,
        batch: &Batch<C>,
        costs: &mut [Cost],
        seconds_a_unit: Option<f64>,
    ) -> anyhow::Result<()> {
        let directory = self.out.join(kind);
        let survey = Store::survey(&directory, kind, &marker(), self.fresh, &batch.cells)?;
        for &owner in &batch.owners {
            costs[owner].cells += 1;
        }
        let mut missing: BTreeMap<usize, Vec<&C>> = BTreeMap::new();
        for &i in &survey.missing {
            missing.entry(batch.owners[i]).or_default().push(&batch.cells[i]);
        }
        for (owner, cells) in missing {
            let work: u64 = cells.iter().map(|cell| cell.work()).sum();
            let memory = cells.iter().map(|cell| cell.memory()).max().unwrap_or(0);
            let seconds = match seconds_a_unit {
                Some(seconds) => seconds * work as f64,
                None => {
                    // Cases may differ in their learners: one of either end is timed.
                    let ends = [cells.first(), cells.last().filter(|_| cells.len() > 1)];
                    let rates =
                        ends.into_iter().flatten().filter_map(|cell| experiment::rate(*cell));
                    let times: Vec<f64> = rates.map(|rate| work as f64 / rate).collect();
                    times.iter().sum::<f64>() / times.len().max(1) as f64
                }
            };
            costs[owner].add(&Cost { cells: 0, missing: cells.len(), seconds, memory });
        }
        Ok(())
    }

    fn print(&self, report: &Report) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Json => format!("{}\n", serde_json::to_string_pretty(&json_of(report))?),
            format => {
                let mut table = Table::new(["figure", "verdict", "seconds", "title"]);
                for exhibit in &report.exhibits {
                    table.push(vec![
                        exhibit.id.as_str().into(),
                        exhibit
                            .verdict()
                            .map_or("answers".into(), |v| v.to_string())
                            .as_str()
                            .into(),
                        exhibit.seconds.into(),
                        exhibit.title.as_str().into(),
                    ]);
                }
                if format == Format::Csv { table.to_csv() } else { table.to_text(3) }
            }
        };
        output::print(&text)
    }
}

/// What all run directories of a reproduction have in common.
fn marker() -> Value {
    json!({"reproduce": "arXiv:2212.02846"})
}

fn json_of(report: &Report) -> Value {
    let exhibit = |exhibit: &Exhibit| {
        json!({
            "figure": exhibit.id,
            "title": exhibit.title,
            "verdict": exhibit.verdict(),
            "found": exhibit.found,
            "findings": exhibit.findings,
            "size": exhibit.size.text,
            "reduced": exhibit.size.is_reduced(),
            "cells": exhibit.cells,
            "seconds": exhibit.seconds,
        })
    };
    json!({
        "figures": report.exhibits.iter().map(exhibit).collect::<Vec<_>>(),
        "machine": report.machine,
        "wall_seconds": report.wall_seconds,
    })
}

/// One kind of cells after another.
struct Stage<'a> {
    arguments: &'a Reproduce,
    quiet: bool,
}

impl Stage<'_> {
    fn run<C: Cell>(
        &self,
        kind: &str,
        batch: &Batch<C>,
        records: &mut [Records],
        put: impl Fn(&mut Records, C::Record),
    ) -> anyhow::Result<()> {
        if batch.cells.is_empty() {
            return Ok(());
        }
        let directory: &Path = &self.arguments.out.join(kind);
        let config = marker();
        let every = self.arguments.checkpoint_every;
        let place = Place { directory, kind, config: &config, fresh: self.arguments.fresh, every };
        output::remark(self.quiet, &format!("{kind}: {} cells", batch.cells.len()));
        let finished = place.run(&batch.cells, self.quiet)?;
        batch.deal(finished.records, &finished.seconds, records, put);
        Ok(())
    }
}

/// What some cells cost.
#[derive(Default)]
struct Cost {
    cells: usize,
    missing: usize,
    /// On one thread.
    seconds: f64,
    /// Of the largest cell.
    memory: u64,
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.cells += other.cells;
        self.missing += other.missing;
        self.seconds += other.seconds;
        self.memory = self.memory.max(other.memory);
    }

    /// Seconds and bytes if the cells run on so many threads.
    fn on(&self, threads: usize) -> (f64, u64) {
        let threads = threads.min(self.missing).max(1);
        (self.seconds / threads as f64, self.memory.saturating_mul(threads as u64))
    }

    fn row(&self, name: &str, threads: usize, size: &str) -> Vec<remanent_plot::Cell> {
        let (seconds, bytes) = self.on(threads);
        let (time, memory) = if self.missing == 0 {
            ("nothing".into(), String::new())
        } else {
            (experiment::duration(seconds), memory::amount(bytes))
        };
        vec![
            name.into(),
            (self.cells as i64).into(),
            (self.missing as i64).into(),
            time.as_str().into(),
            memory.as_str().into(),
            size.into(),
        ]
    }

    fn json(&self, name: &str, threads: usize) -> Value {
        let (seconds, memory) = self.on(threads);
        json!({
            "figure": name,
            "cells": self.cells,
            "to_compute": self.missing,
            "seconds": seconds,
            "memory": memory,
        })
    }
}
