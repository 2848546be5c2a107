use super::*;
use crate::architecture::Activation;

#[test]
fn signs_are_kept() {
    for network in examples::all() {
        for (layer, (inputs, outputs)) in network.architecture().shapes().enumerate() {
            let signs = network.signs(layer);
            let given = examples::normals(inputs * outputs, layer as u32);
            assert_eq!(signs, given.iter().map(|x| x.signum()).collect::<Vec<_>>());
            for (place, &sign) in signs.iter().enumerate() {
                assert_eq!(network.weight(layer, place / outputs, place % outputs), sign);
            }
        }
    }
}

fn built(
    normalisation: Normalisation,
    weights: &[&[f32]],
    affine: Vec<Affine>,
    output_scale: f32,
) -> Result<BinaryNetwork, NetworkError> {
    let architecture = examples::architecture(&[2, 2], Activation::Relu, normalisation);
    BinaryNetwork::from_signs(architecture, weights, affine, output_scale)
}

fn refused(network: Result<BinaryNetwork, NetworkError>, words: &str) {
    let text = network.unwrap_err().to_string();
    assert!(text.contains(words), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (none, batch) = (Normalisation::None, Normalisation::Batch);
    let weights: &[&[f32]] = &[&[1.0, -1.0, 0.0, -0.0]];
    let affine = |scale: &[f32], shift: &[f32]| {
        vec![Affine { scale: scale.to_vec(), shift: shift.to_vec() }]
    };
    let good = affine(&[1.0, 2.0], &[0.0, 0.0]);

    let network = built(none, weights, vec![], 1.0).unwrap();
    assert_eq!(network.signs(0), [1.0, -1.0, 1.0, 1.0]);
    built(batch, weights, good.clone(), 1.0).unwrap();

    refused(built(none, &[], vec![], 1.0), "weights of 0 layers: the widths [2, 2] need 1");
    refused(built(none, &[&[1.0; 3]], vec![], 1.0), "3 weights: 2 inputs and 2 outputs need 4");
    refused(built(none, &[&[1.0, 1.0, f32::NAN, 1.0]], vec![], 1.0), "from 1 to 0 in layer 0");
    refused(built(none, weights, good.clone(), 1.0), "None normalisation needs them for 0");
    refused(built(Normalisation::Layer, weights, good.clone(), 1.0), "needs them for 0");
    refused(built(batch, weights, vec![], 1.0), "Batch normalisation needs them for 1");
    refused(built(batch, weights, affine(&[1.0], &[0.0; 2]), 1.0), "1 scales and 2 shifts");
    refused(built(batch, weights, affine(&[1.0; 2], &[f32::INFINITY; 2]), 1.0), "inf is among");
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused(built(none, weights, vec![], scale), "must be positive and finite");
    }
    let architecture = examples::architecture(&[2], Activation::Relu, none);
    refused(BinaryNetwork::from_signs(architecture, &[], vec![], 1.0), "at least two");
}
