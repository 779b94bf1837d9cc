//! Detection of the control group features this user can use, and the reason if some are missing.

use rustix::fs::{Access, access};
use std::fs;
use std::path::{Path, PathBuf};

/// The controllers that limits need.
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];

/// Reason for which control groups cannot be used here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CgroupUnavailable {
    /// No control groups of version 2 are mounted.
    #[error("no control groups of version 2 are mounted")]
    NotMounted,
    /// This user has no write access.
    #[error("this user may not make a group in {} or around it", .place.display())]
    NotAllowed {
        /// The group of this process.
        place: PathBuf,
    },
    /// The system refused to create a group.
    #[error("no group can be made in {}: {said}", .place.display())]
    NotMade {
        /// The group in which one should be created.
        place: PathBuf,
        /// Kind of the system's error, for translated messages.
        kind: std::io::ErrorKind,
        /// Error number (`errno`) of the system.
        number: Option<i32>,
        /// The system's error message.
        said: String,
    },
    /// Control groups of version 1 use the controllers.
    #[error("{names}: in use by control groups of version 1 on this machine")]
    Version1 {
        /// Names of the controllers.
        names: String,
    },
    /// The parent group does not delegate the controllers.
    #[error("{names}: not handed on by {}", .file.display())]
    NotHandedOn {
        /// Names of the controllers.
        names: String,
        /// The file that configures the delegation.
        file: PathBuf,
    },
    /// The kernel cannot freeze groups.
    #[error("groups cannot be frozen by this kernel")]
    NotFrozen,
}

/// Control group features this user can use here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupSupport {
    /// The nearest group around this process in which a new one can be created.
    pub parent: Option<PathBuf>,
    /// The nearest such group whose child groups can be limited in every way. Often that is not the
    /// group of this process itself: a group with processes of its own cannot delegate controllers.
    pub limiting: Option<PathBuf>,
    /// A group can be frozen as a whole.
    pub freeze: bool,
    /// A group can be killed as a whole.
    pub kill: bool,
    /// Memory can be limited.
    pub memory: bool,
    /// The number of processes can be limited.
    pub processes: bool,
    /// A share of the processor can be set.
    pub cpu: bool,
    /// The reason, where something is missing.
    pub reason: Option<CgroupUnavailable>,
}

impl CgroupSupport {
    /// Finds out by creating a group and removing it again.
    pub fn detect_features() -> CgroupSupport {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        match find_own_group(&groups, &mounts) {
            Some((own, mount)) => {
                CgroupSupport::inspect_groups(&own, &mount, &version_1_controllers(&groups))
            }
            None => CgroupSupport::unsupported_because(CgroupUnavailable::NotMounted),
        }
    }

    fn unsupported_because(reason: CgroupUnavailable) -> CgroupSupport {
        CgroupSupport {
            reason: Some(reason),
            ..CgroupSupport::default()
        }
    }

