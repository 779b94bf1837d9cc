//! Imports `tasks.md` of spec-kit: `- [ ] T001 [P] [US1] text`, phase by phase.

use super::{ImportDraft, ImportError, ImportedPhase, PlanImport, TaskDraft, text};
use crate::tasks_md::TaskProgress;
use bowline_words::message::Unplaced;
use std::collections::{HashMap, HashSet};

/// Words allowed between a phrase and the ids it is about.
const FILLERS: [&str; 12] = [
    "and",
    "or",
    "on",
    "of",
    "the",
    "task",
    "tasks",
    "all",
    "both",
    "completion",
    "to",
    "through",
];
/// Phrases that introduce a dependency.
const PHRASES: [&str; 4] = ["depends on", "depend on", "dependencies:", "depends:"];
/// Maximum number of digits of an id.
const DIGITS_MAX: usize = 9;

/// Imports `tasks.md`. Tasks follow each other in the order of their phase; adjacent tasks with
/// `[P]` run in parallel.
///
/// # Errors
/// Fails with [`ImportError`] if the file has no tasks.
pub fn spec_kit(markdown: &str) -> Result<PlanImport, ImportError> {
    let mut reader = SpecReader::default();
    let clean = text::clean_text(markdown.trim_start_matches('\u{feff}'));
    let mut fence: Option<&str> = None;
    let front_matter = front_matter_lines(&clean);
    for (at, line) in clean.lines().enumerate().skip(front_matter) {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|it| bare.starts_with(it));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                reader.end_task();
            }
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => reader.read_line(at + 1, line),
        }
    }
    reader.end_task();
    reader.into_plan()
}

/// Returns the number of lines of front matter at the start of a text.
fn front_matter_lines(text: &str) -> usize {
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("---") {
        return 0;
    }
    lines.position(|line| line == "---").map_or(0, |at| at + 2)
}

/// A task as written in the file.
struct SpecTask {
    id: String,
    line: usize,
    done: bool,
    beside: bool,
    stories: Vec<String>,
    text: String,
    phase: usize,
}

#[derive(Default)]
struct SpecReader {
    found: ImportDraft,
    tasks: Vec<SpecTask>,
    /// The task to which following lines belong.
    open: Option<SpecTask>,
    /// Dependencies stated for whole phases, as (index of the phase, text).
    phase_needs: Vec<(usize, String)>,
    deleted: HashSet<String>,
}

impl SpecReader {
    fn read_line(&mut self, at: usize, line: &str) {
        let bare = line.trim();
        if bare.is_empty() || bare.chars().all(|c| c == '-') {
            return self.end_task();
        }
        if let Some(heading) = heading_text(bare) {
            self.end_task();
            return self.read_heading(bare, heading);
        }
        if let Some((done, rest)) = parse_item(bare) {
            self.end_task();
            return self.read_task(at, done, rest);
        }
        if let Some(open) = &mut self.open {
            // Wrapped lines and remarks below a task belong to its text.
            let separator = if open.text.is_empty() { "" } else { "\n" };
            open.text.push_str(&format!("{separator}{bare}"));
            return;
        }
        let named = bare.trim_start_matches(['*', '-', ' ', '>', '_']);
        let lower = named.to_ascii_lowercase().replace("**", "");
        if PHRASES.iter().any(|it| lower.starts_with(it)) && !self.found.phases.is_empty() {
            self.phase_needs
                .push((self.found.phases.len() - 1, named.to_owned()));
        }
    }

    fn end_task(&mut self) {
        if let Some(task) = self.open.take() {
            self.tasks.push(task);
        }
    }

    fn read_heading(&mut self, bare: &str, heading: &str) {
        let level = bare.bytes().take_while(|byte| *byte == b'#').count();
        if level == 1 && self.found.project.is_none() {
            let name = heading.strip_prefix("Tasks:").unwrap_or(heading).trim();
            self.found.project = Some(name.to_owned()).filter(|it| !it.is_empty());
        }
        let last = self.found.phases.last().map_or(0, |it| it.number);
        if let Some(phase) = parse_phase(heading, last).filter(|_| level > 1) {
            let known =
                |it: &ImportedPhase| (it.number, it.section) == (phase.number, phase.section);
            match self.found.phases.last().is_some_and(known) {
                // The same phase continues.
                true => {}
                false => self.found.phases.push(phase),
            }
        }
    }

