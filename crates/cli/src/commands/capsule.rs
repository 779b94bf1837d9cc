//! `bowline capsule` and `bowline replay`: everything about one task in a file that can be mailed
//! and read without a server.

use super::remote::{PAGE_ITEMS, RemoteResult, RemoteServer, find_server, write_new};
use crate::args::task::{CapsuleArgs, ReplayArgs};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::formats::rest::Page;
use bowline_engine::formats::rest::routes::{
    LogQuery, PageQuery, TypedRequest, get_agent, get_logs, get_session, get_task,
    list_checkpoints, list_dependencies, list_permissions, list_phases, list_questions,
    list_reviews, list_sayings, list_spend, list_transitions, list_verifications,
};
use bowline_engine::formats::time::{format_utc, parse_time};
use bowline_engine::formats::visible;
use bowline_engine::words::system_cause;
use bowline_engine::{Context, Error};
use bowline_server::serve_error_code;
use bowline_words::message::{ServeTrouble, TaskOutput};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Value of the file's field `kind`.
const CAPSULE_KIND: &str = "bowline-capsule";
const CAPSULE_VERSION: u64 = 1;
/// Bytes of an agent's output that are kept, counted from its end.
const OUTPUT_BYTES_MAX: usize = 8 << 20;
const OUTPUT_BYTES: i64 = 1 << 20;
/// First of the private code points that stand for bytes which are not UTF-8, so that none is lost.
const RAW_BYTE_BASE: u32 = 0x10_ff00;
/// Prefixes of well-known services' keys; words that begin with one are masked at equal length.
const KEY_PREFIXES: [&str; 9] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "github_pat_",
    "xox",
    "AKIA",
];
const KEY_LETTERS_MIN: usize = 16;
/// Lists of a task that a capsule contains in full, with their requests.
fn lists(task: &str) -> [(&'static str, TypedRequest<Page<Value>>); 9] {
    [
        ("phases", list_phases(task).reading()),
        ("checkpoints", list_checkpoints(task).reading()),
        ("reviews", list_reviews(task).reading()),
        ("questions", list_questions(task).reading()),
        ("dependencies", list_dependencies(task).reading()),
        ("permissions", list_permissions(task).reading()),
        ("verifications", list_verifications(task).reading()),
        ("sayings", list_sayings(task).reading()),
        ("spend", list_spend(task).reading()),
    ]
}

/// Returns a text field of a value; empty if there is none.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

pub(crate) fn make_capsule(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &CapsuleArgs,
) -> Result<ExitCode, Error> {
    let done = find_server(context, output, &args.place).and_then(|remote| {
        let task = remote.resolve_task(&args.task)?;
        let (mut capsule, bytes) = collect_capsule(&remote, &task)?;
        capsule["made"] = format_utc(context.clock.now()).into();
        let places = path_placeholders(context, &capsule);
        redact_value(&mut capsule, &places);
        let name = args
            .to
            .clone()
            .unwrap_or_else(|| format!("{task}.capsule.json").into());
        let path = folder.join(name);
        if !output.dry_run {
            write_new(output, &path, format!("{capsule:#}\n").as_bytes())?;
        }
        let moves = capsule["transitions"].as_array().map_or(0, Vec::len);
        let shown = path.display().to_string();
        let said = TaskOutput::CapsuleMade {
            path: shown.clone(),
            moves,
            bytes,
        };
        let body = json!({ "path": shown, "transitions": moves, "outputBytes": bytes });
        output.print_outcome(body, &[format!("✓ {}", said.say(output.lang))]);
        Ok(ExitCode::SUCCESS)
    });
    Ok(done.unwrap_or_else(|code| code))
}

/// Collects everything the server knows of a task; returns it with the number of output bytes kept.
fn collect_capsule(remote: &RemoteServer<'_>, task: &str) -> RemoteResult<(Value, usize)> {
    let session = remote.get(&get_session())?;
    let mut capsule = json!({
        "kind": CAPSULE_KIND, "version": CAPSULE_VERSION,
        "program": { "version": session.version, "system": std::env::consts::OS, "machine": std::env::consts::ARCH },
        "task": remote.json(&get_task(task))?, "agent": remote.json(&get_agent(task))?,
    });
    for (list, request) in lists(task) {
        capsule[list] = remote.get(&request)?.items.into();
    }
    let moves: Vec<Value> = remote.all(|cursor| {
        let limit = Some(PAGE_ITEMS);
        list_transitions(task, &PageQuery { limit, cursor }).reading()
    })?;
    capsule["transitions"] = moves.into();
    let mut bytes: Vec<u8> = Vec::new();
    let mut offset = 0i64;
    loop {
        let range = LogQuery {
            offset: Some(offset),
            limit: Some(OUTPUT_BYTES),
        };
        let answer = remote.fetch(&get_logs(task, &range).request)?;
        let next = answer
            .header("x-next-offset")
            .and_then(|it| it.parse().ok());
        if answer.body.is_empty() {
            break;
        }
        bytes.extend_from_slice(&answer.body);
        offset = next.unwrap_or(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    }
    let from = bytes.len().saturating_sub(OUTPUT_BYTES_MAX);
    capsule["output"] = json!({ "from": from, "text": encode_lossless(&bytes[from..]) });
    Ok((capsule, bytes.len() - from))
}

/// Encodes bytes as a text from which every byte can be restored.
fn encode_lossless(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let odd = chunk.invalid().iter();
        text.extend(odd.filter_map(|byte| char::from_u32(RAW_BYTE_BASE + u32::from(*byte))));
    }
    text
}

/// Restores the bytes of a text that was encoded without loss.
fn decode_lossless(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for letter in text.chars() {
        match u32::from(letter)
            .checked_sub(RAW_BYTE_BASE)
            .map(u8::try_from)
        {
            Some(Ok(byte)) => bytes.push(byte),
            Some(Err(_)) | None => {
                bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes())
            }
        }
    }
    bytes
}

