//! Gathering evidence: the command is run, and what came of it is on the disk before anybody relies on it.

use super::{RunFolder, seal};
use crate::context::{Context, EVIDENCE_KEY_VARIABLE};
use crate::error::Error;
use crate::process::{self, Place};
use crate::relayed;
use crate::tree::{self, Checkout};
use crate::words::{cannot_be_read, shown};
use bowline_formats::develop::evidence::{self, Evidence, FILE_NAME, Source, VERSION};
use bowline_formats::develop::seal::Seal;
use bowline_formats::time;
use bowline_gate::locate;
use bowline_statefiles::{ContentHash, append_line};
use bowline_words::message::{Advice, Change, Why, Wrong};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// What the key is for: another use of the same file must not give the same signatures.
const KEY_CONTEXT: &str = "bowline develop evidence v1";

/// Variables a command gets as they are; the sealed ones come first, and the policy may name more.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR",
];

/// A key of fewer bytes is guessed sooner than it is stolen.
const KEY_BYTES_MIN: usize = 16;

/// Told while a command runs.
pub trait Watch {
    /// It begins.
    fn started(&self, command: &str);
    /// It still runs.
    fn tick(&self, command: &str, elapsed: Duration);
    /// It has ended, and its evidence is kept.
    fn ended(&self, evidence: &Evidence);
}

/// Nobody watches.
impl Watch for () {
    fn started(&self, _command: &str) {}
    fn tick(&self, _command: &str, _elapsed: Duration) {}
    fn ended(&self, _evidence: &Evidence) {}
}

/// What evidence is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum For<'n> {
    Gate(&'n str),
    Checkpoint(&'n str),
}

/// The sealed files as the file system knows them: a file that was swapped and put back is not what it was.
#[derive(PartialEq, Eq)]
struct Sealed(Vec<Option<(u64, u64, i64, i64)>>);

impl Sealed {
    fn look(root: &Path, seal: Option<&Seal>) -> Sealed {
        let files = seal.into_iter().flat_map(|seal| seal.files.keys());
        let look = |path: &String| {
            let it = std::fs::symlink_metadata(root.join(path)).ok()?;
            Some((it.dev(), it.ino(), it.ctime(), it.ctime_nsec()))
        };
        Sealed(files.map(look).collect())
    }
}

/// Where and under which rules evidence is gathered.
pub(crate) struct Scene<'s> {
    context: &'s Context,
    run: &'s RunFolder,
    file: &'s Path,
    seal: Option<&'s Seal>,
    limit: Duration,
    watch: &'s dyn Watch,
}

impl<'s> Scene<'s> {
    pub(crate) fn new(
        context: &'s Context,
        run: &'s RunFolder,
        file: &'s Path,
        seal: Option<&'s Seal>,
        watch: &'s dyn Watch,
    ) -> Self {
        // The sealed limit; where nothing is sealed, the project's, if it can be read.
        let limit_seconds = match seal {
            Some(seal) => seal.rules.timeout_seconds,
            None => {
                let rules = seal::policy_of(locate::root_of(file));
                rules.unwrap_or_default().timeout_seconds
            }
        };
        Scene {
            context,
            run,
            file,
            seal,
            limit: Duration::from_secs(limit_seconds),
            watch,
        }
    }

    /// Runs a command and keeps what came of it.
    pub(crate) fn gather(
        &self,
        what: For<'_>,
        source: Source,
        command: &str,
    ) -> Result<Evidence, Error> {
        let root = locate::root_of(self.file);
        let checkout = self.checkout()?;
        let before = match &checkout {
            Some(checkout) => checkout.tree.clone(),
            None => self.tree()?,
        };
        let sealed = Sealed::look(root, self.seal);
        self.watch.started(command);
        let mut tick = |elapsed| self.watch.tick(command, elapsed);
        let place = Place {
            folder: checkout.as_ref().map_or(root, |it| &it.root),
            ours: checkout.as_ref().map(|it| it.folder.as_path()),
            environment: self.environment(),
            limit: self.limit,
        };
        let ran = process::run(command, &place, &mut tick)?;
        // In place, somebody may have changed what the command saw while it ran. In a checkout of ours nobody could, but whoever
        // takes it away makes red green and green red.
        let believed = match &checkout {
            Some(checkout) => checkout.stands(),
            None if ran.exit_code != 0 => true,
            None => self.tree()? == before && sealed == Sealed::look(root, self.seal),
        };
        if !believed {
            return Err(Error::TreeChanged {
                command: command.to_owned(),
            });
        }
        let tree = before;
        let blank = self.blank(what, source, tree);
        let evidence = Evidence {
            command: Some(command.to_owned()),
            exit_code: ran.exit_code,
            duration_ms: ran.duration_ms,
            output_hash: Some(ran.output_hash),
            output_bytes: ran.output_bytes,
            output_tail: ran.output_tail,
            ..blank
        };
        let kept = self.keep(evidence)?;
        self.watch.ended(&kept);
        Ok(kept)
    }

