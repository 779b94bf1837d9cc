//! The event loop of a run: all inputs arrive through one channel, and the conductor decides.

use super::announcements::AnnouncementSender;
use super::conductor::{Conductor, RunOutcome, RunRules};
use super::control_socket::{self, ControlSocket, SocketError, SocketRequest, SocketResponse};
use super::execute::{TICK_INTERVAL, completed_tasks};
use super::git_workers::GitWorkers;
use super::ports::{ConductorEvent, ConductorPorts as _, RunNotice, RunRequest};
use super::repo::{KeptWorktree, PullRequestCommands, RepoSettings, RunRepo};
use super::report::{RunReport, RunView, id_strings};
use super::run_journal::RunJournal;
use super::runtime::RunRuntime;
use super::task_record::AttemptUsage;
use crate::core::attempts::{AttemptEvent, AttemptLoop};
use crate::core::breakers::CircuitBreakers;
use crate::core::cleanup::remove_old_attempts;
use crate::core::failure::FailureReason;
use crate::core::stop_handle::StopHandle;
use bowline_engine::agents::shim_program;
use bowline_engine::formats::develop::policy::FILE_NAME;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::run_settings::LandingMode;
use bowline_engine::formats::settings::{BowlineSettings, Seconds};
use bowline_engine::machines::orchestrate::{Command, NodeId, NodeStatus, OrchestrationLimits};
use bowline_engine::machines::{Actor, Timestamp};
use bowline_engine::operations::orchestrate::{Orchestration, PlanFile, RunNotification};
use bowline_engine::statefiles::{ContentHash, write_atomically};
use bowline_engine::{Context, Error};
use bowline_words::Lang;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Maximum number of inputs that share one flush.
const EVENTS_AT_ONCE: usize = 256;
/// Longest wait without an input or a deadline.
const WAIT_MS_MAX: i64 = 5_000;
/// Interval of checks for edits of the plan, which people may change while a run goes on.
const PLAN_CHECK_MS: u64 = 1_000;
/// Time that the git processes of an earlier run may take to end.
const EARLIER_GIT_WAIT_MS_MAX: u64 = 60_000;
/// Default interval of checks of a pull request.
const PULL_REQUEST_INTERVAL: Seconds = Seconds(30);
/// Default wait before a failed task is retried.
const DEFAULT_BACKOFF: Seconds = Seconds(1);
/// Default promise, which an agent prints in mode ralph.
const DEFAULT_PROMISE: &str = "TASK_DONE";
/// Default maximum number of repetitions in mode ralph.
const ITERATIONS_MAX: u32 = 50;
/// Default number of agents for each processor; they mostly wait for their models.
const AGENTS_PER_CPU: usize = 4;
/// Default number of agents at least, for small machines.
const AGENTS_MIN: usize = 8;

/// An input of the loop.
pub(super) enum LoopInput {
    Event(ConductorEvent),
    Attempt(AttemptEvent),
    Control(SocketRequest, Lang, Sender<SocketResponse>),
    Request(RunRequest),
    /// The announcement of a journal line was delivered or given up.
    Announced {
        seq: Option<u64>,
        trouble: Option<String>,
    },
}

/// Options of a run, as the caller gives them.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The run ends after this phase.
    pub phase: Option<u32>,
    /// Maximum number of tasks at once.
    pub parallel: Option<u32>,
    /// The agent of all tasks.
    pub agent: Option<String>,
    pub mode: Option<RunMode>,
    /// Text that an agent prints in mode ralph when it is done.
    pub promise: Option<String>,
    /// Maximum number of repetitions in mode ralph.
    pub iterations: Option<u32>,
    /// None for the landing of the settings.
    pub landing: Option<LandingMode>,
    /// Tasks may start on work that has not landed yet.
    pub stack: bool,
}

