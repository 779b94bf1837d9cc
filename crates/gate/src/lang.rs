//! The language of what is told.

pub use bowline_words::{LANG_VARIABLE, Lang};
