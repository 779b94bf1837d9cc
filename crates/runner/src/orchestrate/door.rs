//! The way to a run from outside: a socket beside the lock of its state file. Whoever cannot have the file asks here, and the
//! run decides.
//!
//! One line each way: `{"do":"retry","id":"T1.2","lang":"ko"}`, then `{"ok":true}` or `{"error":{"code":…,"message":…,"hint":…}}`.

use super::run::Heard;
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

/// What is appended to the name of the state file.
const SUFFIX: &str = ".sock";
/// What is appended to that while the run stands still.
const PAUSED: &str = ".paused";
/// The longest line.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// The key of the language.
const LANG: &str = "lang";
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a run that ends waits until an answer is written, and how often it looks.
const LAST_ANSWER: Duration = Duration::from_secs(1);
const LAST_ANSWER_STEP: Duration = Duration::from_millis(5);

/// What somebody asks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Stand still.
    Pause {},
    /// Go on.
    Continue {},
    /// End the agents, and leave.
    Stop {},
    /// Begin a task.
    Start {
        /// Which.
        id: String,
    },
    /// End it well.
    Complete {
        /// Which.
        id: String,
    },
    /// End it badly.
    Fail {
        /// Which.
        id: String,
        /// Why.
        reason: Option<String>,
        /// It may be tried again.
        retry: bool,
    },
    /// Give it a fresh start.
    Retry {
        /// Which.
        id: String,
    },
    /// Call it done.
    ForceComplete {
        /// Which.
        id: String,
        /// Why.
        reason: Option<String>,
        /// A person asks.
        person: bool,
    },
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// It is done, or will be.
    #[serde(default)]
    pub ok: bool,
    /// The task that was meant, and where it stands now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<(String, String)>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refused>,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Stable.
    pub code: String,
    /// What.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// An open door; closed when this is dropped.
pub(super) struct Door {
    path: PathBuf,
    /// Held while a request is answered: the answer to `stop` is written before the run leaves.
    answering: Arc<Mutex<()>>,
}

impl Door {
    /// Opens it beside a state file. One that an earlier run left is taken away: whoever holds the lock is alone.
    pub(super) fn open(state: &Path, heard: Sender<Heard>) -> io::Result<Door> {
        let path = socket(state);
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(mark(&path));
        let listener = UnixListener::bind(short(&path)?.1)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let answering = Arc::<Mutex<()>>::default();
        let lock = Arc::clone(&answering);
        std::thread::Builder::new()
            .name("door".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // One that says nothing keeps nobody waiting for long.
                    let _ = stream.set_read_timeout(Some(ANSWER));
                    if serve(&stream, &heard, &lock).is_none() {
                        return;
                    }
                }
            })?;
        Ok(Door { path, answering })
    }
}

/// Says whether the run stands still, for whoever looks at the state file: a look must not wait for an answer. A mark that
/// cannot be made is not told, no more.
pub(super) fn says_paused(state: &Path, paused: bool) {
    let mark = mark(&socket(state));
    let _ = match paused {
        true => std::fs::write(mark, ""),
        false => std::fs::remove_file(mark),
    };
}

fn mark(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(PAUSED);
    PathBuf::from(name)
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(mark(&self.path));
        let _ = std::fs::remove_file(&self.path);
        let begun = Instant::now();
        while self.answering.try_lock().is_err() && begun.elapsed() < LAST_ANSWER {
            std::thread::sleep(LAST_ANSWER_STEP);
        }
    }
}

/// Serves one; nothing when the run is over.
fn serve(stream: &UnixStream, heard: &Sender<Heard>, answering: &Mutex<()>) -> Option<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream).take(LINE_BYTES_MAX);
    if reader.read_line(&mut line).is_err() {
        return Some(());
    }
    let _answering = answering.lock();
    let answer = match read(&line) {
        Ok((request, lang)) => {
            let (reply, answer) = channel();
            heard.send(Heard::Asked(request, lang, reply)).ok()?;
            answer.recv_timeout(ANSWER).unwrap_or_default()
        }
        Err(error) => Answer {
            error: Some(Refused {
                code: "bad_request".into(),
                message: error.to_string(),
                hint: "update Bowline".into(),
            }),
            ..Answer::default()
        },
    };
    let mut text = serde_json::to_string(&answer).unwrap_or_default();
    text.push('\n');
    let mut stream = stream;
    let _ = stream.write_all(text.as_bytes());
    Some(())
}

/// A request, and the language of its answer.
fn read(line: &str) -> serde_json::Result<(Request, Lang)> {
    let mut value: Value = serde_json::from_str(line)?;
    let lang = value.as_object_mut().and_then(|it| it.remove(LANG));
    let lang = match lang.as_ref().and_then(Value::as_str) {
        Some(name) if name == Lang::Ko.name() => Lang::Ko,
        Some(_) | None => Lang::En,
    };
    Ok((serde_json::from_value(value)?, lang))
}

/// Whether a run owns a state file.
pub fn is_open(state: &Path) -> bool {
    let by = short(&socket(state));
    by.is_ok_and(|(_folder, path)| UnixStream::connect(path).is_ok())
}

/// Whether the run that owns a state file said that it stands still.
pub fn is_paused(state: &Path) -> bool {
    mark(&socket(state)).symlink_metadata().is_ok()
}

/// Asks the run that owns a state file; nothing where none does. A refusal comes in the given language.
pub fn ask(state: &Path, request: &Request, lang: Lang) -> Option<Answer> {
    let (_folder, path) = short(&socket(state)).ok()?;
    let mut stream = UnixStream::connect(path).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    let mut value = serde_json::to_value(request).ok()?;
    // A run of an older version knows one language and no further key.
    if let (Some(object), Lang::Ko) = (value.as_object_mut(), lang) {
        object.insert(LANG.to_owned(), lang.name().into());
    }
    let line = format!("{value}\n");
    stream.write_all(line.as_bytes()).ok()?;
    let mut answer = String::new();
    let mut reader = BufReader::new(stream).take(LINE_BYTES_MAX);
    reader.read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

fn socket(state: &Path) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(SUFFIX);
    PathBuf::from(name)
}

/// A path that fits into an address however long the folder's own is; valid while the folder is held open.
fn short(path: &Path) -> io::Result<(File, PathBuf)> {
    let folder = File::open(path.parent().unwrap_or(Path::new(".")))?;
    let name = path.file_name().unwrap_or_default();
    let by = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, by))
}
