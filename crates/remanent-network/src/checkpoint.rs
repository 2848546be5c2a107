//! Checkpoints of a course: at most six numbers for each weight.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::architecture::Normalisation;
use crate::course::{Course, Position};
use crate::fused::previous::Previous;
use crate::model::{put_network, take_network};
use crate::tensors::{Arrays, TensorError, Tensors};
use crate::trainer::{Memory, Trainer};

/// The state besides arrays.
#[derive(Serialize, Deserialize)]
struct State {
    position: Position,
    epoch_loss: (f64, u64),
    #[serde(flatten)]
    numbers: Numbers,
}

/// The state of a trainer besides arrays.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Numbers {
    steps: u64,
    /// Of moments that begin anew at switches.
    #[serde(default, skip_serializing_if = "is_zero")]
    moments_since: u64,
    beta: f32,
    log_scale: f32,
    /// Checkpoints of earlier programs do not have it, but the divergence from the previous step as an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Previous>,
    /// Of an anchor that fades by a horizon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept_variance: Option<f64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Course<'_> {
    /// The state of the course.
    pub fn save(&self) -> (Value, Arrays<'_>) {
        let trainer = &self.trainer;
        let state = json!(State {
            position: self.position,
            epoch_loss: self.epoch_loss,
            numbers: trainer.numbers(),
        });
        (state, trainer.arrays())
    }

    /// Restores a state from [`save`](Self::save) of a course with the same parameters.
    pub fn restore(&mut self, state: &Value, tensors: Tensors) -> Result<(), TensorError> {
        let state: State =
            State::deserialize(state).map_err(|e| TensorError::Content(e.to_string()))?;
        self.trainer.restore(tensors, state.numbers)?;
        self.position = state.position;
        self.epoch_loss = state.epoch_loss;
        // The order of another epoch can have the same length.
        self.order.clear();
        Ok(())
    }
}

impl Trainer {
    /// The arrays of the network and of the learner.
    pub(crate) fn arrays(&self) -> Arrays<'_> {
        let mut arrays = Arrays::default();
        put_network(&self.network, &mut arrays);
        for (l, memory) in self.memories.iter().enumerate() {
            let layer = &self.network.layers[l];
            for (name, values) in memory.arrays() {
                let shape = [layer.inputs, layer.outputs];
                arrays.insert(format!("{name}.{l}"), &shape, values);
            }
        }
        for (name, values) in self.extras.arrays() {
            arrays.insert(format!("{name}.extra"), &[values.len()], values);
        }
        arrays
    }

    /// The state that is not in arrays.
    pub(crate) fn numbers(&self) -> Numbers {
        let Self { steps, moments_since, previous, kept_variance, .. } = *self;
        let (beta, log_scale) = (self.network.beta, self.network.log_scale);
        Numbers { steps, moments_since, beta, log_scale, previous, kept_variance }
    }

    /// Restores what [`arrays`](Self::arrays) and [`numbers`](Self::numbers) gave.
    pub(crate) fn restore(
        &mut self,
        mut tensors: Tensors,
        numbers: Numbers,
    ) -> Result<(), TensorError> {
        let Numbers { steps, moments_since, beta, log_scale, previous, kept_variance } = numbers;
        let recalls = self.parameters.recalls_steps();
        let old = &self.network;
        let mut network = take_network(&old.architecture, old.weights, &mut tensors)?;
        network.log_scale = log_scale;
        network.standardise = old.standardise;
        network.set_beta(beta);
        for (l, memory) in self.memories.iter_mut().enumerate() {
            let count = network.layers[l].theta.len();
            let saved = Memory::take(&mut tensors, &l.to_string(), count)?;
            let always = |m: &Memory| [m.first.len(), m.second.len()];
            // If steps are recalled, an array can take the place of the previous step.
            let stored = !saved.kept.is_empty();
            let fits = match recalls {
                true => stored || previous.is_some() || steps == 0,
                false => stored != memory.kept.is_empty(),
            };
            if always(&saved) != always(memory) || !fits {
                let text = "its arrays are not those of this learner";
                return Err(TensorError::Content(text.into()));
            }
            *memory = saved;
        }
        let norms = match network.architecture.normalisation {
            Normalisation::Batch => &network.batch_norms[..],
            _ => &[],
        };
        let gains_and_shifts: usize = norms.iter().map(|norm| 2 * norm.gain.len()).sum();
        let learned = usize::from(self.parameters().learned_scale);
        self.extras = Memory::take(&mut tensors, "extra", gains_and_shifts + learned)?;
        self.pass.drop_moments();
        self.network = network;
        self.steps = steps;
        self.moments_since = moments_since.min(steps);
        self.previous = previous.filter(|_| recalls);
        self.kept_variance = kept_variance;
        Ok(())
    }
}

impl Memory {
    fn arrays(&self) -> [(&'static str, &[f32]); 5] {
        [
            ("first", &self.first),
            ("second", &self.second),
            ("kept", &self.kept),
            ("anchor", &self.anchor),
            ("fisher", &self.fisher),
        ]
    }

    fn take(tensors: &mut Tensors, of: &str, count: usize) -> Result<Self, TensorError> {
        let mut take = |name: &str| tensors.take(&format!("{name}.{of}"), count);
        Ok(Self {
            first: take("first")?,
            second: take("second")?,
            kept: take("kept")?,
            anchor: take("anchor")?,
            fisher: take("fisher")?,
        })
    }
}
