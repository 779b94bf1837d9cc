//! The folder of one attempt: what is to run, who owns it, what it said, how it ended.
//!
//! | File | Content |
//! |---|---|
//! | `spec.json` | what is to be run, written first |
//! | `lock` | held by the shim for life; who it is, and whether `go` was given |
//! | `sock` | the shim's socket |
//! | `log`, `err` | standard output and standard error; the place of a byte is its absolute offset |
//! | `relay` | the socket by which a sandboxed agent reaches what is started outside for it |
//! | `tmp` | its temporary files |
//! | `exit.json` | how it ended; empty until then |
//! | `unread` | input that was accepted and never read |

use crate::TEMPORARY;
use crate::error::Error;
use crate::exit::Exit;
use crate::process::boot_id;
use crate::spec::Spec;
use rustix::fs::{FlockOperation, OFlags, SeekFrom, flock, seek};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Only the owner looks into an attempt: output and input may be secret.
pub(crate) const FOLDER_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;

const SPEC: &str = "spec.json";

/// The longest id. With what is put around it, it must fit into the name of a file.
const ID_BYTES_MAX: usize = 100;
/// The longest spec: a command line can be long.
const SPEC_BYTES_MAX: u64 = 8 << 20;
/// The longest lock and the longest end. An agent without a sandbox can write them, and must not fill our memory so.
const NOTE_BYTES_MAX: u64 = 1 << 20;
/// The most unread input: what a shim accepts, and what is in the pipe.
const UNREAD_BYTES_MAX: u64 = 64 << 20;

/// One attempt to run an agent, by its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    folder: PathBuf,
    spec: Spec,
}

/// What has become of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// No agent was ever started in it, and no shim waits to do so.
    Intended,
    /// A shim owns it.
    Alive,
    /// It ended, and the end is on the disk.
    Ended(Box<Exit>),
    /// Its shim is gone without having seen the end. Processes may be left: see [`crate::sweep()`].
    Lost,
}

/// One of the agent's two streams of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    pub(crate) fn file(self) -> &'static str {
        match self {
            Stream::Out => "log",
            Stream::Err => "err",
        }
    }
}

/// What the shim writes into the lock it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    pub(crate) start: u64,
    pub(crate) boot: String,
    /// Set before the agent is started. Nobody starts one after it.
    #[serde(default)]
    pub(crate) go: bool,
    /// The control group of the agent, if it has one.
    #[serde(default)]
    pub(crate) cgroup: Option<PathBuf>,
}

/// The spec as it stands in the file.
#[derive(Serialize, Deserialize)]
struct Intent {
    /// Of the machine when the attempt was made. What was not ended in an earlier boot was lost with it.
    boot: String,
    spec: Spec,
}

