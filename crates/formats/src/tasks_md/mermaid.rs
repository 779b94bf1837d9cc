//! Parses the edges of Mermaid flowcharts. Styles, classes and link labels are skipped.

use std::collections::HashMap;

use super::id::is_word_char;

/// First words of statements without links.
const OTHER_STATEMENTS: [&str; 10] = [
    "subgraph",
    "end",
    "style",
    "classDef",
    "class",
    "click",
    "linkStyle",
    "direction",
    "accTitle",
    "accDescr",
];

/// A node of a link, with the label that the block defines for it anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node<'a> {
    pub(super) id: &'a str,
    pub(super) label: Option<&'a str>,
}

/// A link `before --> after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    pub(super) before: Node<'a>,
    pub(super) after: Node<'a>,
    pub(super) line: usize,
}

/// The parsed content of a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chart<'a> {
    pub(super) links: Vec<Link<'a>>,
    /// Lines that were parsed only in part.
    pub(super) unread: Vec<usize>,
    /// The line whose links would exceed the limit; parsing stopped there.
    pub(super) over_limit: Option<usize>,
}

/// Parses the lines of one block (number and text), with at most `links_max` links. A block that is
/// not a flowchart gives an empty chart.
pub(super) fn read<'a>(lines: &[(usize, &'a str)], links_max: usize) -> Chart<'a> {
    let mut chart = Chart::default();
    let mut labels: HashMap<&'a str, &'a str> = HashMap::new();
    let mut first = true;
    let mut front_matter = false;
    'lines: for &(number, line) in lines {
        let line = line.trim();
        if first && line == "---" {
            front_matter = !front_matter;
            continue;
        }
        if front_matter || line.is_empty() || line.starts_with("%%") {
            continue;
        }
        if first {
            first = false;
            let word = line.split([' ', '\t', ';']).next().unwrap_or_default();
            // Fragments without a header line are parsed too; other diagrams start with their own
            // keyword.
            let fragment = line.contains("->") || line.contains("=>") || line.contains('[');
            if !matches!(word, "graph" | "flowchart") && !fragment {
                return chart;
            }
        }
        let mut cursor = Cursor { text: line, at: 0 };
        while !cursor.at_end() {
            match cursor.statement(number, &mut labels, &mut chart, links_max) {
                Ok(()) => {}
                Err(Stop::Unread) => {
                    // Skips the whole line, not only to the next `;`: a line of invalid statements
                    // must not be searched once for each.
                    chart.unread.push(number);
                    continue 'lines;
                }
                Err(Stop::OverLimit) => {
                    chart.over_limit = Some(number);
                    break 'lines;
                }
            }
        }
    }
    for link in &mut chart.links {
        for node in [&mut link.before, &mut link.after] {
            node.label = labels.get(node.id).copied();
        }
    }
    chart
}

enum Stop {
    Unread,
    OverLimit,
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    fn skip_statement(&mut self) {
        self.at += self.rest().find(';').map_or(self.rest().len(), |at| at + 1);
    }

    /// Parses `nodes (link nodes)* ;`.
    fn statement(
        &mut self,
        line: usize,
        labels: &mut HashMap<&'a str, &'a str>,
        chart: &mut Chart<'a>,
        links_max: usize,
    ) -> Result<(), Stop> {
        let word = self
            .rest()
            .split([' ', '\t', ';'])
            .next()
            .unwrap_or_default();
        if OTHER_STATEMENTS.contains(&word)
            || matches!(word, "graph" | "flowchart")
            || word.starts_with("%%")
        {
            self.skip_statement();
            return Ok(());
        }
        let mut before = self.nodes(labels)?;
        loop {
            self.skip_space();
            if self.peek().is_none() || self.take(';') {
                return Ok(());
            }
            if self.rest().starts_with("%%") {
                self.at = self.text.len();
                return Ok(());
            }
            let directed = self.link().ok_or(Stop::Unread)?;
            self.skip_space();
            let after = self.nodes(labels)?;
            if directed {
                let count = before.len().saturating_mul(after.len());
                if chart.links.len().saturating_add(count) > links_max {
                    return Err(Stop::OverLimit);
                }
                for &from in &before {
                    chart.links.extend(after.iter().map(|&to| Link {
                        before: Node {
                            id: from,
                            label: None,
                        },
                        after: Node {
                            id: to,
                            label: None,
                        },
                        line,
                    }));
                }
            }
            before = after;
        }
    }

