//! Builds requests, questions and error reports from named values: checks which fields are required
//! and what they may hold.

use super::event::{
    AgentErrorReport, DependencyRequest, ErrorSeverity, MalformedMarker, MarkerContent,
    QuestionCategory, Recovery, UserQuestion,
};
use super::fields::MessageFields;
use super::syntax::{BracketMessage, FieldKey};
use bowline_machines::job::DependencyKind;

/// A `retry_after` above this is a Unix time instead of a number of seconds.
const RETRY_AFTER_SECONDS_MAX: u64 = 1_000_000_000;

/// The notation in which a message was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageForm {
    Lines,
    OneLine,
    Json,
}

/// Builds the event of a complete message.
pub(super) fn parse_message(block: BracketMessage, form: MessageForm, text: &str) -> MarkerContent {
    let mut fields = MessageFields::new(block);
    let read = match form {
        MessageForm::Lines => {
            fields.read_block(text);
            Ok(())
        }
        MessageForm::OneLine => {
            fields.read_line(text);
            Ok(())
        }
        MessageForm::Json => fields.read_json(text),
    };
    if let Err(defect) = read {
        return MarkerContent::Malformed(defect);
    }
    match block {
        BracketMessage::DependencyRequest => {
            parse_dependency(&mut fields).map(MarkerContent::DependencyRequest)
        }
        BracketMessage::UserQuestion => {
            parse_question(&mut fields).map(MarkerContent::UserQuestion)
        }
        BracketMessage::Error => parse_error(&mut fields, form).map(MarkerContent::Error),
    }
    .unwrap_or_else(MarkerContent::Malformed)
}

fn parse_dependency(fields: &mut MessageFields<'_>) -> Result<DependencyRequest, MalformedMarker> {
    Ok(DependencyRequest {
        kind: required_word(
            fields,
            FieldKey::Type,
            &DependencyKind::ALL,
            DependencyKind::name,
        )?,
        name: fields.required_text(FieldKey::Name)?,
        description: fields.required_text(FieldKey::Description)?,
        required: required_bool(fields, FieldKey::Required)?,
        default: fields.optional_text(FieldKey::Default)?,
    })
}

fn parse_question(fields: &mut MessageFields<'_>) -> Result<UserQuestion, MalformedMarker> {
    let category = required_word(
        fields,
        FieldKey::Category,
        &QuestionCategory::ALL,
        QuestionCategory::name,
    )?;
    let question = fields.required_text(FieldKey::Question)?;
    let options = fields.item_list(FieldKey::Options)?;
    if category == QuestionCategory::Choice && options.is_empty() {
        return Err(fields.missing_field(FieldKey::Options));
    }
    Ok(UserQuestion {
        category,
        question,
        options,
        default: fields.optional_text(FieldKey::Default)?,
        required: required_bool(fields, FieldKey::Required)?,
    })
}

fn parse_error(
    fields: &mut MessageFields<'_>,
    form: MessageForm,
) -> Result<AgentErrorReport, MalformedMarker> {
    let severity = required_word(
        fields,
        FieldKey::Type,
        &ErrorSeverity::ALL,
        ErrorSeverity::name,
    )?;
    let recovery = fields.word_value(FieldKey::Recovery, &Recovery::ALL, Recovery::name)?;
    let (message, recovery) = if form == MessageForm::OneLine {
        let usual = match severity {
            ErrorSeverity::Recoverable => Recovery::PauseAndRetry,
            ErrorSeverity::Fatal => Recovery::CheckpointAndFail,
        };
        (
            fields.optional_text(FieldKey::Message)?.unwrap_or_default(),
            recovery.unwrap_or(usual),
        )
    } else {
        let message = fields.required_text(FieldKey::Message)?;
        match recovery {
            Some(recovery) => (message, recovery),
            None => return Err(fields.missing_field(FieldKey::Recovery)),
        }
    };
    let mut report = AgentErrorReport {
        severity,
        message,
        details: fields.optional_text(FieldKey::Details)?,
        recovery,
        retry_after_s: None,
        reset_at: None,
    };
    if let Some(text) = fields.optional_text(FieldKey::RetryAfter)? {
        let expected = || "a whole number of seconds".to_owned();
        let number: u64 = text
            .parse()
            .map_err(|_| fields.bad_value(FieldKey::RetryAfter, expected(), &text))?;
        if number > RETRY_AFTER_SECONDS_MAX {
            let at = i64::try_from(number)
                .ok()
                .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
                .ok_or_else(|| fields.bad_value(FieldKey::RetryAfter, expected(), &text))?;
            report.reset_at = Some(at);
        } else {
            report.retry_after_s = Some(number);
        }
    }
    if let Some(text) = fields.optional_text(FieldKey::ResetAt)? {
        let at = text.parse().map_err(|_| {
            fields.bad_value(
                FieldKey::ResetAt,
                "a time such as 2031-04-05T06:07:08Z".to_owned(),
                &text,
            )
        })?;
        report.reset_at = Some(at);
    }
    Ok(report)
}

fn required_word<T: Copy>(
    fields: &mut MessageFields<'_>,
    key: FieldKey,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> Result<T, MalformedMarker> {
    fields
        .word_value(key, all, as_str)?
        .ok_or_else(|| fields.missing_field(key))
}

fn required_bool(fields: &mut MessageFields<'_>, key: FieldKey) -> Result<bool, MalformedMarker> {
    required_word(fields, key, &[true, false], |value| {
        if value { "true" } else { "false" }
    })
}
