//! `bowline-shim git-hook NAME [ARGUMENT]…`: the same gates, asked by git.

use crate::told;
use bowline_gate::git_hook::{GitHook, answer};
use std::ffi::OsString;
use std::process::ExitCode;

/// Reads what git sends on standard input and answers. Anything but 0 holds git.
pub(crate) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let hook = arguments.next();
    let Some(hook) = hook
        .as_deref()
        .and_then(|it| GitHook::from_name(it.to_str()?))
    else {
        return crate::usage();
    };
    let argument = arguments.next();
    let argument = argument.as_deref().and_then(|it| it.to_str());
    let Ok(folder) = std::env::current_dir() else {
        return ExitCode::FAILURE;
    };
    told(&answer(&folder, hook, argument, std::io::stdin().lock()))
}
