//! A reader that stops anywhere and goes on from a resume point misses nothing and sees nothing
//! twice.

use bowline_formats::markers::{MarkerEvent, MarkerParser, ParserResumePoint};

use super::{options, parse};

const TEXT: &str = "so\n```sh\n=== PHASE 9 COMPLETE ===\n```\n[ERROR]\ntype: fatal\nmessage: m\nrecovery: notify_user\n[/ERROR]\n\
    Step 1/2: x\n=== VERIFICATION_RESULT ===\n```json\n{\"criteria\":\n[]}\n=== PHASE 8 COMPLETE ===\n```\n\
    [USER_QUESTION nonce=k7]\nquestion: never closed\n=== PHASE 7 COMPLETE ===\n=== PHASE 1 COMPLETE nonce=k7 ===\n- a.md\n\
    Step 2/2: y\n=== PHASE 2 COMPLETE ===\nsome more === PHASE 6 COMPLETE ===\n[ERROR nonce=k7] type: fatal\n=== CUSTOM TASK COMPLETE nonce=k7 ===\nTask: t";

fn rest(resume: ParserResumePoint) -> Vec<MarkerEvent> {
    let mut parser = MarkerParser::resume_at(options(Some("k7")), resume);
    let mut events = Vec::new();
    let from = usize::try_from(resume.offset).unwrap();
    parser.push(&TEXT.as_bytes()[from..], &mut |event| events.push(event));
    parser.finish(&mut |event| events.push(event));
    events
}

#[test]
fn after_every_event() {
    let events = parse(TEXT.as_bytes(), Some("k7"));
    assert_eq!(events.len(), 9);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(rest(event.resume), events[number + 1..], "{event:?}");
    }
}

#[test]
fn after_any_byte() {
    let whole = parse(TEXT.as_bytes(), Some("k7"));
    for at in 0..=TEXT.len() {
        let mut parser = MarkerParser::new(options(Some("k7")));
        let mut events = Vec::new();
        parser.push(&TEXT.as_bytes()[..at], &mut |event| events.push(event));
        let stored = serde_json::to_string(&parser.resume_point()).unwrap();
        events.extend(rest(serde_json::from_str(&stored).unwrap()));
        assert_eq!(events, whole, "after byte {at}");
    }
}
