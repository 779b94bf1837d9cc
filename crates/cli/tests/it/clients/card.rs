//! What the memory folder and a thinking run know reaches the model with the card: at the start in every client, and in
//! `claude` when it is resumed and after both kinds of compaction.

use super::kind::Kind;
use super::{Guarded, tools};
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::json;

const KNOWN: [&str; 7] = [
    "Where the work stands, by bowline's state files",
    "Earlier tasks learnt for stage planning; apply it: short sentences",
    "'Ferry guide', in_progress, step 2",
    "Step 2 of scribe: write it.",
    "What all agents share: current_topic=ferries",
    "What scribe remembers: structure=short",
    "Similar tasks taught this; apply it: begin with the timetable",
];

/// A memory with a finished task and one in hand, and a thinking run that applies what another learnt.
fn remembering(client: &str) -> Guarded {
    let world = TestEnvironment::repository();
    for line in [
        "thinking new essay-1 --goal 'An essay' --dir first",
        "thinking feedback record --metric reads=6% --target 5% --learning 'short sentences' --stage planning --dir first",
        "thinking new essay-2 --goal 'Another essay'",
        "thinking feedback apply --from first",
        "thinking start planning",
        "memory task new 'Train guide' --goal 'all night trains' --step 'name=look,agent=scout'",
        "memory step start 1",
        "memory step complete 1",
        "memory task finish --lesson 'begin with the timetable'",
        "memory task new 'Ferry guide' --goal 'all night ferries' --step 'name=look,agent=scout' --step 'name=write it,agent=scribe'",
        "memory step start 1",
        "memory step complete 1",
        "memory context set shared_data.current_topic ferries",
        "memory agent set scribe preferences.structure short",
    ] {
        world.quietly(line, 0);
    }
    world.quietly(&format!("init --agent {client}"), 0);
    Guarded(world)
}

/// The words of the card are in the last question, wherever this client puts them.
fn known(model: &ModelServer) {
    let asked = model.received_requests();
    let all = super::texts(&asked.last().unwrap().body);
    for words in KNOWN {
        assert!(all.contains(words), "no {words:?} in:\n{all}");
    }
}

#[test]
fn the_card_brings_what_the_memory_knows_to_every_client() {
    for kind in Kind::ALL {
        let Some(program) = kind.installed() else {
            continue;
        };
        let world = remembering(kind.name());
        let model = ModelServer::start([ModelReply::text("I see.")]).unwrap();
        world.run(kind.run(&world, &program, &model, "hello"));
        known(&model);
        record_client_result(kind.variable(), "the resume card is told at the start");
        record_client_result(kind.variable(), "the card brings what the memory knows");
    }
}

/// More tokens than the window that the client is told to keep to: then it has what was said summed up.
const FULL: u64 = 190_000;
const WINDOW: [&str; 2] = ["CLAUDE_CODE_AUTO_COMPACT_WINDOW", "50000"];

#[test]
fn the_card_comes_again_when_claude_is_resumed_and_after_every_compaction() {
    let kind = Kind::Claude;
    let Some(program) = kind.installed() else {
        return;
    };
    let world = remembering("claude");
    let session = "3f0f4d0e-5d3c-4c68-9f6f-64a3f3b7c103";
    let run = |model: &ModelServer, prompt: &str, how: &str| {
        let mut client = tools::claude(&world, &program, model);
        client
            .env(WINDOW[0], WINDOW[1])
            .args(["-p", prompt, how, session])
            .args(["--output-format", "stream-json", "--verbose"])
            .args(["--permission-mode", "acceptEdits"])
            .args(["--allowedTools", "Bash"]);
        world.run(client)
    };
    let model = ModelServer::start([ModelReply::text("I am here.")]).unwrap();
    run(&model, "hello", "--session-id");
    known(&model);
    // Something changes while it is away.
    world
        .0
        .quietly("memory context set shared_data.tide low", 0);
    let model = ModelServer::start([ModelReply::text("I am back.")]).unwrap();
    run(&model, "go on", "--resume");
    known(&model);
    let all = super::texts(&model.received_requests()[0].body);
    assert!(all.contains("; tide=low"), "{all}");

    let model = ModelServer::start([ModelReply::text("<summary>We spoke.</summary>")]).unwrap();
    run(&model, "/compact", "--resume");
    let model = ModelServer::start([ModelReply::text("I am back again.")]).unwrap();
    run(&model, "where are we?", "--resume");
    known(&model);
    let all = super::texts(&model.received_requests()[0].body);
    assert!(
        all.contains("We spoke.") && !all.contains("I am here."),
        "{all}"
    );

    let look = json!({ "command": "ls", "description": "looks" });
    let model = ModelServer::start([
        ModelReply::tool_call("I look.", "Bash", look).with_usage(FULL, 20),
        ModelReply::text("<summary>We looked.</summary>"),
        ModelReply::text("I go on."),
    ])
    .unwrap();
    let printed = run(&model, "look around", "--resume");
    assert!(printed.contains("\"trigger\":\"auto\""), "{printed}");
    known(&model);
    let all = super::texts(&model.received_requests().last().unwrap().body);
    assert!(all.contains("We looked."), "{all}");
    assert_eq!(model.replies_left(), 0);
    record_client_result(
        kind.variable(),
        "the card with memory comes again when it is resumed, and after manual and automatic compaction",
    );
}
