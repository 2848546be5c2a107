//! Figure 6: two datasets one after the other, in both orders.

use remanent_plot::{Axis, Dash, Figure, Panel};
use serde::{Deserialize, Serialize};

use super::learning::{
    Accuracies, Cases, Compared, RATE, difference, draw, percent, table, task_names,
};
use crate::results::{Drawing, Judgement, Results, Trained};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Claim, Findings, Test, Threshold};
use remanent_lab::training::mark_switches;

/// Figure 6.
pub struct Sequences;

/// Both orders.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    orders: Vec<Order>,
}

#[derive(Serialize, Deserialize)]
struct Order {
    /// `mnist, then fashion-mnist`.
    name: String,
    learners: Compared,
}

/// The streams, in the order of the configuration.
fn streams(results: &Results) -> Vec<&str> {
    let mut streams: Vec<&str> = Vec::new();
    for case in &results.trained {
        if !streams.contains(&case.training.stream.as_str()) {
            streams.push(&case.training.stream);
        }
    }
    streams
}

/// `mnist, then fashion-mnist`.
fn order(case: &Trained) -> Option<String> {
    let names = task_names(&case.training)?;
    Some(format!("{}, then {}", names.first()?, names.last()?))
}

impl Measured {
    /// A claim that one test decides for each order, at the rate that the search found; the same test at
    /// other rates is a remark.
    fn claim(&self, says: &str, test: impl Fn(&Accuracies, &Accuracies, &str) -> Test) -> Claim {
        let test = |order: &Order, meta: &Accuracies| {
            test(&order.learners.vcl, meta, &format!("{} (lr = {})", order.name, meta.lr))
        };
        let tests = self.orders.iter().map(|order| test(order, &order.learners.searched));
        let others = self
            .orders
            .iter()
            .flat_map(|order| order.learners.others.iter().map(|meta| test(order, meta)));
        Claim::new(says, "Sec. III B, Fig. 6", tests.collect()).remark(others)
    }
}

impl Study for Sequences {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let of = |stream: &str| {
            let cases = Cases::of(results, Some(stream))?;
            Some(Order { name: order(cases.vcl)?, learners: cases.compared() })
        };
        Some(Measured { orders: streams(results).into_iter().map(of).collect::<Option<_>>()? })
    }

    fn judge(measured: &Measured) -> Judgement {
        let better = measured.claim(
            "In both orders variational continual learning (VCL) performs much better than metaplasticity.",
            |vcl, meta, order| {
                let quantity = format!("{order}: average accuracy at the end, VCL less metaplasticity");
                Test::above(quantity, difference(vcl.at_end(), meta.at_end()), CLOSE)
            },
        );
        let forgets_less =
            measured.claim("VCL forgets less of the first task.", |vcl, meta, order| {
                let quantity =
                    format!("{order}: accuracy on the first task lost, metaplasticity less VCL");
                let more = difference(meta.lost_of_first(), vcl.lost_of_first());
                Test::above(quantity, more, Threshold::ZERO)
            });
        let learns_better =
            measured.claim("VCL learns the new task better.", |vcl, meta, order| {
                let quantity = format!(
                    "{order}: accuracy on the second task at the end, VCL less metaplasticity"
                );
                let more = difference(vcl.of_task_at_end(1), meta.of_task_at_end(1));
                Test::above(quantity, more, Threshold::ZERO)
            });
        let ends = |of: &Accuracies| {
            let [first, second] = [0, 1].map(|task| percent(of.of_task_at_end(task)));
            format!("{first} and {second}")
        };
        let found = measured.orders.iter().map(|order| {
            let (vcl, meta) = (&order.learners.vcl, &order.learners.searched);
            format!(
                "{}: VCL ends with {}, metaplasticity (lr = {}) with {}",
                order.name,
                ends(vcl),
                meta.lr,
                ends(meta)
            )
        });
        Judgement {
            found: format!("{}.", found.collect::<Vec<_>>().join("; ")),
            findings: Findings::Claims(vec![better, forgets_less, learns_better]),
            notes: vec![RATE.into()],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let (mut panels, mut named) = (Vec::new(), Vec::new());
        for stream in streams(results) {
            let cases = Cases::of(results, Some(stream))?;
            let order = order(cases.vcl)?;
            panels.push(panel(&cases, &order)?);
            named.push((format!("vcl: {order}"), cases.vcl));
            named.push((format!("metaplasticity: {order}"), cases.searched));
            for case in cases.others {
                let lr = case.training.parameters.lr;
                named.push((format!("metaplasticity lr={lr}: {order}"), case));
            }
        }
        Some(Drawing { figure: Figure::grid(panels, 2), table: table(&named) })
    }
}

