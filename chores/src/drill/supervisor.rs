//! Agents under a hail of kills: of the client that watches them, of the shim that owns them.
//!
//! The promises: output complete and in order, input exactly once, paused stays paused, what is lost is found and swept,
//! nothing is started twice.

use super::common::Random;
use bowline_supervisor::{
    ATTEMPT_VARIABLE, Attempt, AttemptCondition, AttemptSpec, CgroupSpec, CgroupSupport,
    ObservedState, OutputBlockReason, OutputStream, ShimHandle, ShimProgram, WantedState,
    sweep_attempt,
};
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::{Scratch, bowline};

/// How often something is killed.
pub(crate) struct Plan {
    pub(crate) clients: usize,
    pub(crate) shims: usize,
}

/// Nothing here takes this long unless it hangs.
const BOUND: Duration = Duration::from_secs(120);
/// Messages for each client that is killed.
const MESSAGES_EACH: u64 = 40;
/// Every so many kills the agent is paused meanwhile.
const PAUSED_EVERY: usize = 10;

pub(crate) fn run(plan: &Plan) -> Outcome {
    let begun = Instant::now();
    let shim = bowline()?.with_file_name("bowline-shim");
    clients(plan.clients, &shim)?;
    shims(plan.shims, &shim)?;
    replaced(&shim)?;
    megabyte(&shim)?;
    full_disk(&shim)?;
    println!("drill supervisor: {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn attempt(folder: &Path, name: &str, script: &str) -> Outcome<Attempt> {
    grouped_attempt(folder, name, script, None)
}

/// The same with a control group below another.
fn grouped_attempt(
    folder: &Path,
    name: &str,
    script: &str,
    parent: Option<PathBuf>,
) -> Outcome<Attempt> {
    let id = format!("drill-{}-{name}", std::process::id());
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let mut spec = AttemptSpec::new(&id, command, folder.to_owned());
    spec.bounds.grace_ms = 500;
    spec.cgroup = parent.map(CgroupSpec::in_parent);
    Attempt::create(&folder.join(name), spec).map_err(told)
}

fn environment() -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    BTreeMap::from([("PATH".to_owned(), path)])
}

/// Clients that send and process are killed; the agent numbers what it reads.
fn clients(kills: usize, shim: &Path) -> Outcome {
    let scratch = Scratch::new("drill-clients")?;
    let script = "i=0; while read word; do i=$((i+1)); echo \"$i $word\"; done";
    let attempt = attempt(&scratch.0, "attempt", script)?;
    ShimProgram::new(shim, &[])
        .start_shim(&attempt)
        .map_err(told)?;
    let mut watcher = ShimHandle::attach(&attempt, 1).map_err(told)?;
    watcher.start_agent(&environment()).map_err(told)?;
    let total = kills as u64 * MESSAGES_EACH;
    let notes = scratch.0.join("notes");
    let me = std::env::current_exe().map_err(told)?;
    let start = || {
        Command::new(&me)
            .arg("drill-client")
            .arg(attempt.folder())
            .arg(&notes)
            .arg(total.to_string())
            .stdout(Stdio::null())
            .spawn()
            .map_err(told)
    };
    let mut dice = Random(7);
    let mut generation = 0;
    let mut held = 0;
    for round in 0..kills {
        let mut client = start()?;
        std::thread::sleep(Duration::from_micros(500 + dice.below(12_000)));
        if round % PAUSED_EVERY == 0 {
            generation += 1;
            watcher
                .set_wanted_state(WantedState::Paused, generation)
                .map_err(told)?;
            until(&mut watcher, ObservedState::Paused)?;
        }
        client.kill().map_err(told)?;
        client.wait().map_err(told)?;
        if round % PAUSED_EVERY == 0 {
            if watcher.fetch_status().map_err(told)?.state != ObservedState::Paused {
                return Err("a paused agent went on when its client was killed".into());
            }
            held += 1;
            generation += 1;
            watcher
                .set_wanted_state(WantedState::Running, generation)
                .map_err(told)?;
        }
    }
    let sent_before = watcher.fetch_status().map_err(told)?.input.next - 1;
    let last = start()?.wait().map_err(told)?;
    if !last.success() {
        return Err(format!("the last client: {last}"));
    }
    let wanted: String = (1..=total)
        .map(|number| format!("{number} m{number}\n"))
        .collect();
    let log = attempt
        .read_output(OutputStream::Out, 0, wanted.len() + 1)
        .map_err(told)?
        .1;
    let processed = fs::read(notes.join("output")).map_err(told)?;
    if log != wanted.as_bytes() {
        return Err(format!(
            "the log has {} bytes, not {}, or others",
            log.len(),
            wanted.len()
        ));
    }
    if processed != log {
        return Err(format!(
            "{} of {} bytes were processed",
            processed.len(),
            log.len()
        ));
    }
    nobody(&attempt)?;
    println!(
        "clients: {kills} killed with -9 ({held} while paused, all stayed paused); {total} messages, {sent_before} of them \
         sent by clients that were killed, each read once and in order; {} bytes of output complete",
        log.len()
    );
    Ok(())
}

