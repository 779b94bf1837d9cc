//! Side effects of git and of the clients of git hosts.

use super::expand::is_unknown;
use super::host;
use super::run::CommandVariables;
use super::side_effect::{FileChangeKind, SideEffect};
use super::walk::{CommandInput, ShellWalker};
use bowline_formats::develop::FOLDER_NAME;
use bowline_words::message::Unseen;

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

/// Git commands that make a commit, move a branch or push.
const FINISHING: &str = "am cherry-pick citool commit commit-tree fast-import filter-branch filter-repo gui http-push merge \
    pull push quiltimport rebase replay revert send-pack subtree update-ref";

/// Git commands that no alias can replace, and that do nothing a gate denies.
const HARMLESS: &str = "add annotate archive blame branch cat-file check-attr check-ignore check-mailmap check-ref-format \
    cherry column config count-objects credential describe diff diff-files diff-index diff-tree difftool \
    fetch fmt-merge-msg for-each-ref fsck gc grep hash-object help index-pack init interpret-trailers \
    log ls-files ls-remote ls-tree mailinfo maintenance merge-base merge-tree mktag mktree name-rev \
    notes pack-objects pack-refs patch-id prune range-diff reflog remote repack replace rerere rev-list \
    rev-parse shortlog show show-branch show-ref stage status stripspace symbolic-ref tag unpack-objects \
    update-index var verify-commit verify-pack verify-tag version whatchanged write-tree";

/// Git commands that write files, or run their arguments.
const WRITING: &str = "apply bisect bundle checkout checkout-index clean clone difftool for-each-repo format-patch \
    grep merge-file mergetool mv read-tree reset restore rm shell sparse-checkout stash submodule switch worktree";

fn is_among(list: &str, command: &str) -> bool {
    list.split(' ').any(|it| it == command)
}

/// A call of a git command, with the options before it.
struct GitCall<'a> {
    folder: Option<String>,
    /// True if options or variables choose the repository.
    repository_chosen: bool,
    arguments: &'a [String],
}

/// Walks git or a client of a git host. Returns false for any other program.
pub(super) fn walk_git_programs(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    environment: &CommandVariables,
) -> bool {
    match name {
        "git" | "git.exe" => walk_git(walker, arguments, environment),
        "gh" => host::walk_host_client(
            walker,
            "gh",
            arguments,
            "pr",
            &["create", "merge", "new", "revert"],
        ),
        "glab" => host::walk_host_client(
            walker,
            "glab",
            arguments,
            "mr",
            &["create", "merge", "accept", "for", "new"],
        ),
        "hub" => match arguments.first().map(String::as_str) {
            Some("pull-request" | "merge" | "push" | "am" | "cherry-pick") => {
                walker.add_finish(format!("hub {}", arguments[0]));
            }
            _ => walk_git(walker, arguments, environment),
        },
        _ => match name.strip_prefix("git-") {
            Some(command) => {
                let mut words = vec![command.to_owned()];
                words.extend(arguments.iter().cloned());
                walk_git(walker, &words, environment);
            }
            None => return false,
        },
    }
    true
}

fn walk_git(walker: &mut ShellWalker<'_>, arguments: &[String], environment: &CommandVariables) {
    programs_in_environment(walker, environment);
    let mut folder: Option<String> = None;
    let names = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"];
    let mut repository_chosen = names.iter().any(|it| {
        let own = environment.iter().any(|(name, _)| name == it);
        own || walker.variables.contains_key(*it)
            || walker.around.environment_variable(it).is_some()
    });
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        if is_unknown(first) {
            walker.add_hidden(Unseen::GitCommand);
            return;
        }
        if !first.starts_with('-') {
            break;
        }
        rest = after;
        repository_chosen |= first.starts_with("--git-dir") || first.starts_with("--work-tree");
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
                "-c" => walk_setting(walker, &value),
                "--config-env" => walk_config_env(walker, &value),
                _ => {}
            }
        } else if let Some(value) = first.strip_prefix("--work-tree=") {
            folder = Some(value.to_owned());
        } else if let Some(value) = first.strip_prefix("--config-env=") {
            walk_config_env(walker, value);
        } else if let Some(value) = first.strip_prefix("-c").filter(|it| !it.is_empty()) {
            walk_setting(walker, value);
        }
    }
    if let Some((command, arguments)) = rest.split_first() {
        let call = GitCall {
            folder,
            repository_chosen,
            arguments,
        };
        walk_subcommand(walker, command, &call, environment);
    }
}

