//! The lines of a file that can mean something: code fences and comments are left out, Mermaid blocks are marked.

/// Fewest marker characters that open a code fence.
const FENCE_CHARS_MIN: usize = 3;

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Ordinary Markdown.
    Text,
    /// Inside the Mermaid fence of this number (counted from 0).
    Mermaid(usize),
}

/// One line, without its line end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    /// Byte position of the first character in the whole text.
    pub(super) start: usize,
    /// Byte position after the line end.
    pub(super) end: usize,
    /// The characters, `\n` and `\r\n` removed.
    pub(super) text: &'a str,
    /// Where it stands.
    pub(super) place: Place,
}

#[derive(Clone, Copy)]
enum Block {
    Fence {
        marker: u8,
        length: usize,
        mermaid: Option<usize>,
        line: usize,
    },
    Comment {
        line: usize,
    },
}

/// An iterator over the meaningful lines of a text.
pub(super) struct Lines<'a> {
    text: &'a str,
    position: usize,
    number: usize,
    block: Option<Block>,
    mermaid_blocks: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let position = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Self {
            text,
            position,
            number: 0,
            block: None,
            mermaid_blocks: 0,
        }
    }

    /// The line that opened a fence or comment which the text never closes. Ask after the last line.
    pub(super) fn unclosed(&self) -> Option<usize> {
        self.block.map(|block| match block {
            Block::Fence { line, .. } | Block::Comment { line } => line,
        })
    }

    fn next_raw(&mut self) -> Option<Line<'a>> {
        let rest = &self.text[self.position..];
        if rest.is_empty() {
            return None;
        }
        let (length, taken) = match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(at) => (at, at + 1),
            None => (rest.len(), rest.len()),
        };
        let text = &rest[..length];
        let text = text.strip_suffix('\r').unwrap_or(text);
        let start = self.position;
        self.position += taken;
        self.number += 1;
        Some(Line {
            number: self.number,
            start,
            end: self.position,
            text,
            place: Place::Text,
        })
    }

    /// What a line outside of every block opens, if anything; `None` also for a comment that ends where it starts.
    fn opens(&mut self, line: &Line<'a>) -> Option<Block> {
        let text = line.text.trim_start();
        let marker = *text.as_bytes().first()?;
        if !matches!(marker, b'`' | b'~') {
            return None;
        }
        let length = text.bytes().take_while(|byte| *byte == marker).count();
        let info = text[length..].trim();
        if length < FENCE_CHARS_MIN || (marker == b'`' && info.contains('`')) {
            return None;
        }
        let language = info
            .split(|c: char| c.is_whitespace() || c == '{')
            .next()
            .unwrap_or_default();
        let mermaid = language.eq_ignore_ascii_case("mermaid").then(|| {
            self.mermaid_blocks += 1;
            self.mermaid_blocks - 1
        });
        Some(Block::Fence {
            marker,
            length,
            mermaid,
            line: line.number,
        })
    }
}

fn closes_fence(text: &str, marker: u8, length: usize) -> bool {
    let text = text.trim();
    text.len() >= length && text.bytes().all(|byte| byte == marker)
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let mut line = self.next_raw()?;
            match self.block {
                Some(Block::Fence {
                    marker,
                    length,
                    mermaid,
                    ..
                }) => {
                    if closes_fence(line.text, marker, length) {
                        self.block = None;
                    } else if let Some(block) = mermaid {
                        line.place = Place::Mermaid(block);
                        return Some(line);
                    }
                }
                Some(Block::Comment { .. }) => {
                    if line.text.contains("-->") {
                        self.block = None;
                    }
                }
                None => {
                    if let Some(comment) = line.text.trim_start().strip_prefix("<!--") {
                        if !comment.contains("-->") {
                            self.block = Some(Block::Comment { line: line.number });
                        }
                        continue;
                    }
                    self.block = self.opens(&line);
                    if self.block.is_none() {
                        return Some(line);
                    }
                }
            }
        }
    }
}
