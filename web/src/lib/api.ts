/** The server's answers, by name. Nothing here decides: it asks, and hands on what it is told. */
import createClient from 'openapi-fetch';
import type { paths } from './api.generated';
import { fetchPatiently } from './patient';
import { session } from './session.svelte';
import { settings, t } from './settings.svelte';
import type { EditTask, ForkRequest, NewPermissionRule, NewTask, Task, Trouble, WorkspaceKind } from './shapes';
import type { Move, Said } from './verbs';

export type Answer<T> = { ok: true; value: T } | { ok: false; trouble: Trouble };

const TASKS_PAGE = 1000;

const client = createClient<paths>({ fetch: (request) => fetchPatiently(request) });
client.use({
  onRequest({ request }) {
    request.headers.set('Accept-Language', settings.lang);
    return request;
  },
});

interface Fetched<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** An answer or the server's own words about why there is none; a server that is not there is said in ours. */
export async function told<T>(asked: Promise<Fetched<T>>): Promise<Answer<T>> {
  let fetched: Fetched<T>;
  try {
    fetched = await asked;
  } catch {
    const trouble = { status: 0, code: 'unreachable', message: t('unreachable'), hint: t('unreachableHint') };
    return { ok: false, trouble };
  }
  const { data, error, response } = fetched;
  if (response.ok) return { ok: true, value: data as T };
  if (response.status === 401) session.lost();
  const body = (error as { error?: Partial<Trouble> } | null | undefined)?.error;
  return {
    ok: false,
    trouble: {
      status: response.status,
      code: body?.code ?? String(response.status),
      message: body?.message ?? t('failedWith', { code: response.status }),
      hint: body?.hint ?? '',
    },
  };
}

async function listed<T>(asked: Promise<Fetched<{ items: T[] }>>): Promise<T[] | null> {
  const answer = await told(asked);
  return answer.ok ? answer.value.items : null;
}

/** What a decision was made on; the server refuses it when the task has moved since. */
function seen(id: string, version: number | null): { path: { id: string }; header: { 'If-Match'?: string } } {
  return { path: { id }, header: version === null ? {} : { 'If-Match': String(version) } };
}

const of = (id: string) => ({ params: { path: { id } } });