    fn read_task(&mut self, at: usize, done: bool, rest: &str) {
        let bare = rest.trim_start_matches(['*', '_', '`', ' ']);
        let (gone, bare) = match bare.strip_prefix("~~") {
            Some(bare) => (true, bare),
            None => (false, bare),
        };
        let bare = bare.trim_start_matches(['*', '_', '`', ' ']);
        let Some((id, after)) = id_at_start(bare) else {
            let text = text::one_line(rest);
            self.found
                .unplaced
                .push(Unplaced::LineWithoutId { line: at, text });
            return;
        };
        if gone {
            self.deleted.insert(id.to_owned());
            let id = id.to_owned();
            self.found.unplaced.push(Unplaced::Deleted { id });
            return;
        }
        let mut after = after.trim_start_matches(['*', '_', '`', ':', ' ']);
        let (mut beside, mut stories) = (false, Vec::new());
        while let Some((inside, next)) = after
            .strip_prefix('[')
            .and_then(|inner| inner.split_once(']'))
            .filter(|(inside, _)| !inside.is_empty() && inside.len() <= 24)
        {
            // A link or a path in brackets belongs to the text.
            let tag = inside
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"-_. ".contains(&it));
            if !tag || next.starts_with('(') {
                break;
            }
            match inside {
                "P" | "p" => beside = true,
                _ => stories.push(inside.to_owned()),
            }
            after = next.trim_start_matches(['*', '_', '`', ':', ' ']);
        }
        self.open = Some(SpecTask {
            id: id.to_owned(),
            line: at,
            done,
            beside,
            stories,
            text: after.trim().to_owned(),
            phase: self.found.phases.len().saturating_sub(1),
        });
    }

    fn into_plan(mut self) -> Result<PlanImport, ImportError> {
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut tasks: Vec<SpecTask> = Vec::new();
        for task in std::mem::take(&mut self.tasks) {
            match known.get(&task.id) {
                Some(&first) => {
                    let same = split_words(&tasks[first].text) == split_words(&task.text);
                    if !same && !task.text.is_empty() {
                        self.found.unplaced.push(Unplaced::SaidAgain {
                            id: task.id,
                            line: task.line,
                        });
                    }
                }
                None => {
                    known.insert(task.id.clone(), tasks.len());
                    tasks.push(task);
                }
            }
        }
        let needs = self.split_stated_needs(&tasks);
        let follows = in_order(&tasks, self.found.phases.len());
        for ((at, task), (mut needs, title)) in tasks.iter().enumerate().zip(needs) {
            needs.retain(|it| !self.deleted.contains(it));
            let mut draft = TaskDraft {
                key: task.id.clone(),
                title,
                progress: if task.done {
                    TaskProgress::Done
                } else {
                    TaskProgress::Open
                },
                needs,
                follows: follows[at].iter().map(|&it| tasks[it].id.clone()).collect(),
                phase: task.phase,
                ..TaskDraft::default()
            };
            if !task.stories.is_empty() {
                draft.keep_value("story", &task.stories.join(", "));
            }
            if text::one_line(&task.text) != draft.title {
                draft.keep_value("text", &task.text);
            }
            self.found.drafts.push(draft);
        }
        self.phases_need(&tasks, &follows);
        self.found.into_plan()
    }

    /// Returns the stated dependencies of each task, and its title without them.
    fn split_stated_needs(&mut self, tasks: &[SpecTask]) -> Vec<(Vec<String>, String)> {
        let one = |task: &SpecTask| {
            let whole = text::one_line(&task.text);
            let mut title = text::one_line(task.text.lines().next().unwrap_or_default());
            if title.len() < whole.len() && !ends_sentence(&title) {
                // The first line ended only because of the editor's width.
                title = whole.clone();
            }
            let mut needs = Vec::new();
            for (at, phrase) in dependency_phrases(&whole) {
                let behind = &whole[at + phrase.len()..];
                needs.extend(parse_task_list(behind, tasks).0);
            }
            needs.retain(|it| *it != task.id);
            let mut seen = HashSet::new();
            needs.retain(|it| seen.insert(it.clone()));
            (needs, without_phrase(&title, tasks))
        };
        tasks.iter().map(one).collect()
    }

    /// Applies `**Depends on**: US2` below a heading: the first tasks of that phase come after all
    /// of that story.
    fn phases_need(&mut self, tasks: &[SpecTask], follows: &[Vec<usize>]) {
        for (phase, text) in std::mem::take(&mut self.phase_needs) {
            let (ids, _) = parse_task_list(&text, tasks);
            let ids: Vec<&String> = ids
                .iter()
                .filter(|it| !self.deleted.contains(*it))
                .collect();
            for (at, task) in tasks.iter().enumerate().filter(|(_, it)| it.phase == phase) {
                let first = !follows[at].iter().any(|&it| tasks[it].phase == phase);
                if first {
                    let others = ids.iter().filter(|it| ***it != task.id);
                    self.found.drafts[at]
                        .follows
                        .extend(others.map(|it| (*it).clone()));
                }
            }
        }
    }
}

