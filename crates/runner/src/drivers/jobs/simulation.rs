//! The loop that decides over simulated time, supervisor and person: thousands of runs from seeds, each with whatever can go
//! wrong. The process dies between any two orders and before or after any commit, agents are lost, answers are slow and asked
//! for twice. Nothing acknowledged is lost, no attempt starts twice or beside another, and every task ends.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::desk::{Desk, Input};
use super::workshop::{Bench, Came, Finished, Task};
use super::{AgentSpec, Agents, Asked, Config, Phase, TypeSpec, Wish};
use crate::core::attempts::{Begin, Happened, Known, Message, News};
use bowline_formats::agents::{Adapter, Delivery, Event, Protocol, Resume, Writer};
use bowline_machines::Timestamp;
use bowline_machines::job::Life;
use bowline_store::{
    About, Advance, CheckpointRow, DeliveryRow, EffectRow, EventKind, EventQuery, EventRow,
    JobQuery, JobRow, Key, Memory, Outcome, Pruned, Record, RecordQuery, SpendQuery, SpendRow,
    Store, StoreError, TimerRow,
};
use bowline_supervisor::{Exit, Shim, Swept, Want};
use serde_json::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs of the test; `BOWLINE_SIM_SEED` replays one.
const SEEDS: u64 = 600;
/// Tasks of a run.
const TASKS: usize = 4;
/// Moves in which trouble is made; then everything can come to its end.
const TROUBLE: usize = 400;
/// A run that has not ended after so many moves hangs.
const MOVES_MAX: usize = 40_000;
/// Whether all is over is looked at now and then.
const LOOK_EVERY: usize = 20;
/// When the run begins.
const BEGIN_S: i64 = 1_800_000_000;

thread_local! {
    static NOW: Cell<Option<i64>> = const { Cell::new(None) };
    static IDS: Cell<u64> = const { Cell::new(0) };
}

/// The time of the simulation of this thread.
pub(super) fn now() -> Option<Timestamp> {
    NOW.get().map(Timestamp)
}

/// The next id of the simulation of this thread: the same in every replay.
pub(super) fn next_id() -> Option<u64> {
    NOW.get()?;
    IDS.set(IDS.get() + 1);
    Some(IDS.get())
}

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

