//! The resume card: where the work stands, from state alone, for an agent that has forgotten everything.

use super::others;
use crate::advice::{self, Next};
use crate::belief::{Belief, Believed};
use crate::locate;
use bowline_formats::time;
use bowline_formats::transition::Transition;
use bowline_machines::develop::{
    ATTEMPTS_MAX, Act, Checkpoint, CheckpointStatus, Gate, Phase, Resume, Run, needed, resume,
};
use bowline_statefiles::StateFile;
use std::path::Path;

/// Words of a card at the most.
pub const CARD_WORDS_MAX: usize = 300;
/// Letters of a text somebody wrote.
const TEXT_CHARS_MAX: usize = 160;
/// Checkpoints named one by one.
const CHECKPOINTS_MAX: usize = 20;
/// Transitions told.
const CHANGES_MAX: usize = 3;
/// Words of one line; a checkpoint's name may be a novel.
const LINE_WORDS_MAX: usize = 70;

/// Shows the report and what can be done; changes nothing.
const RESUME: &str = "bowline develop resume";
const REPAIR: &str = "bowline doctor --repair develop";

/// The card for the run and the other files that are seen from a folder; `None` where there is nothing to say.
pub fn card(belief: &Belief, folder: &Path) -> Option<String> {
    let mut lines = match belief {
        Belief::Nothing => Vec::new(),
        Belief::Run(believed) => of_run(believed),
        Belief::Missing { path, last } => {
            let mut lines = vec![format!(
                "A develop run is open, but its file {} is missing. Tools that write or commit are denied until it is back.",
                path.display()
            )];
            lines.extend(last.as_ref().map(|run| about(run)));
            lines.push(format!("Next: {REPAIR}"));
            lines
        }
        Belief::Damaged { path, reason } => vec![
            format!(
                "The file of the develop run, {}, cannot be read ({}). Tools that write or commit are denied.",
                path.display(),
                short(reason)
            ),
            format!("Next: {REPAIR}"),
        ],
    };
    lines.extend(others::lines(belief, folder));
    if lines.is_empty() {
        return None;
    }
    lines.insert(
        0,
        "Where the work stands, by bowline's state files (trust this over what you remember):"
            .into(),
    );
    Some(bounded(&lines))
}

/// One line for every prompt while a run is open.
pub(super) fn reminder(belief: &Belief) -> Option<String> {
    match belief {
        Belief::Nothing => None,
        Belief::Run(believed) if believed.run.phase == Phase::Done => None,
        Belief::Run(believed) => {
            let next = next_lines(&advice::next_in(&believed.path, &believed.run));
            Some(format!("{} {}", about(&believed.run), next.join(". ")))
        }
        Belief::Missing { .. } | Belief::Damaged { .. } => warning(belief),
    }
}

/// What an agent should know right after it broke something.
pub(super) fn warning(belief: &Belief) -> Option<String> {
    match belief {
        Belief::Nothing => None,
        Belief::Run(believed) if believed.distrusted.is_empty() => None,
        Belief::Run(believed) => Some(format!(
            "Changed in {} but not by bowline, and therefore not believed: {}. Use the verbs of `bowline develop`.",
            believed.path.display(),
            believed.distrusted.join(", ")
        )),
        Belief::Missing { path, .. } => Some(format!(
            "{} is missing while a develop run is open. Next: {REPAIR}",
            path.display()
        )),
        Belief::Damaged { path, reason } => Some(format!(
            "{} cannot be read ({}). Next: {REPAIR}",
            path.display(),
            short(reason)
        )),
    }
}

fn about(run: &Run) -> String {
    format!(
        "Develop run '{}', phase {}.",
        short(&run.feature),
        run.phase.name()
    )
}

fn of_run(believed: &Believed) -> Vec<String> {
    let run = &believed.run;
    let strategy = run.strategy.map(|it| format!(", strategy {}", it.name()));
    let mut lines = vec![
        about(run),
        format!(
            "Started {}, last changed {}{}.",
            time::civil(run.started_at),
            time::civil(run.updated_at),
            strategy.unwrap_or_default()
        ),
        format!("Gates: {}", gates(run)),
    ];
    if !run.checkpoints.is_empty() {
        lines.push(format!("Checkpoints: {}", checkpoints(run)));
    }
    lines.extend(closed(run));
    if !believed.distrusted.is_empty() {
        lines.push(format!(
            "Changed by somebody else and not believed: {}",
            believed.distrusted.join(", ")
        ));
    }
    if believed.owned {
        let changes = changes(&believed.path);
        if !changes.is_empty() {
            lines.push(format!("Latest changes: {}", changes.join("; ")));
        }
    } else {
        lines.push("Another program began this run; `bowline develop adopt` takes it over.".into());
    }
    lines.push(how_on(run));
    lines.extend(next_lines(&advice::next_in(&believed.path, run)));
    lines
}

/// The command an agent can go on with. What only a person may do, it can only ask for.
fn next_lines(next: &[Next]) -> Vec<String> {
    let mut lines = Vec::new();
    match next.first() {
        Some(first) if first.person => {
            lines.push(format!("Ask a person to run: {}", first.command));
            lines.push(format!("Next: {RESUME}"));
        }
        Some(first) if first.command.contains("FEATURE") => {
            lines.push(format!("Next: {RESUME}"));
        }
        Some(first) => lines.push(format!("Next: {}", first.command)),
        None => {}
    }
    lines
}

