//! One decision of the gate hook, whole process, against starting `/bin/true`, beside scripts that do less.

use crate::Outcome;
use crate::measure::{Contender, in_turns, time};
use crate::options::Options;
use crate::report::{Bound, Report};
use bowline_statefiles::{ContentHash, DocumentChange, FileLayout, StateFile, WriteRequest};
use serde_json::json;
use std::convert::Infallible;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const RATIO_MAX: f64 = 2.0;
/// Changes of the run before the hook is asked: a journal as long as that of real work.
const TRANSITIONS: usize = 30;

/// A script that does the same by hand, where its interpreter is there.
const PEERS: [(&str, &str, &str); 3] = [
    ("Node", "node", "gate.mjs"),
    ("Python", "python3", "gate.py"),
    ("bash and jq", "bash", "gate.sh"),
];

/// A tool call: what it is, its tool and its text, and whether it is denied.
const CALLS: [(&str, &str, &str, bool); 4] = [
    ("a file, allowed", "Write", "src/main.rs", false),
    (
        "a command, allowed",
        "Bash",
        "cd src && cargo test --all 2>&1 | tee /tmp/log | tail -n 20; for f in *.rs; do wc -l \"$f\"; done",
        false,
    ),
    (
        "a here-document, allowed",
        "Bash",
        "cat > src/lib.rs <<'EOF'\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\nEOF\ncargo check",
        false,
    ),
    ("`git push`, denied", "Bash", "cargo test && git push", true),
];

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("hook")?;
    let place = Place::new(scratch.path())?;
    let messages: Vec<PathBuf> = CALLS
        .iter()
        .enumerate()
        .map(|(number, (_, tool, text, _))| place.message(number, tool, text))
        .collect::<Outcome<_>>()?;
    let place = &place;
    let first = &messages[0];
    let mut names = vec!["**floor**: start `/bin/true`".to_owned()];
    let mut contenders: Vec<Contender<'_>> = vec![Box::new(move |_| {
        place.time(Command::new("/bin/true"), first, false)
    })];
    for (message, (name, _, _, denied)) in messages.iter().zip(CALLS) {
        names.push(format!("**`bowline-shim hook`**: {name}"));
        contenders.push(Box::new(move |_| {
            let mut hook = Command::new(&options.shim);
            hook.arg("hook");
            place.time(hook, message, denied)
        }));
    }
    names.push("`bowline hook`: a file, allowed".to_owned());
    contenders.push(Box::new(move |_| {
        let mut hook = Command::new(&options.bowline);
        hook.arg("hook");
        place.time(hook, first, false)
    }));
    let ours = contenders.len();
    let mut absent = Vec::new();
    for (name, program, script) in PEERS {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join(script);
        let Some(program) = interpreter(program) else {
            absent.push(name);
            continue;
        };
        names.push(format!("{name} script: a file, allowed"));
        contenders.push(Box::new(move |_| {
            let mut hook = Command::new(&program);
            hook.arg(&script);
            place.time(hook, first, false)
        }));
    }
    let rounds = options.rounds(400, 60);
    let samples = in_turns(rounds, &mut contenders)?;
    drop(contenders);

    let floor = samples[0].median_ms();
    let rows = names.iter().zip(&samples).map(|(name, samples)| {
        let median = samples.median_ms();
        let slow = samples.quantile(90).as_secs_f64() * 1e3;
        vec![
            name.clone(),
            format!("{median:.2}"),
            format!("{slow:.2}"),
            format!("{:.2}", median / floor),
        ]
    });
    // The last of ours is the large binary, which nobody installs as a hook.
    let worst = samples[1..ours - 1]
        .iter()
        .map(|samples| samples.median_ms() / floor)
        .fold(0.0, f64::max);
    let mut about = format!(
        "One decision of the gate hook, whole process: message on standard input, a run of {TRANSITIONS} transitions in \
         a real repository, gates of PR with the last one closed. The scripts match patterns and believe the file; \
         the hook parses the command line and checks the file against its journal. {rounds} rounds in turns."
    );
    if !absent.is_empty() {
        about.push_str(&format!(" Not installed here: {}.", absent.join(", ")));
    }
    Ok(Report {
        name: "hook",
        about,
        columns: &["", "median ms", "90 % within ms", "of the floor"],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "at most 2 times the floor",
            found: format!("{worst:.2}"),
            kept: worst <= RATIO_MAX,
        }),
    })
}