/// What agents do, one after the other.
#[derive(Debug, Clone)]
enum Act {
    Print(&'static str),
    /// Reads until a message holds one of these; the first has it go on, any other has it print again.
    Wait(&'static str, &'static [&'static str]),
    Exit(i32),
    /// It has done its work, and says so.
    Done(&'static str),
}

const START: Act = Act::Wait("[/PHASE_START]", &[]);
const QUESTION: &str = "[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions: [green, black]\nrequired: true\n[/USER_QUESTION]\n";
const NEED: &str = "[DEPENDENCY_REQUEST]\ntype: api_key\nname: TEA_API_KEY\ndescription: tea\nrequired: true\n[/DEPENDENCY_REQUEST]\n";
const LIMIT: &str = "[ERROR]\ntype: recoverable\nmessage: slow down\nrecovery: pause_and_retry\nretry_after: 30\n[/ERROR]\n";
const COMPLETE: &str = "=== CUSTOM TASK COMPLETE ===\n";
const AGAIN: &[&str] = &["[/REWORK]", "[/REVIEW_REJECTED]"];

fn script(kind: usize, phase: &str, attempt: u32) -> Vec<Act> {
    let mut acts = vec![START];
    acts.extend(match kind {
        0 => vec![
            Act::Print("Step 1/2: ask\n"),
            Act::Print(QUESTION),
            Act::Wait("question_answer", &[]),
            Act::Done(COMPLETE),
        ],
        1 => vec![
            Act::Print(NEED),
            Act::Wait("[/DEPENDENCY_PROVIDED]", &[]),
            Act::Print(LIMIT),
            Act::Done(COMPLETE),
        ],
        2 => {
            let mut acts = Vec::new();
            if phase == "1" {
                acts.push(Act::Print("=== PHASE 1 COMPLETE ===\n"));
                acts.push(Act::Wait("[/PHASE_START]", AGAIN));
            }
            acts.push(Act::Done("=== PHASE 2 COMPLETE ===\n"));
            acts.push(Act::Wait("NEVER", AGAIN));
            acts
        }
        _ if attempt == 1 => vec![Act::Print("going\n"), Act::Exit(3)],
        _ => vec![Act::Print("Step 1/1: all\n"), Act::Done(COMPLETE)],
    });
    acts.push(Act::Wait("NEVER", &[]));
    acts
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Exited(Option<i32>),
    Lost,
    NotBegun,
}

struct Agent {
    job: String,
    acts: Vec<Act>,
    at: usize,
    log: Vec<u8>,
    input: BTreeMap<u64, String>,
    read: u64,
    want: Want,
    end: Option<End>,
    done: bool,
    /// Whoever watches it reads on here.
    reader: Option<Adapter>,
}

impl Agent {
    /// Goes on by one act, if it can.
    fn act(&mut self) {
        match self.acts.get(self.at).cloned() {
            None => {}
            Some(Act::Print(text)) => {
                self.log.extend(text.bytes());
                self.at += 1;
            }
            Some(Act::Done(text)) => {
                self.done = true;
                self.log.extend(text.bytes());
                self.at += 1;
            }
            Some(Act::Exit(code)) => self.end = Some(End::Exited(Some(code))),
            Some(Act::Wait(word, again)) => {
                let next = self.input.range(self.read + 1..).next();
                let Some((number, text)) = next.map(|(number, text)| (*number, text.clone()))
                else {
                    return;
                };
                self.read = number;
                if text.contains(word) {
                    self.at += 1;
                } else if again.iter().any(|it| text.contains(it)) {
                    self.at -= 1;
                }
            }
        }
    }
}

enum Order {
    Begin {
        folder: PathBuf,
        job: String,
        kind: usize,
        phase: String,
    },
    Attach(Resume),
    Want(Want),
    Say(Option<u64>, String),
}

/// Everything outside of the process that decides, and whether that process lives.
#[derive(Default)]
struct World {
    agents: BTreeMap<String, Agent>,
    orders: VecDeque<(String, Order)>,
    bench: Vec<Task>,
    answers: Vec<(usize, Result<Option<String>, String>)>,
    /// Orders and commits until the process dies.
    dies_in: Option<usize>,
    dead: bool,
    wrong: Vec<String>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<World>>);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thing that the process does; whether it still lives to do it.
    fn lives(&self) -> bool {
        let mut world = self.world();
        match &mut world.dies_in {
            Some(0) => world.dead = true,
            Some(left) => *left -= 1,
            None => {}
        }
        !world.dead
    }

    fn order(&self, id: &str, order: Order) {
        if self.lives() {
            self.world().orders.push_back((id.to_owned(), order));
        }
    }
}

impl Agents for Shared {
    fn begin(&self, begin: Begin, _hidden: Vec<String>) {
        let value = |name: &str| begin.environment.get(name).cloned().unwrap_or_default();
        let order = Order::Begin {
            job: value("BOWLINE_TASK_ID"),
            kind: begin.spec.name.parse().unwrap(),
            phase: value("BOWLINE_PHASE"),
            folder: begin.folder,
        };
        self.order(&begin.spec.attempt, order);
    }

    fn attach(&self, id: &str, known: Known) {
        self.order(id, Order::Attach(known.resume));
    }

    fn hide(&self, _id: &str, _values: Vec<String>) {}

    fn want(&self, id: &str, want: Want) {
        self.order(id, Order::Want(want));
    }

    fn interrupt(&self, _id: &str) {}

    fn say(&self, id: &str, seq: Option<u64>, mut message: Message) {
        if let Delivery::Input(text) = message(&mut Writer::new(Protocol::Markers)) {
            self.order(id, Order::Say(seq, text));
        }
    }

    fn processed(&self, _id: &str, _upto: u64, _resume: Resume) {}
}

impl Bench for Shared {
    fn give(&self, task: Task) {
        if self.lives() {
            self.world().bench.push(task);
        }
    }
}

/// A store that ends with its process: before a commit, or right behind it.
#[derive(Debug)]
struct Mortal(Arc<Memory>, Shared);

macro_rules! reads {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Result<$out, StoreError> { self.0.$name($($arg),*) })*
    };
}

impl Store for Mortal {
    fn advance(&self, steps: Vec<Advance>) -> Result<Vec<Outcome>, StoreError> {
        if !self.1.lives() {
            return Err(StoreError::Failed("the process is dead".into()));
        }
        let done = self.0.advance(steps);
        self.1.lives();
        done
    }

