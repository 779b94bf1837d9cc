//! Every access to the disk behind one trait, so that tests can inject a failure or a crash into
//! each of them.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file with content.
    Regular,
    /// A folder of other entries.
    Folder,
    /// A symbolic link to another path.
    Link,
    /// A pipe, socket or device.
    Special,
}

/// The metadata of a file that this crate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The length of the content.
    pub bytes: u64,
    /// The last change of the content, in Unix milliseconds.
    pub modified_ms: i64,
    /// The last change of content or attributes, in Unix nanoseconds.
    pub changed_ns: i128,
    /// Device and inode number: the identity of the file.
    pub identity: (u64, u64),
    /// The permission bits of the file.
    pub mode: u32,
    /// The owning user and group.
    pub owner: (u32, u32),
}

impl FileStat {
    fn new(meta: &std::fs::Metadata) -> Self {
        let kind = if meta.is_file() {
            EntryKind::Regular
        } else if meta.is_dir() {
            EntryKind::Folder
        } else if meta.file_type().is_symlink() {
            EntryKind::Link
        } else {
            EntryKind::Special
        };
        Self {
            kind,
            bytes: meta.len(),
            modified_ms: meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000,
            changed_ns: i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()),
            identity: (meta.dev(), meta.ino()),
            mode: meta.mode() & 0o7777,
            owner: (meta.uid(), meta.gid()),
        }
    }
}

/// The disk operations that a state file needs. One method is one step that may fail, or be the
/// last before a crash.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Returns the metadata of `path` itself (links are not followed), or `None` if it does not
    /// exist.
    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>>;
    /// Returns the target of a symbolic link.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    /// Opens a file for reading. Never blocks, not even on a pipe, and does not follow a link at
    /// the last component.
    fn open_read(&self, path: &Path) -> io::Result<(File, FileStat)>;
    /// Creates a new file for writing; fails if the path exists.
    fn create_new(&self, path: &Path) -> io::Result<File>;
    /// Creates a file without a name in `folder`, to be named by [`Disk::name_file`].
    fn create_unnamed(&self, folder: &Path) -> io::Result<File>;
    /// Gives an unnamed file its name; fails if the name is taken.
    fn name_file(&self, file: &File, path: &Path) -> io::Result<()>;
    /// Opens a file for reading and appending, and creates it if it is missing. Returns true if it
    /// was created.
    fn open_append(&self, path: &Path) -> io::Result<(File, bool)>;
    /// Opens an existing file for reading and writing in place.
    fn open_write(&self, path: &Path) -> io::Result<File>;
    /// Reads at most `limit` bytes from the start.
    fn read(&self, file: &File, limit: u64) -> io::Result<Vec<u8>>;
    /// Reads exactly `bytes` bytes at `offset`.
    fn read_at(&self, file: &File, offset: u64, bytes: usize) -> io::Result<Vec<u8>>;
    /// Writes all of `bytes`.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    /// Truncates or extends a file to `bytes`.
    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()>;
    /// Gives `file` the permission bits of `like` and, as far as allowed, its owner.
    fn copy_permissions(&self, file: &File, like: &FileStat) -> io::Result<()>;
    /// Flushes content and length to the medium.
    fn sync_data(&self, file: &File) -> io::Result<()>;
    /// Flushes content and attributes to the medium.
    fn sync_all(&self, file: &File) -> io::Result<()>;
    /// Flushes the names in a folder to the medium.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Renames a file and replaces an existing target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Exchanges two names in one step.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;
    /// Renames a file; fails if the target exists.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name; fails if that name is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a name from its folder.
    fn unlink(&self, path: &Path) -> io::Result<()>;
    /// Lists the names in a folder.
    fn list_names(&self, folder: &Path) -> io::Result<Vec<OsString>>;
    /// Creates a folder and its missing parents.
    fn create_folders(&self, path: &Path) -> io::Result<()>;
    /// Tries to take the exclusive advisory lock of an open file; `false` if another process holds
    /// it.
    fn try_lock(&self, file: &File) -> io::Result<bool>;
}

/// The real disk of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

/// Readable and writable for all, restricted by the user's umask.
const NEW_FILE_MODE: u32 = 0o666;

fn open_with_flags(path: &Path, flags: OFlags) -> io::Result<File> {
    let fd = rustix::fs::open(
        path,
        flags | OFlags::CLOEXEC,
        Mode::from_raw_mode(NEW_FILE_MODE),
    )?;
    Ok(File::from(fd))
}

impl Disk for RealDisk {
    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        match std::fs::symlink_metadata(path) {
            Ok(meta) => Ok(Some(FileStat::new(&meta))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::read_link(path)
    }

    fn open_read(&self, path: &Path) -> io::Result<(File, FileStat)> {
        let file = open_with_flags(
            path,
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW,
        )?;
        let stat = FileStat::new(&file.metadata()?);
        Ok((file, stat))
    }

    fn create_new(&self, path: &Path) -> io::Result<File> {
        open_with_flags(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn create_unnamed(&self, folder: &Path) -> io::Result<File> {
        open_with_flags(folder, OFlags::RDWR | OFlags::TMPFILE)
    }

    fn name_file(&self, file: &File, path: &Path) -> io::Result<()> {
        // Needs no privilege: the link in /proc stands for the open file.
        let handle = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        Ok(rustix::fs::linkat(
            CWD,
            handle,
            CWD,
            path,
            AtFlags::SYMLINK_FOLLOW,
        )?)
    }

    fn open_append(&self, path: &Path) -> io::Result<(File, bool)> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        match open_with_flags(path, flags) {
            Ok(file) => Ok((file, false)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok((open_with_flags(path, flags | OFlags::CREATE)?, true))
            }
            Err(error) => Err(error),
        }
    }

    fn open_write(&self, path: &Path) -> io::Result<File> {
        open_with_flags(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW)
    }

    fn read(&self, file: &File, limit: u64) -> io::Result<Vec<u8>> {
        // One more than the length, so that the end is noticed without growing.
        let expected = file.metadata()?.len().min(limit) + 1;
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&self, file: &File, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        file.read_exact_at(&mut buffer, offset)?;
        Ok(buffer)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()> {
        file.set_len(bytes)
    }

    fn copy_permissions(&self, file: &File, like: &FileStat) -> io::Result<()> {
        let now = FileStat::new(&file.metadata()?);
        if now.owner != like.owner {
            // Only a privileged process may give a file away; otherwise the new owner is the
            // caller.
            std::os::unix::fs::fchown(file, Some(like.owner.0), Some(like.owner.1)).ok();
        }
        Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(like.mode))?)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        open_with_flags(path, OFlags::RDONLY | OFlags::DIRECTORY)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(
            CWD,
            one,
            CWD,
            other,
            RenameFlags::EXCHANGE,
        )?)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(
            CWD,
            from,
            CWD,
            to,
            RenameFlags::NOREPLACE,
        )?)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn unlink(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn list_names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn try_lock(&self, file: &File) -> io::Result<bool> {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// True if the file system does not know an operation, as opposed to refusing it.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [
        Errno::INVAL,
        Errno::NOSYS,
        Errno::OPNOTSUPP,
        Errno::NOTSUP,
        Errno::ISDIR,
    ];
    known
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
