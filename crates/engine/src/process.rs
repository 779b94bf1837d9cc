//! Runs evidence commands and git, with limits on time and output; ends them when this process
//! ends.
//!
//! Agents are not started here; a supervisor owns those.

use crate::context::EVIDENCE_KEY_VARIABLE;
use crate::error::Error;
use crate::relay_process::{as_agent, run_in_sandbox};
use bowline_statefiles::ContentHash;
use bowline_supervisor::Sandbox;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{PipeReader, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Longest end of an output that is kept, in bytes.
pub const TAIL_BYTES_MAX: usize = 4 * 1024;
/// Exit code of a command that ran out of time, as in `timeout(1)`.
pub const EXIT_TIMED_OUT: i32 = 124;
/// Added to the number of the signal that ended a command.
const EXIT_SIGNAL: i32 = 128;
/// Time between asking a command to end and killing it, in milliseconds.
const STOP_GRACE_MS: u64 = 2_000;
/// Time limit for the rest of the output of a command that has ended, in milliseconds: another
/// process may hold the pipe.
const DRAIN_MS: u64 = 2_000;
/// Interval of calls to `poll` while a command runs, in milliseconds.
const POLL_MS: u64 = 100;
/// Shortest value that is masked: shorter ones would mask half of the text.
const SECRET_BYTES_MIN: usize = 8;
/// Parts of variable names whose values must not be stored.
const SECRET_NAMES: [&str; 7] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
];

/// Script that starts the command in its first argument once a line is read: before that, no guard
/// would end it with us.
const BEGIN: &str = "read -r _ || exit 125; exec /bin/sh -c \"$1\" </dev/null";

/// Shell that runs commands. Never one named by a variable: it decides what is evidence.
const SHELL: &str = "/bin/sh";

/// Script that kills the group in its first argument when its input ends: that happens when this
/// process ends in any way.
const GUARD: &str = "read -r _; kill -s KILL -- \"-$1\"";

/// Variables of git that would redirect our git to another repository or index.
const GIT_VARIABLES: [&str; 13] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_ATTR_SOURCE",
    "GIT_DIFF_OPTS",
    "GIT_EXTERNAL_DIFF",
];

/// Starts a program, in the sandbox of the agent that this process works for, if any; the program
/// may then also write to a folder of ours. Otherwise an agent's tests, or programs that its
/// repository has git run, could escape its sandbox.
fn start_program(command: &mut Command, ours: Option<&Path>) -> std::io::Result<Child> {
    as_agent(ours, || command.spawn())
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Exit code: [`EXIT_TIMED_OUT`], or 128 plus the signal, if it did not exit by itself.
    pub exit_code: i32,
    pub duration_ms: u64,
    /// Hash of all its output, both streams in the order of arrival.
    pub output_hash: String,
    /// Length of all its output.
    pub output_bytes: u64,
    /// End of its output, with the values of secret variables masked.
    pub output_tail: String,
}

/// Surroundings of a command.
#[derive(Debug)]
pub(crate) struct CommandSetting<'p> {
    pub(crate) folder: &'p Path,
    /// Folder of ours that it may write to inside an agent's sandbox.
    pub(crate) ours: Option<&'p Path>,
    /// Sandbox it runs in, unless that is an agent's.
    pub(crate) sandbox: Option<&'p Sandbox>,
    /// All its variables.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) limit: Duration,
}

/// Runs a shell command in a folder with only these variables, without input and with a time limit.
pub fn run_in(
    command: &str,
    folder: &Path,
    environment: &BTreeMap<String, String>,
    limit: Duration,
) -> Result<CommandResult, Error> {
    let variables = environment.iter();
    let place = CommandSetting {
        folder,
        ours: None,
        sandbox: None,
        environment: variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        limit,
    };
    run_command(command, &place, &mut |_| Ok(()))
}

