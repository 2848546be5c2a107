//! `remanent reproduce`: the paper, figure by figure, into a report.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use remanent_lab::bound::BoundStudy;
use remanent_lab::convergence::ConvergenceStudy;
use remanent_lab::experiment::{Experiment, checkpoint_interval};
use remanent_lab::simulation::Simulation;
use remanent_lab::tempering::TemperingStudy;
use remanent_lab::theory::Query;
use remanent_lab::training::Training;
use remanent_plot::Table;
use remanent_reproduce::report::{Exhibit, Report};
use remanent_reproduce::{Cost, Place, Reproduction, Request, Stage};
use remanent_store::Share;
use serde_json::{Value, json};

use crate::costs;
use crate::data;
use crate::experiment::{self, HowArguments, INTERRUPTED};
use crate::flags;
use crate::output::{self, Format, Outcome};
use crate::progress::Voice;
use crate::shard::ShardArguments;
use crate::submit::Estimate;

const EXAMPLES: &str = "\
Examples:
  remanent reproduce --quick              every figure at reduced size, without any data, in a few minutes
  remanent data get mnist fashion-mnist
  remanent reproduce --dry-run            what the paper's size takes
  remanent reproduce                      all of it; the same command continues what was interrupted
  remanent reproduce 3b 7a --seeds 2      two panels, with two trials of each case

Open report/index.html in a browser: it is one file, and loads nothing.";

/// Compute the figures of the paper and more, and test the paper's claims
///
/// Fixed rules decide the verdict on each figure. Finished cells are not computed again: repeat the
/// command to continue an interrupted run, also on another machine with a copy of the run directory.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Reproduce {
    /// 1, 2a, ... 8, B1, B2, ...; 3 means 3a to 3d, and B all figures beyond the paper
    /// [default: all]
    #[arg(value_name = "FIGURE")]
    figures: Vec<String>,
    /// Use reduced sizes, and the built-in digits instead of MNIST
    #[arg(long)]
    quick: bool,
    /// Run at most N trials of each case
    #[arg(long, value_name = "N", value_parser = flags::count, allow_hyphen_values = true)]
    seeds: Option<u32>,
    /// Run directory; an earlier run in it is continued
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,
    /// Directory of the report (index.html)
    #[arg(long, value_name = "DIR", default_value = "report")]
    report: PathBuf,
    /// Also write picture, data and verdict of each figure to DIR/figures, and a summary to
    /// DIR/REPRODUCIBILITY.md
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    how: HowArguments,
    /// Directory of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    shard: ShardArguments,
}

impl Reproduce {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.shard.check(self.how.fresh)?;
        let reproduction = self.reproduction()?;
        let place = self.place()?;
        if self.how.dry_run {
            self.preview(&reproduction, &reproduction.survey(&place)?)?;
            return Ok(Outcome::Done);
        }
        if self.shard.shard.is_none() {
            self.check_places()?;
        }
        experiment::catch_interrupts()?;
        let watch = |stage: &Stage<'_>| {
            let Stage { kind, cells, work, directory } = stage;
            let shown = directory.display();
            let read_only = remanent_store::is_read_only(directory) && !self.how.fresh;
            let suffix = if read_only { ", which is read-only" } else { "" };
            output::remark(quiet, &format!("{kind}: {cells} cells, records in {shown}{suffix}"));
            Voice::of_run(*work, unit(kind), quiet, directory.to_path_buf())
        };
        let shown = self.out.display().to_string();
        let compute =
            |share: &Share<'_>| Ok(reproduction.run_share(&place, share, watch, &INTERRUPTED)?);
        if let Some(outcome) = self.shard.run(&shown, quiet, compute)? {
            return Ok(outcome);
        }
        let report = reproduction.run(&place, watch, &INTERRUPTED)?;
        let page = report.write(&self.report)?;
        if let Some(root) = &self.keep {
            remanent_reproduce::keep(root, &report)?;
            remanent_reproduce::summarise(root)?;
        }
        self.print(&report)?;
        output::remark(quiet, &format!("the report is {}", page.display()));
        Ok(Outcome::Done)
    }

    /// What it would take.
    pub fn estimate(self) -> anyhow::Result<Estimate> {
        let costs = self.reproduction()?.survey(&self.place()?)?;
        Ok(Estimate::of_costs(self.out.clone(), &costs, false))
    }

    /// Reads the configurations of the figures.
    fn reproduction(&self) -> anyhow::Result<Reproduction> {
        flags::check_seeds(self.seeds)?;
        let (figures, quick, seeds) = (self.figures.clone(), self.quick, self.seeds);
        let cache = data::cache(self.data_dir.as_deref(), "--data-dir")?;
        Ok(Reproduction::new(Request { figures, quick, seeds }, &cache)?)
    }

    fn place(&self) -> anyhow::Result<Place<'_>> {
        Ok(Place {
            directory: &self.out,
            fresh: self.how.fresh,
            checkpoint_every: checkpoint_interval(self.how.checkpoint_every)?,
        })
    }

    /// Refuses places that cannot be written to before anything is computed.
    fn check_places(&self) -> anyhow::Result<()> {
        output::usage(!self.out.is_file(), || {
            format!("{} is not a directory; choose another --out", self.out.display())
        })?;
        let folders =
            self.keep.iter().map(|root| root.join("figures")).chain([self.report.clone()]);
        for folder in folders {
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(remanent_plot::check_writable(&self.report.join("index.html"))?)
    }

    fn preview(&self, reproduction: &Reproduction, costs: &[Cost]) -> anyhow::Result<()> {
        let works = reproduction.works().iter();
        let named = works.map(|work| (work.entry.id, work.size.text.as_str()));
        costs::print(self.format, ["figure", "size"], named.zip(costs))
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

/// What the work of cells of a kind is counted in.
fn unit(kind: &str) -> &'static str {
    [
        (Query::NAME, Query::UNIT),
        (Simulation::NAME, Simulation::UNIT),
        (BoundStudy::NAME, BoundStudy::UNIT),
        (ConvergenceStudy::NAME, ConvergenceStudy::UNIT),
        (TemperingStudy::NAME, TemperingStudy::UNIT),
        (Training::NAME, Training::UNIT),
    ]
    .iter()
    .find(|(name, _)| *name == kind)
    .map_or("units", |(_, unit)| unit)
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
