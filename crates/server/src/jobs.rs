//! Setup of jobs from the settings, and access to them for the server.

use crate::conversation;
use crate::diff::{ReviewChanges, SavedStates};
use crate::files::ERROR_LOG;
use crate::job_service::{FailureCounts, JobResponse, JobService, RequestError, SubmittedRequest};
use crate::notices::NoticeDeliverer;
use crate::serve::EventPublisher;
use crate::store_files;
use bowline_engine::Context;
use bowline_engine::actor::ProcessAncestry;
use bowline_engine::agents::shim_program;
use bowline_engine::formats::settings::{BowlineSettings, NotifySettings};
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::job::TaskStatus;
use bowline_engine::webhook::WebhookClient;
use bowline_engine::words::{display_path, system_cause};
use bowline_formats::agents::AgentProtocol;
use bowline_formats::rest::{AgentPreset, TaskType, TypePhase, Utterance};
use bowline_runner::core::clients::{self, ClientProgram};
pub use bowline_runner::jobs::Jobs;
use bowline_runner::jobs::TaskApp;
pub use bowline_runner::jobs::{AgentSpec, DispatcherHealth, RebuildResult, RebuiltTask};
use bowline_runner::jobs::{
    JobsConfig, TypeSpec, UnknownAgent, Verifier, WorkPhase, first_state_ref, still_alive,
};
pub use bowline_store::JobQuery;
use bowline_store::{EventRow, JobBudget, JobRow, RecordQuery, ReviewRow, SecretKey, Store};
use bowline_words::message::{Cause, ServeTrouble};
use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

/// Name of the store's file in the data folder.
pub(crate) const STORE_FILE: &str = "store.sqlite";
/// Name of the key file in the data folder.
const KEY_FILE: &str = "key";
/// Interval at which new output of agents is looked for.
const OUTPUT_CHECK_INTERVAL: Duration = Duration::from_millis(300);
/// Pause before a background thread is restarted after a panic.
const PANIC_RESTART_DELAY: Duration = Duration::from_secs(1);
/// Maximum size of a prompt file.
const PROMPT_BYTES_MAX: u64 = 1 << 20;

/// Options for setting up jobs.
#[derive(Debug, Clone)]
pub struct JobsSetup {
    pub data: PathBuf,
    /// The settings file, if there is one.
    pub config: Option<PathBuf>,
    /// Overrides the path of the store.
    pub store: Option<PathBuf>,
    /// Overrides the path of the key file.
    pub key: Option<PathBuf>,
    /// Overrides the number of agents that may run at once.
    pub slots: Option<u32>,
    /// Agents and types in addition to those of the settings.
    pub more: BowlineSettings,
    /// Starts with an empty store even if folders of tasks exist.
    pub start_empty: bool,
}

impl JobsSetup {
    pub(crate) fn store_file(&self) -> PathBuf {
        let named = self.store.clone();
        named.unwrap_or_else(|| self.data.join(STORE_FILE))
    }
}

/// Converts an error of the store to a message.
pub(crate) fn store_failure(error: &dyn std::fmt::Display) -> ServeTrouble {
    ServeTrouble::Store {
        cause: Cause::Other {
            text: error.to_string(),
        },
    }
}

/// Returns the settings file: the one named, else the project's, else the user's.
pub fn config_file(context: &Context, folder: &Path, named: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = named {
        return Some(folder.join(named));
    }
    let variable = |name: &str| context.variables.get(name).map(PathBuf::from);
    let config = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let home = variable("HOME").map(|home| home.join(".config"));
    let users = config.or(home).map(|it| it.join("bowline/config.toml"));
    let project = Some(folder.join("bowline.toml"));
    [project, users]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
}

/// Reads the settings file; without one, returns the defaults.
pub fn read_settings(path: Option<&Path>) -> Result<BowlineSettings, ServeTrouble> {
    let Some(path) = path else {
        return Ok(BowlineSettings::default());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| crate::data_folder::file_trouble(path, &error))?;
    BowlineSettings::parse(&text).map_err(|fault| ServeTrouble::BadConfig {
        path: display_path(path),
        fault,
    })
}

