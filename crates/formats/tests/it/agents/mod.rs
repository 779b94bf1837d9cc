//! Agent adapters over recorded and made-up output of each client.

mod bounds;
mod properties;
mod recorded;
mod writing;

use bowline_formats::agents::{Adapter, Protocol, Resume};

/// Every recorded or made-up output, with its protocol.
const OUTPUTS: [(&str, Protocol); 10] = [
    ("claude-recorded", Protocol::ClaudeStreamJson),
    ("claude-odd", Protocol::ClaudeStreamJson),
    ("codex-recorded-first", Protocol::CodexJson),
    ("codex-recorded-second", Protocol::CodexJson),
    ("codex-recorded-limit", Protocol::CodexJson),
    ("codex-odd", Protocol::CodexJson),
    ("acp-recorded", Protocol::Acp),
    ("acp-recorded-load", Protocol::Acp),
    ("acp-recorded-codex", Protocol::Acp),
    ("acp", Protocol::Acp),
];

fn load(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents");
    std::fs::read(format!("{folder}/{name}.jsonl")).unwrap()
}

/// An event as one line of text, and where to go on behind it.
type Seen = (String, Resume);

/// The events of an output that comes in these pieces.
fn events<'a>(
    protocol: Protocol,
    nonce: Option<&str>,
    resume: Resume,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut adapter = Adapter::resume_at(protocol, nonce.map(str::to_owned), resume);
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
