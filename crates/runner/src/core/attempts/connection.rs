//! One attempt: its connection, orders and output. Nothing here blocks.

use super::attempt_events::{is_initialized, never_started, session_in};
use super::output_reader::OutputReader;
use super::queued_input::{QueuedMessage, ShimConnection, send_next_message};
use super::start_workers::WorkerJob;
use super::{
    AttemptEventKind, AttemptResume, AttemptStart, ERROR_TAIL_BYTES, GREETINGS, LoopCommand,
};
use crate::core::error_chain;
use bowline_formats::agents::{AgentInputWriter, AgentProtocol, ResumePoint, SessionToOpen};
use bowline_supervisor::{
    Attempt, AttemptCondition, AttemptExit, ObservedState, ObservedStatus, OutputBlockReason,
    OutputStream, ShimEvent, ShimRefusal, ShimSession, SupervisorError, WantedState,
};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two connection attempts to a shim that does not answer.
const RECONNECT_MS: u64 = 25;
/// Time without a connection until it is reported.
const UNREACHABLE_AFTER_MS: u64 = 10_000;
/// Bytes read from a connection at once.
const CHUNK_BYTES: usize = 4 << 10;
/// Starts of a shim that leaves before it receives `go`.
const STARTS_MAX: u32 = 3;

/// Result of polling an attempt.
pub(super) enum PollOutcome {
    /// Nothing to do for now.
    Wait,
    /// A worker has to do this.
    Work(WorkerJob),
    /// The attempt is over; this is its last event.
    Over(AttemptEventKind),
}

/// End of an attempt that is still to be reported.
enum PendingEnd {
    Exited(Box<AttemptExit>),
    Lost,
}

pub(super) struct AttemptConnection {
    attempt: Option<Attempt>,
    fence: u64,
    link: Option<ShimConnection>,
    /// Time of the next connection attempt.
    reconnect_at: Option<Instant>,
    silent_since: Option<Instant>,
    silence_reported: bool,
    /// Kept until the agent has started.
    environment: Option<BTreeMap<String, String>>,
    starts: u32,
    reader: OutputReader,
    writer: AgentInputWriter,
    messages: VecDeque<QueuedMessage>,
    /// Sent again on every connection: it is unknown what an old one delivered.
    masked_values: Vec<String>,
    want: Option<WantedState>,
    interrupts: u64,
    interrupts_wanted: u64,
    status: Option<ObservedStatus>,
    /// Number of the last message that was reported as read.
    read: u64,
    running_reported: bool,
    blocked: Option<OutputBlockReason>,
    end: Option<PendingEnd>,
}

impl AttemptConnection {
    /// Creates an attempt and the work that starts it.
    pub(super) fn start_new(begin: AttemptStart) -> (AttemptConnection, WorkerJob) {
        let AttemptStart {
            folder,
            spec,
            environment,
            output_protocol,
            first_message: first,
            session,
            close_input,
        } = begin;
        let mut one = AttemptConnection::new(
            spec.fence,
            OutputReader::from_resume_point(output_protocol.clone(), ResumePoint::default()),
        );
        one.environment = Some(environment);
        one.writer = AgentInputWriter::new(output_protocol.protocol);
        one.queue_greeting(&spec.folder, session);
        match first {
            Some(message) => one.apply_command(LoopCommand::Say {
                seq: None,
                last: close_input,
                message,
            }),
            None if close_input => one.apply_command(LoopCommand::Say {
                seq: Some(1),
                last: true,
                message: super::raw_message(String::new()),
            }),
            None => {}
        }
        let spec = Box::new(spec);
        (one, WorkerJob::Create { folder, spec })
    }

    /// Opens an attempt that was made before.
    pub(super) fn attach_existing(
        known: AttemptResume,
    ) -> Result<AttemptConnection, SupervisorError> {
        let attempt = Attempt::open_existing(&known.folder)?;
        let known_offset = known.resume.at.offset;
        let mut one = AttemptConnection::new(
            known.fence,
            OutputReader::from_resume_point(known.output_protocol.clone(), known.resume),
        );
        one.writer = AgentInputWriter::new(known.output_protocol.protocol);
        // The process that started it may have died before it was greeted.
        one.queue_greeting(&attempt.spec().folder, known.session.clone());
        // The reply to the greeting is the first output of a client.
        if known_offset > 0 {
            one.writer.set_initialized();
        }
        if let Some(session) = &known.session {
            one.writer.set_session(session);
        }
        one.attempt = Some(attempt);
        Ok(one)
    }

