//! Figures 2b, 2c and 2d: two tasks over time, by three algorithms.

use remanent_perceptron::student::Space;
use remanent_plot::{Axis, Band, Color, Curve, Dash, Figure, Panel, Table, VerticalLine};

use super::words::{also, decides, error, list};
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::simulation::{Learner, SummaryRow};

/// How a case learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// In field space with the KL term.
    Variational,
    /// In field space without it.
    WithoutKl,
    /// In magnetisation space without it.
    Traditional,
    /// The second task alone.
    Isolated,
}

impl Way {
    fn of(case: &Simulated) -> Option<Self> {
        let Learner::Gradient(learner) = &case.simulation.learner else { return None };
        Some(match (case.simulation.setting.alpha.len(), learner.space) {
            (1, _) => Self::Isolated,
            (_, Space::Magnetisation) => Self::Traditional,
            _ if learner.gamma == [0.0] => Self::WithoutKl,
            _ => Self::Variational,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Variational => "variational",
            Self::WithoutKl => "field space, no KL",
            Self::Traditional => "traditional",
            Self::Isolated => "task 2 alone",
        }
    }

    fn dash(self) -> Dash {
        match self {
            Self::Variational | Self::WithoutKl => Dash::Solid,
            Self::Traditional => Dash::Dashed,
            Self::Isolated => Dash::Dotted,
        }
    }
}

/// α of the second task, or of the only one.
fn alpha_2(case: &Simulated) -> f64 {
    *case.simulation.setting.alpha.last().unwrap_or(&f64::NAN)
}

fn cases(results: &Results, way: Way) -> Vec<&Simulated> {
    results.simulated.iter().filter(|case| Way::of(case) == Some(way)).collect()
}

/// The epoch at which the task changes.
fn switch(case: &Simulated) -> usize {
    case.summary.ends[0].epoch
}

fn last(case: &Simulated) -> Option<&SummaryRow> {
    case.summary.rows.last()
}

/// Draws the error on one task over time. A task that is learned alone begins where the tasks change.
fn draw(panel: &mut Panel, case: &Simulated, task: usize, offset: usize, color: usize) {
    let Some(way) = Way::of(case) else { return };
    let rows = &case.summary.rows;
    let x: Vec<f64> = rows.iter().map(|row| (row.epoch + offset) as f64).collect();
    let of = |values: fn(&SummaryRow) -> &Vec<f64>| -> Vec<f64> {
        rows.iter().map(|row| values(row)[task]).collect()
    };
    let color = Color::Palette(color);
    if way == Way::Variational {
        panel.push(
            Band::new(x.clone(), of(|row| &row.eps_min), of(|row| &row.eps_max)).color(color),
        );
    }
    let label = format!("{}, α_2 = {}", way.name(), alpha_2(case));
    panel.push(Curve::new(x, of(|row| &row.eps)).label(label).color(color).dash(way.dash()));
}

fn table(cases: &[&Simulated], task: usize) -> Table {
    let mut table =
        Table::new(["algorithm", "alpha_2", "epoch", "eps", "eps_se", "eps_min", "eps_max"]);
    for case in cases {
        let task = if Way::of(case) == Some(Way::Isolated) { 0 } else { task };
        for row in &case.summary.rows {
            table.push(vec![
                Way::of(case).map_or("", Way::name).into(),
                alpha_2(case).into(),
                (row.epoch as i64).into(),
                row.eps[task].into(),
                row.eps_se[task].into(),
                row.eps_min[task].into(),
                row.eps_max[task].into(),
            ]);
        }
    }
    table
}

fn by_alpha(cases: &[&Simulated], task: usize) -> String {
    let parts: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            Some(format!("{} (α_2 = {})", error(last(case)?.eps[task]), alpha_2(case)))
        })
        .collect();
    list(&parts)
}

const RATE: &str = "Ours: the learning rate in magnetisation space, which no source states.";

