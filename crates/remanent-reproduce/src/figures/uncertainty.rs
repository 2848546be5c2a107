//! Figure 8: the uncertainty of each layer.

use remanent_plot::{Axis, Color, Figure, Inset, Panel, Table};
use serde::{Deserialize, Serialize};

use super::words::list;
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};
use remanent_lab::lines;
use remanent_lab::training::{EpochRow, EpochSummary, TrialRecord, mark_switches};

/// Figure 8.
pub struct Uncertainty;

/// ⟨σ²⟩ at the moments that matter, trial by trial, and what weights contribute to the divergence.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// From the first layer on.
    layers: Vec<Layer>,
    switches: Vec<Switch>,
    divergence: Option<Divergence>,
}

/// ⟨σ²⟩ of a layer, of every trial.
#[derive(Serialize, Deserialize)]
struct Layer {
    after_first_epoch: Vec<f64>,
    at_end: Vec<f64>,
}

/// ⟨σ²⟩, averaged over layers, around a change of task, of every trial.
#[derive(Serialize, Deserialize)]
struct Switch {
    /// The new task, from 1.
    to: usize,
    /// At the end of the task before.
    before: Vec<f64>,
    /// One epoch later.
    after: Vec<f64>,
    /// At the end of the new task.
    end: Vec<f64>,
}

/// KL of the last step of an epoch, a weight, averaged over the epochs after the first task, of every
/// trial. A record has it by tenths of σ², without the number of weights in each: tenths that hold
/// weights count the same.
#[derive(Serialize, Deserialize)]
struct Divergence {
    /// Of weights with σ² above 0.5.
    uncertain: Vec<f64>,
    /// Of weights with σ² below 0.5.
    certain: Vec<f64>,
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Estimate::of(values).map(|estimate| estimate.value)
}

/// A number of every trial.
fn each(trials: &[TrialRecord], of: impl Fn(&[EpochRow]) -> Option<f64>) -> Option<Vec<f64>> {
    trials.iter().map(|trial| of(&trial.epochs)).collect()
}

impl Switch {
    fn of(trials: &[TrialRecord], at: usize) -> Option<Self> {
        let epochs = &trials.first()?.epochs;
        let to = epochs.get(at)?.task;
        let end = epochs.iter().rposition(|epoch| epoch.task == to)?;
        let level = |epoch: usize| {
            each(trials, |epochs| mean(epochs.get(epoch)?.uncertainty.iter().copied()))
        };
        Some(Self { to, before: level(at - 1)?, after: level(at)?, end: level(end)? })
    }
}

impl Divergence {
    fn of(trials: &[TrialRecord]) -> Option<Self> {
        let (mut uncertain, mut certain) = (Vec::new(), Vec::new());
        for trial in trials {
            let (high, low) = divergences(&trial.epochs)?;
            uncertain.push(high);
            certain.push(low);
        }
        Some(Self { uncertain, certain })
    }
}

/// The divergence a weight of uncertain weights and of others, over the epochs after the first task in
/// which there are both.
fn divergences(epochs: &[EpochRow]) -> Option<(f64, f64)> {
    let halves = epochs.iter().filter(|epoch| epoch.task > 1).filter_map(|epoch| {
        let tenths = &epoch.divergence_by_variance;
        let (low, high) = tenths.split_at(tenths.len() / 2);
        Some((mean(high.iter().flatten().copied())?, mean(low.iter().flatten().copied())?))
    });
    let (high, low): (Vec<f64>, Vec<f64>) = halves.unzip();
    Some((mean(high)?, mean(low)?))
}

impl Measured {
    fn falls(&self) -> Claim {
        let tests = self.layers.iter().enumerate().map(|(index, layer)| {
            let quantity =
                format!("layer {}: ⟨σ²⟩ after the last epoch less that after the first", index + 1);
            let change = Estimate::paired(&layer.at_end, &layer.after_first_epoch);
            Test::below(quantity, change, Threshold::ZERO)
        });
        Claim::new("The mean uncertainty falls during continual learning.", PLACE, tests.collect())
    }

    fn rises_and_drops(&self) -> Claim {
        let tests = self.switches.iter().flat_map(|switch| {
            let to = switch.to;
            let rise = Test::above(
                format!(
                    "task {to}: ⟨σ²⟩, mean over layers, one epoch after the switch less that before"
                ),
                Estimate::paired(&switch.after, &switch.before),
                Threshold::ZERO,
            );
            let drop = Test::below(
                format!(
                    "task {to}: ⟨σ²⟩, mean over layers, at its end less one epoch after the switch"
                ),
                Estimate::paired(&switch.end, &switch.after),
                Threshold::ZERO,
            );
            [rise, drop]
        });
        Claim::new(
            "The uncertainty rises a little after each switch, then drops again.",
            PLACE,
            tests.collect(),
        )
    }

