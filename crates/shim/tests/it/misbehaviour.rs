//! Agents that do everything wrong: each is handled, memory stays bounded, and no process is left
//! behind.

use crate::support::{BOUND, World, bring_to, until, until_state};
use bowline_supervisor::{
    AttemptExit, ObservedState, OutputBlockReason, OutputStream, ShimHandle, WantedState,
};
use bowline_test_support::{MissingRequirement, skip_test};
use std::process::Command;
use std::time::Duration;

/// A shim of a debug build, whatever its agent does. The shim itself is far below (see the
/// benchmarks).
const DIRTY_KIB_MAX: u64 = 2048;
/// The most a shim has ever had in memory, pages of its own program file included.
const PEAK_KIB_MAX: u64 = 10_240;

/// Runs an agent to its end, processing its output as a server would, and returns its end and how
/// much it wrote.
fn processed(world: &World) -> (AttemptExit, u64) {
    let mut handle = world.go();
    let mut at = 0;
    loop {
        let status = handle.last_status().clone();
        let (from, bytes) = world
            .attempt
            .read_output(OutputStream::Out, at, 1 << 20)
            .unwrap();
        assert_eq!(from, at, "output was lost");
        at += bytes.len() as u64;
        if let Some(exit) = status.exit.filter(|exit| exit.out == at) {
            return (exit, at);
        }
        if bytes.is_empty() {
            handle
                .wait_for_change(at, status.err.end, BOUND)
                .unwrap()
                .unwrap();
        } else {
            handle.acknowledge_output(at, 0).unwrap();
        }
        check_memory(&handle);
    }
}

fn check_memory(handle: &ShimHandle) {
    for (file, name, max) in [
        ("smaps_rollup", "Private_Dirty:", DIRTY_KIB_MAX),
        ("status", "VmHWM:", PEAK_KIB_MAX),
    ] {
        // Nothing to see when the shim has left.
        let path = format!("/proc/{}/{file}", handle.greeting().shim);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let kib: Option<u64> = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok());
        assert!(kib.is_none_or(|kib| kib <= max), "{name} {kib:?} KiB");
    }
}

#[test]
fn ignores_term_and_tstp() {
    let world = World::script("trap '' TERM TSTP HUP INT; echo deaf; while :; do sleep 0.02; done");
    let mut handle = world.go();
    world.until_said("deaf");
    bring_to(&mut handle, WantedState::Paused, 1);
    bring_to(&mut handle, WantedState::Running, 2);
    let exit = bring_to(&mut handle, WantedState::Ended, 3).exit.unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    check_memory(&handle);
    world.nobody();
}

#[test]
fn forks_daemonises_and_leaves() {
    // The agent is gone at once; what it left in a session of its own goes on writing to its
    // output.
    let world = World::script("(setsid sh -c 'while :; do echo still here; sleep 0.01; done' &)");
    let (exit, said) = processed(&world);
    assert_eq!(exit.code, Some(0));
    assert!(exit.complete && said == exit.out, "{exit:?}");
    world.nobody();
}

#[test]
fn closes_its_output_and_goes_on() {
    let world = World::script("echo before; exec >&- 2>&-; read line; exit 5");
    let mut handle = world.go();
    world.until_said("before");
    // That there will be no more output is known; the agent is supervised as before.
    until(&mut handle, |status| status.out.closed && status.err.closed);
    assert_eq!(handle.fetch_status().unwrap().state, ObservedState::Running);
    bring_to(&mut handle, WantedState::Paused, 1);
    handle.set_wanted_state(WantedState::Running, 2).unwrap();
    check_memory(&handle);
    handle.send_input(1, b"go on\n", false).unwrap();
    let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
    assert_eq!((exit.code, exit.complete), (Some(5), true));
    world.nobody();
}

#[test]
fn floods_a_gigabyte() {
    let world = World::with("head -c 1000000000 /dev/zero", |spec| {
        spec.bounds.keep_bytes = 0;
    });
    let (exit, said) = processed(&world);
    assert_eq!((exit.code, said), (Some(0), 1_000_000_000));
    world.nobody();
}

#[test]
fn one_line_of_a_hundred_megabytes_without_an_end() {
    let world = World::with("head -c 100000000 /dev/zero | tr '\\0' x", |spec| {
        spec.bounds.keep_bytes = 0;
    });
    let (exit, said) = processed(&world);
    assert_eq!((exit.code, said), (Some(0), 100_000_000));
    world.nobody();
}

#[test]
fn a_last_line_without_its_end_is_kept() {
    let world = World::script("printf 'no newline'");
    let (exit, _) = processed(&world);
    assert!(exit.complete);
    assert_eq!(world.output(OutputStream::Out), "no newline");
}

#[test]
fn exits_at_once() {
    for _ in 0..20 {
        let world = World::with("", |spec| spec.command = vec!["true".into()]);
        let (exit, said) = processed(&world);
        assert_eq!((exit.code, said), (Some(0), 0));
    }
}

