//! The one table of tools. Descriptions are for models, which all read English; what a model is told when something is wrong
//! comes from `words`, in the language of whoever it works for.

use crate::answer::Done;
use crate::desk::{Desk, Role};
use crate::given::Given;
use crate::verbs;

/// A tool.
pub struct Verb {
    /// Noun and verb, joined by `_`.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it takes.
    pub takes: &'static [Arg],
    /// The role with the fewest tools that has this one.
    pub role: Role,
    /// When it is listed.
    pub listed: Listed,
    /// Whether it ends or removes what cannot be had back.
    pub takes_away: bool,
    pub(crate) run: fn(&Desk, &Given) -> Done,
}

/// When a tool is listed. Each can be called, whether or not it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// For everybody of its role.
    Always,
    /// For the agent of a task.
    ForAgentOfTask,
    /// Never: it is found and called by `bowline_verb`.
    Rare,
}

/// An argument.
pub struct Arg {
    /// Its name.
    pub name: &'static str,
    /// What may be given.
    pub kind: Kind,
    /// Whether it has to be.
    pub needed: bool,
    /// The role with the fewest rights that is offered it.
    pub role: Role,
    /// What it is, where the name does not say it.
    pub about: &'static str,
    /// How much of it is listed. It can be given all the same.
    pub shown: Shown,
}

/// How much of an argument is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Everything.
    Whole,
    /// Its name: another tool of the noun has said what it may be.
    Brief,
    /// Nothing: it is found by `bowline_verb`.
    No,
}

/// What an argument may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A text.
    Text,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A whole number, not below zero.
    Number,
    /// A number.
    Float,
    /// Yes or no.
    Flag,
    /// A list of texts.
    Texts,
    /// Numbers by name.
    Numbers,
    /// A list of objects.
    Objects,
    /// An object.
    Object,
    /// Any JSON, offered as these: clients and providers want a type, and a list of types is not understood by all of them.
    Any(&'static [Kind]),
}

impl Kind {
    /// For whoever gave something else.
    pub(crate) fn told(self) -> String {
        match self {
            Kind::Text => "text".into(),
            Kind::Word(words) => words.join(" | "),
            Kind::Number => "0, 1, 2, …".into(),
            Kind::Float => "number".into(),
            Kind::Flag => "true | false".into(),
            Kind::Texts => "[text, …]".into(),
            Kind::Numbers => "{name: number, …}".into(),
            Kind::Objects => "[{…}, …]".into(),
            Kind::Object => "{…}".into(),
            Kind::Any(_) => "JSON".into(),
        }
    }
}

impl Arg {
    /// One that has to be given.
    pub(crate) const fn need(name: &'static str, kind: Kind) -> Arg {
        Arg {
            name,
            kind,
            needed: true,
            role: Role::ReadOnly,
            about: "",
            shown: Shown::Whole,
        }
    }

    /// One that may be left away.
    pub(crate) const fn may(name: &'static str, kind: Kind) -> Arg {
        Arg {
            needed: false,
            ..Arg::need(name, kind)
        }
    }

    /// The same with a word about it.
    pub(crate) const fn about(self, about: &'static str) -> Arg {
        Arg { about, ..self }
    }

    /// The same, rarely given.
    pub(crate) const fn rare(self) -> Arg {
        Arg {
            shown: Shown::No,
            ..self
        }
    }

    /// The same, listed by its name alone.
    pub(crate) const fn brief(self) -> Arg {
        Arg {
            shown: Shown::Brief,
            ..self
        }
    }

    /// The same for a person only.
    pub(crate) const fn of_person(self) -> Arg {
        Arg {
            role: Role::Person,
            ..self
        }
    }
}

impl Verb {
    pub(crate) const fn new(
        name: &'static str,
        role: Role,
        about: &'static str,
        takes: &'static [Arg],
        run: fn(&Desk, &Given) -> Done,
    ) -> Verb {
        Verb {
            name,
            about,
            takes,
            role,
            listed: Listed::Always,
            takes_away: false,
            run,
        }
    }

    pub(crate) const fn destructive(self) -> Verb {
        Verb {
            takes_away: true,
            ..self
        }
    }

    pub(crate) const fn rare(self) -> Verb {
        Verb {
            listed: Listed::Rare,
            ..self
        }
    }

    pub(crate) const fn of_task(self) -> Verb {
        Verb {
            listed: Listed::ForAgentOfTask,
            ..self
        }
    }

    /// An argument by its name.
    pub(crate) fn arg(&self, name: &str) -> Option<&'static Arg> {
        self.takes.iter().find(|arg| arg.name == name)
    }

    /// Its arguments on one line, those that may be left away with a question mark.
    pub fn shape(&self) -> String {
        self.offered(Role::Person)
    }

    /// The same of those that a role is offered.
    pub(crate) fn offered(&self, role: Role) -> String {
        let arg = |arg: &Arg| {
            let mark = if arg.needed { "" } else { "?" };
            format!("{}{mark}: {}", arg.name, arg.kind.told())
        };
        let offered = self.takes.iter().filter(|arg| arg.role <= role);
        let args: Vec<String> = offered.map(arg).collect();
        format!("{{{}}}", args.join(", "))
    }

    /// Whether it works on files, and not by way of the task server.
    pub(crate) fn of_files(&self) -> bool {
        !["task_", "agent_", verbs::here::VERB]
            .iter()
            .any(|noun| self.name.starts_with(noun))
    }
}

/// Every tool, by noun.
pub static VERBS: &[&[Verb]] = &[
    verbs::here::VERBS,
    verbs::thinking::VERBS,
    verbs::memory::VERBS,
    verbs::develop::VERBS,
    verbs::orchestrate::VERBS,
    verbs::task::VERBS,
    verbs::report::VERBS,
];

/// The tool of a name.
pub fn find(name: &str) -> Option<&'static Verb> {
    VERBS
        .iter()
        .copied()
        .flatten()
        .find(|verb| verb.name == name)
}
