//! Parses text to a [`TasksFile`]: splits the document, finds headers and fields, resolves names,
//! and checks the whole.

use bowline_words::message::InPlan;
use std::collections::{HashMap, HashSet};

use super::blocks::{Block, Kind, Row, Source, blocks};
use super::build::{Built, Owner, build};
use super::fields::{self, Field};
use super::finding::{PlanFinding, PlanFindingCode};
use super::id::{leading_id, shape};
use super::lookup::{Lookup, too_many};
use super::mermaid::{self, Link};
use super::refs::Names;
use super::status::{self, Mark, Progress};
use super::survey::{Survey, survey};
use super::{EDGES_MAX, PLAN_BYTES_MAX, TasksFile, check};

/// The level of a line that is a header: below all headings.
const LINE_LEVEL: u8 = 7;

/// Maximum characters of a line quoted in a message.
const EXCERPT_CHARS_MAX: usize = 80;

/// Parses a plan. Never fails; a file without tasks has the finding [`PlanFindingCode::ParseFail`].
#[must_use]
pub fn parse(text: &str) -> TasksFile {
    if text.len() >= PLAN_BYTES_MAX {
        return too_large(text);
    }
    let source = Source::new(text);
    let blocks = blocks(&source);
    let survey = survey(&blocks);
    let built = build(&survey);
    let mut reader = Reader {
        pending: Vec::new(),
        links: Vec::new(),
        findings: Vec::new(),
        open_field: None,
        built,
    };
    reader.walk(&source, &blocks, &survey);
    reader.finish(&survey)
}

/// Builds the result for a file that is too large to be read.
fn too_large(text: &str) -> TasksFile {
    let before = &text.as_bytes()[..PLAN_BYTES_MAX - 1];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let message = InPlan::TooLarge {
        bytes: text.len(),
        max: PLAN_BYTES_MAX,
    };
    TasksFile {
        findings: vec![PlanFinding::new(PlanFindingCode::TooLarge, line, message)],
        ..TasksFile::default()
    }
}

/// A field whose ids are resolved once all tasks are known.
pub(super) struct PendingField<'a> {
    pub(super) owner: Owner,
    pub(super) field: Field,
    pub(super) value: &'a str,
    pub(super) line: usize,
}

/// A heading or item that contains the following lines.
struct Open {
    /// Level of a heading; `None` for items, which end by their column.
    level: Option<u8>,
    column: usize,
    owner: Owner,
    /// Line number, if it names the owner.
    header: Option<usize>,
    /// Offset of the text behind its line.
    body: usize,
}

impl Open {
    /// True if a heading of this level, or a line in this column, ends it.
    fn ends_at(&self, heading: Option<u8>, column: usize) -> bool {
        match (self.level, heading) {
            (Some(own), Some(level)) => level <= own,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (None, None) => column <= self.column,
        }
    }
}

fn owner(open: &[Open]) -> Owner {
    open.last().map_or(Owner::Nobody, |last| last.owner)
}

/// A field whose value stands below it: a line, or a list.
#[derive(Clone, Copy)]
struct OpenField {
    field: Field,
    owner: Owner,
    /// Minimum column of its values.
    column: usize,
    /// True until a value has followed.
    fresh: bool,
}

struct Reader<'a> {
    built: Built,
    pending: Vec<PendingField<'a>>,
    links: Vec<Link<'a>>,
    findings: Vec<PlanFinding>,
    /// A field without a value on its own line.
    open_field: Option<OpenField>,
}

