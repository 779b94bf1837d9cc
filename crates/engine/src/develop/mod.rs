//! Data of a develop run beside its file: its id, seal, evidence and contract.
//!
//! ```text
//! $XDG_STATE_HOME/bowline/develop/<repository>/          lock, journal and backups of state.json
//!     runs/<run>/seal.json, evidence.jsonl, contract.json
//! ```

pub mod evidence;
mod files;
mod run_lock;
pub mod seal;

use crate::context::Context;
use crate::error::Error;
use crate::files::KnownFile;
use bowline_formats::develop::contract::{self, PlannedCheckpoint};
use bowline_formats::develop::evidence::EvidenceRecord;
use bowline_formats::develop::seal::Seal;
use bowline_formats::time;
use bowline_formats::transition::Transition;
pub use bowline_gate::advice;
use bowline_gate::advice::NextCommand;
use bowline_gate::locate;
use bowline_gate::sealed::is_stale;
use bowline_machines::develop::{DevelopRunState, Gate};
use bowline_statefiles::{ContentHash, JournalHistory, kind};
use seal::SealState;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The trigger of the transition that begins a run.
pub(crate) const START: &str = "START";
/// The trigger of the transition that ends a run.
pub(crate) const DONE: &str = "DONE";
/// The trigger of the transition that goes back to an earlier phase.
pub(crate) const BACK: &str = "BACK";
/// The trigger of the transition that takes a run over.
pub(crate) const ADOPT: &str = "ADOPT";

/// Digits at the end of a run's id, which distinguish two runs of one second.
const RUN_DIGITS: usize = 4;

#[derive(Debug, Clone)]
pub struct RunFolder {
    pub id: String,
    /// Folder of its seal, evidence and contract.
    pub folder: PathBuf,
}

impl RunFolder {
    pub(crate) fn new(state_file: &Path, id: &str) -> Self {
        RunFolder {
            id: id.to_owned(),
            folder: locate::runs_folder(state_file).join(id),
        }
    }

    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Facts of the present run from the journal. Every transition of a run names it; other writers do
/// not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JournalFacts {
    /// Id of the run; `None` for a run that Bowline has not written yet.
    pub(crate) run: Option<String>,
    /// Hash of its seal, as it was when sealed.
    pub(crate) seal: Option<String>,
    /// True if Bowline began it or took it over.
    pub(crate) adopted: bool,
    /// Tree at the time when the run was done.
    pub(crate) done_tree: Option<String>,
    /// Name and latest evidence id of each gate that was ever passed.
    pub(crate) passed: Vec<(String, String)>,
}

impl JournalFacts {
    pub(crate) fn from_history(history: &JournalHistory) -> Self {
        let mut ledger = JournalFacts::default();
        let mut thrown = JournalFacts::default();
        for line in history.effective_lines() {
            if line.gone && line.kind != kind::OUTSIDE {
                thrown = std::mem::take(&mut ledger);
            }
            let transition = line.transition.as_deref();
            let Some(moved) =
                transition.and_then(|raw| serde_json::from_str::<Transition>(raw.get()).ok())
            else {
                continue;
            };
            let fact = |name: &str| moved.metadata.get(name).and_then(|value| value.as_str());
            if let Some(run) = fact("run")
                && ledger.run.as_deref() != Some(run)
                && !line.gone
            {
                ledger = match thrown.run.as_deref() == Some(run) {
                    // A person restored it after it was reset.
                    true => std::mem::take(&mut thrown),
                    false => JournalFacts {
                        run: Some(run.to_owned()),
                        ..JournalFacts::default()
                    },
                };
            }
            ledger.adopted |= [START, ADOPT].contains(&moved.trigger.as_str());
            match moved.trigger.as_str() {
                DONE => ledger.done_tree = fact("tree").map(str::to_owned),
                BACK => ledger.done_tree = None,
                _ => {}
            }
            if let Some(seal) = fact("seal") {
                ledger.seal = Some(seal.to_owned());
            }
            if let (Some(gate), Some(evidence)) = (fact("gate"), fact("evidence")) {
                ledger.passed.retain(|(known, _)| known != gate);
                ledger.passed.push((gate.to_owned(), evidence.to_owned()));
            }
        }
        ledger
    }
}

