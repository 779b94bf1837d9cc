//! Evidence that leaves its machine: the recipe of `docs/gates.md` in a real clone, and every way to fool it.

use crate::environment::TestEnvironment;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

const PAGE: &str = include_str!("../../../../docs/gates.md");

/// A repository with an origin and a run in PR; the gates are passed with a key.
struct Landing {
    world: TestEnvironment,
    key: PathBuf,
}

impl Landing {
    fn new() -> Self {
        let world = TestEnvironment::repository();
        let key = world.root().join("home/config/bowline/evidence.key");
        std::fs::create_dir_all(key.parent().unwrap()).unwrap();
        std::fs::write(&key, "a key that no agent has\n").unwrap();
        let world = world.with("BOWLINE_EVIDENCE_KEY_FILE", key.to_str().unwrap());
        for name in ["review.ok", "build.ok", "code.ok"] {
            world.write(name, "");
        }
        let landing = Landing { world, key };
        landing.git(&["config", "user.name", "Nobody"]);
        landing.git(&["config", "user.email", "nobody@localhost"]);
        let origin = landing.world.root().join("origin");
        let made = landing
            .world
            .program("git")
            .args(["init", "-q", "--bare"])
            .arg(&origin)
            .status();
        assert!(made.unwrap().success());
        landing.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
        for line in [
            "develop start 'Ferry times'",
            "develop review --checkpoint cp-1",
            "develop gate pass review_clean_pass --by-hand 'read by three'",
            "develop implement",
            "develop checkpoint start cp-1",
            "develop checkpoint pass cp-1",
            "develop gate pass architect_verified",
            "develop pr",
        ] {
            landing.world.quietly(line, 0);
        }
        landing.world.write("src.txt", "work\n");
        landing
    }

    /// The same with everything passed, committed and exported; the evidence lies outside the tree.
    fn exported() -> (Self, PathBuf) {
        let landing = Landing::new();
        landing
            .world
            .quietly("develop gate pass re_review_clean", 0);
        landing.git(&["add", "-A"]);
        landing.git(&["commit", "-qm", "work"]);
        let file = landing.world.root().join("evidence.json");
        landing
            .world
            .quietly(&format!("develop evidence export {}", file.display()), 0);
        (landing, file)
    }

    fn git(&self, arguments: &[&str]) {
        let output = self.world.program("git").args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {told}");
    }

    /// A clone on a machine that has never seen the run.
    fn clone(&self, name: &str) -> PathBuf {
        let clone = self.world.root().join(name);
        self.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
        clone
    }