/// Returns the agents that can be started with these settings, and the default agent.
pub fn known_agents(
    context: &Context,
    config: Option<&Path>,
) -> Result<(BTreeMap<String, AgentSpec>, String), ServeTrouble> {
    let setup = JobsSetup {
        data: PathBuf::new(),
        config: config.map(Path::to_owned),
        store: None,
        key: None,
        slots: None,
        more: BowlineSettings::default(),
        start_empty: false,
    };
    let (config, _) = load_config(context, &setup, "")?;
    Ok((config.agents, config.default_agent))
}

/// Opens the store, resumes every job in it and starts the background threads.
pub fn start_jobs(
    context: &Context,
    setup: &JobsSetup,
    url: &str,
    publisher: EventPublisher,
) -> Result<(Arc<dyn JobService>, Jobs), ServeTrouble> {
    let (config, notify) = load_config(context, setup, url)?;
    let store = store_files::open_store(context, setup, &config)?;
    let key = setup.key.clone();
    let key = key.unwrap_or_else(|| setup.data.join(KEY_FILE));
    let key = SecretKey::open(&key).map_err(|error| store_failure(&error))?;
    let jobs = Jobs::start(config, Arc::new(store), key);
    let jobs = jobs.map_err(|refused| store_files::refused_trouble(setup, refused))?;
    let path = context.variables.get("PATH").and_then(|it| it.to_str());
    let variables: BTreeMap<String, String> = path
        .map(|path| ("PATH".to_owned(), path.to_owned()))
        .into_iter()
        .collect();
    let notify = Arc::new(RwLock::new(notify));
    let unknown: Arc<Mutex<Vec<UnknownAgent>>> = Arc::default();
    let work: Arc<dyn JobService> = Arc::new(LocalJobService {
        context: context.clone(),
        setup: setup.clone(),
        url: url.to_owned(),
        notify: notify.clone(),
        jobs: jobs.clone(),
        variables: variables.clone(),
        unknown: unknown.clone(),
    });
    let looking = jobs.clone();
    spawn_background("unknown-agents", move || {
        store_files::find_unknown_agents(&looking, &unknown);
    })?;
    let events = jobs.subscribe();
    let watched = Arc::downgrade(&work);
    let of_health = publisher.clone();
    jobs.on_health(move |health| of_health.report_health(&health));
    spawn_background("events", move || {
        publish_events(&events, &publisher, &watched)
    })?;
    let desktop = [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "DBUS_SESSION_BUS_ADDRESS",
        "XDG_RUNTIME_DIR",
    ];
    let seen = desktop.iter().filter_map(|name| {
        let value = context.variables.get(name)?.to_str()?.to_owned();
        Some(((*name).to_owned(), value))
    });
    let deliverer = NoticeDeliverer {
        notify: NotifySettings::default(),
        folder: setup.data.join("notices"),
        clock: context.clock.clone(),
        webhooks: WebhookClient::default(),
        desktop: variables.into_iter().chain(seen).collect(),
    };
    let waiting = Arc::downgrade(&work);
    spawn_background("notices", move || deliverer.run(&waiting, &notify))?;
    Ok((work, jobs))
}

/// Runs a function on a background thread and restarts it after a panic; fails if the thread cannot
/// be started.
fn spawn_background(
    name: &'static str,
    run: impl Fn() + Send + 'static,
) -> Result<(), ServeTrouble> {
    let named = std::thread::Builder::new().name(name.into());
    let repeated = move || {
        while catch_unwind(AssertUnwindSafe(&run)).is_err() {
            tracing::error!(thread = name, "a panic; it begins again");
            std::thread::sleep(PANIC_RESTART_DELAY);
        }
    };
    let spawned = named.spawn(repeated);
    spawned.map(drop).map_err(|error| store_failure(&error))
}

