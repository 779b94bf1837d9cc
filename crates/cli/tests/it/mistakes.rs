//! Command lines that people and agents plausibly get wrong: each does what can only be meant, or names what is right.

use crate::environment::TestEnvironment;

/// What a mistake gets.
enum Answer {
    /// It is another word for what it means.
    Works,
    /// Its exit code, and what the answer names in both languages.
    Told(i32, &'static str),
}

use Answer::{Told, Works};

/// In a folder with a thinking run at its beginning, a memory with a task of two steps, and a develop run.
const MISTAKES: [(&str, Answer); 68] = [
    // A verb without its noun.
    ("start planning", Told(2, "bowline thinking start planning")),
    (
        "complete planning",
        Told(2, "bowline thinking complete planning"),
    ),
    ("new essay", Told(2, "bowline thinking new")),
    (
        "evaluate practicality=8",
        Told(2, "bowline thinking evaluate"),
    ),
    ("step start 1", Told(2, "bowline memory step")),
    ("task new x", Told(2, "bowline task new --help")),
    (
        "gate pass architect_verified",
        Told(2, "bowline develop gate"),
    ),
    (
        "checkpoint start cp-1",
        Told(2, "bowline develop checkpoint"),
    ),
    ("review", Told(2, "bowline develop review")),
    ("implement", Told(2, "bowline develop implement")),
    ("pr", Told(2, "bowline develop pr")),
    ("graph", Told(2, "bowline orchestrate graph")),
    ("next", Told(2, "bowline orchestrate next")),
    ("prune", Told(2, "bowline memory prune")),
    ("backup", Told(2, "bowline memory backup")),
    // Words of other programs.
    ("list", Told(2, "bowline status")),
    ("ls", Told(2, "bowline status")),
    ("log", Told(2, "bowline history")),
    ("ps", Told(2, "bowline attach")),
    ("agents", Works),
    ("fix", Told(2, "bowline doctor --repair")),
    ("doctor --fix", Works),
    ("history thinking --limit 1", Works),
    ("help", Works),
    ("help memory", Works),
    ("help memory step", Works),
    ("memory help", Works),
    // The right noun, and a verb that is elsewhere.
    (
        "memory set shared_data.a 1",
        Told(2, "bowline memory context set"),
    ),
    (
        "memory get shared_data.a",
        Told(2, "bowline memory context get"),
    ),
    ("memory new x", Told(2, "bowline memory task new")),
    ("memory task start 1", Told(2, "bowline memory step start")),
    ("memory task list", Told(2, "bowline status")),
    (
        "memory task complete 1",
        Told(2, "bowline memory step complete"),
    ),
    ("memory step done 1", Told(1, "bowline memory step start 1")),
    (
        "memory step finish 1",
        Told(2, "bowline memory task finish"),
    ),
    (
        "develop pass architect_verified",
        Told(2, "bowline develop gate pass architect_verified"),
    ),
    (
        "develop gate open review_clean_pass --by-hand reason",
        Told(1, "REVIEW"),
    ),
    (
        "develop open review_clean_pass",
        Told(2, "bowline develop --help"),
    ),
    (
        "thinking record",
        Told(2, "bowline thinking feedback record"),
    ),
    ("thinking apply", Told(2, "bowline thinking feedback apply")),
    (
        "orchestrate finish 1",
        Told(2, "bowline orchestrate phase finish"),
    ),
    ("orchestrate run", Told(3, "TASKS.md")),
    // Spelling.
    ("thinkin start planning", Told(2, "thinking")),
    ("memmory status", Told(2, "memory")),
    ("thinking strat planning", Told(2, "start")),
    ("develop implment", Told(2, "implement")),
    ("status --jsn", Told(2, "--json")),
    ("thinking start plannning", Told(2, "planning")),
    // Values.
    ("memory step start one", Told(2, "bowline memory status")),
    (
        "memory step start",
        Told(2, "bowline memory step start --help"),
    ),
    ("memory step start 9", Told(3, "bowline memory status")),
    ("memory task drop task-x", Told(3, "bowline memory status")),
    ("develop checkpoint start cp-9", Told(1, "IMPLEMENT")),
    ("explain nonsense", Told(3, "bowline explain")),
    ("schema nonsense", Told(3, "thinking")),
    ("undo 3", Told(2, "bowline restore 3")),
    ("restore one", Told(2, "bowline history")),
    ("restore thinking 99", Told(3, "bowline history")),
    (
        "thinking evaluate practicality:8",
        Told(2, "practicality=8"),
    ),
    ("thinking evaluate practicality=eight", Told(2, "8")),
    (
        "thinking complete --output a planning",
        Told(1, "bowline thinking start planning"),
    ),
    (
        "thinking complete --output a",
        Told(2, "bowline thinking complete STAGE"),
    ),
    ("run-agent true", Works),
    ("run-agent sh -c true", Works),
    // An option that there is not is no program.
    ("run-agent --tcp 443 -- true", Told(2, "--tcp")),
    ("run-agent --sandbox --reed /x -- true", Told(2, "--read")),
    ("attach x --kill", Told(3, "bowline attach")),
    ("thinking start", Told(2, "bowline thinking start --help")),
];

#[test]
fn no_plausible_mistake_gets_a_bad_answer() {
    let mut bad = Vec::new();
    for lang in ["en", "ko"] {
        let world = TestEnvironment::new();
        for line in [
            "thinking new essay-1",
            "memory task new guide --goal g --step name=a --step name=b",
            "develop start ferry",
        ] {
            world.quietly(line, 0);
        }
        for (line, answer) in &MISTAKES {
            let output = world.bowline(&format!("--lang {lang} {line}")).output();
            let output = output.unwrap();
            let told = [output.stdout, output.stderr].concat();
            let told = String::from_utf8(told).unwrap();
            let ended = output.status.code();
            let good = match answer {
                Works => ended == Some(0),
                Told(code, names) => ended == Some(*code) && told.contains(names),
            };
            if !good {
                bad.push(format!("{lang}: {line}: {ended:?}\n{told}"));
            }
        }
    }
    assert!(bad.is_empty(), "{} bad:\n{}", bad.len(), bad.join("\n"));
}