/// Figure 2b.
pub fn show_first(results: &Results) -> Option<Shown> {
    let variational = cases(results, Way::Variational);
    let traditional = cases(results, Way::Traditional);
    let epoch = switch(variational.first()?);
    let mut panel =
        Panel::new("error of task 1", Axis::linear("epoch"), Axis::linear("ε_1").range(0.0, 0.55));
    panel.push(VerticalLine::new(epoch as f64));
    let shown: Vec<&Simulated> = variational.iter().chain(&traditional).copied().collect();
    for group in [&variational, &traditional] {
        group.iter().enumerate().for_each(|(color, case)| draw(&mut panel, case, 0, 0, color));
    }
    let mut checks = Vec::new();
    for (case, other) in variational.iter().zip(&traditional) {
        let alpha = alpha_2(case);
        let before = case.summary.ends[0].eps[0].mean;
        let after = last(case)?.eps[0];
        checks.push(decides(
            format!(
                "α_2 = {alpha}: the error rises when the task changes, from {} to {}",
                error(before),
                error(after)
            ),
            after > before,
        ));
        let rows = &case.summary.rows;
        let late =
            rows.iter().find(|row| row.epoch * 10 >= last(case).map_or(0, |l| l.epoch) * 9)?.eps[0];
        let drift = (after - late).abs();
        checks.push(decides(
            format!(
                "α_2 = {alpha}: it is stable, changing by {} over the last tenth of training",
                error(drift)
            ),
            drift < 0.01,
        ));
        let forgets = last(other)?.eps[0];
        checks.push(also(
            format!(
                "α_2 = {alpha}: traditional SGD forgets more, {} against {}",
                error(forgets),
                error(after)
            ),
            forgets > after,
        ));
    }
    Some(Shown {
        figure: Figure::single(panel),
        table: table(&shown, 0),
        found: format!(
            "At the end the error of the first task is {} with the KL term, and {} with traditional SGD.",
            by_alpha(&variational, 0),
            by_alpha(&traditional, 0)
        ),
        checks,
        notes: vec![RATE.into()],
    })
}

/// Figure 2c.
pub fn show_second(results: &Results) -> Option<Shown> {
    let variational = cases(results, Way::Variational);
    let traditional = cases(results, Way::Traditional);
    let isolated = cases(results, Way::Isolated);
    let epoch = switch(variational.first()?);
    let mut panel =
        Panel::new("error of task 2", Axis::linear("epoch"), Axis::linear("ε_2").range(0.0, 0.55));
    panel.push(VerticalLine::new(epoch as f64));
    for (group, task, offset) in [(&variational, 1, 0), (&traditional, 1, 0), (&isolated, 0, epoch)]
    {
        group.iter().enumerate().for_each(|(color, case)| {
            draw(&mut panel, case, task, offset, color);
        });
    }
    let mut checks = Vec::new();
    for (case, alone) in variational.iter().zip(&isolated) {
        let (alpha, after, best) = (alpha_2(case), last(case)?.eps[1], last(alone)?.eps[0]);
        let before = case.summary.ends[0].eps[1].mean;
        checks.push(decides(
            format!("α_2 = {alpha}: the error falls from {} to {}", error(before), error(after)),
            after < before - 0.01,
        ));
        checks.push(decides(
            format!("α_2 = {alpha}: it stays above {} of the task alone", error(best)),
            after > best,
        ));
    }
    let ends: Vec<f64> = variational.iter().filter_map(|case| Some(last(case)?.eps[1])).collect();
    checks.push(decides(
        "more examples give a lower error",
        ends.windows(2).all(|pair| pair[1] < pair[0]),
    ));
    let shown: Vec<&Simulated> =
        variational.iter().chain(&traditional).chain(&isolated).copied().collect();
    Some(Shown {
        figure: Figure::single(panel),
        table: table(&shown, 1),
        found: format!(
            "At the end the error of the second task is {} after the first, and {} alone.",
            by_alpha(&variational, 1),
            by_alpha(&isolated, 0)
        ),
        checks,
        notes: vec![RATE.into()],
    })
}

