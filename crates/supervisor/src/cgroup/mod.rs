//! A control group (version 2) for one attempt, where this user may create one: it freezes, limits
//! and kills as a whole.

mod support;

pub use support::{CgroupSupport, CgroupUnavailable};

use crate::spec::CgroupSpec;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Period over which a share of the processor is counted.
const CPU_PERIOD_US: u64 = 100_000;

/// A control group created for one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Creates the group below its parent, with its limits. A limit that cannot be set is an error.
    pub(crate) fn create(spec: &CgroupSpec, attempt: &str) -> io::Result<Cgroup> {
        let path = spec.parent.join(group_name(attempt));
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        for (file, limit) in limit_files(spec) {
            if let Some(limit) = limit
                && let Err(error) = fs::write(path.join(file), limit)
            {
                let message = format!("{file} cannot be set: {error}");
                let _ = fs::remove_dir(&path);
                return Err(io::Error::new(error.kind(), message));
            }
        }
        if spec.memory_bytes.is_some() {
            // Otherwise memory over the limit is swapped out, which slows the machine instead of
            // ending the agent. A kernel that does not count swap has no such file.
            let _ = fs::write(path.join("memory.swap.max"), "0");
        }
        Ok(Cgroup { path })
    }

    /// Opens the group recorded for an attempt, if it still exists. A path that does not name a
    /// group of this very attempt is ignored: everything in the group may be killed.
    pub(crate) fn open(path: &Path, attempt: &str) -> Option<Cgroup> {
        let ours = path
            .file_name()
            .is_some_and(|it| it == group_name(attempt).as_str());
        (ours && path.join("cgroup.procs").exists()).then(|| Cgroup {
            path: path.to_owned(),
        })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves this process into the group.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), "0")
    }

    /// Asks the kernel to freeze or thaw all processes. `false` if it refuses.
    pub(crate) fn set_frozen(&self, frozen: bool) -> bool {
        fs::write(
            self.path.join("cgroup.freeze"),
            if frozen { "1" } else { "0" },
        )
        .is_ok()
    }

    /// True if the kernel reports all processes as frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        self.has_event("frozen 1")
    }

    /// True if the kernel reports a process in the group or below it.
    pub(crate) fn is_populated(&self) -> bool {
        self.has_event("populated 1")
    }

    fn has_event(&self, event: &str) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == event)
    }

    /// Kills all processes at once, frozen ones and those being forked included.
    pub(crate) fn kill_members(&self) {
        // Kernels before 5.14 have no such file; then the caller's own signals do the work.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Returns the process ids in the group and in those below it.
    pub(crate) fn member_pids(&self) -> Vec<i32> {
        let mut members = Vec::new();
        for folder in self.group_folders() {
            let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            members.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        }
        members
    }

    /// Removes the empty group, and those the agent created in it.
    pub(crate) fn remove(&self) {
        for folder in self.group_folders().iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }

    /// Returns the folders of the group and of all groups below it, parents first.
    fn group_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.path.clone()];
        let mut next = 0;
        while next < folders.len() {
            let below = fs::read_dir(&folders[next]).into_iter().flatten().flatten();
            // Folders only, without following links: a control group has no links, a forged one
            // might.
            let below = below.filter(|one| one.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(below.map(|one| one.path()));
            next += 1;
        }
        folders
    }
}

/// Returns the name of the group of an attempt.
fn group_name(attempt: &str) -> String {
    format!("bowline-{attempt}")
}

/// Returns the kernel's file for each limit, and the value to write.
fn limit_files(spec: &CgroupSpec) -> [(&'static str, Option<String>); 3] {
    let cpu = spec.cpu_percent.map(|percent| {
        let quota = u64::from(percent) * CPU_PERIOD_US / 100;
        format!("{quota} {CPU_PERIOD_US}")
    });
    [
        (
            "memory.max",
            spec.memory_bytes.map(|bytes| bytes.to_string()),
        ),
        ("pids.max", spec.processes.map(|count| count.to_string())),
        ("cpu.max", cpu),
    ]
}

#[cfg(test)]
mod tests;
