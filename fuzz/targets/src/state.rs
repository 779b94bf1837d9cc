//! State files: whatever is read can be repaired once and for all, and written back.

use bowline_formats::StateFormat;
use bowline_formats::finding::Severity;
use bowline_formats::json::{JsonDocument, values_equal};
use bowline_machines::Timestamp;

/// Past every time in the seeds, so that a written time is a change.
const AT: Timestamp = Timestamp(1_893_456_000);

/// Reads a document as a kind, repairs it, and writes its state.
pub(crate) fn check<F: StateFormat>(data: &[u8]) {
    let Ok(document) = JsonDocument::parse(data) else {
        return;
    };
    let Ok(read) = F::read_state(&document) else {
        return;
    };
    for finding in &read.findings {
        finding.to_json(Some(&document));
    }
    if read.worst_severity() == Some(Severity::ReadOnly) {
        return;
    }
    let mended = reread::<F>(&document.reconcile(&read.fixed), "mended");
    assert!(
        values_equal(&mended.fixed, &read.fixed),
        "a repair leaves something to repair: {}\nand then {}",
        read.fixed,
        mended.fixed
    );
    let mut value = read.fixed;
    F::write_state(&read.state, &mut value, AT);
    reread::<F>(&document.reconcile(&value), "written");
}

fn reread<F: StateFormat>(
    document: &JsonDocument,
    how: &str,
) -> bowline_formats::finding::ReadResult<F::State> {
    let again = JsonDocument::parse(document.text().as_bytes());
    let again = again.unwrap_or_else(|error| panic!("{how}: {error} in {document}"));
    F::read_state(&again).unwrap_or_else(|findings| panic!("{how}: {findings:?} in {document}"))
}
