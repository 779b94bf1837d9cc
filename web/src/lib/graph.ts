/** Graphs of tasks: what is drawn of them, and where. Places depend on ids and edges only, so that a status moves nothing. */

export interface GraphNode {
  id: string;
  title: string;
  status: string;
  phase: number | null;
  /** The nodes that stand behind this one, when a chain is folded. */
  members: string[];
}

export interface Graph {
  nodes: GraphNode[];
  /** From what is needed to what needs it. */
  edges: [string, string][];
}

/** The edges that no longer path already implies. */
export function reduced(given: Graph): Graph {
  // Two with one id would be drawn on top of each other: the later one counts.
  const graph = { nodes: [...new Map(given.nodes.map((node) => [node.id, node])).values()], edges: given.edges };
  const next = new Map<string, string[]>(graph.nodes.map((node) => [node.id, []]));
  const pairs = new Map(graph.edges.map((edge) => [edge.join('\n'), edge]));
  const known = [...pairs.values()].filter(([from, to]) => next.has(from) && next.has(to) && from !== to);
  for (const [from, to] of known) next.get(from)?.push(to);
  const edges = known.filter(([from, to]) => {
    const waiting = (next.get(from) ?? []).filter((other) => other !== to);
    // A path that comes back to where it began implies nothing.
    const seen = new Set([...waiting, from]);
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (at === to) return false;
      for (const other of next.get(at) ?? []) {
        if (!seen.has(other)) {
          seen.add(other);
          waiting.push(other);
        }
      }
    }
    return true;
  });
  return { nodes: graph.nodes, edges };
}

/** What a fold shows: the member that most needs to be seen. */
const WORST = ['failed', 'blocked', 'in_progress', 'ready', 'pending', 'completed'];

/** Chains without a branch become one node, except those the reader opened. */
export function folded(graph: Graph, opened: ReadonlySet<string>): Graph {
  const into = new Map<string, string[]>();
  const out = new Map<string, string[]>();
  for (const [from, to] of graph.edges) {
    out.set(from, [...(out.get(from) ?? []), to]);
    into.set(to, [...(into.get(to) ?? []), from]);
  }
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const only = (map: Map<string, string[]>, id: string): string | null => {
    const list = map.get(id) ?? [];
    return list.length === 1 ? (list[0] ?? null) : null;
  };
  const joins = (from: string, to: string): boolean =>
    only(out, from) === to && only(into, to) === from && byId.get(from)?.phase === byId.get(to)?.phase;
  const head = new Map<string, string>();
  const nodes: GraphNode[] = [];
  for (const node of graph.nodes) {
    const before = only(into, node.id);
    if (before && joins(before, node.id)) continue;
    const chain = [node];
    for (let at = node; ; ) {
      const after = only(out, at.id);
      const following = after && joins(at.id, after) ? byId.get(after) : undefined;
      if (!following) break;
      chain.push(following);
      at = following;
    }
    if (chain.length < 3 || opened.has(node.id)) {
      nodes.push(...chain);
      continue;
    }
    for (const member of chain) head.set(member.id, node.id);
    const status = WORST.find((word) => chain.some((member) => member.status === word)) ?? node.status;
    nodes.push({ ...node, status, title: '', members: chain.map((member) => member.id) });
  }
  const edges = graph.edges
    .map(([from, to]): [string, string] => [head.get(from) ?? from, head.get(to) ?? to])
    .filter(([from, to]) => from !== to);
  return { nodes, edges: [...new Map(edges.map((edge) => [edge.join('\n'), edge])).values()] };
}

/** What can make the whole end sooner: of each phase the longest chain of what is still to be done, since a phase waits for the one before. */
export function criticalPath(graph: Graph): Set<string> {
  const phases = new Map<number | null, GraphNode[]>();
  for (const node of graph.nodes) phases.set(node.phase, [...(phases.get(node.phase) ?? []), node]);
  return new Set([...phases.values()].flatMap((nodes) => longestOpen({ nodes, edges: within(nodes, graph.edges) })));
}

function within(nodes: GraphNode[], edges: Graph['edges']): Graph['edges'] {
  const known = new Set(nodes.map((node) => node.id));
  return edges.filter(([from, to]) => known.has(from) && known.has(to));
}

function longestOpen(graph: Graph): string[] {
  const into = new Map<string, string[]>();
  for (const [from, to] of graph.edges) into.set(to, [...(into.get(to) ?? []), from]);
  const open = new Set(graph.nodes.filter((node) => node.status !== 'completed').map((node) => node.id));
  const length = new Map<string, number>();
  const via = new Map<string, string>();
  for (const id of ordered(graph)) {
    let best = 0;
    for (const before of into.get(id) ?? []) {
      const so = length.get(before) ?? 0;
      if (so > best) {
        best = so;
        via.set(id, before);
      }
    }
    length.set(id, best + (open.has(id) ? 1 : 0));
  }
  let end: string | undefined;
  for (const [id, value] of length) if (open.has(id) && value > (end === undefined ? 0 : (length.get(end) ?? 0))) end = id;
  const path = new Set<string>();
  for (let at = end; at !== undefined && !path.has(at); at = via.get(at)) if (open.has(at)) path.add(at);
  return [...path];
}

