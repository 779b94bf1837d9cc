//! The marker protocol from outside: bytes in, events out, and the messages back.

mod bounds;
mod cases;
mod checks;
mod idle;
mod properties;
mod reference;
mod resuming;
mod writing;

use bowline_formats::markers::{Event, Kind, Options, Parser};

/// All events of `input`, pushed in one piece.
fn parse(input: &[u8], nonce: Option<&str>) -> Vec<Event> {
    parse_chunks([input], nonce)
}

/// All events of the pieces, pushed one by one.
fn parse_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, nonce: Option<&str>) -> Vec<Event> {
    let mut parser = Parser::new(options(nonce));
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut |event| events.push(event));
    }
    parser.finish(&mut |event| events.push(event));
    events
}

fn options(nonce: Option<&str>) -> Options {
    Options {
        nonce: nonce.map(str::to_owned),
    }
}

/// One line that says everything about an event but where it is.
fn render(kind: &Kind) -> String {
    match kind {
        Kind::PhaseComplete {
            phase,
            name,
            deliverables,
        } => format!("phase {phase} {name:?} {deliverables:?}"),
        Kind::CustomComplete { task, summary } => format!("custom {task:?} {summary:?}"),
        Kind::DependencyRequest(request) => format!(
            "need {} {:?} {:?} required={} default={:?}",
            request.kind.name(),
            request.name,
            request.description,
            request.required,
            request.default
        ),
        Kind::UserQuestion(question) => format!(
            "ask {} {:?} {:?} required={} default={:?}",
            question.category.name(),
            question.question,
            question.options,
            question.required,
            question.default
        ),
        Kind::Error(error) => {
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
        Kind::Step { step, of, name } => format!("step {step}/{of} {name:?}"),
        Kind::PhaseStarting { phase, name } => format!("starting {phase} {name:?}"),
        Kind::VerificationResult { criteria } => {
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
        Kind::Malformed(defect) => format!("malformed {defect}"),
        Kind::Ignored { marker, reason } => format!("ignored {marker} {reason:?}"),
    }
}

fn render_all(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| render(&event.kind)).collect()
}
