//! Looking back: the lines of the journal, earlier versions of the document, and effects still to be carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Error, Incident};
use crate::hash::ContentHash;
use crate::journal::{Line, Pending, kind, read_all};
use crate::layout::Paths;
use crate::roll::{Replay, roll};
use crate::splice::{apply, invert};
use crate::state_file::StateFile;

/// All that the journals still know, the oldest line first.
#[derive(Debug, Clone)]
pub struct History {
    /// The lines of the older journal and of the present one, those that were taken back included.
    lines: Vec<Line>,
    /// Lines that could not be read.
    pub findings: Vec<Incident>,
    path: PathBuf,
    replay: Option<Arc<dyn Replay>>,
}

/// One change with the documents around it, as far as they can be rebuilt.
#[derive(Debug, Clone)]
pub struct Version {
    /// The journal line.
    pub line: Line,
    /// The document before; `None` when there was none or it cannot be rebuilt.
    pub before: Option<String>,
    /// The document after; `None` when there was none or it cannot be rebuilt.
    pub after: Option<String>,
}

impl History {
    /// Every line that was written, for whoever checks the journal itself. For what happened, see [`History::lines`].
    #[must_use]
    pub fn written(&self) -> &[Line] {
        &self.lines
    }

    /// The lines that came to pass. A change that was taken back before anybody was told of it ([`Line::voids`]) did not.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        let void: BTreeSet<u64> = self.lines.iter().filter_map(|line| line.voids).collect();
        self.lines
            .iter()
            .filter(move |line| !void.contains(&line.seq))
    }

    /// The number of the version that line `seq` changed: the document as it was right before it.
    #[must_use]
    pub fn version_before(&self, seq: u64) -> Option<u64> {
        let mut earlier = self.lines().filter(|line| line.moves());
        earlier.rfind(|line| line.seq < seq).map(|line| line.seq)
    }

    /// What the present journal, whose lines these are, and the one before it tell.
    pub(crate) fn behind(
        file: &StateFile,
        paths: &Paths,
        (newer, mut findings): (Vec<Line>, Vec<Incident>),
    ) -> Result<Self, Error> {
        let first = newer.first().map_or(0, |line| line.seq);
        // After an interrupted rotation the older journal still has its other name. One that does not end where the
        // present one begins belongs to another story.
        let mut lines = Vec::new();
        for older in [&paths.rotating, &paths.older_journal] {
            let (found, older_findings) = read_all(&*file.disk, older)?;
            if found.last().is_some_and(|line| line.seq + 1 == first) {
                lines = found;
                findings.splice(..0, older_findings);
                break;
            }
        }
        lines.extend(newer);
        Ok(Self {
            lines,
            findings,
            path: file.layout.file().to_path_buf(),
            replay: file.replay.clone(),
        })
    }

    /// Takes note of lines that were appended since.
    pub(crate) fn append(&mut self, lines: &[Line]) {
        self.lines.extend_from_slice(lines);
    }

    /// The document right after line `seq`; `None` when there was none.
    pub fn document_at(&self, seq: u64) -> Result<Option<String>, Error> {
        let path = || self.path.clone();
        let Some(index) = self.lines.iter().position(|line| line.seq == seq) else {
            return Err(Error::NoSuchVersion { path: path(), seq });
        };
        match self.text_after(index, &Copies::new()) {
            Known::Text(text) => Ok(Some(text)),
            Known::None => Ok(None),
            Known::Unknown => Err(Error::NotRebuildable { path: path(), seq }),
        }
    }

    /// The newest committed version that passes `good`, with its number and whether something acknowledged came after it. It
    /// is rebuilt from the journals and, where those have gaps, from copies that the disk happens to hold.
    pub(crate) fn newest_good(
        &self,
        copies: &Copies,
        good: &dyn Fn(&str) -> bool,
    ) -> Option<Newest> {
        let mut last_acknowledged = true;
        for line in self.lines().rev().filter(|line| line.moves()) {
            let here = |one: &Line| std::ptr::eq(one, line);
            let index = self.lines.iter().rposition(here).unwrap_or(0);
            if let Known::Text(text) = self.text_after(index, copies)
                && good(&text)
            {
                let seq = line.seq;
                return Some(Newest {
                    seq,
                    text,
                    last_acknowledged,
                });
            }
            // What others wrote was never acknowledged by us.
            last_acknowledged &= [kind::OUTSIDE, kind::BASE].contains(&line.kind.as_str());
        }
        None
    }

    /// The changes after line `since`, the oldest first, each with the document before and after it.
    ///
    /// Changes that were taken back ([`Line::voids`]) and notes are left out.
    #[must_use]
    pub fn versions(&self, since: u64) -> Vec<Version> {
        let mut versions = Vec::new();
        self.walk_versions(since, |line, before, after| {
            versions.push(Version {
                line: line.clone(),
                before: before.map(str::to_owned),
                after: after.map(str::to_owned),
            });
        });
        versions
    }

    /// Shows the same changes one by one, without keeping them all: line, document before, document after.
    pub fn walk_versions(
        &self,
        since: u64,
        mut visit: impl FnMut(&Line, Option<&str>, Option<&str>),
    ) {
        let void: BTreeSet<u64> = self.lines.iter().filter_map(|line| line.voids).collect();
        let mut before = None;
        for (index, line) in self.lines.iter().enumerate() {
            if line.seq <= since || !line.moves() {
                continue;
            }
            let start = match before.take() {
                Some(known) => known,
                None if index == 0 => Known::of_before(line),
                None => self.text_after(index - 1, &Copies::new()),
            };
            let after = match step(start.clone(), line, self.replay.as_deref()) {
                Known::Unknown => self.text_after(index, &Copies::new()),
                known => known,
            };
            if !void.contains(&line.seq) {
                visit(line, start.text(), after.text());
            }
            before = Some(after);
        }
    }

    fn text_after(&self, index: usize, copies: &Copies) -> Known {
        text_after(&self.lines, index, copies, self.replay.as_deref())
    }
}

