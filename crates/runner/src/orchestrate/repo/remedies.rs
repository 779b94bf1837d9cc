//! Adds to each obstacle the command that removes it or restores what was lost.

use super::{PhasePlace, RunRepo};
use crate::core::failure::FailureReason;
use crate::core::shell_quoted;
use bowline_engine::Error;
use bowline_engine::git_locks::lock_in_the_way;
use bowline_words::message::Reason;
use std::path::Path;

/// Command that continues a run which ended while it waited.
const RESUME_COMMAND: &str = "bowline orchestrate run";

impl RunRepo {
    fn target_ref(&self) -> String {
        format!("refs/bowline/target/{}", self.run)
    }

    /// Records the tip of the target branch, so that a deleted branch can be restored.
    pub(super) fn record_target(&self, commit: &str) -> Result<(), Error> {
        let name = self.target_ref();
        self.git
            .output_text(&["update-ref", &name, commit])
            .map(drop)
    }

    /// Returns the command that restores a missing branch.
    fn restore_branch_command(&self, branch: &str) -> String {
        let at = match branch == self.target {
            true => self.target_ref(),
            false => self.target.clone(),
        };
        let root = shell_quoted(&self.root.to_string_lossy());
        format!(
            "git -C {root} branch {} {}",
            shell_quoted(branch),
            shell_quoted(&at)
        )
    }

    /// Returns the command that brings commits onto a branch.
    pub(super) fn merge_onto_command(
        &self,
        branch: &str,
        commits: &[&str],
    ) -> Result<String, Error> {
        let root = shell_quoted(&self.root.to_string_lossy());
        let name = shell_quoted(branch);
        let merge = |commits: &[&str]| {
            let folder = shell_quoted(&self.side.join("back").to_string_lossy());
            let commits = commits.join(" ");
            format!(
                "git -C {root} worktree add {folder} {name} && git -C {folder} merge {commits}; git -C {root} worktree remove {folder}"
            )
        };
        let on_it = self.list_worktrees()?.into_iter();
        let mut on_it = on_it.filter(|(_, on)| on.as_deref() == Some(branch));
        let tip = self.git.resolve_commit(&format!("refs/heads/{branch}"))?;
        Ok(match (tip, commits) {
            (None, []) => self.restore_branch_command(branch),
            (None, [one]) => format!("git -C {root} branch {name} {one}"),
            (None, [one, more @ ..]) => {
                format!("git -C {root} branch {name} {one} && {}", merge(more))
            }
            (Some(tip), commits) => match (on_it.next(), commits) {
                (Some((folder, _)), commits) => {
                    let folder = shell_quoted(&folder.to_string_lossy());
                    format!("git -C {folder} merge {}", commits.join(" "))
                }
                (None, [one])
                    if self
                        .git
                        .exits_zero(&["merge-base", "--is-ancestor", &tip, one])? =>
                {
                    format!("git -C {root} branch --force {name} {one}")
                }
                (None, commits) => merge(commits),
            },
        })
    }

    /// Converts an error of git; a lock of others and a missing branch come with the command that
    /// helps.
    pub(in crate::orchestrate) fn explain_error(&self, error: &Error) -> FailureReason {
        match error {
            Error::NoCommit { branch, .. } => {
                let (branch, command) = (branch.clone(), self.restore_branch_command(branch));
                Reason::BranchGone { branch, command }.into()
            }
            error => lock_reason(error).unwrap_or_else(|| error.into()),
        }
    }

    /// Returns why the worktree of a phase does not land as it is, with the command that commits
    /// its changes.
    pub fn uncommitted_reason(&self, phase: &PhasePlace, folder: &Path) -> Reason {
        let at = shell_quoted(&folder.to_string_lossy());
        let number = phase.number;
        let command =
            format!("git -C {at} add --all && git -C {at} commit --message 'Phase {number}'");
        let folder = folder.display().to_string();
        Reason::Uncommitted { folder, command }
    }
}

/// Adds the command that continues the run, unless the reason names a command itself.
pub(in crate::orchestrate) fn with_resume_command(why: FailureReason) -> FailureReason {
    if names_command(&why.reason) {
        return why;
    }
    let command = RESUME_COMMAND.to_owned();
    let reason = Reason::GoesOn {
        why: Box::new(why.reason),
        command,
    };
    FailureReason { reason, ..why }
}

fn names_command(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::InTheWay { .. }
            | Reason::LandingsGone { .. }
            | Reason::BranchApart { .. }
            | Reason::BranchGone { .. }
            | Reason::Uncommitted { .. }
            | Reason::ProposalUnknown { .. }
            | Reason::GoesOn { .. }
    )
}

/// Returns what git finds in the way in a checkout, with the command that removes it.
pub(super) fn obstacle_reason(folder: &Path, said: &str) -> FailureReason {
    let command = match lock_in_the_way(said) {
        Some(lock) => format!("rm {}", shell_quoted(&lock.to_string_lossy())),
        None => format!(
            "git -C {} stash push --include-untracked",
            shell_quoted(&folder.to_string_lossy())
        ),
    };
    let said = format!("{}: {}", folder.display(), first_lines(said));
    Reason::InTheWay { said, command }.into()
}

/// Returns the lock of others that git met, with the command that removes it.
fn lock_reason(error: &Error) -> Option<FailureReason> {
    let Error::ProgramFailed { message, .. } = error else {
        return None;
    };
    let lock = lock_in_the_way(message)?;
    let command = format!("rm {}", shell_quoted(&lock.to_string_lossy()));
    let said = first_lines(message);
    Some(Reason::InTheWay { said, command }.into())
}

pub(super) fn first_lines(text: &str) -> String {
    text.lines()
        .take(6)
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_words::Lang;

    #[test]
    fn every_wait_names_a_command() {
        let text = String::from;
        let (branch, command) = (text("main"), text("git COMMAND"));
        let git = |said: &str| {
            FailureReason::from(Error::ProgramFailed {
                program: "git".into(),
                message: said.into(),
            })
        };
        let own = [
            Reason::InTheWay {
                said: text("a file."),
                command: command.clone(),
            },
            Reason::LandingsGone {
                ids: text("T1.1"),
                branch: branch.clone(),
                command: command.clone(),
            },
            Reason::BranchApart {
                branch: branch.clone(),
                remote: text("origin"),
                command: command.clone(),
            },
            Reason::BranchGone {
                branch: branch.clone(),
                command: command.clone(),
            },
            Reason::Uncommitted {
                folder: text("/p"),
                command: command.clone(),
            },
            Reason::ProposalUnknown {
                id: text("T1.1"),
                command: command.clone(),
            },
        ];
        let own = own.map(|reason| (FailureReason::from(reason), &*command));
        let others = [
            Reason::BranchMoves {
                branch: branch.clone(),
            }
            .into(),
            Reason::BranchRuns { branch }.into(),
            git("fatal: no space left"),
            FailureReason::with_detail(
                Reason::CommandEnded {
                    command: text("gh pr view"),
                    code: 1,
                },
                "no such host",
            ),
        ];
        let others = others.map(|why| (why, RESUME_COMMAND));
        for (why, command) in own.into_iter().chain(others) {
            for lang in [Lang::En, Lang::Ko] {
                let line = with_resume_command(why.clone()).render_line(lang);
                assert!(line.contains(command), "{line}");
            }
        }
    }
}
