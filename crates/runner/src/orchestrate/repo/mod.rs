//! The git side of a run: rooms to work in, landings, and the end of a phase.
//!
//! Branches are moved by their expected old value, and trees are merged without a checkout (`git
//! merge-tree`): a crash at any moment leaves either the old or the new state. What a worktree
//! holds is never removed before it is kept on a hidden ref.

mod forecast;
mod landed;
mod landing;
mod leases;
mod places;
mod plan_guard;
mod proposals;
mod regenerate;
mod rescue;
mod rooms;
mod trees;
mod ways_out;

pub use forecast::Forecasts;
pub(super) use landing::{check_red, evidence_red};
pub use proposals::Proposals;
pub use rooms::Prepared;
pub(super) use ways_out::with_way_out;

use crate::core::quoted;
use crate::core::why::Why;
use bowline_engine::Error;
use bowline_engine::formats::run_settings::Orchestrate;
use bowline_engine::git::Git;
use bowline_engine::git_locks::GitRecords;
use bowline_engine::process;
use bowline_engine::statefiles::ContentHash;
use bowline_words::Lang;
use bowline_words::message::Reason;
use places::Places;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The folder of worktrees below the root of a project.
const WORKTREES: &str = "worktree";
/// The beginning of the branches of tasks.
const TASK_BRANCHES: &str = "bowline/";
/// The beginning of their names.
const TASK_NAMES: &str = "task-";
/// How long a command of the project may take.
const COMMAND_SECONDS_MAX: u64 = 60 * 60;
/// Letters of the hash that makes a name unique.
const HASH_LETTERS: usize = 8;

/// A task, as far as git has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlace {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its phase.
    pub phase: PhasePlace,
}

/// A phase, as far as git has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhasePlace {
    /// Its number.
    pub number: u32,
    /// The branch its tasks land on.
    pub branch: String,
    /// Where it can be looked at; nothing for phase 0, which is the main line.
    pub folder: Option<PathBuf>,
}

/// What the project says about worktrees and landings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Customs {
    /// The commands, files and ports of its settings.
    pub settings: Orchestrate,
    /// The variables of those commands.
    pub environment: BTreeMap<String, String>,
    /// The language of messages of merge commits.
    pub lang: Lang,
    /// How work is proposed, where it does not land by itself.
    pub proposals: Option<Proposals>,
}

/// A worktree of a task that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// The disk it holds.
    pub bytes: u64,
}

/// The repository of a run.
#[derive(Debug, Clone)]
pub struct Repo {
    git: Git,
    root: PathBuf,
    /// The root, from the top of the repository.
    prefix: PathBuf,
    /// Git's folder, which all worktrees share.
    common: PathBuf,
    /// Our own folder: the worktree in which trees are checked.
    side: PathBuf,
    /// Files of the moment, of this one alone.
    scratch: PathBuf,
    /// The branch that phases are merged into.
    target: String,
    /// The plan, from the top of the repository, where it is in it.
    plan: Option<String>,
    /// By which commits of this run are known.
    run: String,
    places: Places,
    /// The records of processes that may leave locks.
    records: GitRecords,
    customs: Customs,
}

