//! Agents' words in what `bowline task` prints: with nothing invisible, and behind a bar, so that
//! no line of theirs passes for one of ours.

use bowline_engine::formats::visible;
use bowline_words::Lang;
use bowline_words::message::TaskOutput;

/// Limits for one item of a list; `bowline task show` prints all of it.
const LISTED_LINES_MAX: usize = 12;
const LISTED_CHARACTERS_MAX: usize = 1_000;

/// Splits a text into lines, with nothing invisible.
pub(super) fn prose_lines(text: &str) -> Vec<String> {
    let lines = visible::escape_prose(text);
    lines.lines().map(str::to_owned).collect()
}

/// Puts a bar before each line.
pub(super) fn quote_lines(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| format!("    │ {line}")).collect()
}

/// Puts a bar before each line, up to the limits of a list; the rest is counted, with the command
/// that shows it.
pub(super) fn quote_lines_in_list(lines: &[String], lang: Lang, task: &str) -> Vec<String> {
    let mut room = LISTED_CHARACTERS_MAX;
    let mut shown = Vec::new();
    for line in lines.iter().take(LISTED_LINES_MAX) {
        let part: String = line.chars().take(room).collect();
        let count = part.chars().count();
        shown.push(part);
        if count < line.chars().count() {
            break;
        }
        room -= count;
    }
    let characters = |lines: &[String]| -> usize {
        let counts = lines.iter().map(|line| line.chars().count());
        counts.sum()
    };
    let hidden = characters(lines) - characters(&shown);
    let mut listed = quote_lines(&shown);
    if hidden > 0 || shown.len() < lines.len() {
        let rest = TaskOutput::HiddenRest {
            lines: lines.len() - shown.len(),
            characters: hidden,
            task: task.to_owned(),
        };
        listed.push(format!("    {}", rest.say(lang)));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_what_it_does_not_show() {
        let lines = prose_lines(&"long\n".repeat(LISTED_LINES_MAX + 3));
        let listed = quote_lines_in_list(&lines, Lang::En, "task_1");
        assert_eq!(listed.len(), LISTED_LINES_MAX + 1);
        let last = listed.last().map(String::as_str);
        let told = "    +3 lines, +12 characters: bowline task show task_1";
        assert_eq!(last, Some(told));
        assert_eq!(
            quote_lines_in_list(&lines[..2], Lang::En, "task_1").len(),
            2
        );
        let wide = ["x".repeat(LISTED_CHARACTERS_MAX + 5)];
        let listed = quote_lines_in_list(&wide, Lang::En, "task_1");
        let told = "    +0 lines, +5 characters: bowline task show task_1";
        assert_eq!(listed.last().map(String::as_str), Some(told));
    }
}
