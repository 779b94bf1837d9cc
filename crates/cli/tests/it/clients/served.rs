//! Tasks of the server worked off by the real `claude`: through phases, a permission, a question, a review with changes, a
//! limit, a killed client and killed servers; and by every client with our tools alone.

use super::kind::Kind;
use super::{Guarded, each_has, installed, last, texts};
use crate::environment::TestEnvironment;
use crate::serve::Server;
use bowline_test_support::model_server::{ModelReply, ModelServer, ReachedLimit};
use bowline_test_support::{record_client_result, wait_until};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) const INBOX: &str = "task --data data inbox";

/// Two phases, each with a file and a review.
const TYPES: &str = "[limits]\nretry_after = 4\n\
    [[type.ferry.phases]]\nname = \"Plan\"\ndeliverables = [\"plan.md\"]\n\
    [[type.ferry.phases]]\nname = \"Build\"\ndeliverables = [\"ferry.md\"]\n";

/// The client where the server finds it and with what it gets in other tests, and a type of task for it.
pub(super) fn with_client(
    world: TestEnvironment,
    kind: Kind,
    program: &str,
    model: &ModelServer,
) -> TestEnvironment {
    let bin = world.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(program, bin.join(kind.name())).unwrap();
    let world = Guarded(world);
    let call = kind.run(&world, program, model, "");
    let mut handed = Vec::new();
    let mut world = world.0;
    for (name, value) in call.get_envs() {
        let [name, value] = [Some(name), value].map(|it| it.unwrap().to_str().unwrap());
        handed.push(name);
        world = match name {
            "PATH" => world.with(name, &format!("{}:{value}", bin.display())),
            _ => world.with(name, value),
        };
    }
    let client = kind.name();
    world.write(
        "bowline.toml",
        format!("[defaults]\nagent = {client:?}\nenv = {handed:?}\n{TYPES}"),
    );
    world
}

fn first(kind: &str) -> impl Fn(&Value) -> bool {
    move |inbox: &Value| inbox["items"][0]["kind"] == kind
}

/// Waits until the task lies before a person.
fn in_review(server: &Server, task: &str) {
    let show = format!("task --data data show {task}");
    server.until(&show, |it| it["status"] == "review");
}

