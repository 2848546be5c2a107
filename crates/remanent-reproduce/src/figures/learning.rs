//! Accuracies of networks, as figures 6 and 7 measure, compare and draw them.
//!
//! Metaplasticity may be run at several learning rates. The *first* case of metaplasticity of a stream in
//! the configuration has the rate that a search on validation images found best for this stream and number
//! of epochs (figures/tuning): it decides. Those after it are shown and do not count.

use remanent_data::stream::Piece;
use remanent_lab::lines;
use remanent_lab::training::{self, Training};
use remanent_network::learner::Learner;
use remanent_network::predictor::Predictor;
use remanent_plot::{Color, Dash, Panel, Table};
use serde::{Deserialize, Serialize};

use super::words::percent_of;
use crate::results::{Results, Trained};
use crate::verdict::Estimate;

/// The paper's test: one stochastic pass.
pub const TEST: Predictor = Predictor::Stochastic;

/// The accuracies that one learner has in the paper's test.
#[derive(Clone, Serialize, Deserialize)]
pub struct Accuracies {
    /// The learning rate.
    pub lr: f64,
    /// Of every trial, `[after][task]`.
    pub trials: Vec<Vec<Vec<f64>>>,
}

/// The cases of one stream.
pub struct Cases<'a> {
    /// Variational continual learning.
    pub vcl: &'a Trained,
    /// Metaplasticity at the rate that the search found.
    pub searched: &'a Trained,
    /// Metaplasticity at other rates.
    pub others: Vec<&'a Trained>,
}

/// Variational continual learning beside metaplasticity. Trials share seeds.
#[derive(Clone, Serialize, Deserialize)]
pub struct Compared {
    /// Variational continual learning.
    pub vcl: Accuracies,
    /// Metaplasticity at the rate that the search found: it decides.
    pub searched: Accuracies,
    /// Metaplasticity at other rates, which do not count.
    pub others: Vec<Accuracies>,
}

impl Accuracies {
    /// Those of a case.
    pub fn of(case: &Trained) -> Self {
        let of = |trial| training::accuracies(trial, TEST);
        Self { lr: case.training.parameters.lr, trials: case.trials.iter().map(of).collect() }
    }

    fn each(&self, of: impl Fn(&[Vec<f64>]) -> Option<f64>) -> Option<Vec<f64>> {
        self.trials.iter().map(|matrix| of(matrix)).collect()
    }

    /// The average over the tasks at the end, trial by trial.
    pub fn at_end(&self) -> Option<Vec<f64>> {
        self.each(|matrix| {
            let last = matrix.last().filter(|last| !last.is_empty())?;
            Some(last.iter().sum::<f64>() / last.len() as f64)
        })
    }

    /// The accuracy on one task (from 0) at the end.
    pub fn of_task_at_end(&self, task: usize) -> Option<Vec<f64>> {
        self.each(|matrix| matrix.last()?.get(task).copied())
    }

    /// The accuracy on the first task that is lost from its own end to the end of all.
    pub fn lost_of_first(&self) -> Option<Vec<f64>> {
        self.each(|matrix| Some(matrix.first()?.first()? - matrix.last()?.first()?))
    }

    /// The accuracy of each task at the end of its own training, averaged.
    pub fn plasticity(&self) -> Option<Vec<f64>> {
        self.each(training::plasticity)
    }

    /// How much of the best accuracy of earlier tasks is lost.
    pub fn forgetting(&self) -> Option<Vec<f64>> {
        self.each(training::forgetting)
    }
}

impl<'a> Cases<'a> {
    /// Those of a stream; of all streams if none is named.
    pub fn of(results: &'a Results, stream: Option<&str>) -> Option<Self> {
        let by = |learner| {
            results.trained.iter().filter(move |case| {
                stream.is_none_or(|stream| case.training.stream == stream)
                    && case.training.parameters.learner == learner
            })
        };
        let mut metaplasticity = by(Learner::Metaplasticity);
        let searched = metaplasticity.next()?;
        Some(Self { vcl: by(Learner::Vcl).next()?, searched, others: metaplasticity.collect() })
    }

    /// Their accuracies.
    pub fn compared(&self) -> Compared {
        Compared {
            vcl: Accuracies::of(self.vcl),
            searched: Accuracies::of(self.searched),
            others: self.others.iter().map(|case| Accuracies::of(case)).collect(),
        }
    }
}

/// The difference, trial by trial.
pub fn difference(first: Option<Vec<f64>>, second: Option<Vec<f64>>) -> Option<Estimate> {
    Estimate::paired(&first?, &second?)
}

/// `86.4 ± 0.5 %`.
pub fn percent(trials: Option<Vec<f64>>) -> String {
    trials.and_then(Estimate::of).as_ref().map_or("an unknown part".into(), percent_of)
}

/// How the rate of metaplasticity was chosen.
pub const RATE: &str = "Ours: optimiser and rate of metaplasticity, of which the paper states nothing (SGD; the rate that a \
     search on validation images found best for this stream and number of epochs, figures/tuning).";

/// The tasks of a training by name.
pub fn task_names(training: &Training) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for piece in training.spec().ok()?.pieces() {
        match piece {
            Piece::Sequence { datasets } => names.extend(datasets.iter().cloned()),
            Piece::Permuted { dataset, tasks: 1 } => names.push(format!("permuted {dataset}")),
            Piece::Permuted { dataset, tasks } => {
                names.extend((1..=*tasks).map(|task| format!("permuted {dataset} {task}")));
            }
            Piece::Rotated { dataset, tasks } => {
                names.extend((1..=*tasks).map(|task| format!("rotated {dataset} {task}")));
            }
            Piece::Drift { dataset, permutations, stages } => {
                let tasks = (permutations - 1) * stages + 1;
                names.extend((1..=tasks).map(|task| format!("drift {dataset} {task}")));
            }
            // How many classes there are is known when the images are read.
            Piece::Split { .. } => return None,
        }
    }
    Some(names)
}

