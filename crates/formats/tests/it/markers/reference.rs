//! A second reading of the grammar: the whole text at once, line numbers instead of states, no care
//! for speed or limits.
//!
//! It is written for the vocabulary of [`super::properties`] and says of every message where it
//! begins, where it ends and what is in it.

use std::collections::HashMap;

use serde_json::Value;

/// Start, end, and the event as [`super::render`] writes it.
pub(super) type Found = (u64, u64, String);

struct Line<'a> {
    start: u64,
    end: u64,
    text: &'a str,
}

/// A line that begins a message: its name, what follows the tag, and its nonce.
struct Head<'a> {
    name: String,
    rest: &'a str,
    nonce: Option<&'a str>,
}

pub(super) fn reference(text: &str, nonce: Option<&str>) -> Vec<Found> {
    let mut lines = Vec::new();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let end = start + whole.len() as u64;
        let text = whole.strip_suffix('\n').unwrap_or(whole);
        let text = text.strip_suffix('\r').unwrap_or(text);
        lines.push(Line { start, end, text });
        start = end;
    }
    let mut found = Vec::new();
    let mut nonce_used = false;
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        if let Some((mark, length)) = fence(line.text, false) {
            at = after_fence(&lines, at + 1, mark, length);
            continue;
        }
        if let Some(text) = progress(line.text) {
            found.push((line.start, line.end, text));
        }
        let Some(head) = head(line.text) else {
            at += 1;
            continue;
        };
        if let Some(reason) = refused(&head, nonce, nonce_used) {
            found.push((
                line.start,
                line.end,
                format!("ignored {} {reason}", marker(&head.name)),
            ));
            at += 1;
            continue;
        }
        nonce_used |= nonce.is_some() && head.nonce.is_some();
        let cut_by = |text: &str| {
            let head = self::head(text)?;
            refused(&head, nonce, nonce_used)
                .is_none()
                .then(|| spelled(&head.name))
        };
        let mut left_open = None;
        let (end, event) = match head.name.as_str() {
            "CUSTOM" => custom(&lines, at),
            "VERIFICATION" => verification(&lines, at, &cut_by, &mut left_open),
            "DEPENDENCY_REQUEST" | "USER_QUESTION" | "ERROR" | "ERROR_JSON" => {
                block(&lines, at, &head, &cut_by)
            }
            phase => phase_complete(&lines, at, phase),
        };
        let offset = if end == lines.len() {
            text.len() as u64
        } else {
            lines[end].start
        };
        found.push((line.start, offset, event));
        at = end;
        if let Some((mark, length)) = left_open {
            at = after_fence(&lines, at, mark, length);
        }
    }
    found
}