#[test]
fn claude_takes_a_task_through_everything_that_can_happen() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let questions = json!([{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
    }]);
    let shell = |command: &str| Kind::Claude.shell(command);
    let model = ModelServer::start([
        shell("echo plan > plan.md"),
        ModelReply::tool_call("I ask.", "AskUserQuestion", json!({"questions": questions})),
        ModelReply::text("Blue it is."),
        ModelReply::text("It was done.\n\n=== PHASE 1 COMPLETE ===\n"),
        shell("echo harbour >> plan.md"),
        ModelReply::text("Changed.\n\n=== PHASE 1 COMPLETE ===\n"),
    ])
    .unwrap();
    let world = with_client(TestEnvironment::new(), Kind::Claude, &program, &model);
    let server = Server::of(world);
    let made = server
        .done("task --data data new --title Ferry --type ferry --description 'A ferry' --submit");
    let task = made.trim().to_owned();
    let show = format!("task --data data show {task}");

    // A tool that needs leave: the server is killed while it waits, and the client is none the wiser.
    let asked = server.until(INBOX, first("permission"))["items"][0].clone();
    let server = server.killed("");
    let again = server.until(INBOX, first("permission"))["items"][0].clone();
    assert_eq!(again["id"], asked["id"]);
    let rule = "task --data data rule add --tool Bash --input 'command=echo harbour >> plan.md'";
    server.done(rule);
    server.done(&format!("task --data data permit {task}"));

    // A question by the client's own tool. The turn that follows says nothing of the phase, and is reminded of it.
    server.until(INBOX, first("question"));
    server.done(&format!("task --data data answer {task} blue"));
    in_review(&server, &task);
    server.done(&format!(
        "task --data data request-changes {task} --feedback 'Name the harbour'"
    ));
    server.until(&show, |it| it["status"] == "in_progress");
    in_review(&server, &task);

    // The second phase begins with a limit, during which the server is killed. Then the client itself is.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    model.push_reply(ModelReply::Limited(ReachedLimit {
        retry_after_s: Some(3600),
        resets_at: Some(now.as_secs() + 5),
        message: "over the limit of this account".to_owned(),
    }));
    for reply in [
        shell("kill -9 $PPID"),
        shell("echo ferry > ferry.md"),
        ModelReply::text("It floats.\n\n=== PHASE 2 COMPLETE ===\n"),
    ] {
        model.push_reply(reply);
    }
    server.done(&format!("task --data data approve {task}"));
    server.until(&show, |it| it["agentState"]["status"] == "paused");
    let server = server.killed("");
    for command in ["kill -9 $PPID", "echo ferry > ferry.md"] {
        let waits = |it: &Value| it["items"][0]["permission"]["input"]["command"] == command;
        server.until(INBOX, waits);
        server.done(&format!("task --data data permit {task}"));
    }
    in_review(&server, &task);
    server.done(&format!("task --data data approve {task}"));
    let done = server.until(&show, |it| it["status"] == "completed");

    assert_eq!(done["progress"], 100);
    assert!(done["tokensUsed"].as_u64().unwrap() > 0, "{done}");
    assert_eq!(model.replies_left(), 0);
    each_has(
        &model.received_requests(),
        &[
            &["You work on phase 1 of 2: Plan."],
            &[],
            &["Which colour?", "blue"],
            &["phase 1 is not reported as complete"],
            &["[REVIEW_REJECTED]", "Name the harbour"],
            &[],
            &["[REVIEW_APPROVED]", "You work on phase 2 of 2: Build."],
            &["phase 2 is not reported as complete"],
            &["You work on phase 2 of 2: Build."],
            &[],
        ],
    );
    // The second process went on with the conversation of the first.
    let all: String = texts(&model.received_requests()[8].body["messages"]);
    assert!(all.contains("Name the harbour"), "{all}");
    let moves = server.done(&format!("task --data data transitions {task} --json"));
    let count = |trigger: &str| moves.matches(&format!("\"{trigger}\"")).count();
    assert_eq!(
        (count("RATE_LIMIT"), count("RATE_LIMIT_RESET")),
        (1, 1),
        "{moves}"
    );
    // The last one is an effect of the end, and comes a moment after it.
    let reasons = ["user_question", "phase_complete", "rate_limit", "completed"];
    let mut saved = String::new();
    let all = wait_until(Duration::from_secs(30), || {
        saved = server
            .json(&format!("task --data data checkpoints {task}"))
            .to_string();
        let there = |reason: &&str| saved.contains(&format!("\"{reason}\""));
        reasons.iter().all(there)
    });
    assert!(all, "{reasons:?}: {saved}");
}

/// An agent that reports by our tools: exact, and refused what is a person's.
#[test]
fn claude_works_off_a_task_by_tools() {
    works_off_a_task(Kind::Claude);
}

#[test]
fn codex_works_off_a_task_by_tools() {
    works_off_a_task(Kind::Codex);
}

#[test]
fn gemini_works_off_a_task_by_tools() {
    works_off_a_task(Kind::Gemini);
}

#[test]
fn opencode_works_off_a_task_by_tools() {
    works_off_a_task(Kind::Opencode);
}

