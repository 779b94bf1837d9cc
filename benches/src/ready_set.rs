//! The ready set after one completion in a large graph, against the least that any scheduler must do.

use crate::Outcome;
use crate::graphs::{self, Shape};
use crate::measure::{Contender, cpu_time, in_turns};
use crate::options::Options;
use crate::report::Report;
use bowline_machines::orchestrate::{Command, NextWork, OrchestrationLimits, TaskGraph, next_work};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const NODES: usize = 100_000;
/// Tasks at once.
const PARALLEL: u32 = 10;

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
            "A run of {NODES} tasks worked off, {PARALLEL} at once: for each task the question what is ready, `start` and \
             `complete`, against counting down plain numbers (no names, no effects, nothing to ask). Processor time, {rounds} rounds in turns."
        ),
        columns: &[
            "graph",
            "bare ns per task",
            "ns per task",
            "ns per task and edge touched",
        ],
        rows,
        bound: None,
    })
}

/// Works the whole run off, with as many tasks at once as it allows.
fn complete_all(graph: &Arc<TaskGraph>) -> Outcome<Duration> {
    let config = OrchestrationLimits {
        max_parallel: PARALLEL,
        ..OrchestrationLimits::default()
    };
    let mut run = graphs::begin(graph).with_limits(config);
    let (taken, done) = cpu_time(|| -> Outcome {
        let mut running = VecDeque::new();
        for _ in 0..graph.len() {
            if let NextWork::Ready(ready) = next_work(&run) {
                for id in ready {
                    graphs::advance(&mut run, Command::Start { id: id.clone() })?;
                    running.push_back(id);
                }
            }
            let id = running.pop_front().ok_or("nothing runs")?;
            graphs::advance(&mut run, Command::Complete { id })?;
        }
        Ok(())
    });
    done?;
    match next_work(&run) {
        NextWork::PhaseDone(1) => Ok(taken),
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
    let (taken, done) = cpu_time(|| {
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