/// Facts of the present run from the journal, and the folder of its other data.
#[derive(Debug, Clone)]
pub(crate) struct RunRecords {
    pub(crate) ledger: JournalFacts,
    pub(crate) folder: RunFolder,
    root: PathBuf,
}

impl RunRecords {
    /// Reads the facts from the history that a view of the run's file already loaded, or from the
    /// present one.
    pub(crate) fn from_journal(
        context: &Context,
        file: &KnownFile,
        seen: Option<&Arc<JournalHistory>>,
    ) -> Result<Self, Error> {
        let ledger = JournalFacts::from_history(&*file.file.history_of(seen)?);
        let id = ledger.run.clone();
        let id = id.unwrap_or_else(|| new_id(context, &file.path));
        Ok(RunRecords {
            folder: RunFolder::new(&file.path, &id),
            ledger,
            root: locate::root_of(&file.path).to_owned(),
        })
    }

    /// Returns the seal that the journal knows, if its file is unchanged.
    pub(crate) fn read_seal(&self, context: &Context) -> Result<Option<Seal>, Error> {
        seal::read_seal(context, &self.folder, self.ledger.seal.as_deref())
    }

    /// Compares that seal with the present files: every sealed file is hashed.
    pub(crate) fn seal_state(&self, context: &Context) -> Result<SealState, Error> {
        if self.ledger.seal.is_none() {
            return Ok(SealState::None);
        }
        Ok(match self.read_seal(context)? {
            None => SealState::Broken,
            Some(seal) => SealState::compare_files(seal, &self.root)?,
        })
    }

    /// Returns the evidence that a gate rests on.
    pub(crate) fn evidence_of<'e>(
        &self,
        gate: Gate,
        all: &'e [EvidenceRecord],
    ) -> Option<&'e EvidenceRecord> {
        let mut passed = self.ledger.passed.iter();
        let (_, id) = passed.find(|(name, _)| name == gate.name())?;
        all.iter().rfind(|one| one.id == *id)
    }

    /// Returns the commands that make sense for the run. `looked` is the state of its seal, if the
    /// caller has just checked it.
    pub(crate) fn next_commands(
        &self,
        context: &Context,
        run: Option<&DevelopRunState>,
        looked: Option<&SealState>,
    ) -> Result<Vec<NextCommand>, Error> {
        if self.ledger.run.is_none() {
            return Ok(advice::next_commands(run, None, |_| false, &[]));
        }
        let contract = contract_of(context, &self.folder)?;
        Ok(match looked {
            Some(state) => {
                let is_stale = |_: &_| !state.changes().is_empty();
                advice::next_commands(run, state.seal(), is_stale, &contract)
            }
            None => {
                let seal = self.read_seal(context)?;
                let is_stale = |seal: &_| is_stale(&self.root, seal);
                advice::next_commands(run, seal.as_ref(), is_stale, &contract)
            }
        })
    }
}

/// Returns the contract of a run; empty if none was given.
pub(crate) fn contract_of(
    context: &Context,
    run: &RunFolder,
) -> Result<Vec<PlannedCheckpoint>, Error> {
    let found =
        files::read_json::<Vec<PlannedCheckpoint>>(context, &run.file_path(contract::FILE_NAME))?;
    Ok(found.map(|(planned, _)| planned).unwrap_or_default())
}

/// Stores the contract of a run.
pub(crate) fn keep_contract(
    context: &Context,
    run: &RunFolder,
    planned: &[PlannedCheckpoint],
) -> Result<(), Error> {
    files::write_json(context, &run.file_path(contract::FILE_NAME), &planned).map(|_| ())
}

/// Returns an id for a run that begins now: its time and a few digits of a hash.
pub(crate) fn new_id(context: &Context, file: &Path) -> String {
    let at: String = time::format_civil(context.clock.local_civil())
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric())
        .collect();
    let seed = format!("{}{}", context.new_request().id, file.display());
    let hash = ContentHash::of_bytes(seed.as_bytes()).to_string();
    format!("{at}-{}", &hash[..RUN_DIGITS])
}
