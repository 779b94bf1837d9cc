//! Imports tasks of other programs, exports runs, and manages what was rescued from worktrees.

use crate::args::orchestrate::RescueVerb;
use crate::commands::status;
use crate::output::{CommandOutput, TextTone};
use bowline_engine::formats::import::ImportSource;
use bowline_engine::operations::orchestrate::{
    self, ExportedRun, ImportedPlan, Orchestration, RescuedCommit, plan_place, save_file, take_over,
};
use bowline_engine::words::display_path;
use bowline_engine::{Context, Error};
use bowline_words::message::{Confirmation, Label, OutputNote};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Most files listed for one rescued item.
const FILES_SHOWN_MAX: usize = 4;

/// Arguments of `orchestrate import`.
pub(crate) struct ImportArguments<'a> {
    pub(crate) path: &'a Path,
    pub(crate) from: Option<ImportSource>,
    pub(crate) output: Option<&'a Path>,
    pub(crate) force: bool,
}

/// Writes a plan from another program's tasks; a dry run prints it.
pub(crate) fn import_plan(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    arguments: &ImportArguments<'_>,
) -> Result<ExitCode, Error> {
    let taken = take_over(folder, arguments.from, arguments.path)?;
    let place = match arguments.output {
        Some(path) => folder.join(path),
        None => plan_place(context, folder),
    };
    save_file(context, &place, &taken.text, arguments.force)?;
    let done = taken.file.tasks.iter().filter(|task| task.done).count();
    if output.json {
        let mut body = import_json(output, &taken, &place, done);
        if output.dry_run {
            body["text"] = json!(taken.text);
        }
        output.print_outcome(body, &[]);
        return Ok(ExitCode::SUCCESS);
    }
    if output.dry_run {
        output.print_raw(&taken.text);
    }
    let did = Confirmation::PlanTaken {
        program: taken.source.name(),
        total: taken.file.tasks.len(),
        done,
        path: display_path(&place),
    };
    let said = output.mark_dry_run(&did.say(output.lang));
    match output.dry_run {
        // Standard output has nothing but the plan.
        true => output.print_stderr(&said),
        false => output.print_line(&said),
    }
    for one in &taken.unplaced {
        output.print_stderr(&format!("  {}", one.say(output.lang)));
    }
    if let Some(finding) = taken.file.blocking_finding() {
        let head = output.colour_text(TextTone::Busy, &output.label(Label::Warning));
        let line = output.label(Label::Line);
        let text = finding.message.say(output.lang);
        output.print_stderr(&format!("{head}: {line} {}: {text}", finding.line));
    }
    if arguments.output.is_none()
        && let Ok(plan) = orchestrate::load_plan(context, folder, None)
        && plan.path != place
        && !output.dry_run
    {
        let path = display_path(&plan.path);
        output.print_remark(Label::Note, &OutputNote::PlanHidden { path });
    }
    Ok(ExitCode::SUCCESS)
}

fn import_json(output: &CommandOutput, taken: &ImportedPlan, place: &Path, done: usize) -> Value {
    let unplaced = taken.unplaced.iter().map(|one| one.say(output.lang));
    json!({
        "kind": "orchestrate",
        "from": taken.source.name(),
        "source": taken.path,
        "plan": place,
        "total": taken.file.tasks.len(),
        "done": done,
        "phases": taken.file.phase_numbers().len(),
        "usable": taken.file.blocking_finding().is_none(),
        "unplaced": unplaced.collect::<Vec<_>>(),
    })
}

