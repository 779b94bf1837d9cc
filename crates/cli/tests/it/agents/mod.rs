//! `run-agent` and `attach`: agents that outlive the command that started them.

mod shown;

use crate::environment::{TestEnvironment, text};
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(40);

/// A world in which no agent is left at the end.
struct World(TestEnvironment);

impl World {
    fn new() -> World {
        World(TestEnvironment::new())
    }

    fn attempts(&self) -> Vec<Value> {
        let list = self.0.json("attach --json", 0);
        list["attempts"].as_array().unwrap().clone()
    }

    /// The only attempt there is.
    fn only(&self) -> Value {
        let attempts = self.attempts();
        assert_eq!(attempts.len(), 1, "{attempts:?}");
        attempts[0].clone()
    }

    /// Runs a command line; ids, which differ from run to run, become `[ID]`.
    fn run(&self, line: &str) -> String {
        let mut text = self.0.run(line);
        for attempt in self.attempts() {
            text = text.replace(attempt["attempt"].as_str().unwrap(), "[ID]");
        }
        text
    }

    fn detached(&self, line: &str) -> String {
        let id = self.0.quietly(&format!("run-agent --detach {line}"), 0);
        text(&id.stdout).trim().to_owned()
    }

    /// Waits until so many bytes of the first attempt were shown.
    #[track_caller]
    fn until_shown(&self, bytes: u64) {
        let shown = || {
            let attempts = self.attempts();
            let first = attempts.first();
            first.is_some_and(|one| one["status"]["out"]["acked"] == bytes)
        };
        assert!(wait_until(BOUND, shown), "{:?}", self.attempts());
    }

    fn text(&self, line: &str) -> String {
        self.0.data(line, 0)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for attempt in self.attempts() {
            let id = attempt["attempt"].as_str().unwrap();
            let ended = self.0.bowline(&format!("attach {id} --end")).output();
            if !std::thread::panicking() {
                assert!(ended.unwrap().status.success());
            }
        }
    }
}

#[test]
fn output_and_exit_code_are_the_agents() {
    let world = World::new();
    check!(
        [
            world.run("run-agent -- sh -c 'echo to you; exit 3'"),
            world.run("run-agent --name talker -- sh -c 'echo aside >&2'"),
            world.run("run-agent -- sh -c 'kill -9 $$'"),
            world.run("run-agent --lang ko -- sh -c 'echo 안녕'"),
            world.run("run-agent -- cat"),
            world.run("attach"),
            world.run("attach --lang ko"),
        ]
        .join("\n")
    );
}

#[test]
fn what_cannot_be_run_is_told() {
    let world = World::new();
    check!(
        [
            world.run("run-agent"),
            world.run("run-agent -- no-such-program"),
            world.run("run-agent --lang ko -- no-such-program"),
            world.run("run-agent --json -- no-such-program"),
            world.run("run-agent --dir nowhere -- true"),
            world.run("run-agent --read /etc -- true"),
            world.run("attach zzz"),
            world.run("attach zzz --lang ko"),
            world.run("attach --pause"),
            world.run("attach x --pause --end"),
        ]
        .join("\n")
    );
}

#[test]
fn a_dry_run_starts_nothing() {
    let world = World::new();
    check!(
        [
            world.run("--dry-run run-agent -- touch made"),
            world.run("--dry-run run-agent --lang ko -- touch made"),
            world.run("--dry-run run-agent --json -- touch made"),
            world.run("attach"),
        ]
        .join("\n")
    );
    assert!(!world.0.path("made").exists());
}

#[test]
fn json_has_every_byte_with_its_place() {
    let world = World::new();
    let output = world
        .0
        .quietly("run-agent --json -- sh -c 'echo one; echo two'", 0);
    let events: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(names.first(), Some(&"started"));
    assert_eq!(names.last(), Some(&"ended"));
    let said = events.iter().filter(|event| event["event"] == "out");
    let mut text = String::new();
    for event in said {
        assert_eq!(event["offset"], text.len());
        text.push_str(event["text"].as_str().unwrap());
    }
    assert_eq!(text, "one\ntwo\n");
    assert_eq!(events.last().unwrap()["exit"]["code"], 0);
}

