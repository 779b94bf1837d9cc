//! How an attempt ended, as `exit.json` tells it.

use serde::{Deserialize, Serialize};

/// The end of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The attempt.
    pub attempt: String,
    /// The highest fencing number the shim had seen.
    pub fence: u64,
    /// Whether an agent was started at all.
    pub started: bool,
    /// Why none could be started.
    #[serde(default)]
    pub start_error: Option<String>,
    /// The agent's exit code, if it exited.
    #[serde(default)]
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default)]
    pub signal: Option<i32>,
    /// Whether the end was asked for.
    pub asked: bool,
    /// Bytes of standard output in the log.
    pub out: u64,
    /// Bytes of standard error in its log.
    pub err: u64,
    /// Bytes of standard output that had been acknowledged.
    #[serde(default)]
    pub out_acked: u64,
    /// Bytes of standard error that had been acknowledged.
    #[serde(default)]
    pub err_acked: u64,
    /// Whether everything the agent wrote is in the logs.
    pub complete: bool,
    /// The last message that the agent has wholly read. Only of shims with the feature `input_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_read: Option<u64>,
    /// Input that was accepted and never read.
    #[serde(default)]
    pub unread: Option<Unread>,
    /// Processes that could not be ended.
    #[serde(default)]
    pub left: Vec<i32>,
}

/// Input the agent never read: the last bytes of what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The first message of which bytes were not read.
    pub from_seq: u64,
    /// How many bytes; they are in the file `unread`.
    pub bytes: u64,
    /// Whether the file `unread` holds them; a full disk may have prevented it.
    pub saved: bool,
}
