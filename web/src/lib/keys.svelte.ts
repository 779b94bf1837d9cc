/** One list of keys. A page says what its keys do while it is shown; typing in a field is never taken for a key. */
import { router } from './router.svelte';

type Handler = () => void;

class Keys {
  help = $state(false);
  #handlers = new Map<string, Handler>();

  /** Binds keys while a component lives; what it gives back unbinds them. */
  bind(handlers: Record<string, Handler>): () => void {
    for (const [key, handler] of Object.entries(handlers)) this.#handlers.set(key, handler);
    return () => {
      for (const [key, handler] of Object.entries(handlers))
        if (this.#handlers.get(key) === handler) this.#handlers.delete(key);
    };
  }

  pressed(event: KeyboardEvent): void {
    // What asks for an answer has all keys to itself.
    if (!this.help && document.querySelector('dialog[open]')) return;
    if (event.key === 'Escape') {
      if (this.help) this.help = false;
      else if (event.target instanceof HTMLElement && typing(event.target)) event.target.blur();
      else this.#handlers.get('Escape')?.();
      return;
    }
    // A key that is held moves on, and decides once.
    if (event.repeat && !['j', 'k'].includes(event.key)) return;
    if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    if (event.target instanceof HTMLElement && typing(event.target)) return;
    // A button of a decision is pressed by its own keys.
    if (event.key === 'Enter' && event.target instanceof Element && event.target.matches('[data-decides] :is(button, a, summary)')) return;
    if (event.key === '?') this.help = !this.help;
    else if (event.key === 'n' && !this.#handlers.has('n')) router.go('/new');
    else {
      const handler = this.#handlers.get(event.key);
      if (!handler) return;
      handler();
    }
    event.preventDefault();
  }
}

function typing(element: HTMLElement): boolean {
  return element.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(element.tagName);
}

export const keys = new Keys();