    fn last_is_lowest(&self) -> Claim {
        let (last, others) = match self.layers.split_last() {
            Some((last, others)) => (Some(last), others),
            None => (None, &[][..]),
        };
        let tests = others.iter().enumerate().map(|(index, layer)| {
            let quantity =
                format!("at the end: ⟨σ²⟩ of layer {} less that of the last layer", index + 1);
            let more = last.and_then(|last| Estimate::paired(&layer.at_end, &last.at_end));
            Test::above(quantity, more, Threshold::ZERO)
        });
        Claim::new("The last layer keeps a low level.", PLACE, tests.collect())
    }

    fn uncertain_weights_move(&self) -> Claim {
        let more = self.divergence.as_ref();
        let more = more.and_then(|d| Estimate::paired(&d.uncertain, &d.certain));
        let quantity = "KL of the last step a weight, averaged over the epochs after the first task: weights with σ² above \
                        0.5 less those below";
        Claim::new(
            "Weights of larger uncertainty contribute more to the change of the KL divergence.",
            PLACE,
            vec![Test::above(quantity, more, Threshold::ZERO)],
        )
    }

    fn found(&self) -> String {
        let text = |trials: &[f64]| {
            Estimate::of(trials.iter().copied()).map_or("unknown".into(), |level| level.text())
        };
        let levels: Vec<String> = self
            .layers
            .iter()
            .enumerate()
            .map(|(index, layer)| {
                let (from, to) = (text(&layer.after_first_epoch), text(&layer.at_end));
                format!("from {from} to {to} in layer {}", index + 1)
            })
            .collect();
        let changes = |of: fn(&Switch) -> Option<Estimate>| {
            let values: Vec<f64> =
                self.switches.iter().filter_map(|s| Some(of(s)?.value)).collect();
            let (low, high) = (
                values.iter().copied().fold(f64::INFINITY, f64::min),
                values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            );
            if values.is_empty() { "unknown".into() } else { format!("{low:+.4} to {high:+.4}") }
        };
        format!(
            "⟨σ²⟩ goes {} from the end of the first epoch to that of the last. In the first epoch after a switch its mean \
             over layers changes by {}, in the rest of the task by {}.",
            list(&levels),
            changes(|s| Estimate::paired(&s.after, &s.before)),
            changes(|s| Estimate::paired(&s.end, &s.after))
        )
    }
}

const PLACE: &str = "Sec. III B, Fig. 8";

