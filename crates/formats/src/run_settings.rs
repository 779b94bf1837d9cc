//! The tables of `bowline.toml` that are about runs of agents on state files. [`crate::settings`] reads them with all others.

use crate::settings::{Seconds, from_zero};
use serde::Deserialize;

/// The table `[orchestrate]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Orchestrate {
    /// Commands that must end with 0 before a phase is merged.
    pub checks: Vec<Vec<String>>,
    /// A command that must end with 0 before a task counts as done.
    pub evidence: Vec<String>,
    /// `normal`, `ultra-thin` or `ralph`.
    pub mode: Option<String>,
    /// Tasks at once; 0 sets no limit.
    pub max_parallel: Option<u32>,
    /// Runs of one task in all.
    pub retry_limit: Option<u32>,
    /// What an agent prints in mode ralph when it is done.
    pub completion_promise: Option<String>,
    /// Repetitions of one task in mode ralph.
    pub max_iterations: Option<u32>,
    /// Wait before a failed task is tried again; doubled each time.
    #[serde(deserialize_with = "from_zero")]
    pub backoff: Option<Seconds>,
    /// Ignored files and folders that every worktree gets as links.
    pub link: Vec<String>,
    /// The same as copies.
    pub copy: Vec<String>,
    /// A command run in every new worktree.
    pub setup: Vec<String>,
    /// Files that a command makes anew wherever two sides changed them.
    pub regenerate: Vec<Regenerate>,
    /// Ports of every worktree.
    pub ports: Option<u16>,
    /// The first port that may be leased.
    pub first_port: Option<u16>,
    /// What must be free before an agent is begun.
    pub free: Free,
    /// How work lands.
    pub land: Landing,
    /// Tasks begin on work that has not landed yet.
    pub stack: bool,
    /// How pull requests are made and looked at.
    pub pull_request: PullRequest,
}

/// How work lands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Landing {
    /// Onto the branch of its phase.
    #[default]
    Branch,
    /// By pull request: those who host the repository decide.
    #[serde(rename = "pr")]
    PullRequest,
}

/// Files that are never merged: a command makes them from the rest of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regenerate {
    /// The files, from the root of the project.
    pub files: Vec<String>,
    /// The command.
    pub command: Vec<String>,
}

/// What must be free before an agent is begun; nothing said is the usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Free {
    /// Memory, in megabytes.
    pub memory_mb: Option<u64>,
    /// Disk, in megabytes.
    pub disk_mb: Option<u64>,
    /// Files that can still be made.
    pub inodes: Option<u64>,
}

/// The table `[orchestrate.pull_request]`: the commands of whoever hosts the repository. Those of GitHub where nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullRequest {
    /// Where branches are pushed to.
    pub remote: Option<String>,
    /// Makes one.
    pub create: Vec<String>,
    /// Prints how one is doing, as `gh pr view --json` does.
    pub view: Vec<String>,
    /// Prints what reviewers say of single lines, as the list of GitHub's interface does.
    pub remarks: Vec<String>,
    /// Prints what a check that failed said.
    pub logs: Vec<String>,
    /// Between two looks.
    pub every: Option<Seconds>,
}

/// The table `[thinking]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thinking {
    /// A stage that runs longer fails.
    pub stage_timeout: Option<Seconds>,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn rooms_and_landings_are_read() {
        let text = "[orchestrate]\nports = 2\nfirst_port = 30000\nland = \"pr\"\nstack = true\n\
                    regenerate = [{ files = [\"Cargo.lock\"], command = [\"cargo\", \"metadata\"] }]\n\
                    [orchestrate.free]\ndisk_mb = 1\n[orchestrate.pull_request]\nremote = \"fork\"\nevery = \"5s\"\n";
        let run = Settings::read(text).unwrap().orchestrate;
        assert_eq!((run.ports, run.first_port), (Some(2), Some(30_000)));
        assert_eq!((run.land, run.stack), (Landing::PullRequest, true));
        assert_eq!(run.regenerate[0].files, ["Cargo.lock"]);
        assert_eq!(run.free.disk_mb, Some(1));
        assert_eq!(run.pull_request.remote.as_deref(), Some("fork"));
        assert_eq!(run.pull_request.every, Some(Seconds(5)));
        let wrong = Settings::read("[orchestrate]\nland = \"air\"").unwrap_err();
        assert!(wrong.to_string().contains("air"), "{wrong}");
    }
}
