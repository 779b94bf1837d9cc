//! Ways around the gates, each tried for real. `docs/gates.md` claims what is shown here and no more.

use crate::environment::{TestEnvironment, text, write_executable};
use bowline_test_support::{MissingRequirement, skip_test};
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const STATE: &str = ".develop-workflow/state.json";

/// A run in PR whose last gate is closed, with the hooks of `bowline init`: files may be written, nothing may be committed.
pub(crate) struct Gated(pub(crate) TestEnvironment);

impl Gated {
    pub(crate) fn new() -> Self {
        let world = TestEnvironment::reviewed();
        for name in ["review.ok", "build.ok", "src.txt"] {
            world.write(name, "");
        }
        let gated = Gated(world);
        gated.git(&["config", "user.name", "Nobody"], true);
        gated.git(&["config", "user.email", "nobody@localhost"], true);
        gated.git(&["add", "-A"], true);
        gated.git(&["commit", "-qm", "what is there"], true);
        gated.0.quietly("init", 0);
        for line in [
            "develop gate pass review_clean_pass",
            "develop implement",
            "develop checkpoint start cp-1",
            "develop checkpoint pass cp-1",
            "develop checkpoint start cp-2",
            "develop checkpoint pass cp-2",
            "develop gate pass architect_verified",
            "develop pr",
        ] {
            gated.0.quietly(line, 0);
        }
        gated.0.write("src.txt", "work\n");
        gated.git(&["add", "src.txt"], true);
        gated
    }

    /// The same world seen by an agent.
    fn agent(self) -> Self {
        Gated(self.0.with("CLAUDECODE", "1"))
    }

    fn git_in(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut git = self.0.program("git");
        git.current_dir(folder).args(arguments).output().unwrap()
    }

    pub(crate) fn git(&self, arguments: &[&str], works: bool) -> String {
        let output = self.git_in(&self.0.path(""), arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), works, "git {arguments:?}: {told}");
        if !works {
            assert!(told.contains("[PHASE GATE]"), "{told}");
        }
        text(&output.stdout).trim().to_owned()
    }

    /// Nothing of the work is on the branch.
    pub(crate) fn held(&self) {
        assert_eq!(self.git(&["show", "HEAD:src.txt"], true), "");
    }

    /// The agent's hook about a command of its shell: `Some` with the reason when it is denied.
    pub(crate) fn hook(&self, command: &str) -> Option<String> {
        let message = json!({
            "hook_event_name": "PreToolUse", "cwd": self.0.path(""), "tool_name": "Bash",
            "tool_input": {"command": command},
        });
        let settings = self.0.read_json(".claude/settings.local.json");
        let installed = &settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
        let hook = self.0.hook(&["sh", "-c", installed.as_str().unwrap()]);
        let output = fed(hook, message.to_string().as_bytes());
        match output.status.code() {
            Some(0) => None,
            Some(2) => Some(text(&output.stderr)),
            other => panic!("{other:?}"),
        }
    }

    fn gate_is_open(&self, gate: &str) -> bool {
        let told = self.0.json("develop status --json", 0);
        told["state"]["gates"][gate].as_bool().unwrap()
    }
}

pub(crate) fn fed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that answers before it has read everything closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn an_honest_run_ends_with_a_commit() {
    let gated = Gated::new();
    gated.git(&["commit", "-qm", "too early"], false);
    gated.held();
    gated.0.write("code.ok", "");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "work"], true);
    assert_eq!(gated.git(&["show", "HEAD:src.txt"], true), "work");
}

#[test]
fn editing_the_state_file_opens_nothing() {
    let gated = Gated::new().agent();
    let denied = gated.hook("sed -i 's/\"re_review_clean\": false/\"re_review_clean\": true/' .develop-workflow/state.json");
    assert!(denied.unwrap().contains("changed by bowline only"));
    let edited = gated
        .0
        .read(STATE)
        .replace("\"re_review_clean\": false", "\"re_review_clean\": true");
    gated.0.write(STATE, edited);
    assert!(!gated.gate_is_open("re_review_clean"));
    gated.git(&["commit", "-qm", "work"], false);
    assert!(gated.hook("git commit -m work").is_some());
    gated.0.quietly("develop done", 1);
    gated.held();
}

