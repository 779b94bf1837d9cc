//! `bowline mcp`: the verbs as MCP tools, over standard input and output.

use super::remote::{NEEDS_AGENT, agent_client, client};
use crate::args::mcp::{McpArgs, RoleName};
use crate::args::task::PlaceArgs;
use crate::output::Output;
use bowline_engine::formats::rest::routes::{Access, Route, RouteRequest};
use bowline_engine::{Context, Error};
use bowline_mcp::{CallControl, Refused, SessionRole, TaskClient, ToolSession};
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
    output: &Output,
    folder: &Path,
    args: &McpArgs,
) -> Result<ExitCode, Error> {
    let server = Server {
        context: context.clone(),
        place: args.place.clone(),
        lang: output.lang,
    };
    let desk = ToolSession {
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
    match bowline_mcp::serve(desk) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Error::ProgramFailed {
            program: "bowline mcp".into(),
            message: error.to_string(),
        }),
    }
}

/// Connects to the task server anew for every request: it may come and go while a client runs.
struct Server {
    context: Context,
    place: PlaceArgs,
    lang: Lang,
}

impl Server {
    fn client(&self, route: &Route) -> Result<ApiClient, Refused> {
        let found = match agent_client(&self.context, self.lang) {
            Some(found) => found,
            None if route.access == Access::Agent => {
                let (message, hint) = ServerNo::NeedsAgent.say(self.lang);
                return Err(Refused {
                    code: NEEDS_AGENT.to_owned(),
                    message,
                    hint,
                });
            }
            None => client(&self.context, &self.place, self.lang),
        };
        found.map_err(|trouble| self.told(&trouble))
    }

    fn told(&self, trouble: &ServeTrouble) -> Refused {
        let (message, hint) = trouble.say(self.lang);
        Refused {
            code: serve_error_code(trouble).to_owned(),
            message,
            hint,
        }
    }
}

impl TaskClient for Server {
    fn send_request(&self, request: &RouteRequest) -> Result<Value, Refused> {
        let client = self.client(request.route)?;
        match client.fetch(request) {
            Ok(answer) => {
                let text = || Value::from(String::from_utf8_lossy(&answer.body));
                Ok(serde_json::from_slice(&answer.body).unwrap_or_else(|_| text()))
            }
            Err(RequestError::Refused { error, .. }) => Err(Refused {
                code: error.code,
                message: error.message,
                hint: error.hint,
            }),
            Err(RequestError::Trouble(trouble)) => Err(self.told(&trouble)),
        }
    }

    fn is_of_task(&self) -> bool {
        agent_client(&self.context, self.lang).is_some()
    }
}
