//! Every person's action on every state of the machine's table, over REST: what the machine allows is done, what it refuses is
//! answered with its code and a hint, and changes nothing.

use crate::fake_job_service::{AGENT_TOKEN, NOW, World};
use bowline_engine::machines::job::{Command, Job, JobCheckpoint, JobMachine};
use bowline_engine::machines::table::MachineCatalogue as _;
use bowline_engine::machines::{CodedRefusal as _, Machine as _};
use bowline_server::client::ApiClient;
use bowline_server::job_service::JobService as _;
use bowline_store::EventQuery;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// An action: how it is asked, and the machine's command it stands for.
struct Action {
    method: &'static str,
    path: String,
    body: Value,
    command: Command,
}

/// All actions on a job, with the ids it has, or ids it does not have.
fn actions(id: &str, job: &Job) -> Vec<Action> {
    let task = |verb: &str| format!("/api/tasks/{id}/{verb}");
    let review = job.reviews.last().map(|it| it.id.clone());
    let question = job.questions.last().map(|it| it.id.clone());
    let needed = job.dependencies.last().map(|it| it.id.clone());
    let permission = job.permissions.last().map(|it| it.id.clone());
    let checkpoint = format!("cp_{id}");
    let at = JobCheckpoint {
        id: checkpoint.clone(),
        phase: 1,
        step: None,
    };
    let mut all = vec![
        (
            "PATCH",
            format!("/api/tasks/{id}"),
            json!({"title": "New"}),
            {
                let edit = bowline_engine::machines::job::DraftChanges {
                    title: Some("New".into()),
                    ..Default::default()
                };
                Command::Edit(edit)
            },
        ),
        ("POST", task("submit"), json!({}), Command::Submit),
        ("POST", task("cancel"), json!({}), Command::Cancel),
        ("POST", task("pause"), json!({}), Command::Pause),
        ("POST", task("resume"), json!({}), Command::Resume),
        (
            "POST",
            task("retry"),
            json!({}),
            Command::Retry {
                new: "task_new".into(),
            },
        ),
        ("POST", task("archive"), json!({}), Command::Archive),
        (
            "POST",
            task("checkpoints"),
            json!({}),
            Command::SaveCheckpoint,
        ),
        ("POST", task("interrupt"), json!({}), Command::Interrupt),
        (
            "POST",
            task("say"),
            json!({"text": "hello"}),
            Command::SendMessage {
                id: "say_new".into(),
                text: "hello".into(),
            },
        ),
        (
            "POST",
            task("restore"),
            json!({"checkpointId": checkpoint}),
            Command::Restore {
                checkpoint: at.clone(),
                held_by: None,
            },
        ),
        (
            "POST",
            format!("/api/checkpoints/{checkpoint}/fork"),
            json!({}),
            Command::Fork {
                new: "task_new".into(),
                checkpoint: at,
            },
        ),
        (
            "POST",
            task("approve"),
            json!({}),
            Command::Approve {
                review: job
                    .open_review()
                    .map_or_else(|| "rev_none".into(), |it| it.id.clone()),
                comment: None,
            },
        ),
        (
            "DELETE",
            format!("/api/tasks/{id}"),
            Value::Null,
            Command::Delete { dependents: vec![] },
        ),
    ];
    if let Some(review) = review {
        let changes = json!({"feedback": "more tea"});
        all.push((
            "POST",
            format!("/api/reviews/{review}/approve"),
            json!({}),
            Command::Approve {
                review: review.clone(),
                comment: None,
            },
        ));
        all.push((
            "POST",
            format!("/api/reviews/{review}/request-changes"),
            changes,
            Command::RequestChanges {
                review,
                feedback: "more tea".into(),
            },
        ));
    }
    if let Some(question) = question {
        all.push((
            "POST",
            format!("/api/questions/{question}/answer"),
            json!({"answer": "green"}),
            Command::Answer {
                question: question.clone(),
                text: "green".into(),
            },
        ));
        all.push((
            "POST",
            format!("/api/questions/{question}/skip"),
            json!({}),
            Command::Skip { question },
        ));
    }
    if let Some(dependency) = needed {
        all.push((
            "POST",
            format!("/api/dependencies/{dependency}/provide"),
            json!({"value": "v"}),
            Command::Provide {
                dependency: dependency.clone(),
            },
        ));
        all.push((
            "POST",
            format!("/api/dependencies/{dependency}/reject"),
            json!({"reason": "no"}),
            Command::Reject {
                dependency,
                reason: "no".into(),
            },
        ));
    }
    if let Some(permission) = permission {
        all.push((
            "POST",
            format!("/api/permissions/{permission}/permit"),
            json!({}),
            Command::Permit {
                permission: permission.clone(),
            },
        ));
        all.push((
            "POST",
            format!("/api/permissions/{permission}/deny"),
            json!({"reason": "no"}),
            Command::Deny {
                permission,
                reason: "no".into(),
            },
        ));
    }
    let action = |(method, path, body, command)| Action {
        method,
        path,
        body,
        command,
    };
    all.into_iter().map(action).collect()
}

