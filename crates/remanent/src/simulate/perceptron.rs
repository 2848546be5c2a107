//! `remanent simulate` itself.

use clap::{Args, ValueEnum};
use remanent_lab::plan::{Case, Plan};
use remanent_lab::simulation::{
    self, CaseSummary, Comparison, Drawn, Learner, Named, Simulation, SummaryRow, TaskEnd,
    TheoryChoice, Trial,
};
use remanent_perceptron::randomness;
use remanent_plot::{Figure, Table};
use serde::Serialize;
use serde_json::{Value, json};

use super::{GradientArguments, put_count, put_list, put_text};
use crate::experiment::{ExperimentArguments, Finished};
use crate::output::{Format, Outcome, Output, remark};
use crate::theory::BranchArgument;
use crate::values::Values;

/// The arguments.
#[derive(Args)]
pub struct Perceptron {
    /// Number of weights N [default: 1000]
    #[arg(long, allow_hyphen_values = true)]
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
    #[arg(long)]
    record_every: Option<u32>,
    /// Also measures the error on so many fresh patterns of each task
    #[arg(long)]
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
    #[arg(long, help_heading = "Sampling (learner boltzmann)")]
    chains: Option<u32>,
    /// Sweeps of each task before measuring [default: 300]
    #[arg(long, help_heading = "Sampling (learner boltzmann)")]
    warmup: Option<u32>,
    /// Sweeps of each task that are measured [default: 1000]
    #[arg(long, help_heading = "Sampling (learner boltzmann)")]
    sweeps: Option<u32>,
    /// Where chains start: random, or m towards the teacher, e.g. 0.9 [default: random]
    #[arg(long, allow_hyphen_values = true, help_heading = "Sampling (learner boltzmann)")]
    start: Option<String>,
    /// Prints and plots the theory beside the simulation
    #[arg(long, value_enum, help_heading = "Theory")]
    compare: Option<With>,
    /// Inverse temperature of the theory that gradient learners are compared with [default: 20]
    #[arg(long, allow_hyphen_values = true, help_heading = "Theory")]
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
    simulation: Simulation,
    summary: CaseSummary,
    comparison: Option<Vec<Comparison>>,
    seconds: Option<f64>,
    epochs: usize,
}

/// One case in JSON.
#[derive(Serialize)]
struct CaseJson<'a> {
    config: &'a Value,
    rows: &'a [SummaryRow],
    r#final: FinalJson<'a>,
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
    last: Option<&'a TaskEnd>,
    tasks: &'a [TaskEnd],
}

impl Perceptron {
    /// Runs it.
    pub fn run(self, quiet: bool) -> anyhow::Result<Outcome> {
        self.output.check()?;
        let plan = self.experiment.plan(self.flags(), "simulate", &simulation::KEYS)?;
        let simulations: Vec<Simulation> = plan
            .cases
            .iter()
            .map(|case| Simulation::from_table(&case.table))
            .collect::<Result<_, _>>()?;
        let trials: Vec<Trial> = simulations
            .iter()
            .flat_map(|simulation| {
                (0..plan.seeds as u32).map(move |trial| Trial {
                    simulation,
                    trial: randomness::Trial { seed: plan.seed, trial },
                })
            })
            .collect();
        let config = json!({
            "seed": plan.seed,
            "cases": simulations.iter().map(Simulation::to_json).collect::<Vec<_>>(),
        });
        let Some(finished) = self.experiment.run("simulate", &config, &trials, quiet)? else {
            return Ok(Outcome::Done);
        };
        let reports = self.reports(&plan, &simulations, &trials, &finished, quiet)?;
        self.output.emit(
            &json(&reports, finished.wall_seconds),
            |format| tables(&plan.cases, &reports, format),
            || figure(&plan, &reports),
        )?;
        Ok(conclude(&plan.cases, &reports, quiet))
    }

    fn flags(&self) -> toml::Table {
        let mut flags = self.gradient.flags();
        put_count(&mut flags, "n", self.n);
        put_list(&mut flags, "alpha", &self.alpha);
        put_list(&mut flags, "r0", &self.r0);
        put_text(&mut flags, "learner", &self.learner);
        put_list(&mut flags, "gamma", &self.gamma);
        put_text(&mut flags, "prior", &self.prior);
        put_count(&mut flags, "record_every", self.record_every);
        put_count(&mut flags, "fresh_patterns", self.fresh_patterns);
        put_list(&mut flags, "q_star", &self.q_star);
        put_list(&mut flags, "beta", &self.beta);
        put_count(&mut flags, "chains", self.chains);
        put_count(&mut flags, "warmup", self.warmup);
        put_count(&mut flags, "sweeps", self.sweeps);
        put_text(&mut flags, "start", &self.start);
        super::put(&mut flags, "theory_beta", self.theory_beta);
        flags
    }

