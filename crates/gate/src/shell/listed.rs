//! Programs that list files, and programs that run with each listed file. Of all names that a list
//! may hold, only those of git's hooks matter, and one stands for all.

use super::expand::is_unknown;
use super::parse::UNKNOWN_NAME;
use super::run::base_name;
use super::side_effect::SideEffect;
use super::tree::CommandNode;
use super::walk::{CommandInput, ShellWalker};

/// Names of hooks that `bowline init` installs. The first that matches stands for all.
const HOOKS: [&str; 4] = [
    "pre-commit",
    "pre-push",
    "pre-merge-commit",
    "reference-transaction",
];
/// Folders of hooks relative to a git folder and to a project.
const BELOW: [&str; 3] = ["", "hooks/", ".git/hooks/"];
/// Programs that print some of the lines they read.
const FILTERS: &str = "cat grep egrep fgrep head rg shuf sort tac tail tee uniq";

/// Returns the hooks among the files that `find` finds.
pub(super) fn hooks_found_by_find(arguments: &[String]) -> Vec<String> {
    let is_option = |it: &&String| matches!(it.as_str(), "-H" | "-L" | "-P");
    let rest = &arguments[arguments.iter().take_while(is_option).count()..];
    let is_folder = |it: &&String| !it.starts_with('-') && !matches!(it.as_str(), "(" | "!");
    let count = rest.iter().take_while(is_folder).count();
    let (folders, tests) = rest.split_at(count);
    // A test most often excludes git's own folder.
    let leaves_out = |pair: &[String]| {
        matches!(pair[0].as_str(), "!" | "-not" | "-path" | "-name") && pair[1].contains(".git")
    };
    let negated = tests
        .iter()
        .any(|it| matches!(it.as_str(), "!" | "-not" | "-prune"));
    let names_git = |it: &String| it.contains(".git");
    if negated && (tests.windows(2).any(leaves_out) || tests.iter().any(names_git)) {
        return Vec::new();
    }
    let value = |option: &str| {
        let at = tests.iter().position(|it| it == option);
        at.and_then(|at| tests.get(at + 1))
    };
    let depth = value("-maxdepth").and_then(|it| it.parse().ok());
    let name = value("-name").or_else(|| value("-iname"));
    let fits = |hook: &&&str| name.is_none_or(|name| matches_pattern(name, hook));
    let Some(hook) = HOOKS.iter().find(fits) else {
        return Vec::new();
    };
    let here = [".".to_owned()];
    let folders = if folders.is_empty() { &here } else { folders };
    let known = folders.iter().filter(|it| !is_unknown(it));
    let below = |folder: &String| {
        let reached = BELOW.iter().filter(move |below| {
            let deep = below.matches('/').count() + 1;
            depth.is_none_or(|depth: usize| deep <= depth)
        });
        let folder = folder.trim_end_matches('/').to_owned();
        reached.map(move |below| format!("{folder}/{below}{hook}"))
    };
    known.flat_map(below).collect()
}

/// Returns the hooks among the output of a command; `before` are those among its input.
pub(super) fn hooks_printed_by(words: &[String], before: Vec<String>) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let hook = HOOKS[0];
    match base_name(program) {
        "find" | "gfind" if !arguments.iter().any(|it| it.starts_with("-exec")) => {
            hooks_found_by_find(arguments)
        }
        "ls" | "echo" | "printf" | "dir" => {
            let unknown = UNKNOWN_NAME.to_string();
            let patterns = arguments.iter().filter(|it| it.contains(&unknown));
            let mut names: Vec<String> = patterns.map(|it| it.replace(&unknown, hook)).collect();
            // For a folder it prints the bare names.
            if names.is_empty() && base_name(program) == "ls" {
                names.push(hook.to_owned());
            }
            names
        }
        filter if FILTERS.split(' ').any(|it| it == filter) => {
            let inverts = |it: &String| {
                it == "--invert-match"
                    || it.starts_with('-') && !it.starts_with("--") && it.contains('v')
            };
            match arguments.iter().any(inverts) {
                true => Vec::new(),
                false => before,
            }
        }
        _ => Vec::new(),
    }
}

/// True if a name matches a pattern with `*` and `?`; `[…]` matches anything.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let pattern = pattern.replace(UNKNOWN_NAME, "*");
    match pattern.chars().next() {
        None => name.is_empty(),
        Some('[') => true,
        Some('*') => {
            let rest = &pattern[1..];
            (0..=name.len())
                .any(|at| name.is_char_boundary(at) && matches_pattern(rest, &name[at..]))
        }
        Some(letter) => {
            let mut letters = name.chars();
            let first = letters.next();
            (letter == '?' && first.is_some() || first == Some(letter))
                && matches_pattern(&pattern[letter.len_utf8()..], letters.as_str())
        }
    }
}

impl ShellWalker<'_> {
    /// Returns the hooks among the output of a command in a pipe; `before` are those among its
    /// input.
    pub(super) fn hooks_listed_by(
        &mut self,
        node: &CommandNode,
        before: Vec<String>,
    ) -> Vec<String> {
        let CommandNode::Simple(simple) = node else {
            return Vec::new();
        };
        let known = self.side_effects.len();
        let words = self.only_words(simple);
        // The command was walked before; only its words are needed here.
        self.side_effects.truncate(known);
        words.map_or_else(Vec::new, |words| hooks_printed_by(&words, before))
    }

    /// Walks a command with a listed file. Only its effects on files count: the others were found
    /// with an unknown file.
    pub(super) fn run_on_listed(&mut self, words: &[String]) {
        let known = self.side_effects.len();
        self.walk_command(words, &CommandInput::None, &[]);
        let added = self
            .side_effects
            .split_off(known.min(self.side_effects.len()));
        let of_files = |it: &SideEffect| {
            matches!(
                it,
                SideEffect::Touch { .. } | SideEffect::Write { path: Some(_), .. }
            )
        };
        self.side_effects.extend(added.into_iter().filter(of_files));
    }
}
