//! Recovery with the lock held: completes what a crash left unfinished before anything new is done.

use crate::error::{FileOperation, Incident, StateFileError};
use crate::hash::ContentHash;
use crate::journal::{JournalLine, JournalTail, JournalWriter, kind};
use crate::load::{FileSituation, LastReplace, LoadedFile, load_file};
use crate::request::WriteRequest;
use crate::stamp::utc_stamp;
use crate::state_file_guard::{StateFileGuard, WriteOutcome};
use crate::swap::{CommitOrigin, TRIES_MAX, copy_name, remove_if_present};

/// Loads the file, rolls it forward if it is behind, and removes the leftovers of a crash.
pub(crate) fn reload_and_recover(
    held: &mut StateFileGuard,
    request: &WriteRequest,
) -> Result<(), StateFileError> {
    reload_until_stable(held, request).map_err(StateFileError::of_an_earlier_change)
}

fn reload_until_stable(
    held: &mut StateFileGuard,
    request: &WriteRequest,
) -> Result<(), StateFileError> {
    let mut rolled = None;
    for _ in 0..TRIES_MAX {
        let disk = held.disk();
        let loaded = load_file(&held.file, &held.paths)?;
        if loaded.snapshot.journal_damaged {
            if std::mem::take(&mut held.asks_first) {
                adopt_loaded(held, loaded);
                return Ok(());
            }
            set_journal_aside(held, request)?;
            continue;
        }
        let again = resolve_swap_file(held, request, &loaded)?;
        adopt_loaded(held, loaded);
        if again {
            continue;
        }
        if let FileSituation::RolledForward { lines } = held.snapshot.situation {
            rolled = Some(lines);
            if complete_roll_forward(held, request)? == WriteOutcome::Theirs {
                continue;
            }
        }
        remove_if_present(&*disk, &held.paths.fresh)?;
        let copies = held
            .paths
            .archive
            .as_ref()
            .map(|archive| archive.folder.as_path());
        for folder in [Some(held.paths.side.as_path()), copies]
            .into_iter()
            .flatten()
        {
            remove_if_present(&*disk, &copy_name(&held.paths, folder))?;
        }
        resolve_rotation(held)?;
        held.stale = false;
        held.keep_late_write(request)?;
        if let (Some(lines), FileSituation::Clean) = (rolled, &held.snapshot.situation) {
            held.snapshot.situation = FileSituation::RolledForward { lines };
        }
        return Ok(());
    }
    Err(StateFileError::Contended {
        path: held.paths.file.clone(),
        tries: TRIES_MAX,
    })
}

/// Makes the loaded data the state that the writer works with; findings made under the lock are
/// kept.
fn adopt_loaded(held: &mut StateFileGuard, loaded: LoadedFile) {
    let earlier = std::mem::take(&mut held.snapshot.findings);
    held.journal = JournalWriter::new(
        &held.paths,
        loaded.journal_bytes,
        loaded.journal_torn,
        loaded.stat,
    );
    held.on_disk = loaded.on_disk;
    held.stat = loaded.stat;
    held.acknowledged = loaded.acknowledged;
    held.last_before = loaded.last_fix.as_ref().and_then(|fix| fix.before);
    held.loose = loaded.loose;
    held.snapshot = loaded.snapshot;
    for finding in earlier {
        if !held.snapshot.findings.contains(&finding) {
            held.snapshot.findings.push(finding);
        }
    }
}

/// Puts the rolled-forward document in place.
fn complete_roll_forward(
    held: &mut StateFileGuard,
    request: &WriteRequest,
) -> Result<WriteOutcome, StateFileError> {
    let Some(text) = held.snapshot.text()?.map(str::to_owned) else {
        return held.finish_removal(request, held.snapshot.seq, None, CommitOrigin::Earlier);
    };
    let after = Some(ContentHash::of_bytes(text.as_bytes()));
    let mark = JournalLine {
        seq: held.snapshot.seq + 1,
        at: request.at.clone(),
        kind: kind::MARK.to_owned(),
        before: held.on_disk,
        after,
        ..JournalLine::default()
    };
    if held.loose || held.acknowledged != after {
        // The steps end in a version that no line names yet.
        return held.commit_and_replace(request, vec![mark], &text, None, Some(text.clone()));
    }
    // The last line names the version already: no new commit, only the replace.
    let disk = held.disk();
    let waiting = |path: &std::path::Path| -> Result<bool, StateFileError> {
        Ok(held
            .read_back(path)?
            .is_some_and(|bytes| bytes == text.as_bytes()))
    };
    if waiting(&held.paths.swap)? {
        disk.rename(&held.paths.swap, &held.paths.fresh)
            .map_err(|error| StateFileError::io(FileOperation::Rename, &held.paths.swap, error))?;
    } else if !waiting(&held.paths.fresh)? {
        held.write_fresh(&text)?;
    }
    let aside = held.last_aside.clone();
    let line = JournalLine {
        seq: held.snapshot.seq,
        aside,
        ..mark
    };
    held.finish_replace(
        request,
        &line,
        &text,
        Some(text.clone()),
        CommitOrigin::Earlier,
    )
}