    reads! {
        prune(before: Timestamp) -> Pruned;
        backup(to: &Path) -> ();
        job(id: &str) -> Option<JobRow>;
        jobs(wanted: &JobQuery) -> Vec<JobRow>;
        open_jobs() -> Vec<JobRow>;
        counts() -> Vec<(bowline_machines::job::TaskStatus, u64)>;
        dependents(id: &str) -> Vec<String>;
        record(id: &str) -> Option<Record>;
        records(wanted: &RecordQuery) -> Vec<Record>;
        events(wanted: &EventQuery) -> Vec<EventRow>;
        feed() -> (u64, u64);
        effects() -> Vec<EffectRow>;
        deliveries(job: &str) -> Vec<DeliveryRow>;
        timers() -> Vec<TimerRow>;
        spend(wanted: &SpendQuery) -> Vec<SpendRow>;
        request(id: &str) -> Option<Value>;
    }
}

/// A command of the person that is not answered yet, and what it is for the history.
struct Command {
    key: String,
    job: Option<String>,
    verb: &'static str,
    wish: Wish,
}

struct Run {
    dice: Dice,
    shared: Shared,
    store: Arc<Memory>,
    config: Arc<Config>,
    key: Key,
    desk: Option<Desk>,
    commands: Vec<Command>,
    open: BTreeSet<usize>,
    acknowledged: BTreeMap<(String, &'static str), usize>,
    paused: BTreeSet<String>,
    deaths: usize,
    losses: usize,
}

impl Run {
    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    fn row(&self, id: &str) -> JobRow {
        self.store.job(id).unwrap().unwrap()
    }

    fn rows(&self) -> Vec<JobRow> {
        self.store.jobs(&JobQuery::default()).unwrap()
    }

    /// A new process takes up what is there.
    fn begin(&mut self) {
        let mut world = self.world();
        world.dead = false;
        world.dies_in = None;
        world.orders.clear();
        world.bench.clear();
        world.agents.values_mut().for_each(|it| it.reader = None);
        drop(world);
        let store = Arc::new(Mortal(self.store.clone(), self.shared.clone()));
        let ports = (Box::new(self.shared.clone()), Box::new(self.shared.clone()));
        let mut desk = Desk::with(
            self.config.clone(),
            store,
            self.key.clone(),
            ports.0,
            ports.1,
        )
        .unwrap();
        desk.reconcile();
        desk.turn(Vec::new());
        self.desk = Some(desk);
    }

    fn turn(&mut self, input: Option<Input>) {
        if let Some(desk) = &mut self.desk {
            desk.turn(input.into_iter().collect());
        }
        let dead = self.world().dead || self.desk.as_ref().is_none_or(|it| it.broken.is_some());
        let answers = std::mem::take(&mut self.world().answers);
        for (number, answer) in answers {
            self.answered(number, answer);
        }
        if dead {
            self.deaths += 1;
            self.begin();
        }
    }

