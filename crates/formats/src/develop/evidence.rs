//! `evidence.jsonl` of a develop run: the commands run for gates and checkpoints, and their
//! results.

use bowline_machines::named;
use serde::{Deserialize, Serialize};

/// Name of the file in the folder of a run.
pub const FILE_NAME: &str = "evidence.jsonl";

/// Version that is written; 1 is the first.
pub const VERSION: u32 = 1;

named! {
    /// Source of a piece of evidence.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EvidenceSource {
        /// The command sealed in the policy.
        Sealed = "sealed",
        /// A command given by the caller.
        Given = "given",
        /// A confirmation by a person, without a command.
        ByHand = "by_hand",
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// Version of the format; [`VERSION`] when written.
    pub version: u32,
    /// Id used by the transitions that rest on it.
    pub id: String,
    /// Id of the run.
    pub run: String,
    /// Name of the gate it is for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Id of the checkpoint it is for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    pub source: EvidenceSource,
    /// Command that was run; absent for a confirmation by a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Reason given for a confirmation without a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Exit code of the command: 124 after a timeout, 128 plus the signal if it was killed.
    pub exit_code: i32,
    pub duration_ms: u64,
    /// Hash of the complete output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
    /// Length of the complete output.
    #[serde(default)]
    pub output_bytes: u64,
    /// End of the output, with the values of secret variables removed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_tail: String,
    /// True if a person allowed it to run outside a sandbox although its evidence is signed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsandboxed: bool,
    /// Git tree that it was run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Hash of the sealed policy at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Time at which it ended, UTC.
    pub at: String,
    /// `person`, `agent` or `unknown`.
    pub by: String,
    /// Keyed hash of the line without this field; absent if there was no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl EvidenceRecord {
    /// Returns the text that is signed.
    pub fn signed_text(&self) -> String {
        let unsigned = EvidenceRecord {
            signature: None,
            ..self.clone()
        };
        unsigned.to_line()
    }

    /// Returns the line without its line end.
    pub fn to_line(&self) -> String {
        // A struct of texts and numbers always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Parses all readable lines and counts the others. A truncated last line was never relied upon.
pub fn parse_lines(text: &str) -> (Vec<EvidenceRecord>, usize) {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let read: Vec<Option<EvidenceRecord>> =
        lines.map(|line| serde_json::from_str(line).ok()).collect();
    let bad = read.iter().filter(|line| line.is_none()).count();
    (read.into_iter().flatten().collect(), bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_and_torn_ones_are_counted() {
        let evidence = EvidenceRecord {
            version: VERSION,
            id: "e1".into(),
            run: "r1".into(),
            gate: Some("architect_verified".into()),
            checkpoint: None,
            source: EvidenceSource::Sealed,
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
        let line = evidence.to_line();
        assert!(!line.contains('\n'));
        assert!(!evidence.signed_text().contains("signature"));
        let text = format!("{line}\n\n{}", &line[..line.len() / 2]);
        assert_eq!(parse_lines(&text), (vec![evidence], 1));
    }
}