/// Display for the progress of a run.
pub trait RunScreen {
    /// Shows a notice, with the run as it was at that time.
    fn show_notice(&mut self, notice: &RunNotice, run: &RunView);
    /// Shows that the plan was edited and its tasks were taken over.
    fn plan_changed(&mut self, run: &RunView);
    /// Updates the usage of a task.
    fn update_usage(&mut self, id: &str, used: AttemptUsage);
    /// Renders an announcement for outside of the run. `why` is the failure's reason, known only if
    /// it failed in this run.
    fn announcement_text(
        &self,
        news: &RunNotification,
        why: Option<&FailureReason>,
        project: &str,
    ) -> String;
}

/// Facts about the start of a run that it needs whenever it continues.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct RunOrigin {
    /// The branch that was checked out.
    target: Option<String>,
    /// Start of the orchestration: another value means another run.
    started_at: i64,
}

/// Returns the key of a run in the names of its branches and attempts. A restarted orchestration
/// has another key.
pub(super) fn run_key(orchestration: &Orchestration, started_at: Timestamp) -> String {
    let path = orchestration.file().path.display();
    let hash = ContentHash::of_bytes(format!("{path} {}", started_at.0).as_bytes());
    hash.to_string().chars().take(10).collect()
}

/// Reads the settings of a project.
pub fn read_settings(root: &Path) -> Result<BowlineSettings, Error> {
    let path = root.join(FILE_NAME);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            BowlineSettings::parse(&text).map_err(|fault| Error::BadSettings { path, fault })
        }
        Err(_) => Ok(BowlineSettings::default()),
    }
}

/// Works off an orchestration until it is done, stalls, or is asked to leave. `begun` gets the
/// handle that others use to ask for it.
pub fn run(
    context: &Context,
    orchestration: &Orchestration,
    options: &RunOptions,
    screen: &mut dyn RunScreen,
    begun: impl FnOnce(StopHandle),
) -> Result<RunReport, Error> {
    let settings = read_settings(orchestration.root())?;
    let limits = |config: OrchestrationLimits| OrchestrationLimits {
        max_parallel: options
            .parallel
            .or(settings
                .orchestrate
                .max_parallel
                .filter(|_| config.max_parallel == 0))
            .unwrap_or(config.max_parallel),
        retry_limit: settings
            .orchestrate
            .retry_limit
            .unwrap_or(config.retry_limit),
    };
    let owned = orchestration.take_ownership(context, limits)?;
    let side = orchestration.data_folder(context);
    let key = run_key(orchestration, owned.run().started_at());
    let landing = options.landing.unwrap_or(settings.orchestrate.land);
    let started_at = owned.run().started_at();
    let plan = owned.plan();
    let repo = open_repo(context, orchestration, started_at, plan, &settings, landing)?;
    if let Some(repo) = &repo {
        repo.prepare_repository()?;
    }
    let (inputs, events) = channel();
    let jobs = match &repo {
        Some(repo) => Some(GitWorkers::spawn(repo, &inputs).map_err(thread_failed)?),
        None => None,
    };
    let sink = inputs.clone();
    let attempts = AttemptLoop::spawn(shim_program(), move |news| {
        let _ = sink.send(LoopInput::Attempt(news));
    })
    .map_err(thread_failed)?;
    let entrance =
        ControlSocket::open(&orchestration.file().path, inputs.clone()).map_err(thread_failed)?;
    let meta = owned.read_meta();
    let configured = settings
        .orchestrate
        .mode
        .as_deref()
        .and_then(RunMode::from_name);
    let mode = options.mode.or(configured).unwrap_or(meta.mode);
    let mut rules = run_rules(options, &settings, mode);
    if repo.is_none() {
        // Without a branch, landings need no order.
        rules.landings_max = usize::MAX;
    }
    let promise = options.promise.clone();
    let promise = promise.or(settings.orchestrate.completion_promise.clone());
    let checked = !settings.orchestrate.checks.is_empty();
    let announcer = AnnouncementSender::spawn(context, &owned, &settings, &key, &inputs);
    let ledger = RunJournal::open(owned, &side, &key)?;
    let mut real = RunRuntime {
        context: context.clone(),
        project: meta.project,
        journal: ledger,
        side,
        repo,
        jobs,
        attempts,
        inputs: inputs.clone(),
        settings,
        agent: options.agent.clone(),
        mode,
        promise: promise.unwrap_or_else(|| DEFAULT_PROMISE.into()),
        key,
        screen,
        announcer,
        live_attempts: BTreeMap::new(),
        orders: Vec::new(),
        ticks: Vec::new(),
        ticked: Instant::now(),
        tick_after: TICK_INTERVAL,
        capacity_checked_at: None,
    };
    real.trim_log();
    real.check_agents(options.phase)?;
    real.clean_up_earlier_runs();
    real.queue_missed_ticks();
    begun(StopHandle::new(move |ending| {
        let request = if ending {
            RunRequest::Stop
        } else {
            RunRequest::Leave
        };
        let _ = inputs.send(LoopInput::Request(request));
    }));
    real.start_announcing()?;
    let mut conductor = Conductor::new(rules);
    conductor.resume_run(&mut real)?;
    real.flush_and_execute()?;
    let ended = run_loop(&mut conductor, &mut real, &events)?;
    real.await_deliveries(&events)?;
    drop(entrance);
    real.tick_queued();
    real.journal.owned.write_file(context)?;
    if let (false, Some(jobs)) = (matches!(ended, RunOutcome::Left), real.jobs.take()) {
        // Cleanups that were started end before the run does.
        jobs.finish_queued();
    }
    let mut ended = ended;
    if let (RunOutcome::AllDone, Some(repo)) = (&ended, &real.repo) {
        repo.remove_check_worktree()?;
        let run = real.journal.run_state();
        let over = run.phases().filter(|phase| phase.is_finished());
        let done = over.flat_map(|phase| completed_tasks(run, Some(phase.number)));
        let done: Vec<String> = done.collect();
        if let Some(why) = repo.landings_gone(repo.target_branch(), &done)? {
            ended = RunOutcome::Stuck { why };
        }
    }
    let kept = real
        .repo
        .as_ref()
        .map(RunRepo::task_worktrees)
        .transpose()?;
    let flying: Vec<NodeId> = conductor
        .running_tasks()
        .map(|(id, _)| id.clone())
        .collect();
    Ok(RunReport {
        going_on: match conductor.ends_agents() {
            true => Vec::new(),
            false => id_strings(&flying),
        },
        target: real
            .repo
            .as_ref()
            .map(|repo| repo.target_branch().to_owned()),
        checked,
        kept: kept.unwrap_or_default(),
        ..RunReport::from_run(real.journal.owned.run(), ended, |id| {
            conductor.why_failed(id).cloned()
        })
    })
}

