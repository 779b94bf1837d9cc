//! Gathers evidence: runs the command and stores its result before any rule relies on it.

use super::run_lock::RunLock;
use super::{RunFolder, seal};
use crate::context::{Context, EVIDENCE_KEY_VARIABLE};
use crate::error::Error;
use crate::evidence_key::{self, SigningConfinement};
use crate::process::{self, CommandSetting};
use crate::tree::{self, Checkout, HashedTree, TreeInPlace};
use crate::words::{cannot_be_read, display_path, system_cause};
use bowline_formats::develop::evidence::{
    self, EvidenceRecord, EvidenceSource, FILE_NAME, VERSION,
};
use bowline_formats::develop::seal::Seal;
use bowline_formats::develop::tree_listing;
use bowline_formats::time;
use bowline_gate::locate;
use bowline_statefiles::{ContentHash, append_line};
use bowline_words::message::{Advice, Change, Why, Wrong};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Context of key derivation: another use of the same file must not produce the same signatures.
const KEY_CONTEXT: &str = "bowline develop evidence v1";

/// Variables passed to a command unchanged. Sealed ones take precedence, and the policy may name
/// more.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR",
];

/// Interval of progress reports while a command runs, in milliseconds.
const TICK_MS: u64 = 1_000;

/// Shortest key accepted: a shorter one is guessed sooner than it is stolen.
const KEY_BYTES_MIN: usize = 16;

/// Receives the progress of a running command and may cancel it.
pub trait CommandObserver {
    /// Reports that the command starts.
    fn on_started(&self, command: &str);
    /// Reports that the command still runs.
    fn on_tick(&self, command: &str, elapsed: Duration);
    /// Reports that the command has ended. Its evidence is stored, unless the tree changed
    /// meanwhile.
    fn on_ended(&self, evidence: &EvidenceRecord);
    /// True if the caller has cancelled: then the command is ended, and nothing is stored or
    /// changed.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// An observer that ignores all reports.
impl CommandObserver for () {
    fn on_started(&self, _command: &str) {}
    fn on_tick(&self, _command: &str, _elapsed: Duration) {}
    fn on_ended(&self, _evidence: &EvidenceRecord) {}
}

/// Subject of evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EvidenceSubject<'n> {
    Gate(&'n str),
    Checkpoint(&'n str),
}

/// Tree that a command runs on.
enum CommandTree {
    InPlace(TreeInPlace),
    Checkout(Checkout),
}

impl CommandTree {
    fn hashed_tree(&self) -> &HashedTree {
        match self {
            CommandTree::InPlace(it) => &it.tree,
            CommandTree::Checkout(it) => &it.tree,
        }
    }
}

/// Evidence with the lock of its run. The lock is held until the gate has moved, so that a waiting
/// caller finds the gate open.
#[derive(Debug)]
pub(crate) struct GatheredEvidence {
    pub(crate) evidence: EvidenceRecord,
    /// True if the evidence is that of a run which another caller had started.
    pub(crate) shared: bool,
    _lock: Option<RunLock>,
}

/// Circumstances under which evidence is gathered: run, seal and limits.
pub(crate) struct EvidenceCollector<'s> {
    context: &'s Context,
    run: &'s RunFolder,
    file: &'s Path,
    seal: Option<&'s Seal>,
    limit: Duration,
    watch: &'s dyn CommandObserver,
}

impl<'s> EvidenceCollector<'s> {
    pub(crate) fn new(
        context: &'s Context,
        run: &'s RunFolder,
        file: &'s Path,
        seal: Option<&'s Seal>,
        watch: &'s dyn CommandObserver,
    ) -> Self {
        // The sealed limit; without a seal, that of the project's policy if it can be read.
        let limit_seconds = match seal {
            Some(seal) => seal.rules.timeout_seconds,
            None => {
                let rules = seal::policy_of(locate::root_of(file));
                rules.unwrap_or_default().timeout_seconds
            }
        };
        EvidenceCollector {
            context,
            run,
            file,
            seal,
            limit: Duration::from_secs(limit_seconds),
            watch,
        }
    }

