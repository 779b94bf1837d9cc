//! Runs the tasks of the server (jobs) with agents.
//!
//! [`Jobs`] is the handle, cheap to clone. [`Jobs::ask`] submits a request, waits until it is
//! decided and durable, and returns the response; [`Jobs::ask_then`] calls back instead, for
//! callers that must not block. [`Jobs::subscribe`] delivers every event after it is durable. Reads
//! go to the [`Store`].
//!
//! **One dispatcher decides** (`dispatcher`). Everything that can happen to a job (a request,
//! output of its agent, a timer, an exit) is a command to its state machine, always in this order:
//! load, decide, persist, act, publish. Inputs that arrive together are committed together.
//!
//! - `dispatch_loop`: runs the dispatcher, one thread at a time, mostly the thread of a caller.
//! - `store_change`: builds the store change of a transition: events, effects, timers, records.
//! - `request_handlers`: requests of people.
//! - `permissions`: tool permissions, answered one by one, together, or by rules.
//! - `agent_events`: events of agents. The offset of processed output is committed with its
//!   consequences.
//! - `effects`: executes effects, in order per job, at least once; its table says what makes each
//!   one safe to repeat.
//! - `worker_pool`: worker pool for what takes time: checkpoints, checks of a phase, archives.
//! - `commit_queue`: in-flight commits; requests are decided on top of them meanwhile.
//! - `folder_claims`: one task at a time per folder.
//! - `workspace_metadata`: metadata files in the folders of jobs, written on a thread of their own.
//! - `pending_log`: metadata log of jobs that have not started.
//! - `phase_files`: files that a phase changed.
//! - `prompt`: prompts and messages to agents.
//! - `work_types`: types of work.
//! - `job_index`: jobs and timers by what is next for them, so that no request scans all of them.
//! - `named_workspace`: folders that people name as workspaces.
//! - `outage`: failures of the dispatcher, and its restart.
//! - `unknown_agents`: agents of tasks that the store does not know.
//! - `rebuild`: recovery of a lost store from the metadata in workspaces.

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
mod request;
mod shift;
#[cfg(test)]
mod simulation;
mod types;
mod unknown_agents;
mod waiting;
mod work_in_progress;
mod workshop;

pub use app::App;
pub use first_state::first_state_ref;
pub use folders::{is_passed_over, is_private};
pub use named_workspace::WorkspaceFault;
use outage::WatchedStore;
pub use outage::{Failures, Health, Outage};
pub use rebuild::{How, Rebuilt, rebuild, tasks_on_disk};
pub use request::{Answered, Edit, JobRequest, Refused, SubmittedRequest, record_thing};
pub use types::{DESIGN, PLANNING, Phase, TypeSpec, Verifier};
pub use unknown_agents::{UnknownAgent, hold_agent, still_alive, unknown_agents};

use crate::core::attempts::{AgentMessage, AttemptLoop, AttemptResume, AttemptStart};
use bowline_engine::actor::ProcessAncestry;
use bowline_engine::clock::Clock;
use bowline_formats::agents::{AgentProtocol, ResumePoint};
use bowline_machines::job::{JobLimits, ProcessState};
use bowline_store::{EventRow, JobBudget, JobRow, SecretKey, Store, lacking_resource};
use bowline_supervisor::{Attempt, AttemptCondition, ShimHandle, ShimProgram, WantedState};
use desk::{Desk, Input};
use folder_claims::SharedClaims;
use shift::Shift;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use workshop::Workshop;

/// Configuration of the job runner.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server's data folder: workspaces, attempts, archives, side repositories.
    pub data: PathBuf,
    /// Agents that work at once.
    pub slots: u32,
    pub agents: BTreeMap<String, AgentSpec>,
    /// Agent of tasks that name none.
    pub default_agent: String,
    pub types: BTreeMap<String, TypeSpec>,
    /// Address of the server for agents; they cannot reach it if none.
    pub url: Option<String>,
    /// Environment that every agent gets.
    pub environment: BTreeMap<String, String>,
    /// Program that is started as the shim of an agent.
    pub shim: ShimProgram,
    /// Source of the time, so that tests can set it.
    pub clock: Clock,
    /// Limits that new tasks start with.
    pub limits: JobLimits,
    /// Seconds until the next try after a rate limit that states no end.
    pub retry_after_s: i64,
    /// Attempts of one task that may start within an hour.
    pub runs_per_hour: usize,
    /// Turns that one task may take.
    pub turns_max: u32,
    /// Seconds that a check or a verifying agent may take.
    pub verify_s: u64,
    /// Budget of tasks that set none.
    pub budget: JobBudget,
    /// True if something delivers notifications; otherwise they are settled at once.
    pub notifies: bool,
}

