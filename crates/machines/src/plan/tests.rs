//! Named rules one by one, and invariants over random commands.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use crate::kernel::{CodedRefusal as _, CommandAdvice, Machine as _};
use crate::table::{self, MachineCatalogue as _};
use proptest::prelude::*;

const NOON: Timestamp = Timestamp(1_763_460_000);
const DAY: i64 = 24 * 60 * 60;

fn later(seconds: i64) -> Timestamp {
    Timestamp(NOON.0 + seconds)
}

fn new_task(id: &str, dependencies: &[&[u32]]) -> Command {
    let step = |dependencies: &&[u32]| NewStep {
        name: "draft".into(),
        agent: "writer".into(),
        dependencies: dependencies.to_vec(),
        ..NewStep::default()
    };
    Command::NewTask(NewTask {
        id: id.into(),
        name: format!("name of {id}"),
        goal: "a page people read".into(),
        steps: dependencies.iter().map(step).collect(),
        ..NewTask::default()
    })
}

fn start(id: u32) -> Command {
    Command::StepStart { id }
}

fn complete(id: u32) -> Command {
    Command::StepComplete {
        id,
        output: Some(r#"{"type":"data"}"#.into()),
        artifacts: vec![],
    }
}

fn fail(id: u32, kind: FailureKind) -> Command {
    Command::StepFail {
        id,
        kind,
        message: "no answer".into(),
    }
}

fn finish(result: Option<TaskResult>) -> Command {
    Command::TaskFinish {
        result,
        summary: None,
        lessons: vec!["ask earlier".into()],
        tokens: Some(1200),
    }
}

fn recover(by: Actor) -> Command {
    Command::TaskRecover {
        by,
        reason: Some("the service is back".into()),
    }
}

/// Runs commands a minute apart; the effects are those of the last one.
fn play(
    from: &TaskMemory,
    commands: impl IntoIterator<Item = Command>,
) -> Result<(TaskMemory, Vec<Effect>), Refusal> {
    let (mut memory, mut effects) = (from.clone(), vec![]);
    for (minute, command) in (0..).zip(commands) {
        let step = PlanMachine::step(&memory, command, later(60 * minute))?;
        (memory, effects) = (step.next, step.effects);
    }
    Ok((memory, effects))
}

/// A diamond: 1, then 2 and 3, then 4.
fn diamond() -> TaskMemory {
    let new = new_task("task-2025-11-18-001", &[&[], &[1], &[1], &[2, 3]]);
    play(&TaskMemory::default(), [new]).unwrap().0
}

fn after(commands: impl IntoIterator<Item = Command>) -> TaskMemory {
    play(&diamond(), commands).unwrap().0
}

fn code(from: &TaskMemory, command: Command) -> &'static str {
    PlanMachine::step(from, command, NOON).unwrap_err().code()
}

fn task(memory: &TaskMemory) -> &ActiveTask {
    memory.current.as_ref().unwrap()
}

fn pushed(effects: &[Effect]) -> &HistoryEntry {
    let mut entries = effects.iter().filter_map(|effect| match effect {
        Effect::PushHistory(entry) => Some(entry.as_ref()),
        Effect::Backup | Effect::Escalate { .. } | Effect::RetryAfter { .. } => None,
    });
    entries.next_back().unwrap()
}

#[test]
fn a_task_is_pending_until_its_first_step_starts() {
    let memory = diamond();
    assert_eq!(task(&memory).status, PlanTaskStatus::Pending);
    assert_eq!(task(&memory).orchestrator, "orchestrator");
    assert_eq!(task(&after([start(1)])).status, PlanTaskStatus::InProgress);
}

#[test]
fn current_step_moves_on_at_completion_and_stays_at_the_last() {
    let all = [1, 2, 3, 4].map(|id| [start(id), complete(id)]);
    let seen: Vec<_> = (0..=4)
        .map(|done| {
            let memory = after(all[..done].iter().flatten().cloned());
            task(&memory).plan.current_step()
        })
        .collect();
    assert_eq!(seen, [Some(1), Some(2), Some(3), Some(4), Some(4)]);
    assert_eq!(TaskPlan::default().current_step(), None);
}

