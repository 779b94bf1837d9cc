//! The git side of a run: worktrees, landings, and the end of a phase.
//!
//! Branches are moved by their expected old value, and trees are merged without a checkout
//! (`git merge-tree`): a crash at any moment leaves either the old or the new state. The content
//! of a worktree is kept on a hidden ref before it is removed.

mod forecast;
mod git_trees;
mod land;
mod landing_refs;
mod leases;
mod phase_branches;
mod plan_guard;
mod pull_requests;
mod regenerate;
mod remedies;
mod rescue;
mod worktrees;

pub use forecast::ForecastCache;
pub(super) use land::{check_red, evidence_red};
pub use pull_requests::PullRequestCommands;
pub(super) use remedies::with_resume_command;
pub use worktrees::WorktreeOutcome;

use crate::core::failure::FailureReason;
use crate::core::shell_quoted;
use bowline_engine::Error;
use bowline_engine::formats::run_settings::OrchestrateSettings;
use bowline_engine::git::Git;
use bowline_engine::git_locks::GitRecords;
use bowline_engine::process;
use bowline_engine::statefiles::ContentHash;
use bowline_words::Lang;
use bowline_words::message::Reason;
use phase_branches::PhaseBranches;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Folder of worktrees, relative to the project's root.
const WORKTREES: &str = "worktree";
/// Prefix of the branches of tasks.
const TASK_BRANCHES: &str = "bowline/";
/// Prefix of the names of tasks in branches and folders.
const TASK_NAMES: &str = "task-";
/// Timeout of a command of the project.
const COMMAND_SECONDS_MAX: u64 = 60 * 60;
/// Length of the hash that makes a name unique.
const HASH_LETTERS: usize = 8;

/// A task as the git side knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlace {
    pub id: String,
    pub title: String,
    pub phase: PhasePlace,
}

/// A phase as the git side knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhasePlace {
    pub number: u32,
    /// Branch that the phase's tasks land on.
    pub branch: String,
    /// Its worktree, for people to look at; none for phase 0, which is the target branch.
    pub folder: Option<PathBuf>,
}

/// The project's settings for worktrees and landings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoSettings {
    /// Commands, files and ports.
    pub orchestrate: OrchestrateSettings,
    /// Environment variables of those commands.
    pub environment: BTreeMap<String, String>,
    /// Language of the messages of merge commits.
    pub lang: Lang,
    /// Commands for pull requests, if work lands by them.
    pub pull_requests: Option<PullRequestCommands>,
}

/// An existing worktree of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptWorktree {
    pub name: String,
    /// Size on disk.
    pub bytes: u64,
}

/// The git repository of a run.
#[derive(Debug, Clone)]
pub struct RunRepo {
    git: Git,
    root: PathBuf,
    /// The project's root, relative to the top of the repository.
    prefix: PathBuf,
    /// Git's common folder, shared by all worktrees.
    common: PathBuf,
    /// The run's own folder, with the worktree for checks.
    side: PathBuf,
    /// Folder for temporary files of this thread.
    scratch: PathBuf,
    /// The branch that phases are merged into.
    target: String,
    /// Path of the plan, relative to the top of the repository; none if it is outside.
    plan: Option<String>,
    /// Key of the run in trailers and refs.
    run: String,
    phase_branches: PhaseBranches,
    /// Records of processes that may leave locks.
    records: GitRecords,
    settings: RepoSettings,
}

