//! Runs the tasks of the server (jobs) with agents.
//!
//! [`Jobs`] is the handle, cheap to clone. [`Jobs::submit`] submits a request, waits until it is
//! decided and durable, and returns the response; [`Jobs::submit_then`] calls back instead, for
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
//! - `commit_queue`: pending commits; requests are decided on top of them meanwhile.
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

mod agent_events;
mod archives;
mod attempt_lifecycle;
mod commit_queue;
mod conversation_history;
mod dispatch_loop;
mod dispatcher;
mod effects;
mod first_state;
mod folder_claims;
mod git_script;
mod job_index;
mod message_delivery;
mod named_workspace;
mod outage;
mod pending_log;
mod permissions;
mod phase_files;
mod prompt;
mod rebuild;
mod request;
mod request_handlers;
#[cfg(test)]
mod simulation;
mod store_change;
mod task_app;
mod task_copies;
mod unknown_agents;
mod work_in_progress;
mod work_types;
mod worker_pool;
mod workspace_metadata;

pub use first_state::first_state_ref;
pub use named_workspace::WorkspaceFault;
use outage::WatchedStore;
pub use outage::{DispatcherHealth, FailureCounters, Outage};
pub use rebuild::{RebuildResult, RebuiltTask, rebuild, tasks_on_disk};
pub use request::{
    DraftEdit, JobRequest, JobResponse, RequestError, SubmittedRequest, record_thing,
};
pub use task_app::TaskApp;
pub use unknown_agents::{UnknownAgent, hold_agent, still_alive, unknown_agents};
pub use work_types::{DESIGN, PLANNING, TypeSpec, Verifier, WorkPhase};
pub use workspace_metadata::{is_passed_over, is_private};

use crate::core::attempts::{AgentMessage, AttemptLoop, AttemptResume, AttemptStart};
use bowline_engine::actor::ProcessAncestry;
use bowline_engine::clock::Clock;
use bowline_formats::agents::{AgentProtocol, ResumePoint};
use bowline_machines::job::{JobLimits, ProcessState};
use bowline_store::{EventRow, JobBudget, JobRow, SecretKey, Store, lacking_resource};
use bowline_supervisor::{Attempt, AttemptCondition, ShimHandle, ShimProgram, WantedState};
use dispatch_loop::DispatchLoop;
use dispatcher::{DispatcherInput, JobDispatcher};
use folder_claims::SharedClaims;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use worker_pool::WorkerPool;

