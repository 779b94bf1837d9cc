//! Entry by which a client starts our tools, in the client's file for such entries.

use super::{AgentClient, FileEdit, document_in, read_optional};
use crate::error::Error;
use bowline_formats::client_tools::{self, EntryLayout};
use bowline_formats::json::JsonDocument;
use serde_json::json;
use std::path::{Path, PathBuf};

impl AgentClient {
    /// Returns the file that names the tool servers of a project, below its root.
    pub const fn tools_path(self) -> &'static str {
        match self {
            AgentClient::Claude => ".mcp.json",
            AgentClient::Codex => ".codex/config.toml",
            AgentClient::Gemini => ".gemini/settings.json",
            AgentClient::Opencode => "opencode.json",
        }
    }
}

/// Plans to add or remove our entry, on top of the changes planned for those files. Returns the
/// files in which this is not possible, since another entry has our name.
pub(super) fn plan_tool_entries(
    root: &Path,
    clients: &[AgentClient],
    put_in: bool,
    edits: &mut Vec<FileEdit>,
) -> Result<Vec<PathBuf>, Error> {
    let mut kept = Vec::new();
    for client in clients {
        kept.extend(plan_tool_entry(root, *client, put_in, edits)?);
    }
    Ok(kept)
}

fn plan_tool_entry(
    root: &Path,
    client: AgentClient,
    put_in: bool,
    edits: &mut Vec<FileEdit>,
) -> Result<Option<PathBuf>, Error> {
    let path = root.join(client.tools_path());
    let planned = edits.iter().position(|edit| edit.path == path);
    let edit = match planned {
        Some(planned) => edits.remove(planned),
        None => {
            let before = read_optional(&path)?;
            FileEdit {
                path,
                after: before.clone(),
                before,
                executable: None,
            }
        }
    };
    let (after, done) = match client {
        AgentClient::Codex => plan_codex(&edit, put_in),
        AgentClient::Claude => plan_json(&edit, EntryLayout::Servers, put_in)?,
        AgentClient::Gemini => plan_json(&edit, EntryLayout::Gemini, put_in)?,
        AgentClient::Opencode => plan_opencode(&edit, put_in)?,
    };
    let kept = (!done).then(|| edit.path.clone());
    edits.push(FileEdit { after, ..edit });
    Ok(kept)
}

/// Planned content of the file, and true if no other entry has our name.
type PlannedContent = (Option<Vec<u8>>, bool);

fn plan_codex(edit: &FileEdit, put_in: bool) -> PlannedContent {
    let text = str::from_utf8(edit.after.as_deref().unwrap_or_default());
    let after = text.ok().and_then(|text| match put_in {
        true => client_tools::add_codex_entry(text),
        false => client_tools::remove_codex_entry(text),
    });
    let Some(after) = after else {
        return (edit.after.clone(), false);
    };
    let ours_alone = !put_in && after.is_empty();
    ((!ours_alone).then(|| after.into_bytes()), true)
}

/// Leaves settings with comments alone, which we could not preserve, and those of a project with
/// another file of that name.
fn plan_opencode(edit: &FileEdit, put_in: bool) -> Result<PlannedContent, Error> {
    let other = edit.path.with_extension("jsonc");
    let strict = edit
        .after
        .as_deref()
        .is_none_or(|text| JsonDocument::parse(text).is_ok());
    match strict && !other.exists() {
        true => plan_json(edit, EntryLayout::Opencode, put_in),
        false => Ok((edit.after.clone(), true)),
    }
}

fn plan_json(edit: &FileEdit, entry: EntryLayout, put_in: bool) -> Result<PlannedContent, Error> {
    let document = match &edit.after {
        None if !put_in => return Ok((None, true)),
        None => JsonDocument::new(json!({})),
        Some(bytes) => document_in(&edit.path, bytes)?,
    };
    let value = match put_in {
        true => client_tools::add_entry(document.value(), entry),
        false => client_tools::remove_entry(document.value(), entry),
    };
    let ours_alone =
        !put_in && client_tools::is_empty(&value) && !client_tools::is_empty(document.value());
    let after = (!ours_alone).then(|| document.reconcile(&value).text().as_bytes().to_vec());
    Ok((after, !client_tools::is_theirs(&value, entry)))
}
