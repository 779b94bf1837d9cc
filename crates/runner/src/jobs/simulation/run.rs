//! One simulated run: the moves that can happen next, and the invariants.

use super::super::dispatcher::{DispatcherInput, JobDispatcher};
use super::super::worker_pool::{FinishedWork, WorkItem, WorkOutcome};
use super::super::{JobRequest, JobResponse, JobsConfig, RequestError, SubmittedRequest};
use super::world::{Agent, End, Mortal, Order, Shared, World, looking, script};
use super::{Dice, PHASED, TASKS};
use crate::core::attempts::{AttemptEvent, AttemptEventKind};
use bowline_formats::agents::{AgentAdapter, AgentEvent, AgentProtocol, ResumePoint};
use bowline_machines::job::{self, FailureCode, JobState, MessageStatus, PauseCause};
use bowline_store::{
    CheckpointRow, EventKind, EventQuery, JobAttributes, JobQuery, JobRow, MemoryStore, RecordBody,
    RecordKind, RecordQuery, SecretKey, Store as _,
};
use bowline_supervisor::{AttemptExit, SweepReport, WantedState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};

/// A command of the person, kept to repeat it until it is answered.
pub(super) struct Command {
    pub(super) key: String,
    pub(super) job: Option<String>,
    pub(super) request: JobRequest,
}

pub(super) struct Run {
    pub(super) dice: Dice,
    pub(super) shared: Shared,
    pub(super) store: Arc<MemoryStore>,
    pub(super) config: Arc<JobsConfig>,
    pub(super) key: SecretKey,
    pub(super) dispatcher: Option<JobDispatcher>,
    pub(super) commands: Vec<Command>,
    pub(super) open: BTreeSet<usize>,
    pub(super) acknowledged: BTreeMap<(String, &'static str), usize>,
    pub(super) paused: BTreeSet<String>,
    /// Messages of the person to agents: the task, and the number of the command.
    pub(super) said: Vec<(String, usize)>,
    pub(super) deaths: usize,
    pub(super) losses: usize,
}

impl Run {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    pub(super) fn row(&self, id: &str) -> JobRow {
        self.store.find_job(id).unwrap().unwrap()
    }

    pub(super) fn rows(&self) -> Vec<JobRow> {
        self.store.list_jobs(&JobQuery::default()).unwrap()
    }

    /// Starts a new process on the present state.
    pub(super) fn begin(&mut self) {
        let mut world = self.world();
        world.dead = false;
        world.dies_in = None;
        world.orders.clear();
        world.bench.clear();
        world.agents.values_mut().for_each(|it| it.reader = None);
        drop(world);
        let store = Arc::new(Mortal(self.store.clone(), self.shared.clone()));
        let ports = (Box::new(self.shared.clone()), Box::new(self.shared.clone()));
        let mut dispatcher = JobDispatcher::with_drivers(
            self.config.clone(),
            store,
            self.key.clone(),
            ports.0,
            ports.1,
        )
        .unwrap();
        dispatcher.reconcile();
        dispatcher.run_round(Vec::new());
        self.dispatcher = Some(dispatcher);
    }

    pub(super) fn turn(&mut self, input: Option<DispatcherInput>) {
        let slow = self.world().slow;
        if let Some(dispatcher) = &mut self.dispatcher {
            // The caller's thread commits at once, or waits for the commit among others.
            dispatcher.alone = !slow && matches!(input, Some(DispatcherInput::Request(..)));
            dispatcher.run_round(input.into_iter().collect());
        }
        let dead = self.world().dead
            || self
                .dispatcher
                .as_ref()
                .is_none_or(|it| it.broken.is_some());
        let answers = std::mem::take(&mut self.world().answers);
        for (number, answer) in answers {
            self.answered(number, answer);
        }
        if dead {
            self.deaths += 1;
            self.begin();
        }
    }

