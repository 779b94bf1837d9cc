//! Verbs that need evidence: those of gates and checkpoints.

use super::{DevelopRun, refusal_error};
use crate::context::Context;
use crate::develop::evidence::{
    CommandObserver, EvidenceCollector, EvidenceSubject, check_not_cancelled,
};
use crate::develop::seal::SealState;
use crate::develop::{JournalFacts, RunRecords, contract_of};
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord};
use bowline_formats::develop::evidence::{EvidenceRecord as Record, EvidenceSource};
use bowline_machines::Actor;
use bowline_machines::develop::{
    Command, DevelopRunState, FailureClass, Gate, Refusal, SubmittedEvidence,
};
use bowline_words::message::{Advice, Change, Wrong};
use serde_json::{Value, json};

/// Status word of an open gate.
const OPEN: &str = "open";

/// Proof offered for opening a gate.
#[derive(Debug, Clone, Copy, Default)]
pub struct GateProof<'p> {
    /// Command that the caller names.
    pub run: Option<&'p str>,
    /// Reason given by a person.
    pub by_hand: Option<&'p str>,
}

/// Result of trying to pass a gate or checkpoint.
#[derive(Debug, Clone)]
pub struct PassOutcome {
    pub changed: ChangeOutcome<Option<DevelopRunState>>,
    /// Evidence that was gathered.
    pub evidence: Vec<Record>,
    /// Command that would run, in a dry run.
    pub would_run: Option<String>,
}

impl DevelopRun {
    /// Opens a gate if its evidence is green.
    pub fn gate_pass(
        &self,
        context: &Context,
        gate: Gate,
        proof: GateProof<'_>,
        watch: &dyn CommandObserver,
    ) -> Result<PassOutcome, Error> {
        not_empty(proof.run)?;
        let (view, known) = self.read_with_records(context)?;
        let seal = known.seal_state(context)?;
        let by = context.actor();
        let pass = |evidence: SubmittedEvidence| Command::GatePass { gate, evidence, by };
        let sealed = seal.seal().and_then(|seal| seal.rules.gate_command(gate));
        let good = match (proof.by_hand, sealed, proof.run) {
            (Some(reason), ..) => SubmittedEvidence::ByHand {
                reason: reason.to_owned(),
            },
            (None, Some(_), _) => SubmittedEvidence::Sealed {
                exit_code: 0,
                stale: false,
            },
            (None, None, Some(_)) => SubmittedEvidence::Given { exit_code: 0 },
            (None, None, None) => SubmittedEvidence::None,
        };
        let by_hand = proof.by_hand.is_some();
        if seal == SealState::Broken && !by_hand {
            // Otherwise it would look as if nothing had been sealed.
            seal.check_unchanged()?;
        }
        // Checked first: an hour of tests for a gate that would not open anyway is wasted.
        self.check_command(context, &view, pass(good.clone()))?;
        if !by_hand {
            seal.check_unchanged()?;
        }
        let would_run = sealed.or(proof.run).filter(|_| context.dry_run && !by_hand);
        let would_run = would_run.map(str::to_owned);
        let scene =
            EvidenceCollector::new(context, &known.folder, &self.file.path, seal.seal(), watch);
        let what = EvidenceSubject::Gate(gate.name());
        let mut gathered = Vec::new();
        let mut evidence = good;
        if !context.dry_run {
            let decisive = match (proof.by_hand, sealed, proof.run) {
                (Some(reason), ..) => scene.record_statement(what, reason)?,
                (None, Some(command), _) => {
                    scene.gather_evidence(what, EvidenceSource::Sealed, command)?
                }
                (None, None, Some(command)) => {
                    scene.gather_evidence(what, EvidenceSource::Given, command)?
                }
                (None, None, None) => {
                    return Err(refusal_error(Refusal::EvidenceRequired { gate }));
                }
            };
            match &mut evidence {
                SubmittedEvidence::Sealed { exit_code, .. }
                | SubmittedEvidence::Given { exit_code } => {
                    *exit_code = decisive.evidence.exit_code;
                }
                SubmittedEvidence::ByHand { .. } | SubmittedEvidence::None => {}
            }
            gathered.push(decisive);
            // With a sealed command, another one decides nothing, but its result is recorded.
            if let (false, Some(_), Some(command)) = (by_hand, sealed, proof.run) {
                gathered.push(scene.gather_evidence(what, EvidenceSource::Given, command)?);
            }
        }
        let mut facts = json!({ "gate": gate.name() });
        if let Some(decisive) = gathered.first() {
            let decisive = &decisive.evidence;
            facts["evidence"] = decisive.id.clone().into();
            facts["source"] = decisive.source.name().into();
            facts["exitCode"] = decisive.exit_code.into();
        }
        let looked = match (by_hand, context.dry_run) {
            (true, _) => None,
            (false, true) => Some(seal),
            // Files may have changed while the command ran: they are under no lock.
            (false, false) => Some(known.seal_state(context)?),
        };
        if let Some(seal) = &looked {
            seal.check_unchanged()?;
        }
        let command = |ledger: &JournalFacts| match ledger.seal == known.ledger.seal {
            true => Ok(pass(evidence.clone())),
            // The run was sealed anew while the command ran.
            false => Err(Error::StaleEvidence {
                changes: vec![Change::Seal],
                tree_only: true,
            }),
        };
        let word = move |run: &Option<DevelopRunState>| gate_word(run, gate);
        let shared = gathered.first().is_some_and(|decisive| decisive.shared);
        let already = match shared {
            true => self.opened_by(context, gate, &facts)?,
            false => None,
        };
        let changed = match already {
            Some(changed) => changed,
            None => {
                check_not_cancelled(watch, gate.name())?;
                self.apply_command(context, &known, ("gate", "GATE_PASS"), facts, command, word)?
            }
        };
        Ok(PassOutcome {
            changed: self.with_advice(context, changed, looked.as_ref())?,
            evidence: gathered.into_iter().map(|it| it.evidence).collect(),
            would_run,
        })
    }

