//! The side effects of a bash command line: it is parsed, expanded as far as its text allows, and
//! walked.

mod archive;
mod bowline;
mod builtin;
mod code;
mod compound;
mod expand;
mod folder;
mod git;
mod host;
mod inline;
mod interpret;
mod listed;
mod output;
mod parse;
mod redirect;
mod run;
mod sed;
mod side_effect;
mod text;
mod tree;
mod walk;
mod words;
mod wrap;
mod write;
mod xargs;

pub(crate) use git::is_dry_push;
pub use parse::ShellParseError;
pub(crate) use parse::UNKNOWN_NAME;
pub use side_effect::{CommandEnvironment, FileChangeKind, SideEffect};
pub use walk::find_side_effects;
