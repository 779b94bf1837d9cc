/** What a person types stays until it is sent: over a reload, over leaving, and when somebody else decides meanwhile. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

let server;
let chromium;

before(async () => {
  const { busy, careful, long, reviewing, wondering } = scenarios;
  server = new Server({ busy, careful, long, reviewing, wondering }, { slots: 20 });
  const folder = path.join(server.folder, 'trail');
  fs.mkdirSync(folder);
  const env = { PATH: process.env.PATH, HOME: server.folder, LANG: 'C.UTF-8', BOWLINE_ACTOR: 'person' };
  const bowline = (...line) => execFileSync(process.env.BOWLINE, line, { cwd: folder, env, stdio: 'pipe' });
  bowline('thinking', 'new', 'trail-1', '--title', 'A trail', '--goal', 'It is walked');
  bowline('thinking', 'start', 'planning');
  fs.writeFileSync(path.join(folder, 'plan.json'), '{}');
  bowline('thinking', 'complete', 'planning', '--output', 'plan.json');
  server.workspaces = [folder];
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
});

/** Types as a hand does, key by key. */
async function type(field, text) {
  await field.click();
  await field.pressSequentially(text);
}

/** Reloads, goes away and comes back; each time the field has the text again. */
async function stays(page, field, text) {
  const holds = (how) => until(`${how}: ${text}`, async () => (await field().inputValue().catch(() => null)) === text, 8000);
  await page.reload();
  await holds('after a reload');
  await page.getByRole('navigation').getByRole('link', { name: 'Fleet' }).click();
  await page.waitForURL('**/fleet');
  await page.goBack();
  await holds('after going back');
  await page.goto('about:blank');
  await page.goBack();
  await holds('after leaving');
}

const waits = (id, kind) =>
  until(`${id} waits for ${kind}`, async () => (await server.api('GET', '/api/inbox')).items.find((item) => item.taskId === id && item.kind === kind));

test('the form of a new task', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/new`);
  await type(page.getByLabel('Title'), 'A path along the cliffs');
  await type(page.getByLabel('Description'), 'From the harbour to the lighthouse.');
  await stays(page, () => page.getByLabel('Title'), 'A path along the cliffs');
  assert.equal(await page.getByLabel('Description').inputValue(), 'From the harbour to the lighthouse.');
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.equal(await page.getByLabel('Title').inputValue(), '');
  await type(page.getByLabel('Title'), 'Saved');
  await page.getByRole('button', { name: 'Save as draft' }).click();
  await page.waitForURL('**/tasks/**');
  // A draft that is changed keeps what was typed, too, until another one submits it.
  const id = new URL(page.url()).pathname.split('/')[2];
  await type(page.getByLabel('Description'), 'Half a sentence');
  await stays(page, () => page.getByLabel('Description'), 'Half a sentence');
  await server.api('PATCH', `/api/tasks/${id}`, { type: 'story', description: 'By another.' });
  await page.reload();
  await page.getByText('This task was changed meanwhile.').waitFor();
  await server.api('POST', `/api/tasks/${id}/submit`);
  await page.getByText('Half a sentence').waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).first().click();
  await page.goto(`${server.url}/new`);
  await page.getByLabel('Title').waitFor();
  assert.equal(await page.getByLabel('Title').inputValue(), '');
  fine();
  await context.close();
});

test('an answer, and a secret that is kept nowhere', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Names a path', 'wondering');
  const question = await waits(task.id, 'question');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  const answer = () => page.getByLabel('Answer', { exact: true });
  await type(answer(), 'The smugglers');
  await stays(page, answer, 'The smugglers');
  // In the inbox it is the same question, with the same words.
  await page.goto(`${server.url}/inbox`);
  await page.getByRole('button', { name: /Names a path/ }).click();
  assert.equal(await answer().inputValue(), 'The smugglers');
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await waits(task.id, 'dependency');
  const { items } = await server.api('GET', `/api/tasks/${task.id}/questions`);
  assert.equal(items.find((one) => one.id === question.id).answer, 'The smugglers');

  await page.goto(`${server.url}/tasks/${task.id}`);
  const reason = () => page.getByLabel(/^Reason/);
  await type(reason(), 'No maps here');
  await type(page.getByLabel(/MAP_KEY/), 'key_very_secret_1');
  await stays(page, reason, 'No maps here');
  assert.equal(await page.getByLabel(/MAP_KEY/).inputValue(), '');
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  assert.ok(!kept.includes('key_very_secret_1') && !kept.includes('smugglers'), kept);
  await page.getByRole('button', { name: 'Refuse', exact: true }).click();
  await until('it is told why', async () => {
    const moves = await server.api('GET', `/api/tasks/${task.id}/transitions`);
    return JSON.stringify([moves, await server.task(task.id)]).includes('No maps here');
  });
  fine();
  await context.close();
});

test('a message to the agent, and why a tool is denied', { timeout: 60_000 }, async () => {
  const busy = await server.newTask('Takes messages', 'busy');
  const careful = await server.newTask('Asks first', 'careful');
  await waits(careful.id, 'permission');
  await server.reaches(busy.id, 'in_progress');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${busy.id}/conversation`);
  const message = () => page.getByPlaceholder('Tell the agent something');
  await type(message(), 'Mind the gap');
  await stays(page, message, 'Mind the gap');
  const [x, y] = await page.getByRole('button', { name: 'Send', exact: true }).boundingBox().then((box) => [box.x + 5, box.y + 5]);
  await page.mouse.click(x, y);
  await page.mouse.click(x, y);
  await until('it is said', async () => (await message().inputValue()) === '');
  const { items } = await server.api('GET', `/api/tasks/${busy.id}/sayings`);
  assert.deepEqual(items.map((one) => one.text), ['Mind the gap']);

  await page.goto(`${server.url}/tasks/${careful.id}`);
  const reason = () => page.getByLabel(/^Reason/);
  await type(reason(), 'Not on a Friday');
  await stays(page, reason, 'Not on a Friday');
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await until('it is told why', async () => {
    const { items: asked } = await server.api('GET', `/api/tasks/${careful.id}/permissions`);
    return asked[0].status === 'denied' && asked[0].reason === 'Not on a Friday';
  });
  fine();
  await context.close();
});

