//! Code that is exchanged while the gate's command runs and put back before it ends is no evidence; a real build is.

use crate::environment::{TestEnvironment, text};
use bowline_test_support::{MissingRequirement, skip_test};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

const PASS: &str = "develop gate pass review_clean_pass";
/// Longer than any of these commands should take on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A run in REVIEW whose code is bad, and whose command says when it reads the code.
struct Exchange {
    world: TestEnvironment,
    meet: tempfile::TempDir,
}

impl Exchange {
    fn new() -> Self {
        let meet = tempfile::tempdir().unwrap();
        let at = meet.path().display();
        let wait = |name: &str| format!("while [ ! -e {at}/{name} ]; do sleep 0.01; done");
        let command = format!(
            "touch {at}/begun; {}; grep -q good src/code.txt; r=$?; touch {at}/read; {}; exit $r",
            wait("go"),
            wait("back"),
        );
        let world = TestEnvironment::repository();
        world.write(
            "bowline.toml",
            format!("[develop.gates.review_clean_pass]\nrun = '{command}'\n"),
        );
        world.write(".gitignore", ".develop-workflow/\n/target/\n*.log\n");
        world.write("src/code.txt", "bad\n");
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", "one"]);
        world.quietly("develop start 'Ferry times'", 0);
        world.quietly("develop review", 0);
        Exchange { world, meet }
    }

    fn code(&self) -> PathBuf {
        self.world.path("src/code.txt")
    }

