//! The resume card: the state of the work, rendered from the state files alone, for an agent that
//! has lost its context.

use super::other_state_files;
use crate::advice::{self, NextCommand};
use crate::decision::REPAIR;
use crate::lang::Lang;
use crate::locate;
use crate::run_trust::{RunTrust, TrustedRun};
use bowline_formats::time;
use bowline_formats::transition::Transition;
use bowline_machines::develop::{
    ATTEMPTS_MAX, CheckpointStatus, DevelopCheckpoint, DevelopPhase, DevelopRunState, Gate,
    NextAction, ProjectAction, next_action, required_gates,
};
use bowline_statefiles::StateFile;
use bowline_words::message::Card;
use std::path::Path;

/// Upper bound of the words of a card.
pub const CARD_WORDS_MAX: usize = 300;
/// Characters of a free text from the state file.
const TEXT_CHARS_MAX: usize = 160;
/// Checkpoints listed one by one.
const CHECKPOINTS_MAX: usize = 20;
/// Transitions listed.
const CHANGES_MAX: usize = 3;
/// Words of one line; a checkpoint's name may be very long.
const LINE_WORDS_MAX: usize = 70;

/// Command that shows the report and the next commands; it changes nothing.
const RESUME: &str = "bowline develop resume";

/// Renders the card for the run and the other state files seen from a folder; `None` if there are
/// none.
pub fn render_card(trust: &RunTrust, folder: &Path, lang: Lang) -> Option<String> {
    let mut lines = match trust {
        RunTrust::Nothing => Vec::new(),
        RunTrust::Run(believed) => run_lines(believed, lang),
        RunTrust::Missing { path, last } => {
            let path = path.display().to_string();
            let mut lines = vec![Card::RunMissing { path }.say(lang)];
            lines.extend(last.as_ref().map(|run| describe_run(run, lang)));
            lines.push(next_line(REPAIR, lang));
            lines
        }
        RunTrust::Damaged { path, reason } => {
            let (path, reason) = (path.display().to_string(), shorten_text(reason));
            vec![
                Card::RunDamaged { path, reason }.say(lang),
                next_line(REPAIR, lang),
            ]
        }
    };
    lines.extend(other_state_files::state_file_lines(trust, folder, lang));
    if lines.is_empty() {
        return None;
    }
    lines.insert(0, Card::Head.say(lang));
    Some(fit_lines(&lines, lang))
}

/// Renders the one line that goes with every prompt while a run is open.
pub(super) fn render_reminder(trust: &RunTrust, lang: Lang) -> Option<String> {
    match trust {
        RunTrust::Nothing => None,
        RunTrust::Run(believed) if believed.run.phase == DevelopPhase::Done => None,
        RunTrust::Run(believed) => {
            let next = next_lines(
                &advice::next_commands_in(&believed.path, &believed.run),
                lang,
            );
            Some(format!(
                "{} {}",
                describe_run(&believed.run, lang),
                next.join(". ")
            ))
        }
        RunTrust::Missing { .. } | RunTrust::Damaged { .. } => render_warning(trust, lang),
    }
}

/// Renders the warning for an agent that has just damaged the state file.
pub(super) fn render_warning(trust: &RunTrust, lang: Lang) -> Option<String> {
    match trust {
        RunTrust::Nothing => None,
        RunTrust::Run(believed) if believed.distrusted.is_empty() => None,
        RunTrust::Run(believed) => {
            let path = believed.path.display().to_string();
            let what = believed.distrusted.join(", ");
            Some(Card::NotBelievedIn { path, what }.say(lang))
        }
        RunTrust::Missing { path, .. } => {
            let (path, next) = (path.display().to_string(), next_line(REPAIR, lang));
            Some(Card::FileMissing { path, next }.say(lang))
        }
        RunTrust::Damaged { path, reason } => {
            let (path, next) = (path.display().to_string(), next_line(REPAIR, lang));
            let reason = shorten_text(reason);
            Some(Card::FileDamaged { path, reason, next }.say(lang))
        }
    }
}

