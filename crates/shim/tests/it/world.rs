//! A repository with a home of its own, and the hook run in it.

use bowline_statefiles::{ContentHash, DocumentChange, FileLayout, StateFile, WriteRequest};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What came of a call of the hook.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn allowed(&self) -> bool {
        self.code == Some(0) && self.stdout.is_empty() && self.stderr.is_empty()
    }

    /// Denied as a client understands it: exit 2, the reason on standard error, nothing else.
    pub(crate) fn denied(&self) -> bool {
        self.code == Some(2) && self.stdout.is_empty() && self.stderr.contains("next: ")
    }

    /// Denied, and these words are part of the reason.
    #[track_caller]
    pub(crate) fn denied_with(&self, words: &str) {
        assert!(self.denied() && self.stderr.contains(words), "{self:?}");
    }
}

pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) root: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("app");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        fs::write(root.join(".gitignore"), ".develop-workflow/\ntarget/\n").unwrap();
        let world = World {
            _folder: folder,
            base,
            root,
        };
        world.git(&["init", "-q", "."]);
        world
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.root);
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        git.args(arguments).env("HOME", self.base.join("home"));
        assert!(git.status().unwrap().success(), "git {arguments:?}");
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.root.join(".develop-workflow/state.json")
    }

    /// Where everything about the run lives but its file.
    pub(crate) fn side(&self) -> PathBuf {
        let shared = self.root.join(".git").canonicalize().unwrap();
        let key = ContentHash::of_bytes(shared.as_os_str().as_encoded_bytes()).to_string();
        self.base.join("state/bowline/develop").join(key)
    }

    /// Writes the run as Bowline does.
    pub(crate) fn commit(&self, text: &str) {
        let file = StateFile::new(FileLayout::new(self.file()).with_side_folder(self.side()));
        let request = WriteRequest {
            id: "r".into(),
            at: "2026-03-01T10:00:00Z".into(),
            ..WriteRequest::default()
        };
        let decide =
            |_: &_| -> Result<_, Infallible> { Ok(Some(DocumentChange::replace_with(text))) };
        file.update(&request, decide).unwrap();
    }

    /// Writes the run as anybody else does.
    pub(crate) fn scribble(&self, text: &str) {
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        fs::write(self.file(), text).unwrap();
    }

    /// Runs the hook on bytes, in a folder.
    pub(crate) fn hook_in(&self, folder: &Path, arguments: &[&str], input: &[u8]) -> Outcome {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bowline-shim"))
            .arg("hook")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.base.join("home"))
            .env("XDG_STATE_HOME", self.base.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may answer before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn hook(&self, message: &Value) -> Outcome {
        self.hook_in(&self.root, &[], message.to_string().as_bytes())
    }

    /// A command line before it is run.
    pub(crate) fn bash(&self, command: &str) -> Outcome {
        self.bash_in(&self.root, command)
    }

    pub(crate) fn bash_in(&self, folder: &Path, command: &str) -> Outcome {
        let message = json!({
            "session_id": "s", "cwd": folder, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command},
        });
        self.hook_in(folder, &[], message.to_string().as_bytes())
    }

    /// A file before it is written.
    pub(crate) fn write(&self, path: &Path) -> Outcome {
        self.hook(&json!({
            "session_id": "s", "cwd": self.root, "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": {"file_path": path, "content": "x"},
        }))
    }
}

/// A document; `open` lists the gates that are open.
pub(crate) fn run(phase: &str, open: &[&str]) -> String {
    let gate = |name: &str| open.contains(&name);
    json!({
        "phase": phase, "strategy": "direct", "feature": "ferry",
        "started_at": "2026-03-01T10:00:00", "updated_at": "2026-03-01T11:00:00",
        "gates": {
            "review_clean_pass": gate("review_clean_pass"),
            "architect_verified": gate("architect_verified"),
            "re_review_clean": gate("re_review_clean"),
        },
        "checkpoints": {
            "cp-1": {"status": "passed", "iteration": 1}, "cp-2": {"status": "in_progress", "iteration": 2},
        },
    })
    .to_string()
}
