//! Which of the ids in a plan are tasks. A box makes a task; without one it depends on what else the plan has.

use std::collections::{HashMap, HashSet};

use super::fields::Field;
use super::head::{Names, Separator};
use super::id::{Shape, continues, last_number};
use super::refs::full_end;
use super::survey::{Candidate, Place};

/// Most tasks one header may stand for.
const EXPANDED_MAX: u32 = 200;

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Task,
    /// A name for the tasks below it.
    Group,
    /// A part of another candidate's task.
    Step(usize),
    /// An id heading without a box in a plan whose tasks have boxes.
    Boxless,
    /// It has a box and what may be an id, but no other id of the plan looks like it.
    Unsure,
    Nothing,
}

/// The ids a candidate stands for, written in full.
pub(super) fn expanded(names: &Names<'_>) -> Vec<String> {
    match names {
        Names::One(id) => vec![(*id).to_owned()],
        Names::Several(ids) => {
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
        Names::Range(first, end) => {
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

/// The letters an id begins with, for ids that are sure only in numbers.
fn prefix(id: &str) -> &str {
    let end = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
    &id[..end]
}

/// Says what each candidate is.
pub(super) fn decide(all: &[Candidate<'_>]) -> Vec<Role> {
    let mut roles = vec![Role::Nothing; all.len()];
    boxed(all, &mut roles);
    let ticked_headings = all
        .iter()
        .zip(&roles)
        .any(|(one, role)| *role == Role::Task && matches!(one.place, Place::Heading(_)));
    headings(all, &mut roles, ticked_headings);
    let loose = !roles.contains(&Role::Task);
    items(all, &mut roles);
    rows(all, &mut roles);
    if loose && !roles.contains(&Role::Task) {
        bold(all, &mut roles);
    }
    if !roles.contains(&Role::Task) {
        numbered(all, &mut roles);
    }
    if !roles.contains(&Role::Task) {
        spaced(all, &mut roles);
    }
    roles
}

/// Everything with a box, as far as its id is sure enough.
fn boxed(all: &[Candidate<'_>], roles: &mut [Role]) {
    let boxed = || all.iter().enumerate().filter(|(_, one)| one.boxed);
    let strong = boxed().any(|(_, one)| one.named.shape == Shape::Strong);
    let mut counted: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut cleared: HashSet<&str> = HashSet::new();
    for (_, one) in boxed().filter(|(_, one)| one.named.shape == Shape::Loose) {
        let id = one.named.names.first();
        counted.entry(prefix(id)).or_default().insert(id);
        if clear(one) {
            cleared.insert(prefix(id));
        }
    }
    let several = |id: &str| counted.get(prefix(id)).is_some_and(|ids| ids.len() > 1);
    // With only a space behind it, an id has to look like others: `UI-1 button` beside `UI-2 list`, and not `GPT-4 costs`.
    let alike = |one: &Candidate<'_>| {
        let id = one.named.names.first();
        clear(one) || several(id) && (!strong || cleared.contains(prefix(id)))
    };
    let lettered = strong || boxed().any(|(_, one)| one.named.shape == Shape::Loose && alike(one));
    // Where tasks are headings, a list is mostly an ordinary check list: one odd word in it is no id, a series of them is.
    let headed = boxed()
        .any(|(_, one)| one.named.shape == Shape::Strong && matches!(one.place, Place::Heading(_)));
    for (at, one) in boxed() {
        let id = one.named.names.first();
        let heading = matches!(one.place, Place::Heading(_));
        let inside = one
            .item
            .or(one.above)
            .is_some_and(|outer| roles[outer] == Role::Task);
        let task = match one.named.shape {
            Shape::Strong => true,
            Shape::Loose if heading => alike(one),
            Shape::Loose => alike(one) && !inside && (several(id) || !strong),
            Shape::Number => !lettered && (heading || !inside || id.contains('.')),
        };
        if task {
            roles[at] = Role::Task;
        } else if one.named.shape == Shape::Loose
            && !one.aside
            && (heading || !clear(one) && !inside && (!headed || several(id)))
        {
            roles[at] = Role::Unsure;
        }
    }
    // A list that says `T1.1` of the heading `P1-T1.1` says it again.
    let headed = |one: &Candidate<'_>| matches!(one.place, Place::Heading(_));
    let mut ends: HashSet<&str> = HashSet::new();
    for (one, _) in all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| headed(one) && **role == Role::Task)
    {
        let id = one.named.names.first();
        ends.extend(id.match_indices('-').map(|(at, _)| &id[at + 1..]));
    }
    // Beside headings a check list may speak of `T3` and mean a server: without a colon it needs the form of a task's id.
    let form = |id: &str| {
        id.chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect::<String>()
    };
    let headings = all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| headed(one) && **role == Role::Task);
    let forms: HashSet<String> = headings
        .map(|(one, _)| form(one.named.names.first()))
        .collect();
    let inside = |one: &Candidate<'_>| one.aside || one.item.or(one.above).is_some();
    // Inside of a task a code with other letters than those of tasks (`AC1-2`) is a criterion, and no task.
    let is_task = |outer: Option<usize>| outer.is_some_and(|outer| roles[outer] == Role::Task);
    let within = |one: &Candidate<'_>| is_task(one.item.or(one.above));
    let own: HashSet<&str> = all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| **role == Role::Task && !within(one))
        .map(|(one, _)| prefix(one.named.names.first()))
        .chain(["T", "P", "M", "TASK-", "Task-", "task-"])
        .collect();
    let codes: Vec<bool> = all
        .iter()
        .map(|one| within(one) && !own.contains(prefix(one.named.names.first())))
        .collect();
    for ((one, role), code) in all.iter().zip(roles).zip(codes) {
        if headed(one) {
            continue;
        }
        let id = one.named.names.first();
        let part = one.item.or(one.above).is_some_and(|outer| {
            let outer = all[outer].named.names.first();
            continues(id, outer, '.') || continues(id, outer, '-')
        });
        let known = part || forms.is_empty() || forms.contains(&form(id));
        let remark = !clear(one) && inside(one) && !known;
        if ends.contains(id) || remark || (code && one.named.shape == Shape::Strong) {
            *role = Role::Nothing;
        }
    }
}

fn clear(one: &Candidate<'_>) -> bool {
    one.named.separator != Separator::Space
}

/// Id headings without a box.
fn headings(all: &[Candidate<'_>], roles: &mut [Role], ticked_headings: bool) {
    let strong = all.iter().any(|one| one.named.shape == Shape::Strong);
    let mut counted: HashMap<&str, HashSet<&str>> = HashMap::new();
    let open: Vec<usize> = (0..all.len())
        .filter(|at| !all[*at].boxed && matches!(all[*at].place, Place::Heading(_)))
        .collect();
    for &at in &open {
        let id = all[at].named.names.first();
        counted.entry(prefix(id)).or_default().insert(id);
    }
    // `### 1.1 Sign-in` above `- [ ] 1.1.1 Form`; a section `2.` is none.
    let numbers = all
        .iter()
        .zip(&*roles)
        .filter(|(one, role)| one.named.shape == Shape::Number && **role == Role::Task);
    let parted: HashSet<&str> = numbers
        .map(|(one, _)| one.named.names.first())
        .flat_map(|id| id.match_indices('.').map(move |(end, _)| &id[..end]))
        .filter(|id| id.contains('.'))
        .collect();
    let sure = |at: &usize| {
        let one = &all[*at];
        let several = counted
            .get(prefix(one.named.names.first()))
            .is_some_and(|ids| ids.len() > 1);
        match one.named.shape {
            Shape::Strong => true,
            Shape::Loose => !strong && several && one.named.separator == Separator::Clear,
            Shape::Number => parted.contains(one.named.names.first()),
        }
    };
    let open: Vec<usize> = open.into_iter().filter(sure).collect();
    // Ids that could make a heading's id the shorter one, and headings that hold such ids.
    let is_open: HashSet<usize> = open.iter().copied().collect();
    let mut longer = HashSet::new();
    let mut holders = HashSet::new();
    for (at, one) in all.iter().enumerate() {
        let task = roles[at] == Role::Task;
        let heading = is_open.contains(&at);
        let listed = one.place == Place::Item && one.named.shape == Shape::Strong && clear(one);
        if !(task || heading || listed) {
            continue;
        }
        let id = one.named.names.first();
        longer.extend(id.match_indices('-').map(|(end, _)| &id[..end]));
        if (task || heading)
            && let Some(above) = one.above
            && all[above].named.names.first() != id
        {
            holders.insert(above);
        }
    }
    let mut heads: HashSet<&str> = HashSet::new();
    for &at in &open {
        let id = all[at].named.names.first();
        let group = holders.contains(&at) || longer.contains(id) || parted.contains(id);
        roles[at] = match (group, ticked_headings) {
            (true, _) => Role::Group,
            (false, true) => Role::Boxless,
            (false, false) => Role::Task,
        };
        if roles[at] == Role::Task {
            heads.insert(id);
        }
    }
    // Among those of one level an id continued by a full stop is a step of the shorter one.
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
        if roles[at] == Role::Task
            && let Some(whole) = shorter
            && let Some(&whole) = first.get(whole)
        {
            roles[at] = Role::Step(whole);
        }
    }
}

/// List items without a box: tasks where nothing else can be meant.
fn items(all: &[Candidate<'_>], roles: &mut [Role]) {
    let any_box = all
        .iter()
        .zip(&*roles)
        .any(|(one, role)| one.boxed && *role == Role::Task);
    let known: HashSet<String> = tasks_of(all, roles);
    let ends: HashSet<&str> = known
        .iter()
        .flat_map(|id| id.match_indices('-').map(|(at, _)| &id[at + 1..]))
        .collect();
    let wanted = |one: &Candidate<'_>| {
        !one.boxed && one.place == Place::Item && one.named.shape == Shape::Strong
    };
    // An id that others continue is a name for them, as with headings.
    let listed = all.iter().filter(|one| wanted(one) && clear(one));
    let longer: HashSet<&str> = listed
        .map(|one| one.named.names.first())
        .chain(known.iter().map(String::as_str))
        .flat_map(|id| id.match_indices('-').map(move |(end, _)| &id[..end]))
        .collect();
    let headed: HashSet<&str> = all
        .iter()
        .filter(|one| matches!(one.place, Place::Heading(_)))
        .map(|one| one.named.names.first())
        .collect();
    for (at, one) in all.iter().enumerate() {
        if !wanted(one) {
            continue;
        }
        let id = one.named.names.first();
        if longer.contains(id) {
            if !one.aside && !headed.contains(id) {
                roles[at] = Role::Group;
            }
            continue;
        }
        let titled = one.named.separator == Separator::Clear
            && one
                .named
                .title
                .starts_with(|c: char| c.is_alphanumeric() || "*`[\"'「(<".contains(c));
        let holder = one.item.or(one.above);
        if known.contains(id) || ends.contains(id) {
            continue;
        }
        if let Some(holder) = holder
            && let Role::Task | Role::Step(_) = roles[holder]
        {
            if continues(id, all[holder].named.names.first(), '.')
                || continues(id, all[holder].named.names.first(), '-')
            {
                roles[at] = Role::Step(holder);
            }
            continue;
        }
        let placed =
            one.phase.is_some() || holder.is_some_and(|holder| roles[holder] == Role::Group);
        if titled && !one.aside && (placed || !any_box) {
            roles[at] = Role::Task;
        }
    }
}

/// Rows of tables.
fn rows(all: &[Candidate<'_>], roles: &mut [Role]) {
    let any = roles.contains(&Role::Task);
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
        .filter(|at| all[*at].place == Place::Cell)
        .collect();
    for &at in &rows {
        let id = all[at].named.names.first();
        shorter.extend(id.match_indices('-').map(|(end, _)| &id[..end]));
    }
    let strong = any || rows.iter().any(|at| all[*at].named.shape == Shape::Strong);
    for at in rows {
        let one = &all[at];
        let id = one.named.names.first();
        let field = |wanted: Field| {
            one.cells
                .iter()
                .flat_map(|cells| &cells.fields)
                .any(|(field, _)| *field == wanted)
        };
        let told = one.mark.is_some() || field(Field::Needs) || field(Field::Assignee);
        let task = match one.named.shape {
            Shape::Strong => told || !any,
            Shape::Loose => !strong && told,
            Shape::Number => false,
        };
        // Beside tasks with boxes a table mostly says again what they are.
        let wanted = !any || one.boxed || (one.mark.is_some() && !one.aside);
        if task && wanted && !known.contains(id) && !ends.contains(id) && !shorter.contains(id) {
            roles[at] = Role::Task;
        }
    }
}

/// Paragraphs that begin with an id in bold, in plans that have nothing else.
fn bold(all: &[Candidate<'_>], roles: &mut [Role]) {
    for (at, one) in all.iter().enumerate() {
        let sure = one.named.shape == Shape::Strong && !one.aside;
        if one.place == Place::Bold && sure {
            roles[at] = Role::Task;
        }
    }
}

/// `### 1.2 Title` below `## Phase 1`, in plans that have nothing else: a number that begins with that of its phase.
fn numbered(all: &[Candidate<'_>], roles: &mut [Role]) {
    for (at, one) in all.iter().enumerate() {
        let id = one.named.names.first();
        let of = id.split_once(['.', '-']).map(|(first, _)| first.parse());
        let fits = one.phase.is_some_and(|phase| of == Some(Ok(phase.whole)));
        if fits && one.named.shape == Shape::Number && matches!(one.place, Place::Heading(_)) {
            roles[at] = Role::Task;
        }
    }
}

/// `1. **T1.1 Title**` below a phase, in plans that have nothing else.
fn spaced(all: &[Candidate<'_>], roles: &mut [Role]) {
    for (at, one) in all.iter().enumerate() {
        let sure = one.named.shape == Shape::Strong && one.phase.is_some() && !one.aside;
        if sure && one.place == Place::Item && one.item.is_none() && !one.named.title.is_empty() {
            roles[at] = Role::Task;
        }
    }
}

fn tasks_of(all: &[Candidate<'_>], roles: &[Role]) -> HashSet<String> {
    let tasks = all
        .iter()
        .zip(roles)
        .filter(|(_, role)| **role == Role::Task);
    tasks
        .flat_map(|(one, _)| expanded(&one.named.names))
        .collect()
}
