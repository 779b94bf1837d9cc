//! Files of other programs that have the name of one of ours.

use crate::finding::{Finding, Severity};
use crate::json::JsonDocument;
use bowline_words::message::Found;

/// The code of the finding about a readable file that another program wrote.
pub const OTHER_PROGRAM: &str = "another_programs_file";

/// Own keys without which a document that has keys of others as well is none of ours.
const OWN_KEYS_LEAST: usize = 2;

/// Refuses the document of another program: repairing it would destroy it. `own` has the places that only this kind of file
/// has. One of them beside keys of others may be chance; a document without any other key is somebody's minimal file of ours.
pub(crate) fn refuse_foreign(document: &JsonDocument, own: &[&str]) -> Result<(), Vec<Finding>> {
    let (value, map) = (document.value(), document.value().as_object());
    let known = own.iter().filter(|place| value.pointer(place).is_some());
    // A version and a time alone are what is left of any file.
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
        message: Found::AnotherProgramsFile,
        repair: None,
    }])
}
