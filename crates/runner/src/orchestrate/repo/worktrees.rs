//! Per-task worktrees and branches: creation, reuse, removal.

use super::{
    KeptWorktree, PhasePlace, RunRepo, TASK_BRANCHES, TASK_NAMES, TaskPlace, WORKTREES, git_error,
    resolve_links,
};
use crate::core::failure::FailureReason;
use bowline_engine::Error;
use bowline_engine::git::Git;
use bowline_engine::git_locks::lock_in_the_way;
use bowline_engine::process::GitResult;
use bowline_words::message::Reason;
use std::path::{Path, PathBuf};

/// The null object id, as the expected old value of a branch that does not exist.
const NULL_COMMIT: &str = "0000000000000000000000000000000000000000";
/// Size of the blocks that `stat` counts.
const BLOCK_BYTES: u64 = 512;
/// Marker file in git's own folder of a worktree whose set-up is complete.
const SETUP_DONE_FILE: &str = "bowline-furnished";
/// File mode of a repository within another, of which git keeps only the commit.
const GITLINK_MODE: &str = "160000";
/// The file that lists submodules.
pub(super) const GITMODULES: &str = ".gitmodules";
/// Conflict markers; a line that starts with one is unresolved.
const CONFLICT_MARKERS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];

/// Messages of the system when nothing can be written.
const DISK_FULL_MESSAGES: [&str; 3] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
];
/// Files that git locks in its folder of one worktree.
const LOCKED_FILES: [&str; 4] = ["index", "HEAD", "MERGE_HEAD", "ORIG_HEAD"];

/// The outcome of preparing a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeOutcome {
    /// An agent can start in it.
    Ready {
        /// The worktree was recreated.
        renewed: bool,
    },
    /// Git fails in it.
    Broken { why: FailureReason },
    /// Anything else failed.
    Failed { why: FailureReason },
}

impl RunRepo {
    /// Creates or reuses the worktree of a task. With `merge`, the branch of its phase is merged
    /// into it, and a conflict is left there to be resolved. A new worktree may start `on` the work
    /// of another task that has not landed. A `fresh` one is recreated in any case: its content is
    /// kept.
    pub fn prepare_worktree(
        &self,
        task: &TaskPlace,
        merge: bool,
        on: Option<&str>,
        fresh: bool,
    ) -> Result<WorktreeOutcome, Error> {
        let name = RunRepo::task_name(&task.id);
        if fresh {
            self.discard_worktree(&name)?;
        }
        let renewed = self.create_worktree(task, on)?;
        let room = self.worktree_of(&task.id);
        let git = self.git.in_folder(&room);
        self.remove_locks(&git, &name)?;
        self.run_setup_once(&room)?;
        if merge && let Err(error) = self.merge_phase_branch(&git, &room, task) {
            return match is_worktree_error(&error) {
                true => Ok(WorktreeOutcome::Broken { why: error.into() }),
                false => Err(error),
            };
        }
        Ok(WorktreeOutcome::Ready { renewed })
    }

    /// Creates the worktree of a task unless a complete one exists. Returns true if it did.
    fn create_worktree(&self, task: &TaskPlace, on: Option<&str>) -> Result<bool, Error> {
        self.ensure_phase_branch(&task.phase)?;
        let tip = self.branch_tip(&task.phase.branch)?;
        let (room, branch) = (self.worktree_of(&task.id), RunRepo::task_branch(&task.id));
        let there = self
            .list_worktrees()?
            .into_iter()
            .any(|(path, _)| is_same_path(&path, &room));
        if there && self.is_set_up(&room)? {
            return Ok(false);
        }
        self.discard_half_made(&room, &RunRepo::task_name(&task.id))?;
        let ahead = on
            .map(|on| self.commit_current_work(on))
            .transpose()?
            .flatten();
        if let Some(ahead) = &ahead {
            // From here on the work is the task's own.
            let stack = format!("refs/bowline/stack/{}", RunRepo::task_name(&task.id));
            self.git.output_text(&["update-ref", &stack, ahead])?;
        }
        let tip = ahead.unwrap_or(tip);
        self.forget_removal(&RunRepo::task_name(&task.id))?;
        self.add_worktree(&room, &branch, &tip)?;
        let base = format!("refs/bowline/base/{}", RunRepo::task_name(&task.id));
        self.git.output_text(&["update-ref", &base, &tip])?;
        Ok(true)
    }

