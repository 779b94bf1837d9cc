//! Links, pipes, folders, huge files, files without permission, full disks.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use bowline_statefiles::{FILE_BYTES_MAX, FileSituation};
use bowline_test_support::{MissingRequirement, skip_test};

use crate::children::child;
use crate::support::{Place, add, set, state_file};

#[test]
fn a_link_survives_and_its_target_is_replaced() {
    let place = Place::new();
    std::fs::create_dir(place.path("real")).unwrap();
    place.write("real/target.json", "a\n");
    symlink("real/target.json", place.path("middle")).unwrap();
    symlink("middle", place.main()).unwrap();
    add(&place.file(), "b").unwrap();
    assert_eq!(place.read("real/target.json"), "a\nb\n");
    assert!(place.main().is_symlink());
    assert_eq!(place.names(), ["middle", "real", "state.json"]);
    // Whoever comes by the other name sees the same journal.
    assert_eq!(
        state_file(&place.path("real/target.json"))
            .load()
            .unwrap()
            .situation,
        FileSituation::Clean
    );
}

#[test]
fn a_link_to_nothing_gets_its_target() {
    let place = Place::new();
    symlink("later.json", place.main()).unwrap();
    assert_eq!(
        place.file().load().unwrap().situation,
        FileSituation::Absent
    );
    set(&place.file(), "a\n").unwrap();
    assert_eq!(place.read("later.json"), "a\n");
    assert!(place.main().is_symlink());
}

#[test]
fn a_loop_of_links_is_refused() {
    let place = Place::new();
    symlink("other", place.main()).unwrap();
    symlink("state.json", place.path("other")).unwrap();
    assert_eq!(place.file().load().unwrap_err().code(), "symlink_loop");
    assert_eq!(add(&place.file(), "x").unwrap_err().code(), "symlink_loop");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "there is no safe call that makes a pipe with a name"
)]
fn folders_and_pipes_are_refused_without_blocking() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(place.path("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let _listener = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    for name in ["folder", "pipe", "socket"] {
        let file = state_file(&place.path(name));
        assert_eq!(
            file.load().unwrap_err().code(),
            "not_a_regular_file",
            "{name}"
        );
        assert_eq!(
            add(&file, "x").unwrap_err().code(),
            "not_a_regular_file",
            "{name}"
        );
    }
    assert_eq!(
        state_file(Path::new("/")).load().unwrap_err().code(),
        "not_a_regular_file"
    );
    assert_eq!(
        place.names(),
        ["folder", "pipe", "socket"],
        "no lock stays behind"
    );
}

#[test]
fn what_is_too_big_is_refused() {
    let place = Place::new();
    let file = std::fs::File::create(place.main()).unwrap();
    file.set_len(FILE_BYTES_MAX + 1).unwrap();
    assert_eq!(place.file().load().unwrap_err().code(), "file_too_big");
    std::fs::remove_file(place.main()).unwrap();
    let bytes = usize::try_from(FILE_BYTES_MAX).unwrap() + 1;
    assert_eq!(
        set(&place.file(), &"x".repeat(bytes)).unwrap_err().code(),
        "file_too_big"
    );
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn companions_are_for_the_same_eyes_as_the_file() {
    let place = Place::new();
    place.write("state.json", "a\n");
    let private = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(place.main(), private).unwrap();
    for n in 0..10 {
        add(&place.file().with_journal_bytes_max(400), &n.to_string()).unwrap();
    }
    let names = place.names();
    assert_eq!(names.len(), 4, "{names:?}");
    for name in names {
        let mode = std::fs::metadata(place.path(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o640, "{name}");
    }
}

#[test]
fn a_file_just_being_written_is_read_again() {
    let place = Place::new();
    place.write("state.json", "{\"half\":");
    let half = place.file().load().unwrap();
    let modified_ms = half.modified_ms.unwrap();
    assert!(
        place
            .file()
            .reread_if_fresh(&half, modified_ms + 1_000)
            .unwrap()
            .is_none(),
        "old"
    );
    assert!(
        place
            .file()
            .reread_if_fresh(&half, modified_ms + 90)
            .unwrap()
            .is_none(),
        "still the same"
    );
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| place.file().reread_if_fresh(&half, modified_ms).unwrap());
        place.write("state.json", "{\"half\":1}");
        // The reader may see the moment in which the file is empty; that too is a change.
        let seen = reader.join().unwrap().unwrap();
        assert_ne!(seen.bytes, half.bytes);
    });
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "another user is needed, or a word that there is none"
)]
fn a_folder_without_permission_is_named() {
    let place = Place::new();
    place.write("state.json", "a\n");
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    set_mode(place.folder.path(), 0o555);
    let plain = child(place.folder.path(), "update expecting|permission_denied");
    let root = rustix::process::geteuid().is_root();
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(plain.get_program());
    command
        .args(plain.get_args())
        .current_dir(place.folder.path());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap());
    }
    let output = if root {
        command.output()
    } else {
        { plain }.output()
    };
    set_mode(place.folder.path(), 0o755);
    match output {
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            // The test binary itself may be out of reach for that user.
            if words.contains("Permission denied") && words.contains("setpriv") {
                skip_test(MissingRequirement::Program, &words);
                return;
            }
            assert!(
                output.status.success(),
                "{words}{}",
                String::from_utf8_lossy(&output.stdout)
            );
            assert_eq!(place.names(), ["state.json"]);
        }
        Err(error) => skip_test(MissingRequirement::Program, &format!("no setpriv: {error}")),
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "mounting needs a command, or a word that it may not"
)]
fn a_disk_that_is_really_full() {
    let place = Place::new();
    let small = place.path("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "none"])
        .arg(&small)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        skip_test(MissingRequirement::Mounting, "no right to mount");
        return;
    }
    let file = state_file(&small.join("state.json"));
    let mut last = String::new();
    let error = loop {
        let next = format!("{last}{}\n", "x".repeat(5_000));
        match set(&file, &next) {
            Ok(_) => last = next,
            Err(error) => break error,
        }
    };
    let found = file.load();
    let names: Vec<_> = std::fs::read_dir(&small)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    // What is not needed gives the room back, and the work goes on.
    std::fs::remove_file(small.join("state.json.bak")).unwrap();
    let again = set(&file, "small\n");
    Command::new("umount").arg(&small).output().unwrap();
    assert_eq!(error.code(), "disk_full");
    assert_eq!(found.unwrap().text().unwrap(), Some(last.as_str()));
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().starts_with('.')),
        "{names:?}"
    );
    again.unwrap();
}

#[test]
fn a_folder_in_place_of_the_backup_is_met_before_anything_changes() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    std::fs::create_dir(place.path("state.json.bak")).unwrap();
    let journal = place.read("state.json.journal.jsonl");
    let error = set(&place.file(), "b\n").unwrap_err();
    assert_eq!(error.code(), "not_a_regular_file");
    assert!(error.to_string().contains("state.json.bak is a folder"));
    assert_eq!(place.read("state.json"), "a\n");
    assert_eq!(place.read("state.json.journal.jsonl"), journal);
    std::fs::remove_dir(place.path("state.json.bak")).unwrap();
    set(&place.file(), "b\n").unwrap();
}
