/** What stands beside a task: the app it made, other readers, a capsule of it; and a reader who is not disturbed. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

let server;
let chromium;

/** A server of one page, and a program that fails with a reason. */
const SERVES = `const http = require('node:http'); http.createServer((_, answer) => answer.end('The harbour page')).listen(Number(process.argv[1]), '127.0.0.1', () => console.log('ready at ' + process.env.PORT))`;
const FAILS = `console.log('looking for the harbour'); console.error('no <b>harbour</b> here'); process.exitCode = 3`;

before(async () => {
  const { everything, busy, reviewing, steady, ticking, asking, limited } = scenarios;
  const apps = { harbour: [process.execPath, '-e', SERVES, '{port}'], broken: [process.execPath, '-e', FAILS] };
  server = new Server({ busy, reviewing, steady, ticking, everything, asking, limited }, { apps, slots: 20 });
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
});

test('the app of a task is started from its review, opened at its port, and stopped', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Shows the harbour', 'reviewing', { type: 'harbour' });
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  const app = page.getByRole('region', { name: 'The app' });
  await app.getByRole('button', { name: 'Start the app' }).click();
  const link = app.getByRole('link', { name: /^Open 127\.0\.0\.1:\d+$/ });
  const address = await link.getAttribute('href');
  const read = () => fetch(address).then((answer) => answer.text(), () => null);
  await until('the app answers', async () => (await read()) === 'The harbour page');
  await app.getByText(`ready at ${new URL(address).port}`).waitFor();
  await app.getByRole('button', { name: 'Stop the app' }).click();
  await app.getByRole('button', { name: 'Start the app' }).waitFor();
  assert.equal(await read(), null, 'it still answers');
  assert.equal(await app.getByText(/exit code/).count(), 0, 'an end that was asked for is no failure');
  fine();
  await context.close();
});

test('an app that fails says why, and a type without one has no button', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Shows nothing', 'reviewing', { type: 'broken' });
  const other = await server.newTask('Has no app', 'reviewing');
  await server.reaches(task.id, 'review');
  await server.reaches(other.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  const app = page.getByRole('region', { name: 'The app' });
  await app.getByRole('button', { name: 'Start the app' }).click();
  await app.getByText('It ended with exit code 3.').waitFor();
  assert.match(await app.locator('pre').innerText(), /looking for the harbour\nno <b>harbour<\/b> here/);
  await page.goto(`${server.url}/tasks/${other.id}/review`);
  await page.getByRole('region', { name: 'Review' }).waitFor();
  await page.locator('[data-action="approve"]:enabled').waitFor();
  assert.equal(await app.count(), 0);
  fine();
  await context.close();
});

test('two browsers: a draft that one makes, edits and deletes is the same for the other', { timeout: 60_000 }, async () => {
  const [one, other] = [await visit(chromium, server), await visit(chromium, server)];
  await other.page.getByText('Live', { exact: true }).waitFor();
  await one.page.goto(`${server.url}/new`);
  await one.page.getByLabel('Title').fill('First words');
  await one.page.getByRole('button', { name: 'Save as draft' }).click();
  const card = other.page.locator('.card', { hasText: 'First words' });
  await card.waitFor();
  const id = (await card.getAttribute('id')).slice('card-'.length);
  await one.page.goto(`${server.url}/tasks/${id}`);
  await one.page.getByLabel('Title').fill('Better words');
  // The other one has begun to change the same draft.
  const late = await visit(chromium, server);
  await late.page.goto(`${server.url}/tasks/${id}`);
  await late.page.getByLabel('Title').fill('Late words');
  await one.page.getByRole('button', { name: 'Save as draft' }).click();
  await other.page.locator(`#card-${id}`, { hasText: 'Better words' }).waitFor();
  await late.page.getByRole('button', { name: 'Save as draft' }).click();
  await late.page.getByRole('alert').waitFor();
  assert.equal(await late.page.getByLabel('Title').inputValue(), 'Late words', 'what was typed is lost');
  assert.equal((await server.task(id)).title, 'Better words');
  await late.context.close();
  await server.api('DELETE', `/api/tasks/${id}`);
  await one.page.getByText('This task was deleted.').waitFor();
  assert.equal(await one.page.locator('[data-action]').count(), 0);
  await until('it is gone', async () => (await other.page.locator(`#card-${id}`).count()) === 0);
  one.fine();
  other.fine();
  await one.context.close();
  await other.context.close();
});

