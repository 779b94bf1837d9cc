//! Finds everything a plan names, and its positions: ids that may be tasks, phases, and boxes
//! without an id.

use super::asides::{ends_aside, is_about, is_aside};
use super::blocks::{PlanBlock, RowKind, TextRow};
use super::fields::{self, PlanField};
use super::head::{self, HeadContent, PhaseNumber, PhaseWord, TaskHeader, TextHead};
use super::id::{IdCertainty, continues_id, phase_of_id};
use super::parse::without_comment;
use super::roles::{CandidateRole, decide_roles};
use super::status::{self, ProgressMark, TaskProgress};
use std::collections::HashSet;

/// The level of a phase given only by a line in bold, in plans without phase headings.
const LINE_LEVEL: u8 = 7;

/// The position of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdPlace {
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
pub(super) struct RowCells<'a> {
    pub(super) fields: Vec<(PlanField, TextRow<'a>)>,
}

/// An id that may be a task.
#[derive(Debug)]
pub(super) struct TaskCandidate<'a> {
    pub(super) block: usize,
    pub(super) place: IdPlace,
    pub(super) line: usize,
    pub(super) named: TaskHeader<'a>,
    pub(super) mark: Option<ProgressMark>,
    pub(super) boxed: bool,
    pub(super) odd: Option<char>,
    pub(super) phase: Option<PhaseNumber>,
    pub(super) cells: Option<RowCells<'a>>,
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
pub(super) struct PlanSurvey<'a> {
    pub(super) candidates: Vec<TaskCandidate<'a>>,
    pub(super) roles: Vec<CandidateRole>,
    pub(super) phases: Vec<PhaseFound<'a>>,
    /// Headings with a box and without an id: line, text.
    pub(super) unread: Vec<(usize, &'a str)>,
    pub(super) first_heading: Option<&'a str>,
    pub(super) boxes: LooseBoxes<'a>,
}

/// Boxes without an id, for the message about plans that have nothing else.
#[derive(Default)]
pub(super) struct LooseBoxes<'a> {
    pub(super) count: usize,
    pub(super) first: Option<(usize, &'a str)>,
}

impl PlanSurvey<'_> {
    /// Returns the id headings around a candidate, the nearest first.
    pub(super) fn headings_above(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.candidates[at].above, |above| {
            self.candidates[*above].above
        })
    }
}

/// True if a cell holds a box and nothing else.
fn is_box(cell: &TextRow<'_>) -> bool {
    status::tick_box(cell.text, cell.start).is_some_and(|(.., rest)| rest.trim().is_empty())
}

/// Returns the text of a heading without closing `#`s.
fn heading_text<'a>(row: &TextRow<'a>) -> &'a str {
    let text = without_comment(row.text.trim_start_matches('#')).trim_end();
    let open = text.trim_end_matches('#');
    if open.ends_with(char::is_whitespace) {
        open.trim_end()
    } else {
        text
    }
}

