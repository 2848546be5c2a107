//! A step of the learners that sample weights.
//!
//! Several networks of sampled weights see the same batch. Their gradients by the parameters of the
//! distribution are averaged, and the learner's rule makes the step. The noise is one number for
//! each weight: uniform between 0 and 1 for binary weights, standard normal for Gaussian ones.
//!
//! A relaxed binary weight is w = tanh((λ + ½ ln(u/(1 − u)))/τ). With x = 2u − 1 the noise is artanh x, and
//! for τ = 1 the addition theorem gives w = (μ + x)/(1 + μx), without elementary functions.

use remanent_math::elementary32::{ln, tanh_and_variance};
use remanent_math::multiversioned;

use crate::kernels;
use crate::learner::{Learner, Parameters};
use crate::network::{Layer, Network};
use crate::pass::{GradientTile, Noise, Pass};
use crate::rivals::{bayesbinn, bimu, mesu};
use crate::trainer::{Diverged, Memory, Moment, Trainer};

/// Buffers: none of it is state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampling {
    /// The network of sampled weights.
    network: Option<Network>,
    layers: Vec<Buffers>,
    by_weight: Vec<f32>,
}

/// Of one layer.
#[derive(Clone, Debug, Default)]
struct Buffers {
    noise: Vec<f32>,
    /// Gradient by the first parameter of the distribution.
    first: Vec<f32>,
    /// Gradient by the second, if there is one.
    second: Vec<f32>,
}

/// Sums of the gradients of output scale, gains and shifts.
#[derive(Default)]
struct Extras {
    by_log_scale: f32,
    by_gain_and_shift: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Trainer {
    /// [`Trainer::step`] with sampled weights. The loss is averaged over the samples.
    pub(crate) fn step_with_sampled_weights(
        &mut self,
        images: &[f32],
        labels: &[u8],
        moment: &Moment,
        noise: Noise<'_>,
    ) -> Result<f64, Diverged> {
        let samples = self.parameters().rival.samples();
        let mut sampling = std::mem::take(&mut self.sampling);
        sampling.begin(&self.network, self.parameters());
        let loss = self.sampled_gradients(&mut sampling, images, labels, noise);
        self.steps += 1;
        if !loss.is_finite() {
            return Err(self.diverged(loss));
        }
        // `bimu` does not forget where there is nothing to learn.
        if self.parameters().learner != Learner::Bimu || sampling.has_gradient() {
            let rule = Rule {
                parameters: &self.parameters,
                moment,
                batch: labels.len() as f32,
                samples: samples as f32,
            };
            let layers = self.network.layers.iter_mut().zip(&self.memories);
            for ((layer, memory), buffers) in layers.zip(&mut sampling.layers) {
                rule.update(layer, memory, buffers);
            }
        }
        let adam = self.adam_step(moment.rate);
        self.learn_extras(&adam);
        self.sampling = sampling;
        Ok(loss)
    }

    /// Adds up the gradients of all samples; gives the mean loss.
    fn sampled_gradients(
        &mut self,
        sampling: &mut Sampling,
        images: &[f32],
        labels: &[u8],
        noise: Noise<'_>,
    ) -> f64 {
        let parameters = &self.parameters;
        let samples = parameters.rival.samples();
        let Sampling { network, layers, by_weight } = sampling;
        let Some(sampled) = network else { return f64::NAN };
        // Running averages belong to the network that is trained.
        std::mem::swap(&mut sampled.batch_norms, &mut self.network.batch_norms);
        let mut extras = Extras::default();
        let mut loss = 0.0;
        self.pass.load(sampled, images);
        for _ in 0..samples {
            for (l, buffers) in layers.iter_mut().enumerate() {
                noise(l, &mut buffers.noise);
                let (layer, weights) = (&self.network.layers[l], &mut sampled.layers[l].mean);
                let pixels = self.pass.factors(0).0;
                if l == 0 && pixels.len() == layer.inputs {
                    // A single image: weights of a pixel that is zero have no effect and no gradient.
                    for i in (0..layer.inputs).filter(|i| pixels[*i] != 0.0) {
                        let at = i * layer.outputs..(i + 1) * layer.outputs;
                        draw(parameters, layer, at, &buffers.noise, weights);
                    }
                } else {
                    draw(parameters, layer, 0..weights.len(), &buffers.noise, weights);
                }
            }
            self.pass.forward(sampled, &mut |_, _| {});
            loss += self.pass.loss(sampled, labels);
            for (l, buffers) in layers.iter_mut().enumerate().rev() {
                self.pass.backward(sampled, l);
                let layer = &sampled.layers[l];
                by_weight.resize(layer.mean.len(), 0.0);
                if self.pass.is_single(layer) {
                    self.pass.single_gradient(sampled, l, 0..layer.inputs, by_weight);
                } else {
                    let tile = GradientTile { by_mean: by_weight, by_variance: &mut [] };
                    self.pass.gradient(sampled, l, 0..layer.inputs, tile);
                }
                buffers.add(parameters, &layer.mean, by_weight);
            }
            extras.add(&self.pass);
        }
        std::mem::swap(&mut sampled.batch_norms, &mut self.network.batch_norms);
        extras.average(samples, &mut self.pass);
        loss / samples as f64
    }
}

impl Sampling {
    fn begin(&mut self, network: &Network, parameters: &Parameters) {
        let sampled = self.network.get_or_insert_with(|| network.fixed(|_, _| {}));
        sampled.log_scale = network.log_scale;
        self.layers.resize_with(network.layers.len(), Buffers::default);
        for (buffers, layer) in self.layers.iter_mut().zip(&network.layers) {
            let count = layer.theta.len();
            buffers.noise.resize(count, 0.0);
            buffers.first.clear();
            buffers.first.resize(count, 0.0);
            if parameters.learner == Learner::Mesu {
                buffers.second.clear();
                buffers.second.resize(count, 0.0);
            }
        }
    }

