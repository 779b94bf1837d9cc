//! The agent's text inside a structured protocol: reported as it is, and searched for markers.

use std::borrow::Cow;

use super::event::AgentEventKind;
use crate::markers::{
    AgentErrorReport, ErrorSeverity, MarkerContent, MarkerParser, MarkerParserOptions,
    ParserResumePoint, Recovery,
};

/// Follows the text of an agent.
#[derive(Debug)]
pub(super) struct AgentText {
    parser: MarkerParser,
    /// True while a text is incomplete.
    open: bool,
}

impl AgentText {
    /// Creates a parser between two texts.
    pub(super) fn new(nonce: Option<String>, nonce_used: bool) -> Self {
        let resume = ParserResumePoint {
            nonce_used,
            ..ParserResumePoint::default()
        };
        Self {
            parser: MarkerParser::resume_at(MarkerParserOptions { nonce }, resume),
            open: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn nonce_used(&self) -> bool {
        self.parser.resume_point().nonce_used
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.parser.buffered_bytes()
    }

    /// Parses a complete text.
    pub(super) fn parse_text(
        &mut self,
        text: Cow<'_, str>,
        emit: &mut impl FnMut(AgentEventKind<'_>),
    ) {
        self.parse_chunk(text, emit);
        self.end_text(emit);
    }

    /// Parses a chunk of a text. The next chunk continues where it ends, also within a line.
    pub(super) fn parse_chunk(
        &mut self,
        text: Cow<'_, str>,
        emit: &mut impl FnMut(AgentEventKind<'_>),
    ) {
        if text.is_empty() {
            return;
        }
        self.open = true;
        // The text is reported before its markers, so it need not be copied.
        emit(AgentEventKind::Said(Cow::Borrowed(&text)));
        self.parser
            .push(text.as_bytes(), &mut |event| emit(event.kind.into()));
    }

    /// Ends the text and closes what it left open.
    pub(super) fn end_text(&mut self, emit: &mut impl FnMut(AgentEventKind<'_>)) {
        if std::mem::take(&mut self.open) {
            self.parser.finish(&mut |event| emit(event.kind.into()));
        }
    }
}

impl From<MarkerContent> for AgentEventKind<'_> {
    fn from(kind: MarkerContent) -> Self {
        match kind {
            MarkerContent::PhaseComplete {
                phase,
                name,
                deliverables,
            } => Self::PhaseComplete {
                phase,
                name,
                deliverables,
            },
            MarkerContent::CustomComplete { task, summary } => Self::TaskComplete { task, summary },
            MarkerContent::DependencyRequest(request) => Self::Needs(request),
            MarkerContent::UserQuestion(question) => Self::Asks {
                request: None,
                questions: vec![question],
            },
            MarkerContent::Error(report) => error_event(report),
            MarkerContent::Step { step, of, name } => Self::Step { step, of, name },
            MarkerContent::PhaseStarting { phase, name } => Self::PhaseStarting { phase, name },
            MarkerContent::VerificationResult { criteria } => Self::Verified { criteria },
            MarkerContent::Malformed(malformed) => Self::Malformed(malformed),
            MarkerContent::Ignored { marker, reason } => Self::Ignored { marker, reason },
        }
    }
}

/// Maps an agent's error report to an event: fatal reports fail, for others the requested recovery
/// decides.
fn error_event(report: AgentErrorReport) -> AgentEventKind<'static> {
    let message = report.message.into();
    let details = report.details.map(Cow::Owned);
    match (report.severity, report.recovery) {
        (ErrorSeverity::Fatal, _) | (ErrorSeverity::Recoverable, Recovery::CheckpointAndFail) => {
            AgentEventKind::Failed { message, details }
        }
        (ErrorSeverity::Recoverable, Recovery::PauseAndRetry) => AgentEventKind::Limit {
            until: report.reset_at,
            retry_after_s: report.retry_after_s,
            message,
        },
        (ErrorSeverity::Recoverable, Recovery::NotifyUser) => {
            AgentEventKind::Noticed { message, details }
        }
    }
}