/// Configuration of the job runner.
#[derive(Debug, Clone)]
pub struct JobsConfig {
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

impl JobsConfig {
    /// Creates a configuration with default values and no agents.
    pub fn new(data: &Path, shim: ShimProgram) -> JobsConfig {
        let types = TypeSpec::built_in_types();
        JobsConfig {
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
    fn attempt_folder(&self, id: &str) -> PathBuf {
        self.data.join("attempts").join(id)
    }

    /// Returns the file with the token of an attempt.
    fn token_file(&self, id: &str) -> PathBuf {
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
pub type ReplyCallback = Box<dyn FnOnce(Result<JobResponse, RequestError>) + Send>;

/// Handle to the jobs of this process. Cheap to clone; the dispatcher ends with [`Jobs::stop`], and
/// every agent goes on.
#[derive(Debug, Clone)]
pub struct Jobs {
    dispatch_loop: Arc<DispatchLoop>,
    listeners: Listeners,
    config: SharedConfig,
    store: Arc<dyn Store>,
    key: SecretKey,
    tokens: Tokens,
    claims: SharedClaims,
}

/// Purpose for which one-time answer tokens are sealed.
const ACTION_PURPOSE: &str = "action";

/// Driver of agents: [`AttemptLoop`], or a simulation.
trait AgentDriver: Send {
    fn start_agent(&self, begin: AttemptStart, hidden: Vec<String>);
    fn attach_agent(&self, id: &str, known: AttemptResume);
    fn hide_values(&self, id: &str, values: Vec<String>);
    fn request_level(&self, id: &str, want: WantedState);
    fn interrupt_agent(&self, id: &str);
    fn send_input(&self, id: &str, seq: Option<u64>, last: bool, message: AgentMessage);
    fn acknowledge_output(&self, id: &str, upto: u64, resume: ResumePoint);
    /// Releases every agent and waits until no more events can come.
    fn release_agents(&self) {}
}

impl AgentDriver for AttemptLoop {
    fn start_agent(&self, begin: AttemptStart, hidden: Vec<String>) {
        self.start_attempt_masked(begin, hidden);
    }

    fn attach_agent(&self, id: &str, known: AttemptResume) {
        self.attach_attempt(id, known);
    }

    fn hide_values(&self, id: &str, values: Vec<String>) {
        self.mask_values(id, values);
    }

    fn request_level(&self, id: &str, want: WantedState) {
        self.set_wanted_state(id, want);
    }

    fn interrupt_agent(&self, id: &str) {
        self.interrupt(id);
    }

    fn send_input(&self, id: &str, seq: Option<u64>, last: bool, message: AgentMessage) {
        self.send_message(id, seq, last, message);
    }

    fn acknowledge_output(&self, id: &str, upto: u64, resume: ResumePoint) {
        self.confirm_processed(id, upto, resume);
    }

    fn release_agents(&self) {
        self.close();
    }
}

/// The configuration as it is now; it can be replaced.
type SharedConfig = Arc<RwLock<Arc<JobsConfig>>>;

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

fn current_config(config: &SharedConfig) -> Arc<JobsConfig> {
    let config = config.read().unwrap_or_else(PoisonError::into_inner);
    config.clone()
}

impl Jobs {
    /// Starts the dispatcher and continues every job of the store: attaches to live agents, and
    /// recovers jobs whose agent is gone.
    pub fn start(
        config: JobsConfig,
        store: Arc<dyn Store>,
        key: SecretKey,
    ) -> Result<Jobs, RequestError> {
        let dispatch_loop = Arc::new(DispatchLoop::default());
        let listeners = Listeners::default();
        let tokens = Tokens::default();
        let config = Arc::new(config);
        let shared = Arc::new(RwLock::new(config.clone()));
        let jobs = Jobs {
            dispatch_loop: dispatch_loop.clone(),
            listeners: listeners.clone(),
            config: shared.clone(),
            store: Arc::new(WatchedStore::shared(store.clone(), dispatch_loop.clone())),
            key: key.clone(),
            tokens: tokens.clone(),
            claims: SharedClaims::default(),
        };
        let claims = jobs.claims.clone();
        let done = dispatch_loop.clone();
        // Survives a restart of the dispatcher, so that a task it has in hand is done once.
        let workers = WorkerPool::open(config, move |finished| {
            drop(done.submit(DispatcherInput::Finished(Box::new(finished))));
        });
        let workers = Arc::new(workers.map_err(|error| Outage::from_error(&error))?);
        let (reopened, data) = (store.clone(), current_config(&shared).data.clone());
        let open = move |dispatch_loop: &Arc<DispatchLoop>| {
            let mut dispatcher = JobDispatcher::open(
                shared.clone(),
                store.clone(),
                key.clone(),
                dispatch_loop,
                listeners.clone(),
                tokens.clone(),
                workers.clone(),
            )?;
            dispatcher.index.share_claims(claims.clone());
            Ok(dispatcher)
        };
        let dispatcher = open(&dispatch_loop)?;
        let stay = move || {
            let stopped = dispatch_loop.run_loop(dispatcher, &|| {
                if let Some(resource) = lacking_resource(&data) {
                    return Err(Outage {
                        resource: Some(resource),
                        is_damage: false,
                        reason: format!("{resource} for {}", data.display()),
                    });
                }
                reopened
                    .reopen()
                    .map_err(|error| Outage::from_error(&error))?;
                open(&dispatch_loop)
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
            .map_err(|error| Outage::from_error(&error))?;
        Ok(jobs)
    }

    /// Returns the health of the dispatcher.
    pub fn health(&self) -> DispatcherHealth {
        self.dispatch_loop.health()
    }

    /// Returns the counters of failures.
    pub fn failure_counters(&self) -> &FailureCounters {
        &self.dispatch_loop.failures
    }

    /// Registers a callback for the health now and at every change. After
    /// [`DispatcherHealth::Failed`] the process has to end; agents go on.
    pub fn on_health(&self, call: impl Fn(DispatcherHealth) + Send + Sync + 'static) {
        self.dispatch_loop.on_health(Box::new(call));
    }

    /// Submits a request, waits until it is decided and durable, and returns the response.
    pub fn submit(&self, asked: SubmittedRequest) -> Result<JobResponse, RequestError> {
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
            .dispatch_loop
            .try_run_inline(DispatcherInput::Request(Box::new(asked), Box::new(reply)));
        answers.recv().unwrap_or(Err(RequestError::Draining))
    }

    /// Submits a request without waiting. The callback runs on an internal thread and must not
    /// block.
    pub fn submit_then(&self, asked: SubmittedRequest, reply: ReplyCallback) {
        let unread = self
            .dispatch_loop
            .submit(DispatcherInput::Request(Box::new(asked), reply));
        if let Err(DispatcherInput::Request(_, reply)) = unread {
            reply(Err(RequestError::Draining));
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
        if self
            .dispatch_loop
            .submit(DispatcherInput::Stop(answer))
            .is_ok()
        {
            let _ = answers.recv();
        }
    }

    /// Returns the task that a pending one waits for: it holds the same folder, or waits for that
    /// folder and comes first.
    pub fn workspace_held_by(&self, row: &JobRow) -> Option<String> {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.task_waited_for(row)
    }

    /// Returns the present configuration.
    pub fn config(&self) -> Arc<JobsConfig> {
        current_config(&self.config)
    }

    /// Replaces the configuration. The data folder and the shim program stay.
    pub fn configure(&self, config: JobsConfig) {
        let before = self.config();
        let config = JobsConfig {
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
            let attempt = Attempt::open_existing(&config.attempt_folder(name)).ok()?;
            let shim = u32::try_from(ShimHandle::attach(&attempt, 0).ok()?.greeting().shim).ok()?;
            descent.processes.contains(&shim).then(|| task.to_owned())
        })
    }

    /// Returns the output logs of a job's attempts, the oldest first.
    pub fn logs(&self, row: &JobRow) -> Vec<PathBuf> {
        let config = self.config();
        let log = |attempt: u32| {
            let id = attempt_id(&row.id, attempt);
            config.attempt_folder(&id).join("log")
        };
        (1..=row.job.attempt)
            .map(log)
            .filter(|it| it.exists())
            .collect()
    }

    /// True if the process of the present attempt is alive, checked now.
    pub fn alive(&self, row: &JobRow) -> bool {
        let folder = self
            .config()
            .attempt_folder(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open_existing(&folder).ok();
        attempt.is_some_and(|it| matches!(it.condition(), Ok(AttemptCondition::Alive)))
    }

    /// Returns the process id of the agent while its shim answers.
    pub fn pid(&self, row: &JobRow) -> Option<i32> {
        let folder = self
            .config()
            .attempt_folder(&attempt_id(&row.id, row.job.attempt));
        let attempt = Attempt::open_existing(&folder).ok()?;
        let handle = ShimHandle::attach(&attempt, 0).ok()?;
        handle.last_status().agent
    }

    /// Returns the values that were given to a job, in clear.
    pub fn secrets(&self, row: &JobRow) -> Vec<String> {
        // If the store fails, no output is shown at all.
        let values = prompt::provided_values(&*self.store, &self.key, &row.id).unwrap_or_default();
        values.into_iter().map(|(_, value)| value).collect()
    }
}
