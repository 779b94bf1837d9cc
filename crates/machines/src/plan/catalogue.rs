//! The representative states and commands of tasks, seen from the second of two steps.

use super::{
    ActiveTask, Command, Effect, FailureKind, IssueResolution, NewStep, NewTask, PlanMachine,
    PlanStep, PlanTaskStatus, QueuedTask, StepError, StepIssue, StepStatus, TRIES_MAX, TaskContext,
    TaskMemory, TaskPlan,
};
use crate::kernel::Actor;
use crate::table::{MachineCatalogue, PAST_TIME, TABLE_TIME};

const CURRENT: &str = "task-2026-01-01-001";
const WAITING: &str = "task-2026-01-01-002";
const STEP: u32 = 2;

impl MachineCatalogue for PlanMachine {
    const KIND: &'static str = "memory";

    fn sample_states() -> Vec<(&'static str, TaskMemory)> {
        let with = |status, first, second| TaskMemory {
            current: Some(sample_task(status, vec![first, second])),
            queue: vec![],
        };
        let working = |second| with(PlanTaskStatus::InProgress, completed_step(1), second);
        let mut escalated = with(
            PlanTaskStatus::Failed,
            completed_step(1),
            failed_step(TRIES_MAX),
        );
        if let Some(task) = &mut escalated.current {
            task.issues.push(StepIssue {
                step_id: STEP,
                kind: FailureKind::Transient,
                message: "no answer".into(),
                resolution: IssueResolution::Escalate,
                resolved: false,
                resolved_at: None,
            });
        }
        let mut behind = working(begun_step());
        behind.queue.push(QueuedTask {
            id: WAITING.into(),
            name: "newsletter".into(),
            orchestrator: "orchestrator".into(),
            plan: TaskPlan::default(),
            context: TaskContext::default(),
            created_at: PAST_TIME,
        });
        vec![
            ("no task", TaskMemory::default()),
            (
                "task pending",
                with(PlanTaskStatus::Pending, pending_step(1), pending_step(STEP)),
            ),
            ("step pending", working(pending_step(STEP))),
            ("step in progress", working(begun_step())),
            ("step in progress, a task waits", behind),
            ("step failed once", working(failed_step(1))),
            ("step failed twice, tried again", working(tried_again())),
            ("all steps completed", working(completed_step(STEP))),
            (
                "task paused",
                with(PlanTaskStatus::Paused, completed_step(1), begun_step()),
            ),
            ("task failed", escalated),
            (
                "task completed by hand",
                with(
                    PlanTaskStatus::Completed,
                    completed_step(1),
                    completed_step(STEP),
                ),
            ),
        ]
    }

    fn sample_commands() -> Vec<(&'static str, Command)> {
        let new_task = |id: &str, dependencies: &[u32]| {
            Command::NewTask(NewTask {
                id: id.into(),
                name: "release notes".into(),
                steps: vec![new_step(&[]), new_step(dependencies)],
                ..NewTask::default()
            })
        };
        let fail = |kind| Command::StepFail {
            id: STEP,
            kind,
            message: "no answer".into(),
        };
        let recover = |by| Command::TaskRecover { by, reason: None };
        vec![
            ("task new", new_task("task-2026-01-01-003", &[1])),
            ("task new, id taken", new_task(CURRENT, &[1])),
            (
                "task new, circular steps",
                new_task("task-2026-01-01-003", &[2]),
            ),
            (
                "task new, missing dependency",
                new_task("task-2026-01-01-003", &[7]),
            ),
            ("task drop", Command::TaskDrop { id: WAITING.into() }),
            ("step add", Command::StepAdd(new_step(&[STEP]))),
            ("step start", Command::StepStart { id: STEP }),
            (
                "step complete",
                Command::StepComplete {
                    id: STEP,
                    output: None,
                    artifacts: vec![],
                },
            ),
            ("step fail", fail(FailureKind::Transient)),
            ("step fail, structural", fail(FailureKind::Structural)),
            ("step fail, critical", fail(FailureKind::Critical)),
            ("task pause", Command::TaskPause),
            ("task resume", Command::TaskResume),
            ("task cancel", Command::TaskCancel),
            (
                "task finish",
                Command::TaskFinish {
                    result: None,
                    summary: None,
                    lessons: vec![],
                    tokens: None,
                },
            ),
            (
                "task finish --result success",
                Command::TaskFinish {
                    result: Some(super::TaskResult::Success),
                    summary: None,
                    lessons: vec![],
                    tokens: None,
                },
            ),
            ("task recover", recover(Actor::Person)),
            ("task recover by an agent", recover(Actor::Agent)),
        ]
    }

