/**
 * Text that a person has typed and not sent. It is kept in this browser until it is sent: a reload, a closed tab or a decision that
 * was made elsewhere loses none of it. Secrets are never given to this module.
 */
import { SvelteSet } from 'svelte/reactivity';
import type { Answer } from './api';

const PREFIX = 'bowline.draft.';
/** Drafts of things that wait for a decision; the id follows. */
const WAITING = 'waiting.';
const LEFT_OVER = 'bowline.leftover';
const KEPT_MS_MAX = 30 * 24 * 3600_000;

interface Kept {
  at: number;
  /** Title of the task. */
  about: string;
  /** All of it as text, for people. */
  words: string;
  value: unknown;
}

/** Text whose decision was made elsewhere before it was sent. */
export interface LeftOver {
  key: string;
  about: string;
  words: string;
}

/** What this tab shows of drafts; another tab may have removed them from the storage. */
const typed = new Map<string, Kept>();
const sending = new SvelteSet<string>();

function stored(key: string): Kept | null {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key) ?? 'null') as Kept | null;
  } catch {
    return null;
  }
}

function storedKeys(): string[] {
  return Object.keys(localStorage).filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
}

export const waitingKey = (id: string): string => WAITING + id;

export function readDraft<T>(key: string): T | null {
  const kept = typed.get(key) ?? stored(key);
  if (!kept) return null;
  typed.set(key, kept);
  return kept.value as T;
}

/** Keeps a draft; one without words is forgotten. */
export function writeDraft(key: string, value: unknown, words: string, about = ''): void {
  if (!words.trim()) return forgetDraft(key);
  const kept = { at: Date.now(), about, words, value };
  typed.set(key, kept);
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(kept));
  } catch {
    // A full storage keeps it in this tab only.
  }
}

export function forgetDraft(key: string): void {
  typed.delete(key);
  localStorage.removeItem(PREFIX + key);
}

/** Forgets a draft when its request succeeds; until the answer is here it is not left over. */
export async function sendDraft<T>(key: string, asked: Promise<Answer<T>>): Promise<Answer<T>> {
  sending.add(key);
  const answer = await asked;
  if (answer.ok) forgetDraft(key);
  sending.delete(key);
  return answer;
}

/** The text of one field. */
export class Draft {
  #text = $state('');
  readonly key: string;
  readonly about: string;

  constructor(key: string, about = '') {
    this.key = key;
    this.about = about;
    this.#text = readDraft<{ text?: string }>(key)?.text ?? '';
  }

  get text(): string {
    return this.#text;
  }

  set text(text: string) {
    this.#text = text;
    this.save();
  }

  save(): void {
    writeDraft(this.key, { text: this.#text }, this.#text, this.about);
  }

  clear(): void {
    this.#text = '';
    forgetDraft(this.key);
  }

  async send<T>(asked: Promise<Answer<T>>): Promise<Answer<T>> {
    const answer = await sendDraft(this.key, asked);
    if (answer.ok) this.clear();
    return answer;
  }
}

class LeftOvers {
  list = $state<LeftOver[]>(JSON.parse(sessionStorage.getItem(LEFT_OVER) ?? '[]') as LeftOver[]);

  /** Shows the text of a draft that can no longer be sent. */
  leave(key: string): void {
    if (sending.has(key)) return;
    const kept = typed.get(key) ?? stored(key);
    if (!kept) return;
    forgetDraft(key);
    this.#put([...this.list, { key, about: kept.about, words: kept.words }]);
  }

  /** Leaves the drafts of all that waits no more. */
  sweep(waiting: Set<string>): void {
    for (const key of new Set([...typed.keys(), ...storedKeys()]))
      if (key.startsWith(WAITING) && !waiting.has(key.slice(WAITING.length))) this.leave(key);
  }

  drop(key: string): void {
    this.#put(this.list.filter((one) => one.key !== key));
  }

  #put(list: LeftOver[]): void {
    this.list = list;
    sessionStorage.setItem(LEFT_OVER, JSON.stringify(list));
  }
}

export const leftOvers = new LeftOvers();

for (const key of storedKeys()) if (Date.now() - (stored(key)?.at ?? 0) > KEPT_MS_MAX) forgetDraft(key);
