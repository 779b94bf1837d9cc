//! The jobs of this process as the server needs them, and how they are set up from the settings.

use crate::notices::Deliverer;
use crate::serve::Publisher;
use crate::talk;
use crate::work::{Answered, Asked, Refused, Work};
use bowline_engine::agents::shim;
use bowline_engine::formats::client_hooks::quoted;
use bowline_engine::formats::settings::{Notify, Settings};
use bowline_engine::formats::time::utc;
use bowline_engine::machines::job::TaskStatus;
use bowline_engine::words::{shown, system};
use bowline_engine::{Context, process};
use bowline_formats::agents::Protocol;
use bowline_formats::rest::{AgentPreset, FileChange, FileDiff, TaskType, TypePhase, Utterance};
use bowline_runner::core::clients::{self, Client};
use bowline_runner::drivers::jobs::App;
pub use bowline_runner::drivers::jobs::Jobs;
pub use bowline_runner::drivers::jobs::{AgentSpec, How, Rebuilt};
use bowline_runner::drivers::jobs::{Config, Phase, TypeSpec, Verifier, rebuild};
pub use bowline_store::JobQuery;
use bowline_store::{
    Budget, EventRow, JobRow, Key, RecordQuery, ReviewRow, Sqlite, Store, StoreError,
};
use bowline_words::message::{Cause, ServeTrouble};
use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The store's file in the data folder.
const STORE_FILE: &str = "store.sqlite";
/// The key's.
const KEY_FILE: &str = "key";
/// How often it is looked what agents have printed.
const PRINTED_TIME: Duration = Duration::from_millis(300);
/// How long git may take for a diff, and how much of it is shown.
const DIFF_TIME: Duration = Duration::from_secs(30);
const DIFF_BYTES_MAX: u64 = 4 * 1024 * 1024;
const FILE_DIFF_BYTES_MAX: usize = 256 * 1024;
/// The tree of nothing, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The size of a prompt file.
const PROMPT_BYTES_MAX: u64 = 1 << 20;

/// How jobs are set up.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The data folder.
    pub data: PathBuf,
    /// The file of settings, where there is one.
    pub config: Option<PathBuf>,
    /// Another place for the store.
    pub store: Option<PathBuf>,
    /// Another key file.
    pub key: Option<PathBuf>,
    /// Agents at once, whatever the settings say.
    pub slots: Option<u32>,
    /// Agents and types besides those of the settings.
    pub more: Settings,
}

impl Setup {
    fn store_file(&self) -> PathBuf {
        let named = self.store.clone();
        named.unwrap_or_else(|| self.data.join(STORE_FILE))
    }
}

/// The store is not as it should be.
pub(crate) fn failed(error: &dyn std::fmt::Display) -> ServeTrouble {
    ServeTrouble::Store {
        cause: Cause::Other {
            text: error.to_string(),
        },
    }
}

/// The file of settings: the named one, else the project's, else the user's.
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

/// The settings of a file; those of none are the usual ones.
pub fn settings(path: Option<&Path>) -> Result<Settings, ServeTrouble> {
    let Some(path) = path else {
        return Ok(Settings::default());
    };
    let text = std::fs::read_to_string(path).map_err(|error| crate::data::trouble(path, &error))?;
    Settings::read(&text).map_err(|fault| ServeTrouble::BadConfig {
        path: shown(path),
        fault,
    })
}

/// The agents that can be started with these settings, and which of them is taken when a task names none.
pub fn known_agents(
    context: &Context,
    config: Option<&Path>,
) -> Result<(BTreeMap<String, AgentSpec>, String), ServeTrouble> {
    let setup = Setup {
        data: PathBuf::new(),
        config: config.map(Path::to_owned),
        store: None,
        key: None,
        slots: None,
        more: Settings::default(),
    };
    let (config, _) = configured(context, &setup, "")?;
    Ok((config.agents, config.default_agent))
}

