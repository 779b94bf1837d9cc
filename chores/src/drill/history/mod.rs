//! Everything that writes, at once: no acknowledged transition goes without the history saying who took it.
//!
//! Each round works in a folder of its own that has a memory, a thinking run and a develop run. Many processes change
//! them; some are killed, some are stopped for a while, some have a disk that waits before every operation. Meanwhile
//! editors write around the lock, and people undo, restore and repair. Then [`check`] holds all answers against the
//! journals. A round is short enough for the journals to hold all of it.

mod check;
mod editors;
mod operations;
#[cfg(test)]
mod tests;
mod writer;

use super::common::{Random, as_person, pause};
use bowline_engine::statefiles::{FileLayout, StateFile, kind};
use check::Story;
use operations::{DEVELOP, FILES, Operation, TASK_HISTORY};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::{Scratch, bowline};

pub(crate) use writer::run as writer;

/// What to do.
pub(crate) struct Plan {
    pub(crate) operations: usize,
    pub(crate) processes: usize,
    /// The seed of the first round; each later one has one more.
    pub(crate) seed: u64,
    /// Does not end with the first round in which something is found.
    pub(crate) keep_going: bool,
}

/// Operations of one round.
const ROUND_OPERATIONS: usize = 1_000;
/// A kill or a stop comes within this time: the length of a whole command and some more.
const MOMENT_MICROS_MAX: u64 = 40_000;
/// The same for a command whose disk is slow.
const SLOW_MOMENT_MICROS_MAX: u64 = 250_000;
/// A stopped process goes on within this time.
const STOPPED_MICROS_MAX: u64 = 60_000;
/// Violations of one round that are told in full.
const TOLD_MAX: usize = 12;

/// One operation, and what came of it.
struct Done {
    number: usize,
    words: String,
    manner: &'static str,
    /// Its token is in the document, once it is acknowledged.
    marked: bool,
    answer: Answer,
}

enum Answer {
    /// A transition under this number.
    Acknowledged {
        file: &'static str,
        sequence: u64,
        to: String,
    },
    /// Something that has no number of its own: a repair, a copy, a pruning.
    Well,
    Refused(String),
    Locked,
    Killed,
    Edited,
    /// An editor found nothing it could edit.
    Idle,
    /// An answer that no operation should have.
    Odd(String),
}

/// What happened, over all rounds.
#[derive(Default)]
struct Counts {
    all: BTreeMap<&'static str, usize>,
    /// Refusals by their code.
    refused: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, what: &'static str, count: usize) {
        *self.all.entry(what).or_default() += count;
    }

    fn get(&self, what: &str) -> usize {
        self.all.get(what).copied().unwrap_or_default()
    }
}

pub(crate) fn run(plan: &Plan) -> Outcome {
    let bowline = bowline()?;
    let rounds = plan.operations.div_ceil(ROUND_OPERATIONS);
    let begun = Instant::now();
    let mut counts = Counts::default();
    let mut violations = 0;
    for number in 0..rounds {
        let seed = plan.seed + number as u64;
        let left = plan.operations - number * ROUND_OPERATIONS;
        let round = Round::new(&bowline, seed, left.min(ROUND_OPERATIONS))?;
        let wrong = round.run(plan.processes, &mut counts)?;
        violations += wrong.len();
        if wrong.is_empty() {
            drop(std::fs::remove_dir_all(&round.scratch));
        } else {
            tell(&wrong, &round, plan);
        }
        print!(
            "\rround {}/{rounds}, {} operations, {violations} violations, {:.0} s ",
            number + 1,
            counts.get("operations"),
            begun.elapsed().as_secs_f64()
        );
        // A progress line that cannot be shown stops nothing.
        let _ = std::io::stdout().flush();
        if violations > 0 && !plan.keep_going {
            break;
        }
    }
    println!();
    println!(
        "{}; refused: {}; {violations} violations; {:.1} s",
        told(&counts.all),
        told(&counts.refused),
        begun.elapsed().as_secs_f64()
    );
    let refused = ["needs_person", "person_not_shown"];
    if refused
        .iter()
        .any(|code| counts.refused.contains_key(*code))
    {
        return Err(
            "a person's moves were refused: without them the drill shows a part only".into(),
        );
    }
    match (violations, counts.get("acknowledged")) {
        (0, 0) => Err("nothing was acknowledged: the drill showed nothing".into()),
        (0, _) => Ok(()),
        (count, _) => Err(format!("{count} violations")),
    }
}