#[test]
fn steps_without_open_dependencies_are_ready_side_by_side() {
    let memory = after([start(1), complete(1)]);
    assert_eq!(task(&memory).plan.ready_steps(), [2, 3]);
    assert_eq!(code(&memory, start(4)), "dependency_not_completed");
    assert_eq!(code(&memory, complete(2)), "not_in_progress");
    assert_eq!(code(&memory, start(1)), "already_completed");
    assert_eq!(code(&memory, start(9)), "no_step");
}

#[test]
fn the_last_completion_leaves_the_task_in_progress_until_finish() {
    let memory = after(
        [1, 2, 3, 4]
            .into_iter()
            .flat_map(|id| [start(id), complete(id)]),
    );
    assert_eq!(task(&memory).status, PlanTaskStatus::InProgress);
    assert_eq!(
        PlanMachine::advice(&memory)[0],
        CommandAdvice::without_target("task finish")
    );
    let step = PlanMachine::step(&memory, finish(None), later(600)).unwrap();
    let entry = pushed(&step.effects);
    assert_eq!(
        (entry.result, entry.duration_seconds),
        (TaskResult::Success, 600)
    );
    let details = entry.details.as_ref().unwrap();
    assert_eq!(
        (
            details.metrics.steps_total,
            details.metrics.steps_completed,
            details.metrics.tokens_used
        ),
        (4, 4, Some(1200))
    );
    assert_eq!(step.next, TaskMemory::default());
}

#[test]
fn the_default_result_is_told_from_the_steps() {
    let none = play(&diamond(), [finish(None)]).unwrap().1;
    let some = play(&diamond(), [start(1), complete(1), finish(None)])
        .unwrap()
        .1;
    let said = play(&diamond(), [finish(Some(TaskResult::Success))])
        .unwrap()
        .1;
    assert_eq!(pushed(&none).result, TaskResult::Failure);
    assert_eq!(pushed(&some).result, TaskResult::Partial);
    assert_eq!(pushed(&some).summary, "1 of 4 steps completed");
    let (completed, total) = (1, 4);
    let read = DefaultSummary::Steps { completed, total };
    assert_eq!(DefaultSummary::parse(&pushed(&some).summary), Some(read));
    for own in [
        "wrote 1 of 4 steps completed",
        "1 of 4 pages",
        "1 of two steps completed",
    ] {
        assert_eq!(DefaultSummary::parse(own), None, "{own}");
    }
    assert_eq!(pushed(&said).result, TaskResult::Success);
    assert_eq!(TaskResult::of_steps(0, 0), TaskResult::Success);
}

#[test]
fn retries_come_after_2_and_4_seconds_and_the_third_failure_escalates() {
    let mut memory = after([start(1)]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let step = PlanMachine::step(&memory, fail(1, FailureKind::Transient), NOON).unwrap();
        memory = step.next;
        seen.push(step.effects[1].clone());
        if let Ok(again) = PlanMachine::step(&memory, start(1), NOON) {
            assert_eq!(task(&again.next).plan.steps[0].error, None);
            memory = again.next;
        }
    }
    let retry = |seconds| Effect::RetryAfter { step: 1, seconds };
    let escalate = Effect::Escalate {
        step: 1,
        resolution: IssueResolution::Escalate,
    };
    assert_eq!(seen, [retry(2), retry(4), escalate]);
    assert_eq!(task(&memory).status, PlanTaskStatus::Failed);
    assert_eq!(task(&memory).plan.steps[0].retries, 3);
    assert_eq!(task(&memory).issues.len(), 1);
    assert_eq!(code(&memory, start(1)), "task_failed");
}

#[test]
fn critical_and_structural_failures_escalate_at_once() {
    for (kind, resolution) in [
        (FailureKind::Critical, IssueResolution::Escalate),
        (FailureKind::Structural, IssueResolution::Replan),
    ] {
        let memory = after([start(1), fail(1, kind)]);
        assert_eq!(task(&memory).status, PlanTaskStatus::Failed);
        assert_eq!(task(&memory).issues[0].resolution, resolution);
        assert_eq!(
            code(&memory, finish(Some(TaskResult::Success))),
            "unresolved_issue"
        );
    }
}

