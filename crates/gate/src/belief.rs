//! What is believed of the run of a workspace.
//!
//! The run's file is where anybody may write; its journal is where only Bowline does. When they agree, two small reads
//! are all. When they do not, gates, phase and checkpoints count as Bowline wrote them last.

use crate::locate;
use bowline_formats::StateFormat as _;
use bowline_formats::develop::DevelopFile;
use bowline_formats::json::JsonDocument;
use bowline_machines::develop::{Phase, Run, merge_trust};
use bowline_statefiles::{Situation, Snapshot, StateFile, kind};
use std::path::{Path, PathBuf};

/// What is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Belief {
    /// There is no run, or none any more.
    Nothing,
    /// There is this run.
    Run(Box<Believed>),
    /// The journal holds an open run, and its file is gone.
    Missing {
        /// Where the file should be.
        path: PathBuf,
        /// The run as it was last written, where that can be told.
        last: Option<Box<Run>>,
    },
    /// The file, or its journal, cannot be read.
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// A run, and how far its file is to be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Believed {
    /// Its file.
    pub path: PathBuf,
    /// The run as it is believed.
    pub run: Run,
    /// Bowline has a journal of it. Otherwise another program began it, and it is believed as it stands.
    pub owned: bool,
    /// What somebody changed in the file and is not believed: `phase`, `gates.NAME`, `checkpoints.ID`.
    pub distrusted: Vec<String>,
    /// The last line of the journal; 0 without one.
    pub sequence: u64,
}

impl Belief {
    /// The run's file, where it is or should be.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Belief::Nothing => None,
            Belief::Run(believed) => Some(&believed.path),
            Belief::Missing { path, .. } | Belief::Damaged { path, .. } => Some(path),
        }
    }
}

/// What is believed of the run that is found from a folder, whatever the environment says.
pub fn of_folder(start: &Path) -> Belief {
    of_file(&locate::develop_file_of(start))
}

/// What is believed of the run whose file is at a path. Takes no lock and writes nothing.
pub fn of_file(path: &Path) -> Belief {
    of_state_file(path, &StateFile::new(locate::layout(path)))
}

/// The same for a file whose companions are known.
pub fn of_state_file(path: &Path, file: &StateFile) -> Belief {
    let damaged = |reason: String| Belief::Damaged {
        path: path.to_owned(),
        reason,
    };
    let snapshot = match file.load() {
        Ok(snapshot) => snapshot,
        Err(error) => return damaged(error.to_string()),
    };
    match weigh(path, file, &snapshot) {
        Ok(belief) => belief,
        Err(reason) => {
            // A program that writes in place may be half-way through. Without a clock the whole moment is waited for.
            let modified_ms = snapshot.modified_ms.unwrap_or_default();
            match file.reread_if_fresh(&snapshot, modified_ms) {
                Ok(Some(again)) => weigh(path, file, &again).unwrap_or_else(damaged),
                Ok(None) => damaged(reason),
                Err(error) => damaged(error.to_string()),
            }
        }
    }
}

/// Fails where nothing at all is known of the run.
pub fn is_readable(snapshot: &Snapshot) -> Result<(), String> {
    match snapshot.journal_damaged {
        true => Err("its journal cannot be read".into()),
        false => Ok(()),
    }
}

/// The same for one look at the file; an error says what cannot be read.
pub fn weigh(path: &Path, file: &StateFile, snapshot: &Snapshot) -> Result<Belief, String> {
    is_readable(snapshot)?;
    let foreign = snapshot.last_kind.as_deref() == Some(kind::OUTSIDE);
    let believed = |run: Run, owned: bool, distrusted: Vec<String>| {
        Belief::Run(Box::new(Believed {
            path: path.to_owned(),
            run,
            owned,
            distrusted,
            sequence: snapshot.seq,
        }))
    };
    let missing = |last: Ours| match last {
        // A run that was over or thrown away leaves nothing behind that could be missed.
        Ours::Gone => Belief::Nothing,
        Ours::Run(run) if run.phase == Phase::Done => Belief::Nothing,
        Ours::Run(run) => Belief::Missing {
            path: path.to_owned(),
            last: Some(run),
        },
        Ours::Unknown => Belief::Missing {
            path: path.to_owned(),
            last: None,
        },
    };
    let trusted = match &snapshot.situation {
        Situation::Absent if foreign => return Ok(missing(ours(file, snapshot)?)),
        Situation::Absent => return Ok(Belief::Nothing),
        // A removal of ours that was interrupted.
        Situation::RolledForward { .. } if snapshot.bytes.is_none() => return Ok(Belief::Nothing),
        Situation::Missing { ours: Some(text) } if !foreign => {
            let last = read(text).map_or(Ours::Unknown, |run| Ours::Run(Box::new(run)));
            return Ok(missing(last));
        }
        Situation::Missing { .. } => return Ok(missing(ours(file, snapshot)?)),
        Situation::Clean | Situation::RolledForward { .. } if !foreign => None,
        Situation::Outside { ours: Some(text) } if !foreign => {
            Some(Ours::Run(Box::new(read(text)?)))
        }
        Situation::Unmanaged if locate::has_begun(path) => {
            return Err("its journal is gone".into());
        }
        Situation::Unmanaged => Some(Ours::Gone),
        // What somebody else wrote is nothing to compare with: behind it is what we wrote.
        Situation::Clean | Situation::RolledForward { .. } | Situation::Outside { .. } => {
            Some(ours(file, snapshot)?)
        }
    };
    let text = snapshot.text().map_err(|error| error.to_string())?;
    let theirs = read(text.unwrap_or_default())?;
    Ok(match trusted {
        None => believed(theirs, true, Vec::new()),
        // Nothing of ours is there to compare with: another program began it.
        Some(Ours::Gone) => believed(theirs, false, Vec::new()),
        Some(Ours::Run(ours)) => {
            let merged = merge_trust(&ours, &theirs);
            believed(merged.run, true, merged.distrusted)
        }
        Some(Ours::Unknown) => {
            return Err("was changed, and what was there before cannot be told".into());
        }
    })
}

/// What Bowline itself wrote last.
enum Ours {
    /// This run.
    Run(Box<Run>),
    /// It threw a run away, and has none since.
    Gone,
    /// It cannot be told.
    Unknown,
}

/// What Bowline itself wrote last, from the whole journal.
fn ours(file: &StateFile, snapshot: &Snapshot) -> Result<Ours, String> {
    let history = file.history_of(snapshot.history.as_ref());
    let history = history.map_err(|error| error.to_string())?;
    let mut last = (false, None);
    history.walk_versions(0, |line, _, after| {
        if line.kind != kind::OUTSIDE {
            last = (line.gone, after.map(str::to_owned));
        }
    });
    Ok(match last {
        (true, _) => Ours::Gone,
        (false, Some(text)) => Ours::Run(Box::new(read(&text)?)),
        (false, None) => Ours::Unknown,
    })
}

fn read(text: &str) -> Result<Run, String> {
    let document = JsonDocument::from_text(text.to_owned()).map_err(|error| error.to_string())?;
    let read = DevelopFile::read(&document).map_err(|findings| {
        let messages = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.pointer, finding.message));
        messages.collect::<Vec<_>>().join("; ")
    })?;
    read.state.ok_or_else(|| "there is no run in it".to_owned())
}
