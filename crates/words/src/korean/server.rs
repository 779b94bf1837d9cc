//! 작업 서버가 거부하는 일: 내용 / 힌트.

use crate::Lang::Ko;
use crate::particle::*;

table! {
    server_no: ServerNo => with_hint {
        NoToken => "토큰이 필요합니다" / "서버의 토큰 파일 내용을 'Authorization: Bearer 토큰'으로 보내거나 'bowline serve'가 알려 준 링크로 로그인하세요";
        WrongToken => "서버의 토큰이 아닙니다" / "서버 데이터 폴더의 토큰 파일을 다시 읽으세요";
        ForeignHost { host } => "'{host}'{은} 이 서버의 이름이 아닙니다" / "'bowline serve'가 알려 준 주소를 쓰세요";
        TwoHosts => "요청에 호스트가 둘 있습니다" / "Host 헤더를 하나만 보내세요";
        ForeignOrigin { origin } => "'{origin}'의 페이지는 이 서버에 요청할 수 없습니다" / "서버의 페이지를 여세요";
        NeedsPerson { what: _ } => "사람만 할 수 있는 일입니다" / "함께 일하는 사람에게 요청하세요. 스크립트는 BOWLINE_ACTOR=person을 씁니다";
        NeedsAgent => "작업의 에이전트만 보고할 수 있습니다" / "에이전트 실행 중에 BOWLINE_AGENT_TOKEN_FILE의 토큰 파일을 쓰세요";
        NoRoute { path } => "{path}에는 아무것도 없습니다" / "GET /api/openapi.json에 목록이 있습니다";
        WrongMethod { method, allowed } => "{method}{은} 여기에 쓸 수 없습니다" / "{allowed}{을} 쓰세요";
        NoSuch { what, id } => "{0} '{id}'{이} 없습니다" [what.say(Ko)] / "목록에서 id를 확인하세요";
        NotInQuery { name, value } => "'{value}'{은} {name}에 쓸 수 없는 값입니다" / "쓸 수 있는 값은 GET /api/openapi.json에 있습니다";
        BadBody { fault } => "본문을 읽을 수 없습니다: {0}" [fault.say(Ko)] / "본문의 형식은 GET /api/openapi.json에 있습니다";
        BadTime { text } => "'{text}'{은} 시각이 아닙니다" / "2026-11-16T09:30:00Z처럼 적으세요";
        NotJson => "본문이 JSON이 아닙니다" / "'Content-Type: application/json'으로 보내세요";
        BodyTooBig { max } => "본문이 {max}바이트보다 큽니다" / "나누어 보내세요";
        TooSlow => "요청이 제때 도착하지 않았습니다" / "다시 보내세요";
        TooManyRequests { seconds } => "요청이 너무 많습니다" / "{seconds}초 뒤에 다시 요청하세요";
        TooManyConnections => "연결이 너무 많습니다" / "몇 개를 닫거나 잠시 뒤에 다시 연결하세요";
        Draining => "서버가 멈추는 중입니다" / "에이전트는 계속 실행됩니다. 서버가 돌아오면 다시 요청하세요";
        Starting => "서버가 시작하는 중입니다" / "잠시 뒤에 다시 요청하세요";
        DiskFull => "데이터 폴더가 있는 디스크에 남은 공간이 없어 아무것도 바꿀 수 없습니다" / "공간을 비우면 서버가 스스로 이어 갑니다";
        Exhausted => "파일 디스크립터나 메모리, 프로세스가 모자라 아무것도 바꿀 수 없습니다" / "다시 생기면 서버가 스스로 이어 갑니다";
        StoreDown => "저장소에 오류가 나서 다시 여는 중이라 아무것도 바꿀 수 없습니다" / "잠시 뒤에 다시 요청하세요. 이유는 서버의 로그에 있습니다";
        Changed { version } => "그 사이 작업이 바뀌었습니다. 지금 버전은 {version}입니다" / "다시 보고 결정하세요";
        RequestReused => "이 요청 id는 다른 요청에 쓰였습니다" / "요청마다 새 id를 쓰세요";
        UnknownType { name, known } => "'{name}' 유형은 없습니다" / "{known} 중 하나를 쓰세요";
        UnknownAgent { name, known } => "'{name}' 에이전트는 없습니다" / "{known} 중 하나를 쓰거나 bowline.toml에 추가하세요";
        EventGone { asked, oldest } => "이벤트 {asked} 뒤의 것은 남아 있지 않습니다. 가장 오래된 이벤트는 {oldest}입니다" / "목록을 다시 읽고 X-Sequence부터 들으세요";
        OutsideWorkspace { path } => "'{path}'{은} 작업 공간 안에 없습니다" / "산출물 목록의 경로를 쓰세요";
        TooBigToSend { bytes, max } => "{bytes}바이트입니다. 최대 {max}바이트까지 보냅니다" / "파일을 하나씩 받거나 작업 공간 폴더에서 복사하세요";
        DiffFailed { why } => "변경 내용을 표시할 수 없습니다: {why}" / "결정하기 전에 작업 공간 폴더의 파일을 확인하세요";
        NoSuchVerb { verb, known } => "'{verb}' 동사는 여기에 없습니다" / "{known} 중 하나를 쓰세요";
        VerbLacks { verb, field } => "'{verb}'에는 '{field}'{이} 필요합니다" / "본문에 추가하세요";
        NotOneOf { verb, field, value, known } => "'{value}'{은} '{verb}'의 '{field}'에 쓸 수 없습니다" / "{known} 중 하나를 쓰세요";
        LeadsOut { path } => "{path}{은} 작업 공간 밖으로 나가는 링크입니다" / "그 자리에 파일을 두거나, 파일이 있는 폴더를 작업 공간으로 여세요";
        Cycle { path } => "작업들이 서로를 기다리게 됩니다: {path}" / "의존성 하나를 빼세요";
        WorkspaceMissing { path } => "작업 폴더 {path}{이} 없습니다" / "먼저 폴더를 만들거나 다른 폴더를 적으세요";
        WorkspaceNotAFolder { path } => "작업 폴더 {path}{은} 폴더가 아닙니다" / "폴더를 적으세요";
        WorkspaceHoldsData { path } => "작업 폴더 {path} 안에 서버의 데이터 폴더가 있습니다" / "다른 폴더를 적으세요. 에이전트가 서버의 파일에 닿으면 안 됩니다";
        WorkspaceInsideData { path } => "작업 폴더 {path}{은} 서버의 데이터 폴더 안에 있습니다" / "그 밖의 폴더를 적거나 비워 두세요. 비우면 작업마다 폴더가 생깁니다";
        ProtectedName { name } => "환경 변수 '{name}'{은} 보호됩니다" / "다른 이름으로 값을 요청하세요";
        BadValue { fault } => "쓸 수 없는 값입니다: {0}" [fault.say(Ko)] / "다른 값을 주세요";
        NearMiss { answer, suggestion } => "'{answer}'{은} 선택지에 없습니다" / "'{suggestion}'{을} 말씀하시나요?";
        Internal => "서버 안에서 오류가 났습니다" / "서버의 로그를 보세요";
    }

    serve_trouble: ServeTrouble => with_hint {
        CannotListen { address, cause } => "{address}에서 들을 수 없습니다: {0}" [cause.say(Ko)] / "--listen으로 다른 주소를 고르세요. 예: 127.0.0.1:0";
        BadAddress { address } => "'{address}'{은} 들을 수 있는 주소가 아닙니다" / "127.0.0.1:7420처럼 적으세요";
        NotAFolder { path } => "{path}{은} 폴더가 아닙니다" / "있는 폴더를 적으세요";
        File { path, cause } => "{path}: {0}" [cause.say(Ko)] / "권한을 확인하거나 --data로 다른 폴더를 고르세요";
        OpenToOthers { path } => "{path}{을} 다른 사용자가 읽을 수 있습니다" / "chmod 600 {path}{을} 실행하거나, 지워서 새로 만들게 하세요";
        AlreadyServing { path } => "다른 서버가 {path}{을} 쓰고 있습니다" / "그 서버를 멈추거나 --data로 다른 폴더를 고르세요";
        Store { cause } => "저장소를 열 수 없습니다: {0}" [cause.say(Ko)] / "쓰고 있는 다른 프로세스를 멈추거나 '--data 폴더'로 다른 곳을 지정하세요. 복사본을 되돌려 놓을 수도 있습니다";
        StoreDamaged { path, why } => "저장소 {path}{이} 손상되었습니다: {why}" / "백업을 그 자리에 두거나 'bowline serve --rebuild'로 시작하세요. 손상된 파일은 따로 옮겨 두고 작업은 폴더에서 다시 찾습니다";
        StoreLost { path, tasks } => "저장소 {path}{이} 비었거나 없는데, 작업 {tasks}개의 폴더가 있습니다" / "백업을 그 자리에 두거나, 'bowline serve --rebuild'로 작업을 다시 찾거나, '--start-empty'로 작업 없이 시작하세요";
        FileThere { path } => "{path}{이} 이미 있습니다" / "없는 파일 이름을 적으세요";
        BadConfig { path, fault } => "{path}{을} 쓸 수 없습니다: {0}" [fault.say(Ko)] / "형식은 'bowline schema config'에 있습니다";
        BadStore { url } => "'{url}'{은} 이 프로그램이 아는 저장소가 아닙니다" / "sqlite:경로를 쓰세요";
        Unreachable { place, cause } => "{place}에서 응답하는 서버가 없습니다: {0}" [cause.say(Ko)] / "'bowline serve'로 시작하거나 --server와 --token-file로 지정하세요";
        BadAnswer { place } => "{place}에서 응답하는 것은 Bowline 서버가 아닙니다" / "--server와 --token-file로 지정하세요";
    }

    job_no: JobNo => with_hint {
        NotAllowed { command: _, task, agent, allowed } => "지금은 할 수 없습니다. 작업 상태: {0}, 에이전트 상태: {1}" [task.say(Ko), agent.say(Ko)] / "지금 할 수 있는 일: {allowed}";
        CancelInReview => "리뷰 중에는 취소할 수 없습니다" / "변경을 요청한 뒤 취소하세요";
        Incomplete { missing } => "작업에 빠진 것이 있습니다: {missing}" / "{missing}{을} 채우고 다시 제출하세요";
        ScheduledLater => "나중으로 예약된 작업입니다" / "그 시각까지 기다리세요";
        WaitingForTasks { tasks } => "작업이 {tasks}{을} 기다립니다" / "그 작업이 완료되면 저절로 시작합니다";
        WorkspaceBusy { by } => "작업 '{by}'{이} 작업 폴더를 쓰고 있습니다" / "'{by}'{이} 완료, 실패 또는 취소될 때까지 기다리세요";
        Stale => "더 새로운 실행이 있습니다" / "할 일이 없습니다";
        Unknown { what, id } => "여기에는 {0} '{id}'{이} 없습니다" [what.say(Ko)] / "작업이 요청한 것의 목록을 보세요";
        Settled { what, id, status: _ } => "{0} '{id}'{은} 이미 처리되었습니다" [what.say(Ko)] / "할 일이 없습니다";
        Empty { what } => "{0}{이} 비어 있습니다" [what.say(Ko)] / "{0}{을} 적으세요" [what.say(Ko)];
        NotAnOption { answer, options } => "'{answer}'{은} 선택지에 없습니다" / "{options} 중에서 답하세요";
        QuestionRequired { id } => "질문 '{id}'{은} 꼭 답해야 합니다" / "답하거나 작업을 취소하세요";
        NotDue => "사용 한도가 아직 풀리지 않았습니다" / "기다리거나 직접 재개하세요";
        TooManyWaiting => "기다리는 표시가 너무 많습니다" / "에이전트가 계속하면 다시 보내세요";
        NoSuchPhase { phase, total } => "{phase}단계의 체크포인트입니다. 이 작업에는 {total}단계가 있습니다" / "이 작업의 체크포인트를 고르세요";
        AlreadyRetried { by } => "이미 '{by}'{으로} 다시 시도했습니다" / "'{by}'{을} 보세요";
        DependedOn { tasks } => "다른 작업이 이 작업에 의존합니다: {tasks}" / "먼저 {tasks}{을} 지우세요";
    }
}

