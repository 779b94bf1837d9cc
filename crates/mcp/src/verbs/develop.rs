//! Verbs of develop runs.

use crate::answer::{Done, No, changed, viewed};
use crate::arguments::ToolArguments;
use crate::call::CallControl;
use crate::session::{SessionRole, ToolSession};
use crate::table::Kind::{self, Flag, Text, Texts};
use crate::table::{Arg, Verb};
use bowline_engine::Error;
use bowline_engine::develop::evidence::CommandObserver;
use bowline_engine::files::ChangeOutcome;
use bowline_engine::formats::develop::evidence::EvidenceRecord;
use bowline_engine::operations::develop::{
    ATTEMPTS_MAX, DevelopPhase, DevelopRunState, FailureClass, Gate, GateProof, PassOutcome,
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
        SessionRole::Agent,
        "Begin a develop run: DESIGN, REVIEW, IMPLEMENT, PR, DONE",
        &[
            Arg::need("feature", Text),
            Arg::may("fresh", Flag).of_person(),
        ],
        start,
    ),
    Verb::new(
        "develop_review",
        SessionRole::Agent,
        "Enter REVIEW of the design",
        &[
            Arg::may("checkpoints", Texts).about("ids in order"),
            Arg::may("contract", Text).rare(),
        ],
        review,
    ),
    Verb::new(
        "develop_gate_pass",
        SessionRole::Agent,
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
        SessionRole::Agent,
        "Enter IMPLEMENT",
        &[Arg::may("strategy", Kind::Word(STRATEGIES)).rare()],
        implement,
    ),
    Verb::new(
        "develop_checkpoint_start",
        SessionRole::Agent,
        "Begin a checkpoint",
        &[ID, Arg::may("override", Text).of_person()],
        checkpoint_start,
    ),
    Verb::new(
        "develop_checkpoint_pass",
        SessionRole::Agent,
        "End it; a red command is a failed attempt of 3",
        &[ID, Arg::may("run", Text).about("command as evidence")],
        checkpoint_pass,
    ),
    Verb::new(
        "develop_checkpoint_fail",
        SessionRole::Agent,
        "Count a failed attempt",
        &[ID, Arg::may("class", Kind::Word(CLASSES)).rare()],
        checkpoint_fail,
    ),
    Verb::new(
        "develop_pr",
        SessionRole::Agent,
        "Enter PR",
        &[],
        |desk, _| told(desk, &desk.develop_run().enter_pr(&desk.context)?),
    ),
    Verb::new(
        "develop_done",
        SessionRole::Agent,
        "Enter DONE",
        &[],
        |desk, _| told(desk, &desk.develop_run().finish_run(&desk.context)?),
    ),
    Verb::new(
        "develop_gate_reset",
        SessionRole::Agent,
        "Close a gate",
        &[GATE],
        |desk, given| {
            told(
                desk,
                &desk.develop_run().gate_reset(&desk.context, gate(given))?,
            )
        },
    )
    .rare(),
    Verb::new(
        "develop_back",
        SessionRole::Agent,
        "Go back to IMPLEMENT; to DESIGN and REVIEW goes a person",
        &[Arg::need("phase", Kind::Word(PHASES))],
        back,
    )
    .rare(),
    Verb::new(
        "develop_resume",
        SessionRole::ReadOnly,
        "Where the run stands and how to go on",
        &[],
        status,
    )
    .rare(),
    Verb::new(
        "develop_status",
        SessionRole::ReadOnly,
        "The run",
        &[],
        status,
    )
    .rare(),
    Verb::new(
        "develop_adopt",
        SessionRole::Agent,
        "Take a run over that Bowline did not start",
        &[],
        |desk, _| told(desk, &desk.develop_run().adopt_run(&desk.context)?),
    )
    .rare(),
    Verb::new(
        "develop_seal",
        SessionRole::Person,
        "Seal the policy of the gates anew",
        &[],
        |desk, _| {
            changed(
                desk,
                &desk.develop_run().seal_run(&desk.context)?,
                json!({}),
            )
        },
    )
    .rare(),
    Verb::new(
        "develop_reset",
        SessionRole::Person,
        "Throw the run away",
        &[],
        |desk, _| {
            changed(
                desk,
                &desk.develop_run().discard_run(&desk.context)?,
                json!({}),
            )
        },
    )
    .rare(),
];

/// Returns the gate; the table accepts no other word.
fn gate(given: &ToolArguments) -> Gate {
    Gate::from_name(given.required_text("gate")).unwrap_or(Gate::ReviewCleanPass)
}

fn status(desk: &ToolSession, _: &ToolArguments) -> Done {
    viewed(desk, &desk.develop_run().file().read_view(&desk.context)?)
}

/// Answers with a run after a transition: its phase, and its open gates.
fn told(desk: &ToolSession, moved: &ChangeOutcome<Option<DevelopRunState>>) -> Done {
    changed(desk, moved, facts(moved, None))
}

