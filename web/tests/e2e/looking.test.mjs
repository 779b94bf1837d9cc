/** Reading and deciding without anything moving under the reader: what was seen, what changed since, many at once. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

const TASKS = 1000;
let server;
let chromium;
let home;
let quay;

/** A plan of a thousand tasks in chains, every third chain joined to the one before. */
function plan() {
  const lines = ['# TASKS: thousand', '', '## Phase 1: All'];
  for (let at = 0; at < TASKS; at++) {
    const needs = [];
    if (at % 10) needs.push(`T1.${at}`);
    // The longer way implies this one.
    if (at % 10 > 1) needs.push(`T1.${at - 1}`);
    if (at % 30 === 10) needs.push(`T1.${at}`);
    lines.push(`### [ ] Phase 1, T1.${at + 1}: 구간 ${at + 1} of the coast`);
    if (needs.length) lines.push(`**의존성**: ${needs.join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}

/** An orchestration that agents have worked off. */
function worked(folder) {
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, 'TASKS.md'), '# TASKS: pier\n\n## Phase 1: All\n### [ ] Phase 1, T1.1: Planks\n### [ ] Phase 1, T1.2: Ropes\n');
  const agent = 'echo "I lay <b>$BOWLINE_TASK_ID</b>"';
  fs.writeFileSync(path.join(folder, 'bowline.toml'), `[defaults]\nagent = "script"\n[agent.script]\ncommand = ["sh", "-c", ${JSON.stringify(agent)}]\n`);
  bowline(folder, ['orchestrate', 'init']);
  bowline(folder, ['orchestrate', 'run']);
}

/** A develop run whose gate has a sealed command, and an orchestration in git that people work off themselves. */
function gated(folder) {
  const git = (...line) => execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...line], { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
  fs.mkdirSync(folder);
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'T');
  git('config', 'user.email', 't@example.org');
  fs.writeFileSync(path.join(folder, 'TASKS.md'), '# TASKS: quay\n\n## Phase 1: Stones\n### [ ] Phase 1, T1.1: Wall\n\n## Phase 2: Lamps\n### [ ] Phase 2, T2.1: Lamp\n');
  fs.writeFileSync(path.join(folder, 'bowline.toml'), '[develop]\nprotected = ["check.sh"]\n[develop.gates.review_clean_pass]\nrun = "sh check.sh"\n');
  fs.writeFileSync(path.join(folder, 'check.sh'), 'test -e clean.txt || { echo "the quay is not clean"; exit 3; }\n');
  fs.writeFileSync(path.join(folder, '.gitignore'), '.develop-workflow/\n.claude/\n');
  git('add', '.');
  git('commit', '--quiet', '-m', 'quay');
  bowline(folder, ['develop', 'start', 'A quay']);
  bowline(folder, ['develop', 'review', '--checkpoint', 'stones']);
  bowline(folder, ['orchestrate', 'init']);
  return git;
}

function bowline(folder, line) {
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', BOWLINE_ACTOR: 'person' };
  return execFileSync(process.env.BOWLINE, line, { cwd: folder, env, encoding: 'utf8' });
}

before(async () => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'bowline-looking-'));
  const folder = path.join(home, 'coast');
  fs.mkdirSync(folder);
  execFileSync('git', ['init', '--quiet', folder]);
  fs.writeFileSync(path.join(folder, 'TASKS.md'), plan());
  bowline(folder, ['orchestrate', 'init']);
  bowline(folder, ['orchestrate', 'start', 'T1.1']);
  worked(path.join(home, 'pier'));
  quay = gated(path.join(home, 'quay'));
  fs.mkdirSync(path.join(home, 'cove'));
  fs.writeFileSync(path.join(home, 'cove', 'TASKS.md'), '# TASKS: cove\n\n## Phase 1: All\n### [ ] Phase 1, T1.1: Sand\n');
  const dune = path.join(home, 'dune');
  fs.mkdirSync(dune);
  fs.writeFileSync(path.join(dune, 'bowline.toml'), '[defaults]\nagent = "script"\n[agent.script]\ncommand = ["sh", "-c", "echo I count grains; test -e done || sleep 300"]\n');
  bowline(dune, ['memory', 'task', 'new', 'Count the grains', '--goal', 'A number', '--step', 'name=Left', '--step', 'name=Right']);
  bowline(folder, ['memory', 'task', 'new', 'Walk the coast', '--goal', 'A map of it', '--step', 'name=Walk']);
  bowline(folder, ['develop', 'start', 'A coast path']);
  bowline(folder, ['develop', 'review']);
  bowline(folder, ['develop', 'gate', 'pass', 'review_clean_pass', '--run', 'echo looked at']);
  const { busy, reviewing, everything, talking, careful, asking, reworking, phased } = scenarios;
  server = new Server({ busy, reviewing, everything, talking, careful, asking, reworking, phased }, { slots: 12, workspaces: [folder, path.join(home, 'pier'), path.join(home, 'quay'), path.join(home, 'cove'), dune], home });
  server.coast = folder;
  await server.start();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await server?.close();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** Waits until nothing moves the task any more, and says at which version it rests. */
async function rests(id) {
  let [seen, same] = [0, 0];
  await until('the task rests', async () => {
    const { version } = await server.task(id);
    same = version === seen ? same + 1 : 0;
    seen = version;
    return same > 15;
  });
  return seen;
}

test('what changed since I looked: on the board, on the task, in its history', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Looked at once', 'busy');
  await rests(task.id);
  const { page, context, fine } = await visit(chromium, server);
  const card = page.locator(`#card-${task.id}`);
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.locator('[role=log]').getByText('I am at work.').waitFor();
  await page.locator('[data-action="pause"]').waitFor();
  // The page may show a task before it knows how far the events have come; it has been looked at from then on.
  await page.waitForFunction((id) => localStorage.getItem('bowline.looks')?.includes(id), task.id);
  await page.goto(server.url);
  await card.waitFor();
  assert.equal(await card.locator('.news').count(), 0);
  await server.api('POST', `/api/tasks/${task.id}/pause`);
  await card.locator('.news').waitFor();
  await card.click();
  const news = page.getByRole('region', { name: 'Changed since you looked' });
  await news.getByText('Paused').waitFor();
  await news.getByRole('link', { name: 'Show in the history' }).click();
  const moves = page.locator('ol.line > li');
  await moves.getByRole('button', { name: /^Paused/ }).waitFor();
  assert.ok((await moves.locator('xpath=self::li[contains(@class,"new")]').count()) < (await moves.count()), 'all is new');
  await page.goto(server.url);
  await card.waitFor();
  await until('it is seen', async () => (await card.locator('.news').count()) === 0);
  fine();
  await context.close();
});

test('several lines are remarked on; viewed marks and the comparison belong to what was seen', { timeout: 90_000 }, async () => {
  const task = await server.newTask('Comes back changed', 'reworking');
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/review`);
  const plan = page.getByRole('region', { name: 'docs/plan.md' });
  const other = page.getByRole('region', { name: 'docs/other.md' });
  await plan.getByRole('button', { name: 'Differences' }).click();
  // Dragged over three lines.
  const number = (line) => plan.getByRole('button', { name: `Comment on line ${line}`, exact: true });
  await number(3).hover();
  await page.mouse.down();
  await number(4).hover();
  await number(5).hover();
  await page.mouse.up();
  await page.getByLabel('Comment on lines 3–5').fill('These three should be one.');
  await page.getByRole('button', { name: 'Add the comment' }).click();
  await plan.getByText('Lines 3–5:').waitFor();
  // A draft outlives the tab.
  await page.reload();
  await page.getByText('(1 comment)').waitFor();
  await plan.getByLabel('Viewed').check();
  await other.getByLabel('Viewed').check();
  await page.getByText('2 of 2 viewed').waitFor();

  // The decision names the version that was on the screen.
  const seen = await rests(task.id);
  const sent = page.waitForRequest(/request-changes$/);
  await page.locator('form button[data-action="request-changes"]').click();
  assert.equal((await sent).headers()['if-match'], String(seen));
  await until('the second review', async () => {
    const { items } = await server.api('GET', `/api/tasks/${task.id}/reviews`);
    return items.length === 2 && items.some((review) => review.status === 'pending');
  });
  await page.getByLabel('Compared with').waitFor();

  // Only the file that changed lost its mark, and only it differs from what was reviewed.
  await plan.getByText('changed since you viewed it').waitFor();
  await plan.getByRole('button', { name: 'Differences' }).click();
  await plan.getByText('one line for three').waitFor();
  assert.equal(await plan.locator('tr.removed').count(), 3);
  await page.getByLabel('Compared with').selectOption({ label: 'before this phase' });
  await until('the other file is compared again', async () => (await other.getByLabel('Viewed').count()) === 1);
  assert.ok(await other.getByLabel('Viewed').isChecked(), 'the mark of a file that is the same');
  assert.equal(await plan.locator('tr.removed').count(), 0);

  // What was said is where it was said, in the review that is over, and the agent was told which lines.
  await page.getByLabel('Reviews').selectOption({ label: 'Phase 1 · Changes requested' });
  await plan.getByLabel('Viewed').uncheck();
  await plan.getByRole('button', { name: 'Differences' }).click();
  await plan.getByText('These three should be one.').waitFor();
  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.locator('[role=log]').getByText(/Lines 3–5: These three should be one\./).first().waitFor();
  fine();
  await context.close();
});

test('permissions, questions and reviews of many tasks are answered in a batch', { timeout: 90_000 }, async () => {
  const made = [];
  for (const [title, agent] of [['Publishes one', 'careful'], ['Publishes two', 'careful'], ['Asks one', 'asking'], ['Asks two', 'asking'], ['Reviewed one', 'reviewing'], ['Reviewed two', 'reviewing']])
    made.push(await server.newTask(title, agent));
  const waiting = async () => (await server.api('GET', '/api/inbox')).items.filter((item) => made.some((task) => task.id === item.taskId));
  await until('all six wait', async () => (await waiting()).length === 6);
  const { page, context, fine } = await visit(chromium, server);
  // To its status it waits for an answer; a reader is told for what.
  await page.locator(`#card-${made[0].id}`).getByText('Waits for a permission').waitFor();
  await page.locator(`#card-${made[2].id}`).getByText('Waits for an answer').waitFor();
  // The board shows the first of them and says how many more there are.
  const strip = page.getByRole('region', { name: 'Needs you' });
  const all = (await server.api('GET', '/api/inbox')).items.length;
  assert.equal(await strip.locator('li:visible').count(), 4);
  await strip.getByRole('link', { name: `and ${all - 4} more`, exact: true }).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await strip.locator('li:visible').count(), 2);
  await strip.getByRole('link', { name: `and ${all - 2} more`, exact: true }).waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${server.url}/inbox`);
  // One alone, with what the tool would do.
  await page.getByRole('button', { name: /Publishes one/ }).click();
  await page.getByRole('region', { name: 'Publishes one' }).getByText('npm publish --access public').first().waitFor();
  for (const task of made) await page.getByLabel(`Select: ${task.title}`).check();
  await page.getByRole('button', { name: 'Permit 2' }).click();
  await until('both may', async () => (await waiting()).every((item) => item.kind !== 'permission'));
  await page.getByLabel('harbour', { exact: true }).check();
  await page.getByRole('button', { name: 'Answer 2 alike' }).click();
  await until('both are answered', async () => (await waiting()).every((item) => item.kind !== 'question'));
  await page.getByRole('button', { name: 'Approve 2' }).click();
  await until('both are approved', async () => (await waiting()).length === 0);
  for (const task of made.slice(0, 2)) {
    const { items } = await server.api('GET', `/api/tasks/${task.id}/permissions`);
    assert.equal(items[0].status, 'permitted');
  }
  fine();
  await context.close();
});

test('a rule answers such calls from now on, after it was tried, and is taken back', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Publishes by rule', 'careful');
  const answered = async () => (await server.api('GET', `/api/tasks/${task.id}/permissions`)).items[0];
  await until('it asks', answered);
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByText('Answer such calls by a rule').click();
  await page.getByLabel('Bash.command').fill('npm publish*');
  await page.getByLabel('Bash.description').fill('');
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByText(/Of \d+ calls so far it would have answered [1-9]/).waitFor();
  assert.equal((await answered()).status, 'pending');
  await page.getByRole('button', { name: 'Always permit' }).click();
  await until('the rule answered', async () => (await answered()).status === 'permitted');
  await page.goto(`${server.url}/fleet`);
  await page.getByText('Bash command=npm publish*').waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Bash command=npm publish*').waitFor({ state: 'hidden' });
  assert.deepEqual((await server.api('GET', '/api/permission-rules')).items, []);
  fine();
  await context.close();
});

test('what a task cost is on its card and its page; the fleet plots it by day and by task', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Costs something', 'talking');
  await server.reaches(task.id, 'review');
  // What a turn cost is said at its end: before the client is stopped for the review, or when it goes on.
  if (!((await server.task(task.id)).costUsd > 0)) await server.api('POST', `/api/tasks/${task.id}/request-changes`, { feedback: 'Go on.' });
  await until('money is told', async () => (await server.task(task.id)).costUsd > 0);
  const { page, context, fine } = await visit(chromium, server);
  await page.locator(`#card-${task.id}`).getByText(/\$0\.87/).waitFor();
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.getByRole('region', { name: 'Agent' }).getByText('$0.87').waitFor();
  await page.goto(`${server.url}/fleet`);
  const days = page.getByRole('figure', { name: 'Spend per day' }).locator('li');
  await until('the days are plotted', async () => (await days.count()) === 14);
  assert.match(await days.last().getAttribute('title'), /\$\d+\.\d\d · .* tokens/);
  await page.getByRole('link', { name: 'Costs something' }).last().waitFor();
  fine();
  await context.close();
});

