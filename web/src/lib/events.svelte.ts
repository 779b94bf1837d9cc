/**
 * The server's events, read as a stream that goes on where it stopped: after a sleep, a restart of the server or a lost line
 * the last number that was seen is sent along. When the server no longer has what was missed, everything is read anew.
 */
import { session } from './session.svelte';

export interface Happened {
  /** `transition`, `log`, `review`, `question`, `dependency`, `agent` or `workspace`; `anew` when everything was read again. */
  kind: string;
  taskId: string | null;
  data: Record<string, unknown>;
}

/** The task is not there any more: nothing of it can be asked for. */
export const isGone = (event: Happened): boolean => event.data['changed'] === 'delete';

type Listener = (event: Happened) => void;

/** A server that says nothing for so long, not even that it is there, is gone. It promises a sign every 15 s. */
const SILENCE_MS_MAX = 40_000;
/**
 * A browser opens six connections to one address, whatever the number of its tabs. So a tab that nobody looks at for a while
 * lets its stream go, but for one, which notifies; it goes on where it stopped when it is looked at again.
 */
const HIDDEN_MS_MAX = 60_000;
const RETRY_MS_FIRST = 300;
const RETRY_MS_MAX = 8_000;

class Events {
  /** `live`: what is on the screen is what is. Anything else is said in a banner. */
  state = $state<'starting' | 'live' | 'lost' | 'catching-up'>('starting');
  /** When the stream was last known to be whole. */
  liveAt = $state(Date.now());
  retryAt = $state(0);
  /** Reads everything and gives the number of the event it is true for, or nothing when the server does not answer. */
  begin: () => Promise<number | null> = () => Promise.resolve(null);
  #last = $state<number | null>(null);
  #listeners = new Set<Listener>();
  #running: AbortController | null = null;
  #tries = 0;
  #wake: (() => void) | null = null;
  #keeper = false;
  #resting = false;
  #restTimer: ReturnType<typeof setTimeout> | undefined;
  #stream: AbortController | null = null;

  constructor() {
    addEventListener('online', () => this.#wake?.());
    document.addEventListener('visibilitychange', () => {
      clearTimeout(this.#restTimer);
      if (document.visibilityState === 'visible') this.#wake?.();
      else this.#restTimer = setTimeout(() => this.#rest(), HIDDEN_MS_MAX);
    });
    // Held until this tab is closed; the next one waits for it. Without locks every tab keeps its stream.
    if (!('locks' in navigator)) this.#keeper = true;
    else
      void navigator.locks.request('bowline.events', () => {
        this.#keeper = true;
        return new Promise(() => undefined);
      });
  }

  /** The number of the last event that was seen. */
  get last(): number {
    return this.#last ?? 0;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#running) return;
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  stop(): void {
    this.#running?.abort();
    this.#running = null;
    this.state = 'starting';
  }

  retryNow(): void {
    this.#wake?.();
  }

  #rest(): void {
    if (this.#keeper || document.visibilityState === 'visible') return;
    this.#resting = true;
    this.#stream?.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const outcome = await this.#follow(signal);
      if (signal.aborted) return;
      if (outcome === 'signed-out') {
        session.lost();
        this.stop();
        return;
      }
      if (outcome === 'too-old') {
        this.state = 'catching-up';
        continue;
      }
      this.state = 'lost';
      // One that rests waits until it is looked at.
      const wait = this.#resting ? 2 ** 31 - 1 : Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** this.#tries++);
      this.retryAt = Date.now() + wait;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
      // One that rested has lost nothing but time.
      if (this.#resting) this.state = 'catching-up';
      this.#resting = false;
    }
  }

  async #follow(signal: AbortSignal): Promise<'ended' | 'signed-out' | 'too-old'> {
    const silence = new AbortController();
    this.#stream = silence;
    let timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
    try {
      if (this.#last === null) {
        this.#last = await this.begin();
        if (this.#last === null) return session.signedIn ? 'ended' : 'signed-out';
        this.#tell({ kind: 'anew', taskId: null, data: {} });
      }
      const response = await fetch('/api/events', {
        headers: { Accept: 'text/event-stream', 'Last-Event-ID': String(this.#last) },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (response.status === 401) return 'signed-out';
      if (response.status === 410) {
        this.#last = null;
        return 'too-old';
      }
      if (!response.ok || !response.body) return 'ended';
      this.#tries = 0;
      this.state = 'live';
      this.liveAt = Date.now();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return 'ended';
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS_MAX);
        this.liveAt = Date.now();
        rest = this.#take(rest + value);
      }
    } catch {
      return 'ended';
    } finally {
      clearTimeout(timer);
    }
  }

  /** Handles whole events and gives back the rest. */
  #take(text: string): string {
    const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
    const rest = blocks.pop() ?? '';
    for (const block of blocks) {
      let kind = 'message';
      let data = '';
      for (const line of block.split('\n')) {
        if (line.startsWith('event:')) kind = line.slice(6).trim();
        else if (line.startsWith('data:')) data += line.slice(5).trim();
        else if (line.startsWith('id:')) this.#last = Number(line.slice(3));
      }
      if (!data) continue;
      const parsed = JSON.parse(data) as Record<string, unknown>;
      const inner = (parsed['data'] as Record<string, unknown> | undefined) ?? parsed;
      const taskId = typeof parsed['taskId'] === 'string' ? parsed['taskId'] : null;
      this.#tell({ kind, taskId, data: inner });
    }
    return rest;
  }

  #tell(event: Happened): void {
    for (const listener of this.#listeners) listener(event);
  }
}

export const events = new Events();