/// Runs a shell command without input. `poll` is called several times a second while it runs; its
/// error ends the command.
pub(crate) fn run_command(
    command: &str,
    place: &CommandSetting<'_>,
    poll: &mut dyn FnMut(Duration) -> Result<(), Error>,
) -> Result<CommandResult, Error> {
    let failed = |error: std::io::Error| Error::ProgramFailed {
        program: "sh".into(),
        message: error.to_string(),
    };
    let began = Instant::now();
    let (output, writer) = std::io::pipe().map_err(failed)?;
    let mut shell = new_command(SHELL);
    shell
        .args(["-c", BEGIN, "sh", command])
        .env_clear()
        .envs(place.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(place.folder)
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer)
        .process_group(0);
    let started = match place.sandbox {
        Some(sandbox) => run_in_sandbox(sandbox, || shell.spawn()),
        None => start_program(&mut shell, place.ours),
    };
    let mut child = started.map_err(failed)?;
    // The copies of the pipe in it would keep the output open for ever.
    drop(shell);
    let group = group_of(&child);
    let mut guard = match start_guard(&child) {
        Ok(guard) => guard,
        Err(error) => {
            signal_group(group, Signal::KILL);
            child.wait().ok();
            return Err(failed(error));
        }
    };
    if let Some(mut begin) = child.stdin.take() {
        // A command that has ended already is found out below.
        begin.write_all(b"\n").ok();
    }

    let printed = Arc::new(Mutex::new(CapturedOutput::default()));
    let (ended, ends) = channel();
    let (drained, drains) = channel();
    let reader = printed.clone();
    let started = in_thread(move || {
        read_all(output, &reader);
        drained.send(()).ok();
    })
    .and_then(|()| {
        in_thread(move || {
            wait_without_reaping(group);
            ended.send(()).ok();
        })
    });
    if let Err(error) = started {
        signal_group(group, Signal::KILL);
        guard.kill().ok();
        guard.wait().ok();
        child.wait().ok();
        return Err(failed(error));
    }
    let timed_out = wait_with_limit(&ends, group, began, place.limit, poll);
    // Processes left in its group end with it. It is not reaped yet, so the group is still its own.
    signal_group(group, Signal::KILL);
    guard.kill().ok();
    guard.wait().ok();
    let status = child.wait().map_err(failed)?;
    let timed_out = timed_out?;
    drains.recv_timeout(Duration::from_millis(DRAIN_MS)).ok();

    let exit_code = match (timed_out, status.code(), status.signal()) {
        (true, ..) => EXIT_TIMED_OUT,
        (false, Some(code), _) => code,
        (false, None, signal) => EXIT_SIGNAL + signal.unwrap_or(0),
    };
    let printed = printed
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(CommandResult {
        exit_code,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        output_hash: printed.output_hash(),
        output_bytes: printed.bytes,
        output_tail: mask_secrets(&String::from_utf8_lossy(&printed.tail)),
    })
}

/// Starts a thread, or returns the error that none is available.
fn in_thread(run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().spawn(run).map(drop)
}

/// Runs git to its end in a folder, with further variables.
pub(crate) fn run_git(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &OsStr)],
) -> Result<GitResult, Error> {
    run_git_process(folder, arguments, variables, GitInput::Bytes(&[]), None).map(git_result)
}

/// Runs a git that writes to a folder of ours.
pub(crate) fn run_git_writing(
    folder: &Path,
    arguments: &[&str],
    ours: &Path,
) -> Result<GitResult, Error> {
    run_git_process(folder, arguments, &[], GitInput::Bytes(&[]), Some(ours)).map(git_result)
}

/// Runs a git that holds a file while it runs, as its standard input.
pub(crate) fn run_git_holding(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &OsStr)],
    file: File,
) -> Result<GitResult, Error> {
    run_git_process(folder, arguments, variables, GitInput::Held(file), None).map(git_result)
}

/// Standard input of git.
enum GitInput<'i> {
    Bytes(&'i [u8]),
    Held(File),
}

fn git_result(output: Output) -> GitResult {
    GitResult {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned(),
        stderr: error_output(&output),
        bytes: output.stdout,
    }
}

/// Runs a git with input that must succeed; returns its output byte for byte.
pub(crate) fn run_git_with_input(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &OsStr)],
    input: &[u8],
) -> Result<Vec<u8>, Error> {
    let output = run_git_process(folder, arguments, variables, GitInput::Bytes(input), None)?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Error::ProgramFailed {
            program: "git".into(),
            message: error_output(&output),
        }),
    }
}