    /// Returns the gate as the caller that ran the shared evidence has opened it; `None` if it has
    /// not.
    fn opened_by(
        &self,
        context: &Context,
        gate: Gate,
        facts: &Value,
    ) -> Result<Option<ChangeOutcome<Option<DevelopRunState>>>, Error> {
        let (view, known) = self.read_with_records(context)?;
        let passed = known.ledger.passed.iter();
        let by_it = passed
            .filter(|(name, _)| name == gate.name())
            .any(|(_, evidence)| facts["evidence"] == json!(evidence));
        let state = view.develop_run().cloned();
        let word = gate_word(&state, gate);
        if !by_it || word != OPEN {
            return Ok(None);
        }
        let moved = ChangeRecord::new("gate", "GATE_PASS", Some(word.clone()), word);
        Ok(Some(ChangeOutcome {
            view,
            moved: moved.with_metadata(facts.clone()),
            state,
        }))
    }

    /// Closes a gate and those after it.
    pub fn gate_reset(
        &self,
        context: &Context,
        gate: Gate,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let known = self.read_records(context)?;
        let command = |_: &JournalFacts| Ok(Command::GateReset { gate });
        let word = move |run: &Option<DevelopRunState>| gate_word(run, gate);
        let facts = json!({ "gate": gate.name() });
        let what = ("gate", "GATE_RESET");
        let changed = self.apply_command(context, &known, what, facts, command, word)?;
        self.with_advice(context, changed, None)
    }

    /// Begins a checkpoint, or reopens one that escalated.
    pub fn checkpoint_start(
        &self,
        context: &Context,
        id: &str,
        reason: Option<&str>,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let known = self.read_records(context)?;
        let mut facts = json!({ "checkpoint": id });
        if let Some(reason) = reason {
            facts["override"] = reason.into();
        }
        let command = || Command::CheckpointStart {
            id: id.to_owned(),
            override_reason: reason.map(str::to_owned),
            by: context.actor_if(reason.is_some()),
        };
        self.on_checkpoint(context, &known, id, "CHECKPOINT_START", facts, command)
    }

