//! Images and labels for networks that learn task after task.
//!
//! A [`dataset::Dataset`] is one of four kinds: the embedded 8×8 digits ([`digits`]), a set known
//! by name and checked by hash ([`sources`]), a folder of [`idx`] files, or NumPy arrays ([`npz`]).
//! A [`stream::StreamSpec`] such as `permuted:mnist:10` names the tasks and their order; loaded, it
//! gives [`stream::Task`]s that share the images and add a permutation of the pixels or a choice
//! of classes.
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

pub mod dataset;
pub mod digits;
pub mod idx;
pub mod images;
pub mod npz;
pub mod sources;
pub mod stream;

pub use remanent_store::files::FileError;

/// `, did you mean 'mnist'?` if one of the names is near, else nothing.
fn suggestion<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let lower = name.to_lowercase();
    names
        .into_iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(&lower, known), known))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, known)| format!("; did you mean '{known}'?"))
}
