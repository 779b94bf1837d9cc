//! Recovery with the lock held: completes what a crash left unfinished before anything new is done.

use crate::error::{Error, FileOperation, Incident};
use crate::hash::ContentHash;
use crate::held::{Held, Written};
use crate::journal::{Line, Tail, Writer, kind};
use crate::load::{LastFix, Loaded, Situation, load};
use crate::request::Request;
use crate::stamp::utc_stamp;
use crate::swap::{Committed, TRIES_MAX, copy_name, remove};

/// Loads the file, rolls it forward if it is behind, and removes the leftovers of a crash.
pub(crate) fn reload(held: &mut Held, request: &Request) -> Result<(), Error> {
    look_again(held, request).map_err(Error::of_an_earlier_change)
}

fn look_again(held: &mut Held, request: &Request) -> Result<(), Error> {
    let mut rolled = None;
    for _ in 0..TRIES_MAX {
        let disk = held.disk();
        let loaded = load(&held.file, &held.paths)?;
        if loaded.snapshot.journal_damaged {
            if std::mem::take(&mut held.asks_first) {
                take_over(held, loaded);
                return Ok(());
            }
            set_journal_aside(held, request)?;
            continue;
        }
        let again = sort_out_swap(held, request, &loaded)?;
        take_over(held, loaded);
        if again {
            continue;
        }
        if let Situation::RolledForward { lines } = held.snapshot.situation {
            rolled = Some(lines);
            if complete(held, request)? == Written::Theirs {
                continue;
            }
        }
        remove(&*disk, &held.paths.fresh)?;
        let copies = held
            .paths
            .archive
            .as_ref()
            .map(|archive| archive.folder.as_path());
        for folder in [Some(held.paths.side.as_path()), copies]
            .into_iter()
            .flatten()
        {
            remove(&*disk, &copy_name(&held.paths, folder))?;
        }
        sort_out_rotation(held)?;
        held.stale = false;
        held.keep_late_write(request)?;
        if let (Some(lines), Situation::Clean) = (rolled, &held.snapshot.situation) {
            held.snapshot.situation = Situation::RolledForward { lines };
        }
        return Ok(());
    }
    Err(Error::Contended {
        path: held.paths.file.clone(),
        tries: TRIES_MAX,
    })
}

/// Makes the loaded data the state that the writer works with; findings made under the lock are
/// kept.
fn take_over(held: &mut Held, loaded: Loaded) {
    let earlier = std::mem::take(&mut held.snapshot.findings);
    held.journal = Writer::new(
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
fn complete(held: &mut Held, request: &Request) -> Result<Written, Error> {
    let Some(text) = held.snapshot.text()?.map(str::to_owned) else {
        return held.finish_removal(request, held.snapshot.seq, None, Committed::Earlier);
    };
    let after = Some(ContentHash::of(text.as_bytes()));
    let mark = Line {
        seq: held.snapshot.seq + 1,
        at: request.at.clone(),
        kind: kind::MARK.to_owned(),
        before: held.on_disk,
        after,
        ..Line::default()
    };
    if held.loose || held.acknowledged != after {
        // The steps end in a version that no line names yet.
        return held.put(request, vec![mark], &text, None, Some(text.clone()));
    }
    // The last line names the version already: no new commit, only the replace.
    let disk = held.disk();
    let waiting = |path: &std::path::Path| -> Result<bool, Error> {
        Ok(held
            .read_back(path)?
            .is_some_and(|bytes| bytes == text.as_bytes()))
    };
    if waiting(&held.paths.swap)? {
        disk.rename(&held.paths.swap, &held.paths.fresh)
            .map_err(|error| Error::io(FileOperation::Rename, &held.paths.swap, error))?;
    } else if !waiting(&held.paths.fresh)? {
        held.write_fresh(&text)?;
    }
    let aside = held.last_aside.clone();
    let line = Line {
        seq: held.snapshot.seq,
        aside,
        ..mark
    };
    held.finish(
        request,
        &line,
        &text,
        Some(text.clone()),
        Committed::Earlier,
    )
}

/// Handles a file under the swap name. Returns true if the disk changed so that it must be read
/// again.
fn sort_out_swap(held: &mut Held, request: &Request, loaded: &Loaded) -> Result<bool, Error> {
    let swap = held.paths.swap.clone();
    held.last_aside = loaded.last_fix.as_ref().and_then(|fix| fix.aside.clone());
    let Some(bytes) = held.read_back(&swap)? else {
        return Ok(false);
    };
    let disk = held.disk();
    let hash = Some(ContentHash::of(&bytes));
    let rolling = matches!(loaded.snapshot.situation, Situation::RolledForward { .. });
    match &loaded.last_fix {
        // Not exchanged yet. If it is still needed, `complete` uses it.
        Some(fix) if fix.after == hash => {
            if !rolling {
                remove(&*disk, &swap)?;
            }
            Ok(false)
        }
        // Exchanged, and not yet kept.
        Some(fix) if fix.before == hash => {
            held.retire(fix.aside.as_deref())?;
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
            held.journal = Writer::new(
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
fn is_kept(held: &Held, fix: &LastFix) -> bool {
    let kept = match &fix.aside {
        Some(name) => held.paths.side.join(name),
        None => held.paths.backup.clone(),
    };
    let there = held.read_back(&kept).ok().flatten();
    fix.before.is_some() && there.as_deref().map(ContentHash::of) == fix.before
}

/// Handles an interrupted rotation, which left either the next journal (worthless) or the older
/// one.
fn sort_out_rotation(held: &Held) -> Result<(), Error> {
    let (disk, paths) = (held.disk(), &held.paths);
    let there = disk
        .stat(&paths.rotating)
        .map_err(|error| Error::io(FileOperation::LookAt, &paths.rotating, error))?;
    if there.is_none() {
        return Ok(());
    }
    let left = Tail::open(&*disk, &paths.rotating)?;
    if left.last_seq() > 0 && left.last_seq() < held.snapshot.seq {
        return disk
            .rename(&paths.rotating, &paths.older_journal)
            .map_err(|error| Error::io(FileOperation::Rename, &paths.rotating, error));
    }
    remove(&*disk, &paths.rotating)
}

fn set_journal_aside(held: &mut Held, request: &Request) -> Result<(), Error> {
    let (disk, journal) = (held.disk(), &held.paths.journal);
    let path = held
        .paths
        .set_aside_name(&*disk, journal, &utc_stamp(request.now_ms))?;
    disk.rename(journal, &path)
        .map_err(|error| Error::io(FileOperation::Rename, journal, error))?;
    held.snapshot
        .findings
        .push(Incident::JournalSetAside { path });
    Ok(())
}
