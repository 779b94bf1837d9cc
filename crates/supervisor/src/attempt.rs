//! The folder of one attempt: its spec, its owner, its output and its end.
//!
//! | File | Content |
//! |---|---|
//! | `spec.json` | program, limits and sandbox; written first |
//! | `lock` | held by the shim for its lifetime; identifies the shim, and tells if `go` was given |
//! | `sock` | the shim's socket |
//! | `log`, `err` | standard output and standard error; file positions are absolute offsets |
//! | `relay` | the socket through which a sandboxed agent reaches programs outside |
//! | `tmp` | the agent's temporary files |
//! | `exit.json` | the end of the attempt; empty until then |
//! | `unread` | input that was accepted and never read |

use crate::TEMPORARY;
use crate::error::{FileOperation, SupervisorError};
use crate::exit::AttemptExit;
use crate::process::boot_id;
use crate::spec::AttemptSpec;
use rustix::fs::{FlockOperation, OFlags, SeekFrom, flock, seek};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Only the owner may read an attempt: output and input may be secret.
pub(crate) const FOLDER_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;

const SPEC: &str = "spec.json";

/// The longest id. Together with prefixes and suffixes it must fit into a file name.
const ID_BYTES_MAX: usize = 100;
/// The largest spec: a command line can be long.
const SPEC_BYTES_MAX: u64 = 8 << 20;
/// The largest lock file and the largest `exit.json`. An agent without a sandbox can write them and
/// must not fill our memory that way.
const NOTE_BYTES_MAX: u64 = 1 << 20;
/// The most unread input: the shim's queue and the contents of the pipe.
const UNREAD_BYTES_MAX: u64 = 64 << 20;

/// One attempt to run an agent, identified by its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    folder: PathBuf,
    spec: AttemptSpec,
}

/// Condition of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptCondition {
    /// No agent was ever started in it, and no shim waits to do so.
    Intended,
    /// A shim owns it.
    Alive,
    /// It ended, and the end is on the disk.
    Ended(Box<AttemptExit>),
    /// Its shim is gone without having seen the end. Processes may be left: see
    /// [`crate::sweep_attempt()`].
    Lost,
}

/// One of the agent's two streams of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output, kept in `log`.
    Out,
    /// Standard error, kept in `err`.
    Err,
}

impl OutputStream {
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            OutputStream::Out => "log",
            OutputStream::Err => "err",
        }
    }
}

/// Contents of the lock file: the shim that holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockOwner {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    pub(crate) start: u64,
    pub(crate) boot: String,
    /// Set before the agent is started. No second agent is started after it.
    #[serde(default)]
    pub(crate) go: bool,
    /// The control group of the agent, if it has one.
    #[serde(default)]
    pub(crate) cgroup: Option<PathBuf>,
}

/// Contents of `spec.json`.
#[derive(Serialize, Deserialize)]
struct StoredSpec {
    /// Boot id of the machine when the attempt was created. Every attempt of an earlier boot that
    /// had not ended is lost.
    boot: String,
    spec: AttemptSpec,
}

