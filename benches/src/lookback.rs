//! Looking back in a file with a long history, against looking at the file alone.

use crate::Outcome;
use crate::measure::{Contender, in_turns};
use crate::options::Options;
use crate::report::{Bound, Report};
use crate::transition::spawn;
use bowline_engine::actor::AGENT_VARIABLES;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_statefiles::{DocumentChange, FileLayout, StateFile, WriteRequest};
use serde_json::json;
use serde_json::value::to_raw_value;
use std::path::Path;
use std::process::Command;

const TRANSITIONS: usize = 20_000;
const FILE: &str = "thinking_state.json";
/// `history -n` and `undo` read the end of the journal: as much as `status` and a transition do, and some lines more.
const RATIO_MAX: f64 = 2.0;
/// `doctor` checks the sum of every line.
const DOCTOR_RATIO_MAX: f64 = 25.0;

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("lookback")?;
    let folder = scratch.path();
    let bowline = |words: &[&str]| {
        let mut command = Command::new(&options.bowline);
        command.args(words).current_dir(folder);
        // Going back is a person's move, whoever takes the benchmark.
        for name in AGENT_VARIABLES {
            command.env_remove(name);
        }
        command.env("BOWLINE_ACTOR", "person");
        command
    };
    for words in [
        &[
            "thinking", "new", "bench", "--title", "Bench", "--goal", "Speed",
        ][..],
        &["thinking", "start", "planning"],
    ] {
        spawn(&mut bowline(words))?;
    }
    fill(&folder.join(FILE))?;
    let rounds = options.rounds(60, 10);
    let mut contenders: Vec<Contender<'_>> = vec![
        Box::new(|_| spawn(&mut bowline(&["status", FILE]))),
        Box::new(|_| spawn(&mut bowline(&["history", FILE, "-n", "10"]))),
        Box::new(|_| spawn(&mut bowline(&["doctor", FILE]))),
        Box::new(|round| {
            let value = format!("completeness=0.{}", 11 + round % 80);
            spawn(&mut bowline(&["thinking", "quality", &value]))
        }),
        Box::new(|_| spawn(&mut bowline(&["undo", FILE]))),
    ];
    let samples = in_turns(rounds, &mut contenders)?;
    drop(contenders);
    let times: Vec<f64> = samples.iter().map(|one| one.median_ms()).collect();
    let names = [
        ("**floor of reading**: `bowline status`", 0),
        ("`bowline history -n 10`", 0),
        ("`bowline doctor`", 0),
        (
            "**floor of writing**: `bowline thinking quality`, one transition",
            3,
        ),
        ("`bowline undo`", 3),
    ];
    let rows = names.iter().zip(&times).map(|((name, floor), time)| {
        vec![
            (*name).to_owned(),
            format!("{time:.2}"),
            format!("{:.2}", time / times[*floor]),
        ]
    });
    let (listed, checked, undone) = (
        times[1] / times[0],
        times[2] / times[0],
        times[4] / times[3],
    );
    Ok(Report {
        name: "lookback",
        about: format!(
            "A state file with a history of {TRANSITIONS} transitions, whole processes. `doctor` checks the sum of every \
             line of the journal; the others read its end. {rounds} rounds in turns."
        ),
        columns: &["", "median ms", "of its floor"],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "`history -n 10` and `undo` at most 2 times their floors, `doctor` at most 25 times",
            found: format!("{listed:.2}, {undone:.2} and {checked:.2}"),
            kept: listed <= RATIO_MAX && undone <= RATIO_MAX && checked <= DOCTOR_RATIO_MAX,
        }),
    })
}

/// Gives the run so many titles.
fn fill(path: &Path) -> Outcome {
    let file = StateFile::new(FileLayout::new(path));
    let text = std::fs::read_to_string(path)?;
    for number in 0..TRANSITIONS {
        let transition = Transition {
            timestamp: "2026-01-02T03:04:05Z".to_owned(),
            task_id: "bench".to_owned(),
            line_type: LINE_TYPE.to_owned(),
            entity: "thinking".to_owned(),
            from: Some("in_progress".to_owned()),
            to: "in_progress".to_owned(),
            trigger: "TITLE".to_owned(),
            metadata: json!({ "title": number }),
            sequence: 0,
        };
        let change = DocumentChange {
            transition: Some(to_raw_value(&transition)?),
            ..DocumentChange::replace_with(
                text.replace("\"Bench\"", &format!("\"Bench {number}\"")),
            )
        };
        file.update(&WriteRequest::default(), |_| {
            Ok::<_, std::convert::Infallible>(Some(change.clone()))
        })?;
    }
    Ok(())
}
