//! Files that NumPy has written, by `tests/npz/make.py`.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use remanent_data::dataset::{Dataset, View};
use remanent_data::npz;
use remanent_data::sources::{self, Cache};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/npz").join(name)
}

fn images(view: View<'_>) -> Vec<(Vec<f32>, u8)> {
    let image = |index| {
        let mut image = vec![0.0; view.inputs()];
        view.image(index, &mut image);
        (image, view.label(index))
    };
    (0..view.len()).map(image).collect()
}

/// The images that make.py writes, in their order, with values k and labels.
fn wanted(range: std::ops::Range<u8>, number: impl Fn(f64) -> f32) -> Vec<(Vec<f32>, u8)> {
    range.map(|i| ((0..6).map(|j| number(f64::from(6 * i + j))).collect(), i % 3)).collect()
}

/// Both parts together, in the order of the first pixel.
fn all(dataset: &Dataset) -> Vec<(Vec<f32>, u8)> {
    let mut all = [images(dataset.train()), images(dataset.test())].concat();
    all.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
    all
}

fn refused(name: &str) -> String {
    let text = npz::read(&path(name)).unwrap_err().to_string();
    // The counts are told of the dataset, everything else of the file.
    assert!(text.contains(name.trim_end_matches(".npz")), "{text}");
    text
}

#[test]
fn bytes_are_scaled_and_a_fifth_is_for_testing() {
    let dataset = npz::read(&path("bytes.npz")).unwrap();
    assert_eq!((dataset.name(), dataset.rows(), dataset.columns()), ("bytes", 2, 3));
    assert_eq!((dataset.train().len(), dataset.test().len(), dataset.classes()), (8, 2, 3));
    assert_eq!(all(&dataset), wanted(0..10, |k| k as f32 / 255.0));
    // Drawn, but always the same.
    assert_ne!(images(dataset.train()), wanted(0..8, |k| k as f32 / 255.0));
    assert_eq!(npz::read(&path("bytes.npz")).unwrap(), dataset);
}

#[test]
fn the_order_of_fortran_is_turned_round() {
    let dataset = npz::read(&path("fortran.npz")).unwrap();
    assert_eq!((dataset.rows(), dataset.columns()), (2, 3));
    assert_eq!(all(&dataset), wanted(0..10, |k| (k / 7.0) as f32));
}

#[test]
fn parts_that_the_file_names_are_kept() {
    let dataset = npz::read(&path("keras.npz")).unwrap();
    assert_eq!(dataset.inputs(), 6);
    assert_eq!(images(dataset.train()), wanted(0..7, |k| k as f32));
    assert_eq!(images(dataset.test()), wanted(7..10, |k| k as f32));
}

#[test]
fn a_folder_with_a_pair_is_a_dataset() {
    let folder = path("pair");
    let dataset = sources::open(folder.to_str().unwrap(), &Cache::at("nowhere")).unwrap();
    assert_eq!(dataset.name(), "pair");
    assert_eq!(images(dataset.train()), wanted(0..6, |k| k as f32));
    assert_eq!(images(dataset.test()), wanted(6..10, |k| k as f32));
}

#[test]
fn what_cannot_be_used_is_named() {
    assert!(refused("negative.npz").contains("label -1 is out of range: classes are 0 to 255"));
    assert!(refused("float_labels.npz").contains("labels must be integers"));
    assert!(refused("wide_pixels.npz").contains("must be uint8, float32 or float64"));
    assert!(refused("nan.npz").contains("NaN in image 2"));
    assert!(refused("short.npz").contains("10 images but 9 labels"));
    assert!(refused("vector.npz").contains("is not N×D or N×H×W"));
    assert!(refused("one_hot.npz").contains("give the numbers of the classes"));
    let text = refused("other_names.npz");
    assert!(text.contains("has no array x") && text.contains("images, labels"), "{text}");
}

#[test]
fn a_file_that_is_damaged_or_of_another_kind_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("damaged.npz");
    let whole = std::fs::read(path("bytes.npz")).unwrap();
    for length in [0, 10, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file, &whole[..length]).unwrap();
        let text = npz::read(&file).unwrap_err().to_string();
        assert!(text.contains("damaged.npz"), "{length}: {text}");
    }
    // A changed byte of the pixels is found by the checksum of the archive.
    let mut changed = whole.clone();
    let place = whole.windows(4).position(|w| w == [20, 21, 22, 23]).unwrap();
    changed[place] ^= 1;
    std::fs::write(&file, &changed).unwrap();
    assert!(npz::read(&file).is_err());
    std::fs::write(&file, b"x,y\n1,2\n").unwrap();
    assert!(npz::read(&file).unwrap_err().to_string().contains("is not a complete .npz file"));
}

/// An archive with one array of the name, whose content is `bytes`.
fn archive(arrays: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made.npz");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, bytes) in arrays {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    (directory, path)
}

fn npy(header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

/// The message of reading an archive with this x, and how long it took.
fn refused_x(x: &[u8]) -> (String, Duration) {
    let y = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (10,)}", &[1; 10]);
    let (_directory, path) = archive(&[("x", x), ("y", &y)]);
    let start = Instant::now();
    let text = npz::read(&path).unwrap_err().to_string();
    assert!(text.contains("array x of") && text.contains("made.npz"), "{text}");
    assert!(text.len() < 500, "{text}");
    (text, start.elapsed())
}

#[test]
fn a_nested_header_is_refused_at_once() {
    for nested in ["[".repeat(24) + &"]".repeat(24), "{".repeat(18) + &"}".repeat(18)] {
        let header = format!("{{'descr': {nested}, 'fortran_order': False, 'shape': (10, 4)}}");
        let (text, time) = refused_x(&npy(&header, &[0; 40]));
        assert!(text.contains("header") && text.contains("numpy.save"), "{text}");
        assert!(time < Duration::from_millis(500), "{time:?}");
    }
}

/// Zeros compress by a thousand: an array that goes on is not unpacked.
#[test]
fn no_more_is_unpacked_than_the_header_says() {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (10, 4)}";
    let (text, time) = refused_x(&npy(header, &vec![0; 1 << 29]));
    assert!(text.contains("goes on after the 40 bytes"), "{text}");
    assert!(time < Duration::from_millis(500), "{time:?}");
    let (text, _) = refused_x(&npy(header, &[0; 39]));
    assert!(text.contains("39 of 40 bytes"), "{text}");
}

#[test]
fn a_size_beyond_memory_is_refused_before_anything_is_read() {
    for shape in ["(1000000000, 1000000)", "(4294967295, 4294967295, 4294967295)"] {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}");
        let (text, _) = refused_x(&npy(&header, &[0; 39]));
        assert!(text.contains("too large") || text.contains("with values in it"), "{text}");
    }
}
