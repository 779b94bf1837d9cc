//! What is printed where: data on stdout, talk on stderr, and the exit codes.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is this module's job"
)]

use crate::args::{Common, Lang};
use crate::korean;
use bowline_engine::files::{Changed, Notice, View};
use bowline_engine::formats::finding::{Finding, Severity};
use bowline_engine::formats::json::JsonDocument;
use bowline_engine::{Error, ExitClass};
use clap::error::ErrorKind;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

/// A colour that means something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Busy,
    Faint,
    Strong,
}

/// How this run prints.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) lang: Lang,
    pub(crate) dry_run: bool,
    colour: bool,
}

impl Output {
    pub(crate) fn new(common: &Common) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Output {
            json: common.json,
            lang: common.lang.unwrap_or_else(lang_of_locale),
            dry_run: common.dry_run,
            colour: !plain && std::io::stdout().is_terminal(),
        }
    }

    /// One of two texts.
    pub(crate) fn say<'t>(&self, english: &'t str, korean: &'t str) -> &'t str {
        match self.lang {
            Lang::En => english,
            Lang::Ko => korean,
        }
    }

    /// A text in a tone, where the terminal shows colours.
    pub(crate) fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Busy => "33",
            Tone::Faint => "2",
            Tone::Strong => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A line of data. A reader that went away is not an error.
    pub(crate) fn line(&self, text: &str) {
        let _ = writeln!(std::io::stdout(), "{}", harmless(text));
    }

    /// Text as it is.
    pub(crate) fn raw(&self, text: &str) {
        let _ = write!(std::io::stdout(), "{text}");
    }

    /// A line of talk.
    pub(crate) fn talk(&self, text: &str) {
        eprintln!("{}", harmless(text));
    }

    /// A line on a terminal that the next one takes the place of; nothing elsewhere.
    pub(crate) fn progress(&self, text: &str) {
        if std::io::stderr().is_terminal() && !self.json {
            eprint!("\r{}\u{1b}[K", harmless(text));
        }
    }

    /// The JSON form of a look at a file.
    pub(crate) fn view_json(&self, view: &View) -> Value {
        json!({
            "kind": view.kind.name(),
            "path": view.path,
            "state": view.document.value(),
            "findings": all_findings(view),
            "next": view.examined.next,
        })
    }

    /// The JSON form of a change.
    pub(crate) fn changed_json(&self, changed: &Changed) -> Value {
        let mut value = self.view_json(&changed.view);
        value["from"] = json!(changed.moved.from);
        value["to"] = json!(changed.moved.to);
        value["sequence"] = json!(changed.view.sequence);
        if self.dry_run {
            value["dryRun"] = json!(true);
        }
        value
    }

    /// The outcome of a change: one line of text, or JSON.
    pub(crate) fn changed(&self, changed: &Changed, text: &str) {
        if self.json {
            self.line(&self.changed_json(changed).to_string());
        } else {
            self.notices(&changed.view.notices);
            let mark = if self.dry_run {
                self.say("(dry run) ", "(시험 실행) ")
            } else {
                ""
            };
            self.line(&format!("{mark}{text}"));
        }
    }

    /// What happened to a file, told on stderr.
    pub(crate) fn notices(&self, notices: &[Notice]) {
        for notice in notices {
            let word = match notice {
                Notice::OutsideEdit { lost } if !lost.is_empty() => self.say("warning", "경고"),
                Notice::Distrusted { .. } | Notice::NotIgnored => self.say("warning", "경고"),
                Notice::RolledForward { .. }
                | Notice::OutsideEdit { .. }
                | Notice::Mended(_)
                | Notice::Restored { .. }
                | Notice::Keeper { .. } => self.say("note", "알림"),
            };
            let text = match self.lang {
                Lang::En => notice.to_string(),
                Lang::Ko => korean::notice(notice),
            };
            self.talk(&format!("{word}[{}]: {text}", notice.code()));
        }
    }

    /// A finding in one or two lines, with its place.
    pub(crate) fn finding(&self, finding: &Finding, document: Option<&JsonDocument>) -> String {
        let word = match self.lang {
            Lang::En => finding.severity.name(),
            Lang::Ko => korean::severity(finding.severity),
        };
        let tone = match finding.severity {
            Severity::Note => Tone::Faint,
            Severity::Warning => Tone::Busy,
            Severity::Error | Severity::ReadOnly | Severity::Fatal => Tone::Bad,
        };
        let place = match document {
            Some(document) if !finding.pointer.is_empty() => {
                let (line, column) = document.position(&finding.pointer);
                format!(" {} ({line}:{column})", finding.pointer)
            }
            Some(_) | None if !finding.pointer.is_empty() => format!(" {}", finding.pointer),
            Some(_) | None => String::new(),
        };
        let head = self.tone(tone, &format!("{word}[{}]", finding.code));
        let mut text = format!("{head}:{place} {}", finding.message);
        if let Some(repair) = &finding.repair {
            text.push_str(&format!("\n  {}: {repair}", self.say("repair", "고침")));
        }
        text
    }

    /// An error's message and hint in the language of the output.
    fn words(&self, error: &Error) -> (String, String) {
        match self.lang {
            Lang::En => (error.to_string(), error.hint()),
            Lang::Ko => korean::error(error),
        }
    }

    /// The JSON form of an error.
    pub(crate) fn error_json(&self, error: &Error) -> Value {
        let (message, hint) = self.words(error);
        let mut body = json!({ "code": error.code(), "message": message, "hint": hint });
        if let Error::Damaged { findings, .. } = error {
            body["findings"] = findings
                .iter()
                .map(|finding| finding.to_json(None))
                .collect();
        }
        body
    }

    /// An error, and the exit code it has.
    pub(crate) fn error(&self, error: &Error) -> ExitCode {
        if let Error::AfterRepair { notices, .. } = error {
            self.notices(notices);
        }
        if self.json {
            self.line(&json!({ "error": self.error_json(error) }).to_string());
        } else {
            let (message, hint) = self.words(error);
            let head = self.say("error", "오류");
            self.talk(&format!("{head}[{}]: {message}", error.code()));
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                self.talk(&format!("  {}: {cause}", self.say("because", "원인")));
                source = cause.source();
            }
            if !hint.is_empty() {
                self.talk(&format!("{}: {hint}", self.say("hint", "도움말")));
            }
        }
        exit_code(error.class())
    }
}

