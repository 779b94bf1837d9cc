//! Finds everything a plan names, and its positions: ids that may be tasks, phases, and boxes
//! without an id.

use super::asides::{ends_aside, is_about, is_aside};
use super::blocks::{Block, Kind, Row};
use super::fields::{self, Field};
use super::head::{self, Head, Named, PhaseNumber, PhaseWord, What};
use super::id::{Shape, continues, phase_told_by};
use super::parse::without_comment;
use super::roles::{Role, decide};
use super::status::{self, Mark, Progress};
use std::collections::HashSet;

/// The level of a phase given only by a line in bold, in plans without phase headings.
const LINE_LEVEL: u8 = 7;

/// The position of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Heading(u8),
    Item,
    /// A line of a paragraph.
    Line,
    /// A line of a paragraph that begins in bold.
    Bold,
    Cell,
}

/// A row of a table that begins with an id.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    pub(super) fields: Vec<(Field, Row<'a>)>,
}

/// An id that may be a task.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) block: usize,
    pub(super) place: Place,
    pub(super) line: usize,
    pub(super) named: Named<'a>,
    pub(super) mark: Option<Mark>,
    pub(super) boxed: bool,
    pub(super) odd: Option<char>,
    pub(super) phase: Option<PhaseNumber>,
    pub(super) cells: Option<Cells<'a>>,
    /// Index of the candidate whose heading contains it.
    pub(super) above: Option<usize>,
    /// Index of the candidate whose list item contains it.
    pub(super) item: Option<usize>,
    /// True below a heading that only mentions tasks.
    pub(super) aside: bool,
    /// True if fields of a task stand directly below it.
    pub(super) fields: bool,
    /// True if it is struck out and not marked as done.
    pub(super) struck: bool,
}

/// A heading of a phase.
#[derive(Debug)]
pub(super) struct PhaseFound<'a> {
    pub(super) number: PhaseNumber,
    pub(super) word: PhaseWord,
    pub(super) title: &'a str,
    pub(super) line: usize,
    pub(super) block: usize,
    /// True if it is a remark about the phase rather than its title.
    pub(super) aside: bool,
    /// True if its title reads like a remark, and is used only until there is a better one.
    pub(super) about: bool,
}

/// Everything that a plan names.
pub(super) struct Survey<'a> {
    pub(super) candidates: Vec<Candidate<'a>>,
    pub(super) roles: Vec<Role>,
    pub(super) phases: Vec<PhaseFound<'a>>,
    /// Headings with a box and without an id: line, text.
    pub(super) unread: Vec<(usize, &'a str)>,
    pub(super) first_heading: Option<&'a str>,
    pub(super) boxes: Boxes<'a>,
}

/// Boxes without an id, for the message about plans that have nothing else.
#[derive(Default)]
pub(super) struct Boxes<'a> {
    pub(super) count: usize,
    pub(super) first: Option<(usize, &'a str)>,
}

impl Survey<'_> {
    /// Returns the id headings around a candidate, the nearest first.
    pub(super) fn above(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.candidates[at].above, |above| {
            self.candidates[*above].above
        })
    }
}

/// True if a cell holds a box and nothing else.
fn is_box(cell: &Row<'_>) -> bool {
    status::tick_box(cell.text, cell.start).is_some_and(|(.., rest)| rest.trim().is_empty())
}

/// Returns the text of a heading without closing `#`s.
fn heading_text<'a>(row: &Row<'a>) -> &'a str {
    let text = without_comment(row.text.trim_start_matches('#')).trim_end();
    let open = text.trim_end_matches('#');
    if open.ends_with(char::is_whitespace) {
        open.trim_end()
    } else {
        text
    }
}

