//! Converts errors of the storage layer and of the supervisor to messages.

use super::{display_path, not_run, system_cause};
use bowline_statefiles as statefiles;
use bowline_supervisor as supervisor;
use bowline_words::message::{
    AgentTrouble, FileAction, FileTrouble, IrregularFile, LockOwnerText, NotRun,
};
use std::io;

pub(super) fn file_trouble(error: &statefiles::StateFileError) -> FileTrouble {
    use statefiles::StateFileError as E;
    match error {
        E::Locked {
            path,
            owner,
            waited_ms,
        } => FileTrouble::Locked {
            path: display_path(path),
            owner: LockOwnerText {
                pid: owner.pid,
                host: owner.host.clone(),
                what: match owner.pid {
                    Some(pid) if pid.to_string() == owner.what => String::new(),
                    Some(_) | None => owner.what.clone(),
                },
                at: owner.at.clone(),
            },
            waited_ms: *waited_ms,
        },
        E::Permission {
            path, operation, ..
        } => FileTrouble::Permission {
            path: display_path(path),
            action: file_action(*operation),
        },
        E::DiskFull {
            path, operation, ..
        } => FileTrouble::DiskFull {
            path: display_path(path),
            action: file_action(*operation),
        },
        E::NotRegular { path, what } => FileTrouble::NotRegular {
            path: display_path(path),
            what: irregular_file(*what),
        },
        E::TooBig {
            path,
            bytes,
            bytes_max,
        } => FileTrouble::TooBig {
            path: display_path(path),
            bytes: *bytes,
            bytes_max: *bytes_max,
        },
        E::NotUtf8 { path, valid_bytes } => FileTrouble::NotUtf8 {
            path: display_path(path),
            valid_bytes: *valid_bytes,
        },
        E::LinkLoop { path } => FileTrouble::LinkLoop {
            path: display_path(path),
        },
        E::Contended { path, tries } => FileTrouble::Contended {
            path: display_path(path),
            tries: *tries,
        },
        E::NeedsReplay { path } => FileTrouble::NeedsReplay {
            path: display_path(path),
        },
        E::NoDocument { path } => FileTrouble::NoDocument {
            path: display_path(path),
        },
        E::StepsNotWritten { path } => FileTrouble::StepsNotWritten {
            path: display_path(path),
        },
        E::NoSuchVersion { path, seq } => FileTrouble::NoSuchVersion {
            path: display_path(path),
            seq: *seq,
        },
        E::NotRebuildable { path, seq } => FileTrouble::NotRebuildable {
            path: display_path(path),
            seq: *seq,
        },
        E::NothingToRestore { path } => FileTrouble::NothingToRestore {
            path: display_path(path),
        },
        E::Unfinished { path, seq, .. } => FileTrouble::Unfinished {
            path: display_path(path),
            seq: *seq,
        },
        E::Uncertain { path, seq, .. } => FileTrouble::Uncertain {
            path: display_path(path),
            seq: *seq,
        },
        E::EarlierUnfinished { path, seq, .. } => FileTrouble::EarlierUnfinished {
            path: display_path(path),
            seq: *seq,
        },
        E::Io {
            path,
            operation,
            source,
        } => {
            let (path, action) = (display_path(path), file_action(*operation));
            match source.kind() {
                io::ErrorKind::NotADirectory => FileTrouble::FileForFolder { path, action },
                _ => FileTrouble::Io { path, action },
            }
        }
        // The enum may grow; a new variant is reported by its debug text.
        other => FileTrouble::Unknown {
            text: other.to_string(),
        },
    }
}

fn file_action(operation: statefiles::FileOperation) -> FileAction {
    use statefiles::FileOperation as O;
    match operation {
        O::AppendTo => FileAction::AppendTo,
        O::Create => FileAction::Create,
        O::CreateLockFile => FileAction::CreateLockFile,
        O::DescribeLock => FileAction::DescribeLock,
        O::EncodeLine => FileAction::EncodeLine,
        O::Flush => FileAction::Flush,
        O::FollowLink => FileAction::FollowLink,
        O::List => FileAction::List,
        O::Lock => FileAction::Lock,
        O::LookAt => FileAction::LookAt,
        O::Open => FileAction::Open,
        O::PutBack => FileAction::PutBack,
        O::Read => FileAction::Read,
        O::Remove => FileAction::Remove,
        O::Rename => FileAction::Rename,
        O::Replace => FileAction::Replace,
        O::Rotate => FileAction::Rotate,
        O::SetOwner => FileAction::SetOwner,
        O::Truncate => FileAction::Truncate,
        O::Write => FileAction::Write,
    }
}

fn irregular_file(entry: statefiles::IrregularEntry) -> IrregularFile {
    use statefiles::IrregularEntry as E;
    match entry {
        E::Folder => IrregularFile::Folder,
        E::Link => IrregularFile::Link,
        E::OwnRecord => IrregularFile::OwnRecord,
        E::LinkPipeOrDevice => IrregularFile::LinkPipeOrDevice,
        E::PipeOrDevice => IrregularFile::PipeOrDevice,
        E::SocketOrDevice => IrregularFile::SocketOrDevice,
    }
}

