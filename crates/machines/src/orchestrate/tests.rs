//! Named rules one by one.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use crate::kernel::{CodedRefusal as _, CommandAdvice, Machine as _, Timestamp};
use crate::table::{self, MachineCatalogue as _};

const NOON: Timestamp = Timestamp(1_769_000_000);

fn later(seconds: i64) -> Timestamp {
    Timestamp(NOON.0 + seconds)
}

fn spec(id: &str, phase: u32, dependencies: &[&str]) -> NodeSpec {
    NodeSpec {
        id: id.into(),
        phase,
        section: 0,
        dependencies: dependencies.iter().map(|&id| id.into()).collect(),
    }
}

/// Phase 0 is one task; phase 1 a diamond with a lone task beside it; phase 2 one behind the
/// diamond and one free.
fn graph() -> Arc<TaskGraph> {
    let graph = TaskGraph::new(vec![
        spec("T0.1", 0, &[]),
        spec("T1.1", 1, &[]),
        spec("T1.2", 1, &["T1.1"]),
        spec("T1.3", 1, &["T1.1"]),
        spec("T1.4", 1, &["T1.2", "T1.3"]),
        spec("T1.5", 1, &[]),
        spec("T2.1", 2, &["T1.4"]),
        spec("T2.2", 2, &[]),
    ]);
    Arc::new(graph.unwrap())
}

fn start(id: &str) -> Command {
    Command::Start { id: id.into() }
}

fn complete(id: &str) -> Command {
    Command::Complete { id: id.into() }
}

fn fail(id: &str, retry: bool) -> Command {
    Command::Fail {
        id: id.into(),
        reason: Some("tests red".into()),
        retry,
    }
}

fn force(id: &str, by: Actor) -> Command {
    Command::ForceComplete {
        id: id.into(),
        by,
        reason: Some("done by hand".into()),
    }
}

fn retry(id: &str) -> Command {
    Command::Retry { id: id.into() }
}

fn lost(ids: &[&str]) -> Command {
    Command::Lost { gone: names(ids) }
}

fn finish(phase: u32, end: PhaseEnd) -> Command {
    Command::PhaseFinish {
        phase,
        end,
        worktree: Some(format!("worktree/phase-{}-work", phase + 1).into()),
    }
}

fn merged() -> PhaseEnd {
    PhaseEnd::Merged {
        commit: "0a1b2c3".into(),
    }
}

fn names(ids: &[&str]) -> Vec<NodeId> {
    ids.iter().map(|&id| id.into()).collect()
}

fn ready(ids: &[&str]) -> NextWork {
    NextWork::Ready(names(ids))
}

fn play(
    run: &OrchestrationState,
    commands: impl IntoIterator<Item = Command>,
) -> Result<OrchestrationState, Refusal> {
    let mut run = run.clone();
    for command in commands {
        run = OrchestrateMachine::step(&run, command, NOON)?.next;
    }
    Ok(run)
}

fn effects(run: &OrchestrationState, command: Command) -> Vec<Effect> {
    OrchestrateMachine::step(run, command, NOON)
        .unwrap()
        .effects
}

fn refusal(run: &OrchestrationState, command: Command) -> Refusal {
    OrchestrateMachine::step(run, command, NOON).unwrap_err()
}

fn code(run: &OrchestrationState, command: Command) -> &'static str {
    refusal(run, command).code()
}

fn fresh() -> OrchestrationState {
    OrchestrationState::new(graph(), OrchestrationLimits::default(), NOON)
}

/// In phase 1, nothing begun.
fn second_phase() -> OrchestrationState {
    play(
        &fresh(),
        [start("T0.1"), complete("T0.1"), finish(0, merged())],
    )
    .unwrap()
}

fn do_all(run: &OrchestrationState, ids: &[&str]) -> OrchestrationState {
    let moves = ids.iter().flat_map(|id| [start(id), complete(id)]);
    play(run, moves).unwrap()
}

