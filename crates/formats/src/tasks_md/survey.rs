//! Everything a plan names, and where: ids that may be tasks, phases, and boxes that name nothing.

use super::blocks::{Block, Kind, Row};
use super::fields::{self, Field};
use super::head::{self, Head, Named, PhaseNumber, PhaseWord, What};
use super::id::Shape;
use super::roles::{Role, decide};
use super::status::{self, Mark};

/// Words of headings whose lists talk about tasks and define none, and that are no titles of phases.
const ASIDE_WORDS: [&str; 37] = [
    "의존성",
    "의존 관계",
    "dependency",
    "dependencies",
    "graph",
    "그래프",
    "다이어그램",
    "diagram",
    "병렬",
    "parallel",
    "순서",
    "order",
    "요약",
    "summary",
    "완료 조건",
    "완료조건",
    "완료 기준",
    "완료기준",
    "done when",
    "definition of done",
    "acceptance criteria",
    "체크리스트",
    "checklist",
    "check list",
    "범례",
    "legend",
    "예시",
    "example",
    "위험",
    "risk",
    "통계",
    "현황",
    "개요",
    "overview",
    "게이트",
    "gate",
    "점검",
];

/// Where an id stands.
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

/// Something that may be a task.
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
    /// The id heading around it, as a candidate.
    pub(super) above: Option<usize>,
    /// The list item around it.
    pub(super) item: Option<usize>,
    /// Below a heading that talks about tasks.
    pub(super) aside: bool,
}

/// A heading of a phase.
#[derive(Debug)]
pub(super) struct PhaseFound<'a> {
    pub(super) number: PhaseNumber,
    pub(super) title: &'a str,
    pub(super) line: usize,
    pub(super) block: usize,
    /// It is about the phase, and not its title.
    pub(super) aside: bool,
}

/// All that a plan names.
pub(super) struct Survey<'a> {
    pub(super) candidates: Vec<Candidate<'a>>,
    pub(super) roles: Vec<Role>,
    pub(super) phases: Vec<PhaseFound<'a>>,
    /// Headings and items with a box and without an id: block, line, text.
    pub(super) unread: Vec<(usize, &'a str)>,
    pub(super) first_heading: Option<&'a str>,
}

impl Survey<'_> {
    /// The id headings around a candidate, the nearest first.
    pub(super) fn above(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.candidates[at].above, |above| {
            self.candidates[*above].above
        })
    }
}

/// The text of a heading without closing marks.
fn heading_text<'a>(row: &Row<'a>) -> &'a str {
    let text = row.text.trim_start_matches('#').trim_end();
    let open = text.trim_end_matches('#');
    if open.ends_with(char::is_whitespace) {
        open.trim_end()
    } else {
        text
    }
}

/// Whether a heading talks about tasks or phases and names none.
fn is_aside(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.len() < 200 && ASIDE_WORDS.iter().any(|word| lower.contains(word))
}

/// Looks through all parts of a plan.
pub(super) fn survey<'a>(blocks: &[Block<'a>]) -> Survey<'a> {
    let heads: Vec<Option<Head<'a>>> = blocks.iter().map(head_of).collect();
    let words = phase_words(&heads, blocks);
    let mut walk = Walk {
        survey: Survey {
            candidates: Vec::new(),
            roles: Vec::new(),
            phases: Vec::new(),
            unread: Vec::new(),
            first_heading: None,
        },
        words,
        phase: None,
        sections: Vec::new(),
        items: Vec::new(),
    };
    for (at, (block, head)) in blocks.iter().zip(heads).enumerate() {
        match (block, head) {
            (Block::Row(row), Some(head)) => match row.kind {
                Kind::Heading(level) => walk.heading(at, row, level, head),
                Kind::Item | Kind::Line => walk.text(at, row, head),
                Kind::Indented => {}
            },
            (Block::Table(rows), _) => walk.table(at, rows),
            _ => {}
        }
    }
    let mut survey = walk.survey;
    survey.roles = decide(&survey.candidates);
    survey
}

