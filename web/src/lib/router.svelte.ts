/** Where the reader is: the path is the state, so that every view has an address that can be shared. */

export type Route =
  | { page: 'board' }
  | { page: 'inbox' }
  | { page: 'new' }
  | { page: 'task'; id: string; tab: string }
  | { page: 'workspaces' }
  | { page: 'workspace'; id: string; kind: string }
  | { page: 'fleet' }
  | { page: 'capsule' }
  | { page: 'signin' }
  | { page: 'nothing' };

export function routeOf(path: string): Route {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  const [first, second, third] = parts;
  switch (first) {
    case undefined:
      return { page: 'board' };
    case 'inbox':
    case 'new':
    case 'fleet':
    case 'capsule':
    case 'signin':
      return parts.length === 1 ? { page: first } : { page: 'nothing' };
    case 'tasks':
      return second ? { page: 'task', id: second, tab: third ?? '' } : { page: 'board' };
    case 'workspaces':
      return second
        ? { page: 'workspace', id: second, kind: third ?? '' }
        : { page: 'workspaces' };
    default:
      return { page: 'nothing' };
  }
}

class Router {
  path = $state(location.pathname);
  query = $state(location.search);
  route = $derived(routeOf(this.path));

  constructor() {
    addEventListener('popstate', () => this.#read());
    addEventListener('click', (event) => this.#follow(event));
  }

  go(to: string, replace = false): void {
    if (to === location.pathname + location.search) return;
    history[replace ? 'replaceState' : 'pushState'](null, '', to);
    this.#read();
    if (!replace) scrollTo(0, 0);
  }

  #read(): void {
    this.path = location.pathname;
    this.query = location.search;
  }

  /** Plain clicks on our own links change the page without loading it; all others are the browser's. */
  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/api/')) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
