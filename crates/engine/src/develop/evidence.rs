//! Gathering evidence: the command is run, and what came of it is on the disk before anybody relies on it.

use super::RunFolder;
use crate::context::Context;
use crate::error::Error;
use crate::words::{cannot_be_read, shown, system};
use crate::{process, relayed, tree};
use bowline_formats::develop::evidence::{self, Evidence, FILE_NAME, Source, VERSION};
use bowline_formats::time;
use bowline_gate::locate;
use bowline_statefiles::{ContentHash, append_line};
use bowline_words::message::{Advice, Why, Wrong};
use std::path::Path;
use std::time::Duration;

/// What the key is for: another use of the same file must not give the same signatures.
const KEY_CONTEXT: &str = "bowline develop evidence v1";

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

/// Where and under which rules evidence is gathered.
pub(crate) struct Scene<'s> {
    pub(crate) context: &'s Context,
    pub(crate) run: &'s RunFolder,
    pub(crate) file: &'s Path,
    pub(crate) policy: Option<&'s str>,
    pub(crate) timeout_seconds: u64,
    pub(crate) watch: &'s dyn Watch,
}

impl Scene<'_> {
    /// Runs a command and keeps what came of it.
    pub(crate) fn gather(
        &self,
        what: For<'_>,
        source: Source,
        command: &str,
    ) -> Result<Evidence, Error> {
        let root = locate::root_of(self.file);
        // Before the command: what it changes itself it has not seen.
        let tree = self.tree()?;
        self.watch.started(command);
        let mut tick = |elapsed| self.watch.tick(command, elapsed);
        let limit = Duration::from_secs(self.timeout_seconds);
        let ran = process::run(command, root, limit, &mut tick)?;
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
            policy: self.policy.map(str::to_owned),
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
        Err(error) => Err(Error::BadInput {
            message: Wrong::OfFile {
                path: shown(&path),
                why: Why::CannotBeRead {
                    cause: system(&error),
                },
            },
            hint: Advice::SeeReader,
        }),
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