    /// Ends an attempt: well, unless the named command is red. For an agent the contract's command
    /// decides, if there is one; another command only adds evidence.
    pub fn checkpoint_pass(
        &self,
        context: &Context,
        id: &str,
        run: Option<&str>,
        watch: &dyn CommandObserver,
    ) -> Result<PassOutcome, Error> {
        not_empty(run)?;
        let (view, known) = self.read_with_records(context)?;
        let planned = contract_of(context, &known.folder)?;
        let agreed = planned
            .iter()
            .find(|one| one.id == id && context.actor() == Actor::Agent)
            .and_then(|one| one.command.as_deref());
        let added = run.filter(|_| agreed.is_some() && run != agreed);
        let run = agreed.or(run);
        let attempts_max = self.attempts_max()?;
        let pass = |evidence: SubmittedEvidence| Command::CheckpointPass {
            id: id.to_owned(),
            evidence,
            attempts_max,
        };
        let assumed = match run {
            Some(_) => SubmittedEvidence::Given { exit_code: 0 },
            None => SubmittedEvidence::None,
        };
        self.check_command(context, &view, pass(assumed.clone()))?;
        let mut facts = json!({ "checkpoint": id });
        let mut gathered = Vec::new();
        let mut evidence = assumed;
        if let Some(command) = run.filter(|_| !context.dry_run) {
            let seal = known.read_seal(context)?;
            let seal = seal.as_ref();
            let scene =
                EvidenceCollector::new(context, &known.folder, &self.file.path, seal, watch);
            let record = scene
                .gather_evidence(
                    EvidenceSubject::Checkpoint(id),
                    EvidenceSource::Given,
                    command,
                )?
                .evidence;
            evidence = SubmittedEvidence::Given {
                exit_code: record.exit_code,
            };
            facts["evidence"] = record.id.clone().into();
            facts["exitCode"] = record.exit_code.into();
            gathered.push(record);
            if let Some(command) = added {
                let added = scene.gather_evidence(
                    EvidenceSubject::Checkpoint(id),
                    EvidenceSource::Given,
                    command,
                )?;
                gathered.push(added.evidence);
            }
            check_not_cancelled(watch, command)?;
        }
        let command = || pass(evidence.clone());
        let changed = self.on_checkpoint(context, &known, id, "CHECKPOINT_PASS", facts, command)?;
        Ok(PassOutcome {
            changed,
            evidence: gathered,
            would_run: run.filter(|_| context.dry_run).map(str::to_owned),
        })
    }

    /// Ends an attempt badly.
    pub fn checkpoint_fail(
        &self,
        context: &Context,
        id: &str,
        class: FailureClass,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let known = self.read_records(context)?;
        let attempts_max = self.attempts_max()?;
        let facts = json!({ "checkpoint": id, "class": class.name() });
        let command = || Command::CheckpointFail {
            id: id.to_owned(),
            class,
            attempts_max,
        };
        self.on_checkpoint(context, &known, id, "CHECKPOINT_FAIL", facts, command)
    }

    fn on_checkpoint(
        &self,
        context: &Context,
        known: &RunRecords,
        id: &str,
        trigger: &'static str,
        facts: Value,
        command: impl Fn() -> Command,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let command = |_: &JournalFacts| Ok(command());
        let word = |run: &Option<DevelopRunState>| {
            let checkpoint = run.as_ref().and_then(|run| run.find_checkpoint(id));
            checkpoint.map_or("none", |it| it.status.name()).to_owned()
        };
        let what = ("checkpoint", trigger);
        let changed = self.apply_command(context, known, what, facts, command, word)?;
        self.with_advice(context, changed, None)
    }
}

/// Refuses an empty command: a variable that was never set would pass everything.
fn not_empty(command: Option<&str>) -> Result<(), Error> {
    match command {
        Some(text) if text.trim().is_empty() => Err(Error::BadInput {
            message: Wrong::EmptyCommand,
            hint: Advice::NameCommand,
        }),
        Some(_) | None => Ok(()),
    }
}

fn gate_word(run: &Option<DevelopRunState>, gate: Gate) -> String {
    let open = run.as_ref().is_some_and(|run| run.gates.is_open(gate));
    if open { OPEN } else { "closed" }.to_owned()
}
