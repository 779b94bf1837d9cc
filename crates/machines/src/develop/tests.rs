//! Named rules of develop runs one by one, and invariants over random commands.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::{ImplementationStrategy, *};
use crate::kernel::{CodedRefusal as _, CommandAdvice, Machine as _};
use crate::table::MachineCatalogue as _;
use proptest::prelude::{
    Just, Strategy as Gen, TestCaseError, any, prop, prop_assert, prop_assert_eq, prop_oneof,
    proptest,
};

const NOON: Timestamp = Timestamp(1_760_356_800);

const GREEN: SubmittedEvidence = SubmittedEvidence::Sealed {
    exit_code: 0,
    stale: false,
};

fn play(commands: Vec<Command>) -> Result<Option<DevelopRunState>, Refusal> {
    let mut state = None;
    for command in commands {
        state = DevelopMachine::step(&state, command, NOON)?.next;
        assert_eq!(DevelopMachine::violations(&state), []);
    }
    Ok(state)
}

fn run(commands: Vec<Command>) -> DevelopRunState {
    play(commands).unwrap().unwrap()
}

fn code(commands: Vec<Command>, last: Command) -> &'static str {
    let state = play(commands).unwrap();
    DevelopMachine::step(&state, last, NOON).unwrap_err().code()
}

fn start(fresh: bool, by: Actor) -> Command {
    Command::Start {
        feature: "실시간 채팅".into(),
        fresh,
        by,
    }
}

fn pass(gate: Gate) -> Command {
    Command::GatePass {
        gate,
        evidence: GREEN,
        by: Actor::Agent,
    }
}

fn begin(id: &str) -> Command {
    Command::CheckpointStart {
        id: id.into(),
        override_reason: None,
        by: Actor::Agent,
    }
}

fn passed(id: &str, exit_code: i32) -> Command {
    Command::CheckpointPass {
        id: id.into(),
        evidence: SubmittedEvidence::Given { exit_code },
        attempts_max: ATTEMPTS_MAX,
    }
}

fn failed(id: &str, class: FailureClass) -> Command {
    Command::CheckpointFail {
        id: id.into(),
        class,
        attempts_max: ATTEMPTS_MAX,
    }
}

fn back(phase: DevelopPhase, by: Actor) -> Command {
    Command::Back { phase, by }
}

/// Everything up to IMPLEMENT, with two checkpoints.
fn implementing() -> Vec<Command> {
    vec![
        start(false, Actor::Person),
        Command::Review {
            checkpoints: vec!["cp-1".into(), "cp-2".into()],
        },
        pass(Gate::ReviewCleanPass),
        Command::Implement {
            choice: StrategyChoice::Named(ImplementationStrategy::Direct),
        },
    ]
}

/// Everything up to PR.
fn in_pr() -> Vec<Command> {
    let mut commands = implementing();
    commands.extend([begin("cp-1"), passed("cp-1", 0)]);
    commands.extend([begin("cp-2"), passed("cp-2", 0)]);
    commands.extend([pass(Gate::ArchitectVerified), Command::Pr]);
    commands
}

fn with(mut commands: Vec<Command>, more: impl IntoIterator<Item = Command>) -> Vec<Command> {
    commands.extend(more);
    commands
}

#[test]
fn the_whole_way_to_done() {
    let done = run(with(in_pr(), [pass(Gate::ReReviewClean), Command::Done]));
    assert_eq!(done.phase, DevelopPhase::Done);
    assert_eq!(done.gates.closed_among(&Gate::ALL), []);
    let again = run(with(
        in_pr(),
        [
            pass(Gate::ReReviewClean),
            Command::Done,
            start(false, Actor::Agent),
        ],
    ));
    assert_eq!(
        (again.phase, again.checkpoints.len()),
        (DevelopPhase::Design, 0)
    );
}

#[test]
fn every_move_needs_its_gate() {
    let implement = Command::Implement {
        choice: StrategyChoice::Named(ImplementationStrategy::Direct),
    };
    let before = |length| in_pr()[..length].to_vec();
    assert_eq!(code(before(2), implement), "gates_closed");
    assert_eq!(code(before(8), Command::Pr), "gates_closed");
    assert_eq!(code(in_pr(), Command::Done), "gates_closed");
}

