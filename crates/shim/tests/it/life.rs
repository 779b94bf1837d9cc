//! The ordinary life of an attempt.

use crate::actors::acting;
use crate::support::{BOUND, World, environment, shim, until, until_state};
use bowline_supervisor::{
    AttemptCondition, ObservedState, OutputStream, SendOutcome, ShimEvent, ShimHandle, ShimProgram,
    ShimRefusal, ShimSession, ShimStarter, SupervisorError, WantedState,
};
use bowline_test_support::wait_until;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

#[test]
fn an_agent_runs_says_something_and_ends() {
    let world = World::script("echo out; echo err >&2; exit 3");
    assert_eq!(
        world.attempt.condition().unwrap(),
        AttemptCondition::Intended
    );
    let status = world.run();
    let exit = world.ended();
    assert_eq!(status.exit.as_ref(), Some(&exit));
    assert_eq!((exit.code, exit.signal), (Some(3), None));
    assert!(exit.started && exit.complete && !exit.asked, "{exit:?}");
    assert_eq!((exit.out, exit.err), (4, 4));
    assert_eq!(world.output(OutputStream::Out), "out\n");
    assert_eq!(world.output(OutputStream::Err), "err\n");
}

#[test]
fn nothing_runs_without_go_and_the_shim_leaves() {
    let world = World::with("echo never", |spec| spec.bounds.go_ms = 50);
    shim().start_shim(&world.attempt).unwrap();
    let left = wait_until(BOUND, || {
        world.attempt.condition().unwrap() == AttemptCondition::Intended
    });
    assert!(left);
    // Nothing was begun: the attempt can still be made. On a busy machine a shim may leave again
    // before it is told.
    let begun = wait_until(BOUND, || {
        let handle = shim().start_shim(&world.attempt);
        let handle = handle.and_then(|()| ShimHandle::attach(&world.attempt, 1));
        handle.is_ok_and(|mut handle| handle.start_agent(&environment()).is_ok())
    });
    assert!(begun);
    world.ended();
    assert_eq!(world.output(OutputStream::Out), "never\n");
}

#[test]
fn a_second_shim_and_a_second_go_start_nothing() {
    let world = World::script("echo once; read line; echo $line");
    let mut handle = world.go();
    assert!(matches!(
        shim().start_shim(&world.attempt),
        Err(SupervisorError::NotStarted { .. })
    ));
    handle.start_agent(&environment()).unwrap();
    world.attach().start_agent(&environment()).unwrap();
    assert_eq!(
        handle.send_input(1, b"done\n", false).unwrap(),
        SendOutcome::Accepted
    );
    until_state(&mut handle, ObservedState::Ended);
    assert_eq!(world.output(OutputStream::Out), "once\ndone\n");
    assert!(matches!(
        shim().start_shim(&world.attempt),
        Err(SupervisorError::NotStarted { .. })
    ));
    assert_eq!(world.output(OutputStream::Out), "once\ndone\n");
}

#[test]
fn one_process_starts_many_leaves_them_behind_and_buries_them() {
    let mut starter = ShimStarter::new(shim());
    let worlds = [(); 3].map(|()| World::script("read line; echo $line"));
    for world in &worlds {
        starter.start_shim(&world.attempt).unwrap();
        world.attach().start_agent(&environment()).unwrap();
    }
    let again = starter
        .start_shim(&worlds[0].attempt)
        .unwrap_err()
        .to_string();
    assert!(again.contains("another shim owns the attempt"), "{again}");
    // One that ends while its starter lives leaves no dead process to it.
    let lock = std::fs::read(worlds[0].attempt.folder().join("lock")).unwrap();
    let owner: serde_json::Value = serde_json::from_slice(&lock).unwrap();
    worlds[0].attach().send_input(1, b"one\n", false).unwrap();
    worlds[0].ended();
    let gone = || !std::path::Path::new(&format!("/proc/{}", owner["pid"])).exists();
    assert!(wait_until(BOUND, gone));
    drop(starter);
    for world in &worlds[1..] {
        assert_eq!(world.attempt.condition().unwrap(), AttemptCondition::Alive);
        world.attach().send_input(1, b"two\n", false).unwrap();
        world.ended();
        assert_eq!(world.output(OutputStream::Out), "two\n");
    }
}

