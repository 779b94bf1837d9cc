//! The table of routes, which the server serves, `docs/openapi.json` describes and the tests call.

use bowline_machines::named;

named! {
    /// The HTTP method of a route.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Method {
        Get = "GET",
        Post = "POST",
        Patch = "PATCH",
        Delete = "DELETE",
    }
}

named! {
    /// The callers that a route allows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Access {
        /// Everybody, without a token.
        Open = "open",
        /// Every caller with a token, agents too.
        Read = "read",
        /// A person.
        Person = "person",
        /// The agent of a task, by the token of its attempt.
        Agent = "agent",
    }
}

/// The body of a successful response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// JSON of this shape.
    Json(&'static str),
    /// Plain text.
    Text,
    /// A file as it is.
    Bytes,
    /// A ZIP file.
    Zip,
    /// Server-sent events, each with an `EventBody`.
    Events,
    /// Nothing.
    Empty,
}

/// A parameter behind the question mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// Purpose of the parameter.
    pub about: &'static str,
    /// True for a whole number, false for a text.
    pub number: bool,
}

/// One thing the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: Method,
    /// Path, with parameters in braces.
    pub path: &'static str,
    /// Its name for programs.
    pub id: &'static str,
    pub access: Access,
    /// Parameters of the query.
    pub query: &'static [Query],
    /// The shape of the body, where there is one.
    pub body: Option<&'static str>,
    /// The status of a success.
    pub status: u16,
    pub answer: Answer,
    /// Summary for people.
    pub summary: &'static str,
}

const fn text(name: &'static str, about: &'static str) -> Query {
    Query {
        name,
        about,
        number: false,
    }
}

const fn number(name: &'static str, about: &'static str) -> Query {
    Query {
        name,
        about,
        number: true,
    }
}

const LIMIT: Query = number("limit", "How many at the most, 1 to 1000");
const CURSOR: Query = text("cursor", "`nextCursor` of the page before");
const LIST: &[Query] = &[
    text("status", "Only those with this status"),
    text("type", "Only those of this type"),
    text(
        "q",
        "Only those with this text in title, description or label",
    ),
    text("archived", "`true` lists the archived ones too"),
    LIMIT,
    CURSOR,
];
const PAGE: &[Query] = &[LIMIT, CURSOR];
const LOGS: &[Query] = &[
    number("offset", "The first byte; negative counts from the end"),
    number("limit", "How many bytes at the most"),
];
const NODE_LOGS: &[Query] = &[
    LOGS[0],
    LOGS[1],
    text(
        "file",
        "The state file; the first that has the task when left away",
    ),
];
const FILE: &[Query] = &[text(
    "file",
    "The state file; the first of the workspace when left away",
)];
const DIFF: &[Query] = &[text(
    "since",
    "`review`: compared with what the review before it showed, where there is one",
)];
const DAYS: &[Query] = &[number(
    "days",
    "How many days of spend, 1 to 400; 30 when left away",
)];
const SINCE: &[Query] = &[number(
    "since",
    "The last event that was seen, for callers that cannot send `Last-Event-ID`",
)];

#[expect(clippy::too_many_arguments, reason = "a row of the table below")]
const fn route(
    method: Method,
    path: &'static str,
    id: &'static str,
    access: Access,
    query: &'static [Query],
    body: Option<&'static str>,
    status: u16,
    answer: Answer,
    summary: &'static str,
) -> Route {
    Route {
        method,
        path,
        id,
        access,
        query,
        body,
        status,
        answer,
        summary,
    }
}

