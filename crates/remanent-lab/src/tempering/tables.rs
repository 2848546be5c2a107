//! Tables of parallel tempering.

use remanent_math::statistics::Summary;
use remanent_plot::{Cell, Table};

use crate::simulation::with_error;
use crate::tempering::compare::Comparison;
use crate::tempering::summary::TemperingSummary;

fn whole(value: usize) -> Cell {
    Cell::Integer(value as i64)
}

fn rounded(value: f64, digits: i32) -> Cell {
    let scale = 10f64.powi(digits);
    ((value * scale).round() / scale).into()
}

/// The results of all cases for a terminal.
pub fn result_table(cases: &[&TemperingSummary]) -> Table {
    let mut table =
        Table::new(["n", "alpha", "beta", "draws", "q_d", "q", "r", "eps", "energy", "status"]);
    for case in cases {
        table.push(vec![
            whole(case.n),
            case.alpha.into(),
            case.beta.into(),
            whole(case.draws),
            with_error(&case.all.q_d),
            case.all.q.as_ref().map_or(Cell::Missing, with_error),
            with_error(&case.all.r),
            with_error(&case.eps),
            with_error(&case.all.energy),
            case.status().into(),
        ]);
    }
    table
}

/// How well all cases were sampled.
pub fn quality_table(cases: &[&TemperingSummary]) -> Table {
    let mut table = Table::new([
        "n",
        "alpha",
        "temperatures",
        "exchange",
        "round trips",
        "R-hat",
        "autocorrelation",
        "effective samples",
        "starts z(q_d)",
        "z(r)",
        "z(energy)",
        "fluctuations z",
    ]);
    let score = |z: Option<f64>| z.map_or(Cell::Missing, |z| rounded(z, 2));
    for case in cases {
        let [q_d, r, energy] = case.starts.map(|start| score(start.z));
        table.push(vec![
            whole(case.n),
            case.alpha.into(),
            rounded(case.temperatures, 1),
            format!("{:.2} (at least {:.2})", case.exchange[1], case.exchange[0]).into(),
            format!("{:.0} (at least {:.0})", case.round_trips[1], case.round_trips[0]).into(),
            rounded(case.r_hat, 3),
            rounded(case.autocorrelation_time, 0),
            rounded(case.effective_samples, 0),
            q_d,
            r,
            energy,
            score(case.fluctuations.z),
        ]);
    }
    table
}

/// Everything about all cases, one row each.
pub fn full_table(cases: &[&TemperingSummary]) -> Table {
    let means = ["q_d", "q", "r", "p", "eps", "energy", "energy_per_pattern", "phi_difference"];
    let starts = ["random", "planted"].into_iter().flat_map(|start| {
        ["q_d", "q", "r", "energy"].into_iter().map(move |name| format!("{name}_{start}"))
    });
    let names = ["n", "alpha", "beta", "beta_low", "draws", "status"].map(str::to_owned);
    let both = |name: String| [name.clone(), format!("{name}_se")];
    let rest = [
        "q_variance",
        "q_variance_within",
        "start_z_q_d",
        "start_z_r",
        "start_z_energy",
        "fluctuations",
        "fluctuations_z",
        "temperatures",
        "exchange",
        "exchange_min",
        "acceptance",
        "round_trips",
        "round_trips_min",
        "r_hat",
        "autocorrelation_time",
        "hot_autocorrelation_time",
        "effective_samples",
        "mean_effective_samples",
        "not_equilibrated",
    ];
    let columns = names
        .into_iter()
        .chain(means.map(str::to_owned).into_iter().chain(starts).flat_map(both))
        .chain(rest.map(str::to_owned));
    let mut table = Table::new(columns);
    for case in cases {
        let mut cells: Vec<Cell> = vec![
            whole(case.n),
            case.alpha.into(),
            case.beta.into(),
            case.beta_low.into(),
            whole(case.draws),
            case.status().into(),
        ];
        let (all, random, planted) = (&case.all, &case.random, &case.planted);
        let mut push = |value: Option<Summary>| {
            cells.push(value.map(|v| v.mean).into());
            cells.push(value.and_then(|v| v.standard_error).into());
        };
        for value in [Some(all.q_d), all.q, Some(all.r), Some(all.p), Some(case.eps)] {
            push(value);
        }
        for value in [all.energy, case.energy_per_pattern, case.phi_difference] {
            push(Some(value));
        }
        for start in [random, planted] {
            for value in [Some(start.q_d), start.q, Some(start.r), Some(start.energy)] {
                push(value);
            }
        }
        cells.extend([case.q_variance.into(), case.q_variance_within.into()]);
        cells.extend(case.starts.map(|start| start.z.into()));
        cells.extend([case.fluctuations.difference.mean.into(), case.fluctuations.z.into()]);
        cells.extend(
            [
                case.temperatures,
                case.exchange[1],
                case.exchange[0],
                case.acceptance,
                case.round_trips[1],
                case.round_trips[0],
                case.r_hat,
                case.autocorrelation_time,
                case.hot_autocorrelation_time,
                case.effective_samples,
                case.mean_effective_samples,
            ]
            .map(Cell::from),
        );
        cells.push(whole(case.not_equilibrated));
        table.push(cells);
    }
    table
}

/// P(q) of all cases.
pub fn overlap_table(cases: &[&TemperingSummary]) -> Table {
    let mut table = Table::new(["n", "alpha", "beta", "q", "density", "density_se"]);
    for case in cases {
        for bin in &case.overlaps {
            table.push(vec![
                whole(case.n),
                case.alpha.into(),
                case.beta.into(),
                rounded(bin.q, 4),
                bin.density.into(),
                bin.standard_error.into(),
            ]);
        }
    }
    table
}

/// Theory beside samples.
pub fn comparison_table(cases: &[(&TemperingSummary, &[Comparison])]) -> Table {
    let names =
        ["n", "alpha", "beta", "rsb", "quantity", "theory", "simulation", "standard_error", "z"];
    let mut table = Table::new(names.into_iter().chain(["status"]));
    for (case, rows) in cases {
        for row in *rows {
            table.push(vec![
                whole(case.n),
                case.alpha.into(),
                case.beta.into(),
                whole(row.steps),
                row.quantity.into(),
                row.theory.into(),
                row.simulation.into(),
                row.standard_error.into(),
                row.z.map(|z| (100.0 * z).round() / 100.0).into(),
                case.status().into(),
            ]);
        }
    }
    table
}
