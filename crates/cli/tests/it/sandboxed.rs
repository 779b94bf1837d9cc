//! Agents in a sandbox: what they are granted, and that they work there as they would outside.

use crate::environment::{TestEnvironment, text};
use bowline_engine::supervisor::relay::{self, RelayRequest};
use bowline_engine::supervisor::{RELAY_VARIABLE, SandboxSupport};
use bowline_test_support::{MissingRequirement, skip_test};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

/// By which the test's own program knows that it is the agent.
const PART: &str = "BOWLINE_TEST_PART";

/// Whether the sandbox can be tried here.
pub(crate) fn enforced() -> bool {
    let whole = SandboxSupport::detect_features()
        .feature_rows()
        .iter()
        .all(|(_, _, there)| *there);
    if !whole {
        skip_test(
            MissingRequirement::WholeSandbox,
            "this kernel enforces a part of the sandbox only",
        );
    }
    whole
}

/// A world with our programs where an agent finds them.
pub(crate) fn with_programs(world: TestEnvironment) -> TestEnvironment {
    let ours = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
    let path = format!("{}:{}", ours.display(), std::env::var("PATH").unwrap());
    world.with("PATH", &path)
}

/// A repository with a run at its first checkpoint, whose first gate is open.
pub(crate) fn working() -> TestEnvironment {
    let world = TestEnvironment::implementing();
    world.quietly("develop checkpoint start cp-1", 0);
    with_programs(world)
}

/// Runs a script in the sandbox.
pub(crate) fn sandboxed(world: &TestEnvironment, options: &str, script: &str) -> Output {
    let script_file = world.path("script.sh");
    std::fs::write(script_file, script).unwrap();
    let line = format!("run-agent --sandbox {options} -- sh script.sh");
    world.bowline(&line).output().unwrap()
}

fn no_attempts(world: &TestEnvironment) {
    let list = world.json("attach --json", 0);
    assert_eq!(list["attempts"], json!([]));
}

/// The shell's folder is gone: no path leads to it, and the root of the file system is not meant.
#[test]
fn from_a_folder_that_was_removed_nothing_is_started() {
    for options in ["--sandbox", "", "--sandbox --dry-run"] {
        let world = TestEnvironment::new();
        std::fs::create_dir(world.path("sub")).unwrap();
        let script = format!(
            "rmdir ../sub; {} run-agent {options} -- sh -c 'pwd; ls /; touch ran'",
            env!("CARGO_BIN_EXE_bowline")
        );
        let mut shell = world.program("sh");
        let shell = shell.args(["-c", &script]).current_dir(world.path("sub"));
        let output = shell.output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.contains("error[no_folder]"), "{told}");
        assert_eq!(text(&output.stdout), "");
        no_attempts(&world);
    }
}

/// The prompt of a task of the server is not in a folder that a person named; its agent reads it all the same, and no other's.
#[test]
fn the_agent_of_a_task_reads_its_own_prompt_outside_of_its_folder() {
    if !enforced() {
        return;
    }
    let world = TestEnvironment::new();
    let tasks = world.root().join("data/tasks");
    for task in ["task_1", "task_2"] {
        let folder = tasks.join(task).join(".metadata");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("prompt-1.md"), format!("Work on {task}\n")).unwrap();
    }
    let prompt = tasks.join("task_1/.metadata/prompt-1.md");
    let other = tasks.join("task_2/.metadata/prompt-1.md");
    let world = world
        .with("BOWLINE_TASK_ID", "task_1")
        .with("BOWLINE_PROMPT_FILE", prompt.to_str().unwrap());
    let script = format!(
        "cat {}; cat {} || echo closed; touch {}/x || echo kept",
        prompt.display(),
        other.display(),
        tasks.join("task_1").display(),
    );
    let output = sandboxed(&world, "", &script);
    assert_eq!(text(&output.stdout), "Work on task_1\nclosed\nkept\n");
}