fn walk_subcommand(
    walker: &mut ShellWalker<'_>,
    command: &str,
    call: &GitCall<'_>,
    environment: &CommandVariables,
) {
    let first = call.arguments.first().map(String::as_str);
    let own =
        is_among(FINISHING, command) || is_among(HARMLESS, command) || is_among(WRITING, command);
    // Only here this asks for help; after another option it may be that option's value.
    if own && (first == Some("--help") || first == Some("-h") && call.arguments.len() == 1) {
        return;
    }
    walker.in_any_folder(|walker| programs_in_arguments(walker, call));
    if is_among(FINISHING, command) {
        if gives_up(call.arguments) {
            // Back to the state before: this finishes no work, but changes files.
            let folder = call.folder.as_deref().unwrap_or(".");
            walker.add_write(folder, &format!("git {command}"));
        } else if !only_shows(command, call.arguments) {
            let folder = call.folder.as_deref().unwrap_or(".");
            walker.add_finish_in(
                Some(folder).filter(|_| !call.repository_chosen),
                format!("git {command}"),
            );
        }
        return;
    }
    if command == "config" {
        add_guard_changes(walker, call);
    }
    if call.folder.is_some() || call.repository_chosen {
        // Commands that it runs start in another folder.
        walker.in_any_folder(|walker| walk_nonfinishing(walker, command, call, environment, own));
    } else {
        walk_nonfinishing(walker, command, call, environment, own);
    }
}

/// Walks a command that finishes no work by itself, or one that is not git's own.
fn walk_nonfinishing(
    walker: &mut ShellWalker<'_>,
    command: &str,
    call: &GitCall<'_>,
    environment: &CommandVariables,
    own: bool,
) {
    let has = |words: &[&str]| call.arguments.iter().any(|it| words.contains(&it.as_str()));
    match command {
        "svn" if has(&["dcommit", "rebase", "commit-diff", "set-tree"]) => {
            walker.add_finish(format!("git {command}"));
        }
        "p4" if has(&["submit", "rebase"]) => walker.add_finish(format!("git {command}")),
        _ => {}
    }
    add_written_files(walker, command, call);
    output_options(walker, command, call);
    let after = |word: &str| {
        let at = call.arguments.iter().position(|it| it == word);
        &call.arguments[at.map_or(0, |at| at + 1)..]
    };
    match command {
        "submodule" if has(&["foreach"]) => {
            let rest = super::wrap::words_after_options(after("foreach"), &[]).join(" ");
            walker.in_any_folder(|walker| walker.walk_text(&rest));
        }
        "bisect" if has(&["run"]) => walker.walk_command(after("run"), &CommandInput::None, &[]),
        "for-each-repo" => {
            let rest = super::wrap::words_after_options(call.arguments, &["--config"]).to_vec();
            walker.in_any_folder(|walker| walk_git(walker, &rest, environment));
        }
        "shell" => after("-c")
            .iter()
            .take(1)
            .for_each(|it| walker.walk_text(it)),
        "config" => remember_alias(walker, call.arguments),
        _ if own => {}
        _ => walk_alias(walker, command, call, environment),
    }
}

