//! Errors and findings of this crate.

use std::io;
use std::path::{Path, PathBuf};

use crate::lock::LockHolder;

/// An operation on a file or folder. Its text follows "failed to".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each is the word it writes")]
pub enum FileOperation {
    #[error("append to")]
    AppendTo,
    #[error("create")]
    Create,
    #[error("create a lock file in")]
    CreateLockFile,
    #[error("describe the lock of")]
    DescribeLock,
    #[error("encode a line of")]
    EncodeLine,
    #[error("flush")]
    Flush,
    #[error("follow the link")]
    FollowLink,
    #[error("list")]
    List,
    #[error("lock")]
    Lock,
    #[error("look at")]
    LookAt,
    #[error("open")]
    Open,
    #[error("put back")]
    PutBack,
    #[error("read")]
    Read,
    #[error("remove")]
    Remove,
    #[error("rename")]
    Rename,
    #[error("replace")]
    Replace,
    #[error("rotate")]
    Rotate,
    #[error("set the owner of")]
    SetOwner,
    #[error("truncate")]
    Truncate,
    #[error("write")]
    Write,
}

/// The kind of an entry in the place of a file. Its text has an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each is the word it writes")]
pub enum IrregularEntry {
    #[error("a folder")]
    Folder,
    #[error("a link")]
    Link,
    #[error("a name among its own records")]
    OwnRecord,
    #[error("a link, pipe or device")]
    LinkPipeOrDevice,
    #[error("a pipe or device")]
    PipeOrDevice,
    #[error("a socket or device")]
    SocketOrDevice,
}

