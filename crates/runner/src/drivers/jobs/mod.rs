//! Jobs of the task server, with agents at work on them.
//!
//! [`Jobs`] is the handle, cheap to clone. [`Jobs::ask`] has something decided and made durable and gives the answer;
//! [`Jobs::ask_then`] calls back instead of waiting, for callers that must not wait. [`Jobs::subscribe`] gives every event after
//! it is durable. Reading is the [`Store`]'s.
//!
//! **It is decided in one place** (`desk`). Whatever can happen to a job (a wish, a line of its agent, a timer, an end) is a command
//! to its machine, in one order: load, decide, persist, act, publish. What comes in together is committed together.
//!
//! - `shift`: which thread is at the desk: one at a time, mostly whoever asks.
//! - `follow`: what a step of the machine means for the store: events, effects, timers, rows for people.
//! - `decide`: wishes of people.
//! - `permits`: tools that clients ask leave for, answered one by one, together, or by rules.
//! - `hear`: news of agents. How far their output has been read is committed with what it caused.
//! - `carry`: effects, in the order of each job, at least once; how each is repeated without harm stands beside it.
//! - `workshop`: what takes its time (checkpoints, checks of a phase, archives), on threads of its own.
//! - `flight`: what was decided is made durable; wishes are decided on meanwhile.
//! - `folders`: what the folders of jobs say of them, on a thread of its own.
//! - `waiting`: what is told of jobs that nobody has begun.
//! - `prompt`: what agents are told.
//! - `types`: types of work.
//! - `index`: which jobs are next for something, so that nobody looks at all of them.
//! - `rebuild`: a lost store, from what workspaces tell.

mod app;
mod begin;
mod carry;
mod decide;
mod desk;
mod flight;
mod folders;
mod follow;
mod hear;
mod index;
mod permits;
mod prompt;
mod rebuild;
mod shift;
#[cfg(test)]
mod simulation;
mod types;
mod waiting;
mod wish;
mod workshop;

pub use app::App;
pub use rebuild::{How, Rebuilt, rebuild};
pub use types::{DESIGN, PLANNING, Phase, TypeSpec, Verifier};
pub use wish::{Answered, Asked, Edit, Refused, Wish};

use crate::core::attempts::{Attempts, Begin, Known, Message};
use bowline_engine::clock::Clock;
use bowline_formats::agents::{Protocol, Resume};
use bowline_machines::job::Limits;
use bowline_store::{Budget, EventRow, JobRow, Key, Store};
use bowline_supervisor::{Attempt, Condition, Handle, Shim, Want};
use desk::{Desk, Input};
use shift::Shift;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// How jobs are worked on.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where everything of the server is: workspaces, attempts, archives, side repositories.
    pub data: PathBuf,
    /// Agents at work at once.
    pub slots: u32,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentSpec>,
    /// The one for tasks that name none.
    pub default_agent: String,
    /// Types of work by name.
    pub types: BTreeMap<String, TypeSpec>,
    /// Where agents reach the server.
    pub url: Option<String>,
    /// Variables that every agent gets.
    pub environment: BTreeMap<String, String>,
    /// What becomes a shim.
    pub shim: Shim,
    /// Where the time comes from.
    pub clock: Clock,
    /// How often and how long, for new tasks.
    pub limits: Limits,
    /// Seconds until a limit is tried again that says nothing of its end.
    pub retry_after_s: i64,
    /// Processes started for a task within an hour.
    pub runs_per_hour: usize,
    /// Turns of a task.
    pub turns_max: u32,
    /// Seconds a check or a verifying agent may take.
    pub verify_s: u64,
    /// What a task may use that says nothing of it.
    pub budget: Budget,
    /// Somebody delivers notifications; otherwise they are settled at once.
    pub notifies: bool,
}