/// Publishes events of the store, and regularly reports new output of agents.
fn publish_events(
    events: &Receiver<EventRow>,
    publisher: &EventPublisher,
    work: &Weak<dyn JobService>,
) {
    let mut seen: HashMap<String, u64> = HashMap::new();
    loop {
        match events.recv_timeout(OUTPUT_CHECK_INTERVAL) {
            Ok(event) => publisher.publish_event(&event),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let Some(work) = work.upgrade() else {
                    return;
                };
                let at_work = JobQuery {
                    status: Some(TaskStatus::InProgress),
                    archived: true,
                    ..JobQuery::default()
                };
                let rows = work.store().list_jobs(&at_work).unwrap_or_default();
                let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |it| it.len());
                seen.retain(|id, _| rows.iter().any(|row| row.id == *id));
                for row in rows.iter().filter(|row| row.job.attempt > 0) {
                    let printed: u64 = work.log_files(row).into_iter().map(size).sum();
                    let before = seen.insert(row.id.clone(), printed).unwrap_or(printed);
                    if printed > before {
                        publisher.publish_output(&row.id, before, printed - before);
                    }
                }
            }
        }
    }
}

pub(crate) fn load_config(
    context: &Context,
    setup: &JobsSetup,
    url: &str,
) -> Result<(JobsConfig, NotifySettings), ServeTrouble> {
    let mut settings = read_settings(setup.config.as_deref())?;
    settings.agent.extend(setup.more.agent.clone());
    settings.types.extend(setup.more.types.clone());
    let beside = setup.config.as_deref().and_then(Path::parent);
    let mut config = JobsConfig::new(&setup.data, shim_program());
    let me = std::env::current_exe().unwrap_or_else(|_| "bowline".into());
    let described = settings.agent.keys().map(String::as_str);
    for name in clients::BUILT_IN_CLIENTS.into_iter().chain(described) {
        let Some(client) = ClientProgram::named(name, &settings, &me) else {
            continue;
        };
        let command = client.command_words();
        let spec = AgentSpec {
            // A scripted agent plays its scenario only: it cannot verify.
            verifies: command.get(1).is_none_or(|word| word != "scripted"),
            command,
            protocol: client.protocol,
            environment: client.environment(context.variables.text_pairs(), &settings),
        };
        config.agents.insert(name.to_owned(), spec);
    }
    config.default_agent = settings
        .defaults
        .agent
        .clone()
        .unwrap_or_else(|| "claude".into());
    for (name, kind) in &settings.types {
        let mut phases = Vec::new();
        for phase in &kind.phases {
            phases.push(phase_spec(phase, beside)?);
        }
        config.types.insert(
            name.clone(),
            TypeSpec {
                name: name.clone(),
                phases,
                complete_on_exit: kind.complete_on_exit,
                app: kind.app.clone(),
            },
        );
    }
    let limits = &settings.limits;
    config.environment = clients::environment(context.variables.text_pairs(), &settings);
    config.url = Some(url.to_owned());
    config.clock = context.clock.clone();
    config.slots = setup.slots.or(limits.slots).unwrap_or(config.slots).max(1);
    config.runs_per_hour = limits.runs_per_hour.unwrap_or(config.runs_per_hour);
    config.turns_max = limits.turns.unwrap_or(config.turns_max);
    config.retry_after_s = limits.retry_after.map_or(config.retry_after_s, |it| it.0);
    config.limits.reworks_max = limits.reworks.unwrap_or(config.limits.reworks_max);
    if let Some(seconds) = limits.question_timeout {
        config.limits.question_timeout_s = seconds.0;
    }
    if let Some(seconds) = limits.dependency_timeout {
        config.limits.dependency_timeout_s = seconds.0;
    }
    if let Some(seconds) = limits.no_progress {
        config.limits.silence_s = seconds.0;
    }
    config.budget = JobBudget {
        tokens: limits.tokens,
        usd: limits.usd,
        minutes: limits
            .wall_time
            .and_then(|it| u64::try_from((it.0 + 59) / 60).ok()),
    };
    config.notifies = settings.notify != NotifySettings::default();
    Ok((config, settings.notify))
}

