//! Shows a running orchestration: a line for every event, and on a terminal a board below them with
//! bars, times and cost.

use crate::commands::here::{cut, duration, one_line};
use crate::commands::orchestrate_run::{short, size};
use crate::output::{Output, Tone};
use bowline_engine::Context;
use bowline_engine::formats::visible;
use bowline_engine::operations::orchestrate::{PlanFile, RunNotification};
use bowline_runner::core::failure::FailureReason;
use bowline_runner::orchestrate::{
    AttemptUsage, PlanProgress, RunNotice, RunScreen, RunView, render_announcement,
};
use bowline_words::message::{Label, OutputNote as Said};
use std::collections::HashMap;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Interval at which the board is redrawn without an event.
const DRAW_TIME: Duration = Duration::from_millis(500);
/// Most phases and tasks that have a line on the board.
const PHASES_MAX: usize = 4;
const TASKS_MAX: usize = 8;
/// Width of a progress bar, in blocks.
const BAR: usize = 24;
/// Width of a terminal that does not report one.
const COLUMNS: usize = 80;

/// Prints the events of a run and keeps the board up to date.
pub(crate) struct Watcher<'o> {
    output: &'o Output,
    board: Option<Arc<Mutex<Board>>>,
    used: HashMap<String, AttemptUsage>,
}

impl<'o> Watcher<'o> {
    /// Creates the watcher, with a board if standard error is a capable terminal.
    pub(crate) fn new(context: &Context, output: &'o Output, plan: Option<&PlanFile>) -> Self {
        let term = context.variables.get("TERM");
        let smart = term.is_some_and(|term| !term.is_empty() && term != "dumb");
        let seen = smart && !output.json && std::io::stderr().is_terminal();
        let board = seen.then(|| {
            let board = Arc::new(Mutex::new(Board::new(output, plan)));
            let weak = Arc::downgrade(&board);
            // Without the thread the board is redrawn on events only.
            drop(std::thread::Builder::new().spawn(move || keep_drawing(&weak)));
            board
        });
        Watcher {
            output,
            board,
            used: HashMap::new(),
        }
    }

    /// Returns the tokens and dollars that all tasks have used.
    pub(crate) fn spent(&self) -> (u64, f64) {
        let tokens = self.used.values().map(|it| it.tokens).sum();
        (tokens, self.used.values().map(|it| it.usd).sum())
    }

    fn line(&mut self, text: &str, run: &RunView, told: Option<&RunNotice>) {
        match &self.board {
            None => self.output.talk(text),
            Some(board) => {
                let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
                board.clear();
                self.output.talk(text);
                board.happened(run, told);
                board.draw();
            }
        }
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        if let Some(board) = self.board.take() {
            let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
            board.clear();
            board.over = true;
        }
    }
}

fn keep_drawing(board: &Weak<Mutex<Board>>) {
    loop {
        std::thread::sleep(DRAW_TIME);
        let Some(board) = board.upgrade() else { return };
        let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
        if board.over {
            return;
        }
        board.clear();
        board.draw();
    }
}

