/** Things that wait for a person: where they are decided, and how they look. */
import type { Waiting } from './shapes';
import { aboutTool } from './tools';

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
  if (item.permission) return `${item.permission.tool}: ${aboutTool(item.permission.input)}`;
  return item.question?.question ?? item.dependency?.name ?? item.reason ?? '';
}

/** The answers that all of the questions allow; any answer where none of them has a list. */
export function optionsOf(items: Waiting[]): string[] {
  const lists = items.flatMap((item) => (item.question?.options.length ? [item.question.options] : []));
  const [first, ...rest] = lists;
  return (first ?? []).filter((option) => rest.every((list) => list.includes(option)));
}

/** Questions go together when one answer can fit all; what is needed, when all need the same thing. */
export function goTogether(items: Waiting[]): boolean {
  const [first] = items;
  if (!first || items.some((item) => item.kind !== first.kind)) return false;
  if (first.kind === 'dependency') return items.every((item) => item.dependency?.name === first.dependency?.name);
  if (first.kind === 'question') return optionsOf(items).length > 0 || items.every((item) => !item.question?.options.length);
  return true;
}
