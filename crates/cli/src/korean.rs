//! Korean texts of what the crates below say in English.

mod agents;
mod develop;
mod plans;
pub(crate) mod sentences;

use bowline_engine::actor::Missing;
use bowline_engine::files::{Notice, Origin};
use bowline_engine::formats::finding::Severity;
use bowline_engine::formats::memory::path::PathError;
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::plan;
use bowline_engine::machines::thinking;
use bowline_engine::{Error, Refusal, statefiles};

/// A severity in Korean.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "알림",
        Severity::Warning => "경고",
        Severity::Error => "오류",
        Severity::ReadOnly => "읽기 전용",
        Severity::Fatal => "치명적",
    }
}

/// A status word as people read it.
pub(crate) fn status(word: &str) -> &str {
    match word {
        "draft" => "초안",
        "pending" => "대기 중",
        "ready" => "실행 대기",
        "in_progress" => "진행 중",
        "review" => "리뷰 대기",
        "completed" => "완료",
        "failed" => "실패",
        "paused" => "일시 중지",
        "cancelled" => "취소됨",
        "blocked" => "차단됨",
        "idle" => "없음",
        "success" => "성공",
        "failure" => "실패",
        "partial" => "일부",
        other => other,
    }
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

/// A notice in Korean.
pub(crate) fn notice(notice: &Notice) -> String {
    match notice {
        Notice::RolledForward {
            lines,
            completed: true,
        } => {
            format!("확정되었으나 파일에 없던 변경 {lines}건을 반영했습니다")
        }
        Notice::RolledForward {
            lines,
            completed: false,
        } => format!(
            "확정된 변경 {lines}건이 아직 파일에 없습니다. 확정된 상태로 보여 주며, 다음 변경이 파일을 마저 씁니다"
        ),
        Notice::PutBack { sequence, taken } if taken.is_empty() => {
            format!("누군가 파일을 전이 {sequence}번 직후의 내용으로 되돌려 놓았습니다")
        }
        Notice::PutBack { sequence, taken } => {
            let names: Vec<String> = taken.iter().map(ToString::to_string).collect();
            format!(
                "누군가 파일을 전이 {sequence}번 직후의 내용으로 되돌려 놓아 다음 전이가 취소되었습니다: {}. \
                 'bowline restore 번호'로 이후 버전을 되찾을 수 있습니다",
                names.join(", ")
            )
        }
        Notice::AnotherTask { was, is } => format!(
            "파일이 이제 '{is}'에 관한 것입니다. 전에는 '{was}'에 관한 것이었으며, 그 내용은 적용하지 않았습니다"
        ),
        Notice::OutsideEdit { lost } if lost.is_empty() => {
            "Bowline 밖에서 파일이 변경되었습니다".into()
        }
        Notice::OutsideEdit { lost } => {
            let names: Vec<String> = lost.iter().map(ToString::to_string).collect();
            format!(
                "Bowline 밖에서 파일이 변경되어 확정된 전이가 사라졌습니다: {}",
                names.join(", ")
            )
        }
        Notice::Distrusted { places } => format!(
            "Bowline 밖에서 바뀌어 인정하지 않는 값: {}",
            places.join(", ")
        ),
        Notice::NotIgnored => {
            "git이 .develop-workflow/를 무시하지 않습니다. .gitignore에 추가하세요".into()
        }
        Notice::Mended(finding) => {
            let message = sentences::translated(&finding.message);
            match &finding.repair {
                Some(repair) => {
                    let repair = sentences::translated(repair);
                    format!("{} {message}: {repair}", finding.pointer)
                }
                None => format!("{} {message}", finding.pointer),
            }
        }
        Notice::Restored {
            from,
            set_aside: Some(path),
        } => {
            format!(
                "파일이 손상되어 {}. 손상된 파일: {}",
                source(from),
                path.display()
            )
        }
        Notice::Restored {
            from,
            set_aside: None,
        } => format!("파일이 없어 {}", source(from)),
        Notice::Keeper { message, .. } => sentences::translated(message),
    }
}

/// Where a restored document came from.
fn source(from: &Origin) -> String {
    match from {
        Origin::Journal => "저널에서 마지막으로 기록된 그대로 복원했습니다".into(),
        Origin::Version(sequence) => {
            format!("전이 {sequence}번 직후로 복원했습니다. 그 뒤의 내용은 다시 만들 수 없습니다")
        }
        Origin::Copy(path) => format!("{}에서 복원했습니다", path.display()),
        Origin::Rebuilt => "다른 파일로 다시 만들었습니다".into(),
        Origin::Anew => "복원할 것이 없어 새로 시작합니다".into(),
    }
}

/// An error's message and hint in Korean.
pub(crate) fn error(error: &Error) -> (String, String) {
    match error {
        Error::Refused(Refusal::Thinking(refusal)) => thinking_refusal(refusal),
        Error::NoFile { kind, path } => (
            format!("{}에 {} 파일이 없습니다", path.display(), kind.name()),
            kind.how_to_begin().into(),
        ),
        Error::NothingHere { path } => (
            format!("{}와 그 위에 상태 파일이 없습니다", path.display()),
            "'bowline thinking new ID --title T --goal G'로 시작하거나 -C로 폴더를 지정하세요"
                .into(),
        ),
        Error::Ambiguous { paths } => {
            let names: Vec<String> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            (
                format!("상태 파일이 여러 개 있습니다: {}", names.join(", ")),
                "하나를 지정하세요".into(),
            )
        }
        Error::UnknownKind { path } => (
            format!(
                "{}은(는) Bowline이 아는 상태 파일이 아닙니다",
                path.display()
            ),
            "'bowline'이 보여 주는 파일 가운데 하나를 지정하세요".into(),
        ),
        Error::RunChanged => (
            "이 명령이 진행되는 동안 개발 실행이 다른 것으로 바뀌었습니다".into(),
            "'bowline develop status'를 확인하고 다시 실행할지 정하세요".into(),
        ),
        Error::AlreadyExists { path }
            if FileKind::of_path(path) == Some(FileKind::Orchestrate) =>
        {
            (
                format!("{}이(가) 이미 있습니다", path.display()),
                "'bowline orchestrate status'로 이어서 진행하세요. 'bowline orchestrate rebuild'는 계획의 내용을 받아들입니다".into(),
            )
        }
        Error::AlreadyExists { path } => (
            format!("{}이(가) 이미 있습니다", path.display()),
            "다른 폴더를 고르거나 'bowline status'로 이어서 진행하세요".into(),
        ),
        Error::Damaged {
            path,
            findings: found,
        } => {
            let reason = found.first().map_or("읽을 수 없음".to_owned(), |finding| {
                sentences::translated(&finding.message)
            });
            (
                format!("{}이(가) 손상되었습니다: {reason}", path.display()),
                error.hint(),
            )
        }
        Error::Foreign { path } => (
            format!("{}은(는) 오케스트레이션 파일이 아닙니다", path.display()),
            "다른 프로그램의 파일이므로 그대로 둡니다. 여기서 시작하려면 다른 곳으로 옮기세요".into(),
        ),
        Error::NoPlan { path } => (
            format!("{}에 계획 파일이 없습니다", path.display()),
            "'bowline orchestrate plan FILE'로 지정하세요. 지정하지 않으면 docs/planning/06-tasks.md, docs/planning/TASKS.md, TASKS.md 순으로 찾습니다".into(),
        ),
        Error::BadPlan { path, finding } => (
            format!(
                "{}:{}: {}",
                path.display(),
                finding.line,
                sentences::translated(&finding.message)
            ),
            "계획을 고치세요. 'bowline orchestrate plan'으로 어떻게 읽히는지 볼 수 있습니다".into(),
        ),
        Error::AmbiguousTask { name, fitting } => (
            format!("'{name}'에 맞는 작업이 여러 개입니다: {}", fitting.join(", ")),
            "ID를 더 길게 적으세요".into(),
        ),
        Error::NoMerge { phase } => (
            format!("단계 {phase}을(를) 병합해야 하는데 아직 병합하는 명령이 없습니다"),
            format!("직접 병합한 뒤 'bowline orchestrate phase finish {phase} --no-git'을 실행하세요"),
        ),
        Error::Refused(Refusal::Orchestrate(refusal)) => {
            crate::commands::orchestrate_words::refusal(refusal)
        }
        Error::NewerVersion { path, message } => (
            format!(
                "{}은(는) 더 새로운 버전이 쓴 파일이라 읽기만 합니다: {}",
                path.display(),
                sentences::translated(message)
            ),
            "이 파일을 바꾸려면 Bowline을 업데이트하세요".into(),
        ),
        Error::NeedsPerson { what } => (
            format!("'{what}'은(는) 사람만 할 수 있습니다"),
            "함께 일하는 사람에게 요청하세요".into(),
        ),
        Error::PersonNotShown { refused, missing } => (
            format!(
                "{}. 사람이 실행했다는 표시가 없습니다: {}",
                self::error(refused).0,
                match missing {
                    Missing::Terminal => "터미널이 없습니다",
                    Missing::Ancestors => "터미널의 셸에서 떨어져 나온 프로세스입니다",
                }
            ),
            "터미널에서 실행하세요. 사람의 스크립트와 CI는 BOWLINE_ACTOR=person을 설정합니다".into(),
        ),
        Error::NoSuchTransition { path, sequence } => (
            format!("{}에 전이 {sequence}번이 없습니다", path.display()),
            format!("'bowline history {}'로 확인하세요", path.display()),
        ),
        Error::NothingToUndo { path } => (
            format!("{}에 되돌릴 것이 없습니다", path.display()),
            "할 일이 없습니다".into(),
        ),
        Error::EffectsLeft { sequence, trigger } => (
            format!("전이 {sequence}번({trigger})은 파일 밖에 영향을 남겼습니다"),
            "--state-only를 쓰면 파일만 되돌아가고 밖의 일은 그대로 남습니다".into(),
        ),
        Error::BadInput { message, hint } => {
            (sentences::translated(message), sentences::translated(hint))
        }
        Error::Refused(Refusal::Plan(refusal)) => plan_refusal(refusal),
        Error::Refused(Refusal::Develop(refusal)) => develop::refusal(refusal),
        Error::StaleEvidence { changes, tree_only } => (
            format!(
                "봉인하거나 확인한 뒤에 바뀌었습니다: {}",
                changes.join(", ")
            ),
            match tree_only {
                true => "gate를 다시 통과하세요: 'bowline develop gate reset 이름', 'bowline develop gate pass 이름'",
                false => "사람이 확인한 뒤 'bowline develop seal'로 다시 봉인합니다",
            }
            .into(),
        ),
        Error::NotVerified { reasons } => (
            format!("확인되지 않았습니다: {}", reasons.join("; ")),
            "이 트리에서 gate를 다시 통과하세요".into(),
        ),
        Error::Evidence(fault) => develop::evidence_fault(fault),
        Error::ProgramFailed { program, message } => (
            format!("'{program}' 실행에 실패했습니다: {message}"),
            "프로그램이 남긴 말을 확인하세요".into(),
        ),
        Error::NoCopy { which, folder } => (
            format!(
                "{}에 '{which}'(으)로 시작하는 사본이 없습니다",
                folder.display()
            ),
            "'bowline memory backup'으로 사본을 만듭니다".into(),
        ),
        Error::Path(cause) => path_error(cause),
        Error::AfterRepair { error: cause, .. } => self::error(cause),
        Error::File(cause) => file_error(cause, &error.hint()),
        Error::Agent(cause) => agents::error(cause),
        Error::NoAttempt { id } => (
            format!("실행 '{id}'이(가) 없습니다"),
            "'bowline attach'로 목록을 볼 수 있습니다".into(),
        ),
        Error::AmbiguousId { id, fitting } => (
            format!(
                "'{id}'(으)로 시작하는 실행이 여러 개입니다: {}",
                fitting.join(", ")
            ),
            "ID를 더 길게 적으세요".into(),
        ),
        Error::NotRunning { id } => (
            format!("실행 {id}의 에이전트가 돌고 있지 않습니다"),
            "'bowline attach'로 목록을 볼 수 있습니다".into(),
        ),
        Error::InputClosed { id } => (
            format!("실행 {id}의 표준 입력은 닫혔거나 열린 적이 없습니다"),
            "보내려면 'bowline run-agent --open-input -- CMD'으로 새로 시작하세요".into(),
        ),
        Error::SilentShim { id, pid, stopped } => {
            let process = pid
                .map(|pid| format!(" (프로세스 {pid})"))
                .unwrap_or_default();
            let what = match stopped {
                true => "멈춰 있습니다",
                false => "응답하지 않습니다",
            };
            let hint = match (pid, stopped) {
                (Some(pid), true) => format!(
                    "'kill -CONT {pid}'로 계속하게 하거나, 모두 끝내려면 'kill -9 {pid}' 뒤에 'bowline attach {id} --end'를 하세요"
                ),
                (Some(pid), false) => format!(
                    "다시 해 보거나, 모두 끝내려면 'kill -9 {pid}' 뒤에 'bowline attach {id} --end'를 하세요"
                ),
                (None, _) => "다시 해 보세요. 'bowline attach'로 상태를 볼 수 있습니다".into(),
            };
            (format!("실행 {id}의 심(shim)이{process} {what}"), hint)
        }
        Error::AgentNotStarted { id, message } => (
            format!("실행 {id}의 에이전트를 시작할 수 없습니다: {message}"),
            "명령, 폴더, 샌드박스를 확인하세요".into(),
        ),
        Error::NoControlGroup { what, reason } => (
            format!("{what}을(를) 여기서는 쓸 수 없습니다: {reason}"),
            "'bowline run-agent --sandbox-report'로 이 컴퓨터에서 되는 것을 볼 수 있습니다".into(),
        ),
        Error::StateInSandbox { root, folder } => (
            format!(
                "샌드박스 안의 에이전트가 {}에 쓸 수 있는데, 그 안에 Bowline의 {}이(가) 있습니다",
                root.display(),
                folder.display()
            ),
            "더 아래 폴더에서 일하게 하거나 XDG_STATE_HOME을 바깥으로 정하세요".into(),
        ),
        Error::RootThroughLink { link, target } => (
            format!(
                "{}은(는) 에이전트가 쓰는 폴더 밖으로 나가는 링크입니다. {}(으)로 이어집니다",
                link.display(),
                target.display()
            ),
            "링크를 지우거나, 정말 원한다면 이어지는 곳을 직접 적으세요".into(),
        ),
        Error::NotRelayed { what, reason } => (
            format!("'{what}'은(는) 샌드박스 안의 에이전트를 위해 실행되지 않습니다: {reason}"),
            "자기 폴더에서 일하고, 그 밖의 것은 함께 일하는 사람에게 부탁하세요".into(),
        ),
        Error::NoFolder { path } => (
            format!("{}은(는) 폴더가 아니거나 지워졌습니다", path.display()),
            "있는 폴더로 가거나 폴더를 적으세요".into(),
        ),
        Error::Output { over, .. } => (
            "출력을 보여 줄 수 없습니다".into(),
            match over {
                true => "에이전트는 끝났습니다. 나머지는 'bowline attach ID'로 볼 수 있습니다",
                false => "에이전트는 계속 돕니다. 'bowline attach'로 목록을 볼 수 있습니다",
            }
            .into(),
        ),
    }
}

fn thinking_refusal(refusal: &thinking::Refusal) -> (String, String) {
    use thinking::Refusal as R;
    match refusal {
        R::DependencyNotCompleted { stage, dependency } => (
            format!(
                "'{}'을(를) 시작할 수 없습니다: '{}' 단계가 완료되지 않았습니다",
                stage.name(),
                dependency.name()
            ),
            format!("먼저 '{}'을(를) 완료하세요", dependency.name()),
        ),
        R::OutputsMissing { stage, missing } => (
            format!(
                "'{}' 단계의 필수 산출물이 없습니다: {}",
                stage.name(),
                missing.join(", ")
            ),
            format!("{}을(를) 만든 뒤 다시 시도하세요", missing.join(", ")),
        ),
        R::AlreadyInProgress { stage } => (
            format!("'{}' 단계는 이미 진행 중입니다", stage.name()),
            format!(
                "'bowline thinking complete {0}' 또는 'bowline thinking fail {0} --code 코드 --message 내용'(으)로 끝내세요",
                stage.name()
            ),
        ),
        R::AlreadyCompleted { stage } => (
            format!("'{}' 단계는 이미 완료되었습니다", stage.name()),
            "완료된 단계는 그대로 남습니다. 되돌리려면 'bowline undo'".into(),
        ),
        R::NotInProgress {
            stage,
            status: word,
        } => (
            format!(
                "'{}' 단계는 진행 중이 아닙니다. 현재 상태: {}",
                stage.name(),
                status(word)
            ),
            format!("'bowline thinking start {}'(으)로 시작하세요", stage.name()),
        ),
        R::RetriesExhausted { stage } => (
            format!(
                "'{}' 단계가 3번 실패했습니다. 사람이 결정해야 합니다",
                stage.name()
            ),
            format!(
                "사람이 'bowline thinking start {} --override 이유'로 다시 엽니다",
                stage.name()
            ),
        ),
        R::NeedsPerson { stage } => (
            format!("'{}' 단계는 사람만 다시 열 수 있습니다", stage.name()),
            "함께 일하는 사람에게 요청하세요".into(),
        ),
        R::OverrideNotNeeded {
            stage,
            status: word,
        } => (
            format!(
                "'{}' 단계에는 --override가 필요 없습니다. 현재 상태: {}",
                stage.name(),
                status(word)
            ),
            "--override를 빼세요".into(),
        ),
        R::Empty { what } => empty(what),
        R::PathEscapes { path } => (
            format!("산출물 '{path}'은(는) 작업 폴더 안의 경로가 아닙니다"),
            "작업 폴더 기준의 상대 경로를 '..' 없이 적으세요".into(),
        ),
        R::BelowThreshold { stage, checks } => (
            format!(
                "'{}' 단계가 품질 기준에 미치지 못합니다: {}",
                stage.name(),
                checks.join(", ")
            ),
            "개선한 뒤 다시 측정하거나 단계를 실패로 끝내세요".into(),
        ),
        R::UnknownName { name, known, .. } => (
            format!(
                "'{name}'은(는) 알 수 없는 이름입니다. 쓸 수 있는 이름: {}",
                known.join(", ")
            ),
            format!("{} 중 하나를 쓰세요", known.join(", ")),
        ),
        R::OutOfRange { name, value, max } => (
            format!("{name} 값 {value}은(는) 0에서 {max} 사이여야 합니다"),
            format!("0에서 {max} 사이의 수를 적으세요"),
        ),
        R::BadTarget { metric } => (
            format!("'{metric}'의 목표는 0보다 커야 합니다"),
            "목표를 적으세요. 예: --target 5%".into(),
        ),
        R::AlreadyApplied { task_id } => (
            format!("'{task_id}'의 피드백은 이미 반영되었습니다"),
            "할 일이 없습니다".into(),
        ),
        R::NoLessons { task_id } => (
            format!("'{task_id}'에 기록된 교훈이 없습니다"),
            "그 작업에서 'bowline thinking feedback record --metric 이름=값 --target 값 --learning 내용'으로 먼저 기록하세요"
                .into(),
        ),
    }
}

/// What keeps a file from being locked, read or written.
fn file_error(error: &statefiles::Error, hint: &str) -> (String, String) {
    use statefiles::Error as E;
    let (message, korean_hint) = match error {
        E::Locked {
            path,
            owner,
            waited_ms,
        } => (
            format!(
                "{}이(가) 잠겨 있습니다. 잠근 쪽: {owner} ({waited_ms} ms 기다림)",
                path.display()
            ),
            "작업이 끝날 때까지 기다리세요. 이 파일을 쓰는 프로그램이 아니라면 잠금 파일을 지우세요",
        ),
        E::Permission { path, .. } => (
            format!("{}에 쓸 권한이 없습니다", path.display()),
            "파일과 폴더의 소유자와 권한을 확인하세요",
        ),
        E::DiskFull { path, .. } => (
            format!("{}을(를) 쓸 공간이 없습니다", path.display()),
            "공간을 확보한 뒤 다시 실행하세요",
        ),
        E::NotRegular { path, .. } => (
            format!("{}은(는) 일반 파일이 아닙니다", path.display()),
            "옮기거나 다른 경로를 지정하세요",
        ),
        E::TooBig {
            path,
            bytes,
            bytes_max,
        } => (
            format!(
                "{}이(가) 너무 큽니다: {bytes}바이트, 한도는 {bytes_max}바이트",
                path.display()
            ),
            "문서를 줄이세요",
        ),
        E::LinkLoop { path } => (
            format!("{}의 심볼릭 링크가 서로를 가리킵니다", path.display()),
            "링크가 파일을 가리키게 하세요",
        ),
        E::EarlierUnfinished { path, seq, .. } => (
            format!(
                "이전 명령의 변경 {seq}번을 {}에 마저 쓸 수 없었습니다. 이번 명령은 아무것도 쓰지 않았습니다",
                path.display()
            ),
            "막은 원인을 없애고 명령을 다시 실행하세요. 이전 변경을 먼저 마칩니다",
        ),
        E::Contended { path, .. } => (
            format!(
                "쓰는 동안 다른 프로그램이 {}을(를) 계속 바꿨습니다",
                path.display()
            ),
            "잠금 없이 이 파일을 쓰는 프로그램을 멈추세요",
        ),
        E::Unfinished { path, seq, .. } => (
            format!(
                "변경 {seq}번은 확정되었으나 {}에는 아직 반영되지 않았습니다",
                path.display()
            ),
            "명령을 되풀이하지 마세요. 다음 명령이 마무리합니다",
        ),
        E::Uncertain { path, seq, .. } => (
            format!(
                "{}의 변경 {seq}번이 확정되었는지 알 수 없습니다",
                path.display()
            ),
            "되풀이하기 전에 'bowline history'를 확인하세요",
        ),
        other => return (other.to_string(), hint.to_owned()),
    };
    (message, korean_hint.to_owned())
}

fn plan_refusal(refusal: &plan::Refusal) -> (String, String) {
    use plan::Refusal as R;
    let numbers = |ids: &[u32]| {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        ids.join(", ")
    };
    match refusal {
        R::NoTask => (
            "현재 작업이 없습니다".into(),
            "'bowline memory task new 이름 --goal 목표'로 시작하세요".into(),
        ),
        R::TaskState {
            id, status: word, ..
        } => (
            format!(
                "작업 '{id}'의 상태가 '{}'이라서 할 수 없습니다",
                status(word.name())
            ),
            "'bowline memory status'가 지금 할 수 있는 일을 보여 줍니다".into(),
        ),
        R::StepState {
            id, status: word, ..
        } => (
            format!(
                "{id}번 단계의 상태가 '{}'이라서 할 수 없습니다",
                status(word.name())
            ),
            "'bowline memory status'가 지금 할 수 있는 일을 보여 줍니다".into(),
        ),
        R::NoStep { task, id } => (
            format!("작업 '{task}'에 {id}번 단계가 없습니다"),
            "'bowline memory status'로 단계를 확인하세요".into(),
        ),
        R::DependencyNotCompleted { id, missing } => (
            format!(
                "{id}번 단계를 시작할 수 없습니다. 완료되지 않은 선행 단계: {}",
                numbers(missing)
            ),
            format!("먼저 {}번 단계를 완료하세요", numbers(missing)),
        ),
        R::RetriesExhausted { id } => (
            format!("{id}번 단계가 3번 실패했습니다. 사람이 결정해야 합니다"),
            "사람이 'bowline memory task recover'로 다시 엽니다".into(),
        ),
        R::DuplicateId { id, .. } => (
            format!("'{id}'은(는) 이미 있습니다"),
            "다른 id를 쓰세요".into(),
        ),
        R::MissingDependency { id, missing } => (
            format!("{id}번 단계가 없는 {missing}번 단계에 의존합니다"),
            format!("{missing}번 단계를 추가하거나 의존성에서 빼세요"),
        ),
        R::CircularDependency { path } => (
            format!("단계가 서로 의존합니다: {}", numbers(path)),
            "의존성 하나를 빼세요".into(),
        ),
        R::BadStepId => (
            "단계 번호는 1부터 시작합니다".into(),
            "1부터 번호를 매기거나 번호를 생략하세요".into(),
        ),
        R::TooMany { max, .. } => (
            format!("최대 {max}개까지 담을 수 있습니다"),
            "작업을 여러 개로 나누세요".into(),
        ),
        R::Empty { what } => empty(what),
        R::UnresolvedIssue { id, step } => (
            format!("작업 '{id}'은(는) {step}번 단계에서 실패했으므로 성공이 아닙니다"),
            "사람이 먼저 복구하거나 partial 또는 failure로 끝내세요".into(),
        ),
        R::NeedsPerson { id } => (
            format!("작업 '{id}'은(는) 사람만 복구할 수 있습니다"),
            "함께 일하는 사람에게 요청하세요".into(),
        ),
        R::NotQueued { id } => (
            format!("작업 '{id}'은(는) 대기열에 없습니다"),
            "'bowline memory status'로 대기열을 확인하세요".into(),
        ),
    }
}

/// A text that says nothing.
fn empty(what: &str) -> (String, String) {
    let what = match what {
        "feature" => "기능",
        "reason" => "이유",
        "checkpoint id" => "checkpoint 이름",
        "goal" => "목표",
        "name" => "이름",
        "title" => "제목",
        "message" => "내용",
        "error message" => "오류 내용",
        "error code" => "오류 코드",
        other => other,
    };
    (
        format!("{what}이(가) 비어 있습니다"),
        format!("{what}을(를) 적으세요"),
    )
}

fn path_error(error: &PathError) -> (String, String) {
    let (message, hint) = match error {
        PathError::BadPath { path } => (
            format!("'{path}'은(는) 경로가 아닙니다"),
            "점으로 나눈 이름을 쓰세요. 예: shared_data.current_topic",
        ),
        PathError::NotFound { path } => (
            format!("'{path}'에 값이 없습니다"),
            "마지막 부분을 빼면 무엇이 있는지 볼 수 있습니다",
        ),
        PathError::Protected { path } => (
            format!("'{path}'은(는) 바꿀 수 없습니다"),
            "Bowline이 직접 관리하는 값입니다",
        ),
        PathError::MustBeObject { path } => (
            format!("'{path}'은(는) 객체여야 합니다"),
            "그 안의 값을 하나씩 저장하세요",
        ),
        PathError::NoMembers { path } => (
            format!("'{path}'은(는) 안에 값을 담을 수 없는 값을 지나갑니다"),
            "더 짧은 경로를 쓰세요",
        ),
        PathError::NotAList { path } => (
            format!("'{path}'은(는) 목록이 아닙니다"),
            "다른 경로에 추가하거나 먼저 목록으로 저장하세요",
        ),
        PathError::TooLarge { path, bytes, max } => (
            format!("'{path}'이(가) {bytes}바이트가 됩니다. 최대 {max}바이트입니다"),
            "큰 값은 파일에 두고 경로만 저장하세요",
        ),
    };
    (message, hint.into())
}
