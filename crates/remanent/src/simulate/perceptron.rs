//! `remanent simulate` itself.

use clap::{Args, ValueEnum};
use remanent_lab::lists::Values;
use remanent_lab::plan::Plan;
use remanent_lab::simulation::{
    self, CaseSummary, Comparison, Drawn, Learner, Named, Simulation, SummaryRow, TaskEnd,
    TheoryChoice, Trial,
};
use remanent_plot::{Figure, Table};
use serde::Serialize;
use serde_json::{Value, json};

use super::GradientArguments;
use crate::experiment::{ExperimentArguments, Finished};
use crate::flags::{self, put, put_count, put_list, put_name, put_text};
use crate::output::{Format, Outcome, Output, remark, say};
use crate::theory::BranchArgument;

/// The arguments.
#[derive(Args)]
pub struct Perceptron {
    /// Number of weights N [default: 1000]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    n: Option<u32>,
    /// Patterns per weight of each task; their number is the number of tasks
    #[arg(long, allow_hyphen_values = true)]
    alpha: Option<Values>,
    /// Overlap of neighbouring teachers: one, or one for each step [default: 0]
    #[arg(long, allow_hyphen_values = true)]
    r0: Option<Values>,
    /// sgd, gd, slow-sgd or boltzmann [default: sgd]
    #[arg(long)]
    learner: Option<String>,
    /// Factor of the KL term to the previous task: one, or one for each step
    /// [default: 1; 0 in magnetisation space]
    #[arg(long, allow_hyphen_values = true)]
    gamma: Option<Values>,
    /// Prior of the first task: none (the paper's choice) or uniform
    #[arg(long)]
    prior: Option<String>,
    /// A row is recorded after every so many epochs or sweeps [default: about 200 rows]
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    record_every: Option<u32>,
    /// Also measures the error on so many fresh patterns of each task
    #[arg(long, value_parser = flags::count, allow_hyphen_values = true)]
    fresh_patterns: Option<u32>,
    #[command(flatten)]
    gradient: GradientArguments,
    /// Rise of q_star, from,to, for the learner slow-sgd [default: 0.1,0.98]
    #[arg(long, allow_hyphen_values = true, help_heading = "Learning by gradients")]
    q_star: Option<Values>,
    /// Inverse temperature: one, or one for each task [default: 20]
    #[arg(long, allow_hyphen_values = true, help_heading = "Sampling (learner boltzmann)")]
    beta: Option<Values>,
    /// Markov chains on the same data [default: 2]
    #[arg(long, help_heading = "Sampling (learner boltzmann)", value_parser = flags::count, allow_hyphen_values = true)]
    chains: Option<u32>,
    /// Sweeps of each task before measuring [default: 300]
    #[arg(long, help_heading = "Sampling (learner boltzmann)", value_parser = flags::count, allow_hyphen_values = true)]
    warmup: Option<u32>,
    /// Sweeps of each task that are measured [default: 1000]
    #[arg(long, help_heading = "Sampling (learner boltzmann)", value_parser = flags::count, allow_hyphen_values = true)]
    sweeps: Option<u32>,
    /// Where chains start: random, or m towards the teacher, e.g. 0.9 [default: random]
    #[arg(long, allow_hyphen_values = true, help_heading = "Sampling (learner boltzmann)")]
    start: Option<String>,
    /// Prints and plots the theory beside the simulation
    #[arg(long, value_enum, help_heading = "Theory")]
    compare: Option<With>,
    /// Inverse temperature of the theory that gradient learners are compared with [default: 20]
    #[arg(long, help_heading = "Theory", value_parser = flags::number, allow_hyphen_values = true)]
    theory_beta: Option<f64>,
    /// Which solution of the theory
    #[arg(long, value_enum, default_value_t, help_heading = "Theory")]
    branch: BranchArgument,
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    output: Output,
}

/// What a simulation is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum With {
    /// Replica theory
    Theory,
}

/// One case as it is reported.
struct Report {
    config: Value,
    label: String,
    simulation: Simulation,
    /// None if every trial diverged.
    summary: Option<CaseSummary>,
    /// The earliest epoch in which a trial diverged, and how many did.
    diverged: Option<(usize, usize)>,
    comparison: Option<Vec<Comparison>>,
    seconds: Option<f64>,
    epochs: usize,
}

