//! Decides on a tool call: its side effects are checked against the gates of the run.

use crate::advice::{self, Next};
use crate::belief::Belief;
use crate::lang::Lang;
use crate::place::Place;
use crate::shell::{Deed, Surroundings, Touched, UNKNOWN_NAME, deeds};
use crate::tool_call::ToolCall;
use bowline_formats::develop::seal::Seal;
use bowline_machines::develop::{Act, Gate, Phase, Run, needed};
use bowline_words::message::{Card, Change, Denied, FinishingAct, Unseen};
use std::path::{Path, PathBuf};

/// The command that repairs a run's file.
pub(crate) const REPAIR: &str = "bowline doctor --repair develop";

/// The commands that produce evidence for the present tree.
const TEST_AGAIN: &str =
    "bowline develop gate reset re_review_clean && bowline develop gate pass re_review_clean";

/// Stands for the tool itself where no command writes.
const THE_TOOL: &str = "";
/// Characters of a command shown in a denial.
const SHOWN_CHARS_MAX: usize = 80;

/// An action that a gate may deny.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offence {
    /// A file of the workspace is written.
    Write {
        /// `None` if the path is unknown.
        path: Option<PathBuf>,
        /// The program or sign that writes; empty for the tool itself.
        by: String,
    },
    /// Work is committed, pushed, or put up for merging.
    Finish { what: FinishingAct },
    /// Bowline is given a command that only a person may give.
    Person {
        /// The command.
        what: String,
    },
    /// Hooks are installed, which only a person may do while a gate is closed.
    Setup {
        /// The command.
        what: String,
    },
    /// A command runs that cannot be analysed.
    Hidden {
        /// The reason.
        what: Unseen,
    },
    /// A file is changed that makes a client or git ask the gate.
    Guard { path: PathBuf },
    /// The run's own file is changed around Bowline.
    State { path: PathBuf },
    /// The run's own file is removed, unless git ignores it.
    Cleaned { path: PathBuf },
}

/// The reason for denying a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// Gates are closed.
    Closed {
        /// The phase of the run.
        phase: Phase,
        /// The action that was attempted.
        offence: Offence,
        /// The closed gates.
        missing: Vec<Gate>,
    },
    /// Only a person may give this command, whether or not there is a run.
    Person {
        /// The command.
        what: String,
    },
    /// Only Bowline may change the run's file.
    State { path: PathBuf },
    /// The tree that would land is not the tested one.
    OtherTree {
        /// The act that would land it.
        what: FinishingAct,
        /// The files that differ; empty if they are not known.
        changes: Vec<Change>,
    },
    /// The run's file is gone.
    Missing {
        /// The path at which the file is expected.
        path: PathBuf,
    },
    /// The run's file cannot be read.
    Damaged {
        path: PathBuf,
        /// The error of the reader.
        reason: String,
    },
}

/// Returns the gated actions of a call in a workspace. It does not ask if git ignores a written
/// file; that happens later, and only if it matters.
pub fn offences(
    call: &ToolCall,
    folder: &Path,
    place: &Place,
    around: &dyn Surroundings,
) -> Vec<Offence> {
    offences_in(&deeds_of(call, folder, around), place)
}

/// Returns the side effects of a call in any place.
pub fn deeds_of(call: &ToolCall, folder: &Path, around: &dyn Surroundings) -> Vec<Deed> {
    match call {
        ToolCall::Other => Vec::new(),
        ToolCall::Finish { tool } => vec![Deed::Finish {
            what: tool.clone(),
            place: None,
        }],
        ToolCall::Hidden { tool } => vec![Deed::Hidden {
            what: Unseen::ToolInput { tool: tool.clone() },
        }],
        ToolCall::Write { paths } => paths
            .iter()
            .map(|path| Deed::Write {
                path: path.as_ref().map(|path| folder.join(path)),
                by: THE_TOOL.to_owned(),
            })
            .collect(),
        ToolCall::Shell {
            command,
            folder: own,
        } => {
            let start = own
                .as_ref()
                .map_or_else(|| folder.to_owned(), |own| folder.join(own));
            deeds(command, &start, around).unwrap_or_else(|error| {
                vec![Deed::Hidden {
                    what: error.unseen(),
                }]
            })
        }
    }
}

/// Selects the gated actions of a workspace among side effects.
pub fn offences_in(deeds: &[Deed], place: &Place) -> Vec<Offence> {
    deeds.iter().flat_map(|deed| offence(deed, place)).collect()
}

/// Returns the gated actions in a workspace that the call does not run in: only side effects that
/// certainly land there.
pub fn offences_from_afar(deeds: &[Deed], place: &Place) -> Vec<Offence> {
    let lands = |deed: &&Deed| match deed {
        Deed::Write { path: at, .. }
        | Deed::Finish { place: at, .. }
        | Deed::Setup { place: at, .. } => at.is_some(),
        Deed::Touch { .. } => true,
        // A person's command is denied already, wherever it is given.
        Deed::Hidden { .. } | Deed::Person { .. } => false,
    };
    let known = deeds.iter().filter(lands);
    known.flat_map(|deed| offence(deed, place)).collect()
}

