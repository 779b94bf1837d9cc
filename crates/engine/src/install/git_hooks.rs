//! Git hooks: a small script for each that asks the gate, then runs the previous hook.

use super::{FileEdit, is_executable, read_optional};
use crate::error::Error;
use crate::words::display_path;
use bowline_formats::client_hooks::quote_word;
use bowline_gate::git_hook::GitHook;
use bowline_words::message::{Advice, Notice, Wrong};
use std::path::{Path, PathBuf};

/// First line after the interpreter, by which our scripts are recognised.
const MARK: &str =
    "# bowline: asks the gate of a develop run, then runs the hook that was here before.";
/// Extension of the previous hook.
const BEFORE: &str = "before-bowline";

/// Plans our scripts for a folder of hooks; existing hooks are renamed.
pub(super) fn put_in(folder: &Path, shim: &Path) -> Result<Vec<FileEdit>, Error> {
    let mut edits = Vec::new();
    for hook in GitHook::ALL {
        let (path, aside) = hook_paths(folder, hook);
        if let Some(theirs) = read_optional(&path)?.filter(|bytes| !is_ours(bytes)) {
            // Two previous hooks cannot both be run, and none is discarded.
            if read_optional(&aside)?.is_some_and(|known| known != theirs) {
                return Err(Error::BadInput {
                    message: Wrong::TwoForeignHooks {
                        path: display_path(&path),
                        aside: display_path(&aside),
                    },
                    hint: Advice::MakeOne,
                });
            }
            // A hook that git would not have run is not run by us.
            let runs = is_executable(&path);
            edits.push(FileEdit::for_path(aside, Some(theirs), Some(runs))?);
        }
        let ours = hook_script(hook, shim).into_bytes();
        edits.push(FileEdit::for_path(path, Some(ours), Some(true))?);
    }
    Ok(edits)
}

/// Plans to restore the previous hooks.
pub(super) fn take_out(folder: &Path) -> Result<Vec<FileEdit>, Error> {
    let mut edits = Vec::new();
    for hook in GitHook::ALL {
        let (path, aside) = hook_paths(folder, hook);
        if !read_optional(&path)?.is_some_and(|bytes| is_ours(&bytes)) {
            continue;
        }
        let theirs = read_optional(&aside)?;
        let had = theirs.is_some();
        edits.push(FileEdit::for_path(
            path,
            theirs,
            Some(is_executable(&aside)),
        )?);
        if had {
            edits.push(FileEdit::for_path(aside, None, None)?);
        }
    }
    Ok(edits)
}

/// Returns a notice about the first of our scripts in a folder that git would not run.
pub(super) fn first_off(folder: &Path) -> Option<Notice> {
    GitHook::ALL.into_iter().find_map(|hook| {
        let (path, _) = hook_paths(folder, hook);
        let ours = read_optional(&path)
            .ok()
            .flatten()
            .is_some_and(|it| is_ours(&it));
        match (ours, is_executable(&path)) {
            (true, true) => None,
            (true, false) => Some(Notice::GitHookNotExecutable {
                path: display_path(&path),
            }),
            (false, _) => Some(Notice::GitHookMissing {
                path: display_path(&path),
            }),
        }
    })
}

fn hook_paths(folder: &Path, hook: GitHook) -> (PathBuf, PathBuf) {
    let path = folder.join(hook.name());
    let aside = folder.join(format!("{}.{BEFORE}", hook.name()));
    (path, aside)
}

fn is_ours(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).lines().nth(1) == Some(MARK)
}

fn hook_script(hook: GitHook, shim: &Path) -> String {
    let name = hook.name();
    let shim = quote_word(&shim.to_string_lossy());
    let has_input = match hook {
        GitHook::PreCommit | GitHook::PreMergeCommit => false,
        GitHook::PrePush | GitHook::ReferenceTransaction => true,
    };
    // Both hooks read the same input. The letter keeps the last line end through `$(…)`.
    let (keep, give) = if has_input {
        ("input=$(cat; echo .)\n", "printf '%s' \"${input%.}\" | ")
    } else {
        ("", "")
    };
    format!(
        "#!/bin/sh\n\
         {MARK}\n\
         # Put in by 'bowline init', taken out by 'bowline init --uninstall'.\n\
         shim={shim}\n\
         before=\"$0.{BEFORE}\"\n\
         {keep}\
         if [ -x \"$shim\" ]; then\n\
         \x20   {give}\"$shim\" git-hook {name} \"$@\" || exit 1\n\
         else\n\
         \x20   top=$(git rev-parse --git-common-dir)/..\n\
         \x20   if [ -e \"$top/.develop-workflow/state.json\" ] || [ -e .develop-workflow/state.json ]; then\n\
         \x20       echo \"bowline: $shim is gone, so the gates of this develop run cannot be asked.\" >&2\n\
         \x20       echo \"bowline: install it again, or remove $0 to do without gates.\" >&2\n\
         \x20       exit 1\n\
         \x20   fi\n\
         fi\n\
         if [ -x \"$before\" ]; then\n\
         \x20   {give}\"$before\" \"$@\"\n\
         \x20   exit $?\n\
         fi\n\
         exit 0\n"
    )
}
