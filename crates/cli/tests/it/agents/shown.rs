//! What was shown is not shown again, and what was not shown is not lost.

use super::{BOUND, World};
use bowline_test_support::wait_until;
use serde_json::Value;
use std::io::Read as _;
use std::process::{Command, Output, Stdio};

fn signal(process: &str, name: &str) {
    let sent = Command::new("kill").args([name, process]).status();
    assert!(sent.unwrap().success());
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

impl World {
    fn ended(&self, line: &str) -> String {
        let id = self.detached(line);
        let over = || {
            let all = self.attempts();
            all.iter()
                .any(|one| one["attempt"] == *id && one["state"] == "ended")
        };
        assert!(wait_until(BOUND, over), "{:?}", self.attempts());
        id
    }

    fn shim(&self, id: &str) -> String {
        let lock = std::fs::read(self.folder(id).join("lock")).unwrap();
        let owner: Value = serde_json::from_slice(&lock).unwrap();
        owner["pid"].to_string()
    }

    fn folder(&self, id: &str) -> std::path::PathBuf {
        let attempts = self.0.root().join("home/state/bowline/attempts");
        attempts.join(id)
    }

    fn output(&self, line: &str) -> Output {
        self.0.bowline(line).output().unwrap()
    }
}

fn events(output: Output) -> Vec<Value> {
    text(output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The signal comes in the middle of a block: the block is finished, acknowledged, and not shown again.
#[test]
fn a_watcher_that_is_asked_to_leave_finishes_what_it_shows() {
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let world = World::new();
        let id = world.detached(
            "-- sh -c 'head -c 200000 /dev/zero | tr \"\\0\" x; until test -e go; do sleep 0.02; done; echo end'",
        );
        assert!(wait_until(BOUND, || {
            world.only()["status"]["out"]["end"] == 200_000
        }));
        let mut watcher = world.0.bowline(&format!("attach {id}"));
        let mut watcher = watcher
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        let stdout = watcher.stdout.as_mut().unwrap();
        stdout.read_exact(&mut first).unwrap();
        signal(&watcher.id().to_string(), name);
        let output = watcher.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(output.stdout.len(), 199_999);
        let told = text(output.stderr);
        assert!(told.contains("the agent goes on"), "{told}");
        assert_eq!(world.only()["status"]["out"]["acked"], 200_000);
        world.0.write("go", "");
        assert_eq!(world.text(&format!("attach {id}")), "end\n");
    }
}

/// A signal that was set aside for the program, as by `nohup`, has no effect on a watcher.
#[test]
fn an_ignored_signal_stays_ignored() {
    let world = World::new();
    let id = world.detached("-- sh -c 'echo on; until test -e go; do sleep 0.02; done'");
    let mut command = by_shell(
        &world,
        "trap '' HUP; exec \"$0\" \"$@\"",
        &format!("attach {id}"),
    );
    let mut watcher = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 3];
    watcher
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    signal(&watcher.id().to_string(), "-HUP");
    world.0.write("go", "");
    assert_eq!(watcher.wait().unwrap().code(), Some(0));
}

#[test]
fn output_of_an_ended_attempt_is_shown_once() {
    let world = World::new();
    let id = world.ended("-- sh -c 'echo hi; echo aside >&2'");
    assert_eq!(world.only()["unshown"], true);
    assert!(world.text("attach").contains("ended (0), output not shown"));
    let first = world.output(&format!("attach {id}"));
    assert_eq!(
        (text(first.stdout), text(first.stderr)),
        ("hi\n".into(), "aside\n".into())
    );
    assert_eq!(world.only()["unshown"], false);
    let again = world.output(&format!("attach {id}"));
    assert_eq!(
        (text(again.stdout), text(again.stderr)),
        (String::new(), String::new())
    );
    assert_eq!(world.text(&format!("attach {id} --from 0")), "hi\n");
    // Also what a watcher showed that saw the end.
    world.text("run-agent -- echo straight");
    assert!(world.attempts().iter().all(|one| one["unshown"] == false));
}

/// What a reader went away from is not shown, and the hint does not promise that something goes on.
#[test]
fn a_reader_that_goes_away_has_not_seen_the_rest() {
    let world = World::new();
    let id = world.ended("-- sh -c 'head -c 1000000 /dev/zero | tr \"\\0\" x'");
    let mut watcher = world.0.bowline(&format!("attach {id}"));
    let mut watcher = watcher
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    watcher
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    let output = watcher.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    let told = text(output.stderr);
    assert!(told.contains("the agent has ended"), "{told}");
    assert_eq!(world.text(&format!("attach {id}")).len(), 1_000_000);
}

#[test]
fn a_closed_output_is_an_error_and_acknowledges_nothing() {
    let world = World::new();
    let id = world.ended("-- echo hi");
    let closed = closed(&world, &format!("attach {id}"));
    assert_eq!(closed.status.code(), Some(70));
    let told = text(closed.stderr);
    assert!(told.contains("standard output is closed"), "{told}");
    assert_eq!(world.text(&format!("attach {id}")), "hi\n");
}

#[test]
fn run_agent_with_a_closed_output_starts_nothing() {
    let world = World::new();
    let closed = closed(&world, "run-agent -- sh -c 'echo hi > made'");
    assert_eq!(closed.status.code(), Some(70));
    let told = text(closed.stderr);
    assert!(told.contains("standard output is closed"), "{told}");
    assert!(world.attempts().is_empty());
    assert!(!world.0.path("made").exists());
}

/// A command line whose standard output is closed.
fn closed(world: &World, line: &str) -> std::process::Output {
    let mut command = by_shell(world, "exec \"$0\" \"$@\" >&-", line);
    command.output().unwrap()
}

/// A command line that a script is given as its arguments.
fn by_shell(world: &World, script: &str, line: &str) -> Command {
    let template = world.0.bowline(line);
    let variables = template.get_envs();
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .arg(template.get_program())
        .args(template.get_args())
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        .current_dir(template.get_current_dir().unwrap());
    command
}

/// Attempts that ended go when there are many; those whose output nobody saw stay much longer.
#[test]
fn attempts_with_unshown_output_are_kept() {
    let world = World::new();
    let id = world.ended("-- echo precious");
    let read = |name: &str| std::fs::read_to_string(world.folder(&id).join(name)).unwrap();
    let (spec, exit) = (read("spec.json"), read("exit.json"));
    for number in 0..60 {
        for (kind, acked) in [("seen", 9), ("kept", 0)] {
            let other = format!("{kind}{number}");
            std::fs::create_dir(world.folder(&other)).unwrap();
            let put = |name: &str, text: &str| {
                let text = text.replace(&id, &other);
                std::fs::write(world.folder(&other).join(name), text).unwrap();
            };
            put("spec.json", &spec);
            let mut exit: Value = serde_json::from_str(&exit).unwrap();
            exit["out_acked"] = acked.into();
            put("exit.json", &exit.to_string());
        }
    }
    world.text("run-agent -- true");
    let count = |kind: &str| {
        let all = world.attempts();
        let named = |one: &&Value| one["attempt"].as_str().unwrap().starts_with(kind);
        all.iter().filter(named).count()
    };
    assert_eq!((count("seen"), count("kept")), (50, 60));
    let told = text(world.output("attach").stderr);
    assert!(
        told.contains("61 ended attempts have output that was not shown"),
        "{told}"
    );
    for number in 0..60 {
        std::fs::remove_dir_all(world.folder(&format!("kept{number}"))).unwrap();
        let _ = std::fs::remove_dir_all(world.folder(&format!("seen{number}")));
    }
}

/// Letters are not torn between two events, and what is no letter can be restored.
#[test]
fn json_keeps_letters_whole_and_bytes_exact() {
    let world = World::new();
    let id = world
        .ended("-- sh -c 'yes 가 | tr -d \"\\n\" | head -c 600000; printf \"\\\\377\\\\352\"'");
    let events = events(world.output(&format!("attach {id} --json")));
    let said: Vec<&Value> = events.iter().filter(|one| one["event"] == "out").collect();
    assert!(said.len() > 2, "{}", said.len());
    let mut at = 0;
    for (number, event) in said.iter().enumerate() {
        assert_eq!(event["offset"], at);
        at += event["bytes"].as_u64().unwrap();
        let whole = !event["text"].as_str().unwrap().contains('\u{fffd}');
        assert_eq!(event.get("base64").is_none(), whole, "event {number}");
        assert!(whole || number >= 2, "event {number}");
    }
    assert_eq!(at, 600_002);
    let last = said.last().unwrap();
    // The beginning of a letter that never came.
    assert_eq!(
        (&last["base64"], &last["bytes"]),
        (&"6g==".into(), &1.into())
    );
}

#[test]
fn output_that_was_given_back_is_told() {
    let world = World::new();
    let id = world.detached(
        "-- sh -c 'head -c 80000000 /dev/zero | tr \"\\0\" x; until test -e go; do sleep 0.02; done'",
    );
    let mut watcher = world.0.bowline(&format!("attach {id}"));
    let mut watcher = watcher.stdout(Stdio::null()).spawn().unwrap();
    assert!(wait_until(BOUND, || {
        world.only()["status"]["out"]["acked"] == 80_000_000
    }));
    world.0.write("go", "");
    watcher.wait().unwrap();
    let output = world.output(&format!("attach {id} --from 0"));
    let told = text(output.stderr);
    let gone = 80_000_000 - output.stdout.len();
    let wanted = format!("bytes 0 to {gone} are gone: they had been shown");
    assert!(gone > 0 && told.contains(&wanted), "{told}");
}

/// One shim that is stopped does not hold the others up, and it is said what to do.
#[test]
fn a_silent_shim_is_listed_as_such() {
    let world = World::new();
    let silent = world.detached("-- sleep 1000");
    let other = world.detached("-- sleep 1001");
    let shim = world.shim(&silent);
    signal(&shim, "-STOP");
    let begun = std::time::Instant::now();
    let list = world.text("attach");
    let took = begun.elapsed();
    let json = world.attempts();
    signal(&shim, "-CONT");
    assert!(took.as_secs() < 8, "{took:?}");
    let wanted = format!("{silent}  no answer (its shim is stopped: 'kill -CONT {shim}')");
    assert!(list.contains(&wanted), "{list}");
    assert!(list.contains(&format!("{other}  running")), "{list}");
    assert_eq!(json[0]["state"], "no_answer");
}

#[test]
fn an_attempt_that_cannot_be_read_is_listed() {
    let world = World::new();
    let id = world.ended("-- true");
    let spec = world.folder(&id).join("spec.json");
    let whole = std::fs::read(&spec).unwrap();
    std::fs::write(&spec, "{").unwrap();
    let list = world.text("attach");
    assert!(list.contains(&format!("{id}  cannot be read: ")), "{list}");
    let json: Value = serde_json::from_str(&world.text("attach --json")).unwrap();
    assert_eq!(json["unreadable"].as_array().unwrap().len(), 1);
    std::fs::write(&spec, whole).unwrap();
}

#[test]
fn a_dry_run_says_what_would_be_done() {
    let world = World::new();
    let id = world.detached("--name 'a\u{1b}[2Jb' -- sleep 1000");
    for (words, wanted) in [
        ("--end", "would end it"),
        ("--pause", "would pause it"),
        ("--send x", "would send a line to it"),
        ("", "would show its output"),
    ] {
        let said = world.text(&format!("attach {id} {words} --dry-run"));
        assert!(
            said.starts_with("(dry run) ") && said.contains(wanted),
            "{said}"
        );
        assert!(said.contains("a\\u{1b}[2Jb"), "{said}");
    }
    let said: Value =
        serde_json::from_str(&world.text(&format!("attach {id} --end --dry-run --json"))).unwrap();
    assert_eq!(
        (&said["dryRun"], &said["would"]),
        (&true.into(), &"end".into())
    );
    assert_eq!(world.only()["state"], "running");
}

#[test]
fn what_cannot_be_done_says_what_can() {
    let world = World::new();
    let id = world.detached("-- sleep 1000");
    for words in ["--close-input", "--send late"] {
        let output = world.output(&format!("attach {id} {words}"));
        assert_eq!(output.status.code(), Some(1));
        let told = text(output.stderr);
        assert!(
            told.contains("error[input_closed]") && told.contains("--open-input"),
            "{told}"
        );
    }
    let output = world.output("run-agent --sandbox --read /no/such/place -- true");
    assert_eq!(output.status.code(), Some(2));
    let told = text(output.stderr);
    assert!(told.contains("/no/such/place is not there"), "{told}");
}

/// An agent that asks for its own shim is refused at once.
#[test]
fn an_agent_is_refused_at_once() {
    let world = World::new();
    let bowline = env!("CARGO_BIN_EXE_bowline");
    let script = format!(
        "{bowline} attach $BOWLINE_ATTEMPT --pause 2>&1; {bowline} attach $BOWLINE_ATTEMPT 2>&1"
    );
    let said = world.output(&format!("run-agent -- sh -c '{script}'"));
    let said = text(said.stdout);
    assert_eq!(said.matches("error[agent_peer]").count(), 2, "{said}");
    assert!(said.contains("ask the person you work for"), "{said}");
}

/// An agent that cannot write because nobody looks does not just run.
#[test]
fn a_blocked_agent_is_listed_as_such() {
    let world = World::new();
    world.detached("-- head -c 300000000 /dev/zero");
    assert!(wait_until(BOUND, || {
        world.only()["status"]["blocked"] == "unacknowledged"
    }));
    let list = world.text("attach");
    assert!(
        list.contains("running, blocked: too much output was not shown"),
        "{list}"
    );
}

/// A shim that is stopped while its agent is watched is reported, with what to do, and the watcher does not wait for ever.
#[test]
fn a_shim_that_falls_silent_is_told() {
    let world = World::new();
    let watcher = world
        .0
        .bowline("run-agent -- sh -c 'echo ready; exec sleep 1000'")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    world.until_shown(6);
    let id = world.only()["attempt"].as_str().unwrap().to_owned();
    let shim = world.shim(&id);
    signal(&shim, "-STOP");
    let output = watcher.wait_with_output();
    signal(&shim, "-CONT");
    let told = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(told.contains("error[shim_unreachable]"), "{told}");
    assert!(told.contains(&format!("kill -CONT {shim}")), "{told}");
}

/// Patience ends after half a minute, which this takes: the agent may ask for a longer grace.
#[test]
fn an_order_that_is_not_carried_out_in_time_says_not_yet() {
    use bowline_engine::supervisor::{Attempt, AttemptSpec, ShimHandle, ShimProgram};
    let world = World::new();
    let id = "deaf";
    let folder = world.0.root().join("home/state/bowline/attempts").join(id);
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    let script = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let mut spec = AttemptSpec::new(id, command, world.0.path(""));
    spec.bounds.grace_ms = 45_000;
    let attempt = Attempt::create(&folder, spec).unwrap();
    let shim = std::path::Path::new(env!("CARGO_BIN_EXE_bowline")).with_file_name("bowline-shim");
    ShimProgram::new(&shim, &[]).start_shim(&attempt).unwrap();
    let mut handle = ShimHandle::attach(&attempt, 1).unwrap();
    let path = std::env::var("PATH").unwrap();
    handle
        .start_agent(&[("PATH".to_owned(), path)].into())
        .unwrap();
    drop(handle);
    assert!(wait_until(BOUND, || folder
        .join("log")
        .metadata()
        .is_ok_and(|it| it.len() > 0)));
    let late = world
        .0
        .bowline(&format!("attach {id} --end --json"))
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&late.stdout).unwrap();
    assert_eq!(told["error"]["code"], "not_yet", "{told}");
    assert_ne!(late.status.code(), Some(0));
}
