/** Commands that the server proposes, as the verbs that it takes. */
import type { WorkspaceKind } from './shapes';

export interface Verb {
  kind: WorkspaceKind;
  verb: string;
  id: string | null;
}

/** The verbs of the interface that need no more than what they are about. */
const PLAIN: Partial<Record<WorkspaceKind, string[]>> = {
  thinking: ['start', 'complete'],
  develop: ['review', 'implement', 'pr', 'done'],
  orchestrate: ['start', 'complete', 'retry'],
};

/** The verb of a proposed command line; none when something has to be filled in or the command line alone can do it. */
export function verbOf(command: string): Verb | null {
  const [program, noun, verb, ...rest] = command.split(' ');
  const kind = (['thinking', 'develop', 'orchestrate'] as const).find((one) => one === noun);
  if (program !== 'bowline' || !kind || !verb || rest.length > 1) return null;
  const id = rest[0] ?? null;
  const blank = id !== null && (id.startsWith('-') || /^[A-Z]+$/.test(id));
  return PLAIN[kind]?.includes(verb) && !blank ? { kind, verb, id } : null;
}