    fn reports(
        &self,
        plan: &Plan,
        simulations: &[Simulation],
        trials: &[Trial],
        finished: &Finished<Trial>,
        quiet: bool,
    ) -> anyhow::Result<Vec<Report>> {
        let chunks = finished.records.chunks(plan.seeds).zip(finished.seconds.chunks(plan.seeds));
        let mut reports = Vec::new();
        for ((simulation, (records, seconds)), trials) in
            simulations.iter().zip(chunks).zip(trials.chunks(plan.seeds))
        {
            let Some(summary) = simulation::summarise(records) else { continue };
            let comparison = match self.compare {
                None => None,
                Some(With::Theory) => {
                    let choice = TheoryChoice { branch: self.branch.into() };
                    match simulation::compare(simulation, &summary, choice) {
                        Ok(comparison) => Some(comparison),
                        Err(error) => {
                            remark(quiet, &format!("note: {error}"));
                            Some(Vec::new())
                        }
                    }
                }
            };
            let mut config = simulation.to_json();
            config["seed"] = plan.seed.into();
            config["seeds"] = plan.seeds.into();
            if self.compare.is_some() && matches!(simulation.learner, Learner::Gradient(_)) {
                config["theory_beta"] = simulation.theory_beta.into();
            }
            reports.push(Report {
                config,
                simulation: simulation.clone(),
                summary,
                comparison,
                seconds: seconds.iter().copied().sum(),
                epochs: trials.iter().map(Trial::epochs).sum(),
            });
        }
        Ok(reports)
    }
}

fn json(reports: &[Report], wall_seconds: f64) -> Value {
    let case = |report: &Report| {
        let ends = &report.summary.ends;
        let gradient = matches!(report.simulation.learner, Learner::Gradient(_));
        let samples: f64 = ends
            .iter()
            .filter_map(|end| Some(end.sampled?.mean_effective_samples * end.r.count as f64))
            .sum();
        let per_second = |amount: f64| report.seconds.map(|seconds| amount / seconds);
        json!(CaseJson {
            config: &report.config,
            rows: &report.summary.rows,
            r#final: FinalJson { last: ends.last(), tasks: ends },
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

fn tables(cases: &[Case], reports: &[Report], format: Format) -> Vec<Table> {
    let labels: Vec<String> = cases.iter().map(Case::label).collect();
    let named: Vec<Named> =
        labels.iter().map(String::as_str).zip(reports.iter().map(|r| &r.summary)).collect();
    let compared: Vec<(&str, &[Comparison])> = labels
        .iter()
        .map(String::as_str)
        .zip(reports.iter().map(|r| r.comparison.as_deref().unwrap_or_default()))
        .collect();
    let comparison = reports
        .iter()
        .any(|report| report.comparison.is_some())
        .then(|| simulation::comparison_table(&compared));
    let mut tables = Vec::new();
    if format == Format::Csv {
        tables.push(simulation::row_table(&named, None));
    } else {
        if let [(_, _)] = named.as_slice() {
            tables.push(simulation::row_table(&named, Some(SHOWN_ROWS)));
        }
        tables.push(simulation::end_table(&named));
        tables.extend(simulation::sampling_table(&named));
    }
    tables.extend(comparison);
    tables
}

fn figure(plan: &Plan, reports: &[Report]) -> Figure {
    let drawn: Vec<Drawn> = plan
        .cases
        .iter()
        .zip(reports)
        .map(|(case, report)| Drawn {
            case,
            simulation: &report.simulation,
            summary: &report.summary,
            comparison: report.comparison.as_deref().unwrap_or_default(),
        })
        .collect();
    simulation::figure(&drawn, plan.title.as_deref())
}

/// Says which cases have not been sampled well enough.
fn conclude(cases: &[Case], reports: &[Report], quiet: bool) -> Outcome {
    let mut mixed = true;
    for (case, report) in cases.iter().zip(reports) {
        let unmixed = report.summary.unmixed();
        if unmixed > 0 {
            mixed = false;
            let trials = report.summary.ends[0].r.count;
            let label = match case.label() {
                label if label.is_empty() => String::new(),
                label => format!(" at {label}"),
            };
            remark(
                quiet,
                &format!(
                    "note: the chains of {unmixed} of {trials} trials{label} have not mixed (R-hat \
                     above 1.1, or fewer than 50 effective samples): the averages are not those \
                     of equilibrium; take more --warmup and --sweeps, or see whether replica \
                     symmetry holds there"
                ),
            );
        }
    }
    Outcome::done_if(mixed)
}