/// Draws the accuracy on every task over epochs.
pub fn draw(panel: &mut Panel, case: &Trained, label: impl Fn(usize) -> String, dash: Dash) {
    let epochs = &case.summary.epochs;
    let tasks = epochs.iter().filter_map(|e| e.accuracy.get(&TEST)).map(Vec::len).max();
    for task in 0..tasks.unwrap_or(0) {
        let rows = epochs
            .iter()
            .filter_map(|e| Some(e.accuracy.get(&TEST)?.get(task)?.at(e.epoch as f64)));
        let color = Color::Palette(task);
        lines::draw(panel, &rows.collect::<Vec<_>>(), |line| {
            line.label(label(task)).color(color).dash(dash)
        });
    }
}

/// Accuracies by case, epoch and task.
pub fn table(cases: &[(String, &Trained)]) -> Table {
    let mut table =
        Table::new(["case", "epoch", "learning_task", "task", "accuracy", "accuracy_se", "trials"]);
    for (name, case) in cases {
        for epoch in &case.summary.epochs {
            for (task, mean) in epoch.accuracy.get(&TEST).into_iter().flatten().enumerate() {
                table.push(vec![
                    name.as_str().into(),
                    (epoch.epoch as i64).into(),
                    (epoch.task as i64).into(),
                    (task as i64 + 1).into(),
                    mean.mean.into(),
                    mean.standard_error.into(),
                    (mean.n as i64).into(),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use remanent_network::metrics::Scores;
    use toml::Table as Settings;

    use super::*;
    use remanent_lab::plan::Case;
    use remanent_lab::training::{PhaseEnd, TrialRecord};

    fn trained(settings: &str) -> Trained {
        let table: Settings = settings.parse().unwrap();
        let scores = vec![Scores { accuracy: 0.5, nll: 1.0, ece: 0.1 }];
        let all = Predictor::ALL.map(|predictor| (predictor, scores.clone()));
        let end = PhaseEnd { scores: all.into(), ..PhaseEnd::default() };
        let trials =
            vec![TrialRecord { initial: end.clone(), ends: vec![end], ..TrialRecord::default() }];
        Trained {
            training: Training::from_table(&table).unwrap(),
            summary: training::summarise(&trials).unwrap(),
            case: Case::new(table),
            trials,
        }
    }

    #[test]
    fn the_first_rate_of_metaplasticity_of_a_stream_decides() {
        let meta = |stream: &str, lr: f64| {
            trained(&format!("stream = '{stream}'\nlearner = 'metaplasticity'\nlr = {lr:?}"))
        };
        let vcl = |stream: &str| trained(&format!("stream = '{stream}'\nlearner = 'vcl'"));
        let (a, b) = ("sequence:digits", "permuted:digits:1");
        let trained = vec![vcl(a), meta(a, 3.0), meta(b, 0.1), meta(b, 3.0), meta(b, 1.0), vcl(b)];
        let results = Results { trained, ..Results::default() };
        let rates = |stream| {
            let compared = Cases::of(&results, stream)?.compared();
            let others: Vec<f64> = compared.others.iter().map(|other| other.lr).collect();
            Some((compared.searched.lr, others))
        };
        assert_eq!(rates(Some(a)), Some((3.0, vec![])));
        assert_eq!(rates(Some(b)), Some((0.1, vec![3.0, 1.0])));
        assert_eq!(rates(Some("sequence:mnist")), None);
    }

    #[test]
    fn what_is_lost_and_what_is_left() {
        let close = |found: Option<Vec<f64>>, known: f64| {
            let found = found.unwrap();
            assert!(found.len() == 1 && (found[0] - known).abs() < 1e-12, "{found:?} {known}");
        };
        let matrix = vec![vec![0.9, 0.1, 0.1], vec![0.7, 0.8, 0.1], vec![0.6, 0.5, 0.7]];
        let of = Accuracies { lr: 1.0, trials: vec![matrix] };
        close(of.at_end(), 0.6);
        close(of.of_task_at_end(2), 0.7);
        close(of.lost_of_first(), 0.3);
        close(of.plasticity(), 0.8);
        close(of.forgetting(), 0.3);
        assert_eq!(percent(of.at_end()), "60.0 %");
        assert_eq!(percent(Some(vec![0.5, 0.7])), "60.0 ± 10.0 %");
        let none = Accuracies { lr: 1.0, trials: vec![Vec::new()] };
        assert_eq!((none.at_end(), difference(none.at_end(), of.at_end())), (None, None));
    }

    #[test]
    fn tasks_have_names() {
        let names = |stream: &str| {
            let table = toml::Table::from_iter([("stream".to_owned(), stream.into())]);
            task_names(&Training::from_table(&table).unwrap()).unwrap()
        };
        assert_eq!(names("sequence:mnist, fashion-mnist"), ["mnist", "fashion-mnist"]);
        assert_eq!(names("permuted:digits:2"), ["permuted digits 1", "permuted digits 2"]);
        assert_eq!(names("permuted:digits:1\nsequence:digits\n"), ["permuted digits", "digits"]);
    }
}
