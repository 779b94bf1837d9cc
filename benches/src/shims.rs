//! What an agent's shim costs: memory while it lives, time to start, speed of its output.

use crate::Outcome;
use crate::measure::{Contender, Samples, in_turns, time};
use crate::options::Options;
use crate::report::{Bound, Report};
use bowline_supervisor::{
    Attempt, AttemptSpec, ObservedState, OutputStream, ShimHandle, ShimProgram, WantedState,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const DIRTY_MB_MAX: f64 = 0.3;
const OUTPUT_MB_S_MIN: f64 = 200.0;
/// Nothing measured here takes this long.
const BOUND: Duration = Duration::from_secs(60);

/// Many live agents at once: the memory of their shims, and how long attaching to one takes among them.
pub(crate) fn shims(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("shims")?;
    let count = options.rounds(500, 60);
    let mut live = Live::default();
    let (taken, started) = time(|| -> Outcome {
        for number in 0..count {
            let mut spec = spec(number, &["sleep", "1000"], scratch.path());
            spec.bounds.grace_ms = 100;
            live.0.push(begin(options, scratch.path(), spec)?.0);
        }
        Ok(())
    });
    started?;
    let mut attaching = Samples::default();
    let mut memory = Vec::new();
    for attempt in &live.0 {
        let (taken, handle) = time(|| ShimHandle::attach(attempt, 1));
        attaching.push(taken);
        memory.push(Memory::of(handle?.greeting().shim)?);
    }
    let average = |part: fn(&Memory) -> u64| {
        let total: u64 = memory.iter().map(part).sum();
        total as f64 / memory.len() as f64 / 1024.0
    };
    let largest = |part: fn(&Memory) -> u64| {
        memory.iter().map(part).max().unwrap_or_default() as f64 / 1024.0
    };
    let dirty = average(|memory| memory.dirty);
    let row = |name: &str, part: fn(&Memory) -> u64| {
        let figures = [average(part), largest(part)].map(|mb| format!("{mb:.3}"));
        let [average, largest] = figures;
        vec![name.to_owned(), average, largest]
    };
    let rows = vec![
        row("**Private_Dirty**", |memory| memory.dirty),
        row("PSS", |memory| memory.pss),
        row("RSS", |memory| memory.rss),
    ];
    Ok(Report {
        name: "shims",
        about: format!(
            "{count} live agents, each with its shim, started one after the other in {:.1} s. Memory of a shim in MB. \
             Attaching to one among them takes {:.2} ms (median; 90 % within {:.2} ms).",
            taken.as_secs_f64(),
            attaching.median_ms(),
            attaching.quantile(90).as_secs_f64() * 1e3
        ),
        columns: &["", "average MB", "largest MB"],
        rows,
        bound: Some(Bound {
            promise: "Private_Dirty of a shim at most 0.3 MB on average",
            found: format!("{dirty:.3} MB"),
            kept: dirty <= DIRTY_MB_MAX,
        }),
    })
}

/// From nothing to a durable end, for an agent that does nothing.
pub(crate) fn start(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("agent-start")?;
    let rounds = options.rounds(200, 30);
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|_| {
            let (taken, status) = time(|| Command::new("/bin/true").status());
            status?;
            Ok(taken)
        }),
        Box::new(|_| three_flushes(scratch.path())),
        Box::new(|round| {
            let spec = spec(round, &["/bin/true"], scratch.path());
            let (taken, done) = time(|| -> Outcome {
                let (_, mut handle) = begin(options, scratch.path(), spec)?;
                until_ended(&mut handle)
            });
            done?;
            Ok(taken)
        }),
        Box::new(|round| {
            let spec = spec(1_000_000 + round, &["/bin/true"], scratch.path());
            let (taken, begun) = time(|| begin(options, scratch.path(), spec));
            until_ended(&mut begun?.1)?;
            Ok(taken)
        }),
    ];
    let samples = in_turns(rounds, &mut contenders)?;
    let names = [
        "start `/bin/true` and wait for it",
        "flush two small files and their folder",
        "**shim and agent: from nothing to an end on the disk**",
        "of that, until the agent has been started",
    ];
    let floor = samples[0].median_ms();
    let rows = names.iter().zip(&samples).map(|(name, samples)| {
        vec![
            (*name).to_owned(),
            format!("{:.2}", samples.median_ms()),
            format!("{:.2}", samples.quantile(90).as_secs_f64() * 1e3),
            format!("{:.1}", samples.median_ms() / floor),
        ]
    });
    Ok(Report {
        name: "agent-start",
        about: format!(
            "One agent that does nothing, with its own shim: attempt folder, detached shim, attach, `go`, stub, agent, \
             `exit.json` flushed. {rounds} rounds in turns."
        ),
        columns: &["", "median ms", "90 % within ms", "of a bare start"],
        rows: rows.collect(),
        bound: None,
    })
}

