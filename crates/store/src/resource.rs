//! Resources that a machine can run out of for a while: disk space, file descriptors, memory,
//! processes.
//!
//! A failure for lack of one of them says nothing about the store or the task: the same call
//! succeeds later.

use rustix::io::Errno;
use std::error::Error;
use std::fs::File;
use std::path::Path;

/// Free bytes below which a disk counts as full: SQLite needs room for a few pages, and the log of
/// an agent for more.
const DISK_BYTES_MIN: u64 = 1 << 20;

/// A resource that the machine has run out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Free space on the disk.
    Disk,
    /// File descriptors, of this process or of the system.
    Descriptors,
    /// Memory, threads or processes.
    Memory,
}

impl Resource {
    /// Returns the stable error code, in `snake_case`.
    pub fn code(self) -> &'static str {
        match self {
            Resource::Disk => "disk_full",
            Resource::Descriptors | Resource::Memory => "exhausted",
        }
    }

    /// Returns the resource that an error message names: errors of other processes come as text.
    pub fn named_in(text: &str) -> Option<Resource> {
        let causes = [
            ("Resource temporarily unavailable", Resource::Memory),
            ("Cannot fork", Resource::Memory),
            ("Cannot allocate memory", Resource::Memory),
            ("Too many open files", Resource::Descriptors),
            ("No space left on device", Resource::Disk),
        ];
        let named = causes.into_iter().find(|(words, _)| text.contains(words));
        named.map(|(_, resource)| resource)
    }

    fn from_io_error(error: &std::io::Error) -> Option<Resource> {
        Resource::from_errno(Errno::from_io_error(error)?)
    }

    fn from_errno(error: Errno) -> Option<Resource> {
        match error {
            Errno::NOSPC | Errno::DQUOT => Some(Resource::Disk),
            Errno::MFILE | Errno::NFILE => Some(Resource::Descriptors),
            Errno::NOMEM | Errno::AGAIN => Some(Resource::Memory),
            _ => None,
        }
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Resource::Disk => "no space is left on the disk",
            Resource::Descriptors => "no file descriptor is left",
            Resource::Memory => "no memory or process is left",
        })
    }
}

/// Returns the resource whose lack caused this error, directly or as a source of it.
pub fn resource_of_error(error: &(dyn Error + 'static)) -> Option<Resource> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if let Some(resource) = io.and_then(Resource::from_io_error) {
            return Some(resource);
        }
        cause = error.source();
    }
    None
}

/// Checks which resource is lacking right now; disk space is checked for this path.
pub fn lacking_resource(path: &Path) -> Option<Resource> {
    if let Err(error) = File::open("/dev/null") {
        return Resource::from_io_error(&error);
    }
    let looked = |path: &Path| rustix::fs::statvfs(path).ok();
    let disk = looked(path).or_else(|| looked(path.parent()?))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    (free < DISK_BYTES_MIN).then_some(Resource::Disk)
}

#[cfg(test)]
mod tests {
    use super::Resource;

    #[test]
    fn a_message_names_its_resource_by_the_number_of_the_error() {
        let of = |number| {
            let error = std::io::Error::from_raw_os_error(number);
            Resource::named_in(&format!("the shim did not start: {error}"))
        };
        assert_eq!(of(28), Some(Resource::Disk));
        assert_eq!(of(24), Some(Resource::Descriptors));
        assert_eq!(of(11), Some(Resource::Memory));
        assert_eq!(of(2), None);
        assert_eq!(Resource::named_in("it ended without a word"), None);
    }
}
