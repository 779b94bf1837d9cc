//! One durable transition through the command line, against a bare replace of the same bytes.

use crate::Outcome;
use crate::measure::{Contender, in_turns, time};
use crate::options::Options;
use crate::report::{Bound, Report};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const RATIO_MAX: f64 = 2.0;
const FILE: &str = "thinking_state.json";

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("transition")?;
    let (ours, bare) = (scratch.path().join("ours"), scratch.path().join("bare"));
    std::fs::create_dir_all(&ours)?;
    std::fs::create_dir_all(&bare)?;
    let bowline = |words: &[&str]| {
        let mut command = Command::new(&options.bowline);
        command.args(words).current_dir(&ours);
        command
    };
    spawn(&mut bowline(&[
        "thinking", "new", "bench", "--title", "Bench", "--goal", "Speed",
    ]))?;
    spawn(&mut bowline(&["thinking", "start", "planning"]))?;
    let bytes = std::fs::read(ours.join(FILE))?;

    let rounds = options.rounds(400, 60);
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|_| spawn(&mut Command::new("/bin/true"))),
        Box::new(|_| replace(&bare, &bytes)),
        Box::new(|_| {
            let started = spawn(&mut Command::new("/bin/true"))?;
            Ok(started + replace(&bare, &bytes)?)
        }),
        Box::new(|_| spawn(&mut bowline(&["--version"]))),
        Box::new(|round| {
            // Another value each time: a transition that changes nothing would not be written.
            let value = format!("completeness=0.{}", 11 + round % 80);
            spawn(&mut bowline(&["thinking", "quality", &value]))
        }),
    ];
    let samples = in_turns(rounds, &mut contenders)?;
    drop(contenders);
    let written = std::fs::read_to_string(ours.join(FILE))?;
    let last = format!("0.{}", 11 + rounds % 80);
    let last = last.trim_end_matches('0');
    if !written.contains(&format!("\"completeness\": {last}")) {
        return Err("the last transition is not in the file".into());
    }

    let floor = samples[2].median_ms();
    let names = [
        "start `/bin/true`",
        "bare write, fsync, rename, fsync of the folder",
        "**floor**: both of these",
        "start `bowline --version` (no file)",
        "**`bowline thinking quality`**: one transition",
    ];
    let rows = names.iter().zip(&samples).map(|(name, samples)| {
        let median = samples.median_ms();
        let slow = samples.quantile(90).as_secs_f64() * 1e3;
        vec![
            (*name).to_owned(),
            format!("{median:.2}"),
            format!("{slow:.2}"),
            format!("{:.2}", median / floor),
        ]
    });
    let ratio = samples[4].median_ms() / floor;
    Ok(Report {
        name: "transition",
        about: format!(
            "One durable transition through the command line, whole process, of a state file of {} bytes: lock, read, \
             decide, journal, replace, and keep the version before. {rounds} rounds in turns.",
            bytes.len()
        ),
        columns: &["", "median ms", "90 % within ms", "of the floor"],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "at most 2 times the floor",
            found: format!("{ratio:.2}"),
            kept: ratio <= RATIO_MAX,
        }),
    })
}

/// Runs a program to its end.
pub(crate) fn spawn(command: &mut Command) -> Outcome<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let (taken, status) = time(|| command.status());
    let status = status?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(taken)
}

/// What every careful program must at least do to replace a file.
fn replace(folder: &Path, bytes: &[u8]) -> Outcome<Duration> {
    let (taken, done) = time(|| -> std::io::Result<()> {
        let fresh = folder.join("fresh");
        let mut file = File::create(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, folder.join(FILE))?;
        File::open(folder)?.sync_all()
    });
    done?;
    Ok(taken)
}
