//! The list of all figures: what each is called, what the paper claims with it, where its configuration
//! is, and who draws and judges it.

use thiserror::Error;

use crate::config;
use crate::reproduce::figures::{
    binary, bound, chain_of_tasks, convergence_time, data_of_task_two, ensemble, error_curve,
    gamma, limit, norm, one_task, order_parameters, overlap, permuted, phases, prior, sequences,
    time_course, two_tasks, uncertainty,
};
use crate::reproduce::results::{Results, Shown};

/// One figure.
#[derive(Debug)]
pub struct Entry {
    /// The number in the paper, or B1, B2, … for what is not in it.
    pub id: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What the paper claims; what is asked, if it is not in the paper.
    pub claim: &'static str,
    /// The folder of figures/ that holds the configuration.
    pub folder: &'static str,
    /// The configuration.
    pub config: &'static str,
    /// Draws and judges it. None if its records are not those it needs.
    pub show: fn(&Results) -> Option<Shown>,
}

impl Entry {
    /// Whether it is not in the paper.
    pub fn is_beyond(&self) -> bool {
        self.id.starts_with('B')
    }
}

macro_rules! entry {
    ($id:literal, $folder:literal, $title:literal, $show:path, $claim:literal) => {
        Entry {
            id: $id,
            title: $title,
            claim: $claim,
            folder: $folder,
            config: include_str!(concat!("../../../../figures/", $folder, "/experiment.toml")),
            show: $show,
        }
    };
}

