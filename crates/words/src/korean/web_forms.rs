//! 웹 페이지의 입력란과 분기에 쓰는 말.

table! {
    web_forms: WebForms => text {
        DecidedMeanwhile => "그사이 결정되었습니다. 입력하신 글:";
        KeptDraft => "전에 입력하시던 내용입니다.";
        KeptDraftOld => "그사이 이 작업이 변경되었습니다. 양식에는 전에 입력하시던 내용이 있습니다.";
        DiscardDraft => "버리기";
        NoMessageNow => "지금은 에이전트가 메시지를 받지 않습니다. 입력하신 글:";
        ReasonToRefuse => "거부할 때의 이유 (선택)";
        ConfirmFork => "이 체크포인트에서 별도의 에이전트로 새 작업을 시작합니다. 시작하면 바로 토큰을 사용합니다.";
        ForkTitle => "{{title}} ({{n}}단계에서 분기)";
        ForkInstructions => "다르게 할 점";
        ForkInstructionsHint => "에이전트가 설명 끝에서 읽습니다";
        ForkNow => "분기하고 제출";
        ForkDraft => "초안으로 분기";
    }
}
