//! The agent's text inside a structured protocol: reported as it is, and searched for markers.

use std::borrow::Cow;

use super::event::What;
use crate::markers::{ErrorReport, Kind, Options, Parser, Recovery, Resume, Severity};

/// Follows the text of an agent.
#[derive(Debug)]
pub(super) struct Words {
    parser: Parser,
    /// True while a text is incomplete.
    open: bool,
}

impl Words {
    /// Creates a parser between two texts.
    pub(super) fn new(nonce: Option<String>, nonce_used: bool) -> Self {
        let resume = Resume {
            nonce_used,
            ..Resume::default()
        };
        Self {
            parser: Parser::resume_at(Options { nonce }, resume),
            open: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn nonce_used(&self) -> bool {
        self.parser.resume().nonce_used
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.parser.buffered_bytes()
    }

    /// Parses a complete text.
    pub(super) fn text(&mut self, text: Cow<'_, str>, emit: &mut impl FnMut(What<'_>)) {
        self.piece(text, emit);
        self.end(emit);
    }

    /// Parses a chunk of a text. The next chunk continues where it ends, also within a line.
    pub(super) fn piece(&mut self, text: Cow<'_, str>, emit: &mut impl FnMut(What<'_>)) {
        if text.is_empty() {
            return;
        }
        self.open = true;
        // The text is reported before its markers, so it need not be copied.
        emit(What::Said(Cow::Borrowed(&text)));
        self.parser
            .push(text.as_bytes(), &mut |event| emit(event.kind.into()));
    }

    /// Ends the text and closes what it left open.
    pub(super) fn end(&mut self, emit: &mut impl FnMut(What<'_>)) {
        if std::mem::take(&mut self.open) {
            self.parser.finish(&mut |event| emit(event.kind.into()));
        }
    }
}

impl From<Kind> for What<'_> {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::PhaseComplete {
                phase,
                name,
                deliverables,
            } => Self::PhaseComplete {
                phase,
                name,
                deliverables,
            },
            Kind::CustomComplete { task, summary } => Self::TaskComplete { task, summary },
            Kind::DependencyRequest(request) => Self::Needs(request),
            Kind::UserQuestion(question) => Self::Asks {
                request: None,
                questions: vec![question],
            },
            Kind::Error(report) => reported(report),
            Kind::Step { step, of, name } => Self::Step { step, of, name },
            Kind::PhaseStarting { phase, name } => Self::PhaseStarting { phase, name },
            Kind::VerificationResult { criteria } => Self::Verified { criteria },
            Kind::Malformed(malformed) => Self::Malformed(malformed),
            Kind::Ignored { marker, reason } => Self::Ignored { marker, reason },
        }
    }
}

/// Maps an agent's error report to an event: fatal reports fail, for others the requested recovery
/// decides.
fn reported(report: ErrorReport) -> What<'static> {
    let message = report.message.into();
    let details = report.details.map(Cow::Owned);
    match (report.severity, report.recovery) {
        (Severity::Fatal, _) | (Severity::Recoverable, Recovery::CheckpointAndFail) => {
            What::Failed { message, details }
        }
        (Severity::Recoverable, Recovery::PauseAndRetry) => What::Limit {
            until: report.reset_at,
            retry_after_s: report.retry_after_s,
            message,
        },
        (Severity::Recoverable, Recovery::NotifyUser) => What::Noticed { message, details },
    }
}
