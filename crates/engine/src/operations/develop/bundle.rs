//! Exports evidence to one signed file, and verifies such a file in a checkout that has nothing of
//! the run.

use super::{DevelopRun, VerifiedGate};
use crate::context::Context;
use crate::develop::{evidence, seal};
use crate::error::Error;
use crate::process::run_git;
use crate::words::{cannot_be_read, display_path};
use crate::{tree, workspace};
use bowline_formats::develop::bundle::{EvidenceBundle, FORMAT, VERSION};
use bowline_formats::develop::evidence::{EvidenceRecord as Record, EvidenceSource};
use bowline_formats::develop::seal::Seal;
use bowline_formats::time;
use bowline_gate::locate;
use bowline_machines::develop::Gate;
use bowline_statefiles::ContentHash;
use bowline_words::message::{Advice, Change, Doubt, EvidenceTrouble, Signed, Wrong};
use std::path::Path;

/// Longest accepted file of evidence, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Returns the stable `snake_case` code of a refused file of evidence.
pub(crate) fn trouble_code(trouble: &EvidenceTrouble) -> &'static str {
    match trouble {
        EvidenceTrouble::Damaged { .. } => "evidence_damaged",
        EvidenceTrouble::Unsigned { .. } => "evidence_unsigned",
        EvidenceTrouble::Forged { .. } => "evidence_forged",
        EvidenceTrouble::OtherRun { .. } => "evidence_other_run",
        EvidenceTrouble::OtherPolicy { .. } => "evidence_other_policy",
        EvidenceTrouble::OtherTree { .. } | EvidenceTrouble::NoTree { .. } => "evidence_other_tree",
    }
}

/// Verified content of an evidence file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedBundle {
    pub run: String,
    pub feature: String,
    /// Gates with the evidence that opened them.
    pub gates: Vec<VerifiedGate>,
}

impl DevelopRun {
    /// Returns the evidence of the run, to be saved as `target`, after verifying it. With a key
    /// every piece must be signed already: signing another author's evidence would make it true.
    pub fn export_evidence(
        &self,
        context: &Context,
        key: Option<&Path>,
        target: &Path,
    ) -> Result<EvidenceBundle, Error> {
        let key_file = key.or(context.evidence_key.as_deref());
        let (view, known) = self.read_with_records(context)?;
        let run = view.develop_run().ok_or_else(|| self.file.no_file())?;
        let seal = known.seal_state(context)?;
        let verified = self.verify_loaded(context, run, &known, &seal, key_file)?;
        self.check_outside_tree(target)?;
        let top = workspace::git_top(self.root());
        let root = top.and_then(|top| self.root().strip_prefix(top).ok().map(Path::to_owned));
        let mut bundle = EvidenceBundle {
            format: FORMAT.into(),
            version: VERSION,
            run: known.folder.id.clone(),
            feature: run.feature.clone(),
            phase: run.phase.name().into(),
            root: root.unwrap_or_default().to_string_lossy().into_owned(),
            exported_at: time::format_utc(context.now()),
            seal: seal.seal().cloned(),
            gates: verified.into_iter().map(|one| one.evidence).collect(),
            signature: None,
        };
        if let Some(path) = key_file {
            let key = evidence::read_key(path)?;
            bundle.signature = Some(evidence::sign_text(&key, &bundle.signed_text()));
        }
        Ok(bundle)
    }

    /// Refuses a file that git would see: it would change the tree it describes.
    fn check_outside_tree(&self, target: &Path) -> Result<(), Error> {
        let target = locate::absolute_path(target);
        let folder = target.parent().unwrap_or(&target);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let Some(top) = workspace::git_top(self.root()) else {
            return Ok(());
        };
        let top = top.canonicalize().unwrap_or(top);
        if !folder.starts_with(&top) || folder.starts_with(top.join(".git")) {
            return Ok(());
        }
        let place = folder.join(target.file_name().unwrap_or_default());
        let place = place.to_string_lossy();
        let looked = run_git(&top, &["check-ignore", "-q", "--", &place], &[])?;
        match looked.code {
            Some(0) => Ok(()),
            _ => Err(Error::BadInput {
                message: Wrong::ChangesItsTree {
                    path: display_path(&target),
                },
                hint: Advice::OutsideTree,
            }),
        }
    }
}

/// Verifies a file of evidence against the checkout of a folder. Nothing of the run has to be on
/// this machine.
pub fn verify_file(
    context: &Context,
    folder: &Path,
    path: &Path,
    key: &Path,
) -> Result<VerifiedBundle, Error> {
    let key = evidence::read_key(key)?;
    let bundle = read_bundle(path)?;
    verify_signatures(&key, &bundle, path)?;
    let gates = verify_gates(&bundle)?;
    let top = workspace::git_top(&locate::absolute_path(folder));
    let root = top.unwrap_or_else(|| folder.to_owned()).join(&bundle.root);
    same_policy(&root, bundle.seal.as_ref(), &gates)?;
    let side = locate::side_folder(&root.join(".develop-workflow/state.json"));
    let found = tree::hash_tree(context, &root, &side)?;
    let wanted = gates.last().and_then(|one| one.evidence.tree.clone());
    if wanted.as_deref() != Some(found.as_str()) {
        let trouble = match wanted {
            Some(wanted) => EvidenceTrouble::OtherTree { wanted, found },
            None => EvidenceTrouble::NoTree { found },
        };
        return Err(trouble.into());
    }
    Ok(VerifiedBundle {
        run: bundle.run,
        feature: bundle.feature,
        gates,
    })
}

