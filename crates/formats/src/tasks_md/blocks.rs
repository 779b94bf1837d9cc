//! Splits Markdown into the parts that can matter, in the order of the file. Headings, lists,
//! tables and code are recognised as in CommonMark; only the positions of the text are kept.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::head::HeadContent;

/// Maximum number of lines searched for the end of front matter.
const FRONT_MATTER_LINES_MAX: usize = 200;

/// Number of columns that a tab counts as.
const TAB_WIDTH: usize = 4;

/// The role of a line of text in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A heading of this level.
    Heading(u8),
    /// The first line of a list item.
    Item,
    /// Any other line of a paragraph or item.
    Line,
    /// A line of an indented code block. It cannot be a header, but people indent fields like this.
    Indented,
    /// A line of a YAML fence, in which people put the fields of a task.
    Meta,
}

/// One line of text without the markup of the containers around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextRow<'a> {
    pub(super) kind: RowKind,
    /// Byte offset of its first character.
    pub(super) start: usize,
    /// The text up to the end of the line, trimmed.
    pub(super) text: &'a str,
    /// Line number, from 1.
    pub(super) line: usize,
    /// Column of its first character; for items that of the list marker.
    pub(super) column: usize,
    /// True inside a block quote.
    pub(super) quoted: bool,
}

/// A part of the document.
#[derive(Debug)]
pub(super) enum PlanBlock<'a> {
    Row(TextRow<'a>),
    /// The rows of a table, the header first; each cell with its position.
    Table(Vec<Vec<TextRow<'a>>>),
    /// The lines of a Mermaid fence, with their numbers.
    Mermaid(Vec<(usize, &'a str)>),
    /// The line on which a fence or comment begins that is never closed.
    Unclosed(usize),
}

/// The text with the offsets of its lines.
pub(super) struct PlanSource<'a> {
    pub(super) text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> PlanSource<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let line_starts = std::iter::once(0).chain(ends.map(|at| at + 1)).collect();
        Self { text, line_starts }
    }

    /// Returns the number, from 1, of the line that contains a byte.
    pub(super) fn line_number(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Returns the byte range of a line with its line end.
    pub(super) fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.line_starts.get(line - 1).copied();
        let end = self.line_starts.get(line).copied();
        start.unwrap_or(self.text.len())..end.unwrap_or(self.text.len())
    }

    /// Returns the end of the line that contains a byte, without white space and line end.
    fn line_end(&self, at: usize) -> usize {
        let next = self.line_starts.get(self.line_number(at));
        let end = next.map_or(self.text.len(), |next| next - 1);
        let end = end.max(at);
        at + self.text[at..end].trim_end().len()
    }

    fn build_row(&self, kind: RowKind, start: usize, mark: usize) -> TextRow<'a> {
        let start = start.min(self.text.len());
        let line = self.line_number(mark);
        let before = &self.text[self.line_starts[line - 1]..mark];
        let width = |c: char| if c == '\t' { TAB_WIDTH } else { 1 };
        TextRow {
            kind,
            start,
            text: &self.text[start..self.line_end(start)],
            line: self.line_number(start),
            // A line can be as long as the file, but indentation is short.
            column: before.chars().take(256).map(width).sum(),
            quoted: before.trim_start().starts_with('>'),
        }
    }
}

/// Returns the start of the Markdown, behind a byte order mark and front matter.
fn body_start(text: &str) -> usize {
    let bom = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut lines = text[bom..].split_inclusive('\n');
    let mut at = bom;
    match lines.next() {
        Some(first) if first.trim_end() == "---" => at += first.len(),
        _ => return bom,
    }
    for (count, line) in lines.take(FRONT_MATTER_LINES_MAX).enumerate() {
        at += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return at;
        }
        // Front matter begins immediately; otherwise `---` is a thematic break.
        if count == 0 && (line.trim().is_empty() || line.starts_with('#')) {
            return bom;
        }
    }
    bom
}

/// The element to which the next inline parts belong.
enum Leaf {
    None,
    /// A heading of this level that has not begun yet.
    Heading(u8),
    /// Lines of a paragraph or item; `true` if the next line has not begun yet.
    Lines(bool),
    /// A Mermaid block: the byte ranges of its lines.
    Mermaid(Vec<(usize, usize)>),
    Indented,
    Meta,
    Skipped,
}

