//! The idx format of MNIST: a magic number, the dimensions, the bytes.
//!
//! All numbers are big-endian. The magic number is two zero bytes, the type (8: unsigned bytes,
//! the only one in use) and the number of dimensions: 3 for images, 1 for labels. The format has
//! no checksum, so that a file is taken only if its length is the one that its dimensions say.

use std::cmp::Ordering;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use remanent_store::files::FileError;
use remanent_store::{amounts, memory};
use thiserror::Error;

use crate::files::{self, Plain};

/// The type of unsigned bytes.
const BYTES: u8 = 8;

/// Why a file is not what it should be.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IdxError {
    /// It cannot be read, or its compression is damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is another kind of file.
    #[error(
        "{} is not an idx file of {kind}: it begins with {found:#010x} instead of {wanted:#010x}; \
         give the idx file, plain or compressed by gzip",
        path.display()
    )]
    Magic {
        /// The file.
        path: PathBuf,
        /// `images` or `labels`.
        kind: &'static str,
        /// The magic number of that kind.
        wanted: u32,
        /// The first four bytes.
        found: u32,
    },
    /// It ends too early.
    #[error(
        "{} is truncated: {found} of {wanted} bytes; download or copy it again",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The number of bytes that its dimensions say.
        wanted: u128,
        /// The number of bytes that are there.
        found: u64,
    },
    /// It goes on after its end.
    #[error(
        "{} is longer than the {wanted} bytes that its dimensions imply; download or copy it again",
        path.display()
    )]
    Trailing {
        /// The file.
        path: PathBuf,
        /// The number of bytes that its dimensions say.
        wanted: u128,
    },
    /// Its dimensions say more than fits into memory.
    #[error(
        "{} is too large: its dimensions say {wanted} bytes, and at most {} of a file are read on \
         this machine; keep fewer images in it",
        path.display(), amounts::memory(*limit)
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The number of bytes that its dimensions say.
        wanted: u128,
        /// The number of bytes that are read.
        limit: u64,
    },
    /// Its dimensions do not fit what it is to be used for.
    #[error("{} has the dimensions {found}, but {wanted}", path.display())]
    Dimensions {
        /// The file.
        path: PathBuf,
        /// Its dimensions.
        found: String,
        /// What they should be.
        wanted: String,
    },
    /// A label is no class.
    #[error(
        "{}: label {label} of image {index} is out of range: there are {classes} classes, 0 to {}",
        path.display(), classes - 1
    )]
    Label {
        /// The file.
        path: PathBuf,
        /// Which label, from 0.
        index: usize,
        /// Its value.
        label: u8,
        /// The number of classes.
        classes: usize,
    },
}

/// Images, one after another, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// How many.
    pub count: usize,
    /// Rows of an image.
    pub rows: usize,
    /// Columns of an image.
    pub columns: usize,
    /// `count * rows * columns` values from 0 (ground) to 255 (ink).
    pub pixels: Vec<u8>,
}

/// Reads images from a file, plain or compressed.
pub fn read_images(path: &Path) -> Result<Images, IdxError> {
    let (shape, pixels) = read(path, "images")?;
    images(shape, pixels, path)
}

/// Reads labels from a file, plain or compressed. All must be below `classes`, if that is known.
pub fn read_labels(path: &Path, classes: Option<usize>) -> Result<Vec<u8>, IdxError> {
    let ([_], found) = read(path, "labels")?;
    labels(found, path, classes)
}

/// The images in the content of a file.
pub(crate) fn parse_images(bytes: Vec<u8>, path: &Path) -> Result<Images, IdxError> {
    let (shape, pixels) = parse(bytes, path, "images")?;
    images(shape, pixels, path)
}

/// The labels in the content of a file.
pub(crate) fn parse_labels(
    bytes: Vec<u8>,
    path: &Path,
    classes: Option<usize>,
) -> Result<Vec<u8>, IdxError> {
    let ([_], found) = parse(bytes, path, "labels")?;
    labels(found, path, classes)
}

fn images(shape: [usize; 3], pixels: Vec<u8>, path: &Path) -> Result<Images, IdxError> {
    let [count, rows, columns] = shape;
    if pixels.is_empty() {
        return Err(IdxError::Dimensions {
            path: path.to_owned(),
            found: format!("{count}×{rows}×{columns}"),
            wanted: "there must be at least one image of at least one pixel".into(),
        });
    }
    Ok(Images { count, rows, columns, pixels })
}

fn labels(labels: Vec<u8>, path: &Path, classes: Option<usize>) -> Result<Vec<u8>, IdxError> {
    if let Some(classes) = classes
        && let Some(index) = labels.iter().position(|&label| usize::from(label) >= classes)
    {
        let label = labels[index];
        return Err(IdxError::Label { path: path.to_owned(), index, label, classes });
    }
    Ok(labels)
}