/// A flood of output on its way through the shim into the log, processed and acknowledged.
pub(crate) fn output(options: &Options) -> Outcome<Report> {
    const MB: usize = 256;
    let scratch = options.scratch("agent-output")?;
    let bytes = MB * 1_000_000;
    let count = bytes.to_string();
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|_| piped(&count, scratch.path())),
        Box::new(|round| {
            let mut spec = spec(round, &["head", "-c", &count, "/dev/zero"], scratch.path());
            spec.bounds.keep_bytes = 0;
            let (taken, done) = time(|| -> Outcome {
                let (attempt, mut handle) = begin(options, scratch.path(), spec)?;
                process(&attempt, &mut handle, bytes as u64)
            });
            done?;
            Ok(taken)
        }),
    ];
    let samples = in_turns(options.rounds(10, 3), &mut contenders)?;
    let speed = |samples: &Samples| MB as f64 / samples.median().as_secs_f64();
    let names = [
        "through a pipe into a file (`head | cat > file`)",
        "**through the shim into the log, read and acknowledged**",
    ];
    let rows = names
        .iter()
        .zip(&samples)
        .map(|(name, samples)| vec![(*name).to_owned(), format!("{:.0}", speed(samples))]);
    let found = speed(&samples[1]);
    Ok(Report {
        name: "agent-output",
        about: format!("{MB} MB of output of one agent, from its start to its end."),
        columns: &["", "MB/s"],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "at least 200 MB/s",
            found: format!("{found:.0} MB/s"),
            kept: found >= OUTPUT_MB_S_MIN,
        }),
    })
}

fn spec(number: usize, command: &[&str], folder: &Path) -> AttemptSpec {
    let id = format!("bench-{}-{number}", std::process::id());
    let command = command.iter().map(|&word| word.to_owned()).collect();
    AttemptSpec::new(&id, command, folder.to_owned())
}

/// Shim and agent, started.
fn begin(options: &Options, folder: &Path, spec: AttemptSpec) -> Outcome<(Attempt, ShimHandle)> {
    let attempt = Attempt::create(&folder.join(&spec.attempt), spec)?;
    let program = options.bowline.with_file_name("bowline-shim");
    ShimProgram::new(&program, &[]).start_shim(&attempt)?;
    let mut handle = ShimHandle::attach(&attempt, 1)?;
    let path = std::env::var("PATH").unwrap_or_default();
    handle.start_agent(&BTreeMap::from([("PATH".to_owned(), path)]))?;
    Ok((attempt, handle))
}

fn until_ended(handle: &mut ShimHandle) -> Outcome {
    while handle.last_status().state != ObservedState::Ended {
        let status = handle.last_status();
        let (out, err) = (status.out.end, status.err.end);
        if handle.wait_for_change(out, err, BOUND)?.is_none() {
            return Err("the agent did not end".into());
        }
    }
    Ok(())
}

/// Reads all output as a server does, and acknowledges it.
fn process(attempt: &Attempt, handle: &mut ShimHandle, total: u64) -> Outcome {
    let mut at = 0;
    while at < total {
        let (from, bytes) = attempt.read_output(OutputStream::Out, at, 1 << 20)?;
        if from != at {
            return Err("output was lost".into());
        }
        at += bytes.len() as u64;
        if bytes.is_empty() {
            handle.wait_for_change(at, 0, BOUND)?;
        } else {
            handle.acknowledge_output(at, 0)?;
        }
    }
    until_ended(handle)
}

/// The same bytes through a pipe into a file that is flushed.
fn piped(count: &str, folder: &Path) -> Outcome<Duration> {
    let path = folder.join("bare");
    let (taken, done) = time(|| -> std::io::Result<()> {
        let mut source = Command::new("head")
            .args(["-c", count, "/dev/zero"])
            .stdout(Stdio::piped())
            .spawn()?;
        let file = File::create(&path)?;
        if let Some(pipe) = source.stdout.take() {
            Command::new("cat")
                .stdin(pipe)
                .stdout(file.try_clone()?)
                .status()?;
        }
        source.wait()?;
        file.sync_data()
    });
    done?;
    std::fs::remove_file(&path)?;
    Ok(taken)
}

/// What a durable end costs at least.
fn three_flushes(folder: &Path) -> Outcome<Duration> {
    let path = folder.join("flushed");
    std::fs::create_dir_all(&path)?;
    let (taken, done) = time(|| -> std::io::Result<()> {
        for name in ["one", "two"] {
            let mut file = File::create(path.join(name))?;
            file.write_all(b"text")?;
            file.sync_all()?;
        }
        File::open(&path)?.sync_all()
    });
    done?;
    std::fs::remove_dir_all(&path)?;
    Ok(taken)
}

/// KiB of one process.
pub(crate) struct Memory {
    pub(crate) dirty: u64,
    pub(crate) pss: u64,
    pub(crate) rss: u64,
}

impl Memory {
    pub(crate) fn of(pid: i32) -> Outcome<Memory> {
        let mut text = String::new();
        File::open(format!("/proc/{pid}/smaps_rollup"))?.read_to_string(&mut text)?;
        let field = |name: &str| -> Outcome<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
            Ok(kib.ok_or("no such field")?.parse()?)
        };
        Ok(Memory {
            dirty: field("Private_Dirty:")?,
            pss: field("Pss:")?,
            rss: field("Rss:")?,
        })
    }
}

/// Agents that are ended whatever happens to the measurement.
#[derive(Default)]
pub(crate) struct Live(pub(crate) Vec<Attempt>);

impl Drop for Live {
    fn drop(&mut self) {
        for attempt in &self.0 {
            if let Ok(mut handle) = ShimHandle::attach(attempt, u64::MAX) {
                let _ = handle.set_wanted_state(WantedState::Ended, 1);
            }
        }
        for attempt in &self.0 {
            if let Ok(mut handle) = ShimHandle::attach(attempt, u64::MAX) {
                let _ = until_ended(&mut handle);
            }
        }
    }
}
