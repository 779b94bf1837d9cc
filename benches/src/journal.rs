//! Steps committed in batches, against a bare append and flush of the very same bytes.

use crate::Outcome;
use crate::measure::{Samples, time};
use crate::options::Options;
use crate::report::Report;
use bowline_statefiles::{
    BatchStep, DocumentChange, FileLayout, StateFile, StateFileGuard, WriteRequest,
};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

const BATCHES: [usize; 3] = [1, 16, 256];
const AT: &str = "2026-01-01T00:00:00Z";

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("journal")?;
    let mut rows = Vec::new();
    for batch in BATCHES {
        let rounds = options.rounds(400, 80);
        let folder = scratch.path().join(batch.to_string());
        let mut held = hold(&folder)?;
        let mut written = File::open(folder.join("state.json.journal.jsonl"))?;
        written.seek(SeekFrom::End(0))?;
        let mut bare = File::create(folder.join("bare"))?;
        let (mut ours, mut floor) = (Samples::default(), Samples::default());
        let mut bytes = Vec::new();
        for round in 0..rounds {
            let steps = steps(round * batch, batch)?;
            let (taken, committed) = time(|| held.commit_steps(&request(), &steps));
            committed?;
            ours.push(taken);
            bytes.clear();
            written.read_to_end(&mut bytes)?;
            let (taken, appended) = time(|| bare.write_all(&bytes).and_then(|()| bare.sync_data()));
            appended?;
            floor.push(taken);
        }
        let per_second = |samples: &Samples| 1e9 / samples.median_ns_per(batch);
        let ratio = ours.median_ms() / floor.median_ms();
        rows.push(vec![
            batch.to_string(),
            (bytes.len() / batch).to_string(),
            format!("{:.0}", per_second(&floor)),
            format!("{:.0}", per_second(&ours)),
            format!("{ratio:.2}"),
        ]);
    }
    Ok(Report {
        name: "journal",
        about: "Steps committed by a run that holds the lock, one flush per batch, against appending and flushing the \
                same bytes to another file."
            .to_owned(),
        columns: &[
            "steps per batch",
            "bytes per step",
            "bare steps/s",
            "committed steps/s",
            "time, of the floor",
        ],
        rows,
        bound: None,
    })
}

/// A state file in `folder`, made and held.
pub(crate) fn hold(folder: &Path) -> Outcome<StateFileGuard> {
    let file = StateFile::new(FileLayout::new(folder.join("state.json")))
        // Rotation is rare and would only blur the figures.
        .with_journal_bytes_max(u64::MAX);
    let change = |_: &_| -> Result<_, std::convert::Infallible> {
        Ok(Some(DocumentChange::replace_with("{}\n")))
    };
    file.update(&request(), change)?;
    Ok(file.lock_for_writing(&request())?)
}

pub(crate) fn request() -> WriteRequest {
    WriteRequest {
        id: "bench".into(),
        at: AT.into(),
        ..WriteRequest::default()
    }
}

/// A step as an orchestration commits it: what to do again, and the transition for readers.
pub(crate) fn step(
    number: usize,
    task: &str,
    verb: &str,
    from: &str,
    to: &str,
) -> Outcome<BatchStep> {
    let logical = format!(r#"{{"do":"{verb}","id":"{task}"}}"#);
    let transition = format!(
        r#"{{"timestamp":"{AT}","taskId":"{task}","type":"state_transition","entity":"node","from":"{from}","to":"{to}","trigger":"{verb}","metadata":{{}}}}"#
    );
    Ok(BatchStep {
        id: format!("r{number}"),
        at: AT.into(),
        logical: RawValue::from_string(logical)?,
        transition: Some(RawValue::from_string(transition)?),
        effects: None,
    })
}

fn steps(first: usize, count: usize) -> Outcome<Vec<BatchStep>> {
    (first..first + count)
        .map(|number| {
            let task = format!("T{}.{}", 1 + number / 100, number % 100);
            step(number, &task, "COMPLETE", "in_progress", "completed")
        })
        .collect()
}
