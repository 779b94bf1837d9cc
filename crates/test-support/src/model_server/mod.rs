//! A model on loopback that says what a test tells it to, to the real clients.
//!
//! It speaks as much of the Anthropic Messages API, the OpenAI Responses API and the Gemini API as `claude`, `codex` and
//! `gemini` use: streamed answers, tool calls, usage figures, refusals with rate-limit headers, and streams that stay open. Every question to the
//! model takes the next [`ModelReply`] of the script; side questions (token counts, lists of models, titles) take none.

mod anthropic;
mod google;
mod http;
mod openai;

use http::HttpConnection;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What the model says when its script is over. A test that sees it has asked once too often.
pub const SCRIPT_OVER: &str = "The script is over.";

/// What the model does with one question.
#[derive(Debug, Clone)]
pub enum ModelReply {
    /// Answers, in this order.
    Parts(Vec<ReplyPart>, ReplyUsage),
    /// Begins to answer and goes no further. The stream stays open until the client or the server leaves.
    Hold(String),
    /// Refuses because a limit is reached.
    Limited(ReachedLimit),
}

impl ModelReply {
    /// A plain answer.
    pub fn text(text: &str) -> Self {
        Self::Parts(
            vec![ReplyPart::Text(text.to_owned())],
            ReplyUsage::default(),
        )
    }

    /// A call of one tool, after some words.
    pub fn tool_call(words: &str, name: &str, input: Value) -> Self {
        let call = ReplyPart::Tool {
            name: name.to_owned(),
            input,
        };
        Self::Parts(
            vec![ReplyPart::Text(words.to_owned()), call],
            ReplyUsage::default(),
        )
    }

    /// The same with these figures.
    #[must_use]
    pub fn with_usage(self, input: u64, output: u64) -> Self {
        match self {
            Self::Parts(parts, _) => Self::Parts(parts, ReplyUsage { input, output }),
            Self::Hold(_) | Self::Limited(_) => self,
        }
    }
}

/// A piece of an answer.
#[derive(Debug, Clone)]
pub enum ReplyPart {
    /// Words, streamed in several pieces.
    Text(String),
    /// A call of one of the client's tools.
    Tool {
        /// The tool's name.
        name: String,
        /// Its input: an object, or a text for the few tools that take one.
        input: Value,
    },
}

/// Tokens an answer is said to have cost.
#[derive(Debug, Clone, Copy)]
pub struct ReplyUsage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl Default for ReplyUsage {
    fn default() -> Self {
        Self {
            input: 100,
            output: 20,
        }
    }
}

/// A limit that is reached.
#[derive(Debug, Clone)]
pub struct ReachedLimit {
    /// Seconds after which the client may try again, if it is told.
    pub retry_after_s: Option<u64>,
    /// When the limit is lifted, in seconds since 1970, if it is told.
    pub resets_at: Option<u64>,
    /// The words of the refusal.
    pub message: String,
}

/// A question the model was asked.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The path of the request.
    pub path: String,
    /// Its body.
    pub body: Value,
}

/// The model. It listens until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ModelState>,
    listening: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct ModelState {
    script: Mutex<VecDeque<ModelReply>>,
    asked: Mutex<Vec<ModelRequest>>,
    ended: AtomicBool,
}

impl ModelServer {
    /// Listens on a free port of loopback.
    pub fn start(script: impl IntoIterator<Item = ModelReply>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ModelState::default());
        let server = Self {
            address,
            shared: Arc::clone(&shared),
            listening: Some(thread::spawn(move || {
                accept_connections(&listener, &shared)
            })),
        };
        script
            .into_iter()
            .for_each(|reply| server.push_reply(reply));
        Ok(server)
    }

    /// The address to give to a client, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What leads Claude Code here and nowhere else.
    pub fn variables_of_claude(&self) -> [(&'static str, String); 6] {
        [
            ("ANTHROPIC_BASE_URL", self.url()),
            ("ANTHROPIC_API_KEY", "opens-nothing".into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_MAX_RETRIES", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("DISABLE_TELEMETRY", "1".into()),
        ]
    }

    /// Adds to the end of the script.
    pub fn push_reply(&self, reply: ModelReply) {
        lock_shared(&self.shared.script).push_back(reply);
    }

    /// What the model was asked so far, side questions left out.
    pub fn received_requests(&self) -> Vec<ModelRequest> {
        lock_shared(&self.shared.asked).clone()
    }

    /// Replies nobody has asked for yet.
    pub fn replies_left(&self) -> usize {
        lock_shared(&self.shared.script).len()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the listener so that it sees the flag.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(listening)) = (woken, self.listening.take()) {
            let _ = listening.join();
        }
    }
}

fn accept_connections(listener: &TcpListener, shared: &Arc<ModelState>) {
    for stream in listener.incoming() {
        if shared.ended.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that went away is no error of the model's.
        thread::spawn(move || serve_connection(stream, &shared).unwrap_or_default());
    }
}

fn serve_connection(stream: TcpStream, shared: &ModelState) -> io::Result<()> {
    let mut connection = HttpConnection::new(stream)?;
    let Some(request) = connection.read_request()? else {
        return Ok(());
    };
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method != "POST" {
        return connection.send_json(200, &[], &serde_json::json!({"data": [], "models": []}));
    }
    if path.ends_with("/count_tokens") {
        return connection.send_json(200, &[], &serde_json::json!({"input_tokens": 100}));
    }
    let answer: fn(&mut HttpConnection, &ModelState, &Value, ModelReply) -> io::Result<()> =
        match path {
            path if path.ends_with("/messages") => anthropic::answer_request,
            path if path.ends_with("/responses") => openai::answer_request,
            path if path.ends_with(":streamGenerateContent") => google::answer_request,
            _ => {
                return connection.send_json(
                    404,
                    &[],
                    &serde_json::json!({"error": {"type": "not_found"}}),
                );
            }
        };
    let body: Value = serde_json::from_slice(&request.body)?;
    // Clients have their conversations titled by the model, at no time in particular.
    if body["tools"].as_array().is_none_or(Vec::is_empty) {
        return answer(
            &mut connection,
            shared,
            &body,
            ModelReply::text(r#"{"title": "Scripted"}"#),
        );
    }
    lock_shared(&shared.asked).push(ModelRequest {
        path: path.to_owned(),
        body: body.clone(),
    });
    let reply = lock_shared(&shared.script).pop_front();
    let reply = reply.unwrap_or_else(|| ModelReply::text(SCRIPT_OVER));
    answer(&mut connection, shared, &body, reply)
}

impl ModelState {
    /// Keeps a stream open until one of the two sides leaves.
    fn hold_stream(&self, connection: &mut HttpConnection) -> io::Result<()> {
        loop {
            if self.ended.load(Ordering::Relaxed) || connection.peer_left()? {
                return Ok(());
            }
        }
    }
}

/// An id. Clients tell calls and answers apart by theirs, across turns and processes too.
fn unique_id(kind: &str, index: usize) -> String {
    static IDS: AtomicU64 = AtomicU64::new(1);
    format!("{kind}_{index}_{}", IDS.fetch_add(1, Ordering::Relaxed))
}

/// Words in pieces, as a model streams them.
fn stream_pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', '\n'])
}

fn lock_shared<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