/// Text without what a terminal would obey: titles and paths come from others. Our own colours stay.
fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let colour = rest.strip_prefix("\u{1b}[").and_then(|tail| {
            let end = tail.find('m')?;
            let plain = end <= 2 && tail[..end].bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| rest.len() - tail.len() + end + 1)
        });
        let length = colour.unwrap_or(letter.len_utf8());
        if colour.is_some() || !letter.is_control() || letter == '\n' || letter == '\t' {
            clean.push_str(&rest[..length]);
        } else {
            clean.push(char::REPLACEMENT_CHARACTER);
        }
        rest = &rest[length..];
    }
    clean
}

/// A wrong command line: clap's own text, or JSON.
pub(crate) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if json {
        let text = error.to_string();
        let message = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            "a command is missing".to_owned()
        } else {
            // The first paragraph; usage and tips follow behind an empty line.
            let lines: Vec<&str> = text
                .lines()
                .map(str::trim)
                .take_while(|line| !line.is_empty())
                .collect();
            lines.join(" ").trim_start_matches("error: ").to_owned()
        };
        let body =
            json!({ "error": { "code": "usage", "message": message, "hint": "bowline --help" } });
        println!("{body}");
    } else {
        let _ = error.print();
    }
    ExitCode::from(2)
}

/// The public exit codes.
pub(crate) fn exit_code(class: ExitClass) -> ExitCode {
    ExitCode::from(match class {
        ExitClass::Refused => 1,
        ExitClass::Usage => 2,
        ExitClass::NotFound => 3,
        ExitClass::Damaged => 4,
        ExitClass::Locked => 5,
        ExitClass::Failure => 70,
    })
}

fn all_findings(view: &View) -> Vec<Value> {
    let notices = view
        .notices
        .iter()
        .filter(|notice| !matches!(notice, Notice::Mended(_)));
    let notices = notices.map(|notice| notice.to_finding().to_json(None));
    let found = view
        .examined
        .findings
        .iter()
        .map(|finding| finding.to_json(Some(&view.document)));
    notices.chain(found).collect()
}

fn lang_of_locale() -> Lang {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default();
    if locale.starts_with("ko") {
        Lang::Ko
    } else {
        Lang::En
    }
}