test('a checkpoint is nothing new; a move is', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Saved meanwhile', 'busy');
  await until('it works', async () => (await server.task(task.id)).agentState.status === 'running');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByRole('region', { name: 'Agent' }).getByText(/^alive, process \d+$/).waitFor();
  const looked = () => page.evaluate((id) => JSON.parse(localStorage.getItem('bowline.looks') ?? '[]').find(([one]) => one === id)?.[1].moves, task.id);
  await until('it was looked at', async () => (await looked()) === (await server.task(task.id)).moves);
  await page.goto(server.url);
  const card = page.locator(`#card-${task.id}`);
  await card.waitFor();
  const before = await server.task(task.id);
  await server.api('POST', `/api/tasks/${task.id}/checkpoints`);
  await until('the checkpoint is saved', async () => (await server.task(task.id)).version > before.version);
  assert.equal((await server.task(task.id)).moves, before.moves);
  // What the page has by now is what it would have shown: a later event has come.
  const later = await server.newTask('Made later', 'busy', { submit: false });
  await page.locator(`#card-${later.id}`).waitFor();
  assert.equal(await card.locator('.news').count(), 0);
  await server.api('POST', `/api/tasks/${task.id}/pause`);
  await card.locator('.news').waitFor();
  fine();
  await context.close();
});

test('a capsule is opened in the page, walked through, and sent nowhere', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Kept in a file', 'everything');
  await until('it asks', async () => (await server.api('GET', '/api/inbox')).items.some((item) => item.taskId === task.id));
  const file = path.join(server.folder, 'incident.capsule.json');
  const env = { PATH: process.env.PATH, HOME: server.home, LANG: 'C.UTF-8', BOWLINE_ACTOR: 'person' };
  execFileSync(process.env.BOWLINE, ['capsule', task.id, '--to', file, '--data', server.data], { cwd: server.folder, env });
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/fleet`);
  await page.getByRole('link', { name: 'Open a capsule' }).click();
  await page.getByText('sent nowhere').waitFor();
  const sent = [];
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
  const choose = async (chosen) => {
    const asked = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: /^(Choose a file|Open a capsule)$/ }).click();
    await (await asked).setFiles(chosen);
  };
  const bad = path.join(server.folder, 'no.json');
  fs.writeFileSync(bad, '{"kind":"other"}');
  await choose(bad);
  await page.getByText('no.json is no capsule.').waitFor();
  await choose(file);
  await page.getByRole('heading', { name: 'Kept in a file' }).waitFor();
  await page.locator('[role=log]').getByText('Starting the plan').waitFor();
  const history = page.getByRole('region', { name: 'History' });
  await history.getByText('When this was recorded').waitFor();
  assert.equal(await history.getByText('Now', { exact: true }).count(), 0, 'a recording is not now');
  const { transitions } = JSON.parse(fs.readFileSync(file, 'utf8'));
  assert.equal(await history.locator('ol > li').count(), transitions.length);
  // Back to the first move, then one on.
  for (let step = 1; step < transitions.length; step++) await history.getByRole('button', { name: 'Earlier' }).click();
  await history.getByText('After move 1').waitFor();
  assert.ok(await history.getByRole('button', { name: 'Earlier' }).isDisabled());
  assert.equal(await history.locator('li.after').count(), transitions.length - 1);
  await history.getByRole('button', { name: 'Later' }).click();
  await history.getByText('After move 2').waitFor();
  await history.getByRole('button', { name: 'Back to the end' }).click();
  await history.getByText('When this was recorded').waitFor();
  // Dropped on the page, with a title that would be markup.
  const evil = { ...JSON.parse(fs.readFileSync(file, 'utf8')), output: { from: 0, text: '<img src=x onerror="window.hurt=1">\n' } };
  evil.task.title = '<script>window.hurt=2</script>';
  const dropped = await page.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], 'evil.capsule.json', { type: 'application/json' }));
    return data;
  }, JSON.stringify(evil));
  await page.dispatchEvent('main', 'drop', { dataTransfer: dropped });
  await page.getByRole('heading', { name: '<script>window.hurt=2</script>' }).waitFor();
  await page.locator('[role=log]').getByText('<img src=x').waitFor();
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  assert.deepEqual(sent, []);
  fine();
  await context.close();
});

test('whoever turns back once is let go, also when output comes at that moment', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Prints while one turns', 'steady');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  const log = page.locator('[role=log]');
  const following = async () => (await page.getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed')) === 'true';
  const lines = async () => Number((await page.locator('.terminal .count').innerText()).replaceAll(/\D/g, ''));
  await page.locator('.terminal .count').waitFor();
  await until('it floods', async () => (await lines()) > 1000);
  await log.hover();
  assert.ok(await following());
  await page.mouse.wheel(0, -60);
  const turned = await lines();
  await until('more lines come', async () => (await lines()) > turned + 2000);
  assert.ok(!(await following()), 'one turn was not enough');

  // The turn, and before its scroll is told, output that has put the view to the end: the reader stays free.
  await log.focus();
  await page.keyboard.press('End');
  await until('it follows', following);
  await log.evaluate(async (view) => {
    view.dispatchEvent(new WheelEvent('wheel', { deltaY: -60, bubbles: true }));
    view.scrollTop = view.scrollHeight;
    const told = new Promise((resolve) => view.addEventListener('scroll', resolve, { once: true }));
    view.dispatchEvent(new Event('scroll'));
    await told;
  });
  assert.ok(!(await following()), 'it follows although the reader turned back');

  await until('the flood is over', async () => (await lines()) >= 60_000, 30_000);
  await page.keyboard.press('End');
  await until('it is at the end', () => log.evaluate((view) => view.scrollHeight - view.clientHeight - view.scrollTop < 20));
  await page.keyboard.press('PageUp');
  await until('it is let go', async () => !(await following()));
  // The browser scrolls for a moment, and takes no turn meanwhile.
  let place = 0;
  await until('it stands', async () => place === (place = await log.evaluate((view) => view.scrollTop)));
  // Going on to the end by oneself is the wish to follow.
  await log.hover();
  await page.mouse.wheel(0, 5000);
  await until('it follows again', following);
  fine();
  await context.close();
});

test('a selection is not moved by ten thousand lines a second', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Prints and prints', 'steady');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  const log = page.locator('[role=log]');
  const lines = async () => Number((await page.locator('.terminal .count').innerText()).replaceAll(/\D/g, ''));
  await page.locator('.terminal .count').waitFor();
  await until('it floods', async () => (await lines()) > 3000);
  // It follows the end when the reader begins to select.
  const box = await log.boundingBox();
  const [x, y] = [box.x + 100, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const top = await log.evaluate((view) => view.scrollTop);
  await page.mouse.move(x + 200, y + 40, { steps: 4 });
  const begun = await lines();
  await until('more lines come meanwhile', async () => (await lines()) > begun + 5000);
  await page.mouse.move(x + 210, y + 41);
  await page.mouse.up();
  const chosen = await page.evaluate(() => getSelection().toString());
  assert.ok(chosen.split('\n').length >= 2, chosen);
  const place = await page.evaluate(() => getSelection().getRangeAt(0).getBoundingClientRect().top);
  const then = await lines();
  await until('ten thousand lines more', async () => (await lines()) > then + 10_000);
  assert.equal(await log.evaluate((view) => view.scrollTop), top);
  assert.equal(await page.evaluate(() => getSelection().toString()), chosen);
  assert.equal(await page.evaluate(() => getSelection().getRangeAt(0).getBoundingClientRect().top), place);
  // Whoever asks for it is at the end again.
  await page.evaluate(() => getSelection().removeAllRanges());
  await page.getByRole('button', { name: 'Follow' }).click();
  await until('it follows', () => log.evaluate((view) => view.scrollHeight - view.clientHeight - view.scrollTop < 40));
  fine();
  await context.close();
});

test('a limit is counted down on the card, on the page and in the fleet', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Waits for its provider', 'limited');
  await until('it is paused', async () => (await server.task(task.id)).agentState.resumeAt);
  const { page, context, fine } = await visit(chromium, server);
  const counted = /resumes in (14|15) min/;
  await page.locator(`#card-${task.id}`).getByText(counted).waitFor();
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByRole('region', { name: 'Agent', exact: true }).getByText(counted).waitFor();
  await page.goto(`${server.url}/fleet`);
  await page.getByRole('row', { name: /Waits for its provider/ }).getByText(counted).waitFor();
  fine();
  await context.close();
});