    fn state_label(memory: &TaskMemory) -> String {
        let Some(task) = &memory.current else {
            return "no task".into();
        };
        match task.status {
            PlanTaskStatus::Pending => "task pending".into(),
            PlanTaskStatus::Paused => "task paused".into(),
            PlanTaskStatus::Failed => "task failed".into(),
            PlanTaskStatus::Completed | PlanTaskStatus::Cancelled => "task closed".into(),
            PlanTaskStatus::InProgress => match task.plan.find_step(STEP).map(|step| step.status) {
                Some(StepStatus::Pending) | None => "step pending".into(),
                Some(StepStatus::InProgress) => "step in progress".into(),
                Some(StepStatus::Completed) => "step completed".into(),
                Some(StepStatus::Failed) => "step failed, may retry".into(),
            },
        }
    }

    fn describe_effect(effect: &Effect) -> String {
        match effect {
            Effect::Backup => "back up".into(),
            Effect::PushHistory(entry) => format!("to the history as {}", entry.result.name()),
            Effect::Escalate { resolution, .. } => {
                format!("ask a person to {}", resolution.name())
            }
            Effect::RetryAfter { seconds, .. } => format!("retry after {seconds} s"),
        }
    }
}

fn new_step(dependencies: &[u32]) -> NewStep {
    NewStep {
        name: "write".into(),
        agent: "writer".into(),
        dependencies: dependencies.to_vec(),
        ..NewStep::default()
    }
}

fn sample_task(status: PlanTaskStatus, steps: Vec<PlanStep>) -> ActiveTask {
    ActiveTask {
        id: CURRENT.into(),
        name: "blog post".into(),
        status,
        started_at: PAST_TIME,
        updated_at: PAST_TIME,
        orchestrator: "orchestrator".into(),
        plan: TaskPlan {
            goal: "publish".into(),
            success_criteria: vec![],
            steps,
        },
        context: TaskContext::default(),
        artifacts: vec![],
        issues: vec![],
    }
}

fn pending_step(id: u32) -> PlanStep {
    PlanStep {
        id,
        name: "write".into(),
        agent: "writer".into(),
        cluster: String::new(),
        status: StepStatus::Pending,
        dependencies: (1..id).collect(),
        started_at: None,
        completed_at: None,
        output: None,
        error: None,
        retries: 0,
        earlier_retries: 0,
    }
}

fn begun_step() -> PlanStep {
    PlanStep {
        status: StepStatus::InProgress,
        started_at: Some(PAST_TIME),
        ..pending_step(STEP)
    }
}

fn tried_again() -> PlanStep {
    PlanStep {
        retries: TRIES_MAX - 1,
        ..begun_step()
    }
}

fn completed_step(id: u32) -> PlanStep {
    PlanStep {
        status: StepStatus::Completed,
        started_at: Some(PAST_TIME),
        completed_at: Some(TABLE_TIME),
        ..pending_step(id)
    }
}

fn failed_step(retries: u32) -> PlanStep {
    PlanStep {
        status: StepStatus::Failed,
        error: Some(StepError {
            kind: FailureKind::Transient,
            message: "no answer".into(),
            at: TABLE_TIME,
            retries,
        }),
        retries,
        ..begun_step()
    }
}
