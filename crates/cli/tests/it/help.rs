//! The help pages, and command lines that are wrong.

use crate::environment::TestEnvironment;

#[test]
fn help() {
    let world = TestEnvironment::new();
    check!(world.session(&["--help", "thinking --help", "develop --help", "doctor -h"]));
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