impl RunRepo {
    /// Opens the repository around a root; returns none if there is none.
    pub fn open(
        root: &Path,
        side: &Path,
        hold: Arc<File>,
        target: Option<String>,
        plan: Option<&Path>,
        run: &str,
        settings: RepoSettings,
    ) -> Result<Option<RunRepo>, Error> {
        let git = Git::for_folder(root).held_by(hold);
        let end = git.run(&["rev-parse", "--show-toplevel"])?;
        if end.code != Some(0) {
            // A repository that git refuses, for its owner or its settings, is still a repository.
            let marked = resolve_links(root)
                .ancestors()
                .any(|it| it.join(".git").exists());
            return match marked {
                true => end.into_stdout().map(|_| None),
                false => Ok(None),
            };
        }
        git.check_version()?;
        // The project may be a subfolder of its repository.
        let top = resolve_links(Path::new(&end.stdout));
        let prefix = resolve_links(root).strip_prefix(&top).map(Path::to_owned);
        let prefix = prefix.unwrap_or_default();
        let common =
            git.output_text(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let common = PathBuf::from(common);
        let records = GitRecords::open(&side.join("git"));
        let records = records.map_err(|error| git_error("make a folder", &error))?;
        let git = git.in_folder(&top).with_a_name();
        let git = git.recorded_in(records.clone(), &common);
        let target = match target {
            Some(target) => target,
            None => {
                let end = git.run(&["symbolic-ref", "--short", "--quiet", "HEAD"])?;
                if end.code != Some(0) {
                    return Err(Error::NoBranch {
                        path: root.to_owned(),
                    });
                }
                end.stdout
            }
        };
        if git
            .resolve_commit(&format!("refs/heads/{target}"))?
            .is_none()
        {
            return Err(Error::NoCommit {
                path: root.to_owned(),
                branch: target,
            });
        }
        std::fs::create_dir_all(side).map_err(|error| git_error("make a folder", &error))?;
        let plan = plan.map(resolve_links);
        let plan = plan
            .as_deref()
            .and_then(|plan| plan.strip_prefix(&top).ok());
        let plan = plan.map(|plan| plan.to_string_lossy().into_owned());
        Ok(Some(RunRepo {
            git,
            root: root.to_owned(),
            prefix,
            common,
            records,
            side: side.to_owned(),
            scratch: side.join("scratch"),
            target,
            plan,
            run: run.to_owned(),
            phase_branches: PhaseBranches::open(side, run),
            settings,
        }))
    }

    /// Prepares the repository for work: removes locks of the run's own killed git processes, has
    /// git ignore the run's files, and restores a plan that a killed landing set aside. Callers
    /// that only read skip this.
    pub fn prepare_repository(&self) -> Result<(), Error> {
        // No git of an earlier run is alive, as this run holds the lock that all of them hold.
        self.records.remove_dead_locks(&self.common);
        self.exclude_run_files()?;
        if let Some(tip) = self
            .git
            .resolve_commit(&format!("refs/heads/{}", self.target))?
        {
            self.record_target(&tip)?;
        }
        self.restore_left_edits()
    }

    /// Returns the same repository with temporary files of its own, for another thread.
    #[must_use]
    pub fn for_thread(&self, name: &str) -> RunRepo {
        RunRepo {
            scratch: self.side.join(format!("scratch-{name}")),
            ..self.clone()
        }
    }

    pub(super) fn git_records(&self) -> &GitRecords {
        &self.records
    }

    pub fn target_branch(&self) -> &str {
        &self.target
    }

    /// True if work lands by pull request.
    pub fn lands_by_pull_request(&self) -> bool {
        self.settings.pull_requests.is_some()
    }

    /// Has git ignore worktrees and state files in this clone.
    fn exclude_run_files(&self) -> Result<(), Error> {
        let path = self
            .git
            .output_text(&["rev-parse", "--git-path", "info/exclude"])?;
        let path = self.git.folder().join(path);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut more = String::new();
        for name in ["worktree/", ".claude/orchestrate*"] {
            let line = format!("/{}", self.prefix.join(name).display());
            if !text.lines().any(|known| known == line) {
                more.push_str(&line);
                more.push('\n');
            }
        }
        if more.is_empty() {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| git_error("make a folder", &error))?;
        }
        let gap = match text.is_empty() || text.ends_with('\n') {
            true => "",
            false => "\n",
        };
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path);
        file.and_then(|mut file| {
            std::io::Write::write_all(&mut file, format!("{gap}{more}").as_bytes())
        })
        .map_err(|error| git_error("write info/exclude", &error))
    }

    /// Returns the name of a task in branches and folders: its id, or the letters of it that fit
    /// and a hash.
    pub(super) fn task_name(id: &str) -> String {
        let plain: String = id
            .chars()
            .map(|letter| match letter {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => letter,
                _ => '-',
            })
            .collect();
        let plain = plain.trim_matches(['-', '.']).to_owned();
        match plain == id && !plain.ends_with(".lock") {
            true => format!("{TASK_NAMES}{plain}"),
            false => {
                let hash = ContentHash::of_bytes(id.as_bytes()).to_string();
                format!(
                    "{TASK_NAMES}{}-{}",
                    plain.replace('.', "-"),
                    &hash[..HASH_LETTERS]
                )
            }
        }
    }

    fn task_branch(id: &str) -> String {
        format!("{TASK_BRANCHES}{}", RunRepo::task_name(id))
    }

    /// The checkout that the run was started in.
    fn main_checkout(&self) -> PathBuf {
        self.git.folder().to_owned()
    }

    /// Returns the worktree of a task.
    pub fn worktree_of(&self, id: &str) -> PathBuf {
        self.root.join(WORKTREES).join(RunRepo::task_name(id))
    }

    /// Returns the project's folder in the worktree of a task.
    pub fn workspace_of(&self, id: &str) -> PathBuf {
        self.worktree_of(id).join(&self.prefix)
    }

    fn write_scratch_file(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.scratch.join(name);
        std::fs::create_dir_all(&self.scratch)
            .and_then(|()| std::fs::write(&path, content))
            .map_err(|error| git_error("write a scratch file", &error))?;
        Ok(path)
    }

    /// Returns all worktrees, each with the branch it is on.
    fn list_worktrees(&self) -> Result<Vec<(PathBuf, Option<String>)>, Error> {
        let text = self
            .git
            .output_text(&["worktree", "list", "--porcelain", "-z"])?;
        let mut all: Vec<(PathBuf, Option<String>)> = Vec::new();
        for field in text.split('\0') {
            if let Some(path) = field.strip_prefix("worktree ") {
                all.push((PathBuf::from(path), None));
            } else if let Some(branch) = field.strip_prefix("branch refs/heads/")
                && let Some(last) = all.last_mut()
            {
                last.1 = Some(branch.to_owned());
            }
        }
        Ok(all)
    }

    /// Runs a command of the project in a checkout; returns how it ended and the end of its output
    /// if it failed.
    fn run_project_command(
        &self,
        words: &[String],
        checkout: &Path,
    ) -> Result<Option<FailureReason>, Error> {
        let mut environment = self.settings.environment.clone();
        let own = self.worktree_variables(checkout).into_iter();
        environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        run_command(words, &checkout.join(&self.prefix), &environment)
    }
}

/// Runs a command in a folder; returns how it ended and the end of its output if it failed.
pub(super) fn run_command(
    words: &[String],
    folder: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Option<FailureReason>, Error> {
    let line = words
        .iter()
        .map(|word| shell_quoted(word))
        .collect::<Vec<_>>();
    let limit = Duration::from_secs(COMMAND_SECONDS_MAX);
    let ran = process::run_in(&line.join(" "), folder, environment, limit)?;
    Ok((ran.exit_code != 0).then(|| {
        let (command, code) = (words.join(" "), ran.exit_code);
        FailureReason::with_detail(Reason::CommandEnded { command, code }, &ran.output_tail)
    }))
}

/// Resolves links in a path; returns it unchanged if it does not exist.
fn resolve_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn git_error(what: &str, error: &std::io::Error) -> Error {
    Error::ProgramFailed {
        program: "git".into(),
        message: format!("cannot {what}: {error}"),
    }
}