/// The command that shows an agent is killed; the agent goes on; the next one shows what the first had not.
#[test]
fn a_killed_command_leaves_the_agent_running() {
    let world = World::new();
    let script = "echo first; until test -e go; do sleep 0.02; done; echo second; exit 5";
    let mut first = world
        .0
        .bowline(&format!("run-agent -- sh -c '{script}'"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    world.until_shown(6);
    first.kill().unwrap();
    let output = first.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "first\n");
    assert_eq!(world.only()["state"], "running");
    world.0.write("go", "");
    let id = world.only()["attempt"].as_str().unwrap().to_owned();
    let again = world.0.data(&format!("attach {}", &id[..4]), 5);
    assert_eq!(again, "second\n");
    let all = world.0.data(&format!("attach {id} --from 0"), 5);
    assert_eq!(all, "first\nsecond\n");
}

#[test]
fn an_agent_is_paused_resumed_spoken_to_and_ended() {
    let world = World::new();
    let id = world.detached(
        "--open-input -- sh -c 'while read line; do echo got $line; done; exec sleep 1000'",
    );
    let state = || world.only()["state"].as_str().unwrap().to_owned();
    assert_eq!(state(), "running");
    assert!(
        world
            .text(&format!("attach {id} --pause"))
            .contains("paused")
    );
    assert_eq!(state(), "paused");
    world.text(&format!("attach {id} --send 'while paused'"));
    assert_eq!(world.only()["status"]["out"]["end"], 0);
    assert!(
        world
            .text(&format!("attach {id} --resume"))
            .contains("running")
    );
    let heard = wait_until(BOUND, || world.only()["status"]["out"]["end"] == 17);
    assert!(heard, "{:?}", world.only());
    world.text(&format!("attach {id} --close-input"));
    let late = world.0.talk(&format!("attach {id} --send late"), 1);
    assert!(late.contains("error[input_closed]"), "{late}");
    let ended = world.text(&format!("attach {id} --end"));
    assert!(ended.contains("ended (signal 15)"), "{ended}");
    let over = world.0.talk(&format!("attach {id} --pause"), 1);
    assert!(over.contains("error[agent_not_running]"), "{over}");
    let shown = world.0.data(&format!("attach {id}"), 128 + 15);
    assert_eq!(shown, "got while paused\n");
}

/// More than a shim talks to at once, each with the same number at first.
#[test]
fn many_messages_at_once_arrive_once_each() {
    let world = World::new();
    let id = world.detached("--open-input -- cat");
    let messages: Vec<String> = (100..180).map(|number| number.to_string()).collect();
    let senders: Vec<_> = messages
        .iter()
        .map(|message| {
            let mut sender = world.0.bowline(&format!("attach {id} --send {message}"));
            sender.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut sender in senders {
        assert!(sender.wait().unwrap().success());
    }
    world.text(&format!("attach {id} --close-input"));
    let mut heard: Vec<String> = world
        .text(&format!("attach {id}"))
        .lines()
        .map(str::to_owned)
        .collect();
    heard.sort();
    assert_eq!(heard, messages);
}

#[test]
fn a_lost_attempt_is_told_and_swept() {
    let world = World::new();
    let id = world.detached("-- sh -c '(setsid sleep 1000 &) ; echo said; exec sleep 1001'");
    let said = wait_until(BOUND, || world.only()["status"]["out"]["end"] == 5);
    assert!(said);
    let lock = world
        .0
        .root()
        .join("home/state/bowline/attempts")
        .join(&id)
        .join("lock");
    let owner: Value = serde_json::from_slice(&std::fs::read(lock).unwrap()).unwrap();
    let killed = Command::new("kill")
        .args(["-9", &owner["pid"].to_string()])
        .status();
    assert!(killed.unwrap().success());
    assert!(wait_until(BOUND, || world.only()["state"] == "lost"));
    let output = world.0.quietly(&format!("attach {id}"), 70);
    assert_eq!(text(&output.stdout), "said\n");
    let told = text(&output.stderr);
    assert!(
        told.contains("was lost") && !told.contains("; 0 of"),
        "{told}"
    );
}

#[test]
fn a_sandboxed_agent_stays_in_its_folder() {
    let world = World::new();
    let report = world.text("run-agent --sandbox-report --json");
    let report: Value = serde_json::from_str(&report).unwrap();
    let enforced = report["sandbox"].as_object().unwrap();
    assert_eq!(enforced.len(), 6);
    if enforced.values().any(|part| part == false) {
        skip_test(
            MissingRequirement::WholeSandbox,
            "this kernel enforces a part of the sandbox only",
        );
        return;
    }
    std::fs::write(world.0.root().join("home/token"), "secret").unwrap();
    let text = world.text(
        "run-agent --sandbox -- sh -c 'echo made > here; cat here; touch $TMPDIR/x && echo temporary; cat ../home/token || echo kept'",
    );
    assert_eq!(text, "made\ntemporary\nkept\n");
}

/// Only the large program is installed: it is its own shim.
#[test]
fn one_program_alone_will_do() {
    let world = World::new();
    let alone = world.0.root().join("bowline");
    std::fs::copy(env!("CARGO_BIN_EXE_bowline"), &alone).unwrap();
    let output = world
        .0
        .program(Path::new(&alone))
        .args(["run-agent", "--", "sh", "-c", "echo alone"])
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "alone\n");
}

#[test]
fn help() {
    let world = TestEnvironment::new();
    check!(world.session(&["run-agent --help", "attach --help"]));
}

/// Limits and control groups that cannot be had start nothing; what cannot be meant is reported.
#[test]
fn control_groups_are_asked_for_in_words() {
    let world = World::new();
    check!(
        [
            world.run("run-agent --cgroup off -- echo without"),
            world.run("run-agent --cgroup off --memory-max 1G -- true"),
            world.run("run-agent --cgroup sometimes -- true"),
            world.run("run-agent --memory-max much -- true"),
            world.run("run-agent --pids-max 0 -- true"),
            world.run("run-agent --cpu-max 0% -- true"),
        ]
        .join("\n")
    );
}

/// What the report says is what happens.
#[test]
fn a_control_group_is_made_or_its_absence_told() {
    let world = World::new();
    let report: Value =
        serde_json::from_str(&world.text("run-agent --sandbox-report --json")).unwrap();
    let report = &report["cgroup"];
    let can = |what: &str| report[what] == true;
    for (words, there) in [
        ("--cgroup require", can("freeze")),
        ("--memory-max 512M", can("memory")),
        ("--pids-max 100", can("processes")),
        ("--cpu-max 50%", can("cpu")),
    ] {
        let line = format!("run-agent {words} -- cat /proc/self/cgroup");
        let output = world.0.bowline(&line).output().unwrap();
        let said = text(&output.stdout);
        let told = text(&output.stderr);
        assert_eq!(output.status.success(), there, "{words}: {told}");
        assert_eq!(said.contains("/bowline-"), there, "{words}: {said}");
        if !there {
            assert!(told.contains("error[no_control_group]"), "{told}");
            assert!(told.contains(report["reason"].as_str().unwrap()), "{told}");
        }
    }
}

#[test]
fn an_agent_is_interrupted() {
    let world = World::new();
    let id = world.detached(
        "-- sh -c 'trap \"echo stopped; exit 6\" INT; echo ready; while :; do sleep 0.02; done'",
    );
    let ready = || {
        world
            .text(&format!("attach {id} --json --dry-run"))
            .contains("\"end\":6")
    };
    assert!(wait_until(BOUND, ready));
    world.text(&format!("attach {id} --interrupt"));
    let said = world
        .0
        .bowline(&format!("attach {id} --from 0"))
        .output()
        .unwrap();
    assert_eq!(text(&said.stdout), "ready\nstopped\n");
    assert_eq!(said.status.code(), Some(6));
    let again = world
        .0
        .bowline(&format!("attach {id} --interrupt"))
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1));
}

