//! Cleanup of what runs leave behind: attempts that ended long ago, and their prompts and results.

use bowline_engine::agents::AgentAttempts;
use std::path::Path;

/// Folder of attempts in a run's folder.
pub const ATTEMPTS_FOLDER: &str = "attempts";
/// Folder of prompts, one file per attempt.
pub const PROMPTS_FOLDER: &str = "prompts";
/// Folder of results, one file per attempt.
pub const RESULTS_FOLDER: &str = "results";

/// Removes old attempts, prompts and results from a run's folder. Attempts whose id `needs` accepts
/// stay.
pub fn remove_old_attempts(place: &Path, needs: &dyn Fn(&str) -> bool) {
    let attempts = place.join(ATTEMPTS_FOLDER);
    AgentAttempts::in_folder(attempts.clone()).forget_old(needs);
    for name in [PROMPTS_FOLDER, RESULTS_FOLDER] {
        let files = std::fs::read_dir(place.join(name)).into_iter().flatten();
        for path in files.flatten().map(|entry| entry.path()) {
            let stem = path.file_stem().unwrap_or_default();
            let lives = attempts.join(stem).exists() || needs(&stem.to_string_lossy());
            if !lives {
                // A file that cannot be removed is tried again by the next run.
                let _ = std::fs::remove_file(&path);
            }
        }
    }
}
