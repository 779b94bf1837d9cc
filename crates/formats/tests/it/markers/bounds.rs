//! Limits: of a field, a message, a line, and of the memory held whatever the agent prints.

use bowline_formats::markers::{
    FIELD_CHARS_MAX, LINE_BYTES_MAX, MESSAGE_BYTES_MAX, MarkerEvent, MarkerParser,
    MarkerParserOptions,
};

use super::{parse, parse_chunks, render_all};

/// What a parser may hold: one line and one message, each in a buffer that doubles as it grows.
const HELD_BYTES_MAX: usize = 2 * (LINE_BYTES_MAX + 2) + 2 * MESSAGE_BYTES_MAX;

const CHUNK_BYTES: usize = 65_536;

fn error_with(message: &str) -> String {
    format!("[ERROR]\ntype: fatal\nrecovery: notify_user\nmessage: {message}\n[/ERROR]\n")
}

#[test]
fn a_field_may_have_so_many_characters_and_no_more() {
    let fits = error_with(&"é".repeat(FIELD_CHARS_MAX));
    assert!(render_all(&parse(fits.as_bytes(), None))[0].starts_with("error fatal"));
    let over = error_with(&"é".repeat(FIELD_CHARS_MAX + 1));
    assert_eq!(
        render_all(&parse(over.as_bytes(), None)),
        ["malformed ERROR field 'message' exceeds 10000 characters"]
    );
}

