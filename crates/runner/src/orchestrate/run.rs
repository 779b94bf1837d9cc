//! The event loop of a run: all inputs arrive through one channel, and the conductor decides.

use super::announcer::Announcer;
use super::conductor::{Conductor, Ended, Rules};
use super::door::{self, Answer, Door, Refused, Request};
use super::jobs::Jobs;
use super::ledger::Ledger;
use super::note::Used;
use super::orders::{TICK, done_in};
use super::ports::{Event, Ports as _, Told, Wish};
use super::real::Real;
use super::repo::{Customs, Kept, Proposals, Repo};
use super::report::{Report, View, names};
use crate::core::attempts::{Attempts, News};
use crate::core::breakers::Breakers;
use crate::core::stopper::Stopper;
use crate::core::tidy::tidy;
use crate::core::why::Why;
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
const LOOK_MS: i64 = 5_000;
/// Interval of checks for edits of the plan, which people may change while a run goes on.
const PLAN_MS: u64 = 1_000;
/// Time that the git processes of an earlier run may take to end.
const EARLIER_MS_MAX: u64 = 60_000;
/// Default interval of checks of a pull request.
const PROPOSAL: Seconds = Seconds(30);
/// Default wait before a failed task is retried.
const BACKOFF: Seconds = Seconds(1);
/// Default promise, which an agent prints in mode ralph.
const PROMISE: &str = "TASK_DONE";
/// Default maximum number of repetitions in mode ralph.
const ITERATIONS_MAX: u32 = 50;
/// Default number of agents for each processor; they mostly wait for their models.
const AGENTS_PER_CPU: usize = 4;
/// Default number of agents at least, for small machines.
const AGENTS_MIN: usize = 8;

/// An input of the loop.
pub(super) enum Heard {
    Event(Event),
    News(News),
    Asked(Request, Lang, Sender<Answer>),
    Wish(Wish),
    /// The announcement of a journal line was delivered or given up.
    Announced {
        seq: Option<u64>,
        trouble: Option<String>,
    },
}

/// Options of a run, as the caller gives them.
#[derive(Debug, Clone, Default)]
pub struct Options {
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
pub trait Screen {
    /// Shows a notice, with the run as it was at that time.
    fn told(&mut self, told: &Told, run: &View);
    /// Shows that the plan was edited and its tasks were taken over.
    fn plan_changed(&mut self, run: &View);
    /// Updates the usage of a task.
    fn used(&mut self, id: &str, used: Used);
    /// Renders an announcement for outside of the run. `why` is the failure's reason, known only if
    /// it failed in this run.
    fn announce(&self, news: &RunNotification, why: Option<&Why>, project: &str) -> String;
}

/// Facts about the start of a run that it needs whenever it continues.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Beginning {
    /// The branch that was checked out.
    target: Option<String>,
    /// Start of the orchestration: another value means another run.
    started_at: i64,
}

/// Returns the key of a run in the names of its branches and attempts. A restarted orchestration
/// has another key.
pub(super) fn key_of(orchestration: &Orchestration, started_at: Timestamp) -> String {
    let path = orchestration.file().path.display();
    let hash = ContentHash::of_bytes(format!("{path} {}", started_at.0).as_bytes());
    hash.to_string().chars().take(10).collect()
}

