//! Draws a timeline as SVG: a row for every task, time from left to right, and idle times cut
//! short.

use super::drawing::escape_xml;
use super::timeline::{PhaseLane, TaskBar, Timeline, TimelineTry, TryEnd};
use bowline_formats::time;
use bowline_machines::Timestamp;
use bowline_words::Lang;
use bowline_words::message::{Label, Status as StatusWord};
use std::fmt::Write as _;

/// Most rows that are drawn; a larger drawing would be unreadable.
const ROWS_MAX: usize = 2_000;
/// Width of the names, in pixels.
const NAMES: f64 = 300.0;
/// Width of the time axis, in pixels.
const TIMES: f64 = 900.0;
const ROW: f64 = 24.0;
const TOP: f64 = 74.0;
/// Idle times are cut short if longer than this fraction of all work, and than a minute.
const IDLE_SHARE: i64 = 20;
const IDLE_SECONDS_MIN: i64 = 60;
/// Width of an idle time that is cut short, in pixels.
const IDLE: f64 = 34.0;
/// Smallest width of a bar, in pixels.
const BAR_MIN: f64 = 3.0;
/// Most columns of a name; a Korean letter takes two.
const NAME_LETTERS: usize = 38;
/// Columns fewer for a name in bold.
const BOLD_LETTERS: usize = 5;
/// Most marks on the time axis.
const MARKS: i64 = 8;

/// Interval drawn at one scale.
struct AxisPiece {
    from: i64,
    to: i64,
    x: f64,
    width: f64,
    idle: bool,
}

/// Mapping of times to positions.
struct TimeAxis {
    pieces: Vec<AxisPiece>,
}

impl TimeAxis {
    fn from_timeline(timeline: &Timeline) -> TimeAxis {
        let busy = timeline.busy_intervals();
        let work: i64 = busy.iter().map(|(from, to)| to - from).sum();
        let idle_min = (work / IDLE_SHARE).max(IDLE_SECONDS_MIN);
        let mut spans: Vec<(i64, i64, bool)> = Vec::new();
        for (from, to) in busy {
            match spans.last_mut() {
                Some(last) if from - last.1 < idle_min => last.1 = to,
                Some(last) => {
                    let gap = (last.1, from, true);
                    spans.extend([gap, (from, to, false)]);
                }
                None => spans.push((from, to, false)),
            }
        }
        let gaps = spans.iter().filter(|it| it.2).count();
        let worked: i64 = spans.iter().filter(|it| !it.2).map(|it| it.1 - it.0).sum();
        let room = (TIMES - IDLE * count_as_float(gaps)).max(TIMES / 3.0);
        let mut x = NAMES;
        let pieces = spans.into_iter().map(|(from, to, idle)| {
            let width = match idle {
                true => IDLE,
                false => room * seconds_as_float(to - from) / seconds_as_float(worked.max(1)),
            };
            let piece = AxisPiece {
                from,
                to,
                x,
                width,
                idle,
            };
            x += width;
            piece
        });
        TimeAxis {
            pieces: pieces.collect(),
        }
    }

    fn end_x(&self) -> f64 {
        self.pieces.last().map_or(NAMES, |it| it.x + it.width)
    }

    fn x_at(&self, at: Timestamp) -> f64 {
        let piece = self.pieces.iter().find(|it| at.0 <= it.to);
        let Some(piece) = piece.or(self.pieces.last()) else {
            return NAMES;
        };
        let share =
            seconds_as_float(at.0 - piece.from) / seconds_as_float((piece.to - piece.from).max(1));
        piece.x + piece.width * share.clamp(0.0, 1.0)
    }
}

/// Converts a time span; spans of runs are far below the limit of exact floats.
fn seconds_as_float(span: i64) -> f64 {
    span as f64
}

fn count_as_float(number: usize) -> f64 {
    number as f64
}

impl Timeline {
    /// Renders the SVG.
    pub fn to_svg(&self, lang: Lang) -> String {
        let axis = TimeAxis::from_timeline(self);
        let shown: Vec<&TaskBar> = self.bars.iter().take(ROWS_MAX).collect();
        let lanes = self.lanes.iter();
        let lanes: Vec<_> = lanes
            .filter(|lane| shown.iter().any(|it| it.phase == lane.number))
            .collect();
        let rows = shown.len() + lanes.len();
        let (width, bottom) = (NAMES + TIMES + 40.0, TOP + ROW * count_as_float(rows));
        let height = bottom + 54.0;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"600\">{}</text>\n",
            escape_xml(&self.project)
        );
        if let Some((from, to)) = self.span() {
            let span_text = format!(
                "{} → {} · {}",
                time::format_utc(from),
                time::format_utc(to),
                render_duration(lang, self.busy_seconds)
            );
            let _ = writeln!(
                text,
                "<text x=\"16\" y=\"46\" fill=\"#555\">{}</text>",
                escape_xml(&span_text)
            );
        }
        draw_grid(&mut text, &axis, bottom, lang);
        let mut y = TOP;
        for lane in lanes {
            draw_phase_row(&mut text, &axis, lane, y, lang);
            y += ROW;
            for bar in shown.iter().filter(|it| it.phase == lane.number) {
                draw_task_row(&mut text, &axis, bar, y, lang);
                y += ROW;
            }
        }
        draw_legend(&mut text, bottom + 30.0, lang);
        text.push_str("</svg>\n");
        text
    }
}