impl RunScreen for Watcher<'_> {
    fn show_notice(&mut self, told: &RunNotice, run: &RunView) {
        let PlanProgress { done, total } = run.progress();
        let lang = self.output.lang;
        let (tone, said) = match told {
            RunNotice::Begun { id, attempt } => (
                Tone::Faint,
                Said::RunBegun {
                    id: id.to_string(),
                    attempt: *attempt,
                },
            ),
            RunNotice::Found { id } => (Tone::Faint, Said::RunFound { id: id.to_string() }),
            RunNotice::Done { id } => (
                Tone::Good,
                Said::RunTaskDone {
                    id: id.to_string(),
                    done,
                    total,
                },
            ),
            RunNotice::Failed { id, why, again } => {
                let (id, error) = (id.to_string(), why.render_line(lang));
                let said = match again {
                    true => Said::RunAgain { id, error },
                    false => Said::RunFailed { id, error },
                };
                (Tone::Bad, said)
            }
            RunNotice::Parked { id, seconds } => (
                Tone::Busy,
                Said::RunParked {
                    id: id.to_string(),
                    seconds: *seconds,
                },
            ),
            RunNotice::Waits { why } => {
                let why = why.render(lang);
                (Tone::Busy, Said::RunWaits { why })
            }
            RunNotice::Leaving => (Tone::Busy, Said::RunLeaving),
            RunNotice::Cleaned { worktrees, bytes } => (
                Tone::Faint,
                Said::RunCleaned {
                    count: *worktrees,
                    size: size(*bytes),
                },
            ),
            RunNotice::Short(shortage) => (Tone::Busy, short(*shortage)),
            RunNotice::NothingValid { id, seconds } => {
                let (id, seconds) = (id.to_string(), *seconds);
                (Tone::Busy, Said::RunNothingValid { id, seconds })
            }
            RunNotice::Overlap { id, overlap } => (
                Tone::Busy,
                Said::RunOverlap {
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
                Tone::Busy,
                Said::RunRecalled {
                    id: id.to_string(),
                    on: on.to_string(),
                },
            ),
            RunNotice::Proposed { id, url } => (
                Tone::Faint,
                Said::RunProposed {
                    id: id.to_string(),
                    url: url.clone(),
                },
            ),
            RunNotice::PhaseDone { phase } => (
                Tone::Good,
                Said::RunPhaseDone {
                    phase: *phase,
                    done,
                    total,
                },
            ),
            RunNotice::PhaseNotLanded { phase, why } => (
                Tone::Bad,
                Said::RunPhaseNotLanded {
                    phase: *phase,
                    why: why.render(lang),
                },
            ),
        };
        let text = self.output.tone(tone, &said.say(lang));
        self.line(&text, run, Some(told));
    }

    fn plan_changed(&mut self, run: &RunView) {
        let tasks = run.progress().total;
        let text = Said::RunPlanChanged { tasks }.say(self.output.lang);
        self.line(&text, run, None);
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
struct Board {
    output: Output,
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

impl Board {
    fn new(output: &Output, plan: Option<&PlanFile>) -> Board {
        let tasks = plan.map(|plan| &plan.file.tasks).into_iter().flatten();
        let phases = plan.map(|plan| &plan.file.phases).into_iter().flatten();
        Board {
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

    fn happened(&mut self, run: &RunView, told: Option<&RunNotice>) {
        self.run = Some(run.clone());
        if let Some(RunNotice::Begun { id, .. } | RunNotice::Found { id }) = told {
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
            .map_or(COLUMNS, |size| usize::from(size.ws_col))
            .max(20);
        let lines: Vec<String> = self
            .lines(&run)
            .into_iter()
            .map(|(tone, line)| self.output.tone(tone, &cut(&line, width - 1)))
            .collect();
        self.drawn = lines.len();
        let text = lines.join("\n");
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    fn lines(&self, run: &RunView) -> Vec<(Tone, String)> {
        let mut lines = Vec::new();
        for phase in run.open_phases().take(PHASES_MAX) {
            let title = self.phases.get(&phase.number).map_or("", String::as_str);
            let PlanProgress { done, total } = phase.progress;
            let line = format!(
                "{} {}  {}  {done}/{total}  {title}",
                self.output.label(Label::Phase),
                phase.number,
                bar(done, total),
            );
            lines.push((Tone::Strong, line.trim_end().to_owned()));
        }
        let running = run.running_tasks();
        for id in running.iter().take(TASKS_MAX) {
            let title = self.titles.get(id).map_or("", String::as_str);
            let mut line = format!("  ▸ {id}  {title}");
            if let Some(since) = self.begun.get(id) {
                line.push_str(&format!("  {}", self.span(since.elapsed())));
            }
            if let Some(used) = self.used.get(id) {
                line.push_str(&self.cost(used.tokens, used.usd));
            }
            lines.push((Tone::Busy, line));
        }
        if running.len() > TASKS_MAX {
            lines.push((Tone::Busy, format!("  … {}", running.len() - TASKS_MAX)));
        }
        let PlanProgress { done, total } = run.progress();
        let mut last = format!(
            "{}  {done}/{total}  {} {}",
            bar(done, total),
            self.output.label(Label::Elapsed),
            self.span(self.since.elapsed())
        );
        if let Some(seconds) = run.expected_seconds() {
            let span = duration(&self.output, seconds);
            last.push_str(&format!("  {} {span}", self.output.label(Label::Expected)));
        }
        let tokens = self.used.values().map(|it| it.tokens).sum();
        let usd = self.used.values().map(|it| it.usd).sum();
        last.push_str(&self.cost(tokens, usd));
        lines.push((Tone::Strong, last));
        lines
    }

    fn span(&self, time: Duration) -> String {
        duration(
            &self.output,
            i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        )
    }

    fn cost(&self, tokens: u64, usd: f64) -> String {
        cost(&self.output, tokens, usd)
    }
}

/// Formats tokens and dollars as a suffix; empty if neither is known.
pub(crate) fn cost(output: &Output, tokens: u64, usd: f64) -> String {
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

fn bar(done: usize, total: usize) -> String {
    let full = match total {
        0 => BAR,
        total => done * BAR / total,
    };
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}
