//! The history beside a current task: what is over, and what a reader of the task is told of it.

use crate::context::Context;
use crate::error::Error;
use crate::files::{KnownFile, Notice, View};
use crate::kinds::{FileKind, State};
use bowline_formats::memory::task_history;
use bowline_machines::plan::HistoryEntry;
use bowline_words::message as words;

/// What a reader of the current task is told when the history already has it.
pub(crate) fn finished_notice(context: &Context, file: &KnownFile, view: &View) -> Option<Notice> {
    let id = current_id(view)?;
    let beside = file.path.with_file_name(task_history::FILE_NAME);
    let history = KnownFile::new(context, FileKind::TaskHistory, &beside);
    // A history that cannot be read says nothing here; whoever looks at it is told.
    if !is_over(&entries(context, &history).ok()?, &id) {
        return None;
    }
    // It may have ended between the two looks, which is as it should be.
    let still = file.file.load().is_ok_and(|now| now.seq == view.sequence);
    still.then(|| Notice::Keeper {
        code: "finished_task_current",
        words: words::Notice::StillCurrent { id: id.clone() },
    })
}

pub(crate) fn current_id(view: &View) -> Option<String> {
    view.memory()?.current.as_ref().map(|task| task.id.clone())
}

pub(crate) fn is_over(past: &[HistoryEntry], id: &str) -> bool {
    past.iter().any(|entry| entry.id == id)
}

/// The tasks that are over; none where there is no history yet.
pub(crate) fn entries(context: &Context, history: &KnownFile) -> Result<Vec<HistoryEntry>, Error> {
    match history.view(context) {
        Ok(view) => Ok(match view.examined.state {
            State::TaskHistory(entries) => entries,
            _ => Vec::new(),
        }),
        Err(Error::NoFile { .. } | Error::Damaged { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
