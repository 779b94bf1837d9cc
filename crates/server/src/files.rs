//! Output and files of tasks: logs, artifacts, and the diff under review. Nothing here follows a
//! link, and no path leads out of the workspace.

use crate::decisions::record_of_kind;
use crate::error::ApiError;
use crate::http_request::{
    ApiRequest, ChannelBody, HandlerResult, bytes_response, respond_json, set_header,
};
use crate::job_service::JobService;
use crate::serve::SharedState;
use crate::tasks::{bad_query_value, find_job, job_in_path};
use axum::body::Body;
use axum::http::{HeaderName, header};
use bowline_engine::formats::time::format_utc;
use bowline_engine::formats::visible;
use bowline_engine::formats::zip::{ENTRIES_MAX, ZipWriter};
use bowline_engine::machines::Timestamp;
use bowline_formats::rest::routes::encode_segment;
use bowline_formats::rest::{Artifact, Page, ReviewDiff};
use bowline_runner::jobs::{is_passed_over, is_private};
use bowline_store::{JobRecord, JobRow, RecordBody, RecordKind, RecordQuery};
use bowline_words::message::{ServerNo, ServerThing};
use hyper::body::Bytes;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tokio::sync::mpsc;

/// Bytes of output in one response: the default and the maximum.
const LOG_BYTES_DEFAULT: u64 = 64 * 1024;
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Maximum numbers of listed files and of visited folders of a workspace.
const FILES_MAX: usize = 10_000;
const FOLDERS_MAX: usize = 10_000;
/// Maximum size of one file that is sent, and of a ZIP.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
const ZIP_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Size of one chunk of a streamed file.
const CHUNK_BYTES: usize = 64 * 1024;
/// Capacity of the channel to one client, in chunks.
const CHANNEL_CHUNKS: usize = 4;
/// Path of the artifact with the error log of a failed task. It replaces a file of that name in the
/// workspace.
pub(crate) const ERROR_LOG: &str = "error.log";

pub(crate) fn get_logs(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    respond_with_logs(call, &work.log_files(&row))
}

/// Responds with the part of these logs that a call asks for.
pub(crate) fn respond_with_logs(call: &ApiRequest, logs: &[PathBuf]) -> HandlerResult {
    let offset = call.query_number::<i64>("offset")?.unwrap_or(0);
    let limit = match call.query_number::<u64>("limit")? {
        None => LOG_BYTES_DEFAULT,
        Some(limit @ 1..=LOG_BYTES_MAX) => limit,
        Some(other) => return Err(bad_query_value("limit", &other.to_string())),
    };
    let (text, next) = read_output(logs, offset, limit);
    let mut response = bytes_response("text/plain; charset=utf-8", text);
    let name = HeaderName::from_static("x-next-offset");
    set_header(&mut response, name, &next.to_string());
    Ok(response)
}

/// Reads the output of all attempts as one file, from an offset or counted from the end. Returns
/// the bytes and the next offset. A missing log counts as empty.
fn read_output(files: &[PathBuf], offset: i64, limit: u64) -> (Vec<u8>, u64) {
    let sizes: Vec<u64> = files
        .iter()
        .map(|path| std::fs::metadata(path).map_or(0, |it| it.len()))
        .collect();
    let total: u64 = sizes.iter().sum();
    let from = match offset {
        0.. => offset.unsigned_abs().min(total),
        ..0 => total.saturating_sub(offset.unsigned_abs()),
    };
    let mut text = Vec::new();
    let mut begins = 0;
    for (path, size) in files.iter().zip(&sizes) {
        let ends = begins + size;
        let at = from + text.len() as u64;
        let left = limit - text.len() as u64;
        if at < ends && left > 0 {
            let wanted = (ends - at).min(left);
            let read = File::open(path).and_then(|mut file| {
                file.seek(SeekFrom::Start(at - begins))?;
                file.take(wanted).read_to_end(&mut text)
            });
            // The log was deleted meanwhile.
            if read.is_err() {
                break;
            }
        }
        begins = ends;
    }
    let next = from + text.len() as u64;
    (text, next)
}

