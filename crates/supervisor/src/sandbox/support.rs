//! Detection of the sandbox features of this kernel.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope,
};

/// Parts of the sandbox that this kernel can enforce.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SandboxSupport {
    /// Roots for reading and writing (Linux 5.13).
    pub files: bool,
    /// Moving files between folders (5.19); refused altogether by older kernels.
    pub moves: bool,
    /// Shortening files (6.2).
    pub truncation: bool,
    /// Rules for TCP ports (6.7).
    pub ports: bool,
    /// Commands to devices (6.10).
    pub devices: bool,
    /// Signals to processes outside, and abstract sockets (6.12).
    pub signals: bool,
}

impl SandboxSupport {
    /// Asks the kernel without restricting anything.
    pub fn detect_features() -> SandboxSupport {
        let files = |access: landlock::BitFlags<AccessFs>| {
            Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(access)
                .and_then(Ruleset::create)
                .is_ok()
        };
        let ports = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessNet::from_all(ABI::V4))
            .and_then(Ruleset::create)
            .is_ok();
        let signals = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .scope(Scope::from_all(ABI::V6))
            .and_then(Ruleset::create)
            .is_ok();
        SandboxSupport {
            files: files(AccessFs::from_all(ABI::V1)),
            moves: files(AccessFs::Refer.into()),
            truncation: files(AccessFs::Truncate.into()),
            ports,
            devices: files(AccessFs::IoctlDev.into()),
            signals,
        }
    }

    /// Returns each part with its name and the first kernel that has it.
    pub fn feature_rows(&self) -> [(&'static str, &'static str, bool); 6] {
        [
            ("files", "5.13", self.files),
            ("moves", "5.19", self.moves),
            ("truncation", "6.2", self.truncation),
            ("ports", "6.7", self.ports),
            ("devices", "6.10", self.devices),
            ("signals", "6.12", self.signals),
        ]
    }
}
