//! Every message that Bowline shows to people, in every supported language.

#[macro_use]
mod table;

mod english;
mod korean;
mod lang;
pub mod message;
mod particle;

pub use korean::help as korean_help;
pub use lang::{LANG_VARIABLE, Lang};
