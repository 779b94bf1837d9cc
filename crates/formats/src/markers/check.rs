//! Checks on what a person hands in for an agent. No message repeats the value: it may be secret.

use std::borrow::Cow;

use bowline_machines::job::DependencyKind;
use thiserror::Error;

use super::FIELD_CHARS_MAX;
use super::text::normalise;

/// Characters an API key has at least.
pub const API_KEY_CHARS_MIN: usize = 8;

/// Characters a file dependency's path has at most.
pub const FILE_CHARS_MAX: usize = 500;

/// Environment variables that no dependency may replace: they say which programs run, what these load first, or who runs them.
pub const PROTECTED_ENV_NAMES: [&str; 50] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "EDITOR",
    "PAGER",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_PAGER",
    "GIT_EDITOR",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "RUSTC_WRAPPER",
    "GCONV_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "VISUAL",
    "BROWSER",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "MAKEFLAGS",
    "CLASSPATH",
];

/// Beginnings of such names: of the loader's variables, and of ours.
pub const PROTECTED_ENV_PREFIXES: [&str; 4] = ["LD_", "DYLD_", "BOWLINE_", "GIT_CONFIG"];

/// Whether a name is that of a variable that no dependency may replace.
pub fn is_protected(name: &str) -> bool {
    PROTECTED_ENV_NAMES.contains(&name)
        || PROTECTED_ENV_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// How alike an answer and an option are, from 0 to 1, for the option to be suggested.
pub const SUGGESTION_SIMILARITY_MIN: f64 = 0.7;

/// Characters of an answer for which a suggestion is looked for; comparing costs the product of both lengths.
const SUGGESTION_CHARS_MAX: usize = 256;

/// Why a value does not do for a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Nothing, or only space.
    #[error("the value is empty")]
    Empty,
    /// Characters no API key has.
    #[error("an API key has only letters, digits, '_' and '-'")]
    ApiKeyCharacters,
    /// Too short for an API key.
    #[error("an API key has at least {API_KEY_CHARS_MIN} characters")]
    ApiKeyTooShort,
    /// Too long for its type.
    #[error("the value exceeds {max} characters")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// A character that cannot be in an environment or a path.
    #[error("the value contains a NUL character")]
    Nul,
    /// Not the address of a service.
    #[error("a service is an http:// or https:// address")]
    NotAnAddress,
    /// A path that climbs.
    #[error("a file path must not contain '..'")]
    PathClimbs,
    /// Not a yes or no.
    #[error("a permission is true, false, yes or no")]
    NotAPermission,
    /// Not the name of a package.
    #[error("a package is a lower-case name such as left-pad or @scope/left-pad")]
    NotAPackage,
}

impl ValueError {
    /// A stable word for this kind of refusal.
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "value_empty",
            Self::ApiKeyCharacters | Self::ApiKeyTooShort => "value_not_an_api_key",
            Self::TooLong { .. } => "value_too_long",
            Self::Nul => "value_has_nul",
            Self::NotAnAddress => "value_not_an_address",
            Self::PathClimbs => "value_path_climbs",
            Self::NotAPermission => "value_not_a_permission",
            Self::NotAPackage => "value_not_a_package",
        }
    }
}

/// Checks `value`, exactly as it would be handed to the agent, for a dependency of `kind`.
pub fn check_value(kind: DependencyKind, value: &str) -> Result<(), ValueError> {
    if value.trim().is_empty() {
        return Err(ValueError::Empty);
    }
    if value.contains('\0') {
        return Err(ValueError::Nul);
    }
    let max = match kind {
        DependencyKind::File => FILE_CHARS_MAX,
        _ => FIELD_CHARS_MAX,
    };
    if value.chars().count() > max {
        return Err(ValueError::TooLong { max });
    }
    let holds = |condition: bool, error| if condition { Ok(()) } else { Err(error) };
    match kind {
        DependencyKind::ApiKey => {
            let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            holds(value.bytes().all(known), ValueError::ApiKeyCharacters)?;
            holds(value.len() >= API_KEY_CHARS_MIN, ValueError::ApiKeyTooShort)
        }
        DependencyKind::EnvVariable => Ok(()),
        DependencyKind::Service => holds(is_address(value), ValueError::NotAnAddress),
        DependencyKind::File => holds(!value.contains(".."), ValueError::PathClimbs),
        DependencyKind::Permission => {
            let words = ["true", "false", "yes", "no"];
            holds(
                words.iter().any(|word| word.eq_ignore_ascii_case(value)),
                ValueError::NotAPermission,
            )
        }
        DependencyKind::Package => holds(is_package(value), ValueError::NotAPackage),
    }
}