fn after_fence(lines: &[Line<'_>], mut at: usize, mark: char, length: usize) -> usize {
    while at < lines.len() {
        at += 1;
        if fence(lines[at - 1].text, true).is_some_and(|(m, l)| m == mark && l >= length) {
            break;
        }
    }
    at
}

fn fence(text: &str, closing: bool) -> Option<(char, usize)> {
    let inner = text.trim_start_matches(' ');
    let mark = inner.chars().next().filter(|c| "`~".contains(*c))?;
    let rest = inner.trim_start_matches(mark);
    let length = inner.len() - rest.len();
    let fits = if closing {
        rest.trim().is_empty()
    } else {
        mark == '~' || !rest.contains('`')
    };
    (text.len() - inner.len() < 4 && length > 2 && fits).then_some((mark, length))
}

fn progress(text: &str) -> Option<String> {
    let (numbers, name) = text.split_once(": ")?;
    let words: Vec<&str> = numbers.split([' ', '/']).collect();
    match words.as_slice() {
        ["Step", k, n] | ["Step", k, "of", n] => Some(format!("step {k}/{n} {name:?}")),
        ["Starting", "Phase", n] => Some(format!("starting {n} {name:?}")),
        _ => None,
    }
}

fn head(text: &str) -> Option<Head<'_>> {
    if let Some(inner) = text
        .strip_prefix("=== ")
        .and_then(|t| t.strip_suffix(" ==="))
    {
        let (inner, nonce) = match inner.split_once(" nonce=") {
            Some((inner, nonce)) => (inner, Some(nonce)),
            None => (inner, None),
        };
        let name = match inner {
            "CUSTOM TASK COMPLETE" => "CUSTOM",
            "VERIFICATION_RESULT" => "VERIFICATION",
            _ => inner.strip_prefix("PHASE ")?.strip_suffix(" COMPLETE")?,
        };
        let name = name.to_owned();
        return Some(Head {
            name,
            rest: "",
            nonce,
        });
    }
    let (tag, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (name, nonce) = match tag.split_once(" nonce=") {
        Some((name, nonce)) => (name, Some(nonce)),
        None => (tag, None),
    };
    let names = ["ERROR", "ERROR_JSON", "USER_QUESTION", "DEPENDENCY_REQUEST"];
    let rest = rest.trim();
    let begins = rest.is_empty()
        || match name {
            "ERROR_JSON" => rest.starts_with('{'),
            _ => rest.starts_with("type: "),
        };
    (names.contains(&name) && begins).then(|| Head {
        name: name.to_owned(),
        rest,
        nonce,
    })
}

fn marker(name: &str) -> &str {
    match name {
        "CUSTOM" => "CUSTOM_COMPLETE",
        "VERIFICATION" => "VERIFICATION_RESULT",
        "ERROR" | "ERROR_JSON" => "ERROR",
        "USER_QUESTION" | "DEPENDENCY_REQUEST" => name,
        _ => "PHASE_COMPLETE",
    }
}

fn spelled(name: &str) -> String {
    match name {
        "CUSTOM" => "=== CUSTOM TASK COMPLETE ===".to_owned(),
        "VERIFICATION" => "=== VERIFICATION_RESULT ===".to_owned(),
        "ERROR" | "ERROR_JSON" | "USER_QUESTION" | "DEPENDENCY_REQUEST" => {
            format!("[{}]", marker(name))
        }
        _ => "=== PHASE N COMPLETE ===".to_owned(),
    }
}

fn refused(head: &Head<'_>, ours: Option<&str>, used: bool) -> Option<&'static str> {
    match (ours, head.nonce) {
        (Some(ours), Some(theirs)) if ours != theirs => Some("NonceWrong"),
        (Some(_), None) if used => Some("NonceMissing"),
        _ => None,
    }
}

fn phase_complete(lines: &[Line<'_>], at: usize, phase: &str) -> (usize, String) {
    let mut name = None;
    let mut files = Vec::new();
    let mut end = at + 1;
    while let Some(line) = lines.get(end) {
        let text = line.text.trim();
        let bullet = text.strip_prefix("- ");
        if head(line.text).is_some() || progress(line.text).is_some() {
            break;
        } else if let Some((_, rest)) = text.split_once("Completed: Phase 1 (") {
            name.get_or_insert(rest.trim_end_matches(')'));
        } else if let Some(file) = bullet.filter(|item| item.ends_with(".rs")) {
            files.push(file);
        } else if text.ends_with(".md") {
            files.push(bullet.unwrap_or(text));
        } else if text != "Documents created:" && bullet.is_none() {
            break;
        }
        end += 1;
    }
    let name = name.map_or_else(|| format!("Phase {phase}"), str::to_owned);
    (end, format!("phase {phase} {name:?} {files:?}"))
}

fn custom(lines: &[Line<'_>], at: usize) -> (usize, String) {
    let mut values: Vec<(&str, String)> = Vec::new();
    let mut end = at + 1;
    while let Some(line) = lines.get(end) {
        let further = line.text.starts_with(' ') && !line.text.trim().is_empty();
        if fence(line.text, false).is_some() {
            break;
        } else if let Some((key @ ("Task" | "Summary"), value)) = line.text.split_once(": ") {
            values.push((key, value.to_owned()));
        } else if let (true, Some((_, value))) = (further, values.last_mut()) {
            *value += &format!("\n{}", line.text.trim());
        } else {
            break;
        }
        end += 1;
    }
    let value = |key| values.iter().find(|(k, _)| *k == key).map(|(_, v)| v);
    (
        end,
        format!("custom {:?} {:?}", value("Task"), value("Summary")),
    )
}

fn verification(
    lines: &[Line<'_>],
    at: usize,
    cut_by: &dyn Fn(&str) -> Option<String>,
    fenced: &mut Option<(char, usize)>,
) -> (usize, String) {
    let mut json = String::new();
    let malformed = |what: &str| format!("malformed VERIFICATION_RESULT {what}");
    for (number, line) in lines.iter().enumerate().skip(at + 1) {
        match *fenced {
            Some((mark, length)) => {
                if fence(line.text, true).is_some_and(|(m, l)| m == mark && l >= length) {
                    *fenced = None;
                    return (
                        number + 1,
                        malformed("is not closed before the end of its code fence"),
                    );
                }
            }
            None => {
                if let Some(before) = cut_by(line.text) {
                    return (number, malformed(&format!("is not closed before {before}")));
                }
            }
        }
        if json.is_empty() && !line.text.trim().starts_with('{') {
            if line.text.trim().is_empty() {
                continue;
            }
            let opened = fence(line.text, false).filter(|_| fenced.is_none());
            if opened.is_some() {
                *fenced = opened;
                continue;
            }
            let end = number + usize::from(fenced.is_some());
            return (
                end,
                malformed("has invalid JSON: no object follows the marker"),
            );
        }
        for c in line.text.chars() {
            json.push(c);
            if c == '}' && json.matches('{').count() == json.matches('}').count() {
                return (number + 1, verified(&json));
            }
        }
        json.push('\n');
    }
    (
        lines.len(),
        malformed("is not closed before the end of the output"),
    )
}

fn verified(json: &str) -> String {
    // The vocabulary has either this whole object or objects without criteria.
    match serde_json::from_str::<Value>(json) {
        Ok(value) => match value.get("criteria").and_then(Value::as_array) {
            Some(criteria) => {
                let all: Vec<String> = criteria
                    .iter()
                    .map(|c| {
                        format!(
                            "{}:{} None None []",
                            c["id"].as_str().unwrap(),
                            c["status"].as_str().unwrap()
                        )
                    })
                    .collect();
                format!("verified {all:?}")
            }
            None => "malformed VERIFICATION_RESULT missing required field 'criteria'".to_owned(),
        },
        Err(error) => format!("malformed VERIFICATION_RESULT has invalid JSON: {error}"),
    }
}

fn block(
    lines: &[Line<'_>],
    at: usize,
    head: &Head<'_>,
    cut_by: &dyn Fn(&str) -> Option<String>,
) -> (usize, String) {
    let marker = marker(&head.name).to_owned();
    if head.name != "ERROR_JSON" && !head.rest.is_empty() {
        let values = head
            .rest
            .split(", ")
            .filter_map(|part| part.split_once(": "));
        let values = values.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        return (at + 1, built(&marker, &values, true));
    }
    let mut body = vec![head.rest];
    for (number, line) in lines.iter().enumerate().skip(at + 1) {
        if let Some(before) = cut_by(line.text) {
            return (
                number,
                format!("malformed {marker} is not closed before {before}"),
            );
        }
        let close = format!("[/{marker}");
        if [format!("{close}]"), format!("{close}_JSON]")]
            .iter()
            .any(|tag| line.text.starts_with(tag))
        {
            return (
                number + 1,
                block_event(&marker, head.name == "ERROR_JSON", &body),
            );
        }
        body.push(line.text);
    }
    (
        lines.len(),
        format!("malformed {marker} is not closed before the end of the output"),
    )
}

fn block_event(marker: &str, json: bool, body: &[&str]) -> String {
    let mut values: HashMap<String, String> = HashMap::new();
    if json {
        let Ok(Value::Object(object)) = serde_json::from_str(&body.join("\n")) else {
            return format!("malformed {marker} has invalid JSON: ");
        };
        for (key, value) in object {
            values.extend(value.as_str().map(|text| (key, text.to_owned())));
        }
        return built(marker, &values, false);
    }
    let is_field = |line: &str| {
        line.split_once(':')
            .is_some_and(|(key, _)| !key.is_empty() && key.chars().all(char::is_alphabetic))
    };
    for (number, line) in body.iter().enumerate().filter(|(_, line)| is_field(line)) {
        let (key, first) = line.split_once(':').unwrap();
        let further: Vec<&str> = body[number + 1..]
            .iter()
            .copied()
            .take_while(|line| !is_field(line))
            .collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let depth = further
            .iter()
            .find(|line| !line.trim().is_empty())
            .map_or(0, |line| indent(line));
        let mut value = first.trim().to_owned();
        for line in further {
            value = value + "\n" + &line[indent(line).min(depth)..];
        }
        values.entry(key.to_owned()).or_insert(value);
    }
    built(marker, &values, false)
}

fn built(marker: &str, values: &HashMap<String, String>, one_line: bool) -> String {
    let value = |key: &str| {
        let value = values.get(key).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    };
    let missing = |key: &str| format!("malformed {marker} missing required field '{key}'");
    match marker {
        "ERROR" => {
            let Some(kind) = value("type") else {
                return missing("type");
            };
            if kind != "fatal" {
                return format!("malformed {marker} field 'type' must be ");
            }
            let recovery = value("recovery");
            if recovery.as_ref().is_some_and(|text| text != "notify_user") {
                return format!("malformed {marker} field 'recovery' must be ");
            }
            let recovery = match (recovery, one_line) {
                (None, true) => "checkpoint_and_fail".to_owned(),
                (None, false) if value("message").is_none() => return missing("message"),
                (None, false) => return missing("recovery"),
                (Some(recovery), _) => recovery,
            };
            match value("message") {
                None if !one_line => missing("message"),
                message => format!(
                    "error {kind} {:?} {:?} {recovery}",
                    message.unwrap_or_default(),
                    value("details")
                ),
            }
        }
        // The vocabulary has no field that either of these requires first.
        "USER_QUESTION" => missing("category"),
        _ => match value("type") {
            None => missing("type"),
            Some(_) => format!("malformed {marker} field 'type' must be "),
        },
    }
}
