//! Ways to damage a file.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::loaders::gzip;
use crate::random::Random;

/// Numbers that a loader must not believe.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "1e400",
    "-1e-400",
    "nan",
    "inf",
    "0x10",
];

/// Bytes of an integer in a header, in both orders.
const INTEGERS: [[u8; 4]; 6] = [
    [0; 4],
    [0xff; 4],
    [0x7f, 0xff, 0xff, 0xff],
    [0xff, 0xff, 0xff, 0x7f],
    [0, 0, 0, 0x80],
    [0, 1, 0, 0],
];

/// What decompresses to much more than anybody wants.
const BOMB: usize = 128 << 20;

/// A damaged copy.
pub fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        bytes = damaged_once(bytes, random);
    }
    bytes
}

fn damaged_once(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let at = random.below(bytes.len() + 1).min(bytes.len());
    let rest = bytes.len() - at;
    let length = 1 + random.below(rest.clamp(1, 64));
    let end = (at + length).min(bytes.len());
    match random.below(14) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.byte();
            }
        }
        3 => bytes.truncate(at),
        4 => {
            let noise: Vec<u8> = (0..length).map(|_| random.byte()).collect();
            bytes.splice(at..at, noise);
        }
        5 => {
            bytes.drain(at..end);
        }
        6 => {
            // The same block again, once or many times.
            let block = bytes[at..end].to_vec();
            let times = *random.pick(&[1, 2, 1000]);
            bytes.splice(at..at, block.repeat(times));
        }
        7 => bytes[at..end].fill(random.byte()),
        8 => {
            let to = random.below(bytes.len() + 1).min(bytes.len());
            let block: Vec<u8> = bytes[at..end].to_vec();
            bytes.splice(to..to, block);
        }
        9 | 10 => bytes = other_number(bytes, random),
        11 => {
            // A length in a header.
            let at = 4 * random.below(16);
            let integer = random.pick(&INTEGERS);
            if bytes.len() >= at + 4 {
                bytes[at..at + 4].copy_from_slice(integer);
            }
        }
        12 => {
            // Brackets in brackets.
            let bracket = *random.pick(b"[({");
            let depth = *random.pick(&[1, 24, 200, 100_000]);
            let place = bytes.iter().position(|byte| b"[({".contains(byte)).unwrap_or(at);
            bytes.splice(place..place, vec![bracket; depth]);
        }
        _ => {
            let tail = *random.pick(&[1, 8, 100_000]);
            bytes.resize(bytes.len() + tail, *random.pick(&[0, b'\n', b' ', 0xff]));
        }
    }
    bytes
}

/// Puts another number where digits are.
fn other_number(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&at| is_digit(at) && (at == 0 || !is_digit(at - 1))).collect();
    if starts.is_empty() {
        return bytes;
    }
    let start = *random.pick(&starts);
    let end = (start..=bytes.len()).find(|&at| !is_digit(at)).unwrap_or(bytes.len());
    bytes.splice(start..end, random.pick(&NUMBERS).bytes());
    bytes
}

/// A small file that decompresses to a large one, for the loaders that decompress.
pub fn bomb(loader: &str) -> Option<Vec<u8>> {
    let zeros = vec![0; 1 << 20];
    let mut compressed: Vec<u8> = Vec::new();
    if loader == "idx.gz" {
        // Members of a gzip file follow one another; each has the same megabyte.
        let member = gzip(&zeros);
        (0..BOMB >> 20).for_each(|_| compressed.extend(&member));
        return Some(compressed);
    }
    if loader == "npz" || loader == "npz to be asked about" {
        let mut zip = ZipWriter::new(Cursor::new(compressed));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for name in ["x.npy", "y.npy"] {
            zip.start_file(name, options).ok()?;
            let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
            zip.write_all(b"\x93NUMPY\x01\x00").ok()?;
            zip.write_all(&(header.len() as u16).to_le_bytes()).ok()?;
            zip.write_all(header.as_bytes()).ok()?;
            for _ in 0..BOMB >> 20 {
                zip.write_all(&zeros).ok()?;
            }
        }
        return Some(zip.finish().ok()?.into_inner());
    }
    None
}