#[test]
fn a_person_recovers_a_failed_task_and_an_agent_does_not() {
    let memory = after([start(1), fail(1, FailureKind::Critical)]);
    assert_eq!(code(&memory, recover(Actor::Agent)), "needs_person");
    let recovered = play(&memory, [recover(Actor::Person)]).unwrap().0;
    let step = &task(&recovered).plan.steps[0];
    assert_eq!(
        (step.status, step.retries, &step.error),
        (StepStatus::Pending, 0, &None)
    );
    assert_eq!(task(&recovered).status, PlanTaskStatus::InProgress);
    assert_eq!(task(&recovered).issues[0].resolved_at, Some(NOON));
    assert_eq!(code(&recovered, recover(Actor::Person)), "task_in_progress");
}

#[test]
fn what_ran_beside_a_failed_step_may_still_be_reported() {
    let memory = after([
        start(1),
        complete(1),
        start(2),
        start(3),
        fail(2, FailureKind::Critical),
    ]);
    let (done, _) = play(&memory, [complete(3)]).unwrap();
    assert_eq!(task(&done).status, PlanTaskStatus::Failed);
    let (failed, effects) = play(&memory, [fail(3, FailureKind::Transient)]).unwrap();
    assert_eq!(effects, [Effect::Backup]);
    let (recovered, _) = play(&failed, [recover(Actor::Person)]).unwrap();
    let retries: Vec<_> = task(&recovered)
        .plan
        .steps
        .iter()
        .map(|it| it.retries)
        .collect();
    assert_eq!(retries, [0, 0, 1, 0]);
    assert_eq!(task(&recovered).plan.ready_steps(), [2, 3]);
}

#[test]
fn tries_before_a_recovery_count_in_the_history() {
    let once = [start(1), fail(1, FailureKind::Transient)];
    let thrice = [once.clone(), once.clone(), once.clone()].concat();
    let failed = after(thrice);
    let (recovered, _) = play(&failed, [recover(Actor::Person)]).unwrap();
    let step = &task(&recovered).plan.steps[0];
    assert_eq!((step.retries, step.earlier_retries), (0, 3));
    let again = [once.to_vec(), vec![start(1), complete(1), finish(None)]].concat();
    let (_, effects) = play(&recovered, again).unwrap();
    let entry = effects.iter().find_map(|effect| match effect {
        Effect::PushHistory(entry) => entry.details.clone(),
        _ => None,
    });
    assert_eq!(entry.unwrap().metrics.retries, 4);
}

#[test]
fn while_paused_step_verbs_are_refused_and_a_step_in_progress_stays() {
    assert_eq!(code(&diamond(), Command::TaskPause), "task_pending");
    let memory = after([start(1), Command::TaskPause]);
    for verb in [
        start(2),
        complete(1),
        fail(1, FailureKind::Transient),
        Command::StepAdd(NewStep {
            name: "more".into(),
            ..NewStep::default()
        }),
    ] {
        assert_eq!(code(&memory, verb), "task_paused");
    }
    assert_eq!(task(&memory).plan.steps[0].status, StepStatus::InProgress);
    let (resumed, _) = play(&memory, [Command::TaskResume, complete(1)]).unwrap();
    assert_eq!(task(&resumed).plan.current_step(), Some(2));
}

#[test]
fn cancel_goes_to_history_and_lets_the_next_task_in() {
    let new = new_task("task-2025-11-18-002", &[&[]]);
    let waiting = after([new, start(1)]);
    assert_eq!(waiting.queue.len(), 1);
    let (next, effects) = play(&waiting, [Command::TaskCancel]).unwrap();
    let entry = pushed(&effects);
    assert_eq!(
        (entry.result, entry.summary.as_str()),
        (TaskResult::Failure, "cancelled")
    );
    let read = DefaultSummary::parse(&entry.summary);
    assert_eq!(read, Some(DefaultSummary::Cancelled));
    assert_eq!(task(&next).id, "task-2025-11-18-002");
    assert_eq!(task(&next).status, PlanTaskStatus::Pending);
    let (_, effects) = play(&waiting, [complete(1), Command::TaskCancel]).unwrap();
    assert_eq!(pushed(&effects).result, TaskResult::Partial);
    for open in [
        after([start(1), Command::TaskPause]),
        after([start(1), fail(1, FailureKind::Critical)]),
        diamond(),
    ] {
        let (next, _) = play(&open, [Command::TaskCancel]).unwrap();
        assert_eq!(next.current, None);
    }
    assert_eq!(code(&TaskMemory::default(), Command::TaskCancel), "no_task");
}

