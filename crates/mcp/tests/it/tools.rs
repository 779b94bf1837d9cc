//! Every tool: a good case and a refusal, whole runs by tools alone, and who may do what.

use crate::wire::{Server, Wire};
use bowline_mcp::SessionRole;
use bowline_mcp::table::VERBS;
use serde_json::json;

#[test]
fn a_thinking_run_to_its_end() {
    let mut wire = Wire::new(SessionRole::Agent);
    wire.refused("thinking_start", json!({ "stage": "planning" }), "no_file");
    let made = wire.done(
        "thinking_new",
        json!({ "id": "post-1", "title": "Ferries", "goal": "A post" }),
    );
    assert_eq!(made["kind"], "thinking");
    assert!(
        made["next"][0]
            .as_str()
            .unwrap()
            .contains("bowline thinking start"),
        "{made}"
    );
    wire.refused(
        "thinking_new",
        json!({ "id": "post-1", "goal": "g" }),
        "already_exists",
    );
    wire.refused(
        "thinking_start",
        json!({ "stage": "creation" }),
        "dependency_not_completed",
    );
    for (stage, output) in [
        ("planning", "thinking/planning/ideas.json"),
        ("selection", "thinking/selection/selected.json"),
        ("creation", "drafts/draft_v1.md"),
        ("reflection", "thinking/reflection/notes.md"),
    ] {
        wire.done("thinking_start", json!({ "stage": stage }));
        let missing = json!({ "stage": stage, "outputs": [output] });
        wire.refused("thinking_complete", missing.clone(), "outputs_missing");
        wire.write(output, "{}");
        wire.done(
            "thinking_output",
            json!({ "stage": stage, "paths": [output] }),
        );
        let done = wire.done("thinking_complete", missing);
        assert_eq!(done["to"], "completed", "{done}");
    }
    let scored = json!({ "scores": { "practicality": 8, "trust": 7, "innovation": 9 } });
    let scored = wire.done("thinking_evaluate", scored);
    assert_eq!(scored["weightedScore"], 8.0);
    wire.refused(
        "thinking_evaluate",
        json!({ "scores": { "beauty": 3 } }),
        "unknown_name",
    );
    wire.done(
        "thinking_quality",
        json!({ "metrics": { "completeness": 0.75 } }),
    );
    let told = json!({ "metric": "engagement_rate", "actual": 0.068, "target": 0.05, "learnings": ["short titles"] });
    let told = wire.done("thinking_feedback_record", told);
    assert_eq!(told["goalAchievement"], 1.36, "{told}");
    let status = wire.done("thinking_status", json!({}));
    assert_eq!(status["state"]["overall_status"], "completed", "{status}");
    // The next one learns from it.
    wire.done(
        "thinking_new",
        json!({ "id": "post-2", "goal": "g", "dir": "next" }),
    );
    wire.done(
        "thinking_feedback_apply",
        json!({ "from": ".", "dir": "next" }),
    );
    let next = wire.done("thinking_status", json!({ "dir": "next" }));
    let taken = &next["state"]["feedback"]["from_previous_tasks"][0];
    assert_eq!(taken["learnings"], json!(["short titles"]), "{next}");
}

#[test]
fn a_stage_that_fails_is_counted_and_a_person_reopens_it() {
    let mut wire = Wire::new(SessionRole::Agent);
    wire.done("thinking_new", json!({ "id": "t", "goal": "g" }));
    for retries in 1..=3 {
        wire.done("thinking_start", json!({ "stage": "planning" }));
        let failed = json!({ "stage": "planning", "code": "x", "message": "no idea" });
        let failed = wire.done("thinking_fail", failed);
        assert_eq!(failed["retries"], retries);
        assert_eq!(failed["exhausted"], retries == 3);
    }
    wire.refused(
        "thinking_start",
        json!({ "stage": "planning" }),
        "retries_exhausted",
    );
    let forced = json!({ "stage": "planning", "override": "please" });
    wire.refused("thinking_start", forced, "needs_person");
}

