//! The resume card: where the work stands, from state alone, for an agent that has forgotten everything.

use super::others;
use crate::advice::{self, Next};
use crate::belief::{Belief, Believed};
use crate::lang::Lang;
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
pub fn card(belief: &Belief, folder: &Path, lang: Lang) -> Option<String> {
    let mut lines = match belief {
        Belief::Nothing => Vec::new(),
        Belief::Run(believed) => of_run(believed, lang),
        Belief::Missing { path, last } => {
            let path = path.display();
            let mut lines = vec![match lang {
                Lang::En => format!(
                    "A develop run is open, but its file {path} is missing. Tools that write or commit are denied until it is back."
                ),
                Lang::Ko => format!(
                    "진행 중인 develop 작업의 파일 {path}이(가) 없습니다. 돌아올 때까지 파일 수정과 커밋이 차단됩니다."
                ),
            }];
            lines.extend(last.as_ref().map(|run| about(run, lang)));
            lines.push(next_line(REPAIR, lang));
            lines
        }
        Belief::Damaged { path, reason } => {
            let (path, reason) = (path.display(), short(reason));
            vec![
                match lang {
                    Lang::En => format!(
                        "The file of the develop run, {path}, cannot be read ({reason}). Tools that write or commit are denied."
                    ),
                    Lang::Ko => format!(
                        "develop 작업의 파일 {path}을(를) 읽을 수 없습니다({reason}). 파일 수정과 커밋이 차단됩니다."
                    ),
                },
                next_line(REPAIR, lang),
            ]
        }
    };
    lines.extend(others::lines(belief, folder, lang));
    if lines.is_empty() {
        return None;
    }
    let head = lang.say(
        "Where the work stands, by bowline's state files (trust this over what you remember):",
        "bowline의 상태 파일에 기록된 현재 상황입니다(기억보다 이것을 믿으세요):",
    );
    lines.insert(0, head.into());
    Some(bounded(&lines, lang))
}

/// One line for every prompt while a run is open.
pub(super) fn reminder(belief: &Belief, lang: Lang) -> Option<String> {
    match belief {
        Belief::Nothing => None,
        Belief::Run(believed) if believed.run.phase == Phase::Done => None,
        Belief::Run(believed) => {
            let next = next_lines(&advice::next_in(&believed.path, &believed.run), lang);
            Some(format!(
                "{} {}",
                about(&believed.run, lang),
                next.join(". ")
            ))
        }
        Belief::Missing { .. } | Belief::Damaged { .. } => warning(belief, lang),
    }
}

/// What an agent should know right after it broke something.
pub(super) fn warning(belief: &Belief, lang: Lang) -> Option<String> {
    match belief {
        Belief::Nothing => None,
        Belief::Run(believed) if believed.distrusted.is_empty() => None,
        Belief::Run(believed) => {
            let (path, what) = (believed.path.display(), believed.distrusted.join(", "));
            Some(match lang {
                Lang::En => format!(
                    "Changed in {path} but not by bowline, and therefore not believed: {what}. Use its verbs: `bowline develop --help`."
                ),
                Lang::Ko => format!(
                    "{path}에서 bowline이 아닌 것이 바꾸어 인정하지 않는 값: {what}. 명령을 쓰세요: `bowline develop --help`."
                ),
            })
        }
        Belief::Missing { path, .. } => {
            let (path, next) = (path.display(), next_line(REPAIR, lang));
            Some(match lang {
                Lang::En => format!("{path} is missing while a develop run is open. {next}"),
                Lang::Ko => format!("develop 작업이 진행 중인데 {path}이(가) 없습니다. {next}"),
            })
        }
        Belief::Damaged { path, reason } => {
            let (path, next) = (path.display(), next_line(REPAIR, lang));
            let reason = short(reason);
            Some(match lang {
                Lang::En => format!("{path} cannot be read ({reason}). {next}"),
                Lang::Ko => format!("{path}을(를) 읽을 수 없습니다({reason}). {next}"),
            })
        }
    }
}

fn about(run: &Run, lang: Lang) -> String {
    let (feature, phase) = (short(&run.feature), run.phase.name());
    match lang {
        Lang::En => format!("Develop run '{feature}', phase {phase}."),
        Lang::Ko => format!("develop 작업 '{feature}', {phase} phase."),
    }
}

