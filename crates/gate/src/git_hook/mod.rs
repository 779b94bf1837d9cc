//! The git hooks: they hold scripts and other clients to the same gates.
//!
//! `pre-commit`, `pre-merge-commit` and `pre-push` check if work may be finished now. They can be
//! skipped (`commit --no-verify`) and do not see plumbing commands; git runs
//! `reference-transaction` whenever a branch is about to move, by any command.

use crate::advice::read_seal;
use crate::clients::ProcessStat;
use crate::decision::{GateDenial, GatedAction, decide_on_actions};
use crate::hook::GitRepository;
use crate::lang::Lang;
use crate::run_trust::{self, RunTrust};
use crate::shell::is_dry_push;
use crate::tested_tree::TestedTree;
use bowline_formats::hook::HookResponse;
use bowline_machines::develop::DevelopPhase;
use bowline_machines::named;
use bowline_words::message::{Denied, FinishingAct, Unjudged};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A longer list of references is not read to its end; the transaction is denied.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Processes between a hook and the git that runs it.
const ABOVE_MAX: usize = 8;

named! {
    /// A git hook that Bowline installs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum GitHook {
        /// Runs before a commit is made.
        PreCommit = "pre-commit",
        /// Runs before a merge is committed.
        PreMergeCommit = "pre-merge-commit",
        /// Runs before a push.
        PrePush = "pre-push",
        /// Runs before references move.
        ReferenceTransaction = "reference-transaction",
    }
}

/// Answers questions about the history that only git can. Asked only when a gate is closed and the
/// answer decides.
pub trait CommitHistory {
    /// Returns the commit that a name resolves to.
    fn resolve_commit(&self, name: &str) -> Option<String>;
    /// True if `older` is `newer` or one of its ancestors.
    fn is_ancestor(&self, older: &str, newer: &str) -> bool;
    /// True if a branch, local or remote, already contains the commit.
    fn is_known(&self, commit: &str) -> bool;
}

/// Decides if git may go on; `None` allows. `argument` is the first argument of the hook, `input`
/// the text git sent it.
pub fn judge_git(
    trust: &RunTrust,
    hook: GitHook,
    argument: Option<&str>,
    input: &str,
    history: &dyn CommitHistory,
) -> Option<GateDenial> {
    let command = |text: &str| FinishingAct::Command { text: text.into() };
    let what = match hook {
        GitHook::PreCommit => command("git commit"),
        GitHook::PreMergeCommit => command("git merge"),
        GitHook::PrePush => command("git push"),
        // Git calls the hook again after the commit of the transaction, and after its abort.
        GitHook::ReferenceTransaction if argument != Some("prepared") => return None,
        GitHook::ReferenceTransaction => FinishingAct::MoveBranch,
    };
    let denial = decide_on_actions(trust, &[GatedAction::Finish { what }], &mut |_| false)?;
    match hook {
        GitHook::PreCommit | GitHook::PreMergeCommit | GitHook::PrePush => Some(denial),
        GitHook::ReferenceTransaction => {
            let moves = input.lines().filter_map(ReferenceMove::parse_line);
            let mut landing = moves.filter(|one| one.brings_work(history));
            let landing = landing.next()?;
            Some(with_branch_name(denial, landing.name))
        }
    }
}

/// Answers git, which calls its hooks in `folder`. If a run exists, a call that cannot be judged is
/// denied.
pub fn answer_git(
    folder: &Path,
    hook: GitHook,
    argument: Option<&str>,
    input: impl Read,
) -> HookResponse {
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let trust = run_trust::assess_folder(folder);
        if trust == RunTrust::Nothing || hook == GitHook::PrePush && is_dry_run_push() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = input.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
        let whole = read.is_ok_and(|count| count as u64 <= INPUT_BYTES_MAX);
        if !whole {
            return Err(Unjudged::GitUnread);
        }
        let history = GitRepository {
            folder: folder.to_owned(),
        };
        let input = String::from_utf8_lossy(&bytes);
        let denial = judge_git(&trust, hook, argument, &input, &history)
            .or_else(|| judge_trees(&trust, hook, argument, &input, &history));
        Ok(denial.map(|denial| {
            let seal = trust.path().and_then(read_seal);
            denial.render_denial(None, Lang::from_environment(), seal.as_ref())
        }))
    }));
    let reason = match judged {
        Ok(Ok(None)) => return HookResponse::silent(),
        Ok(Ok(Some(text))) => text,
        Ok(Err(reason)) => render_failure(&Denied::CannotJudge { reason }),
        Err(_) => render_failure(&Denied::GateFailed),
    };
    HookResponse::deny(reason)
}

