//! Entry by which a client starts our tools, in the client's file for such entries.

use super::{Client, Edit, document_in, read};
use crate::error::Error;
use bowline_formats::client_tools::{self, Entry};
use bowline_formats::json::JsonDocument;
use serde_json::json;
use std::path::{Path, PathBuf};

impl Client {
    /// Returns the file that names the tool servers of a project, below its root.
    pub const fn tools(self) -> &'static str {
        match self {
            Client::Claude => ".mcp.json",
            Client::Codex => ".codex/config.toml",
            Client::Gemini => ".gemini/settings.json",
            Client::Opencode => "opencode.json",
        }
    }
}

/// Plans to add or remove our entry, on top of the changes planned for those files. Returns the
/// files in which this is not possible, since another entry has our name.
pub(super) fn plan(
    root: &Path,
    clients: &[Client],
    put_in: bool,
    edits: &mut Vec<Edit>,
) -> Result<Vec<PathBuf>, Error> {
    let mut kept = Vec::new();
    for client in clients {
        kept.extend(edit(root, *client, put_in, edits)?);
    }
    Ok(kept)
}

fn edit(
    root: &Path,
    client: Client,
    put_in: bool,
    edits: &mut Vec<Edit>,
) -> Result<Option<PathBuf>, Error> {
    let path = root.join(client.tools());
    let planned = edits.iter().position(|edit| edit.path == path);
    let edit = match planned {
        Some(planned) => edits.remove(planned),
        None => {
            let before = read(&path)?;
            Edit {
                path,
                after: before.clone(),
                before,
                executable: None,
            }
        }
    };
    let (after, done) = match client {
        Client::Codex => codex(&edit, put_in),
        Client::Claude => settings(&edit, Entry::Servers, put_in)?,
        Client::Gemini => settings(&edit, Entry::Gemini, put_in)?,
        Client::Opencode => opencode(&edit, put_in)?,
    };
    let kept = (!done).then(|| edit.path.clone());
    edits.push(Edit { after, ..edit });
    Ok(kept)
}

/// Planned content of the file, and true if no other entry has our name.
type Planned = (Option<Vec<u8>>, bool);

fn codex(edit: &Edit, put_in: bool) -> Planned {
    let text = str::from_utf8(edit.after.as_deref().unwrap_or_default());
    let after = text.ok().and_then(|text| match put_in {
        true => client_tools::codex_installed(text),
        false => client_tools::codex_removed(text),
    });
    let Some(after) = after else {
        return (edit.after.clone(), false);
    };
    let ours_alone = !put_in && after.is_empty();
    ((!ours_alone).then(|| after.into_bytes()), true)
}

/// Leaves settings with comments alone, which we could not preserve, and those of a project with
/// another file of that name.
fn opencode(edit: &Edit, put_in: bool) -> Result<Planned, Error> {
    let other = edit.path.with_extension("jsonc");
    let strict = edit
        .after
        .as_deref()
        .is_none_or(|text| JsonDocument::parse(text).is_ok());
    match strict && !other.exists() {
        true => settings(edit, Entry::Opencode, put_in),
        false => Ok((edit.after.clone(), true)),
    }
}

fn settings(edit: &Edit, entry: Entry, put_in: bool) -> Result<Planned, Error> {
    let document = match &edit.after {
        None if !put_in => return Ok((None, true)),
        None => JsonDocument::new(json!({})),
        Some(bytes) => document_in(&edit.path, bytes)?,
    };
    let value = match put_in {
        true => client_tools::installed(document.value(), entry),
        false => client_tools::removed(document.value(), entry),
    };
    let ours_alone =
        !put_in && client_tools::is_empty(&value) && !client_tools::is_empty(document.value());
    let after = (!ours_alone).then(|| document.reconcile(&value).text().as_bytes().to_vec());
    Ok((after, !client_tools::is_theirs(&value, entry)))
}
