//! Programs that write the files named in their command line.

use super::archive;
use super::expand::is_unknown;
use super::run::base_name;
use super::sed;
use super::side_effect::FileChangeKind;
use super::walk::{CommandInput, ShellWalker};

/// Returns the words that are neither options nor values of options.
pub(super) fn operands<'a>(arguments: &'a [String], valued: &[&str]) -> Vec<&'a String> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    let mut options = true;
    while let Some(argument) = rest.next() {
        if options && argument == "--" {
            options = false;
        } else if options && valued.contains(&argument.as_str()) {
            rest.next();
        } else if !options || !argument.starts_with('-') || argument == "-" {
            found.push(argument);
        }
    }
    found
}

/// Returns the value of an option: `-o F`, `-oF`, `--output F`, `--output=F`.
pub(super) fn value_of(arguments: &[String], short: &str, long: &str) -> Option<String> {
    for (at, argument) in arguments.iter().enumerate() {
        if argument == short || argument == long {
            return arguments.get(at + 1).cloned();
        }
        let joined = argument
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='));
        let glued = argument
            .strip_prefix(short)
            .filter(|_| !argument.starts_with("--"));
        if let Some(value) = joined.or(glued) {
            return Some(value.to_owned());
        }
    }
    None
}

/// Adds the writes and other file changes of a program.
pub(super) fn walk_writer(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
) {
    let has = |option: &str| arguments.iter().any(|it| it == option);
    match name
        .strip_prefix('g')
        .filter(|it| GNU.contains(it))
        .unwrap_or(name)
    {
        "tee" | "sponge" => {
            for target in operands(arguments, &[]) {
                walker.add_write(target, name);
            }
        }
        "sed" => sed::walk_sed(walker, arguments, input),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" => walk_copy(walker, name, arguments),
        "dd" => {
            for argument in arguments {
                if let Some(target) = argument.strip_prefix("of=") {
                    walker.add_write(target, name);
                }
            }
        }
        "truncate" => {
            for target in operands(arguments, &["-s", "--size", "-r", "--reference"]) {
                walker.add_write(target, name);
            }
        }
        "shred" => {
            for target in operands(arguments, &["-n", "-s"]) {
                walker.add_write(target, name);
            }
        }
        "patch" if !has("--dry-run") && !has("-C") => {
            const VALUED: &[&str] = &[
                "-i",
                "--input",
                "-d",
                "--directory",
                "-p",
                "-o",
                "--output",
                "-r",
                "-F",
                "-D",
                "-B",
                "-z",
            ];
            let folder = value_of(arguments, "-d", "--directory");
            let output = value_of(arguments, "-o", "--output");
            let first = operands(arguments, VALUED).first().map(|it| (*it).clone());
            let target = output.or(first).or(folder).unwrap_or_else(|| ".".into());
            walker.add_write(&target, name);
        }
        "sort" => {
            if let Some(target) = value_of(arguments, "-o", "--output") {
                walker.add_write(&target, name);
            }
        }
        "curl" => {
            let remote = arguments.iter().any(|it| {
                it == "-O"
                    || it == "--remote-name"
                    || it.starts_with("-") && !it.starts_with("--") && it.ends_with('O')
            });
            let folder = value_of(arguments, "--output-dir", "--output-dir");
            if let Some(target) = short_value(arguments, 'o', "--output") {
                walker.add_write(&target, name);
            } else if remote {
                walker.add_write(folder.as_deref().unwrap_or("."), name);
            }
        }
        "wget" => {
            if let Some(target) = short_value(arguments, 'O', "--output-document") {
                walker.add_write(&target, name);
            } else if let Some((_, target)) = arguments.iter().find_map(|it| {
                let group = it.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
                group.split_once('O')
            }) {
                // `-qO-` prints.
                if target != "-" {
                    walker.add_write(target, name);
                }
            } else if !has("--spider") && !operands(arguments, &[]).is_empty() {
                let folder = value_of(arguments, "-P", "--directory-prefix");
                walker.add_write(folder.as_deref().unwrap_or("."), name);
            }
        }
        "iconv" | "gpg" | "gpg2" | "pandoc" => {
            if let Some(target) = value_of(arguments, "-o", "--output") {
                walker.add_write(&target, name);
            }
        }
        "openssl" => {
            let at = arguments.iter().position(|it| it == "-out");
            if let Some(target) = at.and_then(|at| arguments.get(at + 1)) {
                walker.add_write(target, name);
            }
        }
        "uniq" | "xxd" => {
            let found = operands(arguments, &["-f", "-s", "-w", "-c", "-g", "-l", "-o", "-R"]);
            if let Some(target) = found.get(1) {
                walker.add_write(target, name);
            }
        }
        "sqlite3" => {
            for argument in arguments {
                for line in argument.lines().map(str::trim) {
                    let rest =
                        |word: &str| line.strip_prefix(word).filter(|it| it.starts_with(' '));
                    if let Some(text) = rest(".shell").or_else(|| rest(".system")) {
                        walker.walk_text(text);
                    } else if let Some(target) = rest(".output").or_else(|| rest(".once")) {
                        walker.add_write(target.trim(), name);
                    }
                }
            }
        }
        "make" | "gmake" => {
            for argument in arguments {
                if let Some(text) = argument.strip_prefix("--eval=") {
                    walk_makefile(walker, text);
                }
            }
        }
        "yq" if has("-i") || has("--inplace") || has("--in-place") => {
            if let Some(target) = arguments.last() {
                walker.add_write(target, name);
            }
        }
        "ed" | "ex" | "vi" | "vim" | "nvim" | "emacs" | "nano" => {
            for target in operands(
                arguments,
                &["-c", "--cmd", "-S", "-u", "-p", "--eval", "-l"],
            ) {
                if !target.starts_with('+') {
                    walker.add_write(target, name);
                }
            }
            for argument in arguments {
                let command = argument.trim_start_matches(['+', ':', ' ']);
                if let Some(text) = command.strip_prefix('!') {
                    walker.walk_suspect(text);
                }
            }
        }
        "rm" | "unlink" | "rmdir" | "trash" | "trash-put" | "srm" => {
            for target in operands(arguments, &[]) {
                walker.add_touch(target, FileChangeKind::Gone, name);
            }
        }
        "touch" => {
            for target in operands(arguments, &["-d", "--date", "-r", "--reference", "-t"]) {
                walker.add_touch(target, FileChangeKind::Made, name);
            }
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "mount" | "umount" | "fusermount"
        | "bindfs" => {
            for target in operands(arguments, &["-t", "-o", "--types", "--options"]) {
                walker.add_touch(target, FileChangeKind::Marked, name);
            }
        }
        _ => archive::walk_archive(walker, name, arguments),
    }
}

/// Walks `$(shell COMMAND)` and the recipes in a text for make.
pub(super) fn walk_makefile(walker: &mut ShellWalker<'_>, text: &str) {
    for (at, mark) in text.match_indices("$(shell ") {
        let inside = &text[at + mark.len()..];
        walker.walk_suspect(inside.split(')').next().unwrap_or_default());
    }
    for recipe in text.split(['\n', ';', '\t']) {
        walker.walk_suspect(recipe.trim_start_matches(['@', '-', '+', ' ']));
    }
}

/// Programs that also exist with a `g` before their name.
const GNU: &[&str] = &[
    "cp", "dd", "install", "ln", "mv", "patch", "rm", "sed", "shred", "sort", "tee", "touch",
    "truncate",
];

/// Returns the value of an option that may end a group: `-sSLo FILE`.
pub(super) fn short_value(arguments: &[String], short: char, long: &str) -> Option<String> {
    for (at, argument) in arguments.iter().enumerate() {
        let group = argument.starts_with('-') && !argument.starts_with("--");
        if argument == long || group && argument.ends_with(short) {
            return arguments.get(at + 1).cloned();
        }
        if let Some(value) = argument
            .strip_prefix(long)
            .and_then(|it| it.strip_prefix('='))
        {
            return Some(value.to_owned());
        }
        if let Some(value) = argument
            .strip_prefix('-')
            .and_then(|it| it.strip_prefix(short))
        {
            return Some(value.to_owned());
        }
    }
    None
}

fn walk_copy(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
    const VALUED: &[&str] = &[
        "-t",
        "--target-directory",
        "-S",
        "--suffix",
        "-m",
        "--mode",
        "-o",
        "--owner",
        "-g",
        "--group",
        "-e",
        "--rsh",
        "--exclude",
        "--include",
        "-f",
        "--filter",
    ];
    let valued = if name == "cp" || name == "mv" || name == "ln" {
        &VALUED[..4]
    } else {
        VALUED
    };
    if name == "install" && arguments.iter().any(|it| it == "-d" || it == "--directory") {
        return;
    }
    let mut sources = operands(arguments, valued);
    let folder = if name == "rsync" || name == "scp" {
        None
    } else {
        short_value(arguments, 't', "--target-directory")
    };
    let target = match folder {
        Some(folder) => folder,
        None if sources.len() > 1 => sources.pop().cloned().unwrap_or_default(),
        // `ln -s SOURCE` makes the link here.
        None if name == "ln" => ".".to_owned(),
        None => return,
    };
    // A copied folder may bring along the repository's git folder, or the file that names it.
    let whole = |it: &String| {
        it.starts_with('-') && (it.contains(['r', 'R', 'a', 'd']) || it.contains("archive"))
    };
    walker.grafted |= name == "mv" || arguments.iter().any(whole);
    if matches!(name, "rsync" | "scp") && target.contains(':') {
        return;
    }
    let folder = |place: &Option<std::path::PathBuf>| {
        place.as_ref().is_some_and(|it| walker.around.is_folder(it))
    };
    let into = walker.resolve_paths(&target).iter().all(folder);
    if !into || sources.is_empty() {
        walker.add_write(&target, name);
    }
    for source in &sources {
        let inside = format!(
            "{}/{}",
            target.trim_end_matches('/'),
            base_name(source.trim_end_matches('/'))
        );
        if name == "mv" {
            walker.add_touch(source, FileChangeKind::Gone, name);
        }
        // Into a folder: the file of the same name in it. If that is not certain, the file that it
        // may replace matters.
        if into {
            walker.add_write(&inside, name);
        } else {
            walker.add_touch(&inside, FileChangeKind::Marked, name);
        }
        if name == "ln" && !is_unknown(source) && !is_unknown(&target) {
            for (link, behind) in [(&target, *source), (&inside, *source)] {
                let links = walker.resolve_paths(link);
                let behind = walker.resolve_paths(behind);
                for (link, behind) in links.iter().flatten().zip(behind.iter().flatten()) {
                    walker.links.push((link.clone(), behind.clone()));
                }
            }
        }
    }
}
