//! Parses text to a [`TasksFile`]: splits the document, finds headers and fields, resolves names,
//! and checks the whole.

use bowline_words::message::InPlan;
use std::collections::{HashMap, HashSet};

use super::blocks::{PlanBlock, PlanSource, RowKind, TextRow, split_blocks};
use super::build::{FieldOwner, UnresolvedPlan, build_plan};
use super::fields::{self, PlanField};
use super::finding::{PlanFinding, PlanFindingCode};
use super::id::{id_certainty, leading_id};
use super::mermaid::{self, ChartLink};
use super::name_resolver::{NameResolver, too_many};
use super::references::NameIndex;
use super::status::{self, ProgressMark, TaskProgress};
use super::survey::{PlanSurvey, survey_plan};
use super::{EDGES_MAX, PLAN_BYTES_MAX, TasksFile, check};

/// The level of a line that is a header: below all headings.
const LINE_LEVEL: u8 = 7;

/// Maximum characters of a line quoted in a message.
const EXCERPT_CHARS_MAX: usize = 80;

/// Parses a plan. Never fails; a file without tasks has the finding [`PlanFindingCode::ParseFail`].
#[must_use]
pub fn parse_plan(text: &str) -> TasksFile {
    if text.len() >= PLAN_BYTES_MAX {
        return too_large(text);
    }
    let source = PlanSource::new(text);
    let blocks = split_blocks(&source);
    let survey = survey_plan(&blocks);
    let built = build_plan(&survey);
    let mut reader = PlanReader {
        pending: Vec::new(),
        links: Vec::new(),
        findings: Vec::new(),
        open_field: None,
        built,
    };
    reader.read_blocks(&source, &blocks, &survey);
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
    pub(super) owner: FieldOwner,
    pub(super) field: PlanField,
    pub(super) value: &'a str,
    pub(super) line: usize,
}

/// A heading or item that contains the following lines.
struct OpenPart {
    /// Level of a heading; `None` for items, which end by their column.
    level: Option<u8>,
    column: usize,
    owner: FieldOwner,
    /// Line number, if it names the owner.
    header: Option<usize>,
    /// Offset of the text behind its line.
    body: usize,
}

impl OpenPart {
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

fn innermost_owner(open: &[OpenPart]) -> FieldOwner {
    open.last().map_or(FieldOwner::Nobody, |last| last.owner)
}

/// A field whose value stands below it: a line, or a list.
#[derive(Clone, Copy)]
struct OpenField {
    field: PlanField,
    owner: FieldOwner,
    /// Minimum column of its values.
    column: usize,
    /// True until a value has followed.
    fresh: bool,
}

struct PlanReader<'a> {
    built: UnresolvedPlan,
    pending: Vec<PendingField<'a>>,
    links: Vec<ChartLink<'a>>,
    findings: Vec<PlanFinding>,
    /// A field without a value on its own line.
    open_field: Option<OpenField>,
}

