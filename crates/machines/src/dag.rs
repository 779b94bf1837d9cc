//! Directed graphs over small numbers, in compressed form, and the search for a cycle in one.

/// The successors of every node, all in one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdjacencyList {
    /// Index in `targets` of the first successor of node `n`; its successors end where those of `n
    /// + 1` begin.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl AdjacencyList {
    /// Groups `(from, to)` edges by `from`; the order of the edges of one node is kept.
    pub(crate) fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0usize; nodes + 1];
        for &(from, _) in edges {
            starts[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut free = starts.clone();
        let mut targets = vec![0; edges.len()];
        for &(from, to) in edges {
            targets[free[from as usize]] = to;
            free[from as usize] += 1;
        }
        AdjacencyList { starts, targets }
    }

    /// Returns the nodes that `node` points to.
    pub(crate) fn targets_of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the same edges, pointing the other way.
    pub(crate) fn reversed(&self) -> Self {
        let edges: Vec<(u32, u32)> = self
            .node_numbers()
            .flat_map(|from| self.targets_of(from).iter().map(move |&to| (to, from)))
            .collect();
        AdjacencyList::new(self.len(), &edges)
    }

    fn node_numbers(&self) -> impl Iterator<Item = u32> {
        (0u32..).take(self.len())
    }
}

/// Finds a cycle, from its lowest node back to that node (`[1, 4, 1]`), in time linear in nodes and
/// edges.
pub(crate) fn find_cycle(graph: &AdjacencyList) -> Option<Vec<u32>> {
    let incoming = graph.reversed();
    // Removes nodes that point nowhere, then those that point only to removed nodes, and so on.
    let mut open: Vec<usize> = graph
        .node_numbers()
        .map(|node| graph.targets_of(node).len())
        .collect();
    let mut ends: Vec<u32> = graph
        .node_numbers()
        .filter(|&node| open[node as usize] == 0)
        .collect();
    while let Some(node) = ends.pop() {
        for &before in incoming.targets_of(node) {
            open[before as usize] -= 1;
            if open[before as usize] == 0 {
                ends.push(before);
            }
        }
    }
    // Every node that is left points to another one that is left: following it must come round.
    let mut node = graph.node_numbers().find(|&node| open[node as usize] > 0)?;
    let mut seen_at = vec![None; graph.len()];
    let mut walk = Vec::new();
    while seen_at[node as usize].is_none() {
        seen_at[node as usize] = Some(walk.len());
        walk.push(node);
        node = *graph
            .targets_of(node)
            .iter()
            .find(|&&to| open[to as usize] > 0)?;
    }
    let mut ring = walk.split_off(seen_at[node as usize]?);
    let lowest = (0..ring.len()).min_by_key(|&place| ring[place])?;
    ring.rotate_left(lowest);
    ring.push(ring[0]);
    Some(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_grouped_and_reversed() {
        let graph = AdjacencyList::new(3, &[(2, 0), (0, 1), (2, 1)]);
        assert_eq!(
            (
                graph.targets_of(0),
                graph.targets_of(1),
                graph.targets_of(2)
            ),
            (&[1][..], &[][..], &[0, 1][..])
        );
        assert_eq!(graph.reversed().targets_of(1), [0, 2]);
    }

    #[test]
    fn a_cycle_is_told_from_its_lowest_node_and_without_what_leads_to_it() {
        let tail_and_ring = AdjacencyList::new(5, &[(0, 4), (4, 2), (2, 3), (3, 4), (3, 1)]);
        assert_eq!(find_cycle(&tail_and_ring), Some(vec![2, 3, 4, 2]));
        assert_eq!(
            find_cycle(&AdjacencyList::new(1, &[(0, 0)])),
            Some(vec![0, 0])
        );
        assert_eq!(
            find_cycle(&AdjacencyList::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)])),
            None
        );
        assert_eq!(find_cycle(&AdjacencyList::new(0, &[])), None);
    }
}
