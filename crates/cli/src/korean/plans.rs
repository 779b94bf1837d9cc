//! What is said about plans and the state files of orchestrations, in Korean.

/// English sentences and their Korean, `{}` where a value stands, in the same order in both.
pub(super) const SENTENCES: &[(&str, &str)] = &[
    ("the file holds no task", "파일에 작업이 없습니다"),
    (
        "the plan has {} bytes; at {} and more it is not read",
        "계획이 {}바이트입니다. {}바이트부터는 읽지 않습니다",
    ),
    (
        "this code fence or comment is never closed; nothing after it was read",
        "이 코드 블록이나 주석이 닫히지 않아 그 뒤를 읽지 못했습니다",
    ),
    (
        "this line of the diagram was not understood to its end",
        "다이어그램의 이 줄을 끝까지 이해하지 못했습니다",
    ),
    (
        "the plan has more than {} dependencies; the rest was not read",
        "의존성이 {}개가 넘어 나머지는 읽지 않았습니다",
    ),
    (
        "`{}` has a tick box but no task id; it is not a task",
        "`{}`에 체크박스는 있지만 작업 ID가 없어 작업으로 보지 않습니다",
    ),
    (
        "`{}` in the dependencies of `{}` names no task",
        "`{}`: `{}`의 의존성에 적혔지만 작업이 아닙니다",
    ),
    (
        "`{}` of phase {} names phase {}, which orders nothing",
        "`{}`(단계 {})이(가) 단계 {}을(를) 적었지만 순서가 생기지 않습니다",
    ),
    (
        "`{}` at task `{}` could be `{}`",
        "`{}`(작업 `{}`)은(는) `{}`일 수 있습니다",
    ),
    (
        "task `{}` names its own group `{}`, which orders nothing",
        "작업 `{}`이(가) 자기 묶음 `{}`을(를) 적었지만 순서가 생기지 않습니다",
    ),
    (
        "task `{}` may run beside `{}`, which is not in the file",
        "작업 `{}`과(와) 병렬이라는 `{}`이(가) 파일에 없습니다",
    ),
    (
        "task `{}` needs `{}`, which is not in the file",
        "작업 `{}`에 필요한 `{}`이(가) 파일에 없습니다",
    ),
    (
        "the diagram names `{}`, which is not in the file",
        "다이어그램에 있는 `{}`이(가) 파일에 없습니다",
    ),
    (
        "task `{}` is already on line {}; this one is not read",
        "작업 `{}`이(가) 이미 {}번째 줄에 있어 이것은 읽지 않았습니다",
    ),
    (
        "heading `{}` has no box, and the tasks of this plan have one; it is not a task",
        "제목 `{}`에는 이 계획의 작업들과 달리 체크박스가 없어 작업으로 보지 않습니다",
    ),
    (
        "the header of `{}` says phase {}, its id phase {}",
        "`{}`의 제목은 단계 {}, ID는 단계 {}이라고 합니다",
    ),
    (
        "task `{}` stands below phase {}, which counts; its id says phase {}",
        "작업 `{}`은(는) 단계 {} 아래에 있고 그것을 따릅니다. ID는 단계 {}이라고 합니다",
    ),
    ("task `{}` has no title", "작업 `{}`에 제목이 없습니다"),
    (
        "the box of task `{}` holds `{}`; it counts as not done",
        "작업 `{}`의 체크박스에 `{}`이(가) 있어 미완료로 봅니다",
    ),
    (
        "phase {} is missing before phase {}",
        "단계 {}이(가) 단계 {} 앞에 없습니다",
    ),
    (
        "phases {} to {} are missing before phase {}",
        "단계 {}부터 {}까지가 단계 {} 앞에 없습니다",
    ),
    ("phase {} has no task", "단계 {}에 작업이 없습니다"),
    (
        "task `{}` of phase {} needs `{}` of the later phase {}",
        "작업 `{}`(단계 {})에 필요한 `{}`이(가) 더 나중 단계 {}에 있습니다",
    ),
    (
        "tasks need each other in a circle: {}",
        "작업들이 서로를 기다립니다: {}",
    ),
    (
        "the file is older than {}; the first change brings it up to date",
        "{}보다 오래된 파일입니다. 처음 바꿀 때 새 형식이 됩니다",
    ),
    (
        "says no phase that is known; it is kept. Which phase is the run in?",
        "알 수 없는 단계 이름이라 그대로 두었습니다. 지금 어느 단계입니까?",
    ),
    (
        "some of its entries are no ids of tasks; it is kept as it is",
        "작업 ID가 아닌 항목이 있어 그대로 두었습니다",
    ),
    ("says no time", "시각이 없습니다"),
    ("is not a time", "시각이 아닙니다"),
    ("should be a time", "시각이어야 합니다"),
    (
        "the file is not about an orchestration",
        "오케스트레이션에 관한 파일이 아닙니다",
    ),
    ("'{}' is read as normal", "'{}'은(는) normal로 읽습니다"),
    ("{} is not UTF-8", "{}은(는) UTF-8이 아닙니다"),
    ("save it as UTF-8", "UTF-8로 저장하세요"),
    ("name a Markdown file", "Markdown 파일을 지정하세요"),
];
