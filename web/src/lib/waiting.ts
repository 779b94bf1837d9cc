/** Things that wait for a person: where they are decided, and how they look. */
import type { Waiting } from './shapes';
import { excerptOf, plainName, plainTitle, type Excerpt } from './text';
import { aboutTool, fieldsOf, type Field } from './tools';

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

/** What is decided about, as it is on the screen: a review also by the version of its task. */
export function decisionKey(item: Waiting): string {
  return item.kind === 'review' ? `${item.id} ${item.version}` : item.id;
}

/** What is asked for, in one line in which nothing is invisible, and how much it leaves out. */
export function askedFor(item: Waiting): Excerpt {
  if (item.permission) {
    const about = aboutTool(item.permission.input);
    return { ...about, text: `${plainName(item.permission.tool)}: ${plainName(about.text)}` };
  }
  if (item.dependency) {
    const { name, description } = item.dependency;
    const about = excerptOf(name);
    return { ...about, text: plainName(about.text), characters: about.characters + description.length };
  }
  const about = excerptOf(item.question?.question ?? item.reason ?? '');
  return { ...about, text: plainTitle(about.text) };
}

/** What a batch shows of one thing at the most. What is longer is decided by itself. */
const BATCH_CHARACTERS_MAX = 1_000;
const BATCH_LINES_MAX = 20;

/** All the words of an agent that a decision is about, as a batch shows them. */
export function wordsOf(item: Waiting): Field[] {
  if (item.permission) return fieldsOf(item.permission.input);
  if (item.question) return [item.question.question, ...item.question.options].map((text) => ({ name: '', text }));
  if (item.dependency) return [{ name: item.dependency.name, text: item.dependency.description }];
  return [];
}

/** Whether a batch can show all that the decision is about. */
export function isShownWhole(item: Waiting): boolean {
  const words = wordsOf(item);
  const lines = words.reduce((sum, { text }) => sum + text.split('\n').length, 0);
  const characters = words.reduce((sum, { name, text }) => sum + name.length + text.length, 0);
  return lines <= BATCH_LINES_MAX && characters <= BATCH_CHARACTERS_MAX;
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
