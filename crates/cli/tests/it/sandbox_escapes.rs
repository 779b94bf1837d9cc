//! What agents left behind, or try from inside, to be granted more than their folder and their run.

use crate::environment::{TestEnvironment, text};
use crate::sandboxed::{enforced, sandboxed, with_programs, working};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every file below a folder with its bytes, links as they are; but for what is open to change.
fn content(folder: &Path, but: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if but.iter().any(|name| path.ends_with(name)) {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap_or_default();
                files.insert(path, bytes);
            }
        }
    }
    files
}

/// The lines `NAME CODE` that a script said.
fn codes(said: &str) -> Vec<(String, i32)> {
    let code = |line: &str| {
        let (name, code) = line.rsplit_once(' ')?;
        Some((name.strip_prefix("= ")?.to_owned(), code.parse().ok()?))
    };
    said.lines().filter_map(code).collect()
}

/// A `.git` that an earlier agent wrote, with everything that it names, grants nothing.
#[test]
fn a_planted_worktree_grants_no_other_folder() {
    if !enforced() {
        return;
    }
    let plants = [
        // Named back, and a folder to share that is no repository's.
        "mkdir fake; echo \"gitdir: $PWD/fake\" >.git; echo $PWD/.git >fake/gitdir; echo $SECRET >fake/commondir",
        // The same in the shape that git itself gives it.
        "mkdir -p fake/worktrees/x fake/objects fake/refs; echo ref: refs/heads/main >fake/HEAD\n\
         echo \"gitdir: $PWD/fake/worktrees/x\" >.git; echo $PWD/.git >fake/worktrees/x/gitdir\n\
         echo $SECRET >fake/worktrees/x/commondir",
        // By way of a link.
        "mkdir fake; ln -s $SECRET fake/worktrees; echo \"gitdir: $PWD/fake/worktrees/x\" >.git",
        "ln -s $SECRET/.git .git",
        // A repository of its own that calls somebody else's folder its worktree, and has no run of its own there.
        "git init -q; bowline develop start mine >/dev/null; rm -r .develop-workflow\n\
         mkdir -p .git/worktrees/x; echo $SECRET/.git >.git/worktrees/x/gitdir",
    ];
    for plant in plants {
        let world = with_programs(TestEnvironment::new());
        let secret = world.root().join("secret");
        std::fs::create_dir_all(secret.join("x")).unwrap();
        std::fs::write(secret.join("s.txt"), "a person's token").unwrap();
        world.git_in(&secret, &["init", "-q"]);
        // Somebody else's run, and a back-link as `git worktree` would leave it there.
        let started = world
            .bowline("develop start 'Of others'")
            .current_dir(&secret)
            .output();
        assert!(started.unwrap().status.success());
        let back = format!("{}\n", world.path(".git").display());
        std::fs::write(secret.join("x/gitdir"), back).unwrap();
        let script = format!("SECRET={}\n{plant}\n", secret.display());
        let planted = world.program("sh").args(["-ec", &script]).status();
        assert!(planted.unwrap().success(), "{plant}");

        let line = "run-agent --sandbox-report --json --sandbox -- true";
        let report = world.bowline(line).output().unwrap();
        let report = text(&report.stdout);
        assert!(report.contains("project"), "{plant}: {report}");
        assert!(!report.contains("/secret"), "{plant}: {report}");
        let script = format!(
            "cat {0}/s.txt; for i in . .git .develop-workflow; do touch {0}/$i/new; done\n\
             bowline -C {0} develop review --checkpoint x",
            secret.display()
        );
        let before = content(&secret, &[]);
        let output = sandboxed(&world, "", &script);
        assert_eq!(text(&output.stdout), "", "{plant}");
        assert_eq!(content(&secret, &[]), before, "{plant}");
    }
}

/// A run in the home folder, or a repository that is one, is no reason to hand out the home folder.
#[test]
fn a_run_of_the_home_folder_does_not_grant_it() {
    let world = with_programs(TestEnvironment::new());
    let home = world.root().join("home");
    let below = home.join("work");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::create_dir_all(home.join(".develop-workflow")).unwrap();
    std::fs::write(home.join(".develop-workflow/state.json"), "{}").unwrap();
    let world = world.with("XDG_STATE_HOME", world_state(&home).to_str().unwrap());
    let line = "run-agent --sandbox-report --json --sandbox -- true";
    let report = world.bowline(line).current_dir(&below).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let roots = |key: &str| report[key].as_array().unwrap().clone();
    let home = serde_json::json!(home);
    assert!(!roots("read").contains(&home) && !roots("write").contains(&home));
    assert!(roots("write").contains(&serde_json::json!(below)));
    // Named outright it is refused as well.
    let refused = world
        .bowline("run-agent --sandbox --write ../home -- true")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("holds the home folder"));
}

