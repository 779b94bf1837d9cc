//! Seals, and verifies that sealed files and evidence are still valid.

use super::{DevelopRun, phase_word, run_in};
use crate::context::Context;
use crate::develop::seal::{self, SealState};
use crate::develop::{RunRecords, evidence};
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord};
use crate::history::require_person;
use crate::tree::HashedTree;
use crate::{tree, workspace};
use bowline_formats::develop::evidence::{EvidenceRecord as Record, EvidenceSource};
use bowline_formats::develop::seal::Seal;
use bowline_formats::develop::tree_listing;
use bowline_gate::hook::GitRepository;
use bowline_gate::locate;
use bowline_gate::tested_tree::TestedTree;
use bowline_machines::develop::{DevelopRunState, Gate, ProjectAction, required_gates};
use bowline_words::message::{Change, Doubt};
use serde_json::json;
use std::cell::RefCell;
use std::path::Path;

/// Gate with the evidence that opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedGate {
    pub gate: Gate,
    pub evidence: Record,
}

impl DevelopRun {
    /// Seals the policy and the protected files as they are now. Needs a person.
    pub fn seal_run(&self, context: &Context) -> Result<ChangeOutcome<Seal>, Error> {
        // A missing run is reported before a missing right.
        self.file.read_bare_view(context)?;
        require_person(context, "seal")?;
        let sealed = RefCell::new(None);
        let changed = self.file.replace_seen(context, |document, snapshot| {
            let document = document.ok_or_else(|| self.file.no_file())?;
            let known = RunRecords::from_journal(context, &self.file, snapshot.history.as_ref())?;
            let before = known.read_seal(context)?;
            let (seal, hash) = seal::write_seal(context, &known.folder, self.root())?;
            let changed = before.map(|before| before.changed_files(&seal.files));
            let changed: Vec<String> = changed.iter().flatten().map(ToString::to_string).collect();
            let facts = json!({
                "run": known.folder.id, "seal": hash, "policy": seal.policy, "changed": changed,
            });
            sealed.replace(Some(seal));
            let phase = phase_word(&run_in(document));
            let moved =
                ChangeRecord::new("seal", "SEAL", Some(phase.clone()), phase).with_metadata(facts);
            Ok((Some(document.clone()), moved))
        })?;
        let seal = sealed.into_inner().ok_or_else(|| self.file.no_file())?;
        Ok(self.with_advice(context, changed, None)?.with_state(seal))
    }

    /// Returns the evidence of the present run's gates and checkpoints, the oldest first.
    pub fn run_evidence(&self, context: &Context) -> Result<Vec<Record>, Error> {
        evidence::all_evidence(&self.read_records(context)?.folder)
    }

    /// Verifies the evidence of every open gate, the sealed files, and that the newest evidence is
    /// about this tree and seal.
    pub fn verify_evidence(
        &self,
        context: &Context,
        key: Option<&Path>,
    ) -> Result<Vec<VerifiedGate>, Error> {
        let (view, known) = self.read_with_records(context)?;
        let run = view.develop_run().ok_or_else(|| self.file.no_file())?;
        self.verify_loaded(context, run, &known, &known.seal_state(context)?, key)
    }

