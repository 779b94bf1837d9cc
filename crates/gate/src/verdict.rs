//! What a tool call would do, held against what is believed of the run.

use crate::belief::Belief;
use crate::place::Place;
use crate::shell::{Deed, Surroundings, deeds};
use bowline_formats::hook::ToolCall;
use bowline_machines::develop::{Act, Gate, Phase, Run, needed};
use std::path::{Path, PathBuf};

/// Letters of a command shown in a denial.
const SHOWN_CHARS_MAX: usize = 80;

/// What a gate may stand in the way of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offence {
    /// A file of the workspace is written.
    Write {
        /// Which; `None` when that cannot be told.
        path: Option<PathBuf>,
        /// By what.
        by: String,
    },
    /// Work is committed, pushed or put up for merging.
    Finish {
        /// By which command.
        what: String,
    },
    /// It cannot be seen what would run.
    Hidden {
        /// Why not.
        what: String,
    },
    /// The run's own file is changed behind Bowline's back.
    State {
        /// Which file.
        path: PathBuf,
    },
}

/// Why a call is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// Gates are closed.
    Closed {
        /// The phase of the run.
        phase: Phase,
        /// What was attempted.
        offence: Offence,
        /// Which gates.
        missing: Vec<Gate>,
    },
    /// The run's file is only changed by Bowline.
    State {
        /// Which file.
        path: PathBuf,
    },
    /// The run's file is gone.
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The run's file cannot be read.
    Damaged {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What a call would do in a workspace. Whether a written file is ignored by git is asked later, and only if it matters.
pub fn offences(
    call: &ToolCall,
    folder: &Path,
    place: &Place,
    around: &dyn Surroundings,
) -> Vec<Offence> {
    match call {
        ToolCall::Other => Vec::new(),
        ToolCall::Write { paths } => paths
            .iter()
            .flat_map(|path| {
                let path = path.as_ref().map(|path| folder.join(path));
                written(path, "the tool", place)
            })
            .collect(),
        ToolCall::Shell {
            command,
            folder: own,
        } => {
            let start = own
                .as_ref()
                .map_or_else(|| folder.to_owned(), |own| folder.join(own));
            match deeds(command, &start, around) {
                Ok(deeds) => deeds
                    .into_iter()
                    .flat_map(|deed| offence(deed, place))
                    .collect(),
                Err(error) => vec![Offence::Hidden {
                    what: error.to_string(),
                }],
            }
        }
    }
}

fn offence(deed: Deed, place: &Place) -> Vec<Offence> {
    match deed {
        Deed::Write { path, by } => written(path, &by, place),
        Deed::Touch { path, removed } => {
            if place.is_state(&path) || removed && place.holds_state(&path) {
                vec![Offence::State { path }]
            } else {
                Vec::new()
            }
        }
        Deed::Finish { what } => vec![Offence::Finish { what }],
        Deed::Hidden { what } => vec![Offence::Hidden { what }],
    }
}

fn written(path: Option<PathBuf>, by: &str, place: &Place) -> Vec<Offence> {
    let by = by.to_owned();
    match path {
        Some(path) if place.is_state(&path) => vec![Offence::State { path }],
        Some(path) if !place.holds(&path) => Vec::new(),
        path => vec![Offence::Write { path, by }],
    }
}

/// Whether the call goes on. `ignored` tells whether git ignores a path.
pub fn judge(
    belief: &Belief,
    offences: &[Offence],
    ignored: &mut dyn FnMut(&Path) -> bool,
) -> Option<Denial> {
    if offences.is_empty() {
        return None;
    }
    let believed = match belief {
        Belief::Nothing => return None,
        Belief::Missing { path, .. } => return Some(Denial::Missing { path: path.clone() }),
        Belief::Damaged { path, reason } => {
            return Some(Denial::Damaged {
                path: path.clone(),
                reason: reason.clone(),
            });
        }
        Belief::Run(believed) => believed,
    };
    let run = &believed.run;
    for offence in offences {
        let missing = match offence {
            // Nobody but its own program keeps a run that Bowline has not taken over.
            Offence::State { .. } if !believed.owned => continue,
            Offence::State { path } => return Some(Denial::State { path: path.clone() }),
            Offence::Write { path, .. } => {
                let missing = closed(run, Act::Write);
                if !missing.is_empty() && path.as_deref().is_some_and(&mut *ignored) {
                    continue;
                }
                missing
            }
            Offence::Finish { .. } => closed(run, Act::Finish),
            Offence::Hidden { .. } => {
                let mut missing = closed(run, Act::Write);
                missing.extend(closed(run, Act::Finish));
                missing.sort();
                missing.dedup();
                missing
            }
        };
        if !missing.is_empty() {
            return Some(Denial::Closed {
                phase: run.phase,
                offence: offence.clone(),
                missing,
            });
        }
    }
    None
}

fn closed(run: &Run, act: Act) -> Vec<Gate> {
    run.gates.missing(needed(run.phase, act))
}

impl Denial {
    /// The reason and the next command, as the agent reads them.
    pub fn text(&self, command: Option<&str>) -> String {
        let mut lines = match self {
            Denial::Closed {
                phase,
                offence,
                missing,
            } => {
                let phase = phase.name();
                let what = match offence {
                    Offence::Write { path, by } => match path {
                        Some(path) => format!("writing {} ({by}) is closed", path.display()),
                        None => format!("writing a file ({by}) is closed"),
                    },
                    Offence::Finish { what } => format!("{what} is closed"),
                    Offence::Hidden { what } => format!("it cannot be seen what would run: {what}"),
                    Offence::State { path } => format!("writing {} is closed", path.display()),
                };
                let names: Vec<&str> = missing.iter().map(|gate| gate.name()).collect();
                let mut lines = vec![format!("[PHASE GATE] {phase}: {what}.")];
                lines.push(format!("closed gates: {}", names.join(", ")));
                lines.extend(missing.first().map(|gate| opening(phase, *gate)));
                lines
            }
            Denial::State { path } => vec![
                format!(
                    "[PHASE GATE] {} is changed by bowline only.",
                    path.display()
                ),
                "next: bowline develop status, then its verb: review, gate pass, implement, checkpoint, pr, done".into(),
            ],
            Denial::Missing { path } => vec![
                format!(
                    "[PHASE GATE] a develop run is open, but its file {} is missing.",
                    path.display()
                ),
                "next: bowline doctor --repair develop".into(),
            ],
            Denial::Damaged { path, reason } => vec![
                format!("[PHASE GATE] {} cannot be read: {reason}.", path.display()),
                "next: bowline doctor --repair develop".into(),
            ],
        };
        if let Some(command) = command {
            let shown: String = command.chars().take(SHOWN_CHARS_MAX).collect();
            lines.insert(1, format!("blocked: {}", shown.replace('\n', " ")));
        }
        lines.join("\n") + "\n"
    }
}

/// How a gate is opened from a phase.
fn opening(phase: &str, gate: Gate) -> String {
    if gate.phase().name() == phase {
        format!("next: bowline develop gate pass {}", gate.name())
    } else {
        let back = gate.phase();
        let command = format!("bowline develop back {}", back.name());
        match back {
            // An agent may go back to work, not to what people decided.
            Phase::Implement | Phase::Pr | Phase::Done => format!("next: {command}"),
            Phase::Design | Phase::Review => format!("next: ask a person to run: {command}"),
        }
    }
}