    /// True if a folder is a worktree of this repository. A worktree with a broken link to the
    /// repository is repaired.
    pub(super) fn is_our_worktree(&self, folder: &Path) -> Result<bool, Error> {
        let git = self.git.in_folder(folder);
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let ours = self.git.output_text(&common)?;
        // A repository created in the folder has a common folder of its own.
        let stands = || -> Result<bool, Error> {
            let top = git.run(&["rev-parse", "--show-toplevel"])?;
            if top.code.is_none() {
                // A killed git proves nothing about the folder.
                top.into_stdout()?;
                return Ok(false);
            }
            let here = top.code == Some(0) && is_same_path(Path::new(&top.stdout), folder);
            Ok(here && is_same_path(Path::new(&git.output_text(&common)?), Path::new(&ours)))
        };
        if !folder.is_dir() || stands()? {
            return Ok(folder.is_dir());
        }
        let path = folder.to_string_lossy();
        self.git.run(&["worktree", "repair", &path])?;
        stands()
    }

    /// True if the set-up of a worktree was ever completed.
    fn is_set_up(&self, room: &Path) -> Result<bool, Error> {
        if !self.is_our_worktree(room)? {
            return Ok(false);
        }
        let own = self.git.in_folder(room);
        let own = own.output_text(&["rev-parse", "--absolute-git-dir"])?;
        Ok(Path::new(&own).join(SETUP_DONE_FILE).exists())
    }

    /// Removes the locks of a worktree and of the refs of its task: the processes that held them
    /// are gone.
    pub(super) fn remove_locks(&self, git: &Git, name: &str) -> Result<(), Error> {
        let own = git.output_text(&["rev-parse", "--absolute-git-dir"])?;
        for file in LOCKED_FILES {
            let _ = std::fs::remove_file(Path::new(&own).join(format!("{file}.lock")));
        }
        let refs = [
            "heads/bowline",
            "bowline/task",
            "bowline/base",
            "bowline/stack",
        ];
        for refs in refs {
            let lock = self.common.join(format!("refs/{refs}/{name}.lock"));
            let _ = std::fs::remove_file(lock);
        }
        Ok(())
    }

    /// Removes a worktree that was never completed, so that no agent worked in it, or whose folder
    /// is gone. The files of a folder that lost its link to the repository are kept first.
    fn discard_half_made(&self, room: &Path, name: &str) -> Result<(), Error> {
        if room.is_dir() && !self.is_our_worktree(room)? {
            let link = room.join(".git");
            let empty = std::fs::read_dir(room).is_ok_and(|entries| {
                let mut entries = entries.flatten();
                entries.all(|entry| entry.path() == link)
            });
            match empty && !link.is_dir() {
                true => std::fs::remove_dir_all(room)
                    .map_err(|error| git_error("take a folder away", &error))?,
                false => self.set_aside(room, name)?,
            }
        }
        self.remove_worktree_entry(room).map(drop)
    }

    /// Has git forget a worktree and removes its folder. Unlike `git worktree prune` it leaves
    /// other worktrees alone: they may be on a disk that is not mounted now.
    pub(super) fn remove_worktree_entry(&self, folder: &Path) -> Result<GitResult, Error> {
        let path = folder.to_string_lossy();
        self.git
            .run(&["worktree", "remove", "--force", "--force", &path])
    }

    /// Returns a nested repository that would be lost with a worktree, or would not land from it,
    /// because git keeps only its commit: one that is no submodule, or a submodule with changes or
    /// at a commit that is nowhere else.
    pub(super) fn nested_repository_problem(&self, folder: &Path) -> Result<Option<Reason>, Error> {
        let git = self.git.in_folder(folder);
        let noted = git.output_text(&["ls-files", "--stage", "-z"])?;
        let noted = noted.split('\0').filter_map(|line| {
            let (what, path) = line.split_once('\t')?;
            what.starts_with(GITLINK_MODE).then(|| path.to_owned())
        });
        let mut all = untracked_repositories(&git)?;
        all.extend(noted.filter(|path| folder.join(path).join(".git").exists()));
        if all.is_empty() {
            return Ok(None);
        }
        let pattern = r"^submodule\..*\.path$";
        let file = ["config", "--file", ".gitmodules", "-z", "--get-regexp"];
        let named = git.run(&[&file[..], &[pattern]].concat())?;
        let named = named.stdout.split('\0');
        let named: Vec<&str> = named
            .filter_map(|entry| entry.split_once('\n'))
            .map(|(_, path)| path)
            .collect();
        for path in all {
            if !named.contains(&path.as_str()) {
                return Ok(Some(Reason::OwnRepository { path }));
            }
            let within = self.git.in_folder(&folder.join(&path));
            let at = within.resolve_commit("HEAD")?;
            let known = self.blob_in(&format!("refs/heads/{}", self.target), &path)?;
            let shared = within.output_text(&[
                "for-each-ref",
                "--contains=HEAD",
                "--count=1",
                "refs/remotes",
                "refs/tags",
            ]);
            let elsewhere = at == known || shared.is_ok_and(|found| !found.is_empty());
            if at.is_some() && (!elsewhere || !within.exits_zero(&["diff", "--quiet", "HEAD"])?) {
                return Ok(Some(Reason::SubmoduleAlone { path }));
            }
        }
        Ok(None)
    }

