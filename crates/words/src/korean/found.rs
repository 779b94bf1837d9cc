//! 파일에서 찾은 것: 위치 뒤에 오는 말.

use crate::Lang::Ko;
use crate::particle::*;

/// Returns the requirement behind a rule of a state machine.
fn translate_rule(name: &str) -> &'static str {
    match name {
        "attempts_within_limit" => "시도 횟수는 한도를 넘지 않아야 합니다",
        "begun_stage_has_completed_dependency" => "시작한 단계의 앞 단계는 완료되어 있어야 합니다",
        "begun_step_has_completed_dependencies" => {
            "시작한 단계의 선행 단계는 완료되어 있어야 합니다"
        }
        "blocked_exactly_behind_a_failure" => "실패한 작업 뒤에 있을 때만 차단됩니다",
        "completed_at_exactly_when_completed" => "completed_at은 완료되었을 때만 있어야 합니다",
        "completed_at_exactly_when_ended" => "completed_at은 끝났을 때만 있어야 합니다",
        "completed_at_only_when_finished" => "completed_at은 모두 끝났을 때만 있어야 합니다",
        "completed_without_error" => "완료된 작업에는 오류가 없어야 합니다",
        "current_phase_is_the_first_unfinished" => {
            "현재 단계(phase)는 끝나지 않은 첫 단계여야 합니다"
        }
        "current_task_is_open" => "끝난 작업은 이력에 있어야 합니다",
        "error_counts_like_its_step" => "오류의 재시도 횟수는 단계의 횟수와 같아야 합니다",
        "error_exactly_when_failed" => "오류(error)는 실패했을 때만 있어야 합니다",
        "escalated_step_is_failed" => "사람에게 넘긴 단계는 실패 상태여야 합니다",
        "landed_phase_is_complete" => "병합된 단계(phase)는 완료되어 있어야 합니다",
        "outputs_inside_folder" => "산출물은 작업 폴더 안에 있어야 합니다",
        "pending_task_is_not_begun" => "대기 중인 작업은 시작한 단계가 없어야 합니다",
        "plan_has_no_cycle" => "계획의 단계가 서로를 기다려서는 안 됩니다",
        "plan_is_sound" => "계획의 단계 번호와 의존성이 올바라야 합니다",
        "ready_exactly_when_free_in_the_current_phase" => {
            "현재 단계(phase)에서 선행 작업이 모두 끝났을 때만 실행 대기입니다"
        }
        "resolved_at_exactly_when_resolved" => "resolved_at은 해결되었을 때만 있어야 합니다",
        "retries_within_limit" | "retry_count_within_limit" => {
            "재시도 횟수는 한도를 넘지 않아야 합니다"
        }
        "stage_in_progress_is_current" => "진행 중인 단계는 current_stage여야 합니다",
        "started_at_exactly_when_begun" => "started_at은 시작했을 때만 있어야 합니다",
        "started_only_in_progress" => "시작 시각은 진행 중일 때만 있어야 합니다",
        "task_ids_unique" => "작업 id는 하나씩만 있어야 합니다",
        "times_in_order" => "시각의 순서가 맞아야 합니다",
        "unresolved_escalation_exactly_when_failed" => {
            "해결되지 않은 이슈는 작업이 실패했을 때만 있어야 합니다"
        }
        "waiting_task_is_not_begun" => "대기열의 작업은 시작한 단계가 없어야 합니다",
        _ => "지켜야 할 규칙에 어긋납니다",
    }
}

