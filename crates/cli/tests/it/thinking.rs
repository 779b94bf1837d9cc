//! The verbs of `bowline thinking`.

use crate::environment::{THINKING, TestEnvironment};

#[test]
fn a_whole_run() {
    let world = TestEnvironment::begun();
    world.write("thinking/planning/ideas.json", "{}\n");
    world.write("thinking/selection/selected.json", "{}\n");
    world.write("drafts/draft_v1.md", "A knot holds.\n");
    world.write("thinking/reflection/quality_check.json", "{}\n");
    check!(world.session(&[
        "thinking output planning thinking/planning/ideas.json",
        "thinking complete planning",
        "thinking start selection",
        "thinking complete selection",
        "thinking evaluate practicality=8 trust=7 innovation=8",
        "thinking start creation",
        "thinking complete creation --output drafts/draft_v1.md",
        "thinking quality completeness=0.75 consistency=0.9 alignment_with_values=0.85",
        "thinking start reflection",
        "thinking complete reflection --output thinking/reflection/quality_check.json",
        "thinking feedback record --metric engagement_rate=6.8% --target 5% --learning 'short titles work' --stage creation",
        "thinking status",
        "thinking status --lang ko",
    ]));
    check!("a_whole_run_file", world.read(THINKING));
}

#[test]
fn changing_verbs_as_json() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "thinking new essay-001 --title T --json",
        "thinking start planning --json",
        "thinking start planning --json",
    ]));
}

#[test]
fn refusals() {
    let world = TestEnvironment::planned();
    let lines = [
        "thinking new essay-002 --title Again",
        "thinking start planning",
        "thinking start creation",
        "thinking complete creation",
        "thinking fail selection --code x --message y",
        "thinking output planning more.md",
        "thinking start selection --override 'no need'",
        "thinking evaluate charm=8",
        "thinking evaluate trust=11",
        "thinking evaluate trust",
        "thinking quality completeness=lots",
        "thinking feedback record --metric reach=10 --target 0",
        "thinking feedback apply --from elsewhere",
    ];
    let [english, korean] = world.refusals(&lines);
    check!("refusals_en", english);
    check!("refusals_ko", korean);
}

#[test]
fn done_without_proof_is_refused() {
    let world = TestEnvironment::planned();
    world.quietly("thinking start selection", 0);
    let refused = world.session(&[
        "thinking complete selection",
        "thinking complete selection --output ../secret.json",
        "thinking complete selection --output notes.md",
    ]);
    world.write("thinking/selection/selected.json", "{}\n");
    world.write("notes.md", "why\n");
    let done = world.run("thinking complete selection --output notes.md");
    std::fs::remove_file(world.path("thinking/selection/selected.json")).unwrap();
    let gone = world.run("thinking start creation");
    check!([refused, done, gone].join("\n"));
}

#[test]
fn three_failures_need_a_person() {
    let world = TestEnvironment::begun();
    let mut text = String::new();
    for _ in 0..3 {
        text += &world.run("thinking fail planning --code no_ideas --message 'nothing came up'");
        text += &world.run("thinking start planning");
    }
    text += &world.run("status");
    let agent = world.with("CLAUDECODE", "1");
    text += &agent.run("thinking start planning --override 'try once more'");
    check!(text);
}

#[test]
fn a_person_reopens_a_stage() {
    let world = TestEnvironment::begun();
    for _ in 0..2 {
        world.quietly("thinking fail planning --code no_ideas --message m", 0);
        world.quietly("thinking start planning", 0);
    }
    world.quietly("thinking fail planning --code no_ideas --message m", 0);
    check!(world.session(&[
        "thinking start planning --override 'a new brief came in'",
        "history -n 1",
        "status",
    ]));
}

#[test]
fn lessons_of_another_task() {
    let world = TestEnvironment::new();
    world.quietly("thinking new --dir old old-1 --title Old", 0);
    world.quietly(
        "thinking --dir old feedback record --metric reach=12 --target 10 --learning 'ask early'",
        0,
    );
    world.quietly("thinking new --dir new new-1 --title New", 0);
    check!(world.session(&[
        "-C new thinking feedback apply --from ../old",
        "-C new thinking feedback apply --from ../old",
        "thinking --dir new feedback apply --from old --lang ko",
    ]));
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = TestEnvironment::new();
    let new = world.run("--dry-run thinking new essay-001 --title T");
    assert!(world.everything().is_empty(), "{:?}", world.everything());
    let world = TestEnvironment::begun();
    world.write("a.md", "a\n");
    let before = world.everything();
    let rest = world.session(&[
        "--dry-run thinking complete planning --output a.md",
        "--dry-run thinking complete planning --output a.md --lang ko",
        "--dry-run thinking fail planning --code c --message m --json",
        "--dry-run thinking complete planning",
        "--dry-run doctor --repair",
    ]);
    assert_eq!(before, world.everything());
    check!(format!("{new}\n{rest}"));
}

#[test]
fn a_dry_run_of_a_repair_writes_nothing() {
    let world = TestEnvironment::begun();
    world.write(THINKING, "{ \"task_id\": ");
    let before = world.everything();
    check!(world.session(&[
        "--dry-run thinking fail planning --code c --message m",
        "--dry-run doctor --repair",
    ]));
    assert_eq!(before, world.everything());
}

#[test]
fn an_output_that_could_never_count_is_refused() {
    let world = TestEnvironment::begun();
    std::os::unix::fs::symlink("/etc", world.path("away")).unwrap();
    std::fs::create_dir(world.path("folder")).unwrap();
    let before = world.read(THINKING);
    let told = world.run("thinking output planning away/passwd");
    assert!(told.contains("error[path_escapes]"), "{told}");
    world.quietly("thinking complete planning --output away/passwd", 1);
    world.quietly("thinking output planning folder", 2);
    assert_eq!(world.read(THINKING), before);
}
