//! Plans: one task at a time with its steps, the tasks that wait behind it, and the history of those that are over.

mod catalogue;
mod check;
mod history;
mod ids;
mod refusal;
mod step;
#[cfg(test)]
mod tests;
mod words;

pub use check::PLAN_HAS_NO_CYCLE;
pub use history::{
    HISTORY_DAYS_FULL, HISTORY_TASKS_MAX, HistoryDetails, HistoryEntry, HistoryMetrics, Pruned,
    Statistics, TaskResult, prune, push, similar, statistics,
};
pub use ids::next_id;
pub use refusal::Refusal;
pub use step::PlanMachine;
pub use words::{FailureKind, Resolution, StepStatus, TaskStatus};

use crate::kernel::{Actor, Timestamp};

/// Tries a step has before it is escalated to a person.
pub const TRIES_MAX: u32 = 3;
/// How long a runner waits after the first failure; it doubles with every further one.
pub const RETRY_BASE_SECONDS: u32 = 2;
/// Steps one plan may have.
pub const STEPS_MAX: usize = 1_000;
/// Tasks that may wait behind the current one.
pub const QUEUE_MAX: usize = 1_000;
/// Who leads a task when nobody says.
pub const ORCHESTRATOR_DEFAULT: &str = "orchestrator";

/// Why the latest try of a step failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// What kind of failure.
    pub kind: FailureKind,
    /// A sentence for people.
    pub message: String,
    /// When.
    pub at: Timestamp,
    /// Failed tries of the step, this one included.
    pub retries: u32,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// Number by which it is known; the first is 1.
    pub id: u32,
    /// What is to be done.
    pub name: String,
    /// Who does it.
    pub agent: String,
    /// The group of agents it belongs to, a free word.
    pub cluster: String,
    /// Where it stands.
    pub status: StepStatus,
    /// Steps that must be completed first.
    pub dependencies: Vec<u32>,
    /// Start of the latest try.
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    pub completed_at: Option<Timestamp>,
    /// What came out, as JSON text that is never looked into here.
    pub output: Option<String>,
    /// Set while failed.
    pub error: Option<StepError>,
    /// Failed tries since it was last reopened.
    pub retries: u32,
    /// Failed tries before a person reopened it; they count in the history, not against the limit.
    pub earlier_retries: u32,
}

/// Goal, criteria and steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What is to be reached.
    pub goal: String,
    /// How to tell that it is.
    pub success_criteria: Vec<String>,
    /// The steps, in the order of the file.
    pub steps: Vec<PlanStep>,
}

impl Plan {
    /// The step with that id.
    pub fn step(&self, id: u32) -> Option<&PlanStep> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// The lowest id not completed; the last id when all are; nothing for a plan without steps.
    pub fn current_step(&self) -> Option<u32> {
        let open = self
            .steps
            .iter()
            .filter(|step| step.status != StepStatus::Completed);
        open.map(|step| step.id)
            .min()
            .or_else(|| self.steps.iter().map(|step| step.id).max())
    }

    /// How many steps are completed.
    pub fn completed_steps(&self) -> usize {
        let completed = |step: &&PlanStep| step.status == StepStatus::Completed;
        self.steps.iter().filter(completed).count()
    }

    /// Dependencies of a step that are not completed yet.
    pub fn missing_dependencies(&self, step: &PlanStep) -> Vec<u32> {
        let completed = |id: u32| {
            self.step(id)
                .is_some_and(|it| it.status == StepStatus::Completed)
        };
        let mut missing = step.dependencies.clone();
        missing.retain(|&id| !completed(id));
        missing
    }

    /// Steps that could be started now, side by side, lowest id first.
    pub fn ready_steps(&self) -> Vec<u32> {
        let startable = |step: &&PlanStep| match step.status {
            StepStatus::Pending => true,
            StepStatus::Failed => step.retries < TRIES_MAX,
            StepStatus::InProgress | StepStatus::Completed => false,
        };
        let free = |step: &&PlanStep| self.missing_dependencies(step).is_empty();
        let ready = self.steps.iter().filter(startable).filter(free);
        let mut ids: Vec<u32> = ready.map(|step| step.id).collect();
        ids.sort_unstable();
        ids
    }
}

/// What was asked for, and within which bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The request in the words of whoever made it.
    pub user_request: String,
    /// What must be kept to.
    pub constraints: Vec<String>,
    /// What may be used.
    pub resources: Vec<String>,
}

/// Something a task made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// `file` or `data`.
    pub kind: String,
    /// Where it is.
    pub path: String,
    /// What it is.
    pub description: String,
}