    fn has_gradient(&self) -> bool {
        self.layers.iter().any(|buffers| buffers.first.iter().any(|g| *g != 0.0))
    }
}

impl Buffers {
    fn add(&mut self, parameters: &Parameters, weights: &[f32], by_weight: &[f32]) {
        match parameters.learner {
            Learner::Mesu => {
                mesu::add_gradient(&self.noise, by_weight, &mut self.first, &mut self.second);
            }
            Learner::BayesBinn => bayesbinn::add_gradient(weights, by_weight, &mut self.first),
            _ => {
                let temperature = parameters.rival.temperature();
                bimu::add_gradient(temperature, weights, by_weight, &mut self.first);
            }
        }
    }
}

impl Extras {
    fn add(&mut self, pass: &Pass) {
        self.by_log_scale += pass.by_log_scale;
        self.by_gain_and_shift.resize_with(pass.by_gain_and_shift.len(), Default::default);
        for (sum, own) in self.by_gain_and_shift.iter_mut().zip(&pass.by_gain_and_shift) {
            for (sum, own) in [(&mut sum.0, &own.0), (&mut sum.1, &own.1)] {
                sum.resize(own.len(), 0.0);
                kernels::add_scaled(1.0, own, sum);
            }
        }
    }

    fn average(mut self, samples: usize, pass: &mut Pass) {
        let share = (samples as f32).recip();
        for (by_gain, by_shift) in &mut self.by_gain_and_shift {
            kernels::scale(share, by_gain);
            kernels::scale(share, by_shift);
        }
        pass.by_log_scale = share * self.by_log_scale;
        pass.by_gain_and_shift = self.by_gain_and_shift;
    }
}

/// Some weights of a sampled network.
fn draw(
    parameters: &Parameters,
    layer: &Layer,
    at: std::ops::Range<usize>,
    noise: &[f32],
    weights: &mut [f32],
) {
    let (noise, weights) = (&noise[at.clone()], &mut weights[at.clone()]);
    if parameters.learner == Learner::Mesu {
        weights.copy_from_slice(noise);
        kernels::gaussian_weights(&layer.theta[at.clone()], &layer.variance[at], weights);
    } else {
        let temperature = parameters.rival.temperature();
        if temperature == 1.0 {
            relax_by_mean(&layer.mean[at], noise, weights);
        } else {
            relax(temperature, &layer.theta[at], noise, weights);
        }
    }
}

multiversioned! {
    /// w ← tanh((λ + ½ ln(u/(1 − u)))/τ), a relaxed sample of a binary weight of field λ.
    fn relax(temperature: f32, fields: &[f32], noise: &[f32], weights: &mut [f32]) {
        let scale = 1.0 / temperature;
        for ((w, &field), &u) in weights.iter_mut().zip(fields).zip(noise) {
            let shift = 0.5 * ln(u / (1.0 - u));
            *w = tanh_and_variance((field + shift) * scale).0;
        }
    }

    /// The same for τ = 1, from the mean μ = tanh λ.
    fn relax_by_mean(means: &[f32], noise: &[f32], weights: &mut [f32]) {
        for ((w, &mean), &u) in weights.iter_mut().zip(means).zip(noise) {
            let x = 2.0 * u - 1.0;
            *w = (mean + x) / (1.0 + mean * x);
        }
    }
}

/// The update of a layer.
struct Rule<'a> {
    parameters: &'a Parameters,
    moment: &'a Moment,
    batch: f32,
    samples: f32,
}

