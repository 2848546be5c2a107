//! The algorithms that figure 2 compares.

use remanent_perceptron::student::Space;
use remanent_plot::Dash;

use crate::results::{Results, Simulated};
use remanent_lab::simulation::Learner;

/// How a case learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In field space with the KL term.
    Variational,
    /// In field space without it.
    WithoutKl,
    /// In magnetisation space without it.
    Traditional,
    /// The second task alone.
    Isolated,
}

impl Way {
    /// That of a case.
    pub fn of(case: &Simulated) -> Option<Self> {
        let Learner::Gradient(learner) = &case.simulation.learner else { return None };
        Some(match (case.simulation.setting.alpha.len(), learner.space) {
            (1, _) => Self::Isolated,
            (_, Space::Magnetisation) => Self::Traditional,
            _ if learner.gamma == [0.0] => Self::WithoutKl,
            _ => Self::Variational,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Variational => "variational",
            Self::WithoutKl => "field space, no KL",
            Self::Traditional => "traditional",
            Self::Isolated => "task 2 alone",
        }
    }

    /// How its lines are broken.
    pub fn dash(self) -> Dash {
        match self {
            Self::Variational | Self::WithoutKl => Dash::Solid,
            Self::Traditional => Dash::Dashed,
            Self::Isolated => Dash::Dotted,
        }
    }
}

/// α of the second task, or of the only one.
pub fn alpha_2(case: &Simulated) -> f64 {
    *case.simulation.setting.alpha.last().unwrap_or(&f64::NAN)
}

/// The cases that learn in a way.
pub fn cases(results: &Results, way: Way) -> Vec<&Simulated> {
    results.simulated.iter().filter(|case| Way::of(case) == Some(way)).collect()
}

/// The epoch at which the task changes.
pub fn switch(case: &Simulated) -> usize {
    case.summary.ends[0].epoch
}
