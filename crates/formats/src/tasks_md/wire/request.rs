//! What the main agent asks of the resolver.

use std::fmt;
use std::str::FromStr;

use super::{WireError, id};
use crate::tasks_md::id::TaskId;
use bowline_machines::named;

const RESOLVE_EXPECTED: &str = "`RESOLVE_NEXT[:PHASE:n][:FORCE]`";
const CUSTOM_EXPECTED: &str = "`CUSTOM:PRIORITY|SKIP|RETRY:id`";

/// `RESOLVE_NEXT[:PHASE:n][:FORCE]`: which tasks may start?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolveRequest {
    /// Only tasks of this phase.
    pub phase: Option<u32>,
    /// Read everything anew.
    pub force: bool,
}

impl FromStr for ResolveRequest {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let refused = || WireError::not_this(text, RESOLVE_EXPECTED);
        let rest = text
            .trim()
            .strip_prefix("RESOLVE_NEXT")
            .ok_or_else(refused)?;
        let (rest, force) = match rest.strip_suffix(":FORCE") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        if rest.is_empty() {
            return Ok(Self { phase: None, force });
        }
        let number = rest.strip_prefix(":PHASE:").ok_or_else(refused)?;
        Ok(Self {
            phase: Some(super::reply::number(number).ok_or_else(refused)?),
            force,
        })
    }
}

impl fmt::Display for ResolveRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RESOLVE_NEXT")?;
        if let Some(phase) = self.phase {
            write!(f, ":PHASE:{phase}")?;
        }
        if self.force {
            f.write_str(":FORCE")
        } else {
            Ok(())
        }
    }
}

named! {
    /// What a person wants with one task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CustomAction {
        /// Before the others.
        Priority = "PRIORITY",
        /// Not at all.
        Skip = "SKIP",
        /// Once more.
        Retry = "RETRY",
    }
}

/// `CUSTOM:SKIP:T1.3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomRequest {
    /// What to do.
    pub action: CustomAction,
    /// With which task.
    pub id: TaskId,
}

impl FromStr for CustomRequest {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let refused = || WireError::not_this(text, CUSTOM_EXPECTED);
        let rest = text.trim().strip_prefix("CUSTOM:").ok_or_else(refused)?;
        let (word, task) = rest.split_once(':').ok_or_else(refused)?;
        let action = CustomAction::from_name(word).ok_or_else(refused)?;
        Ok(Self {
            action,
            id: id(task)?,
        })
    }
}

impl fmt::Display for CustomRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUSTOM:{}:{}", self.action.name(), self.id)
    }
}
