use super::*;
use crate::binary::examples;

/// The bytes with some of them changed and the checksum made right again.
fn resealed(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut body = bytes[..bytes.len() - CHECKSUM].to_vec();
    body[at..at + new.len()].copy_from_slice(new);
    let checksum = blake3::hash(&body);
    body.extend(checksum.as_bytes());
    body
}

fn refused(bytes: &[u8]) -> FormatError {
    BinaryNetwork::from_bytes(bytes).unwrap_err()
}

#[test]
fn networks_come_back_bit_for_bit() {
    for network in examples::all() {
        let bytes = network.to_bytes();
        let back = BinaryNetwork::from_bytes(&bytes).unwrap();
        assert_eq!(back, network);
        assert_eq!(back.to_bytes(), bytes);
    }
}

#[test]
fn a_network_is_as_small_as_its_bits() {
    let none = Normalisation::None;
    let widths = [784, 512, 512, 10];
    let network = examples::network(examples::architecture(&widths, Activation::Relu, none));
    assert_eq!(network.to_bytes().len(), 83_584 + 72);
}

/// So that a change of the format is not made by mistake.
#[test]
fn the_bytes_are_those_of_the_specification() {
    let architecture = examples::architecture(&[3, 3], Activation::Sign, Normalisation::Batch);
    let weights = [1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0];
    let affine = vec![Affine { scale: vec![1.0, 2.0, 3.0], shift: vec![-1.0, 0.5, 0.0] }];
    let network = BinaryNetwork::from_signs(architecture, &[&weights], affine, 0.25).unwrap();
    let mut wanted = b"REMANBIN\x01\0\0\0\x01\x02\x01\0\0\0\x80\x3e\x02\0\0\0".to_vec();
    wanted.extend(b"\x03\0\0\0\x03\0\0\0");
    wanted.extend(b"\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\xbf\0\0\0\x3f\0\0\0\0");
    wanted.extend([0b1000_1101, 0b1]);
    let checksum = blake3::hash(&wanted);
    wanted.extend(checksum.as_bytes());
    assert_eq!(network.to_bytes(), wanted);
}

#[test]
fn every_damage_is_noticed() {
    for network in examples::all() {
        let whole = network.to_bytes();
        for length in 0..whole.len() {
            let error = refused(&whole[..length]);
            assert!(matches!(error, FormatError::Truncated { .. }), "{length}: {error}");
        }
        for at in 0..whole.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= change;
                let error = refused(&changed);
                match at {
                    0..8 => assert_eq!(error, FormatError::Magic),
                    8..12 => assert!(matches!(error, FormatError::Version { .. }), "{error}"),
                    14 | 20..40 => {}
                    _ => assert_eq!(error, FormatError::Checksum, "byte {at}"),
                }
            }
        }
        let mut longer = whole.clone();
        longer.push(0);
        let wanted = whole.len();
        assert_eq!(refused(&longer), FormatError::Trailing { wanted, extra: 1 });
    }
}

#[test]
fn the_reasons_are_told_apart() {
    let network = &examples::all()[0];
    let bytes = network.to_bytes();
    assert_eq!(refused(b"PK\x03\x04"), FormatError::Magic);
    assert_eq!(refused(&resealed(&bytes, 8, &[2])), FormatError::Version { found: 2 });
    assert_eq!(refused(&resealed(&bytes, 20, &[1])), FormatError::WidthCount(1));
    let zero = resealed(&bytes, 24, &[0]);
    assert_eq!(refused(&zero), FormatError::Width { width: 0 });
    let huge = resealed(&bytes, 24, &[0xff; 4]);
    assert_eq!(refused(&huge), FormatError::Width { width: u32::MAX });
    for (at, value) in [(12, 3), (13, 4), (14, 2)] {
        let error = refused(&resealed(&bytes, at, &[value]));
        assert!(matches!(error, FormatError::Unknown { .. }), "{error}");
    }
    // Batch normalisation without scales and shifts.
    let error = refused(&resealed(&bytes, 13, &[2]));
    assert!(matches!(error, FormatError::Unknown { name: "flags", .. }), "{error}");
    let scale = resealed(&bytes, 16, &(-1f32).to_le_bytes());
    assert_eq!(refused(&scale), NetworkError::OutputScale(-1.0).into());
    // 5 × 3 signs leave one bit.
    assert_eq!(network.architecture().widths, [5, 3]);
    let last = bytes.len() - CHECKSUM - 1;
    let padding = resealed(&bytes, last, &[bytes[last] | 0x80]);
    assert_eq!(refused(&padding), FormatError::Padding { layer: 0 });
}

/// Would ask for gigabytes if it were believed.
#[test]
fn lengths_are_checked_before_memory_is_asked_for() {
    let bytes = examples::all()[0].to_bytes();
    let most = (Architecture::WIDEST as u32).to_le_bytes();
    let widest = resealed(&bytes, 24, &[most, most].concat());
    assert!(matches!(refused(&widest), FormatError::Truncated { wanted: 0x2000_0040, .. }));
    let many = resealed(&bytes, 20, &[0xff; 4]);
    assert!(matches!(refused(&many), FormatError::Truncated { .. }));
}
