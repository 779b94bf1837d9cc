//! Random graphs under random commands, against an oracle that computes everything anew; and a run
//! of full size.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use crate::kernel::{Machine as _, Timestamp};
use proptest::prelude::*;

const NOON: Timestamp = Timestamp(1_769_000_000);

/// The direct fate of a task, without what follows from other tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Idle,
    Running,
    Done,
    Failed,
}

/// A run computed the slow way: every question is answered by looking at all tasks.
struct Oracle {
    phases: Vec<u32>,
    needs: Vec<Vec<usize>>,
    fates: Vec<Fate>,
    landed: Vec<u32>,
}

impl Oracle {
    fn current(&self) -> Option<u32> {
        let mut open: Vec<u32> = self.phases.clone();
        open.retain(|phase| !self.landed.contains(phase));
        open.into_iter().min()
    }

    fn blocked(&self, node: usize) -> bool {
        self.fates[node] == Fate::Idle
            && self.needs[node]
                .iter()
                .any(|&need| self.fates[need] == Fate::Failed || self.blocked(need))
    }

    fn status(&self, node: usize) -> NodeStatus {
        match self.fates[node] {
            Fate::Running => NodeStatus::InProgress,
            Fate::Done => NodeStatus::Completed,
            Fate::Failed => NodeStatus::Failed,
            Fate::Idle if self.blocked(node) => NodeStatus::Blocked,
            Fate::Idle => {
                let free = self.needs[node]
                    .iter()
                    .all(|&need| self.fates[need] == Fate::Done);
                if free && self.current() == Some(self.phases[node]) {
                    NodeStatus::Ready
                } else {
                    NodeStatus::Pending
                }
            }
        }
    }

    fn complete(&self, phase: u32) -> bool {
        let mut nodes = self.phases.iter().zip(&self.fates);
        nodes.all(|(&of, &fate)| of != phase || fate == Fate::Done)
    }

    fn next(&self, ids: &[NodeId], max_parallel: u32) -> NextWork {
        let Some(phase) = self.current() else {
            return NextWork::AllDone;
        };
        if self.complete(phase) {
            return NextWork::PhaseDone(phase);
        }
        let with = |status| -> Vec<NodeId> {
            let nodes = (0..ids.len()).filter(|&node| self.status(node) == status);
            nodes.map(|node| ids[node].clone()).collect()
        };
        let running = with(NodeStatus::InProgress).len();
        let mut ready = with(NodeStatus::Ready);
        if max_parallel > 0 {
            ready.truncate((max_parallel as usize).saturating_sub(running));
        }
        if !ready.is_empty() {
            NextWork::Ready(ready)
        } else if running > 0 {
            NextWork::Wait
        } else {
            let mut stuck = with(NodeStatus::Failed);
            stuck.extend(with(NodeStatus::Blocked));
            NextWork::Stalled(stuck)
        }
    }
}

/// A phase for every task, and its dependencies: any of an earlier phase, or one before it in its
/// own.
#[derive(Debug, Clone)]
struct Shape {
    phases: Vec<u32>,
    sections: Vec<u32>,
    needs: Vec<Vec<usize>>,
    max_parallel: u32,
}

impl Shape {
    fn ids(&self) -> Vec<NodeId> {
        let id = |(node, phase): (usize, &u32)| format!("T{phase}.{node}").into();
        self.phases.iter().enumerate().map(id).collect()
    }

    /// Returns the tasks that each task waits for: its dependencies, and the earlier sections of
    /// its phase, unless one of these needs a later one.
    fn waits_for(&self) -> Vec<Vec<usize>> {
        let earlier = |one: usize, other: usize| {
            self.phases[one] == self.phases[other] && self.sections[one] < self.sections[other]
        };
        let count = self.phases.len();
        let mixed = |phase: u32| {
            let of_it = (0..count).filter(|&node| self.phases[node] == phase);
            let mut needs =
                of_it.flat_map(|node| self.needs[node].iter().map(move |&it| (node, it)));
            needs.any(|(node, need)| earlier(node, need))
        };
        let all = |node: usize| {
            let mut all = self.needs[node].clone();
            if !mixed(self.phases[node]) {
                all.extend((0..count).filter(|&other| earlier(other, node)));
            }
            all
        };
        (0..count).map(all).collect()
    }

