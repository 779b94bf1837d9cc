//! The protocol handler: lists tools and resources, and runs calls on threads that may block.

use crate::answer::{ToolError, ToolResult, serialise_bounded};
use crate::arguments::ToolArguments;
use crate::call::CallControl;
use crate::lines::{LINE_BYTES_MAX, TOO_LONG_METHOD};
use crate::session::{SessionRole, ToolSession};
use crate::table::{self, ToolVerb};
use crate::verbs::bowline;
use crate::watch::{ResourceChange, ResourceWatcher};
use crate::{resources, sandbox_relay, schema};
use bowline_engine::Error;
use bowline_words::message::ToolNo;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, broadcast};

/// Operations carried out at once; they wait for locks and disks.
pub(crate) const CALLS_MAX: usize = 4;
/// Characters of an unknown name that an error repeats.
const NAME_CHARS_MAX: usize = 80;

/// Instructions that a client gives its model at the start.
const INSTRUCTIONS: &str = "Bowline keeps the state of long work: legal moves, gates, evidence. Call bowline_status first, and \
after every compaction. Commands in answers are tools: `bowline develop resume` is develop_resume, listed or by bowline_verb. A \
refusal has code, message and hint: follow the hint. Never edit the state files.";

/// The tools of one connection.
#[derive(Clone)]
pub struct ToolHandler {
    session: Arc<ToolSession>,
    calls: Arc<Semaphore>,
    watch: Arc<ResourceWatcher>,
    /// Addresses that a client of the older protocol generation has subscribed to.
    wanted: Arc<Mutex<HashSet<String>>>,
}

impl ToolHandler {
    /// Creates the tools of a session.
    pub fn new(session: ToolSession) -> Self {
        ToolHandler::with_call_limit(session, Arc::new(Semaphore::new(CALLS_MAX)))
    }

    /// Creates the tools of a session that shares its limit of calls with others.
    pub fn with_call_limit(session: ToolSession, calls: Arc<Semaphore>) -> Self {
        let session = Arc::new(session);
        ToolHandler {
            watch: Arc::new(ResourceWatcher::new(&session)),
            session,
            calls,
            wanted: Arc::default(),
        }
    }