/// Draws the marks of the time axis and the idle times.
fn draw_grid(text: &mut String, axis: &TimeAxis, bottom: f64, lang: Lang) {
    let work: i64 = axis
        .pieces
        .iter()
        .filter(|it| !it.idle)
        .map(|it| it.to - it.from)
        .sum();
    let steps = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400,
    ];
    let step = steps.into_iter().find(|it| work / it <= MARKS);
    let step = step.unwrap_or_else(|| (work / MARKS).max(1));
    for piece in &axis.pieces {
        let (x, top) = (piece.x, TOP - 6.0);
        if piece.idle {
            let middle = x + piece.width / 2.0;
            let _ = writeln!(
                text,
                "<rect x=\"{x:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#f1f3f5\"/>\
                 <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\" fill=\"#868e96\">⋯ {}</text>",
                piece.width,
                bottom - top,
                TOP - 10.0,
                escape_xml(&render_duration(lang, piece.to - piece.from))
            );
            continue;
        }
        let mut at = piece.from + (step - piece.from.rem_euclid(step)) % step;
        let mut last = f64::MIN;
        while at <= piece.to {
            let x = axis.x_at(Timestamp(at));
            let clock = time::format_utc(Timestamp(at));
            let clock = clock
                .get(11..if step < 60 { 19 } else { 16 })
                .unwrap_or_default();
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {top}V{bottom:.1}\" stroke=\"#e9ecef\"/>"
            );
            // Marks that are close together share one label.
            if x - last > 56.0 {
                let _ = writeln!(
                    text,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\" fill=\"#495057\">{clock}</text>",
                    TOP - 10.0
                );
                last = x;
            }
            at += step;
        }
    }
}

/// Draws the row of a phase.
fn draw_phase_row(text: &mut String, axis: &TimeAxis, lane: &PhaseLane, y: f64, lang: Lang) {
    let name = format!("{} {}  {}", Label::Phase.say(lang), lane.number, lane.title);
    let _ = writeln!(
        text,
        "<rect x=\"0\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{ROW}\" fill=\"#f8f9fa\" opacity=\"0.7\"/>\
         <text x=\"16\" y=\"{:.1}\" font-weight=\"600\">{}</text>",
        NAMES + TIMES + 40.0,
        y + 16.0,
        escape_xml(&cut_to_columns(
            name.trim_end(),
            NAME_LETTERS - BOLD_LETTERS + 2
        ))
    );
    if let Some((from, to)) = lane.span {
        let (x, end) = (axis.x_at(from), axis.x_at(to));
        let _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"5\" rx=\"2\" fill=\"#495057\"><title>{}</title></rect>",
            y + 10.0,
            (end - x).max(BAR_MIN),
            escape_xml(&render_duration(lang, to.0 - from.0))
        );
    }
}

fn draw_task_row(text: &mut String, axis: &TimeAxis, bar: &TaskBar, y: f64, lang: Lang) {
    // Bold letters are wider.
    let (weight, letters) = match bar.critical {
        true => (" font-weight=\"600\"", NAME_LETTERS - BOLD_LETTERS),
        false => ("", NAME_LETTERS),
    };
    let name = format!("{}  {}", bar.id, bar.title);
    let status = StatusWord::from_word(bar.status.name()).say(lang);
    let _ = writeln!(
        text,
        "<text x=\"28\" y=\"{:.1}\"{weight}>{}<title>{} · {status}</title></text>",
        y + 16.0,
        escape_xml(&cut_to_columns(name.trim_end(), letters)),
        escape_xml(name.trim_end()),
    );
    for (at, one) in bar.tries.iter().enumerate() {
        let (x, end) = (axis.x_at(one.from), axis.x_at(one.to));
        let edge = match bar.critical {
            true => " stroke=\"#1864ab\" stroke-width=\"2\"",
            false => "",
        };
        let tooltip = try_tooltip(bar, at, one, lang);
        let _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"15\" rx=\"3\" fill=\"{}\"{edge}><title>{}</title></rect>",
            y + 4.5,
            (end - x).max(BAR_MIN),
            try_colour(one.end),
            escape_xml(&tooltip)
        );
    }
    if let (Some(last), Some(first)) = (bar.tries.last(), bar.tries.first()) {
        let x = (axis.x_at(last.to) + 6.0).min(axis.end_x() + 6.0);
        let mut duration = render_duration(lang, last.to.0 - first.from.0);
        if bar.tries.len() > 1 {
            let _ = write!(duration, " ×{}", bar.tries.len());
        }
        // Without room behind the bar, the duration stands before it.
        let (x, anchor) = match x > NAMES + TIMES - 30.0 {
            true => (axis.x_at(first.from) - 6.0, "end"),
            false => (x, "start"),
        };
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"10\" fill=\"#868e96\">{}</text>",
            y + 15.5,
            escape_xml(&duration)
        );
    }
}

