//! Many processes on one file: every acknowledged update is in the file and the journal, and no reader sees it torn.
//!
//! An update is `bowline thinking output planning N.md`, which adds one path to a list; acknowledged means exit code 0.
//! With a foreign writer, somebody also edits the file without the lock (read, `tmp`, `mv`), and `doctor --repair` must
//! bring back what that lost. With kills, writers are killed at random moments.

use super::field::{Field, Problems, Random, kept_if_wrong, pause, work_at_once};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use xtask::Outcome;
use xtask::shell::{Scratch, bowline};

/// What to do.
pub(crate) struct Plan {
    pub(crate) processes: usize,
    pub(crate) updates: usize,
    pub(crate) foreign: bool,
    pub(crate) kills: bool,
}

#[derive(Default)]
struct Tally {
    acknowledged: Mutex<Vec<String>>,
    locked: AtomicUsize,
    killed: AtomicUsize,
    warned: AtomicUsize,
    reads: AtomicUsize,
    edits: AtomicUsize,
    problems: Problems,
}

/// The one file of this drill.
fn state_file(field: &Field) -> PathBuf {
    field.folder.join("thinking_state.json")
}

pub(crate) fn run(plan: &Plan) -> Outcome {
    let scratch = Scratch::new("hammer")?;
    let field = Field {
        bowline: bowline()?,
        folder: scratch.0.clone(),
    };
    field.run(&["thinking", "new", "hammer", "--title", "hammer"])?;
    field.run(&["thinking", "start", "planning"])?;
    let tally = Tally::default();
    let next = AtomicUsize::new(0);
    let seconds = work_at_once(
        plan.processes,
        |seed| write(plan, &field, &tally, &next, seed),
        &[&|done| read(&field, &tally, done), &|done| {
            if plan.foreign {
                edit(&field, &tally, done);
            }
        }],
    );
    kept_if_wrong(scratch, judge(plan, &field, &tally, seconds))
}

fn write(plan: &Plan, field: &Field, tally: &Tally, next: &AtomicUsize, seed: usize) {
    let mut random = Random(seed as u64 + 1);
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        if number >= plan.updates {
            return;
        }
        let name = format!("{number}.md");
        let killed = plan.kills && random.below(3) == 0;
        let after = killed.then(|| Duration::from_micros(random.below(12_000)));
        let output = match field.run_or_kill(&["thinking", "output", "planning", &name], after) {
            Ok(output) => output,
            Err(error) => return tally.problems.add(error),
        };
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        if talk.contains("lost_transition") {
            tally.warned.fetch_add(1, Ordering::SeqCst);
        }
        match output.status.code() {
            Some(0) => {
                if let Ok(mut acknowledged) = tally.acknowledged.lock() {
                    acknowledged.push(name);
                }
            }
            Some(5) => drop(tally.locked.fetch_add(1, Ordering::SeqCst)),
            None if killed => drop(tally.killed.fetch_add(1, Ordering::SeqCst)),
            other => tally.problems.add(format!("{name}: {other:?} {talk}")),
        }
    }
}

/// Reads as a stranger would (`cat`), and as a user would (`bowline status`).
fn read(field: &Field, tally: &Tally, done: &AtomicBool) {
    while !done.load(Ordering::SeqCst) {
        for _ in 0..20 {
            match std::fs::read_to_string(state_file(field)) {
                Ok(text) => {
                    tally.reads.fetch_add(1, Ordering::SeqCst);
                    if let Err(error) = serde_json::from_str::<Value>(&text) {
                        tally.problems.add(format!("torn file: {error}"));
                    }
                }
                Err(error) => tally.problems.add(format!("file unreadable: {error}")),
            }
            pause(Duration::from_millis(1));
        }
        if let Err(error) = field.run(&["status", "--json"]) {
            tally.problems.add(error);
        }
    }
}

