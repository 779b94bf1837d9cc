//! Notifications about a run. They are stored in the journal with the change that caused them until
//! they are delivered or given up: a crash loses none, but one may be sent twice.

use bowline_machines::orchestrate::{Effect, NodeStatus, OrchestrationEvent, OrchestrationState};
use serde::{Deserialize, Serialize};

/// Kind of notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationKind {
    /// A run was begun or resumed.
    Started,
    TaskDone,
    /// A task failed and is not retried by itself.
    TaskFailed,
    /// A phase is done and merged.
    PhaseDone,
    /// A phase is complete but was not merged.
    PhaseNotLanded,
    /// Everything is done.
    AllDone,
    /// Nothing can continue without a person.
    Stalled,
}

impl NotificationKind {
    /// Returns the word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            NotificationKind::Started => "started",
            NotificationKind::TaskDone => "task_done",
            NotificationKind::TaskFailed => "task_failed",
            NotificationKind::PhaseDone => "phase_done",
            NotificationKind::PhaseNotLanded => "phase_not_landed",
            NotificationKind::AllDone => "all_done",
            NotificationKind::Stalled => "stalled",
        }
    }
}

/// Notification, with the state of the run at that moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNotification {
    pub news: NotificationKind,
    /// Tasks it is about.
    #[serde(default)]
    pub tasks: Vec<String>,
    /// Phase it is about.
    #[serde(default)]
    pub phase: Option<u32>,
    /// Reason of a failure.
    #[serde(default)]
    pub error: Option<String>,
    /// Number of tasks that are done.
    pub done: usize,
    /// Number of all tasks.
    pub total: usize,
}

impl RunNotification {
    /// Returns the notification that a run begins.
    pub fn run_started(run: &OrchestrationState) -> RunNotification {
        notification_of(run, NotificationKind::Started)
    }

    /// Returns the notifications for the effects of a change.
    pub(super) fn from_effects(
        effects: &[Effect],
        run: &OrchestrationState,
    ) -> Vec<RunNotification> {
        let events = effects.iter().filter_map(|effect| match effect {
            Effect::Notify(event) => Some(event),
            Effect::TickTask(_)
            | Effect::BecameReady(_)
            | Effect::Blocked(_)
            | Effect::PhaseReached(_) => None,
        });
        let one = |event: &OrchestrationEvent| match event {
            OrchestrationEvent::TaskDone(id) => RunNotification {
                tasks: vec![id.to_string()],
                ..notification_of(run, NotificationKind::TaskDone)
            },
            OrchestrationEvent::TaskFailed(id) => RunNotification {
                tasks: vec![id.to_string()],
                error: run
                    .find_node(id)
                    .and_then(|node| node.error.as_deref().map(str::to_owned)),
                ..notification_of(run, NotificationKind::TaskFailed)
            },
            OrchestrationEvent::PhaseDone(phase) => RunNotification {
                phase: Some(*phase),
                ..notification_of(run, NotificationKind::PhaseDone)
            },
            OrchestrationEvent::PhaseNotLanded(phase) => RunNotification {
                phase: Some(*phase),
                ..notification_of(run, NotificationKind::PhaseNotLanded)
            },
            OrchestrationEvent::AllDone => notification_of(run, NotificationKind::AllDone),
            OrchestrationEvent::Stalled => RunNotification {
                tasks: run
                    .ids_with_status(NodeStatus::Failed)
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
                ..notification_of(run, NotificationKind::Stalled)
            },
        };
        events.map(one).collect()
    }
}

fn notification_of(run: &OrchestrationState, news: NotificationKind) -> RunNotification {
    let metrics = run.metrics();
    RunNotification {
        news,
        tasks: Vec::new(),
        phase: None,
        error: None,
        done: metrics.completed_count,
        total: metrics.total_tasks,
    }
}
