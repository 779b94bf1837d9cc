//! Decides which of the ids in a plan are tasks. An id with a box is a task; without one it depends
//! on the rest of the plan.

use std::collections::{HashMap, HashSet};

use super::fields::PlanField;
use super::head::{HeaderIds, TitleSeparator};
use super::id::{IdCertainty, continues_id, last_number};
use super::references::full_end;
use super::survey::{IdPlace, TaskCandidate};

/// Maximum number of tasks that one header may stand for.
const EXPANDED_MAX: u32 = 200;

/// Minimum number of ids without a box that make a series of tasks.
const SERIES_LEAST: usize = 3;

/// The decision about a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CandidateRole {
    Task,
    /// A name for the tasks below it.
    Group,
    /// A part of the task of another candidate, given by its index.
    Step(usize),
    /// An id heading without a box in a plan whose tasks have boxes.
    Boxless,
    /// A task that is struck out.
    Struck,
    /// It has a box and a possible id, but no other id of the plan has that form.
    Unsure,
    Nothing,
}

/// Returns the ids that a candidate stands for, written in full.
pub(super) fn expand_ids(names: &HeaderIds<'_>) -> Vec<String> {
    match names {
        HeaderIds::One(id) => vec![(*id).to_owned()],
        HeaderIds::Several(ids) => {
            let first = ids.first().copied().unwrap_or_default();
            ids.iter()
                .map(|id| {
                    if id.contains('-') {
                        (*id).to_owned()
                    } else {
                        full_end(first, id)
                    }
                })
                .collect()
        }
        HeaderIds::Range(first, end) => {
            let full = full_end(first, end);
            match (last_number(first), last_number(&full)) {
                (Some((stem, low, width)), Some((other, high, _)))
                    if stem == other && low <= high && high - low < EXPANDED_MAX =>
                {
                    let width = if first[stem.len()..].starts_with('0') {
                        width
                    } else {
                        0
                    };
                    (low..=high)
                        .map(|number| format!("{stem}{number:0width$}"))
                        .collect()
                }
                _ => vec![(*first).to_owned()],
            }
        }
    }
}

/// Returns the part of an id before its first digit. Ids with a common prefix form a series.
fn id_prefix(id: &str) -> &str {
    let end = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
    &id[..end]
}

/// Decides the role of each candidate.
pub(super) fn decide_roles(all: &[TaskCandidate<'_>]) -> Vec<CandidateRole> {
    let mut roles = vec![CandidateRole::Nothing; all.len()];
    parts_in_tables(all, &mut roles);
    decide_boxed(all, &mut roles);
    let ticked_headings = all.iter().zip(&roles).any(|(one, role)| {
        *role == CandidateRole::Task && matches!(one.place, IdPlace::Heading(_))
    });
    decide_headings(all, &mut roles, ticked_headings);
    let loose = !roles.contains(&CandidateRole::Task);
    decide_items(all, &mut roles);
    decide_rows(all, &mut roles);
    if loose && !roles.contains(&CandidateRole::Task) {
        decide_bold(all, &mut roles);
    }
    if !roles.contains(&CandidateRole::Task) {
        decide_numbered(all, &mut roles);
    }
    if !roles.contains(&CandidateRole::Task) {
        decide_spaced(all, &mut roles);
    }
    if !roles.contains(&CandidateRole::Task) {
        decide_series(all, &mut roles);
    }
    roles
}

/// Finds rows whose ids continue that of the heading around their table: they are tasks, and the
/// heading is their group.
fn parts_in_tables(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    let lettered = all.iter().any(is_strong_header);
    // `### EPIC-1: Pay` above a table of `US-1`, `US-2` with their status.
    let stories = all.iter().filter(|one| {
        let above = one.above.map(|above| &all[above]);
        let epic = |above: &TaskCandidate<'_>| {
            let other = id_prefix(above.named.names.first()) != id_prefix(one.named.names.first());
            above.named.shape == IdCertainty::Loose
                && !above.boxed
                && !above.fields
                && is_separated(above)
                && other
        };
        one.place == IdPlace::Cell && one.mark.is_some() && above.is_some_and(epic)
    });
    let stories: HashSet<usize> = stories.map(|one| one.block).collect();
    for (at, one) in all.iter().enumerate() {
        let (IdPlace::Cell, Some(above)) = (one.place, one.above) else {
            continue;
        };
        let (id, group) = (one.named.names.first(), all[above].named.names.first());
        let part = continues_id(id, group, '.') || continues_id(id, group, '-');
        let is_marked = match one.named.shape {
            IdCertainty::Number => part && !lettered,
            IdCertainty::Strong | IdCertainty::Loose => {
                part && one.mark.is_some() || stories.contains(&one.block)
            }
        };
        if is_marked && !one.aside {
            roles[at] = CandidateRole::Task;
            roles[above] = CandidateRole::Group;
        }
    }
}

