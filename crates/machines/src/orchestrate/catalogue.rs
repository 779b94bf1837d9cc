//! The representative states and commands of a run, seen from the second task of a first phase of
//! three.

use super::{
    Command, Effect, NodeId, NodeSpec, NodeStatus, OrchestrateMachine, OrchestrationEvent,
    OrchestrationLimits, OrchestrationState, PhaseEnd, RunFacts, TaskFacts, TaskGraph,
};
use crate::kernel::Actor;
use crate::table::{MachineCatalogue, PAST_TIME};
use std::sync::Arc;

const RETRY_LIMIT: u32 = 3;
const FIRST_PHASE: [(&str, NodeStatus); 4] = [
    ("T1.1", NodeStatus::Completed),
    ("T1.2", NodeStatus::Completed),
    ("T1.3", NodeStatus::Completed),
    ("T1.9", NodeStatus::Completed),
];

impl MachineCatalogue for OrchestrateMachine {
    const KIND: &'static str = "orchestrate";

    fn sample_states() -> Vec<(&'static str, OrchestrationState)> {
        use NodeStatus::{Completed, Failed, InProgress};
        let first = ("T1.1", Completed);
        vec![
            ("pending", sample_run(&[], 0)),
            ("pending, its need in progress", behind_one_in_progress()),
            ("ready", sample_run(&[first], 0)),
            (
                "ready, no free place",
                sample_run(&[first, ("T1.9", InProgress)], 0),
            ),
            ("in progress", sample_run(&[first, ("T1.2", InProgress)], 0)),
            (
                "in progress, begun ahead",
                sample_run(&[("T1.1", InProgress), ("T1.2", InProgress)], 0),
            ),
            (
                "in progress, last run",
                sample_run(&[first, ("T1.2", InProgress)], RETRY_LIMIT - 1),
            ),
            (
                "failed",
                sample_run(&[first, ("T1.2", Failed)], RETRY_LIMIT),
            ),
            ("blocked", sample_run(&[("T1.1", Failed)], 0)),
            ("completed", sample_run(&[first, ("T1.2", Completed)], 0)),
            ("phase complete", sample_run(&FIRST_PHASE, 0)),
            ("all done", all_done()),
        ]
    }

    fn sample_commands() -> Vec<(&'static str, Command)> {
        let id = || NodeId::from("T1.2");
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

    fn state_label(run: &OrchestrationState) -> String {
        if run.all_done() {
            return "all done".into();
        }
        if run.current_phase() > 1 {
            return "next phase".into();
        }
        if run
            .find_phase(1)
            .is_some_and(super::PhaseState::is_complete)
        {
            return "phase complete".into();
        }
        let status = run.find_node("T1.2").map(|node| node.status);
        status.map_or("none", NodeStatus::name).replace('_', " ")
    }

    fn describe_effect(effect: &Effect) -> String {
        match effect {
            Effect::TickTask(id) => format!("tick {id}"),
            Effect::BecameReady(ids) => format!("ready: {}", ids.join(" ")),
            Effect::Blocked(ids) => format!("blocked: {}", ids.join(" ")),
            Effect::PhaseReached(phase) => format!("phase {phase} begins"),
            Effect::Notify(event) => match event {
                OrchestrationEvent::TaskDone(id) => format!("tell: {id} done"),
                OrchestrationEvent::TaskFailed(id) => format!("tell: {id} failed"),
                OrchestrationEvent::PhaseDone(phase) => format!("tell: phase {phase} done"),
                OrchestrationEvent::PhaseNotLanded(phase) => {
                    format!("tell: phase {phase} did not land")
                }
                OrchestrationEvent::AllDone => "tell: all done".into(),
                OrchestrationEvent::Stalled => "tell: stalled".into(),
            },
        }
    }
}

/// Three tasks in a row, a fourth beside them, and one of the next phase behind the third.
fn sample_graph() -> Arc<TaskGraph> {
    let spec = |id: &str, phase, dependencies: &[&str]| NodeSpec {
        id: id.into(),
        phase,
        section: 0,
        dependencies: dependencies.iter().map(|&id| id.into()).collect(),
    };
    let graph = TaskGraph::new(vec![
        spec("T1.1", 1, &[]),
        spec("T1.2", 1, &["T1.1"]),
        spec("T1.3", 1, &["T1.2"]),
        spec("T1.9", 1, &["T1.1"]),
        spec("T2.1", 2, &["T1.3"]),
    ]);
    #[expect(clippy::expect_used, reason = "the graph above is sound")]
    Arc::new(graph.expect("a sound graph"))
}

fn sample_facts(claims: &[(&str, NodeStatus)], attempts: u32) -> RunFacts {
    let trace = TaskFacts {
        attempts,
        started_at: Some(PAST_TIME),
        error: (attempts > 0).then(|| "tests red".into()),
    };
    RunFacts {
        config: OrchestrationLimits {
            max_parallel: 1,
            retry_limit: RETRY_LIMIT,
        },
        claims: claims.iter().map(|&(id, it)| (id.into(), it)).collect(),
        traces: vec![("T1.2".into(), trace)],
        ..RunFacts::starting_at(PAST_TIME)
    }
}

fn sample_run(claims: &[(&str, NodeStatus)], attempts: u32) -> OrchestrationState {
    OrchestrationState::from_facts(sample_graph(), &sample_facts(claims, attempts))
}

fn behind_one_in_progress() -> OrchestrationState {
    let run = sample_run(&[("T1.1", NodeStatus::InProgress)], 0);
    let config = OrchestrationLimits {
        max_parallel: 2,
        ..run.run_limits()
    };
    run.with_limits(config)
}

fn all_done() -> OrchestrationState {
    let mut facts = sample_facts(&FIRST_PHASE, 0);
    facts.claims.push(("T2.1".into(), NodeStatus::Completed));
    facts.current_phase = Some(3);
    OrchestrationState::from_facts(sample_graph(), &facts)
}
