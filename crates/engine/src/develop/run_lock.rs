//! Lock of one gate's command on one tree: a second caller of the same run waits for its result
//! instead of starting it again.

use crate::error::Error;
use crate::words::system_cause;
use bowline_words::message::{Advice, Why};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Extension of a lock file. The file exists while the command runs.
const SUFFIX: &str = "running";
/// Pause between two tries, in milliseconds.
const RETRY_MS: u64 = 50;

/// Held lock; the kernel frees it when its process dies.
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    _file: File,
    /// True if another run had to end first.
    pub(crate) waited: bool,
}

impl RunLock {
    /// Takes the lock of a run in a folder. `poll` is called while another process holds it; its
    /// error ends the wait.
    pub(crate) fn acquire(
        folder: &Path,
        name: &str,
        poll: &mut dyn FnMut(Duration) -> Result<(), Error>,
    ) -> Result<RunLock, Error> {
        let path = folder.join(format!("{name}.{SUFFIX}"));
        let failed = |error: io::Error| {
            let cause = system_cause(&error);
            Error::bad_file(&path, Why::CannotBeWritten { cause }, Advice::WritableFile)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let (began, mut waited) = (Instant::now(), false);
        loop {
            let mut options = File::options();
            let file = options.create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(failed)?;
            match file.try_lock() {
                // The previous holder removes the file: then later callers do not find this lock.
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
        // Removed before the lock is free, so that the new file of a later caller is not.
        fs::remove_file(&self.path).ok();
    }
}

/// True if an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let id = |it: fs::Metadata| (it.dev(), it.ino());
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(id(there) == id(file.metadata()?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
