//! Images with labels, in a part for training and one for testing.
//!
//! Images stay in memory as the bytes they are stored in (47 MB for MNIST instead of 188) and
//! become numbers when a batch is made; that costs far less than the products that follow. A
//! [`View`] is how a learner sees a part: which images, in which order of pixels, with which
//! labels. It borrows, so that hundreds of tasks share one copy of the images.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::files;
use crate::idx::{self, IdxError};

/// Why there is no dataset, or not the piece of it that was asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// A file is not what it should be.
    #[error(transparent)]
    Idx(#[from] IdxError),
    /// A folder lacks some of the four files.
    #[error(
        "{} lacks {}: a folder must hold {}, plain or with .gz, or train.npz and test.npz",
        folder.display(), missing.join(", "), FILES.join(", ")
    )]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The files that are not there.
        missing: Vec<String>,
    },
    /// Images and labels do not belong together.
    #[error("the {part} part of {name} has {images} images but {labels} labels")]
    Counts {
        /// The dataset.
        name: String,
        /// `train` or `test`.
        part: &'static str,
        /// Number of images.
        images: usize,
        /// Number of labels.
        labels: usize,
    },
    /// The two parts do not belong together.
    #[error("{name} has images of {train} pixels for training but of {test} for testing")]
    Shapes {
        /// The dataset.
        name: String,
        /// `rows×columns` of the training images.
        train: String,
        /// `rows×columns` of the test images.
        test: String,
    },
    /// A part without images, or a single class.
    #[error("{name} cannot be learned: {reason}")]
    Unusable {
        /// The dataset.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// More images were asked for than there are.
    #[error(
        "{asked} images requested, but there are {available}: choose between 1 and {available}"
    )]
    TooFew {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        available: usize,
    },
}

/// The files of a dataset in idx format: images and labels for training, then for testing.
pub const FILES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// The values of the pixels of many images, one image after another.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// Bytes, of which `white` stands for 1.
    Bytes {
        /// The bytes.
        values: Vec<u8>,
        /// The byte that stands for 1: 255, or 16 for the small digits.
        white: u8,
    },
    /// Numbers that are used as they are.
    Floats(Vec<f32>),
}

impl Pixels {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes { values, .. } => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The images named by `order`, in that order.
    pub(crate) fn select(&self, inputs: usize, order: &[u32]) -> Self {
        fn pick<T: Copy>(values: &[T], inputs: usize, order: &[u32]) -> Vec<T> {
            let image = |&i: &u32| &values[i as usize * inputs..][..inputs];
            order.iter().flat_map(image).copied().collect()
        }
        match self {
            Self::Bytes { values, white } => {
                Self::Bytes { values: pick(values, inputs, order), white: *white }
            }
            Self::Floats(values) => Self::Floats(pick(values, inputs, order)),
        }
    }
}

/// Images and their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The images.
    pub pixels: Pixels,
    /// The class of each image.
    pub labels: Vec<u8>,
}

impl Part {
    /// All its images.
    ///
    /// # Panics
    ///
    /// If there is not a label for every image of `inputs` pixels.
    pub fn view(&self, inputs: usize) -> View<'_> {
        assert_eq!(self.pixels.len(), self.labels.len() * inputs, "images of {inputs} pixels");
        View::of(self, inputs)
    }
}

/// Images in classes, in a part for training and one for testing.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    name: String,
    rows: usize,
    columns: usize,
    classes: usize,
    train: Part,
    test: Part,
}

impl Dataset {
    /// A dataset of images of `rows` by `columns` pixels. The classes are 0 to the largest label.
    pub fn new(
        name: impl Into<String>,
        [rows, columns]: [usize; 2],
        train: Part,
        test: Part,
    ) -> Result<Self, DatasetError> {
        let name = name.into();
        for (part, what) in [(&train, "train"), (&test, "test")] {
            let images = part.pixels.len().checked_div(rows * columns).unwrap_or(0);
            let labels = part.labels.len();
            if images != labels || part.pixels.len() != images * rows * columns {
                return Err(DatasetError::Counts { name, part: what, images, labels });
            }
            if images == 0 {
                let reason = format!("its {what} part is empty");
                return Err(DatasetError::Unusable { name, reason });
            }
        }
        let largest = train.labels.iter().chain(&test.labels).max().copied().unwrap_or(0);
        if largest == 0 {
            let reason = "all its labels are 0, and two classes are needed".into();
            return Err(DatasetError::Unusable { name, reason });
        }
        Ok(Self { name, rows, columns, classes: usize::from(largest) + 1, train, test })
    }

