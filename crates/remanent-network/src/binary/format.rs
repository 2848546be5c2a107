//! The format of packed networks, files named `.rbin`.
//!
//! All numbers are little-endian; `f32` is IEEE 754 binary32. With L + 1 widths N_0, …, N_L the file
//! is, without gaps:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `REMANBIN` in ASCII |
//! | 8 | 4 | `u32`: version of the format, 1 |
//! | 12 | 1 | activation: 0 ReLU, 1 sign, 2 gate |
//! | 13 | 1 | normalisation: 0 none, 1 layer, 2 batch, 3 all layers |
//! | 14 | 2 | `u16`: flags; bit 0 is set if scales and shifts are there, the others are zero |
//! | 16 | 4 | `f32`: factor of the logits, positive |
//! | 20 | 4 | `u32`: number of widths, at least 2 |
//! | 24 | 4 (L + 1) | `u32` each: the widths, from 1 to 65536 |
//! | | 8 (N_1 + … + N_L) | if flag 0 is set, for every layer its scales, then its shifts, `f32` each |
//! | | ⌈N_0 N_1 / 8⌉ | the signs of layer 0 |
//! | | … | the signs of the other layers in the same way |
//! | | 32 | BLAKE3 checksum of everything before it |
//!
//! The sign of the weight from neuron i to neuron j of the next layer is bit k = i N_{l+1} + j of its
//! layer: bit k mod 8 (0 is the lowest) of byte ⌊k / 8⌋, set for +1 and not for −1. Rows are not
//! padded; what is left of the last byte of a layer is zero. Flag 0 is set for batch normalisation
//! and for nothing else. A network of 784, 512, 512 and 10 neurons has 83 584 bytes of signs, and
//! 72 more.
//!
//! [`BinaryNetwork::from_bytes`] allocates memory only after the length has been found to match the
//! widths and the checksum to be right.

use thiserror::Error;

use super::bits::Bits;
use super::{Affine, BinaryNetwork, NetworkError, affine_layers};
use crate::architecture::{Activation, Architecture, Normalisation};

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// The first bytes of every packed network.
pub const MAGIC: [u8; 8] = *b"REMANBIN";

/// Set if there are scales and shifts.
const AFFINE: u16 = 1;
/// Where the widths begin.
const WIDTHS: usize = 24;
/// Length of the checksum.
const CHECKSUM: usize = blake3::OUT_LEN;

