//! Decides on a tool call: its side effects are checked against the gates of the run.

use crate::advice::{self, NextCommand};
use crate::lang::Lang;
use crate::run_trust::RunTrust;
use crate::shell::{
    CommandEnvironment, FileChangeKind, SideEffect, UNKNOWN_NAME, find_side_effects,
};
use crate::tool_call::ToolCall;
use crate::workspace_paths::WorkspacePaths;
use bowline_formats::develop::seal::Seal;
use bowline_machines::develop::{
    DevelopPhase, DevelopRunState, Gate, ProjectAction, required_gates,
};
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
pub enum GatedAction {
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
pub enum GateDenial {
    /// Gates are closed.
    Closed {
        /// The phase of the run.
        phase: DevelopPhase,
        /// The action that was attempted.
        action: GatedAction,
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
pub fn gated_actions(
    call: &ToolCall,
    folder: &Path,
    place: &WorkspacePaths,
    around: &dyn CommandEnvironment,
) -> Vec<GatedAction> {
    gated_actions_in(&side_effects_of(call, folder, around), place)
}

/// Returns the side effects of a call in any place.
pub fn side_effects_of(
    call: &ToolCall,
    folder: &Path,
    around: &dyn CommandEnvironment,
) -> Vec<SideEffect> {
    match call {
        ToolCall::Other => Vec::new(),
        ToolCall::Finish { tool } => vec![SideEffect::Finish {
            what: tool.clone(),
            place: None,
        }],
        ToolCall::Hidden { tool } => vec![SideEffect::Hidden {
            what: Unseen::ToolInput { tool: tool.clone() },
        }],
        ToolCall::Write { paths } => paths
            .iter()
            .map(|path| SideEffect::Write {
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
            find_side_effects(command, &start, around).unwrap_or_else(|error| {
                vec![SideEffect::Hidden {
                    what: error.to_unseen(),
                }]
            })
        }
    }
}

/// Selects the gated actions of a workspace among side effects.
pub fn gated_actions_in(effects: &[SideEffect], place: &WorkspacePaths) -> Vec<GatedAction> {
    effects
        .iter()
        .flat_map(|effect| gated_actions_of(effect, place))
        .collect()
}

/// Returns the gated actions in a workspace that the call does not run in: only side effects that
/// certainly land there.
pub fn gated_actions_in_other_workspace(
    effects: &[SideEffect],
    place: &WorkspacePaths,
) -> Vec<GatedAction> {
    let lands = |effect: &&SideEffect| match effect {
        SideEffect::Write { path: at, .. }
        | SideEffect::Finish { place: at, .. }
        | SideEffect::Setup { place: at, .. } => at.is_some(),
        SideEffect::Touch { .. } => true,
        // A person's command is denied already, wherever it is given.
        SideEffect::Hidden { .. } | SideEffect::Person { .. } => false,
    };
    let known = effects.iter().filter(lands);
    known
        .flat_map(|effect| gated_actions_of(effect, place))
        .collect()
}

/// Returns the actions that are denied even without a run.
pub fn always_gated_actions(effects: &[SideEffect]) -> Vec<GatedAction> {
    let persons = effects.iter().filter_map(|effect| match effect {
        SideEffect::Person { what } => Some(GatedAction::Person { what: what.clone() }),
        SideEffect::Write { .. }
        | SideEffect::Touch { .. }
        | SideEffect::Finish { .. }
        | SideEffect::Setup { .. }
        | SideEffect::Hidden { .. } => None,
    });
    persons.collect()
}

fn gated_actions_of(effect: &SideEffect, place: &WorkspacePaths) -> Vec<GatedAction> {
    match effect {
        SideEffect::Write { path, by } => actions_of_write(path.clone(), by, place),
        SideEffect::Touch { path, how, by } => actions_of_change(path, *how, by, place),
        // In a folder outside this repository it does not concern this run.
        SideEffect::Finish {
            place: Some(folder),
            ..
        }
        | SideEffect::Setup {
            place: Some(folder),
            ..
        } if !place.contains_path(folder) => Vec::new(),
        SideEffect::Setup { what, .. } => vec![GatedAction::Setup { what: what.clone() }],
        SideEffect::Finish { what, .. } => vec![finishing_action(what)],
        SideEffect::Hidden { what } => vec![GatedAction::Hidden { what: what.clone() }],
        SideEffect::Person { what } => vec![GatedAction::Person { what: what.clone() }],
    }
}

fn finishing_action(command: &str) -> GatedAction {
    let text = command.to_owned();
    GatedAction::Finish {
        what: FinishingAct::Command { text },
    }
}

fn actions_of_change(
    path: &Path,
    how: FileChangeKind,
    by: &str,
    place: &WorkspacePaths,
) -> Vec<GatedAction> {
    let there = || path.symlink_metadata().is_ok() || path.to_string_lossy().contains(UNKNOWN_NAME);
    let cleaned = matches!(how, FileChangeKind::Cleaned { .. });
    if place.is_state(path) && !cleaned || how == FileChangeKind::Gone && place.holds_state(path) {
        return vec![GatedAction::State {
            path: path.to_owned(),
        }];
    }
    let changes = match how {
        FileChangeKind::Cleaned { ignored } if place.holds_state(path) || place.is_state(path) => {
            let path = place.state_file().to_owned();
            return vec![match ignored {
                true => GatedAction::State { path },
                false => GatedAction::Cleaned { path },
            }];
        }
        FileChangeKind::Cleaned { .. } => false,
        FileChangeKind::Gone => there(),
        FileChangeKind::Made => !there(),
        FileChangeKind::Marked if place.holds_hooks(path) => {
            return vec![GatedAction::Guard {
                path: path.to_owned(),
            }];
        }
        FileChangeKind::Marked => place.is_guard(path),
    };
    match changes {
        true => actions_of_write(Some(path.to_owned()), by, place),
        false => Vec::new(),
    }
}

fn actions_of_write(path: Option<PathBuf>, by: &str, place: &WorkspacePaths) -> Vec<GatedAction> {
    let by = by.to_owned();
    match path {
        Some(path) if place.is_state(&path) => vec![GatedAction::State { path }],
        Some(path) if place.is_guard(&path) => vec![GatedAction::Guard { path }],
        Some(path) if !place.contains_path(&path) => Vec::new(),
        // A branch can be moved without git.
        Some(path) if place.is_reference(&path) => {
            vec![finishing_action(
                format!("{by} {}", path.display()).trim_start(),
            )]
        }
        path => vec![GatedAction::Write { path, by }],
    }
}

/// Decides on a call; `None` allows it. `ignored` says if git ignores a path.
pub fn decide_on_actions(
    trust: &RunTrust,
    actions: &[GatedAction],
    ignored: &mut dyn FnMut(&Path) -> bool,
) -> Option<GateDenial> {
    if actions.is_empty() {
        return None;
    }
    let believed = match trust {
        // Without a run there are no gates, but a command for people is still denied to agents.
        RunTrust::Nothing => {
            return actions.iter().find_map(|action| match action {
                GatedAction::Person { what } => Some(GateDenial::Person { what: what.clone() }),
                GatedAction::Write { .. }
                | GatedAction::Finish { .. }
                | GatedAction::Setup { .. }
                | GatedAction::Hidden { .. }
                | GatedAction::Guard { .. }
                | GatedAction::Cleaned { .. }
                | GatedAction::State { .. } => None,
            });
        }
        RunTrust::Missing { path, .. } => return Some(GateDenial::Missing { path: path.clone() }),
        RunTrust::Damaged { path, reason } => {
            return Some(GateDenial::Damaged {
                path: path.clone(),
                reason: reason.clone(),
            });
        }
        RunTrust::Run(believed) => believed,
    };
    let run = &believed.run;
    for action in actions {
        let missing = match action {
            // A run that Bowline has not taken over is kept by its own program.
            GatedAction::State { .. } | GatedAction::Cleaned { .. } if !believed.owned => continue,
            GatedAction::Cleaned { path } if ignored(path) => continue,
            GatedAction::Person { what } => return Some(GateDenial::Person { what: what.clone() }),
            GatedAction::State { path } | GatedAction::Cleaned { path } => {
                return Some(GateDenial::State { path: path.clone() });
            }
            GatedAction::Write { path, .. } => {
                let missing = closed_gates(run, ProjectAction::Write);
                if !missing.is_empty() && path.as_deref().is_some_and(&mut *ignored) {
                    continue;
                }
                missing
            }
            GatedAction::Finish { .. } => closed_gates(run, ProjectAction::Finish),
            // Denied even if git ignores the file: the next call would not be checked any more.
            GatedAction::Hidden { .. } | GatedAction::Guard { .. } | GatedAction::Setup { .. } => {
                all_closed_gates(run)
            }
        };
        if !missing.is_empty() {
            return Some(GateDenial::Closed {
                phase: run.phase,
                action: action.clone(),
                missing,
            });
        }
    }
    None
}

fn closed_gates(run: &DevelopRunState, act: ProjectAction) -> Vec<Gate> {
    run.gates.closed_among(required_gates(run.phase, act))
}

fn all_closed_gates(run: &DevelopRunState) -> Vec<Gate> {
    let mut missing = closed_gates(run, ProjectAction::Write);
    missing.extend(closed_gates(run, ProjectAction::Finish));
    missing.sort();
    missing.dedup();
    missing
}

/// True if a gate that the present phase needs is closed, or may be: an unreadable run has no open
/// gate.
pub fn has_closed_gate(trust: &RunTrust) -> bool {
    match trust {
        RunTrust::Nothing => false,
        RunTrust::Missing { .. } | RunTrust::Damaged { .. } => true,
        RunTrust::Run(believed) => !all_closed_gates(&believed.run).is_empty(),
    }
}

impl GateDenial {
    /// Renders the reason and the next command for the agent. The seal says which gates a command
    /// opens.
    pub fn render_denial(&self, command: Option<&str>, lang: Lang, seal: Option<&Seal>) -> String {
        let first = self.denied_message().say(lang);
        let mut lines: Vec<String> = first.lines().map(str::to_owned).collect();
        if let Some(command) = command {
            let command = shorten_command(command);
            lines.insert(1, Card::Blocked { command }.say(lang));
        }
        lines.extend(self.next_cards(seal).iter().map(|line| line.say(lang)));
        // Unknown names in paths are placeholder characters, which must not be shown.
        lines.join("\n").replace(UNKNOWN_NAME, "*") + "\n"
    }

    fn denied_message(&self) -> Denied {
        let shown_path = |path: &Path| path.display().to_string();
        match self {
            GateDenial::Closed { phase, action, .. } => {
                let phase = phase.name();
                match action.clone() {
                    GatedAction::Write { path, by } => {
                        match (path.as_deref().map(shown_path), by) {
                            (Some(path), by) if by == THE_TOOL => {
                                Denied::WriteByTool { phase, path }
                            }
                            (Some(path), by) => Denied::Write { phase, path, by },
                            (None, by) if by == THE_TOOL => Denied::WriteSomewhereByTool { phase },
                            (None, by) => Denied::WriteSomewhere { phase, by },
                        }
                    }
                    GatedAction::Finish { what } => Denied::Finish { phase, what },
                    GatedAction::Hidden { what } => Denied::Hidden { phase, what },
                    GatedAction::Guard { path } => Denied::Guard {
                        phase,
                        path: shown_path(&path),
                    },
                    GatedAction::State { path } | GatedAction::Cleaned { path } => Denied::State {
                        path: shown_path(&path),
                    },
                    GatedAction::Person { what } | GatedAction::Setup { what } => {
                        Denied::PersonHere {
                            phase,
                            what: shorten_command(&what),
                        }
                    }
                }
            }
            GateDenial::Person { what } => Denied::Person {
                what: shorten_command(what),
            },
            GateDenial::State { path } => Denied::State {
                path: shown_path(path),
            },
            GateDenial::OtherTree { what, changes } => {
                let (what, changes) = (what.clone(), changes.clone());
                match changes.is_empty() {
                    true => Denied::OtherTree { what },
                    false => Denied::OtherFiles { what, changes },
                }
            }
            GateDenial::Missing { path } => Denied::Missing {
                path: shown_path(path),
            },
            GateDenial::Damaged { path, reason } => Denied::Damaged {
                path: shown_path(path),
                reason: reason.clone(),
            },
        }
    }

    /// Renders the closed gates and the next command.
    fn next_cards(&self, seal: Option<&Seal>) -> Vec<Card> {
        let repair = || Card::Next {
            command: REPAIR.to_owned(),
        };
        match self {
            GateDenial::Closed { phase, missing, .. } => {
                let gates = gate_names(missing);
                let opening = missing
                    .first()
                    .map(|gate| opening_command(*phase, *gate, seal));
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
            GateDenial::OtherTree { .. } => vec![Card::Next {
                command: TEST_AGAIN.to_owned(),
            }],
            GateDenial::Person { .. } => vec![Card::AskPersonFor],
            GateDenial::State { .. } => vec![Card::NextIsVerb],
            GateDenial::Missing { .. } | GateDenial::Damaged { .. } => vec![repair()],
        }
    }
}

fn shorten_command(command: &str) -> String {
    let shown: String = command.chars().take(SHOWN_CHARS_MAX).collect();
    shown.replace('\n', " ")
}

fn gate_names(gates: &[Gate]) -> String {
    let names: Vec<&str> = gates.iter().map(|gate| gate.name()).collect();
    names.join(", ")
}

/// Returns the command that leads from a phase to an open gate.
fn opening_command(phase: DevelopPhase, gate: Gate, seal: Option<&Seal>) -> NextCommand {
    match gate.opening_phase() {
        here if here == phase => advice::gate_command(gate, seal),
        behind => advice::back_command(behind),
    }
}
