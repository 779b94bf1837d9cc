//! One task through every state, as a person and its agent see it.

use crate::fake_job_service::{AGENT_TOKEN, World, refusal};
use bowline_engine::machines::job::Command;
use serde_json::{Value, json};
use std::collections::BTreeSet;

struct Walk {
    world: World,
    seen: Vec<(String, String)>,
}

impl Walk {
    fn look(&mut self) -> Value {
        let task = self.world.get("/api/tasks/task_agent").json();
        let agent = self.world.get("/api/tasks/task_agent/agent").json();
        let word = |value: &Value| value["status"].as_str().unwrap().to_owned();
        self.seen.push((word(&task), word(&agent)));
        assert_eq!(task["agentState"]["status"], agent["status"]);
        task
    }

    fn person(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.world.post(path, body);
        assert!(
            (200..300).contains(&answer.status),
            "{path}: {}",
            answer.json()
        );
        self.look()
    }

    fn agent(&mut self, verb: &str, body: &Value) -> Value {
        let client = self.world.with_token(AGENT_TOKEN);
        let path = format!("/api/agent/{verb}");
        let answer = client.send_request("POST", &path, Some(body), &[]).unwrap();
        assert_eq!(answer.status, 200, "{verb}: {}", answer.json());
        self.look()
    }

    fn the_loop(&mut self, command: Command) {
        self.world
            .job_service
            .decide("task_agent", command)
            .unwrap();
        self.look();
    }

