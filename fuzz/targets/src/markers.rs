//! An agent's output: the same events however it is cut, and from every resume point.

use bowline_formats::markers::{
    LINE_BYTES_MAX, MESSAGE_BYTES_MAX, MarkerEvent, MarkerParser, MarkerParserOptions,
    ParserResumePoint,
};

/// What a parser may hold: a line and a message, each in a buffer that may have grown to twice its content.
const HELD_BYTES_MAX: usize = 2 * (LINE_BYTES_MAX + MESSAGE_BYTES_MAX) + 8_192;
/// Resume points tried per input.
const RESUMES_MAX: usize = 8;

/// The first byte says whether there is a nonce, the second how the rest is cut.
pub(crate) fn check(data: &[u8]) {
    let [settings, cut, output @ ..] = data else {
        return;
    };
    let options = MarkerParserOptions {
        nonce: (settings & 1 == 1).then(|| "Xk29".to_owned()),
    };
    let whole = parse(&options, ParserResumePoint::default(), [output]);
    let size = usize::from(*cut).max(1);
    let cut = parse(&options, ParserResumePoint::default(), output.chunks(size));
    assert_eq!(whole, cut, "in pieces of {size}");
    for (place, event) in whole.iter().enumerate().take(RESUMES_MAX) {
        assert!(event.start <= event.end_offset(), "{event:?}");
        let from = usize::try_from(event.resume.offset).unwrap_or(usize::MAX);
        let rest = parse(&options, event.resume, [&output[from..]]);
        assert_eq!(whole[place + 1..], rest, "resumed behind {event:?}");
    }
}

fn parse<'a>(
    options: &MarkerParserOptions,
    resume: ParserResumePoint,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<MarkerEvent> {
    let mut parser = MarkerParser::resume_at(options.clone(), resume);
    let mut events = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut |event| events.push(event));
        assert!(parser.buffered_bytes() <= HELD_BYTES_MAX);
    }
    parser.finish(&mut |event| events.push(event));
    events
}