fn run_loop(
    conductor: &mut Conductor,
    real: &mut RunRuntime<'_>,
    events: &std::sync::mpsc::Receiver<LoopInput>,
) -> Result<RunOutcome, Error> {
    let context = real.context.clone();
    let mut planned = Instant::now();
    loop {
        if let Some(ended) = conductor.run_outcome(real) {
            return Ok(ended);
        }
        let now = real.now_ms();
        let wake = conductor
            .next_wake_ms()
            .map_or(WAIT_MS_MAX, |at| (at - now).clamp(0, WAIT_MS_MAX));
        let wait =
            Duration::from_millis(wake.unsigned_abs()).min(Duration::from_millis(PLAN_CHECK_MS));
        let mut input = match events.recv_timeout(wait) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(RunOutcome::Left),
        };
        // Inputs that arrive together share one flush.
        let mut answers = Vec::new();
        for more in (0..EVENTS_AT_ONCE).rev() {
            match input.take() {
                Some(LoopInput::Event(event)) => conductor.on_event(real, event)?,
                Some(LoopInput::Attempt(news)) => {
                    if let Some(event) = real.on_attempt_event(news) {
                        conductor.on_event(real, event)?;
                    }
                }
                Some(LoopInput::Request(request)) => conductor.on_request(real, request)?,
                Some(LoopInput::Announced { seq, trouble }) => real.mark_announced(seq, trouble)?,
                Some(LoopInput::Control(request, lang, reply)) => {
                    answers.push((
                        answer_control_request(conductor, real, request, lang)?,
                        reply,
                    ));
                }
                None => break,
            }
            if more > 0 {
                input = events.try_recv().ok();
            }
        }
        if conductor
            .next_wake_ms()
            .is_some_and(|at| at <= real.now_ms())
        {
            conductor.on_timer(real)?;
        }
        real.flush_and_execute()?;
        for (answer, reply) in answers {
            let _ = reply.send(answer);
        }
        real.journal.write_if_due(&context)?;
        real.tick_if_due();
        if planned.elapsed() >= Duration::from_millis(PLAN_CHECK_MS) {
            planned = Instant::now();
            if real.journal.owned.reread_plan(&context)? {
                let view = RunView::new(real.journal.owned.run().clone());
                real.screen.plan_changed(&view);
                conductor.on_timer(real)?;
                real.flush_and_execute()?;
            }
        }
    }
}