    /// Runs a blocking operation on a thread for that.
    async fn run_blocking<T: Send + 'static>(
        &self,
        what: impl FnOnce(&ToolSession) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let failed = |_| ErrorData::internal_error("the call was not carried out", None);
        let permit = Arc::clone(&self.calls).acquire_owned().await;
        let session = Arc::clone(&self.session);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            what(&session)
        });
        done.await.map_err(failed)
    }

    fn subscribed_uris(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries out a call: checks verb, role and arguments, then calls the engine.
fn run_tool_call(
    session: &ToolSession,
    call: &CallControl,
    verb: &'static ToolVerb,
    args: Map<String, Value>,
) -> ToolResult {
    let (verb, args) = match verb.name == bowline::GENERIC_VERB && args.contains_key("verb") {
        true => resolve_generic_call(session, args)?,
        false => (verb, args),
    };
    if verb.role > session.role {
        return Err(match session.role {
            SessionRole::ReadOnly => {
                ToolError::from_tool_fault(&ToolNo::ReadOnly { tool: verb.name }, session.lang)
            }
            SessionRole::Agent | SessionRole::Person => {
                Error::NeedsPerson { what: verb.name }.into()
            }
        });
    }
    if verb.uses_files() && !session.files {
        return Err(ToolError::from_tool_fault(
            &ToolNo::NoFiles { tool: verb.name },
            session.lang,
        ));
    }
    let given = ToolArguments::from_call(verb, args, session.lang)?;
    let session = session.for_call(verb.name, call);
    if call.is_cancelled() {
        let what = verb.name.to_owned();
        return Err(Error::CallCancelled { what }.into());
    }
    let done = sandbox_relay::run_outside(&session, verb, &given)
        .unwrap_or_else(|| (verb.run)(&session, &given));
    done.map_err(|no| match no {
        ToolError::Engine(error) => {
            ToolError::Engine(Box::new(session.context.explain_refusal(*error)))
        }
        ToolError::WithEvidence(error, seen) => {
            ToolError::WithEvidence(Box::new(session.context.explain_refusal(*error)), seen)
        }
        ToolError::Rendered(_) => no,
    })
}

/// Returns the verb that is called through `bowline_verb`, with its arguments.
fn resolve_generic_call(
    session: &ToolSession,
    args: Map<String, Value>,
) -> Result<(&'static ToolVerb, Map<String, Value>), ToolError> {
    let way = table::find_tool(bowline::GENERIC_VERB).filter(|verb| verb.role <= session.role);
    let no = |no: ToolNo| ToolError::from_tool_fault(&no, session.lang);
    let unknown = |name: String| {
        let known = bowline::noun_names().join(", ");
        no(ToolNo::NoNoun { noun: name, known })
    };
    let way = way.ok_or_else(|| unknown(bowline::GENERIC_VERB.to_owned()))?;
    let given = ToolArguments::from_call(way, args, session.lang)?;
    let (noun, verb) = (
        given.required_text("noun").trim(),
        given.required_text("verb").trim(),
    );
    // `gate pass`, `gate-pass`, `gate_pass` and `develop_gate_pass` are the same verb.
    let verb = verb.replace([' ', '-'], "_");
    let verb = verb.strip_prefix(&format!("{noun}_")).unwrap_or(&verb);
    let name = format!("{noun}_{verb}");
    let found = table::find_tool(&name).filter(|verb| verb.name != bowline::GENERIC_VERB);
    let found = found.ok_or_else(|| {
        let known = bowline::verb_names(noun, session.role);
        let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
        match known.is_empty() {
            true => unknown(noun.chars().take(NAME_CHARS_MAX).collect()),
            false => no(ToolNo::NoTool {
                name: shown,
                known: known.join(", "),
            }),
        }
    })?;
    let args = given.value("args").and_then(Value::as_object);
    Ok((found, args.cloned().unwrap_or_default()))
}

impl ServerHandler for ToolHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("bowline", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(schema::listed_tools(
            &self.session,
        )))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(verb) = table::find_tool(&request.name) else {
            let name: String = request.name.chars().take(NAME_CHARS_MAX).collect();
            let said = format!("there is no tool '{name}'");
            return Err(ErrorData::invalid_params(said, None));
        };
        let args = request.arguments.unwrap_or_default();
        let control = CallControl::new(context);
        let call = control.clone();
        let result = self
            .run_blocking(
                move |session| match run_tool_call(session, &call, verb, args) {
                    Ok(body) => CallToolResult::success(text_content(serialise_bounded(body))),
                    Err(no) => {
                        CallToolResult::error(text_content(serialise_bounded(no.to_json(session))))
                    }
                },
            )
            .await?;
        control.flush_progress().await;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = self.run_blocking(resources::list_resources).await?;
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.run_blocking(move |session| {
            let read = resources::read_resource(session, &request.uri);
            read.map_err(|no| no.to_json(session))
        });
        read.await?.map(Into::into).map_err(|error_body| {
            let said = error_body["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            match error_body["error"]["code"] == json!("unknown_id") {
                true => ErrorData::resource_not_found(said, Some(error_body)),
                false => ErrorData::internal_error(said, Some(error_body)),
            }
        })
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            TOO_LONG_METHOD => {
                let said = format!("the message is longer than {} MiB", LINE_BYTES_MAX >> 20);
                ErrorData::invalid_request(said, None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (tools, mut news) = (self.clone(), self.watch.subscribe_changes());
        tokio::spawn(async move {
            while let Some(one) = next_change(&mut news).await {
                let sent = match one {
                    ResourceChange::Listed => context.peer.notify_resource_list_changed().await,
                    ResourceChange::Updated(uri) if tools.subscribed_uris().contains(&uri) => {
                        let uri = ResourceUpdatedNotificationParam::new(uri);
                        context.peer.notify_resource_updated(uri).await
                    }
                    ResourceChange::Updated(_) => Ok(()),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut wanted = self.subscribed_uris();
        if wanted.len() >= resources::RESOURCES_MAX {
            return Err(ErrorData::invalid_params("too many resources", None));
        }
        wanted.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed_uris().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        let uris = requested.resource_subscriptions.clone();
        accepted.resource_subscriptions = uris.map(|mut uris| {
            uris.truncate(resources::RESOURCES_MAX);
            uris
        });
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (sink, accepted) = (context.sink().clone(), context.accepted().clone());
        let uris = accepted.resource_subscriptions.unwrap_or_default();
        let mut news = self.watch.subscribe_changes();
        loop {
            let one = tokio::select! {
                () = context.cancelled() => return Ok(()),
                one = next_change(&mut news) => one,
            };
            let sent = match one {
                None => return Ok(()),
                Some(ResourceChange::Listed) if accepted.resources_list_changed == Some(true) => {
                    sink.notify_resource_list_changed().await
                }
                Some(ResourceChange::Updated(uri)) if uris.contains(&uri) => {
                    sink.notify_resource_updated(uri).await
                }
                Some(ResourceChange::Listed | ResourceChange::Updated(_)) => Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}

/// Returns the next change. A subscriber that was too slow for some of them reads the resource.
async fn next_change(news: &mut broadcast::Receiver<ResourceChange>) -> Option<ResourceChange> {
    loop {
        match news.recv().await {
            Ok(one) => return Some(one),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

fn text_content(text: String) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}
