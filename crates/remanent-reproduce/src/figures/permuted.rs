//! Figure 7: five permuted tasks, by variational continual learning and by metaplasticity.

use remanent_network::learner::Learner;
use remanent_plot::{Axis, Dash, Figure, Panel};
use serde::{Deserialize, Serialize};

use super::learning::{Accuracies, Cases, Compared, RATE, difference, draw, percent, table};
use crate::results::{Drawing, Judgement, Results, Trained};
use crate::study::Study;
use crate::thresholds::{CLOSE, LEARNED_IMAGES, PRESERVED};
use crate::verdict::{Claim, Estimate, Findings, Test, Threshold};
use remanent_lab::training::mark_switches;

/// Figure 7a.
pub struct Variational;
/// Figure 7b.
pub struct Metaplasticity;

/// What variational continual learning leaves.
#[derive(Serialize, Deserialize)]
pub struct Learned {
    vcl: Accuracies,
}

fn variational(results: &Results) -> Option<&Trained> {
    results.trained.iter().find(|case| case.training.parameters.learner == Learner::Vcl)
}

fn panel(case: &Trained, title: &str) -> Panel {
    let mut panel = Panel::new(title, Axis::linear("epoch"), Axis::linear("accuracy"));
    mark_switches(&mut panel, &case.summary);
    draw(&mut panel, case, |task| format!("task {}", task + 1), Dash::Solid);
    panel
}

/// The accuracies of all tasks at the end, in percent.
fn last_row(of: &Accuracies) -> String {
    let mut means = Vec::new();
    while let Some(mean) = of.of_task_at_end(means.len()).and_then(Estimate::of) {
        means.push(mean.value);
    }
    means.iter().map(|mean| format!("{:.1}", 100.0 * mean)).collect::<Vec<_>>().join(", ")
}

impl Study for Variational {
    type Measured = Learned;

    fn measure(results: &Results) -> Option<Learned> {
        Some(Learned { vcl: Accuracies::of(variational(results)?) })
    }

    fn judge(measured: &Learned) -> Judgement {
        let (vcl, place) = (&measured.vcl, "Sec. III B, Fig. 7a");
        let learned = Test::above(
            "accuracy of each task at the end of its own training, averaged",
            vcl.plasticity().and_then(Estimate::of),
            LEARNED_IMAGES,
        );
        let preserved = Test::below(
            "forgetting: accuracy of earlier tasks lost from their best",
            vcl.forgetting().and_then(Estimate::of),
            PRESERVED,
        );
        Judgement {
            found: format!(
                "After the last task the accuracies are {} %: {} on average; at its own end a task has {}, and earlier \
                 tasks have lost {} of their best.",
                last_row(vcl),
                percent(vcl.at_end()),
                percent(vcl.plasticity()),
                percent(vcl.forgetting())
            ),
            findings: Findings::Claims(vec![
                Claim::new(
                    "Variational continual learning (VCL) learns five permuted tasks with high accuracy.",
                    place,
                    vec![learned],
                ),
                Claim::new(
                    "VCL preserves the performance while other tasks are learned.",
                    place,
                    vec![preserved],
                ),
            ]),
            notes: vec![format!(
                "Ours: to call a task learned above {} % and performance preserved if less than {} % are lost.",
                100.0 * LEARNED_IMAGES.value,
                100.0 * PRESERVED.value
            )],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let vcl = variational(results)?;
        Some(Drawing {
            figure: Figure::single(panel(vcl, "variational continual learning")),
            table: table(&[("vcl".into(), vcl)]),
        })
    }
}

/// What tests that VCL learns better than metaplasticity at one rate.
fn learning(vcl: &Accuracies, meta: &Accuracies) -> [Test; 2] {
    let lr = meta.lr;
    [
        Test::above(
            format!(
                "accuracy of each task at the end of its own training, averaged, VCL less metaplasticity (lr = {lr})"
            ),
            difference(vcl.plasticity(), meta.plasticity()),
            Threshold::ZERO,
        ),
        Test::above(
            format!("average accuracy at the end, VCL less metaplasticity (lr = {lr})"),
            difference(vcl.at_end(), meta.at_end()),
            CLOSE,
        ),
    ]
}

/// What tests that VCL forgets less than metaplasticity at one rate.
fn forgetting(vcl: &Accuracies, meta: &Accuracies) -> Test {
    let quantity = format!("forgetting, metaplasticity (lr = {}) less VCL", meta.lr);
    Test::above(quantity, difference(meta.forgetting(), vcl.forgetting()), Threshold::ZERO)
}

impl Study for Metaplasticity {
    type Measured = Compared;

    fn measure(results: &Results) -> Option<Compared> {
        Some(Cases::of(results, None)?.compared())
    }

