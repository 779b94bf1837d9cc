//! Input exactly once, output complete and in order, both with bounds.

use crate::support::{World, bring_to, shim_limited, until, until_state};
use bowline_supervisor::{
    ObservedState, OutputBlockReason, OutputStream, SendOutcome, ShimRefusal, SupervisorError,
    WantedState,
};
use bowline_test_support::wait_until;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::time::Duration;

#[test]
fn a_megabyte_for_a_paused_agent_waits_and_arrives_once() {
    let world = World::script("echo ready; cat");
    let mut handle = world.go();
    world.until_said("ready");
    bring_to(&mut handle, WantedState::Paused, 1);
    // In pieces, each sent twice, the second time by another client.
    let text: Vec<u8> = (0..1_048_576u32)
        .map(|number| b'a' + u8::try_from(number % 23).unwrap())
        .collect();
    for (index, piece) in text.chunks(262_144).enumerate() {
        let seq = index as u64 + 1;
        assert_eq!(
            handle.send_input(seq, piece, false).unwrap(),
            SendOutcome::Accepted
        );
        assert_eq!(
            world.attach().send_input(seq, piece, false).unwrap(),
            SendOutcome::Already
        );
    }
    let status = handle.fetch_status().unwrap();
    assert_eq!(status.state, ObservedState::Paused);
    assert_eq!(status.input.next, 5);
    assert!(status.input.queued > 900_000, "{status:?}");
    handle.send_input(5, b"", true).unwrap();
    handle.set_wanted_state(WantedState::Running, 2).unwrap();
    let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
    assert_eq!(exit.unread, None);
    let (_, log) = world
        .attempt
        .read_output(OutputStream::Out, 6, 2 << 20)
        .unwrap();
    assert!(log == text, "{} bytes", log.len());
}

#[test]
fn input_has_a_bound_and_goes_on_when_some_was_read() {
    let world = World::with("sleep 0.2; cat >/dev/null", |spec| {
        spec.bounds.input_bytes = 200_000;
    });
    let mut handle = world.go();
    handle.set_wanted_state(WantedState::Paused, 1).unwrap();
    let piece = vec![b'x'; 100_000];
    let mut seq = 0;
    let refused = loop {
        match handle.send_input(seq + 1, &piece, false) {
            Ok(_) => seq += 1,
            Err(error) => break error,
        }
        assert!(seq < 10);
    };
    let full = matches!(
        refused,
        SupervisorError::Refused {
            why: ShimRefusal::InputFull,
            ..
        }
    );
    assert!(full, "{refused}");
    handle.set_wanted_state(WantedState::Running, 2).unwrap();
    let taken = wait_until(crate::support::BOUND, || {
        handle.send_input(seq + 1, &piece, false).is_ok()
    });
    assert!(taken);
    handle.send_input(seq + 2, b"", true).unwrap();
    until_state(&mut handle, ObservedState::Ended);
}

#[test]
fn input_the_agent_never_read_is_kept_for_the_next_one() {
    let world = World::script("read line; echo $line; exec sleep 1000");
    let mut handle = world.go();
    handle.send_input(1, b"first\n", false).unwrap();
    world.until_said("first");
    bring_to(&mut handle, WantedState::Paused, 1);
    handle.send_input(2, b"second\n", false).unwrap();
    let big = vec![b'z'; 200_000];
    handle.send_input(3, &big, true).unwrap();
    let exit = bring_to(&mut handle, WantedState::Ended, 2).exit.unwrap();
    let unread = exit.unread.unwrap();
    assert_eq!((unread.from_seq, unread.bytes), (2, 200_007));
    assert!(unread.saved);
    let bytes = world.attempt.read_unread_input().unwrap();
    assert!(bytes.starts_with(b"second\n") && bytes.ends_with(&big));
}

#[test]
fn unacknowledged_output_is_bounded_and_never_lost() {
    let world = World::with(
        "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); echo line $i; done",
        |spec| {
            spec.bounds.unacknowledged_bytes = 50_000;
            spec.bounds.keep_bytes = 0;
        },
    );
    let mut handle = world.go();
    let mut got = Vec::new();
    loop {
        let status = until(&mut handle, |status| {
            status.blocked == Some(OutputBlockReason::Unacknowledged)
                || status.state == ObservedState::Ended
        });
        let at = got.len() as u64;
        assert!(status.out.end - at <= 50_000 + (64 << 10), "{status:?}");
        let (from, bytes) = world
            .attempt
            .read_output(OutputStream::Out, at, 1 << 20)
            .unwrap();
        assert_eq!(from, at);
        got.extend_from_slice(&bytes);
        if status.state == ObservedState::Ended {
            break;
        }
        handle.acknowledge_output(got.len() as u64, 0).unwrap();
    }
    let wanted: String = (1..=40_000).map(|i| format!("line {i}\n")).collect();
    assert!(got == wanted.as_bytes(), "{} bytes", got.len());
}

#[test]
fn acknowledged_output_goes_back_to_the_disk() {
    let world = World::with("head -c 8000000 /dev/zero; read line", |spec| {
        spec.bounds.keep_bytes = 0;
    });
    let mut handle = world.go();
    until(&mut handle, |status| status.out.end == 8_000_000);
    let blocks = || {
        let log = world.attempt.folder().join("log");
        std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(log).unwrap()) * 512
    };
    let before = blocks();
    handle.acknowledge_output(5_000_000, 0).unwrap();
    let after = blocks();
    if after == before {
        // This file system cannot do it; then everything stays, which is allowed.
        return;
    }
    assert!(after <= before - (4 << 20), "{before} {after}");
    // Offsets stay what they were.
    let (from, bytes) = world.attempt.read_output(OutputStream::Out, 0, 16).unwrap();
    assert_eq!((from, bytes.len()), (4 << 20, 16));
    let (from, bytes) = world
        .attempt
        .read_output(OutputStream::Out, 7_999_990, 100)
        .unwrap();
    assert_eq!((from, bytes.len()), (7_999_990, 10));
}

#[test]
fn a_full_disk_blocks_the_agent_and_loses_nothing() {
    // A limit on the size of files stands in for a full disk.
    let world = World::script("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done");
    shim_limited(128).start_shim(&world.attempt).unwrap();
    let mut handle = world.attach();
    handle.start_agent(&crate::support::environment()).unwrap();
    let status = until(&mut handle, |status| {
        status.blocked == Some(OutputBlockReason::DiskFull)
    });
    assert_eq!(status.state, ObservedState::Running);
    assert_eq!(status.out.end, 65_536);
    let quiet = handle
        .wait_for_change(status.out.end, 0, Duration::from_millis(300))
        .unwrap();
    assert_eq!(quiet, None);
    // Room again.
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let shim = Pid::from_raw(handle.greeting().shim);
    prlimit(shim, Resource::Fsize, unlimited).unwrap();
    let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
    assert!(exit.complete, "{exit:?}");
    let wanted: String = (1..=20_000).map(|i| format!("line {i}\n")).collect();
    assert!(world.output(OutputStream::Out) == wanted);
}

#[test]
fn an_end_with_a_full_disk_says_what_is_missing() {
    let world = World::with("exec yes", |spec| spec.bounds.drain_ms = 100);
    shim_limited(128).start_shim(&world.attempt).unwrap();
    let mut handle = world.attach();
    handle.start_agent(&crate::support::environment()).unwrap();
    until(&mut handle, |status| {
        status.blocked == Some(OutputBlockReason::DiskFull)
    });
    let exit = bring_to(&mut handle, WantedState::Ended, 1).exit.unwrap();
    assert!(!exit.complete && exit.out == 65_536, "{exit:?}");
}
