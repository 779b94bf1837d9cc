//! The trust in the state file of a workspace's run.
//!
//! Any program may write the run's file; only Bowline writes its journal. When they agree, two
//! small reads are enough. When they do not, gates, phase and checkpoints count as Bowline wrote
//! them last.

use crate::locate;
use bowline_formats::StateFormat as _;
use bowline_formats::develop::DevelopFile;
use bowline_formats::json::JsonDocument;
use bowline_machines::develop::{DevelopPhase, DevelopRunState, merge_trust};
use bowline_statefiles::{FileSituation, FileSnapshot, StateFile, kind};
use std::path::{Path, PathBuf};

/// The run of a workspace, as far as its files can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunTrust {
    /// There is no run, or none any more.
    Nothing,
    Run(Box<TrustedRun>),
    /// The journal holds an open run, and its file is gone.
    Missing {
        /// The path at which the file is expected.
        path: PathBuf,
        /// The run as last written; `None` if the journal does not hold it.
        last: Option<Box<DevelopRunState>>,
    },
    /// The file, or its journal, cannot be read.
    Damaged {
        /// The run's file.
        path: PathBuf,
        /// The error of the reader.
        reason: String,
    },
}

/// A run whose file was read, and the changes in the file that are not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRun {
    pub path: PathBuf,
    /// The run with every change that is not trusted taken back.
    pub run: DevelopRunState,
    /// True if Bowline has a journal of the run. Otherwise another program began it, and the file
    /// is trusted as it is.
    pub owned: bool,
    /// Changes in the file that are not trusted: `phase`, `gates.NAME`, `checkpoints.ID`.
    pub distrusted: Vec<String>,
    /// The number of the journal's last line; 0 without a journal.
    pub sequence: u64,
}

impl RunTrust {
    /// Returns the path of the run's file, present or expected; `None` without a run.
    pub fn path(&self) -> Option<&Path> {
        match self {
            RunTrust::Nothing => None,
            RunTrust::Run(believed) => Some(&believed.path),
            RunTrust::Missing { path, .. } | RunTrust::Damaged { path, .. } => Some(path),
        }
    }
}

/// Assesses the run that is found from a folder, without regard to `BOWLINE_WORKSPACE`.
pub fn assess_folder(start: &Path) -> RunTrust {
    assess_file(&locate::develop_file_of(start))
}

/// Assesses the run whose file is at a path. Takes no lock and writes nothing.
pub fn assess_file(path: &Path) -> RunTrust {
    assess_state_file(path, &StateFile::new(locate::run_layout(path)))
}

/// Assesses the run of a state file whose layout is known.
pub fn assess_state_file(path: &Path, file: &StateFile) -> RunTrust {
    let damaged = |reason: String| RunTrust::Damaged {
        path: path.to_owned(),
        reason,
    };
    let snapshot = match file.load() {
        Ok(snapshot) => snapshot,
        Err(error) => return damaged(error.to_string()),
    };
    match assess_trust(path, file, &snapshot) {
        Ok(trust) => trust,
        Err(reason) => {
            // A program that writes in place may not be done yet. There is no clock here, so this
            // waits the full time.
            let modified_ms = snapshot.modified_ms.unwrap_or_default();
            match file.reread_if_fresh(&snapshot, modified_ms) {
                Ok(Some(again)) => assess_trust(path, file, &again).unwrap_or_else(damaged),
                Ok(None) => damaged(reason),
                Err(error) => damaged(error.to_string()),
            }
        }
    }
}

/// Fails if the journal is damaged, so that nothing is known of the run.
pub fn check_readable(snapshot: &FileSnapshot) -> Result<(), String> {
    match snapshot.journal_damaged {
        true => Err("its journal cannot be read".into()),
        false => Ok(()),
    }
}

