//! A step of a run as the journal stores it between two writes of the file: a command and its time.
//!
//! `{"at":"2026-05-04T09:00:00Z","do":{"start":{"id":"T1.1"}}}`

use crate::time::{format_utc, parse_time};
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::Command;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A legal command and its time. The same steps on the same document give the same run. Unknown
/// fields are an error, so that records of a later version are not half understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedStep {
    #[serde(
        rename = "at",
        serialize_with = "write_time",
        deserialize_with = "read_time"
    )]
    pub at: Timestamp,
    #[serde(rename = "do")]
    pub command: Command,
}

fn write_time<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format_utc(*at))
}

fn read_time<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    parse_time(&text).ok_or_else(|| D::Error::custom(format!("'{text}' is no time")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn every_command_has_one_shape() {
        let shapes = [
            r#"{"start":{"id":"T1.1"}}"#,
            r#"{"start_ahead":{"id":"T1.1"}}"#,
            r#"{"recall":{"id":"T1.1"}}"#,
            r#"{"complete":{"id":"T1.1"}}"#,
            r#"{"fail":{"id":"T1.1","reason":"망","retry":true}}"#,
            r#"{"force_complete":{"id":"T1.1","by":"person","reason":null}}"#,
            r#"{"force_complete":{"id":"T1.1","by":"agent","reason":"so"}}"#,
            r#"{"retry":{"id":"T1.1"}}"#,
            r#"{"lost":{"gone":["T1.1","T1.2"]}}"#,
            r#"{"phase_finish":{"phase":1,"end":{"merged":{"commit":"9f8e7d6"}},"worktree":"w"}}"#,
            r#"{"phase_finish":{"phase":1,"end":"no_git","worktree":null}}"#,
            r#"{"phase_finish":{"phase":1,"end":"checks_red","worktree":null}}"#,
            r#"{"phase_finish":{"phase":1,"end":"conflict","worktree":null}}"#,
            r#"{"set_worktree":{"path":null}}"#,
        ];
        for shape in shapes {
            let text = format!(r#"{{"at":"2026-05-04T09:00:00Z","do":{shape}}}"#);
            let step: RecordedStep = serde_json::from_str(&text).unwrap();
            assert_eq!(step.at, Timestamp(1_777_885_200));
            assert_eq!(serde_json::to_string(&step).unwrap(), text);
        }
    }

    #[test]
    fn what_is_not_wholly_understood_is_no_step() {
        for text in [
            r#"{"at":"2026-05-04T09:00:00Z","do":{"start":{"id":"T1.1","on":"quay-2"}}}"#,
            r#"{"at":"2026-05-04T09:00:00Z","do":{"fly":{"id":"T1.1"}}}"#,
            r#"{"at":"soon","do":{"start":{"id":"T1.1"}}}"#,
            r#"{"at":"2026-05-04T09:00:00Z","do":{"start":{"id":"T1.1"}},"by":"me"}"#,
        ] {
            assert!(
                serde_json::from_str::<RecordedStep>(text).is_err(),
                "{text}"
            );
        }
    }
}
