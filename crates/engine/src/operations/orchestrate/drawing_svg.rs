//! The graph as a picture for browsers: a box for every phase, in it a column for every step, from left to right.

use super::drawing::{Sketch, colour, escaped};
use super::timeline_svg::{cut, width};
use bowline_machines::orchestrate::Status;
use bowline_words::Lang;
use bowline_words::message::{Label, Status as StatusWord};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A task.
const WIDTH: usize = 210;
const HEIGHT: usize = 42;
/// From one to the next.
const COLUMN: usize = 262;
const ROW: usize = 54;
/// Tasks below each other; more of one step stand in further columns.
const ROWS_MAX: usize = 24;
/// Around everything, and above the tasks of a phase.
const EDGE: usize = 20;
const HEAD: usize = 34;
/// Columns of text that fit into a task.
const TITLE_COLUMNS: usize = 30;

/// Where a task stands.
type Place = (usize, usize);
/// A phase with its left edge, its width and its rows.
type PhaseBox = (u32, usize, usize, usize);

impl Sketch<'_> {
    pub(super) fn svg(&self, lang: Lang) -> String {
        let (places, boxes) = self.places();
        let right = boxes.iter().map(|it| it.1 + it.2).max().unwrap_or(0);
        let rows = boxes.iter().map(|it| it.3).max().unwrap_or(0);
        let inner = HEAD + rows * ROW;
        let (wide, high) = ((right + EDGE).max(900), EDGE + inner + EDGE + 40);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        for (phase, x, wide, _) in &boxes {
            let title = format!(
                "{} {phase}  {}",
                Label::Phase.say(lang),
                self.phase_title(*phase)
            );
            let columns = wide.saturating_sub(24) / 8;
            let _ = writeln!(
                text,
                "<rect x=\"{x}\" y=\"{EDGE}\" width=\"{wide}\" height=\"{inner}\" rx=\"8\" fill=\"#f8f9fa\" stroke=\"#dee2e6\"/>\
                 <text x=\"{}\" y=\"{}\" font-weight=\"600\" fill=\"#495057\">{}<title>{}</title></text>",
                x + 12,
                EDGE + 21,
                escaped(&cut(title.trim_end(), columns)),
                escaped(title.trim_end())
            );
        }
        let mut edges = self.edges();
        // Those of the longest chain are drawn over the others.
        edges.sort_by_key(|(_, _, critical)| *critical);
        for (from, to, critical) in edges {
            let ((x1, y1), (x2, y2)) = (places[from], places[to]);
            let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
            // One that leads back, among the columns of one step, goes around.
            let bend = x2.saturating_sub(x1).max(48) / 2;
            let (one, two) = (x1 + bend, x2.saturating_sub(bend));
            let (wide, stroke) = match critical {
                true => (3, "#1864ab"),
                false => (1, "#adb5bd"),
            };
            let _ = writeln!(
                text,
                "<path d=\"M{x1} {y1}C{one} {y1} {two} {y2} {x2} {y2}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{wide}\"/>"
            );
        }
        for (id, (x, y)) in self.tasks.iter().zip(&places) {
            self.task(&mut text, id, *x, *y, lang);
        }
        legend(&mut text, EDGE + inner + 34, lang);
        text.push_str("</svg>\n");
        text
    }

    /// Where every task stands, and every phase with its left edge, its width and its rows.
    fn places(&self) -> (Vec<Place>, Vec<PhaseBox>) {
        let mut places = vec![(0, 0); self.tasks.len()];
        let (mut boxes, mut x) = (Vec::new(), EDGE);
        for (phase, tasks) in self.phases() {
            let mut steps: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (at, id) in tasks {
                steps.entry(self.steps[id]).or_default().push(at);
            }
            let (mut columns, mut rows) = (0, 0);
            for members in steps.values() {
                for (index, &at) in members.iter().enumerate() {
                    let (column, row) = (columns + index / ROWS_MAX, index % ROWS_MAX);
                    places[at] = (x + 12 + column * COLUMN, EDGE + HEAD + row * ROW);
                    rows = rows.max(row + 1);
                }
                columns += members.len().div_ceil(ROWS_MAX);
            }
            let wide = columns * COLUMN - (COLUMN - WIDTH) + 24;
            boxes.push((phase, x, wide, rows));
            x += wide + 40;
        }
        (places, boxes)
    }

    fn task(&self, text: &mut String, id: &str, x: usize, y: usize, lang: Lang) {
        let status = self.status(id);
        let (wide, edge) = match self.marked.contains(id) {
            true => (3, "#1864ab"),
            false => (1, "#868e96"),
        };
        let (title, word) = (self.title(id), StatusWord::of(status.name()).say(lang));
        let told = format!("{id} · {word}\n{title}");
        let _ = writeln!(
            text,
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{}\" \
             stroke=\"{edge}\" stroke-width=\"{wide}\"/><text x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text>\
             <text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#343a40\">{}</text></g>",
            escaped(told.trim_end()),
            colour(status),
            x + 10,
            y + 17,
            escaped(&cut(id, TITLE_COLUMNS - 4)),
            x + 10,
            y + 33,
            escaped(&cut(title, TITLE_COLUMNS))
        );
    }
}

fn legend(text: &mut String, y: usize, lang: Lang) {
    let mut x = EDGE;
    let words = Status::ALL.map(|status| {
        let word = StatusWord::of(status.name()).say(lang);
        (colour(status), "#868e96", 1, word)
    });
    let chain = ("#ffffff", "#1864ab", 3, Label::LongestChain.say(lang));
    for (fill, edge, wide, word) in words.into_iter().chain([chain]) {
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"12\" rx=\"3\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"{wide}\"/>\
             <text x=\"{}\" y=\"{y}\" fill=\"#495057\">{}</text>",
            y - 10,
            x + 20,
            escaped(&word)
        );
        x += 44 + 8 * width(&word);
    }
}
