//! Export to ONNX.
//!
//! The input `images` has batch × inputs numbers (float32), for any batch size; the outputs `logits`
//! and `probabilities` have batch × classes. Weights are stored as int8 (±1), because ONNX has no
//! single-bit type, and cast to float32 before use. The model uses opset 17, the first with a layer
//! normalisation operator.
//!
//! Field and type numbers are those of `onnx.proto`.

use remanent_formats::protobuf::Message;

use super::{BinaryNetwork, root_factor};
use crate::architecture::{Activation, Architecture, NORMALISATION_EPSILON, Normalisation};

/// Version of the file format.
const IR_VERSION: u64 = 8;
/// Version of the operators.
const OPSET: u64 = 17;

/// Types of numbers.
const FLOAT: u64 = 1;
const INT8: u64 = 3;

/// The content of a file. Protocol Buffers messages are limited to 2 GiB: other programs refuse
/// larger files.
pub fn encode(network: &BinaryNetwork) -> Vec<u8> {
    let graph = graph(network);
    let opset = Message::new().string(1, "").integer(2, OPSET);
    Message::new()
        .integer(1, IR_VERSION)
        .string(2, "remanent")
        .string(3, env!("CARGO_PKG_VERSION"))
        .string(6, &description(network.architecture()))
        .message(7, &graph)
        .message(8, &opset)
        .into_bytes()
}

fn description(architecture: &Architecture) -> String {
    let widths: Vec<String> = architecture.widths.iter().map(usize::to_string).collect();
    let activation = match architecture.activation {
        Activation::Relu => "ReLU",
        Activation::Sign => "sign (+1 at zero)",
        Activation::Gate => "gate (1 where |z| > 1, else 0)",
    };
    let normalisation = match architecture.normalisation {
        Normalisation::None => "no normalisation",
        Normalisation::Layer => "layer normalisation",
        Normalisation::Batch | Normalisation::BatchPlain => "batch normalisation",
        Normalisation::LayerAll => "layer normalisation of all layers",
    };
    format!(
        "A network of widths {} with weights +1 and -1, {activation} neurons and {normalisation}. \
         images: pixels, row by row; logits: one number a class; probabilities: their softmax.",
        widths.join(", ")
    )
}

fn graph(network: &BinaryNetwork) -> Message {
    let architecture = network.architecture();
    let mut graph = Graph::default();
    let mut h = "images".to_owned();
    for (layer, (inputs, outputs)) in architecture.shapes().enumerate() {
        let last = layer + 1 == architecture.layers();
        let name = |what: &str| format!("{what}{layer}");
        let signs: Vec<u8> = network.small_signs(layer).map(i8::cast_unsigned).collect();
        graph.tensor(&name("w"), INT8, &[inputs, outputs], &signs);
        let cast = attribute("to", 2).integer(3, FLOAT);
        let weights = graph.node("Cast", &[&name("w")], &name("weights"), &[cast]);
        let sums = graph.node("MatMul", &[&h, &weights], &name("sums"), &[]);
        graph.floats(&name("factor"), &[], &[root_factor(inputs)]);
        let mut z = graph.node("Mul", &[&sums, &name("factor")], &name("z"), &[]);
        if let Some(affine) = network.affine(layer) {
            graph.floats(&name("scale"), &[outputs], &affine.scale);
            graph.floats(&name("shift"), &[outputs], &affine.shift);
            let scaled = graph.node("Mul", &[&z, &name("scale")], &name("scaled"), &[]);
            z = graph.node("Add", &[&scaled, &name("shift")], &name("shifted"), &[]);
        }
        if architecture.normalisation.is_layer(layer, architecture.layers()) {
            graph.floats(&name("gain"), &[outputs], &vec![1.0; outputs]);
            let epsilon = attribute("epsilon", 1).float(2, NORMALISATION_EPSILON);
            let inputs = [z.as_str(), &name("gain")];
            z = graph.node("LayerNormalization", &inputs, &name("normal"), &[axis(), epsilon]);
        }
        if last {
            graph.floats("output_scale", &[], &[network.output_scale()]);
            graph.node("Mul", &[&z, "output_scale"], "logits", &[]);
            break;
        }
        h = match architecture.activation {
            Activation::Relu => graph.node("Relu", &[&z], &name("h"), &[]),
            Activation::Sign => {
                // The operator Sign gives 0 at zero.
                for (constant, value) in [("zero", 0.0), ("plus", 1.0), ("minus", -1.0)] {
                    graph.floats(&name(constant), &[], &[value]);
                }
                let inputs = [z.as_str(), &name("zero")];
                let positive = graph.node("GreaterOrEqual", &inputs, &name("positive"), &[]);
                let inputs = [positive.as_str(), &name("plus"), &name("minus")];
                graph.node("Where", &inputs, &name("h"), &[])
            }
            Activation::Gate => {
                graph.floats(&name("one"), &[], &[1.0]);
                let size = graph.node("Abs", &[&z], &name("size"), &[]);
                let open = graph.node("Greater", &[&size, &name("one")], &name("open"), &[]);
                let cast = attribute("to", 2).integer(3, FLOAT);
                graph.node("Cast", &[&open], &name("h"), &[cast])
            }
        };
    }
    graph.node("Softmax", &["logits"], "probabilities", &[axis()]);
    graph
        .message
        .string(2, "network")
        .message(11, &value("images", architecture.inputs()))
        .message(12, &value("logits", architecture.outputs()))
        .message(12, &value("probabilities", architecture.outputs()))
}

/// A graph under construction.
#[derive(Default)]
struct Graph {
    message: Message,
}

impl Graph {
    /// Appends an operator and returns the name of its output.
    fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[Message],
    ) -> String {
        let mut node = Message::new();
        for input in inputs {
            node = node.string(1, input);
        }
        node = node.string(2, output).string(3, output).string(4, operator);
        for attribute in attributes {
            node = node.message(5, attribute);
        }
        self.message = std::mem::take(&mut self.message).message(1, &node);
        output.to_owned()
    }

    /// Appends an array of constants.
    fn tensor(&mut self, name: &str, kind: u64, shape: &[usize], bytes: &[u8]) {
        let mut tensor = Message::new();
        for &size in shape {
            tensor = tensor.integer(1, size as u64);
        }
        tensor = tensor.integer(2, kind).string(8, name).counted(9, bytes);
        self.message = std::mem::take(&mut self.message).message(5, &tensor);
    }

    fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, FLOAT, shape, &bytes);
    }
}

/// Begins an attribute; `kind` is 1 for a number and 2 for an integer.
fn attribute(name: &str, kind: u64) -> Message {
    Message::new().string(1, name).integer(20, kind)
}

/// The last axis, that of neurons or classes.
fn axis() -> Message {
    attribute("axis", 2).integer(3, (-1i64).cast_unsigned())
}

/// An input or output of batch × width numbers.
fn value(name: &str, width: usize) -> Message {
    let batch = Message::new().string(2, "batch");
    let width = Message::new().integer(1, width as u64);
    let shape = Message::new().message(1, &batch).message(1, &width);
    let tensor = Message::new().integer(1, FLOAT).message(2, &shape);
    Message::new().string(1, name).message(2, &Message::new().message(1, &tensor))
}
