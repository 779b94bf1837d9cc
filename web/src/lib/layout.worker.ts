/** Lays a graph out beside the page, which stays smooth meanwhile. */
import { Graph as Dagre, layout } from '@dagrejs/dagre';
import { inColumns, inPhases, isJoint, NODE_HEIGHT, NODE_WIDTH, withoutJoints, type Asked, type Placed } from './graph';

addEventListener('message', (event: MessageEvent<Asked>) => {
  const { ids, edges } = inPhases(event.data);
  try {
    postMessage(withoutJoints(laidOut(ids, edges)));
  } catch {
    // It goes down by recursion, and a chain of a thousand is deeper than the stack.
    postMessage(withoutJoints(inColumns(ids, edges)));
  }
});

function laidOut(ids: string[], edges: [string, string][]): Placed {
  const graph = new Dagre();
  const ranker = ids.length > 400 ? 'longest-path' : 'network-simplex';
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 46, marginx: 12, marginy: 12, ranker });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, isJoint(id) ? { width: 1, height: 1 } : { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const placed: Placed = { places: {}, lines: [], width: 0, height: 0 };
  for (const id of graph.nodes()) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    placed.places[id] = { x, y };
  }
  for (const edge of graph.edges()) {
    const { points } = graph.edge(edge) as { points: { x: number; y: number }[] };
    const [begin, end] = [placed.places[edge.v], placed.places[edge.w]];
    if (!begin || !end) continue;
    // From side to side, past whatever stands between; a line to the next column needs no point on its way.
    const past = points.length > 3 ? points.slice(1, -1) : [];
    placed.lines.push({ from: edge.v, to: edge.w, points: [{ x: begin.x + NODE_WIDTH / 2, y: begin.y }, ...past, { x: end.x - NODE_WIDTH / 2, y: end.y }] });
  }
  const size = graph.graph() as { width?: number; height?: number };
  placed.width = size.width ?? 0;
  placed.height = size.height ?? 0;
  return placed;
}
