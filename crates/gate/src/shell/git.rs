//! git, and the clients of its hosts.

use super::expand::is_unknown;
use super::run::Environment;
use super::walk::{Input, Walker};

/// Options of git itself that take the next word as their value.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--exec-path",
];

/// What makes a commit, moves a branch, or sends one away.
const FINISHING: &[&str] = &[
    "am",
    "cherry-pick",
    "commit",
    "commit-tree",
    "fast-import",
    "filter-branch",
    "filter-repo",
    "http-push",
    "merge",
    "pull",
    "push",
    "quiltimport",
    "rebase",
    "revert",
    "send-pack",
    "subtree",
    "update-ref",
];

/// Commands of git that no alias can take the place of, and that do nothing a gate closes.
const HARMLESS: &[&str] = &[
    "add",
    "annotate",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "cherry",
    "clean",
    "clone",
    "column",
    "config",
    "count-objects",
    "credential",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fetch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "index-pack",
    "init",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "maintenance",
    "merge-base",
    "merge-tree",
    "mktag",
    "mktree",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "range-diff",
    "reflog",
    "remote",
    "repack",
    "replace",
    "rerere",
    "rev-list",
    "rev-parse",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stage",
    "status",
    "stripspace",
    "submodule",
    "symbolic-ref",
    "tag",
    "unpack-objects",
    "update-index",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// A call of git: its folder, and what its options define.
struct Call<'a> {
    folder: Option<String>,
    arguments: &'a [String],
}

/// Runs git or a client of its hosts. Says whether it was one.
pub(super) fn run(
    walker: &mut Walker<'_>,
    name: &str,
    arguments: &[String],
    environment: &Environment,
) -> bool {
    match name {
        "git" | "git.exe" => git(walker, arguments, environment),
        "gh" => host(walker, "gh", arguments, "pr", &["create", "merge", "new"]),
        "glab" => host(
            walker,
            "glab",
            arguments,
            "mr",
            &["create", "merge", "accept"],
        ),
        "hub" => match arguments.first().map(String::as_str) {
            Some("pull-request" | "merge" | "push" | "am" | "cherry-pick") => {
                walker.finish(format!("hub {}", arguments[0]));
            }
            _ => git(walker, arguments, environment),
        },
        _ => match name.strip_prefix("git-") {
            Some(command) => {
                let mut words = vec![command.to_owned()];
                words.extend(arguments.iter().cloned());
                git(walker, &words, environment);
            }
            None => return false,
        },
    }
    true
}

fn git(walker: &mut Walker<'_>, arguments: &[String], environment: &Environment) {
    programs_in_environment(walker, environment);
    let mut folder: Option<String> = None;
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        if is_unknown(first) {
            walker.hidden("a command of git that is put together while it runs");
            return;
        }
        if !first.starts_with('-') {
            break;
        }
        rest = after;
        if VALUED.contains(&first.as_str()) {
            let value = after.first().cloned().unwrap_or_default();
            rest = after.get(1..).unwrap_or_default();
            match first.as_str() {
                "-C" | "--work-tree" => {
                    folder = Some(match folder {
                        Some(before) if !value.starts_with('/') => format!("{before}/{value}"),
                        Some(_) | None => value,
                    });
                }
                "-c" => configured(walker, &value),
                _ => {}
            }
        } else if let Some(value) = first.strip_prefix("--work-tree=") {
            folder = Some(value.to_owned());
        } else if let Some(value) = first.strip_prefix("-c").filter(|it| !it.is_empty()) {
            configured(walker, value);
        }
    }
    if let Some((command, arguments)) = rest.split_first() {
        let call = Call { folder, arguments };
        subcommand(walker, command, &call, environment);
    }
}

