//! Output of commands: data on stdout, messages on stderr, and exit codes.

use crate::args::GlobalArgs;
use bowline_engine::files::{ChangeOutcome, FileNotice, FileView};
use bowline_engine::formats::client_hooks::quote_word;
use bowline_engine::formats::finding::{Finding, Severity};
use bowline_engine::formats::json::JsonDocument;
use bowline_engine::{Context, Error, ExitClass, advice};
use bowline_words::Lang;
use bowline_words::message::{Confirmation, Label, OutputNote};
use serde_json::{Value, json};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

/// A meaning that has a terminal colour.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TextTone {
    Good,
    Bad,
    Busy,
    Faint,
    Strong,
}

/// Prints in the format, language and colours that the command line asks for.
#[derive(Debug, Clone)]
pub(crate) struct CommandOutput {
    pub(crate) json: bool,
    pub(crate) lang: Lang,
    pub(crate) dry_run: bool,
    colour: bool,
}

impl CommandOutput {
    pub(crate) fn new(common: &GlobalArgs) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        CommandOutput {
            json: common.json,
            lang: common.lang.map_or_else(Lang::from_environment, Lang::from),
            dry_run: common.dry_run,
            colour: !plain && std::io::stdout().is_terminal(),
        }
    }

    /// Returns a short word in the language of the output.
    pub(crate) fn label(&self, label: Label) -> String {
        label.say(self.lang)
    }

    /// Prints a sentence on stderr, after a label that says how much it matters.
    pub(crate) fn print_remark(&self, weight: Label, note: &OutputNote) {
        self.print_stderr(&format!("{}: {}", self.label(weight), note.say(self.lang)));
    }

    /// Asks a person; `None` without a terminal or in a dry run.
    pub(crate) fn ask_person(&self, question: &OutputNote) -> Option<String> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() || self.dry_run {
            return None;
        }
        self.show_progress(&format!("{} ", question.say(self.lang)));
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).ok()?;
        Some(answer)
    }

    /// Colours a text if the terminal shows colours.
    pub(crate) fn colour_text(&self, tone: TextTone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            TextTone::Good => "32",
            TextTone::Bad => "31",
            TextTone::Busy => "33",
            TextTone::Faint => "2",
            TextTone::Strong => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Prints a line of data on stdout.
    pub(crate) fn print_line(&self, text: &str) {
        write_stdout(&format!("{}\n", replace_control_characters(text)));
    }

    /// Prints text on stdout as it is.
    pub(crate) fn print_raw(&self, text: &str) {
        write_stdout(text);
    }

    /// Prints a message on stderr.
    pub(crate) fn print_stderr(&self, text: &str) {
        write_stderr_line(&replace_control_characters(text));
    }

    /// Shows a line on a terminal that the next one replaces; prints nothing elsewhere.
    pub(crate) fn show_progress(&self, text: &str) {
        if std::io::stderr().is_terminal() && !self.json {
            let _ = write!(
                std::io::stderr(),
                "\r{}\u{1b}[K",
                replace_control_characters(text)
            );
        }
    }

    /// Returns the JSON form of a view of a file.
    pub(crate) fn view_json(&self, context: &Context, view: &FileView) -> Value {
        json!({
            "kind": view.kind.name(),
            "path": view.path,
            "state": view.masked_document(),
            "findings": all_findings(view),
            "next": advice::suggested_commands(context, view),
        })
    }

    /// Returns the JSON form of a change.
    pub(crate) fn changed_json<S>(&self, context: &Context, changed: &ChangeOutcome<S>) -> Value {
        let mut value = self.view_json(context, &changed.view);
        value["from"] = json!(changed.moved.from);
        value["to"] = json!(changed.moved.to);
        value["sequence"] = json!(changed.view.sequence);
        if self.dry_run {
            value["dryRun"] = json!(true);
        }
        value
    }

    /// Prints the outcome of a change: one line of text, or JSON.
    pub(crate) fn print_change<S>(
        &self,
        context: &Context,
        changed: &ChangeOutcome<S>,
        did: &Confirmation,
    ) -> ExitCode {
        if self.json {
            self.print_line(&self.changed_json(context, changed).to_string());
        } else {
            self.print_notices(&changed.view.notices);
            self.print_line(&self.mark_dry_run(&did.say(self.lang)));
        }
        ExitCode::SUCCESS
    }

    /// Prints the outcome of a verb that changes several files or none: lines of text, or JSON.
    pub(crate) fn print_outcome(&self, mut body: Value, lines: &[String]) {
        if self.json {
            if self.dry_run {
                body["dryRun"] = json!(true);
            }
            self.print_line(&body.to_string());
            return;
        }
        for line in lines {
            self.print_line(&self.mark_dry_run(line));
        }
    }

    /// Marks a line as part of a dry run, if this is one.
    pub(crate) fn mark_dry_run(&self, text: &str) -> String {
        match self.dry_run {
            true => format!("{} {text}", self.label(Label::DryRun)),
            false => text.to_owned(),
        }
    }

    /// Prints notices about a file on stderr.
    pub(crate) fn print_notices(&self, notices: &[FileNotice]) {
        for notice in notices {
            let word = match notice {
                FileNotice::OutsideEdit { lost } if !lost.is_empty() => Label::Warning,
                FileNotice::PutBack { .. }
                | FileNotice::AnotherTask { .. }
                | FileNotice::Distrusted { .. }
                | FileNotice::NotIgnored => Label::Warning,
                FileNotice::RolledForward { .. }
                | FileNotice::TreeNotCompared
                | FileNotice::OutsideEdit { .. }
                | FileNotice::Mended(_)
                | FileNotice::Restored { .. }
                | FileNotice::Keeper { .. } => Label::Note,
            };
            let word = self.label(word);
            let text = notice.render_notice(self.lang);
            self.print_stderr(&format!("{word}[{}]: {text}", notice.code()));
        }
    }

    /// Returns the label of a finding, with its code.
    pub(crate) fn severity_label(&self, severity: Severity, code: &str) -> String {
        let (word, tone) = match severity {
            Severity::Note => (Label::Note, TextTone::Faint),
            Severity::Warning => (Label::Warning, TextTone::Busy),
            Severity::Error => (Label::Error, TextTone::Bad),
            Severity::ReadOnly => (Label::ReadOnly, TextTone::Bad),
            Severity::Fatal => (Label::Fatal, TextTone::Bad),
        };
        self.colour_text(tone, &format!("{}[{code}]", self.label(word)))
    }

    /// Formats a finding on one or two lines, with its place.
    pub(crate) fn format_finding(
        &self,
        finding: &Finding,
        document: Option<&JsonDocument>,
    ) -> String {
        let place = match document {
            Some(document) if !finding.pointer.is_empty() => {
                let (line, column) = document.line_and_column(&finding.pointer);
                format!(" {} ({line}:{column})", finding.pointer)
            }
            Some(_) | None if !finding.pointer.is_empty() => format!(" {}", finding.pointer),
            Some(_) | None => String::new(),
        };
        let head = self.severity_label(finding.severity, finding.code);
        let mut text = format!("{head}:{place} {}", finding.message.say(self.lang));
        if let Some(repair) = &finding.repair {
            let (word, repair) = (self.label(Label::Repair), repair.say(self.lang));
            text.push_str(&format!("\n  {word}: {repair}"));
        }
        text
    }

    /// Returns an error's message and hint in the language of the output.
    fn error_texts(&self, error: &Error) -> (String, String) {
        let (message, hint) = error.render_message(self.lang);
        (message, quote_hint_path(error, hint))
    }

    /// Returns the JSON form of an error.
    pub(crate) fn error_json(&self, error: &Error) -> Value {
        let (mut message, hint) = self.error_texts(error);
        // One sentence with all its causes: JSON has no lines below it.
        for cause in error.render_causes(self.lang) {
            message.push_str(&format!(": {cause}"));
        }
        let mut body = json!({ "code": error.code(), "message": message, "hint": hint });
        if let Error::Damaged { findings, .. } = error {
            body["findings"] = findings
                .iter()
                .map(|finding| finding.to_json(None))
                .collect();
        }
        body
    }

    /// Prints an error and returns its exit code.
    pub(crate) fn print_error(&self, error: &Error) -> ExitCode {
        if let Error::AfterRepair { notices, .. } = error {
            self.print_notices(notices);
        }
        if self.json {
            self.print_line(&json!({ "error": self.error_json(error) }).to_string());
        } else {
            let (message, hint) = self.error_texts(error);
            let head = self.label(Label::Error);
            self.print_stderr(&format!("{head}[{}]: {message}", error.code()));
            for cause in error.render_causes(self.lang) {
                self.print_stderr(&format!("  {}: {cause}", self.label(Label::Because)));
            }
            if !hint.is_empty() {
                self.print_stderr(&format!("{}: {hint}", self.label(Label::Hint)));
            }
        }
        exit_code(error.exit_class())
    }
}

