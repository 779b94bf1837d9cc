//! Checks whether the machine has enough memory and disk for one more agent.

use super::ports::Shortage;
use bowline_engine::formats::run_settings::FreeResources;
use std::path::Path;

/// Default minimum of free memory, disk and inodes: enough for a client and for what it writes in a
/// while.
const MEMORY_MB: u64 = 256;
const DISK_MB: u64 = 512;
const INODES: u64 = 10_000;
const MB: u64 = 1 << 20;

/// Returns the resource that is short: memory, or disk space or inodes below the given folders.
pub(super) fn shortage(folders: &[&Path], wanted: FreeResources) -> Option<Shortage> {
    let memory = wanted.memory_mb.unwrap_or(MEMORY_MB);
    let disk = wanted.disk_mb.unwrap_or(DISK_MB);
    let inodes = wanted.inodes.unwrap_or(INODES);
    if let Some(free) = free_memory().filter(|free| *free < memory) {
        return Some(Shortage::Memory {
            free,
            wanted: memory,
        });
    }
    // A disk that cannot be checked does not count as short.
    let disks = folders
        .iter()
        .filter_map(|it| rustix::fs::statvfs(*it).ok());
    disks.into_iter().find_map(|it| {
        let free = it.f_bavail.saturating_mul(it.f_frsize) / MB;
        if free < disk {
            return Some(Shortage::Disk { free, wanted: disk });
        }
        // Some file systems have no limit and report 0 of 0.
        let free = it.f_favail;
        (it.f_files > 0 && free < inodes).then_some(Shortage::Inodes {
            free,
            wanted: inodes,
        })
    })
}

/// Returns the memory that programs can still get, in megabytes: of the machine, or of the
/// container if that is less.
fn free_memory() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(available).map(|kb| kb >> 10);
    match (machine, free_in_container()) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Parses the memory that programs can get without swapping, in kilobytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|it| it.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn free_in_container() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = Path::new("/sys/fs/cgroup").join(own);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    // Without a limit the file says `max`.
    let max: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let kept = read("memory.stat").unwrap_or_default();
    // The kernel drops inactive cached files when memory is needed.
    let kept = kept
        .lines()
        .find_map(|it| it.strip_prefix("inactive_file "));
    let kept: u64 = kept.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    Some(max.saturating_sub(used.saturating_sub(kept)) / MB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        let text = "MemTotal:       16316412 kB\nMemAvailable:    9041000 kB\n";
        assert_eq!(available(text), Some(9_041_000));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn whatever_is_short_is_named_and_nothing_else() {
        let here = [Path::new("/")];
        let none = FreeResources {
            memory_mb: Some(0),
            disk_mb: Some(0),
            inodes: Some(0),
        };
        assert_eq!(shortage(&here, none), None);
        let disk = FreeResources {
            disk_mb: Some(u64::MAX),
            ..none
        };
        assert!(matches!(
            shortage(&here, disk),
            Some(Shortage::Disk {
                wanted: u64::MAX,
                ..
            })
        ));
        let memory = FreeResources {
            memory_mb: Some(u64::MAX),
            ..none
        };
        assert!(matches!(
            shortage(&here, memory),
            Some(Shortage::Memory { .. })
        ));
    }
}