table! {
    file_finding: FileFinding => text {
        Missing => "없습니다";
        ShouldBe { wanted } => "{0}{이어야} 합니다" [wanted.say(Ko)];
        ShouldBeIs { wanted, is } => "{0}{이어야} 하는데 {1}입니다" [wanted.say(Ko), is.say(Ko)];
        NotAnObject => "파일이 JSON 객체가 아닙니다";
        DuplicateKey => "같은 키가 여러 번 있습니다. 마지막 값을 씁니다";
        NotOneOf { words } => "{words} 중 하나가 아닙니다";
        WordNotOneOf { word, words } => "'{word}'{은} {words} 중 하나가 아닙니다";
        NotATime { text } => "'{text}'{은} 시각이 아닙니다";
        NotAVersion { text } => "'{text}'{은} 버전이 아닙니다";
        Derived { is, makes } => "{is}{이다}지만 나머지 내용에 따르면 {makes}입니다";
        DerivedMissing { makes } => "없지만 나머지 내용에 따르면 {makes}입니다";
        NewerVersion { found, written } => "버전 {found}{은} 이 프로그램이 쓰는 최신 버전 {written}보다 새롭습니다";
        OlderVersion { found, written } => "버전 {found}{은} {written}보다 오래되었습니다. 처음 변경할 때 갱신됩니다";
        OlderName { text, name } => "{text}{은} {name}의 옛 이름입니다";
        RuleBroken { rule: name, place, detail: _ } => "{0} ({place})" [translate_rule(name)];
        NoStages => "단계(stages)가 없습니다";
        NoSuchStage { name } => "'{name}' 단계는 없습니다";
        NeitherTaskNorNull => "작업도 null도 아닙니다";
        NoTaskList => "작업 목록이 없습니다";
        NoTaskLists => "작업 목록들이 없습니다";
        NoSession => "세션도 공유 데이터도 없습니다";
        NoKnownPhase => "알려진 단계(phase)가 없습니다";
        NoAgentName => "에이전트 이름이 없습니다";
        BadAgentName => "소문자, 숫자, '-'로만 이루어지지 않았습니다";
        NothingToTakeUp => "이어서 할 것이 없습니다";
        TaskTwice { id } => "작업 '{id}'{이} 두 번 있습니다";
        ScoreRange { value } => "{value}입니다. 점수는 0에서 10까지입니다";
        MetricRange { value } => "{value}입니다. 지표는 0에서 1까지입니다";
        ProgressRange { value } => "{value}입니다. 진행률은 0에서 100까지입니다";
        SaysNothing => "아무 내용이 없습니다";
        NotOfThisRun => "이 실행의 작업이 아닙니다";
        BeforeStart => "started_at보다 앞섭니다";
        NoIds { count } => "항목 {count}개가 작업 id가 아닙니다";
        OddEntries { count } => "항목 {count}개에 작업 id가 아닌 것이 있습니다";
        TooManyAttempts { attempts } => "시도 {attempts}회는 한도를 넘습니다";
        HoldsValue => "값이 들어 있습니다. 이름만 두어야 합니다";
        NotAllPhases => "단계(phase) 번호가 아닌 것이 있습니다";
        OlderFile { written } => "{written}보다 오래된 파일입니다. 처음 변경할 때 갱신됩니다";
        OddIdsKept => "작업 id가 아닌 항목이 있어 그대로 두었습니다";
        ReadAsNormal { word } => "'{word}'{은} normal로 읽습니다";
        SaysNoTime => "시각이 없습니다";
        IsNoTime => "시각이 아닙니다";
        UnknownPhaseKept => "알 수 없는 단계 이름이라 그대로 두었습니다. 지금 어느 단계입니까?";
        NotAnOrchestration => "오케스트레이션에 관한 파일이 아닙니다";
        AnotherProgramsFile => "다른 프로그램이 쓴 파일입니다";
        ListedTwice { ids } => "여러 번 있습니다: {0}" [ids.say(Ko)];
        ListedInBoth { ids } => "기준이 되는 목록에도 있습니다: {0}" [ids.say(Ko)];
        ListedWrongly { ids } => "나머지 내용에 따르면 여기 있을 것이 아닙니다: {0}" [ids.say(Ko)];
        Unlisted { ids } => "다른 곳에는 있지만 어느 목록에도 없습니다: {0}" [ids.say(Ko)];
        NodeTwice { id } => "작업 '{id}'{이} 두 번 있습니다";
        NodeWithoutDependency { id, dependency } => "작업 '{id}'{이} 없는 작업 '{dependency}'에 의존합니다";
        NodesInCircle { path } => "작업이 서로 의존합니다: {path}";
        NodeOfLaterPhase { id, phase, dependency, later } => "{phase}단계의 작업 '{id}'{이} 뒤의 {later}단계에 있는 '{dependency}'에 의존합니다";
        TooManyNodes { count, max } => "작업 {count}개는 한도 {max}개를 넘습니다";
        NotUtf8 { offset } => "UTF-8 글이 아닙니다. 처음 잘못된 바이트: {offset}";
        Empty => "파일이 비어 있습니다";
        TooDeep { max, line, column } => "{max}단계보다 깊이 중첩되어 있습니다: {line}행 {column}열";
        NumberTooLarge { line, column } => "{line}행 {column}열의 수가 너무 큽니다";
        NotJson { text: _, line, column } => "JSON이 아닙니다: {line}행 {column}열";
        FileGone => "파일이 사라졌지만 저널은 남아 있습니다";
        AllGone => "파일과 저널이 사라졌지만 사본은 남아 있습니다";
        HistoryOwed => "끝난 작업이 아직 이력에 없습니다";
        JournalGap { from, to } => "저널이 {from}번 줄에서 {to}번 줄로 건너뜁니다. 이력과 되돌리기는 거기서 끝납니다";
        NotBelieved { reason: _ } => "저널을 읽을 수 없어 무엇을 인정할지 알 수 없습니다";
        Noticed { notice } => "{0}" [notice.say(Ko)];
    }

    named: Named => text {
        One { id } => "{id}";
        Several { ids } => "{ids}";
        More { ids, more } => "{ids} 외 {more}개";
    }

    kind: Kind => text {
        Null => "null";
        Bool => "참 또는 거짓";
        Number => "숫자";
        NumberOrNull => "숫자 또는 null";
        WholeNumber => "정수";
        Text => "문자열";
        TextOrNull => "문자열 또는 null";
        Time => "시각";
        TimeOrNull => "시각 또는 null";
        List => "목록";
        Object => "객체";
        ObjectOrNull => "객체 또는 null";
        ObjectOrText => "객체 또는 문자열";
        StepNumber => "단계 번호";
        TaskList => "작업 목록";
        OneOf { words } => "{words} 중 하나";
        Exactly { word } => "{word}";
    }

    repair: Repair => text {
        SetIt { value } => "{value}{으로} 바꿉니다";
        SetItToStart => "started_at으로 바꿉니다";
        SetTo { field, value } => "{field}{을} {value}{으로} 바꿉니다";
        SetNull { field } => "{field}{을} null로 바꿉니다";
        SetToLimit { field } => "{field}{을} 한도로 바꿉니다";
        SetToField { field, other } => "{field}{을} {other}{으로} 바꿉니다";
        StartOfTask => "started_at을 작업이 시작된 시각으로 바꿉니다";
        EndOfTask => "completed_at을 작업이 마지막으로 바뀐 시각으로 바꿉니다";
        NoStepFailed => "실패한 단계가 없으므로 status를 in_progress로 바꿉니다";
        AddError => "내용 없는 오류를 추가합니다";
        AddIssue { step } => "실패한 {step}번 단계의 이슈를 추가합니다";
        CallResolved => "이슈를 해결된 것으로 표시합니다";
        AgreeResolved => "resolved_at을 resolved에 맞춥니다";
        Remove => "지웁니다";
        LeaveOut => "뺍니다";
        LeaveThemOut => "뺍니다";
        TakeValueOut => "값을 지웁니다";
        KeepIds => "id만 남깁니다";
        KeepOne => "하나만 남깁니다";
        TakeOutHere => "여기서 뺍니다";
        Move => "옮깁니다";
        AddHere => "여기에 추가합니다";
        Close => "닫습니다";
        WriteThere => "이력에 씁니다";
        Reapply => "'bowline doctor --repair'가 다시 적용합니다";
        Wrote => "끝난 작업을 이력에 썼습니다";
        Completed => "확정되었으나 파일에 없던 변경을 반영했습니다";
        Applied { passage } => "{0}{을} 다시 적용했습니다" [passage.say(Ko)];
        OtherPhase { left, found } => "{left} 단계로 두었습니다({found} 아님). 저널이 없어 남은 사본과 증거가 보여 주는 대로 정했습니다";
        ClosedGates { gates } => "{gates}{을} 닫았습니다. 복구한 뒤에는 열린 게이트가 없으므로 다시 통과해야 합니다";
        NoLongerPassed { checkpoints } => "통과 취소: {checkpoints}. 남은 기록으로는 통과를 확인할 수 없습니다";
        Noticed { notice } => "{0}" [notice.say(Ko)];
    }
}
