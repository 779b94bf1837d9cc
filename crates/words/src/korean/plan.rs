//! 계획에서 찾은 것.

use crate::particle::*;

table! {
    in_plan: InPlan => text {
        NoTask => "파일에 작업이 없습니다";
        OnlyBoxes { count, text } => "파일에 작업이 없습니다. ID가 없는 체크박스가 {count}개 있고 첫째는 `{text}`입니다. ID에는 `T1.1: {text}`처럼 숫자가 있어야 합니다";
        TooLarge { bytes, max } => "계획이 {bytes}바이트입니다. {max}바이트부터는 읽지 않습니다";
        Unclosed => "이 코드 블록이나 주석이 닫히지 않아 그 뒤를 읽지 못했습니다";
        UnreadMermaid => "다이어그램의 이 줄을 끝까지 이해하지 못했습니다";
        TooManyEdges { max } => "의존성이 {max}개가 넘어 나머지는 읽지 않았습니다";
        NoId { text } => "`{text}`에 체크박스는 있지만 작업 ID가 없어 작업으로 보지 않습니다";
        UnsureId { id } => "`{id}`에 체크박스는 있지만 이 계획에 비슷한 ID가 없어 작업으로 읽지 않았습니다";
        StruckOut { id } => "`{id}`에 취소선이 그어져 있어 작업으로 읽지 않았습니다";
        NamesNoTask { text, id } => "`{text}`: `{id}`의 의존성에 적혔지만 작업이 아닙니다";
        NamesPhase { id, own, phase } => "`{id}`(단계 {own})에 적힌 단계 {phase}{은} 순서를 만들지 않습니다";
        CouldBe { name, id, ids } => "`{name}`(작업 `{id}`){은} `{0}`일 수 있습니다" [ids.join("`, `")];
        OwnGroup { id, group } => "작업 `{id}`에 적힌 자기 묶음 `{group}`{은} 순서를 만들지 않습니다";
        NothingBeside { id, other } => "작업 `{id}`{과} 병렬이라는 `{other}`{이} 파일에 없습니다";
        NothingNeeded { id, other } => "작업 `{id}`에 필요한 `{other}`{이} 파일에 없습니다";
        NothingDrawn { id } => "다이어그램에 있는 `{id}`{이} 파일에 없습니다";
        Twice { id, line } => "작업 `{id}`{이} 이미 {line}번째 줄에 있어 이것은 읽지 않았습니다";
        NoBox { id } => "제목 `{id}`에는 이 계획의 작업들과 달리 체크박스가 없어 작업으로 보지 않습니다";
        OtherPhase { id, stated, id_phase } => "`{id}`의 제목은 단계 {stated}, ID는 단계 {id_phase}{이다}라고 합니다";
        PhaseAbove { id, around, id_phase } => "작업 `{id}`{은} 단계 {around} 아래에 있고 그것을 따릅니다. ID는 단계 {id_phase}{이다}라고 합니다";
        NoTitle { id } => "작업 `{id}`에 제목이 없습니다";
        OddBox { id, mark } => "작업 `{id}`의 체크박스에 `{mark}`{이} 있어 미완료로 봅니다";
        PhaseGap { phase, before } => "단계 {phase}{이} 단계 {before} 앞에 없습니다";
        PhasesGap { first, last, before } => "단계 {first}부터 {last}까지가 단계 {before} 앞에 없습니다";
        EmptyPhase { phase } => "단계 {phase}에 작업이 없습니다";
        NeedsLater { id, own, needed, phase } => "작업 `{id}`(단계 {own})에 필요한 `{needed}`{이} 더 나중 단계 {phase}에 있습니다";
        Circle { path } => "작업들이 서로를 기다립니다: {path}";
    }

    unplaced: Unplaced => text {
        NothingNeeded { id, other } => "`{id}`에 필요한 `{other}`{이} 없어 뺐습니다";
        NeedsItself { id } => "`{id}`{이} 자기 자신을 기다려 그 의존을 뺐습니다";
        NeedsLater { id, other } => "`{id}`에 필요한 `{other}`{이} 더 나중 단계에 있어 뺐습니다";
        OrderLeftOut { id, other } => "`{id}`{은} 위치상 `{other}` 다음이지만 서로를 기다리게 되어 뺐습니다";
        Renamed { was, id } => "`{was}`{은} 계획의 ID가 될 수 없어 여기서는 `{id}`입니다";
        IdTwice { id, new } => "`{id}`{이} 두 번 있어 둘째는 여기서 `{new}`입니다";
        NotATask { count } => "항목 {count}개는 작업이 아니어서 뺐습니다";
        DoneWithOpenParts { id, open } => "`{id}`{은} 완료지만 하위 작업 {open}개는 아닙니다. 둘 다 그대로 두었습니다";
        CountsAsDone { id, status } => "`{id}`{은} '{status}' 상태여서 아무것도 기다리지 않도록 체크했습니다";
        StatusInText { id, status } => "`{id}`의 상태 '{status}'{은} 계획에 표시가 없어 본문에 적었습니다";
        LinkInText { id, link, other } => "`{id}`{과} `{other}`의 관계({link}){은} 순서를 만들지 않아 본문에 적었습니다";
        Grouped { id, title, parts } => "`{id}`({title}){은} 다른 작업 {parts}개의 묶음이어서 작업이 아니라 계획 맨 위에 적었습니다";
        Deleted { id } => "`{id}`{은} 삭제된 것이어서 뺐습니다";
        LaterLineCounts { id, line } => "`{id}`{이} {line}번째 줄에 다시 있어 그것을 따릅니다";
        LineUnread { line } => "{line}번째 줄은 이슈가 아니어서 뺐습니다";
        LineWithoutId { line, text } => "{line}번째 줄에 체크박스는 있지만 ID가 없어 뺐습니다 ({text})";
        SaidAgain { id, line } => "`{id}`{이} {line}번째 줄에 다른 내용으로 다시 있어 처음 것을 따릅니다";
        FileUnread { name } => "{name}에 ID가 있는 머리말이 없어 뺐습니다";
        PutAway { name, files } => "{name}의 파일 {files}개를 뺐습니다";
        TitleInText { id } => "`{id}`의 제목은 다르게 읽힐 수 있어 본문에 온전히 적었습니다";
        Field { name, tasks } => "작업 {tasks}개의 {name}{은} 본문에 적었습니다";
        FieldLeftOut { name, tasks } => "작업 {tasks}개의 {name}{은} 뺐습니다";
        StatusesInText { count, status, ids } => "작업 {count}개의 상태 '{status}'{은} 계획에 표시가 없어 본문에 적었습니다 ({ids})";
        CountAsDone { count, status, ids } => "작업 {count}개의 상태가 '{status}'입니다. 기다리는 작업이 없도록 완료로 표시했습니다 ({ids})";
        ManyDeleted { count, ids } => "삭제된 작업 {count}개를 뺐습니다 ({ids})";
        LinksInText { count, link, ids } => "관계({link}) {count}개는 순서를 만들지 않아 작업 본문에 적었습니다 ({ids})";
        ManyRenamed { count, ids } => "이름 {count}개는 계획의 ID가 될 수 없어 바꿨습니다: {ids}";
        TitlesInText { count, ids } => "제목 {count}개는 다른 뜻으로 읽히므로 본문에 그대로 적었습니다 ({ids})";
        NeedsNotThere { count, ids } => "없는 작업을 가리키는 의존 {count}개를 뺐습니다 ({ids})";
        OrdersLeftOut { count, ids } => "순환이 생기는 순서 {count}개를 뺐습니다 ({ids})";
    }
}
