//! However the output is cut and wherever reading begins again: the same events, and never a panic.

use super::{OUTPUTS, events, load, texts};
use bowline_formats::agents::{AgentAdapter, AgentProtocol, ResumePoint};
use proptest::prelude::*;

/// Lines and pieces of lines that mean something to some client.
const PIECES: [&str; 22] = [
    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"",
    "=== PHASE 1 COMPLETE ===\\n",
    "[USER_QUESTION nonce=Xk29]\\ncategory: business\\nquestion: why?\\nrequired: true\\n[/USER_QUESTION]\\n",
    "[ERROR nonce=wrong] type: fatal\\n",
    "Step 1/2: a\\n",
    "```\\n",
    "\\u00e9 \\ud83d\\ude00",
    "\"}]}}",
    "\n",
    "\r\n",
    "{\"type\":\"user\",\"message\":{\"content\":\"",
    "\"}}",
    "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":429}\n",
    "{\"is_error\":false,\"type\":\"result\"}\n",
    "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n",
    "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"",
    "\"}}\n",
    "{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"text\":\"",
    "\"}}}}\n",
    "{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\",\"title\":\"t\"}}}\n",
    "{\"id\":\"prompt:1\",\"result\":{\"stopReason\":\"end_turn\"}}\n",
    "\u{fffd}not json\n",
];

fn output() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec());
    let any = prop::collection::vec(any::<u8>(), 0..8);
    prop::collection::vec(prop_oneof![9 => known, 1 => any], 0..40)
        .prop_map(|pieces| pieces.concat())
}

fn protocol() -> impl Strategy<Value = AgentProtocol> {
    prop::sample::select(&AgentProtocol::ALL[..])
}

proptest! {
    #[test]
    fn cutting_changes_nothing(
        output in output(), protocol in protocol(), size in 1..64_usize, nonce: bool,
    ) {
        let nonce = nonce.then_some("Xk29");
        let whole = events(protocol, nonce, ResumePoint::default(), [output.as_slice()]);
        let cut = events(protocol, nonce, ResumePoint::default(), output.chunks(size));
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn reading_goes_on_behind_every_event(output in output(), protocol in protocol(), nonce: bool) {
        let nonce = nonce.then_some("Xk29");
        let whole = events(protocol, nonce, ResumePoint::default(), [output.as_slice()]);
        for (place, (_, resume)) in whole.iter().enumerate() {
            let from = usize::try_from(resume.at.offset).unwrap();
            let rest = events(protocol, nonce, *resume, [&output[from..]]);
            prop_assert_eq!(texts(&whole[place + 1..]), texts(&rest), "behind event {}", place);
        }
    }

    #[test]
    fn reading_goes_on_after_every_push(
        output in output(), protocol in protocol(), size in 1..64_usize, nonce: bool,
    ) {
        let nonce = nonce.then_some("Xk29");
        let whole = events(protocol, nonce, ResumePoint::default(), [output.as_slice()]);
        let mut adapter = AgentAdapter::new(protocol, nonce.map(str::to_owned));
        let mut reported = 0;
        for piece in output.chunks(size) {
            adapter.push(piece, &mut |_| reported += 1);
            let resume = adapter.resume_point();
            let from = usize::try_from(resume.at.offset).unwrap();
            let rest = events(protocol, nonce, resume, [&output[from..]]);
            prop_assert_eq!(texts(&whole[reported..]), texts(&rest));
        }
    }
}

#[test]
fn recorded_outputs_resume_behind_every_event() {
    for (name, protocol) in OUTPUTS {
        let output = load(name);
        let whole = events(protocol, None, ResumePoint::default(), [output.as_slice()]);
        assert_eq!(
            whole,
            events(protocol, None, ResumePoint::default(), output.chunks(7)),
            "{name}"
        );
        for (place, (text, resume)) in whole.iter().enumerate() {
            let from = usize::try_from(resume.at.offset).unwrap();
            let rest = events(protocol, None, *resume, [&output[from..]]);
            assert_eq!(texts(&whole[place + 1..]), texts(&rest), "{name}: {text}");
        }
    }
}
