/**
 * Says when a thing may be decided: after it has been on the screen for `SHOWN_MS`, and not while a decision about it is under way.
 * Every button and key that decides asks here, so that a second click never decides what has just taken the place of the first.
 */
import { SvelteSet } from 'svelte/reactivity';

export const SHOWN_MS = 500;

export interface Shown {
  /** What the node shows; nothing that can be decided when null. */
  key: string | null;
  /** Whether others like it move when it comes or goes; then those are shown anew. */
  flows?: boolean;
}

interface Place extends Required<Shown> {
  node: HTMLElement;
  /** Since when it has shown this here, by `performance.now()`; null before the first frame, which a tab in the background does not get. */
  since: number | null;
  timer: ReturnType<typeof setTimeout> | undefined;
}

class Decisions {
  #places = new Set<Place>();
  #ready = new SvelteSet<string>();
  #sending = new SvelteSet<string>();

  /** Svelte action: the node shows a thing that can be decided. */
  readonly shown = (node: HTMLElement, { key, flows = false }: Shown) => {
    const place: Place = { node, key, flows, since: null, timer: undefined };
    this.#places.add(place);
    this.#show(place, key);
    if (flows) this.#restart((other) => other.flows && !!(node.compareDocumentPosition(other.node) & Node.DOCUMENT_POSITION_FOLLOWING));
    return {
      update: (next: Shown) => {
        if (next.key === place.key) return;
        this.#show(place, next.key);
        if (flows) this.#restart((other) => other.flows && other !== place);
      },
      destroy: () => {
        this.#begin(place, null);
        this.#places.delete(place);
        if (flows) this.#restart((other) => other.flows);
      },
    };
  };

  /** Whether it may be decided now, for looks. */
  isReady(key: string): boolean {
    return this.#ready.has(key) && !this.#sending.has(key);
  }

  /** Whether it may be decided now. */
  may(key: string): boolean {
    const now = performance.now();
    return !this.#sending.has(key) && [...this.#places].some((place) => place.key === key && place.since !== null && now - place.since >= SHOWN_MS && inView(place.node));
  }

  /** Decides, if that may be done now. Until `send` has ended, its effect on the screen included, none of the keys is decided again. */
  async run(key: string, send: () => Promise<unknown>, also: string[] = []): Promise<void> {
    if (!this.may(key)) return;
    const keys = [key, ...also];
    for (const one of keys) this.#sending.add(one);
    try {
      await send();
    } finally {
      for (const one of keys) this.#sending.delete(one);
      this.#restart((place) => place.key !== null && keys.includes(place.key));
    }
  }

  #show(place: Place, key: string | null): void {
    this.#begin(place, null);
    place.key = key;
    place.node.dataset['decides'] = key ?? '';
    if (key === null) return;
    requestAnimationFrame((time) => {
      if (this.#places.has(place) && place.key === key && place.since === null) this.#begin(place, time);
    });
  }

  #restart(which: (place: Place) => boolean): void {
    const now = performance.now();
    for (const place of this.#places) if (place.since !== null && which(place)) this.#begin(place, now);
  }

  #begin(place: Place, since: number | null): void {
    const { key } = place;
    clearTimeout(place.timer);
    place.since = since;
    if (key === null) return;
    this.#ready.delete(key);
    if (since !== null) place.timer = setTimeout(() => this.#ready.add(key), SHOWN_MS - (performance.now() - since));
  }
}

/** A key decides nothing that was scrolled away. */
function inView(node: HTMLElement): boolean {
  const { top, bottom, left, right } = node.getBoundingClientRect();
  return bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
}

export const decisions = new Decisions();
export const { shown } = decisions;