/// The length of a header with this number of dimensions.
const fn header(dimensions: usize) -> usize {
    4 + 4 * dimensions
}

/// The dimensions that the first bytes of a file say, and the length of the whole file.
fn dimensions<const D: usize>(
    head: &[u8],
    path: &Path,
    kind: &'static str,
) -> Result<([usize; D], u128), IdxError> {
    let number = |index: usize| {
        head.get(4 * index..4 * index + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    };
    let truncated = || IdxError::Truncated {
        path: path.to_owned(),
        wanted: header(D) as u128,
        found: head.len() as u64,
    };
    let wanted = magic(D);
    let found = number(0).ok_or_else(truncated)?;
    if found != wanted {
        return Err(IdxError::Magic { path: path.to_owned(), kind, wanted, found });
    }
    let mut shape = [0; D];
    for (axis, size) in shape.iter_mut().enumerate() {
        *size = number(1 + axis).ok_or_else(truncated)? as usize;
    }
    // Three dimensions of 32 bits fit into 96.
    let length = header(D) as u128 + shape.iter().map(|&size| size as u128).product::<u128>();
    Ok((shape, length))
}

/// Fails unless the file has as many bytes as its dimensions state.
fn check_length(found: u64, wanted: u128, path: &Path) -> Result<(), IdxError> {
    let path = path.to_owned();
    match u128::from(found).cmp(&wanted) {
        Ordering::Less => Err(IdxError::Truncated { path, wanted, found }),
        Ordering::Greater => Err(IdxError::Trailing { path, wanted }),
        Ordering::Equal => Ok(()),
    }
}

/// The dimensions and what follows them, from a file. No more is read, or decompressed, than the
/// dimensions say, and a byte that must not be there.
fn read<const D: usize>(
    path: &Path,
    kind: &'static str,
) -> Result<([usize; D], Vec<u8>), IdxError> {
    let Plain { mut reader, length } = files::open(path)?;
    let action = if length.is_some() { "read" } else { "decompress" };
    let mut head = Vec::new();
    let headed = reader.by_ref().take(header(D) as u64).read_to_end(&mut head);
    headed.map_err(FileError::new(action, path))?;
    let (shape, wanted) = dimensions(&head, path, kind)?;
    if let Some(found) = length {
        check_length(found, wanted, path)?;
    }
    let limit = memory::largest_file();
    let body = u64::try_from(wanted).ok().filter(|&wanted| wanted <= limit);
    let body = body.ok_or(IdxError::TooLarge { path: path.to_owned(), wanted, limit })?;
    let mut bytes = Vec::new();
    let filled = reader.take(body - head.len() as u64 + 1).read_to_end(&mut bytes);
    filled.map_err(FileError::new(action, path))?;
    check_length((head.len() + bytes.len()) as u64, wanted, path)?;
    Ok((shape, bytes))
}

/// The dimensions and what follows them, from the content of a file.
fn parse<const D: usize>(
    mut bytes: Vec<u8>,
    path: &Path,
    kind: &'static str,
) -> Result<([usize; D], Vec<u8>), IdxError> {
    let (shape, wanted) = dimensions(&bytes, path, kind)?;
    check_length(bytes.len() as u64, wanted, path)?;
    bytes.drain(..header(D));
    Ok((shape, bytes))
}

fn magic(dimensions: usize) -> u32 {
    u32::from_be_bytes([0, 0, BYTES, dimensions as u8])
}

/// Writes an idx file, compressed if the name ends in `.gz`.
///
/// # Panics
///
/// If `data` has not as many bytes as `shape` says, or a dimension does not fit into 32 bits.
pub fn write(path: &Path, shape: &[usize], data: &[u8]) -> Result<(), FileError> {
    assert_eq!(data.len(), shape.iter().product::<usize>(), "the data must fill the shape");
    let mut bytes = magic(shape.len()).to_be_bytes().to_vec();
    for &size in shape {
        let size = u32::try_from(size).expect("a dimension of idx has 32 bits");
        bytes.extend(size.to_be_bytes());
    }
    bytes.extend(data);
    if path.extension().is_some_and(|extension| extension == "gz") {
        bytes = compressed(&bytes).map_err(FileError::new("compress", path))?;
    }
    files::write(path, &bytes)
}

fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    io::Write::write_all(&mut encoder, bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn sample(directory: &Path) -> (PathBuf, Vec<u8>) {
        let pixels: Vec<u8> = (0..24).map(|i| (i * 11) as u8).collect();
        let path = directory.join("images");
        write(&path, &[2, 3, 4], &pixels).unwrap();
        (path, pixels)
    }

    /// The error of reading images after `damage`.
    fn damaged(damage: impl FnOnce(&mut Vec<u8>)) -> IdxError {
        let directory = tempfile::tempdir().unwrap();
        let (path, _) = sample(directory.path());
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let error = read_images(&path).unwrap_err();
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        error
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let (path, pixels) = sample(directory.path());
        let images = Images { count: 2, rows: 3, columns: 4, pixels: pixels.clone() };
        assert_eq!(read_images(&path).unwrap(), images);

        let compressed = directory.path().join("images.gz");
        write(&compressed, &[2, 3, 4], &pixels).unwrap();
        assert_ne!(fs::read(&compressed).unwrap(), fs::read(&path).unwrap());
        assert_eq!(read_images(&compressed).unwrap(), images);

        let labels = directory.path().join("labels");
        write(&labels, &[3], &[2, 0, 1]).unwrap();
        assert_eq!(read_labels(&labels, Some(3)).unwrap(), [2, 0, 1]);
    }

    #[test]
    fn the_header_is_that_of_the_format() {
        let directory = tempfile::tempdir().unwrap();
        let (path, _) = sample(directory.path());
        let bytes = fs::read(path).unwrap();
        assert_eq!(bytes[..16], [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]);
    }

    #[test]
    fn another_magic_number_is_refused() {
        let error = damaged(|bytes| bytes[3] = 1);
        assert!(matches!(error, IdxError::Magic { found: 0x801, wanted: 0x803, .. }), "{error}");
        // The web page that a server sends instead of a file.
        let error = damaged(|bytes| *bytes = b"<html></html>".to_vec());
        assert!(matches!(error, IdxError::Magic { .. }), "{error}");
    }

    #[test]
    fn a_truncated_file_is_refused_wherever_it_ends() {
        for length in 0..16 + 24 {
            let error = damaged(|bytes| bytes.truncate(length));
            assert!(matches!(error, IdxError::Truncated { .. }), "{length}: {error}");
        }
    }

    #[test]
    fn dimensions_beyond_all_memory_are_a_truncated_file() {
        let error = damaged(|bytes| bytes[4..16].fill(0xff));
        assert!(matches!(error, IdxError::Truncated { .. }), "{error}");
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let error = damaged(|bytes| bytes.push(0));
        assert!(matches!(error, IdxError::Trailing { wanted: 40, .. }), "{error}");
    }

    #[test]
    fn images_without_pixels_are_refused() {
        let error = damaged(|bytes| {
            bytes[7] = 0;
            bytes.truncate(16);
        });
        assert!(matches!(error, IdxError::Dimensions { .. }), "{error}");
    }

    #[test]
    fn damaged_compression_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("labels.gz");
        write(&path, &[300], &(0..300).map(|i| i as u8).collect::<Vec<_>>()).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        let error = read_labels(&path, None).unwrap_err().to_string();
        assert!(error.starts_with("cannot decompress") && error.contains("labels.gz"), "{error}");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x10;
        fs::write(&path, &flipped).unwrap();
        assert!(read_labels(&path, None).is_err());
    }

    /// Zeros compress by a thousand: a file that lies is not unpacked.
    #[test]
    fn no_more_is_unpacked_than_the_dimensions_say() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("labels.gz");
        let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
        let mut head = magic(1).to_be_bytes().to_vec();
        head.extend(100u32.to_be_bytes());
        io::Write::write_all(&mut encoder, &head).unwrap();
        let zeros = vec![0; 1 << 20];
        for _ in 0..1024 {
            io::Write::write_all(&mut encoder, &zeros).unwrap();
        }
        encoder.finish().unwrap();
        let start = std::time::Instant::now();
        let error = read_labels(&path, None).unwrap_err();
        assert!(matches!(error, IdxError::Trailing { wanted: 108, .. }), "{error}");
        assert!(start.elapsed().as_millis() < 200, "{:?}", start.elapsed());
    }

    #[test]
    fn compressed_dimensions_beyond_all_memory_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("images.gz");
        let mut bytes = magic(3).to_be_bytes().to_vec();
        bytes.extend([0xff; 12]);
        fs::write(&path, compressed(&bytes).unwrap()).unwrap();
        let error = read_images(&path).unwrap_err();
        assert!(matches!(error, IdxError::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("keep fewer images"), "{error}");
    }

    #[test]
    fn a_label_that_is_no_class_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("labels");
        write(&path, &[4], &[9, 0, 10, 3]).unwrap();
        let error = read_labels(&path, Some(10)).unwrap_err();
        assert!(matches!(error, IdxError::Label { index: 2, label: 10, .. }), "{error}");
        assert!(error.to_string().contains("0 to 9"), "{error}");
    }
}