#[test]
fn a_gate_passes_only_in_its_phase() {
    for gate in Gate::ALL {
        assert_eq!(
            code(vec![start(false, Actor::Person)], pass(gate)),
            "wrong_phase"
        );
    }
    assert_eq!(code(in_pr(), pass(Gate::ArchitectVerified)), "wrong_phase");
}

#[test]
fn the_architect_needs_every_checkpoint() {
    let commands = with(implementing(), [begin("cp-1"), passed("cp-1", 0)]);
    assert_eq!(
        code(commands, pass(Gate::ArchitectVerified)),
        "checkpoints_open"
    );
}

#[test]
fn evidence_opens_a_gate_or_does_not() {
    let sealed = |exit_code, stale| SubmittedEvidence::Sealed { exit_code, stale };
    let given = |exit_code| SubmittedEvidence::Given { exit_code };
    let by_hand = |reason: &str| SubmittedEvidence::ByHand {
        reason: reason.into(),
    };
    let cases = [
        (GREEN, Actor::Agent, None),
        (sealed(1, false), Actor::Person, Some("evidence_red")),
        (sealed(0, true), Actor::Person, Some("stale_evidence")),
        (given(0), Actor::Person, None),
        (given(2), Actor::Person, Some("evidence_red")),
        (given(0), Actor::Agent, Some("evidence_required")),
        (by_hand("read it"), Actor::Person, None),
        (by_hand(" "), Actor::Person, Some("empty_text")),
        (by_hand("read it"), Actor::Agent, Some("needs_person")),
        (
            SubmittedEvidence::None,
            Actor::Person,
            Some("evidence_required"),
        ),
        (
            SubmittedEvidence::None,
            Actor::Agent,
            Some("evidence_required"),
        ),
    ];
    for (evidence, by, expected) in cases {
        let mut commands = implementing();
        commands.truncate(2);
        let gate = Gate::ReviewCleanPass;
        let case = format!("{evidence:?} {by:?}");
        commands.push(Command::GatePass { gate, evidence, by });
        let outcome = play(commands).map_err(|refusal| refusal.code());
        assert_eq!(outcome.err(), expected, "{case}");
    }
}

#[test]
fn the_third_failure_escalates_and_stays_at_three() {
    let mut commands = with(implementing(), [begin("cp-1")]);
    for iteration in [2, 3] {
        commands.push(failed("cp-1", FailureClass::TypeError));
        let run = run(commands.clone());
        let checkpoint = run.find_checkpoint("cp-1").unwrap();
        assert_eq!(checkpoint.status, CheckpointStatus::InProgress);
        assert_eq!(checkpoint.iteration, iteration);
    }
    // A red run of the tests is a failed attempt, too.
    commands.push(passed("cp-1", 1));
    let run = run(commands.clone());
    let checkpoint = run.find_checkpoint("cp-1").unwrap();
    assert_eq!(checkpoint.status, CheckpointStatus::Escalated);
    assert_eq!(checkpoint.iteration, 3);
    assert_eq!(code(commands, begin("cp-1")), "checkpoint_status");
}

#[test]
fn a_project_may_allow_fewer_attempts_and_never_more() {
    let with = |attempts_max| Command::CheckpointFail {
        id: "cp-1".into(),
        class: FailureClass::LogicError,
        attempts_max,
    };
    for (attempts_max, failures) in [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)] {
        let mut commands = implementing();
        commands.push(begin("cp-1"));
        commands.extend((1..failures).map(|_| with(attempts_max)));
        let open = run(commands.clone());
        let status = |run: &DevelopRunState| run.find_checkpoint("cp-1").unwrap().status;
        assert_eq!(
            status(&open),
            CheckpointStatus::InProgress,
            "{attempts_max}"
        );
        commands.push(with(attempts_max));
        assert_eq!(
            status(&run(commands)),
            CheckpointStatus::Escalated,
            "{attempts_max}"
        );
    }
}

#[test]
fn what_no_attempt_helps_escalates_at_once() {
    for class in FailureClass::ALL {
        let run = run(with(implementing(), [begin("cp-1"), failed("cp-1", class)]));
        let checkpoint = run.find_checkpoint("cp-1").unwrap();
        let expected = if class.may_retry() {
            (CheckpointStatus::InProgress, 2)
        } else {
            (CheckpointStatus::Escalated, 1)
        };
        assert_eq!((checkpoint.status, checkpoint.iteration), expected);
    }
}