impl Config {
    /// Usual values; there is no agent yet.
    pub fn new(data: &Path, shim: Shim) -> Config {
        let types = TypeSpec::built_in();
        Config {
            data: data.to_owned(),
            slots: 3,
            agents: BTreeMap::new(),
            default_agent: String::new(),
            types: types.into_iter().map(|it| (it.name.clone(), it)).collect(),
            url: None,
            environment: BTreeMap::new(),
            shim,
            clock: Clock::System,
            limits: Limits::default(),
            retry_after_s: 60,
            runs_per_hour: 60,
            turns_max: 1_000,
            verify_s: 15 * 60,
            budget: Budget::default(),
            notifies: false,
        }
    }

    /// The folder of an attempt.
    fn attempt(&self, id: &str) -> PathBuf {
        self.data.join("attempts").join(id)
    }

    /// The file with the token of an attempt.
    fn token(&self, id: &str) -> PathBuf {
        self.data.join("tokens").join(id)
    }

    /// The folder a job works in.
    pub fn workspace(&self, row: &JobRow) -> PathBuf {
        match &row.about.workspace {
            Some(folder) => PathBuf::from(folder),
            None => self.data.join("workspaces").join(&row.id),
        }
    }
}

/// An agent that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// Program and arguments, with `{prompt_file} {prompt} {workspace} {task_id} {phase}`. A single word with a structured
    /// protocol is a client whose arguments are known.
    pub command: Vec<String>,
    /// How it speaks.
    pub protocol: Protocol,
    /// Further variables.
    pub environment: BTreeMap<String, String>,
    /// It can look at a finished phase.
    pub verifies: bool,
}

/// What an answer is handed to.
pub type Reply = Box<dyn FnOnce(Result<Answered, Refused>) + Send>;

/// The jobs of this process. Cheap to clone; the thread behind it ends with [`Jobs::stop`], and every agent goes on.
#[derive(Debug, Clone)]
pub struct Jobs {
    shift: Arc<Shift>,
    listeners: Listeners,
    config: Arc<Config>,
    store: Arc<dyn Store>,
    key: Key,
    tokens: Tokens,
}

/// What words for one answer are sealed for.
const ACTION_PURPOSE: &str = "action";

/// What drives agents: [`Attempts`], or a simulation.
trait Agents: Send {
    fn begin(&self, begin: Begin, hidden: Vec<String>);
    fn attach(&self, id: &str, known: Known);
    fn hide(&self, id: &str, values: Vec<String>);
    fn want(&self, id: &str, want: Want);
    fn interrupt(&self, id: &str);
    fn say(&self, id: &str, seq: Option<u64>, message: Message);
    fn processed(&self, id: &str, upto: u64, resume: Resume);
}

impl Agents for Attempts {
    fn begin(&self, begin: Begin, hidden: Vec<String>) {
        self.begin_hiding(begin, hidden);
    }

    fn attach(&self, id: &str, known: Known) {
        self.attach(id, known);
    }

    fn hide(&self, id: &str, values: Vec<String>) {
        self.hide(id, values);
    }

    fn want(&self, id: &str, want: Want) {
        self.want(id, want);
    }

    fn interrupt(&self, id: &str) {
        self.interrupt(id);
    }

    fn say(&self, id: &str, seq: Option<u64>, message: Message) {
        self.say(id, seq, false, message);
    }

    fn processed(&self, id: &str, upto: u64, resume: Resume) {
        self.processed(id, upto, resume);
    }
}

type Listeners = Arc<Mutex<Vec<Sender<EventRow>>>>;
type Tokens = Arc<Mutex<BTreeMap<String, (String, u32)>>>;

/// The number of an attempt, machine-wide.
fn attempt_id(job: &str, attempt: u32) -> String {
    format!("{job}-{attempt}")
}

/// The name of an agent that looks at a phase, machine-wide.
fn verifier_id(job: &str, verification: u32) -> String {
    format!("{job}-v{verification}")
}

