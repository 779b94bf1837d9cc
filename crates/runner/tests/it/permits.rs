//! Tools that a client asks leave for, through the loop.

use crate::world::{BOUND, World};
use bowline_formats::agents::AgentProtocol;
use bowline_formats::permission_rule::ToolPermissionRule;
use bowline_machines::job::{Command, PermissionStatus};
use bowline_runner::jobs::{JobRequest, RequestError};
use bowline_store::{NO_JOB, PermissionRow, RecordBody, RecordKind, RecordQuery};
use bowline_test_support::wait_until;

/// A client that asks leave for the tools in `asks`, all at once, and writes down what it is
/// answered.
const CLIENT: &str = r#"
want() { printf '{"type":"control_request","request_id":"%s","request":{"subtype":"can_use_tool","tool_name":"%s","input":{"command":"%s"}}}\n' "$1" "$2" "$3"; }
text() { printf '{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$1"; }
hear() { IFS= read -r line || exit 9; printf '%s\n' "$line" >> answers; }
wait_for '"type":"user"'
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
"#;

const ONE: &str = r#"
want r1 Bash 'cargo test'
hear
text '=== CUSTOM TASK COMPLETE ==='
wait_for never
"#;

fn world(script: &str) -> World {
    World::speaking(
        AgentProtocol::ClaudeStreamJson,
        &format!("{CLIENT}{script}"),
        2,
    )
}

/// What the client of a task was answered, line by line, once there are so many lines.
fn answers(world: &World, id: &str, count: usize) -> Vec<serde_json::Value> {
    let file = world.folder.path().join(format!("workspaces/{id}/answers"));
    let lines = || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let there = wait_until(BOUND, || lines().len() == count);
    assert!(there, "{:?}", lines());
    let read = |line: &String| serde_json::from_str(line).unwrap();
    lines().iter().map(read).collect()
}

fn rows(world: &World, id: &str) -> Vec<PermissionRow> {
    let of = |body: RecordBody| match body {
        RecordBody::Permission(row) => row,
        other => panic!("{other:?}"),
    };
    let all = world.records(id, RecordKind::Permission);
    all.into_iter().map(of).collect()
}

fn rule(command: &str, denies: bool) -> JobRequest {
    let rule = ToolPermissionRule {
        tool: "Bash".into(),
        input: [("command".to_owned(), command.to_owned())].into(),
        denies,
        reason: if denies {
            "not here".into()
        } else {
            String::new()
        },
        task: None,
    };
    JobRequest::AddRule(Box::new(rule))
}

#[test]
fn a_person_answers_for_the_exact_input_and_a_restart_in_between_changes_nothing() {
    let world = world(ONE);
    let id = world.create("custom");
    let asked = world.open(&id, RecordKind::Permission);
    world.until(&id, ("in_progress", "waiting_question"));
    let RecordBody::Permission(row) = &asked.body else {
        panic!("{asked:?}");
    };
    assert_eq!((row.attempt, row.tool.as_str()), (1, "Bash"));
    assert_eq!(row.input, r#"{"command":"cargo test"}"#);
    let world = world.again();
    let permission = asked.id;
    let permit = || {
        world.decide(Command::Permit {
            permission: permission.clone(),
        })
    };
    permit().unwrap();
    world.until(&id, ("completed", "completed"));
    assert!(matches!(permit(), Err(RequestError::Rule(_))), "once");
    let heard = answers(&world, &id, 1);
    let response = &heard[0]["response"];
    assert_eq!(response["request_id"], "r1");
    assert_eq!(response["response"]["behavior"], "allow");
    assert_eq!(
        response["response"]["updatedInput"]["command"],
        "cargo test"
    );
    assert_eq!(world.row(&id).job.attempt, 1, "no second process");
    let row = rows(&world, &id).remove(0);
    assert_eq!(
        (row.status.name(), row.by.as_deref()),
        ("permitted", Some("person"))
    );
}

#[test]
fn it_dies_with_its_attempt() {
    let script = "want r1 Bash ls; hear; wait_for never";
    let world = world(script);
    let id = world.create("custom");
    let permission = world.open(&id, RecordKind::Permission).id;
    let cancelled = world.ask(JobRequest::Command(id.clone(), Command::Cancel));
    assert!(cancelled.is_ok(), "{cancelled:?}");
    let late = world.decide(Command::Permit { permission });
    assert!(matches!(late, Err(RequestError::Rule(_))), "{late:?}");
    let row = rows(&world, &id).remove(0);
    assert_eq!(row.status, PermissionStatus::Withdrawn);
    let open = RecordQuery {
        open: true,
        ..RecordQuery::default()
    };
    assert_eq!(world.jobs().store().list_records(&open).unwrap(), []);
}

#[test]
fn several_are_answered_together_or_none_is() {
    let script = r#"
want r1 Bash 'cargo test'; want r2 Bash 'cargo build'; want r3 Bash 'cargo run'
hear; hear; hear
text '=== CUSTOM TASK COMPLETE ==='
wait_for never
"#;
    let world = world(script);
    let id = world.create("custom");
    let all = || -> Vec<String> {
        let wanted = RecordQuery {
            job: Some(id.clone()),
            kind: Some(RecordKind::Permission),
            open: true,
        };
        let rows = world.jobs().store().list_records(&wanted).unwrap();
        rows.into_iter().map(|it| it.id).collect()
    };
    assert!(wait_until(BOUND, || all().len() == 3));
    let ids = all();
    let decide = |permissions: Vec<String>| {
        world.ask(JobRequest::Decide {
            permissions,
            denied: Some("later".into()),
        })
    };
    let mut with_a_stranger = ids.clone();
    with_a_stranger.push("perm_nobody".into());
    assert!(matches!(
        decide(with_a_stranger),
        Err(RequestError::NoSuch { .. })
    ));
    assert_eq!(all(), ids, "nothing was decided");
    decide(ids.clone()).unwrap();
    let heard = answers(&world, &id, 3);
    for answer in heard {
        assert_eq!(answer["response"]["response"]["behavior"], "deny");
        assert_eq!(answer["response"]["response"]["message"], "later");
    }
    assert!(matches!(decide(ids), Err(RequestError::Rule(_))), "once");
}

#[test]
fn a_rule_answers_what_waits_and_what_comes_and_a_denial_comes_first() {
    let script = r#"
want r1 Bash 'cargo test --all'; hear
want r2 Bash 'cargo test; rm -r shop'; hear
want r3 Bash 'cargo test -p tea'; hear
text '=== CUSTOM TASK COMPLETE ==='
wait_for never
"#;
    let world = world(script);
    let id = world.create("custom");
    world.open(&id, RecordKind::Permission);
    let made = world.ask(rule("cargo test*", false)).unwrap().made.unwrap();
    // The second one is no use of one command: a person is asked.
    answers(&world, &id, 1);
    let second = world.open(&id, RecordKind::Permission);
    world.ask(rule("* -p tea", true)).unwrap();
    // Rules are as durable as what they answer.
    let world = world.again();
    let permission = second.id;
    let reason = "no".to_owned();
    world.decide(Command::Deny { permission, reason }).unwrap();
    world.until(&id, ("completed", "completed"));
    // All of one second: distinguished by what was asked.
    let settled = |command: &str| {
        let input = serde_json::json!({ "command": command }).to_string();
        let row = rows(&world, &id).into_iter().find(|it| it.input == input);
        row.map(|row| (row.status.name(), row.by.unwrap_or_default()))
            .unwrap()
    };
    let of = |status, by: &str| (status, by.to_owned());
    assert_eq!(settled("cargo test --all"), of("permitted", &made));
    assert_eq!(settled("cargo test; rm -r shop"), of("denied", "person"));
    let (status, by) = settled("cargo test -p tea");
    assert_eq!(status, "denied");
    assert!(by.starts_with("rule_") && by != made, "{by}");
    let heard = answers(&world, &id, 3);
    assert_eq!(heard[2]["response"]["response"]["message"], "not here");
    world.ask(JobRequest::RemoveRule(made.clone())).unwrap();
    let rules = RecordQuery {
        job: Some(NO_JOB.into()),
        kind: Some(RecordKind::Rule),
        open: false,
    };
    let uses: Vec<(bool, u64)> = world
        .jobs()
        .store()
        .list_records(&rules)
        .unwrap()
        .into_iter()
        .map(|it| match it.body {
            RecordBody::Rule(row) => (it.open, row.uses),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(uses.len(), 2);
    assert!(
        uses.contains(&(false, 1)) && uses.contains(&(true, 1)),
        "{uses:?}"
    );
}
