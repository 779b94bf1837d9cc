//! Builds tasks, groups and phases from the headers found in a plan. A repeated id becomes one
//! task, or a finding.

use bowline_words::message::InPlan;
use std::collections::HashMap;

use super::fields;
use super::finding::{PlanFinding, PlanFindingCode};
use super::head::{HeaderIds, PhaseWord, place_in};
use super::id::{TaskId, leading_number, phase_of_id};
use super::parse::without_comment;
use super::roles::{CandidateRole, expand_ids};
use super::status::{self, TaskProgress};
use super::survey::{IdPlace, PhaseFound, PlanSurvey, TaskCandidate};
use super::{PhaseHeading, PhaseSection, PlanTask, TaskGroup, slug::title_slug};
use crate::finding::Severity;

/// The owner of the fields in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldOwner {
    Task(usize),
    /// The tasks of one header, as an index into [`UnresolvedPlan::sets`].
    Tasks(usize),
    Group(usize),
    Phase(u32),
    Nobody,
}

/// The tasks of a plan before their fields are resolved.
pub(super) struct UnresolvedPlan {
    pub(super) project: Option<String>,
    pub(super) phases: Vec<PhaseHeading>,
    pub(super) tasks: Vec<PlanTask>,
    pub(super) index: HashMap<TaskId, usize>,
    pub(super) groups: Vec<TaskGroup>,
    /// The tasks of each group, by index.
    pub(super) members: Vec<Vec<usize>>,
    /// The tasks of headers that name several.
    pub(super) sets: Vec<Vec<usize>>,
    /// Steps by name, with the task they belong to.
    pub(super) steps: HashMap<String, usize>,
    pub(super) worktrees: HashMap<u32, String>,
    /// Status marks in tables, for tasks without a mark of their own.
    pub(super) spare: HashMap<usize, status::ProgressMark>,
    /// The owner of the text below each candidate.
    pub(super) owners: Vec<Option<FieldOwner>>,
    pub(super) findings: Vec<PlanFinding>,
}

impl UnresolvedPlan {
    /// Makes a task the owner, or a further owner, of a candidate's text.
    fn add_owner(&mut self, candidate: usize, task: usize) {
        match self.owners[candidate] {
            None => self.owners[candidate] = Some(FieldOwner::Task(task)),
            Some(FieldOwner::Task(first)) => {
                self.owners[candidate] = Some(FieldOwner::Tasks(self.sets.len()));
                self.sets.push(vec![first, task]);
            }
            Some(FieldOwner::Tasks(set)) => self.sets[set].push(task),
            Some(FieldOwner::Group(_) | FieldOwner::Phase(_) | FieldOwner::Nobody) => {}
        }
    }

    /// Returns the tasks that an owner stands for.
    pub(super) fn owned_tasks(&self, owner: FieldOwner) -> Vec<usize> {
        match owner {
            FieldOwner::Task(task) => vec![task],
            FieldOwner::Tasks(set) => self.sets[set].clone(),
            FieldOwner::Group(group) => self.members[group].clone(),
            FieldOwner::Phase(_) | FieldOwner::Nobody => Vec::new(),
        }
    }
}

pub(super) fn build_plan(survey: &PlanSurvey<'_>) -> UnresolvedPlan {
    let mut built = UnresolvedPlan {
        project: survey.first_heading.and_then(project_name),
        phases: phase_headings(survey),
        tasks: Vec::new(),
        index: HashMap::new(),
        groups: Vec::new(),
        members: Vec::new(),
        sets: Vec::new(),
        steps: HashMap::new(),
        worktrees: HashMap::new(),
        spare: HashMap::new(),
        owners: vec![None; survey.candidates.len()],
        findings: Vec::new(),
    };
    build_tasks(survey, &mut built);
    build_groups(survey, &mut built);
    built
}

/// Ranks candidates for the main header of a task: headings first, then those with a box.
fn header_rank(one: &TaskCandidate<'_>) -> u8 {
    match (one.place, one.boxed) {
        (IdPlace::Heading(_), true) => 0,
        (IdPlace::Heading(_), false) => 1,
        (IdPlace::Item | IdPlace::Line | IdPlace::Bold, true) => 2,
        (IdPlace::Cell, true) => 3,
        (IdPlace::Item | IdPlace::Line | IdPlace::Bold, false) => 4,
        (IdPlace::Cell, false) => 5,
    }
}

