//! The task server as a process: its memory with many tasks, its start after `kill -9`, and many agents at once.

use crate::Outcome;
use crate::jobs::{LOOK, fill};
use crate::measure::Samples;
use crate::options::Options;
use crate::report::{Bound, Report};
use crate::shims::{Live, Memory};
use bowline_machines::job::{Command as JobCommand, Job, JobKind, JobMachine};
use bowline_machines::{Machine as _, Timestamp};
use bowline_store::{JobAttributes, JobRow, SqliteStore};
use bowline_supervisor::Attempt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TASKS: usize = 1_000;
const READY_S_MAX: f64 = 1.0;
const MEMORY_MB_MAX: f64 = 25.0;
/// Nothing here takes this long.
const BOUND: Duration = Duration::from_secs(180);
/// How long the server is watched while it has nothing to do.
const IDLE: Duration = Duration::from_secs(5);

/// A thousand tasks that wait: memory, and the start after a kill.
pub(crate) fn restart(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("server")?;
    let rounds = options.rounds(11, 3);
    pending(scratch.path(), TASKS)?;
    // One place and an agent that stays: the others wait for it.
    let mut server = Server::start(options, scratch.path(), 1)?;
    let _agents = server.agents();
    let begun = server.tasks_alive(1)?;
    let mut starts = Samples::default();
    for _ in 0..rounds {
        server.kill()?;
        server = Server::start(options, scratch.path(), 1)?;
        starts.push(server.ready);
    }
    let open = server
        .get("/api/tasks?limit=1000")?
        .matches("\"allowedActions\"")
        .count();
    if open != TASKS {
        return Err(format!("{open} of {TASKS} tasks are there").into());
    }
    let memory = Memory::of(i32::try_from(server.child.id())?)?;
    let [dirty, pss, rss] = [memory.dirty, memory.pss, memory.rss].map(|kib| kib as f64 / 1024.0);
    let ready = starts.quantile(90).as_secs_f64();
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    Ok(Report {
        name: "server",
        about: format!(
            "`bowline serve` with {TASKS} open tasks, one of them with a live agent (begun after {:.1} s), killed with -9 and \
             started again {rounds} times: from the start of the process to the first 200 of `/readyz`, with the store read and \
             the agent found again. Memory after all of them were listed.",
            begun.as_secs_f64()
        ),
        columns: &["", "found"],
        rows: vec![
            row(
                "ready again, median ms",
                format!("{:.0}", starts.median_ms()),
            ),
            row("90 % within ms", format!("{:.0}", ready * 1e3)),
            row("memory, Private_Dirty MB", format!("{dirty:.1}")),
            row("PSS MB", format!("{pss:.1}")),
            row(
                "RSS MB (with the pages of the program itself)",
                format!("{rss:.1}"),
            ),
        ],
        bound: Some(Bound {
            promise: "ready within 1 s, and at most 25 MB (PSS)",
            found: format!("{:.0} ms and {pss:.1} MB", ready * 1e3),
            kept: ready <= READY_S_MAX && pss <= MEMORY_MB_MAX,
        }),
    })
}

