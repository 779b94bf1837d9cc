/** Unified diffs as rows to show. */

export interface Row {
  kind: 'hunk' | 'same' | 'added' | 'removed';
  before: number | null;
  after: number | null;
  text: string;
  /** The part of the line that differs from the line it replaces, from and to. */
  mark?: [number, number];
}

/** Lines that stay the same and are shown around those that do not. */
const AROUND = 3;
/** Pairs of lines that are compared at the most. */
const COMPARED_MAX = 250_000;
const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

/** The rows of one file's patch. Lines before the first hunk are headers and say nothing a reader needs. */
export function rowsOf(patch: string): Row[] {
  const rows: Row[] = [];
  let before = 0;
  let after = 0;
  let inside = false;
  const lines = patch.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      inside = true;
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      rows.push({ kind: 'hunk', before: null, after: null, text: (hunk[3] ?? '').trim() });
    } else if (!inside || line.startsWith('\\')) {
      continue;
    } else if (line.startsWith('+')) {
      rows.push({ kind: 'added', before: null, after: after++, text: line.slice(1) });
    } else if (line.startsWith('-')) {
      rows.push({ kind: 'removed', before: before++, after: null, text: line.slice(1) });
    } else {
      rows.push({ kind: 'same', before: before++, after: after++, text: line.slice(1) });
    }
  }
  markChanges(rows);
  return rows;
}

/** Where lines are replaced one by one, only what differs in each is marked. */
function markChanges(rows: Row[]): void {
  for (let at = 0; at < rows.length; ) {
    let removed = at;
    while (rows[removed]?.kind === 'removed') removed++;
    let added = removed;
    while (rows[added]?.kind === 'added') added++;
    const count = removed - at;
    if (count > 0 && added - removed === count) {
      for (let pair = 0; pair < count; pair++) markPair(rows[at + pair], rows[removed + pair]);
    }
    at = Math.max(added, at + 1);
  }
}

function markPair(old: Row | undefined, next: Row | undefined): void {
  if (!old || !next) return;
  const [one, other] = [old.text, next.text];
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++;
  // Lines that have little in common are simply different.
  if (head + tail < most * 0.4) return;
  old.mark = [head, one.length - tail];
  next.mark = [head, other.length - tail];
}

/** How many lines came and went. */
export function countsOf(rows: Row[]): { added: number; removed: number } {
  const count = (kind: Row['kind']): number => rows.filter((row) => row.kind === kind).length;
  return { added: count('added'), removed: count('removed') };
}

/** Rows of lines that begin and end differently: what both have stays, as long as it can be found in little time. */
function between(old: string[], next: string[], head: number): Row[] {
  const removed = (at: number): Row => ({ kind: 'removed', before: head + at + 1, after: null, text: old[at] ?? '' });
  const added = (at: number): Row => ({ kind: 'added', before: null, after: head + at + 1, text: next[at] ?? '' });
  if (old.length * next.length > COMPARED_MAX) return [...old.map((_, at) => removed(at)), ...next.map((_, at) => added(at))];
  // How many lines both have behind each pair of places.
  const width = next.length + 1;
  const alike = new Uint32Array((old.length + 1) * width);
  const common = (one: number, other: number): number => alike[one * width + other] ?? 0;
  for (let one = old.length - 1; one >= 0; one--) {
    for (let other = next.length - 1; other >= 0; other--) {
      alike[one * width + other] = old[one] === next[other] ? common(one + 1, other + 1) + 1 : Math.max(common(one + 1, other), common(one, other + 1));
    }
  }
  const rows: Row[] = [];
  for (let one = 0, other = 0; one < old.length || other < next.length; ) {
    if (one < old.length && other < next.length && old[one] === next[other]) {
      rows.push({ kind: 'same', before: head + one + 1, after: head + other + 1, text: old[one] ?? '' });
      one++;
      other++;
    } else if (one < old.length && (other >= next.length || common(one + 1, other) >= common(one, other + 1))) rows.push(removed(one++));
    else rows.push(added(other++));
  }
  return rows;
}

/** Two texts as rows, with little of what is alike at both ends. */
export function rowsBetween(before: string, after: string): Row[] {
  const [old, next] = [before ? before.split('\n') : [], after ? after.split('\n') : []];
  const most = Math.min(old.length, next.length);
  let head = 0;
  while (head < most && old[head] === next[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === next.at(-1 - tail)) tail++;
  const rows: Row[] = [];
  const from = Math.max(0, head - AROUND);
  for (let at = from; at < head; at++) rows.push({ kind: 'same', before: at + 1, after: at + 1, text: old[at] ?? '' });
  rows.push(...between(old.slice(head, old.length - tail), next.slice(head, next.length - tail), head));
  for (let at = 0; at < Math.min(tail, AROUND); at++) {
    const line = old.length - tail + at;
    rows.push({ kind: 'same', before: line + 1, after: next.length - tail + at + 1, text: old[line] ?? '' });
  }
  markChanges(rows);
  return rows;
}