/// True if an id stands where tasks are defined, and can be nothing else.
fn is_strong_header(one: &TaskCandidate<'_>) -> bool {
    let place = one.boxed || matches!(one.place, IdPlace::Heading(_) | IdPlace::Cell);
    place && one.named.shape == IdCertainty::Strong && !one.aside
}

/// Returns a test for numbers with a box that are ids: `1.1` in a series, `1.` in a series, and
/// never `404` with a title behind a space.
fn numbers_are_ids(all: &[TaskCandidate<'_>]) -> impl Fn(&TaskCandidate<'_>) -> bool {
    let parted = |id: &str| id.contains(['.', '-']);
    let (mut dotted, mut bare) = (HashSet::new(), HashSet::new());
    for one in all
        .iter()
        .filter(|one| one.boxed && one.named.shape == IdCertainty::Number)
    {
        let id = one.named.names.first();
        match parted(id) {
            true => dotted.insert(id),
            false if one.named.separator == TitleSeparator::Clear => bare.insert(id),
            false => false,
        };
    }
    let (dotted, bare) = (dotted.len() > 1, bare.len() > 1);
    move |one| match (parted(one.named.names.first()), one.named.separator) {
        (true, separator) => dotted || separator == TitleSeparator::Clear,
        (false, separator) => bare && separator == TitleSeparator::Clear,
    }
}

/// True if an item belongs to the check list of the id heading above it: its own id resembles no
/// other of the plan.
fn is_check_list(one: &TaskCandidate<'_>, all: &[TaskCandidate<'_>], once: &HashSet<&str>) -> bool {
    let (Some(above), false) = (
        one.above,
        matches!(one.place, IdPlace::Heading(_) | IdPlace::Cell),
    ) else {
        return false;
    };
    let (id, above) = (one.named.names.first(), &all[above]);
    let heading = above.named.names.first();
    match (one.named.shape, above.named.shape) {
        (IdCertainty::Strong, _) | (_, IdCertainty::Number) => false,
        (IdCertainty::Loose | IdCertainty::Number, IdCertainty::Strong) => true,
        (IdCertainty::Loose | IdCertainty::Number, IdCertainty::Loose) => {
            id_prefix(id) != id_prefix(heading)
                && is_separated(above)
                && (above.fields || !once.contains(id))
        }
    }
}

/// Returns the ids of series of several ids, each of which occurs only once.
fn unique_series<'a>(all: &[TaskCandidate<'a>]) -> HashSet<&'a str> {
    let mut series: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
    for one in all.iter().filter(|one| one.boxed) {
        let id = one.named.names.first();
        *series
            .entry(id_prefix(id))
            .or_default()
            .entry(id)
            .or_default() += 1;
    }
    let unique = series
        .into_values()
        .filter(|ids| ids.len() > 1 && ids.values().all(|count| *count == 1));
    unique.flat_map(HashMap::into_keys).collect()
}