/// One client of the drill above: sends what is not confirmed, processes what is not processed, until all is done.
pub(crate) fn client(folder: &str, notes: &str, total: &str) -> Outcome {
    let total: u64 = total.parse().map_err(told)?;
    let notes = Path::new(notes);
    fs::create_dir_all(notes).map_err(told)?;
    let number = |name: &str| -> u64 {
        let text = fs::read_to_string(notes.join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    let note = |name: &str, value: u64| -> Outcome {
        let new = notes.join(format!("{name}.new"));
        fs::write(&new, value.to_string()).map_err(told)?;
        fs::rename(&new, notes.join(name)).map_err(told)
    };
    let attempt = Attempt::open_existing(Path::new(folder)).map_err(told)?;
    let output = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(notes.join("output"))
        .map_err(told)?;
    let mut at = number("processed");
    // Confirmed is written after the answer, so that a kill in between makes the next client send it again.
    let mut confirmed = number("confirmed");
    let mut handle = ShimHandle::attach(&attempt, 1).map_err(told)?;
    loop {
        let (from, bytes) = attempt
            .read_output(OutputStream::Out, at, 1 << 16)
            .map_err(told)?;
        if from != at {
            return Err(format!("output between {at} and {from} is gone"));
        }
        if !bytes.is_empty() {
            output.write_all_at(&bytes, at).map_err(told)?;
            at += bytes.len() as u64;
            note("processed", at)?;
            handle.acknowledge_output(at, 0).map_err(told)?;
        }
        if confirmed < total {
            let seq = confirmed + 1;
            let text = format!("m{seq}\n");
            match handle.send_input(seq, text.as_bytes(), seq == total) {
                Ok(_) => {
                    confirmed = seq;
                    note("confirmed", confirmed)?;
                }
                Err(error) if error.code() == "input_full" => {}
                Err(error) => return Err(told(error)),
            }
            continue;
        }
        if bytes.is_empty() {
            match attempt.condition().map_err(told)? {
                AttemptCondition::Ended(exit) if exit.out == at => return Ok(()),
                AttemptCondition::Ended(_) => continue,
                AttemptCondition::Alive => drop(
                    handle
                        .wait_for_change(at, 0, Duration::from_secs(1))
                        .map_err(told)?,
                ),
                other => return Err(format!("{other:?}")),
            }
        }
    }
}

/// Shims are killed at random times, running, paused, and before `go`.
fn shims(kills: usize, shim: &Path) -> Outcome {
    let script = "echo begun >> \"$COUNT\"
        sleep 1000 & (setsid sleep 1001 &)
        (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.01; done' &)
        while :; do echo tick; sleep 0.01; done";
    let mut dice = Random(11);
    let groups = CgroupSupport::detect_features();
    let (mut lost, mut intended, mut paused, mut swept, mut grouped) = (0, 0, 0, 0, 0);
    for round in 0..kills {
        let scratch = Scratch::new(&format!("drill-shims-{round}"))?;
        // Every other one with a control group of its own, where this user may make one.
        let group = groups
            .parent
            .clone()
            .filter(|_| groups.freeze && round % 2 == 0);
        let attempt = grouped_attempt(&scratch.0, &format!("attempt-{round}"), script, group)?;
        let count = scratch.0.join("count");
        let mut given = environment();
        given.insert("COUNT".into(), count.to_string_lossy().into_owned());
        let program = ShimProgram::new(shim, &[]);
        program.start_shim(&attempt).map_err(told)?;
        let mut handle = ShimHandle::attach(&attempt, 1).map_err(told)?;
        let pid = handle.greeting().shim;
        let before_go = dice.below(10) == 0;
        let pausing = dice.below(2) == 0;
        if !before_go {
            handle.start_agent(&given).map_err(told)?;
            std::thread::sleep(Duration::from_micros(dice.below(30_000)));
            if pausing {
                handle
                    .set_wanted_state(WantedState::Paused, 1)
                    .map_err(told)?;
                if dice.below(2) == 0 {
                    until(&mut handle, ObservedState::Paused)?;
                    paused += 1;
                }
            }
        }
        kill(pid)?;
        let expected = if before_go {
            AttemptCondition::Intended
        } else {
            AttemptCondition::Lost
        };
        if !wait_until(BOUND, || {
            attempt.condition().ok().as_ref() == Some(&expected)
        }) {
            return Err(format!(
                "round {round}: {:?}, not {expected:?}",
                attempt.condition()
            ));
        }
        swept += sweep_attempt(&attempt).map_err(told)?.killed.len();
        nobody(&attempt)?;
        let group = attempt.spec().cgroup.as_ref();
        let group = group.map(|group| group.parent.join(format!("bowline-{}", attempt.id())));
        if let Some(group) = group {
            grouped += 1;
            if !before_go && group.exists() {
                return Err(format!("round {round}: {} is left", group.display()));
            }
        }
        if before_go {
            intended += 1;
            program.start_shim(&attempt).map_err(told)?;
            let mut again = ShimHandle::attach(&attempt, 2).map_err(told)?;
            again.start_agent(&given).map_err(told)?;
            if !wait_until(BOUND, || count.exists()) {
                return Err(format!("round {round}: nothing began"));
            }
            again
                .set_wanted_state(WantedState::Ended, 1)
                .map_err(told)?;
            until(&mut again, ObservedState::Ended)?;
            nobody(&attempt)?;
        } else {
            lost += 1;
            if program.start_shim(&attempt).is_ok() {
                return Err(format!("round {round}: a lost attempt was started again"));
            }
        }
        let begun = fs::read_to_string(&count)
            .unwrap_or_default()
            .lines()
            .count();
        if begun > 1 {
            return Err(format!(
                "round {round}: the agent was started {begun} times"
            ));
        }
    }
    println!(
        "shims: {kills} killed with -9, {lost} attempts lost ({paused} while paused) and {intended} before 'go'; \
         {swept} processes swept, none left, none started twice; {grouped} had a control group"
    );
    Ok(())
}

/// The binary is replaced while shims live.
fn replaced(shim: &Path) -> Outcome {
    const SHIMS: usize = 10;
    let scratch = Scratch::new("drill-replaced")?;
    let program = scratch.0.join("bowline-shim");
    let install = |from: &Path| -> Outcome {
        let new = scratch.0.join("new");
        fs::copy(from, &new).map_err(told)?;
        fs::rename(&new, &program).map_err(told)
    };
    install(shim)?;
    let mut attempts = Vec::new();
    for number in 0..SHIMS {
        let attempt = attempt(
            &scratch.0,
            &format!("attempt-{number}"),
            "read word; echo $word",
        )?;
        ShimProgram::new(&program, &[])
            .start_shim(&attempt)
            .map_err(told)?;
        if number % 2 == 0 {
            let mut handle = ShimHandle::attach(&attempt, 1).map_err(told)?;
            handle.start_agent(&environment()).map_err(told)?;
        }
        attempts.push(attempt);
    }
    install(Path::new("/bin/false"))?;
    for attempt in &attempts {
        let mut handle = ShimHandle::attach(attempt, 1).map_err(told)?;
        handle.start_agent(&environment()).map_err(told)?;
        handle.send_input(1, b"still here\n", true).map_err(told)?;
        until(&mut handle, ObservedState::Ended)?;
        if attempt
            .read_output(OutputStream::Out, 0, 64)
            .map_err(told)?
            .1
            != b"still here\n"
        {
            return Err("an agent did not survive the upgrade".into());
        }
        nobody(attempt)?;
    }
    println!(
        "upgrade: {SHIMS} shims, half of them before 'go', went on when their binary was replaced"
    );
    Ok(())
}

/// A megabyte for an agent that does not read.
fn megabyte(shim: &Path) -> Outcome {
    let scratch = Scratch::new("drill-megabyte")?;
    let attempt = attempt(&scratch.0, "attempt", "exec cat")?;
    ShimProgram::new(shim, &[])
        .start_shim(&attempt)
        .map_err(told)?;
    let mut handle = ShimHandle::attach(&attempt, 1).map_err(told)?;
    handle.start_agent(&environment()).map_err(told)?;
    handle
        .set_wanted_state(WantedState::Paused, 1)
        .map_err(told)?;
    until(&mut handle, ObservedState::Paused)?;
    let mut dice = Random(3);
    let text: Vec<u8> = (0..1 << 20)
        .map(|_| b'a' + u8::try_from(dice.below(26)).unwrap_or(0))
        .collect();
    handle.send_input(1, &text, true).map_err(told)?;
    handle
        .set_wanted_state(WantedState::Running, 2)
        .map_err(told)?;
    until(&mut handle, ObservedState::Ended)?;
    if attempt
        .read_output(OutputStream::Out, 0, text.len() + 1)
        .map_err(told)?
        .1
        != text
    {
        return Err("the megabyte did not arrive as it was sent".into());
    }
    println!("input: 1 MiB for a paused agent arrived whole when it went on");
    Ok(())
}

/// A file system that is full, and then has room again.
fn full_disk(shim: &Path) -> Outcome {
    let scratch = Scratch::new("drill-full")?;
    let mount = |options: &str| {
        let words = ["-t", "tmpfs", "-o", options, "none"];
        let output = Command::new("mount").args(words).arg(&scratch.0).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !mount("size=2m") {
        skip_test(
            MissingRequirement::Mounting,
            "full disk: a small file system cannot be mounted here",
        );
        return Ok(());
    }
    let outcome = full(shim, &scratch.0, &|| mount("remount,size=64m"));
    let unmounted = Command::new("umount").arg(&scratch.0).status();
    outcome?;
    match unmounted {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("umount: {other:?}")),
    }
}

fn full(shim: &Path, folder: &Path, grow: &dyn Fn() -> bool) -> Outcome {
    let lines = 1_000_000;
    let attempt = attempt(folder, "attempt", &format!("seq 1 {lines}"))?;
    ShimProgram::new(shim, &[])
        .start_shim(&attempt)
        .map_err(told)?;
    let mut handle = ShimHandle::attach(&attempt, 1).map_err(told)?;
    handle.start_agent(&environment()).map_err(told)?;
    let blocked = wait_until(BOUND, || {
        handle
            .fetch_status()
            .is_ok_and(|status| status.blocked == Some(OutputBlockReason::DiskFull))
    });
    if !blocked {
        return Err(format!(
            "a full disk was not told: {:?}",
            handle.last_status()
        ));
    }
    let at = handle.last_status().out.end;
    if !grow() {
        return Err("the file system could not be made larger".into());
    }
    until(&mut handle, ObservedState::Ended)?;
    let wanted: String = (1..=lines).map(|number| format!("{number}\n")).collect();
    let log = attempt
        .read_output(OutputStream::Out, 0, wanted.len() + 1)
        .map_err(told)?
        .1;
    if log != wanted.as_bytes() {
        return Err(format!(
            "the log has {} bytes, not {}",
            log.len(),
            wanted.len()
        ));
    }
    nobody(&attempt)?;
    println!(
        "full disk: the agent stood still at {at} bytes and went on when there was room; {} bytes complete",
        log.len()
    );
    Ok(())
}

fn until(handle: &mut ShimHandle, state: ObservedState) -> Outcome {
    let end = Instant::now() + BOUND;
    while handle.last_status().state != state {
        if Instant::now() >= end {
            return Err(format!("not {state:?}: {:?}", handle.last_status()));
        }
        let status = handle.last_status();
        let (out, err) = (status.out.end, status.err.end);
        handle
            .wait_for_change(out, err, Duration::from_secs(1))
            .map_err(told)?;
    }
    Ok(())
}

fn kill(pid: i32) -> Outcome {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("kill: {other:?}")),
    }
}

/// No living process was started for this attempt.
fn nobody(attempt: &Attempt) -> Outcome {
    let mark = format!("{ATTEMPT_VARIABLE}={}", attempt.id());
    let marked = |pid: &str| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|one| one == mark.as_bytes())
    };
    let left: Vec<String> = fs::read_dir("/proc")
        .map_err(told)?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && marked(name))
        .collect();
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("{} left processes: {left:?}", attempt.id()))
    }
}
