//! The representative states and commands of tasks, seen from the second of two steps.

use super::{
    Command, Context, Effect, FailureKind, Issue, Memory, NewStep, NewTask, Plan, PlanMachine,
    PlanStep, Queued, Resolution, StepError, StepStatus, TRIES_MAX, Task, TaskStatus,
};
use crate::kernel::Actor;
use crate::table::{AT, Catalogue, EARLIER};

const CURRENT: &str = "task-2026-01-01-001";
const WAITING: &str = "task-2026-01-01-002";
const STEP: u32 = 2;

impl Catalogue for PlanMachine {
    const KIND: &'static str = "memory";

    fn states() -> Vec<(&'static str, Memory)> {
        let with = |status, first, second| Memory {
            current: Some(task(status, vec![first, second])),
            queue: vec![],
        };
        let working = |second| with(TaskStatus::InProgress, done(1), second);
        let mut escalated = with(TaskStatus::Failed, done(1), failed(TRIES_MAX));
        if let Some(task) = &mut escalated.current {
            task.issues.push(Issue {
                step_id: STEP,
                kind: FailureKind::Transient,
                message: "no answer".into(),
                resolution: Resolution::Escalate,
                resolved: false,
                resolved_at: None,
            });
        }
        let mut behind = working(begun());
        behind.queue.push(Queued {
            id: WAITING.into(),
            name: "newsletter".into(),
            orchestrator: "orchestrator".into(),
            plan: Plan::default(),
            context: Context::default(),
            created_at: EARLIER,
        });
        vec![
            ("no task", Memory::default()),
            (
                "task pending",
                with(TaskStatus::Pending, pending(1), pending(STEP)),
            ),
            ("step pending", working(pending(STEP))),
            ("step in progress", working(begun())),
            ("step in progress, a task waits", behind),
            ("step failed once", working(failed(1))),
            ("step failed twice, tried again", working(tried_again())),
            ("all steps completed", working(done(STEP))),
            ("task paused", with(TaskStatus::Paused, done(1), begun())),
            ("task failed", escalated),
            (
                "task completed by hand",
                with(TaskStatus::Completed, done(1), done(STEP)),
            ),
        ]
    }

    fn commands() -> Vec<(&'static str, Command)> {
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

    fn label(memory: &Memory) -> String {
        let Some(task) = &memory.current else {
            return "no task".into();
        };
        match task.status {
            TaskStatus::Pending => "task pending".into(),
            TaskStatus::Paused => "task paused".into(),
            TaskStatus::Failed => "task failed".into(),
            TaskStatus::Completed | TaskStatus::Cancelled => "task closed".into(),
            TaskStatus::InProgress => match task.plan.step(STEP).map(|step| step.status) {
                Some(StepStatus::Pending) | None => "step pending".into(),
                Some(StepStatus::InProgress) => "step in progress".into(),
                Some(StepStatus::Completed) => "step completed".into(),
                Some(StepStatus::Failed) => "step failed, may retry".into(),
            },
        }
    }

    fn effect(effect: &Effect) -> String {
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

fn task(status: TaskStatus, steps: Vec<PlanStep>) -> Task {
    Task {
        id: CURRENT.into(),
        name: "blog post".into(),
        status,
        started_at: EARLIER,
        updated_at: EARLIER,
        orchestrator: "orchestrator".into(),
        plan: Plan {
            goal: "publish".into(),
            success_criteria: vec![],
            steps,
        },
        context: Context::default(),
        artifacts: vec![],
        issues: vec![],
    }
}

fn pending(id: u32) -> PlanStep {
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

fn begun() -> PlanStep {
    PlanStep {
        status: StepStatus::InProgress,
        started_at: Some(EARLIER),
        ..pending(STEP)
    }
}

fn tried_again() -> PlanStep {
    PlanStep {
        retries: TRIES_MAX - 1,
        ..begun()
    }
}

fn done(id: u32) -> PlanStep {
    PlanStep {
        status: StepStatus::Completed,
        started_at: Some(EARLIER),
        completed_at: Some(AT),
        ..pending(id)
    }
}

fn failed(retries: u32) -> PlanStep {
    PlanStep {
        status: StepStatus::Failed,
        error: Some(StepError {
            kind: FailureKind::Transient,
            message: "no answer".into(),
            at: AT,
            retries,
        }),
        retries,
        ..begun()
    }
}