/// True if a list entry repeats the id of a heading with a different title, as a remark.
fn is_mention(main: &TaskCandidate<'_>, other: &TaskCandidate<'_>) -> bool {
    let heading = |one: &TaskCandidate<'_>| matches!(one.place, IdPlace::Heading(_));
    heading(main) && !main.boxed && !heading(other) && !same_title(main, other)
}

fn build_tasks(survey: &PlanSurvey<'_>, built: &mut UnresolvedPlan) {
    let all = &survey.candidates;
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut order: Vec<String> = Vec::new();
    for (at, one) in all
        .iter()
        .enumerate()
        .filter(|(at, _)| survey.roles[*at] == CandidateRole::Task)
    {
        for id in expand_ids(&one.named.names) {
            let met = places.entry(id.clone()).or_default();
            if met.is_empty() {
                order.push(id);
            }
            met.push(at);
        }
    }
    for id in order {
        let Ok(task_id) = TaskId::new(&id) else {
            continue;
        };
        let met = &places[&id];
        // A header of its own takes precedence over one that names several tasks.
        let several = |at: &usize| !matches!(all[*at].named.names, HeaderIds::One(_));
        let Some(&main) = met
            .iter()
            .min_by_key(|at| (several(at), header_rank(&all[**at]), **at))
        else {
            continue;
        };
        for &other in met.iter().filter(|other| **other != main) {
            let within = [all[other].item, all[other].above].contains(&Some(main));
            // Inside another task it is a remark: `- [ ] T1.1 is merged`.
            if !within && all[other].item.is_some() && all[main].item.is_none() {
                continue;
            }
            if is_mention(&all[main], &all[other]) {
                continue;
            }
            if !within && headers_clash(&all[main], &all[other]) {
                let (first, second) = (
                    all[main].line.min(all[other].line),
                    all[main].line.max(all[other].line),
                );
                let message = InPlan::Twice {
                    id: id.to_string(),
                    line: first,
                };
                let mut finding = PlanFinding::new(PlanFindingCode::DuplicateId, second, message);
                let done = |at: usize| {
                    let mark = all[at].mark.as_ref();
                    mark.is_some_and(|mark| mark.says == TaskProgress::Done)
                };
                if done(main) && done(other) {
                    finding.severity = Severity::Warning;
                }
                built
                    .findings
                    .push(finding.with_lines([first]).with_path([task_id.clone()]));
                continue;
            }
            built.add_owner(other, built.tasks.len());
            if let (IdPlace::Heading(_), Some(mark)) = (all[main].place, &all[other].mark) {
                let spare = built.spare.entry(built.tasks.len());
                spare.or_insert_with(|| mark.clone());
            }
        }
        built.add_owner(main, built.tasks.len());
        built.index.insert(task_id.clone(), built.tasks.len());
        let task = build_task(task_id, main, met, survey, &mut built.findings);
        built.tasks.push(task);
    }
    for (at, one) in all.iter().enumerate() {
        let id = one.named.names.first();
        match survey.roles[at] {
            CandidateRole::Step(whole) => {
                if let Some(FieldOwner::Task(task)) = built.owners[whole] {
                    built.steps.insert(id.to_owned(), task);
                }
                // Its fields belong to the step.
                built.owners[at] = Some(FieldOwner::Nobody);
            }
            CandidateRole::Struck => {
                built.owners[at] = Some(FieldOwner::Nobody);
                let message = InPlan::StruckOut { id: id.to_string() };
                let finding = PlanFinding::new(PlanFindingCode::UnreadHeader, one.line, message);
                built.findings.push(finding);
            }
            CandidateRole::Boxless
            | CandidateRole::Unsure
            | CandidateRole::Nothing
            | CandidateRole::Group => {
                if let Some(&task) = built.index.get(id) {
                    // A repeated heading: the text below it is also about the task. In a list it is
                    // only a remark.
                    let heading = matches!(one.place, IdPlace::Heading(_) | IdPlace::Cell);
                    built.owners[at] = heading.then_some(FieldOwner::Task(task));
                    if let (true, Some(mark)) = (one.place == IdPlace::Cell, &one.mark) {
                        built.spare.entry(task).or_insert_with(|| mark.clone());
                    }
                } else if survey.roles[at] == CandidateRole::Boxless {
                    built.owners[at] = Some(FieldOwner::Nobody);
                    let message = InPlan::NoBox { id: id.to_string() };
                    let finding = PlanFinding::new(PlanFindingCode::NoBox, one.line, message);
                    built.findings.push(finding);
                } else if survey.roles[at] == CandidateRole::Unsure {
                    let message = InPlan::UnsureId { id: id.to_string() };
                    let finding =
                        PlanFinding::new(PlanFindingCode::UnreadHeader, one.line, message);
                    built.findings.push(finding);
                }
            }
            CandidateRole::Task => {}
        }
    }
}