#[test]
fn a_command_of_the_agents_own_opens_nothing() {
    let gated = Gated::new().agent();
    gated
        .0
        .quietly("develop gate pass re_review_clean --run true", 1);
    gated
        .0
        .quietly("develop gate pass re_review_clean --by-hand because", 1);
    assert!(!gated.gate_is_open("re_review_clean"));
}

#[test]
fn another_policy_opens_nothing() {
    let gated = Gated::new().agent();
    let policy = gated
        .0
        .read("bowline.toml")
        .replace("test -f code.ok", "true");
    gated.0.write("bowline.toml", policy);
    let told = gated.0.run("develop gate pass re_review_clean");
    assert!(told.contains("stale"), "{told}");
    gated.0.quietly("develop seal", 1);
    assert!(!gated.gate_is_open("re_review_clean"));
    gated.git(&["commit", "-qm", "work"], false);
}

#[test]
fn going_back_opens_nothing() {
    let gated = Gated::new();
    gated.0.write("code.ok", "");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    gated.0.quietly("develop gate reset re_review_clean", 0);
    // Not even for a person.
    gated.0.quietly("undo develop", 0);
    assert!(!gated.gate_is_open("re_review_clean"));
    let gated = gated.agent();
    for line in [
        "undo develop",
        "restore develop 8",
        "develop back DESIGN",
        "develop reset",
        "develop start --fresh x",
    ] {
        gated.0.quietly(line, 1);
    }
    gated.git(&["commit", "-qm", "work"], false);
}

#[test]
fn removing_the_state_file_closes_everything() {
    let gated = Gated::new().agent();
    assert!(gated.hook("rm -rf .develop-workflow").is_some());
    std::fs::remove_dir_all(gated.0.path(".develop-workflow")).unwrap();
    gated.git(&["commit", "-qm", "work"], false);
    let denied = gated.hook("git commit -m work").unwrap();
    assert!(denied.contains("bowline doctor --repair"), "{denied}");
    gated.0.quietly("doctor --repair", 0);
    for gate in ["review_clean_pass", "architect_verified", "re_review_clean"] {
        assert!(!gated.gate_is_open(gate), "{gate}");
    }
    gated.git(&["commit", "-qm", "work"], false);
    gated.held();
}

/// Level 0: without its journal the run would look like one that another program began, and be believed.
#[test]
fn removing_what_bowline_keeps_opens_nothing_by_itself() {
    let gated = Gated::new().agent();
    let kept = gated.0.root().join("home/state/bowline");
    assert!(gated.hook(&format!("rm -rf {}", kept.display())).is_some());
    std::fs::remove_dir_all(&kept).unwrap();
    let forged = gated.0.read(STATE).replace("false", "true");
    gated.0.write(STATE, forged);
    gated.0.quietly("develop status", 4);
    gated.git(&["commit", "-qm", "work"], false);
    assert!(gated.hook("git commit -m work").is_some());
    gated.0.quietly("doctor --repair", 0);
    for gate in ["review_clean_pass", "architect_verified", "re_review_clean"] {
        assert!(!gated.gate_is_open(gate), "{gate}");
    }
    gated.held();
    // Whoever also takes the mark out of the folder of git is not held at this level. The evidence is gone with it.
    std::fs::remove_dir_all(&kept).unwrap();
    std::fs::remove_file(gated.0.path(".git/bowline/develop-run")).unwrap();
    let forged = gated.0.read(STATE).replace("false", "true");
    gated.0.write(STATE, forged);
    gated.git(&["commit", "-qm", "work"], true);
    gated.0.quietly("verify", 1);
}

