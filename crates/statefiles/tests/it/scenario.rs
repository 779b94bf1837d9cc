//! Things done to a state file, each of which is then interrupted at every disk operation.

use std::path::Path;
use std::sync::Arc;

use bowline_statefiles::{
    BatchStep, Disk, DocumentChange, FileSituation, RepairCallbacks, StateFile, StateFileError,
    StepReplay, WriteOutcome, WriteRequest,
};
use bowline_test_support::drill::check_journal;
use serde_json::value::RawValue;

use crate::support::{NOW_MS, add, archived_file, good_disk, request, rescue, set, set_important};

/// Steps are JSON strings; each adds its text as a line.
#[derive(Debug)]
pub(crate) struct AddLines;

impl StepReplay for AddLines {
    fn replay_steps(
        &self,
        text: &str,
        steps: &[&RawValue],
    ) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let mut text = text.to_owned();
        for step in steps {
            text.push_str(&serde_json::from_str::<String>(step.get())?);
            text.push('\n');
        }
        Ok(text)
    }
}

pub(crate) fn step(line: &str) -> BatchStep {
    BatchStep {
        id: line.to_owned(),
        at: String::new(),
        logical: RawValue::from_string(format!("\"{line}\"")).unwrap(),
        transition: None,
        effects: None,
    }
}

/// Something done to a state file; calls back with each document it has been told is durable.
pub(crate) type Act = fn(&StateFile, &mut dyn FnMut(&str)) -> Result<(), StateFileError>;

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Prepares the folder, with a good disk.
    pub(crate) prepare: fn(&Path),
    /// Does the thing; every disk operation goes through the given disk.
    pub(crate) act: Act,
    /// The documents that may be found afterwards, in order; what is acknowledged is never followed
    /// by an earlier one.
    pub(crate) versions: &'static [&'static str],
    pub(crate) journal_bytes_max: u64,
}

pub(crate) fn named(name: &str) -> &'static Scenario {
    ALL.iter().find(|scenario| scenario.name == name).unwrap()
}