#[test]
fn only_a_person_reopens_an_escalated_checkpoint() {
    let escalated = || {
        let failure = failed("cp-1", FailureClass::EnvIssue);
        with(implementing(), [begin("cp-1"), failure])
    };
    let reopen = |by| Command::CheckpointStart {
        id: "cp-1".into(),
        override_reason: Some("compiler installed".into()),
        by,
    };
    assert_eq!(code(escalated(), reopen(Actor::Agent)), "needs_person");
    assert_eq!(
        code(implementing(), reopen(Actor::Person)),
        "checkpoint_status"
    );
    let run = run(with(escalated(), [reopen(Actor::Person)]));
    let checkpoint = run.find_checkpoint("cp-1").unwrap();
    assert_eq!(checkpoint.status, CheckpointStatus::InProgress);
    assert_eq!(checkpoint.iteration, 1);
}

#[test]
fn going_back_clears_the_gates_ahead() {
    let open = |to| {
        let run = run(with(in_pr(), [back(to, Actor::Person)]));
        assert_eq!(run.phase, to);
        Gate::ALL.map(|gate| run.gates.is_open(gate))
    };
    assert_eq!(open(DevelopPhase::Design), [false, false, false]);
    assert_eq!(open(DevelopPhase::Review), [false, false, false]);
    assert_eq!(open(DevelopPhase::Implement), [true, false, false]);
    assert_eq!(
        code(in_pr(), back(DevelopPhase::Pr, Actor::Person)),
        "not_back"
    );
}

#[test]
fn an_agent_may_not_leave_the_gates_behind() {
    let refused = [
        back(DevelopPhase::Design, Actor::Agent),
        back(DevelopPhase::Review, Actor::Agent),
        start(true, Actor::Agent),
        Command::Reset { by: Actor::Agent },
    ];
    for command in refused {
        assert_eq!(
            code(in_pr(), command.clone()),
            "needs_person",
            "{command:?}"
        );
    }
    let run = run(with(in_pr(), [back(DevelopPhase::Implement, Actor::Agent)]));
    assert_eq!(run.phase, DevelopPhase::Implement);
}

#[test]
fn an_open_run_is_not_started_over_by_accident() {
    assert_eq!(
        code(implementing(), start(false, Actor::Person)),
        "run_open"
    );
    let run = run(with(implementing(), [start(true, Actor::Person)]));
    assert_eq!(run.phase, DevelopPhase::Design);
    let reset = with(implementing(), [Command::Reset { by: Actor::Person }]);
    assert_eq!(play(reset), Ok(None));
    assert_eq!(code(vec![], Command::Pr), "no_run");
}

#[test]
fn only_a_person_seals() {
    for (by, effects) in [(Actor::Person, vec![Effect::Seal]), (Actor::Agent, vec![])] {
        let step = DevelopMachine::step(&None, start(false, by), NOON).unwrap();
        assert_eq!(step.effects, effects);
    }
}

#[test]
fn naming_the_checkpoints_anew_needs_a_new_review() {
    let mut commands = implementing();
    commands.truncate(3);
    let review = |ids: &[&str]| Command::Review {
        checkpoints: ids.iter().map(|&id| id.into()).collect(),
    };
    let twice = review(&["cp-1", "cp-1"]);
    assert_eq!(code(commands.clone(), twice), "duplicate_checkpoint");
    let long = "x".repeat(ID_CHARS_MAX + 1);
    for bad in ["-x", "--", "a\nb", "a\u{7}", " a", "a ", &long] {
        let named = review(&[bad]);
        assert_eq!(code(commands.clone(), named), "bad_checkpoint_id", "{bad}");
    }
    let fine = review(&["화면 하나", "a-b", &long[1..]]);
    assert_eq!(run(with(commands.clone(), [fine])).checkpoints.len(), 3);
    let run = run(with(commands, [review(&["cp-9"])]));
    assert!(!run.gates.is_open(Gate::ReviewCleanPass));
    assert_eq!(run.checkpoints, [DevelopCheckpoint::pending("cp-9")]);
}

