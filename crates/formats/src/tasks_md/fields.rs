//! Parses the fields of a task (`**의존성**: T1.1`): on lines of their own, behind a title, or in
//! cells.

use super::id::{Shape, is_word_char, leading_id, leading_word, shape};

/// Maximum offset of the colon behind a field name.
const FIELD_NAME_BYTES_MAX: usize = 60;

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Assignee,
    Needs,
    /// A field that may name tasks and often names something else.
    Conditions,
    Beside,
    Status,
    Worktree,
    Touches,
    Title,
}

const FIELD_NAMES: [(&str, Field); 83] = [
    ("담당", Field::Assignee),
    ("담당자", Field::Assignee),
    ("담당 에이전트", Field::Assignee),
    ("담당에이전트", Field::Assignee),
    ("담당 전문가", Field::Assignee),
    ("전문가", Field::Assignee),
    ("에이전트", Field::Assignee),
    ("수행자", Field::Assignee),
    ("실행 에이전트", Field::Assignee),
    ("assignee", Field::Assignee),
    ("assigned", Field::Assignee),
    ("assigned to", Field::Assignee),
    ("assigned agent", Field::Assignee),
    ("owner", Field::Assignee),
    ("agent", Field::Assignee),
    ("agents", Field::Assignee),
    ("specialist", Field::Assignee),
    ("의존성", Field::Needs),
    ("의존", Field::Needs),
    ("의존 관계", Field::Needs),
    ("의존관계", Field::Needs),
    ("의존 태스크", Field::Needs),
    ("의존 작업", Field::Needs),
    ("선행", Field::Needs),
    ("선행 작업", Field::Needs),
    ("선행작업", Field::Needs),
    ("선행 태스크", Field::Needs),
    ("선행태스크", Field::Needs),
    ("선행 task", Field::Needs),
    ("선행 tasks", Field::Needs),
    ("의존 task", Field::Needs),
    ("의존 tasks", Field::Needs),
    ("선수 작업", Field::Needs),
    ("선행 과제", Field::Needs),
    ("이전 작업", Field::Needs),
    ("이전 태스크", Field::Needs),
    ("task dependencies", Field::Needs),
    ("predecessors", Field::Needs),
    ("predecessor", Field::Needs),
    ("사전 작업", Field::Needs),
    ("depends upon", Field::Needs),
    ("depends on", Field::Needs),
    ("dependson", Field::Needs),
    ("dependencies", Field::Needs),
    ("dependency", Field::Needs),
    ("depends", Field::Needs),
    ("deps", Field::Needs),
    ("dep", Field::Needs),
    ("blocked by", Field::Needs),
    ("blockedby", Field::Needs),
    ("선행 조건", Field::Conditions),
    ("선행조건", Field::Conditions),
    ("전제 조건", Field::Conditions),
    ("전제조건", Field::Conditions),
    ("prerequisites", Field::Conditions),
    ("prerequisite", Field::Conditions),
    ("pre requisites", Field::Conditions),
    ("pre requisite", Field::Conditions),
    ("requires", Field::Conditions),
    ("needs", Field::Conditions),
    ("after", Field::Conditions),
    ("병렬", Field::Beside),
    ("병렬 가능", Field::Beside),
    ("병렬가능", Field::Beside),
    ("병렬 실행", Field::Beside),
    ("병렬 작업", Field::Beside),
    ("병렬 처리", Field::Beside),
    ("parallel", Field::Beside),
    ("parallel with", Field::Beside),
    ("can run in parallel with", Field::Beside),
    ("상태", Field::Status),
    ("진행 상태", Field::Status),
    ("진행상태", Field::Status),
    ("status", Field::Status),
    ("state", Field::Status),
    ("완료", Field::Status),
    ("완료 여부", Field::Status),
    ("worktree", Field::Worktree),
    ("git worktree", Field::Worktree),
    ("워크트리", Field::Worktree),
    ("touches", Field::Touches),
    ("수정 파일", Field::Touches),
    ("수정파일", Field::Touches),
];

