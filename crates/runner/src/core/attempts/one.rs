//! One attempt: its connection, orders and output. Nothing here blocks.

use super::reading::Reading;
use super::workers::Work;
use super::{Begin, ERROR_TAIL_BYTES, GREETINGS, Happened, Known, Message, Order};
use crate::core::error_chain;
use bowline_formats::agents::{
    AgentEventKind, AgentInputWriter, AgentProtocol, InputDelivery, ResumePoint, SessionToOpen,
};
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
const AGAIN_MS: u64 = 25;
/// Time without a connection until it is reported.
const SILENCE_MS: u64 = 10_000;
/// Bytes read from a connection at once.
const CHUNK_BYTES: usize = 4 << 10;
/// Starts of a shim that leaves before it receives `go`.
const STARTS_MAX: u32 = 3;

/// Result of polling an attempt.
pub(super) enum Next {
    /// Nothing to do for now.
    Wait,
    /// A worker has to do this.
    Work(Work),
    /// The attempt is over; this is its last event.
    Over(Happened),
}

/// A queued message.
struct Saying {
    seq: Option<u64>,
    last: bool,
    message: Message,
    /// Numbers of the request and of the message once it is sent.
    sent: Option<(u64, u64)>,
}

/// A connection to the shim.
struct Link {
    stream: UnixStream,
    dialogue: ShimSession,
    greeted: bool,
    /// Id of the request that waits for a change of the status.
    listens: Option<u64>,
    /// Output and error offsets acknowledged on this connection.
    acked: (u64, u64),
    /// Id of the request with the order that is not answered yet.
    ordered: Option<u64>,
    /// Id of the `go` request that is not answered yet.
    gone: Option<u64>,
    /// Number of values to mask that were sent on this connection.
    hidden: usize,
    /// The shim cannot mask values, so nothing that could hold one is sent.
    cannot_hide: bool,
}

/// End of an attempt that is still to be reported.
enum End {
    Exited(Box<AttemptExit>),
    Lost,
}

pub(super) struct One {
    attempt: Option<Attempt>,
    fence: u64,
    link: Option<Link>,
    /// Time of the next connection attempt.
    again: Option<Instant>,
    silent_since: Option<Instant>,
    silence_told: bool,
    /// Kept until the agent has started.
    environment: Option<BTreeMap<String, String>>,
    starts: u32,
    reading: Reading,
    writer: AgentInputWriter,
    sayings: VecDeque<Saying>,
    /// Sent again on every connection: it is unknown what an old one delivered.
    secrets: Vec<String>,
    want: Option<WantedState>,
    interrupts: u64,
    interrupts_wanted: u64,
    status: Option<ObservedStatus>,
    /// Number of the last message that was reported as read.
    read: u64,
    running_told: bool,
    blocked: Option<OutputBlockReason>,
    end: Option<End>,
}

impl One {
    /// Creates an attempt and the work that starts it.
    pub(super) fn begin(begin: Begin) -> (One, Work) {
        let Begin {
            folder,
            spec,
            environment,
            voice,
            first,
            session,
            close_input,
        } = begin;
        let mut one = One::new(
            spec.fence,
            Reading::at(voice.clone(), ResumePoint::default()),
        );
        one.environment = Some(environment);
        one.writer = AgentInputWriter::new(voice.protocol);
        one.greet(&spec.folder, session);
        match first {
            Some(message) => one.hear(Order::Say {
                seq: None,
                last: close_input,
                message,
            }),
            None if close_input => one.hear(Order::Say {
                seq: Some(1),
                last: true,
                message: super::raw(String::new()),
            }),
            None => {}
        }
        let spec = Box::new(spec);
        (one, Work::Make { folder, spec })
    }

