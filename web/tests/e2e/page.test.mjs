/** What the page is besides its decisions: safe, readable, resumable, quick to move in. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

let server;
let chromium;

before(async () => {
  server = new Server({ busy: scenarios.busy, reviewing: scenarios.reviewing, hostile: scenarios.hostile, flood: scenarios.flood }, { slots: 8 });
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
});

test('the link on the terminal signs in once, and the token does too', { timeout: 60_000 }, async () => {
  const link = await server.link();
  const context = await chromium.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole('heading', { name: 'Board' }).waitFor();
  const other = await chromium.newContext();
  const second = await other.newPage();
  await second.goto(link);
  await second.getByRole('heading', { name: 'Sign in to Bowline' }).waitFor();
  await second.getByLabel('Token', { exact: true }).fill('wrong');
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByRole('alert').waitFor();
  await second.getByLabel('Token', { exact: true }).fill(server.token);
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByRole('heading', { name: 'Board' }).waitFor();
  await context.close();
  await other.close();
});

test('a hostile agent executes nothing and breaks no layout', { timeout: 90_000 }, async () => {
  const task = await server.newTask('<img src=x onerror=window.hurt=10>', 'hostile');
  const { page, context, fine } = await visit(chromium, server, { width: 900 });
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.getByText('<img src=x onerror=window.hurt=10>').first().waitFor();
  await page.goto(`${server.url}/tasks/${task.id}`);
  const log = page.locator('[role=log]');
  await page.getByText('Bold?').first().waitFor();
  await log.evaluate((view) => (view.scrollTop = 0));
  await log.getByText('<script>window.hurt = 1</script>').waitFor();
  await log.getByText('⟨U+202E⟩').first().waitFor();
  assert.ok(!(await log.innerText()).includes('\u202e'));
  assert.equal(await log.locator('a, img, script, iframe').count(), 0);
  await log.getByText(/more characters/).first().waitFor();
  assert.ok((await wide()) <= 0, 'the page scrolls sideways');
  await page.getByLabel('no', { exact: true }).check();
  await page.getByRole('button', { name: 'Answer' }).click();
  await server.reaches(task.id, 'review');
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  await page.getByText('The end of the document.').waitFor();
  assert.equal(await page.locator('.markdown').locator('script, iframe, style, img, a[href^="javascript"]').count(), 0);
  assert.ok((await wide()) <= 0, 'the review scrolls sideways');
  // A page that an agent wrote is opened as its address and stays a dead text.
  const raw = await context.newPage();
  const answer = await raw.goto(`${server.url}/api/tasks/${task.id}/artifacts/docs/evil.html`).catch(() => null);
  if (answer) assert.equal(await raw.evaluate(() => window.hurt), undefined);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  fine();
  await context.close();
});

test('a hundred thousand lines: found, followed, and still under the reader', { timeout: 120_000 }, async () => {
  const task = await server.newTask('Floods', 'flood');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  const log = page.locator('[role=log]');
  // While it floods, a reader who scrolled up stays where they are.
  await until('there is something to scroll', () => log.evaluate((view) => view.scrollHeight > 40_000));
  await log.hover();
  await page.mouse.wheel(0, -200);
  // The wheel goes on for a moment after it was turned.
  await until('the reader is there', () =>
    log.evaluate((view) => {
      view.scrollTop = 5_000;
      return Number(view.querySelector('.number')?.textContent) === 231;
    }),
  );
  assert.equal(await log.evaluate((view) => view.scrollTop), 5_000);
  const first = await log.innerText();
  await page.getByText(/1\d\d,\d\d\d lines/).waitFor({ timeout: 60_000 });
  assert.equal(await log.evaluate((view) => view.scrollTop), 5_000);
  assert.equal(await log.innerText(), first);
  assert.ok((await log.locator('.line').count()) < 200, 'all lines are on the page');
  await page.getByLabel('Search the output').fill('last line of the flood');
  await log.getByText('last line of the flood').waitFor();
  await page.getByRole('button', { name: 'Follow' }).click();
  await until('it follows the end', () => log.evaluate((view) => view.scrollHeight - view.clientHeight - view.scrollTop < 25));
  fine();
  await context.close();
});

test('a server that goes away and comes back is told, and nothing is missed', { timeout: 90_000 }, async () => {
  const task = await server.newTask('Outlives the server', 'busy');
  const { page, context, fine } = await visit(chromium, server);
  await page.getByRole('link', { name: /Outlives the server/ }).waitFor();
  await server.stop('SIGKILL');
  await page.getByText('The server does not answer.').waitFor();
  await server.start();
  await page.getByText('The server does not answer.').waitFor({ state: 'hidden', timeout: 30_000 });
  // Its agent was never gone, and what happens now is shown without a reload.
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.locator('[data-action="pause"]').waitFor();
  const later = await server.newTask('Made afterwards', 'busy');
  await page.goto(server.url);
  await page.locator(`#card-${later.id}`).waitFor();
  fine();
  await context.close();
});

test('language and theme are switched at once and kept', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.getByRole('button', { name: '한국어' }).first().click();
  await page.getByRole('heading', { name: '보드' }).waitFor();
  for (const word of ['초안', '대기 중', '진행 중', '리뷰 대기', '완료', '실패']) {
    await page.getByRole('region', { name: word, exact: true }).waitFor();
  }
  await page.getByRole('button', { name: '어두운 테마' }).first().click();
  await page.reload();
  await page.getByRole('heading', { name: '보드' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'ko');
  fine();
  await context.close();
});

test('the board by keys: move, search, help', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.locator('.card').first().waitFor();
  await page.keyboard.press('j');
  const first = await page.evaluate(() => document.activeElement?.id);
  assert.match(first, /^card-/);
  await page.keyboard.press('j');
  assert.notEqual(await page.evaluate(() => document.activeElement?.id), first);
  await page.keyboard.press('k');
  assert.equal(await page.evaluate(() => document.activeElement?.id), first);
  await page.keyboard.press('/');
  await page.keyboard.type('outlives');
  await until('only one card is left', async () => (await page.locator('.card').count()) === 1);
  await page.keyboard.type(' of nowhere');
  await page.getByText('No task matches').waitFor();
  await page.getByRole('button', { name: 'Show all tasks' }).click();
  await until('all cards are back', async () => (await page.locator('.card').count()) > 1);
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  fine();
  await context.close();
});

test('a key decides on nothing that a filter took off the board', { timeout: 60_000 }, async () => {
  const [seen, unseen] = [await server.newTask('Stays on the board', 'busy'), await server.newTask('Reviewed unseen', 'reviewing')];
  await server.reaches(unseen.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.locator(`#card-${unseen.id}`).focus();
  await page.getByLabel('Search tasks').fill('stays on the board');
  await until('the other is off the board', async () => (await page.locator('.card').count()) === 1);
  await page.getByRole('heading', { name: 'Board' }).click();
  await page.keyboard.press('a');
  await page.keyboard.press('Enter');
  // Keys are handled in order: this one is seen, and the others were before it.
  await page.keyboard.press('j');
  assert.equal(await page.evaluate(() => document.activeElement?.id), `card-${seen.id}`);
  assert.equal((await server.task(unseen.id)).status, 'review');
  // Seen again, its review is opened.
  await page.getByLabel('Search tasks').fill('');
  await page.locator(`#card-${unseen.id}`).focus();
  await page.keyboard.press('a');
  await page.waitForURL(`**/tasks/${unseen.id}/review`);
  fine();
  await context.close();
});

test('a banner says that nothing can be changed, and why, until it can', { timeout: 60_000 }, async () => {
  const { page, context } = await visit(chromium, server, { width: 900 });
  const told = 'Nothing can be changed now; the server goes on by itself.';
  const reason = 'no space is left on the disk for /data/store.sqlite';
  await page.getByRole('heading', { name: 'Board' }).waitFor();
  assert.equal(await page.getByText(told).count(), 0);
  const body = JSON.stringify({ status: 'failing', reason });
  await page.route('**/readyz', (route) => route.fulfill({ status: 503, contentType: 'application/json', body }));
  await page.getByText(told).waitFor();
  await page.getByText(reason).waitFor();
  await page.unroute('**/readyz');
  await page.getByText(told).waitFor({ state: 'hidden' });
  await context.close();
});