impl Study for Uncertainty {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let trials = &results.trained.first()?.trials;
        let epochs = &trials.first()?.epochs;
        let layer = |index: usize| {
            let level = |epoch: &EpochRow| epoch.uncertainty.get(index).copied();
            Some(Layer {
                after_first_epoch: each(trials, |epochs| level(epochs.first()?))?,
                at_end: each(trials, |epochs| level(epochs.last()?))?,
            })
        };
        let switches = (1..epochs.len()).filter(|&at| epochs[at].task != epochs[at - 1].task);
        Some(Measured {
            layers: (0..epochs.first()?.uncertainty.len()).map(layer).collect::<Option<_>>()?,
            switches: switches.map(|at| Switch::of(trials, at)).collect::<Option<_>>()?,
            divergence: Divergence::of(trials),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        Judgement {
            found: measured.found(),
            findings: Findings::Claims(vec![
                measured.falls(),
                measured.rises_and_drops(),
                measured.last_is_lowest(),
                measured.uncertain_weights_move(),
            ]),
            notes: vec![
                "What the paper calls ⟨σ⟩ is the mean of σ². Inset: after the first task.".into(),
                "The KL a weight is known by tenths of σ², without the number of weights in each: tenths above 0.5 and below \
                 0.5 are averaged with equal weights."
                    .into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let case = results.trained.first()?;
        let epochs = &case.summary.epochs;
        let first_task = epochs.iter().filter(|epoch| epoch.task == 1).count();
        let mut panel = Panel::new(
            "mean uncertainty of each layer",
            Axis::linear("epoch"),
            Axis::linear("⟨σ²⟩").lower(0.0),
        );
        mark_switches(&mut panel, &case.summary);
        let mut inset = Panel::new("", Axis::linear(""), Axis::linear(""));
        for index in 0..epochs.first()?.uncertainty.len() {
            let level = |from: usize| -> Vec<lines::Measured> {
                epochs[from..].iter().map(|e| e.uncertainty[index].at(e.epoch as f64)).collect()
            };
            let color = Color::Palette(index);
            let name = format!("layer {}", index + 1);
            lines::draw(&mut panel, &level(0), |line| line.color(color).label(name.clone()));
            lines::draw(&mut inset, &level(first_task), |line| line.color(color));
        }
        panel.push_inset(Inset::new(inset).place(0.42, 0.40, 0.55, 0.50));
        Some(Drawing { figure: Figure::single(panel), table: table(epochs) })
    }
}

/// By layer and epoch.
fn table(epochs: &[EpochSummary]) -> Table {
    let mut table =
        Table::new(["epoch", "learning_task", "layer", "uncertainty", "uncertainty_se"]);
    for index in 0..epochs.first().map_or(0, |epoch| epoch.uncertainty.len()) {
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
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Five trials around a level, each quantity with noise of its own.
    fn trials(level: f64, shift: usize) -> Vec<f64> {
        let noise = [0.002, -0.002, 0.001, -0.001, 0.0];
        (0..5).map(|i| level + noise[(i + shift) % 5]).collect()
    }

    /// Two layers from one level to another, a switch with three levels, and two divergences.
    fn measured(layers: [(f64, f64); 2], switch: [f64; 3], divergence: (f64, f64)) -> Measured {
        let layer =
            |(first, last)| Layer { after_first_epoch: trials(first, 0), at_end: trials(last, 1) };
        Measured {
            layers: vec![
                layer(layers[0]),
                Layer { at_end: trials(layers[1].1, 3), ..layer(layers[1]) },
            ],
            switches: vec![Switch {
                to: 2,
                before: trials(switch[0], 0),
                after: trials(switch[1], 1),
                end: trials(switch[2], 3),
            }],
            divergence: Some(Divergence {
                uncertain: trials(divergence.0, 0),
                certain: trials(divergence.1, 1),
            }),
        }
    }

    fn outcomes(measured: &Measured) -> Vec<Outcome> {
        match Uncertainty::judge(measured).findings {
            Findings::Claims(claims) => claims.iter().map(|claim| claim.outcome).collect(),
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn each_claim_can_hold_fail_and_be_open() {
        let holds = measured([(0.5, 0.2), (0.4, 0.1)], [0.2, 0.25, 0.15], (0.3, 0.1));
        assert_eq!(outcomes(&holds), [Supported; 4]);
        let fails = measured([(0.2, 0.5), (0.1, 0.6)], [0.25, 0.2, 0.3], (0.1, 0.3));
        assert_eq!(outcomes(&fails), [Contradicted; 4]);
        let open = measured([(0.2, 0.2), (0.2, 0.2)], [0.2, 0.2, 0.2], (0.1, 0.1));
        assert_eq!(outcomes(&open), [Undecided; 4]);
        // One layer, or one part of a rise and fall, suffices.
        let one = measured([(0.5, 0.2), (0.1, 0.15)], [0.2, 0.25, 0.3], (0.3, 0.1));
        assert_eq!(outcomes(&one), [Contradicted, Contradicted, Supported, Supported]);
        let unknown = Measured { divergence: None, switches: Vec::new(), ..holds };
        assert_eq!(outcomes(&unknown), [Supported, Undecided, Supported, Undecided]);
    }

    #[test]
    fn the_divergence_is_that_after_the_first_task_where_there_are_both_halves() {
        let epoch = |task: usize, low: f64, high: Option<f64>| {
            let mut tenths = vec![Some(low); 4];
            tenths.extend([None, None, high, high, None, None]);
            EpochRow { task, divergence_by_variance: tenths, ..EpochRow::default() }
        };
        let epochs = [
            epoch(1, 9.0, Some(9.0)),
            epoch(2, 1.0, Some(2.0)),
            epoch(2, 3.0, Some(6.0)),
            epoch(2, 7.0, None),
        ];
        assert_eq!(divergences(&epochs), Some((4.0, 2.0)));
        assert_eq!(divergences(&epochs[..1]), None);
    }

    #[test]
    fn a_switch_is_measured_at_its_three_moments() {
        let epoch = |task: usize, level: f64| EpochRow {
            task,
            uncertainty: vec![level, level + 1.0],
            ..EpochRow::default()
        };
        let epochs =
            vec![epoch(1, 0.0), epoch(1, 1.0), epoch(2, 2.0), epoch(2, 3.0), epoch(3, 4.0)];
        let trials = [TrialRecord { epochs, ..TrialRecord::default() }];
        let switch = Switch::of(&trials, 2).unwrap();
        assert_eq!((switch.to, switch.before, switch.after), (2, vec![1.5], vec![2.5]));
        assert_eq!(switch.end, [3.5]);
    }
}