/// Somebody who takes no lock: reads, changes the goal, writes a temporary file and moves it into place.
fn edit(field: &Field, tally: &Tally, done: &AtomicBool) {
    let temporary = field.folder.join("somebody.tmp");
    while !done.load(Ordering::SeqCst) {
        let edited = std::fs::read_to_string(state_file(field))
            .ok()
            .and_then(|text| {
                let mut value: Value = serde_json::from_str(&text).ok()?;
                value["goal"] = Value::from(format!("edit {}", tally.edits.load(Ordering::SeqCst)));
                Some(serde_json::to_string_pretty(&value).unwrap_or(text))
            });
        // The longer the pause between reading and moving, the more updates of others are overwritten.
        pause(Duration::from_millis(15));
        if let Some(text) = edited
            && std::fs::write(&temporary, text).is_ok()
            && std::fs::rename(&temporary, state_file(field)).is_ok()
        {
            tally.edits.fetch_add(1, Ordering::SeqCst);
        }
        pause(Duration::from_millis(120));
    }
}

fn judge(plan: &Plan, field: &Field, tally: &Tally, seconds: f64) -> Outcome {
    let acknowledged: BTreeSet<String> = tally
        .acknowledged
        .lock()
        .map(|names| names.iter().cloned().collect())
        .unwrap_or_default();
    let problems = &tally.problems;
    let before = missing(&acknowledged, &outputs(&state_file(field))?);
    if plan.foreign {
        let diagnosis = field
            .command(&["doctor", "--json"])
            .output()
            .map_err(|error| error.to_string())?;
        let told = String::from_utf8_lossy(&diagnosis.stdout).contains("lost_transition");
        if !before.is_empty() && !told {
            problems.add(format!(
                "{} updates are gone and doctor does not say so",
                before.len()
            ));
        }
        field.run(&["doctor", "--repair"])?;
    }
    let after = missing(&acknowledged, &outputs(&state_file(field))?);
    if !after.is_empty() {
        problems.add(format!(
            "{} acknowledged updates are not in the file: {after:?}",
            after.len()
        ));
    }
    let history = field.run(&["history", "--json"])?;
    let unlogged = acknowledged
        .iter()
        .filter(|name| !history.contains(&format!("[\"{name}\"]")))
        .count();
    if unlogged > 0 {
        problems.add(format!(
            "{unlogged} acknowledged updates are not in the journal"
        ));
    }
    let outside = history.matches("OUTSIDE_EDIT").count();
    if !plan.foreign && outside > 0 {
        problems.add(format!(
            "{outside} of our own writes were taken for outside edits"
        ));
    }
    let left: Vec<String> = leftovers(&field.folder);
    if !left.is_empty() && !plan.kills {
        problems.add(format!("left behind: {}", left.join(", ")));
    }
    field.run(&["doctor"])?;
    println!(
        "{} of {} updates acknowledged by {} processes in {seconds:.1} s; {} locked out, {} killed; {} reads, none torn; \
         {} foreign edits, {outside} adopted, {} updates overwritten by them, {} still missing after doctor --repair",
        acknowledged.len(),
        plan.updates,
        plan.processes,
        tally.locked.load(Ordering::SeqCst),
        tally.killed.load(Ordering::SeqCst),
        tally.reads.load(Ordering::SeqCst),
        tally.edits.load(Ordering::SeqCst),
        before.len(),
        after.len(),
    );
    if acknowledged.is_empty() {
        problems.add("nothing was acknowledged: the drill showed nothing");
    }
    problems.verdict()
}

fn outputs(file: &Path) -> Outcome<BTreeSet<String>> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let list = value["stages"]["planning"]["outputs"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    Ok(list
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect())
}

fn missing(acknowledged: &BTreeSet<String>, present: &BTreeSet<String>) -> Vec<String> {
    acknowledged.difference(present).cloned().collect()
}

/// Temporary and lock files that should be gone.
fn leftovers(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.contains(".lock") || name.contains("tmp"))
        .filter(|name| name != "somebody.tmp")
        .collect()
}