/// Returns the actions that are denied even without a run.
pub fn offences_anywhere(deeds: &[Deed]) -> Vec<Offence> {
    let persons = deeds.iter().filter_map(|deed| match deed {
        Deed::Person { what } => Some(Offence::Person { what: what.clone() }),
        Deed::Write { .. }
        | Deed::Touch { .. }
        | Deed::Finish { .. }
        | Deed::Setup { .. }
        | Deed::Hidden { .. } => None,
    });
    persons.collect()
}

fn offence(deed: &Deed, place: &Place) -> Vec<Offence> {
    match deed {
        Deed::Write { path, by } => written(path.clone(), by, place),
        Deed::Touch { path, how, by } => touched(path, *how, by, place),
        // In a folder outside this repository it does not concern this run.
        Deed::Finish {
            place: Some(folder),
            ..
        }
        | Deed::Setup {
            place: Some(folder),
            ..
        } if !place.holds(folder) => Vec::new(),
        Deed::Setup { what, .. } => vec![Offence::Setup { what: what.clone() }],
        Deed::Finish { what, .. } => vec![finished_by(what)],
        Deed::Hidden { what } => vec![Offence::Hidden { what: what.clone() }],
        Deed::Person { what } => vec![Offence::Person { what: what.clone() }],
    }
}

fn finished_by(command: &str) -> Offence {
    let text = command.to_owned();
    Offence::Finish {
        what: FinishingAct::Command { text },
    }
}

fn touched(path: &Path, how: Touched, by: &str, place: &Place) -> Vec<Offence> {
    let there = || path.symlink_metadata().is_ok() || path.to_string_lossy().contains(UNKNOWN_NAME);
    let cleaned = matches!(how, Touched::Cleaned { .. });
    if place.is_state(path) && !cleaned || how == Touched::Gone && place.holds_state(path) {
        return vec![Offence::State {
            path: path.to_owned(),
        }];
    }
    let changes = match how {
        Touched::Cleaned { ignored } if place.holds_state(path) || place.is_state(path) => {
            let path = place.state().to_owned();
            return vec![match ignored {
                true => Offence::State { path },
                false => Offence::Cleaned { path },
            }];
        }
        Touched::Cleaned { .. } => false,
        Touched::Gone => there(),
        Touched::Made => !there(),
        Touched::Marked if place.holds_hooks(path) => {
            return vec![Offence::Guard {
                path: path.to_owned(),
            }];
        }
        Touched::Marked => place.is_guard(path),
    };
    match changes {
        true => written(Some(path.to_owned()), by, place),
        false => Vec::new(),
    }
}

fn written(path: Option<PathBuf>, by: &str, place: &Place) -> Vec<Offence> {
    let by = by.to_owned();
    match path {
        Some(path) if place.is_state(&path) => vec![Offence::State { path }],
        Some(path) if place.is_guard(&path) => vec![Offence::Guard { path }],
        Some(path) if !place.holds(&path) => Vec::new(),
        // A branch can be moved without git.
        Some(path) if place.is_reference(&path) => {
            vec![finished_by(format!("{by} {}", path.display()).trim_start())]
        }
        path => vec![Offence::Write { path, by }],
    }
}