/// Returns the folder of a task, if it exists.
fn task_folder(work: &dyn JobService, row: &JobRow) -> Option<PathBuf> {
    work.workspace_folder(row).filter(|path| path.is_dir())
}

pub(crate) fn list_artifacts(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let phases = deliverable_phases(work, &row)?;
    let secrets = work.secret_values(&row);
    let found = find_artifacts(work, &row);
    let items = found.into_iter().map(|found| Artifact {
        phases: phases.get(&found.path).cloned().unwrap_or_default(),
        holds_secret: contains_secret(&found, &secrets),
        modified_at: found.modified.map(|at| format_utc(Timestamp(at))),
        bytes: found.bytes,
        path: found.path,
    });
    respond_json(call, &Page::single_page(items.collect()))
}

/// Returns the files that reviews name as deliverables, with their phases.
fn deliverable_phases(
    work: &dyn JobService,
    row: &JobRow,
) -> Result<BTreeMap<String, Vec<u32>>, ApiError> {
    let reviews = work.store().list_records(&RecordQuery {
        job: Some(row.id.clone()),
        kind: Some(RecordKind::Review),
        open: false,
    })?;
    let mut all: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for record in reviews {
        if let RecordBody::Review(review) = record.body {
            for path in review.deliverables {
                let phases = all.entry(path).or_default();
                if !phases.contains(&review.phase) {
                    phases.push(review.phase);
                }
            }
        }
    }
    Ok(all)
}

/// A file that is offered as an artifact.
struct ArtifactFile {
    folder: PathBuf,
    /// Path relative to `folder`, as people see it too.
    path: String,
    bytes: u64,
    modified: Option<i64>,
}

/// Lists the artifacts of a task, by name: the regular files of its workspace, and its error log.
fn find_artifacts(work: &dyn JobService, row: &JobRow) -> Vec<ArtifactFile> {
    let mut found =
        task_folder(work, row).map_or_else(Vec::new, |folder| list_folder_files(&folder));
    if let Some(log) = error_log_file(work, row) {
        found.retain(|other| other.path != log.path);
        found.push(log);
        found.sort_by(|a, b| a.path.cmp(&b.path));
    }
    found
}

fn error_log_file(work: &dyn JobService, row: &JobRow) -> Option<ArtifactFile> {
    let path = work.error_log(row)?;
    let data = path.metadata().ok()?;
    Some(ArtifactFile {
        folder: path.parent()?.to_owned(),
        path: ERROR_LOG.into(),
        bytes: data.len(),
        modified: modified_seconds(&data),
    })
}

fn modified_seconds(data: &Metadata) -> Option<i64> {
    let at = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(at.as_secs()).ok()
}

