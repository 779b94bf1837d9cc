//! Everything outside of the dispatcher's process: agents with their supervisor, workers, and a
//! store that dies with the process.

use super::super::worker_pool::{WorkExecutor, WorkItem};
use super::super::{AgentDriver, ReplyCallback};
use crate::core::attempts::{AgentMessage, AttemptResume, AttemptStart};
use bowline_formats::agents::{
    AgentAdapter, AgentInputWriter, AgentProtocol, InputDelivery, ResumePoint,
};
use bowline_machines::Timestamp;
use bowline_store::{
    CommitHandle, CommitOutcome, DeliveryRow, EffectRow, EventQuery, EventRow, JobQuery, JobRecord,
    JobRow, MemoryStore, PrunedCounts, RecordQuery, RetentionLimits, SpendQuery, SpendRow, Store,
    StoreError, StoreStep, TimerRow,
};
use bowline_supervisor::WantedState;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One action in an agent's script.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Print(&'static str),
    /// Reads input until a message contains the first text and then continues; one of the others
    /// repeats the action before.
    Wait(&'static str, &'static [&'static str]),
    Exit(i32),
    /// Prints text and counts as done with its work.
    Done(&'static str),
}

pub(super) const START: Act = Act::Wait("[/PHASE_START]", &[]);
pub(super) const QUESTION: &str = "[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions: [green, black]\nrequired: true\n[/USER_QUESTION]\n";
pub(super) const NEED: &str = "[DEPENDENCY_REQUEST]\ntype: api_key\nname: TEA_API_KEY\ndescription: tea\nrequired: true\n[/DEPENDENCY_REQUEST]\n";
pub(super) const LIMIT: &str = "[ERROR]\ntype: recoverable\nmessage: slow down\nrecovery: pause_and_retry\nretry_after: 30\n[/ERROR]\n";
pub(super) const COMPLETE: &str = "=== CUSTOM TASK COMPLETE ===\n";
pub(super) const PASSED: &str =
    "=== VERIFICATION_RESULT ===\n{\"criteria\": [{\"id\": \"A\", \"status\": \"passed\"}]}\n";
pub(super) const AGAIN: &[&str] = &["[/REWORK]", "[/REVIEW_REJECTED]"];

/// Returns the script of a verifying agent: every other one gives no result, by exiting or by
/// taking too long.
pub(super) fn looking(verification: u32) -> Vec<Act> {
    match verification % 4 {
        1 => vec![Act::Print("hm\n"), Act::Exit(1)],
        3 => vec![Act::Print("hm\n"), Act::Wait("NEVER", &[])],
        _ => vec![Act::Print(PASSED), Act::Wait("NEVER", &[])],
    }
}

pub(super) fn script(kind: usize, phase: &str, attempt: u32) -> Vec<Act> {
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
pub(super) enum End {
    Exited(Option<i32>),
    Lost,
    NotBegun,
}

pub(super) struct Agent {
    pub(super) job: String,
    /// True for an agent that verifies a phase.
    pub(super) looks: bool,
    pub(super) acts: Vec<Act>,
    pub(super) at: usize,
    pub(super) log: Vec<u8>,
    pub(super) input: BTreeMap<u64, String>,
    pub(super) read: u64,
    /// The last message reported as read to the process that watches the agent.
    pub(super) reported: u64,
    pub(super) want: WantedState,
    pub(super) end: Option<End>,
    pub(super) done: bool,
    /// Reader of the process that watches the agent; none if nothing watches it.
    pub(super) reader: Option<AgentAdapter>,
}

impl Agent {
    /// Returns all input that it has read.
    pub(super) fn read_input(&self) -> String {
        let read = self.input.range(..=self.read);
        read.map(|(_, text)| text.as_str()).collect()
    }

    /// Runs its next action if it can.
    pub(super) fn act(&mut self) {
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

pub(super) enum Order {
    Begin {
        folder: PathBuf,
        job: String,
        /// Script number; none for a verifying agent.
        kind: Option<usize>,
        phase: String,
    },
    Attach(ResumePoint),
    Want(WantedState),
    Say(Option<u64>, String),
}

/// State of everything outside of the dispatcher's process, and whether that process lives.
#[derive(Default)]
pub(super) struct World {
    pub(super) agents: BTreeMap<String, Agent>,
    pub(super) orders: VecDeque<(String, Order)>,
    pub(super) bench: Vec<WorkItem>,
    pub(super) answers: Vec<(usize, Result<Option<String>, String>)>,
    /// Orders and commits until the process dies.
    pub(super) dies_in: Option<usize>,
    pub(super) dead: bool,
    /// True if a flush finishes only when something waits for it.
    pub(super) slow: bool,
    pub(super) wrong: Vec<String>,
}

#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<World>>);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one action of the process; true if it still lives to do it.
    pub(super) fn lives(&self) -> bool {
        let mut world = self.world();
        match &mut world.dies_in {
            Some(0) => world.dead = true,
            Some(left) => *left -= 1,
            None => {}
        }
        !world.dead
    }

    pub(super) fn order(&self, id: &str, order: Order) {
        if self.lives() {
            self.world().orders.push_back((id.to_owned(), order));
        }
    }
}

impl AgentDriver for Shared {
    fn start_agent(&self, begin: AttemptStart, _hidden: Vec<String>) {
        let value = |name: &str| begin.environment.get(name).cloned().unwrap_or_default();
        let order = Order::Begin {
            job: value("BOWLINE_TASK_ID"),
            kind: match begin.environment.contains_key("BOWLINE_VERIFY") {
                true => None,
                false => Some(begin.spec.name.parse().unwrap()),
            },
            phase: value("BOWLINE_PHASE"),
            folder: begin.folder,
        };
        self.order(&begin.spec.attempt, order);
    }

    fn attach_agent(&self, id: &str, known: AttemptResume) {
        self.order(id, Order::Attach(known.resume));
    }

    fn hide_values(&self, _id: &str, _values: Vec<String>) {}

    fn request_level(&self, id: &str, want: WantedState) {
        self.order(id, Order::Want(want));
    }

    fn interrupt_agent(&self, _id: &str) {}

    fn send_input(&self, id: &str, seq: Option<u64>, _last: bool, mut message: AgentMessage) {
        if let InputDelivery::Input(text) =
            message(&mut AgentInputWriter::new(AgentProtocol::Markers))
        {
            self.order(id, Order::Say(seq, text));
        }
    }

    fn acknowledge_output(&self, _id: &str, _upto: u64, _resume: ResumePoint) {}
}

impl WorkExecutor for Shared {
    fn submit_work(&self, task: WorkItem) {
        if self.lives() {
            self.world().bench.push(task);
        }
    }

    fn rewrite_metadata(&self, _row: JobRow, _at: Timestamp) {}

    fn remove_task_files(&self, _row: JobRow, _reply: ReplyCallback) {}
}

/// A store that ends with its process: before a commit, or right after it.
#[derive(Debug)]
pub(super) struct Mortal(pub(super) Arc<MemoryStore>, pub(super) Shared);

macro_rules! reads {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Result<$out, StoreError> { self.0.$name($($arg),*) })*
    };
}

impl Store for Mortal {
    fn commit_steps(&self, steps: Vec<StoreStep>) -> Result<Vec<CommitOutcome>, StoreError> {
        if !self.1.lives() {
            let dead = std::io::Error::other("the process is dead");
            return Err(StoreError::Failed(Arc::new(dead)));
        }
        let done = self.0.commit_steps(steps);
        self.1.lives();
        done
    }

    fn begin_commit(
        &self,
        steps: Vec<StoreStep>,
        _ready: Box<dyn FnOnce() + Send>,
    ) -> CommitHandle {
        let mortal = Mortal(self.0.clone(), self.1.clone());
        let mut steps = Some(steps);
        Box::new(move |wait| {
            let flushes = wait || !mortal.1.world().slow;
            let steps = steps.take_if(|_| flushes)?;
            Some(mortal.commit_steps(steps))
        })
    }

    reads! {
        prune_rows(kept: &RetentionLimits) -> PrunedCounts;
        write_backup(to: &Path) -> ();
        find_job(id: &str) -> Option<JobRow>;
        list_jobs(wanted: &JobQuery) -> Vec<JobRow>;
        open_jobs() -> Vec<JobRow>;
        count_by_status() -> Vec<(bowline_machines::job::TaskStatus, u64)>;
        dependents_of(id: &str) -> Vec<String>;
        find_record(id: &str) -> Option<JobRecord>;
        list_records(wanted: &RecordQuery) -> Vec<JobRecord>;
        list_events(wanted: &EventQuery) -> Vec<EventRow>;
        feed_range() -> (u64, u64);
        open_effects() -> Vec<EffectRow>;
        deliveries_of(job: &str) -> Vec<DeliveryRow>;
        list_timers() -> Vec<TimerRow>;
        list_spend(wanted: &SpendQuery) -> Vec<SpendRow>;
        stored_response(id: &str) -> Option<Value>;
    }
}
