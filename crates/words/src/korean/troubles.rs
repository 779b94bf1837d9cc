//! 되지 않은 일: 내용 / 힌트.

use crate::Lang::Ko;
use crate::message::{Change, Doubt, LockOwnerText};
use crate::particle::*;

/// Describes the owner of a lock as far as it is known.
fn describe_owner(owner: &LockOwnerText) -> String {
    let mut text = match owner.pid {
        Some(pid) => format!("프로세스 {pid}번"),
        None => "다른 프로그램".to_owned(),
    };
    let more: Vec<&str> = [&owner.host, &owner.what, &owner.at]
        .into_iter()
        .filter(|word| !word.is_empty())
        .map(String::as_str)
        .collect();
    if !more.is_empty() {
        text.push_str(&format!(" ({})", more.join(", ")));
    }
    text
}

table! {
    trouble: Trouble => with_hint {
        NoFile { kind, path, begin } => "{path}에 {kind} 파일이 없습니다" / "{begin}";
        NothingHere { path } => "{path}{과} 그 위에 상태 파일이 없습니다" / "'bowline thinking new ID --title T --goal G'로 시작하거나 -C로 폴더를 지정하세요";
        Ambiguous { paths } => "상태 파일이 여러 개 있습니다: {paths}" / "하나를 지정하세요";
        UnknownKind { path } => "{path}{은} Bowline이 아는 상태 파일이 아닙니다" / "'bowline'이 보여 주는 파일 가운데 하나를 지정하세요";
        AnotherProgramsFile { path } => "{path}{은} 다른 프로그램이 쓴 파일입니다" / "Bowline이 쓰는 내용이 아니므로 그대로 둡니다. 여기서 시작하려면 다른 곳으로 옮기세요";
        Foreign { path } => "{path}{은} 오케스트레이션 파일이 아닙니다" / "다른 프로그램의 파일이므로 그대로 둡니다. 여기서 시작하려면 다른 곳으로 옮기세요";
        NoPlan { path } => "{path}에 계획 파일이 없습니다" / "'bowline orchestrate plan 파일'로 지정하세요. 지정하지 않으면 docs/planning/06-tasks.md, docs/planning/TASKS.md, TASKS.md 순으로 찾습니다";
        OutputThere { path } => "{path}{이} 이미 있습니다" / "'--force'로 바꾸거나 '--output 파일'로 다른 파일에 쓰세요";
        AlreadyExists { path } => "{path}{이} 이미 있습니다" / "다른 폴더를 고르거나 'bowline status'로 이어서 진행하세요";
        OrchestrationExists { path } => "{path}{이} 이미 있습니다" / "'bowline orchestrate status'로 이어서 진행하세요. 'bowline orchestrate rebuild'는 계획의 내용을 받아들입니다";
        BadPlan { path, line, found } => "{path}:{line}: {0}" [found.say(Ko)] / "계획을 고치세요. 'bowline orchestrate plan'으로 어떻게 읽히는지 볼 수 있습니다";
        AmbiguousTask { name, fitting } => "'{name}'에 맞는 작업이 여러 개입니다: {fitting}" / "ID를 더 길게 적으세요";
        NobodyRuns { path } => "{path}의 오케스트레이션을 실행하는 명령이 없습니다" / "'bowline orchestrate run'으로 시작하세요";
        NoAgent { name } => "에이전트 '{name}'{이} 없습니다" / "bowline.toml에 [agent.{name}]으로 적거나 claude, codex, gemini, opencode, scripted 가운데 하나를 쓰세요";
        AgentNotInstalled { name, program } => "에이전트 '{name}'{을} 시작할 수 없습니다. 프로그램 '{program}'{이} 없습니다" / "설치하거나, 그 폴더를 PATH에 넣거나, --agent로 다른 에이전트를 지정하세요";
        Breaker { id, why } => "'{id}'{이} 허용된 한도를 다 썼습니다: {0}" [why.say(Ko)] / "bowline.toml의 [limits] 표에서 한도를 올린 뒤 다시 실행하세요";
        StartsSpent { max } => "요청한 대로 에이전트를 {max}번 시작했습니다" / "이어서 하려면 다시 실행하세요";
        NoValidation { id } => "체크포인트 '{id}'{이} 끝났는지 알려 주는 명령이 없습니다" / "'validation: {{ command: … }}'가 있는 계약을 내세요: bowline develop review --contract FILE";
        BadSettings { path, fault } => "{path}{을} 쓸 수 없습니다: {0}" [fault.say(Ko)] / "고치세요. 'bowline schema config'에 모든 키가 있습니다";
        NoBranch { path } => "{path}{은} 어느 브랜치에도 있지 않습니다" / "작업을 합칠 브랜치를 체크아웃한 뒤 다시 실행하세요";
        NoCommit { path, branch } => "{path}의 브랜치 {branch}에 커밋이 없습니다" / "첫 커밋을 만드세요: 'git commit --allow-empty -m begin'";
        NoMerge { phase, why } => "단계 {phase}{을} 합치지 못했습니다: {0}" [why.say(Ko)] / "고친 뒤 다시 실행하세요. 직접 병합했다면 'bowline orchestrate phase finish {phase} --no-git'을 실행하세요";
        Damaged { path, found } => "{path}{이} 손상되었습니다: {0}" [found.say(Ko)] / "bowline doctor --repair {path}";
        Unreadable { path } => "{path}{이} 손상되었습니다: 읽을 수 없음" / "bowline doctor --repair {path}";
        NewerVersion { path, found } => "{path}{은} 더 새로운 버전이 쓴 파일이라 읽기만 합니다: {0}" [found.say(Ko)] / "이 파일을 바꾸려면 Bowline을 업데이트하세요";
        NeedsPerson { what } => "'{what}'{은} 사람만 할 수 있습니다" / "함께 일하는 사람에게 요청하세요";
        NeedsPersonAtAll { what } => "'{what}'{은} 사람만 할 수 있습니다" / "함께 일하는 사람에게 요청하세요";
        NoTerminal { refused, variable, person } => "{0}. 사람이 실행했다는 표시가 없습니다: 터미널이 없습니다" [refused.say(Ko).0] / "터미널에서 실행하세요. 사람의 스크립트와 CI는 {variable}={person}{을} 설정합니다";
        CutOff { refused, variable, person } => "{0}. 사람이 실행했다는 표시가 없습니다: 터미널의 셸에서 떨어져 나온 프로세스입니다" [refused.say(Ko).0] / "터미널에서 실행하세요. 사람의 스크립트와 CI는 {variable}={person}{을} 설정합니다";
        RunChanged => "이 명령이 진행되는 동안 개발 실행이 다른 것으로 바뀌었습니다" / "'bowline develop status'를 확인하고 다시 실행할지 정하세요";
        MovedOn { path } => "{path}{이} 본 뒤에 바뀌었습니다" / "다시 보고 결정하세요";
        TransitionNotKept { path, sequence, first, at } => "{path}에 전이 {sequence}번이 더는 없습니다. 이력은 {first}번({at})부터 남아 있습니다. 저널은 현재 것과 바로 앞의 것만 보관하며, 더 오래된 것은 지워집니다" / "되돌릴 수 있는 전이는 'bowline history {path}'로 확인하세요";
        NoSuchTransition { path, sequence } => "{path}에 전이 {sequence}번이 없습니다" / "'bowline history {path}'로 확인하세요";
        NothingToUndo { path } => "{path}에 되돌릴 것이 없습니다" / "할 일이 없습니다";
        EffectsLeft { sequence, trigger } => "전이 {sequence}번({trigger})은 파일 밖에 영향을 남겼습니다" / "--state-only를 쓰면 파일만 되돌아가고 밖의 일은 그대로 남습니다";
        NoCopy { which, folder } => "{folder}에 '{which}'{으로} 시작하는 사본이 없습니다" / "'bowline memory backup'으로 사본을 만듭니다";
        StaleTree { changes } => "봉인하거나 확인한 뒤에 바뀌었습니다: {0}" [Change::join_all(changes, Ko)] / "게이트를 다시 통과하세요: 'bowline develop gate reset 이름', 'bowline develop gate pass 이름'";
        TreeNotCommitted { changes } => "테스트한 트리가 어느 커밋에도 없습니다. 마지막 커밋과 다른 것: {0}" [Change::join_first(changes, Ko)] / "테스트한 것을 커밋하거나, 포함하지 않을 파일은 git이 무시하게 하세요";
        StaleSeal { changes } => "봉인하거나 확인한 뒤에 바뀌었습니다: {0}" [Change::join_all(changes, Ko)] / "사람이 확인한 뒤 'bowline develop seal'로 다시 봉인합니다";
        NotVerified { reasons } => "확인되지 않았습니다: {0}" [Doubt::join_all(reasons, Ko)] / "이 트리에서 게이트를 다시 통과하세요";
        ProgramFailed { program, said } => "'{program}' 실행에 실패했습니다: {said}" / "프로그램이 남긴 말을 확인하세요";
        DeniedBySandbox { program, said, path } => "'{program}' 실행에 실패했습니다: {said}" / "에이전트의 샌드박스에서 {path}{을} 읽을 수 없습니다. 사람이 '--read {path}'로 에이전트를 시작해야 합니다";
        GitTooOld { found, needed } => "설치된 것은 {found}입니다. 에이전트들이 나란히 작업하려면 git {needed} 이상이 필요합니다" / "더 새로운 git을 설치하세요. 저장소 밖에서 실행하면 git이 필요 없습니다";
        NoAttempt { id } => "에이전트 실행 '{id}'{이} 없습니다" / "'bowline attach'로 목록을 볼 수 있습니다";
        AmbiguousId { id, fitting } => "'{id}'{으로} 시작하는 에이전트 실행이 여러 개입니다: {fitting}" / "ID를 더 길게 적으세요";
        NotRunning { id } => "에이전트 실행 {id}의 에이전트가 실행 중이 아닙니다" / "'bowline attach'로 목록을 볼 수 있습니다";
        InputClosed { id } => "에이전트 실행 {id}의 표준 입력은 닫혔거나 열린 적이 없습니다" / "보내려면 'bowline run-agent --open-input -- CMD'로 새로 시작하세요";
        ShimStopped { id, pid } => "에이전트 실행 {id}의 심(shim)이 (프로세스 {pid}) 멈춰 있습니다" / "'kill -CONT {pid}'{으로} 계속하게 하거나, 모두 끝내려면 'kill -9 {pid}' 뒤에 'bowline attach {id} --end'를 실행하세요";
        ShimSilent { id, pid } => "에이전트 실행 {id}의 심(shim)이 (프로세스 {pid}) 응답하지 않습니다" / "다시 해 보거나, 모두 끝내려면 'kill -9 {pid}' 뒤에 'bowline attach {id} --end'를 실행하세요";
        ShimSilentSomewhere { id, stopped: true } => "에이전트 실행 {id}의 심(shim)이 멈춰 있습니다" / "다시 해 보세요. 'bowline attach'로 상태를 볼 수 있습니다";
        ShimSilentSomewhere { id, stopped: false } => "에이전트 실행 {id}의 심(shim)이 응답하지 않습니다" / "다시 해 보세요. 'bowline attach'로 상태를 볼 수 있습니다";
        ChangedWhileRunning { command, changes } => "'{command}'{이} 실행되는 동안 파일이 바뀌어 증거가 되지 않습니다: {0}" [Change::join_first(changes, Ko)] / "실행되는 동안 다른 곳에서 파일을 쓰지 않게 하세요. 명령이 만드는 파일은 git이 무시하게 하고, 추적되는 파일을 쓰는 명령은 게이트 전에 실행하세요";
        CallCancelled { what } => "호출이 취소되어 '{what}'{을} 끝냈고 아무것도 바꾸지 않았습니다" / "필요할 때 다시 호출하세요";
        NotPausedYet { id, seconds } => "에이전트 실행 {id}{이} {seconds}초가 지나도 일시 중지되지 않았습니다. 아직 실행 중인 프로세스가 있습니다" / "계속 멈추는 중입니다. 'bowline attach'로 보거나 'bowline attach {id} --end'로 끝내세요";
        NotResumedYet { id, seconds } => "에이전트 실행 {id}{이} {seconds}초가 지나도 다시 실행되지 않았습니다. 아직 멈춰 있는 프로세스가 있습니다" / "'bowline attach'로 보거나 'bowline attach {id} --end'로 끝내세요";
        NotEndedYet { id, seconds } => "에이전트 실행 {id}{이} {seconds}초가 지나도 끝나지 않았습니다. 남은 프로세스가 있습니다" / "계속 끝내는 중입니다. 'bowline attach'로 보세요";
        AgentNotStarted { id, why } => "에이전트 실행 {id}의 에이전트를 시작할 수 없습니다: {0}" [why.say(Ko)] / "명령, 폴더, 샌드박스를 확인하세요";
        NoControlGroup { what, reason } => "{what}{을} 여기서는 쓸 수 없습니다: {0}" [reason.say(Ko)] / "'bowline run-agent --sandbox-report'로 이 컴퓨터에서 되는 것을 볼 수 있습니다";
        OutsideTree { changes } => "작업 트리에 없는 것을 시험하게 되어 증거가 되지 않습니다: {0}" [Change::join_first(changes, Ko)] / "서브모듈 안에서 커밋하고, 링크는 트리 안으로 이어지게 하거나 가상 환경처럼 git이 무시하게 하세요(저장소가 없으면 먼저 'git init')";
        NoSigningSandbox { why } => "명령이 서명 키를 읽을 수 있어 서명하지 않습니다({why})" / "사람이 --unsandboxed-signing으로 받아들일 수 있고, 그 사실이 증거에 남습니다. 아니면 Linux 5.13 이상을 쓰고, 키를 에이전트가 읽을 수 없는 곳에 두세요";
        StateInSandbox { root, folder } => "샌드박스 안의 에이전트가 {root}에 쓸 수 있는데, 그 안에 Bowline의 {folder}{이} 있습니다" / "더 아래 폴더에서 일하게 하거나 XDG_STATE_HOME을 바깥으로 정하세요";
        RootThroughLink { link, target } => "{link}{은} 에이전트가 쓰는 폴더 밖으로 나가는 링크입니다. {target}{으로} 이어집니다" / "링크를 지우거나, 정말 원한다면 이어지는 곳을 직접 적으세요";
        NotRelayed { what, reason } => "'{what}'{은} 샌드박스 안의 에이전트를 위해 실행되지 않습니다: {0}" [reason.say(Ko)] / "자기 폴더에서 일하고, 그 밖의 것은 함께 일하는 사람에게 부탁하세요";
        NoFolder { path } => "{path}{은} 폴더가 아니거나 지워졌습니다" / "있는 폴더로 가거나 폴더를 적으세요";
        OutputAfterEnd => "출력을 보여 줄 수 없습니다" / "에이전트는 끝났습니다. 나머지는 'bowline attach ID'로 볼 수 있습니다";
        OutputGone => "출력을 보여 줄 수 없습니다" / "에이전트는 계속 실행됩니다. 'bowline attach'로 목록을 볼 수 있습니다";
    }

    file_trouble: FileTrouble => with_hint {
        Locked { path, owner: who, waited_ms } => "{path}{이} 잠겨 있습니다. 잠근 쪽: {0} ({waited_ms} ms 기다림)" [describe_owner(who)] / "작업이 끝날 때까지 기다리세요. 이 파일을 쓰는 프로그램이 아니라면 잠금 파일을 지우세요";
        Permission { path, action } => "{path}{을} {0} 권한이 없습니다" [action.say(Ko)] / "파일과 폴더의 소유자와 권한을 확인하세요";
        DiskFull { path, action: _ } => "{path}{을} 쓸 공간이 없습니다" / "공간을 확보한 뒤 다시 실행하세요";
        NotRegular { path, what } => "{path}{은} 일반 파일이 아니라 {0}입니다" [what.say(Ko)] / "옮기거나 다른 경로를 지정하세요";
        TooBig { path, bytes, bytes_max } => "{path}{이} 너무 큽니다: {bytes}바이트, 한도는 {bytes_max}바이트" / "문서를 줄이세요";
        NotUtf8 { path, valid_bytes } => "{path}{은} UTF-8 글이 아닙니다(처음 잘못된 바이트: {valid_bytes})" / "위의 내용을 확인하세요";
        LinkLoop { path } => "{path}의 심볼릭 링크가 서로를 가리킵니다" / "링크가 파일을 가리키게 하세요";
        Contended { path, tries } => "쓰는 동안 다른 프로그램이 {path}{을} {tries}번 바꿨습니다" / "잠금 없이 이 파일을 쓰는 프로그램을 멈추세요";
        NeedsReplay { path } => "{path}에 그 프로그램만 적용할 수 있는 끝나지 않은 단계가 있습니다" / "위의 내용을 확인하세요";
        NoDocument { path } => "{path}{이} 없습니다. 단계를 확정하기 전에 먼저 써야 합니다" / "위의 내용을 확인하세요";
        StepsNotWritten { path } => "{path}에 확정되었으나 아직 쓰이지 않은 단계가 있습니다" / "위의 내용을 확인하세요";
        NoSuchVersion { path, seq } => "{path}의 저널에 변경 {seq}번이 없습니다" / "위의 내용을 확인하세요";
        NotRebuildable { path, seq } => "{path}{을} 변경 {seq}번 시점으로 다시 만들 수 없습니다" / "위의 내용을 확인하세요";
        NothingToRestore { path } => "{path}{을} 복구할 만한 것을 찾지 못했습니다" / "온전한 사본을 그 자리에 두거나, 옮겨 놓고 새로 시작하세요";
        Unfinished { path, seq } => "변경 {seq}번은 확정되었으나 {path}에는 아직 반영되지 않았습니다" / "명령을 되풀이하지 마세요. 다음 명령이 마무리합니다";
        Uncertain { path, seq } => "{path}의 변경 {seq}번이 확정되었는지 알 수 없습니다" / "되풀이하기 전에 'bowline history'를 확인하세요";
        EarlierUnfinished { path, seq } => "이전 명령의 변경 {seq}번을 {path}에 마저 쓸 수 없었습니다. 이번 명령은 아무것도 쓰지 않았습니다" / "막은 원인을 없애고 명령을 다시 실행하세요. 이전 변경을 먼저 마칩니다";
        Io { path, action } => "{path}{을} {0} 수 없습니다" [action.say(Ko)] / "위의 내용을 확인하세요";
        FileForFolder { path, action } => "{path}{을} {0} 수 없습니다" [action.say(Ko)] / "폴더가 있어야 할 자리에 파일이 있습니다. 옮기세요";
        Unknown { text: _ } => "상태 파일을 다룰 수 없습니다" / "위의 내용을 확인하세요";
    }

    agent_trouble: AgentTrouble => with_hint {
        Io { action, path } => "{path}{을} {0} 수 없습니다" [action.say(Ko)] / "디스크와 폴더의 소유자를 확인하세요";
        Relay { path } => "명령이 샌드박스 밖에서 실행되지 못했습니다 ({path})" / "다시 실행해 보고, 그래도 안 되면 함께 일하는 사람에게 알리세요";
        NoAttempt { path } => "{path}에 에이전트 실행 기록이 없습니다" / "'bowline attach'로 목록을 볼 수 있습니다";
        BadId { id } => "'{id}'{은} 에이전트 실행 ID로 쓸 수 없습니다" / "영문자, 숫자, '-', '_', '.'만 100자까지 쓰세요";
        AttemptExists { path } => "{path}에 이미 에이전트 실행 기록이 있습니다" / "새 에이전트 실행에는 새 ID를 쓰세요";
        NotStarted { attempt, why } => "에이전트 실행 {attempt}의 심(shim)이 시작되지 않았습니다: {0}" [why.say(Ko)] / "bowline 옆에 bowline-shim이 있는지 확인하세요";
        Unreachable { attempt } => "에이전트 실행 {attempt}의 심(shim)이 응답하지 않습니다" / "'bowline attach'로 끝났는지, 잃었는지 볼 수 있습니다";
        Protocol { attempt, said: _ } => "에이전트 실행 {attempt}의 심(shim)이 다른 규약을 씁니다" / "Bowline을 업데이트하세요";
        FencedOut { said: _ } => "더 새로운 소유자가 이 에이전트 실행을 맡았습니다" / "이제 다른 서버가 이 에이전트 실행을 맡고 있습니다";
        StaleGeneration { said: _ } => "그 사이에 더 새로운 지시가 있었습니다" / "상태를 다시 확인하고 결정하세요";
        InputFull { said: _ } => "에이전트가 아직 읽지 않은 입력이 너무 많습니다" / "에이전트가 읽은 뒤에 다시 보내세요";
        InputGap { said: _ } => "메시지 번호가 이어지지 않습니다" / "상태에 다음 번호가 있습니다";
        InputClosed { said: _ } => "에이전트가 더는 입력을 받지 않습니다" / "새 에이전트 실행을 시작하세요";
        NotRunning { said: _ } => "에이전트가 실행 중이 아닙니다" / "'bowline attach'로 어떻게 끝났는지 볼 수 있습니다";
        AgentPeer { said: _ } => "에이전트는 자신의 심(shim)을 조종할 수 없습니다" / "함께 일하는 사람에게 요청하세요";
        NoDescriptors { said } => "심(shim)이 파일을 더 열 수 없어 누가 요청하는지 알 수 없습니다: {said}" / "열 수 있는 파일 수(ulimit -n)를 늘리고 에이전트를 새로 시작하세요";
        BadRequest { said: _ } => "요청을 이해할 수 없습니다" / "Bowline을 업데이트하세요";
        Unsupported { said: _ } => "이 심(shim)은 중단 요청을 모르는 이전 버전입니다" / "에이전트를 끝내고 새로 시작하세요";
    }

    path_trouble: PathTrouble => with_hint {
        BadPath { path } => "'{path}'{은} 경로가 아닙니다" / "점으로 나눈 이름을 쓰세요. 예: shared_data.current_topic";
        NotFound { path } => "'{path}'에 값이 없습니다" / "마지막 부분을 빼면 무엇이 있는지 볼 수 있습니다";
        Protected { path } => "'{path}'{은} 바꿀 수 없습니다" / "Bowline이 직접 관리하는 값입니다";
        MustBeObject { path } => "'{path}'{은} 객체여야 합니다" / "그 안의 값을 하나씩 저장하세요";
        NoMembers { path } => "'{path}'{은} 안에 값을 담을 수 없는 값을 지나갑니다" / "더 짧은 경로를 쓰세요";
        NotAList { path } => "'{path}'{은} 목록이 아닙니다" / "다른 경로에 추가하거나 먼저 목록으로 저장하세요";
        TooLarge { path, bytes, max } => "'{path}'{이} {bytes}바이트가 됩니다. 최대 {max}바이트입니다" / "큰 값은 파일에 두고 경로만 저장하세요";
    }

    evidence_trouble: EvidenceTrouble => with_hint {
        Damaged { path, said: _ } => "{path}{은} 온전한 증거 파일이 아닙니다" / "개발 실행이 있는 곳에서 'bowline develop evidence export 파일 --key 파일'로 다시 쓰세요";
        Unsigned { what } => "서명이 없습니다: {0}" [what.say(Ko)] / "BOWLINE_EVIDENCE_KEY_FILE을 정하고 게이트를 통과한 뒤 'bowline develop evidence export 파일 --key 파일'을 실행하세요";
        Forged { what } => "이 키의 서명이 아닙니다: {0}" [what.say(Ko)] / "게이트를 통과할 때 쓴 키를 쓰세요. 같은 키라면 누군가 파일을 바꾼 것입니다";
        OtherRun { gate, found, run } => "게이트 '{gate}'의 증거는 '{run}'{이} 아니라 '{found}' 실행의 것입니다" / "한 실행의 증거를 내보내세요";
        OtherPolicy { changes } => "봉인한 것과 여기 있는 것이 다릅니다: {0}" [Change::join_all(changes, Ko)] / "사람이 여기 있는 것을 봉인하고 게이트를 다시 통과하세요";
        OtherTree { wanted, found } => "증거는 {wanted} 트리의 것이고 여기는 {found}입니다" / "확인된 커밋을 다른 파일 없이 체크아웃하거나 이 트리에서 마지막 게이트를 다시 통과하세요";
        NoTree { found } => "증거에 트리가 없고 여기는 {found}입니다" / "확인된 커밋을 다른 파일 없이 체크아웃하거나 이 트리에서 마지막 게이트를 다시 통과하세요";
    }
}