/// Lists the regular files of a folder that may be deliverables, by name.
fn list_folder_files(root: &Path) -> Vec<ArtifactFile> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    let mut looked = 0;
    while let Some((folder, below)) = folders.pop() {
        looked += 1;
        if looked > FOLDERS_MAX {
            break;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Ok(data) = entry.metadata() else {
                continue;
            };
            if is_passed_over(name.as_ref(), data.is_dir()) {
                continue;
            }
            let path = format!("{below}{name}");
            if data.is_dir() {
                folders.push((entry.path(), format!("{path}/")));
            } else if data.is_file() && found.len() < FILES_MAX {
                found.push(ArtifactFile {
                    folder: root.to_owned(),
                    path,
                    bytes: data.len(),
                    modified: modified_seconds(&data),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Opens a file below a folder; the kernel refuses links and paths that lead out.
fn open_inside(folder: &Path, path: &str) -> Result<File, ApiError> {
    let outside = || {
        let path = path.chars().take(200).collect();
        ApiError::Server(ServerNo::OutsideWorkspace { path })
    };
    let plain = path
        .split('/')
        .all(|part| !part.is_empty() && part != ".." && part != ".");
    if !plain || path.contains('\0') {
        return Err(outside());
    }
    let root = File::open(folder).map_err(|error| ApiError::internal(&error))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let ways = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&root, path, flags, Mode::empty(), ways) {
        Ok(file) => {
            let file = File::from(file);
            let is_file = file.metadata().is_ok_and(|it| it.is_file());
            is_file
                .then_some(file)
                .ok_or_else(|| ApiError::no_such(ServerThing::Artifact, path))
        }
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::XDEV) => Err(outside()),
        Err(_) => Err(ApiError::no_such(ServerThing::Artifact, path)),
    }
}

/// True if the file contains a secret value of the task.
fn contains_secret(found: &ArtifactFile, secrets: &[String]) -> bool {
    if secrets.is_empty() || found.bytes > FILE_BYTES_MAX {
        return false;
    }
    let mut content = Vec::new();
    let read = open_inside(&found.folder, &found.path)
        .ok()
        .and_then(|mut file| file.read_to_end(&mut content).ok());
    read.is_some() && contains_any(&content, secrets)
}

fn contains_any(content: &[u8], secrets: &[String]) -> bool {
    let mut wanted = secrets.iter().filter(|it| !it.is_empty());
    wanted.any(|secret| {
        let secret = secret.as_bytes();
        content.windows(secret.len()).any(|part| part == secret)
    })
}

pub(crate) fn get_artifact(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let path = call.path_param("path");
    let log = (path == ERROR_LOG)
        .then(|| error_log_file(work, &row))
        .flatten();
    let folder = match log {
        Some(log) => Some(log.folder),
        None => task_folder(work, &row).filter(|_| !is_private(path)),
    };
    let Some(folder) = folder else {
        return Err(ApiError::no_such(ServerThing::Artifact, path));
    };
    let mut file = open_inside(&folder, path)?;
    let bytes = file.metadata().map_or(0, |it| it.len());
    if bytes > FILE_BYTES_MAX {
        let max = FILE_BYTES_MAX;
        return Err(ServerNo::TooBigToSend { bytes, max }.into());
    }
    let (sender, receiver) = mpsc::channel(CHANNEL_CHUNKS);
    tokio::task::spawn_blocking(move || {
        let mut piece = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = file.read(&mut piece) {
            if sender
                .blocking_send(Bytes::copy_from_slice(&piece[..count]))
                .is_err()
            {
                break;
            }
        }
    });
    let mut response = crate::http_request::bytes_response(
        "application/octet-stream",
        Body::new(ChannelBody(receiver)),
    );
    set_download_headers(&mut response, path.rsplit('/').next().unwrap_or(path));
    Ok(response)
}

/// Sends a file that an agent wrote as a sandboxed download, never as a page of the server's
/// origin.
fn set_download_headers(response: &mut axum::http::Response<Body>, name: &str) {
    let box_ = "sandbox; default-src 'none'";
    set_header(response, header::CONTENT_SECURITY_POLICY, box_);
    let plain: String = name
        .chars()
        .map(|it| {
            if it.is_ascii_graphic() && !"\"\\".contains(it) {
                it
            } else {
                '_'
            }
        })
        .collect();
    // The exact name, for browsers that support `filename*`; invisible characters are made visible.
    let exact = encode_segment(&visible::escape_name(name));
    let saved = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}");
    set_header(response, header::CONTENT_DISPOSITION, &saved);
}

pub(crate) fn get_artifacts_zip(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let named = deliverable_phases(work, &row)?;
    let secrets = work.secret_values(&row);
    let mut files = find_artifacts(work, &row);
    if files.is_empty() && task_folder(work, &row).is_none() {
        return Err(ApiError::no_such(
            ServerThing::Artifact,
            call.path_param("id"),
        ));
    }
    let log = error_log_file(work, &row).map(|log| log.path);
    if files.iter().any(|found| named.contains_key(&found.path)) {
        files.retain(|found| named.contains_key(&found.path) || log.as_ref() == Some(&found.path));
    }
    let bytes: u64 = files.iter().map(|found| found.bytes).sum();
    if bytes > ZIP_BYTES_MAX || files.len() > ENTRIES_MAX {
        let max = ZIP_BYTES_MAX;
        return Err(ServerNo::TooBigToSend { bytes, max }.into());
    }
    let Ok(place) = Arc::clone(&shared.zips).try_acquire_owned() else {
        return Err(ServerNo::TooManyConnections.into());
    };
    let (sender, receiver) = mpsc::channel(CHANNEL_CHUNKS);
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut zip = ZipWriter::new();
        for found in files {
            let mut content = Vec::new();
            let read = open_inside(&found.folder, &found.path)
                .ok()
                .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut content).ok());
            if read.is_none() || contains_any(&content, &secrets) {
                continue;
            }
            let Some(head) = zip.add_entry(&found.path, &content) else {
                continue;
            };
            let sent = sender.blocking_send(head.into()).is_ok()
                && sender.blocking_send(content.into()).is_ok();
            if !sent {
                return;
            }
        }
        let _ = sender.blocking_send(zip.central_directory().into());
    });
    let mut response =
        crate::http_request::bytes_response("application/zip", Body::new(ChannelBody(receiver)));
    set_download_headers(&mut response, &format!("{}.zip", row.id));
    Ok(response)
}

