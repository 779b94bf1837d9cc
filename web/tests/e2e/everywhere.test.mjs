/** Every page and view, with everything on it opened, for whoever sees, hears or types it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gallery } from './gallery.mjs';
import { browser, quiet, serious, visit } from './world.mjs';

let shown;
let chromium;

before(async () => {
  shown = await gallery();
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  await shown?.close();
});

const unfold = (page) => page.evaluate(() => document.querySelectorAll('main details:not([open]) > summary').forEach((one) => one.click()));

test('axe finds nothing serious, on every page and view, in both themes and languages, wide and narrow', { timeout: 400_000 }, async () => {
  const { server } = shown;
  const found = [];
  for (const [lang, theme, width] of [['en-US', 'light', 1280], ['ko-KR', 'dark', 1280], ['ko-KR', 'light', 360], ['en-US', 'dark', 360]]) {
    const { page, context, fine } = await visit(chromium, server, { lang, theme, width });
    const look = async (where) => {
      for (const one of await serious(page)) found.push(`${theme} ${width} ${where}: ${one}`);
    };
    for (const address of [...Object.values(shown.pages), ...shown.others]) {
      await page.goto(server.url + address);
      await page.locator('main h1, main h2').first().waitFor();
      if (address === '/capsule') await page.locator('input[type=file]').setInputFiles(shown.capsule);
      if (address.endsWith('/orchestrate')) await page.locator('[data-node="T1.3"]').click({ force: true });
      await quiet(page);
      await unfold(page);
      await look(address);
      const asks = page.locator('main [data-verb][aria-haspopup]').last();
      if (await asks.count()) {
        await asks.click();
        await page.getByRole('dialog').waitFor();
        await look(`${address}, asked for words`);
      }
    }
    await page.goto(server.url);
    await page.locator('main h1').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await look('help');
    await page.goto(server.url + shown.pages.task);
    await page.locator('[data-action=cancel]').click();
    await page.getByRole('dialog').waitFor();
    await look('a question before a grave action');
    await context.clearCookies();
    await page.goto(`${server.url}/signin`);
    await page.getByLabel(/^(Token|토큰)$/).waitFor();
    await look('sign in');
    fine();
    await context.close();
  }
  assert.deepEqual(found, []);
});

test('the tools of the terminal stand in two rows at most on a phone', { timeout: 60_000 }, async () => {
  for (const lang of ['en-US', 'ko-KR']) {
    const { page, context, fine } = await visit(chromium, shown.server, { lang, width: 360 });
    await page.goto(shown.server.url + shown.pages.task);
    await page.locator('.tools .count').waitFor();
    const rows = await page.locator('.tools > *').evaluateAll((all) => new Set(all.map((one) => Math.round((one.getBoundingClientRect().top + one.getBoundingClientRect().bottom) / 8))).size);
    assert.ok(rows <= 2, `${rows} rows in ${lang}`);
    fine();
    await context.close();
  }
});