    fn answered(&mut self, number: usize, answer: Result<Option<String>, String>) {
        self.open.remove(&number);
        let command = &self.commands[number];
        let verb = command.verb;
        if let Ok(made) = answer {
            let job = command.job.clone().or(made).unwrap();
            match verb {
                "create" => {}
                "pause" => drop(self.paused.insert(job.clone())),
                _ => drop(self.paused.remove(&job)),
            }
            *self.acknowledged.entry((job, verb)).or_default() += 1;
        }
    }

    /// Gives a command, or gives one again that was not answered.
    fn ask(&mut self, number: usize) {
        let command = &self.commands[number];
        let shared = self.shared.clone();
        let reply = move |answer: Result<super::Answered, super::Refused>| {
            // An answer of a process that is dead comes from nowhere.
            let mut world = shared.world();
            if !world.dead {
                let answer = answer
                    .map(|it| it.row.map(|row| row.id))
                    .map_err(|no| format!("{no:?}"));
                world.answers.push((number, answer));
            }
        };
        let asked = Asked {
            request: Some(command.key.clone()),
            version: None,
            wish: command.wish.clone(),
        };
        self.open.insert(number);
        self.turn(Some(Input::Asked(Box::new(asked), Box::new(reply))));
    }

    fn command(&mut self, job: Option<&str>, verb: &'static str, wish: Wish) {
        let number = self.commands.len();
        let key = format!("r{number}");
        self.commands.push(Command {
            key,
            job: job.map(str::to_owned),
            verb,
            wish,
        });
        self.ask(number);
    }

    /// The person does something that somebody waits for, or that comes to mind.
    fn person(&mut self, trouble: bool) {
        if let Some(number) = self.open.iter().next().copied() {
            self.ask(number);
            return;
        }
        if self.commands.len() < TASKS {
            let type_name = if self.commands.len() == 2 {
                "two"
            } else {
                "custom"
            };
            let about = Box::new(About {
                type_name: Some(type_name.into()),
                ..About::default()
            });
            // The kind of its agent.
            let (title, description) = (self.commands.len().to_string(), "Tea".to_owned());
            let (depends_on, scheduled_for) = (Vec::new(), None);
            self.command(
                None,
                "create",
                Wish::Create {
                    title,
                    description,
                    depends_on,
                    scheduled_for,
                    about,
                    submit: true,
                },
            );
            return;
        }
        let rows = self.store.open_jobs().unwrap();
        let Some(row) = self.dice.any(&rows).cloned() else {
            return;
        };
        let id = row.id.clone();
        let of = Some(id.as_str());
        let task = id.clone();
        match &row.job.life {
            Life::Running if trouble && self.dice.below(8) == 0 => {
                self.command(of, "pause", Wish::Pause { task })
            }
            Life::Paused(_) if self.paused.contains(&id) && self.dice.below(4) == 0 => {
                self.command(of, "resume", Wish::Resume { task });
            }
            Life::Paused(bowline_machines::job::PausedBy::Breaker { until: None, .. }) => {
                self.command(of, "resume", Wish::Resume { task });
            }
            Life::Asking => {
                let question = row.job.open_question().unwrap().id.clone();
                self.command(
                    of,
                    "answer",
                    Wish::Answer {
                        question,
                        text: "green".into(),
                    },
                );
            }
            Life::Needing => {
                let dependency = row.job.open_dependency().unwrap().id.clone();
                self.command(
                    of,
                    "provide",
                    Wish::Provide {
                        dependency,
                        value: "sk-very-green-tea".into(),
                    },
                );
            }
            Life::Reviewing => {
                let review = row.job.open_review().unwrap().id.clone();
                if trouble && self.dice.below(3) == 0 {
                    let (feedback, comments) = ("more".to_owned(), Vec::new());
                    self.command(
                        of,
                        "changes",
                        Wish::RequestChanges {
                            review,
                            feedback,
                            comments,
                        },
                    );
                } else {
                    self.command(
                        of,
                        "approve",
                        Wish::Approve {
                            review,
                            comment: None,
                        },
                    );
                }
            }
            _ => {}
        }
    }

