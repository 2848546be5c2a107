//! The list of all figures: what each is called, where its configuration is, and the study that
//! measures, judges and draws it.

use remanent_lab::config;
use serde_json::Value;
use thiserror::Error;

use crate::figures::{
    binary, bound, broken_ensemble, chain_of_tasks, convergence_time, data_of_task_two, ensemble,
    error_curve, fading, gamma, limit, norm, one_task, order_parameters, overlap, permuted, phases,
    prior, sequences, time_course, two_tasks, uncertainty,
};
use crate::results::{Drawing, Judgement, Results};
use crate::study;

/// One figure.
#[derive(Debug)]
pub struct Entry {
    /// The number in the paper, or B1, B2, … for what is not in it.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// The file of configs/ that holds the configuration.
    pub file: &'static str,
    /// The configuration.
    pub config: &'static str,
    /// Takes its measurements. None if the records are not those it needs.
    pub measure: fn(&Results) -> Option<Value>,
    /// Judges measurements. Fails if they are not its own.
    pub judge: fn(&Value) -> Result<Judgement, String>,
    /// Draws it. None if the records are not those it needs.
    pub draw: fn(&Results) -> Option<Drawing>,
}

impl Entry {
    /// Whether it is not in the paper.
    pub fn is_beyond(&self) -> bool {
        self.id.starts_with('B')
    }
}

macro_rules! entry {
    ($id:literal, $file:literal, $title:literal, $study:ty) => {
        Entry {
            id: $id,
            title: $title,
            file: concat!($file, ".toml"),
            config: include_str!(concat!("../configs/", $file, ".toml")),
            measure: study::measure::<$study>,
            judge: study::judge::<$study>,
            draw: <$study as study::Study>::draw,
        }
    };
}

/// All figures, in the order of the report.
pub static CATALOGUE: &[Entry] = &[
    entry!("1", "1", "expected log-likelihood and its upper bound", bound::Bound),
    entry!("2a", "2a", "learning curves of one task", one_task::OneTask),
    entry!("2b", "2b", "error of the first of two unrelated tasks", two_tasks::FirstTask),
    entry!("2c", "2b", "error of the second of two unrelated tasks", two_tasks::SecondTask),
    entry!("2d", "2d", "overlap with what both teachers share", overlap::Overlap),
    entry!("3a", "3a", "order parameters of the first task", order_parameters::OrderParameters),
    entry!("3b", "3b", "error against α", error_curve::ErrorCurve),
    entry!("3c", "3c", "convergence time", convergence_time::ConvergenceTime),
    entry!("3d", "3d", "error against q_⋆", norm::Norm),
    entry!("4a", "4a", "error of task 2 against α_2, γ = 1", data_of_task_two::Second),
    entry!("4b", "4a", "error of task 1 against α_2, γ = 1", data_of_task_two::First),
    entry!("4c", "4c", "error of task 2 against α_2, γ = 0.1", data_of_task_two::SecondWeakly),
    entry!("4d", "4c", "error of task 1 against α_2, γ = 0.1", data_of_task_two::FirstWeakly),
    entry!("5a", "5a", "time course, r_0 = 0.6, α = 3 and 3", time_course::TimeCourse),
    entry!("5b", "5b", "time course, r_0 = 0.5, α = 4 and 3", time_course::TimeCourse),
    entry!("6", "6", "MNIST and Fashion-MNIST, both orders", sequences::Sequences),
    entry!("7a", "7a", "permuted MNIST, variational continual learning", permuted::Variational),
    entry!("7b", "7b", "permuted MNIST, metaplasticity", permuted::Metaplasticity),
    entry!("8", "7a", "uncertainty of each layer", uncertainty::Uncertainty),
    entry!("B1", "B1", "branches and phase diagram", phases::Phases),
    entry!("B2", "B2", "forgetting over ten tasks", chain_of_tasks::ChainOfTasks),
    entry!("B3", "B3", "how strongly to protect the old task", gamma::Gamma),
    entry!("B4", "B4", "the theory's own ensemble, sampled", ensemble::Ensemble),
    entry!("B5", "B5", "binary networks of every learner", binary::Binary),
    entry!("B6", "B6", "a uniform prior for the first task", prior::Prior),
    entry!("B7", "B7", "the limit of low temperature", limit::Limit),
    entry!("B8", "B8", "anchors that fade: memory and the best fading", fading::Fading),
    entry!(
        "B10",
        "B10",
        "training and samples where symmetry is broken",
        broken_ensemble::BrokenEnsemble
    ),
];

/// No such figure.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no figure '{name}'; {cure}")]
pub struct UnknownFigure {
    name: String,
    cure: String,
}

/// The figures of these names, each once and in the order of the report; all if none is named. `3`
/// names all panels of figure 3, and `B` all that is beyond the paper.
pub fn select(names: &[String]) -> Result<Vec<&'static Entry>, UnknownFigure> {
    let meant = |entry: &Entry, name: &str| {
        let panel = entry.id.strip_prefix(name).is_some_and(|rest| rest.len() <= 1);
        entry.id.eq_ignore_ascii_case(name)
            || (name == "B" && entry.is_beyond())
            || (name.parse::<u8>().is_ok() && panel)
    };
    for name in names {
        if !CATALOGUE.iter().any(|entry| meant(entry, name)) {
            return Err(UnknownFigure { name: name.clone(), cure: cure(name) });
        }
    }
    let wanted = |entry: &&Entry| names.is_empty() || names.iter().any(|name| meant(entry, name));
    Ok(CATALOGUE.iter().filter(wanted).collect())
}

/// What there is instead of a figure that is not there.
fn cure(name: &str) -> String {
    let ids: Vec<&str> = CATALOGUE.iter().map(|entry| entry.id).collect();
    let number = name.chars().next().unwrap_or_default().to_ascii_uppercase();
    let panels: Vec<&str> = ids.iter().filter(|id| id.starts_with(number)).copied().collect();
    match config::nearest(name, &ids) {
        Some(near) => format!("did you mean '{near}'?"),
        None if !panels.is_empty() => format!("did you mean one of {}?", panels.join(", ")),
        None => format!("the figures are {}", ids.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Result<Vec<&'static str>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        let found = select(&names).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|entry| entry.id).collect())
    }

    #[test]
    fn figures_are_selected_by_panel_and_by_number() {
        assert_eq!(ids(&[]).unwrap().len(), CATALOGUE.len());
        assert_eq!(ids(&["7a", "3b"]).unwrap(), ["3b", "7a"]);
        assert_eq!(ids(&["4"]).unwrap(), ["4a", "4b", "4c", "4d"]);
        assert_eq!(ids(&["b1", "B1"]).unwrap(), ["B1"]);
        let beyond = CATALOGUE.iter().filter(|entry| entry.is_beyond()).count();
        assert_eq!(ids(&["B"]).unwrap().len(), beyond);
        assert!(ids(&["3e"]).unwrap_err().contains("did you mean one of 3a, 3b, 3c, 3d?"));
        assert!(ids(&["b99"]).unwrap_err().contains("did you mean one of B1, "));
        assert!(ids(&["nonsense"]).unwrap_err().contains("the figures are 1, 2a"));
    }
}
