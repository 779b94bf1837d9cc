//! Files as they come: line ends, marks, links, sizes, and things that are no files.

use crate::environment::{THINKING, TestEnvironment};
use bowline_test_support::{MissingRequirement, skip_test};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

#[test]
fn windows_line_ends_stay() {
    let world = TestEnvironment::begun();
    let text = world.read(THINKING).replace('\n', "\r\n");
    world.write(THINKING, text);
    check!(world.session(&["status", "thinking fail planning --code c --message m"]));
    let after = world.read(THINKING);
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
}

#[test]
fn a_byte_order_mark_stays() {
    let world = TestEnvironment::begun();
    world.write(THINKING, format!("\u{feff}{}", world.read(THINKING)));
    check!(world.session(&["status", "thinking fail planning --code c --message m"]));
    let after = world.read(THINKING);
    assert!(after.starts_with("\u{feff}{") && after.matches('\u{feff}').count() == 1);
}

#[test]
fn a_linked_file_stays_a_link() {
    let world = TestEnvironment::begun();
    std::fs::create_dir(world.path("kept")).unwrap();
    for name in [
        THINKING,
        "thinking_state.json.journal.jsonl",
        "thinking_state.json.bak",
    ] {
        std::fs::rename(world.path(name), world.path("kept").join(name)).unwrap();
    }
    symlink("kept/thinking_state.json", world.path(THINKING)).unwrap();
    check!(world.session(&[
        "thinking fail planning --code c --message m",
        "history -n 1"
    ]));
    assert!(world.path(THINKING).is_symlink());
    assert!(
        world
            .read("kept/thinking_state.json")
            .contains("\"failed\"")
    );
}

#[test]
fn a_loop_of_links() {
    let world = TestEnvironment::new();
    symlink("other.json", world.path(THINKING)).unwrap();
    symlink(THINKING, world.path("other.json")).unwrap();
    check!(world.session(&["status thinking_state.json", "thinking start planning"]));
}

#[test]
fn an_empty_file() {
    let world = TestEnvironment::planned();
    world.write(THINKING, "");
    check!(world.session(&["status", "doctor", "doctor --repair", "status"]));
}

#[test]
fn a_file_that_is_not_text() {
    let world = TestEnvironment::planned();
    world.write(THINKING, [0xff, 0xfe, 0x00, 0x7b]);
    check!(world.session(&["status", "doctor", "thinking start selection"]));
}

#[test]
fn a_huge_file_is_refused_without_reading_it() {
    let world = TestEnvironment::planned();
    let file = std::fs::File::create(world.path(THINKING)).unwrap();
    file.set_len(100 * 1024 * 1024).unwrap();
    check!(world.session(&["status", "doctor", "thinking start selection"]));
}

#[test]
fn a_pipe_in_place_of_the_file_does_not_hang() {
    let world = TestEnvironment::new();
    let made = world.program("mkfifo").arg(THINKING).status().unwrap();
    assert!(made.success());
    let mut text = String::new();
    for line in [
        "status",
        "doctor",
        "thinking start planning",
        "doctor --repair",
    ] {
        let mut bounded = world.program("timeout");
        bounded.args(["20", env!("CARGO_BIN_EXE_bowline")]);
        let output = bounded.args(line.split(' ')).output().unwrap();
        text.push_str(&world.told(line, &output));
    }
    check!(text);
}

#[test]
fn a_folder_in_place_of_the_file() {
    let world = TestEnvironment::new();
    std::fs::create_dir(world.path(THINKING)).unwrap();
    check!(world.session(&["status thinking", "thinking start planning"]));
}

#[test]
fn a_read_only_folder() {
    let world = TestEnvironment::begun();
    let root = std::fs::metadata(world.path("")).unwrap().uid() == 0;
    let setpriv = || world.program("setpriv").arg("--version").output().is_ok();
    if root && !setpriv() {
        return skip_test(
            MissingRequirement::Program,
            "the super-user may write everywhere, and setpriv is not installed",
        );
    }
    // Where the other user can reach it.
    let binary = world.root().join("bowline");
    std::fs::copy(env!("CARGO_BIN_EXE_bowline"), &binary).unwrap();
    let mode = |name: &str, mode: u32| {
        std::fs::set_permissions(
            world.root().join(name),
            std::fs::Permissions::from_mode(mode),
        )
        .unwrap();
    };
    mode("", 0o755);
    mode("project", 0o555);
    let mut text = String::new();
    for line in [
        "status",
        "doctor",
        "history -n 1",
        "thinking fail planning --code c --message m",
    ] {
        let mut command = if root {
            let mut command = world.program("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            command.arg(&binary);
            command
        } else {
            world.program(&binary)
        };
        let output = command.args(line.split(' ')).output().unwrap();
        text.push_str(&world.told(line, &output));
    }
    mode("project", 0o755);
    check!(text);
}

#[test]
fn new_makes_missing_folders() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "thinking new --dir a/b/c deep --title Deep",
        "-C a/b status",
        "-C a/b status --json"
    ]));
}
