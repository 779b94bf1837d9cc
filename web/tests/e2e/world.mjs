/** A real server with scripted agents in a folder of its own, and a real browser that looks at it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const START_MS_MAX = 30_000;
const WAIT_MS_MAX = 20_000;

/** A condition that comes true within the bound, or a failure that says which did not. */
export async function until(what, condition, bound = WAIT_MS_MAX) {
  const end = Date.now() + bound;
  for (;;) {
    const value = await condition();
    if (value) return value;
    assert.ok(Date.now() < end, `not within ${bound} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function needed(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set; run this through 'cargo xtask web --test'`);
  return value;
}

export class Server {
  constructor(scenarios, options = {}) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bowline-web-'));
    this.data = path.join(this.folder, 'data');
    this.workspaces = options.workspaces ?? [];
    this.port = 0;
    this.home = options.home ?? this.folder;
    this.slots = options.slots ?? 4;
    const bowline = needed('BOWLINE');
    const agents = Object.entries(scenarios).map(([name, text]) => {
      const file = path.join(this.folder, `${name}.toml`);
      fs.writeFileSync(file, text);
      const command = JSON.stringify([bowline, 'scripted', file]);
      const protocol = /^protocol = "(.+)"$/m.exec(text)?.[1] ?? 'markers';
      return `[agent.${name}]\ncommand = ${command}\nprotocol = "${protocol}"\n`;
    });
    const phases = (options.phases ?? ['Plan', 'Build']).map(
      (name) => `[[type.story.phases]]\nname = "${name}"\ndeliverables = ["docs/*.md"]\nmin_chars = 0\nplaceholders = false\n`,
    );
    const apps = Object.entries(options.apps ?? {}).map(
      ([name, command]) => `[type.${name}]\napp = ${JSON.stringify(command)}\n${phases.join('\n').replaceAll('type.story', `type.${name}`)}`,
    );
    this.config = path.join(this.folder, 'bowline.toml');
    fs.writeFileSync(this.config, `[defaults]\nagent = "${Object.keys(scenarios)[0]}"\n\n${agents.join('\n')}\n${phases.join('\n')}\n${apps.join('\n')}`);
  }

  async start() {
    const args = ['serve', '--listen', `127.0.0.1:${this.port}`, '--data', this.data, '--config', this.config];
    args.push('--slots', String(this.slots));
    for (const folder of this.workspaces) args.push('--workspace', folder);
    const env = { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8', BOWLINE_ACTOR: 'person' };
    this.process = spawn(needed('BOWLINE'), args, { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.said = '';
    this.process.stdout.on('data', (text) => (this.said += text));
    this.process.stderr.on('data', (text) => (this.said += text));
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.ended = ended;
    const found = await until(
      `the server listens: ${args.join(' ')}`,
      () => {
        assert.equal(this.process.exitCode, null, `the server ended:\n${this.said}`);
        return /listening on (http:\/\/\S+)/.exec(this.said);
      },
      START_MS_MAX,
    );
    this.url = found[1];
    this.port = Number(new URL(this.url).port);
    this.token = fs.readFileSync(path.join(this.data, 'token'), 'utf8').trim();
  }

  /** The one-time link, as a person reads it from the terminal. */
  async link() {
    const found = await until('the sign-in link', () => /(http:\/\/\S+\/(?:sign-?in|in|login)\S*)/i.exec(this.said));
    return found[1];
  }

  async stop(signal = 'SIGTERM') {
    if (!this.process || this.process.exitCode !== null) return;
    this.process.kill(signal);
    await this.ended;
  }

  async restart(signal) {
    await this.stop(signal);
    await this.start();
  }

  async api(method, address, body) {
    const response = await fetch(this.url + address, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      body: body ? JSON.stringify(body) : undefined,
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${address}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  async newTask(title, agent, more = {}) {
    return this.api('POST', '/api/tasks', { title, type: 'story', description: 'A story for the tests of the page.', agent, submit: true, ...more });
  }

  task(id) {
    return this.api('GET', `/api/tasks/${id}`);
  }

  async reaches(id, status, bound) {
    return until(`${id} is ${status}`, async () => ((await this.task(id)).status === status ? true : null), bound);
  }

  /** Ends every agent that was started, then the server, then the folder. */
  async close() {
    try {
      if (this.process?.exitCode === null) {
        const ended = new Set();
        // Whoever waits for a place takes that of one who is given up; whoever is under review is sent back first.
        await until('no task is open', async () => {
          let open = 0;
          for (const status of ['pending', 'review', 'in_progress']) {
            const { items } = await this.api('GET', `/api/tasks?status=${status}&limit=1000`);
            open += items.length;
            for (const { id } of items) {
              ended.add(id);
              if (status === 'review') await this.api('POST', `/api/tasks/${id}/request-changes`, { feedback: 'Enough.' }).catch(() => null);
              await this.api('POST', `/api/tasks/${id}/cancel`).catch(() => null);
            }
          }
          return open === 0;
        });
        // Whoever is still ending writes into the folder.
        for (const id of ended) await until(`the agent of ${id} ends`, async () => !(await this.task(id)).agentState.alive);
      }
    } finally {
      await this.stop();
      fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
  }
}

export async function browser() {
  return chromium.launch({ executablePath: executable(), args: ['--no-sandbox', '--disable-dev-shm-usage', '--no-proxy-server'] });
}

function executable() {
  const named = needed('BOWLINE_CHROMIUM');
  if (named.includes('/')) return named;
  const folders = (process.env.PATH ?? '').split(':');
  const found = folders.map((folder) => path.join(folder, named)).find((file) => fs.existsSync(file));
  assert.ok(found, `${named} is not in PATH`);
  return found;
}

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds serious on a page by WCAG 2.2 AA, and whether it scrolls sideways. */
export async function serious(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
  const found = violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary ?? ''}`);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return over > 0 ? [...found, `${over} px too wide`] : found;
}

/** A page that is signed in, in which nothing from elsewhere, no refused script and no error goes unnoticed. */
export async function visit(browserOpen, server, { lang = 'en-US', theme = 'light', width = 1280, height = 900, token = false } = {}) {
  const context = await browserOpen.newContext({ locale: lang, colorScheme: theme, viewport: { width, height } });
  const page = await context.newPage();
  const odd = [];
  page.on('pageerror', (error) => odd.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    odd.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) odd.push(message.text());
  });
  // What the server has said is not there, or would have said, is not asked for.
  page.on('response', (answer) => answer.status() === 404 && odd.push(`not there: ${answer.url()}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith('data:') && !url.startsWith('blob:')) odd.push(`elsewhere: ${url}`);
  });
  if (token) {
    await page.goto(server.url);
    await page.getByLabel(/^(Token|토큰)$/).fill(server.token);
    await page.getByRole('button', { name: /^(Sign in|로그인)$/ }).click();
  } else {
    const { url } = await server.api('POST', '/api/sign-in-links');
    await page.goto(new URL(new URL(url).pathname + new URL(url).search, server.url).href);
  }
  await page.locator('nav').first().waitFor();
  return { page, context, odd, fine: () => assert.deepEqual(odd, []) };
}

/** Until nothing on the page has changed for a moment; clocks tick on and do not count. */
export function quiet(page) {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        let timer = setTimeout(resolve, 400);
        new MutationObserver((changes) => {
          if (changes.every(({ target }) => (target.parentElement ?? target).closest?.('time, .card'))) return;
          clearTimeout(timer);
          timer = setTimeout(resolve, 400);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
      }),
  );
}
