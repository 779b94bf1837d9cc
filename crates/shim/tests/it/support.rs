//! One attempt in a folder of its own, and the certainty that nothing of it is left afterwards.

use bowline_supervisor::{
    ATTEMPT_VARIABLE, Attempt, AttemptCondition, AttemptExit, AttemptSpec, ObservedState,
    ObservedStatus, OutputStream, ShimHandle, ShimProgram, WantedState,
};
use bowline_test_support::wait_until;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nothing here takes this long unless it hangs.
pub(crate) const BOUND: Duration = Duration::from_secs(40);

/// Short where the product is patient.
pub(crate) const GRACE_MS: u64 = 300;

pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) attempt: Attempt,
}

impl World {
    /// An attempt to run a shell script.
    pub(crate) fn script(script: &str) -> World {
        World::with(script, |_| {})
    }

    /// The same with another spec.
    pub(crate) fn with(script: &str, change: impl FnOnce(&mut AttemptSpec)) -> World {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("attempt");
        World::at(folder, &at, script, change)
    }

    /// The same in a chosen folder.
    pub(crate) fn at(
        folder: tempfile::TempDir,
        at: &Path,
        script: &str,
        change: impl FnOnce(&mut AttemptSpec),
    ) -> World {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = folder.path().file_name().unwrap().to_str().unwrap();
        let id = format!("test-{}-{number}{place}", std::process::id());
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let mut spec = AttemptSpec::new(&id, command, folder.path().to_owned());
        spec.bounds.grace_ms = GRACE_MS;
        change(&mut spec);
        let attempt = Attempt::create(at, spec).unwrap();
        World {
            _folder: folder,
            attempt,
        }
    }

    /// Starts shim and agent.
    pub(crate) fn go(&self) -> ShimHandle {
        self.go_with([])
    }

    /// The same with more in the agent's environment.
    pub(crate) fn go_with<const COUNT: usize>(&self, more: [(&str, String); COUNT]) -> ShimHandle {
        shim().start_shim(&self.attempt).unwrap();
        let mut handle = self.attach();
        let mut given = environment();
        given.extend(more.map(|(name, value)| (name.to_owned(), value)));
        handle.start_agent(&given).unwrap();
        handle
    }

    /// The same with an agent that knows where its attempt is.
    pub(crate) fn go_knowing(&self) -> ShimHandle {
        self.go_with([("AT", self.place())])
    }

    /// The folder of the attempt, as the agent is told it.
    pub(crate) fn place(&self) -> String {
        self.attempt.folder().to_str().unwrap().to_owned()
    }

    /// Starts shim and agent and waits for its end.
    pub(crate) fn run(&self) -> ObservedStatus {
        until_state(&mut self.go(), ObservedState::Ended)
    }

    pub(crate) fn attach(&self) -> ShimHandle {
        ShimHandle::attach(&self.attempt, 1).unwrap()
    }

    /// Waits for the end.
    pub(crate) fn ended(&self) -> AttemptExit {
        let mut exit = None;
        let ended = wait_until(BOUND, || match self.attempt.condition().unwrap() {
            AttemptCondition::Ended(end) => {
                exit = Some(*end);
                true
            }
            AttemptCondition::Alive => false,
            AttemptCondition::Intended | AttemptCondition::Lost => {
                panic!("{:?}", self.attempt.condition())
            }
        });
        assert!(ended, "the attempt did not end");
        exit.unwrap()
    }

    /// Waits until the shim is gone without an end.
    pub(crate) fn until_lost(&self) {
        let lost = wait_until(BOUND, || {
            self.attempt.condition().unwrap() == AttemptCondition::Lost
        });
        assert!(lost, "{:?}", self.attempt.condition());
    }

    /// All that is in a log.
    pub(crate) fn output(&self, stream: OutputStream) -> String {
        let (from, bytes) = self.attempt.read_output(stream, 0, 1 << 24).unwrap();
        assert_eq!(from, 0);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until standard output has these words.
    pub(crate) fn until_said(&self, words: &str) {
        let said = wait_until(BOUND, || self.output(OutputStream::Out).contains(words));
        assert!(
            said,
            "'{words}' not in '{}'",
            self.output(OutputStream::Out)
        );
    }

    /// Processes of the attempt, by their mark, shim not included.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mark = format!("{ATTEMPT_VARIABLE}={}", self.attempt.id());
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let marked = environment
                .split(|&byte| byte == 0)
                .any(|one| one == mark.as_bytes());
            if marked && !matches!(letter(pid), None | Some('Z' | 'X')) {
                found.push(pid);
            }
        }
        found
    }

    /// No process of the attempt is left.
    pub(crate) fn nobody(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// The kernel's letters for all processes of the attempt.
    pub(crate) fn letters(&self) -> Vec<char> {
        self.processes().into_iter().filter_map(letter).collect()
    }
}

/// Whatever a test did: no process of its attempt is left.
impl Drop for World {
    fn drop(&mut self) {
        if self.attempt.condition().ok() == Some(AttemptCondition::Alive)
            && let Ok(mut handle) = ShimHandle::attach(&self.attempt, u64::MAX)
        {
            let generation = handle.last_status().generation + 1;
            let _ = handle.set_wanted_state(WantedState::Ended, generation);
        }
        let over = wait_until(BOUND, || {
            self.attempt.condition().ok() != Some(AttemptCondition::Alive)
        });
        let _ = bowline_supervisor::sweep_attempt(&self.attempt);
        let left = self.processes();
        if !std::thread::panicking() {
            assert!(over, "the shim is still there");
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}

/// Waits until the status is as wanted.
pub(crate) fn until(
    handle: &mut ShimHandle,
    wanted: impl Fn(&ObservedStatus) -> bool,
) -> ObservedStatus {
    let end = Instant::now() + BOUND;
    loop {
        let status = handle.last_status().clone();
        if wanted(&status) {
            return status;
        }
        assert!(Instant::now() < end, "{status:?}");
        let (out, err) = (status.out.end, status.err.end);
        handle
            .wait_for_change(out, err, Duration::from_millis(500))
            .unwrap();
    }
}

pub(crate) fn until_state(handle: &mut ShimHandle, state: ObservedState) -> ObservedStatus {
    until(handle, |status| status.state == state)
}

/// Asks for a level and waits until it is reached.
pub(crate) fn bring_to(
    handle: &mut ShimHandle,
    level: WantedState,
    generation: u64,
) -> ObservedStatus {
    handle.set_wanted_state(level, generation).unwrap();
    let reached = match level {
        WantedState::Running => ObservedState::Running,
        WantedState::Paused => ObservedState::Paused,
        WantedState::Ended => ObservedState::Ended,
    };
    until_state(handle, reached)
}

pub(crate) fn shim() -> ShimProgram {
    ShimProgram::new(Path::new(env!("CARGO_BIN_EXE_bowline-shim")), &[])
}

pub(crate) fn environment() -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap();
    BTreeMap::from([("PATH".to_owned(), path)])
}

/// The kernel's letter for the state of a process.
pub(crate) fn letter(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// A shim that can write files of so many blocks of 512 bytes only; what limits it can be lifted.
pub(crate) fn shim_limited(blocks: u32) -> ShimProgram {
    let script = format!("ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_bowline-shim");
    ShimProgram::new(Path::new("/bin/sh"), &["-c", &script, program])
}

pub(crate) fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Stopped, or the parent of a `vfork` whose child is.
pub(crate) fn still(letter: char) -> bool {
    matches!(letter, 'T' | 'D')
}