fn answer_control_request(
    conductor: &mut Conductor,
    real: &mut RunRuntime<'_>,
    socket_request: SocketRequest,
    lang: Lang,
) -> Result<SocketResponse, Error> {
    let outcome = convert_request(real, socket_request).and_then(|request| {
        let task = match &request {
            RunRequest::Move(
                Command::Start { id }
                | Command::Complete { id }
                | Command::Fail { id, .. }
                | Command::Retry { id }
                | Command::ForceComplete { id, .. },
            ) => Some(id.clone()),
            _ => None,
        };
        let still = conductor.is_paused();
        conductor.on_request(real, request)?;
        if conductor.is_paused() != still {
            control_socket::mark_paused(&real.journal.owned.orchestration().file().path, !still);
        }
        Ok(task)
    });
    match outcome {
        Ok(task) => {
            let status = |id: &NodeId| {
                real.run_state()
                    .find_node(id)
                    .map_or(NodeStatus::Pending, |node| node.status)
            };
            Ok(SocketResponse {
                ok: true,
                task: task.map(|id| (id.to_string(), status(&id).name().to_owned())),
                error: None,
            })
        }
        Err(error @ (Error::Refused(_) | Error::AmbiguousTask { .. })) => {
            let (message, hint) = error.render_message(lang);
            let code = error.code().to_owned();
            Ok(SocketResponse {
                error: Some(SocketError {
                    code,
                    message,
                    hint,
                }),
                ..SocketResponse::default()
            })
        }
        Err(error) => Err(error),
    }
}

fn convert_request(real: &RunRuntime<'_>, request: SocketRequest) -> Result<RunRequest, Error> {
    let named = |name: &str| real.journal.owned.resolve_task(name);
    Ok(match request {
        SocketRequest::Pause {} => RunRequest::Pause,
        SocketRequest::Continue {} => RunRequest::Continue,
        SocketRequest::Stop {} => RunRequest::Stop,
        SocketRequest::Start { id } => RunRequest::Move(Command::Start { id: named(&id)? }),
        SocketRequest::Complete { id } => RunRequest::Move(Command::Complete { id: named(&id)? }),
        SocketRequest::Fail { id, reason, retry } => RunRequest::Move(Command::Fail {
            id: named(&id)?,
            reason: reason.as_deref().map(Arc::from),
            retry,
        }),
        SocketRequest::Retry { id } => RunRequest::Move(Command::Retry { id: named(&id)? }),
        SocketRequest::ForceComplete { id, reason, person } => {
            RunRequest::Move(Command::ForceComplete {
                id: named(&id)?,
                by: if person { Actor::Person } else { Actor::Agent },
                reason: reason.as_deref().map(Arc::from),
            })
        }
    })
}