impl Jobs {
    /// Goes on with every job of the store: attaches to agents that live, recovers those that were lost.
    pub fn start(config: Config, store: Arc<dyn Store>, key: Key) -> Result<Jobs, Refused> {
        let shift = Arc::new(Shift::default());
        let listeners = Listeners::default();
        let tokens = Tokens::default();
        let config = Arc::new(config);
        let jobs = Jobs {
            shift: shift.clone(),
            listeners: listeners.clone(),
            config: config.clone(),
            store: store.clone(),
            key: key.clone(),
            tokens: tokens.clone(),
        };
        let desk = Desk::open(config, store, key, &shift, listeners, tokens)?;
        std::thread::Builder::new()
            .name("jobs".into())
            .spawn(move || shift.stay(desk))
            .map_err(|error| Refused::Failed(error.to_string()))?;
        Ok(jobs)
    }

    /// Has something decided, and made durable; the answer comes afterwards. Waits.
    pub fn ask(&self, asked: Asked) -> Result<Answered, Refused> {
        // Room for the one answer: a channel without bounds makes room for 31, and an answer is large.
        let (answer, answers) = sync_channel(1);
        let reply = move |it| {
            // Whoever asked may be gone.
            let _ = answer.send(it);
        };
        // Nobody's fault where it comes back: nobody is there any more, and the answer is that there is none.
        let _ = self
            .shift
            .bring(Input::Asked(Box::new(asked), Box::new(reply)));
        answers.recv().unwrap_or(Err(Refused::Draining))
    }

    /// The same without waiting. The answer is handed over on a thread of ours, which must not be held up.
    pub fn ask_then(&self, asked: Asked, reply: Reply) {
        let unread = self.shift.put(Input::Asked(Box::new(asked), reply));
        if let Err(Input::Asked(_, reply)) = unread {
            reply(Err(Refused::Draining));
        }
    }

    /// Every event from now on, once it is durable. A listener that is gone is forgotten.
    pub fn subscribe(&self) -> Receiver<EventRow> {
        let (sender, events) = channel();
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(sender);
        events
    }

    /// Ends the deciding, once what it has begun is durable, and returns when it has let go of the store. Agents
    /// go on.
    pub fn stop(&self) {
        let (answer, answers) = channel();
        if self.shift.put(Input::Stop(answer)).is_ok() {
            let _ = answers.recv();
        }
    }

    /// How it was started.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where jobs are kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// A word that stands for one answer of a person, for those who cannot show a token: whoever has it may give that answer,
    /// and nobody can make one. It counts once, because every answer does.
    pub fn seal_action(&self, action: &str) -> Option<String> {
        self.key.seal(ACTION_PURPOSE, action.as_bytes()).ok()
    }

    /// The answer that such a word stands for.
    pub fn open_action(&self, word: &str) -> Option<String> {
        let opened = self.key.open_sealed(ACTION_PURPOSE, word).ok()?;
        String::from_utf8(opened).ok()
    }

    /// Whose token that is: task and attempt, while that attempt is the present one.
    pub fn agent_token(&self, text: &str) -> Option<(String, u32)> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(text).cloned()
    }

    /// What the attempts of a job printed: a file each, the oldest first.
    pub fn logs(&self, row: &JobRow) -> Vec<PathBuf> {
        let log = |attempt: u32| {
            let id = attempt_id(&row.id, attempt);
            self.config.attempt(&id).join("log")
        };
        (1..=row.job.attempt)
            .map(log)
            .filter(|it| it.exists())
            .collect()
    }

    /// The process of the present attempt, if it is there, looked at now.
    pub fn alive(&self, row: &JobRow) -> bool {
        let folder = self.config.attempt(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open(&folder).ok();
        attempt.is_some_and(|it| matches!(it.condition(), Ok(Condition::Alive)))
    }

    /// The process of the agent, while it is there and its owner answers.
    pub fn pid(&self, row: &JobRow) -> Option<i32> {
        let folder = self.config.attempt(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open(&folder).ok()?;
        let handle = Handle::attach(&attempt, 0).ok()?;
        handle.last_status().agent
    }

    /// Values that were given to a job, in clear.
    pub fn secrets(&self, row: &JobRow) -> Vec<String> {
        let values = prompt::provided(&*self.store, &self.key, &row.id);
        values.into_iter().map(|(_, value)| value).collect()
    }
}
