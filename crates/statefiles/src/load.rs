//! Reads a state file together with its journal, and compares the two.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, EntryKind, FileStat};
use crate::error::{FileOperation, Incident, IrregularEntry, StateFileError};
use crate::hash::ContentHash;
use crate::history::JournalHistory;
use crate::journal::{JournalLine, JournalTail, kind};
use crate::layout::FilePaths;
use crate::roll_forward::{RollError, StepReplay, roll_forward};
use crate::state_file::StateFile;

/// Larger documents are refused.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Reads of a reader while file and journal disagree and keep changing.
const READS_MAX: usize = 50;

/// The relation of a state file to its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSituation {
    /// There is no file, and none is expected.
    Absent,
    /// There is a file, but no journal of its past.
    Unmanaged,
    /// The file is the version last written.
    Clean,
    /// A committed change was not yet in the file; the snapshot has it.
    RolledForward {
        /// The number of journal lines that were missing in the file.
        lines: usize,
    },
    /// Another program changed the file since.
    Outside {
        /// The version we last acknowledged, if it can be rebuilt.
        ours: Option<String>,
    },
    /// Another program removed the file.
    Missing {
        /// The version we last acknowledged, if it can be rebuilt.
        ours: Option<String>,
    },
}

/// One consistent read of a state file and its journal.
#[derive(Debug, Clone)]
pub struct FileSnapshot {
    /// The path of the file, links resolved.
    pub path: PathBuf,
    /// The document, committed changes included; `None` if there is none.
    pub bytes: Option<Vec<u8>>,
    /// The relation of the file to its journal.
    pub situation: FileSituation,
    /// True if the journal does not know this document yet; the next change first records it, under
    /// the next number.
    pub unnoted: bool,
    /// Number of the last journal line; 0 without a journal.
    pub seq: u64,
    /// The last write of the file, in Unix milliseconds.
    pub modified_ms: Option<i64>,
    /// The kind of the last line that says which document is in place: [`crate::kind::OUTSIDE`] if
    /// another program's was recorded and nothing was written since.
    pub last_kind: Option<String>,
    /// True if there is a journal without a single readable line.
    pub journal_damaged: bool,
    /// Further findings of this read.
    pub findings: Vec<Incident>,
    /// All lines of the journals up to this read; only for a file [with its
    /// history](crate::StateFile::with_history).
    pub history: Option<Arc<JournalHistory>>,
}

impl FileSnapshot {
    /// Returns the version at the end of the journal, if known.
    #[must_use]
    pub fn acknowledged_text(&self) -> Option<&str> {
        match &self.situation {
            FileSituation::Outside { ours } | FileSituation::Missing { ours } if self.unnoted => {
                ours.as_deref()
            }
            _ => self.text().ok().flatten(),
        }
    }

    /// Returns the document as text; `None` if there is none.
    pub fn text(&self) -> Result<Option<&str>, StateFileError> {
        let Some(bytes) = &self.bytes else {
            return Ok(None);
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(StateFileError::NotUtf8 {
                path: self.path.clone(),
                valid_bytes: error.valid_up_to(),
            }),
        }
    }
}

/// The last journal line that was followed by a replace.
#[derive(Debug, Clone)]
pub(crate) struct LastReplace {
    pub(crate) seq: u64,
    pub(crate) before: Option<ContentHash>,
    pub(crate) after: Option<ContentHash>,
    pub(crate) aside: Option<String>,
}

/// A snapshot, with the further data that a writer needs.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    pub(crate) snapshot: FileSnapshot,
    /// Hash of the content under the file's name.
    pub(crate) on_disk: Option<ContentHash>,
    pub(crate) stat: Option<FileStat>,
    pub(crate) last_fix: Option<LastReplace>,
    /// Hash of the version at the end of the journal, if known.
    pub(crate) acknowledged: Option<ContentHash>,
    /// True if there are batch steps that no mark covers yet.
    pub(crate) loose: bool,
    pub(crate) journal_bytes: u64,
    pub(crate) journal_torn: bool,
}

/// The position of a version in the journal.
enum JournalPosition {
    /// The journal says nothing about any document.
    Nowhere,
    /// The version at the end of the journal.
    Current,
    /// The version before the last `missing` lines.
    Behind { missing: usize },
    /// A version that no crash could have left in the file.
    Elsewhere,
}

