//! A checkpoint of a training: where it stood.

use std::path::Path;

use remanent_network::tensors::{TensorError, Tensors};
use remanent_plot::Table;
use serde_json::json;

use super::{Facts, Findings, put_origin, settings};

/// What a checkpoint holds.
pub fn look(path: &Path, bytes: &[u8]) -> Result<Findings, TensorError> {
    let (about, tensors) = Tensors::decode(bytes, "checkpoint")?;
    let count = |shape: &[usize]| shape.iter().product::<usize>();
    let of = |wanted: fn(&str) -> bool| -> usize {
        tensors.shapes().filter(|(name, _)| wanted(name)).map(|(_, shape)| count(shape)).sum()
    };
    let (weights, numbers) = (of(|name| name.starts_with("theta.")), of(|_| true));
    let a_weight = numbers as f64 / weights.max(1) as f64;

    let (key, course) = (&about["key"], &about["state"]["course"]);
    let position = &course["position"];
    let number = |name: &str| position[name].as_u64().unwrap_or(0);
    let (task, epoch, batch) = (number("phase") + 1, number("epoch"), number("batch"));
    let steps = course["steps"].as_u64().unwrap_or(0);
    let seconds = about["seconds"].as_f64();

    let mut facts = Facts::default();
    facts.put("file", path.display());
    facts.put("kind", "checkpoint");
    put_origin(&mut facts, key);
    facts.put("task under way", task);
    facts.put("epochs of the task done", epoch);
    facts.put("steps of the epoch done", batch);
    facts.put("steps done in all", steps);
    facts.put("seconds used", rounded(seconds.unwrap_or(0.0)));
    facts.put("weights", weights);
    facts.put("floats a weight", rounded(a_weight));
    facts.put("bytes", bytes.len());

    let mut arrays = Table::new(["array", "shape"]);
    let text = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" × ");
    for (name, shape) in tensors.shapes() {
        arrays.push(vec![name.into(), text(shape).into()]);
    }
    let shapes: Vec<_> =
        tensors.shapes().map(|(name, shape)| json!({"name": name, "shape": shape})).collect();
    let data = json!({
        "kind": "checkpoint",
        "path": path,
        "task": task,
        "epoch": epoch,
        "batch": batch,
        "steps": steps,
        "seconds": seconds,
        "weights": weights,
        "floats": numbers,
        "floats_per_weight": a_weight,
        "bytes": bytes.len(),
        "arrays": shapes,
        "story": key,
    });
    let mut tables = vec![facts.table("checkpoint"), arrays];
    tables.extend(settings(&key["training"]));
    let figure = Err("a checkpoint is no model; its run draws itself when it is done".into());
    Ok(Findings { data, tables, main: 1, figure, is_sound: true })
}

/// To a thousandth.
fn rounded(x: f64) -> f64 {
    (1e3 * x).round() / 1e3
}