/// A server that goes on while an older program was put in place of its own.
#[test]
fn a_program_that_starts_one_at_a_time_is_asked_so() {
    let world = World::script("echo done");
    let older = world.attempt.folder().with_file_name("older");
    let program = env!("CARGO_BIN_EXE_bowline-shim");
    let script = format!("#!/bin/sh\n[ \"$1\" = starter ] && exit 64\nexec {program} \"$@\"\n");
    std::fs::write(&older, script).unwrap();
    std::fs::set_permissions(&older, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut starter = ShimStarter::new(ShimProgram::new(&older, &[]));
    starter.start_shim(&world.attempt).unwrap();
    world.attach().start_agent(&environment()).unwrap();
    world.ended();
    assert_eq!(world.output(OutputStream::Out), "done\n");
}

#[test]
fn whoever_has_an_older_fencing_number_is_refused() {
    let world = World::with("read line", |spec| spec.fence = 5);
    shim().start_shim(&world.attempt).unwrap();
    let mut old = ShimHandle::attach(&world.attempt, 4).unwrap();
    let mut new = ShimHandle::attach(&world.attempt, 7).unwrap();
    let refused = |error: SupervisorError| match error {
        SupervisorError::Refused { why, .. } => why,
        other => panic!("{other}"),
    };
    assert_eq!(
        refused(old.start_agent(&environment()).unwrap_err()),
        ShimRefusal::FencedOut
    );
    new.start_agent(&environment()).unwrap();
    let mut between = ShimHandle::attach(&world.attempt, 6).unwrap();
    assert_eq!(
        refused(between.set_wanted_state(WantedState::Ended, 1).unwrap_err()),
        ShimRefusal::FencedOut
    );
    assert_eq!(
        refused(between.send_input(1, b"x\n", false).unwrap_err()),
        ShimRefusal::FencedOut
    );
    assert_eq!(
        refused(between.acknowledge_output(0, 0).unwrap_err()),
        ShimRefusal::FencedOut
    );
    assert_eq!(between.fetch_status().unwrap().fence, 7);
}

#[test]
fn the_environment_is_what_was_given_and_the_mark() {
    let world = World::script("env | sort");
    let mut handle = world.go_with([("SECRET", "a b\nc".to_owned())]);
    until_state(&mut handle, ObservedState::Ended);
    let text = world.output(OutputStream::Out);
    assert!(text.contains("SECRET=a b\nc\n"), "{text}");
    assert!(text.contains(&format!("BOWLINE_ATTEMPT={}\n", world.attempt.id())));
    assert!(!text.contains("CARGO"), "{text}");
    // Not on the disk.
    for entry in std::fs::read_dir(world.attempt.folder()).unwrap().flatten() {
        if entry.file_name() != "log" {
            // The socket is no file to be read.
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains("SECRET"));
        }
    }
}

#[test]
fn a_command_that_cannot_be_run_is_told() {
    let world = World::with("", |spec| spec.command = vec!["no-such-program".into()]);
    world.run();
    let exit = world.ended();
    assert!(!exit.started);
    let told = exit.start_error.unwrap();
    assert!(told.contains("no-such-program"), "{told}");

    let world = World::with("true", |spec| spec.folder = "/no/such/folder".into());
    world.run();
    let told = world.ended().start_error.unwrap();
    assert!(told.contains("/no/such/folder"), "{told}");
}

#[test]
fn a_folder_with_a_very_long_path_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut at = folder.path().to_owned();
    for _ in 0..4 {
        at.push("x".repeat(100));
    }
    let world = World::at(folder, &at.join("attempt"), "echo deep", |_| {});
    world.run();
    assert_eq!(world.output(OutputStream::Out), "deep\n");
}

#[test]
fn the_agent_cannot_talk_to_its_own_shim() {
    let world = World::with("", |spec| spec.command = acting("ask_the_shim"));
    let mut handle = world.go_knowing();
    until_state(&mut handle, ObservedState::Ended);
    let text = world.output(OutputStream::Out);
    assert!(text.contains("agent_peer"), "{text}");
}

#[test]
fn several_clients_see_the_same() {
    let world = World::script("read line; echo $line; read line");
    let mut one = world.go();
    let mut other = world.attach();
    one.send_input(1, b"hello\n", false).unwrap();
    until(&mut other, |status| status.out.end == 6);
    assert_eq!(
        other.send_input(1, b"hello\n", false).unwrap(),
        SendOutcome::Already
    );
    other.send_input(2, b"end\n", false).unwrap();
    until_state(&mut one, ObservedState::Ended);
    until_state(&mut other, ObservedState::Ended);
}

/// A server has one thread for hundreds of agents.
#[test]
fn one_thread_listens_to_many_agents() {
    let worlds: Vec<World> = (0..5)
        .map(|number| World::script(&format!("read line; echo $line; exit {number}")))
        .collect();
    let mut handles: Vec<ShimHandle> = worlds.iter().map(World::go).collect();
    for handle in &mut handles {
        handle.subscribe_to_changes(0, 0).unwrap();
        handle.poll_status().unwrap();
    }
    for handle in &mut handles {
        handle.send_input(1, b"hello\n", false).unwrap();
    }
    let mut ended = [false; 5];
    let all = wait_until(BOUND, || {
        for (number, handle) in handles.iter_mut().enumerate() {
            if ended[number] {
                continue;
            }
            let Some(status) = handle.poll_status().unwrap() else {
                continue;
            };
            if let Some(exit) = &status.exit {
                assert_eq!(exit.code, i32::try_from(number).ok());
                ended[number] = true;
                continue;
            }
            let (out, err) = (status.out.end, status.err.end);
            // The shim may leave in this very moment; then the next look finds how it ended.
            let _ = handle.subscribe_to_changes(out, err);
        }
        ended == [true; 5]
    });
    assert!(all, "{ended:?}");
}