/// Level 1: a tracer. At level 0 the kernel's own settings decide, and nothing is claimed.
#[test]
fn in_the_sandbox_the_shim_is_not_traced() {
    let gated = Gated::new();
    let report = gated.0.run("run-agent --sandbox-report");
    if !report.contains("files") || report.contains("no sandbox") {
        return skip_test(MissingRequirement::Landlock, "this kernel has no Landlock");
    }
    let number = match std::env::consts::ARCH {
        "x86_64" => 101,
        "aarch64" => 117,
        _ => {
            return skip_test(
                MissingRequirement::SystemCall,
                "the number of ptrace is not known here",
            );
        }
    };
    let perl = gated.0.program("perl").args(["-e", "1"]).output();
    if !perl.is_ok_and(|output| output.status.success()) {
        return skip_test(
            MissingRequirement::Program,
            "there is no perl to call the kernel with",
        );
    }
    // Seizing does not stop what is traced, and ends with the tracer; attaching would stop the shim.
    let attempt = |request: u32| {
        format!(
            "perl -e '$! = 0; $r = syscall({number}, {request}, $ARGV[0] + 0, 0, 0); \
             print $r == 0 ? \"TRACED {request}\" : \"refused {request}: $!\", \"\\n\"' $PPID\n"
        )
    };
    const SEIZE: u32 = 0x4206;
    const ATTACH: u32 = 16;
    gated.0.write(
        "try.sh",
        format!("{}{}echo tried\n", attempt(SEIZE), attempt(ATTACH)),
    );
    let told = gated.0.run("run-agent --sandbox -- sh try.sh");
    assert!(told.contains("tried"), "{told}");
    for request in [SEIZE, ATTACH] {
        assert!(
            told.contains(&format!("refused {request}: Operation not permitted")),
            "{told}"
        );
    }
    gated
        .0
        .write("free.sh", format!("{}echo tried\n", attempt(SEIZE)));
    let free = gated.0.run("run-agent -- sh free.sh");
    assert!(
        free.contains(&format!("TRACED {SEIZE}")) || free.contains(&format!("refused {SEIZE}")),
        "{free}"
    );
}

#[test]
fn another_worktree_has_the_same_gates() {
    let gated = Gated::new();
    let other = gated.0.root().join("other");
    gated.git(
        &[
            "worktree",
            "add",
            "-q",
            "-b",
            "aside",
            other.to_str().unwrap(),
        ],
        true,
    );
    std::fs::write(other.join("src.txt"), "work\n").unwrap();
    let output = gated.git_in(&other, &["commit", "-qam", "work"]);
    assert!(!output.status.success());
    let told = text(&output.stderr);
    assert!(told.contains("[PHASE GATE]"), "{told}");
}

#[test]
fn a_clone_is_free_but_its_work_does_not_come_back() {
    let gated = Gated::new();
    let clone = gated.0.root().join("clone");
    gated.git(&["clone", "-q", ".", clone.to_str().unwrap()], true);
    std::fs::write(clone.join("src.txt"), "work\n").unwrap();
    let commit = [
        "-c",
        "user.name=N",
        "-c",
        "user.email=n@localhost",
        "commit",
        "-qam",
        "work",
    ];
    assert!(
        gated.git_in(&clone, &commit).status.success(),
        "level 0 does not stop this"
    );
    let pushed = gated.git_in(&clone, &["push", "-q", "origin", "HEAD:refs/heads/back"]);
    assert!(!pushed.status.success());
    let fetched = gated.git_in(
        &gated.0.path(""),
        &["pull", "-q", clone.to_str().unwrap(), "HEAD"],
    );
    assert!(!fetched.status.success());
    gated.held();
}

#[test]
fn an_agent_that_unsets_its_variables_is_still_one() {
    let gated = Gated::new().agent();
    let bowline = env!("CARGO_BIN_EXE_bowline");
    let mut shell = gated.0.program("sh");
    shell.args([
        "-c",
        &format!("env -u CLAUDECODE {bowline} undo develop; exit $?"),
    ]);
    let output = shell.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("needs_person"));
}

#[test]
fn leaving_the_first_hook_out_meets_the_second() {
    let gated = Gated::new();
    gated.git(&["commit", "-n", "-qm", "work"], false);
    gated.git(&["commit", "--no-verify", "-qm", "work"], false);
    gated.git(&["commit", "--amend", "-n", "-qm", "work"], false);
    gated.held();
}

