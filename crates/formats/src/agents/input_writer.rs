//! Encodes our messages as the input of an agent's client.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::AgentProtocol;
use super::acp::id;
use super::event::ClientRequest;
use crate::markers::write::MarkerMessage;

/// Supported version of the Agent Client Protocol.
const ACP_VERSION: u32 = 1;

/// A message to an agent.
///
/// It has no `Debug`, because a [`MarkerMessage`] may hold a secret.
#[derive(Clone, Copy)]
pub enum ToAgent<'a> {
    /// A prompt for the next turn.
    Prompt(&'a str),
    /// A notice from the platform: a phase begins, a review is over, a value is provided, a
    /// question is answered.
    Notice(MarkerMessage<'a>),
    /// Answers to the questions of a request.
    Answers {
        /// The request of the client.
        request: &'a ClientRequest<'a>,
        /// Pairs of the question as it was asked and its answer.
        answers: &'a [(&'a str, &'a str)],
    },
    /// Permits the tool for this one use.
    Permit {
        /// The request of the client.
        request: &'a ClientRequest<'a>,
    },
    /// Denies the use of the tool.
    Deny {
        /// The request of the client.
        request: &'a ClientRequest<'a>,
        /// The reason given to the agent.
        reason: &'a str,
    },
    /// Rejects a request for something that is not offered.
    Unsupported {
        /// The request of the client.
        request: &'a ClientRequest<'a>,
    },
    /// Interrupts the current turn; the session stays open.
    Interrupt,
}

/// Instruction on how to deliver a message to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputDelivery {
    /// Write this text to its standard input.
    Input(String),
    /// Start another run of the same session with this prompt: the client takes no input while it
    /// runs.
    NextRun(String),
    /// End the run, because the client cannot be interrupted. A following message is the prompt of
    /// another run.
    EndRun,
    /// Send it again after [`AgentEventKind::Initialized`](super::AgentEventKind::Initialized) or
    /// [`AgentEventKind::Session`](super::AgentEventKind::Session): the client is not ready yet.
    Later,
    /// Deliver nothing: the protocol has no such message, and the client does not wait for one.
    Nothing,
}

/// The session to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionToOpen<'a> {
    /// A new session in this folder.
    New {
        /// The working folder of the session.
        cwd: &'a str,
    },
    /// The session of an earlier run.
    Resume {
        /// The working folder of the session.
        cwd: &'a str,
        /// The client's id of the session.
        session: &'a str,
    },
}

/// Encoder for the input of one client.
#[derive(Debug, Clone)]
pub struct AgentInputWriter {
    protocol: AgentProtocol,
    initialized: bool,
    session: Option<String>,
    requests: u64,
}

impl AgentInputWriter {
    /// Creates an encoder for a client that was just started.
    pub fn new(protocol: AgentProtocol) -> Self {
        Self {
            protocol,
            initialized: false,
            session: None,
            requests: 0,
        }
    }

    /// Remembers the session id from the event
    /// [`AgentEventKind::Session`](super::AgentEventKind::Session).
    pub fn set_session(&mut self, id: &str) {
        self.session = Some(id.to_owned());
    }

    /// Remembers that the client is ready for a session, from the event
    /// [`AgentEventKind::Initialized`](super::AgentEventKind::Initialized).
    pub fn set_initialized(&mut self) {
        self.initialized = true;
    }

