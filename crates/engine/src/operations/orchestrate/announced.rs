//! What people elsewhere are told of a run. It is kept in the journal with the move that caused it until it is delivered or
//! given up, so that a crash loses no news; a double is possible.

use bowline_machines::orchestrate::{Effect, Event, Run, Status};
use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// A run was begun or gone on with.
    Started,
    /// A task is done.
    TaskDone,
    /// A task failed for good.
    TaskFailed,
    /// A phase is done and on the main line.
    PhaseDone,
    /// A phase is complete but did not land.
    PhaseNotLanded,
    /// Everything is done.
    AllDone,
    /// Nothing can go on without somebody.
    Stalled,
}

impl News {
    /// The word in JSON.
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

/// One piece of news, with what there was to tell at that moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// What happened.
    pub news: News,
    /// The tasks it is about.
    #[serde(default)]
    pub tasks: Vec<String>,
    /// The phase it is about.
    #[serde(default)]
    pub phase: Option<u32>,
    /// Why, where something failed.
    #[serde(default)]
    pub error: Option<String>,
    /// Tasks that are done.
    pub done: usize,
    /// All tasks.
    pub total: usize,
}

impl Announced {
    /// That a run begins.
    pub fn started(run: &Run) -> Announced {
        of(run, News::Started)
    }

    /// What the effects of a move have to tell.
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
