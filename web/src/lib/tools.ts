/** The use of a tool: every field of its input, a line for lists, and a diff for tools that are known to edit files. */
import { rowsBetween } from './diff';
import { list, object, text, type Loose } from './loose';
import { changeOfDiff, changesOfPatch, type Change } from './patch';
import { excerptOf, type Excerpt } from './text';

/** A value of an input that holds no others, by the way to it: `edits[0].new_string`. */
export interface Field {
  name: string;
  text: string;
}

/** What of an input is shown at the most. More than that is not decided on this page. */
export const INPUT_CHARACTERS_MAX = 1_000_000;
export const INPUT_FIELDS_MAX = 2_000;

/** What a command runs comes before everything else. */
const COMMANDS = ['command', 'cmd'];

/** All of an input. Nothing is left out and nothing is escaped. */
export function fieldsOf(input: unknown): Field[] {
  const fields: Field[] = [];
  collect('', input, fields);
  const isCommand = ({ name }: Field): boolean => COMMANDS.some((one) => name === one || name.startsWith(`${one}[`));
  return [...fields.filter(isCommand), ...fields.filter((field) => !isCommand(field))];
}

function collect(name: string, value: unknown, fields: Field[]): void {
  if (Array.isArray(value) && value.length) value.forEach((one, at) => collect(`${name}[${at}]`, one, fields));
  else if (typeof value === 'object' && value !== null && Object.keys(value).length) {
    for (const [key, one] of Object.entries(value)) collect(name ? `${name}.${key}` : key, one, fields);
  } else fields.push({ name, text: typeof value === 'string' ? value : JSON.stringify(value) });
}

/** The fields that are shown, and whether they are all of them. */
export function shownFields(input: unknown): { fields: Field[]; cut: boolean } {
  const all = fieldsOf(input);
  const fields: Field[] = [];
  let room = INPUT_CHARACTERS_MAX;
  for (const { name, text } of all.slice(0, INPUT_FIELDS_MAX)) {
    fields.push({ name: name.slice(0, room), text: text.slice(0, room) });
    room -= name.length + text.length;
    if (room < 0) return { fields, cut: true };
  }
  return { fields, cut: all.length > INPUT_FIELDS_MAX };
}

/** Fields by which one knows a call, the most telling first. */
const TELLING = [...COMMANDS, 'file_path', 'filePath', 'notebook_path', 'path', 'pattern', 'query', 'url', 'prompt', 'description'];

/** What a tool is used on, in one line, and how much of its input that line does not show. */
export function aboutTool(input: unknown): Excerpt {
  const given = object(input);
  const name = TELLING.find((one) => text(given[one]) || list(given[one]).length);
  const fields = fieldsOf(input);
  const about = fields.filter((field) => name && (field.name === name || field.name.startsWith(`${name}[`)));
  const shown = about.length ? about : fields.slice(0, 1);
  const excerpt = excerptOf(shown.map((field) => field.text).join(' '));
  const others = fields.filter((field) => !shown.includes(field));
  return { ...excerpt, characters: others.reduce((sum, field) => sum + field.text.length, excerpt.characters) };
}

/** A diff of an input, and the fields it was made of. */
export interface Differences {
  keys: string[];
  changes: Change[];
}

/** Two texts under these keys, the old one first; without an old one everything is new. */
function between(path: string, keys: string[]): (given: Loose) => Differences | null {
  return (given) => {
    const texts = keys.map((key) => given[key]);
    if (!text(given[path]) || !texts.every((one) => typeof one === 'string')) return null;
    const [old, next] = texts.length > 1 ? texts : ['', ...texts];
    const kind = texts.length > 1 ? 'modified' : 'added';
    return { keys: [path, ...keys], changes: [{ path: text(given[path]), kind, rows: rowsBetween(text(old), text(next)) }] };
  };
}

function edits(given: Loose): Differences | null {
  const all = list(given['edits']).map((one) => between('file_path', ['old_string', 'new_string'])({ ...object(one), file_path: given['file_path'] }));
  const changes = all.flatMap((one) => one?.changes ?? []);
  return all.length && changes.length === all.length ? { keys: ['file_path', 'edits'], changes } : null;
}

/** A patch under one of these keys. One for another file than the input names is not taken for an edit of that file. */
function patched(...keys: string[]): (given: Loose) => Differences | null {
  return (given) => {
    const key = keys.find((one) => typeof given[one] === 'string');
    const changes = key ? changesOfPatch(text(given[key])) : null;
    const named = text(given['path']) || text(given['file_path']);
    if (!key || !changes || (named && changes.some(({ path }) => path !== named))) return null;
    return { keys: named ? [key, text(given['path']) ? 'path' : 'file_path'] : [key], changes };
  };
}

function diffs(given: Loose): Differences | null {
  const all = list(given['changes']).map((one) => changeOfDiff(text(object(one)['diff']), text(object(one)['path'])));
  const changes = all.filter((one) => one !== null);
  return all.length && changes.length === all.length ? { keys: ['changes'], changes } : null;
}

/** The tools of the clients that edit files, by their exact names. */
const EDITORS = new Map<string, (given: Loose) => Differences | null>([
  ['Edit', between('file_path', ['old_string', 'new_string'])],
  ['MultiEdit', edits],
  ['Write', between('file_path', ['content'])],
  ['NotebookEdit', (given) => (given['edit_mode'] === 'delete' ? null : between('notebook_path', ['new_source'])(given))],
  ['apply_patch', patched('command', 'input', 'patch')],
  ['file_change', diffs],
  ['fileChange', diffs],
  ['replace', between('file_path', ['old_string', 'new_string'])],
  ['write_file', between('file_path', ['content'])],
  ['edit', between('filePath', ['oldString', 'newString'])],
  ['write', between('filePath', ['content'])],
  ['patch', patched('patchText')],
]);

/** What a known tool would change in files, as an extra view beside its fields; nothing where that is not wholly understood. */
export function differencesOf(tool: string, input: unknown): Differences | null {
  const given = typeof input === 'string' ? { input } : Array.isArray(input) ? { changes: input } : object(input);
  return EDITORS.get(tool)?.(given) ?? null;
}
