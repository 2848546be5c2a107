//! Questions about the stationary state of a stream without end, and their answers.

use remanent_store::{Context, Stopped};
use remanent_theory::chain::ChainParameters;
use remanent_theory::scan::{ScanAxis, product};
use remanent_theory::stationary::{Stationary, Stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cell::piecewise;
use super::query::{QueryError, scanned_json};

/// A stream, or one for each combination of the scanned values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamAsk {
    pub parameters: ChainParameters,
    pub axes: Vec<ScanAxis>,
    /// The largest ℓ of the memory curve.
    pub memory: Option<usize>,
    /// The error below which a task counts as remembered.
    pub remembered: f64,
}

/// The stationary state at one combination of the scanned values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamPoint {
    /// The scanned values, by name.
    pub at: Vec<(String, f64)>,
    /// The stream there.
    pub stream: Stationary,
    /// How many of the latest tasks are remembered.
    pub horizon: usize,
}

impl StreamAsk {
    /// Checks every combination.
    pub fn new(
        parameters: ChainParameters,
        axes: Vec<ScanAxis>,
        memory: Option<usize>,
        remembered: f64,
    ) -> Result<Self, QueryError> {
        for (_, parameters) in product(&parameters, &axes)? {
            Stream::new(&parameters, memory)?;
        }
        Ok(Self { parameters, axes, memory, remembered })
    }

    /// Everything the answer depends on.
    pub fn to_json(&self) -> Value {
        let mut value = scanned_json(&self.parameters, &self.axes, "stationary");
        value["memory"] = json!(self.memory);
        value["remembered"] = json!(self.remembered);
        value
    }

    /// The number of streams.
    pub fn work(&self) -> usize {
        self.axes.iter().map(|a| a.values.len()).product()
    }

    /// Solves every stream.
    pub fn run(&self, context: &mut Context<'_>) -> Result<Vec<StreamPoint>, Stopped> {
        let cases = product(&self.parameters, &self.axes).map_err(Stopped::failed)?;
        piecewise(context, &cases, 8, |(at, parameters)| {
            let stream = Stream::new(parameters, self.memory).map_err(Stopped::failed)?.solve();
            let horizon = stream.horizon(self.remembered);
            Ok(StreamPoint { at: at.clone(), stream, horizon })
        })
    }
}
