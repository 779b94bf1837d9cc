//! The ready set after one completion in a large graph, against the least that any scheduler must do.

use crate::Outcome;
use crate::graphs::{self, Shape};
use crate::measure::{Contender, in_turns, time};
use crate::options::Options;
use crate::report::Report;
use bowline_machines::orchestrate::{Command, Graph, Id, Next, next};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const NODES: usize = 100_000;

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let rounds = options.rounds(9, 2);
    let shapes = [
        ("chain: 1 dependent each", Shape::Chain),
        ("layers of 100: 3 dependents each", Shape::Layers(100)),
        ("fans: 1 task with 999 dependents", Shape::Fans(999)),
    ];
    let mut rows = Vec::new();
    for (name, shape) in shapes {
        let graph = graphs::graph(NODES, shape)?;
        let needs: Vec<Vec<usize>> = (0..NODES).map(|node| graphs::needs(node, shape)).collect();
        let edges: usize = needs.iter().map(Vec::len).sum();
        let mut contenders: Vec<Contender<'_>> = vec![
            Box::new(|_| Ok(count_down(&needs))),
            Box::new(|_| complete_all(&graph)),
        ];
        let samples = in_turns(rounds, &mut contenders)?;
        rows.push(vec![
            name.to_owned(),
            format!("{:.0}", samples[0].median_ns_per(NODES)),
            format!("{:.0}", samples[1].median_ns_per(NODES)),
            format!("{:.0}", samples[1].median_ns_per(NODES + edges)),
        ]);
    }
    Ok(Report {
        name: "ready-set",
        about: format!(
            "All completions of a run of {NODES} tasks, one after the other: the machine's `complete`, with the new \
             state, its effects and the ready set of the next question, against counting down plain numbers in place \
             (no state to go back to, no names, no effects). {rounds} rounds in turns."
        ),
        columns: &[
            "graph",
            "bare ns per completion",
            "ns per completion",
            "ns per task and edge touched",
        ],
        rows,
        bound: None,
    })
}

/// Works the whole run off in an order that is always possible; only completions count.
fn complete_all(graph: &Arc<Graph>) -> Outcome<Duration> {
    let mut run = graphs::begin(graph).with_config(Default::default());
    let places = run.free_places().unwrap_or(1);
    let mut total = Duration::ZERO;
    let mut waiting: Vec<Id> = match next(&run) {
        Next::Ready(ready) => ready,
        other => return Err(format!("a new run says {other:?}").into()),
    };
    let mut running: Vec<Id> = Vec::new();
    for _ in 0..graph.len() {
        while running.len() < places {
            let Some(id) = waiting.pop() else { break };
            run = graphs::step(&run, Command::Start { id: id.clone() })?;
            running.push(id);
        }
        let id = running
            .pop()
            .ok_or("nothing runs although tasks are left")?;
        let (taken, done) = time(|| {
            let run = graphs::step(&run, Command::Complete { id })?;
            let next = next(&run);
            Outcome::Ok((run, next))
        });
        total += taken;
        let (after, next) = done?;
        run = after;
        if let Next::Ready(ready) = next {
            waiting = ready;
        }
    }
    match next(&run) {
        Next::PhaseDone(1) => Ok(total),
        other => Err(format!("a finished run says {other:?}").into()),
    }
}

/// The floor: dependents and open needs as plain vectors.
fn count_down(needs: &[Vec<usize>]) -> Duration {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (node, needs) in needs.iter().enumerate() {
        for need in needs {
            dependents[*need].push(node);
        }
    }
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..needs.len()).filter(|node| open[*node] == 0).collect();
    let (taken, done) = time(|| {
        let mut done = 0;
        while let Some(node) = ready.pop() {
            done += 1;
            for dependent in &dependents[node] {
                open[*dependent] -= 1;
                if open[*dependent] == 0 {
                    ready.push(*dependent);
                }
            }
        }
        done
    });
    black_box(done);
    taken
}