    /// Checks a group and its ancestors, up to the mount point. `taken` are controllers of version
    /// 1.
    pub(super) fn inspect_groups(own: &Path, mount: &Path, taken: &[String]) -> CgroupSupport {
        let around = own.ancestors().take_while(|one| one.starts_with(mount));
        let usable: Vec<&Path> = around.filter(|one| can_create_groups(one)).collect();
        let Some(&parent) = usable.first() else {
            return CgroupSupport::unsupported_because(CgroupUnavailable::NotAllowed {
                place: own.to_owned(),
            });
        };
        let probe = parent.join(format!("bowline-probe-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&probe) {
            return CgroupSupport::unsupported_because(CgroupUnavailable::NotMade {
                place: parent.to_owned(),
                kind: error.kind(),
                number: error.raw_os_error(),
                said: error.to_string(),
            });
        }
        let has = |file: &str| probe.join(file).exists();
        let (freeze, kill) = (has("cgroup.freeze"), has("cgroup.kill"));
        let _ = fs::remove_dir(&probe);
        let limiting = usable
            .iter()
            .find(|one| {
                CONTROLLERS
                    .iter()
                    .all(|name| delegates_controller(one, name))
            })
            .or(usable.first())
            .copied()
            .unwrap_or(parent);
        let there = CONTROLLERS.map(|name| delegates_controller(limiting, name));
        let [memory, processes, cpu] = there;
        CgroupSupport {
            parent: Some(parent.to_owned()),
            limiting: (memory || processes || cpu).then(|| limiting.to_owned()),
            freeze,
            kill,
            memory,
            processes,
            cpu,
            reason: missing_reason(there, limiting, taken),
        }
    }

    /// Returns each feature with its name.
    pub fn feature_rows(&self) -> [(&'static str, bool); 5] {
        [
            ("freeze", self.freeze),
            ("kill", self.kill),
            ("memory", self.memory),
            ("processes", self.processes),
            ("cpu", self.cpu),
        ]
    }
}

/// True if this user may create groups here and move processes into them.
fn can_create_groups(group: &Path) -> bool {
    let writable = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    writable(group) && writable(&group.join("cgroup.procs"))
}

/// True if groups created here have the controller.
fn delegates_controller(group: &Path, controller: &str) -> bool {
    let text = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    text.split_whitespace().any(|one| one == controller)
}

/// Returns the reason for which some limits cannot be set.
fn missing_reason(there: [bool; 3], group: &Path, taken: &[String]) -> Option<CgroupUnavailable> {
    let absent = CONTROLLERS.into_iter().zip(there);
    let absent: Vec<&str> = absent.filter(|(_, it)| !it).map(|(name, _)| name).collect();
    if absent.is_empty() {
        return None;
    }
    let names = absent.join(", ");
    let all_taken = absent.iter().all(|name| taken.iter().any(|it| it == name));
    Some(if all_taken {
        CgroupUnavailable::Version1 { names }
    } else {
        let file = group.join("cgroup.subtree_control");
        CgroupUnavailable::NotHandedOn { names, file }
    })
}

/// Returns the version 2 group of this process, and the mount point of such groups.
fn find_own_group(groups: &str, mounts: &str) -> Option<(PathBuf, PathBuf)> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let place = words.nth(1)?;
        (words.next()? == "cgroup2").then_some(place)
    })?;
    let mount = PathBuf::from(mount);
    Some((mount.join(own.trim_start_matches('/')), mount))
}

/// Returns the controllers that groups of version 1 use.
fn version_1_controllers(groups: &str) -> Vec<String> {
    let lines = groups.lines().filter_map(|line| line.split(':').nth(1));
    let names = lines.flat_map(|names| names.split(','));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;

    const GROUPS: &str =
        "9:name=systemd:/\n8:cpu,cpuacct:/\n7:pids:/\n4:memory:/a\n0::/user/x.scope\n";
    const MOUNTS: &str =
        "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";

    #[test]
    fn the_group_and_its_mount_are_found_beside_version_1() {
        let (own, mount) = find_own_group(GROUPS, MOUNTS).unwrap_or_default();
        assert_eq!(own, Path::new("/sys/fs/cgroup/unified/user/x.scope"));
        assert_eq!(mount, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(find_own_group(GROUPS, "tmpfs / tmpfs rw 0 0\n"), None);
        assert_eq!(find_own_group("4:memory:/a\n", MOUNTS), None);
        let taken = version_1_controllers(GROUPS);
        for name in CONTROLLERS {
            assert!(taken.iter().any(|it| it == name), "{name} in {taken:?}");
        }
    }

    #[test]
    fn what_is_missing_is_told_with_its_cause() {
        let group = Path::new("/g");
        let taken = version_1_controllers(GROUPS);
        assert_eq!(missing_reason([true, true, true], group, &taken), None);
        let told = missing_reason([false, true, false], group, &taken)
            .unwrap()
            .to_string();
        assert!(
            told.starts_with("memory, cpu: in use by control groups of version 1"),
            "{told}"
        );
        let told = missing_reason([false, true, true], group, &[])
            .unwrap()
            .to_string();
        assert_eq!(told, "memory: not handed on by /g/cgroup.subtree_control");
    }
}
