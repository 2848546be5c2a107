//! Figure 2d: the overlap with what both teachers share.

use remanent_plot::{Axis, Color, Figure, Panel, Table, VerticalLine};

use super::ways::{Way, cases, switch};
use super::words::{also, decides, error};
use crate::lines::{self, Measured};
use crate::reproduce::results::{Results, Shown, Simulated};
use crate::simulation::SummaryRow;

/// How q_com goes after the change of task.
struct Dip {
    at_switch: f64,
    /// Where it is lowest after that.
    lowest: f64,
    /// The largest fall within one recorded interval.
    fall: f64,
    /// How much it then rises in a thousand epochs, on average until the end.
    rise: f64,
    end: f64,
}

impl Dip {
    fn of(case: &Simulated) -> Option<Self> {
        let rows = case.summary.rows.iter().filter(|row| row.epoch >= switch(case));
        let after: Vec<(f64, f64)> =
            rows.filter_map(|row| Some((row.epoch as f64, row.q_com?))).collect();
        let (first, end) = (after.first()?, after.last()?);
        let lowest = after.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Self {
            at_switch: first.1,
            lowest: lowest.1,
            fall: after.windows(2).map(|pair| pair[0].1 - pair[1].1).fold(0.0, f64::max),
            rise: 1000.0 * (end.1 - lowest.1) / (end.0 - lowest.0),
            end: end.1,
        })
    }
}

/// Figure 2d.
pub fn show(results: &Results) -> Option<Shown> {
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
        let measured = rows.iter().filter_map(|row| {
            Some(Measured { x: row.epoch as f64, mean: row.q_com?, error: row.q_com_se })
        });
        let measured: Vec<Measured> = measured.collect();
        let name = match Way::of(case)? {
            Way::Variational => "field space, with KL",
            Way::Traditional => "magnetisation space, no KL",
            way => way.name(),
        };
        lines::draw(&mut panel, &measured, |line| line.label(name).color(Color::Palette(color)));
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
                error(free.fall),
                error(kl.fall)
            ),
            free.fall > kl.fall,
        ),
        decides(
            format!(
                "without it the overlap rises again more rapidly: by {} in a thousand epochs, against {}",
                error(free.rise),
                error(kl.rise)
            ),
            free.rise > kl.rise,
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
                error(old.fall),
                error(old.end)
            ),
            old.fall > kl.fall && old.end > kl.end,
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
