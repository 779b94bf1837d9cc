//! Drills: the promises under load, through the real binary. Counts are parameters; CI runs small ones.

mod churn;
mod common;
mod gates;
pub(crate) mod history;
mod orchestrate;
mod server;
mod serving;
pub(crate) mod supervisor;
mod upgrade;

use std::collections::BTreeMap;
use xtask::Outcome;

/// Runs a drill by name.
pub(crate) fn run(name: &str, options: &[&str]) -> Outcome {
    let options = parse(options)?;
    let get = |key: &str, default: usize| options.get(key).copied().unwrap_or(default);
    println!("\n── drill {name} {options:?}");
    match name {
        "churn" => churn::run(&churn::Plan {
            tasks: get("tasks", 20_000),
            clients: get("clients", 16),
            slots: get("slots", 8),
            kills: get("kills", 30),
            full_disks: get("full-disks", 5),
            no_descriptors: get("no-descriptors", 5),
            minutes: get("minutes", 0),
            seed: get("seed", 1) as u64,
        }),
        "gates" => gates::run(get("count", 200)),
        "history" => history::run(&history::Plan {
            operations: get("operations", 10_000),
            processes: get("processes", 32),
            seed: get("seed", 1) as u64,
            keep_going: get("keep-going", 0) > 0,
        }),
        "orchestrate" => orchestrate::run(&orchestrate::Plan {
            kills: get("kills", 200),
            tasks: get("tasks", 60),
            phases: get("phases", 5),
            seed: get("seed", 1) as u64,
            seeds: get("seeds", 1) as u64,
        }),
        "server" => server::run(&server::Plan {
            kills: get("kills", 300),
            agents: get("agents", 50),
            seed: get("seed", 1) as u64,
        }),
        "supervisor" => supervisor::run(&supervisor::Plan {
            clients: get("clients", 500),
            shims: get("shims", 100),
        }),
        "upgrade" => upgrade::run(&upgrade::Plan {
            times: get("times", 50),
            agents: get("agents", 100),
            reboots: get("reboots", 3),
            seed: get("seed", 1) as u64,
        }),
        other => Err(format!("there is no drill '{other}'")),
    }
}

fn parse<'o>(options: &[&'o str]) -> Outcome<BTreeMap<&'o str, usize>> {
    let mut parsed = BTreeMap::new();
    for pair in options.chunks(2) {
        let [key, value] = pair else {
            return Err(format!("{} needs a number", pair.join(" ")));
        };
        let key = key
            .strip_prefix("--")
            .ok_or_else(|| format!("'{key}' is no option"))?;
        let number = value
            .parse()
            .map_err(|_| format!("--{key} needs a number, not '{value}'"))?;
        parsed.insert(key, number);
    }
    Ok(parsed)
}
