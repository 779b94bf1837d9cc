//! A model on loopback that says what a test tells it to, to the real clients.
//!
//! It speaks as much of the Anthropic Messages API, the OpenAI Responses API and the Gemini API as `claude`, `codex` and
//! `gemini` use: streamed answers, tool calls, usage figures, refusals with rate-limit headers, and streams that stay open. Every question to the
//! model takes the next [`Reply`] of the script; side questions (token counts, lists of models, titles) take none.

mod anthropic;
mod google;
mod http;
mod openai;

use http::Connection;
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
pub enum Reply {
    /// Answers, in this order.
    Parts(Vec<Part>, Usage),
    /// Begins to answer and goes no further. The stream stays open until the client or the server leaves.
    Hold(String),
    /// Refuses because a limit is reached.
    Limited(Limit),
}

impl Reply {
    /// A plain answer.
    pub fn text(text: &str) -> Self {
        Self::Parts(vec![Part::Text(text.to_owned())], Usage::default())
    }

    /// A call of one tool, after some words.
    pub fn tool(words: &str, name: &str, input: Value) -> Self {
        let call = Part::Tool {
            name: name.to_owned(),
            input,
        };
        Self::Parts(vec![Part::Text(words.to_owned()), call], Usage::default())
    }

    /// The same with these figures.
    #[must_use]
    pub fn using(self, input: u64, output: u64) -> Self {
        match self {
            Self::Parts(parts, _) => Self::Parts(parts, Usage { input, output }),
            Self::Hold(_) | Self::Limited(_) => self,
        }
    }
}

/// A piece of an answer.
#[derive(Debug, Clone)]
pub enum Part {
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
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input: 100,
            output: 20,
        }
    }
}

/// A limit that is reached.
#[derive(Debug, Clone)]
pub struct Limit {
    /// Seconds after which the client may try again, if it is told.
    pub retry_after_s: Option<u64>,
    /// When the limit is lifted, in seconds since 1970, if it is told.
    pub resets_at: Option<u64>,
    /// The words of the refusal.
    pub message: String,
}

/// A question the model was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path of the request.
    pub path: String,
    /// Its body.
    pub body: Value,
}

/// The model. It listens until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    script: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    ended: AtomicBool,
}

impl ModelServer {
    /// Listens on a free port of loopback.
    pub fn start(script: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let server = Self {
            address,
            shared: Arc::clone(&shared),
            listening: Some(thread::spawn(move || listen(&listener, &shared))),
        };
        script.into_iter().for_each(|reply| server.then(reply));
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
    pub fn then(&self, reply: Reply) {
        held(&self.shared.script).push_back(reply);
    }

    /// What the model was asked so far, side questions left out.
    pub fn asked(&self) -> Vec<Asked> {
        held(&self.shared.asked).clone()
    }

    /// Replies nobody has asked for yet.
    pub fn left(&self) -> usize {
        held(&self.shared.script).len()
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

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.ended.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that went away is no error of the model's.
        thread::spawn(move || serve(stream, &shared).unwrap_or_default());
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut connection = Connection::new(stream)?;
    let Some(request) = connection.read_request()? else {
        return Ok(());
    };
    let path = request.path.split('?').next().unwrap_or_default();
    if request.method != "POST" {
        return connection.json(200, &[], &serde_json::json!({"data": [], "models": []}));
    }
    if path.ends_with("/count_tokens") {
        return connection.json(200, &[], &serde_json::json!({"input_tokens": 100}));
    }
    let answer: fn(&mut Connection, &Shared, &Value, Reply) -> io::Result<()> = match path {
        path if path.ends_with("/messages") => anthropic::answer,
        path if path.ends_with("/responses") => openai::answer,
        path if path.ends_with(":streamGenerateContent") => google::answer,
        _ => {
            return connection.json(
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
            Reply::text(r#"{"title": "Scripted"}"#),
        );
    }
    held(&shared.asked).push(Asked {
        path: path.to_owned(),
        body: body.clone(),
    });
    let reply = held(&shared.script).pop_front();
    let reply = reply.unwrap_or_else(|| Reply::text(SCRIPT_OVER));
    answer(&mut connection, shared, &body, reply)
}

impl Shared {
    /// Keeps a stream open until one of the two sides leaves.
    fn hold(&self, connection: &mut Connection) -> io::Result<()> {
        loop {
            if self.ended.load(Ordering::Relaxed) || connection.peer_left()? {
                return Ok(());
            }
        }
    }
}

/// An id. Clients tell calls and answers apart by theirs, across turns and processes too.
fn unique(kind: &str, index: usize) -> String {
    static IDS: AtomicU64 = AtomicU64::new(1);
    format!("{kind}_{index}_{}", IDS.fetch_add(1, Ordering::Relaxed))
}

/// Words in pieces, as a model streams them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', '\n'])
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