    /// Returns the handshake that must be sent before anything else; empty for most protocols.
    pub fn handshake_message(&self) -> String {
        if self.protocol != AgentProtocol::Acp {
            return String::new();
        }
        let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}});
        let hello = json!({"protocolVersion": ACP_VERSION, "clientCapabilities": capabilities});
        json_rpc_request(id::INITIALIZE, "initialize", &hello)
    }

    /// Returns the message that opens the session once the handshake is answered;
    /// [`InputDelivery::Nothing`] for most protocols.
    pub fn open_session(&self, start: SessionToOpen<'_>) -> InputDelivery {
        if self.protocol != AgentProtocol::Acp {
            return InputDelivery::Nothing;
        }
        if !self.initialized {
            return InputDelivery::Later;
        }
        InputDelivery::Input(match start {
            SessionToOpen::New { cwd } => {
                let params = json!({"cwd": cwd, "mcpServers": []});
                json_rpc_request(id::NEW, "session/new", &params)
            }
            SessionToOpen::Resume { cwd, session } => {
                let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
                json_rpc_request(&format!("{}{session}", id::LOAD), "session/load", &params)
            }
        })
    }

    /// Encodes `message` and returns how it is delivered.
    pub fn encode_message(&mut self, message: ToAgent<'_>) -> InputDelivery {
        match self.protocol {
            AgentProtocol::Markers => match message {
                ToAgent::Prompt(text) => InputDelivery::Input(ensure_line_end(text)),
                ToAgent::Notice(message) => InputDelivery::Input(message.to_text()),
                ToAgent::Interrupt => InputDelivery::EndRun,
                _ => InputDelivery::Nothing,
            },
            AgentProtocol::CodexJson => match message {
                ToAgent::Prompt(text) => InputDelivery::NextRun(text.to_owned()),
                ToAgent::Notice(message) => InputDelivery::NextRun(message.to_text()),
                ToAgent::Interrupt => InputDelivery::EndRun,
                _ => InputDelivery::Nothing,
            },
            AgentProtocol::ClaudeStreamJson => {
                InputDelivery::Input(self.encode_for_claude(message))
            }
            AgentProtocol::Acp => self.encode_for_acp(message),
        }
    }

    fn next_request_number(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    fn encode_for_claude(&mut self, message: ToAgent<'_>) -> String {
        match message {
            ToAgent::Prompt(text) => claude_user(text),
            ToAgent::Notice(message) => claude_user(&message.to_text()),
            ToAgent::Answers { request, answers } => {
                let mut input: Map<String, Value> =
                    serde_json::from_str(&request.body).unwrap_or_default();
                let answers: Map<String, Value> = answers
                    .iter()
                    .map(|(question, answer)| ((*question).to_owned(), (*answer).into()))
                    .collect();
                input.insert("answers".to_owned(), answers.into());
                claude_allow(request, &Value::Object(input).to_string())
            }
            ToAgent::Permit { request } => claude_allow(request, &request.body),
            ToAgent::Deny { request, reason } => {
                let response = json!({"behavior": "deny", "message": reason});
                claude_response(request, &response.to_string())
            }
            ToAgent::Unsupported { request } => with_line_end(&format!(
                r#"{{"type":"control_response","response":{{"subtype":"error","request_id":{},"error":"not offered"}}}}"#,
                request.id
            )),
            ToAgent::Interrupt => {
                let id = format!("interrupt-{}", self.next_request_number());
                let asked = json!({"subtype": "interrupt"});
                let request =
                    json!({"type": "control_request", "request_id": id, "request": asked});
                with_line_end(&request.to_string())
            }
        }
    }

    fn encode_for_acp(&mut self, message: ToAgent<'_>) -> InputDelivery {
        let prompt = |writer: &mut Self, text: &str| {
            let Some(session) = writer.session.clone() else {
                return InputDelivery::Later;
            };
            let id = format!("{}{}", id::PROMPT, writer.next_request_number());
            let prompt = json!([{"type": "text", "text": text}]);
            let params = json!({"sessionId": session, "prompt": prompt});
            InputDelivery::Input(json_rpc_request(&id, "session/prompt", &params))
        };
        match message {
            ToAgent::Prompt(text) => prompt(self, text),
            ToAgent::Notice(message) => prompt(self, &message.to_text()),
            ToAgent::Answers { .. } => InputDelivery::Nothing,
            ToAgent::Permit { request } => {
                InputDelivery::Input(acp_choice(request, &["allow_once", "allow_always"]))
            }
            ToAgent::Deny { request, .. } => {
                InputDelivery::Input(acp_choice(request, &["reject_once", "reject_always"]))
            }
            ToAgent::Unsupported { request } => InputDelivery::Input(with_line_end(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"not offered"}}}}"#,
                request.id
            ))),
            ToAgent::Interrupt => match &self.session {
                None => InputDelivery::Nothing,
                Some(session) => {
                    let params = json!({"sessionId": session});
                    let cancel =
                        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
                    InputDelivery::Input(with_line_end(&cancel.to_string()))
                }
            },
        }
    }
}

fn claude_user(text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    let message = json!({"role": "user", "content": content});
    let user = json!({"type": "user", "message": message, "parent_tool_use_id": null});
    with_line_end(&user.to_string())
}

fn claude_allow(request: &ClientRequest<'_>, input: &str) -> String {
    let response = format!(r#"{{"behavior":"allow","updatedInput":{input}}}"#);
    claude_response(request, &response)
}

fn claude_response(request: &ClientRequest<'_>, response: &str) -> String {
    with_line_end(&format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{},"response":{response}}}}}"#,
        request.id
    ))
}

/// Chooses the first option of the wanted kinds; cancels if there is none.
fn acp_choice(request: &ClientRequest<'_>, kinds: &[&str]) -> String {
    let options: Vec<Value> = serde_json::from_str(&request.body).unwrap_or_default();
    let chosen = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| option["kind"] == **kind));
    let outcome = match chosen {
        Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
        None => json!({"outcome": "cancelled"}),
    };
    with_line_end(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"outcome":{outcome}}}}}"#,
        request.id
    ))
}

fn json_rpc_request(id: &str, method: &str, params: &Value) -> String {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    with_line_end(&request.to_string())
}

fn with_line_end(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let _ = writeln!(out, "{text}");
    out
}

fn ensure_line_end(text: &str) -> String {
    if text.ends_with('\n') {
        text.to_owned()
    } else {
        with_line_end(text)
    }
}
