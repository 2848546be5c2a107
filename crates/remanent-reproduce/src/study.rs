//! A figure in four pieces: what is run is its configuration; what is measured, judged and drawn is a
//! [`Study`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::results::{Drawing, Judgement, Results};

/// What is measured, judged and drawn of a figure.
///
/// A judge sees nothing but the measurements. These are kept beside the verdict, so that it can be made
/// again, and be compared, without running anything.
pub trait Study {
    /// All numbers that the judgement rests on, with their uncertainties. They must survive being written
    /// as JSON: a number that may be missing is an `Option`.
    type Measured: Serialize + DeserializeOwned;

    /// Takes the measurements; none if the records are not those that the figure needs.
    fn measure(results: &Results) -> Option<Self::Measured>;

    /// Says what the measurements decide.
    fn judge(measured: &Self::Measured) -> Judgement;

    /// Draws the picture, with the table of its numbers.
    fn draw(results: &Results) -> Option<Drawing>;
}

/// [`Study::measure`] for figures of any kind.
pub fn measure<S: Study>(results: &Results) -> Option<Value> {
    serde_json::to_value(S::measure(results)?).ok()
}

/// [`Study::judge`] for figures of any kind. Fails if the measurements are not those of the figure.
pub fn judge<S: Study>(measured: &Value) -> Result<Judgement, String> {
    let measured: S::Measured =
        serde_json::from_value(measured.clone()).map_err(|error| error.to_string())?;
    Ok(S::judge(&measured))
}
