//! Own data as arrays of NumPy.
//!
//! `np.savez("mine.npz", x=x, y=y)` is all that is needed: x with N×D or N×H×W values, y with N
//! integers. Bytes are divided by 255, floating-point numbers are used as they are. A file with
//! x_train, y_train, x_test and y_test, as Keras distributes its data, says itself what is for
//! testing, and so does a folder with train.npz and test.npz. Of a file with x and y alone a
//! fifth is drawn for testing, by a fixed permutation, because such files are often sorted by
//! class.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use remanent_math::philox::Stream;
use remanent_store::files::{self, FileError};
use remanent_store::{amounts, memory};
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::dataset::{self, Dataset, DatasetError, Part, Pixels};
use crate::npy::{Header, Kind};

/// A file with x and y alone gives every n-th image to the test part.
const TEST_SHARE: usize = 5;
/// What the random numbers that choose these are for.
const PURPOSE: u32 = 102;

/// Why a file gives no dataset.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpzError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is another kind of file, or damaged.
    #[error("{} is not a complete .npz file: {reason}; write it with numpy.savez", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// It lacks an array.
    #[error(
        "{} has no array {array} (it has: {}); give {wanted}",
        path.display(), arrays.join(", ")
    )]
    Array {
        /// The file.
        path: PathBuf,
        /// The array that is not there.
        array: String,
        /// The arrays that are there.
        arrays: Vec<String>,
        /// The arrays that should be there.
        wanted: &'static str,
    },
    /// An array has a type or a shape that cannot be used, or a value out of range.
    #[error("array {array} of {}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The array.
        array: String,
        /// What is wrong, and what it should be.
        reason: String,
    },
    /// The arrays do not belong together.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
}

/// Reads a file with x and y, or with x_train, y_train, x_test and y_test.
pub fn read(path: &Path) -> Result<Dataset, NpzError> {
    let name = name(path);
    let mut archive = Archive::open(path)?;
    if archive.has("x_train") {
        let wanted = "x_train, y_train, x_test and y_test";
        let train = archive.part("x_train", "y_train", wanted)?;
        let test = archive.part("x_test", "y_test", wanted)?;
        return joined(name, train, test);
    }
    let (size, all) = archive.part("x", "y", XY)?;
    let (images, inputs) = (all.labels.len(), size[0] * size[1]);
    if all.pixels.len() != images * inputs {
        let count = all.pixels.len() / inputs;
        let counts = DatasetError::Counts { name, part: "only", images: count, labels: images };
        return Err(counts.into());
    }
    let mut order: Vec<u32> = (0..images as u32).collect();
    Stream::new(0, PURPOSE, 0, 0).shuffle(&mut order);
    let (test, train) = order.split_at(images / TEST_SHARE);
    let [train, test] = [train, test].map(|order| Part {
        pixels: all.pixels.select(inputs, order),
        labels: order.iter().map(|&i| all.labels[i as usize]).collect(),
    });
    Ok(Dataset::new(name, size, train, test)?)
}

/// Reads two files with x and y each.
pub fn read_pair(train: &Path, test: &Path) -> Result<Dataset, NpzError> {
    let name = train.parent().map_or_else(|| name(train), name);
    let train = Archive::open(train)?.part("x", "y", XY)?;
    let test = Archive::open(test)?.part("x", "y", XY)?;
    joined(name, train, test)
}

/// Images that are not to be learned, and so need no labels.
pub(crate) struct Unlearned {
    pub(crate) inputs: usize,
    pub(crate) pixels: Pixels,
    pub(crate) labels: Option<Vec<u8>>,
}

/// Reads x_test and y_test if they are there, else all of x and y; labels may be missing.
pub(crate) fn read_images(path: &Path) -> Result<Unlearned, NpzError> {
    let mut archive = Archive::open(path)?;
    let [x, y] = if archive.has("x_test") { ["x_test", "y_test"] } else { ["x", "y"] };
    let (size, pixels) = archive.images(x, "x (N×D or N×H×W)")?;
    let labels = if archive.has(y) { Some(archive.labels(y, XY)?) } else { None };
    Ok(Unlearned { inputs: size[0] * size[1], pixels, labels })
}

const XY: &str = "x (N×D or N×H×W) and y (N integers)";

fn joined(
    name: String,
    (train_size, train): ([usize; 2], Part),
    (test_size, test): ([usize; 2], Part),
) -> Result<Dataset, NpzError> {
    dataset::same_shape(&name, train_size, test_size)?;
    Ok(Dataset::new(name, train_size, train, test)?)
}

fn name(path: &Path) -> String {
    path.file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy().into_owned())
}

struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self, NpzError> {
        let file = files::open_regular(path)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| NpzError::Archive {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { path, zip })
    }

    fn names(&self) -> Vec<String> {
        let files = self.zip.file_names().filter_map(Result::ok);
        files.filter_map(|file| file.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    fn has(&self, array: &str) -> bool {
        self.names().iter().any(|name| name == array)
    }

    /// The size of the images, and the images with their labels.
    fn part(
        &mut self,
        x: &str,
        y: &str,
        wanted: &'static str,
    ) -> Result<([usize; 2], Part), NpzError> {
        let (size, pixels) = self.images(x, wanted)?;
        let labels = self.labels(y, wanted)?;
        Ok((size, Part { pixels, labels }))
    }

    /// The size of the images, and the images.
    fn images(&mut self, x: &str, wanted: &'static str) -> Result<([usize; 2], Pixels), NpzError> {
        let (size, pixels) = self.array(x, wanted, image_size, pixels)?;
        if let Pixels::Floats(values) = &pixels
            && let Some(place) = values.iter().position(|value| !value.is_finite())
        {
            let image = place / (size[0] * size[1]);
            let reason = format!("{} in image {image}: all values must be finite", values[place]);
            return Err(self.content(x, reason));
        }
        Ok((size, pixels))
    }

    fn labels(&mut self, y: &str, wanted: &'static str) -> Result<Vec<u8>, NpzError> {
        let ((), labels) = self.array(y, wanted, check_labels, integers)?;
        let bytes: Result<Vec<u8>, _> =
            labels.iter().map(|&l| u8::try_from(l).map_err(|_| l)).collect();
        bytes.map_err(|label| {
            self.content(y, format!("label {label} is out of range: classes are 0 to 255"))
        })
    }

    /// An array. `look` refuses it by its header, before any of its numbers is read.
    fn array<S, T>(
        &mut self,
        array: &str,
        wanted: &'static str,
        look: impl Fn(&Header) -> Result<S, String>,
        convert: impl Fn(&Header, &[u8]) -> T,
    ) -> Result<(S, T), NpzError> {
        let arrays = self.names();
        let path = self.path;
        let content = |reason: String| NpzError::Content {
            path: path.to_owned(),
            array: array.to_owned(),
            reason,
        };
        let mut entry = match self.zip.by_name(&format!("{array}.npy")) {
            Err(ZipError::FileNotFound) => {
                let (path, array) = (path.to_owned(), array.to_owned());
                return Err(NpzError::Array { path, array, arrays, wanted });
            }
            entry => entry.map_err(|error| content(error.to_string()))?,
        };
        let header = Header::read(&mut entry).map_err(content)?;
        let found = look(&header).map_err(content)?;
        let bytes = numbers(&header, &mut entry).map_err(content)?;
        Ok((found, convert(&header, &bytes)))
    }

    fn content(&self, array: &str, reason: String) -> NpzError {
        NpzError::Content { path: self.path.to_owned(), array: array.to_owned(), reason }
    }
}

/// The bytes behind a header, as many as it says. One more is asked for: there must be none, and the
/// checksum of the archive is compared only at its end.
fn numbers(header: &Header, entry: &mut impl Read) -> Result<Vec<u8>, String> {
    let size = header.kind().map_or(1, |(_, size)| size);
    let limit = memory::largest_file();
    let length = header.bytes(size).filter(|&length| length <= limit).ok_or_else(|| {
        format!(
            "the shape {:?} is too large: {} bytes, and at most {} of an array are read on this \
             machine; store fewer images, or uint8 instead of floats",
            header.shape,
            header.shape.iter().map(|&n| n as f64).product::<f64>() * size as f64,
            amounts::memory(limit)
        )
    })?;
    let mut bytes = Vec::new();
    entry.take(length + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let found = bytes.len() as u64;
    if found < length {
        return Err(format!("it is cut short: {found} of {length} bytes are there"));
    }
    if found > length {
        return Err(format!("it goes on after the {length} bytes that its shape says"));
    }
    Ok(bytes)
}

/// Rows and columns of the images of an array.
fn image_size(header: &Header) -> Result<[usize; 2], String> {
    let usable = matches!(header.kind(), Some((Kind::Unsigned, 1) | (Kind::Float, _)));
    if !usable {
        let descr = &header.descr;
        return Err(format!(
            "the type '{descr}' cannot be used: it must be uint8, float32 or float64"
        ));
    }
    let size = match header.shape[..] {
        [_, inputs] => [1, inputs],
        [_, rows, columns] => [rows, columns],
        _ => [0, 0],
    };
    match size[0].checked_mul(size[1]) {
        None | Some(0) => {
            let shape = &header.shape;
            Err(format!("the shape {shape:?} is not N×D or N×H×W with values in it"))
        }
        Some(_) => Ok(size),
    }
}

fn check_labels(header: &Header) -> Result<(), String> {
    let (descr, shape) = (&header.descr, &header.shape);
    if !matches!(header.kind(), Some((Kind::Unsigned | Kind::Signed, _))) {
        return Err(format!("the type '{descr}' cannot be used: labels must be integers"));
    }
    if !matches!(shape[..], [_] | [_, 1]) {
        return Err(format!("the shape {shape:?} is not N: give the numbers of the classes"));
    }
    Ok(())
}

fn pixels(header: &Header, bytes: &[u8]) -> Pixels {
    match header.kind() {
        Some((Kind::Float, 4)) => Pixels::Floats(header.numbers(bytes, f32::from_le_bytes)),
        Some((Kind::Float, _)) => {
            let single = |bytes| f64::from_le_bytes(bytes) as f32;
            Pixels::Floats(header.numbers(bytes, single))
        }
        _ => Pixels::Bytes { values: header.numbers(bytes, u8::from_le_bytes), white: u8::MAX },
    }
}

fn integers(header: &Header, bytes: &[u8]) -> Vec<i128> {
    match header.kind() {
        Some((Kind::Signed, 1)) => header.numbers(bytes, |b| i8::from_le_bytes(b).into()),
        Some((Kind::Signed, 2)) => header.numbers(bytes, |b| i16::from_le_bytes(b).into()),
        Some((Kind::Signed, 4)) => header.numbers(bytes, |b| i32::from_le_bytes(b).into()),
        Some((Kind::Signed, _)) => header.numbers(bytes, |b| i64::from_le_bytes(b).into()),
        Some((_, 2)) => header.numbers(bytes, |b| u16::from_le_bytes(b).into()),
        Some((_, 4)) => header.numbers(bytes, |b| u32::from_le_bytes(b).into()),
        Some((_, 8)) => header.numbers(bytes, |b| u64::from_le_bytes(b).into()),
        _ => header.numbers(bytes, |b| u8::from_le_bytes(b).into()),
    }
}
