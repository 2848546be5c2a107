//! The table of a benchmark: what was measured, what it takes, and what was published.

use remanent_lab::experiment::{Detail, Note, Report};
use remanent_lab::training::{self, Mean, TrainingSummary, TrialRecord};
use remanent_network::network::Weights;
use remanent_network::predictor::Predictor;
use remanent_plot::{Axis, Color, Curve, Dash, Figure, Marker, Panel, Points, Table};
use remanent_store::amounts;
use serde::Serialize;
use serde_json::{Value, json};

use super::protocol::{Protocol, Published};

/// A learner on a protocol, tested in one way. A published result of a learner that is not run here has
/// nothing measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The protocol.
    pub protocol: &'static str,
    /// The learner.
    pub learner: String,
    /// How it is tested.
    pub predictor: Option<Predictor>,
    /// What was measured.
    pub measured: Option<Measured>,
    /// What was published; none at reduced size, where other data is used.
    pub published: Option<Published>,
}

/// What was measured of a learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Accuracy at the end, averaged over the tasks that the protocol tests.
    pub accuracy: Mean,
    /// Accuracy of each task directly after learning it, averaged.
    pub newest: Mean,
    /// Processor seconds of a trial; none if a time is not known.
    pub seconds: Option<f64>,
    /// Bytes of a trial while it runs, as estimated before it.
    pub memory: u64,
    /// Bits that a prediction needs of every weight.
    pub bits: u32,
}

impl Row {
    /// Measured less published accuracy in percent, and the same in standard errors of both if both have one.
    pub fn difference(&self) -> Option<(f64, Option<f64>)> {
        let (measured, published) = (self.measured.as_ref()?, self.published.as_ref()?);
        let difference = 100.0 * measured.accuracy.mean - published.accuracy;
        let errors = measured.accuracy.standard_error.zip(published.error);
        let both = errors.map(|(own, other)| (100.0 * own).hypot(other));
        Some((difference, both.filter(|&error| error > 0.0).map(|error| difference / error)))
    }
}

/// The trials of a case, summarised.
pub struct CaseResult {
    summary: Option<TrainingSummary>,
    seconds: Option<f64>,
}

impl CaseResult {
    pub fn new(records: &[TrialRecord], seconds: &[Option<f64>]) -> Self {
        let total: Option<f64> = seconds.iter().copied().sum();
        Self {
            summary: training::summarise(records),
            seconds: total.map(|seconds| seconds / records.len().max(1) as f64),
        }
    }
}

/// The predictors by which networks of a kind are compared, and the bits they need of a weight: binary
/// networks have one, sampled ones one for each network, real weights are in single precision.
fn predictors(weights: Weights, draws: usize) -> Vec<(Predictor, u32)> {
    let draws = u32::try_from(draws).unwrap_or(u32::MAX);
    match weights {
        Weights::Field => vec![(Predictor::Sampled, draws), (Predictor::Hard, 1)],
        Weights::Sign => vec![(Predictor::Hard, 1)],
        Weights::Float => vec![(Predictor::Hard, 32)],
        Weights::Gaussian => vec![(Predictor::Sampled, 64), (Predictor::Hard, 32)],
    }
}

/// The rows of a protocol.
pub fn rows(protocol: &Protocol, results: &[CaseResult], quick: bool) -> Vec<Row> {
    let prepared = &protocol.prepared;
    let mut published: Vec<Published> = if quick { Vec::new() } else { protocol.published.clone() };
    let mut rows = Vec::new();
    let cases = prepared.plan.cases.iter().zip(&prepared.cases);
    let cells = prepared.cells();
    let trials = cells.chunks(prepared.plan.seeds.max(1));
    for (((case, training), trials), result) in cases.zip(trials).zip(results) {
        let Some(summary) = &result.summary else { continue };
        let memory = trials.iter().map(remanent_store::Cell::memory).max().unwrap_or(0);
        for (predictor, bits) in predictors(training.parameters.weights(), training.draws) {
            let Some(found) = summary.predictors.get(&predictor) else { continue };
            let learner = case.label();
            let index = published
                .iter()
                .position(|other| other.name == learner && other.predictor == Some(predictor));
            rows.push(Row {
                protocol: protocol.name,
                learner,
                predictor: Some(predictor),
                measured: Some(Measured {
                    accuracy: found.average_accuracy,
                    newest: found.plasticity,
                    seconds: result.seconds,
                    memory,
                    bits,
                }),
                published: index.map(|index| published.remove(index)),
            });
        }
    }
    rows.extend(published.into_iter().map(|published| Row {
        protocol: protocol.name,
        learner: published.name.clone(),
        predictor: published.predictor,
        measured: None,
        published: Some(published),
    }));
    rows
}

