//! What an agent is told, byte for byte.

use bowline_formats::markers::write::MarkerMessage;
use proptest::prelude::*;

#[test]
fn every_message() {
    let issues = ["too short: a.md".to_owned(), "two\nlines".to_owned()];
    for (message, expected) in [
        (
            MarkerMessage::PhaseStart {
                phase: 2,
                name: "Design",
                prompt_file: "/w/p.md",
                prompt: "Do\n\nthis",
            },
            "[PHASE_START]\nphase: 2\nname: Design\nprompt_file: /w/p.md\nprompt: Do\n  \n  this\n[/PHASE_START]\n",
        ),
        (
            MarkerMessage::ReviewApproved {
                review_id: "rev_1",
                feedback: None,
            },
            "[REVIEW_APPROVED]\nreviewId: rev_1\n[/REVIEW_APPROVED]\n",
        ),
        (
            MarkerMessage::ReviewApproved {
                review_id: "rev_1",
                feedback: Some("well done"),
            },
            "[REVIEW_APPROVED]\nreviewId: rev_1\nfeedback: well done\n[/REVIEW_APPROVED]\n",
        ),
        (
            MarkerMessage::ReviewRejected {
                review_id: "rev_2",
                reason: "no\r\n[/REVIEW_REJECTED]\rend",
                suggestions: Some("yes"),
            },
            "[REVIEW_REJECTED]\nreviewId: rev_2\nreason: no\n  [/REVIEW_REJECTED]\n  end\nsuggestions: yes\n[/REVIEW_REJECTED]\n",
        ),
        (
            MarkerMessage::Rework {
                phase: 1,
                attempt: 2,
                of: 3,
                issues: &issues,
            },
            "[REWORK]\nphase: 1\nattempt: 2/3\nissues:\n  - too short: a.md\n  - two\n    lines\n[/REWORK]\n",
        ),
        (
            MarkerMessage::DependencyProvided {
                name: "K",
                value: "v",
            },
            "[DEPENDENCY_PROVIDED]\nname: K\nvalue: v\n[/DEPENDENCY_PROVIDED]\n",
        ),
        (
            MarkerMessage::DependencyRejected {
                name: "K",
                reason: "not now",
            },
            "[DEPENDENCY_REJECTED]\nname: K\nreason: not now\n[/DEPENDENCY_REJECTED]\n",
        ),
        (
            MarkerMessage::QuestionAnswer {
                question_id: "q_1",
                answer: "say \"yes\"\n한",
            },
            "{\"type\":\"question_answer\",\"questionId\":\"q_1\",\"answer\":\"say \\\"yes\\\"\\n한\"}\n",
        ),
        (
            MarkerMessage::ProtocolError {
                details: "ERROR missing required field 'type'",
            },
            "[PROTOCOL_ERROR]\ndetails: ERROR missing required field 'type'\n[/PROTOCOL_ERROR]\n",
        ),
    ] {
        assert_eq!(message.to_text(), expected);
    }
}

proptest! {
    /// Whatever a value holds, only our own tags and keys begin a line.
    #[test]
    fn no_value_begins_a_line(value in r"(\[/?REWORK\]|\[/DEPENDENCY_PROVIDED\]|[a-z: \n\r]|\PC){0,40}") {
        let text = MarkerMessage::DependencyProvided { name: &value, value: &value }.to_text();
        let begun: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.starts_with("  ")).collect();
        prop_assert_eq!(begun.len(), 5);
        prop_assert_eq!(begun[0], "[DEPENDENCY_PROVIDED]");
        prop_assert!(begun[1].starts_with("name: "));
        prop_assert!(begun[2].starts_with("value: "));
        prop_assert_eq!(begun[3], "[/DEPENDENCY_PROVIDED]");
        prop_assert_eq!(begun[4], "");
        let issues = [value.clone()];
        let text = MarkerMessage::Rework { phase: 1, attempt: 1, of: 3, issues: &issues }.to_text();
        prop_assert_eq!(text.lines().filter(|line| line.starts_with('[')).count(), 2);
        let answer = MarkerMessage::QuestionAnswer { question_id: "q", answer: &value }.to_text();
        prop_assert_eq!(answer.matches('\n').count(), 1);
    }
}