#[test]
fn only_tasks_of_the_current_phase_become_ready() {
    let run = fresh();
    assert_eq!(next_work(&run), ready(&["T0.1"]));
    let refused = refusal(&run, start("T1.2"));
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        (
            "not_ready",
            "task 'T1.2' is not ready: it waits for T1.1, phase 1 (phase 0 is current)"
        )
    );
    let run = play(&run, [start("T0.1"), complete("T0.1")]).unwrap();
    assert_eq!(next_work(&run), NextWork::PhaseDone(0));
    assert_eq!(run.count_status(NodeStatus::Ready), 0);
    assert_eq!(next_work(&second_phase()), ready(&["T1.1", "T1.5"]));
}

#[test]
fn completing_a_task_frees_what_waits_for_it_alone() {
    let run = play(&second_phase(), [start("T1.1")]).unwrap();
    assert_eq!(
        effects(&run, complete("T1.1")),
        [
            Effect::TickTask("T1.1".into()),
            Effect::Notify(OrchestrationEvent::TaskDone("T1.1".into())),
            Effect::BecameReady(names(&["T1.2", "T1.3"])),
        ]
    );
    let run = do_all(&second_phase(), &["T1.1", "T1.2"]);
    assert_eq!(next_work(&run), ready(&["T1.3", "T1.5"]));
    assert_eq!(run.find_node("T1.4").unwrap().status, NodeStatus::Pending);
}

#[test]
fn next_is_limited_to_free_places() {
    let run = second_phase().with_limits(OrchestrationLimits {
        max_parallel: 2,
        ..OrchestrationLimits::default()
    });
    let run = do_all(&run, &["T1.1"]);
    assert_eq!(next_work(&run), ready(&["T1.2", "T1.3"]));
    let run = play(&run, [start("T1.5")]).unwrap();
    assert_eq!(next_work(&run), ready(&["T1.2"]));
    let run = play(&run, [start("T1.3")]).unwrap();
    assert_eq!(next_work(&run), NextWork::Wait);
    assert_eq!(code(&run, start("T1.2")), "no_free_place");
}

#[test]
fn a_failure_blocks_all_that_depend_on_it_and_the_run_stalls_after_the_rest() {
    let run = play(&second_phase(), [start("T1.1"), fail("T1.1", false)]).unwrap();
    assert_eq!(
        run.ids_with_status(NodeStatus::Blocked),
        names(&["T1.2", "T1.3", "T1.4", "T2.1"])
    );
    assert_eq!(run.find_node("T2.2").unwrap().status, NodeStatus::Pending);
    assert_eq!(next_work(&run), ready(&["T1.5"]));
    assert_eq!(
        refusal(&run, start("T1.4")).to_string(),
        "task 'T1.4' is blocked by T1.2, T1.3"
    );
    let run = play(&run, [start("T1.5")]).unwrap();
    assert_eq!(next_work(&run), NextWork::Wait);
    assert_eq!(
        effects(&run, complete("T1.5")).last(),
        Some(&Effect::Notify(OrchestrationEvent::Stalled))
    );
    let run = play(&run, [complete("T1.5")]).unwrap();
    let stuck = names(&["T1.1", "T1.2", "T1.3", "T1.4", "T2.1"]);
    assert_eq!(next_work(&run), NextWork::Stalled(stuck));
    assert_eq!(OrchestrateMachine::status_name(&run), "stalled");
    assert_eq!(
        OrchestrateMachine::advice(&run),
        [CommandAdvice::with_target("retry", "T1.1")]
    );
}

#[test]
fn retry_unblocks_only_those_without_another_failure_before_them() {
    let run = do_all(&second_phase(), &["T1.1"]);
    let run = play(&run, [start("T1.2"), start("T1.3")]).unwrap();
    let run = play(&run, [fail("T1.2", false), fail("T1.3", false)]).unwrap();
    assert_eq!(
        run.ids_with_status(NodeStatus::Blocked),
        names(&["T1.4", "T2.1"])
    );
    let run = play(&run, [retry("T1.2")]).unwrap();
    assert_eq!(
        run.ids_with_status(NodeStatus::Blocked),
        names(&["T1.4", "T2.1"])
    );
    assert_eq!(run.find_node("T1.2").unwrap().attempts, 0);
    let run = play(&run, [retry("T1.3")]).unwrap();
    assert_eq!(run.ids_with_status(NodeStatus::Blocked), []);
    assert_eq!(code(&run, retry("T1.3")), "not_failed");
}

