//! Images and labels for networks that learn task after task.
//!
//! A [`dataset::Dataset`] comes from one of four places: the 8×8 digits inside the program
//! ([`digits`]), a set that is known by name and checked by hash ([`sources`]), a folder of
//! [`idx`] files, or arrays of NumPy ([`npz`]). A [`stream::StreamSpec`] is a text such as
//! `permuted:mnist:10` that says which tasks are learned in which order; loaded, it gives
//! [`stream::Task`]s that share the images and add a permutation of the pixels or a choice of
//! classes. Nothing here goes to the network unless [`sources::get`] is called.
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
mod fetch;
mod known;
mod npy;

pub mod dataset;
pub mod digits;
pub mod files;
pub mod idx;
pub mod images;
pub mod memory;
pub mod npz;
pub mod sources;
pub mod stream;

pub use files::FileError;

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
