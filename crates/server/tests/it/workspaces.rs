//! State files of the other four kinds.

use crate::desk::World;
use bowline_engine::Context;
use bowline_engine::machines::Actor;
use bowline_engine::machines::thinking::Stage;
use bowline_engine::operations::memory::{MemoryFolder, NewStep, NewTask};
use bowline_engine::operations::orchestrate::{Begin, Orchestration};
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_server::client::Client;
use bowline_words::Lang;
use serde_json::{Value, json};

fn with_run() -> (World, String) {
    let world = World::with(|folder| {
        let root = folder.join("project");
        std::fs::create_dir_all(&root).unwrap();
        let run = ThinkingRun::at(&context(), &root);
        run.create(&context(), "t-1", "Tea", "Sell tea").unwrap();
        vec![root]
    });
    let list = world.get("/api/workspaces").json();
    assert_eq!(list["items"][0]["kinds"], json!(["thinking"]));
    let id = list["items"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

fn context() -> Context {
    Context {
        actor: Some(Actor::Person),
        ..Context::from_environment("test")
    }
}

#[test]
fn a_run_is_shown_and_moved() {
    let (world, id) = with_run();
    let path = format!("/api/workspaces/{id}/thinking");
    let state = || world.get(&path).json()["items"][0].clone();
    assert_eq!(state()["status"], "pending");
    let started = world.post(&format!("{path}/start"), &json!({"id": "planning"}));
    assert_eq!(started.status, 200, "{}", started.json());
    assert_eq!(started.json()["to"], "in_progress");
    assert_eq!(state()["status"], "in_progress");
    let again = world.post(&format!("{path}/start"), &json!({"id": "planning"}));
    assert_eq!(
        (again.status, again.json()["error"]["code"].clone()),
        (409, json!("already_in_progress"))
    );
    let lines = world.get(&format!("{path}/transitions")).json();
    let triggers: Vec<&Value> = lines["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["trigger"])
        .collect();
    assert_eq!(triggers.last(), Some(&&json!("START")));
    let odd = world.post(&format!("{path}/fly"), &json!({}));
    assert_eq!(
        (odd.status, odd.json()["error"]["code"].clone()),
        (404, json!("no_such_verb"))
    );
    let lacking = world.post(&format!("{path}/start"), &json!({}));
    assert_eq!(
        (lacking.status, lacking.json()["error"]["code"].clone()),
        (400, json!("bad_input"))
    );
}

/// A change by anybody else reaches whoever listens.
#[test]
fn a_hand_edit_is_told() {
    let (world, id) = with_run();
    let root = world.folder.path().join("project");
    let client = world.person();
    let (heard, hears) = std::sync::mpsc::channel();
    let listening = std::thread::spawn(move || {
        client.events("/api/events", None, |name, _, data| {
            heard.send((name.to_owned(), data.to_owned())).unwrap();
            name != "workspace"
        })
    });
    assert_eq!(hears.recv().unwrap().0, "hello");
    ThinkingRun::at(&context(), &root)
        .start(&context(), Stage::Planning, None)
        .unwrap();
    let bound = std::time::Duration::from_secs(20);
    let (name, data) = hears
        .recv_timeout(bound)
        .expect("a change of the file is told");
    assert_eq!(name, "workspace");
    let data: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["data"], json!({"workspaceId": id, "kind": "thinking"}));
    listening.join().unwrap().unwrap();
}

#[test]
fn a_task_that_nobody_was_started_for_has_printed_nothing() {
    let world = World::with(|folder| {
        let root = folder.join("project");
        std::fs::create_dir_all(&root).unwrap();
        let plan = "# TASKS: pier\n\n## Phase 1: All\n### [ ] T1.1: Planks\n";
        std::fs::write(root.join("TASKS.md"), plan).unwrap();
        let run = Orchestration::at(&context(), &root);
        run.init(&context(), &Begin::default()).unwrap();
        vec![root]
    });
    let id = world.get("/api/workspaces").json()["items"][0]["id"].clone();
    let path = format!("/api/workspaces/{}/orchestrate", id.as_str().unwrap());
    let file = world.get(&path).json()["items"][0]["path"].clone();
    let file = file.as_str().unwrap();
    for address in [
        format!("{path}/nodes/T1.1/log"),
        format!("{path}/nodes/T1.1/log?file={file}&offset=0"),
    ] {
        let none = world.get(&address);
        assert_eq!(
            (none.status, none.header("x-next-offset")),
            (200, Some("0"))
        );
        assert_eq!(none.body, b"");
    }
    for address in [
        format!("{path}/nodes/T9.9/log"),
        format!("{path}/nodes/..%2F..%2Fkey/log"),
        format!("{path}/nodes/T1.1/log?file=/etc/passwd"),
    ] {
        assert_eq!(world.get(&address).status, 404, "{address}");
    }
    let limit = world.get(&format!("{path}/nodes/T1.1/log?limit=0"));
    assert_eq!(limit.status, 400);
}

#[test]
fn steps_of_a_memory_are_begun_failed_completed_and_its_task_finished() {
    let world = World::with(|folder| {
        let root = folder.join("project");
        std::fs::create_dir_all(&root).unwrap();
        let steps = ["Walk", "Draw"].map(|name| NewStep {
            name: name.into(),
            ..NewStep::default()
        });
        let new = NewTask {
            name: "Map".into(),
            goal: "A map".into(),
            steps: steps.into(),
            ..NewTask::default()
        };
        let memory = MemoryFolder::at(&context(), &root.join(".claude/memory"));
        memory.task_new(&context(), &new).unwrap();
        vec![root]
    });
    let id = world.get("/api/workspaces").json()["items"][0]["id"].clone();
    let path = format!("/api/workspaces/{}/memory", id.as_str().unwrap());
    let post = |verb: &str, body: Value| {
        let answer = world.post(&format!("{path}/{verb}"), &body);
        assert_eq!(answer.status, 200, "{verb}: {}", answer.json());
        answer.json()
    };
    let step = |state: &Value, at: usize| state["current_task"]["plan"]["steps"][at].clone();
    post("step-start", json!({"id": "1"}));
    let silent = world.post(&format!("{path}/step-fail"), &json!({"id": "1"}));
    assert_eq!(silent.status, 400, "{}", silent.json());
    let failed = post("step-fail", json!({"id": "1", "text": "it rained"}));
    assert_eq!(
        step(&failed["state"], 0)["error"]["message"],
        json!("it rained")
    );
    for number in ["1", "2"] {
        post("step-start", json!({"id": number}));
        post("step-complete", json!({"id": number, "text": "drawn"}));
    }
    let files = world.get(&path).json();
    let state = &files["items"][0]["state"];
    assert_eq!(step(state, 1)["output"], json!("drawn"));
    post("finish", json!({"text": "A map on one page."}));
    let files = world.get(&path).json();
    let history = files["items"].as_array().unwrap().iter();
    let mut history = history.filter(|it| it["kind"] == "task-history");
    let entry = &history.next().unwrap()["state"]["tasks"][0];
    assert_eq!(entry["summary"], json!("A map on one page."));
    assert_eq!(entry["result"], json!("success"));
}

/// What is wrong with a file is said in the reader's language, in the same place for whatever is wrong.
#[test]
fn a_damaged_file_says_why_and_what_to_do() {
    let (world, id) = with_run();
    let file = world.folder.path().join("project/thinking_state.json");
    std::fs::write(file, "{ \"task_id\": ").unwrap();
    let korean = Client::tcp(&world.url, Some(world.token()), Lang::Ko).unwrap();
    let path = format!("/api/workspaces/{id}/thinking");
    let one = korean.ask("GET", &path, None, &[]).unwrap().json()["items"][0].clone();
    assert_eq!(one["status"], Value::Null);
    assert_eq!(one["findings"][0]["severity"], "fatal");
    let said = one["findings"][0]["message"].as_str().unwrap();
    assert!(said.chars().any(|it| ('가'..='힣').contains(&it)), "{said}");
    let next = one["next"][0].as_str().unwrap();
    assert!(next.starts_with("bowline doctor --repair "), "{next}");
}
