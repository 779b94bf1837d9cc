//! Finds the end of the JSON after `=== VERIFICATION_RESULT ===` and reads its criteria.

use serde::Deserialize;

use super::event::{CriterionResult, CriterionStatus, MalformedMarker, MarkerContent, MarkerName};
use super::text::{longer_than_field, normalise_text};

const MARKER: MarkerName = MarkerName::VerificationResult;

/// Tracks the braces of a JSON object over several lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BraceCounter {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl BraceCounter {
    /// Reads one line. Returns the length up to the brace that closes the object, if the line has
    /// it.
    pub(super) fn count_line(&mut self, line: &[u8]) -> Option<usize> {
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
struct VerificationBody {
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
pub(super) fn parse_verification(json: &str) -> MarkerContent {
    parse_criteria(json).map_or_else(MarkerContent::Malformed, |criteria| {
        MarkerContent::VerificationResult { criteria }
    })
}

/// Builds the error for JSON that cannot be read because of `problem`.
pub(super) fn bad_json(problem: impl Into<String>) -> MalformedMarker {
    MalformedMarker::BadJson {
        marker: MARKER,
        problem: problem.into(),
    }
}

fn parse_criteria(json: &str) -> Result<Vec<CriterionResult>, MalformedMarker> {
    let body: VerificationBody =
        serde_json::from_str(json).map_err(|error| bad_json(error.to_string()))?;
    body.criteria
        .ok_or(missing_field("criteria"))?
        .into_iter()
        .map(|raw| {
            let status = required_text("status", raw.status)?;
            Ok(CriterionResult {
                id: required_text("id", raw.id)?,
                status: CriterionStatus::from_name(&status).ok_or_else(|| {
                    MalformedMarker::BadValue {
                        marker: MARKER,
                        field: "status",
                        expected: "passed or failed".to_owned(),
                        found: status.chars().take(60).collect(),
                    }
                })?,
                details: optional_text("details", raw.details)?,
                suggestion: optional_text("suggestion", raw.suggestion)?,
                affected_documents: raw
                    .affected_documents
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|path| optional_text("affectedDocuments", Some(path)).transpose())
                    .collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

fn optional_text(
    field: &'static str,
    value: Option<String>,
) -> Result<Option<String>, MalformedMarker> {
    let text = normalise_text(&value.unwrap_or_default());
    if longer_than_field(&text) {
        return Err(MalformedMarker::FieldTooLong {
            marker: MARKER,
            field,
        });
    }
    Ok((!text.is_empty()).then_some(text))
}

fn required_text(field: &'static str, value: Option<String>) -> Result<String, MalformedMarker> {
    optional_text(field, value)?.ok_or(missing_field(field))
}

fn missing_field(field: &'static str) -> MalformedMarker {
    MalformedMarker::MissingField {
        marker: MARKER,
        field,
    }
}
