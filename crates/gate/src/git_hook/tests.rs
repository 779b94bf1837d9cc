//! Tests of the moves of references that bring work, on a history made up for them.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use crate::run_trust::TrustedRun;
use bowline_machines::Timestamp;
use bowline_machines::develop::{DevelopPhase, DevelopRunState, Gate, OpenGates};

const NONE: &str = "0000000000000000000000000000000000000000";

/// A history `a <- b <- c` on main, `r` only at a remote, `n` nowhere yet.
struct Made;

impl CommitHistory for Made {
    fn resolve_commit(&self, name: &str) -> Option<String> {
        match name {
            "refs/heads/main" | "HEAD" => Some("c".into()),
            _ => None,
        }
    }

    fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        "abc".contains(older) && older <= newer
    }

    fn is_known(&self, commit: &str) -> bool {
        "abcr".contains(commit)
    }
}

fn run(phase: DevelopPhase, open: &[Gate]) -> RunTrust {
    let mut run = DevelopRunState::new("a feature", Timestamp(0));
    run.phase = phase;
    run.gates = OpenGates::from_predicate(|gate| open.contains(&gate));
    RunTrust::Run(Box::new(TrustedRun {
        path: "/w/.develop-workflow/state.json".into(),
        run,
        owned: true,
        distrusted: Vec::new(),
        sequence: 1,
    }))
}

fn held(trust: &RunTrust, line: &str) -> bool {
    let hook = GitHook::ReferenceTransaction;
    judge_git(trust, hook, Some("prepared"), line, &Made).is_some()
}

#[test]
fn work_that_lands_is_held_while_gates_are_closed() {
    let closed = run(DevelopPhase::Implement, &[]);
    for line in [
        "c n refs/heads/main",
        &format!("{NONE} n refs/heads/main"),
        &format!("{NONE} n refs/heads/new"),
        "c r refs/heads/main",
        "c n HEAD",
        &format!("{NONE} n refs/tags/v1\n{NONE} n refs/heads/new"),
    ] {
        assert!(held(&closed, line), "{line}");
    }
}

#[test]
fn what_brings_no_work_goes_on() {
    let closed = run(DevelopPhase::Implement, &[]);
    for line in [
        &format!("c {NONE} refs/heads/main"),
        "c a refs/heads/main",
        &format!("{NONE} b refs/heads/new"),
        &format!("{NONE} r refs/heads/new"),
        "c a HEAD",
        "c r HEAD",
        &format!("{NONE} n refs/stash"),
        "c n refs/remotes/origin/main",
        "ref:refs/heads/main ref:refs/heads/new HEAD",
        "",
        "nonsense",
    ] {
        assert!(!held(&closed, line), "{line}");
    }
}

#[test]
fn gates_decide_as_they_do_for_an_agent() {
    use Gate::{ArchitectVerified, ReReviewClean, ReviewCleanPass};
    let line = "c n refs/heads/main";
    assert!(!held(&RunTrust::Nothing, line));
    for phase in [
        DevelopPhase::Design,
        DevelopPhase::Review,
        DevelopPhase::Done,
    ] {
        assert!(!held(&run(phase, &[]), line), "{}", phase.name());
    }
    assert!(!held(
        &run(DevelopPhase::Implement, &[ReviewCleanPass]),
        line
    ));
    assert!(held(
        &run(DevelopPhase::Pr, &[ReviewCleanPass, ArchitectVerified]),
        line
    ));
    let all = run(
        DevelopPhase::Pr,
        &[ReviewCleanPass, ArchitectVerified, ReReviewClean],
    );
    assert!(!held(&all, line));
    let missing = RunTrust::Missing {
        path: "/w/.develop-workflow/state.json".into(),
        last: None,
    };
    assert!(held(&missing, line));
    for hook in [
        GitHook::PreCommit,
        GitHook::PreMergeCommit,
        GitHook::PrePush,
    ] {
        assert!(judge_git(&run(DevelopPhase::Implement, &[]), hook, None, "", &Made).is_some());
        assert!(judge_git(&all, hook, None, "", &Made).is_none());
    }
}

#[test]
fn git_asks_three_times_and_is_answered_once() {
    let closed = run(DevelopPhase::Implement, &[]);
    let hook = GitHook::ReferenceTransaction;
    for state in ["preparing", "committed", "aborted"] {
        let line = "c n refs/heads/main";
        assert_eq!(judge_git(&closed, hook, Some(state), line, &Made), None);
    }
    let denial = judge_git(
        &closed,
        hook,
        Some("prepared"),
        "c n refs/heads/main",
        &Made,
    );
    let denial = denial.unwrap();
    let text = denial.render_denial(None, Lang::En, None);
    assert!(text.contains("moving refs/heads/main"), "{text}");
    let text = denial.render_denial(None, Lang::Ko, None);
    assert!(text.contains("대상: refs/heads/main 이동"), "{text}");
}
