/** Names that git quotes, that show nothing, or that pass for something else: what is on the page is what is there. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { browser, Server, until, visit } from './world.mjs';

/** As they are, and as they are shown; two of each kind. */
const NAMES = {
  'docs/계획.md': 'docs/계획.md',
  'docs/설계.md': 'docs/설계.md',
  'a b.txt': 'a b.txt',
  'a  c.txt': 'a  c.txt',
  'say "hi".txt': 'say "hi".txt',
  'say "ho".txt': 'say "ho".txt',
  'two\nlines.txt': 'two⟨U+000A⟩lines.txt',
  'two\nrows.txt': 'two⟨U+000A⟩rows.txt',
  'back\\slash.txt': 'back\\slash.txt',
  'back\\n.txt': 'back\\n.txt',
  '\u202efdp.txt': '⟨U+202E⟩fdp.txt',
  'in\u3164visible\u00ad\u2800.txt': 'in⟨U+3164⟩visible⟨U+00AD⟩⟨U+2800⟩.txt',
};

const written = Object.keys(NAMES)
  .map((name) => `mkdir -p docs; echo new > '${name}'`)
  .join('\n');
const script = `rm -r tests; ${written}
seq 1 12000 > long.txt; chmod +x run.sh; ln -s /etc/passwd link; printf 'a\\0b' > picture.bin
echo '=== PHASE 1 COMPLETE ==='; exec sleep 600`;
const names = `[[step]]\nexec = ["sh", "-c", ${JSON.stringify(script)}]\n`;

/** An agent whose every word is odd. */
const odd = `
protocol = "claude-stream-json"
[[step]]
progress = { step = 1, of = 2, name = "Step\\u00AD\\u202E one" }
[[step]]
leave = { tool = "Ba\\u3164sh\\nRead", input = { "com\\u00ADmand" = "ls\\u2800\\U000E0041" } }
[[step]]
hold = true
`;
const needing = `
[[step]]
need = { type = "service", name = "Quay\\u115F\\uFE0F\\u202E", description = "A\\u2800 service", required = true }
[[step]]
wait = ""
`;

/** Characters that nobody sees, in texts and in what is read out or hovered over. */
function unseen(page) {
  return page.evaluate(() => {
    const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
    const found = [];
    const look = (where, text) => invisible.test(text ?? '') && found.push(`${where}: ${JSON.stringify(text)}`);
    look('tab', document.title);
    for (const element of document.body.querySelectorAll('*')) {
      for (const name of ['title', 'aria-label', 'alt', 'placeholder']) look(name, element.getAttribute(name));
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) look(element.tagName, node.textContent);
    }
    return found;
  });
}

let server;
let chromium;
let count = 0;

/** A repository of a person with a test in it. */
function repository() {
  const folder = path.join(server.folder, `repo-${(count += 1)}`);
  fs.mkdirSync(path.join(folder, 'tests'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'tests', '"삭제".rs'), 'fn test() {}\n');
  fs.writeFileSync(path.join(folder, 'run.sh'), 'echo\n');
  const git = (...line) => execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...line], { cwd: folder, encoding: 'utf8' });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'begin');
  return { folder, git };
}

before(async () => {
  server = new Server({ names, odd, needing }, { slots: 8 });
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
});

test('a review shows every file by its name, with its mode, its counts and what was deleted', { timeout: 90_000 }, async () => {
  const { folder } = repository();
  const task = await server.newTask('Odd names', 'names', { workspace: folder });
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  // Where it can be approved without a look at the files, what is gone is told.
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByText('1 deleted').waitFor();
  await page.getByText('tests/"삭제".rs').waitFor();
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  const region = (name) => page.getByRole('region', { name, exact: true });
  for (const shown of Object.values(NAMES)) {
    await region(shown).waitFor();
    await page.getByRole('complementary').getByRole('button', { name: shown, exact: true }).waitFor();
  }
  await region('tests/"삭제".rs').getByText('deleted').waitFor();
  await region('tests/"삭제".rs').getByText('fn test() {}').waitFor();
  await region('run.sh').getByText('100644 → 100755').waitFor();
  await region('link').getByText('symbolic link').waitFor();
  await region('link').getByText('/etc/passwd').waitFor();
  const binary = await region('picture.bin').locator('header').innerText();
  assert.match(binary, /not text/);
  assert.doesNotMatch(binary, /[+−]\d/);
  await page.getByText('Compared with the state before this phase').waitFor();
  // A name is where its comment goes.
  await region('two⟨U+000A⟩lines.txt').getByRole('button', { name: 'Comment on line 1', exact: true }).click();
  await region('two⟨U+000A⟩lines.txt').getByRole('textbox').fill('Why two?');
  await page.getByRole('button', { name: 'Add the comment' }).click();
  const sent = page.waitForRequest(/request-changes$/);
  await page.locator('form button[data-action="request-changes"]').click();
  assert.deepEqual(JSON.parse((await sent).postData()).comments, [{ file: 'two\nlines.txt', line: 1, comment: 'Why two?' }]);
  assert.deepEqual(await unseen(page), []);
  await page.goto(`${server.url}/tasks/${task.id}/files`);
  await page.getByRole('button', { name: 'in⟨U+3164⟩visible⟨U+00AD⟩⟨U+2800⟩.txt' }).click();
  await page.locator('pre').getByText('new').waitFor();
  assert.deepEqual(await unseen(page), []);
  fine();
  await context.close();
});