test('the conversation folds tools and shows changes as diffs', { timeout: 60_000 }, async () => {
  const task = await server.newTask('Talks in records', 'talking', { description: 'One picture first.' });
  await server.reaches(task.id, 'review');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}/conversation`);
  await page.getByText('I look at the page of a trail first.').waitFor();
  const said = await page.locator('ol.talk > li').allInnerTexts();
  assert.match(said[0], /One picture first\./);
  const edit = page.locator('details.tool', { hasText: 'Edit' });
  assert.match(await edit.innerText(), /src\/trail\.ts/);
  assert.equal(await edit.locator('table').count(), 0);
  await edit.locator('summary').click();
  await edit.locator('tr.removed', { hasText: 'const first = 4;' }).waitFor();
  await edit.locator('tr.added mark', { hasText: '1' }).waitFor();
  // What comes later moves no fold and no scroll.
  await page.evaluate(() => scrollTo(0, 120));
  const top = await page.evaluate(() => scrollY);
  const { items } = await server.api('GET', `/api/tasks/${task.id}/reviews`);
  await server.api('POST', `/api/reviews/${items[0].id}/request-changes`, { feedback: 'Two pictures, please.' });
  await page.locator('li.user', { hasText: 'Two pictures, please.' }).waitFor();
  assert.equal(await page.evaluate(() => scrollY), top);
  assert.equal(await edit.locator('table').count(), 1);
  // The records themselves are no reading: the first page shows the words too.
  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.locator('.talk').getByText('I look at the page of a trail first.').waitFor();
  fine();
  await context.close();
});

test('phases have their times, and the terminal jumps to one', { timeout: 60_000 }, async () => {
  const task = await server.newTask('In two phases', 'phased');
  await server.reaches(task.id, 'review');
  await server.api('POST', `/api/tasks/${task.id}/approve`);
  await until('the second phase is reviewed', async () => {
    const now = await server.task(task.id);
    return now.status === 'review' && now.currentPhase === 2;
  });
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  const phases = page.getByRole('region', { name: 'Phases' });
  await phases.getByText(/took \d+ s/).waitFor();
  await phases.getByText(/for \d+ s/).waitFor();
  // Steps have theirs, by what the agent told.
  for (const name of ['Read the brief', 'Write the plan']) await phases.locator('li.done', { hasText: name }).getByText(/^\d+ s$/).waitFor();
  const log = page.locator('[role=log]');
  await log.getByText('The end of phase two.').waitFor();
  await page.getByLabel('Go to phase').selectOption({ label: 'Phase 1 Plan' });
  await log.getByText('Starting Phase 1: Plan').waitFor();
  await page.getByLabel('Go to phase').selectOption({ label: 'Phase 2 Build' });
  await log.getByText('Starting Phase 2: Build').waitFor();
  fine();
  await context.close();
});

test('a gap older than what the server keeps is read anew', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  await page.locator('.card').first().waitFor();
  let refused = 0;
  // The line breaks, and then the server no longer has what was missed.
  await page.route('**/api/events', (route) => {
    if (refused++) return route.continue();
    return route.fulfill({ status: 410, contentType: 'application/json', body: JSON.stringify({ error: { code: 'events_gone', message: 'gone', hint: '', oldest: 99 } }) });
  });
  await server.restart('SIGKILL');
  const missed = await server.newTask('Made in the gap', 'busy', { submit: false });
  await page.locator(`#card-${missed.id}`).waitFor({ timeout: 30_000 });
  await page.getByText('Live', { exact: true }).waitFor();
  assert.ok(refused > 1, `the stream was asked for ${refused} times`);
  fine();
  await context.close();
});