    /// Opens an attempt that was made before.
    pub(super) fn attach(known: Known) -> Result<One, SupervisorError> {
        let attempt = Attempt::open_existing(&known.folder)?;
        let known_offset = known.resume.at.offset;
        let mut one = One::new(known.fence, Reading::at(known.voice.clone(), known.resume));
        one.writer = AgentInputWriter::new(known.voice.protocol);
        // The process that started it may have died before it was greeted.
        one.greet(&attempt.spec().folder, known.session.clone());
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
    fn greet(&mut self, folder: &Path, session: Option<String>) {
        let greeting = self.writer.handshake_message();
        if greeting.is_empty() {
            return;
        }
        self.hear(Order::Say {
            seq: Some(1),
            last: false,
            message: super::raw(greeting),
        });
        let cwd = folder.to_string_lossy().into_owned();
        self.hear(Order::Say {
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

    fn new(fence: u64, reading: Reading) -> One {
        One {
            attempt: None,
            fence,
            link: None,
            again: None,
            silent_since: None,
            silence_told: false,
            environment: None,
            starts: 1,
            reading,
            writer: AgentInputWriter::new(AgentProtocol::Markers),
            sayings: VecDeque::new(),
            secrets: Vec::new(),
            want: None,
            interrupts: 0,
            interrupts_wanted: 0,
            status: None,
            read: 0,
            running_told: false,
            blocked: None,
            end: None,
        }
    }

    /// Takes an order; it is carried out by the next poll.
    pub(super) fn hear(&mut self, order: Order) {
        match order {
            Order::Want(want) => self.want = Some(want),
            Order::Interrupt => self.interrupts_wanted += 1,
            Order::Hide(values) => self.secrets.extend(values),
            Order::Say { seq, last, message } => self.sayings.push_back(Saying {
                seq,
                last,
                message,
                sent: None,
            }),
            Order::Processed { upto, resume } => self.reading.processed(upto, resume),
            Order::Ready(Ok(attempt)) => self.attempt = Some(*attempt),
            Order::Begin(..)
            | Order::Attach(_)
            | Order::Ready(Err(_))
            | Order::Swept(_)
            | Order::Leave => {}
        }
    }

    /// Returns the socket to poll, and whether there is something to write.
    pub(super) fn connection(&self) -> Option<(&UnixStream, bool)> {
        let link = self.link.as_ref()?;
        Some((&link.stream, !link.dialogue.outgoing_bytes().is_empty()))
    }

    /// Returns when to poll although nothing has arrived.
    pub(super) fn wakes(&self) -> Option<Instant> {
        [self.again, self.reading.wakes()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Reads everything that the shim has sent so far.
    pub(super) fn receive(&mut self, tell: &mut dyn FnMut(Happened)) {
        let mut chunk = [0; CHUNK_BYTES];
        while let Some(link) = &mut self.link {
            match link.stream.read(&mut chunk) {
                Ok(0) => self.link = None,
                Ok(count) => {
                    let events = link.dialogue.receive(&chunk[..count]);
                    for event in events {
                        self.heard(event, tell);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.link = None,
            }
        }
    }

    fn heard(&mut self, event: ShimEvent, tell: &mut dyn FnMut(Happened)) {
        match event {
            ShimEvent::Greeted { status, .. } => {
                if let Some(link) = &mut self.link {
                    link.greeted = true;
                }
                self.silent_since = None;
                self.silence_told = false;
                // Messages sent on an earlier connection may have arrived or not: their number
                // decides.
                self.learn(status, tell);
            }
            ShimEvent::Done { id, status, .. } => {
                self.answered(id);
                if let Some(status) = status {
                    self.learn(status, tell);
                }
            }
            ShimEvent::Refused { id, why, message } => self.refused(id, why, message, tell),
            ShimEvent::Broken { message } => {
                self.link = None;
                tell(Happened::Refused {
                    code: "shim_protocol",
                    message,
                });
            }
        }
    }

    fn answered(&mut self, id: u64) {
        let Some(link) = &mut self.link else {
            return;
        };
        if link.ordered == Some(id) {
            link.ordered = None;
        }
        if link.listens == Some(id) {
            link.listens = None;
        }
        if link.gone == Some(id) {
            link.gone = None;
            self.environment = None;
        }
        if self
            .sayings
            .front()
            .is_some_and(|saying| saying.sent.is_some_and(|(request, _)| request == id))
        {
            self.sayings.pop_front();
        }
    }

    fn refused(
        &mut self,
        id: u64,
        why: ShimRefusal,
        message: String,
        tell: &mut dyn FnMut(Happened),
    ) {
        let Some(link) = &mut self.link else {
            return;
        };
        if link.ordered == Some(id) {
            link.ordered = None;
            if why == ShimRefusal::StaleGeneration {
                // Another process gave an order meanwhile; the status has its generation.
                let _ = link.dialogue.request_status();
                return;
            }
            self.want = None;
        } else if let Some(saying) = self.sayings.front_mut()
            && saying.sent.is_some_and(|(request, _)| request == id)
        {
            saying.sent = None;
            let own = saying.seq.is_some();
            match why {
                ShimRefusal::InputFull => return,
                // Another sender's message took the number.
                ShimRefusal::InputGap if !own => return,
                _ => {
                    self.sayings.pop_front();
                }
            }
        } else if link.gone == Some(id) {
            link.gone = None;
            self.environment = None;
        }
        tell(Happened::Refused {
            code: why.code(),
            message,
        });
    }

    fn learn(&mut self, status: ObservedStatus, tell: &mut dyn FnMut(Happened)) {
        let before = self.status.replace(status);
        let Some(status) = &self.status else {
            return;
        };
        if status.fence > self.fence {
            // The shim refuses our orders; the process with the higher number continues.
            self.want = None;
        }
        if let Some(exit) = &status.exit {
            self.end = Some(End::Exited(Box::new(exit.clone())));
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
            tell(Happened::InputRead { upto: read });
        }
        if !self.running_told {
            self.running_told = true;
            tell(Happened::Running {
                status: Box::new(status.clone()),
            });
        }
        if before.is_some_and(|before| before.state != status.state) {
            tell(Happened::Now(status.state));
        }
        if status.blocked != self.blocked {
            self.blocked = status.blocked;
            if let Some(why) = status.blocked {
                tell(Happened::Blocked(why));
            }
        }
    }

    /// Does everything that can be done without blocking.
    pub(super) fn look(&mut self, now: Instant, tell: &mut dyn FnMut(Happened)) -> Next {
        let Some(attempt) = self.attempt.clone() else {
            return Next::Wait;
        };
        let (mut session, mut initialized) = (None, false);
        let read = self.reading.step(&attempt, now, &mut |what| {
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
                tell(Happened::Refused {
                    code: error.code(),
                    message: error_chain(&error),
                });
                true
            }
        };
        if self.end.is_some() {
            self.again = None;
            return match drained {
                true => self.finish(&attempt, tell),
                false => Next::Wait,
            };
        }
        if self.link.is_none() {
            return self.connect(&attempt, now, tell);
        }
        self.speak(tell);
        self.write();
        match self.link {
            Some(_) => Next::Wait,
            None => self.connect(&attempt, now, tell),
        }
    }

    fn finish(&mut self, attempt: &Attempt, tell: &mut dyn FnMut(Happened)) -> Next {
        self.reading.finish(tell);
        self.link = None;
        match self.end.take() {
            Some(End::Exited(exit)) if !exit.started => Next::Over(Happened::NotBegun {
                message: exit.start_error,
            }),
            Some(End::Exited(exit)) => {
                let upto = self.read_by_the_end(&exit);
                tell(Happened::InputRead { upto });
                let from = exit.err.saturating_sub(ERROR_TAIL_BYTES as u64);
                let tail = attempt.read_output(OutputStream::Err, from, ERROR_TAIL_BYTES);
                let tail = tail.map(|(_, bytes)| bytes).unwrap_or_default();
                Next::Over(Happened::Exited {
                    exit,
                    error_tail: String::from_utf8_lossy(&tail).into_owned(),
                })
            }
            Some(End::Lost) => {
                // Nothing is polled until the worker is done.
                self.attempt = None;
                Next::Work(Work::Sweep(Box::new(attempt.clone())))
            }
            None => Next::Wait,
        }
    }

    /// Returns the number of the last message that an ended agent read.
    fn read_by_the_end(&self, exit: &AttemptExit) -> u64 {
        let before_unread = || Some(exit.unread.as_ref()?.from_seq.saturating_sub(1));
        let accepted = || Some(self.status.as_ref()?.input.next.saturating_sub(1));
        let known = exit.input_read.or_else(before_unread).or_else(accepted);
        known.unwrap_or(u64::MAX)
    }

    fn connect(&mut self, attempt: &Attempt, now: Instant, tell: &mut dyn FnMut(Happened)) -> Next {
        if self.again.is_some_and(|again| again > now) {
            return Next::Wait;
        }
        self.again = None;
        let condition = match attempt.condition() {
            Ok(condition) => condition,
            Err(error) => return Next::Over(not_begun(&error)),
        };
        match condition {
            AttemptCondition::Ended(exit) => {
                self.end = Some(End::Exited(exit));
                self.again = Some(now);
                Next::Wait
            }
            AttemptCondition::Lost => {
                self.end = Some(End::Lost);
                self.again = Some(now);
                Next::Wait
            }
            AttemptCondition::Intended => match &self.environment {
                Some(_) if self.want != Some(WantedState::Ended) && self.starts < STARTS_MAX => {
                    self.starts += 1;
                    self.attempt = None;
                    Next::Work(Work::Start(Box::new(attempt.clone())))
                }
                Some(_) | None => Next::Over(Happened::NotBegun { message: None }),
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
                        for saying in &mut self.sayings {
                            // A message without a number keeps the one it was sent under.
                            if let Some((_, seq)) = saying.sent.take() {
                                saying.seq = Some(seq);
                            }
                        }
                        self.link = Some(Link {
                            stream,
                            dialogue: ShimSession::new(attempt.id(), self.fence),
                            greeted: false,
                            listens: None,
                            acked: (0, 0),
                            ordered: None,
                            gone: None,
                            hidden: 0,
                            cannot_hide: false,
                        });
                    }
                    Err(error) => {
                        self.again = Some(now + Duration::from_millis(AGAIN_MS));
                        let since = *self.silent_since.get_or_insert(now);
                        let long = now.duration_since(since) > Duration::from_millis(SILENCE_MS);
                        if long && !self.silence_told {
                            self.silence_told = true;
                            tell(Happened::Silent {
                                message: error_chain(&error),
                            });
                        }
                    }
                }
                Next::Wait
            }
        }
    }

    /// Sends what is pending: orders, acknowledgements, messages, and the request for status
    /// changes.
    fn speak(&mut self, tell: &mut dyn FnMut(Happened)) {
        let (Some(link), Some(status)) = (&mut self.link, &self.status) else {
            return;
        };
        if !link.greeted {
            return;
        }
        // A full buffer is tried again once something was written.
        if link.hidden < self.secrets.len() && !link.cannot_hide {
            match link.dialogue.request_mask(&self.secrets[link.hidden..]) {
                Ok(_) => link.hidden = self.secrets.len(),
                Err(SupervisorError::Refused {
                    why: ShimRefusal::InputFull,
                    ..
                }) => {}
                Err(error) => {
                    link.cannot_hide = true;
                    tell(Happened::Refused {
                        code: error.code(),
                        message: error_chain(&error),
                    });
                }
            }
        }
        let safe = link.hidden == self.secrets.len();
        if status.state == ObservedState::Waiting && self.want != Some(WantedState::Ended) {
            if let Some(environment) = &self.environment {
                if link.gone.is_none() && safe {
                    link.gone = link.dialogue.request_start(environment).ok();
                }
            } else {
                // Found waiting after a crash: its environment is not known any more.
                self.want = Some(WantedState::Ended);
            }
        }
        if let Some(want) = self.want
            && link.ordered.is_none()
        {
            match status.want == want {
                true => self.want = None,
                false => {
                    link.ordered = link
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
                    tell(Happened::Refused {
                        code: error.code(),
                        message: error_chain(&error),
                    });
                }
            }
        }
        let settled = (self.reading.settled(), status.err.end);
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
            say(link, status, &mut self.sayings, &mut self.writer, tell);
        }
        if link.listens.is_none() {
            let out = self.reading.offset().max(status.out.end);
            let asked = link
                .dialogue
                .request_status_change(status.version, out, status.err.end);
            link.listens = asked.ok();
        }
    }

    fn write(&mut self) {
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

/// Sends the message at the front, one at a time, so that numbers have no gaps.
fn say(
    link: &mut Link,
    status: &ObservedStatus,
    sayings: &mut VecDeque<Saying>,
    writer: &mut AgentInputWriter,
    tell: &mut dyn FnMut(Happened),
) {
    while let Some(saying) = sayings.front_mut() {
        if saying.sent.is_some() {
            return;
        }
        let text = match (saying.message)(writer) {
            InputDelivery::Input(text) => text,
            // Until the client has reported its session.
            InputDelivery::Later => return,
            // Its number is used up all the same: those behind it follow without a gap.
            InputDelivery::Nothing if saying.seq.is_some() => String::new(),
            other
            @ (InputDelivery::NextRun(_) | InputDelivery::EndRun | InputDelivery::Nothing) => {
                tell(Happened::Undelivered(other));
                sayings.pop_front();
                continue;
            }
        };
        let seq = saying.seq.unwrap_or(status.input.next);
        match link.dialogue.send_input(seq, text.as_bytes(), saying.last) {
            Ok(request) => saying.sent = Some((request, seq)),
            Err(error) if error.code() == ShimRefusal::InputFull.code() && text.len() < 1 << 20 => {
            }
            Err(error) => {
                tell(Happened::Refused {
                    code: error.code(),
                    message: error_chain(&error),
                });
                sayings.pop_front();
                continue;
            }
        }
        return;
    }
}

fn is_initialized(what: &Happened) -> bool {
    let Happened::Output { events, .. } = what else {
        return false;
    };
    events
        .iter()
        .any(|event| event.what == AgentEventKind::Initialized)
}

/// Returns the session that a piece of output reports; messages may wait for it.
fn session_in(what: &Happened) -> Option<String> {
    let Happened::Output { events, .. } = what else {
        return None;
    };
    events.iter().rev().find_map(|event| match &event.what {
        AgentEventKind::Session { id, .. } => Some(id.to_string()),
        _ => None,
    })
}

pub(super) fn not_begun(error: &SupervisorError) -> Happened {
    Happened::NotBegun {
        message: Some(error_chain(error)),
    }
}