/// Decides candidates with a box whose id is certain enough.
fn decide_boxed(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    let boxed = || all.iter().enumerate().filter(|(_, one)| one.boxed);
    let strong = all.iter().any(is_strong_header);
    let number_is_id = numbers_are_ids(all);
    let once = unique_series(all);
    let mut counted: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut cleared: HashSet<&str> = HashSet::new();
    for (_, one) in boxed().filter(|(_, one)| one.named.shape == IdCertainty::Loose) {
        let id = one.named.names.first();
        counted.entry(id_prefix(id)).or_default().insert(id);
        if is_separated(one) {
            cleared.insert(id_prefix(id));
        }
    }
    let several = |id: &str| counted.get(id_prefix(id)).is_some_and(|ids| ids.len() > 1);
    // With only a space behind it, an id must resemble others: `UI-1 button` beside `UI-2 list`,
    // and not `GPT-4 costs`.
    let alike = |one: &TaskCandidate<'_>| {
        let id = one.named.names.first();
        is_separated(one) || several(id) && (!strong || cleared.contains(id_prefix(id)))
    };
    let lettered =
        strong || boxed().any(|(_, one)| one.named.shape == IdCertainty::Loose && alike(one));
    // If tasks are headings, a list is usually an ordinary check list: a single odd word in it is
    // no id, a series is.
    let headed = boxed().any(|(_, one)| {
        one.named.shape == IdCertainty::Strong && matches!(one.place, IdPlace::Heading(_))
    });
    for (at, one) in boxed() {
        if roles[at] != CandidateRole::Nothing || is_check_list(one, all, &once) {
            continue;
        }
        let id = one.named.names.first();
        let heading = matches!(one.place, IdPlace::Heading(_));
        let inside = one
            .item
            .or(one.above)
            .is_some_and(|outer| roles[outer] == CandidateRole::Task);
        let task = match one.named.shape {
            IdCertainty::Strong => true,
            IdCertainty::Loose if heading => alike(one),
            IdCertainty::Loose => alike(one) && !inside && (several(id) || !strong),
            IdCertainty::Number => {
                !lettered && number_is_id(one) && (heading || !inside || id.contains('.'))
            }
        };
        if task {
            roles[at] = CandidateRole::Task;
        } else if one.named.shape == IdCertainty::Loose
            && !one.aside
            && (heading || !is_separated(one) && !inside && (!headed || several(id)))
        {
            roles[at] = CandidateRole::Unsure;
        }
    }
    // A list entry `T1.1` repeats the heading `P1-T1.1`.
    let headed = |one: &TaskCandidate<'_>| matches!(one.place, IdPlace::Heading(_));
    let mut ends: HashSet<&str> = HashSet::new();
    for (one, _) in all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| headed(one) && **role == CandidateRole::Task)
    {
        let id = one.named.names.first();
        ends.extend(id.match_indices('-').map(|(at, _)| &id[at + 1..]));
    }
    // Beside headings a check list may mean a server by `T3`: without a colon it needs the form of
    // a task's id.
    let form = |id: &str| {
        id.chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect::<String>()
    };
    let headings = all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| headed(one) && **role == CandidateRole::Task);
    let forms: HashSet<String> = headings
        .map(|(one, _)| form(one.named.names.first()))
        .collect();
    let inside = |one: &TaskCandidate<'_>| one.aside || one.item.or(one.above).is_some();
    // Inside a task a code with other letters than those of tasks (`AC1-2`) is a criterion, not a
    // task.
    let is_task = |outer: Option<usize>| {
        outer.is_some_and(|outer| {
            roles[outer] == CandidateRole::Task || is_strong_header(&all[outer])
        })
    };
    let within = |one: &TaskCandidate<'_>| is_task(one.item.or(one.above));
    let own: HashSet<&str> = all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| {
            let headed = headed(one) && one.named.shape == IdCertainty::Strong;
            headed || **role == CandidateRole::Task && !within(one)
        })
        .map(|(one, _)| id_prefix(one.named.names.first()))
        .chain(["T", "P", "M", "TASK-", "Task-", "task-"])
        .collect();
    let codes: Vec<bool> = all
        .iter()
        .map(|one| within(one) && !own.contains(id_prefix(one.named.names.first())))
        .collect();
    for ((one, role), code) in all.iter().zip(roles).zip(codes) {
        if headed(one) {
            continue;
        }
        let id = one.named.names.first();
        let part = one.item.or(one.above).is_some_and(|outer| {
            let outer = all[outer].named.names.first();
            continues_id(id, outer, '.') || continues_id(id, outer, '-')
        });
        let known = part || forms.is_empty() || forms.contains(&form(id));
        let remark = !is_separated(one) && inside(one) && !known;
        if ends.contains(id) || remark || (code && one.named.shape == IdCertainty::Strong) {
            *role = CandidateRole::Nothing;
        }
    }
}

fn is_separated(one: &TaskCandidate<'_>) -> bool {
    one.named.separator != TitleSeparator::Space
}

