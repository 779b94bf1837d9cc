/** A hand on the mouse and on the keys: presses at a place and a moment, whatever has come to stand there. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

/** How long a thing must have been on the screen before anybody can decide it. */
const SHOWN_MS = 500;
/** A hand that has read: it presses this long after the thing came. */
const READ_MS = 600;
const GAPS_MS = [0, 40, 80, 120, 200, 300, 500, 700, 1000];

let server;
let chromium;

before(async () => {
  const { asking, careful, needing, phased, reviewing } = scenarios;
  server = new Server({ asking, careful, needing, phased, reviewing }, { slots: 60 });
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
});

/** Notes in the page when each thing came to stand on it, and when a decision was sent. */
async function noted(page) {
  await page.addInitScript(() => {
    window.shownAt = {};
    window.sent = [];
    const look = () => {
      const there = new Set([...document.querySelectorAll('[data-decides]')].map((node) => node.dataset.decides.split(' ')[0]));
      for (const id of there) window.shownAt[id] ??= performance.now();
      for (const id of Object.keys(window.shownAt)) if (!there.has(id)) delete window.shownAt[id];
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-decides'] });
    const ask = window.fetch;
    window.fetch = (...given) => {
      const [request] = given;
      const path = new URL(request.url ?? request, location.href).pathname;
      const decided = /^\/api\/(?:permissions|reviews|questions|dependencies)\/([^/]+)\/(?!diff)(\w+)/.exec(path);
      const method = request.method ?? given[1]?.method ?? 'GET';
      if (method === 'POST') {
        const now = performance.now();
        window.sent.push({ path, id: decided?.[1] ?? '', shown: decided ? now - (window.shownAt[decided[1]] ?? now) : null });
      }
      return ask(...given);
    };
  });
}

const sent = (page) => page.evaluate(() => window.sent.splice(0));
const standing = (page) => page.evaluate(() => [...document.querySelectorAll('main [data-decides]')].map((node) => node.dataset.decides.split(' ')[0]).find((id) => /^(perm|rev|q|dep)_/.test(id)) ?? '');
const shownFor = (page, id) => page.evaluate((it) => performance.now() - (window.shownAt[it] ?? performance.now()), id);

/** Waits as a reader does: until what stands there has stood for a while. */
async function read(page, ms = READ_MS) {
  return until('something was read', async () => {
    const id = await standing(page);
    return id && (await shownFor(page, id)) >= ms ? id : null;
  });
}

async function middle(locator) {
  const box = await locator.boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Two presses at one place. */
async function twice(page, place, gap) {
  await page.mouse.click(...place);
  await rest(gap);
  await page.mouse.click(...place);
}

/** What came of it: the first press decided, nothing that was not on the screen was, and nobody was scolded. */
async function fineAfter(page, what, least = 1) {
  const all = await until(`${what}: a decision is sent`, async () => {
    const found = await page.evaluate(() => window.sent);
    return found.length >= least ? found : null;
  });
  await rest(300);
  for (const one of all) assert.ok(one.shown === null || one.shown >= SHOWN_MS, `${what}: ${one.path} was on the screen for ${one.shown} ms`);
  assert.equal(new Set(all.map(({ id, path }) => id || path)).size, all.length, `${what}: one thing was decided twice`);
  assert.deepEqual(await page.locator('.toast.bad').allInnerTexts(), [], `${what}: an error for a good act`);
  return sent(page);
}

async function made(agent, count, name = agent) {
  const all = [];
  for (let n = 1; n <= count; n++) all.push(await server.newTask(`${name} ${n}`, agent));
  return all;
}

/** A task in review whose version stands still: its agent is told and stopped after the review has begun, which moves it on. */
async function settled(id) {
  await server.reaches(id, 'review');
  let [version, since] = [0, 0];
  await until(`${id} stands still`, async () => {
    const now = (await server.task(id)).version;
    if (now !== version) [version, since] = [now, Date.now()];
    return Date.now() - since > 800;
  });
}

async function waiting(kind, count) {
  return until(`${count} of ${kind} wait`, async () => {
    const { items } = await server.api('GET', '/api/inbox');
    const some = items.filter((item) => item.kind === kind);
    return some.length >= count ? some : null;
  });
}

test('two presses at any gap decide nothing that was not read', { timeout: 120_000 }, async () => {
  await made('careful', 18);
  await waiting('permission', 18);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  await page.goto(`${server.url}/inbox`);
  const permit = page.getByRole('button', { name: 'Permit', exact: true });
  await permit.waitFor();
  for (const gap of GAPS_MS) {
    const first = await read(page, 800);
    await twice(page, await middle(permit), gap);
    const all = await fineAfter(page, `gap ${gap}`);
    assert.equal(all[0].id, first);
    if (gap < SHOWN_MS) assert.equal(all.length, 1, `gap ${gap}: ${JSON.stringify(all)}`);
  }
  // And it is not slow: one after the other, each as soon as it was read.
  for (let n = 0; n < 4; n++) {
    const id = await read(page);
    await page.mouse.click(...(await middle(permit)));
    await until('it is decided', async () => (await standing(page)) !== id);
    const all = await fineAfter(page, `after reading, ${n}`);
    assert.deepEqual(all.map((one) => one.id), [id]);
  }
  // By its own keys, too: the button is reached by Tab and pressed twice.
  for (const key of ['Enter', 'Space']) {
    const id = await read(page);
    await permit.focus();
    await page.keyboard.press(key);
    await rest(120);
    if (key === 'Space') await page.keyboard.press(key);
    const all = await fineAfter(page, key);
    assert.deepEqual(all.map((one) => one.id), [id]);
  }
  fine();
  await context.close();
});

/** Presses twice at every gap on a button that stands in the inbox for each of many. */
async function decideTwice(kind, agent, buttonName, prepare = async () => undefined) {
  const tasks = await made(agent, GAPS_MS.length, `${buttonName} ${agent}`);
  await waiting(kind, tasks.length);
  if (kind === 'review') for (const { id } of tasks) await settled(id);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  await page.goto(`${server.url}/inbox`);
  await page.locator('ul.list li').first().waitFor();
  const only = page.getByRole('group', { name: 'Filter' }).getByRole('button', { name: kind, exact: false });
  if (await only.count()) await only.click();
  const button = page.locator('.detail').getByRole('button', { name: buttonName, exact: true });
  for (const gap of GAPS_MS.filter((gap) => gap > 0 && gap <= 700)) {
    await button.waitFor();
    await prepare(page);
    const first = await read(page, 800);
    await twice(page, await middle(button), gap);
    const all = await fineAfter(page, `${buttonName}, gap ${gap}`);
    assert.equal(all[0].id, first);
    if (gap < SHOWN_MS) assert.equal(all.length, 1, `${buttonName}, gap ${gap}: ${JSON.stringify(all)}`);
    await until('it is decided', async () => (await standing(page)) !== first);
  }
  fine();
  await context.close();
}

test('two presses on Approve in the inbox decide one review', { timeout: 120_000 }, async () => {
  await decideTwice('review', 'reviewing', 'Approve');
});

test('two presses on Answer decide one question', { timeout: 120_000 }, async () => {
  await decideTwice('question', 'asking', 'Answer', (page) => page.getByLabel('harbour').check());
});

test('two presses on Provide, and on Refuse, decide one dependency', { timeout: 180_000 }, async () => {
  await decideTwice('dependency', 'needing', 'Provide', (page) => page.getByLabel(/PATH_KEY/).fill('key_of_the_path'));
  await decideTwice('dependency', 'needing', 'Refuse');
});

test('two presses in the dialog of a fork make one', { timeout: 90_000 }, async () => {
  const [task] = await made('reviewing', 1, 'forked');
  await settled(task.id);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  let forks = 0;
  for (const gap of GAPS_MS.filter((gap) => gap <= 700)) {
    await page.goto(`${server.url}/tasks/${task.id}/checkpoints`);
    const fork = page.getByRole('button', { name: 'Fork', exact: true }).first();
    await fork.waitFor();
    // The second press meets the dialog, or nothing.
    await twice(page, await middle(fork), gap);
    await rest(200);
    assert.deepEqual(await sent(page), [], `gap ${gap}: one press on Fork, and the next began it`);
    const dialog = page.getByRole('dialog');
    if (!(await dialog.isVisible())) await fork.click();
    const draft = dialog.getByRole('button', { name: 'Fork as draft' });
    await draft.waitFor();
    await rest(READ_MS);
    await twice(page, await middle(draft), gap);
    await page.waitForURL((url) => !url.pathname.includes(task.id));
    await rest(300);
    forks += 1;
    assert.deepEqual((await sent(page)).map(({ path }) => path.split('/').at(-1)), ['fork'], `gap ${gap}`);
  }
  const { items } = await server.api('GET', '/api/tasks?limit=1000');
  assert.equal(items.filter(({ title }) => title.startsWith('forked 1 (fork')).length, forks);
  fine();
  await context.close();
});

test('two presses on Save as draft make one draft, and submit nothing', { timeout: 90_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  for (const gap of GAPS_MS.filter((gap) => gap < SHOWN_MS)) {
    await page.goto(`${server.url}/new`);
    await page.getByLabel('Title').fill(`Saved after ${gap}`);
    await page.getByText('story', { exact: true }).click();
    await page.getByLabel('Description').fill('Once.');
    await rest(READ_MS);
    const save = page.getByRole('button', { name: 'Save as draft' });
    // The draft has buttons of its own: a press meets them as soon as they are there.
    await page.evaluate(() => {
      const press = () => {
        const submit = location.pathname.startsWith('/tasks/') ? document.querySelector('form .button.primary') : null;
        if (submit) submit.click();
        else requestAnimationFrame(press);
      };
      requestAnimationFrame(press);
    });
    await twice(page, await middle(save), gap);
    await page.waitForURL('**/tasks/**');
    await page.getByRole('button', { name: 'Submit', exact: true }).first().waitFor();
    await rest(300);
    assert.deepEqual((await sent(page)).map(({ path }) => path), ['/api/tasks'], `gap ${gap}`);
  }
  fine();
  await context.close();
});

test('nothing is approved before its changes, or why they cannot be shown, are on the screen', { timeout: 90_000 }, async () => {
  const tasks = await made('reviewing', 2, 'slow git');
  for (const task of tasks) await settled(task.id);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  let open = () => undefined;
  let opened = Promise.resolve();
  const hold = () => (opened = new Promise((resolve) => (open = resolve)));
  await page.route('**/api/reviews/*/diff*', async (route) => {
    await opened;
    await route.continue().catch(() => undefined);
  });
  const head = page.locator('header [data-action="approve"]');
  const inside = page.getByRole('main').getByRole('button', { name: 'Approve', exact: true });
  const slow = async (address, buttons, prepare = async () => undefined) => {
    hold();
    await page.goto(server.url + address);
    await prepare();
    for (const button of buttons) await button.waitFor();
    await rest(READ_MS);
    for (const button of buttons) {
      assert.equal(await button.isDisabled(), true, address);
      await page.mouse.click(...(await middle(button)));
    }
    await page.keyboard.press('a');
    assert.deepEqual(await sent(page), [], address);
    open();
    for (const button of buttons) await until(`${address}: it can be approved`, async () => (await button.isEnabled()) && (await button.getAttribute('aria-disabled')) === 'false');
  };
  const [one] = tasks;
  await slow(`/tasks/${one.id}`, [head, inside.last()]);
  await slow(`/tasks/${one.id}/conversation`, [head]);
  await slow(`/tasks/${one.id}/review`, [page.locator('form.decide [data-action="approve"]')]);
  await slow('/inbox', [inside], () => page.getByRole('button', { name: /slow git 1/ }).click());
  await slow('/inbox', [page.getByRole('button', { name: 'Approve 2' })], async () => {
    for (const n of [1, 2]) await page.getByLabel(`Select: slow git ${n}`).check();
  });
  // Where they cannot be read at all, that is said first.
  await page.unroute('**/api/reviews/*/diff*');
  await page.route('**/api/reviews/*/diff*', (route) => route.abort());
  await page.goto(`${server.url}/tasks/${one.id}`);
  await page.getByRole('alert').filter({ hasText: 'The server does not answer' }).waitFor();
  await until('it can be approved', () => head.isEnabled());
  fine();
  await context.close();
});

test('reviews one after the other by the key, and a key that is held decides one', { timeout: 90_000 }, async () => {
  for (const task of await made('reviewing', 5)) await settled(task.id);
  await waiting('review', 5);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  await page.goto(`${server.url}/inbox`);
  await page.getByRole('button', { name: 'Review', exact: true }).click().catch(() => null);
  for (const gap of [40, 120, 300]) {
    const id = await read(page);
    await page.keyboard.press('a');
    await rest(gap);
    await page.keyboard.press('a');
    const all = await fineAfter(page, `keys, gap ${gap}`);
    assert.deepEqual(all.map((one) => one.id), [id]);
  }
  const id = await read(page);
  for (let n = 0; n < 25; n++) {
    await page.keyboard.down('a');
    await rest(60);
  }
  await page.keyboard.up('a');
  assert.deepEqual((await fineAfter(page, 'held')).map((one) => one.id), [id]);
  fine();
  await context.close();
});

test('on the page of a task the next phase, and what takes the place of Approve, wait until they are read', { timeout: 90_000 }, async () => {
  const tasks = await made('phased', 3, 'two phases');
  for (const task of tasks) await settled(task.id);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  for (const [at, gap] of [120, 300].entries()) {
    await page.goto(`${server.url}/tasks/${tasks[at].id}/review`);
    const approve = page.locator('form button[data-action="approve"]');
    await approve.waitFor();
    const first = await read(page);
    await twice(page, await middle(approve), gap);
    const all = await fineAfter(page, `review, gap ${gap}`);
    assert.deepEqual(all.map((one) => one.id), [first]);
  }
  // In the head of the page another button comes to stand where Approve was.
  await page.goto(`${server.url}/tasks/${tasks[2].id}/history`);
  const approve = page.locator('header [data-action="approve"]');
  await approve.waitFor();
  await rest(READ_MS);
  await twice(page, await middle(approve), 200);
  const all = await fineAfter(page, 'the head');
  assert.deepEqual(all.map((one) => one.path), [`/api/tasks/${tasks[2].id}/approve`]);
  fine();
  await context.close();
});

test('several at once: what comes after them is not decided with them', { timeout: 60_000 }, async () => {
  const tasks = await made('careful', 3, 'together');
  await until('all ask', async () => (await server.api('GET', '/api/inbox')).items.filter((item) => item.title.startsWith('together')).length === 3);
  const { page, context, fine } = await visit(chromium, server);
  await noted(page);
  await page.goto(`${server.url}/inbox`);
  for (const n of [1, 2]) await page.getByLabel(`Select: together ${n}`).check();
  const permit = page.getByRole('button', { name: 'Permit 2' });
  await permit.and(page.locator(':enabled')).waitFor();
  await rest(READ_MS);
  await twice(page, await middle(permit), 200);
  await until('both are permitted', async () => (await page.evaluate(() => window.sent)).length >= 2);
  await rest(400);
  assert.equal((await sent(page)).length, 2);
  assert.equal(await page.locator('.toast.bad').count(), 0);
  const { items } = await server.api('GET', `/api/tasks/${tasks[2].id}/permissions`);
  assert.equal(items[0].status, 'pending');
  fine();
  await context.close();
});