fn of_run(believed: &Believed, lang: Lang) -> Vec<String> {
    let run = &believed.run;
    let history = match believed.owned {
        true => history(&believed.path),
        false => Vec::new(),
    };
    let mut lines = vec![
        about(run, lang),
        when(run, &history, lang),
        format!("Gates: {}", gates(run)),
    ];
    if !run.checkpoints.is_empty() {
        lines.push(format!("Checkpoints: {}", checkpoints(run, lang)));
    }
    lines.extend(closed(run, lang));
    if !believed.distrusted.is_empty() {
        let head = lang.say(
            "Changed by somebody else and not believed",
            "다른 곳에서 바뀌어 인정하지 않는 값",
        );
        lines.push(format!("{head}: {}", believed.distrusted.join(", ")));
    }
    let latest = history.iter().rev().take(CHANGES_MAX).rev();
    let latest: Vec<String> = latest.map(|(at, told)| change(at, told)).collect();
    if !latest.is_empty() {
        let head = lang.say("Latest changes", "최근 변경");
        lines.push(format!("{head}: {}", latest.join("; ")));
    }
    if !believed.owned {
        let foreign = lang.say(
            "Another program began this run; `bowline develop adopt` takes it over.",
            "다른 프로그램이 시작한 작업입니다. `bowline develop adopt`로 넘겨받습니다.",
        );
        lines.push(foreign.into());
    }
    let next = advice::next_in(&believed.path, run);
    lines.push(match next.iter().any(|one| one.stale) {
        true => lang
            .say(
                "A sealed file was changed: a person looks at it and seals again, then the gates count.",
                "봉인된 파일이 바뀌었습니다. 사람이 확인하고 다시 봉인해야 gate가 인정됩니다.",
            )
            .to_owned(),
        false => how_on(run, lang),
    });
    lines.extend(next_lines(&next, lang));
    lines
}

/// When it began and moved last. The journal's times are UTC; the file has only a local time without its zone, which
/// counts where there is no journal.
fn when(run: &Run, history: &[(String, Transition)], lang: Lang) -> String {
    let begins = |told: &Transition| ["START", "ADOPT"].contains(&told.trigger.as_str());
    let began = history.iter().rev().find(|(_, told)| begins(told));
    let (began, moved, zone) = match (began, history.last()) {
        (Some((began, _)), Some((moved, _))) => (began.clone(), moved.clone(), "UTC"),
        (_, _) => (
            time::civil(run.started_at),
            time::civil(run.updated_at),
            lang.say("local time", "현지 시각"),
        ),
    };
    let strategy = run.strategy.map(|it| it.name());
    let strategy = match (strategy, lang) {
        (None, _) => String::new(),
        (Some(name), Lang::En) => format!(", strategy {name}"),
        (Some(name), Lang::Ko) => format!(", 전략 {name}"),
    };
    match lang {
        Lang::En => format!("Started {began}, last changed {moved} ({zone}){strategy}."),
        Lang::Ko => format!("시작 {began}, 마지막 변경 {moved} ({zone}){strategy}."),
    }
}