/// Decides id headings without a box.
fn decide_headings(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole], ticked_headings: bool) {
    let strong = all.iter().any(|one| one.named.shape == IdCertainty::Strong);
    let mut counted: HashMap<&str, HashSet<&str>> = HashMap::new();
    let open: Vec<usize> = (0..all.len())
        .filter(|at| !all[*at].boxed && matches!(all[*at].place, IdPlace::Heading(_)))
        .collect();
    // An item or a deeper heading whose id continues that of the heading around it with a dot.
    let part = |one: &TaskCandidate<'_>| {
        let whole = one.above.filter(|above| !all[*above].boxed)?;
        let apart = matches!(one.place, IdPlace::Heading(_))
            || one.place == IdPlace::Item && is_separated(one);
        let (id, group) = (one.named.names.first(), all[whole].named.names.first());
        (apart && !one.boxed && continues_id(id, group, '.')).then_some(whole)
    };
    for one in all {
        if one.boxed || !matches!(one.place, IdPlace::Heading(_)) && part(one).is_none() {
            continue;
        }
        let id = one.named.names.first();
        counted.entry(id_prefix(id)).or_default().insert(id);
    }
    // `### 1.1 Sign-in` above `- [ ] 1.1.1 Form`; a section `2.` is not.
    let numbers = all.iter().zip(&*roles).filter(|(one, role)| {
        one.named.shape == IdCertainty::Number && **role == CandidateRole::Task
    });
    let parted: HashSet<&str> = numbers
        .map(|(one, _)| one.named.names.first())
        .flat_map(|id| id.match_indices('.').map(move |(end, _)| &id[..end]))
        .filter(|id| id.contains('.'))
        .collect();
    let sure = |at: &usize| {
        let one = &all[*at];
        let several = counted
            .get(id_prefix(one.named.names.first()))
            .is_some_and(|ids| ids.len() > 1);
        match one.named.shape {
            IdCertainty::Strong => true,
            IdCertainty::Loose => {
                let apart = one.named.separator == TitleSeparator::Clear;
                !strong && several && (apart || part(one).is_some())
            }
            IdCertainty::Number => parted.contains(one.named.names.first()),
        }
    };
    let open: Vec<usize> = open.into_iter().filter(sure).collect();
    // Ids of which a heading's id may be a prefix, and headings that contain such ids.
    let is_open: HashSet<usize> = open.iter().copied().collect();
    let mut levels: HashMap<&str, (u8, bool)> = HashMap::new();
    for &at in &open {
        if let IdPlace::Heading(level) = all[at].place {
            let own = levels
                .entry(all[at].named.names.first())
                .or_insert((level, false));
            own.1 |= all[at].fields;
        }
    }
    // A heading of the same level is a sibling: with a word at its end, or beside one with fields,
    // both are tasks.
    let sibling = |one: &TaskCandidate<'_>, shorter: &str, rest: &str| {
        let Some((level, fields)) = levels.get(shorter) else {
            return false;
        };
        let numbered = rest.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let numbered = numbered.starts_with(|c: char| c.is_ascii_digit());
        matches!(one.place, IdPlace::Heading(own) if own <= *level) && (*fields || !numbered)
    };
    let mut longer = HashSet::new();
    let mut holders = HashSet::new();
    for (at, one) in all.iter().enumerate() {
        let task = roles[at] == CandidateRole::Task;
        let heading = is_open.contains(&at);
        let listed = one.place == IdPlace::Item
            && one.named.shape == IdCertainty::Strong
            && is_separated(one);
        if let Some(whole) = part(one)
            && one.place == IdPlace::Item
            && !ticked_headings
            && !all[whole].fields
        {
            holders.insert(whole);
        }
        if !(task || heading || listed) {
            continue;
        }
        let id = one.named.names.first();
        let parts = id
            .match_indices('-')
            .map(|(end, _)| (&id[..end], &id[end + 1..]));
        let parts = parts.filter(|(shorter, rest)| !heading || !sibling(one, shorter, rest));
        longer.extend(parts.map(|(shorter, _)| shorter));
        if (task || heading)
            && let Some(above) = one.above
            && all[above].named.names.first() != id
        {
            holders.insert(above);
        }
    }
    // A heading with fields is the task if the headings in it have none; those are its steps.
    let mut without_steps = holders.clone();
    for (at, one) in all.iter().enumerate() {
        let step = |above: usize| {
            let (id, whole) = (one.named.names.first(), all[above].named.names.first());
            is_open.contains(&at) && !one.fields && continues_id(id, whole, '.')
        };
        if let Some(above) = one.above
            && (roles[at] == CandidateRole::Task || is_open.contains(&at))
            && step(above)
        {
            continue;
        }
        if let Some(above) = one.above {
            without_steps.remove(&above);
        }
    }
    let holders: HashSet<usize> = holders
        .into_iter()
        .filter(|at| ticked_headings || !all[*at].fields || !without_steps.contains(at))
        .collect();
    let mut heads: HashSet<&str> = HashSet::new();
    for &at in &open {
        let id = all[at].named.names.first();
        let group = holders.contains(&at) || longer.contains(id) || parted.contains(id);
        let id_above = |above: &usize| {
            let whole = all[*above].named.names.first();
            roles[*above] == CandidateRole::Task
                && (continues_id(id, whole, '.') || continues_id(id, whole, '-'))
        };
        let whole = std::iter::successors(all[at].above, |above| all[*above].above).find(id_above);
        roles[at] = match (group, ticked_headings, whole) {
            (true, ..) => CandidateRole::Group,
            (false, true, Some(whole)) => CandidateRole::Step(whole),
            (false, true, None) => CandidateRole::Boxless,
            (false, false, _) => CandidateRole::Task,
        };
        if roles[at] == CandidateRole::Task {
            heads.insert(id);
        }
    }
    // Among headings of one level an id continued by a full stop is a step of the shorter one.
    let first: HashMap<&str, usize> = open
        .iter()
        .rev()
        .map(|at| (all[*at].named.names.first(), *at))
        .collect();
    for &at in open.iter().filter(|_| !ticked_headings) {
        let id = all[at].named.names.first();
        let shorter = id
            .match_indices('.')
            .map(|(end, _)| &id[..end])
            .find(|id| heads.contains(id));
        if roles[at] == CandidateRole::Task
            && !all[at].fields
            && let Some(whole) = shorter
            && let Some(&whole) = first.get(whole)
        {
            roles[at] = CandidateRole::Step(whole);
        }
    }
}

