/** A request that the server has no room for is sent again when the server says so; what changes something has a key, so that it happens once. */

const TRIES_MAX = 3;
const WAIT_S_MAX = 10;

export async function fetchPatiently(
  request: Request,
  send: (request: Request) => Promise<Response> = fetch,
  sleep: (ms: number) => Promise<void> = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
): Promise<Response> {
  if (request.method !== 'GET' && !request.headers.has('Idempotency-Key')) {
    request.headers.set('Idempotency-Key', newKey());
  }
  // As text: of a clone the browser knows only a stream, which its tools cannot show.
  const body = request.method === 'GET' ? '' : await request.clone().text();
  const again = (): Request => (body ? new Request(request, { body }) : request.clone());
  let left = WAIT_S_MAX;
  for (let tries = 1; tries < TRIES_MAX; tries++) {
    const response = await send(again());
    const wait = response.status === 429 || response.status === 503 ? Number(response.headers.get('Retry-After') ?? NaN) : NaN;
    if (!(wait >= 0 && wait <= left)) return response;
    left -= wait;
    await sleep(wait * 1000);
  }
  return send(again());
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