impl Attempt {
    /// Creates the folder of a new attempt, and in it one for the temporary files of a sandboxed
    /// agent.
    pub fn create(folder: &Path, spec: AttemptSpec) -> Result<Attempt, SupervisorError> {
        check_id(&spec.attempt)?;
        if let Some(parent) = folder.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(parent)
                .map_err(SupervisorError::io(FileOperation::MakeFolder, parent))?;
        }
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(SupervisorError::AttemptExists {
                    path: folder.to_owned(),
                });
            }
            Err(error) => {
                return Err(SupervisorError::io(FileOperation::MakeFolder, folder)(
                    error,
                ));
            }
        }
        let made = Attempt::create_content(folder, spec);
        if made.is_err() {
            // A partial folder would block another try. File by file: listing a folder takes a
            // descriptor, and the lack of one may be the cause.
            let _ = std::fs::remove_file(folder.join(SPEC));
            let _ = std::fs::remove_dir(folder.join(TEMPORARY));
            let _ = std::fs::remove_dir(folder);
        }
        made
    }

    fn create_content(folder: &Path, mut spec: AttemptSpec) -> Result<Attempt, SupervisorError> {
        let folder = std::path::absolute(folder)
            .map_err(SupervisorError::io(FileOperation::FindFolder, folder))?;
        if spec.sandbox.is_some() {
            let temporary = folder.join(TEMPORARY);
            DirBuilder::new()
                .mode(FOLDER_MODE)
                .create(&temporary)
                .map_err(SupervisorError::io(FileOperation::MakeFolder, &temporary))?;
            // The path to it may lead through links, and a root must not.
            let temporary = temporary
                .canonicalize()
                .map_err(SupervisorError::io(FileOperation::FindFolder, &temporary))?;
            spec.sandbox
                .iter_mut()
                .for_each(|sandbox| sandbox.write.push(temporary.clone()));
        }
        let path = folder.join(SPEC);
        let intent = StoredSpec {
            boot: boot_id(),
            spec,
        };
        let text = serde_json::to_vec(&intent)
            .map_err(io::Error::from)
            .map_err(SupervisorError::io(FileOperation::Write, &path))?;
        create_private_file(&path)
            .and_then(|mut file| file.write_all(&text))
            .map_err(SupervisorError::io(FileOperation::Write, &path))?;
        Ok(Attempt {
            folder,
            spec: intent.spec,
        })
    }

    /// Opens an existing attempt.
    pub fn open_existing(folder: &Path) -> Result<Attempt, SupervisorError> {
        let folder = std::path::absolute(folder)
            .map_err(SupervisorError::io(FileOperation::FindFolder, folder))?;
        let intent = read_stored_spec(&folder)?;
        Ok(Attempt {
            folder,
            spec: intent.spec,
        })
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Connects to its shim, for a [`crate::ShimSession`].
    pub fn connect_to_shim(&self) -> Result<UnixStream, SupervisorError> {
        let connected =
            File::open(&self.folder).and_then(|folder| UnixStream::connect(socket_path(&folder)));
        connected.map_err(|source| SupervisorError::unreachable_shim(self.id(), source))
    }

    /// Returns its spec.
    pub fn spec(&self) -> &AttemptSpec {
        &self.spec
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.spec.attempt
    }

    /// Returns its condition. The lock decides: while a shim holds it, the files are not consulted.
    pub fn condition(&self) -> Result<AttemptCondition, SupervisorError> {
        if self.is_locked()? {
            return Ok(AttemptCondition::Alive);
        }
        if let Some(exit) = self.read_exit()? {
            return Ok(AttemptCondition::Ended(Box::new(exit)));
        }
        let started = self.read_owner()?.is_some_and(|owner| owner.go);
        // After a power cut the contents of the lock may be lost. Nothing is started again then.
        Ok(if started || !self.made_in_this_boot()? {
            AttemptCondition::Lost
        } else {
            AttemptCondition::Intended
        })
    }

    /// Returns the end of the attempt if it has ended and `exit.json` is complete.
    pub fn read_exit(&self) -> Result<Option<AttemptExit>, SupervisorError> {
        let path = self.file_path("exit.json");
        match read_small(&path, NOTE_BYTES_MAX) {
            // A file that is being written, was cut off by a crash, or names another attempt does
            // not count.
            Ok(text) => Ok(serde_json::from_slice(&text)
                .ok()
                .filter(|exit: &AttemptExit| exit.attempt == self.id())),
            Err(error) if is_foreign_content(&error) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SupervisorError::io(FileOperation::Read, &path)(error)),
        }
    }

    /// Returns the input the agent never read.
    pub fn read_unread_input(&self) -> Result<Vec<u8>, SupervisorError> {
        let path = self.file_path("unread");
        match read_small(&path, UNREAD_BYTES_MAX) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(SupervisorError::io(FileOperation::Read, &path)(error)),
        }
    }

    /// Reads at most `count` bytes of a stream from an absolute offset and returns them with the
    /// offset of the first. That is later than requested when the disk space of acknowledged output
    /// has been freed.
    pub fn read_output(
        &self,
        stream: OutputStream,
        from: u64,
        count: usize,
    ) -> Result<(u64, Vec<u8>), SupervisorError> {
        let path = self.file_path(stream.file_name());
        let file = match open_regular_file(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((from, Vec::new())),
            Err(error) => return Err(SupervisorError::io(FileOperation::Read, &path)(error)),
        };
        // Freed output is a hole; a file system without holes has data from the start.
        let from = seek(&file, SeekFrom::Data(from)).unwrap_or(from);
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            match file.read_at(&mut bytes[filled..], from + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(SupervisorError::io(FileOperation::Read, &path)(error)),
            }
        }
        bytes.truncate(filled);
        Ok((from, bytes))
    }

    /// True if the machine has not rebooted since the attempt was created.
    pub(crate) fn made_in_this_boot(&self) -> Result<bool, SupervisorError> {
        Ok(read_stored_spec(&self.folder)?.boot == boot_id())
    }

    /// True if a shim holds the lock.
    fn is_locked(&self) -> Result<bool, SupervisorError> {
        let path = self.file_path("lock");
        let file = match open_regular_file(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_foreign_content(&error) => {
                return Ok(false);
            }
            Err(error) => return Err(SupervisorError::io(FileOperation::Open, &path)(error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(true),
            Err(error) => Err(SupervisorError::io(FileOperation::Lock, &path)(
                error.into(),
            )),
        }
    }

    /// Returns the current or last holder of the lock. If the file cannot be parsed, an agent is
    /// assumed to have been started.
    pub(crate) fn read_owner(&self) -> Result<Option<LockOwner>, SupervisorError> {
        let path = self.file_path("lock");
        match read_small(&path, NOTE_BYTES_MAX) {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(
                serde_json::from_slice(&text).unwrap_or_else(|_| started_owner()),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if is_foreign_content(&error) => Ok(Some(started_owner())),
            Err(error) => Err(SupervisorError::io(FileOperation::Read, &path)(error)),
        }
    }

    /// Returns the path of a file of the attempt.
    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Returns the path of the socket in a folder, short enough for a socket address however long the
/// folder's own path is. Valid while the folder is held open.
pub(crate) fn socket_path(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/sock", folder.as_raw_fd()))
}

/// Creates a file that only its owner can read.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
}

/// Opens a file for writing at any position; creates it if absent.
pub(crate) fn open_writable(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)
}

/// Opens a file for reading without blocking: an agent may have put a pipe or something else in its
/// place.
fn open_regular_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a regular file",
        ))
    }
}

