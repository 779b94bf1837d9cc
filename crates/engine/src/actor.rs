//! Tells a person who gives a command from an agent. A terminal, or the documented variable in a
//! script, shows a person. Agents are detected from the environment and the ancestors of a process,
//! whatever they claim.

use crate::agents::SHIM_WORD;
use bowline_gate::clients::{ProcessStat, is_noted};
use bowline_machines::Actor;
use bowline_supervisor::shim;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;

/// Variables that agent clients set for everything they run.
pub const AGENT_VARIABLES: [&str; 10] = [
    bowline_supervisor::ATTEMPT_VARIABLE,
    "BOWLINE_AGENT_TOKEN_FILE",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "OPENCODE_SESSION",
];

/// Variable by which a script or CI job declares that it acts for a person. It replaces a terminal;
/// it never outweighs evidence of an agent.
pub const ACTOR_VARIABLE: &str = "BOWLINE_ACTOR";
/// Value of [`ACTOR_VARIABLE`] that declares a person.
pub const ACTOR_PERSON: &str = "person";

/// Programs of agent clients, by the names of their executables.
const CLIENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];
/// Interpreters that run clients which are scripts.
const RUNTIMES: [&str; 3] = ["node", "bun", "deno"];
/// Programs that may be the shim of an agent.
const SHIMS: [&str; 2] = ["bowline", "bowline-shim"];
/// Path parts by which client scripts, and executables named by their version only, are recognised.
const CLIENT_FOLDERS: [&str; 6] = [
    "/@anthropic-ai/claude-code",
    "/@openai/codex",
    "/@google/gemini-cli",
    "/opencode-ai/",
    "-agent-acp/",
    "/claude/versions/",
];

/// Initial buffer for files in `/proc`; larger than most environments. Such a file has no size, and
/// a reader that starts small asks the kernel a dozen times.
const PROC_BYTES_FIRST: usize = 8 * 1024;

/// Most ancestors examined. Only a process that wants to hide has a deeper tree.
const ANCESTORS_MAX: usize = 256;

/// Conclusion about the actor behind a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetectedActor {
    /// A person, or a script that acts for one.
    Person,
    /// An agent, by its own or an ancestor's environment, or because it descends from a client.
    Agent,
    /// Neither an agent nor a person was shown.
    Unshown(MissingPersonProof),
}

/// Missing proof that a person acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPersonProof {
    /// There is no controlling terminal.
    Terminal,
    /// The leader of the terminal's session is not among our ancestors: we were cut off from it.
    Ancestors,
}

impl DetectedActor {
    /// Returns the actor whose rights apply: an agent's unless a person is shown.
    pub fn effective_actor(self) -> Actor {
        match self {
            DetectedActor::Person => Actor::Person,
            DetectedActor::Agent | DetectedActor::Unshown(_) => Actor::Agent,
        }
    }

    /// `person`, `agent` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            DetectedActor::Person => "person",
            DetectedActor::Agent => "agent",
            DetectedActor::Unshown(_) => "unknown",
        }
    }
}

/// Returns the standing of this process. Computed once: it examines every ancestor.
pub fn detect_actor() -> DetectedActor {
    static STANDING: OnceLock<DetectedActor> = OnceLock::new();
    *STANDING.get_or_init(detect_uncached)
}

/// Returns the standing of another process of this user, such as one that calls a server by its
/// socket. Examined at every call.
pub fn standing_of(pid: u32) -> DetectedActor {
    let environment = read_proc_file(pid, "environ").unwrap_or_default();
    let says_person = format!("{ACTOR_VARIABLE}={ACTOR_PERSON}");
    let person = environment
        .split(|&byte| byte == 0)
        .any(|entry| entry == says_person.as_bytes());
    let Some(asking) = ProcessStat::read_process(pid) else {
        return DetectedActor::Unshown(MissingPersonProof::Terminal);
    };
    if is_agent(&asking) {
        return DetectedActor::Agent;
    }
    judge_by_ancestors(&asking, person)
}

/// Process ancestry by which the attempt of an agent is identified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessAncestry {
    /// The process and its ancestors, nearest first.
    pub processes: Vec<u32>,
    /// Attempts that their environments name. A process can name any attempt: its shim must be
    /// among the ancestors.
    pub attempts: BTreeSet<String>,
}

/// Returns the ancestry of another process of this user.
pub fn descent_of(pid: u32) -> ProcessAncestry {
    let mut descent = ProcessAncestry::default();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| *pid > 1 && descent.processes.len() < ANCESTORS_MAX) {
        descent.processes.push(pid);
        let environment = read_proc_file(pid, "environ").unwrap_or_default();
        let attempts = environment.split(|&byte| byte == 0).filter_map(|entry| {
            let (name, value) = str::from_utf8(entry).ok()?.split_once('=')?;
            (name == bowline_supervisor::ATTEMPT_VARIABLE).then(|| value.to_owned())
        });
        descent.attempts.extend(attempts);
        next = ProcessStat::read_process(pid).map(|process| process.parent);
    }
    descent
}