/// Decides list items without a box: tasks if they can mean nothing else.
fn decide_items(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    let any_box = all
        .iter()
        .zip(&*roles)
        .any(|(one, role)| one.boxed && *role == CandidateRole::Task);
    let known: HashSet<String> = tasks_of(all, roles);
    let ends: HashSet<&str> = known
        .iter()
        .flat_map(|id| id.match_indices('-').map(|(at, _)| &id[at + 1..]))
        .collect();
    let groups = roles.iter().enumerate();
    let groups = groups.filter(|(_, role)| **role == CandidateRole::Group);
    let groups: HashSet<usize> = groups.map(|(at, _)| at).collect();
    let wanted = |one: &TaskCandidate<'_>| {
        let part = one.above.is_some_and(|above| {
            let dotted = continues_id(one.named.names.first(), all[above].named.names.first(), '.');
            groups.contains(&above) && dotted
        });
        let sure = one.named.shape == IdCertainty::Strong
            || one.named.shape == IdCertainty::Loose && part && !any_box;
        !one.boxed && one.place == IdPlace::Item && sure
    };
    // An id that others continue is a group, as with headings.
    let listed = all.iter().filter(|one| wanted(one) && is_separated(one));
    let longer: HashSet<&str> = listed
        .map(|one| one.named.names.first())
        .chain(known.iter().map(String::as_str))
        .flat_map(|id| id.match_indices('-').map(move |(end, _)| &id[..end]))
        .collect();
    let headed: HashSet<&str> = all
        .iter()
        .filter(|one| matches!(one.place, IdPlace::Heading(_)))
        .map(|one| one.named.names.first())
        .collect();
    for (at, one) in all.iter().enumerate() {
        if !wanted(one) {
            continue;
        }
        let id = one.named.names.first();
        if longer.contains(id) {
            if !one.aside && !headed.contains(id) {
                roles[at] = CandidateRole::Group;
            }
            continue;
        }
        let titled = one.named.separator == TitleSeparator::Clear
            && one
                .named
                .title
                .starts_with(|c: char| c.is_alphanumeric() || "*`[\"'「(<".contains(c));
        let holder = one.item.or(one.above);
        if known.contains(id) || ends.contains(id) {
            continue;
        }
        if let Some(holder) = holder
            && let CandidateRole::Task | CandidateRole::Step(_) = roles[holder]
        {
            if continues_id(id, all[holder].named.names.first(), '.')
                || continues_id(id, all[holder].named.names.first(), '-')
            {
                roles[at] = CandidateRole::Step(holder);
            }
            continue;
        }
        let placed = one.phase.is_some()
            || holder.is_some_and(|holder| roles[holder] == CandidateRole::Group);
        if titled && !one.aside && (placed || !any_box) {
            roles[at] = CandidateRole::Task;
        }
    }
}