/// Splits a text into its parts.
pub(super) fn split_blocks<'a>(source: &PlanSource<'a>) -> Vec<PlanBlock<'a>> {
    let base = body_start(source.text);
    let markdown = &source.text[base..];
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut cutter = Cutter {
        source,
        out: Vec::new(),
        leaf: Leaf::None,
        after_break: 0,
        items: Vec::new(),
        table: Vec::new(),
        in_table: false,
    };
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        cutter.handle_event(event, range.start + base..range.end + base);
    }
    cutter.out
}

struct Cutter<'s, 'a> {
    source: &'s PlanSource<'a>,
    out: Vec<PlanBlock<'a>>,
    leaf: Leaf,
    /// Offset behind the line break before the next line.
    after_break: usize,
    /// The open list items: offset of the marker, and true once the first line was read.
    items: Vec<(usize, bool)>,
    table: Vec<Vec<TextRow<'a>>>,
    in_table: bool,
}

impl<'a> Cutter<'_, 'a> {
    fn handle_event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start_element(tag, range),
            Event::End(tag) => self.end_element(tag),
            Event::SoftBreak | Event::HardBreak => {
                self.after_break = range.end;
                if let Leaf::Lines(fresh) = &mut self.leaf {
                    *fresh = true;
                }
            }
            Event::Text(_)
                if matches!(self.leaf, Leaf::Mermaid(_) | Leaf::Indented | Leaf::Meta) =>
            {
                self.push_code(range);
            }
            Event::Text(_)
            | Event::Code(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => self.start_inline(range.start),
            Event::Html(_) | Event::Rule => {}
        }
    }

    fn start_element(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } => {
                let text = self.source.text[range].trim_end();
                // CommonMark takes fields above a `---` for a heading; authors mean fields.
                let phase = || {
                    let mut lines = text.lines();
                    let title = lines
                        .next()
                        .map(|line| super::head::parse_head(line, 0).what);
                    matches!(title, Some(HeadContent::Phase { .. })) && lines.count() == 1
                };
                let heading = text.starts_with('#') || level == HeadingLevel::H1 || phase();
                self.leaf = match heading {
                    true => Leaf::Heading(level as u8),
                    false => Leaf::Lines(true),
                };
            }
            Tag::Paragraph => self.leaf = Leaf::Lines(true),
            Tag::Item => {
                // The range of an item may begin with the indentation of its marker.
                let item = &self.source.text[range.clone()];
                let indent = item.len() - item.trim_start_matches([' ', '\t']).len();
                self.items.push((range.start + indent, false));
                self.leaf = Leaf::Lines(true);
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                self.unclosed_fence(&range);
                let language = info.split([' ', '\t', '{', ',']).next();
                let language = language.unwrap_or_default().to_ascii_lowercase();
                self.leaf = match language.as_str() {
                    "mermaid" => Leaf::Mermaid(Vec::new()),
                    "yaml" | "yml" => Leaf::Meta,
                    _ => Leaf::Skipped,
                };
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => self.leaf = Leaf::Indented,
            Tag::HtmlBlock => {
                let html = &self.source.text[range.clone()];
                if html.trim_start().starts_with("<!--") && !html.contains("-->") {
                    let line = self.source.line_number(range.start);
                    self.out.push(PlanBlock::Unclosed(line));
                }
                self.leaf = Leaf::Skipped;
            }
            Tag::Table(_) => self.in_table = true,
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            Tag::TableCell => {
                let raw = &self.source.text[range.clone()];
                let text = raw.trim_matches(|c: char| c.is_whitespace() || c == '|');
                let skipped = raw.len() - raw.trim_start_matches(['|', ' ', '\t']).len();
                let start = range.start + skipped.min(raw.len());
                let row = TextRow {
                    text,
                    ..self.source.build_row(RowKind::Line, start, start)
                };
                if let Some(cells) = self.table.last_mut() {
                    cells.push(row);
                }
            }
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Link { .. }
            | Tag::Image { .. } => {
                self.start_inline(range.start);
            }
            Tag::List(_)
            | Tag::BlockQuote(_)
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_)
            | Tag::Superscript
            | Tag::Subscript => {}
        }
    }

    fn end_element(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Item => {
                self.items.pop();
                self.leaf = Leaf::None;
            }
            // More text of the item may follow the elements nested in it.
            TagEnd::List(_) => self.leaf = Leaf::Lines(true),
            TagEnd::CodeBlock => {
                if let Leaf::Mermaid(lines) = std::mem::replace(&mut self.leaf, Leaf::None) {
                    let line = |(start, end): (usize, usize)| {
                        (
                            self.source.line_number(start),
                            &self.source.text[start..end],
                        )
                    };
                    let lines = lines.into_iter().map(line).collect();
                    self.out.push(PlanBlock::Mermaid(lines));
                }
                self.leaf = Leaf::Lines(true);
            }
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.leaf = Leaf::Lines(true);
            }
            TagEnd::Table => {
                self.in_table = false;
                self.out
                    .push(PlanBlock::Table(std::mem::take(&mut self.table)));
                self.leaf = Leaf::Lines(true);
            }
            _ => {}
        }
    }

    /// Handles the start of inline text.
    fn start_inline(&mut self, at: usize) {
        if self.in_table {
            return;
        }
        match self.leaf {
            Leaf::Heading(level) => {
                let row = self.source.build_row(RowKind::Heading(level), at, at);
                self.out.push(PlanBlock::Row(row));
                self.leaf = Leaf::Lines(false);
            }
            Leaf::Lines(true) => {
                let at = at.max(self.after_break);
                let row = match self.items.last_mut() {
                    Some((mark, met @ false)) => {
                        *met = true;
                        self.source.build_row(RowKind::Item, at, *mark)
                    }
                    // The line belongs to the item even if it is not indented.
                    Some((mark, true)) => {
                        let item = self.source.build_row(RowKind::Item, at, *mark);
                        let line = self.source.build_row(RowKind::Line, at, at);
                        let column = line.column.max(item.column + 1);
                        TextRow { column, ..line }
                    }
                    None => self.source.build_row(RowKind::Line, at, at),
                };
                self.out.push(PlanBlock::Row(row));
                self.leaf = Leaf::Lines(false);
            }
            Leaf::Lines(false) | Leaf::None | Leaf::Skipped => {}
            Leaf::Mermaid(_) | Leaf::Indented | Leaf::Meta => {}
        }
    }

    /// Handles text of a code block: one line or several.
    fn push_code(&mut self, range: Range<usize>) {
        let mut at = range.start;
        for line in self.source.text[range].split_inclusive('\n') {
            let end = at + line.trim_end().len();
            match &mut self.leaf {
                // The parser reports the line end separately if it is `\r `.
                Leaf::Mermaid(lines) if end > at => lines.push((at, end)),
                Leaf::Indented | Leaf::Meta if end > at => {
                    let kind = match self.leaf {
                        Leaf::Meta => RowKind::Meta,
                        _ => RowKind::Indented,
                    };
                    let start = at + (line.len() - line.trim_start().len());
                    let row = self.source.build_row(kind, start, start);
                    self.out.push(PlanBlock::Row(row));
                }
                _ => {}
            }
            at += line.len();
        }
    }

    /// Reports a fence that reaches the end of the text without a closing line.
    fn unclosed_fence(&mut self, range: &Range<usize>) {
        if !self.source.text[range.end..].trim().is_empty() {
            return;
        }
        let fence = self.source.text[range.clone()].trim_end();
        let mark = fence.chars().next().unwrap_or('`');
        let length = fence.chars().take_while(|c| *c == mark).count();
        let last = fence.rsplit('\n').next().unwrap_or_default();
        let last = last.trim_start_matches([' ', '\t', '>']);
        let closes =
            fence.contains('\n') && last.len() >= length && last.chars().all(|c| c == mark);
        if !closes {
            let line = self.source.line_number(range.start);
            self.out.push(PlanBlock::Unclosed(line));
        }
    }
}