test('a thousand tasks: found, walked through by keys, and the order stays', { timeout: 120_000 }, async () => {
  for (let made = 0; made < TASKS; made += 25) {
    await Promise.all(Array.from({ length: 25 }, (_, at) => server.newTask(`Stone ${made + at}`, 'busy', { submit: false, label: `wall-${at % 5}` })));
  }
  const { page, context, fine } = await visit(chromium, server);
  const draft = page.getByRole('region', { name: 'Draft' });
  await draft.locator('.card').first().waitFor();
  assert.ok((await page.locator('.card').count()) < 400, 'all cards are on the page at once');
  const order = () => draft.locator('.card').evaluateAll((cards) => cards.slice(0, 30).map((card) => card.id));
  const first = await order();
  const moved = first[10].slice('card-'.length);
  await server.api('POST', `/api/tasks/${moved}/submit`);
  await until('it left its column', async () => !(await order()).includes(`card-${moved}`));
  assert.deepEqual((await order()).slice(0, 29), first.filter((id) => id !== `card-${moved}`));
  for (let step = 0; step < 45; step++) await page.keyboard.press('j');
  assert.match(await page.evaluate(() => document.activeElement?.id), /^card-/);
  await page.keyboard.press('/');
  await page.keyboard.type('stone 777');
  // Its number may stand in the id of another as well.
  await until('few are left', async () => (await page.locator('.card').count()) < 20);
  await page.getByRole('link', { name: /Stone 777/ }).waitFor();
  await page.getByLabel('Search tasks').fill('');
  await page.getByRole('button', { name: 'Needs you', exact: true }).click();
  await until('only what waits', async () => (await page.locator('.card:not(.waits)').count()) === 0);
  fine();
  await context.close();
});

