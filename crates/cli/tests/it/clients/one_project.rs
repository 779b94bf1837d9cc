//! Every client in one project that was initialised for all of them: hooks of one client do not stand in for those of another.

use super::kind::Kind;
use super::tools::checkout;
use super::{Guarded, codex, each_has, last, pages, texts};
use bowline_test_support::model_server::{ModelReply, ModelRequest, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::json;
use std::process::Command;

const ALL_CLIENTS: &str = "claude --agent codex --agent gemini --agent opencode";
const CARD: &str = "Where the work stands, by bowline's state files";

/// Counts the resume cards in a question to the model.
fn cards(asked: &ModelRequest) -> usize {
    texts(&asked.body).matches(CARD).count()
}

#[test]
fn every_client_is_held_in_one_project_and_has_its_card() {
    let world = Guarded::new(ALL_CLIENTS);
    // Git's hooks would hold the commit as well; here the clients' hooks are asked alone.
    std::fs::remove_dir_all(world.0.path(".git/hooks")).unwrap();
    for kind in Kind::ALL {
        let Some(program) = kind.installed() else {
            continue;
        };
        let settings = world.0.read(".claude/settings.local.json");
        let model = ModelServer::start([
            kind.write(&world, "src/new.txt"),
            kind.shell("echo x > src/new.txt"),
            kind.shell("git commit --allow-empty -m 'too early'"),
            kind.shell("bowline init --agent claude"),
            kind.shell("ls src"),
            ModelReply::text("I give up."),
        ])
        .unwrap();
        world.run(kind.run(&world, &program, &model, "write the file"));
        let asked = model.received_requests();
        let denied: &[&str] = &[
            "[PHASE GATE] IMPLEMENT: writing ",
            "src/new.txt",
            "closed gates: review_clean_pass",
            "next: ask a person to run: bowline develop back REVIEW",
        ];
        // What the others are told, tests of their own and `card.rs` look for.
        let card: &[&str] = match kind {
            Kind::Gemini => &[
                "Where the work stands",
                "Closed now: writing files (until review_clean_pass)",
                "<hook_context>Develop run 'Ferry times', phase IMPLEMENT. Ask a person",
            ],
            Kind::Claude | Kind::Codex | Kind::Opencode => &["write the file"],
        };
        each_has(
            &asked,
            &[
                card,
                denied,
                denied,
                &["[PHASE GATE] IMPLEMENT: git commit is closed."],
                &["[PHASE GATE] IMPLEMENT: bowline init --agent claude is a person's move."],
                &["old.txt"],
            ],
        );
        assert_eq!(cards(&asked[0]), 1, "{}", texts(&asked[0].body));
        assert_eq!(world.0.read(".claude/settings.local.json"), settings);
        world.held();
        record_client_result(
            kind.variable(),
            "writing and committing are denied while a gate is closed",
        );
        record_client_result(
            kind.variable(),
            "denied, and told where the work stands, in a project initialised for every client",
        );
    }
}

#[test]
fn plugin_and_init_together_give_one_card_and_one_denial() {
    let kind = Kind::Claude;
    let Some(program) = kind.installed() else {
        return;
    };
    let world = Guarded::new("claude");
    let helper = json!({
        "description": "helps", "prompt": "look at it", "subagent_type": "general-purpose",
        "run_in_background": false,
    });
    let model = ModelServer::start([
        kind.shell("echo x > src/new.txt"),
        ModelReply::tool_call("I have it done.", "Agent", helper),
        ModelReply::text("It is as it is."),
        ModelReply::text("Done."),
    ])
    .unwrap();
    let mut client = kind.run(&world, &program, &model, "write the file");
    client.arg("--plugin-dir").arg(checkout().join("plugin"));
    world.run(client);
    let asked = model.received_requests();
    let denied: &[&str] = &["closed gates: review_clean_pass"];
    each_has(
        &asked,
        &[
            &["write the file"],
            denied,
            &["look at it"],
            &["It is as it is."],
        ],
    );
    let told = last(&asked[1]);
    assert_eq!(told.matches("[PHASE GATE]").count(), 1, "{told}");
    // One for the agent, and one for the agent of the agent.
    for question in [0, 2] {
        let body = texts(&asked[question].body);
        assert_eq!(cards(&asked[question]), 1, "{body}");
    }
    let reminded = texts(&asked[0].body)
        .matches("UserPromptSubmit hook additional")
        .count();
    assert_eq!(reminded, 1);
    record_client_result(
        kind.variable(),
        "one card and one denial with plugin and `init` together",
    );
    record_client_result(kind.variable(), "the resume card is told to subagents");
}

/// The client with the settings of `init` in a folder that is trusted, and the plugin of the checkout.
pub(super) fn codex_with_plugin(world: &Guarded, program: &str, model: &ModelServer) -> Command {
    codex::trusting(world, program, model);
    let told = pages::follow(world, Kind::Codex, program);
    assert!(told.contains("bowline"), "{told}");
    let mut client = world.client(program);
    client
        .env("CODEX_HOME", world.0.root().join("home/codex"))
        .env("SCRIPTED_KEY", "opens-nothing")
        .args(["exec", "-s", "danger-full-access"])
        .arg("--dangerously-bypass-hook-trust");
    client
}

#[test]
fn plugin_and_init_together_give_codex_one_card_and_one_denial() {
    let Some(program) = Kind::Codex.installed() else {
        return;
    };
    let world = Guarded::new("codex");
    let helper = json!({ "message": "look at it" });
    let write = || Kind::Codex.shell("echo x > src/new.txt");
    let model = ModelServer::start([
        write(),
        codex::looks_for("spawn agent subagent"),
        ModelReply::tool_call("I have it done.", "multi_agent_v1__spawn_agent", helper),
        // The agent and its subagent ask at once from here on, so both get the same.
        Kind::Codex.shell("sleep 3"),
        Kind::Codex.shell("sleep 3"),
    ])
    .unwrap();
    (0..10).for_each(|_| model.push_reply(write()));
    (0..2).for_each(|_| model.push_reply(ModelReply::text("Done.")));
    let mut client = codex_with_plugin(&world, &program, &model);
    client.arg("write the file");
    world.run(client);
    let asked = model.received_requests();
    let told = last(&asked[1]);
    assert_eq!(told.matches("[PHASE GATE]").count(), 1, "{told}");
    for one in &asked {
        assert_eq!(cards(one), 1, "{}", texts(&one.body));
    }
    let of_subagent = |one: &&ModelRequest| !texts(&one.body).contains("write the file");
    let helped: Vec<String> = asked.iter().filter(of_subagent).map(last).collect();
    assert!(
        helped.iter().any(|told| told.contains("[PHASE GATE]")),
        "{helped:?}"
    );
    world.held();
    record_client_result(
        "BOWLINE_CODEX",
        "one card and one denial with plugin and `init` together",
    );
    record_client_result("BOWLINE_CODEX", "the resume card is told to subagents");
    record_client_result("BOWLINE_CODEX", "its subagents are held back as well");
}
