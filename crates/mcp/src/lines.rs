//! Passes lines of a client on to the SDK, which silently ignores those that are too long. Every
//! request must be answered, so such a line is replaced by a short request with its id, which is
//! answered with an error.

use serde_json::{Value, json};
use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// The longest message of a client.
pub(crate) const LINE_BYTES_MAX: usize = 4 << 20;
/// The method that replaces a message which was too long.
pub(crate) const TOO_LONG_METHOD: &str = "bowline/too_long";
/// The longest id, or name beside it.
const WORD_BYTES_MAX: usize = 256;

/// Passes lines on until the input ends.
pub(crate) async fn forward_lines(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    let mut long: Option<MessageIdFinder> = None;
    loop {
        let piece = from.fill_buf().await?;
        if piece.is_empty() {
            // The SDK judges a last line without an end.
            return to.write_all(&line).await;
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let part = &piece[..end.unwrap_or(piece.len())];
        let taken = part.len() + usize::from(end.is_some());
        match &mut long {
            Some(finder) => finder.scan_bytes(part),
            None if line.len() + part.len() > LINE_BYTES_MAX => {
                let finder = long.insert(MessageIdFinder::default());
                finder.scan_bytes(&line);
                finder.scan_bytes(part);
                line = Vec::new();
            }
            None => line.extend_from_slice(part),
        }
        from.consume(taken);
        if end.is_none() {
            continue;
        }
        if let Some(finder) = long.take() {
            match finder.id {
                Some(id) => {
                    let request = json!({ "jsonrpc": "2.0", "id": id, "method": TOO_LONG_METHOD });
                    line.extend(request.to_string().bytes());
                }
                // A notification is not answered.
                None => continue,
            }
        }
        line.push(b'\n');
        to.write_all(&line).await?;
        line.clear();
    }
}

/// Finds the `id` of a message without keeping the message. It may be anywhere at the top level.
#[derive(Default)]
struct MessageIdFinder {
    depth: u32,
    quoted: bool,
    escaped: bool,
    /// Bytes at the top level since the last delimiter.
    word: Vec<u8>,
    /// The word before the last colon was `id`.
    is_id: bool,
    id: Option<Value>,
}

impl MessageIdFinder {
    fn scan_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.scan_byte(*byte);
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        if self.quoted {
            self.keep_byte(byte);
            let ends = byte == b'"' && !self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            self.quoted = !ends;
            return;
        }
        match byte {
            b'"' => {
                self.keep_byte(byte);
                self.quoted = true;
            }
            b'{' | b'[' => self.depth += 1,
            b':' if self.depth == 1 => {
                self.is_id = self.word == b"\"id\"";
                self.word.clear();
            }
            b',' | b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                if byte != b',' {
                    self.depth = self.depth.saturating_sub(1);
                }
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep_byte(byte),
        }
    }

    fn keep_byte(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < WORD_BYTES_MAX {
            self.word.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.is_id {
            let id = serde_json::from_slice(&self.word).ok();
            self.id = id.filter(|id: &Value| id.is_string() || id.is_number());
        }
        self.is_id = false;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;

    fn handed(text: &[u8]) -> String {
        let mut out = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime
            .unwrap()
            .block_on(forward_lines(text, &mut out))
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_long_request_keeps_its_id_wherever_it_stands() {
        let long = "x\\\"]}, \\\\".repeat(LINE_BYTES_MAX / 8);
        let id = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{TOO_LONG_METHOD}"}}"#) + "\n"
        };
        for (line, found) in [
            (
                format!(r#"{{"id":7,"method":"a","params":"{long}"}}"#),
                id("7"),
            ),
            (
                format!(
                    r#"{{"method":"a","params":{{"id":1,"b":["{long}"]}},"jsonrpc":"2.0", "id" : "seven"}}"#
                ),
                id(r#""seven""#),
            ),
            (
                format!(r#"{{"method":"a","params":{{"id":1,"a":"{long}"}}}}"#),
                String::new(),
            ),
            (format!(r#"{{"id":"{long}","method":"a"}}"#), String::new()),
            (long.clone(), String::new()),
        ] {
            let told = handed(format!("one\n{line}\ntwo\nrest").as_bytes());
            assert_eq!(told, format!("one\n{found}two\nrest"));
        }
        let most = "x".repeat(LINE_BYTES_MAX) + "\n";
        assert_eq!(handed(most.as_bytes()), most);
    }
}