#[test]
fn a_closed_gate_closes_those_after_it() {
    let reset = |gate| Command::GateReset { gate };
    let state = run(with(in_pr(), [reset(Gate::ReviewCleanPass)]));
    assert_eq!(state.gates, OpenGates::default());
    assert_eq!(
        next_action(&state),
        NextAction::Back {
            phase: DevelopPhase::Review
        }
    );
    let refused = DevelopMachine::step(&Some(state), pass(Gate::ReReviewClean), NOON).unwrap_err();
    assert_eq!(refused.code(), "gates_closed");
    // A gate of an earlier phase: a person goes back to that.
    let closed = Refusal::GatesClosed {
        missing: vec![Gate::ReviewCleanPass, Gate::ArchitectVerified],
        phase: DevelopPhase::Pr,
    };
    assert_eq!(refused, closed);
}

#[test]
fn the_matrix_of_gates() {
    use Gate::{ArchitectVerified, ReReviewClean, ReviewCleanPass};
    for phase in [
        DevelopPhase::Design,
        DevelopPhase::Review,
        DevelopPhase::Done,
    ] {
        assert_eq!(required_gates(phase, ProjectAction::Write), []);
        assert_eq!(required_gates(phase, ProjectAction::Finish), []);
    }
    assert_eq!(
        required_gates(DevelopPhase::Implement, ProjectAction::Write),
        [ReviewCleanPass]
    );
    assert_eq!(
        required_gates(DevelopPhase::Implement, ProjectAction::Finish),
        [ReviewCleanPass]
    );
    assert_eq!(
        required_gates(DevelopPhase::Pr, ProjectAction::Write),
        [ReviewCleanPass, ArchitectVerified]
    );
    let pr = run(in_pr());
    assert_eq!(
        decide_action(Some(&pr), ProjectAction::Write),
        GateDecision::Allow
    );
    let missing = vec![ReReviewClean];
    assert_eq!(
        decide_action(Some(&pr), ProjectAction::Finish),
        GateDecision::Deny { missing }
    );
    let missing = Gate::ALL.to_vec();
    assert_eq!(
        decide_action(Some(&with_closed_gates(&pr)), ProjectAction::Finish),
        GateDecision::Deny { missing }
    );
    assert_eq!(
        decide_action(None, ProjectAction::Finish),
        GateDecision::Allow
    );
}

#[test]
fn the_strategy_fits_the_checkpoints() {
    let facts = StrategyFacts {
        independent: true,
        shared_file: false,
        communication: false,
        agent_teams_available: true,
    };
    let tangled = StrategyFacts {
        independent: false,
        ..facts
    };
    let no_teams = StrategyFacts {
        agent_teams_available: false,
        ..facts
    };
    let shared = StrategyFacts {
        shared_file: true,
        ..facts
    };
    let talking = StrategyFacts {
        communication: true,
        ..facts
    };
    let tangled_no_teams = StrategyFacts {
        independent: false,
        ..no_teams
    };
    let cases = [
        (1, facts, ImplementationStrategy::Direct),
        (2, facts, ImplementationStrategy::Subagent),
        (4, facts, ImplementationStrategy::Subagent),
        (4, tangled, ImplementationStrategy::Direct),
        (5, facts, ImplementationStrategy::AgentTeams),
        (3, talking, ImplementationStrategy::AgentTeams),
        (5, no_teams, ImplementationStrategy::Subagent),
        (5, tangled_no_teams, ImplementationStrategy::Direct),
        (9, shared, ImplementationStrategy::Direct),
    ];
    for (count, facts, expected) in cases {
        assert_eq!(choose_strategy(count, facts), expected, "{count} {facts:?}");
    }
}

#[test]
fn resuming_skips_what_passed_and_goes_on_at_the_attempt() {
    let mut commands = with(implementing(), [begin("cp-1"), passed("cp-1", 0)]);
    let checkpoint = |iteration| NextAction::Checkpoint {
        id: "cp-2".into(),
        iteration,
    };
    assert_eq!(next_action(&run(commands.clone())), checkpoint(0));
    commands.extend([begin("cp-2"), failed("cp-2", FailureClass::LogicError)]);
    assert_eq!(next_action(&run(commands.clone())), checkpoint(2));
    commands.push(failed("cp-2", FailureClass::EnvIssue));
    let checkpoints = vec!["cp-2".into()];
    assert_eq!(
        next_action(&run(commands)),
        NextAction::AskPerson { checkpoints }
    );
    assert_eq!(next_action(&run(in_pr())), NextAction::ReReview);
}