    /// Runs a command and stores its evidence. If another caller has just run it for the same gate
    /// on the same tree, returns that evidence instead.
    pub(crate) fn gather_evidence(
        &self,
        what: EvidenceSubject<'_>,
        source: EvidenceSource,
        command: &str,
    ) -> Result<GatheredEvidence, Error> {
        let root = locate::root_of(self.file);
        let outside = tree::outside_of_hash(root)?;
        if !outside.is_empty() {
            return Err(Error::OutsideTree { changes: outside });
        }
        let known = self.kept_since(0)?.1;
        let (tested, lock) = loop {
            let mut tested = self.tested_tree(root)?;
            let EvidenceSubject::Gate(gate) = what else {
                break (tested, None);
            };
            let name = run_name(gate, source, command, &tested.hashed_tree().id);
            let mut poll = self.progress_callback(command);
            let lock = RunLock::acquire(&self.run.folder, &name, &mut poll)?;
            if lock.waited {
                let before = tested.hashed_tree().id.clone();
                tested = self.tested_tree(root)?;
                if tested.hashed_tree().id != before {
                    continue;
                }
            }
            let wanted = self.blank_evidence(what, source, tested.hashed_tree().id.clone());
            let key = self.context.evidence_key.as_deref().map(read_key);
            let key = key.transpose()?;
            let is_same = |one: &EvidenceRecord| {
                one.command.as_deref() == Some(command)
                    && (&one.gate, one.source) == (&wanted.gate, source)
                    && (&one.tree, &one.policy) == (&wanted.tree, &wanted.policy)
                    && key.as_ref().is_none_or(|key| is_signed(key, one))
            };
            if let Some(evidence) = self.kept_since(known)?.0.into_iter().rev().find(is_same) {
                self.watch.on_ended(&evidence);
                return Ok(GatheredEvidence {
                    evidence,
                    shared: true,
                    _lock: Some(lock),
                });
            }
            break (tested, Some(lock));
        };
        let confinement = self.decide_confinement(root, &tested)?;
        self.watch.on_started(command);
        let (folder, ours) = match &tested {
            CommandTree::Checkout(it) => (it.root.as_path(), Some(it.folder.as_path())),
            CommandTree::InPlace(_) => (root, None),
        };
        let tree = tested.hashed_tree().clone();
        let temporary = match (&confinement, &tested) {
            (Some(SigningConfinement::Sandbox(sandbox)), CommandTree::Checkout(it)) => {
                (!evidence_key::may_use_temporary(&self.context.variables, sandbox))
                    .then_some(&it.temporary)
            }
            _ => None,
        };
        let place = CommandSetting {
            folder,
            ours,
            sandbox: match &confinement {
                Some(SigningConfinement::Sandbox(sandbox)) => Some(sandbox),
                Some(SigningConfinement::Agent | SigningConfinement::Unsandboxed) | None => None,
            },
            environment: self.command_environment(temporary),
            limit: self.limit,
        };
        let ran = process::run_command(command, &place, &mut self.progress_callback(command))?;
        check_not_cancelled(self.watch, command)?;
        let changes = match tested {
            CommandTree::InPlace(it) => it.into_changes()?,
            CommandTree::Checkout(it) => it.into_changes()?,
        };
        let blank = self.blank_evidence(what, source, tree.id.clone());
        let evidence = EvidenceRecord {
            command: Some(command.to_owned()),
            exit_code: ran.exit_code,
            duration_ms: ran.duration_ms,
            output_hash: Some(ran.output_hash),
            output_bytes: ran.output_bytes,
            output_tail: ran.output_tail,
            unsandboxed: matches!(confinement, Some(SigningConfinement::Unsandboxed)),
            ..blank
        };
        if !changes.is_empty() {
            // It is evidence of nothing, but the output of a red command helps to fix it.
            self.watch.on_ended(&evidence);
            return Err(Error::ChangedWhileRunning {
                command: command.to_owned(),
                changes,
            });
        }
        self.keep_tree(what, &tree)?;
        let evidence = self.store_evidence(evidence)?;
        self.watch.on_ended(&evidence);
        Ok(GatheredEvidence {
            evidence,
            shared: false,
            _lock: lock,
        })
    }

    /// Returns the callback of a wait: it reports progress about once a second and fails once the
    /// call is cancelled.
    fn progress_callback(&self, command: &str) -> impl FnMut(Duration) -> Result<(), Error> {
        let mut last_report = Duration::ZERO;
        move |elapsed| {
            if elapsed.saturating_sub(last_report) >= Duration::from_millis(TICK_MS) {
                last_report = elapsed;
                self.watch.on_tick(command, elapsed);
            }
            check_not_cancelled(self.watch, command)
        }
    }

    /// Returns the evidence of the run after the first `known` pieces, and the count of all pieces.
    fn kept_since(&self, known: usize) -> Result<(Vec<EvidenceRecord>, usize), Error> {
        let mut kept = all_evidence(self.run)?;
        let count = kept.len();
        Ok((kept.split_off(known.min(count)), count))
    }

