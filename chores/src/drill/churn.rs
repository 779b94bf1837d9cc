//! Many clients that create, await and delete tasks, while the server is killed, its disk is full, or it has no file
//! descriptors left.
//!
//! The promises: every task that was acknowledged is found until it is deleted and is completed; after each fault the first
//! write succeeds within [`RECOVERY_MAX`]; a server that has done ten times the work needs no more memory, descriptors,
//! threads, files or bytes than one that has just begun.

use super::common::{Random, pause};
use super::serving::{Serving, kill, told};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::command;

#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) tasks: usize,
    pub(crate) clients: usize,
    pub(crate) slots: usize,
    pub(crate) kills: usize,
    pub(crate) full_disks: usize,
    pub(crate) no_descriptors: usize,
    /// The tasks are spread over so many minutes; 0 is as fast as it goes.
    pub(crate) minutes: usize,
    pub(crate) seed: u64,
}

/// From the end of a fault until a write succeeds.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
/// From the submission of a task until it is completed, faults included.
const TASK_MAX: Duration = Duration::from_secs(120);
const POLL_PAUSE: Duration = Duration::from_millis(100);
/// How long a fault lasts at least, once it is felt.
const FAULT_PAUSE: Duration = Duration::from_millis(700);
/// Lines of the log that are printed about a task.
const LOG_LINES_MAX: usize = 20;
/// Growth that is allowed, in percent.
const GROWTH_MAX: u64 = 10;
/// Tasks from which on memory and bytes are compared as well.
const GROWTH_TASKS_MIN: usize = 10_000;
/// Room for the data folder.
const DISK_BYTES: u64 = 192 << 20;

const SETTINGS: &str = r#"
[defaults]
agent = "worker"
[agent.worker]
command = ["sh", "{dir}/agent.sh"]
"#;

/// Goes on talking after its task is completed, so that its last words come while the task is deleted.
const AGENT: &str = r#"
while IFS= read -r line; do
  case "$line" in *'[/PHASE_START]'*) break;; esac
done
echo 'Step 1/1: tea'
echo '=== CUSTOM TASK COMPLETE ==='
i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo "more $i"; sleep 0.02; done
"#;

pub(crate) fn run(plan: &Plan) -> Outcome {
    let mut plan = *plan;
    if plan.full_disks > 0 && !rustix::process::geteuid().is_root() {
        println!("full disks are left out: to mount a small one needs root");
        plan.full_disks = 0;
    }
    let plan = &plan;
    let serving = Serving::new("drill-churn", SETTINGS, AGENT)?;
    let _disk = match plan.full_disks > 0 {
        true => Some(SmallDisk::mount(serving.data())?),
        false => None,
    };
    let churn = Churn {
        server: Mutex::new(Server {
            child: serving.start(&serving.bowline, plan.slots)?,
            restarts: 0,
        }),
        serving: &serving,
        plan,
        begun: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        since: Instant::now(),
        goal: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        large: Mutex::new(Vec::new()),
    };
    let outcome = churn.run();
    if let Ok(mut server) = churn.server.lock() {
        kill(&mut server.child)?;
    }
    if outcome.is_err() {
        println!("{}", log_end(&serving.dir().join("server.log")));
    }
    outcome?;
    serving.nobody()
}

/// The end of a log, without the requests.
fn log_end(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let told = |line: &&str| !line.contains(" INFO request ");
    let lines: Vec<&str> = text.lines().filter(told).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

struct Server {
    child: Child,
    restarts: usize,
}

struct Churn<'a> {
    serving: &'a Serving,
    plan: &'a Plan,
    server: Mutex<Server>,
    begun: AtomicUsize,
    done: AtomicUsize,
    since: Instant,
    /// Clients begin tasks up to this number.
    goal: AtomicUsize,
    failed: AtomicBool,
    /// Tasks that were written to use up the disk.
    large: Mutex<Vec<String>>,
}

/// What a server takes up while nothing is going on.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    memory_kb: u64,
    descriptors: u64,
    threads: u64,
    files: u64,
    bytes_kb: u64,
}