fn describe_run(run: &DevelopRunState, lang: Lang) -> String {
    let (feature, phase) = (shorten_text(&run.feature), run.phase.name());
    Card::About { feature, phase }.say(lang)
}

fn run_lines(believed: &TrustedRun, lang: Lang) -> Vec<String> {
    let run = &believed.run;
    let history = match believed.owned {
        true => read_transitions(&believed.path),
        false => Vec::new(),
    };
    let mut lines = vec![
        describe_run(run, lang),
        render_times(run, &history, lang),
        format!("Gates: {}", render_gates(run)),
    ];
    if !run.checkpoints.is_empty() {
        lines.push(format!("Checkpoints: {}", render_checkpoints(run, lang)));
    }
    lines.extend(closed_gate_lines(run, lang));
    if !believed.distrusted.is_empty() {
        let what = believed.distrusted.join(", ");
        lines.push(Card::NotBelievedHere { what }.say(lang));
    }
    let latest = history.iter().rev().take(CHANGES_MAX).rev();
    let latest: Vec<String> = latest
        .map(|(at, transition)| render_transition(at, transition))
        .collect();
    if !latest.is_empty() {
        let changes = latest.join("; ");
        lines.push(Card::LatestChanges { changes }.say(lang));
    }
    if !believed.owned {
        lines.push(Card::Foreign.say(lang));
    }
    let next = advice::next_commands_in(&believed.path, run);
    let how = match next.iter().any(|one| one.stale) {
        true => Card::SealStale,
        false => next_step_card(run),
    };
    lines.push(how.say(lang));
    lines.extend(next_lines(&next, lang));
    lines
}

/// Renders the times of start and last change. The journal's times are UTC; the file's times are
/// local and without a zone, and are used only without a journal.
fn render_times(run: &DevelopRunState, history: &[(String, Transition)], lang: Lang) -> String {
    let begins =
        |transition: &Transition| ["START", "ADOPT"].contains(&transition.trigger.as_str());
    let began = history
        .iter()
        .rev()
        .find(|(_, transition)| begins(transition));
    let (began, moved, utc) = match (began, history.last()) {
        (Some((began, _)), Some((moved, _))) => (began.clone(), moved.clone(), true),
        (_, _) => (
            time::format_civil(run.started_at),
            time::format_civil(run.updated_at),
            false,
        ),
    };
    let card = Card::When {
        began,
        moved,
        utc,
        strategy: run.strategy.map(|it| it.name()),
    };
    card.say(lang)
}

/// Renders the next command for an agent. A command that only a person may give, the agent can only
/// ask for.
fn next_lines(next: &[NextCommand], lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    match next.first() {
        Some(first) if first.person => {
            let command = first.command();
            lines.push(Card::AskPerson { command }.say(lang));
            lines.push(next_line(RESUME, lang));
        }
        Some(first) if first.verb == "start" => {
            lines.push(next_line(RESUME, lang));
        }
        Some(first) => lines.push(next_line(&first.command(), lang)),
        None => {}
    }
    lines
}

fn next_line(command: &str, lang: Lang) -> String {
    let command = command.to_owned();
    Card::NextLine { command }.say(lang)
}

fn render_gates(run: &DevelopRunState) -> String {
    let one = |gate: Gate| format!("{}={}", gate.name(), run.gates.is_open(gate));
    Gate::ALL.map(one).join(", ")
}

