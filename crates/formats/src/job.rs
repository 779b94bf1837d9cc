//! The effects of a job as the store keeps them until they are done.
//!
//! The job itself is stored in the form that `machines` gives it.
//!
//! Unknown keys are ignored. A key that later versions added has a default, so that a program and
//! the one before it read each other's texts.

use bowline_machines::job::{Event, Level, Message, SnapshotReason, SpawnFrom};
use bowline_machines::named;
use serde::{Deserialize, Serialize};

named! {
    /// An effect that follows a step, as the store keeps it until it is carried out.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Carry {
        /// Starts a process.
        #[serde(rename = "spawn")]
        Spawn {
            /// Number of the attempt.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// The point at which it begins.
            #[serde(rename = "from")]
            from: SpawnFrom,
        } = "spawn",
        /// Brings a process to a level.
        #[serde(rename = "signal")]
        Signal {
            /// Number of the attempt.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            #[serde(rename = "want")]
            want: Level,
        } = "signal",
        /// Writes to a process.
        #[serde(rename = "tell")]
        Tell {
            /// Number of the attempt.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// Number of the message within the attempt, from 1; the first one is its prompt.
            #[serde(rename = "number", default)]
            number: u64,
            #[serde(rename = "say", default)]
            say: Vec<Message>,
        } = "tell",
        /// Interrupts a process.
        #[serde(rename = "interrupt")]
        Interrupt {
            /// Number of the attempt.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// Number among the messages of the attempt; 0 if it is none of them.
            #[serde(rename = "number", default)]
            number: u64,
        } = "interrupt",
        /// Saves a checkpoint.
        #[serde(rename = "snapshot")]
        Snapshot(SnapshotReason) = "snapshot",
        /// Verifies a phase.
        #[serde(rename = "verify")]
        Verify {
            /// Number of the verification.
            #[serde(rename = "verification", default)]
            verification: u32,
            /// Number of the phase, from 1.
            #[serde(rename = "phase", default)]
            phase: u32,
        } = "verify",
        /// Notifies people.
        #[serde(rename = "notify")]
        Notify(Event) = "notify",
        /// Packs the deliverables into a ZIP file.
        #[serde(rename = "zip_artifacts")]
        ZipArtifacts = "zip_artifacts",
        /// Keeps the whole error log.
        #[serde(rename = "save_error_log")]
        SaveErrorLog = "save_error_log",
        /// Removes the files of the job.
        #[serde(rename = "remove")]
        Remove = "remove",
    }
}