/// One test for each scenario, and one that none is left out.
macro_rules! for_each_scenario {
    ($run:path) => {
        crate::scenario::for_each_scenario! { $run;
            create: "create";
            update: "update";
            important_update: "important update";
            roll_forward: "roll forward";
            roll_forward_of_a_creation: "roll forward of a creation";
            takeover: "takeover";
            rotate: "rotate";
            batch: "batch";
            recover: "recover";
            recover_what_is_missing: "recover what is missing";
            remove: "remove";
            create_after_a_removal: "create after a removal";
        }
    };
    ($run:path; $($test:ident: $name:literal;)*) => {
        $(
            #[test]
            fn $test() {
                $run(crate::scenario::named($name));
            }
        )*

        #[test]
        fn no_scenario_is_left_out() {
            let names: Vec<_> = crate::scenario::ALL.iter().map(|scenario| scenario.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}
pub(crate) use for_each_scenario;

/// No file at all, in the list of versions.
pub(crate) const NOTHING: &str = "(nothing)";

pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "create",
        prepare: |_| {},
        act: |file, ack| set(file, "a\n").map(|_| ack("a\n")),
        versions: &[NOTHING, "a\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "update",
        prepare: two_versions,
        act: |file, ack| add(file, "c").map(|_| ack("a\nb\nc\n")),
        versions: &["a\nb\n", "a\nb\nc\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "important update",
        prepare: two_versions,
        act: |file, ack| set_important(file, &request("r"), "x\n").map(|_| ack("x\n")),
        versions: &["a\nb\n", "x\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "roll forward",
        prepare: |folder| {
            two_versions(folder);
            // As a crash leaves it between the commit and the exchange.
            std::fs::write(folder.join("state.json"), "a\n").unwrap();
            std::fs::write(folder.join(".state.json.bowline-new"), "a\nb\n").unwrap();
        },
        act: |file, ack| add(file, "c").map(|_| ack("a\nb\nc\n")),
        versions: &["a\nb\n", "a\nb\nc\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "roll forward of a creation",
        prepare: |folder| {
            two_versions(folder);
            let journal = folder.join("state.json.journal.jsonl");
            let lines = std::fs::read_to_string(&journal).unwrap();
            std::fs::write(&journal, lines.lines().next().unwrap().to_owned() + "\n").unwrap();
            std::fs::remove_file(folder.join("state.json.bak")).unwrap();
            std::fs::remove_file(folder.join("state.json")).unwrap();
            std::fs::write(folder.join(".state.json.bowline-new"), "a\n").unwrap();
        },
        act: |file, ack| add(file, "b").map(|_| ack("a\nb\n")),
        versions: &["a\n", "a\nb\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "takeover",
        prepare: |folder| {
            two_versions(folder);
            // A writer died between its commit and its exchange, with the lock in its hands.
            std::fs::write(folder.join("state.json"), "a\n").unwrap();
            std::fs::write(folder.join(".state.json.bowline-swap"), "a\nb\n").unwrap();
            let owner = r#"{"bowline":1,"pid":999999999,"host":"","at":"","what":"a command with a long name that ended"}"#;
            std::fs::write(folder.join("state.json.lock"), owner).unwrap();
        },
        act: |file, ack| add(file, "c").map(|_| ack("a\nb\nc\n")),
        versions: &["a\nb\n", "a\nb\nc\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "rotate",
        prepare: two_versions,
        act: |file, ack| {
            add(file, "c").map(|_| ack("a\nb\nc\n"))?;
            add(file, "d").map(|_| ack("a\nb\nc\nd\n"))
        },
        versions: &["a\nb\n", "a\nb\nc\n", "a\nb\nc\nd\n"],
        journal_bytes_max: 100,
    },
    Scenario {
        name: "batch",
        prepare: two_versions,
        act: |file, ack| {
            let request = request("run");
            let mut held = file.lock_for_writing(&request)?;
            held.commit_steps(&request, &[step("c"), step("d")])?;
            ack("a\nb\nc\nd\n");
            written(held.write_document(&request, "a\nb\nc\nd\n")?);
            held.commit_steps(&request, &[step("e")])?;
            ack("a\nb\nc\nd\ne\n");
            written(held.write_document(&request, "a\nb\nc\nd\ne\n")?);
            held.commit_steps(&request, &[step("f")])?;
            ack("a\nb\nc\nd\ne\nf\n");
            Ok(())
        },
        versions: &[
            "a\nb\n",
            "a\nb\nc\n",
            "a\nb\nc\nd\n",
            "a\nb\nc\nd\ne\n",
            "a\nb\nc\nd\ne\nf\n",
        ],
        journal_bytes_max: 400,
    },
    Scenario {
        name: "recover",
        prepare: |folder| {
            two_versions(folder);
            std::fs::write(folder.join("state.json"), "BROKEN").unwrap();
        },
        act: recover,
        versions: &["BROKEN", "a\nb\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "recover what is missing",
        prepare: |folder| {
            two_versions(folder);
            std::fs::remove_file(folder.join("state.json")).unwrap();
        },
        act: recover,
        versions: &[NOTHING, "a\nb\n"],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "remove",
        prepare: two_versions,
        act: |file, ack| remove(file).map(|()| ack(NOTHING)),
        versions: &["a\nb\n", NOTHING],
        journal_bytes_max: u64::MAX,
    },
    Scenario {
        name: "create after a removal",
        prepare: |folder| {
            two_versions(folder);
            remove(&open(folder, None, u64::MAX)).unwrap();
        },
        act: |file, ack| set(file, "a\n").map(|_| ack("a\n")),
        versions: &[NOTHING, "a\n"],
        journal_bytes_max: u64::MAX,
    },
];

fn remove(file: &StateFile) -> Result<(), StateFileError> {
    let request = request("gone");
    written(
        file.lock_for_writing(&request)?
            .replace_document(&request, &DocumentChange::removal())?,
    );
    Ok(())
}

fn written(written: WriteOutcome) {
    assert!(matches!(written, WriteOutcome::Done { .. }), "{written:?}");
}

fn recover(file: &StateFile, ack: &mut dyn FnMut(&str)) -> Result<(), StateFileError> {
    let rescue = RepairCallbacks {
        empty: &|| Some("a\nempty\n".to_owned()),
        ..rescue(&|text| text.starts_with("a\n"))
    };
    let recovered = file.recover_document(&request("fix"), "broken", &rescue)?;
    ack(&recovered.text);
    Ok(())
}

fn two_versions(folder: &Path) {
    let file = open(folder, None, u64::MAX);
    set(&file, "a\n").unwrap();
    add(&file, "b").unwrap();
}

pub(crate) fn open(
    folder: &Path,
    disk: Option<Arc<dyn Disk>>,
    journal_bytes_max: u64,
) -> StateFile {
    let file = archived_file(folder, 2)
        .with_replay(Arc::new(AddLines))
        .with_journal_bytes_max(journal_bytes_max);
    match disk {
        Some(disk) => file.with_disk(disk),
        None => file,
    }
}

/// What the command said of its change before it ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Told {
    Done,
    /// An error, and the change is committed all the same.
    Committed,
    /// An error, or no word at all.
    Perhaps,
    /// An error, and nothing is changed.
    Nothing,
}

/// What was found after an interruption must be one of the versions, no older than the acknowledged
/// one, and the next command must work and leave everything clean.
pub(crate) fn check_after(
    folder: &Path,
    scenario: &Scenario,
    acknowledged: Option<&str>,
    told: Told,
    plain: bool,
    context: &str,
) {
    let context = format!("{}: {context}", scenario.name);
    let good = good_disk();
    let disk = Arc::new(if plain {
        good.without_modern_operations()
    } else {
        good
    });
    let file = open(folder, Some(disk), scenario.journal_bytes_max);
    let snapshot = file.load().unwrap();
    let found = snapshot.text().unwrap().unwrap_or(NOTHING).to_owned();
    let rank = |text: &str| {
        scenario
            .versions
            .iter()
            .position(|version| *version == text)
    };
    let rank_found = rank(&found)
        .unwrap_or_else(|| panic!("{context}: found {found:?} ({:?})", snapshot.situation));
    let least = acknowledged.map_or(0, |text| rank(text).unwrap());
    assert!(
        rank_found >= least,
        "{context}: {acknowledged:?} was acknowledged, found {found:?}"
    );
    match told {
        Told::Nothing => assert_eq!(
            rank_found, least,
            "{context}: an error said that nothing changed, found {found:?}"
        ),
        // The steps of a batch are acknowledged before the file is written.
        Told::Committed => assert!(
            rank_found > least || scenario.name == "batch",
            "{context}: an error said that it is committed, found {found:?}"
        ),
        Told::Done | Told::Perhaps => {}
    }
    let ours_lost = matches!(
        snapshot.situation,
        FileSituation::Outside { .. } | FileSituation::Missing { .. }
    );
    let was_lost = scenario.versions[0] == "BROKEN" || scenario.name == "recover what is missing";
    assert!(
        !ours_lost || was_lost,
        "{context}: {:?}",
        snapshot.situation
    );
    assert_eq!(snapshot.findings, [], "{context}");
    check_journal(&file).unwrap_or_else(|error| panic!("{context}: {error}"));

    let later = WriteRequest {
        now_ms: NOW_MS + 60_000,
        ..request("next")
    };
    let text = if found == NOTHING {
        String::new()
    } else {
        found.clone()
    };
    let next = file.update(&later, |now| {
        assert_eq!(
            now.text().unwrap().unwrap_or(NOTHING),
            found,
            "{context}: reader and writer see the same"
        );
        Ok::<_, std::convert::Infallible>(Some(DocumentChange::replace_with(format!(
            "{text}next\n"
        ))))
    });
    next.unwrap_or_else(|error| panic!("{context}: {error}"));
    let last = file.load().unwrap();
    assert_eq!(
        (last.situation, last.bytes.unwrap()),
        (FileSituation::Clean, format!("{text}next\n").into_bytes())
    );
    check_journal(&file).unwrap_or_else(|error| panic!("{context}: {error}"));
    for folder in [folder.to_path_buf(), folder.join("backup")] {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let left = name.starts_with('.') || name.ends_with(".lock");
            // With unlink failing for good, a candidate stays until its process has ended: this
            // one.
            let own = name.contains(&format!("bowline-lock-{}-", std::process::id()));
            assert!(!left || own, "{context}: {name} was left");
        }
    }
}