#[test]
fn a_person_forces_completion_and_an_agent_does_not() {
    let run = play(&second_phase(), [start("T1.1"), fail("T1.1", false)]).unwrap();
    assert_eq!(code(&run, force("T1.1", Actor::Agent)), "needs_person");
    let forced = play(&run, [force("T1.1", Actor::Person)]).unwrap();
    assert_eq!(next_work(&forced), ready(&["T1.2", "T1.3", "T1.5"]));
    assert_eq!(forced.task_time(), run.task_time());
    assert_eq!(
        code(&forced, force("T1.1", Actor::Person)),
        "already_completed"
    );
    // Forcing one that is blocked frees what waits for it, although the failure before it stays.
    let run = play(
        &run,
        [force("T1.2", Actor::Person), force("T1.3", Actor::Person)],
    )
    .unwrap();
    assert_eq!(run.ids_with_status(NodeStatus::Blocked), []);
    assert_eq!(next_work(&run), ready(&["T1.4", "T1.5"]));
}

#[test]
fn a_task_runs_ten_times_in_all() {
    let mut run = second_phase();
    for attempt in 1..=10 {
        assert_eq!(
            run.find_node("T1.1").unwrap().status,
            NodeStatus::Ready,
            "{attempt}"
        );
        run = play(&run, [start("T1.1"), fail("T1.1", true)]).unwrap();
        assert_eq!(run.find_node("T1.1").unwrap().attempts, attempt);
    }
    let node = run.find_node("T1.1").unwrap();
    assert_eq!(node.status, NodeStatus::Failed);
    assert_eq!(node.error.as_deref(), Some("tests red"));
    assert_eq!(code(&run, start("T1.1")), "task_failed");
}

#[test]
fn a_lost_task_counts_a_run_is_ready_again_and_others_are_left_alone() {
    let run = play(&second_phase(), [start("T1.1"), start("T1.5")]).unwrap();
    let run = play(&run, [lost(&["T1.1", "T1.2", "T0.1"])]).unwrap();
    assert_eq!(next_work(&run), ready(&["T1.1"]));
    assert_eq!(
        run.ids_with_status(NodeStatus::InProgress),
        names(&["T1.5"])
    );
    assert_eq!(run.find_node("T1.1").unwrap().attempts, 1);
    assert_eq!(code(&run, lost(&["T9.9"])), "no_task");
}

#[test]
fn a_task_that_is_lost_again_and_again_fails() {
    let mut run = second_phase();
    let limit = run.run_limits().retry_limit;
    for _ in 0..limit {
        run = play(&run, [start("T1.1"), lost(&["T1.1"])]).unwrap();
    }
    let node = run.find_node("T1.1").unwrap();
    assert_eq!((node.status, node.attempts), (NodeStatus::Failed, limit));
}

#[test]
fn a_phase_lands_only_complete_current_and_merged() {
    let run = second_phase();
    assert_eq!(run.worktree_path(), Some("worktree/phase-1-work"));
    assert_eq!(code(&run, finish(1, merged())), "phase_incomplete");
    assert_eq!(code(&run, finish(2, merged())), "phase_not_current");
    assert_eq!(code(&run, finish(0, merged())), "phase_finished");
    assert_eq!(code(&run, finish(7, merged())), "no_phase");
    let run = do_all(&run, &["T1.1", "T1.2", "T1.3", "T1.4", "T1.5"]);
    for commit in ["", "0a1b2c", "0a1b2c3d", "0A1B2C3", "zzzzzzz"] {
        let end = PhaseEnd::Merged {
            commit: commit.into(),
        };
        assert_eq!(code(&run, finish(1, end)), "bad_commit", "{commit}");
    }
    for end in [PhaseEnd::ChecksRed, PhaseEnd::Conflict] {
        let stuck = play(&run, [finish(1, end)]).unwrap();
        assert_eq!(
            stuck.find_phase(1).unwrap().landing,
            Some(LandingOutcome::Unmerged)
        );
        assert_eq!(next_work(&stuck), NextWork::PhaseDone(1));
        assert_eq!(stuck.worktree_path(), Some("worktree/phase-1-work"));
        let landed = play(&stuck, [finish(1, merged())]).unwrap();
        assert_eq!(landed.current_phase(), 2);
    }
    let seen = effects(&run, finish(1, PhaseEnd::NoGit));
    assert_eq!(
        seen,
        [
            Effect::Notify(OrchestrationEvent::PhaseDone(1)),
            Effect::PhaseReached(2),
            Effect::BecameReady(names(&["T2.1", "T2.2"])),
        ]
    );
}