test('a thousand nodes: titles, no implied edges, chains folded, places kept', { timeout: 90_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items[0].id}/orchestrate`);
  const graph = page.getByRole('group', { name: 'Graph of the tasks' });
  await graph.locator('.node').first().waitFor({ timeout: 30_000 });
  // Ninety-nine joints aside every chain is one node.
  const folded = await graph.locator('.node').count();
  assert.ok(folded < 250, `${folded} nodes are drawn`);
  await page.getByText(`${TASKS} tasks, 933 dependencies`).waitFor();
  await page.getByLabel('Fold chains').uncheck();
  await until('all nodes', async () => (await graph.locator('.node').count()) === TASKS, 40_000);
  const node = graph.locator('[data-node="T1.2"]');
  assert.match(await node.innerHTML(), /구간 2/);
  const place = await node.getAttribute('transform');
  bowline(server.coast, ['orchestrate', 'complete', 'T1.1']);
  await graph.locator('.node.completed').first().waitFor({ timeout: 20_000 });
  assert.equal(await node.getAttribute('transform'), place);
  await node.click();
  await page.getByRole('heading', { name: /T1\.2 구간 2 of the coast/ }).waitFor();
  fine();
  await context.close();
});

test('what an agent of an orchestration printed is a click away', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  const pier = items.find(({ name }) => name === 'pier');
  await page.goto(`${server.url}/workspaces/${pier.id}/orchestrate`);
  const node = (id) => page.getByRole('group', { name: 'Graph of the tasks' }).locator(`[data-node="${id}"]`);
  const log = page.locator('[role=log]');
  await node('T1.2').click();
  await log.getByText('I lay <b>T1.2</b>').waitFor();
  await node('T1.1').click();
  await log.getByText('I lay <b>T1.1</b>').waitFor();
  assert.equal(await log.getByText('T1.2').count(), 0, 'the words of another task');
  fine();
  await context.close();
});

test('steps of a memory are moved in the page, with the words a failure needs, and its history plots them', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server, { lang: 'ko-KR' });
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items[0].id}/memory`);
  const command = (line) => page.locator('footer li', { hasText: line });
  await command('memory step start 1').locator('[data-verb]').click();
  await command('memory step fail 1').locator('[data-verb]').click();
  await command('memory step fail 1').getByLabel('이유').fill('비가 왔습니다');
  await command('memory step fail 1').locator('form button').click();
  await page.getByText('비가 왔습니다').first().waitFor();
  await command('memory step start 1').locator('[data-verb]').click();
  await command('memory step complete 1').locator('[data-verb]').click();
  await command('memory task finish').locator('[data-verb]').click();
  await page.getByRole('heading', { name: '걸린 시간' }).waitFor();
  // What moved is told in the reader's language.
  await page.locator('summary', { hasText: '이력' }).click();
  await page.getByText('단계 실패').first().waitFor();
  assert.doesNotMatch(await page.locator('.history').innerText(), /step_|in_progress|pending/i);
  fine();
  await context.close();
});

