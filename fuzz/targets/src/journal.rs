//! A journal of any content beside a file of any content.

use bowline_statefiles::{ContentHash, DocumentChange, FileLayout, StateFile, WriteRequest};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Digits of the sum at the end of a journal line.
const SUM_DIGITS: usize = 16;

/// The file, its backup, and the lines of its journal. In the lines `%0` stands for the hash of the file and `%1` for that of
/// the backup, and a line that is an object gets the sum that makes it count: no fuzzer would ever guess one.
pub(crate) fn check(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == crate::PART_END);
    let [file, backup, lines] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let folder = folder();
    let state = StateFile::new(FileLayout::new(folder.join("state.json")));
    lay_out(folder, file, backup, lines);
    let Ok(seen) = state.load() else {
        return;
    };
    for finding in &seen.findings {
        drop(finding.to_string());
    }
    state.pending_effects().ok();
    if let Ok(history) = state.read_history() {
        let last = history.all_lines().last().map_or(0, |line| line.seq);
        drop(history.versions(0));
        history.document_at(last).ok();
    }
    let request = WriteRequest {
        id: "fuzz".into(),
        at: "2026-01-01T00:00:00Z".into(),
        ..WriteRequest::default()
    };
    let text = "{\"written\": true}\n";
    let written = state.update(&request, |_| -> Result<_, std::convert::Infallible> {
        Ok(Some(DocumentChange::replace_with(text)))
    });
    if written.is_ok() {
        let after = state.load().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            after.bytes.as_deref(),
            Some(text.as_bytes()),
            "what was written is there"
        );
    }
}

/// A folder of this process, in memory where there is such a place.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        base.join(format!("bowline-fuzz-{}", std::process::id()))
    })
}

/// Replaces whatever an earlier input left.
fn lay_out(folder: &Path, file: &[u8], backup: &[u8], lines: &[u8]) {
    std::fs::remove_dir_all(folder).ok();
    let put = |name: &str, bytes: &[u8]| {
        let written = std::fs::write(folder.join(name), bytes);
        written.unwrap_or_else(|error| panic!("{}: {error}", folder.join(name).display()));
    };
    std::fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    put("state.json", file);
    if !backup.is_empty() {
        put("state.json.bak", backup);
    }
    put("state.json.journal.jsonl", &journal(file, backup, lines));
}

fn journal(file: &[u8], backup: &[u8], lines: &[u8]) -> Vec<u8> {
    let hashes = [file, backup].map(|bytes| ContentHash::of_bytes(bytes).to_string());
    let mut journal = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = line
            .strip_suffix(b"\n")
            .and_then(|line| str::from_utf8(line).ok())
        else {
            journal.extend_from_slice(line);
            continue;
        };
        let text = text.replace("%0", &hashes[0]).replace("%1", &hashes[1]);
        match text.strip_suffix('}') {
            None => journal.extend_from_slice(text.as_bytes()),
            Some(body) => {
                let sum = ContentHash::of_bytes(text.as_bytes()).to_string();
                let end = format!("{body},\"sum\":\"{}\"}}", &sum[..SUM_DIGITS]);
                journal.extend_from_slice(end.as_bytes());
            }
        }
        journal.push(b'\n');
    }
    journal
}
