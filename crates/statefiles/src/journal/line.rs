//! One line of the journal: its meaning and its encoding.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::hash::ContentHash;
use crate::splice::TextSplice;

/// The kinds of lines that this crate writes itself. Callers add their own for their changes
/// (`restore`, `undo` …).
pub mod kind {
    /// An ordinary change of the document.
    pub const CHANGE: &str = "change";
    /// A change by another program, recorded when it was adopted.
    pub const OUTSIDE: &str = "outside";
    /// The file was written; everything before this line is in it.
    pub const MARK: &str = "mark";
    /// The full document, at the beginning of a journal.
    pub const BASE: &str = "base";
    /// One step of a batch, applied by the program that owns the format.
    pub const STEP: &str = "step";
    /// A damaged file was replaced.
    pub const REPAIR: &str = "repair";
    /// A damaged file was set aside, or a version was kept.
    pub const ASIDE: &str = "aside";
    /// Effects of earlier lines have been executed.
    pub const EFFECT_DONE: &str = "effect_done";
}

/// Hexadecimal digits of the checksum that ends a line.
const SUM_DIGITS: usize = 16;
const SUM_KEY: &str = ",\"sum\":\"";
/// The length of `,"sum":"<16 digits>"}`.
const SUM_BYTES: usize = SUM_KEY.len() + SUM_DIGITS + 2;

/// One line of the journal.
///
/// At most one of `patch`, `document`, `logical` and `gone` says how the document changes. A line
/// with hashes and none of them is a *mark*: from here on the document is the one with the hash
/// `after`. A line without any is a note.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct JournalLine {
    /// Number of the line; each is one more than the one before.
    pub seq: u64,
    /// The caller's request id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The caller's time, as text.
    #[serde(default)]
    pub at: String,
    /// The kind of the line; see [`kind`].
    pub kind: String,
    /// Hash of the document before; `None` if there was none or it was not computed.
    pub before: Option<ContentHash>,
    /// Hash of the document after; `None` if there is none or it was not computed.
    pub after: Option<ContentHash>,
    /// The change, exact and reversible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Vec<TextSplice>>,
    /// The whole document after the change, where splices are not possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// A step that only a [`crate::StepReplay`] can apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical: Option<Box<RawValue>>,
    /// True if the file was removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gone: bool,
    /// The number of a change that was taken back before it was acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voids: Option<u64>,
    /// The name under which the replaced file is kept, if it does not become the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    /// A reason, as free text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The caller's transition, opaque.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<Box<RawValue>>,
    /// The effects of this change, opaque.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Box<RawValue>>,
    /// The numbers of lines with effects that have been executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<u64>,
    /// Effects that were pending when the journal was rotated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<CommittedEffects>,
}

/// Effects that were committed and not yet reported as executed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommittedEffects {
    /// The number of the line they belong to.
    pub seq: u64,
    /// The request id of the line.
    #[serde(default)]
    pub id: String,
    /// The time of the line.
    #[serde(default)]
    pub at: String,
    /// The effects, opaque to this crate.
    pub effects: Box<RawValue>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl JournalLine {
    /// True if the line says something about the document, as opposed to a note.
    pub(crate) fn changes_document(&self) -> bool {
        self.precedes_replace() || self.logical.is_some()
    }

    /// True if the file is replaced right after this line (a step of a batch is not followed by a
    /// replace).
    pub(crate) fn precedes_replace(&self) -> bool {
        self.logical.is_none()
            && (self.gone
                || self.after.is_some()
                || self.patch.is_some()
                || self.document.is_some())
    }

    /// True if the line only states which document is in place.
    pub(crate) fn is_mark(&self) -> bool {
        self.precedes_replace() && !self.gone && self.patch.is_none() && self.document.is_none()
    }

    /// Encodes the line as stored, checksum and line end included.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        // Raw values keep their layout; a line end in them can only be white space between tokens.
        for byte in &mut bytes {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        let sum = checksum(&bytes);
        bytes.pop();
        bytes.extend_from_slice(SUM_KEY.as_bytes());
        bytes.extend_from_slice(sum.as_bytes());
        bytes.extend_from_slice(b"\"}\n");
        Ok(bytes)
    }

    /// Decodes a line without its line end; `None` if it is not exactly what was once written.
    pub(crate) fn decode(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(&checked_body(text)?).ok()
    }
}

