//! Figure 6: two datasets one after the other, in both orders.

use remanent_network::learner::Learner;
use remanent_plot::{Axis, Dash, Figure, Panel};

use super::learning::{accuracy, draw, table, task_names, tested};
use super::words::{also, decides, percent, percent_of};
use crate::reproduce::results::{Results, Shown, Trained};
use crate::training::mark_switches;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let mut streams: Vec<&str> = Vec::new();
    for case in &results.trained {
        if !streams.contains(&case.training.stream.as_str()) {
            streams.push(&case.training.stream);
        }
    }
    let (mut panels, mut checks, mut found, mut named) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for stream in streams {
        let of = |learner| {
            let same = |case: &&Trained| {
                case.training.stream == stream && case.training.parameters.learner == learner
            };
            results.trained.iter().find(same)
        };
        let (vcl, meta) = (of(Learner::Vcl)?, of(Learner::Metaplasticity)?);
        let names = task_names(&vcl.training)?;
        let order = format!("{}, then {}", names.first()?, names.last()?);
        let mut panel = Panel::new(
            order.clone(),
            Axis::linear("epoch"),
            Axis::linear("accuracy").range(0.0, 1.0),
        );
        mark_switches(&mut panel, &vcl.summary);
        draw(&mut panel, vcl, |task| format!("VCL, {}", names[task]), Dash::Solid);
        draw(&mut panel, meta, |task| format!("meta, {}", names[task]), Dash::Dashed);
        panels.push(panel);
        named.push((format!("vcl: {order}"), vcl));
        named.push((format!("metaplasticity: {order}"), meta));

        let [ours, theirs] = [tested(vcl)?, tested(meta)?].map(|summary| summary.average_accuracy);
        checks.push(decides(
            format!(
                "{order}: VCL has the better average at the end, {} against {}",
                percent_of(&ours),
                percent_of(&theirs)
            ),
            ours.mean > theirs.mean,
        ));
        let lost = |case| Some(accuracy(case, 0, 0)?.mean - accuracy(case, 1, 0)?.mean);
        let (a, b) = (lost(vcl)?, lost(meta)?);
        checks.push(also(
            format!(
                "{order}: VCL forgets less of the first task, {} against {}",
                percent(a),
                percent(b)
            ),
            a < b,
        ));
        let (a, b) = (accuracy(vcl, 1, 1)?, accuracy(meta, 1, 1)?);
        checks.push(also(
            format!(
                "{order}: VCL learns the second task better, {} against {}",
                percent_of(&a),
                percent_of(&b)
            ),
            a.mean > b.mean,
        ));
        let at_end = |case, task| accuracy(case, 1, task).map_or(f64::NAN, |mean| mean.mean);
        found.push(format!(
            "{order}: VCL ends with {} and {}, metaplasticity with {} and {}",
            percent(at_end(vcl, 0)),
            percent(at_end(vcl, 1)),
            percent(at_end(meta, 0)),
            percent(at_end(meta, 1))
        ));
    }
    Some(Shown {
        figure: Figure::grid(panels, 2),
        table: table(&named),
        found: format!("{}.", found.join("; ")),
        checks,
        notes: vec![
            "Ours: optimiser and rate of metaplasticity, which no source states (SGD; the rate that is best on \
             permuted MNIST)."
                .into(),
        ],
    })
}