    fn open(&self, kind: &str) -> String {
        let inbox = self.world.get("/api/inbox").json();
        let items = inbox["items"].as_array().unwrap();
        let found = items.iter().find(|it| it["kind"] == kind);
        found.expect(kind)["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn through_every_state() {
    let world = World::new();
    let made = world.post(
        "/api/tasks",
        &json!({"title": "Shop", "type": "two", "description": "Tea"}),
    );
    assert_eq!(made.status, 201);
    assert_eq!(made.json()["status"], "draft");
    let job = bowline_engine::machines::job::Job {
        title: "Shop".into(),
        description: "Tea".into(),
        kind: Some(
            bowline_engine::machines::job::JobKind::with_reviewed_phases(["Planning", "Design"]),
        ),
        ..Default::default()
    };
    world.job_service.put("task_agent", &job);
    let mut walk = Walk {
        world,
        seen: Vec::new(),
    };
    walk.look();
    walk.person("/api/tasks/task_agent/submit", &json!({}));
    walk.the_loop(Command::Assign {
        completed: BTreeSet::new(),
        held_by: None,
    });
    let task = walk.agent("step", &json!({"step": 1, "of": 2, "name": "01_idea"}));
    assert_eq!(task["agentState"]["currentStep"], "01_idea");
    let task = walk.agent("tokens", &json!({"used": 120}));
    assert_eq!(task["agentState"]["tokensUsed"], 120);
    walk.person("/api/tasks/task_agent/pause", &json!({}));
    walk.person("/api/tasks/task_agent/resume", &json!({}));
    let limited = walk.agent(
        "error",
        &json!({"message": "limit", "recovery": "pause_and_retry", "retryAfter": 5}),
    );
    assert_eq!(limited["agentState"]["pausedBy"], "rate_limit");
    assert_ne!(limited["agentState"]["resumeAt"], Value::Null);
    walk.person("/api/tasks/task_agent/resume", &json!({}));
    walk.agent(
        "ask",
        &json!({"question": "Which tea?", "options": ["green", "black"], "required": true}),
    );
    // The fake job service assigns no ids: the question keeps the empty one of the report.
    walk.person("/api/tasks/task_agent/cancel", &json!({}));
    let seen: BTreeSet<(String, String)> = walk.seen.iter().cloned().collect();
    let pair = |task: &str, agent: &str| (task.to_owned(), agent.to_owned());
    for wanted in [
        pair("draft", "idle"),
        pair("pending", "idle"),
        pair("in_progress", "running"),
        pair("in_progress", "paused"),
        pair("in_progress", "waiting_question"),
        pair("failed", "failed"),
    ] {
        assert!(seen.contains(&wanted), "{wanted:?} was not met: {seen:?}");
    }
    let transitions = walk
        .world
        .get("/api/tasks/task_agent/transitions?limit=3")
        .json();
    assert_eq!(transitions["items"].as_array().unwrap().len(), 3);
    assert_eq!(transitions["items"][0]["trigger"], "SUBMIT");
    let cursor = transitions["nextCursor"].as_str().unwrap();
    let more = walk
        .world
        .get(&format!(
            "/api/tasks/task_agent/transitions?cursor={cursor}"
        ))
        .json();
    let first = more["items"][0]["sequence"].as_u64().unwrap();
    assert!(first > transitions["items"][2]["sequence"].as_u64().unwrap());
}

/// The other half: reviews, and the end.
#[test]
fn through_reviews_to_the_end() {
    let world = World::new();
    world.job_service.put_running("task_agent");
    let mut walk = Walk {
        world,
        seen: Vec::new(),
    };
    walk.agent("phase-complete", &json!({"phase": 1, "files": ["a.md"]}));
    let passed = |verification: u32, review: &str| Command::VerificationPassed {
        verification,
        review: review.into(),
        deliverables: 1,
    };
    walk.the_loop(passed(1, "rev_a"));
    let review = walk.open("review");
    assert_eq!(review, "rev_a");
    let diff = walk
        .world
        .get(&format!("/api/reviews/{review}/diff"))
        .json();
    assert_eq!(diff["files"][0]["path"], "a.md");
    walk.person(
        &format!("/api/reviews/{review}/request-changes"),
        &json!({
            "feedback": "more", "comments": [{"file": "a.md", "line": 3, "comment": "here"}],
        }),
    );
    walk.agent("phase-complete", &json!({"phase": 1}));
    walk.the_loop(passed(2, "rev_b"));
    let task = walk.person("/api/tasks/task_agent/approve", &json!({"comment": "good"}));
    assert_eq!(task["currentPhase"], 2);
    let phases = walk.world.get("/api/tasks/task_agent/phases").json();
    assert_eq!(phases["items"][0]["status"], "completed");
    assert_eq!(phases["items"][1]["status"], "in_progress");
    walk.agent(
        "need",
        &json!({"type": "api_key", "name": "KEY", "required": true}),
    );
    walk.person("/api/tasks/task_agent/cancel", &json!({}));
    let told = walk.world.post("/api/tasks/task_agent/retry", &json!({}));
    assert_eq!(
        (told.status, told.json()["retryOf"].clone()),
        (201, json!("task_agent"))
    );
    let reviews = walk.world.get("/api/tasks/task_agent/reviews").json();
    let status: Vec<&Value> = reviews["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["status"])
        .collect();
    assert_eq!(status, ["changes_requested", "approved"]);
}

/// What was looked at is what is decided on.
#[test]
fn a_decision_about_an_older_version_is_refused() {
    let world = World::new();
    let made = world
        .post(
            "/api/tasks",
            &json!({"title": "a", "type": "two", "description": "b"}),
        )
        .json();
    let (id, version) = (
        made["id"].as_str().unwrap(),
        made["version"].as_u64().unwrap(),
    );
    let path = format!("/api/tasks/{id}");
    let edit = |version: u64| {
        let version = version.to_string();
        let body = json!({"title": "c"});
        world
            .person()
            .send_request(
                "PATCH",
                &path,
                Some(&body),
                &[("If-Match", version.as_str())],
            )
            .unwrap()
    };
    assert_eq!(edit(version).status, 200);
    let late = edit(version);
    assert_eq!(refusal(&late), (409, "changed".into()));
}

#[test]
fn lists_are_paged_and_searched() {
    let world = World::new();
    for index in 0..5 {
        let body = json!({"title": format!("Shop {index}"), "type": "custom", "description": "tea", "submit": index == 3});
        assert_eq!(world.post("/api/tasks", &body).status, 201);
    }
    let mut ids = BTreeSet::new();
    let mut path = "/api/tasks?limit=2".to_owned();
    let mut pages = 0;
    loop {
        let answer = world.get(&path);
        assert!(answer.header("x-sequence").is_some());
        let page = answer.json();
        for item in page["items"].as_array().unwrap() {
            assert!(ids.insert(item["id"].as_str().unwrap().to_owned()), "twice");
        }
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/api/tasks?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!((ids.len(), pages), (5, 3));
    let count = |query: &str| {
        world.get(&format!("/api/tasks?{query}")).json()["items"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(
        (
            count("status=pending"),
            count("q=SHOP+4"),
            count("type=two")
        ),
        (1, 1, 0)
    );
    let wrong = world.get("/api/tasks?status=odd");
    assert_eq!(refusal(&wrong), (400, "bad_input".into()));
}

#[test]
fn an_unknown_type_is_told_at_once_with_what_was_meant() {
    let world = World::new();
    let answer = world.post("/api/tasks", &json!({"type": "costum"}));
    let error = answer.json()["error"].clone();
    assert_eq!(
        (answer.status, error["code"].clone()),
        (400, json!("unknown_type"))
    );
    assert_eq!(error["validTypes"], json!(["two", "custom"]));
    assert_eq!(error["suggestion"], "custom");
}