/// Surveys all parts of a plan.
pub(super) fn survey<'a>(blocks: &[Block<'a>]) -> Survey<'a> {
    let mut heads: Vec<Option<Head<'a>>> = blocks.iter().map(head_of).collect();
    dotted(&mut heads, blocks);
    letters_are_tags(&mut heads, blocks);
    let words = phase_words(&heads, blocks);
    let mut walk = Walk {
        survey: Survey {
            candidates: Vec::new(),
            roles: Vec::new(),
            phases: Vec::new(),
            unread: Vec::new(),
            first_heading: None,
            boxes: Boxes::default(),
        },
        words,
        open_phases: Vec::new(),
        sections: Vec::new(),
        items: Vec::new(),
        phase_item: None,
    };
    for (at, (block, head)) in blocks.iter().zip(heads).enumerate() {
        match (block, head) {
            (Block::Row(row), Some(head)) => match row.kind {
                Kind::Heading(level) => walk.heading(at, row, level, head),
                Kind::Item | Kind::Line => {
                    walk.text(at, row, head, holds_items(row, blocks.get(at + 1)));
                    walk.note_fields(row);
                }
                Kind::Indented | Kind::Meta => {}
            },
            (Block::Row(row), None) => walk.note_fields(row),
            (Block::Table(rows), _) => walk.table(at, rows),
            _ => {}
        }
    }
    let mut survey = walk.survey;
    survey.roles = decide(&survey.candidates);
    for (one, role) in survey.candidates.iter().zip(&mut survey.roles) {
        if one.struck && *role == Role::Task {
            *role = Role::Struck;
        }
    }
    // A candidate with a box that is no task is an ordinary box.
    for (one, role) in survey.candidates.iter().zip(&survey.roles) {
        if one.boxed && *role == Role::Nothing {
            survey.boxes.count += 1;
            let first = survey
                .boxes
                .first
                .get_or_insert((one.line, one.named.title));
            if one.line < first.0 {
                *first = (one.line, one.named.title);
            }
        }
    }
    survey
}

/// True if an item is bold to its end and contains items.
fn holds_items(row: &Row<'_>, next: Option<&Block<'_>>) -> bool {
    let inside = |next: &Block<'_>| match next {
        Block::Row(next) => next.kind == Kind::Item && next.column > row.column,
        _ => false,
    };
    row.kind == Kind::Item && row.text.trim_end().ends_with("**") && next.is_some_and(inside)
}

fn head_of<'a>(block: &Block<'a>) -> Option<Head<'a>> {
    let Block::Row(row) = block else { return None };
    match row.kind {
        Kind::Heading(_) => {
            let text = heading_text(row);
            Some(head::read(text, row.start + head::place_in(row.text, text)))
        }
        Kind::Item | Kind::Line => Some(head::read(row.text, row.start)),
        Kind::Indented | Kind::Meta => None,
    }
}

/// Treats `[X] T1.1` beside `[B] T1.2` as a tag: if headings have letters in brackets, `X` is one
/// of them.
fn letters_are_tags(heads: &mut [Option<Head<'_>>], blocks: &[Block<'_>]) {
    let letter = |block: &Block<'_>| match block {
        Block::Row(row) if matches!(row.kind, Kind::Heading(_)) => {
            head::letter_tag(row.text.trim_start_matches('#'))
        }
        _ => None,
    };
    let tasks = |head: &&mut Option<Head<'_>>| {
        matches!(head.as_ref().map(|it| &it.what), Some(What::Task(_)))
    };
    let other = |letter: char| !matches!(letter, 'X' | 'V');
    let mut tagged = heads.iter_mut().zip(blocks);
    if !tagged.any(|(head, block)| tasks(&head) && letter(block).is_some_and(other)) {
        return;
    }
    for (head, block) in heads.iter_mut().zip(blocks) {
        if let (Some(head), Some(_)) = (head, letter(block)) {
            (head.mark, head.boxed) = (None, false);
        }
    }
}

