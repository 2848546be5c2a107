//! The crates depend on one another as ARCHITECTURE.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use toml::{Table, Value};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The names between backquotes.
fn names(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What each crate may depend on, in the order of the table.
fn allowed() -> Vec<(String, BTreeSet<String>)> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = page.split_once("<!-- dependencies -->").unwrap();
    let (table, _) = rest.split_once("<!-- end of dependencies -->").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut names = names(row).into_iter();
        (names.next().unwrap(), names.collect())
    })
    .collect()
}

/// What each crate depends on, development dependencies included.
fn found() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path().join("Cargo.toml");
        let manifest: Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
        let dependencies =
            tables.iter().filter_map(|key| manifest.get(*key)).filter_map(Value::as_table);
        let own = dependencies.flat_map(Table::keys).filter(|key| key.starts_with("remanent"));
        found.insert(name, own.cloned().collect());
    }
    found
}

#[test]
fn dependencies_point_one_way() {
    let (allowed, found) = (allowed(), found());
    let listed: BTreeSet<&String> = allowed.iter().map(|(name, _)| name).collect();
    assert_eq!(listed, found.keys().collect(), "every crate has a row in ARCHITECTURE.md");
    for (i, (name, may)) in allowed.iter().enumerate() {
        let above: BTreeSet<String> = allowed[..i].iter().map(|(name, _)| name.clone()).collect();
        assert!(may.is_subset(&above), "{name} may depend only on crates above it");
        let more: Vec<_> = found[name].difference(may).collect();
        assert!(
            more.is_empty(),
            "{name} depends on {more:?}, which ARCHITECTURE.md does not allow"
        );
    }
    let models = ["remanent-theory", "remanent-perceptron", "remanent-network"];
    for name in models {
        assert!(models.iter().all(|other| !found[name].contains(*other)), "{name}");
    }
}