/// Many agents at work at once.
pub(crate) fn agents(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("server-agents")?;
    let count = options.rounds(500, 60);
    pending(scratch.path(), count)?;
    let mut server = Server::start(options, scratch.path(), count)?;
    let _agents = server.agents();
    let begun = server.tasks_alive(count)?;
    let before = server.spent()?;
    std::thread::sleep(IDLE);
    let idle = (server.spent()? - before) / IDLE.as_secs_f64() * 100.0;
    server.kill()?;
    server = Server::start(options, scratch.path(), count)?;
    let found = server.tasks_alive(count)?;
    let memory = Memory::of(i32::try_from(server.child.id())?)?;
    let attempts = std::fs::read_dir(scratch.path().join("data/attempts"))?.count();
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    Ok(Report {
        name: "server-agents",
        about: format!(
            "{count} tasks at once, each with a live agent and its shim; then the server is killed with -9 and started again."
        ),
        columns: &["", "found"],
        rows: vec![
            row(
                "all agents at work after, s",
                format!("{:.1}", begun.as_secs_f64()),
            ),
            row(
                "server with nothing to do, % of one core",
                format!("{idle:.1}"),
            ),
            row(
                "ready again after the kill, ms",
                format!("{:.0}", server.ready.as_secs_f64() * 1e3),
            ),
            row(
                "all agents found alive after, s",
                format!("{:.1}", found.as_secs_f64()),
            ),
            row(
                "server, PSS MB",
                format!("{:.1}", memory.pss as f64 / 1024.0),
            ),
            row("agents started in all", attempts.to_string()),
        ],
        bound: Some(Bound {
            promise: "500 live agents on two cores, none of them started twice",
            found: format!("{count} live, {attempts} started"),
            kept: attempts == count,
        }),
    })
}

/// A store in which tasks wait.
fn pending(folder: &Path, count: usize) -> Outcome {
    let data = folder.join("data");
    std::fs::create_dir_all(&data)?;
    std::fs::write(
        folder.join("bowline.toml"),
        "[defaults]\nagent = \"idle\"\n[agent.idle]\ncommand = [\"sleep\", \"1000\"]\n",
    )?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let at = Timestamp(i64::try_from(now.as_secs())?);
    let job = Job {
        title: "Tea".into(),
        description: "A shop for tea".into(),
        kind: Some(JobKind::Custom),
        ..Job::draft()
    };
    let job = JobMachine::step(&job, JobCommand::Submit, at)?.next;
    let about = JobAttributes {
        type_name: Some("custom".into()),
        created_at: at.0,
        ..JobAttributes::default()
    };
    let row = JobRow {
        id: String::new(),
        version: 1,
        job: job.into(),
        about: about.into(),
    };
    let store = SqliteStore::open(&data.join("store.sqlite"))?;
    fill(&store, &row, count + 1)
}

struct Server {
    child: Child,
    address: String,
    folder: PathBuf,
    ready: Duration,
}

impl Server {
    fn start(options: &Options, folder: &Path, slots: usize) -> Outcome<Server> {
        let begun = Instant::now();
        let mut child = Command::new(&options.bowline)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--data",
                "data",
                "--log",
                "off",
            ])
            .args(["--slots", &slots.to_string()])
            .current_dir(folder)
            .env("HOME", folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line)?;
        let address = line.trim().rsplit("http://").next().unwrap_or_default();
        let mut server = Server {
            child,
            address: address.to_owned(),
            folder: folder.to_owned(),
            ready: Duration::ZERO,
        };
        while !server.get("/readyz")?.starts_with("HTTP/1.1 200") {
            if begun.elapsed() > BOUND {
                return Err("the server never became ready".into());
            }
        }
        server.ready = begun.elapsed();
        Ok(server)
    }

    fn get(&self, path: &str) -> Outcome<String> {
        let token = std::fs::read_to_string(self.folder.join("data/token")).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(
            format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
                self.address,
                token.trim()
            )
            .as_bytes(),
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Waits until so many tasks have an agent that lives.
    fn tasks_alive(&self, count: usize) -> Outcome<Duration> {
        let begun = Instant::now();
        loop {
            let page = self.get("/api/tasks?status=in_progress&limit=1000")?;
            if page.matches("\"alive\":true").count() >= count {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > BOUND {
                return Err("not all agents live".into());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Processor seconds so far.
    fn spent(&self) -> Outcome<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields = text.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// The agents, which are ended whatever happens to the measurement.
    fn agents(&self) -> Agents {
        Agents(self.folder.join("data/attempts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

struct Agents(PathBuf);

impl Drop for Agents {
    fn drop(&mut self) {
        let folders = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let attempts = folders.filter_map(|entry| Attempt::open_existing(&entry.path()).ok());
        drop(Live(attempts.collect()));
    }
}
