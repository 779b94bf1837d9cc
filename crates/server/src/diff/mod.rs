//! Changes of a phase under review: git compares two saved states of a workspace.
//!
//! The comparison runs in an empty repository of our own that borrows the objects of the task's
//! repository. Neither the user's git settings nor what an agent wrote into `.git/config`,
//! `.gitattributes` or `.git/info` has an effect. Names come from `--raw -z`; of the patch only
//! hunks are read.

use bowline_engine::formats::client_hooks::quote_word;
use bowline_engine::process;
use bowline_engine::words::display_path;
use bowline_formats::rest::{FileChange, FileDiff};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Timeout of git.
const DIFF_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of hunks that are sent: in total, and per file.
const DIFF_BYTES_MAX: usize = 4 * 1024 * 1024;
const FILE_DIFF_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of changed files that are sent; all of them are counted.
const FILES_MAX: usize = 2_000;
/// Maximum size of git's output on disk, in blocks of 512 bytes.
const OUTPUT_BLOCKS_MAX: u64 = 2 * 1024 * 1024;
/// Maximum size of the list of files.
const LIST_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Options that make git's output independent of settings.
const OPTIONS: &str = "--no-renames --no-ext-diff --no-textconv --no-color --no-relative --full-index -U3 \
    --inter-hunk-context=0 --submodule=short --ignore-submodules=none --src-prefix=a/ --dst-prefix=b/";

/// Two saved states of a workspace.
pub(crate) struct SavedStates<'s> {
    /// The workspace of the task.
    pub(crate) workspace: &'s Path,
    /// Our own repository with the states; absent if the workspace has its own.
    pub(crate) repository: Option<PathBuf>,
    /// The ref of the earlier state.
    pub(crate) from: Option<&'s str>,
    /// The ref used if `from` is absent; if this one does not exist, every file is new.
    pub(crate) first: &'s str,
    /// The ref of the later state.
    pub(crate) to: &'s str,
    /// The environment of git.
    pub(crate) environment: &'s BTreeMap<String, String>,
    /// The folder for temporary files.
    pub(crate) scratch: &'s Path,
}

/// The changes between two states.
#[derive(Debug, Default, PartialEq)]
pub struct ReviewChanges {
    /// The id of the earlier state; absent where there is none.
    pub from: Option<String>,
    /// The changed files, as many as are sent.
    pub files: Vec<FileDiff>,
    /// Number of changed files.
    pub files_total: u64,
    /// Lines added and removed in all files that are text.
    pub added: u64,
    /// See [`ReviewChanges::added`].
    pub removed: u64,
}

/// A folder that is removed when it is dropped.
struct ScratchFolder(PathBuf);

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl SavedStates<'_> {
    /// Compares the two states.
    pub(crate) fn compare(&self) -> Result<ReviewChanges, String> {
        // Two pages may request it at once.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{number}.diff", std::process::id());
        let folder = ScratchFolder(self.scratch.join(name));
        let io = |error: std::io::Error| error.to_string();
        std::fs::create_dir_all(folder.0.join("git/refs")).map_err(io)?;
        std::fs::write(folder.0.join("git/HEAD"), "ref: refs/heads/none\n").map_err(io)?;

        let script = self.git_script(&folder.0);
        let ran = process::run_in(&script, self.workspace, self.environment, DIFF_TIMEOUT);
        let ran = ran.map_err(|error| error.to_string())?;
        if ran.exit_code != 0 {
            let said = ran.output_tail.trim();
            return Err(format!("git ended with {}: {said}", ran.exit_code));
        }
        let mut list = Vec::new();
        let opened = File::open(folder.0.join("list")).map_err(io)?;
        let size = opened.take(LIST_BYTES_MAX).read_to_end(&mut list);
        if size.map_err(io)? as u64 == LIST_BYTES_MAX {
            return Err("the list of changed files is too long".into());
        }
        let patch = File::open(folder.0.join("patch")).map_err(io)?;
        read_changes(&list, BufReader::new(patch))
    }

    fn git_script(&self, folder: &Path) -> String {
        let at = match &self.repository {
            Some(path) => format!("--git-dir={}", quote_word(&display_path(path))),
            None => String::new(),
        };
        const GONE: &str = "{ echo 'a saved state of this task is gone'; exit 1; }";
        let from = match self.from {
            Some(name) => format!("$(tree {}) || {GONE}", quote_word(name)),
            None => format!("$(tree {}) || from=", quote_word(self.first)),
        };
        format!(
            "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_NAMESPACE GIT_CONFIG_COUNT \
             GIT_CONFIG_PARAMETERS GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_ATTR_SOURCE GIT_TRACE\n\
             export LC_ALL=C GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0\n\
             set -e\n\
             ulimit -f {OUTPUT_BLOCKS_MAX}\n\
             tree() {{ git {at} rev-parse --verify --quiet --end-of-options \"$1^{{tree}}\"; }}\n\
             to=$(tree {to}) || {GONE}\n\
             from={from}\n\
             objects=$(git {at} rev-parse --path-format=absolute --git-path objects)\n\
             cd {folder}\n\
             format=sha1; case ${{#to}} in 64) format=sha256;; esac\n\
             printf '[core]\\nrepositoryformatversion = 1\\nbare = true\\n[extensions]\\nobjectformat = %s\\n' $format > git/config\n\
             export GIT_DIR=git GIT_OBJECT_DIRECTORY=\"$objects\" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1\n\
             printf '%s\\0' \"$from\" > list\n\
             from=${{from:-$(git hash-object -t tree /dev/null)}}\n\
             compare() {{ git -c core.attributesFile=/dev/null -c core.bigFileThreshold=32m diff-tree -r \"$@\" {OPTIONS} \"$from\" \"$to\" --; }}\n\
             compare --raw -z >> list\n\
             compare --patch > patch\n",
            to = quote_word(self.to),
            folder = quote_word(&display_path(folder)),
        )
    }
}