#[test]
fn the_last_phase_ends_the_run() {
    let run = do_all(&second_phase(), &["T1.1", "T1.2", "T1.3", "T1.4", "T1.5"]);
    let run = play(&run, [finish(1, merged())]).unwrap();
    let run = do_all(&run, &["T2.2", "T2.1"]);
    assert_eq!(
        effects(&run, finish(2, merged())).last(),
        Some(&Effect::Notify(OrchestrationEvent::AllDone))
    );
    let run = play(&run, [finish(2, merged())]).unwrap();
    assert_eq!(
        (next_work(&run), run.current_phase()),
        (NextWork::AllDone, 2)
    );
    assert_eq!(OrchestrateMachine::status_name(&run), "completed");
    let empty = OrchestrationState::new(
        Arc::new(TaskGraph::new(vec![]).unwrap()),
        OrchestrationLimits::default(),
        NOON,
    );
    assert_eq!(
        (next_work(&empty), empty.current_phase()),
        (NextWork::AllDone, 0)
    );
}

#[test]
fn the_average_counts_the_last_run_of_each_task() {
    let mut run = second_phase();
    for (command, seconds) in [
        (start("T1.1"), 0),
        (fail("T1.1", true), 500),
        (start("T1.1"), 1000),
        (complete("T1.1"), 1100),
        (start("T1.2"), 2000),
        (complete("T1.2"), 2141),
    ] {
        run = OrchestrateMachine::step(&run, command, later(seconds))
            .unwrap()
            .next;
    }
    // T0.1 took no time, T1.1 100 s, T1.2 141 s.
    let metrics = run.metrics();
    assert_eq!(metrics.average_task_time_seconds, 80);
    assert_eq!((metrics.total_tasks, metrics.completed_count), (8, 3));
    let phase = run.find_phase(1).unwrap();
    assert_eq!((phase.completed, phase.total), (2, 5));
    assert_eq!(phase.started_at, Some(NOON));
}

#[test]
fn graphs_that_cannot_work_are_refused() {
    let error = |nodes| TaskGraph::new(nodes).unwrap_err();
    let circle = error(vec![
        spec("T1.1", 1, &[]),
        spec("T1.3", 1, &["T1.1", "T1.4"]),
        spec("T1.4", 1, &["T1.3"]),
    ]);
    assert_eq!(
        (circle.code(), circle.to_string().as_str()),
        (
            "circular_dependency",
            "tasks depend on each other: T1.3->T1.4->T1.3"
        )
    );
    let missing = error(vec![spec("T1.3", 1, &["T1.0"])]);
    assert_eq!(missing.code(), "missing_dependency");
    let twice = error(vec![spec("T1.3", 1, &[]), spec("T1.3", 2, &[])]);
    assert_eq!(twice.code(), "duplicate_id");
    let later = error(vec![spec("T1.1", 1, &["T2.1"]), spec("T2.1", 2, &[])]);
    assert_eq!(later.code(), "later_phase_dependency");
}

#[test]
fn a_graph_tells_its_tasks_in_the_order_of_the_file() {
    let graph = TaskGraph::new(vec![
        spec("b", 3, &["c", "a", "c"]),
        spec("a", 1, &[]),
        spec("c", 3, &[]),
    ])
    .unwrap();
    assert_eq!(graph.dependencies_of("b"), names(&["a", "c"]));
    assert_eq!(graph.dependents_of("c"), names(&["b"]));
    assert_eq!(graph.tasks_of(3), names(&["b", "c"]));
    assert_eq!(graph.tasks_of(2), []);
    assert_eq!(
        (graph.phase_numbers(), graph.phase_of("c")),
        (&[1, 3][..], Some(3))
    );
    assert!(!graph.contains("d"));
}