/// The same with the values alone and one loop over all connections, as a runner has it.
#[test]
fn one_poll_loop_has_the_dialogues_of_many_shims() {
    let worlds: Vec<World> = (0..8)
        .map(|number| World::script(&format!("read line; echo $line; exit {number}")))
        .collect();
    let connect = |(number, world): (usize, &World)| {
        shim().start_shim(&world.attempt).unwrap();
        let stream = world.attempt.connect_to_shim().unwrap();
        stream.set_nonblocking(true).unwrap();
        (number, stream, ShimSession::new(world.attempt.id(), 1), 0)
    };
    let mut all: Vec<_> = worlds.iter().enumerate().map(connect).collect();
    while !all.is_empty() {
        let mut fds: Vec<PollFd<'_>> = all
            .iter()
            .map(|(_, stream, dialogue, _)| match dialogue.outgoing_bytes() {
                [] => PollFd::new(stream, PollFlags::IN),
                _ => PollFd::new(stream, PollFlags::IN | PollFlags::OUT),
            })
            .collect();
        let patience = Timespec::try_from(BOUND).unwrap();
        assert_ne!(poll(&mut fds, Some(&patience)).unwrap(), 0, "nobody moves");
        all.retain_mut(|(number, stream, dialogue, listening)| {
            let mut chunk = [0; 64];
            let events = match stream.read(&mut chunk) {
                // What is told last may be told to nobody: it is in the folder.
                Ok(0) => {
                    let exit = worlds[*number].attempt.read_exit().unwrap().unwrap();
                    assert_eq!(exit.code, i32::try_from(*number).ok());
                    return false;
                }
                Ok(count) => dialogue.receive(&chunk[..count]),
                Err(_) => Vec::new(),
            };
            for event in events {
                match event {
                    ShimEvent::Greeted { status, .. } => {
                        dialogue.request_start(&environment()).unwrap();
                        dialogue.send_input(1, b"hello\n", false).unwrap();
                        *listening = dialogue
                            .request_status_change(status.version, 0, 0)
                            .unwrap();
                    }
                    ShimEvent::Done { id, status, .. } if id == *listening => {
                        let status = status.unwrap();
                        let (out, err) = (status.out.end, status.err.end);
                        *listening = dialogue
                            .request_status_change(status.version, out, err)
                            .unwrap();
                    }
                    ShimEvent::Done { .. } => {}
                    other => panic!("{other:?}"),
                }
            }
            // A shim that has just left cannot be told any more.
            let count = stream.write(dialogue.outgoing_bytes()).unwrap_or(0);
            dialogue.mark_written(count);
            true
        });
    }
    for world in &worlds {
        assert_eq!(world.output(OutputStream::Out), "hello\n");
    }
}

#[test]
fn a_wait_without_news_ends_in_time() {
    let world = World::script("read line");
    let mut handle = world.go();
    until(&mut handle, |status| status.state == ObservedState::Running);
    let status = handle.fetch_status().unwrap().clone();
    let news = handle
        .wait_for_change(status.out.end, status.err.end, Duration::from_millis(30))
        .unwrap()
        .cloned();
    assert_eq!(news, None);
    // The unanswered wait does not disturb what comes after it.
    handle.send_input(1, b"x\n", false).unwrap();
    until_state(&mut handle, ObservedState::Ended);
}

#[test]
fn an_environment_that_is_no_text_arrives() {
    let world = World::script("printf %s \"$ODD\" | od -An -tx1; echo [$EMPTY] $WORD");
    shim().start_shim(&world.attempt).unwrap();
    let mut handle = world.attach();
    let odd = OsStr::from_bytes(b"\xff=\x80");
    let mut raw: BTreeMap<OsString, OsString> = BTreeMap::from([
        ("ODD".into(), odd.to_owned()),
        ("EMPTY".into(), OsString::new()),
        ("WORD".into(), "a b".into()),
    ]);
    let texts = environment().into_iter();
    raw.extend(texts.map(|(name, value)| (name.into(), value.into())));
    handle.start_agent_raw(&raw).unwrap();
    until_state(&mut handle, ObservedState::Ended);
    assert_eq!(world.output(OutputStream::Out), " ff 3d 80\n[] a b\n");
}
