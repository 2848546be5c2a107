//! Images and labels for networks that learn task after task.
//!
//! A [`dataset::Dataset`] is one of four kinds: the embedded 8×8 digits ([`digits`]), a set known
//! by name and checked by hash ([`sources`]), a folder of [`idx`] files, or NumPy arrays ([`npz`]).
//! A [`stream::StreamSpec`] such as `permuted:mnist:10` names the tasks and their order; loaded, it
//! gives [`stream::Task`]s that share the images and add a permutation of the pixels, a rotation or a
//! choice of classes.
//!
//! Only [`sources::get`] uses the network, and only with the feature `download`, which is on by
//! default.
//!
//! ```
//! use remanent_data::sources::Cache;
//! use remanent_data::stream::StreamSpec;
//!
//! let cache = Cache::at("not-needed-for-digits");
//! let stream = StreamSpec::read("permuted:digits:3")?.load(&cache)?;
//! let tasks = stream.tasks(1, 0);
//! let train = tasks[2].train().first(1000)?;
//! let mut image = vec![0.0; train.inputs()];
//! train.image(0, &mut image);
//! assert_eq!((tasks.len(), train.len(), image.len()), (3, 1000, 64));
//! assert_eq!(train.label(0), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
#[cfg(feature = "download")]
mod download;
mod fetch;
mod files;
mod known;
mod npy;
mod rotation;

pub mod dataset;
pub mod digits;
pub mod idx;
pub mod images;
pub mod npz;
pub mod sources;
pub mod stream;

pub use remanent_store::files::FileError;

/// The known word that was probably meant, if one is near: a third of its letters may be wrong, or its end
/// may be missing.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let word = plain(word);
    let distance = |&other: &&'a str| (strsim::damerau_levenshtein(&word, &plain(other)), other);
    let (errors, near) = known.iter().map(distance).min_by_key(|&(errors, _)| errors)?;
    let letters = near.chars().count().max(word.chars().count());
    if 3 * errors <= letters {
        return Some(near);
    }
    let begins = |other: &&&'a str| word.len() >= 3 && plain(other).starts_with(&word);
    known.iter().find(begins).copied()
}

/// `; did you mean 'mnist'?` if one of the names is near, else nothing.
fn suggestion<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    nearest(name, &names).map_or_else(String::new, |known| format!("; did you mean '{known}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["vcl", "ewc", "metaplasticity"];
        assert_eq!(nearest("VCL", &known), Some("vcl"));
        assert_eq!(nearest("vlc", &known), Some("vcl"));
        assert_eq!(nearest("metaplastic", &known), Some("metaplasticity"));
        assert_eq!(nearest("meta", &known), Some("metaplasticity"));
        assert_eq!(nearest("adam", &known), None);
        assert_eq!(nearest("vcl", &[]), None);
    }
}
