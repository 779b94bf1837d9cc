//! Timeline of a run: the attempts of every task, from the history of the file and from the file
//! itself.

use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::history;
use bowline_formats::time;
use bowline_formats::transition::Transition;
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::{NodeId, NodeStatus, OrchestrationState};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// End of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryEnd {
    Running,
    Done,
    Failed,
    /// It stopped without a result.
    Lost,
}

impl TryEnd {
    /// Returns the word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TryEnd::Running => "in_progress",
            TryEnd::Done => "completed",
            TryEnd::Failed => "failed",
            TryEnd::Lost => "lost",
        }
    }
}

/// Attempt of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineTry {
    pub from: Timestamp,
    /// End of the attempt; the present while it runs.
    pub to: Timestamp,
    pub end: TryEnd,
}

/// Task on the timeline.
#[derive(Debug, Clone)]
pub struct TaskBar {
    pub id: String,
    /// Title in the plan, or an empty text.
    pub title: String,
    pub phase: u32,
    pub status: NodeStatus,
    /// Attempts, the oldest first.
    pub tries: Vec<TimelineTry>,
    /// True if it is on the chain of tasks that determined the length of the run.
    pub critical: bool,
}

impl TaskBar {
    /// Returns the time from its first attempt to the end of its last.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let first = self.tries.first()?;
        let last = self.tries.iter().map(|it| it.to).max()?;
        Some((first.from, last))
    }
}

/// Phase on the timeline.
#[derive(Debug, Clone)]
pub struct PhaseLane {
    pub number: u32,
    /// Title in the plan, or an empty text.
    pub title: String,
    /// From its first attempt to its last end.
    pub span: Option<(Timestamp, Timestamp)>,
}

/// Timeline of a run.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Name of the project.
    pub project: String,
    /// Phases with tasks.
    pub lanes: Vec<PhaseLane>,
    /// Tasks by phase, in the order of the plan.
    pub bars: Vec<TaskBar>,
    /// Chain of tasks that determined the length of the run, in order.
    pub critical: Vec<String>,
    /// Seconds in which at least one attempt ran.
    pub busy_seconds: i64,
}

impl Timeline {
    /// Returns the time from the first attempt to the last end.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let spans = || self.bars.iter().filter_map(TaskBar::span);
        Some((spans().map(|it| it.0).min()?, spans().map(|it| it.1).max()?))
    }

    /// Returns the intervals in which at least one attempt ran.
    pub fn busy_intervals(&self) -> Vec<(i64, i64)> {
        let tries = self.bars.iter().flat_map(|bar| &bar.tries);
        let mut spans: Vec<(i64, i64)> = tries.map(|it| (it.from.0, it.to.0)).collect();
        spans.sort_unstable();
        let mut busy: Vec<(i64, i64)> = Vec::new();
        for (from, to) in spans {
            match busy.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                Some(_) | None => busy.push((from, to)),
            }
        }
        busy
    }
}

impl Orchestration {
    /// Builds the timeline of the run. Writes nothing.
    pub fn build_timeline(&self, context: &Context) -> Result<Timeline, Error> {
        let (view, run) = self.read_run(context)?;
        let now = context.now();
        let plan = self.plan_beside(&view.document);
        let project = super::overview_from_view(view)?.summary.meta.project;
        let lines = history::read_transitions(self.file())?;
        let mut tries = tries_of(&lines, now);
        let title = |id: &str| {
            let task = plan.as_ref().and_then(|plan| plan.file.task(id));
            task.map(|task| task.title.clone()).unwrap_or_default()
        };
        let graph = run.graph();
        let mut bars = Vec::with_capacity(graph.len());
        for &phase in graph.phase_numbers() {
            for id in graph.tasks_of(phase) {
                let node = run.find_node(&id);
                let status = node.map_or(NodeStatus::Pending, |node| node.status);
                let mut tries = tries.remove(&*id).unwrap_or_default();
                // A start that only the file knows.
                if tries.is_empty()
                    && status == NodeStatus::InProgress
                    && let Some(from) = node.and_then(|node| node.started_at)
                {
                    tries.push(TimelineTry {
                        from,
                        to: now.max(from),
                        end: TryEnd::Running,
                    });
                }
                close_open_tries(&mut tries, status);
                bars.push(TaskBar {
                    title: title(&id),
                    id: id.to_string(),
                    phase,
                    status,
                    tries,
                    critical: false,
                });
            }
        }
        let critical = critical_chain(&run, &bars);
        let marked: HashSet<&str> = critical.iter().map(String::as_str).collect();
        for bar in &mut bars {
            bar.critical = marked.contains(bar.id.as_str());
        }
        let lanes = graph.phase_numbers().iter().map(|&number| {
            let headings = plan.as_ref().map(|plan| &plan.file.phases);
            let heading = headings.and_then(|all| all.iter().find(|it| it.number == number));
            let spans = || bars.iter().filter(move |it| it.phase == number);
            let from = spans().filter_map(|it| it.span()).map(|it| it.0).min();
            let to = spans().filter_map(|it| it.span()).map(|it| it.1).max();
            PhaseLane {
                number,
                title: heading.map(|it| it.title.clone()).unwrap_or_default(),
                span: from.zip(to),
            }
        });
        let lanes = lanes.collect();
        let mut timeline = Timeline {
            project,
            lanes,
            bars,
            critical,
            busy_seconds: 0,
        };
        timeline.busy_seconds = timeline
            .busy_intervals()
            .iter()
            .map(|(from, to)| to - from)
            .sum();
        Ok(timeline)
    }
}