/// Decides the meaning of `M1.1`, `M1.2` below `M1`: half phases in a plan that has other tasks,
/// and tasks in one that has none.
fn dotted(heads: &mut [Option<Head<'_>>], blocks: &[Block<'_>]) {
    let (mut level, mut whole, mut boxed, mut open) = (u8::MAX, HashSet::new(), 0, 0);
    for (head, block) in heads.iter().zip(blocks) {
        let (Some(head), Block::Row(row)) = (head, block) else {
            continue;
        };
        let heading = match row.kind {
            Kind::Heading(level) => Some(level),
            _ => None,
        };
        match head.what {
            What::Task(ref named) if named.shape != Shape::Number => {
                let strong = named.shape == Shape::Strong;
                if (head.boxed || heading.is_some()) && (strong || head.boxed && heading.is_some())
                {
                    return;
                }
            }
            What::Phase {
                number,
                word: PhaseWord::Letter,
                ..
            } => {
                if number.half == 0 && heading.is_some() {
                    level = level.min(heading.unwrap_or(level));
                    whole.insert(number.whole);
                } else if number.half > 0 && head.boxed {
                    boxed += 1;
                } else if heading.is_some_and(|own| own > level) && whole.contains(&number.whole) {
                    open += 1;
                }
            }
            What::Phase { .. } | What::Task(_) | What::Other => {}
        }
    }
    let by_box = boxed > 1;
    if !by_box && open < 2 {
        return;
    }
    for (head, block) in heads.iter_mut().zip(blocks) {
        let (Some(head), Block::Row(row)) = (head, block) else {
            continue;
        };
        let deep = matches!(row.kind, Kind::Heading(own) if own > level);
        if head.boxed || (!by_box && deep) {
            let at = row.start + head::place_in(row.text, head.text);
            if let Some(named) = head::dotted(head.text, at) {
                head.what = What::Task(named);
            }
        }
    }
}

/// Returns which words name phases: the weaker ones count only if the plan has no other.
fn phase_words(heads: &[Option<Head<'_>>], blocks: &[Block<'_>]) -> (bool, bool) {
    let (mut strong, mut phase) = (false, false);
    for (head, block) in heads.iter().zip(blocks) {
        if let (Some(head), Block::Row(row)) = (head, block)
            && matches!(row.kind, Kind::Heading(_))
            && let What::Phase { word, .. } = head.what
        {
            strong |= word != PhaseWord::Other;
            phase |= word == PhaseWord::Phase;
        }
    }
    (strong, phase)
}

struct Walk<'a> {
    survey: Survey<'a>,
    /// Two flags: phases are named by letter or word, and by word.
    words: (bool, bool),
    /// The open phases, the outermost first.
    open_phases: Vec<(PhaseNumber, u8, PhaseWord)>,
    /// The open headings: level, candidate, aside.
    sections: Vec<(u8, Option<usize>, bool)>,
    /// The open items that are candidates: column, candidate.
    items: Vec<(usize, usize)>,
    /// Column of the item that is the open phase.
    phase_item: Option<usize>,
}

impl<'a> Walk<'a> {
    fn heading(&mut self, block: usize, row: &Row<'a>, level: u8, head: Head<'a>) {
        let text = heading_text(row);
        self.items.clear();
        self.phase_item = None;
        while self
            .sections
            .last()
            .is_some_and(|(open, ..)| *open >= level)
        {
            self.sections.pop();
        }
        let outer_aside = self.sections.last().is_some_and(|(.., aside)| *aside);
        if let What::Phase {
            number,
            word,
            title,
        } = head.what
            && self.is_phase(word, level)
        {
            let before = &row.text[..head::place_in(row.text, title)];
            let about = match before
                .trim_end()
                .ends_with(['-', '–', '—', '.', '|', '｜', '·'])
            {
                true => ends_aside(title),
                false => is_aside(title),
            };
            let aside = about && !row.text.contains([':', '：']);
            self.survey.phases.push(PhaseFound {
                number,
                word,
                title,
                line: row.line,
                block,
                aside,
                about,
            });
            self.close_phases(level);
            self.open_phases.push((number, level, word));
            self.sections.push((level, None, aside));
            return;
        }
        let document = level == 1 && self.survey.first_heading.is_none();
        if document {
            self.survey.first_heading = Some(text);
        }
        let mut head = head;
        if head.boxed
            && matches!(head.what, What::Other)
            && let Some(named) =
                head::named_at_end(head.text, row.start + head::place_in(row.text, head.text))
        {
            head.what = What::Task(named);
        }
        let (boxed, plain) = (head.boxed, head.text);
        let notes = !boxed && matches!(&head.what, What::Task(named) if is_about(named));
        let candidate = match notes {
            true => None,
            false => self.candidate(block, row, Place::Heading(level), head, outer_aside),
        };
        if candidate.is_none() {
            if boxed {
                self.survey.unread.push((row.line, plain));
            }
            self.close_phases(level);
        }
        let aside = outer_aside || notes || (candidate.is_none() && !document && is_aside(text));
        self.sections.push((level, candidate, aside));
    }

