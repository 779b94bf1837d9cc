//! What every kind of work needs to have agents work: no kind is known here.

pub mod attempts;
pub mod breakers;
pub mod clients;
pub mod crew;
pub mod hearing;
pub mod ladder;
pub mod note;
pub mod stopper;
pub mod text;
pub mod tidy;
pub mod why;

/// A word as a shell takes it for nothing but a word. Always in quotes: without, some words are keywords or set a variable.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