/// Makes a lost store again from what workspaces tell; one that cannot be read is set aside first. Nobody may serve.
pub fn rebuild_store(context: &Context, setup: &Setup) -> Result<Vec<Rebuilt>, ServeTrouble> {
    let (config, _) = configured(context, setup, "")?;
    let path = setup.store_file();
    let store = match Sqlite::open(&path) {
        Ok(store) => store,
        Err(
            error @ (StoreError::Locked { .. }
            | StoreError::Newer { .. }
            | StoreError::Unsafe { .. }),
        ) => {
            return Err(failed(&error));
        }
        Err(StoreError::Damaged { .. } | StoreError::Failed(_)) => {
            let stamp = utc(context.clock.now()).replace([':', '-'], "");
            for end in ["", "-wal", "-shm"] {
                let file = PathBuf::from(format!("{}{end}", path.display()));
                let aside = PathBuf::from(format!("{}.damaged-{stamp}{end}", path.display()));
                if file.exists() {
                    std::fs::hard_link(&file, &aside)
                        .and_then(|()| std::fs::remove_file(&file))
                        .map_err(|error| crate::data::trouble(&file, &error))?;
                }
            }
            Sqlite::open(&path).map_err(|error| failed(&error))?
        }
    };
    rebuild(&config, &store).map_err(|refused| failed(&format!("{refused:?}")))
}

/// Begins work: opens the store and goes on with every job of it.
pub fn begin(
    context: &Context,
    setup: &Setup,
    url: &str,
    publisher: Publisher,
) -> Result<(Arc<dyn Work>, Jobs), ServeTrouble> {
    let (config, notify) = configured(context, setup, url)?;
    let store = Sqlite::open(&setup.store_file()).map_err(|error| failed(&error))?;
    let key = setup.key.clone();
    let key = key.unwrap_or_else(|| setup.data.join(KEY_FILE));
    let key = Key::open(&key).map_err(|error| failed(&error))?;
    let jobs = Jobs::start(config, Arc::new(store), key);
    let jobs = jobs.map_err(|refused| failed(&format!("{refused:?}")))?;
    let path = context.variables.get("PATH").and_then(|it| it.to_str());
    let variables: BTreeMap<String, String> = path
        .map(|path| ("PATH".to_owned(), path.to_owned()))
        .into_iter()
        .collect();
    let work: Arc<dyn Work> = Arc::new(Working {
        jobs: jobs.clone(),
        variables: variables.clone(),
    });
    let events = jobs.subscribe();
    let watched = Arc::downgrade(&work);
    std::thread::spawn(move || tell(&events, &publisher, &watched));
    if notify != Notify::default() {
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
        let deliverer = Deliverer {
            notify,
            folder: setup.data.join("notices"),
            clock: context.clock.clone(),
            desktop: variables.clone().into_iter().chain(seen).collect(),
            variables,
        };
        let waiting = Arc::downgrade(&work);
        std::thread::spawn(move || deliverer.run(&waiting));
    }
    Ok((work, jobs))
}

/// Hands events on, and looks now and then how much agents have printed.
fn tell(events: &Receiver<EventRow>, publisher: &Publisher, work: &Weak<dyn Work>) {
    let mut seen: HashMap<String, u64> = HashMap::new();
    loop {
        match events.recv_timeout(PRINTED_TIME) {
            Ok(event) => publisher.event(&event),
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
                let rows = work.store().jobs(&at_work).unwrap_or_default();
                let size = |path: PathBuf| std::fs::metadata(path).map_or(0, |it| it.len());
                seen.retain(|id, _| rows.iter().any(|row| row.id == *id));
                for row in rows.iter().filter(|row| row.job.attempt > 0) {
                    let printed: u64 = work.logs(row).into_iter().map(size).sum();
                    let before = seen.insert(row.id.clone(), printed).unwrap_or(printed);
                    if printed > before {
                        publisher.printed(&row.id, before, printed - before);
                    }
                }
            }
        }
    }
}

