//! Archive programs: they write an archive, or the files in it.

use super::walk::ShellWalker;
use super::write::{operands, short_value, value_of};

/// Adds the writes of a packer or an unpacker.
pub(super) fn walk_archive(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
    match name {
        "tar" | "bsdtar" | "gtar" | "jar" | "star" => walk_tar(walker, name, arguments),
        "unzip" if !has_short_option(arguments, "lptvzZ") => {
            let folder = value_of(arguments, "-d", "-d");
            walker.add_write(folder.as_deref().unwrap_or("."), name);
        }
        "zip" => {
            if let Some(archive) = operands(arguments, &[]).first().filter(|it| **it != "-") {
                walker.add_write(archive, name);
            }
        }
        "7z" | "7za" | "7zr" | "7zz" => walk_seven_zip(walker, name, arguments),
        "cpio" | "pax" => {
            let last = operands(arguments, &[]).last().map(|it| (*it).clone());
            if has_short_option(arguments, "p") {
                walker.add_write(&last.unwrap_or_else(|| ".".into()), name);
            } else if has_short_option(arguments, "ir") && !has_short_option(arguments, "t") {
                let folder = value_of(arguments, "-D", "--directory");
                walker.add_write(folder.as_deref().unwrap_or("."), name);
            }
        }
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" | "unlzma" | "zstd"
        | "unzstd" | "lz4" | "unlz4" | "compress" | "uncompress" => {
            walk_compressor(walker, name, arguments)
        }
        "split" | "csplit" => {
            const VALUED: &[&str] = &["-b", "-C", "-l", "-n", "-a", "-f", "-t", "--filter"];
            let given = value_of(arguments, "-f", "--prefix");
            let prefix = operands(arguments, VALUED).get(1).map(|it| (*it).clone());
            let prefix = given.or(prefix.filter(|_| name == "split"));
            walker.add_write(&format!("{}aa", prefix.as_deref().unwrap_or("x")), name);
        }
        _ => {}
    }
}

/// True if one of the letters is among the short options.
fn has_short_option(arguments: &[String], letters: &str) -> bool {
    arguments.iter().any(|it| {
        it.strip_prefix('-').is_some_and(|group| {
            !group.starts_with('-') && group.contains(|at| letters.contains(at))
        })
    })
}

fn walk_tar(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
    walk_tar_commands(walker, arguments);
    // The first word needs no dash: `tar xzf a.tgz`.
    let mut letters = String::new();
    for (at, argument) in arguments.iter().enumerate() {
        match argument.strip_prefix('-') {
            Some(long) if long.starts_with('-') => {}
            Some(group) => letters.push_str(group),
            None if at == 0 => letters.push_str(argument),
            None => {}
        }
    }
    let long = |options: &[&str]| arguments.iter().any(|it| options.contains(&it.as_str()));
    let mode = |letter: char, options: &[&str]| letters.contains(letter) || long(options);
    if mode('t', &["--list", "--diff", "--compare"]) {
        return;
    }
    if mode('x', &["--extract", "--get"]) {
        let shown = letters.contains('O') || long(&["--to-stdout"]);
        if !shown {
            let folder = short_value(arguments, 'C', "--directory");
            let folder = folder.or_else(|| joined_value(arguments, "--directory="));
            walker.add_write(folder.as_deref().unwrap_or("."), name);
        }
        return;
    }
    let writes = letters.contains(['c', 'r', 'u', 'A'])
        || long(&[
            "--create",
            "--append",
            "--update",
            "--concatenate",
            "--delete",
        ]);
    let first = arguments
        .first()
        .filter(|it| !it.starts_with('-') && it.contains('f'));
    let archive = match first {
        Some(_) => arguments.get(1).cloned(),
        None => {
            short_value(arguments, 'f', "--file").or_else(|| joined_value(arguments, "--file="))
        }
    };
    if let Some(archive) = archive.filter(|it| writes && it != "-") {
        walker.add_write(&archive, name);
    }
}

fn joined_value(arguments: &[String], option: &str) -> Option<String> {
    let found = arguments.iter().find_map(|it| it.strip_prefix(option));
    found.map(str::to_owned)
}

fn walk_seven_zip(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
    let words = operands(arguments, &[]);
    match words.first().map(|it| it.as_str()) {
        Some("x" | "e")
            if !has_short_option(arguments, "s") || joined_value(arguments, "-o").is_some() =>
        {
            let folder = joined_value(arguments, "-o");
            walker.add_write(folder.as_deref().unwrap_or("."), name);
        }
        Some("a" | "d" | "u" | "rn") => {
            if let Some(archive) = words.get(1) {
                walker.add_write(archive, name);
            }
        }
        _ => {}
    }
}

/// Adds the write of `gzip FILE`: the packed file replaces the other one.
fn walk_compressor(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
    const SHOWN: &[&str] = &[
        "--stdout",
        "--to-stdout",
        "--list",
        "--test",
        "--help",
        "--version",
    ];
    if has_short_option(arguments, "clt") || arguments.iter().any(|it| SHOWN.contains(&it.as_str()))
    {
        return;
    }
    match value_of(arguments, "-o", "-o") {
        Some(target) => walker.add_write(&target, name),
        None => {
            for target in operands(arguments, &["-S", "--suffix", "-T", "-D"]) {
                walker.add_write(target, name);
            }
        }
    }
}

/// Walks the commands that options of tar name.
fn walk_tar_commands(walker: &mut ShellWalker<'_>, arguments: &[String]) {
    const RUN: &[&str] = &[
        "--checkpoint-action=exec=",
        "--to-command=",
        "--use-compress-program=",
        "--info-script=",
        "--rsh-command=",
    ];
    for (at, argument) in arguments.iter().enumerate() {
        let text = match argument.as_str() {
            "-I" | "-F" | "--to-command" | "--use-compress-program" => {
                arguments.get(at + 1).map(String::as_str)
            }
            other => RUN.iter().find_map(|option| other.strip_prefix(option)),
        };
        if let Some(text) = text {
            walker.walk_suspect(text);
        }
    }
}
