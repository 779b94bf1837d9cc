//! What keeps a job going, with real agents: silence, a time to begin, an interrupt, and places for
//! what wakes by itself.

use crate::world::{BOUND, World};
use bowline_engine::clock::Clock;
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::{Command, JobState, PauseCause};
use bowline_runner::jobs::JobRequest;
use bowline_store::{JobAttributes, RecordBody, RecordKind};
use bowline_test_support::wait_until;

#[test]
fn a_silent_agent_is_saved_and_started_anew_once_and_then_a_person_decides() {
    let script = "echo up; echo up >> ups; sleep 600";
    let world = World::tuned(AgentProtocol::Markers, script, 1, |config| {
        config.limits.silence_s = 1;
    });
    let id = world.create("tea");
    world.until(&id, ("in_progress", "paused"));
    let row = world.row(&id);
    assert_eq!(row.job.attempt, 2, "once, and no third");
    let JobState::Paused(PauseCause::Breaker { reason, until }) = &row.job.state else {
        panic!("{:?}", row.job.state);
    };
    assert_eq!((reason.as_str(), *until), ("no output for 1 seconds", None));
    let reason = |it: &RecordBody| match it {
        RecordBody::Checkpoint(row) => row.reason.clone(),
        other => panic!("{other:?}"),
    };
    let saved = || world.records(&id, RecordKind::Checkpoint);
    let twice = wait_until(BOUND, || {
        saved().iter().filter(|it| reason(it) == "error").count() == 2
    });
    assert!(twice, "{:?}", saved());
    let ups = world.folder.path().join("workspaces").join(&id).join("ups");
    assert_eq!(std::fs::read_to_string(ups).unwrap().lines().count(), 2);
    let agent = world.transitions(&id, "agent");
    let of = |line: &str| agent.iter().filter(|it| *it == line).count();
    assert_eq!(
        (of("running>running RECOVER"), of("running>paused PAUSE")),
        (1, 1),
        "{agent:?}"
    );
    world
        .ask(JobRequest::Command(id.clone(), Command::Resume))
        .unwrap();
    assert_eq!(world.pair(&id), ("in_progress", "running"));
}

#[test]
fn a_task_begins_at_its_time_also_when_the_loop_was_away() {
    let mut world = World::new("wait_for '[/PHASE_START]'; sleep 600", 1);
    let earlier = world.create("tea");
    world.until(&earlier, ("in_progress", "running"));
    world
        .ask(JobRequest::Command(earlier.clone(), Command::Cancel))
        .unwrap();
    let at = world.row(&earlier).about.updated_at + 2;
    let about = JobAttributes {
        type_name: Some("tea".into()),
        ..JobAttributes::default()
    };
    let made = world.ask(JobRequest::Create {
        title: "Tea shop".into(),
        description: "A shop for tea".into(),
        depends_on: vec![],
        scheduled_for: Some(at),
        about: Box::new(about),
        submit: true,
    });
    let id = made.unwrap().row.unwrap().id;
    assert_eq!(world.pair(&id), ("pending", "idle"));
    world = world.again();
    world.until(&id, ("in_progress", "running"));
    let started = world.row(&id).job.started_at.unwrap().0;
    assert!(started >= at, "{started} before {at}");
}

#[test]
fn an_interrupt_reaches_the_agent_which_goes_on() {
    let script = "trap 'echo interrupted >> seen' INT; echo up > up; while :; do sleep 0.05; done";
    let world = World::new(script, 1);
    let id = world.create("tea");
    let folder = world.folder.path().join("workspaces").join(&id);
    assert!(wait_until(BOUND, || folder.join("up").exists()));
    world
        .ask(JobRequest::Command(id.clone(), Command::Interrupt))
        .unwrap();
    assert!(wait_until(BOUND, || folder.join("seen").exists()));
    assert_eq!(world.pair(&id), ("in_progress", "running"));
    assert_eq!(world.row(&id).job.attempt, 1);
    assert!(world.jobs().alive(&world.row(&id)));
}

#[test]
fn what_wakes_by_itself_waits_for_a_place() {
    let limit = "printf '[ERROR]\\ntype: recoverable\\nmessage: slow\\nrecovery: pause_and_retry\\nretry_after: 1\\n[/ERROR]\\n'";
    let script =
        format!("wait_for '[/PHASE_START]'; mkdir ../../first 2> /dev/null && {limit}; sleep 600");
    let world = World::new(&script, 1);
    let limited = world.create("tea");
    world.until(&limited, ("in_progress", "paused"));
    let other = world.create("tea");
    world.until(&other, ("in_progress", "running"));
    let until = match &world.row(&limited).job.state {
        JobState::Paused(PauseCause::RateLimit { until }) => until.0,
        other => panic!("{other:?}"),
    };
    // Its time comes and goes; the place is taken.
    let past = wait_until(BOUND, || Clock::System.now().0 > until + 1);
    assert!(past);
    assert_eq!(world.pair(&limited), ("in_progress", "paused"));
    world
        .ask(JobRequest::Command(other, Command::Cancel))
        .unwrap();
    world.until(&limited, ("in_progress", "running"));
    assert_eq!(world.row(&limited).job.attempt, 1);
}
