//! 계획에서 찾은 것.

use crate::particle::*;

table! {
    in_plan: InPlan => text {
        NoTask => "파일에 작업이 없습니다";
        TooLarge { bytes, max } => "계획이 {bytes}바이트입니다. {max}바이트부터는 읽지 않습니다";
        Unclosed => "이 코드 블록이나 주석이 닫히지 않아 그 뒤를 읽지 못했습니다";
        UnreadMermaid => "다이어그램의 이 줄을 끝까지 이해하지 못했습니다";
        TooManyEdges { max } => "의존성이 {max}개가 넘어 나머지는 읽지 않았습니다";
        NoId { text } => "`{text}`에 체크박스는 있지만 작업 ID가 없어 작업으로 보지 않습니다";
        NamesNoTask { text, id } => "`{text}`: `{id}`의 의존성에 적혔지만 작업이 아닙니다";
        NamesPhase { id, own, phase } => "`{id}`(단계 {own})에 적힌 단계 {phase}{은} 순서를 만들지 않습니다";
        CouldBe { name, id, ids } => "`{name}`(작업 `{id}`){은} `{0}`일 수 있습니다" [ids.join("`, `")];
        OwnGroup { id, group } => "작업 `{id}`에 적힌 자기 묶음 `{group}`{은} 순서를 만들지 않습니다";
        NothingBeside { id, other } => "작업 `{id}`{과} 병렬이라는 `{other}`{이} 파일에 없습니다";
        NothingNeeded { id, other } => "작업 `{id}`에 필요한 `{other}`{이} 파일에 없습니다";
        NothingDrawn { id } => "다이어그램에 있는 `{id}`{이} 파일에 없습니다";
        Twice { id, line } => "작업 `{id}`{이} 이미 {line}번째 줄에 있어 이것은 읽지 않았습니다";
        NoBox { id } => "제목 `{id}`에는 이 계획의 작업들과 달리 체크박스가 없어 작업으로 보지 않습니다";
        OtherPhase { id, stated, told } => "`{id}`의 제목은 단계 {stated}, ID는 단계 {told}{이다}라고 합니다";
        PhaseAbove { id, around, told } => "작업 `{id}`{은} 단계 {around} 아래에 있고 그것을 따릅니다. ID는 단계 {told}{이다}라고 합니다";
        NoTitle { id } => "작업 `{id}`에 제목이 없습니다";
        OddBox { id, mark } => "작업 `{id}`의 체크박스에 `{mark}`{이} 있어 미완료로 봅니다";
        PhaseGap { phase, before } => "단계 {phase}{이} 단계 {before} 앞에 없습니다";
        PhasesGap { first, last, before } => "단계 {first}부터 {last}까지가 단계 {before} 앞에 없습니다";
        EmptyPhase { phase } => "단계 {phase}에 작업이 없습니다";
        NeedsLater { id, own, needed, phase } => "작업 `{id}`(단계 {own})에 필요한 `{needed}`{이} 더 나중 단계 {phase}에 있습니다";
        Circle { path } => "작업들이 서로를 기다립니다: {path}";
    }
}
