//! Stream of events to clients. Recent events are kept in memory, so that thousands of clients do
//! not each query the store; a client that is further behind reads from the store.

use crate::auth::Caller;
use crate::error::ApiError;
use crate::http_request::{ChannelBody, set_header};
use crate::scope::{TaskScope, is_same_attempt};
use crate::serve::SharedState;
use axum::body::Body;
use axum::http::{Response, header};
use bowline_engine::formats::time::format_utc;
use bowline_formats::rest::{EventBody, EventName};
use bowline_store::{EventKind, EventQuery, EventRow};
use bowline_words::message::ServerNo;
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, watch};

/// Number of stored events kept in memory.
const RECENT_EVENTS_MAX: usize = 4_096;
/// Transient events a slow client may lag behind; older ones are dropped for it.
const TRANSIENT_LAG_MAX: usize = 1_024;
/// Events read from the store in one query.
const EVENTS_PER_READ_MAX: usize = 500;
/// Capacity of the channel to one client.
const STREAM_CAPACITY: usize = 16;
/// Pause in the stream after which a heartbeat is sent.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// An event in the format of server-sent events.
#[derive(Debug)]
struct EncodedEvent {
    sequence: u64,
    task: String,
    text: Bytes,
}

/// Publishes events to all open streams.
#[derive(Debug)]
pub(crate) struct EventBroadcaster {
    recent: Mutex<VecDeque<Arc<EncodedEvent>>>,
    latest: watch::Sender<u64>,
    transient: broadcast::Sender<Arc<EncodedEvent>>,
}

impl EventBroadcaster {
    /// Returns a feed whose newest event has this sequence number.
    pub(crate) fn new(latest: u64) -> Self {
        EventBroadcaster {
            recent: Mutex::default(),
            latest: watch::Sender::new(latest),
            transient: broadcast::Sender::new(TRANSIENT_LAG_MAX),
        }
    }

    /// Sets the newest sequence number of the store, unless a later event was published already.
    pub(crate) fn raise_latest(&self, newest: u64) {
        let raise = |latest: &mut u64| {
            let raised = *latest < newest;
            *latest = newest.max(*latest);
            raised
        };
        self.latest.send_if_modified(raise);
    }

    /// Publishes a stored event. Events are published in the order of their sequence numbers.
    pub(crate) fn publish(&self, row: &EventRow) {
        let line = Arc::new(encode_event(row));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == RECENT_EVENTS_MAX {
            recent.pop_front();
        }
        recent.push_back(line);
        drop(recent);
        self.latest.send_replace(row.sequence);
    }

    /// Publishes a transient event: output of an agent, a changed state file.
    pub(crate) fn publish_transient(&self, task: &str, name: EventName, at: String, data: Value) {
        // Without an open stream this fails: nothing to do.
        let _ = self.transient.send(Arc::new(EncodedEvent {
            sequence: 0,
            task: task.to_owned(),
            text: encode_transient_event(task, name, at, data),
        }));
    }

    pub(crate) fn latest_sequence(&self) -> u64 {
        *self.latest.borrow()
    }

    /// Returns the events after a sequence number, if memory reaches back that far.
    fn events_after(&self, sequence: u64) -> Option<Vec<Arc<EncodedEvent>>> {
        if sequence >= self.latest_sequence() {
            return Some(Vec::new());
        }
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let first = recent.front()?.sequence;
        if sequence + 1 < first {
            return None;
        }
        let start = recent.partition_point(|line| line.sequence <= sequence);
        Some(recent.iter().skip(start).cloned().collect())
    }
}

fn event_name(kind: EventKind) -> EventName {
    match kind {
        EventKind::Transition => EventName::Transition,
        EventKind::Review => EventName::Review,
        EventKind::Question => EventName::Question,
        EventKind::Dependency => EventName::Dependency,
        EventKind::Agent => EventName::Agent,
    }
}

fn encode_event(row: &EventRow) -> EncodedEvent {
    let name = event_name(row.kind);
    let mut data = row.body.clone();
    // A transition line includes its own sequence number, as in `/transitions`.
    if let (EventKind::Transition, Some(object)) = (row.kind, data.as_object_mut()) {
        object.insert("sequence".into(), row.sequence.into());
    }
    let body = EventBody {
        task_id: row.job.clone(),
        sequence: row.sequence,
        timestamp: format_utc(row.at),
        event_type: name,
        data,
    };
    let data = serde_json::to_string(&body).unwrap_or_default();
    let text = format!(
        "id: {}\nevent: {}\ndata: {data}\n\n",
        row.sequence,
        name.name()
    );
    EncodedEvent {
        sequence: row.sequence,
        task: row.job.clone(),
        text: text.into(),
    }
}

