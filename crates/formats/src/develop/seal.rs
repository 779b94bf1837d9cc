//! `seal.json` of a develop run: the policy and the protected files at the time a person approved
//! them.

use super::policy::DevelopPolicy;
use crate::glob;
use bowline_words::message::Change;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the file in the folder of a run.
pub const FILE_NAME: &str = "seal.json";

/// Version that is written; 1 is the first.
pub const VERSION: u32 = 1;

/// A policy and its protected files, as approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// Version of the format; [`VERSION`] when written.
    pub version: u32,
    /// Id of the run it belongs to.
    pub run: String,
    /// Time of the seal, UTC.
    pub sealed_at: String,
    /// Always `person`.
    pub sealed_by: String,
    /// Hash of `rules` and `files`; every piece of evidence records it.
    pub policy: String,
    /// Commands, patterns and limits.
    pub rules: DevelopPolicy,
    /// Hash of each sealed file, by its path from the root.
    pub files: BTreeMap<String, String>,
    /// Variables that commands receive in place of the caller's values: `PATH` and `HOME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

impl Seal {
    /// Returns the text whose hash is [`Seal::policy`].
    pub fn policy_text(rules: &DevelopPolicy, files: &BTreeMap<String, String>) -> String {
        serde_json::json!({ "rules": rules, "files": files }).to_string()
    }

    /// Returns the patterns of protected files that match no sealed file, and so protect nothing.
    pub fn idle_patterns(&self) -> Vec<&str> {
        let idle = |pattern: &&str| {
            !self
                .files
                .keys()
                .any(|path| glob::matches_path(pattern, path))
        };
        let patterns = self.rules.protected.iter().map(String::as_str);
        patterns.filter(idle).collect()
    }

    /// Compares the sealed files with those present now: one change for each path, sorted.
    pub fn changed_files(&self, now: &BTreeMap<String, String>) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, hash) in &self.files {
            let found = now.get(path);
            let path = path.clone();
            match found {
                None => changes.push(Change::Removed { path }),
                Some(found) if found != hash => changes.push(Change::Changed { path }),
                Some(_) => {}
            }
        }
        let added = now.keys().filter(|path| !self.files.contains_key(*path));
        changes.extend(added.map(|path| Change::Added { path: path.clone() }));
        changes.sort_by_key(ToString::to_string);
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_by_path_and_kind() {
        let files = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = |(path, hash): &(&str, &str)| ((*path).to_owned(), (*hash).to_owned());
            pairs.iter().map(owned).collect()
        };
        let seal = Seal {
            version: VERSION,
            run: "r".into(),
            sealed_at: "2026-03-01T09:00:00Z".into(),
            sealed_by: "person".into(),
            policy: "p".into(),
            rules: DevelopPolicy::default(),
            files: files(&[("a", "1"), ("b", "2"), ("c", "3")]),
            environment: BTreeMap::new(),
        };
        assert_eq!(seal.changed_files(&seal.files), []);
        let now = files(&[("a", "1"), ("c", "4"), ("d", "5")]);
        let told: Vec<String> = seal
            .changed_files(&now)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told, ["b (removed)", "c (changed)", "d (added)"]);
    }
}
