//! Whole files through the formats, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests read their golden files, and a test that cannot unwrap has failed"
)]

mod agents;
mod checkpoint;
mod damage;
mod develop;
mod families;
mod golden;
mod import;
mod markers;
mod memory;
mod orchestrate;
mod pages;
mod tasks_md;
mod thinking;

use std::fs;
use std::path::Path;

#[test]
fn no_test_file_is_forgotten() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    check_declared(&root, "main");
}

/// Every file and folder in `folder` is a module of the file `parent` in it.
fn check_declared(folder: &Path, parent: &str) {
    let declared = fs::read_to_string(folder.join(format!("{parent}.rs"))).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let known = stem == parent || declared.lines().any(|line| line == format!("mod {stem};"));
        assert!(known, "{} is not declared in {parent}.rs", path.display());
        if path.is_dir() {
            check_declared(&path, "mod");
        }
    }
}
