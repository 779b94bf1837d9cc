/** Lays a graph out beside the page, which stays smooth meanwhile. */
import { Graph as Dagre, layout } from '@dagrejs/dagre';
import { inColumns, NODE_HEIGHT, NODE_WIDTH, type Placed } from './graph';

export interface Asked {
  ids: string[];
  edges: [string, string][];
}

addEventListener('message', (event: MessageEvent<Asked>) => {
  const { ids, edges } = event.data;
  try {
    postMessage(laidOut(ids, edges));
  } catch {
    // It goes down by recursion, and a chain of a thousand is deeper than the stack.
    postMessage(inColumns(ids, edges));
  }
});

function laidOut(ids: string[], edges: [string, string][]): Placed {
  const graph = new Dagre();
  const ranker = ids.length > 400 ? 'longest-path' : 'network-simplex';
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 46, marginx: 12, marginy: 12, ranker });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const placed: Placed = { places: {}, lines: [], width: 0, height: 0 };
  for (const id of graph.nodes()) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    placed.places[id] = { x, y };
  }
  for (const edge of graph.edges()) {
    const { points } = graph.edge(edge) as { points: { x: number; y: number }[] };
    placed.lines.push({ from: edge.v, to: edge.w, points });
  }
  const size = graph.graph() as { width?: number; height?: number };
  placed.width = size.width ?? 0;
  placed.height = size.height ?? 0;
  return placed;
}
