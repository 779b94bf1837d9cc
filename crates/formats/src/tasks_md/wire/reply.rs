//! Replies of the resolver.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::{DETAIL_CHARS_MAX, OneLine, WireError, parse_id, write_list};
use crate::tasks_md::finding::{PlanFinding, PlanFindingCode};
use crate::tasks_md::id::TaskId;

const EXPECTED: &str =
    "`READY:…`, `WAIT`, `PHASE_DONE:n`, `ALL_DONE`, `STALLED:…` or `ERROR:CODE:detail`";

/// One line that states what can happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveReply {
    /// These tasks may start.
    Ready(ReadyGroups),
    /// Tasks are running, and none can start before one of them ends.
    Wait,
    /// All tasks of the phase are done; it can be merged.
    PhaseDone(u32),
    /// All work is done.
    AllDone,
    /// Nothing runs, nothing can start, and the phase is not done: the failed tasks, then the
    /// blocked ones.
    Stalled(Vec<TaskId>),
    /// The request cannot be answered.
    Error {
        code: ErrorCode,
        /// Details such as a path; may be empty.
        detail: OneLine,
    },
}

impl ResolveReply {
    /// Creates an `ERROR:` line.
    #[must_use]
    pub fn error_line(code: ErrorCode, detail: &str) -> Self {
        Self::Error {
            code,
            detail: OneLine::new(detail, DETAIL_CHARS_MAX),
        }
    }
}

impl From<&PlanFinding> for ResolveReply {
    fn from(finding: &PlanFinding) -> Self {
        Self::error_line(finding.code.into(), &finding.detail())
    }
}

/// A task that may start, with the specialist if the sender names one: `T1.3` or `T1.3:backend`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyTask {
    pub id: TaskId,
    /// The agent that should do the task.
    pub specialist: Option<TaskId>,
}

impl From<TaskId> for ReadyTask {
    fn from(id: TaskId) -> Self {
        Self {
            id,
            specialist: None,
        }
    }
}

impl fmt::Display for ReadyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.specialist {
            Some(specialist) => write!(f, "{}:{specialist}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

/// Groups of tasks, at least one and none empty; only the first may start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyGroups {
    groups: Vec<Vec<ReadyTask>>,
}

impl ReadyGroups {
    /// Keeps the groups that hold a task; `None` if there are none.
    #[must_use]
    pub fn new(mut groups: Vec<Vec<ReadyTask>>) -> Option<Self> {
        groups.retain(|group| !group.is_empty());
        (!groups.is_empty()).then_some(Self { groups })
    }

    /// Creates one group of tasks that may all start now; `None` if there are none.
    pub fn now(ids: impl IntoIterator<Item = TaskId>) -> Option<Self> {
        Self::new(vec![ids.into_iter().map(ReadyTask::from).collect()])
    }

    /// Returns all groups in order.
    #[must_use]
    pub fn groups(&self) -> &[Vec<ReadyTask>] {
        &self.groups
    }

    /// Returns the tasks that may start now.
    #[must_use]
    pub fn first(&self) -> &[ReadyTask] {
        self.groups.first().map_or(&[], Vec::as_slice)
    }
}

/// The word after `ERROR:`, in capitals, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(Cow<'static, str>);

impl ErrorCode {
    /// There is no TASKS.md.
    pub const TASKS_NOT_FOUND: Self = Self(Cow::Borrowed("TASKS_NOT_FOUND"));
    /// Tasks depend on each other.
    pub const CIRCULAR_DEP: Self = Self(Cow::Borrowed("CIRCULAR_DEP"));
    /// A task depends on one that does not exist.
    pub const MISSING_DEP: Self = Self(Cow::Borrowed("MISSING_DEP"));
    /// The state file is damaged.
    pub const STATE_CORRUPT: Self = Self(Cow::Borrowed("STATE_CORRUPT"));

    /// There is no state file yet.
    pub const STATE_NOT_FOUND: Self = Self(Cow::Borrowed("STATE_NOT_FOUND"));
    /// The requested phase does not exist.
    pub const NO_PHASE: Self = Self(Cow::Borrowed("NO_PHASE"));
    /// The requested phase is a later one.
    pub const PHASE_NOT_CURRENT: Self = Self(Cow::Borrowed("PHASE_NOT_CURRENT"));

