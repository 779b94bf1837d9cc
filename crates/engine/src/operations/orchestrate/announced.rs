//! Notifications about a run. They are stored in the journal with the change that caused them until
//! they are delivered or given up: a crash loses none, but one may be sent twice.

use bowline_machines::orchestrate::{Effect, Event, Run, Status};
use serde::{Deserialize, Serialize};

/// Kind of notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
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

impl News {
    /// Returns the word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            News::Started => "started",
            News::TaskDone => "task_done",
            News::TaskFailed => "task_failed",
            News::PhaseDone => "phase_done",
            News::PhaseNotLanded => "phase_not_landed",
            News::AllDone => "all_done",
            News::Stalled => "stalled",
        }
    }
}

/// Notification, with the state of the run at that moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    pub news: News,
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

impl Announced {
    /// Returns the notification that a run begins.
    pub fn started(run: &Run) -> Announced {
        of(run, News::Started)
    }

    /// Returns the notifications for the effects of a change.
    pub(super) fn all(effects: &[Effect], run: &Run) -> Vec<Announced> {
        let events = effects.iter().filter_map(|effect| match effect {
            Effect::Notify(event) => Some(event),
            Effect::TickTask(_)
            | Effect::BecameReady(_)
            | Effect::Blocked(_)
            | Effect::PhaseReached(_) => None,
        });
        let one = |event: &Event| match event {
            Event::TaskDone(id) => Announced {
                tasks: vec![id.to_string()],
                ..of(run, News::TaskDone)
            },
            Event::TaskFailed(id) => Announced {
                tasks: vec![id.to_string()],
                error: run
                    .node(id)
                    .and_then(|node| node.error.as_deref().map(str::to_owned)),
                ..of(run, News::TaskFailed)
            },
            Event::PhaseDone(phase) => Announced {
                phase: Some(*phase),
                ..of(run, News::PhaseDone)
            },
            Event::PhaseNotLanded(phase) => Announced {
                phase: Some(*phase),
                ..of(run, News::PhaseNotLanded)
            },
            Event::AllDone => of(run, News::AllDone),
            Event::Stalled => Announced {
                tasks: run
                    .ids(Status::Failed)
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
                ..of(run, News::Stalled)
            },
        };
        events.map(one).collect()
    }
}

fn of(run: &Run, news: News) -> Announced {
    let metrics = run.metrics();
    Announced {
        news,
        tasks: Vec::new(),
        phase: None,
        error: None,
        done: metrics.completed_count,
        total: metrics.total_tasks,
    }
}
