//! The contents of `exit.json`: the end of an attempt.

use serde::{Deserialize, Serialize};

/// End of an attempt, as the shim recorded it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptExit {
    /// Id of the attempt.
    pub attempt: String,
    /// The highest fencing number the shim had seen.
    pub fence: u64,
    /// True if an agent was started at all.
    pub started: bool,
    /// The error that kept the agent from starting, if there was one.
    #[serde(default)]
    pub start_error: Option<String>,
    /// The agent's exit code, if it exited.
    #[serde(default)]
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default)]
    pub signal: Option<i32>,
    /// True if a client asked for the end.
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
    /// True if everything the agent wrote is in the logs.
    pub complete: bool,
    /// The last message that the agent has read completely. Only of shims with the feature
    /// `input_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_read: Option<u64>,
    /// Input that was accepted and never read.
    #[serde(default)]
    pub unread: Option<UnreadInput>,
    /// Ids of processes that could not be ended.
    #[serde(default)]
    pub left: Vec<i32>,
}

/// Input the agent never read: the last bytes of the input that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadInput {
    /// The first message with unread bytes.
    pub from_seq: u64,
    /// Number of unread bytes.
    pub bytes: u64,
    /// True if the file `unread` holds them; a full disk may have prevented it.
    pub saved: bool,
}