/// Trouble with a step that somebody has to deal with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Which step.
    pub step_id: u32,
    /// What kind of failure.
    pub kind: FailureKind,
    /// A sentence for people.
    pub message: String,
    /// What is to be done.
    pub resolution: Resolution,
    /// It is over.
    pub resolved: bool,
    /// Since when.
    pub resolved_at: Option<Timestamp>,
}

impl Issue {
    /// A person has to act, and has not yet.
    pub fn waits_for_person(&self) -> bool {
        !self.resolved && self.resolution.needs_person()
    }
}

/// The task being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// `task-YYYY-MM-DD-NNN`.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// When it became the current task.
    pub started_at: Timestamp,
    /// The latest change.
    pub updated_at: Timestamp,
    /// Who leads it.
    pub orchestrator: String,
    /// Goal and steps.
    pub plan: Plan,
    /// The request behind it.
    pub context: Context,
    /// What it made so far.
    pub artifacts: Vec<Artifact>,
    /// Trouble, past and present.
    pub issues: Vec<Issue>,
}

/// A task that waits for the current one to be over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// `task-YYYY-MM-DD-NNN`.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Who is to lead it.
    pub orchestrator: String,
    /// Goal and steps.
    pub plan: Plan,
    /// The request behind it.
    pub context: Context,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// All tasks that are not over: at most one is being worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The one being worked on.
    pub current: Option<Task>,
    /// Those behind it, the next first.
    pub queue: Vec<Queued>,
}

impl Memory {
    /// Clears a current task that the history already has, and lets the next one in; `None` when nothing is amiss.
    pub fn without_finished(&self, history: &[HistoryEntry], at: Timestamp) -> Option<Memory> {
        let current = self.current.as_ref()?;
        history
            .iter()
            .any(|entry| entry.id == current.id)
            .then(|| step::promoted(self, at))
    }
}

/// A step as somebody asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewStep {
    /// Its number; the next free one when not given.
    pub id: Option<u32>,
    /// What is to be done.
    pub name: String,
    /// Who does it.
    pub agent: String,
    /// The group of agents it belongs to.
    pub cluster: String,
    /// Steps that must be completed first.
    pub dependencies: Vec<u32>,
}

/// A task as somebody asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    /// A fresh id, see [`next_id`].
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Who leads it; [`ORCHESTRATOR_DEFAULT`] when not given.
    pub orchestrator: Option<String>,
    /// What is to be reached.
    pub goal: String,
    /// How to tell that it is.
    pub success_criteria: Vec<String>,
    /// The steps.
    pub steps: Vec<NewStep>,
    /// The request behind it.
    pub context: Context,
}

/// What somebody wants of the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin a task, or queue it behind the current one.
    NewTask(NewTask),
    /// Add a step to the current task.
    StepAdd(NewStep),
    /// Begin a step, or try a failed one again.
    StepStart {
        /// Which.
        id: u32,
    },
    /// End a step well.
    StepComplete {
        /// Which.
        id: u32,
        /// What came out, as JSON text.
        output: Option<String>,
        /// What was made.
        artifacts: Vec<Artifact>,
    },
    /// End a try of a step badly.
    StepFail {
        /// Which.
        id: u32,
        /// What kind of failure.
        kind: FailureKind,
        /// A sentence for people.
        message: String,
    },
    /// Set the task aside.
    TaskPause,
    /// Take it up again.
    TaskResume,
    /// Give it up.
    TaskCancel,
    /// End it.
    TaskFinish {
        /// What it came to; told from the steps when not given.
        result: Option<TaskResult>,
        /// What was done, in a sentence or two.
        summary: Option<String>,
        /// What to do better next time.
        lessons: Vec<String>,
        /// Tokens spent.
        tokens: Option<u64>,
    },
    /// Reopen a failed task: a person's move.
    TaskRecover {
        /// Who asks.
        by: Actor,
        /// Why it will go better now.
        reason: Option<String>,
    },
    /// Forget a task that waits.
    TaskDrop {
        /// Which.
        id: String,
    },
}

/// What must follow a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// An important change: keep the version of the file from before it.
    Backup,
    /// Write the task to the history with [`push`], unless it is there already.
    PushHistory(Box<HistoryEntry>),
    /// Tell a person that a step needs them.
    Escalate {
        /// Which.
        step: u32,
        /// What they are asked for.
        resolution: Resolution,
    },
    /// A runner tries the step again after this time; a person need not wait.
    RetryAfter {
        /// Which.
        step: u32,
        /// How long.
        seconds: u32,
    },
}
