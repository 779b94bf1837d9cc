//! 게이트가 하는 말. 첫 줄과 '차단된 명령', '미충족 gate'는 사람과 프로그램이 이미 아는 말이라 그대로 둡니다.

use crate::Lang::Ko;
use crate::message::Change;
use crate::particle::*;

table! {
    denied: Denied => text {
        Write { phase, path, by } => "[PHASE GATE] {phase} phase에서 파일 수정이 차단되었습니다.\n대상: {path} ({by})";
        WriteByTool { phase, path } => "[PHASE GATE] {phase} phase에서 파일 수정이 차단되었습니다.\n대상: {path} (도구)";
        WriteSomewhere { phase, by } => "[PHASE GATE] {phase} phase에서 파일 수정이 차단되었습니다.\n대상: 알 수 없음 ({by})";
        WriteSomewhereByTool { phase } => "[PHASE GATE] {phase} phase에서 파일 수정이 차단되었습니다.\n대상: 알 수 없음 (도구)";
        Finish { phase, what } => "[PHASE GATE] {phase} phase에서 종료 명령이 차단되었습니다.\n대상: {0}" [what.say(Ko)];
        OtherTree { what } => "[PHASE GATE] PR phase에서 차단되었습니다. 확인한 트리가 아닙니다.\n대상: {0}" [what.say(Ko)];
        OtherFiles { what, changes } => "[PHASE GATE] PR phase에서 차단되었습니다. 확인한 것과 다릅니다: {0}\n대상: {1}" [Change::join_first(changes, Ko), what.say(Ko)];
        Hidden { phase, what } => "[PHASE GATE] {phase} phase에서 명령이 차단되었습니다.\n무엇을 실행할지 알 수 없습니다: {0}" [what.say(Ko)];
        Guard { phase, path } => "[PHASE GATE] {phase} phase에서 파일 수정이 차단되었습니다.\n대상: {path}";
        PersonHere { phase, what } => "[PHASE GATE] {phase} phase에서 명령이 차단되었습니다.\n대상: {what}";
        Person { what } => "[PHASE GATE] '{what}'{은} 사람만 할 수 있습니다.";
        State { path } => "[PHASE GATE] {path}{은} bowline만 바꿀 수 있습니다.";
        Missing { path } => "[PHASE GATE] 개발 실행이 진행 중인데 파일 {path}{이} 없습니다.";
        Damaged { path, reason: _ } => "[PHASE GATE] {path}{이} 손상되어 읽을 수 없습니다.";
        CannotJudge { reason } => "[PHASE GATE] 이 호출을 판단할 수 없어 차단했습니다: {0}." [reason.say(Ko)];
        GateFailed => "[PHASE GATE] 이 호출을 판단할 수 없어 차단했습니다: 판단하는 중에 실패했습니다. bowline의 잘못입니다.";
    }

    finishing_act: FinishingAct => text {
        Command { text } => "{text}";
        Push { name } => "{name} 푸시";
        MoveBranch => "브랜치 이동";
        MoveReference { name } => "{name} 이동";
    }

    unjudged: Unjudged => text {
        Unread { cause } => "클라이언트의 메시지를 읽을 수 없습니다: {0}" [cause.say(Ko)];
        TooLong => "클라이언트의 메시지가 너무 깁니다";
        NotUnderstood { said: _ } => "클라이언트의 메시지를 이해할 수 없습니다";
        NoTool => "메시지에 도구의 이름이 없습니다";
        NoFolder => "세션의 폴더를 알 수 없습니다";
        GitUnread => "git이 보낸 것을 읽을 수 없습니다";
    }

    unseen: Unseen => text {
        Unreadable { at, fault } => "명령줄의 {at}번째 글자부터 읽을 수 없음: {0}" [fault.say(Ko)];
        ToolInput { tool } => "{tool}에 주어진 명령을 읽을 수 없음";
        Nameless => "이름 없는 변수";
        Code { language } => "실행 중에 만들어지는 {language} 코드";
        GitCommand => "실행 중에 만들어지는 git 명령";
        GitAlias => "실행 중에 만들어지는 git 별칭";
        GitSettings { command } => "다른 곳의 설정을 쓰는 git {command}";
        CommandOf { name } => "실행 중에 만들어지는 {name} 명령";
        TypedInto { name } => "실행 중에 {name}에 입력될 내용";
        Program => "이름이 실행 중에 만들어지는 프로그램";
        Alias { name } => "별칭 {name}";
        SedRuns => "sed가 바꾼 내용을 실행함";
        TooDeep => "너무 깊이 겹쳐 있음";
        Text => "실행 중에 만들어지는 글";
        Prompt => "실행 중에 만들어지는 프롬프트";
        NotFoundHandler => "없는 명령을 대신하는 함수";
        StartFile => "실행 중에 만들어지는 시작 파일";
        Anything { language, by } => "무엇이든 실행할 수 있는 {language} 코드: {0}" [by.say(Ko)];
        CronTable => "cron 표";
    }

    shell_fault: ShellFault => text {
        BadLetter => "명령줄에 없는 글자";
        TooLong => "너무 김";
        TooDeep => "너무 깊이 겹침";
        OpenBracket => "닫히지 않은 괄호";
        StrayBracket => "여기 있을 수 없는 괄호";
        OpenQuote => "닫히지 않은 따옴표";
        OpenBackquote => "닫히지 않은 역따옴표";
        OpenBrace => "닫히지 않은 중괄호";
        StrayWord => "아무것도 닫지 않는 말";
        StrayWordOrBracket => "아무것도 닫지 않는 말";
        BadLoop => "변수 없는 반복문";
        LoopWithoutVariable => "변수 없는 반복문";
        OpenPattern => "끝나지 않는 패턴";
        FunctionWithoutName => "이름이 분명하지 않은 함수";
        OpenTest => "끝나지 않는 검사식";
        OpenCalculation => "끝나지 않는 계산식";
        AfterCommand => "명령 끝 뒤에 온 것";
        UnclearHereDocument => "끝을 알 수 없는 here-document";
        StraySign => "여기 있을 수 없는 기호";
        ParameterWithoutName => "이름 없는 매개변수";
        WordMissing { word } => "'{word}'{이} 빠짐";
    }

    open_construct: OpenConstruct => text {
        ManyCalls => "너무 많은 호출";
        EmbeddedCommand => "안에 든 명령";
        DisguisedName => "숨긴 이름";
        Name { name } => "{name}";
    }

    card: Card => text {
        Blocked { command } => "차단된 명령: {command}";
        ClosedGates { gates } => "미충족 gate: {gates}";
        Next { command } => "다음: {command}";
        NextLine { command } => "다음: {command}";
        NextByPerson { command } => "다음: 사람에게 실행을 요청하세요: {command}";
        NextIsVerb => "다음: bowline develop status로 확인한 뒤 review, gate pass, implement, checkpoint, pr, done 가운데 하나";
        AskPerson { command } => "사람에게 실행을 요청하세요: {command}";
        AskPersonFor => "다음: 함께 일하는 사람에게 자신의 터미널에서 실행해 달라고 요청하세요";
        NotBelieved { what } => "bowline이 쓰지 않아 인정하지 않는 값: {what}";
        NotBelievedHere { what } => "다른 곳에서 바뀌어 인정하지 않는 값: {what}";
        NotBelievedIn { path, what } => "{path}에서 bowline이 아닌 것이 바꾸어 인정하지 않는 값: {what}. 명령을 쓰세요: `bowline develop --help`.";
        Head => "bowline의 상태 파일에 기록된 현재 상황입니다(기억보다 이것을 믿으세요):";
        RunMissing { path } => "진행 중인 개발 실행의 파일 {path}{이} 없습니다. 돌아올 때까지 파일 수정과 커밋이 차단됩니다.";
        RunDamaged { path, reason: _ } => "개발 실행의 파일 {path}{이} 손상되어 읽을 수 없습니다. 파일 수정과 커밋이 차단됩니다.";
        FileMissing { path, next } => "개발 실행이 진행 중인데 {path}{이} 없습니다. {next}";
        FileDamaged { path, reason: _, next } => "{path}{이} 손상되어 읽을 수 없습니다. {next}";
        About { feature, phase } => "개발 실행 '{feature}', {phase} phase.";
        When { began, moved, utc, strategy } => "시작 {began}, 마지막 변경 {moved} ({0}){1}." [if *utc { "UTC" } else { "현지 시각" }, strategy.map(|name| format!(", 전략 {name}")).unwrap_or_default()];
        LatestChanges { changes } => "최근 변경: {changes}";
        Foreign => "다른 프로그램이 시작한 개발 실행입니다. `bowline develop adopt`로 넘겨받습니다.";
        SealStale => "봉인된 파일이 바뀌었습니다. 사람이 확인하고 다시 봉인해야 게이트가 인정됩니다.";
        Passed { passed, total, open } => "{total}개 중 {passed}개 통과; {open}, …";
        WritesClosed { gates } => "지금 차단됨: 파일 수정 (닫힌 게이트: {gates})";
        FinishesClosed { gates } => "지금 차단됨: 커밋, 푸시, PR (닫힌 게이트: {gates})";
        DesignAgain => "Phase 1부터 재시작합니다. 나눈 이야기가 사라졌으므로 요청부터 다시 설계하세요.";
        ReviewAgain => "설계 리뷰를 다시 실행하세요.";
        Implement => "설계 리뷰가 끝났습니다. 구현을 시작하세요.";
        Begin { id } => "체크포인트 {id}{을} 시작하세요.";
        GoOn { id, attempt, max } => "체크포인트 {id}{을} {attempt}/{max}번째 시도부터 이어서 진행하세요. 코드와 테스트를 다시 읽고 실행하세요.";
        OnlyPeople => "사람이 결정해야 하는 체크포인트만 남았습니다. 물어보세요.";
        VerifyAll => "모든 체크포인트를 통과했습니다. 전체를 검증하세요.";
        ToPr => "전체 검증이 끝났습니다. PR로 넘어가세요.";
        ReReview => "코드 리뷰를 다시 실행하세요.";
        FinishNow => "코드 리뷰가 깨끗합니다. 마무리하세요.";
        GateBehind { phase } => "지나온 게이트가 닫혀 있습니다. 사람이 {phase}{으로} 되돌아가야 합니다.";
        Over => "이전 완료.";
        StopTo { id, attempt, max, next } => "체크포인트 {id}{이} 진행 중입니다({attempt}/{max}번째 시도). 실패한 출력을 읽고 고친 뒤 확인하세요: `{next}`. 이번 시도가 실패했다면 알리세요: `bowline develop checkpoint fail {id} --class LOGIC_ERROR` (DESIGN_MISMATCH와 ENV_ISSUE는 바로 사람에게 묻습니다).";
        AlsoHere { kind, name, said } => "함께 있음: {kind} ({name}): {0}. `bowline status {kind}`로 확인하세요." [said.say(Ko)];
        LessonsFor { stage, lessons } => "이전 작업에서 {stage} 단계에 대해 배운 점, 적용하세요: {lessons}";
        StepInHand { step, name, agent } => "{agent}의 단계 {step}: {name}.";
        TaskGoal { goal } => "목표: {goal}";
        Shared { facts } => "모든 에이전트가 공유하는 것: {facts}";
        Remembers { agent, facts } => "{agent}{이} 기억하는 것: {facts}";
        Taught { lessons } => "비슷한 작업에서 배운 점, 적용하세요: {lessons}";
    }

    other: Other => text {
        Unreadable => "여기서는 읽을 수 없음";
        Thinking { id, stage, status } => "'{id}', {stage} 단계, {0}" [status.say(Ko)];
        Memory { name, status, step: Some(step) } => "'{name}', {0}, {step}번 단계" [status.say(Ko)];
        Memory { name, status, step: None } => "'{name}', {0}" [status.say(Ko)];
        NoTask => "현재 작업 없음";
        Orchestration { project, done, running, ready, failed } => "'{project}', 완료 {done}, 진행 중 {running}, 실행 대기 {ready}, 실패 {failed}";
    }
}
