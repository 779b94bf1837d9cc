//! Commits that runs kept before worktrees were removed: listed, restored, and dropped only by a
//! person.

use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::git::Git;
use crate::words::display_path;
use bowline_machines::Timestamp;
use bowline_words::message::{Advice, Wrong};
use std::path::{Path, PathBuf};

/// Refs of uncommitted work in worktrees, and of the commits of tasks.
const KEPT: [&str; 2] = ["refs/bowline/rescue/", "refs/bowline/task/"];
/// Prefix of branches made of kept commits, unless a name is given.
const BRANCHES: &str = "rescued/";
/// Characters of the commit at the end of a name.
const COMMIT_LETTERS: usize = 12;
/// Most names shown if several match.
const FITTING_MAX: usize = 6;

/// Kept commit of a task or worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescuedCommit {
    /// Name: the end of its ref.
    pub name: String,
    pub reference: String,
    /// Task or folder it comes from.
    pub task: String,
    pub commit: String,
    /// Time at which it was kept.
    pub at: Timestamp,
    /// Subject of its message.
    pub message: String,
    /// True for the uncommitted work of a worktree; false for the commits of a task.
    pub worktree: bool,
    /// Files that differ from the point where it left the branch that is checked out.
    pub files: Vec<String>,
}

/// Restored commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredCommit {
    pub rescued: RescuedCommit,
    /// New branch.
    pub branch: String,
    /// Worktree in which the branch is checked out, if one was requested.
    pub worktree: Option<PathBuf>,
}

impl Orchestration {
    /// Lists kept commits, the newest first; with `all`, the commits of tasks too.
    pub fn list_rescued(&self, all: bool) -> Result<Vec<RescuedCommit>, Error> {
        let git = self.project_git();
        // Outside of git nothing is kept, since nothing is removed.
        if git.run(&["rev-parse", "--git-dir"])?.code != Some(0) {
            return Ok(Vec::new());
        }
        let kinds = if all { &KEPT[..] } else { &KEPT[..1] };
        let mut arguments = vec![
            "for-each-ref",
            "--sort=-committerdate",
            "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)",
        ];
        arguments.extend(kinds);
        let text = git.output_text(&arguments)?;
        let mut found = Vec::new();
        for line in text.lines() {
            let mut parts = line.split('\0');
            let mut next = || parts.next().unwrap_or_default().to_owned();
            let (reference, commit, at, message) = (next(), next(), next(), next());
            let Some(short) = KEPT.iter().find_map(|kind| reference.strip_prefix(kind)) else {
                continue;
            };
            let worktree = reference.starts_with(KEPT[0]);
            let hash = format!("-{}", commit.get(..COMMIT_LETTERS).unwrap_or_default());
            let task = short.strip_suffix(&hash).unwrap_or(short);
            found.push(RescuedCommit {
                name: short.to_owned(),
                task: task.strip_prefix("task-").unwrap_or(task).to_owned(),
                files: changed_files(&git, &commit)?,
                at: Timestamp(at.parse().unwrap_or_default()),
                reference,
                commit,
                message,
                worktree,
            });
        }
        Ok(found)
    }

    /// Finds a kept commit by its name, ref, commit or task, if only one matches.
    pub fn rescued_as(&self, name: &str) -> Result<RescuedCommit, Error> {
        let all = self.list_rescued(true)?;
        if let Some(one) = all
            .iter()
            .find(|it| it.name == name || it.reference == name)
        {
            return Ok(one.clone());
        }
        const LETTERS_MIN: usize = 4;
        let fits = |it: &&RescuedCommit| {
            it.task == name || (name.len() >= LETTERS_MIN && it.commit.starts_with(name))
        };
        let fitting: Vec<&RescuedCommit> = all.iter().filter(fits).collect();
        let name = name.to_owned();
        let hint = Advice::ListRescues;
        match fitting[..] {
            [one] => Ok(one.clone()),
            [] => Err(Error::BadInput {
                message: Wrong::NoRescue { name },
                hint,
            }),
            [..] => {
                let names = fitting.iter().take(FITTING_MAX).map(|it| it.name.as_str());
                let names = names.collect::<Vec<_>>().join(", ");
                Err(Error::BadInput {
                    message: Wrong::SeveralRescues { name, names },
                    hint,
                })
            }
        }
    }

