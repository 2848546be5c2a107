//! Figure 8: the uncertainty of each layer.

use remanent_plot::{Axis, Color, Figure, Inset, Panel, Table};

use super::words::{also, decides, error, list};
use crate::lines::{self, Measured};
use crate::reproduce::results::{Results, Shown, Trained};
use crate::training::{EpochSummary, Mean, mark_switches};

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let case = results.trained.first()?;
    let epochs = &case.summary.epochs;
    let layers = epochs.first()?.uncertainty.len();
    let first_task = epochs.iter().filter(|epoch| epoch.task == 1).count();
    let layer = |index: usize, from: usize| -> Vec<Measured> {
        epochs[from..].iter().map(|e| e.uncertainty[index].at(e.epoch as f64)).collect()
    };
    let mut panel = Panel::new(
        "mean uncertainty of each layer",
        Axis::linear("epoch"),
        Axis::linear("⟨σ²⟩").lower(0.0),
    );
    mark_switches(&mut panel, &case.summary);
    let mut inset = Panel::new("", Axis::linear(""), Axis::linear(""));
    let mut table =
        Table::new(["epoch", "learning_task", "layer", "uncertainty", "uncertainty_se"]);
    for index in 0..layers {
        let color = Color::Palette(index);
        let name = format!("layer {}", index + 1);
        lines::draw(&mut panel, &layer(index, 0), |line| line.color(color).label(name.clone()));
        lines::draw(&mut inset, &layer(index, first_task), |line| line.color(color));
        for epoch in epochs {
            let mean = epoch.uncertainty[index];
            table.push(vec![
                (epoch.epoch as i64).into(),
                (epoch.task as i64).into(),
                (index as i64 + 1).into(),
                mean.mean.into(),
                mean.standard_error.into(),
            ]);
        }
    }
    panel.push_inset(Inset::new(inset).place(0.42, 0.40, 0.55, 0.50));

    let ends = |index: usize| {
        Some((epochs.first()?.uncertainty[index].mean, epochs.last()?.uncertainty[index].mean))
    };
    let falls: Vec<(f64, f64)> = (0..layers).map(ends).collect::<Option<_>>()?;
    let (rises, switches) = rises(case);
    let last = falls.last()?.1;
    let said: Vec<String> = falls
        .iter()
        .enumerate()
        .map(|(index, (from, to))| {
            format!("from {} to {} in layer {}", error(*from), error(*to), index + 1)
        })
        .collect();
    Some(Shown {
        figure: Figure::single(panel),
        table,
        found: format!(
            "⟨σ²⟩ goes {} from the end of the first epoch to that of the last; it rises at {rises} of {switches} changes of task.",
            list(&said)
        ),
        checks: vec![
            decides("the uncertainty of every layer falls from the first epoch to the last", falls.iter().all(|(from, to)| to < from)),
            decides(
                format!("that of the last layer, {}, is the lowest at the end", error(last)),
                falls.iter().all(|(_, to)| *to >= last),
            ),
            also(format!("it rises after every change of task ({rises} of {switches})"), rises == switches),
        ],
        notes: vec![
            "What the paper calls ⟨σ⟩ is the mean of σ². Inset: after the first task.".into(),
            "A rise counts if the mean over layers is higher one epoch after the change than before it.".into(),
        ],
    })
}

/// After how many changes of task the uncertainty rises, and how many changes there are.
fn rises(case: &Trained) -> (usize, usize) {
    let switches: Vec<_> =
        case.summary.epochs.windows(2).filter(|pair| pair[0].task != pair[1].task).collect();
    let mean = |means: &[Mean]| means.iter().map(|m| m.mean).sum::<f64>() / means.len() as f64;
    let rising = |pair: &&&[_]| {
        let pair: &[EpochSummary] = pair;
        mean(&pair[1].uncertainty) > mean(&pair[0].uncertainty)
    };
    (switches.iter().filter(rising).count(), switches.len())
}
