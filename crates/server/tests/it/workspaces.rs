//! State files of the other four kinds.

use crate::fake_job_service::{World, refusal};
use bowline_engine::Context;
use bowline_engine::machines::Actor;
use bowline_engine::machines::thinking::ThinkingStage;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::{MemoryFolder, NewStep, NewTask};
use bowline_engine::operations::orchestrate::{Orchestration, OrchestrationOptions};
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_server::client::ApiClient;
use bowline_words::Lang;
use serde_json::{Value, json};

fn with_run() -> (World, String) {
    let world = World::with_project(|root| {
        let run = ThinkingRun::in_folder(&context(), root);
        run.create_run(&context(), "t-1", "Tea", "Sell tea")
            .unwrap();
    });
    let list = world.get("/api/workspaces").json();
    assert_eq!(list["items"][0]["kinds"], json!(["thinking"]));
    let id = list["items"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

pub(crate) fn context() -> Context {
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
    assert_eq!(refusal(&again), (409, "already_in_progress".into()));
    let lines = world.get(&format!("{path}/transitions")).json();
    let triggers: Vec<&Value> = lines["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["trigger"])
        .collect();
    assert_eq!(triggers.last(), Some(&&json!("START")));
    let odd = world.post(&format!("{path}/fly"), &json!({}));
    assert_eq!(refusal(&odd), (404, "no_such_verb".into()));
    let lacking = world.post(&format!("{path}/start"), &json!({}));
    assert_eq!(refusal(&lacking), (400, "bad_input".into()));
}

/// A change by anybody else reaches whoever listens.
#[test]
fn a_hand_edit_is_told() {
    let (world, id) = with_run();
    let root = world.project();
    let client = world.person();
    let (heard, hears) = std::sync::mpsc::channel();
    let listening = std::thread::spawn(move || {
        client.stream_events("/api/events", None, |name, _, data| {
            heard.send((name.to_owned(), data.to_owned())).unwrap();
            name != "workspace"
        })
    });
    assert_eq!(hears.recv().unwrap().0, "hello");
    ThinkingRun::in_folder(&context(), &root)
        .start_stage(&context(), ThinkingStage::Planning, None)
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

/// A world with an orchestration of this plan, and where it is.
fn planned(plan: &str) -> (World, String) {
    let world = World::with_project(|root| {
        std::fs::write(root.join("TASKS.md"), plan).unwrap();
        let run = Orchestration::in_folder(&context(), root);
        run.create_run(&context(), &OrchestrationOptions::default())
            .unwrap();
    });
    let path = format!("{}/orchestrate", world.workspace());
    (world, path)
}

#[test]
fn a_task_that_nobody_was_started_for_has_printed_nothing() {
    let (world, path) = planned("# TASKS: pier\n\n## Phase 1: All\n### [ ] T1.1: Planks\n");
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
    let world = World::with_project(|root| {
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
        let memory = MemoryFolder::in_folder(&context(), &root.join(".claude/memory"));
        memory.task_new(&context(), &new).unwrap();
    });
    let path = format!("{}/memory", world.workspace());
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
    let file = world.project().join("thinking_state.json");
    std::fs::write(file, "{ \"task_id\": ").unwrap();
    let korean = ApiClient::for_url(&world.url, Some(world.token()), Lang::Ko).unwrap();
    let path = format!("/api/workspaces/{id}/thinking");
    let one = korean.send_request("GET", &path, None, &[]).unwrap().json()["items"][0].clone();
    assert_eq!(one["status"], Value::Null);
    assert_eq!(one["findings"][0]["severity"], "fatal");
    let said = one["findings"][0]["message"].as_str().unwrap();
    assert!(said.chars().any(|it| ('가'..='힣').contains(&it)), "{said}");
    let next = one["next"][0].as_str().unwrap();
    assert!(next.starts_with("bowline doctor --repair "), "{next}");
}

/// A verb that is asked for with the version that is there, and is done.
pub(crate) fn back(world: &World, path: &str, verb: &str, body: Value) -> Value {
    let files = world.get(path).json()["items"].clone();
    let mut files = files.as_array().unwrap().iter();
    let named = files.find(|it| body["file"].is_null() || it["path"] == body["file"]);
    let version = named.unwrap()["version"].to_string();
    let path = format!("{path}/{verb}");
    let seen = [("if-match", version.as_str())];
    let answer = world
        .person()
        .send_request("POST", &path, Some(&body), &seen);
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200, "{verb}: {}", answer.json());
    answer.json()
}

/// The verbs that stand among a file's actions, with what they may be about.
fn actions(file: &Value) -> Vec<(String, Vec<String>)> {
    let all = file["actions"].as_array().unwrap().iter();
    all.map(|one| {
        let ids = one["ids"].as_array().unwrap().iter();
        let ids = ids.map(|id| id.as_str().unwrap().to_owned());
        (one["verb"].as_str().unwrap().to_owned(), ids.collect())
    })
    .collect()
}

#[test]
fn a_gate_opens_by_its_sealed_command_and_says_when_that_is_red() {
    let world = World::with_project(|root| {
        let settings = "[develop]\nprotected = [\"check.sh\"]\n[develop.gates.review_clean_pass]\nrun = \"test -e clean\"\n";
        std::fs::write(root.join("bowline.toml"), settings).unwrap();
        let run = DevelopRun::in_folder(&context(), root);
        run.start_run(&context(), "A pier", false).unwrap();
        let checkpoints = ["planks".to_owned()];
        run.enter_review(&context(), &checkpoints, None).unwrap();
    });
    let path = format!("{}/develop", world.workspace());
    let file = || world.get(&path).json()["items"][0].clone();
    let post = |verb: &str, body: Value| {
        let answer = world.post(&format!("{path}/{verb}"), &body);
        (answer.status, answer.json())
    };
    let gate = json!({"id": "review_clean_pass"});
    let one = file();
    let pass = one["actions"].as_array().unwrap().iter();
    let pass: Vec<&Value> = pass.filter(|it| it["verb"] == "gate-pass").collect();
    assert_eq!(pass.len(), 1, "{one}");
    assert_eq!(pass[0]["runs"], "test -e clean");
    let (status, red) = post("gate-pass", gate.clone());
    assert_eq!(
        (status, &red["error"]["code"]),
        (409, &json!("evidence_red"))
    );
    assert_eq!(file()["evidence"][0]["exit_code"], 1);
    std::fs::write(world.project().join("clean"), "").unwrap();
    let (status, green) = post("gate-pass", gate.clone());
    assert_eq!((status, &green["to"]), (200, &json!("open")), "{green}");
    assert_eq!(green["evidence"][0]["exit_code"], 0);
    // What an open gate allows, and no longer allows.
    let verbs = actions(&file());
    let on_gate = |verb: &str| {
        verbs
            .iter()
            .any(|(it, ids)| it == verb && ids == &["review_clean_pass"])
    };
    assert!(on_gate("gate-reset") && !on_gate("gate-pass") && !on_gate("gate-by-hand"));
    assert_eq!(post("implement", json!({})).0, 200);
    assert_eq!(post("checkpoint-start", json!({"id": "planks"})).0, 200);
    // A red command ends the attempt: the checkpoint has moved, and the answer says what was red.
    let (status, red) = post(
        "checkpoint-pass",
        json!({"id": "planks", "command": "exit 3"}),
    );
    assert_eq!(status, 200, "{red}");
    assert_eq!(red["evidence"][0]["exit_code"], 3);
    assert_eq!(
        red["state"]["checkpoints"]["planks"]["status"],
        "in_progress"
    );
    let (status, odd) = post(
        "checkpoint-fail",
        json!({"id": "planks", "code": "BAD_LUCK"}),
    );
    assert_eq!((status, &odd["error"]["code"]), (400, &json!("bad_input")));
    let (status, passed) = post("checkpoint-pass", json!({"id": "planks"}));
    assert_eq!(status, 200, "{passed}");
    assert_eq!(passed["state"]["checkpoints"]["planks"]["status"], "passed");
    // A gate without a sealed command opens by a person's command, or their word.
    let (status, given) = post("gate-pass", json!({"id": "architect_verified"}));
    assert_eq!(
        (status, &given["error"]["code"]),
        (409, &json!("evidence_required"))
    );
    let word = json!({"id": "architect_verified", "text": "I read all of it"});
    assert_eq!(post("gate-by-hand", word).0, 200);
    assert_eq!(
        back(&world, &path, "undo", json!({}))["state"]["gates"]["architect_verified"],
        false
    );
    assert_eq!(post("reset", json!({})).0, 200);
    assert_eq!(world.get(&path).json()["items"], json!([]));
}

#[test]
fn a_phase_is_finished_and_every_offered_move_is_accepted() {
    let (world, path) = planned(
        "# TASKS: pier\n\n## Phase 1: One\n### [ ] T1.1: Planks\n### [ ] T1.2: Ropes\n\n## Phase 2: Two\n### [ ] T2.1: Paint\n",
    );
    let verbs = || actions(&world.get(&path).json()["items"][0]);
    let post = |verb: &str, body: Value| {
        let answer = world.post(&format!("{path}/{verb}"), &body);
        (answer.status, answer.json())
    };
    let ids = |wanted: &str| {
        let found = verbs().into_iter().find(|(verb, _)| verb == wanted);
        found.map(|(_, ids)| ids).unwrap_or_default()
    };
    assert_eq!(ids("start"), ["T1.1", "T1.2"]);
    assert_eq!(ids("phase-finish"), [""; 0]);
    let (status, early) = post("phase-finish", json!({"id": "1"}));
    assert_eq!(status, 409, "{early}");
    let (status, nobody) = post("pause", json!({}));
    assert_eq!(
        (status, &nobody["error"]["code"]),
        (404, &json!("nobody_runs"))
    );
    assert_eq!(post("start", json!({"id": "T1.1"})).0, 200);
    assert_eq!(ids("complete"), ["T1.1"]);
    assert_eq!(
        post("fail", json!({"id": "T1.1", "text": "it broke"})).0,
        200
    );
    assert_eq!(ids("retry"), ["T1.1"]);
    for node in ["T1.1", "T1.2"] {
        let forced = json!({"id": node, "text": "done elsewhere"});
        assert_eq!(post("force-complete", forced).0, 200);
    }
    assert_eq!(ids("phase-finish"), ["1"]);
    let (status, finished) = post("phase-finish", json!({"id": "1"}));
    assert_eq!(status, 200, "{finished}");
    assert_eq!(ids("start"), ["T2.1"]);
}

#[test]
fn thinking_is_judged() {
    let (world, id) = with_run();
    let path = format!("/api/workspaces/{id}/thinking");
    let post = |verb: &str, body: Value| {
        let answer = world.post(&format!("{path}/{verb}"), &body);
        assert_eq!(answer.status, 200, "{verb}: {}", answer.json());
        answer.json()["state"].clone()
    };
    let scores = json!({"practicality": 8.0, "trust": 7.0, "innovation": 6.0});
    let state = post("evaluate", json!({"values": scores}));
    assert_eq!(state["core_values_evaluation"]["practicality"], json!(8));
    let state = post("quality", json!({"values": {"completeness": 0.5}}));
    assert_eq!(state["quality_metrics"]["completeness"], json!(0.5));
    post(
        "feedback",
        json!({"text": "visits", "values": {"actual": 6.0, "target": 5.0}}),
    );
    back(&world, &path, "undo", json!({}));
}