    /// Queues the greeting of a client and the message that opens its session. They are its first
    /// two messages: sent again, they are delivered once.
    fn queue_greeting(&mut self, folder: &Path, session: Option<String>) {
        let greeting = self.writer.handshake_message();
        if greeting.is_empty() {
            return;
        }
        self.apply_command(LoopCommand::Say {
            seq: Some(1),
            last: false,
            message: super::raw_message(greeting),
        });
        let cwd = folder.to_string_lossy().into_owned();
        self.apply_command(LoopCommand::Say {
            seq: Some(GREETINGS),
            last: false,
            message: Box::new(move |writer: &mut AgentInputWriter| {
                writer.open_session(match &session {
                    Some(session) => SessionToOpen::Resume { cwd: &cwd, session },
                    None => SessionToOpen::New { cwd: &cwd },
                })
            }),
        });
    }

    fn new(fence: u64, reading: OutputReader) -> AttemptConnection {
        AttemptConnection {
            attempt: None,
            fence,
            link: None,
            reconnect_at: None,
            silent_since: None,
            silence_reported: false,
            environment: None,
            starts: 1,
            reader: reading,
            writer: AgentInputWriter::new(AgentProtocol::Markers),
            messages: VecDeque::new(),
            masked_values: Vec::new(),
            want: None,
            interrupts: 0,
            interrupts_wanted: 0,
            status: None,
            read: 0,
            running_reported: false,
            blocked: None,
            end: None,
        }
    }

    /// Takes an order; it is carried out by the next poll.
    pub(super) fn apply_command(&mut self, order: LoopCommand) {
        match order {
            LoopCommand::Want(want) => self.want = Some(want),
            LoopCommand::Interrupt => self.interrupts_wanted += 1,
            LoopCommand::Hide(values) => self.masked_values.extend(values),
            LoopCommand::Say { seq, last, message } => self.messages.push_back(QueuedMessage {
                seq,
                last,
                message,
                sent: None,
            }),
            LoopCommand::Processed { upto, resume } => self.reader.confirm_processed(upto, resume),
            LoopCommand::Ready(Ok(attempt)) => self.attempt = Some(*attempt),
            LoopCommand::Begin(..)
            | LoopCommand::Attach(_)
            | LoopCommand::Ready(Err(_))
            | LoopCommand::Swept(_)
            | LoopCommand::Leave => {}
        }
    }

    /// Returns the socket to poll, and whether there is something to write.
    pub(super) fn poll_socket(&self) -> Option<(&UnixStream, bool)> {
        let link = self.link.as_ref()?;
        Some((&link.stream, !link.dialogue.outgoing_bytes().is_empty()))
    }

