//! A learner whose tasks come one at a time.
//!
//! A [`Course`] knows all its tasks when it begins. Here each task is learned when it is there, and may be
//! forgotten by the caller afterwards. The steps are those of a course: tasks that are learned one after
//! another give the same network as a course over all of them, bit for bit.

use std::ops::ControlFlow;

use remanent_data::dataset::View;
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use crate::checkpoint::Numbers;
use crate::course::{Before, Course, CourseSpec, Event};
use crate::learner::{Learner, Parameters};
use crate::network::Network;
use crate::parameters::ParameterError;
use crate::schedule::BetaSchedule;
use crate::tensors::{TensorError, Tensors};
use crate::trainer::{Diverged, Trainer};

/// The kind of a file of arrays.
const KIND: &str = "learner";

/// Why a task was not learned. The learner is as it was before.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The task does not fit the network, or a parameter is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A number is no longer finite.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// How a task was learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// The mean loss of each epoch.
    pub losses: Vec<f64>,
    /// Steps of this task.
    pub steps: u64,
}

/// A learner that is given one task after another.
#[derive(Clone, Debug)]
pub struct Lifelong {
    trainer: Trainer,
    classes: usize,
    seed: u64,
    before: Before,
}

/// What is saved besides arrays.
#[derive(Serialize, Deserialize)]
struct State {
    parameters: Parameters,
    inputs: usize,
    classes: usize,
    seed: u64,
    before: Before,
    #[serde(flatten)]
    numbers: Numbers,
}

impl Lifelong {
    /// A learner that has learned nothing yet.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or needs to know all tasks in advance.
    pub fn new(
        parameters: &Parameters,
        inputs: usize,
        classes: usize,
        seed: u64,
    ) -> Result<Self, ParameterError> {
        if parameters.learner == Learner::Joint {
            let text = "learner joint needs all tasks at once; choose another, e.g. vcl, ewc or metaplasticity";
            return Err(ParameterError::invalid(text));
        }
        if !matches!(&parameters.beta, BetaSchedule::Tasks(values) if values.len() == 1) {
            return Err(ParameterError::Invalid(format!(
                "beta_schedule = {} needs the number of tasks or epochs in advance; give one number",
                parameters.beta
            )));
        }
        parameters.check(1, 1)?;
        let network = parameters.initial_network(inputs, classes, seed, 0)?;
        let mut trainer = Trainer::new(parameters, network)?;
        trainer.set_beta(parameters.beta.at(0, 0, 1) as f32);
        Ok(Self { trainer, classes, seed, before: Before::default() })
    }

