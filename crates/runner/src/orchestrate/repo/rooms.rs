//! Per-task worktrees and branches: creation, reuse, removal.

use super::{
    Kept, PhasePlace, Repo, TASK_BRANCHES, TASK_NAMES, TaskPlace, WORKTREES, failed, real,
};
use crate::core::why::Why;
use bowline_engine::Error;
use bowline_engine::git::Git;
use bowline_engine::git_locks::lock_in_the_way;
use bowline_engine::process::GitResult;
use bowline_words::message::Reason;
use std::path::{Path, PathBuf};

/// The null object id, as the expected old value of a branch that does not exist.
const NOTHING: &str = "0000000000000000000000000000000000000000";
/// Size of the blocks that `stat` counts.
const BLOCK_BYTES: u64 = 512;
/// Marker file in git's own folder of a worktree whose set-up is complete.
const FURNISHED: &str = "bowline-furnished";
/// File mode of a repository within another, of which git keeps only the commit.
const LINK: &str = "160000";
/// The file that lists submodules.
pub(super) const MODULES: &str = ".gitmodules";
/// Conflict markers; a line that starts with one is unresolved.
const MARKS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];

/// Messages of the system when nothing can be written.
const NO_ROOM: [&str; 3] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
];
/// Files that git locks in its folder of one worktree.
const LOCKED: [&str; 4] = ["index", "HEAD", "MERGE_HEAD", "ORIG_HEAD"];

/// The outcome of preparing a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// An agent can start in it.
    Ready {
        /// The worktree was recreated.
        renewed: bool,
    },
    /// Git fails in it.
    Broken { why: Why },
    /// Anything else failed.
    Failed { why: Why },
}

impl Repo {
    /// Creates or reuses the worktree of a task. With `merge`, the branch of its phase is merged
    /// into it, and a conflict is left there to be resolved. A new worktree may start `on` the work
    /// of another task that has not landed. A `fresh` one is recreated in any case: its content is
    /// kept.
    pub fn room(
        &self,
        task: &TaskPlace,
        merge: bool,
        on: Option<&str>,
        fresh: bool,
    ) -> Result<Prepared, Error> {
        let name = Repo::name(&task.id);
        if fresh {
            self.discard_worktree(&name)?;
        }
        let renewed = self.make_worktree(task, on)?;
        let room = self.room_of(&task.id);
        let git = self.git.in_folder(&room);
        self.unlock(&git, &name)?;
        self.furnish_once(&room)?;
        if merge && let Err(error) = self.bring_in(&git, &room, task) {
            return match is_of_worktree(&error) {
                true => Ok(Prepared::Broken { why: error.into() }),
                false => Err(error),
            };
        }
        Ok(Prepared::Ready { renewed })
    }

    /// Creates the worktree of a task unless a complete one exists. Returns true if it did.
    fn make_worktree(&self, task: &TaskPlace, on: Option<&str>) -> Result<bool, Error> {
        self.phase_branch(&task.phase)?;
        let tip = self.tip(&task.phase.branch)?;
        let (room, branch) = (self.room_of(&task.id), Repo::task_branch(&task.id));
        let there = self
            .worktrees()?
            .into_iter()
            .any(|(path, _)| same(&path, &room));
        if there && self.is_furnished(&room)? {
            return Ok(false);
        }
        self.discard_half_made(&room, &Repo::name(&task.id))?;
        let ahead = on.map(|on| self.work_of(on)).transpose()?.flatten();
        if let Some(ahead) = &ahead {
            // From here on the work is the task's own.
            let stack = format!("refs/bowline/stack/{}", Repo::name(&task.id));
            self.git.output_text(&["update-ref", &stack, ahead])?;
        }
        let tip = ahead.unwrap_or(tip);
        self.forget_removal(&Repo::name(&task.id))?;
        self.add_worktree(&room, &branch, &tip)?;
        let base = format!("refs/bowline/base/{}", Repo::name(&task.id));
        self.git.output_text(&["update-ref", &base, &tip])?;
        Ok(true)
    }