/// Column headers in addition to the names above.
const COLUMN_NAMES: [(&str, Field); 14] = [
    ("title", Field::Title),
    ("제목", Field::Title),
    ("작업명", Field::Title),
    ("태스크명", Field::Title),
    ("내용", Field::Title),
    ("작업 내용", Field::Title),
    ("설명", Field::Title),
    ("이름", Field::Title),
    ("name", Field::Title),
    ("description", Field::Title),
    ("done", Field::Status),
    ("체크", Field::Status),
    ("진행", Field::Status),
    ("check", Field::Status),
];

/// Headers of id columns.
const ID_COLUMNS: [&str; 10] = [
    "id",
    "no",
    "번호",
    "task",
    "task id",
    "태스크",
    "태스크 id",
    "작업",
    "작업 id",
    "작업번호",
];

/// Values that mean "nothing".
const NONE_WORDS: [&str; 16] = [
    "없음",
    "없다",
    "해당없음",
    "해당",
    "무",
    "미정",
    "독립",
    "none",
    "no",
    "nothing",
    "nil",
    "null",
    "tbd",
    "na",
    "independent",
    "-",
];

/// Last words of role names, for assignees.
const ROLES: [&str; 14] = [
    "specialist",
    "agent",
    "engineer",
    "developer",
    "dev",
    "expert",
    "reviewer",
    "tester",
    "architect",
    "designer",
    "writer",
    "analyst",
    "manager",
    "lead",
];

/// Roles of one word. They count as an assignee only behind an em or en dash.
const LONE_ROLES: [&str; 8] = [
    "backend",
    "frontend",
    "fullstack",
    "devops",
    "qa",
    "백엔드",
    "프론트엔드",
    "프런트엔드",
];

/// Returns the field with this name.
fn by_name(name: &str) -> Option<Field> {
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    let name = name.split(['(', '（']).next().unwrap_or_default();
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    if name.is_empty() || name.len() > FIELD_NAME_BYTES_MAX {
        return None;
    }
    // `Dependencies / 의존성`: the same name in two languages.
    if let Some((one, other)) = name.split_once('/') {
        return by_name(one).filter(|field| by_name(other) == Some(*field));
    }
    let plain = |c: char| if matches!(c, '_' | '-') { ' ' } else { c };
    let wanted: String = name
        .chars()
        .map(plain)
        .flat_map(char::to_lowercase)
        .collect();
    let found = FIELD_NAMES.iter().find(|(known, _)| *known == wanted)?;
    Some(found.1)
}

/// Returns the field of a table column.
pub(super) fn of_column(head: &str) -> Option<Field> {
    let name = head.trim_matches(|c: char| !c.is_alphanumeric());
    let named = COLUMN_NAMES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known));
    by_name(head).or(named.map(|(_, field)| *field))
}

/// True if a table column holds ids.
pub(super) fn is_id_column(head: &str) -> bool {
    let name = head.trim_matches(|c: char| !c.is_alphanumeric());
    let known = |it: &str| name.eq_ignore_ascii_case(it);
    name.is_empty() && head.contains('#') || ID_COLUMNS.iter().any(|it| known(it))
}

/// Returns the field whose name is the whole text of a heading or cell.
pub(super) fn named(text: &str) -> Option<Field> {
    by_name(text.trim_end_matches([':', '：', ' ']))
}

/// Calls `found` for every field of a line, with its value.
pub(super) fn each<'a>(line: &'a str, mut found: impl FnMut(Field, &'a str)) {
    let line = line.trim_start_matches(['-', '*', '+', '>', ' ', '\t', '•']);
    // The list marker may have been the first star of a bold name.
    let line = line.trim();
    if let Some((field, value)) = at_start(line) {
        follow(field, value, &mut found);
    } else if let Some(value) = sentence(line) {
        found(Field::Conditions, value);
    }
}

/// Parses `Depends on T1.1 and T1.2` as a line of its own.
fn sentence(line: &str) -> Option<&str> {
    let phrases = ["depends on ", "depends upon ", "blocked by ", "needs "];
    let phrase = phrases.iter().find(|phrase| {
        let head = line.get(..phrase.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(phrase))
    })?;
    let value = line[phrase.len()..].trim_start();
    // With other words it is prose.
    let words = value.split(|c: char| !is_word_char(c));
    let mut words = words.map(|word| word.trim_end_matches('.'));
    let id = |word: &str| shape(word) == Some(Shape::Strong);
    let fits = |word: &str| word.is_empty() || id(word) || matches!(word, "and" | "or");
    words.all(fits).then_some(value)
}

