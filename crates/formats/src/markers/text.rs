//! Decodes, trims, unescapes and normalises the text of messages, without copying if nothing has to
//! change.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::FIELD_CHARS_MAX;

/// True if `text` exceeds the limit of a field.
pub(super) fn longer_than_field(text: &str) -> bool {
    text.len() > FIELD_CHARS_MAX && text.chars().count() > FIELD_CHARS_MAX
}

/// Decodes bytes as UTF-8; invalid sequences are replaced.
pub(super) fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly all output is UTF-8, and the check alone is much faster than the lossy conversion.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Normalises text for comparison and storage: NFC, LF line ends, trimmed.
pub(super) fn normalise_text(text: &str) -> String {
    normalise_cow(text.into()).into_owned()
}

/// Normalises like [`normalise_text`], without copying if the text is normal already.
pub(super) fn normalise_cow(text: Cow<'_, str>) -> Cow<'_, str> {
    let (odd, _) = scan_oddities(&text);
    if odd {
        normal_slow(&text).into()
    } else {
        trim_cow(text)
    }
}

/// Applies [`unescape_line_ends`], then [`normalise_cow`].
pub(super) fn unescaped_normal(text: Cow<'_, str>) -> Cow<'_, str> {
    match scan_oddities(&text) {
        (false, false) => trim_cow(text),
        _ => normalise_cow(unescape_line_ends(text)),
    }
}

/// Returns two flags: `text` may need normalising, and it has a backslash. One branch-free pass,
/// because nearly every value has neither.
fn scan_oddities(text: &str) -> (bool, bool) {
    text.bytes().fold((false, false), |(odd, escapes), b| {
        (odd | (b == b'\r') | !b.is_ascii(), escapes | (b == b'\\'))
    })
}

fn trim_cow(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => trim(text).into(),
        Cow::Owned(text) => {
            let trimmed = trim(&text);
            if trimmed.len() == text.len() {
                text.into()
            } else {
                trimmed.to_owned().into()
            }
        }
    }
}

fn normal_slow(text: &str) -> String {
    let text: Cow<'_, str> = if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    };
    let text = text.trim();
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.to_owned()
    } else {
        text.nfc().collect()
    }
}

/// `str::trim`, decided by single bytes if the text begins and ends with plain spaces and visible
/// ASCII characters.
pub(super) fn trim(text: &str) -> &str {
    let text = trim_start(text);
    match text.as_bytes().last() {
        Some(b) if b.is_ascii_graphic() => text,
        _ => text.trim_end(),
    }
}

/// `str::trim_start`, decided by single bytes if the text begins with plain spaces and a visible
/// ASCII character.
pub(super) fn trim_start(text: &str) -> &str {
    let spaces = text.bytes().take_while(|b| *b == b' ').count();
    let text = &text[spaces..];
    match text.as_bytes().first() {
        Some(b) if b.is_ascii_graphic() => text,
        _ => text.trim_start(),
    }
}

/// Splits `text` into lines, the last one without an end.
pub(super) fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    split_at_byte(text, b'\n')
}

/// Splits `text` at the ASCII character `at`, like `str::split`.
pub(super) fn split_at_byte(text: &str, at: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = memchr::memchr(at, text.as_bytes()) else {
            return rest.take();
        };
        rest = Some(&text[end + 1..]);
        Some(&text[..end])
    })
}

/// Replaces `\n` with a line end; `\\n` stands for the two characters `\n`. Any other backslash is
/// kept.
pub(super) fn unescape_line_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (taken, put) = if rest.starts_with("\\\\n") {
            (3, "\\n")
        } else if rest.starts_with("\\n") {
            (2, "\n")
        } else {
            (1, "\\")
        };
        out.push_str(put);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out.into()
}
