//! Random disguises of a command: whatever wraps it, what the shell would run is seen.
//!
//! The shell itself is the judge of the test: where `bash` really runs the disguised program, the gate must have seen it.

use crate::calls::{Known, Repository};
use bowline_gate::shell::{Deed, deeds};
use bowline_gate::verdict::Offence;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Ways to write a word that the shell reads as the same word.
fn spelled(word: &'static str) -> impl Strategy<Value = String> {
    let letters: Vec<char> = word.chars().collect();
    let spelling = prop::collection::vec(0..7_usize, letters.len());
    (spelling, 0..8_usize).prop_map(move |(ways, whole)| {
        let plain: String = letters.iter().collect();
        match whole {
            0 => return format!("'{plain}'"),
            1 => return format!("\"{plain}\""),
            2 => return format!("$'{plain}'"),
            3 => return format!("$(echo {plain})"),
            4 => return format!("`printf %s {plain}`"),
            _ => {}
        }
        letters
            .iter()
            .zip(ways)
            .map(|(letter, way)| match way {
                0 => format!("\\{letter}"),
                1 => format!("'{letter}'"),
                2 => format!("\"{letter}\""),
                3 => format!("{letter}''"),
                4 => format!("$'\\x{:02x}'", *letter as u32),
                5 => format!("$'\\{:03o}'", *letter as u32),
                _ => letter.to_string(),
            })
            .collect()
    })
}

/// Ways to run a command inside of another.
fn wrapped(inner: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let base = inner.boxed();
    base.prop_recursive(4, 16, 1, move |inner| {
        (inner, 0..34_usize).prop_map(move |(text, way)| match way {
            0 => format!("true && {text}"),
            1 => format!("false || {text}"),
            2 => format!("true; {text}"),
            3 => format!("true\n{text}"),
            4 => format!("( {text}\n)"),
            5 => format!("{{ {text}\n}}"),
            6 => format!("bash -c {}", quoted(&text)),
            7 => format!("sh -c {}", quoted(&text)),
            8 => format!("eval {}", quoted(&text)),
            9 => format!("echo \"$( {text}\n)\""),
            10 => format!("if true; then {text}\nfi"),
            11 => format!("for i in 1; do {text}\ndone"),
            12 => format!("while true; do {text}\nbreak; done"),
            13 => format!("case x in x) {text}\n;; esac"),
            14 => format!("f() {{ {text}\n}}; f"),
            15 => format!("bash <<'END_{way}'\n{text}\nEND_{way}\n"),
            16 => format!("echo {} | bash", quoted(&text)),
            17 => format!("cat <( {text}\n) > /dev/null"),
            18 => format!("! {text}"),
            19 => format!("x={}; eval \"$x\"", quoted(&text)),
            20 => format!("env bash -c {}", quoted(&text)),
            21 => format!("timeout 5 bash -c {}", quoted(&text)),
            22 => format!("true | {{ {text}\n}}"),
            23 => format!("[[ a == a ]] && {text}"),
            24 => format!("bash -c 'eval \"$1\"' _ {}", quoted(&text)),
            25 => format!("command eval {}", quoted(&text)),
            26 => format!("set -- {}; eval \"$1\"", quoted(&text)),
            27 => format!("printf '%s' {} | sh", quoted(&text)),
            28 => format!("bash <<< {}", quoted(&text)),
            29 => format!("echo a # comment\n{text}"),
            30 => format!("a=({}); eval \"${{a[0]}}\"", quoted(&text)),
            31 => format!("nohup bash -c {} 2> /dev/null", quoted(&text)),
            32 => format!(". /dev/stdin <<< {}", quoted(&text)),
            _ => format!("trap {} EXIT; true", quoted(&text)),
        })
    })
    .boxed()
}