    /// Parses `A & B[label] & C:::class`.
    fn nodes(&mut self, labels: &mut HashMap<&'a str, &'a str>) -> Result<Vec<&'a str>, Stop> {
        let mut nodes = Vec::new();
        loop {
            self.skip_space();
            let id = self.node_id().ok_or(Stop::Unread)?;
            if let Some(label) = self.label()? {
                labels.insert(id, label);
            }
            if self.rest().starts_with(":::") {
                self.at += 3;
                self.node_id().ok_or(Stop::Unread)?;
            }
            nodes.push(id);
            let end = self.at;
            self.skip_space();
            if !self.take('&') {
                self.at = end;
                return Ok(nodes);
            }
        }
    }

    /// Parses an id, up to the first character that can only belong to a link.
    fn node_id(&mut self) -> Option<&'a str> {
        let text = self.rest();
        let mut chars = text.char_indices().peekable();
        let mut end = text.len();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            let inside = match c {
                '-' | '.' => next.is_some_and(char::is_alphanumeric),
                _ => is_word_char(c),
            };
            if !inside {
                end = at;
                break;
            }
        }
        self.at += end;
        (end > 0).then(|| &text[..end])
    }

    /// Parses the text in the brackets after an id, or in its `@{ label: "…" }`.
    fn label(&mut self) -> Result<Option<&'a str>, Stop> {
        if self.rest().starts_with("@{") {
            self.at += 1;
        }
        let start = self.at;
        if self.peek() == Some('>') {
            let length = self.rest().find(']').ok_or(Stop::Unread)?;
            self.at += length + 1;
        } else if matches!(self.peek(), Some('[' | '(' | '{')) {
            self.skip_brackets().ok_or(Stop::Unread)?;
        } else {
            return Ok(None);
        }
        let label = self.text[start..self.at].trim_matches(|c: char| !c.is_alphanumeric());
        Ok(Some(label))
    }

    /// Skips to the bracket that closes the one here; brackets inside quotes do not count.
    fn skip_brackets(&mut self) -> Option<()> {
        let (mut depth, mut quoted) = (0usize, false);
        for (at, c) in self.rest().char_indices() {
            match c {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '[' | '(' | '{' => depth += 1,
                ']' | ')' | '}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += at + c.len_utf8();
                        return Some(());
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Parses one link and returns true if it has a direction: `-->`, `==>`, `-.->`, `-- text -->`,
    /// `-->|text|`.
    fn link(&mut self) -> Option<bool> {
        let both_ways = self.take('<');
        let line = self.line_run();
        if line.is_empty() {
            return None;
        }
        let mut head = self.head();
        // `---`, `===`, `-.-` and `~~~` are whole links without a head; the shorter ones open a
        // text.
        if !head && line.len() < 3 {
            let close = match line {
                "--" => "--",
                "==" => "==",
                "-." => ".-",
                _ => return None,
            };
            self.at += find_unquoted(self.rest(), close)?;
            self.line_run();
            head = self.head();
        }
        self.skip_space();
        if self.take('|') {
            self.at += find_unquoted(self.rest(), "|")? + 1;
        }
        Some(head && !both_ways)
    }

    fn line_run(&mut self) -> &'a str {
        let rest = self.rest();
        let length = rest
            .bytes()
            .take_while(|byte| b"-=.~".contains(byte))
            .count();
        self.at += length;
        &rest[..length]
    }

    /// Parses the head of an arrow: `>`, `>>`, or a round or crossed end before a space.
    fn head(&mut self) -> bool {
        if self.take('>') {
            self.take('>');
            return true;
        }
        let mut chars = self.rest().chars();
        let marked = matches!(chars.next(), Some('x' | 'o'))
            && chars.next().is_some_and(char::is_whitespace);
        if marked {
            self.at += 1;
        }
        marked
    }
}

fn find_unquoted(text: &str, wanted: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (!quoted && text[at..].starts_with(wanted)).then_some(at)
    })
}
