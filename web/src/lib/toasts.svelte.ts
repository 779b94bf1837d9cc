/** Short sentences about what was just done, or why it was not. */
import type { Trouble } from './shapes';

export interface Toast {
  id: number;
  tone: 'good' | 'bad';
  text: string;
  hint: string;
}

const SHOWN_MS = 7000;

class Toasts {
  list = $state<Toast[]>([]);
  #next = 1;

  good(text: string): void {
    this.#add('good', text, '');
  }

  bad(trouble: Trouble): void {
    this.#add('bad', trouble.message, trouble.hint);
  }

  drop(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }

  #add(tone: Toast['tone'], text: string, hint: string): void {
    const id = this.#next++;
    this.list = [...this.list.slice(-3), { id, tone, text, hint }];
    setTimeout(() => this.drop(id), tone === 'bad' ? SHOWN_MS * 2 : SHOWN_MS);
  }
}

export const toasts = new Toasts();