test('an agent that prints nothing is told of, and when it is restarted', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Says no more', 'busy');
  await until('it has said something', async () => (await server.task(task.id)).agentState.lastOutput);
  for (const [lang, minutes, told] of [
    ['en-US', 12, 'silent for 12 min, restarted after 15 min'],
    ['ko-KR', 12, '12분 동안 출력 없음, 15분 넘으면 다시 시작'],
    ['en-US', 20, 'silent for 20 min'],
  ]) {
    const { page, context, fine } = await visit(chromium, server, { lang });
    const card = page.locator(`#card-${task.id}`);
    await card.waitFor();
    assert.equal(await card.getByText(/silent|출력 없음/).count(), 0);
    await page.clock.setFixedTime(Date.now() + minutes * 60_000 + 5_000);
    await card.getByText(told, { exact: true }).waitFor();
    await page.goto(`${server.url}/tasks/${task.id}`);
    await page.getByRole('region', { name: /^(Agent|에이전트)$/ }).getByText(told, { exact: true }).waitFor();
    fine();
    await context.close();
  }
});

test('what an agent prints ends the silence that was told of', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Prints again', 'ticking');
  await until('it has said something', async () => (await server.task(task.id)).agentState.lastOutput);
  const { page, context, fine } = await visit(chromium, server);
  // The list as it was minutes ago; later answers are today's.
  await page.route('**/api/tasks?*', async (route) => {
    const answer = await route.fetch();
    const list = await answer.json();
    for (const one of list.items) if (one.agentState.lastOutput) one.agentState.lastOutput = new Date(Date.now() - 200_000).toISOString();
    await route.fulfill({ response: answer, json: list });
  });
  await page.goto(server.url);
  const card = page.locator(`#card-${task.id}`);
  await card.getByText(/^output (just now|\d+ s ago)$/).waitFor();
  assert.equal(await card.getByText(/silent/).count(), 0);
  fine();
  await context.close();
});

