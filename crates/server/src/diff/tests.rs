//! Diffs of real repositories, made by real git.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A workspace that is a repository.
struct Repository {
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

impl Repository {
    fn new(config: &str) -> Repository {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join(".gitconfig"), config).unwrap();
        let path = std::env::var("PATH").unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let environment = BTreeMap::from([("PATH".to_owned(), path), ("HOME".to_owned(), home)]);
        let repository = Repository {
            folder,
            environment,
        };
        repository.shell("git init -q .");
        repository
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn shell(&self, script: &str) {
        let limit = Duration::from_secs(60);
        let ran = process::run_in(script, &self.work(), &self.environment, limit).unwrap();
        assert_eq!(ran.exit_code, 0, "{script}: {}", ran.output_tail);
    }

    fn write(&self, name: &str, text: &[u8]) {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Saves all files under a ref.
    fn save(&self, name: &str) {
        self.shell(&format!(
            "git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m {name} && git update-ref refs/bowline/t/{name} HEAD"
        ));
    }

    fn compare(&self, from: Option<&str>, to: &str) -> Result<ReviewChanges, String> {
        let states = SavedStates {
            workspace: &self.work(),
            repository: None,
            from,
            first: "refs/bowline/t/first",
            to,
            environment: &self.environment,
            scratch: self.folder.path(),
        };
        states.compare()
    }

    /// Compares the states `before` and `after`.
    fn changes(&self) -> ReviewChanges {
        let found = self.compare(Some("refs/bowline/t/before"), "refs/bowline/t/after");
        let left = std::fs::read_dir(self.folder.path()).unwrap().flatten();
        let left = left.filter(|it| it.path().extension().is_some_and(|it| it == "diff"));
        assert_eq!(left.count(), 0, "nothing of a comparison stays on the disk");
        found.unwrap()
    }
}

/// Names that git quotes, or that would break a list of lines; two of each.
const NAMES: [&str; 16] = [
    "docs/계획.md",
    "docs/설계.md",
    "a b.md",
    "a  c .md",
    "say \"hi\".md",
    "say \"ho\".md",
    "two\nlines.md",
    "two\nrows.md",
    "back\\slash.md",
    "back\\n.md",
    "\u{202e}fdp.md",
    "\u{202e}gnp.md",
    "a b/c b/d.md",
    " b/x.md",
    "tab\tone.md",
    ":(glob)**.md",
];

#[test]
fn every_name_is_told_as_it_is() {
    // All that a person may have set for git.
    let repository = Repository::new(
        "[core]\nquotePath = true\n[diff]\nnoprefix = true\nmnemonicPrefix = true\nrelative = true\nrenames = copies\n\
         external = false\nsubmodule = log\ncontext = 0\nsuppressBlankEmpty = true\ncolorMoved = default\n[color]\nui = always\n\
         [init]\ndefaultBranch = main\n",
    );
    for name in NAMES {
        repository.write(name, b"one\n\nthree\n");
    }
    repository.write("tests/\"삭제\".rs", b"fn test() {}\n");
    repository.write("tests/gone\\.rs", b"fn test() {}\n");
    repository.save("before");
    for name in NAMES {
        repository.write(name, b"one\n\nthree\nfour\n");
        repository.write(&format!("new/{name}"), b"one\n");
    }
    repository.shell("rm -r tests");
    repository.save("after");

    let changes = repository.changes();
    let mut wanted: Vec<(String, FileChange)> = Vec::new();
    for name in NAMES {
        wanted.push((name.to_owned(), FileChange::Modified));
        wanted.push((format!("new/{name}"), FileChange::Added));
    }
    for name in ["tests/\"삭제\".rs", "tests/gone\\.rs"] {
        wanted.push((name.to_owned(), FileChange::Deleted));
    }
    wanted.sort_by(|one, other| one.0.cmp(&other.0));
    let mut found: Vec<(String, FileChange)> = changes
        .files
        .iter()
        .map(|it| (it.path.clone(), it.change))
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, wanted);
    for file in &changes.files {
        let (added, removed, diff) = match file.change {
            FileChange::Modified => (1, 0, "@@ -1,3 +1,4 @@\n one\n \n three\n+four\n"),
            FileChange::Added => (1, 0, "@@ -0,0 +1 @@\n+one\n"),
            FileChange::Deleted => (0, 1, "@@ -1 +0,0 @@\n-fn test() {}\n"),
        };
        assert_eq!(file.diff, diff, "{}", file.path);
        assert_eq!((file.added, file.removed), (Some(added), Some(removed)));
        assert_eq!(file.hash.is_empty(), file.change == FileChange::Deleted);
    }
    assert_eq!((changes.files_total, changes.added), (34, 32));
    assert_eq!(changes.removed, 2);
}

#[test]
fn what_an_agent_wrote_for_git_hides_nothing() {
    let repository = Repository::new("");
    repository.write("run.sh", b"echo one\n");
    repository.save("before");
    repository.write("run.sh", b"echo two\n");
    repository.write(".gitattributes", b"* -diff\n*.sh binary\n");
    repository.write(".git/info/attributes", b"* -diff diff=none\n");
    let shows_nothing = "diff.external true && git config diff.none.textconv true && git config diff.none.command true";
    repository.shell(&format!(
        "git config {shows_nothing} && git config diff.none.binary true"
    ));
    repository.save("after");
    // Another commit in the place of the one that is reviewed.
    repository.shell("git replace refs/bowline/t/after refs/bowline/t/before");

    let changes = repository.changes();
    let file = changes.files.iter().find(|it| it.path == "run.sh").unwrap();
    assert_eq!(file.diff, "@@ -1 +1 @@\n-echo one\n+echo two\n");
    assert!(!file.binary);
    assert_eq!(
        (changes.files_total, changes.added, changes.removed),
        (2, 3, 1)
    );
}

#[test]
fn modes_links_and_binary_files_are_told() {
    let repository = Repository::new("");
    repository.write("mode.sh", b"echo\n");
    repository.write("becomes-link", b"text\n");
    repository.write("picture.png", b"\x89PNG\0one");
    repository.save("before");
    let mode = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(repository.work().join(name), mode).unwrap();
    };
    mode("mode.sh", 0o755);
    std::fs::remove_file(repository.work().join("becomes-link")).unwrap();
    symlink("/etc/passwd", repository.work().join("becomes-link")).unwrap();
    repository.write("picture.png", b"\x89PNG\0two");
    repository.write("tool", b"#!/bin/sh\n");
    mode("tool", 0o755);
    repository.write("empty", b"");
    repository.save("after");

