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
pub(super) struct ChartNode<'a> {
    pub(super) id: &'a str,
    pub(super) label: Option<&'a str>,
}

/// A link `before --> after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChartLink<'a> {
    pub(super) before: ChartNode<'a>,
    pub(super) after: ChartNode<'a>,
    pub(super) line: usize,
}

/// The parsed content of a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DependencyChart<'a> {
    pub(super) links: Vec<ChartLink<'a>>,
    /// Lines that were parsed only in part.
    pub(super) unread: Vec<usize>,
    /// The line whose links would exceed the limit; parsing stopped there.
    pub(super) over_limit: Option<usize>,
}

/// Parses the lines of one block (number and text), with at most `links_max` links. A block that is
/// not a flowchart gives an empty chart.
pub(super) fn parse_chart<'a>(lines: &[(usize, &'a str)], links_max: usize) -> DependencyChart<'a> {
    let mut chart = DependencyChart::default();
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
            match cursor.parse_statement(number, &mut labels, &mut chart, links_max) {
                Ok(()) => {}
                Err(ParseStop::Unread) => {
                    // Skips the whole line, not only to the next `;`: a line of invalid statements
                    // must not be searched once for each.
                    chart.unread.push(number);
                    continue 'lines;
                }
                Err(ParseStop::OverLimit) => {
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

enum ParseStop {
    Unread,
    OverLimit,
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn remaining(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.remaining().chars().next()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.remaining().trim_start().len();
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    fn take_char(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    fn skip_statement(&mut self) {
        self.at += self
            .remaining()
            .find(';')
            .map_or(self.remaining().len(), |at| at + 1);
    }

    /// Parses `nodes (link nodes)* ;`.
    fn parse_statement(
        &mut self,
        line: usize,
        labels: &mut HashMap<&'a str, &'a str>,
        chart: &mut DependencyChart<'a>,
        links_max: usize,
    ) -> Result<(), ParseStop> {
        let word = self
            .remaining()
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
        let mut before = self.parse_nodes(labels)?;
        loop {
            self.skip_space();
            if self.peek().is_none() || self.take_char(';') {
                return Ok(());
            }
            if self.remaining().starts_with("%%") {
                self.at = self.text.len();
                return Ok(());
            }
            let directed = self.parse_link().ok_or(ParseStop::Unread)?;
            self.skip_space();
            let after = self.parse_nodes(labels)?;
            if directed {
                let count = before.len().saturating_mul(after.len());
                if chart.links.len().saturating_add(count) > links_max {
                    return Err(ParseStop::OverLimit);
                }
                for &from in &before {
                    chart.links.extend(after.iter().map(|&to| ChartLink {
                        before: ChartNode {
                            id: from,
                            label: None,
                        },
                        after: ChartNode {
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
    fn parse_nodes(
        &mut self,
        labels: &mut HashMap<&'a str, &'a str>,
    ) -> Result<Vec<&'a str>, ParseStop> {
        let mut nodes = Vec::new();
        loop {
            self.skip_space();
            let id = self.node_id().ok_or(ParseStop::Unread)?;
            if let Some(label) = self.parse_label()? {
                labels.insert(id, label);
            }
            if self.remaining().starts_with(":::") {
                self.at += 3;
                self.node_id().ok_or(ParseStop::Unread)?;
            }
            nodes.push(id);
            let end = self.at;
            self.skip_space();
            if !self.take_char('&') {
                self.at = end;
                return Ok(nodes);
            }
        }
    }

    /// Parses an id, up to the first character that can only belong to a link.
    fn node_id(&mut self) -> Option<&'a str> {
        let text = self.remaining();
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
    fn parse_label(&mut self) -> Result<Option<&'a str>, ParseStop> {
        if self.remaining().starts_with("@{") {
            self.at += 1;
        }
        let start = self.at;
        if self.peek() == Some('>') {
            let length = self.remaining().find(']').ok_or(ParseStop::Unread)?;
            self.at += length + 1;
        } else if matches!(self.peek(), Some('[' | '(' | '{')) {
            self.skip_brackets().ok_or(ParseStop::Unread)?;
        } else {
            return Ok(None);
        }
        let label = self.text[start..self.at].trim_matches(|c: char| !c.is_alphanumeric());
        Ok(Some(label))
    }

    /// Skips to the bracket that closes the one here; brackets inside quotes do not count.
    fn skip_brackets(&mut self) -> Option<()> {
        let (mut depth, mut quoted) = (0usize, false);
        for (at, c) in self.remaining().char_indices() {
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
    fn parse_link(&mut self) -> Option<bool> {
        let both_ways = self.take_char('<');
        let line = self.line_run();
        if line.is_empty() {
            return None;
        }
        let mut head = self.parse_arrow_head();
        // `---`, `===`, `-.-` and `~~~` are whole links without a head; the shorter ones open a
        // text.
        if !head && line.len() < 3 {
            let close = match line {
                "--" => "--",
                "==" => "==",
                "-." => ".-",
                _ => return None,
            };
            self.at += find_unquoted(self.remaining(), close)?;
            self.line_run();
            head = self.parse_arrow_head();
        }
        self.skip_space();
        if self.take_char('|') {
            self.at += find_unquoted(self.remaining(), "|")? + 1;
        }
        Some(head && !both_ways)
    }

    fn line_run(&mut self) -> &'a str {
        let rest = self.remaining();
        let length = rest
            .bytes()
            .take_while(|byte| b"-=.~".contains(byte))
            .count();
        self.at += length;
        &rest[..length]
    }

    /// Parses the head of an arrow: `>`, `>>`, or a round or crossed end before a space.
    fn parse_arrow_head(&mut self) -> bool {
        if self.take_char('>') {
            self.take_char('>');
            return true;
        }
        let mut chars = self.remaining().chars();
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