/// Returns paths of this machine and user with their placeholders, the longest first: one may
/// contain another.
fn path_placeholders(context: &Context, capsule: &Value) -> Vec<(String, &'static str)> {
    let mut places = Vec::new();
    if let Some(folder) = capsule["task"]["workspace"].as_str() {
        places.push((folder.to_owned(), "WORKSPACE"));
    }
    if let Some(home) = context.variables.get("HOME").and_then(|it| it.to_str()) {
        places.push((home.to_owned(), "~"));
    }
    places.retain(|(path, _)| path.len() > 1);
    places.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    places
}

fn redact_value(value: &mut Value, places: &[(String, &'static str)]) {
    match value {
        Value::String(text) => {
            for (path, name) in places {
                if text.contains(path.as_str()) {
                    *text = text.replace(path.as_str(), name);
                }
            }
            *text = mask_keys(text);
        }
        Value::Array(items) => items.iter_mut().for_each(|it| redact_value(it, places)),
        Value::Object(fields) => fields.values_mut().for_each(|it| redact_value(it, places)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks words that look like keys, at equal length.
fn mask_keys(text: &str) -> String {
    let of_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(of_key) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from
            .find(|letter: char| !of_key(letter))
            .unwrap_or(from.len());
        let (word, behind) = from.split_at(end);
        let is_key =
            word.len() >= KEY_LETTERS_MIN && KEY_PREFIXES.iter().any(|it| word.starts_with(it));
        match is_key {
            true => out.extend(std::iter::repeat_n('*', word.len())),
            false => out.push_str(word),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

pub(crate) fn replay_capsule(
    output: &CommandOutput,
    folder: &Path,
    args: &ReplayArgs,
) -> Result<ExitCode, Error> {
    let path = folder.join(&args.file);
    let shown = path.display().to_string();
    let read = match std::fs::read_to_string(&path) {
        Ok(read) => read,
        Err(error) => {
            let cause = system_cause(&error);
            let trouble = ServeTrouble::File { path: shown, cause };
            let (message, hint) = trouble.say(output.lang);
            return Ok(output.print_error_texts(serve_error_code(&trouble), &message, &hint, 3));
        }
    };
    let capsule: Value = serde_json::from_str(&read).unwrap_or_default();
    if capsule["kind"] != CAPSULE_KIND || capsule["version"] != CAPSULE_VERSION {
        let message = TaskOutput::NoCapsule { path: shown }.say(output.lang);
        let hint = TaskOutput::MakeCapsule.say(output.lang);
        return Ok(output.print_error_texts("bad_input", &message, &hint, 2));
    }
    let events = capsule_events(&capsule);
    let broken = first_break(&capsule);
    let moves = capsule["transitions"].as_array().map_or(0, Vec::len);
    if output.json {
        let story: Vec<Value> = events.iter().map(|it| Value::Object(it.clone())).collect();
        output.print_line(
            &json!({ "task": capsule["task"], "story": story, "brokenAt": broken }).to_string(),
        );
    } else {
        let word = |name: &str| text(&capsule["task"], name);
        output.print_line(&format!(
            "{}  {}  {}",
            word("id"),
            word("status"),
            visible::escape_title(word("title"))
        ));
        let of = TaskOutput::CapsuleOf {
            version: text(&capsule["program"], "version").to_owned(),
            made: text(&capsule, "made").to_owned(),
        };
        output.print_line(&output.colour_text(TextTone::Faint, &of.say(output.lang)));
        let first = events.first().and_then(|it| event_time(it, "at"));
        for it in &events {
            let since = event_time(it, "at")
                .zip(first)
                .map_or(0, |(at, first)| at - first);
            let what = visible::escape_title(it["what"].as_str().unwrap_or_default());
            output.print_line(&format!("{:>8}  {what}", format!("+{since}s")));
        }
        if args.output {
            let bytes = decode_lossless(text(&capsule["output"], "text"));
            for line in String::from_utf8_lossy(&bytes).lines() {
                output.print_line(line);
            }
        }
        let end = match broken {
            Some(sequence) => TaskOutput::CapsuleBroken { sequence },
            None => TaskOutput::CapsuleWhole { moves },
        };
        output.print_stderr(&end.say(output.lang));
    }
    Ok(match broken {
        Some(_) => ExitCode::from(4),
        None => ExitCode::SUCCESS,
    })
}

fn event_time(it: &Map<String, Value>, name: &str) -> Option<i64> {
    parse_time(it.get(name)?.as_str()?).map(|it| it.0)
}

/// Lists all events of a capsule in the order of time.
fn capsule_events(capsule: &Value) -> Vec<Map<String, Value>> {
    let mut events: Vec<(String, u64, String)> = Vec::new();
    let list = |name: &str| capsule[name].as_array().into_iter().flatten();
    for it in list("transitions") {
        let from = it["from"].as_str().unwrap_or("-");
        let what = format!(
            "{:<5} {from} -> {}  {}",
            text(it, "entity"),
            text(it, "to"),
            text(it, "trigger")
        );
        let sequence = it["sequence"].as_u64().unwrap_or(0);
        events.push((text(it, "timestamp").to_owned(), sequence, what));
    }
    // Sorts after every transition of the same second.
    let last = u64::MAX;
    for it in list("permissions") {
        let what = format!(
            "tool  {} {}: {}",
            text(it, "tool"),
            it["input"],
            text(it, "status")
        );
        events.push((text(it, "requestedAt").to_owned(), last, what));
    }
    for it in list("checkpoints") {
        let what = format!("saved {} ({})", text(it, "id"), text(it, "reason"));
        events.push((text(it, "createdAt").to_owned(), last, what));
    }
    for it in list("sayings") {
        let what = format!("said  {} ({})", text(it, "text"), text(it, "status"));
        events.push((text(it, "createdAt").to_owned(), last, what));
    }
    for it in list("verifications") {
        let passed = if it["passed"] == true {
            "passed"
        } else {
            "failed"
        };
        let what = format!("check phase {} {passed}", it["phase"]);
        events.push((text(it, "at").to_owned(), last, what));
    }
    events.sort();
    let line = |(at, _, what): (String, u64, String)| -> Map<String, Value> {
        let pairs = [("at", at), ("what", what)];
        let pair = |(name, value): (&str, String)| (name.to_owned(), Value::from(value));
        pairs.into_iter().map(pair).collect()
    };
    events.into_iter().map(line).collect()
}

/// Returns the first transition, of task or agent, that does not begin where the one before it
/// ended.
fn first_break(capsule: &Value) -> Option<u64> {
    let mut stands: BTreeMap<String, String> = BTreeMap::new();
    for it in capsule["transitions"].as_array().into_iter().flatten() {
        let (entity, from, to) = (text(it, "entity"), it["from"].as_str(), text(it, "to"));
        let before = stands.insert(entity.to_owned(), to.to_owned());
        if let (Some(before), Some(from)) = (before, from)
            && before != from
        {
            return it["sequence"].as_u64();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_lost_and_no_key_is_kept() {
        let bytes = b"tea \xff\xfe green \xec\x95";
        assert_eq!(decode_lossless(&encode_lossless(bytes)), bytes);
        let whole = "한글 tea";
        assert_eq!(
            (
                encode_lossless(whole.as_bytes()).as_str(),
                decode_lossless(whole)
            ),
            (whole, whole.as_bytes().to_vec())
        );
        let key = "use sk-abcdefghijklmnop, not sk-short or /sk/";
        assert_eq!(
            mask_keys(key),
            "use *******************, not sk-short or /sk/"
        );
    }

    #[test]
    fn a_chain_that_breaks_is_found() {
        let line = |sequence: u64, entity: &str, from: &str, to: &str| json!({ "sequence": sequence, "entity": entity, "from": from, "to": to });
        let mut lines = vec![
            line(1, "task", "draft", "pending"),
            line(2, "agent", "idle", "running"),
            line(3, "task", "pending", "in_progress"),
        ];
        assert_eq!(first_break(&json!({ "transitions": lines })), None);
        lines.push(line(4, "task", "review", "completed"));
        assert_eq!(first_break(&json!({ "transitions": lines })), Some(4));
    }
}
