//! Faults of input files, as messages.

use super::system_cause;
use bowline_formats::develop::contract::{CHECKPOINTS_MAX, ContractError};
use bowline_formats::develop::policy::PolicyError;
use bowline_formats::engagement::EngagementError;
use bowline_formats::thinking_settings::ThinkingSettingsError;
use bowline_words::message::Why;

/// Returns the reason for which a file could not be read.
pub fn cannot_be_read(error: &std::io::Error) -> Why {
    Why::CannotBeRead {
        cause: system_cause(error),
    }
}

pub(crate) fn contract_fault(error: ContractError) -> Why {
    match error {
        ContractError::Unreadable { message } => Why::NotAContract { text: message },
        ContractError::Empty => Why::NoCheckpoints,
        ContractError::TooMany { count } => Why::TooManyCheckpoints {
            count,
            max: CHECKPOINTS_MAX,
        },
        ContractError::Duplicate { id } => Why::CheckpointTwice { id },
        ContractError::NoId => Why::CheckpointWithoutId,
        ContractError::Dangling { id, missing } => Why::NeedsMissing { id, missing },
        ContractError::Cycle { ids } => Why::NeedEachOther {
            ids: ids.join(", "),
        },
    }
}

pub(crate) fn policy_fault(error: PolicyError) -> Why {
    match error {
        PolicyError::Unreadable { message } => Why::Unreadable { text: message },
        PolicyError::UnknownGate { name, known } => Why::NoSuchGate { name, known },
        PolicyError::EmptyCommand { name } => Why::EmptyGateCommand { name },
        PolicyError::Outside { path } => Why::OutsideProject { path },
        PolicyError::BadTime { text } => Why::NotADuration { text },
    }
}

pub(crate) fn engagement_fault(error: EngagementError) -> Why {
    match error {
        EngagementError::NotAnObject(text) => Why::NotAnObject { text },
        EngagementError::NoMetric { name, known } if known.is_empty() => {
            Why::NoNumberAtAll { name }
        }
        EngagementError::NoMetric { name, known } => Why::NoNumber {
            name,
            known: known.join(", "),
        },
        EngagementError::Ambiguous { known } => Why::SeveralNumbers {
            known: known.join(", "),
        },
        EngagementError::BadTarget(text) => Why::BadTarget { text },
    }
}

pub(crate) fn settings_fault(error: ThinkingSettingsError) -> Why {
    match error {
        ThinkingSettingsError::Unreadable { message } => Why::Unreadable { text: message },
        ThinkingSettingsError::Weights { sum } => Why::Weights {
            sum: sum.to_string(),
        },
        ThinkingSettingsError::Number { name, value } => Why::BadNumber {
            name,
            value: value.to_string(),
        },
        ThinkingSettingsError::Stage { name } => Why::NotAStage { name },
    }
}
