/** Whether this browser is signed in. */

class Session {
  state = $state<'unknown' | 'in' | 'out'>('unknown');

  /** Asks the server; one that does not answer is no reason to show the door, the banner says it. */
  async look(): Promise<void> {
    try {
      const response = await fetch('/api/session');
      this.state = response.status === 401 ? 'out' : 'in';
    } catch {
      this.state = 'in';
    }
  }

  lost(): void {
    this.state = 'out';
  }

  found(): void {
    this.state = 'in';
  }
}

export const session = new Session();