/// A call of git with words in between that do not matter.
fn call() -> impl Strategy<Value = String> {
    let options = prop_oneof![
        Just(""),
        Just("-c a.b=c "),
        Just("-C . "),
        Just("--no-pager "),
        Just("--git-dir=.git "),
    ];
    let command = prop_oneof![
        spelled("commit"),
        spelled("push"),
        spelled("merge"),
        spelled("update-ref"),
        spelled("cherry-pick"),
    ];
    let before = prop_oneof![
        Just(""),
        Just("A=b "),
        Just("env "),
        Just("command "),
        Just("nice "),
        Just("> /dev/null ")
    ];
    (before, spelled("git"), options, command)
        .prop_map(|(before, git, options, command)| format!("{before}{git} {options}{command} x"))
}

fn variables() -> impl Strategy<Value = String> {
    (0..8_usize, spelled("git"), spelled("push")).prop_map(|(way, git, push)| match way {
        0 => format!("g={git}; $g {push}"),
        1 => format!("g={git} c={push}; \"$g\" $c"),
        2 => format!("c={push}; {git} \"${{c}}\""),
        3 => format!("a=({git} {push}); \"${{a[@]}}\""),
        4 => format!("g() {{ {git} \"$@\"; }}; g {push}"),
        5 => format!("set -- {git} {push}; \"$@\""),
        6 => format!("{git} -c alias.zz={push} zz"),
        _ => format!("x=; $x {git} {push}"),
    })
}

fn write() -> impl Strategy<Value = String> {
    let target = prop_oneof![
        Just("src/main.rs"),
        Just("'src/main.rs'"),
        Just("./src/main.rs"),
        Just("\"$PWD\"/src/main.rs"),
        Just("$(echo src/main.rs)"),
        Just("src/{main,}.rs"),
    ];
    (target, 0..7_usize).prop_map(|(target, way)| {
        let target = if way < 4 {
            target.replace("{main,}", "main")
        } else {
            target.to_owned()
        };
        match way {
            0 => format!("echo hello > {target}"),
            1 => format!("echo hello >> {target}"),
            2 => format!("> {target} echo hello"),
            3 => format!("cat <<< hello >| {target}"),
            4 => format!("echo hello | tee {target}"),
            5 => format!("cp Cargo.toml {target}"),
            _ => format!("sed -i s/a/b/ {target}"),
        }
    })
}

/// Folders with a `git` that only leaves a mark, so that a disguise can be tried in earnest.
struct Arena {
    folder: tempfile::TempDir,
}

impl Arena {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(folder.path().join("app/src")).unwrap();
        let mark = folder.path().join("ran");
        let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", mark.display());
        fs::write(bin.join("git"), script).unwrap();
        let executable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(bin.join("git"), executable).unwrap();
        Arena { folder }
    }

    /// The words git was called with when bash ran the text.
    fn ran(&self, text: &str) -> String {
        let mark = self.folder.path().join("ran");
        let _ = fs::remove_file(&mark);
        let path = format!("{}:/usr/bin:/bin", self.folder.path().join("bin").display());
        let mut child = Command::new("bash")
            .args(["-c", text])
            .current_dir(self.app())
            .env_clear()
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.wait().unwrap();
        fs::read_to_string(&mark).unwrap_or_default()
    }

    fn app(&self) -> std::path::PathBuf {
        self.folder.path().join("app").canonicalize().unwrap()
    }
}

fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
}

fn seen(text: &str, folder: &Path) -> bool {
    match deeds(text, folder, &Known) {
        Ok(deeds) => deeds
            .iter()
            .any(|deed| matches!(deed, Deed::Finish { .. } | Deed::Hidden { .. })),
        Err(_) => true,
    }
}

#[test]
fn what_bash_really_runs_is_seen() {
    let arena = Arena::new();
    let folder = arena.app();
    let really = std::cell::Cell::new(0);
    let disguised = wrapped(prop_oneof![call().boxed(), variables().boxed()]);
    runner(400)
        .run(&disguised, |text| {
            let ran = arena.ran(&text);
            let finishing = ["commit", "push", "merge", "update-ref", "cherry-pick"];
            let finished = ran.split_whitespace().any(|word| finishing.contains(&word));
            if finished {
                really.set(really.get() + 1);
                prop_assert!(seen(&text, &folder), "bash ran: git {ran}");
            }
            Ok(())
        })
        .unwrap();
    let really = really.get();
    assert!(really > 200, "only {really} of the disguises work at all");
}

