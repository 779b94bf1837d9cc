//! Keeps the work of a task before its worktree is removed: files on `refs/bowline/rescue/*`,
//! commits on `refs/bowline/task/*`.

use super::worktrees::{GITMODULES, unparsable_modules};
use super::{RunRepo, TASK_BRANCHES, WORKTREES, git_error};
use bowline_engine::Error;
use bowline_engine::git::Git;
use bowline_engine::statefiles::{Disk as _, RealDisk};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Letters of a commit at the end of a ref's name.
const COMMIT_LETTERS: usize = 12;
/// Maximum number of reflog entries read, the newest first.
const REFLOG_MAX: &str = "1000";
/// Maximum number of folders of one task that are set aside.
const ASIDE_MAX: u32 = 10_000;

impl RunRepo {
    /// Removes what is left of a task. Work that has not landed is kept on a hidden ref first.
    pub fn clean_task(&self, name: &str) -> Result<(), Error> {
        let room = self.root.join(WORKTREES).join(name);
        if room.is_dir() && !self.remove_worktree(&room, name)? {
            return Ok(());
        }
        self.remove_branch(name)
    }

    /// Removes the worktree of a task so that it can be recreated. Its content is kept on hidden
    /// refs, or else in a folder beside it, as with a repository that an agent made in it.
    pub(super) fn discard_worktree(&self, name: &str) -> Result<(), Error> {
        let room = self.root.join(WORKTREES).join(name);
        let there = room.symlink_metadata().is_ok();
        if there && !matches!(self.remove_worktree(&room, name), Ok(true)) {
            self.set_aside(&room, name)?;
        }
        self.remove_worktree_entry(&room)?;
        self.remove_branch(name)
    }

    /// Removes the branch of a task and what belongs to it; its commits are kept.
    fn remove_branch(&self, name: &str) -> Result<(), Error> {
        let branch = format!("refs/heads/{TASK_BRANCHES}{name}");
        if let Some(tip) = self.git.resolve_commit(&branch)? {
            self.keep_from_reflog(&self.git, &branch, name)?;
            self.keep_commit(name, &tip)?;
            self.git.output_text(&["update-ref", "-d", &branch, &tip])?;
        }
        for ours in ["base", "stack"] {
            let ours = format!("refs/bowline/{ours}/{name}");
            self.git.run(&["update-ref", "-d", &ours])?;
        }
        Ok(())
    }

    /// Removes a worktree of the run, after keeping what is in no commit. Returns false if it
    /// stays: it is no worktree, or contains a repository of its own, which no commit can keep.
    pub(super) fn remove_worktree(&self, folder: &Path, name: &str) -> Result<bool, Error> {
        let mark = self.removal_mark(name);
        if !self.is_our_worktree(folder)? {
            // A git killed during a removal has left a folder whose content is kept already.
            if !mark.exists() || folder.join(".git").exists() {
                return Ok(false);
            }
            std::fs::remove_dir_all(folder)
                .map_err(|error| git_error("remove a folder", &error))?;
            self.remove_worktree_entry(folder)?;
            return self.end_removal(&mark);
        }
        if self.nested_repository_problem(folder)?.is_some() {
            return Ok(false);
        }
        self.rescue_worktree(folder, name)?;
        std::fs::write(&mark, "").map_err(|error| git_error("write a file", &error))?;
        let end = self.remove_worktree_entry(folder)?;
        if end.code != Some(0) && folder.exists() {
            end.into_stdout()?;
        }
        self.release_ports(folder)?;
        self.end_removal(&mark)
    }

    /// Returns the file that exists while a task's worktree is being removed and its content is
    /// kept.
    fn removal_mark(&self, name: &str) -> PathBuf {
        self.side
            .join(format!("removing-{}", name.replace('/', "-")))
    }