#[test]
fn adopting_closes_the_gates() {
    let adopt = |owned| Command::Adopt { owned };
    assert_eq!(code(in_pr(), adopt(true)), "already_adopted");
    let run = run(with(in_pr(), [adopt(false)]));
    assert_eq!(
        (run.phase, run.gates),
        (DevelopPhase::Pr, OpenGates::default())
    );
}

#[test]
fn a_foreign_hand_changes_no_gate_phase_or_checkpoint() {
    let ours = run(with(implementing(), [begin("cp-1")]));
    let mut theirs = ours.clone();
    theirs.phase = DevelopPhase::Done;
    theirs.gates = OpenGates::from_predicate(|_| true);
    theirs.checkpoints[0].status = CheckpointStatus::Passed;
    theirs.checkpoints[1].id = "cp-3".into();
    theirs.feature = "채팅".into();
    theirs.strategy = Some(ImplementationStrategy::AgentTeams);
    let merged = merge_trust(&ours, &theirs);
    let expected = DevelopRunState {
        feature: "채팅".into(),
        strategy: Some(ImplementationStrategy::AgentTeams),
        ..ours.clone()
    };
    assert_eq!(merged.run, expected);
    assert_eq!(
        merged.distrusted,
        [
            "phase",
            "gates.architect_verified",
            "gates.re_review_clean",
            "checkpoints.cp-1",
            "checkpoints.cp-2",
            "checkpoints.cp-3",
        ]
    );
    assert_eq!(merge_trust(&ours, &ours).distrusted, Vec::<String>::new());
}

#[test]
fn merge_is_read_as_pr() {
    assert_eq!(DevelopPhase::from_name("MERGE"), Some(DevelopPhase::Pr));
    for phase in DevelopPhase::ALL {
        assert_eq!(DevelopPhase::from_name(phase.name()), Some(phase));
    }
}

#[test]
fn the_states_of_the_table_break_no_rule() {
    for (name, state) in DevelopMachine::sample_states() {
        assert_eq!(DevelopMachine::violations(&state), [], "{name}");
    }
}

fn any_actor() -> impl Gen<Value = Actor> {
    prop_oneof![Just(Actor::Person), Just(Actor::Agent)]
}

fn any_evidence() -> impl Gen<Value = SubmittedEvidence> {
    prop_oneof![
        4 => Just(GREEN),
        1 => (0i32..2, any::<bool>()).prop_map(|(exit_code, stale)| SubmittedEvidence::Sealed { exit_code, stale }),
        2 => (0i32..2).prop_map(|exit_code| SubmittedEvidence::Given { exit_code }),
        1 => Just(SubmittedEvidence::ByHand { reason: "read it".into() }),
        1 => Just(SubmittedEvidence::None),
    ]
}

fn any_command() -> impl Gen<Value = Command> {
    let gate = || prop::sample::select(Gate::ALL.to_vec());
    let phase = || prop::sample::select(DevelopPhase::ALL.to_vec());
    let class = prop::sample::select(FailureClass::ALL.to_vec());
    let id = || prop::sample::select(vec!["cp-1".to_owned(), "cp-2".into(), "cp-3".into()]);
    prop_oneof![
        2 => (any::<bool>(), any_actor()).prop_map(|(fresh, by)| start(fresh, by)),
        3 => prop::collection::vec(id(), 0..3).prop_map(|checkpoints| Command::Review { checkpoints }),
        8 => (gate(), any_evidence(), any_actor())
            .prop_map(|(gate, evidence, by)| Command::GatePass { gate, evidence, by }),
        1 => gate().prop_map(|gate| Command::GateReset { gate }),
        4 => Just(Command::Implement { choice: StrategyChoice::Named(ImplementationStrategy::Direct) }),
        8 => (id(), any::<bool>(), any_actor()).prop_map(|(id, forced, by)| Command::CheckpointStart {
            id, override_reason: forced.then(|| "reason".into()), by,
        }),
        8 => (id(), any_evidence(), 0..9u32).prop_map(|(id, evidence, attempts_max)| {
            Command::CheckpointPass { id, evidence, attempts_max }
        }),
        3 => (id(), class, 0..9u32).prop_map(|(id, class, attempts_max)| {
            Command::CheckpointFail { id, class, attempts_max }
        }),
        4 => Just(Command::Pr),
        4 => Just(Command::Done),
        1 => (phase(), any_actor()).prop_map(|(phase, by)| back(phase, by)),
        1 => any::<bool>().prop_map(|owned| Command::Adopt { owned }),
    ]
}

