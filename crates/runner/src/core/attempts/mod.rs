//! Runs all attempts of one process on one event loop.
//!
//! [`AttemptLoop`] is the handle: it takes orders and delivers [`AttemptEvent`], in order for each
//! attempt. The event loop polls the connections to all shims; a few workers do what blocks (start
//! a shim, sweep a lost attempt). Nothing here depends on why an agent runs.
//!
//! **Duties of the caller.** Choose and store an id and a folder before
//! [`AttemptLoop::start_attempt`]. After a crash, [`AttemptLoop::attach_attempt`] continues with
//! them from the last stored [`ResumePoint`], and everything reported behind that point is reported
//! again. Answer each [`AttemptEventKind::Output`] with [`AttemptLoop::confirm_processed`] once its
//! consequences are durable: only then is it acknowledged to the shim, and output that is not
//! acknowledged is not read further.
//!
//! **End.** The last event of every attempt is one of [`AttemptEventKind::Exited`],
//! [`AttemptEventKind::Lost`] and [`AttemptEventKind::NeverStarted`]; then its id is forgotten.

mod attempt_events;
mod connection;
mod event_loop;
mod output_reader;
mod queued_input;
mod start_workers;

use super::or_end_process;
use bowline_formats::agents::{
    AgentEvent, AgentInputWriter, AgentProtocol, InputDelivery, ResumePoint,
};
use bowline_supervisor::{
    AttemptExit, AttemptSpec, ObservedState, ObservedStatus, OutputBlockReason, ShimProgram,
    SweepReport, WantedState,
};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes of standard error that an exit event carries.
pub const ERROR_TAIL_BYTES: usize = 4 << 10;

/// A message to an agent, rendered when it is sent: some clients must open a session first, and
/// then it is rendered again.
pub type AgentMessage = Box<dyn FnMut(&mut AgentInputWriter) -> InputDelivery + Send>;

/// Protocol of an agent's output and input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputProtocol {
    pub protocol: AgentProtocol,
    /// Word that marks genuine markers, as the agent was given it.
    pub nonce: Option<String>,
}

/// Everything needed to start a new attempt.
pub struct AttemptStart {
    /// Folder of the attempt; it is created.
    pub folder: PathBuf,
    /// Command, id and fencing number of the attempt.
    pub spec: AttemptSpec,
    /// Environment of the agent; nothing else is inherited.
    pub environment: BTreeMap<String, String>,
    /// Protocol of its output and input.
    pub output_protocol: OutputProtocol,
    /// First message on standard input.
    pub first_message: Option<AgentMessage>,
    /// Session to resume, for protocols that name it in a message and not in the arguments.
    pub session: Option<String>,
    /// True if standard input is closed after the first message.
    pub close_input: bool,
}

/// Messages that greet a client whose protocol has a greeting; other messages are numbered behind
/// them.
pub const GREETINGS: u64 = 2;

/// Everything needed to continue an attempt that was started before.
#[derive(Debug, Clone)]
pub struct AttemptResume {
    /// Folder of the attempt.
    pub folder: PathBuf,
    /// Fencing number of orders from now on.
    pub fence: u64,
    /// Protocol of its output and input.
    pub output_protocol: OutputProtocol,
    /// Point at which reading resumes.
    pub resume: ResumePoint,
    /// Session of the client, if known.
    pub session: Option<String>,
}

/// Event of one attempt.
#[derive(Debug)]
pub struct AttemptEvent {
    /// Id of the attempt.
    pub id: Arc<str>,
    pub kind: AttemptEventKind,
}

/// Kind of an attempt's event.
#[derive(Debug)]
pub enum AttemptEventKind {
    /// The agent runs: started now, or found alive.
    Running { status: Box<ObservedStatus> },
    /// The agent printed something.
    Output {
        /// Offset of the first byte in its output.
        offset: u64,
        /// Raw bytes of the output.
        bytes: Vec<u8>,
        /// Events parsed from it.
        events: Vec<AgentEvent<'static>>,
        /// Resume point once all of this has been processed.
        resume: ResumePoint,
    },
    /// The process state changed: paused, running, or being ended.
    StateChanged(ObservedState),
    /// The agent is blocked: its output cannot be stored, or is not read.
    Blocked(OutputBlockReason),
    /// The shim lives but does not answer. Connecting is retried until it does.
    ShimUnreachable {
        /// Error of the last attempt to connect.
        message: String,
    },
    /// An order or a message was refused.
    Refused {
        /// Stable code, as `bowline explain` knows it.
        code: &'static str,
        /// Explanation in English.
        message: String,
    },
    /// The client takes no such message while it runs.
    Undelivered(InputDelivery),
    /// The agent has read every message up to this number. A shim that cannot tell counts those it
    /// wrote.
    InputRead {
        /// Number of the last message.
        upto: u64,
    },
    /// The agent ended.
    Exited {
        exit: Box<AttemptExit>,
        /// The last [`ERROR_TAIL_BYTES`] of standard error.
        error_tail: String,
    },
    /// The shim is gone without having seen the agent end. Processes it left behind were killed.
    Lost(SweepReport),
    /// No agent was ever started in this attempt, and none will be.
    NeverStarted {
        /// Cause, if it is known.
        message: Option<String>,
    },
}

/// Input of the event loop.
enum LoopCommand {
    /// Starts an attempt. Its shim masks these values before the agent runs.
    Begin(Box<AttemptStart>, Vec<String>),
    Hide(Vec<String>),
    Attach(Box<AttemptResume>),
    Want(WantedState),
    Interrupt,
    Say {
        seq: Option<u64>,
        last: bool,
        message: AgentMessage,
    },
    Processed {
        upto: u64,
        resume: ResumePoint,
    },
    /// A shim was started for an attempt, or could not be.
    Ready(Result<Box<bowline_supervisor::Attempt>, String>),
    /// A lost attempt was swept.
    Swept(SweepReport),
    Leave,
}

