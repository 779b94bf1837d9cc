//! What is fuzzed: for every parser a function that takes any bytes and panics when a promise is broken.
//!
//! `cargo xtask fuzz` feeds them by coverage; the test of this crate feeds them their seeds and some thousand mutations of
//! those, everywhere and without special tools.

mod agents;
mod journal;
mod json;
mod markers;
mod shell;
mod small;
mod state;
mod tasks;

use bowline_formats::develop::DevelopFile;
use bowline_formats::memory::agent_memory::AgentMemoryFile;
use bowline_formats::memory::shared_context::SharedContextFile;
use bowline_formats::memory::task_history::TaskHistoryFile;
use bowline_formats::memory::task_state::TaskStateFile;
use bowline_formats::orchestrate::OrchestrateFile;
use bowline_formats::thinking::ThinkingFile;

/// One thing to fuzz.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folder in `fuzz/seeds`.
    pub name: &'static str,
    /// Feeds it one input; panics when a promise is broken.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 22] = [
    target("agent-memory", state::check::<AgentMemoryFile>),
    target("agents", agents::check),
    target("develop", state::check::<DevelopFile>),
    target("engagement", small::engagement),
    target("journal", journal::check),
    target("disguise", shell::disguised),
    target("hook-message", shell::message),
    target("json", json::check),
    target("markers", markers::check),
    target("memory-path", small::memory_path),
    target("merge", json::merge),
    target("orchestrate", state::check::<OrchestrateFile>),
    target("settings", small::settings),
    target("shared-context", state::check::<SharedContextFile>),
    target("shell", shell::check),
    target("splice", small::splice),
    target("task-history", state::check::<TaskHistoryFile>),
    target("task-state", state::check::<TaskStateFile>),
    target("tasks-md", tasks::check),
    target("thinking", state::check::<ThinkingFile>),
    target("time", small::time),
    target("transition", small::transition),
];

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// The target of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Separates the parts of inputs that have several.
const PART_END: u8 = 0;

/// The input as text in `N` parts; the last ones are empty where there are fewer. Nothing when it is not text.
fn parts<const N: usize>(data: &[u8]) -> Option<[&str; N]> {
    let text = str::from_utf8(data).ok()?;
    let mut parts = text.splitn(N, char::from(PART_END));
    Some(std::array::from_fn(|_| parts.next().unwrap_or("")))
}
