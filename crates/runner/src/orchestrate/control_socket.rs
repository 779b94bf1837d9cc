//! Control socket of a run, beside the lock of its state file. A process that cannot get the file
//! asks here, and the run decides.
//!
//! One line each way: `{"do":"retry","id":"T1.2","lang":"ko"}`, then `{"ok":true}` or
//! `{"error":{"code":…,"message":…,"hint":…}}`.

use super::run::LoopInput;
use bowline_words::Lang;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Suffix of the socket, after the name of the state file.
const SOCKET_SUFFIX: &str = ".sock";
/// Suffix of the file that exists while the run is paused, after the name of the socket.
const PAUSED_SUFFIX: &str = ".paused";
/// Maximum length of a line.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Key of the language of the answer.
const LANG_KEY: &str = "lang";
/// Timeout of an answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a run that ends waits until an answer is written, and the interval of its checks.
const LAST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
const LAST_RESPONSE_PAUSE: Duration = Duration::from_millis(5);

/// A request to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum SocketRequest {
    /// Start nothing new, and pause the agents.
    Pause {},
    /// Continue after a pause.
    Continue {},
    /// End the agents and leave.
    Stop {},
    /// Start a task.
    Start { id: String },
    /// Mark a task as completed.
    Complete { id: String },
    /// Mark a task as failed.
    Fail {
        id: String,
        reason: Option<String>,
        /// The task may be retried.
        retry: bool,
    },
    /// Retry a failed task from the start.
    Retry { id: String },
    /// Mark a task as completed whatever its state.
    ForceComplete {
        id: String,
        reason: Option<String>,
        /// True if a person asks, false if an agent does.
        person: bool,
    },
}

/// Response of a run to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketResponse {
    /// The request was carried out, or will be.
    #[serde(default)]
    pub ok: bool,
    /// Id of the task in question, and its status now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SocketError>,
}

/// Error of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketError {
    /// Stable code for programs.
    pub code: String,
    pub message: String,
    /// Advice for the caller.
    pub hint: String,
}

/// The listening socket; closed and removed on drop.
pub(super) struct ControlSocket {
    path: PathBuf,
    /// Held while a request is answered: the answer to `stop` is written before the run leaves.
    answering: Arc<Mutex<()>>,
}

impl ControlSocket {
    /// Binds the socket beside a state file. A socket left by an earlier run is removed: the holder
    /// of the file's lock is alone.
    pub(super) fn open(state: &Path, inputs: Sender<LoopInput>) -> io::Result<ControlSocket> {
        let path = socket_path(state);
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(paused_marker(&path));
        let listener = UnixListener::bind(short_path(&path)?.1)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let answering = Arc::<Mutex<()>>::default();
        let lock = Arc::clone(&answering);
        std::thread::Builder::new()
            .name("door".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // A client that sends nothing must not block others for long.
                    let _ = stream.set_read_timeout(Some(RESPONSE_TIMEOUT));
                    if serve_connection(&stream, &inputs, &lock).is_none() {
                        return;
                    }
                }
            })?;
        Ok(ControlSocket { path, answering })
    }
}

/// Records in a file whether the run is paused, so that readers of the state file need not ask the
/// socket. A file that cannot be written is ignored.
pub(super) fn mark_paused(state: &Path, paused: bool) {
    let mark = paused_marker(&socket_path(state));
    let _ = match paused {
        true => std::fs::write(mark, ""),
        false => std::fs::remove_file(mark),
    };
}

fn paused_marker(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(PAUSED_SUFFIX);
    PathBuf::from(name)
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(paused_marker(&self.path));
        let _ = std::fs::remove_file(&self.path);
        let begun = Instant::now();
        while self.answering.try_lock().is_err() && begun.elapsed() < LAST_RESPONSE_TIMEOUT {
            std::thread::sleep(LAST_RESPONSE_PAUSE);
        }
    }
}

/// Serves one connection; returns none when the run is over.
fn serve_connection(
    stream: &UnixStream,
    inputs: &Sender<LoopInput>,
    answering: &Mutex<()>,
) -> Option<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream).take(LINE_BYTES_MAX);
    if reader.read_line(&mut line).is_err() {
        return Some(());
    }
    let _answering = answering.lock();
    let answer = match parse_request(&line) {
        Ok((request, lang)) => {
            let (reply, answer) = channel();
            inputs.send(LoopInput::Control(request, lang, reply)).ok()?;
            answer.recv_timeout(RESPONSE_TIMEOUT).unwrap_or_default()
        }
        Err(error) => SocketResponse {
            error: Some(SocketError {
                code: "bad_request".into(),
                message: error.to_string(),
                hint: "update Bowline".into(),
            }),
            ..SocketResponse::default()
        },
    };
    let mut text = serde_json::to_string(&answer).unwrap_or_default();
    text.push('\n');
    let mut stream = stream;
    let _ = stream.write_all(text.as_bytes());
    Some(())
}

/// Parses a request and the language of its answer.
fn parse_request(line: &str) -> serde_json::Result<(SocketRequest, Lang)> {
    let mut value: Value = serde_json::from_str(line)?;
    let lang = value.as_object_mut().and_then(|it| it.remove(LANG_KEY));
    let lang = match lang.as_ref().and_then(Value::as_str) {
        Some(name) if name == Lang::Ko.name() => Lang::Ko,
        Some(_) | None => Lang::En,
    };
    Ok((serde_json::from_value(value)?, lang))
}

/// True if a run owns a state file.
pub fn is_open(state: &Path) -> bool {
    let by = short_path(&socket_path(state));
    by.is_ok_and(|(_folder, path)| UnixStream::connect(path).is_ok())
}

/// True if the run that owns a state file is paused.
pub fn is_paused(state: &Path) -> bool {
    paused_marker(&socket_path(state))
        .symlink_metadata()
        .is_ok()
}

/// Sends a request to the run that owns a state file; returns none if there is no such run. Errors
/// come in the given language.
pub fn send_request(state: &Path, request: &SocketRequest, lang: Lang) -> Option<SocketResponse> {
    let (_folder, path) = short_path(&socket_path(state)).ok()?;
    let mut stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).ok()?;
    let mut value = serde_json::to_value(request).ok()?;
    // A run of an older version has one language and rejects unknown keys.
    if let (Some(object), Lang::Ko) = (value.as_object_mut(), lang) {
        object.insert(LANG_KEY.to_owned(), lang.name().into());
    }
    let line = format!("{value}\n");
    stream.write_all(line.as_bytes()).ok()?;
    let mut answer = String::new();
    let mut reader = BufReader::new(stream).take(LINE_BYTES_MAX);
    reader.read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

fn socket_path(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(SOCKET_SUFFIX);
    PathBuf::from(name)
}

/// Returns a path that fits into a socket address however long the folder's path is. It is valid
/// while the returned folder is open.
fn short_path(path: &Path) -> io::Result<(File, PathBuf)> {
    let folder = File::open(path.parent().unwrap_or(Path::new(".")))?;
    let name = path.file_name().unwrap_or_default();
    let by = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, by))
}
