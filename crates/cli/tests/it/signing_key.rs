//! The key that evidence is signed with stays out of reach of the code that is tested.

use crate::environment::{TestEnvironment, text};
use crate::sandboxed::enforced;
use bowline_engine::supervisor::Sandbox;
use bowline_test_support::wait_until;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

const PASS: &str = "develop gate pass review_clean_pass";
const KEY: &str = "a key nobody guesses\n";
const VARIABLE: &str = "BOWLINE_EVIDENCE_KEY_FILE";

/// Longer than a checkout takes on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

/// Landlock stacks so many sandboxes, and refuses one more.
const LAYERS_MAX: usize = 16;

/// What tested code tries that knows where the key is; prints a line for each thing it got.
const ATTACK: &str = r#"
key=$(cat where)
tell() { echo "LEAK $*"; }
for path in "$key" "/proc/self/root$key" "/proc/$PPID/root$key" "/proc/1/root$key"; do
    cat "$path" >/dev/null 2>&1 && tell path "$path"
done
cp "$key" copy 2>/dev/null && tell copy
ln "$key" hard 2>/dev/null && cat hard >/dev/null 2>&1 && tell link
field() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f"$2"; }
pid=$$
while [ "$pid" -gt 1 ]; do
    pid=$(field "$pid" 2)
    [ "$pid" -gt 0 ] || break
    # The shells of the command itself are in its sandbox.
    [ "$(field "$pid" 3)" = "$(field $$ 3)" ] && continue
    echo "ancestor $pid"
    cat "/proc/$pid/environ" >/dev/null 2>&1 && tell environ "$pid"
    (exec 4<"/proc/$pid/mem") 2>/dev/null && tell mem "$pid"
    cat "/proc/$pid/maps" >/dev/null 2>&1 && tell maps "$pid"
    readlink "/proc/$pid/fd/0" >/dev/null 2>&1 && tell fds "$pid"