    /// Closes the phases that a heading of this level ends.
    fn close_phases(&mut self, level: u8) {
        self.open_phases.retain(|(_, open, _)| *open < level);
    }

    /// Returns the phase around a header: the one its id states, if that is open, else the nearest.
    fn phase_of(&self, names: &head::Names<'_>) -> Option<PhaseNumber> {
        let told = phase_told_by(names.first());
        let mut open = self.open_phases.iter().rev().map(|(number, ..)| *number);
        let nearest = open.clone().next();
        open.find(|number| Some(number.whole) == told).or(nearest)
    }

    fn is_phase(&self, word: PhaseWord, level: u8) -> bool {
        match word {
            PhaseWord::Phase => true,
            // Inside a phase given by a word, `P0` is a priority or the like.
            PhaseWord::Letter => !self
                .open_phases
                .iter()
                .any(|(_, open, word)| *word == PhaseWord::Phase && level > *open),
            PhaseWord::Other => !self.words.0,
        }
    }

    /// Handles a line or an item; `holds` is set for an item that is bold to its end and contains
    /// others.
    fn text(&mut self, block: usize, row: &Row<'a>, head: Head<'a>, holds: bool) {
        if self.phase_item.is_some_and(|column| row.column <= column) {
            self.phase_item = None;
            self.open_phases.clear();
        }
        while self
            .items
            .last()
            .is_some_and(|(column, _)| row.column <= *column)
        {
            self.items.pop();
        }
        if let What::Phase {
            number,
            word: PhaseWord::Phase,
            title,
        } = head.what
            && !self.words.0
            && (row.kind == Kind::Line || holds)
            && row.text.starts_with("**")
        {
            self.open_phases.clear();
            self.phase_item = holds.then_some(row.column);
            self.open_phases
                .push((number, LINE_LEVEL, PhaseWord::Phase));
            self.survey.phases.push(PhaseFound {
                number,
                word: PhaseWord::Phase,
                title,
                line: row.line,
                block,
                aside: is_aside(title),
                about: false,
            });
            return;
        }
        let bold = ["**", "__"]
            .iter()
            .any(|marker| row.text.starts_with(marker));
        let place = match row.kind {
            Kind::Item => Place::Item,
            _ if bold => Place::Bold,
            _ => Place::Line,
        };
        let aside = self.sections.last().is_some_and(|(.., aside)| *aside);
        let (boxed, plain) = (head.boxed, head.text);
        if let Some(candidate) = self.candidate(block, row, place, head, aside) {
            self.items.push((row.column, candidate));
        } else if boxed {
            self.survey.boxes.count += 1;
            self.survey.boxes.first.get_or_insert((row.line, plain));
        }
    }

    fn candidate(
        &mut self,
        block: usize,
        row: &Row<'a>,
        place: Place,
        head: Head<'a>,
        aside: bool,
    ) -> Option<usize> {
        let What::Task(named) = head.what else {
            return None;
        };
        // In running text only a box, or bold, begins a task.
        if place == Place::Line && !head.boxed {
            return None;
        }
        let (above, item) = self.around();
        let phase = self.phase_of(&named.names);
        let done = head
            .mark
            .as_ref()
            .is_some_and(|it| it.says == Progress::Done);
        self.survey.candidates.push(Candidate {
            block,
            place,
            line: row.line,
            named,
            mark: head.mark,
            boxed: head.boxed,
            odd: head.odd,
            phase,
            cells: None,
            above,
            item,
            aside: aside || row.quoted && place == Place::Item,
            fields: false,
            struck: head.struck && !done,
        });
        Some(self.survey.candidates.len() - 1)
    }

