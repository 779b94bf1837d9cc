//! Routes about the server itself: health, metrics, events, statistics, agents and nodes.

use crate::asks::waiting;
use crate::call::{Call, Reply, bad_header, bytes, json};
use crate::feed;
use crate::problem::Problem;
use crate::scope::TaskScope;
use crate::serve::{Shared, State};
use crate::tasks::{in_query, of_task};
use crate::view;
use crate::work::{self, Loop, Work};
use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode};
use bowline_engine::formats::time::format_utc;
use bowline_engine::machines::job::{AgentStatus, TransitionTrigger};
use bowline_formats::rest::{
    Agents, Health, Limit, LiveAgent, Node, Page, Stats, TaskCounts, UnknownAgent,
};
use bowline_store::{EventKind, EventQuery, Resource, SpendQuery, SpendRow, day_of};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The OpenAPI document; a test compares it with the code.
const OPENAPI: &str = include_str!("../../../docs/openapi.json");

/// Days of spend in statistics: the default and the maximum.
const DAYS_USUAL: i64 = 30;
const DAYS_MAX: i64 = 400;
/// Number of newest events that are searched for rate limits.
const LOOKED_AT: u64 = 20_000;

/// Counters for the metrics route.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: AtomicU64,
    /// Responses by the first digit of their status.
    by_class: [AtomicU64; 6],
    pub(crate) connections: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl Metrics {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).min(5);
        let _ = self.by_class[class].fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn health(_: &Arc<Shared>, call: &Call) -> Reply {
    let (status, reason) = ("ok".into(), None);
    json(call, &Health { status, reason })
}

