//! What a repair of a develop run takes back, and that it says so; names nobody could type are not let in.

use crate::environment::TestEnvironment;
use std::os::unix::fs::PermissionsExt as _;

const STATE: &str = ".develop-workflow/state.json";

/// A run in IMPLEMENT with one of its two checkpoints passed.
fn implementing() -> TestEnvironment {
    let world = TestEnvironment::implementing();
    world.quietly("develop checkpoint start cp-1", 0);
    world.quietly("develop checkpoint pass cp-1 --run true", 0);
    world
}

/// Journal and copies are gone, and the file says what somebody wants it to say.
fn forget(world: &TestEnvironment, phase: &str) {
    for entry in std::fs::read_dir(world.side()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let text = world.read(STATE);
    let said = text.replace(
        "\"phase\": \"IMPLEMENT\"",
        &format!("\"phase\": \"{phase}\""),
    );
    world.write(STATE, said);
}

#[test]
fn a_repair_says_which_gates_it_closed() {
    let world = implementing();
    world.write(STATE, "{ \"phase\": \"PR\", ");
    let english = world.run("doctor --repair");
    assert!(!english.contains("nothing lost"), "{english}");
    let korean = implementing();
    std::fs::remove_file(korean.path(STATE)).unwrap();
    check!(format!(
        "{english}\n{}",
        korean.session(&["doctor --repair --lang ko", "develop resume"])
    ));
}

#[test]
fn without_a_journal_the_phase_is_where_the_evidence_puts_it() {
    for (phase, kept) in [
        ("DONE", "IMPLEMENT"),
        ("PR", "IMPLEMENT"),
        ("IMPLEMENT", "IMPLEMENT"),
        // Where nothing is guarded it may not go by itself either.
        ("REVIEW", "IMPLEMENT"),
        ("DESIGN", "IMPLEMENT"),
    ] {
        let world = implementing();
        forget(&world, phase);
        world.quietly("develop status", 4);
        let told = world.run("doctor --repair");
        assert!(
            world
                .read(STATE)
                .contains(&format!("\"phase\": \"{kept}\"")),
            "{told}"
        );
        assert_eq!(
            told.contains(&format!("phase {kept} instead of {phase}")),
            phase != kept,
            "{told}"
        );
        assert!(told.contains("closed review_clean_pass"), "{told}");
        assert!(told.contains("no longer passed: cp-1"), "{told}");
    }
    // Nothing was ever passed: it is in REVIEW at the most.
    let world = TestEnvironment::reviewed();
    world.quietly("develop gate pass review_clean_pass", 1);
    let text = world.read(STATE).replace("\"REVIEW\"", "\"IMPLEMENT\"");
    world.write(STATE, text);
    forget(&world, "DONE");
    let told = world.run("doctor --repair");
    assert!(told.contains("phase REVIEW instead of DONE"), "{told}");
}

#[test]
fn a_checkpoint_has_a_name_that_can_be_typed() {
    let world = TestEnvironment::repository();
    world.quietly("develop start 'Ferry times'", 0);
    world.write(
        "long.yaml",
        format!("checkpoints: [{{id: {}}}]\n", "x".repeat(101)),
    );
    world.write("dash.yaml", "checkpoints: [{id: '-x'}]\n");
    world.write("line.yaml", "checkpoints: [{id: \"a\\nb\"}]\n");
    check!(world.session(&[
        "develop review --checkpoint=-x",
        "develop review --checkpoint '--json'",
        "develop review --checkpoint 'a\nb'",
        "develop review --checkpoint 'a\u{1b}[2J'",
        "develop review --checkpoint ' a'",
        "develop review --contract long.yaml",
        "develop review --contract dash.yaml --json",
        "develop review --contract line.yaml --lang ko",
        "develop review --checkpoint '화면 하나'",
        "develop resume",
    ]));
}

#[test]
fn a_run_that_was_thrown_away_comes_back_with_its_seal_and_closed_gates() {
    let world = implementing();
    world.quietly("develop reset", 0);
    assert!(!world.path(STATE).exists());
    check!(world.session(&[
        "history develop -n 2",
        "undo develop",
        "develop status",
        "develop back REVIEW",
        "develop gate pass review_clean_pass",
        "develop reset",
        "restore develop 3",
        "develop reset",
        "undo develop --lang ko",
    ]));
    let agent = world.with("CLAUDECODE", "1");
    agent.quietly("undo develop", 1);
}

#[test]
fn status_and_doctor_tell_that_gits_hooks_are_off() {
    let world = TestEnvironment::implementing();
    let told = |line: &str| {
        let output = world.quietly(line, 0);
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let off = |words: &str| {
        for line in ["status", "develop status", "doctor", "status --json"] {
            let told = told(line);
            assert!(told.contains(words), "{line}: no {words:?} in\n{told}");
        }
        assert!(told("status --lang ko").contains("git 훅이 꺼져"));
    };
    let on = || {
        for line in ["status", "doctor"] {
            let told = told(line);
            assert!(!told.contains("git's hooks are off"), "{told}");
        }
    };
    // Without `init` there are none to miss.
    on();
    world.quietly("init", 0);
    on();
    world.git(&["config", "core.hooksPath", "/dev/null"]);
    off("core.hooksPath is /dev/null");
    world.git(&["config", "--unset", "core.hooksPath"]);
    on();
    let hook = world.path(".git/hooks/pre-commit");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o644)).unwrap();
    off("pre-commit is not executable");
    std::fs::write(&hook, "#!/bin/sh\n").unwrap();
    off("pre-commit is not Bowline's any more");
    std::fs::remove_file(&hook).unwrap();
    off("pre-commit is not Bowline's any more");
    world.quietly("init", 0);
    on();
}
