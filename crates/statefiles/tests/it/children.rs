//! Other processes: this test binary, started again to play one part.

use std::path::Path;
use std::process::{Command, Stdio};

const PART: &str = "STATEFILES_TEST_PART";

/// A command that plays `part` in `folder`; see [`entry`].
#[expect(
    clippy::disallowed_methods,
    reason = "several processes are what is tested"
)]
pub(crate) fn child(folder: &Path, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "children::entry",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .current_dir(folder)
        .env(PART, part)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
#[ignore = "the entry point of child processes"]
fn entry() {
    let part = std::env::var(PART).expect("only run by other tests");
    let words: Vec<&str> = part.split('|').collect();
    let folder = std::env::current_dir().unwrap();
    match words.as_slice() {
        ["kill", scenario, at, plain] => {
            crate::kills::act(&folder, scenario, at.parse().unwrap(), *plain == "plain");
        }
        ["hammer", number, updates] => {
            crate::processes::hammer(&folder, number, updates.parse().unwrap())
        }
        ["update expecting", code] => {
            let error =
                crate::support::add(&crate::support::state_file(&folder.join("state.json")), "x")
                    .unwrap_err();
            assert_eq!(error.code(), *code, "{error:?}");
        }
        other => panic!("no such part: {other:?}"),
    }
}
