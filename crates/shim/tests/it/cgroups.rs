//! Control groups, where this user may make them.

use crate::support::{BOUND, World, environment, shim, signal, skipped, until, until_state};
use bowline_supervisor::{CgroupSpec, CgroupSupport, Condition, State, Want, sweep};
use bowline_test_support::wait_until;
use rustix::process::Signal;
use std::path::PathBuf;

/// A group to make others in, or a word why there is none.
fn parent() -> Option<PathBuf> {
    let support = CgroupSupport::here();
    if support.parent.is_none() || !support.freeze {
        skipped(
            support
                .reason
                .as_deref()
                .unwrap_or("groups cannot be frozen"),
        );
        return None;
    }
    support.parent
}

fn grouped(script: &str, parent: PathBuf) -> World {
    World::with(script, |spec| {
        spec.cgroup = Some(CgroupSpec {
            parent,
            memory_bytes: None,
            processes: None,
        });
    })
}

const FAMILY: &str = "
    (setsid env -i sleep 1000 &)
    trap '' TSTP
    while :; do echo tick; sleep 0.02; done";

#[test]
fn a_group_is_frozen_thawed_and_removed() {
    let Some(parent) = parent() else {
        return;
    };
    let world = grouped(FAMILY, parent.clone());
    let group = parent.join(format!("bowline-{}", world.attempt.id()));
    let mut handle = world.go();
    until(&mut handle, |status| status.out.end > 10);
    handle.want(Want::Paused, 1).unwrap();
    let status = until_state(&mut handle, State::Paused);
    let events = std::fs::read_to_string(group.join("cgroup.events")).unwrap();
    assert!(events.contains("frozen 1"), "{events}");
    handle.want(Want::Running, 2).unwrap();
    until(&mut handle, |now| now.out.end > status.out.end + 10);
    handle.want(Want::Ended, 3).unwrap();
    until_state(&mut handle, State::Ended);
    assert!(wait_until(BOUND, || !group.exists()));
}

/// A process that hides by an emptied environment is found by its group.
#[test]
fn a_lost_group_is_swept_whole_even_when_frozen() {
    let Some(parent) = parent() else {
        return;
    };
    let world = grouped(FAMILY, parent.clone());
    let group = parent.join(format!("bowline-{}", world.attempt.id()));
    let mut handle = world.go();
    until(&mut handle, |status| status.out.end > 10);
    handle.want(Want::Paused, 1).unwrap();
    until_state(&mut handle, State::Paused);
    signal(handle.hello().shim, Signal::KILL);
    assert!(wait_until(BOUND, || {
        world.attempt.condition().unwrap() == Condition::Lost
    }));
    let swept = sweep(&world.attempt).unwrap();
    assert!(swept.left.is_empty(), "{swept:?}");
    assert!(!group.exists());
}

#[test]
fn a_group_that_cannot_be_made_starts_nothing() {
    let world = grouped("echo never", PathBuf::from("/proc"));
    shim().start(&world.attempt).unwrap();
    let mut handle = world.attach();
    handle.go(&environment()).unwrap();
    let exit = world.ended();
    let told = exit.start_error.unwrap();
    assert!(!exit.started && told.contains("control group"), "{told}");
}