impl Churn<'_> {
    fn run(&self) -> Outcome {
        let since = self.since;
        // A tenth without faults, then half with them, then the rest on one server: it has done several times the work
        // of the first when both are measured.
        let first = self.plan.tasks / 10;
        self.work_until(first, &[])?;
        let before = self.measure()?;
        println!("after {first} tasks: {before:?}");
        let mut faults = self.faults();
        Random(self.plan.seed).shuffle(&mut faults);
        self.work_until(first + self.plan.tasks * 4 / 10, &faults)?;
        println!(
            "{} faults, {:.0} s",
            faults.len(),
            since.elapsed().as_secs_f64()
        );
        self.work_until(self.plan.tasks, &[])?;
        let after = self.measure()?;
        println!("after {} tasks: {after:?}", self.plan.tasks);
        let grown =
            |name: &str, before: u64, after: u64| match after * 100 > before * (100 + GROWTH_MAX) {
                true => Err(format!("{name} grew from {before} to {after}")),
                false => Ok(()),
            };
        grown("files", before.files, after.files).inspect_err(|_| self.print_left())?;
        // A server that has just begun still fills its caches and its store.
        if self.plan.tasks >= GROWTH_TASKS_MIN {
            grown("memory (kB)", before.memory_kb, after.memory_kb)?;
            grown("descriptors", before.descriptors, after.descriptors)?;
            grown("threads", before.threads, after.threads)?;
            grown("bytes (kB)", before.bytes_kb, after.bytes_kb)?;
        }
        println!(
            "churn: {} tasks created, completed and deleted by {} clients; {} kills, {} full disks, {} times no descriptors; \
             every acknowledged task was found; {:.1} s",
            self.done.load(Ordering::Relaxed),
            self.plan.clients,
            self.plan.kills,
            self.plan.full_disks,
            self.plan.no_descriptors,
            since.elapsed().as_secs_f64()
        );
        Ok(())
    }

    fn faults(&self) -> Vec<Fault> {
        let plan = self.plan;
        let mut faults = vec![Fault::Kill; plan.kills];
        faults.extend(vec![Fault::FullDisk; plan.full_disks]);
        faults.extend(vec![Fault::NoDescriptors; plan.no_descriptors]);
        faults
    }

    /// Lets clients work until so many tasks are done, with these faults spread over them.
    fn work_until(&self, goal: usize, faults: &[Fault]) -> Outcome {
        let from = self.done.load(Ordering::Relaxed);
        self.goal.store(goal, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..self.plan.clients)
                .map(|_| scope.spawn(|| self.fail_all(self.client())))
                .collect();
            let mut outcome = Ok(());
            for (number, fault) in faults.iter().enumerate() {
                let at = from + (goal - from) * number / faults.len();
                while self.done.load(Ordering::Relaxed) < at && !self.failed.load(Ordering::Relaxed)
                {
                    pause(Duration::from_millis(5));
                }
                outcome = self.fail_all(self.cause(*fault));
                if outcome.is_err() {
                    break;
                }
            }
            for client in clients {
                outcome = outcome.and(client.join().map_err(|_| "a client panicked")?);
            }
            outcome
        })
    }

    /// Stops all clients when one of them has failed.
    fn fail_all(&self, outcome: Outcome) -> Outcome {
        if outcome.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Creates, awaits and deletes tasks until there are enough.
    fn client(&self) -> Outcome {
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            if number >= self.goal.load(Ordering::Relaxed) {
                self.begun.fetch_sub(1, Ordering::Relaxed);
                return Ok(());
            }
            while self.since.elapsed() < self.planned(number) {
                pause(POLL_PAUSE);
            }
            self.one_task(number)?;
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(1_000) {
                println!("  {done} tasks");
            }
        }
        Ok(())
    }

    /// When a task is to be created.
    fn planned(&self, number: usize) -> Duration {
        Duration::from_secs(60 * self.plan.minutes as u64)
            .mul_f64(number as f64 / self.plan.tasks as f64)
    }

    fn one_task(&self, number: usize) -> Outcome {
        let key = format!("churn-{}-{number}", self.plan.seed);
        let body = json!({ "title": format!("Tea {number}"), "type": "custom", "description": "Make tea.", "submit": true });
        let (status, task) = self
            .serving
            .insist("POST", "/api/tasks", Some(&key), &body)?;
        let Some(id) = task["id"].as_str().filter(|_| status == 201) else {
            return Err(format!("POST /api/tasks: {status} {task}"));
        };
        let path = format!("/api/tasks/{id}");
        let since = Instant::now();
        loop {
            let (status, task) = self.serving.insist("GET", &path, None, &Value::Null)?;
            match (status, task["status"].as_str()) {
                (200, Some("completed")) => break,
                (200, Some("failed")) => return Err(format!("{id} failed: {}", task["failure"])),
                (200, _) if since.elapsed() < TASK_MAX => {}
                (200, _) => return Err(format!("{id} hangs: {task}")),
                (status, _) => {
                    return Err(format!("{id} was acknowledged, and then: {status} {task}"));
                }
            }
            pause(POLL_PAUSE);
        }
        let delete = format!("{key}-delete");
        match self
            .serving
            .insist("DELETE", &path, Some(&delete), &Value::Null)?
        {
            (200 | 204, _) => Ok(()),
            (status, body) => Err(format!("DELETE {path}: {status} {body}")),
        }
    }

    fn cause(&self, fault: Fault) -> Outcome {
        let mut server = self.server.lock().map_err(|_| "a client panicked")?;
        if let Some(status) = server.child.try_wait().map_err(told)? {
            return Err(format!("the server ended by itself: {status}"));
        }
        match fault {
            Fault::Kill => {
                kill(&mut server.child)?;
                server.child = self.serving.start(&self.serving.bowline, self.plan.slots)?;
            }
            Fault::FullDisk => {
                let filler = self.serving.data().join("filler");
                fill(&filler)?;
                let most = Duration::from_secs(10);
                let felt = self
                    .until(most, "disk_full", || self.write_too_much())
                    .and_then(|()| self.until(most, "no space is left", || self.unready()));
                fs::remove_file(&filler).map_err(told)?;
                felt?;
            }
            Fault::NoDescriptors => {
                let pid = Pid::from_child(&server.child);
                let open = descriptors(pid)?;
                let maximum = descriptor_limit(pid)?;
                let limit = |most| Rlimit {
                    current: Some(most),
                    maximum: Some(maximum),
                };
                prlimit(Some(pid), Resource::Nofile, limit(open)).map_err(told)?;
                pause(FAULT_PAUSE);
                prlimit(Some(pid), Resource::Nofile, limit(maximum)).map_err(told)?;
            }
        }
        server.restarts += 1;
        let number = server.restarts;
        let since = Instant::now();
        self.until(RECOVERY_MAX, "a write", || self.write(number))
            .map_err(|why| format!("after {fault:?}: {why}"))?;
        let took = since.elapsed();
        self.delete_large()?;
        println!(
            "  {fault:?}: a write succeeded after {} ms",
            took.as_millis()
        );
        Ok(())
    }

    /// The reason why the server is not ready.
    fn unready(&self) -> Option<String> {
        let (status, body) = self.serving.ask("GET", "/readyz", None, "").ok()?;
        let text = String::from_utf8_lossy(&body).into_owned();
        (status == 503).then_some(text)
    }

    /// Writes more than fits, and cleans up; gives what the last write was refused with.
    fn write_too_much(&self) -> Option<String> {
        let body =
            json!({ "title": "Large", "type": "custom", "description": "Tea. ".repeat(10_000) });
        let (mut ids, mut answer) = (Vec::new(), None);
        while ids.len() < 100 {
            let asked = self
                .serving
                .ask("POST", "/api/tasks", None, &body.to_string());
            let (status, body) = asked.ok()?;
            let task: Value = serde_json::from_slice(&body).unwrap_or_default();
            match task["id"].as_str() {
                Some(id) => ids.push(id.to_owned()),
                None => {
                    answer = Some(format!("{status} {task}"));
                    break;
                }
            }
        }
        self.large.lock().ok()?.extend(ids);
        answer
    }

    /// Deletes what [`Churn::write_too_much`] created.
    fn delete_large(&self) -> Outcome {
        let ids = std::mem::take(&mut *self.large.lock().map_err(|_| "a client panicked")?);
        for id in ids {
            let path = format!("/api/tasks/{id}");
            let (status, body) = self.serving.insist("DELETE", &path, None, &Value::Null)?;
            if !matches!(status, 200 | 204 | 404) {
                return Err(format!("DELETE {path}: {status} {body}"));
            }
        }
        Ok(())
    }

    /// Creates a task; gives what the server said.
    fn write(&self, number: usize) -> Option<String> {
        let key = format!("after-fault-{number}");
        let body = json!({ "title": "After a fault", "type": "custom", "description": "Tea." });
        let asked = self
            .serving
            .ask("POST", "/api/tasks", Some(&key), &body.to_string());
        let (status, body) = asked.ok()?;
        let task: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = format!("/api/tasks/{}", task["id"].as_str()?);
        let gone = self.serving.ask("DELETE", &path, None, "").ok()?;
        (status == 201 && matches!(gone.0, 200 | 204)).then(|| "a write".into())
    }

    /// Waits for an answer that contains a text.
    fn until(&self, most: Duration, wanted: &str, ask: impl Fn() -> Option<String>) -> Outcome {
        let since = Instant::now();
        let mut last = None;
        while since.elapsed() < most {
            last = ask();
            if last.as_ref().is_some_and(|it| it.contains(wanted)) {
                return Ok(());
            }
            pause(Duration::from_millis(10));
        }
        Err(format!(
            "no {wanted} within {most:?}; last answer: {last:?}"
        ))
    }

    /// Prints what deleted tasks left in the data folder, and what the log says of these tasks.
    fn print_left(&self) {
        let log = fs::read_to_string(self.serving.dir().join("server.log")).unwrap_or_default();
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        for folder in entries(&self.serving.data()) {
            for entry in entries(&folder.path()) {
                print_tree(&entry.path());
                let name = entry.file_name().to_string_lossy().into_owned();
                let task = name.split(['.', '-']).next().unwrap_or_default();
                for line in log
                    .lines()
                    .filter(|line| line.contains(task))
                    .take(LOG_LINES_MAX)
                {
                    println!("    {line}");
                }
            }
        }
    }

    /// Measures the server once nothing is going on.
    fn measure(&self) -> Outcome<Footprint> {
        let left = self.serving.items("/api/tasks?limit=10")?;
        if !left.is_empty() {
            return Err(format!("tasks that were deleted are there: {left:?}"));
        }
        self.serving.nobody()?;
        // What was deleted is cleaned up, and the store is pruned twice.
        pause(match self.plan.tasks >= GROWTH_TASKS_MIN {
            true => Duration::from_secs(70),
            false => Duration::from_secs(12),
        });
        let server = self.server.lock().map_err(|_| "a client panicked")?;
        let pid = Pid::from_child(&server.child);
        let status =
            fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).map_err(told)?;
        let number = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|it| it.strip_prefix(name))?;
            line.trim_end_matches("kB").trim().parse().ok()
        };
        let (mut files, mut bytes) = (0, 0);
        for entry in fs::read_dir(self.serving.data()).map_err(told)?.flatten() {
            let (before, weight) = (files, bytes);
            count_entry(&entry, &mut files, &mut bytes);
            let (count, kb) = (files - before, (bytes - weight) / 1024);
            println!("  {}: {count} files, {kb} kB", entry.path().display());
        }
        Ok(Footprint {
            memory_kb: number("VmRSS:").ok_or("no VmRSS")?,
            descriptors: descriptors(pid)?,
            threads: number("Threads:").ok_or("no Threads")?,
            files,
            bytes_kb: bytes / 1024,
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    FullDisk,
    NoDescriptors,
}

fn descriptors(pid: Pid) -> Outcome<u64> {
    let folder = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())).map_err(told)?;
    Ok(folder.count() as u64)
}

