//! Values, ids and names as people give them: what is meant is taken, what cannot be kept is refused.

use crate::environment::TestEnvironment;
use serde_json::Value;

const STATE: &str = ".claude/memory/task-state.json";

fn both(world: &TestEnvironment, lines: &[&str]) -> String {
    let korean: Vec<String> = lines
        .iter()
        .map(|line| format!("{line} --lang ko"))
        .collect();
    let korean: Vec<&str> = korean.iter().map(String::as_str).collect();
    format!("{}\n{}", world.session(lines), world.session(&korean))
}

#[test]
fn usage_in_english() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "knot",
        "thinkin",
        "thinking start --json",
        "thinking start",
        "thinking start sleeping",
        "thinking status --none",
        "memory step complete x",
        "memory task new T --plan p --step name=a",
        "memory --json",
    ]));
}

#[test]
fn a_title_is_the_id_unless_given() {
    let world = TestEnvironment::new();
    let made = world.json("thinking new essay-002 --json", 0);
    assert_eq!(made["state"]["title"], "essay-002");
}

#[test]
fn negative_numbers_are_values() {
    let world = TestEnvironment::new();
    for (line, path) in [
        (
            "memory context set shared_data.depth -5",
            "context get shared_data.depth",
        ),
        (
            "memory agent set scout cache.depth -5",
            "agent get scout cache.depth",
        ),
    ] {
        world.quietly(line, 0);
        assert_eq!(world.json(&format!("memory {path} --json"), 0), -5);
    }
    world.quietly("memory context append shared_data.depths -1.5", 0);
    let depths = world.json("memory context get shared_data.depths --json", 0);
    assert_eq!(depths[0], -1.5);
}

#[test]
fn numbers_that_would_lose_digits_are_refused() {
    let world = TestEnvironment::new();
    world.quietly("memory init", 0);
    let before = world.everything();
    check!(both(
        &world,
        &[
            "memory context set shared_data.n 18446744073709551616",
            r#"memory agent append scout cache.n '{"a": [1, -9223372036854775809]}'"#,
        ]
    ));
    assert_eq!(before, world.everything());
    for (given, kept) in [
        ("18446744073709551615", "18446744073709551615"),
        ("'\"18446744073709551616\"'", "\"18446744073709551616\""),
        (
            r#"'{"a \" 99999999999999999999": 1}'"#,
            r#"{"a \" 99999999999999999999":1}"#,
        ),
        (
            "'room 99999999999999999999'",
            "\"room 99999999999999999999\"",
        ),
        ("1e30", "1e+30"),
    ] {
        world.quietly(&format!("memory context set shared_data.n {given}"), 0);
        let value = world.json("memory context get shared_data.n --json", 0);
        assert_eq!(value.to_string(), kept, "{given}");
    }
}

#[test]
fn repeated_keys_are_refused() {
    let world = TestEnvironment::begun();
    let before = world.everything();
    check!(both(
        &world,
        &[
            "memory task new T --step name=a,name=b",
            "thinking evaluate practicality=8 practicality=9",
        ]
    ));
    assert_eq!(before, world.everything());
}

