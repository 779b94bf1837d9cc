//! The representative states and commands of a develop run with two checkpoints.

use super::{
    ATTEMPTS_MAX, CheckpointStatus, Command, DevelopCheckpoint, DevelopMachine, DevelopPhase,
    DevelopRunState, Effect, FailureClass, Gate, ImplementationStrategy, OpenGates, StrategyChoice,
    SubmittedEvidence,
};
use crate::kernel::Actor;
use crate::table::{MachineCatalogue, PAST_TIME};

impl MachineCatalogue for DevelopMachine {
    const KIND: &'static str = "develop";

    fn sample_states() -> Vec<(&'static str, Option<DevelopRunState>)> {
        let pending = ("cp-1", CheckpointStatus::Pending, 0);
        let passed = |id| (id, CheckpointStatus::Passed, 2);
        let second = passed("cp-2");
        let at = |phase, open: usize, checkpoints: &[(&str, CheckpointStatus, u32)]| {
            let mut run = DevelopRunState::new("tea shop", PAST_TIME);
            run.phase = phase;
            run.gates = OpenGates::from_predicate(|gate| Gate::ALL[..open].contains(&gate));
            run.strategy =
                (phase >= DevelopPhase::Implement).then_some(ImplementationStrategy::Direct);
            let checkpoint = |&(id, status, iteration): &(&str, CheckpointStatus, u32)| {
                let id = id.to_owned();
                DevelopCheckpoint {
                    id,
                    status,
                    iteration,
                }
            };
            run.checkpoints = checkpoints.iter().map(checkpoint).collect();
            Some(run)
        };
        let all_passed = [passed("cp-1"), second];
        let trying = |iteration| [("cp-1", CheckpointStatus::InProgress, iteration), second];
        let escalated = [("cp-1", CheckpointStatus::Escalated, 3), second];
        vec![
            ("no run", None),
            ("design", at(DevelopPhase::Design, 0, &[])),
            ("review", at(DevelopPhase::Review, 0, &[pending])),
            ("review, clean", at(DevelopPhase::Review, 1, &[pending])),
            (
                "implement",
                at(DevelopPhase::Implement, 1, &[pending, second]),
            ),
            (
                "implement, first attempt",
                at(DevelopPhase::Implement, 1, &trying(1)),
            ),
            (
                "implement, third attempt",
                at(DevelopPhase::Implement, 1, &trying(3)),
            ),
            (
                "implement, escalated",
                at(DevelopPhase::Implement, 1, &escalated),
            ),
            (
                "implement, all passed",
                at(DevelopPhase::Implement, 1, &all_passed),
            ),
            (
                "implement, verified",
                at(DevelopPhase::Implement, 2, &all_passed),
            ),
            (
                "implement, gates closed",
                at(DevelopPhase::Implement, 0, &trying(1)),
            ),
            ("pr", at(DevelopPhase::Pr, 2, &all_passed)),
            ("pr, clean", at(DevelopPhase::Pr, 3, &all_passed)),
            ("done", at(DevelopPhase::Done, 3, &all_passed)),
        ]
    }

    fn sample_commands() -> Vec<(&'static str, Command)> {
        let start = |fresh, by| Command::Start {
            feature: "tea shop".into(),
            fresh,
            by,
        };
        let green = || SubmittedEvidence::Sealed {
            exit_code: 0,
            stale: false,
        };
        let pass = |gate, evidence, by| Command::GatePass { gate, evidence, by };
        let checkpoint = |override_reason: Option<&str>, by| Command::CheckpointStart {
            id: "cp-1".into(),
            override_reason: override_reason.map(Into::into),
            by,
        };
        let ended = |evidence| Command::CheckpointPass {
            id: "cp-1".into(),
            evidence,
            attempts_max: ATTEMPTS_MAX,
        };
        let fail = |class| Command::CheckpointFail {
            id: "cp-1".into(),
            class,
            attempts_max: ATTEMPTS_MAX,
        };
        let back = |phase, by| Command::Back { phase, by };
        let (person, agent) = (Actor::Person, Actor::Agent);
        let (first, second, third) = (
            Gate::ReviewCleanPass,
            Gate::ArchitectVerified,
            Gate::ReReviewClean,
        );
        vec![
            ("start", start(false, person)),
            ("start --fresh", start(true, person)),
            ("start --fresh by an agent", start(true, agent)),
            (
                "review --checkpoint cp-1",
                Command::Review {
                    checkpoints: vec!["cp-1".into()],
                },
            ),
            ("gate pass review_clean_pass", pass(first, green(), agent)),
            ("gate pass architect_verified", pass(second, green(), agent)),
            ("gate pass re_review_clean", pass(third, green(), agent)),
            (
                "gate pass review_clean_pass, red",
                pass(first, SubmittedEvidence::Given { exit_code: 1 }, person),
            ),
            (
                "gate pass review_clean_pass --run by an agent",
                pass(first, SubmittedEvidence::Given { exit_code: 0 }, agent),
            ),
            (
                "gate pass review_clean_pass without evidence",
                pass(first, SubmittedEvidence::None, person),
            ),
            (
                "gate reset review_clean_pass",
                Command::GateReset { gate: first },
            ),
            (
                "gate reset re_review_clean",
                Command::GateReset { gate: third },
            ),
            (
                "implement",
                Command::Implement {
                    choice: StrategyChoice::Named(ImplementationStrategy::Subagent),
                },
            ),
            ("checkpoint start cp-1", checkpoint(None, agent)),
            (
                "checkpoint start cp-1 --override",
                checkpoint(Some("design changed"), person),
            ),
            (
                "checkpoint start cp-1 --override by an agent",
                checkpoint(Some("design changed"), agent),
            ),
            (
                "checkpoint pass cp-1",
                ended(SubmittedEvidence::Given { exit_code: 0 }),
            ),
            (
                "checkpoint pass cp-1, red",
                ended(SubmittedEvidence::Given { exit_code: 1 }),
            ),
            ("checkpoint fail cp-1", fail(FailureClass::LogicError)),
            (
                "checkpoint fail cp-1, DESIGN_MISMATCH",
                fail(FailureClass::DesignMismatch),
            ),
            ("pr", Command::Pr),
            ("done", Command::Done),
            ("back DESIGN", back(DevelopPhase::Design, person)),
            ("back REVIEW by an agent", back(DevelopPhase::Review, agent)),
            ("back IMPLEMENT", back(DevelopPhase::Implement, agent)),
            ("reset", Command::Reset { by: person }),
            ("reset by an agent", Command::Reset { by: agent }),
            ("adopt", Command::Adopt { owned: false }),
        ]
    }

    fn state_label(state: &Option<DevelopRunState>) -> String {
        let Some(run) = state else {
            return "no run".into();
        };
        let open = Gate::ALL
            .into_iter()
            .filter(|gate| run.gates.is_open(*gate));
        format!("{}, {} open", run.phase.name(), open.count())
    }

    fn describe_effect(effect: &Effect) -> String {
        match effect {
            Effect::Seal => "seal".into(),
            Effect::AskPerson { checkpoint } => format!("ask a person about {checkpoint}"),
            Effect::AttemptFailed { iteration, .. } => format!("attempt {iteration} comes"),
        }
    }
}
