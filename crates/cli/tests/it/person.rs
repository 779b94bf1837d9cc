//! Who is a person: real processes, and no shell kept alive behind the command.

use crate::environment::TestEnvironment;
use bowline_engine::actor::ACTOR_VARIABLE;
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const BOWLINE: &str = env!("CARGO_BIN_EXE_bowline");
/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(20);

/// A program in a world where nothing is said about who runs it.
fn unsaid(world: &TestEnvironment, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = world.program(program);
    command.env_remove(ACTOR_VARIABLE);
    command
}

/// A command line that runs `bowline` with nothing but what it needs, as the attack does.
fn bare(world: &TestEnvironment, line: &str) -> String {
    let home = world.root().join("home");
    format!(
        "env -i HOME={home} PATH=\"$PATH\" XDG_STATE_HOME={home}/state {BOWLINE} {line}",
        home = home.display()
    )
}

/// A copy of the shell under another name, made by another process: while one of our threads starts a program, a file that
/// we have written is busy.
fn called(world: &TestEnvironment, name: &str) -> PathBuf {
    let path = world.root().join(name);
    let copied = Command::new("cp")
        .args(["-L", "/bin/sh"])
        .arg(&path)
        .status();
    assert!(copied.unwrap().success());
    path
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).replace('\r', "")
}

fn refused(output: &Output, code: &str) {
    let told = text(output);
    assert!(told.contains(&format!("error[{code}]")), "{code}: {told}");
    assert_ne!(output.status.code(), Some(0), "{told}");
}

/// Runs a script below a client: a process that has asked the hook once, and then becomes what the script says.
fn below_a_client(world: &TestEnvironment, name: &str, script: &str) -> Output {
    let client = called(world, name);
    let message = json!({"hook_event_name": "SessionStart", "cwd": world.path("")}).to_string();
    let whole = format!("printf '%s' '{message}' | {BOWLINE} hook > noise 2>&1\n{script}");
    let mut command = unsaid(world, client);
    command.args(["-c", &whole]).stdin(Stdio::null());
    command.output().unwrap()
}

