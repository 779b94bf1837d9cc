/** What the reader has looked at, kept in this browser: how often each task had moved, when, and how far events had come. */
import { SvelteMap } from 'svelte/reactivity';
import { events } from './events.svelte';
import type { Task } from './shapes';

export interface Look {
  /** A checkpoint or tokens change a task too, and nobody would say that it moved. */
  moves: number;
  at: string;
  sequence: number;
}

const KEY = 'bowline.looks';
/** The tasks looked at last; of older ones nothing is remembered. */
const KEPT_MAX = 2000;

function kept(): [string, Look][] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '[]') as [string, Look][];
  } catch {
    return [];
  }
}

class Seen {
  #looks = new SvelteMap<string, Look>(kept());

  constructor() {
    // Another tab has looked.
    addEventListener('storage', (event) => {
      if (event.key === KEY) for (const [id, look] of kept()) this.#looks.set(id, look);
    });
  }

  of(id: string): Look | null {
    return this.#looks.get(id) ?? null;
  }

  /** A task that was never looked at is new, not changed. */
  changed(task: Task): boolean {
    const look = this.#looks.get(task.id);
    return !!look && task.moves !== look.moves;
  }

  look(task: Task): void {
    // Before the first event nobody knows how far they had come.
    if (document.visibilityState !== 'visible' || events.last === 0 || this.#looks.get(task.id)?.moves === task.moves) return;
    // Behind all others, so that the oldest looks come first.
    this.#looks.delete(task.id);
    this.#looks.set(task.id, { moves: task.moves, at: new Date().toISOString(), sequence: events.last });
    localStorage.setItem(KEY, JSON.stringify([...this.#looks].slice(-KEPT_MAX)));
  }
}

export const seen = new Seen();