impl<'a> Reader<'a> {
    fn walk(&mut self, source: &Source<'a>, blocks: &[Block<'a>], survey: &Survey<'a>) {
        let mut candidates = survey.candidates.iter().enumerate().peekable();
        let mut phases = survey.phases.iter().peekable();
        let mut open: Vec<Open> = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            while candidates.next_if(|(_, one)| one.block < at).is_some() {}
            let row = match block {
                Block::Row(row) => row,
                Block::Table(rows) => {
                    self.table(rows, owner(&open));
                    continue;
                }
                Block::Mermaid(lines) => {
                    self.diagram(lines);
                    continue;
                }
                Block::Unclosed(line) => {
                    let message = InPlan::Unclosed;
                    self.findings.push(PlanFinding::new(
                        PlanFindingCode::UnclosedBlock,
                        *line,
                        message,
                    ));
                    continue;
                }
            };
            let named = candidates
                .next_if(|(_, one)| one.block == at)
                .map(|(at, _)| at);
            let named = named.and_then(|at| self.built.owners[at]);
            let heading = match row.kind {
                Kind::Heading(level) => Some(level),
                // A line that is a header of its own continues until the next one, whatever its
                // indentation.
                Kind::Line if named.is_some() => Some(LINE_LEVEL),
                Kind::Item | Kind::Line | Kind::Indented | Kind::Meta => None,
            };
            while open
                .last()
                .is_some_and(|last| last.ends_at(heading, row.column))
            {
                self.close(open.pop(), source.line_range(row.line).start);
            }
            let phase = phases.next_if(|phase| phase.block == at);
            let inner = match (named, phase, owner(&open)) {
                (Some(named), _, _) => named,
                (None, Some(phase), _) => Owner::Phase(phase.number.whole),
                (None, None, Owner::Phase(_)) if heading.is_some() => Owner::Nobody,
                (None, None, around) => around,
            };
            if heading.is_some() || named.is_some() {
                open.push(Open {
                    level: heading,
                    column: row.column,
                    owner: inner,
                    header: named.map(|_| row.line),
                    body: source.line_range(row.line).end,
                });
                self.open_field = heading
                    .filter(|_| named.is_none())
                    .and_then(|_| fields::named(row.text))
                    .map(|field| OpenField {
                        field,
                        owner: inner,
                        column: 0,
                        fresh: true,
                    });
            } else {
                self.body_line(row, inner);
            }
        }
        while let Some(last) = open.pop() {
            self.close(Some(last), source.text.len());
        }
    }

    /// Assigns a task the text behind its header. If it has several headers, the main one takes
    /// precedence unless its text is empty.
    fn close(&mut self, part: Option<Open>, end: usize) {
        if let Some(Open {
            owner: Owner::Task(task),
            header: Some(line),
            body,
            ..
        }) = part
        {
            let task = &mut self.built.tasks[task];
            let text = body..end.max(body);
            if task.body.is_empty() || (task.line == line && !text.is_empty()) {
                task.body = text;
            }
        }
    }

    fn body_line(&mut self, row: &Row<'a>, owner: Owner) {
        if owner == Owner::Nobody {
            return;
        }
        let text = without_comment(row.text);
        if text.starts_with("~~") && text.ends_with("~~") {
            return;
        }
        // In code only dependencies, parallel tasks and the assignee count as fields, and may mean
        // something else.
        let code = row.kind == Kind::Meta;
        let mut named = false;
        let mut open_field = None;
        fields::each(text, |field, value| {
            named = true;
            let field = match field {
                Field::Needs if code => Field::Conditions,
                Field::Needs | Field::Beside | Field::Assignee => field,
                _ if code => return,
                _ => field,
            };
            // A trailing comma continues on the next line.
            let goes_on = value.is_empty() || text.ends_with([',', '，', '、']);
            open_field = goes_on.then(|| OpenField {
                field,
                owner,
                column: row.column + usize::from(row.kind == Kind::Item),
                fresh: true,
            });
            if !value.is_empty() {
                self.field(row, owner, field, value);
            }
        });
        // `**Dependencies**` alone above a list, or `- Dependencies` with a list in it.
        if !named && (text.starts_with("**") || row.kind == Kind::Item) {
            let within = row.kind == Kind::Item && !text.starts_with("**");
            let field = fields::named(text);
            open_field = field.map(|field| OpenField {
                field,
                owner,
                column: row.column + usize::from(within),
                fresh: true,
            });
            named = field.is_some();
        }
        if named {
            self.open_field = open_field;
        } else if let Some(open) = self.open_field {
            let label = text.starts_with("**") && shape(leading_id(&text[2..])).is_none();
            let below = row.column >= open.column && !label && !text.starts_with('[');
            match row.kind {
                Kind::Item | Kind::Meta if below && (!code || text.starts_with('-')) => {
                    self.field(row, open.owner, open.field, text);
                    self.open_field = Some(OpenField {
                        fresh: false,
                        ..open
                    });
                }
                Kind::Line if below && open.fresh => {
                    self.field(row, open.owner, open.field, text);
                    self.open_field = None;
                }
                // The rest of an item in the list.
                Kind::Line if !open.fresh && row.column > open.column => {}
                _ => self.open_field = None,
            }
        }
    }

    fn field(&mut self, row: &Row<'a>, owner: Owner, field: Field, value: &'a str) {
        if field == Field::Status {
            let at = row.start + super::head::place_in(row.text, value);
            if let Owner::Task(task) = owner
                && let Some(mark) = status::value(value, at)
            {
                let marks = &mut self.built.tasks[task].marks;
                let word = status::word_behind_box(value, at).filter(|_| mark.when_done == "x");
                marks.push(mark);
                marks.extend(word);
            }
            return;
        }
        self.pending.push(PendingField {
            owner,
            field,
            value,
            line: row.line,
        });
    }

    /// Reads a table of names and values in the body of a task as its fields. Rows that name tasks
    /// were read before.
    fn table(&mut self, rows: &[Vec<Row<'a>>], owner: Owner) {
        // With names above and values below there is one row of them.
        if let [names, values] = rows
            && names
                .iter()
                .take(2)
                .all(|it| fields::named(it.text).is_some())
            && owner != Owner::Nobody
        {
            for (name, value) in names.iter().zip(values) {
                if let Some(field) = fields::named(name.text) {
                    self.field(value, owner, field, value.text);
                }
            }
            return;
        }
        for cells in rows {
            if let [name, value, ..] = &cells[..]
                && let Some(field) = fields::named(name.text)
                && owner != Owner::Nobody
                && cells.len() == 2
            {
                self.field(value, owner, field, value.text);
            }
        }
    }

    fn diagram(&mut self, lines: &[(usize, &'a str)]) {
        let chart = mermaid::read(lines, EDGES_MAX.saturating_sub(self.links.len()));
        self.links.extend(chart.links);
        for line in chart.unread {
            let message = InPlan::UnreadMermaid;
            self.findings.push(PlanFinding::new(
                PlanFindingCode::UnreadMermaid,
                line,
                message,
            ));
        }
        if let Some(line) = chart.over_limit {
            self.findings.push(too_many(line));
        }
    }

    fn finish(mut self, survey: &Survey<'a>) -> TasksFile {
        for (task, mark) in inline_marks(survey, &self.built) {
            self.built.tasks[task].marks.push(mark);
        }
        for (owner, field, value, line) in inline_fields(survey, &self.built) {
            self.pending.push(PendingField {
                owner,
                field,
                value,
                line,
            });
        }
        self.findings.append(&mut self.built.findings);
        for (line, text) in &survey.unread {
            let message = InPlan::NoId {
                text: excerpt(text).to_string(),
            };
            self.findings.push(PlanFinding::new(
                PlanFindingCode::UnreadHeader,
                *line,
                message,
            ));
        }
        let meant: Vec<Vec<usize>> = self
            .pending
            .iter()
            .map(|it| self.built.meant(it.owner))
            .collect();
        let Built {
            project,
            phases,
            mut tasks,
            index,
            groups,
            members,
            steps,
            mut worktrees,
            mut spare,
            ..
        } = self.built;
        let names = Names::new(&index, &tasks, &groups, &members, &steps);
        let mut lookup = Lookup::new(names, tasks.len(), self.findings);
        let mut who: HashMap<usize, String> = HashMap::new();
        let mut trees: HashMap<usize, String> = HashMap::new();
        let mut touched: HashMap<usize, Vec<String>> = HashMap::new();
        for (field, meant) in self.pending.iter().zip(&meant) {
            match (field.field, field.owner) {
                (Field::Needs, _) => lookup.field(field, meant),
                // Of a group's fields only its dependencies apply to each of its tasks.
                (_, Owner::Group(_)) => {}
                (Field::Conditions | Field::Beside, _) => lookup.field(field, meant),
                (Field::Assignee, _) => {
                    if let Some(name) = fields::assignee(field.value) {
                        for task in meant {
                            who.entry(*task).or_insert_with(|| name.clone());
                        }
                    }
                }
                (Field::Worktree, owner) => {
                    let Some(path) = fields::worktree(field.value) else {
                        continue;
                    };
                    if let Owner::Phase(number) = owner {
                        worktrees.entry(number).or_insert_with(|| path.to_owned());
                    }
                    for task in meant {
                        trees.entry(*task).or_insert_with(|| path.to_owned());
                    }
                }
                (Field::Touches, _) => {
                    for task in meant {
                        let paths = touched.entry(*task).or_default();
                        paths.extend(fields::touches(field.value));
                    }
                }
                (Field::Status | Field::Title, _) => {}
            }
        }
        let edges = lookup.links(std::mem::take(&mut self.links));
        let Lookup {
            mut needs,
            mut written,
            mut beside,
            findings,
            ..
        } = lookup;
        for (at, task) in tasks.iter_mut().enumerate() {
            keep_first(&mut needs[at]);
            keep_first(&mut written[at]);
            keep_first(&mut beside[at]);
            task.dependencies = std::mem::take(&mut written[at]);
            task.parallel_with = std::mem::take(&mut beside[at]);
            task.assignee = who.remove(&at);
            if task.marks.is_empty() {
                task.marks.extend(spare.remove(&at));
            }
            task.touches = touched.remove(&at).unwrap_or_default();
            task.worktree = trees
                .remove(&at)
                .or_else(|| worktrees.get(&task.phase).cloned());
        }
        one_form(&mut tasks);
        for (number, path) in common_worktrees(&tasks) {
            worktrees.entry(number).or_insert(path);
        }
        let mut phases = phases;
        for phase in &mut phases {
            phase.worktree = worktrees.remove(&phase.number);
        }
        let mut file = TasksFile {
            project,
            phases,
            tasks,
            groups,
            edges,
            findings,
            index,
            needs,
        };
        check::check(&mut file, &survey.boxes);
        file
    }
}

/// Returns the worktrees that all tasks of a phase share, by phase.
fn common_worktrees(tasks: &[super::Task]) -> HashMap<u32, String> {
    let mut trees: HashMap<u32, Option<&str>> = HashMap::new();
    for task in tasks {
        let own = task.worktree.as_deref();
        let common = trees.entry(task.phase).or_insert(own);
        if *common != own {
            *common = None;
        }
    }
    let named = trees
        .into_iter()
        .filter_map(|(phase, path)| Some((phase, path?.to_owned())));
    named.collect()
}

/// Returns the status fields behind titles: `T1.1: Title [상태: 완료]`.
fn inline_marks(survey: &Survey<'_>, built: &Built) -> Vec<(usize, Mark)> {
    let mut all = Vec::new();
    for (at, one) in survey.candidates.iter().enumerate() {
        let Some(Owner::Task(task)) = built.owners[at] else {
            continue;
        };
        let title = without_comment(one.named.title);
        for (field, value) in fields::titled(title).fields {
            let place = one.named.title_at + super::head::place_in(title, value);
            if field == Field::Status
                && let Some(mark) = status::value(value, place)
            {
                all.push((task, mark));
            }
        }
    }
    all
}

/// Returns the fields behind titles and in the cells of tables.
fn inline_fields<'a>(survey: &Survey<'a>, built: &Built) -> Vec<(Owner, Field, &'a str, usize)> {
    let mut all = Vec::new();
    for (at, one) in survey.candidates.iter().enumerate() {
        let Some(owner) = built.owners[at] else {
            continue;
        };
        for text in [one.named.title, one.named.more] {
            for (field, value) in fields::titled(without_comment(text)).fields {
                all.push((owner, field, value, one.line));
            }
        }
        let cells = one.cells.iter().flat_map(|cells| &cells.fields);
        all.extend(cells.map(|(field, cell)| (owner, *field, cell.text, cell.line)));
    }
    all
}

/// Adapts marks to the style of the plan: its own word for "done", and its sign behind titles
/// without a mark. Updates the progress of each task.
fn one_form(tasks: &mut [super::Task]) {
    let own = |mark: &Mark| {
        mark.says == Progress::Done && mark.when_done.starts_with(char::is_alphabetic)
    };
    let word = |latin: bool| {
        let marks = tasks.iter().flat_map(|task| &task.marks);
        marks
            .filter(|mark| own(mark) && mark.when_done != "x" && mark.when_done.is_ascii() == latin)
            .map(|mark| mark.when_done)
            .next()
    };
    let (latin, other) = (word(true), word(false));
    let signed = tasks
        .iter()
        .flat_map(|task| &task.marks)
        .any(|mark| mark.when_done == " ✅");
    for task in tasks {
        for mark in &mut task.marks {
            let wordy = mark.when_done.starts_with(char::is_alphabetic) && mark.when_done != "x";
            let preferred = if mark.when_done.is_ascii() {
                latin
            } else {
                other
            };
            if wordy
                && mark.says != Progress::Done
                && let Some(word) = preferred
            {
                mark.when_done = word;
            }
        }
        let behind_title = task.title_end.take();
        if task.marks.is_empty()
            && signed
            && let Some(at) = behind_title
        {
            task.marks.push(Mark {
                at: at..at,
                says: Progress::Open,
                when_done: " ✅",
                when_open: "",
            });
        }
        task.progress = task
            .marks
            .iter()
            .map(|mark| mark.says)
            .max()
            .unwrap_or(task.progress);
        task.done = task.progress == Progress::Done;
    }
}

/// Returns the text before an HTML comment.
pub(super) fn without_comment(text: &str) -> &str {
    match text.find("<!--") {
        Some(at) => text[..at].trim_end(),
        None => text,
    }
}

/// Returns the start of a text, for a message.
pub(super) fn excerpt(text: &str) -> &str {
    text.char_indices()
        .nth(EXCERPT_CHARS_MAX)
        .map_or(text, |(end, _)| &text[..end])
}

/// Removes repeated entries and keeps the order.
fn keep_first<T: Clone + Eq + std::hash::Hash>(list: &mut Vec<T>) {
    if list.len() > 1 {
        let mut seen = HashSet::with_capacity(list.len());
        list.retain(|entry| seen.insert(entry.clone()));
    }
}
