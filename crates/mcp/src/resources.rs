//! State files and the resume card, as resources.

use crate::answer::No;
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
pub(crate) const CARD: &str = "bowline://card";
const FILE: &str = "bowline://state/";

/// Returns the address of a state file: its path relative to the folder, if it is below it.
pub(crate) fn uri(desk: &ToolSession, path: &Path) -> String {
    let shown = path.strip_prefix(&desk.folder).unwrap_or(path);
    let parts = shown.iter().map(|part| match part.to_str() {
        Some("/") => String::new(),
        Some(part) => encode_segment(part),
        None => encode_segment(&part.to_string_lossy()),
    });
    format!("{FILE}{}", parts.collect::<Vec<_>>().join("/"))
}

/// Returns the state files that are visible from the folder.
pub(crate) fn files(desk: &ToolSession) -> Vec<(FileKind, PathBuf)> {
    if !desk.files {
        return Vec::new();
    }
    let mut files = workspace::discover_files(&desk.context, &desk.folder);
    if desk.confined {
        files.retain(|(_, path)| path.starts_with(&desk.folder));
    }
    files.truncate(RESOURCES_MAX - 1);
    files
}

pub(crate) fn list(desk: &ToolSession) -> Vec<Resource> {
    if !desk.files {
        return Vec::new();
    }
    let card = Resource::new(CARD, "resume card").with_mime_type("text/plain");
    let files = files(desk).into_iter().map(|(kind, path)| {
        Resource::new(uri(desk, &path), desk.display_path(&path))
            .with_description(kind.name())
            .with_mime_type("application/json")
    });
    std::iter::once(card).chain(files).collect()
}

/// Reads a listed resource; no other file can be read this way, whatever the address is.
pub(crate) fn read(desk: &ToolSession, wanted: &str) -> Result<ReadResourceResult, No> {
    if wanted == CARD && desk.files {
        let card = advice::resume_card(&desk.folder, desk.lang).unwrap_or_default();
        return Ok(one(ResourceContents::text(card, CARD)));
    }
    let found = files(desk);
    let found = found
        .into_iter()
        .find(|(_, path)| uri(desk, path) == wanted);
    let Some((kind, path)) = found else {
        let uri = wanted.chars().take(200).collect();
        return Err(No::tool(&ToolNo::NoResource { uri }, desk.lang));
    };
    let file = KnownFile::new(&desk.context, kind, &path);
    let view = file.read_view(&desk.context)?;
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
            path: desk.display_path(&path),
            bytes: text.len(),
            max: RESOURCE_BYTES_MAX,
        };
        return Err(No::tool(&no, desk.lang));
    }
    let contents = ResourceContents::text(text, wanted);
    Ok(one(contents.with_mime_type("application/json")))
}

fn one(contents: ResourceContents) -> ReadResourceResult {
    ReadResourceResult::new(vec![contents])
}