    /// Records that fields of a task stand below the id heading around a line.
    fn note_fields(&mut self, row: &Row<'a>) {
        let (Some(above), true) = (self.around().0, self.items.is_empty()) else {
            return;
        };
        if self.survey.candidates[above].fields {
            return;
        }
        let mut found = row.text.starts_with("**") && fields::named(row.text).is_some();
        fields::each(without_comment(row.text), |_, _| found = true);
        self.survey.candidates[above].fields = found;
    }

    fn around(&self) -> (Option<usize>, Option<usize>) {
        let above = self
            .sections
            .iter()
            .rev()
            .find_map(|(_, candidate, _)| *candidate);
        (above, self.items.last().map(|(_, candidate)| *candidate))
    }

    fn table(&mut self, block: usize, rows: &[Vec<Row<'a>>]) {
        let Some((head, rows)) = rows.split_first() else {
            return;
        };
        let columns: Vec<Option<Field>> = head
            .iter()
            .map(|cell| fields::of_column(cell.text))
            .collect();
        let names_ids: Vec<bool> = head
            .iter()
            .map(|cell| fields::is_id_column(cell.text))
            .collect();
        let (above, _) = self.around();
        let aside = self.sections.last().is_some_and(|(.., aside)| *aside);
        let names = rows.iter().chain([head]).filter_map(|cells| cells.first());
        if let Some(above) = above
            && names
                .into_iter()
                .any(|cell| fields::named(cell.text).is_some())
        {
            self.survey.candidates[above].fields = true;
        }
        let group = above.map(|above| self.survey.candidates[above].named.names.first());
        for cells in rows {
            // The id is in the first column, or behind a running number; in a dependency column it
            // is that of another task.
            let found = cells.iter().take(2).enumerate().find_map(|(at, cell)| {
                let head = head::read(cell.text, cell.start);
                let own = columns
                    .get(at)
                    .is_none_or(|it| !matches!(it, Some(Field::Needs)));
                let counts = names_ids.get(at).copied().unwrap_or(false);
                let fits = |named: &Named<'_>| {
                    let id = named.names.first();
                    let part =
                        group.is_some_and(|it| continues(id, it, '.') || continues(id, it, '-'));
                    named.shape != Shape::Number || id.contains(['.', '-']) && (part || counts)
                };
                let fits = matches!(&head.what, What::Task(named) if fits(named));
                (own && fits).then_some((at, cell, head))
            });
            let Some((id_at, cell, head)) = found else {
                continue;
            };
            let What::Task(mut named) = head.what else {
                continue;
            };
            let mut fields = Vec::new();
            let (mut mark, mut boxed) = (head.mark, head.boxed);
            for (at, cell) in cells.iter().enumerate().filter(|(at, _)| *at != id_at) {
                let column = columns.get(at).copied().flatten();
                let last = at + 1 == cells.len() && column.is_none();
                let before = at < id_at && column.is_none();
                if (column == Some(Field::Status) || last || before || is_box(cell))
                    && mark.is_none()
                    && let Some(said) = status::value(cell.text, cell.start)
                {
                    boxed |= cell.text.trim_start().starts_with(['[', '\\']);
                    mark = Some(said);
                } else if let Some(column) = column {
                    fields.push((column, *cell));
                } else if named.title.is_empty() && at > id_at {
                    fields.push((Field::Title, *cell));
                }
            }
            let title = fields.iter().find(|(field, _)| *field == Field::Title);
            if let (true, Some((_, cell))) = (named.title.is_empty(), title) {
                (named.title, named.title_at) = (cell.text, cell.start);
            }
            let phase = self.phase_of(&named.names);
            let done = mark.as_ref().is_some_and(|it| it.says == Progress::Done);
            self.survey.candidates.push(Candidate {
                block,
                place: Place::Cell,
                line: cell.line,
                named,
                mark,
                boxed,
                odd: head.odd,
                phase,
                cells: Some(Cells { fields }),
                above,
                item: None,
                aside,
                fields: false,
                struck: head.struck && !done,
            });
        }
    }
}
