//! `bowline-shim` as a process.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod hook;
mod world;

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
