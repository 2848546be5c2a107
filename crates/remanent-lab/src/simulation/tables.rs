//! Tables of simulations: over time, at the ends of tasks, of the sampler, and beside the theory.

use remanent_math::statistics::Summary;
use remanent_plot::{Cell, Table};

use crate::simulation::compare::Comparison;
use crate::simulation::summary::{CaseSummary, SummaryRow};

/// A named case; the name is empty if there is one case only.
pub type Named<'a> = (&'a str, &'a CaseSummary);

fn whole(value: usize) -> Cell {
    Cell::Integer(value as i64)
}

/// Headers, with one for the case if there are several.
fn headers(cases: usize, rest: impl IntoIterator<Item = String>) -> Vec<String> {
    let case = (cases > 1).then(|| "case".to_owned());
    case.into_iter().chain(rest).collect()
}

fn named(cases: usize, name: &str, rest: Vec<Cell>) -> Vec<Cell> {
    let case = (cases > 1).then(|| Cell::from(name));
    case.into_iter().chain(rest).collect()
}

fn tasks(cases: &[Named]) -> usize {
    cases.iter().map(|(_, summary)| summary.ends.len()).max().unwrap_or(0)
}

/// One entry per task, missing ones filled up.
fn per_task(values: impl Iterator<Item = Cell>, tasks: usize) -> impl Iterator<Item = Cell> {
    values.chain(std::iter::repeat(Cell::Missing)).take(tasks)
}

/// Everything that was recorded over time, or at most `most` rows of each case.
pub fn row_table(cases: &[Named], most: Option<usize>) -> Table {
    let tasks = tasks(cases);
    let fresh = cases.iter().any(|(_, s)| s.rows.iter().any(|row| !row.eps_fresh.is_empty()));
    let numbered = |name: &str| (1..=tasks).map(|t| format!("{name}.{t}")).collect::<Vec<_>>();
    let mut names = vec!["epoch".to_owned(), "task".to_owned()];
    names.extend(numbered("eps"));
    names.extend(numbered("eps_se"));
    if most.is_none() {
        names.extend(numbered("eps_min"));
        names.extend(numbered("eps_max"));
    }
    if fresh {
        names.extend(numbered("eps_fresh"));
        names.extend(numbered("eps_fresh_se"));
    }
    for name in ["q_star", "r", "p", "q_com", "loss", "kl"] {
        names.push(name.to_owned());
        if most.is_none() {
            names.push(format!("{name}_se"));
        }
    }
    let mut table = Table::new(headers(cases.len(), names));
    for (name, summary) in cases {
        let stride = most.map_or(1, |most| summary.rows.len().div_ceil(most).max(1));
        let ends: Vec<usize> = summary.ends.iter().map(|end| end.epoch).collect();
        let shown = |(index, row): &(usize, &SummaryRow)| {
            index.is_multiple_of(stride) || ends.contains(&row.epoch)
        };
        for (_, row) in summary.rows.iter().enumerate().filter(shown) {
            let mut cells = vec![whole(row.epoch), whole(row.task)];
            cells.extend(per_task(row.eps.iter().map(|&v| v.into()), tasks));
            cells.extend(per_task(row.eps_se.iter().map(|&v| v.into()), tasks));
            if most.is_none() {
                cells.extend(per_task(row.eps_min.iter().map(|&v| v.into()), tasks));
                cells.extend(per_task(row.eps_max.iter().map(|&v| v.into()), tasks));
            }
            if fresh {
                cells.extend(per_task(row.eps_fresh.iter().map(|&v| v.into()), tasks));
                cells.extend(per_task(row.eps_fresh_se.iter().map(|&v| v.into()), tasks));
            }
            for (mean, error) in [
                (Some(row.q_star), row.q_star_se),
                (Some(row.r), row.r_se),
                (Some(row.p), row.p_se),
                (row.q_com, row.q_com_se),
                (Some(row.loss), row.loss_se),
                (Some(row.kl), row.kl_se),
            ] {
                cells.push(mean.into());
                if most.is_none() {
                    cells.push(error.into());
                }
            }
            table.push(named(cases.len(), name, cells));
        }
    }
    table
}

/// `0.1234 ± 0.0012`.
pub(crate) fn with_error(summary: &Summary) -> Cell {
    let digits = match summary.standard_error {
        Some(error) if error > 0.0 => (1.0 - error.log10().floor()).clamp(2.0, 8.0) as usize,
        _ => 4,
    };
    match summary.standard_error {
        Some(error) => format!("{:.digits$} ± {error:.digits$}", summary.mean),
        None => format!("{:.digits$}", summary.mean),
    }
    .into()
}

/// The end of every task: mean ± standard error.
pub fn end_table(cases: &[Named]) -> Table {
    let tasks = tasks(cases);
    let names = ["after task".to_owned(), "epoch".to_owned(), "trials".to_owned()]
        .into_iter()
        .chain((1..=tasks).map(|t| format!("eps_{t}")))
        .chain(["q_star", "r", "p", "q_com"].map(str::to_owned));
    let mut table = Table::new(headers(cases.len(), names));
    for (name, summary) in cases {
        for end in &summary.ends {
            let mut cells = vec![whole(end.task), whole(end.epoch), whole(end.r.count)];
            cells.extend(per_task(end.eps.iter().map(with_error), tasks));
            cells.extend([&end.q_star, &end.r, &end.p].map(with_error));
            cells.push(end.q_com.as_ref().map_or(Cell::Missing, with_error));
            table.push(named(cases.len(), name, cells));
        }
    }
    table
}

/// How well a sampler has sampled; none if nothing was sampled.
pub fn sampling_table(cases: &[Named]) -> Option<Table> {
    let names = [
        "task",
        "q_d",
        "q_0",
        "R-hat",
        "autocorrelation",
        "effective samples",
        "acceptance",
        "not mixed",
    ];
    let mut table = Table::new(headers(cases.len(), names.map(str::to_owned)));
    for (name, summary) in cases {
        for end in &summary.ends {
            if let Some(sampled) = &end.sampled {
                let cells = vec![
                    whole(end.task),
                    with_error(&sampled.q_d),
                    with_error(&sampled.q_0),
                    sampled.r_hat.into(),
                    sampled.autocorrelation_time.into(),
                    sampled.effective_samples.into(),
                    sampled.acceptance.into(),
                    format!("{} of {}", sampled.unmixed, end.r.count).into(),
                ];
                table.push(named(cases.len(), name, cells));
            }
        }
    }
    (!table.rows().is_empty()).then_some(table)
}

/// Theory beside simulation.
pub fn comparison_table(cases: &[(&str, &[Comparison])]) -> Table {
    let slow = cases.iter().any(|(_, c)| c.iter().any(|c| c.q_star.is_some()));
    let mut names = vec!["against", "task", "quantity"];
    if slow {
        names.push("q_star");
    }
    names.extend(["theory", "simulation", "standard_error", "z"]);
    let mut table =
        Table::new(headers(cases.len(), names.into_iter().map(str::to_owned).collect::<Vec<_>>()));
    for (name, comparisons) in cases {
        for c in *comparisons {
            let mut cells =
                vec![c.against.name().into(), whole(c.task), c.quantity.as_str().into()];
            if slow {
                cells.push(c.q_star.into());
            }
            cells.extend([
                c.theory.into(),
                c.simulation.into(),
                c.standard_error.into(),
                c.z.map(|z| (100.0 * z).round() / 100.0).into(),
            ]);
            table.push(named(cases.len(), name, cells));
        }
    }
    table
}
