//! Decides if a tool call of an agent may go on while a develop run is open.

pub mod advice;
pub mod clients;
pub mod decision;
pub mod git_hook;
pub mod hook;
pub mod lang;
pub mod locate;
pub mod run_trust;
pub mod sealed;
pub mod shell;
pub mod tested_tree;
pub mod tool_call;
pub mod workspace_paths;