/// A command on a terminal of its own; nothing, with a word, where no terminal can be made.
fn on_a_terminal(world: &TestEnvironment, command: &str) -> Option<Output> {
    let mut script = unsaid(world, "script");
    script
        .args(["-qec", command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match script.spawn() {
        Ok(child) => Some(child.wait_with_output().unwrap()),
        Err(_) => {
            skip_test(
                MissingRequirement::Program,
                "there is no 'script' to make a terminal with",
            );
            None
        }
    }
}

/// The moves of a person, each where it would work.
const PERSONS: [&str; 8] = [
    "undo develop",
    "restore develop 1",
    "develop reset",
    "develop seal",
    "develop back DESIGN",
    "develop start again --fresh",
    "develop gate pass review_clean_pass --by-hand ok",
    "init --uninstall",
];

#[test]
fn whoever_has_no_terminal_is_told_how_to_show_a_person() {
    let world = TestEnvironment::reviewed();
    let before = world.everything();
    for line in PERSONS {
        let mut command = unsaid(&world, BOWLINE);
        let output = command.args(line.split(' ')).output().unwrap();
        refused(&output, "person_not_shown");
        assert!(text(&output).contains("BOWLINE_ACTOR=person"), "{line}");
    }
    assert_eq!(world.everything(), before);
    // What is nobody's alone works for everybody.
    let output = unsaid(&world, BOWLINE).args(["develop", "status"]).output();
    assert!(output.unwrap().status.success());
    // Another value says nothing.
    let mut command = unsaid(&world, BOWLINE);
    command.args(["develop", "reset"]).env(ACTOR_VARIABLE, "me");
    refused(&command.output().unwrap(), "person_not_shown");
}

#[test]
fn a_person_at_a_terminal_is_believed() {
    let world = TestEnvironment::reviewed();
    for line in ["develop back DESIGN", "develop reset", "undo develop"] {
        let Some(output) = on_a_terminal(&world, &format!("{BOWLINE} {line}")) else {
            return;
        };
        assert!(output.status.success(), "{line}: {}", text(&output));
    }
    // The same through a shell that stays, as in a person's script.
    let output = on_a_terminal(&world, &format!("sh -c '{BOWLINE} develop reset; exit $?'"));
    assert!(output.is_some_and(|output| output.status.success()));
}

#[test]
fn an_agents_variables_count_at_a_terminal_too() {
    let world = TestEnvironment::reviewed().with("CLAUDECODE", "1");
    let Some(output) = on_a_terminal(&world, &bare(&world, "develop reset")) else {
        return;
    };
    refused(&output, "needs_person");
}

/// The attack of the issue: nothing in the environment, and no shell above the command, only the client.
#[test]
fn whoever_descends_from_a_noted_client_is_the_agent() {
    let world = TestEnvironment::reviewed();
    let before = world.everything();
    for line in PERSONS {
        let attack = bare(&world, line);
        for script in [
            // The shell becomes the command: its parent is the client's, which is this test's stand-in.
            format!("{attack}; exit $?"),
            format!("({attack}); exit $?"),
            format!("setsid -w {attack}; exit $?"),
            attack.replacen("env -i", "env -i BOWLINE_ACTOR=person", 1) + "; exit $?",
        ] {
            let output = below_a_client(&world, "some-client", &script);
            refused(&output, "needs_person");
        }
    }
    std::fs::remove_file(world.path("noise")).unwrap();
    assert_eq!(world.everything(), before);
}

/// The client's process runs the command itself: there is nobody between.
#[test]
fn what_a_client_becomes_is_refused_too() {
    let world = TestEnvironment::reviewed();
    let script = format!("exec {}", bare(&world, "develop reset"));
    let output = below_a_client(&world, "some-client", &script);
    refused(&output, "needs_person");
}

#[test]
fn another_place_for_state_does_not_lead_past_the_note() {
    let world = TestEnvironment::reviewed();
    let elsewhere = world.root().join("elsewhere");
    let script = format!(
        "env -i HOME={} BOWLINE_ACTOR=person {BOWLINE} init --uninstall; exit $?",
        elsewhere.display()
    );
    refused(
        &below_a_client(&world, "some-client", &script),
        "needs_person",
    );
}

#[test]
fn a_terminal_that_an_agent_makes_is_the_agents() {
    let world = TestEnvironment::reviewed();
    let script = format!(
        "script -qec '{}' /dev/null; exit $?",
        bare(&world, "develop reset")
    );
    refused(
        &below_a_client(&world, "some-client", &script),
        "needs_person",
    );
}

/// Nobody asked a hook here.
#[test]
fn a_clients_program_is_known_by_its_name() {
    let world = TestEnvironment::reviewed();
    for name in ["claude", "codex", "gemini", "opencode"] {
        let client = called(&world, name);
        let script = format!("{}; exit $?", bare(&world, "develop reset"));
        let output = unsaid(&world, client)
            .args(["-c", &script])
            .output()
            .unwrap();
        refused(&output, "needs_person");
    }
    // A version as the name, in the folder of the client.
    std::fs::create_dir_all(world.root().join("native/claude/versions")).unwrap();
    let client = called(&world, "native/claude/versions/2.1.325");
    let script = format!("{}; exit $?", bare(&world, "develop reset"));
    let output = unsaid(&world, client)
        .args(["-c", &script])
        .output()
        .unwrap();
    refused(&output, "needs_person");
}

/// Cut off from the client by a parent that ends, in a session of its own or in the client's: not shown, and so refused.
#[test]
fn whoever_was_cut_off_is_no_person() {
    let world = TestEnvironment::reviewed();
    let told = world.root().join("told");
    for start in ["", "setsid ", "nohup "] {
        let attack = bare(&world, "develop reset");
        let script = format!(
            "({start}sh -c '{attack}; echo ended' > {} 2>&1 &)",
            told.display()
        );
        below_a_client(&world, "some-client", &script);
        let said = || std::fs::read_to_string(&told).unwrap_or_default();
        assert!(wait_until(BOUND, || said().contains("ended")), "{}", said());
        // While its parent still ends it may be seen below the client; it is refused either way.
        let said = said();
        assert!(
            said.contains("error[person_not_shown]") || said.contains("error[needs_person]"),
            "{start}: {said}"
        );
        std::fs::remove_file(&told).unwrap();
    }
}

/// In the background of a shell that has ended, the terminal is still there: its leader is gone.
#[test]
fn what_is_left_at_a_terminal_is_no_person() {
    let world = TestEnvironment::reviewed();
    let told = world.root().join("told");
    let go = world.root().join("go");
    // The subshell in between ends at once; the command waits for that, and the terminal stays until it has spoken.
    let command = format!(
        "(sh -c 'until [ -e {go} ]; do sleep 0.01; done; {BOWLINE} develop reset; echo ended' > {told} 2>&1 &); \
         : > {go}; until grep -q ended {told}; do sleep 0.01; done",
        go = go.display(),
        told = told.display(),
    );
    if on_a_terminal(&world, &command).is_none() {
        return;
    }
    let said = std::fs::read_to_string(&told).unwrap();
    assert!(said.contains("error[person_not_shown]"), "{said}");
    assert!(said.contains("cut off from its terminal's shell"), "{said}");
}

/// A person who tries the hook out by hand does not make an agent of their own shell.
#[test]
fn a_hook_that_is_typed_notes_no_shell_of_a_person() {
    let world = TestEnvironment::reviewed();
    let command =
        format!("sh -c 'echo \"{{}}\" | {BOWLINE} hook stop; {BOWLINE} develop reset; exit $?'");
    let Some(output) = on_a_terminal(&world, &command) else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output));
    let notes = world.root().join("home/state/bowline/clients");
    assert!(!notes.exists(), "{notes:?}");
}

/// The note is one empty file per client, however often its hook is asked.
#[test]
fn a_client_is_noted_once_and_forgotten_when_it_is_gone() {
    let world = TestEnvironment::reviewed();
    let notes = world.root().join("home/state/bowline/clients");
    let asks = format!("echo '{{}}' | {BOWLINE} hook stop\n").repeat(3);
    for _ in 0..2 {
        let script = format!("{asks} ls {} | wc -l", notes.display());
        let output = below_a_client(&world, "some-client", &script);
        assert_eq!(text(&output).trim(), "1");
    }
    // Asked by many processes at once.
    let client = called(&world, "other-client");
    let mut child = unsaid(&world, client)
        .args([
            "-c",
            &format!(
                "for i in 1 2 3 4 5 6 7 8; do {BOWLINE} hook stop < /dev/null & done; wait; read x"
            ),
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let name = format!("{}-", child.id());
    let there = || {
        let entries = std::fs::read_dir(&notes).into_iter().flatten().flatten();
        entries
            .filter(|one| one.file_name().to_string_lossy().starts_with(&name))
            .count()
            == 1
    };
    assert!(wait_until(BOUND, there));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child.wait().unwrap();
}