/// One file of a patch.
#[derive(Default)]
struct PatchSection {
    hunks: Vec<u8>,
    added: u64,
    removed: u64,
    binary: bool,
    truncated: bool,
}

/// Joins the list of files (`--raw -z`) with the hunks of the patch. Both are in the same order.
fn read_changes(list: &[u8], patch: impl BufRead) -> Result<ReviewChanges, String> {
    let unfit = || "git's list of files and its patch do not fit together".to_owned();
    let mut fields = list.split(|byte| *byte == 0);
    let from = fields.next().map(lossless_text).filter(|id| !id.is_empty());
    let mut changes = ReviewChanges {
        from,
        ..ReviewChanges::default()
    };
    let mut sections = PatchSections::new(patch);
    while let Some(about) = fields.next().filter(|it| !it.is_empty()) {
        let about = std::str::from_utf8(about).map_err(|_| unfit())?;
        let about = about.strip_prefix(':').ok_or_else(unfit)?;
        let about: Vec<&str> = about.split(' ').collect();
        let (&[old_mode, new_mode, _, id, status], Some(path)) = (&about[..], fields.next()) else {
            return Err(unfit());
        };
        let mut section = sections.next_section()?.ok_or_else(unfit)?;
        if status == "T" {
            // For example a file that became a link: removed as the one, added as the other.
            let other = sections.next_section()?.ok_or_else(unfit)?;
            section.hunks.extend_from_slice(&other.hunks);
            section.added += other.added;
            section.removed += other.removed;
            section.binary |= other.binary;
            section.truncated |= other.truncated;
        }
        changes.files_total += 1;
        if !section.binary {
            changes.added += section.added;
            changes.removed += section.removed;
        }
        if changes.files.len() < FILES_MAX {
            let file = file_diff(path, (old_mode, new_mode), id, status, section);
            changes.files.push(file);
        }
    }
    match sections.next_section()? {
        Some(_) => Err(unfit()),
        None => Ok(changes),
    }
}

fn file_diff(
    path: &[u8],
    (old_mode, new_mode): (&str, &str),
    id: &str,
    status: &str,
    section: PatchSection,
) -> FileDiff {
    let mode = |mode: &str| (mode != "000000").then(|| mode.to_owned());
    let change = match status {
        "A" => FileChange::Added,
        "D" => FileChange::Deleted,
        _ => FileChange::Modified,
    };
    let hash = match (change, new_mode) {
        (FileChange::Deleted, _) => String::new(),
        (FileChange::Added | FileChange::Modified, "100644") => id.to_owned(),
        (FileChange::Added | FileChange::Modified, mode) => format!("{id}-{mode}"),
    };
    FileDiff {
        path: lossless_text(path),
        change,
        old_mode: mode(old_mode),
        new_mode: mode(new_mode),
        diff: match section.binary {
            true => String::new(),
            false => String::from_utf8_lossy(&section.hunks).into_owned(),
        },
        binary: section.binary,
        added: (!section.binary).then_some(section.added),
        removed: (!section.binary).then_some(section.removed),
        hash,
        truncated: section.truncated && !section.binary,
    }
}

/// Converts a name to text; bytes that are not UTF-8 become `\xNN`, so that different names stay
/// different.
fn lossless_text(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

/// The files of a patch, one after the other.
struct PatchSections<P> {
    patch: P,
    /// The line read last; it is not consumed yet when it opens a section.
    line: Vec<u8>,
    /// Bytes that may still be kept.
    left: usize,
}

impl<P: BufRead> PatchSections<P> {
    fn new(patch: P) -> Self {
        PatchSections {
            patch,
            line: Vec::new(),
            left: DIFF_BYTES_MAX,
        }
    }

    fn read_line(&mut self) -> Result<bool, String> {
        self.line.clear();
        let read = self.patch.read_until(b'\n', &mut self.line);
        read.map(|bytes| bytes > 0)
            .map_err(|error| error.to_string())
    }

    /// Returns the next section. Every line of it is counted, and as many are kept as may be sent.
    /// No line of a file's content looks like a header: each has a sign before it.
    fn next_section(&mut self) -> Result<Option<PatchSection>, String> {
        const HEADER: &[u8] = b"diff --git ";
        if self.line.is_empty() && !self.read_line()? {
            return Ok(None);
        }
        if !self.line.starts_with(HEADER) {
            return Err("git's patch begins with something else than a file".into());
        }
        let mut section = PatchSection::default();
        let mut in_hunks = false;
        while self.read_line()? && !self.line.starts_with(HEADER) {
            in_hunks |= self.line.starts_with(b"@@ ");
            if !in_hunks {
                section.binary |= self.line.starts_with(b"Binary files ");
                continue;
            }
            section.added += u64::from(self.line[0] == b'+');
            section.removed += u64::from(self.line[0] == b'-');
            let size = self.line.len();
            let fits = size <= self.left && section.hunks.len() + size <= FILE_DIFF_BYTES_MAX;
            section.truncated |= !fits;
            if !section.truncated {
                section.hunks.extend_from_slice(&self.line);
                self.left -= size;
            }
        }
        Ok(Some(section))
    }
}

#[cfg(test)]
mod tests;
