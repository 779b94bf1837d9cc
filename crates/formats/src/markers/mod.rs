//! The marker protocol: what an agent says in its own output, and what it is told on its standard input.
//!
//! [`Parser`] is a push parser over raw bytes: however the bytes are cut into pushes, the same [`Event`]s come out.
//! Ordinary output is neither copied nor decoded, and what is held back is bounded by [`MESSAGE_BYTES_MAX`] and
//! [`LINE_BYTES_MAX`] whatever the agent prints. Each event carries the [`Resume`] point right behind it, so a reader
//! that has acted on an event can start again there after a crash. [`write`](mod@write) has the other direction, [`check`] the
//! checks on what a person hands in. The grammar is written down in `docs/formats/markers.md`.

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
    Category, Criterion, CriterionStatus, DependencyRequest, DependencyType, ErrorReport, Event,
    Fence, IgnoredReason, Kind, Malformed, Marker, Recovery, Resume, Severity, UserQuestion,
};
pub use parser::{Options, Parser};

/// Characters in one field of a message, after normalisation.
pub const FIELD_CHARS_MAX: usize = 10_000;

/// Bytes in one message, from its opening to its closing tag, every line end counted as one byte.
pub const MESSAGE_BYTES_MAX: usize = 102_400;

/// Bytes in one line without its line end. A longer line cannot fit in a message; it is passed over unbuffered.
pub const LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// Milliseconds of silence after which a reader should call [`Parser::flush_pending`].
pub const IDLE_FLUSH_MS: u64 = 100;
