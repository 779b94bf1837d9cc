//! Code of other languages in a command line: could it write a file, or start a program?
//!
//! Python and JavaScript, which agents write most, are analysed: code is split into words, strings
//! and signs. Every word that opens, writes, runs, or reaches for things not named in the text must
//! be used in a way that is clearly harmless or names its target; any other use counts. All other
//! languages are only scanned for words.

mod arguments;
mod languages;
mod lex;
mod look;
mod names;
mod scan;
mod texts;

use super::walk::ShellWalker;

/// Adds the side effects of a piece of code.
pub(super) fn look(walker: &mut ShellWalker<'_>, language: &str, code: &str) {
    // Options of the interpreter may choose any folder.
    walker.in_any_folder(|walker| {
        walker.deeper(|walker| match languages::find(language) {
            Some(known) => look::look(walker, known, language, code),
            None => scan::look(walker, language, code),
        });
    });
}