/// Walks command lines among the arguments that git runs.
fn programs_in_arguments(walker: &mut ShellWalker<'_>, call: &GitCall<'_>) {
    const RUN: &[&str] = &[
        "--extcmd=",
        "--open-files-in-pager=",
        "-O",
        "--upload-pack=",
        "--receive-pack=",
        "--exec=",
        "ext::",
    ];
    for (at, word) in call.arguments.iter().enumerate() {
        let text = match word.as_str() {
            "-x" | "--extcmd" | "--upload-pack" | "--receive-pack" | "--exec" | "-u" => {
                call.arguments.get(at + 1).map(String::as_str)
            }
            other => RUN.iter().find_map(|option| other.strip_prefix(option)),
        };
        if let Some(text) = text {
            walker.walk_suspect(text);
        }
    }
}

/// True if a merge, a rebase or the like is given up, and nothing else is asked for.
fn gives_up(arguments: &[String]) -> bool {
    matches!(arguments, [only] if only == "--abort" || only == "--quit")
}

/// True if a command that would finish work only shows what it would do.
fn only_shows(command: &str, arguments: &[String]) -> bool {
    let shown = |it: &String| it.starts_with("--show-current-patch");
    match command {
        "am" | "rebase" => arguments.iter().any(shown),
        "push" | "send-pack" => is_dry_run(arguments, Some('n')),
        "commit" | "pull" | "http-push" => is_dry_run(arguments, None),
        _ => false,
    }
}

/// True if the words of a running git are those of a dry-run push.
pub(crate) fn is_dry_push(words: &[String]) -> bool {
    let at = words.iter().position(|it| it == "push");
    at.is_some_and(|at| only_shows("push", &words[at + 1..]))
}

/// True if `--dry-run` or its letter is given where it cannot be the value of another option.
fn is_dry_run(arguments: &[String], letter: Option<char>) -> bool {
    const FLAGS: &[&str] = &[
        "-a",
        "-v",
        "-q",
        "-f",
        "-s",
        "-d",
        "-x",
        "-X",
        "--all",
        "--verbose",
        "--quiet",
        "--force",
        "--tags",
        "--porcelain",
        "--short",
        "--amend",
        "--no-verify",
        "--set-upstream",
        "--force-with-lease",
        "--long",
        "--branch",
    ];
    let mut found = false;
    for (at, argument) in arguments.iter().enumerate() {
        if argument == "--" {
            break;
        }
        let plain = |before: &String| !before.starts_with('-') || FLAGS.contains(&before.as_str());
        let free = at == 0 || plain(&arguments[at - 1]);
        let group = argument
            .strip_prefix('-')
            .filter(|it| !it.starts_with('-'))
            .is_some_and(|it| {
                let flags = it.chars().take_while(|it| "nfdxXqv".contains(*it));
                letter.is_some_and(|letter| flags.into_iter().any(|it| it == letter))
            });
        found |= free && (argument == "--dry-run" || group);
        if argument == "--no-dry-run" {
            return false;
        }
    }
    found
}

