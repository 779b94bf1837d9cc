//! What runs leave behind: attempts that ended long ago go, by the rule that all attempts have, and their prompts and results with
//! them.

use bowline_engine::agents::Agents;
use std::path::Path;

/// The folders of a run's place.
pub const ATTEMPTS: &str = "attempts";
/// What agents were told, one file for each attempt.
pub const PROMPTS: &str = "prompts";
/// What they handed back.
pub const RESULTS: &str = "results";

/// Takes away what is old in the place of a run. What the run `needs` stays, by the ids of attempts.
pub fn tidy(place: &Path, needs: &dyn Fn(&str) -> bool) {
    let attempts = place.join(ATTEMPTS);
    Agents::in_folder(attempts.clone()).forget_old(needs);
    for name in [PROMPTS, RESULTS] {
        let files = std::fs::read_dir(place.join(name)).into_iter().flatten();
        for path in files.flatten().map(|entry| entry.path()) {
            let stem = path.file_stem().unwrap_or_default();
            let lives = attempts.join(stem).exists() || needs(&stem.to_string_lossy());
            if !lives {
                // One that cannot be removed is met again by the next run.
                let _ = std::fs::remove_file(&path);
            }
        }
    }
}
