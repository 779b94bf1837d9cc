//! Builds requests, questions and error reports from named values: checks which fields are required
//! and what they may hold.

use super::event::{
    Category, DependencyRequest, ErrorReport, Kind, Malformed, Recovery, Severity, UserQuestion,
};
use super::fields::Fields;
use super::syntax::{Block, Key};
use bowline_machines::job::DependencyKind;

/// A `retry_after` above this is a Unix time instead of a number of seconds.
const RETRY_AFTER_SECONDS_MAX: u64 = 1_000_000_000;

/// The notation in which a message was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    OneLine,
    Json,
}

/// Builds the event of a complete message.
pub(super) fn read(block: Block, form: Form, text: &str) -> Kind {
    let mut fields = Fields::new(block);
    let read = match form {
        Form::Lines => {
            fields.read_block(text);
            Ok(())
        }
        Form::OneLine => {
            fields.read_line(text);
            Ok(())
        }
        Form::Json => fields.read_json(text),
    };
    if let Err(defect) = read {
        return Kind::Malformed(defect);
    }
    match block {
        Block::DependencyRequest => dependency(&mut fields).map(Kind::DependencyRequest),
        Block::UserQuestion => question(&mut fields).map(Kind::UserQuestion),
        Block::Error => error(&mut fields, form).map(Kind::Error),
    }
    .unwrap_or_else(Kind::Malformed)
}

fn dependency(fields: &mut Fields<'_>) -> Result<DependencyRequest, Malformed> {
    Ok(DependencyRequest {
        kind: word(
            fields,
            Key::Type,
            &DependencyKind::ALL,
            DependencyKind::name,
        )?,
        name: fields.required(Key::Name)?,
        description: fields.required(Key::Description)?,
        required: truth(fields, Key::Required)?,
        default: fields.text(Key::Default)?,
    })
}

fn question(fields: &mut Fields<'_>) -> Result<UserQuestion, Malformed> {
    let category = word(fields, Key::Category, &Category::ALL, Category::name)?;
    let question = fields.required(Key::Question)?;
    let options = fields.list(Key::Options)?;
    if category == Category::Choice && options.is_empty() {
        return Err(fields.missing(Key::Options));
    }
    Ok(UserQuestion {
        category,
        question,
        options,
        default: fields.text(Key::Default)?,
        required: truth(fields, Key::Required)?,
    })
}

fn error(fields: &mut Fields<'_>, form: Form) -> Result<ErrorReport, Malformed> {
    let severity = word(fields, Key::Type, &Severity::ALL, Severity::name)?;
    let recovery = fields.word(Key::Recovery, &Recovery::ALL, Recovery::name)?;
    let (message, recovery) = if form == Form::OneLine {
        let usual = match severity {
            Severity::Recoverable => Recovery::PauseAndRetry,
            Severity::Fatal => Recovery::CheckpointAndFail,
        };
        (
            fields.text(Key::Message)?.unwrap_or_default(),
            recovery.unwrap_or(usual),
        )
    } else {
        let message = fields.required(Key::Message)?;
        match recovery {
            Some(recovery) => (message, recovery),
            None => return Err(fields.missing(Key::Recovery)),
        }
    };
    let mut report = ErrorReport {
        severity,
        message,
        details: fields.text(Key::Details)?,
        recovery,
        retry_after_s: None,
        reset_at: None,
    };
    if let Some(text) = fields.text(Key::RetryAfter)? {
        let expected = || "a whole number of seconds".to_owned();
        let number: u64 = text
            .parse()
            .map_err(|_| fields.bad_value(Key::RetryAfter, expected(), &text))?;
        if number > RETRY_AFTER_SECONDS_MAX {
            let at = i64::try_from(number)
                .ok()
                .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
                .ok_or_else(|| fields.bad_value(Key::RetryAfter, expected(), &text))?;
            report.reset_at = Some(at);
        } else {
            report.retry_after_s = Some(number);
        }
    }
    if let Some(text) = fields.text(Key::ResetAt)? {
        let at = text.parse().map_err(|_| {
            fields.bad_value(
                Key::ResetAt,
                "a time such as 2031-04-05T06:07:08Z".to_owned(),
                &text,
            )
        })?;
        report.reset_at = Some(at);
    }
    Ok(report)
}

fn word<T: Copy>(
    fields: &mut Fields<'_>,
    key: Key,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> Result<T, Malformed> {
    fields
        .word(key, all, as_str)?
        .ok_or_else(|| fields.missing(key))
}

fn truth(fields: &mut Fields<'_>, key: Key) -> Result<bool, Malformed> {
    word(fields, key, &[true, false], |value| {
        if value { "true" } else { "false" }
    })
}