    /// The supervisor carries the oldest order out.
    fn supervise(&mut self, trouble: bool) {
        let unbegun = trouble && self.dice.below(30) == 0;
        let mut world = self.world();
        let Some((id, order)) = world.orders.pop_front() else {
            return;
        };
        let known = world.agents.get_mut(&id);
        match order {
            Order::Begin {
                folder,
                job,
                kind,
                phase,
            } => {
                let beside = |it: &Agent| it.job == job && it.end.is_none();
                if world.agents.values().any(beside) {
                    world
                        .wrong
                        .push(format!("{id} began while an earlier one lives"));
                }
                if world.agents.contains_key(&id) {
                    world.wrong.push(format!("{id} began twice"));
                }
                std::fs::create_dir_all(&folder).unwrap();
                let attempt = id.rsplit_once('-').unwrap().1.parse().unwrap();
                let agent = Agent {
                    acts: script(kind, &phase, attempt),
                    at: 0,
                    log: Vec::new(),
                    input: BTreeMap::new(),
                    read: 0,
                    want: Want::Running,
                    end: unbegun.then_some(End::NotBegun),
                    done: false,
                    reader: Some(Adapter::resume_at(
                        Protocol::Markers,
                        None,
                        Resume::default(),
                    )),
                    job,
                };
                world.agents.insert(id, agent);
            }
            Order::Attach(resume) => {
                if let Some(agent) = known {
                    agent.reader = Some(Adapter::resume_at(Protocol::Markers, None, resume));
                }
            }
            Order::Want(want) => {
                if let Some(agent) = known.filter(|it| it.reader.is_some()) {
                    agent.want = want;
                }
            }
            Order::Say(seq, text) => {
                if let Some(agent) = known.filter(|it| it.reader.is_some()) {
                    let next = agent.input.len() as u64 + 1;
                    agent.input.entry(seq.unwrap_or(next)).or_insert(text);
                }
            }
        }
    }

    /// An agent goes on, or is ended as it was told.
    fn agent(&mut self, trouble: bool) {
        let lost = trouble && self.dice.below(40) == 0;
        let ids: Vec<String> = {
            let world = self.world();
            let alive = world.agents.iter().filter(|(_, it)| it.end.is_none());
            alive.map(|(id, _)| id.clone()).collect()
        };
        let Some(id) = self.dice.any(&ids).cloned() else {
            return;
        };
        self.losses += usize::from(lost);
        let mut world = self.world();
        let agent = world.agents.get_mut(&id).unwrap();
        match agent.want {
            _ if lost => agent.end = Some(End::Lost),
            Want::Ended => agent.end = Some(End::Exited(None)),
            Want::Paused => {}
            Want::Running => agent.act(),
        }
    }

