//! A disk that fails, or kills the process, at the n-th operation.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bowline_statefiles::{Disk, FileStat, RealDisk};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// What happens at the chosen operation. A write does half of its work first, except for [`DiskFault::Io`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// The operation fails with an input/output error and does nothing.
    Io,
    /// The operation fails because the disk is full; a write stores half of its bytes.
    Full,
    /// The process is killed by SIGKILL; a write stores half of its bytes.
    Kill,
}

/// Counts operations and fails at one of them, once or from then on.
#[derive(Debug)]
pub struct FaultyDisk {
    real: RealDisk,
    count: AtomicU64,
    at: u64,
    fault: DiskFault,
    lasting: bool,
    in_a_row: u64,
    plain: bool,
    hit: Mutex<Option<&'static str>>,
    meddler: Option<OperationHook>,
}

/// Somebody else, acting right before an operation of ours.
struct OperationHook(Box<dyn Fn(&'static str) + Send + Sync>);

impl std::fmt::Debug for OperationHook {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Meddler")
    }
}

/// What a single operation is to do.
enum OperationOutcome {
    Go,
    Fail(Errno),
    /// Half of the bytes, then the fault.
    Half(Option<Errno>),
}

impl FaultyDisk {
    /// Fails at the `at`-th operation, counted from 1; 0 never fails. A lasting fault goes on failing.
    #[must_use]
    pub fn new(at: u64, fault: DiskFault, lasting: bool) -> Self {
        Self {
            real: RealDisk,
            count: AtomicU64::new(0),
            at,
            fault,
            lasting,
            in_a_row: 1,
            plain: false,
            hit: Mutex::new(None),
            meddler: None,
        }
    }

    /// Fails at this many operations in a row.
    #[must_use]
    pub fn in_a_row(mut self, count: u64) -> Self {
        self.in_a_row = count;
        self
    }

    /// Behaves like a file system that has neither exchange, nor exclusive rename, nor unnamed files.
    #[must_use]
    pub fn without_modern_operations(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Calls `act` with the name of each operation right before it is done.
    #[must_use]
    pub fn with_hook(mut self, act: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        self.meddler = Some(OperationHook(Box::new(act)));
        self
    }

    /// Operations seen so far.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// The first operation that failed, if any did.
    #[must_use]
    pub fn failed_operation(&self) -> Option<&'static str> {
        self.hit.lock().ok().and_then(|hit| *hit)
    }

    fn next_outcome(&self, name: &'static str) -> OperationOutcome {
        if let Some(meddler) = &self.meddler {
            (meddler.0)(name);
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let last = match self.lasting {
            true => u64::MAX,
            false => self.at + self.in_a_row - 1,
        };
        let due = self.at != 0 && (self.at..=last).contains(&number);
        if !due {
            return OperationOutcome::Go;
        }
        if let Ok(mut hit) = self.hit.lock() {
            hit.get_or_insert(name);
        }
        match (self.fault, name) {
            (DiskFault::Full, "write") => OperationOutcome::Half(Some(Errno::NOSPC)),
            (DiskFault::Kill, "write") => OperationOutcome::Half(None),
            (DiskFault::Io, _) => OperationOutcome::Fail(Errno::IO),
            (DiskFault::Full, _) => OperationOutcome::Fail(Errno::NOSPC),
            (DiskFault::Kill, _) => {
                kill_own_process();
                OperationOutcome::Fail(Errno::IO)
            }
        }
    }

    fn run_operation<T>(
        &self,
        name: &'static str,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match self.next_outcome(name) {
            OperationOutcome::Go => act(),
            OperationOutcome::Fail(errno) => Err(errno.into()),
            OperationOutcome::Half(errno) => Err(errno.unwrap_or(Errno::IO).into()),
        }
    }

    fn run_modern_operation<T>(
        &self,
        name: &'static str,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.run_operation(name, || {
            if self.plain {
                Err(Errno::INVAL.into())
            } else {
                act()
            }
        })
    }
}

fn kill_own_process() {
    // Cannot fail for our own process; if it ever did, the caller reports an error instead.
    kill_process(getpid(), Signal::KILL).ok();
}

impl Disk for FaultyDisk {
    fn stat(&self, path: &Path) -> io::Result<Option<FileStat>> {
        self.run_operation("stat", || self.real.stat(path))
    }
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.run_operation("read_link", || self.real.read_link(path))
    }
    fn open_read(&self, path: &Path) -> io::Result<(File, FileStat)> {
        self.run_operation("open_read", || self.real.open_read(path))
    }
    fn create_new(&self, path: &Path) -> io::Result<File> {
        self.run_operation("create_new", || self.real.create_new(path))
    }
    fn create_unnamed(&self, folder: &Path) -> io::Result<File> {
        self.run_modern_operation("create_unnamed", || self.real.create_unnamed(folder))
    }
    fn name_file(&self, file: &File, path: &Path) -> io::Result<()> {
        self.run_operation("publish", || self.real.name_file(file, path))
    }
    fn open_append(&self, path: &Path) -> io::Result<(File, bool)> {
        self.run_operation("open_append", || self.real.open_append(path))
    }
    fn open_write(&self, path: &Path) -> io::Result<File> {
        self.run_operation("open_write", || self.real.open_write(path))
    }
    fn read(&self, file: &File, limit: u64) -> io::Result<Vec<u8>> {
        self.run_operation("read", || self.real.read(file, limit))
    }
    fn read_at(&self, file: &File, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        self.run_operation("read_at", || self.real.read_at(file, offset, bytes))
    }
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        match self.next_outcome("write") {
            OperationOutcome::Go => self.real.write(file, bytes),
            OperationOutcome::Fail(errno) => Err(errno.into()),
            OperationOutcome::Half(errno) => {
                self.real.write(file, &bytes[..bytes.len() / 2])?;
                match errno {
                    Some(errno) => Err(errno.into()),
                    None => {
                        kill_own_process();
                        Err(Errno::IO.into())
                    }
                }
            }
        }
    }
    fn truncate(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.run_operation("truncate", || self.real.truncate(file, bytes))
    }
    fn copy_permissions(&self, file: &File, like: &FileStat) -> io::Result<()> {
        self.run_operation("dress", || self.real.copy_permissions(file, like))
    }
    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.run_operation("sync_data", || self.real.sync_data(file))
    }
    fn sync_all(&self, file: &File) -> io::Result<()> {
        self.run_operation("sync_all", || self.real.sync_all(file))
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.run_operation("sync_folder", || self.real.sync_folder(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run_operation("rename", || self.real.rename(from, to))
    }
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.run_modern_operation("exchange", || self.real.exchange(one, other))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run_modern_operation("rename_new", || self.real.rename_new(from, to))
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run_operation("link", || self.real.link(from, to))
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.run_operation("unlink", || self.real.unlink(path))
    }
    fn list_names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.run_operation("list", || self.real.list_names(folder))
    }
    fn create_folders(&self, path: &Path) -> io::Result<()> {
        self.run_operation("create_folders", || self.real.create_folders(path))
    }
    fn try_lock(&self, file: &File) -> io::Result<bool> {
        self.run_operation("try_lock", || self.real.try_lock(file))
    }
}
