//! Forward and backward pass of one batch: preactivations as Gaussian variables, and the gradient of
//! the loss by their means and variances.
//!
//! By the central limit theorem the preactivations of a field network are
//! z = m + ε v with m = N^{-1/2} Σ_i μ_ij h_i and v² = N^{-1} Σ_i σ²_ij h_i²
//! (Eq. (eq6) of arXiv:2212.02846, where the sums are over the wrong index).
//! The noise ε is drawn for each neuron and sample, in every layer. In a sign
//! network v = 0 and there is no noise. In float and Gaussian networks the factors N^{-1/2} and
//! N^{-1} are 1.
//!
//! Arrays are neuron by neuron, the B samples of a neuron side by side.

use remanent_math::philox::Stream;

use crate::active::gradient::Gradient;
use crate::active::{self, Active};
use crate::architecture::{Activation, Normalisation};
use crate::bf16::moments::Which;
use crate::kernels;
use crate::network::{Layer, Network, Weights};
use crate::normalisation::{BatchNorm, layer_backward, layer_forward};
use crate::product::{Matrix, Precision, multiply};
use crate::reduced::{Product, Reduced, Shape};
use crate::single;
use crate::softmax::Softmax;

/// Writes the noise ε of layer l, one number for each neuron and sample.
pub type Noise<'a> = &'a mut dyn FnMut(usize, &mut [f32]);

/// A [`Noise`] that is owned.
pub type OwnedNoise = Box<dyn FnMut(usize, &mut [f32])>;

/// Standard normal noise from a stream, layer after layer and pass after pass.
pub fn normal_noise(stream: Stream) -> impl FnMut(usize, &mut [f32]) {
    let mut group = 0;
    move |_, out| {
        stream.fill_normals(group, out);
        group += Stream::groups(out.len());
    }
}

/// Uniform noise between 0 and 1 from a stream, layer after layer and sample after sample.
pub fn uniform_noise(stream: Stream) -> impl FnMut(usize, &mut [f32]) {
    let mut group = 0;
    move |_, out| {
        stream.fill_uniforms(group, out);
        group += Stream::groups(out.len());
    }
}

/// Intermediate values of one layer.
#[derive(Clone, Debug, Default)]
struct Trace {
    /// Activations h^{l+1}; the preactivations of the last layer.
    h: Vec<f32>,
    /// Their squares, in field networks.
    squares: Vec<f32>,
    /// ε/v, in field networks.
    ratio: Vec<f32>,
    /// Normalised preactivations.
    normal: Vec<f32>,
    /// One over the standard deviations by which they were normalised.
    inverse: Vec<f32>,
    /// Input of the sign and gate activations.
    before_sign: Vec<f32>,
    /// K = ∂L/∂z.
    k: Vec<f32>,
    /// K ε/v, in field networks.
    k_ratio: Vec<f32>,
}

/// The state of a forward and backward pass.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    batch: usize,
    images: Vec<f32>,
    image_squares: Vec<f32>,
    traces: Vec<Trace>,
    /// Variance of the preactivations of a layer; later, a part of a gradient.
    variance: Vec<f32>,
    first_moments: (Vec<f32>, Vec<f32>),
    active: Active,
    /// Of weights without variance.
    active_gradient: Gradient,
    /// If inputs of products are rounded.
    reduced: Option<Reduced>,
    /// Gradients by gain and shift of batch normalisation, layer by layer.
    pub by_gain_and_shift: Vec<(Vec<f32>, Vec<f32>)>,
    /// Gradient by the logarithm of the output scale.
    pub by_log_scale: f32,
}

/// Where [`Pass::gradient`] writes.
pub struct GradientTile<'a> {
    /// Gradient by the mean weight, upstream neurons of the tile × downstream neurons.
    pub by_mean: &'a mut [f32],
    /// Likewise by the variance; empty in a sign network.
    pub by_variance: &'a mut [f32],
}

impl Pass {
    /// A pass with products of this precision. The products of a single image are computed in single
    /// precision.
    pub fn with_precision(precision: Precision) -> Self {
        let reduced = (precision == Precision::Bf16).then(Reduced::new);
        Self { reduced, ..Self::default() }
    }