table! {
    task_output: TaskOutput => text {
        PageOnce => "페이지 (한 번 쓰는 링크):";
        OtherTerminal => "다른 터미널에서:";
        NothingLost => "  (아무것도 잃지 않습니다. 에이전트는 계속 실행됩니다)";
        AllHappened => "모두 제대로 되었습니다";
        WouldServe => "(시험 실행) 데이터 폴더:";
        SignInOnce => "한 번 쓸 수 있는 로그인 링크:";
        WouldMakeTask => "(시험 실행) 작업을 만듭니다";
        WouldDo { action, task } => "(시험 실행) {task}: {action}";
        Removed => "삭제됨";
        NoLimit { part } => "'{part}'{은} 한도가 아닙니다";
        ValueUnseen => "값 (보이지 않음): ";
        NoValue => "값이 없습니다";
        ValueByInput => "표준 입력으로 주세요";
        NeedsYou => "확인 필요:";
        NoTasks => "작업이 없습니다";
        NothingWaits => "기다리는 일이 없습니다";
        Type => "유형";
        Folder => "폴더";
        Step => "단계";
        Checkpoint => "체크포인트";
        LastOutput => "마지막 출력";
        WaitsFor => "기다리는 작업";
        BackedUp { path } => "{path}{을} 썼습니다. 데이터 폴더의 'key' 파일도 함께 보관하세요";
        WouldBackUp { path } => "{path}{을} 쓸 것입니다";
        HoldsWorkspace { task } => "{task} (작업 폴더를 쓰고 있음)";
        Failed => "실패";
        Asks => "질문";
        Needs => "필요";
        InReview => "리뷰";
        AllowedNow => "지금 할 수 있는 일";
        Phase => "단계";
        Spend => "사용량";
        Spent { tokens, usd } => "토큰 {tokens}개{usd}";
        WantsLeave => "도구 사용 요청";
        HiddenRest { lines, characters, task } => "+{lines}줄, +{characters}자: bowline task show {task}";
        Changes { files, added, removed } => "변경된 파일 {files}개, +{added} −{removed}줄";
        DeletedFile { path } => "삭제: {path}";
        MoreFiles { count } => "외 {count}개";
        NoRules => "규칙이 없습니다";
        RulePast { answers, asked, differs, waiting } => "지금까지의 도구 요청 {asked}건 중 {answers}건에 이 규칙이 답했을 것입니다. 사람의 답과 다른 것 {differs}건, 지금 기다리는 것 {waiting}건";
        RebuiltGoesOn { id, title, phase } => "{id} ({title}): 마지막 체크포인트에서 {phase}단계를 이어 갑니다";
        RebuiltCold { id, title, phase } => "{id} ({title}): 체크포인트가 없어 {phase}단계부터 시작합니다";
        RebuiltKept { id, title, status } => "{id} ({title}): 상태 그대로입니다 ({status})";
        RebuiltNot { id, why } => "{id}{을} 되찾지 못했습니다: {why}";
        RebuiltAll { count, lost } => "작업 {count}개를 되찾았고 {lost}개는 되찾지 못했습니다. 제공했던 값은 다시 요청합니다";
        AgentReady => "준비됨";
        AgentDefault => "작업에 에이전트가 없을 때 쓰입니다";
        AgentMissing { program } => "'{program}'{이} 이 컴퓨터에 없습니다";
        AgentInstall { program } => "{program}{을} 설치하거나 bowline.toml에 다른 프로그램을 적으세요";
        AgentUnsure => "버전을 알려 주지 않습니다";
        CapsuleMade { path, moves, bytes } => "{path}: 전이 {moves}개, 출력 {bytes}바이트";
        CapsuleOf { version, made } => "Bowline {version}, {made}에 만듦";
        CapsuleBroken { sequence } => "전이 #{sequence}{이} 앞의 전이와 이어지지 않습니다";
        CapsuleWhole { moves } => "전이 {moves}개가 모두 이어집니다";
        NoCapsule { path } => "{path}{은} 캡슐이 아닙니다";
        FoundAgain { title, status, starts } => "{title}: 그대로입니다 ({status}). 시작한 에이전트 수: {starts}";
        OfferToDie => "k와 Enter: 이 서버는 kill -9처럼 바로 죽고, 남은 것을 이어받습니다";
        GardenDone => "옆의 오케스트레이션도 끝났습니다";
        MakeCapsule => "'bowline capsule 작업'으로 만드세요";
        BadField { text } => "'{text}'{은} 필드=패턴 꼴이 아닙니다";
        HoldsSecret => "  비밀 값이 들어 있어 ZIP에서 빠집니다";
    }
}