    /// Stores a person's statement as evidence.
    pub(crate) fn record_statement(
        &self,
        what: EvidenceSubject<'_>,
        reason: &str,
    ) -> Result<GatheredEvidence, Error> {
        let root = locate::root_of(self.file);
        let tree = tree::hash_listed(self.context, root, &locate::side_folder(self.file))?;
        self.keep_tree(what, &tree)?;
        let blank = self.blank_evidence(what, EvidenceSource::ByHand, tree.id);
        let evidence = self.store_evidence(EvidenceRecord {
            reason: Some(reason.to_owned()),
            ..blank
        })?;
        Ok(GatheredEvidence {
            evidence,
            shared: false,
            _lock: None,
        })
    }

    /// Returns the tree in place, observed while the command runs; for signed evidence, a checkout
    /// of it.
    fn tested_tree(&self, root: &Path) -> Result<CommandTree, Error> {
        if let Some(checkout) = self.make_checkout()? {
            return Ok(CommandTree::Checkout(checkout));
        }
        let sealed = self.seal.into_iter().flat_map(|seal| seal.files.keys());
        let sealed = sealed.map(|path| root.join(path)).collect();
        let side = locate::side_folder(self.file);
        let observed = TreeInPlace::start_observing(self.context, root, &side, sealed)?;
        Ok(CommandTree::InPlace(observed))
    }

    /// Decides how a command with signed evidence is kept from the key; `None` for unsigned
    /// evidence. The command may write its checkout and the paths shared with it.
    fn decide_confinement(
        &self,
        root: &Path,
        tested: &CommandTree,
    ) -> Result<Option<SigningConfinement>, Error> {
        let (Some(key), CommandTree::Checkout(checkout)) = (&self.context.evidence_key, tested)
        else {
            return Ok(None);
        };
        let share = self.seal.map_or(&[][..], |seal| &seal.rules.share);
        let mut write: Vec<_> = share.iter().map(|path| root.join(path)).collect();
        write.extend(checkout.folder.parent().map(Path::to_owned));
        SigningConfinement::choose_confinement(self.context, key, write).map(Some)
    }

    /// Makes a copy of the tree for signed evidence: a signature says that exactly this tree was
    /// tested.
    fn make_checkout(&self) -> Result<Option<Checkout>, Error> {
        if self.context.evidence_key.is_none() {
            return Ok(None);
        }
        let root = locate::root_of(self.file);
        let share = self.seal.map_or(&[][..], |seal| &seal.rules.share);
        let side = locate::side_folder(self.file);
        let checkout = tree::make_checkout(self.context, root, &side, share)?;
        if let Some(seal) = self.seal {
            // Ignored files are not in the checkout.
            let now = seal::sealed_files(&checkout.root, &seal.rules)?;
            let other = now
                .iter()
                .filter(|(path, hash)| seal.files.get(*path) != Some(hash));
            let other = other.map(|(path, _)| Change::Changed { path: path.clone() });
            let changes: Vec<Change> = other.collect();
            if !changes.is_empty() {
                return Err(Error::StaleEvidence {
                    changes,
                    tree_only: false,
                });
            }
        }
        Ok(Some(checkout))
    }

    /// Returns the variables of a command that decides a gate: sealed ones, those that every
    /// program expects, and those the policy names. Neither keys nor other variables of the caller
    /// are passed. Temporary files go to `temporary` if it is given.
    fn command_environment(&self, temporary: Option<&PathBuf>) -> Vec<(OsString, OsString)> {
        let named = self.seal.map_or(&[][..], |seal| &seal.rules.environment);
        let passed = |name: &OsStr| {
            let name = name.to_str().unwrap_or_default();
            PASSED.contains(&name) || name.starts_with("LC_") || named.iter().any(|it| it == name)
        };
        let kept = |name: &OsStr| name != EVIDENCE_KEY_VARIABLE && passed(name);
        let mut all: BTreeMap<OsString, OsString> = self
            .context
            .variables
            .all_pairs()
            .filter(|(name, _)| kept(name))
            .collect();
        let sealed = self.seal.map(|seal| &seal.environment);
        for (name, value) in sealed.into_iter().flatten() {
            all.insert(name.into(), value.into());
        }
        all.extend(temporary.map(|folder| ("TMPDIR".into(), folder.into())));
        all.into_iter().collect()
    }

    /// Stores the file list of the tree that a gate is passed on, so that files which differ from
    /// it can be named.
    fn keep_tree(&self, what: EvidenceSubject<'_>, tree: &HashedTree) -> Result<(), Error> {
        let EvidenceSubject::Gate(gate) = what else {
            return Ok(());
        };
        let path = self.run.file_path(&tree_listing::file_name(gate));
        let disk = &self.context.disk;
        let written = disk
            .create_folders(&self.run.folder)
            .and_then(|()| match disk.unlink(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => disk.create_new(&path),
            })
            .and_then(|file| {
                disk.write(
                    &file,
                    &tree_listing::render_listing(&tree.id, &tree.listing),
                )
            });
        written.map_err(|error| {
            let cause = system_cause(&error);
            Error::bad_file(&path, Why::CannotBeWritten { cause }, Advice::WritableFile)
        })
    }