    let changes = repository.changes();
    let shown: Vec<_> = changes
        .files
        .iter()
        .map(|it| {
            let (old, new) = (it.old_mode.as_deref(), it.new_mode.as_deref());
            (it.path.as_str(), old, new, it.added, it.removed)
        })
        .collect();
    let (plain, executable) = (Some("100644"), Some("100755"));
    assert_eq!(
        shown,
        [
            ("becomes-link", plain, Some("120000"), Some(1), Some(1)),
            ("empty", None, plain, Some(0), Some(0)),
            ("mode.sh", plain, executable, Some(0), Some(0)),
            ("picture.png", plain, plain, None, None),
            ("tool", None, executable, Some(1), Some(0)),
        ]
    );
    assert!(changes.files[0].diff.contains("+/etc/passwd\n"));
    assert!(changes.files[3].binary && changes.files[3].diff.is_empty());
    assert!(changes.files[2].hash.ends_with("-100755"));
}

#[test]
fn what_is_cut_is_counted() {
    let repository = Repository::new("");
    repository.write("empty", b"");
    repository.save("before");
    let line = format!("{}\n", "x".repeat(60));
    repository.write("long.txt", line.repeat(12_000).as_bytes());
    repository.write("one-line.js", "y".repeat(FILE_DIFF_BYTES_MAX).as_bytes());
    for number in 0..FILES_MAX {
        repository.write(&format!("many/{number:04}"), b"1\n2\n");
    }
    repository.save("after");

    let changes = repository.changes();
    assert_eq!(changes.files_total, FILES_MAX as u64 + 2);
    assert_eq!(changes.files.len(), FILES_MAX);
    assert_eq!(changes.added, 12_000 + 1 + 2 * FILES_MAX as u64);
    let file = &changes.files[0];
    assert_eq!(
        (file.path.as_str(), file.added, file.truncated),
        ("long.txt", Some(12_000), true)
    );
    assert!(file.diff.len() <= FILE_DIFF_BYTES_MAX && file.diff.ends_with(&line));
    let file = changes
        .files
        .iter()
        .find(|it| it.path.starts_with("many/"))
        .unwrap();
    assert!(!file.truncated);
}

#[test]
fn a_state_that_is_gone_is_an_error_and_no_state_is_everything_new() {
    let repository = Repository::new("");
    repository.write("a", b"1\n");
    repository.save("after");
    let (gone, after) = ("refs/bowline/t/gone", "refs/bowline/t/after");
    for (from, to) in [(Some(gone), after), (None, gone)] {
        let error = repository.compare(from, to).unwrap_err();
        assert!(error.contains("is gone"), "{error}");
    }
    let changes = repository.compare(None, after).unwrap();
    assert_eq!((changes.from, changes.files_total), (None, 1));
    // With the files that the first agent found, only what it changed is new.
    repository.shell("git update-ref refs/bowline/t/first HEAD");
    repository.write("b", b"1\n");
    repository.save("after");
    let changes = repository.compare(None, after).unwrap();
    assert!(changes.from.is_some());
    assert_eq!(changes.files.len(), 1);
    assert_eq!(changes.files[0].path, "b");
}

#[test]
fn repositories_with_other_ids_are_compared_too() {
    let repository = Repository::new("[init]\ndefaultObjectFormat = sha256\n");
    repository.shell("rm -rf .git && git init -q --object-format=sha256 .");
    repository.write("a", b"1\n");
    repository.save("after");
    let changes = repository.compare(None, "refs/bowline/t/after").unwrap();
    assert_eq!((changes.files_total, changes.added), (1, 1));
}

#[test]
fn names_that_are_no_text_stay_apart() {
    assert_eq!(lossless_text(b"caf\xe9"), "caf\\xE9");
    assert_ne!(lossless_text(b"\xff"), lossless_text(b"\xfe"));
}
