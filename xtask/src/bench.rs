//! Builds what is measured as it is released, runs the benchmarks, and keeps the figures of the docs.

use crate::release;
use std::process::Stdio;
use xtask::Outcome;
use xtask::shell::{command, python, root};

const PAGE: &str = "docs/performance.md";
const BEGIN: &str = "<!-- figures: written by `cargo xtask bench --write` -->\n";
const END: &str = "<!-- end of figures -->";

/// Programs that keep the steps of a piece of work, which ours is measured beside.
const PEERS: [&str; 3] = [
    "dbos==3.3.0",
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
];

pub(crate) fn run(options: &[&str]) -> Outcome {
    let write = options.contains(&"--write");
    let options: Vec<&str> = options
        .iter()
        .copied()
        .filter(|option| *option != "--write")
        .collect();
    let programs = release::build(&["bowline-benches", "bowline", "bowline-shim"])?;
    let [benches, users @ ..] = &programs[..] else {
        return Err("nothing was built".into());
    };
    let folder = benches.parent().unwrap_or(benches);
    // As a user has them, who runs no file that a linker has left in memory page by page: that starts a third slower.
    let installed = folder.join("installed");
    release::place(users, &installed)?;
    let (bowline, shim) = (installed.join("bowline"), installed.join("bowline-shim"));
    let mut benches = command(&benches.to_string_lossy(), &options);
    // Beside the build, not in the folder for temporary files: that one is often in memory, where a flush is free.
    benches.args(["--scratch".as_ref(), folder.as_os_str()]);
    benches.args(["--bowline".as_ref(), bowline.as_os_str()]);
    benches.args(["--shim".as_ref(), shim.as_os_str()]);
    match python("peers", &PEERS) {
        Ok(bin) => drop(benches.arg("--python").arg(bin.join("python"))),
        Err(why) => println!("measured without {}: {why}", PEERS.join(", ")),
    }
    let output = benches
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("benches: {error}"))?;
    let figures = String::from_utf8_lossy(&output.stdout);
    print!("{figures}");
    if !output.status.success() {
        return Err(format!("benches: {}", output.status));
    }
    if write {
        let some = options.iter().any(|option| !option.starts_with('-'));
        put(&figures, some)?;
        println!("{PAGE} is up to date");
    }
    Ok(())
}

/// What the figures depend on, and nothing that names the machine.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|kib| kib.parse::<u64>().ok());
    match kib {
        Some(kib) => format!(
            "on {cores} cores with {} GiB of memory",
            (kib + 524_288) >> 20
        ),
        None => format!("on {cores} cores"),
    }
}

/// Puts figures into the page: all, or those of some benchmarks beside the others.
fn put(figures: &str, some: bool) -> Outcome {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    let gone = || format!("{PAGE}: the marks for the figures are gone");
    let known = known(&page).ok_or_else(gone)?;
    let figures = match some {
        true => merged(known, figures),
        false => figures.to_owned(),
    };
    let told = format!(
        "`cargo xtask bench`, {}. Each table is of one run.\n\n{figures}",
        machine()
    );
    let page = between(&page, &told).ok_or_else(gone)?;
    std::fs::write(&path, page).map_err(|error| format!("{PAGE}: {error}"))
}

/// The tables of the page.
fn known(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(BEGIN)?;
    let (figures, _) = rest.split_once(END)?;
    Some(
        figures
            .split_once("\n### ")
            .map_or("", |(head, _)| &figures[head.len() + 1..]),
    )
}

/// Tables with others in the place of those of the same names; new ones come last.
fn merged(known: &str, news: &str) -> String {
    let tables = |text: &str| -> Vec<String> {
        let parts = format!("\n{text}");
        let parts = parts.split("\n### ").skip(1);
        parts.map(|it| it.trim_end().to_owned()).collect()
    };
    let name = |table: &str| table.lines().next().unwrap_or_default().to_owned();
    let mut all = tables(known);
    for table in tables(news) {
        match all.iter().position(|it| name(it) == name(&table)) {
            Some(at) => all[at] = table,
            None => all.push(table),
        }
    }
    let all = all.iter().map(|table| format!("### {table}\n"));
    all.collect::<Vec<_>>().join("\n")
}

/// The page with other figures between its marks.
fn between(page: &str, figures: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!(
        "{head}{BEGIN}\n{}\n\n{END}{tail}",
        figures.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::{BEGIN, END, between, known, merged};

    #[test]
    fn some_tables_take_the_place_of_those_with_their_names() {
        let page = format!("# T\n{BEGIN}\nhow\n\n### a\n\n1\n\n### b\n\n2\n\n{END}\n");
        let tables = known(&page).unwrap();
        assert_eq!(tables, "### a\n\n1\n\n### b\n\n2\n\n");
        let wanted = "### a\n\n1\n\n### b\n\n4\n\n### c\n\n5\n";
        assert_eq!(merged(tables, "### b\n\n4\n\n### c\n\n5\n"), wanted);
    }

    #[test]
    fn only_the_text_between_the_marks_is_replaced() {
        let page = format!("# Title\n\n{BEGIN}old\n{END}\nmore\n");
        let wanted = format!("# Title\n\n{BEGIN}\nnew\n\n{END}\nmore\n");
        assert_eq!(between(&page, "new\n\n"), Some(wanted.clone()));
        assert_eq!(between(&wanted, "new"), Some(wanted));
        assert_eq!(between("no marks", "new"), None);
    }
}
