//! Simulates the dispatcher with simulated time, supervisor and person: thousands of runs from
//! seeds, each with everything that can go wrong. The process dies between any two orders and
//! before or after any commit, agents are lost, replies are slow and requests are repeated. Checks
//! that nothing acknowledged is lost, that no attempt starts twice or beside another, and that
//! every task ends.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod removals;
mod run;
mod world;

use super::dispatcher::{DispatcherInput, JobDispatcher};
use super::{
    AgentSpec, DraftEdit, JobRequest, JobResponse, JobsConfig, RequestError, SubmittedRequest,
    TypeSpec, Verifier, WorkPhase,
};
use crate::core::attempts::{AttemptEvent, AttemptEventKind};
use bowline_formats::agents::{AgentEvent, AgentEventKind, AgentProtocol, ResumePoint, TokenUsage};
use bowline_machines::Timestamp;
use bowline_machines::job::JobState;
use bowline_store::{JobAttributes, JobChange, MemoryStore, SecretKey, Store as _};
use bowline_supervisor::ShimProgram;
use run::Run;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use world::Shared;

/// Number of runs of the test; `BOWLINE_SIM_SEED` replays one.
const SEEDS: u64 = 600;
/// Tasks of one run.
const TASKS: usize = 4;
/// Title of the task that has phases.
const PHASED: &str = "2";
/// Moves in which faults are injected; afterwards everything can come to its end.
const TROUBLE: usize = 400;
/// Moves after which a run counts as hanging.
const MOVES_MAX: usize = 40_000;
/// Moves between two checks whether all is over.
const LOOK_EVERY: usize = 20;
/// Time at which a run begins.
const BEGIN_S: i64 = 1_800_000_000;

thread_local! {
    static NOW: Cell<Option<i64>> = const { Cell::new(None) };
    static IDS: Cell<u64> = const { Cell::new(0) };
}

/// Returns the simulated time of this thread.
pub(super) fn now() -> Option<Timestamp> {
    NOW.get().map(Timestamp)
}

/// Returns the next id of this thread's simulation: the same in every replay.
pub(super) fn next_id() -> Option<u64> {
    NOW.get()?;
    IDS.set(IDS.get() + 1);
    Some(IDS.get())
}

/// Random numbers that are the same in every replay.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn any<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        (!list.is_empty()).then(|| &list[self.below(list.len())])
    }
}

/// Creates a folder in memory if the system has one: a run writes hundreds of small files.
fn folder() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// Creates a run that has not begun.
fn prepare(seed: u64, folder: &Path, key: &SecretKey) -> Run {
    NOW.set(Some(BEGIN_S));
    IDS.set(0);
    let mut config = JobsConfig::new(folder, ShimProgram::new(Path::new("/bin/false"), &[]));
    config.slots = 3;
    config.runs_per_hour = 10_000;
    let agent = AgentSpec {
        command: vec!["agent".into()],
        protocol: AgentProtocol::Markers,
        environment: BTreeMap::new(),
        verifies: false,
    };
    config.agents.insert("agent".into(), agent);
    config.default_agent = "agent".into();
    let phase = |name: &str| WorkPhase {
        name: name.into(),
        review: true,
        verifier: Verifier::Named("agent".into()),
        ..WorkPhase::default()
    };
    config.verify_s = 600;
    let two = TypeSpec {
        name: "two".into(),
        phases: vec![phase("Plan"), phase("Make")],
        complete_on_exit: false,
        app: Vec::new(),
    };
    config.types.insert("two".into(), two);
    Run {
        dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        shared: Shared::default(),
        store: Arc::new(MemoryStore::new()),
        config: Arc::new(config),
        key: key.clone(),
        dispatcher: None,
        commands: Vec::new(),
        open: BTreeSet::new(),
        acknowledged: BTreeMap::new(),
        paused: BTreeSet::new(),
        said: Vec::new(),
        deaths: 0,
        losses: 0,
    }
}

