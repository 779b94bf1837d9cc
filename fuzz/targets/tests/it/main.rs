//! Every target over its seeds and some thousand mutations of them: what a fuzzer does, without its tools.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use bowline_fuzz_targets::TARGETS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

mod mutate;

/// Mutations per target. Enough for the shallow half of what a fuzzer finds in a minute, and over in seconds.
const MUTATIONS: u64 = 3_000;

fn seeds_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../seeds")
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

#[test]
fn every_target_has_a_folder_of_seeds_and_every_folder_a_target() {
    let names: BTreeSet<String> = TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect();
    let folders = std::fs::read_dir(seeds_folder()).unwrap();
    let folders: BTreeSet<String> = folders
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, folders);
}

#[test]
fn every_target_holds_over_its_seeds_and_their_mutations() {
    let golden =
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/formats/tests/golden"));
    let failures: Vec<String> = TARGETS
        .iter()
        .filter_map(|target| {
            let mut seeds = files(&seeds_folder().join(target.name));
            seeds.extend(golden.iter().cloned());
            let mutations = (0..MUTATIONS).map(|round| mutate::mutation(&seeds, round));
            let failing = seeds
                .iter()
                .cloned()
                .chain(mutations)
                .find(|input| std::panic::catch_unwind(|| (target.run)(input)).is_err())?;
            Some(format!("{}: {}", target.name, failing.escape_ascii()))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "inputs that break a promise (why is said above):\n{}",
        failures.join("\n")
    );
}

#[test]
fn no_file_of_these_tests_is_forgotten() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(here).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{name}"
        );
    }
}
