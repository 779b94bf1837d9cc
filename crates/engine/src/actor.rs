//! Who gives a command. A person is shown, by a terminal or in the way that is documented for scripts; an agent is found,
//! whatever it says of itself.

use crate::agents::SHIM_WORD;
use bowline_gate::clients::{Process, is_noted};
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

/// Says in a script or in CI that it acts for a person: in the place of a terminal, never against a sign of an agent.
pub const ACTOR_VARIABLE: &str = "BOWLINE_ACTOR";
/// What [`ACTOR_VARIABLE`] says then.
pub const ACTOR_PERSON: &str = "person";

/// Programs of agent clients, by the names of their executables.
const CLIENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];
/// Programs that run a client which is a script.
const RUNTIMES: [&str; 3] = ["node", "bun", "deno"];
/// Programs that may be the shim of an agent.
const SHIMS: [&str; 2] = ["bowline", "bowline-shim"];
/// Where such scripts, and executables named by their version only, are kept.
const CLIENT_FOLDERS: [&str; 6] = [
    "/@anthropic-ai/claude-code",
    "/@openai/codex",
    "/@google/gemini-cli",
    "/opencode-ai/",
    "-agent-acp/",
    "/claude/versions/",
];

/// More than most environments have. A file in `/proc` has no size to go by, and a reader that begins small asks the
/// kernel a dozen times for what it can say at once.
const PROC_BYTES_FIRST: usize = 8 * 1024;

/// Ancestors looked at. Deeper trees of processes are built by nobody but whoever wants not to be looked at.
const ANCESTORS_MAX: usize = 256;

/// What can be told of whoever gives a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A person, or a script that acts for one.
    Person,
    /// An agent: by its own or an ancestor's environment, or because it descends from a client.
    Agent,
    /// Nothing shows an agent, and nothing a person.
    Unshown(Missing),
}

/// What would have shown a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// There is no controlling terminal.
    Terminal,
    /// The leader of the terminal's session is none of our ancestors: we were cut off from it.
    Ancestors,
}

impl Standing {
    /// Whoever is not shown to be a person has the rights of an agent.
    pub fn actor(self) -> Actor {
        match self {
            Standing::Person => Actor::Person,
            Standing::Agent | Standing::Unshown(_) => Actor::Agent,
        }
    }

    /// `person`, `agent` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Person => "person",
            Standing::Agent => "agent",
            Standing::Unshown(_) => "unknown",
        }
    }
}

/// Who started this process. Looked up once: it costs a look at every ancestor.
pub fn standing() -> Standing {
    static STANDING: OnceLock<Standing> = OnceLock::new();
    *STANDING.get_or_init(look)
}

/// Who is behind another process of this user: one that asks a server by its socket. Looked at each time.
pub fn standing_of(pid: u32) -> Standing {
    let environment = proc(pid, "environ").unwrap_or_default();
    let says_person = format!("{ACTOR_VARIABLE}={ACTOR_PERSON}");
    let person = environment
        .split(|&byte| byte == 0)
        .any(|entry| entry == says_person.as_bytes());
    let Some(asking) = Process::look(pid) else {
        return Standing::Unshown(Missing::Terminal);
    };
    if is_agent(&asking) {
        return Standing::Agent;
    }
    above(&asking, person)
}

/// What shows of which attempt the agent is that a process descends from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Descent {
    /// The process and its ancestors, nearest first.
    pub processes: Vec<u32>,
    /// The attempts that their environments name. A process can name any: its shim must be among the ancestors.
    pub attempts: BTreeSet<String>,
}

/// The descent of another process of this user.
pub fn descent_of(pid: u32) -> Descent {
    let mut descent = Descent::default();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| *pid > 1 && descent.processes.len() < ANCESTORS_MAX) {
        descent.processes.push(pid);
        let environment = proc(pid, "environ").unwrap_or_default();
        let attempts = environment.split(|&byte| byte == 0).filter_map(|entry| {
            let (name, value) = str::from_utf8(entry).ok()?.split_once('=')?;
            (name == bowline_supervisor::ATTEMPT_VARIABLE).then(|| value.to_owned())
        });
        descent.attempts.extend(attempts);
        next = Process::look(pid).map(|process| process.parent);
    }
    descent
}

fn look() -> Standing {
    if AGENT_VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some())
    {
        return Standing::Agent;
    }
    let Some(us) = Process::look(std::process::id()) else {
        return Standing::Unshown(Missing::Terminal);
    };
    let person = std::env::var_os(ACTOR_VARIABLE).is_some_and(|value| value == ACTOR_PERSON);
    // A client may become this command without a new process.
    if is_noted(&us, &[]) {
        return Standing::Agent;
    }
    above(&us, person)
}

/// What the ancestors of a process show that is no agent itself; `person` when it says that it acts for one.
fn above(us: &Process, person: bool) -> Standing {
    let mut led = us.pid == us.session;
    let mut pid = us.parent;
    for depth in 0.. {
        if depth == ANCESTORS_MAX {
            // Nobody types so deep; what cannot be looked at to its end is no person.
            return Standing::Agent;
        }
        // An ancestor of whom nothing can be read has ended since, or is hidden from us: there the line is cut.
        let Some(ancestor) = Process::look(pid) else {
            break;
        };
        led |= ancestor.pid == us.session;
        if ancestor.pid > 1 && is_agent(&ancestor) {
            return Standing::Agent;
        }
        pid = ancestor.parent;
        if pid == 0 {
            break;
        }
    }
    if person {
        Standing::Person
    } else if us.terminal == 0 {
        Standing::Unshown(Missing::Terminal)
    } else if led {
        Standing::Person
    } else {
        Standing::Unshown(Missing::Ancestors)
    }
}

fn is_agent(process: &Process) -> bool {
    // Another user's environment cannot be read; such an ancestor is no agent of ours.
    let environment = proc(process.pid, "environ").unwrap_or_default();
    mentions_agent(&environment)
        || is_noted(process, &environment)
        || CLIENTS.contains(&process.name.as_str())
        || is_client(process.pid)
}

/// Whether a process runs the program of a client, or is the shim that owns an agent: what its agent leaves behind is handed
/// to it.
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
    let line = proc(pid, "cmdline").unwrap_or_default();
    let mut words = line.split(|&byte| byte == 0).skip(1);
    if shim {
        let word = words.next().and_then(|word| str::from_utf8(word).ok());
        return word.is_some_and(|word| word == SHIM_WORD || shim::WORDS.contains(&word));
    }
    // The script is the first word that is no option; a value of an option does no harm here.
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

/// What the kernel says of a process; nothing when it is gone or another user's.
fn proc(pid: u32, what: &str) -> Option<Vec<u8>> {
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

    /// It makes the environment of the tests, whoever starts them.
    #[test]
    fn the_entry_of_the_tests_knows_every_variable() {
        let entry = include_str!("../../../.cargo/alone");
        for name in AGENT_VARIABLES {
            assert!(entry.contains(&format!("-u {name} ")), "{name}");
        }
    }

    #[test]
    fn whoever_is_not_shown_has_the_rights_of_an_agent() {
        let unshown = [Missing::Terminal, Missing::Ancestors].map(Standing::Unshown);
        assert!(unshown.iter().all(|one| one.actor() == Actor::Agent));
        assert_eq!(Standing::Agent.actor(), Actor::Agent);
        assert_eq!(Standing::Person.actor(), Actor::Person);
    }
}
