//! 증거를 인정하지 않는 이유와 기준에 미치지 못하는 점.

use crate::Lang::Ko;
use crate::particle::*;

table! {
    change: Change => text {
        Changed { path } => "{path} (변경됨)";
        Removed { path } => "{path} (삭제됨)";
        Added { path } => "{path} (추가됨)";
        Uncommitted { path } => "{path} (커밋되지 않음)";
        LinkOut { path } => "{path} (트리 밖으로 나가는 링크)";
        Mounted { path } => "{path} (위에 마운트됨)";
        Tree => "작업 트리 (변경됨)";
        TreeSinceDone => "작업 트리 ('done'이 기록한 트리가 아님)";
        Seal => "개발 실행의 봉인";
        Rules => "bowline.toml의 규칙";
        NothingSealed => "봉인한 것은 없는데 bowline.toml에 명령이 있음";
        SealHash => "봉인의 내용이 해시와 맞지 않음";
        OtherSeal { gate } => "게이트 '{gate}'{을} 다른 봉인 아래에서 통과함";
    }

    doubt: Doubt => text {
        NoEvidence { gate } => "게이트 '{gate}'{이} 증거 없이 열려 있음";
        NotGreen { gate } => "게이트 '{gate}'의 증거가 통과한 것이 아님";
        OtherRun { gate } => "게이트 '{gate}'의 증거가 다른 개발 실행의 것임";
        NoSignature { gate } => "게이트 '{gate}'의 증거에 올바른 서명이 없음";
        GateClosed { gate, phase } => "{phase} 단계인데 게이트 '{gate}'{이} 닫혀 있음";
        NothingOpen => "열린 게이트가 없어 이 트리가 좋다는 증거가 없음";
        Is { change } => "{0}" [change.say(Ko)];
        Since { change } => "그 뒤에 바뀜: {0}" [change.say(Ko)];
    }

    shortfall: Shortfall => text {
        Below { what, value, needed } => "{0} {value} (기준 {needed})" [what.say(Ko)];
        Unmeasured { what, needed } => "{0} 측정되지 않음 (기준 {needed})" [what.say(Ko)];
    }

    measure: Measure => text {
        Named { name } => "{name}";
        Words { draft } => "{draft}의 단어 수";
    }

    signed: Signed => text {
        File { path } => "{path}";
        Evidence { gate } => "게이트 '{gate}'의 증거";
    }

    unrelayed: Unrelayed => text {
        NoSandbox => "명령을 보낸 샌드박스가 없습니다";
        NoVerb => "개발 실행의 기록을 바꾸는 에이전트의 명령이 아닙니다";
        OtherFolder => "에이전트가 쓸 수 없는 폴더에서 실행했습니다";
        Link { path } => "{path}{이} 링크입니다";
        Repair => "개발 실행은 샌드박스 밖에서 복구합니다";
    }
}
