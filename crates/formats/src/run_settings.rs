//! The tables of `bowline.toml` about runs of agents on state files. [`crate::settings`] parses
//! them with all others.

use crate::settings::{Seconds, from_zero};
use serde::Deserialize;

/// The table `[orchestrate]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrchestrateSettings {
    /// Commands that must exit with 0 before a phase is merged.
    pub checks: Vec<Vec<String>>,
    /// Command that must exit with 0 before a task counts as completed.
    pub evidence: Vec<String>,
    /// Execution mode: `normal`, `ultra-thin` or `ralph`.
    pub mode: Option<String>,
    /// Limit on concurrent tasks; 0 means unlimited.
    pub max_parallel: Option<u32>,
    /// Limit on the attempts of one task.
    pub retry_limit: Option<u32>,
    /// Text that an agent prints in mode ralph when it is finished.
    pub completion_promise: Option<String>,
    /// Limit on the iterations of one task in mode ralph.
    pub max_iterations: Option<u32>,
    /// Delay before a failed task is retried; doubled each time.
    #[serde(deserialize_with = "from_zero")]
    pub backoff: Option<Seconds>,
    /// Ignored files and folders that are linked into every worktree.
    pub link: Vec<String>,
    /// Ignored files and folders that are copied into every worktree.
    pub copy: Vec<String>,
    /// Command run in every new worktree.
    pub setup: Vec<String>,
    /// Files that a command regenerates if two sides changed them.
    pub regenerate: Vec<RegenerateRule>,
    /// Number of ports leased to every worktree.
    pub ports: Option<u16>,
    /// Lowest port that may be leased.
    pub first_port: Option<u16>,
    /// Free resources required before an agent is started.
    pub free: FreeResources,
    /// The way in which finished work is merged.
    pub land: LandingMode,
    /// True if tasks may start on top of work that is not merged yet.
    pub stack: bool,
    /// Commands for pull requests.
    pub pull_request: PullRequestSettings,
}

/// The way in which finished work is merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LandingMode {
    /// Merged onto the branch of its phase.
    #[default]
    Branch,
    /// Merged by pull request on the hosting service.
    #[serde(rename = "pr")]
    PullRequest,
}

/// Files that are never merged: a command makes them from the rest of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegenerateRule {
    /// Paths of the files, relative to the root of the project.
    pub files: Vec<String>,
    /// The command that makes them.
    pub command: Vec<String>,
}

/// Free resources required before an agent is started; absent values have a default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FreeResources {
    /// Free memory in megabytes.
    pub memory_mb: Option<u64>,
    /// Free disk space in megabytes.
    pub disk_mb: Option<u64>,
    /// Number of free inodes.
    pub inodes: Option<u64>,
}

/// The table `[orchestrate.pull_request]`: commands of the hosting service. The defaults are those
/// for GitHub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PullRequestSettings {
    /// Name of the git remote that branches are pushed to.
    pub remote: Option<String>,
    /// Command that opens a pull request.
    pub create: Vec<String>,
    /// Command that prints the state of a pull request, as `gh pr view --json` does.
    pub view: Vec<String>,
    /// Command that prints review comments on single lines, in the list format of GitHub's API.
    pub remarks: Vec<String>,
    /// Command that prints the log of a failed check.
    pub logs: Vec<String>,
    /// Interval between two polls.
    pub every: Option<Seconds>,
}

/// The table `[thinking]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThinkingSettings {
    /// Time limit of a stage; a stage that runs longer fails.
    pub stage_timeout: Option<Seconds>,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;
    use crate::settings::BowlineSettings;

    #[test]
    fn rooms_and_landings_are_read() {
        let text = "[orchestrate]\nports = 2\nfirst_port = 30000\nland = \"pr\"\nstack = true\n\
                    regenerate = [{ files = [\"Cargo.lock\"], command = [\"cargo\", \"metadata\"] }]\n\
                    [orchestrate.free]\ndisk_mb = 1\n[orchestrate.pull_request]\nremote = \"fork\"\nevery = \"5s\"\n";
        let run = BowlineSettings::parse(text).unwrap().orchestrate;
        assert_eq!((run.ports, run.first_port), (Some(2), Some(30_000)));
        assert_eq!((run.land, run.stack), (LandingMode::PullRequest, true));
        assert_eq!(run.regenerate[0].files, ["Cargo.lock"]);
        assert_eq!(run.free.disk_mb, Some(1));
        assert_eq!(run.pull_request.remote.as_deref(), Some("fork"));
        assert_eq!(run.pull_request.every, Some(Seconds(5)));
        let wrong = BowlineSettings::parse("[orchestrate]\nland = \"air\"").unwrap_err();
        assert!(wrong.to_string().contains("air"), "{wrong}");
    }
}
