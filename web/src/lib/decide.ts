/** A person's moves, and what is said about how they went. */
import { api, isPlain, type Answer } from './api';
import { router } from './router.svelte';
import { named } from './settings.svelte';
import type { Task } from './shapes';
import { tasks } from './tasks.svelte';
import { toasts } from './toasts.svelte';

/** Says how it went, and reads the task again either way: a refusal often means that it has changed. Ends when that is on the screen. */
export async function done(asked: Promise<Answer<unknown>>, action: string, taskId: string): Promise<boolean> {
  const answer = await asked;
  if (answer.ok) toasts.good(named('done', action));
  else toasts.bad(answer.trouble);
  if (answer.ok && action === 'delete') tasks.forget(taskId);
  else await tasks.refresh(taskId);
  return answer.ok;
}

/** One of the verbs of `allowedActions` that need nothing else. */
export async function act(task: Task, action: string): Promise<boolean> {
  if (action === 'delete') {
    const gone = await done(api.deleteTask(task.id), action, task.id);
    if (gone && router.route.page === 'task') router.go('/');
    return gone;
  }
  if (!isPlain(action)) return false;
  const asked = api.move(task.id, action, task.version);
  const ok = await done(asked, action, task.id);
  const answer = await asked;
  // A retry is a new task; the reader wants to see that one.
  if (action === 'retry' && answer.ok) {
    tasks.put(answer.value);
    router.go(`/tasks/${answer.value.id}`);
  }
  return ok;
}
