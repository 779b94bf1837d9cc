//! Context of every tool: the engine's context, the folder and the role of one connection.

use crate::answer::{ToolError, ToolRefusal};
use crate::call::CallControl;
use bowline_engine::Context;
use bowline_engine::kinds::{FileKind, MEMORY_FOLDER};
use bowline_engine::machines::Actor;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::words::display_path;
use bowline_engine::workspace;
use bowline_formats::rest::routes::RouteRequest;
use bowline_words::Lang;
use bowline_words::message::ToolNo;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Role a connection serves; it selects the tools that are offered. The engine decides what a tool
/// may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionRole {
    /// Tools that change nothing.
    ReadOnly,
    /// The verbs of agents.
    Agent,
    /// All verbs. The engine still refuses a person's verbs to a caller that is not shown to be a
    /// person.
    Person,
}

impl SessionRole {
    /// Returns the word for it.
    pub const fn name(self) -> &'static str {
        match self {
            SessionRole::ReadOnly => "read-only",
            SessionRole::Agent => "agent",
            SessionRole::Person => "person",
        }
    }
}

/// Client of the task server.
pub trait TaskClient: Send + Sync {
    /// Sends a request and returns the body of the response, or the refusal.
    fn send_request(&self, request: &RouteRequest) -> Result<Value, ToolRefusal>;
    /// True for the agent of a task, which may report on it.
    fn is_of_task(&self) -> bool;
}

/// Context of the tools of one connection.
#[derive(Clone)]
pub struct ToolSession {
    /// The context of the engine's operations.
    pub context: Context,
    /// The folder the tools work in.
    pub folder: PathBuf,
    /// Refuses paths outside of the folder, for callers that are not the user of this process.
    pub confined: bool,
    /// True if the tools may use files. False where the caller has fewer rights than this process:
    /// links and commands would be followed with ours.
    pub files: bool,
    /// The language of refusals.
    pub lang: Lang,
    /// Role that selects the tools offered.
    pub role: SessionRole,
    /// Client of the task server.
    pub tasks: Arc<dyn TaskClient>,
    /// Progress and cancellation of the current call.
    pub call: CallControl,
}

impl ToolSession {
    /// Returns a copy for one call: named in the lock while others wait for it, and with no more
    /// rights than the role has.
    pub(crate) fn for_call(&self, tool: &str, call: &CallControl) -> ToolSession {
        let mut session = self.clone();
        session.call = call.clone();
        session.context.what = format!("bowline mcp {tool}");
        session.context.lang = self.lang;
        session.context.here.clone_from(&self.folder);
        if self.role < SessionRole::Person {
            session.context.actor = Some(Actor::Agent);
        }
        session
    }

    /// Resolves a path argument against the folder.
    pub(crate) fn resolve_path(&self, named: &str) -> Result<PathBuf, ToolError> {
        let path = self.folder.join(named);
        if self.confined {
            // A path that does not exist yet is judged by its existing ancestor: a link must not
            // lead out of the folder.
            let there = path.ancestors().find_map(|part| part.canonicalize().ok());
            let root = self.folder.canonicalize().ok();
            let inside = there
                .zip(root)
                .is_some_and(|(there, root)| there.starts_with(root));
            let climbs = Path::new(named)
                .components()
                .any(|part| part == std::path::Component::ParentDir);
            if !inside || climbs {
                let path = named.to_owned();
                return Err(ToolError::from_tool_fault(
                    &ToolNo::Outside { path },
                    self.lang,
                ));
            }
        }
        Ok(path)
    }

    /// Returns the thinking run of the given or the nearest folder; a new one is created in the
    /// session's folder.
    pub(crate) fn thinking_run(
        &self,
        dir: Option<&str>,
        new: bool,
    ) -> Result<ThinkingRun, ToolError> {
        let folder = match dir {
            Some(dir) => self.resolve_path(dir)?,
            None if new => self.folder.clone(),
            None => {
                let path = workspace::locate_file(&self.context, FileKind::Thinking, &self.folder);
                path.parent().map_or(self.folder.clone(), Path::to_owned)
            }
        };
        Ok(ThinkingRun::in_folder(&self.context, &folder))
    }

    pub(crate) fn memory_folder(&self) -> MemoryFolder {
        let path = workspace::locate_file(&self.context, FileKind::TaskState, &self.folder);
        let folder = path.parent().map(Path::to_owned);
        let folder = folder.unwrap_or_else(|| self.folder.join(MEMORY_FOLDER));
        MemoryFolder::in_folder(&self.context, &folder)
    }

    pub(crate) fn develop_run(&self) -> DevelopRun {
        DevelopRun::in_folder(&self.context, &self.folder)
    }

    pub(crate) fn orchestration(&self) -> Orchestration {
        Orchestration::in_folder(&self.context, &self.folder)
    }

    /// Formats a path for the answer: relative to the folder, if it is below it.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        display_path(path.strip_prefix(&self.folder).unwrap_or(path))
    }
}
