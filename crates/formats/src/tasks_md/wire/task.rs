//! The request for one task to an executor, and the reply.

use std::fmt;
use std::str::FromStr;

use super::{OneLine, WireError, is_break, parse_id, quote_text};
use crate::tasks_md::id::TaskId;

/// Maximum length of the reason of a failure.
pub const REASON_CHARS_MAX: usize = 100;

const REQUEST_EXPECTED: &str = "`TASK_ID:id` with optional lines `WORKTREE:path` and `META:json`";
const REPLY_EXPECTED: &str = "`DONE:id` or `FAIL:id:reason`";

/// `TASK_ID:…`, then optionally `WORKTREE:…` and `META:…` on lines of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    id: TaskId,
    worktree: Option<String>,
    meta: Option<String>,
}

impl TaskRequest {
    /// Creates a request for one task.
    #[must_use]
    pub fn new(id: TaskId) -> Self {
        Self {
            id,
            worktree: None,
            meta: None,
        }
    }

    /// Adds the folder to work in.
    ///
    /// # Errors
    /// Fails with [`WireError::BadWorktree`] if the path does not fit on one line unchanged.
    pub fn with_worktree(mut self, path: &str) -> Result<Self, WireError> {
        if path.is_empty() || path.trim() != path || path.contains(is_break) {
            return Err(WireError::BadWorktree {
                text: quote_text(path),
            });
        }
        self.worktree = Some(path.to_owned());
        Ok(self)
    }

    /// Adds metadata: a JSON object on one line, kept as written.
    ///
    /// # Errors
    /// Fails with [`WireError::BadMeta`] if it is anything else.
    pub fn with_meta(mut self, json: &str) -> Result<Self, WireError> {
        let json = json.trim();
        let object: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_str(json);
        if object.is_err() || json.contains(is_break) {
            return Err(WireError::BadMeta {
                text: quote_text(json),
            });
        }
        self.meta = Some(json.to_owned());
        Ok(self)
    }
}

impl FromStr for TaskRequest {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let refused = || WireError::not_this(text, REQUEST_EXPECTED);
        let mut lines = text.trim().lines().map(str::trim);
        let first = lines
            .next()
            .and_then(|line| line.strip_prefix("TASK_ID:"))
            .ok_or_else(refused)?;
        let mut request = Self::new(parse_id(first)?);
        for line in lines {
            if let Some(path) = line
                .strip_prefix("WORKTREE:")
                .filter(|_| request.worktree.is_none())
            {
                request = request.with_worktree(path.trim())?;
            } else if let Some(json) = line
                .strip_prefix("META:")
                .filter(|_| request.meta.is_none())
            {
                request = request.with_meta(json)?;
            } else {
                return Err(refused());
            }
        }
        Ok(request)
    }
}

impl fmt::Display for TaskRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TASK_ID:{}", self.id)?;
        if let Some(path) = &self.worktree {
            write!(f, "\nWORKTREE:{path}")?;
        }
        if let Some(json) = &self.meta {
            write!(f, "\nMETA:{json}")?;
        }
        Ok(())
    }
}

/// A key and value such as `elapsed=120s` in a verbose reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStat {
    key: String,
    value: String,
}

impl TaskStat {
    /// Creates a stat. The key is in `[a-z0-9_]` and starts with a letter; the value is one line
    /// without `:`, trimmed.
    #[must_use]
    pub fn new(key: &str, value: &str) -> Option<Self> {
        let key_fits = key.starts_with(|c: char| c.is_ascii_lowercase())
            && key
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let value_fits =
            value.trim() == value && !value.contains(|c: char| c == ':' || is_break(c));
        (key_fits && value_fits).then(|| Self {
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }

    fn read(part: &str) -> Option<Self> {
        let (key, value) = part.split_once('=')?;
        Self::new(key, value)
    }
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskReply {
    /// `DONE:T1.3`, or verbose `DONE:T1.3:elapsed=120s:tests=15`.
    Done {
        id: TaskId,
        /// Empty unless the reply is verbose.
        stats: Vec<TaskStat>,
    },
    /// `FAIL:T1.3:reason`, or verbose `FAIL:T1.3:elapsed=300s:retries=10:reason`.
    Fail {
        id: TaskId,
        /// Empty unless the reply is verbose.
        stats: Vec<TaskStat>,
        /// At most [`REASON_CHARS_MAX`] characters if created by [`TaskReply::fail`].
        reason: OneLine,
    },
}

impl TaskReply {
    /// Creates a failure; the reason becomes one line of at most [`REASON_CHARS_MAX`] characters.
    #[must_use]
    pub fn fail(id: TaskId, reason: &str) -> Self {
        Self::Fail {
            id,
            stats: Vec::new(),
            reason: OneLine::new(reason, REASON_CHARS_MAX),
        }
    }
}

impl FromStr for TaskReply {
    type Err = WireError;

    /// Parses a reply. Parts of a `DONE:` line that are not `key=value` are remarks and are
    /// dropped.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let refused = || WireError::not_this(text, REPLY_EXPECTED);
        let line = text.trim();
        if line.contains('\n') {
            return Err(refused());
        }
        if let Some(rest) = line.strip_prefix("DONE:") {
            let (task, rest) = rest.split_once(':').unwrap_or((rest, ""));
            let stats = rest.split(':').filter_map(TaskStat::read).collect();
            return Ok(Self::Done {
                id: parse_id(task)?,
                stats,
            });
        }
        let rest = line.strip_prefix("FAIL:").ok_or_else(refused)?;
        let (task, mut rest) = rest.split_once(':').unwrap_or((rest, ""));
        let mut stats = Vec::new();
        while let Some((stat, after)) = leading_stat(rest) {
            stats.push(stat);
            rest = after;
        }
        Ok(Self::Fail {
            id: parse_id(task)?,
            stats,
            reason: OneLine::new(rest, REASON_CHARS_MAX),
        })
    }
}

/// Parses the stat at the start of `text`. It ends with a colon, so the reason itself is never one.
fn leading_stat(text: &str) -> Option<(TaskStat, &str)> {
    let (part, after) = text.split_once(':')?;
    Some((TaskStat::read(part)?, after))
}

impl fmt::Display for TaskReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, id, stats) = match self {
            Self::Done { id, stats } => ("DONE", id, stats),
            Self::Fail { id, stats, .. } => ("FAIL", id, stats),
        };
        write!(f, "{word}:{id}")?;
        for TaskStat { key, value } in stats {
            write!(f, ":{key}={value}")?;
        }
        if let Self::Fail { reason, .. } = self {
            // A space keeps a reason such as `exit=1: no tests` from being parsed as a stat.
            let guard = if leading_stat(reason.as_str()).is_some() {
                " "
            } else {
                ""
            };
            write!(f, ":{guard}{reason}")?;
        }
        Ok(())
    }
}
