//! Notices about a file for its readers and writers.

use crate::lost_updates::LostTransition;
use bowline_formats::finding::{Finding, Severity};
use bowline_words::{Lang, message as words};
use std::path::PathBuf;

/// Event in the life of a file that its reader or writer should know.
#[derive(Debug, Clone, PartialEq)]
pub enum FileNotice {
    /// Committed changes had not reached the file.
    RolledForward {
        /// Number of changes.
        lines: usize,
        /// True if they have now. Reading completes nothing.
        completed: bool,
    },
    /// Another program or a person changed the file.
    OutsideEdit {
        /// Acknowledged transitions that the edit lacks.
        lost: Vec<LostTransition>,
    },
    /// An older version of the file was put back from outside.
    PutBack {
        /// Transition that led to that version.
        sequence: u64,
        /// Later transitions that were dropped with it.
        taken: Vec<LostTransition>,
    },
    /// The document of another task took the place of this one.
    AnotherTask {
        /// Task of the previous document.
        was: String,
        /// Task of the present document.
        is: String,
    },
    /// An outside edit changed what only Bowline may change; the version that Bowline wrote last
    /// counts.
    Distrusted {
        /// `phase`, `gates.NAME`, `checkpoints.ID`.
        places: Vec<String>,
    },
    /// The folder of a develop run is not ignored by git.
    NotIgnored,
    /// The policy says `tree = false`: the merged tree may differ from the tested one.
    TreeNotCompared,
    /// A field was repaired before the change.
    Mended(Finding),
    /// The file was damaged and another document took its place.
    Restored {
        /// Source of the document.
        from: RestoreSource,
        /// Path of the damaged file.
        set_aside: Option<PathBuf>,
    },
    /// A notice of the storage layer, or of another rule with its own words.
    Keeper {
        /// Stable code for programs.
        code: &'static str,
        words: words::Notice,
    },
}

/// Source of a restored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreSource {
    /// Version last acknowledged: nothing is lost.
    Journal,
    /// Older version: later changes cannot be rebuilt.
    Version(u64),
    Copy(PathBuf),
    /// Other files with the same content.
    Rebuilt,
    /// Initial document.
    Anew,
}

impl FileNotice {
    /// Returns the stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            FileNotice::RolledForward { .. } => "rolled_forward",
            FileNotice::OutsideEdit { lost } if lost.is_empty() => "outside_edit",
            FileNotice::OutsideEdit { .. } => "lost_transition",
            FileNotice::PutBack { .. } => "older_version_put_back",
            FileNotice::AnotherTask { .. } => "another_task",
            FileNotice::Distrusted { .. } => "not_believed",
            FileNotice::NotIgnored => "not_ignored",
            FileNotice::TreeNotCompared => "tree_not_compared",
            FileNotice::Mended(finding) => finding.code,
            FileNotice::Restored { .. } => "restored",
            FileNotice::Keeper { code, .. } => code,
        }
    }

    /// Returns the notice as a finding about the whole file.
    pub fn to_finding(&self) -> Finding {
        let (severity, repair) = match self {
            FileNotice::OutsideEdit { lost } if !lost.is_empty() => {
                (Severity::Error, Some(words::Repair::Reapply))
            }
            FileNotice::Keeper { .. }
            | FileNotice::PutBack { .. }
            | FileNotice::AnotherTask { .. }
            | FileNotice::Distrusted { .. }
            | FileNotice::NotIgnored => (Severity::Warning, None),
            FileNotice::Mended(finding) => return finding.clone(),
            FileNotice::RolledForward { .. }
            | FileNotice::OutsideEdit { .. }
            | FileNotice::Restored { .. }
            | FileNotice::TreeNotCompared => (Severity::Note, None),
        };
        Finding {
            severity,
            code: self.code(),
            pointer: String::new(),
            message: words::FileFinding::Noticed {
                notice: Box::new(self.to_message()),
            },
            repair,
        }
    }
}

/// Writes the English sentence as debug text.
impl std::fmt::Display for FileNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render_notice(Lang::En))
    }
}