    /// Reads the four idx [`FILES`] of a folder, plain or compressed. Labels must be below
    /// `classes`, if that is known.
    pub fn from_idx_folder(
        name: impl Into<String>,
        folder: &Path,
        classes: Option<usize>,
    ) -> Result<Self, DatasetError> {
        let found = FILES.map(|file| find(folder, file));
        let [Some(train_images), Some(train_labels), Some(test_images), Some(test_labels)] = &found
        else {
            let missing = FILES.iter().zip(&found).filter(|(_, path)| path.is_none());
            let missing = missing.map(|(&file, _)| file.to_owned()).collect();
            return Err(DatasetError::Missing { folder: folder.to_owned(), missing });
        };
        let part = |images: &Path, labels: &Path| -> Result<_, DatasetError> {
            Ok((idx::read_images(images)?, idx::read_labels(labels, classes)?))
        };
        let train = part(train_images, train_labels)?;
        let test = part(test_images, test_labels)?;
        Self::from_idx(name.into(), train, test)
    }

    /// A dataset of images and labels that were read from idx files.
    pub(crate) fn from_idx(
        name: String,
        (train_images, train_labels): (idx::Images, Vec<u8>),
        (test_images, test_labels): (idx::Images, Vec<u8>),
    ) -> Result<Self, DatasetError> {
        let shape = |images: &idx::Images| [images.rows, images.columns];
        same_shape(&name, shape(&train_images), shape(&test_images))?;
        let size = shape(&train_images);
        let part = |images: idx::Images, labels| Part {
            pixels: Pixels::Bytes { values: images.pixels, white: u8::MAX },
            labels,
        };
        Self::new(name, size, part(train_images, train_labels), part(test_images, test_labels))
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rows of an image.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of an image.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Pixels of an image, the inputs of a network.
    pub fn inputs(&self) -> usize {
        self.rows * self.columns
    }

    /// Number of classes, the outputs of a network.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The training part.
    pub fn train(&self) -> View<'_> {
        View::of(&self.train, self.inputs())
    }

    /// The test part alone.
    pub(crate) fn into_test(self) -> Part {
        self.test
    }

    /// The test part.
    pub fn test(&self) -> View<'_> {
        View::of(&self.test, self.inputs())
    }
}

/// Refuses parts whose images differ in size.
pub(crate) fn same_shape(
    name: &str,
    train: [usize; 2],
    test: [usize; 2],
) -> Result<(), DatasetError> {
    if train == test {
        return Ok(());
    }
    let text = |[rows, columns]: [usize; 2]| format!("{rows}×{columns}");
    Err(DatasetError::Shapes { name: name.into(), train: text(train), test: text(test) })
}

/// One of the [`FILES`] in a folder; some programs write a dot before `idx`.
pub(crate) fn find(folder: &Path, file: &str) -> Option<PathBuf> {
    files::find(folder, file).or_else(|| files::find(folder, &file.replace("-idx", ".idx")))
}

#[derive(Clone, Copy, Debug)]
enum Which<'a> {
    /// So many images from one on.
    Range { start: usize, len: usize },
    /// These.
    Chosen(&'a [u32]),
}

/// Where the pixels of an image come from.
#[derive(Clone, Copy, Debug)]
pub enum Arrangement<'a> {
    /// As they are stored.
    Plain,
    /// Pixel `order[j]` in the place of pixel j.
    Permuted(&'a [u32]),
    /// One order for some images and another one for the rest. As the share grows, images change over
    /// one by one, evenly spread over the dataset.
    Mixed {
        /// The order of the images that have not changed over.
        before: &'a [u32],
        /// The order of those that have.
        after: &'a [u32],
        /// The share of these, from 0 to 1.
        share: f64,
    },
    /// A weighted sum of up to four pixels in the place of each pixel.
    Blended(&'a [[(u32, f32); 4]]),
}

/// Numbers in [0, 1) that fill it evenly: the multiples of the golden ratio.
fn equidistributed(place: usize) -> f64 {
    f64::from((place as u32).wrapping_mul(2_654_435_769)) / 4_294_967_296.0
}

/// Some images of a part, as a learner sees them. Costs nothing to make or copy.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    part: &'a Part,
    inputs: usize,
    which: Which<'a>,
    arrangement: Arrangement<'a>,
    classes: Option<&'a [u8]>,
}

impl<'a> View<'a> {
    /// All images of a part.
    fn of(part: &'a Part, inputs: usize) -> Self {
        let which = Which::Range { start: 0, len: part.labels.len() };
        Self { part, inputs, which, arrangement: Arrangement::Plain, classes: None }
    }

    /// The same images with pixel `permutation[j]` in the place of pixel j.
    ///
    /// # Panics
    ///
    /// If the permutation does not have a number for every pixel.
    #[must_use]
    pub fn permuted(self, permutation: &'a [u32]) -> Self {
        self.arranged(Arrangement::Permuted(permutation))
    }

