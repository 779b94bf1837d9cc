//! Thousands of damaged files: none makes a reader panic, and what can be read can be repaired.

use crate::golden;
use bowline_formats::StateFormat;
use bowline_formats::checkpoint::CheckpointFile;
use bowline_formats::develop::DevelopFile;
use bowline_formats::finding::{Finding, ReadResult, Severity};
use bowline_formats::json::{JsonDocument, child_pointer, values_equal};
use bowline_formats::memory::agent_memory::AgentMemoryFile;
use bowline_formats::memory::shared_context::SharedContextFile;
use bowline_formats::memory::task_history::TaskHistoryFile;
use bowline_formats::memory::task_state::TaskStateFile;
use bowline_formats::orchestrate::OrchestrateFile;
use bowline_formats::thinking::ThinkingFile;
use bowline_machines::Timestamp;
use serde_json::{Value, json};
use std::fmt::Debug;

const NOW: Timestamp = Timestamp(1_777_900_000);

/// Bytes between two places where bits are flipped.
const FLIP_STRIDE: usize = 31;

/// What a finding without a repair may be: only a person can tell what was meant.
const UNREPAIRABLE: [&str; 17] = [
    // A key that stands twice, in any kind: the last one counts, and both stay for a person to look
    // at.
    "duplicate_key",
    // A score or a metric outside its range: which number was meant?
    "thinking out_of_range",
    // A lesson for a stage that does not exist.
    "thinking unknown_word",
    // A missing time that the next change writes anyway.
    "thinking missing_field",
    // Stages out of order, a completed stage without its time: which of the two is wrong?
    "thinking rule_broken",
    // Step numbers twice, dependencies that are missing or circular, a step begun too early, a task
    // that is over.
    "task-state rule_broken",
    // Two entries of one task: both may hold something the other has not.
    "task-history duplicate_id",
    // The name of an agent, which is also that of its file.
    "agent-memory bad_name",
    // Another major version.
    "task-state newer_version",
    "task-history newer_version",
    "shared-context newer_version",
    "agent-memory newer_version",
    "orchestrate newer_version",
    // An older name of a phase, left for whoever looks for it.
    "develop older_name",
    // A word for the phase that nobody knows, and a list of other things than ids: both are kept,
    // and a person is asked.
    "orchestrate unknown_phase",
    "orchestrate bad_id",
    // An older version, brought up to date by the first change.
    "orchestrate older_version",
];

/// Texts that are put in the place of every value in turn. The last ones are no JSON at all.
const WRONG: [&str; 18] = [
    "null",
    "true",
    "-1",
    "1.5",
    "3000000000",
    "12345678901234567890123",
    "1e300",
    "\"\"",
    "\"x\"",
    "\"\\u0000\"",
    "\"2026-13-45T99:99:99Z\"",
    "[]",
    "[null, 1, \"a\", {}]",
    "{}",
    "{\"a\": [1]}",
    "NaN",
    "-Infinity",
    "1e999",
];

#[test]
fn damaged_thinking_files() {
    corpus::<ThinkingFile>(&["thinking.json", "thinking-failed.json"], 4_000);
}

#[test]
fn damaged_task_states() {
    let names = [
        "task-state.json",
        "task-state-schema.json",
        "task-state-init.json",
        "task-state-empty.json",
    ];
    corpus::<TaskStateFile>(&names, 6_000);
}

#[test]
fn damaged_histories() {
    corpus::<TaskHistoryFile>(&["task-history.json", "task-history-counts.json"], 2_000);
}

#[test]
fn damaged_open_files() {
    corpus::<SharedContextFile>(&["shared-context.json"], 900);
    corpus::<AgentMemoryFile>(&["agent-memory.json"], 700);
}

#[test]
fn damaged_develop_files() {
    let names = [
        "develop.json",
        "develop-design.json",
        "develop-merge.json",
        "develop-auto.json",
    ];
    corpus::<DevelopFile>(&names, 3_000);
}

#[test]
fn damaged_orchestrations() {
    let names = [
        "orchestrate.json",
        "orchestrate-overlap.json",
        "orchestrate-init.json",
        "orchestrate-short.json",
        "orchestrate-v1.json",
        "orchestrate-v1-short.json",
    ];
    corpus::<OrchestrateFile>(&names, 9_000);
}

#[test]
fn damaged_checkpoints() {
    corpus::<CheckpointFile>(&["checkpoint.json"], 2_000);
}