/// The interpreter itself, not a script of a version manager in front of it. `None` when it does not run.
fn interpreter(program: &str) -> Option<PathBuf> {
    let ask = match program {
        "python3" => ["-c", "import sys; print(sys.executable)"],
        "node" => ["-e", "console.log(process.execPath)"],
        _ => ["-c", "command -v jq > /dev/null && command -v bash"],
    };
    let output = Command::new(program).args(ask).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = PathBuf::from(path.trim());
    (output.status.success() && path.is_file()).then_some(path)
}

/// A repository with a run in it.
struct Place {
    root: PathBuf,
    state: PathBuf,
    scratch: PathBuf,
}

impl Place {
    fn new(scratch: &Path) -> Outcome<Self> {
        let scratch = scratch.canonicalize()?;
        let root = scratch.join("app");
        std::fs::create_dir_all(root.join("src"))?;
        let git = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(["init", "-q", "."])
            .status()?;
        if !git.success() {
            return Err(format!("git init: {git}").into());
        }
        let state = scratch.join("state");
        let shared = root.join(".git").canonicalize()?;
        let key = ContentHash::of_bytes(shared.as_os_str().as_encoded_bytes()).to_string();
        let file = StateFile::new(
            FileLayout::new(root.join(".develop-workflow/state.json"))
                .with_side_folder(state.join("bowline/develop").join(key)),
        );
        for number in 0..TRANSITIONS {
            let request = WriteRequest {
                id: format!("r{number}"),
                at: "2026-03-01T10:00:00Z".into(),
                ..WriteRequest::default()
            };
            let text = document(number);
            let decide = |_: &_| -> Result<_, Infallible> {
                Ok(Some(DocumentChange::replace_with(text.clone())))
            };
            file.update(&request, decide)
                .map_err(|error| format!("{error:?}"))?;
        }
        Ok(Place {
            root,
            state,
            scratch,
        })
    }

    fn message(&self, number: usize, tool: &str, text: &str) -> Outcome<PathBuf> {
        let input = match tool {
            "Write" => json!({"file_path": self.root.join(text), "content": "fn main() {}\n"}),
            _ => json!({"command": text, "description": "what a client says about it"}),
        };
        let message = json!({
            "session_id": "30cb30d0-6c5c-466c-9a9d-a3652180df0f", "transcript_path": "t.jsonl", "cwd": self.root,
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
            "tool_use_id": "toolu_94431ca172d146779df08cb6",
        });
        let path = self.scratch.join(format!("message-{number}.json"));
        std::fs::write(&path, message.to_string())?;
        Ok(path)
    }

    /// Runs a program with a message and checks its answer.
    fn time(&self, mut command: Command, message: &Path, denied: bool) -> Outcome<Duration> {
        command
            .current_dir(&self.root)
            .env("XDG_STATE_HOME", &self.state)
            .stdin(File::open(message)?)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (taken, status) = time(|| command.status());
        let wanted = if denied { 2 } else { 0 };
        match status?.code() {
            Some(code) if code == wanted => Ok(taken),
            other => Err(format!("{command:?}: {other:?} instead of {wanted}").into()),
        }
    }
}

/// A run in PR with a dozen checkpoints; the number makes each version another.
fn document(number: usize) -> String {
    let checkpoints: serde_json::Map<String, serde_json::Value> = (1..=12)
        .map(|id| {
            (
                format!("cp-{id}"),
                json!({"status": "passed", "iteration": 1 + id % 3}),
            )
        })
        .collect();
    let document = json!({
        "phase": "PR", "strategy": "subagent", "feature": format!("ferry timetable, version {number}"),
        "started_at": "2026-03-01T10:00:00", "updated_at": "2026-03-01T11:00:00",
        "gates": {"review_clean_pass": true, "architect_verified": true, "re_review_clean": false},
        "checkpoints": checkpoints,
    });
    format!("{document:#}\n")
}
