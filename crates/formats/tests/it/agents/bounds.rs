//! Memory and time stay bounded whatever a client prints.

use super::{events, texts};
use bowline_formats::agents::{AgentAdapter, AgentProtocol, LINE_BYTES_MAX, ResumePoint};

const STRUCTURED: [AgentProtocol; 3] = [
    AgentProtocol::ClaudeStreamJson,
    AgentProtocol::CodexJson,
    AgentProtocol::Acp,
];
const ERROR: &str = "ProtocolError(LineTooLong)";

/// A line in whose middle a long text stands.
fn long_line(beginning: &str, bytes: usize) -> Vec<u8> {
    let mut line = beginning.as_bytes().to_vec();
    line.resize(bytes, b'x');
    line
}

#[test]
fn a_line_too_long_is_told_once_and_passed_over() {
    for protocol in STRUCTURED {
        let mut output = long_line("{\"a\":\"", LINE_BYTES_MAX + 1);
        output.extend_from_slice(b"xxx\"}\n{\"type\":\"turn.completed\"}\n");
        let whole = events(protocol, None, ResumePoint::default(), [output.as_slice()]);
        let errors = texts(&whole).into_iter().filter(|it| it.contains(ERROR));
        assert_eq!(errors.count(), 1);
        let cut = events(
            protocol,
            None,
            ResumePoint::default(),
            output.chunks(1 << 16),
        );
        assert_eq!(whole, cut);
    }
}

#[test]
fn a_line_of_the_greatest_length_is_read() {
    let mut output = long_line("{\"type\":\"turn.completed\",\"a\":\"", LINE_BYTES_MAX - 2);
    output.extend_from_slice(b"\"}\n");
    let seen = events(
        AgentProtocol::CodexJson,
        None,
        ResumePoint::default(),
        output.chunks(1 << 16),
    );
    assert_eq!(texts(&seen), ["0 TurnEnded(Completed)"]);
}

#[test]
fn tool_output_is_not_held_however_long() {
    let mut adapter = AgentAdapter::new(AgentProtocol::ClaudeStreamJson, None);
    let mut seen = 0;
    let beginning = b"{\"type\":\"user\",\"message\":\"";
    adapter.push(beginning, &mut |_| seen += 1);
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        adapter.push(&piece, &mut |_| seen += 1);
        assert!(adapter.buffered_bytes() < 1 << 16);
    }
    adapter.push(b"\"}\n", &mut |_| seen += 1);
    adapter.finish(&mut |_| seen += 1);
    assert_eq!(seen, 0);
    let bytes = beginning.len() + (64 << 20) + 3;
    assert_eq!(adapter.offset(), bytes as u64);
}

#[test]
fn a_line_without_an_end_is_held_up_to_the_bound() {
    for protocol in STRUCTURED {
        let mut adapter = AgentAdapter::new(protocol, None);
        let mut errors = 0;
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..32 {
            adapter.push(&piece, &mut |_| errors += 1);
            assert!(adapter.buffered_bytes() <= 2 * LINE_BYTES_MAX);
        }
        assert_eq!(errors, 1);
        assert!(adapter.buffered_bytes() < 1 << 16);
        adapter.push(b"\n", &mut |_| errors += 1);
        adapter.finish(&mut |_| errors += 1);
        assert_eq!(errors, 1);
    }
}

#[test]
fn dull_lines_are_dull_at_any_length_and_cut() {
    let mut output = long_line("{\"type\":\"user\",\"a\":\"", LINE_BYTES_MAX + 9);
    output.push(b'\n');
    for size in [1 << 16, 5, output.len()] {
        let pieces = output[..5]
            .chunks(5)
            .chain(output[5..].chunks(size.max(1 << 16)));
        let seen = events(
            AgentProtocol::ClaudeStreamJson,
            None,
            ResumePoint::default(),
            pieces,
        );
        assert_eq!(texts(&seen), Vec::<&str>::new());
    }
}
