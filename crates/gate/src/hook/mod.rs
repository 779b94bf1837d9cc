//! The hook of agent clients: from the bytes a client sends to the answer it gets.
//!
//! Clients let a tool call through when their hook fails in any way but one. So before a tool call
//! every error of ours, a panic included, is a denial; at any other event an error only leaves a
//! line in a log.

mod card;
mod others;
mod recall;
mod registered;
mod stop;
#[cfg(test)]
mod tests;
mod world;

pub use card::{CARD_WORDS_MAX, card};
pub use registered::Registered;
pub use stop::{STOPS_HELD_PER_SESSION_MAX, STOPS_HELD_PER_STATE_MAX};
pub use world::{Repository, World, is_ignored};

use crate::advice;
use crate::belief::{self, Belief};
use crate::clients;
use crate::lang::Lang;
use crate::locate;
use crate::place::{self, Place};
use crate::shell::Deed;
use crate::tool_call::ToolCall;
use crate::verdict::{
    Offence, deeds_of, judge, offences_anywhere, offences_from_afar, offences_in,
};
use bowline_formats::hook::{Answer, Event, HookMessage};
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
pub fn answer(event: Option<&str>, registered: &Registered, input: impl Read) -> Answer {
    // A failed note is no reason to stop a tool call.
    let _ = catch_unwind(clients::note);
    answer_from(event, registered, input, std::env::current_dir().ok())
}

fn answer_from(
    event: Option<&str>,
    registered: &Registered,
    input: impl Read,
    here: Option<PathBuf>,
) -> Answer {
    let given = event.and_then(Event::from_name);
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
        decide(given, registered, &message)
    }));
    let error = match result {
        Ok(Ok(answer)) => return answer,
        Ok(Err(reason)) => Denied::CannotJudge { reason },
        Err(_) => Denied::GateFailed,
    };
    if given.unwrap_or_else(|| guess(&message)) == Event::PreToolUse {
        failed(&error, here)
    } else {
        // Nothing was judged at this event: the line holds the reason alone.
        let why = match error {
            Denied::CannotJudge { reason } => reason.to_string(),
            other => other.to_string(),
        };
        log(&format!("{}: {why}", event.unwrap_or("hook")));
        Answer::silent()
    }
}

/// Denies a call that could not be judged. Without a run there is nothing to guard, and the call
/// goes on.
fn failed(error: &Denied, here: Option<PathBuf>) -> Answer {
    let folders = here.into_iter().chain(project());
    let guarded = |folder: PathBuf| belief::of_folder(&folder) != Belief::Nothing;
    let run = catch_unwind(AssertUnwindSafe(|| folders.into_iter().any(guarded)));
    if run.unwrap_or(true) {
        let lang = Lang::of_environment();
        let next = Card::Next {
            command: "bowline doctor".to_owned(),
        };
        Answer::deny(format!("{}\n{}\n", error.say(lang), next.say(lang)))
    } else {
        Answer::silent()
    }
}

/// Guesses the event of an unreadable message: any event but the guarded one must be named in it.
fn guess(message: &[u8]) -> Event {
    let text = String::from_utf8_lossy(message);
    Event::ALL
        .into_iter()
        .find(|event| text.contains(event.outward()))
        .unwrap_or(Event::PreToolUse)
}

