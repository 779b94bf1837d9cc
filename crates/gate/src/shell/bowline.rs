//! Commands of Bowline that only a person may give.

use super::side_effect::SideEffect;
use super::walk::ShellWalker;

/// Set by scripts that act for a person. An agent's command line has no reason to set it.
pub(super) const ACTOR_VARIABLE: &str = "BOWLINE_ACTOR";

/// Options of every command that take a value.
const VALUED: [&str; 3] = ["-C", "--lang", "--dir"];
/// Options that turn any command into a person's.
const PERSONS: [&str; 4] = ["--by-hand", "--fresh", "--override", "--uninstall"];

/// Adds a command of Bowline that only a person may give, always or while a gate is closed. Other
/// effects of the command are found elsewhere.
pub(super) fn walk_bowline(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
    if name != "bowline" {
        return;
    }
    let line = CommandLine::parse(arguments);
    let what = || format!("{name} {}", arguments.join(" "));
    if line.is_persons() {
        walker.add(SideEffect::Person { what: what() });
    } else if line.words.first() == Some(&"init")
        && !line.has_option(&["-h", "--help", "--dry-run"])
    {
        walker.add_setup_in(line.folder.unwrap_or("."), &what());
    }
}

/// The words and options of a command of Bowline.
struct CommandLine<'a> {
    words: Vec<&'a str>,
    options: Vec<&'a str>,
    /// The folder given with `-C`.
    folder: Option<&'a str>,
}

impl<'a> CommandLine<'a> {
    fn parse(arguments: &'a [String]) -> Self {
        let (mut words, mut options, mut folder) = (Vec::new(), Vec::new(), None);
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match word {
                "--" => break,
                valued if VALUED.contains(&valued) => {
                    let value = rest.next();
                    folder = value.filter(|_| valued == "-C").or(folder);
                }
                option if option.starts_with('-') => {
                    options.push(option.split('=').next().unwrap_or(option));
                }
                word => words.push(word),
            }
        }
        CommandLine {
            words,
            options,
            folder,
        }
    }

    fn has_option(&self, options: &[&str]) -> bool {
        options.iter().any(|it| self.options.contains(it))
    }

    fn is_persons(&self) -> bool {
        !self.has_option(&["-h", "--help"]) && is_persons(&self.words, &self.options)
    }
}

fn is_persons(words: &[&str], options: &[&str]) -> bool {
    let back = |phase: &&str| {
        ["DESIGN", "REVIEW"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(phase))
    };
    match words {
        ["undo" | "restore", ..]
        | ["develop", "reset" | "seal", ..]
        | ["memory", "restore", ..]
        | ["memory", "task", "recover", ..] => true,
        ["develop", "back", phase, ..] if back(phase) => true,
        ["develop" | "thinking" | "memory" | "init", ..] => {
            PERSONS.iter().any(|persons| options.contains(persons))
        }
        _ => false,
    }
}