/// Reads the settings of a project.
pub fn settings_of(root: &Path) -> Result<BowlineSettings, Error> {
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
    options: &Options,
    screen: &mut dyn Screen,
    begun: impl FnOnce(Stopper),
) -> Result<Report, Error> {
    let settings = settings_of(orchestration.root())?;
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
    let key = key_of(orchestration, owned.run().started_at());
    let landing = options.landing.unwrap_or(settings.orchestrate.land);
    let started_at = owned.run().started_at();
    let plan = owned.plan();
    let repo = open_repo(context, orchestration, started_at, plan, &settings, landing)?;
    if let Some(repo) = &repo {
        repo.prepare()?;
    }
    let (heard, events) = channel();
    let jobs = match &repo {
        Some(repo) => Some(Jobs::begin(repo, &heard).map_err(thread_failed)?),
        None => None,
    };
    let sink = heard.clone();
    let attempts = Attempts::drive(shim_program(), move |news| {
        let _ = sink.send(Heard::News(news));
    })
    .map_err(thread_failed)?;
    let entrance = Door::open(&orchestration.file().path, heard.clone()).map_err(thread_failed)?;
    let meta = owned.read_meta();
    let told = settings
        .orchestrate
        .mode
        .as_deref()
        .and_then(RunMode::from_name);
    let mode = options.mode.or(told).unwrap_or(meta.mode);
    let mut rules = rules(options, &settings, mode);
    if repo.is_none() {
        // Without a branch, landings need no order.
        rules.landings_max = usize::MAX;
    }
    let promise = options.promise.clone();
    let promise = promise.or(settings.orchestrate.completion_promise.clone());
    let checked = !settings.orchestrate.checks.is_empty();
    let announcer = Announcer::begin(context, &owned, &settings, &key, &heard);
    let ledger = Ledger::open(owned, &side, &key)?;
    let mut real = Real {
        context: context.clone(),
        project: meta.project,
        ledger,
        side,
        repo,
        jobs,
        attempts,
        heard: heard.clone(),
        settings,
        agent: options.agent.clone(),
        mode,
        promise: promise.unwrap_or_else(|| PROMISE.into()),
        key,
        screen,
        announcer,
        voices: BTreeMap::new(),
        orders: Vec::new(),
        ticks: Vec::new(),
        ticked: Instant::now(),
        tick_after: TICK,
        roomy: None,
    };
    real.trim_log();
    real.check_agents(options.phase)?;
    real.clean_up();
    real.tick_left();
    begun(Stopper::new(move |ending| {
        let wish = if ending { Wish::Stop } else { Wish::Leave };
        let _ = heard.send(Heard::Wish(wish));
    }));
    real.announce_left()?;
    let mut conductor = Conductor::new(rules);
    conductor.resume(&mut real)?;
    real.flush()?;
    let ended = conduct(&mut conductor, &mut real, &events)?;
    real.await_announced(&events)?;
    drop(entrance);
    real.tick_all();
    real.ledger.owned.write_file(context)?;
    if let (false, Some(jobs)) = (matches!(ended, Ended::Left), real.jobs.take()) {
        // Cleanups that were started end before the run does.
        jobs.finish();
    }
    let mut ended = ended;
    if let (Ended::AllDone, Some(repo)) = (&ended, &real.repo) {
        repo.leave()?;
        let run = real.ledger.run();
        let over = run.phases().filter(|phase| phase.is_finished());
        let done = over.flat_map(|phase| done_in(run, Some(phase.number)));
        let done: Vec<String> = done.collect();
        if let Some(why) = repo.landings_gone(repo.target(), &done)? {
            ended = Ended::Stuck { why };
        }
    }
    let kept = real.repo.as_ref().map(Repo::rooms).transpose()?;
    let flying: Vec<NodeId> = conductor.flying().map(|(id, _)| id.clone()).collect();
    Ok(Report {
        going_on: match conductor.ends_agents() {
            true => Vec::new(),
            false => names(&flying),
        },
        target: real.repo.as_ref().map(|repo| repo.target().to_owned()),
        checked,
        kept: kept.unwrap_or_default(),
        ..Report::of(real.ledger.owned.run(), ended, |id| {
            conductor.why_failed(id).cloned()
        })
    })
}