/// The attempts of this process. Cheap to clone; the event loop ends when the last clone is
/// dropped, and every agent goes on.
#[derive(Debug, Clone)]
pub struct AttemptLoop(Arc<LoopSender>);

/// Sender to the event loop, with its wake-up socket.
#[derive(Debug)]
struct LoopSender {
    commands: Sender<(Arc<str>, LoopCommand)>,
    wake: UnixStream,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl LoopSender {
    fn send_leave(&self) {
        let _ = self.commands.send(("".into(), LoopCommand::Leave));
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for LoopSender {
    fn drop(&mut self) {
        self.send_leave();
    }
}

impl std::fmt::Debug for LoopCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Messages and environments may hold secrets.
        f.write_str(match self {
            LoopCommand::Begin(..) => "Begin",
            LoopCommand::Hide(_) => "Hide",
            LoopCommand::Attach(_) => "Attach",
            LoopCommand::Want(_) => "Want",
            LoopCommand::Interrupt => "Interrupt",
            LoopCommand::Say { .. } => "Say",
            LoopCommand::Processed { .. } => "Processed",
            LoopCommand::Ready(_) => "Ready",
            LoopCommand::Swept(_) => "Swept",
            LoopCommand::Leave => "Leave",
        })
    }
}

impl AttemptLoop {
    /// Starts the event loop. It calls `sink` with every event; `sink` must not block.
    pub fn spawn(
        shim: ShimProgram,
        sink: impl FnMut(AttemptEvent) + Send + 'static,
    ) -> io::Result<AttemptLoop> {
        AttemptLoop::spawn_counting_retries(shim, &Arc::default(), sink)
    }

    /// Starts the event loop and counts the starts that were retried because the machine lacked a
    /// resource.
    pub fn spawn_counting_retries(
        shim: ShimProgram,
        retries: &Arc<AtomicU64>,
        sink: impl FnMut(AttemptEvent) + Send + 'static,
    ) -> io::Result<AttemptLoop> {
        let (orders, incoming) = channel();
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let (workers, mut threads) =
            start_workers::StartWorkers::spawn(shim, &orders, &wake, retries)?;
        let run = move || {
            or_end_process(|| event_loop::run_loop(incoming, woken, workers, Box::new(sink)));
        };
        let named = std::thread::Builder::new().name("attempts".into());
        threads.push(named.spawn(run)?);
        let threads = Mutex::new(threads);
        Ok(AttemptLoop(Arc::new(LoopSender {
            commands: orders,
            wake,
            threads,
        })))
    }

    /// Stops the event loop and its workers and waits for them. No event follows, and every agent
    /// goes on.
    pub fn close(&self) {
        self.0.send_leave();
        let mut threads = self
            .0
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for thread in std::mem::take(&mut *threads) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }

    /// Creates an attempt and starts its agent.
    pub fn start_attempt(&self, begin: AttemptStart) {
        self.start_attempt_masked(begin, Vec::new());
    }

    /// Starts an attempt with values that are masked in its output and its log. A shim that cannot
    /// mask them does not start the agent.
    pub fn start_attempt_masked(&self, begin: AttemptStart, values: Vec<String>) {
        let id = begin.spec.attempt.clone();
        self.send_command(&id, LoopCommand::Begin(Box::new(begin), values));
    }

    /// Masks values in the output of an attempt from now on. Later messages wait for it.
    pub fn mask_values(&self, id: &str, values: Vec<String>) {
        self.send_command(id, LoopCommand::Hide(values));
    }

    /// Continues an attempt that was started before, whatever its state.
    pub fn attach_attempt(&self, id: &str, known: AttemptResume) {
        self.send_command(id, LoopCommand::Attach(Box::new(known)));
    }

    /// Sets the wanted process state of the agent.
    pub fn set_wanted_state(&self, id: &str, want: WantedState) {
        self.send_command(id, LoopCommand::Want(want));
    }

    /// Interrupts the agent, as Ctrl-C in a terminal does.
    pub fn interrupt(&self, id: &str) {
        self.send_command(id, LoopCommand::Interrupt);
    }

    /// Sends a message behind all earlier ones. A message sent again under the same number is
    /// delivered once; without a number it gets the next. `last` closes standard input behind it.
    pub fn send_message(&self, id: &str, seq: Option<u64>, last: bool, message: AgentMessage) {
        self.send_command(id, LoopCommand::Say { seq, last, message });
    }

    /// Confirms that output up to this offset was processed and that `resume` is stored.
    pub fn confirm_processed(&self, id: &str, upto: u64, resume: ResumePoint) {
        self.send_command(id, LoopCommand::Processed { upto, resume });
    }

    fn send_command(&self, id: &str, order: LoopCommand) {
        // An event loop that has ended needs no orders.
        let _ = self.0.commands.send((id.into(), order));
        let _ = (&self.0.wake).write(&[0]);
    }
}

/// Returns a message of plain bytes, for an agent without a protocol.
pub fn raw_message(text: String) -> AgentMessage {
    Box::new(move |_| InputDelivery::Input(text.clone()))
}

/// Returns a prompt, encoded as the client's protocol wants it.
pub fn prompt_message(text: String) -> AgentMessage {
    Box::new(move |writer| writer.encode_message(bowline_formats::agents::ToAgent::Prompt(&text)))
}
