//! `bowline-shim git-hook NAME [ARGUMENT]…`: the gate as a git hook.

use crate::write_answer;
use bowline_gate::git_hook::{GitHook, answer_git};
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads git's data on standard input and answers. Any exit code but 0 stops git.
pub(crate) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let hook = arguments.next();
    let Some(hook) = hook
        .as_deref()
        .and_then(|it| GitHook::from_name(it.to_str()?))
    else {
        return crate::print_usage();
    };
    let argument = arguments.next();
    let argument = argument.as_deref().and_then(|it| it.to_str());
    let Ok(folder) = std::env::current_dir() else {
        return ExitCode::FAILURE;
    };
    write_answer(&answer_git(
        &folder,
        hook,
        argument,
        std::io::stdin().lock(),
    ))
}