    /// Keeps a person's word.
    pub(crate) fn word(&self, what: For<'_>, reason: &str) -> Result<Evidence, Error> {
        let blank = self.blank(what, Source::ByHand, self.tree()?);
        self.keep(Evidence {
            reason: Some(reason.to_owned()),
            ..blank
        })
    }

    /// A copy of the tree, for evidence that is signed: a signature says that this very tree was tested, and nothing beside it.
    fn checkout(&self) -> Result<Option<Checkout>, Error> {
        if self.context.evidence_key.is_none() {
            return Ok(None);
        }
        let root = locate::root_of(self.file);
        let share = self.seal.map_or(&[][..], |seal| &seal.rules.share);
        let side = locate::side_folder(self.file);
        let checkout = tree::checkout(self.context, root, &side, share)?;
        if let Some(seal) = self.seal {
            // What is ignored is not in it.
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

    /// The variables of a command that decides something: what is sealed, what every program expects, and what the policy
    /// names. Neither keys nor whatever else the caller has set.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let named = self.seal.map_or(&[][..], |seal| &seal.rules.environment);
        let passed = |name: &OsStr| {
            let name = name.to_str().unwrap_or_default();
            PASSED.contains(&name) || name.starts_with("LC_") || named.iter().any(|it| it == name)
        };
        let kept = |name: &OsStr| name != EVIDENCE_KEY_VARIABLE && passed(name);
        let mut all: BTreeMap<OsString, OsString> = self
            .context
            .variables
            .all()
            .filter(|(name, _)| kept(name))
            .collect();
        let sealed = self.seal.map(|seal| &seal.environment);
        for (name, value) in sealed.into_iter().flatten() {
            all.insert(name.into(), value.into());
        }
        all.into_iter().collect()
    }

    fn tree(&self) -> Result<String, Error> {
        let root = locate::root_of(self.file);
        tree::hash(self.context, root, &locate::side_folder(self.file))
    }

    fn blank(&self, what: For<'_>, source: Source, tree: String) -> Evidence {
        let (gate, checkpoint) = match what {
            For::Gate(name) => (Some(name.to_owned()), None),
            For::Checkpoint(id) => (None, Some(id.to_owned())),
        };
        Evidence {
            version: VERSION,
            id: self.id(what, source),
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
            tree: Some(tree),
            policy: self.seal.map(|seal| seal.policy.clone()),
            at: time::utc(self.context.now()),
            by: self.context.standing().name().to_owned(),
            signature: None,
        }
    }

    /// One command may gather several pieces, for the same thing from two sources.
    fn id(&self, what: For<'_>, source: Source) -> String {
        let seed = format!("{} {what:?} {source:?}", self.context.request().id);
        ContentHash::of(seed.as_bytes()).to_string()
    }

    fn keep(&self, mut evidence: Evidence) -> Result<Evidence, Error> {
        if let Some(path) = &self.context.evidence_key {
            evidence.signature = Some(sign(&read_key(path)?, &evidence));
        }
        let path = self.run.path(FILE_NAME);
        append_line(&*self.context.disk, &path, &evidence.line())?;
        Ok(evidence)
    }
}

/// All evidence of a run that can be read.
pub(crate) fn all(run: &RunFolder) -> Result<Vec<Evidence>, Error> {
    let path = run.path(FILE_NAME);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(evidence::read(&String::from_utf8_lossy(&bytes)).0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::bad_file(
            &path,
            cannot_be_read(&error),
            Advice::SeeReader,
        )),
    }
}

/// The key in a file. Space around it is an editor's, not the key's.
pub(crate) fn read_key(path: &Path) -> Result<[u8; 32], Error> {
    let bad = |why: Why| Error::BadInput {
        message: Wrong::Key {
            path: shown(path),
            why,
        },
        hint: Advice::MakeKey,
    };
    let bytes = relayed::read_key(path).map_err(|error| bad(cannot_be_read(&error)))?;
    let key = bytes.trim_ascii();
    if key.is_empty() {
        return Err(bad(Why::IsEmpty));
    }
    if key.len() < KEY_BYTES_MIN {
        return Err(bad(Why::TooShort { min: KEY_BYTES_MIN }));
    }
    Ok(blake3::derive_key(KEY_CONTEXT, key))
}

/// The keyed hash of a line.
pub(crate) fn sign(key: &[u8; 32], evidence: &Evidence) -> String {
    sign_text(key, &evidence.signed_text())
}

/// The keyed hash of a text.
pub(crate) fn sign_text(key: &[u8; 32], text: &str) -> String {
    blake3::keyed_hash(key, text.as_bytes())
        .to_hex()
        .to_string()
}

/// Whether the signature is that of the key.
pub(crate) fn is_signed(key: &[u8; 32], evidence: &Evidence) -> bool {
    let found = evidence.signature.as_deref().unwrap_or_default();
    is_signature(key, &evidence.signed_text(), found)
}

/// Whether a signature is that of the key under a text. Compared in constant time.
pub(crate) fn is_signature(key: &[u8; 32], text: &str, found: &str) -> bool {
    let wanted = blake3::keyed_hash(key, text.as_bytes());
    blake3::Hash::from_hex(found).is_ok_and(|found| found == wanted)
}
