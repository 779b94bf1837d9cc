//! What every tool is given: the surroundings of its operation, and whose rights it has.

use crate::answer::{No, Refused};
use crate::call::CallControl;
use bowline_engine::Context;
use bowline_engine::kinds::{FileKind, MEMORY_FOLDER};
use bowline_engine::machines::Actor;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::words::shown;
use bowline_engine::workspace;
use bowline_words::Lang;
use bowline_words::message::ToolNo;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whose tools are offered. What a tool may do is decided by the engine, whatever is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Tools that change nothing.
    ReadOnly,
    /// The verbs of agents.
    Agent,
    /// Everything. Whoever is not shown to be a person is still refused a person's moves.
    Person,
}

impl Role {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Role::ReadOnly => "read-only",
            Role::Agent => "agent",
            Role::Person => "person",
        }
    }
}

/// The task server, as whoever holds it reaches it.
pub trait Tasks: Send + Sync {
    /// Asks; the answer's body, or the refusal.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Refused>;
    /// Whether this is the agent of a task, which may report on it.
    fn is_of_task(&self) -> bool;
}

/// The surroundings of the tools of one connection.
#[derive(Clone)]
pub struct Desk {
    /// Those of the engine.
    pub context: Context,
    /// The folder that is worked in.
    pub folder: PathBuf,
    /// Folders outside of it are refused: it is somebody else who asks.
    pub confined: bool,
    /// Whether there are files to work on. Whoever asks for somebody with fewer rights than we have offers none: links and
    /// commands would be followed with ours.
    pub files: bool,
    /// The language of refusals.
    pub lang: Lang,
    /// Whose tools are offered.
    pub role: Role,
    /// The task server.
    pub tasks: Arc<dyn Tasks>,
    /// Progress and cancellation of the call that is carried out.
    pub call: CallControl,
}

impl Desk {
    /// The same for one call: what others see while they wait for our lock, and nobody's rights but those of the role.
    pub(crate) fn for_call(&self, tool: &str, call: &CallControl) -> Desk {
        let mut desk = self.clone();
        desk.call = call.clone();
        desk.context.what = format!("bowline mcp {tool}");
        desk.context.lang = self.lang;
        desk.context.here.clone_from(&self.folder);
        if self.role < Role::Person {
            desk.context.actor = Some(Actor::Agent);
        }
        desk
    }

    /// A path that was named, from the folder on.
    pub(crate) fn path(&self, named: &str) -> Result<PathBuf, No> {
        let path = self.folder.join(named);
        if self.confined {
            // What is not there yet is judged by what is: a link must not lead out of the folder.
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
                return Err(No::tool(&ToolNo::Outside { path }, self.lang));
            }
        }
        Ok(path)
    }

    /// The thinking run of a named folder, or the nearest; a new one is made right here.
    pub(crate) fn thinking(&self, dir: Option<&str>, new: bool) -> Result<ThinkingRun, No> {
        let folder = match dir {
            Some(dir) => self.path(dir)?,
            None if new => self.folder.clone(),
            None => {
                let path = workspace::locate(&self.context, FileKind::Thinking, &self.folder);
                path.parent().map_or(self.folder.clone(), Path::to_owned)
            }
        };
        Ok(ThinkingRun::at(&self.context, &folder))
    }

    pub(crate) fn memory(&self) -> MemoryFolder {
        let path = workspace::locate(&self.context, FileKind::TaskState, &self.folder);
        let folder = path.parent().map(Path::to_owned);
        let folder = folder.unwrap_or_else(|| self.folder.join(MEMORY_FOLDER));
        MemoryFolder::at(&self.context, &folder)
    }

    pub(crate) fn develop(&self) -> DevelopRun {
        DevelopRun::at(&self.context, &self.folder)
    }

    pub(crate) fn orchestration(&self) -> Orchestration {
        Orchestration::at(&self.context, &self.folder)
    }

    /// A path for whoever reads the answer: from the folder on, where it is below it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        shown(path.strip_prefix(&self.folder).unwrap_or(path))
    }
}
