//! Protocol 1 is frozen: a dialogue recorded with its first version is played to the shim and to
//! the client of today.
//!
//! `<` is what the shim said, `>` what the client said, `>>` the raw bytes behind it, `~` what is
//! waited for.

use crate::support::{BOUND, World, environment, shim};
use bowline_supervisor::{
    Attempt, AttemptSpec, ObservedState, OutputStream, SendOutcome, ShimHandle, ShimRefusal,
    SupervisorError, WantedState,
};
use bowline_test_support::wait_until;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED: &str = include_str!("../recorded/protocol-1.0.txt");

/// What differs from run to run, and words for people.
const VOLATILE: [&str; 6] = ["attempt", "shim", "agent", "version", "message", "queued"];

#[derive(Debug)]
enum Turn {
    Shim(Value),
    Client(Value, Vec<u8>),
    Until(String, String),
}

fn turns() -> Vec<Turn> {
    let mut turns = Vec::new();
    for line in RECORDED.lines() {
        let (mark, rest) = line.split_once(' ').unwrap();
        match mark {
            "<" => turns.push(Turn::Shim(serde_json::from_str(rest).unwrap())),
            ">" => turns.push(Turn::Client(
                serde_json::from_str(rest).unwrap(),
                Vec::new(),
            )),
            ">>" => {
                let (count, text) = rest
                    .split_once('*')
                    .map_or((1, rest), |(count, text)| (count.parse().unwrap(), text));
                let text: String = serde_json::from_str(text).unwrap();
                match turns.last_mut() {
                    Some(Turn::Client(_, body)) => *body = text.repeat(count).into_bytes(),
                    other => panic!("bytes behind {other:?}"),
                }
            }
            "~" => {
                let (what, value) = rest.split_once(' ').unwrap();
                turns.push(Turn::Until(what.into(), value.into()));
            }
            other => panic!("{other}"),
        }
    }
    turns
}

/// Everything of `old` is in `new`; there may be more.
fn contains(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => old.iter().all(|(key, value)| {
            VOLATILE.contains(&key.as_str())
                || new.get(key).is_some_and(|found| contains(found, value))
                || value.is_null() && !new.contains_key(key)
        }),
        (Value::Array(new), Value::Array(old)) => old.iter().all(|one| new.contains(one)),
        (new, old) => new == old,
    }
}

struct Wire {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Wire {
    fn over(stream: UnixStream) -> Wire {
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Wire { stream, reader }
    }

    fn hear(&mut self) -> Value {
        self.hear_if_there().unwrap()
    }