test('a task that waits for its folder names the task that works there', { timeout: 60_000 }, async () => {
  const folder = path.join(server.folder, 'shared-folder');
  fs.mkdirSync(folder);
  const holder = await server.newTask('Works there', 'busy', { workspace: folder });
  await server.reaches(holder.id, 'in_progress');
  const waits = await server.newTask('Stands in line', 'busy', { workspace: folder });
  await until('it waits for the folder', async () => (await server.task(waits.id)).waitReason === 'workspace_busy');
  const { page, context, fine } = await visit(chromium, server);
  await page.locator(`#card-${waits.id}`).getByText('waits for its folder, held by Works there').waitFor();
  await page.goto(`${server.url}/tasks/${waits.id}`);
  await page.getByText('Another task works in the folder of this one.').getByRole('link', { name: 'Works there' }).click();
  await page.waitForURL(`**/tasks/${holder.id}`);
  // By the form one may share it.
  await page.goto(`${server.url}/new`);
  await page.getByLabel('Title').fill('Shares the folder');
  await page.getByText('story', { exact: true }).click();
  await page.getByLabel('Description').fill('Beside the other.');
  await page.getByText('More settings').click();
  await page.getByLabel('Agent').selectOption('busy');
  const share = page.getByLabel('Share the folder with other tasks');
  assert.equal(await share.isDisabled(), true);
  await page.getByLabel('Folder to work in').fill(folder);
  await share.check();
  await page.getByRole('button', { name: 'Submit' }).click();
  await page.waitForURL('**/tasks/**');
  const made = new URL(page.url()).pathname.split('/')[2];
  await server.reaches(made, 'in_progress');
  assert.equal((await server.task(made)).shareWorkspace, true);
  fine();
  await context.close();
});

test('agents of tasks that the store does not know are shown in the fleet', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/fleet`);
  const unknown = page.getByRole('region', { name: 'Agents of unknown tasks' }).first();
  await page.getByRole('region', { name: 'Servers' }).or(page.getByText('Servers')).first().waitFor();
  assert.equal(await unknown.count(), 0);
  await page.route('**/api/nodes', async (route) => {
    const answer = await route.fetch();
    const nodes = await answer.json();
    nodes.items[0].unknownAgents = [{ attempt: 'a1', taskId: 'task_lost\u202e', folder: '/srv/lost', pid: 4711 }];
    await route.fulfill({ response: answer, json: nodes });
  });
  await page.reload();
  await unknown.getByText("'bowline serve --rebuild' takes them up").waitFor();
  await unknown.getByRole('row', { name: /task_lost⟨U\+202E⟩.*4711.*\/srv\/lost/ }).waitFor();
  fine();
  await context.close();
});

test('a checkpoint is forked into a task of its own', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Tried two ways', 'reviewing');
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/checkpoints`);
  await page.getByRole('button', { name: 'Fork' }).first().click();
  await page.locator('[data-confirm="fork"]').click();
  await page.waitForURL((url) => /^\/tasks\/task_\w+$/.test(url.pathname) && !url.pathname.includes(task.id));
  const fork = await server.task(new URL(page.url()).pathname.split('/')[2]);
  assert.equal(fork.title, 'Tried two ways (fork of phase 1)');
  assert.equal((await server.task(task.id)).status, 'review', 'what was forked goes on as it was');
  fine();
  await context.close();
});

test('whoever looks elsewhere is notified of what newly waits, once', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.addInitScript(() => {
    window.notes = [];
    window.Notification = class {
      static permission = 'granted';
      constructor(title, { body }) {
        window.notes.push(`${title} / ${body}`);
      }
    };
    Object.defineProperty(document, 'visibilityState', { get: () => (window.away ? 'hidden' : 'visible') });
  });
  await page.goto(server.url);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.evaluate(() => (window.away = true));
  await server.newTask('Asks from afar', 'asking');
  await until('it is told', () => page.evaluate(() => window.notes.length > 0));
  assert.deepEqual(await page.evaluate(() => window.notes), ['Question: Asks from afar / “Where does the path begin?”']);
  fine();
  await context.close();
});