/// One case in JSON.
#[derive(Serialize)]
struct CaseJson<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    config: &'a Value,
    rows: &'a [SummaryRow],
    /// Null if every trial diverged.
    r#final: Option<FinalJson<'a>>,
    /// Trials that diverged; they are in no mean.
    diverged: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a [Comparison]>,
    /// Time of all trials, each on one thread; null if it is not known.
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epochs_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_samples_per_second: Option<f64>,
    /// Time of this command.
    wall_seconds: f64,
}

#[derive(Serialize)]
struct FinalJson<'a> {
    #[serde(flatten)]
    last: &'a TaskEnd,
    tasks: &'a [TaskEnd],
}

impl Perceptron {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let plan = self.experiment.plan(self.flags(), "simulate", &simulation::keys())?;
        let simulations: Vec<Simulation> = plan
            .cases
            .iter()
            .map(|case| Simulation::from_table(&case.table))
            .collect::<Result<_, _>>()?;
        plan.refuse_equal(&simulations)?;
        let trials: Vec<Trial> = simulations
            .iter()
            .flat_map(|simulation| plan.trials().map(move |trial| Trial { simulation, trial }))
            .collect();
        let config = json!({
            "seed": plan.seed,
            "cases": simulations.iter().map(Simulation::to_json).collect::<Vec<_>>(),
        });
        let Some(finished) = self.experiment.run("simulate", &config, &trials, quiet)? else {
            return Ok(Outcome::Done);
        };
        let reports = self.reports(&plan, &simulations, &trials, &finished);
        self.output.emit(
            &json(&reports, finished.wall_seconds),
            |format| tables(&reports, format),
            || figure(&plan, &reports),
        )?;
        Ok(conclude(&reports, quiet))
    }

    fn flags(&self) -> toml::Table {
        let mut flags = self.gradient.flags();
        put_count(&mut flags, "n", self.n);
        put_list(&mut flags, "alpha", &self.alpha);
        put_list(&mut flags, "r0", &self.r0);
        put_name(&mut flags, "learner", &self.learner);
        put_list(&mut flags, "gamma", &self.gamma);
        put_name(&mut flags, "prior", &self.prior);
        put_count(&mut flags, "record_every", self.record_every);
        put_count(&mut flags, "fresh_patterns", self.fresh_patterns);
        put_list(&mut flags, "q_star", &self.q_star);
        put_list(&mut flags, "beta", &self.beta);
        put_count(&mut flags, "chains", self.chains);
        put_count(&mut flags, "warmup", self.warmup);
        put_count(&mut flags, "sweeps", self.sweeps);
        put_text(&mut flags, "start", &self.start);
        put(&mut flags, "theory_beta", self.theory_beta);
        flags
    }

    fn reports(
        &self,
        plan: &Plan,
        simulations: &[Simulation],
        trials: &[Trial],
        finished: &Finished<Trial>,
    ) -> Vec<Report> {
        let chunks = finished.records.chunks(plan.seeds).zip(finished.seconds.chunks(plan.seeds));
        let mut reports = Vec::new();
        let trials = plan.cases.iter().zip(trials.chunks(plan.seeds));
        for ((simulation, (records, seconds)), (case, trials)) in
            simulations.iter().zip(chunks).zip(trials)
        {
            let summary = simulation::summarise(records);
            let comparison = self.compare.map(|With::Theory| {
                let choice = TheoryChoice { branch: self.branch.into() };
                let compare = |summary| simulation::compare(simulation, summary, choice);
                summary.as_ref().map_or(Ok(Vec::new()), compare).unwrap_or_else(|error| {
                    say(&format!("note: {error}"));
                    Vec::new()
                })
            });
            let mut config = simulation.to_json();
            config["seed"] = plan.seed.into();
            config["seeds"] = plan.seeds.into();
            if self.compare.is_some() && matches!(simulation.learner, Learner::Gradient(_)) {
                config["theory_beta"] = simulation.theory_beta.into();
            }
            reports.push(Report {
                label: case.label(),
                diverged: simulation::divergence(records),
                config,
                simulation: simulation.clone(),
                summary,
                comparison,
                seconds: seconds.iter().copied().sum(),
                epochs: trials.iter().map(Trial::epochs).sum(),
            });
        }
        reports
    }
}