/// How q_com goes after the change of task.
struct Dip {
    at_switch: f64,
    /// Where it is lowest after that.
    lowest: f64,
    /// The largest fall within one recorded interval.
    steepest: f64,
    end: f64,
}

impl Dip {
    fn of(case: &Simulated) -> Option<Self> {
        let epoch = switch(case);
        let after: Vec<f64> = case
            .summary
            .rows
            .iter()
            .filter(|row| row.epoch >= epoch)
            .filter_map(|row| row.q_com)
            .collect();
        let falls = after.windows(2).map(|pair| pair[0] - pair[1]);
        Some(Self {
            at_switch: *after.first()?,
            lowest: after.iter().copied().fold(f64::INFINITY, f64::min),
            steepest: falls.fold(0.0, f64::max),
            end: *after.last()?,
        })
    }
}

/// Figure 2d.
pub fn show_overlap(results: &Results) -> Option<Shown> {
    let of = |way| cases(results, way).first().copied();
    let (with, without, traditional) =
        (of(Way::Variational)?, of(Way::WithoutKl)?, of(Way::Traditional)?);
    let mut panel =
        Panel::new("overlap with the common part", Axis::linear("epoch"), Axis::linear("q_{com}"));
    panel.push(VerticalLine::new(switch(with) as f64));
    let mut table = Table::new(["algorithm", "epoch", "q_com", "q_com_se"]);
    for (color, case) in [with, without, traditional].into_iter().enumerate() {
        let rows: Vec<&SummaryRow> =
            case.summary.rows.iter().filter(|row| row.q_com.is_some()).collect();
        let x: Vec<f64> = rows.iter().map(|row| row.epoch as f64).collect();
        let y: Vec<f64> = rows.iter().filter_map(|row| row.q_com).collect();
        let se: Vec<f64> = rows.iter().map(|row| row.q_com_se.unwrap_or(0.0)).collect();
        let color = Color::Palette(color);
        let edge = |sign: f64| y.iter().zip(&se).map(|(y, se)| y + sign * se).collect();
        panel.push(Band::new(x.clone(), edge(-1.0), edge(1.0)).color(color));
        let name = match Way::of(case)? {
            Way::Variational => "field space, with KL",
            Way::Traditional => "magnetisation space, no KL",
            way => way.name(),
        };
        panel.push(Curve::new(x, y).label(name).color(color));
        for row in rows {
            table.push(vec![
                name.into(),
                (row.epoch as i64).into(),
                row.q_com.into(),
                row.q_com_se.into(),
            ]);
        }
    }
    let (kl, free, old) = (Dip::of(with)?, Dip::of(without)?, Dip::of(traditional)?);
    let checks = vec![
        decides(
            format!(
                "without the KL term the overlap falls more sharply: {} within one recorded interval, against {}",
                error(free.steepest),
                error(kl.steepest)
            ),
            free.steepest > kl.steepest,
        ),
        decides(
            format!(
                "without it the overlap rises again by {}, with it by {}",
                error(free.end - free.lowest),
                error(kl.end - kl.lowest)
            ),
            free.end - free.lowest > kl.end - kl.lowest,
        ),
        also(
            format!(
                "with it the overlap ends lower: {} against {}",
                error(kl.end),
                error(free.end)
            ),
            kl.end < free.end,
        ),
        also(
            format!(
                "the same holds for traditional gradient descent: it falls by {} within one interval and ends at {}",
                error(old.steepest),
                error(old.end)
            ),
            old.steepest > kl.steepest && old.end > kl.end,
        ),
    ];
    Some(Shown {
        figure: Figure::single(panel),
        table,
        found: format!(
            "From {} at the change of task the overlap falls to {} without the KL term and ends at {}; with it, it \
             falls to {} and ends at {}.",
            error(free.at_switch),
            error(free.lowest),
            error(free.end),
            error(kl.lowest),
            error(kl.end)
        ),
        checks,
        notes: vec!["Ours: the learning rates, which no source states.".into()],
    })
}
