//! NumPy `.npz` archives (zip files of `.npy` files), built in memory.
//!
//! The same arrays give the same bytes: entries carry no modification time.

use std::io::{self, Cursor, Write};

use npyz::{AutoSerialize, DType, WriteOptions, WriterBuilder, npz};
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

    fn start(&mut self, name: &str) -> io::Result<()> {
        let options =
            SimpleFileOptions::default().last_modified_time(DateTime::default()).large_file(true);
        Ok(self.zip.start_file(npz::file_name_from_array_name(name), options)?)
    }

    /// Appends an array of numbers in C order.
    pub fn array<T: AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        self.start(name)?;
        let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        let options = WriteOptions::new().default_dtype().shape(&shape);
        let mut writer = options.writer(&mut self.zip).begin_nd()?;
        writer.extend(values)?;
        writer.finish()
    }

    /// Appends a scalar string: four bytes for each character, as NumPy stores it.
    pub fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.start(name)?;
        let letters = text.chars().count();
        let kind = format!("<U{letters}").parse().expect("is a type of NumPy");
        let options = WriteOptions::new_header_only().dtype(DType::Plain(kind)).shape(&[]);
        options.writer(&mut self.zip).write_header_only()?;
        let bytes: Vec<u8> =
            text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
        self.zip.write_all(&bytes)
    }

    /// The bytes of the archive.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        Ok(self.zip.finish()?.into_inner())
    }
}
