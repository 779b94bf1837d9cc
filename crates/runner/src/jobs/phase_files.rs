//! Files that a phase changed, found by comparing its saved code.

use super::git_script::git;
use super::worker_pool::{Environment, shown_path};
use crate::core::shell_quoted;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Saved code before and after a phase.
pub(super) struct PhaseChanges {
    pub(super) repository: PathBuf,
    pub(super) from: String,
    pub(super) to: String,
    /// Temporary file for the list of names, which may be long.
    pub(super) list: PathBuf,
}

impl PhaseChanges {
    /// Returns the files that were added or changed, relative to the workspace; none if git fails.
    pub(super) fn files(&self, environment: &Environment) -> Option<BTreeSet<String>> {
        let script = format!(
            "git --git-dir={} diff --name-only -z --no-renames --no-ext-diff --diff-filter=d {} {} > {}",
            shown_path(&self.repository),
            shell_quoted(&self.from),
            shell_quoted(&self.to),
            shown_path(&self.list),
        );
        let result = git(&script, self.list.parent()?, environment);
        let names = std::fs::read(&self.list);
        let _ = std::fs::remove_file(&self.list);
        let names = result.ok().and(names.ok())?;
        let names = names.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        Some(
            names
                .map(|it| String::from_utf8_lossy(it).into_owned())
                .collect(),
        )
    }
}
