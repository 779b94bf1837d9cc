//! Keeps an agent at a checkpoint until it passes, escalates, or its attempts are used; never for ever.

use crate::advice;
use crate::belief::{Belief, Believed};
use crate::lang::Lang;
use crate::locate;
use bowline_formats::hook::{Answer, HookMessage};
use bowline_machines::develop::{ATTEMPTS_MAX, CheckpointStatus, Gate, Phase, typed};
use serde_json::{Value, json};
use std::path::Path;

/// Times a stop is held back while the run stands still.
pub const STOPS_HELD_PER_STATE_MAX: u64 = 3;
/// Times a stop is held back in one session, whatever moves.
pub const STOPS_HELD_PER_SESSION_MAX: u64 = 30;

const COUNT_NAME: &str = "stops.json";

/// Whether the agent may stop.
pub(super) fn answer(message: &HookMessage, belief: &Belief, lang: Lang) -> Answer {
    let Belief::Run(believed) = belief else {
        return Answer::silent();
    };
    // Who does not keep the run by our verbs could not end the checkpoint by them either.
    let held = believed.owned && believed.run.phase == Phase::Implement;
    if !held || !believed.run.gates.is_open(Gate::ReviewCleanPass) {
        return Answer::silent();
    }
    let working = |status| status == CheckpointStatus::InProgress;
    let Some(checkpoint) = believed
        .run
        .checkpoints
        .iter()
        .find(|it| working(it.status))
    else {
        return Answer::silent();
    };
    if !count(message, believed) {
        return Answer::silent();
    }
    let id = &checkpoint.id;
    let next = advice::next_in(&believed.path, &believed.run);
    let next = next
        .first()
        .map_or_else(|| "bowline develop resume".to_owned(), |it| it.command());
    let (id, attempt) = (typed(id), checkpoint.iteration);
    Answer::go_on(&match lang {
        Lang::En => format!(
            "Checkpoint {id} is in progress (attempt {attempt} of {ATTEMPTS_MAX}). Read the failing output, fix it, and run \
             its check: `{next}`. If this attempt failed, say so: `bowline develop checkpoint fail {id} --class LOGIC_ERROR` \
             (DESIGN_MISMATCH and ENV_ISSUE ask a person at once)."
        ),
        Lang::Ko => format!(
            "checkpoint {id}이(가) 진행 중입니다({attempt}/{ATTEMPTS_MAX}번째 시도). 실패한 출력을 읽고 고친 뒤 확인하세요: `{next}`. \
             이번 시도가 실패했다면 알리세요: `bowline develop checkpoint fail {id} --class LOGIC_ERROR` \
             (DESIGN_MISMATCH와 ENV_ISSUE는 바로 사람에게 묻습니다)."
        ),
    })
}

/// Counts one more; `false` when it is enough.
fn count(message: &HookMessage, believed: &Believed) -> bool {
    let path = locate::side_folder(&believed.path).join(COUNT_NAME);
    let before = read(&path);
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
    // Without a count only the first stop of a turn is held back.
    written || !message.stop_hook_active
}

fn read(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
