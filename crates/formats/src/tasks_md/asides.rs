//! Recognises headings that mention tasks or phases without defining any.

use super::head::{HeaderIds, TaskHeader, TitleSeparator};

/// Words that mark a heading as a remark about tasks rather than a title of a phase, wherever in
/// the heading they stand.
const ASIDE_ANYWHERE: [&str; 24] = [
    "의존성",
    "의존 관계",
    "dependency",
    "dependencies",
    "병렬",
    "parallel",
    "execution order",
    "실행 순서",
    "작업 순서",
    "구현 순서",
    "진행 순서",
    "완료 조건",
    "완료조건",
    "완료 기준",
    "완료기준",
    "done when",
    "definition of done",
    "acceptance criteria",
    "체크리스트",
    "checklist",
    "check list",
    "변경 이력",
    "범례",
    "legend",
];

/// Words that do so only at the end: `진행 현황` is a remark about tasks, `현황판 화면` is work.
const ASIDE_AT_END: [&str; 34] = [
    "그래프",
    "graph",
    "다이어그램",
    "diagram",
    "순서",
    "요약",
    "summary",
    "예시",
    "example",
    "examples",
    "위험",
    "위험 요소",
    "risk",
    "risks",
    "통계",
    "현황",
    "진행 상황",
    "진행상황",
    "진행률",
    "progress",
    "개요",
    "overview",
    "게이트",
    "gate",
    "gates",
    "점검",
    "목차",
    "contents",
    "이력",
    "changelog",
    "메모",
    "notes",
    "부록",
    "appendix",
];

/// Titles that turn an id heading into a remark about the task.
const NOTES: [&str; 14] = [
    "note",
    "notes",
    "메모",
    "참고",
    "참고 사항",
    "참고사항",
    "비고",
    "주의",
    "주의사항",
    "주의 사항",
    "회고",
    "retrospective",
    "요약",
    "summary",
];

/// True if a heading mentions tasks or phases without defining any. Text in brackets at its end is
/// ignored.
pub(super) fn is_aside(text: &str) -> bool {
    let bare = bare_heading(text);
    let anywhere = |word: &str| {
        let mut places = bare.match_indices(word);
        places.any(|(at, _)| is_whole(&bare, at, word))
    };
    ends_aside(text) || ASIDE_ANYWHERE.into_iter().any(anywhere)
}

/// True if the last word of a heading marks it as a remark: `Phase 1 - 완료 조건`, and not `Phase 1 -
/// Dependency injection`.
pub(super) fn ends_aside(text: &str) -> bool {
    let bare = bare_heading(text);
    let at_end = |word: &str| {
        let at = bare.len().checked_sub(word.len());
        bare.ends_with(word) && at.is_some_and(|at| is_whole(&bare, at, word))
    };
    let mut words = ASIDE_ANYWHERE.into_iter().chain(ASIDE_AT_END);
    words.any(at_end)
}

/// True if a heading without a box is a remark about tasks defined elsewhere: `T5 / T6 notes`, `T5
/// 참고`.
pub(super) fn is_about(named: &TaskHeader<'_>) -> bool {
    let alone = || {
        let title = bare_heading(named.title);
        NOTES.contains(&title.trim_start_matches(|c: char| !c.is_alphanumeric()))
    };
    let several = !matches!(named.names, HeaderIds::One(_));
    let said = named.separator == TitleSeparator::Space;
    said && (alone() || several && ends_aside(named.title))
}

/// Returns a heading in lower case without brackets at its end; empty for a long heading.
fn bare_heading(text: &str) -> String {
    let lower = match text.len() {
        0..200 => text.to_lowercase(),
        _ => String::new(),
    };
    let open = lower.rfind(['(', '（']).filter(|at| *at > 0);
    let bare = open.map_or(lower.as_str(), |at| &lower[..at]);
    bare.trim_end_matches(|c: char| !c.is_alphanumeric())
        .to_owned()
}

/// True if a word stands on its own at this position. Korean words may be joined to others.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric();
    !word.is_ascii()
        || !(text[..at].ends_with(letter) || text[at + word.len()..].starts_with(letter))
}
