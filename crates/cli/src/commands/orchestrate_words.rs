//! What the verbs of `bowline orchestrate` say.

use crate::output::Output;
use bowline_engine::files::Changed;
use serde_json::Value;

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
