//! Small JSON files of a run, each replaced atomically.

use crate::context::Context;
use crate::error::Error;
use bowline_statefiles::{DocumentChange, FileLayout, StateFile, UpdateError};
use bowline_words::message::{Advice, Cause, Why};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::path::Path;

pub(super) fn write_json<T: Serialize>(
    context: &Context,
    path: &Path,
    content: &T,
) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(content).map_err(|error| {
        Error::bad_file(
            path,
            Why::CannotBeWritten {
                cause: Cause::Other {
                    text: error.to_string(),
                },
            },
            Advice::SeeContent,
        )
    })?;
    let text = text + "\n";
    let file = StateFile::new(FileLayout::new(path)).with_disk(context.disk.clone());
    let change = |_: &_| Ok::<_, Infallible>(Some(DocumentChange::replace_with(text.clone())));
    match file.update(&context.new_request(), change) {
        Ok(_) => Ok(text),
        Err(UpdateError::File(error)) => Err(Error::File(error)),
        Err(UpdateError::Refused(never)) => match never {},
    }
}

/// Reads a file; `None` if it is missing or has another shape. Returns its content and its text.
pub(super) fn read_json<T: DeserializeOwned>(
    context: &Context,
    path: &Path,
) -> Result<Option<(T, String)>, Error> {
    let file = StateFile::new(FileLayout::new(path)).with_disk(context.disk.clone());
    let snapshot = file.load()?;
    let Some(text) = snapshot.text().ok().flatten() else {
        return Ok(None);
    };
    let content = serde_json::from_str(text).ok();
    Ok(content.map(|content| (content, text.to_owned())))
}