/// Reports a field and those that follow it on the same line.
fn follow<'a>(field: Field, value: &'a str, found: &mut impl FnMut(Field, &'a str)) {
    let (mut field, mut value, mut from) = (field, value, 0);
    while let Some((at, next, rest)) = next_field(value, from) {
        if let Some((second, behind)) = at_start(rest) {
            found(field, tidy(&value[..at]));
            (field, value, from) = (second, behind, 0);
        } else {
            from = next;
        }
    }
    found(field, tidy(value));
}

fn tidy(value: &str) -> &str {
    value.trim_matches(|c: char| c.is_whitespace() || "|,;/·".contains(c))
}

/// Finds the next position at which another field may begin: the end of the text before it, the
/// position to continue from, and its text.
fn next_field(text: &str, from: usize) -> Option<(usize, usize, &str)> {
    let found = text[from..].char_indices().find(|(at, c)| {
        let hyphen = || text[..from + at].ends_with(' ') && text[from + at..].starts_with("- ");
        "|,;/·(（[{—–→*".contains(*c) || *c == '-' && hyphen()
    });
    let (at, c) = found.map(|(at, c)| (from + at, c))?;
    if c == '*' {
        let stars = text[at..].bytes().take_while(|byte| *byte == b'*').count();
        return Some((at, at + stars, &text[at..]));
    }
    let next = at + c.len_utf8();
    Some((at, next, text[next..].trim_start()))
}

/// Parses `name: value`. The name may be bold, with the colon inside or outside.
fn at_start(text: &str) -> Option<(Field, &str)> {
    if is_quoted(text) {
        return None;
    }
    if let Some(found) = without_colon(text) {
        return Some(found);
    }
    let colon = text
        .char_indices()
        .take_while(|(at, _)| *at < FIELD_NAME_BYTES_MAX)
        .find(|(_, c)| matches!(c, ':' | '：'))?;
    let (name, value) = (&text[..colon.0], &text[colon.0 + colon.1.len_utf8()..]);
    let field = by_name(name)?;
    // `http://` and `agent::new` are not fields.
    if value.starts_with([':', '/']) {
        return None;
    }
    Some((field, value.trim_start().trim_start_matches("**").trim()))
}

/// True if a text begins with a code span of a name and value and continues: it mentions a field.
fn is_quoted(text: &str) -> bool {
    let Some((code, rest)) = text.strip_prefix('`').and_then(|it| it.split_once('`')) else {
        return false;
    };
    let field = code.find([':', '：']).is_some_and(|at| at + 1 < code.len());
    field && rest.contains(|c: char| c.is_alphanumeric() || c == '→')
}

/// Parses `**의존성** T1.1` and `의존성 — T1.1`: a name in bold or before a dash, followed by a value
/// that fits the field.
fn without_colon(text: &str) -> Option<(Field, &str)> {
    // The stars before it may have been taken for the marker of a list.
    let bare = text.strip_prefix("**").unwrap_or(text);
    let near = bare.char_indices().map(|(at, _)| at);
    let mut near = near.take_while(|at| *at < FIELD_NAME_BYTES_MAX);
    let ends = |at: &usize| {
        ["**", " - ", " — ", " – "]
            .iter()
            .any(|it| bare[*at..].starts_with(it))
    };
    let (name, value) = bare.split_at(near.find(ends)?);
    // The value is examined only behind a known name, because it may be long.
    let field = by_name(name).filter(|_| !name.ends_with([':', '：']))?;
    let value = value.trim_start_matches("**").trim_start();
    if value.starts_with([':', '：']) {
        return None;
    }
    let value = value.trim_start_matches(['-', '—', '–', ' ']);
    let word = value.trim_start_matches(['`', '[', '*', '@']);
    let fits = match field {
        Field::Needs | Field::Beside => shape(leading_id(word)) == Some(Shape::Strong),
        Field::Assignee => is_role(value) || value.starts_with(['`', '@']) && !word.is_empty(),
        _ => false,
    };
    fits.then_some((field, value))
}

