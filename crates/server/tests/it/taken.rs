//! What is begun in a workspace, kept of it, and brought back.

use crate::fake_job_service::{AGENT_TOKEN, World, refusal};
use crate::workspaces::{back, context};
use bowline_engine::operations::memory::{MemoryFolder, NewTask};
use bowline_engine::operations::thinking::ThinkingRun;
use serde_json::{Value, json};
use std::process::Command;

/// A workspace with a plan and nothing else, its address, and its folder.
pub(crate) fn empty() -> (World, String, std::path::PathBuf) {
    let world = World::with_project(|_| {});
    let (path, root) = (world.workspace(), world.project());
    (world, path, root)
}

fn begins(world: &World) -> Vec<(String, String)> {
    let list = world.get("/api/workspaces").json();
    let all = list["items"][0]["begins"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.map(|it| (text(&it["kind"]), text(&it["action"]["verb"])))
        .collect()
}

pub(crate) fn done(world: &World, path: &str, body: &Value) -> Value {
    let answer = world.post(path, body);
    assert_eq!(answer.status, 200, "{path}: {}", answer.json());
    answer.json()
}

pub(crate) fn refused(world: &World, path: &str, body: &Value) -> (u16, String) {
    refusal(&world.post(path, body))
}

#[test]
fn every_kind_is_begun_where_nothing_is_yet() {
    let (world, path, root) = empty();
    let pair = |kind: &str, verb: &str| (kind.to_owned(), verb.to_owned());
    let first = [
        pair("thinking", "new"),
        pair("memory", "task-new"),
        pair("develop", "start"),
        pair("orchestrate", "import"),
    ];
    assert_eq!(begins(&world), first);
    let specs = "# Tasks: Pier\n\n## Phase 1: Setup\n\n- [ ] T001 Lay planks\n";
    std::fs::create_dir_all(root.join("specs/1-pier")).unwrap();
    std::fs::write(root.join("specs/1-pier/tasks.md"), specs).unwrap();
    let taken = json!({"paths": ["specs/1-pier/tasks.md"]});
    let taken = done(&world, &format!("{path}/orchestrate/import"), &taken);
    assert!(taken["told"][0].as_str().is_some(), "{taken}");
    assert_eq!(begins(&world)[3], pair("orchestrate", "init"));
    let begun = done(&world, &format!("{path}/orchestrate/init"), &json!({}));
    assert_eq!(begun["state"]["project"], "Pier");
    let new = json!({"code": "tea", "paths": ["runs/tea"], "texts": {"goal": "Sell tea", "title": "Tea"}});
    let new = done(&world, &format!("{path}/thinking/new"), &new);
    assert_eq!(new["state"]["goal"], "Sell tea");
    assert!(root.join("runs/tea/thinking_state.json").is_file());
    let task = json!({"text": "Map", "texts": {"goal": "A map", "request": "Draw it"}});
    let task = done(&world, &format!("{path}/memory/task-new"), &task);
    assert_eq!(task["state"]["current_task"]["plan"]["goal"], "A map");
    assert_eq!(
        task["state"]["current_task"]["context"]["user_request"],
        "Draw it"
    );
    done(
        &world,
        &format!("{path}/develop/start"),
        &json!({"text": "A pier"}),
    );
    assert_eq!(begins(&world), [pair("thinking", "new")]);
    for folder in ["../tea", "/tmp/tea", "runs/../../tea"] {
        let body = json!({"code": "tea", "paths": [folder]});
        assert_eq!(
            refused(&world, &format!("{path}/thinking/new"), &body),
            (400, "outside_workspace".into()),
            "{folder}"
        );
    }
    let again = refused(&world, &format!("{path}/orchestrate/init"), &json!({}));
    assert_eq!(again, (409, "already_exists".into()));
}

/// Everything that changes something is refused to whoever is no person.
#[test]
fn an_agent_begins_and_brings_back_nothing() {
    let (world, path, root) = empty();
    let run = ThinkingRun::in_folder(&context(), &root);
    run.create_run(&context(), "t-1", "Tea", "Sell tea")
        .unwrap();
    let agent = world.with_token(AGENT_TOKEN);
    let verbs = [
        "thinking/new",
        "thinking/feedback-apply",
        "thinking/undo",
        "thinking/restore",
        "thinking/repair",
        "memory/task-new",
        "memory/set",
        "memory/backup",
        "memory/prune",
        "memory/restore-copy",
        "orchestrate/init",
        "orchestrate/import",
        "orchestrate/run",
        "orchestrate/rescue-restore",
        "orchestrate/rescue-drop",
    ];
    for verb in verbs {
        let body = json!({"id": "1", "code": "x", "text": "x"});
        let seen = [("if-match", "1")];
        let answer = agent.send_request("POST", &format!("{path}/{verb}"), Some(&body), &seen);
        let answer = answer.unwrap();
        assert_eq!(answer.json()["error"]["code"], "needs_person", "{verb}");
        assert_eq!(answer.status, 403, "{verb}");
    }
}

#[test]
fn an_earlier_version_comes_back_unless_the_file_has_moved_on() {
    let (world, path, root) = empty();
    let run = ThinkingRun::in_folder(&context(), &root);
    run.create_run(&context(), "t-1", "Tea", "Sell tea")
        .unwrap();
    let path = format!("{path}/thinking");
    done(&world, &format!("{path}/start"), &json!({"id": "planning"}));
    let failed = json!({"id": "planning", "code": "E1", "text": "no tea"});
    done(&world, &format!("{path}/fail"), &failed);
    let moves = world.get(&format!("{path}/transitions")).json();
    let offered: Vec<(u64, bool)> = moves["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["sequence"].as_u64().unwrap(), it["restorable"] == true))
        .collect();
    assert_eq!(offered, [(1, true), (2, true), (3, false)]);
    let restore = format!("{path}/restore");
    let body = json!({"id": "1"});
    assert_eq!(refused(&world, &restore, &body), (400, "bad_input".into()));
    // Somebody else was quicker.
    let seen = [("if-match", "2")];
    let late = world
        .person()
        .send_request("POST", &restore, Some(&body), &seen);
    let late = late.unwrap();
    assert_eq!(
        (late.status, &late.json()["error"]["code"]),
        (409, &json!("changed"))
    );
    // One that says what it saw is held to it, whatever it asks for.
    let start = format!("{path}/start");
    let late = world
        .person()
        .send_request("POST", &start, Some(&json!({"id": "planning"})), &seen);
    assert_eq!(late.unwrap().json()["error"]["code"], "changed");
    let back = back(&world, &path, "restore", body);
    assert_eq!(
        (&back["to"], &back["sequence"]),
        (&json!("pending"), &json!(4))
    );
}

#[test]
fn a_damaged_file_is_repaired_and_tells_what_was_done() {
    let (world, path, root) = empty();
    let run = ThinkingRun::in_folder(&context(), &root);
    run.create_run(&context(), "t-1", "Tea", "Sell tea")
        .unwrap();
    std::fs::write(root.join("thinking_state.json"), "{ \"task_id\": ").unwrap();
    let path = format!("{path}/thinking");
    let one = world.get(&path).json()["items"][0].clone();
    assert_eq!(one["actions"][0]["verb"], "repair");
    let repaired = done(&world, &format!("{path}/repair"), &json!({}));
    assert_eq!(repaired["state"]["task_id"], "t-1");
    assert_eq!(repaired["told"].as_array().unwrap().len(), 1, "{repaired}");
    let verbs = world.get(&path).json()["items"][0]["actions"].clone();
    let mut verbs = verbs.as_array().unwrap().iter();
    assert!(verbs.all(|it| it["verb"] != "repair"));
}

#[test]
fn lessons_of_another_run_of_the_workspace_are_taken_over() {
    let (world, path, root) = empty();
    for name in ["one", "two"] {
        let run = ThinkingRun::in_folder(&context(), &root.join(name));
        run.create_run(&context(), name, name, "Sell tea").unwrap();
    }
    let (one, two) = (root.join("one"), root.join("two"));
    let file = |folder: &std::path::Path| folder.join("thinking_state.json");
    let path = format!("{path}/thinking");
    let learnt = json!({
        "file": file(&one), "text": "visits", "values": {"actual": 1.0, "target": 2.0},
        "texts": {"learning": "Post in the morning"},
    });
    done(&world, &format!("{path}/feedback"), &learnt);
    let apply = format!("{path}/feedback-apply");
    let applied = json!({"file": file(&two), "id": one});
    let applied = done(&world, &apply, &applied);
    let lessons = &applied["state"]["feedback"]["from_previous_tasks"][0]["learnings"];
    assert_eq!(lessons, &json!(["Post in the morning"]));
    let elsewhere = json!({"file": file(&two), "id": world.folder.path()});
    assert_eq!(
        refused(&world, &apply, &elsewhere),
        (400, "bad_input".into())
    );
}

#[test]
fn a_memory_is_written_backed_up_pruned_and_brought_back() {
    let (world, path, root) = empty();
    let memory = MemoryFolder::in_folder(&context(), &root.join(".claude/memory"));
    let new = NewTask {
        name: "Map".into(),
        ..NewTask::default()
    };
    memory.task_new(&context(), &new).unwrap();
    let value = json!("green");
    memory
        .agent_set(&context(), "walker", "cache.tea", &value)
        .unwrap();
    let path = format!("{path}/memory");
    let file = |kind: &str| {
        let files = world.get(&path).json()["items"].clone();
        let mut files = files.as_array().unwrap().clone().into_iter();
        files.find(|it| it["kind"] == kind).unwrap()
    };
    let shared = file("shared-context")["path"].clone();
    let said = json!({"file": shared, "code": "shared_data.coast", "text": "42"});
    let set = done(&world, &format!("{path}/set"), &said);
    assert_eq!(set["state"]["shared_data"]["coast"], 42);
    let walker = file("agent-memory")["path"].clone();
    let said = json!({"file": walker, "code": "cache.seen", "text": "a gull"});
    let set = done(&world, &format!("{path}/append"), &said);
    assert_eq!(set["state"]["cache"]["seen"], json!(["a gull"]));
    let copies = done(&world, &format!("{path}/backup"), &json!({}));
    assert_eq!(copies["told"].as_array().unwrap().len(), 4, "{copies}");
    done(&world, &format!("{path}/prune"), &json!({}));
    done(&world, &format!("{path}/cancel"), &json!({}));
    assert_eq!(file("task-state")["state"]["current_task"], Value::Null);
    let state = file("task-state");
    let restore = state["actions"].as_array().unwrap().iter();
    let mut restore = restore.filter(|it| it["verb"] == "restore-copy");
    let copy = restore.next_back().unwrap()["ids"].as_array().unwrap();
    let body = json!({"id": copy[0]});
    let unseen = refused(&world, &format!("{path}/restore-copy"), &body);
    assert_eq!(unseen, (400, "bad_input".into()));
    let restored = back(&world, &path, "restore-copy", body);
    assert_eq!(restored["state"]["current_task"]["name"], "Map");
    // What moves is the current task; what is shared is not a task.
    let odd = json!({"file": shared, "id": "1"});
    assert_eq!(
        refused(&world, &format!("{path}/step-start"), &odd),
        (404, "unknown_id".into())
    );
}

#[test]
fn what_was_rescued_is_listed_brought_back_as_a_branch_and_dropped() {
    let (world, path, root) = empty();
    let git = |line: &[&str]| {
        let line = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
            .iter()
            .chain(line);
        let done = Command::new("git").args(line).current_dir(&root).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(
        root.join("TASKS.md"),
        "# TASKS: pier\n\n## Phase 1: All\n### [ ] T1.1: Planks\n",
    )
    .unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "plan"]);
    let path = format!("{path}/orchestrate");
    done(&world, &format!("{path}/init"), &json!({"id": "TASKS.md"}));
    let listed = || world.get(&format!("{path}/rescued")).json()["items"].clone();
    assert_eq!(listed(), json!([]));
    std::fs::write(root.join("planks.txt"), "oak").unwrap();
    git(&["add", "planks.txt"]);
    let kept = git(&[
        "commit-tree",
        "-p",
        "HEAD",
        "-m",
        "kept",
        &git(&["write-tree"]),
    ]);
    git(&[
        "update-ref",
        &format!("refs/bowline/rescue/T1.1-{}", &kept[..12]),
        &kept,
    ]);
    let one = listed()[0].clone();
    assert_eq!(
        (&one["task"], &one["files"]),
        (&json!("T1.1"), &json!(["planks.txt"]))
    );
    let body = json!({"id": one["name"], "texts": {"branch": "again"}});
    done(&world, &format!("{path}/rescue-restore"), &body);
    assert_eq!(git(&["rev-parse", "again"]), kept);
    done(
        &world,
        &format!("{path}/rescue-drop"),
        &json!({"id": one["name"]}),
    );
    assert_eq!(listed(), json!([]));
    let gone = refused(
        &world,
        &format!("{path}/rescue-drop"),
        &json!({"id": one["name"]}),
    );
    assert_eq!(gone, (404, "bad_input".into()));
}