/// Reads a whole file of at most `max` bytes.
pub(crate) fn read_small(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // Capacity for most files: growing while reading means many small reads.
    let mut bytes = Vec::with_capacity(4096);
    open_regular_file(path)?
        .take(max + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// True if the file cannot have been written by a shim.
fn is_foreign_content(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge
    )
}

/// Returns an owner without details that counts as started.
fn started_owner() -> LockOwner {
    LockOwner {
        go: true,
        ..LockOwner::default()
    }
}

/// Checks an id: it becomes part of paths, of a control group's name and of an environment.
fn check_id(id: &str) -> Result<(), SupervisorError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good =
        !id.is_empty() && id.len() <= ID_BYTES_MAX && !id.starts_with('.') && id.bytes().all(plain);
    if good {
        Ok(())
    } else {
        Err(SupervisorError::BadId { id: id.to_owned() })
    }
}

fn read_stored_spec(folder: &Path) -> Result<StoredSpec, SupervisorError> {
    let path = folder.join(SPEC);
    match read_small(&path, SPEC_BYTES_MAX) {
        Ok(text) => {
            let intent: StoredSpec = serde_json::from_slice(&text)
                .map_err(io::Error::from)
                .map_err(SupervisorError::io(FileOperation::Read, &path))?;
            check_id(&intent.spec.attempt)?;
            Ok(intent)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SupervisorError::NoAttempt {
            path: folder.to_owned(),
        }),
        Err(error) => Err(SupervisorError::io(FileOperation::Read, &path)(error)),
    }
}
