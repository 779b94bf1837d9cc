//! Commands of Bowline that only a person gives.

use super::deed::Deed;
use super::walk::Walker;

/// Says in a script that it acts for a person. An agent's command line has no business with it.
pub(super) const ACTOR_VARIABLE: &str = "BOWLINE_ACTOR";

/// Options of every command that take a value.
const VALUED: [&str; 3] = ["-C", "--lang", "--dir"];
/// Options that make a person's move of any command.
const PERSONS: [&str; 4] = ["--by-hand", "--fresh", "--override", "--uninstall"];

/// Notes a person's move. What else the command does is looked at elsewhere.
pub(super) fn run(walker: &mut Walker<'_>, name: &str, arguments: &[String]) {
    if name == "bowline" && is_persons(arguments) {
        let what = format!("{name} {}", arguments.join(" "));
        walker.add(Deed::Person { what });
    }
}

fn is_persons(arguments: &[String]) -> bool {
    let mut words = Vec::new();
    let mut options = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "--" => break,
            valued if VALUED.contains(&valued) => {
                rest.next();
            }
            option if option.starts_with('-') => {
                options.push(option.split('=').next().unwrap_or(option));
            }
            word => words.push(word),
        }
    }
    if ["-h", "--help"].iter().any(|help| options.contains(help)) {
        return false;
    }
    let back = |phase: &&str| {
        ["DESIGN", "REVIEW"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(phase))
    };
    match words.as_slice() {
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
