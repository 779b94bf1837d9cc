//! All thinking runs below a folder at a glance.

use crate::context::Context;
use crate::error::Error;
use crate::files::{KnownFile, View};
use crate::kinds::FileKind;
use crate::workspace;
use bowline_formats::StateFormat as _;
use bowline_formats::thinking::ThinkingFile;
use bowline_formats::time;
use bowline_machines::thinking::{Run, Stage, Status};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folders below the start that are looked into: deeper than any tidy collection of tasks.
const DEPTH_MAX: usize = 8;

/// All runs below a folder.
#[derive(Debug)]
pub struct Board {
    /// The runs, those that need somebody first; then those that could not be read.
    pub rows: Vec<Row>,
    /// Whether every folder was looked into.
    pub complete: bool,
}

/// One run of a [`Board`].
#[derive(Debug)]
pub struct Row {
    /// Its state file.
    pub path: PathBuf,
    /// What is known of it, or why nothing is.
    pub standing: Result<Standing, Error>,
}

/// Where one run stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The look it was read from.
    pub view: View,
    /// Id of the task.
    pub task_id: String,
    /// Title for people.
    pub title: String,
    /// Where the whole run stands.
    pub status: Status,
    /// Completed stages in percent.
    pub progress: u32,
    /// The stage started last.
    pub current: Stage,
    /// Each stage with its status, in the order of work.
    pub stages: [(Stage, Status); 4],
    /// The weighted score, once every value has one.
    pub score: Option<f64>,
    /// Failed tries of all stages.
    pub retries: u32,
    /// Seconds since it last changed; `None` where the file does not say when.
    pub age_seconds: Option<i64>,
}

/// Looks at every thinking run in a folder and below it. Changes nothing.
pub fn board(context: &Context, folder: &Path) -> Board {
    let found = workspace::below(folder, &[FileKind::Thinking], DEPTH_MAX);
    let look = |(kind, path): (FileKind, PathBuf)| {
        let view = KnownFile::new(context, kind, &path).view(context);
        Row {
            standing: view.and_then(|view| standing(context, view)),
            path,
        }
    };
    let mut rows: Vec<Row> = found.files.into_iter().map(look).collect();
    rows.sort_by_key(|row| row.standing.as_ref().map_or(u8::MAX, urgency));
    Board {
        rows,
        complete: found.complete,
    }
}

fn standing(context: &Context, view: View) -> Result<Standing, Error> {
    let read = ThinkingFile::read(&view.document).map_err(|findings| Error::Damaged {
        path: view.path.clone(),
        findings,
    })?;
    let run: Run = read.state;
    let text = |key: &str| {
        let text = view.document.value().get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let changed = time::parse(&text("updated_at"));
    Ok(Standing {
        task_id: text("task_id"),
        title: text("title"),
        status: run.overall(),
        progress: run.progress_percentage(),
        current: run.current,
        stages: Stage::ALL.map(|stage| (stage, run.stage(stage).status)),
        score: run.evaluation.weighted,
        retries: run.stages.iter().map(|stage| stage.retry_count).sum(),
        age_seconds: changed.map(|changed| context.now().seconds_since(changed)),
        view,
    })
}

/// What needs a person comes first, what is over last.
fn urgency(standing: &Standing) -> u8 {
    match standing.status {
        Status::Failed => 0,
        Status::InProgress => 1,
        Status::Pending => 2,
        Status::Completed => 3,
    }
}