/// Returns the number and the kind of a line without its line end. The checksum is verified, the
/// line is not decoded.
pub(crate) fn peek_number_and_kind(text: &[u8]) -> Option<(u64, &[u8])> {
    checked_body(text)?;
    let number = text.strip_prefix(b"{\"seq\":")?;
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit());
    let number = std::str::from_utf8(&number[..digits.count()]).ok()?;
    // Quotation marks within texts are escaped, and `kind` comes before every raw value.
    const KEY: &[u8] = b",\"kind\":\"";
    let at = text.windows(KEY.len()).position(|window| window == KEY)?;
    let kind = &text[at + KEY.len()..];
    let end = kind.iter().position(|byte| *byte == b'"')?;
    Some((number.parse().ok()?, &kind[..end]))
}

/// Returns a line without its checksum; `None` if the checksum does not match.
fn checked_body(text: &[u8]) -> Option<Vec<u8>> {
    let body_bytes = text.len().checked_sub(SUM_BYTES)?;
    let (body, end) = text.split_at(body_bytes);
    let digits = end.strip_prefix(SUM_KEY.as_bytes())?.strip_suffix(b"\"}")?;
    let mut whole = Vec::with_capacity(body.len() + 1);
    whole.extend_from_slice(body);
    whole.push(b'}');
    (checksum(&whole).as_bytes() == digits).then_some(whole)
}

fn checksum(body: &[u8]) -> String {
    let mut text = ContentHash::of_bytes(body).to_string();
    text.truncate(SUM_DIGITS);
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use serde_json::value::RawValue;

    use super::{JournalLine, kind, peek_number_and_kind};
    use crate::hash::ContentHash;
    use crate::splice::compute_splices;

    #[test]
    fn a_line_reads_back_and_any_changed_byte_is_noticed() {
        let line = JournalLine {
            seq: 7,
            id: "req-1".to_owned(),
            at: "2026-01-02T03:04:05Z".to_owned(),
            kind: kind::CHANGE.to_owned(),
            before: Some(ContentHash::of_bytes(b"a\n")),
            after: Some(ContentHash::of_bytes("한\n".as_bytes())),
            patch: Some(compute_splices("a\n", "한\n")),
            transition: Some(RawValue::from_string("{\n \"to\":\r\n 0.90 }".to_owned()).unwrap()),
            ..JournalLine::default()
        };
        let bytes = line.encode().unwrap();
        assert_eq!(
            bytes.iter().filter(|byte| **byte == b'\n').count(),
            1,
            "one line"
        );
        let text = &bytes[..bytes.len() - 1];
        assert_eq!(
            peek_number_and_kind(text),
            Some((7, kind::CHANGE.as_bytes()))
        );
        let back = JournalLine::decode(text).unwrap();
        assert_eq!(
            (back.seq, back.id.as_str(), back.before, back.after),
            (7, "req-1", line.before, line.after)
        );
        assert_eq!(back.patch, line.patch);
        assert_eq!(
            back.transition.unwrap().get(),
            "{  \"to\":   0.90 }",
            "numbers keep their spelling"
        );
        for at in 0..text.len() {
            let mut broken = text.to_vec();
            broken[at] ^= 1;
            assert!(JournalLine::decode(&broken).is_none(), "byte {at}");
            assert!(peek_number_and_kind(&broken).is_none(), "byte {at}");
            assert!(JournalLine::decode(&text[..at]).is_none(), "cut at {at}");
        }
    }
}
