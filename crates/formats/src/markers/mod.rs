//! The marker protocol: messages that an agent writes to its own output, and messages written to
//! its standard input.
//!
//! [`MarkerParser`] is a push parser over raw bytes. Its [`MarkerEvent`]s do not depend on how the
//! bytes are split into pushes. Ordinary output is neither copied nor decoded, and buffering is
//! bounded by [`MESSAGE_BYTES_MAX`] and [`LINE_BYTES_MAX`] for any input. Each event carries the
//! [`ParserResumePoint`] directly behind it, so a reader that has handled an event can
//! restart there after a crash. [`write`](mod@write) has the other direction, [`check`] validates
//! what a person supplies. The grammar is specified in `docs/formats/markers.md`.

pub mod check;
mod completion;
mod event;
mod fields;
mod members;
mod message;
mod parser;
mod syntax;
#[cfg(test)]
mod tests;
mod text;
mod verification;
pub mod write;

pub use event::{
    AgentErrorReport, CodeFence, CriterionResult, CriterionStatus, DependencyRequest,
    ErrorSeverity, IgnoredReason, MalformedMarker, MarkerContent, MarkerEvent, MarkerName,
    ParserResumePoint, QuestionCategory, Recovery, UserQuestion,
};
pub use parser::{MarkerParser, MarkerParserOptions};

/// Maximum characters in one field of a message, after normalisation.
pub const FIELD_CHARS_MAX: usize = 10_000;

/// Maximum bytes in one message from its opening to its closing tag, every line end counted as one
/// byte.
pub const MESSAGE_BYTES_MAX: usize = 102_400;

/// Maximum bytes in one line without its line end. A longer line cannot fit in a message; it is
/// skipped without buffering.
pub const LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// Milliseconds of silence after which a reader should call [`MarkerParser::flush_pending`].
pub const IDLE_FLUSH_MS: u64 = 100;
