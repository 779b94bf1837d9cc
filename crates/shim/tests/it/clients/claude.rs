//! `claude` over two turns and more: output, usage, a permission, a question, an interrupt,
//! `kill -9` and resume, a limit.

use super::runner::{Run, Seen, installed};
use crate::support::BOUND;
use bowline_formats::agents::launch::{self, ClientSession};
use bowline_formats::agents::{AgentInputWriter, AgentProtocol, InputDelivery, ToAgent, TurnEnd};
use bowline_test_support::model_server::{ModelReply, ModelServer, ReachedLimit};
use bowline_test_support::wait_until;
use serde_json::json;
use std::path::Path;

const SESSION: &str = "7d9c61b2-3d0e-4f0b-9a55-0c2f4c1e8a10";

struct Client<'a> {
    program: &'a str,
    home: &'a Path,
    project: &'a Path,
    model: &'a ModelServer,
}

impl Client<'_> {
    fn start(&self, conversation: ClientSession<'_>) -> Run {
        let url = self.model.url();
        let environment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", self.home.to_str().unwrap()),
            ("LANG", "C.UTF-8"),
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", "opens-nothing"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ];
        Run::start(
            self.program,
            launch::claude_arguments(conversation, &[]),
            &environment,
            self.project,
            AgentProtocol::ClaudeStreamJson,
        )
    }

    /// Waits until the model has been asked so often.
    fn asked(&self, times: usize) {
        assert!(wait_until(BOUND, || self.model.received_requests().len() == times));
    }
}

fn send(run: &mut Run, writer: &mut AgentInputWriter, message: ToAgent<'_>) {
    match writer.encode_message(message) {
        InputDelivery::Input(text) => run.write(&text),
        other => panic!("{other:?}"),
    }
}

fn said(seen: &[Seen], words: &str) -> bool {
    seen.iter()
        .any(|one| matches!(one, Seen::Said(text) if text.contains(words)))
}

fn tokens(seen: &[Seen]) -> Option<(u64, u64)> {
    seen.iter().find_map(|one| match one {
        Seen::Usage(usage) => Some((usage.input, usage.output)),
        _ => None,
    })
}

#[test]
fn claude_works_asks_is_interrupted_dies_resumes_and_meets_a_limit() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let questions = json!([{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
    }]);
    let model = ModelServer::start([
        ModelReply::tool_call(
            "I write the file.",
            "Bash",
            json!({"command": "echo hello > a.txt", "description": "Writes it"}),
        )
        .with_usage(100, 20),
        ModelReply::text(
            "Step 1/2: it is there\n\n=== PHASE 1 COMPLETE ===\nDocuments created:\n- a.txt\n",
        )
        .with_usage(1000, 50),
        ModelReply::tool_call(
            "I have to ask.",
            "AskUserQuestion",
            json!({"questions": questions}),
        ),
        ModelReply::text("Blue it is."),
        ModelReply::Hold("I am thinking about ".to_owned()),
        ModelReply::text("I go on after the interrupt."),
        ModelReply::Hold("These words are lost with ".to_owned()),
        ModelReply::text("I am back."),
        ModelReply::Limited(ReachedLimit {
            retry_after_s: Some(3600),
            resets_at: Some(4_102_444_800),
            message: "over the limit of this account".to_owned(),
        }),
    ])
    .unwrap();
    let client = Client {
        program: &program,
        home: home.path(),
        project: project.path(),
        model: &model,
    };
    let mut writer = AgentInputWriter::new(AgentProtocol::ClaudeStreamJson);
    let mut run = client.start(ClientSession::New { id: Some(SESSION) });

    // The first turn: a tool that needs leave, a marker in the agent's words, usage.
    send(&mut run, &mut writer, ToAgent::Prompt("write the file"));
    let seen = run.until(|seen| matches!(seen, Seen::WantsPermission(..)));
    assert_eq!(seen.first(), Some(&Seen::Session(SESSION.to_owned())));
    assert!(said(&seen, "I write the file."), "{seen:#?}");
    assert!(
        seen.contains(&Seen::ToolUsed("Bash".to_owned())),
        "{seen:#?}"
    );
    let Some(Seen::WantsPermission(request, tool)) = seen.into_iter().next_back() else {
        unreachable!("it was waited for");
    };
    assert_eq!(tool, "Bash");
    assert!(!project.path().join("a.txt").exists());
    send(&mut run, &mut writer, ToAgent::Permit { request: &request });
    let seen = run.until_turn_end(TurnEnd::Completed);
    assert!(seen.contains(&Seen::PhaseComplete(1)), "{seen:#?}");
    assert_eq!(tokens(&seen), Some((1100, 70)));
    assert!(project.path().join("a.txt").exists());

    // The second turn: a question in the client's own way. Between question and answer the server
    // is another.
    send(&mut run, &mut writer, ToAgent::Prompt("paint it"));
    let mut seen = run.until(|seen| matches!(seen, Seen::Asks(..)));
    let Some(Seen::Asks(Some(request), questions)) = seen.pop() else {
        panic!("{seen:#?}");
    };
    assert_eq!(questions[0].options, ["red", "blue"]);
    run.attach_again();
    let answers = [(questions[0].question.as_str(), "blue")];
    let answered = ToAgent::Answers {
        request: &request,
        answers: &answers,
    };
    send(&mut run, &mut writer, answered);
    assert!(said(&run.until_turn_end(TurnEnd::Completed), "Blue it is."));
    let told = model.received_requests().last().unwrap().body["messages"].to_string();
    assert!(
        told.contains("Which colour?") && told.contains("blue"),
        "{told}"
    );

    // An interrupt ends the turn and nothing else.
    send(&mut run, &mut writer, ToAgent::Prompt("think"));
    client.asked(5);
    send(&mut run, &mut writer, ToAgent::Interrupt);
    run.until_turn_end(TurnEnd::Interrupted);
    send(&mut run, &mut writer, ToAgent::Prompt("go on"));
    let seen = run.until_turn_end(TurnEnd::Completed);
    assert!(said(&seen, "I go on after the interrupt."), "{seen:#?}");

    // Killed in mid answer, it is resumed by the id it was given.
    send(&mut run, &mut writer, ToAgent::Prompt("think more"));
    client.asked(7);
    run.kill();
    let (_, exit) = run.until_exit();
    assert_eq!(exit.signal, Some(9));
    let mut run = client.start(ClientSession::Resume { id: SESSION });
    send(&mut run, &mut writer, ToAgent::Prompt("where were we?"));
    let seen = run.until_turn_end(TurnEnd::Completed);
    assert_eq!(seen.first(), Some(&Seen::Session(SESSION.to_owned())));
    assert!(said(&seen, "I am back."), "{seen:#?}");
    let told = model.received_requests().last().unwrap().body["messages"].to_string();
    assert!(told.contains("paint it"), "{told}");

    // A limit.
    send(&mut run, &mut writer, ToAgent::Prompt("once more"));
    let seen = run.until_turn_end(TurnEnd::Limited);
    assert!(seen.contains(&Seen::Limit), "{seen:#?}");
    run.close();
    let (rest, exit) = run.until_exit();
    assert_eq!(rest, []);
    assert_eq!(exit.code, Some(1));
    assert_eq!(model.replies_left(), 0);
    bowline_test_support::record_client_result(
        "BOWLINE_CLAUDE",
        "it is driven by the task server: it asks, is interrupted, killed, resumed, meets a limit",
    );
}