test('a diff that was cut tells how long it is, and how much of it is shown', { timeout: 60_000 }, async () => {
  const { folder } = repository();
  const task = await server.newTask('Long', 'names', { workspace: folder });
  await server.reaches(task.id, 'review');
  for (const [lang, shown] of [['en-US', 'first 2,999 shown'], ['ko-KR', '처음 2,999줄 표시']]) {
    const { page, context, fine } = await visit(chromium, server, { lang });
    await page.goto(`${server.url}/tasks/${task.id}/review`);
    const long = page.getByRole('region', { name: 'long.txt', exact: true });
    const head = long.locator('header');
    await head.getByText(shown).waitFor();
    assert.match(await head.innerText(), /\+12,000\s−0\s·/);
    assert.equal(await long.locator('tr.added').count(), 2999);
    await page.getByText('+12,013 −1').waitFor();
    fine();
    await context.close();
  }
});

test('where the changes cannot be shown, it stands in red beside every Approve', { timeout: 90_000 }, async () => {
  const made = [];
  for (const title of ['Lost one', 'Lost two']) {
    const { folder, git } = repository();
    const task = await server.newTask(title, 'names', { workspace: folder });
    await server.reaches(task.id, 'review');
    const refs = git('for-each-ref', '--format=%(refname)', `refs/bowline/${task.id}`).trim().split('\n');
    for (const ref of refs) git('update-ref', '-d', ref);
    made.push(task);
  }
  const { page, context } = await visit(chromium, server);
  const red = async (alerts) => {
    const alert = alerts.filter({ hasText: 'the changes cannot be shown: ' }).first();
    await alert.waitFor();
    const color = await alert.evaluate((element) => getComputedStyle(element).color);
    const [, r, g, b] = /rgb\((\d+), (\d+), (\d+)\)/.exec(color).map(Number);
    assert.ok(r > 2 * g && r > 2 * b, color);
  };
  const [task] = made;
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByRole('button', { name: 'Approve' }).first().waitFor();
  await red(page.getByRole('alert'));
  await page.goto(`${server.url}/tasks/${task.id}/conversation`);
  await red(page.getByRole('alert'));
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  await red(page.locator('form.decide').getByRole('alert'));
  await page.getByText('everything is new').waitFor({ state: 'detached' });
  // A card shows no changes: its key leads to where they are, or why they are not.
  await page.goto(server.url);
  await page.locator(`#card-${task.id}`).focus();
  await page.keyboard.press('a');
  await page.waitForURL(`**/tasks/${task.id}/review`);
  await red(page.locator('form.decide').getByRole('alert'));
  assert.equal((await server.task(task.id)).status, 'review');
  await page.goto(`${server.url}/inbox`);
  await page.getByRole('button', { name: /Lost one/ }).click();
  await red(page.getByRole('region', { name: 'Lost one' }).getByRole('alert'));
  for (const { title } of made) await page.getByLabel(`Select: ${title}`).check();
  await page.getByRole('button', { name: 'Approve 2' }).waitFor();
  await red(page.locator('li', { hasText: 'Lost two' }).getByRole('alert'));
  await context.close();
});

test('titles, labels, steps, tools and needs with unseen characters name them on every page', { timeout: 90_000 }, async () => {
  const title = 'Tea\u200b\u3164\ufe0f \u202eshop';
  const label = 'la\u00adbel\u{e0041}';
  const made = [await server.newTask(title, 'odd', { label }), await server.newTask(title, 'needing', { label })];
  const waiting = async () => (await server.api('GET', '/api/inbox')).items.filter((item) => made.some((task) => task.id === item.taskId));
  await until('both wait', async () => (await waiting()).length === 2);
  const { page, context, fine } = await visit(chromium, server);
  const shown = 'Tea⟨U+200B⟩⟨U+3164⟩⟨U+FE0F⟩ ⟨U+202E⟩shop';
  const looks = async (address, ...texts) => {
    await page.goto(server.url + address);
    for (const text of texts) await page.getByText(text).first().waitFor();
    assert.deepEqual(await unseen(page), [], address);
  };
  await looks('/', shown, 'la⟨U+00AD⟩bel⟨U+E0041⟩');
  await page.getByLabel('Group by').selectOption({ label: 'Label' });
  await page.locator('h3', { hasText: 'la⟨U+00AD⟩bel' }).first().waitFor();
  assert.deepEqual(await unseen(page), [], 'groups');
  await looks('/inbox', shown, 'Ba⟨U+3164⟩sh⟨U+000A⟩Read', 'Quay⟨U+115F⟩⟨U+FE0F⟩⟨U+202E⟩');
  for (const [at, text] of [[0, 'com⟨U+00AD⟩mand'], [1, 'A⟨U+2800⟩ service']]) {
    for (const tab of ['', '/conversation', '/history', '/checkpoints', '/files']) await looks(`/tasks/${made[at].id}${tab}`, shown);
    await looks(`/tasks/${made[at].id}`, text);
  }
  await looks('/fleet', shown);
  fine();
  await context.close();
});