/// Writes an exported run to a file, or prints it.
pub(crate) fn export_run(
    context: &Context,
    output: &CommandOutput,
    exported: &ExportedRun,
    file: Option<&Path>,
    force: bool,
) -> Result<ExitCode, Error> {
    let (done, total) = (exported.done, exported.total);
    if let Some(file) = file {
        save_file(context, file, &exported.text, force)?;
        let path = display_path(file);
        let body = json!({
            "kind": "orchestrate",
            "path": file,
            "done": done,
            "total": total,
            "unticked": exported.unticked,
        });
        let did = Confirmation::RunExported { path, done, total };
        output.print_outcome(body, &[did.say(output.lang)]);
    } else if output.json {
        let body = json!({
            "kind": "orchestrate",
            "text": exported.text,
            "done": done,
            "total": total,
            "unticked": exported.unticked,
        });
        output.print_line(&body.to_string());
    } else {
        output.print_raw(&exported.text);
    }
    if !exported.unticked.is_empty() && !output.json {
        let ids = exported.unticked.join(" ");
        output.print_remark(Label::Note, &OutputNote::NotTickedInExport { ids });
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists, shows, restores or drops what was rescued from worktrees.
pub(crate) fn run_rescue_verb(
    context: &Context,
    output: &CommandOutput,
    run: &Orchestration,
    verb: Option<&RescueVerb>,
) -> Result<ExitCode, Error> {
    match verb {
        None => print_rescued(context, output, &run.list_rescued(false)?),
        Some(RescueVerb::List { all }) => print_rescued(context, output, &run.list_rescued(*all)?),
        Some(RescueVerb::Show { name }) => {
            let rescued = run.rescued_as(name)?;
            let difference = run.rescued_difference(&rescued)?;
            let difference = String::from_utf8_lossy(&difference);
            if output.json {
                let mut body = rescued_json(&rescued);
                body["kind"] = json!("orchestrate");
                body["difference"] = json!(difference);
                output.print_line(&body.to_string());
            } else {
                output.print_stderr(&rescued_line(context, output, &rescued));
                output.print_raw(&difference);
            }
        }
        Some(RescueVerb::Restore {
            name,
            branch,
            worktree,
        }) => {
            let rescued = run.rescued_as(name)?;
            let restored =
                run.restore_rescued(context, rescued, branch.as_deref(), worktree.as_deref())?;
            let (name, branch) = (restored.rescued.name.clone(), restored.branch.clone());
            let did = match &restored.worktree {
                Some(path) => Confirmation::RescueRestoredIn {
                    name,
                    branch,
                    path: display_path(path),
                },
                None => Confirmation::RescueRestored { name, branch },
            };
            let mut body = rescued_json(&restored.rescued);
            body["kind"] = json!("orchestrate");
            body["branch"] = json!(restored.branch);
            body["worktreeFolder"] = json!(restored.worktree);
            output.print_outcome(body, &[did.say(output.lang)]);
        }
        Some(RescueVerb::Drop { name }) => {
            let rescued = run.rescued_as(name)?;
            run.drop_rescued(context, &rescued)?;
            let mut body = rescued_json(&rescued);
            body["kind"] = json!("orchestrate");
            let name = rescued.name;
            output.print_outcome(
                body,
                &[Confirmation::RescueDropped { name }.say(output.lang)],
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_rescued(context: &Context, output: &CommandOutput, all: &[RescuedCommit]) {
    if output.json {
        let kept: Vec<Value> = all.iter().map(rescued_json).collect();
        output.print_line(&json!({ "kind": "orchestrate", "kept": kept }).to_string());
        return;
    }
    if all.is_empty() {
        output.print_line(&OutputNote::NothingRescued.say(output.lang));
    }
    for one in all {
        output.print_line(&rescued_line(context, output, one));
    }
}

fn rescued_line(context: &Context, output: &CommandOutput, one: &RescuedCommit) -> String {
    let age = status::format_duration(output, (context.now().0 - one.at.0).max(0));
    let files = output.label(Label::Files {
        count: one.files.len(),
    });
    let named: Vec<String> = one.files.iter().take(FILES_SHOWN_MAX).cloned().collect();
    let more = if one.files.len() > FILES_SHOWN_MAX {
        " …"
    } else {
        ""
    };
    let sort = match one.worktree {
        true => String::new(),
        false => format!("  {}", output.label(Label::Commits)),
    };
    format!(
        "{}{sort}  {age}  {files}: {}{more}",
        output.colour_text(TextTone::Strong, &one.name),
        status::one_line(&named.join(" "))
    )
}

fn rescued_json(one: &RescuedCommit) -> Value {
    json!({
        "name": one.name,
        "ref": one.reference,
        "task": one.task,
        "commit": one.commit,
        "keptAt": bowline_engine::formats::time::format_utc(one.at),
        "message": one.message,
        "worktree": one.worktree,
        "files": one.files,
    })
}
