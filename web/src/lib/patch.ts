/** Patches of agents as changes of files. One that is not understood to its last line is nothing: it is shown as it came. */
import { rowsOf, type Row } from './diff';

export interface Change {
  path: string;
  kind: 'added' | 'modified' | 'deleted';
  rows: Row[];
}

const FILE = /^\*\*\* (Add|Update|Delete) File: (\S.*)$/;
const MOVE = /^\*\*\* Move to: (\S.*)$/;
const KINDS = { Add: 'added', Update: 'modified', Delete: 'deleted' } as const;

/** A patch between `*** Begin Patch` and `*** End Patch`. */
export function changesOfPatch(patch: string): Change[] | null {
  const lines = patch.replace(/\n$/, '').split('\n');
  if (lines.length < 3 || lines[0] !== '*** Begin Patch' || lines.at(-1) !== '*** End Patch') return null;
  const changes: Change[] = [];
  let change: Change | null = null;
  for (const line of lines.slice(1, -1)) {
    const file = FILE.exec(line);
    const last = change?.rows.at(-1);
    if (file) {
      change = { path: file[2] ?? '', kind: KINDS[file[1] as keyof typeof KINDS], rows: [] };
      changes.push(change);
      continue;
    }
    if (!change || change.kind === 'deleted') return null;
    const move = MOVE.exec(line);
    const row = (kind: Row['kind'], text: string): void => void change?.rows.push({ kind, before: null, after: null, text });
    if (line.startsWith('+')) row('added', line.slice(1));
    else if (change.kind === 'added') return null;
    else if (move && !last) change.path += ` → ${move[1] ?? ''}`;
    else if (line === '@@' || line.startsWith('@@ ')) row('hunk', line.slice(3));
    else if (line === '*** End of File' && last) row('hunk', line);
    else if (line.startsWith('-')) row('removed', line.slice(1));
    else if (line.startsWith(' ')) row('same', line.slice(1));
    else return null;
  }
  return changes.length ? changes : null;
}

const HEADER = /^(diff --git |index |(new|deleted) file mode |(old|new) mode |similarity index |rename (from|to) )/;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** A unified diff of one file, which must be the one that `path` names. */
export function changeOfDiff(diff: string, path: string): Change | null {
  const lines = diff.replace(/\n$/, '').split('\n');
  let [old, next] = [0, 0];
  let hunks = 0;
  for (const [at, line] of lines.entries()) {
    const hunk = HUNK.exec(line);
    if (old > 0 || next > 0) {
      if (line.startsWith('-')) old--;
      else if (line.startsWith('+')) next--;
      else if (line.startsWith(' ')) [old, next] = [old - 1, next - 1];
      else if (!line.startsWith('\\ ')) return null;
      if (old < 0 || next < 0) return null;
    } else if (hunk) {
      [old, next] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
      hunks++;
    } else if (/^(---|\+\+\+) /.test(line) && hunks === 0) {
      if (!isFile(line.slice(4), path)) return null;
    } else if (HEADER.test(line) && hunks === 0) {
      if (line.startsWith('diff --git ') ? !line.slice(11).split(' ').every((name) => isFile(name, path)) : line.startsWith('rename ')) return null;
    } else if (!(line.startsWith('\\ ') && at > 0)) return null;
  }
  return hunks && old === 0 && next === 0 ? { path, kind: 'modified', rows: rowsOf(diff) } : null;
}

function isFile(header: string, path: string): boolean {
  const name = header.split('\t', 1)[0] ?? '';
  const bare = name.replace(/^[ab]\//, '');
  return name === '/dev/null' || name === path || bare === path || path.endsWith(`/${bare}`);
}