fn phase_spec(
    phase: &bowline_engine::formats::settings::WorkPhase,
    beside: Option<&Path>,
) -> Result<WorkPhase, ServeTrouble> {
    let prompt = match &phase.prompt {
        None => None,
        Some(file) => {
            let path = beside.unwrap_or(Path::new(".")).join(file);
            let mut text = String::new();
            let read = std::fs::File::open(&path)
                .and_then(|file| file.take(PROMPT_BYTES_MAX).read_to_string(&mut text));
            read.map_err(|error| ServeTrouble::File {
                path: display_path(&path),
                cause: system_cause(&error),
            })?;
            Some(text)
        }
    };
    Ok(WorkPhase {
        name: phase.name.clone(),
        steps: phase.steps.clone(),
        count: phase.deliverables.len(),
        deliverables: phase.deliverables.clone(),
        min_chars: phase.min_chars,
        placeholders: phase.placeholders,
        check: phase.check.clone(),
        verifier: match &phase.verifier {
            None => Verifier::Nobody,
            Some(name) => Verifier::Named(name.clone()),
        },
        review: phase.review,
        prompt,
    })
}

/// Jobs that run in this process, with their agents.
struct LocalJobService {
    context: Context,
    setup: JobsSetup,
    url: String,
    notify: Arc<RwLock<NotifySettings>>,
    jobs: Jobs,
    /// Environment of programs the server starts itself: `PATH` only.
    variables: BTreeMap<String, String>,
    /// Agents found at the start whose tasks the store does not know.
    unknown: Arc<Mutex<Vec<UnknownAgent>>>,
}

