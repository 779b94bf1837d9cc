//! The representative states and commands of a run, seen from the second task of a first phase of
//! three.

use super::{
    Command, Config, Effect, Event, Facts, Graph, Id, NodeSpec, OrchestrateMachine, PhaseEnd, Run,
    Status, Trace,
};
use crate::kernel::Actor;
use crate::table::{Catalogue, EARLIER};
use std::sync::Arc;

const RETRY_LIMIT: u32 = 3;
const FIRST_PHASE: [(&str, Status); 4] = [
    ("T1.1", Status::Completed),
    ("T1.2", Status::Completed),
    ("T1.3", Status::Completed),
    ("T1.9", Status::Completed),
];

impl Catalogue for OrchestrateMachine {
    const KIND: &'static str = "orchestrate";

    fn states() -> Vec<(&'static str, Run)> {
        use Status::{Completed, Failed, InProgress};
        let first = ("T1.1", Completed);
        vec![
            ("pending", run(&[], 0)),
            ("pending, its need in progress", behind_one_in_progress()),
            ("ready", run(&[first], 0)),
            (
                "ready, no free place",
                run(&[first, ("T1.9", InProgress)], 0),
            ),
            ("in progress", run(&[first, ("T1.2", InProgress)], 0)),
            (
                "in progress, begun ahead",
                run(&[("T1.1", InProgress), ("T1.2", InProgress)], 0),
            ),
            (
                "in progress, last run",
                run(&[first, ("T1.2", InProgress)], RETRY_LIMIT - 1),
            ),
            ("failed", run(&[first, ("T1.2", Failed)], RETRY_LIMIT)),
            ("blocked", run(&[("T1.1", Failed)], 0)),
            ("completed", run(&[first, ("T1.2", Completed)], 0)),
            ("phase complete", run(&FIRST_PHASE, 0)),
            ("all done", all_done()),
        ]
    }

    fn commands() -> Vec<(&'static str, Command)> {
        let id = || Id::from("T1.2");
        let fail = |retry| Command::Fail {
            id: id(),
            reason: Some("tests red".into()),
            retry,
        };
        let force = |by| Command::ForceComplete {
            id: id(),
            by,
            reason: None,
        };
        let finish = |phase, end| Command::PhaseFinish {
            phase,
            end,
            worktree: Some("worktree/phase-2-work".into()),
        };
        let merged = |commit: &str| PhaseEnd::Merged {
            commit: commit.into(),
        };
        vec![
            ("start", Command::Start { id: id() }),
            ("start, unknown", Command::Start { id: "T9.9".into() }),
            ("start ahead", Command::StartAhead { id: id() }),
            ("recall", Command::Recall { id: id() }),
            ("complete", Command::Complete { id: id() }),
            ("fail", fail(false)),
            ("fail --retry", fail(true)),
            ("force-complete", force(Actor::Person)),
            ("force-complete by an agent", force(Actor::Agent)),
            ("retry", Command::Retry { id: id() }),
            ("resume, process gone", Command::Lost { gone: vec![id()] }),
            ("phase finish 1", finish(1, merged("0a1b2c3"))),
            ("phase finish 1, no git", finish(1, PhaseEnd::NoGit)),
            ("phase finish 1, checks red", finish(1, PhaseEnd::ChecksRed)),
            ("phase finish 1, conflict", finish(1, PhaseEnd::Conflict)),
            ("phase finish 1, no commit", finish(1, merged("main"))),
            ("phase finish 2", finish(2, merged("0a1b2c3"))),
        ]
    }

    fn label(run: &Run) -> String {
        if run.all_done() {
            return "all done".into();
        }
        if run.current_phase() > 1 {
            return "next phase".into();
        }
        if run.phase(1).is_some_and(super::Phase::complete) {
            return "phase complete".into();
        }
        let status = run.node("T1.2").map(|node| node.status);
        status.map_or("none", Status::name).replace('_', " ")
    }

    fn effect(effect: &Effect) -> String {
        match effect {
            Effect::TickTask(id) => format!("tick {id}"),
            Effect::BecameReady(ids) => format!("ready: {}", ids.join(" ")),
            Effect::Blocked(ids) => format!("blocked: {}", ids.join(" ")),
            Effect::PhaseReached(phase) => format!("phase {phase} begins"),
            Effect::Notify(event) => match event {
                Event::TaskDone(id) => format!("tell: {id} done"),
                Event::TaskFailed(id) => format!("tell: {id} failed"),
                Event::PhaseDone(phase) => format!("tell: phase {phase} done"),
                Event::PhaseNotLanded(phase) => format!("tell: phase {phase} did not land"),
                Event::AllDone => "tell: all done".into(),
                Event::Stalled => "tell: stalled".into(),
            },
        }
    }
}

/// Three tasks in a row, a fourth beside them, and one of the next phase behind the third.
fn graph() -> Arc<Graph> {
    let spec = |id: &str, phase, dependencies: &[&str]| NodeSpec {
        id: id.into(),
        phase,
        section: 0,
        dependencies: dependencies.iter().map(|&id| id.into()).collect(),
    };
    let graph = Graph::new(vec![
        spec("T1.1", 1, &[]),
        spec("T1.2", 1, &["T1.1"]),
        spec("T1.3", 1, &["T1.2"]),
        spec("T1.9", 1, &["T1.1"]),
        spec("T2.1", 2, &["T1.3"]),
    ]);
    #[expect(clippy::expect_used, reason = "the graph above is sound")]
    Arc::new(graph.expect("a sound graph"))
}

fn facts(claims: &[(&str, Status)], attempts: u32) -> Facts {
    let trace = Trace {
        attempts,
        started_at: Some(EARLIER),
        error: (attempts > 0).then(|| "tests red".into()),
    };
    Facts {
        config: Config {
            max_parallel: 1,
            retry_limit: RETRY_LIMIT,
        },
        claims: claims.iter().map(|&(id, it)| (id.into(), it)).collect(),
        traces: vec![("T1.2".into(), trace)],
        ..Facts::none(EARLIER)
    }
}

fn run(claims: &[(&str, Status)], attempts: u32) -> Run {
    Run::from_facts(graph(), &facts(claims, attempts))
}

fn behind_one_in_progress() -> Run {
    let run = run(&[("T1.1", Status::InProgress)], 0);
    let config = Config {
        max_parallel: 2,
        ..run.config()
    };
    run.with_config(config)
}

fn all_done() -> Run {
    let mut facts = facts(&FIRST_PHASE, 0);
    facts.claims.push(("T2.1".into(), Status::Completed));
    facts.current_phase = Some(3);
    Run::from_facts(graph(), &facts)
}
