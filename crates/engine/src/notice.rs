//! Notices about a file for its readers and writers.

use crate::lost::Lost;
use bowline_formats::finding::{Finding, Severity};
use bowline_words::{Lang, message as words};
use std::path::PathBuf;

/// Event in the life of a file that its reader or writer should know.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
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
        lost: Vec<Lost>,
    },
    /// An older version of the file was put back from outside.
    PutBack {
        /// Transition that led to that version.
        sequence: u64,
        /// Later transitions that were dropped with it.
        taken: Vec<Lost>,
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
        from: Origin,
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
pub enum Origin {
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

impl Notice {
    /// Returns the stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Notice::RolledForward { .. } => "rolled_forward",
            Notice::OutsideEdit { lost } if lost.is_empty() => "outside_edit",
            Notice::OutsideEdit { .. } => "lost_transition",
            Notice::PutBack { .. } => "older_version_put_back",
            Notice::AnotherTask { .. } => "another_task",
            Notice::Distrusted { .. } => "not_believed",
            Notice::NotIgnored => "not_ignored",
            Notice::TreeNotCompared => "tree_not_compared",
            Notice::Mended(finding) => finding.code,
            Notice::Restored { .. } => "restored",
            Notice::Keeper { code, .. } => code,
        }
    }

    /// Returns the notice as a finding about the whole file.
    pub fn to_finding(&self) -> Finding {
        let (severity, repair) = match self {
            Notice::OutsideEdit { lost } if !lost.is_empty() => {
                (Severity::Error, Some(words::Repair::Reapply))
            }
            Notice::Keeper { .. }
            | Notice::PutBack { .. }
            | Notice::AnotherTask { .. }
            | Notice::Distrusted { .. }
            | Notice::NotIgnored => (Severity::Warning, None),
            Notice::Mended(finding) => return finding.clone(),
            Notice::RolledForward { .. }
            | Notice::OutsideEdit { .. }
            | Notice::Restored { .. }
            | Notice::TreeNotCompared => (Severity::Note, None),
        };
        Finding {
            severity,
            code: self.code(),
            pointer: String::new(),
            message: words::Found::Told {
                notice: Box::new(self.words()),
            },
            repair,
        }
    }
}

/// Writes the English sentence as debug text.
impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.say(Lang::En))
    }
}