done
for process in /proc/[0-9]*; do
    tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -q EVIDENCE_KEY_FILE && tell environ "$process"
    for fd in "$process"/fd/*; do
        [ -f "$fd" ] && grep -q 'nobody gues[s]es' "$fd" 2>/dev/null && tell fd "$fd"
    done
done
exit 0
"#;

/// A run in REVIEW with a sealed command, and a key in the home.
fn run(command: &str, check: &str) -> (TestEnvironment, PathBuf) {
    let world = TestEnvironment::repository();
    let key = world.root().join("home/keys/evidence.key");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::write(&key, KEY).unwrap();
    let policy = format!("[develop]\n[develop.gates.review_clean_pass]\nrun = '{command}'\n");
    world.write("bowline.toml", policy);
    world.write("check.sh", check);
    world.write("where", key.to_str().unwrap());
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review", 0);
    (world, key)
}

fn last_evidence(world: &TestEnvironment) -> Value {
    let lines = std::fs::read_to_string(world.run_folder().join("evidence.jsonl")).unwrap();
    serde_json::from_str(lines.lines().last().unwrap()).unwrap()
}

/// The shell above has the variable and holds the key's file open, as a CI runner may.
fn pass_below_a_shell(world: &TestEnvironment, key: &PathBuf) -> Output {
    let script = format!(
        "exec 3<\"${VARIABLE}\"; {} {PASS}; exit $?",
        env!("CARGO_BIN_EXE_bowline")
    );
    let mut shell = world.program("sh");
    shell.args(["-c", &script]).env(VARIABLE, key);
    shell.output().unwrap()
}

#[test]
fn tested_code_reads_neither_the_key_nor_any_process_outside() {
    if !enforced() {
        return;
    }
    let (world, key) = run("sh check.sh", ATTACK);
    let output = pass_below_a_shell(&world, &key);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let evidence = last_evidence(&world);
    let said = evidence["output_tail"].as_str().unwrap();
    assert!(said.contains("ancestor "), "{said}");
    assert!(!said.contains("LEAK"), "{said}");
    assert!(evidence["signature"].is_string(), "{evidence}");
    assert_eq!(evidence["unsandboxed"], Value::Null);
    world.quietly("verify --key ../home/keys/evidence.key", 0);
}

/// A red command is no way to the key either.
#[test]
fn a_red_gate_tells_nothing_of_the_key() {
    if !enforced() {
        return;
    }
    let (world, key) = run("sh check.sh; cat \"$(cat where)\"; false", ATTACK);
    let output = pass_below_a_shell(&world, &key);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let evidence = last_evidence(&world).to_string();
    let told = format!("{evidence}{}{}", text(&output.stdout), text(&output.stderr));
    assert!(
        !told.contains("LEAK") && !told.contains("nobody guesses"),
        "{told}"
    );
}

/// Builds and tests do what they did before: all of it is there to be read, and what is theirs to be written.
#[test]
fn signed_commands_work_in_their_sandbox() {
    if !enforced() {
        return;
    }
    let check = "set -e\n\
        mkdir made; echo x > made/file; mv made/file moved; rm -r made\n\
        scratch=$(mktemp -d); echo y > \"$scratch/file\"; cat \"$scratch/file\"\n\
        git log --oneline | grep -c one; git status --short\n\
        test \"$(cat \"$HOME/.toolrc\")\" = settings\n\
        echo z > \"$HOME/.cache/built\"; echo cached >> kept/cache\n\
        sh -c 'sleep 1000 & kill $!'\n\
        if echo planted 2>/dev/null >> \"$HOME/.profile\"; then exit 9; fi\n";
    let (world, key) = run("sh check.sh", check);
    let home = world.root().join("home");
    std::fs::create_dir(home.join(".cache")).unwrap();
    std::fs::write(home.join(".toolrc"), "settings\n").unwrap();
    std::fs::write(home.join(".profile"), "").unwrap();
    world.write(".gitignore", ".develop-workflow/\nkept/\n");
    world.write("kept/cache", "");
    world.write(
        "bowline.toml",
        world
            .read("bowline.toml")
            .replacen("[develop]", "[develop]\nshare = [\"kept\"]", 1),
    );
    world.quietly("develop seal", 0);
    let output = world.bowline(PASS).env(VARIABLE, &key).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert_eq!(world.read("kept/cache"), "cached\n");
    assert_eq!(std::fs::read_to_string(home.join(".profile")).unwrap(), "");
}

/// Starts a command where the kernel gives no further sandbox.
fn without_a_sandbox(mut command: Command) -> Output {
    std::thread::spawn(move || {
        let all = Sandbox {
            read: vec!["/".into()],
            write: vec!["/".into()],
            ..Sandbox::default()
        };
        let entered = (0..=LAYERS_MAX).take_while(|_| all.restrict_thread().is_ok());
        assert!(entered.count() <= LAYERS_MAX);
        command.output().unwrap()
    })
    .join()
    .unwrap()
}

#[test]
fn without_a_sandbox_nothing_is_signed_unless_a_person_says_so() {
    if !enforced() {
        return;
    }
    let (world, key) = run("sh check.sh", "exit 0\n");
    let world = world.with(VARIABLE, key.to_str().unwrap());
    let output = without_a_sandbox(world.bowline(PASS));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error[no_signing_sandbox]"), "{told}");
    assert!(told.contains("--unsandboxed-signing"), "{told}");
    assert!(!world.run_folder().join("evidence.jsonl").exists());
    // An agent cannot say so.
    let line = format!("{PASS} --unsandboxed-signing");
    let mut agent = world.bowline(&line);
    agent.env("CLAUDECODE", "1");
    let told = text(&agent.output().unwrap().stderr);
    assert!(told.contains("error[needs_person]"), "{told}");
    assert!(!world.run_folder().join("evidence.jsonl").exists());
    let output = without_a_sandbox(world.bowline(&line));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let evidence = last_evidence(&world);
    assert_eq!(evidence["unsandboxed"], json!(true));
    let shown = world.data("verify --key ../home/keys/evidence.key", 0);
    assert!(shown.contains("(signed outside of a sandbox)"), "{shown}");
    // It is part of what is signed.
    let path = world.run_folder().join("evidence.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, lines.replace("\"unsandboxed\":true,", "")).unwrap();
    world.quietly("verify --key ../home/keys/evidence.key", 1);
}

/// Without the sandbox Bowline itself still shows nothing to others of its user who have no privilege.
#[test]
fn without_a_sandbox_bowline_itself_cannot_be_looked_into() {
    let check = "test -d /proc/$1 || exit 7\n\
        for name in environ maps mem; do\n\
        if head -c 1 /proc/$1/$name >/dev/null 2>told; then exit 9; fi\n\
        grep -q -i denied told || exit 8\n\
        done\n";
    let (world, key) = run("sh check.sh $PPID", check);
    let world = world.with(VARIABLE, key.to_str().unwrap());
    let mut command = match rustix::process::getuid().is_root() {
        // With privileges everything can be read.
        true => {
            let mut command = world.program("setpriv");
            command.args(["--bounding-set=-all", "--inh-caps=-all"]);
            command.arg(env!("CARGO_BIN_EXE_bowline"));
            command
        }
        false => world.program(env!("CARGO_BIN_EXE_bowline")),
    };
    command.args(PASS.split(' ')).arg("--unsandboxed-signing");
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// Code under test replaces the check that judges it.
#[test]
fn tested_code_that_replaces_its_check_is_not_signed() {
    let check = "sh src/code.sh; sh checks/own.sh\n";
    let (world, key) = run("sh check.sh", check);
    world.write("checks/own.sh", "exit 1\n");
    world.write("src/code.sh", "echo exit 0 > checks/own.sh\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "two"]);
    let output = pass_below_a_shell(&world, &key);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error[changed_while_running]"), "{told}");
    assert!(told.contains("checks/own.sh (changed)"), "{told}");
    assert!(!world.run_folder().join("evidence.jsonl").exists());
}

/// A second process of the same user reaches the checkout, where the code is bad, and puts it back.
#[test]
fn a_checkout_that_a_second_process_changes_is_not_signed() {
    let check = "touch build.log; n=0; until [ -e go ] || [ $n = 3000 ]; do sleep 0.01; n=$((n+1)); done; sh code.sh\n";
    let (world, key) = run("sh check.sh", check);
    world.write(".gitignore", ".develop-workflow/\n*.log\ngo\n");
    world.write("code.sh", "exit 1\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "two"]);
    let scratch = world.side().join("scratch");
    let output = std::thread::scope(|scope| {
        let passing = scope.spawn(|| pass_below_a_shell(&world, &key));
        let checkout = || {
            let all = std::fs::read_dir(&scratch).into_iter().flatten().flatten();
            let mut all = all.map(|it| it.path().join("checkout"));
            all.find(|it| it.join("build.log").exists())
        };
        assert!(wait_until(BOUND, || checkout().is_some()), "no checkout");
        let checkout = checkout().unwrap();
        std::fs::write(checkout.join("code.sh"), "exit 0\n").unwrap();
        std::fs::write(checkout.join("go"), "").unwrap();
        passing.join().unwrap()
    });
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("code.sh (changed)"), "{told}");
    assert!(!world.run_folder().join("evidence.jsonl").exists());
}