fn encode_transient_event(task: &str, name: EventName, timestamp: String, data: Value) -> Bytes {
    let body = EventBody {
        task_id: task.to_owned(),
        sequence: 0,
        timestamp,
        event_type: name,
        data,
    };
    let data = serde_json::to_string(&body).unwrap_or_default();
    format!("event: {}\ndata: {data}\n\n", name.name()).into()
}

/// Opens a stream of the events after `since`, for the tasks in a scope.
pub(crate) fn open_stream(
    shared: &Arc<SharedState>,
    scope: TaskScope,
    caller: &Caller,
    since: Option<u64>,
) -> Result<Response<Body>, ApiError> {
    let latest = shared.events.latest_sequence();
    if let Some(asked) = since {
        let feed = shared.job_service()?.store().feed_range();
        let (oldest, _) = feed.map_err(|error| ApiError::internal(&error))?;
        // A task that exists has its whole history.
        if scope.is_everything() && oldest > 0 && asked.saturating_add(1) < oldest {
            return Err(ServerNo::EventGone { asked, oldest }.into());
        }
    }
    let Ok(place) = Arc::clone(&shared.streams).try_acquire_owned() else {
        return Err(ServerNo::TooManyConnections.into());
    };
    let (sender, receiver) = mpsc::channel(STREAM_CAPACITY);
    let from = since.map_or(latest, |since| since.min(latest));
    let listener = EventSubscriber {
        shared: Arc::clone(shared),
        scope,
        caller: caller.clone(),
        cursor: from,
        sender,
    };
    tokio::spawn(async move {
        listener.run().await;
        drop(place);
    });
    let mut response = Response::new(Body::new(ChannelBody(receiver)));
    set_header(&mut response, header::CONTENT_TYPE, "text/event-stream");
    // Keeps proxies from buffering the stream.
    set_header(
        &mut response,
        header::HeaderName::from_static("x-accel-buffering"),
        "no",
    );
    Ok(response)
}

struct EventSubscriber {
    shared: Arc<SharedState>,
    scope: TaskScope,
    caller: Caller,
    cursor: u64,
    sender: mpsc::Sender<Bytes>,
}

impl EventSubscriber {
    /// Sends events until the client disconnects or the server stops.
    async fn run(mut self) {
        let mut latest = self.shared.events.latest.subscribe();
        let mut passing = self.shared.events.transient.subscribe();
        let mut stopping = self.shared.stopping.subscribe();
        let hello = json!({ "sequence": self.cursor, "instance": self.shared.instance });
        let hello = format!("event: hello\ndata: {hello}\n\n");
        if self.sender.send(hello.into()).await.is_err() {
            return;
        }
        loop {
            if !self.send_missed_events().await || !self.keeps_identity().await {
                return;
            }
            let piece = tokio::select! {
                changed = latest.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                line = passing.recv() => match line {
                    Ok(line) if self.is_in_scope(&line) => line.text.clone(),
                    // Dropped transient events can be read from the logs.
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = tokio::time::sleep(HEARTBEAT_INTERVAL) => Bytes::from_static(b": here\n\n"),
                () = self.sender.closed() => return,
                _ = stopping.changed() => return,
            };
            if self.sender.send(piece).await.is_err() {
                return;
            }
        }
    }

    fn is_in_scope(&self, line: &EncodedEvent) -> bool {
        self.scope.contains(&line.task)
    }

    /// True while the caller keeps its identity: that of an agent ends with its attempt.
    async fn keeps_identity(&self) -> bool {
        let Caller::Agent { .. } = &self.caller else {
            return true;
        };
        let (shared, caller) = (Arc::clone(&self.shared), self.caller.clone());
        let still = tokio::task::spawn_blocking(move || is_same_attempt(&shared, &caller));
        still.await.unwrap_or(false)
    }

    /// Sends the events after the cursor; returns false if the client has disconnected.
    async fn send_missed_events(&mut self) -> bool {
        loop {
            let lines = match self.shared.events.events_after(self.cursor) {
                Some(lines) => lines,
                None => match self.read_stored_events().await {
                    Some(lines) => lines,
                    None => return false,
                },
            };
            let Some(last) = lines.last() else {
                return true;
            };
            self.cursor = last.sequence;
            for line in lines.iter().filter(|line| self.is_in_scope(line)) {
                if self.sender.send(line.text.clone()).await.is_err() {
                    return false;
                }
            }
        }
    }

    async fn read_stored_events(&self) -> Option<Vec<Arc<EncodedEvent>>> {
        let shared = Arc::clone(&self.shared);
        let wanted = EventQuery {
            after: self.cursor,
            limit: EVENTS_PER_READ_MAX,
            ..EventQuery::default()
        };
        let read = tokio::task::spawn_blocking(move || {
            let rows = shared
                .job_service()
                .ok()?
                .store()
                .list_events(&wanted)
                .ok()?;
            Some(rows.iter().map(|row| Arc::new(encode_event(row))).collect())
        });
        read.await.ok().flatten()
    }
}
