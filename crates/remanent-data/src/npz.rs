//! Own data as arrays of NumPy.
//!
//! `np.savez("mine.npz", x=x, y=y)` is all that is needed: x with N×D or N×H×W values, y with N
//! integers. Bytes are divided by 255, floating-point numbers are used as they are. A file with
//! x_train, y_train, x_test and y_test, as Keras distributes its data, says itself what is for
//! testing, and so does a folder with train.npz and test.npz. Of a file with x and y alone a
//! fifth is drawn for testing, by a fixed permutation, because such files are often sorted by
//! class.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use npyz::{NpyFile, Order};
use remanent_math::philox::Stream;
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::dataset::{self, Dataset, DatasetError, Part, Pixels};
use crate::files::FileError;

/// A file with x and y alone gives one image in so many to the test part.
const TEST_SHARE: usize = 5;
/// What the random numbers that choose these are for.
const PURPOSE: u32 = 102;

/// Why a file gives no dataset.
#[derive(Debug, Error)]
pub enum NpzError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is another kind of file, or damaged.
    #[error("{} is no whole .npz file: {reason}; write it by numpy.savez", path.display())]
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
        let file = File::open(path).map_err(FileError::new("read", path))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| NpzError::Archive {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { path, zip })
    }

    fn names(&self) -> Vec<String> {
        let files = self.zip.file_names().filter_map(Result::ok);
        let arrays =
            files.filter_map(|file| npyz::npz::array_name_from_file_name(&file).map(str::to_owned));
        arrays.collect()
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
        let (shape, pixels) = self.array(x, wanted, pixels)?;
        let size = match shape[..] {
            [_, inputs] => [1, inputs],
            [_, rows, columns] => [rows, columns],
            _ => [0, 0],
        };
        if size[0] * size[1] == 0 {
            let reason = format!("the shape {shape:?} is not N×D or N×H×W with values in it");
            return Err(self.content(x, reason));
        }
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
        let (shape, labels) = self.array(y, wanted, integers)?;
        if !matches!(shape[..], [_] | [_, 1]) {
            let reason = format!("the shape {shape:?} is not N: give the numbers of the classes");
            return Err(self.content(y, reason));
        }
        let bytes: Result<Vec<u8>, _> =
            labels.iter().map(|&l| u8::try_from(l).map_err(|_| l)).collect();
        bytes.map_err(|label| {
            self.content(y, format!("label {label} is out of range: classes are 0 to 255"))
        })
    }

    fn array<T>(
        &mut self,
        array: &str,
        wanted: &'static str,
        convert: impl Fn(Npy<'_>) -> Result<T, String>,
    ) -> Result<(Vec<usize>, T), NpzError> {
        let arrays = self.names();
        let path = self.path;
        let content = |reason: String| NpzError::Content {
            path: path.to_owned(),
            array: array.to_owned(),
            reason,
        };
        let mut entry = match self.zip.by_name(&npyz::npz::file_name_from_array_name(array)) {
            Err(ZipError::FileNotFound) => {
                let (path, array) = (path.to_owned(), array.to_owned());
                return Err(NpzError::Array { path, array, arrays, wanted });
            }
            entry => entry.map_err(|error| content(error.to_string()))?,
        };
        // To its end, because only there the checksum of the archive is compared.
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| content(error.to_string()))?;
        let npy = NpyFile::new(bytes.as_slice()).map_err(|error| content(error.to_string()))?;
        // Checked before memory is asked for; every value needs at least a byte.
        let count = npy.shape().iter().map(|&size| u128::from(size)).product::<u128>();
        if count > bytes.len() as u128 {
            return Err(content(format!("{count} values do not fit into {} bytes", bytes.len())));
        }
        let shape = npy.shape().iter().map(|&size| size as usize).collect();
        Ok((shape, convert(npy).map_err(content)?))
    }

    fn content(&self, array: &str, reason: String) -> NpzError {
        NpzError::Content { path: self.path.to_owned(), array: array.to_owned(), reason }
    }
}

type Npy<'a> = NpyFile<&'a [u8]>;

/// The values of an array, the last index first, if they have the type.
fn values<T: npyz::Deserialize + Copy>(npy: Npy<'_>) -> Result<Result<Vec<T>, String>, Npy<'_>> {
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let order = npy.order();
    let data = npy.try_data::<T>()?;
    let values: io::Result<Vec<T>> = data.collect();
    Ok(match (values, order) {
        (Err(error), _) => Err(format!("it is damaged: {error}")),
        (Ok(values), Order::C) => Ok(values),
        (Ok(values), Order::Fortran) => Ok(transposed(&values, &shape)),
    })
}

/// From the first index running fastest to the last one running fastest.
fn transposed<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
    let place = |mut index: usize| {
        let mut stride = values.len();
        let mut place = 0;
        for &size in shape.iter().rev() {
            stride /= size;
            place += index % size * stride;
            index /= size;
        }
        place
    };
    (0..values.len()).map(|index| values[place(index)]).collect()
}

fn pixels(npy: Npy<'_>) -> Result<Pixels, String> {
    let npy = match values::<u8>(npy) {
        Ok(values) => return Ok(Pixels::Bytes { values: values?, white: u8::MAX }),
        Err(npy) => npy,
    };
    let npy = match values::<f32>(npy) {
        Ok(values) => return Ok(Pixels::Floats(values?)),
        Err(npy) => npy,
    };
    match values::<f64>(npy) {
        Ok(values) => Ok(Pixels::Floats(values?.into_iter().map(|value| value as f32).collect())),
        Err(npy) => Err(format!(
            "the type {} cannot be used: it must be uint8, float32 or float64",
            npy.dtype().descr()
        )),
    }
}

fn integers(npy: Npy<'_>) -> Result<Vec<i128>, String> {
    fn wide<T: npyz::Deserialize + Copy + Into<i128>>(
        npy: Npy<'_>,
    ) -> Result<Result<Vec<i128>, String>, Npy<'_>> {
        Ok(values::<T>(npy)?.map(|values| values.into_iter().map(Into::into).collect()))
    }
    let result = wide::<i64>(npy)
        .or_else(wide::<u8>)
        .or_else(wide::<i32>)
        .or_else(wide::<u64>)
        .or_else(wide::<u32>)
        .or_else(wide::<i16>)
        .or_else(wide::<u16>)
        .or_else(wide::<i8>);
    match result {
        Ok(values) => values,
        Err(npy) => {
            Err(format!("the type {} cannot be used: labels must be integers", npy.dtype().descr()))
        }
    }
}