    /// True if a folder is a worktree of this repository. A worktree with a broken link to the
    /// repository is repaired.
    pub(super) fn stands(&self, folder: &Path) -> Result<bool, Error> {
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
            let here = top.code == Some(0) && same(Path::new(&top.stdout), folder);
            Ok(here && same(Path::new(&git.output_text(&common)?), Path::new(&ours)))
        };
        if !folder.is_dir() || stands()? {
            return Ok(folder.is_dir());
        }
        let path = folder.to_string_lossy();
        self.git.run(&["worktree", "repair", &path])?;
        stands()
    }

    /// True if the set-up of a worktree was ever completed.
    fn is_furnished(&self, room: &Path) -> Result<bool, Error> {
        if !self.stands(room)? {
            return Ok(false);
        }
        let own = self.git.in_folder(room);
        let own = own.output_text(&["rev-parse", "--absolute-git-dir"])?;
        Ok(Path::new(&own).join(FURNISHED).exists())
    }

    /// Removes the locks of a worktree and of the refs of its task: the processes that held them
    /// are gone.
    pub(super) fn unlock(&self, git: &Git, name: &str) -> Result<(), Error> {
        let own = git.output_text(&["rev-parse", "--absolute-git-dir"])?;
        for file in LOCKED {
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
        if room.is_dir() && !self.stands(room)? {
            let link = room.join(".git");
            let empty = std::fs::read_dir(room).is_ok_and(|entries| {
                let mut entries = entries.flatten();
                entries.all(|entry| entry.path() == link)
            });
            match empty && !link.is_dir() {
                true => std::fs::remove_dir_all(room)
                    .map_err(|error| failed("take a folder away", &error))?,
                false => self.set_aside(room, name)?,
            }
        }
        self.strike_off(room).map(drop)
    }

    /// Has git forget a worktree and removes its folder. Unlike `git worktree prune` it leaves
    /// other worktrees alone: they may be on a disk that is not mounted now.
    pub(super) fn strike_off(&self, folder: &Path) -> Result<GitResult, Error> {
        let path = folder.to_string_lossy();
        self.git
            .run(&["worktree", "remove", "--force", "--force", &path])
    }

    /// Returns a nested repository that would be lost with a worktree, or would not land from it,
    /// because git keeps only its commit: one that is no submodule, or a submodule with changes or
    /// at a commit that is nowhere else.
    pub(super) fn out_of_reach(&self, folder: &Path) -> Result<Option<Reason>, Error> {
        let git = self.git.in_folder(folder);
        let noted = git.output_text(&["ls-files", "--stage", "-z"])?;
        let noted = noted.split('\0').filter_map(|line| {
            let (what, path) = line.split_once('\t')?;
            what.starts_with(LINK).then(|| path.to_owned())
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
    fn work_of(&self, id: &str) -> Result<Option<String>, Error> {
        let room = self.room_of(id);
        if !room.is_dir() {
            return Ok(None);
        }
        let Some(head) = self.git.in_folder(&room).resolve_commit("HEAD")? else {
            return Ok(None);
        };
        let tree = self.tree_of(&room, "stack")?;
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
    pub(super) fn furnish_once(&self, room: &Path) -> Result<(), Error> {
        self.lease(room)?;
        let git = self.git.in_folder(room);
        let own = PathBuf::from(git.output_text(&["rev-parse", "--absolute-git-dir"])?);
        let mark = own.join(FURNISHED);
        if mark.exists() {
            return Ok(());
        }
        self.furnish(room)?;
        std::fs::write(&mark, "").map_err(|error| failed("furnish a worktree", &error))
    }

    /// Creates links and copies, and runs the project's set-up command.
    fn furnish(&self, room: &Path) -> Result<(), Error> {
        for (names, link) in [
            (&self.customs.settings.link, true),
            (&self.customs.settings.copy, false),
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
                    false => copy(&from, &to),
                });
                made.map_err(|error| failed(&format!("bring {name} into a worktree"), &error))?;
            }
        }
        if !self.customs.settings.setup.is_empty()
            && let Some(why) = self.command(&self.customs.settings.setup, room)?
        {
            return Err(Error::ProgramFailed {
                program: self.customs.settings.setup.join(" "),
                message: why.to_string(),
            });
        }
        Ok(())
    }

    /// Merges the branch of a phase into a worktree. Conflicts stay there with their markers.
    fn bring_in(&self, git: &Git, room: &Path, task: &TaskPlace) -> Result<(), Error> {
        if git.resolve_commit("MERGE_HEAD")?.is_some() {
            return Ok(());
        }
        let name = format!("refs/heads/{}", task.phase.branch);
        let merge = ["merge", "--quiet", "--no-edit", &name];
        let mut end = git.run(&merge)?;
        if end.code != Some(0) && git.resolve_commit("MERGE_HEAD")?.is_none() {
            // An interrupted merge leaves files that no commit explains. Keep them and start again.
            self.unlock(git, &Repo::name(&task.id))?;
            self.rescue(room, &Repo::name(&task.id))?;
            git.output_text(&["reset", "--quiet", "--hard"])?;
            git.output_text(&["clean", "--quiet", "--force", "-d"])?;
            end = git.run(&merge)?;
        }
        match (end.code, git.resolve_commit("MERGE_HEAD")?) {
            (Some(0), _) => Ok(()),
            (_, Some(_)) => self.remake_in(git, room),
            (_, None) => end.into_stdout().map(drop),
        }
    }

    /// Commits what the agent left uncommitted, or returns why that is impossible.
    pub(super) fn commit_rest(&self, task: &TaskPlace) -> Result<Result<(), Why>, Error> {
        let room = self.room_of(&task.id);
        if !self.stands(&room)? {
            let path = room.display().to_string();
            return Ok(Err(Reason::NoWorktree { path }.into()));
        }
        let git = self.git.in_folder(&room);
        self.unlock(&git, &Repo::name(&task.id))?;
        if let Some(said) = unparsable_modules(&git)? {
            return Ok(Err(Reason::BadModules { said }.into()));
        }
        if git.resolve_commit("HEAD")?.is_none() {
            // Its branch was deleted: continue from the commit it started from.
            let base = format!("refs/bowline/base/{}", Repo::name(&task.id));
            let head = git.output_text(&["symbolic-ref", "HEAD"])?;
            git.output_text(&["update-ref", &head, &base])?;
        }
        let unmerged = git.output_text(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        for path in unmerged.split('\0').filter(|path| !path.is_empty()) {
            let text = std::fs::read(room.join(path)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if text
                .lines()
                .any(|line| MARKS.iter().any(|mark| line.starts_with(mark)))
            {
                let path = path.to_owned();
                return Ok(Err(Reason::Unresolved { path }.into()));
            }
        }
        if let Some(why) = self.out_of_reach(&room)? {
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
    pub fn rooms(&self) -> Result<Vec<Kept>, Error> {
        let folder = real(&self.root.join(WORKTREES));
        let ours = self.worktrees()?.into_iter().filter(|(path, branch)| {
            let ours = branch.as_deref();
            let ours = ours.is_none_or(|branch| branch.starts_with(TASK_BRANCHES));
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ours && path.parent() == Some(folder.as_path()) && name.starts_with(TASK_NAMES)
        });
        let kept = ours.map(|(path, _)| Kept {
            name: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            bytes: bytes_of(&path),
        });
        Ok(kept.collect())
    }

    /// True if a worktree or branch of a task exists.
    pub fn has_leftovers(&self, id: &str) -> bool {
        let branch = format!("refs/heads/{}", Repo::task_branch(id));
        self.room_of(id).is_dir() || self.git.resolve_commit(&branch).ok().flatten().is_some()
    }

    /// Creates the branch of a phase from the target branch, if it is missing.
    pub(super) fn phase_branch(&self, phase: &PhasePlace) -> Result<(), Error> {
        let name = format!("refs/heads/{}", phase.branch);
        if self.git.resolve_commit(&name)?.is_none() {
            let tip = self.tip(&self.target)?;
            let end = self.git.run(&["update-ref", &name, &tip, NOTHING])?;
            // Another thread may have created it at this moment.
            if end.code != Some(0) && self.git.resolve_commit(&name)?.is_none() {
                end.into_stdout()?;
            }
        }
        Ok(())
    }

    /// Returns the worktree of a phase for manual work, on its branch. Its content is left as it
    /// is.
    pub fn stand(&self, phase: &PhasePlace) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = &phase.folder else {
            return Ok(None);
        };
        self.phase_branch(phase)?;
        let path = folder.to_string_lossy();
        if !folder.exists() {
            self.strike_off(folder)?;
            let added = &["worktree", "add", "--quiet", &path, &phase.branch];
            self.git.run(added)?.into_stdout()?;
            self.furnish_once(folder)?;
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
    pub fn uncommitted(&self, phase: &PhasePlace) -> Result<Option<PathBuf>, Error> {
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

    pub(super) fn tip(&self, branch: &str) -> Result<String, Error> {
        self.git
            .resolve_commit(&format!("refs/heads/{branch}"))?
            .ok_or_else(|| Error::NoCommit {
                path: self.root.clone(),
                branch: branch.to_owned(),
            })
    }

    /// Updates the worktree in which people look at a phase to the phase's branch. Only a
    /// convenience: local changes are left alone.
    pub(super) fn show_phase(&self, phase: &PhasePlace) -> Result<(), Error> {
        let Some(folder) = &phase.folder else {
            return Ok(());
        };
        let path = folder.to_string_lossy();
        if !folder.exists() {
            self.strike_off(folder)?;
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
fn bytes_of(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(it) if it.is_dir() => bytes_of(&entry.path()).saturating_add(it.blocks() * BLOCK_BYTES),
        Ok(it) => it.blocks() * BLOCK_BYTES,
        Err(_) => 0,
    });
    sizes.sum()
}

/// True if git failed for a reason within a worktree, so that a new one may help. Locks of others,
/// which are waited for, and a disk that takes no data are no such reason.
pub(super) fn is_of_worktree(error: &Error) -> bool {
    match error {
        Error::ProgramFailed { program, message } => {
            let no_room = NO_ROOM.iter().any(|said| message.contains(said));
            program == "git" && !no_room && lock_in_the_way(message).is_none()
        }
        _ => false,
    }
}

/// Returns git's error for a `.gitmodules` that it cannot parse; git commands fail in a checkout
/// with such a file.
pub(super) fn unparsable_modules(git: &Git) -> Result<Option<String>, Error> {
    if !git.folder().join(MODULES).is_file() {
        return Ok(None);
    }
    let end = git.run(&["config", "--file", MODULES, "--list"])?;
    Ok((end.code != Some(0)).then(|| super::ways_out::first_lines(&end.stderr)))
}

fn same(one: &Path, other: &Path) -> bool {
    real(one) == real(other)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_of_worktree;
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
            assert_eq!(is_of_worktree(&error), helps, "{said}");
        }
    }
}
