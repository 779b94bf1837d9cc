//! Files of other programs that have the name of one of ours.

use crate::finding::{Finding, Severity};
use crate::json::JsonDocument;
use bowline_words::message::Found;

/// The code of the finding about a readable file that another program wrote.
pub const OTHER_PROGRAM: &str = "another_programs_file";

/// Refuses a document that has members and fewer than `least` of those that belong to a kind of file: repairing it would
/// destroy the file of another program.
pub(crate) fn refuse_foreign(
    document: &JsonDocument,
    own: &[&str],
    least: usize,
) -> Result<(), Vec<Finding>> {
    let Some(map) = document.value().as_object() else {
        return Ok(());
    };
    // A version and a time alone are what is left of any file.
    let said = |key: &&String| !matches!(key.as_str(), "version" | "last_updated");
    let known = own.iter().filter(|key| map.contains_key(**key)).count();
    if known >= least || !map.keys().any(|key| said(&key)) {
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
