//! Conversion of a trained network to a packed one.

use super::{Affine, BinaryNetwork, NetworkError};
use crate::network::{Layer, Network};

impl BinaryNetwork {
    /// The binary network of the most probable weights, sign θ, as used by
    /// [`Predictor::Hard`](crate::predictor::Predictor::Hard). Batch normalisation becomes a scale and
    /// a shift for each neuron.
    ///
    /// # Errors
    ///
    /// If weights are real, or pixels are standardised.
    pub fn hard(network: &Network) -> Result<Self, NetworkError> {
        if !network.weights.are_binary() {
            return Err(NetworkError::RealWeights);
        }
        if network.standardise.is_some() {
            return Err(NetworkError::Standardised);
        }
        let weights: Vec<&[f32]> = network.layers.iter().map(binary_weights).collect();
        let affine = network.batch_norms.iter().map(|norm| {
            let (scale, shift) = norm.affine();
            Affine { scale, shift }
        });
        let architecture = network.architecture.clone();
        Self::from_signs(architecture, &weights, affine.collect(), network.log_scale.exp())
    }
}

/// Numbers with the signs of the weights: a network made for prediction only has no θ.
fn binary_weights(layer: &Layer) -> &[f32] {
    if layer.theta.is_empty() { &layer.mean } else { &layer.theta }
}

#[cfg(test)]
mod tests {
    use remanent_data::digits;
    use remanent_math::philox::Stream;

    use super::super::{Workspace, examples};
    use super::*;
    use crate::metrics::most_probable;
    use crate::network::Weights;
    use crate::predictor::{Predictor, predict};

    #[test]
    fn it_answers_as_the_hard_predictor() {
        let digits = digits::load();
        let view = digits.test().first(100).unwrap();
        let mut images = vec![0.0; 100 * view.inputs()];
        view.batch(&(0..100).collect::<Vec<_>>(), &mut images);
        for activation in examples::ACTIVATIONS {
            for normalisation in examples::NORMALISATIONS {
                let architecture = examples::architecture(&[64, 31, 10], activation, normalisation);
                let mut network =
                    Network::random(&architecture, Weights::Field, 1.0, 3, 0).unwrap();
                network.log_scale = 0.3;
                for norm in &mut network.batch_norms {
                    norm.gain.iter_mut().enumerate().for_each(|(j, g)| *g = 0.1 * j as f32 - 0.5);
                    norm.shift.iter_mut().enumerate().for_each(|(j, s)| *s = 0.2 - 0.1 * j as f32);
                    norm.mean.fill(0.25);
                    norm.variance.fill(2.0);
                }
                let stream = |step| Stream::new(1, 2, 3, step);
                let wanted = predict(&network, &[view], Predictor::Hard, 1, stream).remove(0);

                let packed = BinaryNetwork::hard(&network).unwrap();
                assert_eq!(BinaryNetwork::hard(&network.hard()).unwrap(), packed);
                let mut found = vec![0.0; 100 * 10];
                packed.probabilities(&images, &mut found, &mut Workspace::new());
                for (found, wanted) in found.chunks(10).zip(wanted.rows()) {
                    for (a, b) in found.iter().zip(wanted) {
                        assert!((a - b).abs() < 1e-5, "{activation:?} {normalisation:?}: {a} {b}");
                    }
                    let (class, confidence) = most_probable(found);
                    let same = class == most_probable(wanted).0;
                    assert!(same || f64::from(wanted[class]) > confidence - 1e-5);
                }
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let none = examples::NORMALISATIONS[0];
        let architecture = examples::architecture(&[4, 2], examples::ACTIVATIONS[0], none);
        let mut network = Network::random(&architecture, Weights::Sign, 1.0, 3, 0).unwrap();
        network.layers[0].theta[5] = f32::NAN;
        let error = BinaryNetwork::hard(&network).unwrap_err();
        assert_eq!(error, NetworkError::NotANumber { layer: 0, input: 2, output: 1 });
    }

    #[test]
    fn what_bits_cannot_hold_is_refused() {
        let architecture = examples::architecture(
            &[5, 3],
            crate::architecture::Activation::Relu,
            crate::architecture::Normalisation::None,
        );
        let network = |weights| Network::random(&architecture, weights, 1.0, 3, 0).unwrap();
        for weights in [Weights::Float, Weights::Gaussian] {
            let error = BinaryNetwork::hard(&network(weights)).unwrap_err();
            assert_eq!(error, NetworkError::RealWeights);
        }
        let mut network = network(Weights::Field);
        assert!(BinaryNetwork::hard(&network).is_ok());
        network.set_standardise(Some([0.1, 0.3]));
        assert_eq!(BinaryNetwork::hard(&network), Err(NetworkError::Standardised));
    }
}
