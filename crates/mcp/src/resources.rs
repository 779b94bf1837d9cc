//! State files and the resume card, as resources.

use crate::answer::ToolError;
use crate::session::ToolSession;
use bowline_engine::files::KnownFile;
use bowline_engine::kinds::FileKind;
use bowline_engine::{advice, workspace};
use bowline_formats::rest::routes::encode_segment;
use bowline_words::message::ToolNo;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents};
use std::path::{Path, PathBuf};

/// Most resources of one list, and of one subscription.
pub(crate) const RESOURCES_MAX: usize = 200;
/// The largest resource.
const RESOURCE_BYTES_MAX: usize = 1 << 20;

/// Address of the resume card, which shows an agent without any context the state of the work.
pub(crate) const CARD_URI: &str = "bowline://card";
const FILE_URI_PREFIX: &str = "bowline://state/";

/// Returns the address of a state file: its path relative to the folder, if it is below it.
pub(crate) fn resource_uri(session: &ToolSession, path: &Path) -> String {
    let shown = path.strip_prefix(&session.folder).unwrap_or(path);
    let parts = shown.iter().map(|part| match part.to_str() {
        Some("/") => String::new(),
        Some(part) => encode_segment(part),
        None => encode_segment(&part.to_string_lossy()),
    });
    format!("{FILE_URI_PREFIX}{}", parts.collect::<Vec<_>>().join("/"))
}

/// Returns the state files that are visible from the folder.
pub(crate) fn visible_files(session: &ToolSession) -> Vec<(FileKind, PathBuf)> {
    if !session.files {
        return Vec::new();
    }
    let mut files = workspace::discover_files(&session.context, &session.folder);
    if session.confined {
        files.retain(|(_, path)| path.starts_with(&session.folder));
    }
    files.truncate(RESOURCES_MAX - 1);
    files
}

pub(crate) fn list_resources(session: &ToolSession) -> Vec<Resource> {
    if !session.files {
        return Vec::new();
    }
    let card = Resource::new(CARD_URI, "resume card").with_mime_type("text/plain");
    let files = visible_files(session).into_iter().map(|(kind, path)| {
        Resource::new(resource_uri(session, &path), session.display_path(&path))
            .with_description(kind.name())
            .with_mime_type("application/json")
    });
    std::iter::once(card).chain(files).collect()
}

/// Reads a listed resource; no other file can be read this way, whatever the address is.
pub(crate) fn read_resource(
    session: &ToolSession,
    wanted: &str,
) -> Result<ReadResourceResult, ToolError> {
    if wanted == CARD_URI && session.files {
        let card = advice::resume_card(&session.folder, session.lang).unwrap_or_default();
        return Ok(single_content(ResourceContents::text(card, CARD_URI)));
    }
    let found = visible_files(session);
    let found = found
        .into_iter()
        .find(|(_, path)| resource_uri(session, path) == wanted);
    let Some((kind, path)) = found else {
        let uri = wanted.chars().take(200).collect();
        return Err(ToolError::from_tool_fault(
            &ToolNo::NoResource { uri },
            session.lang,
        ));
    };
    let file = KnownFile::new(&session.context, kind, &path);
    let view = file.read_view(&session.context)?;
    let text = match kind {
        FileKind::Orchestrate => view.masked_document().to_string(),
        FileKind::Thinking
        | FileKind::TaskState
        | FileKind::TaskHistory
        | FileKind::SharedContext
        | FileKind::AgentMemory
        | FileKind::Develop => view.document.text().to_owned(),
    };
    if text.len() > RESOURCE_BYTES_MAX {
        let no = ToolNo::TooBig {
            path: session.display_path(&path),
            bytes: text.len(),
            max: RESOURCE_BYTES_MAX,
        };
        return Err(ToolError::from_tool_fault(&no, session.lang));
    }
    let contents = ResourceContents::text(text, wanted);
    Ok(single_content(contents.with_mime_type("application/json")))
}

fn single_content(contents: ResourceContents) -> ReadResourceResult {
    ReadResourceResult::new(vec![contents])
}