    fn graph(&self) -> Arc<TaskGraph> {
        let ids = self.ids();
        let spec = |node: usize| NodeSpec {
            id: ids[node].clone(),
            phase: self.phases[node],
            section: self.sections[node],
            dependencies: self.needs[node].iter().map(|&to| ids[to].clone()).collect(),
        };
        Arc::new(TaskGraph::new((0..ids.len()).map(spec).collect()).unwrap())
    }
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let node = (
        0u32..4,
        prop_oneof![3 => Just(0u32), 1 => Just(5u32), 1 => Just(7u32)],
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    );
    (prop::collection::vec(node, 1..40), 0u32..5, any::<bool>()).prop_map(
        |(nodes, max_parallel, upside_down)| {
            let phases: Vec<u32> = nodes.iter().map(|(phase, ..)| phase * 2).collect();
            let count = phases.len();
            let needs = (0..count).map(|node| {
                // A fixed order of the tasks keeps cycles out; reversed it is not always the order
                // of the file.
                let before = |other: usize| {
                    phases[other] < phases[node]
                        || phases[other] == phases[node]
                            && (other < node) != upside_down
                            && other != node
                };
                let picks = nodes[node].2.iter().map(|pick| pick.index(count));
                picks.filter(|&other| before(other)).collect()
            });
            Shape {
                needs: needs.collect(),
                phases: phases.clone(),
                sections: nodes.iter().map(|(_, section, _)| *section).collect(),
                max_parallel,
            }
        },
    )
}

#[derive(Debug, Clone)]
enum Move {
    Start,
    Complete,
    Fail { retry: bool },
    Force,
    Retry,
    Lost,
    Finish { end: PhaseEnd },
}

fn any_move() -> impl Strategy<Value = (Move, prop::sample::Index)> {
    let merged = PhaseEnd::Merged {
        commit: "0a1b2c3".into(),
    };
    let kind = prop_oneof![
        10 => Just(Move::Start),
        9 => Just(Move::Complete),
        2 => any::<bool>().prop_map(|retry| Move::Fail { retry }),
        1 => Just(Move::Force),
        2 => Just(Move::Retry),
        1 => Just(Move::Lost),
        4 => prop::sample::select(vec![merged, PhaseEnd::NoGit, PhaseEnd::ChecksRed, PhaseEnd::Conflict])
            .prop_map(|end| Move::Finish { end }),
    ];
    (kind, any::<prop::sample::Index>())
}

/// Picks a fitting task for half of the moves, so that runs advance; any task for the others.
fn aim(
    run: &OrchestrationState,
    ids: &[NodeId],
    pick: prop::sample::Index,
    status: NodeStatus,
) -> usize {
    let fitting: Vec<usize> = (0..ids.len())
        .filter(|&node| run.find_node(&ids[node]).unwrap().status == status)
        .collect();
    if fitting.is_empty() || pick.index(2) == 0 {
        pick.index(ids.len())
    } else {
        fitting[pick.index(fitting.len())]
    }
}

