/** Whether the server can change anything just now, and why not. */

const LOOK_MS = 5000;

class Health {
  /** Why nothing can be changed; nothing while all is well. */
  reason = $state<string | null>(null);

  /** Looks again and again; the answer ends it. */
  start(): () => void {
    const timer = setInterval(() => void this.look(), LOOK_MS);
    void this.look();
    return () => clearInterval(timer);
  }

  async look(): Promise<void> {
    if (document.hidden) return;
    try {
      const response = await fetch('/readyz');
      const told = (await response.json()) as { status?: string; reason?: string | null };
      this.reason = told.status === 'failing' ? (told.reason ?? '') : null;
    } catch {
      // A server that does not answer is told elsewhere.
      this.reason = null;
    }
  }
}

export const health = new Health();
