//! Predicts conflicts between tasks that are still being worked on: merges their worktrees as they
//! are now, without a checkout.

use super::git_trees::TreeMerge;
use super::worktrees::untracked_repositories;
use super::{RunRepo, git_error};
use crate::orchestrate::ports::FileOverlap;
use bowline_engine::Error;
use bowline_engine::machines::orchestrate::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Maximum number of files named for an overlap.
const PATHS_MAX: usize = 8;
/// Maximum number of cached merges.
const CACHED_MERGES_MAX: usize = 10_000;

/// State of a worktree at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WorktreeSnapshot {
    tree: String,
    commit: String,
    /// Files changed since the worktree was created.
    paths: BTreeSet<String>,
}

/// Cache of earlier forecasts.
#[derive(Debug, Default)]
pub struct ForecastCache {
    latest: BTreeMap<NodeId, WorktreeSnapshot>,
    /// Conflicting files of two trees.
    known: BTreeMap<(String, String), Vec<String>>,
}

impl RunRepo {
    /// Returns the overlaps of a task's current work with that of others.
    pub fn forecast_overlaps(
        &self,
        seen: &mut ForecastCache,
        id: &NodeId,
        others: &[NodeId],
    ) -> Result<Vec<FileOverlap>, Error> {
        seen.latest
            .retain(|known, _| known == id || others.contains(known));
        let Some(own) = self.take_snapshot(seen, id)? else {
            return Ok(Vec::new());
        };
        let mut overlaps = Vec::new();
        for with in others {
            // The others were examined after each of their turns; before the first one, examine
            // them now.
            let theirs = match seen.latest.get(with) {
                Some(known) => Some(known.clone()),
                None => self.take_snapshot(seen, with)?,
            };
            let Some(theirs) = theirs else { continue };
            if own.paths.is_disjoint(&theirs.paths) {
                continue;
            }
            let pair = match own.tree <= theirs.tree {
                true => (own.tree.clone(), theirs.tree.clone()),
                false => (theirs.tree.clone(), own.tree.clone()),
            };
            let paths = match seen.known.get(&pair) {
                Some(paths) => paths.clone(),
                None => {
                    let paths = self.conflicting_paths(&own, &theirs)?;
                    if seen.known.len() >= CACHED_MERGES_MAX {
                        seen.known.clear();
                    }
                    seen.known.insert(pair, paths.clone());
                    paths
                }
            };
            if !paths.is_empty() {
                let with = with.clone();
                overlaps.push(FileOverlap { with, paths });
            }
        }
        Ok(overlaps)
    }

    fn conflicting_paths(
        &self,
        one: &WorktreeSnapshot,
        other: &WorktreeSnapshot,
    ) -> Result<Vec<String>, Error> {
        let mut paths = match self.merge_trees(&one.commit, &other.commit, None)? {
            TreeMerge::Clean(_) => Vec::new(),
            TreeMerge::Conflict { paths, .. } => paths,
        };
        // Conflicts that a landing resolves by itself do not count.
        paths.retain(|path| self.plan.as_ref() != Some(path) && !self.is_generated(path));
        paths.truncate(PATHS_MAX);
        Ok(paths)
    }

    fn take_snapshot(
        &self,
        seen: &mut ForecastCache,
        id: &NodeId,
    ) -> Result<Option<WorktreeSnapshot>, Error> {
        let room = self.worktree_of(id);
        let git = self.git.in_folder(&room);
        let base = format!("refs/bowline/base/{}", RunRepo::task_name(id));
        let (Some(base), true) = (self.git.resolve_commit(&base)?, room.is_dir()) else {
            return Ok(None);
        };
        let tree = self.write_worktree_tree(&room, "forecast")?;
        if let Some(known) = seen.latest.get(id).filter(|known| known.tree == tree) {
            return Ok(Some(known.clone()));
        }
        let head = git.resolve_commit("HEAD")?.unwrap_or(base.clone());
        let commit = self.commit_tree(&tree, &[&head], "a look at work that goes on", None)?;
        let paths =
            self.git
                .output_text(&["diff-tree", "-r", "-z", "--name-only", &base, &tree])?;
        let paths = paths.split('\0').filter(|path| !path.is_empty());
        let snapshot = WorktreeSnapshot {
            tree,
            commit,
            paths: paths.map(str::to_owned).collect(),
        };
        seen.latest.insert(id.clone(), snapshot.clone());
        Ok(Some(snapshot))
    }

    /// Returns the tree of everything in a worktree, untracked files included, without touching its
    /// index.
    pub(super) fn write_worktree_tree(
        &self,
        folder: &std::path::Path,
        name: &str,
    ) -> Result<String, Error> {
        let git = self.git.in_folder(folder);
        let index = self.write_scratch_file(name, b"")?;
        let own = PathBuf::from(git.output_text(&["rev-parse", "--git-path", "index"])?);
        if std::fs::copy(folder.join(own), &index).is_err() {
            std::fs::remove_file(&index)
                .map_err(|error| git_error("remove a scratch file", &error))?;
        }
        let with = git.with_variable("GIT_INDEX_FILE", &index);
        let others = untracked_repositories(&with)?;
        let others = others
            .iter()
            .map(|path| format!(":(exclude,literal){path}"));
        let others: Vec<String> = others.collect();
        let mut arguments = vec!["add", "--all", "--", "."];
        arguments.extend(others.iter().map(String::as_str));
        with.output_text(&arguments)?;
        with.output_text(&["write-tree"])
    }
}