#[test]
fn a_memory_task_to_its_end() {
    let mut wire = Wire::new(SessionRole::Agent);
    wire.refused("memory_step_start", json!({ "id": 1 }), "no_task");
    let made = wire.done("memory_task_new", json!({
        "name": "Ferry times", "goal": "A table", "criteria": ["it is right"],
        "steps": [{ "name": "Read", "agent": "reader" }, { "name": "Write", "agent": "writer", "deps": [1] }],
    }));
    assert!(made["id"].as_str().unwrap().starts_with("task-"), "{made}");
    assert_eq!(made["queued"], false);
    wire.refused(
        "memory_step_start",
        json!({ "id": 2 }),
        "dependency_not_completed",
    );
    wire.refused("memory_step_start", json!({ "id": 9 }), "no_step");
    wire.done("memory_step_start", json!({ "id": 1 }));
    let failed = json!({ "id": 1, "type": "transient", "message": "net" });
    let failed = wire.done("memory_step_fail", failed);
    assert_eq!(
        (&failed["tries"], &failed["escalated"]),
        (&json!(1), &json!(false))
    );
    wire.done("memory_step_start", json!({ "id": 1 }));
    let done = json!({ "id": 1, "output": { "rows": 12 }, "artifacts": ["times.csv:the table"] });
    let done = wire.done("memory_step_complete", done);
    assert_eq!(done["currentStep"], 2, "{done}");
    wire.done(
        "memory_step_add",
        json!({ "name": "Check", "agent": "reader", "deps": [2] }),
    );
    let queued = wire.done("memory_task_new", json!({ "name": "Later", "goal": "g" }));
    assert_eq!(queued["queued"], true);
    wire.done("memory_task_drop", json!({ "id": queued["id"] }));
    wire.done("memory_task_pause", json!({}));
    wire.refused("memory_step_start", json!({ "id": 2 }), "task_paused");
    wire.done("memory_task_resume", json!({}));
    for id in [2, 3] {
        wire.done("memory_step_start", json!({ "id": id }));
        wire.done("memory_step_complete", json!({ "id": id }));
    }
    wire.done(
        "memory_task_finish",
        json!({ "summary": "done", "lessons": ["ask the harbour"] }),
    );
    let past = wire.done("memory_history", json!({}));
    assert_eq!(past["state"]["tasks"][0]["result"], "success", "{past}");
    wire.done("memory_backup", json!({}));
    wire.done("memory_prune", json!({}));
    wire.done("memory_init", json!({}));
    wire.refused("memory_restore", json!({}), "needs_person");
    wire.refused("memory_task_recover", json!({}), "needs_person");
}

#[test]
fn values_that_agents_share_and_keep() {
    let mut wire = Wire::new(SessionRole::Agent);
    let set = json!({ "key": "shared_data.topic", "value": { "name": "한글", "n": 0.5 } });
    wire.done("memory_context_set", set);
    let got = wire.done(
        "memory_context_get",
        json!({ "key": "shared_data.topic.name" }),
    );
    assert_eq!(got["value"], "한글");
    wire.refused(
        "memory_context_set",
        json!({ "key": "version", "value": "9" }),
        "path_protected",
    );
    wire.done(
        "memory_context_append",
        json!({ "key": "shared_data.list", "value": 1 }),
    );
    wire.done("memory_context_session_new", json!({}));
    let own = json!({ "name": "reader", "key": "preferences.tone", "value": "plain" });
    wire.done("memory_agent_set", own);
    let got = json!({ "name": "reader", "key": "preferences.tone" });
    assert_eq!(wire.done("memory_agent_get", got)["value"], "plain");
    let more = json!({ "name": "reader", "key": "preferences.words", "value": "ferry" });
    wire.done("memory_agent_append", more);
    wire.refused(
        "memory_agent_get",
        json!({ "name": "../x", "key": "a" }),
        "bad_input",
    );
    wire.done("memory_task_new", json!({ "name": "n", "goal": "g" }));
    wire.done("memory_task_cancel", json!({}));
    wire.refused("memory_task_finish", json!({}), "no_task");
}

