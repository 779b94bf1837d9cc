//! Code of other languages in a command line: could it write a file, or start a program?
//!
//! Python and JavaScript, which agents write most, are read: code is cut into words, texts and signs, and every word that
//! opens, writes, runs or reaches for what has no name in the text must be used in a way that is clearly harmless or names
//! its target; any other use counts. All other languages are scanned for words, no more.

mod arguments;
mod languages;
mod lex;
mod look;
mod names;
mod scan;
mod texts;

use super::walk::Walker;

/// Finds what a piece of code would do.
pub(super) fn look(walker: &mut Walker<'_>, language: &str, code: &str) {
    // A program may be started in any folder by its options.
    walker.anywhere(|walker| {
        walker.deeper(|walker| match languages::find(language) {
            Some(known) => look::look(walker, known, language, code),
            None => scan::look(walker, language, code),
        });
    });
}
