//! What holds for any output: the cut into pushes, the kind of line end, and agreement with the
//! reference.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::reference::reference;
use super::{parse, parse_chunks, render, render_all};

/// Lines that mean something somewhere. In any order they make most of the trouble a real agent can
/// make.
const VOCABULARY: &[&str] = &[
    "",
    "plain words",
    "  indented words",
    "=== PHASE 1 COMPLETE ===",
    "=== PHASE 2 COMPLETE nonce=k7 ===",
    "=== PHASE 2 COMPLETE nonce=k8 ===",
    "=== something else ===",
    "Completed: Phase 1 (Plan)",
    "Documents created:",
    "- docs/a.md",
    "- src/b.rs",
    "- tests pass",
    "  docs/c.md",
    "Ready for review.",
    "=== CUSTOM TASK COMPLETE ===",
    "Task: tidy",
    "Summary: done",
    "=== VERIFICATION_RESULT ===",
    "=== VERIFICATION_RESULT nonce=k7 ===",
    "{\"criteria\":[{\"id\":\"A\",\"status\":\"passed\"}]}",
    "{",
    "\"criteria\": []",
    "}",
    "```",
    "```json",
    "````",
    "~~~",
    "   ~~~ x",
    "    ```",
    "[ERROR]",
    "[ERROR nonce=k7]",
    "[ERROR] type: fatal",
    "[ERROR nonce=k7] type: fatal, message: m, recovery: notify_user",
    "[ERROR] not a marker",
    "[/ERROR]",
    "[/ERROR] and more",
    "[ERROR_JSON]",
    "[ERROR_JSON] {",
    "\"type\": \"fatal\", \"message\": \"j\", \"recovery\": \"notify_user\"",
    "[/ERROR_JSON]",
    "type: fatal",
    "message: one",
    "message:",
    "recovery: notify_user",
    "details: some",
    "colour: red",
    "[USER_QUESTION]",
    "[/USER_QUESTION]",
    "[DEPENDENCY_REQUEST]",
    "[/DEPENDENCY_REQUEST]",
    "Step 1/2: go",
    "Step 1 of 2: go",
    "Starting Phase 3: build",
];

fn lines() -> impl Strategy<Value = Vec<&'static str>> {
    // Whole errors are rare by chance, so their lines come in a run now and then.
    let run = prop_oneof![
        8 => select(VOCABULARY).prop_map(|line| vec![line]),
        1 => Just(vec!["[ERROR]", "type: fatal", "message: one", "  more", "recovery: notify_user", "[/ERROR]"]),
        1 => Just(vec!["[ERROR_JSON] {", "\"type\": \"fatal\", \"message\": \"j\", \"recovery\": \"notify_user\"", "}", "[/ERROR_JSON]"]),
        1 => Just(vec!["=== PHASE 1 COMPLETE ===", "Completed: Phase 1 (Plan)", "- docs/a.md"]),
        1 => Just(vec!["=== VERIFICATION_RESULT ===", "```json", "{", "\"criteria\": []", "}"]),
    ];
    vec(run, 0..24).prop_map(|runs| runs.concat())
}

fn nonce() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some("k7")])
}

/// `bytes` cut at the places given, each taken modulo what is left.
fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for size in sizes {
        let (chunk, rest) = bytes.split_at(size % (bytes.len() + 1));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks.push(bytes);
    chunks
}

/// An event to compare, without the wording of a library or the list of what would be right.
fn shortened((start, end, text): (u64, u64, String)) -> (u64, u64, String) {
    let cut = [" has invalid JSON: ", " must be "]
        .iter()
        .filter_map(|from| text.find(from).filter(|_| text.starts_with("malformed ")))
        .min();
    let text = cut.map_or(text.clone(), |at| text[..at].to_owned());
    (start, end, text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reference_agrees(lines in lines(), end in select(vec!["", "\n"]), nonce in nonce()) {
        let text = lines.join("\n") + end;
        let events: Vec<_> = parse(text.as_bytes(), nonce)
            .iter()
            .map(|event| shortened((event.start, event.end_offset(), render(&event.kind))))
            .collect();
        let expected: Vec<_> = reference(&text, nonce).into_iter().map(shortened).collect();
        prop_assert_eq!(events, expected, "{}", text);
    }

    #[test]
    fn any_cut_gives_the_same_events(lines in lines(), sizes in vec(0_usize..40, 0..60), nonce in nonce()) {
        let text = lines.join("\n");
        let chunks = cut(text.as_bytes(), &sizes);
        prop_assert_eq!(parse_chunks(chunks, nonce), parse(text.as_bytes(), nonce), "{}", text);
    }

    #[test]
    fn crlf_is_lf(lines in lines(), nonce in nonce()) {
        let text = lines.join("\n");
        let crlf = text.replace('\n', "\r\n");
        prop_assert_eq!(
            render_all(&parse(crlf.as_bytes(), nonce)),
            render_all(&parse(text.as_bytes(), nonce))
        );
    }

    #[test]
    fn any_bytes_are_read(
        pieces in vec(prop_oneof![
            select(VOCABULARY).prop_map(|line| line.as_bytes().to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r\n".to_vec()),
            vec(any::<u8>(), 0..12),
        ], 0..60),
        sizes in vec(0_usize..40, 0..60),
    ) {
        let bytes = pieces.concat();
        let events = parse(&bytes, None);
        let mut last = 0;
        for event in &events {
            prop_assert!(last <= event.start && event.start < event.end_offset());
            prop_assert!(event.end_offset() <= bytes.len() as u64);
            last = event.end_offset();
        }
        prop_assert_eq!(parse_chunks(cut(&bytes, &sizes), None), events);
    }
}
