//! The shim is killed: the attempt is known to be lost, what it left is swept, and nothing is
//! started again.

use crate::support::{BOUND, World, bring_to, shim, signal, until_state};
use bowline_supervisor::{
    Attempt, AttemptCondition, AttemptSpec, ObservedState, OutputStream, ShimHandle,
    SupervisorError, SweepReport, WantedState, sweep_attempt,
};
use bowline_test_support::wait_until;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

const FAMILY: &str = "
    sleep 1000 &
    (setsid sleep 1001 &)
    (setsid sh -c 'trap \"\" TERM HUP; echo deaf; while :; do sleep 0.05; done' &)
    echo ready; while :; do sleep 0.05; done";

/// The deaf one must be in its own session: before, the end of a stopped group would take it along.
fn family(world: &World) {
    world.until_said("ready");
    world.until_said("deaf");
}

#[test]
fn a_killed_shim_leaves_a_lost_attempt_that_can_be_swept() {
    for paused in [false, true] {
        let world = World::script(FAMILY);
        let mut handle = world.go();
        family(&world);
        if paused {
            bring_to(&mut handle, WantedState::Paused, 1);
        }
        let agent = handle.last_status().agent.unwrap();
        signal(handle.greeting().shim, Signal::KILL);
        world.until_lost();
        // The agent never outlives its shim, paused or not.
        assert!(wait_until(BOUND, || !world.processes().contains(&agent)));
        let swept = sweep_attempt(&world.attempt).unwrap();
        assert!(
            !swept.killed.is_empty() && swept.left.is_empty(),
            "{swept:?}"
        );
        world.nobody();
        // Sweeping again finds nothing, and nothing starts here again.
        assert_eq!(
            sweep_attempt(&world.attempt).unwrap(),
            SweepReport::default()
        );
        let again = shim().start_shim(&world.attempt).unwrap_err();
        assert!(
            matches!(again, SupervisorError::NotStarted { .. }),
            "{again}"
        );
        assert_eq!(world.attempt.condition().unwrap(), AttemptCondition::Lost);
        let said = world.output(OutputStream::Out);
        assert_eq!(said.matches("ready").count(), 1, "{said}");
        let gone = ShimHandle::attach(&world.attempt, 9).unwrap_err();
        assert!(
            matches!(gone, SupervisorError::Unreachable { .. }),
            "{gone}"
        );
    }
}

/// Lines of processes, each of which starts the next and leaves. Nobody but the first process of
/// the system collects them once the shim is gone, so that there must not be too many; they stop by
/// themselves after a while.
const STORM: &str = "exec perl -e '
    $SIG{TERM} = \"IGNORE\"; $end = time + 8; $| = 1;
    for (1..12) { unless (fork) { while (time < $end) { exit if fork; select undef, undef, undef, 0.01 } exit } }
    print \"ready\\n\"; sleep 1000'";

/// What starts others and leaves is swept all the same, or said to be left.
#[test]
fn a_storm_that_a_shim_left_is_swept() {
    let world = World::script(STORM);
    let handle = world.go();
    world.until_said("ready");
    signal(handle.greeting().shim, Signal::KILL);
    world.until_lost();
    let swept = sweep_attempt(&world.attempt).unwrap();
    assert!(!swept.killed.is_empty(), "{swept:?}");
    if swept.left.is_empty() && !swept.restless {
        // Several looks: one may miss them.
        for _ in 0..20 {
            world.nobody();
        }
    }
    // They stop by themselves.
    assert!(wait_until(BOUND, || world.processes().is_empty()));
}

#[test]
fn a_shim_killed_before_go_has_lost_nothing() {
    let world = World::script("echo once");
    shim().start_shim(&world.attempt).unwrap();
    let first = world.attach();
    signal(first.greeting().shim, Signal::KILL);
    assert!(wait_until(BOUND, || {
        world.attempt.condition().unwrap() == AttemptCondition::Intended
    }));
    world.run();
    assert_eq!(world.output(OutputStream::Out), "once\n");
}

#[test]
fn only_lost_attempts_are_swept() {
    let world = World::script("read line");
    let mut handle = world.go();
    assert_eq!(
        sweep_attempt(&world.attempt).unwrap(),
        SweepReport::default()
    );
    until_state(&mut handle, ObservedState::Running);
    handle.send_input(1, b"\n", false).unwrap();
    until_state(&mut handle, ObservedState::Ended);
    assert_eq!(
        sweep_attempt(&world.attempt).unwrap(),
        SweepReport::default()
    );
}

#[test]
fn an_attempt_of_another_boot_is_lost_and_never_started() {
    let world = World::script("echo never");
    let path = world.attempt.folder().join("spec.json");
    let mut intent: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    intent["boot"] = "another".into();
    std::fs::write(&path, intent.to_string()).unwrap();
    assert_eq!(world.attempt.condition().unwrap(), AttemptCondition::Lost);
    let refused = shim().start_shim(&world.attempt).unwrap_err();
    assert!(
        matches!(refused, SupervisorError::NotStarted { .. }),
        "{refused}"
    );
}

#[test]
fn what_is_no_attempt_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let none = Attempt::open_existing(folder.path()).unwrap_err();
    assert_eq!(none.code(), "no_attempt");
    let world = World::script("true");
    let again = Attempt::create(world.attempt.folder(), world.attempt.spec().clone());
    assert_eq!(again.unwrap_err().code(), "attempt_exists");
}

/// To clean up takes no descriptor either.
#[test]
fn an_attempt_that_cannot_be_made_for_want_of_descriptors_can_be_made_later() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path().join("a");
    let spec = AttemptSpec::new("a", vec!["true".into()], "/".into());
    let before = getrlimit(Resource::Nofile);
    let none = Rlimit {
        current: Some(0),
        ..before
    };
    setrlimit(Resource::Nofile, none).unwrap();
    let lacking = Attempt::create(&at, spec.clone());
    setrlimit(Resource::Nofile, before).unwrap();
    assert_eq!(lacking.unwrap_err().code(), "attempt_io");
    Attempt::create(&at, spec).unwrap();
}

/// A server asks about attempts all the time, and for that moment it has their lock.
#[test]
fn asking_whether_an_attempt_is_alive_does_not_keep_a_shim_away() {
    let world = World::script("read line");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = world.attempt.condition();
            }
        });
        let started = shim().start_shim(&world.attempt);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        started.unwrap();
    });
    assert_eq!(world.attempt.condition().unwrap(), AttemptCondition::Alive);
    let mut handle = world.attach();
    handle.set_wanted_state(WantedState::Ended, 1).unwrap();
}

#[test]
fn a_child_with_an_emptied_environment_is_found_by_its_session() {
    // It would tell of its own killed child, to a shim that is gone, and die of that.
    let world = World::script(
        "env -i PATH=/usr/bin:/bin sh -c 'trap \"\" TERM HUP PIPE; echo $$; while :; do sleep 0.05; done' & wait",
    );
    let handle = world.go();
    assert!(wait_until(BOUND, || world
        .output(OutputStream::Out)
        .contains('\n')));
    let child: i32 = world.output(OutputStream::Out).trim().parse().unwrap();
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    assert!(alive());
    signal(handle.greeting().shim, Signal::KILL);
    assert!(wait_until(BOUND, || world.attempt.condition().unwrap()
        == AttemptCondition::Lost));
    let swept = sweep_attempt(&world.attempt).unwrap();
    assert!(
        swept.killed.contains(&child) && swept.left.is_empty(),
        "{swept:?}"
    );
    assert!(wait_until(BOUND, || !alive()));
}
