//! Filter for agents' output on a terminal: keeps colours and drops everything else that a terminal
//! would obey. The page does the same in `web/src/lib/ansi.ts`.

use crate::visible;

/// Longest escape sequence that may span several chunks.
const ESCAPE_BYTES_MAX: usize = 4096;
const ESCAPE: char = '\u{1b}';
/// Sequence that resets all colours.
const RESET: &str = "\u{1b}[0m";

/// Makes chunked output harmless: cursor moves, titles, links and clipboard access are dropped,
/// invisible characters are named, and a carriage return starts a new line.
#[derive(Debug, Default)]
pub struct TerminalFilter {
    /// Incomplete character, line end or escape sequence that continues in the next chunk.
    rest: Vec<u8>,
    coloured: bool,
}

/// Result of parsing an escape sequence.
enum EscapeSequence {
    /// Its length in bytes, and the part that is kept.
    Whole(usize, String),
    /// It continues in the next chunk.
    Unfinished,
}

impl TerminalFilter {
    /// Filters the next chunk and returns the text that is safe to show.
    pub fn filter_chunk(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let whole = whole_letters(&all);
        self.rest = all.split_off(whole);
        let text = String::from_utf8_lossy(&all).into_owned();
        let (shown, used) = self.harmless_text(&text, false);
        self.rest
            .splice(0..0, text.as_bytes()[used..].iter().copied());
        shown
    }

    /// Returns the rest at the end of the output and resets colours.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.rest);
        let (mut shown, _) = self.harmless_text(&String::from_utf8_lossy(&rest), true);
        if std::mem::take(&mut self.coloured) {
            shown.push_str(RESET);
        }
        shown
    }

    /// Returns the harmless text and the number of bytes consumed.
    fn harmless_text(&mut self, text: &str, last: bool) -> (String, usize) {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(found) = text[at..].find([ESCAPE, '\r']) {
            out.push_str(&visible::escape_prose(&text[at..at + found]));
            at += found;
            let tail = &text[at..];
            let unfinished = !last && tail.len() < ESCAPE_BYTES_MAX;
            if let Some(behind) = tail.strip_prefix('\r') {
                if behind.is_empty() && unfinished {
                    return (out, at);
                }
                out.push('\n');
                at += 1 + usize::from(behind.starts_with('\n'));
                continue;
            }
            match parse_sequence(tail) {
                EscapeSequence::Unfinished if unfinished => return (out, at),
                // An unterminated escape is dropped; the text behind it is shown.
                EscapeSequence::Unfinished => at += 1,
                EscapeSequence::Whole(length, kept) => {
                    self.coloured |= !kept.is_empty();
                    out.push_str(&kept);
                    at += length;
                }
            }
        }
        out.push_str(&visible::escape_prose(&text[at..]));
        (out, text.len())
    }
}

/// Returns the length of the prefix that consists of whole characters; invalid bytes count too.
fn whole_letters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for start in tail..bytes.len() {
        let open = std::str::from_utf8(&bytes[start..])
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none());
        if open {
            return start;
        }
    }
    bytes.len()
}

/// Parses the escape sequence at the beginning of a text.
fn parse_sequence(text: &str) -> EscapeSequence {
    let bytes = text.as_bytes();
    let is_final = |byte: &u8| (b'@'..=b'~').contains(byte);
    match bytes.get(1) {
        None => EscapeSequence::Unfinished,
        Some(b'[') => {
            let body = &bytes[2..];
            let length = body.iter().take_while(|byte| (b' '..=b'?').contains(*byte));
            let length = length.count();
            match body.get(length) {
                None => EscapeSequence::Unfinished,
                Some(b'm') => {
                    EscapeSequence::Whole(length + 3, readable_colours(&text[2..2 + length]))
                }
                Some(byte) if is_final(byte) => EscapeSequence::Whole(length + 3, String::new()),
                // Broken off: the character that breaks it is shown.
                Some(_) => EscapeSequence::Whole(length + 2, String::new()),
            }
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            match text[2..].find(['\u{7}', '\n', ESCAPE]).map(|at| at + 2) {
                None => EscapeSequence::Unfinished,
                Some(at) => match (bytes[at], bytes.get(at + 1)) {
                    (b'\x07', _) => EscapeSequence::Whole(at + 1, String::new()),
                    (b'\x1b', Some(b'\\')) => EscapeSequence::Whole(at + 2, String::new()),
                    (b'\x1b', None) => EscapeSequence::Unfinished,
                    _ => EscapeSequence::Whole(at, String::new()),
                },
            }
        }
        Some(_) => {
            let between = bytes[1..]
                .iter()
                .take_while(|byte| (b' '..=b'/').contains(*byte));
            let length = between.count() + 1;
            match bytes.get(length) {
                None => EscapeSequence::Unfinished,
                Some(b'0'..=b'~') => EscapeSequence::Whole(length + 1, String::new()),
                Some(_) => EscapeSequence::Whole(length, String::new()),
            }
        }
    }
}

/// Returns the colours that hide nothing: no background, no black, no concealed text.
fn readable_colours(parameters: &str) -> String {
    let mut kept = Vec::new();
    for parameter in parameters.split(';') {
        match parameter.parse::<u8>() {
            // The numbers of an extended colour follow.
            Ok(38 | 48 | 58) => break,
            Ok(number @ (0..=4 | 22..=24 | 31..=37 | 39 | 91..=97)) => {
                kept.push(number.to_string());
            }
            Err(_) if parameter.is_empty() => kept.push("0".to_owned()),
            Ok(_) | Err(_) => {}
        }
    }
    match kept.is_empty() {
        true => String::new(),
        false => format!("\u{1b}[{}m", kept.join(";")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> String {
        let mut filter = TerminalFilter::default();
        let mut shown = filter.filter_chunk(bytes);
        shown.push_str(&filter.finish());
        shown
    }

    #[test]
    fn colours_stay_and_nothing_else_is_obeyed() {
        for (text, shown) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m"),
            ("\x1b[1;38;5;16;48;5;16mx", "\x1b[1mx\x1b[0m"),
            ("\x1b[8mhidden \x1b[30;40mblack", "hidden black"),
            ("\x1b]0;title\x07a", "a"),
            ("\x1b]52;c;ZXZpbA==\x1b\\b", "b"),
            ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b[2J\x1b[H\x1b[1A\x1b[?1049hc", "c"),
            ("\x1bPq#0\x1b\\d\x1b_x\x1b\\e", "de"),
            ("\x1bc\x1b(0f", "f"),
            ("one\rtwo\r\nthree", "one\ntwo\nthree"),
            (
                "\x08\x07\u{9b}2J\u{202e}",
                "⟨U+0008⟩⟨U+0007⟩⟨U+009B⟩2J⟨U+202E⟩",
            ),
            ("\x1b]unending\nnext", "\nnext"),
            ("\x1b", ""),
            ("\x1b[12", "[12"),
        ] {
            assert_eq!(whole(text.as_bytes()), shown, "{text:?}");
        }
    }

    #[test]
    fn the_pieces_may_end_anywhere() {
        let text = "a\x1b[31m빨강\x1b[0m\x1b]0;제목\x07끝\r\nb\x1b]52;c;QQ==\x1b\\c\r".as_bytes();
        let expected = whole(text);
        for size in 1..text.len() {
            let mut filter = TerminalFilter::default();
            let pieces = text.chunks(size).map(|piece| filter.filter_chunk(piece));
            let mut shown: String = pieces.collect();
            shown.push_str(&filter.finish());
            assert_eq!(shown, expected, "in pieces of {size}");
        }
    }
}