/// What is shown of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkReport {
    /// Protocol by protocol.
    pub rows: Vec<Row>,
    /// Whether the sizes are reduced.
    pub quick: bool,
}

/// `91.2 ± 0.3`, in percent.
fn percent(mean: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{mean:.2} ± {error:.2}"),
        None => format!("{mean:.2}"),
    }
}

fn percent_of(mean: &Mean) -> String {
    percent(100.0 * mean.mean, mean.standard_error.map(|error| 100.0 * error))
}

impl BenchmarkReport {
    fn short(&self) -> Table {
        let mut table = Table::new([
            "protocol",
            "learner",
            "predictor",
            "accuracy %",
            "n",
            "newest %",
            "bits",
            "time",
            "memory",
            "published %",
            "difference",
        ]);
        for row in &self.rows {
            let own = row.measured.as_ref();
            let text = |of: &dyn Fn(&Measured) -> String| own.map_or(String::new(), of);
            let seconds = |m: &Measured| m.seconds.map_or(String::new(), amounts::duration);
            let published = row.published.as_ref();
            let difference = row.difference().map_or(String::new(), |(difference, z)| {
                let z = z.map_or(String::new(), |z| format!(" (z = {z:.1})"));
                format!("{difference:+.2}{z}")
            });
            table.push(vec![
                row.protocol.into(),
                row.learner.as_str().into(),
                row.predictor.map_or("", Predictor::name).into(),
                text(&|m| percent_of(&m.accuracy)).as_str().into(),
                own.map(|m| m.accuracy.n as i64).into(),
                text(&|m| percent_of(&m.newest)).as_str().into(),
                own.map(|m| i64::from(m.bits)).into(),
                text(&seconds).as_str().into(),
                text(&|m| amounts::memory(m.memory)).as_str().into(),
                published.map_or(String::new(), |p| percent(p.accuracy, p.error)).as_str().into(),
                difference.as_str().into(),
            ]);
        }
        table
    }

    fn full(&self) -> Table {
        let mut table = Table::new([
            "protocol",
            "learner",
            "predictor",
            "accuracy",
            "accuracy_se",
            "n",
            "newest",
            "newest_se",
            "bits_per_weight",
            "seconds",
            "memory_bytes",
            "published",
            "published_se",
            "published_in",
            "difference",
            "z",
        ]);
        for row in &self.rows {
            let own = row.measured.as_ref();
            let published = row.published.as_ref();
            let difference = row.difference();
            table.push(vec![
                row.protocol.into(),
                row.learner.as_str().into(),
                row.predictor.map_or("", Predictor::name).into(),
                own.map(|m| m.accuracy.mean).into(),
                own.and_then(|m| m.accuracy.standard_error).into(),
                own.map(|m| m.accuracy.n as i64).into(),
                own.map(|m| m.newest.mean).into(),
                own.and_then(|m| m.newest.standard_error).into(),
                own.map(|m| i64::from(m.bits)).into(),
                own.and_then(|m| m.seconds).into(),
                own.map(|m| m.memory as i64).into(),
                published.map(|p| p.accuracy / 100.0).into(),
                published.and_then(|p| p.error).map(|error| error / 100.0).into(),
                published.map_or("", |p| p.source.as_str()).into(),
                difference.map(|(difference, _)| difference / 100.0).into(),
                difference.and_then(|(_, z)| z).into(),
            ]);
        }
        table
    }

