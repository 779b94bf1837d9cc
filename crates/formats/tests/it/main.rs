//! The integration tests of this crate, in one binary.
#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic at the spot is the message wanted"
)]

mod markers;

use std::path::Path;

/// A file that no module declares would never run.
#[test]
fn every_test_file_is_declared() {
    fn check(folder: &Path, root: &str) {
        let declared = std::fs::read_to_string(folder.join(root)).unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if path.is_dir() {
                check(&path, "mod.rs");
            } else if path.file_name().unwrap() == root || path.extension().unwrap() != "rs" {
                continue;
            }
            assert!(
                declared.contains(&format!("mod {name};")),
                "{} is not declared in {root}",
                path.display()
            );
        }
    }
    check(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"),
        "main.rs",
    );
}
