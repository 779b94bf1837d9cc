//! What happened to a file that whoever works with it should be told.

use crate::lost::Lost;
use bowline_formats::finding::{Finding, Severity};
use bowline_words::{Lang, message as words};
use std::path::PathBuf;

/// Something that happened to a file, worth telling whoever works with it.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A committed change had not reached the file.
    RolledForward {
        /// How many.
        lines: usize,
        /// It has now. Reading completes nothing.
        completed: bool,
    },
    /// Somebody else changed the file.
    OutsideEdit {
        /// Acknowledged transitions that the edit lacks.
        lost: Vec<Lost>,
    },
    /// Somebody put an older version of the file back.
    PutBack {
        /// The transition that version came from.
        sequence: u64,
        /// What came after it and was taken back with that.
        taken: Vec<Lost>,
    },
    /// Somebody put the document of another task in the place of this one.
    AnotherTask {
        /// The task it was about.
        was: String,
        /// The task it is about.
        is: String,
    },
    /// Somebody else changed what only Bowline may change; it counts as Bowline wrote it last.
    Distrusted {
        /// `phase`, `gates.NAME`, `checkpoints.ID`.
        places: Vec<String>,
    },
    /// The folder of a develop run is not ignored by git.
    NotIgnored,
    /// The policy says `tree = false`: what lands may be another tree than the one that was tested.
    TreeNotCompared,
    /// A field was repaired before the change.
    Mended(Finding),
    /// The file was damaged and something took its place.
    Restored {
        /// Where the document came from.
        from: Origin,
        /// Where the damaged file is now.
        set_aside: Option<PathBuf>,
    },
    /// Something the file's keeper noticed.
    Keeper {
        /// A word for programs.
        code: &'static str,
        /// What it noticed.
        words: words::Notice,
    },
}

/// Where a restored document came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The version last acknowledged: nothing is lost.
    Journal,
    /// An older version: what came after it cannot be rebuilt.
    Version(u64),
    /// A copy of an earlier version.
    Copy(PathBuf),
    /// Other files that know the same.
    Rebuilt,
    /// Nowhere: it begins anew.
    Anew,
}

impl Notice {
    /// A word for programs.
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

    /// The notice as a finding about the whole file.
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

/// Debug text: the English sentence.
impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.say(Lang::En))
    }
}