/// Every route there is.
#[rustfmt::skip]
pub const ROUTES: [Route; 85] = [
    route(Method::Get, "/healthz", "health", Access::Open, &[], None, 200, Answer::Json("Health"), "Is the process up?"),
    route(Method::Get, "/readyz", "ready", Access::Open, &[], None, 200, Answer::Json("Health"), "Does it take requests? 503 while it starts or drains"),
    route(Method::Get, "/metrics", "metrics", Access::Read, &[], None, 200, Answer::Text, "Figures for Prometheus"),
    route(Method::Get, "/api/openapi.json", "openapi", Access::Read, &[], None, 200, Answer::Json("Value"), "This document"),
    route(Method::Get, "/api/session", "getSession", Access::Read, &[], None, 200, Answer::Json("Session"), "Who asks, and whom"),
    route(Method::Post, "/api/session", "signIn", Access::Open, &[], Some("SignIn"), 204, Answer::Empty, "Sign a browser in with the token: sets the cookie"),
    route(Method::Delete, "/api/session", "signOut", Access::Read, &[], None, 204, Answer::Empty, "Sign a browser out"),
    route(Method::Post, "/api/sign-in-links", "newSignInLink", Access::Person, &[], None, 201, Answer::Json("SignInLink"), "Make a link that signs one browser in, once"),
    route(Method::Get, "/api/tasks", "listTasks", Access::Read, LIST, None, 200, Answer::Json("TaskPage"), "Tasks, newest first"),
    route(Method::Post, "/api/tasks", "createTask", Access::Person, &[], Some("NewTask"), 201, Answer::Json("Task"), "Make a draft, or with `submit` a pending task"),
    route(Method::Get, "/api/tasks/{id}", "getTask", Access::Read, &[], None, 200, Answer::Json("Task"), "One task"),
    route(Method::Patch, "/api/tasks/{id}", "editTask", Access::Person, &[], Some("EditTask"), 200, Answer::Json("Task"), "Change a draft"),
    route(Method::Delete, "/api/tasks/{id}", "deleteTask", Access::Person, &[], None, 204, Answer::Empty, "Remove a task and all that belongs to it"),
    route(Method::Post, "/api/tasks/{id}/submit", "submitTask", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Put a draft into the queue"),
    route(Method::Post, "/api/tasks/{id}/cancel", "cancelTask", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Give a task up"),
    route(Method::Post, "/api/tasks/{id}/pause", "pauseTask", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Stop the agent"),
    route(Method::Post, "/api/tasks/{id}/resume", "resumeTask", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Let the agent go on"),
    route(Method::Post, "/api/tasks/{id}/retry", "retryTask", Access::Person, &[], Some("Nothing"), 201, Answer::Json("Task"), "Make a new task in the place of a failed one"),
    route(Method::Post, "/api/tasks/{id}/archive", "archiveTask", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Hide a completed task from the list"),
    route(Method::Post, "/api/tasks/{id}/approve", "approveTask", Access::Person, &[], Some("Approval"), 200, Answer::Json("Task"), "Approve the phase under review"),
    route(Method::Post, "/api/tasks/{id}/request-changes", "requestTaskChanges", Access::Person, &[], Some("ChangeRequest"), 200, Answer::Json("Task"), "Have the phase under review changed"),
    route(Method::Post, "/api/tasks/{id}/restore", "restoreTask", Access::Person, &[], Some("RestoreRequest"), 200, Answer::Json("Task"), "Set a task back to a checkpoint"),
    route(Method::Post, "/api/tasks/{id}/say", "sayToAgent", Access::Person, &[], Some("SayRequest"), 202, Answer::Json("Saying"), "Say something to the agent without interrupting it"),
    route(Method::Post, "/api/tasks/{id}/interrupt", "interruptAgent", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Interrupt what the agent does, in its own way"),
    route(Method::Get, "/api/tasks/{id}/sayings", "listSayings", Access::Read, &[], None, 200, Answer::Json("SayingPage"), "What was said to the agent"),
    route(Method::Get, "/api/tasks/{id}/agent", "getAgent", Access::Read, &[], None, 200, Answer::Json("Agent"), "The agent of a task"),
    route(Method::Get, "/api/tasks/{id}/spend", "listSpend", Access::Read, &[], None, 200, Answer::Json("SpendPage"), "What the task used, by day and agent, oldest first"),
    route(Method::Get, "/api/tasks/{id}/phases", "listPhases", Access::Read, &[], None, 200, Answer::Json("PhasePage"), "The phases of a task"),
    route(Method::Get, "/api/tasks/{id}/transitions", "listTransitions", Access::Read, PAGE, None, 200, Answer::Json("TransitionPage"), "Every move of task and agent, oldest first"),
    route(Method::Get, "/api/tasks/{id}/checkpoints", "listCheckpoints", Access::Read, &[], None, 200, Answer::Json("CheckpointPage"), "Checkpoints, newest first"),
    route(Method::Post, "/api/tasks/{id}/checkpoints", "createCheckpoint", Access::Person, &[], Some("Nothing"), 202, Answer::Json("Task"), "Save a checkpoint now"),
    route(Method::Get, "/api/tasks/{id}/reviews", "listReviews", Access::Read, &[], None, 200, Answer::Json("ReviewPage"), "Reviews, oldest first"),
    route(Method::Get, "/api/tasks/{id}/questions", "listQuestions", Access::Read, &[], None, 200, Answer::Json("QuestionPage"), "Questions, oldest first"),
    route(Method::Get, "/api/tasks/{id}/dependencies", "listDependencies", Access::Read, &[], None, 200, Answer::Json("DependencyPage"), "Dependencies, oldest first"),
    route(Method::Get, "/api/tasks/{id}/permissions", "listPermissions", Access::Read, &[], None, 200, Answer::Json("PermissionPage"), "Tool calls that leave was asked for, oldest first"),
    route(Method::Get, "/api/tasks/{id}/verifications", "listVerifications", Access::Read, &[], None, 200, Answer::Json("VerificationPage"), "Verifications, oldest first"),
    route(Method::Get, "/api/tasks/{id}/conversation", "getConversation", Access::Read, PAGE, None, 200, Answer::Json("UtterancePage"), "What was said, oldest first"),
    route(Method::Get, "/api/tasks/{id}/logs", "getLogs", Access::Read, LOGS, None, 200, Answer::Text, "What the agent printed, from a byte on; `X-Next-Offset` says where to go on"),
    route(Method::Get, "/api/tasks/{id}/artifacts", "listArtifacts", Access::Read, &[], None, 200, Answer::Json("ArtifactPage"), "Files of the workspace"),
    route(Method::Get, "/api/tasks/{id}/artifacts/{path}", "getArtifact", Access::Read, &[], None, 200, Answer::Bytes, "One file of the workspace"),
    route(Method::Get, "/api/tasks/{id}/artifacts.zip", "getArtifactsZip", Access::Read, &[], None, 200, Answer::Zip, "The deliverables, or all files when none are named"),
    route(Method::Get, "/api/tasks/{id}/events", "taskEvents", Access::Read, SINCE, None, 200, Answer::Events, "What happens to one task, as server-sent events"),
    route(Method::Get, "/api/events", "events", Access::Read, SINCE, None, 200, Answer::Events, "What happens, as server-sent events"),
    route(Method::Get, "/api/reviews/{id}", "getReview", Access::Read, &[], None, 200, Answer::Json("Review"), "One review"),
    route(Method::Get, "/api/reviews/{id}/diff", "getReviewDiff", Access::Read, DIFF, None, 200, Answer::Json("ReviewDiff"), "What changed in the phase under review"),
    route(Method::Post, "/api/reviews/{id}/approve", "approveReview", Access::Person, &[], Some("Approval"), 200, Answer::Json("Task"), "Approve a phase"),
    route(Method::Post, "/api/reviews/{id}/request-changes", "requestReviewChanges", Access::Person, &[], Some("ChangeRequest"), 200, Answer::Json("Task"), "Have a phase changed"),
    route(Method::Post, "/api/questions/{id}/answer", "answerQuestion", Access::Person, &[], Some("AnswerRequest"), 200, Answer::Json("Task"), "Answer a question"),
    route(Method::Post, "/api/questions/{id}/skip", "skipQuestion", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Leave an optional question without an answer"),
    route(Method::Post, "/api/dependencies/{id}/provide", "provideDependency", Access::Person, &[], Some("ProvideRequest"), 200, Answer::Json("Task"), "Give a value; it is kept encrypted and never told again"),
    route(Method::Post, "/api/dependencies/{id}/reject", "rejectDependency", Access::Person, &[], Some("RejectRequest"), 200, Answer::Json("Task"), "Refuse a dependency"),
    route(Method::Post, "/api/permissions/{id}/permit", "permitTool", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Task"), "Let a tool call go on"),
    route(Method::Post, "/api/permissions/{id}/deny", "denyTool", Access::Person, &[], Some("RejectRequest"), 200, Answer::Json("Task"), "Refuse a tool call"),
    route(Method::Post, "/api/permissions/permit", "permitTools", Access::Person, &[], Some("PermissionBatch"), 200, Answer::Json("PermissionPage"), "Let several tool calls go on: all of them, or none"),
    route(Method::Post, "/api/permissions/deny", "denyTools", Access::Person, &[], Some("PermissionBatch"), 200, Answer::Json("PermissionPage"), "Refuse several tool calls: all of them, or none"),
    route(Method::Get, "/api/permission-rules", "listPermissionRules", Access::Read, &[], None, 200, Answer::Json("PermissionRulePage"), "Rules that answer tool calls, oldest first"),
    route(Method::Post, "/api/permission-rules", "addPermissionRule", Access::Person, &[], Some("NewPermissionRule"), 201, Answer::Json("PermissionRule"), "Make a rule; what waits and fits is answered at once"),
    route(Method::Post, "/api/permission-rules/try", "tryPermissionRule", Access::Read, &[], Some("NewPermissionRule"), 200, Answer::Json("RuleTrial"), "What a rule would have answered so far; nothing is changed"),
    route(Method::Delete, "/api/permission-rules/{id}", "removePermissionRule", Access::Person, &[], None, 204, Answer::Empty, "Take a rule back"),
    route(Method::Post, "/api/sayings/{id}/withdraw", "withdrawSaying", Access::Person, &[], Some("Nothing"), 200, Answer::Json("Saying"), "Take back what was said and is not delivered yet"),
    route(Method::Post, "/api/checkpoints/{id}/fork", "forkCheckpoint", Access::Person, &[], Some("ForkRequest"), 201, Answer::Json("Task"), "Make a new task that begins at a checkpoint"),
    route(Method::Post, "/api/actions/{word}", "act", Access::Open, &[], None, 204, Answer::Empty, "Give the one answer that a button of a notice stands for; it counts once"),
    route(Method::Get, "/api/tasks/{id}/app", "getApp", Access::Read, &[], None, 200, Answer::Json("App"), "The app of a task, where its type names one"),
    route(Method::Post, "/api/tasks/{id}/app/start", "startApp", Access::Person, &[], Some("Nothing"), 200, Answer::Json("App"), "Start what the task has made, at a port of its own"),
    route(Method::Post, "/api/tasks/{id}/app/stop", "stopApp", Access::Person, &[], Some("Nothing"), 200, Answer::Json("App"), "End it"),
    route(Method::Get, "/api/tasks/{id}/deliveries", "listDeliveries", Access::Read, &[], None, 200, Answer::Json("DeliveryPage"), "What became of the notices of a task, oldest first"),
    route(Method::Get, "/api/inbox", "getInbox", Access::Read, &[], None, 200, Answer::Json("InboxPage"), "All that waits for a person, the longest waiting first"),
    route(Method::Get, "/api/agents", "getAgents", Access::Read, &[], None, 200, Answer::Json("Agents"), "Agents that can be started, and those that are"),
    route(Method::Get, "/api/nodes", "listNodes", Access::Read, &[], None, 200, Answer::Json("NodePage"), "Machines that run agents"),
    route(Method::Get, "/api/limits", "listLimits", Access::Read, &[], None, 200, Answer::Json("LimitPage"), "When agents waited for a rate limit to end, of the newest transitions, oldest first"),
    route(Method::Get, "/api/stats", "getStats", Access::Read, DAYS, None, 200, Answer::Json("Stats"), "Counts and spend over all tasks"),
    route(Method::Get, "/api/types", "listTypes", Access::Read, &[], None, 200, Answer::Json("TaskTypePage"), "Types of work"),
    route(Method::Get, "/api/workspaces", "listWorkspaces", Access::Read, &[], None, 200, Answer::Json("WorkspacePage"), "Folders whose state files are shown"),
    route(Method::Get, "/api/workspaces/{id}/{kind}", "getWorkspaceState", Access::Read, &[], None, 200, Answer::Json("WorkspaceStatePage"), "The state files of a kind"),
    route(Method::Get, "/api/workspaces/{id}/{kind}/transitions", "listWorkspaceTransitions", Access::Read, &[], None, 200, Answer::Json("FileTransitionPage"), "The transitions of a kind's files, oldest first"),
    route(Method::Get, "/api/workspaces/{id}/orchestrate/nodes/{node}/log", "getNodeLog", Access::Read, NODE_LOGS, None, 200, Answer::Text, "What the agents of a task of an orchestration printed, from a byte on; `X-Next-Offset` says where to go on"),
    route(Method::Get, "/api/workspaces/{id}/orchestrate/rescued", "listRescued", Access::Read, FILE, None, 200, Answer::Json("RescuedPage"), "What runs kept of worktrees before they went, the newest first"),
    route(Method::Post, "/api/workspaces/{id}/{kind}/{verb}", "workspaceVerb", Access::Person, &[], Some("VerbRequest"), 200, Answer::Json("WorkspaceChange"), "A verb of a kind, as on the command line"),
    route(Method::Post, "/api/agent/phase-complete", "reportPhaseComplete", Access::Agent, &[], Some("PhaseCompleteReport"), 200, Answer::Json("Reported"), "A phase is done"),
    route(Method::Post, "/api/agent/done", "reportDone", Access::Agent, &[], Some("Nothing"), 200, Answer::Json("Reported"), "The work of a task without phases is done"),
    route(Method::Post, "/api/agent/ask", "reportAsk", Access::Agent, &[], Some("AskReport"), 200, Answer::Json("Reported"), "Ask a person"),
    route(Method::Post, "/api/agent/need", "reportNeed", Access::Agent, &[], Some("NeedReport"), 200, Answer::Json("Reported"), "Request a dependency"),
    route(Method::Post, "/api/agent/error", "reportError", Access::Agent, &[], Some("ErrorReport"), 200, Answer::Json("Reported"), "Report an error"),
    route(Method::Post, "/api/agent/step", "reportStep", Access::Agent, &[], Some("StepReport"), 200, Answer::Json("Reported"), "Begin a step"),
    route(Method::Post, "/api/agent/tokens", "reportTokens", Access::Agent, &[], Some("TokensReport"), 200, Answer::Json("Reported"), "Count tokens"),
];
