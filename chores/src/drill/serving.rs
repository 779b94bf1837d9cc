//! A real `bowline serve` in a folder of its own, for drills: started, killed, asked over REST, and its processes counted.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use xtask::Outcome;
use xtask::shell::{Scratch, bowline, command};

/// Nobody answers later than this unless something hangs.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// How long the server may be away before that is an error: it is killed all the time, and started at once.
const AWAY_TIME: Duration = Duration::from_secs(60);
/// Between two tries to reach it.
const AGAIN_TIME: Duration = Duration::from_millis(4);

/// A process that belongs to a drill.
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) line: String,
}

impl Process {
    /// The attempt a shim owns.
    pub(crate) fn shim_of(&self) -> Option<String> {
        let folder = self.line.split_once(" agent ")?.1;
        let name = Path::new(folder.trim()).file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    pub(crate) fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            // One that has ended needs no kill.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A port that no connection is made from: one that is, while the server is down, would keep it from coming back.
fn free_port() -> Outcome<u16> {
    let from = u16::try_from(std::process::id() % 10_000).map_err(told)? + 20_000;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let port = (from..from + 2_000).find(is_free);
    port.ok_or_else(|| format!("no free port from {from} on"))
}

pub(crate) struct Serving {
    scratch: Scratch,
    /// The program as it was built.
    pub(crate) bowline: PathBuf,
    port: u16,
}

impl Serving {
    /// A folder with these settings and files; `{dir}` in them is the folder.
    pub(crate) fn new(name: &str, settings: &str, agent: &str) -> Outcome<Serving> {
        let serving = Serving {
            scratch: Scratch::new(name)?,
            bowline: bowline()?,
            port: free_port()?,
        };
        let dir = serving.dir().display().to_string();
        fs::create_dir_all(serving.notes()).map_err(told)?;
        for (name, text) in [("bowline.toml", settings), ("agent.sh", agent)] {
            let text = text.replace("{dir}", &dir);
            fs::write(serving.dir().join(name), text).map_err(told)?;
        }
        Ok(serving)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.scratch.0
    }

    /// Where agents note what they did.
    pub(crate) fn notes(&self) -> PathBuf {
        self.dir().join("notes")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir().join("data")
    }

    /// The lines of a note.
    pub(crate) fn noted(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.notes().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn start(&self, program: &Path, slots: usize) -> Outcome<Child> {
        let mut log = File::options();
        let log = log.create(true).append(true);
        let log = log.open(self.dir().join("server.log")).map_err(told)?;
        let listen = format!("127.0.0.1:{}", self.port);
        let slots = slots.to_string();
        let words = [
            "serve",
            "--listen",
            &listen,
            "--slots",
            &slots,
            "--data",
            "data",
            "--config",
            "bowline.toml",
        ];
        command(&program.to_string_lossy(), &words)
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir())
            .env("LANG", "C.UTF-8")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(told)
    }

    /// Asks once. An error says that nobody knows what became of it.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> io::Result<(u16, Vec<u8>)> {
        let token = fs::read_to_string(self.data().join("token"))?;
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(ANSWER_TIME))?;
        let key = key.map(|key| format!("Idempotency-Key: {key}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.port,
            token.trim(),
            key.unwrap_or_default(),
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
        let body = answer.split_off(end.ok_or_else(cut)? + 4);
        let head = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        let status = head
            .split_whitespace()
            .nth(1)
            .and_then(|it| it.parse().ok());
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length = length.and_then(|it| it.trim().parse::<usize>().ok());
        match length {
            // The server died while it answered.
            Some(length) if body.len() < length => Err(cut()),
            _ => Ok((status.ok_or_else(cut)?, body)),
        }
    }

    /// Asks until there is an answer, under the same id each time.
    pub(crate) fn insist(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> Outcome<(u16, Value)> {
        let text = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let since = Instant::now();
        loop {
            match self.ask(method, path, key, &text) {
                // It begins, or ends, or has too much to do.
                Ok((503 | 429, _)) => {}
                Ok((status, body)) => {
                    return Ok((status, serde_json::from_slice(&body).unwrap_or_default()));
                }
                Err(error) if since.elapsed() > AWAY_TIME => {
                    return Err(format!("{method} {path}: {error}"));
                }
                Err(_) => {}
            }
            super::common::pause(AGAIN_TIME);
        }
    }

    /// What a list holds.
    pub(crate) fn items(&self, path: &str) -> Outcome<Vec<Value>> {
        match self.insist("GET", path, None, &Value::Null)? {
            (200, mut page) => Ok(match page["items"].take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            }),
            (status, body) => Err(format!("GET {path}: {status} {body}")),
        }
    }

    /// Every living process of this drill but the server.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let dir = self.dir().display().to_string();
        let Ok(all) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let own = |name: std::ffi::OsString| {
            let pid: i32 = name.to_str()?.parse().ok()?;
            let read = |what: &str| {
                let bytes = fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let line = read("cmdline");
            let ours = line.contains(&dir) || read("environ").contains(&dir);
            (ours && !line.contains(" serve ")).then_some(Process { pid, line })
        };
        all.flatten()
            .filter_map(|entry| own(entry.file_name()))
            .collect()
    }

    /// Waits until nothing of the drill is left.
    pub(crate) fn nobody(&self) -> Outcome {
        let since = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return Ok(());
            }
            if since.elapsed() > Duration::from_secs(15) {
                let left: Vec<String> = left
                    .iter()
                    .map(|it| format!("{} {}", it.pid, it.line))
                    .collect();
                return Err(format!("processes are left over:\n{}", left.join("\n")));
            }
            super::common::pause(Duration::from_millis(50));
        }
    }
}

impl Drop for Serving {
    /// What a drill that failed leaves behind is ended: all of it names the folder.
    fn drop(&mut self) {
        self.processes().iter().for_each(Process::kill);
        if std::env::var_os("BOWLINE_DRILL_KEEP").is_some() {
            let kept = self.dir().with_extension("kept");
            let _ = fs::rename(self.dir(), &kept);
            println!("kept: {}", kept.display());
        }
    }
}

/// Kills the server as `kill -9` does.
pub(crate) fn kill(child: &mut Child) -> Outcome {
    child.kill().map_err(told)?;
    child.wait().map_err(told).map(|_| ())
}

pub(crate) fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
