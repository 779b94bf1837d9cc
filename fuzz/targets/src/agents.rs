//! A client's output: the same events however it is cut, and from every resume point, with bounded memory.

use bowline_formats::agents::{AgentAdapter, AgentProtocol, LINE_BYTES_MAX, ResumePoint};
use bowline_formats::markers::{LINE_BYTES_MAX as TEXT_LINE_BYTES_MAX, MESSAGE_BYTES_MAX};

/// What an adapter may hold: a line of the client, and a line and a message of the agent's words, each in a buffer that may
/// have grown to twice its content.
const HELD_BYTES_MAX: usize =
    2 * (LINE_BYTES_MAX + TEXT_LINE_BYTES_MAX + MESSAGE_BYTES_MAX) + 8_192;
/// Resume points tried per input.
const RESUMES_MAX: usize = 8;

/// The first byte says which protocol and whether there is a nonce, the second how the rest is cut.
pub(crate) fn check(data: &[u8]) {
    let [settings, cut, output @ ..] = data else {
        return;
    };
    let protocol = AgentProtocol::ALL[usize::from(settings & 3)];
    let nonce = (settings & 4 == 4).then_some("Xk29");
    let whole = read(protocol, nonce, ResumePoint::default(), [output]);
    let size = usize::from(*cut).max(1);
    let cut = read(protocol, nonce, ResumePoint::default(), output.chunks(size));
    assert_eq!(whole, cut, "in pieces of {size}");
    for (place, (event, resume)) in whole.iter().enumerate().take(RESUMES_MAX) {
        let from = usize::try_from(resume.at.offset).unwrap_or(usize::MAX);
        let rest = read(protocol, nonce, *resume, [&output[from..]]);
        let told = |events: &[(String, ResumePoint)]| -> Vec<String> {
            events.iter().map(|(event, _)| event.clone()).collect()
        };
        assert_eq!(told(&whole[place + 1..]), told(&rest), "behind {event}");
    }
}

fn read<'a>(
    protocol: AgentProtocol,
    nonce: Option<&str>,
    resume: ResumePoint,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<(String, ResumePoint)> {
    let mut adapter = AgentAdapter::resume_at(protocol, nonce.map(str::to_owned), resume);
    let mut events = Vec::new();
    for piece in pieces {
        adapter.push(piece, &mut |event| {
            events.push((format!("{} {:?}", event.start, event.what), event.resume));
        });
        assert!(adapter.buffered_bytes() <= HELD_BYTES_MAX);
    }
    adapter.finish(&mut |event| {
        events.push((format!("{} {:?}", event.start, event.what), event.resume));
    });
    events
}
