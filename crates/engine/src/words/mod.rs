//! Converts every error and notice of the engine to a message of `words`, with plain parameters.

mod errors;
mod input;
mod refusals;

pub use input::cannot_be_read;
pub(crate) use input::{contract_fault, engagement_fault, policy_fault, settings_fault};

use crate::actor::{ACTOR_PERSON, ACTOR_VARIABLE, MissingPersonProof};
use crate::error::{Error, MachineRefusal};
use crate::git::GIT_MIN;
use crate::kinds::FileKind;
use crate::lost_updates::LostTransition;
use crate::notice::{FileNotice, RestoreSource};
use crate::relay_process;
use bowline_formats::foreign::OTHER_PROGRAM;
use bowline_statefiles as statefiles;
use bowline_supervisor as supervisor;
use bowline_supervisor::StartError;
use bowline_words::Lang;
use bowline_words::message::{
    Cause, FailureMessage, NoGroup, NotRun, Notice as NoticeWords, Origin as OriginWords, Passage,
    Trouble,
};
use errors::{agent_trouble, file_trouble};
use std::io;
use std::path::Path;

/// Converts the text of a reason for which an agent was not started.
pub fn not_run(text: &str) -> NotRun {
    let cause = |text: String| match StartError::system_error(&text) {
        Some(number) => Cause::System {
            kind: io::Error::from_raw_os_error(number).kind(),
            number: Some(number),
            text,
        },
        None => Cause::Other { text },
    };
    match StartError::parse(text) {
        StartError::Program { name, error } => NotRun::Program {
            name,
            cause: cause(error),
        },
        StartError::Group { path, error } => NotRun::Folder {
            name: path,
            cause: cause(error),
        },
        StartError::NoCommand => NotRun::NoCommand,
        StartError::ShimGone => NotRun::ShimGone,
        StartError::Other { text } => NotRun::Other { cause: cause(text) },
    }
}

/// Converts the reason for which a control group is not supported.
pub fn no_group(why: &supervisor::CgroupUnavailable) -> NoGroup {
    use supervisor::CgroupUnavailable as Why;
    match why {
        Why::NotMounted => NoGroup::NotMounted,
        Why::NotAllowed { place } => NoGroup::NotAllowed {
            place: display_path(place),
        },
        Why::NotMade {
            place,
            kind,
            number,
            said,
        } => NoGroup::NotMade {
            place: display_path(place),
            cause: Cause::System {
                kind: *kind,
                number: *number,
                text: said.clone(),
            },
        },
        Why::Version1 { names } => NoGroup::Version1 {
            names: names.clone(),
        },
        Why::NotHandedOn { names, file } => NoGroup::NotHandedOn {
            names: names.clone(),
            file: display_path(file),
        },
        Why::NotFrozen => NoGroup::NotFrozen,
    }
}

/// Returns a path as text for a sentence.
pub fn display_path(path: &Path) -> String {
    path.display().to_string()
}

impl Error {
    /// Returns message and hint in a language.
    pub fn render_message(&self, lang: Lang) -> (String, String) {
        self.message().say(lang)
    }

