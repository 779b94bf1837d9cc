//! The sandbox of an agent: paths and ports it may use, enforced by the kernel (Landlock) for it
//! and its descendants.

mod support;

pub use support::SandboxSupport;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The newest Landlock rules this program knows; older kernels enforce what they can.
const NEWEST: ABI = ABI::V6;

/// Paths and ports an agent may use. The kernel refuses everything that is not listed.
///
/// Every root is an absolute path without links: the folder that was checked when the sandbox was
/// decided is the one that is granted. A root that has become a link since keeps the agent from
/// starting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// Folders and files it may read and execute. Those that do not exist are left out.
    pub read: Vec<PathBuf>,
    /// Folders and files in which it may also write, create and remove.
    pub write: Vec<PathBuf>,
    /// TCP ports it may connect to; any when absent.
    pub connect: Option<Vec<u16>>,
    /// TCP ports it may listen on; any when absent.
    pub listen: Option<Vec<u16>>,
    /// Start it even where the kernel cannot enforce all of this.
    pub best_effort: bool,
}

/// System folders most programs need to run at all; they hold no user data.
const SYSTEM_READ: [&str; 11] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc", "/proc", "/sys", "/nix",
];

/// Devices every program expects.
const SYSTEM_WRITE: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

impl Sandbox {
    /// Creates a sandbox with the system readable, `write` writable and nothing else.
    pub fn with_writable(write: Vec<PathBuf>) -> Sandbox {
        // On many systems some of these are links to others.
        let mut read: Vec<PathBuf> = SYSTEM_READ
            .iter()
            .filter_map(|path| Path::new(path).canonicalize().ok())
            .collect();
        read.sort();
        read.dedup();
        let mut sandbox = Sandbox {
            read,
            write,
            ..Sandbox::default()
        };
        sandbox.write.extend(SYSTEM_WRITE.map(PathBuf::from));
        sandbox
    }

    /// True if a path (absolute, without links) lies in one of the roots.
    pub fn may_read(&self, path: &Path) -> bool {
        let mut roots = self.read.iter().chain(&self.write);
        roots.any(|root| path.starts_with(root))
    }

    /// Restricts this thread, and everything it will start, to the sandbox. This cannot be undone.
    pub fn restrict_thread(&self) -> Result<(), String> {
        drop_privileges().map_err(|error| format!("cannot drop privileges: {error}"))?;
        let cannot =
            |error: RulesetError| format!("this kernel cannot enforce the sandbox: {error}");
        let mut rules = self.build_rules().map_err(cannot)?;
        let read = self.read.iter().map(|path| (path, false));
        let write = self.write.iter().map(|path| (path, true));
        // One by one: there may be more roots than files that may be open at once.
        for (path, writable) in read.chain(write) {
            if let Some(root) = OpenRoot::open(path, writable)? {
                let rule = PathBeneath::new(&root.place, root.access_rights());
                rules = rules.add_rule(rule).map_err(cannot)?;
            }
        }
        rules.restrict_self().map(drop).map_err(cannot)
    }

    /// Builds the rules for everything but the roots.
    fn build_rules(&self) -> Result<RulesetCreated, RulesetError> {
        let level = if self.best_effort {
            CompatLevel::BestEffort
        } else {
            CompatLevel::HardRequirement
        };
        let mut ruleset = Ruleset::default()
            .set_compatibility(level)
            .handle_access(AccessFs::from_all(NEWEST))?
            // Signals to processes outside and abstract sockets need Linux 6.12.
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::Signal)?
            .scope(Scope::AbstractUnixSocket)?
            .set_compatibility(level);
        if self.connect.is_some() {
            ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
        }
        if self.listen.is_some() {
            ruleset = ruleset.handle_access(AccessNet::BindTcp)?;
        }
        let mut rules = ruleset.create()?.set_compatibility(level);
        for port in self.connect.iter().flatten() {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        for port in self.listen.iter().flatten() {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::BindTcp))?;
        }
        Ok(rules)
    }
}

/// Drops the privileges of an agent of root that bypass the sandbox and keeps those it needs for
/// files inside its roots. The sandbox forbids gaining new ones, so none comes back with the next
/// program.
fn drop_privileges() -> rustix::io::Result<()> {
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID;
    let have = capabilities(None)?;
    let fewer = CapabilitySets {
        effective: have.effective & kept,
        permitted: have.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, fewer)
}

/// A root that is held open.
#[derive(Debug)]
struct OpenRoot {
    place: OwnedFd,
    folder: bool,
    writable: bool,
}

impl OpenRoot {
    /// Opens a root; `None` if the path does not exist. A link anywhere on the way is refused: it
    /// was made after the roots were decided, to have another folder granted.
    fn open(path: &Path, writable: bool) -> Result<Option<OpenRoot>, String> {
        let failed = |error: Errno| format!("{} cannot be granted: {error}", path.display());
        if !path.is_absolute() {
            let path = path.display();
            return Err(format!("{path} cannot be granted: not a whole path"));
        }
        let how = OFlags::PATH | OFlags::CLOEXEC;
        match openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(place) => {
                let stat = rustix::fs::fstat(&place).map_err(failed)?;
                let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
                Ok(Some(OpenRoot {
                    place,
                    folder: kind == rustix::fs::FileType::Directory,
                    writable,
                }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(format!(
                "{} cannot be granted: it is, or leads through, a link",
                path.display()
            )),
            Err(error) => Err(failed(error)),
        }
    }

    fn access_rights(&self) -> landlock::BitFlags<AccessFs> {
        let access = match self.writable {
            true => AccessFs::from_all(NEWEST),
            false => AccessFs::from_read(NEWEST),
        };
        // A file has no entries: rights that are about those would be an error.
        match self.folder {
            true => access,
            false => access & AccessFs::from_file(NEWEST),
        }
    }
}
