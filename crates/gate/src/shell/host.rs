//! Side effects of the clients of git hosts: `gh`, `glab`.

use super::expand::is_unknown;
use super::walk::ShellWalker;
use bowline_words::message::Unseen;

/// Walks a call such as `gh pr create`, with options in any place.
pub(super) fn walk_host_client(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    noun: &str,
    verbs: &[&str],
) {
    let unknown = arguments.iter().take(2).any(|it| is_unknown(it));
    if unknown {
        walker.add_hidden(Unseen::CommandOf {
            name: name.to_owned(),
        });
        return;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if asks_for_help(&words) {
        return;
    }
    if let [first, rest @ ..] = arguments {
        let known = walker.aliases.get(&format!("{name} {first}"));
        for text in known.cloned().unwrap_or_default() {
            let rest: Vec<String> = rest.iter().map(|it| super::wrap::quote_word(it)).collect();
            let rest = rest.join(" ");
            match text.strip_prefix('!') {
                Some(text) => walker.walk_text(&format!("{text} {rest}")),
                None => walker.walk_text(&format!("{name} {text} {rest}")),
            }
        }
    }
    if let Some(at) = words.iter().position(|it| *it == noun)
        && let Some(verb) = words[at + 1..].iter().find(|it| verbs.contains(it))
        // `gh pr list --search create` is a list: the verb is the first word that is not an option.
        && first_verb(&words[at + 1..]) == Some(*verb)
    {
        // The repository may be named explicitly.
        let named =
            |it: &&str| it.starts_with("-R") || it.starts_with("--rep") || it.contains("://");
        let repository_chosen = words.iter().any(named)
            || walker.variables.contains_key("GH_REPO")
            || walker.around.environment_variable("GH_REPO").is_some();
        let folder = (!repository_chosen).then_some(".");
        walker.add_finish_in(folder, format!("{name} {noun} {verb}"));
    }
    match words.as_slice() {
        ["api", ..] => walk_api_call(walker, name, &words),
        ["alias", "set", rest @ ..] => {
            let plain: Vec<&&str> = rest.iter().filter(|it| !it.starts_with('-')).collect();
            if let [own, text] = plain.as_slice() {
                let shell = rest.iter().any(|it| matches!(*it, "-s" | "--shell"));
                let text = if shell {
                    format!("!{text}")
                } else {
                    (**text).to_owned()
                };
                let known = walker.aliases.entry(format!("{name} {own}")).or_default();
                if !known.contains(&text) {
                    known.push(text);
                }
            }
        }
        ["pr" | "mr", "checkout" | "co", ..] | ["co", ..] => {
            walker.add_write(".", &format!("{name} checkout"))
        }
        ["repo", "clone", _, folder, ..] if !folder.starts_with('-') => {
            walker.add_write(folder, &format!("{name} repo clone"));
        }
        _ => {}
    }
}

/// True if `--help` stands where it cannot be the value of an option.
fn asks_for_help(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        matches!(*word, "--help" | "-h") && (at == 0 || !words[at - 1].starts_with('-'))
    })
}

fn walk_api_call(walker: &mut ShellWalker<'_>, name: &str, words: &[&str]) {
    let fields = words.iter().any(|it| {
        it.starts_with("-f") || it.starts_with("-F") || it.contains("field") || *it == "--input"
    });
    let methods = words
        .windows(2)
        .any(|pair| matches!(pair[0], "-X" | "--method") && !pair[1].eq_ignore_ascii_case("get"));
    let glued = words
        .iter()
        .any(|it| it.contains("-XP") || it.contains("=P"));
    let pulls = words
        .iter()
        .any(|it| it.contains("/pulls") || it.contains("/merge") || it.contains("PullRequest"));
    if (fields || methods || glued) && pulls {
        walker.add_finish_in(None, format!("{name} api"));
    }
}

fn first_verb<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-R" | "--repo" => {
                rest.next();
            }
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}