test('a state file that cannot be read says why, and hides no other', { timeout: 60_000 }, async () => {
  const pier = path.join(home, 'pier');
  const { items } = await server.api('GET', '/api/workspaces');
  const { page, context, fine } = await visit(chromium, server);
  fs.writeFileSync(path.join(pier, 'thinking_state.json'), '{ "task_id": ');
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'pier').id}/thinking`);
  await page.getByText(/thinking_state\.json is damaged/).first().waitFor();
  await page.locator('footer li', { hasText: 'doctor --repair' }).waitFor();
  fs.rmSync(path.join(pier, 'thinking_state.json'));
  fine();
  await context.close();
});

test('work is begun in a workspace that has none, goes back to an earlier version, and is repaired', { timeout: 60_000 }, async () => {
  const cove = path.join(home, 'cove');
  const { page, context, fine } = await visit(chromium, server);
  await page.goto(`${server.url}/workspaces`);
  await page.getByRole('link', { name: 'cove' }).click();
  const dialog = page.getByRole('dialog');
  const fill = async (fields) => {
    for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(value);
    await dialog.locator('form').getByRole('button').last().click();
    await dialog.waitFor({ state: 'hidden' });
  };
  await page.getByRole('button', { name: 'Thinking: New run…' }).click();
  await fill({ 'Task id': 'tide', Goal: 'Know the tide', 'Folder, from the workspace': 'runs/tide' });
  await page.getByText('Know the tide').waitFor();
  await page.locator('footer li', { hasText: 'thinking start planning' }).getByRole('button').click();
  const panel = page.locator('.panel', { hasText: 'runs/tide/thinking_state.json' }).first();
  await panel.locator('header').getByText('In progress').waitFor();
  await page.locator('summary', { hasText: 'History' }).click();
  await page.locator('.history li').last().locator('[data-verb=restore]').click();
  await fill({});
  await panel.locator('header').getByText('Pending').waitFor();
  // Half a document: what was acknowledged comes back by one button.
  const file = path.join(cove, 'runs/tide/thinking_state.json');
  fs.writeFileSync(file, '{ "task_id": ');
  await page.locator('footer li', { hasText: 'doctor --repair' }).locator('[data-verb=repair]').click();
  await page.getByText('Know the tide').waitFor();
  assert.equal(JSON.parse(fs.readFileSync(file, 'utf8')).task_id, 'tide');
  await page.locator('summary', { hasText: 'Begin' }).click();
  await page.getByRole('button', { name: 'Orchestrate: Start from the plan' }).click();
  await page.getByRole('heading', { name: 'cove' }).nth(1).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Orchestrate: Start from the plan' }).count(), 0);
  fine();
  await context.close();
});

test('agents work an orchestration off that was started in the page', { timeout: 60_000 }, async () => {
  const cove = path.join(home, 'cove');
  fs.writeFileSync(path.join(cove, 'bowline.toml'), '[defaults]\nagent = "script"\n[agent.script]\ncommand = ["sh", "-c", "echo I carry sand; test -e done || sleep 300"]\n');
  if (!fs.existsSync(path.join(cove, '.claude/orchestrate-state.json'))) bowline(cove, ['orchestrate', 'init']);
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'cove').id}/orchestrate`);
  const run = async () => {
    await page.locator('[data-verb=run]').first().click();
    await page.getByRole('dialog').locator('pre', { hasText: 'bowline orchestrate run' }).waitFor();
    await page.getByRole('dialog').locator('form').getByRole('button').last().click();
  };
  const more = page.locator('details.more > summary');
  if (!(await page.locator('[data-verb=run]').first().isVisible())) await more.click();
  await run();
  // It is reached as one from the command line is.
  await page.locator('[data-verb=pause]').waitFor({ state: 'attached' });
  await until('the agent is at work', () => bowline(cove, ['orchestrate', 'status']).includes('T1.1'));
  fs.writeFileSync(path.join(cove, 'done'), '');
  bowline(cove, ['orchestrate', 'stop']);
  await page.locator('[data-verb=run]').first().waitFor({ state: 'attached' });
  if (!(await page.locator('[data-verb=run]').first().isVisible())) await more.click();
  await run();
  await page.getByText('1 of 1').first().waitFor();
  fine();
  await context.close();
});

