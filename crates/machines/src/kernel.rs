//! The common interface of all machines: one function, and the types it uses.

use std::error::Error;

/// A state machine for one kind of work: its state, its commands, and its rules.
pub trait Machine {
    /// The whole state of one piece of work. Derived values are functions of it and never stored in
    /// it.
    type State: Clone;
    /// A command, together with the facts observed for it.
    type Command;
    /// An effect to execute once the next state is durable.
    type Effect;
    /// The reason why a command is not legal now.
    type Refusal: CodedRefusal;

    /// Decides about a command and leaves the state unchanged.
    fn step(
        state: &Self::State,
        command: Self::Command,
        at: Timestamp,
    ) -> Result<MachineStep<Self::State, Self::Effect>, Self::Refusal>;

    /// Changes a state in place, for the owner of a large one who keeps no other copy. The decision
    /// is that of [`Machine::step`]; a refusal changes nothing.
    fn advance(
        state: &mut Self::State,
        command: Self::Command,
        at: Timestamp,
    ) -> Result<Vec<Self::Effect>, Self::Refusal> {
        let step = Self::step(state, command, at)?;
        *state = step.next;
        Ok(step.effects)
    }

    /// Returns one status name for the whole state, for a board or a log.
    fn status_name(state: &Self::State) -> &'static str;

    /// Returns the invariants that do not hold. They hold in every state that commands can reach;
    /// files that were read are checked with the same function.
    fn violations(state: &Self::State) -> Vec<Violation>;

    /// Returns the commands that are useful now, the most useful first.
    fn advice(state: &Self::State) -> Vec<CommandAdvice>;
}

/// The outcome of a legal command.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineStep<S, E> {
    /// The state to make durable.
    pub next: S,
    /// The effects to execute once it is durable.
    pub effects: Vec<E>,
}

impl<S, E> MachineStep<S, E> {
    /// Makes a step without effects.
    pub fn without_effects(next: S) -> Self {
        MachineStep {
            next,
            effects: Vec::new(),
        }
    }
}

/// A refusal: a stable code for programs, and a sentence. The texts for users are in `words`.
pub trait CodedRefusal: Error {
    /// Returns the code: stable, `snake_case`, documented by `bowline explain`.
    fn code(&self) -> &'static str;
}

/// Whole seconds since 1970-01-01T00:00:00Z. State files carry no finer time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the seconds from `earlier` to `self`; never negative, because clocks may be set
    /// back.
    pub fn seconds_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }
}

/// The actor who gives a command. Some commands are reserved for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Actor {
    /// A person, or a program acting for one.
    #[cfg_attr(feature = "serde", serde(rename = "person"))]
    Person,
    /// An agent, or any caller that is not shown to be a person.
    #[cfg_attr(feature = "serde", serde(rename = "agent"))]
    Agent,
}

/// True for a value that a stored text leaves out.
#[cfg(feature = "serde")]
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Name of the invariant, `snake_case`.
    pub rule: &'static str,
    /// The stage, step or task it is about, by name or id.
    pub place: String,
    /// The fault, a sentence fragment.
    pub detail: String,
}

/// A command that is useful now: the verb and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAdvice {
    /// The words after the noun on the command line (`start`, `step complete`).
    pub verb: &'static str,
    /// The stage, step, gate or task it applies to.
    pub target: Option<String>,
    /// Options that must be given with it (`--override REASON`).
    pub options: &'static str,
}

impl CommandAdvice {
    /// Makes an advice without a target.
    pub fn without_target(verb: &'static str) -> Self {
        CommandAdvice {
            verb,
            target: None,
            options: "",
        }
    }

    /// Makes an advice with a target.
    pub fn with_target(verb: &'static str, target: impl Into<String>) -> Self {
        CommandAdvice {
            target: Some(target.into()),
            ..CommandAdvice::without_target(verb)
        }
    }

    /// Adds options that must be given.
    #[must_use]
    pub fn with_options(self, options: &'static str) -> Self {
        CommandAdvice { options, ..self }
    }
}

named! {
    /// A text or an item of a command that a refusal is about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum RefusalSubject {
        Feature = "feature",
        Reason = "reason",
        CheckpointId = "checkpoint id",
        Message = "message",
        Code = "code",
        Metric = "metric",
        CoreValue = "core value",
        Step = "step",
        Steps = "steps",
        Task = "task",
        TaskId = "task id",
        TaskName = "task name",
        StepName = "step name",
        ArtifactPath = "artifact path",
        WaitingTasks = "waiting tasks",
        Worktree = "worktree",
    }
}