#[test]
fn becomes_something_else() {
    let world = World::script("echo $$; exec sleep 1000");
    let mut handle = world.go();
    until(&mut handle, |status| status.out.end > 0);
    let agent = handle.last_status().agent.unwrap();
    assert_eq!(world.output(OutputStream::Out), format!("{agent}\n"));
    let exit = bring_to(&mut handle, WantedState::Ended, 1).exit.unwrap();
    assert_eq!(exit.signal, Some(15));
    world.nobody();
}

#[test]
fn dies_while_paused() {
    let world = World::script("setsid sleep 1000 & echo ready; while :; do sleep 0.05; done");
    let mut handle = world.go();
    world.until_said("ready");
    let agent = bring_to(&mut handle, WantedState::Paused, 1).agent.unwrap();
    crate::support::signal(agent, rustix::process::Signal::KILL);
    check_memory(&handle);
    let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
    assert_eq!((exit.signal, exit.asked), (Some(9), false));
    world.nobody();
}

#[test]
fn writes_everything_to_standard_error() {
    let world = World::with("head -c 3000000 /dev/zero >&2; echo done", |spec| {
        spec.bounds.unacknowledged_bytes = 1 << 20;
    });
    let mut handle = world.go();
    loop {
        let status = handle.last_status().clone();
        if status.exit.is_some() {
            break;
        }
        handle
            .acknowledge_output(status.out.end, status.err.end)
            .unwrap();
        let (out, err) = (status.out.end, status.err.end);
        handle
            .wait_for_change(out, err, Duration::from_secs(10))
            .unwrap();
    }
    let exit = world.ended();
    assert_eq!((exit.out, exit.err), (5, 3_000_000));
    check_memory(&handle);
}

/// A small file system of its own, for as long as this lives.
struct Small(tempfile::TempDir);

impl Small {
    /// Or a word why there is none.
    fn mounted() -> Option<Small> {
        let place = tempfile::tempdir().unwrap();
        let words = ["-t", "tmpfs", "-o", "size=1m", "none"];
        let mounted = Command::new("mount").args(words).arg(place.path()).output();
        let there = mounted.is_ok_and(|output| output.status.success());
        if !there {
            skip_test(
                MissingRequirement::Mounting,
                "a small file system cannot be mounted by this user",
            );
        }
        there.then_some(Small(place))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Fills the very file system its output goes to, with a file of its own.
#[test]
fn fills_the_disk() {
    let Some(small) = Small::mounted() else {
        return;
    };
    let folder = tempfile::tempdir_in(small.0.path()).unwrap();
    let (at, fill) = (folder.path().join("attempt"), folder.path().join("fill"));
    let script = "head -c 4000000 /dev/zero > fill 2>&-; exec seq 1 30000";
    let world = World::at(folder, &at, script, |_| {});
    let mut handle = world.go();
    let status = until(&mut handle, |status| {
        status.blocked == Some(OutputBlockReason::DiskFull)
    });
    assert_eq!(status.state, ObservedState::Running);
    // It is controlled as ever while it stands still.
    bring_to(&mut handle, WantedState::Paused, 1);
    handle.set_wanted_state(WantedState::Running, 2).unwrap();
    check_memory(&handle);
    std::fs::remove_file(fill).unwrap();
    let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
    assert!(exit.complete && exit.code == Some(0), "{exit:?}");
    let wanted: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    assert!(world.output(OutputStream::Out) == wanted);
    world.nobody();
}

/// Fills it with its output: what has been processed makes room, however much of it was to be kept.
#[test]
fn fills_the_disk_with_output_that_is_processed() {
    let Some(small) = Small::mounted() else {
        return;
    };
    let folder = tempfile::tempdir_in(small.0.path()).unwrap();
    let at = folder.path().join("attempt");
    let world = World::at(folder, &at, "exec head -c 5000000 /dev/zero", |spec| {
        spec.bounds.keep_bytes = 64 << 20;
    });
    let (exit, said) = processed(&world);
    assert!(exit.complete && said == 5_000_000, "{exit:?}");
    world.nobody();
}

/// The same, and nobody makes room: how it ended is known all the same.
#[test]
fn fills_the_disk_and_is_ended() {
    let Some(small) = Small::mounted() else {
        return;
    };
    let folder = tempfile::tempdir_in(small.0.path()).unwrap();
    let at = folder.path().join("attempt");
    let script = "head -c 4000000 /dev/zero > fill 2>&-; exec yes";
    let world = World::at(folder, &at, script, |spec| spec.bounds.drain_ms = 200);
    let mut handle = world.go();
    until(&mut handle, |status| {
        status.blocked == Some(OutputBlockReason::DiskFull)
    });
    bring_to(&mut handle, WantedState::Ended, 1);
    let exit = world.ended();
    assert!(exit.asked && !exit.complete, "{exit:?}");
    world.nobody();
}