/// Runs a git with input whose exit code is an answer, too: 0 or 1.
pub(crate) fn run_git_for_answer(
    folder: &Path,
    arguments: &[&str],
    input: &[u8],
) -> Result<GitResult, Error> {
    let end = git_result(run_git_process(
        folder,
        arguments,
        &[],
        GitInput::Bytes(input),
        None,
    )?);
    match end.code {
        Some(0 | 1) => Ok(end),
        Some(_) | None => Err(Error::ProgramFailed {
            program: "git".into(),
            message: end.stderr,
        }),
    }
}

fn error_output(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned()
}

fn run_git_process(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &OsStr)],
    input: GitInput<'_>,
    ours: Option<&Path>,
) -> Result<Output, Error> {
    // Evidence is asked of the system's git; a run uses the git of its user.
    let mut git = match &input {
        GitInput::Bytes(_) => new_command(git_program()),
        GitInput::Held(_) => new_command("git"),
    };
    // Disables user settings that could act or wait (hooks, monitors, prompts), and those that
    // change the output.
    git.arg("-C").arg(folder);
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.untrackedCache=false",
        "core.safecrlf=false",
        "core.quotePath=false",
        "color.ui=false",
        "diff.ignoreSubmodules=none",
        "diff.mnemonicPrefix=false",
        "diff.noprefix=false",
        "diff.relative=false",
        "log.showSignature=false",
        "status.showUntrackedFiles=normal",
        "advice.addEmbeddedRepo=false",
        "gc.auto=0",
    ] {
        git.args(["-c", setting]);
    }
    for name in GIT_VARIABLES {
        git.env_remove(name);
    }
    git.args(arguments)
        .env_remove(EVIDENCE_KEY_VARIABLE)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let input = match input {
        GitInput::Bytes(input) => {
            git.stdin(Stdio::piped());
            input
        }
        GitInput::Held(file) => {
            git.stdin(file);
            &[]
        }
    };
    // An index of ours is in a folder of ours.
    let index = variables.iter().find(|(name, _)| *name == "GIT_INDEX_FILE");
    let ours = ours.or_else(|| index.and_then(|(_, path)| Path::new(path).parent()));
    let failed = |error: std::io::Error| Error::ProgramFailed {
        program: "git".into(),
        message: error.to_string(),
    };
    let mut child = start_program(&mut git, ours).map_err(failed)?;
    let mut feed = child.stdin.take();
    if input.is_empty() {
        drop(feed);
        return child.wait_with_output().map_err(failed);
    }
    std::thread::scope(|scope| {
        let fed = std::thread::Builder::new().spawn_scoped(scope, || {
            if let Some(mut feed) = feed.take() {
                // A git that stopped reading reports the reason below.
                feed.write_all(input).ok();
            }
        });
        if let Err(error) = fed {
            child.kill().ok();
            child.wait().ok();
            return Err(error);
        }
        child.wait_with_output()
    })
    .map_err(failed)
}

/// Result of a git command.
#[derive(Debug)]
pub struct GitResult {
    /// Exit code, unless it was killed.
    pub code: Option<i32>,
    pub bytes: Vec<u8>,
    /// Output as text, without the last line end.
    pub stdout: String,
    pub stderr: String,
}

impl GitResult {
    /// Returns a git that succeeded, and none if it failed. A git that was killed has given no
    /// answer and is an error.
    pub fn success(self) -> Result<Option<GitResult>, Error> {
        match self.code {
            Some(0) => Ok(Some(self)),
            Some(_) => Ok(None),
            None => self.into_stdout().map(|_| None),
        }
    }

    /// Returns the output of a git that succeeded.
    pub fn into_stdout(self) -> Result<String, Error> {
        match self.code {
            Some(0) => Ok(self.stdout),
            Some(_) | None => Err(Error::ProgramFailed {
                program: "git".into(),
                message: self.stderr,
            }),
        }
    }
}

