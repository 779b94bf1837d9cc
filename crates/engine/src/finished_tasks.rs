//! Finished tasks in the history beside a current task, and the notice about a current task that is
//! already there.

use crate::context::Context;
use crate::error::Error;
use crate::files::{FileNotice, FileView, KnownFile};
use crate::kinds::{DocumentState, FileKind};
use bowline_formats::memory::task_history;
use bowline_machines::plan::HistoryEntry;
use bowline_words::message as words;

/// Returns a notice if the history already has the current task.
pub(crate) fn finished_notice(
    context: &Context,
    file: &KnownFile,
    view: &FileView,
) -> Option<FileNotice> {
    let id = current_id(view)?;
    let beside = file.path.with_file_name(task_history::FILE_NAME);
    let history = KnownFile::new(context, FileKind::TaskHistory, &beside);
    // An unreadable history is reported by its own view.
    if !is_over(&finished_entries(context, &history).ok()?, &id) {
        return None;
    }
    // It may have ended between the two reads, which is normal.
    let still = file.file.load().is_ok_and(|now| now.seq == view.sequence);
    still.then(|| FileNotice::Keeper {
        code: "finished_task_current",
        words: words::Notice::StillCurrent { id: id.clone() },
    })
}

pub(crate) fn current_id(view: &FileView) -> Option<String> {
    view.memory()?.current.as_ref().map(|task| task.id.clone())
}

pub(crate) fn is_over(past: &[HistoryEntry], id: &str) -> bool {
    past.iter().any(|entry| entry.id == id)
}

/// Returns the tasks that are over; empty if there is no readable history.
pub(crate) fn finished_entries(
    context: &Context,
    history: &KnownFile,
) -> Result<Vec<HistoryEntry>, Error> {
    match history.read_view(context) {
        Ok(view) => Ok(match view.examined.state {
            DocumentState::TaskHistory(entries) => entries,
            _ => Vec::new(),
        }),
        Err(Error::NoFile { .. } | Error::Damaged { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
