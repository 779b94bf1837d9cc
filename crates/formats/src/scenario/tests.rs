//! Tests scenarios as people write them, and their mistakes.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::{IgnoredSignal, QuestionCategory, Scenario, ScenarioProtocol, ScenarioStep};

const TEXT: &str = r#"
protocol = "claude-stream-json"
ignores = ["TERM", "TSTP"]

[[step]]
say = "hello"

[[step]]
ask = { question = "Which?", category = "choice", options = ["a", "b"] }

[[step]]
wait = ""

[[step]]
phase = { number = 1 }

[[step]]
wait = "REVIEW_APPROVED"

[[step]]
exit = 3
"#;

#[test]
fn a_scenario_is_read() {
    let scenario = Scenario::parse(TEXT).unwrap();
    assert_eq!(scenario.protocol, ScenarioProtocol::ClaudeStreamJson);
    assert_eq!(scenario.ignores, [IgnoredSignal::Term, IgnoredSignal::Tstp]);
    assert_eq!(scenario.steps.len(), 6);
    assert_eq!(
        scenario.steps[1],
        ScenarioStep::Ask {
            question: "Which?".into(),
            category: QuestionCategory::Choice,
            options: vec!["a".into(), "b".into()],
            default: None,
            required: true,
        }
    );
}

#[test]
fn a_run_begins_behind_its_phase_and_its_turns() {
    let scenario = Scenario::parse(TEXT).unwrap();
    let first = |phase, turns| scenario.first_step(phase, turns);
    assert_eq!((first(1, 0), first(1, 1), first(1, 2)), (0, 3, 5));
    assert_eq!((first(2, 0), first(2, 1)), (4, 5));
    assert_eq!((first(0, 0), first(9, 0)), (0, 0));
}

#[test]
fn mistakes_are_named() {
    for (text, named) in [
        ("[[step]]\nsing = \"la\"", "sing"),
        ("[[step]]\nexit = 300", "300"),
        ("protocol = \"telepathy\"", "telepathy"),
        ("steps = []", "steps"),
        ("[[step]]\nclose = \"stdin\"", "stdin"),
    ] {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

/// A mistyped key is reported with its name and line.
#[test]
fn an_unknown_key_is_named_with_its_line() {
    for (text, named, line) in [
        ("\ncolour = 1\n", "colour", 2),
        ("[[step]]\nsay = \"a\"\n[[step]]\nsing = \"la\"", "sing", 4),
        (
            "[[step]]\nwrite = { path = \"a\", text = \"b\", mode = 3 }",
            "mode",
            2,
        ),
        ("[[step]]\n[step.flood]\nbytes = 3\nlines = 4", "lines", 4),
        ("\n[[step]]\nsay = \"a\"\nexit = 3", "a step has one key", 2),
    ] {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(named), "{named}: {error}");
        assert!(error.contains(&format!("line {line}")), "{line}: {error}");
    }
}