/// Returns the tasks that each task follows because of its position: in order within a phase,
/// except that tasks with `[P]` stand beside each other.
fn in_order(tasks: &[SpecTask], phases: usize) -> Vec<Vec<usize>> {
    let mut follows = vec![Vec::new(); tasks.len()];
    for phase in 0..phases.max(1) {
        let (mut before, mut beside): (Vec<usize>, Vec<usize>) = Default::default();
        for (at, task) in tasks.iter().enumerate().filter(|(_, it)| it.phase == phase) {
            if !task.beside && !beside.is_empty() {
                before = std::mem::take(&mut beside);
            }
            follows[at].clone_from(&before);
            match task.beside {
                true => beside.push(at),
                false => before = vec![at],
            }
        }
    }
    follows
}

fn heading_text(bare: &str) -> Option<&str> {
    let text = bare.trim_start_matches('#');
    let level = bare.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim())
}

/// Parses a list item with a box.
fn parse_item(bare: &str) -> Option<(bool, &str)> {
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => bare.strip_prefix(['-', '*', '+'])?,
        _ => bare[digits..].strip_prefix(['.', ')'])?,
    };
    let inside = rest.trim_start().strip_prefix('[')?;
    let (mark, rest) = inside.split_once(']')?;
    let done = matches!(mark, "x" | "X");
    (done || mark.trim().is_empty()).then_some((done, rest.trim_start()))
}

/// Splits an id such as `T005a` from the start of a text.
fn id_at_start(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix('T')?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let letters = digits[count..].bytes();
    let letters = letters.take_while(u8::is_ascii_lowercase).count();
    let end = 1 + count + letters;
    let ends = !text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    ((1..=DIGITS_MAX).contains(&count) && letters <= 2 && ends).then(|| text.split_at(end))
}

/// Parses `Phase 3: Title`; a phase without a number gets the number after the last.
fn parse_phase(heading: &str, last: u32) -> Option<ImportedPhase> {
    let bare = heading.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (first, rest) = bare.split_once(' ').unwrap_or((bare, ""));
    if bare.to_ascii_lowercase().starts_with("final phase") {
        let title = bare["final phase".len()..].trim_start_matches([':', '-', '—', '–', ' ']);
        return Some(ImportedPhase {
            number: last + 1,
            section: 0,
            title: title.to_owned(),
        });
    }
    if !first.eq_ignore_ascii_case("phase") {
        return None;
    }
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, after) = rest.split_at(end);
    let title = |after: &str| {
        let title = after.trim_start_matches([':', '-', '—', '–', '.', ' ']);
        title.to_owned()
    };
    let mut parts = number.split('.').filter(|it| !it.is_empty());
    match parts.next().map(str::parse) {
        Some(Ok(number)) => Some(ImportedPhase {
            number,
            section: parts.next().and_then(|it| it.parse().ok()).unwrap_or(0),
            title: title(after),
        }),
        Some(Err(_)) => None,
        // "Phase N: Polish", as in the template.
        None => {
            let after = rest.strip_prefix(|c: char| c.is_ascii_uppercase())?;
            after
                .starts_with([':', ' ', '.', '-'])
                .then(|| ImportedPhase {
                    number: last + 1,
                    section: 0,
                    title: title(after),
                })
        }
    }
}