fn detect_uncached() -> DetectedActor {
    if AGENT_VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some())
    {
        return DetectedActor::Agent;
    }
    let Some(us) = ProcessStat::read_process(std::process::id()) else {
        return DetectedActor::Unshown(MissingPersonProof::Terminal);
    };
    let person = std::env::var_os(ACTOR_VARIABLE).is_some_and(|value| value == ACTOR_PERSON);
    // A client may become this command without a new process.
    if is_noted(&us, &[]) {
        return DetectedActor::Agent;
    }
    judge_by_ancestors(&us, person)
}

/// Decides by the ancestors of a process that is not itself an agent. `person` is true if it
/// declares that it acts for one.
fn judge_by_ancestors(us: &ProcessStat, person: bool) -> DetectedActor {
    let mut led = us.pid == us.session;
    let mut pid = us.parent;
    for depth in 0.. {
        if depth == ANCESTORS_MAX {
            // No terminal session is this deep; a chain that cannot be followed to its end counts
            // as an agent.
            return DetectedActor::Agent;
        }
        // An ancestor that cannot be read has ended or is hidden from us: the chain is cut there.
        let Some(ancestor) = ProcessStat::read_process(pid) else {
            break;
        };
        led |= ancestor.pid == us.session;
        if ancestor.pid > 1 && is_agent(&ancestor) {
            return DetectedActor::Agent;
        }
        pid = ancestor.parent;
        if pid == 0 {
            break;
        }
    }
    if person {
        DetectedActor::Person
    } else if us.terminal == 0 {
        DetectedActor::Unshown(MissingPersonProof::Terminal)
    } else if led {
        DetectedActor::Person
    } else {
        DetectedActor::Unshown(MissingPersonProof::Ancestors)
    }
}

fn is_agent(process: &ProcessStat) -> bool {
    // Another user's environment cannot be read; such an ancestor is no agent of ours.
    let environment = read_proc_file(process.pid, "environ").unwrap_or_default();
    mentions_agent(&environment)
        || is_noted(process, &environment)
        || CLIENTS.contains(&process.name.as_str())
        || is_client(process.pid)
}

/// True if a process runs the program of a client, or is the shim that owns an agent and so adopts
/// the processes its agent leaves behind.
fn is_client(pid: u32) -> bool {
    let Ok(program) = std::fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let named = |names: &[&str], path: &Path| {
        let stem = path.file_stem().and_then(OsStr::to_str);
        stem.is_some_and(|stem| names.contains(&stem))
    };
    let kept = |path: &Path| {
        let path = path.as_os_str().as_bytes();
        CLIENT_FOLDERS.iter().any(|folder| {
            path.windows(folder.len())
                .any(|part| part == folder.as_bytes())
        })
    };
    if named(&CLIENTS, &program) || kept(&program) {
        return true;
    }
    let (script, shim) = (named(&RUNTIMES, &program), named(&SHIMS, &program));
    if !script && !shim {
        return false;
    }
    let line = read_proc_file(pid, "cmdline").unwrap_or_default();
    let mut words = line.split(|&byte| byte == 0).skip(1);
    if shim {
        let word = words.next().and_then(|word| str::from_utf8(word).ok());
        return word.is_some_and(|word| word == SHIM_WORD || shim::WORDS.contains(&word));
    }
    // The script is the first word that is not an option; the value of an option does no harm here.
    words.any(|word| {
        let path = Path::new(OsStr::from_bytes(word));
        path.is_absolute() && (named(&CLIENTS, path) || kept(path))
    })
}

fn mentions_agent(environment: &[u8]) -> bool {
    environment.split(|&byte| byte == 0).any(|entry| {
        let name = entry.split(|&byte| byte == b'=').next().unwrap_or_default();
        AGENT_VARIABLES
            .iter()
            .any(|variable| variable.as_bytes() == name)
    })
}

/// Reads a file of a process in `/proc`; `None` if the process is gone or belongs to another user.
fn read_proc_file(pid: u32, what: &str) -> Option<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/{what}")).ok()?;
    let mut bytes = vec![0; PROC_BYTES_FIRST];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..]).ok()? {
            0 => break,
            read => filled += read,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_counts_by_its_whole_name() {
        assert!(mentions_agent(b"A=1\0CLAUDECODE=1\0"));
        assert!(mentions_agent(b"GEMINI_CLI=\0"));
        assert!(!mentions_agent(
            b"XCLAUDECODE=1\0CLAUDECODED=1\0NOTE=CLAUDECODE\0"
        ));
        assert!(!mentions_agent(b""));
    }

    /// `.cargo/alone` starts the tests and has to unset each of these variables.
    #[test]
    fn the_entry_of_the_tests_knows_every_variable() {
        let entry = include_str!("../../../.cargo/alone");
        for name in AGENT_VARIABLES {
            assert!(entry.contains(&format!("-u {name} ")), "{name}");
        }
    }

    #[test]
    fn whoever_is_not_shown_has_the_rights_of_an_agent() {
        let unshown = [MissingPersonProof::Terminal, MissingPersonProof::Ancestors]
            .map(DetectedActor::Unshown);
        assert!(
            unshown
                .iter()
                .all(|one| one.effective_actor() == Actor::Agent)
        );
        assert_eq!(DetectedActor::Agent.effective_actor(), Actor::Agent);
        assert_eq!(DetectedActor::Person.effective_actor(), Actor::Person);
    }
}
