//! What a run makes durable: the moves of its tasks, in the journal of the state file, and what is remembered of their attempts
//! beside it. Many of both share one flush, and nothing that follows from them is done before it.

use super::note::{Note, Stage};
use bowline_engine::machines::orchestrate::{Command, Effect, Id, Run};
use bowline_engine::operations::orchestrate::Owned;
use bowline_engine::statefiles::{RealDisk, write_whole};
use bowline_engine::{Context, Error};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The state file is written this often at the most, and at every stop.
const WRITE: Duration = Duration::from_millis(250);
/// Of the time of a run, at most one part in so many goes into writing it.
const WRITE_SHARE: u32 = 50;
/// A file of notes with so many lines more than it has tasks is written anew when it is opened.
const LINES_MAX: usize = 10_000;

#[derive(Serialize, Deserialize)]
struct Line {
    id: Id,
    note: Note,
}

/// What is remembered of tasks: one line for each time something is to be, of which the last one of a task counts.
#[derive(Debug)]
struct Notebook {
    path: PathBuf,
    file: File,
    known: BTreeMap<Id, Note>,
    changed: BTreeSet<Id>,
    /// Something of it must not wait.
    due: bool,
}

impl Notebook {
    fn open(side: &Path, key: &str) -> Result<Notebook, Error> {
        std::fs::create_dir_all(side).map_err(|error| failed(side, error))?;
        let path = side.join(format!("notes-{key}.jsonl"));
        let mut known = BTreeMap::new();
        let mut lines = 0;
        if let Ok(file) = File::open(&path) {
            for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
                lines += 1;
                // The last one may be cut off: it was never acted upon.
                if let Ok(Line { id, note }) = serde_json::from_slice(&line) {
                    known.insert(id, note);
                }
            }
        }
        if lines > known.len() + LINES_MAX {
            let mut text = Vec::new();
            for (id, note) in &known {
                add(&mut text, id, note);
            }
            write_whole(&RealDisk, &path, &text, None).map_err(Error::File)?;
        }
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.map_err(|error| failed(&path, error))?;
        // Behind a line that was cut off a new one begins.
        let end = std::fs::read(&path).map_err(|error| failed(&path, error))?;
        if end.last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n")
                .map_err(|error| failed(&path, error))?;
        }
        Ok(Notebook {
            path,
            file,
            known,
            changed: BTreeSet::new(),
            due: false,
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.due {
            return Ok(());
        }
        let mut text = Vec::new();
        for id in std::mem::take(&mut self.changed) {
            if let Some(note) = self.known.get(&id) {
                add(&mut text, &id, note);
            }
        }
        self.due = false;
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}

fn add(text: &mut Vec<u8>, id: &Id, note: &Note) {
    let (id, note) = (id.clone(), note.clone());
    // Texts and numbers always serialise.
    text.extend(serde_json::to_vec(&Line { id, note }).unwrap_or_default());
    text.push(b'\n');
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::ProgramFailed {
        program: "orchestrate run".into(),
        message: format!("{}: {error}", path.display()),
    }
}

/// The state file and the notes of a run.
#[derive(Debug)]
pub struct Ledger {
    /// The right to move the orchestration.
    pub owned: Owned,
    notes: Notebook,
    written: Instant,
    write_after: Duration,
}

impl Ledger {
    /// Of an orchestration, with notes in a folder beside it. Another one of the same project has another key.
    pub fn open(owned: Owned, side: &Path, key: &str) -> Result<Ledger, Error> {
        Ok(Ledger {
            owned,
            notes: Notebook::open(side, key)?,
            written: Instant::now(),
            write_after: WRITE,
        })
    }

    /// The run as it is now.
    pub fn run(&self) -> &Run {
        self.owned.run()
    }

    /// Makes a move; durable with the next flush.
    pub fn commit(&mut self, context: &Context, command: Command) -> Result<Vec<Effect>, Error> {
        self.owned.stage(context, command)
    }

    /// What is remembered of a task.
    pub fn note(&self, id: &Id) -> Note {
        self.notes.known.get(id).cloned().unwrap_or_default()
    }

    /// When agents were begun within an hour before the latest attempt of their tasks.
    pub fn starts(&self) -> Vec<i64> {
        let notes = self.notes.known.values();
        notes.flat_map(|note| note.starts.clone()).collect()
    }

    /// Remembers it, durably with the next flush. That an attempt ended well is found out again from the attempt itself, so
    /// that it may wait for a flush that something else needs.
    pub fn remember(&mut self, id: &Id, note: &Note) {
        self.notes.known.insert(id.clone(), note.clone());
        self.notes.changed.insert(id.clone());
        self.notes.due |= note.stage != Stage::Landing;
    }

    /// Makes everything durable that is not.
    pub fn flush(&mut self, context: &Context) -> Result<(), Error> {
        // A note says what a move was made for: it comes first.
        let flushed = self.notes.flush();
        flushed.map_err(|error| failed(&self.notes.path, error))?;
        self.owned.flush(context)
    }

    /// Writes the state file now and then, so that whoever looks at it sees the run as it is.
    pub fn write_now_and_then(&mut self, context: &Context) -> Result<(), Error> {
        if self.written.elapsed() < self.write_after {
            return Ok(());
        }
        let begun = Instant::now();
        self.owned.write(context)?;
        self.written = Instant::now();
        self.write_after = WRITE.max(begun.elapsed() * WRITE_SHARE);
        Ok(())
    }
}
