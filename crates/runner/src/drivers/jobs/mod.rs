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
//! - `folder_claims`: one task at a time per folder.
//! - `folders`: what the folders of jobs say of them, on a thread of its own.
//! - `waiting`: what is told of jobs that nobody has begun.
//! - `phase_files`: which files a phase changed.
//! - `prompt`: what agents are told.
//! - `types`: types of work.
//! - `index`: which jobs are next for something, so that nobody looks at all of them.
//! - `named_workspace`: folders that people name as workspaces.
//! - `outage`: failures of the loop, and the start anew after them.
//! - `unknown_agents`: agents of tasks that the store does not know.
//! - `rebuild`: a lost store, from what workspaces tell.

mod app;
mod archives;
mod begin;
mod carry;
mod decide;
mod delivery;
mod desk;
mod first_state;
mod flight;
mod folder_claims;
mod folders;
mod follow;
mod git_script;
mod hear;
mod history;
mod index;
mod named_workspace;
mod outage;
mod permits;
mod phase_files;
mod prompt;
mod rebuild;
mod shift;
#[cfg(test)]
mod simulation;
mod types;
mod unknown_agents;
mod waiting;
mod wish;
mod workshop;

pub use app::App;
pub use first_state::first_state_ref;
pub use folders::{is_passed_over, is_private};
pub use named_workspace::WorkspaceFault;
use outage::WatchedStore;
pub use outage::{Failures, Health, Outage};
pub use rebuild::{How, Rebuilt, rebuild, tasks_on_disk};
pub use types::{DESIGN, PLANNING, Phase, TypeSpec, Verifier};
pub use unknown_agents::{UnknownAgent, hold_agent, still_alive, unknown_agents};
pub use wish::{Answered, Asked, Edit, Refused, Wish};

