//! Holds every answer of a round against the history that is left of it.
//!
//! An acknowledged transition has its line, under the number that was told, and its token is in the version after it.
//! From there on the token is followed from version to version: where it goes, the line must say why.

use super::operations::{TASK_HISTORY, TASK_STATE, token, tokens};
use super::{Answer, Done};
use bowline_engine::statefiles::{History, Line, StateFile, kind};
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
    history: History,
    lines: BTreeMap<u64, Told>,
    void: BTreeSet<u64>,
    /// Edits that put an older version back as it was.
    put_back: BTreeSet<u64>,
    /// The tokens of every version that counts, by its line.
    versions: BTreeMap<u64, Vec<bool>>,
    last: Option<String>,
    broken: Vec<String>,
}

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
        let history = file.history().map_err(failed)?;
        let mut broken: Vec<String> = history.findings.iter().map(ToString::to_string).collect();
        if let Some(first) = history.written().first().filter(|line| line.seq != 1) {
            broken.push(format!("the journal begins with line {}", first.seq));
        }
        let lines: BTreeMap<u64, Told> = history
            .written()
            .iter()
            .map(|line| (line.seq, Told::of(line)))
            .collect();
        if lines.len() != history.written().len()
            || lines
                .keys()
                .zip(1..)
                .any(|(found, wanted)| *found != wanted)
        {
            broken.push("the lines of the journal do not follow each other".to_owned());
        }
        let written = history.written().iter();
        let void: BTreeSet<u64> = written.filter_map(|line| line.voids).collect();
        let (mut seen, mut put_back) = (Vec::new(), BTreeSet::new());
        for line in history.lines().filter(|line| line.after.is_some()) {
            if line.kind == kind::OUTSIDE && seen.contains(&line.after) {
                put_back.insert(line.seq);
            }
            seen.push(line.after);
        }
        let (mut versions, mut last) = (BTreeMap::new(), None);
        history.walk_versions(0, |line, _, after| {
            if after.is_none() && !line.gone {
                broken.push(format!("version {} cannot be rebuilt", line.seq));
            }
            last = after.map(str::to_owned);
            // Half of a write is no version: what stands around it is compared with each other.
            if after.is_none_or(is_whole) {
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

    /// Everything that is wrong with this file. `past` is the history of the tasks that are over; `findings` is what the
    /// doctor said last.
    pub(super) fn violations(
        &self,
        done: &[Done],
        past: Option<&Story<'_>>,
        findings: &str,
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
            }
            if one.marked {
                told.extend(self.lost(one, *sequence, past, findings)?);
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

    /// Follows the token of an operation through all versions; tells where it went without a reason.
    fn lost(
        &self,
        one: &Done,
        sequence: u64,
        past: Option<&Story<'_>>,
        findings: &str,
    ) -> Outcome<Vec<(u64, String)>> {
        let number = one.number;
        let start = if self.name == TASK_HISTORY {
            0
        } else {
            sequence
        };
        let mut wrong = Vec::new();
        let mut there = false;
        let mut gone: Option<(u64, Gone)> = None;
        for (&seq, version) in self.versions.range(start..) {
            let Some(told) = self.lines.get(&seq) else {
                continue;
            };
            let was = std::mem::replace(&mut there, version[number]);
            if there {
                gone = None;
                continue;
            }
            if was {
                match self.reason(one, seq, told, past)? {
                    Ok(why) => gone = Some((seq, why)),
                    Err(what) => {
                        wrong.push((seq, format!("lost by #{seq} {}, {what}", told.what())));
                        gone = None;
                    }
                }
                continue;
            }
            let Some((by, Gone::Outside)) = gone else {
                continue;
            };
            match told.trigger.as_str() {
                "UNDO" | "RESTORE" => gone = Some((by, Gone::Named)),
                _ if self.put_back.contains(&seq) => gone = Some((by, Gone::Named)),
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
        if let Some((by, Gone::Outside)) = gone
            && !findings.contains(&format!("#{sequence} "))
        {
            wrong.push((
                by,
                format!("lost by the edit #{by}, and never brought back"),
            ));
        }
        Ok(wrong)
    }

    /// Why a token that was there is not there after a line; an error where the line does not say so.
    fn reason(
        &self,
        one: &Done,
        seq: u64,
        told: &Told,
        past: Option<&Story<'_>>,
    ) -> Outcome<Result<Gone, String>> {
        let number = one.number;
        if told.kind == kind::OUTSIDE {
            // A whole version put back is somebody's way back, and stays.
            return Ok(Ok(match self.put_back.contains(&seq) {
                true => Gone::Named,
                false => Gone::Outside,
            }));
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
    fn of(line: &Line) -> Self {
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