#[test]
fn a_message_may_have_so_many_bytes_and_no_more() {
    // An unknown field holds any amount of text, up to the limit of the message.
    let message = |bytes: usize| {
        let rest = error_with("m").trim_end().len() + "filler: \n".len();
        let filler = "x".repeat(bytes - rest);
        error_with("m").replace("[/ERROR]", &format!("filler: {filler}\n[/ERROR]"))
    };
    for line_end in ["\n", "\r\n"] {
        let fits = message(MESSAGE_BYTES_MAX).replace('\n', line_end);
        assert_eq!(
            render_all(&parse(fits.as_bytes(), None)),
            [r#"error fatal "m" None notify_user"#]
        );
        let over = message(MESSAGE_BYTES_MAX + 1).replace('\n', line_end);
        assert_eq!(
            render_all(&parse(over.as_bytes(), None)),
            ["malformed ERROR exceeds 102400 bytes"]
        );
    }
}

#[test]
fn a_line_may_have_so_many_bytes_and_no_more() {
    let text = |bytes: usize, line_end: &str| {
        let start = "[ERROR] type: fatal, details: ";
        let message = ", message: m";
        // Spaces, so that the length of the line is what decides, not that of a field.
        let filler = " ".repeat(bytes - start.len() - message.len());
        format!("{start}{filler}{message}{line_end}Step 1/2: next{line_end}")
    };
    for line_end in ["\n", "\r\n"] {
        let fits = text(LINE_BYTES_MAX, line_end);
        let events = parse(fits.as_bytes(), None);
        assert_eq!(
            render_all(&events),
            [
                r#"error fatal "m" None checkpoint_and_fail"#,
                r#"step 1/2 "next""#
            ]
        );
        assert_eq!(parse_chunks(fits.as_bytes().chunks(1_000), None), events);
        for more in 1..4 {
            let over = text(LINE_BYTES_MAX + more, line_end);
            let events = parse(over.as_bytes(), None);
            assert_eq!(render_all(&events), [r#"step 1/2 "next""#]);
            assert_eq!(parse_chunks(over.as_bytes().chunks(1), None), events);
        }
    }
}

#[test]
fn a_line_too_long_ends_what_is_open() {
    for more in 1..4 {
        let long = "y".repeat(LINE_BYTES_MAX + more);
        for (text, expected) in [
            (
                format!(
                    "[ERROR]\ntype: fatal\n{long}\nrecovery: notify_user\n[/ERROR]\nStep 1/2: x\n"
                ),
                "malformed ERROR exceeds 102400 bytes",
            ),
            (
                format!("=== VERIFICATION_RESULT ===\n{{\n{long}\nStep 1/2: x\n"),
                "malformed VERIFICATION_RESULT exceeds 102400 bytes",
            ),
            (
                format!("=== PHASE 1 COMPLETE ===\n- a.md\n- {long}.md\n- b.md\nStep 1/2: x\n"),
                r#"phase 1 "Phase 1" ["a.md"]"#,
            ),
        ] {
            let events = parse(text.as_bytes(), None);
            assert_eq!(render_all(&events), [expected, r#"step 1/2 "x""#]);
            for size in [1, 4_096, LINE_BYTES_MAX] {
                assert_eq!(parse_chunks(text.as_bytes().chunks(size), None), events);
            }
        }
    }
}

#[test]
fn a_list_too_long_keeps_the_completion() {
    let item = "- docs/some/file/of/many.md\n";
    let text = format!("=== PHASE 1 COMPLETE ===\n{}", item.repeat(10_000));
    let events = parse(text.as_bytes(), None);
    assert_eq!(events.len(), 1);
    assert!(events[0].end_offset() <= MESSAGE_BYTES_MAX as u64);
    assert!(events[0].end_offset() > (MESSAGE_BYTES_MAX - item.len()) as u64 - 1);
}

/// Pushes `head`, then `filler` until `total` bytes, watching what is held and how far a resume
/// would go back.
fn flood(head: &[u8], filler: &[u8], total: usize) -> Vec<MarkerEvent> {
    let mut parser = MarkerParser::new(MarkerParserOptions::default());
    let mut events = Vec::new();
    let mut most = 0;
    let chunk = filler.repeat(CHUNK_BYTES / filler.len());
    parser.push(head, &mut |event| events.push(event));
    for _ in 0..total / chunk.len() {
        parser.push(&chunk, &mut |event| events.push(event));
        most = most.max(parser.buffered_bytes());
        let lag = parser.offset() - parser.resume_point().offset;
        assert!(
            lag <= (LINE_BYTES_MAX + 2 + MESSAGE_BYTES_MAX) as u64,
            "{lag}"
        );
    }
    assert!(most <= HELD_BYTES_MAX, "{most} bytes held");
    parser.finish(&mut |event| events.push(event));
    events
}

#[test]
fn memory_is_bounded_whatever_is_printed() {
    const TOTAL: usize = 100_000_000;
    for head in ["", "[", "=== ", "Step 1/2: ", " ", "```"] {
        assert_eq!(flood(head.as_bytes(), b"x", TOTAL / 10), [], "{head}");
    }
    assert_eq!(flood(b"[", b"x", TOTAL), []);
    for (head, filler, expected) in [
        ("[ERROR]\n", "x", "malformed ERROR exceeds 102400 bytes"),
        (
            "[ERROR]\n",
            "x: y\n",
            "malformed ERROR exceeds 102400 bytes",
        ),
        (
            "[ERROR_JSON]\n",
            "\n",
            "malformed ERROR exceeds 102400 bytes",
        ),
        (
            "=== VERIFICATION_RESULT ===\n",
            "\n",
            "malformed VERIFICATION_RESULT exceeds 102400 bytes",
        ),
        (
            "=== VERIFICATION_RESULT ===\n```\n{\n",
            "[\n",
            "malformed VERIFICATION_RESULT exceeds 102400 bytes",
        ),
        (
            "=== CUSTOM TASK COMPLETE ===\nTask: t\n",
            "  \n",
            r#"custom Some("t") None"#,
        ),
    ] {
        let events = flood(head.as_bytes(), filler.as_bytes(), TOTAL / 10);
        assert_eq!(render_all(&events), [expected]);
    }
}

#[test]
fn a_large_message_leaves_no_large_buffer() {
    let mut parser = MarkerParser::new(MarkerParserOptions::default());
    let text = error_with(&"x".repeat(FIELD_CHARS_MAX));
    for piece in text.as_bytes().chunks(1_000) {
        parser.push(piece, &mut |_| {});
    }
    assert!(parser.buffered_bytes() < FIELD_CHARS_MAX);
}