    /// Returns the difference to the point where it left the branch that is checked out.
    pub fn rescued_difference(&self, rescued: &RescuedCommit) -> Result<Vec<u8>, Error> {
        let git = self.project_git();
        let base = fork_point(&git, &rescued.commit)?;
        let end = git.run(&[
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            &base,
            &rescued.commit,
        ])?;
        let bytes = end.bytes.clone();
        end.into_stdout()?;
        Ok(bytes)
    }

    /// Restores a kept commit as a new branch, checked out in a new worktree if a path is given.
    /// The kept ref stays.
    pub fn restore_rescued(
        &self,
        context: &Context,
        rescued: RescuedCommit,
        branch: Option<&str>,
        worktree: Option<&Path>,
    ) -> Result<RestoredCommit, Error> {
        let git = self.project_git();
        let branch = branch.map_or_else(|| format!("{BRANCHES}{}", rescued.name), str::to_owned);
        let name = format!("refs/heads/{branch}");
        let fits = git.run(&["check-ref-format", "--branch", &branch])?.code == Some(0);
        if !fits || git.resolve_commit(&name)?.is_some() {
            return Err(Error::BadInput {
                message: Wrong::BadBranch { name: branch },
                hint: Advice::OtherBranch,
            });
        }
        let worktree = worktree.map(|path| self.folder().join(path));
        if let Some(path) = worktree.as_deref().filter(|path| path.exists()) {
            return Err(Error::OutputThere {
                path: path.to_owned(),
            });
        }
        if !context.dry_run {
            match &worktree {
                Some(path) => {
                    let path = display_path(path);
                    let commit = &rescued.commit;
                    git.output_text(&["worktree", "add", "--quiet", "-b", &branch, &path, commit])?;
                }
                None => {
                    git.output_text(&["branch", "--no-track", &branch, &rescued.commit])?;
                }
            }
        }
        Ok(RestoredCommit {
            rescued,
            branch,
            worktree,
        })
    }

    /// Drops a kept commit. Needs a person: commits in no other ref are lost.
    pub fn drop_rescued(&self, context: &Context, rescued: &RescuedCommit) -> Result<(), Error> {
        crate::history::require_person(context, "orchestrate rescue drop")?;
        if !context.dry_run {
            let (reference, commit) = (&rescued.reference, &rescued.commit);
            self.project_git()
                .output_text(&["update-ref", "-d", reference, commit])?;
        }
        Ok(())
    }

    fn project_git(&self) -> Git {
        Git::for_folder(self.root())
    }
}

/// Returns the point where a commit left the branch that is checked out. Without a common ancestor,
/// this is its parent or the empty tree.
fn fork_point(git: &Git, commit: &str) -> Result<String, Error> {
    let common = git.run(&["merge-base", "HEAD", commit])?;
    if common.code == Some(0) && common.stdout != commit {
        return Ok(common.stdout);
    }
    match git.resolve_commit(&format!("{commit}^"))? {
        Some(parent) => Ok(parent),
        None => git.output_text(&["hash-object", "-t", "tree", "/dev/null"]),
    }
}

fn changed_files(git: &Git, commit: &str) -> Result<Vec<String>, Error> {
    let base = fork_point(git, commit)?;
    let names = ["diff-tree", "-r", "--name-only", "--no-renames", "-z"];
    let text = git.output_text(&[&names[..], &[&base, commit]].concat())?;
    let names = text.split('\0').filter(|it| !it.is_empty());
    Ok(names.map(str::to_owned).collect())
}
