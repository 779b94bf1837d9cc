//! The events of whole outputs. `*-recorded*` were printed by the real clients with a scripted
//! model behind them; the others hold what a test cannot make them print. Those of `acp` are
//! shortened to what matters.

use super::{OUTPUTS, events, load, texts};
use bowline_formats::agents::ResumePoint;

/// Compares with `NAME.events`. To write the files anew, run with `BOWLINE_WRITE_EVENTS=1` and read
/// the diff.
#[test]
fn every_output_gives_its_events() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents");
    for (name, protocol) in OUTPUTS {
        let output = load(name);
        let seen = events(protocol, None, ResumePoint::default(), [output.as_slice()]);
        let told = texts(&seen).join("\n") + "\n";
        let path = format!("{folder}/{name}.events");
        if std::env::var_os("BOWLINE_WRITE_EVENTS").is_some() {
            std::fs::write(&path, &told).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(told, wanted, "{name}");
    }
}

#[test]
fn no_recorded_line_is_unreadable() {
    for (name, protocol) in OUTPUTS {
        if !name.contains("recorded") {
            continue;
        }
        let output = load(name);
        let seen = events(protocol, None, ResumePoint::default(), [output.as_slice()]);
        let bad = texts(&seen)
            .into_iter()
            .find(|text| text.contains("ProtocolError"));
        assert_eq!(bad, None, "{name}");
    }
}
