//! A model: architecture, provenance, and uncertainty of the weights.

use std::path::Path;

use remanent_network::network::{Layer, Network, Weights};
use remanent_plot::{Axis, Band, Cell, Curve, Figure, Panel, Table};
use serde_json::{Value, json};

use super::{Facts, Findings, put_origin, settings};
use crate::model::Model;

/// Bins of a histogram, an odd number so that zero is the middle of one.
const BINS: usize = 61;

/// How many weights have which field, in equal bins between −`end` and `end`.
struct Histogram {
    end: f64,
    counts: Vec<usize>,
}

/// What is told of a layer.
struct LayerFacts {
    inputs: usize,
    outputs: usize,
    /// ⟨σ²⟩; none if only the signs are there.
    uncertainty: Option<f64>,
    /// Share of weights that are +1.
    positive: f64,
    fields: Option<Histogram>,
}

/// What a model holds; `bytes` is the size of its file.
pub fn look(path: &Path, model: &Model, bytes: usize) -> Findings {
    let architecture = model.architecture();
    let packed = model.packed().ok().map(|network| network.to_bytes().len());
    let layers = layers(model);
    let name = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (activation, normalisation) =
        (name(json!(architecture.activation)), name(json!(architecture.normalisation)));

    let mut facts = Facts::default();
    facts.put("file", path.display());
    let format = if matches!(model, Model::Packed(_)) { "packed" } else { "safetensors" };
    facts.put("kind", format!("model, {format}"));
    let widths: Vec<String> = architecture.widths.iter().map(usize::to_string).collect();
    facts.put("widths", widths.join(", "));
    facts.put("activation", &activation);
    facts.put("normalisation", &normalisation);
    facts.put("weights", architecture.weights());
    facts.put("bytes", bytes);
    if let Some(packed) = packed {
        facts.put("bytes packed", packed);
    }
    let mut data = json!({
        "kind": "model",
        "path": path,
        "format": format,
        "widths": architecture.widths,
        "activation": activation,
        "normalisation": normalisation,
        "weights": architecture.weights(),
        "bytes": bytes,
        "bytes_packed": packed,
        "layers": layers.iter().map(LayerFacts::json).collect::<Vec<_>>(),
    });
    let mut tables = Vec::new();
    let figure = match model {
        Model::Trained { network, provenance } => {
            let output_scale = network.log_scale().exp();
            let theta = match network.weights() {
                Weights::Field => "the field of a weight of ±1",
                Weights::Sign => "a number whose sign is the weight",
                Weights::Float => "the weight",
                Weights::Gaussian => "the mean of a normal weight",
            };
            facts.put("theta is", theta);
            if network.weights() == Weights::Field {
                facts.put("beta", network.beta());
                data["beta"] = network.beta().into();
            }
            facts.put("output scale", output_scale);
            put_origin(&mut facts, provenance);
            data["theta"] = json!(network.weights());
            data["output_scale"] = output_scale.into();
            data["story"] = provenance.clone();
            tables.extend(settings(&provenance["training"]));
            Ok(figure(network, &layers))
        }
        Model::Packed(network) => {
            facts.put("output scale", network.output_scale());
            data["output_scale"] = network.output_scale().into();
            Err("a packed model has signs alone; give the .safetensors model".into())
        }
    };
    tables.insert(0, facts.table("model"));
    tables.insert(1, table(&layers));
    Findings { data, tables, main: 1, figure, is_sound: true }
}

fn layers(model: &Model) -> Vec<LayerFacts> {
    match model {
        Model::Trained { network, .. } => {
            let uncertainties = network.uncertainty();
            let layer = |(layer, uncertainty): (&Layer, f64)| LayerFacts {
                inputs: layer.inputs(),
                outputs: layer.outputs(),
                uncertainty: Some(uncertainty),
                positive: share(layer.theta().iter().map(|&theta| theta >= 0.0)),
                fields: Some(Histogram::of(layer, network)),
            };
            network.layers().iter().zip(uncertainties).map(layer).collect()
        }
        Model::Packed(network) => {
            let layer = |(layer, (inputs, outputs))| LayerFacts {
                inputs,
                outputs,
                uncertainty: None,
                positive: share(network.signs(layer).into_iter().map(|sign| sign > 0.0)),
                fields: None,
            };
            network.architecture().shapes().enumerate().map(layer).collect()
        }
    }
}

fn share(values: impl ExactSizeIterator<Item = bool>) -> f64 {
    let count = values.len();
    values.filter(|&value| value).count() as f64 / count as f64
}

impl LayerFacts {
    fn json(&self) -> Value {
        let mut value = json!({
            "inputs": self.inputs,
            "outputs": self.outputs,
            "weights": self.inputs * self.outputs,
            "positive": self.positive,
        });
        if let Some(uncertainty) = self.uncertainty {
            value["uncertainty"] = uncertainty.into();
        }
        if let Some(Histogram { end, counts }) = &self.fields {
            value["histogram"] = json!({"from": -end, "to": end, "counts": counts});
        }
        value
    }
}

fn table(layers: &[LayerFacts]) -> Table {
    let mut table =
        Table::new(["layer", "inputs", "outputs", "weights", "uncertainty", "positive"]);
    for (number, layer) in layers.iter().enumerate() {
        let counts = [number + 1, layer.inputs, layer.outputs, layer.inputs * layer.outputs];
        let mut row = counts.map(|count| Cell::Integer(count as i64)).to_vec();
        row.extend([layer.uncertainty.into(), layer.positive.into()]);
        table.push(row);
    }
    table
}

impl Histogram {
    /// Of βθ, or of θ where only its sign counts.
    fn of(layer: &Layer, network: &Network) -> Self {
        let beta = if network.weights() == Weights::Field { network.beta() } else { 1.0 };
        let fields = || layer.theta().iter().map(|&theta| f64::from(beta * theta));
        let largest = fields().map(f64::abs).filter(|x| x.is_finite()).fold(0.0, f64::max);
        let end = if largest > 0.0 { largest } else { 1.0 };
        let mut counts = vec![0; BINS];
        for field in fields().filter(|field| field.is_finite()) {
            let bin = (field / end + 1.0) * 0.5 * BINS as f64;
            counts[(bin as usize).min(BINS - 1)] += 1;
        }
        Self { end, counts }
    }

    /// The outline of its columns: shares of the weights.
    fn outline(&self, weights: usize) -> (Vec<f64>, Vec<f64>) {
        let edge = |bin: usize| self.end * (2.0 * bin as f64 / BINS as f64 - 1.0);
        let columns = self.counts.iter().enumerate();
        let corners = columns.flat_map(|(bin, &count)| {
            let height = count as f64 / weights as f64;
            [(edge(bin), height), (edge(bin + 1), height)]
        });
        corners.unzip()
    }
}

fn figure(network: &Network, layers: &[LayerFacts]) -> Figure {
    let axis = if network.weights() == Weights::Field { "field βθ" } else { "θ" };
    let panels = layers.iter().enumerate().filter_map(|(number, layer)| {
        let title = format!("layer {}: {} × {}", number + 1, layer.inputs, layer.outputs);
        let (x, y) = layer.fields.as_ref()?.outline(layer.inputs * layer.outputs);
        let axes = (Axis::linear(axis), Axis::linear("share of the weights").lower(0.0));
        let floor = vec![0.0; x.len()];
        let panel = Panel::new(title, axes.0, axes.1)
            .with(Band::new(x.clone(), floor, y.clone()))
            .with(Curve::new(x, y).width(1.0));
        Some(panel)
    });
    Figure::grid(panels.collect(), 2)
}
