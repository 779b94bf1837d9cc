//! Finds the tasks that a value names: full ids, short ids, groups, ranges.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::fields::is_none;
use super::head::range_end;
use super::id::{ID_BYTES_MAX, IdCertainty, TaskId, id_certainty, last_number, leading_id};
use super::{EDGES_MAX, PlanTask, TaskGroup};

/// Maximum length of a range that is expanded.
pub(super) const RANGE_MAX: u32 = 1_000;

/// Maximum number of tasks listed for an ambiguous name.
const NAMED_MAX: usize = 4;

/// A reference in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskReference<'a> {
    One(&'a str),
    Range(&'a str, &'a str),
    /// The second id of `P1-R1-T1/T2`.
    Joined(&'a str, &'a str),
    /// Every id with this prefix: `P1-R*`.
    Prefix(&'a str),
    Phase(u32),
}

/// The parsed references of a value.
#[derive(Debug, Default)]
pub(super) struct ParsedReferences<'a> {
    pub(super) refs: Vec<TaskReference<'a>>,
    /// Parts without an id although one was expected.
    pub(super) unread: Vec<&'a str>,
}

/// Parses the references in a value. Remarks in parentheses count only if there is no reference
/// outside them.
pub(super) fn parse_references<'a>(
    value: &'a str,
    known: &impl Fn(&str) -> bool,
) -> ParsedReferences<'a> {
    let mut all = ParsedReferences::default();
    if is_none(value) {
        return all;
    }
    let close = value.rfind([')', '）']);
    collect_references(value, close, known, &mut all);
    if all.refs.is_empty() {
        let mut inside = ParsedReferences::default();
        collect_references(value, None, known, &mut inside);
        if !inside.refs.is_empty() {
            return inside;
        }
    }
    all
}

fn collect_references<'a>(
    value: &'a str,
    last_close: Option<usize>,
    known: &impl Fn(&str) -> bool,
    all: &mut ParsedReferences<'a>,
) {
    let (mut at, mut depth) = (0, 0usize);
    let (mut item_start, mut item_refs, mut words) = (0, all.refs.len(), 0usize);
    let mut prose = Vec::new();
    let mut end_item =
        |item: &'a str, refs: usize, words: usize, all: &mut ParsedReferences<'a>| {
            let item = item.trim();
            if refs == all.refs.len() && words > 0 && !is_none(item) {
                let odd =
                    item.is_ascii() && words == 1 && item.contains(|c: char| !c.is_alphabetic());
                if odd {
                    all.unread.push(item)
                } else {
                    prose.push(item)
                }
            }
        };
    while let Some(c) = value[at..].chars().next() {
        let here = at;
        at += c.len_utf8();
        match c {
            '(' | '（' if last_close.is_some_and(|close| close > here) => depth += 1,
            ')' | '）' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            '~' if struck_length(value, here).is_some() => {
                at = here + struck_length(value, here).unwrap_or(1)
            }
            ',' | ';' | '，' | '、' | '；' => {
                end_item(&value[item_start..here], item_refs, words, all);
                (item_start, item_refs, words) = (at, all.refs.len(), 0);
            }
            c if c.is_alphanumeric() => {
                words += 1;
                at = parse_word(value, here, known, all);
            }
            _ => {}
        }
    }
    end_item(&value[item_start..], item_refs, words, all);
    // Prose beside ids is a remark; prose alone may be a dependency that would be overlooked.
    if all.refs.is_empty() {
        all.unread.extend(prose);
    }
}

/// Returns the length of struck-out text such as `~~T1.1~~`. Behind an id it would be a range.
fn struck_length(value: &str, at: usize) -> Option<usize> {
    let inside = value[at..].strip_prefix("~~")?;
    let begins = !value[..at].trim_end().ends_with(char::is_alphanumeric);
    inside.find("~~").filter(|_| begins).map(|end| end + 4)
}