/// A failure, with the path it concerns. Unless the variant says otherwise, nothing has changed on
/// disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateFileError {
    /// Another process holds the lock, and held it for the whole wait.
    #[error("{} is locked by {owner} (waited {waited_ms} ms)", path.display())]
    Locked {
        /// The path of the state file.
        path: PathBuf,
        /// The holder of the lock, as far as it is known.
        owner: Box<LockHolder>,
        /// The time waited for the lock.
        waited_ms: u64,
    },
    /// The folder, the file or the file system does not allow the operation.
    #[error("no permission to {operation} {}", path.display())]
    Permission {
        /// The file or folder that refused.
        path: PathBuf,
        /// The operation that failed.
        operation: FileOperation,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The disk (or the user's quota) is full.
    #[error("no space left to {operation} {}", path.display())]
    DiskFull {
        /// The file being written.
        path: PathBuf,
        /// The operation that failed.
        operation: FileOperation,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A folder, pipe, socket or device is in the place of a file.
    #[error("{} is {what}, not a regular file", path.display())]
    NotRegular {
        /// The path of the entry.
        path: PathBuf,
        /// The kind of the entry.
        what: IrregularEntry,
    },
    /// The document is larger than this crate handles.
    #[error("{} is too big: {bytes} bytes; the limit is {bytes_max}", path.display())]
    TooBig {
        /// The path of the state file.
        path: PathBuf,
        /// The size of the file.
        bytes: u64,
        /// The limit, [`crate::FILE_BYTES_MAX`].
        bytes_max: u64,
    },
    /// The content is not UTF-8 text.
    #[error("{} is not UTF-8 text (first bad byte at {valid_bytes})", path.display())]
    NotUtf8 {
        /// The path of the state file.
        path: PathBuf,
        /// The number of valid bytes from the start.
        valid_bytes: usize,
    },
    /// The symbolic links form a loop.
    #[error("{} is a loop of symbolic links", path.display())]
    LinkLoop {
        /// The first link of the loop.
        path: PathBuf,
    },
    /// Other programs kept replacing the file during the write.
    #[error("{} was changed by others {tries} times while we wrote it", path.display())]
    Contended {
        /// The path of the state file.
        path: PathBuf,
        /// The number of attempts.
        tries: usize,
    },
    /// The journal has steps that only the owner of the format can apply, and no
    /// [`crate::StepReplay`] was given.
    #[error("{} has unfinished batch steps that need their program to apply", path.display())]
    NeedsReplay {
        /// The path of the state file.
        path: PathBuf,
    },
    /// Batch steps were committed for a document that does not exist.
    #[error("{} does not exist; write it once before committing steps", path.display())]
    NoDocument {
        /// The path of the state file.
        path: PathBuf,
    },
    /// A change was requested while committed steps are not in the file.
    #[error("{} has committed steps that are not written yet", path.display())]
    StepsNotWritten {
        /// The path of the state file.
        path: PathBuf,
    },
    /// The journal has no such change, or no longer has it.
    #[error("the journal of {} has no change number {seq}", path.display())]
    NoSuchVersion {
        /// The path of the state file.
        path: PathBuf,
        /// The requested number of a change.
        seq: u64,
    },
    /// The journal has the change, but not the data to rebuild the document.
    #[error("{} cannot be rebuilt as of change {seq}", path.display())]
    NotRebuildable {
        /// The path of the state file.
        path: PathBuf,
        /// The requested number of a change.
        seq: u64,
    },
    /// No source for replacing a damaged file passed the check.
    #[error("nothing usable was found to repair {}", path.display())]
    NothingToRestore {
        /// The path of the state file.
        path: PathBuf,
    },
    /// The change **is committed** and durable, but the file does not show it yet.
    #[error("change {seq} of {} is committed; the file will be completed by the next command", path.display())]
    Unfinished {
        /// The path of the state file.
        path: PathBuf,
        /// The number of the committed change.
        seq: u64,
        /// The failure after the commit.
        #[source]
        source: Box<StateFileError>,
    },
    /// The disk failed during the commit: the change may or may not survive.
    #[error("change {seq} of {} may or may not be committed", path.display())]
    Uncertain {
        /// The path of the state file.
        path: PathBuf,
        /// The number of the change.
        seq: u64,
        /// The error of the disk.
        #[source]
        source: Box<StateFileError>,
    },
    /// A change of an earlier command is committed and could not be written to the file; the
    /// present command was not started.
    #[error("change {seq} of {}, made by an earlier command, could not be completed; nothing of this one was written", path.display())]
    EarlierUnfinished {
        /// The path of the state file.
        path: PathBuf,
        /// The number of the earlier change.
        seq: u64,
        /// The failure of its completion.
        #[source]
        source: Box<StateFileError>,
    },
    /// Any other failure of the system.
    #[error("failed to {operation} {}", path.display())]
    Io {
        /// The path of the failed operation.
        path: PathBuf,
        /// The operation that failed.
        operation: FileOperation,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl StateFileError {
    /// Sorts a system error into the variants that callers distinguish.
    pub(crate) fn io(operation: FileOperation, path: &Path, source: io::Error) -> Self {
        use rustix::io::Errno;
        let path = path.to_path_buf();
        let errno = source.raw_os_error().map(Errno::from_raw_os_error);
        match errno {
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::Permission {
                path,
                operation,
                source,
            },
            Some(Errno::NOSPC | Errno::DQUOT) => Self::DiskFull {
                path,
                operation,
                source,
            },
            Some(Errno::LOOP) => Self::LinkLoop { path },
            Some(Errno::ISDIR) => Self::NotRegular {
                path,
                what: IrregularEntry::Folder,
            },
            Some(Errno::NXIO) => Self::NotRegular {
                path,
                what: IrregularEntry::SocketOrDevice,
            },
            _ => Self::Io {
                path,
                operation,
                source,
            },
        }
    }

    /// Returns a stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Locked { .. } => "locked",
            Self::Permission { .. } => "permission_denied",
            Self::DiskFull { .. } => "disk_full",
            Self::NotRegular { .. } => "not_a_regular_file",
            Self::TooBig { .. } => "file_too_big",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::LinkLoop { .. } => "symlink_loop",
            Self::Contended { .. } => "contended",
            Self::NeedsReplay { .. } => "needs_replay",
            Self::NoDocument { .. } => "no_document",
            Self::StepsNotWritten { .. } => "steps_not_written",
            Self::NoSuchVersion { .. } => "no_such_version",
            Self::NotRebuildable { .. } => "not_rebuildable",
            Self::NothingToRestore { .. } => "nothing_to_restore",
            Self::Unfinished { .. } => "committed_unfinished",
            Self::Uncertain { .. } => "commit_uncertain",
            Self::EarlierUnfinished { .. } => "earlier_unfinished",
            Self::Io { .. } => "io",
        }
    }

    /// Converts a failure that was met while completing an earlier change: nothing of the present
    /// one is on disk.
    pub(crate) fn of_an_earlier_change(self) -> Self {
        match self {
            Self::Unfinished { path, seq, source } | Self::Uncertain { path, seq, source } => {
                Self::EarlierUnfinished { path, seq, source }
            }
            other => other,
        }
    }

    /// True if the change is, or may be, on disk although an error was returned.
    #[must_use]
    pub fn may_be_committed(&self) -> bool {
        matches!(self, Self::Unfinished { .. } | Self::Uncertain { .. })
    }
}

/// The reason that [`crate::StateFile::update`] changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError<E> {
    /// The caller's decision was not to change anything.
    #[error(transparent)]
    Refused(E),
    /// The file could not be read, locked or written.
    #[error(transparent)]
    File(#[from] StateFileError),
}

/// A finding that callers should report, although it does not stop the work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Incident {
    /// A line in the middle of the journal cannot be read.
    #[error("the journal line at byte {offset} cannot be read")]
    BadJournalLine {
        /// The position of the line in the journal.
        offset: u64,
    },
    /// The journal as a whole could not be read and was set aside.
    #[error("the journal could not be read and was set aside as {}", path.display())]
    JournalSetAside {
        /// The new path of the journal.
        path: PathBuf,
    },
    /// The journal says that the file can be rolled forward, but its steps do not fit.
    #[error("change {seq} of the journal does not fit the file")]
    JournalDoesNotFit {
        /// The change that does not fit.
        seq: u64,
    },
    /// Replaying batch steps gave another text than the one that was written.
    #[error("the steps before mark {seq} were replayed to another text than the one written")]
    ReplayDiffers {
        /// The number of the mark it was compared with.
        seq: u64,
    },
    /// A lock file of another program was taken over.
    #[error("the lock file of {owner} was left behind and was taken over")]
    ForeignLockTakenOver {
        /// The owner named in the lock file.
        owner: String,
    },
    /// The lock file was removed while its owner was still writing; this process waited for the
    /// owner.
    #[error(
        "the lock file was removed while its owner was still writing; nothing was lost, the owner was waited for"
    )]
    LockRemoved,
    /// A version written by another program, during a crash or through a file it had opened before
    /// the last change, was kept in a separate file.
    #[error("a version written by another program was kept as {}", path.display())]
    KeptAside {
        /// The path of the kept version.
        path: PathBuf,
    },
}

impl Incident {
    /// Returns a stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadJournalLine { .. } => "bad_journal_line",
            Self::JournalSetAside { .. } => "journal_set_aside",
            Self::JournalDoesNotFit { .. } => "journal_does_not_fit",
            Self::ReplayDiffers { .. } => "replay_differs",
            Self::ForeignLockTakenOver { .. } => "foreign_lock_taken_over",
            Self::LockRemoved => "lock_removed",
            Self::KeptAside { .. } => "kept_aside",
        }
    }
}