/// Returns git in a system folder; only if there is none, the one in the caller's `PATH`, where an
/// agent may have put another.
fn git_program() -> &'static str {
    static FOUND: OnceLock<&str> = OnceLock::new();
    let usual = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git"];
    FOUND.get_or_init(|| {
        let there = usual.into_iter().find(|path| Path::new(path).is_file());
        there.unwrap_or("git")
    })
}

fn new_command(name: &str) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place of this crate that starts programs"
    )]
    Command::new(name)
}

/// The file that guards of commands hold open.
static HELD_FILE: OnceLock<File> = OnceLock::new();

/// Keeps a file open for as long as commands of this process run, even if this process is killed:
/// a lock on the file ends only when they have ended. The first file given counts.
pub fn hold_while_commands_run(file: File) {
    let _ = HELD_FILE.set(file);
}

fn start_guard(child: &Child) -> std::io::Result<Child> {
    let held = match HELD_FILE.get() {
        Some(file) => file.try_clone()?.into(),
        None => Stdio::null(),
    };
    // Outside of any sandbox but our own, or it could not kill the group. So its program is not
    // searched where an agent may have put one.
    new_command(SHELL)
        .args(["-c", GUARD, "guard"])
        .arg(child.id().to_string())
        // Processes beside it could read its environment.
        .env_clear()
        // The pipe is ours alone; a group of its own protects it from signals that a terminal sends
        // to ours.
        .stdin(Stdio::piped())
        .stdout(held)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn group_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Signals a group. One that is gone already counts as ended.
fn signal_group(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        kill_process_group(group, signal).ok();
    }
}

fn wait_without_reaping(leader: Option<Pid>) {
    let Some(leader) = leader else {
        return;
    };
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // A signal of ours may interrupt the wait; any other error means that there is nothing to wait
    // for.
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), how) {}
}

/// Waits for the end. Returns true if the time limit ended the command, or the error of `poll`.
fn wait_with_limit(
    ends: &std::sync::mpsc::Receiver<()>,
    group: Option<Pid>,
    began: Instant,
    limit: Duration,
    poll: &mut dyn FnMut(Duration) -> Result<(), Error>,
) -> Result<bool, Error> {
    let until = began + limit;
    let ended_by = loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break Ok(true);
        }
        match ends.recv_timeout(left.min(Duration::from_millis(POLL_MS))) {
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = poll(began.elapsed()) {
                    break Err(error);
                }
            }
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(false),
        }
    };
    signal_group(group, Signal::TERM);
    let grace = Duration::from_millis(STOP_GRACE_MS);
    if ends.recv_timeout(grace) == Err(RecvTimeoutError::Timeout) {
        signal_group(group, Signal::KILL);
    }
    ended_by
}

/// Output so far.
struct CapturedOutput {
    hasher: blake3::Hasher,
    bytes: u64,
    tail: Vec<u8>,
}

impl Default for CapturedOutput {
    fn default() -> Self {
        CapturedOutput {
            hasher: blake3::Hasher::new(),
            bytes: 0,
            tail: Vec::new(),
        }
    }
}

impl CapturedOutput {
    fn append_bytes(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.tail.extend_from_slice(bytes);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..excess);
    }

    /// Returns the hash with as many digits as every other hash of ours.
    fn output_hash(&self) -> String {
        let digits = ContentHash::of_bytes(b"").to_string().len();
        let mut hex = self.hasher.finalize().to_hex().to_string();
        hex.truncate(digits);
        hex
    }
}

fn read_all(mut output: PipeReader, printed: &Mutex<CapturedOutput>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => match printed.lock() {
                Ok(mut printed) => printed.append_bytes(&buffer[..read]),
                Err(_) => return,
            },
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Masks the values of variables whose names look like secrets.
fn mask_secrets(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, value) in std::env::vars_os() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
            continue;
        };
        let name = name.to_uppercase();
        let secret = SECRET_NAMES.iter().any(|part| name.contains(part));
        if secret && value.len() >= SECRET_BYTES_MIN {
            text = text.replace(value, "***");
        }
    }
    text
}