    /// Learns a task. `step` is called after each step and says whether to go on.
    pub fn learn(
        &mut self,
        task: &View<'_>,
        epochs: usize,
        mut step: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Learned, LearnError> {
        let parameters = self.trainer.parameters().clone();
        let spec = CourseSpec {
            parameters: &parameters,
            tasks: Box::new(vec![*task]),
            inputs: task.inputs(),
            epochs: &[epochs],
            classes: self.classes,
            seed: self.seed,
            trial: 0,
        };
        // A copy, so that nothing is half learned.
        let mut course = Course::following(spec, self.trainer.clone(), self.before)?;
        let mut learned = Learned { losses: Vec::new(), steps: course.steps() };
        loop {
            match course.advance()? {
                Event::End => break,
                Event::Step => {}
                Event::Epoch | Event::Phase => {
                    let (sum, count) = course.epoch_loss();
                    learned.losses.push(sum / count as f64);
                }
            }
            if step().is_break() {
                return Err(LearnError::Interrupted);
            }
        }
        self.trainer = course.into_trainer();
        if parameters.sees_switches() {
            self.trainer.end_task(task, self.seed, 0, self.before.tasks);
        }
        self.before.tasks += 1;
        self.before.epochs += epochs;
        Ok(learned)
    }

    /// The network.
    pub fn network(&self) -> &Network {
        self.trainer.network()
    }

    /// Number of tasks learned.
    pub fn tasks(&self) -> usize {
        self.before.tasks
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The whole state, as bytes.
    pub fn encode(&self) -> Result<Vec<u8>, TensorError> {
        let network = self.trainer.network();
        let state = json!(State {
            parameters: self.trainer.parameters().clone(),
            inputs: network.architecture().inputs(),
            classes: self.classes,
            seed: self.seed,
            before: self.before,
            numbers: self.trainer.numbers(),
        });
        self.trainer.arrays().encode(KIND, &state)
    }

    /// The learner that [`encode`](Self::encode) saved.
    pub fn decode(bytes: &[u8]) -> Result<Self, TensorError> {
        let (state, tensors) = Tensors::decode(bytes, KIND)?;
        let content = |text: String| TensorError::Content(text);
        let state: State = serde_json::from_value(state).map_err(|e| content(e.to_string()))?;
        let mut learner = Self::new(&state.parameters, state.inputs, state.classes, state.seed)
            .map_err(|error| content(error.to_string()))?;
        learner.trainer.restore(tensors, state.numbers)?;
        learner.before = state.before;
        Ok(learner)
    }
}

#[cfg(test)]
mod tests {
    use remanent_data::sources::Cache;
    use remanent_data::stream::StreamSpec;

    use super::*;
    use crate::fading::Fading;
    use crate::learner::{Anchor, Fisher};

    fn on(text: &str) -> Vec<Parameters> {
        let beta: BetaSchedule = text.parse().unwrap();
        let small = |learner| Parameters {
            hidden: vec![16],
            beta: beta.clone(),
            ..Parameters::of(learner)
        };
        vec![
            small(Learner::Vcl),
            Parameters { anchor: Anchor::Task, learned_scale: true, ..small(Learner::Vcl) },
            Parameters {
                anchor: Anchor::Task,
                fading: Fading { horizon: Some(1), ..Fading::default() },
                ..small(Learner::Vcl)
            },
            Parameters { fisher: Fisher::Empirical, ..small(Learner::Ewc) },
            small(Learner::Metaplasticity),
            Parameters { batch: 64, ..small(Learner::BayesBinn) },
            Parameters { batch: 64, ..small(Learner::Bimu) },
            Parameters { batch: 64, ..small(Learner::Si) },
            Parameters { batch: 64, ..small(Learner::Mesu) },
        ]
    }

    #[test]
    fn tasks_one_at_a_time_are_a_course() {
        let stream = StreamSpec::read("permuted:digits:3").unwrap();
        let stream = stream.load(&Cache::at("unused")).unwrap();
        let tasks = stream.tasks(7, 0);
        let views: Vec<_> = tasks.iter().map(|task| task.train().first(300).unwrap()).collect();
        for parameters in on("1") {
            let mut course = Course::new(CourseSpec {
                parameters: &parameters,
                tasks: Box::new(views.clone()),
                inputs: views[0].inputs(),
                epochs: &[2],
                classes: stream.classes(),
                seed: 7,
                trial: 0,
            })
            .unwrap();
            while course.advance().unwrap() != Event::End {}

            let mut learner =
                Lifelong::new(&parameters, stream.inputs(), stream.classes(), 7).unwrap();
            for (number, view) in views.iter().enumerate() {
                let mut left = 3;
                let stop = learner.learn(view, 2, || {
                    left -= 1;
                    if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                assert!(matches!(stop, Err(LearnError::Interrupted)));
                let learned = learner.learn(view, 2, || ControlFlow::Continue(())).unwrap();
                assert_eq!((learned.losses.len(), learned.steps), (2, 10));
                learner = Lifelong::decode(&learner.encode().unwrap()).unwrap();
                assert_eq!(learner.tasks(), number + 1);
            }
            for (one, all) in learner.network().layers().iter().zip(course.network().layers()) {
                assert_eq!(one.theta(), all.theta(), "{:?}", parameters.learner);
            }
        }
    }

    #[test]
    fn what_needs_all_tasks_is_refused() {
        for (text, told) in [("tanh:10,0.1,2", "in advance"), ("1,2", "in advance"), ("0", "beta")]
        {
            let parameters = &on(text)[0];
            let message = Lifelong::new(parameters, 4, 2, 1).unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
    }
}