/// Simulates one run; returns the deaths of the process, the lost agents and the violations.
fn simulate(seed: u64, folder: &Path, key: &SecretKey) -> (usize, usize, Vec<String>) {
    let mut run = prepare(seed, folder, key);
    run.begin();
    let mut moves = 0;
    while moves < MOVES_MAX && run.world().wrong.is_empty() {
        moves += 1;
        if moves % LOOK_EVERY == 0 && run.over() {
            break;
        }
        let trouble = moves < TROUBLE;
        if trouble && run.dice.below(25) == 0 {
            let soon = run.dice.below(6);
            run.world().dies_in.get_or_insert(soon);
        }
        run.world().slow = trouble && run.dice.below(3) > 0;
        match run.dice.below(12) {
            0 | 1 => run.person(trouble),
            2..=4 => run.supervise(trouble),
            5 | 6 => run.agent(trouble),
            7 | 8 => run.tell(),
            9 | 10 => run.finish(),
            _ => {
                let seconds = [0, 1, 1, 5, 40][run.dice.below(5)];
                NOW.set(NOW.get().map(|now| now + seconds));
                run.turn(None);
            }
        }
        run.look();
    }
    run.check();
    if moves >= MOVES_MAX {
        run.world().wrong.push("it does not end".into());
    }
    NOW.set(None);
    let wrong = std::mem::take(&mut run.world().wrong);
    (run.deaths, run.losses, wrong)
}

