//! Holds every answer of a round against the history that is left of it.
//!
//! An acknowledged transition has its line, under the number that was told, and its token is in the version after it.
//! From there on the token is followed from version to version: where it goes, the line must say why.

use super::operations::{TASK_HISTORY, TASK_STATE, token, tokens};
use super::{Answer, Done};
use bowline_engine::statefiles::{JournalHistory, JournalLine, StateFile, kind};
use bowline_formats::transition::Transition;
use xtask::Outcome;

use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Lines of the journal shown before and after the one in question.
const AROUND: u64 = 4;

/// What the journal has under one number.
struct Told {
    kind: String,
    trigger: String,
    to: String,
    metadata: Value,
    voids: Option<u64>,
    note: String,
}

/// The history of one file.
pub(super) struct Story<'f> {
    name: &'f str,
    path: &'f Path,
    history: JournalHistory,
    lines: BTreeMap<u64, Told>,
    void: BTreeSet<u64>,
    /// The older versions that edits put back as they were, by the line of the edit.
    put_back: BTreeMap<u64, u64>,
    /// The tokens of every version that counts, by its line.
    versions: BTreeMap<u64, Vec<bool>>,
    last: Option<String>,
    broken: Vec<String>,
}

/// Where a token went without a reason, and what became of it in the last version.
type Followed = (Vec<(u64, String)>, Option<(u64, Gone)>);

/// Why a token is not in the document.
#[derive(Clone, Copy, PartialEq)]
enum Gone {
    /// An editor lost it; a repair must bring it back.
    Outside,
    /// Somebody meant it to go, and the history says so.
    Named,
}

impl<'f> Story<'f> {
    /// Reads all that the journals of a file say. `count` is the number of operations there were.
    pub(super) fn read(
        name: &'f str,
        path: &'f Path,
        file: &StateFile,
        count: usize,
    ) -> Outcome<Self> {
        let failed = |error| format!("{name}: {error}");
        let history = file.read_history().map_err(failed)?;
        let mut broken: Vec<String> = history.findings.iter().map(ToString::to_string).collect();
        if let Some(first) = history.all_lines().first().filter(|line| line.seq != 1) {
            broken.push(format!("the journal begins with line {}", first.seq));
        }
        let lines: BTreeMap<u64, Told> = history
            .all_lines()
            .iter()
            .map(|line| (line.seq, Told::of(line)))
            .collect();
        if lines.len() != history.all_lines().len()
            || lines
                .keys()
                .zip(1..)
                .any(|(found, wanted)| *found != wanted)
        {
            broken.push("the lines of the journal do not follow each other".to_owned());
        }
        let written = history.all_lines().iter();
        let void: BTreeSet<u64> = written.filter_map(|line| line.voids).collect();
        let (mut seen, mut put_back) = (BTreeMap::new(), BTreeMap::new());
        let (mut versions, mut last) = (BTreeMap::new(), None);
        history.walk_versions(0, |line, _, after| {
            if after.is_none() && !line.gone {
                broken.push(format!("version {} cannot be rebuilt", line.seq));
            }
            last = after.map(str::to_owned);
            // Half of a write is no version: what stands around it is compared with each other.
            if after.is_none_or(is_whole) {
                let older = line.after.and_then(|after| seen.insert(after, line.seq));
                put_back.extend(
                    older
                        .filter(|_| line.kind == kind::OUTSIDE)
                        .map(|older| (line.seq, older)),
                );
                versions.insert(line.seq, tokens(after.unwrap_or_default(), count));
            }
        });
        Ok(Self {
            name,
            path,
            history,
            void,
            put_back,
            lines,
            versions,
            last,
            broken,
        })
    }

    /// The file it is the history of.
    pub(super) fn name(&self) -> &str {
        self.name
    }

