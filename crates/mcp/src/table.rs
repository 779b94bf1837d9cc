//! The table of all tools. Descriptions are for models, which all read English; messages about
//! errors come from `words`, in the language of the session.

use crate::answer::Done;
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::verbs;

/// A tool: one verb of the command line.
pub struct Verb {
    /// Noun and verb, joined by `_`.
    pub name: &'static str,
    /// Description for models.
    pub about: &'static str,
    /// Arguments it accepts.
    pub takes: &'static [Arg],
    /// The lowest role that may use it.
    pub role: SessionRole,
    /// Rule for listing it to clients.
    pub listed: Listed,
    /// True if it ends or removes something that cannot be restored.
    pub takes_away: bool,
    pub(crate) run: fn(&ToolSession, &ToolArguments) -> Done,
}

/// Rule for listing a tool. Each can be called, listed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// For every connection with its role.
    Always,
    /// For the agent of a task.
    ForAgentOfTask,
    /// Never: it is found and called through `bowline_verb`.
    Rare,
}

/// An argument of a tool.
pub struct Arg {
    /// Its name in calls.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// True if it is required.
    pub needed: bool,
    /// The lowest role that is offered it.
    pub role: SessionRole,
    /// Description, where the name is not enough.
    pub about: &'static str,
    /// Amount of detail in the list. The argument is accepted all the same.
    pub shown: Shown,
}

/// Amount of detail with which an argument is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Name, type and description.
    Whole,
    /// The name only: another tool of the noun lists its values.
    Brief,
    /// Not listed: it is found through `bowline_verb`.
    No,
}

/// Type of an argument.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An integer, not below zero.
    Number,
    /// A number, with or without fraction.
    Float,
    /// True or false.
    Flag,
    /// A list of texts.
    Texts,
    /// Numbers by name.
    Numbers,
    /// A list of objects.
    Objects,
    /// An object.
    Object,
    /// Any JSON, offered as these types: clients and providers want one, and not all of them
    /// understand a list of types.
    Any(&'static [Kind]),
}

impl Kind {
    /// Describes the type in refusals and in `bowline_verb`.
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
    /// Creates a required argument.
    pub(crate) const fn need(name: &'static str, kind: Kind) -> Arg {
        Arg {
            name,
            kind,
            needed: true,
            role: SessionRole::ReadOnly,
            about: "",
            shown: Shown::Whole,
        }
    }

    /// Creates an optional argument.
    pub(crate) const fn may(name: &'static str, kind: Kind) -> Arg {
        Arg {
            needed: false,
            ..Arg::need(name, kind)
        }
    }

    /// Sets its description.
    pub(crate) const fn about(self, about: &'static str) -> Arg {
        Arg { about, ..self }
    }

    /// Leaves it out of the list.
    pub(crate) const fn rare(self) -> Arg {
        Arg {
            shown: Shown::No,
            ..self
        }
    }

    /// Lists it by its name only.
    pub(crate) const fn brief(self) -> Arg {
        Arg {
            shown: Shown::Brief,
            ..self
        }
    }

    /// Offers it to a person only.
    pub(crate) const fn of_person(self) -> Arg {
        Arg {
            role: SessionRole::Person,
            ..self
        }
    }
}

impl Verb {
    pub(crate) const fn new(
        name: &'static str,
        role: SessionRole,
        about: &'static str,
        takes: &'static [Arg],
        run: fn(&ToolSession, &ToolArguments) -> Done,
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

    /// Returns an argument by its name.
    pub(crate) fn arg(&self, name: &str) -> Option<&'static Arg> {
        self.takes.iter().find(|arg| arg.name == name)
    }

    /// Returns its arguments on one line, optional ones with a question mark.
    pub fn shape(&self) -> String {
        self.offered(SessionRole::Person)
    }

    /// Returns the arguments that a role is offered on one line.
    pub(crate) fn offered(&self, role: SessionRole) -> String {
        let arg = |arg: &Arg| {
            let mark = if arg.needed { "" } else { "?" };
            format!("{}{mark}: {}", arg.name, arg.kind.told())
        };
        let offered = self.takes.iter().filter(|arg| arg.role <= role);
        let args: Vec<String> = offered.map(arg).collect();
        format!("{{{}}}", args.join(", "))
    }

    /// True if it works on files rather than through the task server.
    pub(crate) fn of_files(&self) -> bool {
        !["task_", "agent_", verbs::here::VERB]
            .iter()
            .any(|noun| self.name.starts_with(noun))
    }
}

/// All tools, grouped by noun.
pub static VERBS: &[&[Verb]] = &[
    verbs::here::VERBS,
    verbs::thinking::VERBS,
    verbs::memory::VERBS,
    verbs::develop::VERBS,
    verbs::orchestrate::VERBS,
    verbs::task::VERBS,
    verbs::report::VERBS,
];

/// Returns the tool with this name.
pub fn find(name: &str) -> Option<&'static Verb> {
    VERBS
        .iter()
        .copied()
        .flatten()
        .find(|verb| verb.name == name)
}