pub(super) fn open_repo(
    context: &Context,
    orchestration: &Orchestration,
    started_at: Timestamp,
    plan: Option<&PlanFile>,
    settings: &BowlineSettings,
    landing: LandingMode,
) -> Result<Option<RunRepo>, Error> {
    let side = orchestration.data_folder(context);
    let key = run_key(orchestration, started_at);
    let started_at = started_at.0;
    std::fs::create_dir_all(&side).map_err(thread_failed)?;
    let hold = lock_file(&side.join("git.lock"))?;
    let path = side.join("run.json");
    let text = std::fs::read(&path).unwrap_or_default();
    let known: RunOrigin = serde_json::from_slice(&text).unwrap_or_default();
    let target = known.target.filter(|_| known.started_at == started_at);
    let first = target.is_none();
    let run = &settings.orchestrate;
    let repo_settings = RepoSettings {
        orchestrate: run.clone(),
        environment: context.variables.for_commands(),
        lang: context.lang,
        pull_requests: (landing == LandingMode::PullRequest)
            .then(|| PullRequestCommands::from_settings(&run.pull_request)),
    };
    let plan = plan.map(|plan| plan.path.as_path());
    let root = orchestration.root();
    let repo = RunRepo::open(
        root,
        &side,
        Arc::new(hold),
        target,
        plan,
        &key,
        repo_settings,
    )?;
    if let Some(repo) = repo.as_ref().filter(|_| first) {
        let beginning = RunOrigin {
            target: Some(repo.target_branch().to_owned()),
            started_at,
        };
        let text = serde_json::to_vec(&beginning).unwrap_or_default();
        write_atomically(&*context.disk, &path, &text, None).map_err(Error::File)?;
    }
    Ok(repo)
}

/// Takes the lock that every git of the run holds; waits for those of an earlier run that was
/// killed.
fn lock_file(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(thread_failed)?;
    let end = Instant::now() + Duration::from_millis(EARLIER_GIT_WAIT_MS_MAX);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(thread_failed(error.into())),
        }
    }
}

/// True if a run, or a git of one, holds the lock file.
pub(super) fn is_locked(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// Derives the conductor's rules from options and settings.
pub fn run_rules(options: &RunOptions, settings: &BowlineSettings, mode: RunMode) -> RunRules {
    let run = &settings.orchestrate;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let iterations = options.iterations.or(run.max_iterations);
    RunRules {
        tasks_max: (cpus * AGENTS_PER_CPU).max(AGENTS_MIN),
        last_phase: options.phase,
        ralph: mode == RunMode::Ralph,
        iterations_max: iterations.unwrap_or(ITERATIONS_MAX),
        backoff_ms: run.backoff.unwrap_or(DEFAULT_BACKOFF).as_ms(),
        breakers: CircuitBreakers::from_limits(&settings.limits),
        proposal_ms: run
            .pull_request
            .every
            .unwrap_or(PULL_REQUEST_INTERVAL)
            .as_ms(),
        stack: options.stack || run.stack,
        landings_max: 1,
    }
}

fn thread_failed(error: std::io::Error) -> Error {
    Error::ProgramFailed {
        program: "orchestrate run".into(),
        message: error.to_string(),
    }
}

impl RunRuntime<'_> {
    /// Cleans up after an earlier run: attempts that ended long ago, and worktrees and branches of
    /// tasks that are completed.
    fn clean_up_earlier_runs(&mut self) {
        let open = self
            .run_state()
            .ids_with_status(NodeStatus::InProgress)
            .into_iter();
        let open = open.map(|id| self.attempt_id(&id, self.journal.task_record(&id).attempt));
        let open: BTreeSet<String> = open.collect();
        remove_old_attempts(&self.side, &|attempt| open.contains(attempt));
        let Some(repo) = self.repo.clone() else {
            return;
        };
        for id in self.run_state().ids_with_status(NodeStatus::Completed) {
            if repo.has_leftovers(&id) {
                self.request_job(super::ports::GitJob::Clean { id });
            }
        }
        // Worktrees of completed tasks, and of tasks that are no longer in the plan.
        let open = |kept: &KeptWorktree| {
            let mut nodes = self.run_state().nodes();
            nodes.any(|(id, node)| {
                node.status != NodeStatus::Completed && RunRepo::task_name(id) == kept.name
            })
        };
        let mut gone = repo.task_worktrees().unwrap_or_default();
        gone.retain(|kept| !open(kept));
        if gone.is_empty() {
            return;
        }
        self.queue_notice(RunNotice::Cleaned {
            worktrees: gone.len(),
            bytes: gone.iter().map(|kept| kept.bytes).sum(),
        });
        for KeptWorktree { name, .. } in gone {
            if let Some(jobs) = &self.jobs {
                jobs.clean_up(name);
            }
        }
    }
}
