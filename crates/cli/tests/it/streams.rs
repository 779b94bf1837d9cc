//! What happens when stdout or stderr cannot be written: no panic, and an exit code that tells the truth.

use crate::environment::{TestEnvironment, text};
use std::fs::OpenOptions;
use std::process::Stdio;

/// A device on which every write fails for want of space.
fn full() -> Stdio {
    let device = OpenOptions::new().write(true).open("/dev/full");
    device.unwrap().into()
}

#[test]
fn a_full_stderr_keeps_the_exit_code() {
    let world = TestEnvironment::new();
    world.quietly("memory task new First --step name=a", 0);
    for (line, code) in [
        ("memory step start 9", 3),
        ("memory step start 9 --lang ko", 3),
        ("memory step begin", 2),
        ("memory step begin --lang ko", 2),
        ("thinking", 2),
    ] {
        let status = world.bowline(line).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_full_stdout_is_a_failure_and_told() {
    let world = TestEnvironment::new();
    world.quietly("memory task new First --step name=a", 0);
    for line in [
        "memory context get shared_data",
        "status --json",
        "status",
        "schema thinking",
        "completions bash",
        "--help",
        "memory step begin --json",
        "hook --help",
    ] {
        let output = world.bowline(line).stdout(full()).output().unwrap();
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{line}: {talk}");
        assert!(
            talk.contains("error[io]: standard output could not be written"),
            "{line}: {talk}"
        );
        assert!(talk.contains("hint: "), "{line}: {talk}");
    }
    let korean = world
        .bowline("status --lang ko")
        .stdout(full())
        .output()
        .unwrap();
    let talk = text(&korean.stderr);
    assert_eq!(korean.status.code(), Some(70));
    assert!(
        talk.contains("오류[io]: 표준 출력에 쓸 수 없습니다"),
        "{talk}"
    );
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let world = TestEnvironment::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = world.bowline("explain").stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{output:?}");
}