    /// Nothing when the other side has left.
    fn hear_if_there(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    fn say(&mut self, value: &Value, body: &[u8]) {
        self.stream
            .write_all(format!("{value}\n").as_bytes())
            .unwrap();
        self.stream.write_all(body).unwrap();
    }
}

#[test]
fn an_old_client_is_understood_by_the_shim_of_today() {
    let world = World::with("read line; echo got $line; exec cat", |spec| {
        spec.fence = 3;
        spec.bounds.input_bytes = 100_000;
        spec.bounds.grace_ms = 5_000;
    });
    shim().start_shim(&world.attempt).unwrap();
    let mut wire = Wire::over(UnixStream::connect(world.attempt.folder().join("sock")).unwrap());
    let mut version = json!(0);
    let mut asked = Value::Null;
    for turn in turns() {
        match turn {
            Turn::Shim(old) => {
                let Some(mut new) = wire.hear_if_there() else {
                    // A shim that has left in this moment has said it all in `exit.json`.
                    let exit = serde_json::to_value(world.ended()).unwrap();
                    assert!(contains(&exit, &old["status"]["exit"]), "{exit}\n{old}");
                    return;
                };
                // A wait tells of every step on the way to what was recorded.
                while asked["do"].get("wait").is_some()
                    && new["status"]["state"] != old["status"]["state"]
                {
                    asked["do"]["wait"]["version"] = new["status"]["version"].clone();
                    let line = format!("{asked}\n");
                    let sent = wire.stream.write_all(line.as_bytes());
                    let heard = sent.ok().and_then(|()| wire.hear_if_there());
                    let Some(heard) = heard else {
                        let exit = serde_json::to_value(world.ended()).unwrap();
                        assert!(contains(&exit, &old["status"]["exit"]), "{exit}\n{old}");
                        return;
                    };
                    new = heard;
                }
                assert!(contains(&new, &old), "now {new}\nonce {old}");
                version = new["status"]["version"].clone();
            }
            Turn::Client(mut request, body) => {
                if let Some(wait) = request["do"].get_mut("wait")
                    && wait["version"] != 0
                {
                    wait["version"] = version.clone();
                }
                // A shim that has just left cannot hear it; what it said last is looked at with the
                // next turn.
                let line = format!("{request}\n");
                let heard = wire.stream.write_all(line.as_bytes());
                let _ = heard.and_then(|()| wire.stream.write_all(&body));
                asked = request;
            }
            Turn::Until(what, value) => {
                let there = wait_until(BOUND, || {
                    wire.say(&json!({"id": 999, "do": {"status": {}}}), &[]);
                    let status = wire.hear()["status"].clone();
                    let found = match what.as_str() {
                        "state" => status["state"].as_str().unwrap().to_owned(),
                        "out" => status["out"]["end"].to_string(),
                        other => panic!("{other}"),
                    };
                    found == value
                });
                assert!(there, "{what} {value}");
            }
        }
    }
}

#[test]
fn an_old_shim_is_understood_by_the_client_of_today() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("attempt");
    let attempt = Attempt::create(&at, AttemptSpec::new("recorded", vec![], "/".into())).unwrap();
    let listener = UnixListener::bind(at.join("sock")).unwrap();
    let old = std::thread::spawn(move || {
        let mut wire = Wire::over(listener.accept().unwrap().0);
        for turn in turns() {
            match turn {
                Turn::Shim(said) => wire.say(&said, &[]),
                Turn::Client(expected, body) => {
                    let heard = wire.hear();
                    // The client of today may say more, never less.
                    assert!(contains(&heard, &expected), "now {heard}\nonce {expected}");
                    let mut bytes = vec![0; body.len()];
                    wire.reader.read_exact(&mut bytes).unwrap();
                    assert!(bytes == body);
                }
                Turn::Until(..) => {}
            }
        }
    });
    let path = std::collections::BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    let why = |error: SupervisorError| match error {
        SupervisorError::Refused { why, .. } => why,
        other => panic!("{other}"),
    };
    // One connection, as recorded; the number a client has is its own.
    let mut handle = ShimHandle::attach(&attempt, 3).unwrap();
    assert_eq!(handle.last_status().state, ObservedState::Waiting);
    assert_eq!(handle.fetch_status().unwrap().state, ObservedState::Waiting);
    assert_eq!(
        why(handle.send_input(1, b"early\n", false).unwrap_err()),
        ShimRefusal::NotRunning
    );
    handle.set_fence(2);
    assert_eq!(
        why(handle.set_wanted_state(WantedState::Ended, 1).unwrap_err()),
        ShimRefusal::FencedOut
    );
    handle.set_fence(3);
    assert_eq!(
        handle.start_agent(&path).unwrap().state,
        ObservedState::Running
    );
    handle.start_agent(&Default::default()).unwrap();
    assert_eq!(
        handle.send_input(1, b"hello\n", false).unwrap(),
        SendOutcome::Accepted
    );
    assert_eq!(
        handle.send_input(1, b"hello\n", false).unwrap(),
        SendOutcome::Already
    );
    assert_eq!(
        why(handle.send_input(3, b"gap", false).unwrap_err()),
        ShimRefusal::InputGap
    );
    assert_eq!(
        handle
            .wait_for_change(0, 0, BOUND)
            .unwrap()
            .unwrap()
            .out
            .end,
        10
    );
    assert_eq!(handle.acknowledge_output(10, 0).unwrap().out.acked, 10);
    // It knows no interrupts, and is not asked.
    assert_eq!(
        why(handle.interrupt_agent(1).unwrap_err()),
        ShimRefusal::Unsupported
    );
    handle.set_fence(4);
    assert_eq!(
        handle
            .set_wanted_state(WantedState::Paused, 7)
            .unwrap()
            .state,
        ObservedState::Pausing
    );
    assert_eq!(handle.fetch_status().unwrap().state, ObservedState::Paused);
    handle.set_wanted_state(WantedState::Paused, 7).unwrap();
    assert_eq!(
        why(handle
            .set_wanted_state(WantedState::Running, 6)
            .unwrap_err()),
        ShimRefusal::StaleGeneration
    );
    assert_eq!(
        handle.send_input(2, &[b'x'; 70_000], false).unwrap(),
        SendOutcome::Accepted
    );
    assert_eq!(
        why(handle.send_input(3, &[b'y'; 99_999], false).unwrap_err()),
        ShimRefusal::InputFull
    );
    assert_eq!(
        handle.send_input(3, b"", true).unwrap(),
        SendOutcome::Accepted
    );
    assert_eq!(
        why(handle.send_input(4, b"late", false).unwrap_err()),
        ShimRefusal::InputClosed
    );
    assert_eq!(
        handle
            .set_wanted_state(WantedState::Ended, 8)
            .unwrap()
            .state,
        ObservedState::Ending
    );
    let status = handle
        .wait_for_change(1_000_000, 0, BOUND)
        .unwrap()
        .unwrap();
    let exit = status.exit.as_ref().unwrap();
    assert_eq!((exit.signal, exit.out), (Some(15), 10));
    assert_eq!(exit.unread.as_ref().unwrap().bytes, 70_000);
    old.join().unwrap();
}

#[test]
fn nonsense_is_answered_and_the_shim_goes_on() {
    let world = World::script("read line; echo fine");
    let mut handle = world.go();
    for nonsense in [
        "what?",
        "{\"id\":1}",
        "{\"id\":1,\"do\":{\"fly\":{}}}",
        "[]",
    ] {
        let mut wire =
            Wire::over(UnixStream::connect(world.attempt.folder().join("sock")).unwrap());
        wire.hear();
        wire.stream
            .write_all(format!("{nonsense}\n").as_bytes())
            .unwrap();
        assert_eq!(wire.hear()["no"]["code"], "bad_request");
        let mut rest = Vec::new();
        wire.reader.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty());
    }
    let mut wire = Wire::over(UnixStream::connect(world.attempt.folder().join("sock")).unwrap());
    wire.hear();
    let _ = wire.stream.write_all(&[b'x'; 100_000]);
    assert_eq!(wire.hear()["no"]["code"], "bad_request");
    handle.send_input(1, b"\n", false).unwrap();
    crate::support::until_state(&mut handle, ObservedState::Ended);
    assert_eq!(world.output(OutputStream::Out), "fine\n");
}