test('a memory is worked off by agents that were started and stopped in the page', { timeout: 60_000 }, async () => {
  const dune = path.join(home, 'dune');
  const steps = () => JSON.parse(fs.readFileSync(path.join(dune, '.claude/memory/task-state.json'), 'utf8')).current_task.plan.steps.map(({ status }) => status);
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'dune').id}/memory`);
  const press = async (verb) => {
    const button = page.locator(`[data-verb=${verb}]:not([aria-disabled=true])`).first();
    await button.waitFor({ state: 'attached' });
    if (!(await button.isVisible())) await page.locator('details.more > summary').first().click();
    await button.click();
    await page.getByRole('dialog').locator('form').getByRole('button').last().click();
  };
  await press('run');
  await until('an agent is at work', () => steps().includes('in_progress'));
  await press('stop');
  await page.locator('[data-verb=run]').first().waitFor({ state: 'attached' });
  fs.writeFileSync(path.join(dune, 'done'), '');
  await press('run');
  await until('both steps are done', () => steps().every((status) => status === 'completed'));
  fine();
  await context.close();
});

test('a memory is begun with its goal, written, backed up and brought back in the page', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  const cove = items.find(({ name }) => name === 'cove').id;
  await page.goto(`${server.url}/workspaces/${cove}`);
  const dialog = page.getByRole('dialog');
  const fill = async (fields) => {
    for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(value);
    await dialog.locator('form').getByRole('button').last().click();
    await dialog.waitFor({ state: 'hidden' });
  };
  await page.locator('summary', { hasText: 'Begin' }).click();
  await page.getByRole('button', { name: 'Memory: New task…' }).click();
  await fill({ Name: 'Count shells', Goal: 'A number' });
  await page.getByText('A number').waitFor();
  const panel = (name) => page.locator('section.panel', { hasText: `memory/${name}` });
  const more = async (name) => panel(name).locator('details.more > summary').click();
  await more('shared-context.json');
  await panel('shared-context.json').locator('[data-verb=set]').click();
  await fill({ Path: 'shared_data.shells', Value: '42' });
  await panel('shared-context.json').getByText('42', { exact: true }).waitFor();
  await more('task-state.json');
  await panel('task-state.json').locator('[data-verb=backup]').click();
  await page.getByText(/backup\/task-state-/).first().waitFor();
  await panel('task-state.json').locator('[data-verb=cancel]').click();
  await fill({});
  await page.getByText('No current task', { exact: true }).waitFor();
  await panel('task-state.json').locator('[data-verb=restore-copy]').first().click();
  await fill({});
  await page.getByRole('heading', { name: 'Count shells' }).waitFor();
  fine();
  await context.close();
});

test('one gesture is one move, and what cannot be had back is asked about first', { timeout: 60_000 }, async () => {
  const cove = path.join(home, 'cove');
  bowline(cove, ['memory', 'task', 'new', 'Count', '--goal', 'A number']);
  for (const name of ['Sort', 'Weigh']) bowline(cove, ['memory', 'step', 'add', `name=${name}`]);
  bowline(cove, ['memory', 'task', 'new', 'Count, again', '--goal', 'Another number']);
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'cove').id}/memory`);
  const asked = [];
  page.on('request', (request) => request.method() === 'POST' && asked.push(request.url().split('/').at(-1)));
  const twice = async (button, pause) => {
    await button.click({ trial: true });
    const { x, y, width, height } = await button.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    for (const clickCount of [1, 2]) {
      await page.mouse.down({ clickCount });
      await page.mouse.up({ clickCount });
      await page.waitForTimeout(pause);
    }
    // Nothing may be pressed until it has been seen.
    await page.locator('main [data-verb][aria-disabled=false]').first().waitFor({ state: 'attached' });
  };
  const command = (line) => page.locator('footer li', { hasText: line }).locator('[data-verb]');
  await twice(command('memory step start 1'), 80);
  await command('memory step complete 1').waitFor();
  await twice(command('memory step complete 1'), 200);
  assert.deepEqual(asked, ['step-start', 'step-complete']);
  // The other half of the click does not press what the first half has opened.
  const panel = page.locator('section.panel', { hasText: 'memory/task-state.json' });
  await panel.locator('details.more > summary').click();
  await twice(panel.locator('[data-verb=finish]'), 80);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Steps that are not done stay undone').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await panel.locator('.queue').getByText(/Count, again/).waitFor();
  await panel.getByRole('button', { name: 'Count, again' }).or(panel.locator('[data-verb=task-drop]')).first().click();
  await dialog.getByText('The task leaves the queue.').waitFor();
  assert.deepEqual(asked, ['step-start', 'step-complete']);
  await dialog.locator('form').getByRole('button').last().click();
  await until('the queue is empty', async () => (await panel.locator('.queue').count()) === 0);
  // What somebody else did to the file is told.
  const file = path.join(cove, '.claude/memory/task-state.json');
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"Weigh"', '"Weigh all"'));
  await panel.locator('.findings').getByText('changed outside Bowline').waitFor({ state: 'attached' });
  fine();
  await context.close();
});

