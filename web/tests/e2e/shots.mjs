/** Pictures of every page in both languages and themes, into docs/screenshots. */
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gallery } from './gallery.mjs';
import { browser, quiet, visit } from './world.mjs';

const folder = process.env.BOWLINE_PICTURES ?? path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../docs/screenshots');
const QUALITY = 82;

const shown = await gallery();
const chromium = await browser();

async function picture(page, name) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  fs.writeFileSync(path.join(folder, `${name}.webp`), Buffer.from(data, 'base64'));
  await session.detach();
}

fs.rmSync(folder, { recursive: true, force: true });
fs.mkdirSync(folder, { recursive: true });
try {
  for (const [lang, locale] of [['en', 'en-US'], ['ko', 'ko-KR']]) {
    for (const theme of ['light', 'dark']) {
      for (const [suffix, width, height] of [['', 1600, 1000], ['-narrow', 360, 740]]) {
        // The narrow ones once per language: day in English, night in Korean.
        if (suffix && (lang === 'en') === (theme === 'dark')) continue;
        const { page, context, fine } = await visit(chromium, shown.server, { lang: locale, theme, width, height });
        for (const [name, address] of Object.entries(shown.pages)) {
          await page.goto(shown.server.url + address);
          await page.locator('main h1').first().waitFor();
          if (name === 'capsule') await page.locator('input[type=file]').setInputFiles(shown.capsule);
          await quiet(page);
          await picture(page, `${name}-${lang}-${theme}${suffix}`);
        }
        fine();
        await context.close();
      }
    }
  }
  console.log(`pictures in ${path.relative(process.cwd(), folder)}: ${fs.readdirSync(folder).length}`);
} finally {
  await chromium.close();
  await shown.close();
}
