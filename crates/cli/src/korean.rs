//! Korean texts of what the crates below say in English.

pub(crate) mod plans;

use bowline_engine::formats::finding::Severity;
use bowline_words::Lang;
use bowline_words::message::Status;

/// A severity in Korean.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "알림",
        Severity::Warning => "경고",
        Severity::Error => "오류",
        Severity::ReadOnly => "읽기 전용",
        Severity::Fatal => "치명적 오류",
    }
}

/// A status word as people read it.
pub(crate) fn status(word: &str) -> String {
    Status::of(word).say(Lang::Ko)
}

/// What has become of an attempt, as people read it.
pub(crate) fn agent_state(word: &'static str) -> &'static str {
    match word {
        "intended" => "예정",
        "alive" => "살아 있음",
        "no_answer" => "응답 없음",
        "waiting" => "대기 중",
        "running" => "실행 중",
        "pausing" => "멈추는 중",
        "paused" => "일시 중지",
        "resuming" => "다시 시작하는 중",
        "ending" => "끝내는 중",
        "ended" => "끝남",
        "lost" => "잃음",
        other => other,
    }
}