/// Adds the files that a git command writes.
fn add_written_files(walker: &mut ShellWalker<'_>, command: &str, call: &GitCall<'_>) {
    let has = |words: &[&str]| call.arguments.iter().any(|it| words.contains(&it.as_str()));
    let named: Vec<&String> = call
        .arguments
        .iter()
        .filter(|it| !it.starts_with('-'))
        .collect();
    let first = named.first().map(|it| it.as_str());
    // Another folder may belong to this repository afterwards.
    let separate = |it: &String| it.starts_with("--sep") || it.starts_with("--ref");
    walker.grafted |= command == "worktree" && !matches!(first, None | Some("list" | "prune"))
        || matches!(command, "init" | "clone") && call.arguments.iter().any(separate);
    let wanted = match command {
        "apply" => apply_writes_files(call.arguments),
        "checkout" => !(has(&["-b", "-B", "--orphan"]) && named.len() <= 1),
        "switch" => {
            !(has(&["-c", "-C", "--create", "--force-create", "--orphan"]) && named.len() <= 1)
        }
        "restore" => !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]),
        // Without a subcommand it takes all changes out of the tree.
        "stash" => !matches!(
            first,
            Some("list" | "show" | "create" | "store" | "drop" | "clear")
        ),
        "reset" => has(&["--hard", "--merge", "--keep"]),
        "read-tree" => {
            let updates =
                |it: &String| it.starts_with('-') && !it.starts_with("--") && it.contains('u');
            call.arguments.iter().any(updates)
        }
        "clean" if is_dry_run(call.arguments, Some('n')) => false,
        "clean" => {
            let group = |letters: &[char]| {
                let short = |it: &&String| it.starts_with('-') && !it.starts_with("--");
                call.arguments
                    .iter()
                    .filter(short)
                    .any(|it| it.contains(letters))
            };
            let how = FileChangeKind::Cleaned {
                ignored: group(&['x', 'X']),
            };
            let kept = super::write::value_of(call.arguments, "-e", "--exclude");
            let targets = super::write::operands(call.arguments, &["-e", "--exclude"]);
            let everything = ".".to_owned();
            let targets = match targets.is_empty() {
                true => vec![&everything],
                false => targets,
            };
            for target in targets {
                if !kept.as_ref().is_some_and(|it| it.contains(FOLDER_NAME)) {
                    walker.add_touch(&path_in_folder(call, target), how, "git clean");
                }
            }
            // Files that git ignores are not writes.
            !group(&['X'])
        }
        "bisect" => !matches!(
            first,
            None | Some("log" | "terms" | "view" | "visualize" | "help")
        ),
        "submodule" => matches!(
            first,
            Some("add" | "update" | "deinit" | "set-url" | "set-branch")
        ),
        "sparse-checkout" => !matches!(first, None | Some("list" | "check-rules")),
        "mv" => !is_dry_run(call.arguments, Some('n')),
        "merge-file" => !has(&["-p", "--stdout"]) || has(&["--no-stdout"]),
        "checkout-index" | "mergetool" | "rerere-train" => true,
        "rm" if !has(&["--cached"]) && !is_dry_run(call.arguments, Some('n')) => {
            for target in &named {
                walker.add_touch(target, FileChangeKind::Gone, "git rm");
                walker.add_write(&path_in_folder(call, target), "git rm");
            }
            false
        }
        "rm" => {
            // Only removed from the index: the file stays in place.
            for target in &named {
                walker.add_touch(target, FileChangeKind::Marked, "git rm");
            }
            false
        }
        "worktree" if first == Some("add") => {
            let operands =
                super::wrap::words_after_options(&call.arguments[1..], &["-b", "-B", "--reason"]);
            if let Some(target) = operands.first() {
                walker.add_write(&path_in_folder(call, target), "git worktree");
            }
            false
        }
        "clone" => {
            const VALUED: &[&str] = &[
                "-b",
                "--branch",
                "-o",
                "--origin",
                "-c",
                "--config",
                "--depth",
                "-j",
                "--jobs",
                "-u",
                "--upload-pack",
                "--reference",
                "--template",
                "--filter",
                "--separate-git-dir",
                "--shallow-since",
                "--shallow-exclude",
                "--bundle-uri",
                "--server-option",
            ];
            let operands = super::write::operands(call.arguments, VALUED);
            let own = |url: &String| {
                let name = url.trim_end_matches('/').trim_end_matches(".git");
                name.rsplit(['/', ':'])
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            };
            let target = match operands.as_slice() {
                [_, folder, ..] => Some((*folder).clone()),
                [url] => Some(own(url)),
                [] => None,
            };
            if let Some(target) = target {
                walker.add_write(&path_in_folder(call, &target), "git clone");
            }
            false
        }
        "format-patch" if !has(&["--stdout"]) => {
            let folder = super::write::value_of(call.arguments, "-o", "--output-directory");
            let folder = folder.unwrap_or_else(|| ".".into());
            walker.add_write(
                &path_in_folder(call, &format!("{folder}/0001.patch")),
                "git format-patch",
            );
            false
        }
        "bundle" if first == Some("create") => {
            if let Some(target) = named.get(1) {
                walker.add_write(&path_in_folder(call, target), "git bundle");
            }
            false
        }
        _ => false,
    };
    if wanted {
        let folder = call.folder.as_deref().unwrap_or(".");
        walker.add_write(folder, &format!("git {command}"));
    }
}

