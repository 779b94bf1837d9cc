//! `bowline verify` and `bowline develop evidence`.

use crate::output::CommandOutput;
use bowline_engine::operations::develop::{DevelopRun, VerifiedGate, verify_file};
use bowline_engine::words::system_cause;
use bowline_engine::{Context, Error};
use bowline_words::message::{Advice, Confirmation, Label, Why};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Checks the evidence of the run in this folder, or of a file.
pub(crate) fn verify_evidence(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    key: Option<&Path>,
    file: Option<&Path>,
) -> Result<ExitCode, Error> {
    let key = key.map(|key| folder.join(key));
    let (path, gates, named) = match file.zip(key.as_deref()) {
        Some((file, key)) => {
            let file = folder.join(file);
            let shown = verify_file(context, folder, &file, key)?;
            (file, shown.gates, Some((shown.run, shown.feature)))
        }
        None => {
            let run = DevelopRun::in_folder(context, folder);
            let gates = run.verify_evidence(context, key.as_deref())?;
            (run.file().path.clone(), gates, None)
        }
    };
    if output.json {
        let gates: Vec<Value> = gates
            .iter()
            .map(|one| json!({ "gate": one.gate.name(), "evidence": one.evidence }))
            .collect();
        let mut body = json!({ "verified": true, "path": path, "gates": gates });
        if let Some((run, feature)) = named {
            body["run"] = run.into();
            body["feature"] = feature.into();
        }
        output.print_line(&body.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    for one in &gates {
        let mark = one.evidence.unsandboxed.then_some(Label::Unsandboxed);
        let mark = mark.map(|mark| format!("  ({})", output.label(mark)));
        output.print_line(&(evidence_line(one) + &mark.unwrap_or_default()));
    }
    Ok(ExitCode::SUCCESS)
}

fn evidence_line(one: &VerifiedGate) -> String {
    let evidence = &one.evidence;
    let what = evidence.command.as_deref().or(evidence.reason.as_deref());
    format!(
        "✓ {}  {}  {}",
        one.gate.name(),
        evidence.source.name(),
        what.unwrap_or_default()
    )
}

/// Writes the evidence of the run to a file.
pub(crate) fn export_evidence(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    file: &Path,
    key: Option<&Path>,
) -> Result<ExitCode, Error> {
    let run = DevelopRun::in_folder(context, folder);
    let key = key.map(|key| folder.join(key));
    let target = folder.join(file);
    let printed = file == Path::new("-");
    let place = if printed {
        Path::new("/dev/stdout")
    } else {
        &target
    };
    let bundle = run.export_evidence(context, key.as_deref(), place)?;
    if printed {
        output.print_raw(&bundle.text());
        return Ok(ExitCode::SUCCESS);
    }
    if !output.dry_run {
        std::fs::write(&target, bundle.text()).map_err(|error| {
            Error::bad_file(
                &target,
                Why::CannotBeWritten {
                    cause: system_cause(&error),
                },
                Advice::WritableFile,
            )
        })?;
    }
    let signed = bundle.signature.is_some();
    let did = match signed {
        true => Confirmation::EvidenceSigned,
        false => Confirmation::EvidenceUnsigned,
    };
    output.print_outcome(
        json!({ "path": target, "run": bundle.run, "gates": bundle.gates.len(), "signed": signed }),
        &[did.say(output.lang)],
    );
    Ok(ExitCode::SUCCESS)
}
