//! The hook of agent clients: from the bytes a client sends to the answer it gets.
//!
//! Clients let a tool call through when their hook fails in any way but one. So before a tool call
//! every error of ours, a panic included, is a denial; at any other event an error only leaves a
//! line in a log.

mod card;
mod host_environment;
mod other_state_files;
mod registration;
mod state_facts;
mod stop;
#[cfg(test)]
mod tests;

pub use card::{CARD_WORDS_MAX, render_card};
pub use host_environment::{GitRepository, HostEnvironment, is_ignored};
pub use registration::HookRegistration;
pub use stop::{STOPS_HELD_PER_SESSION_MAX, STOPS_HELD_PER_STATE_MAX};

use crate::advice;
use crate::clients;
use crate::decision::{
    GatedAction, always_gated_actions, decide_on_actions, gated_actions_in,
    gated_actions_in_other_workspace, side_effects_of,
};
use crate::lang::Lang;
use crate::locate;
use crate::run_trust::{self, RunTrust};
use crate::shell::SideEffect;
use crate::tool_call::ToolCall;
use crate::workspace_paths::{self, WorkspacePaths};
use bowline_formats::hook::{HookEvent, HookMessage, HookResponse};
use bowline_words::message::{Card, Cause, Denied, Unjudged};
use std::io::{Read, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Longer messages are not read.
const MESSAGE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The log grows no further beyond this length.
const LOG_BYTES_MAX: u64 = 1024 * 1024;
/// Names the root of the session where the message does not.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Answers a client and notes its process as an agent's. `event` is the word on the command line;
/// without it the message names the event. Never panics.
pub fn answer_client(
    event: Option<&str>,
    registered: &HookRegistration,
    input: impl Read,
) -> HookResponse {
    // A failed note is no reason to stop a tool call.
    let _ = catch_unwind(clients::note_client);
    answer_from(event, registered, input, std::env::current_dir().ok())
}

fn answer_from(
    event: Option<&str>,
    registered: &HookRegistration,
    input: impl Read,
    here: Option<PathBuf>,
) -> HookResponse {
    let given = event.and_then(HookEvent::from_name);
    let mut message = Vec::new();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut input = input.take(MESSAGE_BYTES_MAX + 1);
        input
            .read_to_end(&mut message)
            .map_err(|error| Unjudged::Unread {
                cause: Cause::System {
                    kind: error.kind(),
                    number: error.raw_os_error(),
                    text: error.to_string(),
                },
            })?;
        if message.len() as u64 > MESSAGE_BYTES_MAX {
            return Err(Unjudged::TooLong);
        }
        decide_answer(given, registered, &message)
    }));
    let error = match result {
        Ok(Ok(answer)) => return answer,
        Ok(Err(reason)) => Denied::CannotJudge { reason },
        Err(_) => Denied::GateFailed,
    };
    if given.unwrap_or_else(|| guess_event(&message)) == HookEvent::PreToolUse {
        deny_unjudged(&error, here)
    } else {
        // Nothing was judged at this event: the line holds the reason alone.
        let why = match error {
            Denied::CannotJudge { reason } => reason.to_string(),
            other => other.to_string(),
        };
        append_log(&format!("{}: {why}", event.unwrap_or("hook")));
        HookResponse::silent()
    }
}

/// Denies a call that could not be judged. Without a run there is nothing to guard, and the call
/// goes on.
fn deny_unjudged(error: &Denied, here: Option<PathBuf>) -> HookResponse {
    let folders = here.into_iter().chain(project_folder());
    let guarded = |folder: PathBuf| run_trust::assess_folder(&folder) != RunTrust::Nothing;
    let run = catch_unwind(AssertUnwindSafe(|| folders.into_iter().any(guarded)));
    if run.unwrap_or(true) {
        let lang = Lang::from_environment();
        let next = Card::Next {
            command: "bowline doctor".to_owned(),
        };
        HookResponse::deny(format!("{}\n{}\n", error.say(lang), next.say(lang)))
    } else {
        HookResponse::silent()
    }
}

/// Guesses the event of an unreadable message: any event but the guarded one must be named in it.
fn guess_event(message: &[u8]) -> HookEvent {
    let text = String::from_utf8_lossy(message);
    HookEvent::ALL
        .into_iter()
        .find(|event| text.contains(event.client_name()))
        .unwrap_or(HookEvent::PreToolUse)
}

