//! The cost of one transition as a run grows from 10 to 100,000 tasks.

use crate::Outcome;
use crate::graphs::{self, Shape};
use crate::journal;
use crate::measure::{Contender, cpu_time, in_turns, time};
use crate::options::Options;
use crate::report::{Bound, Report};
use bowline_machines::orchestrate::{Command, NodeId, OrchestrationState, TaskGraph};
use std::sync::Arc;

const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Transitions per round; every size does the same number, small runs again and again.
const TRANSITIONS: usize = 51_200;
const DURABLE_TRANSITIONS: usize = 10_240;
/// Lines per flush in the durable part.
const BATCH: usize = 256;
/// "Flat": caches and the depth of a tree may show, the size of the run may not.
const GROWTH_MAX: f64 = 2.0;
/// Neighbours in the order of work are far apart in memory. A prime that divides no width.
const STRIDE: usize = 7_919;

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let scratch = options.scratch("growth")?;
    let rounds = options.rounds(21, 3);
    let mut pure: Vec<Contender<'_>> = Vec::new();
    let mut durable: Vec<Contender<'_>> = Vec::new();
    for nodes in SIZES {
        // Two layers: half of the tasks are ready at once, the others need three of them.
        let graph = graphs::graph(nodes, Shape::Layers(nodes / 2))?;
        let mut walk = Walk::new(&graph);
        pure.push(Box::new(move |_| {
            let (taken, done) =
                cpu_time(|| (0..TRANSITIONS).try_for_each(|_| walk.step().map(drop)));
            done.map(|()| taken)
        }));
        let mut walk = Walk::new(&graph);
        let mut held = journal::hold(&scratch.path().join(nodes.to_string()))?;
        durable.push(Box::new(move |_| {
            let (taken, done) = time(|| -> Outcome {
                for batch in 0..DURABLE_TRANSITIONS / BATCH {
                    let steps = (0..BATCH).map(|within| {
                        let (id, verb, from, to) = walk.step()?;
                        journal::step(batch * BATCH + within, &id, verb, from, to)
                    });
                    let steps = steps.collect::<Outcome<Vec<_>>>()?;
                    held.commit_steps(&journal::request(), &steps)?;
                }
                Ok(())
            });
            done.map(|()| taken)
        }));
    }
    let pure = in_turns(rounds, &mut pure)?;
    let durable = in_turns(rounds, &mut durable)?;
    let pure: Vec<f64> = pure
        .iter()
        .map(|one| one.median_ns_per(TRANSITIONS))
        .collect();
    let durable: Vec<f64> = durable
        .iter()
        .map(|one| one.median_ns_per(DURABLE_TRANSITIONS))
        .collect();
    let rows = (0..SIZES.len()).map(|at| {
        vec![
            SIZES[at].to_string(),
            format!("{:.0}", pure[at]),
            format!("{:.2}", pure[at] / pure[0]),
            format!("{:.0}", durable[at]),
            format!("{:.2}", durable[at] / durable[0]),
        ]
    });
    let grown = durable.iter().map(|time| time / durable[0]);
    let worst = grown.fold(0.0, f64::max);
    Ok(Report {
        name: "growth",
        about: format!(
            "Starting and completing the tasks of runs of different sizes, in two layers with three dependencies per \
             task of the second, in an order that jumps about: the machine alone (processor time), and machine, \
             journal line and its share of one flush per {BATCH} lines. {rounds} rounds in turns."
        ),
        columns: &[
            "tasks",
            "machine, ns per transition",
            "times that of 10",
            "durable, ns per transition",
            "times that of 10",
        ],
        rows: rows.collect(),
        bound: Some(Bound {
            promise: "a durable transition costs the same from 10 to 100,000 tasks (at most 2 times, for caches and the \
                      depth of a tree)",
            found: format!("{worst:.2} at worst"),
            kept: worst <= GROWTH_MAX,
        }),
    })
}

/// A run that is worked off again and again, one transition at a time.
struct Walk {
    order: Vec<NodeId>,
    first: OrchestrationState,
    run: OrchestrationState,
    /// Two per task: start and complete.
    done: usize,
}

impl Walk {
    fn new(graph: &Arc<TaskGraph>) -> Self {
        let width = graph.len() / 2;
        let order = (0..graph.len()).map(|at| {
            let place = at % width * STRIDE % width;
            graph.ids()[at / width * width + place].clone()
        });
        let first = graphs::begin(graph);
        Walk {
            order: order.collect(),
            run: first.clone(),
            first,
            done: 0,
        }
    }

    /// Does the next transition and tells it: task, verb, from, to.
    fn step(&mut self) -> Outcome<(NodeId, &'static str, &'static str, &'static str)> {
        if self.done == 2 * self.order.len() {
            self.run = self.first.clone();
            self.done = 0;
        }
        let id = self.order[self.done / 2].clone();
        let told = if self.done.is_multiple_of(2) {
            graphs::advance(&mut self.run, Command::Start { id: id.clone() })?;
            (id, "START", "ready", "in_progress")
        } else {
            graphs::advance(&mut self.run, Command::Complete { id: id.clone() })?;
            (id, "COMPLETE", "in_progress", "completed")
        };
        self.done += 1;
        Ok(told)
    }
}