    /// Commits the work of a task as it is in its worktree; returns none if the worktree is gone,
    /// as the task has landed.
    fn commit_current_work(&self, id: &str) -> Result<Option<String>, Error> {
        let room = self.worktree_of(id);
        if !room.is_dir() {
            return Ok(None);
        }
        let Some(head) = self.git.in_folder(&room).resolve_commit("HEAD")? else {
            return Ok(None);
        };
        let tree = self.write_worktree_tree(&room, "stack")?;
        self.commit_tree(&tree, &[&head], &format!("{id} as it was"), None)
            .map(Some)
    }

    fn add_worktree(&self, room: &Path, branch: &str, tip: &str) -> Result<(), Error> {
        let path = room.to_string_lossy();
        let name = format!("refs/heads/{branch}");
        match self.git.resolve_commit(&name)? {
            Some(_) => self
                .git
                .output_text(&["worktree", "add", "--quiet", &path, branch])?,
            None => self.git.output_text(&[
                "worktree",
                "add",
                "--quiet",
                "--no-track",
                "-b",
                branch,
                &path,
                tip,
            ])?,
        };
        Ok(())
    }

    /// Sets up a worktree once. An interrupted set-up is repeated.
    pub(super) fn run_setup_once(&self, room: &Path) -> Result<(), Error> {
        self.lease_ports(room)?;
        let git = self.git.in_folder(room);
        let own = PathBuf::from(git.output_text(&["rev-parse", "--absolute-git-dir"])?);
        let mark = own.join(SETUP_DONE_FILE);
        if mark.exists() {
            return Ok(());
        }
        self.run_setup(room)?;
        std::fs::write(&mark, "").map_err(|error| git_error("furnish a worktree", &error))
    }