pub(crate) fn ready(shared: &Arc<Shared>, call: &Call) -> Reply {
    let deciding = shared.work().map_or(Loop::Ready, |work| work.health());
    let (status, word, reason) = match (shared.state(), deciding) {
        (State::Starting, _) => (StatusCode::SERVICE_UNAVAILABLE, "starting", None),
        (State::Draining, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining", None),
        (State::Ready, Loop::Ready) => (StatusCode::OK, "ok", None),
        (State::Ready, Loop::Recovering(outage) | Loop::Failed(outage)) => {
            let reason = Some(outage.reason);
            (StatusCode::SERVICE_UNAVAILABLE, "failing", reason)
        }
    };
    let health = Health {
        status: word.into(),
        reason,
    };
    let mut response = json(call, &health)?;
    *response.status_mut() = status;
    Ok(response)
}

pub(crate) fn openapi(_: &Arc<Shared>, _: &Call) -> Reply {
    Ok(bytes("application/json", OPENAPI))
}

pub(crate) fn metrics(shared: &Arc<Shared>, _: &Call) -> Reply {
    let work = shared.work()?;
    let stats = counted(shared, work, DAYS_USUAL)?;
    let counted = &shared.metrics;
    let mut text = String::new();
    let mut put = |name: &str, sort: &str, about: &str, values: &[(&str, u64)]| {
        let _ = writeln!(
            text,
            "# HELP bowline_{name} {about}\n# TYPE bowline_{name} {sort}"
        );
        for (labels, value) in values {
            let _ = writeln!(text, "bowline_{name}{labels} {value}");
        }
    };
    let tasks = stats.tasks;
    put(
        "tasks",
        "gauge",
        "Tasks by status.",
        &[
            ("{status=\"draft\"}", tasks.draft),
            ("{status=\"pending\"}", tasks.pending),
            ("{status=\"in_progress\"}", tasks.in_progress),
            ("{status=\"review\"}", tasks.review),
            ("{status=\"completed\"}", tasks.completed),
            ("{status=\"failed\"}", tasks.failed),
        ],
    );
    put(
        "waiting_for_people",
        "gauge",
        "Things in the inbox.",
        &[("", stats.waiting_for_you)],
    );
    put(
        "agents_running",
        "gauge",
        "Agents at work.",
        &[("", stats.running.into())],
    );
    put(
        "agent_slots",
        "gauge",
        "Agents that may run at once.",
        &[("", stats.slots.into())],
    );
    put(
        "tokens_used",
        "gauge",
        "Tokens used by all tasks.",
        &[("", stats.tokens_used)],
    );
    put(
        "event_sequence",
        "counter",
        "The number of the latest event.",
        &[("", stats.sequence)],
    );
    let class = |index: usize| counted.by_class[index].load(Ordering::Relaxed);
    put(
        "http_responses_total",
        "counter",
        "Answers by the first digit of their status.",
        &[
            ("{class=\"2xx\"}", class(2)),
            ("{class=\"3xx\"}", class(3)),
            ("{class=\"4xx\"}", class(4)),
            ("{class=\"5xx\"}", class(5)),
        ],
    );
    let failed = work.failures();
    put(
        "dropped_steps_total",
        "counter",
        "Steps about tasks that had been removed.",
        &[("", failed.dropped_steps)],
    );
    put(
        "dispatcher_restarts_total",
        "counter",
        "Times the dispatcher was started anew after a failure.",
        &[("", failed.restarts)],
    );
    put(
        "start_retries_total",
        "counter",
        "Starts of agents tried again because the machine lacked something for them.",
        &[("", failed.retries)],
    );
    let (ready, full) = match work.health() {
        Loop::Ready => (1, 0),
        Loop::Recovering(it) | Loop::Failed(it) => {
            (0, u64::from(it.resource == Some(Resource::Disk)))
        }
    };
    put(
        "writes_available",
        "gauge",
        "Whether tasks can be changed.",
        &[("", ready)],
    );
    put(
        "unknown_agents",
        "gauge",
        "Agents that run for tasks which the store does not know.",
        &[("", work.unknown_agents().len() as u64)],
    );
    put(
        "disk_full",
        "gauge",
        "Whether they cannot because the disk is full.",
        &[("", full)],
    );
    let streams = shared.streams_max - shared.streams.available_permits();
    put(
        "event_streams",
        "gauge",
        "Open streams of events.",
        &[("", streams as u64)],
    );
    let open = counted.connections.load(Ordering::Relaxed);
    put("connections", "gauge", "Open connections.", &[("", open)]);
    let refused = counted.refused.load(Ordering::Relaxed);
    put(
        "connections_refused_total",
        "counter",
        "Connections beyond the limit.",
        &[("", refused)],
    );
    let _ = writeln!(
        text,
        "# HELP bowline_cost_usd Dollars spent on all tasks.\n# TYPE bowline_cost_usd gauge\nbowline_cost_usd {}",
        stats.cost_usd.unwrap_or(0.0)
    );
    Ok(bytes("text/plain; version=0.0.4; charset=utf-8", text))
}

fn counted(shared: &Shared, work: &dyn Work, days: i64) -> Result<Stats, Problem> {
    let store = work.store();
    let mut tasks = TaskCounts::default();
    for (status, count) in store.count_by_status()? {
        use bowline_engine::machines::job::TaskStatus as S;
        *match status {
            S::Draft => &mut tasks.draft,
            S::Pending => &mut tasks.pending,
            S::InProgress => &mut tasks.in_progress,
            S::Review => &mut tasks.review,
            S::Completed => &mut tasks.completed,
            S::Failed => &mut tasks.failed,
        } = count;
    }
    let (slots, running) = work.slots();
    let spent = store.list_spend(&SpendQuery::default())?;
    let from = day_of(shared.clock.now()) + 1 - days;
    let recent: Vec<SpendRow> = spent.iter().filter(|it| it.day >= from).cloned().collect();
    Ok(Stats {
        tasks,
        waiting_for_you: waiting(work)?.len() as u64,
        tokens_used: spent.iter().map(|it| it.tokens).sum(),
        cost_usd: view::told_cost(spent.iter().map(|it| it.usd).sum()),
        spend: view::spend(&recent, None),
        slots,
        running,
        sequence: shared.feed.latest(),
    })
}

pub(crate) fn stats(shared: &Arc<Shared>, call: &Call) -> Reply {
    let days = match call.number::<i64>("days")? {
        None => DAYS_USUAL,
        Some(days @ 1..=DAYS_MAX) => days,
        Some(other) => return Err(in_query("days", &other.to_string())),
    };
    json(call, &counted(shared, shared.work()?, days)?)
}

pub(crate) fn limits(shared: &Arc<Shared>, call: &Call) -> Reply {
    let rows = shared.work()?.store().list_events(&EventQuery {
        kind: Some(EventKind::Transition),
        after: shared.feed.latest().saturating_sub(LOOKED_AT),
        ..EventQuery::default()
    })?;
    let mut all: Vec<Limit> = Vec::new();
    // Index of the open limit of each task.
    let mut open: HashMap<String, usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.body["entity"] == "agent") {
        if let Some(at) = open.remove(&row.job) {
            all[at].until = Some(format_utc(row.at));
        }
        if row.body["trigger"] == TransitionTrigger::RateLimit.name() {
            open.insert(row.job.clone(), all.len());
            all.push(Limit {
                task_id: row.job.clone(),
                from: format_utc(row.at),
                until: None,
            });
        }
    }
    let scope = TaskScope::of(shared, &call.caller)?;
    all.retain(|limit| scope.has(&limit.task_id));
    json(call, &Page::whole(all))
}

