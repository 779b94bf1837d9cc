//! The sandbox of an agent: what it may touch, enforced by the kernel (Landlock) for it and everything it starts.

mod support;

pub use support::SandboxSupport;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The newest rules this program knows; older kernels enforce what they can.
const NEWEST: ABI = ABI::V6;

/// What an agent may touch. What is not listed is refused by the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// Folders and files it may read and execute. Those that do not exist are left out.
    pub read: Vec<PathBuf>,
    /// Folders and files it may also write, make and remove things in.
    pub write: Vec<PathBuf>,
    /// TCP ports it may connect to; any when left away.
    pub connect: Option<Vec<u16>>,
    /// TCP ports it may listen on; any when left away.
    pub listen: Option<Vec<u16>>,
    /// Start it even where the kernel cannot enforce all of this.
    pub best_effort: bool,
}

/// What most programs need to run at all: the system, and nobody's data.
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
    /// The system readable, `write` writable, nothing else.
    pub fn around(write: Vec<PathBuf>) -> Sandbox {
        let mut sandbox = Sandbox {
            read: SYSTEM_READ.map(PathBuf::from).to_vec(),
            write,
            ..Sandbox::default()
        };
        sandbox.write.extend(SYSTEM_WRITE.map(PathBuf::from));
        sandbox
    }

    /// Puts this process, and everything it will start, into the sandbox. There is no way out.
    pub(crate) fn enter(&self) -> Result<(), String> {
        drop_privileges().map_err(|error| format!("cannot drop privileges: {error}"))?;
        self.rules()
            .and_then(RulesetCreated::restrict_self)
            .map(drop)
            .map_err(|error| format!("this kernel cannot enforce the sandbox: {error}"))
    }

    fn rules(&self) -> Result<RulesetCreated, RulesetError> {
        let level = if self.best_effort {
            CompatLevel::BestEffort
        } else {
            CompatLevel::HardRequirement
        };
        let mut ruleset = Ruleset::default()
            .set_compatibility(level)
            .handle_access(AccessFs::from_all(NEWEST))?
            // Signals to processes outside, and to sockets in the abstract name space, need a kernel of 6.12.
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
        for path in &self.read {
            rules = allow(rules, path, AccessFs::from_read(NEWEST))?;
        }
        for path in &self.write {
            rules = allow(rules, path, AccessFs::from_all(NEWEST))?;
        }
        for port in self.connect.iter().flatten() {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        for port in self.listen.iter().flatten() {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::BindTcp))?;
        }
        Ok(rules)
    }
}

/// Leaves an agent of root what it needs for files inside its roots, and none of the privileges that reach around the
/// sandbox. The sandbox forbids gaining new ones, so none comes back with the next program.
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

fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(place) = PathFd::new(path) else {
        return Ok(rules);
    };
    // A file has no entries: rights that are about those would be an error.
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    rules.add_rule(PathBeneath::new(place, access))
}