    fn judge(measured: &Compared) -> Judgement {
        let Compared { vcl, searched, others } = measured;
        let place = "Sec. III B, Fig. 7";
        let learns_better = Claim::new(
            "Variational continual learning (VCL) learns better than metaplasticity.",
            place,
            learning(vcl, searched).into(),
        )
        .remark(others.iter().flat_map(|meta| learning(vcl, meta)));
        let forgets_less = Claim::new("VCL forgets less.", place, vec![forgetting(vcl, searched)])
            .remark(others.iter().map(|meta| forgetting(vcl, meta)));
        Judgement {
            found: format!(
                "Metaplasticity, at a rate of {}, ends with {} % ({} on average), against {} by variational continual \
                 learning; it forgets {}, against {}.",
                searched.lr,
                last_row(searched),
                percent(searched.at_end()),
                percent(vcl.at_end()),
                percent(searched.forgetting()),
                percent(vcl.forgetting())
            ),
            findings: Findings::Claims(vec![learns_better, forgets_less]),
            notes: vec![
                RATE.into(),
                "The outcome depends on the rate and on the number of epochs: docs/NETWORK.md has the same comparison \
                 with 5 epochs a task."
                    .into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let cases = Cases::of(results, None)?;
        let meta = cases.searched.training.parameters.meta_of(0);
        let mut panel = panel(cases.searched, &format!("metaplasticity, m = {meta}"));
        let mut named =
            vec![("metaplasticity".to_owned(), cases.searched), ("vcl".to_owned(), cases.vcl)];
        for case in cases.others {
            let lr = case.training.parameters.lr;
            // Colours tell the tasks.
            let label = |task| if task == 0 { format!("lr = {lr}") } else { String::new() };
            draw(&mut panel, case, label, Dash::Dotted);
            named.push((format!("metaplasticity lr={lr}"), case));
        }
        Some(Drawing { figure: Figure::single(panel), table: table(&named) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    const NOISE: [f64; 5] = [0.002, -0.002, 0.001, -0.001, 0.0];

    /// Trials of three tasks, each with an accuracy at its own end, and earlier ones with a loss.
    fn accuracies(own: f64, lost: f64, noise: &[f64]) -> Accuracies {
        let matrix = |noise: &f64| {
            let (own, kept) = (own + noise, own - lost + 2.0 * noise);
            vec![vec![own, 0.1, 0.1], vec![own, own, 0.1], vec![kept, kept, own]]
        };
        Accuracies { lr: 3.0, trials: noise.iter().map(matrix).collect() }
    }

    fn claims(judgement: Judgement) -> Vec<Claim> {
        match judgement.findings {
            Findings::Claims(claims) => claims,
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    fn outcomes(judgement: Judgement) -> Vec<Outcome> {
        claims(judgement).iter().map(|claim| claim.outcome).collect()
    }

    #[test]
    fn tasks_are_learned_and_preserved_or_not() {
        let judge = |own, lost, noise: &[f64]| {
            outcomes(Variational::judge(&Learned { vcl: accuracies(own, lost, noise) }))
        };
        assert_eq!(judge(0.9, 0.05, &NOISE), [Supported, Supported]);
        assert_eq!(judge(0.8, 0.05, &NOISE), [Contradicted, Supported]);
        assert_eq!(judge(0.9, 0.2, &NOISE), [Supported, Contradicted]);
        assert_eq!(judge(0.85, 0.1, &NOISE), [Undecided, Undecided]);
        assert_eq!(judge(0.9, 0.05, &NOISE[..2]), [Undecided, Undecided]);
    }

    fn compared(vcl: (f64, f64), meta: (f64, f64), trials: usize) -> Compared {
        let other: Vec<f64> = NOISE[..trials].iter().rev().copied().collect();
        let meta = accuracies(meta.0, meta.1, &other);
        Compared {
            vcl: accuracies(vcl.0, vcl.1, &NOISE[..trials]),
            searched: meta.clone(),
            others: vec![meta],
        }
    }

    #[test]
    fn metaplasticity_is_behind_or_not() {
        let judge =
            |vcl, meta, trials| outcomes(Metaplasticity::judge(&compared(vcl, meta, trials)));
        assert_eq!(judge((0.9, 0.05), (0.8, 0.2), 5), [Supported, Supported]);
        assert_eq!(judge((0.8, 0.2), (0.9, 0.05), 5), [Contradicted, Contradicted]);
        // It learns as well and forgets more, or learns less and keeps that.
        assert_eq!(judge((0.9, 0.05), (0.9, 0.2), 5), [Undecided, Supported]);
        assert_eq!(judge((0.9, 0.05), (0.8, 0.0), 5), [Supported, Contradicted]);
        assert_eq!(judge((0.9, 0.05), (0.8, 0.05), 5), [Supported, Undecided]);
        assert_eq!(judge((0.9, 0.05), (0.8, 0.2), 2), [Undecided, Undecided]);
    }

    #[test]
    fn other_rates_do_not_count() {
        let mut measured = compared((0.9, 0.05), (0.8, 0.2), 5);
        measured.others = vec![accuracies(0.95, 0.0, &[0.001, 0.0, 0.0, 0.0, 0.0])];
        for claim in claims(Metaplasticity::judge(&measured)) {
            assert_eq!(claim.outcome, Supported);
            assert!(claim.remarks.iter().all(|test| test.outcome == Contradicted));
            assert_eq!(claim.remarks.len(), claim.tests.len());
        }
    }

    #[test]
    fn the_last_row_is_that_of_all_tasks() {
        assert_eq!(last_row(&accuracies(0.9, 0.05, &[0.0])), "85.0, 85.0, 90.0");
    }
}
