//! Checks whether the machine has enough memory and disk for one more agent.

use super::ports::ResourceShortage;
use bowline_engine::formats::run_settings::FreeResources;
use std::path::Path;

/// Default minimum of free memory, disk and inodes: enough for a client and for what it writes in a
/// while.
const DEFAULT_MEMORY_MB: u64 = 256;
const DEFAULT_DISK_MB: u64 = 512;
const DEFAULT_INODES: u64 = 10_000;
const MB: u64 = 1 << 20;

/// Returns the resource that is short: memory, or disk space or inodes below the given folders.
pub(super) fn find_shortage(folders: &[&Path], wanted: FreeResources) -> Option<ResourceShortage> {
    let memory = wanted.memory_mb.unwrap_or(DEFAULT_MEMORY_MB);
    let disk = wanted.disk_mb.unwrap_or(DEFAULT_DISK_MB);
    let inodes = wanted.inodes.unwrap_or(DEFAULT_INODES);
    if let Some(free) = free_memory().filter(|free| *free < memory) {
        return Some(ResourceShortage::Memory {
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
            return Some(ResourceShortage::Disk { free, wanted: disk });
        }
        // Some file systems have no limit and report 0 of 0.
        let free = it.f_favail;
        (it.f_files > 0 && free < inodes).then_some(ResourceShortage::Inodes {
            free,
            wanted: inodes,
        })
    })
}

/// Returns the memory that programs can still get, in megabytes: of the machine, or of the
/// container if that is less.
fn free_memory() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(available_kb).map(|kb| kb >> 10);
    match (machine, free_in_container()) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Parses the memory that programs can get without swapping, in kilobytes.
fn available_kb(meminfo: &str) -> Option<u64> {
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
        assert_eq!(available_kb(text), Some(9_041_000));
        assert_eq!(available_kb("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn whatever_is_short_is_named_and_nothing_else() {
        let here = [Path::new("/")];
        let none = FreeResources {
            memory_mb: Some(0),
            disk_mb: Some(0),
            inodes: Some(0),
        };
        assert_eq!(find_shortage(&here, none), None);
        let disk = FreeResources {
            disk_mb: Some(u64::MAX),
            ..none
        };
        assert!(matches!(
            find_shortage(&here, disk),
            Some(ResourceShortage::Disk {
                wanted: u64::MAX,
                ..
            })
        ));
        let memory = FreeResources {
            memory_mb: Some(u64::MAX),
            ..none
        };
        assert!(matches!(
            find_shortage(&here, memory),
            Some(ResourceShortage::Memory { .. })
        ));
    }
}