    /// Acknowledged transitions that `bowline history --json` does not list.
    pub(super) fn unlisted(&self, done: &[Done], listed: &str) -> Vec<String> {
        let listed: BTreeSet<u64> = listed
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["sequence"].as_u64())
            .collect();
        let unlisted = done.iter().filter_map(|one| match &one.answer {
            Answer::Acknowledged { file, sequence, .. }
                if *file == self.name && !listed.contains(sequence) =>
            {
                let words = &one.words;
                Some(format!(
                    "{file}: history does not list #{sequence} `{words}`"
                ))
            }
            _ => None,
        });
        unlisted.collect()
    }

    /// The number of lines of a kind or with a trigger.
    pub(super) fn count(&self, what: &str) -> usize {
        let is = |told: &&Told| told.kind == what || told.trigger == what;
        self.lines.values().filter(is).count()
    }

    /// Whether any version ever had a token.
    fn ever(&self, number: usize) -> bool {
        self.versions.values().any(|version| version[number])
    }

    fn before(&self, seq: u64) -> Option<&Vec<bool>> {
        self.versions.range(..seq).next_back().map(|one| one.1)
    }

    fn had_before(&self, seq: u64, number: usize) -> bool {
        self.before(seq).is_some_and(|version| version[number])
    }

    fn has_after(&self, seq: u64, number: usize) -> bool {
        self.versions
            .get(&seq)
            .is_some_and(|version| version[number])
    }

    /// Acknowledged transitions that are missing, by an edit that nobody settled, and are not named in what the doctor
    /// found in this file before any repair.
    pub(super) fn unnamed(
        &self,
        done: &[Done],
        past: Option<&Story<'_>>,
        findings: &str,
    ) -> Outcome<Vec<String>> {
        // An edit that the journal does not know yet may have brought back anything.
        if std::fs::read_to_string(self.path).ok() != self.last {
            return Ok(Vec::new());
        }
        let mut unnamed = Vec::new();
        for one in done.iter().filter(|one| one.marked) {
            let Answer::Acknowledged { file, sequence, .. } = &one.answer else {
                continue;
            };
            if *file == self.name
                && let (_, Some((by, Gone::Outside))) = self.follow(one, *sequence, past)?
                && !self
                    .brought(one.number, *sequence, by)
                    .any(|seq| findings.contains(&format!("#{seq} ")))
            {
                let words = &one.words;
                unnamed.push(format!(
                    "{file}: #{sequence} `{words}` was lost by the edit #{by}, and doctor does not name it: {findings}"
                ));
            }
        }
        Ok(unnamed)
    }

    /// The transitions before an edit after which a token was there and had not been: its own, and ways back to it.
    fn brought(&self, number: usize, since: u64, by: u64) -> impl Iterator<Item = u64> {
        let versions = self.versions.range(since..by).map(|(seq, _)| *seq);
        versions.filter(move |seq| self.has_after(*seq, number) && !self.had_before(*seq, number))
    }

    /// Appended values that are in the document more than once.
    fn doubled(&self, one: &Done) -> Option<(u64, String)> {
        let text = self
            .last
            .as_deref()
            .filter(|_| one.words.contains(" append "))?;
        let count = text.matches(&token(one.number)).count();
        (count > 1).then(|| (0, format!("is there {count} times")))
    }

    /// Everything that is wrong with this file after the last repair. `past` is the history of the tasks that are over.
    pub(super) fn violations(
        &self,
        done: &[Done],
        past: Option<&Story<'_>>,
    ) -> Outcome<Vec<String>> {
        let mut wrong = self.broken.clone();
        wrong.extend(self.undone_unnamed());
        let text = std::fs::read_to_string(self.path).ok();
        if text != self.last {
            wrong.push("the file is not the last version of its journal".to_owned());
        }
        // One line may have lost many: told once, with all of them.
        let mut lost: BTreeMap<(u64, String), Vec<String>> = BTreeMap::new();
        for one in done {
            let Answer::Acknowledged { file, sequence, to } = &one.answer else {
                continue;
            };
            let begun = one.words.starts_with("memory task new");
            let followed = *file == self.name || self.name == TASK_HISTORY && begun;
            if !followed {
                continue;
            }
            let mut told = Vec::new();
            if *file == self.name {
                told.extend(self.unlogged(one, *sequence, to));
                told.extend(self.doubled(one));
            }
            if one.marked {
                let (wrong, gone) = self.follow(one, *sequence, past)?;
                told.extend(wrong);
                if let Some((by, Gone::Outside)) = gone {
                    let what = format!("lost by the edit #{by}, and never brought back");
                    told.push((by, what));
                }
            }
            for why in told {
                let (number, words, manner) = (one.number, &one.words, one.manner);
                let what =
                    format!("operation {number} `{words}` ({manner}), #{sequence} of {file}");
                lost.entry(why).or_default().push(what);
            }
        }
        wrong.extend(lost.iter().map(|((seq, what), all)| {
            let all = all.join("\n  ");
            format!("{what}\n  {all}\n{}", self.around(*seq))
        }));
        let name = self.name;
        Ok(wrong.iter().map(|text| format!("{name}: {text}")).collect())
    }

    /// What is wrong with the line of an acknowledged transition.
    fn unlogged(&self, one: &Done, sequence: u64, to: &str) -> Option<(u64, String)> {
        let what = match self.lines.get(&sequence) {
            None => format!("#{sequence} was acknowledged and has no line"),
            Some(_) if self.void.contains(&sequence) => {
                format!("#{sequence} was acknowledged and taken back")
            }
            Some(told) if told.to != to => {
                format!(
                    "#{sequence} was acknowledged as '{to}' and leads to '{}'",
                    told.to
                )
            }
            Some(_) if one.marked && !self.has_after(sequence, one.number) => {
                format!("#{sequence} was acknowledged and is not in the version after it")
            }
            Some(_) => return None,
        };
        Some((sequence, what))
    }

    /// Follows the token of an operation through all versions. Returns where it went without a reason, and what became of
    /// it in the last version.
    fn follow(&self, one: &Done, sequence: u64, past: Option<&Story<'_>>) -> Outcome<Followed> {
        let number = one.number;
        let start = if self.name == TASK_HISTORY {
            0
        } else {
            sequence
        };
        let mut wrong = Vec::new();
        let mut there = false;
        let mut gone: Option<(u64, Gone)> = None;
        let mut gone_at: BTreeMap<u64, Option<(u64, Gone)>> = BTreeMap::new();
        let mut named_once = false;
        for (&seq, version) in self.versions.range(start..) {
            let Some(told) = self.lines.get(&seq) else {
                continue;
            };
            let was = std::mem::replace(&mut there, version[number]);
            if there {
                gone = None;
            } else if let Some(older) = self.put_back.get(&seq) {
                // A whole version put back is somebody's way back: it lacks what it lacked then.
                let then = gone_at.get(older).copied().flatten();
                gone = Some(then.unwrap_or((seq, Gone::Named)));
            } else if was {
                match self.reason(one, told, past)? {
                    Ok(why) => gone = Some((seq, why)),
                    Err(what) => {
                        wrong.push((seq, format!("lost by #{seq} {}, {what}", told.what())));
                        gone = None;
                    }
                }
            } else if let Some((by, Gone::Outside)) = gone {
                match told.trigger.as_str() {
                    "RESTORE" => gone = Some((by, Gone::Named)),
                    "UNDO" if self.settles(told, number) => gone = Some((by, Gone::Named)),
                    "STEP_COMPLETE" if self.repeats(seq, sequence) => {
                        gone = Some((by, Gone::Named));
                    }
                    "REPAIR" => {
                        wrong.push((
                            seq,
                            format!("lost by the edit #{by}, and the repair #{seq} leaves it lost"),
                        ));
                        gone = None;
                    }
                    _ => {}
                }
            }
            // A way back that an edit took away again is not applied to another task than the one it was about.
            if self.name == TASK_STATE && named_once {
                gone = gone.map(|(by, _)| (by, Gone::Named));
            }
            named_once |= matches!(gone, Some((_, Gone::Named)));
            gone_at.insert(seq, gone);
        }
        Ok((wrong, gone))
    }

    /// Whether an undo takes back a repair, or the transition that brought a token.
    fn settles(&self, undo: &Told, number: usize) -> bool {
        undo.metadata["undone"].as_u64().is_some_and(|target| {
            let repair = self
                .lines
                .get(&target)
                .is_some_and(|told| told.trigger == "REPAIR");
            repair || self.has_after(target, number) && !self.had_before(target, number)
        })
    }

    /// Whether a step was completed again, with another output in the place of the lost one: the later hand counts.
    fn repeats(&self, later: u64, lost: u64) -> bool {
        let step = |seq| {
            let told: &Told = self.lines.get(&seq)?;
            (told.trigger == "STEP_COMPLETE").then(|| told.metadata["step"].as_u64())?
        };
        !self.void.contains(&later) && step(later).is_some_and(|it| step(lost) == Some(it))
    }

    /// Why a token that was there is not there after a line; an error where the line does not say so.
    fn reason(
        &self,
        one: &Done,
        told: &Told,
        past: Option<&Story<'_>>,
    ) -> Outcome<Result<Gone, String>> {
        let number = one.number;
        if told.kind == kind::OUTSIDE {
            return Ok(Ok(Gone::Outside));
        }
        let named = match told.trigger.as_str() {
            // An undo takes back what the transition it names brought, and nothing else.
            "UNDO" => told.metadata["undone"].as_u64().is_some_and(|target| {
                self.has_after(target, number) && !self.had_before(target, number)
            }),
            "RESTORE" => match told.metadata["restored"].as_u64() {
                Some(target) => {
                    let text = self.history.document_at(target);
                    let text = text.map_err(|error| format!("{}: {error}", self.name))?;
                    text.is_none_or(|text| !text.contains(&token(number)))
                }
                None => told.metadata["copy"].is_string(),
            },
            // What an edit lost and a repair brings back may itself have been a way back.
            "REPAIR" => {
                let again = told.metadata["reapplied"].as_array();
                let mut again = again.into_iter().flatten().filter_map(Value::as_u64);
                again.any(|line| self.had_before(line, number) && !self.has_after(line, number))
            }
            "FINISH" | "CANCEL" | "CONSISTENCY" if self.name == TASK_STATE => {
                let kept = past.is_some_and(|past| past.ever(number));
                if one.words.starts_with("memory task new") && !kept {
                    return Ok(Err("and the history never had the task".to_owned()));
                }
                true
            }
            "PRUNE" => self.name == TASK_HISTORY || one.words.contains(" cache."),
            _ => false,
        };
        Ok(match named {
            true => Ok(Gone::Named),
            false => Err("which does not name it".to_owned()),
        })
    }

    /// Undos that went over transitions which nobody took back.
    fn undone_unnamed(&self) -> Vec<String> {
        let undos: Vec<(u64, u64)> = self
            .lines
            .iter()
            .filter(|(_, told)| told.trigger == "UNDO")
            .filter_map(|(seq, told)| Some((*seq, told.metadata["undone"].as_u64()?)))
            .filter(|(seq, _)| !self.void.contains(seq))
            .collect();
        let mut wrong = Vec::new();
        for &(undo, target) in &undos {
            if target >= undo {
                wrong.push(format!(
                    "undo #{undo} names #{target}, which is not before it"
                ));
                continue;
            }
            let between = self.lines.range(target + 1..undo);
            let passed: Vec<String> = between
                .filter(|(seq, told)| told.is_transition() && !self.void.contains(seq))
                .filter(|(seq, _)| {
                    let named = |one: &(u64, u64)| one.0 < undo && one.1 == **seq;
                    !undos.iter().any(named)
                })
                .map(|(seq, _)| format!("#{seq}"))
                .collect();
            if !passed.is_empty() {
                let passed = passed.join(", ");
                wrong.push(format!(
                    "undo #{undo} names #{target} and also goes over {passed}\n{}",
                    self.around(undo)
                ));
            }
        }
        wrong
    }

    /// The lines of the journal around a number.
    fn around(&self, number: u64) -> String {
        let near = number.saturating_sub(AROUND)..=number + AROUND;
        let mut text = String::new();
        for (seq, told) in self.lines.range(near) {
            let void = match self.void.contains(seq) {
                true => " (taken back)",
                false => "",
            };
            let metadata = match &told.metadata {
                Value::Null => String::new(),
                metadata => metadata.to_string(),
            };
            // Writing into a text cannot fail.
            let _ = write!(text, "    #{seq} {}{void} {metadata}", told.what());
            if let Some(voids) = told.voids {
                let _ = write!(text, " voids #{voids}");
            }
            if !told.note.is_empty() {
                let _ = write!(text, " ({})", told.note);
            }
            text.push('\n');
        }
        text
    }
}

/// Whether a text is a whole document.
fn is_whole(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

impl Told {
    fn of(line: &JournalLine) -> Self {
        let transition = line.transition.as_deref();
        let transition: Option<Transition> =
            transition.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let (trigger, to, metadata) =
            transition.map_or_else(Default::default, |one| (one.trigger, one.to, one.metadata));
        Self {
            kind: line.kind.clone(),
            trigger,
            to,
            metadata,
            voids: line.voids,
            note: line.note.clone(),
        }
    }

    fn what(&self) -> &str {
        match self.trigger.as_str() {
            "" => &self.kind,
            trigger => trigger,
        }
    }

    /// Whether an undo counts it.
    fn is_transition(&self) -> bool {
        let trigger = self.trigger.as_str();
        self.kind == kind::OUTSIDE || !["", "UNDO", "REPAIR"].contains(&trigger)
    }
}
