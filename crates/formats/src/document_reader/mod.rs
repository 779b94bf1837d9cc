//! The tolerant reader: takes typed values out of a document, records findings, and builds the
//! repaired document.

mod put;
mod values;

pub use put::{
    pointer_of_keys, put_later, put_list, put_time, put_value, put_version, take_list, take_object,
};

use crate::finding::{Finding, ReadResult, Severity};
use crate::json::{JsonDocument, unescape_key, value_at};
use crate::time;
use bowline_machines::Timestamp;
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Map, Value};

/// A document being read. Every getter returns a usable value; each default that it had to use is a
/// finding.
#[derive(Debug)]
pub struct DocumentReader<'d> {
    document: &'d JsonDocument,
    fixed: Value,
    findings: Vec<Finding>,
}

impl<'d> DocumentReader<'d> {
    /// Starts reading a document, whose root must be an object.
    pub fn new(document: &'d JsonDocument) -> Result<Self, Vec<Finding>> {
        let mut reading = DocumentReader {
            document,
            fixed: document.value().clone(),
            findings: Vec::new(),
        };
        if !document.value().is_object() {
            return Err(vec![reading.fatal_finding(
                "",
                "wrong_type",
                FileFinding::NotAnObject,
            )]);
        }
        for pointer in document.duplicate_keys() {
            reading.add_finding(
                Severity::Warning,
                "duplicate_key",
                &pointer,
                FileFinding::DuplicateKey,
                None,
            );
        }
        Ok(reading)
    }

    /// Finishes reading with a state.
    pub fn finish<S>(self, state: S) -> ReadResult<S> {
        ReadResult {
            state,
            findings: self.findings,
            fixed: self.fixed,
        }
    }

    /// Aborts reading: returns all findings so far, and a fatal one with the reason.
    pub fn give_up(
        mut self,
        pointer: &str,
        code: &'static str,
        message: FileFinding,
    ) -> Vec<Finding> {
        let last = self.fatal_finding(pointer, code, message);
        self.findings.push(last);
        self.findings
    }

    fn fatal_finding(&self, pointer: &str, code: &'static str, message: FileFinding) -> Finding {
        Finding {
            severity: Severity::Fatal,
            code,
            pointer: pointer.into(),
            message,
            repair: None,
        }
    }

    /// Adds a finding.
    pub fn add_finding(
        &mut self,
        severity: Severity,
        code: &'static str,
        pointer: &str,
        message: FileFinding,
        repair: Option<Repair>,
    ) {
        self.findings.push(Finding {
            severity,
            code,
            pointer: pointer.into(),
            message,
            repair,
        });
    }

    /// Adds a finding about an element of the wrong type, which the repair leaves out.
    pub fn leave_out(&mut self, pointer: &str, message: FileFinding) {
        let repair = Some(Repair::LeaveOut);
        self.add_finding(Severity::Error, "wrong_type", pointer, message, repair);
    }

    /// Adds a finding that is repaired by setting another value.
    pub fn repair_value(
        &mut self,
        severity: Severity,
        code: &'static str,
        pointer: &str,
        message: FileFinding,
        value: Value,
    ) {
        let repair = Repair::SetIt {
            value: shorten_text(&value.to_string()).into(),
        };
        self.set_repaired(pointer, value);
        self.add_finding(severity, code, pointer, message, Some(repair));
    }

    /// Adds a finding about a missing field, which gets a value.
    pub fn fill_missing(&mut self, pointer: &str, value: Value) {
        let message = FileFinding::Missing;
        self.repair_value(Severity::Warning, "missing_field", pointer, message, value);
    }

    /// Adds a finding that is repaired by removing the key.
    pub fn drop_key(
        &mut self,
        severity: Severity,
        code: &'static str,
        pointer: &str,
        message: FileFinding,
    ) {
        if let Some((parent, key)) = pointer.rsplit_once('/')
            && let Some(Value::Object(map)) = self.fixed.pointer_mut(parent)
        {
            let key = unescape_key(key);
            map.retain(|known, _| *known != *key);
        }
        self.add_finding(severity, code, pointer, message, Some(Repair::Remove));
    }

