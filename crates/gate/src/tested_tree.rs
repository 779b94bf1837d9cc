//! The tree on which the last gate was passed, and the differences of a commit from it.

use crate::advice::{read_run_file, read_seal};
use crate::locate;
use bowline_formats::develop::{evidence, policy, tree_listing};
use bowline_formats::transition::Transition;
use bowline_machines::develop::Gate;
use bowline_statefiles::StateFile;
use bowline_words::message::Change;
use std::collections::BTreeMap;
use std::path::Path;

/// A tested tree: its git id, and its entries where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestedTree {
    /// The id of the tree object.
    pub id: String,
    /// Mode and object id by path.
    pub entries: Option<BTreeMap<Vec<u8>, String>>,
}

impl TestedTree {
    /// Returns the tree of the newest evidence of the run whose file is at `path`; `None` if the
    /// policy does not compare trees, or the evidence is not about a git tree.
    pub fn of_run(path: &Path) -> Option<TestedTree> {
        if !compares_trees(path) {
            return None;
        }
        let history = StateFile::new(locate::run_layout(path))
            .read_history()
            .ok()?;
        let gate = Gate::ReReviewClean.name();
        let (run, id) = history.effective_lines().rev().find_map(|line| {
            let raw = line.transition.as_ref()?;
            let moved: Transition = serde_json::from_str(raw.get()).ok()?;
            let fact = |name: &str| Some(moved.metadata.get(name)?.as_str()?.to_owned());
            (fact("gate")? == gate).then_some((fact("run")?, fact("evidence")?))
        })?;
        let folder = locate::runs_folder(path).join(run);
        let (records, _) = evidence::parse_lines(&read_run_file(&folder, evidence::FILE_NAME)?);
        let record = records.into_iter().rfind(|record| record.id == id)?;
        let tree = record.tree?;
        let listing = std::fs::read(folder.join(tree_listing::file_name(gate))).ok();
        let entries = listing.and_then(|bytes| tree_listing::parse_listing(&bytes, &tree));
        let id = tree.strip_prefix("git:")?.to_owned();
        Some(TestedTree { id, entries })
    }

    /// Lists the paths that differ from a tree given as the output of `git ls-tree -r -z`; `None`
    /// if the tested entries are not known.
    pub fn differing_paths(&self, listed: &[u8]) -> Option<Vec<TreeDifference>> {
        let tested = self.entries.as_ref()?;
        let committed: BTreeMap<Vec<u8>, String> = listed
            .split(|&byte| byte == 0)
            .filter_map(tree_listing::parse_tree_entry)
            .collect();
        let paths = tested.keys().chain(committed.keys());
        let mut paths: Vec<&Vec<u8>> = paths
            .filter(|path| tested.get(*path) != committed.get(*path))
            .collect();
        paths.sort();
        paths.dedup();
        let difference = |path: &Vec<u8>| TreeDifference {
            path: String::from_utf8_lossy(path).into_owned(),
            tested: tested.get(path).and_then(|it| object_id(it)),
            committed: committed.get(path).and_then(|it| object_id(it)),
        };
        Some(paths.into_iter().map(difference).collect())
    }
}

/// A path that differs between two trees, with its object id in each; `None` where it is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDifference {
    pub path: String,
    pub tested: Option<String>,
    pub committed: Option<String>,
}

impl TreeDifference {
    pub(crate) fn into_change(self) -> Change {
        let path = self.path;
        match (self.tested, self.committed) {
            (None, _) => Change::Added { path },
            (_, None) => Change::Uncommitted { path },
            (Some(_), Some(_)) => Change::Changed { path },
        }
    }
}

fn object_id(entry: &str) -> Option<String> {
    entry.split(' ').nth(1).map(str::to_owned)
}

/// True if the sealed policy, or without a seal the present one, compares trees. Git calls this, so
/// there is a repository.
fn compares_trees(path: &Path) -> bool {
    let rules = read_seal(path).map(|seal| seal.rules);
    let unsealed = || {
        let text = std::fs::read_to_string(locate::root_of(path).join(policy::FILE_NAME));
        policy::parse_policy(&text.unwrap_or_default()).ok()
    };
    let rules = rules.or_else(unsealed).unwrap_or_default();
    rules.compares_trees(true)
}
