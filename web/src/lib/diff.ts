/** Unified diffs as rows to show. */

export interface Row {
  kind: 'hunk' | 'same' | 'added' | 'removed';
  before: number | null;
  after: number | null;
  text: string;
}

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
  return rows;
}

/** A diff of several files as git prints it, taken apart. */
export function filesOf(diff: string): { path: string; patch: string }[] {
  const files: { path: string; patch: string }[] = [];
  for (const part of diff.split(/^(?=diff --git )/m)) {
    const path = /^\+\+\+ (?:b\/)?(.+)$/m.exec(part)?.[1];
    const old = /^--- (?:a\/)?(.+)$/m.exec(part)?.[1];
    const header = /^diff --git a\/.+ b\/(.+)$/m.exec(part)?.[1];
    const name = path && path !== '/dev/null' ? path : (old ?? header);
    if (name) files.push({ path: name.trim(), patch: part });
  }
  return files;
}
