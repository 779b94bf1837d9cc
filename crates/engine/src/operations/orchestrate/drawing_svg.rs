//! Draws the graph as SVG: the phases are boxes below each other, and in each box the steps are
//! columns from left to right. A phase with more columns than fit on a screen continues below them.

use super::drawing::{GraphSketch, colour, escape_xml};
use super::timeline_svg::{cut_to_columns, text_columns};
use bowline_machines::orchestrate::NodeStatus;
use bowline_words::Lang;
use bowline_words::message::{Label, Status as StatusWord};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Size of a task, in pixels.
const WIDTH: usize = 210;
const HEIGHT: usize = 42;
/// Distance from one task to the next.
const COLUMN: usize = 256;
const ROW: usize = 54;
/// Most tasks below each other; further tasks of a step take more columns.
const ROWS_MAX: usize = 24;
/// Most columns beside each other: those that fit on a screen of 1,600 pixels.
const COLUMNS_MAX: usize = 6;
/// Space between two bands of columns, and between two phases, for the lines between them.
const BAND_GAP: usize = 24;
const PHASE_GAP: usize = 22;
/// Margin around everything, and height of a phase's title.
const EDGE: usize = 20;
const HEAD: usize = 34;
/// Most columns of text in a task.
const TITLE_COLUMNS: usize = 30;

/// Position of a task.
#[derive(Debug, Clone, Copy, Default)]
struct TaskPosition {
    x: usize,
    y: usize,
    /// Tasks of one band are beside each other.
    band: usize,
}

/// Position and size of a phase.
struct PhaseBox {
    number: u32,
    y: usize,
    wide: usize,
    high: usize,
}

impl GraphSketch<'_> {
    pub(super) fn to_svg(&self, lang: Lang) -> String {
        let (places, boxes) = self.place_tasks();
        let right = boxes.iter().map(|it| EDGE + it.wide).max().unwrap_or(0);
        let bottom = boxes.iter().map(|it| it.y + it.high).max().unwrap_or(EDGE);
        let (wide, high) = ((right + EDGE).max(900), bottom + EDGE + 40);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        for PhaseBox {
            number,
            y,
            wide,
            high,
        } in &boxes
        {
            let title = format!(
                "{} {number}  {}",
                Label::Phase.say(lang),
                self.phase_title(*number)
            );
            let columns = wide.saturating_sub(24) / 8;
            let _ = writeln!(
                text,
                "<rect x=\"{EDGE}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" rx=\"8\" fill=\"#f8f9fa\" stroke=\"#dee2e6\"/>\
                 <text x=\"{}\" y=\"{}\" font-weight=\"600\" fill=\"#495057\">{}<title>{}</title></text>",
                EDGE + 12,
                y + 21,
                escape_xml(&cut_to_columns(title.trim_end(), columns)),
                escape_xml(title.trim_end())
            );
        }
        let mut edges = self.edges();
        // Edges of the critical path are drawn over the others.
        edges.sort_by_key(|(_, _, critical)| *critical);
        for (from, to, critical) in edges {
            let line = edge_path(places[from], places[to]);
            let (wide, stroke) = match critical {
                true => (3, "#1864ab"),
                false => (1, "#adb5bd"),
            };
            let _ = writeln!(
                text,
                "<path d=\"{line}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{wide}\"/>"
            );
        }
        for (id, place) in self.tasks.iter().zip(&places) {
            self.draw_task(&mut text, id, place.x, place.y, lang);
        }
        draw_legend(&mut text, bottom + 34, lang);
        text.push_str("</svg>\n");
        text
    }

    /// Places every task and every phase.
    fn place_tasks(&self) -> (Vec<TaskPosition>, Vec<PhaseBox>) {
        let mut places = vec![TaskPosition::default(); self.tasks.len()];
        let (mut boxes, mut y, mut band) = (Vec::new(), EDGE, 0);
        for (number, tasks) in self.drawn_phases() {
            let mut steps: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (at, id) in tasks {
                steps.entry(self.steps[id]).or_default().push(at);
            }
            let columns: Vec<&[usize]> = steps
                .values()
                .flat_map(|members| members.chunks(ROWS_MAX))
                .collect();
            let top = y;
            y += HEAD;
            for (at, columns) in columns.chunks(COLUMNS_MAX).enumerate() {
                y += if at > 0 { BAND_GAP } else { 0 };
                band += 1;
                for (column, members) in columns.iter().enumerate() {
                    for (row, &at) in members.iter().enumerate() {
                        places[at] = TaskPosition {
                            x: EDGE + 12 + column * COLUMN,
                            y: y + row * ROW,
                            band,
                        };
                    }
                }
                let rows = columns.iter().map(|members| members.len()).max();
                y += rows.unwrap_or(0) * ROW;
            }
            boxes.push(PhaseBox {
                number,
                y: top,
                wide: columns.len().min(COLUMNS_MAX) * COLUMN - (COLUMN - WIDTH) + 24,
                high: y - top,
            });
            y += PHASE_GAP;
        }
        let wide = boxes.iter().map(|it| it.wide).max().unwrap_or(0);
        for one in &mut boxes {
            one.wide = wide;
        }
        (places, boxes)
    }

    fn draw_task(&self, text: &mut String, id: &str, x: usize, y: usize, lang: Lang) {
        let status = self.task_status(id);
        let (wide, edge) = match self.marked.contains(id) {
            true => (3, "#1864ab"),
            false => (1, "#868e96"),
        };
        let (title, word) = (
            self.task_title(id),
            StatusWord::from_word(status.name()).say(lang),
        );
        let tooltip = format!("{id} · {word}\n{title}");
        let _ = writeln!(
            text,
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{}\" \
             stroke=\"{edge}\" stroke-width=\"{wide}\"/><text x=\"{}\" y=\"{}\" font-weight=\"600\">{}</text>\
             <text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#343a40\">{}</text></g>",
            escape_xml(tooltip.trim_end()),
            colour(status),
            x + 10,
            y + 17,
            escape_xml(&cut_to_columns(id, TITLE_COLUMNS - 4)),
            x + 10,
            y + 33,
            escape_xml(&cut_to_columns(title, TITLE_COLUMNS))
        );
    }
}

/// Returns the path of an edge: from the right of one task to the left of the other if they are
/// beside each other, else from below it to the other's top.
fn edge_path(from: TaskPosition, to: TaskPosition) -> String {
    if from.band == to.band && to.x > from.x {
        let (x1, y1) = (from.x + WIDTH, from.y + HEIGHT / 2);
        let (x2, y2) = (to.x, to.y + HEIGHT / 2);
        let bend = (x2 - x1) / 2;
        return format!("M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}", x1 + bend, x2 - bend);
    }
    let (x1, y1) = (from.x + WIDTH / 2, from.y + HEIGHT);
    let (x2, y2) = (to.x + WIDTH / 2, to.y);
    let bend = (y2.saturating_sub(y1) / 2).clamp(24, 120);
    let before = y2.saturating_sub(bend);
    format!("M{x1} {y1}C{x1} {} {x2} {before} {x2} {y2}", y1 + bend)
}

fn draw_legend(text: &mut String, y: usize, lang: Lang) {
    let mut x = EDGE;
    let words = NodeStatus::ALL.map(|status| {
        let word = StatusWord::from_word(status.name()).say(lang);
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
            escape_xml(&word)
        );
        x += 44 + 8 * text_columns(&word);
    }
}
