//! An agent of the Agent Client Protocol, `claude` behind its adapter: output, usage, permissions,
//! a cancelled turn, `kill -9` and a conversation that is loaded again, a limit.

use super::runner::{Run, Seen, installed};
use crate::support::BOUND;
use bowline_formats::agents::{
    AgentInputWriter, AgentProtocol, InputDelivery, SessionToOpen, ToAgent, TurnEnd,
};
use bowline_test_support::model_server::{ModelReply, ModelServer, ReachedLimit};
use bowline_test_support::wait_until;
use serde_json::json;
use std::path::Path;

struct Client<'a> {
    program: &'a str,
    claude: &'a str,
    home: &'a Path,
    project: &'a Path,
    model: &'a ModelServer,
}

impl Client<'_> {
    /// Starts it and says how the conversation begins.
    fn start(&self, session: Option<&str>) -> (Run, AgentInputWriter) {
        let url = self.model.url();
        // It is a script, so what runs it is looked for as the user would.
        let path = std::env::var("PATH").unwrap();
        let environment = [
            ("PATH", path.as_str()),
            ("HOME", self.home.to_str().unwrap()),
            ("LANG", "C.UTF-8"),
            ("CLAUDE_CODE_EXECUTABLE", self.claude),
            ("ANTHROPIC_BASE_URL", url.as_str()),
            ("ANTHROPIC_API_KEY", "opens-nothing"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            // It would ask the model what a person might say next.
            ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ];
        let mut run = Run::start(
            self.program,
            Vec::new(),
            &environment,
            self.project,
            AgentProtocol::Acp,
        );
        let mut writer = AgentInputWriter::new(AgentProtocol::Acp);
        let cwd = self.project.to_str().unwrap();
        run.write(&writer.handshake_message());
        run.until(|seen| matches!(seen, Seen::Initialized));
        writer.set_initialized();
        let opened = writer.open_session(match session {
            None => SessionToOpen::New { cwd },
            Some(session) => SessionToOpen::Resume { cwd, session },
        });
        let InputDelivery::Input(opening) = opened else {
            panic!("{opened:?}");
        };
        run.write(&opening);
        (run, writer)
    }

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

/// Waits for the conversation, before which nothing else is told.
fn begun(run: &mut Run, writer: &mut AgentInputWriter) -> String {
    let seen = run.until(|seen| matches!(seen, Seen::Session(_)));
    let [Seen::Session(session)] = seen.as_slice() else {
        panic!("{seen:#?}");
    };
    writer.set_session(session);
    session.clone()
}

fn wants_permission(run: &mut Run) -> Seen {
    let mut seen = run.until(|seen| matches!(seen, Seen::WantsPermission(..)));
    assert!(
        seen.contains(&Seen::ToolUsed("Bash".to_owned())),
        "{seen:#?}"
    );
    seen.pop().unwrap()
}

fn said(seen: &[Seen]) -> String {
    let words = seen.iter().filter_map(|one| match one {
        Seen::Said(text) => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

fn tokens(seen: &[Seen]) -> (u64, u64) {
    seen.iter().fold((0, 0), |(input, output), one| match one {
        Seen::Usage(usage) => (input + usage.input, output + usage.output),
        _ => (input, output),
    })
}

#[test]
fn an_acp_agent_works_asks_is_cancelled_dies_is_loaded_again_and_meets_a_limit() {
    let (Some(program), Some(claude)) =
        (installed("BOWLINE_CLAUDE_ACP"), installed("BOWLINE_CLAUDE"))
    else {
        return;
    };
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let writes = |file: &str| {
        let command = format!("echo hello > {file}");
        ModelReply::tool_call(
            "I write the file.",
            "Bash",
            json!({"command": command, "description": "Writes it"}),
        )
        .with_usage(100, 20)
    };
    let model = ModelServer::start([
        writes("a.txt"),
        ModelReply::text("Step 1/2: it is there\n\n=== PHASE 1 COMPLETE ===\n")
            .with_usage(1000, 50),
        writes("b.txt"),
        ModelReply::text("Then not."),
        writes("c.txt"),
        ModelReply::text("I go on after that."),
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
        claude: &claude,
        home: home.path(),
        project: project.path(),
        model: &model,
    };
    let (mut run, mut writer) = client.start(None);
    let session = begun(&mut run, &mut writer);

    // The first turn: a tool that needs leave and gets it, a marker in the agent's words, usage.
    send(&mut run, &mut writer, ToAgent::Prompt("write the file"));
    let Seen::WantsPermission(request, tool) = wants_permission(&mut run) else {
        unreachable!("it was waited for");
    };
    assert_eq!(tool, "Bash");
    assert!(!project.path().join("a.txt").exists());
    send(&mut run, &mut writer, ToAgent::Permit { request: &request });
    let seen = run.until_turn_end(TurnEnd::Completed);
    assert!(seen.contains(&Seen::PhaseComplete(1)), "{seen:#?}");
    assert_eq!(tokens(&seen), (1100, 70));
    assert!(project.path().join("a.txt").exists());

    // The second turn: leave is asked for and not given. Between question and answer the server is
    // another.
    send(&mut run, &mut writer, ToAgent::Prompt("another one"));
    let Seen::WantsPermission(request, _) = wants_permission(&mut run) else {
        unreachable!("it was waited for");
    };
    run.attach_again();
    let reason = "no more files";
    send(
        &mut run,
        &mut writer,
        ToAgent::Deny {
            request: &request,
            reason,
        },
    );
    run.until_turn_end(TurnEnd::Completed);
    assert!(!project.path().join("b.txt").exists());

    // A turn that is cancelled while it asks; the conversation goes on.
    send(&mut run, &mut writer, ToAgent::Prompt("and another"));
    wants_permission(&mut run);
    send(&mut run, &mut writer, ToAgent::Interrupt);
    run.until_turn_end(TurnEnd::Interrupted);
    assert!(!project.path().join("c.txt").exists());
    send(&mut run, &mut writer, ToAgent::Prompt("go on"));
    let seen = run.until_turn_end(TurnEnd::Completed);
    assert_eq!(said(&seen), "I go on after that.", "{seen:#?}");

    // Killed in mid answer, it is another that loads the conversation. What it repeats of it is not
    // news.
    send(&mut run, &mut writer, ToAgent::Prompt("think"));
    client.asked(7);
    run.kill();
    let (_, exit) = run.until_exit();
    assert_eq!(exit.signal, Some(9));
    let (mut run, mut writer) = client.start(Some(&session));
    assert_eq!(begun(&mut run, &mut writer), session);
    send(&mut run, &mut writer, ToAgent::Prompt("where were we?"));
    let seen = run.until_turn_end(TurnEnd::Completed);
    assert_eq!(said(&seen), "I am back.", "{seen:#?}");
    assert!(!seen.contains(&Seen::PhaseComplete(1)), "{seen:#?}");
    let told = model.received_requests().last().unwrap().body["messages"].to_string();
    assert!(told.contains("another one"), "{told}");

    // A limit.
    send(&mut run, &mut writer, ToAgent::Prompt("once more"));
    let seen = run.until_turn_end(TurnEnd::Limited);
    assert!(seen.contains(&Seen::Limit), "{seen:#?}");
    run.close();
    let (_, exit) = run.until_exit();
    assert_eq!(exit.code, Some(0));
    assert_eq!(model.replies_left(), 0);
    bowline_test_support::record_client_result(
        "BOWLINE_CLAUDE_ACP",
        "it is driven by the task server: it asks, is interrupted, killed, resumed, meets a limit",
    );
}