fn told<K: Display>(counts: &BTreeMap<K, usize>) -> String {
    let told: Vec<String> = counts
        .iter()
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    told.join(", ")
}

fn tell(wrong: &[String], round: &Round, plan: &Plan) {
    let all = round.scratch.join("violations.txt");
    println!();
    for text in wrong.iter().take(TOLD_MAX) {
        println!("VIOLATION {text}");
    }
    if wrong.len() > TOLD_MAX && std::fs::write(&all, wrong.join("\n")).is_ok() {
        println!("and {} more in {}", wrong.len() - TOLD_MAX, all.display());
    }
    println!(
        "{} violations; again, as far as chance goes: cargo xtask drill history --operations {} --processes {} --seed {}\n\
         kept for a look: {}",
        wrong.len(),
        round.operations,
        plan.processes,
        round.seed,
        round.scratch.display()
    );
}

/// One folder, and what is done to it.
struct Round {
    bowline: PathBuf,
    me: PathBuf,
    scratch: PathBuf,
    folder: PathBuf,
    seed: u64,
    operations: usize,
    /// The last transition heard of, by file.
    latest: Mutex<BTreeMap<&'static str, u64>>,
}

impl Round {
    fn new(bowline: &Path, seed: u64, operations: usize) -> Outcome<Self> {
        let scratch = Scratch::new(&format!("history-{seed}"))?;
        let round = Round {
            bowline: bowline.to_owned(),
            me: std::env::current_exe().map_err(|error| error.to_string())?,
            scratch: scratch.0.clone(),
            folder: scratch.0.join("work"),
            seed,
            operations,
            latest: Mutex::default(),
        };
        // Removed by hand, when there is nothing to look at.
        std::mem::forget(scratch);
        let policy = "[develop.gates.review_clean_pass]\nrun = \"true\"\n\n\
                      [develop.gates.architect_verified]\nrun = \"true\"\n";
        std::fs::create_dir_all(&round.folder)
            .and_then(|()| std::fs::write(round.folder.join("bowline.toml"), policy))
            .map_err(|error| error.to_string())?;
        for line in [
            "memory init",
            "memory agent set agent-0 preferences.log []",
            "memory agent set agent-1 preferences.log []",
            "thinking new drill --title drill",
            "thinking start planning",
            "develop start drill",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let output = round.output(&words)?;
            if !output.status.success() {
                let talk = String::from_utf8_lossy(&output.stdout);
                return Err(format!("{line}: {talk}"));
            }
        }
        Ok(round)
    }