/// Applies the move to both, and checks that they agree on its legality.
fn apply(
    run: &OrchestrationState,
    oracle: &mut Oracle,
    ids: &[NodeId],
    (kind, pick): (Move, prop::sample::Index),
    config: OrchestrationLimits,
) -> Result<OrchestrationState, TestCaseError> {
    let wanted = match &kind {
        Move::Start => NodeStatus::Ready,
        Move::Complete | Move::Fail { .. } | Move::Lost => NodeStatus::InProgress,
        Move::Retry => NodeStatus::Failed,
        Move::Force | Move::Finish { .. } => NodeStatus::Blocked,
    };
    let node = aim(run, ids, pick, wanted);
    let id = ids[node].clone();
    let status = oracle.status(node);
    let running = oracle
        .fates
        .iter()
        .filter(|&&it| it == Fate::Running)
        .count();
    let in_progress = status == NodeStatus::InProgress;
    let (command, legal, fate) = match kind {
        Move::Start => {
            let place = config.max_parallel == 0 || running < config.max_parallel as usize;
            let legal = status == NodeStatus::Ready && place;
            (Command::Start { id }, legal, Fate::Running)
        }
        Move::Complete => (Command::Complete { id }, in_progress, Fate::Done),
        Move::Fail { retry } => {
            let runs = run.find_node(&id).unwrap().attempts + 1;
            let again = retry && runs < config.retry_limit;
            let fate = if again { Fate::Idle } else { Fate::Failed };
            let reason = None;
            (Command::Fail { id, reason, retry }, in_progress, fate)
        }
        Move::Force => {
            let command = Command::ForceComplete {
                id,
                by: Actor::Person,
                reason: None,
            };
            (command, status != NodeStatus::Completed, Fate::Done)
        }
        Move::Retry => (
            Command::Retry { id },
            status == NodeStatus::Failed,
            Fate::Idle,
        ),
        Move::Lost => {
            let runs = run.find_node(&id).unwrap().attempts + 1;
            let fate = match (in_progress, runs < config.retry_limit) {
                (true, true) => Fate::Idle,
                (true, false) => Fate::Failed,
                (false, _) => oracle.fates[node],
            };
            (Command::Lost { gone: vec![id] }, true, fate)
        }
        Move::Finish { end } => {
            let phase = match oracle.current() {
                Some(current) if pick.index(4) > 0 => current,
                Some(_) | None => oracle.phases[node],
            };
            let legal = oracle.current() == Some(phase) && oracle.complete(phase);
            let landed = match end {
                PhaseEnd::Merged { .. } | PhaseEnd::NoGit => true,
                PhaseEnd::ChecksRed | PhaseEnd::Conflict => false,
            };
            if legal && landed {
                oracle.landed.push(phase);
            }
            let command = Command::PhaseFinish {
                phase,
                end,
                worktree: None,
            };
            (command, legal, oracle.fates[node])
        }
    };
    let mut moved = run.clone();
    let advanced = OrchestrateMachine::advance(&mut moved, command.clone(), NOON);
    let outcome = OrchestrateMachine::step(run, command, NOON);
    prop_assert_eq!(outcome.is_ok(), legal, "{:?}", outcome);
    let Ok(step) = outcome else {
        prop_assert!(advanced.is_err());
        prop_assert_eq!(&moved, run, "a refusal changed something");
        return Ok(moved);
    };
    prop_assert_eq!(&moved, &step.next, "in place is another place");
    prop_assert_eq!(advanced.as_ref(), Ok(&step.effects));
    oracle.fates[node] = fate;
    agree_on_effects(run, &step.next, &step.effects, ids)?;
    Ok(step.next)
}

/// The effects name exactly the tasks that became ready or blocked.
fn agree_on_effects(
    before: &OrchestrationState,
    after: &OrchestrationState,
    effects: &[Effect],
    ids: &[NodeId],
) -> Result<(), TestCaseError> {
    let became = |status: NodeStatus| -> Vec<NodeId> {
        let of =
            |run: &OrchestrationState, id: &NodeId| run.find_node(id).unwrap().status == status;
        let changed = ids.iter().filter(|id| !of(before, id) && of(after, id));
        changed.cloned().collect()
    };
    let (mut ready, mut blocked) = (vec![], vec![]);
    for effect in effects {
        match effect {
            Effect::BecameReady(ids) => ready.extend(ids.iter().cloned()),
            Effect::Blocked(ids) => blocked.extend(ids.iter().cloned()),
            Effect::TickTask(_) | Effect::PhaseReached(_) | Effect::Notify(_) => {}
        }
    }
    prop_assert_eq!(ready, became(NodeStatus::Ready));
    prop_assert_eq!(blocked, became(NodeStatus::Blocked));
    Ok(())
}

