/** The demo as a newcomer walks through it: what they ask for comes, and a killed server is back in the open tab. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { browser, until } from './world.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bowline-demo-'));
let chromium;
let demo;

async function start(...more) {
  const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', BOWLINE_ACTOR: 'person' };
  const child = spawn(process.env.BOWLINE, ['demo', '--dir', path.join(folder, 'shop'), ...more], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const found = await until('the demo listens', () => {
    assert.equal(child.exitCode, null, said);
    return /listening on (http:\/\/\S+)/.exec(said);
  }).finally(() => (demo = { child }));
  demo.url = found[1];
  demo.said = () => said;
}

before(async () => {
  chromium = await browser();
  await start();
});

after(async () => {
  await chromium?.close();
  const token = fs.readFileSync(path.join(folder, 'shop', 'data', 'token'), 'utf8').trim();
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const ask = (method, address, body) => fetch(demo.url + address, { method, headers, body: body && JSON.stringify(body) }).then((answer) => answer.json());
  try {
    for (const { id } of (await ask('GET', '/api/tasks')).items)
      await until(`the agent of ${id} ends`, async () => {
        const task = await ask('GET', `/api/tasks/${id}`);
        // What is under review is sent back before it is given up.
        if (task.status === 'review') await ask('POST', `/api/tasks/${id}/request-changes`, { feedback: 'Enough.' });
        if (task.agentState.alive) await ask('POST', `/api/tasks/${id}/cancel`);
        return !task.agentState.alive;
      });
  } finally {
    demo.child.kill('SIGTERM');
    await once(demo.child, 'exit');
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
});

test('changes that are asked for come within seconds, and a killed demo is back in the open tab', { timeout: 90_000 }, async () => {
  const context = await chromium.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(await until('the link', () => /(http:\/\/\S+\/(?:sign-?in|in|login)\S*)/i.exec(demo.said())?.[1]));
  await page.getByRole('link', { name: /Which tea does the shop sell first/ }).first().click();
  await page.getByLabel('green').check();
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.getByRole('tab', { name: /Review/ }).click({ timeout: 20_000 });
  const id = new URL(page.url()).pathname.split('/')[2];
  const words = 'Name the harbour in the first line.';
  await page.getByLabel('What should change').fill(words);
  await page.locator('button[data-action="request-changes"]').click();
  const begun = Date.now();
  const quoted = () =>
    page.evaluate(
      async ([task, text]) => {
        const { status } = await (await fetch(`/api/tasks/${task}`)).json();
        const { items } = await (await fetch(`/api/tasks/${task}/artifacts`)).json();
        const texts = await Promise.all(items.map(async (one) => (await fetch(`/api/tasks/${task}/artifacts/${one.path}`)).text()));
        return status === 'review' && texts.some((one) => one.includes(text));
      },
      [id, words],
    );
  await until('the file quotes what was asked for, and is reviewed again', quoted, 15_000);
  assert.ok(Date.now() - begun < 15_000);
  await page.locator('form button[data-action="approve"]').waitFor();

  demo.child.kill('SIGKILL');
  await once(demo.child, 'exit');
  await page.getByText('The server does not answer.').waitFor();
  const { url } = demo;
  await start('--again');
  assert.equal(demo.url, url);
  await page.getByText('The server does not answer.').waitFor({ state: 'detached', timeout: 20_000 });
  await page.locator('form button[data-action="approve"]').click();
  await page.getByText('Approved', { exact: true }).first().waitFor();
  await context.close();
});