#[test]
fn a_waiting_task_can_be_dropped_and_the_current_one_not() {
    let memory = after([new_task("task-2025-11-18-002", &[])]);
    let drop = |id: &str| Command::TaskDrop { id: id.into() };
    let (dropped, _) = play(&memory, [drop("task-2025-11-18-002")]).unwrap();
    assert_eq!(dropped.queue, []);
    assert_eq!(code(&memory, drop("task-2025-11-18-001")), "not_queued");
}

#[test]
fn plans_that_cannot_work_are_refused() {
    let empty = TaskMemory::default();
    let refused = |dependencies: &[&[u32]]| {
        PlanMachine::step(&empty, new_task("t", dependencies), NOON).unwrap_err()
    };
    assert_eq!(
        refused(&[&[3], &[1], &[2]]).to_string(),
        "steps depend on each other: 1 -> 3 -> 2 -> 1"
    );
    assert_eq!(refused(&[&[1]]).code(), "circular_dependency");
    assert_eq!(refused(&[&[7]]).code(), "missing_dependency");
    let numbered = |ids: &[u32]| {
        let step = |&id: &u32| NewStep {
            id: Some(id),
            name: "draft".into(),
            ..NewStep::default()
        };
        Command::NewTask(NewTask {
            id: "t".into(),
            name: "t".into(),
            steps: ids.iter().map(step).collect(),
            ..NewTask::default()
        })
    };
    assert_eq!(code(&empty, numbered(&[1, 1])), "duplicate_id");
    assert_eq!(code(&empty, numbered(&[0])), "bad_step_id");
    assert_eq!(code(&empty, numbered(&[u32::MAX; 1001])), "too_many");
    assert_eq!(
        code(&diamond(), new_task("task-2025-11-18-001", &[])),
        "duplicate_id"
    );
}

#[test]
fn an_added_step_gets_the_next_number() {
    let add = |dependencies: &[u32]| {
        Command::StepAdd(NewStep {
            name: "proofread".into(),
            dependencies: dependencies.to_vec(),
            ..NewStep::default()
        })
    };
    let memory = after([add(&[4, 4])]);
    let step = task(&memory).plan.steps.last().unwrap();
    assert_eq!((step.id, step.dependencies.as_slice()), (5, &[4][..]));
    assert_eq!(code(&memory, add(&[6])), "circular_dependency");
}

#[test]
fn artifacts_are_appended_at_completion_and_outputs_kept_as_they_are() {
    let page = TaskArtifact {
        kind: "file".into(),
        path: "post.md".into(),
        description: "the post".into(),
    };
    let done = Command::StepComplete {
        id: 1,
        output: Some("{\"b\": 1.50}".into()),
        artifacts: vec![page.clone(), page.clone()],
    };
    let memory = after([start(1), done]);
    assert_eq!(task(&memory).artifacts, [page]);
    let output = task(&memory).plan.steps[0].output.as_deref();
    assert_eq!(output, Some("{\"b\": 1.50}"));
}

#[test]
fn status_changes_are_backed_up_and_mere_planning_is_not() {
    let backed = |from: &TaskMemory, command| {
        let effects = play(from, [command]).unwrap().1;
        effects.contains(&Effect::Backup)
    };
    assert!(backed(&TaskMemory::default(), new_task("t", &[])));
    assert!(backed(&diamond(), start(1)));
    assert!(backed(&diamond(), finish(None)));
    assert!(!backed(&diamond(), new_task("t", &[])));
}

#[test]
fn a_current_task_that_history_has_is_cleared() {
    let memory = after([new_task("task-2025-11-18-002", &[])]);
    assert_eq!(memory.without_finished(&[], NOON), None);
    let history = [entry("task-2025-11-18-001", NOON)];
    let cleared = memory.without_finished(&history, NOON).unwrap();
    assert_eq!(task(&cleared).id, "task-2025-11-18-002");
    assert_eq!(cleared.queue, []);
}

#[test]
fn a_clock_set_back_gives_no_negative_times() {
    let memory = after([start(1)]);
    let before = later(-3600);
    let step = PlanMachine::step(&memory, complete(1), before).unwrap();
    assert_eq!(PlanMachine::violations(&step.next), []);
    let over = PlanMachine::step(&step.next, finish(None), before).unwrap();
    assert_eq!(pushed(&over.effects).duration_seconds, 0);
}

