//! NumPy `.npz` archives (zip files of `.npy` files), built in memory.
//!
//! The same arrays give the same bytes: entries carry no modification time.

use std::io::{self, Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

/// An archive under construction.
pub struct Archive {
    zip: ZipWriter<Cursor<Vec<u8>>>,
}

impl Default for Archive {
    fn default() -> Self {
        Self::new()
    }
}

impl Archive {
    /// An empty archive.
    pub fn new() -> Self {
        Self { zip: ZipWriter::new(Cursor::new(Vec::new())) }
    }

    fn start(&mut self, name: &str, kind: &str, shape: &[usize]) -> io::Result<()> {
        let options =
            SimpleFileOptions::default().last_modified_time(DateTime::default()).large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        self.zip.write_all(&header(kind, shape))
    }

    /// Appends an array of numbers in C order.
    pub fn array<T: Number>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        self.start(name, T::KIND, shape)?;
        let (mut bytes, mut count) = (Vec::new(), 0);
        for value in values {
            value.put(&mut bytes);
            count += 1;
        }
        if count != shape.iter().product::<usize>() {
            let text = format!("{count} numbers for an array of shape {shape:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.zip.write_all(&bytes)
    }

    /// Appends a scalar string: four bytes for each character, as NumPy stores it.
    pub fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.start(name, &format!("<U{}", text.chars().count()), &[])?;
        let bytes: Vec<u8> =
            text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
        self.zip.write_all(&bytes)
    }

    /// The bytes of the archive.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        Ok(self.zip.finish()?.into_inner())
    }
}

/// Everything before the data in version 1.0 of the .npy format, padded to a multiple of 64 bytes.
fn header(kind: &str, shape: &[usize]) -> Vec<u8> {
    const BEFORE: usize = 10;
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (BEFORE + text.len() + 1).next_multiple_of(64) - BEFORE;
    text.push_str(&" ".repeat(length - 1 - text.len()));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(length).expect("few dimensions").to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// A number that NumPy knows.
pub trait Number {
    /// NumPy's name of the type.
    const KIND: &'static str;

    /// Appends the number in little-endian order.
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ty: $kind:literal),*) => {$(
        impl Number for $type {
            const KIND: &'static str = $kind;

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )*};
}

numbers!(i8: "|i1", u8: "|u1", u32: "<u4", i64: "<i8", u64: "<u8", f32: "<f4", f64: "<f8");

#[cfg(test)]
mod tests {
    use npyz::WriterBuilder;

    use super::*;

    #[test]
    fn arrays_have_the_bytes_of_npyz() {
        for shape in [&[][..], &[4], &[1, 4], &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]] {
            let values = vec![0.5_f32; shape.iter().product()];
            let wanted: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
            let mut bytes = Vec::new();
            let options = npyz::WriteOptions::new().default_dtype().shape(&wanted);
            let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
            writer.extend(&values).unwrap();
            writer.finish().unwrap();
            let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!([header("<f4", shape), data].concat(), bytes, "{shape:?}");
        }
    }

    #[test]
    fn a_wrong_count_is_refused() {
        let mut archive = Archive::new();
        assert!(archive.array("x", &[2, 2], [1.0, 2.0, 3.0]).is_err());
    }
}
