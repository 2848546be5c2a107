//! Images that a network is asked about: they need no labels, and no part to train on.

use std::path::{Path, PathBuf};

use crate::dataset::{DatasetError, Part, Pixels, View};
use crate::files;
use crate::idx;
use crate::npz::{self, Unlearned};
use crate::sources::{self, Cache, SourceError};

/// Images, and their labels if these are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    name: String,
    inputs: usize,
    /// All labels are 0 if they are not known.
    part: Part,
    is_labelled: bool,
}

impl Images {
    /// Images by the name of a dataset or the path of a folder (its test part), by the path of an
    /// idx file of images (with the labels that lie beside it), or by that of an .npz file with x
    /// and perhaps y.
    pub fn open(reference: &str, cache: &Cache) -> Result<Self, SourceError> {
        let path = Path::new(reference);
        if sources::names().contains(&reference) || !path.is_file() {
            let dataset = sources::open(reference, cache)?;
            let (name, inputs) = (dataset.name().to_owned(), dataset.inputs());
            return Ok(Self { name, inputs, part: dataset.into_test(), is_labelled: true });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "npz") {
            let Unlearned { inputs, pixels, labels } = npz::read_images(path)?;
            return Self::new(name, inputs, pixels, labels);
        }
        let images = idx::read_images(path).map_err(DatasetError::from)?;
        let labels = match labels_beside(path) {
            Some(path) => Some(idx::read_labels(&path, None).map_err(DatasetError::from)?),
            None => None,
        };
        let pixels = Pixels::Bytes { values: images.pixels, white: u8::MAX };
        Self::new(name, images.rows * images.columns, pixels, labels)
    }

    fn new(
        name: String,
        inputs: usize,
        pixels: Pixels,
        labels: Option<Vec<u8>>,
    ) -> Result<Self, SourceError> {
        let (images, is_labelled) = (pixels.len() / inputs, labels.is_some());
        if images == 0 {
            let reason = "it has no images".into();
            return Err(DatasetError::Unusable { name, reason }.into());
        }
        let labels = labels.unwrap_or_else(|| vec![0; images]);
        if labels.len() != images {
            let (part, labels) = ("only", labels.len());
            return Err(DatasetError::Counts { name, part, images, labels }.into());
        }
        Ok(Self { name, inputs, part: Part { pixels, labels }, is_labelled })
    }

    /// What they are called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pixels of an image.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether the labels are known; if not, those of [`Self::view`] mean nothing.
    pub fn is_labelled(&self) -> bool {
        self.is_labelled
    }

    /// The images.
    pub fn view(&self) -> View<'_> {
        self.part.view(self.inputs)
    }
}

/// The file of labels that belongs to one of images: `t10k-labels-idx1-ubyte` beside
/// `t10k-images-idx3-ubyte`.
fn labels_beside(images: &Path) -> Option<PathBuf> {
    let name = images.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let other = name.replace("images", "labels").replace("idx3", "idx1");
    if other == name {
        return None;
    }
    files::find(images.parent()?, &other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_beside_the_images_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let path = folder.path().join("t10k-images-idx3-ubyte");
        let text = path.to_str().unwrap();
        idx::write(&path, &[2, 1, 3], &[0, 255, 0, 51, 0, 0]).unwrap();
        let images = Images::open(text, &cache).unwrap();
        assert_eq!((images.inputs(), images.is_labelled()), (3, false));
        let mut image = [0.0; 3];
        images.view().image(1, &mut image);
        assert_eq!(image, [0.2, 0.0, 0.0]);

        let labels = folder.path().join("t10k-labels-idx1-ubyte.gz");
        idx::write(&labels, &[2], &[7, 1]).unwrap();
        let images = Images::open(text, &cache).unwrap();
        assert!(images.is_labelled());
        assert_eq!([0, 1].map(|i| images.view().label(i)), [7, 1]);

        idx::write(&labels, &[3], &[7, 1, 1]).unwrap();
        let error = Images::open(text, &cache).unwrap_err();
        assert!(error.to_string().contains("2 images but 3 labels"), "{error}");
    }

    #[test]
    fn a_dataset_gives_its_test_part() {
        let cache = Cache::at("not-needed");
        let images = Images::open("digits", &cache).unwrap();
        assert_eq!((images.name(), images.inputs(), images.view().len()), ("digits", 64, 360));
        let error = Images::open("mnits", &cache).unwrap_err();
        assert!(matches!(error, SourceError::Unknown { .. }), "{error}");
    }
}