impl<'a> PlanReader<'a> {
    fn read_blocks(
        &mut self,
        source: &PlanSource<'a>,
        blocks: &[PlanBlock<'a>],
        survey: &PlanSurvey<'a>,
    ) {
        let mut candidates = survey.candidates.iter().enumerate().peekable();
        let mut phases = survey.phases.iter().peekable();
        let mut open: Vec<OpenPart> = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            while candidates.next_if(|(_, one)| one.block < at).is_some() {}
            let row = match block {
                PlanBlock::Row(row) => row,
                PlanBlock::Table(rows) => {
                    self.read_field_table(rows, innermost_owner(&open));
                    continue;
                }
                PlanBlock::Mermaid(lines) => {
                    self.read_diagram(lines);
                    continue;
                }
                PlanBlock::Unclosed(line) => {
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
                RowKind::Heading(level) => Some(level),
                // A line that is a header of its own continues until the next one, whatever its
                // indentation.
                RowKind::Line if named.is_some() => Some(LINE_LEVEL),
                RowKind::Item | RowKind::Line | RowKind::Indented | RowKind::Meta => None,
            };
            while open
                .last()
                .is_some_and(|last| last.ends_at(heading, row.column))
            {
                self.close_part(open.pop(), source.line_range(row.line).start);
            }
            let phase = phases.next_if(|phase| phase.block == at);
            let inner = match (named, phase, innermost_owner(&open)) {
                (Some(named), _, _) => named,
                (None, Some(phase), _) => FieldOwner::Phase(phase.number.whole),
                (None, None, FieldOwner::Phase(_)) if heading.is_some() => FieldOwner::Nobody,
                (None, None, around) => around,
            };
            if heading.is_some() || named.is_some() {
                open.push(OpenPart {
                    level: heading,
                    column: row.column,
                    owner: inner,
                    header: named.map(|_| row.line),
                    body: source.line_range(row.line).end,
                });
                self.open_field = heading
                    .filter(|_| named.is_none())
                    .and_then(|_| fields::field_of_name(row.text))
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
            self.close_part(Some(last), source.text.len());
        }
    }

    /// Assigns a task the text behind its header. If it has several headers, the main one takes
    /// precedence unless its text is empty.
    fn close_part(&mut self, part: Option<OpenPart>, end: usize) {
        if let Some(OpenPart {
            owner: FieldOwner::Task(task),
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

    fn body_line(&mut self, row: &TextRow<'a>, owner: FieldOwner) {
        if owner == FieldOwner::Nobody {
            return;
        }
        let text = without_comment(row.text);
        if text.starts_with("~~") && text.ends_with("~~") {
            return;
        }
        // In code only dependencies, parallel tasks and the assignee count as fields, and may mean
        // something else.
        let code = row.kind == RowKind::Meta;
        let mut named = false;
        let mut open_field = None;
        fields::for_each_field(text, |field, value| {
            named = true;
            let field = match field {
                PlanField::Needs if code => PlanField::Conditions,
                PlanField::Needs | PlanField::Beside | PlanField::Assignee => field,
                _ if code => return,
                _ => field,
            };
            // A trailing comma continues on the next line.
            let goes_on = value.is_empty() || text.ends_with([',', '，', '、']);
            open_field = goes_on.then(|| OpenField {
                field,
                owner,
                column: row.column + usize::from(row.kind == RowKind::Item),
                fresh: true,
            });
            if !value.is_empty() {
                self.add_field(row, owner, field, value);
            }
        });
        // `**Dependencies**` alone above a list, or `- Dependencies` with a list in it.
        if !named && (text.starts_with("**") || row.kind == RowKind::Item) {
            let within = row.kind == RowKind::Item && !text.starts_with("**");
            let field = fields::field_of_name(text);
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
            let label = text.starts_with("**") && id_certainty(leading_id(&text[2..])).is_none();
            let below = row.column >= open.column && !label && !text.starts_with('[');
            match row.kind {
                RowKind::Item | RowKind::Meta if below && (!code || text.starts_with('-')) => {
                    self.add_field(row, open.owner, open.field, text);
                    self.open_field = Some(OpenField {
                        fresh: false,
                        ..open
                    });
                }
                RowKind::Line if below && open.fresh => {
                    self.add_field(row, open.owner, open.field, text);
                    self.open_field = None;
                }
                // The rest of an item in the list.
                RowKind::Line if !open.fresh && row.column > open.column => {}
                _ => self.open_field = None,
            }
        }
    }

    fn add_field(
        &mut self,
        row: &TextRow<'a>,
        owner: FieldOwner,
        field: PlanField,
        value: &'a str,
    ) {
        if field == PlanField::Status {
            let at = row.start + super::head::place_in(row.text, value);
            if let FieldOwner::Task(task) = owner
                && let Some(mark) = status::parse_status(value, at)
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
    fn read_field_table(&mut self, rows: &[Vec<TextRow<'a>>], owner: FieldOwner) {
        // With names above and values below there is one row of them.
        if let [names, values] = rows
            && names
                .iter()
                .take(2)
                .all(|it| fields::field_of_name(it.text).is_some())
            && owner != FieldOwner::Nobody
        {
            for (name, value) in names.iter().zip(values) {
                if let Some(field) = fields::field_of_name(name.text) {
                    self.add_field(value, owner, field, value.text);
                }
            }
            return;
        }
        for cells in rows {
            if let [name, value, ..] = &cells[..]
                && let Some(field) = fields::field_of_name(name.text)
                && owner != FieldOwner::Nobody
                && cells.len() == 2
            {
                self.add_field(value, owner, field, value.text);
            }
        }
    }

    fn read_diagram(&mut self, lines: &[(usize, &'a str)]) {
        let chart = mermaid::parse_chart(lines, EDGES_MAX.saturating_sub(self.links.len()));
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

    fn finish(mut self, survey: &PlanSurvey<'a>) -> TasksFile {
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
                text: message_excerpt(text).to_string(),
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
            .map(|it| self.built.owned_tasks(it.owner))
            .collect();
        let UnresolvedPlan {
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
        let names = NameIndex::new(&index, &tasks, &groups, &members, &steps);
        let mut lookup = NameResolver::new(names, tasks.len(), self.findings);
        let mut who: HashMap<usize, String> = HashMap::new();
        let mut trees: HashMap<usize, String> = HashMap::new();
        let mut touched: HashMap<usize, Vec<String>> = HashMap::new();
        for (field, meant) in self.pending.iter().zip(&meant) {
            match (field.field, field.owner) {
                (PlanField::Needs, _) => lookup.resolve_field(field, meant),
                // Of a group's fields only its dependencies apply to each of its tasks.
                (_, FieldOwner::Group(_)) => {}
                (PlanField::Conditions | PlanField::Beside, _) => {
                    lookup.resolve_field(field, meant)
                }
                (PlanField::Assignee, _) => {
                    if let Some(name) = fields::parse_assignee(field.value) {
                        for task in meant {
                            who.entry(*task).or_insert_with(|| name.clone());
                        }
                    }
                }
                (PlanField::Worktree, owner) => {
                    let Some(path) = fields::parse_worktree(field.value) else {
                        continue;
                    };
                    if let FieldOwner::Phase(number) = owner {
                        worktrees.entry(number).or_insert_with(|| path.to_owned());
                    }
                    for task in meant {
                        trees.entry(*task).or_insert_with(|| path.to_owned());
                    }
                }
                (PlanField::Touches, _) => {
                    for task in meant {
                        let paths = touched.entry(*task).or_default();
                        paths.extend(fields::parse_touches(field.value));
                    }
                }
                (PlanField::Status | PlanField::Title, _) => {}
            }
        }
        let edges = lookup.resolve_links(std::mem::take(&mut self.links));
        let NameResolver {
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
        check::check_plan(&mut file, &survey.boxes);
        file
    }
}

/// Returns the worktrees that all tasks of a phase share, by phase.
fn common_worktrees(tasks: &[super::PlanTask]) -> HashMap<u32, String> {
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
fn inline_marks(survey: &PlanSurvey<'_>, built: &UnresolvedPlan) -> Vec<(usize, ProgressMark)> {
    let mut all = Vec::new();
    for (at, one) in survey.candidates.iter().enumerate() {
        let Some(FieldOwner::Task(task)) = built.owners[at] else {
            continue;
        };
        let title = without_comment(one.named.title);
        for (field, value) in fields::split_title(title).fields {
            let place = one.named.title_at + super::head::place_in(title, value);
            if field == PlanField::Status
                && let Some(mark) = status::parse_status(value, place)
            {
                all.push((task, mark));
            }
        }
    }
    all
}

/// Returns the fields behind titles and in the cells of tables.
fn inline_fields<'a>(
    survey: &PlanSurvey<'a>,
    built: &UnresolvedPlan,
) -> Vec<(FieldOwner, PlanField, &'a str, usize)> {
    let mut all = Vec::new();
    for (at, one) in survey.candidates.iter().enumerate() {
        let Some(owner) = built.owners[at] else {
            continue;
        };
        for text in [one.named.title, one.named.more] {
            for (field, value) in fields::split_title(without_comment(text)).fields {
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
fn one_form(tasks: &mut [super::PlanTask]) {
    let own = |mark: &ProgressMark| {
        mark.says == TaskProgress::Done && mark.when_done.starts_with(char::is_alphabetic)
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
                && mark.says != TaskProgress::Done
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
            task.marks.push(ProgressMark {
                at: at..at,
                says: TaskProgress::Open,
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
        task.done = task.progress == TaskProgress::Done;
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
pub(super) fn message_excerpt(text: &str) -> &str {
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
