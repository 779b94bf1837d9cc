//! Metadata of tasks that have not started: one line for each change, in one file. The last line of
//! a task counts; a line with only its id says that it is forgotten. A file for each task took the
//! file system longer to make than the task itself.

use super::JobsConfig;
use bowline_engine::statefiles::{RealDisk, write_atomically};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::PathBuf;

/// Size from which on outdated lines are removed.
const BYTES_MAX: u64 = 256 << 10;

/// Bytes of unwritten lines beyond which they are dropped.
const UNWRITTEN_BYTES_MAX: usize = 16 << 20;

fn log_path(config: &JobsConfig) -> PathBuf {
    config.data.join("waiting.jsonl")
}

/// Appender for the file. Without it only the metadata of waiting tasks is missing.
pub(super) struct PendingLog<'c> {
    config: &'c JobsConfig,
    file: Option<File>,
    /// Bytes that may still be written until outdated lines are removed.
    room: u64,
    /// Lines for which the disk had no room.
    unwritten: String,
}

impl PendingLog<'_> {
    pub(super) fn open(config: &JobsConfig) -> PendingLog<'_> {
        let file = open(config).ok();
        let length = file.as_ref().and_then(|it| it.metadata().ok());
        let length = length.map_or(0, |it| it.len());
        // As much as there is: however many tasks wait, each line is rewritten once or twice only.
        let room = BYTES_MAX.max(length);
        PendingLog {
            config,
            file,
            room,
            unwritten: String::new(),
        }
    }

    pub(super) fn write(&mut self, lines: &str) {
        let lines = std::mem::take(&mut self.unwritten) + lines;
        if self.room < lines.len() as u64 || self.file.is_none() {
            *self = PendingLog::open(self.config);
        }
        self.room = self.room.saturating_sub(lines.len() as u64);
        let written = match &mut self.file {
            Some(file) => file.write_all(lines.as_bytes()).is_ok(),
            None => false,
        };
        if !written && lines.len() < UNWRITTEN_BYTES_MAX {
            // A part of it may have been written, hence the line break.
            self.unwritten = format!("\n{lines}");
        }
    }
}

fn open(config: &JobsConfig) -> std::io::Result<File> {
    let path = log_path(config);
    if std::fs::metadata(&path).is_ok_and(|it| it.len() > BYTES_MAX) {
        let begun = |metadata: &&Value| {
            let id = metadata["id"].as_str().unwrap_or_default();
            let folders = ["workspaces", "tasks"].map(|it| config.data.join(it).join(id));
            let file = super::workspace_metadata::METADATA_FILE;
            folders.iter().any(|folder| folder.join(file).exists())
        };
        let all = read_lines(config)?;
        let mut lines = String::new();
        for metadata in all.iter().filter(|metadata| !begun(metadata)) {
            lines.push_str(&format!("{metadata}\n"));
        }
        write_atomically(&RealDisk, &path, lines.as_bytes(), None)
            .map_err(std::io::Error::other)?;
    }
    let mut file = File::options().create(true).append(true).open(&path)?;
    // The process before may have ended in the middle of a line.
    file.write_all(b"\n")?;
    Ok(file)
}

/// Returns the line that marks a task as forgotten.
pub(super) fn forgotten_line(id: &str) -> String {
    format!("{}\n", json!({ "id": id }))
}

/// Returns the metadata of every task in the file.
pub(super) fn read_lines(config: &JobsConfig) -> std::io::Result<Vec<Value>> {
    let file = match File::open(log_path(config)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let mut all = BTreeMap::new();
    for line in BufReader::new(file).split(b'\n') {
        let Ok(metadata) = serde_json::from_slice::<Value>(&line?) else {
            continue;
        };
        let Some(id) = metadata["id"].as_str().map(str::to_owned) else {
            continue;
        };
        match metadata.get("title") {
            Some(_) => drop(all.insert(id, metadata)),
            None => drop(all.remove(&id)),
        }
    }
    Ok(all.into_values().collect())
}