pub(super) fn agent_trouble(error: &supervisor::SupervisorError) -> AgentTrouble {
    use supervisor::{ShimRefusal, SupervisorError as E};
    match error {
        E::Io { what, path, .. } => AgentTrouble::Io {
            action: attempt_action(*what),
            path: display_path(path),
        },
        E::Relay { path, .. } => AgentTrouble::Relay {
            path: display_path(path),
        },
        E::NoAttempt { path } => AgentTrouble::NoAttempt {
            path: display_path(path),
        },
        E::BadId { id } => AgentTrouble::BadId { id: id.clone() },
        E::AttemptExists { path } => AgentTrouble::AttemptExists {
            path: display_path(path),
        },
        E::NotStarted { attempt, why } => AgentTrouble::NotStarted {
            attempt: attempt.clone(),
            why: shim_failure(why),
        },
        E::Unreachable { attempt, .. } => AgentTrouble::Unreachable {
            attempt: attempt.clone(),
        },
        E::Protocol { attempt, message } => AgentTrouble::Protocol {
            attempt: attempt.clone(),
            said: message.clone(),
        },
        E::Refused { why, message } => {
            let said = message.clone();
            match why {
                ShimRefusal::FencedOut => AgentTrouble::FencedOut { said },
                ShimRefusal::StaleGeneration => AgentTrouble::StaleGeneration { said },
                ShimRefusal::InputFull => AgentTrouble::InputFull { said },
                ShimRefusal::InputGap => AgentTrouble::InputGap { said },
                ShimRefusal::InputClosed => AgentTrouble::InputClosed { said },
                ShimRefusal::NotRunning => AgentTrouble::NotRunning { said },
                ShimRefusal::AgentPeer => AgentTrouble::AgentPeer { said },
                ShimRefusal::NoDescriptors => AgentTrouble::NoDescriptors { said },
                ShimRefusal::BadRequest => AgentTrouble::BadRequest { said },
                ShimRefusal::Unsupported => AgentTrouble::Unsupported { said },
            }
        }
    }
}

fn shim_failure(failure: &supervisor::ShimFailure) -> NotRun {
    use supervisor::ShimFailure as F;
    match failure {
        F::Program { program, error } => NotRun::Shim {
            program: display_path(program),
            cause: system_cause(error),
        },
        F::Reported { report } => not_run(report),
        F::Silent => NotRun::ShimSilent,
        F::Slow { ms } => NotRun::ShimSlow { ms: *ms },
    }
}

fn attempt_action(operation: supervisor::FileOperation) -> FileAction {
    use supervisor::FileOperation as O;
    match operation {
        O::FindFolder => FileAction::FindFolder,
        O::Lock => FileAction::Lock,
        O::MakeFolder => FileAction::MakeFolder,
        O::Open => FileAction::Open,
        O::Read => FileAction::Read,
        O::Write => FileAction::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_words::Lang;
    use std::path::Path;

    fn refused_by(operation: statefiles::FileOperation) -> statefiles::StateFileError {
        statefiles::StateFileError::Io {
            path: "/w/state.json".into(),
            operation,
            source: io::Error::other("gone"),
        }
    }

    #[test]
    fn a_failed_operation_is_named_in_both_languages() {
        use statefiles::FileOperation as O;
        for (operation, english, korean) in [
            (O::LookAt, "look at", "/w/state.json을 읽을 수 없습니다"),
            (
                O::CreateLockFile,
                "create a lock file in",
                "/w/state.json을 잠글 수 없습니다",
            ),
            (O::PutBack, "put back", "/w/state.json을 옮길 수 없습니다"),
            (
                O::SetOwner,
                "set the owner of",
                "/w/state.json을 쓸 수 없습니다",
            ),
        ] {
            assert_eq!(operation.to_string(), english);
            assert_eq!(file_action(operation).to_string(), english);
            let trouble = file_trouble(&refused_by(operation));
            assert_eq!(trouble.say(Lang::Ko).0, korean);
        }
        let what = statefiles::IrregularEntry::Folder;
        let path = Path::new("/w/a").to_owned();
        let trouble = file_trouble(&statefiles::StateFileError::NotRegular { path, what });
        let korean = "/w/a는 일반 파일이 아니라 폴더입니다";
        assert_eq!(trouble.say(Lang::Ko).0, korean);
    }

    #[test]
    fn a_shim_that_does_not_start_is_told_in_korean() {
        for (why, korean) in [
            (supervisor::ShimFailure::Silent, "아무 말 없이 끝났습니다"),
            (
                supervisor::ShimFailure::Slow { ms: 500 },
                "500 ms 안에 준비되지 않았습니다",
            ),
        ] {
            let english = why.to_string();
            assert_eq!(shim_failure(&why).to_string(), english);
            assert_eq!(shim_failure(&why).say(Lang::Ko), korean);
        }
    }
}