    /// Accepts any word in the form of a code.
    #[must_use]
    pub fn new(word: &str) -> Option<Self> {
        let valid = word.starts_with(|c: char| c.is_ascii_uppercase())
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        valid.then(|| Self(Cow::Owned(word.to_owned())))
    }

    /// Returns the word itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<PlanFindingCode> for ErrorCode {
    fn from(code: PlanFindingCode) -> Self {
        Self(Cow::Borrowed(code.name()))
    }
}

impl FromStr for ResolveReply {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let refused = || WireError::not_this(text, EXPECTED);
        let line = text.trim();
        if line.contains('\n') {
            return Err(refused());
        }
        let (word, rest) = match line.split_once(':') {
            Some((word, rest)) => (word, Some(rest)),
            None => (line, None),
        };
        match (word, rest) {
            ("WAIT", None) => Ok(Self::Wait),
            ("ALL_DONE", None) => Ok(Self::AllDone),
            ("STALLED", None | Some("")) => Ok(Self::Stalled(Vec::new())),
            ("STALLED", Some(ids)) => Ok(Self::Stalled(
                ids.split(',').map(parse_id).collect::<Result<_, _>>()?,
            )),
            ("PHASE_DONE", Some(digits)) => Ok(Self::PhaseDone(
                parse_phase_number(digits).ok_or_else(refused)?,
            )),
            ("READY", Some(groups)) => {
                let groups = groups
                    .split('|')
                    .map(|group| group.split(',').map(ready_task).collect());
                let groups = groups.collect::<Result<_, _>>()?;
                ReadyGroups::new(groups)
                    .map(Self::Ready)
                    .ok_or_else(refused)
            }
            ("ERROR", Some(rest)) => parse_error(rest).ok_or_else(refused),
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for ResolveReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(ready) => {
                f.write_str("READY:")?;
                for (at, group) in ready.groups.iter().enumerate() {
                    if at > 0 {
                        f.write_str("|")?;
                    }
                    write_list(f, group)?;
                }
                Ok(())
            }
            Self::Wait => f.write_str("WAIT"),
            Self::PhaseDone(number) => write!(f, "PHASE_DONE:{number}"),
            Self::AllDone => f.write_str("ALL_DONE"),
            Self::Stalled(ids) if ids.is_empty() => f.write_str("STALLED"),
            Self::Stalled(ids) => {
                f.write_str("STALLED:")?;
                write_list(f, ids)
            }
            Self::Error { code, detail } if detail.is_empty() => {
                write!(f, "ERROR:{}", code.as_str())
            }
            Self::Error { code, detail } => write!(f, "ERROR:{}:{detail}", code.as_str()),
        }
    }
}

/// Parses the number of a phase, digits only.
fn parse_phase_number(text: &str) -> Option<u32> {
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn ready_task(text: &str) -> Result<ReadyTask, WireError> {
    match text.split_once(':') {
        Some((task, specialist)) => Ok(ReadyTask {
            id: parse_id(task)?,
            specialist: Some(parse_id(specialist)?),
        }),
        None => Ok(ReadyTask::from(parse_id(text)?)),
    }
}

/// Parses the text behind `ERROR:`: a code and its detail, or one of the sentences that some
/// resolvers print instead.
fn parse_error(rest: &str) -> Option<ResolveReply> {
    let (word, detail) = rest.split_once(':').unwrap_or((rest, ""));
    if let Some(code) = ErrorCode::new(word.trim()) {
        return Some(ResolveReply::error_line(code, detail));
    }
    let rest = rest.trim();
    if let Some(path) = rest.strip_prefix("Circular dependency detected:") {
        let path: Vec<&str> = path.split("->").map(str::trim).collect();
        return Some(ResolveReply::error_line(
            ErrorCode::CIRCULAR_DEP,
            &path.join("->"),
        ));
    }
    if let Some((missing, task)) = rest
        .strip_prefix("Missing dependency ")
        .and_then(|pair| pair.split_once(" for "))
    {
        let detail = format!("{}->{}", task.trim(), missing.trim());
        return Some(ResolveReply::error_line(ErrorCode::MISSING_DEP, &detail));
    }
    let place = rest.strip_prefix("TASKS.md not found")?;
    let place = place.trim_start().trim_start_matches("at ");
    Some(ResolveReply::error_line(ErrorCode::TASKS_NOT_FOUND, place))
}
