//! Parses the fields of a task (`**의존성**: T1.1`): on lines of their own, behind a title, or in
//! cells.

use super::id::{IdCertainty, id_certainty, is_word_char, leading_id, leading_word};

/// Maximum offset of the colon behind a field name.
const FIELD_NAME_BYTES_MAX: usize = 60;

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanField {
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

const FIELD_NAMES: [(&str, PlanField); 83] = [
    ("담당", PlanField::Assignee),
    ("담당자", PlanField::Assignee),
    ("담당 에이전트", PlanField::Assignee),
    ("담당에이전트", PlanField::Assignee),
    ("담당 전문가", PlanField::Assignee),
    ("전문가", PlanField::Assignee),
    ("에이전트", PlanField::Assignee),
    ("수행자", PlanField::Assignee),
    ("실행 에이전트", PlanField::Assignee),
    ("assignee", PlanField::Assignee),
    ("assigned", PlanField::Assignee),
    ("assigned to", PlanField::Assignee),
    ("assigned agent", PlanField::Assignee),
    ("owner", PlanField::Assignee),
    ("agent", PlanField::Assignee),
    ("agents", PlanField::Assignee),
    ("specialist", PlanField::Assignee),
    ("의존성", PlanField::Needs),
    ("의존", PlanField::Needs),
    ("의존 관계", PlanField::Needs),
    ("의존관계", PlanField::Needs),
    ("의존 태스크", PlanField::Needs),
    ("의존 작업", PlanField::Needs),
    ("선행", PlanField::Needs),
    ("선행 작업", PlanField::Needs),
    ("선행작업", PlanField::Needs),
    ("선행 태스크", PlanField::Needs),
    ("선행태스크", PlanField::Needs),
    ("선행 task", PlanField::Needs),
    ("선행 tasks", PlanField::Needs),
    ("의존 task", PlanField::Needs),
    ("의존 tasks", PlanField::Needs),
    ("선수 작업", PlanField::Needs),
    ("선행 과제", PlanField::Needs),
    ("이전 작업", PlanField::Needs),
    ("이전 태스크", PlanField::Needs),
    ("task dependencies", PlanField::Needs),
    ("predecessors", PlanField::Needs),
    ("predecessor", PlanField::Needs),
    ("사전 작업", PlanField::Needs),
    ("depends upon", PlanField::Needs),
    ("depends on", PlanField::Needs),
    ("dependson", PlanField::Needs),
    ("dependencies", PlanField::Needs),
    ("dependency", PlanField::Needs),
    ("depends", PlanField::Needs),
    ("deps", PlanField::Needs),
    ("dep", PlanField::Needs),
    ("blocked by", PlanField::Needs),
    ("blockedby", PlanField::Needs),
    ("선행 조건", PlanField::Conditions),
    ("선행조건", PlanField::Conditions),
    ("전제 조건", PlanField::Conditions),
    ("전제조건", PlanField::Conditions),
    ("prerequisites", PlanField::Conditions),
    ("prerequisite", PlanField::Conditions),
    ("pre requisites", PlanField::Conditions),
    ("pre requisite", PlanField::Conditions),
    ("requires", PlanField::Conditions),
    ("needs", PlanField::Conditions),
    ("after", PlanField::Conditions),
    ("병렬", PlanField::Beside),
    ("병렬 가능", PlanField::Beside),
    ("병렬가능", PlanField::Beside),
    ("병렬 실행", PlanField::Beside),
    ("병렬 작업", PlanField::Beside),
    ("병렬 처리", PlanField::Beside),
    ("parallel", PlanField::Beside),
    ("parallel with", PlanField::Beside),
    ("can run in parallel with", PlanField::Beside),
    ("상태", PlanField::Status),
    ("진행 상태", PlanField::Status),
    ("진행상태", PlanField::Status),
    ("status", PlanField::Status),
    ("state", PlanField::Status),
    ("완료", PlanField::Status),
    ("완료 여부", PlanField::Status),
    ("worktree", PlanField::Worktree),
    ("git worktree", PlanField::Worktree),
    ("워크트리", PlanField::Worktree),
    ("touches", PlanField::Touches),
    ("수정 파일", PlanField::Touches),
    ("수정파일", PlanField::Touches),
];

/// Column headers in addition to the names above.
const COLUMN_NAMES: [(&str, PlanField); 14] = [
    ("title", PlanField::Title),
    ("제목", PlanField::Title),
    ("작업명", PlanField::Title),
    ("태스크명", PlanField::Title),
    ("내용", PlanField::Title),
    ("작업 내용", PlanField::Title),
    ("설명", PlanField::Title),
    ("이름", PlanField::Title),
    ("name", PlanField::Title),
    ("description", PlanField::Title),
    ("done", PlanField::Status),
    ("체크", PlanField::Status),
    ("진행", PlanField::Status),
    ("check", PlanField::Status),
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
fn by_name(name: &str) -> Option<PlanField> {
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
pub(super) fn field_of_column(head: &str) -> Option<PlanField> {
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
pub(super) fn field_of_name(text: &str) -> Option<PlanField> {
    by_name(text.trim_end_matches([':', '：', ' ']))
}

/// Calls `found` for every field of a line, with its value.
pub(super) fn for_each_field<'a>(line: &'a str, mut found: impl FnMut(PlanField, &'a str)) {
    let line = line.trim_start_matches(['-', '*', '+', '>', ' ', '\t', '•']);
    // The list marker may have been the first star of a bold name.
    let line = line.trim();
    if let Some((field, value)) = at_start(line) {
        report_fields(field, value, &mut found);
    } else if let Some(value) = dependency_sentence(line) {
        found(PlanField::Conditions, value);
    }
}

/// Parses `Depends on T1.1 and T1.2` as a line of its own.
fn dependency_sentence(line: &str) -> Option<&str> {
    let phrases = ["depends on ", "depends upon ", "blocked by ", "needs "];
    let phrase = phrases.iter().find(|phrase| {
        let head = line.get(..phrase.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(phrase))
    })?;
    let value = line[phrase.len()..].trim_start();
    // With other words it is prose.
    let words = value.split(|c: char| !is_word_char(c));
    let mut words = words.map(|word| word.trim_end_matches('.'));
    let id = |word: &str| id_certainty(word) == Some(IdCertainty::Strong);
    let fits = |word: &str| word.is_empty() || id(word) || matches!(word, "and" | "or");
    words.all(fits).then_some(value)
}

/// Reports a field and those that follow it on the same line.
fn report_fields<'a>(field: PlanField, value: &'a str, found: &mut impl FnMut(PlanField, &'a str)) {
    let (mut field, mut value, mut from) = (field, value, 0);
    while let Some((at, next, rest)) = next_field(value, from) {
        if let Some((second, behind)) = at_start(rest) {
            found(field, trim_separators(&value[..at]));
            (field, value, from) = (second, behind, 0);
        } else {
            from = next;
        }
    }
    found(field, trim_separators(value));
}

fn trim_separators(value: &str) -> &str {
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
fn at_start(text: &str) -> Option<(PlanField, &str)> {
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
fn without_colon(text: &str) -> Option<(PlanField, &str)> {
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
        PlanField::Needs | PlanField::Beside => {
            id_certainty(leading_id(word)) == Some(IdCertainty::Strong)
        }
        PlanField::Assignee => is_role(value) || value.starts_with(['`', '@']) && !word.is_empty(),
        _ => false,
    };
    fits.then_some((field, value))
}

/// A title, and the fields behind it.
pub(super) struct TitleAndFields<'a> {
    pub(super) title: &'a str,
    pub(super) fields: Vec<(PlanField, &'a str)>,
}

/// Splits the text behind an id into its title and the fields behind it.
pub(super) fn split_title(text: &str) -> TitleAndFields<'_> {
    let mut fields = Vec::new();
    let text = match who_at_end(text) {
        Some((kept, who)) => {
            fields.push((PlanField::Assignee, who));
            kept
        }
        None => text,
    };
    let mut title = text;
    if let Some(at) = text.find(['←', '⬅']) {
        let needs = text[at..].trim_start_matches(|c: char| !c.is_alphanumeric() && c != '(');
        let end = collect_fields_behind(needs, &mut fields);
        fields.push((PlanField::Needs, &needs[..end]));
        title = &text[..at];
    }
    let end = collect_fields_behind(title, &mut fields);
    let mut title =
        title[..end].trim_end_matches([' ', '\t', '-', '—', '–', '→', '|', '·', ',', '/', '(']);
    if !fields
        .iter()
        .any(|(field, _)| *field == PlanField::Assignee)
        && let Some((kept, who)) = who_at_end(title)
    {
        fields.push((PlanField::Assignee, who));
        title = kept;
    }
    // Bold that began before the id ends here.
    if title.matches("**").count() % 2 == 1 {
        title = title.strip_suffix("**").unwrap_or(title);
    }
    TitleAndFields { title, fields }
}

/// Collects the fields behind a text, and returns the end of the text before them.
fn collect_fields_behind<'a>(text: &'a str, fields: &mut Vec<(PlanField, &'a str)>) -> usize {
    let mut from = 0;
    while let Some((at, next, rest)) = next_field(text, from) {
        if let Some((field, value)) = at_start(rest) {
            let value = value.trim_end_matches([')', '）', ']', '}', ' ']);
            report_fields(field, value, &mut |field, value| {
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
            fields.push((PlanField::Conditions, value));
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
        ("requires ", Some(IdCertainty::Strong)),
        ("needs ", Some(IdCertainty::Strong)),
        ("after ", Some(IdCertainty::Strong)),
    ] {
        if head.starts_with(phrase) {
            let value = text[phrase.len()..].trim_end_matches([')', ']', ' ']);
            let word = value.trim_start_matches([' ', '`', '*', '[']);
            return (id_certainty(leading_id(word)) >= least).then_some(value);
        }
    }
    let close = near.find([')', '）', ']'])?;
    let inside = text[..close].trim_end();
    let needs = ["의존", "이후", "완료 후", "필요"]
        .iter()
        .any(|word| inside.ends_with(word));
    let id = leading_id(inside);
    (needs && id_certainty(id) == Some(IdCertainty::Strong)).then_some(inside)
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
pub(super) fn parse_assignee(value: &str) -> Option<String> {
    let end = value.find(['(', '（', '|', '→']).unwrap_or(value.len());
    let name: String = value[..end]
        .chars()
        .filter(|c| !matches!(c, '`' | '*' | '@'))
        .collect();
    let name = name.trim_matches(|c: char| c.is_whitespace() || "[],;-—".contains(c));
    (name.contains(char::is_alphanumeric) && !is_none(name)).then(|| name.to_owned())
}

/// Returns the folder in a worktree field; `None` for paths that leave the project.
pub(super) fn parse_worktree(value: &str) -> Option<&str> {
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
pub(super) fn parse_touches(value: &str) -> Vec<String> {
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