    /// Creates links and copies, and runs the project's set-up command.
    fn run_setup(&self, room: &Path) -> Result<(), Error> {
        for (names, link) in [
            (&self.settings.orchestrate.link, true),
            (&self.settings.orchestrate.copy, false),
        ] {
            for name in names {
                let (from, to) = (self.root.join(name), room.join(&self.prefix).join(name));
                let inside = Path::new(name)
                    .components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)));
                if !inside || !from.exists() || to.symlink_metadata().is_ok() {
                    continue;
                }
                let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
                let made = made.and_then(|()| match link {
                    true => std::os::unix::fs::symlink(&from, &to),
                    false => copy_recursively(&from, &to),
                });
                made.map_err(|error| git_error(&format!("bring {name} into a worktree"), &error))?;
            }
        }
        if !self.settings.orchestrate.setup.is_empty()
            && let Some(why) = self.run_project_command(&self.settings.orchestrate.setup, room)?
        {
            return Err(Error::ProgramFailed {
                program: self.settings.orchestrate.setup.join(" "),
                message: why.to_string(),
            });
        }
        Ok(())
    }

    /// Merges the branch of a phase into a worktree. Conflicts stay there with their markers.
    fn merge_phase_branch(&self, git: &Git, room: &Path, task: &TaskPlace) -> Result<(), Error> {
        if git.resolve_commit("MERGE_HEAD")?.is_some() {
            return Ok(());
        }
        let name = format!("refs/heads/{}", task.phase.branch);
        let merge = ["merge", "--quiet", "--no-edit", &name];
        let mut end = git.run(&merge)?;
        if end.code != Some(0) && git.resolve_commit("MERGE_HEAD")?.is_none() {
            // An interrupted merge leaves files that no commit explains. Keep them and start again.
            self.remove_locks(git, &RunRepo::task_name(&task.id))?;
            self.rescue_worktree(room, &RunRepo::task_name(&task.id))?;
            git.output_text(&["reset", "--quiet", "--hard"])?;
            git.output_text(&["clean", "--quiet", "--force", "-d"])?;
            end = git.run(&merge)?;
        }
        match (end.code, git.resolve_commit("MERGE_HEAD")?) {
            (Some(0), _) => Ok(()),
            (_, Some(_)) => self.regenerate_conflicts(git, room),
            (_, None) => end.into_stdout().map(drop),
        }
    }

    /// Commits what the agent left uncommitted, or returns why that is impossible.
    pub(super) fn commit_rest(&self, task: &TaskPlace) -> Result<Result<(), FailureReason>, Error> {
        let room = self.worktree_of(&task.id);
        if !self.is_our_worktree(&room)? {
            let path = room.display().to_string();
            return Ok(Err(Reason::NoWorktree { path }.into()));
        }
        let git = self.git.in_folder(&room);
        self.remove_locks(&git, &RunRepo::task_name(&task.id))?;
        if let Some(said) = unparsable_modules(&git)? {
            return Ok(Err(Reason::BadModules { said }.into()));
        }
        if git.resolve_commit("HEAD")?.is_none() {
            // Its branch was deleted: continue from the commit it started from.
            let base = format!("refs/bowline/base/{}", RunRepo::task_name(&task.id));
            let head = git.output_text(&["symbolic-ref", "HEAD"])?;
            git.output_text(&["update-ref", &head, &base])?;
        }
        let unmerged = git.output_text(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        for path in unmerged.split('\0').filter(|path| !path.is_empty()) {
            let text = std::fs::read(room.join(path)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if text
                .lines()
                .any(|line| CONFLICT_MARKERS.iter().any(|mark| line.starts_with(mark)))
            {
                let path = path.to_owned();
                return Ok(Err(Reason::Unresolved { path }.into()));
            }
        }
        if let Some(why) = self.nested_repository_problem(&room)? {
            return Ok(Err(why.into()));
        }
        git.output_text(&["add", "--all"])?;
        let merging = git.resolve_commit("MERGE_HEAD")?.is_some();
        if merging || !git.exits_zero(&["diff", "--cached", "--quiet"])? {
            let message = format!("{}: {}", task.id, task.title);
            git.output_text(&[
                "commit",
                "--quiet",
                "--no-verify",
                "--message",
                message.trim_end_matches([':', ' ']),
            ])?;
        }
        Ok(Ok(()))
    }

    /// Returns the worktrees of tasks with their size on disk. Worktrees on branches of others are
    /// left out.
    pub fn task_worktrees(&self) -> Result<Vec<KeptWorktree>, Error> {
        let folder = resolve_links(&self.root.join(WORKTREES));
        let ours = self.list_worktrees()?.into_iter().filter(|(path, branch)| {
            let ours = branch.as_deref();
            let ours = ours.is_none_or(|branch| branch.starts_with(TASK_BRANCHES));
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ours && path.parent() == Some(folder.as_path()) && name.starts_with(TASK_NAMES)
        });
        let kept = ours.map(|(path, _)| KeptWorktree {
            name: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            bytes: folder_bytes(&path),
        });
        Ok(kept.collect())
    }

    /// True if a worktree or branch of a task exists, or if git does not answer.
    pub fn has_leftovers(&self, id: &str) -> bool {
        let branch = format!("refs/heads/{}", RunRepo::task_branch(id));
        self.worktree_of(id).is_dir() || !matches!(self.git.resolve_commit(&branch), Ok(None))
    }

    /// Creates the branch of a phase from the target branch, if it is missing.
    pub(super) fn ensure_phase_branch(&self, phase: &PhasePlace) -> Result<(), Error> {
        let name = format!("refs/heads/{}", phase.branch);
        if self.git.resolve_commit(&name)?.is_none() {
            let tip = self.branch_tip(&self.target)?;
            let end = self.git.run(&["update-ref", &name, &tip, NULL_COMMIT])?;
            // Another thread may have created it at this moment.
            if end.code != Some(0) && self.git.resolve_commit(&name)?.is_none() {
                end.into_stdout()?;
            }
        }
        Ok(())
    }

    /// Returns the worktree of a phase for manual work, on its branch. Its content is left as it
    /// is.
    pub fn manual_worktree(&self, phase: &PhasePlace) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = &phase.folder else {
            return Ok(None);
        };
        self.ensure_phase_branch(phase)?;
        let path = folder.to_string_lossy();
        if !folder.exists() {
            self.remove_worktree_entry(folder)?;
            let added = &["worktree", "add", "--quiet", &path, &phase.branch];
            self.git.run(added)?.into_stdout()?;
            self.run_setup_once(folder)?;
        }
        let git = self.git.in_folder(folder);
        // A run leaves it detached, for people to look at.
        if git.run(&["symbolic-ref", "--quiet", "HEAD"])?.code == Some(1) {
            let onto = &["checkout", "--quiet", &phase.branch];
            git.run(onto)?.into_stdout()?;
        }
        Ok(Some(folder.clone()))
    }

    /// Returns the worktree of a phase if it has uncommitted changes.
    pub fn uncommitted_worktree(&self, phase: &PhasePlace) -> Result<Option<PathBuf>, Error> {
        let folder = phase.folder.as_ref().filter(|folder| folder.is_dir());
        let Some(folder) = folder else {
            return Ok(None);
        };
        let changes = self
            .git
            .in_folder(folder)
            .output_text(&["status", "--porcelain"])?;
        Ok((!changes.trim().is_empty()).then(|| folder.clone()))
    }

    pub(super) fn branch_tip(&self, branch: &str) -> Result<String, Error> {
        self.git
            .resolve_commit(&format!("refs/heads/{branch}"))?
            .ok_or_else(|| Error::NoCommit {
                path: self.root.clone(),
                branch: branch.to_owned(),
            })
    }

    /// Updates the worktree in which people look at a phase to the phase's branch. Only a
    /// convenience: local changes are left alone.
    pub(super) fn update_phase_worktree(&self, phase: &PhasePlace) -> Result<(), Error> {
        let Some(folder) = &phase.folder else {
            return Ok(());
        };
        let path = folder.to_string_lossy();
        if !folder.exists() {
            self.remove_worktree_entry(folder)?;
            self.git.run(&[
                "worktree",
                "add",
                "--quiet",
                "--detach",
                &path,
                &phase.branch,
            ])?;
            return Ok(());
        }
        let git = self.git.in_folder(folder);
        // A worktree on the branch itself moved along with it.
        if git.run(&["symbolic-ref", "--quiet", "HEAD"])?.code == Some(1) {
            git.run(&["checkout", "--quiet", "--detach", &phase.branch])?;
        }
        Ok(())
    }
}