/// Returns the attempts in the history of the latest run.
fn tries_of(lines: &[Transition], now: Timestamp) -> HashMap<String, Vec<TimelineTry>> {
    let begin = lines.iter().rposition(|line| line.trigger == "INIT");
    let mut tries: HashMap<String, Vec<TimelineTry>> = HashMap::new();
    for line in &lines[begin.unwrap_or(0)..] {
        let Some(at) = time::parse_time(&line.timestamp).filter(|_| line.entity == "task") else {
            continue;
        };
        let several = line.metadata["tasks"].as_array();
        let one = line.metadata["task"].as_str();
        let ids: Vec<&str> = match several {
            Some(list) => list.iter().filter_map(Value::as_str).collect(),
            None => one.into_iter().collect(),
        };
        let end = match line.trigger.as_str() {
            "START" => None,
            "COMPLETE" | "FORCE_COMPLETE" => Some(TryEnd::Done),
            "FAIL" => Some(TryEnd::Failed),
            "LOST" => Some(TryEnd::Lost),
            _ => continue,
        };
        for id in ids {
            let all = tries.entry(id.to_owned()).or_default();
            let open = all.last_mut().filter(|it| it.end == TryEnd::Running);
            match (end, open) {
                (Some(end), Some(open)) => (open.to, open.end) = (at.max(open.from), end),
                // A task that was not started here was completed without an attempt.
                (Some(_), None) => {}
                (None, open) => {
                    if let Some(open) = open {
                        (open.to, open.end) = (at.max(open.from), TryEnd::Lost);
                    }
                    all.push(TimelineTry {
                        from: at,
                        to: now.max(at),
                        end: TryEnd::Running,
                    });
                }
            }
        }
    }
    tries
}

/// Ends an attempt that the history leaves open if the task is no longer in progress.
fn close_open_tries(tries: &mut [TimelineTry], status: NodeStatus) {
    if status == NodeStatus::InProgress {
        return;
    }
    for open in tries.iter_mut().filter(|it| it.end == TryEnd::Running) {
        open.end = match status {
            NodeStatus::Completed => TryEnd::Done,
            NodeStatus::Failed => TryEnd::Failed,
            NodeStatus::Pending
            | NodeStatus::Ready
            | NodeStatus::InProgress
            | NodeStatus::Blocked => TryEnd::Lost,
        };
        open.to = open.from;
    }
}

/// Returns the chain of tasks that leads to the last end: before each task, the one it waited for
/// that ended last.
fn critical_chain(run: &OrchestrationState, bars: &[TaskBar]) -> Vec<String> {
    let places: HashMap<&str, usize> = bars
        .iter()
        .enumerate()
        .map(|(at, bar)| (bar.id.as_str(), at))
        .collect();
    let ends = |at: usize| bars[at].span().map(|span| span.1);
    let graph = run.graph();
    let mut last_of: Vec<(u32, usize)> = Vec::new();
    for (at, bar) in bars
        .iter()
        .enumerate()
        .filter(|(at, _)| ends(*at).is_some())
    {
        match last_of.last_mut() {
            Some(last) if last.0 == bar.phase => {
                if ends(at) > ends(last.1) {
                    last.1 = at;
                }
            }
            Some(_) | None => last_of.push((bar.phase, at)),
        }
    }
    let mut path = Vec::new();
    let mut current = (0..bars.len())
        .filter(|&at| ends(at).is_some())
        .max_by_key(|&at| ends(at));
    while let Some(at) = current {
        path.push(bars[at].id.clone());
        let id: NodeId = bars[at].id.as_str().into();
        let needs = graph.dependencies_of(&id);
        let needs = needs.iter().filter_map(|need| places.get(&**need).copied());
        // A phase follows all of the previous one.
        let before = last_of
            .iter()
            .rev()
            .find(|(phase, _)| *phase < bars[at].phase);
        let waited = needs
            .chain(before.map(|it| it.1))
            .filter(|&it| ends(it).is_some());
        current = waited.max_by_key(|&it| ends(it));
        if path.len() > bars.len() {
            break;
        }
    }
    path.reverse();
    path
}
