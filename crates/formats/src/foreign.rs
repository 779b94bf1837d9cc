//! Detection of other programs' files that have the name of one of ours.

use crate::finding::{Finding, Severity};
use crate::json::JsonDocument;
use bowline_words::message::FileFinding;

/// Code of the finding for a readable file that another program wrote.
pub const OTHER_PROGRAM: &str = "another_programs_file";

/// Own keys needed to accept a document that also has unknown keys.
const OWN_KEYS_LEAST: usize = 2;

/// Refuses the document of another program, because repairing it would destroy it. `own` lists
/// pointers that only this kind of file has. A single one beside unknown keys may be chance; a
/// document without unknown keys is accepted as a minimal file of ours.
pub(crate) fn refuse_foreign(document: &JsonDocument, own: &[&str]) -> Result<(), Vec<Finding>> {
    let (value, map) = (document.value(), document.value().as_object());
    let known = own.iter().filter(|place| value.pointer(place).is_some());
    // Version and time alone say nothing about the origin of a file.
    let is_common = |key: &str| matches!(key, "version" | "last_updated");
    let is_own = |key: &str| is_common(key) || own.iter().any(|place| &place[1..] == key);
    let has_others = map.is_some_and(|map| !map.keys().all(|key| is_own(key)));
    if !has_others || known.count() >= OWN_KEYS_LEAST {
        return Ok(());
    }
    Err(vec![Finding {
        severity: Severity::Fatal,
        code: OTHER_PROGRAM,
        pointer: String::new(),
        message: FileFinding::AnotherProgramsFile,
        repair: None,
    }])
}
