//! `bowline explain CODE`.

use crate::output::CommandOutput;
use bowline_engine::Error;
use bowline_words::Lang;
use bowline_words::message::{Advice, Wrong};
use serde_json::json;
use std::process::ExitCode;

/// The page of error codes, one section each; also a page of the documentation.
const ERROR_PAGES: &str = include_str!("../../../../docs/errors.md");

pub(crate) fn run(output: &CommandOutput, code: Option<&str>) -> Result<ExitCode, Error> {
    let Some(code) = code else {
        let codes: Vec<&str> = error_sections().map(|(code, _)| code).collect();
        output.print_outcome(json!({ "codes": codes }), &[codes.join("\n")]);
        return Ok(ExitCode::SUCCESS);
    };
    let Some((_, text)) = error_sections().find(|(name, _)| *name == code) else {
        return Err(Error::BadInput {
            message: Wrong::NoSuchCode { code: code.into() },
            hint: Advice::AllCodes,
        });
    };
    let (english, korean) = split_languages(text);
    if output.json {
        let body = json!({ "code": code, "text": { "en": english, "ko": korean } });
        output.print_line(&body.to_string());
    } else {
        let text = match output.lang {
            Lang::En => &english,
            Lang::Ko => korean.as_ref().unwrap_or(&english),
        };
        output.print_line(text);
    }
    Ok(ExitCode::SUCCESS)
}

/// Splits a section into its English and Korean paragraphs.
fn split_languages(text: &str) -> (String, Option<String>) {
    let hangul = |letter: char| ('가'..='힣').contains(&letter);
    let paragraphs = text.trim().split("\n\n");
    let (korean, english): (Vec<&str>, Vec<&str>) =
        paragraphs.partition(|paragraph| paragraph.contains(hangul));
    let korean = korean.join("\n\n");
    (
        english.join("\n\n"),
        Some(korean).filter(|text| !text.is_empty()),
    )
}

fn error_sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    ERROR_PAGES
        .split("\n## ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap_or((section, "")))
}
