//! The table of routes, which the server serves, `docs/openapi.json` describes and the tests call,
//! and the requests of clients.

pub use super::route::*;

use super::{
    Agent, Agents, AnswerRequest, App, Approval, Artifact, AskReport, ChangeRequest, Checkpoint,
    Delivery, Dependency, EditTask, ErrorReport, FileTransition, ForkRequest, Health, InboxItem,
    Limit, NeedReport, NewPermissionRule, NewTask, Node, Nothing, Page, Permission,
    PermissionBatch, PermissionRule, Phase, PhaseCompleteReport, ProvideRequest, Question,
    RejectRequest, Reported, Rescued, RestoreRequest, Review, ReviewDiff, RuleTrial, SayRequest,
    Saying, Session, SignIn, SignInLink, Spend, Stats, StepReport, Task, TaskType, TokensReport,
    Utterance, VerbRequest, Verification, Workspace, WorkspaceChange, WorkspaceState,
};
use crate::transition::Transition;
use bowline_machines::named;
use serde_json::{Map, Value};

const LIMIT: &str = "How many at the most, 1 to 1000";
const CURSOR: &str = "`nextCursor` of the page before";
const FIRST_BYTE: &str = "The first byte; negative counts from the end";
const BYTES: &str = "How many bytes at the most";

route_query! {
    /// Selects tasks of a list.
    TaskQuery {
        status: String = "status" "Only those with this status",
        task_type: String = "type" "Only those of this type",
        q: String = "q" "Only those with this text in title, description or label",
        archived: bool = "archived" "`true` lists the archived ones too",
        limit: i64 = "limit" LIMIT,
        cursor: String = "cursor" CURSOR,
    }
}

route_query! {
    /// Selects a page of a list.
    PageQuery {
        limit: i64 = "limit" LIMIT,
        cursor: String = "cursor" CURSOR,
    }
}

route_query! {
    /// Selects a part of an agent's output.
    LogQuery {
        offset: i64 = "offset" FIRST_BYTE,
        limit: i64 = "limit" BYTES,
    }
}

route_query! {
    /// Selects a part of the output of a task of an orchestration.
    NodeLogQuery {
        offset: i64 = "offset" FIRST_BYTE,
        limit: i64 = "limit" BYTES,
        file: String = "file" "The state file; the first that has the task when left away",
    }
}

route_query! {
    /// Selects a state file of a workspace.
    FileQuery {
        file: String = "file" "The state file; the first of the workspace when left away",
    }
}

route_query! {
    /// Selects the base of a diff.
    DiffQuery {
        since: String = "since" "`review`: compared with what the review before it showed, where there is one",
    }
}

route_query! {
    /// Selects the days of the spend.
    StatsQuery {
        days: i64 = "days" "How many days of spend, 1 to 400; 30 when left away",
    }
}

route_query! {
    /// Selects the first event of a stream.
    EventQuery {
        since: i64 = "since" "The last event that was seen, for callers that cannot send `Last-Event-ID`",
    }
}

/// Query parameters of a route.
macro_rules! query_parameters {
    ([query $query:ty]) => {
        <$query as RouteQuery>::PARAMETERS
    };
    ($none:tt) => {
        &[]
    };
}

/// Shape of the body of a route.
macro_rules! body_shape {
    ([body $body:ty]) => {
        Some(BodyShape::of::<$body>(stringify!($body)))
    };
    ($none:tt) => {
        None
    };
}

/// Content of a response of a route.
macro_rules! answer {
    (Json($shape:ty)) => {
        ResponseContent::Json(BodyShape::of::<$shape>(stringify!($shape)))
    };
    ($answer:ident) => {
        ResponseContent::$answer
    };
}

/// Type of a response of a route.
macro_rules! answer_type {
    (Json($shape:ty)) => {
        $shape
    };
    (Empty) => {
        ()
    };
    ($raw:ident) => {
        RawResponse
    };
}

