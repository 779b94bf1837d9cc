//! Routes about the server itself: health, metrics, events, statistics, agents and nodes.

use crate::decisions::inbox_items;
use crate::error::ApiError;
use crate::event_stream;
use crate::http_request::{ApiRequest, HandlerResult, bad_header, bytes_response, respond_json};
use crate::job_service::{self, DispatcherHealth, JobService};
use crate::scope::TaskScope;
use crate::serve::{ServerStatus, SharedState};
use crate::tasks::{bad_query_value, job_in_path};
use crate::view;
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
const SPEND_DAYS_DEFAULT: i64 = 30;
const SPEND_DAYS_MAX: i64 = 400;
/// Number of newest events that are searched for rate limits.
const LIMIT_EVENTS_MAX: u64 = 20_000;

/// Counters for the metrics route.
#[derive(Debug, Default)]
pub(crate) struct ServerMetrics {
    pub(crate) requests: AtomicU64,
    /// Responses by the first digit of their status.
    by_class: [AtomicU64; 6],
    pub(crate) connections: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl ServerMetrics {
    pub(crate) fn count_response(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).min(5);
        let _ = self.by_class[class].fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn get_health(_: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (status, reason) = ("ok".into(), None);
    respond_json(call, &Health { status, reason })
}

pub(crate) fn get_readiness(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let deciding = shared
        .job_service()
        .map_or(DispatcherHealth::Ready, |work| work.dispatcher_health());
    let (status, word, reason) = match (shared.status(), deciding) {
        (ServerStatus::Starting, _) => (StatusCode::SERVICE_UNAVAILABLE, "starting", None),
        (ServerStatus::Draining, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining", None),
        (ServerStatus::Ready, DispatcherHealth::Ready) => (StatusCode::OK, "ok", None),
        (
            ServerStatus::Ready,
            DispatcherHealth::Recovering(outage) | DispatcherHealth::Failed(outage),
        ) => {
            let reason = Some(outage.reason);
            (StatusCode::SERVICE_UNAVAILABLE, "failing", reason)
        }
    };
    let health = Health {
        status: word.into(),
        reason,
    };
    let mut response = respond_json(call, &health)?;
    *response.status_mut() = status;
    Ok(response)
}

pub(crate) fn get_openapi(_: &Arc<SharedState>, _: &ApiRequest) -> HandlerResult {
    Ok(bytes_response("application/json", OPENAPI))
}

pub(crate) fn get_metrics(shared: &Arc<SharedState>, _: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let stats = collect_stats(shared, work, SPEND_DAYS_DEFAULT)?;
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
    let failed = work.failure_counts();
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
    let (ready, full) = match work.dispatcher_health() {
        DispatcherHealth::Ready => (1, 0),
        DispatcherHealth::Recovering(it) | DispatcherHealth::Failed(it) => {
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
    Ok(bytes_response(
        "text/plain; version=0.0.4; charset=utf-8",
        text,
    ))
}

fn collect_stats(
    shared: &SharedState,
    work: &dyn JobService,
    days: i64,
) -> Result<Stats, ApiError> {
    let store = work.store();
    let mut tasks = TaskCounts::default();
    for (status, count) in store.count_by_status()? {
        use bowline_engine::machines::job::TaskStatus;
        *match status {
            TaskStatus::Draft => &mut tasks.draft,
            TaskStatus::Pending => &mut tasks.pending,
            TaskStatus::InProgress => &mut tasks.in_progress,
            TaskStatus::Review => &mut tasks.review,
            TaskStatus::Completed => &mut tasks.completed,
            TaskStatus::Failed => &mut tasks.failed,
        } = count;
    }
    let (slots, running) = work.slot_counts();
    let spent = store.list_spend(&SpendQuery::default())?;
    let from = day_of(shared.clock.now()) + 1 - days;
    let recent: Vec<SpendRow> = spent.iter().filter(|it| it.day >= from).cloned().collect();
    Ok(Stats {
        tasks,
        waiting_for_you: inbox_items(work)?.len() as u64,
        tokens_used: spent.iter().map(|it| it.tokens).sum(),
        cost_usd: view::known_cost(spent.iter().map(|it| it.usd).sum()),
        spend: view::spend_view(&recent, None),
        slots,
        running,
        sequence: shared.events.latest_sequence(),
    })
}

pub(crate) fn get_stats(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let days = match call.query_number::<i64>("days")? {
        None => SPEND_DAYS_DEFAULT,
        Some(days @ 1..=SPEND_DAYS_MAX) => days,
        Some(other) => return Err(bad_query_value("days", &other.to_string())),
    };
    respond_json(call, &collect_stats(shared, shared.job_service()?, days)?)
}

pub(crate) fn list_limits(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let rows = shared.job_service()?.store().list_events(&EventQuery {
        kind: Some(EventKind::Transition),
        after: shared
            .events
            .latest_sequence()
            .saturating_sub(LIMIT_EVENTS_MAX),
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
    let scope = TaskScope::for_caller(shared, &call.caller)?;
    all.retain(|limit| scope.contains(&limit.task_id));
    respond_json(call, &Page::single_page(all))
}

pub(crate) fn list_types(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    respond_json(call, &Page::single_page(shared.job_service()?.task_types()))
}

pub(crate) fn get_agents(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let rows = work.store().open_jobs()?;
    let scope = TaskScope::for_caller(shared, &call.caller)?;
    let started = rows
        .iter()
        .filter(|row| scope.contains(&row.id) && row.job.agent_status() != AgentStatus::Idle);
    let live = started.map(|row| LiveAgent {
        task_id: row.id.clone(),
        title: row.job.title.clone(),
        name: row.about.agent.clone(),
        status: row.job.agent_status(),
        attempt: row.job.attempt,
        tokens_used: row.job.tokens,
        cost_usd: view::known_cost(row.about.total_cost_usd()),
    });
    let agents = Agents {
        presets: work.agent_presets(),
        live: live.collect(),
    };
    respond_json(call, &agents)
}

pub(crate) fn list_nodes(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let (slots, running) = work.slot_counts();
    let unknown = work.unknown_agents().into_iter();
    let name = rustix::system::uname();
    let node = Node {
        name: name.nodename().to_string_lossy().into_owned(),
        slots,
        running,
        draining: shared.status() == ServerStatus::Draining,
        started_at: format_utc(shared.started_at),
        version: env!("CARGO_PKG_VERSION").into(),
        unknown_agents: unknown.map(unknown_agent).collect(),
    };
    respond_json(call, &Page::single_page(vec![node]))
}

fn unknown_agent(agent: job_service::UnknownAgent) -> UnknownAgent {
    UnknownAgent {
        attempt: agent.attempt,
        task_id: agent.task,
        folder: agent.folder.to_string_lossy().into_owned(),
        pid: agent.pid,
    }
}

pub(crate) fn stream_events(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let scope = TaskScope::for_caller(shared, &call.caller)?;
    open_event_stream(shared, call, scope)
}

pub(crate) fn stream_task_events(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (_, row) = job_in_path(shared, call)?;
    open_event_stream(shared, call, TaskScope::for_task(&row.id))
}

fn open_event_stream(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    scope: TaskScope,
) -> Result<Response<Body>, ApiError> {
    let since = match last_event_id(&call.headers)? {
        Some(since) => Some(since),
        None => call.query_number("since")?,
    };
    event_stream::open_stream(shared, scope, &call.caller, since)
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
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
