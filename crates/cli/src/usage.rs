//! A command line that cannot be read: what is wrong with it and what would be right, as text or JSON.

use crate::output::{print, printed, talk};
use bowline_words::Lang;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;
use std::process::ExitCode;

/// Exit code of a wrong command line.
const USAGE_CODE: u8 = 2;

/// Tells what is wrong with a command line; help and version are no mistakes.
pub(crate) fn tell(error: &clap::Error, lang: Lang, json: bool) -> ExitCode {
    if !error.use_stderr() {
        printed(error.print());
        return ExitCode::SUCCESS;
    }
    let help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if help && !json {
        // The help page itself is the answer.
        let _ = error.print();
        return ExitCode::from(USAGE_CODE);
    }
    let message = match lang {
        Lang::Ko => korean(error),
        Lang::En if help => "a command is missing".to_owned(),
        Lang::En => english(error),
    };
    let hint = hint(error, lang);
    if json {
        let body = json!({ "error": { "code": "usage", "message": message, "hint": hint } });
        print(&format!("{body}\n"));
        return ExitCode::from(USAGE_CODE);
    }
    let (head, usage, advice) = match lang {
        Lang::En => ("error", "usage", "hint"),
        Lang::Ko => ("오류", "사용법", "힌트"),
    };
    talk(&format!("{head}[usage]: {message}"));
    if let Some(line) = usage_line(error) {
        talk(&format!("{usage}: {line}"));
    }
    talk(&format!("{advice}: {hint}"));
    ExitCode::from(USAGE_CODE)
}

/// The language of a command line that could not be read: what it says, else what the locale says.
pub(crate) fn language(arguments: &[std::ffi::OsString]) -> Option<Lang> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let separate = words.windows(2).filter(|pair| pair[0] == "--lang");
    let separate = separate.map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--lang="));
    match separate.chain(joined).last() {
        Some("ko") => Some(Lang::Ko),
        Some("en") => Some(Lang::En),
        Some(_) | None => None,
    }
}

/// The first paragraph of clap's text; usage and tips follow behind an empty line.
fn english(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

fn korean(error: &clap::Error) -> String {
    let argument = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue);
    let command = context(error, ContextKind::InvalidSubcommand);
    match error.kind() {
        ErrorKind::InvalidSubcommand => format!("'{command}'은(는) 없는 명령입니다"),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "명령이 빠졌습니다".into()
        }
        ErrorKind::UnknownArgument => format!("'{argument}'은(는) 여기서 쓸 수 없는 인수입니다"),
        ErrorKind::MissingRequiredArgument => format!("필요한 인수가 빠졌습니다: {argument}"),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{argument}에 값이 필요합니다")
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            format!("{argument}에 '{value}'은(는) 쓸 수 없는 값입니다")
        }
        ErrorKind::TooManyValues | ErrorKind::WrongNumberOfValues => {
            format!("{argument}에 준 값의 수가 맞지 않습니다")
        }
        ErrorKind::TooFewValues | ErrorKind::NoEquals => format!("{argument}에 값이 더 필요합니다"),
        ErrorKind::ArgumentConflict => {
            let other = context(error, ContextKind::PriorArg);
            format!("{argument}은(는) {other}와(과) 함께 쓸 수 없습니다")
        }
        ErrorKind::InvalidUtf8 => "명령줄에 읽을 수 없는 글자가 있습니다".into(),
        _ => english(error),
    }
}

/// What would have been right, where clap knows it.
fn hint(error: &clap::Error, lang: Lang) -> String {
    let suggested = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let mut suggested = suggested.iter().map(|kind| context(error, *kind));
    let suggested = suggested.find(|text| !text.is_empty());
    let valid = context(error, ContextKind::ValidValue);
    match (lang, suggested) {
        (Lang::En, Some(text)) => format!("did you mean {text}? 'bowline --help' says more"),
        (Lang::En, None) if !valid.is_empty() => format!("possible values: {valid}"),
        (Lang::En, None) => "'bowline --help' says more".into(),
        (Lang::Ko, Some(text)) => {
            format!("혹시 {text}인가요? 자세한 내용은 'bowline --help'를 참고하세요")
        }
        (Lang::Ko, None) if !valid.is_empty() => format!("쓸 수 있는 값: {valid}"),
        (Lang::Ko, None) => "자세한 내용은 'bowline --help'를 참고하세요".into(),
    }
}

fn usage_line(error: &clap::Error) -> Option<String> {
    let text = error.to_string();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Usage: "));
    line.map(str::to_owned)
}

/// What clap knows of a mistake, as one text.
fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        Some(ContextValue::Number(number)) => number.to_string(),
        Some(_) | None => String::new(),
    }
}
