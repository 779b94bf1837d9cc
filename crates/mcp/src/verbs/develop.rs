//! Verbs of develop runs.

use crate::answer::{Done, No, changed, viewed};
use crate::call::CallControl;
use crate::desk::{Desk, Role};
use crate::given::Given;
use crate::table::Kind::{self, Flag, Text, Texts};
use crate::table::{Arg, Verb};
use bowline_engine::Error;
use bowline_engine::develop::evidence::Watch;
use bowline_engine::files::Changed;
use bowline_engine::formats::develop::evidence::Evidence;
use bowline_engine::operations::develop::{
    ATTEMPTS_MAX, FailureClass, Gate, Passed, Phase, Proof, Run,
};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The words of [`Gate`].
pub(crate) const GATES: &[&str] = &["review_clean_pass", "architect_verified", "re_review_clean"];
/// The words of [`FailureClass`].
pub(crate) const CLASSES: &[&str] = &[
    "NOT_IMPLEMENTED",
    "LOGIC_ERROR",
    "TYPE_ERROR",
    "DESIGN_MISMATCH",
    "ENV_ISSUE",
    "VULNERABILITY",
];
/// The words of [`Phase`] that a run can go back to.
pub(crate) const PHASES: &[&str] = &["DESIGN", "REVIEW", "IMPLEMENT"];
/// The words of `Strategy`, and `auto`.
pub(crate) const STRATEGIES: &[&str] = &["auto", "direct", "subagent", "agent-teams"];

const GATE: Arg = Arg::need("gate", Kind::Word(GATES));
const ID: Arg = Arg::need("id", Text);

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "develop_start",
        Role::Agent,
        "Begin a develop run: DESIGN, REVIEW, IMPLEMENT, PR, DONE",
        &[
            Arg::need("feature", Text),
            Arg::may("fresh", Flag).of_person(),
        ],
        start,
    ),
    Verb::new(
        "develop_review",
        Role::Agent,
        "Enter REVIEW of the design",
        &[
            Arg::may("checkpoints", Texts).about("ids in order"),
            Arg::may("contract", Text).rare(),
        ],
        review,
    ),
    Verb::new(
        "develop_gate_pass",
        Role::Agent,
        "Open a gate; runs its sealed command as evidence",
        &[
            GATE,
            Arg::may("run", Text).rare(),
            Arg::may("by_hand", Text).of_person(),
        ],
        gate_pass,
    ),
    Verb::new(
        "develop_implement",
        Role::Agent,
        "Enter IMPLEMENT",
        &[Arg::may("strategy", Kind::Word(STRATEGIES)).rare()],
        implement,
    ),
    Verb::new(
        "develop_checkpoint_start",
        Role::Agent,
        "Begin a checkpoint",
        &[ID, Arg::may("override", Text).of_person()],
        checkpoint_start,
    ),
    Verb::new(
        "develop_checkpoint_pass",
        Role::Agent,
        "End it; a red command is a failed attempt of 3",
        &[ID, Arg::may("run", Text).about("command as evidence")],
        checkpoint_pass,
    ),
    Verb::new(
        "develop_checkpoint_fail",
        Role::Agent,
        "Count a failed attempt",
        &[ID, Arg::may("class", Kind::Word(CLASSES)).rare()],
        checkpoint_fail,
    ),
    Verb::new("develop_pr", Role::Agent, "Enter PR", &[], |desk, _| {
        told(desk, &desk.develop().pr(&desk.context)?)
    }),
    Verb::new("develop_done", Role::Agent, "Enter DONE", &[], |desk, _| {
        told(desk, &desk.develop().done(&desk.context)?)
    }),
    Verb::new(
        "develop_gate_reset",
        Role::Agent,
        "Close a gate",
        &[GATE],
        |desk, given| {
            told(
                desk,
                &desk.develop().gate_reset(&desk.context, gate(given))?,
            )
        },
    )
    .rare(),
    Verb::new(
        "develop_back",
        Role::Agent,
        "Go back to IMPLEMENT; to DESIGN and REVIEW goes a person",
        &[Arg::need("phase", Kind::Word(PHASES))],
        back,
    )
    .rare(),
    Verb::new(
        "develop_resume",
        Role::ReadOnly,
        "Where the run stands and how to go on",
        &[],
        status,
    )
    .rare(),
    Verb::new("develop_status", Role::ReadOnly, "The run", &[], status).rare(),
    Verb::new(
        "develop_adopt",
        Role::Agent,
        "Take a run over that Bowline did not start",
        &[],
        |desk, _| told(desk, &desk.develop().adopt(&desk.context)?),
    )
    .rare(),
    Verb::new(
        "develop_seal",
        Role::Person,
        "Seal the policy of the gates anew",
        &[],
        |desk, _| changed(desk, &desk.develop().seal(&desk.context)?, json!({})),
    )
    .rare(),
    Verb::new(
        "develop_reset",
        Role::Person,
        "Throw the run away",
        &[],
        |desk, _| changed(desk, &desk.develop().reset(&desk.context)?, json!({})),
    )
    .rare(),
];

/// Returns the gate; the table accepts no other word.
fn gate(given: &Given) -> Gate {
    Gate::from_name(given.word("gate")).unwrap_or(Gate::ReviewCleanPass)
}

fn status(desk: &Desk, _: &Given) -> Done {
    viewed(desk, &desk.develop().file().view(&desk.context)?)
}

