//! Code of other languages in a command line: could it write a file, or start a program?
//!
//! No spelling is chased. Code is cut into words, texts and signs; where that cannot be done for certain, letters
//! between quotes count as words too. Then every word that opens, writes, runs or reaches for what has no name in the
//! text must be used in a way that is clearly harmless or names its target; any other use counts.

mod arguments;
mod awk;
mod languages;
mod lex;
mod look;
mod names;
mod perl;
mod texts;

use super::walk::Walker;

pub(super) use perl::magic_argument;

/// Finds what a piece of code would do.
pub(super) fn look(walker: &mut Walker<'_>, language: &str, code: &str) {
    // A program may be started in any folder by its options.
    walker.anywhere(|walker| {
        walker.deeper(|walker| match language {
            "awk" | "gawk" | "mawk" => awk::look(walker, language, code),
            _ => look::look(walker, language, code),
        });
    });
}
