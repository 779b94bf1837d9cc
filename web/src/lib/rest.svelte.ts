/**
 * One gesture, one move. Where something was pressed another button may stand a moment later, and the second half of a double click
 * would press that: after every press, and again when its outcome is on the screen, buttons rest until people have seen them.
 */
import { SHOWN_MS } from './decisions.svelte';

class Rest {
  /** Nothing may be pressed now. Said as `aria-disabled`: a button that rests keeps the focus. */
  held = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  begin(): void {
    clearTimeout(this.#timer);
    this.held = true;
    this.#timer = setTimeout(() => (this.held = false), SHOWN_MS);
  }
}

export const rest = new Rest();
