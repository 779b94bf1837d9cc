//! The verbs of state files, and those that the rules allow now.

use crate::runs::RunnableWork;
use crate::serve::SharedState;
use crate::workspace_init;
use crate::workspaces::{root_of, work_kind};
use bowline_engine::advice::quote_word;
use bowline_engine::allowed_verbs::{AllowedVerb, VerbInput, allowed_despite, allowed_verbs};
use bowline_engine::files::{FileView, KnownFile};
use bowline_engine::kinds::FileKind;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::{Context, Error};
use bowline_formats::rest::{WorkspaceAction, WorkspaceField};
use bowline_runner::drivers::{develop, memory, thinking};
use bowline_runner::orchestrate::{control_socket, read_settings};
use std::path::{Path, PathBuf};

/// Returns the verbs of a kind of state file.
pub(crate) fn file_verbs(kind: FileKind) -> Vec<&'static str> {
    let own: &[&str] = match kind {
        FileKind::Thinking => &[
            "start",
            "complete",
            "output",
            "fail",
            "evaluate",
            "quality",
            "feedback",
            "feedback-apply",
            "run",
            "stop",
        ],
        FileKind::TaskState => &[
            "task-new",
            "task-drop",
            "pause",
            "resume",
            "cancel",
            "recover",
            "finish",
            "step-add",
            "step-start",
            "step-complete",
            "step-fail",
            "backup",
            "prune",
            "restore-copy",
            "run",
            "stop",
        ],
        FileKind::TaskHistory => &["prune", "restore-copy"],
        FileKind::SharedContext => &["set", "append", "session-new", "restore-copy"],
        FileKind::AgentMemory => &["set", "append", "restore-copy"],
        FileKind::Develop => &[
            "start",
            "review",
            "implement",
            "pr",
            "done",
            "back",
            "seal",
            "adopt",
            "reset",
            "gate-pass",
            "gate-by-hand",
            "gate-reset",
            "checkpoint-start",
            "checkpoint-pass",
            "checkpoint-fail",
            "run",
            "stop",
        ],
        FileKind::Orchestrate => &[
            "start",
            "complete",
            "fail",
            "retry",
            "force-complete",
            "phase-finish",
            "rebuild",
            "pause",
            "continue",
            "stop",
            "run",
            "rescue-restore",
            "rescue-drop",
        ],
    };
    own.iter()
        .chain(&["undo", "restore", "repair"])
        .copied()
        .collect()
}

/// Returns the verbs of a kind of work, those that start it last.
pub(crate) fn all_verbs(word: &str) -> Vec<&'static str> {
    let kinds = FileKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| work_kind(*kind).0 == word);
    let mut all: Vec<&str> = Vec::new();
    for verb in kinds
        .flat_map(file_verbs)
        .chain(workspace_init::start_verbs(word).iter().copied())
    {
        if !all.contains(&verb) {
            all.push(verb);
        }
    }
    all
}

/// Returns the actions allowed on a file now, given the other files of its workspace. If they
/// cannot be determined, the findings of the file say why.
pub(crate) fn allowed_actions(
    shared: &SharedState,
    file: &KnownFile,
    view: &FileView,
    beside: &[(FileKind, PathBuf)],
) -> Vec<WorkspaceAction> {
    let context = &shared.context;
    let mut all = allowed_verbs(context, file, view, beside).unwrap_or_default();
    if let Some(what) = runnable_work(context, view.kind, &view.path) {
        match shared.runs.is_active(&view.path) {
            true => all.push(AllowedVerb {
                verb: "stop",
                grave: true,
                ..AllowedVerb::default()
            }),
            false if would_start(context, &what) => all.push(AllowedVerb {
                verb: "run",
                runs: Some(format!("bowline {} run", view.kind.command_noun())),
                texts: vec!["agent"],
                ..AllowedVerb::default()
            }),
            false => {}
        }
    }
    let all = all.into_iter().map(|mut one| {
        if one.verb == "phase-finish" {
            one.runs = landing_checks(&root_of(view.kind, &view.path));
        }
        workspace_action(one)
    });
    if view.kind != FileKind::Orchestrate || !control_socket::is_open(&view.path) {
        return all.collect();
    }
    // A run owns the file: it is asked, and does the rest itself.
    let whole = |verb: &&'static str| {
        workspace_action(AllowedVerb {
            verb,
            grave: *verb == "stop",
            ..AllowedVerb::default()
        })
    };
    let of_run = match control_socket::is_paused(&view.path) {
        true => ["continue", "stop"],
        false => ["pause", "stop"],
    };
    let by_run = |one: &WorkspaceAction| !one.ids.is_empty() && one.verb != "phase-finish";
    let asked = of_run.iter().map(whole);
    asked.chain(all.filter(by_run)).collect()
}

