//! Output, artifacts and ZIP files.

use crate::fake_job_service::World;
use serde_json::json;

fn with_files() -> World {
    let world = World::new();
    world.job_service.put_running("task_f");
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

/// Names that lists of lines, quotes and addresses break on; two of each.
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
    "50%.md",
    "a?b#c.md",
    "at 10:30.md",
    "tab\tone.md",
];

#[test]
fn artifacts_of_any_name_are_listed_sent_and_zipped() {
    let world = World::new();
    world.job_service.put_running("task_n");
    let folder = world.folder.path().join("workspaces/task_n");
    std::fs::create_dir_all(folder.join("docs")).unwrap();
    for (number, name) in NAMES.iter().enumerate() {
        std::fs::write(folder.join(name), number.to_string()).unwrap();
    }
    let list = world.get("/api/tasks/task_n/artifacts").json();
    let listed = list["items"].as_array().unwrap();
    let mut listed: Vec<&str> = listed
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    let mut wanted = NAMES.to_vec();
    listed.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(listed, wanted);
    for (number, name) in NAMES.iter().enumerate() {
        let parts: Vec<String> = name
            .split('/')
            .map(bowline_formats::rest::routes::encode_segment)
            .collect();
        let path = format!("/api/tasks/task_n/artifacts/{}", parts.join("/"));
        let sent = world.get(&path);
        assert_eq!(
            (sent.status, sent.body),
            (200, number.to_string().into_bytes()),
            "{name:?}"
        );
    }
    let saved = world.get("/api/tasks/task_n/artifacts/docs/%EA%B3%84%ED%9A%8D.md");
    assert_eq!(
        saved.header("content-disposition"),
        Some("attachment; filename=\"__.md\"; filename*=UTF-8''%EA%B3%84%ED%9A%8D.md")
    );
    let zipped = unzipped(&world, "task_n");
    let all = NAMES.iter().enumerate();
    let wanted = all.map(|(number, name)| ((*name).to_owned(), json!(number.to_string())));
    assert_eq!(zipped, serde_json::Value::Object(wanted.collect()));
}

/// The files of a ZIP, as somebody else's program reads them.
fn unzipped(world: &World, task: &str) -> serde_json::Value {
    let zip = world.get(&format!("/api/tasks/{task}/artifacts.zip"));
    assert_eq!(
        (zip.status, zip.header("content-type")),
        (200, Some("application/zip"))
    );
    let path = world.folder.path().join("out.zip");
    std::fs::write(&path, &zip.body).unwrap();
    let script = "import sys,zipfile,json; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(json.dumps({n:z.read(n).decode() for n in z.namelist()}))";
    let read = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .output();
    let read = read.expect("python3 reads it");
    serde_json::from_slice(&read.stdout).unwrap()
}

#[test]
fn artifacts_begin_with_a_dot_too_but_records_are_none() {
    let world = World::new();
    world.job_service.put_running("task_d");
    let folder = world.folder.path().join("workspaces/task_d");
    let shown = [".github/workflows/ci.yml", ".eslintrc", "docs/.draft.md"];
    let records = [
        ".git/config",
        ".metadata/task.json",
        ".checkpoints/x.json",
        "sub/.git/config",
        "linked/.git",
        "node_modules/x/index.js",
    ];
    for path in shown.iter().chain(&records) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "text").unwrap();
    }
    let archive = world.folder.path().join("archives/task_d");
    std::fs::create_dir_all(&archive).unwrap();
    std::fs::write(archive.join("error.log"), "panicked").unwrap();
    let list = world.get("/api/tasks/task_d/artifacts").json();
    let listed = list["items"].as_array().unwrap().iter();
    let listed: Vec<&str> = listed.map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(
        listed,
        [
            ".eslintrc",
            ".github/workflows/ci.yml",
            "docs/.draft.md",
            "error.log"
        ]
    );
    let status = |path: &str| {
        world
            .get(&format!("/api/tasks/task_d/artifacts/{path}"))
            .status
    };
    for path in shown {
        assert_eq!(status(path), 200, "{path}");
    }
    for path in &records[..5] {
        assert_eq!(status(path), 404, "{path}");
    }
    let log = world.get("/api/tasks/task_d/artifacts/error.log");
    assert_eq!(log.body, b"panicked");
    assert_eq!(
        unzipped(&world, "task_d"),
        json!({".eslintrc": "text", ".github/workflows/ci.yml": "text", "docs/.draft.md": "text", "error.log": "panicked"})
    );
}

#[test]
fn artifacts_are_files_of_the_workspace_and_nothing_else() {
    let world = with_files();
    world
        .job_service
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

#[test]
fn the_zip_file_can_be_read_and_has_no_secret() {
    let world = with_files();
    world
        .job_service
        .values
        .lock()
        .unwrap()
        .push("s3cret-value".into());
    let zip = world.get("/api/tasks/task_f/artifacts.zip");
    assert!(!zip.body.windows(12).any(|part| part == b"s3cret-value"));
    let names = unzipped(&world, "task_f");
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