/// State that is not below the home folder, so that this does not protect it.
fn world_state(home: &Path) -> PathBuf {
    home.parent().unwrap().join("state")
}

/// No verb that an agent has carried out writes the records of its run for it, whatever it links to them.
#[test]
fn the_records_of_a_run_are_not_reached_by_way_of_a_verb() {
    if !enforced() {
        return;
    }
    let world = working();
    let side = world.side();
    let seal = world.run_folder().join("seal.json");
    let tries = [
        (
            "agents",
            "mkdir m3; ln -s $SIDE m3/agents; bowline memory --dir $PWD/m3 agent set state preferences.x 1",
        ),
        ("context", "bowline memory --dir $SIDE context set a 1"),
        ("init", "bowline memory --dir $SIDE init"),
        ("thinking", "bowline thinking new x --dir $SIDE/essay"),
        (
            "doctor of a seal",
            "mkdir m5; ln -s $SEAL m5/shared-context.json; bowline doctor --repair m5/shared-context.json",
        ),
        (
            "doctor of a journal",
            "mkdir m6; ln -s $SIDE/state.json.journal.jsonl m6/thinking_state.json\n\
             bowline doctor --repair m6/thinking_state.json",
        ),
        (
            "a linked file",
            "mv .develop-workflow/state.json kept; ln -s $SEAL .develop-workflow/state.json\n\
             bowline develop checkpoint fail cp-1 --class LOGIC_ERROR; c=$?\n\
             mv kept .develop-workflow/state.json; (exit $c)",
        ),
        (
            "a linked folder",
            "mv .develop-workflow kept; ln -s $SIDE .develop-workflow\n\
             bowline develop checkpoint fail cp-1 --class LOGIC_ERROR; c=$?\n\
             rm .develop-workflow; mv kept .develop-workflow; (exit $c)",
        ),
        ("from the records", "bowline -C $SIDE develop start other"),
        (
            "repair",
            "cp .develop-workflow/state.json kept; echo x >.develop-workflow/state.json; bowline doctor --repair; c=$?\n\
             mv kept .develop-workflow/state.json; (exit $c)",
        ),
    ];
    let mut script = format!("SIDE={} SEAL={}\n", side.display(), seal.display());
    for (name, attack) in tries {
        script.push_str(&format!("{attack}\necho \"= {name} $?\"\n"));
    }
    let before = content(&side, &[]);
    let output = sandboxed(&world, "", &script);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    let codes = codes(&said);
    let names: Vec<&str> = codes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, tries.map(|(name, _)| name), "{said}\n{told}");
    assert!(codes.iter().all(|(_, code)| *code != 0), "{said}\n{told}");
    assert_eq!(content(&side, &[]), before, "{said}\n{told}");
    for words in [
        "state.json is a link",
        ".develop-workflow is a link",
        "a develop run is repaired outside",
    ] {
        assert!(told.contains(words), "{words}: {said}\n{told}");
    }
    // Nothing of it stands in the way of the verb itself.
    let output = sandboxed(
        &world,
        "",
        "bowline develop checkpoint fail cp-1 --class LOGIC_ERROR",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_ne!(content(&side, &[]), before);
}