/// Surveys all parts of a plan.
pub(super) fn survey_plan<'a>(blocks: &[PlanBlock<'a>]) -> PlanSurvey<'a> {
    let mut heads: Vec<Option<TextHead<'a>>> = blocks.iter().map(head_of).collect();
    decide_dotted(&mut heads, blocks);
    letters_are_tags(&mut heads, blocks);
    let words = phase_words(&heads, blocks);
    let mut walk = Walk {
        survey: PlanSurvey {
            candidates: Vec::new(),
            roles: Vec::new(),
            phases: Vec::new(),
            unread: Vec::new(),
            first_heading: None,
            boxes: LooseBoxes::default(),
        },
        words,
        open_phases: Vec::new(),
        sections: Vec::new(),
        items: Vec::new(),
        phase_item: None,
    };
    for (at, (block, head)) in blocks.iter().zip(heads).enumerate() {
        match (block, head) {
            (PlanBlock::Row(row), Some(head)) => match row.kind {
                RowKind::Heading(level) => walk.visit_heading(at, row, level, head),
                RowKind::Item | RowKind::Line => {
                    walk.visit_text(at, row, head, holds_items(row, blocks.get(at + 1)));
                    walk.note_fields(row);
                }
                RowKind::Indented | RowKind::Meta => {}
            },
            (PlanBlock::Row(row), None) => walk.note_fields(row),
            (PlanBlock::Table(rows), _) => walk.visit_table(at, rows),
            _ => {}
        }
    }
    let mut survey = walk.survey;
    survey.roles = decide_roles(&survey.candidates);
    for (one, role) in survey.candidates.iter().zip(&mut survey.roles) {
        if one.struck && *role == CandidateRole::Task {
            *role = CandidateRole::Struck;
        }
    }
    // A candidate with a box that is no task is an ordinary box.
    for (one, role) in survey.candidates.iter().zip(&survey.roles) {
        if one.boxed && *role == CandidateRole::Nothing {
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
fn holds_items(row: &TextRow<'_>, next: Option<&PlanBlock<'_>>) -> bool {
    let inside = |next: &PlanBlock<'_>| match next {
        PlanBlock::Row(next) => next.kind == RowKind::Item && next.column > row.column,
        _ => false,
    };
    row.kind == RowKind::Item && row.text.trim_end().ends_with("**") && next.is_some_and(inside)
}

fn head_of<'a>(block: &PlanBlock<'a>) -> Option<TextHead<'a>> {
    let PlanBlock::Row(row) = block else {
        return None;
    };
    match row.kind {
        RowKind::Heading(_) => {
            let text = heading_text(row);
            Some(head::parse_head(
                text,
                row.start + head::place_in(row.text, text),
            ))
        }
        RowKind::Item | RowKind::Line => Some(head::parse_head(row.text, row.start)),
        RowKind::Indented | RowKind::Meta => None,
    }
}