/// True if two headers with one id are two different tasks.
fn headers_clash(main: &TaskCandidate<'_>, other: &TaskCandidate<'_>) -> bool {
    // A list behind all phases repeats tasks that are defined in one.
    let outside = main.phase.is_some() && other.phase.is_none();
    let aside = main.aside || other.aside || outside;
    header_rank(main) == header_rank(other) && !aside && !same_title(main, other)
}

/// True if one title contains the other, comparing letters and digits only.
fn same_title(one: &TaskCandidate<'_>, other: &TaskCandidate<'_>) -> bool {
    let plain = |one: &TaskCandidate<'_>| {
        let title = fields::split_title(one.named.title).title;
        let letters = title.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let (a, b) = (plain(one), plain(other));
    a.contains(&b) || b.contains(&a)
}

fn build_task(
    id: TaskId,
    main: usize,
    met: &[usize],
    survey: &PlanSurvey<'_>,
    findings: &mut Vec<PlanFinding>,
) -> PlanTask {
    let one = &survey.candidates[main];
    let several = !matches!(one.named.names, HeaderIds::One(_));
    let mut title = without_comment(one.named.title);
    let title_at = |part: &str| one.named.title_at + place_in(one.named.title, part);
    let mut marks: Vec<status::ProgressMark> =
        one.mark.iter().filter(|_| !several).cloned().collect();
    let mut progress = match &one.mark {
        Some(mark) => mark.says,
        None => progress_of_group(one, survey),
    };
    let mut shorten = |title: &mut &str| {
        if let Some((mark, kept)) = status::at_end(title, one.named.title_at) {
            progress = progress.max(mark.says);
            if !several {
                marks.push(mark);
            }
            *title = kept;
        }
    };
    shorten(&mut title);
    title = fields::split_title(title).title;
    shorten(&mut title);
    if let Some((mark, kept)) = status::before_title(title, title_at(title)) {
        progress = progress.max(mark.says);
        if !several {
            marks.push(mark);
        }
        title = kept;
    }
    // A box is more reliable: `[ ] T1.1: Order page - done` is about a page.
    if let Some((mark, kept)) = status::after_dash(title, title_at(title))
        && (!one.boxed || (mark.says, progress) == (TaskProgress::Done, TaskProgress::Done))
    {
        progress = mark.says;
        if !several {
            marks.push(mark);
        }
        title = kept;
    }
    // `T2` alone may count tasks as well as phases.
    let id_phase = phase_of_id(id.as_str()).filter(|_| id.as_str().contains(['.', '-']));
    let stated = met
        .iter()
        .find_map(|at| survey.candidates[*at].named.stated);
    let around = one
        .phase
        .or_else(|| met.iter().find_map(|at| survey.candidates[*at].phase));
    let phase = stated.or(around);
    let number = phase
        .map(|phase| phase.whole)
        .or(id_phase)
        .or(id.first_number())
        .unwrap_or(0);
    let mut note = |code: PlanFindingCode, message: InPlan| {
        findings.push(PlanFinding::new(code, one.line, message).with_path([id.clone()]));
    };
    match (stated, id_phase, around) {
        (Some(stated), Some(id_phase), _) if stated.whole != id_phase => {
            let stated = stated.whole;
            let id = id.to_string();
            let message = InPlan::OtherPhase {
                id,
                stated,
                id_phase,
            };
            note(PlanFindingCode::WrongPhase, message);
        }
        (None, Some(id_phase), Some(around)) if around.whole != id_phase => {
            let around = around.whole;
            let id = id.to_string();
            let message = InPlan::PhaseAbove {
                id,
                around,
                id_phase,
            };
            note(PlanFindingCode::PhaseMismatch, message);
        }
        _ => {}
    }
    if title.is_empty()
        && met
            .iter()
            .all(|at| survey.candidates[*at].named.title.is_empty())
    {
        let id = id.to_string();
        note(PlanFindingCode::EmptyTitle, InPlan::NoTitle { id });
    }
    if let Some(mark) = one.odd {
        let message = InPlan::OddBox {
            id: id.to_string(),
            mark: mark.to_string(),
        };
        note(PlanFindingCode::UnknownTick, message);
    }
    if title.is_empty() {
        let other = met.iter().map(|at| survey.candidates[*at].named.title);
        title = other
            .filter(|title| !title.is_empty())
            .map(|title| fields::split_title(title).title)
            .next()
            .unwrap_or("");
    }
    let heading = matches!(one.place, IdPlace::Heading(_) | IdPlace::Item) && !several;
    PlanTask {
        id,
        phase: number,
        section: around
            .filter(|it| it.whole == number)
            .map_or(0, |phase| phase.half),
        title: match one.place {
            IdPlace::Cell => whole_marks(title).replace("\\|", "|"),
            _ => whole_marks(title),
        },
        done: progress == TaskProgress::Done,
        progress,
        assignee: None,
        worktree: None,
        touches: Vec::new(),
        dependencies: Vec::new(),
        parallel_with: Vec::new(),
        line: one.line,
        marks,
        body: 0..0,
        title_end: heading.then(|| one.named.title_at + one.named.title.len()),
    }
}