#[test]
fn of_several_claims_the_strongest_counts_and_the_rest_follows() {
    use NodeStatus::{Blocked, Completed, Failed, InProgress, Pending, Ready};
    let said = |claims: &[(&str, NodeStatus)]| {
        let facts = RunFacts {
            claims: claims.iter().map(|&(id, it)| (id.into(), it)).collect(),
            current_phase: Some(1),
            ..RunFacts::starting_at(NOON)
        };
        OrchestrationState::from_facts(graph(), &facts)
    };
    let run = said(&[
        ("T0.1", Pending),
        ("T0.1", Completed),
        ("T1.1", Completed),
        ("T1.1", Failed),
        ("T1.2", InProgress),
        ("T1.2", Failed),
        ("T1.3", Ready),
        ("T1.3", InProgress),
        ("T1.5", Blocked),
        ("T7.7", Completed),
    ]);
    let status = |id| run.find_node(id).unwrap().status;
    assert_eq!(
        [
            "T0.1", "T1.1", "T1.2", "T1.3", "T1.4", "T1.5", "T2.1", "T2.2"
        ]
        .map(status),
        [
            Completed, Completed, Failed, InProgress, Blocked, Ready, Blocked, Pending
        ]
    );
    assert_eq!(run.current_phase(), 1);
    assert_eq!(OrchestrateMachine::violations(&run), []);
    // Ready before its dependencies are done is not believed.
    assert_eq!(
        said(&[("T1.4", Ready)]).find_node("T1.4").unwrap().status,
        Pending
    );
}

#[test]
fn tasks_of_a_merged_phase_are_completed_and_new_ones_open_it_again() {
    let phase = |tasks: &[&str]| PhaseFacts {
        number: 0,
        completed_at: Some(NOON),
        landing: Some(LandingOutcome::Merged {
            commit: "0a1b2c3".into(),
        }),
        tasks: names(tasks),
        ..PhaseFacts::default()
    };
    let with = |graph, phase| {
        let facts = RunFacts {
            phases: vec![phase],
            current_phase: Some(1),
            ..RunFacts::starting_at(NOON)
        };
        OrchestrationState::from_facts(graph, &facts)
    };
    let run = with(graph(), phase(&["T0.1"]));
    assert_eq!(next_work(&run), ready(&["T1.1", "T1.5"]));
    let grown = TaskGraph::new(vec![
        spec("T0.1", 0, &[]),
        spec("T0.2", 0, &["T0.1"]),
        spec("T1.1", 1, &[]),
    ]);
    let run = with(Arc::new(grown.unwrap()), phase(&["T0.1"]));
    assert_eq!(next_work(&run), ready(&["T0.2"]));
    assert_eq!(OrchestrateMachine::violations(&run), []);
    let run = do_all(&run, &["T0.2"]);
    assert_eq!(next_work(&run), NextWork::PhaseDone(0));
}

#[test]
fn the_worktree_of_a_phase_can_be_recorded() {
    let set = |path: Option<&str>| Command::SetWorktree {
        path: path.map(Into::into),
    };
    let run = play(&fresh(), [set(Some("worktree/phase-0-work"))]).unwrap();
    assert_eq!(run.worktree_path(), Some("worktree/phase-0-work"));
    assert_eq!(code(&run, set(Some(" "))), "empty_text");
    assert_eq!(play(&run, [set(None)]).unwrap().worktree_path(), None);
}

#[test]
fn a_task_begins_ahead_only_on_work_that_somebody_has_in_hand() {
    let ahead = |id: &str| Command::StartAhead { id: id.into() };
    let recall = |id: &str| Command::Recall { id: id.into() };
    let run = play(&do_all(&fresh(), &["T0.1"]), [finish(0, merged())]).unwrap();
    // Its dependency is not in progress, and then it is; a task behind two of them still waits.
    assert_eq!(code(&run, ahead("T1.2")), "not_ready");
    let run = play(&run, [start("T1.1"), ahead("T1.2")]).unwrap();
    assert_eq!(code(&run, ahead("T1.4")), "not_ready");
    assert_eq!(run.open_needs("T1.2"), names(&["T1.1"]));
    // What it was begun on fails: it is taken back, blocked, and no run is counted.
    let failed = play(&run, [fail("T1.1", false)]).unwrap();
    assert!(failed.is_obstructed("T1.2"));
    let back = play(&failed, [recall("T1.2")]).unwrap();
    let node = back.find_node("T1.2").unwrap();
    assert_eq!((node.status, node.attempts), (NodeStatus::Blocked, 0));
    assert_eq!(OrchestrateMachine::violations(&back), []);
    // What it was begun on is done: there is nothing to take back.
    let done = play(&run, [complete("T1.1")]).unwrap();
    assert_eq!(code(&done, recall("T1.2")), "already_in_progress");
    assert_eq!(OrchestrateMachine::violations(&done), []);
}

