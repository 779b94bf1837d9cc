//! One run of a client as a child process, its output read by an adapter.

use bowline_formats::agents::{Adapter, Event, Protocol, Request, TurnEnd, Usage, What};
use bowline_formats::markers::UserQuestion;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a client may take for anything; far more than it needs, so that only a hang fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The program an environment variable names, or a word that the test is skipped.
pub(super) fn installed(variable: &str) -> Option<std::ffi::OsString> {
    let path = std::env::var_os(variable);
    if path.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: {variable} is not set; `cargo xtask test` installs the client");
        }
    }
    path
}

/// An event that can be kept.
#[derive(Debug, PartialEq)]
pub(super) enum Seen {
    Session(String),
    Said(String),
    ToolUsed(String),
    Asks(Option<Request<'static>>, Vec<UserQuestion>),
    WantsPermission(Request<'static>, String),
    PhaseComplete(u32),
    Limit,
    Usage(Usage),
    TurnEnded(TurnEnd),
    ProtocolError(String),
    Other(String),
}

impl From<Event<'_>> for Seen {
    fn from(event: Event<'_>) -> Self {
        match event.what {
            What::Session { id, .. } => Self::Session(id.into_owned()),
            What::Said(text) => Self::Said(text.into_owned()),
            What::ToolUsed { name, .. } => Self::ToolUsed(name.into_owned()),
            What::Asks { request, questions } => {
                Self::Asks(request.map(Request::into_owned), questions)
            }
            What::WantsPermission { request, tool, .. } => {
                Self::WantsPermission(request.into_owned(), tool.into_owned())
            }
            What::PhaseComplete { phase, .. } => Self::PhaseComplete(phase),
            What::Limit { .. } => Self::Limit,
            What::Usage(usage) => Self::Usage(usage),
            What::TurnEnded(end) => Self::TurnEnded(end),
            What::ProtocolError(error) => Self::ProtocolError(error.to_string()),
            other => Self::Other(format!("{other:?}")),
        }
    }
}

/// A client that runs. It is killed when it is dropped.
pub(super) struct Run {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    adapter: Adapter,
    /// Events nobody has looked at yet.
    pending: std::collections::VecDeque<Seen>,
    ended: bool,
}

impl Run {
    /// Starts a client in `folder` with this environment and no other.
    pub(super) fn start(
        program: &std::ffi::OsStr,
        arguments: &[String],
        environment: &[(&str, &str)],
        folder: &Path,
        protocol: Protocol,
        talks: bool,
    ) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().copied())
            .current_dir(folder)
            .stdin(if talks { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                if send.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            output,
            adapter: Adapter::new(protocol, None),
            pending: std::collections::VecDeque::new(),
            ended: false,
        }
    }

    pub(super) fn write(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// The next event, or nothing when the output has ended.
    fn next(&mut self) -> Option<Seen> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(seen) = self.pending.pop_front() {
                return Some(seen);
            }
            if self.ended {
                return None;
            }
            let pending = &mut self.pending;
            match self
                .output
                .recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self
                    .adapter
                    .push(&bytes, &mut |event| pending.push_back(event.into())),
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = true;
                    self.adapter
                        .finish(&mut |event| pending.push_back(event.into()));
                }
                Err(RecvTimeoutError::Timeout) => panic!("the client says nothing more"),
            }
        }
    }

    /// The events up to and with the first that is wanted.
    pub(super) fn until(&mut self, wanted: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        let mut all = Vec::new();
        while let Some(seen) = self.next() {
            let found = wanted(&seen);
            all.push(seen);
            if found {
                return all;
            }
        }
        panic!("the client ended after {all:#?}");
    }

    /// The events up to the end of the turn, which must end so.
    pub(super) fn until_turn_end(&mut self, end: TurnEnd) -> Vec<Seen> {
        let seen = self.until(|seen| matches!(seen, Seen::TurnEnded(_)));
        assert_eq!(seen.last(), Some(&Seen::TurnEnded(end)), "{seen:#?}");
        seen
    }

    /// All events that are left, and how the client ended.
    pub(super) fn until_exit(&mut self) -> (Vec<Seen>, ExitStatus) {
        self.input = None;
        let mut all = Vec::new();
        while let Some(seen) = self.next() {
            all.push(seen);
        }
        (all, self.child.wait().unwrap())
    }

    /// Ends the client at once, as the kernel would.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(super) fn interrupt(&self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
