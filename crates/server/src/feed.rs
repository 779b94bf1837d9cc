//! Stream of events to clients. Recent events are kept in memory, so that thousands of clients do
//! not each query the store; a client that is further behind reads from the store.

use crate::auth::Caller;
use crate::call::{Piped, set};
use crate::problem::Problem;
use crate::scope::{TaskScope, is_present};
use crate::serve::Shared;
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
const RECENT_MAX: usize = 4_096;
/// Transient events a slow client may lag behind; older ones are dropped for it.
const PASSING_MAX: usize = 1_024;
/// Events read from the store in one query.
const READ_MAX: usize = 500;
/// Capacity of the channel to one client.
const WAITING_MAX: usize = 16;
/// Pause in the stream after which a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// An event in the format of server-sent events.
#[derive(Debug)]
struct Line {
    sequence: u64,
    task: String,
    text: Bytes,
}

/// Publishes events to all open streams.
#[derive(Debug)]
pub(crate) struct Feed {
    recent: Mutex<VecDeque<Arc<Line>>>,
    latest: watch::Sender<u64>,
    passing: broadcast::Sender<Arc<Line>>,
}

impl Feed {
    /// Returns a feed whose newest event has this sequence number.
    pub(crate) fn new(latest: u64) -> Self {
        Feed {
            recent: Mutex::default(),
            latest: watch::Sender::new(latest),
            passing: broadcast::Sender::new(PASSING_MAX),
        }
    }

    /// Sets the newest sequence number of the store, unless a later event was published already.
    pub(crate) fn begin(&self, newest: u64) {
        let raise = |latest: &mut u64| {
            let raised = *latest < newest;
            *latest = newest.max(*latest);
            raised
        };
        self.latest.send_if_modified(raise);
    }

    /// Publishes a stored event. Events are published in the order of their sequence numbers.
    pub(crate) fn publish(&self, row: &EventRow) {
        let line = Arc::new(line(row));
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back(line);
        drop(recent);
        self.latest.send_replace(row.sequence);
    }

    /// Publishes a transient event: output of an agent, a changed state file.
    pub(crate) fn pass(&self, task: &str, name: EventName, at: String, data: Value) {
        // Without an open stream this fails: nothing to do.
        let _ = self.passing.send(Arc::new(Line {
            sequence: 0,
            task: task.to_owned(),
            text: passing(task, name, at, data),
        }));
    }

    pub(crate) fn latest(&self) -> u64 {
        *self.latest.borrow()
    }

    /// Returns the events after a sequence number, if memory reaches back that far.
    fn after(&self, sequence: u64) -> Option<Vec<Arc<Line>>> {
        if sequence >= self.latest() {
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

fn line(row: &EventRow) -> Line {
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
    Line {
        sequence: row.sequence,
        task: row.job.clone(),
        text: text.into(),
    }
}

fn passing(task: &str, name: EventName, timestamp: String, data: Value) -> Bytes {
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
pub(crate) fn open(
    shared: &Arc<Shared>,
    scope: TaskScope,
    caller: &Caller,
    since: Option<u64>,
) -> Result<Response<Body>, Problem> {
    let latest = shared.feed.latest();
    if let Some(asked) = since {
        let feed = shared.work()?.store().feed_range();
        let (oldest, _) = feed.map_err(|error| Problem::internal(&error))?;
        // A task that exists has its whole history.
        if scope.is_everything() && oldest > 0 && asked.saturating_add(1) < oldest {
            return Err(ServerNo::EventGone { asked, oldest }.into());
        }
    }
    let Ok(place) = Arc::clone(&shared.streams).try_acquire_owned() else {
        return Err(ServerNo::TooManyConnections.into());
    };
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let from = since.map_or(latest, |since| since.min(latest));
    let listener = Listener {
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
    let mut response = Response::new(Body::new(Piped(receiver)));
    set(&mut response, header::CONTENT_TYPE, "text/event-stream");
    // Keeps proxies from buffering the stream.
    set(
        &mut response,
        header::HeaderName::from_static("x-accel-buffering"),
        "no",
    );
    Ok(response)
}

struct Listener {
    shared: Arc<Shared>,
    scope: TaskScope,
    caller: Caller,
    cursor: u64,
    sender: mpsc::Sender<Bytes>,
}

impl Listener {
    /// Sends events until the client disconnects or the server stops.
    async fn run(mut self) {
        let mut latest = self.shared.feed.latest.subscribe();
        let mut passing = self.shared.feed.passing.subscribe();
        let mut stopping = self.shared.stopping.subscribe();
        let hello = json!({ "sequence": self.cursor, "instance": self.shared.instance });
        let hello = format!("event: hello\ndata: {hello}\n\n");
        if self.sender.send(hello.into()).await.is_err() {
            return;
        }
        loop {
            if !self.catch_up().await || !self.may_listen().await {
                return;
            }
            let piece = tokio::select! {
                changed = latest.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return,
                },
                line = passing.recv() => match line {
                    Ok(line) if self.wants(&line) => line.text.clone(),
                    // Dropped transient events can be read from the logs.
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = tokio::time::sleep(HEARTBEAT) => Bytes::from_static(b": here\n\n"),
                () = self.sender.closed() => return,
                _ = stopping.changed() => return,
            };
            if self.sender.send(piece).await.is_err() {
                return;
            }
        }
    }

    fn wants(&self, line: &Line) -> bool {
        self.scope.has(&line.task)
    }

    /// True while the caller keeps its identity: that of an agent ends with its attempt.
    async fn may_listen(&self) -> bool {
        let Caller::Agent { .. } = &self.caller else {
            return true;
        };
        let (shared, caller) = (Arc::clone(&self.shared), self.caller.clone());
        let still = tokio::task::spawn_blocking(move || is_present(&shared, &caller));
        still.await.unwrap_or(false)
    }

    /// Sends the events after the cursor; returns false if the client has disconnected.
    async fn catch_up(&mut self) -> bool {
        loop {
            let lines = match self.shared.feed.after(self.cursor) {
                Some(lines) => lines,
                None => match self.read().await {
                    Some(lines) => lines,
                    None => return false,
                },
            };
            let Some(last) = lines.last() else {
                return true;
            };
            self.cursor = last.sequence;
            for line in lines.iter().filter(|line| self.wants(line)) {
                if self.sender.send(line.text.clone()).await.is_err() {
                    return false;
                }
            }
        }
    }

    async fn read(&self) -> Option<Vec<Arc<Line>>> {
        let shared = Arc::clone(&self.shared);
        let wanted = EventQuery {
            after: self.cursor,
            limit: READ_MAX,
            ..EventQuery::default()
        };
        let read = tokio::task::spawn_blocking(move || {
            let rows = shared.work().ok()?.store().list_events(&wanted).ok()?;
            Some(rows.iter().map(|row| Arc::new(line(row))).collect())
        });
        read.await.ok().flatten()
    }
}