fn facts(moved: &ChangeOutcome<Option<DevelopRunState>>, id: Option<&str>) -> Value {
    let Some(run) = &moved.state else {
        return json!({});
    };
    let open: Vec<&str> = Gate::ALL
        .into_iter()
        .filter(|gate| !run.gates.closed_among(&Gate::ALL).contains(gate))
        .map(|gate| gate.name())
        .collect();
    let mut facts = json!({ "phase": run.phase.name(), "openGates": open });
    if let Some(checkpoint) = id.and_then(|id| run.find_checkpoint(id)) {
        facts["checkpoint"] = json!({
            "id": checkpoint.id, "status": checkpoint.status.name(),
            "attempt": checkpoint.iteration, "attemptsMax": ATTEMPTS_MAX,
        });
    }
    facts
}

fn start(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.develop_run();
    let begun = run.start_run(
        &desk.context,
        given.required_text("feature"),
        given.is_set("fresh"),
    )?;
    changed(
        desk,
        &begun,
        json!({ "phase": DevelopPhase::Design.name() }),
    )
}

fn review(desk: &ToolSession, given: &ToolArguments) -> Done {
    let contract = given.text("contract").map(|path| desk.resolve_path(path));
    let contract = contract.transpose()?;
    let (run, ids) = (desk.develop_run(), given.texts("checkpoints"));
    let moved = run.enter_review(&desk.context, &ids, contract.as_deref())?;
    let known = moved.state.iter().flat_map(|run| &run.checkpoints);
    let ids: Vec<&str> = known.map(|one| one.id.as_str()).collect();
    let mut facts = facts(&moved, None);
    facts["checkpoints"] = json!(ids);
    changed(desk, &moved, facts)
}

fn implement(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.develop_run();
    let moved = run.enter_implement(&desk.context, given.text("strategy"))?;
    let strategy = moved.state.as_ref().and_then(|run| run.strategy);
    let mut facts = facts(&moved, None);
    facts["strategy"] = json!(strategy.map(|strategy| strategy.name()));
    changed(desk, &moved, facts)
}

fn back(desk: &ToolSession, given: &ToolArguments) -> Done {
    let phase =
        DevelopPhase::from_name(given.required_text("phase")).unwrap_or(DevelopPhase::Implement);
    told(desk, &desk.develop_run().go_back(&desk.context, phase)?)
}

fn gate_pass(desk: &ToolSession, given: &ToolArguments) -> Done {
    let proof = GateProof {
        run: given.text("run"),
        by_hand: given.text("by_hand"),
    };
    let heard = Heard::new(desk);
    let passed = desk
        .develop_run()
        .gate_pass(&desk.context, gate(given), proof, &heard);
    evidenced(desk, passed, &heard, None)
}

fn checkpoint_start(desk: &ToolSession, given: &ToolArguments) -> Done {
    let (run, id) = (desk.develop_run(), given.required_text("id"));
    let moved = run.checkpoint_start(&desk.context, id, given.text("override"))?;
    changed(desk, &moved, facts(&moved, Some(id)))
}

fn checkpoint_pass(desk: &ToolSession, given: &ToolArguments) -> Done {
    let (run, id, heard) = (
        desk.develop_run(),
        given.required_text("id"),
        Heard::new(desk),
    );
    let passed = run.checkpoint_pass(&desk.context, id, given.text("run"), &heard);
    evidenced(desk, passed, &heard, Some(id))
}

fn checkpoint_fail(desk: &ToolSession, given: &ToolArguments) -> Done {
    let class = given.text("class").and_then(FailureClass::from_name);
    let class = class.unwrap_or(FailureClass::LogicError);
    let (run, id) = (desk.develop_run(), given.required_text("id"));
    let moved = run.checkpoint_fail(&desk.context, id, class)?;
    changed(desk, &moved, facts(&moved, Some(id)))
}

/// Answers with the result of a verb that runs commands; failed commands with the end of their
/// output.
fn evidenced(
    desk: &ToolSession,
    passed: Result<PassOutcome, Error>,
    heard: &Heard,
    id: Option<&str>,
) -> Done {
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
    fn new(desk: &ToolSession) -> Self {
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

impl CommandObserver for Heard {
    fn on_started(&self, _command: &str) {}

    fn on_tick(&self, command: &str, elapsed: Duration) {
        self.call.report_progress(elapsed, command);
    }

    fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    fn on_ended(&self, evidence: &EvidenceRecord) {
        let mut told = json!({ "command": evidence.command, "exitCode": evidence.exit_code });
        // Only a failed command needs its output: the agent has to fix the cause.
        if evidence.exit_code != 0 {
            told["output"] = evidence.output_tail.clone().into();
        }
        let mut heard = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(told);
    }
}
