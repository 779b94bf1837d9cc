//! Where a run is found. Folders of git are made by hand: they are a few small files.

use bowline_gate::locate;
use std::fs;
use std::path::{Path, PathBuf};

/// A repository with a linked worktree, as git lays them out.
fn repository() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (main, linked) = (base.join("main"), base.join("linked"));
    let noted = main.join(".git/worktrees/linked");
    fs::create_dir_all(&noted).unwrap();
    fs::create_dir_all(main.join("src/deep")).unwrap();
    fs::create_dir_all(linked.join("src")).unwrap();
    fs::write(noted.join("commondir"), "../..\n").unwrap();
    fs::write(
        noted.join("gitdir"),
        format!("{}\n", linked.join(".git").display()),
    )
    .unwrap();
    fs::write(
        linked.join(".git"),
        format!("gitdir: {}\n", noted.display()),
    )
    .unwrap();
    (folder, main, linked)
}

fn begin(root: &Path) -> PathBuf {
    let file = root.join(".develop-workflow/state.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{}").unwrap();
    file
}

#[test]
fn every_folder_and_worktree_finds_the_file_of_the_main_worktree() {
    let (_folder, main, linked) = repository();
    let file = begin(&main);
    for start in [&main, &main.join("src/deep"), &linked, &linked.join("src")] {
        assert_eq!(locate::develop_file(start), file, "{}", start.display());
    }
}

#[test]
fn a_worktree_with_a_file_of_its_own_uses_it_and_shares_the_side_folder() {
    let (_folder, main, linked) = repository();
    let (ours, theirs) = (begin(&main), begin(&linked));
    assert_eq!(locate::develop_file(&linked.join("src")), theirs);
    assert_eq!(locate::side_folder(&ours), locate::side_folder(&theirs));
}

#[test]
fn without_a_file_the_top_of_the_worktree_is_its_place() {
    let (_folder, main, linked) = repository();
    let at = |root: &Path| root.join(".develop-workflow/state.json");
    assert_eq!(locate::develop_file(&main.join("src/deep")), at(&main));
    assert_eq!(locate::develop_file(&linked.join("src")), at(&linked));
    assert!(!locate::is_develop_file(&at(&main)));
}

#[test]
fn a_file_above_the_repository_counts_when_the_repository_has_no_run() {
    let (folder, main, _) = repository();
    let above = begin(&folder.path().canonicalize().unwrap());
    assert_eq!(locate::develop_file(&main.join("src")), above);
    let own = begin(&main);
    assert_eq!(locate::develop_file(&main.join("src")), own);
}

#[test]
fn outside_of_repositories_the_nearest_folder_counts() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let file = begin(folder.path());
    assert_eq!(locate::develop_file(&below), file);
    assert_ne!(
        locate::side_folder(&file),
        locate::side_folder(&begin(&below))
    );
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let (_folder, main, _) = repository();
    let sub = main.join("src/deep");
    let modules = main.join(".git/modules/deep");
    fs::create_dir_all(&modules).unwrap();
    fs::write(sub.join(".git"), "gitdir: ../../.git/modules/deep\n").unwrap();
    assert_eq!(locate::git_common_dir(&sub), modules.canonicalize().ok());
    assert_eq!(locate::main_worktree(&sub), None);
}
