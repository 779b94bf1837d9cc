//! 웹 페이지의 입력란과 포크, 작업이 기다리는 이유에 쓰는 말.

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
        ForkNow => "포크하고 제출";
        ForkDraft => "초안으로 포크";
        ReadingChanges => "변경 사항을 읽는 중…";
        SilentFor => "{{time}} 동안 출력 없음";
        SilentUntilRestart => "{{time}} 동안 출력 없음, {{limit}} 넘으면 다시 시작";
        FolderHeldBy => "폴더 대기 중 (사용 중인 작업: {{what}})";
        FolderHeld => "다른 작업이 이 작업의 폴더를 쓰고 있습니다. 그 작업이 끝나면 시작합니다:";
        ShareWorkspace => "다른 작업과 폴더 함께 쓰기";
        ShareWorkspaceHint => "그 폴더에서 진행 중인 작업을 기다리지 않습니다. 변경 사항이 섞입니다.";
        UnknownAgents => "알 수 없는 작업의 에이전트";
        UnknownAgentsHint => "저장소에 없는 작업의 에이전트입니다. 일시 정지해 둡니다. 'bowline serve --rebuild'로 다시 가져옵니다.";
    }
}