/// A title, and the fields behind it.
pub(super) struct Titled<'a> {
    pub(super) title: &'a str,
    pub(super) fields: Vec<(Field, &'a str)>,
}

/// Splits the text behind an id into its title and the fields behind it.
pub(super) fn titled(text: &str) -> Titled<'_> {
    let mut fields = Vec::new();
    let text = match who_at_end(text) {
        Some((kept, who)) => {
            fields.push((Field::Assignee, who));
            kept
        }
        None => text,
    };
    let mut title = text;
    if let Some(at) = text.find(['←', '⬅']) {
        let needs = text[at..].trim_start_matches(|c: char| !c.is_alphanumeric() && c != '(');
        let end = behind(needs, &mut fields);
        fields.push((Field::Needs, &needs[..end]));
        title = &text[..at];
    }
    let end = behind(title, &mut fields);
    let mut title =
        title[..end].trim_end_matches([' ', '\t', '-', '—', '–', '→', '|', '·', ',', '/', '(']);
    if !fields.iter().any(|(field, _)| *field == Field::Assignee)
        && let Some((kept, who)) = who_at_end(title)
    {
        fields.push((Field::Assignee, who));
        title = kept;
    }
    // Bold that began before the id ends here.
    if title.matches("**").count() % 2 == 1 {
        title = title.strip_suffix("**").unwrap_or(title);
    }
    Titled { title, fields }
}

/// Collects the fields behind a text, and returns the end of the text before them.
fn behind<'a>(text: &'a str, fields: &mut Vec<(Field, &'a str)>) -> usize {
    let mut from = 0;
    while let Some((at, next, rest)) = next_field(text, from) {
        if let Some((field, value)) = at_start(rest) {
            let value = value.trim_end_matches([')', '）', ']', '}', ' ']);
            follow(field, value, &mut |field, value| {
                let open = value.matches(['(', '（']).count();
                let close = value.matches([')', '）']).count();
                let value = if close > open {
                    value.trim_end_matches([')', '）'])
                } else {
                    value
                };
                fields.push((field, value));
            });
            return at;
        }
        if let Some(value) = in_words(rest) {
            fields.push((Field::Conditions, value));
            return at;
        }
        from = next;
    }
    text.len()
}

/// Parses `depends on T1.1`, `T1.1 의존` and `after T1.1` without a colon.
fn in_words(text: &str) -> Option<&str> {
    let near = text
        .char_indices()
        .nth(48)
        .map_or(text, |(end, _)| &text[..end]);
    let head = near.to_ascii_lowercase();
    // The last three have other meanings as well: an id must follow.
    for (phrase, least) in [
        ("depends on ", None),
        ("depends: ", None),
        ("blocked by ", None),
        ("requires ", Some(Shape::Strong)),
        ("needs ", Some(Shape::Strong)),
        ("after ", Some(Shape::Strong)),
    ] {
        if head.starts_with(phrase) {
            let value = text[phrase.len()..].trim_end_matches([')', ']', ' ']);
            let word = value.trim_start_matches([' ', '`', '*', '[']);
            return (shape(leading_id(word)) >= least).then_some(value);
        }
    }
    let close = near.find([')', '）', ']'])?;
    let inside = text[..close].trim_end();
    let needs = ["의존", "이후", "완료 후", "필요"]
        .iter()
        .any(|word| inside.ends_with(word));
    let id = leading_id(inside);
    (needs && shape(id) == Some(Shape::Strong)).then_some(inside)
}

