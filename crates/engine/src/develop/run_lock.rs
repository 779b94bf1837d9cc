//! The lock of one gate's command on one tree: whoever asks for the same run waits for its result instead of starting it again.

use crate::error::Error;
use crate::words::system;
use bowline_words::message::{Advice, Why};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How the file of a lock is called behind its name. It is there while the command runs.
const SUFFIX: &str = "running";
/// Between two tries.
const RETRY_MS: u64 = 50;

/// A held lock; the kernel frees it when its process dies.
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    _file: File,
    /// Whether another run had to end first.
    pub(crate) waited: bool,
}

impl RunLock {
    /// Takes the lock of a run in a folder. `poll` is called while another holds it; its error ends the wait.
    pub(crate) fn acquire(
        folder: &Path,
        name: &str,
        poll: &mut dyn FnMut(Duration) -> Result<(), Error>,
    ) -> Result<RunLock, Error> {
        let path = folder.join(format!("{name}.{SUFFIX}"));
        let failed = |error: io::Error| {
            let cause = system(&error);
            Error::bad_file(&path, Why::CannotBeWritten { cause }, Advice::WritableFile)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let (began, mut waited) = (Instant::now(), false);
        loop {
            let mut options = File::options();
            let file = options.create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(failed)?;
            match file.try_lock() {
                // The holder before us removes the file: then it is no lock that others find.
                Ok(()) if is_at(&file, &path).map_err(failed)? => {
                    return Ok(RunLock {
                        path,
                        _file: file,
                        waited,
                    });
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    waited = true;
                    poll(began.elapsed())?;
                    std::thread::sleep(Duration::from_millis(RETRY_MS));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Before the lock is free, so that nobody's new file is removed.
        fs::remove_file(&self.path).ok();
    }
}

/// Whether an open file is the one that a path leads to.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let id = |it: fs::Metadata| (it.dev(), it.ino());
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(id(there) == id(file.metadata()?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