/// The function that makes a request of a route.
macro_rules! request_function {
    ($summary:literal $operation:ident $name:ident [$($param:ident)*] [] $answer:ty) => {
        #[doc = $summary]
        pub fn $name($($param: &str),*) -> TypedRequest<$answer> {
            TypedRequest::new(Operation::$operation.route(), &[$($param),*])
        }
    };
    ($summary:literal $operation:ident $name:ident [$($param:ident)*] [body Nothing] $answer:ty) => {
        #[doc = $summary]
        pub fn $name($($param: &str),*) -> TypedRequest<$answer> {
            TypedRequest::new(Operation::$operation.route(), &[$($param),*]).body(&Nothing {})
        }
    };
    ($summary:literal $operation:ident $name:ident [$($param:ident)*] [$input:ident $type:ty] $answer:ty) => {
        #[doc = $summary]
        pub fn $name($($param: &str,)* $input: &$type) -> TypedRequest<$answer> {
            TypedRequest::new(Operation::$operation.route(), &[$($param),*]).$input($input)
        }
    };
}

/// Declares the table: one row per route, with the function that makes a request of it.
macro_rules! routes {
    ($(
        $operation:ident $id:literal $name:ident($($param:ident),*) $method:ident $path:literal $access:ident
        $input:tt $status:literal $answer:ident $(($shape:ty))? $summary:literal;
    )+) => {
        named! {
            /// What a route does, by its name for programs.
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum Operation {
                $(#[doc = $summary] $operation = $id,)+
            }
        }

        /// Every route there is, in the order of `Operation`.
        pub static ROUTES: [ApiRoute; Operation::ALL.len()] = [$(ApiRoute {
            operation: Operation::$operation,
            method: HttpMethod::$method,
            path: $path,
            access: RouteAccess::$access,
            query: query_parameters!($input),
            body: body_shape!($input),
            status: $status,
            answer: answer!($answer $(($shape))?),
            summary: $summary,
        },)+];

        impl Operation {
            /// Returns the route.
            pub fn route(self) -> &'static ApiRoute {
                &ROUTES[self as usize]
            }
        }

        $(
            const _: () = assert!(parameter_count($path) == parameter_count(concat!($("{", stringify!($param),)* "")));
            request_function!($summary $operation $name [$($param)*] $input answer_type!($answer $(($shape))?));
        )+
    };
}

