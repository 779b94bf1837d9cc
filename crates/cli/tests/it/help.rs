//! The help pages, and command lines that are wrong.

use crate::environment::TestEnvironment;

#[test]
fn help() {
    let world = TestEnvironment::new();
    check!(world.session(&["--help", "thinking --help", "develop --help", "doctor -h"]));
}

#[test]
fn help_in_korean() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "--lang ko --help",
        "--lang ko help thinking start",
        "thinking start -h --lang ko",
        "--lang ko memory step",
        "thinking start --lang ko",
    ]));
    let script = world.data("completions zsh --lang ko", 0);
    assert!(
        script.contains("상태 파일을 점검하고 복구합니다"),
        "{script}"
    );
}

#[test]
fn wrong_usage() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "knot",
        "knot --json",
        "thinking",
        "thinking --json",
        "--json thinking",
        "thinking start --json",
        "thinking start",
        "thinking start sleeping",
        "thinking start sleeping --json",
        "restore",
        "restore one",
        "restore one --lang ko",
        "--lang fr",
        "-C nowhere status",
        "-C nowhere status --json",
    ]));
}
