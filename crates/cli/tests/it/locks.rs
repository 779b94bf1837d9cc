//! Files that somebody else holds.

use crate::environment::{TestEnvironment, set_age};
use std::process::Command;

const LOCK: &str = "thinking_state.json.lock";

/// Text without process ids, the machine's name and how long a wait took.
fn timeless(text: &str) -> String {
    let host = Command::new("uname").arg("-n").output().unwrap().stdout;
    let host = String::from_utf8(host).unwrap();
    let mut out = String::new();
    for line in text
        .replace(&format!(" on {}", host.trim()), " on [HOST]")
        .lines()
    {
        let line = line.replace(&std::process::id().to_string(), "[PID]");
        // The milliseconds of a wait.
        let line = match line.split_once(" ms") {
            Some((before, after)) => {
                let before = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
                format!("{before}[N] ms{after}")
            }
            None => line,
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

#[test]
fn a_held_lock_is_waited_for_and_then_named() {
    let world = TestEnvironment::begun();
    let owner = format!(
        "{{\"bowline\":1,\"pid\":{},\"at\":\"2026-03-01T08:59:59Z\",\"what\":\"bowline orchestrate run\"}}",
        std::process::id()
    );
    world.write(LOCK, owner);
    let lock = std::fs::File::open(world.path(LOCK)).unwrap();
    lock.lock().unwrap();
    let reading = world.run("status");
    let changing = world.run("thinking fail planning --code c --message m");
    let json = world.run("thinking fail planning --code c --message m --json");
    drop(lock);
    let after = world.run("thinking fail planning --code c --message m");
    check!(timeless(&[reading, changing, json, after].join("\n")));
    assert!(
        !world.path(LOCK).exists(),
        "the lock file is gone when nobody holds it"
    );
}

#[test]
fn a_fresh_lock_file_of_another_program_is_honoured() {
    let world = TestEnvironment::begun();
    world.write(LOCK, "nightly-backup.sh\n");
    set_age(&world.path(LOCK), 2);
    check!(timeless(
        &world.run("thinking fail planning --code c --message m --lang ko")
    ));
    assert!(world.path(LOCK).exists());
}

#[test]
fn an_old_lock_file_of_another_program_is_taken_over() {
    let world = TestEnvironment::begun();
    world.write(LOCK, "nightly-backup.sh\n");
    set_age(&world.path(LOCK), 600);
    check!(timeless(
        &world.run("thinking fail planning --code c --message m")
    ));
    assert!(!world.path(LOCK).exists());
}