    /// The process that decides is told what somebody printed, some of it, or that somebody ended.
    fn tell(&mut self) {
        let ids: Vec<String> = {
            let world = self.world();
            let told = |it: &Agent| {
                let reader = it.reader.as_ref();
                reader
                    .is_some_and(|reader| it.end.is_some() || reader.offset() < it.log.len() as u64)
            };
            world
                .agents
                .iter()
                .filter(|(_, it)| told(it))
                .map(|(id, _)| id.clone())
                .collect()
        };
        let Some(id) = self.dice.any(&ids).cloned() else {
            return;
        };
        let part = self.dice.below(60) + 1;
        let mut world = self.world();
        let agent = world.agents.get_mut(&id).unwrap();
        let reader = agent.reader.as_mut().unwrap();
        let from = usize::try_from(reader.offset()).unwrap();
        let upto = agent.log.len().min(from + part);
        let (offset, bytes) = (reader.offset(), agent.log[from..upto].to_vec());
        let mut events = Vec::new();
        let mut keep = |event: Event<'_>| events.push(event.into_owned());
        reader.push(&bytes, &mut keep);
        if upto == agent.log.len() {
            match agent.end {
                None => reader.flush_pending(&mut keep),
                Some(_) => reader.finish(&mut keep),
            }
        }
        let resume = reader.resume();
        let over = agent.end.filter(|_| upto == agent.log.len());
        let last = over.map(|end| {
            agent.reader = None;
            match end {
                End::Lost => Happened::Lost(Swept::default()),
                End::NotBegun => Happened::NotBegun { message: None },
                End::Exited(code) => {
                    let exit = Exit {
                        started: true,
                        code,
                        ..Exit::default()
                    };
                    Happened::Exited {
                        exit: Box::new(exit),
                        error_tail: String::new(),
                    }
                }
            }
        });
        drop(world);
        let news = |what| {
            Input::News(News {
                id: id.as_str().into(),
                what,
            })
        };
        if !bytes.is_empty() || !events.is_empty() {
            self.turn(Some(news(Happened::Output {
                offset,
                bytes,
                events,
                resume,
            })));
        }
        // Unless whoever was to hear it died of the words before.
        if let Some(last) = last {
            let watched = self
                .world()
                .orders
                .iter()
                .any(|(it, order)| *it == id && matches!(order, Order::Attach(_)));
            if !watched {
                self.turn(Some(news(last)));
            }
        }
    }

    /// Something is finished on the bench.
    fn finish(&mut self) {
        let count = self.world().bench.len();
        if count == 0 {
            return;
        }
        let which = self.dice.below(count);
        let fails = self.dice.below(2) == 0;
        let task = self.world().bench.remove(which);
        let (effect, job, what) = match task {
            Task::Snapshot {
                effect,
                row,
                at,
                reason,
                id,
                ..
            } => {
                let saved = CheckpointRow {
                    reason: reason.into(),
                    attempt: row.job.attempt,
                    phase: row.job.phase,
                    ..CheckpointRow::default()
                };
                (
                    effect,
                    row.id,
                    Came::Saved {
                        id,
                        at,
                        row: Box::new(saved),
                    },
                )
            }
            Task::Check {
                effect,
                job,
                verification,
                ..
            } => {
                // Every other check may fail: never so many in a row that the task would.
                let fails = fails && verification % 2 == 1;
                let issues = if fails {
                    vec!["count_mismatch".to_owned()]
                } else {
                    Vec::new()
                };
                (
                    effect,
                    job,
                    Came::Checked {
                        verification,
                        issues,
                        files: Vec::new(),
                    },
                )
            }
            Task::Archive { effect, job, .. } | Task::ErrorLog { effect, job, .. } => {
                (effect, job, Came::Done)
            }
            Task::Prepare {
                effect,
                job,
                attempt,
                ..
            } => (effect, job, Came::Ready { attempt }),
        };
        self.turn(Some(Input::Finished(Box::new(Finished {
            effect,
            job,
            what,
        }))));
    }

    /// What must hold at every moment.
    fn look(&mut self) {
        for id in &self.paused {
            let row = self.row(id);
            let by_person = matches!(&row.job.life, Life::Paused(by) if by.name() == "user");
            let resumes = self
                .open
                .iter()
                .any(|it| self.commands[*it].job.as_deref() == Some(id));
            if !by_person && !resumes {
                let life = format!("{id} was paused by a person and is {:?}", row.job.life);
                self.shared.world().wrong.push(life);
            }
        }
    }