/// The hard limit of open files.
fn descriptor_limit(pid: Pid) -> Outcome<u64> {
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_pid())).map_err(told)?;
    let line = limits.lines().find(|it| it.starts_with("Max open files"));
    let hard = line.and_then(|it| it.split_whitespace().nth(4)?.parse().ok());
    hard.ok_or_else(|| "no limit of open files".to_owned())
}

/// Prints the files below a path, each with the time of its last change.
fn print_tree(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    println!("  left: {} {}", metadata.ctime() % 86_400, path.display());
    if metadata.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            print_tree(&entry.path());
        }
    }
}

fn count_files(folder: &Path, files: &mut u64, bytes: &mut u64) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        count_entry(&entry, files, bytes);
    }
}

fn count_entry(entry: &fs::DirEntry, files: &mut u64, bytes: &mut u64) {
    let Ok(about) = entry.metadata() else {
        return;
    };
    *files += 1;
    *bytes += about.len();
    if about.is_dir() {
        count_files(&entry.path(), files, bytes);
    }
}

/// Writes until nothing more fits.
fn fill(path: &Path) -> Outcome {
    use std::io::Write as _;
    let mut file = fs::File::create(path).map_err(told)?;
    for size in [1 << 20, 4096, 512] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    Ok(())
}

/// A small file system in memory, which can be filled.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Outcome<SmallDisk> {
        fs::create_dir_all(&at).map_err(told)?;
        let size = format!("size={DISK_BYTES}");
        let place = at.display().to_string();
        let mut mount = command("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &place]);
        if !mount.status().is_ok_and(|it| it.success()) {
            return Err(
                "a small disk cannot be mounted: run as root, or with --full-disks 0".into(),
            );
        }
        Ok(SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let place = self.0.display().to_string();
        // Lazily: whatever still runs on it is ended after this.
        let _ = command("umount", &["-l", &place]).status();
    }
}