/** What a layout is asked for. Phases are there where a graph has several: each stands behind the one before. */
export interface Asked {
  ids: string[];
  edges: [string, string][];
  phases: Record<string, number>;
}

/** What begins so is a place between two phases, which nobody sees. */
const BETWEEN = '\n';
export const isJoint = (id: string): boolean => id.startsWith(BETWEEN);

/** The phases of a graph in order, where it has several and every node has one. */
export function phasesOf(graph: Graph): number[] {
  const all = [...new Set(graph.nodes.map((node) => node.phase))].filter((phase) => phase !== null);
  return all.length > 1 && graph.nodes.every((node) => node.phase !== null) ? all.sort((one, other) => one - other) : [];
}

/** The graph with a joint between each two phases: whatever ends one comes before it, whatever begins the next behind it. */
export function inPhases({ ids, edges, phases }: Asked): { ids: string[]; edges: [string, string][] } {
  const order = [...new Set(Object.values(phases))].sort((one, other) => one - other);
  if (order.length < 2) return { ids, edges };
  const inside = edges.filter(([from, to]) => phases[from] === phases[to]);
  const [begins, ends] = [new Set(ids), new Set(ids)];
  for (const [from, to] of inside) {
    begins.delete(to);
    ends.delete(from);
  }
  const joints = order.slice(1).map((phase) => BETWEEN + phase);
  const more = ids.flatMap((id): [string, string][] => {
    const at = order.indexOf(phases[id] ?? 0);
    const [before, behind] = [joints[at - 1], joints[at]];
    return [...(before && begins.has(id) ? [[before, id] as [string, string]] : []), ...(behind && ends.has(id) ? [[id, behind] as [string, string]] : [])];
  });
  return { ids: [...ids, ...joints], edges: [...edges, ...more] };
}

/** Without the joints, which only kept the phases apart. */
export function withoutJoints(placed: Placed): Placed {
  const places = Object.fromEntries(Object.entries(placed.places).filter(([id]) => !isJoint(id)));
  return { ...placed, places, lines: placed.lines.filter(({ from, to }) => !isJoint(from) && !isJoint(to)) };
}

/** Columns by the longest way to each node, in the order of the ids: for graphs that are too deep to be laid out better. */
export function inColumns(ids: string[], edges: [string, string][]): Placed {
  const into = new Map<string, string[]>();
  for (const [from, to] of edges) into.set(to, [...(into.get(to) ?? []), from]);
  const column = new Map<string, number>();
  const rows: number[] = [];
  const placed: Placed = { places: {}, lines: [], width: 0, height: 0 };
  for (const id of ordered({ nodes: ids.map((id) => ({ id })), edges })) {
    const at = Math.max(-1, ...(into.get(id) ?? []).map((before) => column.get(before) ?? -1)) + 1;
    column.set(id, at);
    const row = (rows[at] = (rows[at] ?? -1) + 1);
    const place = { x: MARGIN + NODE_WIDTH / 2 + at * (NODE_WIDTH + 46), y: MARGIN + NODE_HEIGHT / 2 + row * (NODE_HEIGHT + 14) };
    placed.places[id] = place;
    placed.width = Math.max(placed.width, place.x + NODE_WIDTH / 2 + MARGIN);
    placed.height = Math.max(placed.height, place.y + NODE_HEIGHT / 2 + MARGIN);
  }
  for (const [from, to] of edges) {
    const [begin, end] = [placed.places[from], placed.places[to]];
    if (!begin || !end) continue;
    const points = [
      { x: begin.x + NODE_WIDTH / 2, y: begin.y },
      { x: end.x - NODE_WIDTH / 2, y: end.y },
    ];
    placed.lines.push({ from, to, points });
  }
  return placed;
}

/** The ids with every node after what it needs; those of a circle come last. */
function ordered(graph: { nodes: { id: string }[]; edges: [string, string][] }): string[] {
  const missing = new Map(graph.nodes.map((node) => [node.id, 0]));
  const out = new Map<string, string[]>();
  for (const [from, to] of graph.edges) {
    missing.set(to, (missing.get(to) ?? 0) + 1);
    out.set(from, [...(out.get(from) ?? []), to]);
  }
  const order: string[] = [];
  const free = [...missing].filter(([, count]) => count === 0).map(([id]) => id);
  for (let at = free.shift(); at !== undefined; at = free.shift()) {
    order.push(at);
    for (const to of out.get(at) ?? []) {
      const left = (missing.get(to) ?? 1) - 1;
      missing.set(to, left);
      if (left === 0) free.push(to);
    }
  }
  const known = new Set(order);
  const rest = graph.nodes.map((node) => node.id).filter((id) => !known.has(id));
  return [...order, ...rest];
}

export interface Placed {
  places: Record<string, { x: number; y: number }>;
  lines: { from: string; to: string; points: { x: number; y: number }[] }[];
  width: number;
  height: number;
}

export const NODE_WIDTH = 168;
export const NODE_HEIGHT = 40;
const MARGIN = 12;
