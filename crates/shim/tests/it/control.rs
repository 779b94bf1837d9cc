//! The wanted level reaches every descendant, whatever it does about signals.

use crate::support::{World, bring_to, letter, signal, still, until, until_state};
use bowline_supervisor::{
    ObservedState, OutputStream, SendOutcome, ShimRefusal, SupervisorError, WantedState,
};
use bowline_test_support::wait_until;
use rustix::process::Signal;

/// Children in the agent's group, in a group and session of their own, daemonised, and deaf to
/// SIGTSTP and SIGTERM.
const FAMILY: &str = "
    sleep 1000 &
    setsid sleep 1001 &
    (setsid sh -c 'sleep 1002 & wait' &)
    sh -c 'trap \"\" TSTP TERM; while :; do sleep 0.05; done' &
    echo ready
    while :; do echo tick; sleep 0.05; done";

/// Processes at least: the shell, three sleeps, the shell of one of them, the deaf one.
const FAMILY_COUNT: usize = 6;

#[test]
fn a_pause_stops_every_descendant_and_a_resume_continues_them() {
    let world = World::script(FAMILY);
    let mut handle = world.go();
    world.until_said("ready");
    assert!(wait_until(crate::support::BOUND, || {
        world.processes().len() >= FAMILY_COUNT
    }));
    for generation in [1, 3, 5] {
        handle
            .set_wanted_state(WantedState::Paused, generation)
            .unwrap();
        let status = until_state(&mut handle, ObservedState::Paused);
        assert_eq!(status.want, WantedState::Paused);
        let letters = world.letters();
        assert!(letters.len() >= FAMILY_COUNT, "{letters:?}");
        assert!(letters.iter().copied().all(still), "{letters:?}");
        let before = world.output(OutputStream::Out);

        handle
            .set_wanted_state(WantedState::Running, generation + 1)
            .unwrap();
        until_state(&mut handle, ObservedState::Running);
        assert!(!world.letters().contains(&'T'));
        // It goes on where it was.
        until(&mut handle, |status| {
            status.out.end > before.len() as u64 + 10
        });
    }
}

#[test]
fn a_paused_agent_that_somebody_continues_is_paused_again() {
    let world = World::script("while :; do sleep 0.05; done");
    let mut handle = world.go();
    let agent = bring_to(&mut handle, WantedState::Paused, 1).agent.unwrap();
    signal(agent, Signal::CONT);
    let paused = wait_until(crate::support::BOUND, || {
        letter(agent).is_some_and(still)
            && handle.fetch_status().unwrap().state == ObservedState::Paused
    });
    assert!(paused, "{:?} {:?}", letter(agent), handle.last_status());
}

#[test]
fn an_older_wish_is_refused_and_the_same_one_is_no_news() {
    let world = World::script("read line");
    let mut handle = world.go();
    handle.set_wanted_state(WantedState::Paused, 5).unwrap();
    handle.set_wanted_state(WantedState::Paused, 5).unwrap();
    for (want, generation) in [
        (WantedState::Running, 5),
        (WantedState::Running, 4),
        (WantedState::Paused, 3),
    ] {
        let error = handle.set_wanted_state(want, generation).unwrap_err();
        let stale = matches!(
            error,
            SupervisorError::Refused {
                why: ShimRefusal::StaleGeneration,
                ..
            }
        );
        assert!(stale, "{error}");
    }
    until_state(&mut handle, ObservedState::Paused);
    bring_to(&mut handle, WantedState::Running, 6);
}

#[test]
fn an_end_asks_first_and_a_paused_agent_hears_it() {
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    for paused in [false, true] {
        // Long enough for the trap of a shell on a busy machine.
        let world = World::with(script, |spec| spec.bounds.grace_ms = 20_000);
        let mut handle = world.go();
        world.until_said("ready");
        if paused {
            bring_to(&mut handle, WantedState::Paused, 1);
        }
        let exit = bring_to(&mut handle, WantedState::Ended, 2).exit.unwrap();
        assert_eq!((exit.code, exit.asked), (Some(7), true), "{exit:?}");
        assert_eq!(world.output(OutputStream::Out), "ready\nbye\n");
    }
}

