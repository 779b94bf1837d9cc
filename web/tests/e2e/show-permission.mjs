/** Looks at the permission that a task of a running server waits for. Used by tests with the real clients: `URL TOKEN TASK`. */
import { assertShownWhole } from './permission-input.mjs';
import { browser, visit } from './world.mjs';

const [url, token, task] = process.argv.slice(2);
const server = {
  url,
  token,
  async api(method, address) {
    const response = await fetch(url + address, { method, headers: { Authorization: `Bearer ${token}` } });
    return response.json();
  },
};
const chromium = await browser();
try {
  const { page, fine } = await visit(chromium, server);
  const { items } = await server.api('GET', `/api/tasks/${task}/permissions`);
  const waiting = items.find((item) => item.status === 'pending');
  const permit = await assertShownWhole(page, server, task, waiting.input);
  await permit.scrollIntoViewIfNeeded();
  fine();
  console.log(`${waiting.tool}: shown whole`);
} finally {
  await chromium.close();
}