    /// What must hold at the end.
    fn check(&mut self) {
        let mut wrong = Vec::new();
        for row in self.rows() {
            let id = &row.id;
            let world = self.world();
            let mut done = world.agents.values().filter(|it| it.job == *id && it.done);
            if !matches!(row.job.life, Life::Completed { .. }) || done.next().is_none() {
                wrong.push(format!("{id} is {:?}", row.job.life));
            }
            drop(done);
            drop(world);
            let wanted = EventQuery {
                job: Some(id.clone()),
                kind: Some(EventKind::Transition),
                ..EventQuery::default()
            };
            let mut found: BTreeMap<&str, usize> = BTreeMap::new();
            for event in self.store.events(&wanted).unwrap() {
                let text = |name: &str| event.body[name].as_str().unwrap_or_default().to_owned();
                let verb = match (text("entity").as_str(), text("trigger").as_str()) {
                    ("task", "SUBMIT") => "create",
                    ("agent", "PAUSE") if event.body["metadata"]["pausedBy"] == "user" => "pause",
                    ("agent", "RESUME") => "resume",
                    ("agent", "ANSWER") => "answer",
                    ("agent", "DEPENDENCY_PROVIDED") => "provide",
                    ("task", "APPROVE") if text("from") == "review" => "approve",
                    ("task", "REQUEST_CHANGES") => "changes",
                    _ => continue,
                };
                *found.entry(verb).or_default() += 1;
            }
            for verb in [
                "create", "pause", "resume", "answer", "provide", "approve", "changes",
            ] {
                let told = self
                    .acknowledged
                    .get(&(id.clone(), verb))
                    .copied()
                    .unwrap_or(0);
                let found = found.get(verb).copied().unwrap_or(0);
                if told != found {
                    wrong.push(format!(
                        "{id}: {told} times {verb} acknowledged, {found} in the history"
                    ));
                }
            }
            if row.job.questions.len() > 1 {
                wrong.push(format!("{id} asked twice: {:?}", row.job.questions));
            }
        }
        let mut world = self.world();
        let left = world.agents.iter().filter(|(_, it)| it.end.is_none());
        wrong.extend(left.map(|(id, _)| format!("{id} is left over")));
        world.wrong.extend(wrong);
    }

    /// Whether nothing is left to be done.
    fn over(&self) -> bool {
        self.commands.len() >= TASKS
            && self.open.is_empty()
            && self.store.open_jobs().unwrap().is_empty()
            && self.world().orders.is_empty()
            && self.store.effects().unwrap().is_empty()
    }
}

/// A folder in memory, where the system has one: a run writes hundreds of small files.
fn folder() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// One run; how often the process died, how many agents were lost, and what went wrong.
fn simulate(seed: u64, folder: &Path, key: &Key) -> (usize, usize, Vec<String>) {
    NOW.set(Some(BEGIN_S));
    IDS.set(0);
    let mut config = Config::new(folder, Shim::new(Path::new("/bin/false"), &[]));
    config.slots = 3;
    config.runs_per_hour = 10_000;
    let agent = AgentSpec {
        command: vec!["agent".into()],
        protocol: Protocol::Markers,
        environment: BTreeMap::new(),
        verifies: false,
    };
    config.agents.insert("agent".into(), agent);
    config.default_agent = "agent".into();
    let phase = |name: &str| Phase {
        name: name.into(),
        review: true,
        ..Phase::default()
    };
    let two = TypeSpec {
        name: "two".into(),
        phases: vec![phase("Plan"), phase("Make")],
        complete_on_exit: false,
        app: Vec::new(),
    };
    config.types.insert("two".into(), two);
    let mut run = Run {
        dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        shared: Shared::default(),
        store: Arc::new(Memory::new()),
        config: Arc::new(config),
        key: key.clone(),
        desk: None,
        commands: Vec::new(),
        open: BTreeSet::new(),
        acknowledged: BTreeMap::new(),
        paused: BTreeSet::new(),
        deaths: 0,
        losses: 0,
    };
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
    let key = Key::open(&folder.path().join("key")).unwrap();
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
    let key = Key::open(&folder.path().join("key")).unwrap();
    let run = |name: &str| simulate(7, &folder.path().join(name), &key);
    assert_eq!(run("a"), run("b"));
}
