//! Starts a kind of work in a workspace that has no state file of it yet.

use crate::allowed_verbs::workspace_action;
use crate::error::ApiError;
use crate::http_request::ApiRequest;
use crate::serve::SharedState;
use crate::verb_results::describe_change;
use crate::verbs::{missing_verb_field, new_task};
use crate::workspaces::{leads_out, work_kind};
use bowline_engine::allowed_verbs;
use bowline_engine::kinds::FileKind;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::operations::orchestrate::{
    Orchestration, OrchestrationOptions, plan_place, save_file, take_over,
};
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::words::display_path;
use bowline_engine::{Context, workspace};
use bowline_formats::rest::{VerbRequest, WorkspaceBeginning, WorkspaceChange};
use bowline_words::message::{Confirmation, ServerNo, ServerThing};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Returns the verbs that start a kind of work.
pub(crate) fn start_verbs(word: &str) -> &'static [&'static str] {
    match word {
        "thinking" => &["new"],
        "memory" => &["task-new"],
        "develop" => &["start"],
        "orchestrate" => &["init", "import"],
        _ => &[],
    }
}

/// Returns the kinds of work a person may start in a folder that has these files.
pub(crate) fn startable_runs(
    context: &Context,
    root: &Path,
    files: &[(FileKind, PathBuf)],
) -> Vec<WorkspaceBeginning> {
    let all = allowed_verbs::allowed_beginnings(context, root, files).into_iter();
    all.map(|(kind, one)| WorkspaceBeginning {
        kind: work_kind(kind).1,
        file: display_path(&root.join(kind.relative_path())),
        action: workspace_action(one),
    })
    .collect()
}

/// Starts a kind of work in the workspace of a call.
pub(crate) fn start_work(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    verb: &'static str,
    asked: &VerbRequest,
) -> Result<WorkspaceChange, ApiError> {
    let (context, root) = (
        &shared.context,
        shared.workspaces.find_folder(call.path_param("id"))?,
    );
    let kind = match verb {
        "new" => FileKind::Thinking,
        "task-new" => FileKind::TaskState,
        "start" => FileKind::Develop,
        _ => FileKind::Orchestrate,
    };
    let place = root.join(kind.relative_path());
    if let Some(named) = asked
        .file
        .as_deref()
        .filter(|it| *it != display_path(&place))
    {
        return Err(ApiError::no_such(ServerThing::StateFile, named));
    }
    // State that a parent folder owns cannot be started here.
    let above = matches!(kind, FileKind::Develop | FileKind::Orchestrate)
        && workspace::locate_file(context, kind, root) != place;
    if above || leads_out(root, &place) {
        return Err(outside_error(&display_path(&place)));
    }
    let said = || {
        asked
            .text
            .as_deref()
            .ok_or_else(|| missing_verb_field(verb, "text"))
    };
    let text = |name: &str| {
        asked
            .texts
            .get(name)
            .map(|it| it.trim())
            .unwrap_or_default()
    };
    let changed = match verb {
        "new" => {
            let id = asked
                .code
                .as_deref()
                .ok_or_else(|| missing_verb_field(verb, "code"))?;
            let title = Some(text("title")).filter(|it| !it.is_empty());
            let folder = asked.paths.first().map_or("", String::as_str);
            let run = ThinkingRun::in_folder(context, &path_inside(root, folder)?);
            run.create_run(context, id, title.unwrap_or(id), text("goal"))?
        }
        "task-new" => {
            let memory = MemoryFolder::in_folder(context, place.parent().unwrap_or(root));
            let new = new_task(said()?, asked);
            memory.task_new(context, &new)?.with_state(())
        }
        "start" => {
            let run = DevelopRun::in_folder(context, root);
            run.start_run(context, said()?, false)?.with_state(())
        }
        "init" => {
            let plan = asked
                .id
                .as_deref()
                .map(|it| path_inside(root, it))
                .transpose()?;
            let begin = OrchestrationOptions {
                plan,
                ..OrchestrationOptions::default()
            };
            let run = Orchestration::in_folder(context, root);
            run.create_run(context, &begin)?.with_state(())
        }
        _ => {
            let path = asked
                .paths
                .first()
                .ok_or_else(|| missing_verb_field(verb, "paths"))?;
            let taken = take_over(root, None, &path_inside(root, path)?)?;
            let plan = plan_place(context, root);
            save_file(context, &plan, &taken.text, false)?;
            let done = taken.file.tasks.iter().filter(|task| task.done).count();
            let did = Confirmation::PlanTaken {
                program: taken.source.name(),
                total: taken.file.tasks.len(),
                done,
                path: display_path(&plan),
            };
            let unplaced = taken.unplaced.iter().map(|one| one.say(call.lang));
            return Ok(WorkspaceChange {
                path: display_path(&plan),
                from: None,
                to: None,
                sequence: None,
                state: Value::Null,
                told: std::iter::once(did.say(call.lang))
                    .chain(unplaced)
                    .collect(),
                evidence: Vec::new(),
            });
        }
    };
    Ok(describe_change(&changed, call.lang))
}

/// Returns a path below the workspace; one that leads out of it, by a link too, is refused.
fn path_inside(root: &Path, path: &str) -> Result<PathBuf, ApiError> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let place = root.join(path);
    let there = place.ancestors().find_map(|it| it.canonicalize().ok());
    let within = there.zip(root.canonicalize().ok());
    let within = within.is_some_and(|(there, root)| there.starts_with(root));
    match within && Path::new(path).components().all(plain) {
        true => Ok(place),
        false => Err(outside_error(path)),
    }
}

fn outside_error(path: &str) -> ApiError {
    let path = path.chars().take(200).collect();
    ApiError::Server(ServerNo::OutsideWorkspace { path })
}