/// What an earlier agent left in its folder does not say what the next one is granted.
#[test]
fn a_root_that_is_a_planted_link_is_refused() {
    let world = TestEnvironment::new();
    let root = world.root();
    std::fs::create_dir_all(root.join("common/deep")).unwrap();
    std::fs::create_dir(world.path("real")).unwrap();
    for (target, link) in [
        ("/", "project/out"),
        ("../home", "project/near"),
        ("../way", "project/long"),
        ("/etc", "way"),
        ("real", "project/within"),
        ("project/out", "round"),
        ("common", "beside"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let planted = [
        "--write out",
        "--write near",
        "--write near/state",
        "--write long",
        "--read out",
        "--dir out",
        // The link itself lies elsewhere, and leads through the agent's.
        "--write ../round",
    ];
    std::fs::create_dir_all(root.join("home/state")).unwrap();
    for options in planted {
        let output = world
            .bowline(&format!("run-agent --sandbox {options} -- true"))
            .output()
            .unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{options}: {told}");
        assert!(
            told.contains("error[root_through_link]"),
            "{options}: {told}"
        );
    }
    let told = world.run("run-agent --sandbox --write out -- true");
    assert!(told.contains("project/out is a link out of"), "{told}");
    no_attempts(&world);
    // A link that stays within the folder, and one of the person's own, are followed: what is granted is where they lead.
    for (options, granted) in [
        ("--write within", "project/real"),
        ("--write ../beside/deep", "common/deep"),
        ("--write ../common", "common"),
    ] {
        let line = format!("run-agent --sandbox-report --sandbox {options} --json -- true");
        let report = world.json(&line, 0);
        let write = report["write"].as_array().unwrap();
        assert!(write.contains(&json!(root.join(granted))), "{report}");
        let links = write
            .iter()
            .filter(|it| Path::new(it.as_str().unwrap()).is_symlink());
        assert_eq!(links.count(), 0, "{report}");
    }
}

/// A `.git` that names another repository does not make that repository's run this agent's.
#[test]
fn a_planted_git_link_does_not_open_another_repository() {
    let world = with_programs(TestEnvironment::repository());
    let other = world.root().join("other");
    std::fs::create_dir(&other).unwrap();
    world.git_in(&other, &["init", "-q"]);
    let started = world
        .bowline("develop start 'Of others'")
        .current_dir(&other)
        .output();
    assert!(started.unwrap().status.success());
    let plain = world.root().join("plain");
    std::fs::create_dir(&plain).unwrap();
    std::fs::write(
        plain.join(".git"),
        format!("gitdir: {}\n", other.join(".git").display()),
    )
    .unwrap();
    let line = "run-agent --sandbox-report --json --sandbox -- true";
    let report = world.bowline(line).current_dir(&plain).output().unwrap();
    let report = text(&report.stdout);
    assert!(
        !report.contains("other") && !report.contains("bowline/develop"),
        "{report}"
    );
    // A worktree that the repository itself knows of is another matter.
    let tree = world.root().join("tree");
    world.git_in(&other, &["commit", "-q", "--allow-empty", "-m", "x"]);
    world.git_in(&other, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    let report = world.bowline(line).current_dir(&tree).output().unwrap();
    let report = text(&report.stdout);
    assert!(
        report.contains("other/.git") && report.contains("bowline/develop"),
        "{report}"
    );
}

/// The gate decides inside as it does outside, and the agent's temporary files are its own.
#[test]
fn in_a_sandbox_the_gate_lets_an_agent_write_and_use_its_temporary_folder() {
    if !enforced() {
        return;
    }
    let world = working();
    let message = |tool: &str, input: &str| {
        format!(
            "printf '%s' '{{\"session_id\":\"s\",\"cwd\":\"'\"$PWD\"'\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"{tool}\",\"tool_input\":{input}}}' | bowline hook; echo \"{tool} $?\"\n"
        )
    };
    let write = |path: &str| format!("{{\"file_path\":\"'\"{path}\"'\",\"content\":\"x\"}}");
    let script = [
        message("Write", &write("$PWD/src/new.txt")),
        message("Write", &write("$TMPDIR/notes")),
        message(
            "Bash",
            "{\"command\":\"echo x > '\"$TMPDIR/notes\"' && cat < '\"$TMPDIR/notes\"'\"}",
        ),
        message("Write", &write("$PWD/.develop-workflow/state.json")),
        message("Write", &write("${TMPDIR%/*}/exit.json")),
    ]
    .concat();
    let output = sandboxed(&world, "", &script);
    let said = text(&output.stdout);
    assert_eq!(
        said,
        "Write 0\nWrite 0\nBash 0\nWrite 2\nWrite 2\n",
        "{}",
        text(&output.stderr)
    );
    // Closed again, they are closed inside too.
    world.quietly("develop gate reset review_clean_pass", 0);
    let output = sandboxed(&world, "", &message("Write", &write("$PWD/src/new.txt")));
    assert_eq!(text(&output.stdout), "Write 2\n");
    assert!(text(&output.stderr).contains("closed gates: review_clean_pass"));
}

/// Every verb that takes a run to its end, with the same words and codes as outside.
#[test]
fn in_a_sandbox_an_agent_takes_its_run_to_the_end() {
    if !enforced() {
        return;
    }
    let lines = [
        "develop status",
        "develop checkpoint fail cp-1 --class LOGIC_ERROR",
        "develop checkpoint pass cp-1 --run 'echo $((6 * 7)); test -f build.ok'",
        "develop checkpoint pass cp-1 --run 'echo no; exit 3'",
        "develop checkpoint pass cp-1",
        "develop checkpoint start cp-2 --json",
        "develop checkpoint pass cp-2 --lang ko",
        "develop gate pass architect_verified",
        "develop pr",
        "develop done",
        "develop gate pass re_review_clean",
        "verify",
        "develop done",
        "develop status",
        "status develop",
        "develop checkpoint start no-such",
    ];
    let run = |inside: bool| {
        let world = working();
        for name in ["build.ok", "code.ok"] {
            world.write(name, "");
        }
        let script: String = lines
            .iter()
            .map(|line| {
                format!(
                    "echo '$ {}'; bowline {line} 2>&1; echo \"[$?]\"\n",
                    line.replace('\'', "")
                )
            })
            .collect();
        world.write("script.sh", &script);
        let output = match inside {
            true => sandboxed(&world, "", &script),
            false => world.program("sh").arg("script.sh").output().unwrap(),
        };
        world.normal(&text(&output.stdout))
    };
    let (inside, outside) = (run(true), run(false));
    assert_eq!(inside, outside);
    assert!(inside.contains("DONE"), "{inside}");
}

/// The other kinds, a value on standard input, and what is not the agent's to do.
#[test]
fn in_a_sandbox_every_kind_has_its_verbs_and_a_person_keeps_theirs() {
    if !enforced() {
        return;
    }
    let world = working();
    let key = world.root().join("home/key");
    std::fs::write(&key, "a key that only the person has\n").unwrap();
    let world = world.with("BOWLINE_EVIDENCE_KEY_FILE", key.to_str().unwrap());
    let script = "\
        bowline memory init >/dev/null; echo \"memory $?\"\n\
        printf '{\"ferry\": 7}' | bowline memory context set notes - >/dev/null; echo \"stdin $?\"\n\
        bowline thinking new essay --dir essays/one >/dev/null; echo \"thinking $?\"\n\
        bowline develop gate pass re_review_clean --by-hand because; echo \"by hand $?\"\n\
        bowline undo develop --state-only; echo \"undo $?\"\n\
        bowline develop seal; echo \"seal $?\"\n\
        bowline develop checkpoint pass cp-1 --run 'cat \"$BOWLINE_EVIDENCE_KEY_FILE\"'; echo \"key $?\"\n\
        cat \"$BOWLINE_EVIDENCE_KEY_FILE\"; echo \"cat $?\"\n\
        (cd / && bowline memory init); echo \"elsewhere $?\"\n\
        bowline -C \"${PWD%/*}/home\" memory init; echo \"named $?\"\n\
        bowline thinking new x --dir ../home/essay; echo \"dir $?\"\n";
    let output = sandboxed(&world, "", script);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    let codes: Vec<&str> = said
        .lines()
        .filter(|line| line.chars().last().is_some_and(|it| it.is_ascii_digit()))
        .collect();
    let wanted = [
        "memory 0",
        "stdin 0",
        "thinking 0",
        "by hand 1",
        "undo 1",
        "seal 1",
        "key 1",
        "cat 1",
        "elsewhere 70",
        "named 70",
        "dir 70",
    ];
    assert_eq!(codes, wanted, "{said}\n{told}");
    assert!(
        !said.contains("a key that") && !told.contains("a key that"),
        "{said}\n{told}"
    );
    assert!(told.contains("error[needs_person]"), "{told}");
    let kept = world.quietly("memory context get notes --json", 0).stdout;
    assert!(text(&kept).contains("\"ferry\": 7") || text(&kept).contains("\"ferry\":7"));
    // What was run for it is signed with the key it never saw.
    let evidence = std::fs::read_to_string(world.run_folder().join("evidence.jsonl")).unwrap();
    let last: Value = serde_json::from_str(evidence.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["by"], last["signature"].is_string()),
        (&json!("agent"), true)
    );
    assert!(!world.root().join("home/essay").exists());
    assert!(!world.root().join("home/.claude").exists());
}

/// Everything that runs code of the agent's outside would be its way out: commands of its own, those a person sealed, and
/// what its repository has git run.
#[test]
fn what_is_run_for_an_agent_outside_is_in_its_sandbox() {
    if !enforced() {
        return;
    }
    let world = working();
    let home = world.root().join("home");
    std::fs::write(home.join("secret"), "a person's token").unwrap();
    // The sealed command of the gate is `echo 12 tests && test -f build.ok`; this agent puts an `echo` and a `git` before it.
    let escape = "cat ../home/secret; touch ../home/escaped; touch ../home/state/bowline/escaped";
    let script = format!(
        "git config filter.out.clean '{escape} >&2; cat'\n\
         echo '* filter=out' > .gitattributes\n\
         git config core.fsmonitor '{escape}'\n\
         bowline develop checkpoint pass cp-1 --run '{escape}; true'; echo \"pass $?\"\n\
         bowline develop checkpoint start cp-2 --run x 2>/dev/null\n\
         bowline develop gate pass architect_verified; bowline verify; echo tried\n"
    );
    let output = sandboxed(&world, "", &script);
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(said.contains("pass 0") && said.contains("tried"), "{said}");
    assert!(!said.contains("a person's token"), "{said}");
    assert!(!home.join("escaped").exists(), "{said}");
    assert!(!home.join("state/bowline/escaped").exists(), "{said}");
}

/// The part of an agent that speaks on the channel itself.
#[test]
fn an_agent_that_asks_for_whatever_it_likes() {
    if std::env::var_os(PART).is_none() {
        return;
    }
    let socket = PathBuf::from(std::env::var_os(RELAY_VARIABLE).unwrap());
    let here = std::env::current_dir().unwrap();
    for line in [
        "run-agent -- touch ../home/escaped",
        "attach",
        "init",
        "scripted x.toml",
        "hook",
        "relayed . memory init",
        "shim start .",
        "undo develop",
        "completions bash",
        "--help",
    ] {
        let words = line.split(' ').map(str::to_owned).collect();
        let mut told = String::new();
        let asked = RelayRequest::new(words, here.clone(), String::new());
        let code = relay::run_outside(&socket, &asked, |_, bytes| told.push_str(&text(bytes)));
        report(&format!(
            "{line}: {} {}",
            code.unwrap(),
            told.lines().next().unwrap_or("")
        ));
    }
    // Too much at once is not read.
    let asked = RelayRequest::new(vec!["memory".into()], here, "x".repeat(5 << 20));
    report(&format!(
        "large: {}",
        relay::run_outside(&socket, &asked, |_, _| {}).is_err()
    ));
}

fn report(line: &str) {
    #[expect(clippy::print_stdout, reason = "what an agent says is its output")]
    {
        println!("| {line}");
    }
}

#[test]
fn only_verbs_of_agents_pass_the_channel() {
    if !enforced() {
        return;
    }
    let world = working().with(PART, "agent");
    let me = std::env::current_exe().unwrap();
    let line = format!(
        "run-agent --sandbox --read {me} -- {me} --exact sandboxed::an_agent_that_asks_for_whatever_it_likes --nocapture",
        me = me.display()
    );
    let output = world.bowline(&line).output().unwrap();
    let said = text(&output.stdout);
    let rows: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .collect();
    assert_eq!(rows.len(), 11, "{said}\n{}", text(&output.stderr));
    for row in &rows[..10] {
        let told = match row.split(": ").next().unwrap() {
            "shim start ." | "relayed . memory init" => "2 error[usage]",
            "--help" => "0 Durable state for the work",
            _ => "1 error[not_relayed]",
        };
        assert!(row.contains(told), "{row}");
    }
    assert_eq!(rows[10], "large: true");
    assert!(!world.root().join("home/escaped").exists());
}

/// The channel is its agent's alone: whoever stands elsewhere finds it closed.
#[test]
fn nobody_else_uses_the_channel_of_an_agent() {
    if !enforced() {
        return;
    }
    let world = with_programs(TestEnvironment::new());
    let line = "run-agent --sandbox --detach -- sh -c 'until test -e go; do sleep 0.02; done'";
    let id = text(&world.quietly(line, 0).stdout).trim().to_owned();
    let socket = world
        .root()
        .join("home/state/bowline/attempts")
        .join(&id)
        .join("relay");
    assert!(socket.exists());
    let words = ["memory", "init"].map(str::to_owned).to_vec();
    let asked = RelayRequest::new(words, world.path("."), String::new());
    let refused = relay::run_outside(&socket, &asked, |_, _| {});
    assert_eq!(refused.unwrap_err().code(), "relay_failed");
    assert!(!world.path(".claude").exists());
    world.write("go", "");
    world.quietly(&format!("attach {id} --end"), 0);
}

/// More than are served at once: the rest waits its turn, and nothing is lost.
#[test]
fn many_verbs_of_a_sandboxed_agent_at_once_are_all_carried_out() {
    if !enforced() {
        return;
    }
    let world = with_programs(TestEnvironment::new());
    world.quietly("memory init", 0);
    let script =
        "for i in $(seq 1 20); do bowline memory context set n$i $i >/dev/null & done; wait";
    let output = sandboxed(&world, "", script);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for number in 1..=20 {
        let kept = world.quietly(&format!("memory context get n{number}"), 0);
        assert_eq!(text(&kept.stdout).trim(), number.to_string());
    }
}

/// What a known client needs is granted, its settings for reading only; saying so makes nothing.
#[test]
fn what_a_client_would_be_granted_is_told_and_nothing_is_made() {
    let world = with_programs(TestEnvironment::new());
    let home = world.root().join("home");
    let codex = world.root().join("codex");
    std::fs::write(&codex, "#!/bin/sh\n").unwrap();
    std::fs::create_dir(home.join(".codex")).unwrap();
    std::fs::write(home.join(".codex/config.toml"), "").unwrap();
    let before = std::fs::read_dir(&home).unwrap().count();
    let codex = codex.display();
    let line = format!("run-agent --sandbox-report --json -- {codex} exec x");
    let report = world.json(&line, 0);
    assert_eq!(report["client"], "codex");
    let has = |key: &str, path: &str| {
        let roots = report[key].as_array().unwrap();
        roots.contains(&json!(home.join(path)))
    };
    assert!(
        has("read", ".codex") && has("write", ".codex/sessions"),
        "{report}"
    );
    assert!(
        !has("write", ".codex") && !has("write", ".codex/config.toml"),
        "{report}"
    );
    world.quietly(&format!("--dry-run run-agent --sandbox -- {codex}"), 0);
    assert_eq!(std::fs::read_dir(&home).unwrap().count(), before);
    assert!(!home.join(".codex/sessions").exists());
}

/// Git reads the settings of its user before anything else, and ends with 128 where they cannot be read.
#[test]
fn in_a_sandbox_git_works_for_a_user_who_has_settings_of_git() {
    if !enforced() {
        return;
    }
    let world = working();
    let home = world.root().join("home");
    std::fs::create_dir_all(home.join("config/git")).unwrap();
    std::fs::create_dir_all(home.join("dotfiles")).unwrap();
    let written = [
        (
            "dotfiles/gitconfig",
            "[user]\n name = Ann\n email = ann@localhost\n[include]\n path = ~/work.inc\n",
        ),
        ("work.inc", "[core]\n excludesFile = ~/ignored\n"),
        ("ignored", "*.secret\n"),
        (
            "config/git/config",
            "[alias]\n here = rev-parse --show-toplevel\n",
        ),
        ("config/git/credentials", "https://ann:token@host\n"),
        (".git-credentials", "https://ann:token@host\n"),
    ];
    for (name, content) in written {
        std::fs::write(home.join(name), content).unwrap();
    }
    // As programs that manage such files leave it.
    symlink("dotfiles/gitconfig", home.join(".gitconfig")).unwrap();
    world.write("build.ok", "");
    world.write("x.secret", "");
    let script = "\
        git config user.name; git here >/dev/null && git status --short | grep -c secret\n\
        bowline develop checkpoint pass cp-1 --run true >/dev/null; echo \"pass $?\"\n\
        bowline develop checkpoint start cp-2 >/dev/null; echo \"start $?\"\n\
        cat ../home/.git-credentials ../home/config/git/credentials || echo closed\n\
        echo x >> ../home/.gitconfig || echo kept\n";
    let output = sandboxed(&world, "", script);
    let told = text(&output.stderr);
    assert_eq!(
        text(&output.stdout),
        "Ann\n0\npass 0\nstart 0\nclosed\nkept\n",
        "{told}"
    );
}

/// Settings that an agent may write do not say what the next one may read.
#[test]
fn settings_of_git_in_a_folder_of_the_agent_grant_nothing_further() {
    let world = with_programs(TestEnvironment::repository());
    let home = world.root().join("home");
    std::fs::write(home.join("secret"), "x").unwrap();
    let include = format!("[include]\n path = {}\n", world.path("inc").display());
    std::fs::write(home.join(".gitconfig"), include).unwrap();
    world.write("inc", "[core]\n excludesFile = ~/secret\n");
    let report = world.data("run-agent --sandbox-report --json -- true", 0);
    assert!(report.contains("home/.gitconfig"), "{report}");
    assert!(!report.contains("home/secret"), "{report}");
}

/// A toolchain in the home is not granted by itself; what is missing is named with the option that grants it.
#[test]
fn a_toolchain_in_the_home_is_named_with_the_option_that_grants_it() {
    if !enforced() {
        return;
    }
    let world = TestEnvironment::new();
    let home = world.root().join("home");
    let bin = home.join(".tools/v1/bin");
    std::fs::create_dir_all(&bin).unwrap();
    world.write("tool", "#!/bin/sh\ncat \"${0%/bin/*}/lib\"\n");
    std::fs::write(home.join(".tools/v1/lib"), "works\n").unwrap();
    let install = ["-m", "755", "tool", bin.to_str().unwrap()];
    let installed = world.program("install").args(install).status();
    assert!(installed.unwrap().success());
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let world = world.with("PATH", &path);
    let output = sandboxed(&world, "", "tool");
    let told = text(&output.stderr);
    let flag = format!("--read {}", home.join(".tools/v1").display());
    assert!(!output.status.success(), "{told}");
    assert!(told.contains(&flag), "{told}");
    let report = world.json("run-agent --sandbox-report --json -- true", 0);
    assert_eq!(report["missing"], json!([home.join(".tools/v1")]));
    let output = sandboxed(&world, &flag, "tool");
    let told = text(&output.stderr);
    assert_eq!(text(&output.stdout), "works\n", "{told}");
    assert!(!told.contains("--read"), "{told}");
}