/// Returns the progress of the group around a table row, for rows without a status.
fn progress_of_group(one: &TaskCandidate<'_>, survey: &PlanSurvey<'_>) -> TaskProgress {
    let group = one
        .above
        .filter(|above| one.place == IdPlace::Cell && survey.roles[*above] == CandidateRole::Group);
    let Some(group) = group.map(|above| &survey.candidates[above]) else {
        return TaskProgress::Open;
    };
    let behind = status::at_end(group.named.title, 0).map(|(mark, _)| mark.says);
    let before = group.mark.as_ref().map(|mark| mark.says);
    before
        .or(behind)
        .filter(|says| *says == TaskProgress::Done)
        .unwrap_or(TaskProgress::Open)
}

/// Removes the end of emphasis that began before the id: `**T1.1: Title** more`.
fn whole_marks(title: &str) -> String {
    let mut title = title.to_owned();
    for marker in ["**", "~~", "`"] {
        if title.matches(marker).count() % 2 == 1 {
            title = title.replacen(marker, "", 1);
        }
    }
    title
}

fn build_groups(survey: &PlanSurvey<'_>, built: &mut UnresolvedPlan) {
    let mut at_id: HashMap<&str, usize> = HashMap::new();
    for (at, one) in survey.candidates.iter().enumerate() {
        let id = one.named.names.first();
        if survey.roles[at] != CandidateRole::Group
            || built.index.contains_key(id)
            || !matches!(one.named.names, HeaderIds::One(_))
        {
            continue;
        }
        let Ok(task_id) = TaskId::new(id) else {
            continue;
        };
        let group = *at_id.entry(id).or_insert_with(|| {
            built.groups.push(TaskGroup {
                id: task_id,
                tasks: Vec::new(),
                line: one.line,
            });
            built.groups.len() - 1
        });
        built.owners[at] = Some(FieldOwner::Group(group));
    }
    let mut by_id: Vec<Vec<usize>> = vec![Vec::new(); built.groups.len()];
    let mut by_place = by_id.clone();
    for (at, task) in built.tasks.iter().enumerate() {
        let id = task.id.as_str();
        for (end, _) in id.match_indices(['-', '.']) {
            if let Some(&group) = at_id.get(&id[..end]) {
                by_id[group].push(at);
            }
        }
    }
    for (at, _) in survey.candidates.iter().enumerate() {
        let Some(FieldOwner::Task(_) | FieldOwner::Tasks(_)) = built.owners[at] else {
            continue;
        };
        for above in survey.headings_above(at) {
            if let Some(FieldOwner::Group(group)) = built.owners[above] {
                by_place[group].extend(
                    built.owners[at]
                        .map(|it| built.owned_tasks(it))
                        .unwrap_or_default(),
                );
            }
        }
    }
    for (group, (id, mut place)) in built.groups.iter_mut().zip(by_id.into_iter().zip(by_place)) {
        place.sort_unstable();
        place.dedup();
        let members = if id.is_empty() { place } else { id };
        group.tasks = members
            .iter()
            .map(|at| built.tasks[*at].id.clone())
            .collect();
        built.members.push(members);
    }
}

