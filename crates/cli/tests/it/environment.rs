//! A world of its own for one test: an empty home, a fixed clock, and no variable of whoever runs the tests.

use bowline_engine::actor::{ACTOR_PERSON, ACTOR_VARIABLE};
use bowline_test_support::split_command_line;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The moment at which every test happens, unless it says otherwise.
pub(crate) const NOW: &str = "2026-03-01T09:00:00Z";
/// [`NOW`] in seconds since 1970.
pub(crate) const NOW_SECONDS: u64 = 1_772_355_600;

/// The file of a thinking run.
pub(crate) const THINKING: &str = "thinking_state.json";

/// A temporary folder with a home and a workspace in it.
pub(crate) struct TestEnvironment {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        TestEnvironment {
            folder,
            variables: Vec::new(),
        }
    }

    /// The same world with one more variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Everything of this test lives below it.
    pub(crate) fn root(&self) -> PathBuf {
        // Links resolved, so that the path is found in outputs whatever the temporary folder is.
        self.folder.path().canonicalize().unwrap()
    }

    /// A path in the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join("project").join(name)
    }

    /// Writes a file of the workspace as a program that knows nothing of Bowline would.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Every file of the workspace with its bytes.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.insert(entry.path(), std::fs::read(entry.path()).unwrap());
                }
            }
        }
        files
    }

    /// Any program in this world, standing in the workspace.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let home = self.root().join("home");
        let mut command = Command::new(program);
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("BOWLINE_CLOCK", NOW)
            // There is no terminal here; tests with an agent add what shows one.
            .env(ACTOR_VARIABLE, ACTOR_PERSON)
            .envs(
                self.variables
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str())),
            );
        command
    }

    /// Has git do something in the workspace, which must work, and gives what it says.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        self.git_in(&self.path(""), words)
    }

    /// The same in any folder.
    pub(crate) fn git_in(&self, folder: &Path, words: &[&str]) -> String {
        let output = self
            .program("git")
            .current_dir(folder)
            .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
            .args(["-c", "core.quotePath=false"])
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
        text(&output.stdout).trim_end().to_owned()
    }

    /// `bowline` with the words of a command line; single quotes hold words together.
    pub(crate) fn bowline(&self, line: &str) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_bowline"));
        command.args(split_command_line(line));
        command
    }

    /// Gives every command that a hint names, each in a world of its own that is like this one: none is refused.
    pub(crate) fn try_hints(&self, cell: &str, hint: &str) -> usize {
        let named: Vec<&str> = hint
            .split('\'')
            .filter(|it| it.starts_with("bowline "))
            .collect();
        for line in &named {
            let world = TestEnvironment::new();
            for (path, bytes) in self.everything() {
                let path = path.strip_prefix(self.path("")).unwrap().to_owned();
                world.write(path.to_str().unwrap(), bytes);
            }
            // What a person makes before a stage ends.
            for made in [
                "made.md",
                "drafts/draft_v1.md",
                "thinking/planning/ideas.json",
                "thinking/selection/selected.json",
            ] {
                world.write(made, "made\n");
            }
            let filled = line.split(' ').skip(1).map(|word| match word {
                "PATH" => "made.md",
                "NAME=VALUE" => "completeness=0.9",
                word if word.chars().all(|it| it.is_ascii_uppercase())
                    && word.len() > 2
                    && !is_phase(word) =>
                {
                    "given"
                }
                word => word,
            });
            let mut bowline = world.program(env!("CARGO_BIN_EXE_bowline"));
            let clock = self
                .variables
                .iter()
                .find(|(name, _)| name == "BOWLINE_CLOCK");
            bowline
                .envs(clock.map(|(name, value)| (name, value)))
                .args(filled);
            let output = bowline.output().unwrap();
            let told = world.told(line, &output);
            // That nothing can go on is an answer, too.
            let stalled = output.stdout.starts_with(b"STALLED:");
            assert!(
                stalled || !matches!(output.status.code(), Some(1 | 2)),
                "{cell}: {hint}\n{told}"
            );
        }
        named.len()
    }

    /// `bowline hook`, asked by a process of its own as by a client: that one is the agent afterwards, and not this test.
    pub(crate) fn hook(&self, program: &[&str]) -> Command {
        let client = self.root().join("some-client");
        if !client.exists() {
            // Not copied by this process: while another thread starts a program, the new file would be busy.
            let copied = Command::new("cp")
                .args(["-L", "/bin/sh"])
                .arg(&client)
                .status();
            assert!(copied.unwrap().success());
        }
        let mut command = self.program(client);
        command
            .args(["-c", "\"$@\"; exit $?", "some-client"])
            .args(program);
        command
    }

    /// Runs one command line. The text has everything a caller sees.
    pub(crate) fn run(&self, line: &str) -> String {
        let output = self.bowline(line).output().unwrap();
        self.told(line, &output)
    }

    /// Runs one command line that must end with an exit code, and says nothing of it.
    pub(crate) fn quietly(&self, line: &str, code: i32) -> Output {
        let output = self.bowline(line).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}",
            self.told(line, &output)
        );
        output
    }

    /// The data of one command line that must end with an exit code.
    pub(crate) fn data(&self, line: &str, code: i32) -> String {
        text(&self.quietly(line, code).stdout)
    }

    /// The talk of one command line that must end with an exit code.
    pub(crate) fn talk(&self, line: &str, code: i32) -> String {
        text(&self.quietly(line, code).stderr)
    }

    /// The answer of one command line with `--json` that must end with an exit code.
    pub(crate) fn json(&self, line: &str, code: i32) -> Value {
        let output = self.quietly(line, code);
        let answer = serde_json::from_slice(&output.stdout);
        answer.unwrap_or_else(|error| panic!("{error}\n{}", self.told(line, &output)))
    }

    /// Runs command lines one after the other, each shown as on a terminal.
    pub(crate) fn session(&self, lines: &[&str]) -> String {
        let texts: Vec<String> = lines.iter().map(|line| self.run(line)).collect();
        texts.join("\n")
    }

    /// Runs command lines that change nothing, in both languages.
    #[track_caller]
    pub(crate) fn refusals(&self, lines: &[&str]) -> [String; 2] {
        let before = self.everything();
        let korean: Vec<String> = lines
            .iter()
            .map(|line| format!("{line} --lang ko"))
            .collect();
        let korean: Vec<&str> = korean.iter().map(String::as_str).collect();
        let said = [self.session(lines), self.session(&korean)];
        assert_eq!(before, self.everything(), "a refusal changed something");
        said
    }

    /// What came out: data as it is, talk behind `|`, the exit code unless it is 0.
    pub(crate) fn told(&self, line: &str, output: &Output) -> String {
        let mut text = format!("$ bowline {line}").trim_end().to_owned() + "\n";
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        for talk in String::from_utf8_lossy(&output.stderr).lines() {
            writeln!(text, "| {talk}").unwrap();
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => writeln!(text, "[exit {code}]").unwrap(),
            None => writeln!(text, "[{}]", output.status).unwrap(),
        }
        self.normal(&text)
    }

    /// Text without what differs from run to run.
    pub(crate) fn normal(&self, text: &str) -> String {
        let text = text.replace(&self.root().display().to_string(), "[DIR]");
        without_ids(&text)
    }

    /// A repository with a policy: three gates, each opened by a file, and tests that are protected.
    pub(crate) fn repository() -> Self {
        let world = Self::new();
        world.git(&["init", "-q"]);
        world.write(".gitignore", ".develop-workflow/\n");
        world.write("tests/crossing.txt", "the ferry leaves on the hour\n");
        world.write(
            "bowline.toml",
            "[develop]\nprotected = [\"tests/**\"]\n\n\
             [develop.gates.review_clean_pass]\nrun = \"test -f review.ok\"\n\n\
             [develop.gates.architect_verified]\nrun = \"echo 12 tests && test -f build.ok\"\n\n\
             [develop.gates.re_review_clean]\nrun = \"test -f code.ok\"\n",
        );
        world
    }

    /// A develop run in it that a person began, in phase REVIEW with two checkpoints.
    pub(crate) fn reviewed() -> Self {
        let world = Self::repository();
        world.quietly("develop start 'Ferry times'", 0);
        world.quietly("develop review --checkpoint cp-1 --checkpoint cp-2", 0);
        world
    }

    /// The same in phase IMPLEMENT: its first gate was passed.
    pub(crate) fn implementing() -> Self {
        let world = Self::reviewed();
        world.write("review.ok", "");
        world.quietly("develop gate pass review_clean_pass", 0);
        world.quietly("develop implement", 0);
        world
    }

    /// The folder with everything of the one develop run but its file: journal, seals and evidence.
    pub(crate) fn side(&self) -> PathBuf {
        only(&self.root().join("home/state/bowline/develop"))
    }

    /// The folder in it with the seal and the evidence of the one run.
    pub(crate) fn run_folder(&self) -> PathBuf {
        only(&self.side().join("runs"))
    }

    /// A thinking run `essay-001` with its first stage begun.
    pub(crate) fn begun() -> Self {
        let world = Self::new();
        world.quietly(
            "thinking new essay-001 --title 'Knots for agents' --goal 'an essay people finish'",
            0,
        );
        world.quietly("thinking start planning", 0);
        world
    }

    /// The same with its first stage completed: three transitions.
    pub(crate) fn planned() -> Self {
        let world = Self::begun();
        world.write("thinking/planning/ideas.json", "{\"ideas\": []}\n");
        world.quietly(
            "thinking complete planning --output thinking/planning/ideas.json",
            0,
        );
        world
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Writes a script that can be run.
pub(crate) fn write_executable(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The only entry of a folder.
fn only(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).unwrap();
    entries.next().unwrap().unwrap().path()
}

/// Gives a file the time of [`NOW`] plus some seconds.
pub(crate) fn set_age(path: &Path, seconds_old: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(NOW_SECONDS - seconds_old);
    std::fs::File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// Text without hashes, ids of runs and durations.
fn without_ids(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() || letter == '-' {
            word.push(letter);
            continue;
        }
        let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_run = word.len() == 20 && word.starts_with("20260301T0") && hex(&word[16..]);
        let is_hash = [32, 40].contains(&word.len()) && hex(&word);
        plain.push_str(match (is_run, is_hash) {
            (true, _) => "[RUN]",
            (_, true) => "[HASH]",
            _ => &word,
        });
        word.clear();
        plain.push(letter);
    }
    plain.pop();
    plain
}

fn is_phase(word: &str) -> bool {
    ["DESIGN", "REVIEW", "IMPLEMENT", "DONE"].contains(&word)
}
