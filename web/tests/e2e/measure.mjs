/** How fast the page is, beside its bounds; the figures go to docs/performance.md. */
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as scenarios from './scenarios.mjs';
import { browser, Server, until, visit } from './world.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const PAGE = path.resolve(here, '../../../docs/performance.md');
const BEGIN = '<!-- web: written by `cargo xtask web --measure` -->\n';
const END = '<!-- end of web -->';
const TASKS = 1000;
const ROUNDS = 15;

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const share = (list, part) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];

function bundle() {
  const assets = path.resolve(here, '../../dist');
  const files = fs.readdirSync(assets, { recursive: true }).filter((name) => name.endsWith('.gz'));
  return files.reduce((sum, name) => sum + fs.statSync(path.join(assets, name)).size, 0) / 1000;
}

async function firstPaint(chromium, server) {
  const paints = [];
  const cards = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { page, context } = await visit(chromium, server);
    await page.reload();
    await page.locator('.card').first().waitFor();
    const [paint, card] = await page.evaluate(() => [
      performance.getEntriesByName('first-contentful-paint')[0].startTime,
      performance.now(),
    ]);
    paints.push(paint);
    cards.push(card);
    await context.close();
  }
  return { paint: median(paints), paintMost: share(paints, 0.9), cards: median(cards) };
}

/** From the server's answer to a decision until the card stands in its new column. */
async function eventToScreen(chromium, server) {
  const { items } = await server.api('GET', `/api/tasks?status=draft&limit=${ROUNDS}`);
  const { page, context } = await visit(chromium, server);
  await page.locator('.card').first().waitFor();
  const times = [];
  for (const task of items) {
    const seen = page.evaluate(
      (id) =>
        new Promise((resolve) => {
          const look = () => {
            if (document.getElementById(`card-${id}`)?.closest('.pending')) resolve(Date.now());
            else requestAnimationFrame(look);
          };
          look();
        }),
      task.id,
    );
    await server.api('POST', `/api/tasks/${task.id}/submit`);
    const answered = Date.now();
    times.push(Math.max(0, (await seen) - answered));
  }
  await context.close();
  return { half: median(times), most: share(times, 0.9) };
}

async function flood(chromium, server) {
  const task = await server.newTask('Floods', 'flood');
  const { page, context } = await visit(chromium, server);
  await page.goto(`${server.url}/tasks/${task.id}`);
  await page.evaluate(() => {
    window.gaps = [];
    let last = performance.now();
    const frame = (now) => {
      window.gaps.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const begun = Date.now();
  await page.getByText(/1\d\d,\d\d\d lines/).waitFor({ timeout: 90_000 });
  const seconds = (Date.now() - begun) / 1000;
  const gaps = await page.evaluate(() => window.gaps);
  await context.close();
  return { seconds, half: median(gaps), most: share(gaps, 0.95), longest: Math.max(...gaps), perSecond: 100_000 / seconds };
}

const server = new Server({ flood: scenarios.flood, busy: scenarios.busy }, { slots: 1 });
await server.start();
const chromium = await browser();
try {
  for (let made = 0; made < TASKS; made += 20) {
    const batch = Array.from({ length: 20 }, (_, at) => server.newTask(`Task ${made + at}`, 'busy', { submit: false }));
    await Promise.all(batch);
  }
  const size = bundle();
  const paint = await firstPaint(chromium, server);
  const lines = await flood(chromium, server);
  // The one slot is taken by the flood, so what is submitted stays in the queue.
  await until('the flood runs', async () => (await server.api('GET', '/api/stats')).running === 1);
  const event = await eventToScreen(chromium, server);
  const rows = [
    ['all files of the page, gzipped', `${size.toFixed(0)} kB`, 'under 500 kB', size < 500],
    [`first paint with ${TASKS} tasks, median (90 %)`, `${paint.paint.toFixed(0)} ms (${paint.paintMost.toFixed(0)} ms)`, 'under 300 ms', paint.paint < 300],
    ['first cards on the screen, median', `${paint.cards.toFixed(0)} ms`, '', true],
    ['answer of the server to card in its new column, median (90 %)', `${event.half.toFixed(0)} ms (${event.most.toFixed(0)} ms)`, 'under 100 ms', event.half < 100],
    ['100,000 lines of output, until the last is on the screen', `${lines.seconds.toFixed(1)} s, ${Math.round(lines.perSecond).toLocaleString('en-US')} lines/s`, 'over 10,000 lines/s', lines.perSecond > 10_000],
    ['time between frames meanwhile, median (95 %, longest)', `${lines.half.toFixed(0)} ms (${lines.most.toFixed(0)} ms, ${lines.longest.toFixed(0)} ms)`, '95 % under 50 ms', lines.most < 50],
  ];
  const table = ['| what | found | bound | |', '|---|--:|--:|---|', ...rows.map(([what, found, bound, good]) => `| ${what} | ${found} | ${bound} | ${bound ? (good ? '**PASS**' : '**FAIL**') : ''} |`)].join('\n');
  console.log(table);
  const page = fs.readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const [, after] = (rest ?? '').split(END);
  if (rest === undefined || after === undefined) throw new Error(`${PAGE}: the marks for the figures are gone`);
  fs.writeFileSync(PAGE, `${before}${BEGIN}\n${table}\n\n${END}${after}`);
  if (rows.some(([, , , good]) => !good)) process.exitCode = 1;
} finally {
  await chromium.close();
  await server.close();
}