/// Parses the word at a position, and returns the position to continue from.
fn parse_word<'a>(
    value: &'a str,
    at: usize,
    known: &impl Fn(&str) -> bool,
    all: &mut ParsedReferences<'a>,
) -> usize {
    let rest = &value[at..];
    let id = leading_id(rest);
    let behind = at + id.len();
    if let Some(stem) = wildcard_stem(value, at, behind) {
        all.refs.push(TaskReference::Prefix(stem));
        return at + stem.len() + 1;
    }
    let is_known = |id: &str| !id.is_empty() && id.len() <= ID_BYTES_MAX && known(id);
    if let Some(stem) = placeholder_stem(id).filter(|_| !is_known(id)) {
        all.refs.push(TaskReference::Prefix(stem));
        return behind;
    }
    if is_known(id) || id_certainty(id) == Some(IdCertainty::Strong) {
        // `T1.1-T1.3` is one word and two ids.
        if !is_known(id)
            && let Some((first, end)) = split_glued_ids(id, &is_known)
        {
            all.refs.push(TaskReference::Range(first, end));
            return behind;
        }
        let after = &value[behind..];
        if let Some((end, rest)) = range_end(after, id) {
            all.refs.push(TaskReference::Range(id, end));
            return value.len() - rest.len();
        }
        all.refs.push(TaskReference::One(id));
        return parse_joined_ids(value, id, behind, all);
    }
    if let Some((first, end)) = split_glued_ids(id, &is_known) {
        all.refs.push(TaskReference::Range(first, end));
        return behind;
    }
    let letters = id.trim_start_matches(['P', 'M']);
    if id.len() == letters.len() + 1
        && let Ok(phase) = letters.split('.').next().unwrap_or_default().parse()
    {
        all.refs.push(TaskReference::Phase(phase));
        return behind;
    }
    let word_end = at
        + rest
            .find(|c: char| !super::id::is_word_char(c))
            .unwrap_or(rest.len());
    let name = &value[at..word_end];
    if name.eq_ignore_ascii_case("phase") || name == "페이즈" {
        let next = value[word_end..].trim_start();
        if let Some((phase, length)) = super::id::leading_number(next) {
            all.refs.push(TaskReference::Phase(phase));
            return value.len() - next.len() + length;
        }
    }
    // A word that is an id only in this plan, followed by a particle.
    if behind > at {
        behind.max(at + 1)
    } else {
        word_end.max(at + rest.chars().next().map_or(1, char::len_utf8))
    }
}

/// Parses short ids joined to an id without a space, and returns the position to continue from.
fn parse_joined_ids<'a>(
    value: &'a str,
    first: &'a str,
    at: usize,
    all: &mut ParsedReferences<'a>,
) -> usize {
    let mut at = at;
    while let Some(rest) = value[at..].strip_prefix(['/', ',', '·', '+', '&']) {
        let id = leading_id(rest);
        if id.contains('-') || id_certainty(id) != Some(IdCertainty::Strong) {
            break;
        }
        all.refs.push(TaskReference::Joined(first, id));
        at = value.len() - rest.len() + id.len();
    }
    at
}

/// Returns the text before a `*` that stands for the rest of an id rather than for emphasis.
fn wildcard_stem(value: &str, at: usize, behind: usize) -> Option<&str> {
    let rest = &value[behind..];
    let star = rest.strip_prefix(['-', '.']).unwrap_or(rest);
    let alone = star.starts_with('*') && !star.starts_with("**") && !value[..at].ends_with('*');
    let stem = &value[at..value.len() - star.len()];
    (alone && stem.contains(|c: char| c.is_ascii_digit())).then_some(stem)
}

/// Returns the text before an `x` that stands for the last part of an id: `T1.x`.
fn placeholder_stem(id: &str) -> Option<&str> {
    let stem = id.strip_suffix(['x', 'X'])?;
    let parted = stem.ends_with(['.', '-']);
    (parted && stem.contains(|c: char| c.is_ascii_digit())).then_some(stem)
}

/// Splits two ids joined by a hyphen: `T1.1-T1.3`, and `T01-T03` if both are known.
fn split_glued_ids<'a>(word: &'a str, known: &impl Fn(&str) -> bool) -> Option<(&'a str, &'a str)> {
    let middle = word.find("-T").or_else(|| word.find("-P"))?;
    let (first, end) = (&word[..middle], &word[middle + 1..]);
    let strong = |id: &str| id_certainty(id) == Some(IdCertainty::Strong) && id.contains('.');
    let both = |fits: &dyn Fn(&str) -> bool| fits(first) && fits(end);
    (both(&strong) || both(known)).then_some((first, end))
}