    fn end_removal(&self, mark: &Path) -> Result<bool, Error> {
        match std::fs::remove_file(mark) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(git_error("remove a file", &error))
            }
            _ => Ok(true),
        }
    }

    /// Forgets a removal that was begun: the worktree is created again.
    pub(super) fn forget_removal(&self, name: &str) -> Result<(), Error> {
        self.end_removal(&self.removal_mark(name)).map(drop)
    }

    /// Keeps the content of a worktree, untracked files included, on a hidden ref; returns none if
    /// there is nothing to keep. Commits that are on no branch are kept too.
    pub fn rescue_worktree(&self, folder: &Path, name: &str) -> Result<Option<String>, Error> {
        let git = self.git.in_folder(folder);
        self.keep_from_reflog(&git, "HEAD", name)?;
        if unparsable_modules(&git)?.is_some() {
            // Git fails in a checkout with such a file: it is kept under another name.
            let path = folder.join(GITMODULES);
            std::fs::copy(&path, folder.join(format!("{GITMODULES}.unreadable")))
                .and_then(|_| std::fs::write(&path, ""))
                .map_err(|error| git_error("keep .gitmodules", &error))?;
        }
        let Some(head) = git.resolve_commit("HEAD")? else {
            return Ok(None);
        };
        let dirty = !git
            .output_text(&["status", "--porcelain", "--untracked-files=all"])?
            .is_empty();
        if !dirty {
            return Ok(None);
        }
        let tree = self.write_worktree_tree(folder, &format!("rescue-{name}"))?;
        self.keep_tree(&tree, &head, folder, name).map(Some)
    }

    pub(super) fn keep_tree(
        &self,
        tree: &str,
        parent: &str,
        folder: &Path,
        name: &str,
    ) -> Result<String, Error> {
        let message = format!("rescued from {}", folder.display());
        let commit = self.commit_tree(tree, &[parent], &message, None)?;
        let kept = format!("refs/bowline/rescue/{name}-{}", &commit[..COMMIT_LETTERS]);
        self.git.output_text(&["update-ref", &kept, &commit])?;
        Ok(kept)
    }

    /// Moves a folder that is no longer a worktree out of the way. Its files go onto a hidden ref;
    /// if it contains a repository, or git rejects its files, it is renamed as a whole.
    pub(super) fn set_aside(&self, folder: &Path, name: &str) -> Result<(), Error> {
        if !holds_repository(folder) && self.rescue_files(folder, name).is_ok() {
            std::fs::remove_dir_all(folder)
                .map_err(|error| git_error("take a folder away", &error))?;
            return self.release_ports(folder);
        }
        for number in 1..ASIDE_MAX {
            let aside = folder.with_file_name(format!("aside-{name}-{number}"));
            if aside.symlink_metadata().is_err() {
                RealDisk
                    .rename(folder, &aside)
                    .map_err(|error| git_error("set a folder aside", &error))?;
                break;
            }
        }
        self.release_ports(folder)
    }

    /// Keeps the files of a folder that is no worktree, in a commit after the last one of its task.
    fn rescue_files(&self, folder: &Path, name: &str) -> Result<(), Error> {
        let refs = [
            format!("refs/heads/{TASK_BRANCHES}{name}"),
            format!("refs/bowline/base/{name}"),
            format!("refs/heads/{}", self.target),
        ];
        let mut parent = None;
        for name in refs {
            parent = parent.or(self.git.resolve_commit(&name)?);
        }
        let parent = parent.unwrap_or_default();
        let index = self.write_scratch_file(&format!("files-{name}"), b"")?;
        std::fs::remove_file(&index).map_err(|error| git_error("remove a scratch file", &error))?;
        let git = self.git.in_folder(folder);
        let git = git.with_variable("GIT_DIR", &self.common);
        let git = git.with_variable("GIT_WORK_TREE", folder);
        let git = git.with_variable("GIT_INDEX_FILE", &index);
        git.output_text(&["read-tree", &parent])?;
        git.output_text(&["add", "--all", "--", "."])?;
        let tree = git.output_text(&["write-tree"])?;
        self.keep_tree(&tree, &parent, folder, name).map(drop)
    }

    /// Reverts what a killed merge had already written into a checkout: files that are exactly as
    /// the merge has them. Returns true if there were any.
    pub(super) fn undo_half_merge(
        &self,
        folder: &Path,
        old: &str,
        new: &str,
    ) -> Result<bool, Error> {
        let git = self.git.in_folder(folder);
        let changed = ["diff", "--name-only", "--no-renames", "-z", old, new];
        let paths = git.output_text(&changed)?;
        let mut undone = false;
        for path in paths.split('\0').filter(|path| !path.is_empty()) {
            let file = folder.join(path);
            let Some(landing) = self.blob_in(new, path)? else {
                continue;
            };
            let here = file.symlink_metadata();
            if !here.is_ok_and(|it| it.is_file())
                || git.output_text(&["hash-object", "--", path])? != landing
            {
                continue;
            }
            undone = true;
            match self.blob_in(old, path)? {
                Some(_) => drop(git.output_text(&["checkout", "--quiet", old, "--", path])?),
                None => std::fs::remove_file(&file)
                    .map_err(|error| git_error("take a file away", &error))?,
            }
        }
        Ok(undone)
    }

    /// Keeps a commit of a task. An earlier one that it does not contain is kept under a name of
    /// its own.
    pub(super) fn keep_commit(&self, name: &str, commit: &str) -> Result<(), Error> {
        let kept = format!("refs/bowline/task/{name}");
        if let Some(before) = self
            .git
            .resolve_commit(&kept)?
            .filter(|before| before != commit)
        {
            let within = |one: &str, other: &str| {
                self.git
                    .exits_zero(&["merge-base", "--is-ancestor", one, other])
            };
            if within(commit, &before)? {
                return Ok(());
            }
            if !within(&before, commit)? {
                self.keep_beside(name, &before)?;
            }
        }
        self.git
            .output_text(&["update-ref", &kept, commit])
            .map(drop)
    }

    fn keep_beside(&self, name: &str, commit: &str) -> Result<(), Error> {
        let kept = format!("refs/bowline/task/{name}-{}", &commit[..COMMIT_LETTERS]);
        self.git
            .output_text(&["update-ref", &kept, commit])
            .map(drop)
    }

    /// Keeps commits that were made but are on no ref any more: on a detached head, or reset away.
    pub(super) fn keep_from_reflog(&self, git: &Git, log: &str, name: &str) -> Result<(), Error> {
        let end = git.run(&["log", "-g", "--format=%H", "-n", REFLOG_MAX, log, "--"])?;
        let mut seen: BTreeSet<&str> = end.stdout.lines().collect();
        let head = git.resolve_commit(log)?;
        seen.extend(head.as_deref());
        if seen.is_empty() {
            return Ok(());
        }
        let mut arguments = vec!["rev-list", "--ignore-missing", "--parents"];
        arguments.extend(seen);
        arguments.extend(["--not", "--branches", "--tags", "--remotes"]);
        arguments.push("--glob=refs/bowline/*");
        let end = self.git.run(&arguments)?;
        let lines = end.stdout.lines().map(|line| line.split(' '));
        let lines: Vec<Vec<&str>> = lines.map(Iterator::collect).collect();
        let parents: BTreeSet<&str> = lines.iter().flat_map(|it| it[1..].to_vec()).collect();
        for line in &lines {
            if !parents.contains(line[0]) {
                self.keep_beside(name, line[0])?;
            }
        }
        Ok(())
    }
}

/// True if a folder contains a repository, at its top or below.
fn holds_repository(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_dir && (entry.file_name() == ".git" || holds_repository(&entry.path()))
    })
}
