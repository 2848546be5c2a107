//! Serialises vectors of floats as bit patterns, so that they are read back exactly (also NaN).

use serde::{Deserialize, Deserializer, Serializer};

/// Writes the bit patterns.
pub fn serialize<S: Serializer>(values: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|v| v.to_bits()))
}

/// Reads bit patterns.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    Ok(Vec::<u32>::deserialize(deserializer)?.into_iter().map(f32::from_bits).collect())
}
