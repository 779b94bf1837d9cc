//! One run of a client as a supervised attempt, its output read by an adapter.

use crate::support::{BOUND, World, shim, signal};
use bowline_formats::agents::{
    AgentAdapter, AgentEvent, AgentEventKind, AgentProtocol, ClientRequest, TokenUsage, TurnEnd,
};
use bowline_formats::markers::UserQuestion;
use bowline_supervisor::{
    AttemptExit, ObservedState, OutputStream, SendOutcome, ShimHandle, WantedState,
};
use bowline_test_support::{MissingRequirement, skip_test};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of output read at once.
const PIECE_BYTES: usize = 65_536;

/// The program an environment variable names, or a word that the test is skipped.
pub(super) fn installed(variable: &str) -> Option<String> {
    let path = std::env::var(variable).ok();
    if path.is_none() {
        skip_test(
            MissingRequirement::Client,
            &format!("{variable} is not set; `cargo xtask test` installs the client"),
        );
    }
    path
}

/// An event that can be kept.
#[derive(Debug, PartialEq)]
pub(super) enum Seen {
    Initialized,
    Session(String),
    Said(String),
    ToolUsed(String),
    Asks(Option<ClientRequest<'static>>, Vec<UserQuestion>),
    WantsPermission(ClientRequest<'static>, String),
    PhaseComplete(u32),
    Limit,
    Usage(TokenUsage),
    TurnEnded(TurnEnd),
    ProtocolError(String),
    Other(String),
}

impl From<AgentEvent<'_>> for Seen {
    fn from(event: AgentEvent<'_>) -> Self {
        match event.what {
            AgentEventKind::Initialized => Self::Initialized,
            AgentEventKind::Session { id, .. } => Self::Session(id.into_owned()),
            AgentEventKind::Said(text) => Self::Said(text.into_owned()),
            AgentEventKind::ToolUsed { name, .. } => Self::ToolUsed(name.into_owned()),
            AgentEventKind::Asks { request, questions } => {
                Self::Asks(request.map(ClientRequest::into_owned), questions)
            }
            AgentEventKind::WantsPermission { request, tool, .. } => {
                Self::WantsPermission(request.into_owned(), tool.into_owned())
            }
            AgentEventKind::PhaseComplete { phase, .. } => Self::PhaseComplete(phase),
            AgentEventKind::Limit { .. } => Self::Limit,
            AgentEventKind::Usage(usage) => Self::Usage(usage),
            AgentEventKind::TurnEnded(end) => Self::TurnEnded(end),
            AgentEventKind::ProtocolError(error) => Self::ProtocolError(error.to_string()),
            other => Self::Other(format!("{other:?}")),
        }
    }
}

/// A client that runs. Nothing of it is left when it is dropped.
pub(super) struct Run {
    world: World,
    handle: ShimHandle,
    protocol: AgentProtocol,
    adapter: AgentAdapter,
    /// The number of the next message.
    next: u64,
    /// Events nobody has looked at yet.
    pending: VecDeque<Seen>,
    ended: bool,
}

impl Run {
    /// Starts a client in `folder` with this environment and no other.
    pub(super) fn start(
        program: &str,
        arguments: Vec<String>,
        environment: &[(&str, &str)],
        folder: &Path,
        protocol: AgentProtocol,
    ) -> Self {
        let world = World::with("", |spec| {
            spec.command = std::iter::once(program.to_owned())
                .chain(arguments)
                .collect();
            spec.folder = folder.to_owned();
        });
        shim().start_shim(&world.attempt).unwrap();
        let mut handle = world.attach();
        let environment: BTreeMap<String, String> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        handle.start_agent(&environment).unwrap();
        Self {
            world,
            handle,
            protocol,
            adapter: AgentAdapter::new(protocol, None),
            next: 1,
            pending: VecDeque::new(),
            ended: false,
        }
    }

    pub(super) fn write(&mut self, text: &str) {
        self.send(text, false);
    }

    /// Closes its standard input.
    pub(super) fn close(&mut self) {
        self.send("", true);
    }

    fn send(&mut self, text: &str, last: bool) {
        let sent = self
            .handle
            .send_input(self.next, text.as_bytes(), last)
            .unwrap();
        assert_eq!(sent, SendOutcome::Accepted);
        self.next += 1;
    }

    /// Goes on as another server would after a crash of this one, which had acted upon everything
    /// it looked at.
    pub(super) fn attach_again(&mut self) {
        assert!(self.pending.is_empty(), "{:?}", self.pending);
        let resume = self.adapter.resume_point();
        self.adapter = AgentAdapter::resume_at(self.protocol, None, resume);
        self.handle = self.world.attach();
        assert_eq!(self.handle.last_status().input.next, self.next);
    }

    /// The next event, or nothing when the output has ended.
    fn next(&mut self) -> Option<Seen> {
        let end = Instant::now() + BOUND;
        loop {
            if let Some(seen) = self.pending.pop_front() {
                return Some(seen);
            }
            if self.ended {
                return None;
            }
            let from = self.adapter.offset();
            let over = self.handle.last_status().state == ObservedState::Ended;
            let (at, bytes) = self
                .world
                .attempt
                .read_output(OutputStream::Out, from, PIECE_BYTES)
                .unwrap();
            assert!(at == from || bytes.is_empty());
            let pending = &mut self.pending;
            if !bytes.is_empty() {
                self.adapter
                    .push(&bytes, &mut |event| pending.push_back(event.into()));
                let read = self.adapter.resume_point().at.offset;
                // An attempt that has ended meanwhile takes no orders.
                let _ = self.handle.acknowledge_output(read, 0);
            } else if over {
                self.ended = true;
                self.adapter
                    .finish(&mut |event| pending.push_back(event.into()));
            } else {
                assert!(
                    Instant::now() < end,
                    "the client says nothing more: {}\n{}",
                    self.world.output(OutputStream::Out),
                    self.world.output(OutputStream::Err)
                );
                self.handle
                    .wait_for_change(from, u64::MAX, Duration::from_millis(500))
                    .unwrap();
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
        panic!(
            "the client ended after {all:#?}: {}",
            self.world.output(OutputStream::Err)
        );
    }

    /// The events up to the end of the turn, which must end so.
    pub(super) fn until_turn_end(&mut self, end: TurnEnd) -> Vec<Seen> {
        let seen = self.until(|seen| matches!(seen, Seen::TurnEnded(_)));
        assert_eq!(seen.last(), Some(&Seen::TurnEnded(end)), "{seen:#?}");
        seen
    }

    /// All events that are left, and how the client ended.
    pub(super) fn until_exit(&mut self) -> (Vec<Seen>, AttemptExit) {
        let mut all = Vec::new();
        while let Some(seen) = self.next() {
            all.push(seen);
        }
        (all, self.world.ended())
    }

    /// Kills the client's own process with SIGKILL.
    pub(super) fn kill(&mut self) {
        let agent = self.handle.fetch_status().unwrap().agent.unwrap();
        signal(agent, rustix::process::Signal::KILL);
    }

    /// Ends the run as the product does.
    pub(super) fn end(&mut self) {
        self.handle.set_wanted_state(WantedState::Ended, 1).unwrap();
    }
}