impl JobService for LocalJobService {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.jobs.store())
    }

    fn current_time(&self) -> Timestamp {
        self.jobs.config().clock.now()
    }

    fn submit_request(&self, asked: SubmittedRequest) -> Result<JobResponse, RequestError> {
        self.jobs.submit(asked)
    }

    fn task_of_agent(&self, descent: &ProcessAncestry) -> Option<String> {
        self.jobs.task_of_agent(descent)
    }

    fn agent_token(&self, text: &str) -> Option<(String, u32)> {
        self.jobs.agent_token(text)
    }

    fn reload_settings(&self) -> Result<(), ServeTrouble> {
        let (config, notify) = load_config(&self.context, &self.setup, &self.url)?;
        self.jobs.configure(config);
        *self.notify.write().unwrap_or_else(PoisonError::into_inner) = notify;
        Ok(())
    }

    fn dispatcher_health(&self) -> DispatcherHealth {
        self.jobs.health()
    }

    fn failure_counts(&self) -> FailureCounts {
        let failures = self.jobs.failure_counters();
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        FailureCounts {
            dropped_steps: count(&failures.dropped_steps),
            restarts: count(&failures.restarts),
            retries: count(&failures.retries),
        }
    }

    fn workspace_folder(&self, row: &JobRow) -> Option<PathBuf> {
        let named = row.about.workspace.is_some();
        (named || row.job.attempt > 0).then(|| self.jobs.config().workspace(row))
    }

    fn workspace_held_by(&self, row: &JobRow) -> Option<String> {
        self.jobs.workspace_held_by(row)
    }

    fn log_files(&self, row: &JobRow) -> Vec<PathBuf> {
        self.jobs.logs(row)
    }

    fn error_log(&self, row: &JobRow) -> Option<PathBuf> {
        let archives = self.jobs.config().data.join("archives");
        let file = archives.join(&row.id).join(ERROR_LOG);
        file.is_file().then_some(file)
    }

    fn is_alive(&self, row: &JobRow) -> bool {
        row.job.attempt > 0 && self.jobs.alive(row)
    }

    fn process_id(&self, row: &JobRow) -> Option<i32> {
        self.jobs.pid(row)
    }

    fn conversation_entries(&self, row: &JobRow, from: u64, limit: usize) -> Vec<Utterance> {
        let config = self.jobs.config();
        let agent = row.about.agent.as_deref().unwrap_or(&config.default_agent);
        let protocol = config
            .agents
            .get(agent)
            .map_or(AgentProtocol::Markers, |it| it.protocol);
        let wanted = RecordQuery {
            job: Some(row.id.clone()),
            ..RecordQuery::default()
        };
        let records = self.jobs.store().list_records(&wanted).unwrap_or_default();
        let all = conversation::build_conversation(row, &records, protocol, &self.jobs.logs(row));
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        all.into_iter().skip(from).take(limit).collect()
    }

    fn secret_values(&self, row: &JobRow) -> Vec<String> {
        self.jobs.secrets(row)
    }

    fn review_changes(&self, row: &JobRow, review: &ReviewRow) -> Result<ReviewChanges, String> {
        let Some(to) = &review.code_ref else {
            return Err("the files of this phase could not be saved".into());
        };
        let config = self.jobs.config();
        let side = config.data.join("side");
        let own = side.join(format!("{}.git", row.id));
        let states = SavedStates {
            workspace: &config.workspace(row),
            repository: own.join("HEAD").exists().then_some(own),
            from: review.base_ref.as_deref(),
            first: &first_state_ref(&row.id),
            to,
            environment: &self.variables,
            scratch: &side,
        };
        states.compare()
    }

    fn task_types(&self) -> Vec<TaskType> {
        let config = self.jobs.config();
        let types = config.types.values();
        let phase = |phase: &WorkPhase| TypePhase {
            name: phase.name.clone(),
            steps: phase.steps.clone(),
            review: phase.review,
        };
        let kind = |it: &TypeSpec| TaskType {
            name: it.name.clone(),
            phases: it.phases.iter().map(phase).collect(),
            app: !it.app.is_empty(),
        };
        types.map(kind).collect()
    }

    fn agent_presets(&self) -> Vec<AgentPreset> {
        let config = self.jobs.config();
        let presets = config.agents.iter().map(|(name, agent)| AgentPreset {
            name: name.clone(),
            protocol: agent.protocol.name().into(),
            command: agent.command.clone(),
            is_default: *name == config.default_agent,
            available: agent.command.first().is_some_and(|it| is_installed(it)),
        });
        presets.collect()
    }

    fn control_app(&self, row: &JobRow, order: Option<bool>) -> Result<TaskApp, RequestError> {
        match order {
            None => self.jobs.task_app(row),
            Some(true) => self.jobs.start_app(row),
            Some(false) => self.jobs.stop_app(row),
        }
    }

    fn seal_action(&self, action: &str) -> Option<String> {
        self.jobs.seal_action(action)
    }

    fn open_action(&self, word: &str) -> Option<String> {
        self.jobs.open_action(word)
    }

    fn unknown_agents(&self) -> Vec<UnknownAgent> {
        let known = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let alive = known.iter();
        let alive = alive.filter_map(|it| still_alive(&self.jobs.config(), it));
        alive.collect()
    }

    fn slot_counts(&self) -> (u32, u32) {
        let slots = self.jobs.config().slots;
        let rows = self.jobs.store().open_jobs().unwrap_or_default();
        let running = rows.iter().filter(|row| {
            use bowline_engine::machines::job::JobState;
            matches!(
                row.job.state,
                JobState::Running | JobState::Verifying { .. }
            )
        });
        (slots, u32::try_from(running.count()).unwrap_or(u32::MAX))
    }
}

/// True if a program is installed: by its path, or in a folder of `PATH`.
pub fn is_installed(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = Context::from_environment("path").variables;
    let folders = path.get("PATH").map(std::env::split_paths);
    folders.is_some_and(|mut it| it.any(|folder| folder.join(program).is_file()))
}
