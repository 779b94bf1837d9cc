//! The transition table of a machine: every representative state with every command, computed by
//! running the machine.
//!
//! The printed form is a golden file in `docs/machines/`, so that a change of a rule is a change of
//! a page people read.

use crate::kernel::{CodedRefusal, Machine, Timestamp};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The time at which every cell of a table is computed: an hour after [`PAST_TIME`].
pub const TABLE_TIME: Timestamp = Timestamp(1_767_265_200);
/// The time of past events in the representative states.
pub const PAST_TIME: Timestamp = Timestamp(1_767_261_600);

/// A machine that can list its representative states and commands.
pub trait MachineCatalogue: Machine {
    /// The kind's name, as on the command line.
    const KIND: &'static str;
    /// Returns one state for every case that the rules distinguish, with a short name.
    fn sample_states() -> Vec<(&'static str, Self::State)>;
    /// Returns one command for every case that the rules distinguish, with a short name.
    fn sample_commands() -> Vec<(&'static str, Self::Command)>;
    /// Returns the label of a state, which is its node in the diagram.
    fn state_label(state: &Self::State) -> String;
    /// Describes an effect in a word or two.
    fn describe_effect(effect: &Self::Effect) -> String;
}

/// The outcome of one command in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableCell {
    /// The command is legal.
    Moves {
        /// Label of the next state.
        to: String,
        /// Descriptions of the effects.
        effects: Vec<String>,
    },
    /// The command is refused.
    Refused {
        /// Code of the refusal.
        code: &'static str,
        /// Message of the refusal.
        message: String,
    },
}

/// One row of the table: a state, a command, and the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// Name of the representative state.
    pub state: &'static str,
    /// Label of the state, which is its node in the diagram.
    pub label: String,
    /// Name of the command.
    pub command: &'static str,
    /// Outcome of the command.
    pub cell: TableCell,
}

/// Computes the whole table of a machine.
pub fn table_rows<M: MachineCatalogue>() -> Vec<TableRow> {
    let mut rows = Vec::new();
    for (state_name, state) in M::sample_states() {
        // Commands are made again for every state, because they need not be cloneable.
        for (command_name, command) in M::sample_commands() {
            let cell = match M::step(&state, command, TABLE_TIME) {
                Ok(step) => TableCell::Moves {
                    to: M::state_label(&step.next),
                    effects: step.effects.iter().map(M::describe_effect).collect(),
                },
                Err(refusal) => TableCell::Refused {
                    code: refusal.code(),
                    message: refusal.to_string(),
                },
            };
            rows.push(TableRow {
                state: state_name,
                label: M::state_label(&state),
                command: command_name,
                cell,
            });
        }
    }
    rows
}

/// Renders the page of a machine: a diagram of the transitions and the whole table.
pub fn render_page<M: MachineCatalogue>(title: &str, intro: &str) -> String {
    let rows = table_rows::<M>();
    let mut out = format!(
        "# {title}\n\n{}\n\n## Diagram\n\n```mermaid\nstateDiagram-v2\n",
        intro.trim()
    );
    let mut edges: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for row in &rows {
        if let TableCell::Moves { to, .. } = &row.cell {
            let verbs = edges.entry((row.label.clone(), to.clone())).or_default();
            if !verbs.contains(&row.command) {
                verbs.push(row.command);
            }
        }
    }
    for ((from, to), verbs) in &edges {
        let _ = writeln!(
            out,
            "    {} --> {}: {}",
            mermaid_id(from),
            mermaid_id(to),
            verbs.join(", ").replace([':', ';'], " ")
        );
    }
    let mut names: Vec<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    names.sort();
    names.dedup();
    for name in names {
        if mermaid_id(name) != *name {
            let _ = writeln!(out, "    {}: {name}", mermaid_id(name));
        }
    }
    out.push_str("```\n\n## Every state, every command\n\n");
    let mut last = "";
    for row in &rows {
        if row.state != last {
            last = row.state;
            let _ = writeln!(
                out,
                "\n### {}\n\n| command | comes to | effects, or why not |\n|---|---|---|",
                row.state
            );
        }
        match &row.cell {
            TableCell::Moves { to, effects } => {
                let _ = writeln!(
                    out,
                    "| {} | **{to}** | {} |",
                    row.command,
                    effects.join(", ")
                );
            }
            TableCell::Refused { code, message } => {
                let _ = writeln!(
                    out,
                    "| {} | – | `{code}`: {} |",
                    row.command,
                    message.replace('|', "\\|")
                );
            }
        }
    }
    out
}

/// Turns a label into an identifier that Mermaid accepts.
fn mermaid_id(label: &str) -> String {
    label
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}