/// Treats `[X] T1.1` beside `[B] T1.2` as a tag: if headings have letters in brackets, `X` is one
/// of them.
fn letters_are_tags(heads: &mut [Option<TextHead<'_>>], blocks: &[PlanBlock<'_>]) {
    let letter = |block: &PlanBlock<'_>| match block {
        PlanBlock::Row(row) if matches!(row.kind, RowKind::Heading(_)) => {
            head::letter_tag(row.text.trim_start_matches('#'))
        }
        _ => None,
    };
    let tasks = |head: &&mut Option<TextHead<'_>>| {
        matches!(head.as_ref().map(|it| &it.what), Some(HeadContent::Task(_)))
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
fn decide_dotted(heads: &mut [Option<TextHead<'_>>], blocks: &[PlanBlock<'_>]) {
    let (mut level, mut whole, mut boxed, mut open) = (u8::MAX, HashSet::new(), 0, 0);
    for (head, block) in heads.iter().zip(blocks) {
        let (Some(head), PlanBlock::Row(row)) = (head, block) else {
            continue;
        };
        let heading = match row.kind {
            RowKind::Heading(level) => Some(level),
            _ => None,
        };
        match head.what {
            HeadContent::Task(ref named) if named.shape != IdCertainty::Number => {
                let strong = named.shape == IdCertainty::Strong;
                if (head.boxed || heading.is_some()) && (strong || head.boxed && heading.is_some())
                {
                    return;
                }
            }
            HeadContent::Phase {
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
            HeadContent::Phase { .. } | HeadContent::Task(_) | HeadContent::Other => {}
        }
    }
    let by_box = boxed > 1;
    if !by_box && open < 2 {
        return;
    }
    for (head, block) in heads.iter_mut().zip(blocks) {
        let (Some(head), PlanBlock::Row(row)) = (head, block) else {
            continue;
        };
        let deep = matches!(row.kind, RowKind::Heading(own) if own > level);
        if head.boxed || (!by_box && deep) {
            let at = row.start + head::place_in(row.text, head.text);
            if let Some(named) = head::parse_dotted_task(head.text, at) {
                head.what = HeadContent::Task(named);
            }
        }
    }
}

/// Returns which words name phases: the weaker ones count only if the plan has no other.
fn phase_words(heads: &[Option<TextHead<'_>>], blocks: &[PlanBlock<'_>]) -> (bool, bool) {
    let (mut strong, mut phase) = (false, false);
    for (head, block) in heads.iter().zip(blocks) {
        if let (Some(head), PlanBlock::Row(row)) = (head, block)
            && matches!(row.kind, RowKind::Heading(_))
            && let HeadContent::Phase { word, .. } = head.what
        {
            strong |= word != PhaseWord::Other;
            phase |= word == PhaseWord::Phase;
        }
    }
    (strong, phase)
}

struct Walk<'a> {
    survey: PlanSurvey<'a>,
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
    fn visit_heading(&mut self, block: usize, row: &TextRow<'a>, level: u8, head: TextHead<'a>) {
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
        if let HeadContent::Phase {
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
            && matches!(head.what, HeadContent::Other)
            && let Some(named) =
                head::named_at_end(head.text, row.start + head::place_in(row.text, head.text))
        {
            head.what = HeadContent::Task(named);
        }
        let (boxed, plain) = (head.boxed, head.text);
        let notes = !boxed && matches!(&head.what, HeadContent::Task(named) if is_about(named));
        let candidate = match notes {
            true => None,
            false => self.add_candidate(block, row, IdPlace::Heading(level), head, outer_aside),
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
    fn phase_of(&self, names: &head::HeaderIds<'_>) -> Option<PhaseNumber> {
        let stated = phase_of_id(names.first());
        let mut open = self.open_phases.iter().rev().map(|(number, ..)| *number);
        let nearest = open.clone().next();
        open.find(|number| Some(number.whole) == stated).or(nearest)
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
    fn visit_text(&mut self, block: usize, row: &TextRow<'a>, head: TextHead<'a>, holds: bool) {
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
        if let HeadContent::Phase {
            number,
            word: PhaseWord::Phase,
            title,
        } = head.what
            && !self.words.0
            && (row.kind == RowKind::Line || holds)
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
            RowKind::Item => IdPlace::Item,
            _ if bold => IdPlace::Bold,
            _ => IdPlace::Line,
        };
        let aside = self.sections.last().is_some_and(|(.., aside)| *aside);
        let (boxed, plain) = (head.boxed, head.text);
        if let Some(candidate) = self.add_candidate(block, row, place, head, aside) {
            self.items.push((row.column, candidate));
        } else if boxed {
            self.survey.boxes.count += 1;
            self.survey.boxes.first.get_or_insert((row.line, plain));
        }
    }

    fn add_candidate(
        &mut self,
        block: usize,
        row: &TextRow<'a>,
        place: IdPlace,
        head: TextHead<'a>,
        aside: bool,
    ) -> Option<usize> {
        let HeadContent::Task(named) = head.what else {
            return None;
        };
        // In running text only a box, or bold, begins a task.
        if place == IdPlace::Line && !head.boxed {
            return None;
        }
        let (above, item) = self.enclosing_candidates();
        let phase = self.phase_of(&named.names);
        let done = head
            .mark
            .as_ref()
            .is_some_and(|it| it.says == TaskProgress::Done);
        self.survey.candidates.push(TaskCandidate {
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
            aside: aside || row.quoted && place == IdPlace::Item,
            fields: false,
            struck: head.struck && !done,
        });
        Some(self.survey.candidates.len() - 1)
    }

    /// Records that fields of a task stand below the id heading around a line.
    fn note_fields(&mut self, row: &TextRow<'a>) {
        let (Some(above), true) = (self.enclosing_candidates().0, self.items.is_empty()) else {
            return;
        };
        if self.survey.candidates[above].fields {
            return;
        }
        let mut found = row.text.starts_with("**") && fields::field_of_name(row.text).is_some();
        fields::for_each_field(without_comment(row.text), |_, _| found = true);
        self.survey.candidates[above].fields = found;
    }

    fn enclosing_candidates(&self) -> (Option<usize>, Option<usize>) {
        let above = self
            .sections
            .iter()
            .rev()
            .find_map(|(_, candidate, _)| *candidate);
        (above, self.items.last().map(|(_, candidate)| *candidate))
    }

    fn visit_table(&mut self, block: usize, rows: &[Vec<TextRow<'a>>]) {
        let Some((head, rows)) = rows.split_first() else {
            return;
        };
        let columns: Vec<Option<PlanField>> = head
            .iter()
            .map(|cell| fields::field_of_column(cell.text))
            .collect();
        let names_ids: Vec<bool> = head
            .iter()
            .map(|cell| fields::is_id_column(cell.text))
            .collect();
        let (above, _) = self.enclosing_candidates();
        let aside = self.sections.last().is_some_and(|(.., aside)| *aside);
        let names = rows.iter().chain([head]).filter_map(|cells| cells.first());
        if let Some(above) = above
            && names
                .into_iter()
                .any(|cell| fields::field_of_name(cell.text).is_some())
        {
            self.survey.candidates[above].fields = true;
        }
        let group = above.map(|above| self.survey.candidates[above].named.names.first());
        for cells in rows {
            // The id is in the first column, or behind a running number; in a dependency column it
            // is that of another task.
            let found = cells.iter().take(2).enumerate().find_map(|(at, cell)| {
                let head = head::parse_head(cell.text, cell.start);
                let own = columns
                    .get(at)
                    .is_none_or(|it| !matches!(it, Some(PlanField::Needs)));
                let counts = names_ids.get(at).copied().unwrap_or(false);
                let fits = |named: &TaskHeader<'_>| {
                    let id = named.names.first();
                    let part = group
                        .is_some_and(|it| continues_id(id, it, '.') || continues_id(id, it, '-'));
                    named.shape != IdCertainty::Number
                        || id.contains(['.', '-']) && (part || counts)
                };
                let fits = matches!(&head.what, HeadContent::Task(named) if fits(named));
                (own && fits).then_some((at, cell, head))
            });
            let Some((id_at, cell, head)) = found else {
                continue;
            };
            let HeadContent::Task(mut named) = head.what else {
                continue;
            };
            let mut fields = Vec::new();
            let (mut mark, mut boxed) = (head.mark, head.boxed);
            for (at, cell) in cells.iter().enumerate().filter(|(at, _)| *at != id_at) {
                let column = columns.get(at).copied().flatten();
                let last = at + 1 == cells.len() && column.is_none();
                let before = at < id_at && column.is_none();
                if (column == Some(PlanField::Status) || last || before || is_box(cell))
                    && mark.is_none()
                    && let Some(said) = status::parse_status(cell.text, cell.start)
                {
                    boxed |= cell.text.trim_start().starts_with(['[', '\\']);
                    mark = Some(said);
                } else if let Some(column) = column {
                    fields.push((column, *cell));
                } else if named.title.is_empty() && at > id_at {
                    fields.push((PlanField::Title, *cell));
                }
            }
            let title = fields.iter().find(|(field, _)| *field == PlanField::Title);
            if let (true, Some((_, cell))) = (named.title.is_empty(), title) {
                (named.title, named.title_at) = (cell.text, cell.start);
            }
            let phase = self.phase_of(&named.names);
            let done = mark
                .as_ref()
                .is_some_and(|it| it.says == TaskProgress::Done);
            self.survey.candidates.push(TaskCandidate {
                block,
                place: IdPlace::Cell,
                line: cell.line,
                named,
                mark,
                boxed,
                odd: head.odd,
                phase,
                cells: Some(RowCells { fields }),
                above,
                item: None,
                aside,
                fields: false,
                struck: head.struck && !done,
            });
        }
    }
}