    /// Memory against plasticity: a point for each learner, a dotted line for each published accuracy.
    fn panel(&self, protocol: &str) -> Panel {
        let mut panel = Panel::new(
            protocol,
            Axis::linear("accuracy on a task directly after it"),
            Axis::linear("accuracy at the end"),
        );
        let of_protocol: Vec<&Row> =
            self.rows.iter().filter(|row| row.protocol == protocol).collect();
        let newest = of_protocol.iter().filter_map(|row| Some(row.measured.as_ref()?.newest.mean));
        let (low, high) = newest
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        let mut learners: Vec<&str> = Vec::new();
        for row in of_protocol {
            // Of several predictors of a learner the first is drawn.
            if learners.contains(&row.learner.as_str()) {
                continue;
            }
            let index = learners.len();
            learners.push(&row.learner);
            if let Some(measured) = &row.measured {
                panel.push(
                    Points::new(vec![measured.newest.mean], vec![measured.accuracy.mean])
                        .error(vec![measured.accuracy.standard_error.unwrap_or(0.0)])
                        .label(&row.learner)
                        .marker(Marker::of(index))
                        .color(Color::Palette(index)),
                );
            }
            if let Some(published) = row.published.as_ref().filter(|_| low < high) {
                let level = published.accuracy / 100.0;
                let mut line = Curve::new(vec![low, high], vec![level, level])
                    .color(Color::Palette(index))
                    .dash(Dash::Dotted)
                    .width(1.0);
                if row.measured.is_none() {
                    line = line.label(format!("{} (published)", row.learner));
                }
                panel.push(line);
            }
        }
        panel
    }
}

impl Report for BenchmarkReport {
    fn json(&self) -> Value {
        json!({"quick": self.quick, "rows": self.rows})
    }

    fn tables(&self, detail: Detail) -> Vec<Table> {
        vec![if detail == Detail::Full { self.full() } else { self.short() }]
    }

    fn figure(&self) -> Figure {
        let mut protocols: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !protocols.contains(&row.protocol) {
                protocols.push(row.protocol);
            }
        }
        Figure::grid(protocols.iter().map(|protocol| self.panel(protocol)).collect(), 2)
    }

    fn notes(&self) -> Vec<Note> {
        let text = if self.quick {
            "digits and small networks: published numbers are not shown, because they are of another size"
        } else {
            "accuracy is averaged over all tasks, or over the last five in online streams of 100 tasks and more and \
             in online-wide; newest is the accuracy of a task directly after learning it"
        };
        vec![Note { text: text.into(), always: false }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mean: f64, standard_error: Option<f64>) -> Mean {
        Mean { mean, standard_error, n: 3 }
    }

    fn row(accuracy: Mean, published: f64, error: Option<f64>) -> Row {
        let measured =
            Measured { accuracy, newest: accuracy, seconds: Some(2.0), memory: 1, bits: 1 };
        let published = Published {
            name: "a".into(),
            predictor: Some(Predictor::Hard),
            accuracy: published,
            error,
            source: "there".into(),
        };
        Row {
            protocol: "p",
            learner: "a".into(),
            predictor: Some(Predictor::Hard),
            measured: Some(measured),
            published: Some(published),
        }
    }

    #[test]
    fn differences_are_in_percent_and_in_standard_errors_of_both() {
        let (difference, z) = row(mean(0.91, Some(0.003)), 90.0, Some(0.4)).difference().unwrap();
        assert!((difference - 1.0).abs() < 1e-12);
        assert!((z.unwrap() - 2.0).abs() < 1e-12);
        // Without one of the errors there is a difference and no z.
        assert_eq!(row(mean(0.91, None), 90.0, Some(0.4)).difference().unwrap().1, None);
        assert_eq!(row(mean(0.91, Some(0.003)), 90.0, None).difference().unwrap().1, None);
        let unpublished = Row { published: None, ..row(mean(0.9, None), 90.0, None) };
        assert_eq!(unpublished.difference(), None);
    }

    #[test]
    fn what_was_only_published_has_a_row_without_numbers() {
        let rows = vec![
            row(mean(0.91, Some(0.003)), 90.0, Some(0.4)),
            Row { measured: None, ..row(mean(0.0, None), 80.0, None) },
        ];
        let report = BenchmarkReport { rows, quick: false };
        let text = report.tables(Detail::Short)[0].to_text(4);
        assert!(text.contains("+1.00 (z = 2.0)") && text.contains("80.00"), "{text}");
        let csv = report.tables(Detail::Full)[0].to_csv();
        let last: Vec<&str> = csv.lines().last().unwrap().split(',').collect();
        assert_eq!((last[3], last[11]), ("", "0.8"), "{csv}");
    }

    #[test]
    fn bits_of_a_weight() {
        assert_eq!(predictors(Weights::Field, 5), [(Predictor::Sampled, 5), (Predictor::Hard, 1)]);
        assert_eq!(predictors(Weights::Sign, 5), [(Predictor::Hard, 1)]);
        assert_eq!(predictors(Weights::Float, 5), [(Predictor::Hard, 32)]);
    }
}
