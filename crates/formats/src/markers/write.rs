//! Messages written to an agent's standard input.
//!
//! Every message ends with LF. A value never begins a line: its first line follows `key: `, every
//! further line is indented by two spaces. So no value can end its message or begin another.

use std::fmt::Write as _;

/// A message to an agent. It has no `Debug`, because one variant holds a secret.
#[derive(Clone, Copy)]
pub enum MarkerMessage<'a> {
    /// The agent shall begin a phase.
    PhaseStart {
        /// Number of the phase, from 1.
        phase: u32,
        name: &'a str,
        /// Path of the prompt file on disk.
        prompt_file: &'a str,
        prompt: &'a str,
    },
    /// A person approved the phase.
    ReviewApproved {
        review_id: &'a str,
        feedback: Option<&'a str>,
    },
    /// A person requested changes.
    ReviewRejected {
        review_id: &'a str,
        reason: &'a str,
        suggestions: Option<&'a str>,
    },
    /// Verification failed and the agent shall correct the phase.
    Rework {
        phase: u32,
        /// Number of this rework, from 1.
        attempt: u32,
        /// Maximum number of reworks.
        of: u32,
        /// Issues that the verification found.
        issues: &'a [String],
    },
    /// A person supplied the value that the agent requested.
    DependencyProvided {
        /// The name in the agent's request.
        name: &'a str,
        /// The value, often secret.
        value: &'a str,
    },
    /// A person declined the agent's request.
    DependencyRejected {
        /// The name in the agent's request.
        name: &'a str,
        reason: &'a str,
    },
    /// A person answered a question of the agent.
    QuestionAnswer {
        question_id: &'a str,
        answer: &'a str,
    },
    /// A marker of the agent was malformed.
    ProtocolError {
        /// Description of the error.
        details: &'a str,
    },
}

impl MarkerMessage<'_> {
    /// Returns the bytes to write.
    pub fn to_text(self) -> String {
        let mut out = String::new();
        self.append_to(&mut out);
        out
    }

    /// Appends the bytes to write, so that an approval and the next phase start can be sent
    /// together.
    pub fn append_to(self, out: &mut String) {
        match self {
            Self::PhaseStart {
                phase,
                name,
                prompt_file,
                prompt,
            } => write_block(out, "PHASE_START", |out| {
                write_field(out, "phase", &phase.to_string());
                write_field(out, "name", name);
                write_field(out, "prompt_file", prompt_file);
                write_field(out, "prompt", prompt);
            }),
            Self::ReviewApproved {
                review_id,
                feedback,
            } => write_block(out, "REVIEW_APPROVED", |out| {
                write_field(out, "reviewId", review_id);
                optional_field(out, "feedback", feedback);
            }),
            Self::ReviewRejected {
                review_id,
                reason,
                suggestions,
            } => write_block(out, "REVIEW_REJECTED", |out| {
                write_field(out, "reviewId", review_id);
                write_field(out, "reason", reason);
                optional_field(out, "suggestions", suggestions);
            }),
            Self::Rework {
                phase,
                attempt,
                of,
                issues,
            } => write_block(out, "REWORK", |out| {
                write_field(out, "phase", &phase.to_string());
                write_field(out, "attempt", &format!("{attempt}/{of}"));
                out.push_str("issues:\n");
                for issue in issues {
                    out.push_str("  - ");
                    write_value(out, issue, "    ");
                }
            }),
            Self::DependencyProvided { name, value } => {
                write_block(out, "DEPENDENCY_PROVIDED", |out| {
                    write_field(out, "name", name);
                    write_field(out, "value", value);
                })
            }
            Self::DependencyRejected { name, reason } => {
                write_block(out, "DEPENDENCY_REJECTED", |out| {
                    write_field(out, "name", name);
                    write_field(out, "reason", reason);
                })
            }
            Self::QuestionAnswer {
                question_id,
                answer,
            } => {
                let (id, answer) = (json_string(question_id), json_string(answer));
                // Writing to a string cannot fail.
                let _ = writeln!(
                    out,
                    r#"{{"type":"question_answer","questionId":{id},"answer":{answer}}}"#
                );
            }
            Self::ProtocolError { details } => write_block(out, "PROTOCOL_ERROR", |out| {
                write_field(out, "details", details);
            }),
        }
    }
}

fn write_block(out: &mut String, name: &str, fields: impl FnOnce(&mut String)) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "[{name}]");
    fields(out);
    let _ = writeln!(out, "[/{name}]");
}

fn optional_field(out: &mut String, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        write_field(out, key, text);
    }
}

fn write_field(out: &mut String, key: &str, text: &str) {
    out.push_str(key);
    out.push_str(": ");
    write_value(out, text, "  ");
}

/// Writes `text` and a line end, its further lines indented by `indent`. LF, CRLF and CR all end a
/// line, since the reader may treat them so.
fn write_value(out: &mut String, text: &str, indent: &str) {
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

/// Returns `text` as a JSON string on one line.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