fn read_bundle(path: &Path) -> Result<EvidenceBundle, Error> {
    let damaged = |said: String| EvidenceTrouble::Damaged {
        path: display_path(path),
        said,
    };
    let unreadable =
        |error: std::io::Error| Error::bad_file(path, cannot_be_read(&error), Advice::NameBundle);
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > FILE_BYTES_MAX {
        return Err(damaged("is too long".into()).into());
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| damaged("is not text".into()))?;
    let bundle = EvidenceBundle::parse(&text).map_err(|error| damaged(error.to_string()))?;
    let inside = Path::new(&bundle.root)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    match inside {
        true => Ok(bundle),
        false => Err(damaged("names a folder outside its repository".into()).into()),
    }
}

/// Verifies the signatures of the file and of each piece.
fn verify_signatures(key: &[u8; 32], bundle: &EvidenceBundle, path: &Path) -> Result<(), Error> {
    let what = || Signed::File {
        path: display_path(path),
    };
    let Some(signature) = &bundle.signature else {
        return Err(EvidenceTrouble::Unsigned { what: what() }.into());
    };
    if !evidence::is_signature(key, &bundle.signed_text(), signature) {
        return Err(EvidenceTrouble::Forged { what: what() }.into());
    }
    for record in &bundle.gates {
        let gate = record.gate.as_deref().unwrap_or("?").to_owned();
        let what = Signed::Evidence { gate };
        if record.signature.is_none() {
            return Err(EvidenceTrouble::Unsigned { what }.into());
        }
        if !evidence::is_signed(key, record) {
            return Err(EvidenceTrouble::Forged { what }.into());
        }
    }
    Ok(())
}

/// Returns every gate with its green evidence of this run.
fn verify_gates(bundle: &EvidenceBundle) -> Result<Vec<VerifiedGate>, Error> {
    let mut reasons = Vec::new();
    let mut verified = Vec::new();
    for gate in Gate::ALL {
        let name = gate.name();
        let of_gate = |record: &&Record| record.gate.as_deref() == Some(name);
        let Some(record) = bundle.gates.iter().find(of_gate) else {
            reasons.push(Doubt::GateClosed {
                gate: name.into(),
                phase: bundle.phase.to_string(),
            });
            continue;
        };
        if record.run != bundle.run {
            return Err(EvidenceTrouble::OtherRun {
                gate: name.into(),
                found: record.run.clone(),
                run: bundle.run.clone(),
            }
            .into());
        }
        let reason = record.reason.as_deref().unwrap_or_default();
        if record.exit_code != 0
            || record.source == EvidenceSource::ByHand && reason.trim().is_empty()
        {
            reasons.push(Doubt::NotGreen { gate: name.into() });
        }
        verified.push(VerifiedGate {
            gate,
            evidence: record.clone(),
        });
    }
    match reasons.is_empty() {
        true => Ok(verified),
        false => Err(Error::NotVerified { reasons }),
    }
}

/// Fails unless the sealed policy is that of this checkout, and the last gate was passed under it.
fn same_policy(root: &Path, sealed: Option<&Seal>, gates: &[VerifiedGate]) -> Result<(), Error> {
    let here = seal::policy_of(root)?;
    let other = |changes: Vec<Change>| Err(Error::from(EvidenceTrouble::OtherPolicy { changes }));
    let Some(sealed) = sealed else {
        return match here.gates.is_empty() {
            true => Ok(()),
            false => other(vec![Change::NothingSealed]),
        };
    };
    let text = Seal::policy_text(&sealed.rules, &sealed.files);
    if ContentHash::of_bytes(text.as_bytes()).to_string() != sealed.policy {
        return other(vec![Change::SealHash]);
    }
    let changes = sealed.changed_files(&seal::sealed_files(root, &sealed.rules)?);
    if !changes.is_empty() {
        return other(changes);
    }
    if sealed.rules != here {
        return other(vec![Change::Rules]);
    }
    for one in gates {
        let record = &one.evidence;
        let name = one.gate.name();
        let last = Some(one) == gates.last();
        if record.source == EvidenceSource::Sealed
            && (record.command.as_deref() != sealed.rules.gate_command(one.gate)
                || last && record.policy.as_deref() != Some(sealed.policy.as_str()))
        {
            return other(vec![Change::OtherSeal { gate: name.into() }]);
        }
    }
    Ok(())
}
