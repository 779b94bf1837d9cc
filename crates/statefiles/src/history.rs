//! The past of a state file: the lines of the journal, earlier versions of the document, and
//! effects that are still pending.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Incident, StateFileError};
use crate::hash::ContentHash;
use crate::journal::{CommittedEffects, JournalLine, JournalTail, LastLines, kind, read_all};
use crate::layout::FilePaths;
use crate::roll_forward::{StepReplay, roll_forward};
use crate::splice::{apply_splices, invert_splices};
use crate::state_file::StateFile;

/// All lines that the journals hold, or the last of them, the oldest first.
#[derive(Debug, Clone)]
pub struct JournalHistory {
    /// The lines of the older and the present journal, voided ones included.
    lines: Vec<JournalLine>,
    /// True if there are older lines that were not read.
    more: bool,
    /// The document after the last line, with its hash, if known.
    end: Option<(ContentHash, String)>,
    /// Lines that could not be read.
    pub findings: Vec<Incident>,
    path: PathBuf,
    replay: Option<Arc<dyn StepReplay>>,
}

/// One change with the documents around it, as far as they can be rebuilt.
#[derive(Debug, Clone)]
pub struct DocumentVersion {
    /// The journal line of the change.
    pub line: JournalLine,
    /// The document before; `None` if there was none or it cannot be rebuilt.
    pub before: Option<String>,
    /// The document after; `None` if there was none or it cannot be rebuilt.
    pub after: Option<String>,
}

impl JournalHistory {
    /// Returns every line in the journal, for checks of the journal itself.
    /// [`JournalHistory::effective_lines`] has those that are in effect.
    #[must_use]
    pub fn all_lines(&self) -> &[JournalLine] {
        &self.lines
    }

    /// Returns the lines that are in effect. A change that was taken back before it was
    /// acknowledged ([`JournalLine::voids`]) is not.
    pub fn effective_lines(&self) -> impl DoubleEndedIterator<Item = &JournalLine> {
        let void: BTreeSet<u64> = self.lines.iter().filter_map(|line| line.voids).collect();
        self.lines
            .iter()
            .filter(move |line| !void.contains(&line.seq))
    }

    /// Returns the number of the version that line `seq` changed: the document right before it.
    #[must_use]
    pub fn version_before(&self, seq: u64) -> Option<u64> {
        let mut earlier = self
            .effective_lines()
            .filter(|line| line.changes_document());
        earlier.rfind(|line| line.seq < seq).map(|line| line.seq)
    }

