//! The marker protocol from outside: bytes in, events out, and the messages back.

mod bounds;
mod cases;
mod checks;
mod idle;
mod properties;
mod reference;
mod resuming;
mod writing;

use bowline_formats::markers::{MarkerContent, MarkerEvent, MarkerParser, MarkerParserOptions};

/// All events of `input`, pushed in one piece.
fn parse(input: &[u8], nonce: Option<&str>) -> Vec<MarkerEvent> {
    parse_chunks([input], nonce)
}

/// All events of the pieces, pushed one by one.
fn parse_chunks<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    nonce: Option<&str>,
) -> Vec<MarkerEvent> {
    let mut parser = MarkerParser::new(options(nonce));
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut |event| events.push(event));
    }
    parser.finish(&mut |event| events.push(event));
    events
}

fn options(nonce: Option<&str>) -> MarkerParserOptions {
    MarkerParserOptions {
        nonce: nonce.map(str::to_owned),
    }
}

/// One line that says everything about an event but where it is.
fn render(kind: &MarkerContent) -> String {
    match kind {
        MarkerContent::PhaseComplete {
            phase,
            name,
            deliverables,
        } => format!("phase {phase} {name:?} {deliverables:?}"),
        MarkerContent::CustomComplete { task, summary } => format!("custom {task:?} {summary:?}"),
        MarkerContent::DependencyRequest(request) => format!(
            "need {} {:?} {:?} required={} default={:?}",
            request.kind.name(),
            request.name,
            request.description,
            request.required,
            request.default
        ),
        MarkerContent::UserQuestion(question) => format!(
            "ask {} {:?} {:?} required={} default={:?}",
            question.category.name(),
            question.question,
            question.options,
            question.required,
            question.default
        ),
        MarkerContent::Error(error) => {
            let mut text = format!(
                "error {} {:?} {:?} {}",
                error.severity.name(),
                error.message,
                error.details,
                error.recovery.name()
            );
            if let Some(seconds) = error.retry_after_s {
                text += &format!(" retry_after={seconds}");
            }
            if let Some(at) = error.reset_at {
                text += &format!(" reset_at={at}");
            }
            text
        }
        MarkerContent::Step { step, of, name } => format!("step {step}/{of} {name:?}"),
        MarkerContent::PhaseStarting { phase, name } => format!("starting {phase} {name:?}"),
        MarkerContent::VerificationResult { criteria } => {
            let criteria: Vec<_> = criteria
                .iter()
                .map(|c| {
                    format!(
                        "{}:{} {:?} {:?} {:?}",
                        c.id,
                        c.status.name(),
                        c.details,
                        c.suggestion,
                        c.affected_documents
                    )
                })
                .collect();
            format!("verified {criteria:?}")
        }
        MarkerContent::Malformed(defect) => format!("malformed {defect}"),
        MarkerContent::Ignored { marker, reason } => format!("ignored {marker} {reason:?}"),
    }
}

fn render_all(events: &[MarkerEvent]) -> Vec<String> {
    events.iter().map(|event| render(&event.kind)).collect()
}