#[test]
fn every_action_in_every_state() {
    let (mut done, mut refused) = (0, 0);
    for (name, state) in JobMachine::sample_states() {
        let count = actions("task_x", &state).len();
        for index in 0..count {
            // A world of its own for each: ids in the table are the same in every state.
            let world = World::new();
            world.job_service.put("task_x", &state);
            world.job_service.put_checkpoint("task_x", "cp_task_x");
            let action = actions("task_x", &state).remove(index);
            let store = world.job_service.store();
            let before = store.find_job("task_x").unwrap();
            let answer = world
                .person()
                .send_request(
                    action.method,
                    &action.path,
                    Some(&action.body).filter(|it| !it.is_null()),
                    &[],
                )
                .unwrap();
            let said = answer.json();
            let what = format!(
                "{name}: {} {}: {} {said}",
                action.method, action.path, answer.status
            );
            match JobMachine::step(&state, action.command, NOW) {
                Ok(_) => {
                    assert!((200..300).contains(&answer.status), "{what}");
                    done += 1;
                }
                Err(refusal) => {
                    assert_eq!(answer.status, 409, "{what}");
                    assert_eq!(said["error"]["code"], refusal.code(), "{what}");
                    assert_ne!(said["error"]["hint"], "", "{what}");
                    assert_ne!(said["error"]["message"], "", "{what}");
                    assert_eq!(store.find_job("task_x").unwrap(), before, "{what}");
                    let events = store.list_events(&EventQuery::default()).unwrap();
                    assert!(events.is_empty(), "{what}");
                    refused += 1;
                }
            }
        }
    }
    assert!(done > 60 && refused > 200, "{done} done, {refused} refused");
}

/// A request that is repeated with its key is answered as the first time, whatever state it finds then; one that asks for
/// something else with the same key is refused.
#[test]
fn a_repeated_key_is_answered_as_the_first_time() {
    let keyed = |client: &ApiClient, method: &str, path: &str, body: &Value| {
        let body = Some(body).filter(|it| !it.is_null());
        let answer = client.send_request(method, path, body, &[("Idempotency-Key", "k1")]);
        let answer = answer.unwrap();
        (
            answer.status,
            String::from_utf8_lossy(&answer.body).into_owned(),
        )
    };
    let mut verbs = BTreeSet::new();
    for (name, state) in JobMachine::sample_states() {
        for (index, action) in actions("task_x", &state).into_iter().enumerate() {
            if JobMachine::step(&state, action.command, NOW).is_err() {
                continue;
            }
            let world = World::new();
            world.job_service.put("task_x", &state);
            world.job_service.put_checkpoint("task_x", "cp_task_x");
            let client = world.person();
            let Action {
                method, path, body, ..
            } = actions("task_x", &state).remove(index);
            let what = format!("{name}: {method} {path}");
            let first = keyed(&client, method, &path, &body);
            assert!((200..300).contains(&first.0), "{what}: {first:?}");
            let moved = world.job_service.store().find_job("task_x").unwrap();
            assert_eq!(keyed(&client, method, &path, &body), first, "{what}");
            assert_eq!(
                world.job_service.store().find_job("task_x").unwrap(),
                moved,
                "{what}"
            );
            if method == "POST" {
                let other = json!({ "another": "body" });
                let reused = keyed(&client, method, &path, &other);
                assert_eq!(reused.0, 409, "{what}: {reused:?}");
                assert!(reused.1.contains("request_reused"), "{what}: {reused:?}");
            }
            verbs.insert((method, path.rsplit('/').next().unwrap().to_owned()));
        }
    }
    assert!(verbs.len() >= 18, "{verbs:?}");
}

