//! Finds the end of the JSON after `=== VERIFICATION_RESULT ===` and reads its criteria.

use serde::Deserialize;

use super::event::{Criterion, CriterionStatus, Kind, Malformed, Marker};
use super::text::{longer_than_field, normalise};

const MARKER: Marker = Marker::VerificationResult;

/// Tracks the braces of a JSON object over several lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Braces {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Braces {
    /// Reads one line. Returns the length up to the brace that closes the object, if the line has
    /// it.
    pub(super) fn feed(&mut self, line: &[u8]) -> Option<usize> {
        for (at, byte) in line.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' => self.depth += 1,
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[derive(Deserialize)]
struct Body {
    criteria: Option<Vec<RawCriterion>>,
}

/// All fields are optional, so that a missing one is reported by name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCriterion {
    id: Option<String>,
    status: Option<String>,
    details: Option<String>,
    suggestion: Option<String>,
    affected_documents: Option<Vec<String>>,
}

/// Builds the event for a complete JSON object.
pub(super) fn read(json: &str) -> Kind {
    criteria(json).map_or_else(Kind::Malformed, |criteria| Kind::VerificationResult {
        criteria,
    })
}

/// Builds the error for JSON that cannot be read because of `problem`.
pub(super) fn bad_json(problem: impl Into<String>) -> Malformed {
    Malformed::BadJson {
        marker: MARKER,
        problem: problem.into(),
    }
}

fn criteria(json: &str) -> Result<Vec<Criterion>, Malformed> {
    let body: Body = serde_json::from_str(json).map_err(|error| bad_json(error.to_string()))?;
    body.criteria
        .ok_or(missing("criteria"))?
        .into_iter()
        .map(|raw| {
            let status = required("status", raw.status)?;
            Ok(Criterion {
                id: required("id", raw.id)?,
                status: CriterionStatus::from_name(&status).ok_or_else(|| Malformed::BadValue {
                    marker: MARKER,
                    field: "status",
                    expected: "passed or failed".to_owned(),
                    found: status.chars().take(60).collect(),
                })?,
                details: text("details", raw.details)?,
                suggestion: text("suggestion", raw.suggestion)?,
                affected_documents: raw
                    .affected_documents
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|path| text("affectedDocuments", Some(path)).transpose())
                    .collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

fn text(field: &'static str, value: Option<String>) -> Result<Option<String>, Malformed> {
    let text = normalise(&value.unwrap_or_default());
    if longer_than_field(&text) {
        return Err(Malformed::FieldTooLong {
            marker: MARKER,
            field,
        });
    }
    Ok((!text.is_empty()).then_some(text))
}

fn required(field: &'static str, value: Option<String>) -> Result<String, Malformed> {
    text(field, value)?.ok_or(missing(field))
}

fn missing(field: &'static str) -> Malformed {
    Malformed::MissingField {
        marker: MARKER,
        field,
    }
}