/// The command an agent can go on with. What only a person may do, it can only ask for.
fn next_lines(next: &[Next], lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    match next.first() {
        Some(first) if first.person => {
            let head = lang.say("Ask a person to run", "사람에게 실행을 요청하세요");
            lines.push(format!("{head}: {}", first.command()));
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
    format!("{}{command}", next_head(lang))
}

fn next_head(lang: Lang) -> &'static str {
    lang.say("Next: ", "다음: ")
}

fn gates(run: &Run) -> String {
    let one = |gate: Gate| format!("{}={}", gate.name(), run.gates.is_open(gate));
    Gate::ALL.map(one).join(", ")
}

fn checkpoints(run: &Run, lang: Lang) -> String {
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
    let named = named.join(", ");
    match lang {
        Lang::En => format!("{passed} of {total} passed; {named}, …"),
        Lang::Ko => format!("{total}개 중 {passed}개 통과; {named}, …"),
    }
}

fn closed(run: &Run, lang: Lang) -> Vec<String> {
    let closed = |act, what: &str| {
        let missing = run.gates.missing(needed(run.phase, act));
        let names: Vec<&str> = missing.iter().map(|gate| gate.name()).collect();
        let names = names.join(", ");
        (!names.is_empty()).then(|| match lang {
            Lang::En => format!("Closed now: {what} (until {names})"),
            Lang::Ko => format!("지금 차단됨: {what} (미충족 gate: {names})"),
        })
    };
    let writes = closed(Act::Write, lang.say("writing files", "파일 수정"));
    let finishes = lang.say("commit, push and pull request", "커밋, 푸시, PR");
    let finishes = closed(Act::Finish, finishes);
    writes.into_iter().chain(finishes).collect()
}

/// The transitions in the journal, each with its time.
fn history(path: &Path) -> Vec<(String, Transition)> {
    let file = StateFile::new(locate::layout(path));
    let Ok(history) = file.history() else {
        return Vec::new();
    };
    let read = history.lines().filter_map(|line| {
        let raw = line.transition.as_ref()?;
        Some((line.at.clone(), serde_json::from_str(raw.get()).ok()?))
    });
    read.collect()
}

/// A transition in a few words: what moved, from where to where, when.
fn change(at: &str, told: &Transition) -> String {
    let fact = |name: &str| told.metadata.get(name).and_then(|value| value.as_str());
    let named = fact("gate").or_else(|| fact("checkpoint"));
    let name = named.map_or_else(String::new, |name| format!(" {}", short(name)));
    let from = told.from.as_deref();
    let from = from.map_or_else(String::new, |from| format!("{from} -> "));
    format!("{}{name} {from}{} ({at})", told.entity, told.to)
}

/// What to do, in a sentence.
fn how_on(run: &Run, lang: Lang) -> String {
    let say = |english: &str, korean: &str| lang.say(english, korean).to_owned();
    match resume(run) {
        Resume::Design => say(
            "Design again from the request: what was discussed is lost.",
            "Phase 1부터 재시작합니다. 나눈 이야기가 사라졌으므로 요청부터 다시 설계하세요.",
        ),
        Resume::ReviewAgain => say(
            "Run the review of the design again.",
            "설계 리뷰를 다시 실행하세요.",
        ),
        Resume::Implement => say(
            "The design is reviewed: begin the implementation.",
            "설계 리뷰가 끝났습니다. 구현을 시작하세요.",
        ),
        Resume::Checkpoint { id, iteration: 0 } => match lang {
            Lang::En => format!("Begin checkpoint {}.", short(&id)),
            Lang::Ko => format!("checkpoint {}을(를) 시작하세요.", short(&id)),
        },
        Resume::Checkpoint { id, iteration } => match lang {
            Lang::En => format!(
                "Go on with checkpoint {} at attempt {iteration} of {ATTEMPTS_MAX}: read its code and tests again, then run them.",
                short(&id)
            ),
            Lang::Ko => format!(
                "checkpoint {}을(를) {iteration}/{ATTEMPTS_MAX}번째 시도부터 이어서 진행하세요. 코드와 테스트를 다시 읽고 실행하세요.",
                short(&id)
            ),
        },
        Resume::AskPerson { .. } => say(
            "Only checkpoints that a person has to decide about are left: ask.",
            "사람이 결정해야 하는 checkpoint만 남았습니다. 물어보세요.",
        ),
        Resume::VerifyAll => say(
            "Every checkpoint has passed: verify the whole.",
            "모든 checkpoint를 통과했습니다. 전체를 검증하세요.",
        ),
        Resume::Pr => say(
            "The whole is verified: go on to the pull request.",
            "전체 검증이 끝났습니다. PR로 넘어가세요.",
        ),
        Resume::ReReview => say(
            "Run the review of the code again.",
            "코드 리뷰를 다시 실행하세요.",
        ),
        Resume::Done => say(
            "The code is clean: finish.",
            "코드 리뷰가 깨끗합니다. 마무리하세요.",
        ),
        Resume::Back { phase } => match lang {
            Lang::En => format!(
                "A gate that lies behind is closed: a person has to go back to {}.",
                phase.name()
            ),
            Lang::Ko => format!(
                "지나온 gate가 닫혀 있습니다. 사람이 {}(으)로 되돌아가야 합니다.",
                phase.name()
            ),
        },
        Resume::Over => say("The run is over.", "이전 완료."),
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
fn bounded(lines: &[String], lang: Lang) -> String {
    let mut left = CARD_WORDS_MAX;
    let head = next_head(lang);
    let next = lines.iter().find(|line| line.starts_with(head));
    let reserved = next.map_or(0, |line| line.split_whitespace().count());
    let mut kept = Vec::new();
    for line in lines {
        let is_next = Some(line) == next;
        let words: Vec<&str> = line.split_whitespace().collect();
        let room = if is_next || !kept.iter().all(|it: &String| !it.starts_with(head)) {
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