table! {
    server_thing: ServerThing => text {
        Task => "작업";
        Review => "리뷰";
        Question => "질문";
        Dependency => "의존성";
        Permission => "권한 요청";
        Rule => "규칙";
        Message => "메시지";
        Checkpoint => "체크포인트";
        Verification => "검증";
        App => "실행할 앱";
        Action => "버튼";
        Workspace => "작업 공간";
        Artifact => "산출물";
        StateFile => "상태 파일";
        Feedback => "피드백";
        Answer => "답";
        PhaseList => "단계 목록";
    }

    value_fault: ValueFault => text {
        Empty => "비어 있습니다";
        Nul => "NUL 문자가 있습니다";
        TooLong { max } => "{max}자를 넘습니다";
        ApiKeyCharacters => "API 키에는 영문자, 숫자, '_', '-'만 쓸 수 있습니다";
        ApiKeyTooShort { min } => "API 키는 {min}자 이상이어야 합니다";
        NotAnAddress => "서비스는 http://나 https://로 시작하는 주소입니다";
        PathClimbs => "파일 경로에 '..'이 있으면 안 됩니다";
        NotAPermission => "권한은 true, false, yes, no 가운데 하나입니다";
        NotAPackage => "패키지는 left-pad나 @scope/left-pad처럼 소문자 이름입니다";
    }

    body_fault: BodyFault => text {
        Json { line, column, said: _ } => "{line}번째 줄 {column}번째 글자까지의 내용이 형식에 맞지 않습니다";
        Count { name, count, max } => "{name}{은} 1개부터 {max}개까지인데 {count}개입니다";
        TooLong { name, max } => "{name}{이} {max}자를 넘습니다";
        RuleShape { max } => "규칙에는 도구의 이름과 {max}개까지의 필드가 있어야 합니다";
    }
}
