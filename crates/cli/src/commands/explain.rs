//! `bowline explain CODE`.

use crate::output::Output;
use bowline_engine::Error;
use std::process::ExitCode;

/// One section per code; the same page is in the documentation.
const PAGES: &str = include_str!("../../../../docs/errors.md");

pub(crate) fn run(output: &Output, code: Option<&str>) -> Result<ExitCode, Error> {
    let Some(code) = code else {
        for (code, _) in sections() {
            output.line(code);
        }
        return Ok(ExitCode::SUCCESS);
    };
    match sections().find(|(name, _)| *name == code) {
        Some((_, text)) => {
            output.line(text.trim());
            Ok(ExitCode::SUCCESS)
        }
        None => Err(Error::BadInput {
            message: format!("there is no code '{code}'"),
            hint: "'bowline explain' lists all codes".into(),
        }),
    }
}

fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES
        .split("\n## ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap_or((section, "")))
}
