//! Graphs of tasks for the benchmarks, and a run through one.

use crate::Outcome;
use bowline_machines::orchestrate::{
    Command, NodeId, NodeSpec, OrchestrateMachine, OrchestrationLimits, OrchestrationState,
    TaskGraph,
};
use bowline_machines::{Machine as _, Timestamp};
use std::sync::Arc;

/// The time of every command; the machine is given its clock.
pub(crate) const AT: Timestamp = Timestamp(1_767_225_600);

/// How the tasks of a graph hang together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Each task needs the one before.
    Chain,
    /// Layers of this width; each task needs three of the layer before.
    Layers(usize),
    /// Groups: one task, then this many that need it.
    Fans(usize),
}

/// A graph of `nodes` tasks in one phase, in an order in which they can be done.
pub(crate) fn graph(nodes: usize, shape: Shape) -> Outcome<Arc<TaskGraph>> {
    let id = |node: usize| NodeId::from(format!("T1.{node}"));
    let specs = (0..nodes).map(|node| NodeSpec {
        id: id(node),
        phase: 1,
        section: 0,
        dependencies: needs(node, shape).into_iter().map(id).collect(),
    });
    Ok(Arc::new(TaskGraph::new(specs.collect())?))
}

/// The tasks that `node` needs.
pub(crate) fn needs(node: usize, shape: Shape) -> Vec<usize> {
    match shape {
        Shape::Chain => node.checked_sub(1).into_iter().collect(),
        Shape::Layers(width) => {
            let Some(above) = node.checked_sub(width) else {
                return Vec::new();
            };
            let (layer, place) = (above / width * width, above % width);
            let mut needs = vec![place, (place + 1) % width, (place + 7) % width];
            needs.sort_unstable();
            needs.dedup();
            needs.into_iter().map(|place| layer + place).collect()
        }
        Shape::Fans(size) => match node % (size + 1) {
            0 => Vec::new(),
            within => vec![node - within],
        },
    }
}

/// A run nobody has begun, without a limit on tasks at once.
pub(crate) fn begin(graph: &Arc<TaskGraph>) -> OrchestrationState {
    let config = OrchestrationLimits {
        max_parallel: 0,
        ..OrchestrationLimits::default()
    };
    OrchestrationState::new(Arc::clone(graph), config, AT)
}

/// Moves a run on, in place, as whoever holds the only copy does.
pub(crate) fn advance(run: &mut OrchestrationState, command: Command) -> Outcome {
    OrchestrateMachine::advance(run, command, AT)?;
    Ok(())
}