    /// True if these are all lines that the journals have.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.more
    }

    /// Returns the first line if older ones were dropped: a long journal is replaced, and only one
    /// older journal is kept.
    #[must_use]
    pub fn begins_with(&self) -> Option<&JournalLine> {
        let first = self.lines.first().filter(|_| self.is_whole())?;
        (first.seq > 1 && first.kind == kind::BASE).then_some(first)
    }

    /// Joins the end of the present journal with the one before it, up to `lines_max` lines.
    pub(crate) fn join_older_journal(
        file: &StateFile,
        paths: &FilePaths,
        newer: LastLines,
        lines_max: usize,
    ) -> Result<Self, StateFileError> {
        let mut findings = newer.findings;
        let mut more = newer.more;
        let first = newer.lines.first().map_or(0, |line| line.seq);
        let left = lines_max.saturating_sub(newer.lines.len());
        // After an interrupted rotation the older journal still has its other name. A journal that
        // does not end where the present one begins does not belong to it.
        let mut lines = Vec::new();
        for path in [&paths.rotating, &paths.older_journal] {
            if more {
                break;
            }
            let tail = JournalTail::open(&*file.disk, path)?;
            if tail.last_seq() > 0 && tail.last_seq() + 1 == first {
                let older = tail.last_lines(&*file.disk, left)?;
                (lines, more) = (older.lines, older.more);
                findings.splice(..0, older.findings);
                break;
            }
        }
        lines.extend(newer.lines);
        Ok(Self {
            lines,
            more,
            end: None,
            findings,
            path: file.layout.file_path().to_path_buf(),
            replay: file.replay.clone(),
        })
    }

    /// Adds lines that were appended since.
    pub(crate) fn append_lines(&mut self, lines: &[JournalLine]) {
        self.end = None;
        self.lines.extend_from_slice(lines);
    }

    /// Returns the document right after line `seq`; `None` if there was none.
    pub fn document_at(&self, seq: u64) -> Result<Option<String>, StateFileError> {
        let path = || self.path.clone();
        let Some(index) = self.lines.iter().position(|line| line.seq == seq) else {
            return Err(StateFileError::NoSuchVersion { path: path(), seq });
        };
        match self.text_after(index, &CopiesByHash::new()) {
            KnownText::Text(text) => Ok(Some(text)),
            KnownText::None => Ok(None),
            KnownText::Unknown => Err(StateFileError::NotRebuildable { path: path(), seq }),
        }
    }

    /// Finds the newest committed version that passes `good`. It is rebuilt from the journals and,
    /// in their gaps, from copies that happen to be on the disk.
    pub(crate) fn newest_good(
        &self,
        copies: &CopiesByHash,
        good: &dyn Fn(&str) -> bool,
    ) -> Option<NewestVersion> {
        let mut last_acknowledged = true;
        for line in self
            .effective_lines()
            .rev()
            .filter(|line| line.changes_document())
        {
            let here = |one: &JournalLine| std::ptr::eq(one, line);
            let index = self.lines.iter().rposition(here).unwrap_or(0);
            if let KnownText::Text(text) = self.text_after(index, copies)
                && good(&text)
            {
                let seq = line.seq;
                return Some(NewestVersion {
                    seq,
                    text,
                    last_acknowledged,
                });
            }
            // The versions of other programs were never acknowledged by us.
            last_acknowledged &= [kind::OUTSIDE, kind::BASE].contains(&line.kind.as_str());
        }
        None
    }

    /// Returns the changes after line `since`, the oldest first, each with the document before and
    /// after it.
    ///
    /// Voided changes ([`JournalLine::voids`]) and notes are left out.
    #[must_use]
    pub fn versions(&self, since: u64) -> Vec<DocumentVersion> {
        let mut versions = Vec::new();
        self.walk_versions(since, |line, before, after| {
            versions.push(DocumentVersion {
                line: line.clone(),
                before: before.map(str::to_owned),
                after: after.map(str::to_owned),
            });
        });
        versions
    }

    /// Visits the same changes one by one without keeping them all: line, document before, document
    /// after.
    pub fn walk_versions(
        &self,
        since: u64,
        mut visit: impl FnMut(&JournalLine, Option<&str>, Option<&str>),
    ) {
        let void: BTreeSet<u64> = self.lines.iter().filter_map(|line| line.voids).collect();
        let mut before = None;
        for (index, line) in self.lines.iter().enumerate() {
            if line.seq <= since || !line.changes_document() {
                continue;
            }
            let start = match before.take() {
                Some(known) => known,
                None if index == 0 => KnownText::of_before(line),
                None => self.text_after(index - 1, &CopiesByHash::new()),
            };
            let after = match apply_line(start.clone(), line, self.replay.as_deref()) {
                KnownText::Unknown => self.text_after(index, &CopiesByHash::new()),
                known => known,
            };
            if !void.contains(&line.seq) {
                visit(line, start.text(), after.text());
            }
            before = Some(after);
        }
    }

    fn text_after(&self, index: usize, copies: &CopiesByHash) -> KnownText {
        match self.text_before_the_end(index) {
            Some(text) => KnownText::Text(text),
            None => text_after(&self.lines, index, copies, self.replay.as_deref()),
        }
    }

    /// Rebuilds the document after a line by undoing the later lines from the end. `None` if the
    /// end is not known, the way back is longer than the way from the beginning, or a line on it
    /// cannot be reversed.
    fn text_before_the_end(&self, index: usize) -> Option<String> {
        let (hash, end) = self.end.as_ref()?;
        let last = self.lines.iter().rposition(JournalLine::changes_document)?;
        if self.lines[last].after != Some(*hash) || last.saturating_sub(index) > index && !self.more
        {
            return None;
        }
        let mut text = end.clone();
        let later = self.lines.get(index + 1..=last).unwrap_or_default();
        for line in later.iter().rev().filter(|line| line.changes_document()) {
            text = apply_splices(&text, &invert_splices(line.patch.as_ref()?)).ok()?;
        }
        let here = self.lines[..=index]
            .iter()
            .rfind(|line| line.changes_document())?;
        (here.after == Some(ContentHash::of_bytes(text.as_bytes()))).then_some(text)
    }
}

impl StateFile {
    /// Reads all lines of both journals.
    pub fn read_history(&self) -> Result<JournalHistory, StateFileError> {
        self.recent_history(usize::MAX, None)
    }

    /// Reads the last lines of the journals, at most `lines_max`. `end` is the document after the
    /// last of them, if the caller has it: versions near the end are rebuilt from that.
    pub fn recent_history(
        &self,
        lines_max: usize,
        end: Option<&str>,
    ) -> Result<JournalHistory, StateFileError> {
        let paths = self.resolve_paths()?;
        let newer =
            JournalTail::open(&*self.disk, &paths.journal)?.last_lines(&*self.disk, lines_max)?;
        let history = JournalHistory::join_older_journal(self, &paths, newer, lines_max)?;
        Ok(JournalHistory {
            end: end.map(|text| (ContentHash::of_bytes(text.as_bytes()), text.to_owned())),
            ..history
        })
    }

