//! Protocol of the relay out of a sandbox: a command line goes out, its output and exit code come
//! back.
//!
//! [`run_outside`] is the client inside. [`serve_connection`] is the server outside: one process
//! for each connection, started by the shim in a sandbox that holds the agent's paths and those
//! Bowline needs itself. It runs one program, itself; that program decides which of the agent's
//! commands are allowed.

use crate::error::SupervisorError;
use crate::process::descendants;
use rustix::process::{Signal, getpid, set_child_subreaper, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Version of the relay protocol.
const VERSION: u32 = 1;
/// The longest request: a command line, and a value on standard input.
const REQUEST_BYTES_MAX: u32 = 4 << 20;
/// Time a request may take to arrive.
const REQUEST_MS_MAX: u64 = 10_000;
/// Interval at which the caller's `goes_on` is called.
const POLL_MS: u64 = 100;
/// The longest piece of output in one message.
const PIECE_BYTES_MAX: usize = 64 << 10;
/// Scans for remaining descendants, each after killing those found. The shim kills what outruns
/// even these, with the agent.
const LOOKS_MAX: usize = 1_000;
/// A shell's base for exit codes of programs ended by a signal.
const SIGNAL_BASE: i32 = 128;
/// This program, even if the file at its path has been replaced since it was started.
const MYSELF: &str = "/proc/self/exe";

/// Request to run Bowline with these arguments outside of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayRequest {
    version: u32,
    /// Arguments without the program.
    pub arguments: Vec<String>,
    /// Working directory of the command.
    pub folder: PathBuf,
    /// Contents of its standard input.
    pub input: String,
}

impl RelayRequest {
    /// Creates a request for a command line in a folder.
    pub fn new(arguments: Vec<String>, folder: PathBuf, input: String) -> RelayRequest {
        RelayRequest {
            version: VERSION,
            arguments,
            folder,
            input,
        }
    }
}

/// Stream a piece of output belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayStream {
    /// Standard output of the command.
    Out,
    /// Standard error of the command.
    Err,
}

/// A message is a byte for its kind, four bytes of length, and that many bytes.
const REQUEST: u8 = b'a';
const OUT: u8 = b'o';
const ERR: u8 = b'e';
const CODE: u8 = b'c';

/// Runs a command line outside and passes its output to `printed`. Returns its exit code.
pub fn run_outside(
    socket: &Path,
    asked: &RelayRequest,
    printed: impl FnMut(RelayStream, &[u8]),
) -> Result<i32, SupervisorError> {
    run_on_connection(socket, asked, printed, |_| Ok(()))
}

/// Like [`run_outside`], with `goes_on` called several times a second: once it returns `false`, the
/// connection is closed, which ends the command.
pub fn run_outside_while(
    socket: &Path,
    asked: &RelayRequest,
    printed: impl FnMut(RelayStream, &[u8]),
    goes_on: impl Fn(Duration) -> bool + Send,
) -> Result<i32, SupervisorError> {
    std::thread::scope(|scope| {
        // Dropped at the end of the call, which ends the thread.
        let (_answered, answered) = std::sync::mpsc::channel::<()>();
        run_on_connection(socket, asked, printed, |stream| {
            let (stream, began) = (stream.try_clone()?, std::time::Instant::now());
            let watch = move || {
                let pause = Duration::from_millis(POLL_MS);
                while answered.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    if !goes_on(began.elapsed()) {
                        stream.shutdown(Shutdown::Both).ok();
                        return;
                    }
                }
            };
            std::thread::Builder::new()
                .spawn_scoped(scope, watch)
                .map(drop)
        })
    })
}

fn run_on_connection(
    socket: &Path,
    asked: &RelayRequest,
    mut printed: impl FnMut(RelayStream, &[u8]),
    connected: impl FnOnce(&UnixStream) -> io::Result<()>,
) -> Result<i32, SupervisorError> {
    let failed = |source: io::Error| SupervisorError::Relay {
        path: socket.to_owned(),
        source,
    };
    let mut stream = connect_to_socket(socket).map_err(failed)?;
    connected(&stream).map_err(failed)?;
    let request = serde_json::to_vec(asked)
        .map_err(io::Error::from)
        .map_err(failed)?;
    write_message(&mut stream, REQUEST, &request).map_err(failed)?;
    loop {
        let (what, bytes) = read_message(&mut stream, REQUEST_BYTES_MAX).map_err(failed)?;
        match (what, <[u8; 4]>::try_from(bytes.as_slice())) {
            (OUT, _) => printed(RelayStream::Out, &bytes),
            (ERR, _) => printed(RelayStream::Err, &bytes),
            (CODE, Ok(code)) => return Ok(i32::from_be_bytes(code)),
            _ => return Err(failed(io::ErrorKind::InvalidData.into())),
        }
    }
}

