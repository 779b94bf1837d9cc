//! Shows a running orchestration: a line for every event, and on a terminal a board below them with
//! bars, times and cost.

use crate::commands::orchestrate_run::{format_size, shortage_notice};
use crate::commands::status::{format_duration, one_line, truncate_text};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::Context;
use bowline_engine::formats::visible;
use bowline_engine::operations::orchestrate::{PlanFile, RunNotification};
use bowline_runner::core::failure::FailureReason;
use bowline_runner::orchestrate::{
    AttemptUsage, PlanProgress, RunNotice, RunScreen, RunView, render_announcement,
};
use bowline_words::message::{Label, OutputNote};
use std::collections::HashMap;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Interval at which the board is redrawn without an event.
const REDRAW_INTERVAL: Duration = Duration::from_millis(500);
/// Most phases and tasks that have a line on the board.
const PHASES_MAX: usize = 4;
const TASKS_MAX: usize = 8;
/// Width of a progress bar, in blocks.
const BAR_CELLS: usize = 24;
/// Width of a terminal that does not report one.
const DEFAULT_COLUMNS: usize = 80;

/// Prints the events of a run and keeps the board up to date.
pub(crate) struct RunProgressPrinter<'o> {
    output: &'o CommandOutput,
    board: Option<Arc<Mutex<ProgressBoard>>>,
    used: HashMap<String, AttemptUsage>,
}

impl<'o> RunProgressPrinter<'o> {
    /// Creates the watcher, with a board if standard error is a capable terminal.
    pub(crate) fn new(
        context: &Context,
        output: &'o CommandOutput,
        plan: Option<&PlanFile>,
    ) -> Self {
        let term = context.variables.get("TERM");
        let smart = term.is_some_and(|term| !term.is_empty() && term != "dumb");
        let seen = smart && !output.json && std::io::stderr().is_terminal();
        let board = seen.then(|| {
            let board = Arc::new(Mutex::new(ProgressBoard::new(output, plan)));
            let weak = Arc::downgrade(&board);
            // Without the thread the board is redrawn on events only.
            drop(std::thread::Builder::new().spawn(move || redraw_until_over(&weak)));
            board
        });
        RunProgressPrinter {
            output,
            board,
            used: HashMap::new(),
        }
    }

    /// Returns the tokens and dollars of the tasks that this run reported, earlier attempts
    /// included.
    pub(crate) fn spent_by_shown_tasks(&self) -> (u64, f64) {
        let tokens = self.used.values().map(|it| it.tokens).sum();
        (tokens, self.used.values().map(|it| it.usd).sum())
    }

    fn print_line(&mut self, text: &str, run: &RunView, notice: Option<&RunNotice>) {
        match &self.board {
            None => self.output.print_stderr(text),
            Some(board) => {
                let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
                board.clear();
                self.output.print_stderr(text);
                board.record_notice(run, notice);
                board.draw();
            }
        }
    }
}

impl Drop for RunProgressPrinter<'_> {
    fn drop(&mut self) {
        if let Some(board) = self.board.take() {
            let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
            board.clear();
            board.over = true;
        }
    }
}

fn redraw_until_over(board: &Weak<Mutex<ProgressBoard>>) {
    loop {
        std::thread::sleep(REDRAW_INTERVAL);
        let Some(board) = board.upgrade() else { return };
        let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
        if board.over {
            return;
        }
        board.clear();
        board.draw();
    }
}