/// Returns the repositories in a worktree of which nothing is committed.
pub(super) fn untracked_repositories(git: &Git) -> Result<Vec<String>, Error> {
    let others = git.output_text(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    // All other paths are files.
    let folders = others.split('\0').filter(|path| path.ends_with('/'));
    Ok(folders
        .map(|path| path.trim_end_matches('/').to_owned())
        .collect())
}

/// Returns the size of a folder on disk. Links are not followed.
fn folder_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(it) if it.is_dir() => {
            folder_bytes(&entry.path()).saturating_add(it.blocks() * BLOCK_BYTES)
        }
        Ok(it) => it.blocks() * BLOCK_BYTES,
        Err(_) => 0,
    });
    sizes.sum()
}

/// True if git failed for a reason within a worktree, so that a new one may help. Locks of others,
/// which are waited for, and a disk that takes no data are no such reason.
pub(super) fn is_worktree_error(error: &Error) -> bool {
    match error {
        Error::ProgramFailed { program, message } => {
            let no_room = DISK_FULL_MESSAGES.iter().any(|said| message.contains(said));
            program == "git" && !no_room && lock_in_the_way(message).is_none()
        }
        _ => false,
    }
}

/// Returns git's error for a `.gitmodules` that it cannot parse; git commands fail in a checkout
/// with such a file.
pub(super) fn unparsable_modules(git: &Git) -> Result<Option<String>, Error> {
    if !git.folder().join(GITMODULES).is_file() {
        return Ok(None);
    }
    let end = git.run(&["config", "--file", GITMODULES, "--list"])?;
    Ok((end.code != Some(0)).then(|| super::remedies::first_lines(&end.stderr)))
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    resolve_links(one) == resolve_links(other)
}

fn copy_recursively(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy_recursively(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_worktree_error;
    use bowline_engine::Error;

    #[test]
    fn a_new_worktree_helps_where_git_fails_and_neither_a_lock_nor_the_disk_is_why() {
        for (program, said, helps) in [
            ("git", "fatal: index file smaller than expected", true),
            (
                "git",
                "fatal: Unable to create '/p/.git/index.lock': File exists.",
                false,
            ),
            (
                "git",
                "error: unable to write file a.txt: No space left on device",
                false,
            ),
            (
                "git",
                "cannot write a scratch file: Disk quota exceeded (os error 122)",
                false,
            ),
            (
                "git",
                "error: unable to create file a.txt: Read-only file system",
                false,
            ),
            ("npm ci", "npm ci ended with 1", false),
        ] {
            let (program, message) = (program.to_owned(), said.to_owned());
            let error = Error::ProgramFailed { program, message };
            assert_eq!(is_worktree_error(&error), helps, "{said}");
        }
    }
}
