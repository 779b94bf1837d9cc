//! Lists all thinking runs below a folder.

use crate::context::Context;
use crate::error::Error;
use crate::files::{FileView, KnownFile};
use crate::kinds::FileKind;
use crate::workspace;
use bowline_formats::thinking::ThinkingSheet;
use bowline_machines::thinking::StageStatus;
use std::path::{Path, PathBuf};

/// Depth of the search: deeper than any tidy collection of tasks.
const DEPTH_MAX: usize = 8;

/// All runs below a folder.
#[derive(Debug)]
pub struct ThinkingBoard {
    /// Runs, those that need a person first; then those that could not be read.
    pub rows: Vec<BoardRow>,
    /// True if every folder was searched.
    pub complete: bool,
}

/// One run of a [`ThinkingBoard`].
#[derive(Debug)]
pub struct BoardRow {
    pub path: PathBuf,
    /// State of the run, or the error of reading it.
    pub standing: Result<RunProgress, Error>,
}

/// State of one run.
#[derive(Debug, Clone)]
pub struct RunProgress {
    /// View it was read from.
    pub view: FileView,
    pub sheet: ThinkingSheet,
    /// Failed tries of all stages.
    pub retries: u32,
    /// Seconds since its last change; `None` if the file does not say.
    pub age_seconds: Option<i64>,
}

/// Reads every thinking run in a folder and below it. Changes nothing.
pub fn read_board(context: &Context, folder: &Path) -> ThinkingBoard {
    let found = workspace::find_below(folder, &[FileKind::Thinking], DEPTH_MAX);
    let look = |(kind, path): (FileKind, PathBuf)| {
        let view = KnownFile::new(context, kind, &path).read_view(context);
        BoardRow {
            standing: view.and_then(|view| progress_of(context, view)),
            path,
        }
    };
    let mut rows: Vec<BoardRow> = found.files.into_iter().map(look).collect();
    rows.sort_by_key(|row| row.standing.as_ref().map_or(u8::MAX, urgency_rank));
    ThinkingBoard {
        rows,
        complete: found.complete,
    }
}

fn progress_of(context: &Context, view: FileView) -> Result<RunProgress, Error> {
    let sheet = view.sheet().cloned().ok_or_else(|| Error::UnknownKind {
        path: view.path.clone(),
    })?;
    let stages = sheet.run.stages.iter();
    let changed = sheet.updated_at;
    Ok(RunProgress {
        retries: stages.map(|stage| stage.retry_count).sum(),
        age_seconds: changed.map(|changed| context.now().seconds_since(changed)),
        sheet,
        view,
    })
}

/// Returns the sort key of a run: failed ones first, completed ones last.
fn urgency_rank(standing: &RunProgress) -> u8 {
    match standing.sheet.run.overall_status() {
        StageStatus::Failed => 0,
        StageStatus::InProgress => 1,
        StageStatus::Pending => 2,
        StageStatus::Completed => 3,
    }
}
