//! Documents: what is written is what was meant, and nothing else is touched.

use bowline_formats::json::{JsonDocument, values_equal};
use bowline_formats::three_way_merge::{count_differences, merge_json as merge_values};

/// A document, and in a second part what it is to say instead.
pub(crate) fn check(data: &[u8]) {
    let mut sides = data.splitn(2, |byte| *byte == crate::PART_END);
    let Ok(document) = JsonDocument::parse(sides.next().unwrap_or_default()) else {
        return;
    };
    let own = document.value().clone();
    assert_eq!(
        document.reconcile(&own).text(),
        document.text(),
        "nothing changed"
    );
    document.line_and_column("/a/0/b~1");
    for pointer in document.duplicate_keys() {
        document.line_and_column(&pointer);
    }
    let Some(Ok(other)) = sides.next().map(JsonDocument::parse) else {
        return;
    };
    let there = document.reconcile(other.value());
    reads_as_it_says(&there);
    let back = there.reconcile(document.value());
    reads_as_it_says(&back);
}

fn reads_as_it_says(document: &JsonDocument) {
    let again = JsonDocument::parse(document.text().as_bytes());
    let again = again.unwrap_or_else(|error| panic!("{error} in {document}"));
    assert!(
        values_equal(again.value(), document.value()),
        "{document}\nwas to say {}",
        document.value()
    );
}

/// Three versions: the common one, ours and theirs.
pub(crate) fn merge(data: &[u8]) {
    let Some(parts) = crate::parts::<3>(data) else {
        return;
    };
    let [Ok(base), Ok(ours), Ok(theirs)] =
        parts.map(|part| JsonDocument::from_text(part.to_owned()))
    else {
        return;
    };
    let [base, ours, theirs] = [&base, &ours, &theirs].map(JsonDocument::value);
    assert!(
        values_equal(&merge_values(base, base, theirs), theirs),
        "only they changed it"
    );
    assert!(
        values_equal(&merge_values(base, ours, base), ours),
        "only we changed it"
    );
    assert!(
        values_equal(&merge_values(base, ours, ours), ours),
        "both made the same change"
    );
    merge_values(base, ours, theirs);
    assert_eq!(count_differences(ours, ours), 0);
    assert_eq!(
        count_differences(ours, theirs) == 0,
        values_equal(ours, theirs) || count_differences(theirs, ours) == 0
    );
}
