//! Editors that take no lock.

use super::operations::Edit;
use crate::drill::common::{Random, pause};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An editor thinks at most so long between reading and writing.
const THINKS_MICROS_MAX: u64 = 20_000;
/// The halves of a write are at most so far apart: longer than anybody waits for the second.
const TORN_MICROS_MAX: u64 = 250_000;

/// The files that an editor writes in place. Two that write into one file at once mix their halves, and now and then the
/// mixture is a document that neither of them meant.
static WRITTEN_IN_PLACE: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());

fn in_place_lock(path: &Path) -> Arc<Mutex<()>> {
    let mut files = WRITTEN_IN_PLACE
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Arc::clone(files.entry(path.to_owned()).or_default())
}

/// Edits a file. Says whether there was anything to edit that it could read.
pub(super) fn edit(
    path: &Path,
    backup: &Path,
    edit: Edit,
    number: usize,
    random: &mut Random,
) -> io::Result<bool> {
    let source = match edit {
        Edit::Move | Edit::Torn | Edit::Truncate => path,
        Edit::Backup => backup,
    };
    let text = match std::fs::read_to_string(source) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let think = Duration::from_micros(random.below(THINKS_MICROS_MAX));
    let next = match edit {
        Edit::Backup => text,
        Edit::Move | Edit::Torn | Edit::Truncate => match marked(&text, number) {
            Some(next) => next,
            // Another editor is in the middle of it.
            None => return Ok(false),
        },
    };
    let lock = in_place_lock(path);
    let _writing = match edit {
        Edit::Move => None,
        Edit::Torn | Edit::Truncate | Edit::Backup => {
            Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
        }
    };
    match edit {
        Edit::Move => {
            let temporary = path.with_file_name(format!(".somebody-{number}.tmp"));
            pause(think);
            std::fs::write(&temporary, next)?;
            std::fs::rename(&temporary, path)?;
        }
        Edit::Torn => {
            let (first, second) = next.as_bytes().split_at(next.len() / 2);
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            file.write_all(first)?;
            // Some never come to the second half.
            if random.below(3) > 0 {
                pause(Duration::from_micros(random.below(TORN_MICROS_MAX)));
                file.write_all(second)?;
            }
        }
        Edit::Truncate => {
            pause(think);
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            // Some end before they write.
            if random.below(3) > 0 {
                pause(Duration::from_micros(random.below(TORN_MICROS_MAX)));
                file.write_all(next.as_bytes())?;
            }
        }
        Edit::Backup => {
            pause(think);
            std::fs::write(path, next)?;
        }
    }
    Ok(true)
}

/// The text with the editor's own number in it.
fn marked(text: &str, number: usize) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    value
        .as_object_mut()?
        .insert("somebody".to_owned(), Value::from(number));
    serde_json::to_string_pretty(&value).ok()
}