/// Denies a branch a tree other than the tested one. Only in PR: commits before that are work in
/// progress.
fn judge_trees(
    trust: &RunTrust,
    hook: GitHook,
    argument: Option<&str>,
    input: &str,
    repository: &GitRepository,
) -> Option<GateDenial> {
    let RunTrust::Run(believed) = trust else {
        return None;
    };
    let lands: Vec<(&str, &str)> = match hook {
        GitHook::PreCommit | GitHook::PreMergeCommit => Vec::new(),
        GitHook::ReferenceTransaction if argument != Some("prepared") => Vec::new(),
        GitHook::ReferenceTransaction => {
            let moves = input.lines().filter_map(ReferenceMove::parse_line);
            // A rebase moves HEAD over commits that no branch will contain.
            let branches = moves.filter(|one| one.name != "HEAD" && one.brings_work(repository));
            branches.map(|one| (one.name, one.to)).collect()
        }
        GitHook::PrePush => {
            let pushed = input.lines().filter_map(|line| {
                let mut words = line.split(' ').skip(1);
                let (commit, name) = (words.next()?, words.next()?);
                // A tag or a change for review lands as a branch does. Notes are about commits and
                // land nothing.
                (!name.starts_with("refs/notes/")).then_some((name, commit))
            });
            let gone = |commit: &str| commit.bytes().all(|digit| digit == b'0');
            pushed
                .filter(|(_, commit)| !gone(commit) && !repository.is_at_remote(commit))
                .collect()
        }
    };
    if lands.is_empty() || !believed.owned || believed.run.phase != DevelopPhase::Pr {
        return None;
    }
    let tested = TestedTree::of_run(&believed.path)?;
    lands.into_iter().find_map(|(name, commit)| {
        let changes = repository.untested_changes(commit, &tested)?;
        let name = name.to_owned();
        let what = match hook {
            GitHook::PrePush => FinishingAct::Push { name },
            _ => FinishingAct::MoveReference { name },
        };
        Some(GateDenial::OtherTree { what, changes })
    })
}

/// True if the push that runs this hook is a dry run: git calls the hook then as well, and does not
/// say so.
fn is_dry_run_push() -> bool {
    let mut next = ProcessStat::read_process(std::process::id());
    for _ in 0..ABOVE_MAX {
        let Some(above) = next
            .take()
            .and_then(|it| ProcessStat::read_process(it.parent))
        else {
            return false;
        };
        let line = std::fs::read(format!("/proc/{}/cmdline", above.pid)).unwrap_or_default();
        let words = line
            .split(|byte| *byte == 0)
            .map(|it| String::from_utf8_lossy(it).into_owned());
        let words: Vec<String> = words.filter(|it| !it.is_empty()).collect();
        if words
            .first()
            .is_some_and(|it| it.rsplit('/').next() == Some("git"))
        {
            return is_dry_push(&words);
        }
        next = Some(above);
    }
    false
}

fn render_failure(denied: &Denied) -> String {
    format!("{}\n", denied.say(Lang::from_environment()))
}

fn with_branch_name(denial: GateDenial, branch: &str) -> GateDenial {
    match denial {
        GateDenial::Closed { phase, missing, .. } => {
            let name = branch.to_owned();
            let what = FinishingAct::MoveReference { name };
            GateDenial::Closed {
                phase,
                action: GatedAction::Finish { what },
                missing,
            }
        }
        other @ (GateDenial::Person { .. }
        | GateDenial::State { .. }
        | GateDenial::Missing { .. }
        | GateDenial::OtherTree { .. }
        | GateDenial::Damaged { .. }) => other,
    }
}

/// One line of a reference transaction: a name and its new value.
#[derive(Debug, Clone, Copy)]
struct ReferenceMove<'l> {
    to: &'l str,
    name: &'l str,
}

impl<'l> ReferenceMove<'l> {
    /// Parses a line. Returns only branches, and a detached `HEAD`.
    fn parse_line(line: &'l str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        // The caller may leave out the old value; where it matters, git is asked.
        let _from = words.next()?;
        let (to, name) = (words.next()?, words.next()?);
        let counts = name == "HEAD" || name.starts_with("refs/heads/");
        // `ref:…` makes a name a symbolic reference, which moves no work.
        (counts && !to.starts_with("ref:")).then_some(ReferenceMove { to, name })
    }

    /// True if the move lands new work. Moving back, deleting a branch and a new branch on old work
    /// do not.
    fn brings_work(self, history: &dyn CommitHistory) -> bool {
        if self.to.bytes().all(|digit| digit == b'0') {
            return false;
        }
        match history.resolve_commit(self.name) {
            Some(now) if self.name != "HEAD" => !history.is_ancestor(self.to, &now),
            // A new branch, or a detached HEAD.
            Some(_) | None => !history.is_known(self.to),
        }
    }
}

#[cfg(test)]
mod tests;