/// Returns the run that `run` and `stop` apply to; those of an orchestration are sent to the run
/// itself.
pub(crate) fn runnable_work(
    context: &Context,
    kind: FileKind,
    path: &Path,
) -> Option<RunnableWork> {
    let root = root_of(kind, path);
    match kind {
        FileKind::Thinking => Some(RunnableWork::Thinking(ThinkingRun::in_folder(
            context, &root,
        ))),
        FileKind::TaskState => {
            let folder = path.parent().unwrap_or(path);
            Some(RunnableWork::Memory(
                MemoryFolder::in_folder(context, folder).into(),
            ))
        }
        FileKind::Develop => Some(RunnableWork::Develop(DevelopRun::in_folder(context, &root))),
        FileKind::Orchestrate
        | FileKind::TaskHistory
        | FileKind::SharedContext
        | FileKind::AgentMemory => None,
    }
}

/// True if an agent would have something to do now.
fn would_start(context: &Context, what: &RunnableWork) -> bool {
    let would = match what {
        RunnableWork::Thinking(it) => {
            thinking::planned_starts(context, it, &thinking::ThinkingOptions::default())
        }
        RunnableWork::Memory(it) => {
            memory::planned_starts(context, it, &memory::MemoryOptions::default())
        }
        RunnableWork::Develop(it) => {
            develop::planned_starts(context, it, &develop::DevelopOptions::default())
        }
        RunnableWork::Orchestration(_) => return false,
    };
    would.is_ok_and(|would| !would.is_empty())
}

/// Returns the actions allowed on a file that cannot be read.
pub(crate) fn actions_despite_error(error: &Error) -> Vec<WorkspaceAction> {
    allowed_despite(error)
        .into_iter()
        .map(workspace_action)
        .collect()
}

pub(crate) fn workspace_action(one: AllowedVerb) -> WorkspaceAction {
    let field = |said: VerbInput| match said {
        VerbInput::Text => WorkspaceField::Text,
        VerbInput::Code => WorkspaceField::Code,
        VerbInput::Path => WorkspaceField::Paths,
        VerbInput::Command => WorkspaceField::Command,
        VerbInput::Id => WorkspaceField::Id,
        VerbInput::Version => WorkspaceField::Version,
    };
    let owned = |all: Vec<&'static str>| all.into_iter().map(str::to_owned).collect();
    WorkspaceAction {
        verb: one.verb.into(),
        ids: one.ids,
        asks: one.asks.into_iter().map(field).collect(),
        takes: one.takes.into_iter().map(field).collect(),
        codes: owned(one.codes),
        values: one.values,
        texts: owned(one.texts),
        runs: one.runs,
        grave: one.grave,
    }
}

/// Returns the checks that must pass before a phase lands, one per line. Outside of git nothing
/// lands.
fn landing_checks(root: &Path) -> Option<String> {
    let settings = read_settings(root).ok()?;
    let in_git = root.ancestors().any(|it| it.join(".git").exists());
    let line = |words: &Vec<String>| {
        let words: Vec<String> = words.iter().map(|it| quote_word(it)).collect();
        words.join(" ")
    };
    let lines: Vec<String> = settings.orchestrate.checks.iter().map(line).collect();
    (in_git && !lines.is_empty()).then(|| lines.join("\n"))
}