fn configured(
    context: &Context,
    setup: &Setup,
    url: &str,
) -> Result<(Config, Notify), ServeTrouble> {
    let mut settings = settings(setup.config.as_deref())?;
    settings.agent.extend(setup.more.agent.clone());
    settings.types.extend(setup.more.types.clone());
    let beside = setup.config.as_deref().and_then(Path::parent);
    let mut config = Config::new(&setup.data, shim());
    let me = std::env::current_exe().unwrap_or_else(|_| "bowline".into());
    let described = settings.agent.keys().map(String::as_str);
    for name in clients::KNOWN.into_iter().chain(described) {
        let Some(client) = Client::named(name, &settings, &me) else {
            continue;
        };
        let command = client.words();
        let spec = AgentSpec {
            // One that plays a scenario knows nothing else.
            verifies: command.get(1).is_none_or(|word| word != "scripted"),
            command,
            protocol: client.protocol,
            environment: client.environment(context.variables.texts(), &settings),
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
            phases.push(phase_of(phase, beside)?);
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
    config.environment = clients::environment(context.variables.texts(), &settings);
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
    config.budget = Budget {
        tokens: limits.tokens,
        usd: limits.usd,
        minutes: limits
            .wall_time
            .and_then(|it| u64::try_from((it.0 + 59) / 60).ok()),
    };
    config.notifies = settings.notify != Notify::default();
    Ok((config, settings.notify))
}

fn phase_of(
    phase: &bowline_engine::formats::settings::Phase,
    beside: Option<&Path>,
) -> Result<Phase, ServeTrouble> {
    let prompt = match &phase.prompt {
        None => None,
        Some(file) => {
            let path = beside.unwrap_or(Path::new(".")).join(file);
            let mut text = String::new();
            let read = std::fs::File::open(&path)
                .and_then(|file| file.take(PROMPT_BYTES_MAX).read_to_string(&mut text));
            read.map_err(|error| ServeTrouble::File {
                path: shown(&path),
                cause: system(&error),
            })?;
            Some(text)
        }
    };
    Ok(Phase {
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

/// Jobs with agents at work on them.
struct Working {
    jobs: Jobs,
    /// Of the programs we start ourselves: where programs are found, and nothing else.
    variables: BTreeMap<String, String>,
}

impl Work for Working {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.jobs.store())
    }

    fn ask(&self, asked: Asked) -> Result<Answered, Refused> {
        self.jobs.ask(asked)
    }

    fn agent_token(&self, text: &str) -> Option<(String, u32)> {
        self.jobs.agent_token(text)
    }

    fn workspace(&self, row: &JobRow) -> Option<PathBuf> {
        let named = row.about.workspace.is_some();
        (named || row.job.attempt > 0).then(|| self.jobs.config().workspace(row))
    }

    fn logs(&self, row: &JobRow) -> Vec<PathBuf> {
        self.jobs.logs(row)
    }

    fn alive(&self, row: &JobRow) -> bool {
        row.job.attempt > 0 && self.jobs.alive(row)
    }

    fn pid(&self, row: &JobRow) -> Option<i32> {
        self.jobs.pid(row)
    }

    fn conversation(&self, row: &JobRow, from: u64, limit: usize) -> Vec<Utterance> {
        let config = self.jobs.config();
        let agent = row.about.agent.as_deref().unwrap_or(&config.default_agent);
        let protocol = config
            .agents
            .get(agent)
            .map_or(Protocol::Markers, |it| it.protocol);
        let wanted = RecordQuery {
            job: Some(row.id.clone()),
            ..RecordQuery::default()
        };
        let records = self.jobs.store().records(&wanted).unwrap_or_default();
        let all = talk::of(row, &records, protocol, &self.jobs.logs(row));
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        all.into_iter().skip(from).take(limit).collect()
    }

    fn secrets(&self, row: &JobRow) -> Vec<String> {
        self.jobs.secrets(row)
    }

    fn diff(&self, row: &JobRow, review: &ReviewRow) -> Result<Vec<FileDiff>, String> {
        let Some(to) = &review.code_ref else {
            return Ok(Vec::new());
        };
        let workspace = self.jobs.config().workspace(row);
        let side = self.jobs.config().data.join("side");
        let own = side.join(format!("{}.git", row.id));
        let at = match own.join("HEAD").exists() {
            true => format!("--git-dir={}", quoted(&shown(&own))),
            false => String::new(),
        };
        // Two pages may ask at once.
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let asked = ASKED.fetch_add(1, Ordering::Relaxed);
        let out = side.join(format!("{}.{asked}.diff", row.id));
        let from = review.base_ref.as_deref().unwrap_or(EMPTY_TREE);
        let script = format!(
            "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY\n\
             git {at} diff --no-color --no-ext-diff --no-textconv --no-renames --full-index {} {} > {}",
            quoted(from),
            quoted(to),
            quoted(&shown(&out)),
        );
        let ran = process::run_in(&script, &workspace, &self.variables, DIFF_TIME);
        let ran = ran.map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        let read = std::fs::File::open(&out)
            .and_then(|file| file.take(DIFF_BYTES_MAX).read_to_end(&mut text));
        let _ = std::fs::remove_file(&out);
        match (ran.exit_code, read) {
            (0, Ok(_)) => Ok(files_of(&String::from_utf8_lossy(&text))),
            (0, Err(error)) => Err(error.to_string()),
            _ => Err(ran.output_tail),
        }
    }

    fn types(&self) -> Vec<TaskType> {
        let types = self.jobs.config().types.values();
        let phase = |phase: &Phase| TypePhase {
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

    fn agents(&self) -> Vec<AgentPreset> {
        let config = self.jobs.config();
        let told = config.agents.iter().map(|(name, agent)| AgentPreset {
            name: name.clone(),
            protocol: agent.protocol.name().into(),
            command: agent.command.clone(),
            is_default: *name == config.default_agent,
            available: agent.command.first().is_some_and(|it| is_there(it)),
        });
        told.collect()
    }

    fn app(&self, row: &JobRow, order: Option<bool>) -> Result<App, Refused> {
        match order {
            None => self.jobs.app(row),
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

    fn slots(&self) -> (u32, u32) {
        let slots = self.jobs.config().slots;
        let rows = self.jobs.store().open_jobs().unwrap_or_default();
        let running = rows.iter().filter(|row| {
            use bowline_engine::machines::job::Life;
            matches!(row.job.life, Life::Running | Life::Verifying { .. })
        });
        (slots, u32::try_from(running.count()).unwrap_or(u32::MAX))
    }
}

/// Whether a program is on this machine: by its path, or in a folder that programs are looked for in.
pub fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = Context::from_environment("path").variables;
    let folders = path.get("PATH").map(std::env::split_paths);
    folders.is_some_and(|mut it| it.any(|folder| folder.join(program).is_file()))
}

/// The files of a diff of git.
fn files_of(text: &str) -> Vec<FileDiff> {
    let mut files = Vec::new();
    for part in text.split("\ndiff --git ").flat_map(|it| {
        let part = it.strip_prefix("diff --git ").unwrap_or(it);
        (!part.is_empty()).then_some(part)
    }) {
        let (head, body) = match part.find("\n@@") {
            Some(at) => part.split_at(at + 1),
            None => (part, ""),
        };
        let line = |prefix: &str| head.lines().find_map(|line| line.strip_prefix(prefix));
        let name = head.lines().next().and_then(|it| it.split(" b/").nth(1));
        let path = line("+++ b/")
            .or(line("--- a/"))
            .or(name)
            .unwrap_or_default();
        let change = match (line("new file mode"), line("deleted file mode")) {
            (Some(_), _) => FileChange::Added,
            (_, Some(_)) => FileChange::Deleted,
            (None, None) => FileChange::Modified,
        };
        let hash = line("index ").and_then(|it| it.split("..").nth(1));
        let hash = hash.and_then(|it| it.split(' ').next()).unwrap_or_default();
        let mut diff = body.to_owned();
        let truncated = diff.len() > FILE_DIFF_BYTES_MAX;
        if truncated {
            diff.truncate(diff.floor_char_boundary(FILE_DIFF_BYTES_MAX));
        }
        files.push(FileDiff {
            path: path.trim_matches('"').to_owned(),
            change,
            diff,
            binary: line("Binary files").is_some(),
            hash: match change {
                FileChange::Deleted => String::new(),
                FileChange::Added | FileChange::Modified => hash.to_owned(),
            },
            truncated,
        });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_told_file_by_file() {
        let text = "diff --git a/a.md b/a.md\nnew file mode 100644\nindex 000..1234\n--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+hello\n\
                    diff --git a/b.png b/b.png\nindex 111..222 100644\nBinary files a/b.png and b/b.png differ\n\
                    diff --git a/c b/c\ndeleted file mode 100644\nindex 333..000\n--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";
        let files = files_of(text);
        let shown: Vec<(&str, FileChange, bool, &str)> = files
            .iter()
            .map(|it| (it.path.as_str(), it.change, it.binary, it.hash.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("a.md", FileChange::Added, false, "1234"),
                ("b.png", FileChange::Modified, true, "222"),
                ("c", FileChange::Deleted, false, ""),
            ]
        );
        assert_eq!(files[0].diff, "@@ -0,0 +1 @@\n+hello");
    }
}
