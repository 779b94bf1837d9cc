//! Cleans text of other programs for use in our files.

/// Removes terminal escapes and control characters, and normalises line ends to LF.
pub(super) fn clean_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => match rest.next() {
                // A control sequence ends with a letter, a title with a bell or a further escape.
                Some('[') => while rest.next().is_some_and(|it| !('@'..='~').contains(&it)) {},
                Some(']') => {
                    while let Some(it) = rest.next() {
                        if it == '\u{1b}' {
                            rest.next();
                        }
                        if it == '\u{7}' || it == '\u{1b}' {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            '\r' => {
                if rest.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\n' | '\t' => clean.push(letter),
            _ if letter.is_control() => {}
            _ => clean.push(letter),
        }
    }
    clean
}

/// Cleans a text and joins it into one line.
pub(super) fn one_line(text: &str) -> String {
    let clean = clean_text(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the ASCII letters and digits of a text, with hyphens between words.
pub(super) fn hyphenate_words(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// Formats a JSON value as people would write it.
pub(super) fn text_of_value(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(|it| !it.is_object() && !it.is_array()) => list
            .iter()
            .map(text_of_value)
            .collect::<Vec<_>>()
            .join(", "),
        Value::Object(map) if map.is_empty() => String::new(),
        other => other.to_string(),
    }
}
