//! The processes of agent clients: the hook notes the client that calls it, and every descendant of
//! a noted process counts as the agent.
//!
//! A note is an empty file in Bowline's state folder, named after process id and start time.
//! Several hooks may write the same note at once; nearly always a hook finds the note already there
//! and does nothing.

use crate::locate;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Folder of the notes, relative to the state home.
const FOLDER: &str = "bowline/clients";
/// Enough for a whole `/proc/PID/stat` line.
const STAT_BYTES_MAX: usize = 1024;
/// Shells and other programs between a client and its hook.
const BETWEEN_MAX: usize = 16;
/// Notes checked in one clean-up. Every new note removes those of ended processes, so there are
/// never this many.
const NOTES_MAX: usize = 1024;

/// Shells and programs that only run another one: a client may put them before the hook.
const PASSERS: &str = "sh bash dash ash busybox zsh ksh mksh csh tcsh fish nu elvish xonsh pwsh env timeout nice nohup setsid stdbuf";
/// Programs below which a person's shells or scheduled jobs run. They call a hook only if a person
/// types it.
const LAUNCHERS: [&str; 14] = [
    "systemd",
    "(sd-pam)",
    "init",
    "login",
    "sshd",
    "sshd-session",
    "tmux: server",
    "screen",
    "su",
    "sudo",
    "cron",
    "crond",
    "atd",
    "script",
];

/// A process as `/proc/PID/stat` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: u32,
    /// The command name, cut by the kernel to 15 bytes.
    pub name: String,
    /// The process id of its parent, or of the process that adopted it.
    pub parent: u32,
    /// The id of its session, which is the process id of the session leader.
    pub session: u32,
    /// Its controlling terminal; 0 if it has none.
    pub terminal: i32,
    /// Clock ticks since boot: together with the process id this is never used again.
    pub start: u64,
}

impl ProcessStat {
    /// Reads a process; `None` if it does not exist.
    pub fn read_process(pid: u32) -> Option<ProcessStat> {
        let mut text = [0; STAT_BYTES_MAX];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let count = file.read(&mut text).ok()?;
        ProcessStat::parse(&text[..count])
    }

    /// Parses a `stat` line. The name stands in brackets and may itself hold brackets.
    fn parse(stat: &[u8]) -> Option<ProcessStat> {
        let open = stat.iter().position(|&byte| byte == b'(')?;
        let close = stat.iter().rposition(|&byte| byte == b')')?;
        let pid = str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
        let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
        let rest = str::from_utf8(stat.get(close + 1..)?).ok()?;
        // Word 3 of the line is the first here: state, parent, group, session, terminal; word 22 is
        // the start.
        let mut words = rest.split_ascii_whitespace();
        let parent = words.nth(1)?.parse().ok()?;
        let session = words.nth(1)?.parse().ok()?;
        let terminal = words.next()?.parse().ok()?;
        let start = words.nth(14)?.parse().ok()?;
        Some(ProcessStat {
            pid,
            name,
            parent,
            session,
            terminal,
            start,
        })
    }

    /// True if the process leads a session at a terminal, as an interactive shell does.
    pub fn leads_a_terminal(&self) -> bool {
        self.session == self.pid && self.terminal != 0
    }

    fn note_name(&self) -> String {
        format!("{}-{}", self.pid, self.start)
    }
}

/// True if a hook has noted a process as a client. The client's hook had the client's environment,
/// so the note is also looked for in the state home that `environment` names: setting a variable
/// for one command does not avoid it.
pub fn is_noted(process: &ProcessStat, environment: &[u8]) -> bool {
    let value = |name: &'static str| {
        let mut entries = environment.split(|&byte| byte == 0);
        let found =
            entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsStr::from_bytes(found).to_owned())
    };
    let note = process.note_name();
    let there = |state_home: PathBuf| state_home.join(FOLDER).join(&note).exists();
    there(locate::state_home()) || there(locate::state_home_in(value))
}

/// Notes the client that started this hook, unless it is noted already. Errors are ignored: a
/// client is also recognised by its program name.
pub(crate) fn note_client() {
    let Some(client) = find_client(std::os::unix::process::parent_id()) else {
        return;
    };
    let folder = locate::state_home().join(FOLDER);
    let path = folder.join(client.note_name());
    if path.exists() || !is_own_process(client.pid) {
        return;
    }
    let _ = std::fs::create_dir_all(&folder);
    let _ = File::create(path);
    remove_stale_notes(&folder);
}

/// Finds the client above a hook: the nearest ancestor that does more than run the hook. An
/// interactive shell does not count.
fn find_client(parent: u32) -> Option<ProcessStat> {
    let mut pid = parent;
    for _ in 0..BETWEEN_MAX {
        let process = ProcessStat::read_process(pid).filter(|it| it.pid > 1)?;
        let name = process.name.as_str();
        if !PASSERS.split(' ').any(|passer| passer == name) {
            return (!LAUNCHERS.contains(&name)).then_some(process);
        }
        if process.leads_a_terminal() {
            return None;
        }
        pid = process.parent;
    }
    None
}

fn is_own_process(pid: u32) -> bool {
    let owner = |of: &str| std::fs::metadata(format!("/proc/{of}")).map(|it| it.uid());
    matches!((owner(&pid.to_string()), owner("self")), (Ok(its), Ok(ours)) if its == ours)
}

/// Removes the notes of processes that have ended.
fn remove_stale_notes(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.take(NOTES_MAX) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.split('-').next().and_then(|pid| pid.parse().ok());
        let runs = pid
            .and_then(ProcessStat::read_process)
            .is_some_and(|it| it.note_name() == name);
        if !runs {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_calls_itself() {
        let stat = b"77 (a) S 9 (b) S 12 70 71 34816 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 4711 99 1";
        let process = ProcessStat::parse(stat).unwrap();
        let wanted = ProcessStat {
            pid: 77,
            name: "a) S 9 (b".into(),
            parent: 12,
            session: 71,
            terminal: 34816,
            start: 4711,
        };
        assert_eq!(process, wanted);
        assert_eq!(ProcessStat::parse(b"77 (sh"), None);
        assert_eq!(ProcessStat::parse(b""), None);
        let us = ProcessStat::read_process(std::process::id()).unwrap();
        assert_eq!(us.parent, std::os::unix::process::parent_id());
    }

    #[test]
    fn a_note_is_found_by_the_environment_of_the_client() {
        let folder = tempfile::tempdir().unwrap();
        let us = ProcessStat::read_process(std::process::id()).unwrap();
        let home = folder.path().to_str().unwrap();
        let environments = [
            format!("A=1\0XDG_STATE_HOME={home}/.local/state\0HOME=/x\0"),
            format!("HOME={home}\0XDG_STATE_HOME=\0"),
        ];
        let noted = |it: &String| is_noted(&us, it.as_bytes());
        assert!(!environments.iter().any(noted));
        let at = folder.path().join(".local/state").join(FOLDER);
        std::fs::create_dir_all(&at).unwrap();
        std::fs::write(at.join(us.note_name()), "").unwrap();
        assert!(environments.iter().all(noted));
    }

    #[test]
    fn notes_of_processes_that_are_gone_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let us = ProcessStat::read_process(std::process::id()).unwrap();
        let other_start = format!("{}-{}", us.pid, us.start + 1);
        for name in [us.note_name(), other_start, "4194999-1".into(), "x".into()] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        remove_stale_notes(folder.path());
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].file_name().to_str(), Some(us.note_name().as_str()));
    }
}