    /// Returns the history that a snapshot of this file brought along, or reads it now.
    pub fn history_of(
        &self,
        seen: Option<&Arc<JournalHistory>>,
    ) -> Result<Arc<JournalHistory>, StateFileError> {
        match seen {
            Some(history) => Ok(Arc::clone(history)),
            None => self.read_history().map(Arc::new),
        }
    }

    /// Returns the effects that were committed and not yet reported as executed, the oldest first.
    pub fn pending_effects(&self) -> Result<Vec<CommittedEffects>, StateFileError> {
        Ok(unexecuted_effects(
            &read_all(&*self.disk, &self.resolve_paths()?.journal)?.lines,
        ))
    }
}

/// Documents found in copies on the disk, by their hashes.
pub(crate) type CopiesByHash = BTreeMap<ContentHash, String>;

/// A version found by [`JournalHistory::newest_good`].
pub(crate) struct NewestVersion {
    pub(crate) seq: u64,
    pub(crate) text: String,
    /// True if nothing that was acknowledged came after it.
    pub(crate) last_acknowledged: bool,
}

/// Returns the effects of these lines that were neither executed nor voided.
pub(crate) fn unexecuted_effects(lines: &[JournalLine]) -> Vec<CommittedEffects> {
    let mut open: Vec<CommittedEffects> = Vec::new();
    for line in lines {
        open.extend(line.carried.iter().cloned());
        if let Some(effects) = &line.effects {
            let (id, at) = (line.id.clone(), line.at.clone());
            open.push(CommittedEffects {
                seq: line.seq,
                id,
                at,
                effects: effects.clone(),
            });
        }
        if !line.done.is_empty() || line.voids.is_some() {
            open.retain(|pending| {
                !line.done.contains(&pending.seq) && line.voids != Some(pending.seq)
            });
        }
    }
    open
}

/// A document at some point in the history: its text, none, or unknown.
#[derive(Debug, Clone)]
enum KnownText {
    Text(String),
    None,
    Unknown,
}

impl KnownText {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Unknown => None,
        }
    }

    /// Returns the document before the first line: there was none, or only its hash is known.
    fn of_before(line: &JournalLine) -> Self {
        if line.before.is_none() && line.logical.is_none() {
            Self::None
        } else {
            Self::Unknown
        }
    }
}

fn apply_line(start: KnownText, line: &JournalLine, replay: Option<&dyn StepReplay>) -> KnownText {
    let start = match start {
        KnownText::Text(text) => Some(text),
        KnownText::None => None,
        KnownText::Unknown if line.document.is_some() || line.gone => None,
        KnownText::Unknown => return KnownText::Unknown,
    };
    match roll_forward(start, &[line], replay, &mut Vec::new()) {
        Ok(Some(text)) => KnownText::Text(text),
        Ok(None) => KnownText::None,
        Err(_) => KnownText::Unknown,
    }
}

/// Rebuilds the document after a line: forward from the nearest full document at or before the
/// line, otherwise backward from the nearest one after it.
fn text_after(
    lines: &[JournalLine],
    index: usize,
    copies: &CopiesByHash,
    replay: Option<&dyn StepReplay>,
) -> KnownText {
    let copy = |line: &JournalLine| line.after.as_ref().and_then(|after| copies.get(after));
    let whole = |line: &JournalLine| {
        line.document.is_some()
            || line.gone
            || line.patch.is_some() && line.before.is_none()
            || copy(line).is_some()
    };
    if let Some(start) = lines[..=index].iter().rposition(whole) {
        let (from, run) = match copy(&lines[start]) {
            Some(text) => (Some(text.clone()), &lines[start + 1..=index]),
            None => (None, &lines[start..=index]),
        };
        let run: Vec<&JournalLine> = run.iter().collect();
        return match roll_forward(from, &run, replay, &mut Vec::new()) {
            Ok(Some(text)) => KnownText::Text(text),
            Ok(None) => KnownText::None,
            Err(_) => KnownText::Unknown,
        };
    }
    // A base line holds the document before it too.
    let base = lines[index + 1..]
        .iter()
        .position(|line| line.document.is_some() && line.before == line.after);
    let Some(base) = base.map(|offset| index + 1 + offset) else {
        return KnownText::Unknown;
    };
    let mut text = lines[base].document.clone().unwrap_or_default();
    for line in lines[index + 1..base]
        .iter()
        .rev()
        .filter(|line| line.changes_document())
    {
        let Some(back) = line
            .patch
            .as_ref()
            .and_then(|patch| apply_splices(&text, &invert_splices(patch)).ok())
        else {
            return KnownText::Unknown;
        };
        text = back;
    }
    KnownText::Text(text)
}
