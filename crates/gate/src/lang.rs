//! Re-exports the output language.

pub use bowline_words::{LANG_VARIABLE, Lang};
