//! Korean texts of what the supervisor says in English.

use bowline_engine::supervisor::{Error, Refused};

/// A message and a hint.
pub(super) fn error(error: &Error) -> (String, String) {
    let (message, hint) = match error {
        Error::Io { path, .. } => (
            format!("{}을(를) 다룰 수 없습니다", path.display()),
            "디스크와 폴더의 소유자를 확인하세요",
        ),
        Error::NoAttempt { path } => (
            format!("{}에 실행 기록이 없습니다", path.display()),
            "'bowline attach'로 목록을 볼 수 있습니다",
        ),
        Error::BadId { id } => (
            format!("'{id}'은(는) 실행 ID로 쓸 수 없습니다"),
            "영문자, 숫자, '-', '_', '.'만 100자까지 쓰세요",
        ),
        Error::AttemptExists { path } => (
            format!("{}에 이미 실행 기록이 있습니다", path.display()),
            "새 실행에는 새 ID를 쓰세요",
        ),
        Error::NotStarted { attempt, message } => (
            format!("실행 {attempt}의 심(shim)이 시작되지 않았습니다: {message}"),
            "bowline 옆에 bowline-shim이 있는지 확인하세요",
        ),
        Error::Unreachable { attempt, .. } => (
            format!("실행 {attempt}의 심(shim)이 응답하지 않습니다"),
            "'bowline attach'로 끝났는지, 잃었는지 볼 수 있습니다",
        ),
        Error::Protocol { attempt, message } => (
            format!("실행 {attempt}의 심(shim)이 다른 규약을 씁니다: {message}"),
            "Bowline을 업데이트하세요",
        ),
        Error::Relay { path, .. } => (
            format!(
                "명령이 샌드박스 밖에서 실행되지 못했습니다 ({})",
                path.display()
            ),
            "다시 실행해 보고, 그래도 안 되면 함께 일하는 사람에게 알리세요",
        ),
        Error::Refused { why, .. } => return refused(*why),
    };
    (message, hint.into())
}

fn refused(why: Refused) -> (String, String) {
    let (message, hint) = match why {
        Refused::FencedOut => (
            "더 새로운 소유자가 이 실행을 맡았습니다",
            "이제 다른 서버가 이 실행을 맡고 있습니다",
        ),
        Refused::StaleGeneration => (
            "그 사이에 더 새로운 지시가 있었습니다",
            "상태를 다시 확인하고 결정하세요",
        ),
        Refused::InputFull => (
            "에이전트가 아직 읽지 않은 입력이 너무 많습니다",
            "에이전트가 읽은 뒤에 다시 보내세요",
        ),
        Refused::InputGap => (
            "메시지 번호가 이어지지 않습니다",
            "상태에 다음 번호가 있습니다",
        ),
        Refused::InputClosed => (
            "에이전트가 더는 입력을 받지 않습니다",
            "새 실행을 시작하세요",
        ),
        Refused::NotRunning => (
            "에이전트가 돌고 있지 않습니다",
            "'bowline attach'로 어떻게 끝났는지 볼 수 있습니다",
        ),
        Refused::AgentPeer => (
            "에이전트는 자신의 심(shim)을 조종할 수 없습니다",
            "함께 일하는 사람에게 요청하세요",
        ),
        Refused::Unsupported => (
            "이 심(shim)은 중단 요청을 모르는 이전 버전입니다",
            "에이전트를 끝내고 새로 시작하세요",
        ),
        Refused::BadRequest => ("요청을 이해할 수 없습니다", "Bowline을 업데이트하세요"),
    };
    (message.into(), hint.into())
}
