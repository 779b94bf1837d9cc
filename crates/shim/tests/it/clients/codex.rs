//! `codex` over two runs and more: output, usage, a question, an interrupt, `kill -9` and resume, a
//! limit.

use super::runner::{Run, Seen, installed};
use crate::support::BOUND;
use bowline_formats::agents::launch::{self, ClientSession};
use bowline_formats::agents::{
    AgentInputWriter, AgentProtocol, InputDelivery, ToAgent, TokenUsage, TurnEnd, UsagePeriod,
};
use bowline_test_support::model_server::{ModelReply, ModelServer, ReachedLimit};
use bowline_test_support::wait_until;
use serde_json::json;
use std::path::Path;

struct Client<'a> {
    program: &'a str,
    home: &'a Path,
    project: &'a Path,
}

impl Client<'_> {
    /// The settings that lead it to the scripted model.
    fn configure(&self, model: &ModelServer) {
        let settings = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"{}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\n\
             stream_max_retries = 0\n",
            model.url()
        );
        std::fs::write(self.home.join("config.toml"), settings).unwrap();
    }

    fn start(&self, conversation: ClientSession<'_>, prompt: &str) -> Run {
        let home = self.home.to_str().unwrap();
        let environment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", home),
            ("CODEX_HOME", home),
            ("LANG", "C.UTF-8"),
            ("SCRIPTED_KEY", "opens-nothing"),
        ];
        let options = ["-s".to_owned(), "danger-full-access".to_owned()];
        let mut run = Run::start(
            self.program,
            launch::codex_arguments(conversation, &options, prompt),
            &environment,
            self.project,
            AgentProtocol::CodexJson,
        );
        // What comes on its standard input would be added to the prompt.
        run.close();
        run
    }
}

fn total(input: u64, output: u64) -> Seen {
    Seen::Usage(TokenUsage {
        since: UsagePeriod::Session,
        input,
        output,
        ..TokenUsage::default()
    })
}

#[test]
fn codex_works_asks_is_interrupted_dies_resumes_and_meets_a_limit() {
    let Some(program) = installed("BOWLINE_CODEX") else {
        return;
    };
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let asks = "Step 1/2: it is there\n\n[USER_QUESTION]\ncategory: choice\nquestion: Which colour?\noptions: [red, blue]\nrequired: true\n[/USER_QUESTION]\n";
    let model = ModelServer::start([
        ModelReply::tool_call(
            "I write the file.",
            "exec_command",
            json!({"cmd": "echo hello > a.txt"}),
        )
        .with_usage(100, 20),
        ModelReply::text(asks).with_usage(1000, 50),
        ModelReply::text("Blue it is.\n\n=== PHASE 1 COMPLETE ===\n").with_usage(2000, 60),
        ModelReply::Hold("I am thinking about ".to_owned()),
        ModelReply::Hold("These words are lost with ".to_owned()),
        ModelReply::text("I am back."),
        ModelReply::Limited(ReachedLimit {
            retry_after_s: None,
            resets_at: Some(4_102_444_800),
            message: "over the limit of this account".to_owned(),
        }),
    ])
    .unwrap();
    let client = Client {
        program: &program,
        home: home.path(),
        project: project.path(),
    };
    client.configure(&model);
    let asked = |times| assert!(wait_until(BOUND, || model.received_requests().len() == times));
    let mut writer = AgentInputWriter::new(AgentProtocol::CodexJson);

    // The first run: a tool, a question in the agent's words, usage.
    let mut run = client.start(ClientSession::New { id: None }, "write the file");
    let (seen, exit) = run.until_exit();
    assert_eq!(exit.code, Some(0), "{seen:#?}");
    let Some(Seen::Session(thread)) = seen.first() else {
        panic!("{seen:#?}");
    };
    assert!(
        seen.contains(&Seen::ToolUsed("command_execution".to_owned())),
        "{seen:#?}"
    );
    assert!(project.path().join("a.txt").exists());
    let options = seen.iter().find_map(|one| match one {
        Seen::Asks(None, questions) => Some(questions[0].options.clone()),
        _ => None,
    });
    assert_eq!(options.unwrap_or_default(), ["red", "blue"]);
    assert!(
        seen.ends_with(&[total(1100, 70), Seen::TurnEnded(TurnEnd::Completed)]),
        "{seen:#?}"
    );

    // The answer is the prompt of the second run, whose usage is that of both.
    let InputDelivery::NextRun(answer) = writer.encode_message(ToAgent::Prompt("blue")) else {
        panic!("codex takes no input while it runs");
    };
    let resumed = ClientSession::Resume { id: thread };
    let (seen, exit) = client.start(resumed, &answer).until_exit();
    assert_eq!(exit.code, Some(0), "{seen:#?}");
    assert_eq!(seen.first(), Some(&Seen::Session(thread.clone())));
    assert!(seen.contains(&Seen::PhaseComplete(1)), "{seen:#?}");
    assert!(seen.contains(&total(3100, 130)), "{seen:#?}");

    // An interrupt ends the run; the conversation can be resumed.
    let mut run = client.start(resumed, "think");
    asked(4);
    assert_eq!(
        writer.encode_message(ToAgent::Interrupt),
        InputDelivery::EndRun
    );
    run.end();
    let (seen, exit) = run.until_exit();
    assert!(exit.asked, "{exit:?}");
    assert!(
        !seen.contains(&Seen::TurnEnded(TurnEnd::Completed)),
        "{seen:#?}"
    );

    // Killed in mid answer, it is resumed by its id.
    let mut run = client.start(resumed, "think more");
    asked(5);
    run.kill();
    let (_, exit) = run.until_exit();
    assert_eq!(exit.signal, Some(9));
    let (seen, exit) = client.start(resumed, "where were we?").until_exit();
    assert_eq!(exit.code, Some(0), "{seen:#?}");
    assert!(
        seen.contains(&Seen::Said("I am back.".to_owned())),
        "{seen:#?}"
    );
    let told = model.received_requests().last().unwrap().body["input"].to_string();
    assert!(told.contains("write the file"), "{told}");

    // A limit.
    let (seen, exit) = client.start(resumed, "once more").until_exit();
    assert_eq!(exit.code, Some(1), "{seen:#?}");
    assert!(
        seen.ends_with(&[Seen::Limit, Seen::TurnEnded(TurnEnd::Limited)]),
        "{seen:#?}"
    );
    assert_eq!(model.replies_left(), 0);
    bowline_test_support::record_client_result(
        "BOWLINE_CODEX",
        "it is driven by the task server: it asks, is interrupted, killed, resumed, meets a limit",
    );
}
