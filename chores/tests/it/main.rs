//! The chores as a program.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

use std::process::{Command, Output};

fn chores(words: &[&str]) -> Output {
    let mut chores = Command::new(env!("CARGO_BIN_EXE_chores"));
    chores.args(words).output().unwrap()
}

#[test]
fn the_generated_pages_are_up_to_date() {
    let checked = chores(&["docs", "--check"]);
    let told = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}");
}

/// A name that callers, files or agents use never changes by accident.
#[test]
fn the_outward_names_are_those_that_are_written_down() {
    let mut outward = Command::new(env!("CARGO_BIN_EXE_outward"));
    let checked = outward.arg("--check").output().unwrap();
    let told = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}");
}

#[test]
fn what_is_no_chore_is_told() {
    let refused = chores(&["drill", "nothing"]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1));
    assert!(told.contains("there is no drill 'nothing'"), "{told}");
}