#[test]
fn a_disguised_finish_is_never_let_through() {
    let folder = std::env::temp_dir();
    let disguised = wrapped(prop_oneof![call().boxed(), variables().boxed()]);
    runner(3_000)
        .run(&disguised, |text| {
            prop_assert!(seen(&text, &folder), "not seen");
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_disguised_write_is_never_let_through() {
    let repository = Repository::new();
    runner(1_000)
        .run(&wrapped(write()), |text| {
            let found = repository.offences("Bash", &text);
            let counts =
                |it: &Offence| matches!(it, Offence::Write { .. } | Offence::Hidden { .. });
            prop_assert!(found.iter().any(counts), "not seen: {found:?}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_text_is_answered_and_nothing_panics() {
    let folder = std::env::temp_dir();
    let pieces = prop::sample::select(vec![
        "git",
        "push",
        " ",
        "\n",
        ";",
        "&",
        "|",
        "(",
        ")",
        "{",
        "}",
        "$",
        "`",
        "\"",
        "'",
        "\\",
        "<",
        ">",
        "<<EOF\n",
        "EOF\n",
        "$((",
        "))",
        "${",
        "[[",
        "]]",
        "if ",
        "then ",
        "fi ",
        "for ",
        "do ",
        "done ",
        "case ",
        "esac ",
        "in ",
        ";;",
        "a=",
        "*",
        "?",
        "[",
        "]",
        "~",
        "#",
        "!",
        "@",
        "x",
        "python3 -c ",
        "sed -i ",
        "bash -c ",
        "eval ",
        "한",
        "\u{1f600}",
        "{a,b}",
        "{1..3}",
        "<(",
        ">(",
        "$'",
        "\\x67",
        "function ",
        "time ",
        "coproc ",
        "%x",
        "open(",
        "'w'",
        "\t",
        "\r",
    ]);
    let text = prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat());
    runner(8_000)
        .run(&text, |text| {
            let _ = deeds(&text, &folder, &Known);
            Ok(())
        })
        .unwrap();
}

#[test]
fn deep_and_long_texts_end_soon_and_safely() {
    let folder = std::env::temp_dir();
    let deep = |open: &str, close: &str, count: usize| {
        format!("{}git push{}", open.repeat(count), close.repeat(count))
    };
    let texts = [
        deep("( ", " )", 50_000),
        deep("$(", ")", 50_000),
        deep("{ ", "; }", 50_000),
        deep("`", "`", 50_000),
        deep("\"$(", ")\"", 50_000),
        deep("${x:-", "}", 50_000),
        deep("if true; then ", "; fi", 20_000),
        deep("case x in x) ", ";; esac", 20_000),
        deep("f() { ", "; }", 20_000),
        deep("<(", ")", 50_000),
        deep("cat <<A\n$(", ")\nA\n", 20_000),
        deep("eval ", "", 50_000),
        deep("env ", "", 50_000),
        deep("sudo ", "", 50_000),
        deep("! ", "", 50_000),
        deep("[[ ( ", "", 50_000),
        deep("{a,", "}", 50_000),
        "f() { f; f; }; f; git push".to_owned(),
        "a=x; while :; do a=$a$a$a$a$a$a$a$a; done; $a git push".to_owned(),
        "x=1 ".repeat(100_000),
        "git push; ".repeat(40_000),
        "{a,b}".repeat(5_000),
        "a | ".repeat(50_000) + "git push",
        "é".repeat(600_000),
        // Calculations, however many.
        "(".repeat(50_000) + &")".repeat(50_000),
        "((".repeat(50_000),
    ];
    for text in &texts {
        let start: String = text.chars().take(30).collect();
        let harmless = !text.contains("git push");
        assert!(harmless || seen(text, &folder), "{start}");
        let _ = deeds(text, &folder, &Known);
    }
}