const PLAN: &str = "# Ferries\n\n## Phase 1: Start\n\n- [ ] T1.1: Read\n- [ ] T1.2: Write (depends: T1.1)\n\n## Phase 2: End\n\n- [ ] T2.1: Ship\n";

#[test]
fn an_orchestration_to_its_end() {
    let mut wire = Wire::new(SessionRole::Agent);
    wire.refused("orchestrate_next", json!({}), "no_plan");
    wire.refused("orchestrate_init", json!({}), "no_plan");
    wire.write("TASKS.md", PLAN);
    let plan = wire.done("orchestrate_plan", json!({}));
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 3);
    let begun = wire.done(
        "orchestrate_init",
        json!({ "mode": "ultra-thin", "parallel": 2 }),
    );
    assert_eq!(
        (&begun["total"], &begun["project"]),
        (&json!(3), &json!("Ferries"))
    );
    wire.refused("orchestrate_init", json!({}), "already_exists");
    wire.refused("orchestrate_start", json!({ "id": "T9.9" }), "no_task");
    wire.refused("orchestrate_start", json!({ "id": "T1.2" }), "not_ready");
    let mut rounds = 0;
    loop {
        rounds += 1;
        assert!(rounds < 20);
        let reply = wire.done("orchestrate_next", json!({}))["reply"].clone();
        let reply = reply.as_str().unwrap();
        match reply.split_once(':') {
            Some(("READY", ids)) => {
                for id in ids.split(',') {
                    wire.done("orchestrate_start", json!({ "id": id }));
                    if id == "T1.1" && rounds == 1 {
                        let again = json!({ "id": id, "reason": "flaky", "retry": true });
                        let again = wire.done("orchestrate_fail", again);
                        assert_eq!(again["to"], "ready", "{again}");
                        wire.done("orchestrate_start", json!({ "id": id }));
                    }
                    wire.done("orchestrate_complete", json!({ "id": id }));
                }
            }
            Some(("PHASE_DONE", phase)) => {
                let phase: u32 = phase.parse().unwrap();
                wire.done(
                    "orchestrate_phase_finish",
                    json!({ "phase": phase, "no_git": true }),
                );
            }
            _ if reply == "ALL_DONE" => break,
            _ => panic!("{reply}"),
        }
    }
    let plan = std::fs::read_to_string(wire.folder.join("TASKS.md")).unwrap();
    assert_eq!(plan.matches("- [x]").count(), 3, "{plan}");
    assert_eq!(wire.done("orchestrate_verify", json!({}))["agrees"], true);
    let graph = wire.done("orchestrate_graph", json!({}));
    assert!(graph["text"].as_str().unwrap().contains("T1.2"));
    assert_eq!(wire.done("orchestrate_status", json!({}))["done"], 3);
    wire.refused(
        "orchestrate_force_complete",
        json!({ "id": "T1.1" }),
        "needs_person",
    );
    wire.refused("orchestrate_pause", json!({}), "needs_person");
    wire.done("orchestrate_rebuild", json!({}));
}

#[test]
fn a_failed_task_is_given_a_fresh_start() {
    let mut wire = Wire::new(SessionRole::Agent);
    wire.write("TASKS.md", PLAN);
    wire.done("orchestrate_init", json!({}));
    wire.done("orchestrate_start", json!({ "id": "T1.1" }));
    let failed = wire.done("orchestrate_fail", json!({ "id": "T1.1", "reason": "no" }));
    assert_eq!(failed["blocked"], 1, "{failed}");
    let reply = wire.done("orchestrate_next", json!({}));
    assert!(
        reply["reply"].as_str().unwrap().starts_with("STALLED:"),
        "{reply}"
    );
    wire.done("orchestrate_retry", json!({ "id": "T1.1" }));
    assert_eq!(
        wire.done("orchestrate_next", json!({}))["reply"],
        "READY:T1.1"
    );
}

