//! What the verbs of `bowline orchestrate` say, and the Korean of what the crates below say about them.

use crate::korean::status;
use crate::output::Output;
use bowline_engine::files::Changed;
use bowline_engine::machines::orchestrate::{Refusal, Status};
use serde_json::Value;

/// Sentences of the engine and their Korean, `{}` where a value stands.
pub(crate) const SENTENCES: &[(&str, &str)] = &[
    (
        "{} makes no graph of tasks",
        "{}(으)로 작업 그래프를 만들 수 없습니다",
    ),
    (
        "see 'bowline orchestrate plan'",
        "'bowline orchestrate plan'으로 확인하세요",
    ),
    (
        "{} and the state file make no graph",
        "{}과(와) 상태 파일로 작업 그래프를 만들 수 없습니다",
    ),
    (
        "see 'bowline orchestrate verify'",
        "'bowline orchestrate verify'로 확인하세요",
    ),
    (
        "task {} is not ticked in the plan: there is none",
        "작업 {}을(를) 계획에 체크하지 못했습니다: 계획 파일이 없습니다",
    ),
    (
        "task {} is not ticked in the plan: {}",
        "작업 {}을(를) 계획에 체크하지 못했습니다: {}",
    ),
    (
        "task {} is not ticked in the plan yet: {}",
        "작업 {}을(를) 아직 계획에 체크하지 못했습니다: {}",
    ),
];

/// The line of a new orchestration.
pub(crate) fn begun(output: &Output, changed: &Changed) -> String {
    let value = changed.view.document.value();
    let number = |place: &str| value.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    output
        .say(
            "✓ Orchestration '{p}' has {n} tasks, {d} of them done; phase {c} is current",
            "✓ 오케스트레이션 '{p}': 작업 {n}개 가운데 {d}개 완료, 현재 단계 {c}",
        )
        .replace("{p}", value["project"].as_str().unwrap_or_default())
        .replace("{n}", &number("/metrics/total_tasks").to_string())
        .replace("{d}", &number("/metrics/completed_count").to_string())
        .replace("{c}", &number("/execution/current_phase").to_string())
}

/// The line of a task that moved.
pub(crate) fn moved(output: &Output, changed: &Changed) -> String {
    let value = changed.view.document.value();
    let id = changed.moved.metadata["task"].as_str().unwrap_or_default();
    let text = match (changed.moved.trigger, changed.moved.to.as_str()) {
        ("START", _) => output.say("✓ Task '{}' started", "✓ 작업 '{}'을(를) 시작했습니다"),
        ("COMPLETE", _) => output.say(
            "✓ Task '{}' completed ({n})",
            "✓ 작업 '{}'을(를) 완료했습니다 ({n})",
        ),
        ("FORCE_COMPLETE", _) => output.say(
            "✓ Task '{}' forced to completed ({n})",
            "✓ 작업 '{}'을(를) 강제로 완료했습니다 ({n})",
        ),
        ("FAIL", "failed") => output.say(
            "✗ Task '{}' failed; blocked: {b}",
            "✗ 작업 '{}'이(가) 실패했습니다. 차단됨: {b}",
        ),
        ("FAIL", _) => output.say(
            "✗ Task '{}' failed (attempt {a}/{max}) and is ready again",
            "✗ 작업 '{}'이(가) 실패했습니다 (시도 {a}/{max}). 다시 할 수 있습니다",
        ),
        _ => output.say(
            "✓ Task '{}' has a fresh start",
            "✓ 작업 '{}'을(를) 처음부터 다시 합니다",
        ),
    };
    let number = |place: &str| value.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    let done = format!(
        "{}/{}",
        number("/metrics/completed_count"),
        number("/metrics/total_tasks")
    );
    let attempts = &value["bookkeeping"]["tasks"][id]["attempts"];
    text.replace("{n}", &done)
        .replace("{a}", &attempts.as_u64().unwrap_or(0).to_string())
        .replace("{max}", &number("/config/retry_limit").to_string())
        .replace("{b}", &number_of(&value["tasks"]["blocked"]))
        .replace("{}", id)
}

fn number_of(list: &Value) -> String {
    list.as_array().map_or(0, Vec::len).to_string()
}