/// Finds the phrases that introduce dependencies, with their positions.
fn dependency_phrases(text: &str) -> Vec<(usize, &'static str)> {
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<(usize, &'static str)> = PHRASES
        .iter()
        .flat_map(|phrase| lower.match_indices(phrase).map(|(at, _)| (at, *phrase)))
        .collect();
    found.sort_unstable();
    found
}

/// Parses the list of tasks at the start of a text, with ranges and stories. Returns their ids and
/// the end of the list.
fn parse_task_list(text: &str, tasks: &[SpecTask]) -> (Vec<String>, usize) {
    let mut ids: Vec<String> = Vec::new();
    let (mut at, mut end, mut range) = (0, 0, false);
    while at < text.len() {
        let rest = &text[at..];
        if let Some((id, after)) = id_at_start(rest) {
            let first = ids.last().cloned().filter(|_| range);
            match first.and_then(|first| number_of(&first)).zip(number_of(id)) {
                Some((low, high)) => {
                    let inside =
                        |it: &&SpecTask| number_of(&it.id).is_some_and(|it| it > low && it <= high);
                    ids.extend(tasks.iter().filter(inside).map(|it| it.id.clone()));
                }
                None => ids.push(id.to_owned()),
            }
            range = false;
            at = text.len() - after.len();
            end = at;
        } else if rest.starts_with(|c: char| c.is_alphanumeric()) {
            let length = rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len());
            let word = &rest[..length];
            let story = word
                .strip_prefix("US")
                .is_some_and(|it| it.parse::<u32>().is_ok());
            if story {
                let of = tasks
                    .iter()
                    .filter(|it| it.stories.iter().any(|it| it == word));
                ids.extend(of.map(|it| it.id.clone()));
                end = at + length;
            } else if !FILLERS.contains(&word.to_ascii_lowercase().as_str())
                && !PHRASES.iter().any(|it| {
                    it.trim_end_matches(':')
                        .contains(&word.to_ascii_lowercase())
                })
            {
                break;
            }
            range = matches!(word, "to" | "through");
            at += length;
        } else {
            let c = rest.chars().next().unwrap_or(' ');
            match c {
                ')' | '.' if !ids.is_empty() && !rest.starts_with("..") => break,
                '-' | '–' | '—' | '~' | '…' | '.' => range = true,
                ' ' | '*' | '`' => {}
                _ => range = false,
            }
            at += c.len_utf8();
        }
    }
    (ids, end)
}

fn number_of(id: &str) -> Option<u32> {
    let digits = id.trim_start_matches('T');
    digits
        .trim_end_matches(|c: char| c.is_ascii_lowercase())
        .parse()
        .ok()
}

/// Removes the remark with the dependencies from a title, if it is a remark of its own.
fn without_phrase(title: &str, tasks: &[SpecTask]) -> String {
    let Some(&(at, phrase)) = dependency_phrases(title).first() else {
        return title.to_owned();
    };
    let from = at + phrase.len();
    let (ids, end) = parse_task_list(&title[from..], tasks);
    let head = title[..at].trim_end_matches(['*', '_', ' ']);
    let behind = title[from + end..].trim_start_matches(['*', '`', '.', ' ']);
    let (open, tail) = match (head.strip_suffix('('), behind.strip_prefix(')')) {
        (Some(open), Some(tail)) => (open, tail),
        _ => (head, behind),
    };
    let apart = open.len() < head.len() || head.ends_with(['—', '–', '-', ';', ',', '.', ':']);
    let alone = tail.trim().is_empty() || open.len() < head.len();
    if ids.is_empty() || !apart || !alone {
        return title.to_owned();
    }
    let open = open.trim_end_matches(['—', '–', '-', ';', ',', ':', ' ']);
    text::one_line(&format!("{open} {tail}"))
}

/// True if a line ends with its sentence.
fn ends_sentence(line: &str) -> bool {
    line.ends_with(['.', ':', ';', ')', '!', '?', '`', '*'])
}

fn split_words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
