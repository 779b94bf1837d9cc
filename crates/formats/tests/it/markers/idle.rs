//! An agent that says something and then waits without a line end.

use bowline_formats::markers::{MarkerEvent, MarkerParser, MarkerParserOptions};

use super::{parse, render, render_all};

/// Pushes each piece, flushing after it, and shows what came out of each push and each flush.
fn steps(pieces: &[&str]) -> Vec<Vec<String>> {
    let mut parser = MarkerParser::new(MarkerParserOptions::default());
    let mut seen: Vec<Vec<String>> = Vec::new();
    for piece in pieces {
        let mut events: Vec<MarkerEvent> = Vec::new();
        parser.push(piece.as_bytes(), &mut |event| events.push(event));
        seen.push(render_all(&events));
        let mut events: Vec<MarkerEvent> = Vec::new();
        parser.flush_pending(&mut |event| events.push(event));
        seen.push(render_all(&events));
    }
    parser.finish(&mut |event| seen.push(vec![format!("end: {}", render(&event.kind))]));
    seen
}

#[track_caller]
fn check(pieces: &[&str], expected: &[&[&str]]) {
    assert_eq!(steps(pieces), expected, "{pieces:?}");
}

#[test]
fn a_completion_comes_out_once() {
    let phase = r#"phase 1 "Phase 1" []"#;
    check(
        &["=== PHASE 1 COMPLETE ===\n", "", "- late.md\n"],
        &[&[], &[phase], &[], &[], &[], &[]],
    );
    check(
        &["=== PHASE 1 COMPLETE ===", " ===\n"],
        &[&[], &[phase], &[], &[]],
    );
    check(
        &["=== PHASE 1 COMPLETE ===\n- a.md\n- b.md", "\n- c.md\n"],
        &[&[], &[r#"phase 1 "Phase 1" ["a.md", "b.md"]"#], &[], &[]],
    );
    check(
        &["=== CUSTOM TASK COMPLETE ===\nTask: t\n"],
        &[&[], &[r#"custom Some("t") None"#]],
    );
    check(&["x", "=== PHASE 1 COMPLETE ==="], &[&[], &[], &[], &[]]);
}

#[test]
fn an_unfinished_line_that_may_go_on_is_kept() {
    check(
        &["=== PHASE 1 COMPLETE ===\n- docs/a", "\nStep 1", "/2: x\n"],
        &[
            &[],
            &[r#"phase 1 "Phase 1" []"#],
            &[],
            &[],
            &[r#"step 1/2 "x""#],
            &[],
        ],
    );
    check(
        &["=== PHASE 1 COMPLETE ===\n[ERR", "OR] type: fatal\n"],
        &[
            &[],
            &[r#"phase 1 "Phase 1" []"#],
            &[r#"error fatal "" None checkpoint_and_fail"#],
            &[],
        ],
    );
    check(
        &["[ERROR] type: fat", "al"],
        &[
            &[],
            &[],
            &[],
            &[],
            &[r#"end: error fatal "" None checkpoint_and_fail"#],
        ],
    );
}

#[test]
fn a_closing_tag_needs_no_line_end() {
    let text = "[ERROR]\ntype: fatal\nmessage: m\nrecovery: notify_user\n[/ERROR]";
    let error = r#"error fatal "m" None notify_user"#;
    check(&[text, "[/ERROR]\n"], &[&[], &[error], &[], &[]]);
    check(
        &["[ERROR] type: fatal, message: m, recovery: notify_user [/ERROR]"],
        &[&[], &[error]],
    );
}

#[test]
fn an_open_block_stays_open() {
    check(
        &[
            "[ERROR]\n",
            "type: fatal\nmessage: m\n",
            "recovery: notify_user\n[/ERROR]\n",
        ],
        &[
            &[],
            &[],
            &[],
            &[],
            &[r#"error fatal "m" None notify_user"#],
            &[],
        ],
    );
}

#[test]
fn nothing_is_flushed_inside_a_fence() {
    check(&["```\n=== PHASE 1 COMPLETE ==="], &[&[], &[]]);
}

#[test]
fn after_a_flush_one_can_resume() {
    let text = "=== PHASE 1 COMPLETE ===";
    let mut parser = MarkerParser::new(MarkerParserOptions::default());
    let mut events = Vec::new();
    parser.push(text.as_bytes(), &mut |event| events.push(event));
    parser.flush_pending(&mut |event| events.push(event));
    let [event] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!((event.end_offset(), event.resume.mid_line), (24, true));
    let mut later = Vec::new();
    let mut parser = MarkerParser::resume_at(MarkerParserOptions::default(), event.resume);
    parser.push(b"=== PHASE 2 COMPLETE ===\nStep 1/2: x\n", &mut |event| {
        later.push(event)
    });
    assert_eq!(render_all(&later), [r#"step 1/2 "x""#]);
    assert_eq!(later[0].start, 49);
    assert_eq!(parse(text.as_bytes(), None).len(), 1);
}

#[test]
fn what_is_pending_can_be_asked() {
    let mut parser = MarkerParser::new(MarkerParserOptions::default());
    parser.push(b"so\n[USER_QUESTION]\ncategory: business\n", &mut |_| {});
    let (marker, start) = parser.pending_marker().unwrap();
    assert_eq!((marker.name(), start), ("USER_QUESTION", 3));
    assert_eq!(parser.resume_point().offset, 3);
}
