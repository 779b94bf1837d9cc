//! The settings file that registered this hook. A client runs every hook it knows, so a person's
//! settings, the project's and the plugin may all be called for one event. Each of them judges a
//! tool call: the client may not have read the others. Messages to the agent come from one only:
//! the person's settings before the project's, and the plugin last.

use crate::locate;
use bowline_formats::client_hooks::{self, PERSONAL, PLUGIN, SHARED};
use std::path::Path;

const CLAUDE: &str = "claude";
const CODEX: &str = "codex";

/// The settings that registered a hook, according to its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookRegistration {
    /// A person's own settings, or unknown ones.
    Personal,
    /// Settings of the project, for the client of this name; older settings name none.
    Project(Option<String>),
    /// Bowline's plugin.
    Plugin,
}

impl HookRegistration {
    /// Parses the words after `hook`: the event, if one is named, and the settings.
    pub fn from_words<'w>(
        words: impl Iterator<Item = &'w str>,
    ) -> (Option<&'w str>, HookRegistration) {
        let (mut event, mut registered) = (None, HookRegistration::Personal);
        for word in words {
            match (&mut registered, word) {
                (_, SHARED) => registered = HookRegistration::Project(None),
                (_, PLUGIN) => registered = HookRegistration::Plugin,
                (HookRegistration::Project(client @ None), word) => *client = Some(word.to_owned()),
                (_, word) => event = Some(word),
            }
        }
        (event, registered)
    }

    /// True if settings that come first also register the hook of this client in the folder of a
    /// session.
    pub(super) fn is_shadowed(&self, folder: &Path) -> bool {
        // Of the clients that take the plugin, only `claude` sets this variable.
        let named = super::project_folder();
        let first: &[&str] = match self {
            HookRegistration::Personal => &[],
            HookRegistration::Project(client) if client.as_deref() == Some(CLAUDE) => &[PERSONAL],
            HookRegistration::Project(_) => &[],
            HookRegistration::Plugin if named.is_some() => client_hooks::settings_of(CLAUDE),
            HookRegistration::Plugin => client_hooks::settings_of(CODEX),
        };
        let root = named.or_else(|| locate::git_top(folder));
        let root = root.unwrap_or_else(|| folder.to_owned());
        first.iter().any(|file| {
            let text = std::fs::read_to_string(root.join(file));
            text.is_ok_and(|text| client_hooks::has_gate_hook(&text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_tell_where_a_hook_stands() {
        let read = |line: &'static str| HookRegistration::from_words(line.split_whitespace());
        let project = |name: &str| HookRegistration::Project(Some(name.to_owned()));
        for (line, event, registered) in [
            ("", None, HookRegistration::Personal),
            ("stop", Some("stop"), HookRegistration::Personal),
            ("--shared", None, HookRegistration::Project(None)),
            ("--shared codex", None, project("codex")),
            ("stop --shared claude", Some("stop"), project("claude")),
            ("--plugin stop", Some("stop"), HookRegistration::Plugin),
        ] {
            assert_eq!(read(line), (event, registered), "{line}");
        }
    }
}