/// Decides on a call; `None` allows it. `ignored` says if git ignores a path.
pub fn judge(
    belief: &Belief,
    offences: &[Offence],
    ignored: &mut dyn FnMut(&Path) -> bool,
) -> Option<Denial> {
    if offences.is_empty() {
        return None;
    }
    let believed = match belief {
        // Without a run there are no gates, but a command for people is still denied to agents.
        Belief::Nothing => {
            return offences.iter().find_map(|offence| match offence {
                Offence::Person { what } => Some(Denial::Person { what: what.clone() }),
                Offence::Write { .. }
                | Offence::Finish { .. }
                | Offence::Setup { .. }
                | Offence::Hidden { .. }
                | Offence::Guard { .. }
                | Offence::Cleaned { .. }
                | Offence::State { .. } => None,
            });
        }
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
            // A run that Bowline has not taken over is kept by its own program.
            Offence::State { .. } | Offence::Cleaned { .. } if !believed.owned => continue,
            Offence::Cleaned { path } if ignored(path) => continue,
            Offence::Person { what } => return Some(Denial::Person { what: what.clone() }),
            Offence::State { path } | Offence::Cleaned { path } => {
                return Some(Denial::State { path: path.clone() });
            }
            Offence::Write { path, .. } => {
                let missing = closed(run, Act::Write);
                if !missing.is_empty() && path.as_deref().is_some_and(&mut *ignored) {
                    continue;
                }
                missing
            }
            Offence::Finish { .. } => closed(run, Act::Finish),
            // Denied even if git ignores the file: the next call would not be checked any more.
            Offence::Hidden { .. } | Offence::Guard { .. } | Offence::Setup { .. } => {
                closed_for_anything(run)
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

fn closed_for_anything(run: &Run) -> Vec<Gate> {
    let mut missing = closed(run, Act::Write);
    missing.extend(closed(run, Act::Finish));
    missing.sort();
    missing.dedup();
    missing
}

/// True if a gate that the present phase needs is closed, or may be: an unreadable run has no open
/// gate.
pub fn has_closed_gate(belief: &Belief) -> bool {
    match belief {
        Belief::Nothing => false,
        Belief::Missing { .. } | Belief::Damaged { .. } => true,
        Belief::Run(believed) => !closed_for_anything(&believed.run).is_empty(),
    }
}

impl Denial {
    /// Renders the reason and the next command for the agent. The seal says which gates a command
    /// opens.
    pub fn text(&self, command: Option<&str>, lang: Lang, seal: Option<&Seal>) -> String {
        let first = self.denied().say(lang);
        let mut lines: Vec<String> = first.lines().map(str::to_owned).collect();
        if let Some(command) = command {
            let command = shown(command);
            lines.insert(1, Card::Blocked { command }.say(lang));
        }
        lines.extend(self.way_on(seal).iter().map(|line| line.say(lang)));
        // Unknown names in paths are placeholder characters, which must not be shown.
        lines.join("\n").replace(UNKNOWN_NAME, "*") + "\n"
    }

    fn denied(&self) -> Denied {
        let shown_path = |path: &Path| path.display().to_string();
        match self {
            Denial::Closed { phase, offence, .. } => {
                let phase = phase.name();
                match offence.clone() {
                    Offence::Write { path, by } => match (path.as_deref().map(shown_path), by) {
                        (Some(path), by) if by == THE_TOOL => Denied::WriteByTool { phase, path },
                        (Some(path), by) => Denied::Write { phase, path, by },
                        (None, by) if by == THE_TOOL => Denied::WriteSomewhereByTool { phase },
                        (None, by) => Denied::WriteSomewhere { phase, by },
                    },
                    Offence::Finish { what } => Denied::Finish { phase, what },
                    Offence::Hidden { what } => Denied::Hidden { phase, what },
                    Offence::Guard { path } => Denied::Guard {
                        phase,
                        path: shown_path(&path),
                    },
                    Offence::State { path } | Offence::Cleaned { path } => Denied::State {
                        path: shown_path(&path),
                    },
                    Offence::Person { what } | Offence::Setup { what } => Denied::PersonHere {
                        phase,
                        what: shown(&what),
                    },
                }
            }
            Denial::Person { what } => Denied::Person { what: shown(what) },
            Denial::State { path } => Denied::State {
                path: shown_path(path),
            },
            Denial::OtherTree { what, changes } => {
                let (what, changes) = (what.clone(), changes.clone());
                match changes.is_empty() {
                    true => Denied::OtherTree { what },
                    false => Denied::OtherFiles { what, changes },
                }
            }
            Denial::Missing { path } => Denied::Missing {
                path: shown_path(path),
            },
            Denial::Damaged { path, reason } => Denied::Damaged {
                path: shown_path(path),
                reason: reason.clone(),
            },
        }
    }

    /// Renders the closed gates and the next command.
    fn way_on(&self, seal: Option<&Seal>) -> Vec<Card> {
        let repair = || Card::Next {
            command: REPAIR.to_owned(),
        };
        match self {
            Denial::Closed { phase, missing, .. } => {
                let gates = names(missing);
                let opening = missing.first().map(|gate| opening(*phase, *gate, seal));
                let next = opening.map(|next| match next.person {
                    true => Card::NextByPerson {
                        command: next.command(),
                    },
                    false => Card::Next {
                        command: next.command(),
                    },
                });
                [Card::ClosedGates { gates }]
                    .into_iter()
                    .chain(next)
                    .collect()
            }
            Denial::OtherTree { .. } => vec![Card::Next {
                command: TEST_AGAIN.to_owned(),
            }],
            Denial::Person { .. } => vec![Card::AskPersonFor],
            Denial::State { .. } => vec![Card::NextIsVerb],
            Denial::Missing { .. } | Denial::Damaged { .. } => vec![repair()],
        }
    }
}

fn shown(command: &str) -> String {
    let shown: String = command.chars().take(SHOWN_CHARS_MAX).collect();
    shown.replace('\n', " ")
}

fn names(gates: &[Gate]) -> String {
    let names: Vec<&str> = gates.iter().map(|gate| gate.name()).collect();
    names.join(", ")
}

/// Returns the command that leads from a phase to an open gate.
fn opening(phase: Phase, gate: Gate, seal: Option<&Seal>) -> Next {
    match gate.phase() {
        here if here == phase => advice::gate(gate, seal),
        behind => advice::back(behind),
    }
}
