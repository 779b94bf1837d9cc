//! `bowline doctor`.

use crate::output::{CommandOutput, TextTone};
use bowline_engine::advice::quote_word;
use bowline_engine::doctor::{self, Diagnosis};
use bowline_engine::files::KnownFile;
use bowline_engine::formats::finding::{Finding, Severity};
use bowline_engine::{Context, Error, workspace};
use bowline_words::message::{Confirmation, Label, OutputNote};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    what: &[String],
    repair: bool,
) -> Result<ExitCode, Error> {
    let files = if what.is_empty() {
        workspace::discover_files(context, folder)
    } else {
        let named = what
            .iter()
            .map(|name| workspace::resolve_all(context, folder, name));
        named.collect::<Result<Vec<_>, _>>()?.concat()
    };
    if files.is_empty() {
        return Err(Error::NothingHere {
            path: folder.to_owned(),
        });
    }
    let several = files.len() > 1;
    let mut healthy = true;
    let mut reports = Vec::new();
    for (kind, path) in files {
        let file = KnownFile::new(context, kind, &path);
        let diagnosis = if repair && !context.dry_run {
            doctor::repair_file(context, &file)
        } else {
            doctor::examine_file(context, &file)
        };
        let diagnosis = match diagnosis {
            Ok(diagnosis) => diagnosis,
            // One unreadable file must not hide the others.
            Err(error) if several => {
                healthy = false;
                if output.json {
                    let mut entry = json!({ "kind": kind.name(), "path": path, "healthy": false });
                    entry["error"] = output.error_json(&error);
                    reports.push(entry);
                } else {
                    output.print_error(&error);
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        healthy &= diagnosis.is_healthy();
        if output.json {
            reports.push(diagnosis_json(&diagnosis));
        } else {
            print_diagnosis(output, &diagnosis, repair && !context.dry_run);
        }
    }
    let body = json!({ "healthy": healthy, "files": reports });
    // Only a repair would have written anything.
    if repair && context.dry_run {
        output.print_outcome(body, &[Confirmation::NothingRepaired.say(output.lang)]);
    } else if output.json {
        output.print_line(&body.to_string());
    }
    Ok(if healthy {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(4)
    })
}

fn diagnosis_json(diagnosis: &Diagnosis) -> serde_json::Value {
    let document = diagnosis.document.as_ref();
    json!({
        "kind": diagnosis.file.kind.name(),
        "path": diagnosis.file.path,
        "healthy": diagnosis.is_healthy(),
        "findings": diagnosis.findings.iter().map(|finding| finding.to_json(document)).collect::<Vec<_>>(),
        "repairs": diagnosis.repairs.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn print_diagnosis(output: &CommandOutput, diagnosis: &Diagnosis, repaired: bool) {
    let path = diagnosis.file.path.display();
    let kind = diagnosis.file.kind.name();
    if diagnosis.findings.is_empty() {
        output.print_line(&format!(
            "{} {kind}  {path}",
            output.colour_text(TextTone::Good, "✓")
        ));
        return;
    }
    let (mark, tone) = if diagnosis.is_healthy() {
        ("✓", TextTone::Good)
    } else {
        ("✗", TextTone::Bad)
    };
    output.print_line(&format!(
        "{} {kind}  {path}",
        output.colour_text(tone, mark)
    ));
    for finding in &diagnosis.findings {
        output.print_line(&format!(
            "  {}",
            output
                .format_finding(finding, diagnosis.document.as_ref())
                .replace('\n', "\n  ")
        ));
    }
    for repair in &diagnosis.repairs {
        output.print_line(&format!(
            "  {}: {}",
            output.colour_text(TextTone::Good, &output.label(Label::Repaired)),
            repair.say(output.lang)
        ));
    }
    if !diagnosis.is_healthy() {
        let next = next_step(output, diagnosis, repaired);
        output.print_line(&format!("  {}: {next}", output.label(Label::Next)));
    }
}

/// Returns the next step for an unhealthy file: a repair if one is left to be made, else an edit by
/// a person.
fn next_step(output: &CommandOutput, diagnosis: &Diagnosis, repaired: bool) -> String {
    let path = quote_word(&diagnosis.file.path.display().to_string());
    let wrong = || {
        let all = diagnosis.remaining.iter();
        all.filter(|finding| finding.severity >= Severity::Error)
    };
    if wrong().any(|finding| finding.severity == Severity::ReadOnly) {
        return OutputNote::UpdateBowline.say(output.lang);
    }
    // An unreadable file may be restored from its journal or its copy.
    let repairable =
        |finding: &Finding| finding.repair.is_some() || finding.severity == Severity::Fatal;
    if !repaired && wrong().any(repairable) {
        return format!("bowline doctor --repair {path}");
    }
    let places: Vec<&str> = wrong()
        .map(|finding| finding.pointer.as_str())
        .filter(|pointer| !pointer.is_empty())
        .collect();
    let advice = match places.is_empty() {
        true => OutputNote::EditFile { path },
        false => OutputNote::EditPlaces {
            path,
            places: places.join(", "),
        },
    };
    advice.say(output.lang)
}
