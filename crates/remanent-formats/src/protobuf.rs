//! Protocol Buffers messages: the part of the encoding that ONNX and TensorBoard files need.
//!
//! A message is a sequence of fields, each a number and a value. There are four wire types:
//! variable-length integers (seven bits in a byte), eight bytes, four bytes, and length-delimited
//! bytes (strings, packed data or messages).

/// Wire types.
const VARIABLE: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const COUNTED: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// An empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// The encoded message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends an integer; a negative one as its two's complement.
    #[must_use]
    pub fn integer(mut self, field: u64, value: u64) -> Self {
        self.key(field, VARIABLE);
        self.variable(value);
        self
    }

    /// Appends a single-precision number.
    #[must_use]
    pub fn float(mut self, field: u64, value: f32) -> Self {
        self.key(field, FOUR_BYTES);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Appends a double-precision number.
    #[must_use]
    pub fn double(mut self, field: u64, value: f64) -> Self {
        self.key(field, EIGHT_BYTES);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Appends a string.
    #[must_use]
    pub fn string(self, field: u64, value: &str) -> Self {
        self.counted(field, value.as_bytes())
    }

    /// Appends another message.
    #[must_use]
    pub fn message(self, field: u64, value: &Message) -> Self {
        self.counted(field, &value.bytes)
    }

    /// Appends length-delimited bytes.
    #[must_use]
    pub fn counted(mut self, field: u64, value: &[u8]) -> Self {
        self.key(field, COUNTED);
        self.variable(value.len() as u64);
        self.bytes.extend(value);
        self
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.variable(field << 3 | kind);
    }

    fn variable(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the description of the encoding at protobuf.dev.
    #[test]
    fn bytes_are_those_of_the_description() {
        assert_eq!(Message::new().integer(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let string = Message::new().string(2, "testing");
        assert_eq!(string.into_bytes(), b"\x12\x07testing");
        let inner = Message::new().integer(1, 150);
        let outer = Message::new().message(3, &inner);
        assert_eq!(outer.into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let float = Message::new().float(20, 1.0).integer(1, u64::MAX);
        let mut wanted = vec![0xa5, 0x01, 0, 0, 0x80, 0x3f, 0x08];
        wanted.extend([0xff; 9]);
        wanted.push(1);
        assert_eq!(float.into_bytes(), wanted);
        let double = Message::new().double(1, 1.0);
        assert_eq!(double.into_bytes(), [0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    }
}