fn conduct(
    conductor: &mut Conductor,
    real: &mut Real<'_>,
    events: &std::sync::mpsc::Receiver<Heard>,
) -> Result<Ended, Error> {
    let context = real.context.clone();
    let mut planned = Instant::now();
    loop {
        if let Some(ended) = conductor.ended(real) {
            return Ok(ended);
        }
        let now = real.now_ms();
        let wake = conductor
            .wakes_ms()
            .map_or(LOOK_MS, |at| (at - now).clamp(0, LOOK_MS));
        let wait = Duration::from_millis(wake.unsigned_abs()).min(Duration::from_millis(PLAN_MS));
        let mut heard = match events.recv_timeout(wait) {
            Ok(heard) => Some(heard),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Left),
        };
        // Inputs that arrive together share one flush.
        let mut answers = Vec::new();
        for more in (0..EVENTS_AT_ONCE).rev() {
            match heard.take() {
                Some(Heard::Event(event)) => conductor.hear(real, event)?,
                Some(Heard::News(news)) => {
                    if let Some(event) = real.news(news) {
                        conductor.hear(real, event)?;
                    }
                }
                Some(Heard::Wish(wish)) => conductor.wish(real, wish)?,
                Some(Heard::Announced { seq, trouble }) => real.announced(seq, trouble)?,
                Some(Heard::Asked(request, lang, reply)) => {
                    answers.push((asked(conductor, real, request, lang)?, reply));
                }
                None => break,
            }
            if more > 0 {
                heard = events.try_recv().ok();
            }
        }
        if conductor.wakes_ms().is_some_and(|at| at <= real.now_ms()) {
            conductor.tick(real)?;
        }
        real.flush()?;
        for (answer, reply) in answers {
            let _ = reply.send(answer);
        }
        real.ledger.write_now_and_then(&context)?;
        real.tick_now_and_then();
        if planned.elapsed() >= Duration::from_millis(PLAN_MS) {
            planned = Instant::now();
            if real.ledger.owned.reread_plan(&context)? {
                let view = View::of(real.ledger.owned.run().clone());
                real.screen.plan_changed(&view);
                conductor.tick(real)?;
                real.flush()?;
            }
        }
    }
}

fn asked(
    conductor: &mut Conductor,
    real: &mut Real<'_>,
    request: Request,
    lang: Lang,
) -> Result<Answer, Error> {
    let outcome = wished(real, request).and_then(|wish| {
        let task = match &wish {
            Wish::Move(
                Command::Start { id }
                | Command::Complete { id }
                | Command::Fail { id, .. }
                | Command::Retry { id }
                | Command::ForceComplete { id, .. },
            ) => Some(id.clone()),
            _ => None,
        };
        let still = conductor.is_paused();
        conductor.wish(real, wish)?;
        if conductor.is_paused() != still {
            door::says_paused(&real.ledger.owned.orchestration().file().path, !still);
        }
        Ok(task)
    });
    match outcome {
        Ok(task) => {
            let status = |id: &NodeId| {
                real.run()
                    .find_node(id)
                    .map_or(NodeStatus::Pending, |node| node.status)
            };
            Ok(Answer {
                ok: true,
                task: task.map(|id| (id.to_string(), status(&id).name().to_owned())),
                error: None,
            })
        }
        Err(error @ (Error::Refused(_) | Error::AmbiguousTask { .. })) => {
            let (message, hint) = error.render_message(lang);
            let code = error.code().to_owned();
            Ok(Answer {
                error: Some(Refused {
                    code,
                    message,
                    hint,
                }),
                ..Answer::default()
            })
        }
        Err(error) => Err(error),
    }
}

fn wished(real: &Real<'_>, request: Request) -> Result<Wish, Error> {
    let named = |name: &str| real.ledger.owned.resolve_task(name);
    Ok(match request {
        Request::Pause {} => Wish::Pause,
        Request::Continue {} => Wish::Continue,
        Request::Stop {} => Wish::Stop,
        Request::Start { id } => Wish::Move(Command::Start { id: named(&id)? }),
        Request::Complete { id } => Wish::Move(Command::Complete { id: named(&id)? }),
        Request::Fail { id, reason, retry } => Wish::Move(Command::Fail {
            id: named(&id)?,
            reason: reason.as_deref().map(Arc::from),
            retry,
        }),
        Request::Retry { id } => Wish::Move(Command::Retry { id: named(&id)? }),
        Request::ForceComplete { id, reason, person } => Wish::Move(Command::ForceComplete {
            id: named(&id)?,
            by: if person { Actor::Person } else { Actor::Agent },
            reason: reason.as_deref().map(Arc::from),
        }),
    })
}

