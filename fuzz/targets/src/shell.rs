//! Command lines before the gate, and the messages they come in.

use bowline_formats::hook::HookMessage;
use bowline_gate::shell::{CommandEnvironment, SideEffect, find_side_effects};
use bowline_gate::tool_call::ToolCall;
use bowline_test_support::disguise::{self, ByteChoices};
use std::path::Path;

const ROOT: &str = "/nonexistent/app";

/// A world without variables, folders and aliases: what the text itself says is all there is.
struct Nowhere;

impl CommandEnvironment for Nowhere {
    fn environment_variable(&self, _: &str) -> Option<String> {
        None
    }

    fn is_folder(&self, _: &Path) -> bool {
        false
    }

    fn git_alias(&self, _: &Path, _: &str) -> Option<String> {
        None
    }
}

/// Any text is read or refused. Put before a command on a line of its own, it hides nothing as long as it can be read.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let _ = find_side_effects(text, Path::new(ROOT), &Nowhere);
    let after = format!("git push\n{text}");
    assert!(finishes(&after), "{after:?}");
}

/// Whatever the disguise, what it hides is seen.
pub(crate) fn disguised(data: &[u8]) {
    let mut choices = ByteChoices(data);
    let text = disguise::finishing_command(&mut choices);
    assert!(finishes(&text), "{text:?}");
    let text = disguise::behind_launcher(&text, &mut choices);
    assert!(finishes(&text), "{text:?}");
    let mut choices = ByteChoices(data);
    let text = disguise::writing_command(&mut choices);
    assert!(writes(&text), "{text:?}");
    let text = disguise::behind_launcher(&text, &mut choices);
    assert!(writes(&text), "{text:?}");
}

fn writes(text: &str) -> bool {
    let inside = |deed: &SideEffect| match deed {
        SideEffect::Write { path, .. } => path.as_ref().is_none_or(|path| path.starts_with(ROOT)),
        SideEffect::Hidden { .. } => true,
        SideEffect::Touch { .. }
        | SideEffect::Finish { .. }
        | SideEffect::Person { .. }
        | SideEffect::Setup { .. } => false,
    };
    // What cannot be read is denied as well.
    let found = find_side_effects(text, Path::new(ROOT), &Nowhere);
    found.map_or(true, |it| it.iter().any(inside))
}

fn finishes(text: &str) -> bool {
    match find_side_effects(text, Path::new(ROOT), &Nowhere) {
        Ok(deeds) => deeds.iter().any(|deed| match deed {
            SideEffect::Finish { place, .. } => {
                place.as_ref().is_none_or(|it| it.starts_with(ROOT))
            }
            SideEffect::Hidden { .. } => true,
            SideEffect::Write { .. }
            | SideEffect::Touch { .. }
            | SideEffect::Person { .. }
            | SideEffect::Setup { .. } => false,
        }),
        // What cannot be read is denied as well.
        Err(_) => true,
    }
}

/// Any message is read or refused.
pub(crate) fn message(data: &[u8]) {
    if let Ok(message) = HookMessage::parse(data)
        && let ToolCall::Shell { command, .. } = ToolCall::from_message(&message)
    {
        let _ = find_side_effects(&command, Path::new(ROOT), &Nowhere);
    }
}