fn subcommand(walker: &mut Walker<'_>, command: &str, call: &Call<'_>, environment: &Environment) {
    let has = |words: &[&str]| call.arguments.iter().any(|it| words.contains(&it.as_str()));
    let named: Vec<&String> = call
        .arguments
        .iter()
        .filter(|it| !it.starts_with('-'))
        .collect();
    let folder = call.folder.as_deref().unwrap_or(".");
    let mut writes = |wanted: bool| {
        if wanted {
            walker.write(folder, &format!("git {command}"));
        }
    };
    match command {
        _ if FINISHING.contains(&command) => walker.finish(format!("git {command}")),
        "svn" if has(&["dcommit"]) => walker.finish("git svn dcommit"),
        "p4" if has(&["submit"]) => walker.finish("git p4 submit"),
        "apply" => writes(!has(&[
            "--check",
            "--stat",
            "--numstat",
            "--summary",
            "--cached",
        ])),
        "checkout" => writes(!(has(&["-b", "-B", "--orphan"]) && named.len() <= 1)),
        "switch" => writes(
            !(has(&["-c", "-C", "--create", "--force-create", "--orphan"]) && named.len() <= 1),
        ),
        "restore" => {
            writes(!has(&["--staged", "-S"]) || has(&["--worktree", "-W"]));
        }
        "stash" => writes(has(&["pop", "apply", "branch"])),
        "reset" => writes(has(&["--hard", "--merge", "--keep"])),
        "read-tree" => writes(has(&["-u"])),
        "checkout-index" | "merge-file" | "mv" | "rerere-train" => writes(true),
        _ => {}
    }
    output_options(walker, command, call);
    match command {
        "submodule" if has(&["foreach"]) => {
            let at = call.arguments.iter().position(|it| it == "foreach");
            let rest = &call.arguments[at.map_or(0, |at| at + 1)..];
            let rest = super::wrap::options(rest, &[]).join(" ");
            walker.text(&rest);
        }
        "bisect" if has(&["run"]) => {
            let at = call.arguments.iter().position(|it| it == "run");
            let rest = &call.arguments[at.map_or(0, |at| at + 1)..];
            walker.run(rest, &Input::None, &[]);
        }
        "difftool" | "mergetool" | "grep" => {
            for (at, word) in call.arguments.iter().enumerate() {
                let next = call.arguments.get(at + 1).cloned().unwrap_or_default();
                let text = match word.as_str() {
                    "-x" => Some(next),
                    other => ["--extcmd=", "--open-files-in-pager=", "-O"]
                        .iter()
                        .find_map(|option| other.strip_prefix(option))
                        .map(str::to_owned),
                };
                if let Some(text) = text {
                    walker.suspect(&text);
                }
            }
        }
        "config" => remember_alias(walker, &named),
        "rm" => named.iter().for_each(|it| walker.touch(it, true)),
        _ if FINISHING.contains(&command) || HARMLESS.contains(&command) => {}
        _ => alias(walker, command, call, environment),
    }
}

/// A command that is none of git's own: an alias, or a program on the path, which nobody can see into.
fn alias(walker: &mut Walker<'_>, command: &str, call: &Call<'_>, environment: &Environment) {
    let mut values = walker.git_aliases.get(command).cloned().unwrap_or_default();
    for folder in walker.folders.clone().into_iter().flatten() {
        values.extend(walker.around.git_alias(&folder, command));
    }
    let elsewhere = ["GIT_CONFIG", "HOME", "XDG_CONFIG_HOME"];
    let odd = |name: &str| elsewhere.iter().any(|prefix| name.starts_with(prefix));
    if environment.iter().any(|(name, _)| odd(name)) || walker.variables.keys().any(|it| odd(it)) {
        walker.hidden(format!("git {command}, with settings from elsewhere"));
    }
    for value in values {
        match value.strip_prefix('!') {
            Some(text) => {
                walker.text(text);
                let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                words.extend(call.arguments.iter().cloned());
                walker.run(&words, &Input::None, &[]);
            }
            None => {
                let mut words: Vec<String> = vec!["git".to_owned()];
                words.extend(
                    value
                        .split_whitespace()
                        .map(|it| it.trim_matches(['"', '\'']).to_owned()),
                );
                words.extend(call.arguments.iter().cloned());
                walker.run(&words, &Input::None, &[]);
            }
        }
    }
}

