//! `bowline mcp`: the verbs as MCP tools, over standard input and output.

use super::remote::{NEEDS_AGENT, agent_client, create_client};
use crate::args::mcp::{McpArgs, RoleName};
use crate::args::task::ServerAddressArgs;
use crate::output::CommandOutput;
use bowline_engine::formats::rest::routes::{ApiRoute, RouteAccess, RouteRequest};
use bowline_engine::{Context, Error};
use bowline_mcp::{CallControl, SessionRole, TaskClient, ToolRefusal, ToolSession};
use bowline_server::client::{ApiClient, RequestError};
use bowline_server::serve_error_code;
use bowline_words::Lang;
use bowline_words::message::{ServeTrouble, ServerNo};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &McpArgs,
) -> Result<ExitCode, Error> {
    let server = ReconnectingClient {
        context: context.clone(),
        place: args.place.clone(),
        lang: output.lang,
    };
    let session = ToolSession {
        context: context.clone(),
        folder: folder.to_owned(),
        confined: false,
        files: true,
        lang: output.lang,
        role: match args.role {
            RoleName::ReadOnly => SessionRole::ReadOnly,
            RoleName::Agent => SessionRole::Agent,
            RoleName::Person => SessionRole::Person,
        },
        tasks: Arc::new(server),
        call: CallControl::default(),
    };
    match bowline_mcp::serve_stdio(session) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Error::ProgramFailed {
            program: "bowline mcp".into(),
            message: error.to_string(),
        }),
    }
}

/// Connects to the task server anew for every request: it may come and go while a client runs.
struct ReconnectingClient {
    context: Context,
    place: ServerAddressArgs,
    lang: Lang,
}

impl ReconnectingClient {
    fn connect_client(&self, route: &ApiRoute) -> Result<ApiClient, ToolRefusal> {
        let found = match agent_client(&self.context, self.lang) {
            Some(found) => found,
            None if route.access == RouteAccess::Agent => {
                let (message, hint) = ServerNo::NeedsAgent.say(self.lang);
                return Err(ToolRefusal {
                    code: NEEDS_AGENT.to_owned(),
                    message,
                    hint,
                });
            }
            None => create_client(&self.context, &self.place, self.lang),
        };
        found.map_err(|trouble| self.render_refusal(&trouble))
    }

    fn render_refusal(&self, trouble: &ServeTrouble) -> ToolRefusal {
        let (message, hint) = trouble.say(self.lang);
        ToolRefusal {
            code: serve_error_code(trouble).to_owned(),
            message,
            hint,
        }
    }
}

impl TaskClient for ReconnectingClient {
    fn send_request(&self, request: &RouteRequest) -> Result<Value, ToolRefusal> {
        let client = self.connect_client(request.route)?;
        match client.fetch(request) {
            Ok(answer) => {
                let text = || Value::from(String::from_utf8_lossy(&answer.body));
                Ok(serde_json::from_slice(&answer.body).unwrap_or_else(|_| text()))
            }
            Err(RequestError::Refused { error, .. }) => Err(ToolRefusal {
                code: error.code,
                message: error.message,
                hint: error.hint,
            }),
            Err(RequestError::Trouble(trouble)) => Err(self.render_refusal(&trouble)),
        }
    }

    fn is_of_task(&self) -> bool {
        agent_client(&self.context, self.lang).is_some()
    }
}
