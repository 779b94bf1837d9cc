/** Every task the board knows, kept up to date by events. */
import { SvelteMap } from 'svelte/reactivity';
import { api } from './api';
import { leftOvers } from './drafts.svelte';
import { events, isGone } from './events.svelte';
import type { Task, Waiting } from './shapes';

/** Changes of one task that come together are read together. */
const TOGETHER_MS = 40;
/** How old the last output that is known of a printing agent may be: a card tells its age. */
const OUTPUT_AGE_MS_MAX = 20_000;

class Tasks {
  all = new SvelteMap<string, Task>();
  inbox = $state.raw<Waiting[]>([]);
  loaded = $state(false);
  /** Agents that ask whether they may use a tool. */
  #asking = $derived(new Set(this.inbox.filter((item) => item.kind === 'permission').map((item) => item.taskId)));
  #due = new Set<string>();
  #outputAsked = new Map<string, number>();
  #next: Promise<void> | null = null;
  /** Answers may overtake each other: the one that was asked for last counts. */
  #inboxAsked = 0;
  #inboxShown = 0;

  constructor() {
    events.listen((event) => {
      if (event.taskId && (event.kind !== 'log' || this.#isOutputOld(event.taskId))) void this.refresh(event.taskId);
      if (event.taskId && isGone(event)) this.forget(event.taskId);
    });
    events.begin = () => this.load();
  }

  /** Whether the last output that is known is old; true once in a while, as clocks may differ. */
  #isOutputOld(id: string): boolean {
    const known = Date.parse(this.all.get(id)?.agentState.lastOutput ?? '');
    const now = Date.now();
    if (!(now - Math.max(known, this.#outputAsked.get(id) ?? 0) > OUTPUT_AGE_MS_MAX)) return false;
    this.#outputAsked.set(id, now);
    return true;
  }

  /** What the agent of a task is doing: its status has one word for a question and for a tool it may not use yet. */
  agentState(id: string, status: string): string {
    return status === 'waiting_question' && this.#asking.has(id) ? 'waiting_permission' : status;
  }

  /** Reads everything, and says which event it is true for. */
  async load(): Promise<number | null> {
    const [listed, inbox] = await Promise.all([api.tasks(), this.#readInbox()]);
    if (!listed || !inbox) return null;
    const there = new Set(listed.tasks.map((task) => task.id));
    for (const id of this.all.keys()) if (!there.has(id)) this.all.delete(id);
    for (const task of listed.tasks) this.all.set(task.id, task);
    this.loaded = true;
    return listed.sequence;
  }

  /** Reads a task and the inbox again, together with others that are due; ends when what is shown is as new as that. */
  refresh(id: string): Promise<void> {
    this.#due.add(id);
    this.#next ??= new Promise((resolve) => setTimeout(() => resolve(this.#refreshDue()), TOGETHER_MS));
    return this.#next;
  }

  forget(id: string): void {
    this.all.delete(id);
    this.#due.delete(id);
    this.#outputAsked.delete(id);
  }

  put(task: Task): void {
    this.all.set(task.id, task);
    void this.refresh(task.id);
  }

  async #refreshDue(): Promise<void> {
    const due = [...this.#due];
    this.#due.clear();
    this.#next = null;
    await Promise.all([
      ...due.map(async (id) => {
        const answer = await api.task(id);
        if (answer.ok && answer.value.version < (this.all.get(id)?.version ?? 0)) return;
        if (answer.ok && !answer.value.archived) this.all.set(id, answer.value);
        else if (answer.ok || answer.trouble.status === 404) this.all.delete(id);
      }),
      this.#readInbox(),
    ]);
  }

  async #readInbox(): Promise<boolean> {
    const asked = ++this.#inboxAsked;
    const inbox = await api.inbox();
    if (!inbox || asked < this.#inboxShown) return !!inbox;
    this.#inboxShown = asked;
    this.inbox = inbox;
    leftOvers.sweep(new Set(inbox.map((item) => item.id)));
    return true;
  }
}

export const tasks = new Tasks();