#[test]
fn circles_are_told_and_never_walked_for_ever() {
    let mut value = golden::load("task-state.json").value().clone();
    value["current_task"]["plan"]["steps"][0]["dependencies"] = json!([4]);
    value["current_task"]["plan"]["steps"][1]["dependencies"] = json!([2]);
    let fatal = TaskStateFile::read_state(&JsonDocument::new(value)).unwrap_err();
    assert_eq!(fatal.last().unwrap().code, "circular_dependency");
    for dependencies in [
        json!({"T1.1": ["T1.1"]}),
        json!({"T1.1": ["T1.2"], "T1.2": ["T1.6"], "T1.6": ["T1.1"]}),
    ] {
        let mut value = golden::load("orchestrate.json").value().clone();
        value["dependencies"] = dependencies;
        let fatal = OrchestrateFile::read_state(&JsonDocument::new(value)).unwrap_err();
        assert_eq!(fatal.last().unwrap().code, "circular_dependency");
    }
}

/// Damages each file in every way and counts the cases, of which there must be some number.
#[expect(
    clippy::print_stdout,
    reason = "the number of cases is the news of these tests"
)]
fn corpus<F: StateFormat>(names: &[&str], cases_min: usize)
where
    F::State: PartialEq + Debug,
{
    let mut cases = 0;
    let mut wrong = Vec::new();
    for name in names {
        let document = golden::load(name);
        let sound = F::read_state(&document).unwrap();
        // Of a file that is odd from the start a schema cannot tell whether another state is
        // damage.
        let judged = golden::is_legal::<F>(document.value()).then_some(&sound);
        let mut case = |what: &str, bytes: &[u8], sound: Option<&ReadResult<F::State>>| {
            cases += 1;
            if let Err(error) = check::<F>(bytes, sound) {
                wrong.push(format!("{name}: {what}: {error}"));
            }
        };
        let bytes = document.text().as_bytes();
        for end in 0..bytes.len() {
            case("cut", &bytes[..end], None);
        }
        for place in (0..bytes.len()).step_by(FLIP_STRIDE) {
            for bit in 0..8 {
                let mut flipped = bytes.to_vec();
                flipped[place] ^= 1 << bit;
                case(&format!("bit {bit} of byte {place}"), &flipped, None);
            }
        }
        for pointer in pointers(document.value()) {
            let mut damages: Vec<Damage> = WRONG.map(|it| Damage::Replace(it.into())).into();
            let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            damages.extend([100, 5_000].map(|depth| Damage::Replace(deep(depth))));
            damages.extend([Damage::Remove, Damage::Twice]);
            for damage in damages {
                let text = render(document.value(), &pointer, &damage);
                let what = format!("{damage:?} at {pointer}");
                case(&what, text.as_bytes(), judged);
            }
        }
        for text in ["null", "true", "0", "\"\"", "[]", "{}", "[[[[]]]]"] {
            case(text, text.as_bytes(), None);
        }
        cases += whole::<F>(name, &document, &sound);
    }
    let some = &wrong[..wrong.len().min(10)];
    assert!(wrong.is_empty(), "{} wrong: {some:#?}", wrong.len());
    assert!(cases >= cases_min, "{cases} cases");
    println!("{}: {cases} damaged files", F::KIND);
}