fn head_of<'a>(block: &Block<'a>) -> Option<Head<'a>> {
    let Block::Row(row) = block else { return None };
    match row.kind {
        Kind::Heading(_) => {
            let text = heading_text(row);
            Some(head::read(text, row.start + head::place_in(row.text, text)))
        }
        Kind::Item | Kind::Line => Some(head::read(row.text, row.start)),
        Kind::Indented => None,
    }
}

/// Which words count as those of a phase: the weaker ones only where the plan has no other.
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
    /// Whether phases are named by letter or word, and whether by word.
    words: (bool, bool),
    phase: Option<(PhaseNumber, u8, PhaseWord)>,
    /// The open headings: level, candidate, aside.
    sections: Vec<(u8, Option<usize>, bool)>,
    /// The open items that are candidates: column, candidate.
    items: Vec<(usize, usize)>,
}

impl<'a> Walk<'a> {
    fn heading(&mut self, block: usize, row: &Row<'a>, level: u8, head: Head<'a>) {
        let text = heading_text(row);
        if level == 1 && self.survey.first_heading.is_none() {
            self.survey.first_heading = Some(text);
        }
        self.items.clear();
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
            let aside = is_aside(title) && !row.text.contains([':', '：']);
            self.survey.phases.push(PhaseFound {
                number,
                title,
                line: row.line,
                block,
                aside,
            });
            self.phase = Some((number, level, word));
            self.sections.push((level, None, aside));
            return;
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
        let candidate = self.candidate(block, row, Place::Heading(level), head, outer_aside);
        if candidate.is_none() {
            if boxed {
                self.survey.unread.push((row.line, plain));
            }
            if self.phase.is_some_and(|(_, open, _)| level <= open) {
                self.phase = None;
            }
        }
        let aside = outer_aside || (candidate.is_none() && is_aside(text));
        self.sections.push((level, candidate, aside));
    }

    fn is_phase(&self, word: PhaseWord, level: u8) -> bool {
        match word {
            PhaseWord::Phase => true,
            // Inside a phase that is named in full, `P0` is a priority or the like.
            PhaseWord::Letter => !self
                .phase
                .is_some_and(|(_, open, word)| word == PhaseWord::Phase && level > open),
            PhaseWord::Other => !self.words.0,
        }
    }

    fn text(&mut self, block: usize, row: &Row<'a>, head: Head<'a>) {
        while self
            .items
            .last()
            .is_some_and(|(column, _)| row.column <= *column)
        {
            self.items.pop();
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
        if let Some(candidate) = self.candidate(block, row, place, head, aside) {
            self.items.push((row.column, candidate));
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
        // In running text only a box, or bold, begins something.
        if place == Place::Line && !head.boxed {
            return None;
        }
        let (above, item) = self.around();
        self.survey.candidates.push(Candidate {
            block,
            place,
            line: row.line,
            named,
            mark: head.mark,
            boxed: head.boxed,
            odd: head.odd,
            phase: self.phase.map(|(number, ..)| number),
            cells: None,
            above,
            item,
            aside,
        });
        Some(self.survey.candidates.len() - 1)
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
        let (above, _) = self.around();
        let aside = self.sections.last().is_some_and(|(.., aside)| *aside);
        for cells in rows {
            // The id is in the first column, or behind a running number.
            let found = cells.iter().take(2).enumerate().find_map(|(at, cell)| {
                let head = head::read(cell.text, cell.start);
                let fits = matches!(&head.what, What::Task(named) if named.shape != Shape::Number);
                fits.then_some((at, cell, head))
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
                if (column == Some(Field::Status) || last)
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
            self.survey.candidates.push(Candidate {
                block,
                place: Place::Cell,
                line: cell.line,
                named,
                mark,
                boxed,
                odd: head.odd,
                phase: self.phase.map(|(number, ..)| number),
                cells: Some(Cells { fields }),
                above,
                item: None,
                aside,
            });
        }
    }
}
