/** A person's whole way with a task, in the browser, from the form to the last approval; and the decisions beside it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

let server;
let chromium;

before(async () => {
  server = new Server({ everything: scenarios.everything, busy: scenarios.busy, reviewing: scenarios.reviewing });
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
});

test('from the form to completed, through every decision', { timeout: 120_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.getByRole('navigation').getByRole('link', { name: 'New task' }).click();

  // The server's own words about what is missing, in the form.
  await page.getByLabel('Title').fill('Pictures for the harbour');
  await page.getByText('story', { exact: true }).click();
  await page.getByRole('button', { name: 'Submit' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Description').fill('Put pictures of the harbour on the first page.');
  await page.getByRole('button', { name: 'Submit' }).click();

  // A question, answered on the task page.
  await page.getByText('Where do pictures live?', { exact: true }).waitFor();
  assert.match(await page.locator('[role=log]').innerText(), /Starting the plan/);
  await page.getByLabel('bucket').check();
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('So in the bucket.').waitFor();

  // A secret: typed unseen, given to the agent, never shown again.
  const secret = 'key_9f8e7d6c5b4a';
  const field = page.getByLabel(/PICTURE_KEY/);
  assert.equal(await field.getAttribute('type'), 'password');
  await field.fill(secret);
  await page.getByRole('button', { name: 'Provide' }).click();
  await page.getByText('Thank you for the key.').waitFor();
  assert.ok(!(await page.content()).includes(secret), 'the secret is on the page');

  // A review: a comment on a line goes back to the agent.
  await page.getByRole('tab', { name: /Review/ }).click();
  await page.getByRole('button', { name: 'Differences' }).click();
  await page.getByRole('button', { name: 'Comment on line 4' }).click();
  await page.getByLabel('Comment on line 4', { exact: true }).and(page.locator('textarea')).fill('This line should be better.');
  await page.getByRole('button', { name: 'Add the comment' }).click();
  await page.getByLabel('What should change').fill('Almost.');
  await page.locator('button[data-action="request-changes"]').click();
  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.locator('[role=log]').getByText(/This line should be better\./).first().waitFor();

  // The same phase again, then the second; each approved, on a line so slow that the list of reviews is old: what was decided is not offered again.
  await page.route('**/api/tasks/*/reviews', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await route.continue();
  });
  const id = new URL(page.url()).pathname.split('/')[2];
  await server.reaches(id, 'review');
  await page.getByRole('tab', { name: /Review/ }).click();
  await page.locator('button[data-action="approve"]').last().click();
  await until('the second phase is reviewed', async () => {
    const task = await server.task(id);
    return task.status === 'review' && task.currentPhase === 2;
  });
  await page.locator('form button[data-action="approve"]').click();
  await server.reaches(id, 'completed');
  await page.unroute('**/api/tasks/*/reviews');
  await page.getByText('Completed', { exact: true }).first().waitFor();

  // What happened is in the history, and what was made is in the files.
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByText('Changes requested').first().waitFor();
  await page.getByRole('tab', { name: 'Files' }).click();
  await page.getByRole('button', { name: 'docs/build.md' }).click();
  await page.getByRole('heading', { name: 'Build' }).waitFor();
  fine();
  await context.close();
});

test('a review by keys: r goes to its words, a to its button, and the tab is called as the task', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Decided by keys', 'reviewing');
  const without = await server.newTask('Nothing to decide', 'busy');
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByRole('tab', { name: /Review/ }).waitFor();
  await page.keyboard.press('r');
  await until('the words are asked for', () => page.evaluate(() => document.activeElement?.id === 'feedback'));
  assert.equal(await page.getByLabel('What should change').inputValue(), '');
  assert.match(await page.title(), /Decided by keys · Bowline$/);
  await page.keyboard.press('Escape');
  await page.locator('[data-action="approve"]:enabled').waitFor();
  await page.keyboard.press('a');
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.action), 'approve');
  await page.goto(`${server.url}/tasks/${without.id}/review`);
  await page.getByText('There is no review yet').waitFor();
  fine();
  await context.close();
});

test('pause, resume and cancel by the buttons the server allows', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Works for long', 'busy');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.locator('[role=log]').getByText('I am at work.').waitFor();
  await page.locator('[data-action="pause"]').click();
  await page.locator('[data-action="resume"]').waitFor();
  assert.equal(await page.locator('[data-action="pause"]').count(), 0);
  await page.locator('[data-action="resume"]').click();
  await page.locator('[data-action="pause"]').waitFor();
  await page.locator('[data-action="cancel"]').click();
  await page.locator('[data-confirm="cancel"]').click();
  await server.reaches(task.id, 'failed');
  await page.locator('[data-action="retry"]').waitFor();
  fine();
  await context.close();
});

test('a checkpoint is restored', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Goes back', 'reviewing');
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/checkpoints`);
  await page.getByRole('button', { name: 'Restore' }).first().click();
  await page.locator('[data-confirm="restore"]').click();
  await page.getByText('Restored').first().waitFor();
  fine();
  await context.close();
});

test('two browsers decide at once: one is told the truth in a sentence', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Wanted by two', 'reviewing');
  await server.reaches(task.id, 'review');
  const one = await visit(chromium, server);
  const two = await visit(chromium, server, { lang: 'ko-KR' });
  for (const { page } of [one, two]) {
    await page.goto(`${server.url}/tasks/${task.id}/review`);
    await page.locator('form button[data-action="approve"]').waitFor();
  }
  // Held back, so that the second decides on what it saw.
  await two.page.route('**/api/tasks/**', (route) => (route.request().method() === 'GET' ? undefined : route.continue()));
  await two.page.route('**/api/events', () => undefined);
  await one.page.locator('form button[data-action="approve"]').click();
  await one.page.getByText('Approved', { exact: true }).first().waitFor();
  await two.page.locator('form button[data-action="approve"]').click();
  const toast = two.page.locator('.toast.bad');
  await toast.waitFor();
  assert.match(await toast.innerText(), /[가-힣]/);
  one.fine();
  two.fine();
  await one.context.close();
  await two.context.close();
});

test('the inbox decides many tasks, one by one and together, and by keys', { timeout: 90_000 }, async () => {
  const made = [];
  for (const title of ['Many one', 'Many two', 'Many three']) made.push(await server.newTask(title, 'reviewing'));
  for (const task of made) await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  // What waits is the first thing on the board.
  await page.getByRole('region', { name: 'Needs you' }).waitFor();
  await page.getByRole('link', { name: 'Decide', exact: true }).click();
  for (const title of ['Many one', 'Many two']) await page.getByLabel(`Select: ${title}`).check();
  await page.getByRole('button', { name: 'Approve 2' }).click();
  await until('both were approved', async () => {
    const states = await Promise.all(made.slice(0, 2).map((task) => server.api('GET', `/api/tasks/${task.id}/reviews`)));
    return states.every(({ items }) => items[0].status === 'approved');
  });
  await page.getByRole('button', { name: /Many three/ }).click();
  await until('the third was approved', async () => {
    // A key pressed right after the page has changed decides nothing.
    await page.keyboard.press('a');
    const { items } = await server.api('GET', `/api/tasks/${made[2].id}/reviews`);
    return items[0].status === 'approved';
  });
  fine();
  await context.close();
});
