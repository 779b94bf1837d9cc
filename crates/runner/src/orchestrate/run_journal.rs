//! Makes the decisions of a run durable: moves of tasks in the journal of the state file, notes on
//! their attempts in a file beside it. Many of both share one flush, and nothing that follows from
//! them is done before it.

use super::task_record::{TaskRecord, TaskStage};
use bowline_engine::machines::orchestrate::{Command, Effect, NodeId, OrchestrationState};
use bowline_engine::operations::orchestrate::OwnedOrchestration;
use bowline_engine::statefiles::{RealDisk, write_atomically};
use bowline_engine::{Context, Error};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Minimum interval between writes of the state file, besides the write at every stop.
const WRITE_INTERVAL: Duration = Duration::from_millis(250);
/// At most one part in this many of a run's time is spent on writing the state file.
const WRITE_SHARE: u32 = 50;
/// Excess lines, beyond one per task, from which a file of notes is compacted when it is opened.
const LINES_MAX: usize = 10_000;

#[derive(Serialize, Deserialize)]
struct RecordLine {
    id: NodeId,
    note: TaskRecord,
}

/// The notes of all tasks, stored as lines. The last line of a task counts.
#[derive(Debug)]
struct RecordFile {
    path: PathBuf,
    file: File,
    records: BTreeMap<NodeId, TaskRecord>,
    changed: BTreeSet<NodeId>,
    /// A change must not wait for a later flush.
    due: bool,
}

impl RecordFile {
    fn open(side: &Path, key: &str) -> Result<RecordFile, Error> {
        std::fs::create_dir_all(side).map_err(|error| file_error(side, error))?;
        let path = side.join(format!("notes-{key}.jsonl"));
        let mut known = BTreeMap::new();
        let mut lines = 0;
        if let Ok(file) = File::open(&path) {
            for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
                lines += 1;
                // The last line may be cut off: it was never acted upon.
                if let Ok(RecordLine { id, note }) = serde_json::from_slice(&line) {
                    known.insert(id, note);
                }
            }
        }
        if lines > known.len() + LINES_MAX {
            let mut text = Vec::new();
            for (id, note) in &known {
                append_line(&mut text, id, note);
            }
            write_atomically(&RealDisk, &path, &text, None).map_err(Error::File)?;
        }
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let mut file = file.map_err(|error| file_error(&path, error))?;
        // A line that was cut off is terminated, so that a new one starts after it.
        let end = std::fs::read(&path).map_err(|error| file_error(&path, error))?;
        if end.last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n")
                .map_err(|error| file_error(&path, error))?;
        }
        Ok(RecordFile {
            path,
            file,
            records: known,
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
            if let Some(note) = self.records.get(&id) {
                append_line(&mut text, &id, note);
            }
        }
        self.due = false;
        self.file.write_all(&text)?;
        self.file.sync_data()
    }
}

fn append_line(text: &mut Vec<u8>, id: &NodeId, note: &TaskRecord) {
    let (id, note) = (id.clone(), note.clone());
    // Strings and numbers always serialise.
    text.extend(serde_json::to_vec(&RecordLine { id, note }).unwrap_or_default());
    text.push(b'\n');
}

fn file_error(path: &Path, error: std::io::Error) -> Error {
    Error::ProgramFailed {
        program: "orchestrate run".into(),
        message: format!("{}: {error}", path.display()),
    }
}

/// The state file and the notes of a run.
#[derive(Debug)]
pub struct RunJournal {
    /// Exclusive access to the orchestration.
    pub owned: OwnedOrchestration,
    records: RecordFile,
    written: Instant,
    write_after: Duration,
}

impl RunJournal {
    /// Opens the notes of an orchestration in a folder beside it. `key` keeps those of other runs
    /// of the project apart.
    pub fn open(owned: OwnedOrchestration, side: &Path, key: &str) -> Result<RunJournal, Error> {
        Ok(RunJournal {
            owned,
            records: RecordFile::open(side, key)?,
            written: Instant::now(),
            write_after: WRITE_INTERVAL,
        })
    }

    pub fn run_state(&self) -> &OrchestrationState {
        self.owned.run()
    }

    /// Stages a move; durable with the next flush.
    pub fn stage_command(
        &mut self,
        context: &Context,
        command: Command,
    ) -> Result<Vec<Effect>, Error> {
        self.owned.stage_command(context, command)
    }

    /// Returns the note of a task, or an empty one.
    pub fn task_record(&self, id: &NodeId) -> TaskRecord {
        self.records.records.get(id).cloned().unwrap_or_default()
    }

    /// Returns the starts of agents, of each task those within an hour before its latest attempt.
    pub fn recorded_starts(&self) -> Vec<i64> {
        let notes = self.records.records.values();
        notes.flat_map(|note| note.starts.clone()).collect()
    }

    /// Stores a note, durable with the next flush. The end of an attempt is found again from the
    /// attempt itself, so that such a note may wait for a flush that something else needs.
    pub fn store_record(&mut self, id: &NodeId, note: &TaskRecord) {
        self.records.records.insert(id.clone(), note.clone());
        self.records.changed.insert(id.clone());
        self.records.due |= note.stage != TaskStage::Landing;
    }

    /// Makes all staged changes durable.
    pub fn flush(&mut self, context: &Context) -> Result<(), Error> {
        // The note says what a move was made for: it comes first.
        let flushed = self.records.flush();
        flushed.map_err(|error| file_error(&self.records.path, error))?;
        self.owned.flush_staged(context)
    }

    /// Writes the state file if it is due, so that readers see a recent state of the run.
    pub fn write_if_due(&mut self, context: &Context) -> Result<(), Error> {
        if self.written.elapsed() < self.write_after {
            return Ok(());
        }
        let begun = Instant::now();
        self.owned.write_file(context)?;
        self.written = Instant::now();
        self.write_after = WRITE_INTERVAL.max(begun.elapsed() * WRITE_SHARE);
        Ok(())
    }
}
