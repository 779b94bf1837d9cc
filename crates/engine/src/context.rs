//! Context of an operation: its time, actor, environment and limits.

use crate::actor::{self, DetectedActor};
use crate::clock::Clock;
use crate::error::Error;
use crate::evidence_key;
use crate::kinds::FileKind;
use crate::relay_process;
use bowline_formats::time;
use bowline_machines::{Actor, Timestamp};
use bowline_statefiles::{Disk, WriteRequest};
use bowline_words::Lang;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Variable that names the file with the key evidence is signed with.
pub const EVIDENCE_KEY_VARIABLE: &str = "BOWLINE_EVIDENCE_KEY_FILE";

/// Environment variables of a process. Debug output shows names only: values may be secrets.
#[derive(Clone, Default)]
pub struct EnvVars(Arc<BTreeMap<OsString, OsString>>);

impl EnvVars {
    /// Returns the value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(OsStr::new(name)).map(OsString::as_os_str);
        value.filter(|value| !value.is_empty())
    }

    /// Returns the variables that are valid text, to pass them to another process.
    pub fn text_pairs(&self) -> impl Iterator<Item = (String, String)> {
        let text = |it: &OsString| it.to_str().map(str::to_owned);
        let texts = self.0.iter();
        texts.filter_map(move |(name, value)| Some((text(name)?, text(value)?)))
    }

    /// Returns the text variables without the path of the signing key: for commands of a project
    /// that are not evidence of a gate.
    pub fn for_commands(&self) -> BTreeMap<String, String> {
        let not_the_key = |(name, _): &(String, String)| name != EVIDENCE_KEY_VARIABLE;
        self.text_pairs().filter(not_the_key).collect()
    }

    /// Returns all variables, to pass them to another process.
    pub(crate) fn all_pairs(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
    }
}

impl fmt::Debug for EnvVars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Version of a file that the caller's decision is based on. It is compared with the file under the
/// lock of the first change; later versions of the same operation are the verb's own.
#[derive(Debug, Clone, Default)]
pub struct ExpectedVersion(Arc<Mutex<Option<(PathBuf, u64)>>>);

impl ExpectedVersion {
    /// Returns the expected version of a file.
    pub fn of_file(path: &Path, version: u64) -> Self {
        ExpectedVersion(Arc::new(Mutex::new(Some((path.to_owned(), version)))))
    }

    pub(crate) fn version_of(&self, path: &Path) -> Option<u64> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.as_ref().filter(|(known, _)| known == path);
        seen.map(|(_, version)| *version)
    }

    pub(crate) fn was_asked(&self, path: &Path) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.take_if(|(known, _)| known == path);
    }
}

/// Context of one operation.
#[derive(Debug, Clone)]
pub struct Context {
    pub clock: Clock,
    /// Actor, if the caller knows it; otherwise it is determined when a rule needs it.
    pub actor: Option<Actor>,
    /// Time limit for taking a lock.
    pub lock_wait: Duration,
    /// Decides without writing anything.
    pub dry_run: bool,
    /// Description of the operation, shown to others that wait for its lock.
    pub what: String,
    /// Disk for state files and evidence.
    pub disk: Arc<dyn Disk>,
    /// File with the key that evidence is signed with.
    pub evidence_key: Option<PathBuf>,
    /// True if a person accepts signed evidence of commands that ran outside a sandbox.
    pub unsandboxed_signing: bool,
    /// Environment of the caller.
    pub variables: EnvVars,
    /// Language of texts that are stored, such as commit messages.
    pub lang: Lang,
    /// Working folder of the caller: suggested commands work there.
    pub here: PathBuf,
    /// Version of the file that the caller saw; empty if any version may be changed.
    pub seen: ExpectedVersion,
}

impl Context {
    /// Creates the context of this process. `what` describes the operation.
    pub fn from_environment(what: &str) -> Self {
        let variables = EnvVars(Arc::new(std::env::vars_os().collect()));
        let evidence_key = variables.get(EVIDENCE_KEY_VARIABLE).map(PathBuf::from);
        if let Some(key) = &evidence_key {
            evidence_key::load_key(key);
        }
        Context {
            clock: Clock::from_environment(),
            actor: None,
            lock_wait: Duration::from_millis(bowline_statefiles::LOCK_WAIT_MS),
            dry_run: false,
            what: what.to_owned(),
            disk: relay_process::state_disk(),
            evidence_key,
            unsandboxed_signing: false,
            variables,
            lang: Lang::from_environment(),
            here: std::path::absolute(".").unwrap_or_else(|_| PathBuf::from(".")),
            seen: ExpectedVersion::default(),
        }
    }

    /// True if a person acts, as far as can be determined.
    pub fn is_person(&self) -> bool {
        self.actor() == Actor::Person
    }

    /// Returns the actor. Determined only when a rule needs it: it examines every ancestor of this
    /// process.
    pub fn actor(&self) -> Actor {
        self.detected_actor().effective_actor()
    }

    /// Returns the actor if `wanted`, otherwise an agent, which has the fewest rights.
    pub(crate) fn actor_if(&self, wanted: bool) -> Actor {
        if wanted { self.actor() } else { Actor::Agent }
    }

    /// Returns the standing of the caller.
    pub(crate) fn detected_actor(&self) -> DetectedActor {
        match self.actor {
            Some(Actor::Person) => DetectedActor::Person,
            Some(Actor::Agent) => DetectedActor::Agent,
            None => actor::detect_actor(),
        }
    }

    /// Completes a refusal that needs a person: a caller that may be a person but does not show it
    /// learns how to.
    pub fn explain_refusal(&self, error: Error) -> Error {
        match (error, self.actor) {
            (Error::AfterRepair { notices, error }, _) => Error::AfterRepair {
                notices,
                error: Box::new(self.explain_refusal(*error)),
            },
            (error, None) if error.code() == "needs_person" => match actor::detect_actor() {
                DetectedActor::Unshown(missing) => Error::PersonNotShown {
                    refused: Box::new(error),
                    missing,
                },
                DetectedActor::Person | DetectedActor::Agent => error,
            },
            (error, _) => error,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the present time on the clock that a kind of file is written by.
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

    /// Creates the request under which a file is written.
    pub(crate) fn new_request(&self) -> WriteRequest {
        let now_ms = self.clock.now_ms();
        // A process may make many within one millisecond.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        WriteRequest {
            id: format!("{now_ms:x}-{:x}-{count:x}", std::process::id()),
            at: time::format_utc(self.now()),
            now_ms,
            what: self.what.clone(),
        }
    }
}