#[test]
fn ids_count_within_their_day() {
    let known = [
        "task-2025-11-18-001",
        "task-2025-11-18-007",
        "task-2025-11-17-044",
        "task-2025-11-18-x",
    ];
    assert_eq!(next_id("task", "2025-11-18", known), "task-2025-11-18-008");
    assert_eq!(next_id("task", "2025-11-19", known), "task-2025-11-19-001");
    let full = ["session-2025-11-18-999"];
    assert_eq!(
        next_id("session", "2025-11-18", full),
        "session-2025-11-18-1000"
    );
}

fn entry(id: &str, completed_at: Timestamp) -> HistoryEntry {
    HistoryEntry {
        id: id.into(),
        name: id.into(),
        result: TaskResult::Success,
        started_at: completed_at,
        completed_at,
        duration_seconds: 100,
        summary: "done".into(),
        details: Some(HistoryDetails::default()),
    }
}

#[test]
fn similar_tasks_share_words_and_have_something_to_teach() {
    let told = |name: &str, at: i64, lessons: &[&str]| HistoryEntry {
        name: name.into(),
        details: Some(HistoryDetails {
            lessons: lessons.iter().map(|&text| text.into()).collect(),
            ..HistoryDetails::default()
        }),
        ..entry(name, Timestamp(at))
    };
    let entries = [
        told("Night ferry guide", 1, &["timetables first"]),
        told("Ferry prices", 2, &["ask twice"]),
        told("Ferry pictures", 3, &[]),
        told("Desk", 4, &["sweep"]),
        told("야간 여객선 안내", 5, &["시간표 먼저"]),
        told("the and a", 6, &["nothing"]),
    ];
    let names = |text: &str| -> Vec<&str> {
        let found = find_similar(&entries, text);
        found.into_iter().map(|entry| entry.name.as_str()).collect()
    };
    assert_eq!(
        names("A guide to the night FERRY"),
        ["Night ferry guide", "Ferry prices"]
    );
    assert_eq!(names("여객선의 요금"), ["야간 여객선 안내"]);
    assert!(names("to be or not").is_empty());
}

