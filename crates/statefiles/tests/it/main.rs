//! The tests of `statefiles` against real folders, processes and faults.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed unwrap is a failed test"
)]

mod basics;
mod batch;
mod children;
mod faults;
mod kills;
mod locks;
mod meddling;
mod odd_files;
mod processes;
mod scenario;
mod support;
mod torn;

/// A file that is not listed above would silently never run.
#[test]
fn no_file_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || listed.contains(&format!("mod {module};")),
            "{name}"
        );
    }
}
