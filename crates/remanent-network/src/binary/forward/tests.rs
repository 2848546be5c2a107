use super::*;
use crate::architecture::{Architecture, Normalisation};
use crate::binary::examples;

/// The logits by the definition, in double precision, and how near the preactivations of sign
/// and gate neurons came to where they change.
fn exact(network: &BinaryNetwork, image: &[f32]) -> (Vec<f64>, f64) {
    let Architecture { activation, normalisation, .. } = *network.architecture();
    let mut h: Vec<f64> = image.iter().map(|&x| x.into()).collect();
    let mut margin = f64::INFINITY;
    for (layer, (inputs, outputs)) in network.architecture().shapes().enumerate() {
        let mut z: Vec<f64> = (0..outputs)
            .map(|j| {
                let terms = (0..inputs).map(|i| f64::from(network.weight(layer, i, j)) * h[i]);
                terms.sum::<f64>() / (inputs as f64).sqrt()
            })
            .collect();
        if let Some(affine) = network.affine(layer) {
            for (j, z) in z.iter_mut().enumerate() {
                *z = *z * f64::from(affine.scale[j]) + f64::from(affine.shift[j]);
            }
        }
        let last = layer + 1 == network.architecture().layers();
        let over_layer = match normalisation {
            Normalisation::Layer => !last,
            Normalisation::LayerAll => true,
            _ => false,
        };
        if over_layer {
            let mean = z.iter().sum::<f64>() / outputs as f64;
            let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / outputs as f64;
            let deviation = (variance + f64::from(NORMALISATION_EPSILON)).sqrt();
            z.iter_mut().for_each(|z| *z = (*z - mean) / deviation);
        }
        if last {
            z.iter_mut().for_each(|z| *z *= f64::from(network.output_scale()));
            return (z, margin);
        }
        h = match activation {
            Activation::Relu => z.iter().map(|z| z.max(0.0)).collect(),
            Activation::Sign => {
                margin = z.iter().fold(margin, |margin, z| margin.min(z.abs()));
                z.iter().map(|&z| if z >= 0.0 { 1.0 } else { -1.0 }).collect()
            }
            Activation::Gate => {
                margin = z.iter().fold(margin, |margin, z| margin.min((z.abs() - 1.0).abs()));
                z.iter().map(|&z| if z.abs() > 1.0 { 1.0 } else { 0.0 }).collect()
            }
        };
    }
    unreachable!("a network has a last layer")
}

#[test]
fn logits_are_those_of_the_definition() {
    let wide = |normalisation| {
        let widths = [784, 512, 512, 10];
        examples::network(examples::architecture(&widths, Activation::Relu, normalisation))
    };
    let mut networks = examples::all();
    networks.extend(examples::NORMALISATIONS.map(wide));
    let mut workspace = Workspace::new();
    for network in networks {
        let (inputs, classes) = (network.architecture().inputs(), network.architecture().outputs());
        let batch = 7;
        let mut images = examples::normals(batch * inputs, 300);
        // Of every second image most pixels are dark.
        for image in images.chunks_mut(2 * inputs) {
            image[..inputs].iter_mut().for_each(|x| *x = (*x - 0.8).max(0.0));
        }
        let mut logits = vec![f32::NAN; batch * classes];
        network.logits(&images, &mut logits, &mut workspace);
        let mut used = 0;
        for (image, logits) in images.chunks(inputs).zip(logits.chunks(classes)) {
            let (exact, margin) = exact(&network, image);
            if margin < 1e-5 {
                continue;
            }
            used += 1;
            let size = exact.iter().fold(1e-3, |size: f64, z| size.max(z.abs()));
            for (logit, exact) in logits.iter().zip(exact) {
                let error = (f64::from(*logit) - exact).abs() / size;
                assert!(error < 1e-5, "{:?}: {error:e}", network.architecture());
            }
        }
        assert!(used > batch / 2, "{:?}: {used}", network.architecture());
    }
}

#[test]
fn zero_has_the_sign_plus() {
    let architecture = examples::architecture(&[2, 3, 1], Activation::Sign, Normalisation::None);
    let first = [1.0, -1.0, 0.0, -0.0, 1.0, -1.0];
    let network = BinaryNetwork::from_signs(architecture, &[&first, &[1.0, 1.0, 1.0]], vec![], 1.0);
    let mut logits = [0.0];
    network.unwrap().logits(&[0.0, 0.0], &mut logits, &mut Workspace::new());
    assert!((logits[0] - 3f32.sqrt()).abs() < 1e-6);
}

#[test]
fn classes_are_those_of_the_largest_logits() {
    assert_eq!(most_probable(&[1.0, 3.0, 3.0, 2.0]).0, 1);
    for network in examples::all() {
        let (inputs, classes) = (network.architecture().inputs(), network.architecture().outputs());
        let images = examples::normals(5 * inputs, 400);
        let mut probabilities = vec![0.0; 5 * classes];
        network.probabilities(&images, &mut probabilities, &mut Workspace::new());
        for (row, class) in probabilities.chunks(classes).zip(network.predict(&images)) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(row.iter().all(|&p| p <= row[class]));
        }
        assert!(network.predict(&[]).is_empty());
    }
}

#[test]
fn softmax_does_not_overflow() {
    let mut logits = [1000.0, 0.0, -1000.0, -1000.0];
    softmax(&mut logits, 2);
    assert_eq!(logits, [1.0, 0.0, 0.5, 0.5]);
}

#[test]
fn what_is_not_finite_spoils_no_other_image() {
    let network = &examples::all()[1];
    let (inputs, classes) = (network.architecture().inputs(), network.architecture().outputs());
    let mut images = examples::normals(2 * inputs, 500);
    let mut wanted = vec![0.0; 2 * classes];
    network.logits(&images, &mut wanted, &mut Workspace::new());
    images[3] = f32::NAN;
    let mut logits = vec![0.0; 2 * classes];
    network.logits(&images, &mut logits, &mut Workspace::new());
    assert!(logits[..classes].iter().all(|logit| logit.is_nan()));
    assert_eq!(logits[classes..], wanted[classes..]);
}
