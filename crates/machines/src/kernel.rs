//! What every machine has in common: one function, and the few words it speaks in.

use std::error::Error;

/// A kind of work: its states, the commands it understands, and what follows from them.
pub trait Machine {
    /// The whole state of one piece of work. Derived values are functions of it and never stored in it.
    type State: Clone;
    /// What somebody wants, together with the facts observed for it.
    type Command;
    /// What has to happen in the world once the next state is durable.
    type Effect;
    /// Why a command is not legal now.
    type Refusal: Refuse;

    /// Decides, and leaves the state alone.
    fn step(
        state: &Self::State,
        command: Self::Command,
        at: Timestamp,
    ) -> Result<Step<Self::State, Self::Effect>, Self::Refusal>;

    /// Moves a state on in place, for an owner of a large one who keeps no other copy. The same decision as [`Machine::step`];
    /// a refusal changes nothing.
    fn advance(
        state: &mut Self::State,
        command: Self::Command,
        at: Timestamp,
    ) -> Result<Vec<Self::Effect>, Self::Refusal> {
        let step = Self::step(state, command, at)?;
        *state = step.next;
        Ok(step.effects)
    }

    /// The one word that stands for the whole state on a board or in a log.
    fn status(state: &Self::State) -> &'static str;

    /// Rules that hold in every state that commands can reach. The same function checks a file that was read.
    fn violations(state: &Self::State) -> Vec<Violation>;

    /// What can be done next, the most useful first.
    fn advice(state: &Self::State) -> Vec<Advice>;
}

/// The answer to a legal command.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<S, E> {
    /// The state to make durable.
    pub next: S,
    /// What must follow once it is.
    pub effects: Vec<E>,
}

impl<S, E> Step<S, E> {
    /// A step that leaves the world alone.
    pub fn quiet(next: S) -> Self {
        Step {
            next,
            effects: Vec::new(),
        }
    }
}

/// A refusal explains itself: a stable code for programs, and a sentence. What people are told is in `words`.
pub trait Refuse: Error {
    /// Stable, `snake_case`, documented by `bowline explain`.
    fn code(&self) -> &'static str;
}

/// Whole seconds since 1970-01-01T00:00:00Z. State files carry no finer time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Seconds from `earlier` to `self`; never negative, because clocks are set back and durations are not.
    pub fn seconds_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }
}

/// Who gives a command. Some moves are a person's alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A person, or a program acting for one.
    Person,
    /// An agent, whatever it says of itself, or whoever does not show that they are a person.
    Agent,
}

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule's name, `snake_case`.
    pub rule: &'static str,
    /// Where, in the words of the kind (a stage, a step id, a task id).
    pub place: String,
    /// What is wrong, a sentence fragment.
    pub detail: String,
}

/// A move that is open now: the verb and what it applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The words after the noun on the command line (`start`, `step complete`).
    pub verb: &'static str,
    /// The stage, step, gate or task it applies to.
    pub target: Option<String>,
    /// What has to be given beside it (`--override REASON`).
    pub options: &'static str,
}

impl Advice {
    /// A move without a target.
    pub fn verb(verb: &'static str) -> Self {
        Advice {
            verb,
            target: None,
            options: "",
        }
    }

    /// A move on something.
    pub fn on(verb: &'static str, target: impl Into<String>) -> Self {
        Advice {
            target: Some(target.into()),
            ..Advice::verb(verb)
        }
    }

    /// The same with what has to be given beside it.
    #[must_use]
    pub fn with(self, options: &'static str) -> Self {
        Advice { options, ..self }
    }
}