/// Decides the rows of tables.
fn decide_rows(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    let any = roles.contains(&CandidateRole::Task);
    let known: HashSet<String> = tasks_of(all, roles);
    let mut shorter: HashSet<&str> = known
        .iter()
        .flat_map(|id| id.match_indices('-').map(|(at, _)| &id[..at]))
        .collect();
    let ends: HashSet<&str> = known
        .iter()
        .flat_map(|id| id.match_indices('-').map(|(at, _)| &id[at + 1..]))
        .collect();
    let rows: Vec<usize> = (0..all.len())
        .filter(|at| all[*at].place == IdPlace::Cell)
        .collect();
    for &at in &rows {
        let id = all[at].named.names.first();
        shorter.extend(id.match_indices('-').map(|(end, _)| &id[..end]));
    }
    let strong = any
        || rows
            .iter()
            .any(|at| all[*at].named.shape == IdCertainty::Strong);
    for at in rows {
        let one = &all[at];
        if roles[at] == CandidateRole::Task {
            continue;
        }
        let id = one.named.names.first();
        let field = |wanted: PlanField| {
            one.cells
                .iter()
                .flat_map(|cells| &cells.fields)
                .any(|(field, _)| *field == wanted)
        };
        let has_field = one.mark.is_some() || field(PlanField::Needs) || field(PlanField::Assignee);
        let task = match one.named.shape {
            IdCertainty::Strong => has_field || !any,
            IdCertainty::Loose => !strong && has_field,
            IdCertainty::Number => !strong && !any && one.mark.is_some(),
        };
        // Beside tasks with boxes a table usually repeats tasks.
        let wanted = !any || one.boxed || (one.mark.is_some() && !one.aside);
        if task && wanted && !known.contains(id) && !ends.contains(id) && !shorter.contains(id) {
            roles[at] = CandidateRole::Task;
        }
    }
}

/// Decides paragraphs that begin with an id in bold, in plans that have nothing else.
fn decide_bold(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    for (at, one) in all.iter().enumerate() {
        let sure = one.named.shape == IdCertainty::Strong && !one.aside;
        if one.place == IdPlace::Bold && sure {
            roles[at] = CandidateRole::Task;
        }
    }
}

/// Decides headings such as `### 1.2 Title` below `## Phase 1`, in plans that have nothing else:
/// the number begins with that of the phase.
fn decide_numbered(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    for (at, one) in all.iter().enumerate() {
        let id = one.named.names.first();
        let of = id.split_once(['.', '-']).map(|(first, _)| first.parse());
        let fits = one.phase.is_some_and(|phase| of == Some(Ok(phase.whole)));
        if fits
            && one.named.shape == IdCertainty::Number
            && matches!(one.place, IdPlace::Heading(_))
        {
            roles[at] = CandidateRole::Task;
        }
    }
}

/// Decides items such as `1. **T1.1 Title**` below a phase, in plans that have nothing else.
fn decide_spaced(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    for (at, one) in all.iter().enumerate() {
        let sure = one.named.shape == IdCertainty::Strong && one.phase.is_some() && !one.aside;
        if sure && one.place == IdPlace::Item && one.item.is_none() && !one.named.title.is_empty() {
            roles[at] = CandidateRole::Task;
        }
    }
}

/// Decides series of ids such as `- B0.1. Title`, `- B0.2. Title`, in plans that have nothing else.
fn decide_series(all: &[TaskCandidate<'_>], roles: &mut [CandidateRole]) {
    let fits = |one: &TaskCandidate<'_>| {
        let apart = one.named.separator == TitleSeparator::Clear;
        let place = one.place == IdPlace::Item && one.item.is_none() && !one.aside && !one.boxed;
        place && apart && one.named.shape == IdCertainty::Loose && !one.named.title.is_empty()
    };
    let mut counted: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
    for one in all.iter().filter(|one| fits(one)) {
        let id = one.named.names.first();
        *counted
            .entry(id_prefix(id))
            .or_default()
            .entry(id)
            .or_default() += 1;
    }
    counted.retain(|_, ids| ids.len() >= SERIES_LEAST && ids.values().all(|count| *count == 1));
    for (at, one) in all.iter().enumerate() {
        if fits(one) && counted.contains_key(id_prefix(one.named.names.first())) {
            roles[at] = CandidateRole::Task;
        }
    }
}

fn tasks_of(all: &[TaskCandidate<'_>], roles: &[CandidateRole]) -> HashSet<String> {
    let tasks = all
        .iter()
        .zip(roles)
        .filter(|(_, role)| **role == CandidateRole::Task);
    tasks
        .flat_map(|(one, _)| expand_ids(&one.named.names))
        .collect()
}