test('work that was kept of a worktree becomes a branch, or is dropped, in the page', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  const kept = quay('rev-parse', 'HEAD').trim();
  quay('update-ref', `refs/bowline/rescue/T9.9-${kept.slice(0, 12)}`, kept);
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'quay').id}/orchestrate`);
  await page.locator('summary', { hasText: 'Work kept of worktrees' }).click();
  const row = page.locator('.rescued li', { hasText: 'T9.9' });
  await row.getByRole('button', { name: 'Make a branch of it: Add words' }).click();
  await row.getByRole('textbox', { name: 'Branch' }).fill('kept');
  await row.locator('form').getByRole('button').last().click();
  await until('there is a branch', () => quay('branch', '--list', 'kept').trim());
  await row.locator('[data-verb=rescue-drop]').click();
  await row.locator('form').getByRole('button').last().click();
  await page.getByText('Nothing was kept.').waitFor();
  fine();
  await context.close();
});

test('the evidence of a gate is shown with what was run', { timeout: 60_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items[0].id}/develop`);
  const evidence = page.locator('details.evidence', { hasText: 'review_clean_pass' });
  await evidence.locator('summary').click();
  await evidence.getByText('echo looked at').waitFor();
  await evidence.getByText('exit code 0').waitFor();
  fine();
  await context.close();
});