/// `git config alias.NAME VALUE`: known from here on.
fn remember_alias(walker: &mut Walker<'_>, named: &[&String]) {
    let mut words = named
        .iter()
        .skip_while(|it| matches!(it.as_str(), "set" | "add"));
    if let (Some(key), Some(value)) = (words.next(), words.next())
        && let Some(name) = key.strip_prefix("alias.")
    {
        let known = walker.git_aliases.entry(name.to_owned()).or_default();
        if !known.contains(value) {
            known.push((*value).clone());
        }
    }
}

/// `-c KEY=VALUE`: an alias, or a program that git will run.
fn configured(walker: &mut Walker<'_>, setting: &str) {
    let Some((key, value)) = setting.split_once('=') else {
        return;
    };
    let lower = key.to_lowercase();
    if let Some(name) = lower.strip_prefix("alias.") {
        let known = walker.git_aliases.entry(name.to_owned()).or_default();
        if !known.iter().any(|it| it == value) {
            known.push(value.to_owned());
        }
    } else if lower.starts_with("include") {
        // Settings of a file may hold anything, aliases too.
        walker.assign("GIT_CONFIG_INCLUDED", false, vec![value.to_owned()]);
    } else if !lower.starts_with("user.") {
        walker.suspect(value.trim_start_matches('!'));
    }
}

/// Variables that name programs git will run.
fn programs_in_environment(walker: &mut Walker<'_>, environment: &Environment) {
    let runs = |name: &str| {
        ["PAGER", "EDITOR", "_COMMAND", "ASKPASS", "_DIFF", "_SSH"]
            .iter()
            .any(|end| name.ends_with(end))
            || name.starts_with("GIT_CONFIG_")
    };
    let exported = walker
        .variables
        .iter()
        .filter(|(name, _)| runs(name))
        .flat_map(|(_, values)| values.iter().flatten().cloned());
    let mut texts: Vec<String> = exported.collect();
    let own = environment.iter().filter(|(name, _)| runs(name));
    texts.extend(own.map(|(_, value)| value.clone()));
    for text in texts {
        walker.suspect(text.trim_start_matches('!'));
    }
}

/// `--output FILE` of what prints.
fn output_options(walker: &mut Walker<'_>, command: &str, call: &Call<'_>) {
    for (at, word) in call.arguments.iter().enumerate() {
        let next = call.arguments.get(at + 1);
        let target = match word.as_str() {
            "--output" => next.cloned(),
            "-o" if command == "archive" => next.cloned(),
            other => other.strip_prefix("--output=").map(str::to_owned),
        };
        if let Some(target) = target {
            walker.write(&target, &format!("git {command}"));
        }
    }
}

/// `gh pr create`, wherever the options stand.
fn host(walker: &mut Walker<'_>, name: &str, arguments: &[String], noun: &str, verbs: &[&str]) {
    let unknown = arguments.iter().take(2).any(|it| is_unknown(it));
    if unknown {
        walker.hidden(format!(
            "a command of {name} that is put together while it runs"
        ));
        return;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(at) = words.iter().position(|it| *it == noun)
        && let Some(verb) = words[at + 1..].iter().find(|it| verbs.contains(it))
        // `gh pr list --search create` is a list: the verb is the first word that is no option.
        && first_verb(&words[at + 1..]) == Some(*verb)
    {
        walker.finish(format!("{name} {noun} {verb}"));
    }
    if words.first() == Some(&"api") {
        let changes = words
            .iter()
            .any(|it| it.starts_with("-f") || it.starts_with("-F") || it.contains("field"))
            || words.windows(2).any(|pair| {
                matches!(pair[0], "-X" | "--method") && !pair[1].eq_ignore_ascii_case("get")
            })
            || words
                .iter()
                .any(|it| it.contains("-XP") || it.contains("=P"));
        let pulls = words
            .iter()
            .any(|it| it.contains("/pulls") || it.contains("/merge") || it.contains("PullRequest"));
        if changes && pulls {
            walker.finish(format!("{name} api"));
        }
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