    /// Loads a batch of images, one after another.
    pub fn load(&mut self, network: &Network, images: &[f32]) {
        let inputs = network.architecture.inputs();
        self.batch = images.len() / inputs;
        self.images.resize(images.len(), 0.0);
        transpose(images, self.batch, inputs, &mut self.images);
        if let Some([mean, deviation]) = network.standardise {
            kernels::standardise(mean, deviation, &mut self.images);
        }
        if network.weights.spread() {
            self.image_squares.resize(images.len(), 0.0);
            kernels::square(&self.images, &mut self.image_squares);
        }
        self.traces.resize_with(network.layers.len(), Trace::default);
    }

    /// Uses packed moments of the weights from now on, if precision and processor allow it.
    pub(crate) fn hold_moments(&mut self, network: &Network) {
        if let Some(reduced) = &mut self.reduced {
            reduced.hold_moments(network);
        }
    }

    /// Uses the moments of the network again; whether packed ones were used.
    pub(crate) fn drop_moments(&mut self) -> bool {
        let holder = self.holder_of_moments();
        let held = holder.is_some();
        holder.into_iter().for_each(Reduced::drop_moments);
        held
    }

    /// What holds the packed moments, if there are any.
    pub(crate) fn holder_of_moments(&mut self) -> Option<&mut Reduced> {
        self.reduced.as_mut().filter(|reduced| reduced.holds_moments())
    }

    /// Number of images.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Forward pass of training, with noise: batch normalisation uses the batch and updates its
    /// running averages.
    pub fn forward(&mut self, network: &mut Network, noise: Noise<'_>) {
        for l in 0..network.layers.len() {
            if !self.preactivate_active(network, l) {
                self.preactivate(network, l);
            }
            self.perturb(network, l, noise);
            if network.architecture.normalisation.is_batch() {
                self.normalise_batch(&mut network.batch_norms[l], l);
            }
            self.activate(network, l);
        }
    }

    /// Forward pass of prediction, with noise: batch normalisation uses its running averages. If
    /// `first` is false, the moments of the first preactivations are those of the previous pass of
    /// the same batch.
    pub fn test(&mut self, network: &Network, first: bool, noise: Noise<'_>) {
        for l in 0..network.layers.len() {
            if l > 0 || first {
                self.preactivate(network, l);
            }
            if l == 0 {
                self.reuse_moments(first);
            }
            self.perturb(network, l, noise);
            if let Some(norm) = network.batch_norms.get(l) {
                let rows = self.traces[l].h.chunks_exact_mut(self.batch);
                let (scale, shift) = norm.affine();
                for ((row, scale), shift) in rows.zip(scale).zip(shift) {
                    row.iter_mut().for_each(|z| *z = *z * scale + shift);
                }
            }
            self.activate(network, l);
        }
    }

    /// Saves the moments of the first preactivations, or restores them.
    fn reuse_moments(&mut self, save: bool) {
        let trace = &mut self.traces[0];
        let (mean, variance) = &mut self.first_moments;
        if save {
            mean.clone_from(&trace.h);
            variance.clone_from(&self.variance);
        } else {
            trace.h.clone_from(mean);
            self.variance.clone_from(variance);
        }
    }

    /// Mean and variance of the preactivations of layer l, written to `h` and `variance`.
    fn preactivate(&mut self, network: &Network, l: usize) {
        let layer = &network.layers[l];
        let batch = self.batch;
        let (before, rest) = self.traces.split_at_mut(l);
        let (h, squares) = inputs(&self.images, &self.image_squares, before);
        let trace = &mut rest[0];
        let (root, share) = network.weights.factors(layer.inputs);
        trace.h.resize(layer.outputs * batch, 0.0);
        if batch == 1 {
            single::weighted_rows(root, &layer.mean, h, &mut trace.h);
            if network.weights.spread() {
                self.variance.resize(layer.outputs, 0.0);
                single::weighted_rows(share, &layer.variance, squares, &mut self.variance);
            }
            return;
        }
        if let Some(reduced) = &mut self.reduced {
            let shape = Shape { inputs: layer.inputs, outputs: layer.outputs, batch };
            let product = Product { l, which: Which::Mean, shape, scale: root, w: &layer.mean };
            reduced.forward(product, h, &mut trace.h);
            if network.weights.spread() {
                self.variance.resize(layer.outputs * batch, 0.0);
                let which = Which::Variance;
                let product = Product { which, scale: share, w: &layer.variance, ..product };
                reduced.forward(product, squares, &mut self.variance);
            }
            return;
        }
        if network.weights.spread() {
            self.variance.resize(layer.outputs * batch, 0.0);
            let weights = active::Weights {
                outputs: layer.outputs,
                mean: &layer.mean,
                variance: &layer.variance,
                factors: (root, share),
            };
            if self.active.forward(weights, batch, h, (&mut trace.h, &mut self.variance)) {
                return;
            }
        }
        let weights = |w| Matrix::new(w, layer.inputs, layer.outputs).transposed();
        let h = Matrix::new(h, layer.inputs, batch);
        multiply(&mut trace.h, root, weights(&layer.mean), h);
        if network.weights.spread() {
            let squares = Matrix::new(squares, layer.inputs, batch);
            multiply(&mut self.variance, share, weights(&layer.variance), squares);
        }
    }