fn json(reports: &[Report], wall_seconds: f64) -> Value {
    let case = |report: &Report| {
        let summary = report.summary.as_ref();
        let ends = summary.map_or(&[][..], |summary| &summary.ends);
        let gradient = matches!(report.simulation.learner, Learner::Gradient(_));
        let samples: f64 = ends
            .iter()
            .filter_map(|end| Some(end.sampled?.mean_effective_samples * end.r.count as f64))
            .sum();
        let per_second = |amount: f64| report.seconds.map(|seconds| amount / seconds);
        json!(CaseJson {
            label: &report.label,
            config: &report.config,
            rows: summary.map_or(&[], |summary| &summary.rows),
            r#final: ends.last().map(|last| FinalJson { last, tasks: ends }),
            diverged: report.diverged.map_or(0, |(_, count)| count),
            comparison: report.comparison.as_deref(),
            seconds: report.seconds,
            epochs_per_second: per_second(report.epochs as f64).filter(|_| gradient),
            effective_samples_per_second: per_second(samples).filter(|_| !gradient),
            wall_seconds,
        })
    };
    match reports {
        [one] => case(one),
        many => {
            let seconds: Option<f64> = many.iter().map(|report| report.seconds).sum();
            json!({
                "cases": many.iter().map(case).collect::<Vec<_>>(),
                "seconds": seconds,
                "wall_seconds": wall_seconds,
            })
        }
    }
}

/// Rows of a table over time that a terminal shows.
const SHOWN_ROWS: usize = 12;

/// CSV is one table, that of the comparison if there is one, so that any program can read it.
fn tables(reports: &[Report], format: Format) -> Vec<Table> {
    let named: Vec<Named> = reports
        .iter()
        .filter_map(|report| Some((report.label.as_str(), report.summary.as_ref()?)))
        .collect();
    let compared: Vec<(&str, &[Comparison])> = reports
        .iter()
        .filter_map(|report| Some((report.label.as_str(), report.comparison.as_deref()?)))
        .collect();
    let comparison = (!compared.is_empty()).then(|| simulation::comparison_table(&compared));
    if format == Format::Csv {
        return vec![comparison.unwrap_or_else(|| simulation::row_table(&named, None))];
    }
    let mut tables = Vec::new();
    if reports.len() == 1 {
        tables.push(simulation::row_table(&named, Some(SHOWN_ROWS)));
    }
    tables.push(simulation::end_table(&named));
    tables.extend(simulation::sampling_table(&named));
    tables.extend(comparison);
    tables
}

fn figure(plan: &Plan, reports: &[Report]) -> Figure {
    let drawn: Vec<Drawn> = plan
        .cases
        .iter()
        .zip(reports)
        .filter_map(|(case, report)| {
            Some(Drawn {
                case,
                simulation: &report.simulation,
                summary: report.summary.as_ref()?,
                comparison: report.comparison.as_deref().unwrap_or_default(),
            })
        })
        .collect();
    simulation::figure(&drawn, plan.scanned, plan.title.as_deref())
}

/// Says what is missing: trials that diverged, chains that have not mixed, theory without a solution.
fn conclude(reports: &[Report], quiet: bool) -> Outcome {
    let mut complete = true;
    for report in reports {
        let at = match report.label.as_str() {
            "" => String::new(),
            label => format!(" at {label}"),
        };
        if let Some((epoch, count)) = report.diverged {
            complete = false;
            say(&format!(
                "note: {count} trials{at} diverged, the first in epoch {epoch}, and are in no mean; \
                 take a smaller --lr"
            ));
        }
        let unmixed = report.summary.as_ref().map_or(0, CaseSummary::unmixed);
        if unmixed > 0 {
            complete = false;
            say(&format!(
                "note: the chains of {unmixed} trials{at} have not mixed (R-hat above 1.1, or fewer \
                 than 50 effective samples): the averages are not those of equilibrium; take more \
                 --warmup and --sweeps, or see whether replica symmetry holds there"
            ));
        }
        if let Some(comparison) = &report.comparison {
            let missing = comparison.iter().filter(|c| c.theory.is_none()).count();
            if missing > 0 || comparison.is_empty() {
                complete = false;
                remark(quiet, &format!("note: the theory has no solution{at} for {missing} rows"));
            }
            let trials = report.summary.as_ref().map_or(0, |summary| summary.ends[0].r.count);
            if (1..5).contains(&trials) {
                remark(quiet, &format!("note: z-scores of {trials} trials{at} mean little"));
            }
        }
    }
    Outcome::done_if(complete)
}
