//! Read access of an attempt's agent: its own task and those it depends on, while the attempt
//! lasts.

use crate::auth::Caller;
use crate::error::ApiError;
use crate::http_request::ApiRequest;
use crate::serve::SharedState;
use crate::tasks::find_job;
use bowline_engine::machines::job::ProcessState;
use bowline_formats::rest::routes::{Operation, RouteAccess};
use bowline_words::message::{ServerNo, ServerThing};
use std::collections::BTreeSet;

/// Routes whose responses contain nothing about any task.
const TASKLESS_ROUTES: [Operation; 5] = [
    Operation::Openapi,
    Operation::GetSession,
    Operation::ListTypes,
    Operation::ListNodes,
    Operation::GetAgents,
];
/// Lists whose handlers filter by the caller's scope.
const FILTERED_LISTS: [Operation; 4] = [
    Operation::ListTasks,
    Operation::GetInbox,
    Operation::ListLimits,
    Operation::Events,
];

/// The tasks that a caller may read; `None` for all.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskScope(Option<BTreeSet<String>>);

impl TaskScope {
    /// Returns a scope of one task.
    pub(crate) fn for_task(task: &str) -> TaskScope {
        TaskScope(Some(BTreeSet::from([task.to_owned()])))
    }

    /// True if the scope contains every task, deleted ones included.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the scope of a caller.
    pub(crate) fn for_caller(shared: &SharedState, caller: &Caller) -> Result<TaskScope, ApiError> {
        let task = match caller {
            Caller::Nobody | Caller::Person | Caller::Reader => return Ok(TaskScope::default()),
            Caller::Agent { task, .. } => Some(task.clone()),
            Caller::AgentReader(descent) => shared.job_service()?.task_of_agent(descent),
        };
        let own = match &task {
            Some(task) => shared.job_service()?.store().find_job(task)?,
            None => None,
        };
        let needed = own.iter().flat_map(|row| &row.job.depends_on);
        let mut tasks: BTreeSet<String> = needed.cloned().collect();
        tasks.extend(task);
        Ok(TaskScope(Some(tasks)))
    }

    /// Returns the limit for reading a list that shows this many rows; 0 is none. The few tasks of
    /// an agent may be anywhere in the list.
    pub(crate) fn row_limit(&self, wanted: usize) -> usize {
        match self.0 {
            None => wanted,
            Some(_) => 0,
        }
    }

    /// True if the scope contains this task.
    pub(crate) fn contains(&self, task: &str) -> bool {
        self.0.as_ref().is_none_or(|tasks| tasks.contains(task))
    }
}

/// True while a caller keeps the identity it was authenticated with.
pub(crate) fn is_same_attempt(shared: &SharedState, caller: &Caller) -> bool {
    let Caller::Agent { task, attempt } = caller else {
        return true;
    };
    let found = shared
        .job_service()
        .ok()
        .and_then(|work| find_job(work, task).ok());
    found.is_some_and(|row| row.job.attempt == *attempt && row.job.process == ProcessState::Live)
}

/// Refuses an agent tasks outside of its scope, and totals over all tasks.
pub(crate) fn check_scope(shared: &SharedState, call: &ApiRequest) -> Result<(), ApiError> {
    if call.route.access != RouteAccess::Read {
        return Ok(());
    }
    let scope = TaskScope::for_caller(shared, &call.caller)?;
    if scope.0.is_none() {
        return Ok(());
    }
    let id = call.path_param("id");
    let path = call.route.path;
    if path.starts_with("/api/tasks/{id}") {
        return match scope.contains(id) {
            true => Ok(()),
            false => Err(ApiError::no_such(ServerThing::Task, id)),
        };
    }
    if path.starts_with("/api/reviews/{id}") {
        let record = shared.job_service()?.store().find_record(id)?;
        return match record.is_some_and(|it| scope.contains(&it.job)) {
            true => Ok(()),
            false => Err(ApiError::no_such(ServerThing::Review, id)),
        };
    }
    let is_reader = matches!(call.caller, Caller::AgentReader(_));
    if is_reader && path.starts_with("/api/workspaces") {
        return Ok(());
    }
    let operation = call.route.operation;
    match TASKLESS_ROUTES.contains(&operation) || FILTERED_LISTS.contains(&operation) {
        true => Ok(()),
        false => {
            let what = "read what is not about the task";
            Err(ServerNo::NeedsPerson { what }.into())
        }
    }
}