impl Attempt {
    /// Makes the folder of a new attempt, and in it one for the temporary files of a sandboxed agent.
    pub fn create(folder: &Path, spec: Spec) -> Result<Attempt, Error> {
        check_id(&spec.attempt)?;
        if let Some(parent) = folder.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(parent)
                .map_err(Error::io("make the folder", parent))?;
        }
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::AttemptExists {
                    path: folder.to_owned(),
                });
            }
            Err(error) => return Err(Error::io("make the folder", folder)(error)),
        }
        let made = Attempt::fill(folder, spec);
        if made.is_err() {
            // Half a folder would stand in the way of another try. File by file: to list a folder takes a descriptor,
            // and that may be what was lacking.
            let _ = std::fs::remove_file(folder.join(SPEC));
            let _ = std::fs::remove_dir(folder.join(TEMPORARY));
            let _ = std::fs::remove_dir(folder);
        }
        made
    }

    fn fill(folder: &Path, mut spec: Spec) -> Result<Attempt, Error> {
        let folder = std::path::absolute(folder).map_err(Error::io("find the folder", folder))?;
        if spec.sandbox.is_some() {
            let temporary = folder.join(TEMPORARY);
            DirBuilder::new()
                .mode(FOLDER_MODE)
                .create(&temporary)
                .map_err(Error::io("make the folder", &temporary))?;
            // The way to it may lead through links, and a root has none.
            let temporary = temporary
                .canonicalize()
                .map_err(Error::io("find the folder", &temporary))?;
            spec.sandbox
                .iter_mut()
                .for_each(|sandbox| sandbox.write.push(temporary.clone()));
        }
        let path = folder.join(SPEC);
        let intent = Intent {
            boot: boot_id(),
            spec,
        };
        let text = serde_json::to_vec(&intent)
            .map_err(io::Error::from)
            .map_err(Error::io("write", &path))?;
        new_file(&path)
            .and_then(|mut file| file.write_all(&text))
            .map_err(Error::io("write", &path))?;
        Ok(Attempt {
            folder,
            spec: intent.spec,
        })
    }

    /// An attempt that was made before.
    pub fn open(folder: &Path) -> Result<Attempt, Error> {
        let folder = std::path::absolute(folder).map_err(Error::io("find the folder", folder))?;
        let intent = intent(&folder)?;
        Ok(Attempt {
            folder,
            spec: intent.spec,
        })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A connection to its shim, for a [`crate::Dialogue`].
    pub fn connect(&self) -> Result<UnixStream, Error> {
        let connected =
            File::open(&self.folder).and_then(|folder| UnixStream::connect(socket_path(&folder)));
        connected.map_err(|source| Error::unreachable(self.id(), source))
    }

    /// What is to be run.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.spec.attempt
    }

    /// What has become of it. The lock decides: while a shim holds it, nothing is believed because it is written somewhere.
    pub fn condition(&self) -> Result<Condition, Error> {
        if self.locked()? {
            return Ok(Condition::Alive);
        }
        if let Some(exit) = self.exit()? {
            return Ok(Condition::Ended(Box::new(exit)));
        }
        let started = self.owner()?.is_some_and(|owner| owner.go);
        // After a power cut the lock's words may be lost: then nobody knows, and nothing is started again.
        Ok(if started || !self.made_in_this_boot()? {
            Condition::Lost
        } else {
            Condition::Intended
        })
    }

    /// How it ended, if it did and the end is whole.
    pub fn exit(&self) -> Result<Option<Exit>, Error> {
        let path = self.path("exit.json");
        match read_small(&path, NOTE_BYTES_MAX) {
            // An end that is being written, or was cut off by a crash, is none; nor is that of another attempt.
            Ok(text) => Ok(serde_json::from_slice(&text)
                .ok()
                .filter(|exit: &Exit| exit.attempt == self.id())),
            Err(error) if foreign(&error) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Input the agent never read.
    pub fn unread(&self) -> Result<Vec<u8>, Error> {
        let path = self.path("unread");
        match read_small(&path, UNREAD_BYTES_MAX) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// Bytes of a stream from an absolute offset, at most `count`, and the offset of the first. That is later than asked for
    /// when acknowledged output has been given back to the disk.
    pub fn read(&self, stream: Stream, from: u64, count: usize) -> Result<(u64, Vec<u8>), Error> {
        let path = self.path(stream.file());
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((from, Vec::new())),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        // Given-back output is a hole; a file system without holes has data from the start.
        let from = seek(&file, SeekFrom::Data(from)).unwrap_or(from);
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            match file.read_at(&mut bytes[filled..], from + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &path)(error)),
            }
        }
        bytes.truncate(filled);
        Ok((from, bytes))
    }

    /// Whether the machine has run without a break since the attempt was made.
    pub(crate) fn made_in_this_boot(&self) -> Result<bool, Error> {
        Ok(intent(&self.folder)?.boot == boot_id())
    }

    /// Whether a shim holds the lock.
    fn locked(&self) -> Result<bool, Error> {
        let path = self.path("lock");
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound || foreign(&error) => {
                return Ok(false);
            }
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(true),
            Err(error) => Err(Error::io("lock", &path)(error.into())),
        }
    }

    /// Who holds or last held the lock. When that cannot be read any more, an agent may have been started.
    pub(crate) fn owner(&self) -> Result<Option<Owner>, Error> {
        let path = self.path("lock");
        match read_small(&path, NOTE_BYTES_MAX) {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(
                serde_json::from_slice(&text).unwrap_or_else(|_| begun()),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if foreign(&error) => Ok(Some(begun())),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// A file of the attempt.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A path of a socket in a folder that fits into an address however long the folder's own path is. Valid while the folder
/// is held open.
pub(crate) fn socket_path(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/sock", folder.as_raw_fd()))
}

/// A new file that only its owner reads.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
}

/// A file to be written at places, made if it is not there.
pub(crate) fn writable(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)
}

/// Opens a file to read it, and never waits: something else may have been put in its place, a pipe for instance.
fn open(path: &Path) -> io::Result<File> {
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

/// The content of a file that is not longer than this.
pub(crate) fn read_small(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // Room for most of them: what is grown as it is read is read in small bites.
    let mut bytes = Vec::with_capacity(4096);
    open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Whether a file is not what a shim writes.
fn foreign(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge
    )
}

/// An owner of whom nothing is known.
fn begun() -> Owner {
    Owner {
        go: true,
        ..Owner::default()
    }
}

/// An id is part of paths, of a control group's name and of an environment.
fn check_id(id: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good =
        !id.is_empty() && id.len() <= ID_BYTES_MAX && !id.starts_with('.') && id.bytes().all(plain);
    if good {
        Ok(())
    } else {
        Err(Error::BadId { id: id.to_owned() })
    }
}

fn intent(folder: &Path) -> Result<Intent, Error> {
    let path = folder.join(SPEC);
    match read_small(&path, SPEC_BYTES_MAX) {
        Ok(text) => {
            let intent: Intent = serde_json::from_slice(&text)
                .map_err(io::Error::from)
                .map_err(Error::io("read", &path))?;
            check_id(&intent.spec.attempt)?;
            Ok(intent)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::NoAttempt {
            path: folder.to_owned(),
        }),
        Err(error) => Err(Error::io("read", &path)(error)),
    }
}