#[test]
fn plumbing_moves_no_branch() {
    let gated = Gated::new();
    let tree = gated.git(&["write-tree"], true);
    let commit = gated.git(&["commit-tree", "-m", "work", "-p", "HEAD", &tree], true);
    let branch = gated.git(&["symbolic-ref", "HEAD"], true);
    gated.git(&["update-ref", &branch, &commit], false);
    gated.git(&["update-ref", "HEAD", &commit], false);
    gated.git(&["branch", "aside", &commit], false);
    gated.git(&["merge", "--ff-only", "-q", &commit], false);
    gated.git(&["reset", "-q", "--soft", &commit], false);
    gated.git(&["checkout", "-q", "--detach"], true);
    gated.git(&["reset", "-q", "--hard"], true);
    gated.git(&["cherry-pick", &commit], false);
    assert!(
        gated
            .hook(&format!("git update-ref {branch} {commit}"))
            .is_some()
    );
    gated.held();
}

#[test]
fn without_gits_hooks_the_agents_hook_holds() {
    let gated = Gated::new().agent();
    for command in [
        "git -c core.hooksPath=/dev/null commit -m work",
        "git config core.hooksPath /dev/null && git commit -m work",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit -m work",
    ] {
        assert!(gated.hook(command).is_some(), "{command}");
    }
    // A script that is not seen by the agent's hook gets through here: level 0 claims no more. The evidence tells.
    gated.git(
        &["-c", "core.hooksPath=/dev/null", "commit", "-qm", "work"],
        true,
    );
    let told = gated.0.run("verify");
    assert!(
        told.contains("'re_review_clean' is closed in phase PR"),
        "{told}"
    );
    assert!(told.contains("[exit 1]"), "{told}");
}

#[test]
fn a_guard_does_not_look_where_it_is_told_to_look() {
    let gated = Gated::new();
    let elsewhere = gated.0.root().join("home");
    let gated = Gated(
        gated
            .0
            .with("BOWLINE_WORKSPACE", elsewhere.to_str().unwrap()),
    );
    gated.git(&["commit", "-qm", "work"], false);
    assert!(gated.hook("git commit -m work").is_some());
    gated.held();
}

#[test]
fn a_call_that_cannot_be_read_is_denied() {
    let gated = Gated::new().agent();
    gated.0.quietly("develop gate reset architect_verified", 0);
    for message in [
        r#"{"tool_name": "Bash", "tool_input": {}}"#,
        r#"{"tool_name": "Bash", "tool_input": null}"#,
        r#"{"tool_name": "Bash", "tool_input": "git push"}"#,
        r#"{"tool_name": "Bash", "tool_input": {"command": null}}"#,
        r#"{"tool_name": "Write", "tool_input": null}"#,
        r#"{"tool_name": "Write"}"#,
        "{}",
        "not json",
    ] {
        let hook = [env!("CARGO_BIN_EXE_bowline"), "hook", "pre-tool-use"];
        let output = fed(gated.0.hook(&hook), message.as_bytes());
        assert_eq!(output.status.code(), Some(2), "{message}");
    }
}

#[test]
fn programs_of_the_same_name_are_not_asked() {
    let gated = Gated::new();
    let fakes = gated.0.root().join("fakes");
    std::fs::create_dir(&fakes).unwrap();
    for name in ["bowline", "bowline-shim"] {
        write_executable(&fakes.join(name), "#!/bin/sh\nexit 0\n");
    }
    let path = format!("{}:{}", fakes.display(), std::env::var("PATH").unwrap());
    let gated = Gated(gated.0.with("PATH", &path));
    gated.git(&["commit", "-qm", "work"], false);
    assert!(gated.hook("git commit -m work").is_some());
    gated.held();
}

#[test]
fn hooks_that_were_there_before_still_run_and_come_back() {
    let gated = Gated::new();
    gated.0.quietly("init --uninstall", 0);
    assert!(!gated.0.path(".claude/settings.json").exists());
    assert!(!gated.0.path(".claude/settings.local.json").exists());
    let hooks = gated.0.path(".git/hooks");
    write_executable(
        &hooks.join("pre-commit"),
        "#!/bin/sh\necho ran >> ran.log\n",
    );
    write_executable(
        &hooks.join("reference-transaction"),
        "#!/bin/sh\ncat >> moves.log\n",
    );
    gated.0.quietly("init", 0);
    let again = gated.0.run("init");
    assert!(again.contains("installed already"), "{again}");
    gated.0.write("code.ok", "");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    gated.git(&["add", "-A"], true);
    gated.git(&["commit", "-qm", "work"], true);
    assert_eq!(gated.0.read("ran.log"), "ran\n");
    assert!(gated.0.read("moves.log").contains("refs/heads/"));
    gated.0.quietly("init --uninstall", 0);
    let before = std::fs::read_to_string(hooks.join("pre-commit")).unwrap();
    assert_eq!(before, "#!/bin/sh\necho ran >> ran.log\n");
    assert!(!hooks.join("pre-commit.before-bowline").exists());
    assert!(!hooks.join("pre-push").exists());
}

