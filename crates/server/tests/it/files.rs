//! Output, artifacts and ZIP files.

use crate::desk::World;
use serde_json::json;

fn with_files() -> World {
    let world = World::new();
    world.desk.put_running("task_f");
    let folder = world.folder.path().join("workspaces/task_f");
    std::fs::create_dir_all(folder.join("docs")).unwrap();
    std::fs::create_dir_all(folder.join(".checkpoints")).unwrap();
    std::fs::write(folder.join("docs/01 글.md"), "hello").unwrap();
    std::fs::write(folder.join("index.html"), "<script>alert(1)</script>").unwrap();
    std::fs::write(folder.join(".checkpoints/x.json"), "{}").unwrap();
    std::fs::write(folder.join("env"), "KEY=s3cret-value").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    std::fs::write(
        world.folder.path().join("task_f.log"),
        "line one\nline two\n",
    )
    .unwrap();
    world
}

#[test]
fn artifacts_are_files_of_the_workspace_and_nothing_else() {
    let world = with_files();
    world
        .desk
        .values
        .lock()
        .unwrap()
        .push("s3cret-value".into());
    let list = world.get("/api/tasks/task_f/artifacts").json();
    let shown: Vec<(String, bool)> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["path"].as_str().unwrap().to_owned(),
                it["holdsSecret"].as_bool().unwrap(),
            )
        })
        .collect();
    let wanted = [
        ("docs/01 글.md", false),
        ("env", true),
        ("index.html", false),
    ];
    assert_eq!(
        shown,
        wanted.map(|(path, secret)| (path.to_owned(), secret))
    );
    let file = world.get("/api/tasks/task_f/artifacts/docs/01%20%EA%B8%80.md");
    assert_eq!(
        (file.status, file.body.as_slice()),
        (200, b"hello".as_slice())
    );
    let page = world.get("/api/tasks/task_f/artifacts/index.html");
    assert_eq!(
        page.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(
        page.header("content-security-policy"),
        Some("sandbox; default-src 'none'")
    );
    for path in [
        "../../data/token",
        "%2e%2e/%2e%2e/data/token",
        "docs/..%2f..%2f..%2fdata/token",
        "%2fetc/passwd",
        "link",
        ".checkpoints/x.json",
        "docs",
        "none",
    ] {
        let answer = world.get(&format!("/api/tasks/task_f/artifacts/{path}"));
        assert!(
            [400, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
        assert!(
            !String::from_utf8_lossy(&answer.body).contains("root:"),
            "{path}"
        );
        assert!(
            !String::from_utf8_lossy(&answer.body).contains(&world.token()),
            "{path}"
        );
    }
}

/// Somebody else's program reads it.
#[test]
fn the_zip_file_can_be_read_and_has_no_secret() {
    let world = with_files();
    world
        .desk
        .values
        .lock()
        .unwrap()
        .push("s3cret-value".into());
    let zip = world.get("/api/tasks/task_f/artifacts.zip");
    assert_eq!(
        (zip.status, zip.header("content-type")),
        (200, Some("application/zip"))
    );
    assert!(!zip.body.windows(12).any(|part| part == b"s3cret-value"));
    let path = world.folder.path().join("out.zip");
    std::fs::write(&path, &zip.body).unwrap();
    let script = "import sys,zipfile,json; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(json.dumps({n:z.read(n).decode() for n in z.namelist()}))";
    let read = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .output();
    let read = read.expect("python3 reads it");
    let names: serde_json::Value = serde_json::from_slice(&read.stdout).unwrap();
    assert_eq!(
        names,
        json!({"docs/01 글.md": "hello", "index.html": "<script>alert(1)</script>"})
    );
}

#[test]
fn output_is_read_from_a_byte_on() {
    let world = with_files();
    let first = world.get("/api/tasks/task_f/logs?limit=9");
    assert_eq!(
        (first.body.as_slice(), first.header("x-next-offset")),
        (b"line one\n".as_slice(), Some("9"))
    );
    let rest = world.get("/api/tasks/task_f/logs?offset=9");
    assert_eq!(
        (rest.body.as_slice(), rest.header("x-next-offset")),
        (b"line two\n".as_slice(), Some("18"))
    );
    let end = world.get("/api/tasks/task_f/logs?offset=-4");
    assert_eq!(end.body, b"two\n");
    assert_eq!(world.get("/api/tasks/task_f/logs?limit=0").status, 400);
}
