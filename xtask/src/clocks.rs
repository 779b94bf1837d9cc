//! The newcomer's clocks: how long the commands of README take in a fresh clone, with nothing built.

use std::process::Command;
use std::time::Instant;
use xtask::shell::{Scratch, command, root};
use xtask::{Outcome, shell};

/// What a newcomer types, and what it may take on two quiet cores.
const CLOCKS: [(&str, &[&str], f64); 2] = [
    ("the demo, to its end", &["xtask", "demo", "--check"], 4.0),
    ("the whole test command", &["xtask", "test"], 25.0),
];

/// Clones the last commit, and runs each command in a clone of its own. Packages that cargo and npm have fetched are kept.
pub(crate) fn run() -> Outcome {
    let mut told = Vec::new();
    for (name, words, minutes_max) in CLOCKS {
        let scratch = Scratch::new("clocks")?;
        let clone = scratch.0.join("bowline");
        let from = root();
        let mut git = command("git", &["clone", "--quiet"]);
        shell::step(&format!("{name}: a fresh clone"), git.arg(from).arg(&clone))?;
        let mut fresh = Command::new(shell::cargo());
        fresh.args(words).current_dir(&clone);
        for inherited in ["CARGO_TARGET_DIR", "CARGO_MANIFEST_DIR"] {
            fresh.env_remove(inherited);
        }
        let begun = Instant::now();
        shell::step(name, &mut fresh)?;
        let minutes = begun.elapsed().as_secs_f64() / 60.0;
        let kept = if minutes <= minutes_max {
            "PASS"
        } else {
            "OVER BOUND"
        };
        told.push(format!(
            "{name}: {minutes:.1} min of {minutes_max:.0}: {kept}"
        ));
    }
    println!("\n{}", told.join("\n"));
    Ok(())
}