#[test]
fn what_a_call_lacks_is_said_with_the_shape_it_should_have() {
    let mut wire = Wire::new(SessionRole::Agent);
    let told = wire.refused("thinking_start", json!({}), "bad_input");
    assert_eq!(told["message"], "'thinking_start' needs 'stage'");
    let hint = told["hint"].as_str().unwrap();
    assert!(
        hint.contains("stage: planning | selection | creation | reflection"),
        "{hint}"
    );
    let told = wire.refused("thinking_start", json!({ "stage": "plan" }), "bad_input");
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("planning | selection"),
        "{told}"
    );
    let told = json!({ "stage": "planning", "colour": "red" });
    let told = wire.refused("thinking_start", told, "bad_input");
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("takes no 'colour'"),
        "{told}"
    );
    wire.refused("memory_step_start", json!({ "id": -1 }), "bad_input");
    wire.refused("memory_step_start", json!({ "id": [1] }), "bad_input");
    let steps = json!({ "name": "n", "goal": "g", "steps": [{ "name": "s", "deps": ["x"] }] });
    wire.refused("memory_task_new", steps, "bad_input");
    // What a model plainly means is taken so: a number as text, one text for a list, what was left empty.
    wire.done(
        "memory_task_new",
        json!({ "name": "n", "goal": "g", "criteria": "one", "steps": [{ "name": "s" }] }),
    );
    wire.done("memory_step_start", json!({ "id": "1" }));
    wire.done("memory_step_complete", json!({ "id": 1, "output": null }));
}

#[test]
fn rare_verbs_are_found_and_called_by_one_tool() {
    let mut wire = Wire::new(SessionRole::Agent);
    let listed = wire.done("bowline_verb", json!({ "noun": "memory" }));
    let verbs = listed["verbs"].as_object().unwrap();
    assert!(
        verbs["agent_set"]
            .as_str()
            .unwrap()
            .contains("{name: text, key: text, value: JSON}")
    );
    assert!(
        !verbs.contains_key("restore"),
        "a person's verb is named: {listed}"
    );
    let set = json!({ "noun": "memory", "verb": "agent set", "args": { "name": "a", "key": "preferences.x", "value": 1 } });
    wire.done("bowline_verb", set);
    for verb in ["gate pass", "gate-pass", "gate_pass", "develop_gate_pass"] {
        let told =
            json!({ "noun": "develop", "verb": verb, "args": { "gate": "architect_verified" } });
        wire.refused("bowline_verb", told, "no_file");
    }
    wire.refused(
        "bowline_verb",
        json!({ "noun": "memory", "verb": "fly" }),
        "bad_input",
    );
    let told = wire.refused("bowline_verb", json!({ "noun": "poem" }), "bad_input");
    assert!(
        told["hint"].as_str().unwrap().contains("thinking, memory"),
        "{told}"
    );
    wire.refused(
        "bowline_verb",
        json!({ "noun": "bowline", "verb": "verb" }),
        "bad_input",
    );
    wire.refused(
        "bowline_verb",
        json!({ "noun": "bowline", "verb": "undo" }),
        "needs_person",
    );
}

