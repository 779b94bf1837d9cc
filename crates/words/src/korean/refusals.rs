//! 규칙이 거부하는 일: 내용 / 힌트.

use crate::Lang::Ko;
use crate::message::Shortfall;
use crate::particle::*;

table! {
    thinking_no: ThinkingNo => with_hint {
        DependencyNotCompleted { stage, dependency } => "'{stage}'{을} 시작할 수 없습니다: '{dependency}' 단계가 완료되지 않았습니다" / "먼저 '{dependency}'{을} 완료하세요";
        OutputsMissing { stage, missing } => "'{stage}' 단계의 필수 산출물이 없습니다: {missing}" / "{missing}{을} 만든 뒤 다시 시도하세요";
        NoOutput { stage } => "'{stage}' 단계의 필수 산출물이 없습니다: 산출물 1개 이상" / "산출물을 1개 이상 만든 뒤 다시 시도하세요";
        AlreadyInProgress { stage } => "'{stage}' 단계는 이미 진행 중입니다" / "'bowline thinking complete {stage} --output 경로' 또는 'bowline thinking fail {stage} --code 코드 --message 내용'으로 끝내세요";
        AlreadyCompleted { stage } => "'{stage}' 단계는 이미 완료되었습니다" / "완료된 단계는 그대로 남습니다. 되돌리려면 'bowline undo'를 쓰세요";
        NotStarted { stage, status, current } => "'{stage}' 단계는 진행 중이 아닙니다(현재 상태: {0}). 지금 할 단계: '{current}'" [status.say(Ko)] / "'bowline thinking start {current}'{으로} 시작하세요";
        OtherInProgress { stage, status, current } => "'{stage}' 단계는 진행 중이 아닙니다(현재 상태: {0}). 지금 할 단계: '{current}'" [status.say(Ko)] / "'bowline thinking complete {current} --output 경로'로 완료하세요";
        OtherExhausted { stage, status, current } => "'{stage}' 단계는 진행 중이 아닙니다(현재 상태: {0}). 지금 할 단계: '{current}'" [status.say(Ko)] / "사람이 'bowline thinking start {current} --override 이유'로 다시 엽니다";
        AllCompleted { stage } => "'{stage}' 단계는 진행 중이 아닙니다: 모든 단계가 완료되었습니다" / "할 일이 없습니다";
        RetriesExhausted { stage, tries } => "'{stage}' 단계가 {tries}번 실패했습니다. 사람이 결정해야 합니다" / "사람이 'bowline thinking start {stage} --override 이유'로 다시 엽니다";
        NeedsPerson { stage } => "'{stage}' 단계는 사람만 다시 열 수 있습니다" / "함께 일하는 사람에게 요청하세요";
        OverrideNotNeeded { stage, status } => "'{stage}' 단계에는 --override가 필요 없습니다. 현재 상태: {0}" [status.say(Ko)] / "--override를 빼세요";
        Empty { what } => "{0}{이} 비어 있습니다" [what.say(Ko)] / "{0}{을} 적으세요" [what.say(Ko)];
        PathEscapes { path } => "산출물 '{path}'{은} 작업 폴더 안의 경로가 아닙니다" / "작업 폴더 기준의 상대 경로를 '..' 없이 적으세요";
        BelowThreshold { stage, checks } => "'{stage}' 단계가 품질 기준에 미치지 못합니다: {0}" [Shortfall::join_all(checks, Ko)] / "개선한 뒤 다시 측정하거나 단계를 실패로 끝내세요. 세 지표는 'bowline thinking quality 이름=값'으로, 다른 기준은 thinking/reflection/quality_check.json에 적습니다 (checks: [{{criterion, score}}])";
        UnknownName { what: _, name, known } => "'{name}'{은} 알 수 없는 이름입니다. 쓸 수 있는 이름: {known}" / "{known} 중 하나를 쓰세요";
        OutOfRange { name, value, max } => "{name} 값 {value}{은} 0에서 {max} 사이여야 합니다" / "0에서 {max} 사이의 수를 적으세요";
        BadTarget { metric } => "'{metric}'의 목표는 0보다 크고, 0에 너무 가깝지 않아야 합니다" / "목표를 적으세요. 예: --target 5%";
        AlreadyApplied { task } => "'{task}'의 피드백은 이미 반영되었습니다" / "할 일이 없습니다";
        NoLessons { task } => "'{task}'에 기록된 교훈이 없습니다" / "그 작업에서 'bowline thinking feedback record --metric 이름=값 --target 값 --learning 내용'으로 먼저 기록하세요";
    }

    orchestrate_no: OrchestrateNo => with_hint {
        NoTask { id } => "작업 '{id}'{이} 없습니다" / "'bowline orchestrate status'로 작업 목록을 볼 수 있습니다";
        NotReady { id, waits_for } => "작업 '{id}'{은} 아직 할 수 없습니다. 기다리는 작업: {waits_for}" / "'bowline orchestrate next'로 지금 할 수 있는 일을 볼 수 있습니다";
        NotReadyYet { id, own, current } => "작업 '{id}'{은} 아직 할 수 없습니다. 단계 {own}의 작업이며 현재 단계는 {current}입니다" / "'bowline orchestrate next'로 지금 할 수 있는 일을 볼 수 있습니다";
        Blocked { id, by } => "작업 '{id}'{이} 차단되었습니다: {by}" / "실패한 작업을 다시 하거나 강제로 완료하세요. 'bowline orchestrate next'로 볼 수 있습니다";
        NotBegun { id, status, verb: _ } => "작업 '{id}'{은} 지금 할 수 없습니다. 현재 상태: {0}" [status.say(Ko)] / "'bowline orchestrate next'로 지금 할 수 있는 일을 볼 수 있습니다";
        Ready { id, verb: _ } => "작업 '{id}'{은} 아직 시작하지 않았습니다" / "'bowline orchestrate start {id}'로 시작하세요";
        InProgress { id, verb: _ } => "작업 '{id}'{은} 진행 중입니다" / "'bowline orchestrate complete {id}' 또는 'bowline orchestrate fail {id} --reason 이유'로 끝내세요";
        Completed { id, verb: _ } => "작업 '{id}'{은} 이미 완료되었습니다" / "완료된 작업은 그대로 남습니다. 되돌리려면 'bowline undo --state-only'";
        Failed { id, verb: _ } => "작업 '{id}'{은} 실패했습니다" / "'bowline orchestrate retry {id}'로 다시 시작하세요";
        NotFailed { id, status } => "작업 '{id}'{은} 실패하지 않았습니다. 현재 상태: {0}" [status.say(Ko)] / "'bowline orchestrate next'로 지금 할 수 있는 일을 볼 수 있습니다";
        NoFreePlace { max } => "이미 작업 {max}개가 진행 중이라 더 시작할 수 없습니다" / "하나가 끝나기를 기다리거나 '--parallel N'으로 한도를 늘리세요";
        NeedsPerson { id } => "작업 '{id}'의 강제 완료는 사람만 할 수 있습니다" / "함께 일하는 사람에게 요청하세요";
        NoPhase { phase } => "단계 {phase}{이} 없습니다" / "'bowline orchestrate status'로 단계를 볼 수 있습니다";
        PhaseFinished { phase } => "단계 {phase}{은} 이미 끝났습니다" / "할 일이 없습니다";
        PhaseNotCurrent { phase, current } => "단계 {phase}{은} 현재 단계가 아닙니다. 현재 단계: {current}" / "먼저 단계 {current}{을} 마치세요";
        PhaseIncomplete { phase, done, total } => "단계 {phase}의 작업 {total}개 가운데 {done}개만 완료되었습니다" / "'bowline orchestrate next'로 지금 할 수 있는 일을 볼 수 있습니다";
        BadCommit { commit, letters } => "'{commit}'{은} 커밋의 앞 {letters}글자가 아닙니다" / "소문자 16진수 {letters}글자를 쓰세요";
        Empty { what } => "{0}{이} 비어 있습니다" [what.say(Ko)] / "{0}{을} 적으세요" [what.say(Ko)];
    }

    plan_no: PlanNo => with_hint {
        NoTask => "현재 작업이 없습니다" / "'bowline memory task new 이름 --goal 목표'로 시작하세요";
        TaskPending { id, verb: _ } => "작업 '{id}'의 상태가 '대기 중'이라서 할 수 없습니다" / "먼저 단계를 시작하세요";
        TaskInProgress { id, verb: _ } => "작업 '{id}'의 상태가 '진행 중'이라서 할 수 없습니다" / "할 일이 없습니다. 이미 진행 중입니다";
        TaskClosed { id, status, verb: _ } => "작업 '{id}'의 상태가 '{0}'{이다}라서 할 수 없습니다" [status.say(Ko)] / "'bowline memory task finish'로 이력에 옮기세요";
        TaskFailed { id, verb: _ } => "작업 '{id}'의 상태가 '실패'라서 할 수 없습니다" / "사람이 'bowline memory task recover'로 다시 열거나 'bowline memory task cancel'로 끝냅니다";
        TaskPaused { id, verb: _ } => "작업 '{id}'의 상태가 '일시 중지'라서 할 수 없습니다" / "'bowline memory task resume'으로 다시 시작하세요";
        StepNotBegun { id, status, verb: _ } => "{id}번 단계의 상태가 '{0}'{이다}라서 할 수 없습니다" [status.say(Ko)] / "'bowline memory step start {id}'{으로} 시작하세요";
        StepInProgress { id, verb: _ } => "{id}번 단계의 상태가 '진행 중'이라서 할 수 없습니다" / "'bowline memory step complete {id}' 또는 'bowline memory step fail {id} --message 내용'으로 끝내세요";
        StepCompleted { id, verb: _ } => "{id}번 단계의 상태가 '완료'라서 할 수 없습니다" / "완료된 단계는 그대로 남습니다. 되돌리려면 'bowline undo'를 쓰세요";
        NoStep { task, id } => "작업 '{task}'에 {id}번 단계가 없습니다" / "'bowline memory status'로 단계를 확인하세요";
        StepBefore { id, missing } => "{id}번 단계를 시작할 수 없습니다. 완료되지 않은 선행 단계: {missing}" / "먼저 {missing}번 단계를 완료하세요";
        StepsBefore { id, missing } => "{id}번 단계를 시작할 수 없습니다. 완료되지 않은 선행 단계: {missing}" / "먼저 {missing}번 단계를 완료하세요";
        RetriesExhausted { id, tries } => "{id}번 단계가 {tries}번 실패했습니다. 사람이 결정해야 합니다" / "사람이 'bowline memory task recover'로 다시 엽니다";
        DuplicateId { what: _, id } => "'{id}'{은} 이미 있습니다" / "다른 id를 쓰세요";
        MissingDependency { id, missing } => "{id}번 단계가 없는 {missing}번 단계에 의존합니다" / "{missing}번 단계를 추가하거나 의존성에서 빼세요";
        CircularDependency { path } => "단계가 서로 의존합니다: {path}" / "의존성 하나를 빼세요";
        BadStepId => "단계 번호는 1부터 시작합니다" / "1부터 번호를 매기거나 번호를 생략하세요";
        TooMany { what, max } => "{0}{은} 최대 {max}개까지 담을 수 있습니다" [what.say(Ko)] / "작업을 여러 개로 나누세요";
        Empty { what } => "{0}{이} 비어 있습니다" [what.say(Ko)] / "{0}{을} 적으세요" [what.say(Ko)];
        UnresolvedIssue { id, step } => "작업 '{id}'{은} {step}번 단계에서 실패했으므로 성공이 아닙니다" / "사람이 먼저 복구하거나 partial 또는 failure로 끝내세요";
        NeedsPerson { id } => "작업 '{id}'{은} 사람만 복구할 수 있습니다" / "함께 일하는 사람에게 요청하세요";
        NotQueued { id } => "작업 '{id}'{은} 대기열에 없습니다" / "'bowline memory status'로 대기열을 확인하세요";
    }

    develop_no: DevelopNo => with_hint {
        NoRun => "진행 중인 개발 실행이 없습니다" / "'bowline develop start 기능'으로 시작하세요";
        RunOpen { feature, phase } => "이미 진행 중입니다: '{feature}', {phase} 단계" / "'bowline develop resume'으로 이어서 진행하거나 'bowline develop start 기능 --fresh'로 처음부터 시작하세요";
        WrongPhase { what: _, phase, wanted } => "{phase} 단계에서는 할 수 없습니다. {wanted} 단계의 일입니다" / "'bowline develop status'로 확인하세요";
        NotBack { phase, to } => "{phase}에서 {to}{으로} 되돌아갈 수 없습니다" / "앞선 단계를 지정하세요";
        GatesClosed { missing } => "닫힌 게이트: {missing}" / "'bowline develop status'로 확인하세요";
        GatesClosedHere { missing, gate } => "닫힌 게이트: {missing}" / "'{gate}'{을} 여는 방법은 'bowline develop resume'으로 볼 수 있습니다";
        GatesClosedBefore { missing, phase } => "닫힌 게이트: {missing}" / "사람이 'bowline develop back {phase}'{으로} 되돌아갑니다";
        GateAlreadyOpen { gate } => "게이트 '{gate}'{은} 이미 열려 있습니다" / "다시 확인하려면 먼저 'bowline develop gate reset {gate}'{을} 실행하세요";
        CheckpointsOpen { checkpoints } => "통과하지 못한 체크포인트: {checkpoints}" / "모든 체크포인트를 먼저 통과하세요. 다음 차례는 'bowline develop resume'이 알려 줍니다";
        EvidenceRequired { gate } => "게이트 '{gate}'에는 증거가 필요합니다" / "[develop.gates.{gate}] run=을 정하고 사람이 봉인하세요. 사람은 --run이나 --by-hand도 쓸 수 있습니다";
        EvidenceRed { gate, exit_code } => "게이트 '{gate}'{은} 닫혀 있습니다: 확인 명령이 코드 {exit_code}{으로} 끝났습니다" / "문제를 고치고 다시 시도하세요";
        EvidenceStale => "봉인한 파일이 봉인 뒤에 바뀌었습니다" / "사람이 'bowline develop seal'로 다시 봉인합니다";
        NeedsPerson { what: _ } => "사람만 할 수 있습니다" / "함께 일하는 사람에게 요청하세요";
        UnknownCheckpoint { id } => "체크포인트 '{id}'{이} 없습니다" / "'bowline develop status'로 확인하세요. 체크포인트는 REVIEW에 들어갈 때 정합니다";
        DuplicateCheckpoint { id } => "체크포인트 '{id}'{이} 두 번 나옵니다" / "체크포인트마다 한 번만 적으세요";
        BadCheckpointId { shown, fault: _, chars_max } => "체크포인트 이름 '{shown}'{은} 쓸 수 없습니다" / "cp-1처럼 '-'로 시작하지 않는 한 줄 {chars_max}자 이내의 이름을 쓰세요";
        CheckpointFailed { what: _, id, status, typed } => "체크포인트 '{id}'의 상태가 '{0}'{이다}라서 할 수 없습니다" [status.say(Ko)] / "사람이 'bowline develop checkpoint start {typed} --override 이유'로 다시 엽니다";
        CheckpointPending { what: _, id, typed } => "체크포인트 '{id}'의 상태가 '대기 중'이라서 할 수 없습니다" / "'bowline develop checkpoint start {typed}'{으로} 시작하세요";
        CheckpointIs { what: _, id, status } => "체크포인트 '{id}'의 상태가 '{0}'{이다}라서 할 수 없습니다" [status.say(Ko)] / "'bowline develop status'로 확인하세요";
        Empty { what } => "{0}{이} 비어 있습니다" [what.say(Ko)] / "{0}{을} 적으세요" [what.say(Ko)];
        AlreadyAdopted => "이미 Bowline이 관리하는 개발 실행입니다" / "할 일이 없습니다";
    }
}
