//! Every verb in every state of a run, through the command line: it does what the machine's table says.

use crate::environment::TestEnvironment;
use bowline_engine::formats::StateFormat as _;
use bowline_engine::formats::develop::DevelopFile;
use bowline_engine::formats::json::JsonDocument;
use bowline_engine::machines::develop::DevelopMachine;
use bowline_engine::machines::table::{MachineCatalogue as _, PAST_TIME, TableCell, table_rows};
use serde_json::{Value, json};

/// The command line of each command of the catalogue, and whether an agent gives it.
///
/// A run without a seal has no sealed command; a person's own takes its place.
const LINES: [(&str, &str, bool); 25] = [
    ("start", "develop start 'tea shop'", false),
    ("start --fresh", "develop start 'tea shop' --fresh", false),
    (
        "start --fresh by an agent",
        "develop start 'tea shop' --fresh",
        true,
    ),
    (
        "review --checkpoint cp-1",
        "develop review --checkpoint cp-1",
        false,
    ),
    (
        "gate pass review_clean_pass",
        "develop gate pass review_clean_pass --run true",
        false,
    ),
    (
        "gate pass architect_verified",
        "develop gate pass architect_verified --run true",
        false,
    ),
    (
        "gate pass re_review_clean",
        "develop gate pass re_review_clean --run true",
        false,
    ),
    (
        "gate pass review_clean_pass --run by an agent",
        "develop gate pass review_clean_pass --run true",
        true,
    ),
    (
        "gate pass review_clean_pass without evidence",
        "develop gate pass review_clean_pass",
        false,
    ),
    (
        "gate reset review_clean_pass",
        "develop gate reset review_clean_pass",
        false,
    ),
    (
        "gate reset re_review_clean",
        "develop gate reset re_review_clean",
        false,
    ),
    ("implement", "develop implement --strategy subagent", false),
    (
        "checkpoint start cp-1",
        "develop checkpoint start cp-1",
        true,
    ),
    (
        "checkpoint start cp-1 --override",
        "develop checkpoint start cp-1 --override 'design changed'",
        false,
    ),
    (
        "checkpoint start cp-1 --override by an agent",
        "develop checkpoint start cp-1 --override 'design changed'",
        true,
    ),
    (
        "checkpoint pass cp-1",
        "develop checkpoint pass cp-1 --run true",
        true,
    ),
    ("checkpoint fail cp-1", "develop checkpoint fail cp-1", true),
    (
        "checkpoint fail cp-1, DESIGN_MISMATCH",
        "develop checkpoint fail cp-1 --class DESIGN_MISMATCH",
        true,
    ),
    ("pr", "develop pr", true),
    ("done", "develop done", true),
    ("back DESIGN", "develop back DESIGN", false),
    ("back REVIEW by an agent", "develop back REVIEW", true),
    ("back IMPLEMENT", "develop back implement", true),
    ("reset", "develop reset", false),
    ("reset by an agent", "develop reset", true),
];

/// Commands of the catalogue that run something and are tested elsewhere, and one whose state has to be read first.
const ELSEWHERE: [&str; 3] = [
    "gate pass review_clean_pass, red",
    "checkpoint pass cp-1, red",
    "adopt",
];

#[test]
fn every_command_of_the_machine_has_a_line() {
    for (name, _) in DevelopMachine::sample_commands() {
        let here = LINES.iter().any(|(known, ..)| *known == name);
        assert!(here || ELSEWHERE.contains(&name), "{name} is not tested");
    }
}

#[test]
fn every_verb_in_every_state() {
    let table = table_rows::<DevelopMachine>();
    let mut tried = std::collections::BTreeSet::new();
    let mut hints = 0;
    for (name, state) in DevelopMachine::sample_states() {
        let world = TestEnvironment::new();
        if state.is_some() {
            let mut value = json!({});
            DevelopFile::write_state(&state, &mut value, PAST_TIME);
            world.write(
                ".develop-workflow/state.json",
                JsonDocument::new(value).text(),
            );
        }
        let before = world.everything();
        let world = world.with("BOWLINE_CLOCK", "2026-01-01T11:00:00Z");
        for (command, line, by_agent) in LINES {
            let row = table
                .iter()
                .find(|row| row.state == name && row.command == command)
                .unwrap();
            let mut bowline = world.bowline(&format!("--dry-run --json {line}"));
            if by_agent {
                bowline.env("CLAUDECODE", "1");
            }
            let output = bowline.output().unwrap();
            let told = world.told(line, &output);
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            match &row.cell {
                TableCell::Moves { to, .. } => {
                    let code = output.status.code();
                    assert_eq!(code, Some(0), "{name}: {command}\n{told}");
                    let next = serde_json::to_string(&answer["state"]).unwrap();
                    let next = JsonDocument::parse(next.as_bytes()).unwrap();
                    let label = match &answer["state"] {
                        Value::Null => DevelopMachine::state_label(&None),
                        _ => DevelopMachine::state_label(
                            &DevelopFile::read_state(&next).unwrap().state,
                        ),
                    };
                    assert_eq!(&label, to, "{name}: {command}\n{told}");
                }
                TableCell::Refused { code, .. } => {
                    // A run that is not there is a file that is not there.
                    let wanted = if *code == "no_run" { "no_file" } else { code };
                    assert_eq!(answer["error"]["code"], wanted, "{name}: {command}\n{told}");
                    let exit = if *code == "no_run" { 3 } else { 1 };
                    assert_eq!(
                        output.status.code(),
                        Some(exit),
                        "{name}: {command}\n{told}"
                    );
                    let hint = answer["error"]["hint"].as_str().unwrap().to_owned();
                    if tried.insert((name, hint.clone())) {
                        hints += world.try_hints(&format!("{name}: {command}"), &hint);
                    }
                }
            }
        }
        assert_eq!(
            before,
            world.everything(),
            "{name}: a dry run wrote something"
        );
    }
    assert!(hints > 10, "{hints}");
}
