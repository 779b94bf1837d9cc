/** The parts that decide something without a page: output, diffs, graphs, timelines, the board. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import './shown';
import { NORMAL, runsOf, SHOWN_CHARACTERS_MAX, styleAfter, textOf } from '../src/lib/ansi';
import { columnsOf } from '../src/lib/board';
import { capsuleOf } from '../src/lib/capsule';
import { countsOf, rowsBetween, rowsOf } from '../src/lib/diff';
import { scaleOf } from '../src/lib/gantt';
import { criticalPath, folded, inColumns, inPhases, phasesOf, reduced, withoutJoints, type Graph, type GraphNode } from '../src/lib/graph';
import { fetchPatiently } from '../src/lib/patient';
import type { Task, Waiting } from '../src/lib/shapes';
import { daysOf, limitedOf } from '../src/lib/spend';
import { plain } from '../src/lib/text';
import { moveOf } from '../src/lib/verbs';
import { goTogether, optionsOf } from '../src/lib/waiting';

test('colours are believed, every other escape is dropped', () => {
  const { runs, end } = runsOf('\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\x1b[2J\x1b[10;10Hend', NORMAL);
  assert.deepEqual(
    runs.map((run) => [run.text, run.style.fg, run.style.bold]),
    [
      ['red', 'a1', true],
      [' ', '', false],
      ['link', '', false],
      ['end', '', false],
    ],
  );
  assert.deepEqual(end, NORMAL);
});

test('a title that never ends takes the rest of its line only', () => {
  assert.equal(textOf('a\x1b]0;title'), 'a');
  assert.equal(textOf('\x1bPq#0~\x1b\\b'), 'b');
  assert.equal(textOf('\x9b31mc'), 'c');
  assert.equal(textOf('a\x00\x07\x08b'), 'ab');
});

test('what is invisible is named', () => {
  assert.equal(plain('a\u202eb\u200bc'), 'a⟨U+202E⟩b⟨U+200B⟩c');
  assert.equal(textOf('x\u2066y'), 'x⟨U+2066⟩y');
});

test('a carriage return shows what was written last', () => {
  assert.equal(textOf('10%\r50%\r100%\r'), '100%');
});

test('a long line is cut, and says by how much', () => {
  const { runs, cut } = runsOf('x'.repeat(SHOWN_CHARACTERS_MAX + 7), NORMAL);
  assert.equal(runs[0]?.text.length, SHOWN_CHARACTERS_MAX);
  assert.equal(cut, 7);
});

test('a style goes on over lines until it ends', () => {
  const red = styleAfter('\x1b[31mred', NORMAL);
  assert.equal(red.fg, 'a1');
  assert.equal(runsOf('still', red).runs[0]?.style.fg, 'a1');
  assert.equal(styleAfter('\x1b[38;2;10;250;20m', NORMAL).fg, 'a10');
  assert.equal(styleAfter('\x1b[38;5;196m', NORMAL).fg, 'a9');
});

test('a unified diff becomes numbered rows', () => {
  const rows = rowsOf('--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn\n same\n-old\n+new\n last\n\\ No newline at end of file\n');
  assert.deepEqual(
    rows.map((row) => [row.kind, row.before, row.after, row.text]),
    [
      ['hunk', null, null, 'fn'],
      ['same', 1, 1, 'same'],
      ['removed', 2, null, 'old'],
      ['added', null, 2, 'new'],
      ['same', 3, 3, 'last'],
    ],
  );
});

function graphOf(edges: [string, string][], done: string[] = []): Graph {
  const ids = [...new Set(edges.flat())].sort();
  const nodes = ids.map((id) => ({ id, title: '', status: done.includes(id) ? 'completed' : 'pending', phase: 1, members: [] }));
  return { nodes, edges };
}

test('edges that a longer path implies are not drawn', () => {
  const graph = graphOf([['a', 'b'], ['b', 'c'], ['a', 'c']]);
  assert.deepEqual(reduced(graph).edges, [['a', 'b'], ['b', 'c']]);
});

test('a circle in somebody’s file ends', () => {
  const graph = graphOf([['a', 'b'], ['b', 'a'], ['b', 'c']]);
  assert.equal(criticalPath(reduced(graph)).has('c'), true);
  assert.equal(folded(graph, new Set()).nodes.length > 0, true);
});

test('chains fold into one node that shows the worst of them, until they are opened', () => {
  const graph = graphOf([['a', 'b'], ['b', 'c'], ['c', 'd'], ['c', 'e']], ['a']);
  const once = folded(graph, new Set());
  assert.deepEqual(once.nodes.map((node) => [node.id, node.members.length]), [['a', 3], ['d', 0], ['e', 0]]);
  assert.deepEqual(once.edges, [['a', 'd'], ['a', 'e']]);
  assert.equal(folded(graph, new Set(['a'])).nodes.length, 5);
});

test('the critical path is the longest chain of what is open', () => {
  const graph = graphOf([['a', 'b'], ['b', 'c'], ['x', 'c']], ['a', 'b']);
  assert.deepEqual([...criticalPath(graph)].sort(), ['c', 'x']);
});

test('a phase waits for the one before: each has its part of the critical path, and stands behind the other', () => {
  const node = (id: string, phase: number | null): GraphNode => ({ id, title: '', status: 'pending', phase, members: [] });
  const graph: Graph = { nodes: [node('a', 1), node('b', 1), node('c', 2), node('d', 2), node('e', 2)], edges: [['a', 'b'], ['c', 'd'], ['a', 'e']] };
  assert.deepEqual([...criticalPath(graph)].sort(), ['a', 'b', 'c', 'd']);
  assert.deepEqual(phasesOf(graph), [1, 2]);
  assert.deepEqual(phasesOf({ ...graph, nodes: [node('a', 1), node('b', null), node('c', 2)] }), []);
  const { ids, edges } = inPhases({ ids: graph.nodes.map(({ id }) => id), edges: graph.edges, phases: Object.fromEntries(graph.nodes.map(({ id, phase }) => [id, phase ?? 0])) });
  const { places, lines } = withoutJoints(inColumns(ids, edges));
  assert.deepEqual(Object.keys(places).sort(), ['a', 'b', 'c', 'd', 'e']);
  assert.equal(lines.length, 3);
  const x = (id: string): number => places[id]?.x ?? 0;
  assert.ok(Math.max(x('a'), x('b')) < Math.min(x('c'), x('d'), x('e')));
  const one = { ids: ['a', 'b'], edges: [['a', 'b']] as [string, string][], phases: {} };
  assert.deepEqual(inPhases(one), { ids: one.ids, edges: one.edges });
});

test('tasks are grouped by the repository a person named; folders of their own group nothing', () => {
  const task = (id: string, workspace: string | null): Task => ({ id, title: id, type: 'custom', description: '', status: 'draft', createdAt: '', label: null, workspace }) as unknown as Task;
  const list = [task('task_1', '/srv/harbour'), task('task_2', '/srv/data/workspaces/task_2'), task('task_3', '/srv/harbour'), task('task_4', null)];
  const groups = columnsOf(list, '', 'workspace')[0]?.groups.map((group) => [group.name, group.tasks.map(({ id }) => id)]);
  assert.deepEqual(groups, [['', ['task_2', 'task_4']], ['/srv/harbour', ['task_1', 'task_3']]]);
});

test('a long silence takes little room', () => {
  const hour = 3_600_000;
  const scale = scaleOf([
    { id: 'a', status: 'completed', from: 0, to: hour },
    { id: 'b', status: 'completed', from: 20 * hour, to: 21 * hour },
  ]);
  assert.equal(scale.breaks.length, 1);
  assert.ok(scale.at(hour) > 0.45 && scale.at(20 * hour) < 0.55);
  assert.equal(scale.at(21 * hour), 1);
});

test('the order of a column is that of creation, whatever moves', () => {
  const task = (id: string, createdAt: string, updatedAt: string): Task =>
    ({ id, title: id, type: 'custom', description: '', status: 'pending', createdAt, updatedAt, label: null }) as unknown as Task;
  const one = task('one', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
  const two = task('two', '2026-01-02T00:00:00Z', '2026-01-02T00:00:00Z');
  const order = (list: Task[]): string[] =>
    columnsOf(list, '', 'none').flatMap((column) => column.groups.flatMap((group) => group.tasks.map((one) => one.id)));
  assert.deepEqual(order([one, two]), ['two', 'one']);
  assert.deepEqual(order([{ ...one, updatedAt: '2026-01-09T00:00:00Z' }, two]), ['two', 'one']);
});

test('a proposed command is found among what the server allows', () => {
  const one = (verb: string, ids: string[] = []) => ({ verb, ids, asks: [], takes: [], codes: [], values: [], runs: null });
  const found = (command: string, ...actions: ReturnType<typeof one>[]) => {
    const move = moveOf(command, actions);
    return move && [move.action.verb, move.id];
  };
  assert.deepEqual(found('bowline thinking start planning', one('start', ['planning'])), ['start', 'planning']);
  assert.deepEqual(found('bowline develop implement', one('implement')), ['implement', null]);
  assert.deepEqual(found("bowline -C '/srv/a b' orchestrate start T1.6", one('start', ['T1.5', 'T1.6'])), ['start', 'T1.6']);
  assert.deepEqual(found('bowline memory --dir /srv/m step fail 1 --message MESSAGE', one('step-fail', ['1'])), ['step-fail', '1']);
  assert.deepEqual(found('bowline memory task pause', one('pause')), ['pause', null]);
  assert.deepEqual(found("bowline doctor --repair '/srv/a b/thinking_state.json'", one('repair')), ['repair', null]);
  assert.deepEqual(found('bowline orchestrate run', one('run')), ['run', null]);
  assert.deepEqual(found('bowline orchestrate phase finish 2', one('phase-finish', ['2'])), ['phase-finish', '2']);
  const gate = [one('gate-pass', ['re_review_clean']), one('gate-by-hand', ['re_review_clean'])];
  assert.deepEqual(found('bowline develop gate pass re_review_clean', ...gate), ['gate-pass', 're_review_clean']);
  assert.deepEqual(found('bowline develop gate pass re_review_clean --by-hand REASON', ...gate), ['gate-by-hand', 're_review_clean']);
  assert.deepEqual(found("bowline develop checkpoint pass api --run 'npm test'", one('checkpoint-pass', ['api'])), ['checkpoint-pass', 'api']);
  for (const no of ['bowline thinking start creation', 'bowline doctor --repair x', 'bowline develop run']) {
    assert.equal(found(no, one('start', ['planning'])), null, no);
  }
});

test('a chain of thousands is laid out in columns, nothing on top of another', () => {
  const ids = Array.from({ length: 3000 }, (_, at) => `T${at}`);
  const placed = inColumns(ids, ids.slice(1).map((id, at): [string, string] => [ids[at] ?? '', id]));
  const places = new Set(Object.values(placed.places).map(({ x, y }) => `${x} ${y}`));
  assert.equal(places.size, ids.length);
  assert.equal(placed.lines.length, ids.length - 1);
});

test('ids that come twice in somebody’s file are drawn once', () => {
  const graph = graphOf([['a', 'b'], ['a', 'b']]);
  const twice = { nodes: [...graph.nodes, ...graph.nodes], edges: graph.edges };
  assert.deepEqual(reduced(twice).nodes.map((node) => node.id), ['a', 'b']);
  assert.equal(reduced(twice).edges.length, 1);
});

test('a replaced line marks only what differs in it', () => {
  const rows = rowsOf('@@ -1,1 +1,1 @@\n-const first = 4;\n+const first = 12;\n');
  assert.deepEqual(rows.slice(1).map((row) => row.text.slice(...(row.mark ?? [0, 0]))), ['4', '12']);
  const other = rowsOf('@@ -1,1 +1,1 @@\n-all of this\n+is another thing\n');
  assert.equal(other[1]?.mark, undefined);
  assert.deepEqual(countsOf(rows), { added: 1, removed: 1 });
});

test('two texts become a diff with little of what is alike around it', () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  const after = before.with(10, 'another');
  const rows = rowsBetween(before.join('\n'), after.join('\n'));
  assert.deepEqual(rows.map((row) => row.kind), ['same', 'same', 'same', 'removed', 'added', 'same', 'same', 'same']);
  assert.deepEqual(rows.map((row) => row.after), [8, 9, 10, null, 11, 12, 13, 14]);
  assert.deepEqual(rowsBetween('', 'new').map((row) => row.kind), ['added']);
  const grown = rowsBetween('a = 4;\nshow(a);', 'a = 1;\nshow(a);\nlater(3);');
  assert.deepEqual(grown.map((row) => `${row.kind} ${row.text}`), ['removed a = 4;', 'added a = 1;', 'same show(a);', 'added later(3);']);
  assert.deepEqual(grown.map((row) => row.text.slice(...(row.mark ?? [0, 0]))), ['4', '1', '', '']);
  assert.deepEqual(rowsBetween('same', 'same').map((row) => row.kind), ['same']);
});

test('every day up to today has its column, and rows of one day are added', () => {
  const rows = [
    { day: '2026-02-27', tokens: 5, costUsd: 0.5 },
    { day: '2026-03-01', tokens: 7, costUsd: null },
    { day: '2026-03-01', tokens: 3, costUsd: 1 },
    { day: '2025-01-01', tokens: 9, costUsd: 9 },
  ];
  assert.deepEqual(daysOf(rows, '2026-03-01', 4), [
    { day: '2026-02-26', tokens: 0, costUsd: 0 },
    { day: '2026-02-27', tokens: 5, costUsd: 0.5 },
    { day: '2026-02-28', tokens: 0, costUsd: 0 },
    { day: '2026-03-01', tokens: 10, costUsd: 1 },
  ]);
});

test('things go together when one decision can fit all of them', () => {
  const one = (kind: string, more: object = {}): Waiting => ({ kind, id: kind, ...more }) as unknown as Waiting;
  const asks = (...options: string[]): Waiting => one('question', { question: { options } });
  assert.equal(goTogether([one('review'), one('review')]), true);
  assert.equal(goTogether([one('review'), one('question')]), false);
  assert.deepEqual(optionsOf([asks('a', 'b'), asks('b', 'c')]), ['b']);
  assert.equal(goTogether([asks('a'), asks('b')]), false);
  assert.equal(goTogether([asks(), asks()]), true);
  const needs = (name: string): Waiting => one('dependency', { dependency: { name } });
  assert.equal(goTogether([needs('KEY'), needs('KEY')]), true);
  assert.equal(goTogether([needs('KEY'), needs('OTHER')]), false);
});

test('a capsule is read whatever is in it, and nothing else is one', () => {
  const odd = { kind: 'bowline-capsule', version: 1, task: [], program: null, transitions: [7, { to: 'running', from: null, metadata: 'x' }], output: { text: 'a\u{10ffff}\u{10fffe}b' } };
  const capsule = capsuleOf(JSON.stringify(odd));
  assert.equal(capsule?.output, 'a\ufffdb');
  assert.deepEqual(capsule?.moves.map((move) => [move.sequence, move.to, move.from, move.metadata]), [[1, '', null, {}], [2, 'running', null, {}]]);
  for (const no of ['', '[]', 'null', '{"kind":"bowline-capsule","version":2}', '{"kind":"other","version":1}']) assert.equal(capsuleOf(no), null);
});

test('time under a limit belongs to the days it lasted', () => {
  const limits = [
    { from: '2026-03-01T23:30:00Z', until: '2026-03-02T00:15:00Z' },
    { from: '2026-03-03T11:50:00Z', until: null },
  ];
  const days = limitedOf(limits, Date.parse('2026-03-03T12:00:00Z'), 3);
  assert.deepEqual(days.map(({ day, span }) => [day, span / 60_000]), [['2026-03-01', 30], ['2026-03-02', 15], ['2026-03-03', 10]]);
});

test('a server without room is asked again under the same key, for so long', async () => {
  const keys: (string | null)[] = [];
  const waits: number[] = [];
  const ask = (method: string, answers: Response[]) =>
    fetchPatiently(
      new Request('http://localhost/api/tasks', { method }),
      (request) => {
        keys.push(request.headers.get('Idempotency-Key'));
        return Promise.resolve(answers.shift() ?? new Response('{}'));
      },
      (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
    );
  const busy = (after: string) => new Response('', { status: 503, headers: { 'Retry-After': after } });
  assert.equal((await ask('POST', [busy('1'), busy('2')])).status, 200);
  assert.equal(new Set(keys).size, 1);
  assert.ok(keys[0]);
  assert.deepEqual(waits, [1000, 2000]);
  assert.equal((await ask('GET', [busy('60')])).status, 503);
  assert.equal((await ask('GET', [new Response('', { status: 503 })])).status, 503);
  assert.equal(keys.at(-1), null);
});