/// Why bytes are not a packed network.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes do not begin with the magic number.
    #[error("it is not a packed network: it does not begin with REMANBIN; give a .rbin file")]
    Magic,
    /// Written in another version of the format.
    #[error("it is written in format {found}, and this program reads format {VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The bytes are cut short.
    #[error("it is cut short: it has {found} of at least {wanted} bytes; copy or create it again")]
    Truncated {
        /// Number of bytes that are there.
        found: usize,
        /// Number of bytes that its beginning says.
        wanted: u128,
    },
    /// Extra bytes follow the network.
    #[error("it has {extra} bytes more than the {wanted} of its widths; copy or create it again")]
    Trailing {
        /// Number of bytes that its widths say.
        wanted: usize,
        /// Number of bytes after these.
        extra: usize,
    },
    /// The number of widths is invalid.
    #[error(
        "it is damaged: {0} widths are given; a network has at least two, from 1 to 65536 each; \
         copy or create it again"
    )]
    WidthCount(u32),
    /// A width is out of range.
    #[error(
        "it is damaged: width {width} is out of range, from 1 to 65536; copy or create it again"
    )]
    Width {
        /// The first such width.
        width: u32,
    },
    /// Changed since it was written.
    #[error("it is damaged: its checksum does not match; copy or create it again")]
    Checksum,
    /// A field of the header has an unknown value.
    #[error("its {name} {value} is unknown: {wanted}")]
    Unknown {
        /// A field of the header.
        name: &'static str,
        /// Its value.
        value: u16,
        /// The values that are known.
        wanted: &'static str,
    },
    /// Padding bits after the last sign of a layer are set.
    #[error("padding bits after the signs of layer {layer} are set: they must be zero")]
    Padding {
        /// Which layer, from 0.
        layer: usize,
    },
    /// The content does not describe a valid network.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl BinaryNetwork {
    /// The content of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Architecture { widths, activation, normalisation } = &self.architecture;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.push(match activation {
            Activation::Relu => 0,
            Activation::Sign => 1,
            Activation::Gate => 2,
        });
        bytes.push(match normalisation {
            Normalisation::None => 0,
            Normalisation::Layer => 1,
            Normalisation::Batch | Normalisation::BatchPlain => 2,
            Normalisation::LayerAll => 3,
        });
        let flags = if self.affine.is_empty() { 0 } else { AFFINE };
        bytes.extend(flags.to_le_bytes());
        bytes.extend(self.output_scale.to_le_bytes());
        bytes.extend((widths.len() as u32).to_le_bytes());
        bytes.extend(widths.iter().flat_map(|&width| (width as u32).to_le_bytes()));
        for Affine { scale, shift } in &self.affine {
            bytes.extend(scale.iter().chain(shift).flat_map(|value| value.to_le_bytes()));
        }
        for bits in &self.layers {
            bits.append_to(&mut bytes);
        }
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        bytes
    }

    /// The network that [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let widths = checked_widths(bytes)?;
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if blake3::hash(body).as_bytes() != checksum {
            return Err(FormatError::Checksum);
        }
        let unknown = |name, value: u8, wanted| {
            let value = value.into();
            Err(FormatError::Unknown { name, value, wanted })
        };
        let activation = match body[12] {
            0 => Activation::Relu,
            1 => Activation::Sign,
            2 => Activation::Gate,
            other => {
                return unknown("activation", other, "0 (ReLU), 1 (sign) and 2 (gate) are known");
            }
        };
        let normalisation = match body[13] {
            0 => Normalisation::None,
            1 => Normalisation::Layer,
            2 => Normalisation::Batch,
            3 => Normalisation::LayerAll,
            other => {
                let wanted = "0 (none), 1 (layer), 2 (batch) and 3 (all layers) are known";
                return unknown("normalisation", other, wanted);
            }
        };
        let architecture = Architecture { widths, activation, normalisation };
        let flags = u16_at(body, 14);
        if flags != if affine_layers(&architecture) > 0 { AFFINE } else { 0 } {
            let wanted = "it must be 1 for batch normalisation and 0 otherwise";
            return Err(FormatError::Unknown { name: "flags", value: flags, wanted });
        }
        let output_scale = f32::from_bits(u32_at(body, 16));

        let mut rest = &body[WIDTHS + 4 * architecture.widths.len()..];
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken
        };
        let mut floats = |count: usize| -> Vec<f32> {
            take(4 * count).as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect()
        };
        let outputs = architecture.widths[1..].iter().take(affine_layers(&architecture));
        let affine =
            outputs.map(|&n| Affine { scale: floats(n), shift: floats(n) }).collect::<Vec<_>>();
        let mut layers = Vec::with_capacity(architecture.layers());
        for (layer, (inputs, outputs)) in architecture.shapes().enumerate() {
            let weights = inputs * outputs;
            let packed = take(weights.div_ceil(8));
            if !weights.is_multiple_of(8) && packed[weights / 8] >> (weights % 8) != 0 {
                return Err(FormatError::Padding { layer });
            }
            layers.push(Bits::unpacked(inputs, outputs, packed));
        }
        Ok(Self::from_bits(architecture, layers, affine, output_scale)?)
    }
}

/// The widths, after checks of magic number, version, length and ranges.
fn checked_widths(bytes: &[u8]) -> Result<Vec<usize>, FormatError> {
    let found = bytes.len();
    let at_least = |wanted: u128| {
        if (found as u128) < wanted {
            Err(FormatError::Truncated { found, wanted })
        } else {
            Ok(())
        }
    };
    if !bytes.starts_with(&MAGIC[..found.min(MAGIC.len())]) {
        return Err(FormatError::Magic);
    }
    at_least(12)?;
    // The version comes first: anything that follows may be different in a later format.
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return Err(FormatError::Version { found: version });
    }
    at_least((WIDTHS + CHECKSUM) as u128)?;
    let count = u32_at(bytes, 20);
    if count < 2 {
        return Err(FormatError::WidthCount(count));
    }
    let mut wanted = (WIDTHS + CHECKSUM) as u128 + 4 * u128::from(count);
    at_least(wanted)?;
    let widths = bytes[WIDTHS..][..4 * count as usize].as_chunks().0;
    let widths = widths.iter().map(|&width| u32::from_le_bytes(width));
    for width in widths.clone() {
        if !(1..=Architecture::WIDEST as u32).contains(&width) {
            return Err(FormatError::Width { width });
        }
    }
    let has_affine = u16_at(bytes, 14) & AFFINE != 0;
    for (inputs, outputs) in widths.clone().zip(widths.clone().skip(1)) {
        let (inputs, outputs) = (u128::from(inputs), u128::from(outputs));
        wanted += Bits::packed_len(inputs, outputs) + if has_affine { 8 * outputs } else { 0 };
    }
    at_least(wanted)?;
    let wanted = wanted as usize;
    if found > wanted {
        return Err(FormatError::Trailing { wanted, extra: found - wanted });
    }
    Ok(widths.map(|width| width as usize).collect())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