/// Handles a file under the swap name. Returns true if the disk changed so that it must be read
/// again.
fn resolve_swap_file(
    held: &mut StateFileGuard,
    request: &WriteRequest,
    loaded: &LoadedFile,
) -> Result<bool, StateFileError> {
    let swap = held.paths.swap.clone();
    held.last_aside = loaded.last_fix.as_ref().and_then(|fix| fix.aside.clone());
    let Some(bytes) = held.read_back(&swap)? else {
        return Ok(false);
    };
    let disk = held.disk();
    let hash = Some(ContentHash::of_bytes(&bytes));
    let rolling = matches!(
        loaded.snapshot.situation,
        FileSituation::RolledForward { .. }
    );
    match &loaded.last_fix {
        // Not exchanged yet. If it is still needed, `complete` uses it.
        Some(fix) if fix.after == hash => {
            if !rolling {
                remove_if_present(&*disk, &swap)?;
            }
            Ok(false)
        }
        // Exchanged, and not yet kept.
        Some(fix) if fix.before == hash => {
            held.keep_replaced(fix.aside.as_deref())?;
            Ok(false)
        }
        // Exchanged for a version that was never read.
        fix => {
            // Ours is in place and the version it replaced was not kept: the write was interrupted
            // right there. Otherwise the write was completed, and this file does not belong to it.
            let in_place = match fix {
                Some(fix) if fix.after == loaded.on_disk => {
                    Some(fix).filter(|_| !is_kept(held, fix))
                }
                Some(_) | None => None,
            };
            held.journal = JournalWriter::new(
                &held.paths,
                loaded.journal_bytes,
                loaded.journal_torn,
                loaded.stat,
            );
            held.snapshot.seq = loaded.snapshot.seq;
            match (
                in_place,
                loaded.snapshot.text(),
                std::str::from_utf8(&bytes),
            ) {
                (Some(fix), Ok(Some(ours)), Ok(_)) => {
                    let (ours, voids) = (ours.to_owned(), fix.seq);
                    held.put_back(request, &ours, bytes, Some(voids))?;
                }
                _ => {
                    held.keep_aside(request, &swap, "left by an interrupted write")?;
                }
            }
            Ok(true)
        }
    }
}

/// True if the version that a replace took out is kept at its place.
fn is_kept(held: &StateFileGuard, fix: &LastReplace) -> bool {
    let kept = match &fix.aside {
        Some(name) => held.paths.side.join(name),
        None => held.paths.backup.clone(),
    };
    let there = held.read_back(&kept).ok().flatten();
    fix.before.is_some() && there.as_deref().map(ContentHash::of_bytes) == fix.before
}

/// Handles an interrupted rotation, which left either the next journal (worthless) or the older
/// one.
fn resolve_rotation(held: &StateFileGuard) -> Result<(), StateFileError> {
    let (disk, paths) = (held.disk(), &held.paths);
    let there = disk
        .stat(&paths.rotating)
        .map_err(|error| StateFileError::io(FileOperation::LookAt, &paths.rotating, error))?;
    if there.is_none() {
        return Ok(());
    }
    let left = JournalTail::open(&*disk, &paths.rotating)?;
    if left.last_seq() > 0 && left.last_seq() < held.snapshot.seq {
        return disk
            .rename(&paths.rotating, &paths.older_journal)
            .map_err(|error| StateFileError::io(FileOperation::Rename, &paths.rotating, error));
    }
    remove_if_present(&*disk, &paths.rotating)
}

fn set_journal_aside(
    held: &mut StateFileGuard,
    request: &WriteRequest,
) -> Result<(), StateFileError> {
    let (disk, journal) = (held.disk(), &held.paths.journal);
    let path = held
        .paths
        .set_aside_name(&*disk, journal, &utc_stamp(request.now_ms))?;
    disk.rename(journal, &path)
        .map_err(|error| StateFileError::io(FileOperation::Rename, journal, error))?;
    held.snapshot
        .findings
        .push(Incident::JournalSetAside { path });
    Ok(())
}