    pub(super) fn answered(&mut self, number: usize, answer: Result<Option<String>, String>) {
        // A command repeated while it was flushed is answered twice, and counts once.
        if !self.open.remove(&number) {
            return;
        }
        let command = &self.commands[number];
        let verb = command.request.verb();
        if let Ok(made) = answer {
            let job = command.job.clone().or(made).unwrap();
            match verb {
                "create" => {}
                "say" => self.said.push((job.clone(), number)),
                "pause" => drop(self.paused.insert(job.clone())),
                _ => drop(self.paused.remove(&job)),
            }
            *self.acknowledged.entry((job, verb)).or_default() += 1;
        }
    }

    /// Submits a command, possibly again.
    pub(super) fn ask(&mut self, number: usize) {
        let command = &self.commands[number];
        let shared = self.shared.clone();
        let reply = move |answer: Result<JobResponse, RequestError>| {
            // A reply of a dead process is lost.
            let mut world = shared.world();
            if !world.dead {
                let answer = answer
                    .map(|it| it.row.map(|row| row.id))
                    .map_err(|no| format!("{no:?}"));
                world.answers.push((number, answer));
            }
        };
        let asked = SubmittedRequest {
            key: Some(command.key.clone()),
            version: None,
            request: command.request.clone(),
        };
        self.open.insert(number);
        self.turn(Some(DispatcherInput::Request(
            Box::new(asked),
            Box::new(reply),
        )));
    }

    pub(super) fn command(&mut self, job: Option<&str>, request: JobRequest) {
        let number = self.commands.len();
        let key = format!("r{number}");
        self.commands.push(Command {
            key,
            job: job.map(str::to_owned),
            request,
        });
        self.ask(number);
    }