#[test]
fn deps_in_a_plan_are_dependencies() {
    let world = TestEnvironment::new();
    let plan = |steps: &str| world.write("plan.json", format!("{{\"steps\": [{steps}]}}"));
    plan(r#"{"name": "a"}, {"name": "b", "deps": [1]}"#);
    let made = world.json("memory task new T --plan plan.json --json", 0);
    let steps = &made["state"]["current_task"]["plan"]["steps"];
    assert_eq!(steps[1]["dependencies"], serde_json::json!([1]));
    plan(r#"{"name": "a", "deps": "1"}"#);
    let list = both(&world, &["memory task new U --plan plan.json"]);
    plan(r#"{"name": "a", "deps": [1], "dependencies": [1]}"#);
    check!(format!(
        "{list}\n{}",
        both(&world, &["memory task new U --plan plan.json"])
    ));
}

#[test]
fn a_waiting_task_by_the_beginning_of_its_id() {
    let world = TestEnvironment::new();
    for name in ["First", "Second", "Third"] {
        world.quietly(&format!("memory task new {name}"), 0);
    }
    let ids: Vec<String> =
        serde_json::from_str::<Value>(&world.read(STATE)).unwrap()["pending_tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect();
    let refused = world.json("memory task drop task- --json", 2);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(ids.iter().all(|id| message.contains(id)), "{message}");
    let refused = world.run("memory task drop task- --lang ko");
    assert!(refused.contains("id가 여럿입니다"), "{refused}");
    // All but the last letter is what two ids have in common; with it, one is meant.
    world.quietly(&format!("memory task drop {}", ids[0]), 0);
    let most = &ids[1][..ids[1].len() - 1];
    world.quietly(&format!("memory task drop {most}"), 0);
    assert_eq!(
        world.json("status task-state --json", 0)["state"]["pending_tasks"],
        serde_json::json!([])
    );
}

#[test]
fn what_others_wrote_does_not_reach_the_terminal() {
    let world = TestEnvironment::new();
    let long = "a very long name ".repeat(8);
    world.quietly(
        &format!("memory task new T --goal G --step name=short --step 'name={long}'"),
        0,
    );
    let state = world
        .read(STATE)
        .replace("\"short\"", "\"two\\nlines\\u001b[31m\"")
        .replace("\"T\"", "\"red\\u001b[31m\\ttab\"");
    world.write(STATE, state);
    let text = world.data("memory status", 0);
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains("two lines\u{fffd}[31m"), "{text}");
    assert!(text.contains("red\u{fffd}[31m tab"), "{text}");
    let columns: Vec<usize> = text
        .lines()
        .filter(|line| line.starts_with("  · "))
        .filter_map(|line| line.find("pending").map(|at| line[..at].chars().count()))
        .collect();
    assert_eq!(columns.len(), 2, "{text}");
    assert_eq!(columns[0], columns[1], "{text}");
    assert!(text.contains('…'), "{text}");
}

#[test]
fn the_doctor_does_not_send_in_circles() {
    let world = TestEnvironment::new();
    world.quietly("memory init", 0);
    let newer = world
        .read(STATE)
        .replacen("\"version\": \"1.", "\"version\": \"99.", 1);
    world.write(STATE, &newer);
    let status = world.json("status task-state --json", 0);
    assert_eq!(status["next"], serde_json::json!([]));
    let told = both(&world, &["doctor task-state", "doctor --repair task-state"]);
    assert!(!told.contains("next: bowline doctor --repair"), "{told}");
    assert!(!told.contains("다음: bowline doctor --repair"), "{told}");
    assert!(told.contains("next: update Bowline"), "{told}");
    assert!(told.contains("다음: 이 파일을 바꾸려면"), "{told}");
}

#[test]
fn explanations_in_one_language_or_as_json() {
    let world = TestEnvironment::new();
    check!(both(&world, &["explain io", "explain io --json"]));
    let all = world.json("explain --json", 0);
    assert!(
        all["codes"]
            .as_array()
            .unwrap()
            .contains(&Value::from("io"))
    );
    let script = world.json("completions bash --json", 0);
    assert!(script["script"].as_str().unwrap().contains("_bowline"));
}

/// Every command that is advised for a file in a folder with an odd name is run by a shell as it stands.
#[test]
fn hints_with_paths_can_be_pasted() {
    let world = TestEnvironment::new();
    let folder = "sp ace/한글 'q";
    let file = format!("{folder}/thinking_state.json");
    world.write(&format!("{folder}/keep"), "");
    let made = world
        .bowline("thinking new odd-1")
        .current_dir(world.path(folder))
        .status();
    assert!(made.unwrap().success());
    let told = |words: &[&str]| {
        let mut command = world.bowline("");
        command.args(words).current_dir(world.path(folder));
        let output = command.output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let absolute = world.path(&file).display().to_string();
    let word = format!("'{}'", absolute.replace('\'', r"'\''"));
    for lang in ["en", "ko"] {
        let text = told(&["restore", "99", "--lang", lang]);
        assert!(text.contains(&format!("bowline history {word}")), "{text}");
        assert!(!text.contains("'bowline history"), "{text}");
    }
    world.write(&file, "{");
    for lang in ["en", "ko"] {
        let line = format!(": bowline doctor --repair {word}\n");
        for verb in ["status", "doctor"] {
            let text = told(&[verb, "--lang", lang]);
            assert!(text.contains(&line), "{verb}: {text}");
        }
    }
    let program = env!("CARGO_BIN_EXE_bowline");
    let line = format!("exec {program} doctor --repair {word}");
    let repaired = world.program("sh").args(["-c", &line]).output().unwrap();
    assert!(repaired.status.success(), "{repaired:?}");
}

#[test]
fn a_queued_task_comes_from_nowhere() {
    let world = TestEnvironment::new();
    for name in ["First", "Second"] {
        let made = world.json(&format!("memory task new {name} --json"), 0);
        assert_eq!(made["from"], Value::Null, "{name}");
    }
}

/// Two steps with one number: no repair can know which is meant.
#[test]
fn what_no_repair_helps_is_for_a_person() {
    let world = TestEnvironment::new();
    world.quietly("memory task new T --step name=a --step name=b", 0);
    world.write(STATE, world.read(STATE).replace("\"id\": 2", "\"id\": 1"));
    let told = both(&world, &["doctor task-state", "doctor --repair task-state"]);
    assert!(!told.contains("doctor --repair ["), "{told}");
    let path = format!("[DIR]/project/{STATE}");
    let english =
        format!("next: a person edits {path} at /current_task, then: bowline doctor {path}");
    assert_eq!(told.matches(&english).count(), 2, "{told}");
    assert_eq!(told.matches("다음: 사람이 ").count(), 2, "{told}");
}