#[test]
fn every_client_gets_its_hooks_and_loses_them_again() {
    let world = TestEnvironment::repository();
    let theirs = "{\n  \"theme\": \"dark\"\n}\n";
    world.write(".gemini/settings.json", theirs);
    let before = world.everything();
    world.quietly(
        "init --agent claude --agent codex --agent gemini --agent opencode",
        0,
    );
    let settings = world.read(".gemini/settings.json");
    assert!(settings.contains("\"BeforeTool\""), "{settings}");
    assert!(settings.contains("\"theme\": \"dark\""), "{settings}");
    let again = world.run("init");
    assert!(again.contains("installed already"), "{again}");
    world.quietly("init --uninstall", 0);
    let mut after = world.everything();
    // Git's own list of what it ignores may be made by us, and stays.
    after.retain(|path, _| before.contains_key(path) || !path.ends_with(".git/info/exclude"));
    assert_eq!(after, before);

    // A plugin of that name that is not ours is neither replaced nor removed.
    world.write(".opencode/plugins/bowline.js", "export const Knot = 1\n");
    world.quietly("init --agent opencode", 2);
    world.quietly("init --uninstall", 0);
    assert!(world.read(".opencode/plugins/bowline.js").contains("Knot"));
}

#[test]
fn an_agent_does_not_take_the_hooks_out() {
    let gated = Gated::new().agent();
    gated.0.quietly("init --uninstall", 1);
    gated.git(&["commit", "-qm", "work"], false);
}

/// Level 1: what an agent in the sandbox tries against the state of its run.
#[test]
fn in_the_sandbox_journal_and_seal_are_not_written_and_the_shim_is_out_of_reach() {
    let gated = Gated::new();
    let report = gated.0.run("run-agent --sandbox-report");
    if !report.contains("files") || report.contains("no sandbox") {
        return skip_test(MissingRequirement::Landlock, "this kernel has no Landlock");
    }
    let journal = gated.0.side().join("state.json.journal.jsonl");
    let seal = gated.0.run_folder().join("seal.json");
    let before = [
        std::fs::read(&journal).unwrap(),
        std::fs::read(&seal).unwrap(),
    ];
    let script = format!(
        "echo x >> '{journal}' && echo WROTE-JOURNAL; cat '{seal}' > /dev/null && echo READ-SEAL; \
         rm -f '{seal}' && echo REMOVED-SEAL; kill -9 $PPID && echo KILLED-SHIM; \
         cat /proc/$PPID/environ > /dev/null && echo TRACED-SHIM; echo tried",
        journal = journal.display(),
        seal = seal.display()
    );
    gated.0.write("try.sh", script);
    let told = gated.0.run("run-agent --sandbox -- sh try.sh");
    assert!(told.contains("tried"), "{told}");
    // Its hooks decide by the seal, and tell it what is in it.
    assert!(told.contains("\nREAD-SEAL\n"), "{told}");
    for word in [
        "WROTE-JOURNAL",
        "REMOVED-SEAL",
        "KILLED-SHIM",
        "TRACED-SHIM",
    ] {
        let lines = told.lines().filter(|line| *line == word);
        assert_eq!(lines.count(), 0, "{told}");
    }
    assert_eq!(
        before,
        [
            std::fs::read(&journal).unwrap(),
            std::fs::read(&seal).unwrap()
        ]
    );
}

/// Level 2: evidence signed with a key the agent cannot read.
#[test]
fn evidence_that_was_made_up_is_not_verified() {
    let gated = Gated::new();
    gated.0.write("code.ok", "");
    gated.0.quietly("develop gate pass re_review_clean", 0);
    let key = gated.0.root().join("key");
    std::fs::write(&key, "a key that only the server has\n").unwrap();
    // All gates are open, and nothing was signed.
    gated
        .0
        .quietly(&format!("verify --key {}", key.display()), 1);
}