impl Config {
    /// Creates a configuration with default values and no agents.
    pub fn new(data: &Path, shim: ShimProgram) -> Config {
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
            limits: JobLimits::default(),
            retry_after_s: 60,
            runs_per_hour: 60,
            turns_max: 1_000,
            verify_s: 15 * 60,
            budget: JobBudget::default(),
            notifies: false,
        }
    }

    /// Returns the folder of an attempt.
    fn attempt(&self, id: &str) -> PathBuf {
        self.data.join("attempts").join(id)
    }

    /// Returns the file with the token of an attempt.
    fn token(&self, id: &str) -> PathBuf {
        self.data.join("tokens").join(id)
    }

    /// Returns the folder that a job works in.
    pub fn workspace(&self, row: &JobRow) -> PathBuf {
        match &row.about.workspace {
            Some(folder) => PathBuf::from(folder),
            None => self.data.join("workspaces").join(&row.id),
        }
    }

    /// Returns the folder with `.metadata` and `.checkpoints` of a job: its workspace, or a folder
    /// of the server if a person named the workspace.
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
    /// Program and arguments, with `{prompt_file} {prompt} {workspace} {task_id} {phase}`. A single
    /// word with a structured protocol is a client whose arguments are known.
    pub command: Vec<String>,
    /// Protocol of its output and input.
    pub protocol: AgentProtocol,
    /// Variables that only this agent gets.
    pub environment: BTreeMap<String, String>,
    /// True if it can verify finished phases.
    pub verifies: bool,
}

/// Callback that takes the response.
pub type Reply = Box<dyn FnOnce(Result<Answered, Refused>) + Send>;

/// Handle to the jobs of this process. Cheap to clone; the dispatcher ends with [`Jobs::stop`], and
/// every agent goes on.
#[derive(Debug, Clone)]
pub struct Jobs {
    shift: Arc<Shift>,
    listeners: Listeners,
    config: SharedConfig,
    store: Arc<dyn Store>,
    key: SecretKey,
    tokens: Tokens,
    claims: SharedClaims,
}

/// Purpose for which one-time answer tokens are sealed.
const ACTION_PURPOSE: &str = "action";

/// Driver of agents: [`Attempts`], or a simulation.
trait Agents: Send {
    fn begin(&self, begin: AttemptStart, hidden: Vec<String>);
    fn attach(&self, id: &str, known: AttemptResume);
    fn hide(&self, id: &str, values: Vec<String>);
    fn want(&self, id: &str, want: WantedState);
    fn interrupt(&self, id: &str);
    fn say(&self, id: &str, seq: Option<u64>, last: bool, message: AgentMessage);
    fn processed(&self, id: &str, upto: u64, resume: ResumePoint);
    /// Releases every agent and waits until no more events can come.
    fn close(&self) {}
}

impl Agents for AttemptLoop {
    fn begin(&self, begin: AttemptStart, hidden: Vec<String>) {
        self.start_attempt_masked(begin, hidden);
    }

    fn attach(&self, id: &str, known: AttemptResume) {
        self.attach_attempt(id, known);
    }

    fn hide(&self, id: &str, values: Vec<String>) {
        self.mask_values(id, values);
    }

    fn want(&self, id: &str, want: WantedState) {
        self.set_wanted_state(id, want);
    }

    fn interrupt(&self, id: &str) {
        self.interrupt(id);
    }

    fn say(&self, id: &str, seq: Option<u64>, last: bool, message: AgentMessage) {
        self.send_message(id, seq, last, message);
    }

    fn processed(&self, id: &str, upto: u64, resume: ResumePoint) {
        self.confirm_processed(id, upto, resume);
    }

    fn close(&self) {
        self.close();
    }
}

/// The configuration as it is now; it can be replaced.
type SharedConfig = Arc<RwLock<Arc<Config>>>;

type Listeners = Arc<Mutex<Vec<Sender<EventRow>>>>;
type Tokens = Arc<Mutex<BTreeMap<String, (String, u32)>>>;

/// Returns the id of an attempt, unique on the machine.
fn attempt_id(job: &str, attempt: u32) -> String {
    format!("{job}-{attempt}")
}

/// Returns the id of a verifying agent, unique on the machine.
fn verifier_id(job: &str, verification: u32) -> String {
    format!("{job}-v{verification}")
}

fn current(config: &SharedConfig) -> Arc<Config> {
    let config = config.read().unwrap_or_else(PoisonError::into_inner);
    config.clone()
}