/// Whoever may write where attempts are kept could say of itself that it ended well.
#[test]
fn a_sandbox_does_not_hold_the_attempts() {
    let world = World::new();
    let home = world
        .0
        .bowline("status")
        .get_envs()
        .find_map(|(name, value)| {
            (name == "XDG_STATE_HOME").then(|| value.unwrap().to_str().unwrap().to_owned())
        });
    let home = home.unwrap();
    let output = |words: &str| {
        let line = format!("run-agent --sandbox{words} --write {home} -- echo ran");
        let output = world.0.bowline(&line).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (code, told) = output("");
    assert_eq!(code, Some(1));
    assert!(told.contains("error[state_in_sandbox]"), "{told}");
    assert_eq!(output("=best-effort").0, Some(0));
}

/// Two people watch the same agent: both see all of it.
#[test]
fn two_watchers_see_the_same() {
    let world = World::new();
    let id = world.detached("-- sh -c 'until test -e go; do sleep 0.02; done; seq 1 2000'");
    let watch = || {
        let mut command = world.0.bowline(&format!("attach {id} --from 0"));
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let both = [watch(), watch()];
    world.0.write("go", "");
    let wanted: String = (1..=2000).map(|number| format!("{number}\n")).collect();
    for one in both {
        let output = one.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(text(&output.stdout) == wanted);
    }
}

#[test]
fn an_environment_that_is_too_big_is_told() {
    let world = World::new();
    let mut command = world.0.bowline("run-agent -- true");
    for number in 0..12 {
        command.env(format!("BIG{number}"), "x".repeat(100_000));
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("error[bad_input]") && told.contains("env -u NAME"),
        "{told}"
    );
    assert!(world.attempts().is_empty());
}

/// A shim that cannot open a file cannot tell an agent from others, and says what is missing instead.
#[test]
fn a_shim_without_open_files_names_the_limit() {
    let mut short = 0;
    for limit in 10..=12 {
        let world = TestEnvironment::new();
        let script = format!("ulimit -n {limit}; exec \"$BOWLINE\" run-agent -- true");
        let mut limited = world.program("sh");
        limited.args(["-c", &script]);
        limited.env("BOWLINE", env!("CARGO_BIN_EXE_bowline"));
        let told = text(&limited.output().unwrap().stderr);
        assert!(told.contains("Too many open files"), "{limit}: {told}");
        assert!(!told.contains("its own shim"), "{limit}: {told}");
        short += usize::from(told.contains("error[shim_short_of_files]"));
    }
    assert!(short > 0, "no limit met the question who asks");
}
