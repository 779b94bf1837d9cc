/** Whether the page of a decision shows every value of a tool's input. */
import assert from 'node:assert/strict';
import { leavesOf } from '../random.mjs';
import { until } from './world.mjs';

/** Names of invisible characters as the characters they stand for. */
const decode = (text) => text.replace(/⟨U\+([0-9A-F]{4,6})⟩/g, (_, digits) => String.fromCodePoint(parseInt(digits, 16)));

/** Opens the decision of a task and compares its fields with the input that waits. */
export async function assertShownWhole(page, server, task, input) {
  await page.goto(`${server.url}/tasks/${task}`);
  const permit = page.getByRole('button', { name: 'Permit', exact: true }).first();
  await permit.waitFor();
  await assertFieldsShown(page, input);
  return permit;
}

/** Every value of an input is on the page, once, and nothing is cut. */
export async function assertFieldsShown(page, input) {
  const wanted = leavesOf(input).map(String).filter((text) => text !== '');
  const shown = async () => (await page.locator('dl.fields pre').allTextContents()).map(decode);
  await until('the input is shown', async () => (await shown()).length >= wanted.length);
  const left = await shown();
  for (const text of wanted) {
    const at = left.indexOf(text);
    assert.ok(at >= 0, `${JSON.stringify(text.slice(0, 300))} is not among ${JSON.stringify(left).slice(0, 2000)}`);
    left.splice(at, 1);
  }
  assert.equal(await page.getByText('is too long to be shown').count(), 0);
}
