//! Verbs on state files, asked by whoever looked a while ago, twice, wrongly, or at a file that is not what it seems.

use crate::fake_job_service::World;
use crate::taken::{done, empty, refused};
use crate::workspaces::context;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::{MemoryFolder, NewStep, NewTask};
use bowline_engine::operations::orchestrate::{Orchestration, OrchestrationOptions};
use bowline_engine::operations::thinking::ThinkingRun;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

fn named(name: &str) -> NewTask {
    NewTask {
        name: name.into(),
        ..NewTask::default()
    }
}

/// A memory with a task of two steps, and another that waits.
fn memory(root: &Path) -> MemoryFolder {
    let memory = MemoryFolder::in_folder(&context(), &root.join(".claude/memory"));
    for name in ["Map", "Guide"] {
        memory.task_new(&context(), &named(name)).unwrap();
    }
    for name in ["Walk", "Draw"] {
        let step = NewStep {
            name: name.into(),
            ..NewStep::default()
        };
        memory.step_add(&context(), step).unwrap();
    }
    memory
}

fn thinking(root: &Path) {
    let run = ThinkingRun::in_folder(&context(), root);
    run.create_run(&context(), "t-1", "Tea", "Sell tea")
        .unwrap();
}

fn look(world: &World, path: &str, kind: &str) -> Value {
    let files = world.get(path).json()["items"].clone();
    let mut files = files.as_array().unwrap().clone().into_iter();
    files.find(|it| it["kind"] == kind).unwrap()
}

fn offered(one: &Value, verb: &str) -> Option<Value> {
    let mut all = one["actions"].as_array().unwrap().iter();
    all.find(|it| it["verb"] == verb).cloned()
}

fn codes(one: &Value) -> Vec<&str> {
    let all = one["findings"].as_array().unwrap().iter();
    all.map(|it| it["code"].as_str().unwrap()).collect()
}