#[test]
fn statistics_cover_exactly_the_entries() {
    let mut entries = vec![entry("a", NOON), entry("b", NOON), entry("c", NOON)];
    entries[1].result = TaskResult::Partial;
    entries[2].duration_seconds = 302;
    entries[2].result = TaskResult::Failure;
    let numbers = compute_statistics(&entries);
    assert_eq!(
        (numbers.total_tasks, numbers.avg_duration_seconds),
        (3, 167)
    );
    assert!((numbers.success_rate - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(compute_statistics(&[]), HistoryStatistics::default());
}

#[test]
fn the_newest_100_are_kept_and_old_ones_summarised() {
    let day = |days: i64| later(-days * DAY);
    let mut entries: Vec<_> = (0..120).map(|n| entry(&format!("t{n}"), day(n))).collect();
    let pruned = prune_history(&mut entries, NOON);
    assert_eq!((entries.len(), pruned.removed.len()), (100, 20));
    assert_eq!(pruned.removed[0], "t100");
    assert_eq!(entries.iter().filter(|it| it.details.is_some()).count(), 30);
    assert_eq!(pruned.summarised.first().unwrap(), "t30");
    assert_eq!(prune_history(&mut entries, NOON), PrunedHistory::default());
}

#[test]
fn an_entry_is_pushed_once() {
    let mut entries = vec![];
    assert!(push_entry(&mut entries, entry("a", NOON)));
    assert!(!push_entry(&mut entries, entry("a", NOON)));
    assert_eq!(entries.len(), 1);
}

#[test]
fn the_table_has_only_sound_states_and_known_labels() {
    let labels: Vec<String> = PlanMachine::sample_states()
        .iter()
        .map(|(_, state)| PlanMachine::state_label(state))
        .collect();
    for (name, state) in PlanMachine::sample_states() {
        let closed = name == "task completed by hand";
        assert_eq!(
            PlanMachine::violations(&state).len(),
            usize::from(closed),
            "{name}"
        );
    }
    for row in table::table_rows::<PlanMachine>() {
        if let table::TableCell::Moves { to, .. } = row.cell {
            assert!(labels.contains(&to), "{} leads to {to}", row.command);
        }
    }
}

fn any_command() -> impl Strategy<Value = Command> {
    let id = || 1u32..6;
    let kind = prop::sample::select(FailureKind::ALL.to_vec());
    let task_id = prop::sample::select(vec!["a", "b", "c"]);
    let plan = || {
        prop::sample::select(vec![
            vec![],
            vec![vec![]],
            vec![vec![], vec![1]],
            vec![vec![2], vec![], vec![1, 2], vec![1]],
            vec![vec![2], vec![1]],
        ])
    };
    let actor = prop::sample::select(vec![Actor::Agent, Actor::Person]);
    prop_oneof![
        2 => (task_id.clone(), plan()).prop_map(|(id, plan): (_, Vec<Vec<u32>>)| {
            let plan: Vec<&[u32]> = plan.iter().map(Vec::as_slice).collect();
            new_task(id, &plan)
        }),
        1 => id().prop_map(|id| Command::StepAdd(NewStep {
            name: "more".into(), dependencies: vec![id], ..NewStep::default()
        })),
        10 => id().prop_map(start),
        8 => id().prop_map(complete),
        6 => (id(), kind).prop_map(|(id, kind)| fail(id, kind)),
        1 => Just(Command::TaskPause),
        2 => Just(Command::TaskResume),
        1 => Just(Command::TaskCancel),
        1 => Just(finish(None)),
        3 => actor.prop_map(recover),
        1 => task_id.prop_map(|id| Command::TaskDrop { id: id.into() }),
    ]
}

proptest! {
    #[test]
    fn random_commands_keep_every_invariant(commands in prop::collection::vec((any_command(), -30i64..90), 0..80)) {
        let mut memory = TaskMemory::default();
        let mut now = NOON;
        for (command, seconds) in commands {
            now = Timestamp(now.0 + seconds);
            let Ok(step) = PlanMachine::step(&memory, command, now) else { continue };
            for effect in step.effects {
                match effect {
                    Effect::PushHistory(entry) => {
                        prop_assert_eq!(Some(&entry.id), memory.current.as_ref().map(|task| &task.id));
                        prop_assert!(entry.completed_at >= entry.started_at);
                    }
                    Effect::RetryAfter { step: id, seconds } => {
                        prop_assert!(seconds == 2 || seconds == 4);
                        prop_assert!(task(&step.next).plan.ready_steps().contains(&id));
                    }
                    Effect::Escalate { .. } => prop_assert_eq!(PlanMachine::status_name(&step.next), "failed"),
                    Effect::Backup => {}
                }
            }
            memory = step.next;
            prop_assert_eq!(PlanMachine::violations(&memory), vec![]);
            if let Some(task) = &memory.current {
                let open = task.plan.steps.iter().filter(|it| it.status != StepStatus::Completed).map(|it| it.id).min();
                let last = task.plan.steps.iter().map(|it| it.id).max();
                prop_assert_eq!(task.plan.current_step(), open.or(last));
            }
        }
    }

    #[test]
    fn what_is_advised_is_never_refused(commands in prop::collection::vec(any_command(), 0..60)) {
        let mut memory = TaskMemory::default();
        for command in commands {
            if let Ok(step) = PlanMachine::step(&memory, command, NOON) {
                memory = step.next;
            }
        }
        let advice = PlanMachine::advice(&memory);
        prop_assert!(!advice.is_empty());
        for advice in advice {
            let id = advice.target.as_deref().map_or(0, |id| id.parse().unwrap());
            let command = match advice.verb {
                "task new" => new_task("fresh", &[]),
                "step start" => start(id),
                "step complete" => complete(id),
                "step fail" => fail(id, FailureKind::Resource),
                "step add" => Command::StepAdd(NewStep { name: "more".into(), ..NewStep::default() }),
                "task finish" => finish(None),
                "task resume" => Command::TaskResume,
                "task cancel" => Command::TaskCancel,
                "task recover" => recover(Actor::Person),
                unknown => panic!("advice nobody knows: {unknown}"),
            };
            prop_assert!(PlanMachine::step(&memory, command, NOON).is_ok(), "{:?}", advice);
        }
    }
}