    /// Verifies a run that was already read.
    pub(super) fn verify_loaded(
        &self,
        context: &Context,
        run: &DevelopRunState,
        known: &RunRecords,
        seal: &SealState,
        key: Option<&Path>,
    ) -> Result<Vec<VerifiedGate>, Error> {
        let key = key.map(evidence::read_key).transpose()?;
        let policy = seal.seal().map(|seal| seal.policy.as_str());
        let all = evidence::all_evidence(&known.folder)?;
        let mut reasons = Vec::new();
        let mut verified = Vec::new();
        for gate in Gate::ALL
            .into_iter()
            .filter(|gate| run.gates.is_open(*gate))
        {
            let name = || gate.name().to_owned();
            let Some(record) = known.evidence_of(gate, &all) else {
                reasons.push(Doubt::NoEvidence { gate: name() });
                continue;
            };
            if record.exit_code != 0 || record.gate.as_deref() != Some(gate.name()) {
                reasons.push(Doubt::NotGreen { gate: name() });
            }
            if record.run != known.folder.id {
                reasons.push(Doubt::OtherRun { gate: name() });
            }
            if key.is_some_and(|key| !evidence::is_signed(&key, record)) {
                reasons.push(Doubt::NoSignature { gate: name() });
            }
            verified.push(VerifiedGate {
                gate,
                evidence: record.clone(),
            });
        }
        // Work may be committed only after these gates; a tree that got past them is not verified.
        for gate in run
            .gates
            .closed_among(required_gates(run.phase, ProjectAction::Finish))
        {
            reasons.push(Doubt::GateClosed {
                gate: gate.name().into(),
                phase: run.phase.name().into(),
            });
        }
        if verified.is_empty() && reasons.is_empty() {
            reasons.push(Doubt::NothingOpen);
        }
        let mut changes = seal.changes();
        let tree_only = changes.is_empty();
        if let Some(last) = verified.last() {
            // Earlier gates were passed on earlier trees, and a person who seals again has reviewed
            // the changes.
            if last.evidence.source == EvidenceSource::Sealed
                && last.evidence.policy.as_deref() != policy
            {
                let gate = last.gate.name().into();
                reasons.push(Doubt::Is {
                    change: Change::OtherSeal { gate },
                });
            }
            let now = Some(self.tree_now(context)?);
            let done = known.ledger.done_tree.is_some() && known.ledger.done_tree != now;
            let other = last.evidence.tree != now;
            changes.extend(match (done, other) {
                (true, _) => Some(Change::TreeSinceDone),
                (false, true) => Some(Change::Tree),
                (false, false) => None,
            });
        }
        if reasons.is_empty() && !changes.is_empty() {
            return Err(Error::StaleEvidence { changes, tree_only });
        }
        reasons.extend(changes.into_iter().map(|change| Doubt::Since { change }));
        match reasons.is_empty() {
            true => Ok(verified),
            false => Err(Error::NotVerified { reasons }),
        }
    }

    /// Fails if the tree differs from the one that a gate was passed on and the policy compares
    /// trees; returns the tree. Before the last phase it must be committed as well.
    pub(super) fn is_fresh(
        &self,
        context: &Context,
        gate: Gate,
        known: &RunRecords,
        seal: &SealState,
    ) -> Result<String, Error> {
        let tree = tree::hash_listed(context, self.root(), &locate::side_folder(&self.file.path))?;
        let now = tree.id.clone();
        let unsealed = || seal::policy_of(self.root()).unwrap_or_default();
        let rules = seal.seal().map_or_else(unsealed, |seal| seal.rules.clone());
        let in_repository = workspace::git_top(self.root()).is_some();
        if rules.compares_trees(in_repository)
            && let Some(record) = known.evidence_of(gate, &evidence::all_evidence(&known.folder)?)
            && record.tree.as_deref() != Some(now.as_str())
        {
            return Err(Error::StaleEvidence {
                changes: vec![Change::Tree],
                tree_only: true,
            });
        }
        if rules.compares_trees(in_repository) && gate == Gate::ReReviewClean {
            let changes = self.not_committed(tree);
            if !changes.is_empty() {
                return Err(Error::TreeNotCommitted { changes });
            }
        }
        Ok(now)
    }

    /// Lists the differences between the last commit and a tested tree.
    fn not_committed(&self, tree: HashedTree) -> Vec<Change> {
        let file = tree_listing::render_listing(&tree.id, &tree.listing);
        let tested = TestedTree {
            entries: tree_listing::parse_listing(&file, &tree.id),
            id: tree.id.trim_start_matches("git:").to_owned(),
        };
        let folder = self.root().to_owned();
        GitRepository { folder }.uncommitted_changes(&tested)
    }

    fn tree_now(&self, context: &Context) -> Result<String, Error> {
        let side = locate::side_folder(&self.file.path);
        tree::hash_tree(context, self.root(), &side)
    }
}
