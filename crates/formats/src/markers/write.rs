//! What an agent is told on its standard input.
//!
//! Every message ends with LF. A value never begins a line: its first line follows `key: `, every further line is indented
//! by two spaces. So no value, whatever it holds, can end its message or begin another.

use std::fmt::Write as _;

/// A message to an agent. It has no `Debug`, because one of them holds a secret.
#[derive(Clone, Copy)]
pub enum Message<'a> {
    /// Begin a phase.
    PhaseStart {
        /// The phase, from 1.
        phase: u32,
        /// Its name.
        name: &'a str,
        /// Where the prompt is on disk.
        prompt_file: &'a str,
        /// The prompt.
        prompt: &'a str,
    },
    /// A person approved the phase.
    ReviewApproved {
        /// The review.
        review_id: &'a str,
        /// What the person said.
        feedback: Option<&'a str>,
    },
    /// A person wants changes.
    ReviewRejected {
        /// The review.
        review_id: &'a str,
        /// What is wrong.
        reason: &'a str,
        /// How it might be put right.
        suggestions: Option<&'a str>,
    },
    /// Verification failed.
    Rework {
        /// The phase.
        phase: u32,
        /// Which rework this is, from 1.
        attempt: u32,
        /// How many there may be.
        of: u32,
        /// What was found.
        issues: &'a [String],
    },
    /// What the agent asked for.
    DependencyProvided {
        /// The name it was asked for by.
        name: &'a str,
        /// The value, often secret.
        value: &'a str,
    },
    /// The agent will not get what it asked for.
    DependencyRejected {
        /// The name it was asked for by.
        name: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// The answer to a question.
    QuestionAnswer {
        /// The question.
        question_id: &'a str,
        /// The answer.
        answer: &'a str,
    },
    /// A marker of the agent was malformed.
    ProtocolError {
        /// How.
        details: &'a str,
    },
}

impl Message<'_> {
    /// The bytes to write.
    pub fn to_text(self) -> String {
        let mut out = String::new();
        self.append_to(&mut out);
        out
    }

    /// Appends the bytes to write, so that an approval and the next phase start can go out as one.
    pub fn append_to(self, out: &mut String) {
        match self {
            Self::PhaseStart {
                phase,
                name,
                prompt_file,
                prompt,
            } => block(out, "PHASE_START", |out| {
                field(out, "phase", &phase.to_string());
                field(out, "name", name);
                field(out, "prompt_file", prompt_file);
                field(out, "prompt", prompt);
            }),
            Self::ReviewApproved {
                review_id,
                feedback,
            } => block(out, "REVIEW_APPROVED", |out| {
                field(out, "reviewId", review_id);
                optional_field(out, "feedback", feedback);
            }),
            Self::ReviewRejected {
                review_id,
                reason,
                suggestions,
            } => block(out, "REVIEW_REJECTED", |out| {
                field(out, "reviewId", review_id);
                field(out, "reason", reason);
                optional_field(out, "suggestions", suggestions);
            }),
            Self::Rework {
                phase,
                attempt,
                of,
                issues,
            } => block(out, "REWORK", |out| {
                field(out, "phase", &phase.to_string());
                field(out, "attempt", &format!("{attempt}/{of}"));
                out.push_str("issues:\n");
                for issue in issues {
                    out.push_str("  - ");
                    value(out, issue, "    ");
                }
            }),
            Self::DependencyProvided { name, value } => block(out, "DEPENDENCY_PROVIDED", |out| {
                field(out, "name", name);
                field(out, "value", value);
            }),
            Self::DependencyRejected { name, reason } => block(out, "DEPENDENCY_REJECTED", |out| {
                field(out, "name", name);
                field(out, "reason", reason);
            }),
            Self::QuestionAnswer {
                question_id,
                answer,
            } => {
                let (id, answer) = (json(question_id), json(answer));
                // Writing to a string cannot fail.
                let _ = writeln!(
                    out,
                    r#"{{"type":"question_answer","questionId":{id},"answer":{answer}}}"#
                );
            }
            Self::ProtocolError { details } => block(out, "PROTOCOL_ERROR", |out| {
                field(out, "details", details);
            }),
        }
    }
}

fn block(out: &mut String, name: &str, fields: impl FnOnce(&mut String)) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "[{name}]");
    fields(out);
    let _ = writeln!(out, "[/{name}]");
}

fn optional_field(out: &mut String, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        field(out, key, text);
    }
}

fn field(out: &mut String, key: &str, text: &str) {
    out.push_str(key);
    out.push_str(": ");
    value(out, text, "  ");
}

/// Writes `text` and a line end, its further lines behind `indent`. Any of LF, CRLF and CR ends a line, since the reader
/// may think so.
fn value(out: &mut String, text: &str, indent: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        out.push_str(&rest[..at]);
        out.push('\n');
        out.push_str(indent);
        let width = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[at + width..];
    }
    out.push_str(rest);
    out.push('\n');
}

/// `text` as a JSON string, on one line.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