    fn blank_evidence(
        &self,
        what: EvidenceSubject<'_>,
        source: EvidenceSource,
        tree: String,
    ) -> EvidenceRecord {
        let (gate, checkpoint) = match what {
            EvidenceSubject::Gate(name) => (Some(name.to_owned()), None),
            EvidenceSubject::Checkpoint(id) => (None, Some(id.to_owned())),
        };
        EvidenceRecord {
            version: VERSION,
            id: self.evidence_id(what, source),
            run: self.run.id.clone(),
            gate,
            checkpoint,
            source,
            command: None,
            reason: None,
            exit_code: 0,
            duration_ms: 0,
            output_hash: None,
            output_bytes: 0,
            output_tail: String::new(),
            unsandboxed: false,
            tree: Some(tree),
            policy: self.seal.map(|seal| seal.policy.clone()),
            at: time::format_utc(self.context.now()),
            by: self.context.detected_actor().name().to_owned(),
            signature: None,
        }
    }

    /// One command may gather several pieces of evidence, for the same subject from two sources.
    fn evidence_id(&self, what: EvidenceSubject<'_>, source: EvidenceSource) -> String {
        let seed = format!("{} {what:?} {source:?}", self.context.new_request().id);
        ContentHash::of_bytes(seed.as_bytes()).to_string()
    }

    fn store_evidence(&self, mut evidence: EvidenceRecord) -> Result<EvidenceRecord, Error> {
        if let Some(path) = &self.context.evidence_key {
            evidence.signature = Some(sign_evidence(&read_key(path)?, &evidence));
        }
        let path = self.run.file_path(FILE_NAME);
        append_line(&*self.context.disk, &path, &evidence.to_line())?;
        Ok(evidence)
    }
}

/// Fails if the caller has cancelled.
pub(crate) fn check_not_cancelled(watch: &dyn CommandObserver, command: &str) -> Result<(), Error> {
    match watch.is_cancelled() {
        true => Err(Error::CallCancelled {
            what: command.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Returns the lock name of a run.
fn run_name(gate: &str, source: EvidenceSource, command: &str, tree: &str) -> String {
    let seed = format!("{gate} {} {tree} {command}", source.name());
    ContentHash::of_bytes(seed.as_bytes()).to_string()
}

/// Returns all readable evidence of a run.
pub(crate) fn all_evidence(run: &RunFolder) -> Result<Vec<EvidenceRecord>, Error> {
    let path = run.file_path(FILE_NAME);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(evidence::parse_lines(&String::from_utf8_lossy(&bytes)).0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::bad_file(
            &path,
            cannot_be_read(&error),
            Advice::SeeReader,
        )),
    }
}

/// Reads the key in a file. Whitespace around it is ignored: editors add it.
pub(crate) fn read_key(path: &Path) -> Result<[u8; 32], Error> {
    let bad = |why: Why| Error::BadInput {
        message: Wrong::Key {
            path: display_path(path),
            why,
        },
        hint: Advice::MakeKey,
    };
    let bytes = evidence_key::read_key(path).map_err(|error| bad(cannot_be_read(&error)))?;
    let key = bytes.trim_ascii();
    if key.is_empty() {
        return Err(bad(Why::IsEmpty));
    }
    if key.len() < KEY_BYTES_MIN {
        return Err(bad(Why::TooShort { min: KEY_BYTES_MIN }));
    }
    Ok(blake3::derive_key(KEY_CONTEXT, key))
}

/// Returns the signature of a piece of evidence.
pub(crate) fn sign_evidence(key: &[u8; 32], evidence: &EvidenceRecord) -> String {
    sign_text(key, &evidence.signed_text())
}

/// Returns the keyed hash of a text in hexadecimal digits.
pub(crate) fn sign_text(key: &[u8; 32], text: &str) -> String {
    blake3::keyed_hash(key, text.as_bytes())
        .to_hex()
        .to_string()
}

/// True if the evidence carries a signature made with the key.
pub(crate) fn is_signed(key: &[u8; 32], evidence: &EvidenceRecord) -> bool {
    let found = evidence.signature.as_deref().unwrap_or_default();
    is_signature(key, &evidence.signed_text(), found)
}

/// True if a signature was made with the key for a text. Compared in constant time.
pub(crate) fn is_signature(key: &[u8; 32], text: &str, found: &str) -> bool {
    let wanted = blake3::keyed_hash(key, text.as_bytes());
    blake3::Hash::from_hex(found).is_ok_and(|found| found == wanted)
}
