//! `evidence.jsonl` of a develop run: what was run for a gate or a checkpoint, and what came of it.

use bowline_machines::named;
use serde::{Deserialize, Serialize};

/// The file's name in the folder of a run.
pub const FILE_NAME: &str = "evidence.jsonl";

/// The version written. 1: the first.
pub const VERSION: u32 = 1;

named! {
    /// Where a piece of evidence comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Source {
        /// The sealed command.
        Sealed = "sealed",
        /// A command that the caller named.
        Given = "given",
        /// A person's word.
        ByHand = "by_hand",
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`VERSION`].
    pub version: u32,
    /// Its name in the transitions that rest on it.
    pub id: String,
    /// The run.
    pub run: String,
    /// The gate it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The checkpoint it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// What was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Why a person's word should do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the command ended with: 124 after the time limit, 128 and the signal when it was killed.
    pub exit_code: i32,
    /// How long it ran.
    pub duration_ms: u64,
    /// Hash of all it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
    /// Length of all it printed.
    #[serde(default)]
    pub output_bytes: u64,
    /// The end of what it printed, without the values of secret variables.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_tail: String,
    /// A person had it run outside of a sandbox although its evidence is signed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsandboxed: bool,
    /// The tree it was run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The sealed policy at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// When it ended, UTC.
    pub at: String,
    /// `person`, `agent` or `unknown`.
    pub by: String,
    /// Keyed hash of the line without this field, when there was a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Evidence {
    /// The text that is signed.
    pub fn signed_text(&self) -> String {
        let unsigned = Evidence {
            signature: None,
            ..self.clone()
        };
        unsigned.line()
    }

    /// The line without its end.
    pub fn line(&self) -> String {
        // A struct of texts and numbers always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// All lines that can be read, and how many cannot. A torn line at the end was never relied upon.
pub fn read(text: &str) -> (Vec<Evidence>, usize) {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let read: Vec<Option<Evidence>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    let bad = read.iter().filter(|line| line.is_none()).count();
    (read.into_iter().flatten().collect(), bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_and_torn_ones_are_counted() {
        let evidence = Evidence {
            version: VERSION,
            id: "e1".into(),
            run: "r1".into(),
            gate: Some("architect_verified".into()),
            checkpoint: None,
            source: Source::Sealed,
            command: Some("make test".into()),
            reason: None,
            exit_code: 0,
            duration_ms: 12,
            output_hash: Some("h".into()),
            output_bytes: 3,
            output_tail: "ok\n".into(),
            unsandboxed: false,
            tree: Some("git:t".into()),
            policy: Some("p".into()),
            at: "2026-03-01T09:00:00Z".into(),
            by: "agent".into(),
            signature: Some("s".into()),
        };
        let line = evidence.line();
        assert!(!line.contains('\n'));
        assert!(!evidence.signed_text().contains("signature"));
        let text = format!("{line}\n\n{}", &line[..line.len() / 2]);
        assert_eq!(read(&text), (vec![evidence], 1));
    }
}
