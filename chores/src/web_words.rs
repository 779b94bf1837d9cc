//! The words of the web page in every language, as a module with their types.

use bowline_words::Lang;
use bowline_words::message::{Web, WebForms};
use std::fmt::Write as _;

/// Where it is, from the root.
pub(crate) const PATH: &str = "web/src/lib/words.ts";

/// What the names of sentences and of their parameters are to the page; the sentences themselves say them.
const TYPES: &str = "\
export type Word = keyof typeof words.en;

type NamesIn<Sentence extends string> = Sentence extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The names of what a sentence takes. */
export type Parameters = { [W in Word]: NamesIn<(typeof words.en)[W]> };
";

/// Its text.
pub(crate) fn words() -> String {
    let mut text = String::from(
        "// Written by `cargo xtask docs` from crates/words: change the tables there.\n\n",
    );
    text.push_str("export const words = {\n");
    for (name, lang) in [("en", Lang::En), ("ko", Lang::Ko)] {
        let _ = writeln!(text, "  {name}: {{");
        for (word, sentence) in sentences(lang) {
            let sentence = serde_json::Value::from(sentence);
            let _ = writeln!(text, "    {}: {sentence},", camel(word));
        }
        text.push_str("  },\n");
    }
    text.push_str("} as const;\n\n");
    text.push_str(TYPES);
    text
}

/// Every sentence of the page in a language, with its name.
fn sentences(lang: Lang) -> impl Iterator<Item = (&'static str, String)> {
    let web = Web::ALL.iter().map(move |(name, it)| (*name, it.say(lang)));
    let forms = WebForms::ALL.iter();
    web.chain(forms.map(move |(name, it)| (*name, it.say(lang))))
}

fn camel(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{sentences, words};
    use bowline_words::Lang;

    /// The names in braces, each once.
    fn parameters(sentence: &str) -> Vec<&str> {
        let mut names = Vec::new();
        for part in sentence.split('{').skip(1) {
            if let Some((name, _)) = part.split_once('}')
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    #[test]
    fn both_languages_take_the_same_parameters_and_no_particle_is_left_to_fit() {
        for ((name, english), (_, korean)) in sentences(Lang::En).zip(sentences(Lang::Ko)) {
            let sorted = |sentence| {
                let mut names = parameters(sentence);
                names.sort_unstable();
                names.join(" ")
            };
            assert_eq!(sorted(&english), sorted(&korean), "{name}");
            // A particle that depends on a value cannot be chosen before the value is there.
            for particle in ["은", "는", "이", "가", "을", "를", "과", "와", "으로", "로"]
            {
                let after = format!("}}{particle} ");
                assert!(!korean.contains(&after), "{name}: {korean}");
            }
        }
    }

    #[test]
    fn the_module_has_every_word_in_both_languages() {
        let text = words();
        let lines = text.matches("\n    board: ").count();
        assert_eq!(lines, 2, "{text}");
    }
}