/// Answers with a run after a transition: its phase, and its open gates.
fn told(desk: &Desk, moved: &Changed<Option<Run>>) -> Done {
    changed(desk, moved, facts(moved, None))
}

fn facts(moved: &Changed<Option<Run>>, id: Option<&str>) -> Value {
    let Some(run) = &moved.state else {
        return json!({});
    };
    let open: Vec<&str> = Gate::ALL
        .into_iter()
        .filter(|gate| !run.gates.missing(&Gate::ALL).contains(gate))
        .map(|gate| gate.name())
        .collect();
    let mut facts = json!({ "phase": run.phase.name(), "openGates": open });
    if let Some(checkpoint) = id.and_then(|id| run.checkpoint(id)) {
        facts["checkpoint"] = json!({
            "id": checkpoint.id, "status": checkpoint.status.name(),
            "attempt": checkpoint.iteration, "attemptsMax": ATTEMPTS_MAX,
        });
    }
    facts
}

fn start(desk: &Desk, given: &Given) -> Done {
    let run = desk.develop();
    let begun = run.start(&desk.context, given.word("feature"), given.is("fresh"))?;
    changed(desk, &begun, json!({ "phase": Phase::Design.name() }))
}

fn review(desk: &Desk, given: &Given) -> Done {
    let contract = given.text("contract").map(|path| desk.path(path));
    let contract = contract.transpose()?;
    let (run, ids) = (desk.develop(), given.texts("checkpoints"));
    let moved = run.review(&desk.context, &ids, contract.as_deref())?;
    let known = moved.state.iter().flat_map(|run| &run.checkpoints);
    let ids: Vec<&str> = known.map(|one| one.id.as_str()).collect();
    let mut facts = facts(&moved, None);
    facts["checkpoints"] = json!(ids);
    changed(desk, &moved, facts)
}

fn implement(desk: &Desk, given: &Given) -> Done {
    let run = desk.develop();
    let moved = run.implement(&desk.context, given.text("strategy"))?;
    let strategy = moved.state.as_ref().and_then(|run| run.strategy);
    let mut facts = facts(&moved, None);
    facts["strategy"] = json!(strategy.map(|strategy| strategy.name()));
    changed(desk, &moved, facts)
}

fn back(desk: &Desk, given: &Given) -> Done {
    let phase = Phase::from_name(given.word("phase")).unwrap_or(Phase::Implement);
    told(desk, &desk.develop().back(&desk.context, phase)?)
}

fn gate_pass(desk: &Desk, given: &Given) -> Done {
    let proof = Proof {
        run: given.text("run"),
        by_hand: given.text("by_hand"),
    };
    let heard = Heard::new(desk);
    let passed = desk
        .develop()
        .gate_pass(&desk.context, gate(given), proof, &heard);
    evidenced(desk, passed, &heard, None)
}

fn checkpoint_start(desk: &Desk, given: &Given) -> Done {
    let (run, id) = (desk.develop(), given.word("id"));
    let moved = run.checkpoint_start(&desk.context, id, given.text("override"))?;
    changed(desk, &moved, facts(&moved, Some(id)))
}

fn checkpoint_pass(desk: &Desk, given: &Given) -> Done {
    let (run, id, heard) = (desk.develop(), given.word("id"), Heard::new(desk));
    let passed = run.checkpoint_pass(&desk.context, id, given.text("run"), &heard);
    evidenced(desk, passed, &heard, Some(id))
}

fn checkpoint_fail(desk: &Desk, given: &Given) -> Done {
    let class = given.text("class").and_then(FailureClass::from_name);
    let class = class.unwrap_or(FailureClass::LogicError);
    let (run, id) = (desk.develop(), given.word("id"));
    let moved = run.checkpoint_fail(&desk.context, id, class)?;
    changed(desk, &moved, facts(&moved, Some(id)))
}

/// Answers with the result of a verb that runs commands; failed commands with the end of their
/// output.
fn evidenced(desk: &Desk, passed: Result<Passed, Error>, heard: &Heard, id: Option<&str>) -> Done {
    let seen = heard.told();
    match passed {
        Ok(passed) => {
            let mut facts = facts(&passed.changed, id);
            if !seen.is_null() {
                facts["evidence"] = seen;
            }
            changed(desk, &passed.changed, facts)
        }
        Err(error) if seen.is_null() => Err(error.into()),
        Err(error) => Err(No::Seen(Box::new(error), seen)),
    }
}

/// Collects the evidence of commands, and reports progress while one runs.
struct Heard {
    ended: Mutex<Vec<Value>>,
    call: CallControl,
}

impl Heard {
    fn new(desk: &Desk) -> Self {
        Heard {
            ended: Mutex::default(),
            call: desk.call.clone(),
        }
    }

    fn told(&self) -> Value {
        let heard = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match heard.is_empty() {
            true => Value::Null,
            false => heard.clone().into(),
        }
    }
}

impl Watch for Heard {
    fn started(&self, _command: &str) {}

    fn tick(&self, command: &str, elapsed: Duration) {
        self.call.report_progress(elapsed, command);
    }

    fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    fn ended(&self, evidence: &Evidence) {
        let mut told = json!({ "command": evidence.command, "exitCode": evidence.exit_code });
        // Only a failed command needs its output: the agent has to fix the cause.
        if evidence.exit_code != 0 {
            told["output"] = evidence.output_tail.clone().into();
        }
        let mut heard = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(told);
    }
}
