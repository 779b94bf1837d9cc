//! Whole plans as people and their agents write them, and everything that is read from each.
//!
//! `tests/plans/NAME.md` is a plan, `NAME.read` what is read from it. With `BOWLINE_BLESS=1` the latter are written anew:
//! read every line of the difference.

use super::describe;
use bowline_formats::tasks_md::parse;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans")
}

#[test]
fn every_plan_is_read_as_it_was_meant() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "md") {
            continue;
        }
        count += 1;
        let found = describe(&parse(&std::fs::read_to_string(&path).unwrap()));
        let expected = path.with_extension("read");
        if std::env::var_os("BOWLINE_BLESS").is_some() {
            std::fs::write(&expected, &found).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(count > 20, "{count} plans");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