pub(crate) fn types(shared: &Arc<Shared>, call: &Call) -> Reply {
    json(call, &Page::whole(shared.work()?.types()))
}

pub(crate) fn agents(shared: &Arc<Shared>, call: &Call) -> Reply {
    let work = shared.work()?;
    let rows = work.store().open_jobs()?;
    let scope = TaskScope::of(shared, &call.caller)?;
    let started = rows
        .iter()
        .filter(|row| scope.has(&row.id) && row.job.agent_status() != AgentStatus::Idle);
    let live = started.map(|row| LiveAgent {
        task_id: row.id.clone(),
        title: row.job.title.clone(),
        name: row.about.agent.clone(),
        status: row.job.agent_status(),
        attempt: row.job.attempt,
        tokens_used: row.job.tokens,
        cost_usd: view::told_cost(row.about.total_cost_usd()),
    });
    let agents = Agents {
        presets: work.agents(),
        live: live.collect(),
    };
    json(call, &agents)
}

pub(crate) fn nodes(shared: &Arc<Shared>, call: &Call) -> Reply {
    let work = shared.work()?;
    let (slots, running) = work.slots();
    let unknown = work.unknown_agents().into_iter();
    let name = rustix::system::uname();
    let node = Node {
        name: name.nodename().to_string_lossy().into_owned(),
        slots,
        running,
        draining: shared.state() == State::Draining,
        started_at: format_utc(shared.started_at),
        version: env!("CARGO_PKG_VERSION").into(),
        unknown_agents: unknown.map(unknown_agent).collect(),
    };
    json(call, &Page::whole(vec![node]))
}

fn unknown_agent(agent: work::UnknownAgent) -> UnknownAgent {
    UnknownAgent {
        attempt: agent.attempt,
        task_id: agent.task,
        folder: agent.folder.to_string_lossy().into_owned(),
        pid: agent.pid,
    }
}

pub(crate) fn events(shared: &Arc<Shared>, call: &Call) -> Reply {
    let scope = TaskScope::of(shared, &call.caller)?;
    streamed(shared, call, scope)
}

pub(crate) fn task_events(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (_, row) = of_task(shared, call)?;
    streamed(shared, call, TaskScope::only(&row.id))
}

fn streamed(
    shared: &Arc<Shared>,
    call: &Call,
    scope: TaskScope,
) -> Result<Response<Body>, Problem> {
    let since = match last_event(&call.headers)? {
        Some(since) => Some(since),
        None => call.number("since")?,
    };
    feed::open(shared, scope, &call.caller, since)
}

fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    match value.to_str().map(str::trim) {
        Ok("") => Ok(None),
        Ok(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(bad_header("Last-Event-ID")),
        },
        Err(_) => Err(bad_header("Last-Event-ID")),
    }
}
