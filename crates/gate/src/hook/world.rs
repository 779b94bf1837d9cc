//! The world as it is: environment, folders, and git where only git knows.

use crate::shell::Surroundings;
use std::path::Path;
use std::process::{Command, Stdio};

/// The world a hook runs in.
#[derive(Debug, Clone, Copy, Default)]
pub struct World;

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    /// Asked only for commands that are none of git's own, so a process more does not matter.
    fn git_alias(&self, folder: &Path, name: &str) -> Option<String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if !name.chars().all(plain) {
            return None;
        }
        let output = git(folder)
            .args(["config", "--get", &format!("alias.{name}")])
            .output()
            .ok()?;
        let value = String::from_utf8(output.stdout).ok()?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// Whether git ignores a path. Asked only when it decides between going on and a denial. Settings of a person are left
/// out: an agent could point them anywhere.
pub fn is_ignored(root: &Path, path: &Path) -> bool {
    git(root)
        .args(["-c", "core.excludesFile=", "check-ignore", "--quiet", "--"])
        .arg(path)
        .status()
        .is_ok_and(|status| status.success())
}

#[expect(
    clippy::disallowed_methods,
    reason = "only git knows its aliases and what it ignores; both are asked on rare paths"
)]
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).stdin(Stdio::null());
    command.stderr(Stdio::null()).stdout(Stdio::piped());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG"] {
        command.env_remove(name);
    }
    command
}