/// The line of a phase that is over.
pub(crate) fn phase_finished(output: &Output, changed: &Changed, phase: u32) -> String {
    let value = changed.view.document.value();
    let current = value["execution"]["current_phase"].as_u64().unwrap_or(0);
    let text = match changed.view.examined.status == "completed" {
        true => output.say(
            "✓ Phase {p} finished; all is done",
            "✓ 단계 {p}을(를) 마쳤습니다. 모두 끝났습니다",
        ),
        false => output.say(
            "✓ Phase {p} finished; phase {c} is current",
            "✓ 단계 {p}을(를) 마쳤습니다. 현재 단계 {c}",
        ),
    };
    text.replace("{p}", &phase.to_string())
        .replace("{c}", &current.to_string())
}

/// A refusal's message and hint in Korean.
pub(crate) fn refusal(refusal: &Refusal) -> (String, String) {
    use Refusal as R;
    let next = "'bowline orchestrate next'로 지금 할 수 있는 일을 볼 수 있습니다";
    let fresh = |id: &str| format!("'bowline orchestrate retry {id}'로 다시 시작하세요");
    let (message, hint) = match refusal {
        R::NoTask { id } => (
            format!("작업 '{id}'이(가) 없습니다"),
            "'bowline orchestrate status'로 작업 목록을 볼 수 있습니다".into(),
        ),
        R::NotReady {
            id,
            waits_for,
            phase,
        } => {
            let mut reasons: Vec<String> = waits_for.iter().map(ToString::to_string).collect();
            if let Some((own, current)) = phase {
                reasons.push(format!("단계 {own} (현재 단계 {current})"));
            }
            (
                format!(
                    "작업 '{id}'은(는) 아직 할 수 없습니다. 기다리는 것: {}",
                    reasons.join(", ")
                ),
                next.into(),
            )
        }
        R::Blocked { id, by } => (
            format!("작업 '{id}'이(가) 차단되었습니다: {}", by.join(", ")),
            "실패한 작업을 다시 하거나 강제로 완료하세요. 'bowline orchestrate next'로 볼 수 있습니다"
                .into(),
        ),
        R::TaskState {
            id,
            status: word,
            verb: _,
        } => (
            format!(
                "작업 '{id}'은(는) 지금 '{}' 상태라 할 수 없습니다",
                status(word.name())
            ),
            match word {
                Status::Pending | Status::Blocked => next.into(),
                Status::Ready => format!("'bowline orchestrate start {id}'로 시작하세요"),
                Status::InProgress => format!(
                    "'bowline orchestrate complete {id}' 또는 'bowline orchestrate fail {id} --reason 이유'로 끝내세요"
                ),
                Status::Completed => {
                    "완료된 작업은 그대로 남습니다. 되돌리려면 'bowline undo'".into()
                }
                Status::Failed => fresh(id),
            },
        ),
        R::NotFailed { id, status: word } => (
            format!(
                "작업 '{id}'은(는) 실패하지 않았습니다. 현재 상태: {}",
                status(word.name())
            ),
            next.into(),
        ),
        R::NoFreePlace { max } => (
            format!("이미 작업 {max}개가 진행 중이라 더 시작할 수 없습니다"),
            "하나가 끝나기를 기다리거나 '--parallel N'으로 한도를 늘리세요".into(),
        ),
        R::NeedsPerson { id } => (
            format!("작업 '{id}'의 강제 완료는 사람만 할 수 있습니다"),
            "함께 일하는 사람에게 요청하세요".into(),
        ),
        R::NoPhase { phase } => (
            format!("단계 {phase}이(가) 없습니다"),
            "'bowline orchestrate status'로 단계를 볼 수 있습니다".into(),
        ),
        R::PhaseFinished { phase } => (
            format!("단계 {phase}은(는) 이미 끝났습니다"),
            "할 일이 없습니다".into(),
        ),
        R::PhaseNotCurrent { phase, current } => (
            format!("단계 {phase}은(는) 현재 단계가 아닙니다. 현재 단계 {current}"),
            format!("먼저 단계 {current}을(를) 마치세요"),
        ),
        R::PhaseIncomplete { phase, open, total } => (
            format!(
                "단계 {phase}의 작업 {total}개 가운데 {}개만 완료되었습니다",
                total - open
            ),
            next.into(),
        ),
        R::BadCommit { commit } => (
            format!("'{commit}'은(는) 커밋의 앞 7글자가 아닙니다"),
            "소문자 16진수 7글자를 쓰세요".into(),
        ),
        R::Empty { what } => (
            format!("{what}이(가) 비어 있습니다"),
            "내용을 적으세요".into(),
        ),
    };
    (message, hint)
}