    /// Returns the message, in no language yet.
    pub fn message(&self) -> FailureMessage {
        FailureMessage::Trouble(match self {
            Error::Refused(refusal) => {
                return match refusal {
                    MachineRefusal::Thinking(refusal) => {
                        FailureMessage::Thinking(refusals::thinking_message(refusal))
                    }
                    MachineRefusal::Plan(refusal) => {
                        FailureMessage::Plan(refusals::plan_message(refusal))
                    }
                    MachineRefusal::Develop(refusal) => {
                        FailureMessage::Develop(refusals::develop_message(refusal))
                    }
                    MachineRefusal::Orchestrate(refusal) => {
                        FailureMessage::Orchestrate(refusals::orchestrate_message(refusal))
                    }
                };
            }
            Error::Path(trouble) => return FailureMessage::Path(trouble.clone()),
            Error::Evidence(trouble) => return FailureMessage::Evidence(trouble.clone()),
            Error::File(error) => return FailureMessage::File(file_trouble(error)),
            Error::Agent(error) => return FailureMessage::Agent(agent_trouble(error)),
            Error::AfterRepair { error, .. } => return error.message(),
            Error::BadInput { message, hint } => {
                return FailureMessage::Input(message.clone(), hint.clone());
            }
            Error::NoFile { kind, path } => Trouble::NoFile {
                kind: kind.name().into(),
                path: display_path(path),
                begin: kind.how_to_begin().into(),
            },
            Error::NothingHere { path } => Trouble::NothingHere {
                path: display_path(path),
            },
            Error::Ambiguous { paths } => {
                let paths: Vec<String> = paths.iter().map(|path| display_path(path)).collect();
                Trouble::Ambiguous {
                    paths: paths.join(", "),
                }
            }
            Error::UnknownKind { path } => Trouble::UnknownKind {
                path: display_path(path),
            },
            Error::Foreign { path, code } => match *code == OTHER_PROGRAM {
                true => Trouble::AnotherProgramsFile {
                    path: display_path(path),
                },
                false => Trouble::Foreign {
                    path: display_path(path),
                },
            },
            Error::NoPlan { path } => Trouble::NoPlan {
                path: display_path(path),
            },
            Error::AlreadyExists { path }
                if FileKind::of_path(path) == Some(FileKind::Orchestrate) =>
            {
                Trouble::OrchestrationExists {
                    path: display_path(path),
                }
            }
            Error::AlreadyExists { path } => Trouble::AlreadyExists {
                path: display_path(path),
            },
            Error::OutputThere { path } => Trouble::OutputThere {
                path: display_path(path),
            },
            Error::BadPlan { path, finding } => Trouble::BadPlan {
                path: display_path(path),
                line: finding.line,
                found: finding.message.clone(),
            },
            Error::AmbiguousTask { name, fitting } => Trouble::AmbiguousTask {
                name: name.clone(),
                fitting: fitting.join(", "),
            },
            Error::NobodyRuns { path } => Trouble::NobodyRuns {
                path: display_path(path),
            },
            Error::NoAgent { name } => Trouble::NoAgent { name: name.clone() },
            Error::AgentNotInstalled { name, program } => Trouble::AgentNotInstalled {
                name: name.clone(),
                program: program.clone(),
            },
            Error::Breaker { id, why } => Trouble::Breaker {
                id: id.clone(),
                why: why.clone(),
            },
            Error::StartsSpent { max } => Trouble::StartsSpent { max: *max },
            Error::NoValidation { id } => Trouble::NoValidation { id: id.clone() },
            Error::BadSettings { path, fault } => Trouble::BadSettings {
                path: display_path(path),
                fault: fault.clone(),
            },
            Error::NoBranch { path } => Trouble::NoBranch {
                path: display_path(path),
            },
            Error::NoCommit { path, branch } => Trouble::NoCommit {
                path: display_path(path),
                branch: branch.clone(),
            },
            Error::NoMerge { phase, why } => Trouble::NoMerge {
                phase: *phase,
                why: why.clone(),
            },
            Error::Damaged { path, findings } => {
                let path = display_path(path);
                match findings.first() {
                    Some(finding) => Trouble::Damaged {
                        path,
                        found: finding.message.clone(),
                    },
                    None => Trouble::Unreadable { path },
                }
            }
            Error::NewerVersion { path, found } => Trouble::NewerVersion {
                path: display_path(path),
                found: found.clone(),
            },
            Error::NeedsPerson { what } => Trouble::NeedsPerson {
                what: (*what).into(),
            },
            Error::PersonNotShown { refused, missing } => {
                // Without naming the actor.
                let refused = Box::new(match &**refused {
                    Error::NeedsPerson { what } => {
                        FailureMessage::Trouble(Trouble::NeedsPersonAtAll {
                            what: (*what).into(),
                        })
                    }
                    other => other.message(),
                });
                let (variable, person) = (ACTOR_VARIABLE.into(), ACTOR_PERSON.into());
                match missing {
                    MissingPersonProof::Terminal => Trouble::NoTerminal {
                        refused,
                        variable,
                        person,
                    },
                    MissingPersonProof::Ancestors => Trouble::CutOff {
                        refused,
                        variable,
                        person,
                    },
                }
            }
            Error::RunChanged => Trouble::RunChanged,
            Error::MovedOn { path } => Trouble::MovedOn {
                path: display_path(path),
            },
            Error::NoSuchTransition {
                path,
                sequence,
                begins,
            } => match begins {
                None => Trouble::NoSuchTransition {
                    path: display_path(path),
                    sequence: *sequence,
                },
                Some(first) => Trouble::TransitionNotKept {
                    path: display_path(path),
                    sequence: *sequence,
                    first: first.sequence,
                    at: first.at.clone(),
                },
            },
            Error::NothingToUndo { path } => Trouble::NothingToUndo {
                path: display_path(path),
            },
            Error::EffectsLeft { sequence, trigger } => Trouble::EffectsLeft {
                sequence: *sequence,
                trigger: trigger.clone(),
            },
            Error::NoCopy { which, folder } => Trouble::NoCopy {
                which: which.clone(),
                folder: display_path(folder),
            },
            Error::StaleEvidence { changes, tree_only } => {
                let changes = changes.clone();
                match tree_only {
                    true => Trouble::StaleTree { changes },
                    false => Trouble::StaleSeal { changes },
                }
            }
            Error::TreeNotCommitted { changes } => Trouble::TreeNotCommitted {
                changes: changes.clone(),
            },
            Error::NotVerified { reasons } => Trouble::NotVerified {
                reasons: reasons.clone(),
            },
            Error::ProgramFailed { program, message } => {
                let (program, said) = (program.clone(), message.clone());
                match relay_process::denied_path(message) {
                    Some(path) => Trouble::DeniedBySandbox {
                        program,
                        said,
                        path,
                    },
                    None => Trouble::ProgramFailed { program, said },
                }
            }
            Error::GitTooOld { found } => Trouble::GitTooOld {
                found: found.clone(),
                needed: format!("{}.{}", GIT_MIN.0, GIT_MIN.1),
            },
            Error::NoAttempt { id } => Trouble::NoAttempt { id: id.clone() },
            Error::AmbiguousId { id, fitting } => Trouble::AmbiguousId {
                id: id.clone(),
                fitting: fitting.join(", "),
            },
            Error::NotRunning { id } => Trouble::NotRunning { id: id.clone() },
            Error::InputClosed { id } => Trouble::InputClosed { id: id.clone() },
            Error::SilentShim { id, pid, stopped } => {
                let id = id.clone();
                match (*pid, *stopped) {
                    (Some(pid), true) => Trouble::ShimStopped { id, pid },
                    (Some(pid), false) => Trouble::ShimSilent { id, pid },
                    (None, stopped) => Trouble::ShimSilentSomewhere { id, stopped },
                }
            }
            Error::ChangedWhileRunning { command, changes } => Trouble::ChangedWhileRunning {
                command: command.clone(),
                changes: changes.clone(),
            },
            Error::CallCancelled { what } => Trouble::CallCancelled { what: what.clone() },
            Error::NotYet { id, want, seconds } => {
                let (id, seconds) = (id.clone(), *seconds);
                match want {
                    supervisor::WantedState::Paused => Trouble::NotPausedYet { id, seconds },
                    supervisor::WantedState::Running => Trouble::NotResumedYet { id, seconds },
                    supervisor::WantedState::Ended => Trouble::NotEndedYet { id, seconds },
                }
            }
            Error::AgentNotStarted { id, why } => Trouble::AgentNotStarted {
                id: id.clone(),
                why: (**why).clone(),
            },
            Error::NoControlGroup { what, reason } => Trouble::NoControlGroup {
                what: (*what).into(),
                reason: no_group(reason),
            },
            Error::StateInSandbox { root, folder } => Trouble::StateInSandbox {
                root: display_path(root),
                folder: display_path(folder),
            },
            Error::OutsideTree { changes } => Trouble::OutsideTree {
                changes: changes.clone(),
            },
            Error::NoSigningSandbox { message } => Trouble::NoSigningSandbox {
                why: message.clone(),
            },
            Error::RootThroughLink { link, target } => Trouble::RootThroughLink {
                link: display_path(link),
                target: display_path(target),
            },
            Error::NotRelayed { what, reason } => Trouble::NotRelayed {
                what: what.clone(),
                reason: reason.clone(),
            },
            Error::NoFolder { path } => Trouble::NoFolder {
                path: display_path(path),
            },
            Error::Output { over: true, .. } => Trouble::OutputAfterEnd,
            Error::Output { over: false, .. } => Trouble::OutputGone,
        })
    }