fn render_checkpoints(run: &DevelopRunState, lang: Lang) -> String {
    let one = |known: &DevelopCheckpoint| {
        let name = format!("{} {}", shorten_text(&known.id), known.status.name());
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
    // Too many to list: the count of the passed ones, and the names of the others.
    let passed = total - run.unpassed_checkpoints().len();
    let open = run
        .checkpoints
        .iter()
        .filter(|known| known.status != CheckpointStatus::Passed);
    let named: Vec<String> = open.take(CHECKPOINTS_MAX).map(one).collect();
    let named = named.join(", ");
    let card = Card::Passed {
        passed,
        total,
        open: named,
    };
    card.say(lang)
}

fn closed_gate_lines(run: &DevelopRunState, lang: Lang) -> Vec<String> {
    let missing = |act| {
        let missing = run.gates.closed_among(required_gates(run.phase, act));
        let names: Vec<&str> = missing.iter().map(|gate| gate.name()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let writes = missing(ProjectAction::Write).map(|gates| Card::WritesClosed { gates });
    let finishes = missing(ProjectAction::Finish).map(|gates| Card::FinishesClosed { gates });
    let closed = writes.into_iter().chain(finishes);
    closed.map(|line| line.say(lang)).collect()
}

/// Reads the transitions in the journal, each with its time.
fn read_transitions(path: &Path) -> Vec<(String, Transition)> {
    let file = StateFile::new(locate::run_layout(path));
    let Ok(history) = file.read_history() else {
        return Vec::new();
    };
    let read = history.effective_lines().filter_map(|line| {
        let raw = line.transition.as_ref()?;
        Some((line.at.clone(), serde_json::from_str(raw.get()).ok()?))
    });
    read.collect()
}

/// Renders a transition in a few words: entity, from, to, time.
fn render_transition(at: &str, transition: &Transition) -> String {
    let fact = |name: &str| {
        transition
            .metadata
            .get(name)
            .and_then(|value| value.as_str())
    };
    let named = fact("gate").or_else(|| fact("checkpoint"));
    let name = named.map_or_else(String::new, |name| format!(" {}", shorten_text(name)));
    let from = transition.from.as_deref();
    let from = from.map_or_else(String::new, |from| format!("{from} -> "));
    format!("{}{name} {from}{} ({at})", transition.entity, transition.to)
}

/// Returns the sentence for the next step.
fn next_step_card(run: &DevelopRunState) -> Card {
    match next_action(run) {
        NextAction::Design => Card::DesignAgain,
        NextAction::ReviewAgain => Card::ReviewAgain,
        NextAction::Implement => Card::Implement,
        NextAction::Checkpoint { id, iteration: 0 } => Card::Begin {
            id: shorten_text(&id),
        },
        NextAction::Checkpoint { id, iteration } => Card::GoOn {
            id: shorten_text(&id),
            attempt: iteration,
            max: ATTEMPTS_MAX,
        },
        NextAction::AskPerson { .. } => Card::OnlyPeople,
        NextAction::VerifyAll => Card::VerifyAll,
        NextAction::Pr => Card::ToPr,
        NextAction::ReReview => Card::ReReview,
        NextAction::Done => Card::FinishNow,
        NextAction::Back { phase } => Card::GateBehind {
            phase: phase.name(),
        },
        NextAction::Over => Card::Over,
    }
}

/// Puts a free text on one line and shortens it.
pub(super) fn shorten_text(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.chars().count() <= TEXT_CHARS_MAX {
        return line;
    }
    let cut: String = line.chars().take(TEXT_CHARS_MAX - 1).collect();
    format!("{cut}…")
}

/// Shortens lines so that each, and all together, stay within the bounds. Room for the next command
/// is reserved.
fn fit_lines(lines: &[String], lang: Lang) -> String {
    let mut left = CARD_WORDS_MAX;
    let head = &next_line("", lang);
    let next = lines.iter().find(|line| line.starts_with(head.as_str()));
    let reserved = next.map_or(0, |line| line.split_whitespace().count());
    let mut kept = Vec::new();
    for line in lines {
        let is_next = Some(line) == next;
        let words: Vec<&str> = line.split_whitespace().collect();
        let room = if is_next
            || !kept
                .iter()
                .all(|it: &String| !it.starts_with(head.as_str()))
        {
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