export const api = {
  signIn: (token: string) => told(client.POST('/api/session', { body: { token } })),
  signOut: () => told(client.DELETE('/api/session')),

  /** All tasks, and the number of the event they are true for. */
  async tasks(): Promise<{ tasks: Task[]; sequence: number } | null> {
    const tasks: Task[] = [];
    let cursor: string | null = null;
    let sequence: number | null = null;
    do {
      const query: { limit: number; cursor?: string } = { limit: TASKS_PAGE };
      if (cursor) query.cursor = cursor;
      const asked = client.GET('/api/tasks', { params: { query } });
      const page = await told(asked);
      if (!page.ok) return null;
      tasks.push(...page.value.items);
      cursor = page.value.nextCursor ?? null;
      // The first page's number: whatever happened while the others were read is told again.
      sequence ??= Number((await asked).response.headers.get('X-Sequence') ?? 0);
    } while (cursor);
    return { tasks, sequence };
  },

  task: (id: string) => told(client.GET('/api/tasks/{id}', of(id))),
  newTask: (body: NewTask) => told(client.POST('/api/tasks', { body })),
  editTask: (id: string, version: number, body: EditTask) => told(client.PATCH('/api/tasks/{id}', { params: seen(id, version), body })),
  deleteTask: (id: string) => told(client.DELETE('/api/tasks/{id}', of(id))),
  inbox: () => listed(client.GET('/api/inbox')),
  types: () => listed(client.GET('/api/types')),
  agents: () => told(client.GET('/api/agents')),
  nodes: () => listed(client.GET('/api/nodes')),
  stats: () => told(client.GET('/api/stats')),
  limits: () => listed(client.GET('/api/limits')),

  agent: (id: string) => told(client.GET('/api/tasks/{id}/agent', of(id))),
  phases: (id: string) => listed(client.GET('/api/tasks/{id}/phases', of(id))),
  transitions: (id: string) =>
    listed(client.GET('/api/tasks/{id}/transitions', { params: { path: { id }, query: { limit: 1000 } } })),
  checkpoints: (id: string) => listed(client.GET('/api/tasks/{id}/checkpoints', of(id))),
  permissions: (id: string) => listed(client.GET('/api/tasks/{id}/permissions', of(id))),
  reviews: (id: string) => listed(client.GET('/api/tasks/{id}/reviews', of(id))),
  verifications: (id: string) => listed(client.GET('/api/tasks/{id}/verifications', of(id))),
  artifacts: (id: string) => listed(client.GET('/api/tasks/{id}/artifacts', of(id))),
  sayings: (id: string) => listed(client.GET('/api/tasks/{id}/sayings', of(id))),
  conversation: (id: string, cursor: string | null) =>
    told(
      client.GET('/api/tasks/{id}/conversation', {
        params: { path: { id }, query: cursor ? { limit: 200, cursor } : { limit: 200 } },
      }),
    ),
  /** What changed in a phase, or since the review before this one. */
  diff: (review: string, sinceReview: boolean) =>
    told(client.GET('/api/reviews/{id}/diff', { params: { path: { id: review }, query: sinceReview ? { since: 'review' } : {} } })),

  /** Verbs that need nothing but the task. */
  move(id: string, action: PlainAction, version: number) {
    // An agent at work moves on with every step it takes; what is asked of it is asked of whatever it does by then.
    const params = seen(id, ['pause', 'resume', 'cancel', 'interrupt', 'checkpoint'].includes(action) ? null : version);
    switch (action) {
      case 'submit':
        return told(client.POST('/api/tasks/{id}/submit', { params }));
      case 'cancel':
        return told(client.POST('/api/tasks/{id}/cancel', { params }));
      case 'pause':
        return told(client.POST('/api/tasks/{id}/pause', { params }));
      case 'resume':
        return told(client.POST('/api/tasks/{id}/resume', { params }));
      case 'retry':
        return told(client.POST('/api/tasks/{id}/retry', { params }));
      case 'archive':
        return told(client.POST('/api/tasks/{id}/archive', { params }));
      case 'approve':
        return told(client.POST('/api/tasks/{id}/approve', { params }));
      case 'interrupt':
        return told(client.POST('/api/tasks/{id}/interrupt', { params }));
      case 'checkpoint':
        return told(client.POST('/api/tasks/{id}/checkpoints', { params }));
    }
  },
  restore: (id: string, checkpointId: string, version: number) =>
    told(client.POST('/api/tasks/{id}/restore', { params: seen(id, version), body: { checkpointId } })),
  fork: (checkpoint: string, body: ForkRequest) => told(client.POST('/api/checkpoints/{id}/fork', { ...of(checkpoint), body })),
  say: (id: string, text: string) => told(client.POST('/api/tasks/{id}/say', { ...of(id), body: { text } })),
  approve: (review: string, version: number) =>
    told(client.POST('/api/reviews/{id}/approve', { params: seen(review, version) })),
  requestChanges: (review: string, version: number, body: paths['/api/reviews/{id}/request-changes']['post']['requestBody'] extends { content: { 'application/json': infer B } } | undefined ? B : never) =>
    told(client.POST('/api/reviews/{id}/request-changes', { params: seen(review, version), body })),
  // A question, a request or a tool call never changes while it waits: its id is what was seen. The task around it may move on, by a
  // checkpoint for one, and what a person typed must not be lost for that.
  answer: (id: string, answer: string) =>
    told(client.POST('/api/questions/{id}/answer', { ...of(id), body: { answer } })),
  skip: (id: string) => told(client.POST('/api/questions/{id}/skip', of(id))),
  provide: (id: string, value: string) =>
    told(client.POST('/api/dependencies/{id}/provide', { ...of(id), body: { value } })),
  reject: (id: string, reason: string) =>
    told(client.POST('/api/dependencies/{id}/reject', { ...of(id), body: { reason } })),
  permit: (id: string) =>
    told(client.POST('/api/permissions/{id}/permit', of(id))),
  deny: (id: string, reason: string) =>
    told(client.POST('/api/permissions/{id}/deny', { ...of(id), body: { reason } })),

  app: (id: string) => told(client.GET('/api/tasks/{id}/app', of(id))),
  startApp: (id: string) => told(client.POST('/api/tasks/{id}/app/start', of(id))),
  stopApp: (id: string) => told(client.POST('/api/tasks/{id}/app/stop', of(id))),

  rules: () => listed(client.GET('/api/permission-rules')),
  addRule: (body: NewPermissionRule) => told(client.POST('/api/permission-rules', { body })),
  tryRule: (body: NewPermissionRule) => told(client.POST('/api/permission-rules/try', { body })),
  removeRule: (id: string) => told(client.DELETE('/api/permission-rules/{id}', of(id))),

  workspaces: () => listed(client.GET('/api/workspaces')),
  workspace: (id: string, kind: WorkspaceKind) =>
    listed(client.GET('/api/workspaces/{id}/{kind}', { params: { path: { id, kind } } })),
  workspaceTransitions: (id: string, kind: WorkspaceKind) =>
    listed(client.GET('/api/workspaces/{id}/{kind}/transitions', { params: { path: { id, kind } } })),
  rescued: (id: string, file: string) => listed(client.GET('/api/workspaces/{id}/orchestrate/rescued', { params: { path: { id }, query: { file } } })),
  verb: (id: string, kind: WorkspaceKind, { action: { verb }, id: about, version }: Move, file: string, { text, code, paths, command, values, texts }: Said) =>
    told(
      client.POST('/api/workspaces/{id}/{kind}/{verb}', {
        params: { path: { id, kind, verb }, header: typeof version === 'number' ? { 'If-Match': String(version) } : {} },
        body: {
          file,
          id: about,
          text: text || null,
          code: code || null,
          command: command || null,
          paths: (paths ?? '').split('\n').map((path) => path.trim()).filter(Boolean),
          values: values ?? {},
          texts: texts ?? {},
        },
      }),
    ),
  nodeLog: (id: string, node: string, file: string) =>
    `/api/workspaces/${encodeURIComponent(id)}/orchestrate/nodes/${encodeURIComponent(node)}/log?file=${encodeURIComponent(file)}`,

  async log(path: string, offset: number, limit: number): Promise<{ bytes: ArrayBuffer; next: number } | null> {
    try {
      const response = await fetchPatiently(new Request(`${path}${path.includes('?') ? '&' : '?'}offset=${offset}&limit=${limit}`));
      if (!response.ok) return null;
      const bytes = await response.arrayBuffer();
      return { bytes, next: Number(response.headers.get('X-Next-Offset') ?? offset + bytes.byteLength) };
    } catch {
      return null;
    }
  },

  artifactPath: (id: string, path: string) =>
    `/api/tasks/${encodeURIComponent(id)}/artifacts/${path.split('/').map(encodeURIComponent).join('/')}`,

  async text(path: string): Promise<string | null> {
    try {
      const response = await fetchPatiently(new Request(path));
      return response.ok ? await response.text() : null;
    } catch {
      return null;
    }
  },
};

export type PlainAction =
  | 'submit'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'retry'
  | 'archive'
  | 'approve'
  | 'interrupt'
  | 'checkpoint';

const PLAIN: PlainAction[] = [
  ...(['submit', 'cancel', 'pause', 'resume', 'retry', 'archive', 'approve', 'interrupt', 'checkpoint'] as const),
];

export function isPlain(action: string): action is PlainAction {
  return (PLAIN as string[]).includes(action);
}