    /// Returns the value at a pointer, as the file has it.
    pub fn get(&self, pointer: &str) -> Option<&'d Value> {
        value_at(self.document.value(), pointer)
    }

    /// Sets a value in the repaired document, creating parents as needed.
    pub fn set_repaired(&mut self, pointer: &str, value: Value) {
        put_value(&mut self.fixed, pointer, value);
    }

    /// Returns the repaired document, for changes that need more than a pointer.
    pub(crate) fn fixed_mut(&mut self) -> &mut Value {
        &mut self.fixed
    }

    /// Reads a required object.
    pub fn read_object(&mut self, pointer: &str) -> Option<&'d Map<String, Value>> {
        match self.get(pointer) {
            Some(Value::Object(map)) => Some(map),
            other => {
                self.replace_unusable(pointer, other, Kind::Object, Value::Object(Map::new()));
                None
            }
        }
    }

    /// Reads a text; `default` if it is missing or of another type.
    pub fn read_text(&mut self, pointer: &str, default: &str) -> String {
        match self.get(pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => {
                let text = number.to_string();
                let message = FileFinding::ShouldBeIs {
                    wanted: Kind::Text,
                    is: Kind::Number,
                };
                self.repair_value(
                    Severity::Warning,
                    "wrong_type",
                    pointer,
                    message,
                    Value::from(text.clone()),
                );
                text
            }
            other => {
                self.replace_unusable(pointer, other, Kind::Text, Value::from(default));
                default.to_owned()
            }
        }
    }

    /// Reads an optional text; `None` if it is `null` or missing.
    pub fn read_optional_text(&mut self, pointer: &str) -> Option<String> {
        match self.get(pointer) {
            None | Some(Value::Null) => None,
            Some(_) => Some(self.read_text(pointer, "")),
        }
    }

    /// Reads one of a closed set of words. Common other spellings are accepted and repaired;
    /// anything else becomes `default`.
    pub fn read_word<T: Copy>(
        &mut self,
        pointer: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
        default: T,
    ) -> T {
        let allowed = || {
            all.iter()
                .map(|&one| name(one))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = self.get(pointer);
        let Some(Value::String(text)) = found else {
            self.replace_unusable(
                pointer,
                found,
                Kind::OneOf { words: allowed() },
                Value::from(name(default)),
            );
            return default;
        };
        if let Some(&exact) = all.iter().find(|&&one| name(one) == text) {
            return exact;
        }
        let plain = |text: &str| text.trim().to_lowercase().replace(['-', ' '], "_");
        let wanted = status_synonym(&plain(text)).map_or_else(|| plain(text), str::to_owned);
        let (value, how) = match all.iter().find(|&&one| plain(name(one)) == wanted) {
            Some(&alike) => (alike, Severity::Warning),
            None => (default, Severity::Error),
        };
        let message = FileFinding::WordNotOneOf {
            word: shorten_text(text).into(),
            words: allowed(),
        };
        self.repair_value(
            how,
            "unknown_word",
            pointer,
            message,
            Value::from(name(value)),
        );
        value
    }

    /// Returns the time at a pointer, if there is one, without adding a finding.
    pub fn seen_time(&self, pointer: &str) -> Option<Timestamp> {
        put::time_at(self.document.value(), pointer)
    }

    /// Reads an optional time.
    pub fn read_time(&mut self, pointer: &str) -> Option<Timestamp> {
        match self.get(pointer) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => {
                let time = time::parse_time(text);
                if time.is_none() {
                    let message = FileFinding::NotATime {
                        text: shorten_text(text).into(),
                    };
                    self.repair_value(Severity::Error, "bad_time", pointer, message, Value::Null);
                }
                time
            }
            other @ Some(_) => {
                self.replace_unusable(pointer, other, Kind::TimeOrNull, Value::Null);
                None
            }
        }
    }

    /// Reads an optional number.
    pub fn read_number(&mut self, pointer: &str) -> Option<f64> {
        match self.get(pointer) {
            None | Some(Value::Null) => None,
            Some(Value::Number(number)) => number.as_f64(),
            other @ Some(_) => {
                let text = other
                    .and_then(Value::as_str)
                    .and_then(|text| text.trim().parse::<f64>().ok());
                let number = text.filter(|number| number.is_finite());
                self.replace_unusable(
                    pointer,
                    other,
                    Kind::NumberOrNull,
                    number.map_or(Value::Null, Value::from),
                );
                number
            }
        }
    }

    /// Reads an optional non-negative whole number.
    pub fn read_count(&mut self, pointer: &str) -> Option<u32> {
        let found = self.get(pointer);
        match found {
            None | Some(Value::Null) => return None,
            Some(Value::Number(number)) => {
                if let Some(count) = number.as_u64().and_then(|count| u32::try_from(count).ok()) {
                    return Some(count);
                }
                // Programs without integers write 2 as 2.0.
                let whole = number
                    .as_f64()
                    .filter(|number| number.fract() == 0.0 && (0.0..1e9).contains(number));
                if let Some(count) = whole.and_then(|number| format!("{number:.0}").parse().ok()) {
                    return Some(count);
                }
            }
            Some(Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {}
        }
        let count = found
            .and_then(Value::as_str)
            .and_then(|text| text.trim().parse().ok());
        self.replace_unusable(
            pointer,
            found,
            Kind::WholeNumber,
            Value::from(count.unwrap_or(0_u32)),
        );
        Some(count.unwrap_or(0))
    }

    /// Reads a list of texts; a missing one is empty. Elements of another type are left out, with a
    /// finding.
    pub fn read_texts(&mut self, pointer: &str) -> Vec<String> {
        let items = self.read_list(pointer);
        let mut texts = Vec::with_capacity(items.len());
        let mut bad = false;
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other => {
                    bad = true;
                    let message = FileFinding::ShouldBeIs {
                        wanted: Kind::Text,
                        is: value_kind(other),
                    };
                    self.leave_out(&format!("{pointer}/{index}"), message);
                }
            }
        }
        if bad {
            self.set_repaired(pointer, Value::from(texts.clone()));
        }
        texts
    }

    /// Reads a list; a missing one is empty.
    pub fn read_list(&mut self, pointer: &str) -> &'d [Value] {
        match self.get(pointer) {
            Some(Value::Array(items)) => items,
            other => {
                self.replace_unusable(pointer, other, Kind::List, Value::Array(Vec::new()));
                &[]
            }
        }
    }

    /// Checks a value that follows from others; adds a finding if it differs from `expected`.
    pub fn check_derived(&mut self, pointer: &str, expected: Value) {
        let found = self.get(pointer);
        if !found.is_some_and(|found| crate::json::values_equal(found, &expected)) {
            let makes = shorten_text(&expected.to_string()).to_owned();
            let message = match found {
                Some(found) => FileFinding::Derived {
                    is: shorten_text(&found.to_string()).into(),
                    makes,
                },
                None => FileFinding::DerivedMissing { makes },
            };
            self.repair_value(
                Severity::Warning,
                "derived_mismatch",
                pointer,
                message,
                expected,
            );
        }
    }

    /// Checks `/version` against the major version that this program writes.
    pub fn check_version(&mut self, major: u32, written: &str) {
        let text = match self.get("/version") {
            Some(Value::String(text)) => shorten_text(text).to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            other => {
                self.replace_unusable("/version", other, Kind::Text, Value::from(written));
                return;
            }
        };
        match put::version_major(&text) {
            Some(found) if found > major => {
                let message = FileFinding::NewerVersion {
                    found: text,
                    written: written.into(),
                };
                self.add_finding(
                    Severity::ReadOnly,
                    "newer_version",
                    "/version",
                    message,
                    None,
                );
            }
            Some(found) if found < major => {
                let message = FileFinding::OlderVersion {
                    found: text,
                    written: written.into(),
                };
                self.add_finding(Severity::Note, "older_version", "/version", message, None);
            }
            Some(_) => {}
            None => {
                let message = FileFinding::NotAVersion { text };
                self.repair_value(
                    Severity::Warning,
                    "bad_version",
                    "/version",
                    message,
                    Value::from(written),
                );
            }
        }
    }

    /// Adds a finding about a violated rule of the machine.
    pub fn add_violation(
        &mut self,
        pointer: &str,
        violation: &bowline_machines::Violation,
        repair: Option<Repair>,
    ) {
        let message = rule_broken(violation);
        self.add_finding(Severity::Error, "rule_broken", pointer, message, repair);
    }

    fn replace_unusable(
        &mut self,
        pointer: &str,
        found: Option<&Value>,
        wanted: Kind,
        instead: Value,
    ) {
        match found {
            None => self.fill_missing(pointer, instead),
            Some(other) => {
                let message = FileFinding::ShouldBeIs {
                    wanted,
                    is: value_kind(other),
                };
                self.repair_value(Severity::Error, "wrong_type", pointer, message, instead);
            }
        }
    }
}

/// Maximum characters of a value in a message.
const SHOWN_CHARS_MAX: usize = 80;

fn shorten_text(text: &str) -> &str {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn status_synonym(word: &str) -> Option<&'static str> {
    Some(match word {
        "done" | "complete" | "finished" | "success" | "완료" => "completed",
        "todo" | "open" | "waiting" | "not_started" | "대기" => "pending",
        "doing" | "running" | "started" | "active" | "inprogress" | "진행" | "진행_중" => {
            "in_progress"
        }
        "error" | "failure" | "실패" => "failed",
        "canceled" | "취소" => "cancelled",
        "merge" => "pr",
        _ => return None,
    })
}

fn value_kind(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::Text,
        Value::Array(_) => Kind::List,
        Value::Object(_) => Kind::Object,
    }
}

/// Describes a violated rule of a machine.
pub(crate) fn rule_broken(violation: &bowline_machines::Violation) -> FileFinding {
    FileFinding::RuleBroken {
        rule: violation.rule,
        place: violation.place.clone(),
        detail: violation.detail.clone(),
    }
}