pub(super) fn open_repo(
    context: &Context,
    orchestration: &Orchestration,
    started_at: Timestamp,
    plan: Option<&PlanFile>,
    settings: &BowlineSettings,
    landing: LandingMode,
) -> Result<Option<Repo>, Error> {
    let side = orchestration.data_folder(context);
    let key = key_of(orchestration, started_at);
    let started_at = started_at.0;
    std::fs::create_dir_all(&side).map_err(thread_failed)?;
    let hold = hold(&side.join("git.lock"))?;
    let path = side.join("run.json");
    let text = std::fs::read(&path).unwrap_or_default();
    let known: Beginning = serde_json::from_slice(&text).unwrap_or_default();
    let target = known.target.filter(|_| known.started_at == started_at);
    let first = target.is_none();
    let run = &settings.orchestrate;
    let customs = Customs {
        settings: run.clone(),
        environment: context.variables.for_commands(),
        lang: context.lang,
        proposals: (landing == LandingMode::PullRequest).then(|| Proposals::of(&run.pull_request)),
    };
    let plan = plan.map(|plan| plan.path.as_path());
    let root = orchestration.root();
    let repo = Repo::open(root, &side, Arc::new(hold), target, plan, &key, customs)?;
    if let Some(repo) = repo.as_ref().filter(|_| first) {
        let beginning = Beginning {
            target: Some(repo.target().to_owned()),
            started_at,
        };
        let text = serde_json::to_vec(&beginning).unwrap_or_default();
        write_atomically(&*context.disk, &path, &text, None).map_err(Error::File)?;
    }
    Ok(repo)
}

/// Takes the lock that every git of the run holds; waits for those of an earlier run that was
/// killed.
fn hold(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(thread_failed)?;
    let end = Instant::now() + Duration::from_millis(EARLIER_MS_MAX);
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
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// Derives the conductor's rules from options and settings.
pub fn rules(options: &Options, settings: &BowlineSettings, mode: RunMode) -> Rules {
    let run = &settings.orchestrate;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let iterations = options.iterations.or(run.max_iterations);
    Rules {
        flights_max: (cpus * AGENTS_PER_CPU).max(AGENTS_MIN),
        last_phase: options.phase,
        ralph: mode == RunMode::Ralph,
        iterations_max: iterations.unwrap_or(ITERATIONS_MAX),
        backoff_ms: run.backoff.unwrap_or(BACKOFF).as_ms(),
        breakers: Breakers::of(&settings.limits),
        proposal_ms: run.pull_request.every.unwrap_or(PROPOSAL).as_ms(),
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

impl Real<'_> {
    /// Cleans up after an earlier run: attempts that ended long ago, and worktrees and branches of
    /// tasks that are completed.
    fn clean_up(&mut self) {
        let open = self
            .run()
            .ids_with_status(NodeStatus::InProgress)
            .into_iter();
        let open = open.map(|id| self.attempt_id(&id, self.ledger.note(&id).attempt));
        let open: BTreeSet<String> = open.collect();
        tidy(&self.side, &|attempt| open.contains(attempt));
        let Some(repo) = self.repo.clone() else {
            return;
        };
        for id in self.run().ids_with_status(NodeStatus::Completed) {
            if repo.has_leftovers(&id) {
                self.ask(super::ports::Job::Clean { id });
            }
        }
        // Worktrees of completed tasks, and of tasks that are no longer in the plan.
        let open = |kept: &Kept| {
            let mut nodes = self.run().nodes();
            nodes.any(|(id, node)| {
                node.status != NodeStatus::Completed && Repo::name(id) == kept.name
            })
        };
        let mut gone = repo.rooms().unwrap_or_default();
        gone.retain(|kept| !open(kept));
        if gone.is_empty() {
            return;
        }
        self.tell(Told::Cleaned {
            worktrees: gone.len(),
            bytes: gone.iter().map(|kept| kept.bytes).sum(),
        });
        for Kept { name, .. } in gone {
            if let Some(jobs) = &self.jobs {
                jobs.clean_up(name);
            }
        }
    }
}
