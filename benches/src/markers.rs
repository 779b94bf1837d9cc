//! Finding markers in an agent's output, against merely finding the line ends.

use crate::Outcome;
use crate::options::Options;
use crate::output::{CHUNK_BYTES, MIX_BYTES, Mix, measured};
use crate::report::Report;
use bowline_formats::markers::{MarkerContent, MarkerParser, MarkerParserOptions as ParserOptions};
use std::fmt::Write as _;

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let rounds = options.rounds(40, 8);
    let promise = "at least 200 MB/s, whatever the output";
    let (rows, bound) = measured(&mixes()?, rounds, promise)?;
    Ok(Report {
        name: "markers",
        about: format!(
            "The marker parser over {} MB of output in pieces of 64 KiB, per second of one core's time, against counting line ends in the \
             same bytes. {rounds} rounds in turns; every message must be found. No agent prints the last row, since it \
             would wait for answers; it shows what reading a message costs.",
            MIX_BYTES / 1_000_000
        ),
        columns: &[
            "output",
            "messages per MB",
            "line ends MB/s",
            "markers MB/s",
        ],
        rows,
        bound: Some(bound),
    })
}

/// How many markers were understood, and how many were not.
fn parse(bytes: &[u8]) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    let mut count = |event: bowline_formats::markers::MarkerEvent| match event.kind {
        MarkerContent::Malformed(_) | MarkerContent::Ignored { .. } => bad += 1,
        _ => good += 1,
    };
    let mut parser = MarkerParser::new(ParserOptions::default());
    for chunk in bytes.chunks(CHUNK_BYTES) {
        parser.push(chunk, &mut count);
    }
    parser.finish(&mut count);
    (good, bad)
}

fn mixes() -> Result<Vec<Mix>, std::fmt::Error> {
    Ok(vec![
        mix("plain log", |text, line| {
            writeln!(
                text,
                "{line} compiled module {} in {} ms, {} warnings",
                line % 977,
                line % 89,
                line % 7
            )?;
            Ok(0)
        })?,
        mix("log lines that begin with `[`", |text, line| {
            writeln!(
                text,
                "[2026-01-01 10:{:02}:{:02}] INFO worker {}: step finished, queue is at {line}",
                line / 60 % 60,
                line % 60,
                line % 8
            )?;
            Ok(0)
        })?,
        mix("source code, indented and fenced", |text, line| {
            match line % 12 {
                0 => writeln!(text, "Here is the next part:\n\n```rust")?,
                11 => writeln!(text, "```\n")?,
                _ => writeln!(
                    text,
                    "    let value_{line} = compute(&input[{}..], \"[ERROR]\")?;",
                    line % 40
                )?,
            }
            Ok(0)
        })?,
        mix(
            "mixed: log, code, a message every 100 lines",
            |text, line| {
                match line % 100 {
                    0 => return marker(text, line / 100),
                    1 => writeln!(text, "```text")?,
                    2..10 => writeln!(
                        text,
                        "  {line}: the quick check of part {} went well",
                        line % 13
                    )?,
                    10 => writeln!(text, "```")?,
                    _ => writeln!(
                        text,
                        "working on part {} of the list, {line} looked at so far",
                        line % 13
                    )?,
                }
                Ok(0)
            },
        )?,
        mix(
            "long lines (30 kB each, as JSON streams have)",
            |text, line| {
                write!(text, "{{\"type\":\"assistant\",\"n\":{line},\"text\":\"")?;
                text.extend(std::iter::repeat_n("words and more words, ", 1_400));
                writeln!(text, "\"}}")?;
                Ok(0)
            },
        )?,
        mix("many messages: every tenth line", |text, line| {
            match line % 10 {
                0 => marker(text, line / 10),
                _ => {
                    writeln!(
                        text,
                        "ordinary line {line} between two messages of the agent"
                    )?;
                    Ok(0)
                }
            }
        })?,
        mix("nothing but messages", marker)?,
    ])
}

/// Output of about [`MIX_BYTES`]; `line` writes the next piece and says how many markers it has.
fn mix(
    name: &str,
    line: impl Fn(&mut String, usize) -> Result<usize, std::fmt::Error>,
) -> Result<Mix, std::fmt::Error> {
    let mut text = String::with_capacity(MIX_BYTES + 65_536);
    let mut events = 0;
    for number in 0.. {
        if text.len() >= MIX_BYTES {
            break;
        }
        events += line(&mut text, number)?;
    }
    // An output that ends inside a fence or a message would count one marker less.
    Ok(Mix {
        name: name.to_owned(),
        text,
        events,
        read: Box::new(parse),
    })
}

/// One message, of every kind in turn.
fn marker(text: &mut String, number: usize) -> Result<usize, std::fmt::Error> {
    match number % 6 {
        0 => writeln!(text, "Step {}/9: looking at part {number}", 1 + number % 9)?,
        1 => writeln!(
            text,
            "[DEPENDENCY_REQUEST]\ntype: api_key\nname: KEY_{number}\ndescription: forecasts for the start page\n  (the free plan is enough)\nrequired: true\n[/DEPENDENCY_REQUEST]"
        )?,
        2 => writeln!(
            text,
            "[USER_QUESTION]\ncategory: choice\nquestion: Where should picture {number} live?\noptions:\n  - in the repository\n  - in a bucket\nrequired: false\n[/USER_QUESTION]"
        )?,
        3 => writeln!(
            text,
            "[ERROR] type: recoverable, message: limit reached, recovery: pause_and_retry, retry_after: 120"
        )?,
        4 => writeln!(
            text,
            "=== PHASE {} COMPLETE ===\nCompleted: Phase 1 (Outline)\nDocuments created:\n- docs/outline.md\n- docs/audience.md\n\nReady for review.",
            1 + number % 4
        )?,
        _ => writeln!(
            text,
            "[USER_QUESTION_JSON]\n{{\"category\": \"confirmation\", \"question\": \"Delete table {number}?\", \"required\": true}}\n[/USER_QUESTION_JSON]"
        )?,
    }
    Ok(1)
}
