//! git in one folder, as a run of ours uses it: without the user's hooks, prompts and settings that could act.
//!
//! A git that is started here may outlive us. Each has the file that [`Git::held_by`] names as its standard input, so that a lock
//! on that file lasts until the last of them has ended: whoever comes after us waits for it.

use crate::error::Error;
use crate::git_locks::{GitRecords, folders_of, lock_in_the_way};
use crate::process::{GitEnd, git, git_holding};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name and address of commits in a repository whose user has none.
const NOBODY: [&str; 2] = ["bowline", "bowline@localhost"];

/// Where git stops to look for the repository of a folder.
const CEILING: &str = "GIT_CEILING_DIRECTORIES";

/// The oldest git that merges without a checkout on a base it is given: major and minor.
pub const GIT_MIN: (u32, u32) = (2, 40);

/// Tries of a command that meets locks of processes that are gone.
const LOCK_TRIES_MAX: usize = 8;

/// git in a folder.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    hold: Option<Arc<File>>,
    /// By which the locks of a git of ours that was killed are known, and the repository they are in.
    records: Option<(GitRecords, PathBuf)>,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    /// In a folder.
    pub fn at(folder: &Path) -> Git {
        Git {
            folder: folder.to_owned(),
            hold: None,
            records: None,
            variables: Vec::new(),
        }
    }

    /// The same, holding an open file while it runs.
    #[must_use]
    pub fn held_by(self, file: Arc<File>) -> Git {
        Git {
            hold: Some(file),
            ..self
        }
    }

    /// The same with a record of every process, by which the locks of those that were killed are known.
    #[must_use]
    pub fn recorded_in(self, records: GitRecords, common: &Path) -> Git {
        Git {
            records: Some((records, common.to_owned())),
            ..self
        }
    }

    /// Whether it can do all that runs need. One that does not tell its version is believed to.
    pub fn check_version(&self) -> Result<(), Error> {
        let found = self.text(&["version"])?;
        let mut numbers = found.trim_start_matches("git version ").split('.');
        let mut next = || numbers.next()?.parse().ok();
        match next().zip(next()) {
            Some(version) if version < GIT_MIN => Err(Error::GitTooOld { found }),
            _ => Ok(()),
        }
    }

    /// The same with a name for commits, where the user has set none.
    #[must_use]
    pub fn with_a_name(mut self) -> Git {
        if self.text(&["var", "GIT_COMMITTER_IDENT"]).is_err() {
            for (name, email) in [
                ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"),
                ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
            ] {
                self.variables.push((name, NOBODY[0].into()));
                self.variables.push((email, NOBODY[1].into()));
            }
        }
        self
    }

    /// The same with a further variable.
    #[must_use]
    pub fn with(&self, name: &'static str, value: impl Into<OsString>) -> Git {
        let mut other = self.clone();
        other.variables.push((name, value.into()));
        other
    }

    /// The same in another folder, the top of a checkout. Where it is none any more, none of the checkouts around it is taken for it.
    #[must_use]
    pub fn in_folder(&self, folder: &Path) -> Git {
        let mut other = Git {
            folder: folder.to_owned(),
            ..self.clone()
        };
        other.variables.retain(|(name, _)| *name != CEILING);
        let above = folder.parent().map(|above| (CEILING, above.into()));
        other.variables.extend(above);
        other
    }

    /// Where it runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs it to its end. A lock in its way whose owner is known and gone is removed.
    pub fn run(&self, arguments: &[&str]) -> Result<GitEnd, Error> {
        let Some((records, common)) = &self.records else {
            return self.run_once(arguments);
        };
        for _ in 1..LOCK_TRIES_MAX {
            let record = records.begin_git();
            let end = self.run_once(arguments);
            match &end {
                Ok(end) if end.code.is_none() => records.cut_off(&record),
                Ok(_) | Err(_) => records.ended(&record),
            }
            let end = end?;
            let lock = lock_in_the_way(&end.said).filter(|_| end.code != Some(0));
            match lock {
                Some(lock) if records.remove_stale(&lock, &folders_of(common)) => {}
                None if end.said.contains("/commondir: ")
                    && records.remove_half_made(common, &folders_of(common)) => {}
                Some(_) | None => return Ok(end),
            }
        }
        self.run_once(arguments)
    }

    fn run_once(&self, arguments: &[&str]) -> Result<GitEnd, Error> {
        let variables: Vec<(&str, &OsStr)> = self
            .variables
            .iter()
            .map(|(name, value)| (*name, value.as_os_str()))
            .collect();
        match &self.hold {
            None => git(&self.folder, arguments, &variables),
            Some(file) => {
                let file = file.try_clone().map_err(|error| Error::ProgramFailed {
                    program: "git".into(),
                    message: error.to_string(),
                })?;
                git_holding(&self.folder, arguments, &variables, file)
            }
        }
    }

    /// What it prints when it ends well.
    pub fn text(&self, arguments: &[&str]) -> Result<String, Error> {
        self.run(arguments)?.good()
    }

    /// Whether it ends with 0. What ends neither with 0 nor with 1 is an error.
    pub fn says(&self, arguments: &[&str]) -> Result<bool, Error> {
        let end = self.run(arguments)?;
        match end.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) | None => end.good().map(|_| true),
        }
    }

    /// The commit a name means, if it means one.
    pub fn commit(&self, name: &str) -> Result<Option<String>, Error> {
        let name = format!("{name}^{{commit}}");
        let end = self.run(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ])?;
        Ok((end.code == Some(0)).then_some(end.printed))
    }
}