fn is_address(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    ["http", "https"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme))
        && !host.is_empty()
        && !host.starts_with(':')
        && !value.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_package(value: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    match value.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_name(scope) && is_name(name)),
        None => is_name(value),
    }
}

/// Why a name does not do for an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnvNameError {
    /// Not upper-case letters, digits and underscores.
    #[error(
        "'{name}' is not an environment name: upper-case letters, digits and '_', not beginning with a digit"
    )]
    Invalid {
        /// The name.
        name: String,
    },
    /// A variable the agent needs as it is.
    #[error("the environment variable '{name}' is protected")]
    Protected {
        /// The name.
        name: String,
    },
}

impl EnvNameError {
    /// A stable word for this kind of refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "env_name_invalid",
            Self::Protected { .. } => "env_name_protected",
        }
    }
}

/// Checks the name under which a value would go into an agent's environment.
pub fn check_env_name(name: &str) -> Result<(), EnvNameError> {
    let known = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let begins_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || !begins_well || !name.bytes().all(known) {
        return Err(EnvNameError::Invalid {
            name: name.chars().take(60).collect(),
        });
    }
    if is_protected(name) {
        return Err(EnvNameError::Protected {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// An answer that may be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'a> {
    /// What the agent is told: the option in its own spelling, or the free text without space around it.
    pub text: Cow<'a, str>,
    /// The spelling was changed to that of the option; worth a word to the person.
    pub respelled: bool,
}

/// Why an answer is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// Nothing, or only space.
    #[error("the answer is empty")]
    Empty,
    /// Longer than a field may be.
    #[error("the answer exceeds {FIELD_CHARS_MAX} characters")]
    TooLong,
    /// Not one of the options.
    #[error("the answer is not one of the options")]
    NotAnOption {
        /// The option that was perhaps meant.
        suggestion: Option<String>,
    },
}

impl AnswerError {
    /// A stable word for this kind of refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "answer_empty",
            Self::TooLong => "answer_too_long",
            Self::NotAnOption { .. } => "answer_not_an_option",
        }
    }
}

/// Checks `answer` against the options of its question; without options any text does.
///
/// An exact match wins over one in another case. Something merely alike is refused, with a suggestion.
pub fn check_answer<'a>(options: &'a [String], answer: &str) -> Result<Answer<'a>, AnswerError> {
    let answer = normalise(answer);
    if answer.is_empty() {
        return Err(AnswerError::Empty);
    }
    if answer.chars().count() > FIELD_CHARS_MAX {
        return Err(AnswerError::TooLong);
    }
    if options.is_empty() {
        return Ok(Answer {
            text: answer.into(),
            respelled: false,
        });
    }
    if let Some(option) = options.iter().find(|option| **option == answer) {
        return Ok(Answer {
            text: option.into(),
            respelled: false,
        });
    }
    let lower = answer.to_lowercase();
    if let Some(option) = options.iter().find(|option| option.to_lowercase() == lower) {
        return Ok(Answer {
            text: option.into(),
            respelled: true,
        });
    }
    let suggestion = options
        .iter()
        .map(|option| (similarity(&option.to_lowercase(), &lower), option))
        .filter(|(similarity, _)| *similarity >= SUGGESTION_SIMILARITY_MIN)
        // The first of equals: the options are in the order the agent prefers.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, option)| option.clone());
    Err(AnswerError::NotAnOption { suggestion })
}

/// One minus the edit distance relative to the longer text.
#[expect(
    clippy::cast_precision_loss,
    reason = "lengths are at most SUGGESTION_CHARS_MAX"
)]
fn similarity(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().take(SUGGESTION_CHARS_MAX + 1).collect();
    let b: Vec<char> = b.chars().take(SUGGESTION_CHARS_MAX + 1).collect();
    let longer = a.len().max(b.len());
    if longer > SUGGESTION_CHARS_MAX {
        return 0.0;
    }
    // One row of the usual table: `row[j]` is the distance of what was read of `a` to the first `j` of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    1.0 - row[b.len()] as f64 / longer as f64
}