/// Reads a regular file whole; `None` if there is none.
pub(crate) fn read_file(
    disk: &dyn Disk,
    path: &Path,
) -> Result<Option<(Vec<u8>, FileStat)>, StateFileError> {
    let (file, stat) = match disk.open_read(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StateFileError::io(FileOperation::Open, path, error)),
    };
    let path = path.to_path_buf();
    match stat.kind {
        EntryKind::Regular => {}
        EntryKind::Folder => {
            return Err(StateFileError::NotRegular {
                path,
                what: IrregularEntry::Folder,
            });
        }
        EntryKind::Link | EntryKind::Special => {
            return Err(StateFileError::NotRegular {
                path,
                what: IrregularEntry::PipeOrDevice,
            });
        }
    }
    let bytes_max = FILE_BYTES_MAX;
    if stat.bytes > bytes_max {
        return Err(StateFileError::TooBig {
            path,
            bytes: stat.bytes,
            bytes_max,
        });
    }
    let bytes = disk
        .read(&file, bytes_max + 1)
        .map_err(|error| StateFileError::io(FileOperation::Read, &path, error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(StateFileError::TooBig {
            path,
            bytes: bytes.len() as u64,
            bytes_max,
        });
    }
    Ok(Some((bytes, stat)))
}

/// Reads without a lock: reads again while a writer may be between its commit and its replace.
pub(crate) fn load_file(file: &StateFile, paths: &FilePaths) -> Result<LoadedFile, StateFileError> {
    let mut reads = 0;
    loop {
        let loaded = load_once(file, paths)?;
        reads += 1;
        let doubtful = matches!(
            loaded.0.snapshot.situation,
            FileSituation::Outside { .. }
                | FileSituation::Missing { .. }
                | FileSituation::Unmanaged
        );
        if !doubtful || reads >= READS_MAX || is_unchanged(&*file.disk, paths, &loaded)? {
            return Ok(loaded.0);
        }
    }
}

/// True if file and journal are still the ones that were read. Compares metadata only.
fn is_unchanged(
    disk: &dyn Disk,
    paths: &FilePaths,
    loaded: &(LoadedFile, Option<FileStat>),
) -> Result<bool, StateFileError> {
    let look = |path: &Path| {
        disk.stat(path)
            .map_err(|error| StateFileError::io(FileOperation::LookAt, path, error))
    };
    let same = |now: Option<FileStat>, then: Option<&FileStat>| match (now, then) {
        (Some(now), Some(then)) => {
            (now.identity, now.bytes, now.changed_ns)
                == (then.identity, then.bytes, then.changed_ns)
        }
        (now, then) => now.is_none() && then.is_none(),
    };
    Ok(same(look(&paths.file)?, loaded.0.stat.as_ref())
        && same(look(&paths.journal)?, loaded.1.as_ref()))
}

/// Reads once. The file is read before the journal: a writer commits before it replaces, so the
/// journal is at least as new as the file, and a file that is behind is the normal result of a
/// race.
fn load_once(
    file: &StateFile,
    paths: &FilePaths,
) -> Result<(LoadedFile, Option<FileStat>), StateFileError> {
    let (disk, replay) = (&*file.disk, file.replay.as_deref());
    let (bytes, stat) = read_file(disk, &paths.file)?.unzip();
    let on_disk = bytes.as_deref().map(ContentHash::of_bytes);
    let mut tail = JournalTail::open(disk, &paths.journal)?;
    let journal_stat = tail.stat().copied();
    let mut findings = Vec::new();

    let place = find_position(disk, &mut tail, on_disk, paths)?;
    let last_fix = find_last_replace(disk, &mut tail)?;
    let loose = tail
        .read_so_far()
        .iter()
        .find(|line| line.changes_document())
        .is_some_and(|line| line.logical.is_some());
    let (bytes, situation) = match place {
        JournalPosition::Nowhere if bytes.is_some() => (bytes, FileSituation::Unmanaged),
        JournalPosition::Nowhere => (None, FileSituation::Absent),
        JournalPosition::Current if bytes.is_some() => (bytes, FileSituation::Clean),
        JournalPosition::Current => (None, FileSituation::Absent),
        JournalPosition::Behind { missing } if ends_in_removal(&tail) => {
            (None, FileSituation::RolledForward { lines: missing })
        }
        JournalPosition::Behind { missing } => {
            match roll_missing_lines(
                disk,
                paths,
                &tail,
                bytes.as_deref(),
                missing,
                replay,
                &mut findings,
            )? {
                Some(rolled) => (
                    Some(rolled.into_bytes()),
                    FileSituation::RolledForward { lines: missing },
                ),
                None => (bytes, FileSituation::Outside { ours: None }),
            }
        }
        JournalPosition::Elsewhere => {
            let ours = rebuild_acknowledged(disk, paths, &mut tail, replay, &mut findings)?;
            match bytes {
                Some(bytes) => (Some(bytes), FileSituation::Outside { ours }),
                None => (None, FileSituation::Missing { ours }),
            }
        }
    };
    let acknowledged = match &situation {
        FileSituation::Outside { ours: Some(ours) }
        | FileSituation::Missing { ours: Some(ours) } => {
            Some(ContentHash::of_bytes(ours.as_bytes()))
        }
        _ if loose => None,
        _ => last_fix.as_ref().and_then(|fix| fix.after),
    };
    findings.extend(tail.findings().iter().cloned());
    let journal_bytes = tail.good_bytes();
    let (seq, journal_damaged) = (tail.last_seq(), tail.is_damaged());
    let last = tail
        .read_so_far()
        .iter()
        .find(|line| line.changes_document());
    let last_kind = last.map(|line| line.kind.clone());
    let history = match file.with_history {
        true => Some(
            JournalHistory::join_older_journal(
                file,
                paths,
                tail.last_lines(disk, usize::MAX)?,
                usize::MAX,
            )?
            .into(),
        ),
        false => None,
    };
    let loaded = LoadedFile {
        snapshot: FileSnapshot {
            path: paths.file.clone(),
            bytes,
            unnoted: !matches!(
                situation,
                FileSituation::Clean | FileSituation::Absent | FileSituation::RolledForward { .. }
            ),
            situation,
            seq,
            modified_ms: stat.map(|stat| stat.modified_ms),
            last_kind,
            journal_damaged,
            findings,
            history,
        },
        on_disk,
        stat,
        last_fix,
        acknowledged,
        loose,
        journal_bytes,
        journal_torn: journal_stat.is_some_and(|stat| stat.bytes > journal_bytes),
    };
    Ok((loaded, journal_stat))
}

