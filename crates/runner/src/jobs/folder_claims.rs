//! Folder claims: one task at a time works in a folder; parents and children of a folder count as
//! the same one.
//!
//! A task holds its folder from its first start until it is completed, failed or cancelled. Others
//! wait in the order of the queue: a later one does not overtake an earlier one that waits for an
//! overlapping folder.

use super::job_index::{QueueKey, queue_key};
use bowline_machines::job::JobState;
use bowline_store::JobRow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The claims of this process: the dispatcher updates them, and other threads read them.
pub(super) type SharedClaims = Arc<Mutex<FolderClaims>>;

/// Holders and waiters of folders.
#[derive(Debug, Default)]
pub(super) struct FolderClaims {
    /// Parent of the folders of tasks for which none was named.
    workspaces: PathBuf,
    holders: BTreeMap<PathBuf, BTreeSet<String>>,
    held: BTreeMap<String, PathBuf>,
    waiters: BTreeMap<PathBuf, BTreeSet<QueueKey>>,
    waiting: BTreeMap<String, PathBuf>,
}

impl FolderClaims {
    pub(super) fn new(data: &Path) -> Self {
        FolderClaims {
            workspaces: real_path(&data.join("workspaces")),
            ..FolderClaims::default()
        }
    }

    /// Returns the real path of a task's folder, as it was last resolved.
    pub(super) fn folder_of(&self, row: &JobRow) -> PathBuf {
        let about = &row.about;
        match about.real_workspace.as_ref().or(about.workspace.as_ref()) {
            Some(named) => PathBuf::from(named),
            None => self.workspaces.join(&row.id),
        }
    }

    /// Returns another task that holds a folder overlapping with that of this one.
    pub(super) fn current_holder(&self, row: &JobRow) -> Option<String> {
        let folder = self.folder_of(row);
        let found = overlapping(&self.holders, &folder).find(|id| **id != row.id);
        found.cloned()
    }

    /// Returns the task that a pending one waits for: a holder, or an earlier waiter.
    pub(super) fn task_waited_for(&self, row: &JobRow) -> Option<String> {
        if row.about.share_workspace {
            return None;
        }
        let earlier = || {
            let (folder, me) = (self.folder_of(row), queue_key(row));
            let found = overlapping(&self.waiters, &folder).find(|it| **it < me);
            found.map(|(_, _, id)| id.clone())
        };
        self.current_holder(row).or_else(earlier)
    }

    /// Adds a pending task to those that wait for its folder.
    pub(super) fn wait_for_folder(&mut self, row: &JobRow) {
        let folder = self.folder_of(row);
        self.waiting.insert(row.id.clone(), folder.clone());
        self.waiters
            .entry(folder)
            .or_default()
            .insert(queue_key(row));
    }

    /// Updates the claims of a task; returns the tasks that may continue because of it.
    pub(super) fn update(
        &mut self,
        before: Option<&JobRow>,
        now: Option<&JobRow>,
    ) -> Vec<QueueKey> {
        let mut freed = Vec::new();
        if let Some(row) = before {
            if let Some(folder) = self.waiting.remove(&row.id) {
                remove_entry(&mut self.waiters, &folder, &queue_key(row));
            }
            freed.extend(match self.held.remove(&row.id) {
                Some(folder) => {
                    remove_entry(&mut self.holders, &folder, &row.id);
                    Some(folder)
                }
                None => (row.job.state == JobState::Pending).then(|| self.folder_of(row)),
            });
        }
        if let Some(row) = now.filter(|row| holds_folder(&row.job.state)) {
            let folder = self.folder_of(row);
            // Tasks that wait for that folder keep waiting.
            freed.retain(|it| *it != folder);
            self.holders
                .entry(folder.clone())
                .or_default()
                .insert(row.id.clone());
            self.held.insert(row.id.clone(), folder);
        }
        let mut woken = Vec::new();
        for folder in freed {
            woken.extend(overlapping(&self.waiters, &folder).cloned());
        }
        for key in &woken {
            if let Some(folder) = self.waiting.remove(&key.2) {
                remove_entry(&mut self.waiters, &folder, key);
            }
        }
        woken
    }

    /// True if the folders of two tasks overlap.
    pub(super) fn do_overlap(&self, one: &JobRow, other: &JobRow) -> bool {
        let (one, other) = (self.folder_of(one), self.folder_of(other));
        one.starts_with(&other) || other.starts_with(&one)
    }
}

/// True if a task in this state holds its folder.
fn holds_folder(life: &JobState) -> bool {
    match life {
        JobState::Draft | JobState::Pending | JobState::Completed { .. } | JobState::Failed(_) => {
            false
        }
        JobState::Running
        | JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing => true,
    }
}

fn remove_entry<T: Ord>(map: &mut BTreeMap<PathBuf, BTreeSet<T>>, folder: &Path, it: &T) {
    if let Some(of) = map.get_mut(folder) {
        of.remove(it);
        if of.is_empty() {
            map.remove(folder);
        }
    }
}

/// Returns the entries at a folder, above it and below it.
fn overlapping<'m, T>(
    map: &'m BTreeMap<PathBuf, BTreeSet<T>>,
    folder: &Path,
) -> impl Iterator<Item = &'m T> + use<'m, T> {
    let above = folder.ancestors().skip(1).filter_map(|it| map.get(it));
    let above: Vec<&BTreeSet<T>> = above.collect();
    let folder = folder.to_owned();
    // Paths are ordered by their parts: what is below a folder follows it.
    let below = map
        .range(folder.clone()..)
        .take_while(move |(it, _)| it.starts_with(&folder))
        .map(|(_, of)| of);
    above.into_iter().chain(below).flatten()
}

/// Resolves the links in a path, as far as the path exists.
pub(super) fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real_path(parent).join(name),
        _ => path.to_owned(),
    }
}
