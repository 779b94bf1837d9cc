/** Reviews whose changes, or why these cannot be shown, are on the screen; approved only then. */
import { SvelteSet } from 'svelte/reactivity';
import type { Waiting } from './shapes';

type ReviewAt = Pick<Waiting, 'id' | 'version'>;

class ChangesOnScreen {
  #shown = new SvelteSet<string>();

  /** Whether those of a review are, as it is at this version of its task. */
  has({ id, version }: ReviewAt): boolean {
    return this.#shown.has(`${id} ${version}`);
  }

  add({ id, version }: ReviewAt): void {
    this.#shown.add(`${id} ${version}`);
  }

  remove({ id, version }: ReviewAt): void {
    this.#shown.delete(`${id} ${version}`);
  }
}

export const changesOnScreen = new ChangesOnScreen();