    /// [`preactivate`](Self::preactivate) in training, for weights without variance, from the inputs that are not zero.
    /// Says no where the product is faster. Predictions use the product, so that those of a hard network are the same
    /// whatever trained it.
    fn preactivate_active(&mut self, network: &Network, l: usize) -> bool {
        if network.weights.spread() || self.batch == 1 || self.reduced.is_some() {
            return false;
        }
        let layer = &network.layers[l];
        let (before, rest) = self.traces.split_at_mut(l);
        let (h, _) = inputs(&self.images, &[], before);
        let out = &mut rest[0].h;
        out.resize(layer.outputs * self.batch, 0.0);
        let factor = network.weights.factors(layer.inputs).0;
        let fixed = active::Fixed { outputs: layer.outputs, weights: &layer.mean, factor };
        self.active.forward_fixed(fixed, self.batch, h, out)
    }

    /// From mean and variance to a sample of the preactivations.
    fn perturb(&mut self, network: &Network, l: usize, noise: Noise<'_>) {
        if network.weights.spread() {
            let trace = &mut self.traces[l];
            trace.ratio.resize(trace.h.len(), 0.0);
            noise(l, &mut trace.ratio);
            kernels::perturb(&mut trace.h, &self.variance, &mut trace.ratio);
        }
    }

    fn normalise_batch(&mut self, norm: &mut BatchNorm, l: usize) {
        let trace = &mut self.traces[l];
        trace.inverse.resize(norm.gain.len(), 0.0);
        trace.normal.resize(trace.h.len(), 0.0);
        norm.forward(&mut trace.h, &mut trace.normal, &mut trace.inverse);
    }

    /// Normalisation over the layer, and activation.
    fn activate(&mut self, network: &Network, l: usize) {
        let trace = &mut self.traces[l];
        if network.architecture.normalisation.is_layer(l, network.layers.len()) {
            trace.inverse.resize(self.batch, 0.0);
            layer_forward(&mut trace.h, &mut trace.inverse);
            trace.normal.clone_from(&trace.h);
        }
        if l + 1 == network.layers.len() {
            return;
        }
        match network.architecture.activation {
            Activation::Relu => kernels::rectify(&mut trace.h),
            Activation::Sign => {
                trace.before_sign.clone_from(&trace.h);
                kernels::signs(&trace.before_sign, &mut trace.h);
            }
            Activation::Gate => {
                trace.before_sign.clone_from(&trace.h);
                kernels::gates(&trace.before_sign, &mut trace.h);
            }
        }
        if network.weights.spread() {
            trace.squares.resize(trace.h.len(), 0.0);
            kernels::square(&trace.h, &mut trace.squares);
        }
    }

    /// Logits of the batch, class by class; call after [`forward`](Self::forward).
    pub fn logits(&self, network: &Network, out: &mut Vec<f32>) {
        let scale = network.log_scale.exp();
        let last = &self.traces[network.layers.len() - 1];
        out.clear();
        out.extend(last.h.iter().map(|z| scale * z));
    }

    /// Cross entropy summed over the batch, and its gradient by the last preactivations:
    /// K = e^t (softmax − target) (the formula in the paper has a misprint).
    pub fn loss(&mut self, network: &Network, labels: &[u8]) -> f64 {
        let (batch, scale) = (self.batch, network.log_scale.exp());
        let classes = network.architecture.outputs();
        let trace = &mut self.traces[network.layers.len() - 1];
        trace.k.resize(classes * batch, 0.0);
        let mut loss = 0.0;
        self.by_log_scale = 0.0;
        for (b, &label) in labels.iter().enumerate() {
            let logit = |j: usize| scale * trace.h[j * batch + b];
            let softmax = Softmax::of(classes, logit);
            loss += f64::from(softmax.total.ln() + softmax.largest - logit(usize::from(label)));
            for j in 0..classes {
                let target = f32::from(u8::from(j == usize::from(label)));
                let k = softmax.exponential(logit(j)) / softmax.total - target;
                self.by_log_scale += k * logit(j);
                trace.k[j * batch + b] = scale * k;
            }
        }
        loss
    }

