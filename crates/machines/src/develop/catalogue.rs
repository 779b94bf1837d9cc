//! The representative states and commands of a develop run with two checkpoints.

use super::{
    ATTEMPTS_MAX, Checkpoint, CheckpointStatus, Choice, Command, DevelopMachine, Effect, Evidence,
    FailureClass, Gate, Gates, Phase, Run, Strategy,
};
use crate::kernel::Actor;
use crate::table::{Catalogue, EARLIER};

impl Catalogue for DevelopMachine {
    const KIND: &'static str = "develop";

    fn states() -> Vec<(&'static str, Option<Run>)> {
        let pending = ("cp-1", CheckpointStatus::Pending, 0);
        let passed = |id| (id, CheckpointStatus::Passed, 2);
        let second = passed("cp-2");
        let at = |phase, open: usize, checkpoints: &[(&str, CheckpointStatus, u32)]| {
            let mut run = Run::new("tea shop", EARLIER);
            run.phase = phase;
            run.gates = Gates::of(|gate| Gate::ALL[..open].contains(&gate));
            run.strategy = (phase >= Phase::Implement).then_some(Strategy::Direct);
            let checkpoint = |&(id, status, iteration): &(&str, CheckpointStatus, u32)| {
                let id = id.to_owned();
                Checkpoint {
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
            ("design", at(Phase::Design, 0, &[])),
            ("review", at(Phase::Review, 0, &[pending])),
            ("review, clean", at(Phase::Review, 1, &[pending])),
            ("implement", at(Phase::Implement, 1, &[pending, second])),
            (
                "implement, first attempt",
                at(Phase::Implement, 1, &trying(1)),
            ),
            (
                "implement, third attempt",
                at(Phase::Implement, 1, &trying(3)),
            ),
            ("implement, escalated", at(Phase::Implement, 1, &escalated)),
            (
                "implement, all passed",
                at(Phase::Implement, 1, &all_passed),
            ),
            ("implement, verified", at(Phase::Implement, 2, &all_passed)),
            (
                "implement, gates closed",
                at(Phase::Implement, 0, &trying(1)),
            ),
            ("pr", at(Phase::Pr, 2, &all_passed)),
            ("pr, clean", at(Phase::Pr, 3, &all_passed)),
            ("done", at(Phase::Done, 3, &all_passed)),
        ]
    }

    fn commands() -> Vec<(&'static str, Command)> {
        let start = |fresh, by| Command::Start {
            feature: "tea shop".into(),
            fresh,
            by,
        };
        let green = || Evidence::Sealed {
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
                pass(first, Evidence::Given { exit_code: 1 }, person),
            ),
            (
                "gate pass review_clean_pass --run by an agent",
                pass(first, Evidence::Given { exit_code: 0 }, agent),
            ),
            (
                "gate pass review_clean_pass without evidence",
                pass(first, Evidence::None, person),
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
                    choice: Choice::Named(Strategy::Subagent),
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
                ended(Evidence::Given { exit_code: 0 }),
            ),
            (
                "checkpoint pass cp-1, red",
                ended(Evidence::Given { exit_code: 1 }),
            ),
            ("checkpoint fail cp-1", fail(FailureClass::LogicError)),
            (
                "checkpoint fail cp-1, DESIGN_MISMATCH",
                fail(FailureClass::DesignMismatch),
            ),
            ("pr", Command::Pr),
            ("done", Command::Done),
            ("back DESIGN", back(Phase::Design, person)),
            ("back REVIEW by an agent", back(Phase::Review, agent)),
            ("back IMPLEMENT", back(Phase::Implement, agent)),
            ("reset", Command::Reset { by: person }),
            ("reset by an agent", Command::Reset { by: agent }),
            ("adopt", Command::Adopt { owned: false }),
        ]
    }

    fn label(state: &Option<Run>) -> String {
        let Some(run) = state else {
            return "no run".into();
        };
        let open = Gate::ALL
            .into_iter()
            .filter(|gate| run.gates.is_open(*gate));
        format!("{}, {} open", run.phase.name(), open.count())
    }

    fn effect(effect: &Effect) -> String {
        match effect {
            Effect::Seal => "seal".into(),
            Effect::AskPerson { checkpoint } => format!("ask a person about {checkpoint}"),
            Effect::AttemptFailed { iteration, .. } => format!("attempt {iteration} comes"),
        }
    }
}