impl RunScreen for RunProgressPrinter<'_> {
    fn show_notice(&mut self, notice: &RunNotice, run: &RunView) {
        let PlanProgress { done, total } = run.progress();
        let lang = self.output.lang;
        let (tone, said) = match notice {
            RunNotice::Begun { id, attempt } => (
                TextTone::Faint,
                OutputNote::RunBegun {
                    id: id.to_string(),
                    attempt: *attempt,
                },
            ),
            RunNotice::Found { id } => {
                (TextTone::Faint, OutputNote::RunFound { id: id.to_string() })
            }
            RunNotice::Done { id } => (
                TextTone::Good,
                OutputNote::RunTaskDone {
                    id: id.to_string(),
                    done,
                    total,
                },
            ),
            RunNotice::Failed { id, why, again } => {
                let (id, error) = (id.to_string(), why.render_line(lang));
                let said = match again {
                    true => OutputNote::RunAgain { id, error },
                    false => OutputNote::RunFailed { id, error },
                };
                (TextTone::Bad, said)
            }
            RunNotice::Parked { id, seconds } => (
                TextTone::Busy,
                OutputNote::RunParked {
                    id: id.to_string(),
                    seconds: *seconds,
                },
            ),
            RunNotice::Waits { why } => {
                let why = why.render(lang);
                (TextTone::Busy, OutputNote::RunWaits { why })
            }
            RunNotice::Leaving => (TextTone::Busy, OutputNote::RunLeaving),
            RunNotice::Cleaned { worktrees, bytes } => (
                TextTone::Faint,
                OutputNote::RunCleaned {
                    count: *worktrees,
                    size: format_size(*bytes),
                },
            ),
            RunNotice::Short(shortage) => (TextTone::Busy, shortage_notice(*shortage)),
            RunNotice::NothingValid { id, seconds } => {
                let (id, seconds) = (id.to_string(), *seconds);
                (TextTone::Busy, OutputNote::RunNothingValid { id, seconds })
            }
            RunNotice::Overlap { id, overlap } => (
                TextTone::Busy,
                OutputNote::RunOverlap {
                    id: id.to_string(),
                    other: overlap.with.to_string(),
                    paths: overlap
                        .paths
                        .iter()
                        .map(|path| visible::escape_name(path))
                        .collect::<Vec<_>>()
                        .join(", "),
                },
            ),
            RunNotice::Recalled { id, on } => (
                TextTone::Busy,
                OutputNote::RunRecalled {
                    id: id.to_string(),
                    on: on.to_string(),
                },
            ),
            RunNotice::Proposed { id, url } => (
                TextTone::Faint,
                OutputNote::RunProposed {
                    id: id.to_string(),
                    url: url.clone(),
                },
            ),
            RunNotice::PhaseDone { phase } => (
                TextTone::Good,
                OutputNote::RunPhaseDone {
                    phase: *phase,
                    done,
                    total,
                },
            ),
            RunNotice::PhaseNotLanded { phase, why } => (
                TextTone::Bad,
                OutputNote::RunPhaseNotLanded {
                    phase: *phase,
                    why: why.render(lang),
                },
            ),
        };
        let text = self.output.colour_text(tone, &said.say(lang));
        self.print_line(&text, run, Some(notice));
    }

    fn plan_changed(&mut self, run: &RunView) {
        let tasks = run.progress().total;
        let text = OutputNote::RunPlanChanged { tasks }.say(self.output.lang);
        self.print_line(&text, run, None);
    }

    fn update_usage(&mut self, id: &str, used: AttemptUsage) {
        self.used.insert(id.to_owned(), used);
        if let Some(board) = &self.board {
            let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
            board.used.insert(id.to_owned(), used);
        }
    }

    fn announcement_text(
        &self,
        news: &RunNotification,
        why: Option<&FailureReason>,
        project: &str,
    ) -> String {
        render_announcement(news, why, project, self.output.lang)
    }
}

/// The progress board at the bottom of a terminal.
struct ProgressBoard {
    output: CommandOutput,
    titles: HashMap<String, String>,
    phases: HashMap<u32, String>,
    run: Option<RunView>,
    begun: HashMap<String, Instant>,
    used: HashMap<String, AttemptUsage>,
    since: Instant,
    /// Number of lines that are on the screen now.
    drawn: usize,
    over: bool,
}

impl ProgressBoard {
    fn new(output: &CommandOutput, plan: Option<&PlanFile>) -> ProgressBoard {
        let tasks = plan.map(|plan| &plan.file.tasks).into_iter().flatten();
        let phases = plan.map(|plan| &plan.file.phases).into_iter().flatten();
        ProgressBoard {
            output: output.clone(),
            titles: tasks
                .map(|task| (task.id.to_string(), one_line(&task.title)))
                .collect(),
            phases: phases
                .map(|phase| (phase.number, one_line(&phase.title)))
                .collect(),
            run: None,
            begun: HashMap::new(),
            used: HashMap::new(),
            since: Instant::now(),
            drawn: 0,
            over: false,
        }
    }

