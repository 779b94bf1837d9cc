//! Agent adapters: they parse the output of an agent's client into one closed set of events and
//! encode our messages as its input.
//!
//! An [`AgentAdapter`] is a push parser over raw bytes: the same [`AgentEvent`]s come out however
//! the bytes are cut. Tool output is skipped, and the buffer is bounded by [`LINE_BYTES_MAX`]
//! whatever the client prints. Each event carries the [`ResumePoint`] right behind it.
//! [`AgentInputWriter`] encodes the input; [`launch`] has the command lines.
//! `docs/formats/agent-events.md` lists which message of which protocol becomes which event.

mod acp;
mod agent_text;
mod claude;
mod codex;
mod event;
mod input_writer;
pub mod launch;
mod line_splitter;
mod owned;
mod structured;

pub use event::{
    AgentEvent, AgentEventKind, ClientRequest, ProtocolError, ResumePoint, TokenUsage, TurnEnd,
    UsagePeriod,
};
pub use input_writer::{AgentInputWriter, InputDelivery, SessionToOpen, ToAgent};

use crate::markers;
use bowline_machines::named;
use structured::StructuredParser;

/// Limit on the bytes of one line of a structured protocol. A longer one is reported and skipped.
pub const LINE_BYTES_MAX: usize = 8 << 20;

named! {
    /// Protocols of agent clients.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub enum AgentProtocol {
        /// Plain text with embedded markers.
        #[default]
        Markers = "markers",
        /// Output of `claude -p --input-format stream-json --output-format stream-json`.
        ClaudeStreamJson = "claude-stream-json",
        /// Output of `codex exec --json`.
        CodexJson = "codex-json",
        /// The Agent Client Protocol, version 1.
        Acp = "acp",
    }
}

/// Parser for the output of one client.
///
/// The events depend on the bytes alone, not on how they were cut into pushes. Only
/// [`flush_pending`](Self::flush_pending) depends on time, and the caller decides when to call it.
#[derive(Debug)]
pub struct AgentAdapter(AdapterKind);

#[derive(Debug)]
enum AdapterKind {
    Markers(markers::MarkerParser),
    Structured(StructuredParser),
}

impl AgentAdapter {
    /// Creates an adapter at the beginning of a client's output. `nonce` is the one given to the
    /// agent.
    pub fn new(protocol: AgentProtocol, nonce: Option<String>) -> Self {
        Self::resume_at(protocol, nonce, ResumePoint::default())
    }

    /// Creates an adapter that continues where another one stopped.
    pub fn resume_at(protocol: AgentProtocol, nonce: Option<String>, resume: ResumePoint) -> Self {
        let dialect = match protocol {
            AgentProtocol::Markers => {
                let options = markers::MarkerParserOptions { nonce };
                return Self(AdapterKind::Markers(markers::MarkerParser::resume_at(
                    options, resume.at,
                )));
            }
            AgentProtocol::ClaudeStreamJson => structured::StructuredProtocol::Claude,
            AgentProtocol::CodexJson => structured::StructuredProtocol::Codex,
            AgentProtocol::Acp => structured::StructuredProtocol::Acp,
        };
        Self(AdapterKind::Structured(StructuredParser::new(
            dialect, nonce, resume,
        )))
    }

    /// Returns the latest position from which a new adapter reports everything this one has not
    /// reported yet.
    pub fn resume_point(&self) -> ResumePoint {
        match &self.0 {
            AdapterKind::Markers(parser) => ResumePoint {
                at: parser.resume_point(),
                skip: 0,
            },
            AdapterKind::Structured(stream) => stream.resume_point(),
        }
    }

    /// Returns the absolute offset of the next byte to push.
    pub fn offset(&self) -> u64 {
        match &self.0 {
            AdapterKind::Markers(parser) => parser.offset(),
            AdapterKind::Structured(stream) => stream.offset(),
        }
    }

    /// Returns the bytes of memory held by buffers.
    pub fn buffered_bytes(&self) -> usize {
        match &self.0 {
            AdapterKind::Markers(parser) => parser.buffered_bytes(),
            AdapterKind::Structured(stream) => stream.buffered_bytes(),
        }
    }

    /// Parses the next bytes of the output and hands every event to `sink`.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl FnMut(AgentEvent<'_>)) {
        match &mut self.0 {
            AdapterKind::Markers(parser) => parser.push(bytes, &mut |event| sink(event.into())),
            AdapterKind::Structured(stream) => stream.push(bytes, sink),
        }
    }

    /// Reports what is complete although its last line has not ended. Call it when the output has
    /// been silent for [`IDLE_FLUSH_MS`](markers::IDLE_FLUSH_MS). Only plain text has such endings.
    pub fn flush_pending(&mut self, sink: &mut impl FnMut(AgentEvent<'_>)) {
        match &mut self.0 {
            AdapterKind::Markers(parser) => parser.flush_pending(&mut |event| sink(event.into())),
            AdapterKind::Structured(_) => {}
        }
    }

    /// Reports the events left at the end of the output.
    pub fn finish(&mut self, sink: &mut impl FnMut(AgentEvent<'_>)) {
        match &mut self.0 {
            AdapterKind::Markers(parser) => parser.finish(&mut |event| sink(event.into())),
            AdapterKind::Structured(stream) => stream.finish(sink),
        }
    }
}

impl From<markers::MarkerEvent> for AgentEvent<'_> {
    fn from(event: markers::MarkerEvent) -> Self {
        Self {
            start: event.start,
            resume: ResumePoint {
                at: event.resume,
                skip: 0,
            },
            what: event.kind.into(),
        }
    }
}