    /// Lets the person answer what is waited for, or do something at random.
    pub(super) fn person(&mut self, trouble: bool) {
        if let Some(number) = self.open.iter().next().copied() {
            self.ask(number);
            return;
        }
        if self.commands.len() < TASKS {
            // The title selects the script of its agent.
            let (title, description) = (self.commands.len().to_string(), "Tea".to_owned());
            let type_name = if title == PHASED { "two" } else { "custom" };
            let about = Box::new(JobAttributes {
                type_name: Some(type_name.into()),
                ..JobAttributes::default()
            });
            let (depends_on, scheduled_for) = (Vec::new(), None);
            self.command(
                None,
                JobRequest::Create {
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
        if trouble && self.dice.below(40) == 0 {
            self.command(of, JobRequest::Command(task, job::Command::Cancel));
            return;
        }
        // Only a task that asks nothing: the restored one would ask again.
        let saved = row
            .about
            .checkpoint
            .as_ref()
            .filter(|_| row.job.title == PHASED);
        match &row.job.state {
            JobState::Reviewing | JobState::Verifying { .. } | JobState::Paused(_)
                if trouble && saved.is_some() && self.dice.below(10) == 0 =>
            {
                let checkpoint = saved.map(|(id, _)| id.clone()).unwrap();
                self.command(of, JobRequest::Restore { task, checkpoint });
            }
            JobState::Running if trouble && self.dice.below(8) == 0 => {
                self.command(of, JobRequest::Command(task, job::Command::Pause))
            }
            JobState::Running | JobState::Asking | JobState::Reviewing | JobState::Paused(_)
                if trouble && self.dice.below(4) == 0 =>
            {
                let text = format!("word-{}-word", self.commands.len());
                self.command(of, JobRequest::SendMessage { task, text });
            }
            JobState::Paused(_) if self.paused.contains(&id) && self.dice.below(4) == 0 => {
                self.command(of, JobRequest::Command(task, job::Command::Resume));
            }
            JobState::Paused(PauseCause::Breaker { until: None, .. }) => {
                self.command(of, JobRequest::Command(task, job::Command::Resume));
            }
            JobState::Asking => {
                let question = row.job.open_question().unwrap().id.clone();
                let text = "green".into();
                self.command(
                    of,
                    JobRequest::RecordCommand(job::Command::Answer { question, text }),
                );
            }
            JobState::Needing => {
                let dependency = row.job.open_dependency().unwrap().id.clone();
                let value = "sk-very-green-tea".into();
                self.command(of, JobRequest::Provide { dependency, value });
            }
            JobState::Reviewing => {
                let review = row.job.open_review().unwrap().id.clone();
                let request = match trouble && self.dice.below(3) == 0 {
                    true => JobRequest::RequestChanges {
                        review,
                        feedback: "more".to_owned(),
                        comments: Vec::new(),
                    },
                    false => JobRequest::RecordCommand(job::Command::Approve {
                        review,
                        comment: None,
                    }),
                };
                self.command(of, request);
            }
            _ => {}
        }
    }

    /// Lets the supervisor carry out the oldest order.
    pub(super) fn supervise(&mut self, trouble: bool) {
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
                let looks = kind.is_none();
                let beside = |it: &Agent| it.job == job && it.looks == looks && it.end.is_none();
                if world.agents.values().any(beside) {
                    world
                        .wrong
                        .push(format!("{id} began while an earlier one lives"));
                }
                if world.agents.contains_key(&id) {
                    world.wrong.push(format!("{id} began twice"));
                }
                std::fs::create_dir_all(&folder).unwrap();
                let number = id.rsplit_once('-').unwrap().1.trim_start_matches('v');
                let number = number.parse().unwrap();
                let unbegun = unbegun && (!looks || number % 2 == 1);
                let agent = Agent {
                    acts: match kind {
                        Some(kind) => script(kind, &phase, number),
                        None => looking(number),
                    },
                    looks,
                    at: 0,
                    log: Vec::new(),
                    input: BTreeMap::new(),
                    read: 0,
                    reported: 0,
                    want: WantedState::Running,
                    end: unbegun.then_some(End::NotBegun),
                    done: false,
                    reader: Some(AgentAdapter::resume_at(
                        AgentProtocol::Markers,
                        None,
                        ResumePoint::default(),
                    )),
                    job,
                };
                world.agents.insert(id, agent);
            }
            Order::Attach(resume) => {
                if let Some(agent) = known {
                    agent.reader = Some(AgentAdapter::resume_at(
                        AgentProtocol::Markers,
                        None,
                        resume,
                    ));
                    agent.reported = 0;
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

    /// Lets an agent run its next action, or ends it as ordered.
    pub(super) fn agent(&mut self, trouble: bool) {
        let lost = trouble && self.dice.below(40) == 0;
        let ids: Vec<String> = {
            let world = self.world();
            let alive = world.agents.iter().filter(|(_, it)| it.end.is_none());
            alive.map(|(id, _)| id.clone()).collect()
        };
        let Some(id) = self.dice.any(&ids).cloned() else {
            return;
        };
        // Too many verifications without a result would end the task.
        let lost = lost && !self.world().agents[&id].looks;
        self.losses += usize::from(lost);
        let mut world = self.world();
        let agent = world.agents.get_mut(&id).unwrap();
        match agent.want {
            _ if lost => agent.end = Some(End::Lost),
            WantedState::Ended => agent.end = Some(End::Exited(None)),
            WantedState::Paused => {}
            WantedState::Running => agent.act(),
        }
    }

    /// Delivers a part of an agent's output, or its end, to the dispatcher.
    pub(super) fn tell(&mut self) {
        let ids: Vec<String> = {
            let world = self.world();
            let has_news = |it: &Agent| {
                let reader = it.reader.as_ref();
                reader.is_some_and(|reader| {
                    let printed = reader.offset() < it.log.len() as u64;
                    printed || it.end.is_some() || it.read > it.reported
                })
            };
            world
                .agents
                .iter()
                .filter(|(_, it)| has_news(it))
                .map(|(id, _)| id.clone())
                .collect()
        };
        let Some(id) = self.dice.any(&ids).cloned() else {
            return;
        };
        let part = self.dice.below(60) + 1;
        let mut world = self.world();
        let agent = world.agents.get_mut(&id).unwrap();
        // A dead shim reports nothing.
        if agent.read > agent.reported && agent.end != Some(End::Lost) {
            let upto = agent.read;
            agent.reported = upto;
            drop(world);
            let (id, what) = (id.as_str().into(), AttemptEventKind::InputRead { upto });
            self.turn(Some(DispatcherInput::AgentEvent(AttemptEvent {
                id,
                kind: what,
            })));
            return;
        }
        let reader = agent.reader.as_mut().unwrap();
        let from = usize::try_from(reader.offset()).unwrap();
        let upto = agent.log.len().min(from + part);
        let (offset, bytes) = (reader.offset(), agent.log[from..upto].to_vec());
        let mut events = Vec::new();
        let mut keep = |event: AgentEvent<'_>| events.push(event.into_owned());
        reader.push(&bytes, &mut keep);
        if upto == agent.log.len() {
            match agent.end {
                None => reader.flush_pending(&mut keep),
                Some(_) => reader.finish(&mut keep),
            }
        }
        let resume = reader.resume_point();
        let over = agent.end.filter(|_| upto == agent.log.len());
        let last = over.map(|end| {
            agent.reader = None;
            match end {
                End::Lost => AttemptEventKind::Lost(SweepReport::default()),
                End::NotBegun => AttemptEventKind::NeverStarted { message: None },
                End::Exited(code) => {
                    let exit = AttemptExit {
                        started: true,
                        code,
                        ..AttemptExit::default()
                    };
                    AttemptEventKind::Exited {
                        exit: Box::new(exit),
                        error_tail: String::new(),
                    }
                }
            }
        });
        drop(world);
        let news = |what| {
            DispatcherInput::AgentEvent(AttemptEvent {
                id: id.as_str().into(),
                kind: what,
            })
        };
        if !bytes.is_empty() || !events.is_empty() {
            self.turn(Some(news(AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume,
            })));
        }
        // Unless the process that was to receive it died of the output before.
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

    /// Finishes one task of the worker pool.
    pub(super) fn finish(&mut self) {
        let count = self.world().bench.len();
        if count == 0 {
            return;
        }
        let which = self.dice.below(count);
        let fails = self.dice.below(2) == 0;
        let task = self.world().bench.remove(which);
        let (effect, job, what) = match task {
            WorkItem::Snapshot {
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
                    WorkOutcome::Saved {
                        id,
                        at,
                        row: Box::new(saved),
                    },
                )
            }
            WorkItem::Check {
                effect,
                job,
                verification,
                ..
            } => {
                // Every other check may fail, but never so many in a row that the task fails.
                let fails = fails && verification % 2 == 1;
                let issues = if fails {
                    vec!["count_mismatch".to_owned()]
                } else {
                    Vec::new()
                };
                (
                    effect,
                    job,
                    WorkOutcome::Checked {
                        verification,
                        issues,
                        files: Vec::new(),
                    },
                )
            }
            WorkItem::Archive { effect, job, .. } | WorkItem::ErrorLog { effect, job, .. } => {
                (effect, job, WorkOutcome::Done)
            }
            WorkItem::Prepare {
                effect,
                job,
                attempt,
                ..
            } => (effect, job, WorkOutcome::Ready { attempt }),
        };
        self.turn(Some(DispatcherInput::Finished(Box::new(FinishedWork {
            effect,
            job,
            what,
        }))));
    }

    /// Checks the invariants of every moment.
    pub(super) fn look(&mut self) {
        for id in &self.paused {
            let row = self.row(id);
            let by_person =
                matches!(&row.job.state, JobState::Paused(by) if *by == PauseCause::Person);
            let resumes = self
                .open
                .iter()
                .any(|it| self.commands[*it].job.as_deref() == Some(id));
            if !by_person && !resumes {
                let life = format!("{id} was paused by a person and is {:?}", row.job.state);
                self.shared.world().wrong.push(life);
            }
        }
    }

    /// Checks that every acknowledged message was read by an agent, none twice, unless it was
    /// withdrawn with its task.
    fn check_words(&self, wrong: &mut Vec<String>) {
        let wanted = RecordQuery {
            kind: Some(RecordKind::Said),
            ..RecordQuery::default()
        };
        let records = self.store.list_records(&wanted).unwrap();
        for (job, number) in &self.said {
            let JobRequest::SendMessage { text, .. } = &self.commands[*number].request else {
                continue;
            };
            let status = records.iter().find_map(|it| match &it.body {
                RecordBody::Said(row) if row.text == *text => Some(row.status),
                _ => None,
            });
            let world = self.world();
            let agents = world.agents.values().filter(|it| it.job == *job);
            let times = agents.map(|it| it.read_input().matches(text).count());
            let times: Vec<usize> = times.collect();
            let read = times.iter().sum::<usize>() > 0;
            let is_right = match status {
                Some(MessageStatus::Delivered) => read,
                // Its task ended first, or its shim died before it could report.
                Some(MessageStatus::Withdrawn) => true,
                Some(MessageStatus::Queued) | None => false,
            };
            if !is_right || times.iter().any(|it| *it > 1) {
                wrong.push(format!(
                    "{job}: {text} is {status:?} and was read {times:?} times"
                ));
            }
        }
    }

    /// Checks the invariants of the end.
    pub(super) fn check(&mut self) {
        let mut wrong = Vec::new();
        self.check_words(&mut wrong);
        for row in self.rows() {
            let id = &row.id;
            let world = self.world();
            let mut done = world.agents.values().filter(|it| it.job == *id && it.done);
            let given_up = self.acknowledged.contains_key(&(id.clone(), "cancel"));
            let ended = match &row.job.state {
                JobState::Completed { .. } => !given_up && done.next().is_some(),
                JobState::Failed(_) => {
                    let failure = row.job.failure();
                    given_up && failure.is_some_and(|it| it.code == FailureCode::Cancelled)
                }
                _ => false,
            };
            if !ended {
                wrong.push(format!("{id} is {:?}", row.job.state));
            }
            drop(done);
            drop(world);
            let wanted = EventQuery {
                job: Some(id.clone()),
                kind: Some(EventKind::Transition),
                ..EventQuery::default()
            };
            let mut found: BTreeMap<&str, usize> = BTreeMap::new();
            for event in self.store.list_events(&wanted).unwrap() {
                let text = |name: &str| event.body[name].as_str().unwrap_or_default().to_owned();
                let verb = match (text("entity").as_str(), text("trigger").as_str()) {
                    ("task", "SUBMIT") => "create",
                    ("agent", "PAUSE") if event.body["metadata"]["pausedBy"] == "user" => "pause",
                    ("agent", "RESUME") => "resume",
                    ("agent", "ANSWER") => "answer",
                    ("agent", "DEPENDENCY_PROVIDED") => "provide",
                    ("task", "APPROVE") if text("from") == "review" => "approve",
                    ("task", "REQUEST_CHANGES") => "request-changes",
                    ("task", "CANCEL") => "cancel",
                    ("agent", "RESTORE") => "restore",
                    _ => continue,
                };
                *found.entry(verb).or_default() += 1;
            }
            for verb in [
                "create",
                "pause",
                "resume",
                "answer",
                "provide",
                "approve",
                "request-changes",
                "cancel",
                "restore",
            ] {
                let acknowledged = self
                    .acknowledged
                    .get(&(id.clone(), verb))
                    .copied()
                    .unwrap_or(0);
                let found = found.get(verb).copied().unwrap_or(0);
                if acknowledged != found {
                    wrong.push(format!(
                        "{id}: {acknowledged} times {verb} acknowledged, {found} in the history"
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

    /// True if nothing is left to be done.
    pub(super) fn over(&self) -> bool {
        self.commands.len() >= TASKS
            && self.open.is_empty()
            && self.store.open_jobs().unwrap().is_empty()
            && self.world().orders.is_empty()
            && self.store.open_effects().unwrap().is_empty()
    }
}