    fn record_notice(&mut self, run: &RunView, notice: Option<&RunNotice>) {
        self.run = Some(run.clone());
        if let Some(RunNotice::Begun { id, .. } | RunNotice::Found { id }) = notice {
            self.begun.insert(id.to_string(), Instant::now());
        }
    }

    /// Erases the board from the screen.
    fn clear(&mut self) {
        if self.drawn > 0 {
            let text = format!("\u{1b}[{}A\u{1b}[J", self.drawn);
            let _ = std::io::stderr().write_all(text.as_bytes());
            self.drawn = 0;
        }
    }

    fn draw(&mut self) {
        let Some(run) = self.run.clone() else { return };
        let width = rustix::termios::tcgetwinsize(std::io::stderr())
            .map_or(DEFAULT_COLUMNS, |size| usize::from(size.ws_col))
            .max(20);
        let lines: Vec<String> = self
            .board_lines(&run)
            .into_iter()
            .map(|(tone, line)| {
                self.output
                    .colour_text(tone, &truncate_text(&line, width - 1))
            })
            .collect();
        self.drawn = lines.len();
        let text = lines.join("\n");
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    fn board_lines(&self, run: &RunView) -> Vec<(TextTone, String)> {
        let mut lines = Vec::new();
        for phase in run.open_phases().take(PHASES_MAX) {
            let title = self.phases.get(&phase.number).map_or("", String::as_str);
            let PlanProgress { done, total } = phase.progress;
            let line = format!(
                "{} {}  {}  {done}/{total}  {title}",
                self.output.label(Label::Phase),
                phase.number,
                progress_bar(done, total),
            );
            lines.push((TextTone::Strong, line.trim_end().to_owned()));
        }
        let running = run.running_tasks();
        for id in running.iter().take(TASKS_MAX) {
            let title = self.titles.get(id).map_or("", String::as_str);
            let mut line = format!("  ▸ {id}  {title}");
            if let Some(since) = self.begun.get(id) {
                line.push_str(&format!("  {}", self.format_elapsed(since.elapsed())));
            }
            if let Some(used) = self.used.get(id) {
                line.push_str(&self.format_cost(used.tokens, used.usd));
            }
            lines.push((TextTone::Busy, line));
        }
        if running.len() > TASKS_MAX {
            lines.push((TextTone::Busy, format!("  … {}", running.len() - TASKS_MAX)));
        }
        let PlanProgress { done, total } = run.progress();
        let mut last = format!(
            "{}  {done}/{total}  {} {}",
            progress_bar(done, total),
            self.output.label(Label::Elapsed),
            self.format_elapsed(self.since.elapsed())
        );
        if let Some(seconds) = run.expected_seconds() {
            let span = format_duration(&self.output, seconds);
            last.push_str(&format!("  {} {span}", self.output.label(Label::Expected)));
        }
        let tokens = self.used.values().map(|it| it.tokens).sum();
        let usd = self.used.values().map(|it| it.usd).sum();
        last.push_str(&self.format_cost(tokens, usd));
        lines.push((TextTone::Strong, last));
        lines
    }

    fn format_elapsed(&self, time: Duration) -> String {
        format_duration(
            &self.output,
            i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        )
    }

    fn format_cost(&self, tokens: u64, usd: f64) -> String {
        cost_suffix(&self.output, tokens, usd)
    }
}

/// Formats tokens and dollars as a suffix; empty if neither is known.
pub(crate) fn cost_suffix(output: &CommandOutput, tokens: u64, usd: f64) -> String {
    let mut text = String::new();
    if tokens > 0 {
        let count = match tokens {
            ..10_000 => tokens.to_string(),
            10_000..10_000_000 => format!("{}k", tokens / 1_000),
            _ => format!("{}M", tokens / 1_000_000),
        };
        text.push_str(&format!("  {}", output.label(Label::Tokens { count })));
    }
    if usd > 0.0 {
        text.push_str(&format!("  ${usd:.2}"));
    }
    text
}

fn progress_bar(done: usize, total: usize) -> String {
    let full = match total {
        0 => BAR_CELLS,
        total => done * BAR_CELLS / total,
    };
    format!("{}{}", "█".repeat(full), "░".repeat(BAR_CELLS - full))
}
