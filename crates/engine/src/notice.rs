//! What happened to a file that whoever works with it should be told.

use crate::lost::Lost;
use bowline_formats::finding::{Finding, Severity};
use std::path::PathBuf;

/// Something that happened to a file, worth telling whoever works with it.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A committed change had not reached the file; it has now.
    RolledForward {
        /// How many.
        lines: usize,
    },
    /// Somebody else changed the file.
    OutsideEdit {
        /// Acknowledged transitions that the edit lacks.
        lost: Vec<Lost>,
    },
    /// Somebody else changed what only Bowline may change; it counts as Bowline wrote it last.
    Distrusted {
        /// `phase`, `gates.NAME`, `checkpoints.ID`.
        places: Vec<String>,
    },
    /// The folder of a develop run is not ignored by git.
    NotIgnored,
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
        /// A sentence for people.
        message: String,
    },
}

/// Where a restored document came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The version last acknowledged: nothing is lost.
    Journal,
    /// A copy of an earlier version.
    Copy(PathBuf),
    /// Other files that know the same.
    Rebuilt,
    /// Nowhere: it begins anew.
    Anew,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Journal => f.write_str("restored from the journal as it was last written"),
            Origin::Copy(path) => write!(f, "restored from {}", path.display()),
            Origin::Rebuilt => f.write_str("rebuilt from other files"),
            Origin::Anew => f.write_str("nothing to restore it from was found, so it begins anew"),
        }
    }
}

impl Notice {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Notice::RolledForward { .. } => "rolled_forward",
            Notice::OutsideEdit { lost } if lost.is_empty() => "outside_edit",
            Notice::OutsideEdit { .. } => "lost_transition",
            Notice::Distrusted { .. } => "not_believed",
            Notice::NotIgnored => "not_ignored",
            Notice::Mended(finding) => finding.code,
            Notice::Restored { .. } => "restored",
            Notice::Keeper { code, .. } => code,
        }
    }

    /// The notice as a finding about the whole file.
    pub fn to_finding(&self) -> Finding {
        let (severity, repair) = match self {
            Notice::OutsideEdit { lost } if !lost.is_empty() => (
                Severity::Error,
                Some("'bowline doctor --repair' applies them again".to_owned()),
            ),
            Notice::Keeper { .. } | Notice::Distrusted { .. } | Notice::NotIgnored => {
                (Severity::Warning, None)
            }
            Notice::Mended(finding) => return finding.clone(),
            Notice::RolledForward { .. } | Notice::OutsideEdit { .. } | Notice::Restored { .. } => {
                (Severity::Note, None)
            }
        };
        Finding {
            severity,
            code: self.code(),
            pointer: String::new(),
            message: self.to_string(),
            repair,
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::RolledForward { lines } => {
                write!(
                    f,
                    "{lines} committed change(s) had not reached the file and were completed"
                )
            }
            Notice::OutsideEdit { lost } if lost.is_empty() => {
                f.write_str("the file was changed outside Bowline")
            }
            Notice::OutsideEdit { lost } => {
                let names: Vec<String> = lost.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "the file was changed outside Bowline and lacks acknowledged transitions: {}",
                    names.join(", ")
                )
            }
            Notice::Distrusted { places } => write!(
                f,
                "changed outside Bowline and not believed: {}",
                places.join(", ")
            ),
            Notice::NotIgnored => {
                f.write_str("git does not ignore .develop-workflow/; add it to .gitignore")
            }
            Notice::Mended(finding) => match &finding.repair {
                Some(repair) => write!(f, "{} {}: {repair}", finding.pointer, finding.message),
                None => write!(f, "{} {}", finding.pointer, finding.message),
            },
            Notice::Restored {
                from,
                set_aside: Some(path),
            } => {
                write!(
                    f,
                    "the file was damaged: {from}; the damaged one is {}",
                    path.display()
                )
            }
            Notice::Restored {
                from,
                set_aside: None,
            } => write!(f, "the file was missing: {from}"),
            Notice::Keeper { message, .. } => f.write_str(message),
        }
    }
}
