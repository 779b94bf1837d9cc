//! What is found in plans, in Korean. These findings still come as English texts; they are to become messages of `words`.

/// English sentences and their Korean, `{}` where a value stands, in the same order in both.
const SENTENCES: &[(&str, &str)] = &[
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
];

/// A finding of a plan in Korean; as it is where nobody translated it.
pub(crate) fn translated(english: &str) -> String {
    let fits = |(pattern, korean): &(&str, &str)| Some(filled(korean, &holes(pattern, english)?));
    SENTENCES
        .iter()
        .find_map(fits)
        .unwrap_or_else(|| english.to_owned())
}

/// What stands in the holes of a pattern, if a text fits it.
fn holes<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut values = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let end = match parts.peek() {
            None => rest.strip_suffix(part)?.len(),
            Some(_) => rest.find(part)?,
        };
        values.push(&rest[..end]);
        rest = &rest[end + part.len()..];
    }
    rest.is_empty().then_some(values)
}

fn filled(korean: &str, values: &[&str]) -> String {
    let mut parts = korean.split("{}");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, value) in parts.zip(values) {
        text.push_str(value);
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_as_many_holes_in_both_languages() {
        for (english, korean) in SENTENCES {
            let count = |text: &str| text.matches("{}").count();
            assert_eq!(count(english), count(korean), "{english}");
        }
    }

    #[test]
    fn no_pattern_hides_a_later_one() {
        for (place, (english, _)) in SENTENCES.iter().enumerate() {
            let text = english.replace("{}", "7");
            let first = SENTENCES
                .iter()
                .position(|(pattern, _)| holes(pattern, &text).is_some());
            assert_eq!(first, Some(place), "{english}");
        }
    }
}
