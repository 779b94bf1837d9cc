//! A job that applies commands, for tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use crate::kernel::{CodedRefusal as _, Machine as _, Timestamp};
use crate::table::MachineCatalogue as _;

pub(super) const NOON: Timestamp = Timestamp(1_760_356_800);

/// A job that applies commands and keeps the effects of the last one.
pub(super) struct Play {
    pub(super) job: Job,
    pub(super) effects: Vec<Effect>,
    pub(super) at: Timestamp,
}

impl Play {
    pub(super) fn new(kind: JobKind) -> Self {
        let job = Job {
            title: "Shop".into(),
            description: "A shop for tea".into(),
            kind: Some(kind),
            ..Job::draft()
        };
        Play {
            job,
            effects: vec![],
            at: NOON,
        }
    }

    /// A running job of four reviewed phases, as `create_app` has.
    pub(super) fn running() -> Self {
        let names = ["Planning", "Design", "Development", "Testing"];
        let mut play = Play::new(JobKind::with_reviewed_phases(names));
        play.go(Command::Submit).go(assign(&[]));
        play
    }

    pub(super) fn go(&mut self, command: Command) -> &mut Self {
        let step = JobMachine::step(&self.job, command, self.at).unwrap();
        (self.job, self.effects) = (step.next, step.effects);
        assert_eq!(JobMachine::violations(&self.job), []);
        self
    }

    pub(super) fn say(&mut self, marker: AgentMarker) -> &mut Self {
        let attempt = self.job.attempt;
        self.go(Command::MarkerRead { attempt, marker })
    }

    pub(super) fn code(&self, command: Command) -> &'static str {
        JobMachine::step(&self.job, command, self.at)
            .unwrap_err()
            .code()
    }

    pub(super) fn pair(&self) -> (&'static str, &'static str) {
        let (task, agent) = (self.job.task_status(), self.job.agent_status());
        (task.name(), agent.name())
    }

    pub(super) fn sent_messages(&self) -> Vec<MessageToAgent> {
        let mut sent = vec![];
        for effect in &self.effects {
            if let Effect::SendMessage { messages, .. } = effect {
                sent.extend(messages.iter().cloned());
            }
        }
        sent
    }

    pub(super) fn logged(&self) -> Vec<String> {
        let line = |effect: &Effect| match effect {
            Effect::Log(_) => Some(JobMachine::describe_effect(effect)),
            _ => None,
        };
        self.effects.iter().filter_map(line).collect()
    }

    pub(super) fn wants(&self) -> Vec<ProcessLevel> {
        let want = |effect: &Effect| match effect {
            Effect::Signal { want, .. } => Some(*want),
            _ => None,
        };
        self.effects.iter().filter_map(want).collect()
    }

    pub(super) fn spawned(&self) -> Option<(u32, SpawnFrom)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Spawn { attempt, from } => Some((*attempt, from.clone())),
            _ => None,
        })
    }

    /// Completes the current phase and passes its verification; returns the id of the review.
    pub(super) fn reach_review(&mut self) -> String {
        let phase = self.job.phase;
        self.say(phase_complete(phase));
        let review = format!("rev_{}", self.job.verifications);
        let verification = self.job.verifications;
        self.go(Command::VerificationPassed {
            verification,
            review: review.clone(),
            deliverables: 9,
        });
        review
    }

    pub(super) fn approve(&mut self) -> &mut Self {
        let review = self.job.open_review().unwrap().id.clone();
        self.go(Command::Approve {
            review,
            comment: None,
        })
    }

    pub(super) fn fail_verification(&mut self) -> &mut Self {
        let verification = self.job.verifications;
        self.go(Command::VerificationFailed {
            verification,
            issues: vec!["01_idea.md is too short".into()],
        })
    }

    pub(super) fn exit(&mut self, code: i32) -> &mut Self {
        let attempt = self.job.attempt;
        let code = Some(code);
        self.go(Command::AgentExit { attempt, code })
    }
}

pub(super) fn assign(completed: &[&str]) -> Command {
    Command::Assign {
        completed: completed.iter().map(|&id| id.into()).collect(),
        held_by: None,
    }
}

pub(super) fn phase_complete(phase: u32) -> AgentMarker {
    AgentMarker::PhaseComplete {
        phase,
        deliverables: (1..=9).map(|n| format!("docs/planning/0{n}.md")).collect(),
    }
}