/// The same while the folder becomes a link and back again all the time: at some moment each step of a write meets either.
#[test]
fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    if !enforced() {
        return;
    }
    let world = working();
    let side = world.side();
    let script = format!(
        "SIDE={}\n\
         (until test -e stop; do\n\
            mv .develop-workflow kept; ln -s $SIDE .develop-workflow; rm .develop-workflow; mv kept .develop-workflow\n\
         done) & swapper=$!\n\
         for i in $(seq 1 30); do bowline develop checkpoint start cp-1; bowline develop checkpoint fail cp-1 --class LOGIC_ERROR; done\n\
         touch stop; wait $swapper; echo over\n",
        side.display()
    );
    let seal = world.run_folder().join("seal.json");
    let before = std::fs::read(&seal).unwrap();
    let output = sandboxed(&world, "", &script);
    assert!(
        text(&output.stdout).contains("over"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(std::fs::read(&seal).unwrap(), before);
    let names = std::fs::read_dir(&side)
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let strange: Vec<_> = names
        .filter(|name| {
            name == "state.json"
                || name
                    .to_string_lossy()
                    .starts_with(".state.json.bowline-new")
        })
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

/// From a linked worktree, nothing of the shared folder of git is written but the mark of the run.
#[test]
fn of_a_shared_git_folder_only_the_mark_of_the_run_is_written() {
    if !enforced() {
        return;
    }
    let world = with_programs(TestEnvironment::repository());
    let git = world.path(".git");
    let tree = world.root().join("tree");
    world.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    world.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let hook = git.join("hooks/reference-transaction");
    std::fs::create_dir_all(git.join("hooks")).unwrap();
    std::fs::write(&hook, "#!/bin/sh\n").unwrap();
    let script = format!(
        "GIT={}\n\
         mkdir m7; ln -s $GIT/hooks/reference-transaction m7/shared-context.json\n\
         bowline doctor --repair m7/shared-context.json; echo \"= doctor $?\"\n\
         bowline memory --dir $GIT/hooks init; echo \"= memory $?\"\n\
         bowline develop review --checkpoint cp-1; echo \"= review $?\"\n\
         touch $GIT/new $GIT/bowline/new; echo \"= touch $?\"\n\
         bowline thinking new x --dir $GIT/bowline; echo \"= thinking $?\"\n",
        git.display()
    );
    let started = world
        .bowline("develop start 'From a worktree'")
        .current_dir(&tree)
        .output();
    assert!(started.unwrap().status.success());
    let mark = git.join("bowline/develop-run");
    std::fs::remove_file(&mark).ok();
    let before = content(&git, &[]);
    std::fs::write(tree.join("script.sh"), script).unwrap();
    let output = world
        .bowline("run-agent --sandbox -- sh script.sh")
        .current_dir(&tree)
        .output()
        .unwrap();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    let fine: Vec<(String, bool)> = codes(&said)
        .into_iter()
        .map(|(name, code)| (name, code == 0))
        .collect();
    let wanted = [
        ("doctor", false),
        ("memory", false),
        ("review", true),
        ("touch", false),
        ("thinking", false),
    ];
    let wanted = wanted.map(|(name, fine)| (name.to_owned(), fine));
    assert_eq!(fine, wanted, "{said}\n{told}");
    assert_eq!(content(&git, &["bowline/develop-run"]), before);
    assert!(mark.exists());
}

/// The key is used for an agent and never shown to it, by whatever name it is asked for.
#[test]
fn the_key_is_not_read_out_by_a_verb() {
    if !enforced() {
        return;
    }
    let world = working();
    let key = world.root().join("home/key");
    std::fs::write(&key, "27182818284590452353\n").unwrap();
    let world = world.with("BOWLINE_EVIDENCE_KEY_FILE", key.to_str().unwrap());
    let script = "\
        bowline develop review --contract \"$BOWLINE_EVIDENCE_KEY_FILE\"; echo \"= contract $?\"\n\
        git add -A; cp .git/index kept\n\
        ln -sf \"$BOWLINE_EVIDENCE_KEY_FILE\" .git/index\n\
        bowline develop checkpoint pass cp-1 --run true; echo \"= index $?\"\n\
        mv kept .git/index\n\
        bowline develop checkpoint pass cp-1 --run true; echo \"= signed $?\"\n";
    let output = sandboxed(&world, "", script);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    let fine: Vec<bool> = codes(&said).iter().map(|(_, code)| *code == 0).collect();
    assert_eq!(fine, [false, false, true], "{said}\n{told}");
    assert!(!format!("{said}{told}").contains("2718"), "{said}\n{told}");
    assert!(told.contains("cannot be read: Permission denied"), "{told}");
}

/// What was run for somebody who is gone is gone too, in whatever session it is.
#[test]
fn a_session_of_its_own_does_not_outlive_who_asked() {
    if !enforced() {
        return;
    }
    let world = working();
    let script = "\
        bowline develop checkpoint pass cp-1 --run 'setsid sh -c \"echo \\$\\$ >pid; exec sleep 600\" & wait' & asker=$!\n\
        i=0; until test -s pid || test $i -gt 1500; do i=$((i+1)); sleep 0.02; done\n\
        kill -9 $asker\n\
        i=0; while test -e /proc/$(cat pid)/stat && test $i -le 500; do i=$((i+1)); sleep 0.02; done\n\
        test -s pid && test $i -le 500; echo \"= gone $?\"\n";
    let output = sandboxed(&world, "", script);
    let said = text(&output.stdout);
    assert_eq!(
        codes(&said),
        [("gone".to_owned(), 0)],
        "{}",
        text(&output.stderr)
    );
}

/// Where the shell stands does not matter when a folder is named.
#[test]
fn from_a_folder_that_was_removed_a_named_one_is_worked_in() {
    if !enforced() {
        return;
    }
    let world = TestEnvironment::new();
    std::fs::create_dir(world.path("sub")).unwrap();
    let script = format!(
        "rmdir ../sub; {} run-agent --sandbox --dir {} -- pwd",
        env!("CARGO_BIN_EXE_bowline"),
        world.path("").display()
    );
    let mut shell = world.program("sh");
    let shell = shell.args(["-c", &script]).current_dir(world.path("sub"));
    let output = shell.output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(
        said.trim_end(),
        world.root().join("project").to_str().unwrap()
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
}
