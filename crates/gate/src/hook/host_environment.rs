//! The real environment of the hook: variables, folders, and git where only git knows.

use crate::git_hook::CommitHistory;
use crate::locate;
use crate::shell::{CommandEnvironment, UNKNOWN_NAME};
use crate::tested_tree::{TestedTree, TreeDifference};
use bowline_words::message::Change;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment a hook runs in.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostEnvironment;

impl CommandEnvironment for HostEnvironment {
    fn environment_variable(&self, name: &str) -> Option<String> {
        locate::read_variable(name)?.into_string().ok()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    /// Asked only for commands that are not git's own, so one more process does not matter.
    fn git_alias(&self, folder: &Path, name: &str) -> Option<String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if !name.chars().all(plain) {
            return None;
        }
        let output = git_command(folder)
            .args(["config", "--get", &format!("alias.{name}")])
            .output()
            .ok()?;
        let value = String::from_utf8(output.stdout).ok()?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// The repository that contains a folder.
#[derive(Debug, Clone)]
pub struct GitRepository {
    /// A folder in the repository.
    pub folder: PathBuf,
}

impl GitRepository {
    /// True if a remote has the commit already.
    pub(crate) fn is_at_remote(&self, commit: &str) -> bool {
        let listed = self.git_output(&["rev-list", "--max-count=1", commit, "--not", "--remotes"]);
        listed.is_some_and(|it| it.is_empty())
    }

    /// Lists the differences between a commit's tree and the tested one; `None` if there are none.
    pub(crate) fn untested_changes(
        &self,
        commit: &str,
        tested: &TestedTree,
    ) -> Option<Vec<Change>> {
        let tree = self.commit_tree(commit);
        if tree.as_deref() == Some(tested.id.as_str()) {
            return None;
        }
        let listed = self.git_output(&["ls-tree", "-r", "-z", "--full-tree", commit]);
        let differing = listed.and_then(|listed| tested.differing_paths(&listed));
        let Some(mut differing) = differing else {
            // The entries of the tested tree are not known, only that this one is another.
            return Some(Vec::new());
        };
        differing.retain(|one| !self.is_filtered(one));
        let changes = differing.into_iter().map(TreeDifference::into_change);
        let changes: Vec<Change> = changes.collect();
        (!changes.is_empty()).then_some(changes)
    }

    /// Lists the differences between the last commit and a tested tree: the commit is what lands.
    /// Without a commit nothing can land.
    pub fn uncommitted_changes(&self, tested: &TestedTree) -> Vec<Change> {
        match self.resolve_commit("HEAD") {
            Some(head) => self.untested_changes(&head, tested).unwrap_or_default(),
            None => Vec::new(),
        }
    }

    fn commit_tree(&self, commit: &str) -> Option<String> {
        let tree = format!("{commit}^{{tree}}");
        let printed = self.git_output(&["rev-parse", "--quiet", "--verify", &tree])?;
        Some(String::from_utf8(printed).ok()?.trim().to_owned())
    }

    /// True if the file was tested as it is on the disk and git stores it in another form: line
    /// ends, large files.
    fn is_filtered(&self, one: &TreeDifference) -> bool {
        let hash = |how: &[&str]| {
            let printed = self.git_output(&[&["hash-object"], how, &["--", &one.path]].concat())?;
            Some(String::from_utf8(printed).ok()?.trim().to_owned())
        };
        one.tested.is_some()
            && one.committed.is_some()
            && hash(&["--no-filters"]) == one.tested
            && hash(&[]) == one.committed
    }

    /// Runs git at the top of the work tree and returns its output if it succeeds.
    fn git_output(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let top = locate::git_top(&self.folder);
        let output = git_command(top.as_deref().unwrap_or(&self.folder))
            .args(arguments)
            .output()
            .ok()?;
        output.status.success().then_some(output.stdout)
    }
}

impl CommitHistory for GitRepository {
    fn resolve_commit(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        let output = git_command(&self.folder)
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
        git_command(&self.folder)
            .args(["merge-base", "--is-ancestor", older, newer])
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Ignores tags and other references: any program may move them, and they hold no work.
    fn is_known(&self, commit: &str) -> bool {
        let output = git_command(&self.folder)
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

/// True if git ignores a path. Asked only when it decides between going on and a denial. Personal
/// git settings are left out: an agent could point them anywhere.
pub fn is_ignored(root: &Path, path: &Path) -> bool {
    let asked = |path: &Path| {
        git_command(root)
            .args(["-c", "core.excludesFile=", "check-ignore", "--quiet", "--"])
            .arg(path)
            .status()
            .is_ok_and(|status| status.success())
    };
    let text = path.to_string_lossy();
    if !text.contains(UNKNOWN_NAME) {
        return asked(path);
    }
    // An unknown name stands for itself, as a file or as a folder, and no file there may be one
    // that git does not ignore.
    let ends_known = !path.ends_with(UNKNOWN_NAME.to_string());
    (asked(path) || ends_known && asked(&path.join("any"))) && !matches_any(root, &text)
}

/// True if a file that git does not ignore matches a pattern.
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
    let output = git_command(root)
        .args(["-c", "core.excludesFile=", "ls-files", "--cached"])
        .args(["--others", "--exclude-standard", "--", &glob, &below])
        .output();
    !output.is_ok_and(|output| output.status.success() && output.stdout.is_empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "only git knows its aliases and what it ignores; both are asked on rare paths"
)]
fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).stdin(Stdio::null());
    command.stderr(Stdio::null()).stdout(Stdio::piped());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG"] {
        command.env_remove(name);
    }
    command
}