test('a review in the making, and somebody else who is faster', { timeout: 90_000 }, async () => {
  const task = await server.newTask('Half reviewed', 'reviewing');
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  await page.getByRole('button', { name: 'Differences' }).click();
  await page.getByRole('button', { name: 'Comment on line 3' }).click();
  const remark = () => page.locator('textarea[id^="remark-"]');
  await type(remark(), 'Say which line');
  const feedback = () => page.getByLabel('What should change');
  await type(feedback(), 'Nearly there');
  await stays(page, remark, 'Say which line');
  assert.equal(await feedback().inputValue(), 'Nearly there');
  // The same browser in another tab, then another person.
  const other = await context.newPage();
  await other.goto(`${server.url}/inbox`);
  await other.getByRole('button', { name: /Half reviewed/ }).click();
  await other.getByRole('button', { name: 'Approve', exact: true }).click();
  const told = page.locator('.toast.left').filter({ hasText: 'Half reviewed' }).getByText('Decided meanwhile. Your text:');
  await told.waitFor();
  const text = await page.locator('.toast.left').innerText();
  assert.match(text, /Nearly there/);
  assert.match(text, /docs\/plan\.md:3: Say which line/);
  await page.reload();
  await told.waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).first().click();
  assert.equal(await told.count(), 0);
  fine();
  await context.close();

  const asked = await server.newTask('갈림길', 'wondering');
  const { id } = await waits(asked.id, 'question');
  const korean = await visit(chromium, server, { lang: 'ko-KR' });
  await korean.page.goto(`${server.url}/inbox`);
  await korean.page.getByRole('button', { name: /갈림길/ }).click();
  await type(korean.page.getByLabel('답변', { exact: true }), '왼쪽');
  await server.api('POST', `/api/questions/${id}/answer`, { answer: 'right' });
  await korean.page.locator('.toast.left').filter({ hasText: '갈림길' }).getByText('그사이 결정되었습니다. 입력하신 글:').waitFor();
  assert.match(await korean.page.locator('.toast.left').innerText(), /왼쪽/);
  korean.fine();
  await korean.context.close();
});

