//! What a tool call would do, held against what is believed of the run.

use crate::advice::{self, Next};
use crate::belief::Belief;
use crate::lang::Lang;
use crate::place::Place;
use crate::shell::{Deed, Surroundings, Touched, UNKNOWN_NAME, deeds};
use bowline_formats::develop::seal::Seal;
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
    /// Bowline is given a command that only a person gives.
    Person {
        /// Which.
        what: String,
    },
    /// It cannot be seen what would run.
    Hidden {
        /// Why not.
        what: String,
    },
    /// A file is changed by which a client or git asks the gate.
    Guard {
        /// Which file.
        path: PathBuf,
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
    /// Only a person gives this command, whatever the run.
    Person {
        /// Which.
        what: String,
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
    offences_in(&deeds_of(call, folder, around), place)
}

/// What a call would do, wherever that is.
pub fn deeds_of(call: &ToolCall, folder: &Path, around: &dyn Surroundings) -> Vec<Deed> {
    match call {
        ToolCall::Other => Vec::new(),
        ToolCall::Finish { tool } => vec![Deed::Finish {
            what: tool.clone(),
            place: None,
        }],
        ToolCall::Hidden { tool } => vec![Deed::Hidden {
            what: format!("the command that {tool} is given cannot be read"),
        }],
        ToolCall::Write { paths } => paths
            .iter()
            .map(|path| Deed::Write {
                path: path.as_ref().map(|path| folder.join(path)),
                by: "the tool".to_owned(),
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
                    what: error.to_string(),
                }]
            })
        }
    }
}

/// Those deeds that a workspace minds.
pub fn offences_in(deeds: &[Deed], place: &Place) -> Vec<Offence> {
    deeds.iter().flat_map(|deed| offence(deed, place)).collect()
}

/// The same for a workspace that the call does not stand in: only what is known to land there.
pub fn offences_from_afar(deeds: &[Deed], place: &Place) -> Vec<Offence> {
    let lands = |deed: &&Deed| match deed {
        Deed::Write { path: at, .. } | Deed::Finish { place: at, .. } => at.is_some(),
        Deed::Touch { .. } => true,
        // A person's move is denied wherever it is made.
        Deed::Hidden { .. } | Deed::Person { .. } => false,
    };
    let known = deeds.iter().filter(lands);
    known.flat_map(|deed| offence(deed, place)).collect()
}

/// What is minded where there is no run at all.
pub fn offences_anywhere(deeds: &[Deed]) -> Vec<Offence> {
    let persons = deeds.iter().filter_map(|deed| match deed {
        Deed::Person { what } => Some(Offence::Person { what: what.clone() }),
        Deed::Write { .. } | Deed::Touch { .. } | Deed::Finish { .. } | Deed::Hidden { .. } => None,
    });
    persons.collect()
}

fn offence(deed: &Deed, place: &Place) -> Vec<Offence> {
    match deed {
        Deed::Write { path, by } => written(path.clone(), by, place),
        Deed::Touch { path, how, by } => touched(path, *how, by, place),
        // In a folder that is certainly none of this repository it is no matter of this run.
        Deed::Finish {
            place: Some(folder),
            ..
        } if !place.holds(folder) => Vec::new(),
        Deed::Finish { what, .. } => vec![Offence::Finish { what: what.clone() }],
        Deed::Hidden { what } => vec![Offence::Hidden { what: what.clone() }],
        Deed::Person { what } => vec![Offence::Person { what: what.clone() }],
    }
}