fn decide_answer(
    given: Option<HookEvent>,
    registered: &HookRegistration,
    bytes: &[u8],
) -> Result<HookResponse, Unjudged> {
    let message = HookMessage::parse(bytes).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Unjudged::NotUnderstood {
            said: format!("{error}{}", cause.unwrap_or_default()),
        }
    })?;
    let Some(event) = given.or(message.event) else {
        return Ok(HookResponse::silent());
    };
    let call = ToolCall::from_message(&message);
    if event == HookEvent::PreToolUse && call == ToolCall::Other {
        return match message.tool.is_empty() {
            true => Err(Unjudged::NoTool),
            false => Ok(HookResponse::silent()),
        };
    }
    let folder = message.cwd.as_ref().map(PathBuf::from);
    let folder = folder
        .or_else(project_folder)
        .or_else(|| std::env::current_dir().ok())
        .ok_or(Unjudged::NoFolder)?;
    if event != HookEvent::PreToolUse && registered.is_shadowed(&folder) {
        return Ok(HookResponse::silent());
    }
    let mut trust = run_trust::assess_folder(&folder);
    if trust == RunTrust::Nothing
        && let Some(project) = project_folder().filter(|it| *it != folder)
    {
        trust = run_trust::assess_folder(&project);
    }
    let lang = Lang::from_environment();
    Ok(match event {
        HookEvent::PreToolUse => decide_tool_call(&call, &folder, &trust, lang),
        HookEvent::SessionStart | HookEvent::SubagentStart => {
            match render_card(&trust, &folder, lang) {
                Some(card) => HookResponse::add_context(event, &card),
                None => HookResponse::silent(),
            }
        }
        HookEvent::UserPromptSubmit => match card::render_reminder(&trust, lang) {
            Some(words) => HookResponse::add_context(event, &words),
            None => HookResponse::silent(),
        },
        HookEvent::PostToolUse => match card::render_warning(&trust, lang) {
            Some(words) => HookResponse::add_context(event, &words),
            None => HookResponse::silent(),
        },
        HookEvent::Stop => stop::answer_stop(&message, &trust, lang),
        // After a compaction the card is shown again by the start of the session.
        HookEvent::PreCompact => HookResponse::silent(),
    })
}

fn project_folder() -> Option<PathBuf> {
    locate::read_variable(PROJECT_VARIABLE)
        .filter(|it| !it.is_empty())
        .map(PathBuf::from)
}

fn decide_tool_call(call: &ToolCall, folder: &Path, trust: &RunTrust, lang: Lang) -> HookResponse {
    let effects = side_effects_of(call, folder, &HostEnvironment);
    let place = trust.path().map(WorkspacePaths::for_run_file);
    let own = place.as_ref().map_or_else(
        || always_gated_actions(&effects),
        |it| gated_actions_in(&effects, it),
    );
    let refused = denial_text(trust, place.as_ref(), &own, call, lang);
    refused
        .or_else(|| denial_in_other_workspace(&effects, place.as_ref(), call, lang))
        .map_or_else(HookResponse::silent, HookResponse::deny)
}

/// Applies the gates of runs in other workspaces that the call writes into.
fn denial_in_other_workspace(
    effects: &[SideEffect],
    own: Option<&WorkspacePaths>,
    call: &ToolCall,
    lang: Lang,
) -> Option<String> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for effect in effects {
        let path = match effect {
            SideEffect::Write {
                path: Some(path), ..
            }
            | SideEffect::Touch { path, .. }
            | SideEffect::Finish {
                place: Some(path), ..
            }
            | SideEffect::Setup {
                place: Some(path), ..
            } => path,
            SideEffect::Write { path: None, .. }
            | SideEffect::Finish { place: None, .. }
            | SideEffect::Setup { place: None, .. }
            | SideEffect::Person { .. }
            | SideEffect::Hidden { .. } => continue,
        };
        if own.is_some_and(|place| place.contains_path(path)) {
            continue;
        }
        // Removing a folder removes the run in it.
        let path = workspace_paths::resolve_links(path);
        let folder = if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(&path).to_owned()
        };
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.into_iter().find_map(|folder| {
        let trust = run_trust::assess_folder(&folder);
        let place = WorkspacePaths::for_run_file(trust.path()?);
        let found = gated_actions_in_other_workspace(effects, &place);
        denial_text(&trust, Some(&place), &found, call, lang)
    })
}

/// Returns the text of a run's denial of a call; `None` allows the call.
fn denial_text(
    trust: &RunTrust,
    place: Option<&WorkspacePaths>,
    found: &[GatedAction],
    call: &ToolCall,
    lang: Lang,
) -> Option<String> {
    let mut ignored = |path: &Path| place.is_some_and(|place| is_ignored(place.root(), path));
    let denial = decide_on_actions(trust, found, &mut ignored)?;
    let command = match call {
        ToolCall::Shell { command, .. } => Some(command.as_str()),
        ToolCall::Write { .. }
        | ToolCall::Finish { .. }
        | ToolCall::Hidden { .. }
        | ToolCall::Other => None,
    };
    let seal = trust.path().and_then(advice::read_seal);
    let mut text = denial.render_denial(command, lang, seal.as_ref());
    if let RunTrust::Run(believed) = trust
        && !believed.distrusted.is_empty()
    {
        let what = believed.distrusted.join(", ");
        text.push_str(&format!("{}\n", Card::NotBelieved { what }.say(lang)));
    }
    Some(text)
}

/// Appends a line to the hook's log, for a person who looks for the reason.
fn append_log(line: &str) {
    let path = locate::state_home().join("bowline/hook.log");
    let long = std::fs::metadata(&path).is_ok_and(|it| it.len() > LOG_BYTES_MAX);
    if long {
        return;
    }
    let _ = std::fs::create_dir_all(path.parent().unwrap_or(&path));
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    if let Ok(mut file) = file {
        let _ = writeln!(file, "{line}");
    }
}