#[test]
fn ready_tasks_are_found_one_behind_the_other() {
    let run = play(&do_all(&fresh(), &["T0.1"]), [finish(0, merged())]).unwrap();
    let first = run.ready_after(None).unwrap();
    assert_eq!(&*first, "T1.1");
    let second = run.ready_after(Some(&first)).unwrap();
    assert_eq!(&*second, "T1.5");
    assert_eq!(run.ready_after(Some(&second)), None);
    assert_eq!(run.phase_done(), None);
}

#[test]
fn a_clock_set_back_gives_no_negative_times() {
    let run = play(&fresh(), [start("T0.1")]).unwrap();
    let back = later(-600);
    let run = OrchestrateMachine::step(&run, complete("T0.1"), back).unwrap();
    let run = OrchestrateMachine::step(&run.next, finish(0, merged()), back).unwrap();
    assert_eq!(run.next.task_time().seconds, 0);
    assert_eq!(OrchestrateMachine::violations(&run.next), []);
}

#[test]
fn the_table_has_only_sound_states_and_known_labels() {
    let states = OrchestrateMachine::sample_states();
    let labels: Vec<String> = states
        .iter()
        .map(|(_, state)| OrchestrateMachine::state_label(state))
        .chain(["next phase".into()])
        .collect();
    for (name, state) in states {
        assert_eq!(OrchestrateMachine::violations(&state), [], "{name}");
        let want = name.split(',').next().unwrap();
        assert_eq!(OrchestrateMachine::state_label(&state), want);
    }
    for row in table::table_rows::<OrchestrateMachine>() {
        if let table::TableCell::Moves { to, .. } = row.cell {
            assert!(labels.contains(&to), "{} leads to {to}", row.command);
        }
    }
}

/// Two tasks outside of sections, then one below `Phase 1.5` and one below `Phase 1.7`.
fn in_sections() -> OrchestrationState {
    let at = |id: &str, section: u32| NodeSpec {
        section,
        ..spec(id, 1, &[])
    };
    let graph = TaskGraph::new(vec![at("A", 0), at("B", 0), at("C", 5), at("D", 7)]);
    OrchestrationState::new(
        Arc::new(graph.unwrap()),
        OrchestrationLimits::default(),
        NOON,
    )
}

#[test]
fn a_later_section_waits_for_every_task_of_the_earlier_ones() {
    let run = in_sections();
    assert_eq!(run.waits_for("D"), ["A".into(), "B".into(), "C".into()]);
    let refused = OrchestrateMachine::step(&run, Command::Start { id: "C".into() }, NOON);
    let waits_for = vec!["A".into(), "B".into()];
    let wanted = Refusal::NotReady {
        id: "C".into(),
        waits_for,
        phase: None,
    };
    assert_eq!(refused.unwrap_err(), wanted);
}

#[test]
fn a_failure_blocks_the_later_sections_and_a_retry_frees_them() {
    let mut run = in_sections();
    for command in [
        Command::Start { id: "A".into() },
        Command::Fail {
            id: "A".into(),
            reason: None,
            retry: false,
        },
        Command::Start { id: "B".into() },
        Command::Complete { id: "B".into() },
    ] {
        run = OrchestrateMachine::step(&run, command, NOON).unwrap().next;
    }
    let stuck = ["A", "C", "D"].map(NodeId::from).to_vec();
    assert_eq!(next_work(&run), NextWork::Stalled(stuck));
    let refused = OrchestrateMachine::step(&run, Command::Start { id: "C".into() }, NOON);
    let wanted = Refusal::Blocked {
        id: "C".into(),
        by: vec!["A".into()],
    };
    assert_eq!(refused.unwrap_err(), wanted);
    let run = OrchestrateMachine::step(&run, Command::Retry { id: "A".into() }, NOON);
    let run = run.unwrap().next;
    assert_eq!(next_work(&run), NextWork::Ready(vec!["A".into()]));
    assert_eq!(run.count_status(NodeStatus::Blocked), 0);
}