impl StateFile {
    /// All lines of both journals.
    pub fn history(&self) -> Result<History, Error> {
        let paths = self.paths()?;
        let newer = read_all(&*self.disk, &paths.journal)?;
        History::behind(self, &paths, newer)
    }

    /// The history that a look at this file brought along, or the one there is now.
    pub fn history_of(&self, seen: Option<&Arc<History>>) -> Result<Arc<History>, Error> {
        match seen {
            Some(history) => Ok(Arc::clone(history)),
            None => self.history().map(Arc::new),
        }
    }

    /// The effects that were committed and not yet reported as carried out, the oldest first.
    pub fn pending_effects(&self) -> Result<Vec<Pending>, Error> {
        Ok(pending(&read_all(&*self.disk, &self.paths()?.journal)?.0))
    }
}

/// Documents that lie about on the disk, by their hashes.
pub(crate) type Copies = BTreeMap<ContentHash, String>;

/// A version found by [`History::newest_good`].
pub(crate) struct Newest {
    pub(crate) seq: u64,
    pub(crate) text: String,
    /// Nothing that was acknowledged came after it.
    pub(crate) last_acknowledged: bool,
}

/// The effects of these lines that were neither done nor taken back.
pub(crate) fn pending(lines: &[Line]) -> Vec<Pending> {
    let mut open: Vec<Pending> = Vec::new();
    for line in lines {
        open.extend(line.carried.iter().cloned());
        if let Some(effects) = &line.effects {
            let (id, at) = (line.id.clone(), line.at.clone());
            open.push(Pending {
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

/// What is known of a document at some point.
#[derive(Debug, Clone)]
enum Known {
    Text(String),
    None,
    Unknown,
}

impl Known {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Unknown => None,
        }
    }

    /// Before the first line there was either nothing, or something whose hash is all we have.
    fn of_before(line: &Line) -> Self {
        if line.before.is_none() && line.logical.is_none() {
            Self::None
        } else {
            Self::Unknown
        }
    }
}

fn step(start: Known, line: &Line, replay: Option<&dyn Replay>) -> Known {
    let start = match start {
        Known::Text(text) => Some(text),
        Known::None => None,
        Known::Unknown if line.document.is_some() || line.gone => None,
        Known::Unknown => return Known::Unknown,
    };
    match roll(start, &[line], replay, &mut Vec::new()) {
        Ok(Some(text)) => Known::Text(text),
        Ok(None) => Known::None,
        Err(_) => Known::Unknown,
    }
}

/// Forward from the nearest full document at or before the line; else backward from the nearest one after it.
fn text_after(lines: &[Line], index: usize, copies: &Copies, replay: Option<&dyn Replay>) -> Known {
    let copy = |line: &Line| line.after.as_ref().and_then(|after| copies.get(after));
    let whole = |line: &Line| {
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
        let run: Vec<&Line> = run.iter().collect();
        return match roll(from, &run, replay, &mut Vec::new()) {
            Ok(Some(text)) => Known::Text(text),
            Ok(None) => Known::None,
            Err(_) => Known::Unknown,
        };
    }
    // A base states the document that was there before it too.
    let base = lines[index + 1..]
        .iter()
        .position(|line| line.document.is_some() && line.before == line.after);
    let Some(base) = base.map(|offset| index + 1 + offset) else {
        return Known::Unknown;
    };
    let mut text = lines[base].document.clone().unwrap_or_default();
    for line in lines[index + 1..base]
        .iter()
        .rev()
        .filter(|line| line.moves())
    {
        let Some(back) = line
            .patch
            .as_ref()
            .and_then(|patch| apply(&text, &invert(patch)).ok())
        else {
            return Known::Unknown;
        };
        text = back;
    }
    Known::Text(text)
}
