//! Whole files through the formats.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests read their golden files, and a test that cannot unwrap has failed"
)]

mod golden;
mod memory;
mod thinking;

#[test]
fn no_test_file_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "{name} is not in main.rs"
        );
    }
}
