//! The table of all tools. Descriptions are for models, which all read English; messages about
//! errors come from `words`, in the language of the session.

use crate::answer::ToolResult;
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::verbs;

/// A tool: one verb of the command line.
pub struct ToolVerb {
    /// Noun and verb, joined by `_`.
    pub name: &'static str,
    /// Description for models.
    pub about: &'static str,
    /// Arguments it accepts.
    pub takes: &'static [ToolParameter],
    /// The lowest role that may use it.
    pub role: SessionRole,
    /// Rule for listing it to clients.
    pub listed: ListingRule,
    /// True if it ends or removes something that cannot be restored.
    pub takes_away: bool,
    pub(crate) run: fn(&ToolSession, &ToolArguments) -> ToolResult,
}

/// Rule for listing a tool. Each can be called, listed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingRule {
    /// For every connection with its role.
    Always,
    /// For the agent of a task.
    ForAgentOfTask,
    /// Never: it is found and called through `bowline_verb`.
    Rare,
}

/// An argument of a tool.
pub struct ToolParameter {
    /// Its name in calls.
    pub name: &'static str,
    /// Type of its value.
    pub kind: ParameterType,
    /// True if it is required.
    pub needed: bool,
    /// The lowest role that is offered it.
    pub role: SessionRole,
    /// Description, where the name is not enough.
    pub about: &'static str,
    /// Amount of detail in the list. The argument is accepted all the same.
    pub shown: ParameterDetail,
}

/// Amount of detail with which an argument is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterDetail {
    /// Name, type and description.
    Whole,
    /// The name only: another tool of the noun lists its values.
    Brief,
    /// Not listed: it is found through `bowline_verb`.
    No,
}

/// Type of an argument.
#[derive(Debug, Clone, Copy)]
pub enum ParameterType {
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
    Any(&'static [ParameterType]),
}

impl ParameterType {
    /// Describes the type in refusals and in `bowline_verb`.
    pub(crate) fn type_text(self) -> String {
        match self {
            ParameterType::Text => "text".into(),
            ParameterType::Word(words) => words.join(" | "),
            ParameterType::Number => "0, 1, 2, …".into(),
            ParameterType::Float => "number".into(),
            ParameterType::Flag => "true | false".into(),
            ParameterType::Texts => "[text, …]".into(),
            ParameterType::Numbers => "{name: number, …}".into(),
            ParameterType::Objects => "[{…}, …]".into(),
            ParameterType::Object => "{…}".into(),
            ParameterType::Any(_) => "JSON".into(),
        }
    }
}

impl ToolParameter {
    /// Creates a required argument.
    pub(crate) const fn required(name: &'static str, kind: ParameterType) -> ToolParameter {
        ToolParameter {
            name,
            kind,
            needed: true,
            role: SessionRole::ReadOnly,
            about: "",
            shown: ParameterDetail::Whole,
        }
    }

    /// Creates an optional argument.
    pub(crate) const fn optional(name: &'static str, kind: ParameterType) -> ToolParameter {
        ToolParameter {
            needed: false,
            ..ToolParameter::required(name, kind)
        }
    }

    /// Sets its description.
    pub(crate) const fn with_description(self, about: &'static str) -> ToolParameter {
        ToolParameter { about, ..self }
    }

    /// Leaves it out of the list.
    pub(crate) const fn hide_from_list(self) -> ToolParameter {
        ToolParameter {
            shown: ParameterDetail::No,
            ..self
        }
    }

    /// Lists it by its name only.
    pub(crate) const fn list_name_only(self) -> ToolParameter {
        ToolParameter {
            shown: ParameterDetail::Brief,
            ..self
        }
    }

    /// Offers it to a person only.
    pub(crate) const fn for_person_only(self) -> ToolParameter {
        ToolParameter {
            role: SessionRole::Person,
            ..self
        }
    }
}

impl ToolVerb {
    pub(crate) const fn new(
        name: &'static str,
        role: SessionRole,
        about: &'static str,
        takes: &'static [ToolParameter],
        run: fn(&ToolSession, &ToolArguments) -> ToolResult,
    ) -> ToolVerb {
        ToolVerb {
            name,
            about,
            takes,
            role,
            listed: ListingRule::Always,
            takes_away: false,
            run,
        }
    }

    pub(crate) const fn mark_destructive(self) -> ToolVerb {
        ToolVerb {
            takes_away: true,
            ..self
        }
    }

    pub(crate) const fn mark_rare(self) -> ToolVerb {
        ToolVerb {
            listed: ListingRule::Rare,
            ..self
        }
    }

    pub(crate) const fn listed_for_task_agent(self) -> ToolVerb {
        ToolVerb {
            listed: ListingRule::ForAgentOfTask,
            ..self
        }
    }

    /// Returns an argument by its name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'static ToolParameter> {
        self.takes.iter().find(|arg| arg.name == name)
    }

    /// Returns its arguments on one line, optional ones with a question mark.
    pub fn parameter_text(&self) -> String {
        self.offered_parameters(SessionRole::Person)
    }

    /// Returns the arguments that a role is offered on one line.
    pub(crate) fn offered_parameters(&self, role: SessionRole) -> String {
        let arg = |arg: &ToolParameter| {
            let mark = if arg.needed { "" } else { "?" };
            format!("{}{mark}: {}", arg.name, arg.kind.type_text())
        };
        let offered = self.takes.iter().filter(|arg| arg.role <= role);
        let args: Vec<String> = offered.map(arg).collect();
        format!("{{{}}}", args.join(", "))
    }

    /// True if it works on files rather than through the task server.
    pub(crate) fn uses_files(&self) -> bool {
        !["task_", "agent_", verbs::bowline::GENERIC_VERB]
            .iter()
            .any(|noun| self.name.starts_with(noun))
    }
}

/// All tools, grouped by noun.
pub static VERBS: &[&[ToolVerb]] = &[
    verbs::bowline::VERBS,
    verbs::thinking::VERBS,
    verbs::memory::VERBS,
    verbs::develop::VERBS,
    verbs::orchestrate::VERBS,
    verbs::task::VERBS,
    verbs::report::VERBS,
];

/// Returns the tool with this name.
pub fn find_tool(name: &str) -> Option<&'static ToolVerb> {
    VERBS
        .iter()
        .copied()
        .flatten()
        .find(|verb| verb.name == name)
}