fn try_tooltip(bar: &TaskBar, at: usize, one: &TimelineTry, lang: Lang) -> String {
    let status = try_end_word(one.end, lang);
    format!(
        "{} · {} {} · {status} · {} · {}",
        bar.id,
        Label::Try.say(lang),
        at + 1,
        time::format_utc(one.from),
        render_duration(lang, one.to.0 - one.from.0)
    )
}

fn try_end_word(end: TryEnd, lang: Lang) -> String {
    match end {
        TryEnd::Lost => Label::Lost.say(lang),
        TryEnd::Running | TryEnd::Done | TryEnd::Failed => {
            StatusWord::from_word(end.name()).say(lang)
        }
    }
}

fn try_colour(end: TryEnd) -> &'static str {
    match end {
        TryEnd::Running => "#ffd43b",
        TryEnd::Done => "#69db7c",
        TryEnd::Failed => "#ff8787",
        TryEnd::Lost => "#ced4da",
    }
}

fn draw_legend(text: &mut String, y: f64, lang: Lang) {
    let mut x = 16.0;
    let ends = [TryEnd::Done, TryEnd::Failed, TryEnd::Lost, TryEnd::Running];
    let ends = ends.map(|end| (try_colour(end), "", try_end_word(end, lang)));
    let critical = (
        "#ffffff",
        " stroke=\"#1864ab\" stroke-width=\"2\"",
        Label::SlowestPath.say(lang),
    );
    let idle = ("#f1f3f5", "", Label::Idle.say(lang));
    for (fill, edge, word) in ends.into_iter().chain([critical, idle]) {
        let _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"12\" rx=\"3\" fill=\"{fill}\"{edge}/>\
             <text x=\"{:.1}\" y=\"{y:.1}\" fill=\"#495057\">{}</text>",
            y - 10.0,
            x + 20.0,
            escape_xml(&word)
        );
        x += 44.0 + 7.5 * count_as_float(text_columns(&word));
    }
}

/// Renders a time span in one or two units.
fn render_duration(lang: Lang, seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds_of = |count| Label::Seconds { count };
    let minutes = |count| Label::Minutes { count };
    let hours = |count| Label::Hours { count };
    let (first, rest) = match seconds {
        ..MINUTE => (seconds_of(seconds), None),
        MINUTE..HOUR => {
            let rest = seconds % MINUTE;
            (
                minutes(seconds / MINUTE),
                (rest > 0).then(|| seconds_of(rest)),
            )
        }
        HOUR..DAY => {
            let rest = seconds % HOUR / MINUTE;
            (hours(seconds / HOUR), (rest > 0).then(|| minutes(rest)))
        }
        _ => {
            let rest = seconds % DAY / HOUR;
            let count = seconds / DAY;
            (Label::Days { count }, (rest > 0).then(|| hours(rest)))
        }
    };
    match rest {
        Some(rest) => format!("{} {}", first.say(lang), rest.say(lang)),
        None => first.say(lang),
    }
}

/// Returns the columns that a text takes: letters of Korean and its neighbours take two.
pub(super) fn text_columns(text: &str) -> usize {
    let one = |letter: char| {
        if ('\u{1100}'..='\u{ffdc}').contains(&letter) {
            2
        } else {
            1
        }
    };
    text.chars().map(one).sum()
}

/// Shortens a text to a number of columns.
pub(super) fn cut_to_columns(text: &str, columns: usize) -> String {
    if text_columns(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        if text_columns(&cut) + 2 > columns {
            break;
        }
        cut.push(letter);
    }
    format!("{}…", cut.trim_end())
}