fn decide(given: Option<Event>, registered: &Registered, bytes: &[u8]) -> Result<Answer, Unjudged> {
    let message = HookMessage::read(bytes).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Unjudged::NotUnderstood {
            said: format!("{error}{}", cause.unwrap_or_default()),
        }
    })?;
    let Some(event) = given.or(message.event) else {
        return Ok(Answer::silent());
    };
    let call = ToolCall::of(&message);
    if event == Event::PreToolUse && call == ToolCall::Other {
        return match message.tool.is_empty() {
            true => Err(Unjudged::NoTool),
            false => Ok(Answer::silent()),
        };
    }
    let folder = message.cwd.as_ref().map(PathBuf::from);
    let folder = folder
        .or_else(project)
        .or_else(|| std::env::current_dir().ok())
        .ok_or(Unjudged::NoFolder)?;
    if event != Event::PreToolUse && registered.comes_behind(&folder) {
        return Ok(Answer::silent());
    }
    let mut belief = belief::of_folder(&folder);
    if belief == Belief::Nothing
        && let Some(project) = project().filter(|it| *it != folder)
    {
        belief = belief::of_folder(&project);
    }
    let lang = Lang::of_environment();
    Ok(match event {
        Event::PreToolUse => before_tool(&call, &folder, &belief, lang),
        Event::SessionStart | Event::SubagentStart => match card(&belief, &folder, lang) {
            Some(card) => Answer::context(event, &card),
            None => Answer::silent(),
        },
        Event::UserPromptSubmit => match card::reminder(&belief, lang) {
            Some(words) => Answer::context(event, &words),
            None => Answer::silent(),
        },
        Event::PostToolUse => match card::warning(&belief, lang) {
            Some(words) => Answer::context(event, &words),
            None => Answer::silent(),
        },
        Event::Stop => stop::answer(&message, &belief, lang),
        // After a compaction the card is shown again by the start of the session.
        Event::PreCompact => Answer::silent(),
    })
}

fn project() -> Option<PathBuf> {
    locate::variable(PROJECT_VARIABLE)
        .filter(|it| !it.is_empty())
        .map(PathBuf::from)
}

fn before_tool(call: &ToolCall, folder: &Path, belief: &Belief, lang: Lang) -> Answer {
    let deeds = deeds_of(call, folder, &World);
    let place = belief.path().map(Place::of);
    let own = place
        .as_ref()
        .map_or_else(|| offences_anywhere(&deeds), |it| offences_in(&deeds, it));
    let refused = denied(belief, place.as_ref(), &own, call, lang);
    refused
        .or_else(|| denied_from_afar(&deeds, place.as_ref(), call, lang))
        .map_or_else(Answer::silent, Answer::deny)
}

/// Applies the gates of runs in other workspaces that the call writes into.
fn denied_from_afar(
    deeds: &[Deed],
    own: Option<&Place>,
    call: &ToolCall,
    lang: Lang,
) -> Option<String> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for deed in deeds {
        let path = match deed {
            Deed::Write {
                path: Some(path), ..
            }
            | Deed::Touch { path, .. }
            | Deed::Finish {
                place: Some(path), ..
            }
            | Deed::Setup {
                place: Some(path), ..
            } => path,
            Deed::Write { path: None, .. }
            | Deed::Finish { place: None, .. }
            | Deed::Setup { place: None, .. }
            | Deed::Person { .. }
            | Deed::Hidden { .. } => continue,
        };
        if own.is_some_and(|place| place.holds(path)) {
            continue;
        }
        // Removing a folder removes the run in it.
        let path = place::real(path);
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
        let belief = belief::of_folder(&folder);
        let place = Place::of(belief.path()?);
        let found = offences_from_afar(deeds, &place);
        denied(&belief, Some(&place), &found, call, lang)
    })
}

/// Returns the text of a run's denial of a call; `None` allows the call.
fn denied(
    belief: &Belief,
    place: Option<&Place>,
    found: &[Offence],
    call: &ToolCall,
    lang: Lang,
) -> Option<String> {
    let mut ignored = |path: &Path| place.is_some_and(|place| is_ignored(place.root(), path));
    let denial = judge(belief, found, &mut ignored)?;
    let command = match call {
        ToolCall::Shell { command, .. } => Some(command.as_str()),
        ToolCall::Write { .. }
        | ToolCall::Finish { .. }
        | ToolCall::Hidden { .. }
        | ToolCall::Other => None,
    };
    let seal = belief.path().and_then(advice::seal_of);
    let mut text = denial.text(command, lang, seal.as_ref());
    if let Belief::Run(believed) = belief
        && !believed.distrusted.is_empty()
    {
        let what = believed.distrusted.join(", ");
        text.push_str(&format!("{}\n", Card::NotBelieved { what }.say(lang)));
    }
    Some(text)
}

/// Appends a line to the hook's log, for a person who looks for the reason.
fn log(line: &str) {
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
