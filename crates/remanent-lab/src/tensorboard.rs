//! Event files for TensorBoard, which draws curves in a browser.
//!
//! A file is a sequence of frames, the TFRecord format: the length of what follows (8 bytes), a
//! checksum of these, the content, and a checksum of that. Checksums are CRC-32C, turned and shifted
//! so that the checksum of something which holds checksums is not degenerate. The content is a
//! message `Event` of `event.proto`; the first says the version of the format.
//!
//! TensorBoard has a time with every event. Here it is made of the step, so that the same results
//! give the same bytes.

use remanent_formats::protobuf::Message;

/// The first event of every file.
const FILE_VERSION: &str = "brain.Event:2";

/// The name of a file: TensorBoard looks for `tfevents`, and shows files in the order of the number
/// behind it, which is otherwise a time.
pub const FILE_NAME: &str = "events.out.tfevents.1000000000.remanent";

/// Numbers by name, at steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    bytes: Vec<u8>,
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl Events {
    /// Only the version of the format.
    pub fn new() -> Self {
        let mut events = Self { bytes: Vec::new() };
        events.frame(&Message::new().double(1, 0.0).string(3, FILE_VERSION).into_bytes());
        events
    }

    /// Appends the numbers of a step, by their names: `accuracy/hard/task_1`.
    pub fn scalars<'a>(&mut self, step: usize, values: impl IntoIterator<Item = (&'a str, f64)>) {
        let mut summary = Message::new();
        for (tag, value) in values {
            summary = summary.message(1, &Message::new().string(1, tag).float(2, value as f32));
        }
        let event =
            Message::new().double(1, step as f64).integer(2, step as u64).message(5, &summary);
        self.frame(&event.into_bytes());
    }

    /// The content of the file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn frame(&mut self, content: &[u8]) {
        let length = (content.len() as u64).to_le_bytes();
        self.bytes.extend(length);
        self.bytes.extend(masked(crc32c(&length)).to_le_bytes());
        self.bytes.extend(content);
        self.bytes.extend(masked(crc32c(content)).to_le_bytes());
    }
}

/// The contents of the frames of a file; none if it is cut short or a checksum does not match.
pub fn frames(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (checksum, rest) = rest.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*checksum) != masked(crc32c(length)) {
            return None;
        }
        let (content, rest) =
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let (checksum, rest) = rest.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*checksum) != masked(crc32c(content)) {
            return None;
        }
        frames.push(content);
        bytes = rest;
    }
    Some(frames)
}

fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32 with the polynomial of Castagnoli, bits reversed.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(u32::MAX, |crc, &byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

/// What each byte does to the checksum.
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of RFC 3720, B.4, and the usual check value.
    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn frames_come_back_and_damage_is_noticed() {
        let mut events = Events::new();
        events.scalars(3, [("loss", 0.5), ("accuracy/hard/task_1", 0.25)]);
        let bytes = events.clone().into_bytes();
        let found = frames(&bytes).unwrap();
        assert_eq!(found.len(), 2);
        // wall_time 0, then the version.
        assert_eq!(found[0], b"\x09\0\0\0\0\0\0\0\0\x1a\x0dbrain.Event:2");
        // wall_time 3, step 3, and a summary of two values.
        let wanted = b"\x09\0\0\0\0\0\0\x08\x40\x10\x03\x2a\x2a\
                       \x0a\x0b\x0a\x04loss\x15\0\0\0\x3f\
                       \x0a\x1b\x0a\x14accuracy/hard/task_1\x15\0\0\x80\x3e";
        assert_eq!(found[1], wanted);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(frames(&changed), None, "byte {at}");
        }
        assert_eq!(frames(&bytes[..bytes.len() - 1]), None);
    }
}
