//! Agent adapters over recorded and made-up output of each client.

mod bounds;
mod properties;
mod recorded;
mod writing;

use bowline_formats::agents::{AgentAdapter, AgentProtocol, ResumePoint};

/// Every recorded or made-up output, with its protocol.
const OUTPUTS: [(&str, AgentProtocol); 10] = [
    ("claude-recorded", AgentProtocol::ClaudeStreamJson),
    ("claude-odd", AgentProtocol::ClaudeStreamJson),
    ("codex-recorded-first", AgentProtocol::CodexJson),
    ("codex-recorded-second", AgentProtocol::CodexJson),
    ("codex-recorded-limit", AgentProtocol::CodexJson),
    ("codex-odd", AgentProtocol::CodexJson),
    ("acp-recorded", AgentProtocol::Acp),
    ("acp-recorded-load", AgentProtocol::Acp),
    ("acp-recorded-codex", AgentProtocol::Acp),
    ("acp", AgentProtocol::Acp),
];

fn load(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents");
    std::fs::read(format!("{folder}/{name}.jsonl")).unwrap()
}

/// An event as one line of text, and where to go on behind it.
type Seen = (String, ResumePoint);

/// The events of an output that comes in these pieces.
fn events<'a>(
    protocol: AgentProtocol,
    nonce: Option<&str>,
    resume: ResumePoint,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut adapter = AgentAdapter::resume_at(protocol, nonce.map(str::to_owned), resume);
    for piece in pieces {
        adapter.push(piece, &mut |event| {
            seen.push((format!("{} {:?}", event.start, event.what), event.resume));
        });
    }
    adapter.finish(&mut |event| {
        seen.push((format!("{} {:?}", event.start, event.what), event.resume));
    });
    seen
}

fn texts(seen: &[Seen]) -> Vec<&str> {
    seen.iter().map(|(text, _)| text.as_str()).collect()
}