#[test]
fn an_end_leaves_nobody() {
    let world = World::script(FAMILY);
    let mut handle = world.go();
    world.until_said("ready");
    let exit = bring_to(&mut handle, WantedState::Ended, 1).exit.unwrap();
    assert!(exit.left.is_empty(), "{exit:?}");
    world.nobody();
}

#[test]
fn what_the_agent_leaves_behind_ends_with_it() {
    let world = World::script(
        "(setsid sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' >&- 2>&- <&- &)
         (setsid sleep 1000 &)
         exit 4",
    );
    let exit = world.run().exit.unwrap();
    assert_eq!((exit.code, exit.asked), (Some(4), false));
    assert!(exit.complete, "{exit:?}");
    world.nobody();
}

#[test]
fn a_wish_before_go_counts() {
    let world = World::script("echo ready; while :; do sleep 0.05; done");
    crate::support::shim().start_shim(&world.attempt).unwrap();
    let mut handle = world.attach();
    handle.set_wanted_state(WantedState::Paused, 1).unwrap();
    handle.start_agent(&crate::support::environment()).unwrap();
    until_state(&mut handle, ObservedState::Paused);

    let world = World::script("echo never");
    crate::support::shim().start_shim(&world.attempt).unwrap();
    let mut handle = world.attach();
    handle.set_wanted_state(WantedState::Ended, 1).unwrap();
    let exit = world.ended();
    assert!(!exit.started && exit.asked, "{exit:?}");
    assert_eq!(world.output(OutputStream::Out), "");
}

#[test]
fn a_shim_that_is_told_to_end_ends_its_agent() {
    let world = World::script(FAMILY);
    let handle = world.go();
    world.until_said("ready");
    signal(handle.greeting().shim, Signal::TERM);
    assert!(world.ended().asked);
    world.nobody();
}

#[test]
fn processes_that_fork_all_the_time_are_stopped_and_ended() {
    // Each generation starts the next and leaves.
    let world = World::script(
        "spin() { (sleep 0.001; spin) & }
         spin; spin; spin; echo ready; while :; do sleep 0.05; done",
    );
    let mut handle = world.go();
    world.until_said("ready");
    bring_to(&mut handle, WantedState::Paused, 1);
    let before = world.processes();
    assert!(world.letters().into_iter().all(still));
    assert_eq!(world.processes(), before);
    bring_to(&mut handle, WantedState::Ended, 2);
    world.nobody();
}

/// Forty lines of processes, each of which starts the next and leaves: a look at them finds hardly
/// any. They stop by themselves after a while.
const STORM: &str = "exec perl -e '
    $SIG{TERM} = \"IGNORE\"; $end = time + 15; $| = 1;
    for (1..40) { unless (fork) { while (time < $end) { exit if fork; select undef, undef, undef, 0.01 } exit } }
    print \"ready\\n\"; sleep 1000'";

#[test]
fn an_end_is_told_when_nobody_is_left_of_a_storm() {
    for paused in [false, true] {
        let world = World::script(STORM);
        let mut handle = world.go();
        world.until_said("ready");
        if paused {
            bring_to(&mut handle, WantedState::Paused, 1);
            assert!(world.letters().into_iter().all(still));
        }
        handle.set_wanted_state(WantedState::Ended, 2).unwrap();
        let asked = std::time::Instant::now();
        let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
        assert!(exit.left.is_empty(), "{exit:?}");
        // Ended, and not waited for.
        assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
        // Several looks: one may miss them.
        for _ in 0..20 {
            world.nobody();
        }
    }
}

