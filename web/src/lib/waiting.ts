/** Things that wait for a person: where they are decided, and how they look. */
import type { Waiting } from './shapes';

export const ICONS: Record<string, 'eye' | 'question' | 'key' | 'alert' | 'check'> = {
  review: 'eye',
  question: 'question',
  dependency: 'key',
  permission: 'check',
  task: 'alert',
};

export function pathOf(item: Waiting): string {
  const task = `/tasks/${encodeURIComponent(item.taskId)}`;
  return item.kind === 'review' ? `${task}/review` : task;
}

/** What is asked for, in one line. */
export function askedFor(item: Waiting): string {
  return item.question?.question ?? item.dependency?.name ?? item.permission?.tool ?? item.reason ?? '';
}
