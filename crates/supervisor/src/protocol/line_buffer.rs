//! Splits bytes from a socket into lines and announced bodies, with bounded memory.

use super::LINE_BYTES_MAX;
use std::io::{self, Read};

/// Bytes read at once.
const CHUNK_BYTES: usize = 4 << 10;

/// Bytes that have been received and not yet been consumed.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
}

impl LineBuffer {
    /// Reads once. `false` when the other side has closed.
    pub(crate) fn read_more(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut chunk = [0; CHUNK_BYTES];
        let count = from.read(&mut chunk)?;
        self.push_bytes(&chunk[..count]);
        Ok(count > 0)
    }

    /// Appends bytes that have been read elsewhere.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next line without its end, if it is complete. A line that is too long is an error,
    /// complete or not.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(self.bytes.len()) > LINE_BYTES_MAX {
            let message = "a line is too long";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let Some(end) = end else {
            return Ok(None);
        };
        let mut line = self.take_bytes(end + 1);
        line.pop();
        Ok(Some(line))
    }

    /// Takes the next `count` bytes, if they are all there.
    pub(crate) fn take_body(&mut self, count: u64) -> Option<Vec<u8>> {
        let count = usize::try_from(count).ok()?;
        (self.bytes.len() >= count).then(|| self.take_bytes(count))
    }

    fn take_bytes(&mut self, count: usize) -> Vec<u8> {
        let rest = self.bytes.split_off(count);
        std::mem::replace(&mut self.bytes, rest)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn lines_and_bodies_whatever_the_chunks() {
        let text = b"one\ntwo\nBODYthree\n";
        for cut in 0..text.len() {
            let mut lines = LineBuffer::default();
            let mut got = Vec::new();
            let mut body = None;
            for mut part in [&text[..cut], &text[cut..]] {
                while !part.is_empty() {
                    lines.read_more(&mut part).unwrap();
                }
                loop {
                    if got.len() == 2 && body.is_none() {
                        body = lines.take_body(4);
                        if body.is_none() {
                            break;
                        }
                    }
                    match lines.next_line().unwrap() {
                        Some(line) => got.push(line),
                        None => break,
                    }
                }
            }
            assert_eq!(body.as_deref(), Some(&b"BODY"[..]), "cut at {cut}");
            assert_eq!(got, [&b"one"[..], b"two", b"three"], "cut at {cut}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut lines = LineBuffer::default();
        let mut endless = io::repeat(b'x');
        let mut filled = 0;
        while lines.next_line().is_ok() {
            lines.read_more(&mut endless).unwrap();
            filled += CHUNK_BYTES;
            assert!(filled <= LINE_BYTES_MAX + 2 * CHUNK_BYTES);
        }
    }
}