    /// Turns the gradient by the output of layer l into that by its preactivations, in place; then,
    /// unless l is the first layer, writes the gradient by the activations of the previous layer.
    /// Call for the layers from last to first, each before its weights change.
    pub fn backward(&mut self, network: &Network, l: usize) {
        let last = l + 1 == network.layers.len();
        let trace = &mut self.traces[l];
        if !last {
            match network.architecture.activation {
                Activation::Relu => kernels::mask_rectified(&trace.h, &mut trace.k),
                Activation::Sign => kernels::mask_sign(&trace.before_sign, &mut trace.k),
                Activation::Gate => kernels::mask_gate(&trace.before_sign, &mut trace.k),
            }
        }
        match network.architecture.normalisation {
            Normalisation::None => (),
            Normalisation::Layer if last => (),
            Normalisation::Layer | Normalisation::LayerAll => {
                layer_backward(&trace.normal, &trace.inverse, &mut trace.k);
            }
            Normalisation::Batch | Normalisation::BatchPlain => {
                let neurons = network.layers[l].outputs;
                self.by_gain_and_shift.resize_with(network.layers.len(), Default::default);
                let (by_gain, by_shift) = &mut self.by_gain_and_shift[l];
                by_gain.resize(neurons, 0.0);
                by_shift.resize(neurons, 0.0);
                let norm = &network.batch_norms[l];
                norm.backward(&trace.normal, &trace.inverse, &mut trace.k, by_gain, by_shift);
            }
        }
        if network.weights.spread() {
            trace.k_ratio.resize(trace.k.len(), 0.0);
            kernels::product(&trace.k, &trace.ratio, &mut trace.k_ratio);
        }
        self.prepare_gradient(network, l);
        if l > 0 {
            self.descend(network, l);
        }
    }

    /// Arranges the factors of the gradient of layer l, if products are of reduced precision or weights have no variance.
    fn prepare_gradient(&mut self, network: &Network, l: usize) {
        let (batch, layer) = (self.batch, &network.layers[l]);
        if batch == 1 {
            return;
        }
        let (k, k_ratio) = (&self.traces[l].k, &self.traces[l].k_ratio);
        let (h, squares) = inputs(&self.images, &self.image_squares, &self.traces[..l]);
        let Some(reduced) = self.reduced.as_mut() else {
            if !network.weights.spread() {
                self.active_gradient.set(batch, h, k);
            }
            return;
        };
        let shape = Shape { inputs: layer.inputs, outputs: layer.outputs, batch };
        if network.weights.spread() {
            reduced.prepare(shape, [h, squares], [k, k_ratio]);
        } else {
            reduced.prepare(shape, [h, &[]], [k, &[]]);
        }
    }

    /// ∂L/∂h_i = Σ_j K_j (N^{-1/2} μ_ij + (ε_j/v_j) N^{-1} σ²_ij h_i), the recursion of the paper.
    fn descend(&mut self, network: &Network, l: usize) {
        let layer = &network.layers[l];
        let (before, rest) = self.traces.split_at_mut(l);
        let (below, trace) = (&mut before[l - 1], &rest[0]);
        let (root, share) = network.weights.factors(layer.inputs);
        below.k.resize(layer.inputs * self.batch, 0.0);
        if let Some(reduced) = self.reduced.as_mut().filter(|_| self.batch > 1) {
            let shape = Shape { inputs: layer.inputs, outputs: layer.outputs, batch: self.batch };
            let product = Product { l, which: Which::Mean, shape, scale: root, w: &layer.mean };
            reduced.backward(product, &trace.k, &mut below.k);
            if network.weights.spread() {
                self.variance.resize(layer.inputs * self.batch, 0.0);
                let which = Which::Variance;
                let product = Product { which, scale: share, w: &layer.variance, ..product };
                reduced.backward(product, &trace.k_ratio, &mut self.variance);
                kernels::join(&self.variance, &below.h, &mut below.k);
            }
            return;
        }
        let weights = |w| Matrix::new(w, layer.inputs, layer.outputs);
        let k = Matrix::new(&trace.k, layer.outputs, self.batch);
        multiply(&mut below.k, root, weights(&layer.mean), k);
        if network.weights.spread() {
            self.variance.resize(layer.inputs * self.batch, 0.0);
            let k_ratio = Matrix::new(&trace.k_ratio, layer.outputs, self.batch);
            multiply(&mut self.variance, share, weights(&layer.variance), k_ratio);
            kernels::join(&self.variance, &below.h, &mut below.k);
        }
    }