#[test]
fn what_is_here_and_what_happened() {
    let mut wire = Wire::new(SessionRole::Agent);
    let nothing = wire.done("bowline_status", json!({}));
    assert!(nothing["begin"].as_array().unwrap().len() > 3, "{nothing}");
    wire.done(
        "memory_task_new",
        json!({ "name": "n", "goal": "g", "steps": [{ "name": "s" }] }),
    );
    let here = wire.done("bowline_status", json!({}));
    assert!(here["card"].as_str().unwrap().contains("memory"), "{here}");
    let kinds: Vec<&str> = here["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"task-state"), "{kinds:?}");
    let one = wire.done("bowline_status", json!({ "what": "task-state" }));
    assert_eq!(one["state"]["current_task"]["name"], "n");
    let past = wire.done(
        "bowline_history",
        json!({ "what": "task-state", "last": 1 }),
    );
    assert_eq!(past["transitions"].as_array().unwrap().len(), 1, "{past}");
    assert_eq!(
        wire.done("bowline_doctor", json!({ "what": "task-state" }))["healthy"],
        true
    );
    wire.refused(
        "bowline_history",
        json!({ "what": "nowhere.json" }),
        "unknown_kind",
    );
}

#[test]
fn roles_offer_less_and_refuse_more() {
    let names = |wire: &mut Wire| -> Vec<String> {
        let listed = wire.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut reader = Wire::new(SessionRole::ReadOnly);
    let read = names(&mut reader);
    assert!(read.contains(&"bowline_status".into()) && !read.contains(&"thinking_new".into()));
    let told = reader.refused(
        "thinking_new",
        json!({ "id": "a", "goal": "g" }),
        "read_only_role",
    );
    assert!(told["hint"].as_str().unwrap().contains("--role agent"));
    let by_way = json!({ "noun": "memory", "verb": "init" });
    reader.refused("bowline_verb", by_way, "read_only_role");
    assert_eq!(std::fs::read_dir(&reader.folder).unwrap().count(), 0);
    let mut agent = Wire::new(SessionRole::Agent);
    assert!(!names(&mut agent).contains(&"agent_ask".into()));
    let mut of_task = Wire::with(
        SessionRole::Agent,
        Server {
            of_task: true,
            ..Server::default()
        },
    );
    assert!(names(&mut of_task).contains(&"agent_ask".into()));
    let mut person = Wire::new(SessionRole::Person);
    assert!(names(&mut person).contains(&"task_approve".into()));
}

#[test]
fn tasks_are_asked_of_their_server() {
    let mut wire = Wire::with(
        SessionRole::Person,
        Server {
            of_task: true,
            ..Server::default()
        },
    );
    let listed = wire.done("task_list", json!({ "status": "review", "q": "a b&c" }));
    assert_eq!(
        listed["tasks"],
        json!([{ "id": "task_1", "title": "T", "status": "review", "progress": 0, "needsYou": true }])
    );
    wire.refused("task_show", json!({ "id": "task_gone" }), "unknown_id");
    wire.done("task_answer", json!({ "id": "task_1", "answer": "yes" }));
    wire.done(
        "task_new",
        json!({ "title": "T", "type": "docs", "description": "d", "workspace": "sub" }),
    );
    wire.done(
        "task_request_changes",
        json!({ "id": "task_1", "feedback": "shorter" }),
    );
    wire.done("task_logs", json!({ "id": "a/../b" }));
    wire.done(
        "agent_error",
        json!({ "message": "limit", "retryAfter": 30 }),
    );
    wire.done(
        "agent_phase_complete",
        json!({ "phase": 1, "files": ["a.md"] }),
    );
    let asked = wire.server.asked.lock().unwrap().clone();
    let asked: Vec<String> = asked
        .iter()
        .map(|(method, path, body)| format!("{method} {path} {body}"))
        .collect();
    let folder = wire.folder.display();
    assert_eq!(asked, [
        "GET /api/tasks?status=review&q=a%20b%26c&limit=50 null".to_owned(),
        "GET /api/tasks/task_gone null".into(),
        "GET /api/tasks/task_1/questions null".into(),
        r#"POST /api/questions/q_2/answer {"answer":"yes"}"#.into(),
        format!(
            r#"POST /api/tasks {{"title":"T","type":"docs","description":"d","priority":"normal","workspace":"{folder}/sub","submit":false}}"#
        ),
        r#"POST /api/tasks/task_1/request-changes {"feedback":"shorter"}"#.into(),
        "GET /api/tasks/a%2F..%2Fb/logs?offset=-4000&limit=12000 null".into(),
        r#"POST /api/agent/error {"message":"limit","recovery":"pause_and_retry","retryAfter":30}"#.into(),
        r#"POST /api/agent/phase-complete {"phase":1,"files":["a.md"]}"#.into(),
    ]);
}

/// Whatever is asked of any tool with nothing, it answers: with what it did, or with a refusal.
#[test]
fn every_tool_answers() {
    let mut wire = Wire::new(SessionRole::Person);
    for verb in VERBS.iter().copied().flatten() {
        let (good, body) = wire.call(verb.name, json!({}));
        let lacking = verb.takes.iter().any(|arg| arg.needed);
        let code = body["error"]["code"].as_str();
        assert!(body.is_object(), "{}", verb.name);
        assert_eq!(!good, code.is_some(), "{}: {body}", verb.name);
        assert!(
            !lacking || code == Some("bad_input"),
            "{}: {body}",
            verb.name
        );
        assert!(body.to_string().len() <= 16 * 1024);
    }
}

/// A folder that somebody else is served is not left by any name.
#[test]
fn a_confined_desk_stays_in_its_folder() {
    let mut wire = Wire::confined();
    wire.write("inside/x", "");
    std::os::unix::fs::symlink("/etc", wire.folder.join("away")).unwrap();
    for dir in ["../x", "/etc", "away", "inside/../../x"] {
        let told = json!({ "id": "t", "goal": "g", "dir": dir });
        wire.refused("thinking_new", told, "bad_input");
    }
    wire.done(
        "thinking_new",
        json!({ "id": "t", "goal": "g", "dir": "inside/new" }),
    );
}

/// Two agents on one plan and one memory at once: nothing is done twice, and nothing is lost.
#[test]
fn two_clients_share_a_plan_and_a_memory() {
    let mut first = Wire::new(SessionRole::Agent);
    let tasks: String = (1..=12)
        .map(|n| format!("- [ ] T1.{n}: Task {n}\n"))
        .collect();
    first.write("TASKS.md", &format!("# Both\n\n## Phase 1: All\n\n{tasks}"));
    first.done("orchestrate_init", json!({}));
    let second = first.beside();
    let folder = first.folder.clone();
    let work = |mut wire: Wire| {
        let mut done = Vec::new();
        loop {
            let reply = wire.done("orchestrate_next", json!({}))["reply"].clone();
            let reply = reply.as_str().unwrap().to_owned();
            let Some(ids) = reply.strip_prefix("READY:") else {
                if reply == "WAIT" {
                    continue;
                }
                return (wire, done);
            };
            let id = ids.split(',').next().unwrap();
            let (begun, told) = wire.call("orchestrate_start", json!({ "id": id }));
            if !begun {
                assert_ne!(told["error"]["code"], "internal", "{told}");
                continue;
            }
            let note = json!({ "key": "shared_data.done", "value": id });
            wire.done("memory_context_append", note);
            wire.done("orchestrate_complete", json!({ "id": id }));
            done.push(id.to_owned());
        }
    };
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| work(first));
        let two = scope.spawn(|| work(second));
        (one.join().unwrap(), two.join().unwrap())
    });
    let mut all: Vec<String> = one.1.iter().chain(&two.1).cloned().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(one.1.len() + two.1.len(), 12);
    assert_eq!(all.len(), 12);
    let mut wire = one.0;
    let noted = wire.done("memory_context_get", json!({ "key": "shared_data.done" }));
    assert_eq!(noted["value"].as_array().unwrap().len(), 12);
    let plan = std::fs::read_to_string(folder.join("TASKS.md")).unwrap();
    assert_eq!(plan.matches("- [x]").count(), 12);
}
