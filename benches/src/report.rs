//! The table of one benchmark, as Markdown that is also readable on a terminal.

use std::fmt;

/// What one benchmark found.
#[derive(Debug)]
pub(crate) struct Report {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// What was measured, and against what.
    pub(crate) about: String,
    /// Names of the columns; the first one is text, the others are figures.
    pub(crate) columns: &'static [&'static str],
    /// One row per thing measured.
    pub(crate) rows: Vec<Vec<String>>,
    /// What was promised, and what came of it.
    pub(crate) bound: Option<Bound>,
}

/// A promise and the figure to hold against it.
#[derive(Debug)]
pub(crate) struct Bound {
    /// The promise in words.
    pub(crate) promise: &'static str,
    /// The worst figure in words.
    pub(crate) found: String,
    /// Whether it was kept.
    pub(crate) kept: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n\n{}\n", self.name, self.about)?;
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, title)| {
                let widest = cells(at).map(|cell| cell.chars().count()).max();
                widest.unwrap_or(0).max(title.chars().count()).max(3)
            })
            .collect();
        let line = |f: &mut fmt::Formatter<'_>, cells: &[&str]| {
            for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                match at {
                    0 => write!(f, "| {cell:<width$} ")?,
                    _ => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")
        };
        line(f, self.columns)?;
        for (at, width) in widths.iter().enumerate() {
            match at {
                0 => write!(f, "|{}", "-".repeat(width + 2))?,
                _ => write!(f, "|{}:", "-".repeat(width + 1))?,
            }
        }
        writeln!(f, "|")?;
        for row in &self.rows {
            let row: Vec<&str> = row.iter().map(String::as_str).collect();
            line(f, &row)?;
        }
        if let Some(bound) = &self.bound {
            let verdict = if bound.kept { "PASS" } else { "OVER BOUND" };
            writeln!(
                f,
                "\nBound: {}. Found {}: **{verdict}**.",
                bound.promise, bound.found
            )?;
        }
        Ok(())
    }
}