    /// Returns when to poll although nothing has arrived.
    pub(super) fn next_poll(&self) -> Option<Instant> {
        [self.reconnect_at, self.reader.next_poll()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Reads everything that the shim has sent so far.
    pub(super) fn read_events(&mut self, tell: &mut dyn FnMut(AttemptEventKind)) {
        let mut chunk = [0; CHUNK_BYTES];
        while let Some(link) = &mut self.link {
            match link.stream.read(&mut chunk) {
                Ok(0) => self.link = None,
                Ok(count) => {
                    let events = link.dialogue.receive(&chunk[..count]);
                    for event in events {
                        self.on_shim_event(event, tell);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.link = None,
            }
        }
    }

    fn on_shim_event(&mut self, event: ShimEvent, tell: &mut dyn FnMut(AttemptEventKind)) {
        match event {
            ShimEvent::Greeted { status, .. } => {
                if let Some(link) = &mut self.link {
                    link.greeted = true;
                }
                self.silent_since = None;
                self.silence_reported = false;
                // Messages sent on an earlier connection may have arrived or not: their number
                // decides.
                self.apply_status(status, tell);
            }
            ShimEvent::Done { id, status, .. } => {
                self.on_request_done(id);
                if let Some(status) = status {
                    self.apply_status(status, tell);
                }
            }
            ShimEvent::Refused { id, why, message } => {
                self.on_request_refused(id, why, message, tell)
            }
            ShimEvent::Broken { message } => {
                self.link = None;
                tell(AttemptEventKind::Refused {
                    code: "shim_protocol",
                    message,
                });
            }
        }
    }

    fn on_request_done(&mut self, id: u64) {
        let Some(link) = &mut self.link else {
            return;
        };
        if link.order_request == Some(id) {
            link.order_request = None;
        }
        if link.wait_request == Some(id) {
            link.wait_request = None;
        }
        if link.go_request == Some(id) {
            link.go_request = None;
            self.environment = None;
        }
        if self
            .messages
            .front()
            .is_some_and(|queued| queued.sent.is_some_and(|(request, _)| request == id))
        {
            self.messages.pop_front();
        }
    }

    fn on_request_refused(
        &mut self,
        id: u64,
        why: ShimRefusal,
        message: String,
        tell: &mut dyn FnMut(AttemptEventKind),
    ) {
        let Some(link) = &mut self.link else {
            return;
        };
        if link.order_request == Some(id) {
            link.order_request = None;
            if why == ShimRefusal::StaleGeneration {
                // Another process gave an order meanwhile; the status has its generation.
                let _ = link.dialogue.request_status();
                return;
            }
            self.want = None;
        } else if let Some(queued) = self.messages.front_mut()
            && queued.sent.is_some_and(|(request, _)| request == id)
        {
            queued.sent = None;
            let own = queued.seq.is_some();
            match why {
                ShimRefusal::InputFull => return,
                // Another sender's message took the number.
                ShimRefusal::InputGap if !own => return,
                _ => {
                    self.messages.pop_front();
                }
            }
        } else if link.go_request == Some(id) {
            link.go_request = None;
            self.environment = None;
        }
        tell(AttemptEventKind::Refused {
            code: why.code(),
            message,
        });
    }

    fn apply_status(&mut self, status: ObservedStatus, tell: &mut dyn FnMut(AttemptEventKind)) {
        let before = self.status.replace(status);
        let Some(status) = &self.status else {
            return;
        };
        if status.fence > self.fence {
            // The shim refuses our orders; the process with the higher number continues.
            self.want = None;
        }
        if let Some(exit) = &status.exit {
            self.end = Some(PendingEnd::Exited(Box::new(exit.clone())));
            return;
        }
        if status.state == ObservedState::Waiting {
            return;
        }
        self.environment = None;
        self.interrupts = self.interrupts.max(status.interrupts);
        let read = status.input.read.unwrap_or(status.input.written);
        if read > self.read {
            self.read = read;
            tell(AttemptEventKind::InputRead { upto: read });
        }
        if !self.running_reported {
            self.running_reported = true;
            tell(AttemptEventKind::Running {
                status: Box::new(status.clone()),
            });
        }
        if before.is_some_and(|before| before.state != status.state) {
            tell(AttemptEventKind::StateChanged(status.state));
        }
        if status.blocked != self.blocked {
            self.blocked = status.blocked;
            if let Some(why) = status.blocked {
                tell(AttemptEventKind::Blocked(why));
            }
        }
    }

    /// Does everything that can be done without blocking.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        tell: &mut dyn FnMut(AttemptEventKind),
    ) -> PollOutcome {
        let Some(attempt) = self.attempt.clone() else {
            return PollOutcome::Wait;
        };
        let (mut session, mut initialized) = (None, false);
        let read = self.reader.read_output(&attempt, now, &mut |what| {
            initialized |= is_initialized(&what);
            session = session_in(&what).or(session.take());
            tell(what);
        });
        if initialized {
            self.writer.set_initialized();
        }
        if let Some(session) = session {
            self.writer.set_session(&session);
        }
        let drained = match read {
            Ok(drained) => drained,
            Err(error) => {
                tell(AttemptEventKind::Refused {
                    code: error.code(),
                    message: error_chain(&error),
                });
                true
            }
        };
        if self.end.is_some() {
            self.reconnect_at = None;
            return match drained {
                true => self.finish_attempt(&attempt, tell),
                false => PollOutcome::Wait,
            };
        }
        if self.link.is_none() {
            return self.connect_shim(&attempt, now, tell);
        }
        self.send_pending(tell);
        self.write_outgoing();
        match self.link {
            Some(_) => PollOutcome::Wait,
            None => self.connect_shim(&attempt, now, tell),
        }
    }

    fn finish_attempt(
        &mut self,
        attempt: &Attempt,
        tell: &mut dyn FnMut(AttemptEventKind),
    ) -> PollOutcome {
        self.reader.finish_parsing(tell);
        self.link = None;
        match self.end.take() {
            Some(PendingEnd::Exited(exit)) if !exit.started => {
                PollOutcome::Over(AttemptEventKind::NeverStarted {
                    message: exit.start_error,
                })
            }
            Some(PendingEnd::Exited(exit)) => {
                let upto = self.last_message_read(&exit);
                tell(AttemptEventKind::InputRead { upto });
                let from = exit.err.saturating_sub(ERROR_TAIL_BYTES as u64);
                let tail = attempt.read_output(OutputStream::Err, from, ERROR_TAIL_BYTES);
                let tail = tail.map(|(_, bytes)| bytes).unwrap_or_default();
                PollOutcome::Over(AttemptEventKind::Exited {
                    exit,
                    error_tail: String::from_utf8_lossy(&tail).into_owned(),
                })
            }
            Some(PendingEnd::Lost) => {
                // Nothing is polled until the worker is done.
                self.attempt = None;
                PollOutcome::Work(WorkerJob::Sweep(Box::new(attempt.clone())))
            }
            None => PollOutcome::Wait,
        }
    }

    /// Returns the number up to which messages count as read by an ended agent; all of them if
    /// nothing is known.
    fn last_message_read(&self, exit: &AttemptExit) -> u64 {
        let before_unread = || Some(exit.unread.as_ref()?.from_seq.saturating_sub(1));
        let accepted = || Some(self.status.as_ref()?.input.next.saturating_sub(1));
        let known = exit.input_read.or_else(before_unread).or_else(accepted);
        known.unwrap_or(u64::MAX)
    }

    fn connect_shim(
        &mut self,
        attempt: &Attempt,
        now: Instant,
        tell: &mut dyn FnMut(AttemptEventKind),
    ) -> PollOutcome {
        if self.reconnect_at.is_some_and(|again| again > now) {
            return PollOutcome::Wait;
        }
        self.reconnect_at = None;
        let condition = match attempt.condition() {
            Ok(condition) => condition,
            Err(error) => return PollOutcome::Over(never_started(&error)),
        };
        match condition {
            AttemptCondition::Ended(exit) => {
                self.end = Some(PendingEnd::Exited(exit));
                self.reconnect_at = Some(now);
                PollOutcome::Wait
            }
            AttemptCondition::Lost => {
                self.end = Some(PendingEnd::Lost);
                self.reconnect_at = Some(now);
                PollOutcome::Wait
            }
            AttemptCondition::Intended => match &self.environment {
                Some(_) if self.want != Some(WantedState::Ended) && self.starts < STARTS_MAX => {
                    self.starts += 1;
                    self.attempt = None;
                    PollOutcome::Work(WorkerJob::Start(Box::new(attempt.clone())))
                }
                Some(_) | None => {
                    PollOutcome::Over(AttemptEventKind::NeverStarted { message: None })
                }
            },
            AttemptCondition::Alive => {
                match attempt.connect_to_shim().and_then(|stream| {
                    let set = stream.set_nonblocking(true);
                    set.map(|()| stream)
                        .map_err(|source| SupervisorError::Unreachable {
                            attempt: attempt.id().to_owned(),
                            source,
                        })
                }) {
                    Ok(stream) => {
                        for queued in &mut self.messages {
                            // A message without a number keeps the one it was sent under.
                            if let Some((_, seq)) = queued.sent.take() {
                                queued.seq = Some(seq);
                            }
                        }
                        self.link = Some(ShimConnection {
                            stream,
                            dialogue: ShimSession::new(attempt.id(), self.fence),
                            greeted: false,
                            wait_request: None,
                            acked: (0, 0),
                            order_request: None,
                            go_request: None,
                            masked_count: 0,
                            cannot_mask: false,
                        });
                    }
                    Err(error) => {
                        self.reconnect_at = Some(now + Duration::from_millis(RECONNECT_MS));
                        let since = *self.silent_since.get_or_insert(now);
                        let long =
                            now.duration_since(since) > Duration::from_millis(UNREACHABLE_AFTER_MS);
                        if long && !self.silence_reported {
                            self.silence_reported = true;
                            tell(AttemptEventKind::ShimUnreachable {
                                message: error_chain(&error),
                            });
                        }
                    }
                }
                PollOutcome::Wait
            }
        }
    }

    /// Sends what is pending: orders, acknowledgements, messages, and the request for status
    /// changes.
    fn send_pending(&mut self, tell: &mut dyn FnMut(AttemptEventKind)) {
        let (Some(link), Some(status)) = (&mut self.link, &self.status) else {
            return;
        };
        if !link.greeted {
            return;
        }
        // A full buffer is tried again once something was written.
        if link.masked_count < self.masked_values.len() && !link.cannot_mask {
            match link
                .dialogue
                .request_mask(&self.masked_values[link.masked_count..])
            {
                Ok(_) => link.masked_count = self.masked_values.len(),
                Err(SupervisorError::Refused {
                    why: ShimRefusal::InputFull,
                    ..
                }) => {}
                Err(error) => {
                    link.cannot_mask = true;
                    tell(AttemptEventKind::Refused {
                        code: error.code(),
                        message: error_chain(&error),
                    });
                }
            }
        }
        let safe = link.masked_count == self.masked_values.len();
        if status.state == ObservedState::Waiting && self.want != Some(WantedState::Ended) {
            if let Some(environment) = &self.environment {
                if link.go_request.is_none() && safe {
                    link.go_request = link.dialogue.request_start(environment).ok();
                }
            } else {
                // Found waiting after a crash: its environment is not known any more.
                self.want = Some(WantedState::Ended);
            }
        }
        if let Some(want) = self.want
            && link.order_request.is_none()
        {
            match status.want == want {
                true => self.want = None,
                false => {
                    link.order_request = link
                        .dialogue
                        .request_state(want, status.generation + 1)
                        .ok()
                }
            }
        }
        let begun = status.state != ObservedState::Waiting;
        if begun && self.interrupts_wanted > 0 {
            self.interrupts += 1;
            match link.dialogue.request_interrupt(self.interrupts) {
                Ok(_) => self.interrupts_wanted -= 1,
                Err(error) => {
                    self.interrupts_wanted = 0;
                    tell(AttemptEventKind::Refused {
                        code: error.code(),
                        message: error_chain(&error),
                    });
                }
            }
        }
        let settled = (self.reader.durable_offset(), status.err.end);
        if begun
            && settled != link.acked
            && (settled.0 > link.acked.0 || settled.1 > link.acked.1)
            && link
                .dialogue
                .acknowledge_output(settled.0, settled.1)
                .is_ok()
        {
            link.acked = settled;
        }
        if begun && safe {
            send_next_message(link, status, &mut self.messages, &mut self.writer, tell);
        }
        if link.wait_request.is_none() {
            let out = self.reader.read_offset().max(status.out.end);
            let asked = link
                .dialogue
                .request_status_change(status.version, out, status.err.end);
            link.wait_request = asked.ok();
        }
    }

    fn write_outgoing(&mut self) {
        while let Some(link) = &mut self.link {
            if link.dialogue.outgoing_bytes().is_empty() {
                return;
            }
            match link.stream.write(link.dialogue.outgoing_bytes()) {
                Ok(count) => link.dialogue.mark_written(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What the shim sent before it left is still to be read.
                Err(_) => {
                    let rest = link.dialogue.outgoing_bytes().len();
                    link.dialogue.mark_written(rest);
                    return;
                }
            }
        }
    }
}
