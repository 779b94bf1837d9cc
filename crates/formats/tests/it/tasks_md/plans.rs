//! Whole plans as people and their agents write them, and everything that is read from each.
//!
//! `tests/plans/NAME.md` is a plan (those of `second_hand` were written by somebody who had not
//! seen the reader), `NAME.read` what is read from it. With `BOWLINE_BLESS=1` the latter are
//! written anew: read every line of the difference.

use super::describe;
use bowline_formats::tasks_md::parse_plan;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans")
}

#[test]
fn every_plan_is_read_as_it_was_meant() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let folders = [folder(), folder().join("second_hand")];
    let entries = folders.map(|folder| std::fs::read_dir(folder).unwrap());
    for entry in entries.into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "md") {
            continue;
        }
        count += 1;
        let found = describe(&parse_plan(&std::fs::read_to_string(&path).unwrap()));
        let expected = path.with_extension("read");
        if std::env::var_os("BOWLINE_BLESS").is_some() {
            std::fs::write(&expected, &found).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(count > 40, "{count} plans");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_task_says_that_it_changes_is_read_and_stays_inside() {
    let file = bowline_formats::tasks_md::parse_plan(
        "## Phase 1: A\n### [ ] T1.1: One\n- touches: src/a.rs, ./docs/, ../x, /etc\n\
         ### [ ] T1.2: Two\n- **수정 파일**: `src/b c.rs`, `web/**`\n### [ ] T1.3: Three\n- touches: none\n",
    );
    let touches = |id: &str| file.task(id).unwrap().touches.clone();
    assert_eq!(touches("T1.1"), ["src/a.rs", "docs"]);
    assert_eq!(touches("T1.2"), ["src/b c.rs", "web"]);
    assert_eq!(touches("T1.3"), Vec::<String>::new());
}