fn find_last_replace(
    disk: &dyn Disk,
    tail: &mut JournalTail,
) -> Result<Option<LastReplace>, StateFileError> {
    let mut back = 0;
    while let Some(line) = tail.line_from_end(disk, back)? {
        if line.precedes_replace() {
            let (seq, before, after, aside) =
                (line.seq, line.before, line.after, line.aside.clone());
            return Ok(Some(LastReplace {
                seq,
                before,
                after,
                aside,
            }));
        }
        back += 1;
    }
    Ok(None)
}

/// Finds the position of the version with this hash. Only positions where a crash can leave the
/// file count: an older version that another program put back is a change from outside.
fn find_position(
    disk: &dyn Disk,
    tail: &mut JournalTail,
    hash: Option<ContentHash>,
    paths: &FilePaths,
) -> Result<JournalPosition, StateFileError> {
    let mut loose = false;
    let mut before_mark = false;
    let mut back = 0;
    while let Some(line) = tail.line_from_end(disk, back)? {
        if !line.precedes_replace() {
            loose |= line.logical.is_some();
            back += 1;
            continue;
        }
        let leaves = if line.gone { None } else { line.after };
        let reached = leaves == hash && (hash.is_some() || line.gone);
        if reached {
            let current = !loose && !before_mark;
            return Ok(if current {
                JournalPosition::Current
            } else {
                JournalPosition::Behind { missing: back }
            });
        }
        if before_mark {
            return Ok(JournalPosition::Elsewhere);
        }
        // An interrupted write leaves the next version under another name; it is flushed before the
        // commit. Without that file, another program put the older version back or removed the new
        // file, and its change must stand.
        let crashed = line.before == hash
            && (line.gone || leaves.is_some() && leftover_version(disk, paths, leaves)?.is_some());
        let (is_mark, gone) = (line.is_mark(), line.gone);
        // Other programs remove files without a record; only our own removal is recorded and can
        // then be interrupted.
        let announced = gone && line.kind != kind::OUTSIDE;
        match crashed {
            // A removal that was completed left the backup: another program put the file back after
            // it.
            true if announced && !backed_up(disk, paths, hash)? => {
                return Ok(JournalPosition::Behind { missing: back + 1 });
            }
            true if gone => return Ok(JournalPosition::Elsewhere),
            // The mark closes a batch; the needed lines begin after the line that left this
            // version.
            true if is_mark && hash.is_some() => before_mark = true,
            true => return Ok(JournalPosition::Behind { missing: back + 1 }),
            false => return Ok(JournalPosition::Elsewhere),
        }
        back += 1;
    }
    if before_mark {
        return Ok(JournalPosition::Behind { missing: back });
    }
    Ok(if loose {
        JournalPosition::Elsewhere
    } else {
        JournalPosition::Nowhere
    })
}

/// True if the backup is the version with this hash.
fn backed_up(
    disk: &dyn Disk,
    paths: &FilePaths,
    hash: Option<ContentHash>,
) -> Result<bool, StateFileError> {
    let backup = read_file(disk, &paths.backup)?;
    Ok(backup.is_some_and(|(bytes, _)| Some(ContentHash::of_bytes(&bytes)) == hash))
}