routes! {
    Health "health" health() Get "/healthz" Open [] 200 Json(Health) "Is the process up?";
    Ready "ready" ready() Get "/readyz" Open [] 200 Json(Health) "Does it take requests? 503 while it starts or drains";
    Metrics "metrics" metrics() Get "/metrics" Read [] 200 Text "Figures for Prometheus";
    Openapi "openapi" openapi() Get "/api/openapi.json" Read [] 200 Json(Map<String, Value>) "This document";
    GetSession "getSession" get_session() Get "/api/session" Read [] 200 Json(Session) "Who asks, and whom";
    SignIn "signIn" sign_in() Post "/api/session" Open [body SignIn] 204 Empty "Sign a browser in with the token: sets the cookie";
    SignOut "signOut" sign_out() Delete "/api/session" Read [] 204 Empty "Sign a browser out";
    NewSignInLink "newSignInLink" new_sign_in_link() Post "/api/sign-in-links" Person [] 201 Json(SignInLink) "Make a link that signs one browser in, once";
    ListTasks "listTasks" list_tasks() Get "/api/tasks" Read [query TaskQuery] 200 Json(Page<Task>) "Tasks, newest first";
    CreateTask "createTask" create_task() Post "/api/tasks" Person [body NewTask] 201 Json(Task) "Make a draft, or with `submit` a pending task";
    GetTask "getTask" get_task(id) Get "/api/tasks/{id}" Read [] 200 Json(Task) "One task";
    EditTask "editTask" edit_task(id) Patch "/api/tasks/{id}" Person [body EditTask] 200 Json(Task) "Change a draft";
    DeleteTask "deleteTask" delete_task(id) Delete "/api/tasks/{id}" Person [] 204 Empty "Remove a task and all that belongs to it";
    SubmitTask "submitTask" submit_task(id) Post "/api/tasks/{id}/submit" Person [body Nothing] 200 Json(Task) "Put a draft into the queue";
    CancelTask "cancelTask" cancel_task(id) Post "/api/tasks/{id}/cancel" Person [body Nothing] 200 Json(Task) "Give a task up";
    PauseTask "pauseTask" pause_task(id) Post "/api/tasks/{id}/pause" Person [body Nothing] 200 Json(Task) "Stop the agent";
    ResumeTask "resumeTask" resume_task(id) Post "/api/tasks/{id}/resume" Person [body Nothing] 200 Json(Task) "Let the agent go on";
    RetryTask "retryTask" retry_task(id) Post "/api/tasks/{id}/retry" Person [body Nothing] 201 Json(Task) "Make a new task in the place of a failed one";
    ArchiveTask "archiveTask" archive_task(id) Post "/api/tasks/{id}/archive" Person [body Nothing] 200 Json(Task) "Hide a completed task from the list";
    ApproveTask "approveTask" approve_task(id) Post "/api/tasks/{id}/approve" Person [body Approval] 200 Json(Task) "Approve the phase under review";
    RequestTaskChanges "requestTaskChanges" request_task_changes(id) Post "/api/tasks/{id}/request-changes" Person [body ChangeRequest] 200 Json(Task) "Have the phase under review changed";
    RestoreTask "restoreTask" restore_task(id) Post "/api/tasks/{id}/restore" Person [body RestoreRequest] 200 Json(Task) "Set a task back to a checkpoint";
    SayToAgent "sayToAgent" say_to_agent(id) Post "/api/tasks/{id}/say" Person [body SayRequest] 202 Json(Saying) "Say something to the agent without interrupting it";
    InterruptAgent "interruptAgent" interrupt_agent(id) Post "/api/tasks/{id}/interrupt" Person [body Nothing] 200 Json(Task) "Interrupt what the agent does, in its own way";
    ListSayings "listSayings" list_sayings(id) Get "/api/tasks/{id}/sayings" Read [] 200 Json(Page<Saying>) "What was said to the agent";
    GetAgent "getAgent" get_agent(id) Get "/api/tasks/{id}/agent" Read [] 200 Json(Agent) "The agent of a task";
    ListSpend "listSpend" list_spend(id) Get "/api/tasks/{id}/spend" Read [] 200 Json(Page<Spend>) "What the task used, by day and agent, oldest first";
    ListPhases "listPhases" list_phases(id) Get "/api/tasks/{id}/phases" Read [] 200 Json(Page<Phase>) "The phases of a task";
    ListTransitions "listTransitions" list_transitions(id) Get "/api/tasks/{id}/transitions" Read [query PageQuery] 200 Json(Page<Transition>) "Every move of task and agent, oldest first";
    ListCheckpoints "listCheckpoints" list_checkpoints(id) Get "/api/tasks/{id}/checkpoints" Read [] 200 Json(Page<Checkpoint>) "Checkpoints, newest first";
    CreateCheckpoint "createCheckpoint" create_checkpoint(id) Post "/api/tasks/{id}/checkpoints" Person [body Nothing] 202 Json(Task) "Save a checkpoint now";
    ListReviews "listReviews" list_reviews(id) Get "/api/tasks/{id}/reviews" Read [] 200 Json(Page<Review>) "Reviews, oldest first";
    ListQuestions "listQuestions" list_questions(id) Get "/api/tasks/{id}/questions" Read [] 200 Json(Page<Question>) "Questions, oldest first";
    ListDependencies "listDependencies" list_dependencies(id) Get "/api/tasks/{id}/dependencies" Read [] 200 Json(Page<Dependency>) "Dependencies, oldest first";
    ListPermissions "listPermissions" list_permissions(id) Get "/api/tasks/{id}/permissions" Read [] 200 Json(Page<Permission>) "Tool calls that leave was asked for, oldest first";
    ListVerifications "listVerifications" list_verifications(id) Get "/api/tasks/{id}/verifications" Read [] 200 Json(Page<Verification>) "Verifications, oldest first";
    GetConversation "getConversation" get_conversation(id) Get "/api/tasks/{id}/conversation" Read [query PageQuery] 200 Json(Page<Utterance>) "What was said, oldest first";
    GetLogs "getLogs" get_logs(id) Get "/api/tasks/{id}/logs" Read [query LogQuery] 200 Text "What the agent printed, from a byte on; `X-Next-Offset` says where to go on";
    ListArtifacts "listArtifacts" list_artifacts(id) Get "/api/tasks/{id}/artifacts" Read [] 200 Json(Page<Artifact>) "Files of the workspace";
    GetArtifact "getArtifact" get_artifact(id, path) Get "/api/tasks/{id}/artifacts/{path}" Read [] 200 Bytes "One file of the workspace";
    GetArtifactsZip "getArtifactsZip" get_artifacts_zip(id) Get "/api/tasks/{id}/artifacts.zip" Read [] 200 Zip "The deliverables, or all files when none are named";
    TaskEvents "taskEvents" task_events(id) Get "/api/tasks/{id}/events" Read [query EventQuery] 200 Events "What happens to one task, as server-sent events";
    Events "events" events() Get "/api/events" Read [query EventQuery] 200 Events "What happens, as server-sent events";
    GetReview "getReview" get_review(id) Get "/api/reviews/{id}" Read [] 200 Json(Review) "One review";
    GetReviewDiff "getReviewDiff" get_review_diff(id) Get "/api/reviews/{id}/diff" Read [query DiffQuery] 200 Json(ReviewDiff) "What changed in the phase under review";
    ApproveReview "approveReview" approve_review(id) Post "/api/reviews/{id}/approve" Person [body Approval] 200 Json(Task) "Approve a phase";
    RequestReviewChanges "requestReviewChanges" request_review_changes(id) Post "/api/reviews/{id}/request-changes" Person [body ChangeRequest] 200 Json(Task) "Have a phase changed";
    AnswerQuestion "answerQuestion" answer_question(id) Post "/api/questions/{id}/answer" Person [body AnswerRequest] 200 Json(Task) "Answer a question";
    SkipQuestion "skipQuestion" skip_question(id) Post "/api/questions/{id}/skip" Person [body Nothing] 200 Json(Task) "Leave an optional question without an answer";
    ProvideDependency "provideDependency" provide_dependency(id) Post "/api/dependencies/{id}/provide" Person [body ProvideRequest] 200 Json(Task) "Give a value; it is kept encrypted and never told again";
    RejectDependency "rejectDependency" reject_dependency(id) Post "/api/dependencies/{id}/reject" Person [body RejectRequest] 200 Json(Task) "Refuse a dependency";
    PermitTool "permitTool" permit_tool(id) Post "/api/permissions/{id}/permit" Person [body Nothing] 200 Json(Task) "Let a tool call go on";
    DenyTool "denyTool" deny_tool(id) Post "/api/permissions/{id}/deny" Person [body RejectRequest] 200 Json(Task) "Refuse a tool call";
    PermitTools "permitTools" permit_tools() Post "/api/permissions/permit" Person [body PermissionBatch] 200 Json(Page<Permission>) "Let several tool calls go on: all of them, or none";
    DenyTools "denyTools" deny_tools() Post "/api/permissions/deny" Person [body PermissionBatch] 200 Json(Page<Permission>) "Refuse several tool calls: all of them, or none";
    ListPermissionRules "listPermissionRules" list_permission_rules() Get "/api/permission-rules" Read [] 200 Json(Page<PermissionRule>) "Rules that answer tool calls, oldest first";
    AddPermissionRule "addPermissionRule" add_permission_rule() Post "/api/permission-rules" Person [body NewPermissionRule] 201 Json(PermissionRule) "Make a rule; what waits and fits is answered at once";
    TryPermissionRule "tryPermissionRule" try_permission_rule() Post "/api/permission-rules/try" Read [body NewPermissionRule] 200 Json(RuleTrial) "What a rule would have answered so far; nothing is changed";
    RemovePermissionRule "removePermissionRule" remove_permission_rule(id) Delete "/api/permission-rules/{id}" Person [] 204 Empty "Take a rule back";
    WithdrawSaying "withdrawSaying" withdraw_saying(id) Post "/api/sayings/{id}/withdraw" Person [body Nothing] 200 Json(Saying) "Take back what was said and is not delivered yet";
    ForkCheckpoint "forkCheckpoint" fork_checkpoint(id) Post "/api/checkpoints/{id}/fork" Person [body ForkRequest] 201 Json(Task) "Make a new task that begins at a checkpoint";
    Act "act" act(word) Post "/api/actions/{word}" Open [] 204 Empty "Give the one answer that a button of a notice stands for; it counts once";
    GetApp "getApp" get_app(id) Get "/api/tasks/{id}/app" Read [] 200 Json(App) "The app of a task, where its type names one";
    StartApp "startApp" start_app(id) Post "/api/tasks/{id}/app/start" Person [body Nothing] 200 Json(App) "Start what the task has made, at a port of its own";
    StopApp "stopApp" stop_app(id) Post "/api/tasks/{id}/app/stop" Person [body Nothing] 200 Json(App) "End it";
    ListDeliveries "listDeliveries" list_deliveries(id) Get "/api/tasks/{id}/deliveries" Read [] 200 Json(Page<Delivery>) "What became of the notices of a task, oldest first";
    GetInbox "getInbox" get_inbox() Get "/api/inbox" Read [] 200 Json(Page<InboxItem>) "All that waits for a person, the longest waiting first";
    GetAgents "getAgents" get_agents() Get "/api/agents" Read [] 200 Json(Agents) "Agents that can be started, and those that are";
    ListNodes "listNodes" list_nodes() Get "/api/nodes" Read [] 200 Json(Page<Node>) "Machines that run agents";
    ListLimits "listLimits" list_limits() Get "/api/limits" Read [] 200 Json(Page<Limit>) "When agents waited for a rate limit to end, of the newest transitions, oldest first";
    GetStats "getStats" get_stats() Get "/api/stats" Read [query StatsQuery] 200 Json(Stats) "Counts and spend over all tasks";
    ListTypes "listTypes" list_types() Get "/api/types" Read [] 200 Json(Page<TaskType>) "Types of work";
    ListWorkspaces "listWorkspaces" list_workspaces() Get "/api/workspaces" Read [] 200 Json(Page<Workspace>) "Folders whose state files are shown";
    GetWorkspaceState "getWorkspaceState" get_workspace_state(id, kind) Get "/api/workspaces/{id}/{kind}" Read [] 200 Json(Page<WorkspaceState>) "The state files of a kind";
    ListWorkspaceTransitions "listWorkspaceTransitions" list_workspace_transitions(id, kind) Get "/api/workspaces/{id}/{kind}/transitions" Read [] 200 Json(Page<FileTransition>) "The transitions of a kind's files, oldest first";
    GetNodeLog "getNodeLog" get_node_log(id, node) Get "/api/workspaces/{id}/orchestrate/nodes/{node}/log" Read [query NodeLogQuery] 200 Text "What the agents of a task of an orchestration printed, from a byte on; `X-Next-Offset` says where to go on";
    ListRescued "listRescued" list_rescued(id) Get "/api/workspaces/{id}/orchestrate/rescued" Read [query FileQuery] 200 Json(Page<Rescued>) "What runs kept of worktrees before they went, the newest first";
    WorkspaceVerb "workspaceVerb" workspace_verb(id, kind, verb) Post "/api/workspaces/{id}/{kind}/{verb}" Person [body VerbRequest] 200 Json(WorkspaceChange) "A verb of a kind, as on the command line";
    ReportPhaseComplete "reportPhaseComplete" report_phase_complete() Post "/api/agent/phase-complete" Agent [body PhaseCompleteReport] 200 Json(Reported) "A phase is done";
    ReportDone "reportDone" report_done() Post "/api/agent/done" Agent [body Nothing] 200 Json(Reported) "The work of a task without phases is done";
    ReportAsk "reportAsk" report_ask() Post "/api/agent/ask" Agent [body AskReport] 200 Json(Reported) "Ask a person";
    ReportNeed "reportNeed" report_need() Post "/api/agent/need" Agent [body NeedReport] 200 Json(Reported) "Request a dependency";
    ReportError "reportError" report_error() Post "/api/agent/error" Agent [body ErrorReport] 200 Json(Reported) "Report an error";
    ReportStep "reportStep" report_step() Post "/api/agent/step" Agent [body StepReport] 200 Json(Reported) "Begin a step";
    ReportTokens "reportTokens" report_tokens() Post "/api/agent/tokens" Agent [body TokensReport] 200 Json(Reported) "Count tokens";
}
