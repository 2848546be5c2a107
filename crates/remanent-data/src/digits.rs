//! The 8×8 digits of scikit-learn, inside the program.
//!
//! With them every command runs on a machine that has no data and no network. Where the file
//! comes from and its licence stand beside it, in `data/README.md`.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::dataset::{Dataset, Part, Pixels};

/// What the dataset is called.
pub const NAME: &str = "digits";
/// Number of images for training; the other 360 are for testing. This is how scikit-learn's
/// `train_test_split` divides them with `test_size=0.2, shuffle=False`.
pub const TRAIN: usize = 1437;
/// Number of images.
pub const IMAGES: usize = 1797;

const SIDE: usize = 8;
/// The value of a pixel that is all ink.
const WHITE: u8 = 16;
const FILE: &[u8] = include_bytes!("../data/digits.csv.gz");

/// The digits: 1437 images for training and 360 for testing, of 10 classes.
pub fn load() -> Dataset {
    let mut text = String::new();
    GzDecoder::new(FILE).read_to_string(&mut text).expect("the embedded file is whole");
    let mut parts = [0; 2].map(|_| (Vec::new(), Vec::new()));
    for (line, image) in text.lines().enumerate() {
        let numbers = image.split(',').map(|number| number.parse::<u8>());
        let mut numbers: Vec<u8> = numbers.collect::<Result<_, _>>().expect("pixels are small");
        let (pixels, labels) = &mut parts[usize::from(line >= TRAIN)];
        labels.extend(numbers.pop());
        pixels.append(&mut numbers);
    }
    let [train, test] = parts
        .map(|(values, labels)| Part { pixels: Pixels::Bytes { values, white: WHITE }, labels });
    Dataset::new(NAME, [SIDE, SIDE], train, test).expect("the embedded file fits together")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_there() {
        let digits = load();
        assert_eq!((digits.rows(), digits.columns(), digits.classes()), (8, 8, 10));
        assert_eq!((digits.train().len(), digits.test().len()), (TRAIN, IMAGES - TRAIN));
        let mut counts = [0; 10];
        for view in [digits.train(), digits.test()] {
            (0..view.len()).for_each(|i| counts[usize::from(view.label(i))] += 1);
        }
        // As `numpy.bincount(sklearn.datasets.load_digits().target)` counts them.
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    }

    #[test]
    fn the_first_row_matches_scikit_learn() {
        let digits = load();
        let mut image = [0.0; 64];
        digits.train().image(0, &mut image);
        let row = [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0].map(|value: f32| value / 16.0);
        assert_eq!(image[..8], row);
        let mut largest = 0.0f32;
        for index in 0..digits.test().len() {
            digits.test().image(index, &mut image);
            largest = image.iter().fold(largest, |a, &b| a.max(b));
        }
        assert_eq!(largest, 1.0);
    }
}