/// The binary is replaced while one shim waits for `go` and another has a running agent.
#[test]
fn an_upgrade_leaves_living_shims_alone() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("bowline-shim");
    let install = |content: &Path| {
        let new: PathBuf = place.path().join("new");
        // Not by this process: a child that another test starts meanwhile would hold the file open
        // for writing, and a program that somebody writes to cannot be run.
        Command::new("cp").arg(content).arg(&new).status().unwrap();
        Command::new("mv").arg(&new).arg(&program).status().unwrap();
    };
    install(Path::new(env!("CARGO_BIN_EXE_bowline-shim")));
    let old = bowline_supervisor::ShimProgram::new(&program, &[]);
    let running = World::script("read line; echo $line");
    old.start_shim(&running.attempt).unwrap();
    let mut first = running.attach();
    first.start_agent(&environment()).unwrap();
    let waiting = World::script("echo late");
    old.start_shim(&waiting.attempt).unwrap();

    // What runs cannot be written over; what is put in its place does not concern it.
    let over = std::fs::File::options().write(true).open(&program);
    let busy = Some(rustix::io::Errno::TXTBSY.raw_os_error());
    assert_eq!(over.unwrap_err().raw_os_error(), busy);
    install(Path::new("/bin/false"));
    drop(first);
    let mut again = running.attach();
    again.send_input(1, b"still here\n", false).unwrap();
    crate::support::until_state(&mut again, ObservedState::Ended);
    assert_eq!(running.output(OutputStream::Out), "still here\n");
    let mut late = waiting.attach();
    late.start_agent(&environment()).unwrap();
    crate::support::until_state(&mut late, ObservedState::Ended);
    assert_eq!(waiting.output(OutputStream::Out), "late\n");
}