/// True if `git apply` changes files: options that only show do so unless `--apply` is given as
/// well.
fn apply_writes_files(arguments: &[String]) -> bool {
    const VALUED: &[&str] = &[
        "--exclude",
        "--include",
        "--directory",
        "--build-fake-ancestor",
        "--whitespace",
        "-p",
        "-C",
    ];
    let (mut shows, mut cached, mut apply_given) = (false, false, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--" => break,
            "--check" | "--stat" | "--numstat" | "--summary" => shows = true,
            "--cached" => cached = true,
            // Git accepts abbreviated options, and the last one of each counts.
            other if other.starts_with("--ap") || other.starts_with("--no-") => apply_given = true,
            valued if VALUED.contains(&valued) => {
                rest.next();
            }
            _ => {}
        }
    }
    let undone = arguments.iter().any(|it| it.starts_with("--no-c"));
    (undone || !cached) && (apply_given || !shows)
}

/// Returns a path relative to the folder that git works in.
fn path_in_folder(call: &GitCall<'_>, target: &str) -> String {
    match &call.folder {
        Some(folder) if !target.starts_with('/') => format!("{folder}/{target}"),
        Some(_) | None => target.to_owned(),
    }
}

/// Walks a command that is not git's own: an alias, or a program on the path, which cannot be
/// analysed.
fn walk_alias(
    walker: &mut ShellWalker<'_>,
    command: &str,
    call: &GitCall<'_>,
    environment: &CommandVariables,
) {
    let known = walker.git_aliases.get(&command.to_lowercase());
    let mut values = known.cloned().unwrap_or_default();
    for folder in walker.folders.clone().into_iter().flatten() {
        values.extend(walker.around.git_alias(&folder, command));
    }
    let elsewhere = ["GIT_CONFIG", "HOME", "XDG_CONFIG_HOME"];
    let odd = |name: &str| elsewhere.iter().any(|prefix| name.starts_with(prefix));
    if environment.iter().any(|(name, _)| odd(name)) || walker.variables.keys().any(|it| odd(it)) {
        walker.add_hidden(Unseen::GitSettings {
            command: command.to_owned(),
        });
    }
    let quoted: Vec<String> = call
        .arguments
        .iter()
        .map(|it| super::wrap::quote_word(it))
        .collect();
    let quoted = quoted.join(" ");
    for value in values {
        match value.strip_prefix('!') {
            Some(text) => walker.walk_text(&format!("{text} {quoted}")),
            None => walker.walk_text(&format!("git {value} {quoted}")),
        }
    }
}

/// Adds changes of settings that would replace git's hooks, or make a command run something else.
fn add_guard_changes(walker: &mut ShellWalker<'_>, call: &GitCall<'_>) {
    let arguments = call.arguments;
    const CHANGES: &[&str] = &[
        "set",
        "unset",
        "edit",
        "rename-section",
        "remove-section",
        "--add",
        "--replace-all",
        "--unset",
        "--unset-all",
        "--rename-section",
        "--remove-section",
        "--edit",
        "-e",
    ];
    let plain = |it: &&String| !it.starts_with('-') && !it.contains('/');
    let asks = |it: &String| it.starts_with("--get") || it == "get" || it == "--list";
    let changes = arguments.iter().any(|it| CHANGES.contains(&it.as_str()))
        || arguments.iter().filter(plain).count() > 1
        || arguments.last().is_some_and(|it| it.contains('/'))
        || arguments
            .windows(2)
            .any(|pair| leads_hooks_away(&pair[0]) && !pair[1].starts_with('-'));
    if !changes || arguments.iter().any(asks) {
        return;
    }
    // An editor can change any setting.
    let edits = |it: &String| matches!(it.as_str(), "--edit" | "-e");
    let edited = arguments.first().filter(|it| *it == "edit");
    let mut keys = arguments
        .iter()
        .filter(|it| leads_hooks_away(it) || edits(it));
    if let Some(key) = keys.next().or(edited) {
        // Settings of one repository affect that repository only; all others may affect this one.
        let local = |it: &String| {
            !["--gl", "--sy", "--fi", "-f"]
                .iter()
                .any(|option| it.starts_with(option))
        };
        let here = !call.repository_chosen && arguments.iter().all(local);
        let folder = call.folder.as_deref().unwrap_or(".");
        walker.add_finish_in(Some(folder).filter(|_| here), format!("git config {key}"));
    } else if let Some(key) = arguments
        .iter()
        .find(|it| it.to_lowercase().starts_with("alias."))
    {
        walker.add(SideEffect::Write {
            path: None,
            by: format!("git config {key}"),
        });
    }
}