fn gates(run: &Run) -> String {
    let one = |gate: Gate| format!("{}={}", gate.name(), run.gates.is_open(gate));
    Gate::ALL.map(one).join(", ")
}

fn checkpoints(run: &Run) -> String {
    let one = |known: &Checkpoint| {
        let name = format!("{} {}", short(&known.id), known.status.name());
        match known.status {
            CheckpointStatus::InProgress => {
                format!("{name} (iter {}/{ATTEMPTS_MAX})", known.iteration)
            }
            CheckpointStatus::Pending
            | CheckpointStatus::Passed
            | CheckpointStatus::Escalated
            | CheckpointStatus::Failed => name,
        }
    };
    let total = run.checkpoints.len();
    if total <= CHECKPOINTS_MAX {
        let all: Vec<String> = run.checkpoints.iter().map(one).collect();
        return all.join(", ");
    }
    // Too many to name: how many, and those that are not done.
    let passed = total - run.unpassed().len();
    let open = run
        .checkpoints
        .iter()
        .filter(|known| known.status != CheckpointStatus::Passed);
    let named: Vec<String> = open.take(CHECKPOINTS_MAX).map(one).collect();
    format!("{passed} of {total} passed; {}, …", named.join(", "))
}

fn closed(run: &Run) -> Vec<String> {
    let closed = |act, what: &str| {
        let missing = run.gates.missing(needed(run.phase, act));
        let names: Vec<&str> = missing.iter().map(|gate| gate.name()).collect();
        (!names.is_empty()).then(|| format!("Closed now: {what} (until {})", names.join(", ")))
    };
    let writes = closed(Act::Write, "writing files");
    let finishes = closed(Act::Finish, "commit, push and pull request");
    writes.into_iter().chain(finishes).collect()
}

/// The last transitions in the journal.
fn changes(path: &Path) -> Vec<String> {
    let file = StateFile::new(locate::layout(path));
    let Ok(history) = file.history() else {
        return Vec::new();
    };
    let lines = history.lines.iter().rev();
    let read = lines.filter_map(|line| {
        let raw = line.transition.as_ref()?;
        let told: Transition = serde_json::from_str(raw.get()).ok()?;
        let from = told
            .from
            .map(|from| format!("{from} -> "))
            .unwrap_or_default();
        Some(format!("{} {from}{} ({})", told.entity, told.to, line.at))
    });
    let mut changes: Vec<String> = read.take(CHANGES_MAX).collect();
    changes.reverse();
    changes
}

/// What to do, in a sentence.
fn how_on(run: &Run) -> String {
    match resume(run) {
        Resume::Design => "Design again from the request: what was discussed is lost.".into(),
        Resume::ReviewAgain => "Run the review of the design again.".into(),
        Resume::Implement => "The design is reviewed: begin the implementation.".into(),
        Resume::Checkpoint { id, iteration: 0 } => format!("Begin checkpoint {}.", short(&id)),
        Resume::Checkpoint { id, iteration } => format!(
            "Go on with checkpoint {} at attempt {iteration} of {ATTEMPTS_MAX}: read its code and tests again, then run them.",
            short(&id)
        ),
        Resume::AskPerson { .. } => {
            "Only checkpoints that a person has to decide about are left: ask.".into()
        }
        Resume::VerifyAll => "Every checkpoint has passed: verify the whole.".into(),
        Resume::Pr => "The whole is verified: go on to the pull request.".into(),
        Resume::ReReview => "Run the review of the code again.".into(),
        Resume::Done => "The code is clean: finish.".into(),
        Resume::Back { phase } => {
            format!(
                "A gate that lies behind is closed: a person has to go back to {}.",
                phase.name()
            )
        }
        Resume::Over => "The run is over.".into(),
    }
}

/// Somebody's words on one line, and not too many of them.
pub(super) fn short(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.chars().count() <= TEXT_CHARS_MAX {
        return line;
    }
    let cut: String = line.chars().take(TEXT_CHARS_MAX - 1).collect();
    format!("{cut}…")
}

/// The lines, none too long, and together within the bound. The last line that must not be lost is the next command.
fn bounded(lines: &[String]) -> String {
    let mut left = CARD_WORDS_MAX;
    let next = lines.iter().find(|line| line.starts_with("Next: "));
    let reserved = next.map_or(0, |line| line.split_whitespace().count());
    let mut kept = Vec::new();
    for line in lines {
        let is_next = Some(line) == next;
        let words: Vec<&str> = line.split_whitespace().collect();
        let room = if is_next || !kept.iter().all(|it: &String| !it.starts_with("Next: ")) {
            left
        } else {
            left.saturating_sub(reserved)
        };
        let max = if is_next {
            room
        } else {
            room.min(LINE_WORDS_MAX)
        };
        if words.len() <= max {
            left -= words.len();
            kept.push(line.clone());
        } else if max > 1 {
            left -= max;
            kept.push(format!("{} …", words[..max - 1].join(" ")));
        }
    }
    kept.join("\n")
}
