//! The world as it is: environment, folders, and git where only git knows.

use crate::git_hook::History;
use crate::locate;
use crate::shell::{Surroundings, UNKNOWN_NAME};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The world a hook runs in.
#[derive(Debug, Clone, Copy, Default)]
pub struct World;

impl Surroundings for World {
    fn variable(&self, name: &str) -> Option<String> {
        locate::variable(name)?.into_string().ok()
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

/// The history of the repository a folder is in.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The folder.
    pub folder: PathBuf,
}

impl History for Repository {
    fn commit(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        let output = git(&self.folder)
            .args([
                "rev-parse",
                "--quiet",
                "--verify",
                "--end-of-options",
                &name,
            ])
            .output()
            .ok()?;
        let commit = String::from_utf8(output.stdout).ok()?;
        (output.status.success()).then(|| commit.trim().to_owned())
    }

    fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        git(&self.folder)
            .args(["merge-base", "--is-ancestor", older, newer])
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Tags and other names are not asked: anybody may lead them anywhere, and nobody works on them.
    fn is_known(&self, commit: &str) -> bool {
        let output = git(&self.folder)
            .args([
                "rev-list",
                "--max-count=1",
                commit,
                "--not",
                "--branches",
                "--remotes",
            ])
            .output();
        output.is_ok_and(|output| output.status.success() && output.stdout.is_empty())
    }
}

/// Whether git ignores a path. Asked only when it decides between going on and a denial. Settings of a person are left
/// out: an agent could point them anywhere.
pub fn is_ignored(root: &Path, path: &Path) -> bool {
    let asked = |path: &Path| {
        git(root)
            .args(["-c", "core.excludesFile=", "check-ignore", "--quiet", "--"])
            .arg(path)
            .status()
            .is_ok_and(|status| status.success())
    };
    let text = path.to_string_lossy();
    if !text.contains(UNKNOWN_NAME) {
        return asked(path);
    }
    // A name that cannot be known stands for itself, as a file or as a folder; and nothing there may be another.
    let ends_known = !path.ends_with(UNKNOWN_NAME.to_string());
    (asked(path) || ends_known && asked(&path.join("any"))) && !matches_any(root, &text)
}

/// Whether a file that git does not ignore is where a pattern leads.
fn matches_any(root: &Path, pattern: &str) -> bool {
    let mut glob = String::from(":(glob)");
    for (at, name) in pattern.split('/').enumerate() {
        if at > 0 {
            glob.push('/');
        }
        if name == UNKNOWN_NAME.to_string() {
            glob.push_str("**");
            continue;
        }
        for letter in name.chars() {
            match letter {
                UNKNOWN_NAME => glob.push('*'),
                '*' | '?' | '[' | '\\' => glob.extend(['\\', letter]),
                plain => glob.push(plain),
            }
        }
    }
    let below = format!("{glob}/**");
    let output = git(root)
        .args(["-c", "core.excludesFile=", "ls-files", "--cached"])
        .args(["--others", "--exclude-standard", "--", &glob, &below])
        .output();
    !output.is_ok_and(|output| output.status.success() && output.stdout.is_empty())
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