/// Returns the phases, one per number, each with its best heading.
fn phase_headings(survey: &PlanSurvey<'_>) -> Vec<PhaseHeading> {
    let mut phases: Vec<PhaseHeading> = Vec::new();
    let mut known: HashMap<u32, usize> = HashMap::new();
    let mut titled: HashMap<u32, u8> = HashMap::new();
    for found in &survey.phases {
        let number = found.number.whole;
        let at = *known.entry(number).or_insert_with(|| {
            phases.push(PhaseHeading {
                number,
                title: String::new(),
                slug: String::new(),
                line: found.line,
                worktree: None,
                sections: Vec::new(),
            });
            phases.len() - 1
        });
        let phase = &mut phases[at];
        let half = found.number.half;
        if half > 0 && !phase.sections.iter().any(|section| section.number == half) {
            let title = found.title.to_owned();
            phase.sections.push(PhaseSection {
                number: half,
                title,
                line: found.line,
            });
        }
        let title = status::at_end(found.title, 0).map_or(found.title, |(_, kept)| kept);
        let best = titled.entry(number).or_default();
        let rank = title_rank(found);
        if !found.aside && rank > *best {
            (phase.title, phase.slug, phase.line) =
                (title.to_owned(), title_slug(title), found.line);
            *best = rank;
        }
    }
    phases
}

/// Ranks the headings of a phase: `Phase 1` before `M1`, which may be a milestone around it.
/// Remarks about a phase and titles of half phases are used only until there is a better one.
fn title_rank(found: &PhaseFound<'_>) -> u8 {
    if found.number.half > 0 {
        return 1;
    }
    let named = if found.word == PhaseWord::Phase { 1 } else { 0 };
    match found.about {
        true => 2 + named,
        false => 4 + named,
    }
}

/// Words of a title that mean "plan" rather than a project.
const PLAN_WORDS: [&str; 4] = ["tasks", "task", "태스크", "태스크 목록"];

/// Returns the title of the file without the word for a plan or its file name; `# TASKS` alone
/// names no project.
fn project_name(heading: &str) -> Option<String> {
    // A sign before the word is decoration, as in `📋 TASKS: Ferry`.
    let bare = heading.trim_start_matches(|c: char| !c.is_alphanumeric());
    let bare = bare.trim_end_matches(['`', '*', '_', ' ']);
    let is_plan = |part: &str| {
        let part = part.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = part.to_lowercase();
        lower.is_empty() || is_file_name(&lower) || PLAN_WORDS.contains(&lower.as_str())
    };
    if is_plan(bare) {
        return None;
    }
    // Before or behind a separator, or in brackets.
    let cuts = bare.char_indices().filter_map(|(at, c)| {
        let spaced = |at: usize| bare[..at].ends_with(' ') && bare[at..].contains(' ');
        let cuts = match c {
            ':' | '：' | '|' | '—' | '–' | '(' | '（' => true,
            '-' => spaced(at),
            _ => false,
        };
        let after = &bare[at + c.len_utf8()..];
        let inside = matches!(c, '(' | '（');
        let inside = inside.then(|| after.trim_end_matches([')', '）', ' ']));
        cuts.then_some((&bare[..at], inside.unwrap_or(after).trim()))
    });
    let named =
        cuts.into_iter()
            .find_map(|(before, after)| match (is_plan(before), is_plan(after)) {
                (true, false) => Some(after),
                (false, true) => Some(before.trim()),
                _ => None,
            });
    // `Ferry TASKS` in capitals, or `Ferry Tasks.md`: the last word.
    let last = bare
        .rsplit_once(' ')
        .filter(|(_, word)| *word == "TASKS" || is_file_name(&word.to_lowercase()));
    let name = named
        .or(last.map(|(before, _)| before))
        .unwrap_or(heading)
        .trim();
    let number = leading_number(name).is_some_and(|(_, length)| length == name.len());
    (!name.is_empty() && !number).then(|| name.to_owned())
}

/// True for file names such as `tasks.md` and `06-tasks.md`.
fn is_file_name(word: &str) -> bool {
    word.strip_suffix(".md")
        .is_some_and(|stem| !stem.is_empty() && !stem.contains(' '))
}