/// Assesses the run from one snapshot of its file. The error says which part cannot be read.
pub fn assess_trust(
    path: &Path,
    file: &StateFile,
    snapshot: &FileSnapshot,
) -> Result<RunTrust, String> {
    check_readable(snapshot)?;
    let foreign = snapshot.last_kind.as_deref() == Some(kind::OUTSIDE);
    let believed = |run: DevelopRunState, owned: bool, distrusted: Vec<String>| {
        RunTrust::Run(Box::new(TrustedRun {
            path: path.to_owned(),
            run,
            owned,
            distrusted,
            sequence: snapshot.seq,
        }))
    };
    let missing = |last: LastCommitted| match last {
        // A finished or discarded run leaves no file behind that could be missing.
        LastCommitted::Gone => RunTrust::Nothing,
        LastCommitted::Run(run) if run.phase == DevelopPhase::Done => RunTrust::Nothing,
        LastCommitted::Run(run) => RunTrust::Missing {
            path: path.to_owned(),
            last: Some(run),
        },
        LastCommitted::Unknown => RunTrust::Missing {
            path: path.to_owned(),
            last: None,
        },
    };
    let trusted = match &snapshot.situation {
        FileSituation::Absent if foreign => {
            return Ok(missing(find_last_committed(file, snapshot)?));
        }
        FileSituation::Absent => return Ok(RunTrust::Nothing),
        // A removal by Bowline that was interrupted.
        FileSituation::RolledForward { .. } if snapshot.bytes.is_none() => {
            return Ok(RunTrust::Nothing);
        }
        FileSituation::Missing { ours: Some(text) } if !foreign => {
            let last = parse_run(text).map_or(LastCommitted::Unknown, |run| {
                LastCommitted::Run(Box::new(run))
            });
            return Ok(missing(last));
        }
        FileSituation::Missing { .. } => return Ok(missing(find_last_committed(file, snapshot)?)),
        FileSituation::Clean | FileSituation::RolledForward { .. } if !foreign => None,
        FileSituation::Outside { ours: Some(text) } if !foreign => {
            Some(LastCommitted::Run(Box::new(parse_run(text)?)))
        }
        FileSituation::Unmanaged if locate::has_begun(path) => {
            return Err("its journal is gone".into());
        }
        FileSituation::Unmanaged => Some(LastCommitted::Gone),
        // An edit by another program is no version to compare with; the last one written by Bowline
        // lies before it.
        FileSituation::Clean
        | FileSituation::RolledForward { .. }
        | FileSituation::Outside { .. } => Some(find_last_committed(file, snapshot)?),
    };
    let text = snapshot.text().map_err(|error| error.to_string())?;
    let theirs = parse_run(text.unwrap_or_default())?;
    Ok(match trusted {
        None => believed(theirs, true, Vec::new()),
        // Bowline wrote no version to compare with: another program began the run.
        Some(LastCommitted::Gone) => believed(theirs, false, Vec::new()),
        Some(LastCommitted::Run(ours)) => {
            let merged = merge_trust(&ours, &theirs);
            believed(merged.run, true, merged.distrusted)
        }
        Some(LastCommitted::Unknown) => {
            return Err("was changed, and what was there before cannot be told".into());
        }
    })
}

/// The version that Bowline itself wrote last.
enum LastCommitted {
    Run(Box<DevelopRunState>),
    /// Bowline discarded its run and has written none since.
    Gone,
    /// The journal does not hold the version.
    Unknown,
}

/// Finds the version that Bowline wrote last in the whole journal.
fn find_last_committed(file: &StateFile, snapshot: &FileSnapshot) -> Result<LastCommitted, String> {
    let history = file.history_of(snapshot.history.as_ref());
    let history = history.map_err(|error| error.to_string())?;
    let mut last = (false, None);
    history.walk_versions(0, |line, _, after| {
        if line.kind != kind::OUTSIDE {
            last = (line.gone, after.map(str::to_owned));
        }
    });
    Ok(match last {
        (true, _) => LastCommitted::Gone,
        (false, Some(text)) => LastCommitted::Run(Box::new(parse_run(&text)?)),
        (false, None) => LastCommitted::Unknown,
    })
}

fn parse_run(text: &str) -> Result<DevelopRunState, String> {
    let document = JsonDocument::from_text(text.to_owned()).map_err(|error| error.to_string())?;
    let read = DevelopFile::read_state(&document).map_err(|findings| {
        let messages = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.pointer, finding.message));
        messages.collect::<Vec<_>>().join("; ")
    })?;
    read.state.ok_or_else(|| "there is no run in it".to_owned())
}
