//! The table of tool calls, each held against every phase and every combination of gates.

use bowline_formats::hook::HookMessage;
use bowline_gate::decision::{GateDenial, GatedAction, decide_on_actions, gated_actions};
use bowline_gate::hook::{HostEnvironment, is_ignored};
use bowline_gate::lang::Lang;
use bowline_gate::run_trust::{RunTrust, TrustedRun};
use bowline_gate::shell::CommandEnvironment;
use bowline_gate::tool_call::ToolCall;
use bowline_gate::workspace_paths::WorkspacePaths;
use bowline_machines::Timestamp;
use bowline_machines::develop::{
    DevelopPhase, DevelopRunState, Gate, OpenGates, ProjectAction, required_gates,
};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TABLES: [&str; 6] = [
    include_str!("calls_plain_sight.txt"),
    include_str!("calls_costs.txt"),
    include_str!("calls.txt"),
    include_str!("calls_shell.txt"),
    include_str!("calls_attacks.txt"),
    include_str!("calls_person.txt"),
];

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Nothing,
    Write,
    Git,
    State,
    /// It removes the run with the files.
    Cleans,
    Hidden,
    Person,
}

/// A repository that ignores some files, and a world with known aliases.
pub(crate) struct Repository {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) state: PathBuf,
}

impl Repository {
    pub(crate) fn new() -> Self {
        // Not below /tmp, which the table uses for places outside.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("app");
        for below in ["src", "notes", ".develop-workflow"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        fs::create_dir_all(base.join("elsewhere")).unwrap();
        fs::write(
            root.join(".gitignore"),
            "target/\n*.log\n__pycache__/\n.pytest_cache\n",
        )
        .unwrap();
        fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
        fs::create_dir_all(root.join("src/__pycache__")).unwrap();
        fs::write(root.join("src/__pycache__/a.pyc"), "x").unwrap();
        fs::create_dir_all(root.join(".pytest_cache")).unwrap();
        // A build's output is there, too: only git's word lets it be removed.
        fs::create_dir_all(root.join("target/debug")).unwrap();
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .arg("-C")
            .arg(&root);
        assert!(git.args(["init", "-q", "."]).status().unwrap().success());
        Repository {
            _folder: folder,
            state: bowline_gate::locate::state_home(),
            root,
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.root.join(".develop-workflow/state.json")
    }

    /// What a call offends, by what the message of a client says.
    pub(crate) fn actions(&self, tool: &str, text: &str) -> Vec<GatedAction> {
        let text = text
            .replace('⏎', "\n")
            .replace("@ROOT@", &self.root.to_string_lossy())
            .replace("@HOME@", &std::env::var("HOME").unwrap_or_default())
            .replace("@STATE@", &self.state.to_string_lossy());
        let message = json!({
            "hook_event_name": "PreToolUse", "cwd": self.root, "tool_name": tool,
            "tool_input": {"command": text, "file_path": text, "notebook_path": text, "path": text},
        });
        let message = HookMessage::parse(message.to_string().as_bytes()).unwrap();
        gated_actions(
            &ToolCall::from_message(&message),
            &self.root,
            &WorkspacePaths::for_run_file(&self.file()),
            &Known,
        )
    }
}

/// The world, with aliases and variables that do not depend on who runs the tests.
pub(crate) struct Known;

impl CommandEnvironment for Known {
    fn environment_variable(&self, name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/nonexistent/home-of-somebody".into()),
            "PATH" => Some("/usr/bin".into()),
            _ => None,
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        HostEnvironment.is_folder(path)
    }

    fn git_alias(&self, _: &Path, name: &str) -> Option<String> {
        match name {
            "ci" => Some("commit".into()),
            "st" => Some("status -sb".into()),
            "shipit" => Some("!git add -A && git push".into()),
            _ => None,
        }
    }
}

/// The rows of the table.
pub(crate) fn rows() -> Vec<(What, &'static str, &'static str)> {
    let row = |line: &'static str| {
        let (what, rest) = line.split_once(' ').unwrap();
        let (tool, text) = rest.trim_start().split_once(' ').unwrap();
        let what = match what {
            "nothing" => What::Nothing,
            "write" => What::Write,
            "git" => What::Git,
            "state" => What::State,
            "cleans" => What::Cleans,
            "hidden" => What::Hidden,
            "person" => What::Person,
            other => panic!("{other} in {line}"),
        };
        (what, tool, text.trim_start())
    };
    let lines = TABLES.iter().flat_map(|table| table.lines());
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .filter(|line| !line.starts_with('#'))
        .map(row)
        .collect()
}

/// That a run is as its file says.
pub(crate) fn trust_in(path: PathBuf, run: DevelopRunState, owned: bool) -> RunTrust {
    RunTrust::Run(Box::new(TrustedRun {
        path,
        run,
        owned,
        distrusted: Vec::new(),
        sequence: 1,
    }))
}

fn every_run() -> impl Iterator<Item = DevelopRunState> {
    DevelopPhase::ALL.into_iter().flat_map(|phase| {
        (0..8_usize).map(move |bits| DevelopRunState {
            phase,
            gates: OpenGates::from_predicate(|gate| bits & (1 << gate as usize) != 0),
            ..DevelopRunState::new("ferry", Timestamp(0))
        })
    })
}

/// Whether a call of a kind is to be denied: the contract in a few words.
fn denied(what: What, run: &DevelopRunState, owned: bool) -> bool {
    let closed = |act| {
        !run.gates
            .closed_among(required_gates(run.phase, act))
            .is_empty()
    };
    match what {
        What::Nothing => false,
        What::Write => closed(ProjectAction::Write),
        What::Git => closed(ProjectAction::Finish),
        What::Hidden => closed(ProjectAction::Write) || closed(ProjectAction::Finish),
        What::State => owned,
        What::Cleans => owned || closed(ProjectAction::Write),
        What::Person => true,
    }
}

#[test]
fn every_call_is_judged_right_in_every_phase_with_every_gate() {
    let repository = Repository::new();
    let mut wrong = Vec::new();
    for (what, tool, text) in rows() {
        let found = repository.actions(tool, text);
        let mut ignored = |path: &Path| is_ignored(&repository.root, path);
        // Asked once for each call: what git ignores does not change with the phase.
        let kept: Vec<GatedAction> = found
            .iter()
            .filter(|action| match action {
                GatedAction::Write { path, .. } => !path.as_deref().is_some_and(&mut ignored),
                GatedAction::Finish { .. }
                | GatedAction::Hidden { .. }
                | GatedAction::Guard { .. }
                | GatedAction::Setup { .. }
                | GatedAction::Person { .. }
                | GatedAction::State { .. } => true,
                GatedAction::Cleaned { path } => !ignored(path),
            })
            .cloned()
            .collect();
        for run in every_run() {
            for owned in [true, false] {
                let trust = trust_in(repository.file(), run.clone(), owned);
                let expected = denied(what, &run, owned);
                let denial = decide_on_actions(&trust, &kept, &mut |_| false);
                if denial.is_some() != expected {
                    let open: Vec<&str> = Gate::ALL
                        .into_iter()
                        .filter(|gate| run.gates.is_open(*gate))
                        .map(Gate::name)
                        .collect();
                    let phase = run.phase.name();
                    wrong.push(format!(
                        "{what:?} {tool} {text:?} in {phase} {open:?}: {denial:?} by {found:?}"
                    ));
                    break;
                }
            }
        }
    }
    wrong.dedup_by_key(|line| line.split(" in ").next().unwrap_or_default().to_owned());
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_command_that_cannot_be_read_needs_every_gate() {
    let repository = Repository::new();
    for input in [json!({"command": 5}), json!({})] {
        let message = json!({
            "hook_event_name": "PreToolUse", "cwd": repository.root, "tool_name": "Bash", "tool_input": input,
        });
        let message = HookMessage::parse(message.to_string().as_bytes()).unwrap();
        let place = WorkspacePaths::for_run_file(&repository.file());
        let found = gated_actions(
            &ToolCall::from_message(&message),
            &repository.root,
            &place,
            &Known,
        );
        for run in every_run() {
            let trust = trust_in(repository.file(), run.clone(), true);
            let denial = decide_on_actions(&trust, &found, &mut |_| false);
            let wanted = denied(What::Hidden, &run, true);
            assert_eq!(denial.is_some(), wanted, "{run:?}");
        }
    }
}

#[test]
fn a_denial_shows_patterns_as_they_are_written() {
    let repository = Repository::new();
    let found = repository.actions("Bash", "rm src/*.rs");
    let run = DevelopRunState {
        phase: DevelopPhase::Implement,
        ..DevelopRunState::new("ferry", Timestamp(0))
    };
    let trust = trust_in(repository.file(), run, true);
    let denial = decide_on_actions(&trust, &found, &mut |_| false).unwrap();
    for lang in [Lang::En, Lang::Ko] {
        let text = denial.render_denial(None, lang, None);
        assert!(text.contains("src/*.rs"), "{text}");
        assert!(!text.contains('\u{ffff}'), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_command_line_is_explained_in_both_languages() {
    let repository = Repository::new();
    let run = DevelopRunState {
        phase: DevelopPhase::Implement,
        ..DevelopRunState::new("ferry", Timestamp(0))
    };
    let trust = trust_in(repository.file(), run, true);
    for (command, english, korean) in [
        ("cat 'a", "a quote is not closed", "닫히지 않은 따옴표"),
        ("if true; then ls", "fi", "'fi'가 빠짐"),
        ("awk '{ print | x }' a", "a command in it", "안에 든 명령"),
        (
            "git commit -m a",
            "git commit is closed",
            "대상: git commit",
        ),
    ] {
        let found = repository.actions("Bash", command);
        let denial = decide_on_actions(&trust, &found, &mut |_| false).unwrap();
        for (lang, wanted) in [(Lang::En, english), (Lang::Ko, korean)] {
            let text = denial.render_denial(None, lang, None);
            assert!(text.contains(wanted), "{command}: {text}");
        }
    }
}

#[test]
fn the_table_is_long_enough_and_has_every_kind() {
    let rows = rows();
    let count = |wanted| rows.iter().filter(|(what, ..)| *what == wanted).count();
    assert!(rows.len() >= 200, "{}", rows.len());
    for what in [
        What::Nothing,
        What::Write,
        What::Git,
        What::State,
        What::Hidden,
        What::Person,
    ] {
        assert!(count(what) >= 15, "{what:?}: {}", count(what));
    }
}

#[test]
fn without_a_run_only_a_persons_moves_are_denied_and_with_a_damaged_one_everything_that_counts() {
    let repository = Repository::new();
    let path = repository.file();
    let damaged = RunTrust::Damaged {
        path: path.clone(),
        reason: "torn".into(),
    };
    let missing = RunTrust::Missing { path, last: None };
    for (what, tool, text) in rows() {
        let found = repository.actions(tool, text);
        let mut never = |_: &Path| false;
        let nowhere = decide_on_actions(&RunTrust::Nothing, &found, &mut never);
        match what {
            What::Person => assert!(matches!(nowhere, Some(GateDenial::Person { .. })), "{text}"),
            What::Nothing | What::Write | What::Git | What::State | What::Cleans | What::Hidden => {
                assert_eq!(nowhere, None, "{text}");
            }
        }
        if !matches!(what, What::Nothing) {
            let denial = decide_on_actions(&damaged, &found, &mut never);
            assert!(matches!(denial, Some(GateDenial::Damaged { .. })), "{text}");
            let denial = decide_on_actions(&missing, &found, &mut never);
            assert!(matches!(denial, Some(GateDenial::Missing { .. })), "{text}");
        }
    }
}