/// Returns the facts that a state file would hold of a run.
fn recorded(run: &OrchestrationState) -> RunFacts {
    let trace = |node: &TaskNode| TaskFacts {
        attempts: node.attempts,
        started_at: node.started_at,
        error: node.error.clone(),
    };
    let phase = |phase: &PhaseState| PhaseFacts {
        number: phase.number,
        started_at: phase.started_at,
        completed_at: phase.completed_at,
        landing: phase.landing.clone(),
        tasks: run.graph().tasks_of(phase.number),
    };
    RunFacts {
        config: run.run_limits(),
        current_phase: Some(run.current_phase()),
        worktree: run.worktree_path().map(Into::into),
        started_at: run.started_at(),
        updated_at: run.updated_at(),
        claims: run
            .nodes()
            .map(|(id, node)| (id.clone(), node.status))
            .collect(),
        traces: run
            .nodes()
            .map(|(id, node)| (id.clone(), trace(node)))
            .collect(),
        phases: run.phases().map(phase).collect(),
        time: run.task_time(),
    }
}

proptest! {
    #[test]
    fn random_runs_agree_with_the_oracle(
        shape in any_shape(),
        moves in prop::collection::vec(any_move(), 0..150),
    ) {
        let ids = shape.ids();
        let config = OrchestrationLimits { max_parallel: shape.max_parallel, retry_limit: 2 };
        let mut run = OrchestrationState::new(shape.graph(), config, NOON);
        let mut oracle = Oracle {
            fates: vec![Fate::Idle; ids.len()],
            phases: shape.phases.clone(),
            needs: shape.waits_for(),
            landed: vec![],
        };
        for step in moves {
            run = apply(&run, &mut oracle, &ids, step, config)?;
            prop_assert_eq!(OrchestrateMachine::violations(&run), vec![]);
            for (node, id) in ids.iter().enumerate() {
                prop_assert_eq!(run.find_node(id).unwrap().status, oracle.status(node), "{}", id);
            }
            let now = next_work(&run);
            prop_assert_eq!(run.is_stalled(), matches!(now, NextWork::Stalled(_)));
            prop_assert_eq!(now, oracle.next(&ids, config.max_parallel));
        }
        prop_assert_eq!(OrchestrationState::from_facts(Arc::clone(run.graph()), &recorded(&run)), run);
    }

    #[test]
    fn any_claims_make_a_sound_run(
        shape in any_shape(),
        claims in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(NodeStatus::ALL.to_vec())), 0..80),
        current_phase in prop::option::of(0u32..8),
        moves in prop::collection::vec(any_move(), 0..30),
    ) {
        let ids = shape.ids();
        let facts = RunFacts {
            claims: claims.iter().map(|(pick, status)| (ids[pick.index(ids.len())].clone(), *status)).collect(),
            current_phase,
            ..RunFacts::starting_at(NOON)
        };
        let mut run = OrchestrationState::from_facts(shape.graph(), &facts);
        prop_assert_eq!(OrchestrateMachine::violations(&run), vec![]);
        for (kind, pick) in moves {
            let id = ids[pick.index(ids.len())].clone();
            let phase = run.current_phase();
            let command = match kind {
                Move::Start => Command::Start { id },
                Move::Complete => Command::Complete { id },
                Move::Fail { retry } => Command::Fail { id, reason: None, retry },
                Move::Force => Command::ForceComplete { id, by: Actor::Person, reason: None },
                Move::Retry => Command::Retry { id },
                Move::Lost => Command::Lost { gone: ids.clone() },
                Move::Finish { end } => Command::PhaseFinish { phase, end, worktree: None },
            };
            if let Ok(step) = OrchestrateMachine::step(&run, command, NOON) {
                run = step.next;
            }
            prop_assert_eq!(OrchestrateMachine::violations(&run), vec![]);
        }
    }
}

