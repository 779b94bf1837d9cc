//! Refusals of develop runs, and faults of files of evidence, in Korean.

use super::empty;
use bowline_engine::machines::develop;
use bowline_engine::operations::develop::Fault;

pub(super) fn evidence_fault(fault: &Fault) -> (String, String) {
    match fault {
        Fault::Damaged { path, message } => (
            format!("{}은(는) 온전한 증거 파일이 아닙니다: {message}", path.display()),
            "워크플로우가 있는 곳에서 'bowline develop evidence export 파일 --key 파일'로 다시 쓰세요".into(),
        ),
        Fault::Unsigned { what } => (
            format!("서명이 없습니다: {what}"),
            "BOWLINE_EVIDENCE_KEY_FILE을 정하고 gate를 통과한 뒤 'bowline develop evidence export 파일 --key 파일'".into(),
        ),
        Fault::Forged { what } => (
            format!("이 키의 서명이 아닙니다: {what}"),
            "gate를 통과할 때 쓴 키를 쓰세요. 같은 키라면 누군가 파일을 바꾼 것입니다".into(),
        ),
        Fault::OtherRun { gate, found, run } => (
            format!("gate '{gate}'의 증거는 '{run}'이 아니라 '{found}' 실행의 것입니다"),
            "한 실행의 증거를 내보내세요".into(),
        ),
        Fault::OtherPolicy { changes } => (
            format!("봉인한 것과 여기 있는 것이 다릅니다: {}", changes.join(", ")),
            "사람이 여기 있는 것을 봉인하고 gate를 다시 통과하세요".into(),
        ),
        Fault::OtherTree { wanted, found } => (
            format!(
                "증거는 {} 트리의 것이고 여기는 {found}입니다",
                wanted.as_deref().unwrap_or("-")
            ),
            "확인된 커밋을 다른 파일 없이 체크아웃하거나 이 트리에서 마지막 gate를 다시 통과하세요".into(),
        ),
    }
}

pub(super) fn refusal(refusal: &develop::Refusal) -> (String, String) {
    use develop::Refusal as R;
    match refusal {
        R::NoRun => (
            "진행 중인 워크플로우가 없습니다".into(),
            "'bowline develop start 기능'으로 시작하세요".into(),
        ),
        R::RunOpen { feature, phase } => (
            format!(
                "이미 진행 중입니다: '{}', Phase {}",
                develop::on_one_line(feature),
                phase.name()
            ),
            "'bowline develop resume'으로 이어서 진행하거나 'bowline develop start 기능 --fresh'로 처음부터 시작하세요".into(),
        ),
        R::WrongPhase { phase, wanted, .. } => (
            format!(
                "{} phase에서는 할 수 없습니다. {} phase의 일입니다",
                phase.name(),
                wanted.name()
            ),
            "'bowline develop status'로 확인하세요".into(),
        ),
        R::NotBack { phase, to } => (
            format!(
                "{}에서 {}(으)로 되돌아갈 수 없습니다",
                phase.name(),
                to.name()
            ),
            "앞선 phase를 지정하세요".into(),
        ),
        R::GatesClosed { missing, phase } => {
            let names: Vec<&str> = missing.iter().map(|gate| gate.name()).collect();
            let hint = match missing.first() {
                Some(gate) if gate.phase() < *phase => {
                    format!(
                        "사람이 'bowline develop back {}'(으)로 되돌아갑니다",
                        gate.phase().name()
                    )
                }
                Some(gate) => format!(
                    "'bowline develop gate pass {}'(으)로 통과하세요",
                    gate.name()
                ),
                None => "'bowline develop status'로 확인하세요".into(),
            };
            (format!("미충족 gate: {}", names.join(", ")), hint)
        }
        R::GateAlreadyOpen { gate } => (
            format!("gate '{}'은(는) 이미 열려 있습니다", gate.name()),
            format!(
                "다시 확인하려면 먼저 'bowline develop gate reset {}'",
                gate.name()
            ),
        ),
        R::CheckpointsOpen { checkpoints } => (
            format!("통과하지 못한 checkpoint: {}", checkpoints.join(", ")),
            "모든 checkpoint를 먼저 통과하세요. 다음 차례는 'bowline develop resume'이 알려 줍니다".into(),
        ),
        R::EvidenceRequired { gate } => (
            format!("gate '{}'에는 증거가 필요합니다", gate.name()),
            format!(
                "[develop.gates.{}] run=을 정하고 사람이 봉인하세요. 사람은 --run이나 --by-hand도 쓸 수 있습니다",
                gate.name()
            ),
        ),
        R::EvidenceRed { gate, exit_code } => (
            format!(
                "gate '{}'은(는) 닫혀 있습니다: 확인 명령이 코드 {exit_code}(으)로 끝났습니다",
                gate.name()
            ),
            "문제를 고치고 다시 시도하세요".into(),
        ),
        R::EvidenceStale => (
            "봉인한 파일이 봉인 뒤에 바뀌었습니다".into(),
            "사람이 'bowline develop seal'로 다시 봉인합니다".into(),
        ),
        R::NeedsPerson { .. } => (
            "사람만 할 수 있습니다".into(),
            "함께 일하는 사람에게 요청하세요".into(),
        ),
        R::UnknownCheckpoint { id } => (
            format!("checkpoint '{id}'이(가) 없습니다"),
            "'bowline develop status'로 확인하세요. checkpoint는 REVIEW에 들어갈 때 정합니다".into(),
        ),
        R::DuplicateCheckpoint { id } => (
            format!("checkpoint '{id}'이(가) 두 번 나옵니다"),
            "checkpoint마다 한 번만 적으세요".into(),
        ),
        R::BadCheckpointId { shown, .. } => (
            format!("checkpoint 이름 '{shown}'은(는) 쓸 수 없습니다"),
            format!(
                "cp-1처럼 '-'로 시작하지 않는 한 줄 {}자 이내의 이름을 쓰세요",
                develop::ID_CHARS_MAX
            ),
        ),
        R::CheckpointIs { id, status, .. } => {
            let hint = match *status {
                "escalated" | "failed" => {
                    format!(
                        "사람이 'bowline develop checkpoint start {} --override 이유'로 다시 엽니다",
                        develop::typed(id)
                    )
                }
                "pending" => format!(
                    "'bowline develop checkpoint start {}'(으)로 시작하세요",
                    develop::typed(id)
                ),
                _ => "'bowline develop status'로 확인하세요".into(),
            };
            (
                format!("checkpoint '{id}'의 상태가 {status}이라서 할 수 없습니다"),
                hint,
            )
        }
        R::Empty { what } => empty(what),
        R::AlreadyAdopted => (
            "이미 Bowline이 관리하는 워크플로우입니다".into(),
            "할 일이 없습니다".into(),
        ),
    }
}