impl CommandOutput {
    /// Prints an error given as texts, and returns its exit code.
    pub(crate) fn print_error_texts(
        &self,
        code: &str,
        message: &str,
        hint: &str,
        exit: u8,
    ) -> ExitCode {
        if self.json {
            let body = json!({ "code": code, "message": message, "hint": hint });
            self.print_line(&json!({ "error": body }).to_string());
        } else {
            self.print_stderr(&format!(
                "{}[{code}]: {message}",
                Label::Error.say(self.lang)
            ));
            if !hint.is_empty() {
                self.print_stderr(&format!("{}: {hint}", Label::Hint.say(self.lang)));
            }
        }
        ExitCode::from(exit)
    }
}

/// The first error of writing to stdout.
static STDOUT_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Prints data on stdout. A failure is reported at the end, by [`finish_output`].
pub(crate) fn write_stdout(text: &str) {
    record_stdout_result(io::stdout().write_all(text.as_bytes()));
}

/// Records the result of writing to stdout.
pub(crate) fn record_stdout_result(result: io::Result<()>) {
    if let Err(error) = result {
        let _ = STDOUT_ERROR.set(error);
    }
}

/// Prints a line on stderr. If even that fails, the exit code has to do.
pub(crate) fn write_stderr_line(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Flushes stdout and returns the final exit code: a failure if data could not be written. A closed
/// pipe changes nothing: its reader has seen all it wanted.
pub(crate) fn finish_output(code: ExitCode, lang: Lang) -> ExitCode {
    record_stdout_result(io::stdout().flush());
    let Some(error) = STDOUT_ERROR.get() else {
        return code;
    };
    if error.kind() == io::ErrorKind::BrokenPipe {
        return code;
    }
    let cause = bowline_engine::words::system_cause(error);
    let message = OutputNote::OutputUnwritten { cause }.say(lang);
    write_stderr_line(&format!("{}[io]: {message}", Label::Error.say(lang)));
    let hint = OutputNote::OutputUnwrittenHint.say(lang);
    write_stderr_line(&format!("{}: {hint}", Label::Hint.say(lang)));
    exit_code(ExitClass::Failure)
}

/// Quotes the path in a hint so that its command can be pasted into a shell.
fn quote_hint_path(error: &Error, hint: String) -> String {
    let path = match error {
        Error::Damaged { path, .. } | Error::NoSuchTransition { path, .. } => path,
        Error::AfterRepair { error, .. } => return quote_hint_path(error, hint),
        _ => return hint,
    };
    let path = path.display().to_string();
    let word = quote_word(&path);
    if word == path {
        return hint;
    }
    // Quotes around the whole command would end at those of the path.
    let command = format!("bowline history {path}");
    hint.replace(&format!("'{command}'"), &command)
        .replace(&path, &word)
}

/// Replaces characters that a terminal would obey; titles and paths come from others. Our own
/// colours stay.
fn replace_control_characters(text: &str) -> String {
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

/// Returns the public exit code of an error class.
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

fn all_findings(view: &FileView) -> Vec<Value> {
    let notices = view
        .notices
        .iter()
        .filter(|notice| !matches!(notice, FileNotice::Mended(_)));
    let notices = notices.map(|notice| notice.to_finding().to_json(None));
    let found = view
        .examined
        .findings
        .iter()
        .map(|finding| finding.to_json(Some(&view.document)));
    notices.chain(found).collect()
}
