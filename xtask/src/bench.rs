//! Builds what is measured as it is released, runs the benchmarks, and keeps the figures of the docs.

use crate::Outcome;
use crate::release;
use crate::shell::{command, python, root};
use std::process::Stdio;

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
    let named = options.iter().any(|option| !option.starts_with('-'));
    let programs = release::build(&["bowline", "bowline-shim", "bowline-benches"])?;
    let (bowline, shim) = (programs.join("bowline"), programs.join("bowline-shim"));
    let mut benches = command(
        &programs.join("bowline-benches").to_string_lossy(),
        &options,
    );
    // Beside the build, not in the folder for temporary files: that one is often in memory, where a flush is free.
    benches.args(["--scratch".as_ref(), programs.as_os_str()]);
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
    if write && named {
        let path = root().join(PAGE);
        let page = std::fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
        let (_, rest) = page.split_once(BEGIN).ok_or("no figures")?;
        let (old, _) = rest.split_once(END).ok_or("no figures")?;
        put(&merged(old, &figures))?;
        println!("{PAGE} has these figures");
    } else if write {
        let told = format!(
            "`cargo xtask bench{}`, {}.\n\n{figures}",
            options
                .iter()
                .map(|it| format!(" {it}"))
                .collect::<String>(),
            machine()
        );
        put(&told)?;
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

fn put(figures: &str) -> Outcome {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    let page =
        between(&page, figures).ok_or(format!("{PAGE}: the marks for the figures are gone"))?;
    std::fs::write(&path, page).map_err(|error| format!("{PAGE}: {error}"))
}

/// The figures of some benchmarks in the place of those that were there, and of new ones behind them. Each stands beside its
/// own floor, so that figures of different runs may stand on one page.
fn merged(old: &str, new: &str) -> String {
    let split = |text: &str| -> Vec<String> {
        let text = format!("\n{}", text.trim());
        text.split("\n### ")
            .map(|it| it.trim().to_owned())
            .collect()
    };
    let name = |section: &str| section.lines().next().unwrap_or_default().to_owned();
    let mut sections = split(old);
    for section in split(new).into_iter().skip(1) {
        match sections
            .iter_mut()
            .skip(1)
            .find(|it| name(it) == name(&section))
        {
            Some(known) => *known = section,
            None => sections.push(section),
        }
    }
    sections.join("\n\n### ")
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
    use super::{BEGIN, END, between, merged};

    #[test]
    fn figures_of_one_benchmark_take_the_place_of_its_own() {
        let old = "A run.\n\n### one\n\n1\n\n### two\n\n2\n";
        let new = "### two\n\n3\n\n### four\n\n4\n";
        let wanted = "A run.\n\n### one\n\n1\n\n### two\n\n3\n\n### four\n\n4";
        assert_eq!(merged(old, new), wanted);
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