/// Connects through the open folder: the path of a socket may be longer than an address can be.
fn connect_to_socket(socket: &Path) -> io::Result<UnixStream> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = rustix::fs::OFlags::PATH.bits().cast_signed();
    let folder = File::options()
        .read(true)
        .custom_flags(flags)
        .open(folder)?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    UnixStream::connect(short.join(name))
}

/// Serves the connection that is this process's standard input. `words` are the first arguments
/// with which this program runs the agent's command; the attempt's folder follows them, and then
/// the agent's own arguments.
pub fn serve_connection(words: &[&str], folder: &Path) -> ExitCode {
    match handle_request(words, folder) {
        Ok(()) => ExitCode::SUCCESS,
        // The client finds the connection closed.
        Err(_) => ExitCode::FAILURE,
    }
}

fn handle_request(words: &[&str], folder: &Path) -> io::Result<()> {
    let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    stream.set_read_timeout(Some(Duration::from_millis(REQUEST_MS_MAX)))?;
    let (what, bytes) = read_message(&mut stream, REQUEST_BYTES_MAX)?;
    let asked: RelayRequest = serde_json::from_slice(&bytes)?;
    if what != REQUEST || asked.version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.set_read_timeout(None)?;
    // Orphaned descendants stay below this process.
    set_child_subreaper(Some(getpid()))?;
    let answers = Mutex::new(stream.try_clone()?);
    let tell = |what, bytes: &[u8]| match answers.lock() {
        Ok(mut answers) => write_message(&mut *answers, what, bytes),
        Err(_) => Err(io::ErrorKind::Other.into()),
    };
    let mut child = Command::new(MYSELF)
        .args(words)
        .arg(folder)
        .args(&asked.arguments)
        .current_dir(&asked.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // The client has disconnected: its command ends with it.
    #[expect(
        clippy::exit,
        reason = "nobody is left to serve, and the child ends with us"
    )]
    let watched = std::thread::Builder::new().spawn(move || {
        let _ = stream.read(&mut [0]);
        kill_descendants();
        std::process::exit(1);
    });
    let status = std::thread::scope(|scope| {
        let (input, out, err) = take_pipes(&mut child);
        let thread = std::thread::Builder::new;
        let feed = || input.map(|mut input| input.write_all(asked.input.as_bytes()));
        let started = watched
            .and_then(|_| thread().spawn_scoped(scope, feed).map(drop))
            .and_then(|()| {
                let pump = || out.map(|out| copy_output(out, &|bytes| tell(OUT, bytes)));
                thread().spawn_scoped(scope, pump).map(drop)
            })
            .and_then(|()| {
                let pump = || err.map(|err| copy_output(err, &|bytes| tell(ERR, bytes)));
                thread().spawn_scoped(scope, pump).map(drop)
            });
        if let Err(error) = started {
            kill_descendants();
            let _ = child.wait();
            return Err(error);
        }
        let status = child.wait();
        // Descendants it left behind may hold the pipes open.
        kill_descendants();
        status
    })?;
    let code = status
        .code()
        .unwrap_or_else(|| SIGNAL_BASE + status.signal().unwrap_or_default());
    tell(CODE, &code.to_be_bytes())
}

type ChildPipes = (
    Option<std::process::ChildStdin>,
    Option<std::process::ChildStdout>,
    Option<std::process::ChildStderr>,
);

fn take_pipes(child: &mut Child) -> ChildPipes {
    (child.stdin.take(), child.stdout.take(), child.stderr.take())
}

fn copy_output(mut from: impl Read, tell: &dyn Fn(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES_MAX];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => tell(&piece[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Ends all descendants, in sessions of their own or not. Those forked meanwhile are found by the
/// next scan.
fn kill_descendants() {
    let us = getpid().as_raw_nonzero().get();
    for _ in 0..LOOKS_MAX {
        let below = descendants(us);
        let alive: Vec<_> = below.iter().filter(|one| !one.has_ended()).collect();
        if alive.is_empty() {
            return;
        }
        for one in alive {
            one.send_signal(Signal::KILL);
        }
    }
}

/// Makes this process end when its parent, which serves the connection, ends.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

fn write_message(to: &mut impl Write, what: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut message = vec![what];
    message.extend(length.to_be_bytes());
    message.extend(bytes);
    to.write_all(&message)
}

fn read_message(from: &mut impl Read, max: u32) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [what, length @ ..] = head;
    let length = u32::from_be_bytes(length);
    if length > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    match bytes.len() == length as usize {
        true => Ok((what, bytes)),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