/// All figures, in the order of the report.
pub static CATALOGUE: [Entry; 26] = [
    entry!(
        "1",
        "1",
        "expected log-likelihood and its upper bound",
        bound::show,
        "The upper bound ln E P, which is maximised instead of the expected log-likelihood, can be tight: \
         for ten weights and ten examples both go together."
    ),
    entry!(
        "2a",
        "2a",
        "learning curves of one task",
        one_task::show,
        "With more examples the single task is learned better."
    ),
    entry!(
        "2b",
        "2b",
        "error of the first of two unrelated tasks",
        two_tasks::show_first,
        "When the task changes the error of the first task rises and then settles at a stable value; \
         traditional SGD forgets more."
    ),
    entry!(
        "2c",
        "2b",
        "error of the second of two unrelated tasks",
        two_tasks::show_second,
        "The error of the second task falls, the lower the more examples there are, but not to the level \
         of the task learned in isolation."
    ),
    entry!(
        "2d",
        "2d",
        "overlap with what both teachers share",
        overlap::show,
        "Without the KL term the overlap with the common part of both teachers falls more sharply and then \
         rises more rapidly; with it the overlap changes slowly and stays lower."
    ),
    entry!(
        "3a",
        "3a",
        "order parameters of the first task",
        order_parameters::show,
        "With more examples the space of weights shrinks down to a single point, the teacher: q_d, q_0 and \
         r grow smoothly to one."
    ),
    entry!(
        "3b",
        "3b",
        "error against α",
        error_curve::show,
        "SGD follows the theory; the transition to perfect generalisation at α ≈ 1.7 is continuous, and \
         beyond it the error falls as a power law with an exponent of about 13.1."
    ),
    entry!(
        "3c",
        "3c",
        "convergence time",
        convergence_time::show,
        "The time that gradient descent needs to converge peaks at α ≈ 1.7."
    ),
    entry!(
        "3d",
        "3d",
        "error against q_⋆",
        norm::show,
        "At the same norm q_⋆ slow SGD and the equilibrium theory (published at β = 5) are comparable."
    ),
    entry!(
        "4a",
        "4a",
        "error of task 2 against α_2, γ = 1",
        data_of_task_two::show_second,
        "Similar tasks make the second task easier, opposed ones harder; gradient descent agrees with the \
         theory except around the transition."
    ),
    entry!(
        "4b",
        "4a",
        "error of task 1 against α_2, γ = 1",
        data_of_task_two::show_first,
        "The error of the first task rises as the second is learned, as far as the tasks are not alike; \
         gradient descent agrees with the theory."
    ),
    entry!(
        "4c",
        "4c",
        "error of task 2 against α_2, γ = 0.1",
        data_of_task_two::show_second_weakly,
        "With a tenth of the KL term the second task is learned with less data, and the critical α_2 \
         changes."
    ),
    entry!(
        "4d",
        "4c",
        "error of task 1 against α_2, γ = 0.1",
        data_of_task_two::show_first_weakly,
        "With a tenth of the KL term the memory of the first task is strongly degraded."
    ),
    entry!(
        "5a",
        "5a",
        "time course, r_0 = 0.6, α = 3 and 3",
        time_course::show,
        "Predictions of the theory and the training of large perceptrons are in excellent agreement."
    ),
    entry!(
        "5b",
        "5b",
        "time course, r_0 = 0.5, α = 4 and 3",
        time_course::show,
        "Predictions of the theory and the training of large perceptrons are in excellent agreement."
    ),
    entry!(
        "6",
        "6",
        "MNIST and Fashion-MNIST, both orders",
        sequences::show,
        "In both orders variational continual learning performs much better than metaplasticity: it forgets less \
         and learns the new task better."
    ),
    entry!(
        "7a",
        "7a",
        "permuted MNIST, variational continual learning",
        permuted::show_variational,
        "Networks trained by variational continual learning learn five permuted tasks and preserve their \
         performance while others are learned."
    ),
    entry!(
        "7b",
        "7b",
        "permuted MNIST, metaplasticity",
        permuted::show_metaplasticity,
        "Metaplasticity learns the five tasks less well and forgets more than variational continual \
         learning."
    ),
    entry!(
        "8",
        "7a",
        "uncertainty of each layer",
        uncertainty::show,
        "The mean uncertainty falls during continual learning, rises a little after each change of task and \
         falls again; the last layer keeps the lowest."
    ),
    entry!(
        "B1",
        "B1",
        "branches and phase diagram",
        phases::show,
        "Which solutions do the equations have at β = 20, where do they exchange stability, where is \
         replica symmetry broken, and how does all that depend on β?"
    ),
    entry!(
        "B2",
        "B2",
        "forgetting over ten tasks",
        chain_of_tasks::show,
        "Does the theory, continued from two tasks to ten, predict what perceptrons remember?"
    ),
    entry!(
        "B3",
        "B3",
        "how strongly to protect the old task",
        gamma::show,
        "Is the factor γ that the theory recommends the one that simulations find best?"
    ),
    entry!(
        "B4",
        "B4",
        "the theory's own ensemble, sampled",
        ensemble::show,
        "Are the equations right: do samples of the ensemble they describe agree with them?"
    ),
    entry!(
        "B5",
        "B5",
        "binary networks of every learner",
        binary::show,
        "What is left of each learner if the network is really binary: accuracy, calibration, and the \
         recognition of images of no task?"
    ),
    entry!(
        "B6",
        "B6",
        "a uniform prior for the first task",
        prior::show,
        "The paper remarks that with a uniform prior learning is similar but needs more data: is that so?"
    ),
    entry!(
        "B7",
        "B7",
        "the limit of low temperature",
        limit::show,
        "Is perfect generalisation reached as β grows, is the transition continuous, and where is the \
         replica-symmetric answer not to be trusted?"
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
        let panel = entry.id.strip_prefix(name);
        entry.id.eq_ignore_ascii_case(name)
            || (name == "B" || name.parse::<u8>().is_ok())
                && panel.is_some_and(|rest| rest.len() <= 1)
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
        assert_eq!(ids(&["B"]).unwrap().len(), 7);
        assert!(ids(&["3e"]).unwrap_err().contains("did you mean one of 3a, 3b, 3c, 3d?"));
        assert!(ids(&["b8"]).unwrap_err().contains("did you mean one of B1, "));
        assert!(ids(&["nonsense"]).unwrap_err().contains("the figures are 1, 2a"));
    }
}