test('a gate is passed in the page by its sealed command, which is shown; a red one is told as a sentence', { timeout: 60_000 }, async () => {
  const folder = path.join(home, 'quay');
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'quay').id}/develop`);
  const gate = page.locator('li', { has: page.locator('.gate', { hasText: 'review_clean_pass' }) });
  await gate.locator('[data-verb=gate-pass]').click();
  await gate.locator('pre', { hasText: 'sh check.sh' }).waitFor();
  await gate.locator('form').getByRole('button', { name: 'Pass' }).click();
  await gate.getByRole('alert').getByText("gate 'review_clean_pass' stays closed: its command ended with code 3").waitFor();
  await gate.locator('form pre', { hasText: 'the quay is not clean' }).waitFor();
  await page.keyboard.press('Escape');
  const evidence = page.locator('details.evidence').first();
  await evidence.locator('summary').click();
  await evidence.getByText('the quay is not clean').waitFor();
  await gate.getByText('closed').waitFor();
  fs.writeFileSync(path.join(folder, 'clean.txt'), '');
  await gate.locator('[data-verb=gate-pass]').click();
  await gate.locator('form').getByRole('button', { name: 'Pass' }).click();
  await gate.locator('.gate.open').waitFor();
  // From here on by buttons alone: the phase, a checkpoint that is red once, and one that a person calls good.
  await page.locator('footer li', { hasText: 'develop implement' }).getByRole('button').click();
  const checkpoint = page.locator('li', { has: page.locator('span.mono', { hasText: /^stones$/ }) }).first();
  await checkpoint.locator('[data-verb=checkpoint-start]').click();
  await checkpoint.getByRole('button', { name: 'Pass: Add words' }).click();
  await checkpoint.getByLabel('Command that must end with 0').fill('exit 7');
  await checkpoint.locator('form').getByRole('button', { name: 'Pass' }).click();
  await page.getByText('The command ended with exit code 7').waitFor();
  await checkpoint.getByText('try 2/3').waitFor();
  await checkpoint.locator('[data-verb=checkpoint-pass]').click();
  await checkpoint.getByText('Passed').waitFor();
  fine();
  await context.close();
});

test('a phase that people worked off is finished in the page: its work lands', { timeout: 90_000 }, async () => {
  const { page, context, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', '/api/workspaces');
  await page.goto(`${server.url}/workspaces/${items.find(({ name }) => name === 'quay').id}/orchestrate`);
  const command = (line) => page.locator('footer li', { hasText: line });
  await command('orchestrate start T1.1').getByRole('button').click();
  await command('orchestrate complete T1.1').getByRole('button').waitFor();
  // The place of the phase was made, as on the command line.
  const place = /^worktree (\S+)$/gm;
  const worktree = await until('there is a worktree', () => [...quay('worktree', 'list', '--porcelain').matchAll(place)].map(([, one]) => one).find((one) => one !== path.join(home, 'quay')));
  fs.writeFileSync(path.join(worktree, 'wall.txt'), 'stones\n');
  quay('-C', worktree, 'add', '.');
  quay('-C', worktree, 'commit', '--quiet', '-m', 'wall');
  await command('orchestrate complete T1.1').getByRole('button').click();
  await command('orchestrate phase finish 1').getByRole('button').click();
  await command('orchestrate start T2.1').waitFor();
  assert.match(quay('ls-tree', '--name-only', 'main'), /^wall\.txt$/m);
  fine();
  await context.close();
});
