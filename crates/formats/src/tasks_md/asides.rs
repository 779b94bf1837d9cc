//! Headings that talk about tasks or phases, and define none.

use super::head::{Named, Names, Separator};

/// Words of headings whose lists talk about tasks and define none, and that are no titles of phases, wherever in the heading they stand.
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

/// Words that say so only at the end: `진행 현황` is about tasks, `현황판 화면` is work.
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

/// Titles that make an id heading one about the task.
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

/// Whether a heading talks about tasks or phases and names none. What it says in brackets at its end does not matter.
pub(super) fn is_aside(text: &str) -> bool {
    let bare = bare(text);
    let anywhere = |word: &str| {
        let mut places = bare.match_indices(word);
        places.any(|(at, _)| is_whole(&bare, at, word))
    };
    ends_aside(text) || ASIDE_ANYWHERE.into_iter().any(anywhere)
}

/// Whether it does so with its last word: `Phase 1 - 완료 조건`, and not `Phase 1 - Dependency injection`.
pub(super) fn ends_aside(text: &str) -> bool {
    let bare = bare(text);
    let at_end = |word: &str| {
        let at = bare.len().checked_sub(word.len());
        bare.ends_with(word) && at.is_some_and(|at| is_whole(&bare, at, word))
    };
    let mut words = ASIDE_ANYWHERE.into_iter().chain(ASIDE_AT_END);
    words.any(at_end)
}

/// Whether a heading without a box is about tasks that others define: `T5 / T6 notes`, `T5 참고`.
pub(super) fn is_about(named: &Named<'_>) -> bool {
    let alone = || {
        let title = bare(named.title);
        NOTES.contains(&title.trim_start_matches(|c: char| !c.is_alphanumeric()))
    };
    let several = !matches!(named.names, Names::One(_));
    let said = named.separator == Separator::Space;
    said && (alone() || several && ends_aside(named.title))
}

/// The words of a heading without what stands in brackets at its end; of a long one, none.
fn bare(text: &str) -> String {
    let lower = match text.len() {
        0..200 => text.to_lowercase(),
        _ => String::new(),
    };
    let open = lower.rfind(['(', '（']).filter(|at| *at > 0);
    let bare = open.map_or(lower.as_str(), |at| &lower[..at]);
    bare.trim_end_matches(|c: char| !c.is_alphanumeric())
        .to_owned()
}

/// Whether a word stands on its own there. Korean words are joined to others as they please.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric();
    !word.is_ascii()
        || !(text[..at].ends_with(letter) || text[at + word.len()..].starts_with(letter))
}