/// Ten phases of 10,000 tasks, each behind two of the same phase: this ends quickly only if no
/// command looks at all tasks.
#[test]
fn a_run_of_100_000_tasks_is_worked_off() {
    let id = |phase: u32, task: u32| -> NodeId { format!("T{phase}.{task}").into() };
    let specs = (0..10u32).flat_map(|phase| {
        (0..10_000u32).map(move |task| NodeSpec {
            id: id(phase, task),
            phase,
            section: 0,
            dependencies: match task {
                0 => vec![],
                _ => vec![id(phase, task / 2), id(phase, task / 3)],
            },
        })
    });
    let specs = specs.map(|mut spec| {
        let own = spec.id.clone();
        spec.dependencies.retain(|id| *id != own);
        spec
    });
    let graph = Arc::new(TaskGraph::new(specs.collect()).unwrap());
    let config = OrchestrationLimits {
        max_parallel: 8,
        retry_limit: 10,
    };
    let mut run = OrchestrationState::new(graph, config, NOON);
    let mut steps = 0;
    let mut step = |run: &mut OrchestrationState, command| {
        *run = OrchestrateMachine::step(run, command, NOON).unwrap().next;
        steps += 1;
    };
    loop {
        match next_work(&run) {
            NextWork::Ready(ids) => {
                for id in &ids {
                    step(&mut run, Command::Start { id: id.clone() });
                }
                for id in ids {
                    step(&mut run, Command::Complete { id });
                }
            }
            NextWork::PhaseDone(phase) => {
                let end = PhaseEnd::NoGit;
                let worktree = None;
                step(
                    &mut run,
                    Command::PhaseFinish {
                        phase,
                        end,
                        worktree,
                    },
                );
            }
            NextWork::AllDone => break,
            stuck @ (NextWork::Wait | NextWork::Stalled(_)) => panic!("{stuck:?}"),
        }
    }
    assert_eq!(steps, 200_010);
    assert_eq!(run.metrics().completed_count, 100_000);
    assert_eq!(OrchestrateMachine::violations(&run), []);
}

/// A chain as long as a run may be: neither blocking nor freeing it recurses.
#[test]
fn a_failure_at_the_head_of_a_long_chain_blocks_all_of_it_and_retry_frees_it() {
    let specs = (0..100_000u32).map(|task| NodeSpec {
        id: format!("T1.{task}").into(),
        phase: 1,
        section: 0,
        dependencies: task
            .checked_sub(1)
            .map(|before| format!("T1.{before}").into())
            .into_iter()
            .collect(),
    });
    let graph = Arc::new(TaskGraph::new(specs.collect()).unwrap());
    let run = OrchestrationState::new(graph, OrchestrationLimits::default(), NOON);
    let id = || NodeId::from("T1.0");
    let mut seen = vec![run];
    for command in [
        Command::Start { id: id() },
        Command::Fail {
            id: id(),
            reason: None,
            retry: false,
        },
        Command::Retry { id: id() },
    ] {
        let step = OrchestrateMachine::step(&seen[seen.len() - 1], command, NOON);
        seen.push(step.unwrap().next);
    }
    let blocked: Vec<usize> = seen
        .iter()
        .map(|run| run.count_status(NodeStatus::Blocked))
        .collect();
    assert_eq!(blocked, [0, 0, 99_999, 0]);
    assert_eq!(OrchestrateMachine::violations(&seen[2]), []);
    assert_eq!(next_work(&seen[3]), NextWork::Ready(vec![id()]));
}