/// From nothing, or from a run that has come some way.
fn any_walk() -> impl Gen<Value = Vec<Command>> {
    let beginning = prop_oneof![Just(vec![]), Just(implementing()), Just(in_pr())];
    let rest = prop::collection::vec(any_command(), 0..60);
    (beginning, rest).prop_map(|(beginning, rest)| with(beginning, rest))
}

proptest! {
    #[test]
    fn random_commands_keep_every_invariant(commands in any_walk()) {
        let mut state: Option<DevelopRunState> = None;
        for command in commands {
            let Ok(step) = DevelopMachine::step(&state, command.clone(), NOON) else { continue };
            prop_assert_eq!(DevelopMachine::violations(&step.next), vec![]);
            if let (Some(before), Some(after)) = (&state, &step.next) && before.phase < after.phase {
                let behind: Vec<Gate> = Gate::ALL.into_iter().filter(|gate| gate.opening_phase() < after.phase).collect();
                prop_assert_eq!(after.gates.closed_among(&behind), vec![], "{:?}", command);
            }
            state = step.next;
        }
    }

    #[test]
    fn an_agent_never_gets_past_a_gate_without_green_evidence(commands in any_walk()) {
        let mut state: Option<DevelopRunState> = None;
        for command in commands {
            let Ok(step) = DevelopMachine::step(&state, command.clone(), NOON) else { continue };
            if let (Some(before), Some(after)) = (&state, &step.next) {
                for gate in Gate::ALL {
                    if before.gates.is_open(gate) || !after.gates.is_open(gate) {
                        continue;
                    }
                    let Command::GatePass { gate: named, evidence, by } = &command else {
                        return Err(TestCaseError::fail(format!("{command:?} opened {gate:?}")));
                    };
                    prop_assert_eq!(*named, gate);
                    if *by == Actor::Agent {
                        prop_assert_eq!(evidence, &GREEN);
                    }
                }
            }
            state = step.next;
        }
    }

    #[test]
    fn what_is_advised_is_not_refused(commands in any_walk()) {
        let mut state: Option<DevelopRunState> = None;
        for command in commands {
            if let Ok(step) = DevelopMachine::step(&state, command, NOON) {
                state = step.next;
            }
            let advised = DevelopMachine::advice(&state);
            prop_assert!(!advised.is_empty());
            for CommandAdvice { verb, target, options } in advised {
                let target = target.unwrap_or_default();
                let command = match (verb, options) {
                    ("start", "") => start(false, Actor::Person),
                    ("review", "") => Command::Review { checkpoints: vec![] },
                    ("gate pass", "") => pass(Gate::from_name(&target).unwrap()),
                    ("implement", "") => Command::Implement { choice: StrategyChoice::Named(ImplementationStrategy::Direct) },
                    ("checkpoint start", "") => begin(&target),
                    ("checkpoint start", "--override REASON") => Command::CheckpointStart {
                        id: target, override_reason: Some("reason".into()), by: Actor::Person,
                    },
                    ("checkpoint pass", "") => passed(&target, 0),
                    ("checkpoint fail", "") => failed(&target, FailureClass::LogicError),
                    ("pr", "") => Command::Pr,
                    ("done", "") => Command::Done,
                    ("back", "") => back(DevelopPhase::from_name(&target).unwrap(), Actor::Person),
                    (verb, _) => return Err(TestCaseError::fail(format!("unknown verb {verb}"))),
                };
                let outcome = DevelopMachine::step(&state, command, NOON);
                prop_assert!(outcome.is_ok(), "{} {:?}", verb, outcome);
            }
        }
    }
}
