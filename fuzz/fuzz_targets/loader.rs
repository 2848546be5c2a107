//! Every target is this file: the name of the binary chooses the loader. An error is fine; a panic, an endless
//! loop and too much memory are not.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

// The campaign uses more of it.
#[allow(dead_code)]
#[path = "../../crates/remanent/tests/campaigns/loaders.rs"]
mod loaders;

fuzz_target!(|data: &[u8]| {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| TempDir::new().expect("a temporary directory"));
    let loader = loaders::LOADERS.iter().find(|loader| loader.target() == env!("CARGO_BIN_NAME"));
    let _ = (loader.expect("a target is a loader").load)(data, folder.path());
});