pub(crate) fn get_review_diff(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let record = record_of_kind(work, call.path_param("id"), RecordKind::Review)?;
    let row = find_job(work, &record.job)?;
    let RecordBody::Review(review) = &record.body else {
        return Err(ApiError::no_such(
            ServerThing::Review,
            call.path_param("id"),
        ));
    };
    let mut review = review.clone();
    if call.query_param("since") == Some("review")
        && let Some(shown) = previously_reviewed_code(work, &record)?
    {
        review.base_ref = Some(shown);
    }
    let changes = work
        .review_changes(&row, &review)
        .map_err(|why| ServerNo::DiffFailed { why })?;
    let diff = ReviewDiff {
        review_id: record.id.clone(),
        from: review.base_ref.or(changes.from),
        files: changes.files,
        files_total: changes.files_total,
        added: changes.added,
        removed: changes.removed,
    };
    respond_json(call, &diff)
}

/// Returns the git ref of the code that the previous review showed.
fn previously_reviewed_code(
    work: &dyn JobService,
    record: &JobRecord,
) -> Result<Option<String>, ApiError> {
    let reviews = work.store().list_records(&RecordQuery {
        job: Some(record.job.clone()),
        kind: Some(RecordKind::Review),
        open: false,
    })?;
    // Only reviews decided before this one was opened.
    let before = reviews.into_iter().filter_map(|it| match it.body {
        RecordBody::Review(review) if it.id != record.id => {
            let decided = review.reviewed_at.filter(|at| *at <= record.at.0)?;
            Some((decided, review.code_ref?))
        }
        _ => None,
    });
    Ok(before.max_by_key(|(at, _)| *at).map(|(_, code)| code))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    #[test]
    fn output_of_attempts_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = ["hello ", "", "world"]
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let path = folder.path().join(index.to_string());
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        let read = |offset, limit| {
            let (text, next) = read_output(&files, offset, limit);
            (String::from_utf8(text).unwrap(), next)
        };
        assert_eq!(read(0, 100), ("hello world".into(), 11));
        assert_eq!(read(4, 4), ("o wo".into(), 8));
        assert_eq!(read(-3, 100), ("rld".into(), 11));
        assert_eq!(read(-300, 2), ("he".into(), 2));
        assert_eq!(read(99, 2), (String::new(), 11));
    }

    #[test]
    fn no_path_leads_out_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        std::fs::write(inside.join("sub/good"), "y").unwrap();
        std::os::unix::fs::symlink("../secret", inside.join("link")).unwrap();
        std::os::unix::fs::symlink("..", inside.join("up")).unwrap();
        assert!(open_inside(&inside, "sub/good").is_ok());
        let code = |path| {
            open_inside(&inside, path)
                .map(drop)
                .unwrap_err()
                .code()
                .to_owned()
        };
        for path in [
            "../secret",
            "/etc/passwd",
            "sub/../../secret",
            "link",
            "up/secret",
            "a\0b",
            "",
        ] {
            assert_eq!(code(path), "outside_workspace", "{path}");
        }
        assert_eq!(code("sub"), "unknown_id");
        assert_eq!(code("none"), "unknown_id");
    }
}
