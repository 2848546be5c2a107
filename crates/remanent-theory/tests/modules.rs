//! The modules of the crate import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Imports = BTreeMap<String, BTreeSet<String>>;

/// The modules of the crate that the code of a file names; comments do not count.
fn named(code: &str) -> BTreeSet<String> {
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().into())
        .collect()
}

/// Adds the imports of a file, or of all files of a folder, to those of a module.
fn read(path: &Path, module: &str, imports: &mut Imports) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            read(&entry.unwrap().path(), module, imports);
        }
    } else {
        let own = imports.entry(module.to_owned()).or_default();
        own.extend(named(&fs::read_to_string(path).unwrap()));
        own.remove(module);
    }
}

/// A path of imports that leads back to where it began.
fn cycle(imports: &Imports, path: &mut Vec<String>) -> bool {
    let last = path[path.len() - 1].clone();
    imports.get(&last).into_iter().flatten().any(|next| {
        let back = path.contains(next);
        path.push(next.clone());
        if back || cycle(imports, path) {
            return true;
        }
        path.pop();
        false
    })
}

#[test]
fn imports_point_one_way() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut imports = Imports::new();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if module != "lib" {
            read(&path, &module, &mut imports);
        }
    }
    assert!(imports["chain"].contains("curve") && imports["fields"].contains("site"));
    for module in imports.keys() {
        let mut path = vec![module.clone()];
        assert!(!cycle(&imports, &mut path), "{}", path.join(" imports "));
    }
}

#[test]
fn a_cycle_is_found() {
    let imports: Imports = [("a", "b"), ("b", "c"), ("c", "b")]
        .map(|(from, to)| (from.to_owned(), BTreeSet::from([to.to_owned()])))
        .into();
    let mut path = vec!["a".to_owned()];
    assert!(cycle(&imports, &mut path));
    assert_eq!(path, ["a", "b", "c", "b"]);
}