use crate::core::attempts::{Attempts, Begin, Known, Message};
use bowline_engine::actor::Descent;
use bowline_engine::clock::Clock;
use bowline_formats::agents::{Protocol, Resume};
use bowline_machines::job::{Limits, Process};
use bowline_store::{Budget, EventRow, JobRow, Key, Store, is_exhausted};
use bowline_supervisor::{Attempt, Condition, Handle, Shim, Want};
use desk::{Desk, Input};
use folder_claims::SharedClaims;
use shift::Shift;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use workshop::Workshop;

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

    /// The folder that has `.metadata` and `.checkpoints` of a job: its workspace, or one of ours where a person named that.
    pub fn record_folder(&self, row: &JobRow) -> PathBuf {
        match &row.about.workspace {
            Some(_) => self.data.join("tasks").join(&row.id),
            None => self.workspace(row),
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
    config: SharedConfig,
    store: Arc<dyn Store>,
    key: Key,
    tokens: Tokens,
    claims: SharedClaims,
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
    fn say(&self, id: &str, seq: Option<u64>, last: bool, message: Message);
    fn processed(&self, id: &str, upto: u64, resume: Resume);
    /// Lets go of every agent, and waits until nothing more comes of them.
    fn close(&self) {}
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

    fn say(&self, id: &str, seq: Option<u64>, last: bool, message: Message) {
        self.say(id, seq, last, message);
    }

    fn processed(&self, id: &str, upto: u64, resume: Resume) {
        self.processed(id, upto, resume);
    }

    fn close(&self) {
        self.close();
    }
}

/// How jobs are worked on, as it is now.
type SharedConfig = Arc<RwLock<Arc<Config>>>;

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

fn current(config: &SharedConfig) -> Arc<Config> {
    let config = config.read().unwrap_or_else(PoisonError::into_inner);
    config.clone()
}

impl Jobs {
    /// Goes on with every job of the store: attaches to agents that live, recovers those that were lost.
    pub fn start(config: Config, store: Arc<dyn Store>, key: Key) -> Result<Jobs, Refused> {
        let shift = Arc::new(Shift::default());
        let listeners = Listeners::default();
        let tokens = Tokens::default();
        let config = Arc::new(config);
        let shared = Arc::new(RwLock::new(config.clone()));
        let jobs = Jobs {
            shift: shift.clone(),
            listeners: listeners.clone(),
            config: shared.clone(),
            store: Arc::new(WatchedStore::shared(store.clone(), shift.clone())),
            key: key.clone(),
            tokens: tokens.clone(),
            claims: SharedClaims::default(),
        };
        let claims = jobs.claims.clone();
        let done = shift.clone();
        // Kept over a start anew: what it has in hand is finished once.
        let workshop = Workshop::open(config, move |finished| {
            drop(done.put(Input::Finished(Box::new(finished))));
        });
        let workshop = Arc::new(workshop.map_err(|error| Outage::of(&error))?);
        let (reopened, data) = (store.clone(), current(&shared).data.clone());
        let open = move |shift: &Arc<Shift>| {
            let mut desk = Desk::open(
                shared.clone(),
                store.clone(),
                key.clone(),
                shift,
                listeners.clone(),
                tokens.clone(),
                workshop.clone(),
            )?;
            desk.index.share_claims(claims.clone());
            Ok(desk)
        };
        let desk = open(&shift)?;
        let stay = move || {
            let stopped = shift.stay(desk, &|| {
                if let Some(resource) = is_exhausted(&data) {
                    return Err(Outage {
                        resource: Some(resource),
                        is_damage: false,
                        reason: format!("{resource} for {}", data.display()),
                    });
                }
                reopened.reopen().map_err(|error| Outage::of(&error))?;
                open(&shift)
            });
            // Only when everything is let go is the store free for whoever comes next.
            drop((open, reopened));
            for answer in stopped {
                let _ = answer.send(());
            }
        };
        std::thread::Builder::new()
            .name("jobs".into())
            .spawn(stay)
            .map_err(|error| Outage::of(&error))?;
        Ok(jobs)
    }

    /// How the loop that decides is.
    pub fn health(&self) -> Health {
        self.shift.health()
    }

    /// How often it failed.
    pub fn failures(&self) -> &Failures {
        &self.shift.failures
    }

    /// Has this called with the health now, and whenever it changes. After [`Health::Failed`] the process has to end; agents go on.
    pub fn on_health(&self, call: impl Fn(Health) + Send + Sync + 'static) {
        self.shift.on_health(Box::new(call));
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

    /// The task that a pending one waits for because it holds the same folder, or waits for it and comes first.
    pub fn workspace_held_by(&self, row: &JobRow) -> Option<String> {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.waits_for(row)
    }

    /// How jobs are worked on.
    pub fn config(&self) -> Arc<Config> {
        current(&self.config)
    }

    /// Has jobs worked on otherwise from now on. The data folder and what becomes a shim stay.
    pub fn configure(&self, config: Config) {
        let before = self.config();
        let config = Config {
            data: before.data.clone(),
            shim: before.shim.clone(),
            ..config
        };
        let mut kept = self.config.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Arc::new(config);
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

    /// Whose token that is: task and attempt, while that attempt has a process.
    pub fn agent_token(&self, text: &str) -> Option<(String, u32)> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let (task, attempt) = tokens.get(text).cloned()?;
        drop(tokens);
        let job = self.store.job(&task).ok().flatten()?.job;
        let present = job.attempt == attempt && job.process == Process::Live;
        present.then_some((task, attempt))
    }

    /// The task of an agent that is not shown by a token: one whose shim is among its ancestors.
    pub fn task_of_agent(&self, descent: &Descent) -> Option<String> {
        let config = self.config();
        descent.attempts.iter().find_map(|name| {
            let (task, number) = name.rsplit_once('-')?;
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            if number.is_empty() || !name.chars().all(plain) {
                return None;
            }
            let attempt = Attempt::open(&config.attempt(name)).ok()?;
            let shim = u32::try_from(Handle::attach(&attempt, 0).ok()?.hello().shim).ok()?;
            descent.processes.contains(&shim).then(|| task.to_owned())
        })
    }

    /// What the attempts of a job printed: a file each, the oldest first.
    pub fn logs(&self, row: &JobRow) -> Vec<PathBuf> {
        let config = self.config();
        let log = |attempt: u32| {
            let id = attempt_id(&row.id, attempt);
            config.attempt(&id).join("log")
        };
        (1..=row.job.attempt)
            .map(log)
            .filter(|it| it.exists())
            .collect()
    }

    /// The process of the present attempt, if it is there, looked at now.
    pub fn alive(&self, row: &JobRow) -> bool {
        let folder = self.config().attempt(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open(&folder).ok();
        attempt.is_some_and(|it| matches!(it.condition(), Ok(Condition::Alive)))
    }

    /// The process of the agent, while it is there and its owner answers.
    pub fn pid(&self, row: &JobRow) -> Option<i32> {
        let folder = self.config().attempt(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open(&folder).ok()?;
        let handle = Handle::attach(&attempt, 0).ok()?;
        handle.last_status().agent
    }

    /// Values that were given to a job, in clear.
    pub fn secrets(&self, row: &JobRow) -> Vec<String> {
        // Of a store that fails, nothing is handed out at all.
        let values = prompt::provided(&*self.store, &self.key, &row.id).unwrap_or_default();
        values.into_iter().map(|(_, value)| value).collect()
    }
}
