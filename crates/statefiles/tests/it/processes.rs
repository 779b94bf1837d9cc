//! Many processes at once on one file.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_statefiles::{FileSituation, kind};
use bowline_test_support::drill::{KillDrill, ParallelDrill, check_journal};

use crate::children::child;
use crate::support::{Place, add, change, set, state_file};

const BOUND: Duration = Duration::from_secs(60);

/// The document says how many lines it has, so that a reader can tell a torn one.
fn with_line(text: &str, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.push(line);
    format!("{}\n{}\n", lines.len(), lines.join("\n"))
}

fn is_whole(text: &str) -> bool {
    let count = text.lines().count().checked_sub(1);
    text.ends_with('\n') && text.lines().next().and_then(|first| first.parse().ok()) == count
}

fn tokens(text: &str) -> BTreeSet<&str> {
    text.lines().skip(1).collect()
}

/// In the child: adds lines, and notes each one that was acknowledged.
pub(crate) fn hammer(folder: &Path, number: &str, updates: u32) {
    let file = state_file(&folder.join("state.json")).with_lock_wait(BOUND);
    let noted = folder.join(format!("acknowledged-{number}"));
    let mut noted = std::fs::File::options()
        .create(true)
        .append(true)
        .open(noted)
        .unwrap();
    for n in 0..updates {
        let token = format!("w{number}-{}-{n}", std::process::id());
        change(&file, |text| with_line(text, &token)).unwrap();
        // In one write, so that a kill does not cut it.
        noted.write_all(format!("{token}\n").as_bytes()).unwrap();
    }
}

fn acknowledged(place: &Place) -> String {
    place
        .names()
        .iter()
        .filter(|name| name.starts_with("acknowledged-"))
        .map(|name| place.read(name))
        .collect()
}

#[test]
fn many_writers_and_a_reader() {
    const PROCESSES: usize = 8;
    const UPDATES: usize = 40;
    let place = Place::new();
    set(&place.file(), "0\n").unwrap();
    let over = AtomicBool::new(false);
    let lines = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !over.load(Ordering::SeqCst) {
                let seen = place.file().load().unwrap();
                let text = seen.text().unwrap().unwrap();
                assert!(is_whole(text), "torn: {text}");
                assert!(
                    matches!(
                        seen.situation,
                        FileSituation::Clean | FileSituation::RolledForward { .. }
                    ),
                    "{:?}",
                    seen.situation
                );
                assert!(tokens(text).len() >= last, "went back");
                last = tokens(text).len();
            }
            last
        });
        let drill = ParallelDrill {
            file: place.main(),
            processes: PROCESSES,
            bound: BOUND,
        };
        let lines =
            drill.run(|number| child(place.folder.path(), &format!("hammer|{number}|{UPDATES}")));
        over.store(true, Ordering::SeqCst);
        assert!(reader.join().unwrap() > 0);
        lines.unwrap()
    });
    assert_eq!(lines.len(), 1 + PROCESSES * UPDATES);
    assert!(lines.iter().all(|line| line.kind == kind::CHANGE));
    let (text, acknowledged) = (place.read("state.json"), acknowledged(&place));
    assert_eq!(tokens(&text), acknowledged.lines().collect());
}

#[test]
fn a_stranger_who_moves_files_in_without_the_lock() {
    let place = Place::new();
    set(&place.file(), "0\n").unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stranger = scope.spawn(|| {
            let (path, scratch) = (place.main(), place.path("stranger.tmp"));
            let mut count = 0;
            while !over.load(Ordering::SeqCst) {
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(&scratch, with_line(&text, &format!("s{count}"))).unwrap();
                std::fs::rename(&scratch, &path).unwrap();
                count += 1;
                // Not as fast as it can: our writers need a moment between two of them.
                std::thread::yield_now();
                let _ = bowline_test_support::wait_until(Duration::from_millis(3), || {
                    over.load(Ordering::SeqCst)
                });
            }
            count
        });
        let drill = ParallelDrill {
            file: place.main(),
            processes: 3,
            bound: BOUND,
        };
        let ran = drill.run(|number| child(place.folder.path(), &format!("hammer|{number}|100")));
        over.store(true, Ordering::SeqCst);
        assert!(stranger.join().unwrap() > 0);
        ran.unwrap();
    });
    add(&place.file(), "last").unwrap();
    check_journal(&place.file()).unwrap();

    // What was acknowledged was there once, and nothing disappeared but by a change that is told as
    // theirs.
    let versions = place.file().read_history().unwrap().versions(0);
    assert!(
        versions
            .iter()
            .any(|version| version.line.kind == kind::OUTSIDE)
    );
    let mut ever = BTreeSet::new();
    for version in &versions {
        let (before, after) = (
            version.before.clone().unwrap_or_default(),
            version.after.clone().unwrap(),
        );
        let lost: Vec<_> = tokens(&before)
            .difference(&tokens(&after))
            .map(|token| (*token).to_owned())
            .collect();
        assert!(
            lost.is_empty() || version.line.kind == kind::OUTSIDE,
            "{} lost {lost:?}",
            version.line.seq
        );
        if version.line.kind == kind::CHANGE {
            ever.extend(tokens(&after).into_iter().map(str::to_owned));
        }
    }
    for token in acknowledged(&place).lines() {
        assert!(
            ever.contains(token),
            "{token} was acknowledged and never there"
        );
    }
}

#[test]
fn killed_at_any_time() {
    let place = Place::on_disk();
    set(&place.file(), "0\n").unwrap();
    let drill = KillDrill {
        file: place.main(),
        rounds: 40,
        pace: Duration::from_millis(1),
    };
    let killed = drill
        .run(
            |round| child(place.folder.path(), &format!("hammer|{round}|1000")),
            |round| {
                let seen = place.file().load()?;
                let text = seen.text()?.unwrap();
                assert!(is_whole(text), "round {round}: {text}");
                assert!(
                    matches!(
                        seen.situation,
                        FileSituation::Clean | FileSituation::RolledForward { .. }
                    ),
                    "round {round}: {:?}",
                    seen.situation
                );
                for token in acknowledged(&place).lines() {
                    assert!(
                        tokens(text).contains(token),
                        "round {round}: {token} is gone"
                    );
                }
                Ok(())
            },
        )
        .unwrap();
    assert!(killed > 0);
    change(&place.file(), |text| with_line(text, "last")).unwrap();
    let left: Vec<_> = place
        .names()
        .into_iter()
        .filter(|name| name.starts_with('.') || name.ends_with(".lock"))
        .collect();
    assert_eq!(left, [""; 0]);
}