impl Jobs {
    /// Starts the dispatcher and continues every job of the store: attaches to live agents, and
    /// recovers jobs whose agent is gone.
    pub fn start(config: Config, store: Arc<dyn Store>, key: SecretKey) -> Result<Jobs, Refused> {
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
        // Survives a restart of the dispatcher, so that a task it has in hand is done once.
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
                if let Some(resource) = lacking_resource(&data) {
                    return Err(Outage {
                        resource: Some(resource),
                        is_damage: false,
                        reason: format!("{resource} for {}", data.display()),
                    });
                }
                reopened.reopen().map_err(|error| Outage::of(&error))?;
                open(&shift)
            });
            // Only when everything is released is the store free for the next process.
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

    /// Returns the health of the dispatcher.
    pub fn health(&self) -> Health {
        self.shift.health()
    }

    /// Returns the counters of failures.
    pub fn failures(&self) -> &Failures {
        &self.shift.failures
    }

    /// Registers a callback for the health now and at every change. After [`Health::Failed`] the
    /// process has to end; agents go on.
    pub fn on_health(&self, call: impl Fn(Health) + Send + Sync + 'static) {
        self.shift.on_health(Box::new(call));
    }

    /// Submits a request, waits until it is decided and durable, and returns the response.
    pub fn ask(&self, asked: SubmittedRequest) -> Result<Answered, Refused> {
        // Room for one response: a channel without bounds makes room for 31, and a response is
        // large.
        let (answer, answers) = sync_channel(1);
        let reply = move |it| {
            // The caller may be gone.
            let _ = answer.send(it);
        };
        // An input that comes back is dropped with its reply, so that the channel closes and the
        // response is `Draining`.
        let _ = self
            .shift
            .bring(Input::Asked(Box::new(asked), Box::new(reply)));
        answers.recv().unwrap_or(Err(Refused::Draining))
    }

    /// Submits a request without waiting. The callback runs on an internal thread and must not
    /// block.
    pub fn ask_then(&self, asked: SubmittedRequest, reply: Reply) {
        let unread = self.shift.put(Input::Asked(Box::new(asked), reply));
        if let Err(Input::Asked(_, reply)) = unread {
            reply(Err(Refused::Draining));
        }
    }

    /// Returns a channel with every event from now on, once it is durable. A dropped receiver is
    /// unsubscribed.
    pub fn subscribe(&self) -> Receiver<EventRow> {
        let (sender, events) = channel();
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(sender);
        events
    }

    /// Stops the dispatcher once its started work is durable, and returns when the store is
    /// released. Agents go on.
    pub fn stop(&self) {
        let (answer, answers) = channel();
        if self.shift.put(Input::Stop(answer)).is_ok() {
            let _ = answers.recv();
        }
    }

    /// Returns the task that a pending one waits for: it holds the same folder, or waits for that
    /// folder and comes first.
    pub fn workspace_held_by(&self, row: &JobRow) -> Option<String> {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.waits_for(row)
    }

    /// Returns the present configuration.
    pub fn config(&self) -> Arc<Config> {
        current(&self.config)
    }

    /// Replaces the configuration. The data folder and the shim program stay.
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

    /// Returns the store of the jobs.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Seals one answer of a person into a token, for people who cannot show a login: its holder
    /// may give that answer, and nobody can forge one. It counts once, because every answer does.
    pub fn seal_action(&self, action: &str) -> Option<String> {
        self.key.seal(ACTION_PURPOSE, action.as_bytes()).ok()
    }

    /// Returns the answer that such a token stands for.
    pub fn open_action(&self, word: &str) -> Option<String> {
        let opened = self.key.open_sealed(ACTION_PURPOSE, word).ok()?;
        String::from_utf8(opened).ok()
    }

    /// Returns task and attempt of an agent's token while that attempt has a process.
    pub fn agent_token(&self, text: &str) -> Option<(String, u32)> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let (task, attempt) = tokens.get(text).cloned()?;
        drop(tokens);
        let job = self.store.find_job(&task).ok().flatten()?.job;
        let present = job.attempt == attempt && job.process == ProcessState::Live;
        present.then_some((task, attempt))
    }

    /// Returns the task of an agent that shows no token, found by the shim among its ancestors.
    pub fn task_of_agent(&self, descent: &ProcessAncestry) -> Option<String> {
        let config = self.config();
        descent.attempts.iter().find_map(|name| {
            let (task, number) = name.rsplit_once('-')?;
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            if number.is_empty() || !name.chars().all(plain) {
                return None;
            }
            let attempt = Attempt::open_existing(&config.attempt(name)).ok()?;
            let shim = u32::try_from(ShimHandle::attach(&attempt, 0).ok()?.greeting().shim).ok()?;
            descent.processes.contains(&shim).then(|| task.to_owned())
        })
    }

    /// Returns the output logs of a job's attempts, the oldest first.
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

    /// True if the process of the present attempt is alive, checked now.
    pub fn alive(&self, row: &JobRow) -> bool {
        let folder = self.config().attempt(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open_existing(&folder).ok();
        attempt.is_some_and(|it| matches!(it.condition(), Ok(AttemptCondition::Alive)))
    }

    /// Returns the process id of the agent while its shim answers.
    pub fn pid(&self, row: &JobRow) -> Option<i32> {
        let folder = self.config().attempt(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open_existing(&folder).ok()?;
        let handle = ShimHandle::attach(&attempt, 0).ok()?;
        handle.last_status().agent
    }

    /// Returns the values that were given to a job, in clear.
    pub fn secrets(&self, row: &JobRow) -> Vec<String> {
        // If the store fails, no output is shown at all.
        let values = prompt::provided(&*self.store, &self.key, &row.id).unwrap_or_default();
        values.into_iter().map(|(_, value)| value).collect()
    }
}
