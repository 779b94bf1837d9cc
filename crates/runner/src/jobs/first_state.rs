//! The files of a workspace as the first agent of a task finds them: the review of the first phase
//! compares with them.

use super::JobsConfig;
use super::git_script::git;
use super::worker_pool::{code_repository, save_code, shown_path};
use crate::core::shell_quoted;
use bowline_store::JobRow;

/// Last part of the ref.
const NAME: &str = "first";

/// Returns the ref of the saved files.
pub fn first_state_ref(id: &str) -> String {
    format!("refs/bowline/{id}/{NAME}")
}

/// Saves the files once. If that fails, the review of the first phase shows every file as new.
pub(super) fn save(config: &JobsConfig, row: &JobRow) {
    let known = code_repository(config, row).and_then(|path| {
        let (path, name) = (shown_path(&path), shell_quoted(&first_state_ref(&row.id)));
        let script = format!("git --git-dir={path} rev-parse -q --verify {name}");
        git(&script, &config.workspace(row), &config.environment)
    });
    if known.is_err() {
        let _ = save_code(config, row, NAME);
    }
}