/// Returns the next version as a crash left it, if it is exactly the wanted one.
fn leftover_version(
    disk: &dyn Disk,
    paths: &FilePaths,
    wanted: Option<ContentHash>,
) -> Result<Option<String>, StateFileError> {
    // In the order in which a writer names it, so that a concurrent reader cannot miss it between
    // the two names.
    for path in [&paths.fresh, &paths.swap] {
        match read_file(disk, path) {
            Ok(Some((bytes, _))) if Some(ContentHash::of_bytes(&bytes)) == wanted => {
                return Ok(String::from_utf8(bytes).ok());
            }
            // We write regular files only.
            Ok(_) | Err(StateFileError::NotRegular { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// True if the last change of the document is its removal.
fn ends_in_removal(tail: &JournalTail) -> bool {
    let last = tail
        .read_so_far()
        .iter()
        .find(|line| line.changes_document());
    last.is_some_and(|line| line.gone)
}

fn last_lines_in_order(tail: &JournalTail, missing: usize) -> Vec<&JournalLine> {
    tail.read_so_far()[..missing].iter().rev().collect()
}

/// Applies the last `missing` lines; `None` if they do not fit.
fn roll_missing_lines(
    disk: &dyn Disk,
    paths: &FilePaths,
    tail: &JournalTail,
    bytes: Option<&[u8]>,
    missing: usize,
    replay: Option<&dyn StepReplay>,
    findings: &mut Vec<Incident>,
) -> Result<Option<String>, StateFileError> {
    // The version itself, if the crash left it, is better than a rebuilt one.
    let last = tail
        .read_so_far()
        .iter()
        .find(|line| line.changes_document());
    if let Some(after) = last
        .filter(|line| line.precedes_replace())
        .and_then(|line| line.after)
        && let Some(text) = leftover_version(disk, paths, Some(after))?
    {
        return Ok(Some(text));
    }
    let start = match bytes.map(std::str::from_utf8) {
        None => None,
        Some(Ok(text)) => Some(text.to_owned()),
        Some(Err(_)) => None,
    };
    match roll_forward(start, &last_lines_in_order(tail, missing), replay, findings) {
        Ok(text) => Ok(text),
        Err(RollError::NeedsReplay) => Err(StateFileError::NeedsReplay {
            path: paths.file.clone(),
        }),
        Err(RollError::Misfit { seq }) => {
            findings.push(Incident::JournalDoesNotFit { seq });
            Ok(None)
        }
    }
}

/// Rebuilds the version at the end of the journal: from the backup (or a version that a crash left)
/// and the lines after it, or from a full document in the journal.
pub(crate) fn rebuild_acknowledged(
    disk: &dyn Disk,
    paths: &FilePaths,
    tail: &mut JournalTail,
    replay: Option<&dyn StepReplay>,
    findings: &mut Vec<Incident>,
) -> Result<Option<String>, StateFileError> {
    for path in [&paths.backup, &paths.swap, &paths.fresh] {
        // A backup that cannot be read is only one source less.
        let Ok(Some((bytes, _))) = read_file(disk, path) else {
            continue;
        };
        let hash = ContentHash::of_bytes(&bytes);
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        if let Some(missing) = lines_after(disk, tail, hash)?
            && let Ok(Some(ours)) = roll_forward(
                Some(text),
                &last_lines_in_order(tail, missing),
                replay,
                findings,
            )
        {
            return Ok(Some(ours));
        }
    }
    let mut back = 0;
    while let Some(line) = tail.line_from_end(disk, back)? {
        back += 1;
        if line.document.is_some() || line.before.is_none() && line.patch.is_some() {
            return Ok(
                roll_forward(None, &last_lines_in_order(tail, back), replay, findings)
                    .unwrap_or(None),
            );
        }
    }
    Ok(None)
}

/// Counts the lines after the version with this hash; searches only a limited number of lines.
fn lines_after(
    disk: &dyn Disk,
    tail: &mut JournalTail,
    hash: ContentHash,
) -> Result<Option<usize>, StateFileError> {
    const LINES_MAX: usize = 10_000;
    for back in 0..LINES_MAX {
        let Some(line) = tail.line_from_end(disk, back)? else {
            break;
        };
        if line.after == Some(hash) {
            return Ok(Some(back));
        }
        // A mark names the version before its batch, so the batch would be skipped.
        if line.before == Some(hash) && line.precedes_replace() && !line.is_mark() {
            return Ok(Some(back + 1));
        }
    }
    Ok(None)
}
