//! A control group (version 2) for one attempt, where this user may make one: it freezes, limits and kills as a whole.

use crate::spec::CgroupSpec;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A control group made for one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes the group below its parent, with its limits. A limit that cannot be set is an error: it was asked for.
    pub(crate) fn create(spec: &CgroupSpec, attempt: &str) -> io::Result<Cgroup> {
        let path = spec.parent.join(format!("bowline-{attempt}"));
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let limits = [
            ("memory.max", spec.memory_bytes),
            ("pids.max", spec.processes),
        ];
        for (file, limit) in limits {
            if let Some(limit) = limit
                && let Err(error) = fs::write(path.join(file), limit.to_string())
            {
                let told = format!("{file} cannot be set: {error}");
                let _ = fs::remove_dir(&path);
                return Err(io::Error::new(error.kind(), told));
            }
        }
        Ok(Cgroup { path })
    }

    /// A group made before, if it is still there.
    pub(crate) fn open(path: &Path) -> Option<Cgroup> {
        path.join("cgroup.procs").exists().then(|| Cgroup {
            path: path.to_owned(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves this process into the group.
    pub(crate) fn enter(path: &Path) -> io::Result<()> {
        fs::write(path.join("cgroup.procs"), "0")
    }

    /// Asks for all to be frozen, or thawed.
    pub(crate) fn freeze(&self, frozen: bool) -> bool {
        fs::write(
            self.path.join("cgroup.freeze"),
            if frozen { "1" } else { "0" },
        )
        .is_ok()
    }

    /// Whether all are frozen, as the kernel sees it.
    pub(crate) fn frozen(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "frozen 1")
    }

    /// Kills all at once, frozen or not, those being forked included.
    pub(crate) fn kill(&self) {
        // Kernels before 5.14 have no such file; then the caller's own signals do the work.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Process ids in the group, those of groups below it included.
    pub(crate) fn members(&self) -> Vec<i32> {
        let mut members = Vec::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            members.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
            let below = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(
                below
                    .filter(|one| one.path().is_dir())
                    .map(|one| one.path()),
            );
        }
        members
    }

    /// Removes the empty group.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// What control groups can do for this user here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupSupport {
    /// The group of this process, where a new one can be made in it.
    pub parent: Option<PathBuf>,
    /// Whether a group can be frozen as a whole.
    pub freeze: bool,
    /// Whether a group can be killed as a whole.
    pub kill: bool,
    /// Whether memory can be limited.
    pub memory: bool,
    /// Whether the number of processes can be limited.
    pub processes: bool,
    /// Why not, where something is missing.
    pub reason: Option<String>,
}

impl CgroupSupport {
    /// Finds out by making a group and removing it again.
    pub fn here() -> CgroupSupport {
        let none = |reason: String| CgroupSupport {
            reason: Some(reason),
            ..CgroupSupport::default()
        };
        let Some(parent) = own_group() else {
            return none("no control groups of version 2 are mounted".into());
        };
        let probe = parent.join(format!("bowline-probe-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&probe) {
            return none(format!(
                "no group can be made in {}: {error}",
                parent.display()
            ));
        }
        let has = |file: &str| probe.join(file).exists();
        let support = CgroupSupport {
            freeze: has("cgroup.freeze"),
            kill: has("cgroup.kill"),
            memory: has("memory.max"),
            processes: has("pids.max"),
            reason: (!has("memory.max"))
                .then(|| "the memory controller is not enabled for groups of this user".into()),
            parent: Some(parent),
        };
        let _ = fs::remove_dir(&probe);
        support
    }
}

/// The version 2 group this process is in.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let place = words.nth(1)?;
        (words.next()? == "cgroup2").then_some(place)
    })?;
    Some(Path::new(mount).join(own.trim_start_matches('/')))
}