/// True if a setting replaces the repository's hooks, itself or through a file it includes.
fn leads_hooks_away(key: &str) -> bool {
    let key = key.to_lowercase();
    key == "core" || key == "core.hookspath" || key.starts_with("include")
}

/// Remembers the alias of `git config alias.NAME VALUE` for later commands.
fn remember_alias(walker: &mut ShellWalker<'_>, arguments: &[String]) {
    for pair in arguments.windows(2) {
        let key = pair[0].to_lowercase();
        if let Some(name) = key.strip_prefix("alias.") {
            let name = name.trim_end_matches(".command").to_owned();
            let known = walker.git_aliases.entry(name).or_default();
            if !known.contains(&pair[1]) {
                known.push(pair[1].clone());
            }
        } else if key.contains('.') && is_unknown(&pair[1]) && key.starts_with("alias") {
            walker.add_hidden(Unseen::GitAlias);
        }
    }
}

/// Walks `--config-env=KEY=VARIABLE`.
fn walk_config_env(walker: &mut ShellWalker<'_>, setting: &str) {
    let Some((key, variable)) = setting.rsplit_once('=') else {
        return;
    };
    if leads_hooks_away(key) {
        walker.add_finish_in(None, format!("git --config-env={key}"));
    }
    let values = walker.variables.get(variable).cloned().unwrap_or_default();
    for value in values.into_iter().flatten() {
        walk_setting(walker, &format!("{key}={value}"));
    }
    // The variable may have other, unknown values.
    walker.assign_variable("GIT_CONFIG_INCLUDED", false, vec![variable.to_owned()]);
}

/// Walks `-c KEY=VALUE`: an alias, or a program that git will run.
fn walk_setting(walker: &mut ShellWalker<'_>, setting: &str) {
    let Some((key, value)) = setting.split_once('=') else {
        return;
    };
    let lower = key.to_lowercase();
    if leads_hooks_away(&lower) {
        walker.add_finish_in(None, format!("git -c {key}"));
    }
    if let Some(name) = lower.strip_prefix("alias.") {
        let known = walker.git_aliases.entry(name.to_owned()).or_default();
        if !known.iter().any(|it| it == value) {
            known.push(value.to_owned());
        }
    } else if lower.starts_with("include") {
        // An included file may hold any setting, aliases too.
        walker.assign_variable("GIT_CONFIG_INCLUDED", false, vec![value.to_owned()]);
    } else if !lower.starts_with("user.") {
        walker.walk_suspect(value.trim_start_matches('!'));
    }
}

/// Walks the values of variables that name programs which git will run.
fn programs_in_environment(walker: &mut ShellWalker<'_>, environment: &CommandVariables) {
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
        walker.walk_suspect(text.trim_start_matches('!'));
    }
}

/// Adds the files of `--output FILE`.
fn output_options(walker: &mut ShellWalker<'_>, command: &str, call: &GitCall<'_>) {
    for (at, word) in call.arguments.iter().enumerate() {
        let next = call.arguments.get(at + 1);
        let target = match word.as_str() {
            "--output" => next.cloned(),
            "-o" if command == "archive" => next.cloned(),
            other => other.strip_prefix("--output=").map(str::to_owned),
        };
        if let Some(target) = target {
            walker.add_write(&target, &format!("git {command}"));
        }
    }
}
