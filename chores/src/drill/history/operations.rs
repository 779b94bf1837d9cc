//! What one operation of the history drill does, chosen by its number.

use crate::drill::common::Random;

/// Agents that remember side by side.
const AGENTS: u64 = 2;
/// The marks that values carry begin with this, and go on with [`TOKEN_DIGITS`] digits.
const TOKEN_HEAD: &str = "tok";
const TOKEN_DIGITS: usize = 6;

/// The files of a round, below its folder.
pub(super) const FILES: [&str; 7] = [
    ".claude/memory/shared-context.json",
    ".claude/memory/agents/agent-0.json",
    ".claude/memory/agents/agent-1.json",
    ".claude/memory/task-state.json",
    ".claude/memory/task-history.json",
    "thinking_state.json",
    DEVELOP,
];
pub(super) const TASK_STATE: &str = FILES[3];
pub(super) const TASK_HISTORY: &str = FILES[4];
/// The one file whose journal is not beside it.
pub(super) const DEVELOP: &str = ".develop-workflow/state.json";

/// One operation.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    /// A verb of the command line.
    Verb {
        words: Vec<String>,
        /// Whether the document has the token of this operation afterwards.
        marked: bool,
    },
    /// `restore` of a version some steps back from the last one heard of.
    Restore { file: &'static str, back: u64 },
    /// Somebody who takes no lock.
    Edit { file: &'static str, edit: Edit },
}

/// The ways of editors that know nothing of us.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edit {
    /// `jq … > T && mv T F`
    Move,
    /// Truncated, and written in two halves.
    Torn,
    /// Read, truncated, and written some time later from what was read.
    Truncate,
    /// `cp F.bak F`
    Backup,
}

/// The mark that only the operation with this number leaves in a document.
pub(super) fn token(number: usize) -> String {
    format!("{TOKEN_HEAD}{number:0TOKEN_DIGITS$}")
}

/// Which operations below `count` left their mark in a text.
pub(super) fn tokens(text: &str, count: usize) -> Vec<bool> {
    let mut found = vec![false; count];
    for (at, _) in text.match_indices(TOKEN_HEAD) {
        let start = at + TOKEN_HEAD.len();
        let digits = text.get(start..start + TOKEN_DIGITS);
        if let Some(slot) = digits
            .and_then(|digits| digits.parse::<usize>().ok())
            .and_then(|number| found.get_mut(number))
        {
            *slot = true;
        }
    }
    found
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[usize::try_from(random.below(all.len() as u64)).unwrap_or(0)]
}

/// The operation with a number: the same for the same chance.
pub(super) fn choose(number: usize, random: &mut Random) -> Operation {
    let token = token(number);
    let verb = |line: &str, marked: bool| Operation::Verb {
        words: line.split(' ').map(str::to_owned).collect(),
        marked,
    };
    let file = |random: &mut Random| pick(random, &FILES);
    let agent = random.below(AGENTS);
    let step = random.below(3) + 1;
    // After the first only a way back lets the stage have outputs again.
    let ended = pick(
        random,
        &["thinking complete planning", "thinking start planning"],
    );
    match random.below(100) {
        0..12 => verb(
            &format!("memory context append shared_data.log {token}"),
            true,
        ),
        12..17 => verb(
            &format!("memory context set shared_data.values.{token} 1"),
            true,
        ),
        17..25 => verb(
            &format!("memory agent append agent-{agent} preferences.log {token}"),
            true,
        ),
        25..29 => verb(
            &format!("memory agent append agent-{agent} cache.log {token}"),
            true,
        ),
        29..35 => verb(
            &format!(
                "memory task new {token} --step name=a,agent=w --step name=b,agent=w --step name=c,agent=w"
            ),
            true,
        ),
        35..38 => verb(&format!("memory step start {step}"), false),
        38..41 => verb(
            &format!("memory step complete {step} --output {token}"),
            true,
        ),
        41..43 => verb(&format!("memory step fail {step} --message {token}"), false),
        43..46 => verb(
            pick(
                random,
                &[
                    "memory task finish --summary over",
                    "memory task finish",
                    "memory task cancel",
                    "memory task pause",
                    "memory task resume",
                    "memory context session new",
                ],
            ),
            false,
        ),
        46..60 => verb(&format!("thinking output planning {token}.md"), true),
        60..64 => verb(
            pick(
                random,
                &[
                    "thinking start planning",
                    "thinking start planning --override again",
                    "thinking start planning --override again",
                    ended,
                    "thinking fail planning --code drill --message drilled",
                    "thinking evaluate practicality=8",
                    "thinking quality completeness=0.75",
                    "thinking feedback record --metric rate=6% --target 5%",
                ],
            ),
            false,
        ),
        64..73 => verb(
            pick(
                random,
                &[
                    "develop review --checkpoint one --checkpoint two",
                    "develop gate pass review_clean_pass",
                    "develop gate pass architect_verified",
                    "develop gate reset review_clean_pass",
                    "develop implement",
                    "develop checkpoint start one",
                    "develop checkpoint start two",
                    "develop checkpoint pass one --run true",
                    "develop checkpoint pass two --run true",
                    "develop checkpoint fail one",
                    "develop checkpoint fail two",
                    "develop pr",
                    "develop back IMPLEMENT",
                    "develop back DESIGN",
                ],
            ),
            false,
        ),
        73..75 => verb(
            pick(
                random,
                &[
                    "memory prune",
                    "memory backup",
                    "memory restore",
                    "memory restore shared-context-",
                ],
            ),
            false,
        ),
        75..81 => {
            let state_only = pick(random, &["", " --state-only"]);
            verb(&format!("undo {}{state_only}", file(random)), false)
        }
        81..84 => Operation::Restore {
            file: file(random),
            back: random.below(6),
        },
        84..90 => verb(&format!("doctor --repair {}", file(random)), false),
        _ => Operation::Edit {
            file: file(random),
            edit: pick(
                random,
                &[
                    Edit::Move,
                    Edit::Torn,
                    Edit::Truncate,
                    Edit::Truncate,
                    Edit::Backup,
                ],
            ),
        },
    }
}
