//! 에이전트의 실행이 그대로 나아가지 못하는 까닭.

use crate::Lang::Ko;
use crate::particle::*;

table! {
    reason: Reason => text {
        Said { text } => "{text}";
        Nothing => "까닭을 밝히지 않은 실패";
        Refused { no } => "{0}" [no.say(Ko).0];
        Coded { code, why } => "{0} ({code})" [why.say(Ko)];
        Lost => "에이전트가 사라졌습니다";
        NotBegun => "에이전트가 시작되지 않습니다";
        NotRun { why } => "에이전트를 시작할 수 없습니다: {0}" [why.say(Ko)];
        NoAgent { name } => "에이전트 '{name}'{이} 없습니다";
        Silent { seconds } => "{seconds}초 동안 출력이 없었습니다";
        TooLong { seconds } => "{seconds}초 안에 끝나지 않았습니다";
        Breaker { spent } => "허용된 한도를 다 썼습니다: {0}" [spent.say(Ko)];
        ExitCode { code } => "종료 코드 {code}";
        Signal => "시그널로 끝났습니다";
        NoPromise { times } => "{times}번 되풀이했지만 완료 문구가 없습니다";
        Conflict { paths } => "{paths}에서 충돌";
        NothingInCommon { branch, command } => "커밋에 브랜치 {branch}{과} 공통된 이력이 없습니다: '{command}'{으로} 작업을 그 위에 올리세요";
        BadModules { said } => "git이 .gitmodules를 읽을 수 없어 이 체크아웃에서 아무것도 하지 못합니다: {said}";
        PlanRemoved { path, command } => "작업이 계획 {path}{을} 지웁니다: '{command}'{으로} 되돌리세요";
        PlanCut { path, ids, command } => "작업이 계획 {path}에서 다른 작업({ids})의 내용을 지웁니다: '{command}'{으로} 되돌리세요";
        LandingsGone { ids, branch, command } => "합쳐졌지만 브랜치 {branch}에 더 이상 없습니다: {ids}. 되돌리는 명령: {command}";
        InTheWay { said, command } => "{said} 기다림을 끝내는 명령: {command}";
        Unresolved { path } => "{path}의 충돌이 해결되지 않았습니다";
        OwnRepository { path } => "{path}{은} 별도의 git 저장소라서 그 안의 파일이 합쳐지지 않습니다: 그 안의 .git을 지우세요";
        SubmoduleAlone { path } => "서브모듈 {path}의 작업이 다른 어디에도 없습니다: 그 안에서 커밋하고 푸시하세요";
        NoWorktree { path } => "{path}{은} 더 이상 이 저장소의 워크트리가 아닙니다. 그 안의 내용은 그대로 둡니다";
        CommandRed => "검증 명령이 실패했습니다";
        Blocking { count } => "검토에서 진행을 막는 문제 {count}개를 찾았습니다";
        EndedItself => "에이전트가 스스로 끝냈습니다";
        EvidenceRed { command, code } => "증거 명령이 실패했습니다: '{command}', 종료 코드 {code}";
        CheckRed { command, code } => "단계의 검사가 실패했습니다: '{command}', 종료 코드 {code}";
        CommandEnded { command, code } => "'{command}'{이} 종료 코드 {code}{으로} 끝났습니다";
        ProgramFailed { program, said } => "'{program}' 실행에 실패했습니다: {said}";
        BranchRuns { branch } => "브랜치 {branch}{이} 계속 움직여 합칠 수 없습니다";
        BranchMoves { branch } => "브랜치 {branch}{이} 움직이고 있습니다";
        BranchApart { branch, remote, command } => "브랜치 {branch}{이} {remote}의 것과 갈라졌습니다. 기다림을 끝내는 명령: {command}";
        BranchGone { branch, command } => "브랜치 {branch}에 커밋이 없습니다. 되돌리는 명령: {command}";
        Uncommitted { folder, command } => "{folder}에 커밋하지 않은 변경이 있습니다. 커밋하는 명령: {command}";
        ProposalUnknown { id, command } => "{id}의 풀 리퀘스트를 찾을 수 없습니다. 기다림을 끝내는 명령: {command}";
        GoesOn { why, command } => "{0}. 해결한 뒤 이어 가는 명령: {command}" [why.say(Ko)];
        ProposalClosed => "풀 리퀘스트가 닫혔습니다";
        ProposalCheckRed { name } => "풀 리퀘스트의 검사 {name}{이} 실패했습니다";
        ProposalRemarks => "풀 리퀘스트 검토 의견";
        PhaseNotLanded { phase, why } => "단계 {phase}{을} 합치지 못했습니다: {0}" [why.say(Ko)];
    }

    spent: Spent => text {
        Turns { max } => "턴 {max}번";
        Tokens { max } => "토큰 {max}개";
        Usd { max } => "{max}달러";
        Worked { seconds } => "작업 시간 {seconds}초";
    }

    not_run: NotRun => text {
        Program { name, cause } => "프로그램 '{name}': {0}" [cause.say(Ko)];
        Folder { name, cause } => "폴더 '{name}': {0}" [cause.say(Ko)];
        SettingsFolder { cause } => "설정 폴더를 만들 수 없습니다: {0}" [cause.say(Ko)];
        NoCommand => "명령이 없습니다";
        ShimGone => "심(shim)이 먼저 끝났습니다";
        Shim { program, cause } => "{program}: {0}" [cause.say(Ko)];
        ShimSilent => "아무 말 없이 끝났습니다";
        ShimSlow { ms } => "{ms} ms 안에 준비되지 않았습니다";
        Other { cause } => "{0}" [cause.say(Ko)];
    }

    no_group: NoGroup => text {
        NotMounted => "버전 2 컨트롤 그룹이 마운트되어 있지 않습니다";
        NotAllowed { place } => "이 사용자는 {place}{과} 그 주변에 그룹을 만들 수 없습니다";
        NotMade { place, cause } => "{place}에 그룹을 만들 수 없습니다: {0}" [cause.say(Ko)];
        Version1 { names } => "{names}: 이 컴퓨터의 버전 1 컨트롤 그룹이 쓰고 있습니다";
        NotHandedOn { names, file } => "{names}: {file}에서 위임되지 않았습니다";
        NotFrozen => "이 커널은 그룹을 멈출 수 없습니다";
    }

    bad_setting: BadSetting => text {
        Unread { cause } => "{0}" [cause.say(Ko)];
        NotToml { line, said: _ } => "{line}번째 줄이 TOML 문법에 맞지 않습니다";
        Key { line, key, said: _ } => "{line}번째 줄의 '{key}'{을} 쓸 수 없습니다. 이름과 값을 확인하세요";
        Notify { line, key } => "{line}번째 줄의 '{key}'{을} 쓸 수 없습니다. webhook, slack, ntfy, ntfy_actions는 각각 문자열 하나, desktop은 true나 false입니다";
        EmptyCommand { agent } => "에이전트 '{agent}'의 명령이 비어 있습니다";
        NoClient { agent } => "에이전트 '{agent}'에 model이나 args는 있는데 client가 없습니다. client를 claude, codex, gemini, opencode 가운데 하나로 지정하세요";
        CommandAndClient { agent } => "에이전트 '{agent}'에 command와 client가 섞여 있습니다. command와 protocol, 또는 client와 model과 args 가운데 한쪽만 쓰세요";
        NoModel { agent, client, model } => "에이전트 '{agent}': {client}에는 모델 '{model}'{을} 인수로 지정할 수 없습니다. model을 빼고 클라이언트 자체 설정에서 지정하세요";
        ReservedArgument { agent, client, argument } => "에이전트 '{agent}': {client}의 인수 '{argument}'{은} bowline이 정합니다. args에서 빼세요";
        NoPhases { name } => "유형 '{name}'에 단계가 없습니다";
    }
}