test('words for several at once stay until they are sent', { timeout: 60_000 }, async () => {
  const tasks = [];
  for (const n of [1, 2]) tasks.push(await server.newTask(`Alike ${n}`, 'reviewing'));
  for (const { id } of tasks) await server.reaches(id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  const pick = async () => {
    await page.goto(`${server.url}/inbox`);
    for (const n of [1, 2]) await page.getByLabel(`Select: Alike ${n}`).check();
  };
  const feedback = () => page.getByRole('region', { name: '2 selected' }).getByLabel('What should change');
  await pick();
  await type(feedback(), 'Both are too short');
  await page.reload();
  await pick();
  assert.equal(await feedback().inputValue(), 'Both are too short');
  await page.getByRole('button', { name: 'Request changes from 2' }).click();
  await until('both are told', async () => {
    const all = await Promise.all(tasks.map(({ id }) => server.api('GET', `/api/tasks/${id}/reviews`)));
    return all.every(({ items }) => items.some((one) => one.comment === 'Both are too short'));
  });
  await until('it is forgotten', () => page.evaluate(() => !JSON.stringify({ ...localStorage }).includes('too short')));
  fine();
  await context.close();
});

test('what a move of a state file asks for: words and numbers', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items[0].id}/thinking`);
  const open = async () => {
    await page.locator('details.more > summary').first().click();
    await page.locator('[data-verb="evaluate"]').first().click();
    await page.getByRole('dialog').waitFor();
  };
  await open();
  const numbers = page.getByRole('dialog').getByRole('spinbutton');
  const count = await numbers.count();
  assert.ok(count > 1);
  await type(numbers.first(), '7.5');
  await type(numbers.nth(1), '0');
  await page.reload();
  await open();
  assert.deepEqual([await numbers.first().inputValue(), await numbers.nth(1).inputValue()], ['7.5', '0']);
  for (let at = 2; at < count; at++) await type(numbers.nth(at), '6');
  // A number that is taken away is not sent.
  await numbers.nth(1).fill('');
  await type(numbers.nth(1), '8');
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes('/api/workspaces'));
  await page.getByRole('dialog').locator('form button.button').last().click();
  assert.deepEqual(Object.values((await sent).postDataJSON().values).sort(), [...Array(count - 2).fill(6), 7.5, 8]);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await until('it is forgotten', () => page.evaluate(() => !Object.keys(localStorage).some((key) => key.includes('evaluate'))));
  fine();
  await context.close();
});

test('a fork asks first: its title, what is different, and whether an agent starts', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Has a fork', 'reviewing');
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  const forks = [];
  page.on('request', (request) => request.url().endsWith('/fork') && forks.push(request.postDataJSON()));
  await page.goto(`${server.url}/tasks/${task.id}/checkpoints`);
  const fork = page.getByRole('button', { name: 'Fork', exact: true }).first();
  await fork.waitFor();
  const box = await fork.boundingBox();
  for (const gap of [0, 120, 300]) {
    await page.mouse.click(box.x + 5, box.y + 5);
    await new Promise((resolve) => setTimeout(resolve, gap));
    await page.mouse.click(box.x + 5, box.y + 5);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  assert.deepEqual(forks, []);
  await fork.click();
  assert.equal(await page.getByLabel('Title').inputValue(), 'Has a fork (fork of phase 1)');
  await type(page.getByLabel('What should be different'), 'Begin at the lighthouse.');
  await page.reload();
  await fork.click();
  assert.equal(await page.getByLabel('What should be different').inputValue(), 'Begin at the lighthouse.');
  await page.getByLabel('Title').fill('The other way');
  await page.getByRole('button', { name: 'Fork as draft' }).click();
  await page.waitForURL((url) => !url.pathname.includes(task.id));
  await page.getByRole('heading', { name: 'The other way' }).waitFor();
  const made = await server.task(new URL(page.url()).pathname.split('/')[2]);
  assert.deepEqual([made.status, made.title], ['draft', 'The other way']);
  assert.equal(made.description, 'A story for the tests of the page.\n\nBegin at the lighthouse.');
  assert.equal(forks.length, 1);
  // Without a word by REST it has a title of its own, too.
  const { items } = await server.api('GET', `/api/tasks/${task.id}/checkpoints`);
  const plain = await server.api('POST', `/api/checkpoints/${items[0].id}/fork`);
  assert.equal(plain.title, 'Has a fork (fork of phase 1)');
  fine();
  await context.close();
});

test('numbers of lines stay in one line, however long the file', { timeout: 60_000 }, async () => {
  const task = await server.newTask('A long file', 'long');
  await server.reaches(task.id, 'review');
  for (const width of [1440, 390]) {
    const { page, context, fine } = await visit(chromium, server, { width });
    await page.goto(`${server.url}/tasks/${task.id}/review`);
    await page.getByRole('button', { name: 'Comment on line 2000', exact: true }).waitFor();
    const heights = await page.evaluate(() =>
      [99, 100, 1000, 2000].map((line) => document.querySelector(`button[aria-label="Comment on line ${line}"]`).closest('tr').getBoundingClientRect().height),
    );
    assert.equal(new Set(heights).size, 1, `${width} px: ${heights}`);
    fine();
    await context.close();
  }
});