#[test]
fn a_link_out_of_the_workspace_is_neither_shown_nor_written() {
    let (world, path, root) = empty();
    let outside = world.folder.path().join("precious.txt");
    std::fs::write(&outside, "precious").unwrap();
    symlink(&outside, root.join("thinking_state.json")).unwrap();
    let path = format!("{path}/thinking");
    let one = look(&world, &path, "thinking");
    assert_eq!(codes(&one), ["outside_workspace"]);
    assert_eq!((&one["actions"], &one["state"]), (&json!([]), &Value::Null));
    for verb in ["start", "repair", "evaluate"] {
        let body = json!({"id": "planning", "values": {"trust": 1.0}});
        let answer = refused(&world, &format!("{path}/{verb}"), &body);
        assert_eq!(answer, (409, "outside_workspace".into()), "{verb}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    let beside = std::fs::read_dir(world.folder.path()).unwrap();
    let beside = beside.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert!(
        beside
            .into_iter()
            .all(|it| !it.starts_with("precious.txt."))
    );
    // One that stays inside is a name for the file.
    std::fs::remove_file(root.join("thinking_state.json")).unwrap();
    std::fs::create_dir(root.join("kept")).unwrap();
    thinking(&root.join("kept"));
    symlink("kept/thinking_state.json", root.join("thinking_state.json")).unwrap();
    let body = json!({"id": "planning", "file": root.join("thinking_state.json")});
    done(&world, &format!("{path}/start"), &body);
}

/// What is not offered is not done: a damaged file is repaired by whoever asks for that, and by nobody else.
#[test]
fn a_damaged_file_takes_no_verb_but_its_repair() {
    let (world, path, root) = empty();
    thinking(&root);
    memory(&root);
    let cases = [
        (
            "thinking",
            "start",
            json!({"id": "planning"}),
            "thinking_state.json",
        ),
        (
            "memory",
            "step-start",
            json!({"id": "1"}),
            ".claude/memory/task-state.json",
        ),
    ];
    for (kind, verb, body, file) in cases {
        let (path, file) = (format!("{path}/{kind}"), root.join(file));
        for damage in ["", "garbage", "{\"task_id\": ", "[]", "null"] {
            std::fs::write(&file, damage).unwrap();
            let answer = refused(&world, &format!("{path}/{verb}"), &body);
            assert_eq!(answer, (409, "damaged".into()), "{kind} {damage}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), damage);
        }
        let repair = json!({ "file": file });
        let repaired = done(&world, &format!("{path}/repair"), &repair);
        assert!(!repaired["told"][0].as_str().unwrap().is_empty());
        done(&world, &format!("{path}/{verb}"), &body);
    }
}

#[test]
fn what_happened_to_a_file_is_told_to_whoever_looks_and_whoever_goes_on() {
    let (world, path, root) = empty();
    memory(&root);
    let file = root.join(".claude/memory/task-state.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"Guide\"", "\"Atlas\"")).unwrap();
    let memory = format!("{path}/memory");
    let one = look(&world, &memory, "task-state");
    assert_eq!(codes(&one), ["outside_edit"]);
    assert_eq!(
        one["titles"].as_object().unwrap().values().next(),
        Some(&json!("Atlas"))
    );
    let started = done(&world, &format!("{memory}/step-start"), &json!({"id": "1"}));
    assert_eq!(
        started["told"],
        json!(["the file was changed outside Bowline"])
    );
    let run = DevelopRun::in_folder(&context(), &root);
    run.start_run(&context(), "A pier", false).unwrap();
    let file = root.join(".develop-workflow/state.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("false", "true")).unwrap();
    let one = look(&world, &format!("{path}/develop"), "develop");
    assert!(codes(&one).contains(&"not_believed"), "{:?}", codes(&one));
}

/// Of two decisions on the same version, one is made and the other is refused.
#[test]
fn of_all_who_saw_the_same_version_one_is_done() {
    let (world, path, root) = empty();
    memory(&root);
    let path = format!("{path}/memory");
    let one = look(&world, &path, "task-state");
    let seen = one["version"].to_string();
    let (add, file) = (format!("{path}/step-add"), one["path"].clone());
    let ask = |number: usize| {
        let body = json!({"text": format!("step {number}"), "file": file});
        let answer = world
            .person()
            .send_request("POST", &add, Some(&body), &[("if-match", &seen)]);
        let answer = answer.unwrap();
        (answer.status, answer.json()["error"]["code"].clone())
    };
    let answers: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || ask(number)))
            .collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (good, late): (Vec<_>, Vec<_>) = answers.iter().partition(|it| it.0 == 200);
    assert_eq!(good.len(), 1, "{answers:?}");
    assert!(
        late.iter().all(|it| *it == &(409, json!("changed"))),
        "{answers:?}"
    );
    let body = json!({"text": "one more"});
    let rubbish = [("if-match", "rubbish")];
    let answer = world
        .person()
        .send_request("POST", &add, Some(&body), &rubbish);
    assert_eq!(answer.unwrap().status, 400);
}

#[test]
fn a_wrong_value_is_answered_with_the_right_ones() {
    let (world, path, root) = empty();
    thinking(&root);
    memory(&root);
    let cases = [
        (
            "thinking/start",
            json!({"id": "nope"}),
            "planning, selection, creation, reflection",
        ),
        ("memory/step-start", json!({"id": "-1"}), "1, 2"),
        ("memory/step-start", json!({"id": "+1"}), "1, 2"),
        (
            "memory/finish",
            json!({"code": "nope"}),
            "success, failure, partial",
        ),
    ];
    for (verb, body, known) in cases {
        let answer = world.post(&format!("{path}/{verb}"), &body);
        let error = answer.json()["error"].clone();
        assert_eq!(
            (answer.status, &error["code"]),
            (400, &json!("bad_input")),
            "{verb}"
        );
        assert_eq!(error["hint"], format!("use one of {known}"), "{verb}");
    }
    let long = "x".repeat(200_000);
    for verb in ["memory/task-drop", "thinking/start"] {
        let answer = world.post(&format!("{path}/{verb}"), &json!({ "id": long }));
        assert_eq!(answer.status, 400, "{verb}");
        assert!(answer.json().to_string().len() < 2_000, "{verb}");
    }
}

#[test]
fn what_asks_for_nothing_is_refused() {
    let (world, path, root) = empty();
    thinking(&root);
    std::fs::write(
        root.join("TASKS.md"),
        "# TASKS: pier\n\n## Phase 1: All\n### [ ] T1.1: Planks\n",
    )
    .unwrap();
    let run = Orchestration::in_folder(&context(), &root);
    run.create_run(&context(), &OrchestrationOptions::default())
        .unwrap();
    done(
        &world,
        &format!("{path}/thinking/start"),
        &json!({"id": "planning"}),
    );
    let cases = [
        ("thinking/output", json!({"id": "planning"})),
        ("thinking/evaluate", json!({"values": {}})),
        ("thinking/quality", json!({})),
        ("orchestrate/fail", json!({"id": "T1.1"})),
        ("thinking/start", json!([])),
    ];
    for (verb, body) in cases {
        let answer = refused(&world, &format!("{path}/{verb}"), &body);
        assert_eq!(answer, (400, "bad_input".into()), "{verb}");
    }
    let huge = json!({"text": "visits", "values": {"actual": 1e308, "target": 1e-308}});
    let answer = refused(&world, &format!("{path}/thinking/feedback"), &huge);
    assert_eq!(answer, (409, "bad_target".into()));
    let odd = refused(&world, &format!("{path}/thinking/%ff"), &json!({}));
    assert_eq!(odd, (404, "no_route".into()));
    let wrong = world.post(&format!("{path}/thinking/transitions"), &json!({}));
    assert_eq!(
        (wrong.status, &wrong.json()["error"]["hint"]),
        (405, &json!("use GET"))
    );
}

/// What cannot be had back says so before it is done, and a way back is offered where there is one.
#[test]
fn what_is_grave_says_so_and_only_a_way_back_that_is_one_is_offered() {
    let (world, path, root) = empty();
    memory(&root);
    let path = format!("{path}/memory");
    let state = || look(&world, &path, "task-state");
    let one = state();
    assert_eq!(offered(&one, "finish").unwrap()["grave"], true);
    let drop = offered(&one, "task-drop").unwrap();
    assert_eq!(drop["grave"], true);
    assert_eq!(one["titles"][drop["ids"][0].as_str().unwrap()], "Guide");
    assert!(offered(&one, "undo").is_some());
    for command in one["next"].as_array().unwrap() {
        let command = command.as_str().unwrap();
        assert!(
            command.contains(&format!(" -C {} ", root.display())),
            "{command}"
        );
    }
    for verb in ["step-start", "step-complete"] {
        for id in ["1", "2"] {
            done(&world, &format!("{path}/{verb}"), &json!({ "id": id }));
        }
    }
    assert_eq!(offered(&state(), "finish").unwrap()["grave"], false);
    done(&world, &format!("{path}/finish"), &json!({}));
    // The task is in the history, which no undo of this file takes it out of.
    assert_eq!(offered(&state(), "undo"), None);
}

#[test]
fn a_phase_tells_what_it_runs_before_it_lands() {
    let (world, path, root) = empty();
    std::fs::create_dir(root.join(".git")).unwrap();
    let settings = "[orchestrate]\nchecks = [[\"test\", \"-f\", \"all green\"], [\"true\"]]\n";
    std::fs::write(root.join("bowline.toml"), settings).unwrap();
    std::fs::write(
        root.join("TASKS.md"),
        "# TASKS: pier\n\n## Phase 1: All\n### [ ] T1.1: Planks\n",
    )
    .unwrap();
    let run = Orchestration::in_folder(&context(), &root);
    run.create_run(&context(), &OrchestrationOptions::default())
        .unwrap();
    run.force_complete(&context(), "T1.1", None).unwrap();
    let one = look(&world, &format!("{path}/orchestrate"), "orchestrate");
    let finish = offered(&one, "phase-finish").unwrap();
    assert_eq!(finish["runs"], "test -f 'all green'\ntrue");
}

#[test]
fn a_name_has_an_end() {
    let (world, path, root) = empty();
    memory(&root);
    let path = format!("{path}/memory/task-new");
    let long = "x".repeat(300_000);
    let answer = refused(&world, &path, &json!({ "text": long }));
    assert_eq!(answer, (409, "value_too_large".into()));
    let fair = json!({"text": "x".repeat(200_000)});
    let all: Vec<u16> = (0..40).map(|_| world.post(&path, &fair).status).collect();
    assert!(
        all.starts_with(&[200; 10]) && all.ends_with(&[409; 10]),
        "{all:?}"
    );
}