    fn wait_for(&self, name: &str) {
        let path = self.meet.path().join(name);
        let until = Instant::now() + WAIT_MAX;
        while !path.exists() {
            assert!(Instant::now() < until, "no {name}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn say(&self, name: &str) {
        fs::write(self.meet.path().join(name), "").unwrap();
    }

    /// Passes the gate while another process does something before and after the code is read.
    fn pass(&self, before: impl Fn(), after: impl Fn()) -> Output {
        std::thread::scope(|scope| {
            let passing = scope.spawn(|| self.world.bowline(PASS).output().unwrap());
            self.wait_for("begun");
            before();
            self.say("go");
            self.wait_for("read");
            after();
            self.say("back");
            passing.join().unwrap()
        })
    }

    /// The same, which must be no evidence and name a path.
    fn is_noticed(&self, named: &str, before: impl Fn(), after: impl Fn()) {
        let output = self.pass(before, after);
        self.was_noticed(&output, named);
    }

    fn was_noticed(&self, output: &Output, named: &str) {
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("error[changed_while_running]"), "{told}");
        assert!(told.contains(named), "{told}");
        assert_eq!(fs::read_to_string(self.code()).unwrap(), "bad\n");
        assert_eq!(self.world.git(&["status", "--porcelain"]), "");
        let state = self.world.read_json(".develop-workflow/state.json");
        assert_eq!(state["gates"]["review_clean_pass"], false);
        let evidence = self.world.run_folder().join("evidence.jsonl");
        assert!(!evidence.exists(), "it is no evidence");
    }
}

#[test]
fn a_file_that_a_second_process_exchanges_and_puts_back_is_noticed() {
    let it = Exchange::new();
    let kept = it.meet.path().join("kept");
    it.is_noticed(
        "src/code.txt (changed)",
        || {
            fs::rename(it.code(), &kept).unwrap();
            fs::write(it.code(), "good\n").unwrap();
        },
        || fs::rename(&kept, it.code()).unwrap(),
    );
}

/// As pytest makes its cache where there is none yet, and coverage its parts, in a project that ignores neither.
#[test]
fn what_pytest_and_coverage_make_in_passing_changes_nothing() {
    let world = TestEnvironment::repository();
    let cache = "mkdir pytest-cache-files-x && echo \"*\" > pytest-cache-files-x/.gitignore \
        && mv pytest-cache-files-x .pytest_cache && mkdir pytest-cache-files-x && rmdir pytest-cache-files-x";
    let command = format!("{cache}; touch .coverage.vm.pid1.x && rm .coverage.vm.pid1.x");
    world.write(
        "bowline.toml",
        format!("[develop.gates.review_clean_pass]\nrun = '{command}'\n"),
    );
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review", 0);
    world.quietly(PASS, 0);
}

#[test]
fn times_that_are_set_back_hide_nothing() {
    let it = Exchange::new();
    let was = fs::metadata(it.code()).unwrap();
    let times = fs::FileTimes::new()
        .set_modified(was.modified().unwrap())
        .set_accessed(was.accessed().unwrap());
    let write = |content: &str| {
        fs::write(it.code(), content).unwrap();
        let file = fs::File::options().write(true).open(it.code()).unwrap();
        file.set_times(times).unwrap();
    };
    it.is_noticed(
        "src/code.txt (changed)",
        || write("good\n"),
        || write("bad\n"),
    );
}

#[test]
fn a_stash_of_a_second_worker_is_noticed() {
    let it = Exchange::new();
    it.world.write("src/code.txt", "good\n");
    it.world.git(&["commit", "-qam", "good"]);
    it.world.write("src/code.txt", "bad\n");
    let output = it.pass(
        || drop(it.world.git(&["stash", "-q"])),
        || drop(it.world.git(&["stash", "pop", "-q"])),
    );
    let told = text(&output.stderr);
    assert!(told.contains("error[changed_while_running]"), "{told}");
    assert!(told.contains("src/code.txt (changed)"), "{told}");
    assert_eq!(fs::read_to_string(it.code()).unwrap(), "bad\n");
}

#[test]
fn a_folder_that_is_exchanged_and_put_back_is_noticed() {
    let it = Exchange::new();
    let (src, kept) = (it.world.path("src"), it.meet.path().join("kept"));
    it.is_noticed(
        "src",
        || {
            fs::rename(&src, &kept).unwrap();
            it.world.write("src/code.txt", "good\n");
        },
        || {
            fs::remove_dir_all(&src).unwrap();
            fs::rename(&kept, &src).unwrap();
        },
    );
}

#[test]
fn a_file_that_comes_and_goes_is_noticed_and_ignored_ones_hide_nothing() {
    let it = Exchange::new();
    let kept = it.meet.path().join("kept");
    it.is_noticed(
        "src/sitecustomize.py (changed)",
        || {
            it.world.write("src/a.log", "ignored\n");
            it.world.write("target/debug/x", "ignored\n");
            it.world.write("src/sitecustomize.py", "good\n");
        },
        || fs::rename(it.world.path("src/sitecustomize.py"), &kept).unwrap(),
    );
}

#[test]
fn what_git_ignores_may_come_and_go() {
    let it = Exchange::new();
    it.world.write("src/code.txt", "good\n");
    let output = it.pass(
        || {
            it.world.write("src/a.log", "ignored\n");
            it.world.write("target/debug/x", "ignored\n");
        },
        || fs::remove_file(it.world.path("src/a.log")).unwrap(),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Passes the gate in a mount namespace of its own. `before` and `after` are shell lines around the reading of the code.
/// `None` where this user may make none.
fn pass_beside_mounts(it: &Exchange, before: &str, after: &str) -> Option<Output> {
    let able = it.world.program("unshare").args(["-m", "true"]).output();
    if !able.is_ok_and(|it| it.status.success()) {
        skip_test(
            MissingRequirement::Mounting,
            "this user may not make a mount name space",
        );
        return None;
    }
    let script = format!(
        r#"
        cd "$PROJECT" || exit 70
        "$BOWLINE" develop gate pass review_clean_pass & pass=$!
        while [ ! -e "$MEET/begun" ]; do sleep 0.01; done
        {before}
        touch "$MEET/go"
        while [ ! -e "$MEET/read" ]; do sleep 0.01; done
        {after}
        touch "$MEET/back"
        wait $pass
    "#
    );
    let mut unshare = it.world.program("unshare");
    unshare
        .args(["-m", "--propagation", "private", "sh", "-c", &script])
        .env("PROJECT", it.world.path(""))
        .env("MEET", it.meet.path())
        .env("BOWLINE", env!("CARGO_BIN_EXE_bowline"));
    Some(unshare.output().unwrap())
}

/// A mount changes nothing that is under it: neither times nor inodes.
#[test]
fn a_bind_mount_that_comes_and_goes_is_noticed() {
    let it = Exchange::new();
    fs::write(it.meet.path().join("good"), "good\n").unwrap();
    let before = r#"mount --bind "$MEET/good" src/code.txt || exit 71"#;
    let after = "umount src/code.txt || exit 72";
    if let Some(output) = pass_beside_mounts(&it, before, after) {
        it.was_noticed(&output, "src/code.txt (mounted over)");
    }
}

/// Tests that start containers mount all the time, and faster than each mount is looked at.
#[test]
fn mounts_elsewhere_leave_a_run_evidence() {
    let it = Exchange::new();
    it.world.write("src/code.txt", "good\n");
    let before = r#"mkdir "$MEET/elsewhere"
        i=0; while [ $i -lt 200 ]; do i=$((i+1))
            mount -t tmpfs none "$MEET/elsewhere" && umount "$MEET/elsewhere" || exit 71
        done"#;
    if let Some(output) = pass_beside_mounts(&it, before, "") {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// A run that was disturbed counts neither for nor against a checkpoint.
#[test]
fn a_disturbed_run_is_no_failed_attempt() {
    let world = TestEnvironment::repository();
    world.write("code.txt", "bad\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    world.write("review.ok", "");
    world.quietly(PASS, 0);
    world.quietly("develop implement --strategy direct", 0);
    world.quietly("develop checkpoint start cp-1", 0);
    let pass = "develop checkpoint pass cp-1 --run 'echo said; touch code.txt; false'";
    let told = world.talk(pass, 1);
    assert!(told.contains("error[changed_while_running]"), "{told}");
    assert!(
        told.contains("| said"),
        "a red command is still heard: {told}"
    );
    let state = world.read_json(".develop-workflow/state.json");
    let expected = serde_json::json!({ "status": "in_progress", "iteration": 1 });
    assert_eq!(state["checkpoints"]["cp-1"], expected);
}

/// How often the real builds below run: `BOWLINE_EVIDENCE_RUNS`, or a few times.
fn runs() -> usize {
    let set = std::env::var("BOWLINE_EVIDENCE_RUNS").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// A project with a gate that runs a real build, from a fresh clone on.
fn stays_evidence(files: &[(&str, &str)], command: &str, path: &str) {
    let world = TestEnvironment::repository().with("PATH", path);
    for (name, content) in files {
        world.write(name, content);
    }
    world.write(
        "bowline.toml",
        format!("[develop.gates.review_clean_pass]\nrun = '{command}'\n"),
    );
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review", 0);
    for _ in 0..runs() {
        world.quietly(PASS, 0);
        world.quietly("develop gate reset review_clean_pass", 0);
    }
    let evidence = fs::read_to_string(world.run_folder().join("evidence.jsonl")).unwrap();
    assert_eq!(evidence.lines().count(), runs());
}

fn path_with(program: &Path) -> String {
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", program.parent().unwrap().display())
}

#[test]
fn a_real_cargo_test_stays_evidence() {
    // The toolchain's own cargo: a proxy would look for its toolchains in the home of the test.
    let cargo = PathBuf::from(std::env::var_os("CARGO").unwrap());
    let files = [
        (".gitignore", ".develop-workflow/\n/target/\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"ferry\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        (
            "Cargo.lock",
            "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n[[package]]\nname = \"ferry\"\nversion = \"0.1.0\"\n",
        ),
        (
            "src/lib.rs",
            "pub fn hour() -> u8 { 10 }\n#[test]\nfn leaves() { assert_eq!(hour(), 10); }\n",
        ),
    ];
    stays_evidence(&files, "cargo test -q --offline", &path_with(&cargo));
}

#[test]
fn a_real_npm_test_stays_evidence() {
    let there = std::process::Command::new("npm").arg("--version").output();
    if !there.is_ok_and(|it| it.status.success()) {
        return skip_test(MissingRequirement::Client, "there is no npm");
    }
    let files = [
        (".gitignore", ".develop-workflow/\nnode_modules/\n"),
        (
            "package.json",
            "{ \"name\": \"ferry\", \"version\": \"0.1.0\", \"scripts\": { \"test\": \"node --test\" } }\n",
        ),
        (
            "ferry.test.js",
            "const test = require(\"node:test\");\nconst { equal } = require(\"node:assert\");\ntest(\"leaves\", () => equal(1 + 1, 2));\n",
        ),
    ];
    stays_evidence(&files, "npm test", &std::env::var("PATH").unwrap());
}