/// The result of resolving a name.
pub(super) enum ResolvedName {
    Tasks(Vec<usize>),
    /// Several tasks match; these are some of them.
    Ambiguous(Vec<usize>),
    /// The group that contains the task itself.
    Own,
    Missing,
}

/// Index of everything that can be named.
pub(super) struct NameIndex<'t> {
    index: &'t HashMap<TaskId, usize>,
    tasks: &'t [PlanTask],
    groups: HashMap<&'t str, &'t [usize]>,
    /// Steps by name, with the task they belong to.
    steps: &'t HashMap<String, usize>,
    /// Tasks and groups by each suffix of their ids, within their phase and anywhere. Only a few of
    /// each are kept, since more than one is ambiguous.
    ends: HashMap<(Option<u32>, &'t str), Vec<&'t str>>,
    /// Ids in sorted order, for searches by prefix.
    sorted: Vec<(&'t str, usize)>,
    /// Tasks by id with unified separators, as diagrams must write them.
    folded: HashMap<String, Vec<usize>>,
    /// Remaining number of tasks that names may resolve to in total.
    left: Cell<usize>,
}

impl<'t> NameIndex<'t> {
    pub(super) fn new(
        index: &'t HashMap<TaskId, usize>,
        tasks: &'t [PlanTask],
        groups: &'t [TaskGroup],
        members: &'t [Vec<usize>],
        steps: &'t HashMap<String, usize>,
    ) -> Self {
        let groups: HashMap<&str, &[usize]> = groups
            .iter()
            .zip(members)
            .map(|(group, members)| (group.id.as_str(), members.as_slice()))
            .collect();
        let mut ends: HashMap<(Option<u32>, &str), Vec<&str>> = HashMap::new();
        let phase = |at: &usize| tasks[*at].phase;
        let tasks_named = tasks
            .iter()
            .map(|task| (task.id.as_str(), Some(task.phase)));
        let groups_named = groups
            .iter()
            .map(|(id, members)| (*id, members.first().map(phase)));
        for (id, phase) in tasks_named.chain(groups_named) {
            for (at, _) in id.match_indices('-') {
                for place in [phase, None] {
                    let same = ends.entry((place, &id[at + 1..])).or_default();
                    if same.len() < NAMED_MAX && !same.contains(&id) {
                        same.push(id);
                    }
                }
            }
        }
        let mut sorted: Vec<(&str, usize)> = tasks
            .iter()
            .enumerate()
            .map(|(at, task)| (task.id.as_str(), at))
            .collect();
        sorted.sort_unstable();
        let mut folded: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, task) in tasks.iter().enumerate() {
            folded
                .entry(replace_separators(task.id.as_str(), "_"))
                .or_default()
                .push(at);
            folded
                .entry(replace_separators(task.id.as_str(), ""))
                .or_default()
                .push(at);
        }
        NameIndex {
            index,
            tasks,
            groups,
            steps,
            ends,
            sorted,
            folded,
            left: Cell::new(EDGES_MAX),
        }
    }

    /// Returns the task at a position.
    pub(super) fn task_at(&self, at: usize) -> &'t PlanTask {
        &self.tasks[at]
    }

    /// True if a word is an id of the plan, or a suffix of one.
    pub(super) fn knows_word(&self, word: &str) -> bool {
        let end = || id_certainty(word).is_some() && self.ends.contains_key(&(None, word));
        self.index.contains_key(word)
            || self.groups.contains_key(word)
            || self.steps.contains_key(word)
            || end()
    }

    /// True if a word is the whole id of a task or group.
    pub(super) fn is_id(&self, word: &str) -> bool {
        self.index.contains_key(word) || self.groups.contains_key(word)
    }

    /// True if a name is that of a step.
    pub(super) fn is_step(&self, name: &str) -> bool {
        self.steps.contains_key(name) && !self.index.contains_key(name)
    }

    /// Resolves a name as used by the task `from`.
    pub(super) fn resolve_name(&self, name: &str, from: Option<usize>) -> ResolvedName {
        if let Some(&task) = self.index.get(name) {
            return ResolvedName::Tasks(vec![task]);
        }
        if let Some(members) = self.group_members(name) {
            return match from.is_some_and(|from| members.contains(&from)) {
                true => ResolvedName::Own,
                false => ResolvedName::Tasks(members),
            };
        }
        if let Some(&task) = self.steps.get(name) {
            return ResolvedName::Tasks(vec![task]);
        }
        match self.by_end(name, from) {
            ResolvedName::Missing => {}
            found => return found,
        }
        // People use `T1.1` and `Task 1.1` interchangeably.
        let other = match name.strip_prefix('T') {
            Some(number) => self.index.get(number),
            None => None,
        };
        if let Some(&task) = other {
            return ResolvedName::Tasks(vec![task]);
        }
        // `T0.5` for `T0.5.1` and `T0.5.2`.
        let parts = match id_certainty(name) {
            Some(IdCertainty::Strong) => self.tasks_with_prefix(&format!("{name}.")),
            // A number in the label of a diagram counts something else.
            Some(IdCertainty::Number) if from.is_some() => {
                self.tasks_with_prefix(&format!("{name}."))
            }
            Some(IdCertainty::Number | IdCertainty::Loose) | None => Vec::new(),
        };
        match from.is_some_and(|from| parts.contains(&from)) {
            true => ResolvedName::Own,
            false if parts.is_empty() => ResolvedName::Missing,
            false => ResolvedName::Tasks(parts),
        }
    }

    /// Returns the tasks of a group, known by its heading or by their ids alone.
    fn group_members(&self, name: &str) -> Option<Vec<usize>> {
        if let Some(members) = self.groups.get(name) {
            self.spend_budget(members.len());
            return Some(members.to_vec());
        }
        // `P1` is a phase, whatever ids begin with it.
        id_certainty(name)?;
        let start = self.sorted.partition_point(|(id, _)| *id < name);
        let within = self.sorted[start..]
            .iter()
            .take_while(|(id, _)| id.starts_with(name));
        let mut members: Vec<usize> = within
            .inspect(|_| self.spend_budget(1))
            .filter(|(id, _)| id[name.len()..].starts_with('-'))
            .map(|(_, at)| *at)
            .collect();
        members.sort_unstable();
        (!members.is_empty()).then_some(members)
    }

    fn spend_budget(&self, tasks: usize) {
        self.left.set(self.left.get().saturating_sub(tasks));
    }

    /// True if names have resolved to more tasks than the limit.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Returns every task whose id has this prefix.
    pub(super) fn tasks_with_prefix(&self, stem: &str) -> Vec<usize> {
        let start = self.sorted.partition_point(|(id, _)| *id < stem);
        let within = self.sorted[start..]
            .iter()
            .take_while(|(id, _)| id.starts_with(stem));
        // `A3*` does not match `A30`.
        let digit = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
        let goes_on = |id: &str| id[stem.len()..].starts_with(|c: char| c.is_ascii_digit());
        let mut tasks: Vec<usize> = within
            .inspect(|_| self.spend_budget(1))
            .filter(|(id, _)| !(digit(stem) && goes_on(id)))
            .map(|(_, at)| *at)
            .collect();
        tasks.sort_unstable();
        tasks
    }

    /// Returns the tasks of a wildcard: by its prefix, or with the other separator (`A3.*` for
    /// `A3-1`).
    pub(super) fn wildcard_tasks(&self, stem: &str) -> Vec<usize> {
        let tasks = self.tasks_with_prefix(stem);
        let bare = stem.trim_end_matches(['-', '.']);
        if !tasks.is_empty() || bare.len() == stem.len() {
            return tasks;
        }
        ['-', '.']
            .into_iter()
            .map(|separator| self.tasks_with_prefix(&format!("{bare}{separator}")))
            .find(|tasks| !tasks.is_empty())
            .unwrap_or_default()
    }

    /// Resolves a suffix to the only task or group with it: among the siblings of `from` first,
    /// then in its phase, then anywhere.
    fn by_end(&self, name: &str, from: Option<usize>) -> ResolvedName {
        let stand_for = |id: &str| match self.index.get(id) {
            Some(&task) => vec![task],
            None => self.group_members(id).unwrap_or_default(),
        };
        let from = from.map(|from| &self.tasks[from]);
        let mut parent = from.map_or("", |from| from.id.as_str());
        while let Some((above, _)) = parent.rsplit_once('-') {
            let near = format!("{above}-{name}");
            if self.index.contains_key(near.as_str()) || self.groups.contains_key(near.as_str()) {
                return ResolvedName::Tasks(stand_for(&near));
            }
            parent = above;
        }
        let phase = from.and_then(|from| self.ends.get(&(Some(from.phase), name)));
        match phase
            .or_else(|| self.ends.get(&(None, name)))
            .map(Vec::as_slice)
        {
            None => ResolvedName::Missing,
            Some([id]) => ResolvedName::Tasks(stand_for(id)),
            Some(several) => ResolvedName::Ambiguous(
                several
                    .iter()
                    .flat_map(|id| stand_for(id))
                    .take(NAMED_MAX)
                    .collect(),
            ),
        }
    }

    /// Returns every task of a range, or the end of it that does not exist.
    pub(super) fn tasks_in_range<'a>(
        &self,
        first: &'a str,
        end: &'a str,
        from: Option<usize>,
    ) -> Result<Vec<usize>, &'a str> {
        let one = |found: ResolvedName| match found {
            ResolvedName::Tasks(tasks) => Some(tasks),
            ResolvedName::Ambiguous(_) | ResolvedName::Own | ResolvedName::Missing => None,
        };
        let first_tasks = one(self.resolve_name(first, from)).ok_or(first)?;
        let full = full_end(first, end);
        let last_tasks = one(self.resolve_name(&full, from))
            .or_else(|| one(self.resolve_name(end, from)))
            .ok_or(end)?;
        let numbers = (last_number(first), last_number(&full));
        if let (Some((stem, low, width)), Some((other, high, _))) = numbers
            && stem == other
            && low <= high
            && high - low <= RANGE_MAX
        {
            let mut all = Vec::new();
            for number in low..=high {
                self.spend_budget(1);
                let id = format!("{stem}{number:0width$}");
                let plain = format!("{stem}{number}");
                let found = one(self.resolve_name(&plain, from))
                    .or_else(|| one(self.resolve_name(&id, from)));
                all.extend(found.into_iter().flatten());
            }
            return Ok(all);
        }
        let low = first_tasks
            .iter()
            .chain(&last_tasks)
            .min()
            .copied()
            .unwrap_or(0);
        let high = first_tasks
            .iter()
            .chain(&last_tasks)
            .max()
            .copied()
            .unwrap_or(0);
        self.spend_budget(high - low);
        Ok((low..=high).collect())
    }

    /// Returns the task of a diagram's node by its name, in which separators may be missing.
    pub(super) fn task_of_node(&self, name: &str) -> Option<usize> {
        if name.len() > ID_BYTES_MAX {
            return None;
        }
        let found = self.folded.get(&replace_separators(name, "_"))?;
        let found: HashSet<usize> = found.iter().copied().collect();
        match found.len() {
            1 => found.into_iter().next(),
            _ => None,
        }
    }
}

/// Replaces all separators of an id.
fn replace_separators(id: &str, separator: &str) -> String {
    id.split(['.', '-', '_'])
        .collect::<Vec<_>>()
        .join(separator)
}

/// Returns the end of a range in full: `P12-T1~T5` ends with `P12-T5`.
pub(super) fn full_end(first: &str, end: &str) -> String {
    if id_certainty(end) == Some(IdCertainty::Number)
        && let Some((stem, ..)) = last_number(first)
    {
        // `T1.1~1.6` repeats a part of the first id.
        let last = end.rsplit(['.', '-']).next().unwrap_or(end);
        return format!("{stem}{last}");
    }
    match first.rsplit_once('-') {
        Some((parent, _)) if !end.contains('-') => format!("{parent}-{end}"),
        _ => end.to_owned(),
    }
}
