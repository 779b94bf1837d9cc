//! Validates values and answers that a person supplies for an agent. No error message repeats the
//! value, because it may be secret.

use std::borrow::Cow;

use bowline_machines::job::DependencyKind;
use bowline_words::message::ValueFault;
use thiserror::Error;

use super::FIELD_CHARS_MAX;
use super::text::normalise_text;

/// Minimum length of an API key.
pub const API_KEY_CHARS_MIN: usize = 8;

/// Maximum length of the path of a file dependency.
pub const FILE_CHARS_MAX: usize = 500;

/// Environment variables that no dependency may replace, because they decide which programs run and
/// what those load.
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

/// Prefixes of further protected variables: those of the dynamic loader, of Git's configuration,
/// and ours.
pub const PROTECTED_ENV_PREFIXES: [&str; 4] = ["LD_", "DYLD_", "BOWLINE_", "GIT_CONFIG"];

/// True if no dependency may replace the environment variable of this name.
pub fn is_protected(name: &str) -> bool {
    PROTECTED_ENV_NAMES.contains(&name)
        || PROTECTED_ENV_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Minimum similarity, from 0 to 1, of an answer and an option for the option to be suggested.
pub const SUGGESTION_SIMILARITY_MIN: f64 = 0.7;

/// Longest answer for which a suggestion is searched; comparing costs the product of both lengths.
const SUGGESTION_CHARS_MAX: usize = 256;

/// Returns the stable code of the reason why a value is invalid.
pub fn value_fault_code(fault: ValueFault) -> &'static str {
    match fault {
        ValueFault::Empty => "value_empty",
        ValueFault::ApiKeyCharacters | ValueFault::ApiKeyTooShort { .. } => "value_not_an_api_key",
        ValueFault::TooLong { .. } => "value_too_long",
        ValueFault::Nul => "value_has_nul",
        ValueFault::NotAnAddress => "value_not_an_address",
        ValueFault::PathClimbs => "value_path_climbs",
        ValueFault::NotAPermission => "value_not_a_permission",
        ValueFault::NotAPackage => "value_not_a_package",
    }
}

/// Checks `value`, exactly as it would be handed to the agent, for a dependency of `kind`.
pub fn check_value(kind: DependencyKind, value: &str) -> Result<(), ValueFault> {
    if value.trim().is_empty() {
        return Err(ValueFault::Empty);
    }
    if value.contains('\0') {
        return Err(ValueFault::Nul);
    }
    let max = match kind {
        DependencyKind::File => FILE_CHARS_MAX,
        _ => FIELD_CHARS_MAX,
    };
    if value.chars().count() > max {
        return Err(ValueFault::TooLong { max });
    }
    let holds = |condition: bool, error| if condition { Ok(()) } else { Err(error) };
    match kind {
        DependencyKind::ApiKey => {
            let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            holds(value.bytes().all(known), ValueFault::ApiKeyCharacters)?;
            let min = API_KEY_CHARS_MIN;
            holds(value.len() >= min, ValueFault::ApiKeyTooShort { min })
        }
        DependencyKind::EnvVariable => Ok(()),
        DependencyKind::Service => holds(is_address(value), ValueFault::NotAnAddress),
        DependencyKind::File => holds(!value.contains(".."), ValueFault::PathClimbs),
        DependencyKind::Permission => {
            let words = ["true", "false", "yes", "no"];
            holds(
                words.iter().any(|word| word.eq_ignore_ascii_case(value)),
                ValueFault::NotAPermission,
            )
        }
        DependencyKind::Package => holds(is_package(value), ValueFault::NotAPackage),
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

/// Reasons why a name cannot be used for an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnvNameError {
    #[error(
        "'{name}' is not an environment name: upper-case letters, digits and '_', not beginning with a digit"
    )]
    Invalid {
        /// The name, cut to 60 characters.
        name: String,
    },
    /// The name belongs to a protected variable.
    #[error("the environment variable '{name}' is protected")]
    Protected { name: String },
}

impl EnvNameError {
    /// Returns the stable error code.
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

/// An answer that passed the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedAnswer<'a> {
    /// Text sent to the agent: the option in its own spelling, or the trimmed free text.
    pub text: Cow<'a, str>,
    /// True if the case was changed to that of the option, which the person should be informed of.
    pub respelled: bool,
}

/// Reasons why an answer is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The answer is empty or only white space.
    #[error("the answer is empty")]
    Empty,
    #[error("the answer exceeds {FIELD_CHARS_MAX} characters")]
    TooLong,
    #[error("the answer is not one of the options")]
    NotAnOption {
        /// The most similar option, if one is similar enough.
        suggestion: Option<String>,
    },
}

impl AnswerError {
    /// Returns the stable error code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "answer_empty",
            Self::TooLong => "answer_too_long",
            Self::NotAnOption { .. } => "answer_not_an_option",
        }
    }
}

/// Checks `answer` against the options of its question; without options any text is accepted.
///
/// An exact match wins over one in another case. A merely similar answer is refused with a
/// suggestion.
pub fn check_answer<'a>(
    options: &'a [String],
    answer: &str,
) -> Result<CheckedAnswer<'a>, AnswerError> {
    let answer = normalise_text(answer);
    if answer.is_empty() {
        return Err(AnswerError::Empty);
    }
    if answer.chars().count() > FIELD_CHARS_MAX {
        return Err(AnswerError::TooLong);
    }
    if options.is_empty() {
        return Ok(CheckedAnswer {
            text: answer.into(),
            respelled: false,
        });
    }
    if let Some(option) = options.iter().find(|option| **option == answer) {
        return Ok(CheckedAnswer {
            text: option.into(),
            respelled: false,
        });
    }
    let lower = answer.to_lowercase();
    if let Some(option) = options.iter().find(|option| option.to_lowercase() == lower) {
        return Ok(CheckedAnswer {
            text: option.into(),
            respelled: true,
        });
    }
    let suggestion = options
        .iter()
        .map(|option| (text_similarity(&option.to_lowercase(), &lower), option))
        .filter(|(similarity, _)| *similarity >= SUGGESTION_SIMILARITY_MIN)
        // On a tie the first wins: the options are in the order the agent prefers.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, option)| option.clone());
    Err(AnswerError::NotAnOption { suggestion })
}

/// Returns one minus the edit distance relative to the longer text.
fn text_similarity(a: &str, b: &str) -> f64 {
    match a.chars().count().max(b.chars().count()) {
        0..=SUGGESTION_CHARS_MAX => strsim::normalized_levenshtein(a, b),
        _ => 0.0,
    }
}
