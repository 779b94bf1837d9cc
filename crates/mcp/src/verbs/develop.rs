//! Verbs of develop runs.

use crate::answer::{ToolError, ToolResult, answer_change, answer_view};
use crate::arguments::ToolArguments;
use crate::call::CallControl;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{self, Flag, Text, Texts};
use crate::table::{ToolParameter, ToolVerb};
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

const GATE: ToolParameter = ToolParameter::required("gate", ParameterType::Word(GATES));
const ID: ToolParameter = ToolParameter::required("id", Text);

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "develop_start",
        SessionRole::Agent,
        "Begin a develop run: DESIGN, REVIEW, IMPLEMENT, PR, DONE",
        &[
            ToolParameter::required("feature", Text),
            ToolParameter::optional("fresh", Flag).for_person_only(),
        ],
        start_run,
    ),
    ToolVerb::new(
        "develop_review",
        SessionRole::Agent,
        "Enter REVIEW of the design",
        &[
            ToolParameter::optional("checkpoints", Texts).with_description("ids in order"),
            ToolParameter::optional("contract", Text).hide_from_list(),
        ],
        start_review,
    ),
    ToolVerb::new(
        "develop_gate_pass",
        SessionRole::Agent,
        "Open a gate; runs its sealed command as evidence",
        &[
            GATE,
            ToolParameter::optional("run", Text).hide_from_list(),
            ToolParameter::optional("by_hand", Text).for_person_only(),
        ],
        gate_pass,
    ),
    ToolVerb::new(
        "develop_implement",
        SessionRole::Agent,
        "Enter IMPLEMENT",
        &[ToolParameter::optional("strategy", ParameterType::Word(STRATEGIES)).hide_from_list()],
        start_implementing,
    ),
    ToolVerb::new(
        "develop_checkpoint_start",
        SessionRole::Agent,
        "Begin a checkpoint",
        &[
            ID,
            ToolParameter::optional("override", Text).for_person_only(),
        ],
        checkpoint_start,
    ),
    ToolVerb::new(
        "develop_checkpoint_pass",
        SessionRole::Agent,
        "End it; a red command is a failed attempt of 3",
        &[
            ID,
            ToolParameter::optional("run", Text).with_description("command as evidence"),
        ],
        checkpoint_pass,
    ),
    ToolVerb::new(
        "develop_checkpoint_fail",
        SessionRole::Agent,
        "Count a failed attempt",
        &[
            ID,
            ToolParameter::optional("class", ParameterType::Word(CLASSES)).hide_from_list(),
        ],
        checkpoint_fail,
    ),
    ToolVerb::new(
        "develop_pr",
        SessionRole::Agent,
        "Enter PR",
        &[],
        |session, _| answer_run(session, &session.develop_run().enter_pr(&session.context)?),
    ),
    ToolVerb::new(
        "develop_done",
        SessionRole::Agent,
        "Enter DONE",
        &[],
        |session, _| {
            answer_run(
                session,
                &session.develop_run().finish_run(&session.context)?,
            )
        },
    ),
    ToolVerb::new(
        "develop_gate_reset",
        SessionRole::Agent,
        "Close a gate",
        &[GATE],
        |session, given| {
            answer_run(
                session,
                &session
                    .develop_run()
                    .gate_reset(&session.context, gate_argument(given))?,
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "develop_back",
        SessionRole::Agent,
        "Go back to IMPLEMENT; to DESIGN and REVIEW goes a person",
        &[ToolParameter::required(
            "phase",
            ParameterType::Word(PHASES),
        )],
        go_back,
    )
    .mark_rare(),
    ToolVerb::new(
        "develop_resume",
        SessionRole::ReadOnly,
        "Where the run stands and how to go on",
        &[],
        show_status,
    )
    .mark_rare(),
    ToolVerb::new(
        "develop_status",
        SessionRole::ReadOnly,
        "The run",
        &[],
        show_status,
    )
    .mark_rare(),
    ToolVerb::new(
        "develop_adopt",
        SessionRole::Agent,
        "Take a run over that Bowline did not start",
        &[],
        |session, _| answer_run(session, &session.develop_run().adopt_run(&session.context)?),
    )
    .mark_rare(),
    ToolVerb::new(
        "develop_seal",
        SessionRole::Person,
        "Seal the policy of the gates anew",
        &[],
        |session, _| {
            answer_change(
                session,
                &session.develop_run().seal_run(&session.context)?,
                json!({}),
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "develop_reset",
        SessionRole::Person,
        "Throw the run away",
        &[],
        |session, _| {
            answer_change(
                session,
                &session.develop_run().discard_run(&session.context)?,
                json!({}),
            )
        },
    )
    .mark_rare(),
];

/// Returns the gate; the table accepts no other word.
fn gate_argument(given: &ToolArguments) -> Gate {
    Gate::from_name(given.required_text("gate")).unwrap_or(Gate::ReviewCleanPass)
}

fn show_status(session: &ToolSession, _: &ToolArguments) -> ToolResult {
    answer_view(
        session,
        &session.develop_run().file().read_view(&session.context)?,
    )
}

/// Answers with a run after a transition: its phase, and its open gates.
fn answer_run(session: &ToolSession, moved: &ChangeOutcome<Option<DevelopRunState>>) -> ToolResult {
    answer_change(session, moved, run_facts(moved, None))
}

fn run_facts(moved: &ChangeOutcome<Option<DevelopRunState>>, id: Option<&str>) -> Value {
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

fn start_run(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.develop_run();
    let begun = run.start_run(
        &session.context,
        given.required_text("feature"),
        given.is_set("fresh"),
    )?;
    answer_change(
        session,
        &begun,
        json!({ "phase": DevelopPhase::Design.name() }),
    )
}

fn start_review(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let contract = given
        .text("contract")
        .map(|path| session.resolve_path(path));
    let contract = contract.transpose()?;
    let (run, ids) = (session.develop_run(), given.texts("checkpoints"));
    let moved = run.enter_review(&session.context, &ids, contract.as_deref())?;
    let known = moved.state.iter().flat_map(|run| &run.checkpoints);
    let ids: Vec<&str> = known.map(|one| one.id.as_str()).collect();
    let mut facts = run_facts(&moved, None);
    facts["checkpoints"] = json!(ids);
    answer_change(session, &moved, facts)
}

fn start_implementing(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.develop_run();
    let moved = run.enter_implement(&session.context, given.text("strategy"))?;
    let strategy = moved.state.as_ref().and_then(|run| run.strategy);
    let mut facts = run_facts(&moved, None);
    facts["strategy"] = json!(strategy.map(|strategy| strategy.name()));
    answer_change(session, &moved, facts)
}

fn go_back(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let phase =
        DevelopPhase::from_name(given.required_text("phase")).unwrap_or(DevelopPhase::Implement);
    answer_run(
        session,
        &session.develop_run().go_back(&session.context, phase)?,
    )
}

fn gate_pass(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let proof = GateProof {
        run: given.text("run"),
        by_hand: given.text("by_hand"),
    };
    let monitor = CommandMonitor::new(session);
    let passed =
        session
            .develop_run()
            .gate_pass(&session.context, gate_argument(given), proof, &monitor);
    answer_with_evidence(session, passed, &monitor, None)
}

fn checkpoint_start(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let (run, id) = (session.develop_run(), given.required_text("id"));
    let moved = run.checkpoint_start(&session.context, id, given.text("override"))?;
    answer_change(session, &moved, run_facts(&moved, Some(id)))
}

fn checkpoint_pass(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let (run, id, monitor) = (
        session.develop_run(),
        given.required_text("id"),
        CommandMonitor::new(session),
    );
    let passed = run.checkpoint_pass(&session.context, id, given.text("run"), &monitor);
    answer_with_evidence(session, passed, &monitor, Some(id))
}

fn checkpoint_fail(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let class = given.text("class").and_then(FailureClass::from_name);
    let class = class.unwrap_or(FailureClass::LogicError);
    let (run, id) = (session.develop_run(), given.required_text("id"));
    let moved = run.checkpoint_fail(&session.context, id, class)?;
    answer_change(session, &moved, run_facts(&moved, Some(id)))
}

/// Answers with the result of a verb that runs commands; failed commands with the end of their
/// output.
fn answer_with_evidence(
    session: &ToolSession,
    passed: Result<PassOutcome, Error>,
    monitor: &CommandMonitor,
    id: Option<&str>,
) -> ToolResult {
    let seen = monitor.collected_evidence();
    match passed {
        Ok(passed) => {
            let mut facts = run_facts(&passed.changed, id);
            if !seen.is_null() {
                facts["evidence"] = seen;
            }
            answer_change(session, &passed.changed, facts)
        }
        Err(error) if seen.is_null() => Err(error.into()),
        Err(error) => Err(ToolError::WithEvidence(Box::new(error), seen)),
    }
}

/// Collects the evidence of commands, and reports progress while one runs.
struct CommandMonitor {
    ended: Mutex<Vec<Value>>,
    call: CallControl,
}

impl CommandMonitor {
    fn new(session: &ToolSession) -> Self {
        CommandMonitor {
            ended: Mutex::default(),
            call: session.call.clone(),
        }
    }

    fn collected_evidence(&self) -> Value {
        let evidence = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match evidence.is_empty() {
            true => Value::Null,
            false => evidence.clone().into(),
        }
    }
}

impl CommandObserver for CommandMonitor {
    fn on_started(&self, _command: &str) {}

    fn on_tick(&self, command: &str, elapsed: Duration) {
        self.call.report_progress(elapsed, command);
    }

    fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    fn on_ended(&self, evidence: &EvidenceRecord) {
        let mut entry = json!({ "command": evidence.command, "exitCode": evidence.exit_code });
        // Only a failed command needs its output: the agent has to fix the cause.
        if evidence.exit_code != 0 {
            entry["output"] = evidence.output_tail.clone().into();
        }
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push(entry);
    }
}
