//! When what was done: the attempts of every task, from the history of the file and from the file itself.

use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::history;
use bowline_formats::time;
use bowline_formats::transition::Transition;
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::{Id, Run, Status};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryEnd {
    /// It goes on.
    Running,
    /// Well.
    Done,
    /// Badly.
    Failed,
    /// Without a word.
    Lost,
}

impl TryEnd {
    /// The word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TryEnd::Running => "in_progress",
            TryEnd::Done => "completed",
            TryEnd::Failed => "failed",
            TryEnd::Lost => "lost",
        }
    }
}

/// An attempt of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Try {
    /// When it began.
    pub from: Timestamp,
    /// When it ended; now, while it goes on.
    pub to: Timestamp,
    /// How.
    pub end: TryEnd,
}

/// A task in time.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Its id.
    pub id: String,
    /// Its title, where the plan has one.
    pub title: String,
    /// Its phase.
    pub phase: u32,
    /// Where it stands.
    pub status: Status,
    /// Its attempts, the oldest first.
    pub tries: Vec<Try>,
    /// It is on the chain that made the run as long as it is.
    pub critical: bool,
}

impl Bar {
    /// From its first attempt to the end of its last.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let first = self.tries.first()?;
        let last = self.tries.iter().map(|it| it.to).max()?;
        Some((first.from, last))
    }
}

/// A phase in time.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Its number.
    pub number: u32,
    /// Its title, where the plan has one.
    pub title: String,
    /// From its first attempt to its last end.
    pub span: Option<(Timestamp, Timestamp)>,
}

/// A run in time.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What it is called.
    pub project: String,
    /// The phases with tasks.
    pub lanes: Vec<Lane>,
    /// The tasks, by phase and in the order of the plan.
    pub bars: Vec<Bar>,
    /// The chain that made the run as long as it is, the first task first.
    pub critical: Vec<String>,
    /// Seconds in which something was worked on.
    pub busy_seconds: i64,
}

impl Timeline {
    /// From the first attempt to the last end.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let spans = || self.bars.iter().filter_map(Bar::span);
        Some((spans().map(|it| it.0).min()?, spans().map(|it| it.1).max()?))
    }

    /// The times in which something was worked on, without those in which nothing was.
    pub fn busy(&self) -> Vec<(i64, i64)> {
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
    /// When what was done. Writes nothing.
    pub fn timeline(&self, context: &Context) -> Result<Timeline, Error> {
        let (view, run) = self.run(context)?;
        let now = context.now();
        let plan = self.plan_beside(&view.document);
        let project = super::glance_at(view)?.summary.meta.project;
        let lines = history::transitions(self.file())?;
        let mut tries = tries_of(&lines, now);
        let title = |id: &str| {
            let task = plan.as_ref().and_then(|plan| plan.file.task(id));
            task.map(|task| task.title.clone()).unwrap_or_default()
        };
        let graph = run.graph();
        let mut bars = Vec::with_capacity(graph.len());
        for &phase in graph.phases() {
            for id in graph.tasks_of(phase) {
                let node = run.node(&id);
                let status = node.map_or(Status::Pending, |node| node.status);
                let mut tries = tries.remove(&*id).unwrap_or_default();
                // What the file knows of a beginning that no line tells of.
                if tries.is_empty()
                    && status == Status::InProgress
                    && let Some(from) = node.and_then(|node| node.started_at)
                {
                    tries.push(Try {
                        from,
                        to: now.max(from),
                        end: TryEnd::Running,
                    });
                }
                settle(&mut tries, status);
                bars.push(Bar {
                    title: title(&id),
                    id: id.to_string(),
                    phase,
                    status,
                    tries,
                    critical: false,
                });
            }
        }
        let critical = critical(&run, &bars);
        let marked: HashSet<&str> = critical.iter().map(String::as_str).collect();
        for bar in &mut bars {
            bar.critical = marked.contains(bar.id.as_str());
        }
        let lanes = graph.phases().iter().map(|&number| {
            let headings = plan.as_ref().map(|plan| &plan.file.phases);
            let heading = headings.and_then(|all| all.iter().find(|it| it.number == number));
            let spans = || bars.iter().filter(move |it| it.phase == number);
            let from = spans().filter_map(|it| it.span()).map(|it| it.0).min();
            let to = spans().filter_map(|it| it.span()).map(|it| it.1).max();
            Lane {
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
        timeline.busy_seconds = timeline.busy().iter().map(|(from, to)| to - from).sum();
        Ok(timeline)
    }
}

/// The attempts that the lines of the latest run tell of.
fn tries_of(lines: &[Transition], now: Timestamp) -> HashMap<String, Vec<Try>> {
    let begin = lines.iter().rposition(|line| line.trigger == "INIT");
    let mut tries: HashMap<String, Vec<Try>> = HashMap::new();
    for line in &lines[begin.unwrap_or(0)..] {
        let Some(at) = time::parse(&line.timestamp).filter(|_| line.entity == "task") else {
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
                // One that was never begun here was called done without an attempt.
                (Some(_), None) => {}
                (None, open) => {
                    if let Some(open) = open {
                        (open.to, open.end) = (at.max(open.from), TryEnd::Lost);
                    }
                    all.push(Try {
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

/// An attempt that the lines leave open is over where the task is not in progress any more.
fn settle(tries: &mut [Try], status: Status) {
    if status == Status::InProgress {
        return;
    }
    for open in tries.iter_mut().filter(|it| it.end == TryEnd::Running) {
        open.end = match status {
            Status::Completed => TryEnd::Done,
            Status::Failed => TryEnd::Failed,
            Status::Pending | Status::Ready | Status::InProgress | Status::Blocked => TryEnd::Lost,
        };
        open.to = open.from;
    }
}

/// The chain behind the last end: of what each task waited for, always what ended last.
fn critical(run: &Run, bars: &[Bar]) -> Vec<String> {
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
        let id: Id = bars[at].id.as_str().into();
        let needs = graph.dependencies_of(&id);
        let needs = needs.iter().filter_map(|need| places.get(&**need).copied());
        // A phase follows all of the one before it.
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
