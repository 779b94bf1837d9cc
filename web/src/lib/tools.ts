/** The use of a tool as a line to read and, where it changes a file, as a diff. Clients name the same things differently. */
import { rowsBetween, rowsOf, type Row } from './diff';
import { list, object, text } from './loose';

export interface Change {
  path: string;
  rows: Row[];
}

const PATHS = ['file_path', 'path', 'filePath', 'notebook_path', 'abs_path'];
const LINES = ['command', 'cmd', 'pattern', 'query', 'url', 'description', 'prompt'];

function pathOf(input: Record<string, unknown>): string {
  return text(input[PATHS.find((name) => text(input[name])) ?? '']);
}

/** What a tool is used on, in one line. */
export function aboutTool(input: unknown): string {
  if (typeof input === 'string') return firstLine(input);
  const given = object(input);
  const name = LINES.find((one) => text(given[one]) || list(given[one]).length);
  const command = name ? given[name] : undefined;
  const line = Array.isArray(command) ? command.map(text).join(' ') : text(command);
  const paths = list(given['changes']).map((one) => pathOf(object(one)));
  return firstLine(pathOf(given) || line || paths.join(', ') || text(Object.values(given)[0]));
}

/** What it would change in files; nothing where it changes none, or its input does not say what. */
export function changesOf(input: unknown): Change[] {
  const given = object(input);
  const path = pathOf(given);
  if (list(given['edits']).length) {
    return [{ path, rows: list(given['edits']).flatMap((one) => edited(object(one))) }];
  }
  if (list(given['changes']).length) {
    return list(given['changes']).flatMap((one) => changesOf(one));
  }
  const patch = text(given['diff']) || text(given['patch']) || text(given['unified_diff']);
  if (patch) return [{ path, rows: rowsOf(patch) }];
  const rows = edited(given);
  return path && rows.length ? [{ path, rows }] : [];
}

function edited(one: Record<string, unknown>): Row[] {
  const has = (name: string): boolean => typeof one[name] === 'string';
  const first = (...names: string[]): string => text(one[names.find(has) ?? '']);
  if (!['new_string', 'newText', 'new_text', 'content', 'new_source'].some(has)) return [];
  return rowsBetween(first('old_string', 'oldText', 'old_text'), first('new_string', 'newText', 'new_text', 'content', 'new_source'));
}

function firstLine(value: string): string {
  const line = value.split('\n', 1)[0] ?? '';
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
