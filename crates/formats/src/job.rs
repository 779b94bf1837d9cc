//! The effects of a job as the store keeps them until they are done. The job itself is stored in the
//! form that `machines` gives it.
//!
//! Unknown keys are ignored. A key that later versions added has a default, so that a program and
//! the one before it read each other's texts.

use bowline_machines::job::{Event, Level, Message, SnapshotReason, SpawnFrom};
use bowline_machines::named;
use serde::{Deserialize, Serialize};

named! {
    /// What has to be carried out after a step, as it is kept until it is done.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Carry {
        /// Start a process.
        #[serde(rename = "spawn")]
        Spawn {
            /// Its number.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// Where it begins.
            #[serde(rename = "from")]
            from: SpawnFrom,
        } = "spawn",
        /// Bring a process to a level.
        #[serde(rename = "signal")]
        Signal {
            /// Which process.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// The level.
            #[serde(rename = "want")]
            want: Level,
        } = "signal",
        /// Write to a process.
        #[serde(rename = "tell")]
        Tell {
            /// Which process.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// Numbers the messages of the attempt, from 1; the first one is its prompt.
            #[serde(rename = "number", default)]
            number: u64,
            /// What.
            #[serde(rename = "say", default)]
            say: Vec<Message>,
        } = "tell",
        /// Interrupt a process.
        #[serde(rename = "interrupt")]
        Interrupt {
            /// Which process.
            #[serde(rename = "attempt", default)]
            attempt: u32,
            /// Its number among the messages of the attempt; 0 where it is none.
            #[serde(rename = "number", default)]
            number: u64,
        } = "interrupt",
        /// Save a checkpoint.
        #[serde(rename = "snapshot")]
        Snapshot(SnapshotReason) = "snapshot",
        /// Check a phase.
        #[serde(rename = "verify")]
        Verify {
            /// The ticket.
            #[serde(rename = "verification", default)]
            verification: u32,
            /// The phase, from 1.
            #[serde(rename = "phase", default)]
            phase: u32,
        } = "verify",
        /// Tell people.
        #[serde(rename = "notify")]
        Notify(Event) = "notify",
        /// Pack the deliverables.
        #[serde(rename = "zip_artifacts")]
        ZipArtifacts = "zip_artifacts",
        /// Keep the whole error log.
        #[serde(rename = "save_error_log")]
        SaveErrorLog = "save_error_log",
        /// Remove what belongs to the job on the disk.
        #[serde(rename = "remove")]
        Remove = "remove",
    }
}