/// What the agent has stopped itself is not continued for it.
#[test]
fn a_resume_continues_only_what_the_pause_had_stopped() {
    let script = "sleep 1000 & kill -STOP $!; echo $!; while :; do echo tick; sleep 0.02; done";
    let world = World::script(script);
    let mut handle = world.go();
    world.until_said("tick");
    let said = world.output(OutputStream::Out);
    let child: i32 = said.lines().next().unwrap().parse().unwrap();
    let stopped = || letter(child) == Some('T');
    assert!(wait_until(crate::support::BOUND, stopped));
    for generation in [1, 3] {
        handle
            .set_wanted_state(WantedState::Paused, generation)
            .unwrap();
        until_state(&mut handle, ObservedState::Paused);
        handle
            .set_wanted_state(WantedState::Running, generation + 1)
            .unwrap();
        let end = until_state(&mut handle, ObservedState::Running).out.end;
        until(&mut handle, |status| status.out.end > end + 10);
        assert!(stopped(), "{:?}", letter(child));
    }
}

#[test]
fn an_interrupt_reaches_the_agent_once_and_it_goes_on() {
    let world =
        World::script("trap 'echo interrupted' INT; echo ready; while :; do sleep 0.02; done");
    let mut handle = world.go();
    assert!(handle.greeting().features.contains(&"interrupt".to_owned()));
    world.until_said("ready");
    assert_eq!(handle.interrupt_agent(1).unwrap(), SendOutcome::Accepted);
    until(&mut handle, |status| status.out.end == 18);
    assert_eq!(handle.interrupt_agent(1).unwrap(), SendOutcome::Already);
    // A paused agent hears it when it goes on.
    bring_to(&mut handle, WantedState::Paused, 1);
    assert_eq!(handle.interrupt_agent(2).unwrap(), SendOutcome::Accepted);
    assert_eq!(handle.fetch_status().unwrap().interrupts, 2);
    handle.set_wanted_state(WantedState::Running, 2).unwrap();
    until(&mut handle, |status| status.out.end == 30);
    assert_eq!(
        world.output(OutputStream::Out),
        "ready\ninterrupted\ninterrupted\n"
    );
    handle.set_fence(0);
    assert!(handle.interrupt_agent(3).is_err());
    handle.set_fence(1);
    bring_to(&mut handle, WantedState::Ended, 3);
    assert_eq!(
        handle.interrupt_agent(3).unwrap_err().code(),
        "agent_not_running"
    );
}

#[test]
fn idle_connections_do_not_keep_anybody_from_ending_the_agent() {
    let world = World::script("echo ready; exec sleep 1000");
    world.go();
    world.until_said("ready");
    let idle: Vec<_> = (0..80)
        .map(|_| world.attempt.connect_to_shim().unwrap())
        .collect();
    let mut handle = world.attach();
    bring_to(&mut handle, WantedState::Ended, 1);
    drop(idle);
}

#[test]
fn an_end_sends_sigcont_once_and_not_twenty_times_a_second() {
    let script =
        "exec perl -e '$| = 1; $SIG{TERM} = \"IGNORE\"; $SIG{CONT} = sub { print \"cont\\n\" };
        print \"ready\\n\"; sleep 1 while 1'";
    let world = World::with(script, |spec| spec.bounds.grace_ms = 1_500);
    let mut handle = world.go();
    world.until_said("ready");
    bring_to(&mut handle, WantedState::Ended, 1);
    let said = world.output(OutputStream::Out);
    assert_eq!(said.matches("cont").count(), 1, "{said}");
}

/// How often a process has given the processor up by itself.
fn wakeups(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn an_idle_shim_does_not_wake_up() {
    // The agent's own time is the measure: three looks of the old two seconds would fit in.
    let world = World::script("echo ready; sleep 7; echo over; sleep 1000");
    let mut handle = world.go();
    world.until_said("ready");
    let shim = handle.greeting().shim;
    let before = wakeups(shim);
    world.until_said("over");
    let woken = wakeups(shim) - before;
    // Once for the line that was read, and as much again for chance.
    assert!(woken <= 2, "{woken}");
    bring_to(&mut handle, WantedState::Ended, 1);
}