    /// Returns the causes of the error in a language, the nearest first.
    pub fn render_causes(&self, lang: Lang) -> Vec<String> {
        let mut causes = Vec::new();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            causes.push(match error.downcast_ref::<statefiles::StateFileError>() {
                Some(error) => file_trouble(error).say(lang).0,
                None => error_cause(error).say(lang),
            });
            source = error.source();
        }
        causes
    }
}

/// Converts the cause of an error.
fn error_cause(error: &(dyn std::error::Error + 'static)) -> Cause {
    let text = error.to_string();
    match error.downcast_ref::<io::Error>() {
        Some(error) => system_cause(error),
        None => Cause::Other { text },
    }
}

/// Converts an error of the operating system.
pub fn system_cause(error: &io::Error) -> Cause {
    Cause::System {
        kind: error.kind(),
        number: error.raw_os_error(),
        text: error.to_string(),
    }
}

impl FileNotice {
    /// Returns the notice in a language.
    pub fn render_notice(&self, lang: Lang) -> String {
        self.to_message().say(lang)
    }

    pub(crate) fn to_message(&self) -> NoticeWords {
        match self {
            FileNotice::RolledForward { lines, completed } => match completed {
                true => NoticeWords::RolledForward { lines: *lines },
                false => NoticeWords::NotRolledForwardYet { lines: *lines },
            },
            FileNotice::OutsideEdit { lost } if lost.is_empty() => NoticeWords::OutsideEdit,
            FileNotice::OutsideEdit { lost } => NoticeWords::LostTransitions {
                lost: list_passages(lost),
            },
            FileNotice::PutBack { sequence, taken } if taken.is_empty() => NoticeWords::PutBack {
                sequence: *sequence,
            },
            FileNotice::PutBack { sequence, taken } => NoticeWords::PutBackTaking {
                sequence: *sequence,
                taken: list_passages(taken),
            },
            FileNotice::AnotherTask { was, is } => NoticeWords::AnotherTask {
                was: was.clone(),
                is: is.clone(),
            },
            FileNotice::Distrusted { places } => NoticeWords::Distrusted {
                places: places.join(", "),
            },
            FileNotice::NotIgnored => NoticeWords::NotIgnored,
            FileNotice::TreeNotCompared => NoticeWords::TreeNotCompared,
            FileNotice::Mended(finding) => {
                let (pointer, found) = (finding.pointer.clone(), finding.message.clone());
                match &finding.repair {
                    Some(repair) => NoticeWords::MendedSo {
                        pointer,
                        found,
                        repair: repair.clone(),
                    },
                    None => NoticeWords::Mended { pointer, found },
                }
            }
            FileNotice::Restored { from, set_aside } => {
                let from = match from {
                    RestoreSource::Journal => OriginWords::Journal,
                    RestoreSource::Version(sequence) => OriginWords::Version {
                        sequence: *sequence,
                    },
                    RestoreSource::Copy(path) => OriginWords::Copy {
                        path: display_path(path),
                    },
                    RestoreSource::Rebuilt => OriginWords::Rebuilt,
                    RestoreSource::Anew => OriginWords::Anew,
                };
                match set_aside {
                    Some(path) => NoticeWords::RestoredDamaged {
                        from,
                        aside: display_path(path),
                    },
                    None => NoticeWords::RestoredMissing { from },
                }
            }
            FileNotice::Keeper { words, .. } => words.clone(),
        }
    }
}

fn list_passages(transitions: &[LostTransition]) -> Vec<Passage> {
    lost_passages(transitions).collect()
}

/// Converts lost transitions.
pub(crate) fn lost_passages(transitions: &[LostTransition]) -> impl Iterator<Item = Passage> {
    transitions.iter().map(|one| Passage::Passage {
        sequence: one.sequence,
        trigger: one.trigger.clone(),
        to: one.to.clone(),
    })
}

/// Converts a notice of the storage layer.
pub(crate) fn storage_notice(incident: &statefiles::Incident) -> NoticeWords {
    use statefiles::Incident as F;
    match incident {
        F::BadJournalLine { offset } => NoticeWords::BadJournalLine { offset: *offset },
        F::JournalSetAside { path } => NoticeWords::JournalSetAside {
            path: display_path(path),
        },
        F::JournalDoesNotFit { seq } => NoticeWords::JournalDoesNotFit { seq: *seq },
        F::ReplayDiffers { seq } => NoticeWords::ReplayDiffers { seq: *seq },
        F::ForeignLockTakenOver { owner } => NoticeWords::ForeignLockTakenOver {
            owner: owner.clone(),
        },
        F::LockRemoved => NoticeWords::LockRemoved,
        F::KeptAside { path } => NoticeWords::KeptAside {
            path: display_path(path),
        },
        // The enum may grow; a new variant is reported by its debug text.
        other => NoticeWords::Odd {
            text: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_that_an_agent_was_not_started_is_korean() {
        let told = |said: &str| (not_run(said).to_string(), not_run(said).say(Lang::Ko));
        let said = "cannot run no:such: No such file or directory (os error 2)";
        let korean = "프로그램 'no:such': 파일이나 폴더가 없습니다".to_owned();
        assert_eq!(told(said), (said.to_owned(), korean));
        let said = "cannot make a control group: Permission denied (os error 13)";
        assert_eq!(told(said), (said.to_owned(), "권한이 없습니다".to_owned()));
        let said = "the shim is gone";
        let korean = "심(shim)이 먼저 끝났습니다".to_owned();
        assert_eq!(told(said), (said.to_owned(), korean));
        assert_eq!(told("no such reason").0, "no such reason");
    }
}