fn touched(path: &Path, how: Touched, by: &str, place: &Place) -> Vec<Offence> {
    let there = || path.symlink_metadata().is_ok() || path.to_string_lossy().contains(UNKNOWN_NAME);
    if place.is_state(path) || how == Touched::Gone && place.holds_state(path) {
        return vec![Offence::State {
            path: path.to_owned(),
        }];
    }
    let changes = match how {
        Touched::Gone => there(),
        Touched::Made => !there(),
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
        Some(path) if !place.holds(&path) => Vec::new(),
        Some(path) if place.is_guard(&path) => vec![Offence::Guard { path }],
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
        // Without a run there are no gates, but a person's move is a person's.
        Belief::Nothing => {
            return offences.iter().find_map(|offence| match offence {
                Offence::Person { what } => Some(Denial::Person { what: what.clone() }),
                Offence::Write { .. }
                | Offence::Finish { .. }
                | Offence::Hidden { .. }
                | Offence::Guard { .. }
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
            // Nobody but its own program keeps a run that Bowline has not taken over.
            Offence::State { .. } if !believed.owned => continue,
            Offence::Person { what } => return Some(Denial::Person { what: what.clone() }),
            Offence::State { path } => return Some(Denial::State { path: path.clone() }),
            Offence::Write { path, .. } => {
                let missing = closed(run, Act::Write);
                if !missing.is_empty() && path.as_deref().is_some_and(&mut *ignored) {
                    continue;
                }
                missing
            }
            Offence::Finish { .. } => closed(run, Act::Finish),
            // Not even where git ignores them: the next call would be asked nothing.
            Offence::Hidden { .. } | Offence::Guard { .. } => {
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
    /// The reason and the next command, as the agent reads them. The seal knows which gates a command opens.
    pub fn text(&self, command: Option<&str>, lang: Lang, seal: Option<&Seal>) -> String {
        let mut lines = match lang {
            Lang::En => self.english(seal),
            Lang::Ko => self.korean(seal),
        };
        if let Some(command) = command {
            let head = lang.say("blocked", "차단된 명령");
            lines.insert(1, format!("{head}: {}", shown(command)));
        }
        // Names that are not known stand in paths as signs that nobody should see.
        lines.join("\n").replace(UNKNOWN_NAME, "*") + "\n"
    }

    fn english(&self, seal: Option<&Seal>) -> Vec<String> {
        match self {
            Denial::Closed {
                phase,
                offence,
                missing,
            } => {
                let what = match offence {
                    Offence::Write { path, by } => match path {
                        Some(path) => format!("writing {} ({by}) is closed", path.display()),
                        None => format!("writing a file ({by}) is closed"),
                    },
                    Offence::Finish { what } => format!("{what} is closed"),
                    Offence::Hidden { what } => format!("it cannot be seen what would run: {what}"),
                    Offence::Guard { path } => {
                        format!("changing {}, by which gates are asked, is closed", path.display())
                    }
                    Offence::State { path } => format!("writing {} is closed", path.display()),
                    Offence::Person { what } => format!("{what} is a person's move"),
                };
                let mut lines = vec![format!("[PHASE GATE] {}: {what}.", phase.name())];
                lines.push(format!("closed gates: {}", names(missing)));
                lines.extend(missing.first().map(|gate| {
                    let next = opening(*phase, *gate, seal);
                    let who = if next.person { "ask a person to run: " } else { "" };
                    format!("next: {who}{}", next.command())
                }));
                lines
            }
            Denial::Person { what } => vec![
                format!("[PHASE GATE] '{}' is a person's move.", shown(what)),
                "next: ask the person you work for to run it in a terminal of their own".into(),
            ],
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
        }
    }

    fn korean(&self, seal: Option<&Seal>) -> Vec<String> {
        match self {
            Denial::Closed {
                phase,
                offence,
                missing,
            } => {
                let (what, about) = match offence {
                    Offence::Write { path, by } => {
                        let path = path.as_ref().map(|path| path.display().to_string());
                        let path = path.unwrap_or_else(|| "알 수 없음".into());
                        ("파일 수정이", format!("대상: {path} ({by})"))
                    }
                    Offence::Finish { what } => ("종료 명령이", format!("대상: {what}")),
                    Offence::Hidden { what } => {
                        let about = format!("무엇을 실행할지 알 수 없습니다: {what}");
                        ("명령이", about)
                    }
                    Offence::Guard { path } | Offence::State { path } => {
                        ("파일 수정이", format!("대상: {}", path.display()))
                    }
                    Offence::Person { what } => ("명령이", format!("대상: {what}")),
                };
                let phase_name = phase.name();
                let mut lines = vec![
                    format!("[PHASE GATE] {phase_name} phase에서 {what} 차단되었습니다."),
                    about,
                    format!("미충족 gate: {}", names(missing)),
                ];
                lines.extend(missing.first().map(|gate| {
                    let next = opening(*phase, *gate, seal);
                    let who = if next.person { "사람에게 실행을 요청하세요: " } else { "" };
                    format!("다음: {who}{}", next.command())
                }));
                lines
            }
            Denial::Person { what } => vec![
                format!("[PHASE GATE] '{}'은(는) 사람만 할 수 있습니다.", shown(what)),
                "다음: 함께 일하는 사람에게 자신의 터미널에서 실행해 달라고 요청하세요".into(),
            ],
            Denial::State { path } => vec![
                format!("[PHASE GATE] {}은(는) bowline만 바꿀 수 있습니다.", path.display()),
                "다음: bowline develop status로 확인한 뒤 review, gate pass, implement, checkpoint, pr, done 가운데 하나".into(),
            ],
            Denial::Missing { path } => vec![
                format!(
                    "[PHASE GATE] develop 작업이 진행 중인데 파일 {}이(가) 없습니다.",
                    path.display()
                ),
                "다음: bowline doctor --repair develop".into(),
            ],
            Denial::Damaged { path, reason } => vec![
                format!("[PHASE GATE] {}을(를) 읽을 수 없습니다: {reason}.", path.display()),
                "다음: bowline doctor --repair develop".into(),
            ],
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

/// How a gate is opened from a phase.
fn opening(phase: Phase, gate: Gate, seal: Option<&Seal>) -> Next {
    match gate.phase() {
        here if here == phase => advice::gate(gate, seal),
        behind => advice::back(behind),
    }
}