fn works_off_a_task(kind: Kind) {
    let Some(program) = kind.installed() else {
        return;
    };
    let model = ModelServer::start([]).unwrap();
    let world = with_client(TestEnvironment::repository(), kind, &program, &model);
    world.quietly(&format!("init --agent {}", kind.name()), 0);
    let guarded = Guarded(world);
    guarded.commit_all();
    // A workspace does not hold the data folder.
    let data = guarded.0.root().join("served");
    std::fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(&data, guarded.0.path("data")).unwrap();
    let server = Server::of(guarded.0);
    let rule = |what: String| server.done(&format!("task --data data rule add --tool {what}"));
    for name in [
        "agent_step",
        "agent_ask",
        "agent_phase_complete",
        "task_show",
        "bowline_verb",
    ] {
        rule(match kind {
            Kind::Gemini => format!("'{name} (bowline MCP Server)'"),
            _ => format!("mcp__bowline__{name}"),
        });
    }
    for file in ["plan", "ferry"] {
        let command = format!("echo {file} > {file}.md");
        rule(match kind {
            Kind::Gemini => format!("'{command}'"),
            _ => format!("Bash --input 'command={command}'"),
        });
    }
    let made = server.done(
        "task --data data new --title Ferry --type ferry --description 'A ferry' --workspace .",
    );
    let task = made.trim().to_owned();
    let approve = json!({"noun": "task", "verb": "approve", "args": {"id": task}});
    let complete = |phase: u32, file: &str| {
        let report = json!({"phase": phase, "files": [file]});
        kind.tool("agent_phase_complete", report)
    };
    let mut script = vec![
        kind.tool("task_show", json!({"id": task})),
        kind.tool("agent_step", json!({"step": 1, "of": 2, "name": "Ask"})),
        kind.tool(
            "agent_ask",
            json!({"question": "Which harbour?", "required": true}),
        ),
        kind.shell("echo plan > plan.md"),
        kind.tool("bowline_verb", approve),
        // A turn that ends without a report, although an answer came in its middle.
        ModelReply::text("Hamburg it is."),
        complete(1, "plan.md"),
    ];
    if kind == Kind::Codex {
        // It learns of the review with its next command line only.
        script.push(ModelReply::text("The plan stands."));
    }
    script.extend([kind.shell("echo ferry > ferry.md"), complete(2, "ferry.md")]);
    script.into_iter().for_each(|reply| model.push_reply(reply));
    server.done(&format!("task --data data submit {task}"));
    server.until(INBOX, first("question"));
    server.done(&format!("task --data data answer {task} Hamburg"));
    for _ in 0..2 {
        in_review(&server, &task);
        server.done(&format!("task --data data approve {task}"));
        let show = format!("task --data data show {task}");
        server.until(&show, |it| it["status"] != "review");
    }
    let show = format!("task --data data show {task}");
    let done = server.until(&show, |it| it["status"] == "completed");
    assert_eq!(done["progress"], 100);
    assert_eq!(model.replies_left(), 0);
    let asked = model.received_requests();
    let told: Vec<String> = asked.iter().skip(1).map(last).collect();
    let place = |words: &str| {
        let place = told.iter().position(|it| it.contains(words));
        place.unwrap_or_else(|| panic!("no {words:?} in {told:#?}"))
    };
    assert_eq!(place("\"currentPhase\":1"), 0);
    if kind != Kind::Gemini {
        // An answer breaks its turn off, and with it what the tool said.
        assert_eq!(place("\"id\":\"q_"), 2);
    }
    assert_eq!(place("needs_person"), 4);
    if kind == Kind::Codex {
        assert_eq!(place("Hamburg"), 5);
    } else {
        // What it is told while it works, its client puts into the turn, one question to the model earlier or later.
        assert!((2..=3).contains(&place("Hamburg")));
        assert_eq!(place("phase 1 is not reported as complete"), 5);
    }
    assert!((6..=7).contains(&place("You work on phase 2 of 2: Build.")));
    let moves = server.done(&format!("task --data data transitions {task} --json"));
    let count = |trigger: &str| {
        let trigger = format!("\"{trigger}\"");
        moves.matches(&trigger).count()
    };
    assert_eq!(count("PHASE_COMPLETE"), 4, "{moves}");
    record_client_result(
        kind.variable(),
        "a task of the server is worked off by tools: step, question, phases",
    );
}