    /// The surroundings of every process of the round.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        as_person(&mut command)
            .current_dir(&self.folder)
            .env_remove("BOWLINE_WORKSPACE")
            .env("XDG_STATE_HOME", self.scratch.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn output(&self, words: &[&str]) -> Outcome<Output> {
        self.command(&self.bowline)
            .arg("--json")
            .args(words)
            .output()
            .map_err(|error| error.to_string())
    }

    /// Does everything and looks. Returns what is wrong.
    fn run(&self, processes: usize, counts: &mut Counts) -> Outcome<Vec<String>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..processes {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        if number >= self.operations {
                            return;
                        }
                        let one = self.one(number);
                        if let Ok(mut done) = done.lock() {
                            done.push(one);
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_by_key(|one| one.number);
        tally(&done, counts);
        self.judge(&done, counts)
    }

    /// One operation. Everything about it but its moment is told by its number.
    fn one(&self, number: usize) -> Done {
        // Numbers near each other must not choose alike.
        let mut random =
            Random(((self.seed << 32) | (number as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..3 {
            random.below(2);
        }
        let done = |words: String, manner, marked, answer| Done {
            number,
            words,
            manner,
            marked,
            answer,
        };
        match operations::choose(number, &mut random) {
            Operation::Edit { file, edit } => {
                let words = format!("{edit:?} edit of {file}");
                let backup = self.beside(file, "bak");
                let path = self.folder.join(file);
                let answer = match editors::edit(&path, &backup, edit, number, &mut random) {
                    Ok(true) => Answer::Edited,
                    Ok(false) => Answer::Idle,
                    Err(error) => Answer::Odd(error.to_string()),
                };
                done(words, "editor", false, answer)
            }
            Operation::Restore { file, back } => {
                let latest = self.latest.lock().ok();
                let latest = latest.and_then(|latest| latest.get(file).copied());
                let sequence = latest.unwrap_or(1).saturating_sub(back).max(1);
                let line = format!("restore {file} {sequence} --state-only");
                let words: Vec<&str> = line.split(' ').collect();
                let (manner, answer) = self.process(&words, &mut random);
                done(line, manner, false, answer)
            }
            Operation::Verb { words, marked } => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                if let ["thinking", "output", _, name] = words.as_slice() {
                    // Without it the stage could not be completed.
                    let _ = std::fs::write(self.folder.join(name), "");
                }
                let (manner, answer) = self.process(&words, &mut random);
                done(words.join(" "), manner, marked, answer)
            }
        }
    }

    /// Runs a command line as a process, to its end or to its death.
    fn process(&self, words: &[&str], random: &mut Random) -> (&'static str, Answer) {
        let slow = writer::knows(words) && random.below(5) == 0;
        let mut command = if slow {
            let mut command = self.command(&self.me);
            let seed = random.below(u64::MAX).max(1);
            command.arg("drill-history-writer").arg(seed.to_string());
            command
        } else {
            let mut command = self.command(&self.bowline);
            command.arg("--json");
            command
        };
        let child = command.args(words).spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => return ("started", Answer::Odd(error.to_string())),
        };
        let longest = match slow {
            true => SLOW_MOMENT_MICROS_MAX,
            false => MOMENT_MICROS_MAX,
        };
        let moment = Duration::from_micros(random.below(longest));
        let fate = match random.below(10) {
            0 | 1 => Fate::Kill,
            2 => Fate::Stop(Duration::from_micros(random.below(STOPPED_MICROS_MAX))),
            _ => Fate::Live,
        };
        fate.fulfil(&mut child, moment);
        let manner = match (slow, &fate) {
            (false, Fate::Live) => "plain",
            (true, Fate::Live) => "delayed",
            (false, Fate::Stop(_)) => "stopped",
            (true, Fate::Stop(_)) => "delayed, stopped",
            (false, Fate::Kill) => "to be killed",
            (true, Fate::Kill) => "delayed, to be killed",
        };
        let answer = match child.wait_with_output() {
            Ok(output) => self.answer(&output, matches!(fate, Fate::Kill)),
            Err(error) => Answer::Odd(error.to_string()),
        };
        (manner, answer)
    }

    fn answer(&self, output: &Output, kill: bool) -> Answer {
        let odd = || {
            let (answer, talk) = (&output.stdout, &output.stderr);
            let (answer, talk) = (
                String::from_utf8_lossy(answer),
                String::from_utf8_lossy(talk),
            );
            Answer::Odd(format!("{}: {answer} {talk}", output.status))
        };
        let Some(code) = output.status.code() else {
            return if kill { Answer::Killed } else { odd() };
        };
        let Ok(told) = serde_json::from_slice::<Value>(&output.stdout) else {
            return odd();
        };
        let error = &told["error"];
        match (code, error["code"].as_str()) {
            (0 | 4, None) if told["sequence"].is_null() => Answer::Well,
            (0, None) => {
                let path = told["path"].as_str().unwrap_or_default();
                let file = FILES.iter().find(|file| path.ends_with(**file));
                let (Some(&file), Some(sequence)) = (file, told["sequence"].as_u64()) else {
                    return odd();
                };
                if let Ok(mut latest) = self.latest.lock() {
                    let latest = latest.entry(file).or_default();
                    *latest = sequence.max(*latest);
                }
                Answer::Acknowledged {
                    file,
                    sequence,
                    to: told["to"].as_str().unwrap_or_default().to_owned(),
                }
            }
            (0 | 5, Some("locked" | "contended")) => Answer::Locked,
            (0, Some(_)) if error["failed"] == true => odd(),
            (0..=4, Some(code)) => Answer::Refused(code.to_owned()),
            _ => odd(),
        }
    }

    /// The companion of a state file: its backup or journal.
    fn beside(&self, file: &str, what: &str) -> PathBuf {
        let path = self.folder.join(file);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.side(file).join(format!("{name}.{what}"))
    }

    /// The folder in which the companions of a state file are.
    fn side(&self, file: &str) -> PathBuf {
        if file == DEVELOP {
            // One project, and so one folder.
            let all = self.scratch.join("state/bowline/develop");
            let mut entries = std::fs::read_dir(all).into_iter().flatten().flatten();
            if let Some(entry) = entries.next() {
                return entry.path();
            }
        }
        let path = self.folder.join(file);
        path.parent().unwrap_or(&self.folder).to_owned()
    }

    /// Repairs what is left, and holds every answer against the histories.
    fn judge(&self, done: &[Done], counts: &mut Counts) -> Outcome<Vec<String>> {
        let mut wrong: Vec<String> = Vec::new();
        for one in done {
            if let Answer::Odd(answer) = &one.answer {
                let (number, words, manner) = (one.number, &one.words, one.manner);
                wrong.push(format!("operation {number} `{words}` ({manner}): {answer}"));
            }
        }
        let places: Vec<(PathBuf, StateFile)> = FILES
            .iter()
            .map(|name| {
                let path = self.folder.join(name);
                let layout = FileLayout::new(&path).with_side_folder(self.side(name));
                (path, StateFile::new(layout))
            })
            .collect();
        let read = || {
            let all = FILES.iter().zip(&places);
            let all =
                all.map(|(name, (path, file))| Story::read(name, path, file, self.operations));
            all.collect::<Outcome<Vec<Story<'_>>>>()
        };
        let task_history = FILES.iter().position(|name| *name == TASK_HISTORY);
        // Where the doctor is silent, nothing is missing.
        let report = self.output(&["doctor"])?;
        let report: Value =
            serde_json::from_slice(&report.stdout).map_err(|error| error.to_string())?;
        let before = read()?;
        let past = task_history.and_then(|at| before.get(at));
        for story in &before {
            let named = findings_of(&report, story.name());
            wrong.extend(story.unnamed(done, past, &named)?);
        }
        self.output(&["doctor", "--repair"])?;
        let after = self.output(&["doctor"])?;
        if !after.status.success() {
            let after = String::from_utf8_lossy(&after.stdout);
            wrong.push(format!("doctor after doctor --repair: {after}"));
        }
        let stories = read()?;
        let past = task_history.and_then(|at| stories.get(at));
        for story in &stories {
            wrong.extend(story.violations(done, past)?);
            let listed = self.output(&["history", story.name()])?;
            wrong.extend(story.unlisted(done, &String::from_utf8_lossy(&listed.stdout)));
            for (what, line) in [
                ("outside edits adopted", kind::OUTSIDE),
                ("undone", "UNDO"),
                ("restored", "RESTORE"),
                ("repaired", "REPAIR"),
                ("damage repaired", kind::REPAIR),
            ] {
                counts.add(what, story.count(line));
            }
        }
        Ok(wrong)
    }
}

/// What a report of the doctor says of a file.
fn findings_of(report: &Value, file: &str) -> String {
    let mut all = report["files"].as_array().into_iter().flatten();
    let found = all.find(|one| {
        one["path"]
            .as_str()
            .is_some_and(|path| path.ends_with(file))
    });
    found.map_or_else(String::new, |one| {
        format!("{}{}", one["findings"], one["error"])
    })
}

/// What becomes of a process.
enum Fate {
    Live,
    Kill,
    Stop(Duration),
}

impl Fate {
    fn fulfil(&self, child: &mut Child, moment: Duration) {
        if matches!(self, Fate::Live) {
            return;
        }
        pause(moment);
        // A process that is over already is not there to be killed or stopped, and that is as good.
        match self {
            Fate::Live => {}
            Fate::Kill => drop(child.kill()),
            Fate::Stop(time) => {
                let pid = Pid::from_child(child);
                if kill_process(pid, Signal::STOP).is_ok() {
                    pause(*time);
                    let _ = kill_process(pid, Signal::CONT);
                }
            }
        }
    }
}

fn tally(done: &[Done], counts: &mut Counts) {
    counts.add("operations", done.len());
    for one in done {
        let what = match &one.answer {
            Answer::Acknowledged { .. } => "acknowledged",
            Answer::Well => "well",
            Answer::Refused(code) => {
                *counts.refused.entry(code.clone()).or_default() += 1;
                "refused"
            }
            Answer::Locked => "locked out",
            Answer::Killed => "killed",
            Answer::Edited => "outside edits",
            Answer::Idle => "edits of nothing",
            Answer::Odd(_) => "odd answers",
        };
        counts.add(what, 1);
        counts.add("stopped", usize::from(one.manner.contains("stopped")));
        counts.add("delayed", usize::from(one.manner.contains("delayed")));
    }
}
