//! Files of the cache and of the user, plain or compressed.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use remanent_store::atomic;
use remanent_store::files::{FileError, open_regular};

/// The first bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A regular file on its way into memory, decompressed if it is a gzip file.
pub(crate) struct Plain {
    pub(crate) reader: Box<dyn Read>,
    /// Length of a file that is not compressed.
    pub(crate) length: Option<u64>,
}

/// Opens a file. A compressed one is recognised by its first bytes, not by its name.
pub(crate) fn open(path: &Path) -> Result<Plain, FileError> {
    let mut file = open_regular(path)?;
    let read = || {
        let mut start = Vec::new();
        (&mut file).take(GZIP_MAGIC.len() as u64).read_to_end(&mut start)?;
        let (length, is_compressed) = (file.metadata()?.len(), start == GZIP_MAGIC);
        let bytes = BufReader::new(io::Cursor::new(start).chain(file));
        Ok(if is_compressed {
            Plain { reader: Box::new(MultiGzDecoder::new(bytes)), length: None }
        } else {
            Plain { reader: Box::new(bytes), length: Some(length) }
        })
    };
    read().map_err(FileError::new("read", path))
}

/// The first bytes of a file, decompressed, but no more of them than `limit`.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let plain = open(path)?;
    let action = if plain.length.is_some() { "read" } else { "decompress" };
    let mut bytes = Vec::new();
    plain.reader.take(limit).read_to_end(&mut bytes).map_err(FileError::new(action, path))?;
    Ok(bytes)
}

/// The bytes, decompressed if they are a gzip file, but no more of them than `limit`.
pub(crate) fn plain(bytes: Vec<u8>, limit: u64) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).take(limit).read_to_end(&mut plain)?;
    Ok(plain)
}

/// The file itself, or the one with `.gz` behind its name.
pub(crate) fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), format!("{name}.gz")]
        .into_iter()
        .map(|name| directory.join(name))
        .find(|path| path.is_file())
}

/// Writes a file that replaces what was at `path`, and creates its directory.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(FileError::new("create", directory))?;
    }
    atomic::write(path, &[bytes])
}