/// One order: lines for VCL, dashes for metaplasticity, dots for it at other rates.
fn panel(cases: &Cases, order: &str) -> Option<Panel> {
    let names = task_names(&cases.vcl.training)?;
    let mut panel =
        Panel::new(order, Axis::linear("epoch"), Axis::linear("accuracy").range(0.0, 1.0));
    mark_switches(&mut panel, &cases.vcl.summary);
    draw(&mut panel, cases.vcl, |task| format!("VCL, {}", names[task]), Dash::Solid);
    draw(&mut panel, cases.searched, |task| format!("meta, {}", names[task]), Dash::Dashed);
    for case in &cases.others {
        let lr = case.training.parameters.lr;
        let label = |task: usize| format!("meta at lr = {lr}, {}", names[task]);
        draw(&mut panel, case, label, Dash::Dotted);
    }
    Some(panel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Trials with the accuracy on the first task at its own end, and on both at the end.
    fn accuracies(own: f64, first: f64, second: f64, trials: usize) -> Accuracies {
        let noise = [0.002, -0.002, 0.001, -0.001, 0.0].into_iter().take(trials);
        let matrix = |noise: f64| vec![vec![own, 0.1], vec![first + noise, second - 2.0 * noise]];
        Accuracies { lr: 3.0, trials: noise.map(matrix).collect() }
    }

    fn claims(vcl: &Accuracies, searched: &Accuracies, other: &Accuracies) -> Vec<Claim> {
        let reversed = |of: &Accuracies| Accuracies {
            trials: of.trials.iter().rev().cloned().collect(),
            ..of.clone()
        };
        // Different noise for VCL, so that it does not cancel.
        let order = |name: &str| Order {
            name: name.into(),
            learners: Compared {
                vcl: reversed(vcl),
                searched: searched.clone(),
                others: vec![other.clone()],
            },
        };
        match Sequences::judge(&Measured { orders: vec![order("a, b"), order("b, a")] }).findings {
            Findings::Claims(claims) => claims,
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    fn outcomes(vcl: &Accuracies, searched: &Accuracies) -> Vec<Outcome> {
        claims(vcl, searched, searched).iter().map(|claim| claim.outcome).collect()
    }

    #[test]
    fn each_claim_can_hold_fail_and_be_open() {
        let vcl = accuracies(0.9, 0.8, 0.85, 5);
        let worse = accuracies(0.9, 0.6, 0.7, 5);
        assert_eq!(outcomes(&vcl, &worse), [Supported; 3]);
        assert_eq!(outcomes(&worse, &vcl), [Contradicted; 3]);
        // Better by less than what matters.
        let little = accuracies(0.9, 0.79, 0.84, 5);
        assert_eq!(outcomes(&vcl, &little), [Contradicted, Supported, Supported]);
        let same = accuracies(0.9, 0.8, 0.85, 5);
        assert_eq!(outcomes(&vcl, &same)[1..], [Undecided, Undecided]);
        let border = accuracies(0.9, 0.78, 0.83, 5);
        assert_eq!(outcomes(&vcl, &border)[0], Undecided);
        let two = [&vcl, &worse].map(|of| Accuracies { trials: of.trials[..2].to_vec(), lr: 1.0 });
        assert_eq!(outcomes(&two[0], &two[1]), [Undecided; 3]);
    }

    #[test]
    fn other_rates_do_not_count() {
        let vcl = accuracies(0.9, 0.8, 0.85, 5);
        let (worse, better) = (accuracies(0.9, 0.6, 0.7, 5), accuracies(0.9, 0.9, 0.95, 5));
        for claim in claims(&vcl, &worse, &better) {
            assert_eq!(claim.outcome, Supported);
            let remarks: Vec<Outcome> = claim.remarks.iter().map(|test| test.outcome).collect();
            assert_eq!(remarks, [Contradicted; 2]);
        }
    }
}
