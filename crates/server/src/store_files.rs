//! Files of the store: opening, detecting loss or damage, rebuilding, backup.

use crate::jobs::{JobsSetup, STORE_FILE, load_config, store_failure};
use bowline_engine::Context;
use bowline_engine::formats::time::format_utc;
use bowline_engine::words::{display_path, system_cause};
use bowline_runner::core::error_chain;
use bowline_runner::jobs::{
    DispatcherHealth, Jobs, JobsConfig, Outage, RebuiltTask, RequestError, UnknownAgent,
    hold_agent, rebuild, tasks_on_disk, unknown_agents,
};
use bowline_store::{JobQuery, SqliteStore, Store as _, StoreError};
use bowline_words::message::ServeTrouble;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval between tries to find agents of unknown tasks after an error.
const UNKNOWN_AGENTS_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Suffixes of the files of a database, the main file included.
const SIDE_FILES: [&str; 3] = ["", "-wal", "-shm"];

fn side_file(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Converts an error of the store to a message.
pub(crate) fn store_trouble(path: &Path, error: &StoreError) -> ServeTrouble {
    match error {
        StoreError::DamagedFile { why, .. } => ServeTrouble::StoreDamaged {
            path: display_path(path),
            why: why.clone(),
        },
        StoreError::Damaged { .. } => ServeTrouble::StoreDamaged {
            path: display_path(path),
            why: error.to_string(),
        },
        other => store_failure(&error_chain(other)),
    }
}

/// Converts the dispatcher's refusal to start to a message.
pub(crate) fn refused_trouble(setup: &JobsSetup, refused: RequestError) -> ServeTrouble {
    match refused {
        RequestError::Store(error) => store_trouble(&setup.store_file(), &error),
        RequestError::Unavailable(outage) => outage_trouble(setup, &outage),
        other => store_failure(&error_chain(&other)),
    }
}

/// Converts a failure of the dispatcher to a message.
pub fn outage_trouble(setup: &JobsSetup, outage: &Outage) -> ServeTrouble {
    match outage.is_damage {
        true => ServeTrouble::StoreDamaged {
            path: display_path(&setup.store_file()),
            why: outage.reason.clone(),
        },
        false => store_failure(&outage.reason),
    }
}

/// Opens the store. If it is new or empty but folders of tasks exist, the store was lost: a person
/// decides whether to start without them.
pub(crate) fn open_store(
    context: &Context,
    setup: &JobsSetup,
    config: &JobsConfig,
) -> Result<SqliteStore, ServeTrouble> {
    let path = setup.store_file();
    let lost = |tasks: usize| ServeTrouble::StoreLost {
        path: display_path(&path),
        tasks,
    };
    let on_disk = |begun: bool| {
        let tasks = tasks_on_disk(config, begun);
        tasks.map_err(|error| crate::data_folder::file_trouble(&setup.data, &error))
    };
    // SQLite would remove a log whose main file is gone.
    if is_gone(&path) && side_file(&path, "-wal").exists() {
        if !setup.start_empty {
            return Err(lost(on_disk(false)?.len()));
        }
        set_aside(context, &path)?;
    }
    let store = SqliteStore::open(&path).map_err(|error| store_trouble(&path, &error))?;
    let any = JobQuery {
        archived: true,
        limit: 1,
        ..JobQuery::default()
    };
    let known = store.list_jobs(&any);
    let known = known.map_err(|error| store_trouble(&path, &error))?;
    if known.is_empty() && !setup.start_empty {
        let (_, newest) = store
            .feed_range()
            .map_err(|error| store_trouble(&path, &error))?;
        // In a store with events, people have removed all tasks. The files may still mention one
        // that never started.
        let tasks = on_disk(newest > 0)?.len();
        if tasks > 0 {
            return Err(lost(tasks));
        }
    }
    if !known.is_empty() {
        warn_missing_tasks(&store, on_disk(true)?).map_err(|error| store_trouble(&path, &error))?;
    }
    Ok(store)
}

/// Warns about tasks that have folders and are not in the store: they were in a lost log, or came
/// after a backup that was restored.
fn warn_missing_tasks(store: &SqliteStore, on_disk: BTreeSet<String>) -> Result<(), StoreError> {
    let mut missing = Vec::new();
    for id in on_disk {
        if store.find_job(&id)?.is_none() {
            missing.push(id);
        }
    }
    if let Some(first) = missing.first() {
        tracing::warn!(
            tasks = missing.len(),
            first,
            "there are folders of tasks that the store does not have; 'bowline serve --rebuild' finds them again"
        );
    }
    Ok(())
}

/// True if the store's file is missing or empty.
fn is_gone(path: &Path) -> bool {
    std::fs::metadata(path).map_or(0, |it| it.len()) == 0
}

/// Renames the files of a store. Nothing is deleted.
fn set_aside(context: &Context, path: &Path) -> Result<(), ServeTrouble> {
    let stamp = format_utc(context.clock.now()).replace([':', '-'], "");
    let free = |number: &u32| {
        let aside = aside_path(path, &stamp, *number);
        SIDE_FILES
            .iter()
            .all(|end| !side_file(&aside, end).exists())
    };
    let aside = aside_path(path, &stamp, (1..).find(free).unwrap_or(1));
    for end in SIDE_FILES {
        let file = side_file(path, end);
        if file.exists() {
            std::fs::hard_link(&file, side_file(&aside, end))
                .and_then(|()| std::fs::remove_file(&file))
                .map_err(|error| crate::data_folder::file_trouble(&file, &error))?;
        }
    }
    Ok(())
}

fn aside_path(path: &Path, stamp: &str, number: u32) -> PathBuf {
    let number = match number {
        1 => String::new(),
        number => format!("-{number}"),
    };
    side_file(path, &format!(".damaged-{stamp}{number}"))
}

/// Rebuilds a lost store from the workspaces. A store that cannot be read completely is set aside
/// first. No server may use it meanwhile.
pub fn rebuild_store(
    context: &Context,
    setup: &JobsSetup,
) -> Result<Vec<RebuiltTask>, ServeTrouble> {
    let (config, _) = load_config(context, setup, "")?;
    let path = setup.store_file();
    if let Some(folder) = path.parent() {
        crate::data_folder::DataFolder::open(folder)?;
    }
    let broken = match SqliteStore::verify_file(&path) {
        Ok(()) => is_gone(&path) && side_file(&path, "-wal").exists(),
        Err(StoreError::Damaged { .. } | StoreError::DamagedFile { .. }) => true,
        Err(error) => return Err(store_trouble(&path, &error)),
    };
    if broken {
        set_aside(context, &path)?;
    }
    let store = SqliteStore::open(&path).map_err(|error| store_trouble(&path, &error))?;
    rebuild(&config, &store).map_err(|refused| refused_trouble(setup, refused))
}

/// Writes a complete copy of a data folder's store to a new file; a server may be using it.
pub fn backup_store(data: &Path, store: Option<&Path>, to: &Path) -> Result<(), ServeTrouble> {
    let named = store.map(Path::to_owned);
    let path = named.unwrap_or_else(|| data.join(STORE_FILE));
    if !path.is_file() {
        return Err(ServeTrouble::File {
            path: display_path(&path),
            cause: system_cause(&std::io::ErrorKind::NotFound.into()),
        });
    }
    if to.symlink_metadata().is_ok() {
        return Err(ServeTrouble::FileThere {
            path: display_path(to),
        });
    }
    SqliteStore::backup_file(&path, to).map_err(|error| match &error {
        StoreError::Failed(cause) => match cause.downcast_ref::<std::io::Error>() {
            Some(error) => crate::data_folder::file_trouble(to, error),
            None => store_trouble(&path, &error),
        },
        _ => store_trouble(&path, &error),
    })
}

/// Merges the write-ahead log into the store's file at shutdown.
pub fn merge_store_log(jobs: &Jobs) {
    if let Err(error) = jobs.store().merge_log() {
        tracing::warn!(%error, "the log could not be brought into the store; it is read at the next start");
    }
}

/// Finds agents of tasks that the store does not know, pauses them and logs them. Retries after
/// an error.
pub(crate) fn find_unknown_agents(jobs: &Jobs, found: &Mutex<Vec<UnknownAgent>>) {
    let agents = loop {
        match unknown_agents(&jobs.config(), &**jobs.store()) {
            Ok(agents) => break agents,
            Err(error) => {
                let error = error_chain(&error);
                tracing::warn!(error, "agents of unknown tasks were not looked for");
            }
        }
        if matches!(jobs.health(), DispatcherHealth::Failed(_)) {
            return;
        }
        std::thread::sleep(UNKNOWN_AGENTS_RETRY_INTERVAL);
    };
    for agent in &agents {
        let held = hold_agent(&jobs.config(), agent);
        let held = held.map_or_else(|error| error_chain(&error), |()| "paused".to_owned());
        tracing::warn!(
            task = agent.task,
            attempt = agent.attempt,
            pid = agent.pid,
            folder = %agent.folder.display(),
            held,
            "an agent runs for a task that the store does not know"
        );
    }
    *found.lock().unwrap_or_else(PoisonError::into_inner) = agents;
}