/// Splits the assignee from the end of a title: behind a dash, in code marks, or both.
fn who_at_end(title: &str) -> Option<(&str, &str)> {
    if let Some(inner) = title.strip_suffix('`') {
        // For `a` + `b`, starts at the first code mark of the joined names.
        let mut start = inner.rfind('`')?;
        while let Some(before) = title[..start].trim_end().strip_suffix(['+', '&', ','])
            && let Some(inner) = before.trim_end().strip_suffix('`')
            && let Some(first) = inner.rfind('`')
        {
            start = first;
        }
        let kept = title[..start].trim_end();
        let dashed = kept.trim_end_matches(['-', '—', '–', '|', '@', '(', ' ', '→', ':']);
        let fits = |name: &str| {
            let roles = is_role(name);
            roles || (dashed.len() < kept.len() && is_plain_name(name))
        };
        let names = title[start..]
            .split(['+', '&', ','])
            .map(|it| it.trim_matches([' ', '`', '[', ']']));
        return (!dashed.is_empty() && names.clone().all(fits))
            .then_some((dashed, &title[start..]));
    }
    let (at, sign) = ["—", "–", " - ", "@", "|", "(", "["]
        .into_iter()
        .filter_map(|sign| title.rfind(sign).map(|at| (at, sign)))
        .max()?;
    let (kept, tail) = (&title[..at], &title[at + sign.len()..]);
    let tail = tail.trim_matches([' ', ')', ']', '*', '_']);
    let lone = |name: &str| {
        matches!(sign, "—" | "–") && LONE_ROLES.iter().any(|it| name.eq_ignore_ascii_case(it))
    };
    let mut names = tail.split(['+', '&', ',', '/']).map(str::trim);
    (!kept.trim().is_empty() && names.all(|name| is_role(name) || lone(name))).then(|| {
        (
            kept.trim_end_matches([' ', '—', '–', '-', '(', '[', '|']),
            tail,
        )
    })
}

fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || matches!(it, b'-' | b'_'))
}

fn is_role(name: &str) -> bool {
    if name.len() >= 48 {
        return false;
    }
    let last = name
        .rsplit(['-', '_', ' '])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.');
    name.len() > last.len() && name.chars().all(plain) && ROLES.contains(&last.as_str())
}

/// Returns the names in an assignee field, without code marks, `@` and a remark in parentheses.
pub(super) fn assignee(value: &str) -> Option<String> {
    let end = value.find(['(', '（', '|', '→']).unwrap_or(value.len());
    let name: String = value[..end]
        .chars()
        .filter(|c| !matches!(c, '`' | '*' | '@'))
        .collect();
    let name = name.trim_matches(|c: char| c.is_whitespace() || "[],;-—".contains(c));
    (name.contains(char::is_alphanumeric) && !is_none(name)).then(|| name.to_owned())
}

/// Returns the folder in a worktree field; `None` for paths that leave the project.
pub(super) fn worktree(value: &str) -> Option<&str> {
    let start = value.find('`').map_or(value, |at| &value[at + 1..]);
    let path = start
        .trim_start()
        .split(['`', ' ', '\t', '(', ','])
        .next()?;
    let path = path.trim_end_matches('/');
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let safe = !path.is_empty()
        && path.len() <= 200
        && path.chars().all(fits)
        && path.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !path.split('/').any(|part| part == "..");
    // The main checkout is not a worktree.
    (safe && !is_none(path) && !matches!(path, "main" | "master")).then_some(path)
}

/// Returns the paths that a task changes: separated by commas, or each in code marks.
pub(super) fn touches(value: &str) -> Vec<String> {
    let coded = value.contains('`');
    let parts = value.split(if coded { '`' } else { ',' }).enumerate();
    parts
        .filter(|(at, _)| !coded || at % 2 == 1)
        .map(|(_, part)| {
            part.trim()
                .trim_start_matches("./")
                .trim_end_matches(['*', '/'])
        })
        .filter(|path| !path.is_empty() && !is_none(path) && !path.starts_with('/'))
        .filter(|path| path.split('/').all(|part| part != ".."))
        .map(str::to_owned)
        .collect()
}

/// True if a value means "nothing".
pub(super) fn is_none(text: &str) -> bool {
    let slashed = text
        .get(..3)
        .is_some_and(|head| head.eq_ignore_ascii_case("n/a"));
    let word = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = leading_word(word).trim_end_matches('.');
    slashed
        || word.is_empty()
        || NONE_WORDS
            .iter()
            .any(|none| word.eq_ignore_ascii_case(none))
}
