//! The store as files: opened, found lost or damaged, rebuilt, backed up.

use crate::jobs::{STORE_FILE, Setup, configured, failed};
use bowline_engine::Context;
use bowline_engine::formats::time::utc;
use bowline_engine::words::{shown, system};
use bowline_runner::core::error_chain;
use bowline_runner::drivers::jobs::{
    Config, Health, Jobs, Outage, Rebuilt, Refused, UnknownAgent, hold_agent, rebuild,
    tasks_on_disk, unknown_agents,
};
use bowline_store::{JobQuery, Sqlite, Store as _, StoreError};
use bowline_words::message::ServeTrouble;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Between two looks for agents of unknown tasks, where one failed.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What a database has beside its file.
const SIDE_FILES: [&str; 3] = ["", "-wal", "-shm"];

fn side_file(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Why a store cannot be used, as it is told.
pub(crate) fn store_trouble(path: &Path, error: &StoreError) -> ServeTrouble {
    match error {
        StoreError::DamagedFile { why, .. } => ServeTrouble::StoreDamaged {
            path: shown(path),
            why: why.clone(),
        },
        StoreError::Damaged { .. } => ServeTrouble::StoreDamaged {
            path: shown(path),
            why: error.to_string(),
        },
        other => failed(&error_chain(other)),
    }
}

/// Why work cannot begin, as it is told.
pub(crate) fn refused_trouble(setup: &Setup, refused: Refused) -> ServeTrouble {
    match refused {
        Refused::Store(error) => store_trouble(&setup.store_file(), &error),
        Refused::Unavailable(outage) => outage_trouble(setup, &outage),
        other => failed(&format!("{other:?}")),
    }
}

/// Why the loop that decides has failed, as it is told.
pub fn outage_trouble(setup: &Setup, outage: &Outage) -> ServeTrouble {
    match outage.is_damage {
        true => ServeTrouble::StoreDamaged {
            path: shown(&setup.store_file()),
            why: outage.reason.clone(),
        },
        false => failed(&outage.reason),
    }
}

/// Opens the store. One that is new or empty beside folders that have tasks was lost: whether to begin without them is decided
/// by a person.
pub(crate) fn open_store(
    context: &Context,
    setup: &Setup,
    config: &Config,
) -> Result<Sqlite, ServeTrouble> {
    let path = setup.store_file();
    let lost = |tasks: usize| ServeTrouble::StoreLost {
        path: shown(&path),
        tasks,
    };
    let on_disk = |begun: bool| {
        let tasks = tasks_on_disk(config, begun);
        tasks.map_err(|error| crate::data::trouble(&setup.data, &error))
    };
    // The database would remove a log whose file is gone.
    if is_gone(&path) && side_file(&path, "-wal").exists() {
        if !setup.start_empty {
            return Err(lost(on_disk(false)?.len()));
        }
        set_aside(context, &path)?;
    }
    let store = Sqlite::open(&path).map_err(|error| store_trouble(&path, &error))?;
    let any = JobQuery {
        archived: true,
        limit: 1,
        ..JobQuery::default()
    };
    let known = store.jobs(&any);
    let known = known.map_err(|error| store_trouble(&path, &error))?;
    if known.is_empty() && !setup.start_empty {
        let (_, newest) = store.feed().map_err(|error| store_trouble(&path, &error))?;
        // In one with a past people have removed all tasks. A line about one that had not begun may be left of it.
        let tasks = on_disk(newest > 0)?.len();
        if tasks > 0 {
            return Err(lost(tasks));
        }
    }
    if !known.is_empty() {
        tell_missing(&store, on_disk(true)?).map_err(|error| store_trouble(&path, &error))?;
    }
    Ok(store)
}

/// Tells of tasks that have folders and are not in the store: they were in a log that is lost, or came after a copy that was
/// put back.
fn tell_missing(store: &Sqlite, on_disk: BTreeSet<String>) -> Result<(), StoreError> {
    let mut missing = Vec::new();
    for id in on_disk {
        if store.job(&id)?.is_none() {
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

/// Whether nothing is left of the file of a store.
fn is_gone(path: &Path) -> bool {
    std::fs::metadata(path).map_or(0, |it| it.len()) == 0
}

/// Gives the files of a store other names. Nothing is removed.
fn set_aside(context: &Context, path: &Path) -> Result<(), ServeTrouble> {
    let stamp = utc(context.clock.now()).replace([':', '-'], "");
    let free = |number: &u32| {
        let aside = aside(path, &stamp, *number);
        SIDE_FILES
            .iter()
            .all(|end| !side_file(&aside, end).exists())
    };
    let aside = aside(path, &stamp, (1..).find(free).unwrap_or(1));
    for end in SIDE_FILES {
        let file = side_file(path, end);
        if file.exists() {
            std::fs::hard_link(&file, side_file(&aside, end))
                .and_then(|()| std::fs::remove_file(&file))
                .map_err(|error| crate::data::trouble(&file, &error))?;
        }
    }
    Ok(())
}

fn aside(path: &Path, stamp: &str, number: u32) -> PathBuf {
    let number = match number {
        1 => String::new(),
        number => format!("-{number}"),
    };
    side_file(path, &format!(".damaged-{stamp}{number}"))
}

/// Makes a lost store again from what workspaces tell. One that cannot be read to its last row is set aside first. No server
/// may use it.
pub fn rebuild_store(context: &Context, setup: &Setup) -> Result<Vec<Rebuilt>, ServeTrouble> {
    let (config, _) = configured(context, setup, "")?;
    let path = setup.store_file();
    if let Some(folder) = path.parent() {
        crate::data::DataFolder::open(folder)?;
    }
    let broken = match Sqlite::verify(&path) {
        Ok(()) => is_gone(&path) && side_file(&path, "-wal").exists(),
        Err(StoreError::Damaged { .. } | StoreError::DamagedFile { .. }) => true,
        Err(error) => return Err(store_trouble(&path, &error)),
    };
    if broken {
        set_aside(context, &path)?;
    }
    let store = Sqlite::open(&path).map_err(|error| store_trouble(&path, &error))?;
    rebuild(&config, &store).map_err(|refused| refused_trouble(setup, refused))
}

/// Writes a whole copy of the store of a data folder to a new file, while a server uses it or not.
pub fn backup_store(data: &Path, store: Option<&Path>, to: &Path) -> Result<(), ServeTrouble> {
    let named = store.map(Path::to_owned);
    let path = named.unwrap_or_else(|| data.join(STORE_FILE));
    if !path.is_file() {
        return Err(ServeTrouble::File {
            path: shown(&path),
            cause: system(&std::io::ErrorKind::NotFound.into()),
        });
    }
    if to.symlink_metadata().is_ok() {
        return Err(ServeTrouble::FileThere { path: shown(to) });
    }
    Sqlite::backup_file(&path, to).map_err(|error| match &error {
        StoreError::Failed(cause) => match cause.downcast_ref::<std::io::Error>() {
            Some(error) => crate::data::trouble(to, error),
            None => store_trouble(&path, &error),
        },
        _ => store_trouble(&path, &error),
    })
}

/// Brings the log of a store that is left into its file.
pub fn leave_store(jobs: &Jobs) {
    if let Err(error) = jobs.store().merge_log() {
        tracing::warn!(%error, "the log could not be brought into the store; it is read at the next start");
    }
}

/// Looks for agents of tasks that the store does not know, holds them and tells of them. A failure is tried again.
pub(crate) fn find_unknown_agents(jobs: &Jobs, found: &Mutex<Vec<UnknownAgent>>) {
    let agents = loop {
        match unknown_agents(&jobs.config(), &**jobs.store()) {
            Ok(agents) => break agents,
            Err(error) => {
                let error = error_chain(&error);
                tracing::warn!(error, "agents of unknown tasks were not looked for");
            }
        }
        if matches!(jobs.health(), Health::Failed(_)) {
            return;
        }
        std::thread::sleep(LOOK_INTERVAL);
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