#[test]
fn whatever_goes_wrong_nothing_acknowledged_is_lost_and_every_task_ends() {
    let replayed = std::env::var("BOWLINE_SIM_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seeds = match replayed {
        Some(seed) => seed..seed + 1,
        None => 0..SEEDS,
    };
    let folder = folder();
    let key = SecretKey::open(&folder.path().join("key")).unwrap();
    let (mut deaths, mut losses) = (0, 0);
    for seed in seeds.clone() {
        let data = folder.path().join(seed.to_string());
        let (died, lost, wrong) = simulate(seed, &data, &key);
        let replay = format!(
            "BOWLINE_SIM_SEED={seed} cargo nextest run -p bowline-runner simulation::whatever"
        );
        assert!(wrong.is_empty(), "{wrong:#?}\nreplay: {replay}");
        deaths += died;
        losses += lost;
        std::fs::remove_dir_all(&data).unwrap();
    }
    if replayed.is_none() {
        // A simulation in which nothing happens proves nothing.
        let runs = usize::try_from(SEEDS).unwrap();
        assert!(deaths > 2 * runs && losses > runs / 2, "{deaths} {losses}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let folder = folder();
    let key = SecretKey::open(&folder.path().join("key")).unwrap();
    let run = |name: &str| simulate(7, &folder.path().join(name), &key);
    assert_eq!(run("a"), run("b"));
}

#[test]
fn a_step_about_a_removed_task_neither_fails_nor_takes_others_with_it() {
    let folder = folder();
    let key = SecretKey::open(&folder.path().join("key")).unwrap();
    let mut run = prepare(1, folder.path(), &key);
    run.begin();
    run.command(None, create("3", true));
    let done = |run: &Run| matches!(run.rows()[0].job.state, JobState::Completed { .. });
    for _ in 0..MOVES_MAX {
        if done(&run) {
            break;
        }
        run.supervise(false);
        run.agent(false);
        run.tell();
        run.finish();
    }
    assert!(done(&run));
    let id = run.rows()[0].id.clone();
    let mut dispatcher = run.dispatcher.take().unwrap();
    let attempt = dispatcher.live.keys().next().cloned().unwrap();
    let (sender, answers) = std::sync::mpsc::channel();
    let ask = |request| {
        let sender = sender.clone();
        let asked = SubmittedRequest {
            key: None,
            version: None,
            request,
        };
        let reply = move |it: Result<JobResponse, RequestError>| sender.send(it.is_ok()).unwrap();
        DispatcherInput::Request(Box::new(asked), Box::new(reply))
    };
    let usage = AgentEvent {
        start: 0,
        what: AgentEventKind::Usage(TokenUsage {
            input: 7,
            ..TokenUsage::default()
        }),
        resume: ResumePoint::default(),
    };
    let printed = AttemptEventKind::Output {
        offset: 0,
        bytes: b"7".to_vec(),
        events: vec![usage],
        resume: ResumePoint::default(),
    };
    let news = DispatcherInput::AgentEvent(AttemptEvent {
        id: attempt.as_str().into(),
        kind: printed,
    });
    // The agent's last output comes with the request to delete its task.
    let delete = ask(JobRequest::Delete(id.clone()));
    let another = ask(create("0", false));
    dispatcher.run_round(vec![delete, news, another]);
    dispatcher.run_round(Vec::new());
    assert_eq!(dispatcher.broken, None);
    assert_eq!(answers.try_recv(), Ok(true), "the other one is made");
    assert_eq!(run.store.find_job(&id).unwrap(), None);
    assert_eq!(run.rows().len(), 1);

    // Should a step about it be decided all the same, only that step is dropped.
    let mut stale = run.rows()[0].clone();
    stale.id = id;
    let change = JobChange::replace_state(&stale.id, 4, stale.job.clone(), stale.about.clone());
    dispatcher.stage_change(change);
    dispatcher.run_round(vec![ask(create("1", false))]);
    dispatcher.run_round(Vec::new());
    assert_eq!(
        (dispatcher.broken.clone(), answers.try_recv()),
        (None, Ok(true))
    );
    assert_eq!(dispatcher.failures.dropped_steps.load(Ordering::Relaxed), 1);
    NOW.set(None);
}

fn create(title: &str, submit: bool) -> JobRequest {
    JobRequest::Create {
        title: title.into(),
        description: "Tea".into(),
        depends_on: Vec::new(),
        scheduled_for: None,
        about: Box::new(JobAttributes {
            type_name: Some("custom".into()),
            ..JobAttributes::default()
        }),
        submit,
    }
}

#[test]
fn what_rests_on_something_that_is_not_durable_is_not_published_and_falls_with_it() {
    let folder = folder();
    let key = SecretKey::open(&folder.path().join("key")).unwrap();
    let mut run = prepare(1, folder.path(), &key);
    run.begin();
    let mut dispatcher = run.dispatcher.take().unwrap();
    let (sender, answers) = std::sync::mpsc::channel();
    let ask = |dispatcher: &mut JobDispatcher, request| {
        let sender = sender.clone();
        let reply = move |it: Result<JobResponse, RequestError>| {
            let version = it.map(|it| it.row.map(|row| (row.id, row.version)));
            sender.send(version).unwrap();
        };
        let asked = SubmittedRequest {
            key: None,
            version: None,
            request,
        };
        dispatcher.run_round(vec![DispatcherInput::Request(
            Box::new(asked),
            Box::new(reply),
        )]);
    };
    let edit = |task: &str, title: &str| JobRequest::Edit {
        task: task.into(),
        edit: Box::new(DraftEdit {
            title: Some(title.into()),
            ..DraftEdit::default()
        }),
    };
    run.world().slow = true;
    ask(&mut dispatcher, create("Tea", false));
    let id = dispatcher.rows.keys().next().unwrap().clone();
    ask(&mut dispatcher, edit(&id, "Cup"));
    assert!(answers.try_recv().is_err() && run.rows().is_empty());

    run.world().slow = false;
    dispatcher.run_round(Vec::new());
    for version in [1, 2] {
        let answer = answers.try_recv().unwrap().unwrap();
        assert_eq!(answer, Some((id.clone(), version)));
    }
    assert_eq!(run.row(&id).version, 2);

    run.world().slow = true;
    ask(&mut dispatcher, edit(&id, "Pot"));
    ask(&mut dispatcher, edit(&id, "Jug"));
    run.world().slow = false;
    run.world().dead = true;
    dispatcher.run_round(Vec::new());
    for _ in 0..2 {
        let answer = answers.try_recv().unwrap();
        assert!(
            matches!(answer, Err(RequestError::Unavailable(_))),
            "{answer:?}"
        );
    }
    assert!(dispatcher.broken.is_some());
    assert_eq!(
        (run.row(&id).version, run.row(&id).job.title.clone()),
        (2, "Cup".into())
    );
    NOW.set(None);
}
