//! Runs git in one folder for Bowline: without the user's hooks, prompts and settings that could
//! have effects.
//!
//! A git that is started here may outlive this process. Its standard input is the file that
//! [`Git::held_by`] names, so that a lock on that file lasts until the last such git has ended: the
//! next process waits for it.

use crate::error::Error;
use crate::git_locks::{GitRecords, folders_of, lock_in_the_way};
use crate::process::{GitResult, run_git, run_git_holding};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name and address for commits in a repository whose user has none.
const NOBODY: [&str; 2] = ["bowline", "bowline@localhost"];

/// Variable that limits the search of git for a repository.
const CEILING: &str = "GIT_CEILING_DIRECTORIES";

/// Oldest supported git, as major and minor version: it merges without a checkout on a given base.
pub const GIT_MIN: (u32, u32) = (2, 40);

/// Most tries of a command that meets locks of dead processes.
const LOCK_TRIES_MAX: usize = 8;

#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    hold: Option<Arc<File>>,
    /// Records by which the locks of a killed git of ours are identified, and the shared folder of
    /// the repository.
    records: Option<(GitRecords, PathBuf)>,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Returns git for a folder.
    pub fn for_folder(folder: &Path) -> Git {
        Git {
            folder: folder.to_owned(),
            hold: None,
            records: None,
            variables: Vec::new(),
        }
    }

    /// Returns the same with an open file that is held while it runs.
    #[must_use]
    pub fn held_by(self, file: Arc<File>) -> Git {
        Git {
            hold: Some(file),
            ..self
        }
    }

    /// Returns the same with a record of every process, by which the locks of killed ones are
    /// identified.
    #[must_use]
    pub fn recorded_in(self, records: GitRecords, common: &Path) -> Git {
        Git {
            records: Some((records, common.to_owned())),
            ..self
        }
    }

    /// Fails if this git is too old. One that does not report its version passes.
    pub fn check_version(&self) -> Result<(), Error> {
        let found = self.output_text(&["version"])?;
        let mut numbers = found.trim_start_matches("git version ").split('.');
        let mut next = || numbers.next()?.parse().ok();
        match next().zip(next()) {
            Some(version) if version < GIT_MIN => Err(Error::GitTooOld { found }),
            _ => Ok(()),
        }
    }

    /// Returns the same with a name for commits, if the user has set none.
    #[must_use]
    pub fn with_a_name(mut self) -> Git {
        if self.output_text(&["var", "GIT_COMMITTER_IDENT"]).is_err() {
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

    /// Returns the same with a further variable.
    #[must_use]
    pub fn with_variable(&self, name: &'static str, value: impl Into<OsString>) -> Git {
        let mut other = self.clone();
        other.variables.push((name, value.into()));
        other
    }

    /// Returns the same for another folder, the top of a checkout. If that is no longer a checkout,
    /// none around it is used instead.
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

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs git to its end. A lock in its way whose owner is known to be dead is removed.
    pub fn run(&self, arguments: &[&str]) -> Result<GitResult, Error> {
        let Some((records, common)) = &self.records else {
            return self.run_once(arguments);
        };
        for _ in 1..LOCK_TRIES_MAX {
            let record = records.begin_git();
            let end = self.run_once(arguments);
            match &end {
                Ok(end) if end.code.is_none() => records.cut_off(&record),
                Ok(_) | Err(_) => records.remove_record(&record),
            }
            let end = end?;
            let lock = lock_in_the_way(&end.stderr).filter(|_| end.code != Some(0));
            match lock {
                Some(lock) if records.remove_stale(&lock, &folders_of(common)) => {}
                None if end.stderr.contains("/commondir: ")
                    && records.remove_half_made(common, &folders_of(common)) => {}
                Some(_) | None => return Ok(end),
            }
        }
        self.run_once(arguments)
    }

    fn run_once(&self, arguments: &[&str]) -> Result<GitResult, Error> {
        let variables: Vec<(&str, &OsStr)> = self
            .variables
            .iter()
            .map(|(name, value)| (*name, value.as_os_str()))
            .collect();
        match &self.hold {
            None => run_git(&self.folder, arguments, &variables),
            Some(file) => {
                let file = file.try_clone().map_err(|error| Error::ProgramFailed {
                    program: "git".into(),
                    message: error.to_string(),
                })?;
                run_git_holding(&self.folder, arguments, &variables, file)
            }
        }
    }

    /// Returns the output of a git that succeeds.
    pub fn output_text(&self, arguments: &[&str]) -> Result<String, Error> {
        self.run(arguments)?.into_stdout()
    }

    /// Returns true for exit code 0 and false for 1; any other end is an error.
    pub fn exits_zero(&self, arguments: &[&str]) -> Result<bool, Error> {
        let end = self.run(arguments)?;
        match end.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            Some(_) | None => end.into_stdout().map(|_| true),
        }
    }

    /// Returns the commit that a name refers to, if any. Fails if git was killed meanwhile.
    pub fn resolve_commit(&self, name: &str) -> Result<Option<String>, Error> {
        let name = format!("{name}^{{commit}}");
        let end = self.run(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ])?;
        Ok(end.success()?.map(|end| end.stdout))
    }
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        reason = "a test that cannot unwrap has failed, and says where"
    )]

    use crate::process::GitResult;

    /// A branch whose look-up was killed counted as gone, and stayed for good.
    #[test]
    fn a_git_that_was_killed_has_given_no_answer() {
        let end = |code| GitResult {
            code,
            bytes: Vec::new(),
            stdout: "tip".to_owned(),
            stderr: String::new(),
        };
        let tip = |code| end(code).success().map(|end| end.map(|end| end.stdout));
        assert_eq!(tip(Some(0)).unwrap().as_deref(), Some("tip"));
        assert_eq!(tip(Some(1)).unwrap(), None);
        assert!(tip(None).is_err());
    }
}
