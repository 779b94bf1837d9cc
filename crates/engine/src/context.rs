//! What every operation is given: the time, who asks, and how patient they are.

use crate::actor::{self, Standing};
use crate::clock::Clock;
use crate::error::Error;
use crate::kinds::FileKind;
use crate::relayed;
use crate::signing;
use bowline_formats::time;
use bowline_machines::{Actor, Timestamp};
use bowline_statefiles::{Disk, Request};
use bowline_words::Lang;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Names the file with the key that evidence is signed with.
pub const EVIDENCE_KEY_VARIABLE: &str = "BOWLINE_EVIDENCE_KEY_FILE";

/// The variables a process was started with. Shown by their names alone: values may be secrets.
#[derive(Clone, Default)]
pub struct Variables(Arc<BTreeMap<OsString, OsString>>);

impl Variables {
    /// The value of one, if it is set to anything.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(OsStr::new(name)).map(OsString::as_os_str);
        value.filter(|value| !value.is_empty())
    }

    /// Those that are text, for a process that shall have them too.
    pub fn texts(&self) -> impl Iterator<Item = (String, String)> {
        let text = |it: &OsString| it.to_str().map(str::to_owned);
        let texts = self.0.iter();
        texts.filter_map(move |(name, value)| Some((text(name)?, text(value)?)))
    }

    /// The same but for the path of the signing key: for commands of a project that are no evidence of a gate.
    pub fn for_commands(&self) -> BTreeMap<String, String> {
        let not_the_key = |(name, _): &(String, String)| name != EVIDENCE_KEY_VARIABLE;
        self.texts().filter(not_the_key).collect()
    }

    /// All of them, for a process that shall have them too.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The version of a file that whoever asks has decided on. It is held against the file under the lock of the first change;
/// whatever a verb does to the file after that is its own doing.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<Option<(PathBuf, u64)>>>);

impl Seen {
    /// A version of a file.
    pub fn of(path: &Path, version: u64) -> Self {
        Seen(Arc::new(Mutex::new(Some((path.to_owned(), version)))))
    }

    pub(crate) fn version(&self, path: &Path) -> Option<u64> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.as_ref().filter(|(known, _)| known == path);
        seen.map(|(_, version)| *version)
    }

    pub(crate) fn was_asked(&self, path: &Path) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.take_if(|(known, _)| known == path);
    }
}

/// The surroundings of one operation.
#[derive(Debug, Clone)]
pub struct Context {
    /// Where the time comes from.
    pub clock: Clock,
    /// Who asks, where the caller knows.
    pub actor: Option<Actor>,
    /// How long to wait for a lock.
    pub lock_wait: Duration,
    /// Decide, and write nothing.
    pub dry_run: bool,
    /// What is being done, for whoever waits for our lock.
    pub what: String,
    /// The disk that state files and evidence are kept on.
    pub disk: Arc<dyn Disk>,
    /// The file with the key that evidence is signed with.
    pub evidence_key: Option<PathBuf>,
    /// A person accepts signed evidence of commands that ran outside of a sandbox.
    pub unsandboxed_signing: bool,
    /// The variables of whoever asks.
    pub variables: Variables,
    /// The language of what is left behind in words, as in messages of commits.
    pub lang: Lang,
    /// The folder whoever asks stands in: commands that are advised work there.
    pub here: PathBuf,
    /// What whoever asks has seen of the file they want changed; nothing where they mean it as it is.
    pub seen: Seen,
}

impl Context {
    /// The surroundings this process finds itself in.
    pub fn from_environment(what: &str) -> Self {
        let variables = Variables(Arc::new(std::env::vars_os().collect()));
        let evidence_key = variables.get(EVIDENCE_KEY_VARIABLE).map(PathBuf::from);
        if let Some(key) = &evidence_key {
            signing::load_key(key);
        }
        Context {
            clock: Clock::from_environment(),
            actor: None,
            lock_wait: Duration::from_millis(bowline_statefiles::LOCK_WAIT_MS),
            dry_run: false,
            what: what.to_owned(),
            disk: relayed::disk(),
            evidence_key,
            unsandboxed_signing: false,
            variables,
            lang: Lang::of_environment(),
            here: std::path::absolute(".").unwrap_or_else(|_| PathBuf::from(".")),
            seen: Seen::default(),
        }
    }

    /// Whether a person asks, as far as can be told.
    pub fn is_person(&self) -> bool {
        self.actor() == Actor::Person
    }

    /// Who asks. Found out only when a rule wants to know: it means a look at every ancestor of this process.
    pub fn actor(&self) -> Actor {
        self.standing().actor()
    }

    /// Who asks, where a rule wants to know; whoever is not asked has the fewest rights.
    pub(crate) fn actor_if(&self, wanted: bool) -> Actor {
        if wanted { self.actor() } else { Actor::Agent }
    }

    /// What can be told of whoever asks.
    pub(crate) fn standing(&self) -> Standing {
        match self.actor {
            Some(Actor::Person) => Standing::Person,
            Some(Actor::Agent) => Standing::Agent,
            None => actor::standing(),
        }
    }

    /// A refusal as it is to be told: whoever may be a person and does not show it is told how to.
    pub fn explained(&self, error: Error) -> Error {
        match (error, self.actor) {
            (Error::AfterRepair { notices, error }, _) => Error::AfterRepair {
                notices,
                error: Box::new(self.explained(*error)),
            },
            (error, None) if error.code() == "needs_person" => match actor::standing() {
                Standing::Unshown(missing) => Error::PersonNotShown {
                    refused: Box::new(error),
                    missing,
                },
                Standing::Person | Standing::Agent => error,
            },
            (error, _) => error,
        }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Now, on the clock a kind of file is written by.
    pub(crate) fn now_for(&self, kind: FileKind) -> Timestamp {
        match kind {
            FileKind::Develop => self.clock.local_civil(),
            FileKind::Thinking
            | FileKind::TaskState
            | FileKind::TaskHistory
            | FileKind::SharedContext
            | FileKind::AgentMemory
            | FileKind::Orchestrate => self.now(),
        }
    }

    /// The request under which a file is written.
    pub(crate) fn request(&self) -> Request {
        let now_ms = self.clock.now_ms();
        // A process may make many at once.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Request {
            id: format!("{now_ms:x}-{:x}-{count:x}", std::process::id()),
            at: time::utc(self.now()),
            now_ms,
            what: self.what.clone(),
        }
    }
}