    /// `bowline verify` in a folder, with another state folder.
    fn verify(&self, folder: &Path, file: &Path, key: &Path, more: &[&str]) -> Output {
        self.world
            .bowline("verify")
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder.with_extension("state"))
            .env_remove("BOWLINE_EVIDENCE_KEY_FILE")
            .arg("--evidence")
            .arg(file)
            .arg("--key")
            .arg(key)
            .args(more)
            .output()
            .unwrap()
    }

    /// The code with which a file is refused.
    fn refused(&self, folder: &Path, file: &Path, key: &Path) -> (String, i32) {
        let output = self.verify(folder, file, key, &["--json"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let code = told["error"]["code"].as_str().unwrap_or("verified");
        (code.to_owned(), output.status.code().unwrap())
    }
}

/// The blocks of a section that are meant for a shell.
fn recipe() -> Vec<String> {
    let section = PAGE.split("\n## In CI\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_recipe_of_the_page_works_in_a_fresh_clone() {
    let landing = Landing::new();
    let [here, there] = recipe().try_into().unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = landing.world.program("sh");
    let done = shell
        .args(["-euc", &here])
        .env("PATH", &path)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let origin = landing.world.root().join("origin");
    let clone = landing.world.root().join("clone");
    let branch = landing
        .world
        .program("git")
        .args(["symbolic-ref", "--short", "HEAD"])
        .output();
    let branch = String::from_utf8(branch.unwrap().stdout).unwrap();
    let cloned = landing
        .world
        .program("git")
        .args(["clone", "-q", "-b", branch.trim()])
        .args([&origin, &clone])
        .status();
    assert!(cloned.unwrap().success());
    let runner = landing.world.root().join("runner");
    std::fs::create_dir(&runner).unwrap();
    std::fs::copy(&landing.key, runner.join("evidence.key")).unwrap();
    let mut shell = landing.world.program("sh");
    let done = shell
        .args(["-euc", &there])
        .current_dir(&clone)
        .env("PATH", &path)
        .env("RUNNER_TEMP", &runner)
        .env("XDG_STATE_HOME", landing.world.root().join("ci-state"))
        .env_remove("BOWLINE_EVIDENCE_KEY_FILE")
        .output()
        .unwrap();
    let told = landing.world.told("verify", &done);
    assert!(done.status.success(), "{told}");
    check!(told);
}

#[test]
fn evidence_of_something_else_is_refused_with_a_code_of_its_own() {
    let (landing, file) = Landing::exported();
    let clone = landing.clone("clone");
    let good = std::fs::read_to_string(&file).unwrap();
    let root = landing.world.root();
    let other = root.join("other.key");
    std::fs::write(&other, "another key that no agent has\n").unwrap();
    let made = root.join("made.json");
    let with = |text: &str| {
        std::fs::write(&made, text).unwrap();
        landing.refused(&clone, &made, &landing.key)
    };
    let code = |name: &str, exit: i32| (name.to_owned(), exit);
    assert_eq!(with(&good), code("verified", 0));
    // Spaces are nobody's words.
    let bundle: Value = serde_json::from_str(&good).unwrap();
    assert_eq!(with(&bundle.to_string()), code("verified", 0));
    // Cut off, or nothing of the sort.
    assert_eq!(with(&good[..good.len() / 2]), code("evidence_damaged", 4));
    assert_eq!(with(""), code("evidence_damaged", 4));
    assert_eq!(with("{}"), code("evidence_damaged", 4));
    let newer = good.replacen("\"version\": 1", "\"version\": 9", 1);
    assert_eq!(with(&newer), code("evidence_damaged", 4));
    // Forged.
    assert_eq!(
        landing.refused(&clone, &file, &other),
        code("evidence_forged", 1)
    );
    let edited = good.replacen("\"feature\": \"Ferry times\"", "\"feature\": \"More\"", 1);
    assert_eq!(with(&edited), code("evidence_forged", 1));
    let edited = good.replace("\"exit_code\": 0", "\"exit_code\": 1");
    assert_eq!(with(&edited), code("evidence_forged", 1));
    let mut unsigned = bundle.clone();
    unsigned.as_object_mut().unwrap().remove("signature");
    assert_eq!(with(&unsigned.to_string()), code("evidence_unsigned", 1));
    let mut nonsense = bundle.clone();
    nonsense["signature"] = "x".into();
    assert_eq!(with(&nonsense.to_string()), code("evidence_forged", 1));
    // Another tree: a later commit, or something lying around.
    std::fs::write(clone.join("more.txt"), "x").unwrap();
    assert_eq!(with(&good), code("evidence_other_tree", 1));
    std::fs::remove_file(clone.join("more.txt")).unwrap();
    std::fs::write(clone.join("tests/crossing.txt"), "nothing is tested\n").unwrap();
    assert_eq!(with(&good), code("evidence_other_policy", 1));
    let repaired = std::fs::copy(
        landing.world.path("tests/crossing.txt"),
        clone.join("tests/crossing.txt"),
    );
    repaired.unwrap();
    assert_eq!(with(&good), code("verified", 0));
    // No key, no answer.
    let output = landing
        .world
        .bowline("verify --evidence x.json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    // A file that is not there is a mistake of the caller.
    assert_eq!(
        landing.refused(&clone, Path::new("nowhere"), &landing.key),
        code("bad_input", 2)
    );
}

#[test]
fn evidence_of_an_earlier_run_or_a_closed_gate_does_not_land() {
    let (landing, first) = Landing::exported();
    // The next run changes something, and has passed nothing yet.
    landing.world.quietly("develop done", 0);
    landing.world.quietly("develop start 'Harbour map'", 0);
    landing.world.write("src.txt", "more work\n");
    landing.git(&["commit", "-qam", "more"]);
    let clone = landing.clone("clone");
    let replayed = landing.refused(&clone, &first, &landing.key);
    assert_eq!(replayed, ("evidence_other_tree".to_owned(), 1));
    let out = landing.world.root().join("second.json");
    let export = format!("develop evidence export {}", out.display());
    landing.world.quietly(&export, 1);
    assert!(!out.exists());
    // One gate after the other: still not all of them.
    landing.world.quietly("develop review --checkpoint cp-1", 0);
    landing
        .world
        .quietly("develop gate pass review_clean_pass", 0);
    landing.world.quietly(&export, 0);
    let half = landing.refused(&clone, &out, &landing.key);
    assert_eq!(half, ("not_verified".to_owned(), 1));
}

#[test]
fn an_export_signs_nothing_that_was_not_signed_and_stays_out_of_the_tree() {
    let (landing, _) = Landing::exported();
    let out = landing.world.root().join("out.json");
    let line = format!("develop evidence export {}", out.display());
    // Inside the tree it would make the tree another one.
    landing
        .world
        .quietly("develop evidence export evidence.json", 2);
    landing
        .world
        .quietly("develop evidence export .git/evidence.json", 0);
    landing.world.quietly(&format!("{line} --dry-run"), 0);
    assert!(!out.exists());
    let printed = landing.world.quietly("develop evidence export -", 0).stdout;
    assert!(serde_json::from_slice::<Value>(&printed).unwrap()["signature"].is_string());
    let told = landing
        .world
        .session(&["develop evidence export .git/e.json --json"]);
    assert!(told.contains("\"signed\":true"), "{told}");
    // Evidence that an agent gathered without the key does not become good by an export with it.
    let bare = landing.world.with("BOWLINE_EVIDENCE_KEY_FILE", "");
    bare.quietly("develop gate reset re_review_clean", 0);
    bare.quietly("develop gate pass re_review_clean", 0);
    bare.quietly(&format!("{line} --key {}", landing.key.display()), 1);
    bare.quietly(&line, 0);
    let clone = bare.root().join("clone");
    let cloned = bare
        .program("git")
        .args(["clone", "-q", "."])
        .arg(&clone)
        .status();
    assert!(cloned.unwrap().success());
    let landing = Landing {
        world: bare,
        key: landing.key,
    };
    let refused = landing.refused(&clone, &out, &landing.key);
    assert_eq!(refused, ("evidence_unsigned".to_owned(), 1));
    check!(landing.world.told(
        "verify",
        &landing.verify(&clone, &out, &landing.key, &["--lang", "ko"])
    ));
}