    /// The same images with their pixels in another arrangement.
    ///
    /// # Panics
    ///
    /// If the arrangement is that of images of another size.
    #[must_use]
    pub fn arranged(self, arrangement: Arrangement<'a>) -> Self {
        let fits = |list: &[u32]| list.len() == self.inputs;
        let ok = match arrangement {
            Arrangement::Plain => true,
            Arrangement::Permuted(order) => fits(order),
            Arrangement::Mixed { before, after, .. } => fits(before) && fits(after),
            Arrangement::Blended(sources) => sources.len() == self.inputs,
        };
        assert!(ok, "an arrangement has a source for every pixel");
        Self { arrangement, ..self }
    }

    /// Only the images named, all of which belong to one of the classes.
    pub(crate) fn chosen(self, images: &'a [u32], classes: &'a [u8]) -> Self {
        Self { which: Which::Chosen(images), classes: Some(classes), ..self }
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        match self.which {
            Which::Range { len, .. } => len,
            Which::Chosen(images) => images.len(),
        }
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Pixels of an image.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The place of image `index` in the part.
    fn place(&self, index: usize) -> usize {
        match self.which {
            Which::Range { start, len } => {
                assert!(index < len, "image {index} of {len}");
                start + index
            }
            Which::Chosen(images) => images[index] as usize,
        }
    }

    /// The class of an image in the dataset.
    ///
    /// # Panics
    ///
    /// If there is no such image.
    pub fn label(&self, index: usize) -> u8 {
        self.part.labels[self.place(index)]
    }

    /// The class of an image among the classes of its task, from 0: what a network with one head
    /// for all tasks, or one for each, has to answer. The same as [`View::label`] unless the
    /// task has only some of the classes.
    ///
    /// # Panics
    ///
    /// If there is no such image.
    pub fn label_in_task(&self, index: usize) -> u8 {
        let label = self.label(index);
        match self.classes {
            None => label,
            // The number of classes is at most 256.
            Some(classes) => classes.partition_point(|&class| class < label) as u8,
        }
    }

    /// Writes the pixels of an image, as numbers.
    ///
    /// # Panics
    ///
    /// If there is no such image, or `out` has not a place for every pixel.
    pub fn image(&self, index: usize, out: &mut [f32]) {
        assert_eq!(out.len(), self.inputs, "an image has {} pixels", self.inputs);
        let place = self.place(index);
        let start = place * self.inputs;
        match &self.part.pixels {
            Pixels::Bytes { values, white } => {
                // Divided and not multiplied by the inverse: the numbers of every other program.
                let white = f32::from(*white);
                let image = &values[start..start + self.inputs];
                self.arrange(place, image, out, |byte| f32::from(byte) / white);
            }
            Pixels::Floats(values) => {
                self.arrange(place, &values[start..start + self.inputs], out, |value| value);
            }
        }
    }

    fn arrange<T: Copy>(
        &self,
        place: usize,
        image: &[T],
        out: &mut [f32],
        number: impl Fn(T) -> f32,
    ) {
        let mut permute = |order: &[u32]| {
            out.iter_mut().zip(order).for_each(|(o, &p)| *o = number(image[p as usize]));
        };
        match self.arrangement {
            Arrangement::Plain => out.iter_mut().zip(image).for_each(|(o, &v)| *o = number(v)),
            Arrangement::Permuted(order) => permute(order),
            Arrangement::Mixed { before, after, share } => {
                permute(if equidistributed(place) < share { after } else { before });
            }
            Arrangement::Blended(sources) => {
                for (o, source) in out.iter_mut().zip(sources) {
                    *o = source.iter().map(|&(p, weight)| weight * number(image[p as usize])).sum();
                }
            }
        }
    }

    /// Writes the images named, one after another.
    ///
    /// # Panics
    ///
    /// If there is no such image, or `out` has not a place for every pixel of them all.
    pub fn batch(&self, indices: &[u32], out: &mut [f32]) {
        assert_eq!(out.len(), indices.len() * self.inputs, "a batch needs a place for every pixel");
        for (&index, image) in indices.iter().zip(out.chunks_exact_mut(self.inputs)) {
            self.image(index as usize, image);
        }
    }

    /// The first `count` images.
    pub fn first(self, count: usize) -> Result<Self, DatasetError> {
        if !(1..=self.len()).contains(&count) {
            return Err(DatasetError::TooFew { asked: count, available: self.len() });
        }
        Ok(self.slice(0, count))
    }

    /// All but the last `validation` images, and these: what a learner trains on, and what it
    /// chooses its parameters by.
    pub fn split_end(self, validation: usize) -> Result<(Self, Self), DatasetError> {
        let available = self.len().saturating_sub(1);
        if !(1..=available).contains(&validation) {
            return Err(DatasetError::TooFew { asked: validation, available });
        }
        let train = self.len() - validation;
        Ok((self.slice(0, train), self.slice(train, validation)))
    }

    fn slice(self, from: usize, count: usize) -> Self {
        let which = match self.which {
            Which::Range { start, .. } => Which::Range { start: start + from, len: count },
            Which::Chosen(images) => Which::Chosen(&images[from..from + count]),
        };
        Self { which, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(images: usize) -> Part {
        let values = (0..images * 4).map(|i| i as u8).collect();
        let labels = (0..images).map(|i| (i % 3) as u8).collect();
        Part { pixels: Pixels::Bytes { values, white: 200 }, labels }
    }

    fn image(view: View<'_>, index: usize) -> Vec<f32> {
        let mut out = vec![0.0; view.inputs()];
        view.image(index, &mut out);
        out
    }

    #[test]
    fn views_show_what_they_should() {
        let dataset = Dataset::new("small", [2, 2], part(10), part(5)).unwrap();
        assert_eq!((dataset.inputs(), dataset.classes()), (4, 3));
        let train = dataset.train();
        assert_eq!(image(train, 1), [4.0, 5.0, 6.0, 7.0].map(|v: f32| v / 200.0));

        let (rest, validation) = train.split_end(3).unwrap();
        assert_eq!((rest.len(), validation.len()), (7, 3));
        assert_eq!(image(validation, 0), image(train, 7));
        assert_eq!(validation.label(2), train.label(9));

        let permuted = train.permuted(&[3, 0, 1, 2]).first(2).unwrap();
        assert_eq!(image(permuted, 1), [7.0, 4.0, 5.0, 6.0].map(|v: f32| v / 200.0));

        let chosen = train.chosen(&[1, 2, 4, 5], &[1, 2]);
        let (some, last) = chosen.split_end(1).unwrap();
        assert_eq!((some.len(), last.label(0), last.label_in_task(0)), (3, 2, 1));
        assert_eq!(image(last, 0), image(train, 5));

        let mut batch = vec![0.0; 8];
        train.batch(&[9, 0], &mut batch);
        assert_eq!(batch, [image(train, 9), image(train, 0)].concat());
    }

    #[test]
    fn more_than_there_is_is_refused() {
        let dataset = Dataset::new("small", [2, 2], part(10), part(5)).unwrap();
        let train = dataset.train();
        assert_eq!(train.first(10).unwrap().len(), 10);
        for error in [
            train.first(11).unwrap_err(),
            train.first(0).unwrap_err(),
            train.split_end(10).unwrap_err(),
        ] {
            assert!(matches!(error, DatasetError::TooFew { .. }), "{error}");
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let mut short = part(10);
        short.labels.pop();
        let error = Dataset::new("small", [2, 2], short, part(5)).unwrap_err();
        assert!(matches!(error, DatasetError::Counts { part: "train", .. }), "{error}");
        let mut torn = part(10);
        let Pixels::Bytes { values, .. } = &mut torn.pixels else { unreachable!() };
        values.push(0);
        let error = Dataset::new("small", [2, 2], part(5), torn).unwrap_err();
        assert!(matches!(error, DatasetError::Counts { part: "test", .. }), "{error}");
        let error = Dataset::new("small", [2, 2], part(1), part(1)).unwrap_err();
        assert!(matches!(error, DatasetError::Unusable { .. }), "{error}");
    }

    #[test]
    fn a_folder_names_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, shape: &[usize], data: &[u8]| {
            idx::write(&folder.path().join(name), shape, data).unwrap();
        };
        write("train-images.idx3-ubyte", &[3, 1, 2], &[1, 2, 3, 4, 5, 6]);
        write("train-labels-idx1-ubyte.gz", &[3], &[0, 1, 1]);
        write("t10k-images-idx3-ubyte", &[1, 1, 2], &[7, 8]);
        let error = Dataset::from_idx_folder("own", folder.path(), None).unwrap_err();
        assert!(error.to_string().contains("lacks t10k-labels-idx1-ubyte"), "{error}");

        write("t10k-labels-idx1-ubyte", &[2], &[1, 0]);
        let error = Dataset::from_idx_folder("own", folder.path(), None).unwrap_err();
        assert!(matches!(error, DatasetError::Counts { part: "test", .. }), "{error}");

        write("t10k-labels-idx1-ubyte", &[1], &[1]);
        let dataset = Dataset::from_idx_folder("own", folder.path(), None).unwrap();
        assert_eq!((dataset.train().len(), dataset.test().len(), dataset.classes()), (3, 1, 2));

        write("t10k-images-idx3-ubyte", &[1, 2, 1], &[7, 8]);
        let error = Dataset::from_idx_folder("own", folder.path(), None).unwrap_err();
        assert!(matches!(error, DatasetError::Shapes { .. }), "{error}");
    }
}
