//! The stop hook: keeps an agent at a checkpoint until it passes, escalates or runs out of
//! attempts, with an upper bound.

use crate::advice;
use crate::lang::Lang;
use crate::locate;
use crate::run_trust::{RunTrust, TrustedRun};
use bowline_formats::hook::{HookMessage, HookResponse};
use bowline_machines::develop::{
    ATTEMPTS_MAX, CheckpointStatus, DevelopPhase, Gate, quote_for_shell,
};
use bowline_words::message::Card;
use serde_json::{Value, json};
use std::path::Path;

/// Stops denied while the run does not move.
pub const STOPS_HELD_PER_STATE_MAX: u64 = 3;
/// Stops denied in one session, even if the run moves.
pub const STOPS_HELD_PER_SESSION_MAX: u64 = 30;

const COUNT_NAME: &str = "stops.json";

/// Decides if the agent may stop.
pub(super) fn answer_stop(message: &HookMessage, trust: &RunTrust, lang: Lang) -> HookResponse {
    let RunTrust::Run(believed) = trust else {
        return HookResponse::silent();
    };
    // A run kept by another program could not end the checkpoint by our commands.
    let held = believed.owned && believed.run.phase == DevelopPhase::Implement;
    if !held || !believed.run.gates.is_open(Gate::ReviewCleanPass) {
        return HookResponse::silent();
    }
    let working = |status| status == CheckpointStatus::InProgress;
    let Some(checkpoint) = believed
        .run
        .checkpoints
        .iter()
        .find(|it| working(it.status))
    else {
        return HookResponse::silent();
    };
    if !count_denied_stop(message, believed) {
        return HookResponse::silent();
    }
    let id = &checkpoint.id;
    let next = advice::next_commands_in(&believed.path, &believed.run);
    let next = next
        .first()
        .map_or_else(|| "bowline develop resume".to_owned(), |it| it.command());
    let (id, attempt) = (quote_for_shell(id), checkpoint.iteration);
    let card = Card::StopTo {
        id,
        attempt,
        max: ATTEMPTS_MAX,
        next,
    };
    HookResponse::keep_working(&card.say(lang))
}

/// Counts one more denied stop; `false` when a bound is reached.
fn count_denied_stop(message: &HookMessage, believed: &TrustedRun) -> bool {
    let path = locate::side_folder(&believed.path).join(COUNT_NAME);
    let before = read_counts(&path);
    let same_session = before["session"] == message.session_id.as_str();
    let same_state = same_session && before["sequence"] == believed.sequence;
    let number = |key: &str, same: bool| {
        if same {
            before[key].as_u64().unwrap_or(0)
        } else {
            0
        }
    };
    let (state, session) = (number("state", same_state), number("held", same_session));
    if state >= STOPS_HELD_PER_STATE_MAX || session >= STOPS_HELD_PER_SESSION_MAX {
        return false;
    }
    let after = json!({
        "session": message.session_id, "sequence": believed.sequence, "state": state + 1, "held": session + 1,
    });
    let written = std::fs::write(&path, format!("{after}\n")).is_ok();
    // If the count cannot be kept, only the first stop of a turn is denied.
    written || !message.stop_hook_active
}

fn read_counts(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
