//! Random disguises of a command: whatever wraps it, what the shell would run is seen.
//!
//! The shell itself is the judge of the test: where `bash` really runs the disguised program, the
//! gate must have seen it.

use crate::calls::{Known, Repository};
use bowline_gate::decision::GatedAction;
use bowline_gate::shell::{SideEffect, find_side_effects};
use bowline_test_support::disguise::{self, ByteChoices};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes that choose a disguise.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..48)
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
        // Some disguises wait for each other for ever; what they ran until then counts.
        let mut child = Command::new("timeout")
            .args(["-k", "1", "10", "bash", "-c", text])
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
    match find_side_effects(text, folder, &Known) {
        Ok(effects) => effects.iter().any(|effect| match effect {
            SideEffect::Finish { place, .. } => {
                place.as_ref().is_none_or(|it| it.starts_with(folder))
            }
            SideEffect::Hidden { .. } => true,
            SideEffect::Write { .. }
            | SideEffect::Touch { .. }
            | SideEffect::Setup { .. }
            | SideEffect::Person { .. } => false,
        }),
        Err(_) => true,
    }
}

#[test]
fn what_bash_really_runs_is_seen() {
    let arena = Arena::new();
    let folder = arena.app();
    let really = std::cell::Cell::new(0);
    runner(300)
        .run(&bytes(), |bytes| {
            let text = disguise::finishing_command(&mut ByteChoices(&bytes));
            let ran = arena.ran(&text);
            let finished = ran
                .split_whitespace()
                .any(|word| disguise::FINISHING.contains(&word));
            if finished {
                really.set(really.get() + 1);
                prop_assert!(seen(&text, &folder), "bash ran: git {ran} by: {text}");
            }
            Ok(())
        })
        .unwrap();
    let really = really.get();
    assert!(really > 150, "only {really} of the disguises work at all");
}

#[test]
fn a_disguised_finish_is_never_let_through() {
    let folder = std::env::temp_dir();
    runner(5_000)
        .run(&bytes(), |bytes| {
            let mut choices = ByteChoices(&bytes);
            let text = disguise::finishing_command(&mut choices);
            prop_assert!(seen(&text, &folder), "not seen: {text}");
            let text = disguise::behind_launcher(&text, &mut choices);
            prop_assert!(seen(&text, &folder), "not seen: {text}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_disguised_write_is_never_let_through() {
    let repository = Repository::new();
    runner(2_000)
        .run(&bytes(), |bytes| {
            let mut choices = ByteChoices(&bytes);
            let text = disguise::writing_command(&mut choices);
            for text in [text.clone(), disguise::behind_launcher(&text, &mut choices)] {
                let found = repository.actions("Bash", &text);
                let counts = |it: &GatedAction| {
                    matches!(it, GatedAction::Write { .. } | GatedAction::Hidden { .. })
                };
                prop_assert!(found.iter().any(counts), "not seen: {text}: {found:?}");
            }
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
            let _ = find_side_effects(&text, &folder, &Known);
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
        let _ = find_side_effects(text, &folder, &Known);
    }
}