impl Repo {
    /// The repository around a root. Nothing where there is none.
    pub fn open(
        root: &Path,
        side: &Path,
        hold: Arc<File>,
        target: Option<String>,
        plan: Option<&Path>,
        run: &str,
        customs: Customs,
    ) -> Result<Option<Repo>, Error> {
        let git = Git::at(root).held_by(hold);
        let end = git.run(&["rev-parse", "--show-toplevel"])?;
        if end.code != Some(0) {
            // A repository that git refuses, for its owner or its settings, is one all the same.
            let marked = real(root).ancestors().any(|it| it.join(".git").exists());
            return match marked {
                true => end.good().map(|_| None),
                false => Ok(None),
            };
        }
        git.check_version()?;
        // A project may be a part of its repository.
        let top = real(Path::new(&end.printed));
        let prefix = real(root).strip_prefix(&top).map(Path::to_owned);
        let prefix = prefix.unwrap_or_default();
        let common = git.text(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let common = PathBuf::from(common);
        let records = GitRecords::open(&side.join("git"));
        let records = records.map_err(|error| failed("make a folder", &error))?;
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
                end.printed
            }
        };
        if git.commit(&format!("refs/heads/{target}"))?.is_none() {
            return Err(Error::NoCommit {
                path: root.to_owned(),
                branch: target,
            });
        }
        std::fs::create_dir_all(side).map_err(|error| failed("make a folder", &error))?;
        let plan = plan.map(real);
        let plan = plan
            .as_deref()
            .and_then(|plan| plan.strip_prefix(&top).ok());
        let plan = plan.map(|plan| plan.to_string_lossy().into_owned());
        Ok(Some(Repo {
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
            places: Places::open(side, run),
            customs,
        }))
    }

    /// Readies the repository for work: removes the locks of our own gits that were killed, has git
    /// ignore what is ours, and puts back the plan that a killed landing set aside. Whatever only
    /// reads leaves it away.
    pub fn prepare(&self) -> Result<(), Error> {
        // No git of an earlier run is alive, as this one has the file that all of them hold.
        self.records.sweep(&self.common);
        self.exclude()?;
        if let Some(tip) = self.git.commit(&format!("refs/heads/{}", self.target))? {
            self.record_target(&tip)?;
        }
        self.put_back_left()
    }

    /// The same for another thread.
    #[must_use]
    pub fn beside(&self, name: &str) -> Repo {
        Repo {
            scratch: self.side.join(format!("scratch-{name}")),
            ..self.clone()
        }
    }

    /// The records of processes that may leave locks in the repository.
    pub(super) fn records(&self) -> &GitRecords {
        &self.records
    }

    /// The branch that phases are merged into.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether work is proposed and others land it.
    pub fn proposes(&self) -> bool {
        self.customs.proposals.is_some()
    }

    /// What is ours is not the project's: worktrees and state files are ignored, by this clone
    /// alone.
    fn exclude(&self) -> Result<(), Error> {
        let path = self
            .git
            .text(&["rev-parse", "--git-path", "info/exclude"])?;
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
            std::fs::create_dir_all(folder).map_err(|error| failed("make a folder", &error))?;
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
        .map_err(|error| failed("write info/exclude", &error))
    }

    /// The name of a task in branches and folders: letters of its id, and a hash where they do not
    /// tell all of it.
    pub(super) fn name(id: &str) -> String {
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
                let hash = ContentHash::of(id.as_bytes()).to_string();
                format!(
                    "{TASK_NAMES}{}-{}",
                    plain.replace('.', "-"),
                    &hash[..HASH_LETTERS]
                )
            }
        }
    }

    fn task_branch(id: &str) -> String {
        format!("{TASK_BRANCHES}{}", Repo::name(id))
    }

    /// The checkout that the run was begun in.
    fn top(&self) -> PathBuf {
        self.git.folder().to_owned()
    }

    /// Where a task is worked on.
    pub fn room_of(&self, id: &str) -> PathBuf {
        self.root.join(WORKTREES).join(Repo::name(id))
    }

    /// The project in it.
    pub fn workplace_of(&self, id: &str) -> PathBuf {
        self.room_of(id).join(&self.prefix)
    }

    fn scratch(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.scratch.join(name);
        std::fs::create_dir_all(&self.scratch)
            .and_then(|()| std::fs::write(&path, content))
            .map_err(|error| failed("write a scratch file", &error))?;
        Ok(path)
    }

    /// The worktrees there are, each with the branch it is on.
    fn worktrees(&self) -> Result<Vec<(PathBuf, Option<String>)>, Error> {
        let text = self.git.text(&["worktree", "list", "--porcelain", "-z"])?;
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

    /// Runs a command of the project in a checkout; how it ended and the end of its output, where
    /// it fails.
    fn command(&self, words: &[String], checkout: &Path) -> Result<Option<Why>, Error> {
        let mut environment = self.customs.environment.clone();
        let own = self.variables(checkout).into_iter();
        environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        command(words, &checkout.join(&self.prefix), &environment)
    }
}

/// Runs a command in a folder; how it ended and the end of its output, where it fails.
pub(super) fn command(
    words: &[String],
    folder: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Option<Why>, Error> {
    let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>();
    let limit = Duration::from_secs(COMMAND_SECONDS_MAX);
    let ran = process::run_in(&line.join(" "), folder, environment, limit)?;
    Ok((ran.exit_code != 0).then(|| {
        let (command, code) = (words.join(" "), ran.exit_code);
        Why::with(Reason::CommandEnded { command, code }, &ran.output_tail)
    }))
}

/// A path without links, where it leads somewhere.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::ProgramFailed {
        program: "git".into(),
        message: format!("cannot {what}: {error}"),
    }
}
