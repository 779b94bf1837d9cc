//! Control groups of agents: the requested limits, checked against the support of this machine.

use crate::error::Error;
use bowline_supervisor::{CgroupSpec, CgroupSupport, CgroupUnavailable};

/// Requested control group for an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ControlGroupRequest {
    pub mode: GroupMode,
    /// Memory of all processes of the agent together.
    pub memory_bytes: Option<u64>,
    /// Most processes of the agent.
    pub processes: Option<u64>,
    /// Processor time of all processes together, in percent of one processor.
    pub cpu_percent: Option<u32>,
}

/// Policy for the control group of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GroupMode {
    /// Make one where this user may. If limits are requested and cannot be enforced, nothing is
    /// started.
    #[default]
    Auto,
    /// Make none.
    Off,
    /// Start nothing without one.
    Require,
}

impl ControlGroupRequest {
    /// True if any limit is requested.
    pub fn has_limits(self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some() || self.cpu_percent.is_some()
    }

    /// Returns the control group to make, if any. Fails if a required one is not supported.
    pub(super) fn resolve_spec(self) -> Result<Option<CgroupSpec>, Error> {
        match self.mode {
            GroupMode::Off => Ok(None),
            GroupMode::Auto | GroupMode::Require => {
                self.spec_within_support(CgroupSupport::detect_features())
            }
        }
    }

    fn spec_within_support(self, support: CgroupSupport) -> Result<Option<CgroupSpec>, Error> {
        let limited = [
            ("--memory-max", self.memory_bytes.is_some(), support.memory),
            ("--pids-max", self.processes.is_some(), support.processes),
            ("--cpu-max", self.cpu_percent.is_some(), support.cpu),
        ];
        let lacking = limited.iter().find(|(_, asked, there)| *asked && !there);
        let freezes = support.freeze || self.mode != GroupMode::Require;
        let parent = if self.has_limits() {
            support.limiting
        } else {
            support.parent
        };
        match (parent, lacking) {
            (Some(parent), None) if freezes => Ok(Some(CgroupSpec {
                memory_bytes: self.memory_bytes,
                processes: self.processes,
                cpu_percent: self.cpu_percent,
                best_effort: self.mode == GroupMode::Auto,
                ..CgroupSpec::in_parent(parent)
            })),
            (None, None) if self.mode == GroupMode::Auto => Ok(None),
            (_, lacking) => Err(Error::NoControlGroup {
                what: lacking.map_or("--cgroup=require", |(name, _, _)| name),
                reason: support.reason.unwrap_or(CgroupUnavailable::NotFrozen),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    fn freezer() -> CgroupSupport {
        CgroupSupport {
            parent: Some("/g/own".into()),
            freeze: true,
            kill: true,
            reason: Some(CgroupUnavailable::NotHandedOn {
                names: "memory, pids, cpu".into(),
                file: "/g/cgroup.subtree_control".into(),
            }),
            ..CgroupSupport::default()
        }
    }

    fn full() -> CgroupSupport {
        CgroupSupport {
            limiting: Some("/g".into()),
            memory: true,
            processes: true,
            cpu: true,
            reason: None,
            ..freezer()
        }
    }

    fn nothing() -> CgroupSupport {
        CgroupSupport {
            reason: Some(CgroupUnavailable::NotMounted),
            ..CgroupSupport::default()
        }
    }

    const AUTO: ControlGroupRequest = ControlGroupRequest {
        mode: GroupMode::Auto,
        memory_bytes: None,
        processes: None,
        cpu_percent: None,
    };

    fn lacking(wish: ControlGroupRequest, support: CgroupSupport) -> &'static str {
        match wish.spec_within_support(support).unwrap_err() {
            Error::NoControlGroup { what, .. } => what,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_group_is_made_where_it_may_be_and_required_where_it_must() {
        let require = ControlGroupRequest {
            mode: GroupMode::Require,
            ..AUTO
        };
        assert_eq!(AUTO.spec_within_support(nothing()).unwrap(), None);
        assert_eq!(lacking(require, nothing()), "--cgroup=require");
        let spec = AUTO.spec_within_support(freezer()).unwrap().unwrap();
        assert_eq!(
            (spec.parent.to_str(), spec.best_effort),
            (Some("/g/own"), true)
        );
        assert!(
            !require
                .spec_within_support(freezer())
                .unwrap()
                .unwrap()
                .best_effort
        );
        let off = ControlGroupRequest {
            mode: GroupMode::Off,
            ..AUTO
        };
        assert_eq!(off.resolve_spec().unwrap(), None);
    }

    #[test]
    fn a_limit_holds_or_nothing_starts() {
        let limited = ControlGroupRequest {
            processes: Some(50),
            ..AUTO
        };
        assert_eq!(lacking(limited, nothing()), "--pids-max");
        assert_eq!(lacking(limited, freezer()), "--pids-max");
        let only_pids = CgroupSupport {
            memory: false,
            ..full()
        };
        let spec = limited
            .spec_within_support(only_pids.clone())
            .unwrap()
            .unwrap();
        assert_eq!(
            (spec.parent.to_str(), spec.processes),
            (Some("/g"), Some(50))
        );
        let both = ControlGroupRequest {
            memory_bytes: Some(1 << 30),
            ..limited
        };
        assert_eq!(lacking(both, only_pids), "--memory-max");
        assert_eq!(
            lacking(
                ControlGroupRequest {
                    cpu_percent: Some(50),
                    ..AUTO
                },
                freezer()
            ),
            "--cpu-max"
        );
    }
}
