//! Control groups, where this user may make them.

use crate::support::{BOUND, World, bring_to, letter, signal, still, until};
use bowline_supervisor::{
    CgroupSpec, CgroupSupport, CgroupUnavailable, ObservedState, OutputStream, Sandbox,
    SandboxSupport, WantedState, sweep_attempt,
};
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use rustix::process::Signal;
use std::path::PathBuf;

/// A group to make others in, or a word why there is none.
fn parent() -> Option<PathBuf> {
    let support = CgroupSupport::detect_features();
    if support.parent.is_none() || !support.freeze {
        let why = support.reason.unwrap_or(CgroupUnavailable::NotFrozen);
        skip_test(MissingRequirement::ControlGroups, &why.to_string());
        return None;
    }
    support.parent
}

fn grouped(script: &str, parent: PathBuf) -> World {
    World::with(script, |spec| {
        spec.cgroup = Some(CgroupSpec::in_parent(parent));
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
    let status = bring_to(&mut handle, WantedState::Paused, 1);
    let events = std::fs::read_to_string(group.join("cgroup.events")).unwrap();
    assert!(events.contains("frozen 1"), "{events}");
    handle.set_wanted_state(WantedState::Running, 2).unwrap();
    until(&mut handle, |now| now.out.end > status.out.end + 10);
    bring_to(&mut handle, WantedState::Ended, 3);
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
    bring_to(&mut handle, WantedState::Paused, 1);
    signal(handle.greeting().shim, Signal::KILL);
    world.until_lost();
    let swept = sweep_attempt(&world.attempt).unwrap();
    // The one that hides is among them: it has neither mark nor parent to be found by.
    assert!(
        !swept.killed.is_empty() && swept.left.is_empty(),
        "{swept:?}"
    );
    assert!(!group.exists());
}

/// An agent of the same user can leave its group unless it is in a sandbox. It is stopped all the
/// same.
#[test]
fn a_process_that_has_left_its_group_is_paused_and_ended_too() {
    let Some(parent) = parent() else {
        return;
    };
    let leave = parent.join("cgroup.procs");
    let script = format!(
        "sh -c 'echo 0 > {0} && echo left; while :; do sleep 0.02; done' & echo $!; wait",
        leave.display()
    );
    let world = grouped(&script, parent);
    let mut handle = world.go();
    world.until_said("left");
    let said = world.output(OutputStream::Out);
    let pid: i32 = said.lines().find_map(|line| line.parse().ok()).unwrap();
    bring_to(&mut handle, WantedState::Paused, 1);
    assert!(letter(pid).is_some_and(still), "{:?}", letter(pid));
    bring_to(&mut handle, WantedState::Running, 2);
    bring_to(&mut handle, WantedState::Ended, 3);
    world.nobody();
}

#[test]
fn a_sandboxed_agent_cannot_leave_its_group() {
    let Some(parent) = parent() else {
        return;
    };
    if !SandboxSupport::detect_features().files {
        skip_test(MissingRequirement::Landlock, "this kernel has no Landlock");
        return;
    }
    let leave = parent.join("cgroup.procs");
    let script = format!("echo 0 > {} && echo left; echo tried", leave.display());
    let world = World::with(&script, |spec| {
        spec.cgroup = Some(CgroupSpec::in_parent(parent));
        let mut sandbox = Sandbox::with_writable(vec![spec.folder.clone()]);
        sandbox.best_effort = true;
        spec.sandbox = Some(sandbox);
    });
    world.run();
    assert_eq!(world.output(OutputStream::Out), "tried\n");
}

/// Processes that start others faster than anybody can look: the group ends them as a whole.
#[test]
fn a_storm_of_processes_is_frozen_and_ended_as_a_whole() {
    let Some(parent) = parent() else {
        return;
    };
    let storm = "trap '' TERM
        spin() { (trap '' TERM; sleep 0.001; spin) & }
        spin; spin; spin; spin; echo ready; while :; do sleep 0.05; done";
    let world = grouped(storm, parent.clone());
    let group = parent.join(format!("bowline-{}", world.attempt.id()));
    let mut handle = world.go();
    world.until_said("ready");
    bring_to(&mut handle, WantedState::Paused, 1);
    let members = || std::fs::read_to_string(group.join("cgroup.procs")).unwrap();
    let before = members();
    assert!(!before.is_empty());
    assert_eq!(members(), before);
    let exit = bring_to(&mut handle, WantedState::Ended, 2).exit.unwrap();
    assert!(exit.left.is_empty(), "{exit:?}");
    world.nobody();
    assert!(wait_until(BOUND, || !group.exists()));
}

/// The kernel refuses more processes and more memory than were allowed; the shim is not in the
/// group and lives.
#[test]
fn limits_hold() {
    let support = CgroupSupport::detect_features();
    let limiting = support
        .limiting
        .filter(|_| support.memory && support.processes);
    let Some(parent) = limiting else {
        let why = support.reason.unwrap_or(CgroupUnavailable::NotFrozen);
        skip_test(MissingRequirement::ControlGroups, &why.to_string());
        return;
    };
    let script = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep 1000 & done; echo started";
    let world = World::with(script, |spec| {
        spec.cgroup = Some(CgroupSpec {
            processes: Some(20),
            ..CgroupSpec::in_parent(parent.clone())
        });
    });
    let mut handle = world.go();
    until(&mut handle, |status| {
        status.err.end > 0 || status.exit.is_some()
    });
    assert!(world.processes().len() <= 20);
    bring_to(&mut handle, WantedState::Ended, 1);
    world.nobody();

    let world = World::with("head -c 200000000 /dev/zero | tail", |spec| {
        spec.cgroup = Some(CgroupSpec {
            memory_bytes: Some(32 << 20),
            ..CgroupSpec::in_parent(parent)
        });
    });
    let exit = world.run().exit.unwrap();
    assert_ne!(exit.code, Some(0), "{exit:?}");
}

/// The lock can be written by an agent without a sandbox. Nobody else's group is killed for that.
#[test]
fn a_forged_group_is_not_swept() {
    let Some(parent) = parent() else {
        return;
    };
    let victim = grouped("echo ready; exec sleep 1000", parent.clone());
    let mut spared = victim.go();
    victim.until_said("ready");
    let theirs = parent.join(format!("bowline-{}", victim.attempt.id()));
    for forged in [theirs, parent.clone()] {
        let world = grouped("echo ready; exec sleep 1000", parent.clone());
        let handle = world.go();
        world.until_said("ready");
        signal(handle.greeting().shim, Signal::KILL);
        world.until_lost();
        let lock = world.attempt.folder().join("lock");
        let mut owner: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&lock).unwrap()).unwrap();
        let noted = owner["cgroup"].clone();
        owner["cgroup"] = forged.to_str().unwrap().into();
        std::fs::write(&lock, owner.to_string()).unwrap();
        sweep_attempt(&world.attempt).unwrap();
        world.nobody();
        assert_eq!(spared.fetch_status().unwrap().state, ObservedState::Running);
        // The group that was lost sight of is swept by its true name.
        owner["cgroup"] = noted;
        std::fs::write(&lock, owner.to_string()).unwrap();
        sweep_attempt(&world.attempt).unwrap();
    }
}

#[test]
fn without_limits_an_agent_can_do_without_a_group() {
    let world = World::with("echo fine", |spec| {
        spec.cgroup = Some(CgroupSpec {
            best_effort: true,
            ..CgroupSpec::in_parent(PathBuf::from("/proc"))
        });
    });
    world.run();
    assert_eq!(world.output(OutputStream::Out), "fine\n");

    let world = World::with("echo never", |spec| {
        spec.cgroup = Some(CgroupSpec {
            best_effort: true,
            processes: Some(10),
            ..CgroupSpec::in_parent(PathBuf::from("/proc"))
        });
    });
    let exit = world.run().exit.unwrap();
    assert!(!exit.started, "{exit:?}");
}

#[test]
fn a_group_that_cannot_be_made_starts_nothing() {
    let world = grouped("echo never", PathBuf::from("/proc"));
    let _handle = world.go();
    let exit = world.ended();
    let told = exit.start_error.unwrap();
    assert!(!exit.started && told.contains("control group"), "{told}");
}