/// Harmless changes of the file as a whole, and such that leave no JSON.
fn whole<F: StateFormat>(name: &str, document: &JsonDocument, sound: &ReadResult<F::State>) -> usize
where
    F::State: PartialEq + Debug,
{
    let text = document.text();
    let harmless = [
        format!("\u{feff}{text}"),
        text.replace('\n', "\r\n"),
        document.value().to_string(),
        format!("\n\n  {text}\n\n"),
    ];
    for text in &harmless {
        let read = F::read_state(&JsonDocument::parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(read.state, sound.state, "{name}");
        assert_eq!(read.findings, sound.findings, "{name}");
        assert_eq!(check::<F>(text.as_bytes(), Some(sound)), Ok(()), "{name}");
    }
    let ruined = [
        String::new(),
        "\u{feff}".into(),
        " \n\t ".into(),
        "\0".into(),
        format!("{text}\0"),
        format!("\0{text}"),
        text.replace(':', "\0:"),
        format!("{text}{text}"),
        format!("{text},"),
        format!("// {name}\n{text}"),
        text.replacen('{', "{,", 1),
        text.replace('"', "'"),
        "NaN".into(),
    ];
    for text in &ruined {
        let parsed = JsonDocument::parse(text.as_bytes());
        assert!(parsed.is_err(), "{name}: {text}");
    }
    harmless.len() + ruined.len()
}

/// One damaged file. `sound` is given where the damage must be found, or make no difference, or be
/// no damage.
fn check<F: StateFormat>(bytes: &[u8], sound: Option<&ReadResult<F::State>>) -> Result<(), String>
where
    F::State: PartialEq + Debug,
{
    let Ok(document) = JsonDocument::parse(bytes) else {
        return Ok(());
    };
    let read = match F::read_state(&document) {
        Ok(read) => read,
        Err(findings) => {
            let told = findings.last().map(|it| it.severity) == Some(Severity::Fatal);
            return told
                .then_some(())
                .ok_or_else(|| "refused without a reason".into());
        }
    };
    if let Some(sound) = sound
        && read.findings == sound.findings
        && read.state != sound.state
        && !golden::is_legal::<F>(document.value())
    {
        return Err("another state without a finding".into());
    }
    let mended = document.reconcile(&read.fixed);
    let mended = JsonDocument::parse(mended.text().as_bytes()).map_err(|it| it.to_string())?;
    if !values_equal(mended.value(), &read.fixed) {
        return Err(format!("is not what the repair says: {mended}"));
    }
    let again = reread::<F>(&mended)?;
    let guessed = read.findings.iter().any(|it| it.code == "rule_broken");
    if !guessed && again.state != read.state {
        return Err(format!("repaired to another state: {:?}", read.findings));
    }
    let mut value = mended.value().clone();
    F::write_state(&again.state, &mut value, NOW);
    let written = mended.reconcile(&value);
    let written = JsonDocument::parse(written.text().as_bytes()).map_err(|it| it.to_string())?;
    reread::<F>(&written).map_err(|error| format!("written: {error}"))?;
    Ok(())
}

/// Reads what was repaired: nothing repairable is left, and what is left is on the list.
fn reread<F: StateFormat>(document: &JsonDocument) -> Result<ReadResult<F::State>, String> {
    let read =
        F::read_state(document).map_err(|fatal| format!("fatal once repaired: {fatal:?}"))?;
    let known = |finding: &Finding| {
        let key = format!("{} {}", F::KIND, finding.code);
        UNREPAIRABLE.contains(&key.as_str()) || UNREPAIRABLE.contains(&finding.code)
    };
    let left = |finding: &&Finding| finding.repair.is_some() || !known(finding);
    match read.findings.iter().find(left) {
        Some(left) => Err(format!("not repaired: {left:?}")),
        None => Ok(read),
    }
}

#[derive(Debug)]
enum Damage {
    Replace(String),
    Remove,
    Twice,
}

/// The document as text, damaged at one place.
fn render(value: &Value, pointer: &str, damage: &Damage) -> String {
    fn walk(value: &Value, here: &str, pointer: &str, damage: &Damage, out: &mut String) {
        match value {
            _ if here == pointer
                && let Damage::Replace(text) = damage =>
            {
                out.push_str(text)
            }
            Value::Object(map) => {
                out.push('{');
                let mut comma = "";
                for (key, value) in map {
                    let place = child_pointer(here, key);
                    let times = match damage {
                        Damage::Remove if place == pointer => 0,
                        Damage::Twice if place == pointer => 2,
                        Damage::Remove | Damage::Twice | Damage::Replace(_) => 1,
                    };
                    for _ in 0..times {
                        out.push_str(comma);
                        out.push_str(&Value::from(key.as_str()).to_string());
                        out.push(':');
                        walk(value, &place, pointer, damage, out);
                        comma = ",";
                    }
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                let mut comma = "";
                for (index, value) in items.iter().enumerate() {
                    let place = format!("{here}/{index}");
                    if place == pointer && matches!(damage, Damage::Remove) {
                        continue;
                    }
                    out.push_str(comma);
                    walk(value, &place, pointer, damage, out);
                    comma = ",";
                }
                out.push(']');
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                out.push_str(&value.to_string());
            }
        }
    }
    let mut out = String::new();
    walk(value, "", pointer, damage, &mut out);
    out
}

/// Pointers to every value, the root first.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, here: String, all: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    walk(value, child_pointer(&here, key), all);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, format!("{here}/{index}"), all);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        all.push(here);
    }
    let mut all = Vec::new();
    walk(value, String::new(), &mut all);
    all
}