/// The same for what is no move of a task: making one, an agent's reports, a verb of a state file.
#[test]
fn keys_hold_for_everything_that_changes_something() {
    let world = World::with_project(|_| {});
    world.job_service.put_running("task_agent");
    let (person, agent) = (world.person(), world.with_token(AGENT_TOKEN));
    let verb = format!("{}/memory/task-new", world.workspace());
    let asked = [
        (
            &person,
            "/api/tasks",
            json!({ "title": "Tea", "submit": false }),
        ),
        (
            &agent,
            "/api/agent/step",
            json!({ "step": 1, "of": 2, "name": "a" }),
        ),
        (
            &agent,
            "/api/agent/ask",
            json!({ "question": "Which?", "required": true }),
        ),
        (&person, verb.as_str(), json!({ "text": "Sell tea" })),
    ];
    // An agent's keys are others than a person's.
    for ((client, path, body), key) in asked.iter().zip(["1", "1", "2", "3"]) {
        let send = || {
            let headers = [("Idempotency-Key", key)];
            let answer = client
                .send_request("POST", path, Some(body), &headers)
                .unwrap();
            (answer.status, answer.json())
        };
        let first = send();
        assert!((200..300).contains(&first.0), "{path}: {first:?}");
        assert_eq!(send(), first, "{path}");
    }
}

/// A link is a secret: it is kept nowhere, and asking again makes another.
#[test]
fn a_sign_in_link_is_not_kept_for_its_key() {
    let world = World::new();
    let link = || {
        let headers = [("Idempotency-Key", "1")];
        let path = "/api/sign-in-links";
        let answer = world
            .person()
            .send_request("POST", path, Some(&json!({})), &headers);
        answer.unwrap().json()["url"].as_str().unwrap().to_owned()
    };
    assert_ne!(link(), link());
    let kept = world
        .job_service
        .store()
        .stored_response("response\n1")
        .unwrap();
    assert_eq!(kept, None);
}

/// The list that is handed out is the one the machine computes, and each of its actions is really done.
#[test]
fn what_is_allowed_is_told() {
    let world = World::new();
    for (index, (name, state)) in JobMachine::sample_states().into_iter().enumerate() {
        let id = format!("task_s{index}");
        world.job_service.put_alone(&id, &state);
        let task = world.get(&format!("/api/tasks/{id}")).json();
        let told: Vec<&str> = task["allowedActions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let wanted: Vec<&str> = bowline_engine::machines::job::allowed_actions(&state)
            .into_iter()
            .map(|it| it.name())
            .collect();
        assert_eq!(told, wanted, "{name}");
        assert_eq!(task["status"], state.task_status().name(), "{name}");
        let agent = world.get(&format!("/api/tasks/{id}/agent")).json();
        assert_eq!(agent["status"], state.agent_status().name(), "{name}");
    }
}

/// In Korean, too.
#[test]
fn refusals_are_told_in_the_callers_language() {
    let world = World::new();
    let (_, draft) = JobMachine::sample_states().remove(0);
    world.job_service.put("task_x", &draft);
    let client = bowline_server::client::ApiClient::for_url(
        &world.url,
        Some(world.token()),
        bowline_words::Lang::Ko,
    );
    let client = client.unwrap();
    for (task, status, message) in [
        (
            "task_x",
            409,
            "작업에 빠진 것이 있습니다: title, type, description",
        ),
        ("task_y", 404, "작업 'task_y'가 없습니다"),
    ] {
        let path = format!("/api/tasks/{task}/submit");
        let answer = client.send_request("POST", &path, None, &[]).unwrap();
        let told = answer.json()["error"]["message"].clone();
        assert_eq!((answer.status, told), (status, json!(message)));
    }
}