    /// Gradients of layer l by the mean and (minus one half, per μ) the variance of the weights of
    /// some upstream neurons: N^{-1/2} Σ_b h_i K_j and N^{-1} Σ_b h_i² K_j ε_j/v_j. In a pass of
    /// reduced precision the first neuron is a multiple of 16.
    pub fn gradient(
        &self,
        network: &Network,
        l: usize,
        neurons: std::ops::Range<usize>,
        tile: GradientTile<'_>,
    ) {
        let layer = &network.layers[l];
        let (h, squares) = inputs(&self.images, &self.image_squares, &self.traces[..l]);
        let trace = &self.traces[l];
        let (root, share) = network.weights.factors(layer.inputs);
        if let Some(reduced) = self.reduced.as_ref().filter(|_| self.batch > 1) {
            reduced.gradient(false, root, neurons.clone(), layer.outputs, tile.by_mean);
            if network.weights.spread() {
                reduced.gradient(true, share, neurons, layer.outputs, tile.by_variance);
            }
            return;
        }
        let part = neurons.start * self.batch..neurons.end * self.batch;
        if self.batch > 1 && !network.weights.spread() && self.active_gradient.is_faster() {
            self.active_gradient.rows(neurons.start, root, &h[part], tile.by_mean);
            return;
        }
        let upstream = |x| Matrix::new(x, neurons.len(), self.batch);
        let downstream = |k| Matrix::new(k, layer.outputs, self.batch).transposed();
        let k = downstream(&trace.k);
        multiply(tile.by_mean, root, upstream(&h[part.clone()]), k);
        if network.weights.spread() {
            let k_ratio = downstream(&trace.k_ratio);
            multiply(tile.by_variance, share, upstream(&squares[part]), k_ratio);
        }
    }
}

impl Pass {
    /// Whether [`single_gradient`](Self::single_gradient) computes the gradient of this layer.
    pub(crate) fn is_single(&self, layer: &Layer) -> bool {
        self.batch == 1 && layer.inputs * layer.outputs > single::SMALL
    }

    /// Of a single image: the gradient by θ of some upstream neurons of layer l in a field network, by the
    /// weights in others.
    pub(crate) fn single_gradient(
        &self,
        network: &Network,
        l: usize,
        neurons: std::ops::Range<usize>,
        g: &mut [f32],
    ) {
        let layer = &network.layers[l];
        let (h, k, ratio) = self.factors(l);
        let h = &h[neurons.clone()];
        let (root, share) = network.weights.factors(layer.inputs);
        if network.weights == Weights::Field {
            let at = neurons.start * layer.outputs..neurons.end * layer.outputs;
            let moments = [&layer.mean[at.clone()], &layer.variance[at]];
            single::field_gradient([network.beta, root, share], h, [k, ratio], moments, g);
        } else {
            single::outer(root, h, k, g);
        }
    }

    /// h upstream of layer l, K and K ε/v downstream; call after [`backward`](Self::backward).
    pub(crate) fn factors(&self, l: usize) -> (&[f32], &[f32], &[f32]) {
        let (h, _) = inputs(&self.images, &self.image_squares, &self.traces[..l]);
        (h, &self.traces[l].k, &self.traces[l].k_ratio)
    }
}

/// The inputs of a layer and their squares: those of the layer before, or the images.
fn inputs<'a>(
    images: &'a [f32],
    squares: &'a [f32],
    before: &'a [Trace],
) -> (&'a [f32], &'a [f32]) {
    before.last().map_or((images, squares), |trace| (&trace.h, &trace.squares))
}

/// Transposes a rows × columns matrix.
pub(crate) fn transpose(x: &[f32], rows: usize, columns: usize, out: &mut [f32]) {
    // By blocks, so that source and destination stay in the cache.
    const BLOCK: usize = 16;
    for row in (0..rows).step_by(BLOCK) {
        let height = BLOCK.min(rows - row);
        for column in 0..columns {
            let out = &mut out[column * rows + row..][..height];
            for (r, out) in out.iter_mut().enumerate() {
                *out = x[(row + r) * columns + column];
            }
        }
    }
}