impl Rule<'_> {
    fn update(&self, layer: &mut Layer, memory: &Memory, buffers: &mut Buffers) {
        let Parameters { rival, window, .. } = self.parameters;
        let rate = (self.moment.rate * self.parameters.rate()) as f32;
        let share = self.batch / window.unwrap_or(self.moment.examples) as f32;
        let number = |value: Option<f64>, otherwise: f32| value.map_or(otherwise, |x| x as f32);
        kernels::scale(self.samples.recip(), &mut buffers.first);
        kernels::scale(self.samples.recip(), &mut buffers.second);
        match self.parameters.learner {
            Learner::Mesu => {
                let prior = number(rival.prior_sigma, 1.0);
                let step = mesu::Step {
                    rate,
                    rate_sigma: self.moment.rate as f32 * number(rival.lr_sigma, 1.0),
                    prior_variance: prior * prior,
                    clip: number(rival.clip, 0.0),
                    share,
                };
                let Layer { theta, mean, variance, .. } = layer;
                mesu::update(step, &buffers.first, &buffers.second, theta, variance);
                mean.copy_from_slice(theta);
            }
            Learner::BayesBinn => {
                let step = bayesbinn::Step {
                    rate,
                    likelihood: number(rival.likelihood, self.moment.examples as f32 / self.batch),
                    temperature: rival.temperature(),
                    prior_strength: number(rival.prior_strength, 1.0),
                };
                let Layer { theta, mean, variance, .. } = layer;
                bayesbinn::update(step, &buffers.first, mean, &memory.anchor, theta);
                kernels::moments(1.0, theta, mean, variance);
            }
            _ => {
                let step = bimu::Step {
                    rate,
                    likelihood: number(rival.likelihood, 1.0),
                    kl: number(rival.kl, 1.0),
                    max_rate: number(rival.max_rate, 1.0),
                    share,
                };
                let Layer { theta, mean, variance, .. } = layer;
                bimu::update(step, &buffers.first, theta);
                kernels::moments(1.0, theta, mean, variance);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use remanent_math::philox::Stream;

    use super::*;

    #[test]
    fn both_forms_of_relaxed_weights_are_the_definition() {
        let mut noise = vec![0.0; 4000];
        Stream::new(3, 1, 0, 0).fill_uniforms(0, &mut noise);
        for field in [-20.0_f32, -3.0, -0.4, 0.0, 0.01, 1.5, 12.0] {
            let (fields, means) = (vec![field; 4000], vec![field.tanh(); 4000]);
            let (mut general, mut by_mean) = (vec![0.0; 4000], vec![0.0; 4000]);
            relax(1.0, &fields, &noise, &mut general);
            relax_by_mean(&means, &noise, &mut by_mean);
            let mut cold = vec![0.0; 4000];
            relax(0.25, &fields, &noise, &mut cold);
            for i in 0..4000 {
                let u = f64::from(noise[i]);
                let shifted = f64::from(field) + 0.5 * (u / (1.0 - u)).ln();
                assert!((f64::from(general[i]) - shifted.tanh()).abs() < 2e-6);
                assert!((f64::from(by_mean[i]) - shifted.tanh()).abs() < 2e-3, "{field} {u}");
                assert!((f64::from(cold[i]) - (4.0 * shifted).tanh()).abs() < 6e-6);
            }
            let mean = by_mean.iter().map(|&w| f64::from(w).signum()).sum::<f64>() / 4000.0;
            assert!((mean - f64::from(field).tanh()).abs() < 5.0 / 4000_f64.sqrt());
        }
    }
}
